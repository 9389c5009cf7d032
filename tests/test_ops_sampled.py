"""Samples, polynomials, covariances, what is chosen, left out and inserted: as NumPy has it, and differentiated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from linear_checks import check_derivatives, evaluate, inputs_like, vjp
from numpy.lib.stride_tricks import sliding_window_view
from source_checks import both_ways, same_as_numpy

import relgrad as rg
from relgrad.errors import RelgradError, TraceError

rng = np.random.default_rng(6)
DTYPES = [np.float64, np.float32, np.int64, np.uint8, np.bool_]
ERRORS = (RelgradError, ValueError, IndexError, TypeError)


@st.composite
def arrays(draw, min_dims=0, dtypes=DTYPES):
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=4))
    x = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 4)))
    return x.astype(draw(st.sampled_from(dtypes)))


def agree(f, *arrays):
    """Check that f is NumPy's, or that both refuse."""
    with np.errstate(all="ignore"):
        try:
            f(*arrays)
        except (ValueError, IndexError, TypeError, AttributeError, ZeroDivisionError):
            with pytest.raises((*ERRORS, AttributeError, ZeroDivisionError)):
                both_ways(f, *arrays)
        else:
            same_as_numpy(f, *arrays)


AXIS = st.integers(-2, 1)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(arrays(), arrays(), AXIS, st.data())
def test_functions_of_samples_are_numpys(x, y, axis, data):
    n = data.draw(st.integers(1, 4))
    xp = np.sort(data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, 5)))).astype(y.dtype)
    fp = np.arange(n) ** 2 - 1.5
    options = data.draw(st.sampled_from([{}, {"left": -1}, {"right": 7.5}]))
    agree(lambda x, xp, fp: np.interp(x, xp, fp, **options), x, xp, fp)
    agree(lambda x: np.interp(x, xp, fp, **options), x)
    agree(lambda xp: np.interp(x, xp, fp, **options), xp)
    agree(lambda fp: np.interp(x, xp, fp, **options), fp)
    agree(lambda y: np.trapezoid(y, dx=0.5, axis=axis), y)
    agree(
        lambda y, x: np.trapezoid(y, x, axis=axis),
        y,
        np.arange(y.shape[axis] if -y.ndim <= axis < y.ndim else 1) ** 2,
    )
    agree(lambda y: np.ediff1d(y, to_begin=3, to_end=[1, 2]), y)
    if y.dtype != bool:
        agree(lambda y: np.gradient(y, edge_order=1), y)
        agree(lambda y: np.gradient(y, 0.5, axis=axis, edge_order=2), y)
    if y.dtype.kind != "u":
        agree(lambda y: np.unwrap(y, axis=axis, period=3), y)
        agree(lambda y: np.unwrap(7 * y, axis=axis, period=2.5, discont=1.5), y)
    agree(lambda y: np.isclose(y, 2, rtol=0.5), y)


def test_interpolation_with_a_period():
    x, xp, fp = np.linspace(-9.0, 9.0, 30), np.array([3.0, 0.5, 8.1, 1.0]), np.array([1.0, -2.0, 0.5, 3.0])
    agree(lambda x, xp, fp: np.interp(x, xp, fp, period=2.7), x, xp, fp)
    check_derivatives(lambda x, xp, fp: np.interp(x, xp, fp, period=2.7), x, xp, fp)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=40, deadline=None)
@given(arrays(), st.integers(0, 3))
def test_polynomials_are_numpys(x, n):
    p = np.arange(n) - 1.5
    agree(lambda p, x: np.polyval(p, x), p, x)
    agree(lambda x: np.polyval(p, x), x)
    if x.ndim == 1:
        agree(lambda x: np.polyder(x, n), x)
        agree(lambda x: np.polyint(x, n, k=3.5), x)
    agree(lambda x: np.vander(x, n, increasing=n > 1), x)
    agree(np.vander, x)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=40, deadline=None)
@given(arrays(dtypes=[np.float64, np.float32, np.int64]), st.booleans(), st.sampled_from([None, 0, 1, 2]))
def test_covariances_are_numpys(x, rows, ddof):
    x = x * np.cos(np.arange(x.size)).reshape(x.shape)
    agree(lambda x: np.cov(x, rowvar=rows, ddof=ddof), x)
    agree(lambda x: np.cov(x, x**2, rowvar=rows, bias=True), x)
    if x.ndim == 2 and x.size:
        n = x.shape[1 if rows else 0]
        weights = {"aweights": np.arange(1.0, n + 1), "fweights": np.arange(n) + 1}
        agree(lambda x: np.cov(x, rowvar=rows, ddof=ddof, **weights), x)


def test_covariances_with_traced_weights_are_numpys():
    f, x, w, step = (
        lambda x, w: np.sum(np.cov(x, aweights=w) ** 2),
        X,
        PLUS,
        1e-6 * np.cos(np.arange(PLUS.size)),
    )
    np.testing.assert_allclose(rg.stabilize(f)(x, w), f(x, w))
    slope = (f(x, w + step) - f(x, w - step)) / 2
    np.testing.assert_allclose(rg.grad(f, 1)(x, w) @ step, slope, rtol=1e-6)


def test_correlations_are_numpys():
    x = rng.normal(size=(3, 5))
    for f in (np.corrcoef, lambda x: np.corrcoef(x, rowvar=False), lambda x: np.corrcoef(x[0], x[1])):
        agree(f, x)
        check_derivatives(lambda x, f=f: f(x) ** 2, x[:, :4])


def test_counts_in_bins():
    i, w = np.array([2, 0, 2, 5]), np.array([0.5, 1.0, 2.0, 4.0])
    for dtype in DTYPES:
        agree(lambda w: np.bincount(i, w), w.astype(dtype))
        agree(lambda w, i: np.bincount(i, w, 7), w.astype(dtype), i)
    agree(lambda i: np.bincount(i, minlength=7), i)
    agree(lambda w: np.bincount(i[:0], w[:0], 2), w)
    (got,) = evaluate(vjp(lambda w: np.bincount(i, w), 1), w, np.arange(6.0))
    np.testing.assert_array_equal(got, [2.0, 0.0, 2.0, 5.0])
    with pytest.raises(TraceError, match="minlength="):
        evaluate(lambda i: np.bincount(i), i)


PLACES = [
    0,
    -1,
    1,
    5,
    slice(0, 2),
    slice(None, None, 2),
    [0, 1],
    [0, 0],
    [],
    np.array([True, False]),
    [-1, 0],
]


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(arrays(), st.sampled_from([None, 0, -1, 1]), st.data())
def test_what_is_left_out_and_inserted_is_numpys(x, axis, data):
    mask = data.draw(hnp.arrays(bool, x.shape))
    places = data.draw(st.sampled_from(PLACES))
    agree(lambda x: np.extract(mask, x), x)
    for condition in (mask, mask.ravel(), [1, 0, 1], []) if x.size else ():
        agree(lambda x, c=condition: np.compress(c, x, axis=axis), x)
        agree(lambda x, c=condition: x.compress(c, axis=axis), x)
    agree(lambda x: np.delete(x, places, axis=axis), x)
    for values in (9, 1.5, [7, 8], [[1], [2.0]], np.zeros((1, 3))):
        agree(lambda x, v=values: np.insert(x, places, v, axis=axis), x)
        agree(lambda x, v: np.insert(x, places, v, axis=axis), x, np.asarray(values))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(
    arrays(), arrays(), st.sampled_from([None, 0, -1, (0, 1), (1, 1)]), st.sampled_from([1, 2, (2, 2), (1,)])
)
def test_choices_blocks_and_windows_are_numpys(x, y, axis, window):
    agree(lambda x, y: np.select([x > 1, y < 2], [x, y]), x, y)
    agree(lambda x, y: np.select([x > 1, y < 2], [2.5, y], default=np.float64(1)), x, y)
    for mode in ("raise", "wrap", "clip"):
        agree(lambda x, m=mode: np.choose(x.astype(int) % 3, [x, x * 2, 7.5], mode=m), x)
        agree(lambda x, y, m=mode: (x > 1).choose([x, y], mode=m), x, y)
        if x.size:
            agree(lambda x, m=mode: np.choose([[0], [1], [-1]], [x, 5], mode=m), x)
    agree(lambda x: sliding_window_view(x, window, axis=axis), x)
    agree(lambda x, y: np.block([x, y]), x, y)
    agree(lambda x, y: np.block([[x, y], [y, x]]), x, y)
    agree(lambda x: np.block([[[x]], [[1]]]), x)
    agree(lambda x: np.block([[x], x]), x)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (7, 3), (2, 2, 2), (2, 3, 3), (3,), (3, 0)])
@pytest.mark.parametrize("wrap", [False, True])
def test_diagonals_are_filled(shape, wrap):
    def program(x, values):
        y = x.copy()
        turned = y.T
        np.fill_diagonal(y, values, wrap)
        return turned

    for values in (1.5, np.array([1, 2]), rng.normal(size=(2, 4))):
        for dtype in DTYPES:
            agree(program, np.arange(np.prod(shape)).reshape(shape).astype(dtype), np.asarray(values))


X = rng.normal(size=(3, 4))
PLUS = rng.uniform(0.3, 1.0, 4)
SMOOTH = {
    "interp": lambda x, v: np.interp(x, np.cumsum(v) - 1.5, v**2),
    "trapezoid": lambda x, v: np.trapezoid(x**2, np.cumsum(v)),
    "gradient": lambda x, v: np.gradient(x, np.cumsum(v), axis=1, edge_order=2) ** 2,
    "gradients": lambda x, v: sum(np.gradient(x, v[0], v[1])) ** 2,
    "ediff1d": lambda x, v: np.ediff1d(x, to_begin=v) ** 2,
    "unwrap": lambda x, v: np.unwrap(20 * x * v),
    "polyval": lambda x, v: np.polyval(v, x),
    "polyint": lambda x, v: np.polyint(v * x[0], 2, k=[1.5, 2.5]) ** 2,
    "polyder": lambda x, v: np.polyder(v * v) * x[0, 0],
    "vander": lambda x, v: np.vander(v, 4) * x[0],
    "cov": lambda x, v: np.cov(x, v, aweights=[2.0, 1.0, 0.5, 3.0]),
    "bincount": lambda x, v: np.bincount([1, 0, 1, 4], v * x[0]) ** 2,
    "select": lambda x, v: np.select([x > 0.5, x < -0.5], [x * v, v**2], x**3),
    "choose": lambda x, v: np.choose([0, 1, 2, 1], [x, v, v * x]) ** 2,
    "delete": lambda x, v: np.delete(x * v, [1, 2], axis=1) ** 2,
    "insert": lambda x, v: np.insert(x, [0, 2], v, axis=0) ** 2,
    "compress": lambda x, v: np.compress([1, 0, 1], x * v, axis=0) ** 2,
    "block": lambda x, v: np.block([[x, x * 2], [v, v]]) ** 2,
    "windows": lambda x, v: sliding_window_view(x * v, (2, 3)) ** 2,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    check_derivatives(SMOOTH[name], X, PLUS)
    cost = lambda x: np.sum(SMOOTH[name](x, PLUS))
    ours, eager = (rg.grad(cost, strategy=s)(X) for s in ("default", "eager"))
    np.testing.assert_allclose(ours, eager, rtol=1e-9, atol=1e-12)


def test_a_window_is_a_view_that_is_read_only():
    def program(x):
        y = x * 1
        windows = sliding_window_view(y, 2)
        y[0] = 5.0
        return windows

    np.testing.assert_array_equal(rg.stabilize(program)(PLUS), program(PLUS.copy()))
    with pytest.raises(TraceError, match="changed in place"):
        rg.stabilize(lambda x: sliding_window_view(x * 1, 2).fill(0))(PLUS)


def test_what_depends_on_values_of_symbols_is_refused():
    (x,) = inputs_like([np.ones((3, 4))])
    with pytest.raises(TraceError, match="cannot become an ndarray"):
        np.compress(x > 0, x)
    with pytest.raises(TraceError, match=r"np.extract cannot be traced"):
        np.extract(x > 0, x)
    with pytest.raises(TraceError, match=r"np.delete cannot be traced"):
        np.delete(x, np.argmax(x[0]), axis=0)
    with pytest.raises(TypeError, match="boolean"):
        np.select([x], [x])
    with pytest.raises(ValueError, match="depths are mismatched"):
        np.block([[x], x])
    with pytest.raises(TypeError, match="same_kind"):
        np.ediff1d(np.argmax(x, axis=0), to_end=0.5)
    with pytest.raises(TraceError, match="writeable="):
        sliding_window_view(x, 2, writeable=True)


@pytest.mark.parametrize("strategy", ["default", "naive"])
def test_choices_that_there_are_not_are_numpys_error(strategy):
    f = rg.stabilize(lambda k, x, y: np.choose(k, [x, y]), strategy=strategy)
    x, y = np.ones(3), np.zeros(3)
    for kind in (int, np.int8):
        np.testing.assert_array_equal(f(np.array([0, 1, 0], kind), x, y), [1, 0, 1])
        for wrong in ([0, 2, 1], [0, -1, 1]):
            with pytest.raises(ValueError, match="invalid entry in choice array"):
                f(np.array(wrong, kind), x, y)


@pytest.mark.parametrize("lost", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("k", range(4))
def test_interpolation_between_points_of_which_one_is_no_number(lost: float, k: int) -> None:
    """At the points, and beyond the next ones, f is what it is without it."""
    xp, fp = np.arange(4.0), np.array([1.0, 2.0, 0.5, 3.0])
    fp[k] = lost
    x = np.concatenate([xp, xp[:-1] + 0.4, [-1.0, 5.0]])
    f = lambda x, fp: np.interp(x, xp, fp)
    np.testing.assert_allclose(rg.stabilize(f)(x, fp), f(x, fp), rtol=1e-14)
    slope = rg.grad(lambda x, fp: np.sum(np.where(np.isfinite(f(x, fp)), f(x, fp), 0)))(x, fp)
    inside = np.isfinite(f(x, fp)) & (x != np.rint(x))
    step = 1e-3
    np.testing.assert_allclose(
        slope[inside], ((f(x + step, fp) - f(x - step, fp)) / (2 * step))[inside], rtol=1e-9
    )
