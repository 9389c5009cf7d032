"""Cosines of the angles between a vector and an axis: an entry over the length of the whole.

    u = x/√(x² + y²), y ≥ 0:    arccos u = arctan2(y, x),    1 - u² = y²/(x² + y²)

Near ±1 the angle is in y alone, which the vector has across the axis, and rounding u takes it away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relgrad.logic.build import build_product, opposite
from relgrad.logic.conditions import Goal, finding
from relgrad.logic.group import ProductView, multiplied
from relgrad.logic.match import match
from relgrad.logic.unify import State, reify_term
from relgrad.logic.view import product_of
from relgrad.op import as_term, constant
from relgrad.ops.arithmetic import absolute, hypot
from relgrad.ops.lengths import Norm, Unit
from relgrad.ops.selection import where
from relgrad.ops.structure import RESHAPES, broadcast_to, expand, squeeze
from relgrad.term import Term, is_term
from relgrad.trace.tracer import Tracer

LARGEST = 1 << 16
"""Vectors with more entries altogether than this are not followed entry by entry."""
ROW = 8
"""The entries of rows as long as this, or longer, are not set against the rest of their row all at once."""
LEGS = 8
"""A hypotenuse of more legs than this is not taken apart."""


def along_and_across(u: Term) -> tuple[Term, Term] | None:
    """Return x and y ≥ 0 where u = x/√(x² + y²), or None.

    unit(v)[0]      v[0], ‖(0, v[1], v[2], …)‖
    a/hypot(a, b)   a, |b|
    """
    view = product_of(u)
    if abs(view.coefficient) != 1 or len(view.factors) > LEGS:
        return None
    lengths = [b for b, e in view.factors.items() if e == -1 and is_term(b)]
    for length in lengths:
        rest = multiplied((view, 1), (ProductView(1, {length: 1}), 1))
        x = build_product(rest, u.type.dtype)
        if not is_term(x):
            continue
        y = _other_legs(rest, length) if length.op is hypot else _rest_of_row(x, length)
        if y is not None:
            return x, y
    bases = [b for b, e in view.factors.items() if e == 1 and is_term(b)]
    if len(bases) != 1 or len(view.factors) != 1:
        return None
    moves, inner = _moves_of(bases[0])
    if type(inner.op) is not Unit:
        return None
    (v,) = inner.rands
    x = _moved(moves, v)
    size = _moved(moves, broadcast_to(Norm(inner.op.axes).make_node(v), v.type.shape))
    y = _rest_of_row(x, size)
    if y is None:
        return None
    return x if view.coefficient > 0 else opposite(x), y


def _other_legs(x: ProductView, length: Term) -> Term | None:
    """√(x² + y²) ⟶ |y|."""
    legs, stack = list[Term](), [length]
    while stack and len(legs) < LEGS:
        t = stack.pop()
        if t.op is hypot:
            stack += t.rands[::-1]
        else:
            legs.append(t)
    for i, leg in enumerate(legs):
        view = product_of(leg)
        if not stack and view.factors == x.factors and abs(view.coefficient) == abs(x.coefficient):
            first, *others = legs[:i] + legs[i + 1 :]
            for other in others:
                first = hypot(first, other)
            return first if others else absolute(first)
    return None


def _rest_of_row(x: Term, length: Term) -> Term | None:
    """x = v[0], ‖v‖ → ‖v[1:]‖: the length of v without the entry x, where a length is that of v, for each entry of x.

    None where an entry of x is no entry of its row of v, or not known to be. Entries are followed by their numbers
    through
    all that selects or moves them.
    """
    below, norm = _moves_of(length)
    if type(norm.op) is not Norm or None in (shape := norm.rands[0].type.shape):
        return None
    (v,) = norm.rands
    above, source = _moves_of(x if product_of(x).coefficient > 0 else opposite(x))
    inside, same = _moves_of(v)
    if source is not same or None in source.type.shape:
        return None
    size = math.prod(source.type.shape)
    if not 0 < max(size, math.prod(shape)) <= LARGEST:
        return None
    entries = _followed(inside, np.arange(size).reshape(source.type.shape)).ravel()
    found = _followed(above, np.arange(size).reshape(source.type.shape))
    order = np.argsort(entries, kind="stable")
    at = np.searchsorted(entries[order], found)
    if len(np.unique(entries)) < entries.size or np.any(at == entries.size):
        return None
    places = order[at]
    if np.any(entries[places] != found):
        return None
    rows = np.arange(math.prod(norm.type.shape)).reshape(norm.type.shape)
    own = _followed(below, rows)
    if np.any(np.broadcast_to(rows, shape).ravel()[places] != own):
        return None
    others = np.ones(shape, bool)
    others.ravel()[places] = False
    if np.any((~others).sum(axis=norm.op.axes) > 1):
        return _rest_of_each(v, norm.op.axes) if x is v else None
    for axis in range(-len(shape), 0):
        first = others.take([0], axis)
        others = first if np.all(others == first) else others
    return _moved(below, Norm(norm.op.axes).make_node(_kept(v, others, norm.op.axes)))


def _kept(v: Term, mask: np.ndarray, axes: tuple[int, ...]) -> Term:
    """v, [False, True, True] → v[1:];    v, [True, False, True] → where(mask, v, 0): what has the length of the entries
    kept, as a slice where they are one.
    """
    along = [axis for axis in range(-mask.ndim, 0) if mask.shape[axis] > 1]
    ends = np.flatnonzero(np.diff(mask.ravel(), prepend=False, append=False))
    if len(along) == 1 and along[0] in axes and len(ends) == 2:
        return as_term(Tracer(v)[(..., slice(*map(int, ends)), *(slice(None),) * (-1 - along[0]))])
    return where(constant(mask), v, constant(0.0, v.type.dtype))


def _rest_of_each(v: Term, axes: tuple[int, ...]) -> Term | None:
    """v → (‖v without vᵢ‖)ᵢ: for each entry of short rows the length of the others."""
    if len(axes) != 1 or (n := v.type.extent(axes[0]) or ROW) >= ROW:
        return None
    (axis,) = axes
    others = ~np.eye(n, dtype=bool).reshape((n, n) + (1,) * (-1 - axis))
    rest = where(constant(others), expand(v, (axis - 1,)), constant(0.0, v.type.dtype))
    return squeeze(Norm(axes).make_node(rest), axes)


def _moves_of(t: Term) -> tuple[list[Term], Term]:
    """v[1:].T[0] → [[0], .T, [1:]], v: all that selects from an array, or moves its axes, at the root of a term, and
    the array.
    """
    moves: list[Term] = []
    while len(t.rands) == 1 and (type(t.op) in RESHAPES or t.op.laws.selects):
        moves.append(t)
        t = t.rands[0]
    return moves, t


def _moved(moves: Sequence[Term], t: Term) -> Any:
    for move in reversed(moves):
        t = move.op.make_node(t)
    return t


def _followed(moves: Sequence[Term], places: Any) -> np.ndarray:
    """Return which entries of an array are selected and where they are moved."""
    for move in reversed(moves):
        places = move.op.compute(places)
    return np.asarray(places)


def direction_cosineo(u: Any, x: Any, y: Any) -> Goal:
    """Construct a goal stating that u = x/√(x² + y²), where y is not negative; u is given."""

    def direction_cosine(s: State) -> Iterator[State]:
        t, a, b = (reify_term(getattr(v, "term", v), s) for v in (u, x, y))
        if is_term(t) and t.ground and (found := along_and_across(t)) is not None:
            for state in match(a, found[0], s):
                yield from match(b, found[1], state)

    goal = finding(direction_cosine, u, x)
    goal.finds |= finding(direction_cosine, u, y).finds  # type: ignore[attr-defined]
    return goal
