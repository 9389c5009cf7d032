"""Exceptions that depend on values, texts of values, classes: what plain Python around plain NumPy asks besides."""

from __future__ import annotations

import logging
import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import relgrad as rg

P, N = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
X = np.array([1.0, -2.0])


def factor(a: Any) -> Any:
    try:
        return np.linalg.cholesky(a).sum()
    except np.linalg.LinAlgError:
        return -a.sum()


def inverse(a: Any) -> Any:
    with suppress(np.linalg.LinAlgError):
        return np.linalg.inv(a).sum()
    return a[0, 0]


def ratio(x: Any) -> Any:
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return 3.0 * x


def root(x: Any) -> Any:
    try:
        y = math.sqrt(x)
    except ValueError:
        y = 0.0
    finally:
        scale = 2.0
    return scale * y


def exponential(x: Any) -> Any:
    try:
        return math.exp(x)
    except OverflowError:
        return x


def softplus(x: Any) -> Any:
    try:
        with np.errstate(over="raise"):
            return np.log(1 + np.exp(x)).sum()
    except FloatingPointError:
        return np.maximum(x, 0.0).sum()


def nested(x: Any) -> Any:
    def inner() -> Any:
        return softplus(x) + np.linalg.inv(x * np.eye(2)).sum()

    try:
        return inner()
    except Exception as error:
        return x.sum() * len(type(error).__name__)


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (factor, [P, N, P, N]),
        (inverse, [P, np.ones((2, 2)), N]),
        (ratio, [2.0, 0.0, 4.0, 0.0]),
        (root, [4.0, -1.0, 9.0, -4.0]),
        (exponential, [1.0, 1e3, 2.0]),
        (softplus, [X, 1e4 * X, X]),
        (nested, [X, 0.0 * X, 1e4 * X]),
    ],
)
@pytest.mark.parametrize("strategy", ["default", "naive"])
def test_a_handler_runs_where_numpy_raises(f, calls, strategy):
    options = {} if strategy == "default" else {"strategy": strategy}
    g, slope = rg.stabilize(f, **options), rg.grad(f, **options)
    for x in calls:
        np.testing.assert_allclose(g(x), f(x), rtol=1e-13)
        h = 1e-6 * np.ones_like(x)
        if np.isfinite(f(x + h) - f(x - h)) and abs(f(x + h) - f(x - h)) < 1:
            np.testing.assert_allclose(np.sum(slope(x)), (f(x + h) - f(x - h)) / 2e-6, rtol=1e-6, atol=1e-8)


def test_what_no_handler_catches_is_raised_by_the_program():
    g = rg.stabilize(lambda a: np.linalg.cholesky(a).sum())
    for a in (P, N):
        if a is N:
            with pytest.raises(np.linalg.LinAlgError):
                g(a)
        else:
            assert g(a) == np.linalg.cholesky(a).sum()
    assert "decided" not in g.source(P)
    with pytest.raises(FloatingPointError):
        rg.stabilize(lambda x: _strictly(x))(1e4 * X)


def _strictly(x: Any) -> Any:
    with np.errstate(all="raise"):
        return np.exp(x) * 2


def test_an_index_out_of_bounds_is_caught():
    def entry(x: Any, i: int) -> Any:
        try:
            return x[i]
        except IndexError:
            return x[0] * 0.0

    g = rg.stabilize(entry)
    assert [g(X, i) for i in (0, 1, 5, -2, -3)] == [1.0, -2.0, 0.0, 1.0, 0.0]


def test_what_is_raised_before_a_handler_is_not_caught_by_it():
    def late(a: Any) -> Any:
        y = np.linalg.inv(a)
        try:
            return y.sum() if y[0, 0] > 0 else y[0, 0]
        except np.linalg.LinAlgError:
            return a[0, 0]

    g = rg.stabilize(late)
    for a in (P, np.ones((2, 2)), P):
        if a is P:
            np.testing.assert_allclose(g(a), late(a))
        else:
            with pytest.raises(np.linalg.LinAlgError):
                g(a)


def test_whatever_is_caught_is_a_decision():
    def power(n: Any) -> Any:
        try:
            return np.int64(2) ** n
        except ValueError:
            return -1

    g = rg.stabilize(power)
    assert [g(np.array(n)) for n in (-1, 3, -2)] == [-1, 8, -1]


def test_the_source_says_what_must_raise():
    text = rg.stabilize(factor).source(N)
    assert "fails(lambda: np.linalg.cholesky(a))" in text
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert namespace["stabilize_factor"](N) == -N.sum()
    with pytest.raises(ValueError, match="is made for other arguments"):
        namespace["stabilize_factor"](P)


def test_texts_are_those_of_the_call(caplog):
    seen = []

    def f(x: Any, t: Any) -> Any:
        seen.append(f"{t:.2f} {x[0]} {x} {t!r} {np.sum(x)!s}")
        seen[-1] += "%.3e|%s" % (x[1], t)  # noqa: UP031
        logging.getLogger("f").warning("at %.1f", t)
        return x.sum() * t

    g = rg.value_and_grad(f)
    for x, t in ((X, 0.25), (2 * X, 0.5), (X, 0.25)):
        seen.clear()
        caplog.clear()
        f(x, t)
        g(x, t)
        assert seen[0] == seen[1]
        assert caplog.text.count(f"at {t:.1f}") == 2


def test_a_text_that_is_a_key_is_one_of_values():
    def f(x: Any) -> Any:
        kept: dict[str, Any] = {"1.5": 10.0}
        return x * kept.get(str(x), 1.0)

    g = rg.stabilize(f)
    assert [g(1.5), g(2.0), g(1.5)] == [15.0, 2.0, 15.0]


def test_type_answers_what_an_array_shows():
    def kinds(x: Any, n: Any, t: Any) -> Any:
        assert type(x) is np.ndarray and type(x[0]) is np.float64 and type(x).__name__ == "ndarray"
        assert type(n) is int and type(t) in (int, float) and type(t) == float  # noqa: E721
        assert isinstance(int, type) and type(int) is type and issubclass(type, type)

        class Meta(type):
            pass

        class Made(metaclass=Meta):
            pass

        assert type(Made) is Meta and type(Made()) is Made
        return (x * t).sum() if type(x) is np.ndarray else n

    assert rg.stabilize(kinds)(X, 3, 2.0) == -2.0
    assert "type" not in globals()


MATRIX = np.array([[2.0, 0.5, 0.1], [0.35, 3.0, 0.2], [0.25, 0.15, 1.5], [0.4, 0.22, 0.3]])
WEIGHTS = np.cos(np.arange(12.0)).reshape(4, 3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.rot90(x, 3),
        lambda x: np.polyfit(x[:, 0], x[:, 1], 2),
        lambda x: np.linalg.lstsq(x, x[:, 0] ** 2)[:2],
        lambda x: np.linalg.lstsq(x.T, x[:3, 0], rcond=-1)[0],
        lambda x: np.linalg.pinv(np.outer(x[0], x[1])),
        lambda x: np.linalg.pinv(x - MATRIX + np.eye(4, 3)),
        lambda x: np.linalg.norm(x, 2) + np.linalg.norm(x, "nuc") + np.linalg.cond(x),
        lambda x: np.linalg.cond(x[:3], 1),
        lambda x: np.histogram(x[:, 0], bins=3, weights=x[:, 1], range=(0, 2.5))[0],
        lambda x: np.nanquantile(np.where(x > 2.5, np.nan, x), 0.3) + np.nanmedian(x),
        lambda x: np.polymul(x[0], x[1]) + np.polynomial.polynomial.polyval(x[0, 0], x[1]),
        lambda x: np.geomspace(x[0, 0], x[1, 1], 4),
        lambda x: np.cumulative_sum(x[0]),
        lambda x: np.apply_over_axes(np.sum, x, [0]),
        lambda x: np.linspace(x[0, 0], x[1, 1], 4, dtype=float),
        lambda x: np.arange(x[0, 2], x[0, 0], 0.3),
        lambda x: sum(v * (place[0] - place[1]) for place, v in np.ndenumerate(x)),
        lambda x: x[np.unravel_index(np.argmax(x), x.shape)],
        lambda x: np.add(x, x[0], dtype=np.float64),
    ],
)
def test_functions_that_numpy_writes_in_python(f):
    """Values are NumPy's; derivatives are difference quotients."""

    def total(x: Any) -> Any:
        y = f(x)
        parts = y if isinstance(y, tuple) else (y,)
        return sum(np.sum(np.cos(np.arange(np.size(p))) * np.ravel(p)) for p in parts)

    for y, z in zip(_parts(rg.stabilize(f)(MATRIX)), _parts(f(MATRIX)), strict=True):
        assert np.asarray(y).dtype == np.asarray(z).dtype
        np.testing.assert_allclose(y, z, rtol=1e-12)
    slope = np.sum(rg.grad(total)(MATRIX) * WEIGHTS)
    h = 1e-5 * WEIGHTS
    np.testing.assert_allclose(slope, (total(MATRIX + h) - total(MATRIX - h)) / 2e-5, rtol=1e-6, atol=1e-6)


def _parts(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: np.eye(2)[i] * 0,
        lambda x, i: 0.0 * x[i] + x,
        lambda x, i: np.sum(x) * (np.eye(2)[i] * 0),
        lambda x, i: (x - x * 0)[i] * 0,
    ],
)
def test_what_is_multiplied_by_zero_raises_as_well(f):
    x, program = np.array([2.5, -0.5]), rg.stabilize(f)
    np.testing.assert_array_equal(program(x, -1), f(x, -1))
    for p in (program, rg.stabilize(lambda x, i: f(x, i))):
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            p(x, 3)


@np.errstate(divide="ignore")
def silent(x: Any) -> Any:
    return np.log(x)


def within(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, np.log(x) / x, 0.0)


@pytest.mark.parametrize("f", [silent, within, lambda x: silent(x) + within(x)])
@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
def test_programs_do_not_warn_of_what_the_function_ignores(f, strategy):
    """with np.errstate(divide="ignore"): log(x) → @np.errstate(divide="ignore"), in the source as well."""
    program, x = rg.stabilize(f, strategy=strategy), np.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(program(x), f(x))
        rg.grad(lambda x: np.sum(within(x)))(x)
    space: dict[str, Any] = {}
    text = program.source(x)
    assert '@np.errstate(divide="ignore"' in text
    exec(text, space)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        rg.stabilize(lambda x: np.log(x))(x)
