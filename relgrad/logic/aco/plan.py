"""Which item of a pattern is matched next, and with which arguments of the subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.index import Index
from relgrad.logic.aco.node import NONE, UNKNOWN, Node, Symbol, is_ground

Item = tuple[Any, int]
"""A child of the pattern and its multiplicity."""


def is_rigid(p: Any) -> bool:
    """Whether every instance of an item is one argument: it is ground, or has a head that stays.

    A variable may take more, an application whose head has a unit or is idempotent may be one of its arguments, and
    one whose head is not known yet may turn out to be nested.
    """
    if type(p) is not Node:
        return type(p) is not Var
    symbol = p.symbol
    return p.ground or not (symbol.has_unit or symbol.idempotent or symbol.rator is UNKNOWN)


def within(symbol: Symbol, child: Any, zero: bool = True) -> Mapping[Any, int]:
    """Return which arguments a child stands for under a commutative symbol: its own, none for the unit, or itself."""
    if type(child) is Node and child.symbol is symbol and symbol.associative and child.parts:
        return child.parts
    return {} if zero and symbol.has_unit and symbol.is_unit(child) else {child: 1}


def most_determined(items: Sequence[Item], bindings: Mapping[Any, Any], index: Index) -> Item:
    """Return the item with the fewest candidates."""
    if len(items) == 1:
        return items[0]
    return min(items, key=lambda item: (len(_narrowed(item[0], bindings, index)), -item[1]))


def least_candidates(items: Sequence[Item], bindings: Mapping[Any, Any], index: Index) -> int:
    """Return how many candidates the most determined item has."""
    return min(len(_narrowed(p, bindings, index)) for p, _ in items)


def candidates(
    p: Node, bindings: Mapping[Any, Any], index: Index, others: Iterable[Item], shared: bool
) -> Iterator[Node]:
    """Yield the arguments that a pattern with a fixed head may equal: those that agree with it in what is known.

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
            parts = within(symbol, value) if symbol.commutative else _letters(symbol, value)
            value = next(iter(parts), NONE)
            if value is NONE:
                continue
        having = index.having(symbol, position, value)
        if len(having) < len(found):
            found = having
    return found


def _letters(symbol: Symbol, value: Any) -> Sequence[Any]:
    if type(value) is Node and value.symbol is symbol:
        return value.args
    return () if symbol.has_unit and symbol.is_unit(value) else (value,)


def _joins(p: Node, bindings: Mapping[Any, Any], others: Iterable[Item]) -> Iterator[tuple[int, Symbol, int]]:
    """Yield where an unbound variable of p stands in other items too: position in p, symbol and position there."""
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
