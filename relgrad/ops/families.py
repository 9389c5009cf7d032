"""Functions with a removable singularity, and others whose derivatives need a formula for each order.

A member of a family is its function differentiated `order` times, so each is closed under differentiation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.implementations import implements
from relgrad.ops.elementwise import OfProps
from relgrad.types import POSITIVE, REAL, Interval

__all__ = [
    "erfcx",
    "exprel_n",
    "log1prel_n",
    "sinc_n",
]


_NEGATIVE = Interval(-math.inf, 0.0, open_high=True)


class Family(OfProps):
    """f, f′, f″, …: f⁽ⁿ⁾′ = f⁽ⁿ⁺¹⁾: a function and its derivatives, `order` counts them, the next one is the rule of
    each.
    """

    __props__ = ("order",)
    kernel: ClassVar[Callable[..., Any]]

    def __init__(self, order: Any = 0):
        """order n → code kernel({}, n), rule g·f⁽ⁿ⁺¹⁾(x)."""
        name = self.kernel.__name__
        super().__init__(
            name, self._at_order, lambda g, out, x: g * self.derivative(x), code=f"{name}({{}}, {order})"
        )
        self.order = order
        self.imports = (name,)

    @property
    def derivative(self) -> Family:
        """The op of the next order."""
        return type(self)(self.order + 1)

    def _at_order(self, x: Any) -> Any:
        return type(self).kernel(x, self.order)

    def range_of(self, *ranges: Interval) -> Interval:
        return self.bounds(self.order, *ranges) if self.ground else REAL

    def bounds(self, n: int, x: Interval) -> Interval:
        return REAL

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(lambda x: self.exact(self.order, x), 1, 1)(*balls)

    @property
    def times(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.order

    def meaning(self, *operands: Any) -> Any:
        return type(self).formula(*operands) if self.ground else None

    @staticmethod
    def formula(x: Any) -> Any:
        """The function itself, order 0, in others; None where there are none."""
        return None

    def exact(self, n: int, x: Any) -> Any:
        """The n-th derivative at a ball."""
        raise NotImplementedError


def _fourier(n: int, c: int, x: Any) -> Any:
    """iⁿ·₁F₁(n + 1; c; ix), real part: ∫₀¹ tⁿ(1 − t)^(c − n − 2) cos(xt + nπ/2) dt but for a constant.

    Odd ones are x·iⁿ⁺¹·(n + 1)/c·₂F₃(…; −x²/4), since x is lost beside 1.
    """
    from flint import acb, arb

    if n % 2 and abs(x) < 1:
        above, below = (arb(n + 2) / 2, arb(n + 3) / 2), (arb(3) / 2, arb(c + 1) / 2, arb(c + 2) / 2)
        return x * ((-1) ** (n // 2 + 1) * (n + 1)) / c * (-x * x / 4).hypgeom(above, below)
    return (acb(0, 1) ** n * acb(0, x).hypgeom_1f1(n + 1, c)).real


def _alternating(self: Family, n: int, x: Interval) -> Interval:
    """Where the derivatives lie of a function that decreases, ever less steeply: their signs alternate."""
    return POSITIVE if n % 2 == 0 else _NEGATIVE


class SincN(Family):
    """dⁿ/dxⁿ (sin(x)/x) = SincN(n)(x)."""

    cancels = "turns"
    kernel = staticmethod(kernels.sinc_n)
    formula = staticmethod(lambda x: np.sin(x) / x)

    def bounds(self, n: int, x: Interval) -> Interval:
        return Interval(-0.22, 1.0) if n == 0 else Interval(-1 / (n + 1), 1 / (n + 1))

    def exact(self, n: int, x: Any) -> Any:
        return _fourier(n, n + 2, x) / (n + 1)


class ExprelN(Family):
    """dⁿ/dxⁿ ((eˣ − 1)/x) = ExprelN(n)(x)."""

    kernel = staticmethod(kernels.exprel_n)
    formula = staticmethod(lambda x: np.expm1(x) / x)

    def bounds(self, n: int, x: Interval) -> Interval:
        return POSITIVE

    def exact(self, n: int, x: Any) -> Any:
        return x.hypgeom_1f1(n + 1, n + 2) / (n + 1)


class Log1prelN(Family):
    """dⁿ/dxⁿ (log(1 + x)/x) = Log1prelN(n)(x)."""

    kernel = staticmethod(kernels.log1prel_n)
    formula = staticmethod(lambda x: np.log1p(x) / x)

    bounds = _alternating

    def exact(self, n: int, x: Any) -> Any:
        if x == -1:
            return type(x)("-inf" if n % 2 else "inf")
        return (-x).hypgeom_2f1(n + 1, n + 1, n + 2) * ((-1) ** n * math.factorial(n)) / (n + 1)


_FAR = 30


def ball_erfc(x: Any) -> Any:
    """erfc(x) = e^(−x²)·erfcx(x) of balls: far out flint's own bound of it holds no digits, unless x is exact."""
    return (-x * x).exp() * ball_erfcx(x) if _is_far(x) else x.erfc()


def ball_erfcx(x: Any) -> Any:
    """e^(x²)·erfc(x) of balls, which is U(1/2, 1/2, x²)/√π for x > 0."""
    half = x * 0 + 0.5
    return (x * x).hypgeom_u(half, half) / x.pi().sqrt() if _is_far(x) else (x * x).exp() * x.erfc()


def _is_far(x: Any) -> bool:
    return hasattr(x, "mid") and bool(x > _FAR)  # what is complex has no order


class ErfcxN(Family):
    """dⁿ/dxⁿ (e^(x²)·erfc(x)) = ErfcxN(n)(x)."""

    kernel = staticmethod(kernels.erfcx_n)
    formula = staticmethod(lambda x: np.exp(x * x) * scipy.special.erfc(x))

    bounds = _alternating

    def exact(self, n: int, x: Any) -> Any:
        """f⁽ⁿ⁺¹⁾ = 2·x·f⁽ⁿ⁾ + 2·n·f⁽ⁿ⁻¹⁾, f′ = 2·x·f − 2/√π, of balls."""
        below: Any = 0
        value = ball_erfcx(x)
        for k in range(n):
            constant = 0 if k else 2 / x.pi().sqrt()
            below, value = value, 2 * x * value + 2 * k * below - constant
        return value

    def unbounded(self, far: bool, *operands: Any) -> Any:
        """erfcx(x) = (1 − 1/(2x²) + 1·3/(2x²)² − …)/(x·√π), as x → ∞."""
        (x,), n = operands, self.order
        if not far:
            return None
        x = np.where(x > 0, x, np.nan)
        u, total = 1.0 / (x * x), 0.0 * x
        for k in reversed(range(ASYMPTOTIC)):
            # (2k − 1)!!/(−2)ᵏ of x^−(2k + 1), differentiated n times
            odd = math.factorial(2 * k) / (math.factorial(k) * (-4.0) ** k)
            total = total * u + odd * (-1.0) ** n * math.factorial(2 * k + n) / math.factorial(2 * k)
        return total / (x ** (n + 1) * math.sqrt(math.pi))


ASYMPTOTIC = 24
"""So many terms of asymptotic series: more than are summed."""


_BERNOULLI = scipy.special.bernoulli(48)


def stirling(x: Any, n: int = -1) -> Any:
    """log Γ(x), or ψ⁽ⁿ⁾(x), as x → ∞: the terms of Stirling's series that count, and more.

    log Γ(x) = (x − 1/2)·log x − x + log(2π)/2 + Σ B₂ₖ/(2k·(2k − 1))·x^(1 − 2k); as x → −∞ it is none of these.
    """
    x = np.where(x > 0, x, np.nan)
    u, sign = 1.0 / (x * x), (-1.0) ** (n + 1)
    weights = [_BERNOULLI[k] * math.gamma(k + n) / math.factorial(k) for k in range(2, len(_BERNOULLI), 2)]
    tail = 0.0 * x
    for weight in reversed(weights):
        tail = (tail + weight) * u
    if n < 0:
        return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + tail * x
    if n == 0:
        return np.log(x) - 0.5 / x - tail
    return sign * (math.factorial(n - 1) + 0.5 * math.factorial(n) / x + tail) / x**n


class DigammaN(Family):
    """dⁿ/dxⁿ ψ(x) = DigammaN(n)(x)."""

    kernel = staticmethod(kernels.digamma_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        if n == 0 or not x.nonnegative:
            return REAL
        return POSITIVE if n % 2 else _NEGATIVE

    def unbounded(self, far: bool, *operands: Any) -> Any:
        (x,), n = operands, self.order
        if far:
            return stirling(x, n)
        return DigammaN(n)(x + 1.0) - (-1.0) ** n * math.factorial(n) / x ** (n + 1)

    def exact(self, n: int, x: Any) -> Any:
        from flint import acb

        return acb(x).polygamma(n).real


def _function(family: type[Family], *also: Any) -> Callable[..., Any]:
    """Return the function of `(x, order=0)` that applies a family, which its kernel is traced to."""

    def apply(x: Any, order: Any = 0) -> Any:
        return family(order)(x)

    apply.__name__ = apply.__qualname__ = family.kernel.__name__
    apply.__doc__ = family.kernel.__doc__
    implements(family.kernel)(apply)
    implements(*also)(family(0))
    return apply


sinc_n = _function(SincN)
exprel_n = _function(ExprelN, scipy.special.exprel)
log1prel_n = _function(Log1prelN)
erfcx_n = _function(ErfcxN, scipy.special.erfcx)
digamma_n = _function(DigammaN, scipy.special.digamma)
exprel, erfcx, digamma = ExprelN(), ErfcxN(), DigammaN()


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Trace `np.sinc`: sin(πx)/(πx)."""
    return SincN()(np.pi * x)
