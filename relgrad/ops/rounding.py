"""Rounding to integers, what division leaves over, and powers of two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.implementations import implements
from relgrad.op import as_term
from relgrad.ops.arguments import call, is_ground, refuse, require_ground
from relgrad.ops.casting import cast, truncated_ball
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.ops.intervals import divided, magnitude
from relgrad.types import NONNEGATIVE, REAL, Interval


def _rounded(function: Any) -> Any:
    """(floor, [0.5, 2.7]) → [0, 2]: the range of a rounding function, its values at the ends, which are reached."""

    def range_(x: Interval) -> Interval:
        """[a, b] → [f(a), f(b)]."""
        low, high = (v if math.isinf(v) else float(function(v)) for v in (x.low, x.high))
        return Interval(low, high)

    return range_


def _row(ufunc: np.ufunc, **options: Any) -> Any:
    laws = Laws(idempotent=True, monotone=1)
    return elementwise(ufunc, None, laws=laws, range=_rounded(ufunc), jumps=True, rounds=False, **options)


def _ball_rint(x: Any) -> Any:
    nearest = (x + 0.5).floor()
    return 2 * (nearest / 2).floor() if x + 0.5 == nearest else nearest  # ties go to the even one


def _ball_exponent(x: Any) -> Any:
    """[3, 5] → [2, 3]: the exponents e of numbers m·2ᵉ, ½ ≤ m < 1, in a ball."""
    import flint

    if not x.is_finite():
        return flint.arb.nan()
    ends = [(int(man), int(exp)) for man, exp in (x.abs_lower().man_exp(), x.abs_upper().man_exp())]
    low, high = (flint.arb(exp + man.bit_length()) if man else flint.arb(0) for man, exp in ends)
    return low.union(high)


floor = _row(np.floor, ball=lambda x: x.floor(), tolerant=True, beside=lambda x: x // 1.0)
ceil = _row(np.ceil, ball=lambda x: x.ceil(), tolerant=True, beside=lambda x: -(-x // 1.0))
trunc = _row(np.trunc, ball=truncated_ball, beside=lambda x: np.sign(x) * (np.abs(x) // 1.0))
rint = _row(np.rint, ball=_ball_rint, tolerant=True, beside=lambda x: (x + 0.5) // 1.0)
coarse = elementwise(
    kernels.coarse,
    None,
    laws=Laws(idempotent=True, monotone=1),
    ball=lambda x: x * 0 + float(kernels.coarse(float(x.mid()))),
    strict=False,
)


def _floor_divide_range(x: Interval, y: Interval) -> Interval:
    return _rounded(np.floor)(divided(x, y))


def _remainder_range(x: Interval, y: Interval) -> Interval:
    if y.positive:
        return Interval(0.0, y.high, False, True)
    return Interval(y.low, 0.0, True, False) if y.negative else REAL


def _fmod_range(x: Interval, y: Interval) -> Interval:
    size = magnitude(y).high
    low, high = (0.0 if x.nonnegative else -size), (0.0 if x.high <= 0 else size)
    return Interval(low, high, low < 0, high > 0)


floor_divide = elementwise(
    np.floor_divide,
    None,
    None,
    code="{} // {}",
    range=_floor_divide_range,
    ball=lambda x, y: (x / y).floor(),
    rough=(1,),
)
remainder = elementwise(
    np.remainder,
    lambda g, out, x, y: g,
    lambda g, out, x, y: -g * np.floor_divide(x, y),
    code="{} % {}",
    range=_remainder_range,
    ball=lambda x, y: x - (x / y).floor() * y,
    outside=lambda x, y: y == 0,
    continues=True,
    strict=True,
)
# (x - out)/y is an integer, which rint recovers; x/y may round up to the next one.
fmod = elementwise(
    np.fmod,
    lambda g, out, x, y: g,
    lambda g, out, x, y: -g * np.rint((x - out) / y),
    range=_fmod_range,
    ball=lambda x, y: x - truncated_ball(x / y) * y,
    outside=lambda x, y: y == 0,
    continues=True,
    strict=True,
    beside=lambda x, y: np.sign(x) * (np.abs(x) % np.abs(y)),
)
nextafter = elementwise(
    np.nextafter,
    None,
    None,
    undefined="the next float is no function of the real numbers",
    range=lambda x, y: Interval(min(x.low, y.low), max(x.high, y.high)),
)
spacing = elementwise(
    np.spacing,
    None,
    undefined="the distance to the next float is no function of the real numbers",
)


ldexp = elementwise(
    np.ldexp,
    lambda g, out, x, y: np.ldexp(g, y),
    None,
    laws=Laws(linear=(0,)),
    ball=lambda x, y: x * type(y)(2) ** y,
)
gcd = elementwise(np.gcd, None, None, laws=Laws(associative=True, commutative=True), range=NONNEGATIVE)
lcm = elementwise(
    np.lcm,
    None,
    None,
    laws=Laws(associative=True, commutative=True, absorbing=0.0),
    range=NONNEGATIVE,
)
exponent = Elementwise(
    "exponent",
    lambda x: np.frexp(x)[1],
    None,
    code="np.frexp({})[1]",
    dtype=lambda x: np.frexp.resolve_dtypes((x, None, None))[2],
    ball=_ball_exponent,
)
mantissa = Elementwise(
    "mantissa",
    lambda x: np.frexp(x)[0],
    lambda g, out, x: np.ldexp(g, -exponent(x)),
    code="np.frexp({})[0]",
    range=Interval(-1.0, 1.0, True, True),
    dtype=lambda x: np.frexp.resolve_dtypes((x, None, None))[1],
    ball=lambda x: x / type(x)(2) ** _ball_exponent(x),
)


@implements(np.frexp)
def frexp(x: Any, **options: Any) -> tuple[Any, Any]:
    """Trace `np.frexp`: x = mantissa·2^exponent, with the mantissa between ½ and 1 in size, or 0."""
    refuse("np.frexp", **options)
    x = as_term(x)
    return mantissa(x), exponent(x)


@implements(np.divmod)
def divmod_(x: Any, y: Any, **options: Any) -> tuple[Any, Any]:
    """Trace `np.divmod`: the floored quotient and what it leaves over."""
    refuse("np.divmod", **options)
    x, y = as_term(x), as_term(y)
    return floor_divide(x, y), remainder(x, y)


@implements(np.modf)
def modf(x: Any, **options: Any) -> tuple[Any, Any]:
    """modf(−1.5) = (−0.5, −1.0): traces `np.modf`: the fraction and the integer, both with the sign of x."""
    refuse("np.modf", **options)
    x = require_ground("np.modf", x)
    x = cast(x, np.modf.resolve_dtypes((x.type.dtype, None, None))[1])
    finite = call(np.where, call(np.isinf, x), call(np.copysign, 0.0, x), x)
    return call(np.fmod, finite, 1.0), trunc(x)


@implements(np.round, np.around, "round")
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """round(2.5) = 2, round(1.25, 1) = 1.2: traces `np.round`, halves to even, by scaling as NumPy does it."""
    refuse("np.round", out=out)
    x = as_term(a)
    if decimals == 0 and not is_ground(x):
        return rint(x)
    x = require_ground("np.round with decimals", x)
    dtype = x.type.dtype
    if dtype.kind in "iu" and decimals >= 0:
        return x
    if decimals == 0:
        return rint(x)
    np.round(np.zeros(0, dtype), decimals)  # raises what NumPy raises: there are no decimals of truth values
    scale = 10.0 ** abs(decimals)
    first, second = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    return cast(call(second, rint(call(first, x, scale)), scale), dtype)
