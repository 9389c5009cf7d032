"""Unification modulo declared laws: complete sets of unifiers, lazily, by a fair search.

    x + y = a + b     {x: a, y: b}, {x: b, y: a}

Of the equations that need a choice one at a time is replaced by the cases that its theory knows.

Sources: Stickel (1981), "A unification algorithm for associative-commutative functions", J. ACM 28; Fages (1987),
"Associative-commutative unification", J. Symbolic Computation 3, for why solving one equation after the other ends;
Baader & Snyder (2001), "Unification theory", Handbook of Automated Reasoning, sections 3 and 6. Changed from the
sources: an alien that may lose its head, because its symbol has a unit or is idempotent, is taken both ways.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unification.variable import Var

from relgrad.errors import OutOfFuel
from relgrad.leaf import Input
from relgrad.logic.aco import aci, acu, plotkin
from relgrad.logic.aco.carriers import TERM, TUPLE
from relgrad.logic.aco.collapse import dissolved, paired
from relgrad.logic.aco.equation import (
    Equation,
    Names,
    State,
    Substitution,
    apart,
    apply,
    is_flexible,
    simplify,
    tidy,
    walk,
)
from relgrad.logic.aco.match import match
from relgrad.logic.aco.node import Node, Symbol, is_ground, make, same, symbol_of, variables_in
from relgrad.logic.aco.theory import Reading
from relgrad.term import term
from relgrad.types import array_type

WORD_FUEL = 1_000
"""How many steps are taken on words, which may have infinitely many unifiers, where no fuel is given."""
PATIENCE = 16
"""How many steps one thread of the search may take before the next has its turn."""

_END: Any = object()


def search(start: State, variables: Sequence[Any], fuel: int | None) -> Iterator[dict[Any, Any] | None]:
    """x + y = a + b → {x: a, y: b}, …: the substitutions of solved states, and None for each step without one.

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
    """1000 → OutOfFuel("stopped after 1000 steps …"): warns that the search has ended early."""
    if fuel is None:
        text = f"stopped after {WORD_FUEL} steps: words may have infinitely many unifiers; give fuel for more"
    else:
        text = f"stopped after {fuel} steps of unification; there may be more answers: give more fuel"
    warnings.warn(OutOfFuel(text), stacklevel=2)


def _successors(state: State, equation: Equation) -> Iterator[State | None]:
    rest = tuple(e for e in state.hard if e is not equation)
    return (simplify(case, state.s, rest) for case in cases(equation))


def _composed(state: State, variables: Sequence[Any]) -> State:
    """{x: w, w: a}, [x] → {x: a}: bindings of the question's variables, without chains of new ones."""
    return State({x: apply(x, state.s) for x in variables if x in state.s}, state.hard)


def cases(equation: Equation) -> Iterator[list[Equation]]:
    """x + a = y + b → [x = b, y = a], [x = b + z, y = a + z]: together the solutions of an equation."""
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
    """x + a = y + b → +: the symbol whose laws are used: of both heads, or of one that may collapse."""
    u, v = equation.left, equation.right
    return v.symbol if type(u) is not Node or (type(v) is Node and not is_flexible(u)) else u.symbol


def _is_on_words(equation: Equation) -> bool:
    symbol = symbol_for(equation)
    may_go_on = not (equation.cyclic or is_ground(equation.left) or is_ground(equation.right))
    return symbol.associative and not symbol.commutative and may_go_on


def _cost(equation: Equation) -> tuple[int, int]:
    """x + a = b, AC → (2, 2): a guess of the number of cases of an equation: those with few come first, words last."""
    if equation.cyclic:
        return 0, 0
    kind = 1 if not symbol_for(equation).associative else 3 if _is_on_words(equation) else 2
    return kind, sum(len(x.args) for x in equation[:2] if type(x) is Node)


COMPARED = 10
"""So many elements, at most, have the sets in an answer that is compared with others."""


class _Frozen:
    """x → Frozen(x): a variable taken as a constant."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any):
        self.variable = variable

    def __repr__(self) -> str:
        return f"!{self.variable}"


def _frozen(variable: Any, in_terms: bool) -> Any:
    return term(Input(f"!{variable}", array_type("float64", ()))) if in_terms else _Frozen(variable)


class _Row:
    """(x, y) → row(x, y): the head of a row of values; it has no laws."""


def is_instance(
    special: Substitution, general: Substitution, variables: Iterable[Any], reading: Reading
) -> bool:
    """{x: a}, {x: z} → True: some θ makes θ(general(x)) = special(x) for all the variables x."""
    row = symbol_of(TUPLE, _Row, reading)
    variables = list(variables)
    values = [apply(x, special) for x in variables]
    in_terms = any(carrier is TERM for carrier, *_ in reading.symbols)
    frozen = {x: _frozen(x, in_terms) for x in variables_in(*values)}
    # The variables of the two are told apart by freezing those of the one.
    subject = make(row, [apply(value, frozen) for value in values])
    pattern = make(row, [apply(x, general) for x in variables])
    try:
        return next(match(pattern, subject, {}), None) is not None
    except Exception:
        # A unit is left out only beside operands whose type admits it, and an op may refuse scalars in any way.
        if in_terms:
            return False
        raise


def minimal(answers: Sequence[Substitution], variables: Iterable[Any], reading: Reading) -> list[Any]:
    """[{x: a}, {x: z}] → [{x: z}]: the answers that are no instances of others, the first of those that are instances
    of each other.

    The instances of what is returned are those of what was given: a complete set of unifiers stays complete. Answers
    whose idempotent parts have more than `COMPARED` elements are kept: the cost of comparing them is exponential.
    """
    variables = list(variables)
    kept: list[Any] = []
    large: list[Any] = []
    for answer in answers:
        if _elements(apply(x, answer) for x in variables) > COMPARED:
            large.append(answer)
        elif not any(is_instance(answer, other, variables, reading) for other in kept):
            kept = [other for other in kept if not is_instance(other, answer, variables, reading)]
            kept.append(answer)
    return kept + large


def _elements(children: Iterable[Any]) -> int:
    """f({a, b}) → 2: the number of elements of the idempotent parts of children."""
    count, stack, seen = 0, list(children), set()
    while stack:
        x = stack.pop()
        if type(x) is Node and x not in seen:
            seen.add(x)
            count += x.symbol.idempotent * len(x.args)
            stack.extend(x.args)
    return count


LOOK_AHEAD = 64
"""So many unifiers, at most, are compared before the first is given out; of larger sets none."""
STEPS_AHEAD = 1_000
"""So many steps, at most, are taken before the first unifier is given out."""


def unify(u: Any, v: Any, s: dict[Any, Any], fuel: int | None = None) -> Iterator[dict[Any, Any]]:
    """x + a = y + b → {x: b, y: a}, {x: b + z1, y: a + z1}: extensions of s under which u = v: every other is an
    instance of one of them, modulo the theory.

    So it is for C, AC, with units, and idempotence, in any combination with symbols without laws. For words (A without
    C), whose unifiers may be infinitely many, the search is fair. Up to `LOOK_AHEAD` unifiers are a minimal set; so are
    those of one AC or ACU equation between variables and ground arguments, however many. New variables are called
    z1, z2, … With `fuel` the search ends after so many steps; without, only steps on words are counted. Warns
    `OutOfFuel` where it ended early.
    """
    if apart(walk(u, s), walk(v, s)):
        return
    u, v = apply(u, s), apply(v, s)
    variables = sorted(variables_in(u, v), key=str)
    start = simplify([Equation(u, v)], {})
    if start is None:
        return
    if not start.hard:
        found: Iterator[dict[Any, Any]] = iter([tidy(start.s, variables, Names())])
    elif _is_elementary(start):
        found = _bindings(next(iter(start.hard)), fuel)
    else:
        found = _few_or_all(start, u, v, variables, fuel)
    for answer in found:
        yield {**s, **answer}


def _is_elementary(state: State) -> bool:
    """x + y = a + b → True: one AC or ACU equation between variables and ground arguments is left."""
    equation, *others = state.hard
    if state.s or others:
        return False
    symbol = symbol_for(equation)
    if equation.cyclic or not (symbol.associative and symbol.commutative) or symbol.idempotent:
        return False
    args = [x for side in equation[:2] for x in (side.parts if _has(symbol, side) else [side])]
    return all(type(x) is Var or is_ground(x) for x in args)


def _reading(*children: Any) -> Any:
    return next(x.symbol.reading for x in children if type(x) is Node)


def _has(symbol: Any, x: Any) -> bool:
    return type(x) is Node and x.symbol is symbol


def _bindings(equation: Equation, fuel: int | None) -> Iterator[dict[Any, Any]]:
    """x + y = a + b → {x: a, y: b}, {x: b, y: a}: distinct variables bound to terms without any."""
    for steps, case in enumerate(cases(equation)):
        if fuel is not None and steps >= fuel:
            warn(fuel)
            return
        if all(type(x) is Var for x, *_ in case):
            yield {x: value for x, value, *_ in case}
        elif state := simplify(case, {}):
            yield state.s


def _few_or_all(
    start: State, u: Any, v: Any, variables: Sequence[Any], fuel: int | None
) -> Iterator[dict[Any, Any]]:
    """x + y = a + b → {x: a, y: b}, …: a minimal set if it is small and soon found; else as they come."""
    names = Names()
    # Whether a unit may be left out beside an array depends on the array, which was not always known.
    guarded = any(type(x) is Node and x.symbol.carrier is TERM for x in (u, v))

    def answers() -> Iterator[dict[Any, Any] | None]:
        for s in search(start, variables, fuel):
            holds = s is not None and not (guarded and not same(apply(u, s), apply(v, s)))
            yield tidy(s, variables, names) if s is not None and holds else None

    found = answers()
    ahead: list[dict[Any, Any]] = []
    for steps, answer in enumerate(found):
        if answer is not None:
            ahead.append(answer)
        if len(ahead) > LOOK_AHEAD or steps > STEPS_AHEAD:
            break
    else:
        ahead = minimal(ahead, variables, _reading(u, v))
    yield from ahead
    yield from (answer for answer in found if answer is not None)
