"""Finding a relation that applies at a place, and cancelling where a view is smaller than what was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from relgrad.logic import (
    cancelled_product,
    cancelled_sum,
    distributed_product,
    heads_of,
    in_product,
    in_sum,
    label_of,
    rewrites,
    scattered_product,
)
from relgrad.relation import Library, Relation
from relgrad.term import Term
from relgrad.types import ArrayType


class Found(NamedTuple):
    """A move that can be made: its kind, name, result, reason and bindings."""

    move: str
    name: str
    term: Term
    why: str
    bindings: dict[str, Any]


def relate(t: Term, library: Library, whole_product: bool, whole_sum: bool) -> Iterator[Found]:
    """Yield the ways in which the library's relations rewrite a term at its root, the most specific first.

    `whole_product` and `whole_sum` say that the term is no part of a larger product or sum.
    """
    if isinstance(t.type, ArrayType) and not t.type.differentiable:
        return
    kinds = ["op"]
    if whole_product and in_product(t.op):
        kinds.append("product")
    if whole_sum and in_sum(t.op):
        kinds.append("sum")
    for row in library.candidates({kind: heads_of(t, kind) for kind in kinds}):
        for rewrite in rewrites(row.pattern, row.right, row.conditions, t, {}):
            bindings = {label_of(v): rewrite.state.get(v) for v in row.variables}
            yield Found("relation", row.name, rewrite.term, _why(row), bindings)
    if in_product(t.op):
        kinds.append("factors")
    for kind, name, simplify, why in _SIMPLIFICATIONS:
        smaller = simplify(t) if kind in kinds else None
        if smaller is not None:
            yield Found("simplify", name, smaller, why, {})


_SIMPLIFICATIONS = (
    ("sum", "cancel_summands", cancelled_sum, "summands meet their negatives"),
    (
        "product",
        "cancel_factors",
        cancelled_product,
        "factors meet their inverses, or exponentials each other",
    ),
    ("factors", "cancel_in_scatter", scattered_product, "a factor meets its inverse where entries are put"),
    ("product", "distribute_to_cancel", distributed_product, "a factor meets its inverse inside a sum"),
)


def _why(row: Relation) -> str:
    return row.doc.partition("\n")[0] or row.source
