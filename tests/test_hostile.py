"""Relations that never stop, that say nothing, or that match too much; inputs and graphs that no one expects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counting import at_most, calls, chain
from scipy import special

import relgrad as rg

X = np.array([0.3, -0.2, 0.5])


def holds_itself(x):
    return np.sinh(x), -np.sinh(-x)


def adds_nothing(x):
    return np.sinh(x), np.sinh(x) + (x - x)


def adds_zero_times(x):
    return np.sinh(x), np.sinh(x) * 1 + 0 * np.cosh(x)


def adds_one_less_one(x):
    return np.sinh(x), np.sinh(x) + np.cos(x) ** 2 + np.sin(x) ** 2 - 1


def wraps_its_argument(x):
    return np.sinh(x), np.sinh(np.log(np.exp(x)))


def doubles(x):
    return np.sinh(x), (np.sinh(x) + np.sinh(x)) / 2


def doubles_apart(x):
    return np.sinh(x), 2 * np.sinh(x / 2) * np.sqrt(1 + np.sinh(x / 2) ** 2)


def halves(x):
    return np.exp(x), np.exp(x / 2) ** 2


ENDLESS = [holds_itself, adds_nothing, adds_zero_times, adds_one_less_one, wraps_its_argument, doubles]


GROWING = [pytest.param(row, marks=pytest.mark.slow) for row in (doubles_apart, halves)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", [*ENDLESS, *GROWING], ids=lambda row: row.__name__)
@pytest.mark.parametrize("base", [rg.Library([]), rg.LIBRARY], ids=["alone", "among others"])
def test_a_row_that_applies_to_its_own_result_ends_in_a_right_program(row, base):
    f = np.exp if row is halves else np.sinh
    library = base.extended(rg.relation(row))
    with warnings.catch_warnings(), at_most(50_000):
        warnings.simplefilter("ignore", rg.RelgradWarning)
        np.testing.assert_allclose(rg.stabilize(f, relations=library)(X), f(X), rtol=1e-9)
        gradient = rg.grad(lambda x: np.sum(f(x)), relations=library)
        np.testing.assert_allclose(gradient(X), np.exp(X) if row is halves else np.cosh(X), rtol=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "rows",
    [
        [lambda x, y: (x * y, y * x), lambda x, y: (x + y, y + x)],
        [lambda x, y, z: (x * (y + z), x * y + x * z)],
        [lambda x, y, z: (x * y + x * z, x * (y + z))],
        [lambda x: (np.cos(x), np.cos(-x)), lambda x: (np.sin(x), -np.sin(-x))],
        [lambda x: (np.sin(x) ** 2, 1 - np.cos(x) ** 2), lambda x: (np.cos(x) ** 2, 1 - np.sin(x) ** 2)],
        [lambda x: (np.exp(x), 1 / np.exp(-x))],
    ],
)
def test_rows_that_turn_things_round_end_too(rows):
    def f(x):
        for _ in range(12):
            x = x * (np.sin(x) + np.cos(x)) + np.sin(x) ** 2 * np.exp(-x)
        return x

    relations = [rg.relation(row) for row in rows]
    for number, row in enumerate(relations):
        object.__setattr__(row, "name", f"row_{number}")
    with warnings.catch_warnings(), at_most(50_000):
        warnings.simplefilter("ignore", rg.RelgradWarning)
        np.testing.assert_allclose(rg.stabilize(f, relations=rg.Library(relations))(X), f(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("row", "f"),
    [
        (lambda x: (np.sqrt(1 + x * x), np.hypot(1, x)), lambda y: np.sqrt(1 + y)),
        (lambda x: (np.sqrt(1 + x**2), np.hypot(1, x)), lambda y: np.sqrt(1 + y * np.cos(y))),
        (lambda x, y: (x * x - y * y, (x - y) * (x + y)), lambda y: y - np.cos(y)),
        (lambda x, y: (x**2 - y**2, (x - y) * (x + y)), lambda y: np.square(y) - y),
        (lambda x: (np.sqrt(x), np.exp(np.log(x) / 2)), lambda y: y * np.cos(y)),
        (lambda x, y: (np.sqrt(x) * y, y * np.exp(np.log(x) / 2)), lambda y: 3 * np.tanh(y)),
        (lambda x: (np.log(x**4), 4 * np.log(np.abs(x))), lambda y: np.log(y * y)),
        (lambda x: (np.cosh(x) ** 2 - 1, np.sinh(x) ** 2), lambda y: np.cosh(y) * np.cosh(2 * y) - 1),
    ],
)
def test_nothing_is_a_square_that_may_be_negative(row, f):
    x = np.array([-0.5, 0.4, -0.25])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rg.RelgradWarning)
        np.testing.assert_allclose(
            rg.stabilize(f, relations=rg.Library([rg.relation(row)]))(x), f(x), rtol=1e-12
        )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.expm1(2.0 * x * np.log(1.0)),
        lambda x: np.expm1(0.0 * x) / x,
        lambda x: np.exp(0 * x) / np.sum(np.exp(0 * x)),
        lambda x: 0.0 * np.exp(x) / np.sum(np.exp(x)),
        lambda x: np.log(np.sum(0.0 * np.exp(x) + 1.0)),
        lambda x: 1 / (1 + 0 * np.exp(x)),
        lambda x: np.exp(x) / (np.sum(np.exp(x)) + 0.0),
        lambda x: (x - x) * np.log(np.exp(x)) + np.exp(x - x),
        lambda x: np.log(1 + (np.exp(x) - np.exp(x))),
        lambda x: np.sqrt(0 * x) + 0.0**2 * x,
        lambda x: x**0 + np.power(x, 0.0) * np.exp(-0.0 * x),
    ],
)
def test_zeros_and_ones_where_relations_look(f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(rg.stabilize(f)(X), f(X), rtol=1e-12)
    assert np.isfinite(rg.grad(lambda x: np.sum(f(x)))(np.abs(X))).all()


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("c", [1e-320, -5e-324, 2e-308, 1.5e308, -1e300])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: 1 / (np.exp(np.exp(x)) ** 2 + c),
        lambda x, c: 1 / (np.exp(x) + c / 1e10),
        lambda x, c: (x + c) - x + 1e-310,
        lambda x, c: np.exp(x) / (np.exp(x) + c),
    ],
)
def test_constants_at_the_ends_of_the_range_do_no_harm(f: Any, c: float, strategy: str) -> None:
    """c = 5·10⁻³²⁴, of which 1/c is no float: nothing is told, and values are those of numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", rg.RelgradWarning)
        value = rg.stabilize(lambda x: f(x, c), strategy=strategy)(X)
        slope = rg.grad(lambda x: np.sum(f(x, c)), strategy=strategy)(X)
        naive = rg.grad(lambda x: np.sum(f(x, c)), strategy="naive")(X)
    np.testing.assert_allclose(value, f(X, c), rtol=1e-12, atol=1e-307)
    np.testing.assert_allclose(slope, naive, rtol=1e-9, atol=1e-300)


def test_the_text_of_a_stretched_number_is_a_whole_one() -> None:
    """(−10⁻¹⁶⁰)² is not folded, since it is no normal float: a sum with it stands for all entries as it is."""
    found = rg.stabilize(lambda x: ((x - 1e-160) - x) ** 2 + 1e-310)(X)
    np.testing.assert_allclose(found, np.full(3, 1e-310), rtol=1e-9)


def softmax(x: Any) -> Any:
    return np.exp(x) / np.sum(np.exp(x))


@pytest.mark.parametrize(
    "f", [softmax, lambda x: np.log(softmax(x)), lambda x: np.log(np.sum(np.exp(x))) + x]
)
def test_nan_stays_nan(f):
    x = np.array([np.nan, 1.0, 2.0])
    assert np.isnan(rg.stabilize(f)(x)).all()
    assert np.isnan(rg.grad(lambda x: np.sum(f(x) * X))(x)).any()


def test_what_is_masked_by_minus_infinity_takes_no_part():
    x, w = np.array([-np.inf, 1.0, 2.0]), np.array([0.0, 2.0, -1.0])
    p = np.array([0.0, *special.softmax(x[1:])])
    np.testing.assert_allclose(rg.stabilize(softmax)(x), p)
    for how in ("default", "eager"):
        gradient = rg.grad(lambda x: np.sum(w * softmax(x)), strategy=how)(x)
        np.testing.assert_allclose(gradient, p * (w - p @ w), atol=1e-15)
    np.testing.assert_allclose(
        rg.stabilize(lambda x: 1 / (1 + np.exp(-x)))(np.array([-np.inf, np.inf])), [0, 1]
    )
    np.testing.assert_allclose(rg.grad(lambda x: np.log(np.sum(np.exp(x))))(x), p)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (1, 1)])
def test_empty_and_single(shape):
    f = lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)
    x = np.full(shape, 1e4)
    for how in ("default", "eager"):
        np.testing.assert_array_equal(rg.stabilize(f, strategy=how)(x), np.ones(shape))
        np.testing.assert_array_equal(rg.grad(lambda x: np.sum(f(x)), strategy=how)(x), np.zeros(shape))


STEPS = {
    "x*x": lambda x: x * x,
    "x*x + x": lambda x: x * x + x,
    "e/(1 + e)": lambda x: np.exp(x) / (1 + np.exp(x)),
    "x/(1 + x*x)": lambda x: x / (1 + x * x),
    "log(1 + e)": lambda x: np.log(1 + np.exp(x)),
    "x*exp(-x)": lambda x: x * np.exp(-x),
    "softmax": softmax,
    "x softmax": lambda x: x * softmax(x),
    "x*(1 - x)": lambda x: x * (1 - x),
    "sin*cos + x": lambda x: np.sin(x) * np.cos(x) + x,
    "(x + 1)(x - 1)": lambda x: (x + 1) * (x - 1),
    "x - x/2": lambda x: x - x / 2,
    "x/sum": lambda x: x / np.sum(x),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("doublings", [30, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", STEPS)
def test_doublings_are_no_work(name, doublings):
    f = chain(STEPS[name], doublings)
    with np.errstate(all="ignore"), at_most(50_000):
        assert rg.stabilize(f)(X).shape == ()
        assert rg.grad(f)(X).shape == (3,)
        # What is expanded before anything is related holds the factors of all layers in each product.
        assert rg.grad(chain(STEPS[name], doublings // 4), strategy="eager")(X).shape == (3,)


HARDER = [pytest.param(name, marks=pytest.mark.slow) for name in ("sin*cos + x", "x*x + x")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["e/(1 + e)", "softmax", *HARDER])
def test_work_is_near_linear_in_the_graph(name):
    def work(n: int) -> int:
        differentiate = rg.grad(chain(STEPS[name], n))
        return calls(lambda: differentiate.source(X))

    work(9)
    # Quadratic work would take four times as many.
    assert work(80) < 3 * work(40)


@pytest.mark.parametrize("n", [600, pytest.param(3000, marks=pytest.mark.slow)])
def test_thousands_of_softmaxes_in_one_graph(n):
    def f(x):
        total = 0.0
        for i in range(1, n + 1):
            total = total + np.exp(x * i) / np.sum(np.exp(x * i))
        return total

    with at_most(66 * n):
        np.testing.assert_allclose(np.sum(rg.stabilize(f)(X)), n)


@pytest.mark.parametrize("n", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_operations_in_a_chain(n):
    with at_most(20 * n):
        assert rg.stabilize(chain(STEPS["e/(1 + e)"], n)).source(X).count("expit(") == n


def test_a_thousand_exponentials_under_one_logarithm():
    f = lambda x: np.log(sum((np.exp(x * (i / 1000)) for i in range(1000)), 0.0))
    with at_most(200_000):
        want = special.logsumexp(800.0 * np.arange(1000) / 1000)
        np.testing.assert_allclose(rg.stabilize(f)(np.array(800.0)), want, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_powers_of_the_exact_values_of_floats_fit_into_no_integer(strategy):
    def f(x):
        t = x * 1e-6 - np.mean(x * 1e-6)
        return np.sum(W * t / np.sqrt(np.mean(t**2)))

    W, x = np.array([1.0, 0.3, -2.0]), np.array([0.4, 1.0, 2.0])
    g = rg.grad(f, strategy=strategy)
    d = (f(x + 1e-6 * W) - f(x - 1e-6 * W)) / 2e-6
    np.testing.assert_allclose(np.sum(g(x) * W), d, rtol=1e-6)
    second = rg.grad(lambda x: np.sum(W * g(x)), strategy=strategy)(x)
    d = np.sum(W * (g(x + 1e-6 * W) - g(x - 1e-6 * W))) / 2e-6
    np.testing.assert_allclose(np.sum(second * W), d, rtol=1e-5)


def test_a_thousand_guards_are_no_deep_expression():
    def f(x):
        for i in range(1200):
            x = np.sin(x) + 0.1 * i
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        assert rg.stabilize(f)(0.3) == pytest.approx(f(0.3), rel=1e-12)


def test_making_a_program_raises_no_warnings_of_floats():
    """What overflows while relations look says nothing of the user's numbers, whatever `errstate` asks for."""
    with np.errstate(all="raise"):
        for f in (np.nan_to_num, lambda x: np.clip(x, 1e-300, 1e300) * 1e-200):
            np.testing.assert_array_equal(rg.stabilize(f)(np.array([1.0, 2.0])), f(np.array([1.0, 2.0])))
