"""Matching the arguments of an associative symbol that does not commute: each item takes those that come next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.instantiate import instantiate
from relgrad.logic.aco.node import NONE, Node, Symbol, is_ground, make, same
from relgrad.logic.aco.plan import is_rigid

State = tuple[dict[Any, Any], tuple[tuple[Any, Any], ...], tuple[Any, ...]]


class Word:
    """Items of a pattern that have to take letters `low` to `high` of a word, in order and all of them.

    A variable takes one letter or more; none where there is a unit (`zero`).
    """

    __slots__ = ("high", "items", "letters", "low", "symbol", "zero")

    def __init__(
        self,
        symbol: Symbol,
        items: tuple[Any, ...],
        letters: tuple[Any, ...],
        low: int,
        high: int,
        zero: bool,
    ):
        self.symbol, self.items, self.letters = symbol, items, letters
        self.low, self.high, self.zero = low, high, zero

    def width(self, bindings: Mapping[Any, Any]) -> int:
        """Return a guess how many ways there are for the item that comes next."""
        flexible = sum(not is_rigid(p) and p not in bindings for p in self.items)
        return 1 if flexible < 2 else self.high - self.low

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """Yield the states that follow: an item at an end takes letters in every way."""
        word = self._without_bound(bindings)
        if word is None:
            return
        items, low, high = word.items, word.low, word.high
        if not items:
            if low == high:
                yield bindings, (), others
            return
        for end, p in ((0, items[0]), (-1, items[-1])):
            if is_rigid(p):
                if low < high:
                    letter = word.letters[low if end == 0 else high - 1]
                    rest = items[1:] if end == 0 else items[:-1]
                    after = word._at(rest, low + (end == 0), high + end)
                    yield bindings, ((p, letter),), (after, *others)
                return
        p, rest = items[0], items[1:]
        least = sum(not (self.zero and not is_rigid(q)) for q in rest)
        shortest = 0 if self.zero else 1
        if not rest:
            shortest = max(shortest, high - low)
        for size in range(shortest, high - low - least + 1):
            value = make(self.symbol, self.letters[low : low + size]) if size else self.symbol.unit
            following = (word._at(rest, low + size, high), *others)
            if type(p) is Var:
                yield {**bindings, p: value}, (), following
            else:
                yield bindings, ((p, value),), following

    def _at(self, items: tuple[Any, ...], low: int, high: int) -> Word:
        return Word(self.symbol, items, self.letters, low, high, self.zero)

    def _without_bound(self, bindings: Mapping[Any, Any]) -> Word | None:
        """Return the word without the known items at its ends, which must be the letters there; None if they aren't."""
        items: list[Any] = []
        for p in self.items:
            value = bindings.get(p, NONE) if type(p) is Var else instantiate(p, bindings)
            items.extend([p] if value is NONE else self._spelled(value))
        low, high, start, stop = self.low, self.high, 0, len(items)
        while start < stop and is_ground(items[start]):
            if low == high or not same(items[start], self.letters[low]):
                return None
            low, start = low + 1, start + 1
        while start < stop and is_ground(items[stop - 1]):
            if low == high or not same(items[stop - 1], self.letters[high - 1]):
                return None
            high, stop = high - 1, stop - 1
        least = sum(not (self.zero and not is_rigid(p)) for p in items[start:stop])
        if least > high - low:
            return None
        if least < high - low and all(map(is_rigid, items[start:stop])):
            return None
        return self._at(tuple(items[start:stop]), low, high)

    def _spelled(self, value: Any) -> tuple[Any, ...]:
        if type(value) is Node and value.symbol is self.symbol and value.args:
            return value.args
        return () if self.zero and self.symbol.has_unit and self.symbol.is_unit(value) else (value,)


def open_word(p: Node, t: Any) -> Word | None:
    """Return the problem of an associative pattern and a ground subject, or None where their ends clash."""
    symbol = p.symbol
    if type(t) is Node and t.symbol is symbol:
        letters = t.args
    else:
        letters = () if symbol.has_unit and symbol.is_unit(t) else (t,)
    zero = symbol.has_unit and symbol.admits_unit(letters)
    return Word(symbol, p.args, letters, 0, len(letters), zero)._without_bound({})
