"""Matching and unification modulo the theories: pattern against subject, as generators over states.

Products and sums are read as multisets (see `view`). Bound and ground parts are taken out first, then what is
constrained by a head, fewest candidates first, variables last; never a permutation. Every yielded state is new;
none is changed. Recursion is on patterns, which are small, never on subjects.

Source: the order of work follows Eker, "Associative-commutative rewriting on large terms" (2003); changed from it:
the theories are abelian groups, a product of exponentials is one exponential, reductions are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from relgrad.logic.associative import has_many_operands, match_bag
from relgrad.logic.candidates import (
    as_head,
    as_powers,
    factors_like,
    fewest,
    is_open,
    may_have_coefficient,
    summands_like,
)
from relgrad.logic.equality import equal_ground
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied, whole
from relgrad.logic.joint import joint
from relgrad.logic.ranges import is_constant_along
from relgrad.logic.share import (
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
from relgrad.logic.sides import demands_of_product, demands_of_sum, divided, is_one_sum
from relgrad.logic.space import bare
from relgrad.logic.theory import (
    BAG,
    PARITY,
    PRODUCTS,
    SUMS,
    linear_operands,
    linear_positions,
    stands_outside,
    theories_of,
)
from relgrad.logic.unify import State, bind, is_variable, reify_term, unify_terms, walked
from relgrad.logic.view import product_of, sum_of, summand
from relgrad.ops.arithmetic import negative, power
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import Expand
from relgrad.term import Term, is_term
from relgrad.types import ArrayType


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
    if p.op in SUMS or (view.coefficient != 1 and is_one_sum(view)):
        for state, _ in match_sum(sum_of(p), _summands(t), s, extend=False):
            yield state
        return
    read = p.op in PRODUCTS or p.op is power or (p.op is exp and len(view.factors) != 1)
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
    if type(t.op) is Expand and t.ground and t.rands[0].op in SUMS:
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
    if PARITY.get(p.op, -1) == 1 and t.ground:  # an even function of -x is that of x
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
    if is_term(p) and p.op in SUMS:
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
        if p.op in SUMS:
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
