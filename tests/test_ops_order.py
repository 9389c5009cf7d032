"""Sorting, searching, quantiles: equal to NumPy's, with the right derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from linear_checks import check_derivatives, evaluate, inputs_like, vjp
from source_checks import both_ways, same_as_numpy

import relgrad as rg
from relgrad.errors import ShapeError, TraceError

rng = np.random.default_rng(5)
DTYPES = [np.float64, np.float32, np.int64, np.uint8, np.bool_]
METHODS = [
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen"),
    *("weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"),
]
# No two entries so close that a small step changes their order.
APART = rng.permutation(np.linspace(-1.5, 2.0, 24)).reshape(2, 3, 4)


@st.composite
def arrays(draw, dtypes=DTYPES, min_dims=0):
    """Draw an array with ties and, if it is one of floats, with NaN and infinities; and an axis of it."""
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=4))
    x = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 4))).astype(draw(st.sampled_from(dtypes)))
    if x.dtype.kind == "f" and draw(st.booleans()):
        x[draw(hnp.arrays(bool, shape))] = draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.0]))
    return x, draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))


def agree(f, *arrays):
    """Check that f is NumPy's, or that both refuse."""
    with np.errstate(all="ignore"):
        try:
            f(*arrays)
        except (ValueError, IndexError, TypeError):
            with pytest.raises((ShapeError, TraceError, ValueError, TypeError)):
                both_ways(f, *arrays)
        else:
            same_as_numpy(f, *arrays)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None)
@given(arrays(), st.sampled_from([{}, {"kind": "stable"}, {"stable": True}, {"kind": "heapsort"}]))
def test_sorts_are_numpys(case, options):
    x, axis = case
    agree(lambda z: np.sort(z, axis=axis, **options), x)
    agree(lambda z: np.argsort(z, axis=axis, **options), x)
    agree(lambda z: z.argsort(axis), x)
    if axis is not None:
        agree(lambda z: np.maximum.accumulate(z, axis=axis), x)
        agree(lambda z: np.minimum.accumulate(z, axis), x)
        agree(lambda z: np.lexsort((z, z[::-1]), axis=axis), x)
    along = -1 if axis is None else axis
    for kth in (0, -1, 1, (0, 2)) if x.size else ():
        # The order on either side of the kth entry is nobody's business.
        at = [kth] if isinstance(kth, int) else [*kth]
        agree(lambda z, kth=kth, at=at: np.take(np.partition(z, kth, axis=axis), at, along), x)
        agree(lambda z, kth=kth: np.sort(np.partition(z, kth, axis=axis), axis=along), x)
        agree(lambda z, kth=kth: np.sort(np.argpartition(z, kth, axis=axis), axis=along), x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None)
@given(arrays(), st.data())
def test_quantiles_are_numpys(case, data):
    x, axis = case
    if np.isnan(x).any():
        x = x.astype(float)  # a NaN of float32 stays float32 in NumPy, where a number becomes float64
    axis = data.draw(st.sampled_from([axis, tuple(range(x.ndim))]))
    options = {"axis": axis, "keepdims": data.draw(st.booleans())}
    q = data.draw(
        st.sampled_from([0, 1, 0.3, np.float64(0.7), np.float32(0.3), [0.1, 0.5, 1.0], [[0.25], [1.0]]])
    )
    agree(lambda z: np.median(z, **options), x)
    for method in METHODS:
        agree(lambda z, method=method: np.quantile(z, q, method=method, **options), x)
    agree(lambda z: np.percentile(z, 100 * np.atleast_1d(q), **options), x)
    agree(lambda z, p: np.quantile(z, p, **options), x, np.asarray(q, float))


@settings(max_examples=60, deadline=None)
@given(arrays(), arrays(), st.sampled_from(["left", "right"]))
def test_searches_are_numpys(edges, values, side):
    a, v = np.sort(edges[0].ravel()), values[0]
    agree(lambda a, v: np.searchsorted(a, v, side), a, v)
    agree(lambda v: np.searchsorted(a, v, side), v)
    agree(lambda a: a.searchsorted(v, side), a)
    agree(lambda a: np.searchsorted(a[::-1], v, side, np.arange(len(a))[::-1]), a)
    for bins in (a, a[::-1]):
        if not np.isnan(bins).any():
            agree(lambda v, b=bins: np.digitize(v, b, side == "right"), v)
            agree(lambda v, b: np.digitize(v, b, side == "right"), v, bins)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize(
    "function",
    [np.sort, np.median, lambda x, axis: np.partition(x, 1, axis)]
    + [lambda x, axis, m=m: np.quantile(x, [0.15, 0.6], axis, method=m) for m in METHODS],
)
def test_derivatives_through_an_order(function, axis):
    check_derivatives(lambda x: function(x, axis=axis) ** 2, APART)


@pytest.mark.parametrize("function", [np.maximum, np.minimum])
def test_derivatives_of_running_extremes(function):
    for axis in (0, -1):
        check_derivatives(lambda x, axis=axis: function.accumulate(x, axis=axis) ** 2, APART)
    (got,) = evaluate(vjp(np.maximum.accumulate, 1), np.array([1.0, 3.0, 3.0, 2.0, 4.0]), np.ones(5))
    np.testing.assert_array_equal(got, [1, 3, 0, 0, 1])


def test_derivatives_of_a_quantile_by_its_share():
    check_derivatives(lambda x, q: np.quantile(x, q, axis=1), APART, np.array([0.15, 0.61]))
    check_derivatives(lambda q: np.quantile(APART, q, axis=1), np.array([0.15, 0.61]))
    check_derivatives(lambda x, q: np.percentile(x, q, method="hazen"), APART, np.float64(33.3))


def test_order_has_the_zero_derivative():
    for f in (np.argsort, lambda x: np.searchsorted(np.sort(x), x), lambda x: np.lexsort((x,))):
        np.testing.assert_array_equal(rg.grad(lambda x, f=f: np.sum(f(x) * 1.0))(APART[0, 0]), np.zeros(4))


def test_nested_gradients_through_an_order():
    x = APART[0, 0]
    cost = lambda x: np.sum(np.sort(x)[1:] ** 3) + np.median(x) ** 4 + np.maximum.accumulate(x)[-1] ** 2
    hessian = rg.jacobian(rg.grad(cost))(x)
    step = 1e-5 * np.eye(4)
    slopes = [(rg.grad(cost)(x + h) - rg.grad(cost)(x - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(hessian, slopes, rtol=1e-5, atol=1e-6)


def test_what_is_undefined_stays_so_where_it_was_sorted_to():
    x = np.array([2.0, np.nan, -1.0, 1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            rg.stabilize(lambda x: np.exp(np.log(np.sort(x))))(x), [np.nan, 1, 2, np.nan]
        )
        np.testing.assert_allclose(
            rg.stabilize(lambda x: np.sort(np.exp(np.log(x))))(x), [1, 2, np.nan, np.nan]
        )


def test_order_is_known_beyond_the_range_of_floats():
    x = np.array([800.0, -900.0, 1000.0, 900.0, -800.0])
    for f in (
        np.median,
        np.sort,
        lambda y: -np.sort(-y),
        lambda y: np.partition(y, 3)[3],
        np.maximum.accumulate,
        np.minimum.accumulate,
    ):
        with np.errstate(all="ignore"):
            got = rg.stabilize(lambda x, f=f: np.log(f(np.exp(x))))(x)
        np.testing.assert_allclose(got, f(x))
    with np.errstate(all="ignore"):
        got = rg.stabilize(lambda x: np.searchsorted(np.sort(np.exp(x)), np.exp(x) * np.ones(5)))(x)
    np.testing.assert_array_equal(got, np.argsort(np.argsort(x)))


def test_what_is_refused():
    (x,) = inputs_like([np.ones((3, 4))])
    with pytest.raises(TraceError, match="cannot become an index"):
        np.partition(x, np.argmax(x[0]))
    with pytest.raises(ShapeError, match="out of bounds"):
        np.partition(x, 4)
    with pytest.raises(ShapeError, match="vector"):
        np.searchsorted(x, 1.0)
    with pytest.raises(TraceError, match="weights="):
        np.quantile(x, 0.5, weights=np.ones((3, 4)), method="inverted_cdf")
    with pytest.raises(ValueError, match="range"):
        np.quantile(x, 1.5)
    with pytest.raises(ValueError, match="not a valid method"):
        np.quantile(x, 0.5, method="none")


def test_quantiles_without_nan_are_numpys_along_any_axis():
    x = rng.normal(size=(3, 5))
    x[0, 1] = x[2, 2] = np.nan
    for axis in (None, 0, 1):
        for f in (
            lambda x, a=axis: np.nanquantile(x, 0.3, axis=a),
            lambda x, a=axis: np.nanpercentile(x, [20, 90], axis=a),
            lambda x, a=axis: np.nanmedian(x, axis=a, keepdims=True),
        ):
            np.testing.assert_array_equal(rg.stabilize(f)(x), f(x))
