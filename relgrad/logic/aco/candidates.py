"""Which item of a pattern is matched next, and with which arguments: found by heads, and what these hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.node import NONE, UNKNOWN, Node, Symbol, is_ground, term_of, word_of


class Index:
    """{f(a): 1, g(b): 2} → f: [f(a)], g: [g(b)]: arguments with their multiplicity, by symbol and argument."""

    def __init__(self, parts: Mapping[Any, int]):
        self.parts = parts
        self.total = sum(parts.values())
        self._by_symbol: dict[Symbol, list[Node]] = {}
        self._by_argument: dict[Symbol, dict[Any, list[Node]]] = {}
        for x in parts:
            if type(x) is Node:
                self._by_symbol.setdefault(x.symbol, []).append(x)

    @cached_property
    def places(self) -> dict[Any, int]:
        """{f(a): 0, g(b): 1}: the position of each distinct argument."""
        return {x: i for i, x in enumerate(self.parts)}

    @cached_property
    def written(self) -> list[Any]:
        """→ [("f", "a"), ("g", "b")]: the terms of the distinct arguments."""
        return [term_of(x) for x in self.parts]

    def of(self, symbol: Symbol) -> Sequence[Node]:
        """f → [f(a)]: the arguments with this symbol."""
        return self._by_symbol.get(symbol, ())

    def having(self, symbol: Symbol, position: int, x: Any) -> Sequence[Node]:
        """f, 0, a → [f(a)]: the arguments of a symbol that have x among their own, at a position if it is free."""
        found = self._by_argument.get(symbol)
        if found is None:
            found = self._by_argument[symbol] = {}
            for node in self.of(symbol):
                for key in enumerate(node.args) if symbol.free else node.parts:
                    found.setdefault(key, []).append(node)
        return found.get((position, x) if symbol.free else x, ())


def index_of(node: Node) -> Index:
    """f(a) + g(b) → Index: the index of a node's arguments, made once."""
    if node.index is None:
        node.index = Index(node.parts)
    return node.index


Item = tuple[Any, int]
"""A child of the pattern and its multiplicity."""


def is_rigid(p: Any) -> bool:
    """f(x) → True, x → False: whether every instance of an item is one argument: it is ground, or has a head that
    stays.

    A variable may take more, an application whose head has a unit or is idempotent may be one of its arguments, and
    one whose head is not known yet may turn out to be nested.
    """
    if type(p) is not Node:
        return type(p) is not Var
    symbol = p.symbol
    return p.ground or not (symbol.has_unit or symbol.idempotent or symbol.rator is UNKNOWN)


def within(symbol: Symbol, child: Any, zero: bool = True) -> Mapping[Any, int]:
    """+, a + b → {a: 1, b: 1}, 0 → {}, a → {a: 1}: the arguments of a child under a commutative symbol."""
    if type(child) is Node and child.symbol is symbol and symbol.associative and child.parts:
        return child.parts
    return {} if zero and symbol.has_unit and symbol.is_unit(child) else {child: 1}


def most_determined(items: Sequence[Item], bindings: Mapping[Any, Any], index: Index) -> Item:
    """[f(a), f(y)] in f(a) + f(b) → f(a): the item with the fewest candidates."""
    if len(items) == 1:
        return items[0]
    return min(items, key=lambda item: (len(_narrowed(item[0], bindings, index)), -item[1]))


def least_candidates(items: Sequence[Item], bindings: Mapping[Any, Any], index: Index) -> int:
    """[f(x), g(y)] in f(a) + f(b) + g(c) → 1: the number of candidates of the most determined item."""
    return min(len(_narrowed(p, bindings, index)) for p, _ in items)


def candidates(
    p: Node, bindings: Mapping[Any, Any], index: Index, others: Iterable[Item], shared: bool
) -> Iterator[Node]:
    """f(x, b) in f(a, b) + f(a, c) → f(a, b): the arguments that a pattern with a fixed head may equal: those that
    agree with all that is known.

    What an unbound variable would have to equal must also occur where the variable stands in another item, in
    another argument of the subject (in the same, if arguments may be `shared`).
    """
    joins = list(_joins(p, bindings, others))
    for c in _narrowed(p, bindings, index):
        if all(_joined(c, position, q, at, index, shared) for position, q, at in joins):
            yield c


def _narrowed(p: Node, bindings: Mapping[Any, Any], index: Index) -> Sequence[Node]:
    symbol = p.symbol
    found = index.of(symbol)
    if len(found) <= 1:
        return found
    for position, x in enumerate(p.args if not symbol.commutative else p.parts):
        value = bindings.get(x, NONE) if type(x) is Var else x
        if value is NONE or not is_ground(value):
            continue
        if not symbol.free:
            parts = within(symbol, value) if symbol.commutative else word_of(value, symbol)
            value = next(iter(parts), NONE)
            if value is NONE:
                continue
        having = index.having(symbol, position, value)
        if len(having) < len(found):
            found = having
    return found


def _joins(p: Node, bindings: Mapping[Any, Any], others: Iterable[Item]) -> Iterator[tuple[int, Symbol, int]]:
    """f(x) beside g(x) → (0, g, 0): position of an unbound variable in p, symbol and position elsewhere."""
    symbol = p.symbol
    if symbol.has_unit:
        return
    for position, x in enumerate(p.args if symbol.free else p.parts):
        if type(x) is not Var or x in bindings:
            continue
        for q, _ in others:
            if type(q) is not Node or not is_rigid(q):
                continue
            if (symbol.free and q.symbol.free) or symbol is q.symbol:
                for at, y in enumerate(q.args if q.symbol.free else q.parts):
                    if y is x:
                        yield position, q.symbol, at


def _joined(c: Node, position: int, other: Symbol, at: int, index: Index, shared: bool) -> bool:
    values = (c.args[position],) if c.symbol.free else c.parts
    for value in values:
        for d in index.having(other, at, value):
            if d is not c or shared or index.parts[c] > 1:
                return True
    return False
