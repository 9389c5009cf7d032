"""Quotients with a removable singularity at 0, and their derivatives of every order.

Each is an integral of a smooth function over [0, 1], differentiated under the sign; so the n-th derivative
obeys a two-term recurrence in n, which divides by x and is stable once |x| is about n, and near 0 a series
with terms of one sign, or nearly so, takes over (Gauss-Legendre quadrature for log(1 + x)/x, whose series has
radius 1). Orders 0 to 6 are within 1e-14 of the largest value nearby, and relatively so away from zeros of
the function. Computed in float64.

Source: for the recurrences, Leibniz' rule on x·f(x); N. J. Higham, "Accuracy and Stability of Numerical
Algorithms", 2nd ed., section 1.14.1, for order 0 of the exponential one; NIST DLMF 13.2.39 (Kummer's
transformation).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import arithmetic_kernel, floats, in_blocks, kernel

__all__ = [
    "exprel_n",
    "log1prel_n",
    "sinc_n",
]


Branch = Callable[[Any, int], Any]


def _piecewise(x: Any, order: int, near: Callable[[Any], Any], inner: Branch, outer: Branch) -> Any:
    """where(near(x), inner(x), outer(x)), each computed on its own entries only."""

    def pieces(given: Any) -> Any:
        """x → inner(x) near 0, outer(x) elsewhere, in float64."""
        x = np.asarray(given, np.float64)
        where = near(x)
        if where.all():
            out = np.asarray(inner(x, order))
        else:
            out = np.empty_like(x)
            out[where] = inner(x[where], order)
            out[~where] = outer(x[~where], order)
        return out.astype(given.dtype)[()]

    return in_blocks(pieces, floats(x))


def _horner(coefficients: tuple[float, ...], t: Any) -> Any:
    """c₀ + t·(c₁ + t·(c₂ + …))"""
    total = np.full_like(t, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= t
        total += c
    return total


def _cosine(x: Any, quarters: int) -> Any:
    """cos(x + quarters·π/2) without adding to x."""
    value = np.cos(x) if quarters % 2 == 0 else np.sin(x)
    return value if quarters % 4 in (0, 3) else -value


@lru_cache
def _even_series(order: int, power: int) -> tuple[float, ...]:
    """Coefficients in x² of the order-th derivative of Σ (−1)ᵏ x²ᵏ/(2k + power)!, over x if odd."""
    first = (order + 1) // 2
    coefficients = []
    for k in range(first, first + 14 + order // 2):
        rising = factorial(2 * k + power) // factorial(2 * k)
        coefficients.append((-1) ** k / (rising * factorial(2 * k - order)))
    return tuple(coefficients)


def _series(x: Any, order: int, power: int) -> Any:
    value = _horner(_even_series(order, power), x * x)
    return value * x if order % 2 else value


def _sinc_outer(x: Any, order: int) -> Any:
    """f = sin(x)/x, f⁽ⁿ⁾ = (cos(x + (n + 3)·π/2) − n·f⁽ⁿ⁻¹⁾)/x; 0 at infinity."""
    f = np.sin(x) / x
    for n in range(1, order + 1):
        f = (_cosine(x, n + 3) - n * f) / x
    return np.where(np.isinf(x), 0, f)


@kernel
def sinc_n(x: Any, order: int = 0) -> Any:
    """The order-th derivative of sin(x)/x, ∫₀¹ tⁿ cos(xt + nπ/2) dt; the series is used for |x| < (n + 1)/2.

    >>> sinc_n(np.array([0.0, 1e-4]), 2)
    array([-0.33333333, -0.33333333])
    """
    return _piecewise(
        x, order, lambda x: np.abs(x) < max(0.1, order / 2 + 0.5), lambda x, n: _series(x, n, 1), _sinc_outer
    )


def _exprel_inner(x: Any, order: int) -> Any:
    """Σ xᵏ/(k!·(n + 1 + k)) for x ≥ 0, and eˣ·Σ |x|ᵏ·n!/(n + 1 + k)! for x < 0: all terms are positive."""
    # Σ xᵏ/(k!(n+1+k)) for x ≥ 0; for x < 0, by Kummer, eˣ Σ |x|ᵏ n!/(n+1+k)!: all terms are positive.
    terms = 30 + 4 * order
    positive = tuple(1 / (factorial(k) * (order + 1 + k)) for k in range(terms))
    negative = tuple(factorial(order) / factorial(order + 1 + k) for k in range(terms))
    out = np.empty_like(x)
    up = x >= 0
    out[up] = _horner(positive, x[up])
    out[~up] = _horner(negative, -x[~up]) * np.exp(x[~up])
    return out


def _exprel_outer(x: Any, order: int) -> Any:
    """f⁽ⁿ⁾ = (eˣ − n·f⁽ⁿ⁻¹⁾)/x from f = (eˣ − 1)/x on; for x > 0 of f·e⁻ˣ, with eˣ put back in halves."""
    # For x > 0 the recurrence runs on f·e⁻ˣ, and eˣ is put back in halves, so that f alone may overflow.
    up = x > 0
    e = np.where(up, 1, np.exp(x))
    f = np.where(up, -np.expm1(-np.abs(x)), np.expm1(x)) / x
    for n in range(1, order + 1):
        f = (e - n * f) / x
    half = np.where(up, np.exp(np.abs(x) / 2), 1)
    return np.where(x == np.inf, np.inf, (f * half) * half)


def _expm1_ratio(x: Any) -> Any:
    return np.where(x == 0, 1, np.expm1(x) / np.where(x == 0, 1, x))


@arithmetic_kernel
def exprel_n(x: Any, order: int = 0) -> Any:
    """The order-th derivative of (eˣ − 1)/x, ∫₀¹ tⁿ eˣᵗ dt; two series with positive terms for |x| < n + 2.

    >>> exprel_n(np.array([0.0, 1e-9]), 1)
    array([0.5, 0.5])
    """
    if order == 0:  # eˣ overflows 7 units before its quotient by x does
        return _piecewise(x, 0, lambda x: np.abs(x) < 700, lambda x, n: _expm1_ratio(x), _exprel_outer)
    return _piecewise(x, order, lambda x: np.abs(x) < order + 2, _exprel_inner, _exprel_outer)


@lru_cache
def _gauss_legendre(points: int) -> list[tuple[float, float]]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def _log1prel_inner(x: Any, order: int) -> Any:
    """(−1)ⁿ·n!·∫₀¹ tⁿ/(1 + x·t)ⁿ⁺¹ dt by Gauss-Legendre quadrature."""
    total = np.zeros_like(x)
    for t, weight in _gauss_legendre(24 + order):
        scale = 1 / (1 + x * t)
        power = scale.copy()
        for _ in range(order):
            power *= scale
            power *= t
        total += weight * power
    return (-1) ** order * factorial(order) * total


def _log1prel_outer(x: Any, order: int) -> Any:
    """G₀ = log(1 + x)/x, Gₙ = (n + 1)/n·((1 + x)·Gₙ₋₁ − 1)/x, and f⁽ⁿ⁾ = (−1)ⁿ·n!·Gₙ/((n + 1)·(1 + x)ⁿ)."""
    # G = (n+1)(1+x)ⁿ ∫ tⁿ/(1+xt)ⁿ⁺¹ dt neither overflows nor vanishes, and its recurrence starts at order 0.
    f = np.log1p(x) / x
    for n in range(1, order + 1):
        f = (n + 1) / n * (((1 + x) * f - 1) / x)
    for n in range(1, order + 1):
        f = f * -n / (1 + x)
    f = f / (order + 1)
    f = np.where(x == np.inf, 0, f)
    return np.where(x == -1, (-1) ** order * np.inf, f)


@kernel
def log1prel_n(x: Any, order: int = 0) -> Any:
    """The order-th derivative of log(1 + x)/x, (−1)ⁿ n! ∫₀¹ tⁿ/(1 + xt)ⁿ⁺¹ dt; quadrature for −½ < x < 4.

    NaN for x < −1. Order 0 is the quotient itself everywhere but at 0.

    >>> log1prel_n(np.array([0.0, 1e-17]), 1)
    array([-0.5, -0.5])
    """
    if order == 0:
        return _piecewise(x, 0, lambda x: x == 0, lambda x, n: np.ones_like(x), _log1prel_outer)
    return _piecewise(x, order, lambda x: (x > -0.5) & (x < 4), _log1prel_inner, _log1prel_outer)
