"""Substitutions: triangular dictionaries from variables to children, and what a child is under them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.instantiate import instantiate
from relgrad.logic.aco.node import Node, is_ground, variables_in

Substitution = Mapping[Any, Any]


def walk(x: Any, s: Substitution) -> Any:
    """Return what a variable is bound to, as far as its head; anything else as it is."""
    while type(x) is Var and x in s:
        x = s[x]
    return x


def apply(x: Any, s: Substitution) -> Any:
    """Return the normal form of a child under a substitution without cycles; the same object if nothing changes."""
    x = walk(x, s)
    if is_ground(x) or type(x) is Var or s.keys().isdisjoint(x.variables):
        return x
    return instantiate(x, s)


def inside(x: Any, s: Substitution) -> Iterator[Any]:
    """Yield the open children directly below: what a variable is bound to, or the arguments of a node."""
    if type(x) is Var:
        if x in s:
            yield s[x]
    elif type(x) is Node and not x.ground:
        yield from (x.parts if x.symbol.commutative else x.args)


def cycle(roots: Iterable[Any], s: Substitution) -> list[Any]:
    """Return the variables of a cycle, each bound to something that holds the next; empty where there is none."""
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
    """Variables z1, z2, … in the order in which they are asked for first; shared by the answers of one question."""

    def __init__(self, make_variable: Any):
        self._make, self._made = make_variable, []

    def __getitem__(self, index: int) -> Any:
        while len(self._made) <= index:
            self._made.append(self._make(f"z{len(self._made) + 1}"))
        return self._made[index]


def tidy(s: Substitution, variables: Iterable[Any], names: Names) -> dict[Any, Any]:
    """Return what the variables are under a substitution: idempotent, with as few new variables as there can be.

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
    """Return the variables inside a child, in the order in which they stand in its arguments where it is flat."""
    if type(x) is Node and not x.ground and all(type(y) is Var or is_ground(y) for y in x.args):
        return [y for y in dict.fromkeys(x.args) if type(y) is Var]
    return sorted(variables_in(x), key=lambda v: str(v.token))
