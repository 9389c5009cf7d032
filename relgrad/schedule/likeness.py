"""Which places look alike: where nothing applied, nothing is looked for again at a place of the same looks.

The steps of a loop make the same terms of other operands, and most relations fail at most places. A place looks as
the first terms below it do, in the order of a breadth-first walk: their heads, types and ranges, and which of them are
one and the same; the names of inputs do not matter. Relations look no further, but for sums and products that are
longer than a view holds. An increment may rest on what two large programs share further below; of the many places that
a loop makes it is looked for at those of new looks.

Not to look is always sound: a place is left as it is, as where no relation applies, and what cancels there has a guard.
"""

from __future__ import annotations

from typing import Any

from relgrad.leaf import Input
from relgrad.logic.conditions import range_of
from relgrad.op import is_constant
from relgrad.term import Term
from relgrad.types import Interval

SEEN = 32
"""So many distinct terms make the looks of a place."""
ALWAYS = 256
"""At so many places of a program everything is tried, whatever they look like."""

_Look = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""The labels of the first terms of a walk, and where their operands are in it."""


class Likeness:
    """failed(sin(x) + y) → is_hopeless(sin(u) + w) = True: the looks of places at which nothing applied."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._labels: dict[Term, int] = {}
        self._looks: dict[Term, _Look] = {}
        self._failed: set[Any] = set()
        """Places, and looks of places; each with how it was looked at."""
        self._places: list[tuple[Term, Any]] = []
        self._tried = 0

    def is_hopeless(self, t: Term, how: Any) -> bool:
        """(sin(u) + w, how) → True after failed(sin(x) + y, how): whether nothing applied at a place of these looks.

        The first places are always tried, though none twice.
        """
        if (t, how) in self._failed:
            return True
        self._tried += 1
        if self._tried <= ALWAYS:
            return False
        while self._places:
            place, its = self._places.pop()
            self._failed.add((self._look(place), its))
        return (self._look(t), how) in self._failed

    def failed(self, t: Term, how: Any) -> None:
        """Say that nothing applied at a place."""
        self._failed.add((t, how))
        self._places.append((t, how))

    def _look(self, t: Term) -> _Look:
        """x + sin(x) → (+, x, sin), ((1, 2), (), (-1,)): the first terms below t, and where the operands of each are.

        Places of operands are counted from the term that has them, so that f(x) looks as f before what x looks like.
        """
        found = self._looks.get(t)
        if found is None:
            if len(t.rands) == 1 and (below := self._looks.get(t.rands[0])) is not None:
                own = self._labels.get(t) or self._label(t)
                found = (own, *below[0][: SEEN - 1]), ((1,), *below[1][: SEEN - 1])
            else:
                found = self._walked(t)
            self._looks[t] = found
        return found

    def _walked(self, t: Term) -> _Look:
        """sin(x) + x → labels (add, sin, x), places ((1, 2), (1,), ()):
        a place's looks, down to so many terms, breadth first.

        A place is a distance, so that shared operands are seen to be shared.
        """
        order, number, places, size = [t], {t: 0}, list[tuple[int, ...]](), 1
        for i, node in enumerate(order):
            if i == SEEN:
                break
            own = []
            for rand in node.rands:
                place = number.setdefault(rand, size)
                if place == size:
                    order.append(rand)
                    size += 1
                own.append(place - i)
            places.append(tuple(own))
        labels = self._labels
        return tuple([labels[x] if x in labels else self._label(x) for x in order[:SEEN]]), tuple(places)

    def _label(self, t: Term) -> int:
        """sin(x) ≠ sin(y > 0), x : float64 = y : float64:
        the number of a term's head, type and sign; data have no names.
        """
        known = _signs(range_of(t)) if t.type.differentiable else None
        datum = is_constant(t) and (t.type.size != 1 or not _is_plain(t))
        nameless = datum or t.op.laws.selects or type(t.op) is Input
        key = type(t.op) if nameless else t.op, t.type, known
        label = self._labels[t] = self._numbers.setdefault(key, len(self._numbers) + 1)
        return label


def _signs(known: Interval) -> tuple[bool, ...]:
    """Return on which sides of -1, 0 and 1 all entries lie."""
    low, high = known.low, known.high
    return known.positive, low >= 0, low >= 1, low >= -1, high <= 1, high <= 0, high < 0


def _is_plain(t: Term) -> bool:
    """Whether a constant is a number that relations are written with, and not a datum."""
    scaled = 12 * t.op.value.item()
    return abs(scaled) < 1000 and scaled == int(scaled)
