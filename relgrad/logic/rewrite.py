"""Rewriting one place: an equation's side found in a term, with what surrounds it carried along.

    z·sin(x)·cos(x)     z·½·sin(2·x)          by sin(a)·cos(a) = ½·sin(2·a): part of a larger product
    2·(a − b)           a multiple of a sum; powers of products likewise, judged by heads before matching
    f(x)[i]             f(x[i])               a selection of entries: f of what is picked

A pattern rooted in a product (sum) may match inside a larger one. Linear contractions open scopes: inside
sum(body), the factors of the body are available and so are those factors outside that are constant along the axes,
since sum(b/a) = sum(b)/a. This is what lets exp(x)·sum(g·exp(x)/S²) hold a softmax twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.errors import ShapeError
from relgrad.logic.build import broadcasts, build_product, build_sum, fit, fit_to, fitted
from relgrad.logic.conditions import Goal, is_nonzero, may_hold, tests_of
from relgrad.logic.group import Number, ProductView, SumView, added, key_of, multiplied, quotient, whole
from relgrad.logic.heads import is_open_sum
from relgrad.logic.index import Filed, Pattern, head_key, heads_inside, sum_heads, summand_heads
from relgrad.logic.match import match, match_one, match_operands, match_parts
from relgrad.logic.multisets import PRODUCTS, SUMS, THEORIES
from relgrad.logic.parts import dtype_of, rebuilt
from relgrad.logic.space import entries
from relgrad.logic.theory import BAG, SUM, is_written, linear_operands, linear_positions, stands_outside
from relgrad.logic.unify import State, Tested, bind, is_variable, reify_term, unknowns, walked
from relgrad.logic.view import LIMIT, MOST, applied, flat, product_of, root, sum_of, times, width
from relgrad.op import Pack, is_constant
from relgrad.ops.arithmetic import divide
from relgrad.ops.casting import cast
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import where
from relgrad.ops.statistics import Size
from relgrad.ops.structure import broadcast_to
from relgrad.term import Term, is_term, subterms, term
from relgrad.types import ArrayType, TupleType


class Scope(NamedTuple):
    """a·Σ b·x → own {b, x}, inherited {a}: the inside of nested contractions, with the factors that may be drawn in."""

    own: ProductView
    inherited: dict[Any, Number]
    rebuild: Callable[[ProductView, dict[Any, Number]], ProductView | None]
    is_place: bool = True
    """Whether the scope's own factors are a product by themselves in the program; those of x @ y are not."""

    @property
    def available(self) -> ProductView:
        return multiplied((self.own, 1), (ProductView(1, self.inherited), 1)) if self.inherited else self.own

    def is_met(self, rest: ProductView) -> bool:
        """Whether a match that left `rest` took of the scope's own factors, and of those drawn in.

        With own factors alone it is one inside the contraction, where that is a place.
        """
        taken = lambda part: any(rest.factors.get(b, 0) != e for b, e in part.items())
        return not self.inherited or (
            taken(self.own.factors) and (not self.is_place or taken(self.inherited))
        )

    def split(self, rest: ProductView) -> tuple[ProductView, dict[Any, Number]]:
        """b·a, inherited {a} → b, {a: 1}: the rest of a match as the scope's own factors, and those outside."""
        own = {b: e for b, e in rest.factors.items() if b not in self.inherited}
        return ProductView(rest.coefficient, own), {
            b: e for b, e in rest.factors.items() if b in self.inherited
        }


def scopes(view: ProductView) -> Iterator[Scope]:
    """x·Σ(y·z) → x·Σ(y·z) itself, and y·z with x, if that is constant along the axes: insides that others may enter."""
    return _scopes(view, {}, 3)


def _scopes(
    view: ProductView, inherited: dict[Any, Number], depth: int, is_place: bool = True
) -> Iterator[Scope]:
    """a·Σ b·x → a·Σ b·x, then b·x with a: a product, and the insides of linear ops that factors enter, to a depth."""
    put_back = lambda own, outside: multiplied((own, 1), (ProductView(1, outside), 1))
    yield Scope(view, inherited, put_back, is_place)
    if not depth or len(view.factors) > LIMIT:
        return
    for base, e in view.factors.items():
        if not is_term(base) or not base.ground:
            continue
        # What is divided by, or under a root, is by itself: nothing outside can meet what is inside.
        amount = 1 if e == int(e) and e >= 1 else e
        for position, axes in linear_operands(base):
            others = multiplied(
                (view, 1), (ProductView(1, inherited), 1), (ProductView(1, {base: amount}), -1)
            )
            movable = {
                b: k
                for b, k in others.factors.items()
                if amount == 1 and b is not base and stands_outside(b, axes, base.rands[position])
            }
            written = is_written(base)
            if not movable and written:
                continue
            for inner in _scopes(product_of(base.rands[position]), movable, depth - 1, written):
                around = _around(inner, base, amount, position, others, movable)
                yield inner._replace(rebuild=around)


def _around(
    inner: Scope, base: Term, amount: Number, position: int, others: ProductView, movable: dict[Any, Number]
) -> Callable[[ProductView, dict[Any, Number]], ProductView | None]:
    """Σ_i a·x_i, a·x ↦ y → Σ_i y_i: how a contraction is put back around its rewritten operand."""

    def rebuild(own: ProductView, outside: dict[Any, Number]) -> ProductView | None:
        """(y, {a: 1}) → a·Σ y: own factors inside, those that were only drawn in outside again;
        None where shapes do not fit.
        """
        view = inner.rebuild(own, outside)
        if view is None:
            return None
        # The inner rebuild multiplied in what was not used of the factors drawn in: they go back outside.
        kept = {b: e for b, e in view.factors.items() if b in movable}
        body = multiplied((view, 1), (ProductView(1, kept), -1))
        inside = body.coefficient if amount != int(amount) else 1  # a root of it may be no number
        operand = build_product(ProductView(inside, body.factors), base.type.dtype)
        rands = list(base.rands)
        rands[position] = fitted(operand, rands[position])
        if rands[position] is None:
            return None
        rest = ProductView(others.coefficient, {b: e for b, e in others.factors.items() if b not in movable})
        return multiplied(
            (rest, 1),
            (ProductView(1 if inside != 1 else body.coefficient, kept), amount),
            (ProductView(1, {base.op.make_node(*rands): 1}), amount),
        )

    return rebuild


Selection = tuple[Term, ...]
"""Applications of ops that select, the outermost first, each to the next; the last to what is selected from."""


def pushed(selection: Selection, t: Any, known: Collection[Any] = ()) -> Any:
    """(√x·x)[i]  ⟶  √(x[i])·x[i]: a selection is taken before functions of single entries instead of after them.

    What is `known` is selected from as it is. Entries of it that are not selected need not be in the domain of the
    functions: the derivative of √x[i] has nothing to do with them, that of (√x)[i] has 0·∞ there.
    """
    made: dict[Any, Any] = {}

    def push(x: Any) -> Any:
        """sin(v) at [0] → sin(v[0]): the selection moved below functions of single entries, each term once."""
        if x not in made:
            inside = (
                x not in known and x.op.elementwise and x.rands and x.type.ndim and None not in x.type.shape
            )
            made[x] = (
                x.op.make_node(*[_over(push, y, x) for y in x.rands]) if inside else selected(selection, x)
            )
        return made[x]

    return push(t)


def _over(push: Callable[[Any], Any], x: Any, t: Any) -> Any:
    """Return an operand of a function of single entries, pushed as what is as large as the result."""
    return push(broadcast_to(x, t.type.shape)) if x.type.ndim else x


def selected(selection: Selection, t: Any) -> Any:
    """Return a selection from a term."""
    for step in reversed(selection):
        t = step.op.make_node(t, *step.rands[1:])
    return t


def chain_of(t: Term) -> tuple[Selection, Term]:
    """x[0][:, 1] → ([:, 1], [0]), x: the selections at the root of a term, and the term that they select from."""
    steps: list[Term] = []
    while t.op.laws.selects:
        steps.append(t)
        t = t.rands[0]
    return tuple(steps), t


def takes_whole(subject: SumView, rest: SumView) -> bool:
    """Whether a match takes summands whole: of 2/x - 1/y, taking 1/x - 1/y leaves 1/x, which nothing is gained by."""
    taken = [t for t, k in subject.terms.items() if rest.terms.get(t, 0) != k]
    return not subject.terms or (bool(taken) and all(t not in rest.terms for t in taken))


def factors(pattern: SumView, subject: SumView) -> list[ProductView]:
    """List the factors that stand beside the heads of a pattern in the summands of a place.

    w·eᵃ − w·eᵇ, by eˣ − eʸ  ⟶  w;    w·eᵃ·eᵇ − w·eᵇ too: eᵃ⁺ᵇ − eᵇ needs no quotient of exponentials, which may be ∞
    """
    heads = {
        head_key(p.op)
        for p in pattern.terms
        if is_term(p) and not p.ground and p in product_of(p).factors and not linear_positions(p.op)
    }
    alike = not pattern.constant and all(is_term(p) and p.op is exp for p in pattern.terms)
    found: dict[Any, ProductView] = {}
    for t in subject.terms if heads else ():
        factors = product_of(t).factors
        for base, e in factors.items():
            if e == 1 and len(factors) > 1 and is_term(base) and head_key(base.op) in heads:
                beside = lambda b, base=base: not (is_term(b) and b.op is exp) if alike else b is not base
                others = {b: k for b, k in factors.items() if beside(b)}
                found.setdefault(frozenset(others.items()), ProductView(1, others))
    return [factor for factor in found.values() if factor.factors]


def may_echo(p: Term, pattern: SumView, subject: SumView) -> bool:
    """x − f(x) in z − f(z): yes, in z − f(y): no → a cheap first test, whether some z stands beside f(z)."""
    echo = p.cache.get("echo", False)
    if echo is False:
        echo = p.cache["echo"] = next(
            (q.op for q in pattern.terms if is_term(q) and q.op.elementwise and q.rands[0] in pattern.terms),
            None,
        )
    if echo is None:
        return True
    known = {key_of(t) for t in subject.terms}
    for t in subject.terms:
        if is_term(t) and t.op == echo:
            inner = [sum_of(x).terms for x in t.rands]  # of a commutative op any operand may be the one
            if not all(inner) or not known.isdisjoint(map(key_of, chain.from_iterable(inner))):
                return True
    return False


def scales(p: Term, pattern: SumView, subject: SumView) -> list[Number]:
    """2·exp(a) + b, by the pattern exp(x) − 1 → 2: the multiples of the pattern that may be there, by its heads."""
    heads: dict[Any, dict[Number, None]] | None = p.cache.get("scaling heads")
    if heads is None:
        heads = p.cache["scaling heads"] = {}
        for q, k in pattern.terms.items():
            if is_term(q) and not q.ground:
                for key in summand_heads(q):
                    heads.setdefault(key, {})[k] = None
    scales: dict[Number, None] = {} if heads else {1: None, -1: None}
    for t, c in subject.terms.items():
        for key in summand_heads(t) if heads else ():
            for k in heads.get(key, ()):
                scales[quotient(c, k)] = None
        # What stands beside a mean tells how often it is there, since the mean has a coefficient of its own.
        if Sum in heads:
            if any(is_variable(p) for p in pattern.terms):
                scales[c] = None
            if is_term(t) and type(t.op) is Sum and _has_mean(p) and (count := entries(t)) is not None:
                scales[whole(c * count)] = None
    return sorted(filter(None, scales), key=lambda scale: scale < 0)


def _has_mean(p: Term) -> bool:
    """Σa/n → True: whether a pattern has a mean in it, which is a sum with a coefficient that is known once the sum
    is.
    """
    found = p.cache.get("mean")
    if found is None:
        found = p.cache["mean"] = any(type(t.op) is Size for t in subterms(p))
    return found


def powers(pattern: ProductView, subject: ProductView) -> list[Number]:
    """x/cosh(y)², by the pattern cosh(a) → 1, −2, −1: the powers of the pattern that may be there.

    They are judged by heads. Exponentials say nothing, since a power of one is another. The root of a factor is real.
    """
    heads: dict[Any, set[Number]] = {}
    for p, k in pattern.factors.items():
        if is_term(p) and not p.ground and p.op is not exp:
            heads.setdefault(head_key(p.op), set()).add(k)
    # Of S√S all is taken by a root of S, and not its root only.
    rooted = any(k.denominator != 1 for ks in heads.values() for k in ks)
    powers: dict[Number, None] = {} if rooted else {1: None}
    if abs(pattern.coefficient) == 1:
        for t, e in subject.factors.items():
            for k in sorted(heads.get(head_key(t.op), ()), reverse=True) if is_term(t) else ():
                # A root is not taken out of what is no root: Σx² is no norm squared, sin(x) no root of sin(x)².
                if k.denominator in (1, e.denominator):
                    power = quotient(e, k)
                    if power.denominator in (1, e.denominator) or range_of(t).nonnegative:
                        powers[power] = None
                        if power < -1:  # a divisor may be there more often than once
                            powers[-1] = None
    if len(pattern.factors) == 1 and next(iter(pattern.factors.values())) < 0:
        # What is said of the reciprocal of an op alone is not meant for the op.
        return [power for power in powers if power > 0] or [1]
    return list(powers)


def left_over(before: Number, rest: ProductView, power: Number) -> ProductView | None:
    """4·x² of which a match to the power 2 took 2·x → 1: of a number that the match took, the same power is gone."""
    left = Fraction(rest.coefficient) / before
    if left != 1 and power != int(power):
        return None
    return to_the(rest, power)._replace(
        coefficient=whole(before * left ** int(power) if left != 1 else before)
    )


def is_real(subject: ProductView, rest: ProductView, power: Number) -> bool:
    """Whether what a match to a power took of a product may be raised to that power, whatever the signs.

    With x < 0, neither is (x²)^½ = x, nor is x the product of two roots. `rest` is what the match left of
    subject^(1/power), among that what it put there itself: 1/x is y/(yx).
    """
    if power == int(power):
        return True
    for base in {**subject.factors, **rest.factors}:
        e = subject.factors.get(base, 0)
        taken = e - Fraction(rest.factors.get(base, 0)) * power
        if taken and taken % 2 and e == int(e) and not (is_term(base) and range_of(base).nonnegative):
            return False
    return True


def adds_no_zero(subject: ProductView, rest: ProductView) -> bool:
    """Whether no factor that may be 0 was put both into what a match took of a product and, inverted, beside it.

    f(w·x)/w in f(x·y)/y, with w = x·y and the number 1 for x, is x·f(x·y)/(x·y), which is none where x is 0.
    """
    for base, left in rest.factors.items():
        before = subject.factors.get(base, 0)
        if (abs(left) > abs(before) or left * before < 0) and not (is_term(base) and _never_zero(base)):
            return False
    return True


def _never_zero(base: Term) -> bool:
    interval = range_of(base)
    return interval.positive or interval.negative or is_nonzero(base)


def to_the(view: ProductView, power: Number) -> ProductView:
    """Return the factors of a product to a power, its coefficient as it is."""
    return ProductView(view.coefficient, {b: whole(Fraction(e) * power) for b, e in view.factors.items()})


def raised(t: Any, power: Number) -> ProductView:
    """(x²/y)^½ → |x|/√y, and (x·y)^½ → √(x·y) where signs are unknown: a term to a power as a product."""
    view = product_of(t)
    if power == int(power):
        return multiplied((view, power))
    return root(view, Fraction(power)) or ProductView(1, {t: power})


SCALED = 8
"""Multiples of a sum are looked at where it has at most so many summands."""
TRIED = 512
"""So many ways of choosing some of the operands of an associative op are tried."""


class Rewrite(NamedTuple):
    """A place rewritten: the bindings, and the term that is equal to the one before."""

    state: State
    term: Any


def rewrites(left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State) -> Iterator[Rewrite]:
    """2·sin(a)·cos(a) = sin(2·a), x·sin(y)·cos(y) → x·sin(2·y)/2: the terms that an equation makes of one at its root.

    The best-fitting matches first. Conditions that bind nothing are asked as soon as what they are about is known, and
    not once for each way in which the rest can be matched.
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
        )
    elif left.kind == "bag":
        found = _rewrite_bag(left, right, conditions, t, s)
    else:
        found = _rewrite_whole(left, right, conditions, t, s)
    for rewrite in found:
        if rewrite.term is not t:
            yield rewrite


def satisfying(conditions: Sequence[Goal], s: State) -> Iterator[State]:
    """{x: a}, with conditions c₁ and c₂ → the states in which both hold, as each binds variables for the next."""
    if not conditions:
        yield s
        return
    for state in conditions[0](s):
        yield from satisfying(conditions[1:], state)


def _rewrite_whole(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """f(a) by f(x) = g(x) → g(a); k·f(a) → k·g(a) for a linear f; f(a[i]) → g(a)[i] for functions of single entries."""
    for state in match(left.term, t, s):
        for final in satisfying(conditions, state):
            yield from _placed(final, _instantiated(right, final), t, left.term)
    if t.ground and linear_positions(t.op):
        # op(k·x) = k·op(x): what may stand before a linear op is left there.
        view = product_of(t)
        core = next((b for b in view.factors if is_term(b) and b.op == t.op), t)
        for state, new in _rewrite_whole(left, right, conditions, core, s) if core is not t else ():
            others = multiplied((view, 1), (ProductView(1, {core: 1}), -1))
            yield Rewrite(
                state, fit(build_product(multiplied((others, 1), (product_of(new), 1)), dtype_of(t)), t)
            )
    if t.op.elementwise and len(t.rands) == 1 and t.ground and t.rands[0].op.laws.selects:
        # f(x[i]) = f(x)[i]: what is selected from is looked at in place of the selection.
        selection = t.rands[0]
        inner = t.op.make_node(selection.rands[0])
        for state, new in _rewrite_whole(left, right, conditions, inner, s):
            yield Rewrite(state, pushed((selection,), new, set(state.values())))


def _rewrite_bag(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """max(a, b, c, d) by max(b, x, d) = h(x) → max(a, h(c)): some of the operands of an op that is associative."""
    op = left.term.op
    if t.op != op or width(t, BAG, MOST) > MOST:
        return
    for state, before, behind in islice(match_operands(left.term, t, s, extend=True), TRIED):
        for final in satisfying(conditions, state):
            yield from _placed(
                final, applied(op, [*before, _instantiated(right, final), *behind]), t, left.term
            )


def _instantiated(right: Any, s: State) -> Any:
    """{x: −k}, k bytes, −x → −float(−k): a right side with its variables bound, machine integers as numbers.

    An equation over the reals computes with them, where integers would wrap.
    """
    integers = {x: t for x in _computed_with(right) if _is_integer(t := walked(x, s))}
    return reify_term(
        right, {**s, **{x: cast(t, np.float64) for x, t in integers.items()}} if integers else s
    )


def _computed_with(right: Any) -> frozenset[Any]:
    """−x·f(y)[i] → {x, y}, where(c, x, y) → {x, y}: the variables that a right side computes with, entry by entry;
    indices stay integers, and conditions truth values.
    """
    if not is_term(right) or right.ground:
        return frozenset()
    found = right.cache.get("computed with")
    if found is None:
        real = [t for t in subterms(right) if t.op.elementwise]
        asked = {t.rands[0] for t in real if t.op is where}
        met = {x for t in real for x in t.rands if is_variable(x)}
        found = right.cache["computed with"] = frozenset(met - asked)
    return found


def _is_integer(t: Any) -> bool:
    """Whether a term is of machine integers, or truth values, and no number as written, which has no size."""
    if not (is_term(t) and t.ground and isinstance(t.type, ArrayType)) or (is_constant(t) and t.op.weak):
        return False
    return t.type.dtype.kind in "biu"


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
    """2·a − 2·b + c by x − y = d(x, y) → 2·d(a, b) + c: a multiple of some of the summands, which are taken whole."""
    pattern, subject = sum_of(left.term), sum_of(t)
    if _is_multiple(t) or not may_echo(left.term, pattern, subject):
        return
    for scale in scales(left.term, pattern, subject):
        scaled = subject if scale == 1 else added((subject, quotient(1, scale)))
        for state, rest in match_parts(SUMS, pattern, scaled, s, extend=True):
            if not takes_whole(scaled, rest):
                continue
            for final in satisfying(conditions, state):
                new = _instantiated(right, final)
                if scale != 1 or rest.terms or rest.constant:
                    new = rebuilt(added((rest, scale), (sum_of(new), scale)), t)
                yield from _placed(final, new, t, left.term)


def _rewrite_factored(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """w − w·σ(x) = w·(1 − σ(x)) → w·σ(−x): a sum rewritten behind the factors that its summands share."""
    summands = sum_of(t)
    if len(summands.terms) < 2 and not summands.constant:
        return  # the factors are operands, which have been looked at
    view = product_of(t)
    for base, e in view.factors.items():
        if e == 1 and base is not t and is_term(base) and base.ground and base.op.as_sum:
            for state, new in _rewrite_sum(left, right, conditions, base, s):
                others = multiplied((view, 1), (ProductView(1, {base: 1}), -1))
                whole_view = multiplied((others, 1), (product_of(new), 1))
                yield from _placed(state, build_product(whole_view, dtype_of(t)), t, left.term)


def _is_multiple(t: Term) -> bool:
    """2·(a + b) → True, since a + b has been looked at with all its multiples;    2·a + b → False."""
    view = product_of(t)
    return len(view.factors) == 1 and all(
        e == 1 and base is not t and is_term(base) and base.ground and base.op.as_sum
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
        scaled = times(subject, factor, dtype, -1)
        for scale in scales(left.term, pattern, scaled):
            for state, rest in match_parts(
                SUMS, pattern, added((scaled, quotient(1, scale))), s, extend=True
            ):
                if not takes_whole(scaled, rest):
                    continue
                for final in satisfying(conditions, state):
                    new = sum_of(_instantiated(right, final))
                    total = times(added((rest, scale), (new, scale)), factor, dtype)
                    yield from _placed(final, build_sum(total, dtype), t, left.term)


def _rewrite_product(
    left: Pattern, right: Any, conditions: Sequence[Goal], t: Term, s: State
) -> Iterator[Rewrite]:
    """a·sin(b)²·cos(b)² by sin(x)·cos(x) = s(x) → a·s(b)²: a power of some factors, in a product or a contraction."""
    pattern = product_of(left.term)
    for scope in scopes(product_of(t)):
        available = scope.available
        for power in powers(pattern, available):
            subject = available if power == 1 else to_the(available, 1 / Fraction(power))
            for state, rest in match_parts(PRODUCTS, pattern, subject, s, extend=True, dtype=dtype_of(t)):
                unused = rest if power == 1 else left_over(available.coefficient, rest, power)
                if unused is None or not scope.is_met(unused) or not is_real(available, rest, power):
                    continue
                if not adds_no_zero(available, unused):
                    continue
                for final in satisfying(conditions, state):
                    new = raised(_instantiated(right, final), power)
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
    """a/b = …, x·y/z → {a: x·y, b: z}: a product with all that is divided by below.

    All else that it may be divided into is left to goals.
    """
    view = product_of(t)
    below = {b: -e for b, e in view.factors.items() if e < 0}
    if not below and not any(is_term(b) and linear_operands(b) for b in view.factors):
        return  # nothing is divided by, here or inside a sum
    above = multiplied((view, 1), (ProductView(1, below), 1))
    state = s
    for variable, part in zip(left.term.rands, (above, ProductView(1, below)), strict=True):
        state = bind(variable, build_product(part, dtype_of(t)), state)
    for final in satisfying(conditions, state):
        yield from _placed(final, _instantiated(right, final), t, left.term)


def _sums_in(t: Any) -> Number:
    """Σx·(Σy)²/n → 3: how many sums are factors of a term."""
    factors = product_of(t).factors.items()
    return sum([abs(e) for base, e in factors if is_term(base) and type(base.op) is Sum])


CHOICE = 4
"""So many exponentials are taken where any would do."""
TRIES = 256
"""So many parts of a kind are tried for one of a pattern's."""


class Change(NamedTuple):
    """sin(x)² + cos(x)² → 1 under {a: x}: some parts rewritten:
    the bindings, and these parts as a term before and after.
    """

    state: State
    before: Term
    after: Term


class Wide:
    """x₁ + … + sin(y)² + … + cos(y)² + … → x₁ + … + 1: a sum or product of any number of parts, changed in place.

    An equation is tried on the few parts that it can concern: a part that has one of its heads, the parts which are
    then known, and some that have its other heads. The result takes their place, and the search goes on with the
    next part; the sum is written once, when nothing is left to do. So the cost is linear in the number of parts,
    however often an equation applies.
    """

    def __init__(self, t: Term, theory: int):
        """2·x − y + 1 → number 1, parts {x: 2, y: −1}:
        the parts filed under their heads; those are kept on the term.
        """
        self.term, self.theory = t, THEORIES[theory]
        self.read = view = flat(t, theory)
        self.number, self.parts = view[0], Filed(view)
        if theory == SUM:
            self.cancelled = view.cancelled
            t.cache["sum heads"] = frozenset(sum_heads(view))
        else:
            # Exponentials among factors are one, exp(a)·exp(b) = exp(a + b).
            self.cancelled = view.cancelled or view.exponentials > 1
            t.cache["product heads"] = frozenset(
                key for b in view.factors for key in (head_key(b.op), *heads_inside(b))
            )

    def built(self) -> Term:
        """Return the sum or product as a term."""
        if self.theory is SUMS:
            view = SUMS.made(self.number, self.parts.amounts)
            return fit(rebuilt(view, self.term, self.read), self.term)
        return fit(self._build(self.number, self.parts.amounts), self.term)

    def _build(self, number: Number, parts: dict[Any, Number]) -> Any:
        return self.theory.built(self.theory.made(number, parts), dtype_of(self.term))

    def apply(self, left: Pattern, right: Any, conditions: Sequence[Goal]) -> Iterator[Change]:
        """sin(a)² + cos(a)² = 1 → Change, …: an equation applied wherever it applies, each time as the next is asked
        for.
        """
        pattern = self.theory.view(left.term)[1]
        # Of exponentials any number may belong together, so they are no good place to begin; of parts that are equally
        # rare, the one with most sums says most.
        found = {
            (p, key): (
                p.op is exp and len(pattern) > 1,
                is_open_sum(p),
                len(self.parts.like(key)),
                -_sums_in(p),
            )
            for p in pattern
            if not (is_variable(p) or p.ground)
            for key in self.parts.heads(p)
        }
        if not found:
            return
        p, key = min(found, key=lambda entry: found[entry])
        if max(map(_sums_in, pattern)) > self._most_sums:
            return
        for part in list(self.parts.like(key)):
            if part in self.parts.amounts:
                change = self._change(left, right, conditions, p, part)
                if change is not None:
                    yield change

    @cached_property
    def _most_sums(self) -> Number:
        """The most sums that are factors of one part: x·y − Σx·Σy/n cannot be where each part has one."""
        return max(map(_sums_in, self.parts.amounts))

    def _change(
        self, left: Pattern, right: Any, conditions: Sequence[Goal], p: Term, part: Term
    ) -> Change | None:
        """a₁ − b₁ + c by x − y = d(x, y) → d(a₁, b₁) + c, where one of the pattern's heads, p, is found in `part`."""
        offset, pattern = self.theory.view(left.term)[:2]
        amounts, k = self.parts.amounts, pattern[p]
        scale = Fraction(amounts[part]) / k
        others = {q: scale * e for q, e in pattern.items() if q is not p}
        for state in match_one(self.theory, p, k, part, {}):
            chosen = next(self._concerned(others, (part,), state), None)
            if chosen is None:
                continue
            chosen = {part: amounts[part], **chosen}
            number = self.number if self.theory is SUMS and offset else self.theory.made(None, {})[0]
            before = self._build(number, chosen)
            for rewrite in rewrites(left, right, conditions, before, {}):
                self.parts.remove(chosen)
                view = self.theory.view(rewrite.term)
                numbers = [
                    (self.theory.made(c, {}), n) for c, n in ((self.number, 1), (number, -1), (view[0], 1))
                ]
                self.number = self.theory.joined(*numbers)[0]
                self.parts.add(view[1])
                return Change(rewrite.state, before, rewrite.term)
        return None

    def _concerned(
        self, pattern: dict[Any, Number], taken: tuple[Any, ...], s: State
    ) -> Iterator[dict[Any, Number]]:
        """f(x) + g(x) + h(y) where f(a) is taken → g(a), h(b):
        the other parts, with their amounts; none where one that must be there is missing.
        """
        known: dict[Any, Number] = {}
        unknown: dict[Any, Number] = {}
        amounts = self.parts.amounts
        for q, amount in pattern.items():
            try:
                q = reify_term(q, s)
            except ShapeError:
                return  # what was bound does not go together
            if is_variable(q) or unknowns(q):
                unknown[q] = amount
                continue
            for needed, k in self.theory.view(q)[1].items():
                part = self.parts.member(needed)
                if part is None or (amounts[part] > 0) != (k * amount > 0):
                    return
                known[part] = amounts[part]
        if not unknown:
            yield known
        elif heads := [q for q in unknown if not is_variable(q)]:
            q = min(heads, key=is_open_sum)
            amount = unknown.pop(q)
            like = self.parts.like(head_key(q.op), None if q.op is exp else amount)
            fitting = [c for c in islice(like, TRIES) if c not in taken]
            # Of exponentials any number may belong together.
            groups = (
                [((*fitting[:CHOICE],), [s])]
                if q.op is exp and fitting
                else (((c,), match_one(self.theory, q, amount, c, s)) for c in fitting)
            )
            for group, states in groups:
                for state in states:
                    for rest in self._concerned(unknown, (*taken, *group), state):
                        yield {c: amounts[c] for c in group} | known | rest
