"""Laws of integers and truth values among real numbers: dtypes are NumPy's, and no step on the way wraps around."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relgrad as rg

BYTES = np.array([0, 1, 7, 127, 200], np.uint8)
SMALL = np.array([-128, 127, 100, -2, 3], np.int8)
LARGE = np.array([-(2**63), 2**63 - 1, 2**62, -2, 3])
X = np.array([0.5, -1.0, 2.0, 0.3, -0.7])
HALF = np.array([1.5, 2.0, -3.0, 0.5, -0.5], np.float16)

REAL: dict[str, Callable[[Any, Any], Any]] = {
    "opposite": lambda i, x: 1 / (1 + np.exp(-1.0 * i)),
    "multiple": lambda i, x: np.exp(2.0 * i / 100),
    "number": lambda i, x: i * 1.0 + 1.0,
    "sum": lambda i, x: 1.0 * i + 1.0 * i[::-1],
    "size": lambda i, x: np.sqrt((i * 1.0) ** 2),
    "size of a product": lambda i, x: np.sqrt((i * x) ** 2),
    "product": lambda i, x: i * 1.0 * i[::-1],
    "opposite of bytes": lambda i, x: x + (-i),
    "less the opposite": lambda i, x: x - np.negative(i),
    "sum and a number": lambda i, x: x / (1.5 + np.sum(i)),
    "divisor": lambda i, x: x / (2.0 * i + 1e-3),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("whole", [BYTES, SMALL, LARGE], ids=["uint8", "int8", "int64"])
@pytest.mark.parametrize("name", REAL)
def test_integers_in_real_expressions_do_not_wrap_around(name: str, whole: Any, strategy: str):
    """−1.0·i is 128.0, and √(i²) is, where i is −128 among int8, which holds no 128."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        found, expected = rg.stabilize(REAL[name], strategy=strategy)(whole, X), REAL[name](whole, X)
    assert found.dtype == expected.dtype
    assert found == pytest.approx(expected, rel=1e-12)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "logistic function": lambda k: 1 / (1 + np.exp(-k)),
    "logistic function of a difference": lambda k: 1 / (1 + np.exp(3 - k)),
    "softplus": lambda k: np.log(1 + np.exp(-k)),
    "log of a logistic function": lambda k: np.log(1 / (1 + np.exp(-k))),
    "shares": lambda k: np.exp(-k) / np.sum(np.exp(-k)),
    "log of a sum": lambda k: np.log(np.sum(np.exp(k - 1))),
    "square of a secant": lambda k: 1 - np.tanh(3 - k) ** 2,
    "difference of hyperbolic functions": lambda k: np.cosh(k - 2) - np.sinh(k - 2),
    "size": lambda k: np.sqrt(1 + (k - 3) * (k - 3)) - 1,
    "complement of an odd function": lambda k: 1 + np.tanh(k),
    "complement of a size": lambda k: 1 / (1 + np.abs(np.tanh(k))),
    "versine": lambda k: 1 - np.cos(k),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", WHOLE)
def test_what_wraps_as_written_is_what_equations_are_about(name: str, dtype: str, strategy: str):
    """−k of bytes is 256 − k: a right side about that computes with it as a number, and wraps no more."""
    k = np.array([0, 1, 2, 5, 4], dtype)
    with np.errstate(all="ignore"):
        expected, found = WHOLE[name](k), rg.stabilize(WHOLE[name], strategy=strategy)(k)
    assert found.dtype == expected.dtype
    right = np.isfinite(expected) & (np.abs(expected) > np.finfo(expected.dtype).tiny)
    rel = {2: 1e-2, 4: 1e-5, 8: 1e-10}[expected.dtype.itemsize]
    np.testing.assert_allclose(found[right], expected[right], rtol=rel, atol=rel)


AS_NUMPY: dict[str, Callable[..., Any]] = {
    "bounds of bytes": lambda u, x, h: np.clip(u, -1, 100),
    "no bound of bytes": lambda u, x, h: u.clip(None, 300),
    "a choice wraps": lambda u, x, h: np.where(x > 0, u, -1),
    "square of truths": lambda u, x, h: (x > 0) ** 2,
    "power of truths": lambda u, x, h: np.power(x > 0, 2),
    "square of a truth": lambda u, x, h: h * np.any(x > 0) ** 2,
    "root of bytes": lambda u, x, h: np.sqrt(u * (u < 100) ** 2),
    "a reduced number": lambda u, x, h: np.fmax.reduce(x.sum()),
    "truths are compared": lambda u, x, h: np.where(x < (x != 1.0), (x > 1) * x, -2.0),
    "bytes are subtracted": lambda u, x, h: np.clip(x, -1, 1) - np.uint8(3) * (u > 3),
    "log of a power": lambda u, x, h: np.log(u**2),
    "log of a power that wraps": lambda u, x, h: np.log2(np.uint8(2) ** u),
    "smallest of bytes": lambda u, x, h: np.clip(np.maximum.reduce(np.maximum(u, x)), None, 0),
    "function of truths": lambda u, x, h: np.logaddexp(x > 0, x) * 2.0,
    "a small divisor beside truths": lambda u, x, h: np.int8(2) / h * (x > 0),
    "finite": lambda u, x, h: np.nan_to_num(x / 1e-310),
    "a number as a condition": lambda u, x, h: np.where(2, u, x),
    "finite, told otherwise": lambda u, x, h: np.nan_to_num(1e300 * x * 1e300, posinf=3.0),
}


@pytest.mark.parametrize("strategy", ["default", "naive"])
@pytest.mark.parametrize("name", AS_NUMPY)
def test_dtypes_and_values_are_those_of_numpy(name: str, strategy: str):
    with np.errstate(all="ignore"):
        expected = AS_NUMPY[name](BYTES, X, HALF)
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        found = rg.stabilize(AS_NUMPY[name], strategy=strategy)(BYTES, X, HALF)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


TRUTHS = np.array([True, False, True, True, False])


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", ["complement of an odd function", "complement of a size", "versine"])
def test_truth_values_have_signs_in_right_sides(name: str, strategy: str):
    """NumPy has no −b of truth values; an equation about −x computes with the number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        found = rg.stabilize(WHOLE[name], strategy=strategy)(TRUTHS)
    np.testing.assert_allclose(found, WHOLE[name](TRUTHS), rtol=2e-3)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("number", [12, 16, 3, -7])
def test_a_fraction_beside_integers_stays_one(number: int, strategy: str):
    """8·x̄ + 12 + i = 8·(x̄ + 3/2) + i, where i are integers, and 3/2 is none."""
    x, i = np.arange(8.0).reshape(4, 2) / 3, np.arange(3)
    f = lambda x: i + (number + x.sum())
    np.testing.assert_allclose(rg.stabilize(f, strategy=strategy, validate=False)(x), f(x), rtol=1e-14)


def test_multiples_of_small_integers_are_in_range():
    f = lambda k: 1.0 - np.exp(-2.0 * np.pi * k / 48000.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        np.testing.assert_allclose(rg.stabilize(f)(SMALL), f(SMALL * 1.0), rtol=1e-9)


@pytest.mark.parametrize("f", [np.linalg.det, np.linalg.inv, lambda a: np.log(np.linalg.det(a))])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_matrices_of_integers_are_matrices(f: Callable[[Any], Any], dtype: str):
    a = np.array([[3, 1], [1, 2]], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(rg.stabilize(f)(a), f(a), rtol=1e-14)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_truth_values_are_summands_of_functions_of_one_number(strategy: str):
    f = lambda x, k: (k * 1.5 - (x > 1)) - 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        assert rg.stabilize(f, strategy=strategy)(X, 2).tolist() == f(X, 2).tolist()


@pytest.mark.parametrize("value", [2.0, -2.0])
@pytest.mark.parametrize(
    "f", [lambda x: x[x > 0], lambda x: np.arange(3.0)[x > 0] * x, lambda x: (x * X)[True]]
)
def test_a_truth_value_chooses_all_or_nothing(f: Callable[[Any], Any], value: float):
    """x[True] = x[None], x[False] = x[None][:0]"""
    np.testing.assert_array_equal(rg.stabilize(f)(np.float64(value)), f(np.float64(value)), strict=True)


def test_integers_to_powers_that_a_mask_chose():
    f = lambda x, n: np.power(np.floor(x)[x > 0].astype(int), n % 4)
    assert rg.stabilize(f)(X, 3).tolist() == f(X, 3).tolist()


def test_a_truth_value_is_rounded_to_an_integer():
    f = lambda b, h: (round(b), round(b, 1), round(h))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rg.stabilize(f)(True, np.float16(3.2))
    assert [(int(x), np.asarray(x).dtype.kind) for x in found] == [(1, "i"), (1, "i"), (3, "i")]


def test_scalars_are_not_accumulated():
    with pytest.raises(TypeError, match="accumulate on a scalar"):
        rg.stabilize(lambda x: np.add.accumulate(x[0]))(X)


def test_sizes_of_large_integers_are_those_of_real_numbers():
    """Whether a product cancels is told by Σ i², which int64 does not hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        assert rg.stabilize(np.dot)(X, LARGE) == np.dot(X, LARGE)
