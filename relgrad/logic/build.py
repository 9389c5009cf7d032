"""Writing views back as terms: numerators before denominators, one exp for all, in the order of first occurrence."""

from __future__ import annotations

from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.logic.group import (
    Number,
    ProductView,
    SumView,
    added,
    float_exact,
    float_summands,
    is_ratio,
    number_of,
    quotient,
    renamed,
)
from relgrad.op import constant
from relgrad.ops.arithmetic import add, divide, multiply, negative, power, reciprocal, sqrt, square, subtract
from relgrad.ops.casting import cast
from relgrad.ops.exponential import exp
from relgrad.ops.structure import broadcast_like, broadcast_to
from relgrad.term import is_term, once

LARGE = 2**63
"""Numbers from here on are written as floats: they fit into no integer."""


def number_term(value: Number | float, dtype: Any = None) -> Any:
    """Return a constant: of the given dtype, or a bare number that takes its partners', a float where it is large.

    No dtype of integers holds a fraction: 8·x̄ + i + 12 = 8·(x̄ + 3/2) + i, whatever i is.
    """
    if dtype is not None and value % 1 and np.dtype(dtype).kind in "iu":
        dtype = None
    number = int(value) if dtype is None and isinstance(value, int) and abs(value) < LARGE else float(value)
    return constant(number) if dtype is None else constant(number, dtype)


def build_product(view: ProductView, dtype: Any = None) -> Any:
    """2·x¹·y⁻²·exp(z)·exp(w) → 2·x·exp(z + w)/y²: the term of a product, numerators before denominators.

    Its dtype matters only where a number, or integers, are all that is left.
    """
    factors = _floated(_widened(view.factors, dtype), dtype, view.coefficient != 1)
    return _of_reals(_product(view._replace(factors=factors), dtype), dtype)


def _product(view: ProductView, dtype: Any) -> Any:
    """3·x·y⁻¹ → 3·x/y, ⅓·x → x/3, y⁻¹ → 1/y: the term of factors of one dtype."""
    c, factors = view[:2]
    several = sum(is_term(base) and base.op is exp for base in factors) > 1
    above: list[Any] = []
    below: list[Any] = []
    exponents: list[tuple[SumView, Number]] = []
    place = 0
    for base, e in factors.items():
        if is_term(base) and base.op is exp and (several or e != 1):
            place = place if exponents else len(above)
            exponents.append((_exponent(base.rands[0]), e))
        elif e > 0:
            above.append(_power(base, e))
        else:
            below.append(_power(base, -e))
    if exponents:
        above.insert(place, exp(build_sum(added(*exponents), dtype)))
    numerator, denominator = _product_of(above), _product_of(below)
    if numerator is not None:
        numerator = _scaled(numerator, c)
        return numerator if denominator is None else divide(numerator, denominator)
    if denominator is None:
        return number_term(c, dtype)
    if c == 1:
        return reciprocal(divisible(denominator))
    if is_ratio(c):
        return divide(number_term(c.numerator), _scaled(denominator, c.denominator))
    return divide(number_term(c), denominator)


def build_sum(view: SumView, dtype: Any = None) -> Any:
    """−1·x + 1·y + 2 → y − x + 2: the term of a sum, what is added before what is subtracted, where there is any."""
    terms = _floated(
        _widened(view.terms, dtype), dtype, bool(view.constant) or max(view.terms.values(), default=1) < 0
    )
    return _of_reals(_sum(view._replace(terms=terms), dtype), dtype)


def _sum(view: SumView, dtype: Any) -> Any:
    """−2·x + 1·y → y − 2·x: the term of summands of one dtype."""
    offset, terms = view[:2]
    parts: list[tuple[Any, Number]] = list(terms.items())
    if not parts:
        return number_term(offset, dtype)
    if offset:
        parts += [(None, n) for n in float_summands(offset, dtype)]
    first = next((i for i, (_, k) in enumerate(parts) if k > 0), 0)
    parts.insert(0, parts.pop(first))
    result: Any = None
    for t, k in parts:
        size = abs(k)
        part = number_term(size) if t is None else _scaled(_signed(t), size)
        if result is None:
            result = part if k > 0 else negative(part)
        else:
            result = add(result, part) if k > 0 else subtract(result, part)
    return result


def fit(t: Any, like: Any) -> Any:
    """x − x → 0 → zeros of x's dtype and shape: a rewritten term in the dtype and shape of the place where it goes.

    Cancellation can shrink a shape, and a constant knows no dtype of its own.
    """
    if None in like.type.shape and t.type.shape != like.type.shape:
        return broadcast_like(_as(t, like.type.dtype), like)
    return fit_to(t, like.type)


def broadcasts(new: Any, t: Any) -> bool:
    """(3,) in place of (): no;    () or (1, 3) → (2, 3): yes: whether a new term broadcasts to the shape of a place.

    A number may have been read as an array that is too large for where it stands.
    """
    if not (is_term(new) and new.ground and t.ground):
        return True
    shape = t.type.shape
    return None in shape or (
        len(new.type.shape) <= len(shape)
        and all(n in (1, m) for n, m in zip(new.type.shape[::-1], shape[::-1], strict=False))
    )


def fitted(new: Any, like: Any) -> Any:
    """Return a term in the dtype and shape of the place where it goes, or None: for None, or if it is too large."""
    return fit(new, like) if new is not None and broadcasts(new, like) else None


def fit_to(t: Any, kind: Any) -> Any:
    """x : float32 () → cast(x) : float64 (3,): a term in a dtype and a known shape; a pattern has neither."""
    if t.type is None:
        return t
    t = _as(t, kind.dtype)
    return t if t.type.shape == kind.shape else broadcast_to(t, kind.shape)


def _as(t: Any, dtype: Any) -> Any:
    return t if t.type.dtype == dtype else cast(t, dtype)


def _exponent(t: Any) -> SumView:
    """Read what stands under an exp; views have split it already, so it is a number or one summand."""
    value = number_of(t)
    return SumView(0, {t: 1}) if value is None else SumView(value, {})


def _scaled(t: Any, c: Number) -> Any:
    """(x, ⅓) → x/3, (x, −1) → −x, (x, 2) → x·2: a multiple of a term with float-exact constants only."""
    if c == 1:
        return t
    t = _signed(t)
    if c == -1:
        return negative(t)
    if not float_exact(c) and float_exact(1 / Fraction(c)):
        return divide(t, number_term(quotient(1, c)))
    if is_ratio(c):
        return divide(_scaled(t, c.numerator), number_term(c.denominator))
    return multiply(t, number_term(c))


def _of_reals(t: Any, dtype: Any) -> Any:
    """Return integers that were real by a factor of 1.0 only in the dtype that they had by it."""
    if dtype is None or t.type is None or np.dtype(dtype).kind != "f" or t.type.dtype.kind == "f":
        return t
    return cast(t, dtype)


def _widened(parts: dict[Any, Number], dtype: Any) -> dict[Any, Number]:
    """({x₃₂: 1}, float64) → {cast(x₃₂): 1}: parts in the wider dtype that a constant among them had.

    As a number it has none, and so it would not widen them again.
    """
    if dtype is None or not parts or np.dtype(dtype).kind != "f":
        return parts
    types = [t.type.dtype if is_term(t) and t.type is not None else None for t in parts]
    if not all(d is not None and d.kind == "f" and d.itemsize < np.dtype(dtype).itemsize for d in types):
        return parts
    return renamed(parts, lambda t: cast(t, dtype))


def _floated(parts: dict[Any, Number], dtype: Any, meets_number: bool) -> dict[Any, Number]:
    """({i: 2, x: 1}, float) → {cast(i): 2, x: 1}: integers among real parts as reals, where one would meet another.

    2.0·i = 200.0, where i is 100 among int8, and i·2 is not: their dtype may be too small.
    """
    if dtype is None or np.dtype(dtype).kind != "f":
        return parts
    integers = {
        b: e for b, e in parts.items() if is_term(b) and b.type is not None and b.type.dtype.kind in "iu"
    }
    if not integers or (sum(map(abs, integers.values())) == 1 and not meets_number):
        return parts
    return renamed(parts, lambda b: cast(b, dtype) if b in integers else b)


def _signed(t: Any) -> Any:
    """Return a summand as a number that has a sign, and multiples: two truth values add up to 2, minus 1 is none of
    bytes, and 1000 none of small integers.
    """
    kind = t.type.dtype if getattr(t, "type", None) is not None else None
    small = kind is not None and (kind.kind in "bu" or (kind.kind == "i" and kind.itemsize < 8))
    return cast(t, np.int64) if small else t


def divisible(t: Any) -> Any:
    """Return a term whose reciprocal is no integer, and whose opposite is no other number."""
    return cast(t, np.float64) if getattr(t, "type", None) is not None and t.type.dtype.kind in "biu" else t


def opposite(t: Any) -> Any:
    """−x, k bytes → −float(k): the opposite of a term, as a number."""
    return negative(divisible(t))


def _product_of(parts: list[Any]) -> Any:
    result: Any = None
    for part in parts:
        result = part if result is None else multiply(result, part)
    return result


def _power(base: Any, e: Number) -> Any:
    """(x, 2) → square(x), once for a term: shares of a product have the same powers, a thousand times."""
    if e == 1:
        return base
    return once(base, ("power", e), lambda b: _raised(b, e)) if is_term(base) else _raised(base, e)


def _raised(base: Any, e: Number) -> Any:
    """(x, 2) → square(x), (x, ½) → √x, (x, 3) → x³: a base with an exponent, by the op that is nearest."""
    if e == 2:
        return square(base)
    if e == Fraction(1, 2):
        return sqrt(base)
    return power(base, number_term(e) if isinstance(e, int) else constant(float(e)))
