"""Applications that may lose their head, and equations of commutative symbols, which may too.

s(x, e)     x          where e is the unit of s, or where s(x, x) = x
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from relgrad.logic.aco.equation import Equation, apart, is_flexible
from relgrad.logic.aco.node import Node, make


def collapses(node: Node) -> Iterator[tuple[list[Equation], Any]]:
    """x + y modulo a unit → ([y = 0], x), ([x = 0], y): `(equations, result)`: under the equations the node is the
    result, no application of its symbol itself.

    Of the arguments of a symbol with a unit all but one are the unit; where it is idempotent, all but some equal
    ones.
    """
    symbol = node.symbol
    if not symbol.associative:
        yield from _without_one(node)
    elif symbol.idempotent:
        yield from _all_equal(node)
    elif symbol.admits_unit(node.args):
        args = list(node.args)
        for place, x in enumerate(args):
            others = args[:place] + args[place + 1 :]
            if x not in others and not any(apart(y, symbol.unit) for y in others):
                yield [Equation(y, symbol.unit) for y in dict.fromkeys(others)], x
        if all(args.count(x) > 1 for x in args):
            yield [Equation(x, symbol.unit) for x in dict.fromkeys(args)], symbol.unit


def _without_one(node: Node) -> Iterator[tuple[list[Equation], Any]]:
    symbol = node.symbol
    if symbol.admits_unit(node.args):
        for place, x in enumerate(node.args):
            if x not in node.args[:place] and not apart(x, symbol.unit):
                rest = node.args[:place] + node.args[place + 1 :]
                yield [Equation(x, symbol.unit)], make(symbol, rest)


def _all_equal(node: Node) -> Iterator[tuple[list[Equation], Any]]:
    unit, args = node.symbol.unit, node.args
    for size in range(len(args), 0, -1) if node.symbol.admits_unit(args) else (len(args),):
        for equal in combinations(args, size):
            others = [x for x in args if x not in equal]
            if not any(apart(equal[0], x) for x in equal) and not any(apart(x, unit) for x in others):
                yield (
                    [*(Equation(equal[0], x) for x in equal[1:]), *(Equation(x, unit) for x in others)],
                    equal[0],
                )


def dissolved(equation: Equation) -> Iterator[list[Equation]]:
    """x = x + y → [y = 0]: the ways in which x = t, with x inside t, may hold: t collapses."""
    for equations, result in collapses(equation.right):
        yield [*equations, Equation(equation.left, result)]


def with_collapsed(
    equation: Equation, sides: tuple[list[Any], list[Any]], build: Callable[[list[Any]], Any]
) -> Iterator[list[Equation]]:
    """(x·y) + a = b + c → [y = 1, x + a = b + c], …: each time the first alien that collapses."""
    rigid = equation.rigid
    for side, args in enumerate(sides):
        for alien in dict.fromkeys(args):
            if not is_flexible(alien, rigid):
                continue
            for equations, result in collapses(alien):
                new = [result if x is alien else x for x in args]
                pair = (build(new), build(sides[1])) if side == 0 else (build(sides[0]), build(new))
                yield [*equations, Equation(*pair, rigid)]
            rigid = rigid | {alien}


def aliens_of(equation: Equation, parts: Any) -> frozenset[Any]:
    """x + f(y)·z = … → {f(y)·z}: the aliens that have not collapsed: the equation's, and those among the parts."""
    return equation.rigid | {x for x in parts if is_flexible(x)}


def paired(equation: Equation) -> Iterator[list[Equation]]:
    """f(x, a) = f(a, b), f commutative → [x = b]: cases: the arguments in pairs, in every order that may hold; or one
    side collapses.

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
    """[x, y], [a, b] → [x = a, y = b], [x = b, y = a]: equal ones once, those with few partners first."""
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
