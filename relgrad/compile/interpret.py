"""The plain interpreter over `Op.perform`: the oracle of the compiler's tests, and the debug mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relgrad.op import Constant
from relgrad.term import Term, subterms
from relgrad.types import TupleType


def interpret(
    roots: Sequence[Term],
    arguments: Mapping[Term, Any],
    debug: bool = False,
    perturb: Callable[[Term, list[Any]], list[Any]] | None = None,
    typed: bool = True,
) -> list[Any]:
    """Return the values of the roots, given those of the input terms.

    Each distinct term is computed once, of its operands or of what `perturb(term, operands)` makes of them. Raises
    KeyError for an input without a value, and what an op raises. Where values are not `typed`, arguments may have other
    shapes than their terms, as samples do.
    """
    values: dict[Term, Any] = dict(arguments)
    for node in subterms(*roots):
        if node in values:
            continue
        if type(node.op) is Constant:
            values[node] = node.op.value
            continue
        operands = [values[rand] for rand in node.rands]
        results = node.op.evaluate(
            node, operands if perturb is None else perturb(node, operands), debug, typed
        )
        values[node] = tuple(results) if isinstance(node.type, TupleType) else results[0]
    return [values[root] for root in roots]
