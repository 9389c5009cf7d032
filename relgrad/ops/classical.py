"""Classical functions: Bessel's, of whole orders, the incomplete gamma and beta functions, exponential integrals.

Each is SciPy's. Source of the rules: NIST DLMF 10.6.1, 10.29.1, 8.8.13, 8.17.20 and 6.2.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.errors import TraceError
from relgrad.implementations import implements
from relgrad.kernels.incomplete import bell
from relgrad.op import Op, as_term, is_constant
from relgrad.ops.arithmetic import absolute, negative
from relgrad.ops.casting import cast
from relgrad.ops.differences import boxcox
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.families import DigammaN, digamma, log1prel_n
from relgrad.ops.special import beta, betaln, gamma, gammaln
from relgrad.ops.stable import rel_entr, xlog1py, xlogy
from relgrad.term import Term
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval

_sp = scipy.special

__all__ = [
    "Parametric",
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


def _scipy(label: str, *rules: Any, **options: Any) -> Elementwise:
    """Return the op of a SciPy function of that name, which it traces."""
    op = Elementwise(label, getattr(kernels, label), *rules, kernel=True, **options)
    implements(getattr(_sp, label))(op)
    return op


class _Distribution(NamedTuple):
    """f, ∂ log f, P, Q: a density of (parameters, x), its log by some of these, and its two tails in balls."""

    log_density: Callable[..., Any]
    cumulant: Callable[..., Any]
    tails: tuple[Callable[..., Any], Callable[..., Any]]


def _gamma_cumulant(n: tuple[int], a: Any, x: Any) -> Any:
    """1 → log x − ψ(a), 2 → −ψ′(a), …"""
    return (np.log(x) if n == (1,) else 0) - DigammaN(n[0] - 1)(a)


def _beta_cumulant(n: tuple[int, int], a: Any, b: Any, x: Any) -> Any:
    """(1, 0) → log x + ψ(a + b) − ψ(a), (1, 1) → ψ′(a + b), …"""
    psi = DigammaN(sum(n) - 1)
    of_x = {(1, 0): np.log, (0, 1): lambda x: np.log1p(-x)}.get(n, lambda x: 0)
    return of_x(x) + psi(a + b) - (0 if all(n) else psi(a if n[0] else b))


_GAMMA = _Distribution(
    lambda a, x: xlogy(a - 1, x) - x - gammaln(a),
    _gamma_cumulant,
    (lambda a, x: x.gamma_lower(a, regularized=1), lambda a, x: x.gamma_upper(a, regularized=1)),
)
_BETA = _Distribution(
    lambda a, b, x: xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b),
    _beta_cumulant,
    (
        lambda a, b, x: x.beta_lower(a, b, regularized=1),
        lambda a, b, x: (1 - x).beta_lower(b, a, regularized=1),
    ),
)
_TAILS = {"gammainc": (_GAMMA, 0), "gammaincc": (_GAMMA, 1), "betainc": (_BETA, 0), "betaincc": (_BETA, 1)}


def _not_a_gamma(a: Any, x: Any) -> Any:
    return np.logical_or(np.logical_or(a < 0, x < 0), np.logical_and(a == 0, x == 0))


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


class Incomplete(Elementwise):
    """Incomplete("gammaincc", (2,))(a, x) = ∂²Q/∂a²/Q: a tail by its parameters, so often by each, over the tail.

    Q′ = Q·R₁, Rₙ′ = Rₙ₊₁ − Rₙ·R₁. Over the tail, so that log Q has a slope wherever Q is no float.
    """

    __props__ = ("of", "orders")
    # The props may be logic variables, so the general answer holds again.
    ground = Op.ground  # pyright: ignore[reportIncompatibleMethodOverride]
    __repr__ = __str__ = Op.__repr__

    def __init__(self, of: Any, orders: Any):
        """(gammainc, (2,)) → code gammainc_n(2, {}, {}), and a rule for each operand."""
        arity = len(orders) + 1 if isinstance(orders, tuple) else 0
        super().__init__(
            "incomplete",
            self._at_orders,
            *[lambda g, out, *operands, i=i: g * self._rule(i, out, *operands) for i in range(arity)],
            code=f"{of}_n({', '.join([*map(str, orders), *['{}'] * arity])})" if arity else None,
        )
        self.of, self.orders = of, orders
        self.imports = (f"{of}_n",)

    def _at_orders(self, *operands: Any) -> Any:
        return getattr(kernels, f"{self.of}_n")(*self.orders, *operands)

    def _rule(self, i: int, out: Any, *operands: Any) -> Any:
        none = (0,) * len(self.orders)
        return _over_tail(self.of, self.orders, i, *operands) - out * _over_tail(self.of, none, i, *operands)

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(_of_moderate(self._exact), len(balls), 1)(*balls)

    def _exact(self, *operands: Any) -> Any:
        known, side = _TAILS[self.of]
        small = min((0, 1), key=lambda i: known.tails[i](*operands).mid())
        found = _differentiated(known.tails[small], self.orders, operands)
        return (found if small == side else -found) / known.tails[side](*operands)


def _differentiated(f: Callable[..., Any], orders: tuple[int, ...], operands: tuple[Any, ...]) -> Any:
    """∂ⁿf/∂aⁿ ≈ δⁿf/(2h)ⁿ, h = 2^−k: p bits less n·k are left, and the error is one of h², so k = p/(n + 2).

    f is analytic about a > 0, within a, and not much larger there.
    """
    from flint import arb, ctx

    by, sizes = tuple([i for i, n in enumerate(orders) for _ in range(n)]), list[Any]()
    k, units = ctx.prec // (len(by) + 2), [x.mid().min(1) for x in operands]

    def difference(by: tuple[int, ...], values: tuple[Any, ...]) -> Any:
        """(a, b), x → (f(a + h, …) − f(a − h, …))/(2h), each by b as well."""
        if not by:
            sizes.append(abs(f(*values)))
            return f(*values)
        i, h = by[0], units[by[0]] / 2**k
        above, below = [(*values[:i], values[i] + step, *values[i + 1 :]) for step in (h, -h)]
        return (difference(by[1:], above) - difference(by[1:], below)) / (2 * h)

    with ctx.workprec(2 * ctx.prec):
        found = difference(by, operands)
        error = max(sizes) / 4 ** (k - 3 * len(by)) / math.prod([units[i] for i in by])
        return found + arb(0, error.abs_upper())


def _over_tail(of: str, orders: tuple[int, ...], i: int, *operands: Any) -> Any:
    """Rₙ₊₁, ±f·Bₙ/F: a derivative of a tail by its parameters once more by one of these, or by x, over the tail."""
    if i < len(orders):
        return Incomplete(of, tuple([n + (k == i) for k, n in enumerate(orders)]))(*operands)
    known, side = _TAILS[of]
    density = np.exp(known.log_density(*operands)) / getattr(_sp, of)(*operands)
    if any(orders):
        density = density * bell(orders, lambda n: known.cumulant(n, *operands))
    return -density if side else density


def _tail(of: str, **options: Any) -> Elementwise:
    """P, P·R₁, ±f: the op of an incomplete function, and its rules."""
    (known, side), arity = _TAILS[of], 2 if of.startswith("gamma") else 3
    rules: list[Any] = [
        lambda g, out, *operands, i=i: g * (out * _over_tail(of, (0,) * (arity - 1), i, *operands))
        for i in range(arity - 1)
    ]
    density = lambda g, *operands: g * np.exp(known.log_density(*operands))
    rules.append(lambda g, out, *operands: -density(g, *operands) if side else density(g, *operands))
    return _scipy(of, *rules, range=UNIT, ball=_of_moderate(known.tails[side]), **options)


gammainc = _tail("gammainc", outside=_not_a_gamma, complement=lambda a, x: gammaincc(a, x))
gammaincc = _tail("gammaincc", outside=_not_a_gamma, complement=lambda a, x: gammainc(a, x))
betainc = _tail("betainc", complement=lambda a, b, x: betaincc(a, b, x))
betaincc = _tail("betaincc")


def _quantile(of: str, **options: Any) -> Elementwise:
    """P(a, x) = y → ∂x/∂y = 1/f, ∂x/∂a = −∂P/∂a/f: the op of the inverse of a tail, and its rules."""
    (known, side), arity = _TAILS[of], 2 if of.startswith("gamma") else 3
    none = (0,) * (arity - 1)

    def rule(i: int) -> Callable[..., Any]:
        def slope(g: Any, out: Any, *operands: Any) -> Any:
            *parameters, y = operands
            numerator = 1.0 if i == arity - 1 else -y * _over_tail(of, none, i, *parameters, out)
            found = g * (numerator * np.exp(-known.log_density(*parameters, out)))
            return -found if side else found

        return slope

    start = getattr(_sp, f"{of}inv")
    return _scipy(f"{of}inv", *map(rule, range(arity)), ball=_inverse(known.tails[side], start), **options)


def _inverse(ball: Callable[..., Any], start: Callable[..., Any]) -> Callable[..., Any]:
    """x ← x − (F(x) − y)/F′(x), from the float: a function that is inverse in its last operand, in balls.

    Each step gains a third of the digits at least, and the last is a bound of the error.
    """

    def inverse(*operands: Any) -> Any:
        """a, y → x, F(a, x) = y, or NaN."""
        from flint import arb, ctx

        *given, y = operands
        x = arb(float(start(*map(float, operands))))
        scale, error = abs(x) if x else arb(1), arb("inf")
        for _ in range(8):
            h = scale / 2 ** (ctx.prec // 3)
            step = (ball(*given, x) - y) / (ball(*given, x + h) - ball(*given, x - h)) * (2 * h)
            x, error = (x - step).mid(), 2 * step.abs_upper()
            if not error > scale / 2 ** (ctx.prec - 8):
                break
        return x + arb(0, error)

    return inverse


class Freedom(Elementwise):
    """Freedom(n)(v, t) = ∂ⁿF/∂vⁿ: Student's distribution function by its degrees of freedom, so often."""

    __props__ = ("order",)
    # The order is a prop, which may be a logic variable, so the general answer holds again.
    ground = Op.ground  # pyright: ignore[reportIncompatibleMethodOverride]
    __repr__ = __str__ = Op.__repr__

    def __init__(self, order: Any):
        """n → code stdtr_n(n, {}, {}), and the rules Fₙ₊₁, f·Bₙ."""
        super().__init__(
            "freedom",
            lambda v, t: kernels.stdtr_n(order, v, t),
            lambda g, out, v, t: g * Freedom(order + 1)(v, t),
            lambda g, out, v, t: (
                g * (_student_density(v, t) * bell((order,), lambda n: _student_cumulant(n[0], v, t)))
            ),
            code=f"stdtr_n({order}, {{}}, {{}})",
        )
        self.order = order
        self.imports = ("stdtr_n",)

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(self._exact, 2, 1)(*balls)

    def _exact(self, v: Any, t: Any) -> Any:
        part = _student_middle if t * t < v else _student_tail
        found = _differentiated(lambda v: part(v, t), (self.order,), (v,))
        return found if (t < 0) == (part is _student_tail) else -found


def _student_density(v: Any, t: Any) -> Any:
    """(1 + t²/v)^(−(v + 1)/2)/(√v·B(v/2, 1/2))"""
    return np.exp(-0.5 * (v + 1.0) * np.log1p(t * t / v) - 0.5 * np.log(v) - betaln(0.5 * v, 0.5))


def _student_cumulant(n: int, v: Any, t: Any) -> Any:
    """∂ⁿ log f/∂vⁿ, f = Γ((v + 1)/2)/(Γ(v/2)·√π)·v^(v/2)·(v + t²)^(−(v + 1)/2)."""
    psi, a, u = DigammaN(n - 1), 0.5 * v, v + t * t
    gammas = (psi(a + 0.5) - psi(a)) * 0.5**n
    if n == 1:
        return gammas + 0.5 * ((v + 1.0) * (t * t) / (v * u) - np.log1p(t * t / v) - 1.0 / v)
    sign = (-1.0) ** n * math.factorial(n - 2)
    return gammas + 0.5 * sign * (v ** (1 - n) - u ** (1 - n) + (n - 1) * (1.0 - t * t) * u ** (-n))


def _student_middle(v: Any, t: Any) -> Any:
    """F(|t|) − 1/2 = I_w(1/2, v/2)/2, w = t²/(v + t²)."""
    return (t * t / (v + t * t)).beta_lower(0.5, v / 2, regularized=1) / 2


def _student_tail(v: Any, t: Any) -> Any:
    """1 − F(|t|) = I_w(v/2, 1/2)/2, w = v/(v + t²)."""
    return (v / (v + t * t)).beta_lower(v / 2, 0.5, regularized=1) / 2


def _student_ball(v: Any, t: Any) -> Any:
    if t * t < v:
        return 0.5 - _student_middle(v, t) if t < 0 else 0.5 + _student_middle(v, t)
    return _student_tail(v, t) if t < 0 else 1 - _student_tail(v, t)


stdtr = _scipy(
    "stdtr",
    lambda g, out, v, t: g * Freedom(1)(v, t),
    lambda g, out, v, t: g * _student_density(v, t),
    range=UNIT,
    outside=lambda v, t: v <= 0,
    ball=_of_moderate(_student_ball),
    complement=lambda v, t: stdtr(v, -t),
)
stdtrit = _scipy(
    "stdtrit",
    lambda g, out, v, p: -(g * (Freedom(1)(v, out) / _student_density(v, out))),
    lambda g, out, v, p: g / _student_density(v, out),
    outside=lambda v, p: np.logical_or(v <= 0, np.logical_or(p < 0, p > 1)),
    ball=_inverse(_student_ball, _sp.stdtrit),
)
gammaincinv, gammainccinv = (_quantile(name, range=NONNEGATIVE) for name in ("gammainc", "gammaincc"))
betaincinv, betainccinv = (_quantile(name, range=UNIT) for name in ("betainc", "betaincc"))


dawsn = _scipy(
    "dawsn",
    lambda g, out, x: g * (1.0 - 2.0 * x * out),
    ball=lambda x: (-x * x).exp() * x.erfi() * x.pi().sqrt() / 2,
)
erfi = _scipy(
    "erfi",
    lambda g, out, x: g * (1.1283791670955126 * np.exp(np.square(x))),
    laws=Laws(monotone=1),
    ball=lambda x: x.erfi(),
)
ndtri_exp = _scipy(
    "ndtri_exp",
    lambda g, out, y: g * (2.5066282746310002 * np.exp(y + 0.5 * np.square(out))),
    laws=Laws(monotone=1),
    outside=lambda y: y > 0,
    ball=lambda y: -((2 * y.exp()).erfcinv() * (0 * y + 2).sqrt()),
)
spence = _scipy(
    "spence",
    lambda g, out, x: g * (np.log(x) / (1.0 - x)),
    laws=Laws(monotone=-1),
    outside=lambda x: x < 0,
    ball=lambda x: (1 - x).polylog(2),
)
ellipk = _scipy(
    "ellipk",
    lambda g, out, m: g * (0.39269908169872414 * _of("hyp2f1", 1.5, 1.5, 2)(m)),
    range=POSITIVE,
    outside=lambda m: m > 1,
    ball=lambda m: m.hypgeom_2f1(0.5, 0.5, 1) * m.pi() / 2,
)
ellipkm1 = _scipy(
    "ellipkm1",
    lambda g, out, p: g * (-0.39269908169872414 * _of("hyp2f1", 0.5, 0.5, 2)(1.0 - p) / p),
    range=POSITIVE,
    outside=lambda p: p < 0,
    ball=lambda p: (1 - p).hypgeom_2f1(0.5, 0.5, 1) * p.pi() / 2,
)
ellipe = _scipy(
    "ellipe",
    lambda g, out, m: g * (-0.39269908169872414 * _of("hyp2f1", 0.5, 1.5, 2)(m)),
    range=POSITIVE,
    outside=lambda m: m > 1,
    ball=lambda m: m.hypgeom_2f1(-0.5, 0.5, 1) * m.pi() / 2,
)
expi = _scipy("expi", lambda g, out, x: g * (np.exp(x) / x), ball=lambda x: x.ei())
exp1 = _scipy(
    "exp1",
    lambda g, out, x: -(g * (np.exp(-x) / x)),
    range=lambda x: POSITIVE if x.nonnegative else REAL,
    laws=Laws(monotone=-1),
    outside=lambda x: x < 0,
    ball=lambda x: x.expint(1),
)


erfinv = _scipy(
    "erfinv",
    lambda g, out, x: g * (0.886226925452758 * np.exp(np.square(out))),
    laws=Laws(monotone=1),
    outside=lambda x: np.logical_or(x < -1, x > 1),
    margin=lambda x: 1.0 - np.abs(x),
    ball=lambda x: x.erfinv(),
)
erfcinv = _scipy(
    "erfcinv",
    lambda g, out, x: -(g * (0.886226925452758 * np.exp(np.square(out)))),
    laws=Laws(monotone=-1),
    outside=lambda x: np.logical_or(x < 0, x > 2),
    ball=lambda x: x.erfcinv(),
)
rgamma = _scipy(
    "rgamma",
    lambda g, out, x: -(g * out * digamma(x)),
    ball=lambda x: x.rgamma(),
    meaning=lambda x: 1.0 / gamma(x),
)


class _Kind(NamedTuple):
    """f′, f: the slope of f(parameters, x) as a function of (parameters, value, x), and f in balls."""

    slope: Callable[..., Any]
    ball: Callable[..., Any]


def _of(kind: str, *parameters: Any) -> Parametric:
    return Parametric(kind, parameters)


def _beside(
    kind: str, below: float, above: float, more: Callable[..., Any] = lambda out, x: 0.0
) -> Callable[..., Any]:
    """f′ₙ = (±fₙ₋₁ ± fₙ₊₁)/2, and what scaling by an exponential adds; f₋₁ is ±f₁."""

    def slope(parameters: tuple[Any], out: Any, x: Any) -> Any:
        (n,) = parameters
        if n == 0:
            return above * _of(kind, 1)(x) + more(out, x)
        lower = _of(kind, abs(n - 1) if kind in ("kv", "kve") else n - 1)(x)
        return 0.5 * (below * lower + above * _of(kind, n + 1)(x)) + more(out, x)

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


# Sources: NIST DLMF 10.6.1, 10.29.1, 8.19.13, 15.5.1, 13.3.15, 18.9.15 to 18.9.25.
_KINDS = {
    "jv": _Kind(_beside("jv", 1.0, -1.0), lambda x, n: x.bessel_j(n)),
    "yv": _Kind(_beside("yv", 1.0, -1.0), lambda x, n: x.bessel_y(n)),
    "iv": _Kind(_beside("iv", 1.0, 1.0), lambda x, n: x.bessel_i(n)),
    "ive": _Kind(
        _beside("ive", 1.0, 1.0, lambda out, x: -(np.sign(x) * out)),
        lambda x, n: x.bessel_i(n) * (-abs(x)).exp(),
    ),
    "kv": _Kind(_beside("kv", -1.0, -1.0), lambda x, n: x.bessel_k(n)),
    "kve": _Kind(_beside("kve", -1.0, -1.0, lambda out, x: out), lambda x, n: x.bessel_k(n) * x.exp()),
    "expn": _Kind(
        lambda p, out, x: -(_of("expn", p[0] - 1)(x) if p[0] else out * (1.0 + 1.0 / x)),
        lambda x, n: x.expint(n),
    ),
    "lambertw": _Kind(lambda p, out, x: 1.0 / (np.exp(out) * (1.0 + out)), lambda x, k: x.lambertw(branch=k)),
    "hyp0f1": _Kind(_raised("hyp0f1", 0), lambda x, b: x.hypgeom_0f1(b)),
    "hyp1f1": _Kind(_raised("hyp1f1", 1), lambda x, a, b: x.hypgeom_1f1(a, b)),
    "hyp2f1": _Kind(_raised("hyp2f1", 2), lambda x, a, b, c: x.hypgeom_2f1(a, b, c)),
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
_OF_POSITIVE = {"yv", "kv", "kve", "expn"}


class Parametric(Elementwise):
    """Parametric("jv", (n,))(x) = Jₙ(x): SciPy's function of a name, of parameters that are fixed numbers."""

    __props__ = ("kind", "parameters")
    # The props may be logic variables, so the general answer holds again.
    ground = Op.ground  # pyright: ignore[reportIncompatibleMethodOverride]
    __repr__ = __str__ = Op.__repr__

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

    def outside(self, *operands: Any) -> Any:
        whole = self.kind not in ("jv", "iv", "ive") or self.parameters[0] % 1 == 0
        if self.kind == "hyp2f1":
            return operands[0] > 1
        if self.kind == "lambertw":
            return operands[0] < -0.36787944117144233
        return operands[0] < 0 if self.kind in _OF_POSITIVE or not whole else None

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


def _traced(kind: str, also: dict[Any, tuple[Any, ...]], whole: bool = False) -> None:
    """(jv, {j0: (0,)}) → jv(n, x) and j0(x) are traced: the SciPy function of a kind, and those of one parameter.

    The first parameter is whole where it is a degree.
    """

    def apply(*operands: Any) -> Any:
        first, *rest = operands[:-1] or (None,)
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
implements(_sp.chdtr)(lambda v, x: gammainc(v / 2, x / 2))
implements(_sp.chdtrc)(lambda v, x: gammaincc(v / 2, x / 2))
implements(_sp.pdtr)(lambda k, m: np.where(k < 0, np.nan, gammaincc(np.floor(k) + 1, m)))
implements(_sp.pdtrc)(lambda k, m: np.where(k < 0, np.nan, gammainc(np.floor(k) + 1, m)))
implements(_sp.fdtr)(lambda a, b, x: betainc(a / 2, b / 2, a * x / (a * x + b)))
implements(_sp.fdtrc)(lambda a, b, x: betainc(b / 2, a / 2, b / (a * x + b)))
implements(_sp.gdtr)(lambda a, b, x: gammainc(b, a * x))
implements(_sp.gdtrc)(lambda a, b, x: gammaincc(b, a * x))
implements(_sp.nbdtr)(lambda k, n, p: betainc(n, np.floor(k) + 1, p))
implements(_sp.nbdtrc)(lambda k, n, p: betaincc(n, np.floor(k) + 1, p))
implements(_sp.bdtr)(
    lambda k, n, p: np.where(np.floor(k) == n, 1.0, betaincc(np.floor(k) + 1, n - np.floor(k), p))
)
implements(_sp.bdtrc)(
    lambda k, n, p: np.where(np.floor(k) == n, 0.0, betainc(np.floor(k) + 1, n - np.floor(k), p))
)
implements(_sp.binom)(lambda n, k: 1.0 / ((n + 1) * beta(n - k + 1, k + 1)))
implements(_sp.fdtri)(lambda a, b, y: b * betaincinv(a / 2, b / 2, y) / (a * betainccinv(b / 2, a / 2, y)))
implements(_sp.chdtri)(lambda v, p: 2 * gammainccinv(v / 2, p))
implements(_sp.yn)(lambda n, x: _of("yv", _whole("yn", n))(x))
implements(_sp.kn)(lambda n, x: _of("kv", _whole("kn", n))(x))
implements(_sp.huber)(lambda d, r: _unless_negative(d, _huber(d, r, np.abs(r))))


def _cauchy_quantile(y: Any) -> Any:
    """tan(π·(y − 1/2)), at the ends by what y lacks of them."""
    ends = np.where(y < 0.25, -1.0 / np.tan(np.pi * y), 1.0 / np.tan(np.pi * (1.0 - y)))
    return np.where(np.abs(y - 0.5) <= 0.25, np.tan(np.pi * (y - 0.5)), ends)


# Of SciPy's distributions, where the library has code in C++ for them.
for _name, _formula in {
    "_beta_ppf": lambda y, a, b: betaincinv(a, b, y),
    "_binom_cdf": lambda k, n, p: _sp.bdtr(k, n, p),
    "_binom_sf": lambda k, n, p: _sp.bdtrc(k, n, p),
    "_nbinom_cdf": lambda k, n, p: _sp.nbdtr(k, n, p),
    "_nbinom_sf": lambda k, n, p: _sp.nbdtrc(k, n, p),
    "_cauchy_ppf": lambda y, m, s: m + s * _cauchy_quantile(y),
    "_cauchy_isf": lambda y, m, s: m - s * _cauchy_quantile(y),
}.items():
    if hasattr(_sp._ufuncs, _name):
        implements(getattr(_sp._ufuncs, _name))(_formula)


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
