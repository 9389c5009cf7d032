"""Distribution functions of SciPy: incomplete gamma and beta functions, Student's, and their quantiles.

    ∂P/∂x = f,    ∂P/∂a = P·R₁(a, x),    P(a, q) = y ⟶ ∂q/∂y = 1/f, ∂q/∂a = −P·R₁/f

By their parameters they are functions of their own, `Incomplete` and `Freedom`, which are closed under differentiation.
Source of the rules: NIST DLMF 8.8.13, 8.17.20; Figurnov, Mohamed & Mnih 2018, Implicit reparameterization gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.implementations import implements
from relgrad.kernels.incomplete import bell
from relgrad.ops.elementwise import Elementwise, OfProps
from relgrad.ops.families import DigammaN
from relgrad.ops.special import betaln, gammaln
from relgrad.ops.stable import xlog1py, xlogy
from relgrad.types import NONNEGATIVE, UNIT

_sp = scipy.special


def of_scipy(label: str, *rules: Any, **options: Any) -> Elementwise:
    """Return the op of a SciPy function of that name, which it traces.

    of_scipy("erfi", rule) traces scipy.special.erfi
    """
    op = Elementwise(label, getattr(kernels, label), *rules, kernel=True, **options)
    implements(getattr(_sp, label))(op)
    return op


class _Distribution(NamedTuple):
    """f, ∂ log f, P, Q: a density of (parameters, x), its log by some of these, and its two tails in balls."""

    log_density: Callable[..., Any]
    cumulant: Callable[..., Any]
    tails: tuple[Callable[..., Any], Callable[..., Any]]
    none: tuple[int, ...]
    """How often each parameter is differentiated by in the tails themselves."""
    most: float = 2000
    """Balls of larger operands, of more than one, would take minutes."""


def _gamma_cumulant(n: tuple[int], a: Any, x: Any) -> Any:
    """1 → log x − ψ(a), 2 → −ψ′(a), …"""
    return (np.log(x) if n == (1,) else 0) - DigammaN(n[0] - 1)(a)


def _beta_cumulant(n: tuple[int, int], a: Any, b: Any, x: Any) -> Any:
    """(1, 0) → log x + ψ(a + b) − ψ(a), (1, 1) → ψ′(a + b), …"""
    psi = DigammaN(sum(n) - 1)
    of_x = {(1, 0): np.log, (0, 1): lambda x: np.log1p(-x)}.get(n, lambda x: 0)
    return of_x(x) + psi(a + b) - (0 if all(n) else psi(a if n[0] else b))


def _gamma_tail(upper: int, a: Any, x: Any) -> Any:
    """P or Q, by as many digits as arb takes milliseconds with; 1 − Q where P would have none of them."""
    from flint import ctx

    with ctx.workprec(max(ctx.prec, math.ceil(min(16000, float(a.mid()))) // 4 + 256)):
        if not upper and 500 < a < 2 * x and x < a:
            return 1 - x.gamma_upper(a, regularized=1)
        return (x.gamma_upper if upper else x.gamma_lower)(a, regularized=1)


def _beta_tail(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b) = x^a·(1 − x)^b·₂F₁(a + b, 1; a + 1; x)/(a·B(a, b)), of positive terms below the mean (DLMF 8.17.8);
    1 − I_{1−x}(b, a) above. Its continuation where x is no probability.
    """
    if x < 0 or x > 1:
        return x.beta_lower(a, b, regularized=1)
    if not x < (a + 1) / (a + b + 2):
        return 1 - _beta_series(b, a, 1 - x)
    return _beta_series(a, b, x)


def _beta_series(a: Any, b: Any, x: Any) -> Any:
    from flint import arb

    a, b = arb(a), arb(b)
    beta = (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()
    return x**a * (1 - x) ** b * x.hypgeom_2f1(a + b, 1, a + 1) / (a * beta)


_GAMMA = _Distribution(
    lambda a, x: xlogy(a - 1, x) - x - gammaln(a),
    _gamma_cumulant,
    (lambda a, x: _gamma_tail(0, a, x), lambda a, x: _gamma_tail(1, a, x)),
    (0,),
    16000,
)
_BETA = _Distribution(
    lambda a, b, x: xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b),
    _beta_cumulant,
    (_beta_tail, lambda a, b, x: _beta_tail(b, a, 1 - x)),
    (0, 0),
)
_TAILS = {"gammainc": (_GAMMA, 0), "gammaincc": (_GAMMA, 1), "betainc": (_BETA, 0), "betaincc": (_BETA, 1)}


def _not_a_gamma(a: Any, x: Any) -> Any:
    return np.logical_or(np.logical_or(a < 0, x < 0), np.logical_and(a == 0, x == 0))


def _of_moderate(ball: Callable[..., Any], most: float = _BETA.most) -> Callable[..., Any]:
    """f(a, x), f(a, b, x) below 2000, NaN for several larger: the rule in ball arithmetic of moderate numbers.

    NaN where one of the first two is negative, of which balls would know a continuation.
    """

    def known(*operands: Any) -> Any:
        """operands → ball(operands), NaN where more than one is large, or outside of the domain."""
        large = [x for x in operands if not abs(x) < most]
        outside = any(x < 0 for x in operands[:2])
        return operands[-1] * math.nan if outside or len(large) > 1 else ball(*operands)

    return known


class Incomplete(OfProps):
    """Incomplete("gammaincc", (2,))(a, x) = ∂²Q/∂a²/Q: a tail by its parameters, so often by each, over the tail.

    Q′ = Q·R₁, Rₙ′ = Rₙ₊₁ − Rₙ·R₁. Over the tail, so that log Q has a slope wherever Q is no float.
    """

    __props__ = ("of", "orders")

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
        none = _TAILS[self.of][0].none
        return _over_tail(self.of, self.orders, i, *operands) - out * _over_tail(self.of, none, i, *operands)

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(_of_moderate(self._exact, _TAILS[self.of][0].most), len(balls), 1)(*balls)

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
    known, side = _TAILS[of]
    rules: list[Any] = [
        lambda g, out, *operands, i=i: g * (out * _over_tail(of, known.none, i, *operands))
        for i in range(len(known.none))
    ]
    density = lambda g, *operands: g * np.exp(known.log_density(*operands))
    rules.append(lambda g, out, *operands: -density(g, *operands) if side else density(g, *operands))
    return of_scipy(of, *rules, range=UNIT, ball=_of_moderate(known.tails[side], known.most), **options)


def _traced(of: str) -> None:
    """gammainc_n(1, a, x) is traced as the op, so that programs with it are computed in balls as others are."""
    count = len(_TAILS[of][0].none)
    implements(getattr(kernels, f"{of}_n"))(lambda *given: Incomplete(of, given[:count])(*given[count:]))


for _of in _TAILS:
    _traced(_of)
gammainc = _tail("gammainc", outside=_not_a_gamma, complement=lambda a, x: gammaincc(a, x))
gammaincc = _tail("gammaincc", outside=_not_a_gamma, complement=lambda a, x: gammainc(a, x))
betainc = _tail("betainc", complement=lambda a, b, x: betaincc(a, b, x))
betaincc = _tail("betaincc")


def _quantile(of: str, **options: Any) -> Elementwise:
    """P(a, x) = y → ∂x/∂y = 1/f, ∂x/∂a = −∂P/∂a/f: the op of the inverse of a tail, and its rules."""
    known, side = _TAILS[of]
    count = len(known.none)

    def rule(i: int) -> Callable[..., Any]:
        def slope(g: Any, out: Any, *operands: Any) -> Any:
            *parameters, y = operands
            numerator = 1.0 if i == count else -y * _over_tail(of, known.none, i, *parameters, out)
            found = g * (numerator * np.exp(-known.log_density(*parameters, out)))
            return -found if side else found

        return slope

    start = getattr(_sp, f"{of}inv")
    return of_scipy(
        f"{of}inv", *map(rule, range(count + 1)), ball=_inverse(known.tails[side], start), **options
    )


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


class Freedom(OfProps):
    """Freedom(n)(v, t) = ∂ⁿF/∂vⁿ: Student's distribution function by its degrees of freedom, so often."""

    __props__ = ("order",)

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
    return _beta_tail(0.5, v / 2, t * t / (v + t * t)) / 2


def _student_tail(v: Any, t: Any) -> Any:
    """1 − F(|t|) = I_w(v/2, 1/2)/2, w = v/(v + t²)."""
    return _beta_tail(v / 2, 0.5, v / (v + t * t)) / 2


def _student_ball(v: Any, t: Any) -> Any:
    if t * t < v:
        return 0.5 - _student_middle(v, t) if t < 0 else 0.5 + _student_middle(v, t)
    return _student_tail(v, t) if t < 0 else 1 - _student_tail(v, t)


implements(kernels.stdtr_n)(lambda order, v, t: Freedom(order)(v, t))
stdtr = of_scipy(
    "stdtr",
    lambda g, out, v, t: g * Freedom(1)(v, t),
    lambda g, out, v, t: g * _student_density(v, t),
    range=UNIT,
    outside=lambda v, t: v <= 0,
    ball=_of_moderate(_student_ball),
    complement=lambda v, t: stdtr(v, -t),
)
stdtrit = of_scipy(
    "stdtrit",
    lambda g, out, v, p: -(g * (Freedom(1)(v, out) / _student_density(v, out))),
    lambda g, out, v, p: g / _student_density(v, out),
    outside=lambda v, p: np.logical_or(v <= 0, np.logical_or(p < 0, p > 1)),
    ball=_inverse(_student_ball, _sp.stdtrit),
    from_one=lambda v, d, x: -stdtrit(v, d),
)
gammaincinv = _quantile("gammainc", range=NONNEGATIVE, from_one=lambda a, d, x: gammainccinv(a, d))
gammainccinv = _quantile("gammaincc", range=NONNEGATIVE, from_one=lambda a, d, x: gammaincinv(a, d))
betaincinv = _quantile("betainc", range=UNIT, from_one=lambda a, b, d, x: betainccinv(a, b, d))
betainccinv = _quantile("betaincc", range=UNIT, from_one=lambda a, b, d, x: betaincinv(a, b, d))


def _of_count(k: Any, most: Any, value: Any, at_most: Any = np.nan) -> Any:
    """k < 0, k > n → NaN, k = n → 1: a function of how many of n there are."""
    value = np.where(np.floor(k) == most, at_most, value)
    return np.where(np.logical_or(k < 0, k > most), np.nan, value)


implements(_sp.chdtr)(lambda v, x: gammainc(v / 2, x / 2))
implements(_sp.chdtrc)(lambda v, x: gammaincc(v / 2, x / 2))
implements(_sp.pdtr)(lambda k, m: _of_count(k, np.inf, gammaincc(np.floor(k) + 1, m)))
implements(_sp.pdtrc)(lambda k, m: _of_count(k, np.inf, gammainc(np.floor(k) + 1, m)))
implements(_sp.fdtr)(lambda a, b, x: betainc(a / 2, b / 2, a * x / (a * x + b)))
implements(_sp.fdtrc)(lambda a, b, x: betainc(b / 2, a / 2, b / (a * x + b)))
implements(_sp.gdtr)(lambda a, b, x: gammainc(b, a * x))
implements(_sp.gdtrc)(lambda a, b, x: gammaincc(b, a * x))
implements(_sp.nbdtr)(lambda k, n, p: _of_count(k, np.inf, betainc(n, np.floor(k) + 1, p)))
implements(_sp.nbdtrc)(lambda k, n, p: _of_count(k, np.inf, betaincc(n, np.floor(k) + 1, p)))
implements(_sp.bdtr)(lambda k, n, p: _of_count(k, n, betaincc(np.floor(k) + 1, n - np.floor(k), p), 1.0))
implements(_sp.bdtrc)(lambda k, n, p: _of_count(k, n, betainc(np.floor(k) + 1, n - np.floor(k), p), 0.0))
implements(_sp.fdtri)(lambda a, b, y: b * betaincinv(a / 2, b / 2, y) / (a * betainccinv(b / 2, a / 2, y)))
implements(_sp.chdtri)(lambda v, p: 2 * gammainccinv(v / 2, p))


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
