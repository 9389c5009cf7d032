"""The plain interpreter over `Op.perform`: the oracle of the compiler's tests, the debug mode, and a trace's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from relgrad.errors import RelgradError
from relgrad.op import Constant
from relgrad.term import Term, operands_first, rands_of
from relgrad.types import TupleType

Perturb = Callable[[Term, list[Any]], list[Any]]

RAISED = (RelgradError, TypeError, ValueError, ArithmeticError, LookupError)
"""What ops raise of numbers that they are not made for: of shapes, an index out of bounds, a singular matrix."""


def interpret(
    roots: Sequence[Term],
    arguments: Mapping[Term, Any],
    debug: bool = False,
    perturb: Perturb | None = None,
    typed: bool = True,
) -> list[Any]:
    """[x + 1], {x: 2.0} → [3.0]: the values of the roots, given those of the input terms.

    Each distinct term is computed once, of its operands or of what `perturb(term, operands)` makes of them. Raises
    KeyError for an input without a value, and what an op raises. Where values are not `typed`, arguments may have other
    shapes than their terms, as samples do.
    """
    values: dict[Term, Any] = dict(arguments)
    for node in unknown(roots, values):
        values[node] = value_of(node, values, debug, perturb, typed)
    return [values[root] for root in roots]


def unknown(roots: Sequence[Term], values: Mapping[Term, Any]) -> Iterator[Term]:
    """Yield the terms below roots that have no values yet, operands first; whoever asks gives each its value."""
    return operands_first(roots, values.__contains__, rands_of)


def value_of(
    node: Term,
    values: Mapping[Term, Any],
    debug: bool = False,
    perturb: Perturb | None = None,
    typed: bool = True,
) -> Any:
    """x + 1, {x: 2.0, 1: 1.0} → 3.0: the value of a term whose operands have values; a tuple of several outputs."""
    if type(node.op) is Constant:
        return node.op.value
    operands = [values[rand] for rand in node.rands]
    results = node.op.evaluate(node, operands if perturb is None else perturb(node, operands), debug, typed)
    return tuple(results) if isinstance(node.type, TupleType) else results[0]
