"""Two abelian groups: products as base ↦ exponent, sums as term ↦ coefficient, with exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from relgrad.op import Constant
from relgrad.term import is_term

Number = int | Fraction
BITS = 1000
"""Numbers of more bits than this lie outside the floats: nothing is read that would need them."""


class ProductView(NamedTuple):
    """coefficient · ∏ base^exponent; whether factors met their inverses, and how many exponentials were read."""

    coefficient: Number
    factors: dict[Any, Number]
    cancelled: bool = False
    exponentials: int = 0


class SumView(NamedTuple):
    """constant + Σ coefficient · term; and whether summands met their negatives."""

    constant: Number
    terms: dict[Any, Number]
    cancelled: bool = False


ONE = ProductView(1, {})
ZERO = SumView(0, {})


def exact(value: float) -> Number:
    """Return a finite float as the exact number that it is."""
    fraction = Fraction(value)
    return fraction.numerator if fraction.denominator == 1 else fraction


def number_of(t: Any) -> Number | None:
    """Return the exact value of a constant with one entry that is finite, else None.

    A negative zero is not a number here: exact arithmetic would lose its sign.
    """
    if is_term(t) and type(t.op) is Constant and t.op.value.size == 1:
        value = t.op.value.item()
        if not isinstance(value, bool) and math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0):
            return exact(value)
    return None


def multiplied(*parts: tuple[ProductView, Number]) -> ProductView:
    """Return ∏ part^exponent, bases in the order of first occurrence; whole exponents only for coefficients."""
    coefficient: Number = 1
    factors: dict[Any, Number] = {}
    cancelled = False
    exponentials = 0
    for view, exponent in parts:
        if view.coefficient != 1:
            coefficient *= Fraction(view.coefficient) ** int(exponent)
        cancelled = _accumulate(factors, view.factors, exponent) or cancelled or view.cancelled
        exponentials += view.exponentials
    return ProductView(whole(coefficient), factors, cancelled, exponentials)


def added(*parts: tuple[SumView, Number]) -> SumView:
    """Return Σ coefficient · part, terms in the order of first occurrence."""
    constant: Number = 0
    terms: dict[Any, Number] = {}
    cancelled = False
    for view, coefficient in parts:
        constant += view.constant * coefficient
        cancelled = _accumulate(terms, view.terms, coefficient) or cancelled or view.cancelled
    return SumView(whole(constant), terms, cancelled)


def _accumulate(into: dict[Any, Number], entries: dict[Any, Number], scale: Number) -> bool:
    """Add scaled entries to a multiset; return whether anything met its opposite."""
    cancelled = False
    for key, value in entries.items():
        old = into.get(key, 0)
        total = old + value * scale
        cancelled = cancelled or abs(total) < abs(old)
        if total:
            into[key] = whole(total)
        else:
            into.pop(key, None)
    return cancelled


def whole(x: Number) -> Number:
    """Return an int where a fraction is one."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def representable(x: Number) -> bool:
    """Whether a number is small enough to be worked with."""
    return x.numerator.bit_length() <= BITS and x.denominator.bit_length() <= BITS


def float_exact(x: Number) -> bool:
    """Whether a number is a float."""
    return representable(x) and Fraction(float(x)) == x
