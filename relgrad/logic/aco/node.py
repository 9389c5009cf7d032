"""Normal forms of applications to children: flattened, without units and repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.carriers import OP, TERM, Opaque
from relgrad.logic.aco.interning import (
    NONE,
    UNKNOWN,
    Node,
    Symbol,
    counted,
    expanded,
    ground_node,
    interned,
    is_ground,
    original,
    remember,
    same,
    symbol_of,
    term_of,
    variables_in,
)

__all__ = [
    "NONE",
    "UNKNOWN",
    "Node",
    "Symbol",
    "bag",
    "counted",
    "expanded",
    "ground_node",
    "is_ground",
    "make",
    "original",
    "remember",
    "same",
    "symbol_of",
    "term_of",
    "variables_in",
]


def make(symbol: Symbol, args: Iterable[Any]) -> Any:
    """Return the normal form of a symbol applied to children: flattened, without units and repetitions.

    One argument that is left is that argument, where the symbol is associative or has a unit; none is the unit.
    """
    if symbol.commutative:
        return bag(symbol, counted(args))
    given = tuple(args)
    if symbol.rator is UNKNOWN:
        return _headed(symbol, given)
    if not symbol.free:
        given = _spliced(symbol, given)
        if symbol.has_unit:
            given = _without_units(symbol, given)
            if not given:
                return symbol.unit
        if len(given) == 1:
            return given[0]
    return interned(symbol, given, given, None)


def bag(symbol: Symbol, counts: dict[Any, int]) -> Any:
    """Return the normal form of a commutative symbol applied to children, each as often as given.

    The dictionary is not used again by the caller.
    """
    if symbol.associative:
        counts = _spliced_bag(symbol, counts)
    if symbol.has_unit:
        counts = _without_units(symbol, counts)
        if not counts:
            return symbol.unit
    if symbol.idempotent:
        counts = dict.fromkeys(counts, 1)
    if len(counts) == 1 and (symbol.associative or symbol.has_unit):
        ((only, count),) = counts.items()
        if count == 1:
            return only
    return interned(symbol, frozenset(counts.items()), None, counts)


def _is_nested(symbol: Symbol, x: Any) -> bool:
    # An application to nothing, of a symbol without a unit, is a constant.
    return type(x) is Node and x.symbol is symbol and bool(x.parts if symbol.commutative else x.args)


def _spliced(symbol: Symbol, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if not symbol.associative or not any(_is_nested(symbol, x) for x in args):
        return args
    return tuple([y for x in args for y in (x.args if _is_nested(symbol, x) else (x,))])


def _spliced_bag(symbol: Symbol, counts: dict[Any, int]) -> dict[Any, int]:
    for x in counts:
        if type(x) is Node and x.symbol is symbol and x.parts:
            break
    else:
        return counts
    flat: dict[Any, int] = {}
    for x, n in counts.items():
        if _is_nested(symbol, x):
            for y, m in x.parts.items():
                flat[y] = flat.get(y, 0) + n * m
        else:
            flat[x] = flat.get(x, 0) + n
    return flat


def _without_units(symbol: Symbol, args: Any) -> Any:
    """Leave the units out of a tuple or a dictionary of arguments, as far as the others admit it."""
    found = [x for x in args if symbol.is_unit(x)]
    if not found:
        return args
    others = [x for x in args if x not in found] or _most_general(symbol, found)
    gone = {x for x in found if x not in others and symbol.admits_unit(others, x)}
    if isinstance(args, dict):
        return {x: 1 if x in found and x in others else n for x, n in args.items() if x not in gone}
    return tuple([x for x in args if x not in gone])


def _most_general(symbol: Symbol, units: list[Any]) -> list[Any]:
    """Return the unit that stands for several where there is nothing else: none, unless they have types to keep."""
    if symbol.carrier is not TERM:
        return []
    keeping = [x for x in units if all(x is y or symbol.admits_unit([x], y) for y in units)]
    return [min(keeping or units, key=lambda x: str(x.op.key))]


def _headed(symbol: Symbol, args: tuple[Any, ...]) -> Any:
    """Return the application of a head, `args[0]`, under the head's own symbol where it has become known."""
    head = args[0]
    if type(head) is Node and head.ground and head.symbol.carrier is OP:
        head = term_of(head)
    if type(head) in (Node, Var, Opaque):
        return interned(symbol, args, args, None)
    return make(symbol_of(symbol.carrier, head, symbol.reading), args[1:])
