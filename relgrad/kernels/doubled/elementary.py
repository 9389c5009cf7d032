"""exp, log, sin, cos, arctan and cube roots of sums of two floats: reduced by tables, and corrected by a Newton step.

Leading terms of series are computed in pairs, and the others in floats. `ERROR` is what is claimed
of their relative errors.

Sources: Tang 1989, Table-driven implementation of the exponential function in IEEE floating-point arithmetic; Muller
2016, Elementary functions, ch. 6 and 11; Cody & Waite 1980 for the reduction by a constant in parts; Payne & Hanek
1983, Radian reduction for trigonometric functions, for that of large angles.
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
"""Angles beyond this are reduced in whole numbers."""
_BITS = 220
_FAR_BITS = 1300
"""As many as the largest float has before the point, and those behind it."""
_EXACT = 2.0**20
"""Multiples of parts of constants by whole numbers up to this are exact."""
_STEPS = 32
"""2^(j/32) and the sine of jπ/32 are tabulated."""


def pair(x: Fraction) -> tuple[float, float]:
    """1/3 → (0.333…, 1.85e-17): the sum hi + lo of two floats nearest to a number."""
    hi = float(x)
    return hi, float(x - Fraction(hi))


def _shortened(x: Fraction, count: int) -> list[float]:
    """log 2, 3 → a + b + c: floats that sum to a number, all but the last of 33 bits: k·a is exact for k ≤ 2²⁰."""
    parts = []
    for _ in range(count - 1):
        unit = Fraction(2) ** (math.frexp(float(x))[1] - 33)
        parts.append(float(round(x / unit) * unit))
        x -= Fraction(parts[-1])
    return [*parts, float(x)]


def _series(x: Fraction, first: Fraction, ratio: Any, bits: int = _BITS) -> Fraction:
    """Σ aₖ, a₀ = first, aₖ = ratio(k)·x·aₖ₋₁, to 2⁻²²⁰: x = 1, 1, k ↦ 1/k gives e."""
    unit = 1 << bits
    total = term = int(first * unit)
    k = 1
    while term:
        factor = ratio(k) * x
        term = term * factor.numerator // factor.denominator
        term += 1 if term == -1 else 0
        total, k = total + term, k + 1
    return Fraction(total, unit)


def _pi(bits: int) -> Fraction:
    """π = 16·arctan(1/5) − 4·arctan(1/239)"""
    arctan = [
        _series(Fraction(-1, n * n), Fraction(1, n), lambda k: Fraction(2 * k - 1, 2 * k + 1), bits)
        for n in (5, 239)
    ]
    return 16 * arctan[0] - 4 * arctan[1]


def _log(x: Fraction) -> Fraction:
    """log x = 2·artanh((x − 1)/(x + 1)) of a number near 1"""
    u = (x - 1) / (x + 1)
    return 2 * _series(u * u, u, lambda k: Fraction(2 * k - 1, 2 * k + 1))


def _euler(ln2: Fraction) -> Fraction:
    """γ = Σ (nᵏ/k!)²·Hₖ/Σ (nᵏ/k!)² − log n, but for e^(−4n): n = 64. Source: Brent & McMillan 1980, Math. Comp. 34."""
    n, unit = 64, 4**_BITS
    term, harmonic, above, below = unit, 0, 0, unit
    for k in range(1, 5 * n):
        term = term * n * n // (k * k)
        harmonic += unit // k
        above += term * harmonic
        below += term
    return Fraction(above, below * unit) - 6 * ln2


@cache
def constants() -> dict[str, Fraction]:
    """π, log 2, and others that people name, or that derivatives have as factors."""
    ln2, pi = _log(Fraction(2)), _pi(_BITS)
    root, two_roots, root2 = (Fraction(math.isqrt(int(n * 4**_BITS)), 2**_BITS) for n in (2 * pi, 4 * pi, 2))
    return {
        "ln2": ln2,
        "ln10": 3 * ln2 + _log(Fraction(5, 4)),
        "pi": pi,
        "e": exp_of(Fraction(1)),
        "euler": _euler(ln2),
        "log_of_2pi": 2 * ln2 + _log(pi / 2),
        "root_of_2": root2,
        "root_of_pi": two_roots / 2,
        "degree": pi / 180,
        "radian": 180 / pi,
        "root_of_2pi": root,
        "1/root_of_2pi": 1 / root,
        "2/root_of_pi": 4 / two_roots,
    }


def exp_of(x: Fraction) -> Fraction:
    """e^x = Σ xᵏ/k! of a number in [−1, 1], as a fraction."""
    return _series(x, Fraction(1), lambda k: Fraction(1, k))


@cache
def _exponentials() -> tuple[Pair, list[float]]:
    """2^(j/32) for j < 32 in pairs, and log 2/32 in three parts."""
    ln2 = constants()["ln2"]
    values = [pair(exp_of(ln2 * j / _STEPS)) for j in range(_STEPS)]
    hi, lo = np.array(values).T
    return (hi, lo), _shortened(ln2 / _STEPS, 3)


@cache
def _sines() -> tuple[Pair, Pair, list[float]]:
    """sin(jπ/32) and cos(jπ/32) for j < 64 in pairs, and π/32 in four parts."""
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
    """x → k, x − k·unit with k = round(x/unit), the unit being Σ parts: |x − k·unit| ≤ unit/2, without cancellation."""
    k = np.rint(x[0] / parts[0])
    multiples = [k]
    if np.any(np.abs(k) > _EXACT / 2):
        high = np.rint(k / _EXACT) * _EXACT
        multiples = [high, k - high]
    for part in parts[:-1]:
        for n in multiples:
            x = add_float(x, -n * part)
    return np.where(np.isfinite(k), k, 0).astype(np.int64), add(x, negative(two_product(k, parts[-1])))


@cache
def _whole_steps() -> tuple[int, int]:
    """32/π·2¹³⁰⁰ and π/32·2²²⁰, rounded: of a multiple by the largest float, 220 bits behind the point are left."""
    step = _pi(_FAR_BITS + _BITS) / _STEPS
    return round(2**_FAR_BITS / step), round(2**_BITS * step)


def _reduced_in_whole_numbers(hi: float, lo: float) -> tuple[int, float, float]:
    """x → k modulo 64, x − k·π/32, for any finite x = hi + lo: by exact products (Payne & Hanek 1983)."""
    if not math.isfinite(hi + lo):
        return 0, math.nan, math.nan
    steps, step = _whole_steps()
    (n, d), (m, e) = hi.as_integer_ratio(), lo.as_integer_ratio()
    unit = max(d, e)
    turned = (n * (unit // d) + m * (unit // e)) * steps >> _FAR_BITS - _BITS + unit.bit_length() - 1
    k = (turned + (1 << _BITS - 1)) >> _BITS
    rest = (turned - (k << _BITS)) * step
    first = float(rest)
    return k % (2 * _STEPS), math.ldexp(first, -2 * _BITS), math.ldexp(rest - int(first), -2 * _BITS)


Coefficients = tuple[list[tuple[float, float]], list[float]]


def _polynomial(x: Pair, coefficients: Coefficients) -> Pair:
    """Σ cₖ·xᵏ by Horner's rule: the leading coefficients in pairs, those after them in floats."""
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
    """2, 3 → 1/2!, 1/3!, 1/4!: Σ (±1)ᵏ/(first + step·k)!, the leading coefficients in pairs."""
    numbers = [Fraction(sign**k, math.factorial(first + step * k)) for k in range(count)]
    return list(map(pair, numbers[:leading])), list(map(float, numbers[leading:]))


_EXP = _inverse_factorials(2, 11, 5)
_SIN = _inverse_factorials(3, 8, 3, 2, -1)
_COS = _inverse_factorials(2, 8, 4, 2, -1)


def _exponential(x: Pair) -> tuple[Pair, Pair, Any]:
    """e^x = t·(1 + p)·2ᵏ: p = e^r − 1 for a small r, t = 2^(j/32); where k and t are trivial, r = x."""
    table, unit = _exponentials()
    k, r = _reduced((np.clip(x[0], -MOST, MOST), x[1]), unit)
    p = add_smaller(r, multiply(square(r), _polynomial(r, _EXP)))
    j = k % _STEPS
    return p, (table[0][j], table[1][j]), k // _STEPS


def exp(x: Pair) -> Pair:
    """e^x = t·(1 + p)·2ᵏ = (t + t·p)·2ᵏ"""
    p, t, k = _exponential(x)
    return ldexp(add_smaller(t, multiply(t, p)), k)


def expm1(x: Pair) -> Pair:
    """e^x − 1 = (2ᵏ·t − 1) + 2ᵏ·t·p"""
    p, t, k = _exponential(x)
    t = ldexp(t, k)
    return add_smaller(add_float(t, -1.0), multiply(t, p))


def _log_near_one(m: Pair) -> Pair:
    """log(1 + m) = y + d − d²/2 + …, with y = log1p(m) in floats and d = (m − (e^y − 1))/e^y."""
    y = np.log1p(m[0])
    e = expm1((y, 0.0))
    d = add(m, negative(e))[0] / (1.0 + e[0])
    return fast_two_sum(y, d - 0.5 * d * d)


def log(x: Pair, e: Any = 0) -> Pair:
    """log(x·2^e) = log m + (k + e)·log 2, m = x/2ᵏ between √½ and √2."""
    k = np.frexp(x[0] * math.sqrt(0.5))[1]
    return _raised(_log_near_one(add_float(ldexp(x, -k), -1.0)), k + e)


def log1p(x: Pair) -> Pair:
    """log(1 + x) = log(1 + m) + k·log 2, (1 + m)·2ᵏ = 1 + x; k = 0 where x is small."""
    whole = add_float(x, 1.0)
    k = np.where(np.abs(x[0] - 0.1) < 0.4, 0, np.frexp(whole[0] * math.sqrt(0.5))[1])
    m = pick(k == 0, x, add_float(ldexp(whole, -k), -1.0))
    return _raised(_log_near_one(m), k)


def _raised(y: Pair, k: Any) -> Pair:
    """y + k·log 2, with log 2 in three parts."""
    first, second, third = _exponentials()[1]
    shift = add_float(fast_two_sum(k * (first * _STEPS), k * (second * _STEPS)), k * (third * _STEPS))
    return add_smaller(shift, y)


def sincos(x: Pair) -> tuple[Pair, Pair]:
    """sin(a + r) = sin a + (sin a·(cos r − 1) + cos a·sin r), a = jπ/32; likewise cos."""
    s, c, unit = _sines()
    far = np.abs(x[0]) >= FARTHEST
    k, r = _reduced((np.where(far, 0.0, x[0]), x[1]), unit)
    if np.any(far):
        found = np.frompyfunc(_reduced_in_whole_numbers, 2, 3)(np.where(far, x[0], 0.0), x[1])
        k, first, rest = [
            np.where(far, np.asarray(a, b.dtype), b) for a, b in zip(found, (k, *r), strict=True)
        ]
        r = first, rest
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
    """a + (y·cos a − x·sin a)/(x·cos a + y·sin a), the angle of (x, y), for the angle a in floats."""
    a = np.arctan2(y[0], x[0])
    s, c = sincos((a, np.zeros_like(a)))
    off = add(multiply(y, c), negative(multiply(x, s)))[0]
    d = off / (x[0] * c[0] + y[0] * s[0])
    return fast_two_sum(a, np.where(off == 0, 0.0, d))


def cbrt(x: Pair) -> Pair:
    """∛x = y + (x − y³)/(3·y²), for y = ∛x in floats."""
    y = np.cbrt(x[0])
    cube = multiply_float(two_product(y, y), y)
    return fast_two_sum(y, np.where(y == 0, 0.0, add(x, negative(cube))[0] / (3.0 * y * y)))
