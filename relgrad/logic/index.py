"""A discrimination index: which of many patterns a place can match, found without asking the others.

Patterns are filed under their root, and below that under one head that they demand of an operand, of the product or
of the sum; a place looks up the heads that it offers. So a place costs the same however many patterns there are for
other heads. What was found is kept for every place that offers the same.

Source: the indexing of terms by discrimination nets, after McCune (1992); changed from it: products and sums are
read under their theories, as sets of heads, not as strings of symbols.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from relgrad.logic.heads import Demand, Key, Pattern, head_key, heads_of, offered
from relgrad.logic.theory import BAG, PRODUCT, SUM, theories_of
from relgrad.term import Term

KEPT = 1 << 14
"""So many different offers are remembered."""

Place = tuple[int, str]
"""What is asked of a root: an operand's position, or -1 for the root itself, and how it is read."""


class Index:
    """Patterns by position, filed under the heads that they demand; `candidates` gives positions in order."""

    def __init__(self, patterns: Sequence[Pattern]):
        self._roots: dict[Any, _Shelf] = {}
        grouped: dict[Any, list[tuple[int, tuple[Demand, ...]]]] = {}
        for i, p in enumerate(patterns):
            for root, demands in _filed(p):
                grouped.setdefault(root, []).append((i, demands))
        for root, entries in grouped.items():
            self._roots[root] = _Shelf(entries)

    def candidates(self, t: Term, readings: int) -> tuple[int, ...]:
        """Return in order the patterns that a term can match at its root: as an op, and as what `readings` says."""
        found: tuple[int, ...] = ()
        shelf = self._roots.get(head_key(t.op))
        if shelf is not None and (readings & BAG or not theories_of(t.op) & BAG):
            found = shelf.candidates(t)
        if readings & PRODUCT and (shelf := self._roots.get("product")) is not None:
            found += shelf.candidates(t)
        if readings & SUM and (shelf := self._roots.get("sum")) is not None:
            found += shelf.candidates(t)
        return found if len(found) < 2 else tuple(sorted(set(found)))

    def has_root(self, key: Key) -> bool:
        """Whether a pattern is rooted in an op, or in a class of ops."""
        return key in self._roots


def _filed(p: Pattern) -> list[tuple[Any, tuple[Demand, ...]]]:
    if p.kind in ("op", "bag"):
        return [(key, p.operands) for key in p.needs]
    return [(p.kind, (Demand(-1, p.kind, p.needs),) if p.needs else ())]


class _Shelf:
    """The patterns of one root, each filed under the rarest of the heads that it demands."""

    def __init__(self, entries: list[tuple[int, tuple[Demand, ...]]]):
        self.demands = dict(entries)
        self.places: list[Place] = sorted({(d.position, d.kind) for _, ds in entries for d in ds})
        count = Counter((d.position, d.kind, key) for _, ds in entries for d in ds for key in d.heads)
        self.open: list[int] = []
        self.files: dict[tuple[int, str, Key], list[int]] = {}
        for i, demands in entries:
            keys = [(d.position, d.kind, key) for d in demands for key in d.heads]
            if keys:
                self.files.setdefault(min(keys, key=lambda key: count[key]), []).append(i)
            else:
                self.open.append(i)
        self.known: dict[tuple[frozenset[Key], ...], tuple[int, ...]] = {}

    def candidates(self, t: Term) -> tuple[int, ...]:
        offers = tuple([offered(t, at, kind) if at >= 0 else heads_of(t, kind) for at, kind in self.places])
        found = self.known.get(offers)
        if found is None:
            if len(self.known) >= KEPT:
                self.known.clear()
            found = self.known[offers] = tuple(sorted(self._search(offers)))
        return found

    def _search(self, offers: tuple[frozenset[Key], ...]) -> list[int]:
        by_place = dict(zip(self.places, offers, strict=True))
        rows = list(self.open)
        for (at, kind), heads in by_place.items():
            for key in heads:
                rows += [
                    i
                    for i in self.files.get((at, kind, key), ())
                    if all(d.heads <= by_place[d.position, d.kind] for d in self.demands[i])
                ]
        return rows
