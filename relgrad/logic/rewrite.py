"""Rewriting one place: an equation's side found in a term, with what surrounds it carried along.

A pattern rooted in a product (sum) may match inside a larger one. Linear contractions open scopes: inside
sum(body), the factors of the body are available and so are those factors outside that are constant along the axes,
since sum(b/a) = sum(b)/a. This is what lets exp(x)·sum(g·exp(x)/S²) hold a softmax twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from quicktions import Fraction

from relgrad.logic.associative import applied, has_many_operands, match_bag
from relgrad.logic.build import broadcasts, build_product, build_sum, fit, fit_to
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied, quotient
from relgrad.logic.heads import Pattern
from relgrad.logic.match import match, match_product, match_sum, matching
from relgrad.logic.multiples import (
    adds_no_zero,
    factors,
    is_real,
    left_over,
    may_echo,
    powers,
    raised,
    scales,
    takes_whole,
    times,
    to_the,
)
from relgrad.logic.ranges import Goal, may_hold, tests_of
from relgrad.logic.scopes import scopes
from relgrad.logic.selected import pushed
from relgrad.logic.share import dtype_of
from relgrad.logic.theory import SUMS, linear_operands
from relgrad.logic.unify import State, Tested, bind, is_variable, reify_term
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Pack
from relgrad.ops.arithmetic import divide
from relgrad.term import Term, is_term, term
from relgrad.types import TupleType

SCALED = 8
"""Multiples of a sum are looked at where it has at most so many summands."""
TRIED = 512
"""So many ways of choosing some of the operands of an associative op are tried."""


class Rewrite(NamedTuple):
    """A place rewritten: the bindings, and the term that is equal to the one before."""

    state: State
    term: Any


def rewrites(left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State) -> Iterator[Rewrite]:
    """Yield the terms that an equation makes of a term at its root, the best-fitting matches first.

    Conditions that bind nothing are asked as soon as what they are about is known, and not once for each way in which
    the rest can be matched.
    """
    if not may_hold(conditions, left.term, t):
        return
    if type(s) is dict and (tests := tests_of(conditions)):
        s = Tested.of(s, tests)
    if left.kind == "product" and _is_quotient(left.term):
        found = _rewrite_quotient(left, right, conditions, t, s)
    elif left.kind == "product":
        found = _rewrite_product(left, right, conditions, t, s)
    elif left.kind == "sum":
        found = chain(
            _rewrite_factored(left, right, conditions, t, s),
            _rewrite_sum(left, right, conditions, t, s),
            _rewrite_scaled(left, right, conditions, t, s),
            _rewrite_entries(left, right, conditions, t, s),
        )
    elif left.kind == "bag":
        found = _rewrite_bag(left, right, conditions, t, s)
    else:
        found = _rewrite_whole(left, right, conditions, t, s)
    for rewrite in found:
        if rewrite.term is not t:
            yield rewrite


def _satisfying(conditions: Sequence[Goal], s: State) -> Iterator[State]:
    if not conditions:
        yield s
        return
    for state in conditions[0](s):
        yield from _satisfying(conditions[1:], state)


def _rewrite_whole(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    for state in match(left.term, t, s):
        for final in _satisfying(conditions, state):
            yield from _placed(final, reify_term(right, final), t, left.term)
    if t.op.elementwise and len(t.rands) == 1 and t.ground and t.rands[0].op.laws.selects:
        # f(x[i]) = f(x)[i]: what is selected from is looked at in place of the selection.
        selection = t.rands[0]
        inner = t.op.make_node(selection.rands[0])
        for state, new in _rewrite_whole(left, right, conditions, inner, s):
            yield Rewrite(state, pushed((selection,), new, set(state.values())))


def _rewrite_bag(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """Rewrite some of the operands of an op that is associative; what is made of them takes their place."""
    op = left.term.op
    if t.op != op or has_many_operands(t, op):
        return
    for state, before, behind in islice(match_bag(left.term, t, s, True, matching(op)), TRIED):
        for final in _satisfying(conditions, state):
            yield from _placed(final, applied(op, [*before, reify_term(right, final), *behind]), t, left.term)


def _placed(state: State, new: Any, t: Term, left: Any) -> Iterator[Rewrite]:
    """Yield what a term becomes in the dtype and shape of its place; nothing if the left side is too large for that.

    c − logsumexp(c·1ₙ) = log_softmax(c·1ₙ) has n entries with x = c·1ₙ, and one as it stands.
    """
    if not (is_term(new) and new.ground and t.ground):
        yield Rewrite(state, new)
    elif isinstance(t.type, TupleType):
        parts = new.rands if type(new.op) is Pack else (new,)
        fits = [fit_to(part, kind) for part, kind in zip(parts, t.type.outputs, strict=True)]
        yield Rewrite(state, term(Pack(), *fits))
    elif broadcasts(new, t) or (not _is_derivative(t) and broadcasts(reify_term(left, state), t)):
        yield Rewrite(state, fit(new, t))


def _is_derivative(t: Term) -> bool:
    """Whether a term is an implicit derivative: what flows to an array may be more than it has entries."""
    return any(rand.op.implicit for rand in t.rands)


def _rewrite_sum(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    pattern, subject = sum_of(left.term), sum_of(t)
    if _is_multiple(t) or not may_echo(left.term, pattern, subject):
        return
    for scale in scales(left.term, pattern, subject):
        scaled = _divided(t, scale)
        for state, rest in match_sum(pattern, scaled, s, extend=True):
            if not takes_whole(scaled, rest):
                continue
            for final in _satisfying(conditions, state):
                new = reify_term(right, final)
                if scale != 1 or rest.terms or rest.constant:
                    new = build_sum(added((rest, scale), (sum_of(new), scale)), dtype_of(t))
                yield from _placed(final, new, t, left.term)


def _divided(t: Term, scale: Number) -> SumView:
    """Return a sum divided by a number: the relations that are tried at a place ask for the same few."""
    if type(scale) is int and scale == 1:
        return sum_of(t)
    known: dict[Number, SumView] = t.cache.setdefault("divided", {})
    found = known.get(scale)
    if found is None:
        found = known[scale] = added((sum_of(t), quotient(1, scale)))
    return found


def _without(t: Term, factor: ProductView) -> SumView:
    """Return a sum with each summand divided by a factor, which the relations tried at a place ask for alike."""
    known: dict[Any, SumView] = t.cache.setdefault("without", {})
    name = tuple(factor.factors.items())
    found = known.get(name)
    if found is None:
        found = known[name] = times(sum_of(t), factor, -1, dtype_of(t))
    return found


def _rewrite_factored(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """Rewrite a sum behind the factors that its summands share: w - w·σ(x) holds 1 - σ(x)."""
    summands = sum_of(t)
    if len(summands.terms) < 2 and not summands.constant:
        return  # the factors are operands, which have been looked at
    view = product_of(t)
    for base, e in view.factors.items():
        if e == 1 and base is not t and is_term(base) and base.ground and base.op in SUMS:
            for state, new in _rewrite_sum(left, right, conditions, base, s):
                others = multiplied((view, 1), (ProductView(1, {base: 1}), -1))
                whole_view = multiplied((others, 1), (product_of(new), 1))
                yield from _placed(state, build_product(whole_view, dtype_of(t)), t, left.term)


def _is_multiple(t: Term) -> bool:
    """Whether a term is read as a number times another sum, which has been looked at with all its multiples."""
    view = product_of(t)
    return len(view.factors) == 1 and all(
        e == 1 and base is not t and is_term(base) and base.ground and base.op in SUMS
        for base, e in view.factors.items()
    )


def _rewrite_scaled(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """Rewrite a sum of which a multiple by what stands beside one of its heads matches: a·f(x) - a·g(x) = a·(f - g)(x).

    What the other summands have of that factor may be hidden in the bindings.
    """
    pattern, subject = sum_of(left.term), sum_of(t)
    if len(subject.terms) > SCALED:
        return
    dtype = dtype_of(t)
    for factor in factors(pattern, subject):
        scaled = _without(t, factor)
        for scale in scales(left.term, pattern, scaled):
            for state, rest in match_sum(pattern, added((scaled, quotient(1, scale))), s, extend=True):
                if not takes_whole(scaled, rest):
                    continue
                for final in _satisfying(conditions, state):
                    new = sum_of(reify_term(right, final))
                    total = times(added((rest, scale), (new, scale)), factor, 1, dtype)
                    yield from _placed(final, build_sum(total, dtype), t, left.term)


def _rewrite_entries(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """Rewrite a number and entries that are selected as entries of their sum: 1 - p[i] = (1 - p)[i]."""
    constant, terms = sum_of(t)[:2]
    if not constant or len(terms) != 1:
        return
    ((inner, k),) = terms.items()
    steps: list[Term] = []
    while is_term(inner) and inner.op.laws.selects:
        steps.append(inner)
        inner = inner.rands[0]
    if not steps or not inner.ground:
        return
    total = build_sum(SumView(constant, {inner: k}), dtype_of(t))
    for state, new in _rewrite_sum(left, right, conditions, total, s):
        yield from _placed(state, pushed(tuple(steps), new, {inner, *state.values()}), t, left.term)


def _rewrite_product(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    pattern = product_of(left.term)
    for scope in scopes(product_of(t)):
        available = scope.available
        for power in powers(pattern, available):
            subject = available if power == 1 else to_the(available, 1 / Fraction(power))
            for state, rest in match_product(pattern, subject, s, extend=True, dtype=dtype_of(t)):
                unused = rest if power == 1 else left_over(available.coefficient, rest, power)
                if unused is None or not scope.uses_own(unused) or not is_real(available, rest, power):
                    continue
                if not adds_no_zero(available, unused):
                    continue
                for final in _satisfying(conditions, state):
                    new = raised(reify_term(right, final), power)
                    own, inherited = scope.split(unused)
                    view = scope.rebuild(multiplied((own, 1), (new, 1)), inherited)
                    whole_term = None if view is None else build_product(view, dtype_of(t))
                    if whole_term is not None and broadcasts(whole_term, t):
                        yield from _placed(final, whole_term, t, left.term)


def _is_quotient(p: Term) -> bool:
    """Whether a pattern is any quotient, x/y."""
    return all(map(is_variable, p.rands)) and p.op is divide and p.rands[0] is not p.rands[1]


def _rewrite_quotient(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """Rewrite a product with all that is divided by below; what else it may be divided into is left to goals."""
    view = product_of(t)
    below = {b: -e for b, e in view.factors.items() if e < 0}
    if not below and not any(is_term(b) and linear_operands(b) for b in view.factors):
        return  # nothing is divided by, here or inside a sum
    above = multiplied((view, 1), (ProductView(1, below), 1))
    state = s
    for variable, part in zip(left.term.rands, (above, ProductView(1, below)), strict=True):
        state = bind(variable, build_product(part, dtype_of(t)), state)
    for final in _satisfying(conditions, state):
        yield from _placed(final, reify_term(right, final), t, left.term)
