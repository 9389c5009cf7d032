"""Differences f(x) − f(y) of two values of a function that lie close together, without cancellation.

Each takes the distance d = x − y beside x and y, because it may be known better than the two are: in √(x + 1) − √x it
is 1, however x + 1 was rounded. Where x and y are far apart nothing cancels, and they are subtracted.

Sources: the identities are those of R. W. Hamming, "Numerical Methods for Scientists and Engineers", 2nd ed.,
chapter 3, and NIST DLMF 4.21 and 4.35.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import arithmetic_kernel, by_entries, entrywise, floats, ranged, tell_range
from relgrad.kernels.eft import two_sum
from relgrad.kernels.logexp import expit, softplus
from relgrad.kernels.remainders import log1p_gap
from relgrad.kernels.removable import exprel_n

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
    "ratio_minus_one",
    "sin_difference",
    "softplus_difference",
    "tan_difference",
    "tanh_difference",
    "xlog_ratio",
]


def _or_plain(value: Any, plain: Any) -> Any:
    """∞, 1.5 → 1.5: the plain difference where the stable formula alone has left the range of floats."""
    return np.where(np.isfinite(value) | np.isnan(plain), value, plain)[()]


def nearer(x: Any, y: Any, d: Any) -> tuple[Any, Any]:
    """x, y, x − y → y, x − y, or −y, x + y where x and y have opposite signs, as even functions do not tell.

    >>> nearer(1.0, -1.0, 2.0)
    (array(1.), array(0.))
    """
    opposite = np.sign(x) * np.sign(y) < 0
    return np.where(opposite, -y, y), np.where(opposite, x + y, d)


@arithmetic_kernel
@by_entries
def power1p(x: Any, a: Any) -> Any:
    """(1 + x)ᵃ, with what rounding takes from 1 + x put back to first order; within 2 ulp for a·log(1 + x) < 1.

    >>> power1p(1e-20, 1e20)
    np.float64(2.718281828459045)
    """
    base = 1 + x
    lost = x - (base - 1)
    lost = np.where(np.abs(lost) <= np.spacing(base), lost, 0)
    value = np.where(lost == 0, np.power(base, a), np.power(base, a) * np.exp(a * (lost / base)))
    return np.where(np.isnan(value), np.exp(a * np.log1p(x)), value)[()]


@ranged(lambda x, a: np.isfinite(x) & np.isfinite(a) & (x != 0) & (x != -1) & (a != 0))
def power1pm1(x: Any, a: Any) -> Any:
    """(1 + x)ᵃ − 1 = exp(a·log(1 + x)) − 1."""
    t = a * np.log1p(x)
    return np.where(np.abs(t) < 1, np.expm1(t), power1p(x, a) - 1)[()]


def _half(x: Any, y: Any, d: Any) -> Any:
    return d / (np.sqrt(x) + np.sqrt(y))


def _minus_half(x: Any, y: Any, d: Any) -> Any:
    p, q = np.sqrt(x), np.sqrt(y)
    return -(d / (p + q) / p / q)


def _apart(y: Any, d: Any) -> Any:
    """|d| > |y|/2: whether nothing, or a bit at most, cancels in the difference of two reciprocals."""
    return ~(np.abs(d) <= np.abs(y) / 2)


def _minus_one(x: Any, y: Any, d: Any) -> Any:
    return np.where(_apart(y, d), 1 / x - 1 / y, -(d / x / y))


def _minus_two(x: Any, y: Any, d: Any) -> Any:
    p, q = 1 / x, 1 / y
    return np.where(_apart(y, d), p * p - q * q, -(d / x / y) * (p + q))


_ALGEBRAIC: dict[float, Callable[..., Any]] = {
    0.0: lambda x, y, d: np.zeros_like(d),
    0.5: _half,
    -0.5: _minus_half,
    -1.0: _minus_one,
    2.0: lambda x, y, d: d * (x + y),
    -2.0: _minus_two,
    3.0: lambda x, y, d: d * (x * x + x * y + y * y),
    4.0: lambda x, y, d: d * (x + y) * (x * x + y * y),
}
"""Exponents for which the difference has a formula of arithmetic and roots only."""


def _any_power(x: Any, y: Any, d: Any, a: Any) -> Any:
    """xᵃ − yᵃ = yᵃ·(exp(a·log(x/y)) − 1) where x and y have one sign and the exponent is small."""
    t = a * log_quotient(x, y, d)
    # The rounding of x = y + d is put back to first order.
    total = y + d
    added = total - y
    lost = (total - x) + ((y - (total - added)) + (d - added))
    # Where d is x − y as it rounds, it was computed from x, of which nothing is lost.
    lost = np.where((np.abs(lost) <= 2 * np.spacing(np.abs(x))) & (d != x - y), lost, 0)
    above = np.power(x, a)
    above = np.where((lost == 0) | (x == 0), above, above * np.exp(a * (lost / x)))
    below = np.power(y, a)
    far = above - below  # where both overflow, the larger one decides
    far = np.where(np.isnan(far) & (above == below), np.sign(a) * above * (np.abs(x) - np.abs(y)), far)
    return np.where(np.abs(t) < 1, below * np.expm1(t), far)


@arithmetic_kernel
def power_difference(x: Any, y: Any, a: Any, d: Any) -> Any:
    """xᵃ − yᵃ, where d = x − y.

    >>> power_difference(1e20 + 1, 1e20, 0.5, 1.0)
    np.float64(5e-11)
    """
    x, y, a, d = floats(x, y, a, d)
    formula = _ALGEBRAIC.get(float(a)) if a.ndim == 0 else None
    with np.errstate(all="ignore"):
        if formula is None:
            x, y, a, d = np.broadcast_arrays(x, y, a, d)
            nearest = np.where(a % 2 == 0, nearer(x, y, d), (y, d))
            value = _any_power(x, nearest[0], nearest[1], a)
        else:
            value = formula(x, y, d)
        above, below = np.power(x, a), np.power(y, a)
        value = _or_plain(value, above - below)
        given = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0) & ~(np.isnan(above) | np.isnan(below))
        numbers = given & ((np.abs(x) != np.abs(y)) | np.isnan(value)) & (a != 0)
    tell_range(value, lambda: numbers)
    return value


@ranged(lambda x, y, d: np.isfinite(x) & np.isfinite(y) & (d != 0))
def exp_difference(x: Any, y: Any, d: Any) -> Any:
    """eˣ − eʸ = eʸ·(eᵈ − 1), where d = x − y; the sign of d where both overflow."""
    far = np.exp(x) - np.exp(y)
    far = np.where(np.isnan(far) & (np.abs(d) > 0), np.copysign(np.inf, d), far)
    return np.where(np.abs(d) < 1, np.exp(y) * np.expm1(d), far)[()]


@entrywise
def log_quotient(x: Any, y: Any, d: Any) -> Any:
    """log(x/y) = log(1 + d/y), where d = x − y, for x and y of one sign.

    >>> log_quotient(-1e20 - 1, -1e20, -1.0)
    np.float64(1e-20)
    """
    quotient = x / y
    normal = (quotient > np.finfo(quotient.dtype).tiny) & (quotient < np.inf)
    sign = np.where(y < 0, -1, 1)
    far = np.where(normal, np.log(quotient), np.log(sign * x) - np.log(sign * y))
    return np.where(np.abs(d) < np.abs(y) / 2, np.log1p(d / y), far).astype(x.dtype)[()]


@entrywise
def log_difference(x: Any, y: Any, d: Any) -> Any:
    """log x − log y = log(1 + d/y), where d = x − y; NaN where x or y is negative, though x/y need not be.

    >>> log_difference(1e20 + 1, 1e20, 1.0)
    np.float64(1e-20)
    """
    return np.where(y < 0, np.nan, log_quotient(x, y, d)).astype(x.dtype)[()]


@entrywise
def sin_difference(x: Any, y: Any, d: Any) -> Any:
    """sin x − sin y = 2·cos(y + d/2)·sin(d/2), where d = x − y."""
    middle, rest = two_sum(y, d / 2)  # of a large angle, what rounding leaves counts
    near = 2 * (np.cos(middle) * np.cos(rest) - np.sin(middle) * np.sin(rest)) * np.sin(d / 2)
    return np.where(np.abs(d) <= 1, near, np.sin(x) - np.sin(y))[()]


@entrywise
def cos_difference(x: Any, y: Any, d: Any) -> Any:
    """cos x − cos y = −2·sin(y + d/2)·sin(d/2), where d = x − y."""
    y, d = nearer(x, y, d)
    middle, rest = two_sum(y, d / 2)
    near = -2 * (np.sin(middle) * np.cos(rest) + np.cos(middle) * np.sin(rest)) * np.sin(d / 2)
    return np.where(np.abs(d) <= 1, near, np.cos(x) - np.cos(y))[()]


@entrywise
def tan_difference(x: Any, y: Any, d: Any) -> Any:
    """tan x − tan y = sin d/(cos x·cos y), where d = x − y."""
    near = np.sin(d) / (np.cos(x) * np.cos(y))
    return np.where(np.abs(d) <= 1, near, np.tan(x) - np.tan(y))[()]


@entrywise
def arctan_difference(x: Any, y: Any, d: Any) -> Any:
    """arctan x − arctan y = arctan2(d, 1 + x·y), where d = x − y."""
    both = x * y
    near = (both > -0.5) & np.isfinite(both) & np.isfinite(d)
    return np.where(near, np.arctan2(d, 1 + both), np.arctan(x) - np.arctan(y))[()]


@entrywise
def tanh_difference(x: Any, y: Any, d: Any) -> Any:
    """tanh x − tanh y = 2·(σ(2x) − σ(2y)), where d = x − y."""
    return 2 * expit_difference(2 * x, 2 * y, 2 * d)


@entrywise
def expit_difference(x: Any, y: Any, d: Any) -> Any:
    """σ(x) − σ(y) = (1 − e⁻ᵈ)·σ(x)·σ(−y), where d = x − y."""
    up, down = np.maximum(x, y), np.minimum(x, y)
    value = np.copysign(np.expm1(-np.abs(d)), d) * expit(up) * expit(-down)
    return _or_plain(np.where(d == 0, 0, value), expit(x) - expit(y))


@entrywise
def softplus_difference(x: Any, y: Any, d: Any) -> Any:
    """log((1 + eˣ)/(1 + eʸ)) = log(1 + (eᵈ − 1)·σ(y)), where d = x − y."""
    near = np.log1p(np.expm1(np.clip(d, -1, 1)) * expit(y))
    # Where both arguments are positive, softplus(x) − softplus(y) is d + softplus(−x) − softplus(−y).
    both = (x > 0) & (y > 0)
    far = softplus(np.where(both, -x, x)) - softplus(np.where(both, -y, y))
    return np.where(np.abs(d) <= 1, near, np.where(both, d + far, far))[()]


@entrywise
def xlog_ratio(x: Any, y: Any, d: Any) -> Any:
    """x·log(x/y), where d = x − y, and 0 where x is, whatever y.

    >>> xlog_ratio(np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.5, 2.0]), np.array([0.0, -0.5, 0.0]))
    array([0., 0., 0.])

    Source: scipy.special.rel_entr; changed from the source: two negative numbers have a ratio too.
    """
    return np.where(x == 0, np.where(np.isnan(y), y, 0), x * log_quotient(x, y, d)).astype(x.dtype)[()]


@entrywise
def ratio_minus_one(x: Any, y: Any, d: Any) -> Any:
    """x/y − 1 = d/y, where d = x − y."""
    ratio = x / y - 1
    return np.where((np.abs(d) <= np.abs(y)) & np.isfinite(y), d / y, ratio)[()]


@entrywise
def itakura_saito(x: Any, y: Any, d: Any) -> Any:
    """x/y − log(x/y) − 1, about (d/y)²/2, where d = x − y."""
    near = np.abs(d) < np.abs(y) / 2
    return np.where(near, log1p_gap(np.where(near, d / y, 0)), x / y - log_quotient(x, y, d) - 1)[()]


@entrywise
def i_divergence(x: Any, y: Any, d: Any) -> Any:
    """x·log(x/y) − x + y, about d²/(2y), where d = x − y; y where x is 0.

    Source: Csiszár, Annals of Probability 3(1), 1975, I-divergence; scipy.special.kl_div, which cancels.
    """
    near = np.abs(d) < np.abs(x) / 2
    close = x * log1p_gap(np.where(near, -d / x, 0))
    return np.where(near, close, xlog_ratio(x, y, d) - d)[()]


@entrywise
def boxcox(x: Any, a: Any, d: Any) -> Any:
    """(xᵃ − 1)/a, where d = x − 1, and log x at a = 0.

    Source: Box & Cox, Journal of the Royal Statistical Society B 26(2), 1964, eq. 1.
    """
    log = np.where(np.abs(d) <= 0.5, np.log1p(d), np.log(x))
    t = np.where(a == 0, 0, a * log)
    near = np.abs(t) < 1
    return np.where(near, log * exprel_n(np.where(near, t, 0)), (np.power(x, a) - 1) / a)[()]
