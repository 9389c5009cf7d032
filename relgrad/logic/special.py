"""Sums of a special kind: a square less a number, two products of data, the log of a mean of exponentials."""

from __future__ import annotations

import math
from typing import Any

from quicktions import Fraction

from relgrad.logic.build import build_product, build_sum, fit, number_term
from relgrad.logic.conditions import is_additive
from relgrad.logic.group import (
    Number,
    ProductView,
    SumView,
    added,
    float_root,
    multiplied,
    number_of,
    quotient,
    whole,
)
from relgrad.logic.parts import dtype_of
from relgrad.logic.space import product
from relgrad.logic.view import product_of, sum_of
from relgrad.ops.averages import LogMeanExp
from relgrad.ops.differences import power_difference, product_difference
from relgrad.ops.exponential import log
from relgrad.ops.softmax import LogSumExp
from relgrad.term import Term, is_term


def factored_square(t: Term) -> Any:
    """Return a square less a number that is one as their difference, or None: of x² - 9 and 3, of x²/9 - 1 and 1."""
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
    """Return a square that was multiplied out as a square, or None: x² - 2xy + y² = (x - y)²."""
    constant, terms = sum_of(t)[:2]
    if constant or len(terms) != 3:
        return None
    readings = _summands(terms)
    for i in range(3):
        cross, (p, q) = readings[i], [view for j, view in enumerate(readings) if j != i]
        if p.coefficient < 0 or q.coefficient < 0:
            continue
        roots = [_root(view) for view in (p, q)]
        if None in roots:
            continue
        x, y = (root for root in roots if root is not None)
        twice = multiplied((x, 1), (y, 1), (ProductView(2, {}), 1))
        if twice.factors == cross.factors and abs(twice.coefficient) == abs(cross.coefficient):
            sign = 1 if twice.coefficient == cross.coefficient else -1
            dtype = dtype_of(t)
            sides = [(sum_of(build_product(view, dtype)), k) for view, k in ((x, 1), (y, sign))]
            square = ProductView(1, {build_sum(added(*sides), dtype): 2})
            return fit(build_product(square, dtype), t)
    return None


def _summands(terms: dict[Any, Number]) -> list[ProductView]:
    """Return the summands of a sum as products, with their coefficients."""
    return [multiplied((product_of(part), 1), (ProductView(k, {}), 1)) for part, k in terms.items()]


def _root(view: ProductView) -> ProductView | None:
    """Return the root of a product that is a square, or None."""
    root = float_root(view.coefficient)
    if root is None or not view.factors or any(e % 2 for e in view.factors.values()):
        return None
    return ProductView(root, {b: quotient(e, 2) for b, e in view.factors.items()})


def crossed_sum(t: Term) -> Any:
    """Return a difference of two products of data, or of two quotients, with exact products, or None.

    x·y - u·v is the determinant of two rows, or an area, and x/y - u/v is (x·v - u·y)/(y·v).
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
    """Return the log-sum-exp of n numbers less log n as the log of their exponentials' mean, or None."""
    view = sum_of(t)
    numbers = [
        (part, k, found) for part, k in view.terms.items() if (found := _log_of_number(part)) is not None
    ]
    numbers += [(None, 1, float(view.constant))] if view.constant else []
    for part, k in view.terms.items() if len(numbers) == 1 else ():
        if is_term(part) and type(part.op) is LogSumExp and len(part.rands) == 1:
            ((number, c, offset),) = numbers
            count = product(part.rands[0].type.extent(a) for a in part.op.axes)
            offset *= -float(c) / float(k)
            if count and abs(offset - math.log(count)) <= 4 * math.ulp(offset):
                taken = (
                    SumView(view.constant, {part: k}) if number is None else SumView(0, {part: k, number: c})
                )
                mean = SumView(0, {LogMeanExp(part.op.axes).make_node(part.rands[0]): k})
                return fit(build_sum(added((view, 1), (taken, -1), (mean, 1)), dtype_of(t)), t)
    return None


def _log_of_number(t: Any) -> float | None:
    """Return the logarithm that a term is, if it is that of a positive number."""
    value = number_of(t.rands[0]) if is_term(t) and t.op is log else None
    return math.log(value) if value is not None and value > 0 else None
