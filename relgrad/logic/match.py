"""Matching and unification modulo the theories: pattern against subject, as generators over states.

    match(a·exp(b), x·exp(y)·z)     {a: x·z, b: y}

Products and sums are read as multisets (see `view`). What a side demands is sorted: bound and ground parts are taken
out first, then what is constrained by a head, fewest candidates first, variables last; never a permutation. Every
yielded state is new; none is changed. Recursion is on patterns, which are small, never on subjects.

Variables that stand in several factors, one of them a sum, can be few things, not any share of it. Of (x + z)/x, what
is divided by is a summand of what is above; of (x + y)/(x + z), x is what the two sums have in common. Without that,
each sum could be shared out in as many ways as it has parts of parts.

Source: the order of work follows Eker, "Associative-commutative rewriting on large terms" (2003); changed from it:
the theories are abelian groups, a product of exponentials is one exponential, reductions are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.errors import ShapeError
from relgrad.logic.associative import has_many_operands, match_bag
from relgrad.logic.build import build_product, build_sum, number_term
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.equality import equal_ground
from relgrad.logic.group import Number, ProductView, SumView, added, entry, multiplied, quotient, whole
from relgrad.logic.index import exponents
from relgrad.logic.parts import (
    ProductMatch,
    SumMatch,
    choose_product,
    dtype_of,
    exponent_of,
    has_constant,
    holds,
    minus,
    share_product,
    share_sum,
    without,
)
from relgrad.logic.space import bare, entries
from relgrad.logic.theory import (
    BAG,
    linear_operands,
    linear_positions,
    stands_outside,
    theories_of,
)
from relgrad.logic.unify import State, bind, is_variable, reify_term, unify_terms, unknowns, walked
from relgrad.logic.view import product_of, sum_of, summand
from relgrad.op import Op, is_constant
from relgrad.ops.arithmetic import negative, power
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.statistics import Size
from relgrad.ops.structure import Expand
from relgrad.term import Term, is_term
from relgrad.types import ArrayType

Parts = list[tuple[Any, Number]]


def demands_of_product(p: ProductView, s: State) -> tuple[ProductView, Parts, Parts] | None:
    """Return the factors that are known, those that have a head, and variables.

    None where zero is divided by, or arrays do not broadcast together.
    """
    needed, heads, variables = ProductView(p.coefficient, {}), [], []
    for base, k in p.factors.items():
        try:
            base = walked(base, s)
        except ShapeError:
            return None
        if is_variable(base):
            variables.append((base, k))
        elif not is_term(base) or base.ground:
            view = product_of(base)
            if not view.coefficient:
                return None
            if not view.factors and k.denominator != 1:
                view = ProductView(1, {base: 1})  # a root that is not rational is a factor
            needed = multiplied((needed, 1), (view, k))
        elif base.op is not exp and not base.op.as_sum and base not in product_of(base).factors:
            for b, e in product_of(base).factors.items():  # bindings have opened what was one factor
                heads.append((b, e * k))
        else:
            heads.append((base, k))
    return needed, heads, variables


def demands_of_sum(p: SumView, s: State) -> tuple[SumView, Parts, Parts] | None:
    """Return the summands that are known, those that have a head, and variables; None where shapes do not fit."""
    needed, heads, variables = SumView(p.constant, {}), [], []
    for part, k in p.terms.items():
        try:
            part = walked(part, s)
        except ShapeError:
            return None
        if is_variable(part):
            variables.append((part, k))
        elif not is_term(part) or part.ground:
            needed = added((needed, 1), (sum_of(part), k))
        else:
            heads.append((part, k))
    return needed, heads, variables


def is_one_sum(view: ProductView) -> bool:
    """Whether a product is a number times one sum: half of x + y is x/2 + y/2."""
    return (
        all(e == 1 and is_term(b) and b.op.as_sum for b, e in view.factors.items()) and len(view.factors) == 1
    )


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
    several = is_term(inside) and (type(p.op) is Sum or p.op.as_sum)
    return bool(several) and sum(v not in s for v in unknowns(inside)) > 1


def _is_open_sum(p: Term) -> bool:
    """Whether an operand is a sum of several variables: Γ(x + y) may be divided in many ways, until x is known."""
    return p.op.elementwise and any(
        is_term(rand) and rand.op.as_sum and len(unknowns(rand)) > 1 for rand in p.rands
    )


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


def match(p: Any, t: Any, s: State) -> Iterator[State]:
    """Yield the states in which a pattern and a subject are equal modulo the theories."""
    p, t = walked(p, s), walked(t, s)
    if p is t:
        yield s
    elif is_variable(p) or is_variable(t):
        variable, value = (p, t) if is_variable(p) else (t, p)
        bound = bind(variable, value, s)
        if bound is not False:
            yield bound
    elif not (is_term(p) and is_term(t)):
        bound = unify_terms(p, t, s)
        if bound is not False:
            yield bound
    elif p.ground and t.ground:
        if equal_ground(p, t):
            yield s
    elif p.ground:
        yield from match(t, p, s)
    else:
        yield from _match_open(p, t, s)


def _match_open(p: Term, t: Term, s: State) -> Iterator[State]:
    view = product_of(p)
    if p.op.as_sum or (view.coefficient != 1 and is_one_sum(view)):
        for state, _ in match_sum(sum_of(p), _summands(t), s, extend=False):
            yield state
        return
    read = p.op.as_product is not None or p.op is power or (p.op is exp and len(view.factors) != 1)
    if read and p not in view.factors:
        for state, _ in match_product(view, product_of(t), s, extend=False):
            yield state
        return
    if theories_of(p.op) & BAG and not has_many_operands(head := as_head(t, p.op), p.op):
        for state, _, _ in match_bag(p, head, s, False, matching(p.op)):
            yield state
    elif p.op is exp:
        yield from _match_one_exponential(p, t, s)
    elif p.op is power:
        for reading in as_powers(t):
            yield from _match_operands(p, reading, s)
    elif type(p.op) is Sum:
        yield from _match_reduction(p, t, s)
    elif type(t.op) is not type(p.op) and linear_positions(p.op):
        yield from _match_linear(p, t, s)
    else:
        yield from _match_operands(p, as_head(t, p.op), s)


def _summands(t: Term) -> SumView:
    """Read a term as a sum; one with an axis more, as the column (x + y)[:, None], as a sum of such columns."""
    if type(t.op) is Expand and t.ground and t.rands[0].op.as_sum:
        total = t.rands[0]
        view = sum_of(total)
        if all(x.type.shape == total.type.shape for x in view.terms):
            return SumView(view.constant, {t.op.make_node(x): k for x, k in view.terms.items()})
    return sum_of(t)


def _match_operands(p: Term, t: Term, s: State) -> Iterator[State]:
    first = unify_terms(p.op, t.op, s) if len(p) == len(t) else False
    if first is False:
        return
    orders = [t.rands]
    if len(t.rands) == 2 and p.op.laws.commutative and t.rands[0] is not t.rands[1]:
        orders.append(t.rands[::-1])
    if p.op.laws.parity == 1 and t.ground:  # an even function of -x is that of x
        orders.append((negative(t.rands[0]),))
    for rands in orders:
        yield from _match_all(p.rands, rands, first, matching(p.op))


def _match_all(
    ps: tuple[Any, ...], ts: tuple[Any, ...], s: State, matches: Callable[..., Iterator[State]]
) -> Iterator[State]:
    if not ps:
        yield s
        return
    for state in matches(ps[0], ts[0], s):
        yield from _match_all(ps[1:], ts[1:], state, matches)


def matching(op: Any) -> Callable[..., Iterator[State]]:
    """Return how the operands of an op are matched: those of one that counts or moves entries with their shapes."""
    return match if op.elementwise else match_shaped


def match_shaped(p: Any, t: Any, s: State) -> Iterator[State]:
    """Yield the states in which a pattern and a subject are equal modulo the theories, and of one shape."""
    return (state for state in match(p, t, s) if _fills(p, t, state))


def _fills(p: Any, t: Any, s: State, axes: tuple[int, ...] | None = None) -> bool:
    """Whether a pattern has, under its bindings, the extents of what it matched; along axes, or along all.

    A view may take an array for a smaller one that broadcasts to it: what counts entries or moves them may not.
    """
    if not (is_term(t) and t.ground and isinstance(t.type, ArrayType)):
        return True
    found = reify_term(p, s)
    if not (is_term(found) and found.ground and isinstance(found.type, ArrayType)):
        return True
    if axes is None:
        return bare(found.type.shape) == bare(t.type.shape)
    return all(found.type.extent(axis) == t.type.extent(axis) for axis in axes)


def _match_one_exponential(p: Term, t: Any, s: State) -> Iterator[State]:
    """Match exp(q): one exponential keeps its exponent as it is written, such as (x + c)/k, which may be exact."""
    one = is_term(t) and t.op is exp
    yield from match(p.rands[0], t.rands[0], s) if one else _match_exponential(p.rands[0], product_of(t), s)


def _match_exponential(q: Any, view: ProductView, s: State, k: Number = 1) -> Iterator[State]:
    """Match exp(q)^k against a product of nothing but exponentials: q = Σ (e/k)·u."""
    if view.coefficient == 1 and view.factors and all(is_term(b) and b.op is exp for b in view.factors):
        yield from match(q, exponent_of(view, k), s)


def _match_reduction(p: Term, t: Term, s: State) -> Iterator[State]:
    """Match sum(body) against a product: all that is constant along the axes is read as standing inside."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e != 1 or not is_term(base) or type(base.op) is not Sum:
            continue
        state = unify_terms(p.op, base.op, s)
        others = ProductView(view.coefficient, {b: k for b, k in view.factors.items() if b is not base})
        if state is False or not all(is_constant_along(b, base.op.axes) for b in others.factors if b.ground):
            continue
        body = multiplied((others, 1), (product_of(base.rands[0]), 1))
        yield from _match_body(p.rands[0], body, base.rands[0], state, base.op.axes)


def _match_linear(p: Term, t: Term, s: State) -> Iterator[State]:
    """Match op(…, body, …) against a product: what may stand before a linear op is read as standing inside."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e != 1 or not is_term(base) or not base.ground or type(base.op) is not type(p.op):
            continue
        state = unify_terms(p.op, base.op, s) if len(base) == len(p) else False
        if state is False:
            continue
        others = ProductView(view.coefficient, {b: k for b, k in view.factors.items() if b is not base})
        for i, axes in linear_operands(base):
            like = base.rands[i]
            if not all(is_term(b) and b.ground and stands_outside(b, axes, like) for b in others.factors):
                continue
            body = multiplied((others, 1), (product_of(like), 1))
            rest = [(x, y) for j, (x, y) in enumerate(zip(p.rands, base.rands, strict=True)) if j != i]
            operands = tuple([x for x, _ in rest]), tuple([y for _, y in rest])
            for inner in _match_all(*operands, state, matching(base.op)):
                yield from _match_body(p.rands[i], body, like, inner)


def _match_body(
    p: Any, body: ProductView, like: Term, s: State, axes: tuple[int, ...] | None = None
) -> Iterator[State]:
    """Match what stands under a linear op, read as `body`, where nothing is lost of how often `like` counts there."""
    p = walked(p, s)
    if is_term(p) and p.op.as_sum:
        found = match_sum(sum_of(p), summand(body, None, dtype_of(like)), s, extend=False)
    else:
        found = match_product(product_of(p), body, s, extend=False, dtype=dtype_of(like))
    yield from (state for state, _ in found if _fills(p, like, state, axes))


def match_product(
    p: ProductView, t: ProductView, s: State, extend: bool, dtype: Any = None
) -> Iterator[ProductMatch]:
    """Yield states, and what is left of the subject, in which a product pattern is part of (or all of) a product."""
    demands = demands_of_product(p, s)
    if demands is None:
        return
    needed, heads, variables = demands
    left = without(t, needed)
    if left is None and extend and not heads and not variables:
        left = divided(p, t, s)
    if left is None:
        return
    if heads and (found := joint(heads, variables, left, s, extend)) is not None:
        variable, values = found
        for value in values:
            bound = bind(variable, value, s)
            if bound is not False:
                yield from match_product(p, t, bound, extend, dtype)
    elif heads:
        yield from _match_heads(heads, variables, left, s, extend, dtype)
    elif variables:
        yield from (choose_product if extend else share_product)(variables, left, s, dtype)
    elif extend or (not left.factors and left.coefficient == 1):
        yield s, left


def _match_heads(
    heads: list[tuple[Any, Number]],
    variables: list[tuple[Any, Number]],
    t: ProductView,
    s: State,
    extend: bool,
    dtype: Any,
) -> Iterator[ProductMatch]:
    """Match the factor that has the fewest candidates, then the rest."""
    best = fewest(heads, t, s) if len(heads) > 1 else 0
    base, k = heads[best]
    rest = [head for i, head in enumerate(heads) if i != best]
    pending = ProductView(1, dict([*rest, *variables]))
    for state, left in match_factor(base, k, t, s):
        yield from match_product(pending, left, state, extend, dtype)


def match_factor(p: Term, k: Number, t: ProductView, s: State) -> Iterator[ProductMatch]:
    """Match p^k against one factor of t, or several exponentials; yield also what is left of t."""
    candidates = factors_like((p, k), t)
    if p.op is exp:
        groups = [tuple(candidates)] if len(candidates) > 1 else []
        groups += [(candidate,) for candidate in candidates]
        for group in groups:
            left = ProductView(t.coefficient, {b: e for b, e in t.factors.items() if (b, e) not in group})
            for state in _match_exponential(p.rands[0], ProductView(1, dict(group)), s, k):
                yield state, left
        return
    for base, _ in candidates:
        left = multiplied((t, 1), (ProductView(1, {base: 1}), -k))
        if p.op.as_sum:
            for state, _ in match_sum(sum_of(p), sum_of(base), s, extend=False):
                yield state, left
            if left.coefficient < 0 and k % 2 == 1:  # -(y - x) is x - y, and its odd powers; not its root
                for state, _ in match_sum(sum_of(p), added((sum_of(base), -1)), s, extend=False):
                    yield state, left._replace(coefficient=-left.coefficient)
        elif type(p.op) is Sum:
            state = unify_terms(p.op, base.op, s)
            if state is not False:
                (inner,) = base.rands
                matches = _match_body(p.rands[0], product_of(inner), inner, state, base.op.axes)
                yield from ((body, left) for body in matches)
        else:
            yield from ((state, left) for state in _match_operands(p, base, s))


def match_sum(p: SumView, t: SumView, s: State, extend: bool, dtype: Any = None) -> Iterator[SumMatch]:
    """Yield states, and what is left of the subject, in which a sum pattern is part of (or all of) a sum."""
    dtype = dtype or next(map(dtype_of, t.terms), None)
    demands = demands_of_sum(p, s)
    if demands is None or not (demands[2] or has_constant(t, demands[0])):
        return
    needed, heads, variables = demands
    if heads:
        candidates: list[list[tuple[Any, Number]]] = []
        for part, k in heads:
            candidates.append(summands_like(part, k, t, s))
            if not candidates[-1]:
                return
        # A sum of several unknowns is shared out in many ways, of which few are left once some are known.
        rank = lambda i: (bool(candidates[i] and is_open(heads[i][0], s)), len(candidates[i]))
        best = min(range(len(heads)), key=rank) if len(heads) > 1 else 0
        part, k = heads[best]
        rest = dict([*(h for i, h in enumerate(heads) if i != best), *variables])
        pending = added((SumView(0, rest), 1), (needed, 1))
        for inner, c in candidates[best]:
            for state, taken in match_summand(part, k, inner, c, s):
                left = added((t, 1), (SumView(0, {inner: taken}), -1))
                yield from match_sum(pending, left, state, extend, dtype)
        return
    left = minus(t, needed)
    if left is None:
        return
    if not variables:
        if extend or not (left.terms or left.constant):
            yield s, left
    else:
        yield from share_sum(variables, left, s, extend, dtype)


def match_summand(p: Term, k: Number, t: Any, c: Number, s: State) -> Iterator[tuple[State, Number]]:
    """Match k·p against c·t; yield how much of the coefficient was taken."""
    view = product_of(p)
    if type(p.op) is Sum or (p.op is exp and len(view.factors) == 1):
        if holds(c, k):
            yield from ((state, k) for state in _match_first(p, t, s))
    elif p in view.factors:
        yield from ((state, k) for state in _match_first(p, t, s))
    else:
        subject = product_of(t)
        if _of_exponentials(view) and not _of_exponentials(subject):
            return
        pattern = ProductView(whole(view.coefficient * k), view.factors)
        scaled = ProductView(whole(subject.coefficient * c), subject.factors)
        if not may_have_coefficient(pattern, scaled, s):
            return
        for state, _ in match_product(pattern, scaled, s, extend=False, dtype=dtype_of(t)):
            yield state, c


def _match_first(p: Term, t: Any, s: State) -> Iterator[State]:
    """Match a summand; that it is unlike a pattern, where nothing is bound, is kept on it: it stands in many sums."""
    if s or not (is_term(t) and t.ground):
        yield from match(p, t, s)
        return
    unlike: set[Any] = t.cache.setdefault("unlike", set())
    name = p, type(s)  # a state with tests has those of the pattern's own row
    if name in unlike:
        return
    alike = False
    for state in match(p, t, s):
        alike = True
        yield state
    if not alike:
        unlike.add(name)


def _of_exponentials(view: ProductView) -> bool:
    """Whether a product has no other factors: a pattern like eˣ·eʸ remains so whatever its variables are bound to."""
    return all(is_term(b) and b.op is exp for b in view.factors)
