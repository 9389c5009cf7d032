"""NumPy's functions of whole arrays in extended range: reductions, products of matrices, and what moves entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.extended.entries import add, divide, multiply, pick, scaled
from relgrad.kernels.extended.number import FARTHEST, FUNCTIONS, NOTHING, UFUNCS, Extended, lowered

LARGEST = 1 << 21
"""Products of matrices are formed entry by entry where they have at most so many products of entries."""


def _rule(*names: Any) -> Callable[[Any], Any]:
    def register(rule: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(names, rule))
        return rule

    return register


def _moves(function: Any) -> None:
    FUNCTIONS[function] = lambda x, *args, **kwargs: Extended.of(x).moved(
        lambda part: function(part, *args, **kwargs)
    )


for _function in (
    *(np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze),
    *(np.broadcast_to, np.ravel, np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.take, np.tile),
    *(np.repeat, np.diagonal, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy, np.matrix_transpose),
    *(np.take_along_axis, np.compress, np.resize),
):
    _moves(_function)


def _joins(function: Any) -> None:
    def rule(arrays: Sequence[Any], *args: Any, **kwargs: Any) -> Extended:
        parts = [Extended.of(x) for x in arrays]
        return Extended(
            function([x.m for x in parts], *args, **kwargs), function([x.e for x in parts], *args, **kwargs)
        )

    FUNCTIONS[function] = rule


for _function in (np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.dstack):
    _joins(_function)


@_rule(np.where)
def _where(c: Any, x: Any, y: Any) -> Extended:
    dtype = np.result_type(*[a.m if isinstance(a, Extended) else a for a in (x, y)])
    return pick(lowered(c), Extended.of(x, dtype), Extended.of(y, dtype))


@_rule(np.shape)
def _shape(x: Extended) -> tuple[int, ...]:
    return x.shape


@_rule(np.argsort)
def argsort(x: Extended, axis: int = -1, kind: Any = None) -> Any:
    """Return the permutation that sorts: by sign, exponent and mantissa, with NaN last."""
    number = ~np.isnan(x.m)
    sign = np.sign(np.where(number, x.m, 0)).astype(np.int64)
    exponent = sign * np.where(np.isinf(x.m), 2 * FARTHEST, x.e)
    return np.lexsort((x.m, exponent, sign, ~number), axis=axis)


FUNCTIONS[np.argpartition] = lambda x, kth, axis=-1: argsort(x, axis)


@_rule(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    before = UFUNCS[np.less if side == "left" else np.less_equal]
    return np.sum(before(Extended.of(a), Extended.of(v)[..., None]), axis=-1)


def ranks(x: Extended, axis: int) -> Any:
    """Return whole numbers in the order of numbers of extended range along an axis."""
    return np.argsort(argsort(x, axis), axis=axis)


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    return tuple(a % rank for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))


@_rule(np.sum)
def sum_of(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Extended:
    """Return Σ x over axes: one common exponent for each sum."""
    axes = _axes(axis, x.ndim)
    most = np.max(x.e, axis=axes, keepdims=True, initial=NOTHING)
    total = np.sum(scaled(x, most), axis=axes, keepdims=True)
    result = Extended(total, most)
    return result if keepdims else result.moved(lambda part: np.squeeze(part, axes))


@_rule(np.mean)
def _mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Extended:
    count = math.prod(x.shape[a] for a in _axes(axis, x.ndim))
    return divide(sum_of(x, axis, keepdims=keepdims), Extended.of(count, x.dtype))


def _reduced(operation: Any, start: float | None) -> Any:
    """Return a reduction by halves, which takes few steps of the operation."""

    def rule(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **_: Any) -> Extended:
        axes = _axes(axis, x.ndim)
        kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
        lead = tuple(range(len(axes)))
        rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        x = x.moved(lambda part: np.moveaxis(part, axes, lead).reshape((-1, *rest)))
        if not len(x):
            if start is None:
                raise ValueError("zero-size array to reduction operation which has no identity")
            x = Extended.of(np.full((1, *rest), start, x.dtype))
        while len(x) > 1:
            half = len(x) // 2
            left = operation(x[:half], x[half : 2 * half])
            x = FUNCTIONS[np.concatenate]([left, x[2 * half :]])
        return x.reshape(kept) if keepdims else x[0]

    return rule


prod = FUNCTIONS[np.prod] = _reduced(multiply, 1.0)
FUNCTIONS[np.max] = _reduced(UFUNCS[np.maximum], None)
FUNCTIONS[np.min] = _reduced(UFUNCS[np.minimum], None)


def _accumulated(operation: Any) -> Any:
    def rule(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Extended:
        axis = -1 if axis is None else axis
        moved = (x.reshape(-1) if x.ndim == 0 else x).moved(lambda part: np.moveaxis(part, axis, 0))
        rows = [moved[:1]] if len(moved) else []
        for i in range(1, len(moved)):
            rows.append(operation(rows[-1], moved[i : i + 1]))
        if not rows:
            return x
        return FUNCTIONS[np.concatenate](rows).moved(lambda part: np.moveaxis(part, 0, axis))

    return rule


cumsum = FUNCTIONS[np.cumsum] = _accumulated(add)
cumprod = FUNCTIONS[np.cumprod] = _accumulated(multiply)


def matmul(a: Extended, b: Extended) -> Extended:
    """Return a·b."""
    left, right = a.ndim == 1, b.ndim == 1
    a = a[None] if left else a
    b = b[:, None] if right else b
    if a.size * b.shape[-1] <= LARGEST:
        result = sum_of(multiply(a[..., None], b[..., None, :, :]), axis=-2)
    else:
        rows = np.max(a.e, axis=-1, keepdims=True)
        columns = np.max(b.e, axis=-2, keepdims=True)
        result = Extended(np.matmul(scaled(a, rows), scaled(b, columns)), rows + columns)
    result = result[..., 0, :] if left else result
    return result[..., 0] if right else result


UFUNCS[np.matmul] = matmul


@_rule(np.dot)
def _dot(a: Any, b: Any) -> Extended:
    a, b = Extended.of(a), Extended.of(b)
    return multiply(a, b) if 0 in (a.ndim, b.ndim) else matmul(a, b)
