"""Equations between children: what can be decided without a choice is; what needs one is kept for later.

Syntactic decomposition in the sense of Martelli & Montanari (1982), each pair of nodes once; the occurs check comes
after the bindings of one round, so that it is linear. A cycle fails unless units or idempotence may dissolve it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from unification.variable import Var

from relgrad.logic.aco.carriers import OP, TERM, atom
from relgrad.logic.aco.node import UNKNOWN, Node, Symbol, is_ground, make
from relgrad.logic.aco.substitution import apply, cycle, walk
from relgrad.op import Op
from relgrad.term import is_term


class Equation(NamedTuple):
    """An equation between two children.

    `rigid` lists aliens that are taken not to collapse; `cyclic` says that the left side, a variable, is in the right.
    """

    left: Any
    right: Any
    rigid: frozenset[Any] = frozenset()
    cyclic: bool = False


class State(NamedTuple):
    """A substitution, and the equations that are left: both sides under the substitution, a choice needed."""

    s: dict[Any, Any]
    hard: tuple[Equation, ...]


def may_collapse(symbol: Symbol) -> bool:
    """Whether an application of a symbol may be equal to something with another head."""
    return symbol.has_unit or symbol.idempotent


def is_flexible(x: Any, rigid: frozenset[Any] = frozenset()) -> bool:
    """Whether an instance of a child may have another head; those in `rigid` are taken to have none."""
    return type(x) is Node and not x.ground and may_collapse(x.symbol) and x not in rigid


def apart(x: Any, y: Any, rigid: frozenset[Any] = frozenset()) -> bool:
    """Whether two children certainly have no common instance, seen from their heads."""
    if type(x) is Var or type(y) is Var or is_flexible(x, rigid) or is_flexible(y, rigid):
        return False
    if is_ground(x) and is_ground(y):
        return x is not y and x != y
    if type(x) is not Node or type(y) is not Node:
        return not (_may_be_read_as(x, y) or _may_be_read_as(y, x))
    if x.symbol is y.symbol:
        return not x.symbol.associative and len(x.args) != len(y.args)
    return x.symbol.carrier is not y.symbol.carrier or not (_is_headless(x) or _is_headless(y))


def _is_headless(x: Any) -> bool:
    return type(x) is Node and x.symbol.rator is UNKNOWN


def _may_be_read_as(x: Any, y: Any) -> bool:
    """Whether an open node may be an atom: an op, or a term without operands."""
    if type(x) is not Node:
        return False
    if x.symbol.carrier is OP:
        return isinstance(y, Op) and x.symbol.rator is type(y)
    return is_term(y) and x.symbol.carrier is TERM and _is_headless(x) and len(x.args) == 1


def simplify(
    equations: Iterable[Equation], s: dict[Any, Any], hard: tuple[Equation, ...] = ()
) -> State | None:
    """Solve what needs no choice; None where an equation has no solution."""
    s = dict(s)
    todo = [*hard, *reversed(list(equations))]
    while True:
        bound: list[Any] = []
        left = _decompose(todo, s, bound)
        if left is None:
            return None
        if not bound:
            return State(s, tuple(left))
        while ring := cycle(bound, s):
            values = [s[x] for x in ring]
            if not all(type(t) is Var or is_flexible(t) for t in values):
                return None
            x = next(x for x in ring if x in bound and type(s[x]) is Node)
            left.append(Equation(x, s.pop(x), cyclic=True))
            bound.remove(x)
        todo = [
            Equation(apply(e.left, s), apply(e.right, s), frozenset(apply(t, s) for t in e.rigid), e.cyclic)
            for e in left
        ]


def _decompose(todo: list[Equation], s: dict[Any, Any], bound: list[Any]) -> list[Equation] | None:
    """Bind and decompose; return the equations that need a choice, or None where there is no solution."""
    seen: set[tuple[Any, Any]] = set()
    hard: list[Equation] = []
    while todo:
        equation = todo.pop()
        u, v = _headed(walk(equation.left, s), s), _headed(walk(equation.right, s), s)
        if u is v or (type(u) is not Node and u == v):
            continue
        if type(v) is Var:
            u, v = v, u
        if type(u) is Var:
            if equation.cyclic and type(v) is Node and u in v.variables:
                hard.append(Equation(u, v, equation.rigid, True))
                continue
            s[u] = v
            bound.append(u)
        elif apart(u, v):
            return None
        elif type(u) is not Node or type(v) is not Node or _is_headless(u) is not _is_headless(v):
            if is_flexible(u) or is_flexible(v):
                hard.append(Equation(u, v, equation.rigid))
            else:
                todo.extend(_heads(u, v))
        elif u.symbol is not v.symbol or not u.symbol.free:
            hard.append(Equation(u, v, equation.rigid))
        elif (u, v) not in seen:
            seen.add((u, v))
            todo.extend(map(Equation, u.args, v.args))
    return hard


def _heads(u: Any, v: Any) -> Iterator[Equation]:
    """Equate the head of a node whose head is not known with that of the other; then both are compared again."""
    if type(v) is Node and (type(u) is not Node or _is_headless(v)):
        u, v = v, u
    if isinstance(v, Op):
        yield from map(Equation, u.args, map(atom, v._props()))
    elif is_term(v):
        yield Equation(u.args[0], v.op)
    else:
        yield Equation(u, v)
        yield Equation(u.args[0], v.symbol.rator)


def _headed(x: Any, s: dict[Any, Any]) -> Any:
    """Return a node under its own symbol, where its head has become known."""
    if not _is_headless(x):
        return x
    head = walk(x.args[0], s)
    if type(head) is Node and head.symbol.carrier is OP:
        head = make(head.symbol, [walk(p, s) for p in head.args])
    return x if head is x.args[0] else make(x.symbol, (head, *x.args[1:]))
