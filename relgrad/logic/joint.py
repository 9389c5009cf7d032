"""Variables that stand in several factors, one of them a sum: what they can be is few things, not any share of it.

Of (x + z)/x, what is divided by is a summand of what is above; of (x + y)/(x + z), x is what the two sums have in
common. Without that, each sum could be shared out in as many ways as it has parts of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quicktions import Fraction

from relgrad.logic.build import build_product, build_sum, number_term
from relgrad.logic.candidates import factors_like
from relgrad.logic.group import Number, ProductView, SumView, added, entry, quotient, whole
from relgrad.logic.parts import dtype_of, holds
from relgrad.logic.unify import State, is_variable, unknowns
from relgrad.logic.view import product_of, sum_of
from relgrad.term import is_term

Factors = list[tuple[Any, Number]]


def joint(
    heads: Factors, variables: Factors, t: ProductView, s: State, extend: bool
) -> tuple[Any, list[Any]] | None:
    """Return a variable that several factors share, and what it can be; None where there is none."""
    alone = not extend and len(heads) == len(variables) == 1
    sums = [(p, k) for p, k in heads if p.op.as_sum and sum(v not in s for v in unknowns(p)) > 1]
    for i, (p, k) in enumerate(sums):
        for v, e in variables:
            if v in sum_of(p).terms:
                values = _rests((p, k), e, t) if alone else _summands(v, (p, k), e, t)
                return v, list(dict.fromkeys(values))
        for other in sums[:i]:
            for v in sum_of(p).terms:
                if is_variable(v) and v not in s and v in sum_of(other[0]).terms:
                    return v, list(dict.fromkeys(_common(v, (p, k), other, t)))
    return None


def _rests(head: tuple[Any, Number], e: Number, t: ProductView) -> Iterator[Any]:
    """Yield what is left beside each sum, where that is part of it."""
    if abs(e) != 1:
        return
    if e < 0 and sum(n > 0 for n in t.factors.values()) > 1:
        return  # 1/x is found where something is divided by, not made of what is not
    for base, n in factors_like(head, t):
        factors = dict(t.factors)
        factors[base] = n - head[1]
        factors = {b: m if e > 0 else -m for b, m in factors.items() if m}
        if t.coefficient and _may_be_part(factors, sum_of(base)):
            value = build_product(
                ProductView(whole(Fraction(t.coefficient) ** int(e)), factors), dtype_of(base)
            )
            whole_sum, part = sum_of(base), sum_of(value)
            if all(entry(whole_sum.terms, b) in whole_sum.terms for b in part.terms):
                yield value


def _may_be_part(factors: dict[Any, Number], view: SumView) -> bool:
    """Whether a product may be a summand, judged by its size, or hold several."""
    if not factors and view.constant:
        return True
    several = any(e == 1 and is_term(b) and b.op.as_sum for b, e in factors.items())
    return several or any(len(product_of(part).factors) == len(factors) for part in view.terms)


def _summands(v: Any, head: tuple[Any, Number], e: Number, t: ProductView) -> Iterator[Any]:
    """Yield the summands that v can be, and the factors, one or all of them, that may be several summands."""
    share = sum_of(head[0]).terms[v]
    for base, _ in factors_like(head, t):
        yield from _parts(sum_of(base), share, dtype_of(base))
    fitting = {b: quotient(n, e) for b, n in t.factors.items() if holds(n, e)}
    several = [b for b in fitting if is_term(b) and b.op.as_sum]
    yield from several
    if several and len(fitting) > 1:
        yield build_product(ProductView(1, fitting))


def _common(v: Any, one: tuple[Any, Number], other: tuple[Any, Number], t: ProductView) -> Iterator[Any]:
    """Yield what two sums have in common, all of it and each part; of -(y - x)·(x + y) also what x - y has."""
    for base, _ in factors_like(one, t):
        for second, _ in factors_like(other, t):
            if base is not second:
                for sign in (1, -1) if t.coefficient < 0 else (1,):
                    yield from _shared(v, (base, one[0], sign), (second, other[0], 1))


def _shared(v: Any, *sums: tuple[Any, Any, int]) -> Iterator[Any]:
    u, w = (added((sum_of(base), Fraction(sign) / sum_of(p).terms[v])) for base, p, sign in sums)
    terms = {part: c for part, c in u.terms.items() if w.terms.get(part) == c}
    shared = SumView(u.constant if u.constant == w.constant else 0, terms)
    dtype = dtype_of(sums[0][0])
    if terms and len(terms) + bool(shared.constant) > 1:
        yield build_sum(shared, dtype)
    yield from _parts(shared, 1, dtype)


def _parts(view: SumView, share: Number, dtype: Any) -> Iterator[Any]:
    for part, c in view.terms.items():
        yield build_sum(SumView(0, {part: quotient(c, share)}), dtype)
    if view.constant:
        yield number_term(quotient(view.constant, share), dtype)
