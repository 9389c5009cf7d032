"""Simplifications that the theories themselves license: cancelling, and moving factors to where they cancel.

x/(x + z) − 1   −z/(x + z)          a·b/a   b
(x − c)²…       a square less a number, two products of data, the log of a mean of exponentials
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.bounds import is_moderate, possible, range_of
from relgrad.logic.build import build_product, build_sum, fit, fit_to, fitted, number_term
from relgrad.logic.conditions import is_additive
from relgrad.logic.group import (
    Number,
    ProductView,
    SumView,
    added,
    aligned,
    are_opposite,
    float_root,
    key_of,
    multiplied,
    number_of,
    quotient,
    whole,
)
from relgrad.logic.parts import dtype_of, minus, rebuilt
from relgrad.logic.rewrite import scopes
from relgrad.logic.space import product
from relgrad.logic.view import LIMIT, SHARED, product_of, splits, sum_of, summand_key, times
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import absolute, divide, power, reciprocal, sqrt
from relgrad.ops.averages import LogMeanExp
from relgrad.ops.differences import power_difference, product_difference
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.softmax import LogSumExp
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


def root_of_square(t: Term) -> Any:
    """√(x²·y²) → |x·y|, (x⁴)^¼ → |x|, √x → None: a root of even powers, read as a size."""
    view = product_of(t)
    if not view.factors or not all(
        is_term(b) and b.op is absolute and e == 1 for b, e in view.factors.items()
    ):
        return None
    new = fit(build_product(view, dtype_of(t)), t)
    return None if new is t else new


def _opposed(t: Term) -> ProductView | None:
    """eˣ·e⁻ʸ → that as it is written;    e^(−x²)·e^(−y²) → None:
    a product if one exponential may be large and one small.

    What stands under an exponential is not divided, nor is an exponential taken out of a sum: exp(x − max x) is at
    most one, where exp(x) and exp(−max x) may both be out of range.
    """
    view = _written(t)
    exponents = [(range_of(b.rands[0]), e) for b, e in view.factors.items() if is_term(b) and b.op is exp]
    ranges = [r if e > 0 else -r for r, e in exponents]
    return view if any(r.high > 0 for r in ranges) and any(r.low < 0 for r in ranges) else None


def scaled_product(t: Term) -> Any:
    """Return a product in which functions that grow as exponentials do are scaled by their own, or None.

    I₁(x)/I₀(x) = ive₁(x)/ive₀(x), and e⁻ˣ·I₀(x) = ive₀(x)·e^(|x| − x), where `Op.in_log_domain` says f = w·e^x.
    """
    for scope in scopes(product_of(t)):
        found = _scaled_alike(scope.available)
        if found is None:
            continue
        rest, weights, exponent = found
        if not scope.is_met(rest):
            continue
        own, inherited = scope.split(rest)
        dtype = dtype_of(t)
        parts = [(own, 1), *weights]
        if exponent.terms or exponent.constant:
            parts.append((product_of(exp.make_node(build_sum(exponent, dtype))), 1))
        view = scope.rebuild(multiplied(*parts), inherited)
        return None if view is None else fitted(build_product(view, dtype), t)
    return None


def _scaled_alike(
    view: ProductView,
) -> tuple[ProductView, list[tuple[ProductView, Number]], SumView] | None:
    """y·f(x)·eᶻ, f(x) = w·eˣ → y, [(w, 1)], x + z: a product without what grows, its weights, and the exponents' sum;
    or None.
    """
    grown = {b: found for b, e in view.factors.items() if e.denominator == 1 and (found := _scaled(b))}
    if not grown:
        return None
    exponentials = {b: (None, b.rands[0]) for b in view.factors if is_term(b) and b.op is exp}
    if not exponentials and len({view.factors[b] > 0 for b in grown}) < 2:
        return None
    rest, weights, exponent = view, list[tuple[ProductView, Number]](), SumView(0, {})
    for base, (weight, x) in (grown | exponentials).items():
        e = view.factors[base]
        rest = multiplied((rest, 1), (ProductView(1, {base: 1}), -e))
        weights += [] if weight is None else [(product_of(weight), e)]
        exponent = added((exponent, 1), (sum_of(x), e))
    return rest, weights, exponent


def _scaled(base: Any) -> tuple[Term, Term] | None:
    """f(x) = w·eˣ → w, x: the weight and the exponent of a function of single entries that says so in the log
    domain.
    """
    if not is_term(base) or not base.ground or not base.op.elementwise:
        return None
    found = base.op.in_log_domain(base)
    return None if found is None or found[0] is None else found


def _written(t: Term) -> ProductView:
    """a·exp(b − c)/d → {a: 1, exp(b − c): 1, d: −1}: the factors that a product is written with, not looked into."""
    parts: list[tuple[ProductView, Number]] = []
    stack: list[tuple[Any, Number]] = [(t, 1)]
    while stack:
        node, e = stack.pop()
        value = number_of(node)
        if value:
            parts.append((ProductView(value, {}), e))
        elif (
            is_term(node)
            and node.op.as_product is not None
            and node.op is not sqrt
            and len(stack) + len(parts) < LIMIT
        ):
            sign, exponents = node.op.as_product
            parts.append((ProductView(sign, {}), e))
            stack += [(rand, e * k) for rand, k in zip(node.rands, exponents, strict=True)][::-1]
        else:
            parts.append((ProductView(1, {node: 1}), e))
    return multiplied(*parts)


def _is_single(view: ProductView, t: Term) -> bool:
    """1/(2/a), 2·(a/2), −(a − b)·c → True; 1/a, 2·a → False: whether what is written as a product is one factor.

    −A·B⁻¹(a − b) is none: the same with b − a would be computed beside that with a − b, which others may have.
    """
    if len(view.factors) != 1 or not (t.op.as_product is not None or t.op is power):
        return False
    ((base, e),) = view.factors.items()
    inverted = t.op in (reciprocal, power) or (t.op is divide and number_of(t.rands[0]) is not None)
    single = e == 1 and base is not t and is_term(base) and (abs(view.coefficient) == 1 or inverted)
    return single and _is_near(base, t)


def _is_near(u: Term, t: Term) -> bool:
    """(b − a, −(a − b)) → True: whether a term, or all of its operands, stand within three levels of another."""
    level, near = [t], {t}
    for _ in range(3):
        level = [x for y in level for x in y.rands]
        near.update(level)
    return u in near or all(x in near or is_constant(x) for x in u.rands)


def _is_distributed(view: ProductView, total: SumView) -> bool:
    """Whether what is written as a multiple of a sum is a sum without multiples: 2·(a/2 - b/2)."""
    return len(view.factors) == 1 and len(total.terms) > 1 and all(abs(k) == 1 for k in total.terms.values())


def joined_reductions(t: Term) -> Iterator[tuple[Term, Term]]:
    """Yield what stands under two sums over the same axes as one sum, with t in which they are one.

    u·Σa + v·Σb = Σ(u·a + v·b): what flows back to a parameter along several paths is summed on each, before it cancels.
    """
    view = sum_of(t)
    found: dict[Any, list[tuple[Any, SumView]]] = {}
    for part, k in view.terms.items():
        product = product_of(part)
        sums = [b for b, e in product.factors.items() if e == 1 and is_term(b) and type(b.op) is Sum]
        for base in sums if len(sums) == 1 else ():
            if base.type == part.type:
                inside = base.rands[0]
                outside = multiplied((product, 1), (ProductView(1, {base: 1}), -1))
                own = added((times(sum_of(inside), outside, inside.type.dtype), k))
                found.setdefault((base.op, inside.type), []).append((part, own))
    for (op, kind), parts in found.items():
        for (p, x), (q, y) in islice(combinations(parts, 2), SHARED):
            inside: Any = fit_to(build_sum(added((x, 1), (y, 1)), kind.dtype), kind)
            left = added((view, 1), (SumView(0, {p: view.terms[p], q: view.terms[q]}), -1))
            new = added((left, 1), (SumView(0, {op.make_node(inside): 1}), 1))
            yield inside, fit(build_sum(new, dtype_of(t)), t)


def divided_sum(t: Term, most: int = SHARED) -> Any:
    """Return a sum with two summands over the divisor that one of them has more, where a part of that goes, or None.

    x/(x + z) - 1 = -z/(x + z), 1/expm1(x) + 1 = exp(x)/expm1(x), y·eˣ/(z + y·expm1(x)) - 1 = (y - z)/(z + y·expm1(x)),
    1/y - x/y² = (y - x)/y² with y = x + z, 1/h - x²/h³ = y²/h³ with h = hypot(x, y), eˣ - σ(x) = eˣ·σ(x), and of two
    that hold a constant (1 - x)/(1 - x·y) - 1 = x·(y - 1)/(1 - x·y);
    of a sum in which a factor stands x + y - (x + y)²/(x + y + z) = (x + y)·z/(x + y + z);
    and with a square above 1 - 2·x·y/(x² + y²) = (x - y)²/(x² + y²).
    """
    view = sum_of(t)
    wide = _width(view) > most
    if _width(view) < 2 or (wide and most < SHARED):
        return None
    dtype = dtype_of(t)
    one = constant(1.0, dtype)
    parts = [*view.terms.items(), *([(one, view.constant)] if view.constant else [])]
    for p, k in parts:
        factors = product_of(p).factors
        for b, d, unit in _divisors(factors):
            divisors: dict[Number, tuple[SumView, SumView, ProductView]] = {}
            for q, c in [
                *parts[: 0 if wide else None],
                *held_in(view, product_of(p), -k * product_of(p).coefficient),
            ]:
                others = product_of(q)
                times_b = factors[b] - others.factors.get(b, 0)
                power = -times_b if factors[b] < 0 else times_b
                if q is p or not others.coefficient or power < 1:
                    continue
                if power not in divisors:
                    whole = _power_as_sum(d, power)
                    divisors[power] = whole, by_meaning(whole), multiplied((unit, power))
                whole, meant, cleared = divisors[power]
                above = multiplied((product_of(p), 1), (cleared, 1), (others, -1))
                if factors[b] > 0 and not above.factors:
                    continue  # 1 − σ(x) = σ(−x) is what a share leaves
                key = summand_key(above)
                read = key not in (None, *map(key_of, whole.terms)) and not _holds_number(above)
                alone = read and _sum_meant(above) is None and key not in map(key_of, meant.terms)
                part, square = sum_of(build_product(above, dtype)), None
                if alone and q is one and any(2 in product_of(w).factors.values() for w in whole.terms):
                    square = perfect_square(build_sum(added((part, k), (whole, c)), dtype))
                if alone and square is None and (len(above.factors) > 1 or _width(part) < 2):
                    continue  # it meets nothing, and is one summand
                if read:
                    part, whole = by_meaning(part), meant
                left = added((part, k), (whole, c)) if square is None else sum_of(square)
                meet = not read or {*map(key_of, part.terms)} & {*map(key_of, whole.terms)}
                widest = max(_width(part), _width(whole))
                narrows = square is not None or (_width(left) < widest and meet)
                if narrows or (_width(left) == widest and _is_from_one(left, dtype)):
                    ratio = multiplied((product_of(build_sum(left, dtype)), 1), (others, 1), (cleared, -1))
                    own, over = SumView(0, {p: 1}), SumView(0, {build_product(ratio, dtype): 1})
                    new = added((view, 1), (own, -k), (sum_of(q), -c), (over, 1))
                    return fit(build_sum(new, dtype), t)
    return None


def held_in(view: SumView, product: ProductView, k: Number) -> Iterator[tuple[Term, Number]]:
    """2·x + 3·y + z, w·(x + y), 2 → (x + y, 2): the factors that stand so many times in a sum, and how many times."""
    for b, e in product.factors.items():
        if e > 0 and is_term(b) and b.op.as_sum and minus(view, added((sum_of(b), k))) is not None:
            yield b, k


def _divisors(factors: dict[Any, Number]) -> Iterator[tuple[Term, Term, ProductView]]:
    """x/(y·exprel(z))·σ(w) → (y, y), (exprel(z), eᶻ − 1), (σ(w), 1 + e⁻ʷ): the divisors of a product, each after the
    factor in which it stands, and as what that makes of it: y, z·exprel(z), 1/σ(w).
    """
    for b, e in factors.items():
        if not is_term(b) or not b.ground:
            continue
        if e < 0:
            yield b, b, ProductView(1, {b: 1})
        meaning = _meaning(b)
        view = product_of(b if meaning.op.as_sum or len(b.rands) != 1 else meaning)
        for d, n in view.factors.items() if view.coefficient == 1 else ():
            if d is not b and n * e < 0 and abs(n) == 1 and is_term(d):
                yield b, d, multiplied((ProductView(1, {b: 1}), n), (view, -n), (ProductView(1, {d: 1}), 1))


def _is_from_one(view: SumView, dtype: Any) -> bool:
    """e·x − e → True, from e·(x − 1): whether a sum without a constant is a product with one that has a constant."""
    factors = product_of(build_sum(view, dtype)).factors
    return not view.constant and any(is_term(b) and b.op.as_sum and sum_of(b).constant for b in factors)


def _width(view: SumView) -> int:
    """Return how many summands a sum has."""
    return len(view.terms) + bool(view.constant)


def _power_as_sum(base: Term, power: Number) -> SumView:
    """hypot(x, y)² → x² + y², hypot(x, y) → hypot(x, y): a power as the sum that it means, or as a single summand."""
    meaning = _meaning(base)
    if power == 1 and meaning.op.as_sum:
        return sum_of(meaning)
    view = product_of(meaning)
    ((root, e),) = view.factors.items() if len(view.factors) == 1 else ((base, 0),)
    if view.coefficient == 1 and e * power == 1 and is_term(root):
        return sum_of(root)
    return SumView(0, {build_product(ProductView(1, {base: power}), base.type.dtype): 1})


def by_meaning(view: SumView) -> SumView:
    """Return a sum in which summands with a factor that is a sum by definition are read so: y·expm1(x) as y·eˣ − y."""
    return added((SumView(view.constant, {}), 1), *[(_meant(b), k) for b, k in view.terms.items()])


def _meant(summand: Any) -> SumView:
    """y·expm1(x) → y·eˣ − y: a summand with a factor that is a sum by definition as the sum that it is."""
    view = product_of(summand)
    base = _sum_meant(view)
    if base is None:
        return SumView(0, {summand: 1})
    outside = multiplied((view, 1), (ProductView(1, {base: 1}), -1))
    return times(sum_of(_meaning(base)), outside, base.type.dtype)


def _sum_meant(view: ProductView) -> Any:
    """y·expm1(x) → expm1(x): the first factor that is a sum by definition, or None."""
    meanings = ((base, _meaning(base)) for base, e in view.factors.items() if e == 1)
    return next((base for base, meaning in meanings if meaning is not base and meaning.op.as_sum), None)


def meant_sum(t: Term) -> Any:
    """Return a sum with a summand as the sum that it means, of which a part meets another summand, or None.

    Δf(x, y) + f(y) = f(x), 1 − m⁻¹ − 1 = −m⁻¹, erfc(x) − 1 = −erf(x)
    """
    view = sum_of(t)
    for part, k in view.terms.items() if 1 < _width(view) <= SHARED else ():
        left = added((view, 1), (SumView(0, {part: 1}), -k), (_meant(part), k))
        if _width(left) < _width(view):
            return fit(rebuilt(left, t), t)
    return None


def _holds_number(view: ProductView) -> bool:
    """Whether the exponential of a number is a factor, which may be written in several ways: e⁻¹⁶ = 1/e¹⁶."""
    return any(is_term(b) and b.op is exp and is_constant(b.rands[0]) for b in view.factors)


def _meaning(t: Any) -> Any:
    """expm1(x) → eˣ − 1, sin(x) → sin(x): a function as what it means, if it is defined by others; kept on the term."""
    if not is_term(t) or t.op.as_sum:
        return t
    if "meaning" not in t.cache:
        meaning = t.op.definition(*map(Tracer, t.rands))
        t.cache["meaning"] = None if meaning is None else as_term(meaning)
    return t if t.cache["meaning"] is None else t.cache["meaning"]


def factored_sum(t: Term) -> Any:
    """Return a sum without two summands that meet where one is multiplied out, or None: a·(x + y) - a·x = a·y."""
    view = sum_of(t)
    if not 1 < _width(view) <= SHARED:
        return None
    known = {key_of(part) for part in view.terms}
    for part, k in view.terms.items():
        product = product_of(part)
        for base, e in product.factors.items():
            if e != 1 or not is_term(base) or not base.op.as_sum or len(product.factors) < 2:
                continue
            outside = multiplied((product, 1), (ProductView(1, {base: 1}), -1))
            inner = sum_of(base)
            for u in [SumView(0, {u: c}) for u, c in inner.terms.items()] + [SumView(inner.constant, {})]:
                alone = multiplied(*[(product_of(x), 1) for x in u.terms], (outside, 1))
                key = summand_key(alone)
                if key is not None and key not in known:
                    continue  # it meets nothing
                left = added((view, 1), (times(u, outside, dtype_of(t)), k))
                if len(left.terms) < len(view.terms) or (view.constant and not left.constant):
                    rest = times(added((inner, 1), (u, -1)), outside, dtype_of(t))
                    new = added((left, 1), (SumView(0, {part: 1}), -k), (rest, k))
                    return fit(rebuilt(new, t), t)
    return None


def cancelled_sum(t: Term) -> Any:
    """Return a sum with what cancels cancelled, or None where nothing does: a + b - a = b."""
    view = sum_of(t)
    if not view.cancelled:
        view = _turned(view, dtype_of(t))
    if view is None:
        return _cancelled_inside(t)
    new = fit(rebuilt(view, t), t)
    return None if new is t else new


def _turned(view: SumView, dtype: Any) -> SumView | None:
    """Return a sum in which summands cancel that have the negatives of each other's factors, or None.

    a/(x − y)² − a/(y − x)² ⟶ 0
    """
    views = {part: product_of(part) for part in view.terms if is_term(part)}
    if not are_opposite((v, 1) for v in views.values()):
        return None
    seen: dict[Any, Any] = {}
    parts: list[tuple[SumView, Number]] = [(SumView(view.constant, {}), 1)]
    for part, k in view.terms.items():
        factors, sign = aligned(views[part].factors, 1, seen) if part in views else ({}, 1)
        same = part not in views or factors.keys() == views[part].factors.keys()
        new = part if same else build_product(views[part]._replace(factors=factors), dtype)
        parts.append((SumView(0, {new: 1}), sign * k))
    found = added(*parts)
    return found if len(found.terms) < len(view.terms) else None


def _cancelled_inside(t: Term) -> Any:
    """Return a sum in which what stands beside a common factor cancels: g·(x + y) + g·(x - y) = g·(2·x)."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e == 1 and base is not t and is_term(base) and base.op.as_sum and sum_of(base).cancelled:
            inside = product_of(build_sum(sum_of(base), dtype_of(t)))
            new = multiplied((view, 1), (ProductView(1, {base: 1}), -1), (inside, 1))
            return fit(build_product(new, dtype_of(t)), t)
    return None


def distributed_product(t: Term) -> Any:
    """Return a product whose factors are multiplied into a sum in which they cancel, or None: f·(a/f + b) = a + f·b."""
    view = product_of(t)
    for base, e in view.factors.items():
        if e != 1 or not is_term(base) or not base.op.as_sum or len(view.factors) < 2:
            continue
        sum_view = sum_of(base)
        readings = [product_of(part).factors for part in sum_view.terms]
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
        inside = times(sum_view, ProductView(1, moved), dtype_of(t))
        new = multiplied((outside, 1), (ProductView(1, {build_sum(inside, dtype_of(t)): 1}), 1))
        return fit(build_product(new, dtype_of(t)), t)
    return None


def _adds_up(view: SumView) -> bool:
    """Whether a sum has a constant and nothing in it cancels: all summands are known to have one sign."""
    signs = [k > 0 for k in (view.constant, *view.terms.values()) if k]
    return bool(view.constant) and len(set(signs)) == 1 and all(range_of(t).nonnegative for t in view.terms)


def _meeting(base: Any, k: Number, readings: list[dict[Any, Number]], whole_too: bool = True) -> Number:
    """(x, −1), {x: 1}, {y: 1} → −1, 0 if not whole_too: how much of base^k meets its inverse in one of the summands.

    Whole summands count where nothing cancels: (eˣ + 1)/eˣ is 1 + e⁻ˣ, but (x − y)/y stays, since x/y − 1 would round
    the quotient before it cancels, where the difference may be exact.
    """
    if not k:
        return 0
    meets = [reading for reading in readings if reading.get(base, 0) * k < 0]
    if k < 0 and not whole_too and len(meets) < len(readings):
        return 0
    met: Number = max((abs(Fraction(reading[base])) for reading in meets), default=0)
    met = met if splits(base, k) else math.ceil(met)
    return whole(min(abs(Fraction(k)), met) * (1 if k > 0 else -1))


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
    return x if outside is None or (outside is not True and possible(as_term(outside)) is None) else None


def factored_square(t: Term) -> Any:
    """x² − 9 = (x − 3)·(x + 3): as `power_difference`, from x, 3 and their distance; of x²/9 − 1, from x/3 and 1;
    or None.
    """
    constant, terms = sum_of(t)[:2]
    if not constant or len(terms) != 1:
        return None
    ((part, k),) = terms.items()
    view = product_of(part)
    k = Fraction(view.coefficient) * k
    square = -Fraction(constant) / k
    root = float_root(square) if square > 0 and square != 1 else None
    if root is None or not view.factors or any(e % 2 for e in view.factors.values()):
        return None
    dtype, halves = dtype_of(t), {b: quotient(e, 2) for b, e in view.factors.items()}
    if abs(constant) == 1:  # beside one, what is squared is divided first
        k, scale, end = -Fraction(constant), Fraction(root), Fraction(1)
    else:
        scale, end = Fraction(1), Fraction(root)
    base = build_product(ProductView(whole(1 / scale), halves), dtype)
    distance = added((sum_of(build_product(ProductView(1, halves), dtype)), 1), (SumView(root, {}), -1))
    gap = build_product(
        multiplied((product_of(build_sum(distance, dtype)), 1), (ProductView(scale, {}), -1)), dtype
    )
    numbers = [number_term(whole(n), dtype) for n in (end, Fraction(2))]
    new = power_difference(base, *numbers, gap)
    return fit(build_product(multiplied((product_of(new), 1), (ProductView(whole(k), {}), 1)), dtype), t)


def perfect_square(t: Term) -> Any:
    """Return a quadratic form as squares of differences, or None: x² − 2xy + y² = (x − y)²,

        (x + y)² − 4xy = (x − y)²,    (x² + y²)/2 − ((x + y)/2)² = (x − y)²/4,    x² − 6x + 13 = (x − 3)² + 4

    Σ mᵢⱼ·xᵢ·xⱼ = Σ (mᵢᵢ − Σ |mᵢⱼ|)·xᵢ² + Σ |mᵢⱼ|·(xᵢ ± xⱼ)² over pairs, where no coefficient is negative; so are
    the forms as they are, or each xᵢ·√mᵢᵢ is taken for xᵢ. Products of other things stay beside it.
    """
    view, dtype = sum_of(t), dtype_of(t)
    if (
        dtype is None
        or np.dtype(dtype).kind != "f"
        or not 2 <= len(view.terms) + bool(view.constant) <= LIMIT
    ):
        return None
    readings = _parts(view)
    opened = [_opened(reading) for reading in readings]
    if sum(map(len, opened)) > _MONOMIALS:
        return None
    total: dict[Any, Fraction] = {}
    for monomial in chain(*opened):
        key = frozenset(monomial.factors.items())
        total[key] = total.get(key, Fraction(0)) + Fraction(monomial.coefficient)
    # What is only opened to be put together again is left as it is.
    crossing = {frozenset(r.factors.items()) for r, o in zip(readings, opened, strict=True) if len(o) == 1}
    for sign in (1, -1):
        lost = any(len(o) > 1 and r.coefficient * sign < 0 for r, o in zip(readings, opened, strict=True))
        if (found := _as_squares({key: k * sign for key, k in total.items()}, crossing, lost)) is not None:
            new = fit(_summed(*found, sign, dtype), t)
            return None if new is t else new
    return None


def _summed(
    squares: list[tuple[list[ProductView], Fraction]], rest: list[ProductView], sign: int, dtype: Any
) -> Any:
    """[([x, −y], 2)], [z], −1 → −2·(x − y)² − z"""
    parts = [(sum_of(build_product(view, dtype)), sign) for view in rest]
    for pair, k in reversed(squares):
        base = build_sum(added(*[(sum_of(build_product(view, dtype)), 1) for view in pair]), dtype)
        parts.insert(0, (sum_of(build_product(ProductView(1, {base: 2}), dtype)), whole(k * sign)))
    return build_sum(added(*parts), dtype)


def _parts(view: SumView) -> list[ProductView]:
    """x − 2·y + 3 → x, −2·y, 3: the summands of a sum as products, a number among them."""
    return _summands(view.terms) + ([ProductView(view.constant, {})] if view.constant else [])


_MONOMIALS = 72
"""Quadratic forms of more monomials are left as they are."""
_ONE = Fraction(1)


def _opened(view: ProductView) -> list[ProductView]:
    """k·(x + y)² → k·x², 2·k·x·y, k·y²: the monomials of a square of a sum, k·(x·y − u·v) → k·x·y, −k·u·v; others as
    they are.
    """
    base: Any = next(iter(view.factors), None)
    if len(view.factors) == 1 and is_term(base) and base.op is product_difference:
        x, y, u, v = map(product_of, base.rands)
        scales = [(ProductView(k * view.coefficient, {}), 1) for k in (1, -1)]
        pairs = zip(((x, y), (u, v)), scales, strict=True)
        return [multiplied((a, 1), (b, 1), k) for (a, b), k in pairs] if view.factors[base] == 1 else [view]
    if len(view.factors) == 1 and next(iter(view.factors.values())) == 2:
        (base,) = view.factors
        forms = _parts(sum_of(base))
        if 1 < len(forms) <= SHARED:
            scale = (ProductView(view.coefficient, {}), 1)
            squares = [multiplied((x, 2), scale) for x in forms]
            return squares + [
                multiplied((x, 1), (y, 1), (ProductView(2, {}), 1), scale) for x, y in combinations(forms, 2)
            ]
    return [view]


def _as_squares(
    total: dict[Any, Fraction], crossing: set[Any], lost: bool
) -> tuple[list[tuple[list[ProductView], Fraction]], list[ProductView]] | None:
    """{x²: 1, x·y: −2, y²: 1} → [([x, −y], 1)], []: squares of sums with their amounts, and what is left; or None.

    Some amount must come of one that cancels: of a square that is taken off, or of a product by itself.
    """
    diagonal = {root: k for key, k in total.items() if k > 0 and (root := _halved(key)) is not None}
    if len(diagonal) < 2:
        return None
    squares = set(map(_doubled, diagonal))
    pairs = {  # of pairs that have one product, as x·(x·y) and x²·y, the last has it
        frozenset(multiplied((_of(x), 1), (_of(y), 1)).factors.items()): (x, y)
        for x, y in combinations(diagonal, 2)
    }
    names = {pair: name for name, pair in pairs.items() if total.get(name) and name not in squares}
    crosses = {pair: total[name] / 2 for pair, name in names.items()}
    roots = {x: float_root(whole(k)) for x, k in diagonal.items()}
    scales = [dict.fromkeys(diagonal, _ONE)]
    if all(roots.values()):
        scales.append({x: Fraction(root) for x, root in roots.items() if root})
    for scale in scales:
        for only in (crosses, {pair: k for pair, k in crosses.items() if k < 0}):
            left = {x: k / scale[x] ** 2 for x, k in diagonal.items()}
            amounts = {(x, y): k / (scale[x] * scale[y]) for (x, y), k in only.items()}
            for (x, y), k in amounts.items():
                left[x] -= abs(k)
                left[y] -= abs(k)
            if not amounts or any(k < 0 for k in left.values()) or all(left.values()):
                continue
            if not lost and not any(names[pair] in crossing for pair in amounts):
                continue
            found = [([_of(x, scale[x])], k) for x, k in left.items() if k]
            found += [
                ([_of(x, scale[x]), _of(y, scale[y] if k > 0 else -scale[y])], abs(k))
                for (x, y), k in amounts.items()
            ]
            gone = {names[pair] for pair in amounts} | squares
            return found, [_of(key, k) for key, k in total.items() if k and key not in gone]
    return None


def _of(factors: Any, k: Fraction = _ONE) -> ProductView:
    """{(x, 1), (y, 2)}, 3 → 3·x·y²: a monomial, with an amount, as a product."""
    return ProductView(whole(k), dict(factors))


def _halved(factors: Any) -> Any:
    """{x: 2} → {x: 1}, {x: 3} → None: the root of a monomial that is a square."""
    if any(e % 2 for _, e in factors):
        return None
    return frozenset((b, quotient(e, 2)) for b, e in factors)


def _doubled(factors: Any) -> Any:
    """{(x, 1), (y, 2)} → {(x, 2), (y, 4)}: the square of a monomial."""
    return frozenset((b, 2 * e) for b, e in factors)


def _summands(terms: dict[Any, Number]) -> list[ProductView]:
    """Return the summands of a sum as products, with their coefficients."""
    return [multiplied((product_of(part), 1), (ProductView(k, {}), 1)) for part, k in terms.items()]


def crossed_sum(t: Term) -> Any:
    """x·y − u·v → product_difference(x, y, u, v), x/y − u/v = (x·v − u·y)/(y·v): with exact products, of data; or None.

    The one is the determinant of two rows, or an area.
    """
    constant, terms = sum_of(t)[:2]
    if constant or len(terms) != 2:
        return None
    views = _summands(terms)
    if not views[0].coefficient:
        return None
    ratio = -Fraction(views[1].coefficient) / Fraction(views[0].coefficient)
    exponents = [sorted(view.factors.values()) for view in views]
    if ratio <= 0 or any(n & (n - 1) for n in (ratio.numerator, ratio.denominator)):
        return None  # a multiple that is no power of two would round
    if views[0].factors.keys() & views[1].factors.keys() or not all(
        is_additive(b) for view in views for b in view.factors
    ):
        return None
    dtype = dtype_of(t)
    above = [[b for b, e in view.factors.items() if e == 1] for view in views]
    below = [[b for b, e in view.factors.items() if e == -1] for view in views]
    if exponents == [[1, 1], [1, 1]]:
        (x, y), (u, v) = above
    elif all(e in ([-1], [-1, 1]) for e in exponents):
        (y,), (v,) = below[::-1]
        x, u = [found[0] if found else number_term(1, dtype) for found in above]
    else:
        return None
    u = build_product(multiplied((product_of(u), 1), (ProductView(whole(ratio), {}), 1)), dtype)
    new = product_difference(x, y, u, v)
    divisor = ProductView(1, {b: -1 for found in below for b in found})
    first = ProductView(views[0].coefficient, {})
    return fit(build_product(multiplied((product_of(new), 1), (divisor, 1), (first, 1)), dtype), t)


def averaged_sum(t: Term) -> Any:
    """logsumexp(x) − log n = log(mean(eˣ)), where x has n entries: the log of the exponentials' mean; or None."""
    view = sum_of(t)
    for part, k in view.terms.items() if view.constant else ():
        if is_term(part) and type(part.op) is LogSumExp and len(part.rands) == 1:
            count = product(part.rands[0].type.extent(a) for a in part.op.axes)
            offset = -float(view.constant) / float(k)
            if count and abs(offset - math.log(count)) <= 4 * math.ulp(offset):
                rest = SumView(0, {b: c for b, c in view.terms.items() if b is not part})
                mean = SumView(0, {LogMeanExp(part.op.axes).make_node(part.rands[0]): k})
                return fit(rebuilt(added((rest, 1), (mean, 1)), t), t)
    return None
