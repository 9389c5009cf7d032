"""Equations modulo associativity alone, with or without a unit: words. Their unifiers may be infinitely many.

Source: Plotkin (1972), "Building-in equational theories", Machine Intelligence 7. Changed from the source: both ends
of the words are looked at, and how often each rigid argument occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.collapse import aliens_of, with_collapsed
from relgrad.logic.aco.equation import Equation, apart
from relgrad.logic.aco.node import Symbol, counted, make, word_of
from relgrad.logic.unify import fresh


def solve(equation: Equation, symbol: Symbol) -> Iterator[list[Equation]]:
    """x·a = b·y → [x = b·z, z·a = y], …: one step of Plotkin's procedure, equal ends cut off before."""
    left, right = _cut(word_of(equation.left, symbol), word_of(equation.right, symbol))
    unit = symbol.admits_unit([*left, *right])
    if not left or not right:
        rest = left or right
        if unit or not rest:
            yield [Equation(x, symbol.unit) for x in dict.fromkeys(rest)]
        return
    for one, other in ((left, right), (right, left)):
        if len(one) == 1 and (type(one[0]) is Var or len(other) == 1):
            yield [Equation(one[0], make(symbol, other), equation.rigid)]
            return
    rigid = aliens_of(equation, (*left, *right))
    if (unit or _is_balanced(left, right)) and _same_letters(left, right, rigid):
        yield from _step(left, right, symbol, unit, rigid)
    yield from with_collapsed(equation, (left, right), lambda args: make(symbol, args))


def _cut(left: list[Any], right: list[Any]) -> tuple[list[Any], list[Any]]:
    """a·x·b, a·y·b → x, y: cuts off the common beginning and the common end of two words."""
    for _ in range(2):
        while left and right and left[-1] == right[-1]:
            left.pop()
            right.pop()
        left, right = left[::-1], right[::-1]
    return left, right


def _is_balanced(left: list[Any], right: list[Any]) -> bool:
    """a·b, x → True, a, x·y → False: whether a word without variables is as long as the other at least."""
    return all(
        len(one) >= len(other) or any(type(x) is Var for x in one)
        for one, other in ((left, right), (right, left))
    )


def _same_letters(left: list[Any], right: list[Any], rigid: frozenset[Any]) -> bool:
    """x·a, b·x → False: each variable as often on both sides, and the other arguments may be equal."""
    ours, theirs = counted(left), counted(right)
    surplus = {x: ours.get(x, 0) - theirs.get(x, 0) for x in (*ours, *theirs)}
    if any(n and type(x) is Var for x, n in surplus.items()):
        return True
    aliens = [x for x, n in surplus.items() if n]
    return sum(surplus.values()) == 0 and all(
        any(surplus[x] * surplus[y] < 0 and not apart(x, y, rigid) for y in aliens) for x in aliens
    )


def _step(
    left: list[Any], right: list[Any], symbol: Symbol, unit: bool, rigid: frozenset[Any]
) -> Iterator[list[Equation]]:
    """x·a = b·y → [x = b·z, …], [x = b, …]: at one end, that of a rigid argument if there is one."""
    ends = [(left[0], right[0], False), (left[-1], right[-1], True)]
    if any(_are_rigid(x, y) and apart(x, y, rigid) for x, y, _ in ends):
        return
    x, y, backward = min(ends, key=lambda end: (type(end[0]) is Var) + (type(end[1]) is Var))
    if _are_rigid(x, y):
        cut = slice(None, -1) if backward else slice(1, None)
        left, right = left[cut], right[cut]
        if unit or (left and right):
            yield [Equation(x, y, rigid), Equation(make(symbol, left), make(symbol, right), rigid)]
        elif not left and not right:
            yield [Equation(x, y, rigid)]
        return
    whole = Equation(make(symbol, left), make(symbol, right), rigid)
    if not unit:
        yield [Equation(x, y), whole]
    for one, other in ((x, y), (y, x)):
        if type(one) is Var:
            tail = fresh("z")
            yield [Equation(one, make(symbol, (tail, other) if backward else (other, tail))), whole]
        if unit and type(one) is Var:
            yield [Equation(one, symbol.unit), whole]


def _are_rigid(x: Any, y: Any) -> bool:
    return type(x) is not Var and type(y) is not Var
