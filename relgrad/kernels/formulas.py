"""Functions that are formulas in others, for numbers of every kind: logistic, of entropies, products.

log(1 + e^x) = max(x, 0) + log(1 + e^−|x|)   for doubled numbers, and for those of extended range

Each holds where e^x, or a product, has left the range of floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def expit(x: Any) -> Any:
    """1/(1 + e^−|x|), or e^−|x|/(1 + e^−|x|) for x < 0."""
    e = np.exp(-np.absolute(x))
    return np.where(x.floats() >= 0, 1.0, e) / (1.0 + e)


def softplus(x: Any) -> Any:
    """log(1 + e^x) = max(x, 0) + log(1 + e^−|x|)"""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.absolute(x)))


def log_expit(x: Any) -> Any:
    """−log(1 + e^−x)"""
    return -softplus(-x)


def log1mexp(x: Any) -> Any:
    """log(1 − e^x) = log1p(−e^x) for x < −0.7, log(−expm1(x)) nearer to 0."""
    return np.where(x.floats() < -0.7, np.log1p(-np.exp(x)), np.log(-np.expm1(x)))


def logdiffexp(x: Any, y: Any) -> Any:
    """log(e^x − e^y) = x + log(1 − e^(y − x))"""
    return x + log1mexp(y - x)


def unless_zero(x: Any, y: Any, product: Any) -> Any:
    """0·log 0 → 0: a product, and 0 where its first factor is 0 and the other a number."""
    return np.where(x.zeros() & ~np.isnan(y.floats()), 0.0, product)


def xlogy(x: Any, y: Any) -> Any:
    """x·log y, and 0 where x = 0 and y is not NaN."""
    return unless_zero(x, y, x * np.log(y))


def xlog1py(x: Any, y: Any) -> Any:
    """x·log(1 + y), and 0 where x = 0 and y is not NaN."""
    return unless_zero(x, y, x * np.log1p(y))


def xdivy(x: Any, y: Any) -> Any:
    """x/y, and 0 where x = 0 and y is not NaN."""
    return unless_zero(x, y, x / y)


def leave_one_out_prod(x: Any, axes: tuple[int, ...] = (-1,)) -> Any:
    """(a, b, c) → (b·c, a·c, a·b): products of the entries before each, times those of the entries after."""
    n, tail = math.prod(x.shape[a] for a in axes), tuple(range(-len(axes), 0))
    if n < 2:
        return x.of(np.ones(x.shape, x.dtype))
    moved = np.moveaxis(x, axes, tail)
    flat = moved.reshape((*moved.shape[: x.ndim - len(axes)], n))
    before = np.cumprod(flat[..., :-1], axis=-1)
    after = np.cumprod(flat[..., :0:-1], axis=-1)[..., ::-1]
    parts = [after[..., :1], before[..., :-1] * after[..., 1:], before[..., -1:]]
    return np.moveaxis(np.concatenate(parts, axis=-1).reshape(moved.shape), tail, axes)
