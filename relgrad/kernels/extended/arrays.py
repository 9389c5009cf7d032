"""NumPy's functions of whole arrays in extended range: sums, products of matrices, order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.kernels.extended.entries import multiply, pick, scaled
from relgrad.kernels.extended.number import FARTHEST, FUNCTIONS, NOTHING, UFUNCS, Extended, by_entries
from relgrad.kernels.numbers import (
    LARGEST,
    axes_of,
    entrywise_products,
    is_floating,
    lowered,
    of_matrices,
    rules_in,
    share_rules,
)

_rule = rules_in(FUNCTIONS)


@_rule(np.where)
def _where(c: Any, x: Any, y: Any) -> Extended:
    dtype = np.result_type(*[a.leading if isinstance(a, Extended) else a for a in (x, y)])
    operands = np.asarray(lowered(c)), Extended.of(x, dtype), Extended.of(y, dtype)
    return by_entries(np.where, pick, operands, tells=True)


@_rule(np.argsort)
def _argsort(x: Extended, axis: int = -1, kind: Any = None) -> Any:
    """(2²⁰⁰⁰, −1, NaN) → (1, 0, 2): the order by sign, exponent and mantissa, with NaN last."""
    number = ~np.isnan(x.m)
    sign = np.sign(np.where(number, x.m, 0)).astype(np.int64)
    exponent = sign * np.where(np.isinf(x.m), 2 * FARTHEST, x.e)
    return np.lexsort((x.m, exponent, sign, ~number), axis=axis)


FUNCTIONS[np.argpartition] = lambda x, kth, axis=-1: _argsort(x, axis)


@_rule(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """#{a < v}, or #{a ≤ v} on the right: places of v in a sorted a, where NaN comes last."""
    before = UFUNCS[np.less if side == "left" else np.less_equal]
    a, v = Extended.of(a), Extended.of(v)[..., None]
    # NaN comes last.
    return np.sum(before(a, v) | (np.isnan(v.m) & (~np.isnan(a.m) | (side == "right"))), axis=-1)


def _place_of(extreme: Any) -> Any:
    """argmax(x) is the first place where x = max(x), or NaN."""

    def rule(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        best = extreme(x, axis=axis, keepdims=True)
        return np.argmax(np.equal(x, best) | np.isnan(x.m), axis=axis, keepdims=keepdims)

    return rule


FUNCTIONS.update({np.argmax: _place_of(np.max), np.argmin: _place_of(np.min)})


def ranks(x: Extended, axis: int) -> Any:
    """Return whole numbers in the order of numbers of extended range along an axis."""
    return np.argsort(_argsort(x, axis), axis=axis)


@_rule(np.sum)
def sum_of(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Extended:
    """Σ x = Σ (floats among x) + Σ (the others), each sum by itself."""
    axes = axes_of(axis, x.ndim)
    near, at, far = x.form
    if at.size:
        near = near.copy()
        near.flat[at] = 0
    try:
        with np.errstate(over="raise"):
            total = np.sum(near, axis=axes, keepdims=True)
        result = Extended.near(total) if far is None else _with_far(total, at, far, x.shape, axes)
    except FloatingPointError:
        result = _scaled_sums(x, axes)
    return result if keepdims else result.moved(lambda part: np.squeeze(part, axes))


def _scaled_sums(x: Extended, axes: tuple[int, ...]) -> Extended:
    """Σ mᵢ·2^eᵢ = (Σ mᵢ·2^(eᵢ − k))·2ᵏ, k = max eᵢ for each sum."""
    most = np.max(x.e, axis=axes, keepdims=True, initial=NOTHING)
    return Extended(np.sum(scaled(x, most), axis=axes, keepdims=True), most)


def _with_far(total: Any, at: Any, far: Extended, shape: tuple[int, ...], axes: tuple[int, ...]) -> Extended:
    """Sums along axes of floats, with the numbers that stand at flat places beyond their range, where these matter."""
    limits = np.finfo(total.dtype)
    small = np.abs(total) < math.prod([shape[a] for a in axes]) * limits.tiny / limits.eps**2
    if far.e.max() < 0 and not np.count_nonzero(small):
        return Extended.near(total)
    index = [0 * i if a in axes else i for a, i in enumerate(np.unravel_index(at, shape))]
    place: Any = np.ravel_multi_index(index, total.shape) if shape else 0 * at
    some = (far.e > 0) | small.reshape(-1)[place]
    order = np.flatnonzero(some)[np.argsort(place[some], kind="stable")]
    where, first, count = np.unique(place[order], return_index=True, return_counts=True)
    far = Extended.made([part[order] for part in far.parts])
    most = np.maximum.reduceat(far.e, first)
    sums = Extended(np.add.reduceat(scaled(far, np.repeat(most, count)), first), most)
    return Extended.near(total) + Extended.near(np.zeros_like(total), where, sums)


def _matmul(a: Extended, b: Extended) -> Extended:
    """a·b entry by entry, or (a/2ᵏ)·(b/2ˡ)·2^(k + l) with k for each row of a and l for each column of b, if large.

    In floats where no product is small enough for what is out of range to matter.
    """
    floats = [x.floats() for x in (a, b)]
    found, limits = np.matmul(*floats), np.finfo(a.dtype)
    factor = max([np.max(np.abs(x), initial=1) for x in floats])
    least = a.shape[-1] * limits.tiny / limits.eps**2 * factor
    if np.all((np.abs(found) >= least) & np.isfinite(found)):
        return Extended.near(found)
    if a.size * b.shape[-1] <= LARGEST:
        return entrywise_products(a, b, multiply, sum_of)
    rows = np.max(a.e, axis=-1, keepdims=True)
    columns = np.max(b.e, axis=-2, keepdims=True)
    return type(a)(np.matmul(scaled(a, rows), scaled(b, columns)), rows + columns)


UFUNCS[np.matmul] = of_matrices(_matmul)
share_rules(Extended)


def _in_floats_first(function: Any) -> Any:
    """f of floats, if all are in range and stay there on the way, else by the rule of f."""
    rule = FUNCTIONS[function]

    def first(x: Any, *args: Any, **kwargs: Any) -> Any:
        near, at, _ = x.form
        if not len(at):
            try:
                with np.errstate(over="raise", under="raise"):
                    found = function(near, *args, **kwargs)
                return Extended.near(np.asarray(found)) if is_floating(found) else found
            except FloatingPointError:
                pass
        return rule(x, *args, **kwargs)

    return first


for _function in (np.prod, np.max, np.min, np.cumsum, np.cumprod, np.argmax, np.argmin):
    FUNCTIONS[_function] = _in_floats_first(_function)
prod, cumprod = FUNCTIONS[np.prod], FUNCTIONS[np.cumprod]
concatenate = FUNCTIONS[np.concatenate]
