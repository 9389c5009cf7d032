"""Products, sums and bags as multisets: what the one order of work in `match` asks of each.

    a·exp(b)     known 1, the head exp(b), the variable a          a multiset is a number, and parts with amounts:
    2·a + x      known x, the variable a twice                     exponents, coefficients, or how many there are

A pattern's parts are known, have a head, or are variables. A theory says which parts of a subject a head may match, the
fewest first, what is left where known parts are taken out, and how variables share the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import Any, NamedTuple

from quicktions import Fraction

from relgrad.errors import ShapeError
from relgrad.logic.aco.selections import shares
from relgrad.logic.build import build_product, build_sum
from relgrad.logic.group import (
    BagView,
    Number,
    ProductView,
    SumView,
    added,
    multiplied,
    quotient,
    whole,
)
from relgrad.logic.heads import (
    Parts,
    factors_like,
    fewest,
    in_common,
    is_shared_freely,
    joint,
    parts_of,
    summands_like,
)
from relgrad.logic.index import head_key
from relgrad.logic.parts import (
    bag_of,
    dtype_of,
    has_constant,
    holds,
    less,
    minus,
    regrouped,
    without,
)
from relgrad.logic.theory import PRODUCT, SUM, linear_positions, theories_of
from relgrad.logic.unify import State, bind, is_variable, walked
from relgrad.logic.view import LIMIT, applied, operands, product_of, sum_of
from relgrad.ops.exponential import exp
from relgrad.ops.statistics import Size
from relgrad.term import Term, is_term

MANY = 4
"""A sum of more summands than this is not shared out in all ways."""
SELECTIONS = 1024
"""So many selections of factors are tried for one variable: all of up to ten factors."""


class Demands(NamedTuple):
    """2·a + sin(b) + x → x, [(sin(b), 1)], [(a, 2)]:
    the parts that are known, as a multiset, those with a head, variables.
    """

    known: Any
    heads: Parts
    variables: Parts


class Bags:
    """max(x, max(y, x)) → {x: 2, y: 1}: the operands of an op that is associative and commutative:
    sums without negatives.

    A theory reads terms as multisets, `(number, parts)`; those of products and sums say below where they differ.
    """

    def __init__(self, op: Any = None):
        self.op = op

    def view(self, t: Any) -> Any:
        """Return how a term is read."""
        return bag_of(t, self.op)

    def built(self, view: Any, dtype: Any, like: Any = None) -> Any:
        """Return the term of a multiset, grouped like another; its dtype matters where only numbers are left."""
        return applied(self.op, [x for x, n in view.parts.items() for _ in range(n)])

    def made(self, number: Any, parts: dict[Any, Number]) -> Any:
        """Return a multiset; of the number None, one with no number."""
        return BagView(self.op, parts)

    def joined(self, *views: tuple[Any, Number]) -> Any:
        """({x: 1}, 2), ({x: 1, y: 1}, 1) → {x: 3, y: 1}: several multisets, each so often, as one."""
        parts: dict[Any, Number] = {}
        for view, k in views:
            for part, n in view.parts.items():
                parts[part] = parts.get(part, 0) + n * k
        return BagView(self.op, parts)

    def known(self, part: Any, k: Number) -> Any:
        """Return a part of a pattern that is ground, and stands there so often, as a multiset; None where it cannot."""
        return self.view(part)

    def opened(self, part: Term, k: Number) -> Any:
        """Return what bindings have made several parts of one as a multiset, or None."""
        return bag_of(part, self.op) if part.op == self.op else None

    def left(self, p: Any, demands: Demands, t: Any, s: State, extend: bool) -> Any:
        """Return a subject without what is known of a pattern, or None where that is not there."""
        return less(t, demands.known)

    def first(self, heads: Parts, t: Any, s: State, extend: bool) -> tuple[int, Any] | None:
        """Return which head is matched first, and its candidates; None where one has none."""
        candidates = [[x for x, n in t.parts.items() if n >= k and _may_match(p, x)] for p, k in heads]
        i = min(range(len(heads)), key=lambda i: len(candidates[i]))
        return i, candidates[i]

    def shares(self, t: Any, k: Number, others: Parts, extend: bool) -> Iterator[tuple[Any, Any]]:
        """{x: 3, y: 1}, k = 1 → ({x: 1}, {x: 2, y: 1}), …:
        the shares of a variable that stands k times, and what is then left.
        """
        total = sum(t.parts.values())
        available = [(x, int(n // k)) for x, n in t.parts.items() if n >= k]
        most = min(sum(n for _, n in available), int((total - sum(n for _, n in others)) // k))
        # The last takes all that is left, unless some may be.
        sizes = range(1, most + 1) if others or extend else [most] if most > 0 and most * k == total else []
        for taken in shares(available, sizes):
            yield self.made(None, dict(taken)), less(t, self.made(None, {x: k * n for x, n in taken.items()}))

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
        """a·exp(b)·x under {b: y} → known x·exp(y), variable a: the demands of a pattern under a state.

        None where it can stand nowhere: shapes do not fit, or 1/0.
        """
        known, heads, variables = self.made(p[0], {}), [], dict[Any, Number]()
        for part, k in p[1].items():
            try:
                part = walked(part, s)
            except ShapeError:
                return None
            if is_variable(part):
                variables[part] = variables.get(part, 0) + k
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
                variables |= {q: variables.get(q, 0) + e * k for q, e in inner.variables}
        return Demands(known, heads, [(q, k) for q, k in variables.items() if k])

    def pending(self, demands: Demands, i: int) -> Any:
        """a·sin(b)·cos(c) less cos(c) → a·sin(b): the rest of a pattern once one of its heads is matched."""
        parts: dict[Any, Number] = {}
        for part, k in (*demands.heads[:i], *demands.heads[i + 1 :], *demands.variables):
            parts[part] = parts.get(part, 0) + k
        return self.made(None, parts)

    def shared(
        self, variables: Parts, t: Any, s: State, extend: bool, dtype: Any, like: Any = None
    ) -> Iterator[tuple[State, Any]]:
        """[(a, 1), (b, 1)], {x: 1, y: 1} → {a: x, b: y}, {a: y, b: x}: a share for each variable, few parts first.

        The last takes all that is left, unless some may be.
        """
        (variable, k), *others = variables
        for taken, left in self.shares(t, k, others, extend):
            bound = bind(variable, self.built(taken, dtype, like), s)
            if bound is False:
                continue
            if others:
                yield from self.shared(others, left, bound, extend, dtype, like)
            else:
                yield bound, left


class Products(Bags):
    """x·x/(2·y) → ½·{x: 2, y: −1}: factors with exponents, and a coefficient, an abelian group."""

    def view(self, t: Any) -> ProductView:
        return product_of(t)

    def built(self, view: Any, dtype: Any, like: Any = None) -> Any:
        return build_product(view, dtype)

    def made(self, number: Any, parts: dict[Any, Number]) -> ProductView:
        return ProductView(1 if number is None else number, parts)

    def joined(self, *views: tuple[Any, Number]) -> ProductView:
        return multiplied(*views)

    def known(self, part: Any, k: Number) -> ProductView | None:
        view = product_of(part)
        if k.denominator != 1 and (view.coefficient != 1 or not view.factors):
            view = ProductView(1, {part: 1})  # a root that may not be rational, or real, is a factor
        return view if view.coefficient else None

    def opened(self, part: Term, k: Number) -> ProductView | None:
        if part.op is exp or part.op.as_sum:
            return None
        view = product_of(part)
        return None if part in view.factors or (view.coefficient != 1 and k.denominator != 1) else view

    def left(self, p: Any, demands: Demands, t: Any, s: State, extend: bool) -> ProductView | None:
        left = without(t, demands.known)
        if left is None or extend or demands.variables or len(demands.heads) != 1:
            return left
        return left if _is_taken(demands.heads[0][0], left) else None

    def joint(self, heads: Parts, variables: Parts, t: Any, s: State, extend: bool) -> Any:
        return joint(heads, variables, t, s, extend) if heads else None

    def first(self, heads: Parts, t: Any, s: State, extend: bool) -> tuple[int, Any]:
        i = fewest(heads, t, s) if len(heads) > 1 else 0
        return i, factors_like(heads[i], t)

    def shares(self, t: Any, k: Number, others: Parts, extend: bool) -> Iterator[tuple[Any, Any]]:
        """x²·y, k = 2 → (x, y): powers p with p^k part of t, and t/p^k; the k-th root of t for the last."""
        if others or extend:
            for taken in islice(_selections(t, k, allow_empty=not extend), SELECTIONS):
                yield taken, multiplied((t, 1), (taken, -k))
        elif (root := _rooted(t, k)) is not None:
            yield root, ProductView(1, {})


class Sums(Bags):
    """2·x − y + 1 → 1 + {x: 2, y: −1}: summands with coefficients, and a constant, an abelian group."""

    def view(self, t: Any) -> SumView:
        return sum_of(t)

    def built(self, view: Any, dtype: Any, like: Any = None) -> Any:
        return build_sum(view, dtype) if like is None or len(view.terms) < 2 else regrouped(view, like)

    def made(self, number: Any, parts: dict[Any, Number]) -> SumView:
        return SumView(number or 0, parts)

    def joined(self, *views: tuple[Any, Number]) -> SumView:
        return added(*views)

    def dtype(self, t: Any) -> Any:
        return next(map(dtype_of, t.terms), None)

    def opened(self, part: Term, k: Number) -> SumView | None:
        return sum_of(part) if part.op.as_sum else None

    def left(self, p: Any, demands: Demands, t: Any, s: State, extend: bool) -> SumView | None:
        if not (demands.variables or has_constant(t, demands.known)):
            return None
        return t if demands.heads else minus(t, demands.known)

    def joint(self, heads: Parts, variables: Parts, t: Any, s: State, extend: bool) -> Any:
        """[(hypot(x, y), 1)], [(y, −1)], hypot(a, hypot(b, c)) − b → y, [a, b, c]: a variable that stands beside an op
        whose operands are a bag is one of these, or all of another such summand: there are 2ⁿ bags of n operands.

        [(f(x − y), 1)], [(y, 1)], f(a − b + c) + b − c → y, [b, −c, b − c]: nor are sums inside shared out in all ways.
        """
        free = dict(variables)
        for p, _ in heads:
            op = p.op
            if len(p.rands) == 1 and is_term(q := p.rands[0]) and q.op.as_sum and _is_one_function(op):
                for v, k in sum_of(q).terms.items():
                    if v in free:
                        return v, dict.fromkeys(_in_and_beside(op, k, free[v], t))
            shared = [v for x in p.rands if (v := walked(x, s)) in free] if op.laws.commutative else []
            if shared and op.laws.associative and op.elementwise:
                alike = [part for part in t.terms if is_term(part) and part.op == op]
                inside = [x for part in alike for x in operands(part, op, each_once=True)]
                return shared[0], dict.fromkeys([*inside, *(alike if len(alike) > 1 else [])])
        return None

    def pending(self, demands: Demands, i: int) -> SumView:
        # Known summands wait, since they may cancel with what variables come to be.
        return added((super().pending(demands, i), 1), (demands.known, 1))

    def first(self, heads: Parts, t: Any, s: State, extend: bool) -> tuple[int, Any] | None:
        """[a·b, sin(c)], x·y + z·w + sin(v) → 1, [sin(v)]:
        the head with the fewest candidates, and these; None without any.

        Where some of a sum may be left, summands are taken whole: the last head takes all of one.
        """
        candidates: list[Parts] = []
        for part, k in heads:
            candidates.append(summands_like(part, k, t, s, extend and len(heads) == 1))
            if not candidates[-1]:
                return None
        # A sum of several unknowns is shared out in many ways, of which few are left once some are known.
        rank = lambda i: (bool(candidates[i] and is_shared_freely(heads[i][0], s)), len(candidates[i]))
        i = min(range(len(heads)), key=rank) if len(heads) > 1 else 0
        return i, candidates[i]

    def shares(self, t: Any, k: Number, others: Parts, extend: bool) -> Iterator[tuple[Any, Any]]:
        """x + y + 1, k = 2 → (x/2, y + 1), …: parts p of a sum, each divided by k, and the rest;
        all of it for the last.
        """
        parts: list[tuple[Any, Number]] = [*t.terms.items(), *([(None, t.constant)] if t.constant else [])]
        sizes = list(range(1, len(parts) + 1)) if others or extend else [len(parts)] if parts else []
        if len(sizes) > MANY:  # there would be 2ⁿ shares: one summand, all but one, or all
            sizes = [1, len(parts) - 1, len(parts)]
        for size in sizes:
            for chosen in combinations(parts, size):
                terms = dict(chosen)
                taken = SumView(terms.pop(None, 0), terms)
                yield added((taken, quotient(1, k))), added((t, 1), (taken, -1))


PRODUCTS, SUMS = Products(), Sums()
THEORIES = {PRODUCT: PRODUCTS, SUM: SUMS}


def _is_one_function(op: Any) -> bool:
    """tanh, lse → True; exp, Σ → False: whether no theory reads an op as part of something else."""
    return op is not exp and not linear_positions(op) and not theories_of(op)


def _in_and_beside(op: Any, inner: Number, outer: Number, t: SumView) -> Iterator[Any]:
    """lse, −1, 1, lse(a − b + c) + b − c → b, −c, b − c: what stands so often in an op and beside it, one or all."""
    beside = added((t, quotient(1, outer)))
    for part in t.terms:
        if is_term(part) and head_key(part.op) == head_key(op) and len(part.rands) == 1:
            shared = in_common(added((sum_of(part.rands[0]), quotient(1, inner))), beside)
            yield from parts_of(shared, 1, dtype_of(part))
            if shared.terms and len(shared.terms) + bool(shared.constant) > 1:
                yield build_sum(shared, dtype_of(part))


def _is_taken(p: Term, t: ProductView) -> bool:
    """(sin(a), sin(x)) → True, (sin(a), sin(x)·y), (sin(a), 2·sin(x)) → False: whether a head may be a whole product.

    A head is one factor; an exponential may be several, a size a number.
    """
    return p.op is exp or type(p.op) is Size or (len(t.factors) == 1 and abs(t.coefficient) == 1)


def _may_match(p: Any, t: Any) -> bool:
    return not is_term(t) or theories_of(p.op) != 0 or theories_of(t.op) != 0 or type(t.op) is type(p.op)


def _selections(t: ProductView, k: Number, allow_empty: bool) -> Iterator[ProductView]:
    """x²·y, k = 1 → x, x², y, x·y, x²·y: the products p of factors of t for which p^k is part of t, few factors first;
    1.
    """
    fitting = [(b, _shares(e, k)) for b, e in t.factors.items() if holds(e, k)]
    for size in [*range(1, len(fitting) + 1), *([0] if allow_empty else [])]:
        for chosen in combinations(fitting, size):
            for amounts in product(*[amounts for _, amounts in chosen]):
                yield ProductView(1, {b: n for (b, _), n in zip(chosen, amounts, strict=True)})


def _shares(e: Number, k: Number) -> list[Number]:
    """(6, 2) → [1, 2, 3], (½, 1) → [½]: how much of base^e a variable with exponent k may take: one, two, … or all."""
    most = Fraction(e) / Fraction(k)
    if most > LIMIT or (most.denominator != 1 and abs(k) == 1):
        return [whole(most)]
    return list(range(1, int(most) + 1))


def _rooted(t: ProductView, k: Number) -> ProductView | None:
    """Return t^(1/k) where that is a product of whole powers: y² is 1/x² for y = 1/x, and sin²x/x² for y = sin(x)/x.

    A divisor is found where something is divided by, not made of what is not, as x = 1/y for y = 1/x; and no root is
    taken, whose sign and domain would have to be known.
    """
    if k == 1:
        return t
    coefficient = _rational_root(t.coefficient, k)
    if not coefficient or not t.factors:
        return None
    if k.denominator != 1 and any(e.denominator != k.denominator for e in t.factors.values()):
        return None
    exponents = {b: quotient(e, k) for b, e in t.factors.items()}
    if any((e < 0 and k < 0) or (isinstance(e, Fraction) and abs(k) != 1) for e in exponents.values()):
        return None
    return ProductView(coefficient, exponents)


def _rational_root(c: Number, k: Number) -> Number | None:
    """(9/4, 2) → 3/2, (2, 2) → None, (3, −1) → ⅓: c^(1/k) where that is rational."""
    if c == 1 or (c and k == -1):
        return quotient(1, c)
    if k != 2 or c <= 0:
        return None
    root = Fraction(math.isqrt(c.numerator), math.isqrt(c.denominator))
    return whole(root) if root * root == c else None
