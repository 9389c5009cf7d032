"""Classical functions of SciPy: derivatives by every argument, by their parameters as well, against high precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import relgrad as rg
from relgrad import kernels
from relgrad.ops.distributions import gammainc, gammaincc

mpmath.mp.dps = 40
TAILS = {
    "gammainc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
    "betainc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    "betaincc": lambda a, b, x: mpmath.betainc(a, b, x, 1, regularized=True),
}
POINTS = {
    "gamma": [(2.5, 1.0), (0.01, 1e-30), (0.3, 4.0), (50.0, 20.0), (50.0, 80.0), (3.0, 700.0)],
    "beta": [(2.0, 3.0, 0.4), (0.01, 3.0, 1e-5), (3.0, 0.02, 0.999), (20.0, 30.0, 0.1), (20.0, 30.0, 0.9)],
}


def orders_of(name, most):
    count = 1 if name.startswith("gamma") else 2
    return [n for n in np.ndindex(*[most + 1] * count) if 0 < sum(n) <= most]


@pytest.mark.parametrize("name", sorted(TAILS))
def test_derivatives_of_tails_by_their_parameters(name):
    for point in POINTS[name[: name.index("inc")]]:
        for n in orders_of(name, 2):
            found = getattr(kernels, f"{name}_n")(*n, *point)
            with mpmath.workdps(80):
                exact = mpmath.diff(
                    TAILS[name], tuple(map(mpmath.mpf, point)), (*n, 0), h=mpmath.mpf(10) ** -15
                )
                exact = float(exact / TAILS[name](*map(mpmath.mpf, point)))
            assert found == pytest.approx(exact, rel=1e-9), (point, n)


@pytest.mark.parametrize("name", sorted(TAILS))
def test_both_tails_move_together(name):
    """∂P = −∂Q, at arrays of any shape, in either floating dtype."""
    other = {"gammainc": "gammaincc", "betainc": "betaincc"}.get(name, name.replace("cc", "c"))
    parameters = (2.0,) if name.startswith("gamma") else (2.0, 0.5)
    for dtype, digits in ((np.float64, 1e-12), (np.float32, 1e-5)):
        x = np.linspace(0.05, 0.95, 300, dtype=dtype).reshape(3, 100)
        one, two = (
            getattr(kernels, f)(*parameters, x)
            * getattr(kernels, f"{f}_n")(1, *[0] * (len(parameters) - 1), *parameters, x)
            for f in (name, other)
        )
        assert one.dtype == dtype
        np.testing.assert_allclose(one, -two, rtol=digits)


def test_ends_and_numbers_outside():
    a, x = np.array([1.0, 1.0, -1.0, np.nan, np.inf]), np.array([0.0, np.inf, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(kernels.gammainc_n(1, a, x), [0, 0, np.nan, np.nan, np.nan])
    assert kernels.betainc_n(1, 1, np.ones((2, 0)), 1.0, 0.5).shape == (2, 0)


@pytest.mark.parametrize("name", sorted(TAILS))
def test_gradients_by_every_argument(name):
    """The gradient, and its own: Hessians are symmetric, and their entries right."""
    tail = getattr(sp, name)
    for point in POINTS[name[: name.index("inc")]][:1]:
        f = lambda v: tail(*v)
        v = np.array(point)
        size = len(point)
        unit = np.eye(size, dtype=int)
        exact = [float(mpmath.diff(TAILS[name], point, tuple(map(int, e)))) for e in unit]
        np.testing.assert_allclose(rg.grad(f)(v), exact, rtol=1e-10)
        second = [
            [float(mpmath.diff(TAILS[name], point, tuple(map(int, e + u)))) for e in unit] for u in unit
        ]
        np.testing.assert_allclose(rg.hessian(f)(v), second, rtol=1e-8, atol=1e-10)


def test_slopes_of_logarithms_where_a_tail_is_no_float():
    slope = rg.grad(lambda a, x: np.log(sp.gammaincc(a, x)))(2.5, 900.0)
    assert slope == pytest.approx(
        float(mpmath.diff(lambda a: mpmath.log(TAILS["gammaincc"](a, 900)), 2.5)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("name", "of", "point"),
    [
        ("gammaincinv", "gammainc", (2.0, 0.3)),
        ("gammainccinv", "gammaincc", (0.5, 1e-10)),
        ("betaincinv", "betainc", (2.0, 3.0, 0.4)),
        ("betainccinv", "betaincc", (0.5, 2.0, 0.9)),
    ],
)
def test_quantiles_are_inverse_in_all_orders(name, of, point):
    """F(a, Q(a, y)) = y: its gradient is (0, …, 1), its Hessian 0."""
    f = lambda v: getattr(sp, of)(*v[:-1], getattr(sp, name)(*v))
    v = np.array(point)
    np.testing.assert_allclose(rg.grad(f, precise=False)(v), [0] * (len(v) - 1) + [1], atol=1e-9)
    exact = mpmath.diff(
        lambda y: mpmath.findroot(lambda x: TAILS[of](*point[:-1], x) - y, getattr(sp, name)(*point)),
        point[-1],
    )
    assert rg.grad(getattr(sp, name), len(v) - 1)(*point) == pytest.approx(float(exact), rel=1e-9)


FUNCTIONS = {
    "jv of half order": (lambda x: sp.jv(0.5, x), lambda x: mpmath.besselj(0.5, x), [0.3, 2.0, 40.0]),
    "jv below 0": (lambda x: sp.jv(-1.5, x), lambda x: mpmath.besselj(-1.5, x), [0.3, 2.0]),
    "iv of a real order": (lambda x: sp.iv(0.3, x), lambda x: mpmath.besseli(0.3, x), [1e-3, 2.0, 30.0]),
    "kv of Matérn": (
        lambda x: x**1.3 * sp.kv(1.3, x),
        lambda x: x**1.3 * mpmath.besselk(1.3, x),
        [0.1, 2.0, 30.0],
    ),
    "expn": (lambda x: sp.expn(3, x), lambda x: mpmath.expint(3, x), [1e-3, 0.7, 30.0]),
    "dawsn": (
        sp.dawsn,
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
        [0.0, 0.9, 30.0],
    ),
    "erfi": (sp.erfi, mpmath.erfi, [0.0, -0.7, 5.0]),
    "ndtri_exp": (
        sp.ndtri_exp,
        lambda y: (
            -mpmath.sqrt(2) * mpmath.findroot(lambda z: mpmath.log(mpmath.erfc(z) / 2) - y, mpmath.sqrt(-y))
        ),
        [-0.9, -30.0],
    ),
    "spence": (sp.spence, lambda x: mpmath.polylog(2, 1 - x), [0.3, 1.0, 1 + 1e-9]),
    "ellipk": (sp.ellipk, mpmath.ellipk, [0.0, 0.5, -3.0, 1 - 1e-9]),
    "ellipe": (sp.ellipe, mpmath.ellipe, [0.0, 0.5, -3.0, 1 - 1e-9]),
    "ellipkm1": (sp.ellipkm1, lambda p: mpmath.ellipk(1 - p), [1e-12, 0.5]),
    "lambertw": (lambda x: sp.lambertw(x).real, mpmath.lambertw, [0.0, 1e-9, 5.0, -0.36]),
    "lambertw, lower": (lambda x: sp.lambertw(x, -1).real, lambda x: mpmath.lambertw(x, -1), [-0.36, -1e-9]),
    "hyp0f1": (lambda x: sp.hyp0f1(1.5, x), lambda x: mpmath.hyp0f1(1.5, x), [0.0, 0.7, 9.0]),
    "hyp1f1": (lambda x: sp.hyp1f1(0.5, 1.5, x), lambda x: mpmath.hyp1f1(0.5, 1.5, x), [0.0, -3.0, 2.0]),
    "hyp2f1": (
        lambda x: sp.hyp2f1(0.5, 1, 1.5, x),
        lambda x: mpmath.hyp2f1(0.5, 1, 1.5, x),
        [0.0, 0.7, -5.0],
    ),
    "eval_legendre": (lambda x: sp.eval_legendre(5, x), lambda x: mpmath.legendre(5, x), [0.3, 1.0]),
    "eval_jacobi": (
        lambda x: sp.eval_jacobi(3, 0.5, 1, x),
        lambda x: mpmath.jacobi(3, 0.5, 1, x),
        [0.3, -0.9],
    ),
    "eval_hermite": (lambda x: sp.eval_hermite(4, x), lambda x: mpmath.hermite(4, x), [0.3, 3.0]),
    "eval_chebyt": (lambda x: sp.eval_chebyt(6, x), lambda x: mpmath.chebyt(6, x), [0.3, -0.9]),
    "eval_chebyu": (lambda x: sp.eval_chebyu(4, x), lambda x: mpmath.chebyu(4, x), [0.3, -0.9]),
    "eval_laguerre": (lambda x: sp.eval_laguerre(4, x), lambda x: mpmath.laguerre(4, 0, x), [0.3, 2.0]),
    "binom": (lambda n: sp.binom(n, 3.2), lambda n: mpmath.binomial(n, 3.2), [7.5, 50.0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives(name):
    f, exact, points = FUNCTIONS[name]
    for x in points:
        values = f(x), rg.grad(f)(x), rg.grad(rg.grad(f))(x)
        for k, value in enumerate(values):
            want = float(mpmath.re(mpmath.diff(exact, mpmath.mpf(x), k) if k else exact(mpmath.mpf(x))))
            assert value == pytest.approx(want, rel=1e-9, abs=1e-12), (x, k)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: sp.jv(x, x), "scipy.special.jv cannot be traced for the parameter"),
        (
            lambda x: sp.eval_legendre(1.5, x),
            "scipy.special.eval_legendre cannot be traced for the order 1.5",
        ),
        (lambda x: sp.lambertw(x, 2), "scipy.special.lambertw cannot be traced for the branch 2"),
        (lambda x: sp.hyp2f1(x, 1, 1, 0.5), "scipy.special.hyp2f1 cannot be traced for the parameter"),
    ],
)
def test_parameters_that_are_no_numbers_are_refused(f, text):
    with pytest.raises(rg.TraceError, match=text):
        rg.stabilize(f)(0.5)


@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (lambda x: 1 - (2 * sp.j1(x) / x) ** 2, lambda x: 1 - (2 * mpmath.besselj(1, x) / x) ** 2),
        (lambda x: sp.ellipk(x) - np.pi / 2, lambda x: mpmath.ellipk(x) - mpmath.pi / 2),
        (lambda x: sp.hyp1f1(0.5, 1.5, -x) - 1 + x / 3, lambda x: mpmath.hyp1f1(0.5, 1.5, -x) - 1 + x / 3),
        (lambda x: sp.spence(1 + x) + x, lambda x: mpmath.polylog(2, -x) + x),
    ],
)
def test_leading_terms_are_no_loss_without_the_net(f, exact):
    for x in (1e-6, 1e-3, 0.2):
        g = rg.grad(f, precise=False)(x)
        assert rg.stabilize(f, precise=False)(x) == pytest.approx(float(exact(mpmath.mpf(x))), rel=1e-14)
        assert g == pytest.approx(float(mpmath.diff(exact, mpmath.mpf(x))), rel=1e-13)


def test_confluent_functions_far_off():
    """SciPy's does not end there."""
    assert kernels.hyp1f1(0.5, 1.5, -1e10) == pytest.approx(float(mpmath.hyp1f1(0.5, 1.5, -1e10)), rel=1e-13)
    np.testing.assert_array_equal(
        kernels.hyp1f1(0.5, 1.5, np.array([1e300, np.inf, -np.inf])), [np.inf, np.inf, 0]
    )
    assert kernels.hyp1f1(-2.0, 1.5, 1e10) == pytest.approx(float(mpmath.hyp1f1(-2, 1.5, 1e10)), rel=1e-13)


def test_what_is_printed_runs():
    f = lambda a, x: sp.gammainc(a, x) + sp.kv(0.5, x) + sp.eval_jacobi(2, 0.5, 1, x)
    space: dict[str, object] = {}
    source = rg.stabilize(rg.grad(f)).source(2.5, 1.0)
    exec(source, space)
    assert "gammainc_n(1, a, x)" in source
    assert space["stabilize_f"](2.5, 1.0) == rg.grad(f)(2.5, 1.0)
    assert math.isfinite(rg.grad(f)(2.5, 1.0))


@pytest.mark.parametrize("x", [0.0, -1.0, -2.0, -5.0, -1 + 1e-9, -7.9999, 0.5, 2.5, 171.0])
def test_the_reciprocal_of_gamma_has_derivatives_at_poles(x):
    """(1/Γ)′(−n) = (−1)ⁿ·n!, where Γ and ψ are infinite."""
    found = rg.value_and_grad(rg.grad(sp.rgamma))(x)
    with mpmath.workdps(60):
        truth = [float(mpmath.diff(mpmath.rgamma, x, n)) for n in (1, 2)]
    assert found == pytest.approx(truth, rel=1e-13)


SMALL, LARGE = (1e-10, 1e-4, 2e-3), (40.0, 500.0, 1e4)
ENDS = {
    "E₁": (
        lambda u: sp.exp1(u) + np.log(u) + np.euler_gamma,
        lambda u: mpmath.e1(u) + mpmath.log(u) + mpmath.euler,
        SMALL,
    ),
    "Ei": (
        lambda u: sp.expi(u) - np.log(u) - np.euler_gamma,
        lambda u: mpmath.ei(u) - mpmath.log(u) - mpmath.euler,
        SMALL,
    ),
    "K₀": (lambda u: sp.k0(u) + np.log(u / 2) + np.euler_gamma, None, SMALL),
    "K₁": (lambda u: u * sp.k1(u) - 1, lambda u: u * mpmath.besselk(1, u) - 1, SMALL),
    "K₂": (lambda u: sp.kv(2, u) - 2 / u**2 + 0.5, lambda u: mpmath.besselk(2, u) - 2 / u**2 + 0.5, SMALL),
    "I₁/I₀": (
        lambda u: 1 - sp.i1(u) / sp.i0(u),
        lambda u: 1 - mpmath.besseli(1, u) / mpmath.besseli(0, u),
        LARGE,
    ),
    "K₁/K₀": (
        lambda u: sp.k1(u) / sp.k0(u) - 1,
        lambda u: mpmath.besselk(1, u) / mpmath.besselk(0, u) - 1,
        LARGE,
    ),
    "D": (
        lambda u: 1 - 2 * u * sp.dawsn(u),
        lambda u: 1 - u * mpmath.sqrt(mpmath.pi) * mpmath.exp(-u * u) * mpmath.erfi(u),
        LARGE,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_functions_say_what_they_are_near_their_ends(name):
    """Near 0 by powers and a logarithm, far out by an asymptotic series: what is taken off them there, and slopes."""
    f, exact, points = ENDS[name]
    exact = exact or (lambda u: mpmath.besselk(0, u) + mpmath.log(u / 2) + mpmath.euler)
    for u in points:
        with mpmath.workdps(50):
            want = float(exact(mpmath.mpf(u)))
            slope = float(mpmath.diff(exact, mpmath.mpf(u), h=mpmath.mpf(u) * mpmath.mpf(10) ** -15))
        assert rg.stabilize(f, precise=False)(u) == pytest.approx(want, rel=4e-15)
        assert rg.grad(f, precise=False)(u) == pytest.approx(slope, rel=4e-15)


@pytest.mark.parametrize("a", [60.0, 1900.0, 4000.0])
def test_slopes_of_tails_by_their_parameters_are_known_in_balls(a):
    """(P(a, a) − ½)′, P(a, a) = ½ + 1/(3·√(2π·a)) + …: what is left of two slopes, one of them by a parameter."""
    f = lambda a: sp.gammainc(a, a) - 0.5
    u = 1 / (mpmath.mpf(a) * 2 * mpmath.pi) ** 0.5
    exact = lambda a: mpmath.gammainc(a, 0, a, regularized=True) - 0.5
    assert rg.stabilize(f)(a) == pytest.approx(float(exact(mpmath.mpf(a))), rel=4e-16)
    slope = mpmath.diff(exact, mpmath.mpf(a), h=mpmath.mpf(10) ** -12)
    assert rg.grad(f)(a) == pytest.approx(float(slope), rel=4e-16)
    assert abs(float(exact(mpmath.mpf(a)) * 3 / u) - 1) < 1 / a


def test_what_programs_call_is_traced():
    """Else no program with it would be computed in balls."""
    for given in (
        lambda a, x: kernels.gammainc_n(1, a, x) + kernels.gammaincc_n(2, a, x),
        lambda a, x: kernels.betainc_n(1, 0, a, x, 0.3) + kernels.betaincc_n(0, 1, a, x, 0.3),
        lambda a, x: kernels.stdtr_n(1, a, x) + kernels.lambertw(0, x),
    ):
        np.testing.assert_allclose(rg.stabilize(given)(2.5, 3.0), given(2.5, 3.0), rtol=1e-12)


def test_balls_of_tails_of_no_number_are_none():
    flint = pytest.importorskip("flint")
    for a, x in (("nan", 3), (3, "nan"), ("inf", 3)):
        for op in (gammainc, gammaincc):
            assert not op.ball(flint.arb(a), flint.arb(x)).is_finite()
