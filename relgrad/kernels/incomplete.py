"""Derivatives of the incomplete gamma and beta functions, and Student's, by parameters, which have no closed form.

    P = ∫₀ˣ f(a, t) dt, Q = 1 − P  ⟶  ∂ⁿP/P = E[Bₙ(t) | t < x], ∂ⁿQ/Q = E[Bₙ(t) | t > x], ∂P = −∂Q

f is a density, Bₙ = ∂ⁿf/f a polynomial of log t, and that mean is taken on whose side log t − E[log t] has one sign, so
that nothing cancels: a ratio of two sums over the nodes of double exponential quadrature. No tail underflows in it.
Source: Takahasi & Mori 1974, Double exponential formulas for numerical integration.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels.dispatch import by_entries, kernel

__all__ = [
    "betainc_n",
    "betaincc_n",
    "gammainc_n",
    "gammaincc_n",
    "stdtr_n",
]

_V = np.arange(-5.0, 6.5, 1 / 32)[:, None]
_NODES = np.exp(_V - np.exp(-_V))
_WEIGHTS = _NODES * (1 + np.exp(-_V))
TOGETHER = 256
"""So many entries at a time, each at all nodes."""
_BERNOULLI = (1 / 12, 1 / 120, 1 / 252, 1 / 240, 1 / 132)


def bell(orders: tuple[int, ...], cumulant: Callable[..., Any]) -> Any:
    """(2,) → c(1)² + c(2), (1, 1) → c(1, 0)·c(0, 1) + c(1, 1): ∂f/f, so often by each, of c = ∂ log f.

    ∂ᵢ∂ᵏf = ∂ᵏ(f·∂ᵢ log f): of Bell's polynomials, one of orders below from the last.
    """
    known: dict[tuple[int, ...], Any] = {}

    def at(n: tuple[int, ...]) -> Any:
        """B(n) = Σ C(m, k)·c(k + e)·B(m − k), n = m + e."""
        if not any(n):
            return 1.0
        if n not in known:
            first = next(i for i, k in enumerate(n) if k)
            m = tuple([k - (i == first) for i, k in enumerate(n)])
            known[n] = sum(
                math.prod(map(math.comb, m, k))
                * of(tuple([q + (i == first) for i, q in enumerate(k)]))
                * at(tuple([q - r for q, r in zip(m, k, strict=True)]))
                for k in product(*[range(q + 1) for q in m])
            )
        return known[n]

    of = functools.cache(cumulant)
    return at(orders)


def _excess(x: Any) -> Any:
    """ψ(x) − log x, by Stirling's series where x is large."""
    u, total = 1 / (x * x), 0.0
    for b in reversed(_BERNOULLI):
        total = u * (b - total)
    return np.where(x > 16, -0.5 / x - total, scipy.special.digamma(x) - np.log(x))


def _polygamma(order: int, x: Any) -> Any:
    return scipy.special.digamma(x) if order == 0 else scipy.special.polygamma(order, x)


def _mean(orders: tuple[int, ...], exponent: Any, logs: Any, cumulant: Any) -> Any:
    """E[B] = Σ w·B/Σ w, over the nodes."""
    weight = _WEIGHTS * np.exp(exponent)
    value = bell(orders, lambda n: logs[n.index(1)] if sum(n) == 1 else cumulant(n))
    return np.where(weight > 0, weight * value, 0).sum(0) / weight.sum(0)


def _by_nodes(function: Callable[..., Any], upper: bool, tails: tuple[Any, Any], *operands: Any) -> Any:
    """∂ⁿP/P or ∂ⁿQ/Q of positive numbers, by a function of single entries which says what belongs to the smaller; NaN
    elsewhere.

    Of F = r + G, G with a parameter that is 1 larger, it is (r·B + G·E)/(r + G).
    """
    *given, known = np.broadcast_arrays(
        *[np.asarray(x, np.float64) for x in operands],
        np.logical_and.reduce([np.isfinite(x) & (x > 0) for x in np.broadcast_arrays(*operands)]),
    )
    result = np.full(known.shape, np.nan)
    places = np.flatnonzero(known)
    for start in range(0, len(places), TOGETHER):
        some = places[start : start + TOGETHER]
        at = [x.flat[some] for x in given]
        low, term, factor, beyond, mean = function(*at)
        rest = np.where(low, tails[0](*beyond), tails[1](*beyond))
        slope = np.where(term > 0, (term * factor + rest * mean) / (term + rest), mean)
        p, q = (tail(*at[: len(beyond)]) for tail in tails)
        result.flat[some] = np.where(low != upper, slope, -slope * np.where(low, p / q, q / p))
    return result


def _of_gamma(n: int, upper: bool, a: Any, x: Any) -> Any:
    """∂ⁿP/∂aⁿ/P, or that of Q, with f = t^(a − 1)·e⁻ᵗ/Γ(a), t = x·eᶻ."""

    def parts(a: Any, x: Any) -> Any:
        """a, x → low, xᵃ·e⁻ˣ/Γ(a + 1), its Bₙ, (a + 1, x), E[Bₙ]: a step where a is small, since that tail is long."""
        low = np.log(x) < scipy.special.digamma(np.where(a < 1, a + 1, a))
        step = low & (a < 1)
        c = a + step
        term = np.where(step, np.exp(a * np.log(x) - x - scipy.special.gammaln(c)), 0)
        cumulant = lambda n: -_polygamma(n[0] - 1, c)
        z = np.where(low, -1, 1) / (np.abs(c - x) + np.sqrt(x)) * _NODES
        mean = _mean((n,), c * z - x * np.expm1(z), (np.log(x / c) - _excess(c) + z,), cumulant)
        return (
            low,
            term,
            bell((n,), lambda k: cumulant(k) + (np.log(x) if k == (1,) else 0)),
            (c, x),
            mean,
        )

    n = int(n)
    found = _by_nodes(parts, upper, (scipy.special.gammainc, scipy.special.gammaincc), a, x)
    return np.where((a > 0) & ((x == 0) | (x == np.inf)), 0, found).astype(x.dtype)[()]


@kernel
@by_entries
def gammainc_n(n: int, a: Any, x: Any) -> Any:
    """∂ⁿP(a, x)/∂aⁿ/P(a, x), n ≥ 1, within 1e-12, where it is far from a change of sign; 0 at the ends.

    >>> round(gammainc_n(1, 2.5, 1.0), 12)
    np.float64(-1.193859335348)
    """
    return _of_gamma(n, False, a, x)


@kernel
@by_entries
def gammaincc_n(n: int, a: Any, x: Any) -> Any:
    """∂ⁿQ(a, x)/∂aⁿ/Q(a, x), n ≥ 1, within 1e-12, where it is far from a change of sign; 0 at the ends.

    >>> round(gammaincc_n(1, 2.5, 900.0), 12)
    np.float64(6.100349848678)
    """
    return _of_gamma(n, True, a, x)


def _of_beta(i: int, j: int, upper: bool, a: Any, b: Any, x: Any) -> Any:
    """∂ⁱ⁺ʲI/∂aⁱ∂bʲ/I, or that of 1 − I, with f = t^(a − 1)·(1 − t)^(b − 1)/B(a, b), t/(1 − t) = x/(1 − x)·eᶻ."""

    def parts(a: Any, b: Any, x: Any, y: Any) -> Any:
        """a, b, x, 1 − x → low, xᵃ·yᵇ/(a·B(a, b)), its Bₙ, (a + 1, b, x), E[Bₙ]: a step where a is small in the lower
        tail, or b in the upper one.
        """
        ends = np.where(x < 0.5, np.log(x), np.log1p(-y)), np.where(y < 0.5, np.log(y), np.log1p(-x))
        one, other = (a, b) if i else (b, a)
        larger = np.where(one < 1, one + 1, one)
        low = (ends[0 if i else 1] + _gammas((1, 0), larger, 0, larger + other) < 0) == (i > 0)
        step = np.where(low, a, b) < 1
        c, d = a + (step & low), b + (step & ~low)
        size = scipy.special.xlogy(a, x) + scipy.special.xlogy(b, y) - scipy.special.betaln(a, b)
        term = np.where(step, np.exp(size) / np.where(low, a, b), 0)
        of_term = lambda n: _gammas(n, c, d, a + b) + (ends[n.index(1)] if sum(n) == 1 else 0)
        z = np.where(low, -1, 1) / (np.abs(c * y - d * x) + np.sqrt((c + d) * x * y)) * _NODES
        spread = np.where(z < 0, np.log1p(x * np.expm1(z)), z + np.log1p(y * np.expm1(-z)))
        odds = ends[0] - ends[1] + z
        logs = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
        about = [log + _gammas(n, c, d, c + d) for n, log in zip(((1, 0), (0, 1)), logs, strict=True)]
        mean = _mean((i, j), c * z - (c + d) * spread, about, lambda n: _gammas(n, c, d, c + d))
        return low, term, bell((i, j), of_term), (c, d, x), mean

    i, j = int(i), int(j)
    found = _by_nodes(parts, upper, (scipy.special.betainc, scipy.special.betaincc), a, b, x, 1 - x)
    return np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0, found).astype(x.dtype)[()]


def _gammas(n: tuple[int, int], a: Any, b: Any, whole: Any) -> Any:
    """∂ log(Γ(whole)/(Γ(a)·Γ(b))), so often by a and b, without loss where one of these is nearly the whole."""
    order, one = sum(n) - 1, a if n[0] else b
    if order == 0:
        return np.log1p((whole - one) / one) + _excess(whole) - _excess(one)
    return _polygamma(order, whole) - (0 if all(n) else _polygamma(order, one))


@kernel
@by_entries
def betainc_n(i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """∂ⁱ⁺ʲIₓ(a, b)/∂aⁱ∂bʲ/Iₓ(a, b), i + j ≥ 1; of the first order within 1e-10; 0 at the ends.

    >>> round(betainc_n(1, 0, 2.5, 0.5, 0.75), 12)
    np.float64(-0.410703695133)
    """
    return _of_beta(i, j, False, a, b, x)


@kernel
@by_entries
def betaincc_n(i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """∂ⁱ⁺ʲJ/∂aⁱ∂bʲ/J, J = 1 − Iₓ(a, b), i + j ≥ 1; of the first order within 1e-10; 0 at the ends.

    >>> round(betaincc_n(0, 1, 2.5, 0.5, 0.75), 12)
    np.float64(-0.680609599572)
    """
    return _of_beta(i, j, True, a, b, x)


@kernel
@by_entries
def stdtr_n(n: int, v: Any, t: Any) -> Any:
    """∂ⁿF/∂vⁿ of Student's distribution function F(v, t), n ≥ 1, within v·1e-14.

    >>> round(stdtr_n(1, 3.0, -2.0), 12)
    np.float64(-0.015255481526)
    """
    n = int(n)

    def parts(v: Any, t: Any) -> Any:
        """v, |t| → low, 0, 1, (v, t), E[Bₙ]: F − 1/2 is the smaller where ∂ log f/∂v is positive."""
        low = _student(1, v, t * t) > 0
        z = np.where(low, -1, 1) / np.where(low, 1.0, v * t * t / (v + t * t)) * _NODES
        square = np.square(t * np.exp(z))
        exponent = z - 0.5 * (v + 1) * (np.log1p(square / v) - np.log1p(t * t / v))
        mean = _mean((n,), exponent, (_student(1, v, square),), lambda k: _student(k[0], v, square))
        return low, 0.0 * t, 1.0, (v, t), mean

    tail = lambda v, t: scipy.special.stdtr(v, -t)
    middle = lambda v, t: 0.5 * scipy.special.betainc(0.5, 0.5 * v, t * t / (v + t * t))
    found = _by_nodes(parts, False, (middle, tail), v, np.abs(t)) * middle(v, np.abs(t)) * np.sign(t)
    return np.where((v > 0) & ((t == 0) | np.isinf(t)), 0, found).astype(t.dtype)[()]


def _student(n: int, v: Any, square: Any) -> Any:
    """∂ⁿ log f/∂vⁿ at s², f = Γ((v + 1)/2)/(Γ(v/2)·√π)·v^(v/2)·(v + s²)^(−(v + 1)/2)."""
    a, u = 0.5 * v, v + square
    if n == 1:
        gammas = np.log1p(0.5 / a) + _excess(a + 0.5) - _excess(a) - 0.5 / a
        return 0.5 * (gammas - np.log1p(square / v) + (v + 1) * square / (v * u))
    gammas = (_polygamma(n - 1, a + 0.5) - _polygamma(n - 1, a)) / 2**n
    sign = (-1) ** n * math.factorial(n - 2)
    return gammas + 0.5 * sign * (v ** (1 - n) - u ** (1 - n) + (n - 1) * (1 - square) * u**-n)
