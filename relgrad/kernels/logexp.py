"""Logarithms of sums and differences of exponentials, entry by entry.

Sources: M. Mächler, "Accurately computing log(1 − exp(−|a|))", Rmpfr vignette, 2012; N. J. Higham, "Accuracy
and Stability of Numerical Algorithms", 2nd ed., section 1.14.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels.dispatch import arithmetic_kernel, by_entries, entrywise, kernel, ranged

__all__ = [
    "bose",
    "coarse",
    "expit",
    "expit_entropy",
    "log1mexp",
    "log1pexp",
    "log_cosh",
    "log_expit",
    "logdiffexp",
    "softplus",
    "xdivy",
    "xlog1py",
    "xlogy",
]


xlogy = scipy.special.xlogy
xlog1py = scipy.special.xlog1py


@ranged(np.isfinite, "vanishes")
def expit(x: Any) -> Any:
    """The logistic function, 1/(1 + e⁻ˣ) = eˣ/(1 + eˣ); within 4 ulp, subnormal results included.

    SciPy's own flushes results below 1e-307 (1e-38 in float32) to zero.
    """
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))


@entrywise
def log_expit(x: Any) -> Any:
    """log(1/(1 + e⁻ˣ)) = min(x, 0) − log(1 + e^−|x|); within 2 ulp."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@entrywise
def softplus(x: Any) -> Any:
    """log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|); within 2 ulp.

    >>> softplus(np.array([-5000.0, 0.0, 5000.0]))
    array([0.00000000e+00, 6.93147181e-01, 5.00000000e+03])
    """
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


log1pexp = softplus


@entrywise
def expit_entropy(x: Any) -> Any:
    """log(1 + eˣ) − x·σ(x) = log(1 + e^−|x|) + |x|·σ(−|x|), the entropy of a Bernoulli trial; within 4 ulp."""
    a = np.abs(x)
    small = np.minimum(a, 800)  # 0 beyond, not ∞·0
    return np.log1p(np.exp(-small)) + small * expit(-small)


def _log1mexp(x: Any) -> Any:
    """log(1 − eˣ) = log(−expm1(x)) near 0, log1p(−eˣ) below −log 2."""
    near = x > -0.6931471805599453  # Mächler's switch: eˣ = ½, where both forms lose at most one bit
    return np.where(near, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))[()]


@entrywise
def log1mexp(x: Any) -> Any:
    """log(1 − eˣ) for x ≤ 0, NaN for x > 0; within 2 ulp. Source: Mächler 2012, eq. 7 (there with a = −x)."""
    return _log1mexp(x)


@ranged(lambda a, b: np.isfinite(a) & np.isfinite(b) & np.not_equal(a, b))
def logdiffexp(a: Any, b: Any) -> Any:
    """log(eᵃ − eᵇ) = a + log1mexp(b − a); −inf where a = b, NaN where a < b.

    The error is within 4 ulp of the larger of |a| and the result.
    """
    d = b - a
    d = np.where((a == b) & (a != np.inf), 0, d)
    # The rounding of d is carried along to first order, because e^d is sensitive where |d| is large.
    back = d + a
    carried = ((b - back) + ((back - d) - a)) / np.expm1(-d)
    distance = _log1mexp(d) - np.where(np.isfinite(carried), carried, 0)
    return np.where(b == -np.inf, a, a + distance)[()]


@entrywise
def log_cosh(x: Any) -> Any:
    """log cosh x = log(1 + 2 sinh²(x/2)), and |x| − log 2 + log(1 + e^−2|x|) from |x| = 4; within 3 ulp."""
    a = np.abs(x)
    s = np.sinh(np.minimum(a, 4) / 2)
    far = a + (np.log1p(np.exp(-2 * a)) - 0.6931471805599453)
    return np.where(a < 4, np.log1p(2 * s * s), far)[()]


@ranged(lambda x: np.isfinite(x) & np.not_equal(x, 0))
def bose(x: Any) -> Any:
    """1/(eˣ − 1), with derivative bose(x)·bose(−x); within 2 ulp where eˣ is in range."""
    # Beyond the range of eˣ the quotient is e⁻ˣ, which is subnormal rather than zero.
    return np.where(x > 40, np.exp(-x), 1 / np.expm1(x))[()]


@arithmetic_kernel
@by_entries
def xdivy(x: Any, y: Any) -> Any:
    """x/y, but 0 where x = 0 and y is not NaN: what derivatives of xlogy and xlog1py become at 0·log 0."""
    return np.where((x == 0) & ~np.isnan(y), 0, x / y)[()]


@kernel
@by_entries
def coarse(x: Any) -> Any:
    """x rounded to 8 bits; what is near x less this is exact. 0 where x is not finite."""
    x = np.where(np.isfinite(x), x, 0)
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(mantissa * 256) / 256, exponent)
