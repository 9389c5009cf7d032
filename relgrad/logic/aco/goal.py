"""The goal `eq_aco`: equality modulo declared laws, of terms, etuples, tuples and lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kanren.core import eq

from relgrad.logic.aco.bags import Rest
from relgrad.logic.aco.carriers import Improper
from relgrad.logic.aco.clash import clash
from relgrad.logic.aco.instantiate import Cyclic
from relgrad.logic.aco.match import matches
from relgrad.logic.aco.node import is_ground, same, term_of, variables_in
from relgrad.logic.aco.state import Reader
from relgrad.logic.aco.theory import DECLARED, Theory
from relgrad.logic.aco.unify import unify
from relgrad.logic.conditions import Goal
from relgrad.logic.unify import State, extended, is_variable, walk
from relgrad.op import Symbolic


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
    """Return the bindings of the variables of the question, and of those that these need."""
    needed: dict[Any, Any] = {}
    stack = sorted(variables, key=str)
    while stack:
        z = stack.pop()
        if z in found and z not in needed:
            needed[z] = term_of(found[z])
            stack.extend(variables_in(found[z]))
    return needed
