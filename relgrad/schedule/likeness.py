"""Which places look alike: where nothing applied, nothing is looked for again at a place of the same looks.

The steps of a loop make the same terms of other operands, and most relations fail at most places. A place looks as
the first terms below it do, in the order of a breadth-first walk: their heads, types and ranges, and which of them are
one and the same; the names of inputs do not matter. Relations look no further, but for sums and products that are
longer than a view holds.

Not to look is always sound: a place is left as it is, as where no relation applies.
"""

from __future__ import annotations

from typing import Any

from relgrad.leaf import Input
from relgrad.logic.conditions import range_of
from relgrad.op import is_constant
from relgrad.term import Term
from relgrad.types import ArrayType, Interval

SEEN = 32
"""So many distinct terms make the looks of a place."""
ALWAYS = 256
"""At so many places of a program everything is tried, whatever they look like."""


class Likeness:
    """The looks of places at which nothing applied."""

    def __init__(self) -> None:
        self._labels: dict[Any, int] = {}
        self._label_of: dict[Term, int] = {}
        self._looks: dict[Term, Any] = {}
        self._failed: set[Any] = set()
        self._places: list[tuple[Term, Any]] = []
        self._tried = 0

    def is_hopeless(self, t: Term, how: Any) -> bool:
        """Whether nothing applied at a place of these looks, tried in the same way."""
        self._tried += 1
        if self._tried <= ALWAYS:
            return False
        while self._places:
            place, its = self._places.pop()
            self._failed.add((self._look(place), its))
        return (self._look(t), how) in self._failed

    def failed(self, t: Term, how: Any) -> None:
        """Say that nothing applied at a place."""
        self._places.append((t, how))

    def _look(self, t: Term) -> Any:
        found = self._looks.get(t)
        if found is None:
            order = [t]
            number = {t: 0}
            count = 1
            look: list[int] = []
            for node in order:
                for rand in node.rands:
                    i = number.setdefault(rand, count)
                    if i == count:
                        count += 1
                        order.append(rand)
                    look.append(i)
                look.append(-1)
                if count > SEEN:
                    break
            labels = self._label_of
            look += [labels[node] if node in labels else self._label(node) for node in order]
            found = self._looks[t] = hash(tuple(look))
        return found

    def _label(self, t: Term) -> int:
        """Return the number of what tells a term from others of other heads, types or ranges."""
        known = _signs(range_of(t)) if isinstance(t.type, ArrayType) and t.type.differentiable else None
        datum = is_constant(t) and (t.type.size != 1 or not _is_plain(t))
        nameless = datum or t.op.laws.selects or type(t.op) is Input
        key = type(t.op) if nameless else t.op, t.type, known
        label = self._label_of[t] = self._labels.setdefault(key, -1 - len(self._labels))
        return label


def _signs(known: Interval) -> tuple[bool, ...]:
    """Return on which sides of -1, 0 and 1 all entries lie."""
    low, high = known.low, known.high
    return known.positive, low >= 0, low >= 1, low >= -1, high <= 1, high <= 0, high < 0


def _is_plain(t: Term) -> bool:
    """Whether a constant is a number that relations are written with, and not a datum."""
    scaled = 12 * t.op.value.item()
    return abs(scaled) < 1000 and scaled == int(scaled)
