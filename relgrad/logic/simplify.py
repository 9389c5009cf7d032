"""Simplifications that the theories themselves license: cancelling, and moving factors to where they cancel."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any

from quicktions import Fraction

from relgrad.bounds import is_moderate
from relgrad.logic.build import build_product, build_sum, fit, fit_to
from relgrad.logic.group import (
    Number,
    ProductView,
    SumView,
    added,
    key_of,
    multiplied,
    number_of,
    whole,
)
from relgrad.logic.ranges import range_of
from relgrad.logic.share import dtype_of
from relgrad.logic.theory import PRODUCTS, SUMS
from relgrad.logic.view import LIMIT, SHARED, product_of, sum_of, summand, summand_key
from relgrad.op import as_term, constant
from relgrad.ops.arithmetic import divide, power, reciprocal, sqrt
from relgrad.ops.comparison import greater, less, logical_or
from relgrad.ops.exponential import exp
from relgrad.ops.gather import Index, Scatter
from relgrad.ops.reduction import Sum
from relgrad.term import Term, is_term
from relgrad.trace.tracer import Tracer


def cancelled_product(t: Term) -> Any:
    """Return a product with what cancels cancelled and its exponentials made one, or None where nothing does.

    a·b/a = b, 1/(1/a) = a, and exp(a)·exp(b) = exp(a + b) unless a and b have one sign: then nothing would be gained.
    """
    view = product_of(t)
    if view.cancelled or _is_single(view, t):
        new = build_product(view, dtype_of(t))
    elif view.coefficient != 1 and _is_distributed(view, sum_of(t)):
        new = build_sum(sum_of(t), dtype_of(t))
    elif view.exponentials > 1 and (opposed := _opposed(t)):
        new = build_product(opposed, dtype_of(t))
    else:
        return None
    new = fit(new, t)
    return None if new is t else new


def _opposed(t: Term) -> ProductView | None:
    """Return a product as it is written, if one of its exponentials may be large where another is small, or None.

    What stands under an exponential is not divided, nor is an exponential taken out of a sum: exp(x - max x) is at
    most one, where exp(x) and exp(-max x) may both be out of range.
    """
    view = _written(t)
    exponents = [(range_of(b.rands[0]), e) for b, e in view.factors.items() if is_term(b) and b.op is exp]
    ranges = [r if e > 0 else -r for r, e in exponents]
    return view if any(r.high > 0 for r in ranges) and any(r.low < 0 for r in ranges) else None


def _written(t: Term) -> ProductView:
    """Return the factors that a product is written with, which are not looked into: a·exp(b - c)/d."""
    parts: list[tuple[ProductView, Number]] = []
    stack: list[tuple[Any, Number]] = [(t, 1)]
    while stack:
        node, e = stack.pop()
        value = number_of(node)
        if value:
            parts.append((ProductView(value, {}), e))
        elif (
            is_term(node) and node.op in PRODUCTS and node.op is not sqrt and len(stack) + len(parts) < LIMIT
        ):
            sign, exponents = PRODUCTS[node.op]
            parts.append((ProductView(sign, {}), e))
            stack += [(rand, e * k) for rand, k in zip(node.rands, exponents, strict=True)][::-1]
        else:
            parts.append((ProductView(1, {node: 1}), e))
    return multiplied(*parts)


def _is_single(view: ProductView, t: Term) -> bool:
    """Whether what is written as a product is one factor: inverses of inverses, 1/(2/a), or 2·(a/2)."""
    if len(view.factors) != 1 or not (t.op in PRODUCTS or t.op is power):
        return False
    ((base, e),) = view.factors.items()
    inverted = t.op in (reciprocal, power) or (t.op is divide and number_of(t.rands[0]) is not None)
    return e == 1 and base is not t and is_term(base) and (abs(view.coefficient) == 1 or inverted)


def _is_distributed(view: ProductView, total: SumView) -> bool:
    """Whether what is written as a multiple of a sum is a sum without multiples: 2·(a/2 - b/2)."""
    return len(view.factors) == 1 and len(total.terms) > 1 and all(abs(k) == 1 for k in total.terms.values())


def rooted_power(t: Term) -> Any:
    """Return a power with exponent one half as a root, which is rounded correctly, or None for another term."""
    return sqrt(t.rands[0]) if t.op is power and number_of(t.rands[1]) == Fraction(1, 2) else None


def joined_reductions(t: Term) -> Iterator[tuple[Term, Term]]:
    """Yield what stands under two sums over the same axes as one sum, with t in which they are one: Σa + Σb = Σ(a + b).

    What flows back to a parameter along several paths is summed on each of them, before it can cancel.
    """
    view = sum_of(t)
    found: dict[Any, list[tuple[Any, SumView]]] = {}
    for part, k in view.terms.items():
        factors = product_of(part).factors
        if len(factors) > 1:
            continue
        base: Any = next(iter(factors), None)
        if is_term(base) and factors[base] == 1 and type(base.op) is Sum:
            inside = base.rands[0]
            own = added((sum_of(inside), whole(Fraction(product_of(part).coefficient) * k)))
            found.setdefault((base.op, inside.type), []).append((part, own))
    for (op, kind), parts in found.items():
        for (p, x), (q, y) in islice(combinations(parts, 2), SHARED):
            inside: Any = fit_to(build_sum(added((x, 1), (y, 1)), kind.dtype), kind)
            left = added((view, 1), (SumView(0, {p: view.terms[p], q: view.terms[q]}), -1))
            new = added((left, 1), (SumView(0, {op.make_node(inside): 1}), 1))
            yield inside, fit(build_sum(new, dtype_of(t)), t)


def gathered_sum(t: Term) -> Any:
    """Return a difference of two quotients over what both divide by, or None: a/c - b/c = (a - b)/c.

    There a and b may be exact, and one of them one, where the quotients have been rounded. Products are not
    gathered, since others of their factors may be out of range by themselves.
    """
    constant, terms = sum_of(t)[:2]
    if constant or sorted(terms.values()) != [-1, 1]:
        return None
    readings = [list(product_of(part).factors.values()) for part in terms]
    if not all(es and sum(e > 0 for e in es) <= 1 and max(es) <= 1 and min(es) < 0 for es in readings):
        return None
    view = product_of(t)
    below = sorted(e for e in view.factors.values() if e < 0)
    if any(below != sorted(e for e in es if e < 0) for es in readings):
        return None
    new = fit(build_product(view, dtype_of(t)), t)
    return None if new is t else new


def divided_pair(t: Term) -> Any:
    """Return a sum of two summands over the divisor that one of them has more, where a part of that goes, or None."""
    return divided_sum(t, 2)


def divided_sum(t: Term, most: int = SHARED) -> Any:
    """Return a sum with two summands over the divisor that one of them has more, where a part of that goes, or None.

    x/(x + z) - 1 = -z/(x + z), 1/expm1(x) + 1 = exp(x)/expm1(x), and 1/y - x/y² = (y - x)/y² with y = x + z
    """
    view = sum_of(t)
    dtype = dtype_of(t)
    one = constant(1.0, dtype)
    parts = [*view.terms.items(), *([(one, view.constant)] if view.constant else [])]
    if not 1 < len(parts) <= most:
        return None
    for p, k in parts:
        factors = product_of(p).factors
        for d in [b for b, e in factors.items() if e < 0 and is_term(b) and b.ground]:
            whole: SumView | None = None
            for q, c in parts:
                others = product_of(q)
                if q is p or not others.coefficient or others.factors.get(d, 0) != factors[d] + 1:
                    continue
                whole = whole or sum_of(_meaning(d))
                above = multiplied((product_of(p), 1), (ProductView(1, {d: 1}), 1), (others, -1))
                left = added((sum_of(build_product(above, dtype)), k), (whole, c))
                if len(left.terms) + bool(left.constant) < len(whole.terms) + bool(whole.constant):
                    ratio = multiplied(
                        (product_of(build_sum(left, dtype)), 1), (others, 1), (ProductView(1, {d: 1}), -1)
                    )
                    gone = SumView(c, {p: k}) if q is one else SumView(0, {p: k, q: c})
                    new = added((view, 1), (gone, -1), (SumView(0, {build_product(ratio, dtype): 1}), 1))
                    return fit(build_sum(new, dtype), t)
    return None


def _meaning(t: Any) -> Any:
    """Return a sum as it is, and another function as what it means, if it is defined by others."""
    if not is_term(t) or t.op in SUMS or t.op.times:
        return t
    meaning = t.op.meaning(*map(Tracer, t.rands))
    return t if meaning is None else as_term(meaning)


def factored_sum(t: Term) -> Any:
    """Return a sum without two summands that meet where one is multiplied out, or None: a·(x + y) - a·x = a·y."""
    view = sum_of(t)
    if not 1 < len(view.terms) + bool(view.constant) <= SHARED:
        return None
    known = {key_of(part) for part in view.terms}
    for part, k in view.terms.items():
        product = product_of(part)
        for base, e in product.factors.items():
            if e != 1 or not is_term(base) or base.op not in SUMS or len(product.factors) < 2:
                continue
            outside = multiplied((product, 1), (ProductView(1, {base: 1}), -1))
            inner = sum_of(base)
            for u in [SumView(0, {u: c}) for u, c in inner.terms.items()] + [SumView(inner.constant, {})]:
                alone = multiplied(*[(product_of(x), 1) for x in u.terms], (outside, 1))
                key = summand_key(alone)
                if key is not None and key not in known:
                    continue  # it meets nothing
                left = added((view, 1), (_times(u, outside, dtype_of(t)), k))
                if len(left.terms) < len(view.terms) or (view.constant and not left.constant):
                    rest = _times(added((inner, 1), (u, -1)), outside, dtype_of(t))
                    new = added((left, 1), (SumView(0, {part: 1}), -k), (rest, k))
                    return fit(build_sum(new, dtype_of(t)), t)
    return None


def shared_complement(t: Term) -> Any:
    """Return a sum that holds a complement, and a multiple of it, with the complement taken out, or None.

    (1 - p) - (1 - p)·q = (1 - p)·(1 - q): 1 - (p + (1 - p)·q) is no difference of what is near one. What is left
    beside must be one summand: 1 - ((1 - p)·q + p·(1 - q)) = (1 - p)·(1 - q) + p·q
    """
    view, dtype = sum_of(t), dtype_of(t)
    if not view.constant or not 1 < len(view.terms) <= SHARED:
        return None
    for part, k in view.terms.items():
        product = product_of(part)
        for base, e in product.factors.items():
            if e < 1 or not is_term(base) or base.op not in SUMS or (e == 1 and len(product.factors) < 2):
                continue
            inner = sum_of(base)
            c = Fraction(view.constant) / inner.constant if inner.constant else Fraction(0)
            left = added((view, 1), (SumView(0, {part: 1}), -k), (inner, -c))
            if c * k * product.coefficient >= 0 or left.constant:
                continue
            beyond = factored_sum(build_sum(left, dtype)) if len(left.terms) > 1 else None
            if left.terms and (beyond is None or len(sum_of(beyond).terms) > 1 or sum_of(beyond).constant):
                continue
            outside = multiplied((product, 1), (ProductView(1, {base: 1}), -1))
            beside = build_sum(added((SumView(c, {}), 1), (_times(SumView(1, {}), outside, dtype), k)), dtype)
            taken = multiplied((ProductView(1, {base: 1}), 1), (ProductView(1, {beside: 1}), 1))
            whole_ = SumView(0, {build_product(taken, dtype): 1} | ({} if beyond is None else {beyond: 1}))
            return fit(build_sum(whole_, dtype), t)
    return None


def cancelled_sum(t: Term) -> Any:
    """Return a sum with what cancels cancelled, or None where nothing does: a + b - a = b."""
    view = sum_of(t)
    if not view.cancelled:
        return _cancelled_inside(t)
    new = fit(build_sum(view, dtype_of(t)), t)
    return None if new is t else new


def _cancelled_inside(t: Term) -> Any:
    """Return a sum in which what stands beside a common factor cancels: g·(x + y) + g·(x - y) = g·(2·x)."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e == 1 and base is not t and is_term(base) and base.op in SUMS and sum_of(base).cancelled:
            inside = product_of(build_sum(sum_of(base), dtype_of(t)))
            new = multiplied((view, 1), (ProductView(1, {base: 1}), -1), (inside, 1))
            return fit(build_product(new, dtype_of(t)), t)
    return None


def distributed_product(t: Term) -> Any:
    """Return a product whose factors are multiplied into a sum in which they cancel, or None: f·(a/f + b) = a + f·b."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e != 1 or not is_term(base) or base.op not in SUMS or len(view.factors) < 2:
            continue
        sum_view = sum_of(base)
        readings = [_reading(part) for part in sum_view.terms]
        moved = {
            b: amount
            for b, k in view.factors.items()
            if b is not base
            and not is_moderate(b)
            and (amount := _meeting(b, k, readings, _adds_up(sum_view)))
        }
        if not moved:
            continue
        outside = multiplied((view, 1), (ProductView(1, {base: 1}), -1), (ProductView(1, moved), -1))
        inside = _times(sum_view, ProductView(1, moved), dtype_of(t))
        new = multiplied((outside, 1), (ProductView(1, {build_sum(inside, dtype_of(t)): 1}), 1))
        return fit(build_product(new, dtype_of(t)), t)
    return None


def _adds_up(view: SumView) -> bool:
    """Whether a sum has a constant and nothing in it cancels: all summands are known to have one sign."""
    signs = [k > 0 for k in (view.constant, *view.terms.values()) if k]
    return bool(view.constant) and len(set(signs)) == 1 and all(range_of(t).nonnegative for t in view.terms)


def _meeting(base: Any, k: Number, readings: list[dict[Any, Number]], whole_too: bool = True) -> Number:
    """Return how much of base^k meets its inverse in one of the summands.

    Whole summands count where nothing cancels: (eˣ + 1)/eˣ is 1 + e⁻ˣ, but (x - y)/y stays, since x/y - 1 would round
    the quotient before it cancels, where the difference may be exact.
    """
    if not k:
        return 0
    met: Number = max(
        (
            abs(Fraction(e))
            for reading in readings
            if (e := reading.get(base, 0)) * k < 0 and (k > 0 or whole_too or len(reading) > 1)
        ),
        default=0,
    )
    return whole(min(abs(Fraction(k)), met) * (1 if k > 0 else -1))


def _times(view: SumView, factor: ProductView, dtype: Any) -> SumView:
    parts = [
        (summand(multiplied((product_of(part), 1), (factor, 1)), None, dtype), k)
        for part, k in view.terms.items()
    ]
    if view.constant:
        parts.append((summand(factor, None, dtype), view.constant))
    return added(*parts)


def scattered_product(t: Term) -> Any:
    """Return a product whose factors are drawn into a scatter in which they cancel, or None.

    put(a/b[i], i)·b = put(a, i): elsewhere both sides are zero, where the left one computes 0·b.
    """
    view = product_of(t)
    for base, e in view.factors.items():
        if e != 1 or not is_term(base) or type(base.op) is not Scatter:
            continue
        for whole_, (selection, k) in _selections(base).items():
            amount = _meeting(whole_, view.factors.get(whole_, 0), [{whole_: k}])
            if not amount:
                continue
            values = multiplied((product_of(base.rands[0]), 1), (ProductView(1, {selection: amount}), 1))
            inner = fit(build_product(values, dtype_of(t)), base.rands[0])
            new = base.op.make_node(inner, *base.rands[1:])
            left = multiplied(
                (view, 1), (ProductView(1, {base: 1}), -1), (ProductView(1, {whole_: amount}), -1)
            )
            return fit(build_product(multiplied((left, 1), (product_of(new), 1)), dtype_of(t)), t)
    return None


def _selections(scatter: Term) -> dict[Any, tuple[Any, Number]]:
    """Return what the scattered values have as factors, of which they take the entries that are scattered to."""
    found: dict[Any, tuple[Any, Number]] = {}
    for factor, k in product_of(scatter.rands[0]).factors.items():
        if is_term(factor) and type(factor.op) is Index and factor.op.pattern == scatter.op.pattern:
            arrays = factor.rands[1:]
            if arrays == scatter.rands[1 : 1 + len(arrays)]:
                found[factor.rands[0]] = factor, k
    return found


def _reading(part: Any) -> dict[Any, Number]:
    """Return a summand's factors, those included that stand inside a scatter."""
    factors = dict(product_of(part).factors)
    for base in list(factors):
        if is_term(base) and type(base.op) is Scatter:
            factors.update(
                {inside: k for inside, (_, k) in _selections(base).items() if inside not in factors}
            )
    return factors


def undone(t: Term) -> Term | None:
    """Return x where a term is g(f(x)) for the inverse g of a function f that is defined there; or None.

    arctanh(tanh(x)) → x, exp(log(1 + y²)) → 1 + y²
    """
    if len(t.rands) != 1 or not t.op.elementwise or not is_term(f := t.rands[0]):
        return None
    if len(f.rands) != 1 or not f.op.elementwise or f.op.laws.inverse != t.op.name:
        return None
    (x,) = f.rands
    outside = f.op.outside(Tracer(x)) if x.type == t.type else True
    return x if outside is None or (outside is not True and _never(as_term(outside))) else None


def _never(test: Term) -> bool:
    """Whether the range of an operand says that a test of it is false everywhere: y² + 1 < 0."""
    if test.op is logical_or:
        return all(map(_never, test.rands))
    if test.op not in (less, greater) or number_of(test.rands[1]) is None:
        return False
    known, limit = range_of(test.rands[0]), float(test.rands[1].op.value)
    return known.low >= limit if test.op is less else known.high <= limit
