"""Reading terms into normal forms, in time linear in the distinct subterms, without recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.carriers import ATOMS, TUPLE, atom, carrier_of
from relgrad.logic.aco.node import (
    UNKNOWN,
    Node,
    Symbol,
    bag,
    interned,
    make,
    remember,
    symbol_of,
)
from relgrad.logic.aco.theory import Reading, Theory, stays_grouped
from relgrad.term import Term

MISSING: Any = object()


def normal(x: Any, theory: Theory | Reading) -> Any:
    """Return the normal form of a term in a theory, or in a reading of one; raises Improper.

    normal(u) is normal(v) <=> u = v modulo the theory, for u and v that are no atoms.

    >>> from relgrad.contract import Laws
    >>> plus = Theory({"+": Laws(associative=True, commutative=True, identity=0)})
    >>> normal(("+", "a", ("+", "b", 0)), plus) is normal(("+", "b", "a"), plus)
    True
    """
    reading = theory if type(theory) is Reading else theory.reading()  # type: ignore[union-attr]
    done: dict[int, Any] = {}
    kept: list[Any] = []
    child = _opened(x, reading, kept)
    if type(child) is not _Frame:
        return child
    stack = [child]
    while True:
        frame = stack[-1]
        children = frame.children
        for raw in frame.rest:
            kind = type(raw)
            if kind in ATOMS or kind is Var:
                children.append(raw)
                continue
            child = done.get(id(raw), MISSING)
            if child is MISSING:
                child = _opened(raw, reading, kept)
                if type(child) is _Frame:
                    nested = child.symbol is frame.symbol and child.symbol.associative and child.rands
                    if nested and not frame.is_flat:
                        stack[-1] = _flattened(frame)
                    else:
                        stack.append(child)
                    break
            children.append(child)
        else:
            child = done[id(frame.term)] = _closed(frame, reading)
            stack.pop()
            if not stack:
                return child
            stack[-1].children.append(child)


def _closed(frame: _Frame, reading: Reading) -> Any:
    """("+", a, ("+", b, a)), read → a + a + b: the normal form of an application whose arguments have been read."""
    if frame.counts is None:
        child = make(frame.symbol, frame.children)
    else:
        counts: dict[Any, int] = {}
        for x, n in zip(frame.children, frame.counts, strict=True):
            counts[x] = counts.get(x, 0) + n
        child = bag(frame.symbol, counts)
    if type(child) is Node and child.origin is None:
        remember(child, frame.term)
    if reading.is_lasting and type(frame.term) is Term:
        frame.term.cache[reading.theory] = reading, child
    return child


class _Frame:
    """("f", a, b) with a read: an application, its arguments still to read, and their multiplicities."""

    __slots__ = ("children", "counts", "is_flat", "rands", "rest", "symbol", "term")

    def __init__(
        self,
        term: Any,
        symbol: Symbol,
        rands: Sequence[Any],
        counts: Sequence[int] | None = None,
        is_flat: bool = False,
    ):
        self.term, self.symbol, self.rands, self.counts, self.is_flat = term, symbol, rands, counts, is_flat
        self.rest = iter(rands)
        self.children: list[Any] = []


def _opened(x: Any, reading: Reading, kept: list[Any]) -> Any:
    """ "a" → "a", ("f", x) → frame: the child of whatever is small or has been read before, or a frame."""
    kind = type(x)
    if kind is Var:
        return x
    if kind is Term:
        known = x.cache.get(reading.theory)
        if known is not None and known[0] is reading:
            return known[1]
    carrier = TUPLE if kind is tuple and x else carrier_of(x)
    if carrier is None:
        return x if kind in ATOMS or kind is Term else atom(x)
    parts = x if carrier is TUPLE else carrier.parts(x)
    if not carrier.keeps:
        kept.append(parts)
    rator = parts[0]
    if type(rator) not in ATOMS and (type(rator) is Var or carrier_of(rator) is not None):
        return _Frame(x, symbol_of(carrier, UNKNOWN, reading), parts)
    try:
        symbol = symbol_of(carrier, rator, reading, kind is Term and stays_grouped(x))
    except TypeError:  # a head that cannot be hashed has no laws
        return _Frame(x, symbol_of(carrier, UNKNOWN, reading), parts)
    rands = parts[1:]
    if symbol.free and carrier.keeps and kind is not list and ATOMS.issuperset(map(type, rands)):
        return interned(symbol, args := tuple(rands), args, None, x)
    return _Frame(x, symbol, rands)


def _flattened(frame: _Frame) -> _Frame:
    """("+", a, ("+", b, a)) → a, b, a: the frame of a nest of applications of an associative symbol."""
    x, symbol = frame.term, frame.symbol
    if not symbol.commutative:
        return _Frame(x, symbol, list(_word(frame.rands, symbol)), None, True)
    counts = _region(x, symbol)
    return _Frame(x, symbol, [raw for raw, _ in counts], [n for _, n in counts], True)


def _inner(raw: Any, symbol: Symbol) -> Sequence[Any]:
    """("+", b, c) under + → b, c: the operands of an application of the same symbol; of anything else nothing."""
    if type(raw) is Var or type(raw) in ATOMS or carrier_of(raw) is not symbol.carrier:
        return ()
    if type(raw) is Term and raw.op is symbol.rator and stays_grouped(raw):
        return ()
    parts = symbol.carrier.parts(raw)
    rator = parts[0]
    same = rator is symbol.rator or (
        type(rator) is not Var and carrier_of(rator) is None and bool(rator == symbol.rator)
    )
    return parts[1:] if same else ()


def _word(rands: Sequence[Any], symbol: Symbol) -> Iterator[Any]:
    """a, (b·c) → a, b, c: the arguments of nested applications of an associative symbol, from left to right."""
    stack = [iter(rands)]
    while stack:
        for raw in stack[-1]:
            inner = _inner(raw, symbol)
            if inner:
                stack.append(iter(inner))
                break
            yield raw
        else:
            stack.pop()


def _region(x: Any, symbol: Symbol) -> list[tuple[Any, int]]:
    """t + t of t = a + b → [(a, 2), (b, 2)]: the arguments of nested applications of a symbol, with the number of paths
    that lead to each.

    Each distinct object is looked at once, so t + t of a t + t of … is linear in the number of sums.
    """
    order: list[tuple[Any, Sequence[Any]]] = []  # operands before what uses them
    first: list[Any] = []  # the arguments as they first occur
    seen = {id(x)}
    rands = symbol.carrier.parts(x)[1:]
    stack: list[tuple[Any, Sequence[Any], Iterator[Any]]] = [(x, rands, iter(rands))]
    while stack:
        node, rands, rest = stack[-1]
        for raw in rest:
            if id(raw) in seen:
                continue
            seen.add(id(raw))
            inner = _inner(raw, symbol)
            if inner:
                stack.append((raw, inner, iter(inner)))
                break
            first.append(raw)
        else:
            stack.pop()
            order.append((node, rands))
    paths = {id(x): 1}
    for node, rands in reversed(order):
        n = paths[id(node)]
        for raw in rands:
            paths[id(raw)] = paths.get(id(raw), 0) + n
    return [(raw, paths[id(raw)]) for raw in first]
