"""exp, log, sin, cos, arctan and cube roots of sums of two floats: reduced by tables, and corrected by a Newton step.

Leading terms of series are computed in pairs, and the others in floats. `ERROR` is what is claimed
of their relative errors.

Sources: Tang 1989, Table-driven implementation of the exponential function in IEEE floating-point arithmetic; Muller
2016, Elementary functions, ch. 6 and 11; Cody & Waite 1980 for the reduction by a constant in parts.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from relgrad.kernels.eft import (
    Pair,
    add,
    add_float,
    add_smaller,
    fast_two_sum,
    ldexp,
    multiply,
    multiply_float,
    negative,
    pick,
    square,
    two_product,
)

ERROR = 2.0**-97
"""Relative errors of these functions: the largest that was measured is 2⁻⁹⁹·⁸."""
MOST = 2.0**19
"""So large are arguments of e^x at most."""
FARTHEST = 2.0**15
"""Angles beyond this are not reduced."""
_BITS = 220
_EXACT = 2.0**20
"""Multiples of parts of constants by whole numbers up to this are exact."""
_STEPS = 32
"""2^(j/32) and the sine of jπ/32 are tabulated."""


def pair(x: Fraction) -> tuple[float, float]:
    """Return the sum of two floats nearest to a number."""
    hi = float(x)
    return hi, float(x - Fraction(hi))


def _shortened(x: Fraction, count: int) -> list[float]:
    """Return floats that sum to a number; all but the last have 33 bits, so that their multiples by 2^20 are exact."""
    parts = []
    for _ in range(count - 1):
        unit = Fraction(2) ** (math.frexp(float(x))[1] - 33)
        parts.append(float(round(x / unit) * unit))
        x -= Fraction(parts[-1])
    return [*parts, float(x)]


def _series(x: Fraction, first: Fraction, ratio: Any) -> Fraction:
    """Return Σ of terms, the k-th of which is ratio(k)·x times the one before, to 2^-220."""
    unit = 1 << _BITS
    total = term = int(first * unit)
    k = 1
    while term:
        factor = ratio(k) * x
        term = term * factor.numerator // factor.denominator
        term += 1 if term == -1 else 0
        total, k = total + term, k + 1
    return Fraction(total, unit)


@cache
def constants() -> dict[str, Fraction]:
    """Return log 2 and π, and other numbers that derivatives of NumPy's and SciPy's functions have as factors."""
    ln2 = 2 * _series(Fraction(1, 9), Fraction(1, 3), lambda k: Fraction(2 * k - 1, 2 * k + 1))
    ln5_4 = 2 * _series(Fraction(1, 81), Fraction(1, 9), lambda k: Fraction(2 * k - 1, 2 * k + 1))
    arctan = [
        _series(Fraction(-1, n * n), Fraction(1, n), lambda k: Fraction(2 * k - 1, 2 * k + 1))
        for n in (5, 239)
    ]
    pi = 16 * arctan[0] - 4 * arctan[1]
    root, two_roots = (Fraction(math.isqrt(int(n * pi * 4**_BITS)), 2**_BITS) for n in (2, 4))
    return {
        "ln2": ln2,
        "ln10": 3 * ln2 + ln5_4,
        "pi": pi,
        "degree": pi / 180,
        "radian": 180 / pi,
        "root_of_2pi": root,
        "1/root_of_2pi": 1 / root,
        "2/root_of_pi": 4 / two_roots,
    }


def exp_of(x: Fraction) -> Fraction:
    """Return e^x of a number in [-1, 1]."""
    return _series(x, Fraction(1), lambda k: Fraction(1, k))


@cache
def _exponentials() -> tuple[Pair, list[float]]:
    ln2 = constants()["ln2"]
    values = [pair(exp_of(ln2 * j / _STEPS)) for j in range(_STEPS)]
    hi, lo = np.array(values).T
    return (hi, lo), _shortened(ln2 / _STEPS, 3)


@cache
def _sines() -> tuple[Pair, Pair, list[float]]:
    pi = constants()["pi"]
    quarter = []
    for j in range(_STEPS // 2 + 1):
        x = pi * j / _STEPS
        quarter.append(x * _series(-x * x, Fraction(1), lambda k: Fraction(1, 2 * k * (2 * k + 1))))
    half = [*quarter, *quarter[-2:0:-1]]
    sine = [pair(x) for x in (*half, *[-x for x in half])]
    cosine = sine[_STEPS // 2 :] + sine[: _STEPS // 2]
    (s, t), (c, d) = np.array(sine).T, np.array(cosine).T
    s[[0, _STEPS]] = t[[0, _STEPS]] = c[[_STEPS // 2, -_STEPS // 2]] = d[[_STEPS // 2, -_STEPS // 2]] = 0.0
    return (s, t), (c, d), _shortened(pi / _STEPS, 4)


def _reduced(x: Pair, parts: list[float]) -> tuple[Any, Pair]:
    """Return the whole number k nearest to x/unit, and x - k·unit, for a unit in parts."""
    k = np.rint(x[0] / parts[0])
    multiples = [k]
    if np.any(np.abs(k) > _EXACT / 2):
        high = np.rint(k / _EXACT) * _EXACT
        multiples = [high, k - high]
    for part in parts[:-1]:
        for n in multiples:
            x = add_float(x, -n * part)
    return np.where(np.isfinite(k), k, 0).astype(np.int64), add(x, negative(two_product(k, parts[-1])))


Coefficients = tuple[list[tuple[float, float]], list[float]]


def _polynomial(x: Pair, coefficients: Coefficients) -> Pair:
    """Return Σ c_k·x^k: the leading coefficients in pairs, those after them in floats."""
    leading, tail = coefficients
    rest: Any = 0.0
    for c in tail[::-1]:
        rest = c + x[0] * rest
    hi, lo = leading[-1]
    total = fast_two_sum(hi, lo + x[0] * rest)
    for c in leading[-2::-1]:
        total = add_smaller(c, multiply(x, total))
    return total


def _inverse_factorials(first: int, count: int, leading: int, step: int = 1, sign: int = 1) -> Coefficients:
    numbers = [Fraction(sign**k, math.factorial(first + step * k)) for k in range(count)]
    return list(map(pair, numbers[:leading])), list(map(float, numbers[leading:]))


_EXP = _inverse_factorials(2, 11, 5)
_SIN = _inverse_factorials(3, 8, 3, 2, -1)
_COS = _inverse_factorials(2, 8, 4, 2, -1)


def _exponential(x: Pair) -> tuple[Pair, Pair, Any]:
    """Return p, t and k with e^x = t·(1 + p)·2^k and p = e^r - 1 for some small r; where k and t are trivial, r = x."""
    table, unit = _exponentials()
    k, r = _reduced((np.clip(x[0], -MOST, MOST), x[1]), unit)
    p = add_smaller(r, multiply(square(r), _polynomial(r, _EXP)))
    j = k % _STEPS
    return p, (table[0][j], table[1][j]), k // _STEPS


def exp(x: Pair) -> Pair:
    """Return e^x."""
    p, t, k = _exponential(x)
    return ldexp(add_smaller(t, multiply(t, p)), k)


def expm1(x: Pair) -> Pair:
    """Return e^x - 1."""
    p, t, k = _exponential(x)
    t = ldexp(t, k)
    return add_smaller(add_float(t, -1.0), multiply(t, p))


def _log_near_one(m: Pair) -> Pair:
    """Return log(1 + m): for y near it, y + d - d²/2 with d = (m - (e^y - 1))/e^y."""
    y = np.log1p(m[0])
    e = expm1((y, 0.0))
    d = add(m, negative(e))[0] / (1.0 + e[0])
    return fast_two_sum(y, d - 0.5 * d * d)


def log(x: Pair, e: Any = 0) -> Pair:
    """Return log(x·2^e) = log m + (k + e)·log 2, for m = x/2^k near 1."""
    k = np.frexp(x[0] * math.sqrt(0.5))[1]
    return _raised(_log_near_one(add_float(ldexp(x, -k), -1.0)), k + e)


def log1p(x: Pair) -> Pair:
    """Return log(1 + x)."""
    whole = add_float(x, 1.0)
    k = np.where(np.abs(x[0] - 0.1) < 0.4, 0, np.frexp(whole[0] * math.sqrt(0.5))[1])
    m = pick(k == 0, x, add_float(ldexp(whole, -k), -1.0))
    return _raised(_log_near_one(m), k)


def _raised(y: Pair, k: Any) -> Pair:
    """Return y + k·log 2."""
    first, second, third = _exponentials()[1]
    shift = add_float(fast_two_sum(k * (first * _STEPS), k * (second * _STEPS)), k * (third * _STEPS))
    return add_smaller(shift, y)


def sincos(x: Pair) -> tuple[Pair, Pair]:
    """Return sin x and cos x; NaN where |x| is large."""
    s, c, unit = _sines()
    k, r = _reduced((np.where(np.abs(x[0]) < FARTHEST, x[0], np.nan), x[1]), unit)
    j = k % (2 * _STEPS)
    s, c = (s[0][j], s[1][j]), (c[0][j], c[1][j])
    u = square(r)
    sine = add_smaller(r, negative(multiply(multiply(r, u), _polynomial(u, _SIN))))
    cosine = negative(multiply(u, _polynomial(u, _COS)))  # less 1
    return (
        add(s, add(multiply(s, cosine), multiply(c, sine))),
        add(c, add(multiply(c, cosine), negative(multiply(s, sine)))),
    )


def arctan2(y: Pair, x: Pair) -> Pair:
    """Return the angle of (x, y): for a near it, a + (y·cos a - x·sin a)/(x·cos a + y·sin a)."""
    a = np.arctan2(y[0], x[0])
    s, c = sincos((a, np.zeros_like(a)))
    off = add(multiply(y, c), negative(multiply(x, s)))[0]
    d = off / (x[0] * c[0] + y[0] * s[0])
    return fast_two_sum(a, np.where(off == 0, 0.0, d))


def cbrt(x: Pair) -> Pair:
    """Return ∛x: for y near it, y + (x - y³)/(3y²)."""
    y = np.cbrt(x[0])
    cube = multiply_float(two_product(y, y), y)
    return fast_two_sum(y, np.where(y == 0, 0.0, add(x, negative(cube))[0] / (3.0 * y * y)))
