"""Complex balls on which every operation is analytic, or raises, or has no value.

Source: Johansson 2018, Numerical integration in arbitrary-precision ball arithmetic, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _entire(name: str) -> Callable[[Analytic], Analytic]:
    """Return the method of a complex ball under its name in flint."""
    return lambda self: Analytic(getattr(self.z, name)())


def _cut(function: Callable[[Any], Any]) -> Callable[[Analytic], Analytic]:
    """Return the method of a function of complex balls."""
    return lambda self: Analytic(function(self.z))


class Analytic:
    """f(x + i·y) for balls x, y: = f continued from the real numbers in the ball; raises where it is not analytic.

    Numbers are compared, and |x| and max(x, y) chosen, by their real parts, where all in the balls decide alike: on
    the reals the choice is the same, and so is what continues it.
    """

    __slots__ = ("z",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, z: Any):
        import flint

        self.z = flint.acb(_inner(z))

    def size(self) -> Any:
        """Return a bound of the absolute value."""
        return self.z.abs_upper()

    def is_finite(self) -> bool:
        return self.z.is_finite()

    def is_zero(self) -> bool:
        return self.z.is_zero()

    def pi(self) -> Analytic:
        return Analytic(self.z.pi())

    def __eq__(self, other: object) -> bool:
        if self.z.overlaps(Analytic(other).z):
            raise TypeError("whether complex balls that meet are equal is not known")
        return False

    def __lt__(self, other: Any) -> bool:
        gap = Analytic(other).z.real - self.z.real
        if not (gap > 0 or gap <= 0):
            raise TypeError("which of two complex balls that meet is less is not known")
        return bool(gap > 0)

    def __gt__(self, other: Any) -> bool:
        return Analytic(other) < self

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self < 0 or self > 0

    def __abs__(self) -> Analytic:
        return -self if self < 0 else self

    def sgn(self) -> Any:
        import flint

        return flint.arb(-1 if self < 0 else 1)

    def max(self, other: Any) -> Any:
        return other if self < other else self

    def min(self, other: Any) -> Any:
        return self if self < other else other

    def __add__(self, other: Any) -> Analytic:
        return Analytic(self.z + _inner(other))

    def __sub__(self, other: Any) -> Analytic:
        return Analytic(self.z - _inner(other))

    def __rsub__(self, other: Any) -> Analytic:
        return Analytic(_inner(other) - self.z)

    def __mul__(self, other: Any) -> Analytic:
        return Analytic(self.z * _inner(other))

    def __truediv__(self, other: Any) -> Analytic:
        return Analytic(self.z / _inner(other))

    def __rtruediv__(self, other: Any) -> Analytic:
        return Analytic(_inner(other) / self.z)

    def __neg__(self) -> Analytic:
        return Analytic(-self.z)

    def __pow__(self, other: Any) -> Analytic:
        return Analytic(_power(self.z, Analytic(other).z))

    def __rpow__(self, other: Any) -> Analytic:
        return Analytic(_power(Analytic(other).z, self.z))

    __radd__, __rmul__ = __add__, __mul__

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} is not known to be analytic", name=name, obj=self)

    # Functions that are analytic wherever they are finite.
    exp, expm1 = _entire("exp"), _entire("expm1")
    sin, cos, tan = _entire("sin"), _entire("cos"), _entire("tan")
    cot, sec, csc = _entire("cot"), _entire("sec"), _entire("csc")
    sinh, cosh, tanh = _entire("sinh"), _entire("cosh"), _entire("tanh")
    coth, sech, csch = _entire("coth"), _entire("sech"), _entire("csch")
    erf, erfc, erfi, sinc = _entire("erf"), _entire("erfc"), _entire("erfi"), _entire("sinc")
    gamma, rgamma, digamma = _entire("gamma"), _entire("rgamma"), _entire("digamma")

    # Functions with cuts, which have no value in balls that meet one.
    log = _cut(lambda z: _log(z))
    log1p = _cut(lambda z: _log(1 + z))
    sqrt = _cut(lambda z: _sqrt(z))
    rsqrt = _cut(lambda z: 1 / _sqrt(z))
    lgamma = _cut(lambda z: _right(z).lgamma())
    asinh = _cut(lambda z: _log(z + _sqrt(z * z + 1)))
    acosh = _cut(lambda z: _log(z + _sqrt(z - 1) * _sqrt(z + 1)))
    atanh = _cut(lambda z: (_log(1 + z) - _log(1 - z)) / 2)
    atan = _cut(lambda z: (_log(1 + 1j * z) - _log(1 - 1j * z)) / 2j)
    asin = _cut(lambda z: 1j * _log(_sqrt(1 - z * z) - 1j * z))
    acos = _cut(lambda z: 1j * _log(z - 1j * _sqrt(1 - z * z)))


def _inner(x: Any) -> Any:
    return x.z if isinstance(x, Analytic) else x


def _power(base: Any, exponent: Any) -> Any:
    whole = exponent.unique_fmpz() if exponent.is_exact() else None
    return base.pow(exponent, analytic=True) if whole is None else base**whole


def _log(z: Any) -> Any:
    return z.log(analytic=True)


def _sqrt(z: Any) -> Any:
    return z.sqrt(analytic=True)


def _right(z: Any) -> Any:
    """Return a number that lies to the right of 0, or no number."""
    return z if z.real > 0 else z * float("nan")
