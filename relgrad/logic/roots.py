"""Fractional powers of products, which need signs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from relgrad.logic.group import Number, ProductView, whole
from relgrad.logic.ranges import range_of
from relgrad.ops.arithmetic import absolute
from relgrad.term import is_term


def root(view: ProductView, exponent: Fraction) -> ProductView | None:
    """Read (∏ bᵢ^eᵢ)^r for a fraction r: √(b²) = |b|, and a root splits if at most one sign is unknown."""
    if view.coefficient <= 0:
        return None
    # Coefficients must stay rational: a root that is not goes under one root with nothing else.
    coefficient = _rational_power(view.coefficient, exponent)
    if coefficient is None:
        return None
    factors: dict[Any, Number] = {}
    doubtful = 0
    for base, e in view.factors.items():
        if e % 2 == 0 and not range_of(base).nonnegative:
            base = absolute(base) if is_term(base) else None
            if base is None:
                return None
        elif not range_of(base).nonnegative:
            doubtful += 1
        factors[base] = factors.get(base, 0) + whole(e * exponent)
    return view._replace(coefficient=coefficient, factors=factors) if doubtful <= 1 else None


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
