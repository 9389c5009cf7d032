"""Two abelian groups: products as base ↦ exponent, sums as term ↦ coefficient, with exact arithmetic."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.key import Key, interned
from relgrad.op import Constant
from relgrad.term import Term, is_term

Number = int | Fraction
BITS = 1000
"""Numbers of more bits than this lie outside the floats: nothing is read that would need them."""
SIMPLE = 1000
"""Roots are rounded of fractions with numbers up to this."""
_ROUNDINGS = 1 << 51
"""Of a square of a rounded number, and of another: 1/√2² is ½ to 2⁻⁵²."""


class ProductView(NamedTuple):
    """coefficient · ∏ base^exponent: ½·x²/y = (½, {x: 2, y: −1}).

    And whether factors met their inverses, and how many exponentials were read.
    """

    coefficient: Number
    factors: dict[Any, Number]
    cancelled: bool = False
    exponentials: int = 0


class SumView(NamedTuple):
    """constant + Σ coefficient · term: 1 + 2·x − y = (1, {x: 2, y: −1}); and whether summands met their negatives."""

    constant: Number
    terms: dict[Any, Number]
    cancelled: bool = False


class BagView(NamedTuple):
    """The operands of an op that is associative and commutative, each so often."""

    op: Any
    parts: dict[Any, Number]


@lru_cache(maxsize=1 << 12)
def exact(value: float) -> Number:
    """Return a finite float as the exact number that it is."""
    fraction = Fraction(value)
    return fraction.numerator if fraction.denominator == 1 else fraction


def number_of(t: Any) -> Number | None:
    """0.5 → ½, [2.0] → 2;    −0.0, 5e-324, ∞, True, x → None: the exact value of a finite constant with one entry.

    A negative zero is not a number here: exact arithmetic would lose its sign; nor is what has no inverse in floats.
    """
    if is_term(t) and type(t.op) is Constant and t.op.value.size == 1:
        value = t.op.value.item()
        if (
            not isinstance(value, bool)
            and math.isfinite(value)
            and (abs(value) >= sys.float_info.min or (value == 0 and math.copysign(1, value) > 0))
        ):
            return exact(value)
    return None


def key_of(t: Any) -> Any:
    """x·y and y·x → one key: what a base or summand is known by, for two terms that are one summand."""
    return t.cache.get("key", t) if type(t) is Term else t


def product_key(factors: dict[Any, Number]) -> Key:
    """Return the key of a product of several factors, whatever their order: (x − y)²·z and z·(y − x)² are one."""
    return interned(
        ("product", frozenset((either(b) if e % 2 == 0 else key_of(b), e) for b, e in factors.items()))
    )


def either(t: Any) -> Any:
    """Return what a sum and its negative are both known by, and anything else by itself."""
    other = t.cache.get("opposite") if type(t) is Term else None
    return key_of(t) if other is None else frozenset((key_of(t), other))


def sum_key(view: SumView) -> Key:
    """Return the key of a sum of several summands, whatever their order."""
    return interned(("sum", view.constant, frozenset((key_of(t), k) for t, k in view.terms.items())))


def applied_key(op: Any, views: Iterable[ProductView], shapes: Iterable[Any]) -> Key:
    """Σ x·x = Σ x²: the key of an op applied to operands that are known by how they are read, and by their shapes.

    What is read alike may still be counted differently, where one is broadcast.
    """
    read = [
        (v.coefficient, frozenset((key_of(b), e) for b, e in v.factors.items()), shape)
        for v, shape in zip(views, shapes, strict=True)
    ]
    return interned(("applied", op, tuple(read)))


def mark_sum(t: Any, view: SumView) -> None:
    """Keep on a sum what it is known by, and what its negative is known by."""
    t.cache["key"] = sum_key(view)
    t.cache["opposite"] = sum_key(SumView(-view.constant, {part: -k for part, k in view.terms.items()}))


def opposite(entries: dict[Any, Number], t: Any) -> Any:
    """Return the member of a multiset of factors that is the negative of a sum, or None: y - x for x - y."""
    key = t.cache.get("opposite") if is_term(t) else None
    return None if key is None else next((other for other in entries if key_of(other) is key), None)


def entry(entries: dict[Any, Number], t: Any) -> Any:
    """({x·y: 2}, y·x) → x·y: the member of a multiset that is equal to t modulo the theories, or None."""
    if t in entries:
        return t
    key = key_of(t)
    return None if key is t else next((other for other in entries if key_of(other) == key), None)


def renamed(entries: dict[Any, Number], name: Callable[[Any], Any]) -> dict[Any, Number]:
    """({x: 1, y: 2, z: 3}, x and y ↦ u) → {u: 3, z: 3}: a multiset with other members, some of which become one."""
    found: dict[Any, Number] = {}
    for t, k in entries.items():
        key = name(t)
        found[key] = found.get(key, 0) + k
    return {t: k for t, k in found.items() if k}


def multiplied(*parts: tuple[ProductView, Number]) -> ProductView:
    """(2·x·y, 1), (3·y, −1) → ⅔·x: ∏ part^exponent, bases in the order of first occurrence.

    Coefficients have whole exponents only.
    """
    coefficient: Number = 1
    exponentials = 0
    if are_opposite(parts):
        parts, coefficient = _aligned(parts)
    rounded: dict[Number, int] = {}
    for view, exponent in parts:
        c = view.coefficient
        if c != 1:
            assert exponent == int(exponent), "the root of a coefficient has a sign"
            if type(c) is int:
                coefficient *= c if exponent == 1 else Fraction(c) ** int(exponent)
            else:
                rounded[c] = rounded.get(c, 0) + int(exponent)
        exponentials += view.exponentials
    for c, e in rounded.items():
        coefficient *= c if e == 1 else _power(c, e)
    if not coefficient:
        return ProductView(0, {}, cancelled=True)
    factors, cancelled = _merged([(view.factors, exponent, view.cancelled) for view, exponent in parts])
    return ProductView(whole(coefficient), factors, cancelled, exponentials)


@lru_cache(maxsize=1 << 12)
def _power(c: Number, e: int) -> Number:
    """0.1, 2 → 0.1²;    1/√2, 2 → ½: a power of a number, of a float that a root was rounded to that of what it is the
    root of: (x/√2)² is x²/2.
    """
    square = Fraction(c) ** 2
    meant = square.limit_denominator(SIMPLE)
    if abs(e) < 2 or not is_rounded(square, meant) or is_rounded(c, Fraction(c).limit_denominator(SIMPLE)):
        return Fraction(c) ** e
    return meant ** (e // 2) * Fraction(c) ** (e % 2)


def is_rounded(c: Number, meant: Number) -> bool:
    """0.1, 1/10 → True: whether a number is another, a simple one, but for the rounding of a factor or two."""
    return 0 < abs(meant.numerator) <= SIMPLE and abs(c - meant) * _ROUNDINGS <= abs(c)


def are_opposite(parts: Iterable[tuple[ProductView, Number]]) -> bool:
    """(x − y)·(y − x) → True, (x − y)·(x + y) → False: whether a factor is the negative of another, a sum."""
    seen: set[Any] = set()
    for view, _ in parts:
        for base in view.factors:
            other = base.cache.get("opposite") if type(base) is Term else None
            if other is not None:
                if other in seen:
                    return True
                seen.add(base.cache["key"])
    return False


def _aligned(parts: tuple[tuple[ProductView, Number], ...]) -> tuple[Any, Number]:
    """(x − y)·(y − x) → (x − y)·(x − y), −1: sums that are the negatives of earlier ones as those, with the sign."""
    sign = 1
    seen: dict[Any, Any] = {}
    found = []
    for view, exponent in parts:
        factors, turned = aligned(view.factors, exponent, seen)
        sign *= turned
        found.append((view._replace(factors=factors), exponent))
    return tuple(found), sign


def aligned(
    factors: dict[Any, Number], exponent: Number, seen: dict[Any, Any]
) -> tuple[dict[Any, Number], int]:
    """Write sums among factors that are the negatives of ones that were seen as those, and return the sign of that.

    (y − x)³·z, where x − y was seen ⟶ (x − y)³·z, −1
    """
    sign = 1
    found: dict[Any, Number] = {}
    for base, e in factors.items():
        other = None
        if key_of(base) not in seen and is_term(base):
            other = seen.get(base.cache.get("opposite"))
        if other is not None and (e * exponent).denominator == 1:
            sign = -sign if e * exponent % 2 else sign
            base = other
        seen.setdefault(key_of(base), base)
        found[base] = found.get(base, 0) + e
    return found, sign


def added(*parts: tuple[SumView, Number]) -> SumView:
    """(x + 2·y, 1), (y, −1) → x + y: Σ coefficient · part, terms in the order of first occurrence."""
    constant: Number = 0
    for view, coefficient in parts:
        constant += view.constant * coefficient
    terms, cancelled = _merged(
        [(view.terms, coefficient, view.cancelled) for view, coefficient in parts], True
    )
    met = not constant and any(view.constant for view, _ in parts)
    return SumView(whole(constant), terms, cancelled or met)


def _is_float(k: Number) -> bool:
    return type(k) is int or (_is_in_range(k) and Fraction(float(k)) == k)


def _is_in_range(k: Number, kind: Any = np.float64) -> bool:
    """Whether the nearest float is finite: 10⁻⁹⁹⁹ → True, 10⁹⁹⁹ → False."""
    return k.numerator.bit_length() - k.denominator.bit_length() < np.finfo(kind).maxexp - 1


def _merged(
    parts: list[tuple[dict[Any, Number], Number, bool]], of_summands: bool = False
) -> tuple[dict[Any, Number], bool]:
    """{x: 2} + {x: −1, y: 3} → {x: 1, y: 3}: scaled multisets added up, and whether anything met its opposite.

    Of factors, any that meet its inverse are gone. Of summands, no more may be left than there was of the smaller
    one: in 2·x - x digits are lost, in x - x/100 none are, and nothing is gained by writing it as 0.99·x. What is left
    of a number and a float beside it, as of c⁻² and 1/c² as written, or of (x/√2)² and x²/2, is rounding, and nothing.
    """
    (entries, scale, cancelled), *others = parts or [({}, 1, False)]
    total = dict(entries) if scale == 1 else {t: whole(k * scale) for t, k in entries.items()}
    named = {key_of(t): t for t in total} if others else {}
    if not scale or (others and len(named) < len(total)):
        total, named, others = {}, {}, parts
    for entries, scale, already in others:
        cancelled = cancelled or already
        single = type(scale) is int and scale == 1
        for t, value in entries.items():
            place = named.setdefault(key_of(t), t)
            old = total.get(place)
            more = value if single else value * scale
            if old is None:
                new = more
                cancelled = cancelled or not more
            else:
                new = old + more
                against = (more.numerator > 0) != (old.numerator > 0)
                least = min(abs(old), abs(more)) if of_summands else abs(old)
                cancelled = cancelled or (against and abs(new) <= least)
                if (
                    of_summands
                    and against
                    and new
                    and abs(new) * _ROUNDINGS <= abs(old)
                    and not (_is_float(old) and _is_float(more))
                ):
                    new = 0
            if new:
                total[place] = new if type(new) is int else whole(new)
            elif old is not None:
                del total[place]
    return total, cancelled


def quotient(x: Number, y: Number) -> Number:
    """Return x/y, an int where it is one."""
    if type(x) is int and type(y) is int:
        return Fraction(x, y) if x % y else x // y
    return whole(x / y)  # pyright: ignore[reportArgumentType] - of two ints it were a float


def whole(x: Number) -> Number:
    """Return an int where a fraction is one."""
    return x.numerator if type(x) is not int and x.denominator == 1 else x


def representable(x: Number) -> bool:
    """Whether a number is small enough to be worked with."""
    return x.numerator.bit_length() <= BITS and x.denominator.bit_length() <= BITS


def float_exact(x: Number) -> bool:
    """½, 2⁵³ → True, ⅓ → False: whether a number is a float."""
    if type(x) is int and x.bit_length() <= 53:
        return True
    if x.denominator & (x.denominator - 1):
        return False  # no power of two
    return representable(x) and Fraction(float(x)) == x


def float_summands(c: Number, dtype: Any = None) -> list[Number]:
    """1 + 10⁻²⁰ → [1, 10⁻²⁰], ⅓ → [⅓]: a number as floats that add up to it, but for a quotient of two floats.

    Rounded to one it would lose the second, which is all that is left of 1 + 10⁻²⁰ − p where p is 1.
    """
    kind = np.dtype(np.float64 if dtype is None else dtype)
    if kind.kind != "f" or not _is_in_range(c, kind) or is_ratio(c):
        return [c]
    most = Fraction(kind.type(float(c)).item())
    rest = whole(c - most)
    return [whole(most), *float_summands(rest, dtype)] if most and rest else [c]


def is_ratio(c: Number) -> bool:
    """Whether a number is no float, but the quotient of two: a third is better divided by than rounded."""
    return not float_exact(c) and float_exact(c.numerator) and float_exact(c.denominator)


def float_root(x: Number) -> Number | None:
    """9/4 → 3/2, 2 → None: the square root of a positive number, where that is a float."""
    if not representable(x):
        return None
    root = exact(math.sqrt(x))
    return root if root * root == x else None
