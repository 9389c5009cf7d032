"""Normalisation in the log domain: logsumexp, softmax, log_softmax, and the linear maps of their derivatives.

Source: P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and softmax
functions", IMA Journal of Numerical Analysis 41(4), 2021, algorithm 3.1 and section 5. Changed from the
source: several axes, linear weights, ties counted instead of broken, and the rounding error of x − max
carried along in softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, in_blocks, kernel, overridable, reduced, tell_range
from relgrad.kernels.eft import two_product
from relgrad.kernels.moments import sum_minus
from relgrad.kernels.removable import exprel_n

__all__ = [
    "gibbs",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "softmax",
]


Axis = int | tuple[int, ...] | None


def _finite(m: Any) -> Any:
    """3 → 3, −∞ → 0: a shift; infinite and NaN maxima shift nothing."""
    return np.where(np.isfinite(m), m, 0)


def _max(x: Any, axis: Axis) -> Any:
    return reduced(np.maximum, x, axis, initial=-np.inf)


def log_of_total(first: Any, rest: Any) -> Any:
    """log(first + rest), where near 1 the distance from 1 is not rounded away."""
    above = (first - 1) + rest
    return np.where(np.abs(above) < 0.5, np.log1p(above), np.log(first + rest))


def _sum_at_max(x: Any, axis: Axis) -> tuple[Any, Any, Any]:
    """x → m, #{x = m}, Σ_{x ≠ m} e^(x − m), with m = max x over axes."""
    m = _finite(_max(x, axis))
    d = np.asarray(x - m)
    top = d == 0
    rest = np.exp(d, out=d)
    rest[top] = 0
    return (
        m,
        reduced(np.add, top, axis, dtype=x.dtype),
        reduced(np.add, rest, axis),
    )


class _Weighted:
    """Weighted exponentials around the entry that weighs most: w·e^(x − m)/2^exponent, in `terms(x − m)`.

    The terms are formed by two half powers, so that tiny and huge weights neither overflow nor underflow on
    the way.
    """

    def __init__(self, x: Any, weights: Any, axis: Axis):
        """w·eˣ → w·e^(x − m)/2ᵏ, m at the largest |w|·eˣ, k its weight's exponent where that is large, else 0."""
        x, w = floats(x, weights)
        nothing, size = w == 0, np.abs(w)
        x = np.where(nothing, -np.inf, x) if np.any(nothing) else x
        height = x + np.log(size)
        largest = height == _max(height, axis)
        self.m = _max(np.where(largest, x, -np.inf), axis)
        if np.any(nothing):  # a sum of nothing is zero, whatever exponent stands before it
            none = np.all(np.broadcast_to(nothing, height.shape), axis=axis, keepdims=True)
            self.m = np.where(none, 0, self.m)
        exponent = np.frexp(_max(np.where(largest, size, 0), axis))[1]
        self.exponent = np.where(np.abs(exponent) > 20, exponent, 0)
        self.x, self.w = np.broadcast_arrays(x, w)

    def terms(self, d: Any) -> Any:
        half = np.exp(d / 2)
        terms = np.asarray(self.w * half)
        if not np.any(self.exponent):
            terms *= half
            return terms
        first = self.exponent // 2
        return np.ldexp(terms, -first) * np.ldexp(half, first - self.exponent)


@kernel
def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False, weights: Any = None) -> Any:
    """log Σ w·eˣ over axes; −inf for an empty or vanishing sum, NaN for a negative one.

    The weights broadcast against x, are used linearly, may be negative; where one is zero, x is not looked
    at. The error is a few ulp of the larger of |max x| and the result.

    >>> logsumexp(np.array([1e-20, -50.0])) == 1e-20 + np.exp(-50.0)
    np.True_
    >>> logsumexp(np.array([1000.0, 1000.0]), weights=np.array([0.5, 0.5]))
    np.float64(1000.0)
    """
    weighted = None if weights is None else _Weighted(x, weights, axis)
    if weighted is None:
        (x,) = floats(x)
        m, top, rest = _sum_at_max(x, axis)
    else:
        m = _finite(weighted.m)
        d = weighted.x - m
        at_top = d == 0
        rest = weighted.terms(d)
        top = np.sum(rest, axis=axis, keepdims=True, where=at_top)
        rest[at_top] = 0
        rest = reduced(np.add, rest, axis)
        m = m + weighted.exponent.astype(m.dtype) * 0.6931471805599453
    total = m + log_of_total(top, rest)
    if weighted is not None:
        total = _near_one(total, weighted.x, weighted.w, axis)
    return total if keepdims else np.squeeze(total, axis)[()]


def _near_one(total: Any, x: Any, w: Any, axis: Axis) -> Any:
    """log Σ w·eˣ = log(1 + Σ w·(eˣ − 1) + (Σ w − 1)) where all x are small, and weights nearly sum to one."""
    small = np.where(w == 0, 0, x)
    near = reduced(np.maximum, np.abs(small), axis, initial=0) <= 1
    if not np.any(near):
        return total
    excess = sum_minus(np.broadcast_to(w, x.shape), 1, axis)
    near &= np.abs(excess) <= 0.5
    rest = np.sum(w * np.expm1(np.where(near, small, 0)), axis=axis, keepdims=True)
    return np.where(near, np.log1p(rest + excess), total)


@kernel
def logmeanexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The log of the mean of eˣ over axes; m + log(1 + mean(eᵈ − 1 − d)), d = x − m, about the mean m where x is small.

    >>> abs(logmeanexp(np.array([1e-20, 3e-20])) - 2e-20) < 1e-35, logmeanexp(np.array([-1e-9, 1e-9]))
    (np.True_, np.float64(5e-19))
    """
    (x,) = floats(x)
    total = logsumexp(x, axis, keepdims=True)
    count = x.size // max(total.size, 1)
    near = np.max(np.abs(x), axis=axis, keepdims=True, initial=0) <= 1
    mean = np.mean(np.where(near, x, 0), axis=axis, keepdims=True)
    d = np.where(near, x - mean, 0)
    about = mean + np.log1p(np.mean(d * d * np.exp(d) * exprel_n(-d, 1), axis=axis, keepdims=True))
    total = np.where(near, about, total - x.dtype.type(np.log(max(count, 1))))
    return total if keepdims else np.squeeze(total, axis)[()]


def _of_rows(function: Callable[[Any, Axis], Any], x: Any, axis: Axis) -> Any:
    """f(x, axis), of rows in blocks where these are along the last axis."""
    (x,) = floats(x)
    return in_blocks(lambda x: function(x, axis), (x,), by_rows=True) if axis == -1 else function(x, axis)


def _difference(x: Any, m: Any, axis: Axis) -> tuple[Any, Any]:
    """x, m → d, e with d + e = x − m for a maximum m; a lone +inf is at 0, several are at NaN.

    Source: D. E. Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B (the error of a sum).
    """
    d = np.asarray(x - m)
    back = np.asarray(d - x)
    error = np.asarray(d - back)
    np.subtract(x, error, out=error)
    back += m
    error -= back
    if not np.isfinite(np.sum(error)):  # overflow, infinities, NaN: there is no error to speak of
        error = np.where(np.isfinite(error), error, 0)
        lone = np.sum(x == np.inf, axis=axis, keepdims=True) == 1
        d = np.where((m == np.inf) & (x == m) & lone, 0, d)
    return d, error


@kernel
def softmax(x: Any, axis: Axis = -1, weights: Any = None) -> Any:
    """w·eˣ / Σ w·eˣ; every entry, however small, within 8 ulp for short rows.

    A row whose maximum is −inf is NaN; a single +inf takes all. The default axis is the last (SciPy's is
    None).

    >>> softmax(np.array([0.0, -800.0, 800.0]))
    array([0., 0., 1.])
    """
    if weights is None:
        return _of_rows(_softmax, x, axis)
    weighted = _Weighted(x, weights, axis)
    d, error = _difference(weighted.x, weighted.m, axis)
    return _shares(np.asarray(weighted.terms(d)), error, axis)


def _softmax(x: Any, axis: Axis) -> Any:
    """x → e^(x − m)/Σ e^(x − m), m = max x"""
    d, error = _difference(x, _max(x, axis), axis)
    return _shares(np.exp(d, out=d), error, axis)


def _shares(e: Any, error: Any, axis: Axis) -> Any:
    """eᵈ, δ → eᵈ⁺ᵟ/Σ eᵈ⁺ᵟ"""
    error *= e
    e += error
    e /= reduced(np.add, e, axis)
    return e[()]


@overridable
def gibbs(a: Any, x: Any, axis: Axis = -1, power: float = 1, weights: Any = None) -> Any:
    """(eᵃ / Σ w·eˣ)^power, where the sum stays with extent 1 and a broadcasts against it; within 8 ulp.

    a need not be among the x; neither power nor quotient is lost where eᵃ, the sum or their quotient overflows
    or underflows. It tells callers if the quotient overflows, and if one of two exponentials, eᵃ/eˣ, underflows, as
    np.exp(a − x) would: small shares are ordinary.

    >>> gibbs(np.array(800.0), np.array([801.0, 801.0]), weights=0.5)
    array([0.36787944])
    >>> gibbs(np.array([-1000.0]), np.array([0.0]), power=0.5) == np.exp(-500.0)
    array([ True])
    """
    with np.errstate(all="ignore"):
        result = _gibbs(a, x, axis, power, weights)
    with np.errstate(under=None if axis == () else "ignore"):
        summed = np.broadcast_arrays(x, 1.0 if weights is None else weights)[0]
        tell_range(result, lambda: np.isfinite(a) & np.isfinite(_max(summed, axis)))
    return result


def _gibbs(a: Any, x: Any, axis: Axis, power: float, weights: Any) -> Any:
    """(eᵃ/e^max x)^p·(Σ w·e^(x − max x))^−p, each to the last digits."""
    if weights is None:
        a, x = floats(a, x)
        m = _max(x, axis)
        e, error = _difference(x, m, axis)
        e = np.asarray(np.exp(e))
        error *= e
        e += error
        exponent = 0
    else:
        a, x, weights = floats(a, x, weights)
        weighted = _Weighted(x, weights, axis)
        m, exponent = weighted.m, weighted.exponent
        e, error = _difference(weighted.x, m, axis)
        e = np.asarray(weighted.terms(e))
        error *= e
        e += error
    total = reduced(np.add, e, axis)
    if weights is None:  # e^(a − ∞) is 0, whatever is summed
        total = np.where((m == np.inf) & (a < m), 1, total)
    d = np.where(np.isinf(a) & (a == m), np.where(a > 0, 0, np.nan).astype(a.dtype), a - m)
    back = d - a
    error = (a - (d - back)) - (back + m)
    error = np.where(np.isfinite(error), error, 0)
    if power == 1 and weights is None:
        return (np.exp(d) * (1 + error) / total)[()]
    # By halves, so that tiny and huge weights are met before anything overflows or underflows.
    half, rounding = two_product(d, d.dtype.type(power / 2))
    rounding = np.where(np.isfinite(rounding), rounding, 0)
    half = np.exp(half) * (1 + (error * (power / 2) + rounding))
    half *= np.exp2(exponent * (-power / 2))
    return (half * total**-power * half)[()]


@overridable
def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """x − log Σ eˣ = (x − max x) − log(1 + Σ others): two terms of one sign; every entry within 3 ulp.

    >>> log_softmax(np.array([0.0, -50.0]))[0] == -np.exp(-50.0)
    np.True_
    """
    return _of_rows(_log_softmax, x, axis)


def _log_softmax(x: Any, axis: Axis) -> Any:
    """x → (x − m) − log(n + Σ e^(x − m)), m = max x, which n entries are, and the sum is over the others."""
    with np.errstate(all="ignore"):
        d, error = _difference(x, _max(x, axis), axis)
        top = d == 0
        e = np.asarray(np.exp(d))
        error *= e
        e += error
        e[top] = 0
        count = reduced(np.add, top, axis, dtype=x.dtype)
        d -= np.log1p((count - 1) + reduced(np.add, e, axis))
    tell_range(d, lambda: reduced(np.add, np.isfinite(x), axis, dtype=x.dtype) > 1)
    return d[()]
