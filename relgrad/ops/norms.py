"""NumPy's norms of vectors and matrices, as ops and as what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.kernels.linalg import norm2, norm_p, unit, unit_p, unit_pullback
from relgrad.op import as_term, strong
from relgrad.ops.arguments import call, is_ground, normalize_axes, normalize_axis, require_ground
from relgrad.ops.lengths import Norm, PNorm, PUnit, Unit, UnitPullback
from relgrad.ops.reduction import pattern_axes
from relgrad.ops.rows import build
from relgrad.ops.structure import squeeze

INF = float("inf")


def _floating(x: Any) -> Any:
    """x : int → cast(x, float64), x : float32 → x: as norms take it."""
    if x.type.dtype.kind == "f":
        return x
    from relgrad.ops.casting import cast

    return as_term(cast(x, np.float64))


def _vector(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """order 1 → Σ |x|, ∞ → max |x|, 0 → how many are not 0, 2 → ‖x‖: the norm of a given order over axes together."""
    x = _floating(x)
    if order is None or order == 2:
        node = Norm(axes).make_node(x)
    elif order in (INF, -INF, 1, 0):
        size = call(np.abs, x)
        if order == 1:
            node = call(np.sum, size, axis=axes, keepdims=True)
        elif order == 0:
            one = x.type.dtype.type(1)
            counted = call(np.where, call(np.not_equal, x, 0), one, one - one)
            node = call(np.sum, counted, axis=axes, keepdims=True)
        else:
            node = call(np.max if order > 0 else np.min, size, axis=axes, keepdims=True)
    else:
        node = PNorm(axes, float(order)).make_node(x)
    node = as_term(node)
    return node if keepdims else squeeze(node, axes)


def _matrix(x: Any, order: Any, rows: int, columns: int, keepdims: bool) -> Any:
    """fro → ‖x‖, 2 → max σ, "nuc" → Σ σ, 1 → max Σᵢ |xᵢⱼ|: the norm of a given order of matrices in two axes."""
    axes = tuple(sorted((rows, columns)))
    if order in (None, "fro"):
        return _vector(x, 2, axes, keepdims)
    if order in (2, -2, "nuc"):
        s = call(np.linalg.svd, call(np.moveaxis, _floating(x), (rows, columns), (-2, -1)), compute_uv=False)
        node = call({2: np.max, -2: np.min, "nuc": np.sum}[order], s, axis=-1)
        return call(np.expand_dims, node, axes) if keepdims else node
    if order not in (1, -1, INF, -INF):
        raise TraceError(
            f"np.linalg.norm of matrices with ord={order!r} cannot be traced",
            cause="there is no such norm",
            cure="use ord=None, 'fro', 'nuc', 1, -1, 2, -2, np.inf or -np.inf",
        )
    x = _floating(x)
    inner, outer = (rows, columns) if order in (1, -1) else (columns, rows)
    sums = call(np.sum, call(np.abs, x), axis=inner, keepdims=True)
    node = as_term(call(np.max if order > 0 else np.min, sums, axis=outer, keepdims=True))
    return node if keepdims else squeeze(node, axes)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """norm(x) = √(Σ x²): traces `np.linalg.norm`."""
    x = strong(as_term(x))
    if not is_ground(x):
        axes = pattern_axes(axis, keepdims)
        if ord not in (None, 2):
            raise TraceError("np.linalg.norm in a relation has ord=None", cure="write other norms out")
        return Norm(axes).make_node(x)
    rank = x.type.ndim
    if axis is None and ord is None:
        return _vector(x, 2, tuple(range(-rank, 0)), keepdims)
    if axis is None:
        axis = tuple(range(-rank, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    normalize_axes(axes, rank)
    places = [normalize_axis(a, rank) for a in axes]
    if len(places) == 1:
        if isinstance(ord, str):
            raise TraceError(
                f"np.linalg.norm: ord={ord!r} is not a norm of vectors", cure="use a number, or ord=None"
            )
        return _vector(x, ord, tuple(places), keepdims)
    if len(places) == 2:
        return _matrix(x, ord, *places, keepdims=keepdims)
    raise ShapeError(
        f"np.linalg.norm over {len(places)} axes",
        cause="the norms of given orders and axes are those of vectors and matrices",
        cure="use np.linalg.vector_norm, which takes any axes together",
    )


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """vector_norm(x) = √(Σ x²): traces `np.linalg.vector_norm`."""
    x = strong(as_term(x))
    if not is_ground(x):
        return norm(x, ord, axis, keepdims)
    return _vector(x, ord, normalize_axes(axis, x.type.ndim), keepdims)


@implements(norm2)
def norm2_(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Trace the kernel `norm2`."""
    return vector_norm(x, axis=axis, keepdims=keepdims)


@implements(norm_p)
def norm_p_(x: Any, order: float, axis: Any = None, keepdims: bool = False) -> Any:
    """Trace the kernel `norm_p`."""
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=order)


@implements(unit)
def unit_(x: Any, axis: Any = None) -> Any:
    """unit(x) = x/‖x‖: traces the kernel `unit`."""
    x = strong(as_term(x))
    if not is_ground(x):
        return Unit(pattern_axes(axis, True)).make_node(x)
    return Unit(normalize_axes(axis, x.type.ndim)).make_node(x)


@implements(unit_pullback)
def unit_pullback_(x: Any, v: Any, axis: Any = None) -> Any:
    """Trace the kernel `unit_pullback`."""
    return build(UnitPullback, [x, v], tuple(range(-as_term(x).type.ndim, 0)) if axis is None else axis)


@implements(unit_p)
def unit_p_(x: Any, order: float, axis: Any = None) -> Any:
    """Trace the kernel `unit_p`."""
    x = require_ground("unit_p", x)
    return PUnit(normalize_axes(axis, x.type.ndim), float(order)).make_node(x)
