"""Strategies as goals: small functions that compose moves, where a move is any goal `move(u, v)` that u becomes v.

    chain(a, b)(u, v)     ⟺  ∃w: a(u, w) ∧ b(w, v)          attempt(a)(u, v)     the first of a, or v = u
    either(a, b)(u, v)    ⟺  a(u, v) ∨ b(u, v)              exhaust(a)(u, v)     a again and again, until it fails
    prefer(a, b)(u, v)    ⟺  a(u, v), or b(u, v) if a fails  bottom_up(a)(u, v)  operands first, then a at the root
                                                            innermost(a)(u, v)  bottom_up, until a holds nowhere

Relations are moves, so are goals of kanren that take two terms, and so are the results: all of them run under
`kanren.run`. `chain`, `either` and `anywhereo` run in both directions; the others choose as they go, and u is known.

Source: strategies after Stratego (Visser 2001) and sympy.strategies; the committed choice is miniKanren's conda.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import islice, pairwise
from math import inf
from typing import Any

from relgrad.logic.conditions import Goal
from relgrad.logic.goals import BinaryGoal, Graph, eq, fail, ifa, lall, lany, rewriteso
from relgrad.logic.unify import State, fresh, walked
from relgrad.schedule.keys import leads_to

FUEL = 10_000
"""So many moves are made, or results looked at, unless a strategy is given other fuel."""


def chain(*moves: BinaryGoal) -> BinaryGoal:
    """Do one move after the other: chain(a, b)(u, v) ⟺ ∃w: a(u, w) ∧ b(w, v); of none, u = v.

    >>> from kanren import membero, run, var
    >>> double = lambda u, v: membero((u, v), ((1, 2), (2, 4), (4, 8)))
    >>> run(0, var("q"), chain(double, double)(1, var("q")))
    (4,)
    """

    def chained(u: Any, v: Any) -> Goal:
        """∃w₁ …: a(u, w₁) ∧ b(w₁, w₂) ∧ … ∧ c(wₙ, v);    no moves: u = v."""
        places = [u, *[fresh("between") for _ in moves[1:]], v]
        steps = [
            move(before, after) for move, (before, after) in zip(moves, pairwise(places), strict=bool(moves))
        ]
        return lall(*steps) if steps else eq(u, v)

    return chained


def either(*moves: BinaryGoal) -> BinaryGoal:
    """Do any of the moves; their answers take turns: either(a, b)(u, v) ⟺ a(u, v) ∨ b(u, v)."""
    return lambda u, v: lany(move(u, v) for move in moves)


def prefer(*moves: BinaryGoal) -> BinaryGoal:
    """Do the first of the moves that can be done: prefer(a, b)(u, v) ⟺ a(u, v), or b(u, v) if that has no answer."""
    return lambda u, v: reduce(lambda rest, move: ifa(move(u, v), rest), reversed(moves), fail)


def attempt(move: BinaryGoal) -> BinaryGoal:
    """Do a move if it can be done, or nothing: attempt(a) = prefer(a, u = v)."""
    return prefer(move, eq)


def exhaust(move: BinaryGoal, fuel: int = FUEL) -> BinaryGoal:
    """Do a move again and again, each time its first answer that has not been before, at most `fuel` times.

    >>> from kanren import membero, run, var
    >>> double = lambda u, v: membero((u, v), ((1, 2), (2, 4), (4, 8)))
    >>> run(0, var("q"), exhaust(double)(1, var("q")))
    (8,)
    """

    def exhausted(u: Any, v: Any) -> Goal:
        """u → u₁ → … → v, each by the first answer of the move at the root, until there is none, or one that was there
        before.
        """

        def exhaust_goal(s: State) -> Iterator[State]:
            """s → the one state in which v is where the moves end, with all that they have bound."""
            graph = Graph(u, s)
            here, seen = graph.root, {graph.root}
            for _ in range(fuel):
                there = fresh("there")
                for state in move(graph.nodes[here], there)(s):
                    number = graph.add(there, state)
                    if number not in seen:
                        break
                else:
                    break
                here, s = number, state
                seen.add(here)
            yield from eq(v, graph.nodes[here])(s)

        return exhaust_goal

    return exhausted


def bottom_up(move: BinaryGoal) -> BinaryGoal:
    """−(−x) ↦ x: sin(−(−y)) + −(−y) ⟶ sin(y) + y: a move once at each subterm where it can be made.

    Operands come before the terms that use them, and a shared one is done once.
    """

    def ascending(u: Any, v: Any) -> Goal:
        """u → v with the move made at each subterm of u, where it can be."""

        def bottom_up_goal(s: State) -> Iterator[State]:
            """s → the one state in which v is that, with all that the moves have bound."""
            graph = Graph(u, s)
            became: list[int] = []
            for number in range(graph.size):
                here = graph.with_operands(number, [became[rand] for rand in graph.operands[number]], s)
                here, s = _first(move, graph, here, s)
                became.append(here)
            yield from eq(v, graph.nodes[became[graph.root]])(s)

        return bottom_up_goal

    return ascending


def innermost(move: BinaryGoal, fuel: int = FUEL) -> BinaryGoal:
    """exhaust(bottom_up(move)) = innermost(move): a move wherever it can be made, operands first, until that is
    nowhere.

    Each distinct place is looked at once. Where the moves run in a circle, the place stays where they began.
    """

    def saturated(u: Any, v: Any) -> Goal:
        """u → v, where the move can be made nowhere in v, unless the fuel ends before that."""

        def innermost_goal(s: State) -> Iterator[State]:
            """s → the one state in which v is that, with all that the moves have bound."""
            graph = Graph(u, s)
            normal: dict[int, int] = {}
            became: dict[int, int] = {}
            # What has become something that holds it waits for that; there it stays as it is.
            waiting: set[int] = set()
            stack, left = [graph.root], fuel
            while stack:
                here = stack[-1]
                if here in normal:
                    waiting.discard(stack.pop())
                    continue
                successor = became.get(here)
                if successor is not None:
                    if successor in normal:
                        normal[here] = normal[successor]
                    else:
                        waiting.add(here)
                        stack.append(successor)
                    continue
                operands = graph.operands[here]
                missing = [rand for rand in operands if rand not in normal and rand not in waiting]
                if missing:
                    stack += missing
                    continue
                there = graph.with_operands(here, [normal.get(rand, rand) for rand in operands], s)
                if there == here and left > 0:
                    there, s = _first(move, graph, here, s)
                    left -= there != here
                if there == here or leads_to(there, here, became):
                    normal[here] = here
                else:
                    became[here] = there
            yield from eq(v, graph.nodes[normal[graph.root]])(s)

        return innermost_goal

    return saturated


def search(move: BinaryGoal, cost: Callable[[Any], float], fuel: int = FUEL) -> BinaryGoal:
    """u ⟶ argmin cost(w) over the `fuel` nearest w that a move makes of u, anywhere, any number of times;
    the first of these.

    `cost` takes a term, tuple or etuple.
    """

    def cheapest(u: Any, v: Any) -> Goal:
        """u → v, the cheapest of the results of u; u itself is one."""

        def search_goal(s: State) -> Iterator[State]:
            """s → the one state in which v is that, with all that the moves to it have bound."""
            best, least, there = None, inf, fresh("there")
            for state in islice(rewriteso(move, u, there)(s), fuel):
                price = cost(walked(there, state))
                if price < least:
                    best, least = state, price
            if best is not None:
                yield from eq(v, walked(there, best))(best)

        return search_goal

    return cheapest


def _first(move: BinaryGoal, graph: Graph, here: int, s: State) -> tuple[int, State]:
    """Return what a node becomes by the first answer of a move, and its state; the node itself where there is none."""
    there = fresh("there")
    state = next(iter(move(graph.nodes[here], there)(s)), None)
    return (here, s) if state is None else (graph.add(there, state), state)
