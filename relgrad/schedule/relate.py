"""Finding a relation that applies at a place, and cancelling where a view is smaller than what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from relgrad.calculus.increment import difference_quotient, incremented, ratio_less_one
from relgrad.calculus.remainder import remaindered
from relgrad.logic import (
    PRODUCT,
    SUM,
    Wide,
    averaged_sum,
    cancelled_product,
    cancelled_sum,
    crossed_sum,
    distributed_product,
    divided_pair,
    divided_sum,
    drawn_product,
    factored_square,
    factored_sum,
    fit,
    gathered_sum,
    inner_product,
    joined_reductions,
    label_of,
    perfect_square,
    rewrites,
    rooted_power,
    scattered_product,
    sunk_product,
    theories_of,
    undone,
)
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import add, divide
from relgrad.ops.exponential import log
from relgrad.relation import Library
from relgrad.term import Term, substitute, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType


class Found(NamedTuple):
    """A move that can be made: its kind, name, result, reason and bindings."""

    move: str
    name: str
    term: Term
    why: str
    bindings: dict[str, Any]
    before: Term | None = None


Simplification = tuple[bool, int, str, Callable[[Term], Term | None], str]
"""Whether only a whole product or sum is looked at, under which theory, the name, what is done, and why."""
Note = Callable[[str, Term, Exception], None]
"""What is told of a move that raised: its name, the place, and the exception. The place is left as it is."""


def relate(t: Term, library: Library, note: Note, within: int = 0) -> Iterator[Found]:
    """Yield the ways in which the library's relations rewrite a term at its root, the most specific first.

    `within` are the theories under which the term is part of a larger product or sum, and not read by itself.
    """
    if isinstance(t.type, ArrayType) and not t.type.differentiable:
        return
    theories = theories_of(t.op)
    readings = theories & ~within
    yield from simplified(t, BEFORE, readings, theories, note)
    yield from relate_rows(t, library, note, readings)
    if t.op.elementwise and len(t.rands) == 1:
        yield from relate_logarithm(t, library, note)
    inner = undone(t)
    if inner is not None:
        yield Found("simplify", "cancel_inverse", inner, "a function meets its inverse", {})
    if not theories:
        return
    try:
        dot = inner_product(t)
        if dot is not None:
            # A row times a column is a sum of products.
            for found in relate(dot, library, note, theories):
                yield found._replace(term=fit(found.term, t))
    except Exception as error:
        note("inner_product", t, error)
    yield from simplified(t, AFTER, readings, theories, note)
    if readings & SUM:
        try:
            for inside, joined in joined_reductions(t):
                if any(found.move == "relation" for found in relate(inside, library, note)):
                    yield Found("simplify", "join_reductions", joined, "what two sums run over meets", {})
        except Exception as error:
            note("join_reductions", t, error)


def simplified(
    t: Term, simplifications: Sequence[Simplification], readings: int, theories: int, note: Note
) -> Iterator[Found]:
    """Yield what simplifications make of a term, of those that look at products and sums as it is read."""
    for whole, theory, name, simplify, why in simplifications:
        try:
            smaller = simplify(t) if (readings if whole else theories) & theory else None
        except Exception as error:
            note(name, t, error)
            continue
        if smaller is not None:
            yield Found("simplify", name, smaller, why, {})


def relate_rows(t: Term, library: Library, note: Note, readings: int) -> Iterator[Found]:
    """Yield what the rows of a library make of a term as it is read, the most specific first."""
    for row in library.candidates(t, readings):
        try:
            for rewrite in rewrites(row.pattern, row.right, row.conditions, t, {}):
                bindings = {label_of(v): rewrite.state.get(v) for v in row.variables}
                yield Found("relation", row.name, rewrite.term, row.summary, bindings)
        except Exception as error:
            note(row.name, t, error)


def relate_logarithm(t: Term, library: Library, note: Note) -> Iterator[Found]:
    """Yield what rows make of a logarithm under another name, log₂(x/y) = log(x/y)/log 2 and log1p(x) = log(1 + x)."""
    (x,) = t.rands
    meaning = None if t.op is log or t.op.times else t.op.meaning(Tracer(x))
    if meaning is None:
        return
    whole = as_term(meaning)
    part = whole.rands[0] if whole.op is divide and is_constant(whole.rands[1]) else whole
    if part.op is log and part.rands[0] in (x, add(constant(1.0, x.type.dtype), x)):
        for found in relate_rows(part, library, note, 0):
            (new,) = substitute([whole], {part: found.term})
            if t not in subterms(new):
                why = f"{t.op} read by definition, {found.name}"
                yield Found("simplify", "logarithm_by_definition", fit(new, t), why, found.bindings)


def sink(t: Term, note: Note) -> Iterator[Found]:
    """Yield a product whose factors are drawn into a mask among them, if they may be infinite where it is zero."""
    if theories_of(t.op) & PRODUCT and t.type.differentiable:
        try:
            sunk = sunk_product(t)
        except Exception as error:
            note("sink_into_mask", t, error)
            return
        if sunk is not None:
            yield Found("simplify", "sink_into_mask", sunk, "what a mask hides is not multiplied by zero", {})


def increase(t: Term, note: Note, readings: int) -> Iterator[Found]:
    """Yield a sum, or a quotient, with one program at two near points in it as an increment."""
    for theory, name, make, why in INCREMENTS:
        try:
            new = make(t) if readings & theory and t.type.differentiable else None
        except Exception as error:
            note(name, t, error)
            continue
        if new is not None:
            yield Found("simplify", name, new, why, {})


def relate_wide(t: Term, library: Library, note: Note, theory: int) -> tuple[Term, list[Found]]:
    """Return what the relations make of a wide sum or product, and the moves, each on the parts that it concerns."""
    wide = Wide(t, theory)
    moves: list[Found] = []
    for row in library.candidates(t, theory):
        if row.pattern.kind == "op":
            continue
        try:
            for state, before, after in wide.apply(row.pattern, row.right, row.conditions):
                bindings = {label_of(v): state.get(v) for v in row.variables}
                moves.append(Found("relation", row.name, after, row.summary, bindings, before))
        except Exception as error:  # it may have come between taking parts and putting others in their place
            note(row.name, t, error)
            return relate_wide(t, library.without(row.name), note, theory)
    if not moves and not wide.cancelled:
        return t, []
    new = wide.built()
    if not moves and new is not t:
        name, why = next((name, why) for _, which, name, _, why in SIMPLIFICATIONS if which == theory)
        moves.append(Found("simplify", name, new, why, {}, t))
    return new, moves


_DIVIDED = "a part of a divisor goes where two summands are brought over it"
AFTER: tuple[Simplification, ...] = (
    (True, SUM, "cancel_summands", cancelled_sum, "summands meet their negatives"),
    (True, SUM, "divide_sum", divided_sum, _DIVIDED),
    (True, SUM, "factor_square", factored_square, "a number is taken from a square"),
    (True, SUM, "factor_to_cancel", factored_sum, "a summand meets its negative inside a product"),
    (True, SUM, "read_square", perfect_square, "a square has been multiplied out"),
    (True, SUM, "gather_over_divisor", gathered_sum, "two quotients are taken from each other"),
    (True, SUM, "cross_products", crossed_sum, "two products of data are taken from each other"),
    (True, SUM, "read_mean", averaged_sum, "a sum of exponentials over their number is a mean"),
    (
        True,
        PRODUCT,
        "cancel_factors",
        cancelled_product,
        "factors meet their inverses, or exponentials each other",
    ),
    (
        False,
        PRODUCT,
        "cancel_in_scatter",
        scattered_product,
        "a factor meets its inverse where entries are put",
    ),
    (True, PRODUCT, "distribute_to_cancel", distributed_product, "a factor meets its inverse inside a sum"),
    (True, PRODUCT, "draw_in_exponentials", drawn_product, "an exponential meets a sum of its kind inside"),
    (False, PRODUCT, "read_root", rooted_power, "a power of one half is a root"),
)
BEFORE: tuple[Simplification, ...] = ((True, SUM, "divide_pair", divided_pair, _DIVIDED),)
"""What is done before a row is looked for, and what after."""
SIMPLIFICATIONS = (*AFTER, *BEFORE)

INCREMENTS = (
    (SUM, "remainder", remaindered, "one function at several near points"),
    (SUM, "increment", incremented, "one program at two near points"),
    (SUM, "ratio_less_one", ratio_less_one, "a ratio near one"),
    (PRODUCT, "difference_quotient", difference_quotient, "a difference over the distance"),
)
"""The theory under which a place is looked at, the name, what is done, and why."""
