"""Kernels that are functions of single entries, and shares of a whole, in extended range, known by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from relgrad.kernels import formulas
from relgrad.kernels.extended.entries import (
    aligned,
    exp,
    multiply,
    pick,
    scaled,
    unless_normal,
)
from relgrad.kernels.extended.number import NAMED, NOTHING, Extended
from relgrad.kernels.normalize import gibbs, log_of_total
from relgrad.kernels.numbers import alike, lowered, of_floats


def in_floats_first(
    plain: Callable[..., Any], wide: Callable[..., Extended], operands: Sequence[Any]
) -> Extended:
    """y, m·2^e → y where the float is far from underflow and overflow, else m·2^e, made only where needed.

    That is needed where operands are no floats: 1e-322·1e+300 has the four digits of 1e-322.
    """
    if any(isinstance(x, Extended) and x.outside.any() for x in operands):
        return wide(*operands)
    y = np.asarray(plain(*map(lowered, operands)))
    info = np.finfo(y.dtype)
    tame = np.isfinite(y) & (np.abs(y) > info.tiny / info.eps)
    return Extended.of(y) if tame.all() else pick(tame, Extended.of(y), wide(*operands))


def or_extended(formula: Any) -> Any:
    """f, formula → f of floats, and the formula where these are no help."""

    def make(function: Any) -> Any:
        """f, formula → the rule that takes f of floats, and the formula where these are no help."""

        def rule(*args: Any, **kwargs: Any) -> Extended:
            return in_floats_first(partial(function, **kwargs), partial(formula, **kwargs), args)

        return rule

    return make


def _far_terms(x: Any, weights: Any, axis: Any) -> tuple[Any, Extended] | None:
    """m = x where |w|·eˣ is largest over axes, and w·e^(x − m), where weights are out of the range of floats."""
    w = Extended.of(weights)
    if not w.outside.any():
        return None
    height = np.where(w.m == 0, -np.inf, x + Extended.of(np.log(np.abs(w))).floats())
    top = height == np.max(height, axis=axis, keepdims=True, initial=-np.inf)
    largest = np.max(np.where(top, x, -np.inf), axis=axis, keepdims=True, initial=-np.inf)
    largest = np.where(np.isfinite(largest), largest, 0)
    return largest, multiply(w, exp(Extended.of(x - largest)))


def _gibbs(function: Any) -> Any:
    """(eᵃ/Σ w·eˣ)^p = e^(p·(a − max x))·(e^(max x)/Σ w·eˣ)^p, where floats have lost it."""

    def rule(a: Any, x: Any, axis: Any = -1, power: float = 1, weights: Any = None) -> Extended:
        """e^(p·(a − max x))·(e^(max x)/Σ w·eˣ)^p, the first factor in extended range where it is no normal float."""
        a, x = lowered(a), lowered(x)
        if weights is not None and (found := _far_terms(x, weights, axis)):
            largest, terms = found
            total = np.sum(terms, axis=axis, keepdims=True)
            return multiply(exp(Extended.of(power * (a - largest))), total**-power)
        weights = None if weights is None else lowered(weights)
        plain = np.asarray(function(a, x, axis=axis, power=power, weights=weights))
        largest = np.max(x, axis=axis, keepdims=True)
        if weights is not None:  # what does not count may be far above all that does
            counted = np.max(np.where(weights == 0, -np.inf, x), axis=axis, keepdims=True)
            largest = np.where(counted == -np.inf, largest, counted)
        share = Extended.of(np.asarray(function(largest, x, axis=axis, power=power, weights=weights)))
        far = multiply(exp(Extended.of(np.asarray(power * (a - largest), plain.dtype))), share)
        return unless_normal(plain, far)

    return rule


def _logsumexp(function: Any) -> Any:
    """log Σ w·eˣ = m + log Σ w·e^(x − m), where weights are no floats: log(1 + 1e-400·e³⁰⁰) = 1e-400·e³⁰⁰."""

    def rule(x: Any, axis: Any = None, keepdims: bool = False, weights: Any = None) -> Any:
        x = lowered(x)
        if weights is not None and (found := _far_terms(x, weights, axis)):
            largest, terms = found
            parts = [
                np.sum(np.where(at, terms, 0.0), axis, keepdims=True) for at in (x == largest, x != largest)
            ]
            result = Extended.of(largest) + log_of_total(*parts)
        else:
            weights = None if weights is None else lowered(weights)
            result = Extended.of(function(x, axis=axis, keepdims=True, weights=weights))
        return result if keepdims else np.squeeze(result, axis)

    return rule


def _softmax(function: Any) -> Any:
    """w·eˣ/Σ w·eˣ = w·gibbs(x, x), where small shares are formed in extended range."""

    def rule(x: Any, axis: Any = -1, weights: Any = None) -> Extended:
        shares = _gibbs(gibbs)(x, x, axis=axis, weights=weights)
        return shares if weights is None else multiply(shares, Extended.of(weights))

    return rule


def _log_softmax(function: Any) -> Any:
    """log softmax(x) = x − m − log(1 + Σ' e^(x − m)), m the largest x, which Σ' leaves out: floats lose e⁻⁹⁰⁰."""

    def rule(x: Any, axis: Any = -1) -> Extended:
        x = lowered(x)
        d = x - np.max(x, axis=axis, keepdims=True)
        rest = np.sum(np.where(d == 0, 0.0, exp(Extended.of(d))), axis=axis, keepdims=True)
        return unless_normal(function(x, axis=axis), Extended.of(d) - np.log1p(rest))

    return rule


_ORDINARY = 2.0**-400, 2.0**400
"""Floats between these have squares, and sums of them, in range."""


def _at_one_scale(arrays: Sequence[Extended], axis: Any) -> list[Any]:
    """(x, y) → (x/2ᵏ, y/2ᵏ) as floats of one rank, k the largest exponent of each slice, or 0 if that is ordinary."""
    rank = max(x.ndim for x in arrays)
    arrays = [x.reshape((1,) * (rank - x.ndim) + x.shape) for x in arrays]
    floats, (low, high) = [x.floats() for x in arrays], _ORDINARY
    sizes = [np.max(np.abs(x), axis=axis, initial=0) for x in floats]
    if all(np.all((size > low) & (size < high)) for size in sizes):
        return floats
    most = [np.max(x.e, axis=axis, keepdims=True, initial=NOTHING) for x in arrays]
    return [scaled(x, reduce(np.maximum, most)) for x in arrays]


def _far_below(function: Any) -> Any:
    """cancels(t, a) = cancels(t/2ᵏ, a/2ᵏ): a test of sums far below their parts, at one exponent, or one a slice."""

    def rule(result: Any, *parts: Any, axis: Any = None, **how: Any) -> Any:
        products = [x if isinstance(x, tuple) else (x, 1.0) for x in (result, *parts)]
        values = [Extended.of(x) * Extended.of(factor) for x, factor in products]
        if axis is not None:
            return function(*_at_one_scale(values, axis), axis=axis, **how)
        in_range = not any(x.form[1].size for x in values)
        return function(*[x.floats() for x in values] if in_range else aligned(*values)[0], **how)

    return rule


def _sum_cancels(function: Any) -> Any:
    """sum_cancels(s, x) = sum_cancels(s/2ᵏ, x/2ᵏ), k = max e for each sum."""

    def rule(total: Any, x: Any, axis: Any = None, **how: Any) -> Any:
        total, x = Extended.of(total), Extended.of(x)
        low, high = _ORDINARY
        sizes = np.max(np.abs(x.floats()), axis=axis, initial=0)
        if np.all((sizes > low) & (sizes < high)):
            return function(total.floats(), x.floats(), axis, **how)
        most = np.max(x.e, axis=axis, keepdims=True, initial=NOTHING)
        sums = scaled(total, most if total.ndim == x.ndim else np.squeeze(most, axis))
        return function(sums, scaled(x, most), axis, **how)

    return rule


def _mixture_cancels(function: Any) -> Any:
    """mixture_cancels(x, w) = mixture_cancels(0, w·eˣ/2ᵏ), k the largest exponent, where weights are no floats."""

    def rule(x: Any, weights: Any, axis: Any = None, **how: Any) -> Any:
        x = lowered(x)
        if (found := _far_terms(x, weights, axis)) is None:
            return function(x, lowered(weights), axis, **how)
        terms = scaled(found[1], np.max(found[1].e, axis=axis, keepdims=True, initial=NOTHING))
        return function(np.zeros(terms.shape), terms, axis, **how)

    return rule


_OUT = 1100
"""Exponents of this size are out of the range of floats."""


def _exponents_cancel(function: Any) -> Any:
    """|log₂ f| > 2·|log₂ t|, f out of the range of floats: where a product t has lost the digits of its exponents."""

    def rule(product: Any, *factors: Any, **_: Any) -> Any:
        product = Extended.of(product)
        far = reduce(np.maximum, [np.abs(x.e) * (x.m != 0) for x in map(Extended.of, factors)])
        return (far > _OUT) & (far > 2 * np.abs(product.e)) & (product.m != 0)

    return rule


NAMED["exponents_cancel_at"] = _exponents_cancel
NAMED["exponents_cancel"] = lambda function: (
    lambda *args, **how: np.any(_exponents_cancel(function)(*args, **how))
)
NAMED["mixture_cancels"] = _mixture_cancels
NAMED["cancels"] = NAMED["cancels_at"] = _far_below
NAMED["turns"] = NAMED["turns_at"] = of_floats
NAMED["sum_cancels"] = _sum_cancels
NAMED["gibbs"], NAMED["softmax"], NAMED["logsumexp"] = _gibbs, _softmax, _logsumexp
NAMED["log_softmax"] = _log_softmax
for _formula in (
    formulas.expit,
    formulas.softplus,
    formulas.log_expit,
    formulas.log1mexp,
    formulas.logdiffexp,
):
    NAMED[_formula.__name__] = or_extended(lambda *args, f=_formula: f(*alike(*args)))
NAMED["log1pexp"] = NAMED["softplus"]
