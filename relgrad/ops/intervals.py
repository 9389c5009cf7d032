"""Interval arithmetic with open ends, rounded outwards: how the ranges of elementwise ops are computed.

An end is open where it is never reached over the reals. A bound that is not a float is moved outwards, and is
open then; so what a range says of signs holds for the exact result, which may underflow when it is computed.
Source: Hickey, Ju & van Emden, "Interval arithmetic: from principles to implementation", J. ACM 48, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.types import NONNEGATIVE, POSITIVE, REAL, Interval

TRUTH = Interval(0.0, 1.0)
"""The range of what is true or false."""

KEPT = 1 << 12
"""So many ranges of sums, products and quotients are remembered: of most terms nothing is known but a few signs."""

Exact = Fraction | float


def _end(value: Exact, open_: bool, up: bool) -> tuple[float, bool]:
    """(⅓, closed, up) → (the float above ⅓, open), (½, closed, up) → (½, closed): an exact bound rounded outwards."""
    if isinstance(value, float):
        return value, open_
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if math.isfinite(near) and Fraction(near) == value:
        return near, open_
    if (near < value) == up:
        near = math.nextafter(near, math.inf if up else -math.inf)
    return near, True


def _ends(x: Interval) -> tuple[tuple[Exact, bool], tuple[Exact, bool]]:
    return (_exact(x.low), x.open_low), (_exact(x.high), x.open_high)


def _exact(value: float) -> Exact:
    return Fraction(value) if math.isfinite(value) else value


def _interval(ends: Iterable[tuple[Exact, bool]]) -> Interval:
    """[(1, closed), (3, open), (2, closed)] → [1, 3): the interval between the least and the greatest of some ends."""
    ends = list(ends)
    least, greatest = min(v for v, _ in ends), max(v for v, _ in ends)
    low, open_low = _end(least, all(o for v, o in ends if v == least), up=False)
    high, open_high = _end(greatest, all(o for v, o in ends if v == greatest), up=True)
    return Interval(low, high, open_low, open_high)


@lru_cache(maxsize=KEPT)
def added(x: Interval, y: Interval) -> Interval:
    """Return the range of x + y.

    >>> added(Interval(0.0, 1.0, True), Interval(1.0, 2.0))
    Interval(low=1.0, high=3.0, open_low=True, open_high=False)
    """
    low, open_low = _total(x.low, y.low, x.open_low or y.open_low, up=False)
    high, open_high = _total(x.high, y.high, x.open_high or y.open_high, up=True)
    return Interval(low, high, open_low, open_high)


def _total(a: float, b: float, open_: bool, up: bool) -> tuple[float, bool]:
    if math.isfinite(a) and math.isfinite(b):
        return _end(Fraction(a) + Fraction(b), open_, up)
    total = a + b
    return (math.inf if up else -math.inf) if math.isnan(total) else total, open_


def subtracted(x: Interval, y: Interval) -> Interval:
    """Return the range of x − y."""
    return added(x, -y)


@lru_cache(maxsize=KEPT)
def multiplied(x: Interval, y: Interval) -> Interval:
    """Return the range of x·y, where an infinite end counts as finite but unbounded.

    >>> multiplied(POSITIVE, POSITIVE).positive, multiplied(POSITIVE, NONNEGATIVE).positive
    (True, False)
    """
    return _interval(_products(x, y))


def _products(x: Interval, y: Interval) -> Iterator[tuple[Exact, bool]]:
    """[a, b]·[c, d] → a·c, a·d, b·c, b·d, 0·∞ = 0: the products of ends, each with whether it is open."""
    for a, a_open in _ends(x):
        for b, b_open in _ends(y):
            if a == 0 or b == 0:
                yield Fraction(0), (a != 0 or a_open) and (b != 0 or b_open)
            else:
                yield a * b, a_open or b_open


@lru_cache(maxsize=KEPT)
def divided(x: Interval, y: Interval) -> Interval:
    """Return the range of x / y: all reals if y may have either sign.

    >>> divided(Interval(1.0, 1.0), Interval(1.0, 4.0))
    Interval(low=0.25, high=1.0, open_low=False, open_high=False)
    """
    if y.low < 0 < y.high or y.low == y.high == 0:
        return REAL
    return _interval(_quotients(x, y, math.inf if y.low >= 0 else -math.inf))


def _quotients(x: Interval, y: Interval, pole: float) -> Iterator[tuple[Exact, bool]]:
    """[a, b]/[c, d] → a/c, …, a/0 = ±pole, a/∞ = 0: the quotients of ends, each with whether it is open."""
    for a, a_open in _ends(x):
        for b, b_open in _ends(y):
            if a == 0 or math.isinf(b):
                yield Fraction(0), a != 0 or a_open
            elif b == 0:
                yield (pole if a > 0 else -pole), True
            else:
                yield a / b, a_open or b_open


def magnitude(x: Interval) -> Interval:
    """[−1, 3) → [0, 3): the range of |x|."""
    if x.nonnegative:
        return x
    if x.high <= 0:
        return -x
    high, open_high = max((x.high, not x.open_high), (-x.low, not x.open_low))
    return Interval(0.0, high, False, not open_high)


def squared(x: Interval) -> Interval:
    """Return the range of x²."""
    size = magnitude(x)
    return multiplied(size, size)


def larger(x: Interval, y: Interval) -> Interval:
    """Return the range of the maximum of x and y.

    >>> larger(REAL, Interval(1.0, 1.0))
    Interval(low=1.0, high=inf, open_low=False, open_high=False)
    """
    low, high = max(x.low, y.low), max(x.high, y.high)
    open_low = any(r.open_low for r in (x, y) if r.low == low)
    open_high = all(r.open_high for r in (x, y) if r.high == high)
    return Interval(low, high, open_low, open_high)


def smaller(x: Interval, y: Interval) -> Interval:
    """Return the range of the minimum of x and y."""
    return -larger(-x, -y)


def clipped(x: Interval, image: Interval) -> Interval:
    """([−1, 2], [0, ∞)) → [0, 2]: the intersection with the image of a function, or the image if that is empty."""
    low, open_low = max((x.low, x.open_low), (image.low, image.open_low))
    high, not_open = min((x.high, not x.open_high), (image.high, not image.open_high))
    if low > high or (low == high and (open_low or not not_open)):
        return image
    return Interval(low, high, open_low, not not_open)


def increasing(
    function: Callable[[Any], Any], image: Interval = REAL, fixed: tuple[float, ...] = (0.0,), off: int = 2
) -> Callable[[Interval], Interval]:
    """[a, b] → [f(a), f(b)], rounded outwards: the range of an increasing function, from its values at the ends.

    `image` bounds what it can be anywhere; its computed value is so many floats `off`, and exact at the points `fixed`.
    """

    def at(x: float, up: bool) -> float:
        """x, up → f(x) and as many floats further as it may be off, where it is not exact."""
        with np.errstate(all="ignore"):
            value = float(function(x))
        if math.isnan(value):  # outside the domain
            return math.inf if up else -math.inf
        if x in fixed or math.isinf(value):
            return value
        way = math.inf if up else -math.inf
        for _ in range(off):
            value = math.nextafter(value, way)
        return value

    def range_(x: Interval) -> Interval:
        """[a, b] → [f(a), f(b)] within the image."""
        found = Interval(at(x.low, False), at(x.high, True), x.open_low, x.open_high)
        return clipped(found, image)

    return range_


def decreasing(
    function: Callable[[Any], Any], image: Interval = REAL, fixed: tuple[float, ...] = (0.0,)
) -> Callable[[Interval], Interval]:
    """[a, b] → [f(b), f(a)], rounded outwards: the range of a decreasing function, from its values at the ends."""
    mirrored = increasing(lambda x: function(-x), image, tuple([-x for x in fixed]))
    return lambda x: mirrored(-x)


def raised(x: Interval, y: Interval) -> Interval:
    """Return the range of x to the power of y.

    >>> raised(REAL, Interval(2.0, 2.0)).nonnegative, raised(POSITIVE, REAL).positive
    (True, True)
    """
    if y.low == y.high:
        return _raised_to(x, y.low)
    if not x.nonnegative:
        return REAL
    image = POSITIVE if x.positive else NONNEGATIVE
    if y.nonnegative and x.high <= 1:
        return Interval(0.0, 1.0, image.open_low)
    return Interval(1.0) if y.nonnegative and x.low >= 1 else image


def _raised_to(x: Interval, n: float) -> Interval:
    """([−2, 1], 2) → [0, 4], ([−2, 1], 3) → [−8, 1], ([1, 2], −1) → [½, 1]: the range of xⁿ."""
    if n == 0:
        return Interval(1.0, 1.0)
    if n == 1:
        return x
    if n % 2 == 1:
        if x.high <= 0 and not x.nonnegative:
            return -_raised_to(-x, n)
        if not x.nonnegative:
            return increasing(lambda v: np.float64(v) ** n)(x) if n > 0 else REAL
    elif n % 2 == 0:
        x = magnitude(x)
    else:
        x = clipped(x, NONNEGATIVE)
    if n == 2:
        return multiplied(x, x)
    image = POSITIVE if x.positive else NONNEGATIVE
    power = increasing(lambda v: np.float64(v) ** abs(n), image, fixed=(0.0, 1.0))(x)
    return power if n > 0 else divided(Interval(1.0, 1.0), power)
