"""Conditions that hold at one point alone, or fail there alone.

x == 0,  abs(x) > 0,  ‖x‖ == 0,  x**2 <= 0,  x - y == 0
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.group import float_exact
from relgrad.logic.view import product_of, sum_of
from relgrad.op import is_constant
from relgrad.ops.arithmetic import absolute
from relgrad.ops.comparison import (
    equal,
    greater,
    greater_equal,
    invert,
    less,
    less_equal,
    logical_not,
    not_equal,
)
from relgrad.ops.extremes import All_, Any_
from relgrad.ops.lengths import Norm
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import Expand, Squeeze
from relgrad.term import Term, is_term, reachable


class Point(NamedTuple):
    """u == value, where all entries of u that a condition reads at once are a number, or another term.

    `tied` says along which axes that is, None all of them: norm(x, axis=-1) == 0 reads rows of x, any(x != 0) all of x.
    """

    u: Term
    value: float | Term
    tied: tuple[Any, ...] | None = None

    def tells(self, other: Point) -> bool:
        """Whether being elsewhere is being elsewhere of another point, which all entries are where they are at both.

        x ≠ 0 in an entry ⟹ x ≠ 0 in that entry, not all of x are 0;    not all of x are 0 ⟹̸ x ≠ 0 in an entry
        """
        return self[:2] == other[:2] and (other.tied is None or other.tied == self.tied)


def point_of(condition: Term) -> tuple[Point, bool] | None:
    """Return at which point alone a condition holds, or alone fails, and which; None of others.

    abs(x) > 0 ⟶ x == 0, fails;    x - 1 == 0 ⟶ x == 1, holds;    all(x == 0) ⟶ x == 0, holds

    Of ranges, only those of sizes, lengths and squares end at a point where their arguments are told.
    """
    found = _point_of(condition)
    return (found[0]._replace(tied=None), found[1]) if found and condition.type.size == 1 else found


def _point_of(condition: Term) -> tuple[Point, bool] | None:
    op = condition.op
    if op is logical_not or op is invert:
        found = point_of(condition.rands[0])
        return found and (found[0], not found[1])
    if type(op) in (Squeeze, Expand, All_, Any_) and condition.type.size == 1:
        found = point_of(condition.rands[0])
        reduces = All_ if found and found[1] else Any_
        return found if type(op) in (Squeeze, Expand, reduces) else None
    if len(condition.rands) != 2:
        return None
    u, c = condition.rands
    if is_constant(u):
        u, c, op = c, u, op.mirrored
    if is_constant(u) or u.type.dtype.kind != "f" or c.type.dtype.kind not in "fiu":
        return None
    if not is_constant(c) or c.op.value.size != 1:
        if u.type.ndim == 0 and c.type.dtype.kind == "f":
            u, c = c, u  # a number meets each entry of an array
        return (Point(u, c, ()), op is equal) if op is equal or op is not_equal else None
    value, known = float(c.op.value.item()), range_of(u)
    if not math.isfinite(value):
        return None
    found = _solved(u, value)
    if op is equal or op is not_equal:
        return found, op is equal
    ends = known.low if op in (greater, less_equal) else known.high if op in (less, greater_equal) else None
    return (found, op in (less_equal, greater_equal)) if ends == value and found.u is not u else None


def _solved(u: Term, value: float) -> Point:
    """Return where a size, a length, a power, a multiple, or a sum with a number has a value: 2·|x| = 0 where x = 0."""
    tied: tuple[Any, ...] = ()
    while not value:
        view = product_of(u)
        ((base, e),) = view.factors.items() if len(view.factors) == 1 else ((u, 0),)
        squares = product_of(u.rands[0]) if type(u.op) is Sum else None
        if u.op is absolute:
            (u,) = u.rands
        elif type(u.op) in (Norm, Expand, Squeeze):
            tied += (u.op.axes if type(u.op) is Norm else u.op,)
            (u,) = u.rands
        elif squares is not None and list(squares.factors.values()) == [2]:
            tied += (u.op.axes,)
            (u,) = squares.factors
        elif e > 0 and view.coefficient and base is not u and is_term(base):
            u = base
        else:
            break
    view = sum_of(u)
    terms = list(view.terms.items())
    if len(terms) == 1 and view.constant:
        ((x, k),) = terms
        at = (Fraction(value) - view.constant) / k
        return Point(x, float(at), tied) if is_term(x) and float_exact(at) else Point(u, value, tied)
    if len(terms) == 2 and not view.constant and not value and terms[0][1] == -terms[1][1]:
        x, y = sorted([x for x, _ in terms], key=lambda x: not is_term(x) or not x.type.ndim)
        meets = is_term(y) and (x.type == y.type or (y.type.ndim == 0 and x not in reachable(y)))
        return Point(x, y, tied) if meets else Point(u, value, tied)
    return Point(u, value, tied)
