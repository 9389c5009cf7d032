"""Taylor coefficients at a point, and their arithmetic: how functions are differentiated as often as one likes.

The coefficients may be arrays, fractions (at 0) or balls: what is written once holds for all of them.

Source: A. Griewank & A. Walther, "Evaluating Derivatives", 2nd ed., chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial
from typing import Any

Value = Callable[[str, Any], Any]
"""The value of an elementary function, given by name, at a point."""


class Jet:
    """The Taylor coefficients c₀, c₁, … of a function at a point."""

    __slots__ = ("c",)

    def __init__(self, c: Sequence[Any]):
        self.c = list(c)

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet([self.c[0] + other, *self.c[1:]])
        return Jet([a + b for a, b in zip(self.c, other.c, strict=False)])

    def __sub__(self, other: Any) -> Jet:
        return self + other * -1 if isinstance(other, Jet) else self + -other

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet([a * other for a in self.c])
        return Jet([product(self.c, other.c, k) for k in range(min(len(self.c), len(other.c)))])

    def __truediv__(self, other: Jet) -> Jet:
        above, below = self.c, other.c
        while (
            isinstance(below[0], Fraction) and not below[0]
        ):  # at 0 both may vanish: the singularity is removed
            above, below = above[1:], below[1:]
        out: list[Any] = []
        for k in range(min(len(above), len(below))):
            rest = above[k]
            for i in range(k):
                rest = rest - out[i] * below[k - i]
            out.append(rest / below[0])
        return Jet(out)


def product(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    """Return the k-th coefficient of a product."""
    total = a[0] * b[k]
    for i in range(1, k + 1):
        total = total + a[i] * b[k - i]
    return total


class At:
    """A point x, and the functions of k·t around t = x as jets of a given order."""

    def __init__(self, x: Any, order: int, value: Value):
        self.x, self.order, self.value = x, order, value

    @property
    def t(self) -> Jet:
        """The variable itself."""
        zero = self.x * 0
        return Jet([self.x, zero + 1, *[zero] * (self.order - 1)][: self.order + 1])

    def _turns(self, names: Sequence[str], signs: Sequence[int]) -> Jet:
        """The jet of a function whose derivatives are others in turn."""
        values = [self.value(name, self.x) for name in names]
        size = len(values)
        return Jet(
            [
                values[n % size] * (signs[n % size] * Fraction(1, factorial(n)))
                if isinstance(self.x, Fraction)
                else values[n % size] * signs[n % size] / factorial(n)
                for n in range(self.order + 1)
            ]
        )

    def reciprocal(self, jet: Jet) -> Jet:
        """1 over a function."""
        return Jet([self.x * 0 + 1, *[self.x * 0] * self.order]) / jet

    def exp(self) -> Jet:
        return self._turns(["exp"], [1])

    def expm1(self) -> Jet:
        return Jet([self.value("expm1", self.x), *self.exp().c[1:]])

    def sin(self) -> Jet:
        return self._turns(["sin", "cos", "sin", "cos"], [1, 1, -1, -1])

    def cos(self) -> Jet:
        return self._turns(["cos", "sin", "cos", "sin"], [1, -1, -1, 1])

    def sinh(self) -> Jet:
        return self._turns(["sinh", "cosh"], [1, 1])

    def cosh(self) -> Jet:
        return self._turns(["cosh", "sinh"], [1, 1])

    def log1p(self, sign: int = 1) -> Jet:
        """log(1 ± t)."""
        base = 1 + sign * self.x
        coefficients, power = [self.value("log1p", sign * self.x)], self.x * 0 - 1
        for n in range(1, self.order + 1):
            power = power * -sign / base
            coefficients.append(power / n)
        return Jet(coefficients)

    def _integral(self, name: str, slope: Jet) -> Jet:
        return Jet([self.value(name, self.x), *[c / (n + 1) for n, c in enumerate(slope.c[: self.order])]])

    def _rational(self, square: int, root: bool) -> Jet:
        """1/(1 ± t²), or its root."""
        base = self.t * self.t * square + 1
        if not root:
            return Jet([self.x * 0 + 1, *[self.x * 0] * self.order]) / base
        # (1 ± t²)·y' = ∓t·y gives each coefficient from the two before it.
        y = [self.x * 0 + 1 if isinstance(self.x, Fraction) else 1 / self.value("sqrt", base.c[0])]
        for n in range(self.order):
            below = y[n - 1] * n if n else self.x * 0
            y.append((y[n] * self.x * (2 * n + 1) + below) * -square / (base.c[0] * (n + 1)))
        return Jet(y)

    def arctan(self) -> Jet:
        return self._integral("arctan", self._rational(1, False))

    def arctanh(self) -> Jet:
        return self._integral("arctanh", self._rational(-1, False))

    def arcsin(self) -> Jet:
        return self._integral("arcsin", self._rational(-1, True))

    def arcsinh(self) -> Jet:
        return self._integral("arcsinh", self._rational(1, True))

    def _pair(self, first: Any, second: Any, signs: tuple[int, int], both: tuple[str, str]) -> Jet:
        """The jet of u where u' = ±u·w and w' = ±u·(w or u)."""
        u, w = [first], [second]
        for n in range(self.order):
            u.append(product(u, w, n) * signs[0] / (n + 1))
            w.append(product(u[: n + 1], w if both[1] == "w" else u, n) * signs[1] / (n + 1))
        return Jet(u if both[0] == "u" else w)

    def bose(self) -> Jet:
        """1/(eᵗ − 1) = u, whose derivative is −u·(1 + u)."""
        u = self.value("bose", self.x)
        return self._pair(u, -self.value("bose", -self.x), (-1, -1), ("u", "w"))

    def csch(self) -> Jet:
        """1/sinh t, whose derivative is −csch·coth."""
        return self._pair(self.value("csch", self.x), 1 / self.value("tanh", self.x), (-1, -1), ("u", "u"))

    def coth(self) -> Jet:
        """1/tanh t, whose derivative is −csch²."""
        return self._pair(self.value("csch", self.x), 1 / self.value("tanh", self.x), (-1, -1), ("w", "u"))

    def tanh(self) -> Jet:
        """tanh t, whose derivative is sech²."""
        one = self.x * 0 + 1
        return Jet([one, *[one * 0] * self.order]) / self.coth()


_ONE_AT_ZERO = {"exp", "cos", "cosh", "sqrt"}


def value_at_zero(name: str, x: Any) -> Fraction:
    """Return the value at 0 of an elementary function that is 0 or 1 there."""
    return Fraction(1 if name in _ONE_AT_ZERO else 0)
