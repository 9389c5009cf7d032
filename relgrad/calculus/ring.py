"""Laurent series Σ cₖ·tᵏ as a lazy ring: their coefficients are found one after the other, when they are asked for.

    (a ± b)ₖ = aₖ ± bₖ        (a·b)ₖ = Σᵢ aᵢ·bₖ₋ᵢ        q = a/b:  qₖ = (aₖ₊ₛ − Σ_{i ≥ 1} bₛ₊ᵢ·qₖ₋ᵢ)/bₛ
    (a′)ₖ = (k + 1)·aₖ₊₁      (y₀ + ∫ s dt)ₖ = sₖ₋₁/k, where s may read y itself

What a coefficient is, and when it vanishes, an `Algebra` says.

Source: A. Griewank & A. Walther, "Evaluating Derivatives", 2nd ed., chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Coefficient = Any
"""A number of an algebra; None stands for zero."""


class NoSeries(Exception):
    """A function that has no Laurent series at a point, or of which none is known."""


class BranchPoint(NoSeries):
    """A root of what vanishes with an odd power of t."""


class Algebra:
    """Coefficients: how they are added, multiplied and divided, and which of them vanish."""

    def __init__(self, one: Coefficient):
        self.zero, self.one = Polynomial(self, [None]), Polynomial(self, [one])

    def column(self) -> Any:
        """[]: where the coefficients of a series are kept as they become known."""
        return []

    def some(self, c: Coefficient) -> Coefficient:
        """0 → None, c → c: zero has one form."""
        raise NotImplementedError

    def exact(self, value: Any) -> Coefficient:
        """Return a number that is known as a coefficient."""
        raise NotImplementedError

    def number(self, c: Coefficient) -> Any:
        """Return a coefficient without its error, as ops are applied to it."""
        raise NotImplementedError

    def size(self, c: Coefficient) -> Any:
        """|c| in floats"""
        raise NotImplementedError

    def error(self, c: Coefficient) -> Any:
        """dc in floats"""
        raise NotImplementedError

    def vanishing(self, c: Coefficient) -> Any:
        """Which entries of a coefficient are zero but for rounding."""
        raise NotImplementedError

    def vanishes(self, c: Coefficient) -> bool:
        """Whether a coefficient is zero but for rounding, and not unknown."""
        return bool(np.all(self.vanishing(c)) and np.all(self.error(c) < np.inf))

    def added(self, a: Coefficient, b: Coefficient, sign: int) -> Coefficient:
        """a ± b"""
        raise NotImplementedError

    def multiple(self, c: Coefficient, above: int, below: int = 1) -> Coefficient:
        """c·above/below"""
        raise NotImplementedError

    def quotient(self, c: Coefficient, by: Coefficient) -> Coefficient:
        raise NotImplementedError

    def convolved(self, a: Power, b: Power, k: int, low: int, high: int) -> Coefficient:
        """Σ aᵢ·bₖ₋ᵢ over low ≤ i ≤ high, of coefficients that are known."""
        raise NotImplementedError

    def spend(self, steps: int = 1) -> None:
        """Note that so many steps are taken; raises NoSeries where they are too many."""


class Power:
    """Σ cₖ·tᵏ, start ≤ k < end: a series whose coefficients are found one after the other, by `next`."""

    def __init__(self, algebra: Algebra, start: int = 0, end: float = math.inf, fixed: bool = False):
        """`fixed` is what is c₀ alone, and does not depend on what moves."""
        self.algebra, self.start, self.end, self.fixed = algebra, start, end, fixed
        self.known: Any = algebra.column()
        self._leading, self._is_led = start, False
        self._is_busy = False

    def at(self, k: int) -> Coefficient:
        """cₖ, or None where that is zero: 1/(1 − t) has 1 at every k ≥ 0, and None below.

        All coefficients before are found first. Raises NoSeries where a coefficient depends on itself.
        """
        i = k - self.start
        while i >= len(self.known):
            if k >= self.end:
                return None
            if self._is_busy:
                raise NoSeries("a coefficient depends on itself")
            self.algebra.spend()
            self._is_busy = True
            try:
                found = self.next(self.start + len(self.known))
            finally:
                self._is_busy = False
            self.known.append(None if found is None else self.algebra.some(found))
        return self.known[i] if i >= 0 else None

    def order(self, last: int) -> int | None:
        """0 + 0·t + 3·t² → 2: the first power, up to a last one, with a coefficient; None if there is none."""
        while not self._is_led and self._leading <= last and self._leading < self.end:
            self._is_led = self.at(self._leading) is not None
            self._leading += not self._is_led
        return self._leading if self._is_led and self._leading <= last else None

    @property
    def has_pole(self) -> bool:
        """Whether a coefficient of a negative power is more than rounding: 1/t + 1: yes; (1e-17 ± 1e-16)/t: no."""
        powers = range(self.start, 0)
        return any((c := self.at(k)) is not None and not self.algebra.vanishes(c) for k in powers)

    def next(self, k: int) -> Coefficient:
        """Compute the coefficient of tᵏ, those before it being known."""
        raise NotImplementedError


class Polynomial(Power):
    """a + e·t, m/t + c, or c: a polynomial from a power on, of a leaf, one near infinity, or a term without t."""

    def __init__(self, algebra: Algebra, coefficients: Iterable[Coefficient], start: int = 0):
        super().__init__(algebra, start)
        for c in coefficients:
            self.known.append(None if c is None else algebra.some(c))
        self.end = start + len(self.known)
        self.fixed = len(self.known) == 1 and not start

    def at(self, k: int) -> Coefficient:
        return self.known[k - self.start] if self.start <= k < self.end else None


class Truth(Polynomial):
    """x > 0 at 1 → True: a truth value, or whole number, all around t = 0, and where t = 0 itself differs."""

    def __init__(self, algebra: Algebra, value: Any, differs: Any = False):
        super().__init__(algebra, [])
        self.known = [(value, differs)]
        self.end, self.fixed = 1, True


class Missing(Power):
    """log(t), in 0·log(t) never asked for: the series of a term that has none, which raises NoSeries if it is."""

    def __init__(self, why: NoSeries):
        self.why = why

    def __getattr__(self, name: str) -> Any:
        raise self.why

    def at(self, k: int) -> Coefficient:
        raise self.why


class Sum(Power):
    """(a ± b)ₖ = aₖ ± bₖ"""

    def __init__(self, a: Power, b: Power, sign: int = 1):
        fixed = a.fixed and b.fixed
        super().__init__(a.algebra, min(a.start, b.start), max(a.end, b.end), fixed)
        self.a, self.b, self.sign = a, b, sign

    def next(self, k: int) -> Coefficient:
        a, b = self.a.at(k), self.b.at(k)
        if b is None:
            return a
        if a is None:
            return b if self.sign > 0 else self.algebra.multiple(b, -1)
        return self.algebra.added(a, b, self.sign)


class Product(Power):
    """(a·b)ₖ = Σᵢ aᵢ·bₖ₋ᵢ"""

    def __init__(self, a: Power, b: Power):
        super().__init__(a.algebra, a.start + b.start, a.end + b.end - 1, a.fixed and b.fixed)
        self.a, self.b = a, b

    def next(self, k: int) -> Coefficient:
        first = self.a.order(k - self.b.start)
        return None if first is None else _convolved(self.a, self.b, k, first)


def _convolved(a: Power, b: Power, k: int, first: int) -> Coefficient:
    """Σ aᵢ·bₖ₋ᵢ over i ≥ `first`; no coefficient is asked for that meets none of the other series."""
    last = b.order(k - first)
    if last is None:
        return None
    low, high = first, k - last
    if b.end <= k - low:
        low = k - int(b.end) + 1
    if a.end <= high:
        high = int(a.end) - 1
    if low > high:
        return None
    for x, last in (a, high), (b, k - low):
        if last - x.start >= len(x.known):
            x.at(last)
    return a.algebra.convolved(a, b, k, low, high)


class Quotient(Power):
    """q = a/b: q·b = a, so qₖ = (aₖ₊ₛ − Σ_{i ≥ 1} bₛ₊ᵢ·qₖ₋ᵢ)/bₛ, where bₛ is the first coefficient of the divisor.

    (t + t²)/t = 1 + t
    """

    def __init__(self, a: Power, b: Power, most: int):
        """Raises NoSeries where b has no coefficient up to the power `most` to divide by."""
        self.s, self.leading = leading(b, most)
        end = a.end - self.s if b.end == self.s + 1 else math.inf
        super().__init__(a.algebra, a.start - self.s, end, a.fixed and b.fixed)
        self.a, self.b = a, b

    def next(self, k: int) -> Coefficient:
        above = self.a.at(k + self.s)
        less = _convolved(self.b, self, k + self.s, self.s + 1)
        if less is not None:
            above = self.algebra.multiple(less, -1) if above is None else self.algebra.added(above, less, -1)
        return None if above is None else self.algebra.quotient(above, self.leading)


def leading(b: Power, most: int) -> tuple[int, Coefficient]:
    """0 + 0·t + c·t² + … → 2, c: the first coefficient that is not zero, and its power.

    Raises NoSeries where all coefficients up to the power `most` are zero: a divisor vanishes.
    """
    for k in range(b.start, int(min(most + 1, b.end - 1)) + 1):
        if (c := b.at(k)) is not None and np.any(b.algebra.size(c)):
            return k, c
    raise NoSeries("a divisor vanishes")


class Moved(Power):
    """tⁿ·Σ_{k ≥ first} aₖ·tᵏ, where n = `by`: a series times a power, without its first coefficients, which vanish."""

    def __init__(self, a: Power, by: int, first: int):
        super().__init__(a.algebra, first + by, a.end + by)
        self.a, self.by = a, by

    def next(self, k: int) -> Coefficient:
        return self.a.at(k - self.by)


class Derivative(Power):
    """(a′)ₖ = (k + 1)·aₖ₊₁"""

    def __init__(self, a: Power):
        start = max(a.start - 1, 0) if a.start >= 0 else a.start - 1
        super().__init__(a.algebra, start, a.end - 1)
        self.a = a

    def next(self, k: int) -> Coefficient:
        a = self.a.at(k + 1)
        return None if a is None else self.algebra.multiple(a, k + 1)


class Integral(Power):
    """y₀ + ∫ s dt: yₖ = sₖ₋₁/k, where s is made as late as a coefficient is asked for: s may read y itself."""

    def __init__(self, algebra: Algebra, first: Coefficient, slope: Callable[[], Power]):
        super().__init__(algebra)
        self.known.append(None if first is None else algebra.some(first))
        self.slope: Callable[[], Power] | None = slope
        self.s: Power | None = None

    def next(self, k: int) -> Coefficient:
        """yₖ = sₖ₋₁/k; raises NoSeries where s divides by y, as the derivative 1/(2·√x) of √x does, or has a pole."""
        if self.s is None:
            if self.slope is None:
                raise NoSeries(
                    "a derivative divides by what it is the derivative of, as that of √x at 0 does"
                )
            slope, self.slope = self.slope, None
            self.s = slope()
            if self.s.has_pole:
                raise NoSeries("a derivative has a pole")
        s = self.s.at(k - 1)
        return None if s is None else self.algebra.multiple(s, 1, k)
