"""Kernels against mpmath, in units in the last place, over their whole range."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numeric_kernels import numeric_kernels

import relgrad as rg
from relgrad import kernels as K
from relgrad.kernels import dispatch
from relgrad.op import Symbolic
from relgrad.ops.families import SincN

DTYPES = [np.float64, np.float32]
inf, nan = math.inf, math.nan


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings(), mp.workdps(50):
        warnings.simplefilter("error")
        yield


def ulps(got, exact, scale=0.0):
    """The largest distance in ulps of the result (or of a larger scale), infinite where one is not finite."""
    got = np.atleast_1d(got)
    worst = 0.0
    for a, e, s in zip(got.ravel(), exact, np.broadcast_to(scale, got.size), strict=True):
        with np.errstate(over="ignore", under="ignore"):
            nearest = got.dtype.type(float(e))
        if not np.isfinite(a) or not np.isfinite(nearest):
            worst = worst if a == nearest or (np.isnan(a) and np.isnan(nearest)) else inf
            continue
        unit = np.spacing(max(abs(nearest), got.dtype.type(s)))
        worst = max(worst, float(abs(mp.mpf(float(a)) - e) / mp.mpf(float(unit))))
    return worst


def points(dtype, low=-20.0, high=None, count=250, seed=0):
    """Arguments of both signs over all magnitudes, the dense middle, the ends of the range of exp."""
    rng = np.random.default_rng(seed)
    high = high or (3.2 if dtype is np.float64 else 2.2)
    m = 10 ** rng.uniform(low, high, count)
    ends = (
        [708.0, 709.7, 709.8, 740.0, 745.0, 36.7, 37.0]
        if dtype is np.float64
        else [87.0, 88.7, 88.8, 102.0, 16.6]
    )
    return np.concatenate([m, -m, rng.uniform(-5, 5, count), ends, np.negative(ends), [0.0]]).astype(dtype)


def exactly(x):
    return [mp.mpf(float(v)) for v in np.ravel(x)]


def _ncdf(v):
    return mp.erfc(-v / mp.sqrt(2)) / 2


def _mills(v):
    return mp.exp(-v * v / 2) / mp.sqrt(2 * mp.pi) / _ncdf(v)


def _log_cosh(v):
    return mp.log1p(2 * mp.sinh(v / 2) ** 2)


def _log1mexp(v):
    return mp.log1p(-mp.exp(v)) if v < -1 else mp.log(-mp.expm1(v)) if v else -mp.inf


def _log_ndtr(v):
    return mp.log(_ncdf(v)) if v < 0 else mp.log1p(-_ncdf(-v))


UNARY = [
    ("expit", lambda v: 1 / (1 + mp.exp(-v)), 4, lambda x: x),
    ("log_expit", lambda v: -mp.log1p(mp.exp(-v)), 3, lambda x: x),
    ("softplus", lambda v: mp.log1p(mp.exp(v)), 3, lambda x: x),
    ("log1mexp", _log1mexp, 3, lambda x: -abs(x)),
    ("log_cosh", _log_cosh, 3, lambda x: x),
    ("bose", lambda v: 1 / mp.expm1(v), 3, lambda x: x[x != 0]),
    ("logit", lambda v: mp.log(v) - mp.log1p(-v), 3, lambda x: abs(x)[(x != 0) & (abs(x) < 1)]),
    ("entr", lambda v: -v * mp.log(v) if v else mp.mpf(0), 3, abs),
    ("erf", mp.erf, 3, lambda x: x),
    ("erfc", mp.erfc, 8, lambda x: x[abs(x) < 27]),
    ("ndtr", _ncdf, 8, lambda x: x[abs(x) < 38]),
    ("log_ndtr", _log_ndtr, 8, lambda x: x[x < 38]),
    ("mills", _mills, 8, lambda x: x[x < 38]),
    ("mills_excess", lambda v: v + _mills(v), 32, lambda x: x),
    ("erfcx_n", lambda v: mp.exp(v * v) * mp.erfc(v), 8, lambda x: x[x > -26]),
    ("gamma", mp.gamma, 4, lambda x: abs(x)[(x != 0) & (abs(x) < 30) & (abs(x) > 1e-30)]),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "exact", "bound", "domain"), UNARY, ids=[row[0] for row in UNARY])
def test_accurate_over_the_whole_range(name, exact, bound, domain, dtype):
    x = domain(points(dtype))
    got = getattr(K, name)(x)
    assert got.dtype == dtype
    with mp.workdps(60):
        assert ulps(got, [exact(v) for v in exactly(x)]) <= bound


def test_the_ruler_sees_two_ulps():
    x = points(np.float64)
    off = np.nextafter(np.nextafter(K.softplus(x), inf), inf)
    assert ulps(off, [mp.log1p(mp.exp(v)) for v in exactly(x)]) > 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_operands(dtype):
    rng = np.random.default_rng(1)
    a = np.concatenate([rng.uniform(-5, 5, 400), points(dtype, count=60)]).astype(dtype)
    b = (a - 10 ** rng.uniform(-6, 2, a.size)).astype(dtype)
    a, b = a[a > b], b[a > b]
    exact = [mp.log(mp.exp(p) - mp.exp(q)) for p, q in zip(exactly(a), exactly(b), strict=True)]
    assert ulps(K.logdiffexp(a, b), exact, abs(a)) <= 4
    y = np.abs(b)
    products = [p * mp.log(q) if q else mp.mpf(0) for p, q in zip(exactly(a), exactly(y), strict=True)]
    assert ulps(K.xlogy(a, y)[y > 0], [e for e, q in zip(products, y, strict=True) if q > 0]) <= 3
    products = [p * mp.log1p(q) for p, q in zip(exactly(a), exactly(y), strict=True)]
    assert ulps(K.xlog1py(a, y), products) <= 3


SPECIAL = [
    ("expit", [inf, -inf, nan, -745.0], [1.0, 0.0, nan, 5e-324]),
    ("log_expit", [inf, -inf, nan], [0.0, -inf, nan]),
    ("softplus", [inf, -inf, nan, 1e308], [inf, 0.0, nan, 1e308]),
    ("log1mexp", [0.0, -inf, 1.0, nan, -5e-324], [-inf, 0.0, nan, nan, math.log(5e-324)]),
    ("log_cosh", [inf, -inf, nan, 1e308], [inf, inf, nan, 1e308 - math.log(2)]),
    ("bose", [0.0, inf, -inf, nan, 745.0], [inf, 0.0, -1.0, nan, 5e-324]),
    ("erfc", [inf, -inf, nan, 1e300], [0.0, 2.0, nan, 0.0]),
    ("ndtr", [inf, -inf, nan, -1e300], [1.0, 0.0, nan, 0.0]),
    ("log_ndtr", [inf, -inf, nan, -1e200], [0.0, -inf, nan, -inf]),
    ("mills", [inf, -inf, nan, -1e200, 1e200], [0.0, inf, nan, 1e200, 0.0]),
    ("mills_excess", [inf, -inf, nan, -1e200, 1e200], [inf, 0.0, nan, 1e-200, 1e200]),
    ("sinc_n", [inf, -inf, nan, 0.0], [0.0, 0.0, nan, 1.0]),
    ("exprel_n", [inf, -inf, nan, 0.0], [inf, 0.0, nan, 1.0]),
    ("log1prel_n", [inf, -1.0, -2.0, nan, 0.0], [0.0, inf, nan, nan, 1.0]),
    ("erfcx_n", [inf, -inf, nan, 0.0], [0.0, inf, nan, 1.0]),
]


@pytest.mark.parametrize(("name", "x", "expected"), SPECIAL, ids=[row[0] for row in SPECIAL])
def test_ends(name, x, expected):
    kernel = getattr(K, name)
    np.testing.assert_allclose(kernel(np.array(x)), expected, rtol=4e-16, atol=0)
    assert kernel(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert kernel(np.float32(-0.25)).dtype == np.float32
    assert kernel(np.array([-0.25], np.float32)).dtype == np.float32
    assert np.ndim(kernel(-0.25)) == 0 and np.asarray(kernel(-0.25)).dtype == np.float64
    assert kernel(np.arange(-1, 1)).dtype == np.float64


def test_logdiffexp_ends():
    a = np.array([1, inf, inf, -inf, 2, 1, 1e308, nan])
    b = np.array([1, inf, 0, -inf, -inf, 2, -1e308, 0])
    np.testing.assert_array_equal(K.logdiffexp(a, b), [-inf, nan, inf, -inf, 2, nan, 1e308, nan])
    np.testing.assert_array_equal(K.xdivy([0.0, 0.0, 1.0, 0.0], [0.0, inf, 0.0, nan]), [0, 0, inf, nan])


def _fourier(n, c, v):
    return mp.re(mp.mpc(0, 1) ** n * mp.hyp1f1(n + 1, c, mp.mpc(0, v)))


def _erfcx(n, v):
    with mp.workdps(120):
        y = [mp.exp(v * v) * mp.erfc(v)]
        y.append(2 * v * y[0] - 2 / mp.sqrt(mp.pi))
        for k in range(1, n):
            y.append(2 * v * y[k] + 2 * k * y[k - 1])
    return y[n]


def _log1prel(n, v):
    return (-1) ** n * mp.factorial(n) * mp.hyp2f1(n + 1, n + 1, n + 2, -v) / (n + 1)


# name, exact, domain, and how large the function is near its zeros (None: it has none)
FAMILIES = [
    ("sinc_n", lambda n, v: _fourier(n, n + 2, v) / (n + 1), lambda x: x, lambda n: 1 / (n + 1)),
    ("exprel_n", lambda n, v: mp.hyp1f1(n + 1, n + 2, v) / (n + 1), lambda x: x, None),
    ("log1prel_n", _log1prel, lambda x: np.where(x < 0, -np.exp(-1 / abs(x)) if x.size else x, x), None),
    ("erfcx_n", _erfcx, lambda x: np.maximum(x, -8), None),
    ("digamma_n", mp.polygamma, lambda x: abs(x) + 1e-3, None),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", range(7))
@pytest.mark.parametrize(("name", "exact", "domain", "size"), FAMILIES, ids=[row[0] for row in FAMILIES])
def test_families_are_accurate_at_every_order(name, exact, domain, size, order):
    rng = np.random.default_rng(order)
    small = 10 ** rng.uniform(-9, 1.4, 40)
    x = domain(np.concatenate([small, -small, rng.uniform(-10, 10, 100)]))
    got = getattr(K, name)(x, order)
    for a, v in zip(got, exactly(x), strict=True):
        e = exact(order, v)
        scale = abs(e) if size is None else max(abs(e), size(order) * 0.3 / max(1, abs(v)))
        if name == "digamma_n" and order == 0:
            scale = max(
                scale, mp.mpf(1)
            )  # SciPy's is relatively accurate near the root as well, mpmath decides
        assert abs(mp.mpf(float(a)) - e) <= 1e-13 * scale, (float(v), float(a), float(e))
    single = getattr(K, name)(x.astype(np.float32), order)
    wide = getattr(K, name)(x.astype(np.float32).astype(np.float64), order)
    np.testing.assert_allclose(single, wide, rtol=3e-7, atol=1e-45)


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", ["jv", "iv", "ive"])
def test_bessel_functions_of_tiny_arguments_are_their_first_terms(name, order):
    x = np.array([1e-310, 1e-200, -1e-200, 1e-101, 1e-20, 9e-10, 0.0])
    first = np.array([float(mp.mpf(float(v)) ** order / 2**order / math.factorial(order)) for v in x])
    scale = np.exp(-np.abs(x)) if name == "ive" else 1.0
    np.testing.assert_allclose(getattr(K, name)(order, x), first * scale, rtol=2e-15, atol=1e-323)
    assert getattr(K, name)(order, x.astype(np.float32)).dtype == np.float32


def test_families_at_zero():
    for n in range(7):
        assert K.exprel_n(0.0, n) == 1 / (n + 1)
        assert K.sinc_n(0.0, n) == (0 if n % 2 else (-1) ** (n // 2) / (n + 1))
        assert K.log1prel_n(0.0, n) == pytest.approx((-1) ** n * math.factorial(n) / (n + 1), rel=4e-15)


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_digamma_at_negative_arguments(order):
    rng = np.random.default_rng(order)
    x = -rng.integers(0, 40, 30) - rng.uniform(0.02, 0.98, 30)
    with mp.workdps(30):
        for a, v in zip(K.digamma_n(x, order), exactly(x), strict=True):
            # Between two poles there may be a zero: the poles' own terms give the scale.
            scale = mp.factorial(order) * (1 / (v - mp.floor(v)) + 1 / (mp.ceil(v) - v)) ** (order + 1)
            assert abs(mp.mpf(float(a)) - mp.polygamma(order, v)) <= 1e-13 * scale, v
    # Far below zero ψ⁽ⁿ⁾ has nearly the period 1; SciPy's ζ would add 10¹² terms one by one.
    far = K.digamma_n(np.array([-1e12 - 0.25]), order)
    near = K.digamma_n(np.array([-1e6 - 0.25]), order)
    np.testing.assert_allclose(far, near, rtol=2e-6)
    above = K.digamma_n(np.array([1e12 + 0.25]), order)
    np.testing.assert_allclose(above, float(mp.polygamma(order, mp.mpf(1e12 + 0.25))), rtol=1e-14)


def test_derivatives_of_digamma_at_the_poles():
    assert np.isinf(K.digamma_n(np.array([0.0, -1.0, -7.0]), 1)).all()


def test_exprel_reaches_the_end_of_the_range():
    x = np.array([709.5, 712.0, 716.0])
    for n in range(4):
        with mp.workdps(30):
            exact = [mp.hyp1f1(n + 1, n + 2, v) / (n + 1) for v in exactly(x)]
        assert ulps(K.exprel_n(x, n), exact) <= 8


# Normalisation


def rows(dtype, weighted=False, seed=0, count=150):
    rng = np.random.default_rng(seed)
    for t in range(count):
        n = int(rng.integers(1, 8))
        x = rng.standard_normal(n) * 10 ** rng.uniform(-3, 2.3)
        if t % 3 == 0:
            x = np.concatenate([x, [10 ** rng.uniform(-20, 0), 10 ** rng.uniform(-20, 0) - 40]])
        w = 10 ** rng.uniform(-20, 20, x.size) * rng.choice([0, 1, 1], x.size)
        w[rng.integers(x.size)] = 1
        yield (x.astype(dtype), w.astype(dtype)) if weighted else x.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_family_against_mpmath(dtype):
    for x in rows(dtype):
        with mp.workdps(400):
            e = [mp.exp(v) for v in exactly(x)]
            total = mp.fsum(e)
            ps, logs = [v / total for v in e], [-mp.log(total / v) for v in e]
            assert ulps(K.logsumexp(x), [mp.log(total)], abs(x).max()) <= 4
        assert ulps(K.softmax(x), ps) <= 8
        assert ulps(K.log_softmax(x), logs) <= 4
        assert K.softmax(x).dtype == K.log_softmax(x).dtype == K.logsumexp(x).dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_weighted_against_mpmath(dtype):
    tiny = mp.mpf(float(np.finfo(dtype).tiny))
    for x, w in rows(dtype, weighted=True):
        e = [a * mp.exp(v) for a, v in zip(exactly(w), exactly(x), strict=True)]
        total = mp.fsum(e)
        assert ulps(K.logsumexp(x, weights=w), [mp.log(total)], abs(x).max()) <= 4
        p = K.softmax(x, weights=w)
        assert p.dtype == dtype
        normal = np.array([v == 0 or v / total > tiny for v in e])
        assert ulps(p[normal], [v / total for v, ok in zip(e, normal, strict=True) if ok]) <= 16


def test_logsumexp_near_zero():
    for small in (1e-20, 3e-9):
        for other in (-40.0, -30.0):
            exact = mp.log(mp.exp(mp.mpf(small)) + mp.exp(mp.mpf(other)))
            assert ulps(K.logsumexp(np.array([small, other])), [exact]) <= 2
            assert ulps(K.logsumexp(np.array([small, other]), weights=np.ones(2)), [exact]) <= 2


def test_logsumexp_ends():
    lse = K.logsumexp
    assert lse([-inf, -inf]) == -inf and lse([inf, 1.0]) == inf and np.isnan(lse([nan, 1.0]))
    assert lse([]) == -inf and lse(np.zeros((0, 3)), axis=0).tolist() == [-inf] * 3
    assert lse(np.zeros((0, 3)), axis=1).shape == (0,)
    assert lse([1.0, 2.0], weights=[0, 0]) == -inf
    assert np.isnan(lse([1.0, 2.0], weights=[1, -1])), "a negative total has no logarithm"
    assert lse([2.0, 1.0], weights=[1, -1]) == pytest.approx(2 + math.log(1 - math.exp(-1)), rel=1e-15)
    assert lse([1.0, 1.0], weights=[1, -1]) == -inf
    assert lse([inf, 1.0], weights=[0, 1]) == 1 and lse([nan, 1.0], weights=[0, 1]) == 1
    assert np.isnan(lse([inf, 1.0], weights=[-1, 1])) and np.isnan(lse([inf, inf], weights=[-1, 1]))
    assert lse([1e308, -1e308]) == 1e308
    assert lse([0.0, 0.0], weights=[1e308, 1e308]) == pytest.approx(
        math.log(2) + 308 * math.log(10), rel=1e-15
    )
    assert lse([0.0, -1000.0], weights=[1e-320, 1e300]) == pytest.approx(300 * math.log(10) - 1000, rel=1e-15)
    assert lse(3) == 3.0 and lse(np.float32(3)).dtype == np.float32
    assert lse(np.ones((2, 1)), axis=1, weights=np.full((1, 3), 2.0)).shape == (2,)


def test_softmax_ends():
    np.testing.assert_array_equal(K.softmax([-inf, -inf]), [nan, nan])
    np.testing.assert_array_equal(K.softmax([inf, 1.0]), [1, 0])
    np.testing.assert_array_equal(K.softmax([inf, inf, 1.0])[:2], [nan, nan])
    np.testing.assert_array_equal(K.softmax([nan, 1.0]), [nan, nan])
    np.testing.assert_array_equal(K.softmax([-inf, 0.0]), [0, 1])
    np.testing.assert_array_equal(K.softmax([nan, 2.0], weights=[0, 1]), [0, 1])
    np.testing.assert_allclose(K.softmax([1.0, 1.0], weights=[3, -1]), [1.5, -0.5])
    np.testing.assert_array_equal(K.log_softmax([-inf, 0.0]), [-inf, 0])
    np.testing.assert_array_equal(K.log_softmax([inf, 1.0]), [0, -inf])
    for shape in ((0, 3), (3, 0)):
        for axis in (0, 1, None):
            assert (
                K.softmax(np.zeros(shape), axis).shape == K.log_softmax(np.zeros(shape), axis).shape == shape
            )
            for pull in (K.deviation, K.softmax_pullback, K.log_softmax_pullback):
                assert pull(np.zeros(shape), np.zeros(shape), axis).shape == shape


AXES = [0, 1, 2, -1, (0, 2), (-1, 0), (0, 1, 2), None, ()]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_agree_with_the_formulas(axis, dtype):
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((2, 2, 3, 4)).astype(dtype)
    w = rng.uniform(0.5, 2, (3, 1)).astype(dtype)
    kept = {"axis": axis, "keepdims": True}
    close = {"rtol": 100 * np.finfo(dtype).eps, "atol": 10 * np.finfo(dtype).eps}
    e = np.exp(x)
    np.testing.assert_allclose(K.logsumexp(x, **kept), np.log(np.sum(e, **kept)), **close)
    np.testing.assert_allclose(K.logsumexp(x, axis), np.log(np.sum(e, axis)), **close)
    np.testing.assert_allclose(K.logsumexp(x, weights=w, **kept), np.log(np.sum(w * e, **kept)), **close)
    p = e / np.sum(e, **kept)
    np.testing.assert_allclose(K.softmax(x, axis), p, **close)
    np.testing.assert_allclose(K.softmax(x, axis, weights=w), w * e / np.sum(w * e, **kept), **close)
    np.testing.assert_allclose(K.log_softmax(x, axis), np.log(p), **close)
    p = rng.uniform(0, 1, (3, 4)).astype(dtype)
    total = np.sum(np.broadcast_to(p, x.shape), **kept)
    mean = np.sum(p * g, **kept) / total
    close["atol"] *= 10
    for got, expected in [
        (K.deviation(g, p, axis), g - mean),
        (K.softmax_pullback(g, p, axis), p * (g - mean)),
        (K.log_softmax_pullback(g, p, axis), g - p * np.sum(g, **kept) / total),
    ]:
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, **close)


def test_pullbacks_do_not_cancel_at_the_heaviest_entry():
    p, g = np.array([1.0, 1e-20, 1e-30]), np.array([1e8 + 1, 1e8, 1e8 - 1])
    mean = 1e-20 + 2e-30
    np.testing.assert_allclose(K.softmax_pullback(g, p), [mean, -1e-20, -2e-30], rtol=1e-15)
    np.testing.assert_allclose(K.deviation(g, p), [mean, -1, -2], rtol=1e-15)
    np.testing.assert_allclose(K.log_softmax_pullback([1.0, 0, 0], p), [1e-20, -1e-20, -1e-30], rtol=1e-9)


finite = hnp.arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e4, 1e4))


@settings(max_examples=60, deadline=None)
@given(finite, st.floats(-1e3, 1e3))
def test_laws(x, shift):
    p = K.softmax(x)
    assert np.sum(p) == pytest.approx(1, rel=1e-14)
    assert np.all((p >= 0) & (p <= 1)) and np.all(K.log_softmax(x) <= 0)
    # One logarithm in three ways; the sums are computed with the rounding of x + shift taken out.
    np.testing.assert_allclose(K.softmax(x), np.exp(K.log_softmax(x)), rtol=4e-12, atol=1e-300)
    assert K.logsumexp(x) >= x.max()
    moved = (x + shift) - shift
    np.testing.assert_allclose(K.logsumexp(moved + shift) - shift, K.logsumexp(moved), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(K.expit(x) + K.expit(-x), 1, rtol=4e-16)
    x = x[abs(x) > 1e-3]
    np.testing.assert_allclose(K.bose(x) + K.bose(-x), -1, rtol=1e-12)


SQUARE = np.array([[0.5, 0.25], [0.125, 1.0]])
OTHER_ARGUMENTS = {
    "add_along": (SQUARE, np.array([[0, 1], [1, 0]]), 1, (2, 2)),
    "add_at": (SQUARE, (slice(None), slice(None)), (2, 2)),
    "cauchy": (SQUARE, -1),
    "expn": (1, SQUARE),
    "lambertw": (0, SQUARE),
    **dict.fromkeys(("gammainc_n", "gammaincc_n", "stdtr_n"), (1, SQUARE, SQUARE)),
    **dict.fromkeys(("betainc_n", "betaincc_n"), (1, 0, SQUARE, SQUARE, SQUARE)),
    **{f"eval_{name}": (2, SQUARE) for name in ["chebyt", "chebyu", "hermite", "hermitenorm", "legendre"]},
    **{f"eval_{name}": (2, 1, SQUARE) for name in ("genlaguerre", "gegenbauer")},
    "eval_jacobi": (2, 1, 1, SQUARE),
    "cofactor": (SQUARE,),
    "cofactor_derivative": (SQUARE, SQUARE),
    "delay": (SQUARE, 1, 1),
    "linear_recurrence": (SQUARE, SQUARE, 1),
    "near": (SQUARE, 0.0, 0.4, 1, 2, (1.0, 0.5), np.sin),
    "norm_p": (SQUARE, 3),
    "running_argmax": (SQUARE, 1),
    "running_argmin": (SQUARE, 1),
    "put_at": (SQUARE, (slice(None), slice(None)), (2, 2)),
    "unit_p": (SQUARE, 3),
}
"""Arguments of the kernels that take orders, axes, keys and shapes, or square matrices; the others take arrays."""


def arrays_for(kernel):
    """As many arrays of one shape as a kernel has arguments without default."""
    if isinstance(kernel, np.ufunc):
        return (SQUARE[:1],) * kernel.nin
    parameters = inspect.signature(kernel).parameters.values()
    return (SQUARE[:1],) * len(
        [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    )


@pytest.mark.parametrize("name", numeric_kernels())
def test_repeated_calls_return_fresh_arrays(name):
    kernel = getattr(K, name)
    arguments = OTHER_ARGUMENTS.get(name) or arrays_for(kernel)
    first, second = kernel(*arguments), kernel(*arguments)
    assert not np.shares_memory(first, SQUARE)
    assert not np.shares_memory(first, second)


def test_kernels_give_way_to_other_arrays():
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return function, args, kwargs

    other = Other()
    assert K.softplus(other) == (K.softplus, (other,), {})
    assert K.logsumexp(np.ones(2), weights=other)[0] is K.logsumexp
    assert not issubclass(Other, Symbolic)


def test_logarithms_of_gamma_near_its_zeros():
    t = np.array([1e-16, -1e-9, 3e-4, -0.01, 0.2, -0.24])
    t = np.concatenate([(1 + t) - 1, t])
    for zero in (1.0, 2.0):
        x = zero + t
        with mp.workdps(40):
            want = [float(mp.loggamma(mp.mpf(float(v)))) for v in x]
        np.testing.assert_allclose(K.gammaln(x), want, rtol=2e-15)
    assert K.gammaln(1.0) == K.gammaln(2.0) == 0
    assert K.gammaln(np.float32(1.1)).dtype == np.float32


@pytest.mark.parametrize("seed", range(3))
def test_beta_functions_of_arguments_of_any_size(seed):
    rng = np.random.default_rng(seed)
    for a, b in 10.0 ** rng.uniform(-8, rng.choice([1.3, 2.3, 6, 15], (100, 2))):
        with mp.workdps(60):
            x, y = mp.mpf(a), mp.mpf(b)
            log = mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)
            slopes = [abs(z * (mp.psi(0, z) - mp.psi(0, x + y))) for z in (x, y)]
            assert abs(K.betaln(a, b) - log) <= 32 * 2.0**-53 * max(abs(log), *slopes), (a, b)
            value = mp.exp(log)
            if value > 1e-290:
                assert abs(K.beta(a, b) - value) <= 48 * 2.0**-53 * max(1, *slopes) * value, (a, b)


@pytest.mark.parametrize("name", ["i0e", "i1e", "k0e", "k1e", "i0", "i1"])
def test_bessel_functions_far_off_are_those_of_scipys_that_know_them(name):
    """√x·e⁻ˣ·I₀(x) → 1/√(2π): SciPy's functions of any order are NaN there."""
    x = np.array([1e7, 1e10, 1e100, 1.7e308, np.inf, 2.0])
    x = np.concatenate([x, -x]) if "i" in name else x
    function = getattr(scipy.special, name)
    np.testing.assert_allclose(rg.stabilize(function)(x), function(x), rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "a", "x"), [("gammainc", 720.0, 3.5), ("gammaincc", 2.0, 1e200), ("gammaincc", 0.3, np.inf)]
)
def test_an_incomplete_gamma_function_whose_factors_leave_the_range_is_zero(name, a, x):
    assert rg.stabilize(getattr(scipy.special, name))(a, x) == 0.0


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e300])
def test_weights_at_the_ends_of_the_range_are_weights(scale):
    """log Σ w·2ᵏ·eˣ = log Σ w·eˣ + k·log 2, for denormal numbers, too."""
    x, w = np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, 3.0])
    known = math.log(scale) + K.logsumexp(x, weights=w)
    np.testing.assert_allclose(K.logsumexp(x, weights=w * scale), known, rtol=1e-13)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_far_off_keep_the_dtype(order):
    assert K.ive(order, np.array([1e10, 2.0], np.float32)).dtype == np.float32


@pytest.mark.parametrize("order", [1, 3])
def test_balls_of_odd_families_keep_their_digits_where_arguments_are_tiny(order):
    """dⁿ/dxⁿ (sin(x)/x) → ∓x/(n + 2) for odd n, of numbers below the range of floats, too."""
    tiny = flint.arb(2) ** -9000
    found = SincN(order).exact(order, tiny) * (order + 2) / tiny
    assert found.overlaps(flint.arb((-1) ** (order // 2 + 1)))
    assert found.rel_accuracy_bits() > 40
    assert rg.grad(lambda x: np.sinc(1e-3 * 1e-3**x))(700.0) == 0


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (K.softmax, 1),
        (K.log_softmax, 1),
        (K.complement, 1),
        (K.deviation, 2),
        (K.softmax_pullback, 2),
        (K.log_softmax_pullback, 2),
    ],
)
@pytest.mark.parametrize("length", [17, 1000, dispatch.ROWS + 1])
def test_rows_of_large_arrays_are_those_of_small_ones(kernel: Any, count: int, length: int) -> None:
    """Blocks end within the array, rows may be longer than a block, and no row knows of another's infinities."""
    rng = np.random.default_rng(0)
    rows = 3 * dispatch.ROWS // length + 2
    arrays = [rng.normal(size=(rows, length)) for _ in range(count)]
    if count == 1:
        arrays[0][1, 0], arrays[0][2, :] = np.inf, np.nan
    want = np.stack([kernel(*row) for row in zip(*arrays, strict=True)])
    np.testing.assert_array_equal(kernel(*arrays), want)
    np.testing.assert_array_equal(kernel(*[x[:, None] for x in arrays], axis=(1, 2)), want[:, None])
    np.testing.assert_array_equal(kernel(*[x.T for x in arrays], axis=0), want.T)


@pytest.mark.parametrize(("y", "e"), [(1e-165, 1e-320), (0.0, 1e-315), (1e-300, 5e-324), (-1e-165, 1e-320)])
def test_roots_of_quadratics_have_all_digits_of_what_is_denormal(y, e):
    """√(y² + e) − y for an e that has few bits: the root has as many as any."""
    with mp.workprec(4000):
        want = mp.sqrt(mp.mpf(y) ** 2 + mp.mpf(e)) - mp.mpf(y)
        assert abs(K.quadratic_root(1.0, y, e) - want) <= 4e-16 * want
