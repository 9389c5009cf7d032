"""Slopes of a row's sides where its cases meet: two sides that are equal may differ in slope at a point.

x = where(x > 0, x, −|x|) has the slope 1 on the left and 0 on the right, at 0: a case or a size that the right side
brings in has a kink of its own, which no value shows. So the sides are differentiated, at numbers of which many are
zero, one, and equal to or opposite to each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.accuracy.instance import Instance
from relgrad.accuracy.report import Witness
from relgrad.balls.graph import enclose
from relgrad.errors import RelgradError
from relgrad.gradient import gradient, ones_like
from relgrad.interpret import interpret
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


@np.errstate(all="ignore")
def differing_slopes(row: Relation, instance: Instance, rng: np.random.Generator) -> Witness | None:
    """|x| = √(x²) → None, x = |x| → Witness at x = −1 and at 0: inputs at which the sides have other slopes.

    The left side is differentiated as it is written, the right side as with a library of the row alone.
    """
    left, right, free = _without_distances(instance)
    values = {t: _ties(t, rng) for t in free}
    wholes, exact = [left, broadcast_like(right, left)], values | instance.rounded
    try:
        before, after = [
            schedule(gradient([(side, ones_like(side))], free), library).after
            for side, library in zip(wholes, (Library([]), Library([row])), strict=True)
        ]
        defined, *truths = enclose([left, *before], exact, BITS, limit=LIMIT)
        whole = np.isfinite(defined.middle)
        written, rewritten = interpret(before, values), interpret(after, values)
    except (RelgradError, ArithmeticError, np.linalg.LinAlgError):  # of a singular matrix, or without slope
        return None
    for leaf, truth, old, new in zip(free, truths, written, rewritten, strict=True):
        known = truth.middle
        near = CLOSE * (1.0 + np.abs(known))
        told = np.isfinite(known) & (np.abs(old - known) <= near) & _by_samples(whole, known.shape)
        for place in map(tuple, np.argwhere(told & ~(np.abs(new - known) <= near))[:1]):
            name = next(n for n, t in instance.leaves.items() if t is leaf)
            why = f"the slopes of the sides differ, to {name}"
            return Witness(why, instance.at(values, place), str(known[place]), str(new[place]))
    return None


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
