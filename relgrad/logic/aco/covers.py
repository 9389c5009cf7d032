"""Matching the arguments of an associative, commutative and idempotent symbol: the items cover a set together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.index import Index, index_of
from relgrad.logic.aco.instantiate import instantiate
from relgrad.logic.aco.node import Node, Symbol, bag, is_ground
from relgrad.logic.aco.plan import candidates, is_rigid, least_candidates, most_determined, within
from relgrad.logic.aco.shares import shares

State = tuple[dict[Any, Any], tuple[tuple[Any, Any], ...], tuple[Any, ...]]


class Cover:
    """Items of a pattern that have to cover a set of arguments, of which `covered` are already; they may overlap."""

    __slots__ = ("covered", "index", "items", "symbol", "zero")

    def __init__(
        self, symbol: Symbol, index: Index, items: tuple[Any, ...], covered: frozenset[Any], zero: bool
    ):
        self.symbol, self.index, self.items = symbol, index, items
        self.covered, self.zero = covered, zero

    def width(self, bindings: Mapping[Any, Any]) -> int:
        """Return a guess how many ways there are for the item that comes next."""
        rigid = [(p, 1) for p in self.items if is_rigid(p)]
        if rigid:
            return least_candidates(rigid, bindings, self.index)
        unbound = sum(type(p) is not Var or p not in bindings for p in self.items)
        return (2 ** min(self.index.total, 16)) if unbound else 1

    def branches(
        self, bindings: dict[Any, Any], others: tuple[Any, ...], once: frozenset[Any]
    ) -> Iterator[State]:
        """Yield the states that follow: the most determined item takes arguments in every way."""
        cover = self._without_bound(bindings)
        if cover is None:
            return
        items, covered, parts = cover.items, cover.covered, self.index.parts
        if not items:
            if len(covered) == len(parts):
                yield bindings, (), others
            return
        rigid = [(p, 1) for p in items if is_rigid(p)]
        if rigid:
            p, _ = most_determined(rigid, bindings, self.index)
            rest = tuple([q for q in items if q is not p])
            for c in candidates(p, bindings, self.index, [(q, 1) for q in rest], True):
                yield bindings, ((p, c),), (cover._after(rest, frozenset([c])), *others)
            return
        p = min(items, key=lambda p: type(p) is Var)
        rest = tuple([q for q in items if q is not p])
        # The last one must take what is not covered; every other may take anything.
        needed = [] if rest else [x for x in parts if x not in covered]
        optional = [(x, 1) for x in parts if rest or x in covered]
        least = 0 if needed or self.zero else 1
        for share in shares(optional, range(least, len(optional) + 1)):
            share = {x: 1 for x in parts if x in share or x in needed} if needed else share
            value = bag(self.symbol, dict(share)) if share else self.symbol.unit
            following = (cover._after(rest, frozenset(share)), *others)
            if type(p) is Var:
                yield {**bindings, p: value}, (), following
            else:
                yield bindings, ((p, value),), following

    def _after(self, items: tuple[Any, ...], taken: frozenset[Any]) -> Cover:
        return Cover(self.symbol, self.index, items, self.covered | taken, self.zero)

    def _without_bound(self, bindings: Mapping[Any, Any]) -> Cover | None:
        """Return the cover without the items that are known; None where one is not within the set."""
        items: dict[Any, None] = {}
        covered: set[Any] = set()
        for p in self.items:
            value = bindings.get(p, p) if type(p) is Var else instantiate(p, bindings)
            for x in (p,) if value is p else within(self.symbol, value, self.zero):
                if not is_ground(x):
                    items[x] = None
                elif x in self.index.parts:
                    covered.add(x)
                else:
                    return None
        return Cover(self.symbol, self.index, tuple(items), self.covered | covered, self.zero)


def open_cover(p: Node, t: Any) -> Cover | None:
    """Return the problem of a pattern and a ground subject under an idempotent symbol."""
    symbol = p.symbol
    if type(t) is Node and t.symbol is symbol:
        index = index_of(t)
    else:
        index = Index({} if symbol.has_unit and symbol.is_unit(t) else {t: 1})
    zero = symbol.has_unit and symbol.admits_unit(index.parts)
    ground = frozenset([x for x in p.parts if is_ground(x)])
    if not all(x in index.parts for x in ground):
        return None
    return Cover(symbol, index, tuple([x for x in p.parts if x not in ground]), ground, zero)
