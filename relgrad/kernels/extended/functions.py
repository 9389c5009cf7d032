"""Kernels that are functions of single entries, and shares of a whole, in extended range, known by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.kernels.extended.entries import (
    LN2,
    add,
    aligned,
    divide,
    exp,
    expm1,
    hypot,
    log,
    log1p,
    multiply,
    pick,
    scaled,
    subtract,
    unless_normal,
)
from relgrad.kernels.extended.number import NAMED, NOTHING, Extended
from relgrad.kernels.normalize import gibbs
from relgrad.kernels.numbers import lowered


def elementwise(function: Any, otherwise: Callable[..., Extended]) -> Any:
    """Return the rule of a function of single entries: what it is of floats, or a formula where those are no help."""

    def rule(*args: Any) -> Extended:
        x = [Extended.of(a) for a in args]
        plain = np.asarray(function(*map(lowered, x)))
        tame = np.isfinite(plain) & (np.abs(plain) >= np.finfo(plain.dtype).tiny)
        tame &= ~np.any(np.broadcast_arrays(*[a.outside for a in x]), axis=0)
        return pick(tame, Extended.of(plain), otherwise(*x))

    return rule


def _one(x: Extended) -> Extended:
    return Extended.of(np.ones_like(x.m))


def _expit(x: Extended) -> Extended:
    e = exp(x)
    return divide(e, add(_one(x), e))


def _softplus(x: Extended) -> Extended:
    return pick((x.m > 0) & (x.e > 10), x, log1p(exp(x)))


def _hypot_excess(x: Extended, y: Extended) -> Extended:
    """Return √(x² + y²) − y = x²/(√(x² + y²) + y) where y > 0."""
    h = hypot(x, y)
    return pick(y.m > 0, multiply(x, divide(x, add(h, y))), subtract(h, y))


def _log_quotient(function: Any) -> Any:
    """Return the rule of log x - log y, where the distance is known too."""

    def otherwise(x: Extended, y: Extended, d: Extended) -> Extended:
        (a, b, c), _ = aligned(x, y, d)
        apart = np.abs(x.e - y.e) >= 500
        sign = np.where(y.m < 0, -1.0, 1.0).astype(y.dtype) if function.__name__ == "log_quotient" else 1.0
        far = subtract(log(Extended(sign * x.m, x.e)), log(Extended(sign * y.m, y.e)))
        return pick(apart, far, Extended.of(function(a, b, c)))

    return elementwise(function, otherwise)


def _in_range(weights: Any, axis: Any) -> tuple[Any, Any]:
    """Return weights/2^k as floats, and the whole numbers k, with which the largest along axes is none too large."""
    if weights is None:
        return None, np.zeros((), np.int64)
    w = Extended.of(weights)
    if not w.outside.any():
        return w.floats(), np.zeros((), np.int64)
    most = np.max(w.e, axis=axis, keepdims=True, initial=NOTHING)
    scale = np.where(most > NOTHING, most, 0)
    return scaled(w, scale), scale


def _gibbs(function: Any) -> Any:
    """Return the rule of (eᵃ/Σ w·eˣ)^power: what it is of floats, or the exponential formed in extended range."""

    def rule(a: Any, x: Any, axis: Any = -1, power: float = 1, weights: Any = None) -> Extended:
        a, x = lowered(a), lowered(x)
        weights, scale = _in_range(weights, axis)
        plain = np.asarray(function(a, x, axis=axis, power=power, weights=weights))
        largest = np.max(x, axis=axis, keepdims=True)
        share = Extended.of(np.asarray(function(largest, x, axis=axis, power=power, weights=weights)))
        far = multiply(exp(Extended.of(np.asarray(power * (a - largest), plain.dtype))), share)
        shift = -power * scale
        whole = np.floor(shift)
        unit = Extended(np.exp2(shift - whole).astype(plain.dtype), whole)
        return multiply(unless_normal(plain, far), unit)

    return rule


def _logsumexp(function: Any) -> Any:
    """Return the rule of log Σ w·eˣ, where weights that are no floats are scaled: log Σ (w/2^k)·eˣ + k·log 2."""

    def rule(x: Any, axis: Any = None, keepdims: bool = False, weights: Any = None) -> Any:
        weights, scale = _in_range(weights, axis)
        result = np.asarray(function(lowered(x), axis=axis, keepdims=True, weights=weights))
        result = result + (scale * LN2).astype(result.dtype) if np.any(scale) else result
        return Extended.of(result if keepdims else np.squeeze(result, axis))

    return rule


def _softmax(function: Any) -> Any:
    """Return the rule of eˣ/Σ w·eˣ, where small shares are formed in extended range."""

    def rule(x: Any, axis: Any = -1, weights: Any = None) -> Extended:
        shares = _gibbs(gibbs)(x, x, axis=axis, weights=weights)
        return shares if weights is None else multiply(shares, Extended.of(weights))

    return rule


def _xlog_ratio(x: Extended, y: Extended) -> Extended:
    ratio = divide(x, y)
    return pick(x.m == 0, Extended.of(np.zeros_like(ratio.m)), multiply(x, log(ratio)))


def _far_below(function: Any) -> Any:
    """Return the rule of a test whether sums are far below their parts: at one exponent for each, or for all."""

    def rule(result: Any, *parts: Any, axis: Any = None, chances: float = 1) -> Any:
        products = [x if isinstance(x, tuple) else (x, 1.0) for x in (result, *parts)]
        values = [multiply(Extended.of(x), Extended.of(factor)) for x, factor in products]
        floats, most = aligned(*values)
        if axis is None:
            return function(*floats, chances=chances)
        most = np.max(most, axis=axis, keepdims=True)
        return function(*[scaled(x, most) for x in values], axis=axis, chances=chances)

    return rule


def _sum_cancels(function: Any) -> Any:
    """Return the rule of a test whether sums along axes cancel: at one exponent for each of them."""

    def rule(total: Any, x: Any, axis: Any = None, chances: float = 1) -> Any:
        total, x = Extended.of(total), Extended.of(x)
        most = np.max(x.e, axis=axis, keepdims=True, initial=NOTHING)
        sums = scaled(total, most if total.ndim == x.ndim else np.squeeze(most, axis))
        return function(sums, scaled(x, most), axis, chances)

    return rule


NAMED["cancels"] = NAMED["cancels_at"] = _far_below
NAMED["sum_cancels"] = _sum_cancels
NAMED["gibbs"], NAMED["softmax"], NAMED["logsumexp"] = _gibbs, _softmax, _logsumexp
NAMED["expit"] = lambda function: elementwise(function, _expit)
NAMED["softplus"] = NAMED["log1pexp"] = lambda function: elementwise(function, _softplus)
NAMED["bose"] = lambda function: elementwise(function, lambda x: divide(_one(x), expm1(x)))
NAMED["hypot_excess"] = lambda function: elementwise(function, _hypot_excess)
NAMED["log_difference"] = NAMED["log_quotient"] = _log_quotient
NAMED["xlog_ratio"] = lambda function: elementwise(function, _xlog_ratio)
