"""Classical functions: Bessel's, of whole orders, the incomplete gamma and beta functions, exponential integrals.

Each is SciPy's, with the derivatives that have a formula: of incomplete functions that in the bound of the integral.
Source of the rules: NIST DLMF 10.6.1, 10.29.1, 8.8.13, 8.17.20 and 6.2.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.errors import TraceError
from relgrad.implementations import implements
from relgrad.leaf import grad_not_implemented
from relgrad.op import Op, as_term, is_constant
from relgrad.ops.arithmetic import absolute, negative
from relgrad.ops.casting import cast
from relgrad.ops.differences import boxcox
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.families import DigammaN, digamma, log1prel_n
from relgrad.ops.special import betaln, gamma, gammaln
from relgrad.ops.stable import rel_entr, xlog1py, xlogy
from relgrad.term import Term
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval

_sp = scipy.special

__all__ = [
    "Bessel",
    "betainc",
    "betaincc",
    "erfcinv",
    "erfinv",
    "exp1",
    "expi",
    "gammainc",
    "gammaincc",
    "rgamma",
]


class Partial(Elementwise):
    """∂f/∂x by a rule, ∂f/∂a = not known: an elementwise op with rules for some operands (None for the others)."""

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x̄ᵢ = ruleᵢ(ȳ), or `grad_not_implemented` where there is no rule."""
        cotangents = super().L_op(inputs, outputs, output_gradients)
        return [
            grad_not_implemented(self, i) if self.rules[i] is None and inputs[i].dtype.kind == "f" else c
            for i, c in enumerate(cotangents)
        ]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any] | None:
        return None  # the pullback knows which rules there are


def _partial(label: str, *rules: Any, **options: Any) -> Partial:
    """Return the op of a SciPy function of that name, which it traces."""
    op = Partial(label, getattr(kernels, label), *rules, kernel=True, **options)
    implements(getattr(scipy.special, label))(op)
    return op


def _gamma_density(a: Any, x: Any) -> Any:
    return np.exp(xlogy(a - 1, x) - x - gammaln(a))


def _not_a_gamma(a: Any, x: Any) -> Any:
    return np.logical_or(np.logical_or(a < 0, x < 0), np.logical_and(a == 0, x == 0))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return np.exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


def _of_moderate(ball: Callable[..., Any]) -> Callable[..., Any]:
    """f(a, x), f(a, b, x) below 2000, NaN for several larger: the rule in ball arithmetic of moderate numbers.

    Others would take minutes. NaN where one of the first two is negative, of which balls would know a continuation.
    """

    def known(*operands: Any) -> Any:
        """operands → ball(operands), NaN where more than one is large, or outside of the domain."""
        large = [x for x in operands if not abs(x) < 2000]
        outside = any(x < 0 for x in operands[:2])
        return operands[-1] * math.nan if outside or len(large) > 1 else ball(*operands)

    return known


gammainc = _partial(
    "gammainc",
    None,
    lambda g, out, a, x: g * _gamma_density(a, x),
    range=UNIT,
    outside=_not_a_gamma,
    ball=_of_moderate(lambda a, x: x.gamma_lower(a, regularized=1)),
    complement=lambda a, x: gammaincc(a, x),
)
gammaincc = _partial(
    "gammaincc",
    None,
    lambda g, out, a, x: -(g * _gamma_density(a, x)),
    range=UNIT,
    outside=_not_a_gamma,
    ball=_of_moderate(lambda a, x: x.gamma_upper(a, regularized=1)),
    complement=lambda a, x: gammainc(a, x),
)
betainc = _partial(
    "betainc",
    None,
    None,
    lambda g, out, a, b, x: g * _beta_density(a, b, x),
    range=UNIT,
    ball=_of_moderate(lambda a, b, x: x.beta_lower(a, b, regularized=1)),
    complement=lambda a, b, x: betaincc(a, b, x),
)
betaincc = _partial(
    "betaincc",
    None,
    None,
    lambda g, out, a, b, x: -(g * _beta_density(a, b, x)),
    range=UNIT,
    ball=_of_moderate(lambda a, b, x: 1 - x.beta_lower(a, b, regularized=1)),
)
expi = _partial("expi", lambda g, out, x: g * (np.exp(x) / x), ball=lambda x: x.ei())
exp1 = _partial(
    "exp1",
    lambda g, out, x: -(g * (np.exp(-x) / x)),
    range=lambda x: POSITIVE if x.nonnegative else REAL,
    laws=Laws(monotone=-1),
    outside=lambda x: x < 0,
    ball=lambda x: x.expint(1),
)


erfinv = _partial(
    "erfinv",
    lambda g, out, x: g * (0.886226925452758 * np.exp(np.square(out))),
    laws=Laws(monotone=1),
    outside=lambda x: np.logical_or(x < -1, x > 1),
    margin=lambda x: 1.0 - np.abs(x),
    ball=lambda x: x.erfinv(),
)
erfcinv = _partial(
    "erfcinv",
    lambda g, out, x: -(g * (0.886226925452758 * np.exp(np.square(out)))),
    laws=Laws(monotone=-1),
    outside=lambda x: np.logical_or(x < 0, x > 2),
    ball=lambda x: x.erfcinv(),
)
rgamma = _partial(
    "rgamma",
    lambda g, out, x: -(g * out * digamma(x)),
    ball=lambda x: x.rgamma(),
    meaning=lambda x: 1.0 / gamma(x),
)


def _mean_rule(sign: float, scaled: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """f′ₙ = ±(fₙ₋₁ + fₙ₊₁)/2, and what scaling by an exponential adds."""

    def rule(op: Bessel, g: Any, out: Any, x: Any) -> Any:
        beside = op.at(1)(x) if op.order == 0 else 0.5 * (op.at(op.order - 1)(x) + op.at(op.order + 1)(x))
        return g * (sign * beside + (0.0 if scaled is None else scaled(out, x)))

    return rule


def _difference_rule(op: Bessel, g: Any, out: Any, x: Any) -> Any:
    """f′ₙ = (fₙ₋₁ − fₙ₊₁)/2; f′₀ = −f₁."""
    if op.order == 0:
        return -(g * op.at(1)(x))
    return g * (0.5 * (op.at(op.order - 1)(x) - op.at(op.order + 1)(x)))


_RULES: dict[str, Callable[..., Any]] = {
    "jv": _difference_rule,
    "yv": _difference_rule,
    "iv": _mean_rule(1.0),
    "ive": _mean_rule(1.0, lambda out, x: -(np.sign(x) * out)),
    "kv": _mean_rule(-1.0),
    "kve": _mean_rule(-1.0, lambda out, x: out),
}
_BALLS: dict[str, Callable[..., Any]] = {
    "jv": lambda n, x: x.bessel_j(n),
    "yv": lambda n, x: x.bessel_y(n),
    "iv": lambda n, x: x.bessel_i(n),
    "ive": lambda n, x: x.bessel_i(n) * (-abs(x)).exp(),
    "kv": lambda n, x: x.bessel_k(n),
    "kve": lambda n, x: x.bessel_k(n) * x.exp(),
}
_OF_POSITIVE = {"yv", "kv", "kve"}


class Bessel(Elementwise):
    """Bessel("jv", n)(x) = Jₙ(x): a Bessel function of a kind, by SciPy's name of it, and of a whole order from 0."""

    __props__ = ("kind", "order")
    # The props may be logic variables, so the general answer holds again.
    ground = Op.ground  # pyright: ignore[reportIncompatibleMethodOverride]
    __repr__ = __str__ = Op.__repr__

    def __init__(self, kind: Any, order: Any):
        """(jv, 0) → code jv(0, {}), and the rule of the kind."""
        super().__init__(
            "bessel",
            self._at_order,
            lambda g, out, x: _RULES[kind](self, g, out, x),
            code=f"{kind}({order}, {{}})",
        )
        self.kind, self.order = kind, order
        self.imports = (str(kind),)
        told = getattr(getattr(kernels, str(kind), None), "tells", "")
        self.says(grows=told == "grows", vanishes=told == "vanishes")

    def at(self, order: int) -> Bessel:
        """The function of the same kind of another order."""
        return type(self)(self.kind, order)

    def _at_order(self, x: Any) -> Any:
        return getattr(kernels, self.kind)(self.order, x)

    def in_log_domain(self, node: Term) -> tuple[Any, Any] | None:
        """Iₙ(x) = iveₙ(x)·e^|x|, Kₙ(x) = kveₙ(x)·e^−x."""
        if self.kind not in ("iv", "kv"):
            return None
        (x,) = node.rands
        return Bessel(f"{self.kind}e", self.order).make_node(x), (
            absolute if self.kind == "iv" else negative
        ).make_node(x)

    def outside(self, *operands: Any) -> Any:
        return operands[0] < 0 if self.kind in _OF_POSITIVE else None

    def range_of(self, *ranges: Interval) -> Interval:
        """Jₙ → [−1, 1], Iₙ(x ≥ 0) → [0, ∞), Kₙ → (0, ∞)."""
        (x,) = ranges
        if not self.ground:
            return REAL
        if self.kind == "jv":
            return Interval(-1.0, 1.0)
        if self.kind in ("iv", "ive") and (x.nonnegative or self.order % 2 == 0):
            return NONNEGATIVE
        return POSITIVE if self.kind in ("kv", "kve") else REAL

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(lambda x: _BALLS[self.kind](self.order, x), 1, 1)(*balls)


def _of_order(kind: str, also: dict[Any, int]) -> None:
    """(jv, {j0: 0}) → jv(n, x) and j0(x) are traced: the SciPy function of a kind, and those of one order."""

    def apply(v: Any, z: Any) -> Any:
        return Bessel(kind, _whole(kind, v))(z)

    implements(getattr(scipy.special, kind), getattr(kernels, kind))(apply)
    for function, order in also.items():
        implements(function)(Bessel(kind, order))


def _whole(kind: str, v: Any) -> int:
    """(jv, 2.0) → 2: an order as an integer ≥ 0; raises TraceError for others."""
    given = as_term(v)
    value = given.op.value if is_constant(given) else operator.index(v)
    if np.ndim(value) or value != np.floor(value) or not 0 <= value < math.inf:
        raise TraceError(
            f"scipy.special.{kind} cannot be traced for the order {value}",
            cause="only one order, a whole number from 0, is traced: of others no derivative is known in closed form",
            cure="call it for each order of a loop, and np.stack the results",
        )
    return int(value)


_of_order("jv", {_sp.j0: 0, _sp.j1: 1})
_of_order("yv", {_sp.y0: 0, _sp.y1: 1})
_of_order("iv", {_sp.i0: 0, _sp.i1: 1, np.i0: 0})
_of_order("ive", {_sp.i0e: 0, _sp.i1e: 1})
_of_order("kv", {_sp.k0: 0, _sp.k1: 1})
_of_order("kve", {_sp.k0e: 0, _sp.k1e: 1})


def polygamma(n: Any, x: Any) -> Any:
    """Return the term of `scipy.special.polygamma`: the derivatives of the digamma function, of one order."""
    return DigammaN(_whole("polygamma", n))(cast(as_term(x), np.float64))


def multigammaln(a: Any, d: Any) -> Any:
    """Trace `scipy.special.multigammaln`: Σ log Γ(a − k/2) over k < d, and d(d − 1)/4 · log π."""
    parts = [gammaln(a - 0.5 * k) for k in range(operator.index(d))]
    return sum(parts, 0.25 * d * (d - 1) * np.log(np.pi))


for _ufunc, _function in {
    _sp.cbrt: np.cbrt,
    _sp.exp2: np.exp2,
    _sp.expm1: np.expm1,
    _sp.log1p: np.log1p,
}.items():
    implements(_ufunc)(lambda x, f=_function: f(x))
implements(_sp.exp10)(lambda x: np.power(10.0, x))
implements(_sp.rel_entr)(lambda x, y: _unless_negative(np.minimum(x, y), rel_entr(x, y)))
implements(_sp.kl_div)(lambda x, y: _unless_negative(np.minimum(x, y), rel_entr(x, y) - x + y))
implements(_sp.pseudo_huber)(lambda d, r: _unless_negative(d, d * (np.hypot(d, r) - d)))
implements(_sp.cosm1)(lambda x: np.cos(x) - 1)
implements(_sp.powm1)(lambda x, y: np.power(x, y) - 1)
implements(_sp.boxcox)(lambda x, a: np.where(x < 0, np.nan, boxcox(x, a, x - 1)))
implements(_sp.boxcox1p)(lambda x, a: np.where(x < -1, np.nan, boxcox(1 + x, a, x)))
implements(_sp.inv_boxcox)(lambda y, a: np.exp(y * log1prel_n(a * y, 0)))
implements(_sp.inv_boxcox1p)(lambda y, a: np.expm1(y * log1prel_n(a * y, 0)))
implements(_sp.chdtr)(lambda v, x: gammainc(v / 2, x / 2))
implements(_sp.chdtrc)(lambda v, x: gammaincc(v / 2, x / 2))
implements(_sp.pdtr)(lambda k, m: np.where(k < 0, np.nan, gammaincc(np.floor(k) + 1, m)))
implements(_sp.pdtrc)(lambda k, m: np.where(k < 0, np.nan, gammainc(np.floor(k) + 1, m)))
implements(_sp.huber)(lambda d, r: _unless_negative(d, _huber(d, r, np.abs(r))))


def _unless_negative(x: Any, value: Any) -> Any:
    """x < 0 → ∞: a convex function outside of its domain."""
    return np.where(x < 0, np.inf, value)


@implements(_sp.poch)
def poch(z: Any, m: Any) -> Any:
    """Trace `scipy.special.poch`: z·(z + 1)⋯(z + m − 1) for a few factors, which have no poles; else Γ(z + m)/Γ(z)."""
    order = as_term(m)
    if is_constant(order) and order.type.ndim == 0 and (n := order.op.value.item()) in range(1, 9):
        return math.prod((z + k for k in range(1, int(n))), start=1.0 * z)
    return _sp.gamma(z + m) / _sp.gamma(z)


def _huber(d: Any, r: Any, size: Any) -> Any:
    return np.where(size <= d, 0.5 * r * r, d * (size - 0.5 * d))
