"""Elementwise functions that keep floating point from cancelling: the log domain, removable singularities.

Each row traces the kernel and, where there is one, SciPy's ufunc of that name. Derivatives are written in
functions of this file again, so that those of every order keep the accuracy of the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.op import Laws, Op, implements
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval

NEGATIVE = Interval(-math.inf, 0.0, open_high=True)


def _row(function: Callable[..., Any], *rules: Any, also: Any = None, **options: Any) -> Elementwise:
    """Declare an op whose source calls the kernel; SciPy's ufunc (`also`) is traced to it as well."""
    op = elementwise(function.__name__, function, *rules, kernel=True, **options)
    if also is not None:
        implements(also)(op)
    return op


def _ball_log1mexp(x: Any) -> Any:
    return (-x.expm1()).log() if float(x.mid()) > -1 else (-x.exp()).log1p()


def _ball_xlogy(x: Any, y: Any) -> Any:
    return x if x.is_zero() else x * y.log()


expit = _row(
    kernels.expit,
    lambda g, out, x: g * out * expit(-x),
    also=scipy.special.expit,
    range=UNIT,
    laws=Laws(monotone=1, inverse="logit"),
    ball=lambda x: 1 / (1 + (-x).exp()),
)
logit = _row(
    kernels.logit,
    lambda g, out, x: g / (x * (1 - x)),
    laws=Laws(monotone=1, inverse="expit"),
    ball=lambda x: x.log() - (-x).log1p(),
)
log_expit = _row(
    kernels.log_expit,
    lambda g, out, x: g * expit(-x),
    also=scipy.special.log_expit,
    range=NEGATIVE,
    laws=Laws(monotone=1),
    ball=lambda x: -(-x).exp().log1p(),
)
softplus = _row(
    kernels.softplus,
    lambda g, out, x: g * expit(x),
    range=POSITIVE,
    laws=Laws(monotone=1),
    ball=lambda x: x.exp().log1p(),
)
log1pexp = softplus
bose = _row(
    kernels.bose,
    lambda g, out, x: g * out * bose(-x),
    range=lambda x: POSITIVE if x.nonnegative else Interval(-math.inf, -1.0) if x.high <= 0 else REAL,
    ball=lambda x: 1 / x.expm1(),
)
log1mexp = _row(
    kernels.log1mexp,
    lambda g, out, x: -g * bose(-x),
    range=NEGATIVE,
    laws=Laws(monotone=-1, inverse="log1mexp"),
    ball=_ball_log1mexp,
)
logdiffexp = _row(
    kernels.logdiffexp,
    lambda g, out, x, y: -g * bose(y - x),
    lambda g, out, x, y: -g * bose(x - y),
    ball=lambda x, y: x + _ball_log1mexp(y - x),
)
log_cosh = _row(
    kernels.log_cosh,
    lambda g, out, x: g * np.tanh(x),
    range=NONNEGATIVE,
    ball=lambda x: (2 * (x / 2).sinh() ** 2).log1p(),
)

# 0·log 0 is 0 in xlogy, and the derivatives keep that up: a zero cotangent or factor makes zero.
xdivy = _row(
    kernels.xdivy,
    lambda g, out, x, y: xdivy(g, y),
    lambda g, out, x, y: -xdivy(g * out, y),
    laws=Laws(linear=(0,)),
    ball=lambda x, y: x if x.is_zero() else x / y,
)
xlogy = elementwise(
    "xlogy",
    kernels.xlogy,
    lambda g, out, x, y: xlogy(g, y),
    lambda g, out, x, y: xdivy(g * x, y),
    kernel=True,
    laws=Laws(linear=(0,)),
    ball=_ball_xlogy,
)
xlog1py = elementwise(
    "xlog1py",
    kernels.xlog1py,
    lambda g, out, x, y: xlog1py(g, y),
    lambda g, out, x, y: xdivy(g * x, 1 + y),
    kernel=True,
    laws=Laws(linear=(0,)),
    ball=lambda x, y: x if x.is_zero() else x * y.log1p(),
)
entr = _row(
    kernels.entr,
    lambda g, out, x: -xlogy(g, x) - g,
    range=Interval(-math.inf, 0.36787944117144233),
    ball=lambda x: -_ball_xlogy(x, x),
)
rel_entr = _row(
    kernels.rel_entr,
    lambda g, out, x, y: xlogy(g, x / y) + g,
    lambda g, out, x, y: -xdivy(g * x, y),
    ball=lambda x, y: x if x.is_zero() else x * (x / y).log(),
)


class Family(Elementwise):
    """A function and its derivatives: `order` counts them, and the next one is the rule of each."""

    __props__ = ("order",)
    kernel: ClassVar[Callable[..., Any]]
    ground = Op.ground
    __repr__ = __str__ = Op.__repr__

    def __init__(self, order: Any = 0):
        name = self.kernel.__name__
        super().__init__(
            name, self._at_order, lambda g, out, x: g * self.derivative(x), code=f"{name}({{}}, {order})"
        )
        self.order = order
        self.imports = (name,)

    def with_props(self, props: Any) -> Op:
        return type(self)(*props)

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

    def exact(self, n: int, x: Any) -> Any:
        """The n-th derivative at a ball."""
        raise NotImplementedError


def _fourier(n: int, c: int, x: Any) -> Any:
    """iⁿ·₁F₁(n + 1; c; ix), real part: ∫₀¹ tⁿ(1 − t)^(c − n − 2) cos(xt + nπ/2) dt but for a constant."""
    from flint import acb

    return (acb(0, 1) ** n * acb(0, x).hypgeom_1f1(n + 1, c)).real


class SincN(Family):
    """The derivatives of sin(x)/x."""

    kernel = staticmethod(kernels.sinc_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        return Interval(-0.22, 1.0) if n == 0 else Interval(-1 / (n + 1), 1 / (n + 1))

    def exact(self, n: int, x: Any) -> Any:
        return _fourier(n, n + 2, x) / (n + 1)


class CoscN(Family):
    """The derivatives of (1 − cos x)/x²."""

    kernel = staticmethod(kernels.cosc_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        bound = 1 / ((n + 1) * (n + 2))
        return Interval(0.0 if n == 0 else -bound, bound)

    def exact(self, n: int, x: Any) -> Any:
        return _fourier(n, n + 3, x) / ((n + 1) * (n + 2))


class ExprelN(Family):
    """The derivatives of (eˣ − 1)/x."""

    kernel = staticmethod(kernels.exprel_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        return POSITIVE

    def exact(self, n: int, x: Any) -> Any:
        return x.hypgeom_1f1(n + 1, n + 2) / (n + 1)


class Log1prelN(Family):
    """The derivatives of log(1 + x)/x."""

    kernel = staticmethod(kernels.log1prel_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        return POSITIVE if n % 2 == 0 else NEGATIVE

    def exact(self, n: int, x: Any) -> Any:
        return (-x).hypgeom_2f1(n + 1, n + 1, n + 2) * ((-1) ** n * math.factorial(n)) / (n + 1)


class ErfcxN(Family):
    """The derivatives of exp(x²)·erfc(x)."""

    kernel = staticmethod(kernels.erfcx_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        return POSITIVE if n % 2 == 0 else NEGATIVE

    def exact(self, n: int, x: Any) -> Any:
        below: Any = 0
        value = (x * x).exp() * x.erfc()
        for k in range(n):
            constant = 0 if k else 2 / x.pi().sqrt()
            below, value = value, 2 * x * value + 2 * k * below - constant
        return value


class DigammaN(Family):
    """The derivatives of the digamma function."""

    kernel = staticmethod(kernels.digamma_n)

    def bounds(self, n: int, x: Interval) -> Interval:
        if n == 0 or not x.nonnegative:
            return REAL
        return POSITIVE if n % 2 else NEGATIVE

    def exact(self, n: int, x: Any) -> Any:
        from flint import acb

        return acb(n).polygamma(x).real if n < 0 else acb(x).polygamma(n).real


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
cosc_n = _function(CoscN)
exprel_n = _function(ExprelN, scipy.special.exprel)
log1prel_n = _function(Log1prelN)
erfcx_n = _function(ErfcxN, scipy.special.erfcx)
digamma_n = _function(DigammaN, scipy.special.digamma)
exprel, erfcx, digamma = ExprelN(), ErfcxN(), DigammaN()


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Trace `np.sinc`: sin(πx)/(πx)."""
    return SincN()(np.pi * x)


erf = elementwise(
    "erf",
    kernels.erf,
    lambda g, out, x: g * (1.1283791670955126 * np.exp(-np.square(x))),
    kernel=True,
    range=Interval(-1.0, 1.0, True, True),
    laws=Laws(monotone=1),
    ball=lambda x: x.erf(),
)
erfc = _row(
    kernels.erfc,
    lambda g, out, x: g * (-1.1283791670955126 * np.exp(-np.square(x))),
    also=scipy.special.erfc,
    range=Interval(0.0, 2.0, True, True),
    laws=Laws(monotone=-1),
    ball=lambda x: x.erfc(),
)
ndtr = _row(
    kernels.ndtr,
    lambda g, out, x: g * (0.3989422804014327 * np.exp(-0.5 * np.square(x))),
    also=scipy.special.ndtr,
    range=UNIT,
    laws=Laws(monotone=1, inverse="ndtri"),
    ball=lambda x: _ball_ndtr(x),
)
ndtri = elementwise(
    "ndtri",
    kernels.ndtri,
    lambda g, out, x: g * (2.5066282746310002 * np.exp(0.5 * np.square(out))),
    kernel=True,
    laws=Laws(monotone=1, inverse="ndtr"),
    ball=lambda x: -((2 * x).erfcinv()) * (x * 0 + 2).sqrt(),
)
mills = _row(
    kernels.mills,
    lambda g, out, x: -g * out * mills_excess(x),
    range=POSITIVE,
    laws=Laws(monotone=-1),
    ball=lambda x: _ball_mills(x),
)
mills_excess = _row(
    kernels.mills_excess,
    lambda g, out, x: g * (1 - mills(x) * out),
    range=POSITIVE,
    laws=Laws(monotone=1),
    ball=lambda x: x + _ball_mills(x),
)
log_ndtr = _row(
    kernels.log_ndtr,
    lambda g, out, x: g * mills(x),
    also=scipy.special.log_ndtr,
    range=NEGATIVE,
    laws=Laws(monotone=1),
    ball=lambda x: _ball_ndtr(x).log() if float(x.mid()) < 0 else (-_ball_ndtr(-x)).log1p(),
)


def _ball_ndtr(x: Any) -> Any:
    return (-x / (x * 0 + 2).sqrt()).erfc() / 2


def _ball_mills(x: Any) -> Any:
    return (-x * x / 2).exp() / (2 * x.pi()).sqrt() / _ball_ndtr(x)


gamma = elementwise(
    "gamma",
    kernels.gamma,
    lambda g, out, x: g * out * digamma(x),
    kernel=True,
    range=lambda x: POSITIVE if x.nonnegative else REAL,
    ball=lambda x: x.gamma(),
)
gammaln = elementwise(
    "gammaln",
    kernels.gammaln,
    lambda g, out, x: g * digamma(x),
    kernel=True,
    ball=lambda x: x.lgamma() if float(x.mid()) > 0 else abs(x.gamma()).log(),
)
beta = elementwise(
    "beta",
    kernels.beta,
    lambda g, out, x, y: g * out * (digamma(x) - digamma(x + y)),
    lambda g, out, x, y: g * out * (digamma(y) - digamma(x + y)),
    kernel=True,
    laws=Laws(commutative=True),
    range=lambda x, y: POSITIVE if x.nonnegative and y.nonnegative else REAL,
    ball=lambda x, y: x.gamma() * y.gamma() / (x + y).gamma(),
)
betaln = elementwise(
    "betaln",
    kernels.betaln,
    lambda g, out, x, y: g * (digamma(x) - digamma(x + y)),
    lambda g, out, x, y: g * (digamma(y) - digamma(x + y)),
    kernel=True,
    laws=Laws(commutative=True),
    ball=lambda x, y: abs(x.gamma() * y.gamma() / (x + y).gamma()).log(),
)
