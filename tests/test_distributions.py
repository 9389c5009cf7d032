"""Distributions and other functions of SciPy's on traced arrays: SciPy's values, their slopes, and stable tails."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.spatial.distance as distances
from scipy import stats
from scipy.stats import norm
from threads import failures

import relgrad as rg
from relgrad.errors import TraceError

X = np.random.default_rng(5).normal(size=(4, 3))
Y = np.abs(X[:, 0]) + 0.5
CONTINUOUS: dict[str, tuple[float, ...]] = {
    "alpha": (3.5,), "beta": (2.3, 0.6), "cauchy": (), "chi2": (5.5,), "expon": (), "exponnorm": (1.5,),
    "gamma": (2.0,), "genextreme": (-0.1,), "genpareto": (0.1,), "gumbel_r": (), "halfnorm": (), "invgamma": (4.1,),
    "laplace": (), "levy": (), "loggamma": (0.4,), "logistic": (), "lognorm": (0.95,), "lomax": (1.9,), "norm": (),
    "pareto": (2.6,), "powerlognorm": (2.1, 0.4), "rayleigh": (), "t": (2.7,), "triang": (0.2,),
    "truncnorm": (-1.0, 2.0), "uniform": (), "weibull_min": (1.8,),
}  # fmt: skip
DISCRETE: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "binom": (5, 0.4), "geom": (0.5,), "logser": (0.6,), "nbinom": (5, 0.5), "poisson": (0.6,),
    "randint": (7, 31), "skellam": (10, 8),
}  # fmt: skip
FUNCTIONS = [
    *[(d, f) for d in CONTINUOUS for f in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")],
    *[(d, f) for d in DISCRETE for f in ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf")],
]


def points(name: str, function: str) -> Any:
    """Entries of a distribution's support, its ends, entries beyond them, and NaN; of a quantile, probabilities."""
    if function in ("ppf", "isf"):
        return np.array([0.1, 0.5, 0.9, 0.0, 1.0, -0.1, 1.2, np.nan])
    parameters = {**CONTINUOUS, **DISCRETE}[name]
    d = getattr(stats, name)
    inside = np.asarray(d.rvs(*parameters, size=5, random_state=np.random.default_rng(1)), float)
    ends = [x for end in d.support(*parameters) for x in (end - 1, end, end + 1) if np.isfinite(x)]
    return np.array([*inside, *ends, *([] if name in CONTINUOUS else inside + 0.5), np.nan])


def traced(name: str, function: str) -> Any:
    return lambda x, *parameters: getattr(getattr(stats, name), function)(x, *parameters)


def test_most_functions_are_traced():
    refused = []
    for name, function in FUNCTIONS:
        try:
            rg.stabilize(traced(name, function)).term(0.5, *{**CONTINUOUS, **DISCRETE}[name])
        except TraceError:
            refused.append((name, function))
    assert len(refused) < len(FUNCTIONS) / 5, refused


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_values_are_scipys_inside_and_outside_of_the_support(name):
    parameters = {**CONTINUOUS, **DISCRETE}[name]
    for function in [f for d, f in FUNCTIONS if d == name]:
        x = points(name, function)
        try:
            found = rg.stabilize(traced(name, function))(x, *parameters)
        except TraceError as error:
            assert "by other means" in str(error)
            continue
        want = getattr(getattr(stats, name), function)(x, *parameters)
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-300, err_msg=function)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_slopes_of_log_densities_in_the_point_and_in_parameters(name):
    parameters = [float(p) for p in CONTINUOUS[name]]
    x = float(getattr(stats, name).ppf(0.3, *parameters)) * 1.7 + 0.2
    f = lambda x, loc, scale, *p: getattr(stats, name).logpdf(x, *p, loc=loc, scale=scale)
    at = [x, 0.2, 1.7, *parameters]
    found = rg.grad(f, argnums=tuple(range(len(at))))(*at)
    for i, here in enumerate(at):
        h = 1e-5 * max(1.0, abs(here))
        up, down = ([*at[:i], here + s * h, *at[i + 1 :]] for s in (1, -1))
        want = (f(*up) - f(*down)) / (2 * h)
        assert found[i] == pytest.approx(want, rel=1e-5, abs=1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("t", (3.0,)),
        ("gamma", (2.5,)),
        ("beta", (2.0, 3.0)),
        ("f", (3.0, 4.0)),
        ("chi2", (3.0,)),
        ("truncnorm", (-1.0, 2.0)),
    ],
)
@pytest.mark.parametrize("function", ["logcdf", "sf", "ppf"])
def test_slopes_of_tails_and_quantiles_in_all_parameters(name, parameters, function):
    f = lambda v: getattr(getattr(stats, name), function)(v[0], *v[1:])
    v = np.array([0.4, *parameters])
    steps = 1e-5 * np.eye(len(v))
    np.testing.assert_allclose(rg.stabilize(f)(v), f(v), rtol=1e-12)
    np.testing.assert_allclose(
        rg.grad(f)(v), [(f(v + h) - f(v - h)) / 2e-5 for h in steps], rtol=1e-5, atol=1e-8
    )


def test_intervals_of_normals_far_off():
    f = lambda x, a, b: stats.truncnorm.logpdf(x, a, b)
    with mpmath.workdps(60):
        mass = lambda a: mpmath.log((mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.erfc(41 / mpmath.sqrt(2))) / 2)
        want = float(mpmath.diff(lambda a: -mass(a), 40))
    assert rg.grad(f, 1)(40.5, 40.0, 41.0) == pytest.approx(want, rel=1e-12)


def test_tails_are_stable():
    with mpmath.workdps(40):
        tail = float(mpmath.log(mpmath.erfc(40 / mpmath.sqrt(2)) / 2))
    assert rg.stabilize(lambda z: np.log(norm.sf(z)))(40.0) == pytest.approx(tail, rel=1e-15)
    assert rg.grad(norm.logcdf)(-1e3) == pytest.approx(1000.000999998, rel=1e-12)
    mixture = lambda m: np.sum(np.log(np.sum(np.array([0.3, 0.7]) * norm.pdf(Y[:, None], m, 1.0), axis=1)))
    far = np.array([100.0, 200.0])
    want = np.sum(np.log(0.3) - (Y - 100) ** 2 / 2 - np.log(2 * np.pi) / 2)
    assert mixture(far) == -np.inf
    assert rg.stabilize(mixture)(far) == pytest.approx(want, rel=1e-14)
    np.testing.assert_allclose(rg.grad(mixture)(far), [np.sum(Y - 100), 0.0], rtol=1e-14)


@pytest.mark.parametrize("name", ["genextreme", "genpareto"])
@pytest.mark.parametrize("c", [0.0, 1e-200, 1e-12, -1e-9])
def test_shapes_near_zero_have_slopes(name, c):
    x = np.array([0.1, 0.5])
    f = lambda c: np.sum(getattr(stats, name).logpdf(x, c))
    with mpmath.workdps(60):

        def exact(c: Any) -> Any:
            y = [mpmath.log1p((-c if name == "genextreme" else c) * mpmath.mpf(v)) / c for v in x]
            one = lambda u: u * (1 - c) - mpmath.exp(u) if name == "genextreme" else -(1 + c) * u
            return sum(one(u) for u in y)

        h = mpmath.mpf(10) ** -20
        want = (
            float((exact(c + h) - exact(c - h)) / (2 * h))
            if c != 0
            else float((exact(h) - exact(-h)) / (2 * h))
        )
    assert rg.grad(f)(c) == pytest.approx(want, rel=1e-12)


def test_parameters_out_of_bounds_give_nan():
    x, scales = 0.4, np.array([1.0, 0.0, -1.0, np.nan])
    f = lambda s: norm.logpdf(x, 0.0, s)
    np.testing.assert_array_equal(np.isnan(rg.stabilize(f)(scales)), [False, True, True, True])
    assert np.isnan(rg.stabilize(lambda a: stats.gamma.cdf(x, a))(-1.0))
    assert "where" not in rg.stabilize(lambda t: norm.logpdf(x, 0.0, np.exp(t))).source(0.3)


frozen = stats.gamma(2.0, scale=3.0)


def test_frozen_distributions():
    at = 1.2
    inside = lambda x, m: norm(m, scale=2.0).logpdf(x)
    assert rg.stabilize(inside)(at, 0.3) == pytest.approx(norm.logpdf(at, 0.3, 2.0), rel=1e-15)
    assert rg.grad(inside, argnums=1)(at, 0.3) == pytest.approx((at - 0.3) / 4, rel=1e-15)
    assert rg.grad(lambda x: frozen.logpdf(x))(at) == pytest.approx(1 / at - 1 / 3, rel=1e-15)
    assert rg.stabilize(lambda x: x * frozen.mean())(at) == pytest.approx(6 * at)
    assert type(frozen) is type(stats.gamma(1.0))
    assert norm is stats.norm


def test_black_and_scholes_as_in_textbooks():
    def call(s, k, r, sigma, t):
        d1 = (np.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * np.sqrt(t))
        return s * norm.cdf(d1) - k * np.exp(-r * t) * norm.cdf(d1 - sigma * np.sqrt(t))

    delta, vega = rg.grad(call, argnums=(0, 3))(100.0, 90.0, 0.01, 0.2, 1.0)
    d1 = (np.log(100 / 90) + 0.03) / 0.2
    assert delta == pytest.approx(norm.cdf(d1), rel=1e-14)
    assert vega == pytest.approx(100 * norm.pdf(d1), rel=1e-14)


MULTIVARIATE: dict[str, tuple[Any, Any]] = {
    "a normal one": (lambda x: stats.multivariate_normal.logpdf(x, np.ones(3), np.diag([1.0, 2.0, 3.0])), X),
    "of one number": (lambda x: stats.multivariate_normal.pdf(x, 0.5, 2.0), X[:, 0]),
    "of a mean": (lambda m: stats.multivariate_normal.logpdf(X, m, 2.0), X[0]),
    "of a covariance": (lambda x: stats.multivariate_normal.logpdf(X, cov=x @ x.T + np.eye(3)), X[:3]),
    "of Dirichlet's": (lambda a: stats.dirichlet.logpdf([0.2, 0.3, 0.5], a), np.array([1.0, 2.0, 3.0])),
    "of Student's": (lambda x: stats.multivariate_t.logpdf(x, np.ones(3), np.eye(3), 4), X),
    "of Wishart's": (lambda x: stats.wishart.logpdf(np.eye(3), 5, x @ x.T + np.eye(3)), X[:3]),
}
OTHERS: dict[str, tuple[Any, Any]] = {
    "zscore": (lambda x: stats.zscore(x), Y),
    "zscore along an axis": (lambda x: stats.zscore(x, axis=1, ddof=1), X),
    "gmean": (lambda x: stats.gmean(x), Y),
    "skew": (lambda x: stats.skew(x, axis=None), X),
    "kurtosis": (lambda x: stats.kurtosis(x, axis=0), X),
    "entropy": (lambda x: stats.entropy(x), Y),
    "simpson": (lambda x: scipy.integrate.simpson(x, dx=0.1), X),
    "cumulative_trapezoid": (lambda x: scipy.integrate.cumulative_trapezoid(x, axis=0), X),
    "fixed_quad": (lambda m: scipy.integrate.fixed_quad(lambda x: np.exp(-m * x), 0, 1)[0], 1.3),
    "convolve": (lambda x: scipy.signal.convolve(x, np.array([1.0, 2.0])), Y),
    "detrend": (lambda x: scipy.signal.detrend(x, type="constant"), Y),
    "euclidean": (lambda x: distances.euclidean(x[0], x[1]), X),
    "cosine": (lambda x: distances.cosine(x[0], x[1]), X),
    **{
        f"cdist {metric}": (lambda x, metric=metric: distances.cdist(x, X[::-1] * 2 + 1, metric), X)
        for metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")
    },
    "pdist": (lambda x: distances.pdist(x, "sqeuclidean"), X),
    "vectorize of a closure": (lambda m: np.vectorize(lambda r: r * m if r > 0 else m)(X), 1.3),
    "apply_along_axis of a closure": (lambda m: np.apply_along_axis(lambda r: np.sum(r**2) * m, 1, X), 1.3),
}


@pytest.mark.parametrize("name", [*MULTIVARIATE, *OTHERS])
def test_values_are_scipys_and_slopes_those_of_differences(name):
    f, x = {**MULTIVARIATE, **OTHERS}[name]
    np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-12, atol=1e-15)
    whole = lambda x: np.sum(np.sin(f(x)))
    slope = np.asarray(rg.grad(whole)(x))
    for place in np.ndindex(np.shape(x)):
        step = np.zeros(np.shape(x))
        step[place] = 1e-6
        want = (whole(x + step) - whole(x - step)) / 2e-6
        assert slope[place] == pytest.approx(want, rel=2e-5, abs=1e-7)


def test_threads():
    def work(i: int) -> None:
        for _ in range(3):
            slope = rg.grad(lambda m: np.sum(norm.logpdf(Y, m, 1.0 + i)))(0.1)
            assert slope == pytest.approx(np.sum(Y - 0.1) / (1 + i) ** 2, rel=1e-12)
            assert rg.stabilize(lambda x: stats.skew(x + 0 * i))(Y) == pytest.approx(stats.skew(Y), rel=1e-12)
            assert norm.cdf(0.0) == 0.5

    assert failures(work) == []


def test_functions_that_search_are_refused_or_run_on_what_is_known():
    with pytest.raises(TraceError, match=r"scipy\.stats\.boxcox cannot be traced"):
        rg.stabilize(lambda x: stats.boxcox(x)[0])(Y)
    assert rg.grad(lambda m: m * scipy.integrate.quad(np.exp, 0, 1)[0])(2.0) == pytest.approx(np.e - 1)


def test_an_error_names_the_function_its_cause_and_a_cure():
    with pytest.raises(TraceError) as caught:
        rg.stabilize(lambda x: stats.nct.cdf(x, 5, 0.3))(0.2)
    assert str(caught.value).startswith("scipy.stats.nct.cdf cannot be traced")
    assert "cause: SciPy computes it by other means than NumPy's functions and known ufuncs: " in str(
        caught.value
    )
    assert "cure:  write its formula with NumPy and scipy.special" in str(caught.value)
    kept = [stats.norm]
    with pytest.raises(
        TraceError,
        match=r"call what is traced of SciPy by its name, as stats\.norm\.logpdf",
    ):
        rg.grad(lambda x: kept[0].logpdf(x))(0.3)
    with pytest.raises(TraceError, match="distances of the metric 'canberra' cannot be traced"):
        rg.stabilize(lambda x: distances.cdist(x, X, "canberra"))(X)
