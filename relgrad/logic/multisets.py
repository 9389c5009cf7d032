"""Products, sums and bags as multisets: what the one order of work in `match` asks of each.

    a·exp(b)     known 1, the head exp(b), the variable a          a multiset is a number, and parts with amounts:
    2·a + x      known x, the variable a twice                     exponents, coefficients, or how many there are

A pattern's parts are known, have a head, or are variables. A theory says which parts of a subject a head may match, the
fewest first, what is left where known parts are taken out, and how variables share the rest.

Variables that stand in several factors, one of them a sum, can be few things, not any share of it. Of (x + z)/x, what
is divided by is a summand of what is above; of (x + y)/(x + z), x is what the two sums have in common. Without that,
each sum could be shared out in as many ways as it has parts of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from quicktions import Fraction

from relgrad.errors import ShapeError
from relgrad.logic.build import build_product, build_sum, number_term
from relgrad.logic.group import (
    BagView,
    Number,
    ProductView,
    SumView,
    added,
    entry,
    multiplied,
    quotient,
    whole,
)
from relgrad.logic.parts import (
    bag_of,
    bag_shares,
    dtype_of,
    has_constant,
    holds,
    less,
    minus,
    product_shares,
    sum_shares,
    without,
)
from relgrad.logic.space import entries
from relgrad.logic.theory import theories_of
from relgrad.logic.unify import State, bind, is_variable, unknowns, walked
from relgrad.logic.view import applied, product_of, sum_of
from relgrad.op import Op, is_constant
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.statistics import Size
from relgrad.term import Term, is_term

Parts = list[tuple[Any, Number]]


class Demands(NamedTuple):
    """What a pattern asks of a subject: the parts that are known, as a multiset, those with a head, and variables."""

    known: Any
    heads: Parts
    variables: Parts


class Bags:
    """The operands of an op that is associative and commutative, each so often: sums without negatives.

    A theory reads terms as multisets, `(number, parts)`; those of products and sums say below where they differ.
    """

    def __init__(self, op: Any = None):
        self.op = op

    def made(self, number: Any, parts: dict[Any, Number]) -> Any:
        """Return a multiset; of the number None, one with no number."""
        return BagView(self.op, parts)

    def joined(self, *views: tuple[Any, Number]) -> Any:
        """Return several multisets, each so often, as one."""
        parts: dict[Any, Number] = {}
        for view, k in views:
            for part, n in view.parts.items():
                parts[part] = parts.get(part, 0) + n * k
        return BagView(self.op, parts)

    def known(self, part: Any, k: Number) -> Any:
        """Return a part of a pattern that is ground, and stands there so often, as a multiset; None where it cannot."""
        return bag_of(part, self.op)

    def opened(self, part: Term, k: Number) -> Any:
        """Return what bindings have made several parts of one as a multiset, or None."""
        return bag_of(part, self.op) if part.op == self.op else None

    def left(self, p: Any, demands: Demands, t: Any, s: State, extend: bool) -> Any:
        """Return a subject without what is known of a pattern, or None where that is not there."""
        return less(t, demands.known)

    def first(self, heads: Parts, t: Any, s: State) -> tuple[int, Any] | None:
        """Return which head is matched first, and its candidates; None where one has none."""
        candidates = [[x for x, n in t.parts.items() if n >= k and _may_match(p, x)] for p, k in heads]
        i = min(range(len(heads)), key=lambda i: len(candidates[i]))
        return i, candidates[i]

    def shares(self, t: Any, k: Number, others: Parts, extend: bool, dtype: Any) -> Iterator[tuple[Any, Any]]:
        """Yield what a variable that stands k times may take, as a term, and what is then left for others."""
        for taken, left in bag_shares(t, int(k), sum(int(n) for _, n in others), bool(others) or extend):
            yield applied(self.op, taken), left

    def dtype(self, t: Any) -> Any:
        """Return the dtype in which numbers are written that a variable takes, or None: as they are."""
        return None

    def is_nothing(self, t: Any) -> bool:
        """Whether a multiset is empty."""
        return not t[1] and t[0] == self.made(None, {})[0]

    def joint(self, heads: Parts, variables: Parts, t: Any, s: State, extend: bool) -> Any:
        """Return a variable that several parts share, and what it can be; None where there is none."""
        return None

    def demands(self, p: Any, s: State) -> Demands | None:
        """Return what a pattern asks for under a state; None where it can stand nowhere: shapes do not fit, or 1/0."""
        known, heads, variables = self.made(p[0], {}), [], []
        for part, k in p[1].items():
            try:
                part = walked(part, s)
            except ShapeError:
                return None
            if is_variable(part):
                variables.append((part, k))
            elif not is_term(part) or part.ground:
                view = self.known(part, k)
                if view is None:
                    return None
                known = self.joined((known, 1), (view, k))
            elif (view := self.opened(part, k)) is None:
                heads.append((part, k))
            else:
                inner = self.demands(view, s)
                if inner is None:
                    return None
                known = self.joined((known, 1), (inner.known, k))
                heads += [(q, e * k) for q, e in inner.heads]
                variables += [(q, e * k) for q, e in inner.variables]
        return Demands(known, heads, variables)

    def pending(self, demands: Demands, i: int) -> Any:
        """Return what is left of a pattern once one of its heads is matched."""
        parts: dict[Any, Number] = {}
        for part, k in (*demands.heads[:i], *demands.heads[i + 1 :], *demands.variables):
            parts[part] = parts.get(part, 0) + k
        return self.made(None, parts)

    def shared(
        self, variables: Parts, t: Any, s: State, extend: bool, dtype: Any
    ) -> Iterator[tuple[State, Any]]:
        """Give each variable a share, few parts first; the last takes all that is left, unless some may be."""
        (variable, k), *others = variables
        for value, left in self.shares(t, k, others, extend, dtype):
            bound = bind(variable, value, s)
            if bound is False:
                continue
            if others:
                yield from self.shared(others, left, bound, extend, dtype)
            else:
                yield bound, left


class Products(Bags):
    """Factors with exponents, and a coefficient: an abelian group."""

    def made(self, number: Any, parts: dict[Any, Number]) -> ProductView:
        return ProductView(1 if number is None else number, parts)

    def joined(self, *views: tuple[Any, Number]) -> ProductView:
        return multiplied(*views)

    def known(self, part: Any, k: Number) -> ProductView | None:
        view = product_of(part)
        if not view.factors and k.denominator != 1:
            view = ProductView(1, {part: 1})  # a root that is not rational is a factor
        return view if view.coefficient else None

    def opened(self, part: Term, k: Number) -> ProductView | None:
        if part.op is exp or part.op.as_sum:
            return None
        view = product_of(part)
        return None if part in view.factors or (view.coefficient != 1 and k.denominator != 1) else view

    def left(self, p: Any, demands: Demands, t: Any, s: State, extend: bool) -> ProductView | None:
        left = without(t, demands.known)
        if left is None and extend and not demands.heads and not demands.variables:
            return divided(p, t, s)
        return left

    def joint(self, heads: Parts, variables: Parts, t: Any, s: State, extend: bool) -> Any:
        return joint(heads, variables, t, s, extend) if heads else None

    def first(self, heads: Parts, t: Any, s: State) -> tuple[int, Any]:
        i = fewest(heads, t, s) if len(heads) > 1 else 0
        return i, factors_like(heads[i], t)

    def shares(self, t: Any, k: Number, others: Parts, extend: bool, dtype: Any) -> Iterator[tuple[Any, Any]]:
        for taken, left in product_shares(t, k, not extend, not (others or extend)):
            yield build_product(taken, dtype), left


class Sums(Bags):
    """Summands with coefficients, and a constant: an abelian group."""

    def made(self, number: Any, parts: dict[Any, Number]) -> SumView:
        return SumView(number or 0, parts)

    def joined(self, *views: tuple[Any, Number]) -> SumView:
        return added(*views)

    def known(self, part: Any, k: Number) -> SumView:
        return sum_of(part)

    def dtype(self, t: Any) -> Any:
        return next(map(dtype_of, t.terms), None)

    def opened(self, part: Term, k: Number) -> SumView | None:
        return sum_of(part) if part.op.as_sum else None

    def left(self, p: Any, demands: Demands, t: Any, s: State, extend: bool) -> SumView | None:
        if not (demands.variables or has_constant(t, demands.known)):
            return None
        return t if demands.heads else minus(t, demands.known)

    def pending(self, demands: Demands, i: int) -> SumView:
        # Known summands wait, since they may cancel with what variables come to be.
        return added((super().pending(demands, i), 1), (demands.known, 1))

    def first(self, heads: Parts, t: Any, s: State) -> tuple[int, Any] | None:
        candidates: list[Parts] = []
        for part, k in heads:
            candidates.append(summands_like(part, k, t, s))
            if not candidates[-1]:
                return None
        # A sum of several unknowns is shared out in many ways, of which few are left once some are known.
        rank = lambda i: (bool(candidates[i] and is_open(heads[i][0], s)), len(candidates[i]))
        i = min(range(len(heads)), key=rank) if len(heads) > 1 else 0
        return i, candidates[i]

    def shares(self, t: Any, k: Number, others: Parts, extend: bool, dtype: Any) -> Iterator[tuple[Any, Any]]:
        for taken, left in sum_shares(t, bool(others) or extend):
            yield build_sum(added((taken, quotient(1, k))), dtype), left


PRODUCTS, SUMS = Products(), Sums()


@lru_cache(maxsize=256)
def bags_of(op: Op) -> Bags:
    """Return the theory of an op that is associative and commutative, which is neither a sum nor a product."""
    return Bags(op)


def _may_match(p: Any, t: Any) -> bool:
    return not is_term(t) or theories_of(p.op) != 0 or theories_of(t.op) != 0 or type(t.op) is type(p.op)


def divided(p: ProductView, t: ProductView, s: State) -> ProductView | None:
    """Divide a product by a variable's value of which it has a part only, or None: f(w·x)/x is w·f(w·x)/(w·x)."""
    if len(p.factors) != 1 or p.coefficient != 1:
        return None
    ((variable, k),) = p.factors.items()
    value = walked(variable, s)
    if k >= 0 or not is_variable(variable) or not is_term(value) or not value.ground:
        return None
    view = product_of(value)
    own = {b: e for b, e in view.factors.items() if is_term(b) and not is_constant(b)}
    if len(view.factors) < 2 or not any(e > 0 and t.factors.get(b, 0) == e * k for b, e in own.items()):
        return None
    return multiplied((t, 1), (view, -k))


def factors_like(head: tuple[Any, Number], t: ProductView) -> list[tuple[Any, Number]]:
    """List the factors that a head may match, with their exponents; exponentials whatever those are."""
    p, k = head
    if p.op is exp:
        return [(b, e) for b, e in t.factors.items() if is_term(b) and b.op is exp]
    if p.op.as_sum:
        return [(b, e) for b, e in t.factors.items() if is_term(b) and b.op.as_sum and holds(e, k)]
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
        if not heads or any(q.op.as_sum or q not in product_of(q).factors for q, _ in heads):
            return list(t.terms.items())
        return [(b, c) for b, c in t.terms.items() if any(factors_like(h, product_of(b)) for h in heads)]
    if p.op is exp or type(p.op) is Sum:
        return list(t.terms.items())
    return [
        (b, c)
        for b, c in t.terms.items()
        if is_term(b) and (type(b.op) is type(p.op) or b.op.as_product is not None) and holds(c, k)
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
    several = is_term(inside) and (type(p.op) is Sum or p.op.as_sum)
    return bool(several) and sum(v not in s for v in unknowns(inside)) > 1


def _is_open_sum(p: Term) -> bool:
    """Whether an operand is a sum of several variables: Γ(x + y) may be divided in many ways, until x is known."""
    return p.op.elementwise and any(
        is_term(rand) and rand.op.as_sum and len(unknowns(rand)) > 1 for rand in p.rands
    )


def joint(
    heads: Parts, variables: Parts, t: ProductView, s: State, extend: bool
) -> tuple[Any, list[Any]] | None:
    """Return a variable that several factors share, and what it can be; None where there is none."""
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


def _summands_of_all(v: Any, head: tuple[Any, Number], e: Number, t: ProductView) -> Iterator[Any]:
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
