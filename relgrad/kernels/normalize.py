"""Normalisation in the log domain: logsumexp, softmax, log_softmax, and the linear maps of their derivatives.

Source: P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and softmax
functions", IMA Journal of Numerical Analysis 41(4), 2021, algorithm 3.1 and section 5. Changed from the
source: several axes, linear weights, ties counted instead of broken, and the rounding error of x − max
carried along in softmax.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, kernel

Axis = int | tuple[int, ...] | None


def _finite(m: Any) -> Any:
    """Return a shift: infinite and NaN maxima shift nothing."""
    return np.where(np.isfinite(m), m, 0)


def _max(x: Any, axis: Axis) -> Any:
    return np.max(x, axis=axis, keepdims=True, initial=-np.inf)


def _log_of_total(first: Any, rest: Any) -> Any:
    """log(first + rest), where near 1 the distance from 1 is not rounded away."""
    above = (first - 1) + rest
    return np.where(np.abs(above) < 0.5, np.log1p(above), np.log(first + rest))


def _sum_at_max(x: Any, axis: Axis) -> tuple[Any, Any, Any]:
    """Return the shift m, how many entries equal it, and Σ e^(x − m) over all others."""
    m = _max(x, axis)
    top = (x == m) & np.isfinite(m)
    m = _finite(m)
    rest = np.sum(np.where(top, 0, np.exp(x - m)), axis=axis, keepdims=True)
    return m, np.sum(top, axis=axis, keepdims=True, dtype=x.dtype), rest


class _Weighted:
    """Weighted exponentials around the entry that weighs most: w·e^(x − m)/2^exponent, in `terms(x − m)`.

    The terms are formed by two half powers, so that tiny and huge weights neither overflow nor underflow on
    the way.
    """

    def __init__(self, x: Any, weights: Any, axis: Axis):
        x, w = np.broadcast_arrays(*floats(x, weights))
        x = np.where(w == 0, -np.inf, x)
        size = np.where(w == 0, -np.inf, x + np.log(np.abs(w)))
        largest = size == _max(size, axis)
        self.m = _max(np.where(largest, x, -np.inf), axis)
        exponent = np.frexp(_max(np.where(largest, np.abs(w), 0), axis))[1]
        self.exponent = np.where(np.abs(exponent) > 20, exponent, 0)
        self.top = (x == self.m) & np.isfinite(self.m)
        self.x, self.w = x, w

    def terms(self, d: Any) -> Any:
        half = np.exp(d / 2)
        return (self.w * half) * np.ldexp(half, -self.exponent)


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
    if weights is None:
        (x,) = floats(x)
        m, top, rest = _sum_at_max(x, axis)
    else:
        weighted = _Weighted(x, weights, axis)
        m = _finite(weighted.m)
        terms = weighted.terms(weighted.x - m)
        top = np.sum(np.where(weighted.top, terms, 0), axis=axis, keepdims=True)
        rest = np.sum(np.where(weighted.top, 0, terms), axis=axis, keepdims=True)
        m = m + weighted.exponent.astype(m.dtype) * 0.6931471805599453
    total = m + _log_of_total(top, rest)
    return total if keepdims else np.squeeze(total, axis)[()]


def _difference(x: Any, m: Any, axis: Axis) -> tuple[Any, Any]:
    """Return x − m and its rounding error, for a maximum m; a lone +inf is at 0, several are at NaN.

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
        (x,) = floats(x)
        d, error = _difference(x, _max(x, axis), axis)
        e = np.exp(d, out=d)
    else:
        weighted = _Weighted(x, weights, axis)
        d, error = _difference(weighted.x, weighted.m, axis)
        e = np.asarray(weighted.terms(d))
    error *= e
    e += error
    e /= np.sum(e, axis=axis, keepdims=True)
    return e[()]


def _product(x: Any, y: float) -> tuple[Any, Any]:
    """Return x·y and its rounding error. Source: T. J. Dekker, Numerische Mathematik 18, 1971, section 5."""
    product = x * y
    bits = 2.0 ** (np.finfo(x.dtype).nmant // 2 + 1) + 1
    high = x * bits - (x * bits - x)
    first = type(x.dtype.type(0))(y) * bits
    first = first - (first - y)
    error = ((high * first - product) + high * (y - first) + (x - high) * first) + (x - high) * (y - first)
    return product, np.where(np.isfinite(error), error, 0)


@kernel
def gibbs(a: Any, x: Any, axis: Axis = -1, power: float = 1, weights: Any = None) -> Any:
    """(eᵃ / Σ w·eˣ)^power, where the sum stays with extent 1 and a broadcasts against it; within 8 ulp.

    a need not be among the x; neither power nor quotient is lost where eᵃ, the sum or their quotient overflows
    or underflows.

    >>> gibbs(np.array(800.0), np.array([801.0, 801.0]), weights=0.5)
    array([0.36787944])
    >>> gibbs(np.array([-1000.0]), np.array([0.0]), power=0.5) == np.exp(-500.0)
    array([ True])
    """
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
    total = np.sum(e, axis=axis, keepdims=True)
    d = np.where(np.isinf(a) & (a == m), np.where(a > 0, 0, np.nan).astype(a.dtype), a - m)
    back = d - a
    error = (a - (d - back)) - (back + m)
    error = np.where(np.isfinite(error), error, 0)
    if power == 1 and weights is None:
        return (np.exp(d) * (1 + error) / total)[()]
    # By halves, so that tiny and huge weights are met before anything overflows or underflows.
    half, rounding = _product(d, power / 2)
    half = np.exp(half) * (1 + (error * (power / 2) + rounding))
    half *= np.exp2(exponent * (-power / 2))
    return (half * total**-power * half)[()]


@kernel
def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """x − log Σ eˣ = (x − max x) − log(1 + Σ others): two terms of one sign; every entry within 3 ulp.

    >>> log_softmax(np.array([0.0, -50.0]))[0] == -np.exp(-50.0)
    np.True_
    """
    (x,) = floats(x)
    d, error = _difference(x, _max(x, axis), axis)
    top = d == 0
    e = np.asarray(np.exp(d))
    error *= e
    e += error
    e[top] = 0
    count = np.sum(top, axis=axis, keepdims=True, dtype=x.dtype)
    d -= np.log1p((count - 1) + np.sum(e, axis=axis, keepdims=True))
    return d[()]


class _Rows:
    """Arrays with their reduced axes joined into a last one, and the way back."""

    def __init__(self, axis: Axis, *arrays: Any):
        arrays = tuple(np.broadcast_arrays(*floats(*arrays)))
        ndim = arrays[0].ndim
        axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        self.axes = sorted(a % ndim for a in axes)
        self.order = [a for a in range(ndim) if a not in self.axes] + self.axes
        self.plain = self.order == list(range(ndim)) and len(self.axes) == 1
        moved = [a if self.plain else a.transpose(self.order) for a in arrays]
        self.shape = moved[0].shape
        kept = self.shape[: ndim - len(self.axes)]
        length = int(np.prod(self.shape[ndim - len(self.axes) :]))
        self.arrays = moved if self.plain else [a.reshape((*kept, length)) for a in moved]

    def heaviest(self, p: Any) -> Any:
        """Return the place of the largest |p| in each row."""
        return np.argmax(np.abs(p), axis=-1, keepdims=True)

    def back(self, x: Any) -> Any:
        return x if self.plain else x.reshape(self.shape).transpose(np.argsort(self.order))


def _deviation(g: Any, p: Any, k: Any) -> Any:
    g = g - np.take_along_axis(g, k, -1)
    return g - np.sum(p * g, axis=-1, keepdims=True) / np.sum(p, axis=-1, keepdims=True)


@kernel
def deviation(g: Any, p: Any, axis: Axis = -1) -> Any:
    """g − Σpg/Σp: the distance of g from its mean under the weights p.

    Computed with g measured from its value at the heaviest entry, so that there the others' share is all that
    is left, and a common offset of g is gone before it can round.
    """
    rows = _Rows(axis, g, p)
    g, p = rows.arrays
    return rows.back(_deviation(g, p, rows.heaviest(p)) if p.size else g.copy())


@kernel
def softmax_pullback(g: Any, p: Any, axis: Axis = -1) -> Any:
    """p·(g − Σpg/Σp): what softmax with the result p makes of a cotangent, or tangent, g.

    >>> p = np.array([1.0, 1e-20])
    >>> softmax_pullback(np.array([1.0, 0.0]), p)
    array([ 1.e-20, -1.e-20])
    """
    rows = _Rows(axis, g, p)
    g, p = rows.arrays
    return rows.back(p * _deviation(g, p, rows.heaviest(p)) if p.size else g.copy())


@kernel
def log_softmax_pullback(g: Any, p: Any, axis: Axis = -1) -> Any:
    """g − p·Σg/Σp: what log_softmax makes of a cotangent g, where p is the softmax.

    At the heaviest entry k it is (gₖ·Σ' p − pₖ·Σ' g)/Σp, where Σ' leaves k out: 1 − pₖ is never formed.

    >>> log_softmax_pullback(np.array([1.0, 0.0]), np.array([1.0, 1e-20]))
    array([ 1.e-20, -1.e-20])
    """
    rows = _Rows(axis, g, p)
    g, p = rows.arrays
    if not p.size:
        return rows.back(g.copy())
    k = rows.heaviest(p)
    gk, pk = np.take_along_axis(g, k, -1), np.take_along_axis(p, k, -1)
    g_rest, p_rest = np.array(g), np.array(p)
    np.put_along_axis(g_rest, k, 0, -1)
    np.put_along_axis(p_rest, k, 0, -1)
    g_sum, p_sum = (np.sum(a, axis=-1, keepdims=True) for a in (g_rest, p_rest))
    total = p_sum + pk
    result = g - p * ((g_sum + gk) / total)
    np.put_along_axis(result, k, (gk * p_sum - pk * g_sum) / total, -1)
    return rows.back(result)


@kernel
def complement(p: Any, axis: Axis = -1) -> Any:
    """1 − p/Σp: for each entry the share of all others; at the heaviest, their sum, where 1 − p would cancel.

    >>> complement(np.array([1.0, 1e-20, 0.0]))
    array([1.e-20, 1.e+00, 1.e+00])
    """
    rows = _Rows(axis, p)
    (p,) = rows.arrays
    if not p.size:
        return rows.back(p.copy())
    k = rows.heaviest(p)
    rest = np.array(p)
    np.put_along_axis(rest, k, 0, -1)
    others = np.sum(rest, axis=-1, keepdims=True)
    total = others + np.take_along_axis(p, k, -1)
    result = 1 - p / total
    np.put_along_axis(result, k, others / total, -1)
    return rows.back(result)
