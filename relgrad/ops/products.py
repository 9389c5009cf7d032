"""NumPy's other products of arrays, as matrix products, Einstein sums and elementwise products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, Laws
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import (
    call,
    is_ground,
    normalize_axes,
    normalize_axis,
    refuse,
    require_ground,
    several,
)
from relgrad.ops.einsum import contract
from relgrad.ops.expression import Expression
from relgrad.ops.matmul import MatMul, swap
from relgrad.types import Interval, Type, array_type


def _pair(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    return require_ground(name, a), require_ground(name, b)


def _sum_over(a: Any, b: Any, pairs: Sequence[tuple[int, int]]) -> Any:
    """(a, b, [(1, 0)]) → Σⱼ aᵢⱼ·bⱼₖ: products summed over pairs of axes; the other axes of a, then those of b, stay."""
    left = [("a", i) for i in range(a.type.ndim)]
    right = [("b", i) for i in range(b.type.ndim)]
    for i, j in pairs:
        m, n = a.type.shape[i], b.type.shape[j]
        if m != n and (None not in (m, n) or 1 in (m, n)):
            raise ShapeError(
                f"axis {i} of an operand {a.type.shape} does not fit axis {j} of one {b.type.shape}",
                cause="axes that are summed together must have equal extents",
            )
        right[j] = left[i]
    summed = {left[i] for i, _ in pairs}
    output = [label for label in (*left, *right) if label not in summed]
    return contract([tuple(left), tuple(right)], [a, b], tuple(output))


@implements(np.dot, "dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """dot(a, b)ᵢₖ = Σⱼ aᵢⱼ·bⱼₖ: traces `np.dot`: Σ over the last axis of a and the last but one of b."""
    refuse("np.dot", out=out)
    a, b = strong(as_term(a)), strong(as_term(b))
    if not (is_ground(a) and is_ground(b)):
        return MatMul().make_node(a, b)
    if a.type.ndim == 0 or b.type.ndim == 0:
        return call(np.multiply, a, b)
    if b.type.ndim <= 2 or a.type.ndim == 1:
        return MatMul().make_node(a, b)
    return _sum_over(a, b, [(a.type.ndim - 1, b.type.ndim - 2)])


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """vdot(a, b) = Σ a·b: traces `np.vdot`."""
    a, b = _pair("np.vdot", a, b)
    if a.type.shape == b.type.shape and a.type.ndim > 1 and None not in a.type.shape:
        return _sum_over(a, b, [(i, i) for i in range(a.type.ndim)])
    return MatMul().make_node(call(np.ravel, a), call(np.ravel, b))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """inner(a, b)ᵢₖ = Σⱼ aᵢⱼ·bₖⱼ: traces `np.inner`."""
    a, b = _pair("np.inner", a, b)
    if a.type.ndim == 0 or b.type.ndim == 0:
        return call(np.multiply, a, b)
    if b.type.ndim <= 2:
        return MatMul().make_node(a, swap(b) if b.type.ndim == 2 else b)
    return _sum_over(a, b, [(a.type.ndim - 1, b.type.ndim - 1)])


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """tensordot(a, b, 1)ᵢₖ = Σⱼ aᵢⱼ·bⱼₖ: traces `np.tensordot`."""
    a, b = _pair("np.tensordot", a, b)
    if np.iterable(axes):
        left, right = map(several, axes)
    else:
        n = int(axes)
        left, right = range(a.type.ndim - n, a.type.ndim), range(n)
    ranks = a.type.ndim, b.type.ndim
    pairs = [
        (normalize_axis(i, ranks[0]) + ranks[0], normalize_axis(j, ranks[1]) + ranks[1])
        for i, j in zip(left, right, strict=True)
    ]
    normalize_axes(tuple(left), ranks[0])
    normalize_axes(tuple(right), ranks[1])
    return _sum_over(a, b, pairs)


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """cross(a, b)₀ = a₁·b₂ − a₂·b₁, …: traces `np.cross` of vectors with three entries."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _pair("np.cross", a, b)
    a, b = call(np.moveaxis, a, axisa, -1), call(np.moveaxis, b, axisb, -1)
    a, b = as_term(a), as_term(b)
    if a.type.shape[-1] != 3 or b.type.shape[-1] != 3:
        raise ShapeError(
            "np.cross: vectors must have three entries", cure="pad vectors of two entries with a zero"
        )
    a1, b1, a2, b2 = [call(np.roll, x, -k, axis=-1) for k in (1, 2) for x in (a, b)]
    product = call(np.subtract, call(np.multiply, a1, b2), call(np.multiply, a2, b1))
    return call(np.moveaxis, product, -1, axisc)


class Convolve(Expression):
    """c[k] = Σ a[i]·b[k - i], of extent m + n - 1; linear in both."""

    __props__ = ()
    text = "np.convolve({0}, {1})"
    laws = Laws(linear=(0, 1), commutative=True)
    cancels = "sum"
    view_map = FRESH

    def output_type(self, *types: Any) -> Type:
        """(m,), (n,) → (m + n − 1,); raises ShapeError for what is no vector, or empty."""
        a, b = types
        for t in types:
            if t.ndim != 1 or t.shape[0] == 0:
                raise ShapeError(f"np.convolve takes vectors that are not empty, not shape {t.shape}")
        m, n = a.shape[0], b.shape[0]
        return array_type(np.result_type(a.dtype, b.dtype), (None if m is None or n is None else m + n - 1,))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (a, b), (g,) = inputs, output_gradients
        return [np.correlate(g, b, "valid"), np.correlate(g, a, "valid")]

    def range_of(self, *ranges: Interval) -> Interval:
        return MatMul().range_of(*ranges)


def _window(a: Any, b: Any, mode: str, reversed_: bool = False) -> Any:
    """full[start : start + extent] = convolve(a, b, mode): the entries that a mode keeps, or keeps after a reversal."""
    full = Convolve().make_node(a, b)
    m, n = a.type.shape[0], b.type.shape[0]
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ShapeError(f"np.convolve: mode must be 'full', 'same' or 'valid', not {mode!r}")
    if m is None or n is None:
        raise ShapeError(f"np.convolve with mode={mode!r}: the extents of its operands must be known")
    m, n = max(m, n), min(m, n)
    start, extent = (n - 1, m - n + 1) if mode == "valid" else ((n if reversed_ else n - 1) // 2, m)
    return call("__getitem__", full, slice(start, start + extent))


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Trace `np.convolve`."""
    a, v = [call(np.atleast_1d, x) for x in _pair("np.convolve", a, v)]
    a, v = as_term(a), as_term(v)
    return _window(a, v, mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """correlate(a, v)ₖ = Σᵢ aᵢ₊ₖ·vᵢ: traces `np.correlate`, as the convolution with v reversed."""
    a, v = [call(np.atleast_1d, x) for x in _pair("np.correlate", a, v)]
    a, v = as_term(a), as_term(call(np.flip, v))
    # NumPy correlates the longer operand with the shorter and reverses the result, which moves the middle.
    shorter = None not in (*a.type.shape, *v.type.shape) and a.type.shape < v.type.shape
    return _window(a, v, mode, reversed_=shorter)
