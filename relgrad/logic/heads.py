"""Which parts of a subject a head of a pattern may match, and what a variable that several factors share can be.

    exp(a)·b in x·exp(y)·exp(z)       exp(y)·exp(z), exp(y), exp(z)
    (a + b)/a in (x + z)/x            x

Variables that stand in several factors, one of them a sum, can be few things, not any share of it. Of (x + z)/x, what
is divided by is a summand of what is above; of (x + y)/(x + z), x is what the two sums have in common. Without that,
each sum could be shared out in as many ways as it has parts of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quicktions import Fraction

from relgrad.logic.build import build_product, build_sum, number_term
from relgrad.logic.group import (
    Number,
    ProductView,
    SumView,
    added,
    entry,
    quotient,
    whole,
)
from relgrad.logic.index import head_key
from relgrad.logic.parts import amounts_of, dtype_of, holds
from relgrad.logic.space import entries
from relgrad.logic.unify import State, is_variable, unknowns
from relgrad.logic.view import product_of, sum_of
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.statistics import Size
from relgrad.term import Term, is_term

Parts = list[tuple[Any, Number]]
"""Parts with their amounts: exponents, coefficients, or how many there are."""


def factors_like(head: tuple[Any, Number], t: ProductView) -> list[tuple[Any, Number]]:
    """(sin(a), 2), sin(x)²·y·eᶻ → [(sin(x), 2)]: the factors that a head may match, with exponents.

    Of an exponential all are, whatever their exponents: exp(y)^k = exp(k·y).
    """
    p, k = head
    if p.op is exp:
        return [(b, e) for b, e in t.factors.items() if is_term(b) and b.op is exp]
    if p.op.as_sum:
        return [(b, e) for b, e in t.factors.items() if is_term(b) and b.op.as_sum and holds(e, k)]
    key = head_key(p.op)
    return [(b, e) for b, e in t.factors.items() if is_term(b) and head_key(b.op) == key and holds(e, k)]


def summands_like(p: Term, k: Number, t: SumView, s: State, exactly: bool) -> list[tuple[Any, Number]]:
    """(sin(a), 1), sin(x) − 2·cos(y) + z·sin(w) → sin(x), z·sin(w): the summands that a head may match.

    By that head, or by the factors that a product begins with. If `exactly`, those of which nothing else is left.
    """
    fits = lambda c: c == k if exactly else holds(c, k)
    view = product_of(p)
    if p not in view.factors:
        heads = [
            (q, e)
            for q, e in view.factors.items()
            if is_term(q) and (unknowns(q) if not s else any(v not in s for v in unknowns(q)))
        ]
        # A sum may be known once others are, and what is no factor of its own is read as several.
        if not heads or any(q.op.as_sum or q not in product_of(q).factors for q, _ in heads):
            return list(t.terms.items())
        return [(b, c) for b, c in t.terms.items() if any(factors_like(h, product_of(b)) for h in heads)]
    if p.op is exp or type(p.op) is Sum:
        return [(b, c) for b, c in t.terms.items() if fits(c) and _has_parts(p, b)]
    return [
        (b, c)
        for b, c in t.terms.items()
        if is_term(b) and (type(b.op) is type(p.op) or b.op.as_product is not None) and fits(c)
    ]


def _has_parts(p: Term, t: Any) -> bool:
    """Σ(a² + b²), Σ(x + y) → True, Σ x·y → False: whether what is summed has as many summands as a pattern of it."""
    body = p.rands[0]
    if type(p.op) is not Sum or not (is_term(body) and body.op.as_sum):
        return True
    least = sum(not is_variable(x) for x in sum_of(body).terms)
    view = product_of(t)
    for base in view.factors:
        if is_term(base) and type(base.op) is Sum:
            inner = product_of(base.rands[0])
            alone = len(view.factors) == len(inner.factors) == 1
            amounts = amounts_of(sum_of(base.rands[0])).values() if alone else [inner.coefficient]
            if sum(max(abs(view.coefficient * k), 1) for k in amounts) >= least:
                return True
    return least < 2


def may_have_coefficient(p: ProductView, t: ProductView, s: State) -> bool:
    """Σa/n, Σx/3 where x has 3 entries → True, Σx/2 → False:
    whether products of sums and sizes agree in their numbers.
    """
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


def fewest(heads: list[tuple[Any, Number]], t: ProductView, s: State) -> int:
    """[a + b, sin(a)], (x + y)·(x − y)·sin(x) → 1: the position of the head that the fewest factors are like."""
    # The size of what is not known yet is no factor to be found: it is a number once the rest is.
    return min(
        range(len(heads)),
        key=lambda i: (
            type(heads[i][0].op) is Size,
            is_open_sum(heads[i][0]),
            type(heads[i][0].op) is Sum and _has_several(heads[i][0], s),
            len(factors_like(heads[i], t)),
            heads[i][0].op is exp,
        ),
    )


def is_shared_freely(p: Term, s: State) -> bool:
    """x·y·sin(z), eˣ·eʸ, (x + y)·2 → True: whether several variables are factors, or all factors are sums of several
    unknowns, or exponentials: these take a share in many ways.
    """
    bases = [b for b in product_of(p).factors if not (is_term(b) and b.ground)]
    if sum(is_variable(b) and b not in s for b in bases) > 1:
        return True
    several = sum(is_term(b) and b.op is exp for b in bases) > 1
    return all(is_term(b) and (b.op is exp if several else _has_several(b, s)) for b in bases)


def _has_several(p: Term, s: State) -> bool:
    inside = p.rands[0] if type(p.op) is Sum else p
    several = is_term(inside) and (type(p.op) is Sum or p.op.as_sum)
    return bool(several) and sum(v not in s for v in unknowns(inside)) > 1


def is_open_sum(p: Term) -> bool:
    """Whether an operand is a sum of several variables: Γ(x + y) may be divided in many ways, until x is known."""
    return p.op.elementwise and any(
        is_term(rand) and rand.op.as_sum and len(unknowns(rand)) > 1 for rand in p.rands
    )


def joint(
    heads: Parts, variables: Parts, t: ProductView, s: State, extend: bool
) -> tuple[Any, list[Any]] | None:
    """(a + b)/a, (x + z)/x → a, [x]: a variable that several factors share, and all that it can be;
    None without one.
    """
    alone = not extend and len(heads) == len(variables) == 1
    sums = [(p, k) for p, k in heads if p.op.as_sum and sum(v not in s for v in unknowns(p)) > 1]
    for i, (p, k) in enumerate(sums):
        for v, e in variables:
            if v in sum_of(p).terms:
                values = _rests((p, k), e, t) if alone else _summands_of_all(v, (p, k), e, t)
                return v, list(dict.fromkeys(values))
        for other in sums[:i]:
            for v in sum_of(p).terms:
                if is_variable(v) and v not in s and v in sum_of(other[0]).terms:
                    return v, list(dict.fromkeys(_common(v, (p, k), other, t)))
    return None


def _rests(head: tuple[Any, Number], e: Number, t: ProductView) -> Iterator[Any]:
    """(a + b)/a, (x + z)/x → x: the part of each sum that is left of the product beside that sum."""
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
    """{x: 1, y: 1}, x·y + z → True; {x: 1, y: 1}, x + z → False:
    whether a product may be a summand, judged by its size.

    A sum among its factors may be several summands.
    """
    if not factors and view.constant:
        return True
    several = any(e == 1 and is_term(b) and b.op.as_sum for b, e in factors.items())
    return several or any(len(product_of(part).factors) == len(factors) for part in view.terms)


def _summands_of_all(v: Any, head: tuple[Any, Number], e: Number, t: ProductView) -> Iterator[Any]:
    """a·(a + b), x·(x + z) → x, z, x + z, x·(x + z):
    the summands that v can be, and factors that may be several summands.

    One or all of these.
    """
    share = sum_of(head[0]).terms[v]
    for base, _ in factors_like(head, t):
        yield from parts_of(sum_of(base), share, dtype_of(base))
    fitting = {b: quotient(n, e) for b, n in t.factors.items() if holds(n, e)}
    several = [b for b in fitting if is_term(b) and b.op.as_sum]
    yield from several
    if several and len(fitting) > 1:
        yield build_product(ProductView(1, fitting))


def _common(v: Any, one: tuple[Any, Number], other: tuple[Any, Number], t: ProductView) -> Iterator[Any]:
    """(a + b)/(a + c), (x + y)/(x + z) → x: all that two sums have in common, and each part of that.

    Of −(y − x)·(x + y) also what x − y and x + y have.
    """
    for base, _ in factors_like(one, t):
        for second, _ in factors_like(other, t):
            if base is not second:
                for sign in (1, -1) if t.coefficient < 0 else (1,):
                    yield from _shared(v, (base, one[0], sign), (second, other[0], 1))


def _shared(v: Any, *sums: tuple[Any, Any, int]) -> Iterator[Any]:
    """x + y + 1, x + z + 1 → x + 1, x, 1: the common summands of two sums, together and one by one."""
    u, w = (added((sum_of(base), Fraction(sign) / sum_of(p).terms[v])) for base, p, sign in sums)
    shared, dtype = in_common(u, w), dtype_of(sums[0][0])
    if shared.terms and len(shared.terms) + bool(shared.constant) > 1:
        yield build_sum(shared, dtype)
    yield from parts_of(shared, 1, dtype)


def in_common(u: SumView, w: SumView) -> SumView:
    """2·x + y + 1, 2·x + z + 1 → 2·x + 1: the summands that stand equally often in two sums, and their number."""
    terms = {part: c for part, c in u.terms.items() if w.terms.get(entry(w.terms, part)) == c}
    return SumView(u.constant if u.constant == w.constant else 0, terms)


def parts_of(view: SumView, share: Number, dtype: Any) -> Iterator[Any]:
    """2·x + 1, 2 → x, ½: the summands of a sum one by one, each divided by a share."""
    for part, c in view.terms.items():
        yield build_sum(SumView(0, {part: quotient(c, share)}), dtype)
    if view.constant:
        yield number_term(quotient(view.constant, share), dtype)
