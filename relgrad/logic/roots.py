"""Fractional powers of products, which need signs."""

from __future__ import annotations

import math
from typing import Any

from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.build import number_term
from relgrad.logic.group import Number, ProductView, float_exact, whole
from relgrad.ops.arithmetic import absolute
from relgrad.term import is_term


def root(view: ProductView, exponent: Fraction) -> ProductView | None:
    """Read (∏ bᵢ^eᵢ)^r for a fraction r: √(b²) = |b|, and a root splits if at most one sign is unknown.

    With an unknown sign none of the others may be 0: √(x·y²) is 0 at y = 0, where √x·|y| has no value for x < 0.
    """
    if view.coefficient <= 0:
        return None
    coefficient = _rational_power(view.coefficient, exponent)
    factors: dict[Any, Number] = {}
    if coefficient is None:
        # Coefficients are rational: a root that is not is a factor.
        if not (floats := _as_floats(view.coefficient)):
            return None
        coefficient = 1
        factors.update({number_term(float(c)): e * exponent for c, e in floats.items()})
    doubtful, vanishing = 0, False
    cancelled = view.cancelled
    for base, e in view.factors.items():
        if e % 2 == 0 and not range_of(base).nonnegative:
            base = absolute(base) if is_term(base) else None
            if base is None:
                return None
        elif not range_of(base).nonnegative:
            doubtful += 1
        known = range_of(base)
        vanishing = vanishing or (e > 0 and known.nonnegative and not known.positive)
        factors[base] = factors.get(base, 0) + whole(e * exponent)
        cancelled = cancelled or (e % 2 == 0 and exponent.denominator == 2)
    if doubtful > 1 or (doubtful and vanishing):
        return None
    return view._replace(coefficient=coefficient, factors=factors, cancelled=cancelled)


def whole_root(base: Any, e: Fraction) -> ProductView | None:
    """Read the root of a sum that cannot be split into the roots of its factors as that of the sum."""
    return ProductView(1, {base: e}) if is_term(base) and base.op.as_sum else None


def _as_floats(c: Number) -> dict[Number, int]:
    """Return a number as a float, or a quotient of two, by exponents; nothing where it is neither."""
    if float_exact(c):
        return {c: 1}
    parts: dict[Number, int] = {c.numerator: 1, c.denominator: -1}
    return parts if all(map(float_exact, parts)) else {}


def _rational_power(c: Number, exponent: Fraction) -> Number | None:
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
