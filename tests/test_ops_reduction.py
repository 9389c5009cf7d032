"""Reductions, statistics and scans: equal to NumPy's, with the right derivatives, in one canonical form."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from linear_checks import check_derivatives, evaluate, inputs_like, jvp, vjp
from source_checks import both_ways, same_as_numpy

import relgrad as rg
from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.kernels import leave_one_out_prod
from relgrad.op import as_term
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.statistics import Size
from relgrad.types import REAL, Interval

rng = np.random.default_rng(1)
DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_]
REDUCTIONS = [
    np.sum,
    np.prod,
    np.max,
    np.min,
    np.any,
    np.all,
    np.mean,
    np.var,
    np.std,
    np.ptp,
    np.count_nonzero,
]


@st.composite
def reductions(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    dtype = draw(st.sampled_from(DTYPES))
    x = draw(hnp.arrays(dtype, shape, elements=_elements(dtype)))
    axes = st.integers(-len(shape), len(shape) - 1) if shape else st.none()
    several = st.sets(st.integers(0, len(shape) - 1)).map(tuple) if shape else st.just(())
    return x, draw(st.one_of(st.none(), axes, several)), draw(st.booleans())


def _elements(dtype):
    if dtype is np.bool_:
        return st.booleans()
    if np.dtype(dtype).kind == "f":
        return st.integers(-32, 32).map(lambda n: n / 8)
    return st.integers(0, 5)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(REDUCTIONS), reductions(), st.booleans())
def test_reductions_are_numpys(function, case, unknown):
    x, axis, keepdims = case
    if function in (np.ptp,) and x.dtype == np.bool_:
        return
    f = lambda z: function(z, axis=axis, keepdims=keepdims)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            f(x)
        except ValueError:
            with pytest.raises(ShapeError, match="does not exist"):
                both_ways(f, x)
            return
        same_as_numpy(f, x)
        if unknown and x.size:
            same_as_numpy(f, x, unknown=True)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([np.argmax, np.argmin]), reductions())
def test_positions_are_numpys(function, case):
    x, axis, keepdims = case
    if isinstance(axis, tuple):
        axis = None
    f = lambda z: function(z, axis=axis, keepdims=keepdims)
    try:
        f(x)
    except ValueError:
        with pytest.raises(ShapeError, match="does not exist"):
            both_ways(f, x)
    else:
        same_as_numpy(f, x)


@st.composite
def masks(draw, x):
    """Draw a mask that can be stretched to an array."""
    shape = [draw(st.sampled_from([1, n])) for n in x.shape]
    shape = shape[draw(st.integers(0, len(shape))) :]
    return draw(hnp.arrays(bool, tuple(shape)))


@settings(max_examples=60, deadline=None)
@given(reductions(), st.data())
def test_masks_and_initial_values_are_numpys(case, data):
    x, axis, keepdims = case
    mask = data.draw(masks(x))
    initial = data.draw(st.sampled_from([0, 1, 2, 2.5, 3 > 2]))
    options = {"axis": axis, "keepdims": keepdims}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for f in (np.sum, np.prod, np.any, np.all, np.mean, np.var, np.std):
            same_as_numpy(lambda z, m, f=f: f(z, where=m, **options), x, mask)
        for f in (np.sum, np.prod, np.max, np.min):
            same_as_numpy(lambda z, f=f: f(z, where=mask, initial=initial, **options), x)
            same_as_numpy(lambda z, f=f: f(z, initial=initial, **options), x)


@settings(max_examples=40, deadline=None)
@given(reductions(), st.data())
def test_reductions_without_nan_are_numpys(case, data):
    x, axis, keepdims = case
    if x.dtype.kind == "f":
        x = np.where(data.draw(hnp.arrays(bool, x.shape)), x.dtype.type(np.nan), x)
    functions = [np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd]
    for f in [*functions, *([np.nanmax, np.nanmin] if x.size else [])]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            same_as_numpy(lambda z, f=f: f(z, axis=axis, keepdims=keepdims), x)


def test_the_mean_of_a_variance_may_be_given():
    x = rng.normal(size=(3, 4))
    for f in (np.var, np.std):
        same_as_numpy(lambda z, f=f: f(z, axis=1, mean=np.mean(z, axis=1, keepdims=True)), x)
        same_as_numpy(lambda z, f=f: f(z, mean=2.0, where=z > 0), x)


@pytest.mark.parametrize("n", [7, 1000, 70000])
def test_figures_of_half_precision_are_those_of_single_precision(n):
    """mean(x : float16) = float16(mean(float32(x))): neither Σx nor n need be among the numbers of half precision."""
    x = rng.uniform(80, 90, n).astype(np.float16)
    assert rg.stabilize(np.mean)(x) == np.mean(x)
    mask = x > 85
    for f in (np.mean, np.average, np.var, np.std, np.nanmean, lambda z: np.mean(z, where=mask)):
        got = rg.stabilize(f)(x)
        assert got.dtype == np.float16
        np.testing.assert_allclose(float(got), f(x.astype(float)), rtol=2**-10)
    slope = rg.grad(lambda z: np.mean(z).astype(float))(x)
    np.testing.assert_array_equal(slope, np.full(n, 1 / n).astype(np.float16))


MASK = np.array([[True, True, False], [False, False, False], [True, False, True]])


@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.var, np.std])
def test_derivatives_under_a_mask(function, axis):
    mask = SEPARATE > -1.2
    check_derivatives(lambda x: function(x, axis=axis, where=mask), SEPARATE)
    check_derivatives(lambda x: function(x, axis=axis, where=x > -1.6), SEPARATE)


@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min])
def test_derivatives_with_an_initial_value(function):
    check_derivatives(
        lambda x, v: function(x, axis=1, where=MASK, initial=v) ** 2, SEPARATE, np.float64(0.31)
    )


def test_a_variance_under_a_mask_has_no_expanded_square():
    x = 1e8 + np.array([0.125, 0.5, -3.0, 0.75])
    for f in (lambda x: np.var(x, where=x > 1e8), lambda x: np.nanvar(np.where(x > 1e8, x, np.nan))):
        np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(rg.grad(f)(x)[2], 0.0)
        slope = rg.grad(np.var)(x[[0, 1, 3]])
        np.testing.assert_allclose(rg.grad(f)(x)[[0, 1, 3]], slope, rtol=1e-9)


def test_what_a_mask_leaves_out_may_be_anything():
    x = np.array([1.0, np.nan, 3.0, np.inf])
    for f in (np.sum, np.prod, np.mean, np.var):
        (got,) = evaluate(vjp(lambda z, f=f: f(z, where=np.isfinite(z)), 1), x, np.float64(1.0))
        (want,) = evaluate(vjp(f, 1), x[::2], np.float64(1.0))
        np.testing.assert_allclose(got, [want[0], 0.0, want[1], 0.0])


def test_positions_after_a_squeeze():
    x = rng.normal(size=(3, 4, 2))
    same_as_numpy(lambda z: np.argmax(np.sum(z, axis=1)), x)
    same_as_numpy(lambda z: np.argmin(np.sum(z, axis=1), axis=0), x)


@pytest.mark.parametrize("ddof", [0, 1, 4, 9])
@pytest.mark.parametrize("function", [np.var, np.std])
@pytest.mark.parametrize("unknown", [False, True])
def test_degrees_of_freedom(function, ddof, unknown):
    x = rng.normal(size=(4, 3)).astype(np.float32)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        same_as_numpy(lambda z: function(z, axis=0, ddof=ddof), x, unknown=unknown)
        same_as_numpy(lambda z: function(z, ddof=ddof, keepdims=True), x, unknown=unknown)


def test_weighted_averages():
    x, w = rng.normal(size=(3, 4, 2)), rng.uniform(0.5, 1.0, size=(3, 4, 2))
    same_as_numpy(lambda z, v: np.average(z, weights=v), x, w)
    same_as_numpy(lambda z, v: np.average(z, axis=1, weights=v, returned=True), x, w)
    same_as_numpy(lambda z, v: np.average(z, axis=1, weights=v), x, w[0, :, 0])
    same_as_numpy(lambda z, v: np.average(z, axis=(1, 0), weights=v), x, w[:, :, 0].T)
    same_as_numpy(lambda z: np.average(z, axis=2, returned=True), x)
    same_as_numpy(lambda z: np.average(z, axis=2, keepdims=True), x, unknown=True)
    with pytest.raises(ShapeError, match="weights"):
        evaluate(lambda z, v: np.average(z, weights=v), x, w[0, 0])


def test_what_is_not_a_number_is_left_out():
    x = np.where(rng.normal(size=(3, 4)) > 0, np.nan, rng.normal(size=(3, 4)))
    same_as_numpy(lambda z: np.nansum(z, axis=1), x)
    same_as_numpy(lambda z: np.nanmean(z, axis=0, keepdims=True), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.cumprod])
def test_a_dtype_can_be_asked_for(function, dtype):
    x = np.array([[1.5, 2.5], [3.0, -4.0]], np.float32)
    same_as_numpy(lambda z: function(z, axis=0, dtype=dtype), x)


AXES = [None, 0, -1, (0, 2)]
# No two entries so close that a small step changes which one is the largest.
SEPARATE = rng.permutation(np.linspace(-1.5, 2.0, 27)).reshape(3, 3, 3)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min, np.mean, np.var, np.std, np.ptp])
def test_derivatives_of_reductions(function, axis, keepdims):
    check_derivatives(lambda x: function(x, axis=axis, keepdims=keepdims), SEPARATE)


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
@pytest.mark.parametrize("axis", [0, -1, None])
def test_derivatives_of_scans(function, axis):
    check_derivatives(lambda x: function(x, axis=axis), rng.normal(size=(3, 4)), order=3)
    check_derivatives(
        lambda x: function(np.sum(x, axis=1), axis=axis if axis != 1 else 0), rng.normal(size=(3, 2))
    )


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
def test_scans_are_numpys(function, axis, dtype, unknown):
    x = rng.integers(0, 3, size=(3, 4)).astype(dtype)
    if axis is not None or not unknown:
        same_as_numpy(lambda z: function(z, axis=axis), x, unknown=unknown)
    same_as_numpy(lambda z: function(z[:0], axis=0), x)
    same_as_numpy(function, np.asarray(3.0))


def test_ties_share_the_cotangent():
    x = np.array([[3.0, 3.0, 1.0], [0.0, 2.0, 2.0]])
    (got,) = evaluate(vjp(lambda z: np.max(z, axis=1), 1), x, np.array([6.0, -4.0]))
    np.testing.assert_array_equal(got, [[3, 3, 0], [0, -2, -2]])
    (got,) = evaluate(vjp(np.min, 1), np.zeros((2, 2), np.float32), np.float32(1))
    np.testing.assert_array_equal(got, np.full((2, 2), 0.25))
    assert got.dtype == np.float32


# Products

ZEROS = [[2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [7.0], []]


def _without(x, *left_out):
    return float(np.prod([v for i, v in enumerate(x) if i not in left_out]))


@pytest.mark.parametrize("x", ZEROS)
def test_the_gradient_of_a_product_is_that_of_all_others(x):
    (got,) = evaluate(vjp(np.prod, 1), np.array(x), np.float64(1.0))
    np.testing.assert_array_equal(got, [_without(x, i) for i in range(len(x))])


@pytest.mark.parametrize("x", ZEROS)
def test_the_hessian_of_a_product_leaves_out_two(x):
    n = len(x)
    gradient = lambda z: vjp(np.prod, 1)(z, 1.0)[0]
    rows = [evaluate(vjp(gradient, 1), np.array(x), np.eye(n)[i])[0] for i in range(n)]
    columns = [evaluate(jvp(gradient, 1), np.array(x), np.eye(n)[i])[0] for i in range(n)]
    exact = [[0.0 if i == j else _without(x, i, j) for j in range(n)] for i in range(n)]
    np.testing.assert_array_equal(np.reshape(rows, (n, n)), np.reshape(exact, (n, n)))
    np.testing.assert_array_equal(np.reshape(columns, (n, n)), np.reshape(exact, (n, n)))


def test_third_derivatives_of_a_product_leave_out_three():
    x, n = np.array([0.0, 3.0, 0.0, 5.0]), 4
    gradient = lambda z: vjp(np.prod, 1)(z, 1.0)[0]
    row = lambda z, direction: vjp(gradient, 1)(z, direction)[0]
    for i, j in itertools.product(range(n), repeat=2):
        got, along = evaluate(vjp(row, 2), x, np.eye(n)[i], np.eye(n)[j])
        hessian_row = [0.0 if k == j else _without(x, j, k) for k in range(n)]
        np.testing.assert_array_equal(along, hessian_row)
        pushed = evaluate(jvp(row, 2), x, np.eye(n)[i], np.zeros(n), np.eye(n)[j])
        np.testing.assert_array_equal(pushed[0], hessian_row)
        exact = [0.0 if len({i, j, k}) < 3 else _without(x, i, j, k) for k in range(n)]
        np.testing.assert_array_equal(got, exact)


def test_products_of_all_others_overflow_only_if_they_must():
    x = np.array([1e200, 1e200, 1e-200, 1e-200, 4.0])
    np.testing.assert_allclose(leave_one_out_prod(x), [4e-200, 4e-200, 4e200, 4e200, 1.0], rtol=1e-15)
    y = np.array([1e-30, 1e30, 1e30, 1e-30], np.float32)
    np.testing.assert_allclose(leave_one_out_prod(y), [1e30, 1e-30, 1e-30, 1e30], rtol=1e-6)
    assert leave_one_out_prod(y).dtype == np.float32


def test_products_of_all_others_over_several_axes():
    x = rng.normal(size=(2, 3, 4))
    exact = np.prod(x, axis=(0, 2), keepdims=True) / x
    np.testing.assert_allclose(leave_one_out_prod(x, axes=(-3, -1)), exact, rtol=1e-14)
    with np.errstate(invalid="ignore"):
        limits = leave_one_out_prod(np.array([np.inf, 0.0, 2.0]))
    np.testing.assert_array_equal(limits, [0.0, np.inf, np.nan])


@pytest.mark.parametrize("x", [[0.0, 2.0, 3.0], [1.0, 0.0, 3.0, 0.0, 2.0], [4.0]])
def test_running_products_have_derivatives_at_zeros(x):
    n = len(x)
    exact = [[_without(x[: k + 1], i) if i <= k else 0.0 for i in range(n)] for k in range(n)]
    rows = [evaluate(vjp(np.cumprod, 1), np.array(x), np.eye(n)[k])[0] for k in range(n)]
    np.testing.assert_array_equal(rows, exact)
    columns = [evaluate(jvp(np.cumprod, 1), np.array(x), np.eye(n)[i])[0] for i in range(n)]
    np.testing.assert_array_equal(np.transpose(columns), exact)


# Canonical form


def test_the_mean_is_a_sum_over_a_count():
    (x,) = inputs_like([np.ones((3, 4), np.float32)])
    assert as_term(np.mean(x, axis=1)) is as_term(np.sum(x, axis=1) / 4)
    assert as_term(x.mean()) is as_term(x.sum() / 12.0)
    assert as_term(np.average(x, axis=0)) is as_term(np.mean(x, 0))
    assert np.mean(x).dtype == np.float32
    centred = x - x.mean(axis=0, keepdims=True)
    assert as_term(x.var(axis=0)) is as_term(np.square(centred).sum(axis=0) / 3)
    assert as_term(x.std(axis=0)) is as_term(np.sqrt(x.var(axis=0)))


def test_counts_of_unknown_extents_wait():
    (x,) = inputs_like([np.ones((3, 4))], unknown=True)
    assert any(isinstance(t.op, Size) for t in as_term(np.mean(x)).rands[0].rands)
    known = as_term(inputs_like([np.ones((3, 4))])[0])
    assert Size((-2, -1)).make_node(known).op.value == 12
    (got,) = both_ways(lambda z: np.mean(z, axis=0), np.ones((3, 4), np.float32), unknown=True)
    assert got.dtype == np.float32


def test_reductions_keep_their_axes_and_squeezes_float():
    (x,) = inputs_like([np.ones((3, 4))])
    kept = as_term(np.sum(x, axis=1, keepdims=True))
    assert as_term(np.sum(x, axis=1)[:, None]) is kept
    assert as_term(np.sum(np.sum(x, axis=1, keepdims=True), axis=1, keepdims=True)) is kept
    for function in (np.max, np.prod, np.sum):
        twice = as_term(function(function(x, axis=1), axis=0))
        assert twice is as_term(function(function(x, axis=1, keepdims=True), axis=(0, 1)))


def test_a_reduction_over_extent_one_is_its_operand():
    (x,) = inputs_like([np.ones((3, 1))])
    for function in (np.sum, np.prod, np.max, np.mean):
        assert as_term(function(x, axis=1, keepdims=True)) is as_term(x)


def test_options_that_are_not_supported_are_refused():
    (x,) = inputs_like([np.ones((3, 4))])
    with pytest.raises(TraceError, match="cannot be written into an ndarray"):
        np.sum(x, out=np.ones(()))
    with pytest.raises(TraceError, match="without initial="):
        np.max(x, where=np.ones((3, 4), bool))
    with pytest.raises(TraceError, match="truth values"):
        np.sum(x, where=np.ones((3, 4)))
    with pytest.raises(ShapeError, match="stretched"):
        np.sum(x, where=np.ones((2, 3, 4), bool))
    with pytest.raises(ShapeError, match="stretched"):
        np.mean(x[:1], where=np.ones((3, 4), bool))
    with pytest.raises(ShapeError, match="is a number"):
        np.sum(x, axis=0, initial=np.ones(4))
    with pytest.raises(ShapeError, match="out of bounds"):
        np.sum(x, axis=2)
    with pytest.raises(ShapeError, match="twice"):
        np.sum(x, axis=(0, -2))


def test_patterns_reduce_over_kept_axes_only():
    from relgrad.op import Symbolic
    from relgrad.term import Unknown

    class Anything:
        pass

    Unknown.register(Anything)
    x, axis = Symbolic(Anything()), Anything()
    from relgrad.ops.reduction import sum_
    from relgrad.ops.statistics import mean

    assert sum_(x, axis, keepdims=True).op == Sum(axis)
    assert not mean(x, -1, keepdims=True).ground
    with pytest.raises(RelationError, match="keep its axes"):
        sum_(x, -1)


# Ranges and balls

RANGES = [
    REAL,
    Interval(0.0),
    Interval(0.0, 1.0, True, True),
    Interval(-2.0, 3.0),
    Interval(-np.inf, 0.0),
    Interval(1.0),
]


@pytest.mark.parametrize(
    "function", [np.sum, np.prod, np.max, np.min, np.any, np.argmax, np.cumsum, np.cumprod]
)
@pytest.mark.parametrize("domain", RANGES)
def test_ranges_hold_all_values(function, domain):
    low, high = max(domain.low, -5.0), min(domain.high, 5.0)
    samples = np.clip(
        rng.uniform(low, high, size=(50, 3)), low + 1e-3 * domain.open_low, high - 1e-3 * domain.open_high
    )
    (x,) = inputs_like([samples])
    node = as_term(
        function(x, axis=-1, keepdims=True)
        if function not in (np.cumsum, np.cumprod)
        else function(x, axis=-1)
    )
    found = node.op.range_of(domain)
    values = np.asarray(node.op.compute(samples))
    assert np.all(values >= found.low) and np.all(values <= found.high)
    assert not (found.open_low and np.any(values == found.low))
    assert not (found.open_high and np.any(values == found.high))


def test_products_of_probabilities_are_positive():
    assert Prod((-1,)).range_of(Interval(0.0, 1.0, True, True)) == Interval(0.0, 1.0, True)


@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min, np.cumsum, np.cumprod])
def test_balls_agree(function):
    flint = pytest.importorskip("flint")
    x = rng.normal(size=(3, 4))
    (z,) = inputs_like([x])
    op = (
        as_term(function(z, axis=1)).op
        if function in (np.cumsum, np.cumprod)
        else as_term(function(z, axis=(0, 1), keepdims=True)).op
    )
    balls = op.ball(np.vectorize(flint.arb, otypes=[object])(x))
    # The sum of numbers of both signs may be close to 0: its error is relative to the summands.
    np.testing.assert_allclose(
        np.vectorize(float, otypes=[float])(balls), op.compute(x), rtol=1e-14, atol=1e-14
    )
