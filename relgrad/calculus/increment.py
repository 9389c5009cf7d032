"""Increments: one program at two points, p(x) − p(y), op by op from x − y, so that nothing cancels.

    log(1 + Σ exp(v + h)) − log(1 + Σ exp(v))  ⟶  Δlog(1 + Σ exp(v + h), 1 + Σ exp(v), Σ Δexp(v + h, v, h))

Two summands with opposite signs are anti-unified: equal operands stay, equal heads descend, and a sum that loses
what both have in common is a distance. Where a distance is found for every pair, the summands become an increment:
linear ops apply to the distance, a·b gives a·Δb + Δa·b, and any other op its own difference, Δf(x, y, x − y).

Sources: Kahan & Fateman, "Symbolic computation of divided differences", SIGSAM Bulletin 33(2), 1999; Reps & Rall,
"Computational divided differencing and divided-difference arithmetics", Higher-Order and Symbolic Computation 16,
2003; anti-unification after Plotkin, "A note on inductive generalization", Machine Intelligence 5, 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.change import change_of
from relgrad.calculus.fit import fitted as fit_of
from relgrad.calculus.series import Series, argument, expanded, slope
from relgrad.calculus.walk import LOOKED, Walk
from relgrad.conventions import DEFAULT
from relgrad.errors import RelgradError
from relgrad.logic.build import build_product, build_sum, divisible, fit, fitted
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied
from relgrad.logic.parts import dtype_of, rebuilt
from relgrad.logic.pieces import between, of_one_run, runs
from relgrad.logic.rewrite import chain_of, pushed
from relgrad.logic.theory import SUM
from relgrad.logic.view import is_wide, product_of, sum_of
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import multiply, negative, power, subtract
from relgrad.ops.differences import log_quotient
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.exponential import exp
from relgrad.ops.increments import Difference, Telescope, difference_of
from relgrad.ops.joining import Concatenate
from relgrad.ops.selection import where
from relgrad.ops.structure import RESHAPES
from relgrad.term import Term, is_term, kept, once, reachable, substitute, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

PAIRS = 200
"""So many pairs of terms are compared, at most, for one increment."""
DEPTH = 50
"""No two terms are compared further below a sum."""

Groups = dict[Any, list[tuple[Term, Number]]]
"""Summands of a kind, each with its coefficient."""


class Distance(NamedTuple):
    """x − y as a term that does not cancel; `taken` are the pairs of inputs, otherwise unrelated, that it rests on."""

    term: Term
    taken: frozenset[frozenset[Term]] = frozenset()


def incremented(t: Term) -> Term | None:
    """f(x) − f(y) → Δf(x, y, x − y): a sum with two summands that are one program at two points; or None.

    exp(sin(x + h)) - exp(sin(x)) ⟶ Δexp(sin(x + h), sin(x), Δsin(x + h, x, h))
    """
    return once(t, "increment", _incremented)


def _incremented(t: Term) -> Term | None:
    """k·f(x) − k·f(y) + … → k·Δf(x, y, x − y) + …: the first pair of opposite summands that has a distance; or None.

    Of what either of the two makes pairs with, the nearest: f(a + k) − f(a), if there is −f(a), not f(a + k) − f(b);
    and f(n) − f(n − k) rather than f(n) − f(k), of two inputs.
    f(x)/f(y) − 1 → Δf(x, y, x − y)/f(y): of a quotient and a number as well. Of a sum that a view holds.
    """
    if not t.ground or is_wide(t, SUM):
        return None
    view, search = sum_of(t), Search()
    pairs = ((p, q, k) for p, q, k in _opposite(alike(t)) if not (is_datum(p) and is_datum(q)))
    found = ((p, q, k, d) for p, q, k in pairs if (d := search.of_summands(p, q)) is not None)
    first = next(found, None)
    if first is not None:
        rivals = [first, *[other for other in found if other[0] is first[0] or other[1] is first[1]]]
        p, q, k, d = min(
            rivals, key=lambda pair: (len(pair[3].taken), sum(1 for _ in subterms(pair[3].term)))
        )
        return exchanged(t, [(p, k), (q, -k)], SumView(0, {d.term: k}))
    for p, k in view.terms.items() if view.constant else ():
        if is_term(p) and _is_real(p) and any(e < 0 for e in product_of(p).factors.values()):
            one = constant(float(-view.constant / k), p.type.dtype)
            of_one = search.of_summands(p, one)
            if of_one is not None:
                return exchanged(t, [(p, k)], SumView(-view.constant, {of_one.term: k}))
    return None


def log_incremented(t: Term) -> Term | None:
    """log(f(x)/f(y)) → log_quotient(f(x), f(y), Δf(x, y, x − y)): of one program at two near points; or None."""
    view = product_of(t.rands[0])
    if not t.ground or view.coefficient != 1:
        return None
    x, y = ({b: e * sign for b, e in view.factors.items() if e * sign > 0} for sign in (1, -1))
    if not x or not y:
        return None
    above, below = (fit(build_product(ProductView(1, part), dtype_of(t)), t) for part in (x, y))
    found = Search().of_summands(above, below)
    return None if found is None else log_quotient(above, below, fit(found.term, t))


def exchanged(t: Term, parts: Sequence[tuple[Term, Number]], new: SumView) -> Term:
    """a + 2·b + c, [(a, 1), (b, 2)], d → c + d: a sum with others in place of some summands."""
    view = added((sum_of(t), 1), *[(SumView(0, {p: 1}), -k) for p, k in parts], (new, 1))
    return fit(rebuilt(view, t), t)


def have_increments(roots: Sequence[Term]) -> bool:
    """[exp(x + h) − exp(x)] → True, [exp(x) − y] → False: whether an increment, or a sum with one in it, is in roots.

    A sum that is part of a sum is looked at in that.
    """
    nodes = reachable(*roots)
    outermost = {x for t in nodes if not t.op.as_sum for x in t.rands}.union(roots)
    return any(isinstance(t.op, (Difference, Telescope)) for t in nodes) or any(
        incremented(t) is not None for t in outermost if t.op.as_sum and t.type.differentiable
    )


def difference_quotient(t: Term) -> Term | None:
    """(f(x) − f(y))/(x − y) = ∫₀¹ f′(y + t·(x − y)) dt, a mean slope, which is f′(x) where the points meet; or None.

    Δarcsin(x + h, x, h)/h ⟶ mean_slope_of_arcsin(x + h, x, h), and its reciprocal the other way round
    """
    view = product_of(t)
    for base, e in view.factors.items():
        if not is_term(base) or not base.ground or abs(e) < 1:
            continue
        sign = 1 if e > 0 else -1
        for below, n in view.factors.items():
            if n * sign > -1 or (slope := _Over(below)(base)) is None:
                continue
            rest = (ProductView(1, {base: 1}), -sign), (ProductView(1, {below: 1}), sign)
            left = multiplied((view, 1), *rest, (product_of(slope), sign))
            return fitted(build_product(left, dtype_of(t)), t)
    return None


class _Over(Walk):
    """t/d without a division, or None: (a·d + Δf(x, y, 2·d))/d = a + mean_slope(x, y, 2·d)·2."""

    def __init__(self, d: Term):
        super().__init__()
        self.d = d
        self.known[d] = constant(1.0, d.type.dtype)

    def of(self, t: Term) -> Term | None:
        """Σ tᵢ → Σ tᵢ/d;    Δf(x, y, e) → mean_slope(x, y, e)·(e/d);    L(t) → L(t/d), L linear;    a·d → a"""
        if self.d not in kept(t, "divisors", _divisors, _dividends):
            return None
        if t.op.as_sum:
            return self.sum(t)
        if isinstance(t.op, Difference):
            rest, mean = self(t.rands[-1]), t.op.mean_slope
            return None if rest is None else multiply(mean.make_node(*t.rands), rest)
        if type(t.op) is Telescope:
            x, y, by, *steps = t.rands
            rests = self.every(steps)
            return None if rests is None else t.op.make_node(x, y, multiply(by, self.d), *rests)
        if t.op.laws.linear == (0,) and not t.op.elementwise and self.d.type.size == 1:
            # An op that reduces or moves entries must see as many of them.
            rest = fitted(self(t.rands[0]), t.rands[0])
            return None if rest is None else t.op.make_node(rest, *t.rands[1:])
        return self.product(t)


def _dividends(t: Term) -> list[Term]:
    """a·d + Δf(x, y, e) → [a·d, Δf(x, y, e)];    Δf(x, y, e) → [e];    a·b/c → [a, b]: what is divided, or one of
    which, where a term is.
    """
    if t.op.as_sum:
        view = sum_of(t)
        parts = () if view.constant or t in view.terms else view.terms
    elif isinstance(t.op, Difference):
        parts = t.rands[-1:]
    elif type(t.op) is Telescope:
        parts = t.rands[3:]
    elif t.op.laws.linear == (0,) and not t.op.elementwise:
        parts = t.rands[:1]
    else:
        parts = [base for base, e in product_of(t).factors.items() if e >= 1 and base is not t]
    return list(filter(is_term, parts))


def _divisors(t: Term) -> frozenset[Term]:
    """a·d + Δf(x, y, b·d) → {itself, d}: by what a term can be divided: a sum by what divides all of its parts.

    Of very many those that are nearest.
    """
    parts = [x.cache["divisors"] for x in _dividends(t)]
    if not parts:
        return frozenset([t])
    of_all = t.op.as_sum or type(t.op) is Telescope
    found = frozenset.intersection(*parts) if of_all else frozenset[Term]().union(*parts)
    return frozenset([t, *(found if len(found) <= LOOKED else _dividends(t))])


def _opposite(groups: Groups) -> Iterator[tuple[Term, Term, Number]]:
    """2·p − 2·q + r → (p, q, 2): pairs of summands that may cancel, and how much of both; alike, and adding up to 0."""
    found: set[tuple[Term, Term]] = set()
    for parts in groups.values():
        above, below = ([p for p in parts if (p[1] > 0) == sign] for sign in (True, False))
        balanced = not sum(k for _, k in parts)
        for (p, k), (q, n) in product(above, below):
            if (balanced or k == -n) and (p, q) not in found:
                found.add((p, q))
                yield p, q, min(k, -n)


def alike(t: Term) -> Groups:
    """f(x)·y − f(z)·y → {f, y: …}: summands, with coefficients, by ops of their factors, and their own."""
    return once(t, "alike", lambda t: _by_kind(sum_of(t)))


def _by_kind(view: SumView) -> Groups:
    found: Groups = {}
    for part, k in view.terms.items():
        if is_term(part) and part.ground and part.type.differentiable:
            for kind in once(part, "kinds", _kinds):
                found.setdefault(kind, []).append((part, k))
    return found


def _kinds(t: Term) -> tuple[Any, ...]:
    """sin(x)·y → {sin, None}, multiply;    (sin(x) + y)[1:] → also [1:], and y[1:];    cumsum(x)[1:] → also that"""
    inside = _pushed(t)
    kinds = [_likeness(product_of(t)), _head(t), *([t.rands[0]] if runs(t) else [])]
    if is_datum(t):
        kinds.append(t)
    elif inside is not t:
        parts = sum_of(inside).terms if inside.op.as_sum else ()
        kinds += [t.op, *[part for part in parts if is_term(part) and is_datum(part)]]
    return tuple(dict.fromkeys(kinds))


def _likeness(view: ProductView) -> Any:
    """sin(x)·y² → {sin, None}: the heads of factors, which two products must have in common."""
    return frozenset([_head(b) for b in view.factors])


def _head(t: Term) -> Any:
    """sin(x), sin(x)[1:] → sin;    x, x[1:] → None: the op of a term, or None for a leaf and for entries of leaves.

    [0, x] and x[None] keep theirs, so that they meet [0, x + h] and (x + h)[None].
    """
    return once(t, "head", _op_inside)


def _op_inside(t: Term) -> Any:
    return t.op if isinstance(t.op, _MOVES) else None if is_datum(t) else _as_function(_pushed(t)).op


_MOVES = *RESHAPES, Concatenate


def _are_alike(x: Term, y: Term) -> bool:
    """sin(x), sin(y) → True;    x[None], x[1:] → True: whether a distance may be found, op by op or as of data."""
    return _head(x) == _head(y) or (is_datum(x) and is_datum(y)) or of_one_run(x, y)


def is_datum(t: Term) -> bool:
    """x, [0, x][k + 1] → True, x + y → False: whether each entry is one of an input or of a constant."""
    return once(t, "datum", _is_datum)


def _pushed(t: Term) -> Term:
    """sin(x)[1:] → sin(x[1:]), kept on the term."""
    return once(t, "pushed", _inside)


def _as_function(t: Term) -> Term:
    """series{log Γ(x + 1)}(z) → log Γ(z + 1): a series as the function that it is of, which may stand without one
    elsewhere.
    """
    op = t.op
    if type(op) is not Series or op.body.op.arity != 1 or not op.body.rands[0].op.as_sum:
        return t  # a quotient may be 0/0 where its series is not
    return substitute([op.body], {op.argument: t.rands[0]})[0]


def _inside(t: Term) -> Term:
    """sin(x)[1:] → sin(x[1:]): a selection from a function of single entries as the function of a selection."""
    selection, inner = chain_of(t)
    return pushed(selection, inner, inner.rands) if selection and inner.op.elementwise else t


def _is_datum(t: Term) -> bool:
    """x, [0, x][k + 1] → True, x + y → False: whether each entry is one of an input or of a constant."""
    if not t.rands:
        return True
    moves = t.op.laws.selects or isinstance(t.op, RESHAPES)
    return (moves or type(t.op) is Concatenate) and all(map(is_datum, t.rands[:1] if moves else t.rands))


class Search:
    """x, y → x − y where it does not cancel: the distances between pairs of terms, each looked for once."""

    def __init__(self) -> None:
        self.known: dict[tuple[Term, Term], Distance | None] = {}
        self.depth = 0
        self.pending: dict[tuple[Term, Term], int] = {}
        self.rests_on = DEPTH
        """At which depth the pair is compared that a failure has waited for, or -1: where a limit was the reason."""

    def of(self, x: Term, y: Term) -> Distance | None:
        """x + h, x → h: x − y as a term that does not cancel, or None.

        A pair found to have none is remembered on x beyond the search, unless a limit, or a pair that waits, was the
        reason.
        """
        key = x, y
        if not _comparable(x, y) or y in x.cache.get("apart", ()):
            return None
        if key in self.known:
            if self.known[key] is None:
                self.rests_on = min(self.rests_on, self.pending.get(key, -1))
            return self.known[key]
        if len(self.known) > PAIRS or self.depth > DEPTH:
            self.rests_on = -1
            return None
        before, self.rests_on = self.rests_on, DEPTH
        self.known[key], self.pending[key] = None, self.depth
        self.depth += 1
        found = self.known[key] = self._of_sums(x, y)
        self.depth -= 1
        del self.pending[key]
        if found is None and self.rests_on >= self.depth:  # so it is whatever else is compared
            x.cache.setdefault("apart", set()).add(y)
        self.rests_on = min(before, self.rests_on)
        return found

    def _of_sums(self, x: Term, y: Term) -> Distance | None:
        """x − y = Σ (pᵢ − qᵢ) + what is left, of one sign: (a + h) − a ⟶ h, (f(x) + h) − f(y) ⟶ Δf(x, y) + h; or None.

        Neither is near the other if nothing of both is the same: x + 1 and y + 1 share 1, 2·x and x share nothing. An
        input may be near a number.
        """
        if not x.rands and not y.rands and is_constant(x) != is_constant(y):
            return _between(x, y)
        ours, theirs = sum_of(x), sum_of(y)
        left = added((ours, 1), (theirs, -1))
        # Most of x is some of y: 2x and x lie no nearer to each other than to zero, nor do 1 - x and x.
        near = bool(ours.constant) and ours.constant == theirs.constant
        near = near or any(2 * abs(left.terms.get(t, 0)) < abs(k) for t, k in theirs.terms.items())
        dtype = dtype_of(x)
        if not left.terms:
            return Distance(constant(float(left.constant), dtype))
        taken, total = frozenset[frozenset[Term]](), SumView(left.constant, {})
        while pair := next(_opposite(_by_kind(left)), None):
            p, q, k = pair
            found = self.of_summands(p, q)
            if found is None:
                return None
            taken |= found.taken
            total = added((total, 1), (SumView(0, {found.term: 1}), k))
            left = added((left, 1), (SumView(0, {p: 1}), -k), (SumView(0, {q: 1}), k))
            near = True
        if not near or len({k > 0 for k in left.terms.values()}) > 1:
            return None
        return Distance(build_sum(added((total, 1), (left._replace(constant=0), 1)), dtype), taken)

    def is_shift(self, x: Term, y: Term) -> bool:
        """Whether x − y is found without looking into summands: a + h and a: yes; sin(a + h) and sin(a): no."""
        if not _comparable(x, y) or not (x.op.as_sum or y.op.as_sum):
            return False
        ours, theirs = sum_of(x), sum_of(y)
        if ours.terms.keys().isdisjoint(theirs.terms) and not (ours.constant == theirs.constant != 0):
            return False
        left = added((ours, 1), (theirs, -1))
        return next(_opposite(_by_kind(left)), None) is None and self.of(x, y) is not None

    def of_summands(self, x: Term, y: Term) -> Distance | None:
        """x₁…xₙ − y₁…yₙ = Σᵢ y₁…yᵢ₋₁·(xᵢ − yᵢ)·xᵢ₊₁…xₙ, times shared factors; or f(x) − f(y) = Δf(x, y)."""
        x, y = _pushed(x), _pushed(y)
        if x is y:
            return Distance(fit(constant(0.0, dtype_of(x)), x))
        if x.op is not y.op:
            x, y = _as_function(x), _as_function(y)
        if x.op.as_sum or y.op.as_sum:
            return self.of(x, y)
        return self._of_products(x, y) or self._of_applications(x, y)

    def _of_products(self, x: Term, y: Term) -> Distance | None:
        """x₁·x₂ − y₁·y₂ = (x₁ − y₁)·x₂ + y₁·(x₂ − y₂), times shared factors: 1/x − 1/y = (y − x)/(x·y); or None."""
        ours = product_of(x)
        common, pairs = _paired(ours, product_of(y))
        if not pairs:
            return None
        dtype = dtype_of(x)
        distances: list[Distance] = []
        for a, b, e in pairs:
            found = self._of_powers(a, b, e, dtype)
            if found is None:
                return None
            distances.append(found)
        taken = _taken(distances)
        if taken is None:
            return None
        parts: list[Term] = []
        for i, d in enumerate(distances):
            factors = [(ProductView(ours.coefficient, common), 1), (product_of(d.term), 1)]
            factors += [(ProductView(1, {b: e}), 1) for _, b, e in pairs[:i]]
            factors += [(ProductView(1, {a: e}), 1) for a, _, e in pairs[i + 1 :]]
            parts.append(build_product(multiplied(*factors), dtype))
        return Distance(_total(x, y, parts), taken)

    def _of_powers(self, a: Term, b: Term, e: Number, dtype: Any) -> Distance | None:
        """xᵃ − yᵃ → Δpower(x, y, a, x − y);    1/√exp(x) − 1/√exp(y) → Δexp(−x/2, −y/2): exp(x) may be out of range."""
        if e == 1:
            return self._of_applications(a, b)
        if a.op is b.op is exp:
            x, y = (
                exp.make_node(fit(build_sum(added((sum_of(u), e)), dtype), u))
                for u in (a.rands[0], b.rands[0])
            )
        elif e < 0:
            x, y = (power.make_node(base, constant(float(e), dtype)) for base in (a, b))
        else:
            x, y = (build_product(ProductView(1, {base: e}), dtype) for base in (a, b))
        return self._of_applications(x, y)

    def _of_applications(self, x: Term, y: Term) -> Distance | None:
        """f(…, x, …) − f(…, y, …) → Δf(x, y, x − y) from the distances of operands that differ; of two inputs x − y.

        None where an operand has no distance.
        """
        if not _comparable(x, y):
            return None
        if is_datum(x) and is_datum(y):
            return _between(x, y)
        if of_one_run(x, y):
            return None if (apart := between(x, y)) is None else Distance(apart)
        if _head(x) != _head(y):
            return None
        if x is not _pushed(x) or y is not _pushed(y):
            return self.of_summands(x, y)
        if len(x.rands) != len(y.rands):
            return None
        if x.op.as_sum:
            return self.of(x, y)
        found: list[Distance | None] = []
        for a, b in zip(x.rands, y.rands, strict=True):
            distance = self.of(a, b) if a is not b and _is_real(a) else None
            if distance is None and a is not b and _is_real(a):
                return None
            found.append(distance)
        taken = _taken(found)
        new = None if taken is None else _applied(x, y, [None if d is None else d.term for d in found])
        return None if new is None or taken is None else Distance(new, taken)


def _between(x: Term, y: Term) -> Distance:
    """x, y → x − y: the distance of two inputs, or of an input and a number."""
    return Distance(subtract(divisible(x), divisible(y)), frozenset({frozenset({x, y})}))


def _taken(distances: Sequence[Distance | None]) -> frozenset[frozenset[Term]] | None:
    """{(x, y)}, {(u, v)} → None: the inputs that distances rest on, if their parts cannot cancel, as in x·v − u·y."""
    known = [d for d in distances if d is not None]
    taken = frozenset[frozenset[Term]]().union(*[d.taken for d in known])
    return None if len(taken) > 1 and len(known) > 1 else taken


def _is_real(x: Any) -> bool:
    return is_term(x) and x.type.differentiable


def _comparable(x: Any, y: Any) -> bool:
    """Whether two terms are real arrays of one type, or stretched, entry by entry: sin(x) of (3,), y of (): yes."""
    if not (_is_real(x) and is_term(y) and isinstance(y.type, ArrayType)):
        return False
    stretched = x.type.dtype == y.type.dtype
    extents = zip(x.type.shape[::-1], y.type.shape[::-1], strict=False)
    stretched = stretched and all(m == n or 1 in (m, n) for m, n in extents)
    return x.type == y.type or (stretched and all(t.op.elementwise or is_datum(t) for t in (x, y)))


def _paired(
    ours: ProductView, theirs: ProductView
) -> tuple[dict[Any, Number], list[tuple[Any, Any, Number]]]:
    """f(x)·y·u, f(z)·w·u → {u: 1}, [(f(x), f(z), 1), (y, w, 1)]: what both share, the rest in pairs of one op; or none.

    Divisors of either are shared: 1/x − 1/y = (y − x)/(x·y), other than powers: x^(−3/2) − y^(−3/2).
    """
    bases = {**ours.factors, **theirs.factors}
    of_either = {b: (ours.factors.get(b, 0), theirs.factors.get(b, 0)) for b in bases}
    common = {b: min(es) for b, es in of_either.items() if min(es) == -1 or (min(es) and all(es))}
    left, right = (
        [(b, e) for b in bases if (e := view.factors.get(b, 0) - common.get(b, 0))] for view in (ours, theirs)
    )
    if len(left) != len(right) or ours.coefficient != theirs.coefficient:
        return common, []
    pairs = []
    for a, e in left:
        same = [f for f in right if f[1] == e]
        partner = next((f for f in same if _are_alike(f[0], a)), same[0] if same and e != 1 else None)
        if partner is None:
            return common, []
        right.remove(partner)
        pairs.append((a, partner[0], e))
    return common, pairs


def _applied(x: Term, y: Term, distances: list[Term | None]) -> Term | None:
    """f(x₁, …) − f(y₁, …) = Σᵢ f(y₁, …, xᵢ, xᵢ₊₁, …) − f(y₁, …, yᵢ, xᵢ₊₁, …), one operand after the other.

    a·b → a·Δb + Δa·b;    Σ x − Σ y → Σ (x − y);    f(x) − f(y) → Δf(x, y, x − y), or the op's own increment; or None.
    ⌊x⌋ − ⌊y⌋ as it is: exactly 0, unless there is a jump between.
    """
    op = x.op
    parts: list[Term] = []
    if not op.elementwise:
        # An op that reduces or moves entries must see as many of them: Σ (x + h) − Σ x is Σ h over the extent of x.
        if any(a.type != b.type for a, b in zip(x.rands, y.rands, strict=True)):
            return None
        distances = [None if d is None else fit(d, a) for d, a in zip(distances, x.rands, strict=True)]
    own = op.increment(
        *[[None if t is None else Tracer(t) for t in ts] for ts in (x.rands, y.rands, distances)]
    )
    if own is not None:
        return as_term(own)
    if op.jumps:
        return subtract(x, y)
    for i, (a, b, d) in enumerate(zip(x.rands, y.rands, distances, strict=True)):
        if a is b:
            continue
        if d is None:
            return None
        before, after = y.rands[:i], x.rands[i + 1 :]
        if i in op.laws.linear:
            parts.append(op.make_node(*before, d, *after))
        elif op.elementwise and (difference := difference_of(_with_slope(op), i)) is not None:
            near, distance = _nearer(a, b, d) if op.laws.parity == 1 else (b, d)
            parts.append(difference.make_node(a, near, *before, *after, distance))
        else:
            return change_of(x, y, distances)
    return _total(x, y, parts)


def _nearer(x: Term, y: Term, d: Term) -> tuple[Term, Term]:
    """z + h, z − h, 2·h → where signs differ h − z, 2·z: what an even function does not tell from y, and its distance
    from x, where that is known, too; otherwise y and x − y.
    """
    total = added((sum_of(x), 1), (sum_of(y), 1))
    if not total.cancelled:
        return y, d
    opposite = as_term(np.sign(Tracer(x)) * np.sign(Tracer(y)) < 0)
    near = where(opposite, negative(divisible(y)), y)
    return fit(as_term(near), y), fit(as_term(where(opposite, build_sum(total, dtype_of(x)), d)), y)


@lru_cache(maxsize=512)
def _with_slope(op: Elementwise) -> Elementwise:
    """log(sinh(x)/x) ⟶ its series, as its slope 1/tanh(x) − 1/x cancels near 0: an op to make a difference of.

    An op of which the slope does not cancel is itself.
    """
    known = difference_of(op) if op.arity == 1 and not isinstance(op, Series) else None
    if known is None or known.by_kernel or op.dtype is not None:
        return op
    x = argument()
    try:
        body = op.make_node(x)
        of_slope = expanded(slope(body, x, DEFAULT), x)[1]
        terms = fit_of(body, x, of_slope[0].point, 0) if of_slope else None
    except RelgradError:
        return op
    return op if terms is None else Series(body, x, of_slope[0].point, terms)


def _total(x: Term, y: Term, parts: list[Term]) -> Term:
    """[a, b], the parts of x − y → a + b as a telescope, which takes x − y itself where the parts cancel."""
    if len(parts) == 1:
        return parts[0]
    return Telescope(len(parts)).make_node(x, y, constant(1.0, x.type.dtype), *parts)
