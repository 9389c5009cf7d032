"""Complex balls on which every operation is analytic, or raises, or has no value.

Source: Johansson 2018, Numerical integration in arbitrary-precision ball arithmetic, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgrad.accuracy.optional import optional


class Analytic:
    """A complex ball in which an op computes as in a real one, continued from the real numbers in the ball.

    Numbers are compared, and |x| and max(x, y) chosen, by their real parts, where all in the balls decide alike: on
    the reals the choice is the same, and so is what continues it.
    """

    __slots__ = ("z",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, z: Any):
        self.z = optional("flint").acb(_inner(z))

    def size(self) -> Any:
        """Return a bound of the absolute value."""
        return self.z.abs_upper()

    def is_finite(self) -> bool:
        return self.z.is_finite()

    def is_zero(self) -> bool:
        return self.z.is_zero()

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
        return optional("flint").arb(-1 if self < 0 else 1)

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

    def __getattr__(self, name: str) -> Callable[[], Analytic]:
        if name in _WITHOUT_CUTS:
            return lambda: Analytic(getattr(self.z, name)())
        if name in _WITH_CUTS:
            return lambda: Analytic(_WITH_CUTS[name](self.z))
        raise AttributeError(f"{name} is not known to be analytic", name=name, obj=self)


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


_WITHOUT_CUTS = frozenset(
    [
        *("exp", "expm1", "sin", "cos", "tan", "cot", "sec", "csc"),
        *("sinh", "cosh", "tanh", "coth", "sech", "csch"),
        *("erf", "erfc", "erfi", "gamma", "rgamma", "digamma", "sinc"),
    ]
)
"""Functions that are analytic wherever they are finite."""
_WITH_CUTS: dict[str, Callable[[Any], Any]] = {
    "log": _log,
    "log1p": lambda z: _log(1 + z),
    "sqrt": _sqrt,
    "rsqrt": lambda z: 1 / _sqrt(z),
    "lgamma": lambda z: _right(z).lgamma(),
    "asinh": lambda z: _log(z + _sqrt(z * z + 1)),
    "acosh": lambda z: _log(z + _sqrt(z - 1) * _sqrt(z + 1)),
    "atanh": lambda z: (_log(1 + z) - _log(1 - z)) / 2,
    "atan": lambda z: (_log(1 + 1j * z) - _log(1 - 1j * z)) / 2j,
    "asin": lambda z: 1j * _log(_sqrt(1 - z * z) - 1j * z),
    "acos": lambda z: 1j * _log(z - 1j * _sqrt(1 - z * z)),
}
"""Functions with cuts, which have no value in balls that meet one."""
