"""Which parts of a subject a part of a pattern may match, judged by their heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quicktions import Fraction

from relgrad.logic.build import build_product, number_term
from relgrad.logic.group import Number, ProductView, SumView, quotient
from relgrad.logic.heads import exponents
from relgrad.logic.ranges import range_of
from relgrad.logic.share import holds
from relgrad.logic.space import entries
from relgrad.logic.theory import PRODUCTS, SUMS
from relgrad.logic.unify import State, unknowns
from relgrad.logic.view import product_of
from relgrad.op import Op
from relgrad.ops.arithmetic import power
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.statistics import Size
from relgrad.term import Term, is_term


def factors_like(head: tuple[Any, Number], t: ProductView) -> list[tuple[Any, Number]]:
    """List the factors that a head may match, with their exponents; exponentials whatever those are."""
    p, k = head
    if p.op is exp:
        return [(b, e) for b, e in t.factors.items() if is_term(b) and b.op is exp]
    if p.op in SUMS:
        return [(b, e) for b, e in t.factors.items() if is_term(b) and b.op in SUMS and holds(e, k)]
    return [(b, e) for b, e in t.factors.items() if is_term(b) and type(b.op) is type(p.op) and holds(e, k)]


def summands_like(p: Term, k: Number, t: SumView, s: State) -> list[tuple[Any, Number]]:
    """List the summands that a head may match: by that head, or by the factors that a product begins with."""
    view = product_of(p)
    if p not in view.factors:
        heads = [
            (q, e)
            for q, e in view.factors.items()
            if is_term(q) and (unknowns(q) if not s else any(v not in s for v in unknowns(q)))
        ]
        # A sum may be known once others are, and what is no factor of its own is read as several.
        if not heads or any(q.op in SUMS or q not in product_of(q).factors for q, _ in heads):
            return list(t.terms.items())
        return [(b, c) for b, c in t.terms.items() if any(factors_like(h, product_of(b)) for h in heads)]
    if p.op is exp or type(p.op) is Sum:
        return list(t.terms.items())
    return [
        (b, c)
        for b, c in t.terms.items()
        if is_term(b) and (type(b.op) is type(p.op) or b.op in PRODUCTS) and holds(c, k)
    ]


def may_have_coefficient(p: ProductView, t: ProductView, s: State) -> bool:
    """Whether products agree in their numbers, where the pattern is made of sums and sizes: a mean of three is Σx/3."""
    if not all(is_term(q) and type(q.op) in (Sum, Size) for q in p.factors):
        return True
    if any(v in s for q in p.factors for v in unknowns(q.rands[0])):
        return True  # what is known may have a coefficient of its own
    sums = [q for q in p.factors if type(q.op) is Sum]
    products: list[Number] = [1]
    for q, e in p.factors.items():
        if type(q.op) is Size:
            if not any(q.rands == total.rands and q.op.axes == total.op.axes for total in sums):
                return True
            counts = {entries(b) for b in t.factors if is_term(b) and type(b.op) is Sum}
            if not all(counts):
                return True
            products = [n * Fraction(count or 1) ** int(e) for n in products for count in counts]
    return any(t.coefficient == p.coefficient * n for n in products)


def as_powers(t: Term) -> Iterator[Term]:
    """Read a subject as a power x**a in the ways that there are, however it is written: 1/x, √x, x·x, 1/(x·x·y)."""
    view = product_of(t)
    found = exponents(view) if view.coefficient == 1 and t.ground else []
    found = [a for a in found if all(_is_power(b, Fraction(e), Fraction(a)) for b, e in view.factors.items())]
    for a in found:
        base = ProductView(1, {b: quotient(e, a) for b, e in view.factors.items()})
        yield power.make_node(build_product(base), number_term(a))
    if not found:
        yield t


def _is_power(base: Any, e: Fraction, a: Fraction) -> bool:
    """Whether bᵉ = (b^(e/a))ᵃ wherever bᵉ has a value: √(x²) is no x."""
    if e.denominator != 1 or range_of(base).nonnegative:
        return True
    inner = e / a
    return inner.denominator == 1 and (a.denominator == 1 or (inner % 2 == 0 and e % 2 == 0))


def as_head(t: Term, op: Op) -> Term:
    """Read a subject as its only factor where that has the head that is looked for."""
    if type(t.op) is not type(op):
        view = product_of(t)
        if view.coefficient == 1 and len(view.factors) == 1:
            ((base, e),) = view.factors.items()
            if e == 1 and is_term(base) and type(base.op) is type(op):
                return base
    return t


def fewest(heads: list[tuple[Any, Number]], t: ProductView, s: State) -> int:
    """Return the position of the head that the fewest factors are like."""
    # The size of what is not known yet is no factor to be found: it is a number once the rest is.
    return min(
        range(len(heads)),
        key=lambda i: (
            type(heads[i][0].op) is Size,
            _is_open_sum(heads[i][0]),
            type(heads[i][0].op) is Sum and _has_several(heads[i][0], s),
            len(factors_like(heads[i], t)),
            heads[i][0].op is exp,
        ),
    )


def is_open(p: Term, s: State) -> bool:
    """Whether all factors are sums of several unknowns, or exponentials, which take a share in many ways."""
    bases = [b for b in product_of(p).factors if not (is_term(b) and b.ground)]
    several = sum(is_term(b) and b.op is exp for b in bases) > 1
    return all(is_term(b) and (b.op is exp if several else _has_several(b, s)) for b in bases)


def _has_several(p: Term, s: State) -> bool:
    inside = p.rands[0] if type(p.op) is Sum else p
    several = is_term(inside) and (type(p.op) is Sum or p.op in SUMS)
    return several and sum(v not in s for v in unknowns(inside)) > 1


def _is_open_sum(p: Term) -> bool:
    """Whether an operand is a sum of several variables: Γ(x + y) may be divided in many ways, until x is known."""
    return p.op.elementwise and any(
        is_term(rand) and rand.op in SUMS and len(unknowns(rand)) > 1 for rand in p.rands
    )
