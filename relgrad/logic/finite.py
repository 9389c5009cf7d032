"""Which terms are finite wherever the leaves of the program are, short of overflow: what may stand beside a zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of, told
from relgrad.logic.group import Number
from relgrad.logic.ranges import Goal
from relgrad.logic.unify import State, reify_term
from relgrad.op import Constant
from relgrad.ops.comparison import equal
from relgrad.ops.selection import where
from relgrad.term import Term, is_term, kept


def is_finite(base: Any, e: Number) -> bool:
    """Whether a factor is finite wherever the leaves of the program are, short of overflow."""
    if not is_term(base):
        return False
    if (e < 0 or isinstance(e, Fraction)) and not is_nonzero(base):
        return False
    return _finite(base)


def is_nonzero(t: Term) -> bool:
    """Whether a divisor is not zero: by its range, or since it is chosen so, as where(x == 0, 1, x)."""
    interval = range_of(t)
    if interval.low > 0 or interval.high < 0:
        return True
    if t.op is not where or t.rands[0].op is not equal:
        return False
    condition, replacement, x = t.rands
    return x in condition.rands and any(_is_zero(y) for y in condition.rands) and is_nonzero(replacement)


def _is_zero(t: Term) -> bool:
    return type(t.op) is Constant and not t.op.value.any()


def finite(x: Any) -> Goal:
    """Construct a goal stating that x is finite wherever the leaves of the program are, short of overflow."""

    def finite_goal(s: State) -> Iterator[State]:
        known = reify_term(getattr(x, "term", x), s)
        if not (is_term(known) and known.ground) or _finite(known):
            yield s

    return finite_goal


def _finite(t: Term) -> bool:
    return kept(t, "finite", _finite_node)


def _finite_node(node: Term) -> bool:
    op = node.op
    if type(op) is Constant:
        return node.op.value.dtype.kind in "biuf" and bool(np.isfinite(node.op.value).all())
    if not node.rands:
        return True
    if getattr(getattr(node.type, "dtype", None), "kind", "") in ("b", "i", "u"):
        return True
    interval = range_of(node)
    bounded = bool(np.isfinite(interval.low) and np.isfinite(interval.high))
    if not all(rand.cache["finite"] for rand in node.rands):
        return bounded and op.jumps
    return bounded or (told(op.finite, node) and all(is_nonzero(node.rands[i]) for i in op.divisors))
