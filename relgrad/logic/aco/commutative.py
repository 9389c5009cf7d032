"""Equations between applications of a symbol that is commutative and not associative, with or without a unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relgrad.logic.aco.collapse import collapses
from relgrad.logic.aco.equation import Equation, apart, is_flexible
from relgrad.logic.aco.node import Node


def solve(equation: Equation) -> Iterator[list[Equation]]:
    """Yield cases: the arguments in pairs, in every order that may hold; or one side collapses.

    What stands on both sides is paired with itself.
    """
    u, v = equation.left, equation.right
    if type(u) is type(v) is Node and u.symbol is v.symbol and len(u.args) == len(v.args):
        left, right = list(u.args), list(v.args)
        for x in u.args:
            if x in right:
                left.remove(x)
                right.remove(x)
        yield from _paired(left, right)
    for one, other in ((u, v), (v, u)):
        if is_flexible(one):
            for equations, result in collapses(one):
                yield [*equations, Equation(result, other)]


def _paired(left: list[Any], right: list[Any]) -> Iterator[list[Equation]]:
    """Yield the ways to pair two lists of arguments, equal arguments once, those with few partners first."""
    left = sorted(left, key=lambda x: sum(not apart(x, y) for y in right))
    stack: list[tuple[list[Equation], list[Any]]] = [([], right)]
    while stack:
        pairs, rest = stack.pop()
        if not rest:
            yield pairs
            continue
        x = left[len(pairs)]
        for y in reversed(list(dict.fromkeys(rest))):
            if not apart(x, y):
                place = rest.index(y)
                stack.append(([*pairs, Equation(x, y)], rest[:place] + rest[place + 1 :]))
