"""A fair search: of the equations that need a choice one at a time is replaced by the cases that its theory knows."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from relgrad.errors import OutOfFuel
from relgrad.logic.aco import aci, acu, plotkin
from relgrad.logic.aco.collapse import dissolved, paired
from relgrad.logic.aco.equation import Equation, State, apply, is_flexible, simplify
from relgrad.logic.aco.match import match
from relgrad.logic.aco.node import Node, Symbol, is_ground

WORD_FUEL = 1_000
"""How many steps are taken on words, which may have infinitely many unifiers, where no fuel is given."""
PATIENCE = 16
"""How many steps one thread of the search may take before the next has its turn."""

_END: Any = object()


def search(start: State, variables: Sequence[Any], fuel: int | None) -> Iterator[dict[Any, Any] | None]:
    """Yield the substitutions of solved states, and None for each step without one.

    Depth first, in several threads in turn: a step on words, which might go on for ever, starts new ones.
    """
    threads: deque[list[Iterator[State | None]]] = deque([[iter([start])]])
    steps = 0
    while threads:
        thread = threads.popleft()
        for _ in range(PATIENCE):
            state: Any = _END
            while thread and state is _END:
                state = next(thread[-1], _END)
                if state is _END:
                    thread.pop()
            if state is _END:
                break
            steps += fuel is not None
            if fuel is not None and steps > fuel:
                warn(fuel)
                return
            if state is None or not state.hard:
                yield state and state.s
                continue
            equation = min(state.hard, key=_cost)
            on_words = _is_on_words(equation)
            if fuel is None and on_words:
                steps += 1
                if steps > WORD_FUEL:
                    warn(fuel)
                    return
            following = _successors(state, equation)
            if on_words:
                threads.extend([iter([_composed(new, variables)])] for new in following if new)
            else:
                thread.append(following)
            yield None
        if thread:
            threads.append(thread)


def warn(fuel: int | None) -> None:
    """Warn that the search has ended early."""
    if fuel is None:
        text = f"stopped after {WORD_FUEL} steps: words may have infinitely many unifiers; give fuel for more"
    else:
        text = f"stopped after {fuel} steps of unification; there may be more answers: give more fuel"
    warnings.warn(OutOfFuel(text), stacklevel=2)


def _successors(state: State, equation: Equation) -> Iterator[State | None]:
    rest = tuple(e for e in state.hard if e is not equation)
    return (simplify(case, state.s, rest) for case in cases(equation))


def _composed(state: State, variables: Sequence[Any]) -> State:
    """Return a state whose substitution binds the variables of the question only: no chains of new ones."""
    return State({x: apply(x, state.s) for x in variables if x in state.s}, state.hard)


def cases(equation: Equation) -> Iterator[list[Equation]]:
    """Yield lists of equations whose solutions together are those of one equation."""
    u, v = equation.left, equation.right
    symbol = symbol_for(equation)
    if equation.cyclic:
        return aci.solve(equation, symbol) if symbol.idempotent else dissolved(equation)
    if not symbol.associative:
        return paired(equation)
    if is_ground(u) or is_ground(v):
        pattern, subject = (u, v) if is_ground(v) else (v, u)
        return ([Equation(x, value) for x, value in found.items()] for found in match(pattern, subject, {}))
    if not symbol.commutative:
        return plotkin.solve(equation, symbol)
    return (aci if symbol.idempotent else acu).solve(equation, symbol)


def symbol_for(equation: Equation) -> Symbol:
    """Return the symbol whose laws an equation is solved with: that of both heads, or of one that may collapse."""
    u, v = equation.left, equation.right
    return v.symbol if type(u) is not Node or (type(v) is Node and not is_flexible(u)) else u.symbol


def _is_on_words(equation: Equation) -> bool:
    symbol = symbol_for(equation)
    may_go_on = not (equation.cyclic or is_ground(equation.left) or is_ground(equation.right))
    return symbol.associative and not symbol.commutative and may_go_on


def _cost(equation: Equation) -> tuple[int, int]:
    """Return a guess how many cases an equation has: those with few come first, words last."""
    if equation.cyclic:
        return 0, 0
    kind = 1 if not symbol_for(equation).associative else 3 if _is_on_words(equation) else 2
    return kind, sum(len(x.args) for x in equation[:2] if type(x) is Node)
