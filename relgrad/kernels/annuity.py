"""((1 + x)ᵃ − 1)/x, as in compound interest, and its derivatives of every order in both arguments.

All are integrals Pₖₗ(x, a) = ∫₀¹ sᵏ·(1 + xs)ᵃ·log(1 + xs)ˡ ds: ((1 + x)ᵃ − 1)/x = a·P₀₀(x, a − 1), and
∂Pₖₗ/∂x = a·Pₖ₊₁,ₗ(x, a − 1) + l·Pₖ₊₁,ₗ₋₁(x, a − 1), ∂Pₖₗ/∂a = Pₖ,ₗ₊₁(x, a).

Source: D. Goldberg, "What every computer scientist should know about floating-point arithmetic", 1991, section
1.4 (the example of a savings account).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.kernels.differences import power1p
from relgrad.kernels.dispatch import floats, ranged
from relgrad.kernels.removable import exprel_n

__all__ = [
    "annuity_n",
]


@lru_cache
def _gauss_legendre(points: int) -> list[tuple[float, float]]:
    """Return nodes and weights on [0, 1], refined to the last bit by a step of Newton's method."""
    x = np.polynomial.legendre.leggauss(points)[0].astype(np.longdouble)
    slope = x
    for _ in range(2):
        below, value = np.ones_like(x), x
        for n in range(2, points + 1):
            below, value = value, ((2 * n - 1) * x * value - (n - 1) * below) / n
        slope = points * (below - x * value) / ((1 - x) * (1 + x))
        x = x - value / slope
    weights = 1 / ((1 - x) * (1 + x) * slope * slope)
    return list(zip(((x + 1) / 2).astype(float).tolist(), weights.astype(float).tolist(), strict=True))


@ranged(lambda x, a, *_: np.isfinite(x) & np.isfinite(a) & (np.asarray(x) > -1))
def annuity_n(x: Any, a: Any, order: int = 0, logs: int = 0) -> Any:
    """∫₀¹ sᵏ·(1 + xs)ᵃ·log(1 + xs)ˡ ds of order k with l logs; for l = 0 also where 1 + x < 0.

    >>> annuity_n(1e-20, 9.0)
    np.float64(1.0)
    """
    given_x, given_a = floats(x, a)
    x, a = np.broadcast_arrays(np.asarray(given_x, np.float64), np.asarray(given_a, np.float64))
    size = np.log1p(x)
    if order == logs == 0:
        # a·∫(1 + xs)^(a − 1) ds = expm1(a·log(1 + x))/x
        value = np.where(x == 0, 1, size / x) * exprel_n((a + 1) * size)
        beyond = np.where(a == -1, np.log(-1 - x), (np.power(1 + x, a + 1) - 1) / (a + 1)) / x
        value = np.where(x <= -1, beyond, value)
    else:
        value = integral(x, a, size, order, logs)
        value = np.where(x < -1, _by_parts(x, a, order) if logs == 0 else np.nan, value)
    return value.astype(given_x.dtype)[()]


def integral(x: Any, a: Any, size: Any, order: int, logs: int) -> Any:
    """Integrate over v in 1 + xs = exp(v·log(1 + x)), where the integrand is an exponential but for slow factors."""
    c = (a + 1) * size
    rising = c > 0
    width = np.minimum(1, 40 / np.maximum(np.abs(c), 1e-300))
    ratio = np.where(x == 0, 1, size / np.where(x == 0, 1, x))
    total = np.zeros_like(x)
    for node, weight in _gauss_legendre(48):
        # Measured from the end where the integrand is largest, whose value stands outside.
        away = width * node
        v = np.where(rising, 1 - away, away)
        s = np.where(x == 0, v, np.expm1(size * v) / np.where(x == 0, 1, x))
        total += weight * np.exp(-np.abs(c) * away) * s**order * (size * v) ** logs
    return total * width * ratio * np.where(rising, power1p(x, a + 1), 1)


def _by_parts(x: Any, a: Any, order: int) -> Any:
    value = (np.power(1 + x, a + order + 1) - 1) / ((a + order + 1) * x)
    for k in range(1, order + 1):
        exponent = a + order - k
        value = (power1p(x, exponent + 1) - k * value) / ((exponent + 1) * x)
    return value
