"""Functions that are known by their names in doubled arithmetic: logistic, of entropies, of errors, gamma functions.

Each is a formula in the others, which bounds its own error. What series and fractions leave out is far below it.

Sources: Abramowitz & Stegun 1964, 7.1.6 and 7.1.14 for erf and erfc; 6.1.40 and 6.3.18 for log Γ and ψ, of arguments
that the recurrence has made large.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, reduce
from math import comb, factorial, prod
from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels.doubled.arrays import FUNCTIONS, total
from relgrad.kernels.doubled.elementary import constants, pair
from relgrad.kernels.doubled.entries import (
    UFUNCS,
    absolute,
    constant,
    divide,
    exp,
    expm1,
    log,
    log1p,
    negative,
    pick,
    sin,
    sqrt,
    square,
)
from relgrad.kernels.doubled.number import TINY, Doubled, with_error

NAMED = Doubled.named
maximum, minimum = UFUNCS[np.maximum], UFUNCS[np.minimum]
HALF = Doubled(0.5)
_SERIES, _FRACTION, _BETWEEN = 64, 170, 2.0
"""So many terms of the series of erf up to the point between, and of the fraction of erfc beyond."""
_TERMS = 32
"""So many terms of exponential series where |x| < 1."""
_SHIFT, _STIRLING, _LARGE = 32, 18, 1e6
"""Arguments of gamma functions are raised by so much, unless they are large, and have so many terms."""
_ORDERS, _STEPS, _HANKEL = 120, 70, 40.0
"""So many terms of series of Bessel functions, in powers and in reciprocals, below and beyond the point between."""


def _entry(*names: str) -> Callable[[Any], Any]:
    """Register a function of single entries under names, and for the ufuncs of that name."""

    def register(formula: Any) -> Any:
        for name in names:
            NAMED[name] = lambda _: lambda *args: formula(*map(Doubled.of, args))
            if isinstance(ufunc := getattr(scipy.special, name, None), np.ufunc):
                UFUNCS[ufunc] = formula
        return formula

    return register


def _is_zero(x: Doubled) -> Any:
    return (x.floats() == 0) & (x.bound == 0)


@_entry("expit")
def _expit(x: Any) -> Any:
    e = exp(negative(absolute(x)))
    return divide(pick(x.hi >= 0, Doubled(np.ones(x.shape)), e), 1.0 + e)


@_entry("softplus", "log1pexp")
def _softplus(x: Any) -> Any:
    return maximum(x, Doubled(0.0)) + log1p(exp(negative(absolute(x))))


_entry("log_expit")(lambda x: negative(_softplus(negative(x))))
_entry("logit")(lambda x: pick(x.hi < 0.25, log(x / (1.0 - x)), log1p((2.0 * x - 1.0) / (1.0 - x))))


@_entry("xlogy")
def _xlogy(x: Any, y: Any) -> Any:
    return pick(_is_zero(x) & ~np.isnan(y.hi), Doubled(0.0), x * log(y))


@_entry("xlog1py")
def _xlog1py(x: Any, y: Any) -> Any:
    return pick(_is_zero(x) & ~np.isnan(y.hi), Doubled(0.0), x * log1p(y))


@_entry("rel_entr", "xlog_ratio")
def _rel_entr(x: Any, y: Any) -> Any:
    return pick(_is_zero(x) & (y.hi > 0), Doubled(0.0), x * log(x / y))


_entry("entr")(lambda x: negative(_xlogy(x, x)))
_entry("kl_div")(lambda x, y: _rel_entr(x, y) - x + y)
_entry("xdivy")(lambda x, y: pick(_is_zero(x) & ~np.isnan(y.hi), Doubled(0.0), x / y))


def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False, weights: Any = None) -> Any:
    top = Doubled(np.max(x.hi, axis=axis, keepdims=True))
    terms = exp(x - top) if weights is None else weights * exp(x - top)
    result = top + log(total(terms, axis, keepdims=True))
    return result if keepdims else FUNCTIONS[np.squeeze](result, axis)


def _softmax(x: Any, axis: Any = -1, weights: Any = None) -> Any:
    e = exp(x - Doubled(np.max(x.hi, axis=axis, keepdims=True)))
    e = e if weights is None else weights * e
    return e / total(e, axis, keepdims=True)


NAMED["logsumexp"], NAMED["softmax"] = lambda _: _logsumexp, lambda _: _softmax
NAMED["log_softmax"] = lambda _: lambda x, axis=-1: x - _logsumexp(x, axis, keepdims=True)


def _near_erf(x: Any) -> Any:
    """Return erf x = 2x·e^(-x²)/√π · Σ (2x²)^n/(1·3·…·(2n + 1))."""
    x = minimum(maximum(x, Doubled(-_BETWEEN)), Doubled(_BETWEEN))
    u = 2.0 * square(x)
    series = reduce(lambda tail, n: 1.0 + tail * u / (2.0 * n + 1.0), range(_SERIES, 0, -1), Doubled(1.0))
    return x * exp(negative(square(x))) * series * _two_over_root_pi()


def _erfcx(x: Any) -> Any:
    """Return e^(x²)·erfc x = (1/√π)/(x + (1/2)/(x + (2/2)/(x + …))), of x ≥ 2."""
    x = maximum(x, Doubled(_BETWEEN))
    return HALF * _two_over_root_pi() / reduce(lambda t, n: x + 0.5 * n / t, range(_FRACTION, 0, -1), x)


def _two_over_root_pi() -> Any:
    return 2.0 / sqrt(constant("pi"))


@_entry("erfc")
def _erfc(x: Any) -> Any:
    size = absolute(x)
    far = exp(negative(square(x))) * _erfcx(size)
    far = pick(x.hi < 0, 2.0 - far, far)
    return pick(np.abs(x.hi) < _BETWEEN, 1.0 - _near_erf(x), far)


@_entry("erf")
def _erf(x: Any) -> Any:
    return pick(np.abs(x.hi) < _BETWEEN, _near_erf(x), 1.0 - _erfc(x))


def _scaled(x: Any) -> Any:
    return negative(x) / sqrt(Doubled(2.0))


@_entry("ndtr")
def _ndtr(x: Any) -> Any:
    return HALF * _erfc(_scaled(x))


@_entry("log_ndtr")
def _log_ndtr(x: Any) -> Any:
    t = _scaled(x)
    near = pick(x.hi > 0, log1p(negative(_ndtr(negative(x)))), log(_ndtr(x)))
    return pick(t.hi > _BETWEEN, log(HALF * _erfcx(t)) - square(t), near)


@cache
def _bernoulli(count: int) -> list[Fraction]:
    """Return the Bernoulli numbers B₂, B₄, …"""
    b = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        b.append(-sum((comb(n + 1, k) * b[k] for k in range(n)), Fraction(0)) / (n + 1))
    return b[2::2]


def _asymptotic(x: Any, coefficient: Callable[[int], int | Fraction]) -> Any:
    """Return Σ B₂ₖ/coefficient(k)·x^(2 - 2k)."""
    u = 1.0 / square(x)
    numbers = [pair(b / coefficient(k)) for k, b in enumerate(_bernoulli(_STIRLING), 1)]
    terms = [with_error(tuple(map(np.asarray, n)), 0.0) for n in numbers]
    return reduce(lambda tail, c: c + u * tail, terms[-2::-1], terms[-1])


def _raised(x: Any) -> Any:
    """Return a large number in place of a positive one: itself, or one that is greater by a whole number."""
    raised = pick(x.hi < _LARGE, x + float(_SHIFT), x)
    return pick(x.hi > 0, raised, Doubled(np.full(x.shape, np.nan)))


@_entry("gammaln", "loggamma")
def _gammaln(x: Any) -> Any:
    y, small = _raised(x), minimum(x, Doubled(_LARGE))
    product = reduce(lambda p, n: p * (small + float(n)), range(1, _SHIFT), small)
    stirling = (y - 0.5) * log(y) - y + HALF * log(2.0 * constant("pi"))
    stirling = stirling + _asymptotic(y, lambda k: 2 * k * (2 * k - 1)) / y
    return pick(x.hi < _LARGE, stirling - log(product), stirling)


def _digamma(x: Any) -> Any:
    y, small = _raised(x), minimum(x, Doubled(_LARGE))
    terms = reduce(lambda s, n: s + 1.0 / (small + float(n)), range(1, _SHIFT), 1.0 / small)
    psi = log(y) - HALF / y - _asymptotic(y, lambda k: 2 * k) / square(y)
    return pick(x.hi < _LARGE, psi - terms, psi)


_entry("digamma", "psi")(_digamma)
_entry("gamma")(lambda x: exp(_gammaln(x)))
_entry("betaln")(lambda x, y: _gammaln(x) + _gammaln(y) - _gammaln(x + y))


def _family(name: str, most: int) -> Callable[[Any], Any]:
    """Register a function of single entries, and of the order of its derivative up to the most."""

    def register(formula: Any) -> Any:
        def rule(function: Any) -> Any:
            def apply(x: Any, order: int = 0) -> Any:
                x = Doubled.of(x)
                return formula(x, order) if order <= most else Doubled.lifted(function(x.floats(), order), ())

            return apply

        NAMED[name] = rule
        return formula

    return register


@_family("digamma_n", 8)
def _polygamma(x: Any, n: int) -> Any:
    """Return ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹·n!·Σ (x + k)⁻ⁿ⁻¹ over k ≥ 0, those of large numbers after Euler and Maclaurin."""
    if n == 0:
        return _digamma(x)
    y, small = _raised(x), minimum(x, Doubled(_LARGE))
    terms = reduce(lambda s, k: s + (small + float(k)) ** (-n - 1), range(_SHIFT), Doubled(0.0))
    tail = _asymptotic(y, lambda k: Fraction(factorial(2 * k), prod(range(n + 1, n + 2 * k)))) / square(y)
    tail = (1.0 / Doubled(float(n)) + HALF / y + tail) / y**n
    return (-1.0) ** (n + 1) * factorial(n) * pick(x.hi < _LARGE, tail + terms, tail)


@_family("exprel_n", 8)
def _exprel(x: Any, n: int) -> Any:
    """Return ∫₀¹ tⁿ·eˣᵗ dt = Σ xᵏ/(k!·(n + k + 1)), the n-th derivative of (eˣ − 1)/x: eˣ − n·∫ tⁿ⁻¹·eˣᵗ dt, over x."""
    near = pick(np.abs(x.hi) < 1, x, Doubled(0.0))
    far = pick(np.abs(x.hi) < 1, Doubled(1.0), x)
    terms = [Doubled(*pair(Fraction(1, factorial(k) * (n + k + 1))), 0.0) for k in range(_TERMS)]
    series = reduce(lambda tail, c: c + near * tail, terms[-2::-1], terms[-1])
    e = exp(far)
    value = reduce(lambda g, k: (e - float(k) * g) / far, range(1, n + 1), expm1(far) / far)
    return pick(np.abs(x.hi) < 1, series, value)


@_family("erfcx_n", 8)
def _scaled_erfc(x: Any, n: int) -> Any:
    """Return e^(x²)·erfc x and derivatives: y′ = 2x·y − 2/√π, and y⁽ᵏ⁺¹⁾ = 2x·y⁽ᵏ⁾ + 2k·y⁽ᵏ⁻¹⁾ after that."""
    low = minimum(x, Doubled(_BETWEEN))
    before, y = Doubled(0.0), pick(x.hi < _BETWEEN, exp(square(low)) * _erfc(low), _erfcx(x))
    for k in range(n):
        slope = 2.0 * x * y + (2.0 * k * before if k else negative(_two_over_root_pi()))
        before, y = y, slope
    return y


@_family("sinc_n", 0)
def _sinc(x: Any, n: int) -> Any:
    zero = _is_zero(x)
    return pick(zero, Doubled(1.0), sin(x) / pick(zero, Doubled(1.0), x))


def _scaled_bessel(n: int, x: Any) -> Any:
    """Return e^−|x|·Iₙ(x), of a small order: Σ (x/2)^(2k + n)/(k!·(n + k)!), or Hankel's series of large numbers.

    Source: NIST DLMF 10.25.2 and 10.40.1.
    """
    size = absolute(x)
    near, far = minimum(size, Doubled(_HANKEL)), maximum(size, Doubled(_HANKEL))
    u = square(HALF * near)
    series = reduce(lambda t, k: 1.0 + t * u / float(k * (n + k)), range(_ORDERS, 0, -1), Doubled(1.0))
    for k in range(1, n + 1):
        series = series * HALF * near / float(k)
    steps = [(k, float(4 * n * n - (2 * k - 1) ** 2)) for k in range(_STEPS, 0, -1)]
    hankel = reduce(lambda t, step: 1.0 - t * step[1] / (8.0 * step[0] * far), steps, Doubled(1.0))
    value = pick(size.hi < _HANKEL, exp(negative(near)) * series, hankel / sqrt(2.0 * constant("pi") * far))
    return pick(x.hi < 0, negative(value), value) if n % 2 else value


def _bessel(ufunc: Any, formula: Callable[[int, Any], Any]) -> None:
    def rule(order: Any, x: Any) -> Any:
        n = order.floats()
        known = np.ndim(n) == 0 and n in range(5)
        return formula(int(n), x) if known else Doubled.lifted(ufunc(n, x.floats()), ())

    UFUNCS[ufunc] = rule


_bessel(scipy.special.ive, _scaled_bessel)
_bessel(scipy.special.iv, lambda n, x: exp(absolute(x)) * _scaled_bessel(n, x))
FUNCTIONS[np.sinc] = lambda x: _sinc(x * constant("pi"), 0)
UFUNCS[np.deg2rad] = UFUNCS[np.radians] = lambda x: x * constant("pi") / 180.0
UFUNCS[np.rad2deg] = UFUNCS[np.degrees] = lambda x: x * 180.0 / constant("pi")
UFUNCS[np.logaddexp2] = lambda x, y: (
    maximum(x, y) + log1p(UFUNCS[np.exp2](negative(absolute(x - y)))) / constant("ln2")
)
_entry("rgamma")(lambda x: exp(negative(_gammaln(x))))
_entry("beta")(lambda x, y: exp(_gammaln(x) + _gammaln(y) - _gammaln(x + y)))


@_entry("log1mexp")
def _log1mexp(x: Any) -> Any:
    return pick(x.hi < -0.7, log1p(negative(exp(x))), log(negative(expm1(x))))


@_entry("boxcox")
def _boxcox(x: Any, a: Any, d: Any) -> Any:
    zero, near = _is_zero(a), pick(np.abs(d.hi) <= 0.5, log1p(d), log(x))
    t = pick(np.abs(a.hi * near.hi) < 1, near, log(x))
    return pick(zero, near, expm1(a * t) / pick(zero, Doubled(1.0), a))


_entry("logdiffexp")(lambda x, y: x + _log1mexp(y - x))
_entry("log_cosh")(lambda x: absolute(x) + log1p(exp(-2.0 * absolute(x))) - constant("ln2"))


def given(x: Any) -> Any:
    """Return a constant, which is exact in doubled arithmetic."""
    return x


def rounded(x: Any) -> Any:
    """Return a constant, which stands for a number that was rounded to it."""
    return x


def computed(x: Any) -> Any:
    """Return a constant that was computed in floats, of which nobody knows how far it is off."""
    return x


FUNCTIONS[given] = Doubled.of


@lambda rule: FUNCTIONS.setdefault(computed, rule)
def _computed(x: Any) -> Doubled:
    x = Doubled.of(x).hi
    return Doubled(x, np.zeros(x.shape), np.full(x.shape, np.inf))


@lambda rule: FUNCTIONS.setdefault(rounded, rule)
def _rounded(x: Any) -> Doubled:
    """Return the number that is known to have been rounded to x, or x and half a unit in its last place."""
    x = Doubled.of(x).hi
    single = np.all(x.astype(np.float32) == x)
    for value in constants().values() if x.ndim == 0 else ():
        for sign in (-1, 1):
            hi = float(sign * value)
            if x == (np.float32(hi) if single else hi):
                return with_error(pair(sign * value), 0.0)
    return Doubled(x, np.zeros(x.shape), np.abs(x) * (2.0**-24 if single else 2.0**-53) + TINY)


def is_decimal(v: float) -> bool:
    """Whether a number is a decimal of up to 15 digits, as people write them."""
    return float(f"{v:.15g}") == v


def written(x: Any) -> Doubled:
    """Return numbers that may have been rounded: exactly if they are decimals, otherwise to half a unit."""
    x = Doubled.of(x).hi
    if all(map(is_decimal, np.ravel(x).tolist())):
        return Doubled(x)
    return Doubled(x, np.zeros(x.shape), np.abs(x) * 2.0**-53)
