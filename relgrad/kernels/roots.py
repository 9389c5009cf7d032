"""Roots of quadratic equations, and the sides of right triangles, without cancellation or overflow.

Sources: W. Kahan, "On the cost of floating-point computation without extra-precise arithmetic", 2004 (the
discriminant); G. Forsythe, "How do you solve a quadratic equation?", 1966; N. J. Higham, "Accuracy and Stability of
Numerical Algorithms", 2nd ed., section 1.8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.dispatch import arithmetic_kernel, by_entries, entrywise, ranged
from relgrad.kernels.eft import two_product

__all__ = [
    "hypot_excess",
    "leg",
    "product_difference",
    "quadratic_root",
    "radical",
    "sagitta",
]


@arithmetic_kernel
@by_entries
def product_difference(x: Any, y: Any, u: Any, v: Any) -> Any:
    """x·y − u·v, with exact products where they cancel, of any size; within 2 ulp. Source: Kahan 2004.

    >>> product_difference(1 + 2.0**-30, 1 - 2.0**-30, 1.0, 1.0) == -(2.0**-60)
    np.True_
    >>> product_difference(1e200, 1e200, 1e200, 2e200)
    np.float64(-inf)
    """
    if x.dtype.itemsize < 8:  # a product of two has no more digits than a float64
        x, y, u, v, kind = *[np.asarray(a, np.float64) for a in (x, y, u, v)], x.dtype
        return np.asarray(x * y - u * v).astype(kind)[()]
    try:
        with np.errstate(over="raise", under="raise", invalid="raise"):
            (p, p_low), (q, q_low) = two_product(x, y), two_product(u, v)
            return (p - q) + (p_low - q_low)
    except FloatingPointError:
        return _difference_of_any_size(x, y, u, v)


def _difference_of_any_size(x: Any, y: Any, u: Any, v: Any) -> Any:
    """1e200·1e200 − 1e200·1.5e200 → −∞: x·y − u·v, the larger product brought near one first."""
    with np.errstate(all="ignore"):
        plain = x * y - u * v
        scaled, k = _scaled_difference(x, y, u, v)
    exact = np.isfinite(x) & np.isfinite(y) & np.isfinite(u) & np.isfinite(v)
    return np.where(exact, np.ldexp(np.where(exact, scaled, 0.0), k), plain)[()]


def _scaled_difference(x: Any, y: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """x, y, u, v → d, k with d·2ᵏ = x·y − u·v, both products exact; k is that of the larger."""
    (mx, kx), (my, ky), (mu, ku), (mv, kv) = map(np.frexp, (x, y, u, v))
    first, second = kx + ky, ku + kv
    k = np.where(mx * my == 0, second, np.where(mu * mv == 0, first, np.maximum(first, second)))
    p, p_low = [np.ldexp(part, first - k) for part in two_product(mx, my)]
    q, q_low = [np.ldexp(part, second - k) for part in two_product(mu, mv)]
    return (p - q) + (p_low - q_low), k


def _discriminant(w: Any, y: Any, e: Any) -> tuple[Any, Any]:
    """w, y, e → r, k with r·2ᵏ = √(y² + e·w), both products exact."""
    total, k = _scaled_difference(y, y, -e, w)
    return np.sqrt(np.where(k % 2, 2.0 * total, total)), k // 2


@entrywise
def radical(w: Any, y: Any, e: Any) -> Any:
    """√(y² + e·w), the root of a discriminant, within 1 ulp.

    >>> radical(1.0, 1e200, -1e200)
    np.float64(1e+200)
    """
    root, k = _discriminant(w, y, e)
    value = np.ldexp(root, k)
    plain = np.sqrt(y * y + e * w)
    return np.where(np.isfinite(w + y + e), value, plain)[()]


@ranged(lambda w, y, e: np.isfinite(w) & np.isfinite(y) & np.isfinite(e) & (e != 0) & ((w != 0) | (y > 0)))
def quadratic_root(w: Any, y: Any, e: Any) -> Any:
    """The root (√(y² + e·w) − y)/w = e/(√(y² + e·w) + y) of w·r² + 2·y·r = e.

    >>> quadratic_root(1.0, 1e8, 1.0)
    np.float64(5e-09)
    """
    root, k = _discriminant(w, y, e)
    scaled = np.ldexp(y, -k)
    early, late = np.ldexp(e, -k) / (root + scaled), np.ldexp(e / (root + scaled), -k)
    forward = np.where((k < 0) & np.isfinite(early) | ~np.isfinite(late), early, late)
    backward = np.ldexp((root - scaled) / w, k)
    backward = np.where(np.isfinite(backward) & (backward != 0), backward, np.ldexp(root - scaled, k) / w)
    value = np.where((y > 0) | ((y == 0) & (w == 0)), forward, backward)
    return np.where(np.isfinite(w + y + e), value, (np.sqrt(y * y + e * w) - y) / w)[()]


@entrywise
def leg(x: Any, y: Any, d: Any) -> Any:
    """√(x² − y²) = √(d·(x + y)), where d = x − y: the side of a right triangle with hypotenuse x.

    >>> leg(1.0, 1 - 2**-53, 2**-53)
    np.float64(1.4901161193847656e-08)
    """
    total = x / 2 + y / 2
    d, total = np.where(total < 0, -d, d), np.abs(total)
    product = d * total
    info = np.finfo(product.dtype)
    safe = product > info.tiny / info.eps
    root = np.sqrt(2 * product)
    # Where a factor is zero, the other may be negative.
    safe = (safe & (product < info.max / 4)) | (d == 0) | (total == 0)
    root = np.where(safe, root, np.sqrt(2 * d) * np.sqrt(total))
    return np.where(np.isfinite(root) | np.isnan(root), root, np.sqrt(d) * np.sqrt(total) * 2**0.5)[()]


@arithmetic_kernel
@by_entries
def hypot_excess(x: Any, y: Any) -> Any:
    """√(x² + y²) − y = x²/(√(x² + y²) + y)."""
    h = np.hypot(x, y)
    near = x * (x / (h + y))
    return np.where((y > 0) & np.isfinite(near), near, h - y)[()]


@ranged(lambda x, y: (np.abs(x) < np.inf) & (y != 0) & (np.abs(y) <= np.abs(x)))
def sagitta(x: Any, y: Any) -> Any:
    """x − √(x² − y²) = y²/(x + √(x² − y²)): the height of an arc of radius x and half chord y."""
    side = leg(x, y, x - y)
    near = y * (y / (x + side))
    return np.where((x > 0) & np.isfinite(near), near, x - side)[()]
