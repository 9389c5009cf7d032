"""Terms that sum to zero, and sums against these, in which only distances from a mean count.

    Σ x·t = Σ (x − c)·t      for every c, where Σ t = 0

The pullbacks of a softmax and of its logarithm sum to zero along its axes, as distances from a mean do. Where x is
large and varies little, the left side cancels; the right side does not if c is near the x that count. Where x is
constant both are zero.
"""

from __future__ import annotations

from typing import Any

from relgrad.logic.build import build_product, build_sum, fit
from relgrad.logic.conditions import Goal, is_constant_along
from relgrad.logic.goals import computedo
from relgrad.logic.group import ProductView, SumView, multiplied
from relgrad.logic.view import product_of, sum_of
from relgrad.op import constant
from relgrad.ops.deviation import Deviation, LogSoftmaxPullback, SoftmaxPullback
from relgrad.ops.moments import Centred
from relgrad.ops.reduction import Sum
from relgrad.term import Term, is_term, kept

Balance = tuple[tuple[Any, ...], tuple[int, ...]]
"""Weights of a mean, if it has any, and the axes along which it is taken."""
_BALANCED = Centred, LogSoftmaxPullback, SoftmaxPullback


def balance_of(t: Any) -> Balance | None:
    """softmax_pullback(g, p) → (p,), axes: the weights and axes along which a term is seen to sum to zero; or None."""
    if not is_term(t):
        return None
    return kept(t, "balance", _balance, lambda x: [b for part in _summands(x) for b in _sums_in(part)])


def _mentions_balance(t: Term) -> bool:
    """Whether anything that sums to zero is below a term."""
    return kept(t, "balance below", _holds_balance)


def _holds_balance(t: Term) -> bool:
    return type(t.op) in _BALANCED or any(x.cache["balance below"] for x in t.rands)


def _summands(t: Term) -> list[Any]:
    return [] if not t.op.as_sum or sum_of(t).constant else list(sum_of(t).terms)


def _sums_in(t: Any) -> list[Term]:
    """List the factors of a summand whose balance may be its own."""
    factors = product_of(t).factors
    return [b for b, e in factors.items() if e == 1 and is_term(b) and (b is not t or not b.op.as_sum)]


def _balance(t: Term) -> Balance | None:
    """t = Σ tᵢ sums to zero along axes where all tᵢ do; distances from a mean and pullbacks of softmax do."""
    if type(t.op) in _BALANCED:
        return t.rands[1:], t.op.axes
    found = [_of_summand(part) for part in _summands(t)]
    first = found[0] if found else None
    same = first is not None and all(b is not None and b[1] == first[1] for b in found)
    return first if same else None


def _of_summand(t: Any) -> Balance | None:
    """c·t sums to zero where t does and c is constant along the axes: the balance of t; else None."""
    factors = product_of(t).factors
    for base in _sums_in(t):
        found = base.cache["balance"]
        if found is not None and all(is_constant_along(b, found[1]) for b in factors if b is not base):
            return found
    return None


def centred(t: Term) -> Any:
    """Σ x·t = Σ (x − mean x)·t where Σ t = 0: a sum against such a factor, with the others from their mean; or None.

    Zero where the others are constant.
    """
    if type(t.op) is not Sum:
        return None
    body = t.rands[0]
    view = product_of(body)
    for base, e in view.factors.items():
        found = balance_of(base) if e == 1 else None
        if found is None or not set(found[1]) <= set(t.op.axes):
            continue
        weights, axes = found
        others = multiplied((view, 1), (ProductView(1, {base: 1}), -1))
        varying = {b: k for b, k in others.factors.items() if not is_constant_along(b, axes)}
        if not varying:
            return fit(constant(0.0, t.type.dtype), t)
        if any(type(b.op) in (Centred, Deviation) and b.op.axes == axes for b in varying):
            continue
        x = build_product(ProductView(1, varying), body.type.dtype)
        if any(x.type.extent(a) == 1 for a in axes):
            continue
        rest = multiplied((others, 1), (ProductView(1, varying), -1))
        mean = Deviation(axes) if weights else Centred(axes)
        distance = ProductView(1, {mean.make_node(x, *weights): 1})
        parts = sum_of(base).terms if base.op.as_sum else {base: 1}
        terms = {
            t.op.make_node(
                fit(build_product(multiplied((_against(p, weights), 1), (distance, 1), (rest, 1))), body)
            ): k
            for p, k in parts.items()
        }
        return build_sum(SumView(0, terms), t.type.dtype)
    return None


def _against(t: Any, weights: tuple[Any, ...]) -> ProductView:
    """g − p·Σg → g, other factors kept: from the mean under p only g counts, since Σ p·(x − mean x) = 0."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e == 1 and type(base.op) is LogSoftmaxPullback and base.rands[1:] == weights:
            return multiplied((view, 1), (ProductView(1, {base: 1}), -1), (product_of(base.rands[0]), 1))
    return view


def centredo(x: Any, y: Any) -> Goal:
    """Construct a goal stating that y is the sum x, with what is summed against a factor of sum zero centred."""
    return computedo(centred, x, y, _mentions_balance)
