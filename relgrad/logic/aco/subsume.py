"""Which answers are instances of others, modulo the theory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from relgrad.logic.aco.carriers import TUPLE
from relgrad.logic.aco.match import match
from relgrad.logic.aco.node import make, symbol_of, variables_in
from relgrad.logic.aco.substitution import Substitution, apply
from relgrad.logic.aco.theory import Reading


class _Frozen:
    """A variable taken as a constant."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any):
        self.variable = variable

    def __repr__(self) -> str:
        return f"!{self.variable}"


class _Row:
    """The head of a row of values; it has no laws."""


def is_instance(
    special: Substitution, general: Substitution, variables: Iterable[Any], reading: Reading
) -> bool:
    """Whether some θ makes θ(general(x)) = special(x) modulo the theory, for all the variables x."""
    row = symbol_of(TUPLE, _Row, reading)
    variables = list(variables)
    values = [apply(x, special) for x in variables]
    frozen = {x: _Frozen(x) for x in variables_in(*values)}
    subject = make(row, [apply(value, frozen) for value in values])
    # The variables of the two are told apart by freezing those of the one.
    pattern = make(row, [apply(x, general) for x in variables])
    return next(match(pattern, subject, {}), None) is not None


def minimal(answers: Sequence[Substitution], variables: Iterable[Any], reading: Reading) -> list[Any]:
    """Return the answers that are no instances of others, the first of those that are instances of each other.

    The instances of what is returned are those of what was given: a complete set of unifiers stays complete.
    """
    variables = list(variables)
    kept: list[Any] = []
    for answer in answers:
        if any(is_instance(answer, other, variables, reading) for other in kept):
            continue
        kept = [other for other in kept if not is_instance(other, answer, variables, reading)]
        kept.append(answer)
    return kept
