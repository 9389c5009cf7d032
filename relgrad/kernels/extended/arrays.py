"""NumPy's functions of whole arrays in extended range: sums, products of matrices, order."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.extended.entries import multiply, pick, scaled
from relgrad.kernels.extended.number import FARTHEST, FUNCTIONS, NOTHING, UFUNCS, Extended
from relgrad.kernels.numbers import (
    LARGEST,
    axes_of,
    entrywise_products,
    lowered,
    of_matrices,
    rules_in,
    share_rules,
)

_rule = rules_in(FUNCTIONS)


@_rule(np.where)
def _where(c: Any, x: Any, y: Any) -> Extended:
    dtype = np.result_type(*[a.m if isinstance(a, Extended) else a for a in (x, y)])
    return pick(lowered(c), Extended.of(x, dtype), Extended.of(y, dtype))


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
    """Σ mᵢ·2^eᵢ = (Σ mᵢ·2^(eᵢ − k))·2ᵏ, k = max eᵢ for each sum."""
    axes = axes_of(axis, x.ndim)
    most = np.max(x.e, axis=axes, keepdims=True, initial=NOTHING)
    total = np.sum(scaled(x, most), axis=axes, keepdims=True)
    result = type(x)(total, most)
    return result if keepdims else result.moved(lambda part: np.squeeze(part, axes))


def _matmul(a: Extended, b: Extended) -> Extended:
    """a·b entry by entry, or (a/2ᵏ)·(b/2ˡ)·2^(k + l) with k for each row of a and l for each column of b, if large."""
    if a.size * b.shape[-1] <= LARGEST:
        return entrywise_products(a, b, multiply, sum_of)
    rows = np.max(a.e, axis=-1, keepdims=True)
    columns = np.max(b.e, axis=-2, keepdims=True)
    return type(a)(np.matmul(scaled(a, rows), scaled(b, columns)), rows + columns)


UFUNCS[np.matmul] = of_matrices(_matmul)
share_rules(Extended)
prod, cumprod = FUNCTIONS[np.prod], FUNCTIONS[np.cumprod]
concatenate = FUNCTIONS[np.concatenate]
