"""Functions of NumPy and Python that are made of others: values and dtypes are theirs, gradients are slopes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

import relgrad as rg
from relgrad.errors import RelgradError
from relgrad.trace.containers import flatten

RNG = np.random.default_rng(7)
X = np.array([0.9, 1.7, 0.6, 2.3, 1.2])


def agree(f: Callable[..., Any], x: Any, rtol: float = 1e-12) -> None:
    """Check a value against NumPy's, and the gradient of its weighted sum against differences."""
    want, structure = flatten(f(x))
    got, found = flatten(rg.stabilize(f)(x))
    assert structure == found
    for a, b in zip(want, got, strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(b, a, rtol=rtol, atol=1e-14)

    def total(x: Any) -> Any:
        parts = flatten(f(x))[0]
        return sum(np.sum(p * np.cos(1.0 + np.arange(np.size(p)).reshape(np.shape(p)))) for p in parts)

    at, h = np.asarray(x, float), 1e-6
    units = np.eye(at.size).reshape(-1, *at.shape) * h
    shaped = (lambda v: v) if isinstance(x, np.ndarray) else float
    slopes = [(total(shaped(at + e)) - total(shaped(at - e))) / (2 * h) for e in units]
    np.testing.assert_allclose(
        rg.grad(total)(x), np.reshape(slopes, at.shape), rtol=1e-5, atol=1e-6 * (1 + np.max(np.abs(slopes)))
    )


def test_statistics_of_python_are_refused_with_numpys():
    for name in ("mean", "stdev", "geometric_mean"):
        for sample in (lambda x: list(x), lambda x: (v * v for v in x), lambda x: x):
            with pytest.raises(RelgradError, match=r"write np\.mean") as error:
                rg.stabilize(lambda x, name=name, of=sample: getattr(statistics, name)(of(x)))(X)
            assert error.value.where is not None and "test_surface.py" in error.value.where
    agree(lambda x: np.asarray(statistics.median(list(x))) * 1.0, X)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "dist": lambda s: math.dist([s, 1.0], [2.0, s * s]),
    "dist_of_known_parts_first": lambda s: math.dist([3.0, 1.0, s], [1.0, 0.5, 2.0]),
    "ldexp": lambda s: math.ldexp(s, 3) + math.ldexp(s, -2),
    "frexp": lambda s: math.frexp(s * 5)[0] + s,
    "modf": lambda s: math.modf(s * 5)[0] * math.modf(s * 5)[1],
    "isclose": lambda s: s * 2 if math.isclose(s, 0.7, abs_tol=0.1) else s * 3,
    "not close": lambda s: s * 2 if math.isclose(s, 0.8) else s * 3,
    "fraction": lambda s: s * Fraction(1, 3) + Fraction(1, 2) / s,
    "is_integer": lambda s: s if (s * 10).is_integer() else s * s,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_functions_of_numbers_are_pythons(name: str):
    agree(NUMBERS[name], 0.65)


def test_powers_of_integers_with_a_modulus():
    assert rg.stabilize(lambda n: pow(n, 3, 5))(7) == pow(7, 3, 5)


def test_what_needs_all_digits_of_a_number_is_refused():
    for f in (lambda s: s.as_integer_ratio()[0], lambda s: s.hex()):
        with pytest.raises(RelgradError, match="cannot be traced"):
            rg.stabilize(f)(0.5)


M = np.random.default_rng(3).normal(size=(4, 3))


def carried(v: Any, width: Any, axis: int, options: Any) -> None:
    v[: width[0]] = options.get("times", 1) * v[width[0]]
    v[v.shape[0] - width[1] :] = axis


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "reduceat": lambda x: np.add.reduceat(x, [0, 3, 1, 1]),
    "reduceat along an axis": lambda x: np.maximum.reduceat(np.outer(x, x), [0, 2], axis=1),
    "subtract.reduceat": lambda x: np.subtract.reduceat(x, [0, 3]),
    "subtract.reduce": lambda x: np.subtract.reduce(np.outer(x, x), axis=1, keepdims=True, initial=2.0),
    "divide.reduce": lambda x: np.divide.reduce(x),
    "hypot.reduce": lambda x: np.hypot.reduce(x),
    "hypot.reduce of none": lambda x: np.hypot.reduce(np.outer(x[:0], x)),
    "logaddexp.accumulate of none": lambda x: np.logaddexp.accumulate(np.outer(x, x[:0]), axis=1),
    "hypot.reduce of one": lambda x: np.hypot.reduce(-x[None]),
    "hypot.reduceat of one": lambda x: np.hypot.reduceat(-x, [0, 3]),
    "logical_and.reduceat of one": lambda x: np.logical_and.reduceat(-x, [0, 3]),
    "add.reduceat of truth values": lambda x: np.add.reduceat(x > 1, [0, 1]),
    "add.reduceat of small integers": lambda x: np.add.reduceat(x.astype(np.int8), [0, 1]),
    "clip of truth values": lambda x: np.clip(x > 1, -1, np.float32(1)),
    "clip of small integers": lambda x: np.clip(x.astype(np.int8), -1, np.int16(1)),
    "fmax.reduce": lambda x: np.fmax.reduce(x),
    "whole basis": lambda x: (lambda u, s, vh: u @ np.diag(s) @ vh[:3])(*np.linalg.svd(x[:3, None] * M.T)),
    "values": lambda x: np.linalg.svd(x[:4, None] * M).S,
    "complete": lambda x: (lambda q, r: [r, q[:, :3]])(*np.linalg.qr(x[:4, None] * M, mode="complete")),
    "take wrap": lambda x: np.take(np.outer(x, x), [[-7, 9], [0, 5]], axis=1, mode="wrap"),
    "take clip": lambda x: np.take(x, np.array([-3, 9, 2]), mode="clip") * x.take(7, mode="clip"),
    "take at positions of the trace": lambda x: np.take(x, np.argsort(x) * 3 - 4, mode="wrap"),
    "linspace": lambda x: np.linspace(x[0], x[1:3], 4),
    "linspace without its end": lambda x: np.linspace(-x, x, 3, endpoint=False, axis=1),
    "a copy lies in rows": lambda x: (lambda y: [y.reshape(-1).__setitem__(2, x[1]), y][1])(
        np.outer(x, x).copy()
    ),
}
for mode in ("mean", "median", "maximum", "minimum"):
    FUNCTIONS[f"pad {mode}"] = lambda x, mode=mode: np.pad(x, (2, 1), mode=mode)
    FUNCTIONS[f"pad {mode} of some"] = lambda x, mode=mode: np.pad(
        np.outer(x, x[:3]), ((1, 2), (0, 3)), mode, stat_length=((1, 4), (2, 2))
    )
FUNCTIONS |= {
    "axes of any iterable": lambda x: [
        np.moveaxis(np.outer(x, x)[None], range(2), (k for k in (2, 0))),
        np.flip(np.outer(x, x), range(2)),
        np.tensordot(np.outer(x, x), np.outer(x, x), (range(2), {0: 0, 1: 1})),
        np.outer(x, x).transpose(np.array([1, 0])),
        np.lib.stride_tricks.sliding_window_view(np.outer(x, x), range(2, 4), range(2)),
    ],
    "extents and places of any iterable": lambda x: [
        np.tile(x, range(1, 3)),
        np.reshape(x, range(5, 6)),
        np.broadcast_to(x, range(4, 6)),
        *np.split(x, range(1, 3)),
        np.take(x, range(2)),
        np.take(x, range(4, 7), mode="wrap"),
    ],
    "taken of no rows": lambda x: np.take(np.outer(x[:0], x), [9], axis=1),
    "pad ramp": lambda x: np.pad(
        np.outer(x, x), ((2, 1), (0, 3)), "linear_ramp", end_values=((1, 2), (3, x[0]))
    ),
    "pad odd": lambda x: np.pad(x, (7, 13), "reflect", reflect_type="odd"),
    "pad odd symmetric": lambda x: np.pad(np.outer(x, x), ((3, 1), (0, 6)), "symmetric", reflect_type="odd"),
    "pad by a function": lambda x: np.pad(np.outer(x, x), ((1, 2), (2, 0)), carried, times=3.0),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_numpys(name: str):
    agree(FUNCTIONS[name], X)


def test_bounds_of_ranges_are_numpys_to_the_last_bit():
    for start, stop, n, end, dtype in (
        (-4.0, 2.0, 3, False, int),
        (-4.0, 2.0, 3, False, None),
        (0.1, 0.7, 7, True, None),
        (1.0, 1.0, 3, True, np.float32),
        (2.0, 3.0, 1, True, None),
        (2.0, 3.0, 0, True, None),
    ):
        f = lambda a, b, n=n, end=end, dtype=dtype: np.linspace(a, b, n, end, dtype=dtype)
        want, got = f(start, stop), rg.stabilize(f)(start, stop)
        assert want.dtype == got.dtype
        np.testing.assert_array_equal(got, want)


def test_statistics_of_integers_are_rounded_where_they_are_padded():
    n = np.array([1, 5, 2, 9])
    for mode in ("mean", "median", "linear_ramp", "maximum"):
        f = lambda n, mode=mode: np.pad(n, (2, 3), mode=mode)
        np.testing.assert_array_equal(rg.stabilize(f)(n), f(n))
        assert rg.stabilize(f)(n).dtype == n.dtype


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "options", [{}, {"keepdims": True}, {"initial": 1.5}, {"dtype": np.float32}], ids=repr
)
@pytest.mark.parametrize(
    "x", [X.astype(np.float32), np.array([7, 2, 3]), np.outer(X, X)], ids=["single", "int", "rows"]
)
@pytest.mark.parametrize(
    "ufunc",
    [np.subtract, np.divide, np.hypot, np.fmin, np.remainder, np.floor_divide, np.logical_xor, np.add],
)
def test_ufuncs_fold_in_the_dtype_that_numpy_finds_for_it(ufunc: np.ufunc, x: Any, options: Any):
    """What a fold starts with is cast to the dtype of its steps; the first step is an entry, cast as well."""
    for fold in (
        ufunc.reduce,
        *([] if "keepdims" in options or "initial" in options else [ufunc.accumulate]),
    ):
        if ufunc is np.logical_xor and "dtype" in options:
            continue
        want, got = fold(x, **options), rg.stabilize(lambda x, fold=fold: fold(x, **options))(x)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (2, 0, 3)])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_sums_of_nothing_start_somewhere(shape: tuple[int, ...], axis: int | None):
    def total(x: Any) -> Any:
        return np.sum(x, axis=axis, initial=1.5)

    np.testing.assert_array_equal(rg.stabilize(total)(np.zeros(shape)), total(np.zeros(shape)))


SMALL = np.array([100, 100, -3], np.int8)
BYTES = np.array([1, 200, 255], np.uint8)
SINGLE = np.array([1.1, 1.3, 2.7], np.float32)
TRUTHS = np.array([True, False, True])
DTYPES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "ends of a range are floats before they are subtracted": (lambda x: np.linspace(x, x + 1, 3), BYTES),
    "and their step": (lambda x: np.linspace(x, x + 1, 3, retstep=True)[1], BYTES),
    "weights do not wrap": (lambda x: np.average(x, weights=np.ones_like(x) * 2), SMALL),
    "weights of floats stay": (lambda x: np.average(x, weights=[1, 2, 3]), X[:3].astype(np.float32)),
    "roots of truth values": (lambda x: x**0.5, TRUTHS),
    "roots of bytes": (lambda x: x**0.5, BYTES),
    "what is written to says nothing of what is computed": (
        lambda x: np.multiply(x, 2, where=x > 0, out=np.full(x.shape, 9.0)),
        SMALL,
    ),
    "SciPy's functions of bytes": (lambda x: scipy.special.expm1(x) + scipy.special.log1p(x), BYTES),
    "SciPy's functions of truth values": (lambda x: scipy.special.cbrt(x), TRUTHS),
    "SciPy's functions of halves": (lambda x: scipy.special.expit(x), X.astype(np.float16)),
    "SciPy's functions beside numbers of Python's": (lambda x: scipy.special.beta(x, 2.0), SINGLE),
    "SciPy's functions of counts": (lambda x: scipy.special.pdtr(2, x), SINGLE),
    "SciPy's functions beside its constants": (lambda x: scipy.special.multigammaln(x, 2), SINGLE),
    "SciPy's functions of matrices": (lambda x: scipy.linalg.expm(np.outer(x, x)), SINGLE),
    "folds in what they are written to": (lambda x: np.add.accumulate(x, out=np.zeros(3)), SINGLE),
    "folds in floats that are asked for": (lambda x: np.logaddexp.reduce(x, dtype=np.float64), SINGLE),
    "dtypes that are asked for": (lambda x: scipy.special.log1p(x, dtype=np.float32), BYTES),
    "methods of truth values": (lambda x: x.conj(), TRUTHS),
    "memory in order has an axis": (lambda x: np.ascontiguousarray(x), np.array(1.5)),
    "zeros on all sides": (lambda x: np.trim_zeros(x), np.pad(np.eye(2), ((1, 2), (2, 1)))),
    "zeros on one side": (lambda x: np.trim_zeros(x, "b", axis=1), np.pad(np.eye(2), ((1, 2), (2, 1)))),
    "nothing but zeros": (lambda x: np.trim_zeros(x, "f"), np.zeros((2, 3))),
    "even slopes ask their neighbours only": (
        lambda x: np.gradient(x),
        np.array([np.inf, 1.0, 3.0, 2.0, np.inf]),
    ),
    "and in several axes": (lambda x: np.gradient(x, 0.5, axis=0, edge_order=2), np.outer(X, X)),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_and_shapes_are_numpys(name: str, strategy: str):
    f, x = DTYPES[name]
    with np.errstate(all="ignore"):
        want, got = f(x), rg.stabilize(f, strategy=strategy)(x)
    assert (np.shape(got), np.asarray(got).dtype) == (np.shape(want), want.dtype)
    rtol = {2: 1e-3, 4: 1e-6, 8: 1e-7 if "constants" in name else 1e-14}[max(want.dtype.itemsize, 2)]
    np.testing.assert_allclose(got, want, rtol=rtol)


def test_an_order_in_memory_is_refused():
    with pytest.raises(rg.TraceError, match="cannot be traced with order="):
        rg.stabilize(lambda x: np.ravel(x, "A"))(np.outer(X, X).T)


def test_vectors_that_are_not_determined_have_values_and_no_derivatives():
    f = lambda a: np.linalg.svd(a)[0][:, 3:]
    np.testing.assert_allclose(rg.stabilize(f)(M), f(M))
    g = lambda a: np.linalg.qr(a, mode="complete").Q[:, 3:]
    np.testing.assert_allclose(rg.stabilize(g)(M), g(M))
    for h in (f, g):
        with pytest.raises(rg.errors.GradientError, match="not determined") as error:
            rg.grad(lambda a, h=h: np.sum((h(a) @ h(a).T) * np.arange(16.0).reshape(4, 4)))(M)
        assert error.value.where.startswith(__file__)


def test_truth_values_have_no_decimals_as_in_numpy():
    with pytest.raises(TypeError, match="cast"):
        rg.stabilize(lambda x: np.round(x > 1, 1))(X)


def test_indices_and_axes_that_numpy_refuses_are_refused():
    for f in (lambda x: np.add.reduceat(x, [0, 5]), lambda x: np.add.reduceat(x, [-1])):
        with pytest.raises(IndexError):
            rg.stabilize(f)(X)
    for f in (
        lambda x: np.pad(x, 1, mode="mean", end_values=2),
        lambda x: np.pad(x[:0], 1, mode="mean"),
    ):
        with pytest.raises(ValueError, match=r"unsupported|empty"):
            rg.stabilize(f)(X)


@pytest.mark.parametrize(
    "x", [np.float32([1.5, 2.0]), np.float32(1.5), np.int32([3, 4]), np.array([1.0, 2.0])]
)
@pytest.mark.parametrize("part", [1.0, 1, True, np.float64(1), np.arange(2)])
def test_numbers_of_python_are_joined_in_the_dtype_of_the_arrays(x, part):
    for f in (lambda x: np.r_[np.hypot(x, 1), part], lambda x: np.r_[x, part, 2], lambda x: np.c_[x, x]):
        got, want = rg.stabilize(f)(x), f(x)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, -1, ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_number_has_an_axis_in_scipys_sum_of_exponentials(axis, keepdims):
    f = lambda x: scipy.special.logsumexp(x, axis=axis, keepdims=keepdims)
    assert np.shape(rg.stabilize(f)(0.5)) == np.shape(f(0.5))


LISTS: dict[str, Callable[[Any], Any]] = {
    "difference": lambda x: x - [x[0], 1.0],
    "product from the left": lambda x: [1.0, x[0]] * x,
    "matrix product": lambda x: x @ [x[0], 2.0],
    "power": lambda x: x ** (x[1], 2.0),
    "of ufuncs": lambda x: np.maximum(x, [x[1], 1.0]) + np.multiply.outer(x, [x[0], 1.0]).sum(0),
    "nested": lambda x: x - [[x[0]], [x[1]]],
    "in place": lambda x: _written(x, lambda y: y.__iadd__([x[1], 1.0])),
    "at": lambda x: _written(x, lambda y: np.add.at(y, [0, 0], [x[0], x[1]])),
    "put": lambda x: _written(x, lambda y: y.put([1], [x[0] * 2])),
}


def _written(x: Any, write: Callable[[Any], Any]) -> Any:
    y = x.copy()
    write(y)
    return y


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_traced_numbers_are_operands(name: str):
    agree(LISTS[name], np.array([1.5, 0.75]))
