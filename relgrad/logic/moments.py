"""Polynomials of sums of powers that a shift of the data does not change, of data about their means.

Σx² − (Σx)²/n                                   Σ (x − m)²
Σx⁴ − 4·Σx·Σx³/n + 6·(Σx)²·Σx²/n² − 3·(Σx)⁴/n³   Σ (x − m)⁴

Where x is moved by c, Sₖ = Σ xᵏ becomes Σ (x + c)ᵏ, and dSₖ/dc = k·Sₖ₋₁ with S₀ = n. A polynomial whose derivative
by c is zero for all S is the same at x − m, where S₁ = 0.

Σx²·Σy² − (Σx·y)²     Σx² · Σ (y − x·Σx·y/Σx²)²           1 − (Σx)²/(n·Σx²)     Σ (x − m)²/Σx²

What Cauchy and Schwarz leave is what a vector has beside its projection on another. The error of the projection's
length counts squared, since the rest is orthogonal to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, fitted
from relgrad.logic.group import ProductView, SumView, added, is_rounded, multiplied
from relgrad.logic.parts import dtype_of, rebuilt
from relgrad.logic.theory import inner_product
from relgrad.logic.view import SHARED, product_of, sum_of, summand
from relgrad.op import as_term, holds_nan
from relgrad.ops.arithmetic import divide, negative
from relgrad.ops.deviation import deviation
from relgrad.ops.moments import centred
from relgrad.ops.reduction import Sum
from relgrad.term import Term, is_term
from relgrad.trace.tracer import Tracer

HIGHEST = 8
"""Powers of data up to this are looked at."""
Moment = tuple[int, ...]
"""(2, 1) of Σ x²·y: the powers of the data in a sum."""
Monomial = tuple[tuple[Moment, int], ...]
"""(((1, 0), 2), ((0, 2), 1)) of (Σ x)²·Σ y²: moments with their exponents, in order."""


class Sums(NamedTuple):
    """What sums of powers run over: their op, with its axes, the data, what stands beside their products, and the
    degrees of these in the data: a derivative takes each to another.
    """

    op: Sum
    data: tuple[Term, ...]
    beside: frozenset[Any]
    degrees: tuple[int, ...]


def about_means(t: Term) -> Term | None:
    """Σ x² − (Σ x)²/n → Σ (x − m)²: a polynomial of sums that a shift of the data does not change, about their means;
    or None.
    """
    view = sum_of(t)
    if not 1 < len(view.terms) <= SHARED or not all(map(_holds_sums, view.terms)):
        return None
    for sums, found in _polynomials(view):
        polynomial = {monomial: k for monomial, (k, _) in found.items()}
        count = _count(sums)
        if (
            len(found) < 2
            or count is None
            or any(_slope(polynomial, i, count) for i in range(len(sums.data)))
        ):
            continue
        taken = SumView(0, {part: view.terms[part] for _, part in found.values()})
        moved = [as_term(centred(Tracer(x), axis=sums.op.axes)) for x in sums.data]
        beside, new = ProductView(1, dict(sums.beside)), [(view, 1), (taken, -1)]
        for monomial, k in polynomial.items():
            if all(sum(moment) > 1 for moment, _ in monomial):
                factors = [(ProductView(1, {_about(sums.op, moved, m): 1}), e) for m, e in monomial]
                new.append((summand(multiplied((beside, 1), *factors), None, dtype_of(t)), k))
        return fitted(rebuilt(added(*new), t), t)
    return None


def beside_projection(t: Term) -> Term | None:
    """Σ x²·Σ y² − (Σ x·y)² → Σ x²·Σ (y − x·Σ x·y/Σ x²)²;    1 − (Σ x)²/(n·Σ x²) → Σ (x − m)²/Σ x²: two summands, one
    of which the inequality of Cauchy and Schwarz bounds by the other; or None.
    """
    view = sum_of(t)
    parts = [*([(ProductView(1, {}), None, view.constant)] if view.constant else ())]
    parts += [(product_of(part), part, k) for part, k in view.terms.items()]
    if not 1 < len(parts) <= SHARED or not any(map(_holds_sums, view.terms)):
        return None
    for (p, whole, k), (q, part, n) in permutations(parts, 2):
        ratio = multiplied((q, 1), (p, -1)) if p.coefficient else p
        scale = -Fraction(n) / k * ratio.coefficient
        if scale <= 0 or (left := _beside(ratio.factors, scale, p)) is None:
            continue
        number = view.constant if None in (whole, part) else 0
        gone = SumView(number, {x: c for x, c in ((whole, k), (part, n)) if x is not None})
        rest = summand(multiplied((p, 1), (product_of(left), 1)), None, dtype_of(t))
        return fitted(rebuilt(added((view, 1), (gone, -1), (rest, k)), t), t)
    return None


def _beside(factors: Mapping[Any, Any], scale: Any, outside: ProductView) -> Term | None:
    """{Σ x·y: 2, Σ x²: −1, Σ y²: −1}, 1 → Σ (y − x·Σ x·y/Σ x²)²/Σ y²;    {Σ x: 2, Σ x²: −1}, 1/n → Σ (x − m)²/Σ x²:
    one less the square of a product over those of its factors; or None.

    Where x is 0 there is nothing to project on, which counts unless Σ x² is divided by.
    """
    sums = {b: s for b in factors if (s := _summed(b)) is not None}
    both = [b for b, e in factors.items() if e == 2]
    squares = [b for b, e in factors.items() if e == -1]
    if len(both) != 1 or not 1 <= len(squares) == len(factors) - 1 <= 2 or len(sums) < len(factors):
        return None
    of_both = sums[both[0]]
    if any(s.op != of_both.op or s.rands[0].type.shape != of_both.rands[0].type.shape for s in sums.values()):
        return None
    body, op = product_of(of_both.rands[0]), of_both.op
    bodies = [product_of(sums[b].rands[0]) for b in squares]
    count = _count(Sums(op, of_both.rands, frozenset(), ()))
    if len(squares) == 1:
        if count is None or not is_rounded(scale * count, 1):
            return None
        squares, bodies = [None, *squares], [ProductView(1, {}), *bodies]
    elif scale != 1:
        return None
    pairs = [(0, 1), (1, 0)]
    found = [(i, j, shared) for i, j in pairs if (shared := _in_common(body, bodies[i], bodies[j]))]
    if not found:
        return None
    i, j, (beside, x, y) = min(found, key=lambda pair: len(pair[2][1].factors))
    dtype = of_both.type.dtype
    w, u, v = [Tracer(as_term(build_product(z, dtype))) for z in (beside, x, y)]
    if x.factors:
        of_x, along = Tracer(sums[squares[i]]), Tracer(of_both)
        if outside.factors.get(squares[i], 0) > 0:
            along, of_x = np.where(of_x > 0, along, 0.0), np.where(of_x > 0, of_x, 1.0)
        rest = v - u * (along / of_x)
    elif not beside.factors:
        rest = centred(v, axis=op.axes)
    elif as_term(w).type.shape == as_term(v).type.shape:
        rest = deviation(v, w, axis=op.axes)
    else:
        return None
    return divide(op.make_node(as_term(w * np.square(rest))), sums[squares[j]])


def _summed(base: Any) -> Term | None:
    """Σ x·y → Σ x·y, x @ y → Σ x·y: a sum of products, or None."""
    if not is_term(base) or not base.ground:
        return None
    return base if type(base.op) is Sum else inner_product(base)


def _in_common(
    both: ProductView, one: ProductView, other: ProductView
) -> tuple[ProductView, ProductView, ProductView] | None:
    """w·x·y, w·x², w·y² → w, x, y: what stands beside squares, and what is squared; or None if they are none."""
    beside, *roots = dict[Any, Any](), dict[Any, Any](), dict[Any, Any]()
    if not one.coefficient == other.coefficient == both.coefficient == 1:
        return None
    for b in {**one.factors, **other.factors, **both.factors}:
        e, f = one.factors.get(b, 0), other.factors.get(b, 0)
        if e + f != 2 * both.factors.get(b, 0) or (e - f) % 2 or e % 1:
            return None
        least = min(e, f)
        for entries, n in (
            (beside, least % 2),
            (roots[0], (e - least % 2) // 2),
            (roots[1], (f - least % 2) // 2),
        ):
            if n:
                entries[b] = n
    if not all(range_of(b).nonnegative for b in beside) or roots[0] == roots[1]:
        return None
    shared = {b: n for b, n in roots[0].items() if roots[1].get(b) == n}
    for b, n in shared.items():
        beside[b] = beside.get(b, 0) + 2 * n
    x, y = [ProductView(1, {b: n for b, n in r.items() if b not in shared}) for r in roots]
    return ProductView(1, beside), x, y


def without_offset(t: Term) -> Term | None:
    """softmax(y² − x) → softmax(−x), y the same along its axes, softmax(log_softmax(x)) → softmax(x): what an offset
    does not change; or None.

    Not in softmax(k·(x − c)), nor in softmax(x − c + b): beside what c takes off, other digits would be lost.
    """
    if not t.op.invariant:
        return None
    (x, *others), sign, dropped = t.rands, 1, False
    while len(left := _moving(x, t.op.axes)) == 1:
        dropped |= not x.op.as_sum or len(x.rands) > 1
        ((x, k),) = left
        sign *= k
    return fitted(t.op.make_node(x if sign == 1 else negative.make_node(x), *others), t) if dropped else None


def _moving(x: Term, axes: tuple[int, ...]) -> list[tuple[Term, int]]:
    """y² − x → [(x, −1)], y the same along axes, x − mean x → [(x, 1)]: the summands that are not; all of them if that
    may be NaN.
    """
    if x.op.displaces and set(axes) <= set(x.op.axes) and x.rands[0].type == x.type:
        return [(x.rands[0], 1)]
    if not x.op.as_sum:
        return []
    parts = list(zip(x.rands, x.op.as_sum, strict=True))
    still = [y for y, _ in parts if all(y.type.extent(a) == 1 for a in axes)]
    return parts if any(map(holds_nan, still)) else [(y, k) for y, k in parts if y not in still]


def _holds_sums(part: Any) -> bool:
    return any(_summed(b) is not None for b in product_of(part).factors)


def _polynomials(view: SumView) -> Iterator[tuple[Sums, dict[Monomial, tuple[Any, Any]]]]:
    """Σ x²·w/n − (Σ x)²·w/n² → (Σ, (x,), {w}), {S₂: (1/n, …), S₁²: (−1/n², …)}: by what they are of, summands as
    monomials with their coefficients, and as they stand; of one datum, or of two.
    """
    readings = [(part, k, product_of(part)) for part, k in view.terms.items()]
    data: dict[tuple[Any, Term], None] = dict.fromkeys(
        (b.op, x) for _, _, product in readings for b in product.factors for x in _powers(b) or ()
    )
    for (op, x), (other, y) in ((u, v) for i, u in enumerate(data) for v in list(data)[i:]):
        if op != other or x.type.shape != y.type.shape:
            continue
        known = (x,) if x is y else (x, y)
        found: dict[Sums, dict[Monomial, tuple[Any, Any]]] = {}
        for part, k, product in readings:
            moments: dict[Moment, int] = {}
            beside: dict[Any, Any] = {}
            for base, e in product.factors.items():
                powers = _powers(base) if is_term(base) and base.op == op and e == int(e) and e > 0 else None
                if powers and powers.keys() <= set(known):
                    moment = tuple([powers.get(z, 0) for z in known])
                    moments[moment] = moments.get(moment, 0) + int(e)
                else:
                    beside[base] = e
            if moments:
                degrees = [sum(m[i] * e for m, e in moments.items()) for i in range(len(known))]
                sums = Sums(op, known, frozenset(beside.items()), tuple(degrees))
                found.setdefault(sums, {})[_ordered(moments)] = (
                    Fraction(k) * Fraction(product.coefficient),
                    part,
                )
        yield from found.items()


def _powers(base: Any) -> dict[Term, int] | None:
    """Σ x²·y → {x: 2, y: 1}: the powers that a sum is of; or None."""
    if not is_term(base) or type(base.op) is not Sum:
        return None
    body = product_of(base.rands[0])
    whole = all(is_term(x) and e == int(e) and 0 < e <= HIGHEST for x, e in body.factors.items())
    if body.coefficient != 1 or not whole or not 1 <= len(body.factors) <= 2:
        return None
    shapes = {x.type.shape for x in body.factors} | {base.rands[0].type.shape}
    return {x: int(e) for x, e in body.factors.items()} if len(shapes) == 1 else None


def _count(sums: Sums) -> int | None:
    """Σ over axes of extents 3 and 4 → 12; None where they are unknown."""
    extents = [sums.data[0].type.shape[a] for a in sums.op.axes]
    return None if None in extents else int(np.prod(extents))


def _ordered(moments: Mapping[Moment, int]) -> Monomial:
    return tuple(sorted((m, e) for m, e in moments.items() if e))


def _slope(polynomial: Mapping[Monomial, Fraction], i: int, count: int) -> dict[Monomial, Fraction]:
    """S₂ − S₁²/n → 2·S₁ − 2·S₁·n/n = 0: the derivative by a shift of the datum i, dSₖ = k·Sₖ₋₁, without zeros."""
    total: dict[Monomial, Fraction] = {}
    for monomial, coefficient in polynomial.items():
        for moment, e in monomial:
            if not moment[i]:
                continue
            lower = tuple([k - (j == i) for j, k in enumerate(moment)])
            rest = dict(monomial)
            rest[moment] -= 1
            c = coefficient * e * moment[i]
            if any(lower):
                rest[lower] = rest.get(lower, 0) + 1
            else:
                c *= count
            key = _ordered(rest)
            total[key] = total.get(key, Fraction(0)) + c
    return {key: c for key, c in total.items() if c}


def _about(op: Sum, moved: list[Term], moment: Moment) -> Term:
    """(2, 1) → Σ (x − x̄)²·(y − ȳ)"""
    powers = ProductView(1, {x: k for x, k in zip(moved, moment, strict=True) if k})
    return op.make_node(build_product(powers, moved[0].type.dtype))
