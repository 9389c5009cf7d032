"""Kinks that cancel: functions written with |x|, max, min, sign and branches that are smooth where these are not.

    max(x, 0) + log(1 + e^−|x|)  =  log(1 + eˣ),  on both sides of 0

Next to a point, |x| is x or −x, max(x, 0) is x or 0, and a branch is the one that is taken. If both sides are one
function, it has a series at the point, which is that of the whole; there the rules for kinks would take the mean of
slopes, or 0, part by part: of softplus the curvature at 0 would be 0 instead of 1/4.

Source: Griewank & Walther (2008), *Evaluating Derivatives*, 2nd ed., section 14.2, for derivatives at kinks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from relgrad.bounds import range_of
from relgrad.calculus.fit import Terms, fitted
from relgrad.calculus.series import Series, applied, argument, body_of, slope, values_at, zeros_of
from relgrad.conventions import DEFAULT as CONVENTIONS
from relgrad.logic.build import fitted as in_place
from relgrad.op import constant, is_constant
from relgrad.ops.arithmetic import absolute, divide, multiply, negative, sign, subtract
from relgrad.ops.comparison import equal, not_equal
from relgrad.ops.selection import where
from relgrad.term import Term, rebuild, remade, subterms

BESIDE = 2.0 ** -np.array([20.0, 23.0, 30.0, 40.0, 48.0])
TINY = 2.0 ** -np.array([80.0, 120.0, 160.0])
"""An answer that is the same at all these distances, those of 0 also tiny, is the one next to the point."""
APART = np.multiply.outer((-1.0, 1.0), (0.5, 0.31, 0.13, 0.047, 2.0**-8, 2.0**-12)).ravel()
"""Both sides are one function if they agree so far from the point."""
USUAL = np.array([0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0])
"""Terms that depend on x otherwise than by x - c have zeros at these numbers, if people look at them: x - x**2."""
LARGEST = 60
"""Choices of more ops are left as they are written."""
LOSSES = 4
"""A formula may lose fewer powers of the distance than this where both sides of a point are its limit."""
ALIKE = 2.0**-40
"""The largest difference, relative to the largest number on the way."""


@lru_cache(maxsize=1024)
def smoothed(body: Term, x: Term, orders: int = 2, derived: bool = False) -> tuple[Term, tuple[Series, ...]]:
    """max(x, 0) + log1p(exp(-abs(x))) ⟶ series{0.6931 + 0.5·t + 0.125·t^2 - …, t = x - 0}

    Returns a function with a series at each point where kinks cancel, and these series. Only where rules miss one of
    the first derivatives, of so many `orders`: softplus itself is fine for its gradient. At the point itself the
    function has the value of both sides, unless it is a derivative, of which rules for kinks make something else.
    """
    kinked = [t for t in subterms(body) if may_have_kink(t)]
    found: list[Series] = []
    better = body
    for point in dict.fromkeys(_points(kinked, x)) if kinked else ():
        if not _turns(kinked, x, point):
            continue
        right, left = (_beside(body, x, point, side) for side in (1.0, -1.0))
        if right is None or left is None:
            continue
        terms = None
        there = values_at([body, right], x, point)
        if there is None:
            continue
        if not np.isfinite(there[1]):
            terms = _through(right, x, point) if _are_one(right, left, x, point) else None
            if terms is None or not (derived or _is_near(float(there[0]), terms.limit)):
                continue
        elif not (derived or _is_near(*there)):
            continue  # a jump
        elif not _misses(body, x, point, orders, derived):
            continue
        elif _are_one(right, left, x, point):
            terms = fitted(right, x, point, 0)
        if terms is not None:
            terms = terms._replace(radius=_reach(body, right, x, point, terms.radius))
        else:
            value = _between(right, left, x, point)
            if not math.isfinite(value):
                continue
            terms = Terms(np.finfo(float).smallest_subnormal, 0, 1, (value,))
        found.append(Series(better, x, point, terms))
        better = found[-1].make_node(x)
    return better, tuple(found)


def _through(right: Term, x: Term, point: float) -> Terms | None:
    """where(x < 0, sin(x)/x, where(x == 0, 1, sin(x)/x)) ⟶ the series of sin(x)/x

    The series of both sides of a point at which they have no value, but a limit; None where they have none.
    """
    fits = (fitted(right, x, point, loss) for loss in range(LOSSES))
    terms = next((terms for terms in fits if terms is not None), None)
    return terms if terms is not None and terms.power >= 0 else None


def _turns(kinked: list[Term], x: Term, point: float) -> bool:
    """Whether some kink is another of its operands on either side of a point: |x| at 0: yes; |x| at 1: no.

    So is one that is several of its operands at the point.
    """
    nodes = [n for t in kinked for n in (t, *t.rands)]
    side = BESIDE[-1] * max(1.0, abs(point))
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


def _misses(body: Term, x: Term, point: float, orders: int, derived: bool) -> bool:
    """Whether one of the first derivatives exists at a point, both sides having it, and rules give another.

    max(x, 0) + log1p(e^−|x|) at 0: 1/4 for the second, by rules 0.
    """
    derivatives = [body]
    for _ in range(orders - derived):
        derivatives.append(slope(derivatives[-1], x, CONVENTIONS))
    for t in derivatives[not derived :]:
        right, left = (_beside(t, x, point, side) for side in (1.0, -1.0))
        if right is None or left is None or not _meet(left, right, x, point):
            return False
        if not _meet(t, right, x, point):
            return True
    return False


def _reach(body: Term, right: Term, x: Term, point: float, radius: float) -> float:
    """r → half the least step up to r at which f is another than beside the point; r itself without other kinks."""
    steps = radius * np.concatenate([np.linspace(0.0, 1.0, 257)[1:], 2.0 ** -np.arange(9.0, 60.0)])
    found = values_at([body, right], x, point + np.multiply.outer((1.0, -1.0), steps))
    if found is None:
        return 0.0
    a, b = (np.broadcast_to(v, (2, len(steps))) for v in found)
    with np.errstate(all="ignore"):
        other = ~(np.abs(a - b) <= ALIKE * np.maximum(np.abs(a), np.abs(b))).all(0)
    return float(steps[other].min() / 2) if other.any() else radius


def _between(right: Term, left: Term, x: Term, point: float) -> float:
    """(f(0⁺) + f(0⁻))/2, the mean of both sides' values at a point; NaN where an op raises."""
    there = values_at([right, left], x, point)
    return math.nan if there is None else float(there[0] + there[1]) / 2


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
    if right is None or right is not left or not _meet(body, right, x, point):
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
    there = values_at([y], x, point + np.array([-1.0, 1.0]) * BESIDE[-1] * max(1.0, abs(point)))
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


def _meet(body: Term, right: Term, x: Term, point: float) -> bool:
    """Whether a function has at a point the value of one side's: |x| and x at 0: yes; sign(x) and 1: no."""
    there = values_at([body, right], x, point)
    return there is not None and _is_near(*there)


def _is_near(a: Any, b: Any) -> bool:
    """Whether two finite numbers are one but for rounding: 1 and 1 + 2⁻⁵⁰: yes; ∞ and ∞: no."""
    return bool(np.isfinite(a) and np.isfinite(b) and abs(a - b) <= ALIKE * abs(b))


def may_have_kink(t: Term) -> bool:
    """Whether a term is a choice, a step, or in parts one of its operands: |x|, max(x, y), floor(x): yes; x²: no."""
    return bool(t.rands) and (t.op is where or t.op.jumps or t.op.kinks)


def _points(kinked: list[Term], x: Term) -> Iterator[float]:
    """|x| → 0;    max(x, 1) → 0, 1: the points where what a kink depends on, or the difference of two such, is zero."""
    known = x.op.range
    for t in kinked:
        read = list(t.rands) if t.op is not where else [r for c in subterms(t.rands[0]) for r in c.rands]
        real = [r for r in dict.fromkeys(read) if _is_real(r)]
        both = [subtract.make_node(a, b) for a, b in combinations(real, 2)]
        for y in [*read, *both]:
            found = values_at([y], x, USUAL) if x in subterms(y) else None
            zeros = [] if found is None else USUAL[np.equal(found[0], 0.0)].tolist()
            for node in subterms(y):
                zeros += zeros_of(node, x)
            yield from [p for p in zeros if known.low < p < known.high]


def _is_real(t: Term) -> bool:
    return t.type.dtype.kind == "f"


@lru_cache(maxsize=1024)
def _beside(body: Term, x: Term, point: float, side: float) -> Term | None:
    """abs(x) ⟶ x right of 0, −x left of it;    where(x < 1, x, 1) ⟶ x left of 1: a function next to a point.

    None where a kink there is none of its operands.
    """
    nodes = list(subterms(body))
    near = point + side * BESIDE * max(1.0, abs(point))
    near = near if point else np.concatenate([near, side * TINY])
    values = values_at(nodes, x, near)
    if values is None:
        return None
    at = {t: np.broadcast_to(v, (len(near),)) for t, v in zip(nodes, values, strict=True)}
    for t in nodes:
        if t.rands and t.type.dtype.kind == "b":
            at[t] = np.broadcast_to(_answer(t, at), (len(near),))

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        """x > 0 → True, where(c, a, b) → a, |x| → −x: a term next to the point, if it is the same at all distances."""
        here = at[old]
        if old.rands and old.type.dtype.kind == "b":
            return constant(here[0]) if np.all(here == here[0]) else old
        if old.op is where:
            taken = at[old.rands[0]]
            return rands[1 if taken[0] else 2] if np.all(taken == taken[0]) else old
        if may_have_kink(old):
            for rand, new in zip(old.rands, rands, strict=True):
                if _is_real(rand) and np.array_equal(here, at[rand]):
                    return new
                if _is_real(rand) and np.array_equal(here, -at[rand]):
                    return negative.make_node(new)
            if old.op.jumps and np.all(here == here[0]):
                return constant(here[0], old.type.dtype)
        return remade(old, rands)

    (found,) = rebuild([body], change)
    return None if any(may_have_kink(t) and x in subterms(t) for t in subterms(found)) else found


def _answer(t: Term, at: Mapping[Term, Any]) -> Any:
    """1 + x² > 1    holds at x = 2⁻²⁰, and in floats no more at 2⁻³⁰

    Whether a condition holds next to a point, where numbers may differ by less than a rounding.
    """
    rands = [at[rand] for rand in t.rands]
    if all(x.dtype.kind == "b" for x in rands):
        return t.op.compute(*rands)
    if t.op.negation is None or not all(map(_is_real, t.rands)):
        return at[t]
    with np.errstate(invalid="ignore"):
        side = np.sign(rands[0] - rands[1])
    return t.op.compute(side[0], 0.0) if np.all((side == side[0]) | (side == 0)) else at[t]


def _are_one(right: Term, left: Term, x: Term, point: float) -> bool:
    """Whether two functions agree on both sides of a point, up to rounding: log1p(eˣ), x + log1p(e⁻ˣ): yes; ±x: no."""
    nodes = [*subterms(right), *subterms(left)]
    values = values_at([right, left, *nodes], x, point + APART * max(1.0, abs(point)))
    if values is None:
        return False
    a, b, *others = [np.broadcast_to(v, APART.shape) for v in values]
    with np.errstate(all="ignore"):
        size = np.max([np.abs(v) for v in others if v.dtype.kind == "f"], axis=0)
        known = np.isfinite(a) & np.isfinite(b) & np.isfinite(size)
        return bool(known.sum() >= 8 and np.all(np.abs(a - b)[known] <= ALIKE * size[known]))
