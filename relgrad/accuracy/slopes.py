"""Slopes of a row's sides where its cases meet: two sides that are equal may differ in slope at a point.

x = where(x > 0, x, −|x|) has the slope 1 on the left and 0 on the right, at 0: a case or a size that the right side
brings in has a kink of its own, which no value shows. So the sides are differentiated, twice, at numbers of which many
are zero, one, and equal to or opposite to each other.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relgrad.accuracy.instance import Instance
from relgrad.accuracy.report import Witness
from relgrad.balls.graph import enclose
from relgrad.errors import RelgradError
from relgrad.gradient import gradient, ones_like
from relgrad.interpret import interpret
from relgrad.op import constant
from relgrad.ops.arithmetic import subtract
from relgrad.ops.structure import broadcast_like
from relgrad.relation import Library, Relation
from relgrad.schedule import schedule
from relgrad.term import Term, reachable, substitute, subterms

TIES = np.array([0.0, 0.0, 0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0])
"""What is tried: the numbers at which choices, sizes and powers change, and which sum to zero."""
CLOSE = 1e-6
"""How far apart, relatively, two slopes may be: they are those of sides that may cancel."""
BITS, LIMIT = 60, 1024
WAYS = np.array([1.0, -1.0, 0.5, 2.0])
"""Parts of the directions along which curvatures are taken."""
STEP, STEPS, CHANGE = 2.0**-40, 4, 2.0**-20
"""So far away, as often, derivatives are looked at, which change by less than that where they are continuous."""


@np.errstate(all="ignore")
def differing_slopes(row: Relation, instance: Instance, rng: np.random.Generator) -> Witness | None:
    """|x| = √(x²) → None, x = |x| → Witness at x = −1 and at 0: inputs at which the sides have other slopes.

    And other curvatures, along directions, where slopes are continuous. The left side is differentiated as it is
    written, the right side as with a library of the row alone.
    """
    left, right, free = _without_distances(instance)
    values = {t: _ties(t, rng) for t in free}
    ways = [constant(rng.choice(WAYS, size=t.type.shape)) for t in free]
    exact = values | instance.rounded

    def derivatives(side: Term, library: Library) -> Sequence[Term]:
        """f → ∂f/∂t for each free t, and the gradient of Σ v·∂f/∂t along directions v."""
        slopes = gradient([(side, ones_like(side))], free)
        curvatures = gradient(list(zip(slopes, ways, strict=True)), free)
        return schedule([*slopes, *curvatures], library).after

    try:
        before = derivatives(left, Library([]))
        after = derivatives(broadcast_like(right, left), Library([row]))
        defined, *truths = [e.middle for e in enclose([left, *before], exact, BITS, limit=LIMIT)]
        written, rewritten = interpret(before, values), interpret(after, values)
        whole = np.isfinite(defined)
        for i, (known, old, new) in enumerate(zip(truths, written, rewritten, strict=True)):
            leaf, bends = free[i % len(free)], i >= len(free)
            told = np.isfinite(known) & _are_near(old, known) & _by_samples(whole, known.shape)
            wrong = told & ~_are_near(new, known)
            if bends and wrong.any():
                wrong = wrong & _by_samples(_is_smooth(before, truths, exact, free, rng), known.shape)
            for place in map(tuple, np.argwhere(wrong)[:1]):
                name = next(n for n, t in instance.leaves.items() if t is leaf)
                why = f"the {'curvatures' if bends else 'slopes'} of the sides differ, to {name}"
                return Witness(why, instance.at(values, place), str(known[place]), str(new[place]))
    except (RelgradError, ArithmeticError, np.linalg.LinAlgError):  # of a singular matrix, or without slope
        pass
    return None


def _are_near(x: Any, known: Any, close: float = CLOSE) -> Any:
    return np.abs(x - known) <= close * (1.0 + np.abs(known))


def _is_smooth(
    derivatives: Sequence[Term],
    truths: Sequence[Any],
    values: Mapping[Term, Any],
    free: Sequence[Term],
    rng: np.random.Generator,
) -> Any:
    """|x| at 0 → False, √(1 + x²) at 0 → True: in which samples derivatives are nearly the same a small step away.

    Steps that leave the domain tell nothing, unless all do.
    """
    held, found = np.True_, np.False_
    for _ in range(STEPS):
        moved = {t: values[t] + STEP * rng.choice(WAYS, size=t.type.shape) for t in free}
        others = [e.middle for e in enclose(derivatives, {**values, **moved}, BITS, limit=LIMIT)]
        inside = _all([np.isfinite(x) for x in others])
        near = _all([_are_near(x, y, CHANGE) for x, y in zip(others, truths, strict=True)])
        held, found = held & (near | ~inside), found | (near & inside)
    return held & found


def _all(masks: Sequence[Any]) -> Any:
    """[(n, 2), (n, 1)] → (n,): which samples are true in all entries of some masks; shared ones are for all."""
    count = max([len(x) for x in masks if x.ndim], default=0)
    return functools.reduce(np.logical_and, [_by_samples(x, (count,)) for x in masks])


def _without_distances(instance: Instance) -> tuple[Term, Term, list[Term]]:
    """op(x, y, d) = f(d), d a leaf → op(x, y, x − y) = f(x − y), [x, y]: the sides without leaves that follow from
    others.
    """
    sides, free = [instance.left, instance.right], list(instance.leaves.values())
    while found := _distance(sides[0], free):
        sides = substitute(sides, found)
        free = [t for t in free if t not in found]
    return sides[0], sides[1], free


def _distance(left: Term, free: list[Term]) -> dict[Term, Term]:
    """op(x, y, d) → {d: x − y}, op(y + d, y, d) → {}: a leaf that is the distance of two others."""
    for node in subterms(left):
        if node.op.distance is not None:
            x, y, d = (node.rands[i] for i in node.op.distance)
            if d in free and d not in reachable(x, y):
                return {d: subtract(x, y)}
    return {}


def _ties(t: Term, rng: np.random.Generator) -> Any:
    """x ≥ 0 → [0, 1, 0.5, 1, …]: entries for a leaf, of few values that its range holds."""
    held = [x for x in TIES if t.op.range.holds(x)]
    return rng.choice(held or [t.op.range.low / 2 + t.op.range.high / 2], size=t.type.shape)


def _by_samples(defined: Any, shape: tuple[int, ...]) -> Any:
    """(n, 2, 1), (n, 2, 3) → (n, 1, 1): which samples are defined in all entries, or all if shared."""
    if not defined.ndim or not shape or len(defined) != shape[0]:
        return bool(np.all(defined))
    return np.all(defined.reshape(len(defined), -1), axis=1).reshape(-1, *[1] * (len(shape) - 1))
