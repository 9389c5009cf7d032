"""Whatever is passed in: NumPy's answer, NumPy's exception, or a refusal that says what to do."""

from __future__ import annotations

import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import relgrad as rg

X = np.random.default_rng(0).normal(size=(3, 4))
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False


class Subclass(np.ndarray):
    """An array that is one."""


class Convertible:
    """An object that NumPy makes an array of."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return X.copy()


INPUTS: dict[str, Any] = {
    "another byte order": X.astype(">f8"),
    "float32 of another byte order": X.astype(">f4"),
    "integers of another byte order": np.arange(12, dtype=">i4").reshape(3, 4),
    "half precision": X.astype(np.float16),
    "extended precision": X.astype(np.longdouble),
    "Fortran order": np.asfortranarray(X),
    "negative strides": X[::-1, ::-1],
    "overlapping entries": np.lib.stride_tricks.as_strided(X, (3, 4), (8, 8)),
    "repeated entries": np.broadcast_to(X[0], (3, 4)),
    "read only": READ_ONLY,
    "no rows": np.zeros((0, 4)),
    "no columns": np.zeros((3, 0)),
    "one entry": X[:1, :1],
    "rank 0": np.array(0.3),
    "a scalar": np.float64(0.3),
    "a float32 scalar": np.float32(0.3),
    "an integer": 2,
    "a large integer": 10**30,
    "a boolean": True,
    "integers": np.arange(12).reshape(3, 4),
    "bytes": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "booleans": X > 0,
    "NaN": np.where(X > 0, np.nan, X),
    "infinities": np.where(X > 1, np.inf, X),
    "huge": X * 1e308,
    "tiny": X * 1e-310,
    "masked": np.ma.masked_array(X, X > 0),
    "a matrix": np.matrix(X),
    "a subclass": X.view(Subclass),
    "objects": X.astype(object),
    "complex": X + 1j,
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "records": np.zeros(3, dtype=[("a", float)]),
    "text": "abc",
    "nothing": None,
    "a list": [[1.0, 2.0], [3.0, 4.0]],
    "a ragged list": [[1.0], [1.0, 2.0]],
    "a dict": {"a": X},
    "a set": {1.0, 2.0},
    "a buffer": memoryview(X),
    "a fraction": Fraction(1, 3),
    "a decimal": Decimal("0.5"),
    "an object that converts": Convertible(),
}
FUNCTIONS = {
    "a softmax": lambda x: np.exp(x) / np.sum(np.exp(x)),
    "a log-sum-exp": lambda x: np.log(np.sum(np.exp(x), axis=-1)),
    "a norm": lambda x: np.sqrt(np.sum(x**2)),
    "a polynomial": lambda x: x * x - 2 * x + 1,
    "a product": lambda x: x.T @ x,
    "an entry": lambda x: x[0] * 2,
    "a choice": lambda x: np.where(x > 0, np.log(x), 0.0),
    "a scan": lambda x: np.cumsum(x),
    "every other": lambda x: x.reshape(-1)[::2],
}


def found(f: Any, x: Any) -> Any:
    """Return the result of a function, or what it raises."""
    try:
        with np.errstate(all="ignore"):
            return f(x)
    except Exception as error:
        return error


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_input_gives_what_numpy_gives_or_is_refused(name: str, kind: str) -> None:
    f, x = FUNCTIONS[name], INPUTS[kind]
    before = np.array(x, copy=True) if isinstance(x, np.ndarray) else None
    want, got = found(f, x), found(rg.stabilize(f), x)
    if isinstance(got, rg.errors.RelgradError):
        assert got.cause or got.cure, got
    elif isinstance(got, Exception):
        assert type(got) is type(want), got
    elif not isinstance(want, Exception):
        got, want = np.asarray(got), np.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if want.dtype.kind == "f" and want.dtype.itemsize > 2:
            known = np.isfinite(want)
            np.testing.assert_allclose(got[known], want[known], rtol=1e-5, atol=1e-300)
    if before is not None:
        assert before.tobytes() == np.array(x, copy=True).tobytes()


@pytest.mark.parametrize("kind", INPUTS)
def test_a_gradient_has_the_shape_of_the_input_or_is_refused(kind: str) -> None:
    f, x = lambda x: np.sum(x * x - 2 * x), INPUTS[kind]
    got = found(rg.grad(f), x)
    if isinstance(got, rg.errors.RelgradError):
        assert got.cause or got.cure
    elif isinstance(got, Exception):
        assert type(got) is type(found(f, x)), got
    elif kind != "a dict":
        assert np.shape(got) == np.shape(x)
        known = np.isfinite(np.asarray(x, float)) & (np.abs(np.asarray(x, float)) < 1e300)
        np.testing.assert_allclose(
            np.asarray(got, float)[known], 2 * np.asarray(x, float)[known] - 2, rtol=1e-2
        )


@pytest.mark.parametrize("dtype", [">f8", ">f4"])
@pytest.mark.parametrize(
    "f", [lambda x: np.sum(x[x > 0] ** 2), lambda x: np.sort(x)[0] * x[0], lambda x: np.diff(x)[0] ** 2]
)
def test_the_order_of_bytes_is_no_part_of_a_type(f: Any, dtype: str) -> None:
    x = np.array([1.0, -2.0, 3.0], dtype)
    native = x.astype(x.dtype.newbyteorder("="))
    for transform in rg.stabilize, rg.grad, rg.hessian:
        np.testing.assert_array_equal(transform(f)(x), transform(f)(native))


def test_arguments_that_share_memory_are_told_apart() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y[::-1]) + np.sum(np.exp(x - y))

    x = X[0].copy()
    for y in (x, x[::-1], x[:]):
        np.testing.assert_allclose(rg.stabilize(f)(x, y), f(x, y), rtol=1e-14)
        g, h = rg.grad(f, argnums=(0, 1))(x, y)
        np.testing.assert_allclose(g, y[::-1] + np.exp(x - y), rtol=1e-13)
        np.testing.assert_allclose(h, x[::-1] - np.exp(x - y), rtol=1e-13)


KEPT: list[Any] = []


def keeping(x: Any) -> Any:
    KEPT[:] = [2 * x]
    return x.sum()


def within(use: Any) -> Any:
    return lambda: rg.stabilize(lambda y: y * use(KEPT[0]))(np.ones(3))


def in_a_thread(use: Any) -> Any:
    def call() -> Any:
        failed: list[BaseException] = []

        def attempt(x: Any) -> None:
            try:
                use(x)
            except BaseException as error:
                failed.append(error)

        def f(x: Any) -> Any:
            thread = threading.Thread(target=attempt, args=(x,))
            thread.start()
            thread.join()
            return x.sum()

        rg.stabilize(f)(np.ones(3))
        raise failed[0]

    return call


@pytest.mark.parametrize("where", [lambda use: lambda: use(KEPT[0]), within, in_a_thread])
@pytest.mark.parametrize(
    "use", [lambda x: 1.0 if x[0] > 0 else 2.0, lambda x: float(x[0]), lambda x: np.array([x[0]])]
)
def test_a_traced_array_without_a_value_is_refused_with_a_cure_that_helps(where: Any, use: Any) -> None:
    """Of another call, or thread, nothing is decided: no cure advises what then fails."""
    rg.stabilize(keeping)(np.ones(3))
    with pytest.raises(rg.TraceError) as error:
        where(use)()
    assert "return the array from it" in str(error.value) or "pass the array as an argument" in str(
        error.value
    )


def test_an_iterator_is_consumed_by_each_call_as_numpys() -> None:
    """Generators, closed over or passed, go on where the last call left them."""
    values = iter([2.0, 3.0, 5.0, 7.0])
    closed, passed = rg.stabilize(lambda x: x * next(values)), rg.stabilize(lambda x, v: x * next(v))
    assert [float(y) for y in (closed(1.0), passed(1.0, values), closed(1.0), passed(1.0, values))] == [
        2,
        3,
        5,
        7,
    ]


def test_masks_and_objects_are_refused_with_their_cures() -> None:
    with pytest.raises(rg.TraceError) as error:
        rg.stabilize(lambda x: np.ma.array(x, mask=[0, 1, 0]).mean())(np.ones(3))
    assert "where=" in error.value.cure
    with pytest.raises(rg.RelgradError) as other:
        rg.stabilize(lambda x: x * np.array([1, 2.5, None], object))(np.ones(3))
    assert "astype(float)" in other.value.cure
