"""Checking relations in programs: rows that are right on arrays of one shape, and wrong where matching takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.logic.conditions import finding, number
from relgrad.logic.match import match
from relgrad.logic.unify import reify_term
from relgrad.logic.view import product_of, sum_of
from relgrad.ops import log_prod
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import BroadcastTo
from relgrad.term import is_term
from relgrad.trace.tracer import Tracer

pytest.importorskip("flint")
PROGRAMS = 60
"""So many programs are tried where a row is wrong only now and then."""


def bound(goal: Callable[..., bool]) -> Callable[..., Any]:
    """Make a condition of a predicate on ground terms."""

    def condition(*terms: Any) -> Any:
        def condition_goal(s: Any) -> Iterator[Any]:
            known = [reify_term(getattr(t, "term", t), s) for t in terms]
            if all(is_term(t) and t.ground for t in known) and goal(*known):
                yield s

        return condition_goal

    return condition


def found_by(make: Callable[[Any], Any]) -> Callable[..., Any]:
    """Make a goal of a function that finds a term for a term, or None."""

    def goal(x: Any, y: Any) -> Any:
        def finding_goal(s: Any) -> Iterator[Any]:
            u, v = (reify_term(getattr(t, "term", t), s) for t in (x, y))
            if is_term(u) and u.ground and (found := make(u)) is not None:
                yield from match(v, getattr(found, "term", found), s)

        return finding(finding_goal, x, y)

    return goal


# Wrong counts and shapes.


def wrong_count(x, y, axis):
    return (
        np.sum(np.exp(x) + y, axis=axis, keepdims=True),
        np.sum(np.exp(x), axis=axis, keepdims=True) + y,
        rg.constant_along(y, axis),
    )


def lost_axis(x, axis, its_axis):
    inner = np.sum(np.exp(x), axis=axis, keepdims=True)
    return np.log(np.sum(inner, axis=its_axis, keepdims=True)), np.log(
        np.sum(np.exp(x), axis=its_axis, keepdims=True)
    )


def wrong_where_an_extent_is_one(x):
    return np.exp(x) * np.cosh(x), np.exp(x), bound(lambda x: 1 in x.type.shape)(x)


def wrong_where_variables_are_one(x, y):
    return np.exp(x) * np.cosh(y), np.exp(2 * x), bound(lambda x, y: x is y)(x, y)


def wrong_under_broadcasting(x, y):
    return np.exp(x) + np.cosh(y), np.exp(x), bound(lambda x, y: x.type.shape != y.type.shape)(x, y)


def wrong_in_a_larger_product(x, w):
    several = bound(lambda w: len(product_of(w).factors) > 1)
    return w * np.sinh(x), np.sinh(x), several(w)


def wrong_for_sums(x):
    return np.exp(x), np.cosh(x), bound(lambda x: len(sum_of(x).terms) > 1)(x)


def wrong_for_numbers(x):
    return np.exp(x), np.cosh(x), number(x)


# Goals that find the right side, with the faults that log domains tend to have.


def with_axes_united(t: Any) -> Any:
    """log Σₐ (p + Σᵦ q) as log Σₐᵦ (p + q), where p is counted too often."""
    if type(t.op) is not Sum:
        return None
    parts = sum_of(t.rands[0]).terms
    inner = [p for p in parts if is_term(p) and type(p.op) is Sum]
    if len(inner) != 1 or len(parts) != 2:
        return None
    (other,) = [p for p in parts if p is not inner[0]]
    axes = tuple(sorted({*t.op.axes, *inner[0].op.axes}))
    return np.log(np.sum(Tracer(other) + Tracer(inner[0].rands[0]), axis=axes, keepdims=True))


def of_its_own_shape(t: Any) -> Any:
    """log of a product of exponentials as the sum of exponents, which may be smaller than the product."""
    factors = product_of(t).factors
    if not factors or not all(is_term(b) and b.op is exp for b in factors):
        return None
    return sum((float(e) * Tracer(b.rands[0]) for b, e in list(factors.items())[1:]), _first(factors))


def _first(factors: Any) -> Any:
    (b, e), *_ = factors.items()
    inside = b.rands[0]
    while type(inside.op) is BroadcastTo:
        inside = inside.rands[0]
    return float(e) * Tracer(inside)


def share_of_the_whole(t: Any) -> Any:
    """x/(Σ x + c) as S/(S + c): the numerator taken to be the whole sum."""
    below = [b for b, e in product_of(t).factors.items() if e == -1 and is_term(b)]
    if len(below) != 1 or not sum_of(below[0]).constant:
        return None
    sums = [p for p in sum_of(below[0]).terms if is_term(p) and type(p.op) is Sum]
    if not sums or sums[0].rands[0] not in product_of(t).factors:
        return None
    return Tracer(sums[0]) / Tracer(below[0]) + 0 * Tracer(t)


def axes_united(x, y):
    return np.log(x), y, found_by(with_axes_united)(x, y)


def product_of_what_is_smaller(x, y, axis):
    return (
        log_prod(x, axis=axis, keepdims=True),
        np.sum(y, axis=axis, keepdims=True),
        found_by(of_its_own_shape)(x, y),
    )


def numerator_taken_for_the_whole(x, y, z):
    return x / y, z, found_by(share_of_the_whole)(x / y, z)


WRONG = [
    wrong_count,
    lost_axis,
    wrong_where_an_extent_is_one,
    wrong_where_variables_are_one,
    wrong_under_broadcasting,
    wrong_in_a_larger_product,
    wrong_for_sums,
    wrong_for_numbers,
    axes_united,
    product_of_what_is_smaller,
    numerator_taken_for_the_whole,
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("function", WRONG)
def test_what_is_wrong_only_in_some_programs_is_caught(function, seed):
    found = rg.check(rg.relation(function), samples=12, seed=seed, subjects=PROGRAMS)
    assert found.verdict == "false", found
    assert found.witness is not None
    assert found.witness.why in str(found)
