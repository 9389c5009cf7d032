"""Sides of relations as terms: symbols for their variables, of shapes and ranges with which they can be formed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from relgrad.display.text import labels_of
from relgrad.errors import OutOfFuel, RelgradError
from relgrad.leaf import Input
from relgrad.logic.equality import canonical_key
from relgrad.logic.rewrite import rewrites
from relgrad.logic.unify import label_of, reify_term, unknowns
from relgrad.ops.arithmetic import add, subtract
from relgrad.relation import Library, Relation, is_axis
from relgrad.schedule import DEFAULT, schedule
from relgrad.term import Term, is_term, reachable, substitute, subterms, term
from relgrad.types import POSITIVE, REAL, UNIT, array_type

FUEL = 200
"""So many relations are applied to a term in search of its normal form."""
_SHAPES = ((), (3,), (3, 3))
_RANGES = (REAL, POSITIVE, -POSITIVE, UNIT)


def grounded(row: Relation, patterns: Sequence[Any]) -> Iterator[tuple[Term, ...]]:
    """log eˣ → log(exp(x)), x a symbol of shape (), (3,), …: each shape and range in which the row fires."""
    variables = sorted(frozenset[Any]().union(*map(unknowns, patterns)), key=str)
    for shape in _SHAPES:
        for interval in _RANGES:
            try:
                made = [reify_term(p, _symbols(variables, shape, interval)) for p in patterns]
                if all(is_term(t) and t.ground for t in made):
                    told = _told(made)
                    if told is not None and rewritten(row, told[0]) is not None:
                        yield tuple(told)
            except (RelgradError, ValueError, TypeError, IndexError):
                continue  # of this shape they cannot be formed


def _told(terms: Sequence[Term]) -> Sequence[Term] | None:
    """f(x, y, d) told d = x − y → f(y + d, y, d): terms in which ops that are told a distance x − y are told the right
    one: x is y + d where x is a symbol.

    None where a distance is wrong whatever the symbols are.
    """
    for node in subterms(*terms):
        if node.op.distance is None:
            continue
        x, y, d = (node.rands[i] for i in node.op.distance)
        if canonical_key(term(subtract, x, y)) == canonical_key(d):
            continue
        if type(x.op) is not Input or x in reachable(y, d):
            return None
        return _told(substitute(terms, {x: term(add, y, d)}))
    return terms


def _symbols(variables: Sequence[Any], shape: tuple[int, ...], interval: Any) -> dict[Any, Any]:
    return {
        v: (-1,)
        if is_axis(label_of(v))
        else term(Input(label, array_type(float, shape), symbol=True, range=interval))
        for v, label in labels_of(variables).items()
    }


def rewritten(row: Relation, t: Term) -> Term | None:
    """log eˣ = x, log(exp(y)) → y: a row at the root of a term, by its best match; None where there is none."""
    return next((found.term for found in rewrites(row.pattern, row.right, row.conditions, t, {})), None)


def normal_form(t: Term, library: Library, fuel: int = FUEL) -> tuple[Term, tuple[str, ...]]:
    """log(exp(log(x))) → log(x), ("log_of_exponential",): a term by the scheduler, and the relations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfFuel)
        found = schedule([t], library, DEFAULT, fuel=fuel)
    return found.after[0], tuple(dict.fromkeys(found.relations))
