"""Matching the arguments of a commutative symbol: which part of the pattern takes which of the subject's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.index import Index, index_of
from relgrad.logic.aco.instantiate import instantiate
from relgrad.logic.aco.node import Node, Symbol, bag, is_ground, term_of
from relgrad.logic.aco.plan import Item, candidates, is_rigid, least_candidates, most_determined, within
from relgrad.logic.aco.shares import shares

State = tuple[dict[Any, Any], tuple[tuple[Any, Any], ...], tuple[Any, ...]]


class Rest:
    """The arguments of a subject that are left over: a child that is made when it is needed."""

    __slots__ = ("index", "symbol", "taken")

    def __init__(self, symbol: Symbol, index: Index, taken: Mapping[Any, int]):
        self.symbol, self.index, self.taken = symbol, index, taken

    def parts(self) -> dict[Any, int]:
        """Return the arguments, with how often each is left."""
        return without(self.index.parts, self.taken)

    def child(self) -> Any:
        """Return the normal form."""
        return _child(self.symbol, self.parts())

    def term(self) -> Any:
        """Return the term, without making it a child first where each argument is there once."""
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
    """Return the difference of two multisets."""
    left = dict(parts)
    for x, n in taken.items():
        if n == left[x]:
            del left[x]
        else:
            left[x] -= n
    return left


class Bag:
    """Items of a pattern (child, multiplicity) that have to take what is left of a multiset of arguments, all of it.

    A variable takes one or more arguments under an associative symbol, exactly one otherwise; none where there is
    a unit (`zero`).
    """

    __slots__ = ("index", "items", "left", "symbol", "taken", "zero")

    def __init__(
        self,
        symbol: Symbol,
        index: Index,
        items: tuple[Item, ...],
        taken: dict[Any, int],
        left: int,
        zero: bool,
    ):
        self.symbol, self.index, self.items, self.taken = symbol, index, items, taken
        self.left, self.zero = left, zero

    def width(self, bindings: Mapping[Any, Any]) -> int:
        """Return a guess how many ways there are for the item that comes next."""
        rigid = [item for item in self.items if is_rigid(item[0])]
        if rigid:
            return least_candidates(rigid, bindings, self.index)
        unbound = sum(type(p) is not Var or p not in bindings for p, _ in self.items)
        return 1 if unbound < 2 else self.left ** min(unbound - 1, 3)

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """Yield the states that follow: the most determined item takes its arguments in every way."""
        bag_ = self._without_bound(bindings)
        if bag_ is None or not bag_._fits():
            return
        items = bag_.items
        if not items:
            yield bindings, (), others
            return
        rigid = [item for item in items if is_rigid(item[0])]
        if rigid:
            yield from bag_._one_each(rigid, bindings, others)
            return
        # Those that are taken most often have the fewest ways; a variable that is left takes the rest.
        item = min(items, key=lambda item: (type(item[0]) is Var, -item[1]))
        rest = tuple([other for other in items if other is not item])
        if type(item[0]) is Var and not rest:
            yield from bag_._all_left(item, bindings, others, once)
        else:
            yield from bag_._some(item, rest, bindings, others)

    def _without_bound(self, bindings: Mapping[Any, Any]) -> Bag | None:
        """Return the bag without the items that are known, and what they take; None where it is not there."""
        if not bindings:
            return self
        items: list[Item] = []
        taken, left = dict(self.taken), self.left
        for p, m in self.items:
            value = bindings.get(p, p) if type(p) is Var else instantiate(p, bindings)
            if value is p:
                items.append((p, m))
                continue
            for x, n in within(self.symbol, value, self.zero).items():
                if not is_ground(x):
                    items.append((x, n * m))
                    continue
                taken[x] = taken.get(x, 0) + n * m
                left -= n * m
                if taken[x] > self.index.parts.get(x, 0):
                    return None
        return Bag(self.symbol, self.index, tuple(items), taken, left, self.zero)

    def _fits(self) -> bool:
        """Whether there may be enough for every item, and items for everything."""
        least = sum(m for p, m in self.items if not (self.zero and not is_rigid(p)))
        if least > self.left:
            return False
        if self.symbol.associative and any(not is_rigid(p) for p, _ in self.items):
            return True
        return sum(m for _, m in self.items) >= self.left

    def _one_each(
        self, rigid: list[Item], bindings: dict[Any, Any], others: tuple[Any, ...]
    ) -> Iterator[State]:
        item = most_determined(rigid, bindings, self.index)
        p, m = item
        rest = tuple([other for other in self.items if other is not item])
        parts, taken = self.index.parts, self.taken
        for c in candidates(p, bindings, self.index, rest, self.symbol.idempotent):
            n = taken.get(c, 0) + m
            if n <= parts[c]:
                after = Bag(self.symbol, self.index, rest, {**taken, c: n}, self.left - m, self.zero)
                yield bindings, ((p, c),), (after, *others)

    def _some(
        self, item: Item, rest: tuple[Item, ...], bindings: dict[Any, Any], others: tuple[Any, ...]
    ) -> Iterator[State]:
        p, m = item
        least = sum(n for q, n in rest if not (self.zero and not is_rigid(q)))
        most = (self.left - least) // m
        if not self.symbol.associative:
            most = min(most, 1)
        left = without(self.index.parts, self.taken)
        available = [(x, n // m) for x, n in left.items() if n >= m]
        for share in shares(available, range(0 if self.zero else 1, most + 1)):
            taken = dict(self.taken)
            for x, n in share.items():
                taken[x] = taken.get(x, 0) + n * m
            size = sum(share.values())
            after = Bag(self.symbol, self.index, rest, taken, self.left - size * m, self.zero)
            value = _child(self.symbol, share)
            if type(p) is Var:
                yield {**bindings, p: value}, (), (after, *others)
            else:
                yield bindings, ((p, value),), (after, *others)

    def _all_left(
        self, item: Item, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        p, m = item
        value: Any = Rest(self.symbol, self.index, self.taken)
        if m > 1:
            parts = value.parts()
            if any(n % m for n in parts.values()):
                return
            value = _child(self.symbol, {x: n // m for x, n in parts.items()})
        elif p not in once or not self.symbol.associative:
            value = _child(self.symbol, value.parts())
        yield {**bindings, p: value}, (), others


def _child(symbol: Symbol, parts: dict[Any, int]) -> Any:
    """Return the child that takes some arguments: one stands for itself, though the symbol be not associative."""
    if len(parts) == 1:
        ((x, n),) = parts.items()
        if n == 1:
            return x
    return bag(symbol, parts) if parts else symbol.unit


def open_bag(p: Node, t: Any) -> Bag | Either | None:
    """Return the problem of a commutative pattern and a ground subject, or None where heads or numbers clash."""
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
    zero = symbol.has_unit and symbol.admits_unit(index.parts)
    items: list[Item] = []
    taken: dict[Any, int] = {}
    for x, n in p.parts.items():
        if is_ground(x):
            if index.parts.get(x, 0) < n:
                return None
            taken[x] = n
        else:
            items.append((x, n))
    opened = Bag(symbol, index, tuple(items), taken, index.total - sum(taken.values()), zero)
    return opened if opened._fits() else None


class Either:
    """Problems one of which has to be solved; none has an answer of another."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: tuple[Bag, ...]):
        self.alternatives = alternatives

    def width(self, bindings: Mapping[Any, Any]) -> int:
        """Return the number of alternatives."""
        return len(self.alternatives)

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """Yield a state for each alternative."""
        for problem in self.alternatives:
            yield bindings, (), (problem, *others)
