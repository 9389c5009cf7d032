"""Kinks that cancel: functions written with |x|, max, min, sign and branches that are smooth where these are not.

    max(x, 0) + log(1 + e^−|x|)  =  log(1 + eˣ),  on both sides of 0

Next to a point, |x| is x or −x, max(x, 0) is x or 0, and a branch is the one that is taken. If both sides are one
function, it has a series at the point, which is that of the whole; there the rules for kinks would take the mean of
slopes, or 0, part by part: of softplus the curvature at 0 would be 0 instead of 1/4.

Source: Griewank & Walther (2008), *Evaluating Derivatives*, 2nd ed., section 14.2, for derivatives at kinks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from relgrad.bounds import range_of
from relgrad.calculus.fit import Terms, fitted
from relgrad.calculus.laurent import BothSides, Laurent
from relgrad.calculus.ring import NoSeries
from relgrad.calculus.series import FEW, Series, applied, argument, body_of, slope, values_at, zeros_of
from relgrad.conventions import DEFAULT, Conventions
from relgrad.logic.build import fitted as in_place
from relgrad.op import constant, holds_nan, is_constant
from relgrad.ops.arithmetic import absolute, divide, multiply, negative, sign, subtract
from relgrad.ops.comparison import equal, not_equal
from relgrad.ops.selection import where
from relgrad.term import Term, rebuild, remade, subterms

BESIDE = 2.0**-48
"""So far from a point kinks are looked at first."""
USUAL = np.array([0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0])
"""Terms that depend on x otherwise than by x - c have zeros at these numbers, if people look at them: x - x**2."""
LARGEST = 60
"""Choices of more ops are left as they are written."""
LOSSES = 4
"""A formula may lose fewer powers of the distance than this where both sides of a point are its limit."""
ALIKE = 2.0**-40
"""The largest relative difference of what is one number."""


@lru_cache(maxsize=1024)
def smoothed(
    body: Term,
    x: Term,
    orders: int = 2,
    derived: bool = False,
    conventions: Conventions = DEFAULT,
    alike: float = ALIKE,
) -> tuple[Term, tuple[Series, ...]]:
    """max(x, 0) + log1p(exp(-abs(x))) ⟶ series{0.6931 + 0.5·t + 0.125·t^2 - …, t = x - 0}

    Returns a function with a series at each point where kinks cancel, and these series. Only where rules, under the
    conventions, miss one of the first derivatives, of so many `orders`: softplus is fine for its gradient if ties
    share. At the point itself the function has the value of both sides, as `alike` as its constants are to what they
    stand for, unless it is a derivative, of which rules for
    kinks make something else, and where 0/0 leaves it open. What is NaN as it is written is not open.
    """
    nodes = list(subterms(body))
    kinked = [t for t in nodes if may_have_kink(t)]
    written = holds_nan(body)
    found: list[Series] = []
    better = body
    for point in dict.fromkeys(_points(kinked, x)) if kinked else ():
        there = values_at(nodes, x, point)
        if there is None or not _turns(kinked, x, point):
            continue
        with suppress(NoSeries):
            right, left = BothSides(x, point, FEW).expand_each(body)
            is_none = np.isnan(there[-1]) and not written
            has_limit = derived or is_none or _is_near(there[-1], right.value(), alike)
            if min(right.start, left.start) < 0 or not has_limit:
                continue  # a pole, or a jump
            is_open = not np.all([np.isfinite(y) for y in there])
            if not is_open and not _misses(body, x, point, (right, left), orders, derived, conventions):
                continue
            losses = range(LOSSES if is_open else 1)
            fits = (fitted(body, x, point, loss, BothSides) for loss in losses)
            terms = next((terms for terms in fits if terms is not None), None)
            if terms is None and (not is_open or _is_near(left.value(), right.value())):
                value = float(right.value() + left.value()) / 2
                terms = Terms(np.finfo(float).smallest_subnormal, 0, 1, (value,))
            if terms is not None:
                found.append(Series(better, x, point, terms))
                better = found[-1].make_node(x)
    return better, tuple(found)


def _turns(kinked: list[Term], x: Term, point: float) -> bool:
    """Whether some kink is another of its operands on either side of a point: |x| at 0: yes; |x| at 1: no.

    So is one that is several of its operands at the point.
    """
    nodes = [n for t in kinked for n in (t, *t.rands)]
    side = BESIDE * max(1.0, abs(point))
    values = values_at(nodes, x, [point, point - side, point + side])
    at = dict(zip(nodes, values or (), strict=False))
    for t in kinked if values is not None else ():
        asked = [t.rands[0]] if t.op is where else [t] if t.op.jumps else []
        if any(np.ptp(np.broadcast_to(at[n], 3).astype(float)) for n in asked):
            return True
        operands = [np.broadcast_to(at[n], 3) for n in t.rands] if t.op.kinks else []
        if np.sum([at[t] == sign * y for y in operands for sign in (1, -1)], axis=0).max(initial=0) > 1:
            return True
    return False


def _misses(
    body: Term,
    x: Term,
    point: float,
    sides: tuple[Laurent, Laurent],
    orders: int,
    derived: bool,
    conventions: Conventions,
) -> bool:
    """Whether one of the first derivatives exists at a point, both sides having it, and rules give another.

    max(x, 0) + log1p(e^−|x|) at 0: 1/4 for the second, by rules 0.
    """
    derivative = body
    for k in range(orders - derived + 1):
        if k:
            derivative = slope(derivative, x, conventions)
        if not k and not derived:
            continue
        right, left = (math.factorial(k) * float(side.at(k).number) for side in sides)
        if not _is_near(left, right):
            return False
        there = values_at([derivative], x, point)
        if there is not None and not _is_near(there[0], right):
            return True
    return False


def one_function(t: Term) -> Term | None:
    """where(z >= 0, expit(abs(z)), expit(-abs(z))) ⟶ expit(z): a choice of one function on both sides; or None."""
    if t.op is not where or not t.ground or len(t.rands[0].rands) != 2:
        return None
    if t.rands[0].op in (equal, not_equal):  # a guard, of which the slope counts as well
        return None
    u = t.rands[0].rands[is_constant(t.rands[0].rands[0])]
    if u.type != t.type or is_constant(u) or not _is_function_of(t, u):
        return None
    x = argument(range_of(u))
    body = body_of(t, u, x, LARGEST)
    if body is None:
        return None
    kinked = [n for n in subterms(body) if may_have_kink(n)]
    points = set(_points(kinked, x))
    if len(points) != 1:
        return None
    (point,) = points
    if not all(_turns_only_at(y, x, point) for n in kinked for y in _turning(n)):
        return None
    right, left = (_beside(body, x, point, side) for side in (1.0, -1.0))
    there = values_at([body, right], x, point) if right is not None and right is left else None
    if right is None or there is None or not _is_near(*there):
        return None
    return in_place(applied(right, x, u), t)


def _turning(t: Term) -> Iterator[Term | None]:
    """|u| → u;    max(u, v) → u − v;    where(u > v, …) → u − v: the term whose sign a kink or choice turns with.

    None where that is not known.
    """
    asked = [c for c in subterms(t.rands[0]) if c.type.dtype.kind == "b" and any(map(_is_real, c.rands))]
    for c in asked if t.op is where else [t]:
        if c.op in (absolute, sign):
            yield c.rands[0]
        elif len(c.rands) == 2 and (c.op.negation is not None or (c.op.kinks and not c.op.jumps)):
            yield subtract.make_node(*c.rands)
        else:
            yield None


def _turns_only_at(y: Term | None, x: Term, point: float) -> bool:
    """Whether the sign of a function changes at this point alone, or nowhere: x − 1 at 1: yes; x² − 1 at 1: no."""
    if y is None:
        return False
    known = range_of(y)
    if known.positive or known.negative or x not in subterms(y):
        return True
    there = values_at([y], x, point + np.array([-1.0, 1.0]) * BESIDE * max(1.0, abs(point)))
    return bool(_direction(y, x)) and there is not None and float(np.prod(there[0])) < 0


def _direction(t: Term, x: Term) -> int | None:
    """2·x + 1 → 1;    −x → −1;    3 → 0;    x² → None: whether a function increases or decreases with x, by its ops."""
    if t is x:
        return 1
    if x not in subterms(t):
        return 0
    known: list[int] = []
    for rand in t.rands:
        if (found := _direction(rand, x)) is None:
            return None
        known.append(found)
    if t.op.as_sum:
        signs = {c * k for c, k in zip(t.op.as_sum, known, strict=True) if k}
        return signs.pop() if len(signs) == 1 else None
    if t.op is divide and known[1]:
        return None
    if t.op in (multiply, divide) and 0 in known:
        number = range_of(t.rands[known.index(0)])
        return sum(known) * (1 if number.positive else -1) if number.positive or number.negative else None
    return t.op.laws.monotone * known[0] or None if len(known) == 1 else None


def _is_function_of(t: Term, u: Term) -> bool:
    """Whether a term is a function of u and of numbers, entry by entry: sin(u) + 2·u: yes; u·v, Σ u: no."""
    stack, seen = [t], {u}
    while stack:
        node = stack.pop()
        if node in seen or (is_constant(node) and not node.type.ndim):
            continue
        if not (node.op.elementwise and node.rands) or len(seen) > LARGEST:
            return False
        seen.add(node)
        stack += node.rands
    return True


def _is_near(a: Any, b: Any, most: float = ALIKE) -> bool:
    """Whether two finite numbers are one but for rounding: 1 and 1 + 2⁻⁵⁰: yes; ∞ and ∞: no."""
    return bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) <= most * abs(b))


def may_have_kink(t: Term) -> bool:
    """Whether a term is a choice, a step, or in parts one of its operands: |x|, max(x, y), floor(x): yes; x²: no."""
    return bool(t.rands) and (t.op is where or t.op.jumps or t.op.kinks)


def _points(kinked: list[Term], x: Term) -> list[float]:
    """|x| → 0;    max(x, 1) → 0, 1: the points where what a kink depends on, or the difference of two such, is zero."""
    known, of = x.op.range, dict[Term, None]()
    for t in kinked:
        read = _compared(t.rands[0]) if t.op is where else list(dict.fromkeys(t.rands))
        real = [r for r in read if _is_real(r)]
        of.update(dict.fromkeys([*read, *[subtract.make_node(a, b) for a, b in combinations(real, 2)]]))
    nodes, moving = list(subterms(*of)), {x}
    for node in nodes:
        if not moving.isdisjoint(node.rands):
            moving.add(node)
    found = values_at([y for y in of if y in moving], x, USUAL)
    zeros = [p for y in found or () for p in USUAL[np.equal(y, 0.0)].tolist()]
    zeros += [p for node in nodes for p in zeros_of(node, x)]
    return [p for p in zeros if known.low < p < known.high]


def _compared(condition: Term) -> list[Term]:
    """(x > 1) & (x < y) → [x, 1, y]: what is compared in a condition, not what that is made of."""
    stack, read = [condition], dict[Term, None]()
    while stack:
        node = stack.pop()
        for rand in node.rands:
            if _is_real(rand):
                read[rand] = None
            elif rand not in read:
                stack.append(rand)
    return list(read)


def _is_real(t: Term) -> bool:
    return t.type.dtype.kind == "f"


def _beside(body: Term, x: Term, point: float, side: float) -> Term | None:
    """abs(x) ⟶ x right of 0, −x left of it;    where(x < 1, x, 1) ⟶ x left of 1: a function whose kinks turn there.

    None where a kink there is none of its operands.
    """
    nodes = list(subterms(body))
    values = values_at(nodes, x, point + side * BESIDE * max(1.0, abs(point)))
    if values is None:
        return None
    at = dict(zip(nodes, values, strict=True))

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        """x > 0 → True, where(c, a, b) → a, |x| → −x: a term next to the point."""
        if old.rands and old.type.dtype.kind == "b":
            return constant(at[old])
        if old.op is where:
            return rands[1 if at[old.rands[0]] else 2]
        for rand, new in zip(old.rands, rands, strict=True) if may_have_kink(old) else ():
            if _is_real(rand) and abs(at[old]) == abs(at[rand]):
                return new if at[old] == at[rand] else negative.make_node(new)
        return constant(at[old], old.type.dtype) if old.op.jumps else remade(old, rands)

    (found,) = rebuild([body], change)
    return None if any(may_have_kink(t) and x in subterms(t) for t in subterms(found)) else found
