"""The goal `eq_aco`: equality modulo declared laws, of terms, etuples, tuples and lists.

Heads that differ and stay settle the matter before anything is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kanren.core import eq

from relgrad.logic.aco.carriers import ETUPLE, OP, TERM, TUPLE, Improper, atom, carrier_of
from relgrad.logic.aco.match import matches
from relgrad.logic.aco.node import (
    Cyclic,
    Node,
    Symbol,
    instantiate,
    is_ground,
    same,
    symbol_of,
    term_of,
    variables_in,
)
from relgrad.logic.aco.normal import normal
from relgrad.logic.aco.problems import Rest
from relgrad.logic.aco.theory import DECLARED, Reading, Theory
from relgrad.logic.aco.unify import unify
from relgrad.logic.conditions import Goal
from relgrad.logic.unify import State, extended, is_variable, walk
from relgrad.op import Symbolic
from relgrad.term import is_term

GLANCES = 32
"""How many pairs of subterms are looked at."""


def clash(x: Any, y: Any, s: Mapping[Any, Any], reading: Reading) -> bool:
    """f(x), g(y) → True; False says nothing. Takes constant time; raises Improper."""
    pairs = [(x, y)]
    for _ in range(GLANCES):
        if not pairs:
            return False
        x, y = pairs.pop()
        x, y = (walk(x, s) if is_variable(x) else x), (walk(y, s) if is_variable(y) else y)
        if x is y or is_variable(x) or is_variable(y):
            continue
        kinds = carrier_of(x), carrier_of(y)
        if OP in kinds:
            continue
        if kinds == (None, None):
            if not same(atom(x), atom(y)):
                return True
            continue
        a, b = _lasting(x, reading), _lasting(y, reading)
        if None in kinds:
            if a or b:
                return True
        elif a and b:
            if a[0] is not b[0]:
                return True
            if a[0].free:
                if len(a[1]) != len(b[1]):
                    return True
                pairs.extend(zip(a[1][1:GLANCES], b[1][1:GLANCES], strict=True))
    return False


def _lasting(x: Any, reading: Reading) -> tuple[Symbol, Any] | None:
    """("f", x) → f, ("f", x): an application that stays one of its head, whatever its arguments are."""
    carrier = carrier_of(x)
    if carrier is None:
        return None
    parts = carrier.parts(x)
    if is_variable(parts[0]) or carrier_of(parts[0]) is not None:
        return None
    try:
        symbol = symbol_of(carrier, parts[0], reading)
    except TypeError:  # a head that cannot be hashed
        return None
    lasting = symbol.free or (not symbol.has_unit and not symbol.idempotent and len(parts) > 2)
    return (symbol, parts) if lasting else None


KEPT = 64
"""How many ground tuples and etuples are remembered with their normal forms."""

_remembered: dict[int, tuple[Any, Reading, Any]] = {}


class Reader:
    """("f", x), ("f", 1) → f(x), f(1): reads two sides in one reading: the lasting one if they are terms, else one
    whose nodes are ordered as they are.

    The normal form of a ground tuple is remembered with its reading, so that matching it again costs nothing.
    """

    def __init__(self, reading: Reading, x: Any, y: Any):
        self.sides = x, y
        self.known: dict[int, Any] = {}
        if not (is_term(x) or is_term(y)):
            reading = self._remembered(reading) or reading.fresh()
        self.reading = reading

    def _remembered(self, reading: Reading) -> Reading | None:
        for side in self.sides:
            found = _remembered.get(id(side))
            if found is not None and found[0] is side and found[1].is_like(reading):
                self.known[id(side)] = found[2]
                return found[1]
        return None

    def read(self, s: Mapping[Any, Any]) -> tuple[Any, Any]:
        """{x: 1} → f(1), f(1): the normal forms of both sides under a state; raises Cyclic and Improper."""
        x, y = [self._child(side) for side in self.sides]
        bound = self._bound(s, x, y)
        return instantiate(x, bound), instantiate(y, bound)

    def _child(self, x: Any) -> Any:
        child = self.known.get(id(x))
        if child is not None:
            return child
        child = normal(x, self.reading)
        if type(child) is Node and child.ground and carrier_of(x) in (TUPLE, ETUPLE) and self._lasts():
            while len(_remembered) >= KEPT:
                del _remembered[next(iter(_remembered))]
            _remembered[id(x)] = x, self.reading, child
        return child

    def _lasts(self) -> bool:
        """a list was read → False: whether nothing has been read that may be changed later, as a list may."""
        return all(symbol.carrier in (TUPLE, ETUPLE, TERM, OP) for symbol in self.reading.symbols.values())

    def _bound(self, s: Mapping[Any, Any], *children: Any) -> dict[Any, Any]:
        """f(x), {x: g(y), y: a} → {x: g(y), y: a}: the variables inside children and their values, if bound."""
        bound: dict[Any, Any] = {}
        if not s or all(map(is_ground, children)):
            return bound
        stack = list(variables_in(*children))
        while stack:
            variable = stack.pop()
            if variable in s and variable not in bound:
                value = bound[variable] = normal(s[variable], self.reading)
                stack.extend(variables_in(value))
        return bound


def eq_aco(u: Any, v: Any, theory: Theory = DECLARED, fuel: int | None = None) -> Goal:
    """Construct a goal stating that u = v modulo the laws that a theory knows of their heads.

    Where one side is ground, each answer modulo the theory is given once, lazily; where neither is, the answers are
    unifiers such that every other is an instance of one. `fuel` bounds the search for those. What kanren's
    `eq_assoccomm` accepts is accepted: terms are tuples, lists and etuples with their head first, terms of ops, and
    objects that `kanren.term` takes apart; facts of `kanren.assoccomm` are honoured. A variable is never bound to a
    term that holds it. A `cons` with an unknown tail is unified without laws.

    Source: Baader & Snyder, "Unification theory", Handbook of Automated Reasoning, section 6.
    """

    def eq_aco_goal(s: State) -> Iterator[State]:
        x, y = _walked(u, s), _walked(v, s)
        if x is y:
            yield s
            return
        try:
            yield from _states(x, y, s, theory, fuel)
        except Cyclic:  # a state that holds no finite terms has no answers
            return
        except Improper:
            plain: Any = eq(x, y)
            yield from plain(s)

    return eq_aco_goal


def _walked(x: Any, s: State) -> Any:
    if isinstance(x, Symbolic):
        return x.term
    return walk(x, s) if is_variable(x) else x


def _states(x: Any, y: Any, s: State, theory: Theory, fuel: int | None) -> Iterator[State]:
    reading = theory.reading()
    if clash(x, y, s, reading):
        return
    left, right = Reader(reading, x, y).read(s)
    if is_variable(left) and left not in variables_in(right):
        yield from _extended(s, {left: y})
    elif is_variable(right) and right not in variables_in(left):
        yield from _extended(s, {right: x})
    elif is_ground(left) and is_ground(right):
        if same(left, right):
            yield s
    elif is_ground(left) or is_ground(right):
        pattern, subject = (right, left) if is_ground(left) else (left, right)
        for found in matches(pattern, subject):
            yield from _extended(s, {z: _written(value) for z, value in found.items()})
    else:
        for found in unify(left, right, {}, fuel):
            yield from _extended(s, _needed(found, variables_in(left, right)))


def _extended(s: State, bindings: Mapping[Any, Any]) -> Iterator[State]:
    state = extended(s, bindings)
    if state is not False:
        yield state


def _written(value: Any) -> Any:
    return value.term() if type(value) is Rest else term_of(value)


def _needed(found: Mapping[Any, Any], variables: frozenset[Any]) -> dict[Any, Any]:
    """{x: z1, w: 2}, [x] → {x: z1}: the bindings of the variables of the question, and of those that these need."""
    needed: dict[Any, Any] = {}
    stack = sorted(variables, key=str)
    while stack:
        z = stack.pop()
        if z in found and z not in needed:
            needed[z] = term_of(found[z])
            stack.extend(variables_in(found[z]))
    return needed
