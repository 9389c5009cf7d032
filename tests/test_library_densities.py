"""Log-likelihoods written as the logarithm of a density, far out where the density itself leaves the floats."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import relgrad as rg

log, G, pi = np.log, sp.gamma, np.pi
K, N = np.array([0.0, 3.0, 400.0]), np.array([10.0, 20.0, 900.0])
RATE, P, X = np.array([0.5, 2.0, 380.0]), np.array([0.2, 0.5, 0.4]), np.array([0.5, -60.0, 3.0])
SHAPE = np.array([0.5, 3.0, 300.0])

DENSITIES = {
    "poisson": (lambda m, k: log(np.exp(-m) * m**k / G(k + 1)), (RATE, K), st.poisson.logpmf(K, RATE)),
    "poisson by terms": (lambda m, k: k * log(m) - m - log(G(k + 1)), (RATE, K), st.poisson.logpmf(K, RATE)),
    "binomial": (
        lambda p, k, n: log(G(n + 1) / (G(k + 1) * G(n - k + 1)) * p**k * (1 - p) ** (n - k)),
        (P, K, N + 100),
        st.binom.logpmf(K, N + 100, P),
    ),
    "negative binomial": (
        lambda p, k, r: log(G(k + r) / (G(r) * G(k + 1)) * p**r * (1 - p) ** k),
        (P, K, SHAPE),
        st.nbinom.logpmf(K, SHAPE, P),
    ),
    "normal": (lambda x: log(np.exp(-(x**2) / 2) / np.sqrt(2 * pi)), (X,), st.norm.logpdf(X)),
    "normal with scale": (
        lambda x, s: log(1 / np.sqrt(2 * pi * s**2) * np.exp(-((x - 1) ** 2) / (2 * s**2))),
        (X, np.array([0.5, 1.0, 2.0])),
        st.norm.logpdf(X, 1, [0.5, 1.0, 2.0]),
    ),
    "log-normal": (
        lambda x: log(np.exp(-(log(x) ** 2) / 2) / (x * np.sqrt(2 * pi))),
        (SHAPE,),
        st.lognorm.logpdf(SHAPE, 1),
    ),
    "student": (
        lambda v, x: log(G((v + 1) / 2) / (np.sqrt(v * pi) * G(v / 2)) * (1 + x**2 / v) ** (-(v + 1) / 2)),
        (np.array([3.0, 5.0, 500.0]), X),
        st.t.logpdf(X, [3, 5, 500]),
    ),
    "gamma": (
        lambda x, a: log(x ** (a - 1) * np.exp(-x) / G(a)),
        (np.array([0.5, 3.0, 900.0]), SHAPE),
        st.gamma.logpdf([0.5, 3.0, 900.0], SHAPE),
    ),
    "beta": (
        lambda a, x: log(x ** (a - 1) * (1 - x) ** a / (G(a) * G(a + 1) / G(2 * a + 1))),
        (SHAPE, P),
        st.beta.logpdf(P, SHAPE, SHAPE + 1),
    ),
    "laplace": (lambda x: log(np.exp(-np.abs(x) / 3) / 6), (X * 1e3,), -np.abs(X) * 1e3 / 3 - log(6)),
    "cauchy": (lambda x: log(1 / (pi * (1 + x**2))), (X,), st.cauchy.logpdf(X)),
    "weibull": (lambda x: log(2 * x * np.exp(-(x**2))), (SHAPE,), log(2 * SHAPE) - SHAPE**2),
    "log of gamma": (lambda a: log(G(a)), (SHAPE,), sp.gammaln(SHAPE)),
    "log of beta": (lambda a: log(G(a) * G(a + 2) / G(2 * a + 2)), (SHAPE,), sp.betaln(SHAPE, SHAPE + 2)),
    "gammas that cancel": (
        lambda a: G(a + 1.5) / G(a),
        (SHAPE,),
        np.exp(sp.gammaln(SHAPE + 1.5) - sp.gammaln(SHAPE)),
    ),
    "binomial coefficient": (lambda a: G(a + 4) / (G(4.0) * G(a + 1)), (SHAPE,), sp.binom(SHAPE + 3, 3)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DENSITIES)
def test_the_logarithm_of_a_density(name):
    f, args, want = DENSITIES[name]
    np.testing.assert_allclose(rg.stabilize(f)(*args), want, rtol=5e-13, atol=1e-13)
    cost = lambda *a: np.sum(f(*a))
    slope = rg.grad(cost)(*args)
    x = args[0]
    for i in range(x.size):
        h = 1e-5 * max(abs(x[i]), 1e-1)
        e = h * np.eye(x.size)[i]
        high, low = (np.sum(rg.stabilize(f)(x + d, *args[1:])) for d in (e, -e))
        np.testing.assert_allclose(slope[i], (high - low) / (2 * h), rtol=1e-4, atol=1e-7)


def test_products_of_densities():
    f = lambda x: log(np.prod(np.exp(-(x**2) / 2) / np.sqrt(2 * pi)))
    np.testing.assert_allclose(rg.stabilize(f)(X), np.sum(st.norm.logpdf(X)), rtol=1e-15)
    np.testing.assert_allclose(rg.grad(f)(X), -X, rtol=1e-15)


def test_the_domain_of_a_logarithm_is_kept():
    assert np.isnan(rg.stabilize(lambda a: log(G(a)))(-0.5))
    np.testing.assert_allclose(rg.stabilize(lambda a: log(G(a)))(-1.5), np.log(G(-1.5)), rtol=1e-14)
    f = rg.stabilize(lambda x, k: log(x**k))
    np.testing.assert_array_equal(
        np.isnan(f(np.array([-2.0, -2.0, 2.0]), np.array([3.0, 2.0, 3.0]))), [True, False, False]
    )


def test_ratios_of_gamma_functions_that_overflow():
    f = rg.stabilize(lambda x, y: sp.gamma(x) / sp.gamma(y))
    np.testing.assert_allclose(f(200.0, 198.0), 199.0 * 198.0, rtol=1e-15)
    np.testing.assert_allclose(f(198.0, 200.0), 1 / (199.0 * 198.0), rtol=1e-15)
    np.testing.assert_allclose(f(5.0, 3.0), 12.0, rtol=1e-15)
    np.testing.assert_allclose(f(-0.5, -1.5), -1.5, rtol=1e-15)


BESSEL = {
    "log I₀": (lambda k: np.log(sp.i0(k)), lambda k: mp.log(mp.besseli(0, k))),
    "I₁/I₀": (
        lambda k: sp.i1(k) / sp.i0(k),
        lambda k: mp.besseli(1, k) / mp.besseli(0, k),
    ),
    "e⁻ᵏ·I₀": (lambda k: np.exp(-k) * sp.i0(k), lambda k: mp.exp(-k) * mp.besseli(0, k)),
    "K₁/K₀": (
        lambda k: sp.k1(k) / sp.k0(k),
        lambda k: mp.besselk(1, k) / mp.besselk(0, k),
    ),
    "log K₂": (lambda k: np.log(sp.kv(2, k)), lambda k: mp.log(mp.besselk(2, k))),
}


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BESSEL)
def test_functions_that_grow_as_exponentials_do_are_scaled(name):
    """The von Mises, Rice and Kaiser formulas."""
    f, exact = BESSEL[name]
    for k in (0.5, 30.0, 1000.0, 1e5):
        with mp.workdps(50):
            truth = float(exact(mp.mpf(k))), float(mp.diff(exact, mp.mpf(k)))
        found = rg.stabilize(f)(k), rg.grad(f)(k)
        np.testing.assert_allclose(found[0], truth[0], rtol=4e-15)
        # SciPy's derivatives of scaled functions are differences, of which the digits of the value are left.
        np.testing.assert_allclose(found[1], truth[1], rtol=4e-15, atol=4e-15 * abs(truth[0]))


def test_bessel_functions_that_grow_are_scaled_under_a_sum_as_well():
    """Σ I₀(b·x)/I₀(b), and with the divisor outside: each of them alone is no float."""
    x, w = np.array([1.0, 0.999, -0.998]), np.array([1.0, -2.0, 3.0])
    forms = (lambda b: np.sum(w * sp.i0(b * x) / sp.i0(b)), lambda b: np.sum(w * sp.i0(b * x)) / sp.i0(b))
    ratio = lambda b: (
        sum(k * mp.besseli(0, b * mp.mpf(v)) for k, v in zip(w, x, strict=True)) / mp.besseli(0, b)
    )
    for f in forms:
        for b in (0.5, 900.0):
            assert rg.stabilize(f)(b) == pytest.approx(float(ratio(mp.mpf(b))), rel=1e-12)
            assert rg.grad(f)(b) == pytest.approx(float(mp.diff(ratio, mp.mpf(b))), rel=1e-11)


BETWEEN = {
    "both tails": (38.0, 40.0),
    "lower tail": (-60.0, -45.0),
    "one side each": (-5.0, 40.0),
    "near each other": (60.0, 60.000000001),
    "the middle": (0.3, 1.0),
    "nearly all": (-9.0, 9.0),
}
NORMAL = {
    "ndtr": (sp.ndtr, lambda a, b: mass(a / mp.sqrt(2), b / mp.sqrt(2)) / 2),
    "erf": (sp.erf, lambda a, b: mass(a, b)),
    "negated erfc": (lambda x: -sp.erfc(x), lambda a, b: mass(a, b)),
}


def mass(a, b):
    """erf(b) − erf(a), by the tails of the side where these are small."""
    return mp.erfc(a) - mp.erfc(b) if a + b > 0 else mp.erfc(-b) - mp.erfc(-a)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", NORMAL)
@pytest.mark.parametrize("where", BETWEEN)
def test_log_of_a_normal_probability_between_two_points(where, f):
    (function, exact), (a, b) = NORMAL[f], BETWEEN[where]
    program = lambda a, b: np.log(function(b) - function(a))
    with mp.workdps(150):
        exactly = lambda a, b: mp.log(exact(a, b))
        ends = mp.mpf(a), mp.mpf(b)
        value, h = exactly(*ends), mp.mpf(10) ** -40
        slopes = (exactly(ends[0] + h, ends[1]) - value) / h, (exactly(ends[0], ends[1] + h) - value) / h
    np.testing.assert_allclose(rg.stabilize(program)(a, b), float(value), rtol=2e-15)
    # Far out, the slope at the other end has as many digits as a square of that has.
    tolerance = 2e-15 * max(1.0, b * b - a * a, a * a - b * b)
    np.testing.assert_allclose(
        rg.grad(program, argnums=(0, 1))(a, b), [float(s) for s in slopes], rtol=tolerance
    )


def test_the_logarithm_of_a_product_of_gamma_functions_over_an_axis():
    a = np.array([[200.0, 300.0], [1.0, 2.0], [-0.5, -1.5]])
    dirichlet = lambda a, k: np.log(np.prod(k * G(a), axis=1) / G(np.sum(a, axis=1)))
    expected = np.sum(sp.gammaln(a), axis=1) - sp.gammaln(np.sum(a, axis=1)) + 2 * log(3.0)
    expected[2] = np.nan  # two factors of opposite signs, over what has a pole there
    np.testing.assert_allclose(rg.stabilize(dirichlet)(a, 3.0)[:2], expected[:2], rtol=1e-14)
    np.testing.assert_allclose(
        rg.stabilize(lambda a: np.log(np.prod(G(a), axis=1)))(a[:2]), np.sum(sp.gammaln(a[:2]), axis=1)
    )
    slope = sp.digamma(a[0]) - sp.digamma(500.0)
    np.testing.assert_allclose(rg.grad(lambda a: dirichlet(a, 3.0)[0])(a[:1])[0], slope, rtol=1e-13)


@pytest.mark.parametrize(
    "function", [sp.cosm1, sp.powm1, sp.boxcox, sp.boxcox1p, sp.inv_boxcox, sp.inv_boxcox1p]
)
def test_functions_of_scipy_that_are_made_of_others(function):
    x = np.array([0.0, -2.0, -1.0, 1e-9, 0.3, 1 + 1e-9, 3.0])
    operands = (x,) if function is sp.cosm1 else (x, np.array([[0.0], [1e-12], [2.0], [-0.5]]))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(rg.stabilize(function)(*operands), function(*operands), rtol=1e-13)


@pytest.mark.parametrize(
    ("x", "y"), [(5535.255984440789, 5535.272825788473), (200.7, 180.1), (1e9 + 0.5, 1e9)]
)
def test_ratios_of_gamma_functions_of_large_numbers(x, y):
    with mp.workdps(60):
        exact = float(mp.gammaprod([mp.mpf(x)], [mp.mpf(y)]))
    np.testing.assert_allclose(rg.stabilize(lambda x, y: sp.gamma(x) / sp.gamma(y))(x, y), exact, rtol=1e-13)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda x, y: 1 - (1 - x) * (1 - sp.expit(y)), (1e-20, -45.0), 3.862518580549394e-20),
        (lambda x, y: 1 - (1 - sp.ndtr(x)) * (1 - sp.ndtr(y)), (-12.0, -11.0), 1.9106773393197966e-28),
        (lambda x, y: y - y * sp.gammainc(2.0, x), (100.0, 1.0), 101 * np.exp(-100.0)),
        (lambda x, y: y - y * sp.betainc(2, 30, x), (0.9, 1.0), 2.799999999999981e-29),
    ],
)
def test_what_a_product_of_shares_leaves_of_one(function, arguments, expected):
    np.testing.assert_allclose(rg.stabilize(function, precise=False)(*arguments), expected, rtol=1e-13)


def test_a_normal_density_over_its_distribution_function():
    f = rg.stabilize(lambda x: np.exp(-(x**2) / 2) / sp.ndtr(x))
    np.testing.assert_allclose(
        f(np.array([-50.0, -30.0, 1.0])), [125.3816199, 75.28221786, 0.7209067], rtol=1e-6
    )


def test_a_ratio_of_mills_beside_what_it_grows_like():
    """x + φ(x)/Φ(x) is about 1/|x|: as it is in the slope of the ratio, and in moments of a truncated normal."""
    x = np.array([-1e4, -40.0, -3.0, 0.5, 30.0])
    ratio = lambda x: np.exp(-x * x / 2) / np.sqrt(2 * pi) / sp.ndtr(x)
    with mp.workdps(60):
        mills = [mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) / mp.ncdf(x) for x in map(mp.mpf, x.tolist())]
        excess = [float(m + x) for m, x in zip(mills, x.tolist(), strict=True)]
    found = rg.stabilize(lambda x: x + ratio(x), precise=False)(x)
    np.testing.assert_allclose(found, excess, rtol=8e-15)
    slopes = rg.stabilize(lambda x: ratio(x) * (ratio(x) + x), precise=False)(x)
    np.testing.assert_allclose(slopes, np.array(excess) * np.array(mills, float), rtol=1e-13)
    with mp.workdps(60):
        curvature = [float(1 - m * (m + x)) for m, x in zip(mills, map(mp.mpf, x.tolist()), strict=True)]
    found = rg.grad(lambda x: np.sum(x + ratio(x)), precise=False)(x)
    np.testing.assert_allclose(found, curvature, rtol=2e-12)


def test_an_exponential_stays_beside_a_tail_that_does_not_share_its_exponent():
    """e^y·erfc(x) has the digits of its factors; e^(y + x²)·erfc(x) = e^y·erfcx(x) has those that x² takes."""
    apart = rg.stabilize(lambda y, x: np.exp(y) * sp.erfc(x), precise=False)
    assert "np.exp(y) * erfc(x)" in apart.source(0.5, 0.3)
    np.testing.assert_allclose(apart(800.0, 30.0), float(mp.exp(800) * mp.erfc(30)), rtol=1e-13)
    shared = rg.stabilize(lambda y, x: np.exp(y + x * x) * sp.erfc(x), precise=False)
    np.testing.assert_allclose(shared(0.5, 1e5), float(mp.exp(0.5) / (mp.sqrt(mp.pi) * 1e5)), rtol=1e-10)

    def time_value(s, k, t, r, v):
        d = (np.log(s / k) + (r + v * v / 2) * t) / (v * np.sqrt(t))
        return s * sp.ndtr(d) - k * np.exp(-r * t) * sp.ndtr(d - v * np.sqrt(t)) - (s - k * np.exp(-r * t))

    at = 100.0, 100.0000001, 1e-3, 0.02, 0.2
    convexity = rg.grad(rg.grad(time_value), precise=False)(*at)
    with mp.workdps(60):
        s, k, t, r, v = map(mp.mpf, at)
        d = (mp.log(s / k) + (r + v * v / 2) * t) / (v * mp.sqrt(t))
        truth = float(mp.npdf(d) / (s * v * mp.sqrt(t)))
    np.testing.assert_allclose(convexity, truth, rtol=8e-15)


def test_the_variance_of_a_filter_is_no_difference():
    def steps(p, r, q):
        for _ in range(3):
            s = p + r
            p = p - p * p / s + q
        return np.log(p - q)

    f = rg.stabilize(steps, precise=False)
    np.testing.assert_allclose(f(1e10, 1e-6, 0.1), np.log(1e-6) - np.log1p(1e-5), rtol=1e-10)


def test_a_size_near_one():
    f = rg.stabilize(lambda x: np.log(np.abs(1 + x)), precise=False)
    np.testing.assert_array_equal(f(np.array([1e-20, -2 - 2**-40, -1.0])), [1e-20, np.log1p(2**-40), -np.inf])


SHARES = {
    "one": lambda a, b, e: log(e / (a - b * e)),
    "squared": lambda a, b, e: log(np.square(e / (a - b * e))),
    "two of one sign or other": lambda a, b, e: log(e / (a - b * e) * (e / (b - a * e))),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("t", [900.0, 5.0, -900.0])
def test_the_logarithm_of_a_share_that_underflows_of_a_sum_of_either_sign(name, signs, t):
    f = SHARES[name]
    a, b = 0.7 * signs[0], 0.2 * signs[1]
    with mp.workdps(60):
        e = mp.exp(-t)
        one, two = e / (a - b * e), e / (b - a * e)
        want = {"one": one, "squared": one**2, "two of one sign or other": one * two}[name]
        want = float(mp.log(want)) if want > 0 else np.nan
    got = rg.stabilize(lambda a, b, t: f(a, b, np.exp(-t)), precise=False)(a, b, t)
    np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("x", [1e-9, -3.0, 0.2])
@pytest.mark.parametrize("y", [1e-10, -5.0, 0.4])
def test_the_logarithm_of_factors_near_one(x, y):
    """The evolutionary distance of Kimura (1980), and a product of which both factors may be negative."""
    with mp.workdps(40):
        first = (1 - 2 * mp.mpf(x) - mp.mpf(y)) * mp.sqrt(1 - 2 * mp.mpf(y)) if y < 0.5 else mp.mpf(-1)
        second = (1 + mp.mpf(x)) * (1 + mp.mpf(y))
        wants = [float(mp.log(t)) if t > 0 else np.nan for t in (first, second)]
    kimura = lambda x, y: log((1 - 2 * x - y) * np.sqrt(1 - 2 * y))
    for f, want in zip((kimura, lambda x, y: log((1 + x) * (1 + y))), wants, strict=True):
        np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, y), want, rtol=1e-14)


@pytest.mark.parametrize("z", [-40.0, -1.0, 0.0, 10.0, 35.0])
def test_logarithms_of_the_numbers_in_a_product_meet(z):
    """log(½·erfc(−z/√2)) = log Φ(z), in which −log 2 and log 2 are nothing: as small as the other tail."""
    with mp.workdps(60):
        want = float(mp.log(mp.erfc(-mp.mpf(z) / mp.sqrt(2)) / 2))
    for f in (
        lambda z: np.log(0.5 * (1 + sp.erf(z / np.sqrt(2)))),
        lambda z: np.log((2 - sp.erfc(z / np.sqrt(2))) / 2),
        lambda z: np.log(sp.erfc(-z / np.sqrt(2))) - np.log(2),
    ):
        assert rg.stabilize(f, precise=False)(z) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("z", [3.0, 20.0, 1e5])
def test_the_square_of_a_rounded_root_is_what_it_was_rounded_from(z):
    """exp(−z²/2)/erfc(z/√2) = 1/erfcx(z/√2): nothing is left of z²/2 − (z/√2)², though √2 is a rounded float."""
    f = rg.stabilize(lambda z: np.exp(-(z**2) / 2) / sp.erfc(z / np.sqrt(2)), precise=False)
    np.testing.assert_allclose(f(z), 1 / sp.erfcx(z / np.sqrt(2)), rtol=4e-16)
    assert "exp(" not in f.source(z)
