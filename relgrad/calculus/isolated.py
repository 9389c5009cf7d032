"""Branches that are taken at one point only, where they give the limit of the other: they are no branches.

    where(u == c, a, f(u)) = f(u)    where f(c) = a by continuity

where(x == 0, 1, expm1(x)/x) is expm1(x)/x without its removable singularity. The branch that is 1 has no slope at 0,
where the function has 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.kinks import may_have_kink
from relgrad.calculus.series import decided
from relgrad.constancy import is_fixed
from relgrad.dependence import depends, labels_of
from relgrad.interpret import RAISED, interpret
from relgrad.leaf import Input, without_anchors
from relgrad.logic.build import fit, fitted
from relgrad.logic.points import Point, point_of
from relgrad.op import Constant, constant
from relgrad.ops.arithmetic import sign, subtract
from relgrad.ops.comparison import bitwise_and, bitwise_or, equal, greater, less, logical_and, logical_or
from relgrad.ops.selection import where
from relgrad.term import Term, substitute, subterms, term
from relgrad.types import ArrayType

LARGEST = 200
"""Choices of more ops stay."""
DRAWS = 8
"""So many values of whatever else branches depend on are drawn."""
ROUNDINGS = 64.0
"""Both branches agree where they differ by so many roundings at most."""
ALIKE = 1e-3
"""Slopes of both sides are one, and there is no kink, where they differ by so much of their sum at most."""
STEEPER = 1.5
"""A slope that grows by this as the point comes nearer is infinite there, as that of x·log x at 0 is."""


class Isolated(NamedTuple):
    """where(asked, at, other), asked being u == value: a branch at one point, and the other one, which knows that u is
    not there.
    """

    point: Point
    at: Term
    other: Term
    asked: Term


def isolated(t: Term) -> Isolated | None:
    """where(x**2 > 0, sin(x)/where(x != 0, x, 1), 1) ⟶ x == 0, 1, sin(x)/x: a choice by one point as such, or None."""
    if t.op is not where or not t.ground or t.type.dtype.kind != "f":
        return None
    if len(list(islice(subterms(t), LARGEST + 1))) > LARGEST:
        return None
    found = point_of(t.rands[0])
    known = (
        Isolated(found[0], *t.rands[1:][:: 1 if found[1] else -1], asked=t.rands[0])
        if found
        else _of_several(t) or _three_ways(t)
    )
    if known is None or any(map(is_fixed, (known.point[0], known.other))):
        return None

    def told(condition: Term) -> bool | None:
        """x != 0 → True, x > 1 → None: whether a condition by the same point holds elsewhere."""
        here = point_of(condition)
        return None if here is None or not known.point.tells(here[0]) else not here[1]

    return known._replace(other=decided(known.other, told))


def _of_several(t: Term) -> Isolated | None:
    """where(p ∧ u ≠ c, f, a) → u == c, a, where(p, f, a), and where(p ∨ u == c, a, f) → u == c, a, where(p, a, f)."""
    asked, yes, no = t.rands
    unites = asked.op in (logical_or, bitwise_or)
    if unites or asked.op in (logical_and, bitwise_and):
        for part, rest in zip(asked.rands, reversed(asked.rands), strict=True):
            found = point_of(part)
            if found is not None and found[1] is unites:
                return Isolated(found[0], yes if unites else no, where(rest, yes, no), part)
    return None


def _three_ways(t: Term) -> Isolated | None:
    """where(x > c, f, where(x < c, g, a)) → x == c, a, where(x > c, f, g): a choice by all of three signs; or None."""
    asked, *branches = t.rands
    if not any(b.op is where and _compares(b.rands[0], asked) for b in branches):
        return None

    def at(of: float) -> Term:
        """1 → f, −1 → g, 0 → a: what is chosen where x − c has a sign."""
        signs = dict(zip(asked.rands, (of, 0.0), strict=True))
        tell = lambda c: bool(c.op.compute(*[signs[r] for r in c.rands])) if _compares(c, asked) else None
        return decided(t, tell)

    here, right, left = map(at, (0.0, 1.0, -1.0))
    meets = equal(*asked.rands)
    found = point_of(meets)
    if found is None or here in (right, left):
        return None
    other = right if right is left else where(greater(*asked.rands), right, left)
    return Isolated(found[0], here, other, meets)


def _compares(c: Term, like: Term) -> bool:
    """x < c, x > c → True: whether two conditions compare the same two numbers."""
    return c.op.negation is not None and len(set(c.rands)) == 2 and set(c.rands) == set(like.rands)


def unguarded(t: Term, better: Callable[[Term], Term]) -> Term | None:
    """where(x == 0, 1, sin(x)/x) → better(sin(x)/x), if that is 1 at x = 0; or None."""
    found = isolated(t)
    if found is None:
        return None
    new = better(found.other)
    new = fitted(new, t)
    return new if new is not None and _agree(found, new) else None


def elsewhere(t: Term, better: Callable[[Term], Term]) -> Term | None:
    """where(‖x‖ > 0, x/where(‖x‖ > 0, ‖x‖, 1), 0) → where(‖x‖ > 0, unit(x), 0): a choice by a point whose other branch
    is rewritten as what it is elsewhere, if that is defined at the point, too; or None.
    """
    found = isolated(t)
    if found is None or found.asked is not t.rands[0]:
        return None
    new = fitted(better(found.other), t)
    if new is None or new in t.rands or not _is_defined(new, found.point):
        return None
    return where.make_node(found.asked, *[x if x is found.at else new for x in t.rands[1:]])


def _is_defined(t: Term, point: Point) -> bool:
    """unit(x) at x == 0 → True;    x/‖x‖ → False: whether all that a term is computed of is a number at a point."""
    u, value, _ = point
    x = term(Input("u", u.type, symbol=True))
    (t,) = substitute([t], {u: x})
    nodes = [n for n in subterms(t) if not n.rands and type(n.op) is not Constant]
    sized = all(isinstance(n.type, ArrayType) and None not in n.type.shape for n in nodes)
    if not sized or not isinstance(value, float):
        return False
    rng = np.random.default_rng(0)
    drawn = {n: _numbers(n.type, rng, signed=False) for n in nodes if n is not x}
    drawn[x] = np.full(x.type.shape, value, x.type.dtype)
    inner = [n for n in subterms(t) if n.rands and n.type.differentiable]
    try:
        with np.errstate(all="ignore"):
            return all(np.isfinite(v).all() for v in interpret(inner, drawn))
    except RAISED:
        return False


def near_points(roots: Sequence[Term], near: Callable[[Term], Term]) -> list[Term]:
    """where(x == y, x, (x − y)/log(x/y)) ⟶ (x − y)/log(x/y), of which `near` gives the limit x at y.

    A series along x = y is of such a program: the other branch of each choice by one point whose limit is the one
    there. A sign that is written is a choice; those that rules bring are conventions.
    """
    known = {t: _written_sign(t) for t in subterms(*roots) if t.op is sign and t.ground}
    choices = [t for t in subterms(*roots) if t.op is where]
    for t, plain in zip(choices, without_anchors(choices), strict=True):
        found = isolated(t)
        there = found if plain is t else isolated(plain)
        new = found and there and fitted(found.other, t)
        if new and there and _agree(there, near(there.other), partial=True):
            known[t] = new
    return substitute(roots, known)


def _written_sign(t: Term) -> Term:
    """sign(x) → where(x > 0, 1, where(x < 0, −1, 0))"""
    (x,) = t.rands
    zero, *ones = [constant(c, x.type.dtype) for c in (0.0, 1.0, -1.0)]
    found = where(greater(x, zero), ones[0], where(less(x, zero), ones[1], zero))
    return fit(found, t)


def _agree(choice: Isolated, new: Term, partial: bool = False) -> bool:
    """Whether f(c) = a in where(u == c, a, f(u)), with one slope, whatever both depend on: 1, sin(x)/x at 0: yes.

    If `partial`, they are defined for positive numbers, and of others need not be both or none.

    Functions without kinks that agree at random numbers are one. The numbers that tell a branch, or the side of a kink,
    must not depend on these: |a| is a where numbers are positive.

    Each entry is chosen by itself. Where one is at the point the others are anywhere, so that mean(x) is not x at 0.
    """
    (u, value, _), at, other, _ = choice
    x = u if not u.rands else term(Input("u", u.type, symbol=True))
    near = constant(value, u.type.dtype) if isinstance(value, float) else value
    roots = [at, new, near] if x is u else substitute([at, new, near], {u: x})
    nodes = [n for n in subterms(*roots) if not n.rands and type(n.op) is not Constant]
    sized = all(isinstance(n.type, ArrayType) and None not in n.type.shape for n in (*nodes, x))
    if not sized or x.type.dtype.kind != "f" or x in subterms(roots[2]):
        return False  # nothing is near an integer
    deciding = _deciding(choice)
    if deciding is None:
        return False
    places, decided_by = deciding
    several = np.any(places != 1)
    mixing = [b for b in (at, other) if several and not _stays(b, u, places, decided_by)]
    if any(may_have_kink(t) and depends([t], [u]) for t in subterms(*mixing)):
        return False
    asked = _asked(roots[:2], x)
    inner = [t for t in subterms(roots[1]) if t.rands and t.type.differentiable]
    rng = np.random.default_rng(0)
    eps = float(np.finfo(x.type.dtype).eps)
    sides: list[Any] = []
    known = False
    others = [n for n in nodes if n is not x]
    for draw in range(DRAWS if others or mixing else 1):
        drawn = {n: _numbers(n.type, rng, signed=draw % 2 == 1) for n in others}
        try:
            with np.errstate(all="ignore"):
                (start,) = interpret([roots[2]], drawn)

            def values(
                h: float, of: Sequence[Term] = roots[:2], start: Any = start, drawn: dict[Term, Any] = drawn
            ) -> list[Any]:
                """h → (a, f(c + h·max(1, |c|))), the values of both branches at a distance."""
                moved = np.broadcast_to(start + h * np.maximum(1.0, np.abs(start)), x.type.shape)
                with np.errstate(all="ignore"):
                    found = interpret(of, {**drawn, x: np.asarray(moved, x.type.dtype)})
                return [np.asarray(v, float) for v in found]

            there = rng.choice(places.ravel()) if mixing else 0
            beside = _numbers(x.type, rng, signed=draw % 2 == 1) if mixing else 0

            def alone(
                h: float,
                start: Any = start,
                drawn: dict[Term, Any] = drawn,
                there: int = there,
                beside: Any = beside,
            ) -> list[Any]:
                """h → (a, f(c + h·max(1, |c|))) of what one entry chooses, the others being anywhere."""
                moved = np.where(places == there, start + h * np.maximum(1.0, np.abs(start)), beside)
                with np.errstate(all="ignore"):
                    found = interpret(roots[:2], {**drawn, x: np.asarray(moved, x.type.dtype)})
                *found, chosen = np.broadcast_arrays(*found, decided_by == there)
                return [np.asarray(v[chosen], float) for v in found]

            if draw % 2 == 0:
                if all(np.isnan(v).all() for v in values(0.0)):
                    continue  # beyond the domain of both
                if not partial and not known and not all(np.isfinite(v).all() for v in values(0.0, inner)):
                    return (
                        False  # 1/x in exp(−1/x²): its derivatives are none, though the function is a number
                    )
                known = True
            sides.append([v.tolist() for v in values(0.0, asked)])
            ways = (values, alone) if mixing else (values,)
            if not all(_continues(way, eps, partly=draw % 2 == 1, partial=partial) for way in ways):
                return False
        except RAISED:
            return False
    return known and all(one == sides[0] for one in sides)


def _numbers(kind: Any, rng: np.random.Generator, signed: bool) -> Any:
    """float64 → 2·normal if `signed`, else lognormal;    bool → a toss;    int → 0 … 5: draws for one input."""
    if kind.dtype.kind == "b":
        return rng.random(kind.shape) < 0.5
    if kind.dtype.kind in "iu":
        return rng.integers(0, 6, kind.shape).astype(kind.dtype)
    return np.asarray(
        2 * rng.normal(size=kind.shape) if signed else rng.lognormal(size=kind.shape), kind.dtype
    )


def _deciding(choice: Isolated) -> tuple[Any, Any] | None:
    """where(x == 0, …) → [1, 2, 3], [1, 2, 3];    where(‖x‖ == 0, …) → [1, 1, 1], [1]: the entries of u, and of the
    condition, by which of these decide which of those; None where that is not known.
    """
    u, asked = choice.point.u, choice.asked
    axes = range(u.type.ndim)
    for free in (kept for n in range(u.type.ndim, -1, -1) for kept in combinations(axes, n)):
        extents = [n if axis in free else 1 for axis, n in enumerate(u.type.shape)]
        places = np.broadcast_to(np.arange(1, 1 + math.prod(extents)).reshape(extents), u.type.shape)
        found = labels_of([asked], {u: places})
        if found is not None:
            return places, found[0]
    return None


def _stays(branch: Term, u: Term, places: Any, decided: Any) -> bool:
    """sin(x)/x → yes;    mean(x) → no: whether a branch's entries depend on those of u alone that choose them."""
    found = labels_of([branch], {u: places})
    return found is not None and bool(np.all((found[0] == 0) | (found[0] == decided)))


def _asked(roots: Sequence[Term], x: Term) -> list[Term]:
    """where(a > x, …) → a − x;    |a| → a: the numbers that tell branches and kinks which depend on more than x."""
    other = {n for n in subterms(*roots) if not n.rands and n is not x and type(n.op) is not Constant}
    found: list[Term] = []
    for t in subterms(*roots):
        if may_have_kink(t) and not other.isdisjoint(subterms(t)):
            arrays = [c for c in subterms(t.rands[0]) if isinstance(c.type, ArrayType)]
            told = [c for c in arrays if c.type.dtype.kind == "b"] if t.op is where else [t]
            for c in told:
                numbers = [r for r in c.rands if r.type.dtype.kind != "b"]
                compared = len(numbers) == 2 and c.op.negation is not None
                found += [subtract.make_node(*numbers)] if compared else numbers
    return list(dict.fromkeys(found))


def _continues(values: Callable[[float], list[Any]], eps: float, partly: bool, partial: bool) -> bool:
    """Whether f(0) = a, and (f(h) − a)/h is one finite slope on both sides: sin(x)/x, 1: yes; |x|, 0; √|x|, 0: no.

    If `partly`, both may be none: the logarithm of a negative number; if `partial` as well, one of them.
    """
    a, b = np.broadcast_arrays(*values(0.0))
    with np.errstate(all="ignore"):
        same = np.isfinite(a) & (np.abs(a - b) <= ROUNDINGS * eps * np.abs(a))
    none = (np.isnan(a) | np.isnan(b)) if partial else (np.isnan(a) & np.isnan(b))
    if not np.all(same | (partly & none)):
        return False
    with np.errstate(all="ignore"):
        slopes = [
            [(values(side * h)[1] - a) / (side * h) for h in (eps**0.375, eps**0.75)] for side in (1, -1)
        ]
        noise = ROUNDINGS * eps**0.25 * np.abs(a)
        grows = [np.abs(far) > STEEPER * np.abs(near) + noise for near, far in slopes]
    sides = [np.isfinite(near) & np.isfinite(far) for near, far in slopes]
    (right, _), (left, _) = slopes
    with np.errstate(all="ignore"):
        turns = sides[0] & sides[1] & (np.abs(right - left) > noise + ALIKE * (np.abs(right) + np.abs(left)))
    return bool(np.all(sides[0] | sides[1] | ~same)) and not np.any(
        turns | (sides[0] & grows[0]) | (sides[1] & grows[1])
    )
