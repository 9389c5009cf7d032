"""Classical functions: of fixed parameters, as Bessel's, hypergeometric ones and polynomials; elliptic and exponential
integrals.

Each is SciPy's. Source of the rules: NIST DLMF 6.2, 7.13, 19.4, 25.12, and those beside the kinds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.errors import TraceError
from relgrad.implementations import implements
from relgrad.op import as_term, is_constant
from relgrad.ops.arithmetic import absolute, negative
from relgrad.ops.casting import cast
from relgrad.ops.differences import boxcox
from relgrad.ops.distributions import of_scipy
from relgrad.ops.elementwise import OfProps
from relgrad.ops.families import ASYMPTOTIC, DigammaN, digamma, log1prel_n
from relgrad.ops.special import beta, gamma, gammaln
from relgrad.ops.stable import rel_entr
from relgrad.term import Term
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, Interval

_sp = scipy.special

__all__ = [
    "Parametric",
    "erfcinv",
    "erfinv",
    "exp1",
    "expi",
    "rgamma",
]


def _asymptotic(x: Any, ratio: Callable[[int], float]) -> Any:
    """1 + r₁/x·(1 + r₂/x·(1 + …)): the terms of an asymptotic series that count, by the ratios of its coefficients."""
    return reduce(lambda total, k: 1.0 + ratio(k) / x * total, range(ASYMPTOTIC, 0, -1), 1.0)


dawsn = of_scipy(
    "dawsn",
    lambda g, out, x: g * (1.0 - 2.0 * x * out),
    unbounded=lambda far, x: _asymptotic(x * x, lambda k: k - 0.5) / x / 2.0 if far else None,
    ball=lambda x: (-x * x).exp() * x.erfi() * x.pi().sqrt() / 2,
)
erfi = of_scipy(
    "erfi",
    lambda g, out, x: g * (1.1283791670955126 * np.exp(np.square(x))),
    laws=Laws(monotone=1),
    ball=lambda x: x.erfi(),
)
ndtri_exp = of_scipy(
    "ndtri_exp",
    lambda g, out, y: g * (2.5066282746310002 * np.exp(y + 0.5 * np.square(out))),
    laws=Laws(monotone=1),
    outside=lambda y: y > 0,
    ball=lambda y: -((2 * y.exp()).erfcinv() * (0 * y + 2).sqrt()),
)
spence = of_scipy(
    "spence",
    lambda g, out, x: g * (np.log(x) / (1.0 - x)),
    laws=Laws(monotone=-1),
    outside=lambda x: x < 0,
    ball=lambda x: (1 - x).polylog(2),
)
ellipk = of_scipy(
    "ellipk",
    lambda g, out, m: g * (0.39269908169872414 * _of("hyp2f1", 1.5, 1.5, 2)(m)),
    range=POSITIVE,
    outside=lambda m: m > 1,
    ball=lambda m: m.hypgeom_2f1(0.5, 0.5, 1) * m.pi() / 2,
    from_one=lambda d, x: ellipkm1(d),
)
ellipkm1 = of_scipy(
    "ellipkm1",
    lambda g, out, p: g * (-0.39269908169872414 * _of("hyp2f1", 0.5, 0.5, 2)(1.0 - p) / p),
    range=POSITIVE,
    outside=lambda p: p < 0,
    ball=lambda p: (1 - p).hypgeom_2f1(0.5, 0.5, 1) * p.pi() / 2,
)
ellipe = of_scipy(
    "ellipe",
    lambda g, out, m: g * (-0.39269908169872414 * _of("hyp2f1", 0.5, 1.5, 2)(m)),
    range=POSITIVE,
    outside=lambda m: m > 1,
    ball=lambda m: m.hypgeom_2f1(-0.5, 0.5, 1) * m.pi() / 2,
)


def _exponential_integral(far: bool, x: Any) -> Any:
    """Ei(x) = γ + log|x| + Σ xᵏ/(k·k!) near 0, eˣ/x·Σ k!/xᵏ far out: the terms that count. Source: DLMF 6.6, 6.12."""
    if far:
        return np.exp(x) / x * _asymptotic(x, float)
    terms = reduce(
        lambda total, k: x * (1.0 / (k * math.factorial(k)) + total), range(ASYMPTOTIC, 0, -1), 0.0
    )
    return np.euler_gamma + 0.5 * np.log(x * x) + terms


expi = of_scipy(
    "expi",
    lambda g, out, x: g * (np.exp(x) / x),
    ball=lambda x: x.ei(),
    unbounded=_exponential_integral,
)
exp1 = of_scipy(
    "exp1",
    lambda g, out, x: -(g * (np.exp(-x) / x)),
    range=lambda x: POSITIVE if x.nonnegative else REAL,
    laws=Laws(monotone=-1),
    outside=lambda x: x < 0,
    ball=lambda x: x.expint(1),
    unbounded=lambda far, x: -_exponential_integral(far, -x),
)


erfinv = of_scipy(
    "erfinv",
    lambda g, out, x: g * (0.886226925452758 * np.exp(np.square(out))),
    laws=Laws(monotone=1),
    outside=lambda x: np.logical_or(x < -1, x > 1),
    margin=lambda x: 1.0 - np.abs(x),
    ball=lambda x: x.erfinv(),
    from_one=lambda d, x: erfcinv(d),
)
erfcinv = of_scipy(
    "erfcinv",
    lambda g, out, x: -(g * (0.886226925452758 * np.exp(np.square(out)))),
    laws=Laws(monotone=-1),
    outside=lambda x: np.logical_or(x < 0, x > 2),
    ball=lambda x: x.erfcinv(),
)


def _reciprocal_gamma_slope(g: Any, out: Any, x: Any) -> Any:
    """−g·ψ(x)/Γ(x) = g·(Γ(1 − x)·cos πx − ψ(1 − x)/Γ(x)), which is finite at the poles of Γ and ψ."""
    left = x < 0.5
    y = np.where(left, 1.0 - x, x)
    turned = gamma(np.where(left, y, 1.0)) * np.cos(math.pi * x)
    return g * (np.where(left, turned, 0.0) - out * digamma(y))


rgamma = of_scipy(
    "rgamma",
    _reciprocal_gamma_slope,
    ball=lambda x: x.rgamma(),
    meaning=lambda x: 1.0 / gamma(x),
)


class _Kind(NamedTuple):
    """f′, f, where: the slope of f(parameters, x) as a function of (parameters, value, x), f in balls, and where x is
    outside of the domain, of (parameters, x).
    """

    slope: Callable[..., Any]
    ball: Callable[..., Any]
    outside: Callable[..., Any] = lambda p, x: None


def _of(kind: str, *parameters: Any) -> Parametric:
    return Parametric(kind, parameters)


def _beside(kind: str, sign: int, more: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """J′ₙ = (Jₙ₋₁ − Jₙ₊₁)/2, I′ₙ = (Iₙ₋₁ + Iₙ₊₁)/2, K′ₙ = −(Kₙ₋₁ + Kₙ₊₁)/2, and what scaling by an exponential adds.

    J₋₁ = −J₁, I₋₁ = I₁, and K₋ₙ = Kₙ.
    """
    same = kind in ("kv", "kve")

    def slope(parameters: tuple[Any], out: Any, x: Any) -> Any:
        (n,) = parameters
        above = _of(kind, n + 1)(x)
        if n == 0:
            found = above if sign > 0 else -above
        else:
            below = _of(kind, abs(n - 1) if same else n - 1)(x)
            found = 0.5 * (below - above if sign < 0 and not same else below + above)
            found = -found if same else found
        return found if more is None else found + more(out, x)

    return slope


def _raised(kind: str, count: int) -> Callable[..., Any]:
    """₁F₁(a; b; x)′ = a/b·₁F₁(a + 1; b + 1; x): of the first `count` parameters, over the others."""
    ratio = lambda p: math.prod(p[:count]) / math.prod(p[count:])
    return lambda p, out, x: ratio(p) * _of(kind, *[q + 1 for q in p])(x)


def _lowered(kind: str, next_of: Callable[..., tuple[float, tuple[Any, ...]]]) -> Callable[..., Any]:
    """Hₙ′ = 2n·Hₙ₋₁: a factor times a polynomial of one degree less; 0 of degree 0."""

    def slope(parameters: tuple[Any, ...], out: Any, x: Any) -> Any:
        factor, lower = next_of(*parameters)
        return factor * _of(kind, *lower)(x) if parameters[0] else 0.0 * x

    return slope


def _below_zero(parameters: tuple[Any, ...], x: Any) -> Any:
    return x < 0


def _below_zero_of_fractions(parameters: tuple[Any, ...], x: Any) -> Any:
    """½, x → x < 0;    1, x → nowhere: where a function with the factor xⁿ is no real number."""
    return x < 0 if parameters[0] % 1 else None


# Sources: NIST DLMF 10.6.1, 10.29.1, 8.19.13, 15.5.1, 13.3.15, 18.9.15 to 18.9.25.
_KINDS = {
    "jv": _Kind(_beside("jv", -1), lambda x, n: x.bessel_j(n), _below_zero_of_fractions),
    "yv": _Kind(_beside("yv", -1), lambda x, n: x.bessel_y(n), _below_zero),
    "iv": _Kind(_beside("iv", 1), lambda x, n: x.bessel_i(n), _below_zero_of_fractions),
    "ive": _Kind(
        _beside("ive", 1, lambda out, x: -(np.sign(x) * out)),
        lambda x, n: x.bessel_i(n) * (-abs(x)).exp(),
        _below_zero_of_fractions,
    ),
    "kv": _Kind(_beside("kv", -1), lambda x, n: x.bessel_k(n), _below_zero),
    "kve": _Kind(_beside("kve", -1, lambda out, x: out), lambda x, n: x.bessel_k(n) * x.exp(), _below_zero),
    "expn": _Kind(
        lambda p, out, x: -(_of("expn", p[0] - 1)(x) if p[0] else out * (1.0 + 1.0 / x)),
        lambda x, n: x.expint(n),
        _below_zero,
    ),
    "lambertw": _Kind(
        lambda p, out, x: 1.0 / (np.exp(out) * (1.0 + out)),
        lambda x, k: x.lambertw(branch=k),
        lambda p, x: x < -0.36787944117144233,
    ),
    "hyp0f1": _Kind(_raised("hyp0f1", 0), lambda x, b: x.hypgeom_0f1(b)),
    "hyp1f1": _Kind(_raised("hyp1f1", 1), lambda x, a, b: x.hypgeom_1f1(a, b)),
    "hyp2f1": _Kind(_raised("hyp2f1", 2), lambda x, a, b, c: x.hypgeom_2f1(a, b, c), lambda p, x: x > 1),
    "eval_hermite": _Kind(
        _lowered("eval_hermite", lambda n: (2.0 * n, (n - 1,))), lambda x, n: x.hermite_h(n)
    ),
    "eval_hermitenorm": _Kind(
        _lowered("eval_hermitenorm", lambda n: (1.0 * n, (n - 1,))),
        lambda x, n: (x / (0 * x + 2).sqrt()).hermite_h(n) / (0 * x + 2).sqrt() ** n,
    ),
    "eval_genlaguerre": _Kind(
        _lowered("eval_genlaguerre", lambda n, a: (-1.0, (n - 1, a + 1))), lambda x, n, a: x.laguerre_l(n, a)
    ),
    "eval_gegenbauer": _Kind(
        _lowered("eval_gegenbauer", lambda n, a: (2.0 * a, (n - 1, a + 1))),
        lambda x, n, a: x.gegenbauer_c(n, a),
    ),
    "eval_jacobi": _Kind(
        _lowered("eval_jacobi", lambda n, a, b: (0.5 * (n + a + b + 1), (n - 1, a + 1, b + 1))),
        lambda x, n, a, b: x.jacobi_p(n, a, b),
    ),
    "eval_legendre": _Kind(
        _lowered("eval_jacobi", lambda n: (0.5 * (n + 1), (n - 1, 1, 1))), lambda x, n: x.legendre_p(n)
    ),
    "eval_chebyt": _Kind(
        _lowered("eval_chebyu", lambda n: (1.0 * n, (n - 1,))), lambda x, n: x.chebyshev_t(n)
    ),
    "eval_chebyu": _Kind(
        _lowered("eval_gegenbauer", lambda n: (2.0, (n - 1, 2))), lambda x, n: x.chebyshev_u(n)
    ),
}


class Parametric(OfProps):
    """Parametric("jv", (n,))(x) = Jₙ(x): SciPy's function of a name, of parameters that are fixed numbers."""

    __props__ = ("kind", "parameters")

    def __init__(self, kind: Any, parameters: Any):
        """(jv, (0,)) → code jv(0, {}), and the rule of the kind."""
        given = ", ".join(map(str, parameters)) if isinstance(parameters, tuple) else parameters
        super().__init__(
            "parametric",
            self._at_parameters,
            lambda g, out, x: g * _KINDS[kind].slope(parameters, out, x),
            code=f"{kind}({given}, {{}})",
        )
        self.kind, self.parameters = kind, parameters
        self.imports = (str(kind),)
        told = getattr(getattr(kernels, str(kind), None), "tells", "")
        self.says(grows=told == "grows", vanishes=told == "vanishes")

    def _at_parameters(self, x: Any) -> Any:
        return getattr(kernels, self.kind)(*self.parameters, x)

    def in_log_domain(self, node: Term) -> tuple[Any, Any] | None:
        """Iₙ(x) = iveₙ(x)·e^|x|, Kₙ(x) = kveₙ(x)·e^−x."""
        if self.kind not in ("iv", "kv"):
            return None
        (x,) = node.rands
        size = absolute if self.kind == "iv" else negative
        return Parametric(f"{self.kind}e", self.parameters).make_node(x), size.make_node(x)

    def unbounded(self, far: bool, *operands: Any) -> Any:
        """iveₙ(x) = (1 − (4n² − 1)/(8x) + …)/√(2π·x), kveₙ(x) = (1 + (4n² − 1)/(8x) + …)·√(π/(2x)), as x → ∞.

        Kₙ(x) near 0 has powers, and a logarithm times Iₙ(x). Source: DLMF 10.31.1 and 10.40.
        """
        if not far and self.kind == "kv" and self.parameters[0] in range(8):
            return _near_zero(self.parameters[0], *operands)
        if not far or self.kind not in ("ive", "kve"):
            return super().unbounded(far, *operands)
        (n,), sign = self.parameters, 1 if self.kind == "kve" else -1
        x = np.where(operands[0] > 0, operands[0], np.nan)
        total = _asymptotic(x, lambda k: sign * (4 * n * n - (2 * k - 1) ** 2) / (8 * k))
        return total * np.sqrt(0.5 * math.pi / x) if sign > 0 else total / np.sqrt(2.0 * math.pi * x)

    def outside(self, *operands: Any) -> Any:
        return _KINDS[self.kind].outside(self.parameters, *operands)

    def range_of(self, *ranges: Interval) -> Interval:
        """Jₙ → [−1, 1], Iₙ(x ≥ 0) → [0, ∞), Kₙ → (0, ∞)."""
        (x,) = ranges
        if not self.ground or self.parameters[0] < 0:
            return REAL
        if self.kind == "jv":
            return Interval(-1.0, 1.0)
        if self.kind in ("iv", "ive") and (x.nonnegative or self.parameters[0] % 2 == 0):
            return NONNEGATIVE
        return POSITIVE if self.kind in ("kv", "kve") else REAL

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(lambda x: _KINDS[self.kind].ball(x, *self.parameters), 1, 1)(*balls)


def _near_zero(n: int, x: Any) -> Any:
    """Kₙ(x) = Σ_{k<n} (n − k − 1)!/k!·(−u)ᵏ/(2hⁿ) ± ((log h + γ)·Iₙ(x) − hⁿ·Σ (H_k + H_{k+n})·uᵏ/(2·k!·(k + n)!)),
    h = x/2, u = h².
    """
    h, u = 0.5 * x, 0.25 * (x * x)
    harmonic = lambda k: math.fsum(1.0 / j for j in range(1, k + 1))
    of = lambda f, terms: reduce(lambda total, k: total * u + f(k), reversed(range(terms)), 0.0 * x)
    powers = of(lambda k: math.factorial(n - k - 1) / math.factorial(k) * (-1.0) ** k, n)
    rest = of(
        lambda k: (harmonic(k) + harmonic(k + n)) / (math.factorial(k) * math.factorial(k + n)), ASYMPTOTIC
    )
    log = (np.log(h) + np.euler_gamma) * _of("iv", n)(x) - 0.5 * h**n * rest
    return (0.5 * powers / h**n if n else 0.0) - (-1.0) ** n * log


def _traced(kind: str, also: dict[Any, tuple[Any, ...]], whole: bool = False) -> None:
    """(jv, {j0: (0,)}) → jv(n, x) and j0(x) are traced: the SciPy function of a kind, and those of one parameter.

    The first parameter is whole where it is a degree.
    """

    def apply(*operands: Any) -> Any:
        first, *rest = operands[:-1]
        parameters = (
            _whole(kind, first) if whole else _number(kind, first),
            *[_number(kind, p) for p in rest],
        )
        return Parametric(kind, parameters)(operands[-1])

    implements(getattr(_sp, kind), getattr(kernels, kind))(apply)
    for function, parameters in also.items():
        implements(function)(Parametric(kind, parameters))


def _number(kind: str, given: Any) -> Any:
    """(jv, 2.0) → 2, (jv, 0.5) → 0.5: a parameter as a number; raises TraceError for others."""
    value = as_term(given)
    if not is_constant(value) or np.ndim(value.op.value) or not np.isfinite(value.op.value):
        raise TraceError(
            f"scipy.special.{kind} cannot be traced for the parameter {given}",
            cause="only numbers are traced there: by them no derivative is known in closed form",
            cure="call it for each order of a loop, and np.stack the results",
        )
    number = float(value.op.value)
    return int(number) if number.is_integer() else number


def _whole(kind: str, given: Any) -> int:
    """(expn, 2.0) → 2: an order or degree as an integer ≥ 0; raises TraceError for others."""
    value = _number(kind, given)
    if not isinstance(value, int) or value < 0:
        raise TraceError(
            f"scipy.special.{kind} cannot be traced for the order {value}",
            cause="only whole numbers from 0 are traced there",
            cure="round the order, or write the function out",
        )
    return value


_traced("jv", {_sp.j0: (0,), _sp.j1: (1,)})
_traced("yv", {_sp.y0: (0,), _sp.y1: (1,)})
_traced("iv", {_sp.i0: (0,), _sp.i1: (1,), np.i0: (0,)})
_traced("ive", {_sp.i0e: (0,), _sp.i1e: (1,)})
_traced("kv", {_sp.k0: (0,), _sp.k1: (1,)})
_traced("kve", {_sp.k0e: (0,), _sp.k1e: (1,)})
for _kind in _KINDS:
    if _kind.startswith(("hyp", "eval", "expn")):
        _traced(_kind, {}, whole=not _kind.startswith("hyp"))
implements(_sp.eval_laguerre)(lambda n, x: _of("eval_genlaguerre", _whole("eval_laguerre", n), 0)(x))


def polygamma(n: Any, x: Any) -> Any:
    """Return the term of `scipy.special.polygamma`: the derivatives of the digamma function, of one order."""
    return DigammaN(_whole("polygamma", n))(cast(as_term(x), np.float64))


implements(kernels.lambertw)(lambda branch, x: _of("lambertw", branch)(x))


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Trace `scipy.special.lambertw` where it is real, from −1/e on, as a real array: Re W₀, Re W₋₁."""
    branch = _number("lambertw", k)
    if branch not in (0, -1):
        raise TraceError(
            f"scipy.special.lambertw cannot be traced for the branch {branch}",
            cause="only the branches 0 and -1 are real",
            cure="use k=0 or k=-1",
        )
    return _of("lambertw", branch)(cast(as_term(z), np.float64))


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
implements(_sp.binom)(lambda n, k: 1.0 / ((n + 1) * beta(n - k + 1, k + 1)))
implements(_sp.yn)(lambda n, x: _of("yv", _whole("yn", n))(x))
implements(_sp.kn)(lambda n, x: _of("kv", _whole("kn", n))(x))
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
