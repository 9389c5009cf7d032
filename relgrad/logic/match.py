"""Matching and unification modulo the theories: pattern against subject, as generators over states.

    match(a·exp(b), x·exp(y)·z)     {a: x·z, b: y}

Products, sums and the operands of any other op that is associative are read as multisets (see `view`), and taken apart
in one order of work, `match_parts`: known parts are taken out, then heads, those with the fewest candidates first,
variables share the rest; never a permutation. Each theory's answers to that order's
questions stand in `multisets`.
Every yielded state is new; none is changed. Recursion is on patterns, which are small, never on subjects.

Source: the order of work follows Eker, "Associative-commutative rewriting on large terms" (2003); changed from it:
the theories of products and sums are abelian groups, a product of exponentials is one exponential, reductions are
linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, number_term, opposite
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.equality import equal_ground
from relgrad.logic.group import BagView, Number, ProductView, SumView, added, multiplied, quotient, whole
from relgrad.logic.heads import Parts, may_have_coefficient
from relgrad.logic.index import exponents
from relgrad.logic.multisets import PRODUCTS, SUMS, Bags
from relgrad.logic.parts import bag_of, dtype_of, exponent_of, holds
from relgrad.logic.space import bare
from relgrad.logic.theory import BAG, linear_operands, linear_positions, stands_outside, theories_of
from relgrad.logic.unify import State, bind, is_variable, reify_term, unify_terms, walked
from relgrad.logic.view import MOST, applied, operands, product_of, sum_of, summand, width
from relgrad.op import Op
from relgrad.ops.arithmetic import power
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import Expand
from relgrad.term import Term, is_term
from relgrad.types import ArrayType


def is_one_sum(view: ProductView) -> bool:
    """Whether a product is a number times one sum: half of x + y is x/2 + y/2."""
    return (
        all(e == 1 and is_term(b) and b.op.as_sum for b, e in view.factors.items()) and len(view.factors) == 1
    )


def as_powers(t: Term) -> Iterator[Term]:
    """1/(x·x·y) → (x·x·y)^(−1), 1/x → x^(−1), √x → x^½, x·x → x²: a subject as a power in the ways that there are."""
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
    """f(x)·1 → f(x): a subject as its only factor, where that has the head that is looked for."""
    if type(t.op) is not type(op):
        view = product_of(t)
        if view.coefficient == 1 and len(view.factors) == 1:
            ((base, e),) = view.factors.items()
            if e == 1 and is_term(base) and type(base.op) is type(op):
                return base
    return t


def match(p: Any, t: Any, s: State) -> Iterator[State]:
    """a·exp(b), x·exp(y)·z → {a: x·z, b: y}: the states in which a pattern and a subject are equal modulo the
    theories.
    """
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
    """a + f(b) by sums, x·f(b) by products, max(a, b) by bags → states:
    the theory that reads a pattern's head matches it.
    """
    view = product_of(p)
    if p.op.as_sum or (view.coefficient != 1 and is_one_sum(view)):
        for state, _ in match_parts(SUMS, sum_of(p), _summands(t), s, extend=False, like=t):
            yield state
        return
    read = p.op.as_product is not None or p.op is power or (p.op is exp and len(view.factors) != 1)
    if read and p not in view.factors:
        for state, _ in match_parts(PRODUCTS, view, product_of(t), s, extend=False):
            yield state
        return
    if theories_of(p.op) & BAG and width(head := as_head(t, p.op), BAG, MOST) <= MOST:
        for state, _, _ in match_operands(p, head, s, extend=False):
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
    """(x + y)[:, None] → x[:, None] + y[:, None]; another term is read as the sum that it is."""
    if type(t.op) is Expand and t.ground and t.rands[0].op.as_sum:
        total = t.rands[0]
        view = sum_of(total)
        if all(x.type.shape == total.type.shape for x in view.terms):
            return SumView(view.constant, {t.op.make_node(x): k for x, k in view.terms.items()})
    return sum_of(t)


def _match_operands(p: Term, t: Term, s: State) -> Iterator[State]:
    """f(a, b) and f(x, y) → a = x, b = y; a = y, b = x too, of a commutative f; cos(a) and cos(x) → a = −x too."""
    first = unify_terms(p.op, t.op, s) if len(p) == len(t) else False
    if first is False:
        return
    orders = [t.rands]
    if len(t.rands) == 2 and p.op.laws.commutative and not (t.ground and equal_ground(*t.rands)):
        orders.append(t.rands[::-1])
    if p.op.laws.parity == 1 and t.ground and len(t.rands) == 1:  # an even function of -x is that of x
        orders.append((opposite(t.rands[0]),))
    for rands in orders:
        yield from _match_all(p.rands, rands, first, matching(p.op))


def _match_all(
    ps: tuple[Any, ...], ts: tuple[Any, ...], s: State, matches: Callable[..., Iterator[State]]
) -> Iterator[State]:
    """(a, b), (x, y) → {a: x, b: y}: pairs one after the other, each match of the first with each of the others under
    it.
    """
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
    """a = 3 for an x of shape (5,): no, where the entries of x are counted; the bindings of p have the extents of t."""
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
    """exp(q)² and exp(x)·exp(y) → q = ½·x + ½·y: a power of an exponential and a product of exponentials alone."""
    if view.coefficient == 1 and view.factors and all(is_term(b) and b.op is exp for b in view.factors):
        yield from match(q, exponent_of(view, k), s)


def _match_reduction(p: Term, t: Term, s: State) -> Iterator[State]:
    """Σ(q) and c·Σ x → q = c·x: all that is constant along the axes is read as standing inside."""
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
    """f(q, …) and c·f(x, …) → q = c·x: what may stand before a linear op is read as standing inside."""
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
    """Σ a·b, Σ x·y → a·b with x·y: matches below a linear op, read as `body`, without losing how often `like` counts
    there.
    """
    p = walked(p, s)
    if is_term(p) and p.op.as_sum:
        found = match_parts(SUMS, sum_of(p), summand(body, None, dtype_of(like)), s, extend=False)
    else:
        found = match_parts(PRODUCTS, product_of(p), body, s, extend=False, dtype=dtype_of(like))
    yield from (state for state, _ in found if _fills(p, like, state, axes))


def match_parts(
    theory: Bags, p: Any, t: Any, s: State, extend: bool, dtype: Any = None, like: Any = None
) -> Iterator[tuple[State, Any]]:
    """a·exp(b), x·exp(y) → ({a: x, b: y}, 1): states in which a pattern is part of a subject, or all, with the rest.

    Sums are bound as they stand in what the subject is `like`.

    Known parts first, then the head with the fewest candidates, then the rest under what it binds; variables last.
    """
    dtype = dtype or theory.dtype(t)
    demands = theory.demands(p, s)
    left = None if demands is None else theory.left(p, demands, t, s, extend)
    if demands is None or left is None:
        return
    _, heads, variables = demands
    if (found := theory.joint(heads, variables, left, s, extend)) is not None:
        variable, values = found
        for value in values:
            bound = bind(variable, value, s)
            if bound is not False:
                yield from match_parts(theory, p, t, bound, extend, dtype, like)
    elif heads:
        if (first := theory.first(heads, left, s, extend)) is None:
            return
        pending = theory.pending(demands, first[0])
        for state, after in _match_head(theory, *heads[first[0]], first[1], left, s):
            yield from match_parts(theory, pending, after, state, extend, dtype, like)
    elif variables:
        yield from theory.shared(variables, left, s, extend, dtype, like)
    elif extend or theory.is_nothing(left):
        yield s, left


def _match_head(
    theory: Bags, p: Term, k: Number, candidates: Any, t: Any, s: State
) -> Iterator[tuple[State, Any]]:
    """exp(a)·…, exp(x)·y → ({a: x}, y): a head that stands so often against each of its candidates, with the rest of
    t.
    """
    if theory is PRODUCTS:
        yield from match_factor(p, k, candidates, t, s)
    elif theory is SUMS:
        for part, c in candidates:
            for state, taken in match_summand(p, k, part, c, s):
                yield state, added((t, 1), (SumView(0, {part: taken}), -1))
    else:
        for part in candidates:
            left = BagView(
                t.op, {x: n - k * (x is part) for x, n in t.parts.items() if x is not part or n > k}
            )
            for state in matching(t.op)(p, part, s):
                yield state, left


def match_one(theory: Bags, p: Term, k: Number, part: Term, s: State) -> Iterator[State]:
    """(sin(a), 2), sin(x) → {a: x}: the states in which k times a head is so often a part."""
    if p.op.elementwise and p.op is part.op and len(p.rands) == 1 and is_variable(p.rands[0]):
        yield from match(p.rands[0], part.rands[0], s)
        return
    t = theory.made(None, {part: k})
    if (first := theory.first([(p, k)], t, s, False)) is not None:
        yield from (state for state, _ in _match_head(theory, p, k, first[1], t, s))


def match_factor(
    p: Term, k: Number, candidates: Parts, t: ProductView, s: State
) -> Iterator[tuple[State, ProductView]]:
    """exp(p)^k and the factors exp(x), exp(y), z → p = (x + y)/k, and z is left; p^k and x^e → p = x, and x^(e − k)."""
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
            for state, _ in match_parts(SUMS, sum_of(p), sum_of(base), s, extend=False):
                yield state, left
            if left.coefficient < 0 and k % 2 == 1:  # -(y - x) is x - y, and its odd powers; not its root
                for state, _ in match_parts(SUMS, sum_of(p), added((sum_of(base), -1)), s, extend=False):
                    yield state, left._replace(coefficient=-left.coefficient)
        elif type(p.op) is Sum:
            state = unify_terms(p.op, base.op, s)
            if state is not False:
                (inner,) = base.rands
                matches = _match_body(p.rands[0], product_of(inner), inner, state, base.op.axes)
                yield from ((body, left) for body in matches)
        else:
            yield from ((state, left) for state in _match_operands(p, base, s))


def match_summand(p: Term, k: Number, t: Any, c: Number, s: State) -> Iterator[tuple[State, Number]]:
    """2·p and 6·x → p = x, with 2 of the 6 taken; 2·p·q and 6·x·y → p·q = 3·x·y, with all of them."""
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
        for state, _ in match_parts(PRODUCTS, pattern, scaled, s, extend=False, dtype=dtype_of(t)):
            yield state, c


def _match_first(p: Term, t: Any, s: State) -> Iterator[State]:
    """(1 − a, sin x) → none, kept on sin x: matches a summand; that a pattern is unlike it holds in all sums it stands
    in.
    """
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


def match_operands(p: Term, t: Any, s: State, extend: bool) -> Iterator[tuple[State, list[Any], list[Any]]]:
    """max(p, b) and max(a, b, c) → p = a with c left; of a word, c·d·e by p·d → p = c, with e behind.

    An associative op's operands are some (or all) of t's; those left before and behind come, too. Where order
    means nothing, all that is left stands before.
    """
    op = p.op
    if op.laws.commutative:
        for state, left in match_parts(Bags(op), bag_of(p, op), bag_of(t, op), s, extend):
            yield state, [x for x, n in left.parts.items() for _ in range(n)], []
        return
    ps, ts = operands(p, op), operands(t, op)
    for start in range(len(ts) - len(ps) + 1) if extend else [0]:
        for state, end in _match_word(op, ps, ts, start, s, extend):
            yield state, ts[:start], ts[end:]


def _match_word(
    op: Op, ps: list[Any], ts: list[Any], at: int, s: State, extend: bool
) -> Iterator[tuple[State, int]]:
    """p·b and a₁·a₂·b·c → p = a₁·a₂, to the end of b: operands in order, from one on; variables take one or more."""
    if not ps:
        if extend or at == len(ts):
            yield s, at
        return
    first, *rest = operands(walked(ps[0], s), op) + ps[1:]
    longest = len(ts) - at - len(rest)
    sizes = range(1, longest + 1) if is_variable(first) else range(1, min(longest, 1) + 1)
    for size in sizes[-1:] if is_variable(first) and not rest and not extend else sizes:
        for state in matching(op)(first, applied(op, ts[at : at + size]), s):
            yield from _match_word(op, rest, ts, at + size, state, extend)
