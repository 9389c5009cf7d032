"""Where the entries of a term lie, and the side conditions that follow: goals over declared ranges and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from relgrad.logic.unify import State, reify_term
from relgrad.op import Constant
from relgrad.term import Term, is_term
from relgrad.types import REAL, ArrayType, Interval

Goal = Callable[[State], Iterator[State]]


def range_of(t: Any) -> Interval:
    """Return the range of a term, from the ranges that its ops declare; computed once per term, bottom-up."""
    if not is_term(t) or not t.ground:
        return REAL
    stack = [t]
    while stack:
        node = stack[-1]
        if "range" in node.cache:
            stack.pop()
            continue
        missing = [rand for rand in node.rands if "range" not in rand.cache]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        node.cache["range"] = _range(node)
    return t.cache["range"]


def _range(node: Term) -> Interval:
    if type(node.op) is Constant:
        value = node.op.value
        if value.size == 0 or value.dtype.kind == "O" or np.isnan(value).any():
            return REAL
        return Interval(float(value.min()), float(value.max()))
    # x·x is a square whatever the sign of x, which ranges of the two operands alone do not show.
    if str(node.op) == "multiply" and node.rands[0] is node.rands[1]:
        low = 0.0
        return Interval(
            low, np.inf, node.rands[0].cache["range"].positive or node.rands[0].cache["range"].negative
        )
    return node.op.range_of(*[rand.cache["range"] for rand in node.rands])


def _condition(holds: Callable[..., bool]) -> Callable[..., Goal]:
    """Make a goal constructor of a predicate on ground terms; what is still open is left open."""

    def construct(*terms: Any) -> Goal:
        terms = tuple(getattr(t, "term", t) for t in terms)

        def condition_goal(s: State) -> Iterator[State]:
            known = [reify_term(t, s) for t in terms]
            if any(
                (is_term(t) and not t.ground) or not (is_term(t) or isinstance(t, (tuple, int)))
                for t in known
            ) or holds(*known):
                yield s

        condition_goal.__name__ = construct.__name__
        return condition_goal

    construct.__name__ = holds.__name__.strip("_")
    construct.__doc__ = holds.__doc__
    return construct


@_condition
def positive(x: Term) -> bool:
    """Construct a goal stating that every entry of x is > 0."""
    return range_of(x).positive


@_condition
def nonnegative(x: Term) -> bool:
    """Construct a goal stating that every entry of x is >= 0."""
    return range_of(x).nonnegative


@_condition
def negative(x: Term) -> bool:
    """Construct a goal stating that every entry of x is < 0."""
    return range_of(x).negative


@_condition
def maybe_large(x: Term) -> bool:
    """Construct a goal stating that no entry of x is known to be at most 8 in size."""
    known = range_of(x)
    return known.low < -8 or known.high > 8


@_condition
def constant_along(x: Term, axes: Any) -> bool:
    """Construct a goal stating that x has extent 1 along the axes."""
    return is_constant_along(x, axes)


@_condition
def same_shape(x: Term, y: Term) -> bool:
    """Construct a goal stating that x and y have the same shape."""
    return x.type.shape == y.type.shape


def is_constant_along(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether a term has extent 1 along each of the negative axes."""
    return isinstance(x.type, ArrayType) and all(x.type.extent(axis) == 1 for axis in axes)
