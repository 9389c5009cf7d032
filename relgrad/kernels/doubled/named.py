"""Functions that are known by their names in doubled arithmetic: logistic, and of entropies.

Each is a formula in the others, which bounds its own error. Where balls are as fast, as they are for erf, Φ and log Γ,
there is no formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels import formulas
from relgrad.kernels.doubled.arrays import FUNCTIONS
from relgrad.kernels.doubled.elementary import constants, pair
from relgrad.kernels.doubled.entries import constant, subtract
from relgrad.kernels.doubled.number import TINY, Doubled, Undecided, with_error
from relgrad.kernels.numbers import alike, is_decimal

UFUNCS, NAMED = Doubled.ufuncs, Doubled.named
PARTS = 12
"""Angles are told by their names if they are whole multiples of π over numbers up to this."""


def _entry(*names: str) -> Callable[[Any], Any]:
    """_entry("xlogy")(f) → NAMED["xlogy"], UFUNCS[scipy.special.xlogy]: registers a function of single entries."""

    def register(formula: Any) -> Any:
        for name in names:
            NAMED[name] = lambda _: lambda *args: formula(*alike(*args))
            if isinstance(ufunc := getattr(scipy.special, name, None), np.ufunc):
                UFUNCS[ufunc] = formula
        return formula

    return register


_entry("expit")(formulas.expit)
_entry("softplus", "log1pexp")(formulas.softplus)
_entry("log_expit")(formulas.log_expit)
_entry("logit")(
    lambda x: np.where(x.floats() < 0.25, np.log(x / (1.0 - x)), np.log1p((2.0 * x - 1.0) / (1.0 - x)))
)
_entry("xlogy")(formulas.xlogy)
_entry("xlog1py")(formulas.xlog1py)
_entry("xdivy")(formulas.xdivy)
_entry("entr")(lambda x: -formulas.xlogy(x, x))
_entry("log1mexp")(formulas.log1mexp)
_entry("logdiffexp")(formulas.logdiffexp)


@_entry("rel_entr")
def _rel_entr(x: Any, y: Any) -> Any:
    """x·log(x/y), and 0 where x = 0 < y."""
    return np.where(x.zeros() & (y.floats() > 0), 0.0, x * np.log(x / y))


_entry("kl_div")(lambda x, y: _rel_entr(x, y) - x + y)


def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False, weights: Any = None) -> Any:
    """log Σ w·e^x = m + log Σ w·e^(x − m), m = max x in floats."""
    top = np.max(x.floats(), axis=axis, keepdims=True)
    terms = np.exp(x - top) if weights is None else weights * np.exp(x - top)
    result = top + np.log(np.sum(terms, axis=axis, keepdims=True))
    return result if keepdims else np.squeeze(result, axis)


def _softmax(x: Any, axis: Any = -1, weights: Any = None) -> Any:
    """w·e^x/Σ w·e^x, with m = max x in floats taken from x."""
    e = np.exp(x - np.max(x.floats(), axis=axis, keepdims=True))
    e = e if weights is None else weights * e
    return e / np.sum(e, axis=axis, keepdims=True)


NAMED["logsumexp"], NAMED["softmax"] = lambda _: _logsumexp, lambda _: _softmax
NAMED["log_softmax"] = lambda _: lambda x, axis=-1: x - _logsumexp(x, axis, keepdims=True)


def _sinc(x: Any) -> Any:
    zero = x.zeros()
    return np.where(zero, 1.0, np.sin(x) / np.where(zero, 1.0, x))


NAMED["sinc_n"] = lambda function: (
    lambda x, order=0: Doubled.unruled(function, (x, order), {}) if order else _sinc(x)
)
FUNCTIONS[np.sinc] = lambda x: _sinc(x * constant("pi"))
UFUNCS[np.deg2rad] = UFUNCS[np.radians] = lambda x: x * constant("pi") / 180.0
UFUNCS[np.rad2deg] = UFUNCS[np.degrees] = lambda x: x * 180.0 / constant("pi")
UFUNCS[np.logaddexp2] = lambda x, y: (
    np.maximum(x, y) + np.log1p(np.exp2(-np.absolute(x - y))) / constant("ln2")
)


@_entry("boxcox")
def _boxcox(x: Any, a: Any, d: Any) -> Any:
    """(x^a − 1)/a = expm1(a·t)/a, t = log x, or log1p(d) where d = x − 1 is small; t at a = 0."""
    zero, near = a.zeros(), np.where(np.abs(d.floats()) <= 0.5, np.log1p(d), np.log(x))
    t = np.where(np.abs(a.floats() * near.floats()) < 1, near, np.log(x))
    return np.where(zero, near, np.expm1(a * t) / np.where(zero, 1.0, a))


_entry("log_cosh")(lambda x: np.absolute(x) + np.log1p(np.exp(-2.0 * np.absolute(x))) - constant("ln2"))


def given(x: Any) -> Any:
    """Return a constant, which is exact in doubled arithmetic."""
    return x


def rounded(x: Any) -> Any:
    """Return a constant, which stands for a number that was rounded to it."""
    return x


def computed(x: Any) -> Any:
    """Return a constant that was computed in floats, and is off by few units, as far as is known."""
    return x


FUNCTIONS[given] = Doubled.of


@lambda rule: FUNCTIONS.setdefault(computed, rule)
def _computed(x: Any) -> Doubled:
    """x → x ± 64 units in its last place, that of float32 for such numbers"""
    x = Doubled.of(x).hi
    return Doubled(x, np.zeros(x.shape), np.abs(x) * 128.0 * unit(x))


def tied(x: Any, m: Any) -> Any:
    """x, max(x) over axes → x == max(x): which entries are the largest, or smallest."""
    return x == m


TIES = 2.0**-75
"""Numbers that agree to so much of themselves are the same."""


def largest(apart: Any, bound: Any, m: Any) -> Any:
    """[no, yes, yes] → [yes, no, no]: where the largest, m, are, by which numbers are certainly apart from it.

    Raises Undecided where several are not, and may be by a larger `bound` than that of numbers that tie.
    """
    axes = tuple([a for a, (n, k) in enumerate(zip(apart.shape, np.shape(m), strict=True)) if n != k])
    one = np.count_nonzero(~apart, axis=axes, keepdims=True) == 1
    if not np.all(one | np.all(apart | (bound <= TIES * np.abs(m)), axis=axes, keepdims=True)):
        raise Undecided
    return ~apart


@lambda rule: FUNCTIONS.setdefault(tied, rule)
def _tied(x: Any, m: Any) -> Any:
    """|x − m| > 2·bound: no;    the only one left: yes;    others that agree with it: yes"""
    away = subtract(Doubled.of(x), Doubled.of(m))
    return largest(np.abs(away.hi) > 2.0 * away.bound, away.bound, m.floats())


def name_of(x: Any) -> tuple[str, Fraction] | None:
    """0.6931471805599453 → log 2, 1;    −1.5707963267948966 → π, −1/2;    2.0943951023931953 → π, 2/3: the constant
    that a float is the name of, and the number that it is multiplied with, a power of two, or a part of π; or None.

    NumPy makes some of them, as √(2π), one unit in the last place off.
    """
    if np.ndim(x) or not 0 < abs(float(x)) < math.inf:
        return None
    with np.errstate(over="ignore"):
        found = _name_of(abs(float(x)), unit(np.asarray(x)))
    return found if found is None or x > 0 else (found[0], -found[1])


@lru_cache(maxsize=1 << 12)
def _name_of(x: float, rounding: float) -> tuple[str, Fraction] | None:
    """2.0943951023931953, 2⁻⁵³ → π, 2/3: the name of a positive number with such an error."""
    size, exponent = math.frexp(x)
    off = 2.0 * rounding * size
    for name, value in constants().items():
        its = math.frexp(value)[1]
        if abs(size - value / Fraction(2) ** its) <= off:
            return name, Fraction(2) ** (exponent - its)
    pi = constants()["pi"]
    part = (Fraction(x) / pi).limit_denominator(PARTS)
    near = abs(Fraction(size) - part * pi / Fraction(2) ** exponent) <= off
    return ("pi", part) if near and 0 < part.numerator <= 2 * PARTS else None


def known_as(x: Any) -> Fraction | None:
    """0.6931471805599453 → log 2, −1.5707963267948966 → −π/2, to many digits: what a float is the name of, or None."""
    found = name_of(x)
    return found and constants()[found[0]] * found[1]


@lambda rule: FUNCTIONS.setdefault(rounded, rule)
def _rounded(x: Any) -> Doubled:
    """0.6931471805599453 → log 2; else x ± half a unit in its last place, that of float32 for such numbers."""
    x = Doubled.of(x).hi
    if (known := known_as(x)) is not None:
        return with_error(pair(known), 0.0)
    return Doubled(x, np.zeros(x.shape), np.abs(x) * unit(x) + TINY)


def unit(x: Any) -> float:
    """Half a unit in the last place of floats in [1, 2), of float32 where all numbers are such."""
    return 2.0**-24 if np.all(x.astype(np.float32) == x) else 2.0**-53


def written(x: Any) -> Doubled:
    """0.1 → 0.1 exactly, 0.6931471805599453 → log 2, 0.12345678901234567 → ± half a unit: numbers that may be rounded,
    unless decimals.
    """
    hi = Doubled.of(x).hi
    if (known := known_as(hi)) is not None:
        return with_error(pair(known), 0.0)
    if all(map(is_decimal, np.ravel(x))):
        return Doubled(hi)
    return Doubled(hi, np.zeros(hi.shape), np.abs(hi) * np.finfo(np.asarray(x).dtype).eps / 2)
