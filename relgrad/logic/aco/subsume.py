"""Which answers are instances of others, modulo the theory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from relgrad.leaf import Input
from relgrad.logic.aco.carriers import TERM, TUPLE
from relgrad.logic.aco.match import match
from relgrad.logic.aco.node import Node, make, symbol_of, variables_in
from relgrad.logic.aco.substitution import Substitution, apply
from relgrad.logic.aco.theory import Reading
from relgrad.term import term
from relgrad.types import array_type

COMPARED = 10
"""So many elements, at most, have the sets in an answer that is compared with others."""


class _Frozen:
    """A variable taken as a constant."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any):
        self.variable = variable

    def __repr__(self) -> str:
        return f"!{self.variable}"


def _frozen(variable: Any, in_terms: bool) -> Any:
    return term(Input(f"!{variable}", array_type("float64", ()))) if in_terms else _Frozen(variable)


class _Row:
    """The head of a row of values; it has no laws."""


def is_instance(
    special: Substitution, general: Substitution, variables: Iterable[Any], reading: Reading
) -> bool:
    """Whether some θ makes θ(general(x)) = special(x) modulo the theory, for all the variables x."""
    row = symbol_of(TUPLE, _Row, reading)
    variables = list(variables)
    values = [apply(x, special) for x in variables]
    in_terms = any(carrier is TERM for carrier, _ in reading.symbols)
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
    """Return the answers that are no instances of others, the first of those that are instances of each other.

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
    """Return how many elements the idempotent parts of children have."""
    count, stack, seen = 0, list(children), set()
    while stack:
        x = stack.pop()
        if type(x) is Node and x not in seen:
            seen.add(x)
            count += x.symbol.idempotent * len(x.args)
            stack.extend(x.args)
    return count
