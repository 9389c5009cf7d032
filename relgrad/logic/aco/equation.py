"""Equations between children: what can be decided without a choice is; what needs one is kept for later.

Substitutions are triangular dictionaries from variables to children. Syntactic decomposition in the sense of Martelli
& Montanari (1982), each pair of nodes once; the occurs check comes after the bindings of one round, so that it is
linear. A cycle fails unless units or idempotence may dissolve it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from unification.variable import Var

from relgrad.logic.aco.carriers import OP, TERM, atom
from relgrad.logic.aco.node import UNKNOWN, Node, instantiate, is_ground, make, variables_in
from relgrad.logic.unify import fresh
from relgrad.op import Op
from relgrad.term import is_term

Substitution = Mapping[Any, Any]


def walk(x: Any, s: Substitution) -> Any:
    """x, {x: f(y), y: a} → f(y): the value of a variable, as far as its head; anything else as it is."""
    while type(x) is Var and x in s:
        x = s[x]
    return x


def apply(x: Any, s: Substitution) -> Any:
    """x + b, {x: a} → a + b: a normal form, without cycles; the same object if nothing changes."""
    x = walk(x, s)
    if is_ground(x) or type(x) is Var or s.keys().isdisjoint(x.variables):
        return x
    return instantiate(x, s)


def inside(x: Any, s: Substitution) -> Iterator[Any]:
    """f(x, a) → x: the open children directly below: the value of a variable, or the arguments of a node."""
    if type(x) is Var:
        if x in s:
            yield s[x]
    elif type(x) is Node and not x.ground:
        yield from (x.parts if x.symbol.commutative else x.args)


def cycle(roots: Iterable[Any], s: Substitution) -> list[Any]:
    """[x], {x: f(y), y: g(x)} → [x, y]: variables, each in the value of the one before; empty if none."""
    done: set[Any] = set()
    for root in roots:
        path, below = [root], [inside(root, s)]
        entered = {root}
        while path:
            child = next((y for y in below[-1] if y not in done and not is_ground(y)), None)
            if child is None:
                below.pop()
                last = path.pop()
                entered.discard(last)
                done.add(last)
            elif child in entered:
                return [y for y in path[path.index(child) :] if type(y) is Var]
            else:
                path.append(child)
                entered.add(child)
                below.append(inside(child, s))
    return []


class Names:
    """names[0] → z1, names[1] → z2: shared by the answers of one question."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        while len(self._made) <= index:
            self._made.append(fresh(f"z{len(self._made) + 1}"))
        return self._made[index]


def tidy(s: Substitution, variables: Iterable[Any], names: Names) -> dict[Any, Any]:
    """{x: f(w), w: v}, [x] → {x: f(z1)}: the values of the variables under a substitution: idempotent, with as few new
    variables as there can be.

    A variable whose value is a new variable stands for it; the other new ones are z1, z2, …
    """
    variables = dict.fromkeys(variables)
    values = {x: apply(x, s) for x in variables if x in s}
    new: dict[Any, Any] = {}
    for x, value in values.items():
        if type(value) is Var and value not in new and value not in variables:
            new[value] = x
    count = 0
    for value in values.values():
        for z in in_order(value):
            if z not in new and z not in variables:
                new[z] = names[count]
                count += 1
    answers = ((x, apply(value, new)) for x, value in values.items())
    return {x: value for x, value in answers if value is not x}


def in_order(x: Any) -> Iterable[Any]:
    """x + a + y → [x, y]: the variables inside a child, as they stand in its arguments where it is flat."""
    if type(x) is Node and not x.ground and all(type(y) is Var or is_ground(y) for y in x.args):
        return [y for y in dict.fromkeys(x.args) if type(y) is Var]
    return sorted(variables_in(x), key=lambda v: str(v.token))


class Equation(NamedTuple):
    """f(x) = f(a): an equation between two children.

    `rigid` lists aliens that are taken not to collapse; `cyclic` says that the left side, a variable, is in the right.
    """

    left: Any
    right: Any
    rigid: frozenset[Any] = frozenset()
    cyclic: bool = False


class State(NamedTuple):
    """{x: a}, (y + z = a + b,): a substitution, and the equations under it that need a choice."""

    s: dict[Any, Any]
    hard: tuple[Equation, ...]


def is_flexible(x: Any, rigid: frozenset[Any] = frozenset()) -> bool:
    """x + y modulo a unit → True, f(x) → False: an instance may have another head, unless in `rigid`."""
    collapses = type(x) is Node and (x.symbol.has_unit or x.symbol.idempotent)
    return collapses and not x.ground and x not in rigid


def apart(x: Any, y: Any, rigid: frozenset[Any] = frozenset()) -> bool:
    """f(x), g(y) → True, f(x), y → False: certainly without a common instance, seen from the heads."""
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
    """an open node, op → True: whether an open node may be an atom: an op, or a term without operands."""
    if type(x) is not Node:
        return False
    if x.symbol.carrier is OP:
        return isinstance(y, Op) and x.symbol.rator is type(y)
    return is_term(y) and x.symbol.carrier is TERM and _is_headless(x) and len(x.args) == 1


def simplify(
    equations: Iterable[Equation], s: dict[Any, Any], hard: tuple[Equation, ...] = ()
) -> State | None:
    """f(x, y + b) = f(a, c + b) → {x: a}, (y + b = c + b,): all that needs no choice; None at a clash."""
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
    """f(x) = f(a) → {x: a}, []: binds, and returns the equations that need a choice; None at a clash."""
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
    """h(x) = f(a), h unknown → h = f, h(x) = f(a): the heads are equated, and both compared again."""
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
    """h(x), {h: f} → f(x): a node under its own symbol, where its head has become known."""
    if not _is_headless(x):
        return x
    head = walk(x.args[0], s)
    if type(head) is Node and head.symbol.carrier is OP:
        head = make(head.symbol, [walk(p, s) for p in head.args])
    return x if head is x.args[0] else make(x.symbol, (head, *x.args[1:]))
