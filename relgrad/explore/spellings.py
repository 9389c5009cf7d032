"""Spellings: the library run backwards, from a stable form to what people write for it.

Relations are read from right to left, and laws from what they make to what they are made of, at any places and any
number of times. What comes out is equal over the reals, and seldom as accurate.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count, islice
from typing import Any

import numpy as np

from relgrad.accuracy.instance import Instance, instances
from relgrad.accuracy.restricted import Restricted
from relgrad.display.text import show
from relgrad.errors import RelationError, RelgradError
from relgrad.explore.match import symbolic
from relgrad.explore.wordings import Wording, Wordings
from relgrad.logic.build import fit
from relgrad.logic.index import Index, compile_pattern
from relgrad.logic.theory import theories_of
from relgrad.logic.unify import fresh, is_variable
from relgrad.logic.view import product_of
from relgrad.looks import Lazy
from relgrad.op import Constant
from relgrad.ops.arithmetic import subtract
from relgrad.relation import Library, Relation
from relgrad.term import Term, is_term, substitute, subterms

Terms = deque[Iterator[Term]]

ROWS = 24
"""So many numbers or so stand for each variable of a row."""
IDLE = 50
"""So many moves, and then so many turns of them, may lead to nothing that NumPy can write."""


class Spellings(Lazy[Term]):
    """spellings[0] → log(Σ eˣ): a lazy sequence of terms, printed as NumPy."""

    nothing = "no spellings"

    def _text(self, member: Term) -> str:
        return show(member)


def spellings(subject: Any, library: Library, seed: int = 0) -> Spellings:
    """logsumexp(x) → log(Σ eˣ), …: all that people may write for a stable form:
    the right side of a row, or an expression.

    Rows are run from right to left, laws in reverse, at any place, any number of times. Spellings that are few
    moves away and such that are many take turns; each comes once, and all that there are come in the end. They are
    written with NumPy's functions alone. `seed` shuffles their order.
    """
    if isinstance(subject, Relation):
        instance = instance_of(subject)
        starts = [instance.left, instance.right]
    else:
        starts = [symbolic(subject)]
    return Spellings(_spelled(starts, _Moves(library, random.Random(seed))))


def instance_of(row: Relation, count: int = ROWS) -> Instance:
    """log(eᵃ) = a → log(eˣ) = x: the two sides of a row with arrays on its domain for the variables, and the last axis
    for axes.

    Raises RelationError where the right side is found by a condition only.
    """
    found = any(getattr(condition, "finds", ()) for condition in row.conditions)
    made = [i for i in instances(row, count) if all(axes == (-1,) for axes in i.axes.values())]
    if found or not made:
        raise RelationError(
            f"{row.name} has no stable form that could be spelled",
            cause="its right side is found by a condition, from what its left side is",
            cure="give the stable form itself, as an expression",
        )
    found = next((i for i in made if len({t.type for t in i.leaves.values()}) == 1), made[0])
    distances = _distances(found.left)
    left, right = substitute([found.left, found.right], distances)
    right = fit(right, left)
    leaves = {name: t for name, t in found.leaves.items() if t not in distances}
    return Instance(left, right, leaves, found.axes)


def _distances(root: Term) -> dict[Term, Any]:
    """f(x, y, d) → {d: x − y}: leaves that an op takes for accuracy alone, as the distance of its first two operands.

    f(g(x, y, d), 1, e) → {d: x − y, e: g(x, y, x − y) − 1}
    """
    found: dict[Term, Any] = {}
    for node in subterms(root):
        *rest, last = getattr(node.op, "rules", (None,))
        if len(rest) < 2 or last is not None:
            continue
        leaf = node.rands[-1]
        if type(leaf.op) is Restricted and leaf not in subterms(*node.rands[:-1]):
            (found[leaf],) = substitute([subtract.make_node(*node.rands[:2])], found)
    return found


class _Moves:
    """softplus(x) → log(1 + eˣ): the moves back from a term:
    rows from right to left, and laws, each at all of its places.

    In some order.
    """

    def __init__(self, library: Library, rng: random.Random):
        self._rng = rng
        self._rows = [row for row in library if _can_go_back(row)]
        self._index = Index([compile_pattern(row.right) for row in self._rows])

    def back(self, t: Term) -> Iterator[Term]:
        """softplus(x) → log(1 + eˣ), …: the terms that are one move away, the moves in turn."""
        places = [x for x in subterms(t) if x.type.differentiable]
        self._rng.shuffle(places)
        by_move: dict[Any, list[Term]] = {}
        for place in places:
            for move in self.at(place):
                by_move.setdefault(move, []).append(place)
        trials = [self._anywhere(t, move, where) for move, where in by_move.items()]
        self._rng.shuffle(trials)
        while trials:
            left = []
            for trial in trials:
                new = next(trial, None)
                if new is not None:
                    left.append(trial)
                    yield new
            trials = left

    def at(self, place: Term) -> list[Relation | Wording]:
        """Return the laws and rows that may lead back from the root of a term."""
        rows = [self._rows[i] for i in self._index.candidates(place, theories_of(place.op))]
        return [*_wordings(place.type.dtype).at(place), *rows]

    def _anywhere(self, whole: Term, move: Relation | Wording, places: Sequence[Term]) -> Iterator[Term]:
        """(t, move, places) → t with one place reworded, …"""
        for place in places:
            found = _backwards(move, place) if isinstance(move, Relation) else move.reword(place)
            for new in _fitting(found):
                if new is not place:
                    yield substitute([whole], {place: new})[0]


def _fitting(found: Iterator[Term]) -> Iterator[Term]:
    """[t₁, t₂, error] → t₁, t₂: terms until something does not fit together."""
    try:
        yield from found
    except RelgradError:
        return


def _can_go_back(row: Relation) -> bool:
    """Whether people might come from the right side of a row: it is no bare variable, and no number was rounded."""
    numbers = [t.op.value for t in subterms(row.left, row.right) if type(t.op) is Constant]
    exact = all(float(v) * 2**20 % 1 == 0 for value in numbers for v in np.ravel(value))
    return exact and any(not is_variable(base) for base in product_of(row.right).factors)


_wordings = lru_cache(maxsize=8)(Wordings)


def _backwards(row: Relation, t: Term) -> Iterator[Term]:
    """log(eᵃ) = a at x → log(eˣ): a row read from right to left at a term, a few answers at most."""
    before = fresh("before")
    for state in islice(row(before, t)({}), 4):
        new = state[before]
        if is_term(new) and new.ground and new.type == t.type:
            yield new


def rewordings(t: Term, library: Library) -> Iterator[tuple[str, Term]]:
    """2·x → ("2·a = a + a", x + x), …: the other ways to write a term by one row read backwards, or one law, with its
    name.
    """
    for move in _moves(library).at(t):
        if isinstance(move, Relation):
            found = [(move.name, _backwards(move, t))]
        else:
            sides = [(f"{show(move.pattern)} = {show(x)}", replace(move, others=(x,))) for x in move.others]
            found = [(name, side.reword(t)) for name, side in sides]
        for name, terms in found:
            yield from ((name, new) for new in _fitting(terms) if new is not t)


@lru_cache(maxsize=8)
def _moves(library: Library) -> _Moves:
    return _Moves(library, random.Random(0))


def is_plain(t: Term, also: Container[Any] = ()) -> bool:
    """Whether a term is written with NumPy's functions alone, and the ops that are named."""
    return all(not node.op.imports or node.op in also for node in subterms(t))


def _spelled(starts: Sequence[Term], moves: _Moves) -> Iterator[Term]:
    """starts → terms at distance 1, 2, …: as many of each, a further distance whenever the number has doubled."""
    *written, _ = starts
    # What a row is about is written by people, such as SciPy's gamma function; what it becomes is not.
    also = {x.op for x in subterms(*written) if isinstance(getattr(x.op, "function", None), np.ufunc)}
    yield from [t for t in written if is_plain(t, also)]
    seen = {*starts}
    levels = [deque(map(moves.back, starts)), deque()]
    idle = 0
    for turn in count(1):
        if not any(levels) or idle > IDLE:
            return
        idle += 1
        for distance in range(min(turn.bit_length(), len(levels) - 1)):
            for new in _further(levels[distance], levels[distance + 1], seen, moves):
                if is_plain(new, also):
                    idle = 0
                    yield new
                    break
        if levels[-1]:
            levels.append(deque())


def _further(level: Terms, further: Terms, seen: set[Term], moves: _Moves) -> Iterator[Term]:
    """level → some new terms of a distance; their successors → the level one move further."""
    for _ in range(IDLE):
        if not level:
            return
        successors = level.popleft()
        new = next(successors, None)
        if new is None:
            continue
        level.append(successors)
        if new not in seen:
            seen.add(new)
            further.append(moves.back(new))
            yield new
