"""Which terms are finite wherever the leaves of the program are, short of overflow: what may stand beside a zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.logic.group import Number
from relgrad.logic.ranges import Goal, range_of
from relgrad.logic.unify import State, reify_term
from relgrad.op import Constant
from relgrad.ops.arithmetic import sign
from relgrad.ops.comparison import equal
from relgrad.ops.selection import where
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze
from relgrad.term import Term, is_term, kept

_MOVES = (Expand, Squeeze, BroadcastTo, BroadcastLike, Rearrangement)
_FINITE = frozenset(
    [
        *("add", "subtract", "multiply", "negative", "positive", "square", "one_minus_square"),
        *("absolute", "fabs", "maximum", "minimum", "fmax", "fmin", "max", "min", "where", "copysign"),
        *("sum", "cumsum", "matmul", "concatenate", "cast", "centred", "norm", "hypot"),
        *("arcsinh", "softplus", "log_expit", "log_cosh", "log_softmax", "logsumexp", "logaddexp"),
    ]
)
"""Ops whose results are finite wherever their operands are; what is bounded is besides."""


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
    if op is sign:
        return True
    if not all(rand.cache["finite"] for rand in node.rands):
        return False
    if isinstance(op, _MOVES) or op.name in _FINITE:
        return True
    interval = range_of(node)
    if np.isfinite(interval.low) and np.isfinite(interval.high):
        return True
    if op.name == "sqrt":
        return interval.nonnegative and range_of(node.rands[0]).nonnegative
    if op.name in ("divide", "reciprocal"):
        return is_nonzero(node.rands[-1])
    if op.name == "log":
        return range_of(node.rands[0]).low > 0
    if op.name == "log1p":
        return range_of(node.rands[0]).low > -1
    return False
