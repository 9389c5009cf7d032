"""Functions that are formulas in others, for numbers of every kind: logistic, of entropies, products, sums of them.

log(1 + e^x) = max(x, 0) + log(1 + e^−|x|)   for doubled numbers, and for those of extended range

Each holds where e^x, or a product, has left the range of floats.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np

from relgrad.kernels.numbers import LARGEST, alike


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


def log_quotient(x: Any, y: Any, d: Any) -> Any:
    """log(x/y) = log(1 + d/y), where d = x − y."""
    return np.where(np.abs(d) < np.abs(y) * 0.5, np.log1p(d / y), np.log(x / y))


def leave_one_out_prod(x: Any, *directions: Any, axes: tuple[int, ...] = (-1,)) -> Any:
    """(a, b, c) → (b·c, a·c, a·b): products of the entries before each, times those of the entries after.

    With directions t₁ … tₘ they are those of x + Σ εᵢ·tᵢ with εᵢ² = 0, of which the part with ε₁·…·εₘ is the result:
    nothing for m ≥ n.
    """
    n, tail = math.prod(x.shape[a] for a in axes), tuple(range(-len(axes), 0))
    if len(directions) >= max(n, 1):
        return np.zeros_like(x)
    if n < 2:
        return np.ones_like(x)
    shape = np.moveaxis(x, axes, tail).shape
    flat = [
        np.moveaxis(np.broadcast_to(v, x.shape), axes, tail).reshape((*shape[: x.ndim - len(axes)], n))
        for v in (x, *directions)
    ]
    if directions:
        factors = [
            {0: flat[0][..., j : j + 1], **{1 << i: t[..., j : j + 1] for i, t in enumerate(flat[1:])}}
            for j in range(n)
        ]
        before = list(accumulate(factors[:-1], _ring_product))
        after = list(accumulate(factors[:0:-1], _ring_product))[::-1]
        others = [after[0], *map(_ring_product, before, after[1:]), before[-1]]
        none, full = flat[0][..., :1] * 0.0, (1 << len(directions)) - 1
        found = np.concatenate([other.get(full, none) for other in others], axis=-1)
    else:
        before = np.cumprod(flat[0][..., :-1], axis=-1)
        after = np.cumprod(flat[0][..., :0:-1], axis=-1)[..., ::-1]
        parts = [after[..., :1], before[..., :-1] * after[..., 1:], before[..., -1:]]
        found = np.concatenate(parts, axis=-1)
    return np.moveaxis(found.reshape(shape), tail, axes)


def _ring_product(a: dict[int, Any], b: dict[int, Any]) -> dict[int, Any]:
    """(a + a′·ε)·(b + b′·ε) = a·b + (a·b′ + a′·b)·ε, ε² = 0: coefficients by sets of εs, as bits."""
    found: dict[int, Any] = {}
    for s, u in a.items():
        for t, v in b.items():
            if not s & t:
                found[s | t] = found[s | t] + u * v if s | t in found else u * v
    return found


def einsum(subscripts: str, *operands: Any) -> Any | None:
    """ij,jk->ik → Σ_j a_ij·b_jk: a product of operands with the axes of all in one order, summed.

    None for diagonals, as in ii->i, and where the product is too large.
    """
    left, output = subscripts.split("->")
    every = [*output, *dict.fromkeys(c for c in left if c not in output and c != ",")]
    product: Any = None
    for labels, x in zip(left.split(","), alike(*operands), strict=True):
        if len(set(labels)) < len(labels):
            return None
        order = sorted(range(len(labels)), key=lambda i: every.index(labels[i]))
        missing = tuple([i for i, c in enumerate(every) if c not in labels])
        x = np.expand_dims(np.transpose(x, order), missing)
        if product is not None and np.prod(np.broadcast_shapes(product.shape, x.shape)) > LARGEST:
            return None
        product = x if product is None else product * x
    axes = tuple(range(len(output), len(every)))
    return np.sum(product, axis=axes) if axes else product
