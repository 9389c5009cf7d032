"""Equations modulo associativity, commutativity and idempotence, with or without a unit: sets.

Source: Baader & Büttner (1988), "Unification in commutative idempotent monoids", Theoretical Computer Science 56:
a set of solutions closed under union has generators. Changed from the source: aliens, which are first divided into
classes of equal ones. The unifiers are a complete set; it need not be minimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.collapse import aliens_of, with_collapsed
from relgrad.logic.aco.equation import Equation, Names, apart
from relgrad.logic.aco.node import Node, Symbol, bag, is_ground, make, parts_of
from relgrad.logic.aco.selections import selections, subsets

Sets = dict[Any, dict[Any, int]]
"""What is held by each variable; the numbers are 1."""


def solve(equation: Equation, symbol: Symbol) -> Iterator[list[Equation]]:
    """x ∪ {a} = {a, b} → [x = {b}], [x = {a, b}]: cases that together are u = v modulo ACI or ACUI."""
    left, right = list(parts_of(equation.left, symbol)), list(parts_of(equation.right, symbol))
    unit = symbol.admits_unit([*left, *right])
    if not left or not right:
        if unit or not (left or right):
            yield [Equation(x, symbol.unit) for x in left or right]
        return
    for one, other in ((left, right), (right, left)):
        if (
            len(one) == 1
            and type(one[0]) is Var
            and one[0] not in bag(symbol, dict.fromkeys(other, 1)).variables
        ):
            yield [Equation(one[0], make(symbol, other))]
            return
    rigid = aliens_of(equation, (*left, *right))
    aliens = [x for x in dict.fromkeys((*left, *right)) if type(x) is not Var]
    names = Names()
    for classes in _partitions(aliens, rigid):
        yield from _elementary(left, right, classes, symbol, unit, rigid, names)
    yield from with_collapsed(equation, (left, right), lambda args: make(symbol, args))


def _partitions(aliens: Sequence[Any], rigid: frozenset[Any]) -> Iterator[list[list[Any]]]:
    """[f(x), f(y)] → [[f(x)], [f(y)]], [[f(x), f(y)]]: classes that may be equal, the finest first."""
    stack: list[tuple[int, list[list[Any]]]] = [(0, [])]
    while stack:
        place, classes = stack.pop()
        if place == len(aliens):
            yield classes
            continue
        x = aliens[place]
        for k, members in enumerate(classes):
            if not any(apart(x, y, rigid) for y in members):
                stack.append((place + 1, [*classes[:k], [*members, x], *classes[k + 1 :]]))
        stack.append((place + 1, [*classes, [x]]))


def _elementary(
    left: list[Any],
    right: list[Any],
    classes: list[list[Any]],
    symbol: Symbol,
    unit: bool,
    rigid: frozenset[Any],
    names: Names,
) -> Iterator[list[Equation]]:
    """x ∪ {a} = y ∪ {b} → [x = {b} ∪ z, y = {a} ∪ z], …: none collapses, those of a class are equal."""
    variables = [x for x in dict.fromkeys((*left, *right)) if type(x) is Var]
    equal = [Equation(members[0], x, rigid) for members in classes for x in members[1:]]
    only_left = [x for x in variables if x not in right]
    only_right = [x for x in variables if x not in left]
    both = [x for x in variables if x in left and x in right]
    generators: list[tuple[Any, ...]] = [(x,) for x in both]
    for some, others in ((only_left, only_right), (only_left, both), (both, only_right)):
        generators += list(product(some, others))
    heads = [next((x for x in members if is_ground(x)), members[0]) for members in classes]
    for held in _held(classes, left, right, (only_left, only_right, both)):
        filled = {x for holders in held for x in holders}
        needed = [k for k, x in enumerate(variables) if x not in filled]
        columns = [[variables.index(x) for x in generator] for generator in generators]
        for chosen, optional in selections(columns, () if unit else needed, ()):
            for more in (optional,) if unit else subsets(optional):
                values: Sets = {x: {} for x in variables}
                for count, v in enumerate(sorted(chosen + more)):
                    for x in generators[v]:
                        values[x][names[count]] = 1
                for head, holders in zip(heads, held, strict=True):
                    for x in holders:
                        values[x][head] = 1
                for sets in _founded(values, unit):
                    yield [*(Equation(x, bag(symbol, parts)) for x, parts in sets.items()), *equal]


def _founded(values: Sets, unit: bool) -> Iterator[Sets]:
    """Yield the ways in which no set holds itself in an element, unless it is that element: one of another symbol.

    Then each new variable in it stands for this element, or with a unit for nothing.
    """
    todo = [values]
    while todo:
        values = todo.pop()
        for x, parts in values.items():
            around = [y for y in parts if type(y) is Node and not y.ground and x in y.variables]
            if around and len(parts) > 1:
                others = [y for y in parts if y not in around]
                if len(around) == 1 and all(type(y) is Var for y in others):
                    for kept in product((True, False) if unit else (True,), repeat=len(others)):
                        todo.append(_replaced(values, dict(zip(others, kept, strict=True)), around[0]))
                break
        else:
            yield values


def _replaced(values: Sets, kept: dict[Any, bool], element: Any) -> Sets:
    """Return the sets with some variables replaced by an element, or left out."""
    return {
        x: {element if y in kept else y: 1 for y in parts if kept.get(y, True)} for x, parts in values.items()
    }


def _held(
    classes: list[list[Any]], left: list[Any], right: list[Any], variables: tuple[list[Any], ...]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield for each class of aliens the variables that hold it, in every combination."""
    chosen: list[tuple[Any, ...]] = []
    stack = [_holders(members, left, right, variables) for members in classes[:1]]
    if not classes:
        yield []
    while stack:
        del chosen[len(stack) - 1 :]
        following = next(stack[-1], None)
        if following is None:
            stack.pop()
            continue
        chosen.append(following)
        if len(chosen) == len(classes):
            yield list(chosen)
        else:
            stack.append(_holders(classes[len(chosen)], left, right, variables))


def _holders(
    members: list[Any], left: list[Any], right: list[Any], variables: tuple[list[Any], ...]
) -> Iterator[tuple[Any, ...]]:
    """Yield which variables may hold an alien, up to the union with generators."""
    only_left, only_right, both = variables
    in_left, in_right = (any(x in side for x in members) for side in (left, right))
    if in_left and in_right:
        yield ()
    else:
        yield from ((x,) for x in both)
    for inside, others in ((in_left, only_right), (in_right, only_left)):
        if inside:
            for size in range(1, len(others) + 1):
                yield from combinations(others, size)
