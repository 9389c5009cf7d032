"""Functions of single entries in extended range: exact in the exponents, and as accurate as floats in the mantissas."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels import formulas
from relgrad.kernels.eft import two_product
from relgrad.kernels.extended.number import FARTHEST, UFUNCS, Extended, whole
from relgrad.kernels.numbers import rules_in

LN2 = 0.6931471805599453
LN2_REST = 2.3190468138462996e-17
"""What log 2 is more than the float."""
_HALF = 1 << 31


_rule = rules_in(UFUNCS)


def pick(c: Any, x: Any, y: Any) -> Any:
    """Return where(c, x, y)."""
    return type(x)(np.where(c, x.m, y.m), np.where(c, x.e, y.e))


def aligned(*terms: Extended) -> tuple[list[Any], Any]:
    """m₁·2^e₁, m₂·2^e₂ → [m₁·2^(e₁ − k), m₂·2^(e₂ − k)], k = max(e₁, e₂)"""
    most = reduce(np.maximum, [t.e for t in terms])
    return [scaled(t, most) for t in terms], most


def scaled(x: Extended, exponent: Any) -> Any:
    """x, k → x/2ᵏ as floats."""
    return np.ldexp(x.m, np.clip(x.e - exponent, -5000, 5000).astype(np.intc))


@_rule(np.add)
def add(x: Extended, y: Extended) -> Extended:
    """m₁·2^e₁ + m₂·2^e₂ = (m₁·2^(e₁ − k) + m₂·2^(e₂ − k))·2ᵏ, k = max(e₁, e₂)"""
    (a, b), most = aligned(x, y)
    return type(x)(a + b, most)


@_rule(np.subtract)
def subtract(x: Extended, y: Extended) -> Extended:
    """Return x - y."""
    return add(x, type(x)(-y.m, y.e))


@_rule(np.multiply)
def multiply(x: Extended, y: Extended) -> Extended:
    """m₁·2^e₁·m₂·2^e₂ = m₁·m₂·2^(e₁ + e₂)"""
    return type(x)(x.m * y.m, x.e + y.e)


@_rule(np.divide)
def divide(x: Extended, y: Extended) -> Extended:
    """m₁·2^e₁/(m₂·2^e₂) = m₁/m₂·2^(e₁ − e₂)"""
    return type(x)(x.m / y.m, x.e - y.e)


UFUNCS[np.negative] = lambda x: type(x)(-x.m, x.e)
UFUNCS[np.positive] = lambda x: x
UFUNCS[np.absolute] = UFUNCS[np.fabs] = lambda x: type(x)(np.abs(x.m), x.e)
UFUNCS[np.square] = lambda x: multiply(x, x)
UFUNCS[np.reciprocal] = lambda x: type(x)(1 / x.m, -x.e)
UFUNCS[np.sign] = lambda x: x.of(np.sign(x.m))
UFUNCS[np.copysign] = lambda x, y: type(x)(np.copysign(x.m, y.m), x.e)
UFUNCS.update({f: lambda x, f=f: f(x.m) for f in (np.isfinite, np.isinf, np.isnan, np.signbit)})


@_rule(np.sqrt)
def sqrt(x: Extended) -> Extended:
    """√(m·2^e) = √(m·2^r)·2^((e − r)/2), r = e mod 2"""
    odd = x.e & 1
    return type(x)(np.sqrt(np.ldexp(x.m, odd.astype(np.intc))), (x.e - odd) >> 1)


@_rule(np.cbrt)
def cbrt(x: Extended) -> Extended:
    """∛(m·2^e) = ∛(m·2^r)·2^((e − r)/3), r = e mod 3"""
    rest = x.e % 3
    return type(x)(np.cbrt(np.ldexp(x.m, rest.astype(np.intc))), (x.e - rest) // 3)


@_rule(np.hypot)
def hypot(x: Extended, y: Extended) -> Extended:
    """√(x² + y²) = hypot(x/2ᵏ, y/2ᵏ)·2ᵏ, 2ᵏ the common scale."""
    (a, b), most = aligned(x, y)
    return type(x)(np.hypot(a, b), most)


UFUNCS[np.arctan2] = lambda x, y: x.of(np.arctan2(*aligned(x, y)[0]))


def _compared(x: Extended, y: Extended) -> Any:
    """x − y, or a number of its sign; 0 for equal infinities, NaN where either is NaN."""
    gap = subtract(x, y).signs()
    return np.where(np.isinf(x.m) & (x.m == y.m), 0, gap)


UFUNCS.update(
    {
        f: lambda x, y, f=f: f(_compared(x, y), 0)
        for f in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
    }
)
UFUNCS[np.maximum] = lambda x, y: pick((_compared(x, y) >= 0) | np.isnan(x.m), x, y)
UFUNCS[np.minimum] = lambda x, y: pick((_compared(x, y) <= 0) | np.isnan(x.m), x, y)
UFUNCS[np.fmax] = lambda x, y: pick((_compared(x, y) >= 0) | np.isnan(y.m), x, y)
UFUNCS[np.fmin] = lambda x, y: pick((_compared(x, y) <= 0) | np.isnan(y.m), x, y)


def _logarithm(function: Any, unit: float) -> Any:
    """log(m·2^e) = log m + e·log 2, where the number is no float."""

    def log(x: Extended) -> Any:
        far = function(x.m) + (x.e * unit).astype(x.dtype)
        return Extended.of(np.where(x.outside, far, function(x.floats())))

    return log


log = UFUNCS[np.log] = _logarithm(np.log, LN2)
UFUNCS[np.log2] = _logarithm(np.log2, 1.0)
UFUNCS[np.log10] = _logarithm(np.log10, 0.30102999566398120)


@_rule(np.log1p)
def log1p(x: Extended) -> Extended:
    """log(1 + x) = x where x is tiny, log x where huge, both beyond the range of floats."""
    near = pick(x.outside, x, x.of(np.log1p(x.plain)))
    return pick(x.outside & (x.e > 0), np.log(x), near)


UFUNCS.update({scipy.special.xlogy: formulas.xlogy, scipy.special.xlog1py: formulas.xlog1py})


@_rule(np.exp)
def exp(x: Extended) -> Extended:
    """e^x = e^r·2^k with k the whole number nearest to x/log 2."""
    plain = np.exp(x.floats())
    v = np.clip(np.asarray(x.floats(), np.float64), -2 * FARTHEST, 2 * FARTHEST)
    k = np.rint(v / LN2)
    p, below = two_product(k, LN2)
    # Beyond 2^53, where neighbours of v are apart by more, the remainder says nothing.
    r = np.clip((v - p - below) - k * LN2_REST, -1, 1)
    far = Extended(np.exp(r).astype(x.dtype), whole(k))
    return unless_normal(plain, far)


@_rule(np.exp2)
def exp2(x: Extended) -> Extended:
    """2^x = 2^(x − k)·2ᵏ, k = round(x), where the result is no normal float."""
    v = np.clip(np.asarray(x.floats(), np.float64), -2 * FARTHEST, 2 * FARTHEST)
    k = np.rint(v)
    return unless_normal(np.exp2(x.floats()), Extended(np.exp2(v - k).astype(x.dtype), whole(k)))


def unless_normal(plain: Any, far: Extended) -> Extended:
    """y, m·2^e → y, or m·2^e where the float y is 0, subnormal or not finite."""
    plain = np.asarray(plain)
    normal = (np.abs(plain) >= np.finfo(plain.dtype).tiny) & np.isfinite(plain)
    return pick(normal, Extended.of(plain), far)


LARGE = 80.0
"""Beyond this, e^x differs from e^x - 1, and from 2·sinh x and 2·cosh x, by less than any rounding."""


@_rule(np.expm1)
def expm1(x: Extended) -> Extended:
    """e^x − 1 = e^x for x > 80, x for tiny x, and as floats have it between."""
    return pick(x.floats() > LARGE, np.exp(x), _near_identity(np.expm1)(x))


def _near_identity(function: Any) -> Any:
    """f(x) = x to the last bit where x is below the range of floats: sin, tanh, …."""
    return lambda x: pick(x.outside & (x.e < 0), x, x.of(function(x.plain)))


def _hyperbolic(function: Any, near: Any) -> Any:
    """cosh x = e^|x|/2, sinh x = sign(x)·e^|x|/2, for |x| > 80."""

    def rule(x: Extended) -> Extended:
        far: Any = np.exp(np.abs(x))
        far = type(x)(far.m if function is np.cosh else np.copysign(far.m, x.m), far.e - 1)
        return pick(np.abs(x.floats()) > LARGE, far, near(x))

    return rule


UFUNCS[np.sinh] = _hyperbolic(np.sinh, _near_identity(np.sinh))
UFUNCS[np.cosh] = _hyperbolic(np.cosh, lambda x: x.of(np.cosh(x.plain)))
UFUNCS.update({f: _near_identity(f) for f in (np.sin, np.tan, np.arcsin, np.arctan, np.tanh, np.arctanh)})
# Of a huge number none of the digits is known that these functions have: NaN, as floats have it of ∞.
UFUNCS[np.cos] = lambda x: x.of(np.cos(x.plain))
UFUNCS.update({f: lambda x, y, f=f: x.of(f(x.plain, y.plain)) for f in (np.fmod, np.remainder)})


def _rounded(function: Any) -> Any:
    """⌊x⌋ = x where x is huge, ⌊±tiny⌋ where it is below the range of floats: 0 or −1."""

    def rule(x: Extended) -> Extended:
        smallest = np.copysign(np.finfo(x.dtype).tiny, x.m)
        near = function(np.where(x.outside & (x.e < 0), smallest, x.floats()))
        return pick(x.outside & (x.e > 0), x, Extended.of(near))

    return rule


UFUNCS.update({f: _rounded(f) for f in (np.trunc, np.floor, np.ceil, np.rint)})


@_rule(np.arcsinh)
def arcsinh(x: Extended) -> Extended:
    """arsinh x = sign(x)·log(2·|x|), for huge x."""
    far: Any = np.log(type(x)(np.abs(x.m), x.e + 1))
    far = type(x)(np.copysign(far.m, x.m), far.e)
    return pick(x.outside & (x.e > 0), far, _near_identity(np.arcsinh)(x))


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the nearest float to a·b, and what it lacks (Dekker 1971), 0 where that is out of range."""
    total, lost = two_product(a, b)
    return total, np.where(np.isfinite(lost), lost, 0)


@_rule(np.power)
def power(x: Extended, y: Extended) -> Extended:
    """x^y = m^y·2^f·2^k with e·y = k + f, exactly; x² = x·x."""
    if y.ndim == 0 and y.floats() == 2:
        return multiply(x, x)
    base, p = np.broadcast_arrays(x.floats(), y.floats())
    plain = np.power(base, p)
    # √½ ≤ |m| < √2, so that m^y stays in range for |y| up to 2000 (200 in float32); beyond, it is a square.
    low = np.abs(x.m) < 0.7071067811865476
    m = np.where(low, 2 * x.m, x.m)
    e = np.where(low, x.e - 1, x.e)
    sign = np.where((m < 0) & (p % 2 == 1), -1, 1).astype(m.dtype)
    size = np.where((m < 0) & (p != np.rint(p)), np.nan, np.abs(m))
    reach = 2000 if m.dtype.itemsize > 4 else 200
    wide = np.where(np.isfinite(p), np.asarray(p, np.float64), 0)
    squarings = np.ceil(np.log2(np.maximum(np.abs(wide) / reach, 1))).astype(np.intc)
    binary = wide * (e + np.log2(size))
    beyond = np.abs(binary) > FARTHEST
    e = np.where(beyond, 0, e)
    low_part = np.fmod(e, _HALF)  # of the sign of e: parts do not cancel
    parts = [*_product((e - low_part).astype(float), wide), *_product(low_part.astype(float), wide)]
    fraction: Any = sum(part - np.rint(part) for part in parts)
    exponent: Any = sum(whole(np.rint(part)) for part in parts)
    result = Extended(np.power(size, np.ldexp(p, -squarings)), 0)
    for i in range(np.max(squarings, initial=0)):
        result = pick(squarings > i, multiply(result, result), result)
    result = multiply(result, Extended(sign * np.exp2(fraction).astype(m.dtype), exponent))
    limit = sign * np.where(binary > 0, np.inf, 0).astype(m.dtype)
    result = pick(beyond, Extended(limit, 0), result)
    usual = ~x.outside & ((np.abs(plain) >= np.finfo(plain.dtype).tiny) & np.isfinite(plain))
    usual |= (x.m == 0) | ~np.isfinite(x.m) | (p == 0) | ~np.isfinite(p)
    return pick(usual, Extended.of(plain), result)


@_rule(np.float_power)
def float_power(x: Extended, y: Extended) -> Extended:
    """x^y in double precision."""
    return power(Extended.of(x, np.float64), Extended.of(y, np.float64))
