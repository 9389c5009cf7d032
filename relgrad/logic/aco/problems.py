"""What has to be shared out: the arguments of a subject among the items of a pattern under one lawful symbol.

    s(f(x), y) = s(f(a), b, c)     a bag: each argument as often as it is there; a cover: a set, items may overlap
    s(x, y) = s(a, b, c)           a word: what comes next, in order

A problem says how many ways there are for what comes next (`width`), and yields the states that follow (`branches`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.candidates import (
    Index,
    Item,
    candidates,
    index_of,
    is_rigid,
    least_candidates,
    most_determined,
    within,
)
from relgrad.logic.aco.node import NONE, Node, Symbol, bag, instantiate, is_ground, make, same, term_of
from relgrad.logic.aco.selections import shares

State = tuple[dict[Any, Any], tuple[tuple[Any, Any], ...], tuple[Any, ...]]


class Rest:
    """a + b + c without a → b + c: the arguments that are left over, a child only when needed."""

    __slots__ = ("index", "symbol", "taken")

    def __init__(self, symbol: Symbol, index: Index, taken: Mapping[Any, int]):
        self.symbol, self.index, self.taken = symbol, index, taken

    def parts(self) -> dict[Any, int]:
        """→ {b: 1, c: 1}: the arguments, with the number of times that each is left."""
        return without(self.index.parts, self.taken)

    def child(self) -> Any:
        """→ b + c: the normal form."""
        return _child(self.symbol, self.parts())

    def term(self) -> Any:
        """→ ("+", b, c): the term, without making it a child first where each argument is there once."""
        symbol, index = self.symbol, self.index
        if index.total - len(self.taken) < 2 or index.total > len(index.parts):
            return term_of(self.child())
        parts, start = [symbol.rator], 0
        for place in sorted([index.places[x] for x in self.taken]):
            parts += index.written[start:place]
            start = place + 1
        parts += index.written[start:]
        return symbol.carrier.write(parts, symbol.associative, True)


def without(parts: Mapping[Any, int], taken: Mapping[Any, int]) -> dict[Any, int]:
    """{a: 2, b: 1}, {a: 1} → {a: 1, b: 1}: the difference of two multisets."""
    left = dict(parts)
    for x, n in taken.items():
        if n == left[x]:
            del left[x]
        else:
            left[x] -= n
    return left


class Bag:
    """f(x) + y = f(a) + b + c: items of a pattern (child, multiplicity) that have to take what is left of a multiset of
    arguments, all of it.

    A variable takes one or more arguments under an associative symbol, exactly one otherwise; none where there is
    a unit (`zero`).
    """

    __slots__ = ("index", "items", "left", "symbol", "taken", "zero")

    def __init__(
        self, symbol: Symbol, index: Index, items: tuple[Item, ...], taken: Mapping[Any, int], zero: bool
    ):
        self.symbol, self.index, self.items, self.taken, self.zero = symbol, index, items, taken, zero
        self.left = index.total - sum(taken.values())

    def width(self, bindings: Mapping[Any, Any]) -> int:
        """→ 1: a guess of the number of ways for the item that comes next."""
        rigid = [item for item in self.items if is_rigid(item[0])]
        if rigid:
            return least_candidates(rigid, bindings, self.index)
        return self._ways(sum(type(p) is not Var or p not in bindings for p, _ in self.items))

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """x + y = a + b → x = a, y = b;  x = b, y = a: the most determined item in every way."""
        now = self._without_bound(bindings)
        if now is None or not now.fits():
            return
        if not now.items:
            yield bindings, (), others
            return
        rigid = [item for item in now.items if is_rigid(item[0])]
        if rigid:
            item = most_determined(rigid, bindings, self.index)
        else:  # those that are taken most often have the fewest ways; a variable that is left takes the rest
            item = min(now.items, key=lambda item: (type(item[0]) is Var, -item[1]))
        p, m = item
        rest = tuple([other for other in now.items if other is not item])
        if rigid:
            for c in candidates(p, bindings, self.index, rest, self.symbol.idempotent):
                after = now._after(rest, {c: m})
                if after is not None:
                    yield bindings, ((p, c),), (after, *others)
            return
        for value, after in now._shares(item, rest, once):
            following = others if after is None else (after, *others)
            if type(p) is Var:
                yield {**bindings, p: value}, (), following
            else:
                yield bindings, ((p, value),), following

    def fits(self) -> bool:
        """x + y = a + b → True, x + y = a → False: enough for every item, and items for everything."""
        least = sum(m for p, m in self.items if not (self.zero and not is_rigid(p)))
        if least > self.left:
            return False
        if self.symbol.associative and any(not is_rigid(p) for p, _ in self.items):
            return True
        return sum(m for _, m in self.items) >= self.left

    def _ways(self, unbound: int) -> int:
        return 1 if unbound < 2 else self.left ** min(unbound - 1, 3)

    def _without_bound(self, bindings: Mapping[Any, Any]) -> Bag | None:
        """x + y = a + b, {x: a} → y = b: without known items and their parts; None where one is not there."""
        if not bindings:
            return self
        items: list[Item] = []
        more: dict[Any, int] = {}
        for p, m in self.items:
            value = bindings.get(p, p) if type(p) is Var else instantiate(p, bindings)
            if value is p:
                items.append((p, m))
                continue
            for x, n in within(self.symbol, value, self.zero).items():
                if is_ground(x):
                    more[x] = more.get(x, 0) + n * m
                else:
                    items.append((x, n * m))
        return self._after(tuple(items), more)

    def _after(self, items: tuple[Item, ...], more: Mapping[Any, int]) -> Bag | None:
        """x = a + b, a taken → x = b: the rest once more is taken; None where there is not so much."""
        taken = dict(self.taken)
        for x, n in more.items():
            taken[x] = taken.get(x, 0) + n
            if taken[x] > self.index.parts.get(x, 0):
                return None
        return Bag(self.symbol, self.index, items, taken, self.zero)

    def _shares(
        self, item: Item, rest: tuple[Item, ...], once: frozenset[Any]
    ) -> Iterator[tuple[Any, Bag | None]]:
        """x + y = a + b → (a, y = b), (b, y = a): values of an item, and the rest; None if there is none."""
        p, m = item
        if type(p) is Var and not rest:
            value = self._all_left(p, m, once)
            if value is not None:
                yield value, None
            return
        least = sum(n for q, n in rest if not (self.zero and not is_rigid(q)))
        most = (self.left - least) // m
        if not self.symbol.associative:
            most = min(most, 1)
        available = [(x, n // m) for x, n in without(self.index.parts, self.taken).items() if n >= m]
        for share in shares(available, range(0 if self.zero else 1, most + 1)):
            yield _child(self.symbol, share), self._after(rest, {x: n * m for x, n in share.items()})

    def _all_left(self, p: Any, m: int, once: frozenset[Any]) -> Any:
        """2·x = a + a + b + b → a + b: the m-th part of all that is left, or None where it has none."""
        rest = Rest(self.symbol, self.index, self.taken)
        if m == 1 and p in once and self.symbol.associative:
            return rest
        parts = rest.parts()
        return (
            None
            if any(n % m for n in parts.values())
            else _child(self.symbol, {x: n // m for x, n in parts.items()})
        )


class Cover(Bag):
    """x ∪ f(y) = {f(a), b}: items that have to cover a set of arguments, and may overlap."""

    __slots__ = ()

    def fits(self) -> bool:
        return bool(self.items) or len(self.taken) == len(self.index.parts)

    def _ways(self, unbound: int) -> int:
        return (2 ** min(self.index.total, 16)) if unbound else 1

    def _after(self, items: tuple[Item, ...], more: Mapping[Any, int]) -> Cover | None:
        if not all(x in self.index.parts for x in more):
            return None
        taken = {**self.taken, **dict.fromkeys(more, 1)}
        return Cover(self.symbol, self.index, tuple(dict.fromkeys(items)), taken, self.zero)

    def _shares(
        self, item: Item, rest: tuple[Item, ...], once: frozenset[Any]
    ) -> Iterator[tuple[Any, Bag | None]]:
        # The last one must take what is not covered; every other may take anything.
        parts = self.index.parts
        needed = [] if rest else [x for x in parts if x not in self.taken]
        optional = [(x, 1) for x in parts if rest or x in self.taken]
        least = 0 if needed or self.zero else 1
        for share in shares(optional, range(least, len(optional) + 1)):
            share = {x: 1 for x in parts if x in share or x in needed} if needed else share
            yield _child(self.symbol, dict(share)), self._after(rest, share)


def _child(symbol: Symbol, parts: dict[Any, int]) -> Any:
    """{a: 1} → a, {a: 1, b: 1} → a + b: one stands for itself, though the symbol be not associative."""
    if len(parts) == 1:
        ((x, n),) = parts.items()
        if n == 1:
            return x
    return bag(symbol, parts) if parts else symbol.unit


def open_bag(p: Node, t: Any) -> Bag | Either | None:
    """x + y, a + b → Bag: a commutative pattern against a ground subject; None at a clash."""
    symbol = p.symbol
    nested = type(t) is Node and t.symbol is symbol
    opened = _filled(p, index_of(t)) if nested else None
    if nested and (symbol.associative or not symbol.has_unit):
        return opened
    if not (symbol.associative or symbol.has_unit):
        return None
    # One item is the subject, all others vanish; without associativity also where the subject has the same head.
    alone = _filled(p, Index({} if symbol.has_unit and symbol.is_unit(t) else {t: 1}))
    return Either((opened, alone)) if opened and alone else opened or alone


def _filled(p: Node, index: Index) -> Bag | None:
    symbol = p.symbol
    items: list[Item] = []
    known: dict[Any, int] = {}
    for x, n in p.parts.items():
        if not is_ground(x):
            items.append((x, n))
        elif index.parts.get(x, 0) < n:
            return None
        else:
            known[x] = n
    zero = symbol.has_unit and symbol.admits_unit(index.parts)
    opened = (Cover if symbol.idempotent else Bag)(symbol, index, tuple(items), known, zero)
    return opened if opened.fits() else None


class Either:
    """x + f(y) = f(a), with or without the unit: one of several problems has to be solved."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: tuple[Bag, ...]):
        self.alternatives = alternatives

    def width(self, bindings: Mapping[Any, Any]) -> int:
        """→ 2: the number of alternatives."""
        return len(self.alternatives)

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """x·y = a·b·c → x = a, y = b·c;  x = a·b, y = c: an item at an end in every way."""
        for problem in self.alternatives:
            yield bindings, (), (problem, *others)


class Word:
    """x·y = a·b·c: items of a pattern that have to take letters `low` to `high` of a word, in order and all of them.

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
        """→ 3: a guess of the number of ways for the item that comes next."""
        flexible = sum(not is_rigid(p) and p not in bindings for p in self.items)
        return 1 if flexible < 2 else self.high - self.low

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """x·y = a·b·c → x = a, y = b·c;  x = a·b, y = c: an item at an end in every way."""
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
        """a·x = a·b → x = b: known items at the ends taken off with their letters; None if they differ."""
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
    """x·y, a·b·c → Word: the problem of an associative pattern and a ground subject, or None where their ends clash."""
    symbol = p.symbol
    if type(t) is Node and t.symbol is symbol:
        letters = t.args
    else:
        letters = () if symbol.has_unit and symbol.is_unit(t) else (t,)
    zero = symbol.has_unit and symbol.admits_unit(letters)
    return Word(symbol, p.args, letters, 0, len(letters), zero)._without_bound({})
