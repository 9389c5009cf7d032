"""Views: how the theories of abelian groups read a term, without ever changing it.

    (a/b)·√c     1·{a: 1, b: -1, c: ½}        where signs are known: (x²)^½ = |x|
    2·a − b + 1  1 + {a: 2, b: -1}

A product is a coefficient and an ordered {base: exponent}; a sum is a constant and an ordered {term: coefficient}.
Division, reciprocals, powers, roots and negation are exponents and coefficients; exp(a + b) reads as exp(a)·exp(b);
a linear reduction is read with everything hoisted that is constant along its axes; factors that all summands share
stand outside. Arithmetic is exact. Views are bounded: what has more than `LIMIT` parts is read as an atom. Readings are
computed bottom-up, once a term.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.key import interned
from relgrad.leaf import Leaf
from relgrad.logic.build import build_product, build_sum, divisible, number_term
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.group import (
    Number,
    ProductView,
    SumView,
    added,
    applied_key,
    entry,
    float_exact,
    key_of,
    mark_sum,
    multiplied,
    number_of,
    product_key,
    quotient,
    renamed,
    representable,
    whole,
)
from relgrad.logic.space import bare, space_of
from relgrad.logic.theory import (
    BAG,
    SUM,
    inner_product,
    insert_axes,
    is_contraction,
    is_written,
    linear_operands,
    stands_outside,
    theories_of,
)
from relgrad.op import Op, is_constant
from relgrad.ops.align import FLOATING
from relgrad.ops.arithmetic import absolute, multiply, negative, power, reciprocal, sqrt
from relgrad.ops.casting import Cast
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, expand
from relgrad.term import Term, is_term
from relgrad.types import POSITIVE


def root(view: ProductView, exponent: Fraction, positive: frozenset[Any] = frozenset()) -> ProductView | None:
    """Read (∏ bᵢ^eᵢ)^r for a fraction r: √(b²) = |b|, and a root splits if at most one sign is unknown.

    With an unknown sign none of the others may be 0: √(x·y²) is 0 at y = 0, where √x·|y| has no value for x < 0. Some
    bases may be known to be positive.
    """
    if view.coefficient <= 0:
        return None
    coefficient = _rational_power(view.coefficient, exponent)
    factors: dict[Any, Number] = {}
    if coefficient is None:
        # Coefficients are rational: a root that is not is a factor.
        coefficient = 1
        floats = _as_floats(view.coefficient)
        factors.update({number_term(float(c)): e * exponent for c, e in floats.items()})
    doubtful, vanishing = 0, False
    cancelled = view.cancelled
    for base, e in view.factors.items():
        known = POSITIVE if base in positive else range_of(base)
        if e % 2 == 0 and not known.nonnegative:
            if not is_term(base):
                return None
            base = absolute(divisible(base))  # the least integer of its dtype has no opposite
            known = range_of(base)
        elif not known.nonnegative:
            doubtful += 1
        vanishing = vanishing or (e > 0 and known.nonnegative and not known.positive)
        factors[base] = factors.get(base, 0) + whole(e * exponent)
        cancelled = cancelled or (e % 2 == 0 and exponent.denominator == 2)
    if doubtful > 1 or (doubtful and vanishing):
        return None
    left = {base: e for base, e in factors.items() if e}  # √(|x|²/x²): both are powers of |x|
    return view._replace(
        coefficient=coefficient, factors=left, cancelled=cancelled or len(left) < len(factors)
    )


def whole_root(base: Any, e: Fraction) -> ProductView | None:
    """Read the root of a sum that cannot be split into the roots of its factors as that of the sum."""
    return ProductView(1, {base: e}) if is_term(base) and base.op.as_sum else None


def over_roots(view: ProductView) -> ProductView:
    """√(x·y)·y^(−½) = √x·y^½·y^(−½) = √x: a root splits where it is divided by one of a factor, which is positive."""
    positive = frozenset([b for b, e in view.factors.items() if e < 0 and e.denominator != 1])
    for base, e in view.factors.items() if positive else ():
        exponent = Fraction(1, 2) if is_term(base) and base.op is sqrt else None
        if is_term(base) and base.op is power:
            exponent = number_of(base.rands[1])
        if isinstance(exponent, Fraction):
            inner = product_of(base.rands[0])
            found = None if positive.isdisjoint(inner.factors) else root(inner, exponent, positive)
            if found is not None:
                view = multiplied((view, 1), (ProductView(1, {base: 1}), -e), (found, e))
    return view


def splits(base: Any, e: Number) -> bool:
    """Whether bᵉ is b^q·b^(e−q) for a fraction q wherever it has a value: x is √x·√x for x ≥ 0, x^(3/2) is x·√x."""
    return e.denominator != 1 or range_of(base).nonnegative


def _as_floats(c: Number) -> dict[Number, int]:
    """½ → {½: 1}, ⅓ → {1: 1, 3: −1}: a number as a float, or a quotient of two; the nearest float where it is
    neither.
    """
    if float_exact(c):
        return {c: 1}
    parts: dict[Number, int] = {c.numerator: 1, c.denominator: -1}
    return parts if all(map(float_exact, parts)) else {Fraction(float(c)): 1}


def _rational_power(c: Number, exponent: Fraction) -> Number | None:
    """(9/4, ½) → 3/2, (2, ½) → None: a power of a number, with an exponent of halves, where that is rational."""
    if c == 1:
        return 1
    if exponent.denominator != 2:
        return None
    c = Fraction(c)
    p, q = math.isqrt(c.numerator), math.isqrt(c.denominator)
    return (
        whole(Fraction(p, q) ** exponent.numerator)
        if p * p == c.numerator and q * q == c.denominator
        else None
    )


def is_real(t: Any) -> bool:
    """Whether the theories of the reals apply: floats, bare numbers and patterns, but not machine integers."""
    return not is_term(t) or not t.ground or t.type.differentiable


def is_widening(t: Term) -> bool:
    """float32 → float64: yes; float64 → float32, int → float: no:
    whether floats are cast to a precision that holds them.
    """
    if type(t.op) is not Cast or not t.ground:
        return False
    before = t.rands[0].type.dtype
    return before.kind == t.type.dtype.kind == "f" and np.can_cast(before, t.type.dtype)


def needs(kind: str, t: Term) -> list[tuple[str, Any]]:
    """(product, x/y) → products of x and y, (sum, x·y) → its product:
    the views of operands that a view is computed from.
    """
    op = t.op
    if not is_real(t):
        return []
    if kind == "sum":
        return [("sum", rand) for rand in t.rands] if op.as_sum else [("product", t)]
    if op.as_product is not None or type(op) in (BroadcastTo, BroadcastLike, Expand) or is_widening(t):
        return [("product", rand) for rand in t.rands[: op.arity if op.as_product is not None else 1]]
    if op.laws.parity:
        return [("product", rand) for rand in t.rands if op.laws.commutative or not is_unsigned(rand)]
    if op is power or op is absolute:
        return [("product", t.rands[0])]
    if op is exp:
        return [("sum", t.rands[0])]
    if op.as_sum:
        return [("sum", t)]
    if t.ground and op.elementwise and len(t.rands) == 1:
        return [("product", t.rands[0])] if _of_product(t) else []
    if t.ground:
        dot = inner_product(t)
        return [("product", t.rands[i]) for i, _ in linear_operands(t)] if dot is None else [("product", dot)]
    return []


def is_unsigned(x: Any) -> bool:
    """x, cos(−x) → True; −x, a·b, sin(−x) → False: whether ops say that a term is read with no sign in front."""
    if not is_term(x):
        return True
    opaque = x.op.elementwise and x.op.arity == 1 and not theories_of(x.op) and x.op is not absolute
    return isinstance(x.op, Leaf) or (opaque and x.op.laws.parity >= 0)


def without_leading_axes(t: Term) -> ProductView | None:
    """Read an inserted axis as the factor without those that lead, which broadcasting supplies."""
    rank = t.type.ndim
    lead = sum(1 for i in range(len(t.op.axes)) if t.op.axes[i] == i - rank)
    return ProductView(1, {expand(t.rands[0], t.op.axes[lead:]): 1}) if lead else None


def inverts(t: Term, divisors: list[ProductView]) -> bool:
    """x/(1/y) = x·y, 1/(x/y) = y/x: whether an inverse is divided by, or a quotient inverted."""
    whole = all(number_of(rand) is not None for rand in t.rands[:-1]) or t.op is power
    return any(
        (any if whole else all)(e < 0 and not (is_term(b) and b.op is exp) for b, e in view.factors.items())
        for view in divisors
        if view.factors
    )


def holds_inverse(t: Term) -> bool:
    """x·y⁻¹ = x/y: whether a factor is written as an inverse, which would be rounded before it is multiplied."""
    return any(
        is_term(rand) and (rand.op is reciprocal or (rand.op is power and number_of(rand.rands[1]) == -1))
        for rand in t.rands
    )


def turned(t: Term) -> ProductView | None:
    """sin(−x) = −sin(x), hypot(−x, y) = hypot(x, y):
    an odd or even function of −x read as that of x; None without a sign.
    """
    if not t.ground:
        return None
    views = {i: product_of(x)[:2] for i, x in enumerate(t.rands) if not is_unsigned(x)}
    if all(c >= 0 for c, _ in views.values()):
        return None
    sign, rands = 1, list(t.rands)
    for i, (c, factors) in views.items():
        if c < 0:
            x = rands[i]
            bare = x.rands[0] if x.op is negative else build_product(ProductView(-c, factors), x.type.dtype)
            sign, rands[i] = sign * t.op.laws.parity, bare
    return ProductView(sign, {t.op.make_node(*rands): 1})


def widened(t: Term, view: ProductView) -> ProductView:
    """cast(x·y) → cast(x)·cast(y): a product in a larger precision as that of its factors, each widened before they
    meet.
    """
    cast = t.op.make_node

    def wide(b: Term) -> Term:
        inside = b.op is exp or b.op.as_sum or type(b.op) is Sum
        return b.op.make_node(*map(cast, b.rands)) if inside else cast(b)

    return view._replace(factors=renamed(view.factors, wide))


def is_repeated(t: Term, view: ProductView) -> bool:
    """Σ_j x_i → True, Σ_j x_ij → False: whether what is summed over an axis are equal entries, all broadcast along
    it.
    """
    if type(t.op) is not Sum or not t.ground:
        return False
    (rand,) = t.rands
    return any(
        rand.type.extent(a) != 1 and all(is_constant_along(b, (a,)) for b in view.factors) for a in t.op.axes
    )


def in_floats(part: Any, whole: Term) -> Any:
    """Return what is added to floats as floats, too: a truth value by itself has no sign."""
    if not (is_term(part) and part.ground and whole.ground) or part.type.dtype.kind == "f":
        return part
    return Cast(whole.type.dtype).make_node(part)


LIMIT = 24
SHARED = 8
"""Factors that summands share are looked for among at most this many."""


def product_of(t: Any) -> ProductView:
    """Return how the theory of products reads a term."""
    found = t.cache.get("product") if type(t) is Term else None
    return _view("product", t) if found is None else found


def sum_of(t: Any) -> SumView:
    """Return how the theory of sums reads a term."""
    found = t.cache.get("sum") if type(t) is Term else None
    return _view("sum", t) if found is None else found


def _view(kind: str, t: Any) -> Any:
    """(product, x/(2·y)) → ½·{x: 1, y: −1}: a term's view, those that it needs first; kept on each term, nothing
    recurses.
    """
    if not is_term(t):
        return ProductView(1, {t: 1}) if kind == "product" else SumView(0, {t: 1})
    stack = [(kind, t, False)]
    while stack:
        which, node, ready = stack.pop()
        if which in node.cache:
            continue
        if not ready:
            missing = [(w, n, False) for w, n in needs(which, node) if type(n) is Term and w not in n.cache]
            if missing:
                stack.append((which, node, True))
                stack.extend(missing)
                continue
        node.cache[which] = (_read_product if which == "product" else _read_sum)(node)
    return t.cache[kind]


def _read_product(t: Term) -> ProductView:
    """2 → 2·{};    x·y → {x: 1, y: 1};    too many factors, no real → {t: 1}:
    a term as coefficient · ∏ base^exponent.
    """
    atom = ProductView(1, {t: 1})
    value = number_of(t)
    if value is not None:
        return ProductView(value, {})
    if not is_real(t):
        return atom
    view = _product_rule(t)
    if view is None or len(view.factors) > LIMIT or not representable(view.coefficient):
        return atom
    return view


def _product_rule(t: Term) -> ProductView | None:
    """x/y → x·y⁻¹, xᵏ → {x: k}, e^(x + y) → eˣ·eʸ, |x| = x for x ≥ 0, Σ 2·x → 2·Σ x:
    how products read an op; or None.
    """
    op = t.op
    if op.as_product is not None:
        sign, exponents = op.as_product
        parts = [(product_of(rand), e) for rand, e in zip(t.rands, exponents, strict=True)]
        zero = [not view.coefficient for view, _ in parts]
        if any(zero) and (
            any(z and e < 0 for z, (_, e) in zip(zero, parts, strict=True)) or _is_infinite(*t.rands)
        ):
            return None
        if op is sqrt:
            return root(parts[0][0], Fraction(1, 2)) or whole_root(t.rands[0], Fraction(1, 2))
        if inverts(t, [view for view, e in parts if e < 0]) or (op is multiply and holds_inverse(t)):
            parts.append((ProductView(1, {}, cancelled=True), 1))
        return over_roots(multiplied(*parts, *([(ProductView(sign, {}), 1)] if sign != 1 else ())))
    if op is power:
        return _power(t)
    if op is absolute and range_of(t.rands[0]).nonnegative:
        return product_of(t.rands[0])
    if op is exp:
        return _exponential(t)
    if op.laws.parity:
        return turned(t) or _keep_key(t)
    if op.as_sum:
        return _factored(t)
    if type(op) in (BroadcastTo, BroadcastLike):
        return product_of(t.rands[0])
    if type(op) is Expand:
        return _expanded(t)
    if is_widening(t):
        return widened(t, product_of(t.rands[0]))
    if op.elementwise and len(t.rands) == 1:
        return _keep_key(t)
    return _hoisted(t) if t.ground else None


def _is_infinite(*terms: Any) -> bool:
    """∞, x/0, y·∞ → True: whether a term is no number, whatever its arguments are: 0·∞ and ∞ − ∞ are not 0."""
    stack, seen = list(terms), set[Any]()
    while stack:
        x = stack.pop()
        if x in seen or not is_term(x):
            continue
        seen.add(x)
        if is_constant(x) and not np.isfinite(x.op.value).all():
            return True
        if x.op.as_product is not None:
            below = [y for y, e in zip(x.rands, x.op.as_product[1], strict=True) if e < 0]
            if any(is_constant(y) and not np.all(y.op.value) for y in below):
                return True
            stack += x.rands
        elif isinstance(x.op, FLOATING):
            stack += x.rands[:1]
    return False


def _power(t: Term) -> ProductView | None:
    """(x·y)³ → x³·y³, x^½ → {x: ½} where signs are known: a power with a number as its exponent, or None."""
    base, exponent = t.rands
    e = number_of(exponent)
    if e is None or abs(e) > 64:
        return None
    view = product_of(base)
    if isinstance(e, Fraction):
        return root(view, e) or whole_root(base, e)
    inverse = ProductView(1, {}, cancelled=e < 0 and inverts(t, [view]))
    return multiplied((view, e), (inverse, 1)) if view.coefficient or e > 0 else None


def _exponential(t: Term) -> ProductView | None:
    """exp(c + Σ kᵢ·tᵢ) = exp(c)·∏ exp(tᵢ)^kᵢ, multiples of sums as they are written: exp(0.3·(x − y)) is one factor."""
    constant, terms = exponent_sum(t.rands[0])[:2]
    multiples = {x: k for x, k in terms.items() if k != 1 and is_term(x) and x.op.as_sum}
    if not constant and (terms == {t.rands[0]: 1} or (len(terms) == 1 and multiples)):
        return ProductView(1, {t: 1}, exponentials=1)
    dtype = t.type.dtype if t.ground else None
    factors: dict[Any, Number] = {}
    if constant:
        factors[exp(number_term(constant, dtype))] = 1
    factors |= {
        exp(in_floats(build_product(ProductView(k, {x: 1}), dtype), t)): 1 for x, k in multiples.items()
    }
    rest = {x: k for x, k in terms.items() if x not in multiples}
    factors |= renamed(rest, lambda inner: exp(in_floats(inner, t)))
    return ProductView(1, factors, exponentials=1)


def exponent_sum(x: Any) -> SumView:
    """0.3·(a − b) + c → {a − b: 0.3, c: 1}: an exponent as a sum, multiples of sums as written where distributing
    rounds.

    In sums that count, the digits that cancel are watched; in exponents they are not.
    """
    parts = list(zip(x.rands, x.op.as_sum, strict=True)) if is_term(x) and x.op.as_sum else [(x, 1)]
    multiples = [_multiple_of_sum(part) for part, _ in parts]
    if not any(multiples):
        return sum_of(x)
    views = [
        sum_of(part) if m is None else SumView(0, {m[0]: m[1]})
        for (part, _), m in zip(parts, multiples, strict=True)
    ]
    return added(*[(view, k) for view, (_, k) in zip(views, parts, strict=True)])


def _multiple_of_sum(x: Any) -> tuple[Term, Number] | None:
    """0.3·(x − y) → x − y, 0.3;    2·(x − y) → None: a sum and its multiple, where distributing that would round."""
    k, factors = product_of(x)[:2] if is_term(x) else (1, {})
    t, e = next(iter(factors.items()), (x, 0))
    if e != 1 or len(factors) > 1 or not (is_term(t) and t.op.as_sum) or abs(math.frexp(k)[0]) == 0.5:
        return None
    return t, k


def _factored(t: Term) -> ProductView | None:
    """Read a sum with its sign, and the factors that all summands share, outside: a·x + a·y = a·(x + y)."""
    view = sum_of(t)
    constant, terms = view[:2]
    if not terms:
        return ProductView(constant, {}) if constant else None
    if len(terms) == 1 and not constant:
        ((inner, k),) = terms.items()
        return multiplied(
            (product_of(inner) if inner is not t else ProductView(1, {t: 1}), 1), (ProductView(k, {}), 1)
        )
    sign = -1 if next(iter(terms.values())) < 0 and constant <= 0 else 1
    common: dict[Any, Number] = {}
    if not constant and t.ground and len(terms) <= SHARED:
        readings = [product_of(inner).factors for inner in terms]
        for base, e in readings[0].items():
            exponents = [reading.get(entry(reading, base), 0) for reading in readings]
            if all(x > 0 for x in exponents) or all(x < 0 for x in exponents):
                least = min(exponents) if e > 0 else max(exponents)
                least = least if all(splits(base, x) for x in exponents) else int(least)
                common |= {base: least} if least else {}
    if sign == 1 and not common:
        mark_sum(t, view)
        return None
    if common:
        inverse = ProductView(1, {base: -e for base, e in common.items()})
        rest: dict[Any, Number] = {}
        constant = 0
        for inner, k in terms.items():
            c, factors = multiplied((product_of(inner), 1), (inverse, 1))[:2]
            if factors:
                part = build_product(ProductView(1, factors), inner.type.dtype)
                rest[part] = rest.get(part, 0) + k * c
            else:
                constant += k * c
        view = SumView(constant, rest)
    # A number that is no float, as in m/3 - x·m/3 = m/3·(1 - x), stands outside, where it is a divisor.
    size = 1 if float_exact(constant) else abs(constant)
    inside_view = added((view, quotient(sign, size)))
    inside = build_sum(inside_view, t.type.dtype if t.ground else None)
    if is_term(inside) and inside.op.as_sum:
        mark_sum(inside, inside_view)
    return multiplied((ProductView(sign * size, common), 1), (ProductView(1, {inside: 1}), 1))


def _expanded(t: Term) -> ProductView | None:
    """(x·y)[:, None] → x[:, None]·y[:, None]: an inserted axis as inserted into every factor.

    Leading ones are those that broadcasting supplies.
    """
    view = product_of(t.rands[0])
    axes = t.op.axes
    if all(n == 1 for n in t.type.shape):
        return view  # broadcasting supplies all axes of a single entry
    if len(view.factors) == 1 and view.coefficient == 1 and next(iter(view.factors)) is t.rands[0]:
        return without_leading_axes(t)
    return view._replace(factors=renamed(view.factors, lambda b: insert_axes(b, axes)))


def _hoisted(t: Term) -> ProductView | None:
    """Σ a·xᵢ → a·Σ xᵢ: a linear contraction with the factors outside that are constant along its axes."""
    dot = inner_product(t)
    if dot is not None:
        return product_of(dot)
    outside: list[tuple[ProductView, Number]] = []
    inside = list(t.rands)
    count, summed = 1, ()
    for i, axes in linear_operands(t):
        rand = t.rands[i]
        view = product_of(rand)
        moved = {b: e for b, e in view.factors.items() if stands_outside(b, axes, t)}
        shrunk = view.cancelled
        if not (moved or shrunk or view.coefficient != 1 or is_repeated(t, view)):
            continue
        rest = ProductView(1, {b: e for b, e in view.factors.items() if b not in moved})
        kept = build_product(rest, rand.type.dtype)
        # What cancelled may have been all that stretched the operand along these axes or others.
        if type(t.op) is Sum:
            space = space_of({axis: rand.type.extent(axis) for axis in axes}, kept.type.shape)
            if space.multiplicity is None:
                return None
            count, summed = space.multiplicity, space.axes
        elif kept.type.shape != rand.type.shape:
            return None
        inside[i] = kept
        outside.append((ProductView(view.coefficient, moved, cancelled=shrunk), 1))
    if not outside:
        return _keep_key(t) if is_contraction(t) else None
    if type(t.op) is Sum:
        core = product_of(inside[0]) if not summed else ProductView(1, {Sum(summed).make_node(inside[0]): 1})
    else:
        core = ProductView(1, {t.op.make_node(*inside): 1})
    for base in core.factors:
        if not is_written(t):
            base.cache["unwritten"] = True
        if base.op == t.op:
            _keep_key(base)
    return multiplied(*outside, (core, 1), (ProductView(count, {}), 1))


def _keep_key(t: Term) -> None:
    """f(x/2) = f(0.5·x), hypot(y, x) = hypot(x, y): keeps on a contraction or function the key that it is known by."""
    if not t.ground or "key" in t.cache:
        return
    if t.op.laws.commutative:
        reads = [applied_key(t.op, [product_of(rand)], [bare(rand.type.shape)]) for rand in t.rands]
        t.cache["key"] = interned((t.type, frozenset(reads)))
    elif is_contraction(t) or _of_product(t):
        shapes = [bare(rand.type.shape) for rand in t.rands]
        t.cache["key"] = applied_key(t.op, map(product_of, t.rands), shapes)


def _of_product(t: Term) -> bool:
    """sin(2*x): yes; sin(cos(x)): no: whether a function is of a product, and so may be known by how that is read."""
    return t.rands[0].op.as_product is not None


def _read_sum(t: Term) -> SumView:
    """x − 2·(y + 1) → −2 + {x: 1, y: −2}: a term as constant + Σ coefficient · term; operands as they are of too
    many.
    """
    atom = SumView(0, {t: 1})
    value = number_of(t)
    if value is not None:
        return SumView(value, {}, cancelled=not value)
    if not is_real(t):
        return atom
    if t.op.as_sum:
        parts = [(sum_of(rand), k) for rand, k in zip(t.rands, t.op.as_sum, strict=True)]
        view = added(*parts)
        if view.cancelled and _is_infinite(*t.rands):
            return atom
        if len(view.terms) <= LIMIT:
            return view
        return added(
            *[
                (SumView(0, {rand: 1}) if len(v.terms) > 1 else v, k)
                for rand, (v, k) in zip(t.rands, parts, strict=True)
            ]
        )
    return summand(product_of(t), t)


def summand_key(view: ProductView) -> Any:
    """{x: 1, y: 1} → key of x·y, {x: 1} → key of x: a product's key as a summand; None of a number or multiple of a
    sum.
    """
    factors = view.factors
    if len(factors) != 1:
        return product_key(factors) if factors else None
    ((base, e),) = factors.items()
    if e != 1:
        return product_key(factors)
    return None if is_term(base) and base.op.as_sum else key_of(base)


DISTRIBUTED = 1 << 10
"""A multiple of a sum is distributed up to this constant: s - k + k·m, of s + k·(m - 1), keeps no digit of s by k."""


def summand(view: ProductView, t: Term | None = None, dtype: Any = None) -> SumView:
    """3·x·y → {x·y: 3}, 2·(x + 1) → 2 + {x: 2}: a product as one summand; a multiple of a sum is distributed."""
    c, factors = view[:2]
    if not factors:
        return SumView(c, {})
    if len(factors) == 1:
        ((base, e),) = factors.items()
        if e == 1 and is_term(base) and base is not t and base.op.as_sum:
            inner = sum_of(base)
            if abs(c * inner.constant) <= DISTRIBUTED:
                return added((inner, c))
    if len(factors) == 1 and next(iter(factors.values())) == 1:
        return SumView(0, {next(iter(factors)): c})
    if c != 1 or t is None:
        t = build_product(ProductView(1, factors), t.type.dtype if t is not None and t.ground else dtype)
    assert t is not None
    t.cache["key"] = product_key(factors)
    return SumView(0, {t: c})


def times(view: SumView, factor: ProductView, dtype: Any, power: int = 1) -> SumView:
    """(x + 1, f), power k → fᵏ·x + fᵏ: a sum with a power of a factor multiplied into each summand."""
    parts = [
        (summand(multiplied((product_of(t), 1), (factor, power)), None, dtype), k)
        for t, k in view.terms.items()
    ]
    if view.constant:
        parts.append((summand(multiplied((factor, power)), None, dtype), view.constant))
    return added(*parts)


MOST = 128
"""Applications of an associative op to more operands are not read as one."""


def inside(t: Any, theory: int, like: Any) -> list[tuple[Any, Number]]:
    """(a − b, SUM) → [(a, 1), (b, −1)], (−a, PRODUCT) → [(a, 1), (None, 1)]: the operands read through; none of a part.

    A root is not read through, since signs decide how it splits. `like` is the op of a bag. None stands for −1.
    """
    if not is_term(t):
        return []
    if theory == BAG:
        return [(rand, 1) for rand in t.rands] if t.op == like else []
    if not is_open(t.op, theory):
        return []
    if theory == SUM:
        return list(zip(t.rands, t.op.as_sum, strict=True))
    sign, exponents = t.op.as_product
    return [*zip(t.rands, exponents, strict=True), *([(None, 1)] if sign < 0 else [])]


def is_open(op: Op, theory: int) -> bool:
    """Whether an op is read through however many parts there are."""
    return bool(op.as_sum) if theory == SUM else op.as_product is not None and op is not sqrt


def width(t: Term, theory: int, most: int) -> int:
    """(a + b + c, SUM, 8) → 3: counts the parts of a sum, a product or a bag as it is written, up to just above a
    bound.
    """
    count, stack = 0, [t]
    while stack and count + len(stack) <= most:
        inner = inside(stack.pop(), theory, t.op)
        if inner:
            stack.extend(rand for rand, _ in inner if rand is not None)
        else:
            count += 1
    return count + len(stack)


def is_wide(t: Term, theory: int) -> bool:
    """x₁ + … + x₂₅ → True: whether a sum or a product has more parts, as written, than a view holds."""
    name = "is wide", theory
    found = t.cache.get(name)
    if found is None:
        found = t.cache[name] = width(t, theory, LIMIT) > LIMIT
    return found


def flat(t: Term, theory: int) -> Any:
    """a + (b − 2·c) → {a: 1, b: 1, c: −2}: a term as the sum or product of its parts' views, however many there are."""
    parts: list[tuple[Any, Number]] = []
    stack: list[tuple[Any, Number]] = [(t, 1)]
    while stack:
        node, scale = stack.pop()
        inner = inside(node, theory, None)
        if inner:
            stack.extend((rand, scale * k) for rand, k in reversed(inner))
        elif theory == SUM:
            parts.append((sum_of(node), scale))
        else:
            view = ProductView(-1, {}) if node is None else product_of(node)
            parts.append((view if view.coefficient else ProductView(1, {node: 1}), scale))
    return added(*parts) if theory == SUM else multiplied(*parts)


def operands(t: Any, op: Op, each_once: bool = False) -> list[Any]:
    """max(x, max(y, z)) → [x, y, z]: the operands of an associative op applied again and again, from left to right."""
    found: list[Any] = []
    stack, seen = [t], {t}
    while stack:
        node = stack.pop()
        if is_term(node) and node.op == op:
            stack.extend(rand for rand in node.rands[::-1] if not (each_once and rand in seen))
            seen.update(node.rands)
        else:
            found.append(node)
    return list(dict.fromkeys(found)) if each_once else found


def applied(op: Op, parts: list[Any]) -> Any:
    """Return an associative op applied to operands from left to right; one alone stands for itself."""
    return reduce(op, parts)
