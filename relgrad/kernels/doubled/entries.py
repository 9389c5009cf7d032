"""Arithmetic, comparisons and elementary functions of single entries, with bounds of errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.kernels import eft
from relgrad.kernels.doubled import elementary
from relgrad.kernels.doubled.number import TINY, Doubled, Undecided, with_error
from relgrad.kernels.numbers import rules_in

UFUNCS = Doubled.ufuncs
LARGEST_POWER = 64
"""Whole powers up to this are products."""


_rule = rules_in(UFUNCS)


@_rule(np.add)
def add(x: Doubled, y: Doubled) -> Doubled:
    """(x ± dx) + (y ± dy) = x + y ± (dx + dy), and no error but of the pair."""
    if x.exact and y.exact:
        return Doubled(*eft.two_sum(x.hi, y.hi), 0.0)
    if x.exact or y.exact:
        whole, part = (y, x) if x.exact else (x, y)
        return with_error(eft.add_float(whole.pair, part.hi), whole.bound)
    return with_error(eft.add(x.pair, y.pair), x.bound + y.bound)


@_rule(np.negative)
def negative(x: Doubled) -> Doubled:
    """Return -x."""
    return Doubled(-x.hi) if x.exact else Doubled(-x.hi, -x.lo, x.bound)


@_rule(np.subtract)
def subtract(x: Doubled, y: Doubled) -> Doubled:
    """Return x - y."""
    return add(x, negative(y))


def _power_of_two(x: Doubled) -> bool:
    return bool(x.exact and x.ndim == 0 and abs(x.hi) >= 0.5 and abs(math.frexp(x.hi)[0]) == 0.5)


@_rule(np.multiply)
def multiply(x: Doubled, y: Doubled) -> Doubled:
    """(x ± dx)·(y ± dy) = x·y ± (|x|·dy + dx·(|y| + 2·dy)); by a power of two without rounding."""
    if _power_of_two(x):
        x, y = y, x
    if _power_of_two(y):
        k = y.hi
        return Doubled(x.hi * k) if x.exact else Doubled(x.hi * k, x.lo * k, x.bound * abs(k))
    if x is y:
        return square(x)
    if x.exact and y.exact:
        return Doubled(*eft.two_product(x.hi, y.hi), TINY)
    if x.exact or y.exact:
        whole, part = (y, x) if x.exact else (x, y)
        return with_error(eft.multiply_float(whole.pair, part.hi), np.abs(part.hi) * whole.bound)
    bound = np.abs(x.hi) * y.bound + x.bound * (np.abs(y.hi) + 2.0 * y.bound)
    return with_error(eft.multiply(x.pair, y.pair), bound)


@_rule(np.ldexp)
def ldexp(x: Doubled, k: Doubled) -> Doubled:
    """x·2ᵏ ± dx·2ᵏ, exact unless it underflows."""
    whole = np.asarray(k.hi, np.int64)
    hi, lo = eft.ldexp(x.pair, whole)
    if x.exact and np.all((np.abs(hi) >= np.finfo(float).tiny) | (x.hi == 0)):
        return Doubled(hi)
    return Doubled(hi, lo + np.zeros(np.shape(hi)), np.ldexp(x.bound, whole) + TINY)


@_rule(np.square)
def square(x: Doubled) -> Doubled:
    """(x ± dx)² = x² ± dx·(2·|x| + 2·dx)"""
    if x.exact:
        return Doubled(*eft.two_square(x.hi), TINY)
    return with_error(eft.square(x.pair), x.bound * (2.0 * np.abs(x.hi) + 2.0 * x.bound))


def least(x: Doubled) -> Any:
    """|x| − dx: the least that |x| may be; NaN where it may be 0."""
    least = np.abs(x.hi) * (1 - 2.0**-50) - x.bound
    return np.where(least > 0, least, np.nan)


@_rule(np.divide)
def divide(x: Doubled, y: Doubled) -> Doubled:
    """(x ± dx)/(y ± dy) = x/y ± (dx + |x/y|·dy)/least |y|"""
    if _power_of_two(y) and abs(y.hi) <= 2.0:
        return multiply(x, Doubled(1.0 / y.hi))
    q = eft.divide(x.pair, y.pair)
    found = with_error(q, (x.bound + TINY + np.abs(q[0]) * y.bound) / least(y))
    if not (x.exact and y.exact):
        return found
    return Doubled(*q, np.where(q[1] == 0, TINY / least(y), found.bound))  # an exact quotient leaves no rest


@_rule(np.sqrt)
def sqrt(x: Doubled) -> Doubled:
    """√(x ± dx) = √x ± min(dx/√x, √dx)"""
    s = eft.sqrt(x.pair)
    with np.errstate(all="ignore"):
        bound = np.fmin((x.bound + TINY) / s[0], np.sqrt(x.bound + TINY))
    return with_error(s, bound)


def one() -> Doubled:
    """Return 1."""
    return Doubled(1.0)


UFUNCS[np.reciprocal] = lambda x: divide(one(), x)
UFUNCS[np.positive] = lambda x: x
UFUNCS.update({f: lambda x, f=f: f(x.floats()) for f in (np.isfinite, np.isinf, np.isnan)})


def pick(c: Any, x: Doubled, y: Doubled) -> Doubled:
    """Return where(c, x, y)."""
    if x.exact and y.exact:
        return Doubled(np.where(c, x.hi, y.hi))
    return Doubled(*[np.where(c, a, b) for a, b in zip(x.parts, y.parts, strict=True)])


@_rule(np.absolute, np.fabs)
def absolute(x: Doubled) -> Doubled:
    """Return |x|."""
    return pick(x.hi < 0, negative(x), x)


def compared(x: Doubled, y: Doubled) -> Any:
    """x − y, or a number of its sign; 0 for equal floats. Raises Undecided where the bounds leave the sign open."""
    if x.exact and y.exact:
        return np.where(x.hi == y.hi, 0.0, x.hi - y.hi)
    return subtract(x, y).signs()


for _function in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
    UFUNCS[_function] = lambda x, y, f=_function: f(compared(x, y), 0)
UFUNCS[np.sign] = lambda x: Doubled(np.sign(compared(x, Doubled(0.0))))
UFUNCS[np.signbit] = lambda x: np.signbit(x.hi) if x.exact else compared(x, Doubled(0.0)) < 0


@_rule(np.copysign)
def copysign(x: Doubled, y: Doubled) -> Doubled:
    """Return |x| with the sign of y."""
    negate = UFUNCS[np.signbit](y)
    return pick(negate, negative(absolute(x)), absolute(x))


def _extreme(sign: int, skips_nan: bool) -> Any:
    """max(x, y), or min for −1: by hi and then lo, with the larger of both bounds; NaN wins, unless skipped."""

    def rule(x: Doubled, y: Doubled) -> Doubled:
        """The larger, with x for ties; the larger of both bounds, since either may be the one."""
        above = (sign * (x.hi - y.hi) > 0) | ((x.hi == y.hi) & (sign * (x.pair[1] - y.pair[1]) >= 0))
        above |= np.isnan(y.hi) if skips_nan else np.isnan(x.hi)
        found = pick(above, x, y)
        return found if found.exact else Doubled(found.hi, found.lo, np.maximum(x.bound, y.bound))

    return rule


UFUNCS.update({np.maximum: _extreme(1, False), np.minimum: _extreme(-1, False)})
UFUNCS.update({np.fmax: _extreme(1, True), np.fmin: _extreme(-1, True)})


def _rounded(function: Any, shift: float) -> Any:
    """⌊2.7 ± 0.1⌋ = 2, ⌊3 ± 0.1⌋ → Undecided: the rule of a rounding that jumps at whole numbers, or by `shift` off."""

    def rule(x: Doubled) -> Doubled:
        if not x.exact:
            away = np.abs((x.hi - shift) - np.rint(x.hi - shift))
            if not np.all(away > 2.0 * (np.abs(x.lo) + x.bound)):
                raise Undecided
        return Doubled(function(x.hi))

    return rule


UFUNCS.update({f: _rounded(f, 0.0) for f in (np.floor, np.ceil, np.trunc)})
UFUNCS[np.rint] = _rounded(np.rint, 0.5)


@_rule(np.exp)
def exp(x: Doubled) -> Doubled:
    """e^(x ± dx) = e^x ± e^x·(e^dx − 1)"""
    r = elementary.exp(x.pair)
    return with_error(r, np.abs(r[0]) * np.expm1(x.bound), elementary.ERROR)


@_rule(np.expm1)
def expm1(x: Doubled) -> Doubled:
    """e^(x ± dx) − 1 = (e^x − 1) ± e^x·(e^dx − 1)"""
    r = elementary.expm1(x.pair)
    return with_error(r, (np.abs(r[0]) + 1.0) * np.expm1(x.bound), elementary.ERROR)


@_rule(np.log)
def log(x: Doubled) -> Doubled:
    """log(x ± dx) = log x ± dx/least |x|"""
    return with_error(elementary.log(x.pair), x.bound / least(x), elementary.ERROR)


@_rule(np.log1p)
def log1p(x: Doubled) -> Doubled:
    """log(1 + (x ± dx)) = log(1 + x) ± dx/least |1 + x|"""
    whole = Doubled(*eft.add_float(x.pair, 1.0), x.bound)
    return with_error(elementary.log1p(x.pair), x.bound / least(whole), elementary.ERROR)


def constant(name: str) -> Doubled:
    """ "pi" → π ± ε·π: a number in a pair."""
    return with_error(elementary.pair(elementary.constants()[name]), 0.0)


UFUNCS[np.exp2] = lambda x: np.exp(x * constant("ln2"))
UFUNCS[np.log2] = lambda x: np.log(x) / constant("ln2")
UFUNCS[np.log10] = lambda x: np.log(x) / log(Doubled(10.0))


def _circular(index: int) -> Any:
    """sin(x ± dx) = sin x ± dx, cos(x ± dx) = cos x ± dx"""

    def rule(x: Doubled) -> Doubled:
        return with_error(elementary.sincos(x.pair)[index], x.bound, elementary.ERROR)

    return rule


sin, cos = UFUNCS[np.sin], UFUNCS[np.cos] = _circular(0), _circular(1)
UFUNCS[np.tan] = lambda x: divide(sin(x), cos(x))


@_rule(np.arctan2)
def arctan2(y: Doubled, x: Doubled) -> Doubled:
    """The angle of (x, y) ± (|x|·dy + |y|·dx)/r², r = max(|x|, |y|); ± ∞ across the cut, where the angle jumps."""
    r = elementary.arctan2(y.pair, x.pair)
    away = least(Doubled(np.maximum(np.abs(x.hi), np.abs(y.hi)), 0.0, np.maximum(x.bound, y.bound)))
    change = (np.abs(x.hi) / away * y.bound + (np.abs(y.hi) + y.bound) / away * x.bound + TINY) / away
    # Across the cut the angle jumps.
    cut = (x.hi < 0) & (np.abs(y.hi) <= y.bound) & (y.bound > 0)
    return with_error(r, np.where(cut, np.inf, change), elementary.ERROR)


def leg(x: Doubled) -> Doubled:
    """Return √(1 - x²)."""
    return sqrt(multiply(subtract(one(), x), add(one(), x)))


UFUNCS[np.arctan] = lambda x: arctan2(x, one())
UFUNCS[np.arcsin] = lambda x: arctan2(x, leg(x))
UFUNCS[np.arccos] = lambda x: arctan2(leg(x), x)


@_rule(np.cbrt)
def cbrt(x: Doubled) -> Doubled:
    """∛(x ± dx) = ∛x ± min(dx/(∛x)², ∛(4·dx))"""
    y = elementary.cbrt(x.pair)
    bound = np.fmin((x.bound + TINY) / np.square(y[0]), np.cbrt(4.0 * x.bound + TINY))
    return with_error(y, bound, elementary.ERROR)


@_rule(np.hypot)
def hypot(x: Doubled, y: Doubled) -> Doubled:
    """Return √(x² + y²)."""
    return sqrt(add(square(x), square(y)))


def _odd(function: Any) -> Any:
    """f(x) = −f(−x) for x < 0: the rule of an odd function that is known for x ≥ 0."""

    def rule(x: Doubled) -> Doubled:
        r = function(absolute(x))
        return pick(x.hi < 0, negative(r), r)

    return rule


def _sinh(x: Doubled) -> Doubled:
    """sinh x = (u + u/(u + 1))/2, u = e^x − 1"""
    u = expm1(x)
    return multiply(Doubled(0.5), add(u, divide(u, add(u, one()))))


def _tanh(x: Doubled) -> Doubled:
    """tanh x = −u/(u + 2), u = e^(−2x) − 1"""
    u = expm1(multiply(Doubled(-2.0), x))
    return negative(divide(u, add(u, Doubled(2.0))))


def _arcsinh(x: Doubled) -> Doubled:
    """arsinh x = log(1 + x + x²/(1 + √(x² + 1)))"""
    s = square(x)
    return log1p(add(x, divide(s, add(one(), sqrt(add(s, one()))))))


def _arctanh(x: Doubled) -> Doubled:
    """artanh x = log(1 + 2·x/(1 − x))/2"""
    return multiply(Doubled(0.5), log1p(divide(multiply(Doubled(2.0), x), subtract(one(), x))))


UFUNCS.update(
    {np.sinh: _odd(_sinh), np.tanh: _odd(_tanh), np.arcsinh: _odd(_arcsinh), np.arctanh: _odd(_arctanh)}
)


@_rule(np.cosh)
def cosh(x: Doubled) -> Doubled:
    """cosh x = (e + 1/e)/2, e = e^|x|"""
    e = exp(absolute(x))
    return multiply(Doubled(0.5), add(e, divide(one(), e)))


@_rule(np.arccosh)
def arccosh(x: Doubled) -> Doubled:
    """arcosh x = log(1 + t + √(t·(t + 2))), t = x − 1"""
    t = subtract(x, one())
    return log1p(add(t, sqrt(multiply(t, add(t, Doubled(2.0))))))


def power(x: Any, y: Any) -> Any:
    """xⁿ by products for a small whole n, √x for ½, else e^(y·log|x|) with the sign of x, NaN where undefined."""
    n = y.floats()
    if y.exact and y.ndim == 0 and n == np.rint(n) and abs(n) <= LARGEST_POWER:
        return _whole_power(x, int(n))
    if y.exact and y.ndim == 0 and n == 0.5:
        return np.sqrt(x)
    positive, sign = np.exp(y * np.log(np.absolute(x))), np.sign(x.leading)
    if not y.exact:
        return np.where(sign > 0, positive, np.nan)
    whole, odd = n == np.rint(n), np.fmod(n, 2.0) != 0
    signed = np.where((sign < 0) & odd, -positive, positive)
    defined = np.where((sign > 0) | ((sign < 0) & whole), signed, np.nan)
    return np.where(x.zeros() & (n > 0), 0.0, defined)


def _whole_power(x: Any, n: int) -> Any:
    """x⁵ = (x²)²·x, x⁻ⁿ = 1/xⁿ, x⁰ = 1"""
    if n < 0:
        return 1.0 / _whole_power(x, -n)
    found = None
    while n:
        if n & 1:
            found = x if found is None else found * x
        n >>= 1
        x = np.square(x) if n else x
    return x.of(np.ones(x.shape)) if found is None else found


UFUNCS[np.power] = UFUNCS[np.float_power] = power


@_rule(np.logaddexp)
def logaddexp(x: Any, y: Any) -> Any:
    """log(e^x + e^y) = t + log(1 + e^(l − t)), with the larger one, t, and the smaller one, l."""
    top, low = np.maximum(x, y), np.minimum(x, y)
    return top + np.log1p(np.exp(low - top))
