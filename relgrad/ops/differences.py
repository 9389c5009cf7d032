"""Differences f(x) − f(y) as ops of x, y and their distance d = x − y.

Over the reals x is y + d; it is there for accuracy alone, as it is known and not computed again, and it carries the
derivative: the distance moves with x and y, so that its own is not counted twice.
Derivatives are the plain ones, g·f'(x) and −g·f'(y); where they meet, they are a difference again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import add, multiply, negative, power, square
from relgrad.ops.comparison import greater_equal, less
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.ops.exponential import exp, expm1, log, log1p, tanh
from relgrad.ops.families import erfcx, exprel_n
from relgrad.ops.increments import difference_of, known_difference
from relgrad.ops.selection import minimum, where
from relgrad.ops.special import erf, erfc, log_ndtr, ndtr
from relgrad.ops.stable import expit, log_expit, softplus, xdivy, xlogy
from relgrad.ops.trigonometric import arctan, cos, sin, tan
from relgrad.term import Term
from relgrad.types import POSITIVE, REAL, Interval

__all__ = [
    "arctan_difference",
    "boxcox",
    "cos_difference",
    "exp_difference",
    "expit_difference",
    "i_divergence",
    "itakura_saito",
    "log_difference",
    "log_quotient",
    "power1p",
    "power1pm1",
    "power_difference",
    "product_difference",
    "ratio_minus_one",
    "sin_difference",
    "softplus_difference",
    "tan_difference",
    "tanh_difference",
    "xlog_ratio",
]


def _power_slope(g: Any, x: Any, a: Any, y: Any) -> Any:
    """g·a·xᵃ⁻¹, a − 1 unrounded where n is small: = the slope of xᵃ at x, in the form that the one at y has, so as to
    cancel.
    """
    exponent = as_term(a)
    n = exponent.op.value if is_constant(exponent) else None
    if n is None or is_constant(as_term(y)) or np.all(np.isin(n, (1, 2))):
        rule: Any = power.rules[0]
        return rule(g, np.power(x, a), x, a)
    return g * (n * np.power(x, n - n.dtype.type(1)))


def _power1p_range(x: Interval, a: Interval) -> Interval:
    return POSITIVE if x.low >= -1 and (x.low > -1 or x.open_low) else REAL


def _power1p_slope(g: Any, out: Any, x: Any, a: Any) -> Any:
    """g·a·(1 + x)ᵃ⁻¹, and 0 for (1 + x)⁰ = 1 at −1 too."""
    return g * (a * power1p(x, np.where(np.logical_and(x == -1, a == 0), 1, a - 1)))


def _power1p_growth(g: Any, x: Any, a: Any) -> Any:
    """g·(1 + x)ᵃ·log(1 + x), and 0 for 0ᵃ = 0, a > 0."""
    return g * power1p(x, a) * log1p(np.where(np.logical_and(x == -1, a > 0), 0.0, x))


power1p = elementwise(
    kernels.power1p,
    _power1p_slope,
    lambda g, out, x, a: _power1p_growth(g, x, a),
    range=_power1p_range,
    ball=lambda x, a: (1 + x) ** a,
    meaning=lambda x, a: np.power(1.0 + x, a),
    complement=lambda x, a: -power1pm1(x, a),
    grows=True,
)
power1pm1 = elementwise(
    kernels.power1pm1,
    _power1p_slope,
    lambda g, out, x, a: _power1p_growth(g, x, a),
    ball=lambda x, a: (1 + x) ** a - 1,
    meaning=lambda x, a: np.power(1.0 + x, a) - 1.0,
)
power_difference = known_difference(
    kernels.power_difference,
    power,
    lambda g, out, x, y, a, d: _power_slope(g, x, a, y),
    lambda g, out, x, y, a, d: -_power_slope(g, y, a, x),
    lambda g, out, x, y, a, d: g * _exponent_slope(out, x, y, a, d),
    grows=True,
)
exp_difference = known_difference(kernels.exp_difference, exp)
exp_difference.in_log_domain = lambda node: _larger(*node.rands)


def _exponent_slope(out: Any, x: Any, y: Any, a: Any, d: Any) -> Any:
    """Return xᵃ·log x − yᵃ·log y as (xᵃ − yᵃ)·log x + yᵃ·(log x − log y); 0ᵃ·log 0 is 0, as it is of powers.

    xᵃ·log x, if y is 1: xᵃ − 1 and 1 would cancel.
    """
    u, v = _instead_of_zero(x, y, a), _instead_of_zero(y, x, a)
    near = d if u is x and v is y else np.where(np.logical_and(u == x, v == y), d, 0.0)
    change, other = log_difference(u, v, near), as_term(y)
    if is_constant(other) and np.all(other.op.value == 1):
        return np.power(x, a) * change
    return out * np.log(u) + np.power(y, a) * change


def _instead_of_zero(x: Any, y: Any, a: Any) -> Any:
    """x = 0 → y, or 1 where y = 0: in place of a 0 of which a power vanishes; x elsewhere."""
    value = as_term(x)
    if is_constant(value) and np.all(value.op.value > 0):
        return x
    return np.where(np.logical_and(x == 0, a > 0), np.where(y == 0, 1.0, y), x)


def _larger(x: Any, y: Any, d: Any) -> tuple[Any, Any]:
    """Return eˣ - eʸ as a multiple of the larger of the two."""
    up = greater_equal(d, 0.0)
    return where(up, negative(expm1(negative(d))), expm1(d)), where(up, x, y)


log_difference = known_difference(kernels.log_difference, log)
log1p.says(increment=lambda x, y, d: log_difference(1.0 + x[0], 1.0 + y[0], d[0]))
log_quotient = elementwise(
    kernels.log_quotient,
    lambda g, out, x, y, d: g / x,
    lambda g, out, x, y, d: -g / y,
    None,
    ball=lambda x, y, d: (1 + d / y).log(),
    meaning=lambda x, y, d: np.log(x / y),
)
product_difference = elementwise(
    kernels.product_difference,
    lambda g, out, x, y, u, v: g * y,
    lambda g, out, x, y, u, v: g * x,
    lambda g, out, x, y, u, v: -g * v,
    lambda g, out, x, y, u, v: -g * u,
    ball=lambda x, y, u, v: x * y - u * v,
    grows=True,
)
sin_difference = known_difference(kernels.sin_difference, sin)
cos_difference = known_difference(kernels.cos_difference, cos)
tan_difference = known_difference(kernels.tan_difference, tan)
arctan_difference = known_difference(kernels.arctan_difference, arctan)
tanh_difference = known_difference(kernels.tanh_difference, tanh)
expit_difference = known_difference(kernels.expit_difference, expit)
expit_difference.in_log_domain = lambda node: _between_logistics(*node.rands)


def _between_logistics(x: Any, y: Any, d: Any) -> tuple[Any, Any]:
    """Return σ(x) − σ(y) as (1 − e^(y − x))·e^(log σ(x) + log σ(−y)), or with x and y exchanged for y > x."""
    weight, _ = _larger(x, y, d)
    up = greater_equal(d, 0.0)
    above, below = where(up, x, y), where(up, y, x)
    return weight, add(log_expit(above), log_expit(negative(below)))


softplus_difference = known_difference(kernels.softplus_difference, softplus)


def _between(of: Elementwise, factor: float, sign: int, squared: float) -> None:
    """Let f(x) − f(y) be read in the log domain, where f(t) is c·Φ(±k·t) but for a constant, with k².

    Φ(a) − Φ(b) = (1 − e^−Δ)·Φ(a), Δ = logΦ(a) − logΦ(b), with −b and −a in place of a and b in the upper tail, and
    Φ(a) = ½erfcx(−a/√2)·e^(−a²/2) where a < 0
    """
    log_difference_of = difference_of(log_ndtr)

    def read(node: Term) -> tuple[Any, Any]:
        """∫ from y to x of e^(−k·t²) → weight, exponent: the difference as weight·e^exponent, from the end near 0."""
        x, y, d = node.rands if sign > 0 else map(negative, node.rands)
        dtype = x.type.dtype
        k = constant(math.sqrt(squared), dtype)
        upper = greater_equal(add(x, y), 0.0)
        a, b = where(upper, negative(y), x), where(upper, negative(x), y)
        up = greater_equal(d, 0.0)
        change = log_difference_of(*[multiply(k, t) for t in (a, b, d)])  # type: ignore[misc]
        weight = where(up, negative(expm1(negative(change))), expm1(change))
        near = where(up, a, b)
        low = minimum(near, 0.0)
        tail = multiply(0.5, erfcx(multiply(-math.sqrt(squared / 2), low)))
        size = where(less(near, 0.0), tail, ndtr(multiply(k, near)))
        return multiply(constant(factor, dtype), multiply(weight, size)), multiply(-squared / 2, square(low))

    difference_of(of).in_log_domain = read  # type: ignore[union-attr]


_between(ndtr, 1.0, 1, 1.0)
_between(erf, 2.0, 1, 2.0)
_between(erfc, 2.0, -1, 2.0)
xlog_ratio = elementwise(
    kernels.xlog_ratio,
    lambda g, out, x, y, d: xlogy(g, x / y) + g,
    lambda g, out, x, y, d: -xdivy(g * x, y),
    None,
    ball=lambda x, y, d: d * 0 if (y + d).is_zero() else (y + d) * (1 + d / y).log(),
    meaning=lambda x, y, d: xlogy(x, x / y),
    cancels="zeros",
    rough=(0, 1),
    zero_log=lambda x, y, d: x == 0,
)


ratio_minus_one = elementwise(
    kernels.ratio_minus_one,
    lambda g, out, x, y, d: g / y,
    lambda g, out, x, y, d: -g * (x / y) / y,
    None,
    ball=lambda x, y, d: d / y,
    meaning=lambda x, y, d: x / y - 1.0,
)
itakura_saito = elementwise(
    kernels.itakura_saito,
    lambda g, out, x, y, d: -g * power_difference(x, y, -1.0, d),
    lambda g, out, x, y, d: -g * (d / y) / y,
    None,
    ball=lambda x, y, d: d / y - (1 + d / y).log(),
    meaning=lambda x, y, d: x / y - 1.0 - np.log(x / y),
)
i_divergence = elementwise(
    kernels.i_divergence,
    lambda g, out, x, y, d: g * log_quotient(x, y, d),
    lambda g, out, x, y, d: -g * ratio_minus_one(x, np.where(x == 0, 1.0, y), np.where(x == 0, -1.0, d)),
    None,
    ball=lambda x, y, d: y if (y + d).is_zero() else (y + d) * (1 + d / y).log() - d,
    meaning=lambda x, y, d: xlogy(x, x / y) - x + y,
    zero_log=lambda x, y, d: x == 0,
)
boxcox = elementwise(
    kernels.boxcox,
    lambda g, out, x, a, d: g * np.power(x, a - 1),
    lambda g, out, x, a, d: g * _boxcox_slope(x, a, d),
    None,
    ball=lambda x, a, d: ((1 + d) ** a - 1) / a,
    meaning=lambda x, a, d: (np.power(x, a) - 1.0) / a,
)


def _boxcox_slope(x: Any, a: Any, d: Any) -> Any:
    """∂((xᵃ − 1)/a)/∂a, = 1/a² where x is 0."""
    vanishes = np.logical_and(x == 0, a > 0)
    log = log_difference(np.where(vanishes, 1.0, x), 1, np.where(vanishes, 0.0, d))
    at_zero = np.square(np.reciprocal(np.where(vanishes, a, 1.0)))
    return np.where(vanishes, at_zero, np.square(log) * exprel_n(a * log, 1))


for _op in (log_quotient, xlog_ratio, ratio_minus_one, itakura_saito, i_divergence):
    _op.distance = 0, 1, 2
