"""More quotients with a removable singularity at 0, and their derivatives of every order.

Each is written once, as a function of jets. Near 0 its Taylor series is summed, whose coefficients are exact
fractions; elsewhere the jet at x gives the derivatives.

Sources: NIST DLMF 24.2 (Bernoulli numbers), 4.19 and 4.33; R. W. Hamming, "Numerical Methods for Scientists and
Engineers", 2nd ed., chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, kernel
from relgrad.kernels.jets import At, Jet, value_at_zero
from relgrad.kernels.logexp import bose

Program = Callable[[At], Jet]

_FAR, _TELLING = (2.0**1000, 2.0**900), 2.0**300
"""Numbers nearly as far as infinity, and what tells that a function vanishes or grows without bound there."""

PROGRAMS: dict[str, tuple[Program, Program]] = {}
"""Each quotient as a function of jets: as it is expanded at 0, and as it is computed away from it."""


def _csch(x: Any) -> Any:
    a = np.abs(x)
    return np.copysign(2 * np.exp(-a) / -np.expm1(-2 * a), x)


_OWN = {"bose": bose, "csch": _csch}


def _value(name: str, x: Any) -> Any:
    return _OWN[name](x) if name in _OWN else getattr(np, name)(x)


_BALLS: dict[str, Callable[[Any], Any]] = {
    "bose": lambda x: 1 / x.expm1(),
    "log1p": lambda x: type(x)("-inf") if (x + 1).is_zero() else x.log1p(),
    "csch": lambda x: 1 / x.sinh(),
    "arctan": lambda x: x.atan(),
    "arcsin": lambda x: x.asin(),
    "arctanh": lambda x: x.atanh(),
    "arcsinh": lambda x: x.asinh(),
}


def ball(name: str, x: Any, order: int) -> Any:
    """The order-th derivative of a quotient at a ball, which may be 0 but not hold it with others."""
    if x.is_zero():
        at_zero = PROGRAMS[name][0](At(Fraction(0), order + 4, value_at_zero)).c[order] * factorial(order)
        return (x + at_zero.numerator) / at_zero.denominator
    value = lambda f, z: _BALLS[f](z) if f in _BALLS else getattr(z, f)()
    return PROGRAMS[name][1](At(x, order, value)).c[order] * factorial(order)


@lru_cache
def _series(name: str, order: int, terms: int) -> tuple[float, ...]:
    found = PROGRAMS[name][0](At(Fraction(0), terms + order + 4, value_at_zero)).c
    rising = [factorial(n + order) // factorial(n) for n in range(terms)]
    return tuple(float(found[n + order] * rising[n]) for n in range(terms))


def _evaluate(name: str, x: Any, order: int, near: tuple[float, float], terms: int) -> Any:
    (given,) = floats(x)
    x = np.asarray(given, np.float64)
    where = (x > near[0]) & (x < near[1])
    out = np.empty_like(x)
    inside, outside = x[where], x[~where]
    total = np.zeros_like(inside)
    for c in _series(name, order, terms + 2 * order)[::-1]:
        total = total * inside + c
    out[where] = total
    far = _by_jets(name, outside, order)
    out[~where] = np.where(np.isinf(outside), _at_infinity(name, outside, order), far)
    return out.astype(given.dtype)[()]


def _by_jets(name: str, x: Any, order: int) -> Any:
    return PROGRAMS[name][1](At(x, order, _value)).c[order] * factorial(order)


def _at_infinity(name: str, x: Any, order: int) -> Any:
    """Return what a function is at infinity, judged by two numbers that are nearly so far; NaN where they differ."""
    if not np.isinf(x).any():
        return x
    far, near = (_by_jets(name, np.copysign(at, x), order) for at in _FAR)
    vanishes, grows = np.abs(far) < 1 / _TELLING, np.abs(far) > _TELLING
    limit = np.where(grows, np.copysign(np.inf, far), np.where(far == near, far, np.nan))
    return np.where(vanishes, 0.0, limit)


def _quotient(
    name: str, says: str, low: float, high: float, terms: int, near: Program, far: Program | None = None
) -> Callable[..., Any]:
    """Make the kernel of a quotient: a series of so many terms between low and high, jets elsewhere."""
    PROGRAMS[name] = near, far or near

    def compute(x: Any, order: int = 0) -> Any:
        return _evaluate(name, x, order, (low, high), terms)

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"The order-th derivative of {says}."
    return kernel(compute)


bernoulli_n = _quotient(
    "bernoulli_n", "x/(eˣ − 1)", -2, 2, 36, lambda f: f.t / f.expm1(), lambda f: f.t * f.bose()
)
bose_gap_n = _quotient(
    "bose_gap_n",
    "1/x − 1/(eˣ − 1)",
    -2,
    2,
    36,
    lambda f: (f.expm1() - f.t) / (f.t * f.expm1()),
    lambda f: f.reciprocal(f.t) - f.bose(),
)
log_gap_n = _quotient(
    "log_gap_n",
    "1/log(1 + x) − 1/x",
    -0.5,
    0.6,
    80,
    lambda f: (f.t - f.log1p()) / (f.t * f.log1p()),
    lambda f: f.reciprocal(f.log1p()) - f.reciprocal(f.t),
)
log_ratio_n = _quotient(
    "log_ratio_n", "log(1 − x)/log(1 + x)", -0.5, 0.5, 64, lambda f: f.log1p(-1) / f.log1p()
)
log1prel2_n = _quotient(
    "log1prel2_n",
    "(x − log(1 + x))/x²",
    -0.5,
    0.6,
    80,
    lambda f: (f.t - f.log1p()) / (f.t * f.t),
    lambda f: (f.t - f.log1p()) / f.t / f.t,
)
exprel2_n = _quotient(
    "exprel2_n",
    "(eˣ − 1 − x)/x²",
    -2,
    2,
    26,
    lambda f: (f.expm1() - f.t) / (f.t * f.t),
    lambda f: (f.expm1() - f.t) / f.t / f.t,
)
cot_gap_n = _quotient(
    "cot_gap_n",
    "1/x − cot x",
    -1.5,
    1.5,
    56,
    lambda f: (f.sin() - f.t * f.cos()) / (f.t * f.sin()),
    lambda f: f.reciprocal(f.t) - f.cos() / f.sin(),
)
csc_gap_n = _quotient(
    "csc_gap_n", "1/sin x − 1/x", -1.5, 1.5, 56, lambda f: (f.t - f.sin()) / (f.t * f.sin())
)
coth_gap_n = _quotient(
    "coth_gap_n",
    "coth x − 1/x",
    -1.5,
    1.5,
    56,
    lambda f: (f.t * f.cosh() - f.sinh()) / (f.t * f.sinh()),
    lambda f: f.coth() - f.reciprocal(f.t),
)
xcsc_n = _quotient("xcsc_n", "x/sin x", -1.5, 1.5, 56, lambda f: f.t / f.sin())
xcot_n = _quotient("xcot_n", "x/tan x", -1.5, 1.5, 56, lambda f: f.t * f.cos() / f.sin())
xcsch_n = _quotient("xcsch_n", "x/sinh x", -1.5, 1.5, 56, lambda f: f.t / f.sinh(), lambda f: f.t * f.csch())
xcoth_n = _quotient(
    "xcoth_n", "x/tanh x", -1.5, 1.5, 56, lambda f: f.t * f.cosh() / f.sinh(), lambda f: f.t * f.coth()
)
tanc_n = _quotient("tanc_n", "tan(x)/x", -0.8, 0.8, 56, lambda f: f.sin() / f.cos() / f.t)
tanhc_n = _quotient(
    "tanhc_n", "tanh(x)/x", -1.1, 1.1, 112, lambda f: f.sinh() / f.cosh() / f.t, lambda f: f.tanh() / f.t
)
sinhc_n = _quotient("sinhc_n", "sinh(x)/x", -2, 2, 26, lambda f: f.sinh() / f.t)
coshc_n = _quotient(
    "coshc_n",
    "(cosh x − 1)/x²",
    -2,
    2,
    28,
    lambda f: (f.cosh() - 1) / (f.t * f.t),
    lambda f: (f.cosh() - 1) / f.t / f.t,
)
sinc3_n = _quotient(
    "sinc3_n",
    "(x − sin x)/x³",
    -2,
    2,
    28,
    lambda f: (f.t - f.sin()) / (f.t * f.t * f.t),
    lambda f: (f.t - f.sin()) / f.t / f.t / f.t,
)
tanc3_n = _quotient(
    "tanc3_n",
    "(tan x − x)/x³",
    -1,
    1,
    80,
    lambda f: (f.sin() / f.cos() - f.t) / (f.t * f.t * f.t),
    lambda f: (f.sin() / f.cos() - f.t) / f.t / f.t / f.t,
)
sintan_n = _quotient(
    "sintan_n",
    "(x − sin x)/(x − tan x)",
    -1.2,
    1.2,
    40,
    lambda f: (f.t - f.sin()) / (f.t - f.sin() / f.cos()),
)
arctanc_n = _quotient("arctanc_n", "arctan(x)/x", -0.5, 0.5, 54, lambda f: f.arctan() / f.t)
arcsinc_n = _quotient("arcsinc_n", "arcsin(x)/x", -0.5, 0.5, 54, lambda f: f.arcsin() / f.t)
arctanhc_n = _quotient("arctanhc_n", "arctanh(x)/x", -0.5, 0.5, 54, lambda f: f.arctanh() / f.t)
arcsinhc_n = _quotient("arcsinhc_n", "arcsinh(x)/x", -0.5, 0.5, 54, lambda f: f.arcsinh() / f.t)
sinc_gap_n = _quotient(
    "sinc_gap_n", "1 − sin(x)/x", -2, 2, 28, lambda f: (f.t - f.sin()) / f.t, lambda f: f.sin() / f.t * -1 + 1
)
j1_n = _quotient(
    "j1_n",
    "(sin x − x·cos x)/x²",
    -2,
    2,
    28,
    lambda f: (f.sin() - f.t * f.cos()) / (f.t * f.t),
    lambda f: (f.sin() / f.t - f.cos()) / f.t,
)
j1c_n = _quotient(
    "j1c_n",
    "(sin x − x·cos x)/x³",
    -2,
    2,
    28,
    lambda f: (f.sin() - f.t * f.cos()) / (f.t * f.t * f.t),
    lambda f: (f.sin() / f.t - f.cos()) / f.t / f.t,
)
csc2_gap_n = _quotient(
    "csc2_gap_n",
    "1/sin²x − 1/x²",
    -1.5,
    1.5,
    60,
    lambda f: (f.t * f.t - f.sin() * f.sin()) / (f.t * f.t * f.sin() * f.sin()),
    lambda f: f.reciprocal(f.sin() * f.sin()) - f.reciprocal(f.t) * f.reciprocal(f.t),
)
sinhc3_n = _quotient(
    "sinhc3_n",
    "(sinh x − x)/x³",
    -2,
    2,
    28,
    lambda f: (f.sinh() - f.t) / (f.t * f.t * f.t),
    lambda f: (f.sinh() - f.t) / f.t / f.t / f.t,
)
tanhc3_n = _quotient(
    "tanhc3_n",
    "(x − tanh x)/x³",
    -1,
    1,
    80,
    lambda f: (f.t - f.sinh() / f.cosh()) / (f.t * f.t * f.t),
    lambda f: (f.t - f.tanh()) / f.t / f.t / f.t,
)
