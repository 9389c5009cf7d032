"""A branch at one point that gives the limit of the other is no branch: where(u == c, f(c), f(u)) = f(u)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.calculus.isolated import Point, isolated
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.term import term
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

GUARDED: dict[str, tuple[Callable[[Any], Any], tuple[float, float, float]]] = {
    "sinc": (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), (1, 0, -1 / 3)),
    "guarded twice": (
        lambda x: np.where(x == 0, 1.0, np.expm1(x) / np.where(x == 0, 1.0, x)),
        (1, 0.5, 1 / 3),
    ),
    "the other way round": (
        lambda x: np.where(x != 0, (np.exp(x) - 1) / np.where(x != 0, x, 1.0), 1.0),
        (1, 0.5, 1 / 3),
    ),
    "0 as the limit": (lambda x: np.where(x == 0, 0.0, x**2 / (np.exp(x) - 1)), (0, 1, -1)),
    "two poles": (lambda x: np.where(x == 0, 0.0, 1 / np.tanh(x) - 1 / x), (0, 1 / 3, 0)),
    "a square": (
        lambda x: np.where(x**2 > 0, np.expm1(x**2) / np.where(x**2 > 0, x**2, 1.0), 1.0),
        (1, 0, 1),
    ),
    "a size": (
        lambda x: np.where(
            np.abs(x) == 0, 1.0, np.tanh(np.abs(x)) / np.where(np.abs(x) == 0, 1.0, np.abs(x))
        ),
        (1, 0, -2 / 3),
    ),
    "a sum": (
        lambda x: np.where(x + 1 == 1, 1.0, np.log1p(x) / np.where(x + 1 == 1, 1.0, x)),
        (1, -0.5, 2 / 3),
    ),
    "a power of the parameter": (
        lambda x: np.where(x == 0, np.log(2.0), (2.0**x - 1) / np.where(x == 0, 1.0, x)),
        (np.log(2), np.log(2) ** 2 / 2, np.log(2) ** 3 / 3),
    ),
    "select": (lambda x: np.select([x == 0], [1.0], np.sin(x) / x), (1, 0, -1 / 3)),
    "no cancellation": (lambda x: np.where(x == 0, x, x**2), (0, 0, 2)),
}


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", GUARDED)
def test_guards_have_the_derivatives_of_what_they_guard(name: str, strategy: str) -> None:
    fun, expected = GUARDED[name]
    first = rg.grad(fun, strategy=strategy)
    found = [f(0.0) for f in (rg.stabilize(fun, strategy=strategy), first, rg.grad(first, strategy=strategy))]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


def test_entries_at_the_point_beside_others() -> None:
    x, z = np.array([0.0, 1e-9, -2.0, 3.0]), np.arange(1.0, 5.0)
    fun = lambda x, z: np.sum(z * np.where(x == 0, 1.0, -np.expm1(-x) / np.where(x == 0, 1.0, x)))
    away = np.where(x == 0, 1.0, x)
    slopes = np.where(np.abs(x) < 1e-3, -0.5 + x / 3, (np.exp(-x) * (1 + x) - 1) / away**2)
    np.testing.assert_allclose(rg.grad(fun)(x, z), z * slopes, rtol=1e-12)


def test_what_does_not_take_any_number_stays() -> None:
    """An index that is drawn may be out of bounds, and a decomposition has no numbers: nothing is said, or raised."""

    def chosen(x: Any, k: Any) -> Any:
        told = np.choose(k, [x, -x])
        return np.sum(np.where(told != 0, np.sin(told) + x, x))

    def reduced(x: Any) -> Any:
        least = np.linalg.eigvalsh(np.diag(1 + x**2)).sum()
        return np.hypot.reduce(np.where(x < least, -x, x))

    x = np.array([0.5, -2.0])
    for strategy in ("default", "eager"):
        value = rg.stabilize(chosen, strategy=strategy)(x, np.array([0, 1]))
        np.testing.assert_allclose(value, chosen(x, np.array([0, 1])))
        np.testing.assert_allclose(rg.grad(reduced, strategy=strategy)(x), x / np.hypot(*x))


def test_two_terms_that_meet() -> None:
    """(eˣ − eʸ)/(x − y) with eˣ where x = y: its slope in x is eˣ/2 there."""

    def mean(x: Any, y: Any) -> Any:
        return np.where(x == y, np.exp(x), (np.exp(x) - np.exp(y)) / np.where(x == y, 1.0, x - y))

    x = np.array([0.0, 1.0, -2.0])
    np.testing.assert_allclose(
        rg.grad(lambda x, y: np.sum(mean(x, y)))(x, x.copy()), np.exp(x) / 2, rtol=1e-14
    )
    np.testing.assert_allclose(
        rg.grad(lambda x: np.sum(mean(x, np.ones(3))))(np.ones(3)), np.e / 2, rtol=1e-14
    )


@pytest.mark.parametrize("a", [2.0, -2.0])
def test_what_agrees_for_positive_numbers_only_stays(a: float) -> None:
    """(eᵃˣ − 1)/x tends to a, not to |a|, nor to max(a, −3)."""
    over = lambda x, a: np.expm1(a * x) / np.where(x == 0, 1.0, x)
    for at in (np.abs, lambda a: np.maximum(a, -1.0), lambda a: np.where(a > -1, a, 5.0)):
        fun = lambda x, a, at=at: np.where(x == 0, at(a), over(x, a))
        assert rg.stabilize(fun)(0.0, a) == at(a)
        assert rg.grad(fun)(0.0, a) == 0.0
    assert rg.stabilize(lambda x, a: np.where(x == 0, a, over(x, a)))(0.0, a) == a


def test_a_length_that_is_zero() -> None:
    def squashed(w: Any) -> Any:
        n = np.linalg.norm(w)
        return np.sum(np.where(n == 0, 0.0, np.sin(n) * w / np.where(n == 0, 1.0, n)))

    np.testing.assert_array_equal(rg.grad(squashed)(np.zeros(3)), np.ones(3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("fun", "slope"),
    [
        (lambda x: np.where(x == 0, 2.0, np.sin(x) / x), 0.0),
        (lambda x: np.where(x == 0, 0.0, x * np.log(np.abs(x))), 0.0),
        (lambda x: np.where(x == 0, 0.0, x * np.log(np.where(x == 0, 1.0, x))), 0.0),
        (lambda x: np.where(x == 0, 0.0, np.sqrt(np.abs(x))), 0.0),
        (lambda x: np.where(x == 0, 0.0, np.sin(1 / x)), 0.0),
        (lambda x: np.where(np.abs(x) < 1e-8, 1.0, np.expm1(x) / x), 0.0),
        (lambda x: np.where(x > 0, np.expm1(x), 0.0), 0.0),
        (lambda x: np.where(x == 0, 5 * x + 1, np.cos(x) + 1e-9), 5.0),
    ],
)
def test_branches_that_are_none_stay(fun: Callable[[Any], Any], slope: float) -> None:
    """A jump, an infinite slope, a branch in an interval, or of one side: derivatives are those of the branch taken."""
    assert rg.stabilize(fun)(0.0) == fun(np.float64(0.0))
    assert rg.grad(fun)(0.0) == slope


def test_what_is_read_of_conditions() -> None:
    x = Tracer(term(Input("x", array_type("float64", (3,)), symbol=True)))
    y = Tracer(term(Input("y", array_type("float64", (3,)), symbol=True)))
    for condition, point in [
        (x == 0, Point(x.term, 0.0, ())),
        (2 * np.abs(x) > 0, Point(x.term, 0.0, ())),
        (x**2 != 0, Point(x.term, 0.0, ())),
        (2 * x - 1 == 0, Point(x.term, 0.5, ())),
        (np.sqrt(np.sum(x * x, keepdims=True)) > 0, Point(x.term, 0.0)),
        (x == y, Point(x.term, y.term, ())),
        (x / 2 + 1 == 1.5e308, Point((x / 2 + 1).term, 1.5e308, ())),  # x beyond the floats
        (x + 0.1 == -sys.float_info.max, Point((x + 0.1).term, -sys.float_info.max, ())),
    ]:
        found = isolated(as_term(np.where(condition, np.sin(x), np.cos(x))))
        assert found is not None and found.point == point
    for condition in (x > 0, np.abs(x) < 1e-8, np.isnan(x), (x == 0) & (y == 0), x - x == 0):
        assert isolated(as_term(np.where(condition, np.sin(x), np.cos(x)))) is None


@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
@pytest.mark.parametrize("x", [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 1.0, 2.0]])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.where(np.all(x == 0), 0.0, np.where(x == 0, 5.0, x)),
        lambda x: np.where(np.linalg.norm(x) == 0, 0.0, np.where(x == 0, 5.0, np.sin(x))),
        lambda x: np.where(np.any(x != 0), np.where(x == 0, 5.0, np.sin(x)), 0.0),
        lambda x: np.where(np.all(row(x) == 0, axis=1)[:, None], 0.0, np.where(row(x) == 0, 5.0, row(x))),
        lambda x: np.where(x == 0, 0.0, np.where(np.all(x == 0), 7.0, x)),
        lambda x: np.sum(np.where(x != 0, x + 1, 5.0)) if np.any(x != 0) else 3.0,
        lambda x: np.sum(np.where(x == 0, 5.0, x)) if np.linalg.norm(x) > 0 else 3.0,
        lambda x: np.sum(np.where(x == 0, 5.0, x)) if np.all(x == 0) else np.sum(np.where(x == 0, 4.0, x)),
        lambda x: np.mean(np.arange(3.0)[x != 3] * x[x != 3]) if x.any() else 2.0,
        lambda x: np.mean((x + 1)[~(x == 2)]),
    ],
)
def test_that_not_all_entries_are_at_the_point_says_nothing_of_each(fun, x, strategy) -> None:
    """any(x ≠ 0) is no x ≠ 0 in each entry, as x ≠ 0 in an entry is any(x ≠ 0)."""
    value = fun(np.array(x))
    np.testing.assert_allclose(rg.stabilize(fun, strategy=strategy)(np.array(x)), value, rtol=1e-15)


def row(x: Any) -> Any:
    return np.outer(x, [1.0, 2.0, 0.0])


def sinc_by_return(x: Any) -> Any:
    if x == 0:
        return 1.0
    return np.sin(x) / x


def phi_by_assignment(x: Any) -> Any:
    y = 1.0
    if x != 0:
        y = (np.exp(x) - 1) / x
    return y


def phi_of_a_size(x: Any) -> Any:
    return np.expm1(x) / x if np.abs(x) > 0 else 1.0


def quotients_in_a_loop(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total = total + (k if x == 1 else (x**k - 1) / (x - 1))
    return total


def box_cox(x: Any, power: Any) -> Any:
    if power == 0:
        return np.log(x)
    return (x**power - 1) / power


def power_mean(x: Any, power: Any) -> Any:
    if power == 0:
        return np.exp(np.mean(np.log(x)))
    return np.mean(x**power) ** (1 / power)


def logarithmic_mean(x: Any, y: Any) -> Any:
    if x == y:
        return x
    return (x - y) / (np.log(x) - np.log(y))


BRANCHES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int, float, float]] = {
    "sinc": (sinc_by_return, (0.0,), 0, 0.0, -1 / 3),
    "φ₁": (phi_by_assignment, (0.0,), 0, 1 / 2, 1 / 3),
    "φ₁ of a size": (phi_of_a_size, (0.0,), 0, 1 / 2, 1 / 3),
    "quotients in a loop": (quotients_in_a_loop, (1.0,), 0, 1.0, 0.0),
    "Box and Cox": (box_cox, (2.0, 0.0), 1, np.log(2) ** 2 / 2, np.log(2) ** 3 / 3),
    "power mean": (
        power_mean,
        (np.array([1.0, 2.0, 4.0]), 0.0),
        1,
        2 * np.log(2) ** 2 / 3,
        2 * (np.log(2) ** 2 / 3) ** 2,
    ),
    "logarithmic mean": (logarithmic_mean, (2.0, 2.0), 0, 1 / 2, -1 / 12),
}


@pytest.mark.sampled(8)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", BRANCHES)
def test_python_branches_at_a_point_have_the_derivatives_of_the_others(name: str, strategy: str) -> None:
    fun, args, n, first, second = BRANCHES[name]
    value, slope = rg.value_and_grad(fun, n, strategy=strategy)(*args)
    assert value == fun(*args)
    np.testing.assert_allclose(slope, first, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(rg.hessian(fun, n, strategy=strategy)(*args), second, rtol=1e-12, atol=1e-15)
    directions = [np.zeros_like(x) for x in args]
    directions[n] = np.ones_like(args[n])
    pushed = rg.jvp(fun, args, tuple(directions), strategy=strategy)[1]
    np.testing.assert_allclose(pushed, first, rtol=1e-13, atol=1e-15)
    assert rg.grad(fun, n, strategy="naive")(*args) in (0.0, 1.0)  # that of the branch


def test_python_branches_of_a_length_that_is_zero() -> None:
    def turned(w: Any) -> Any:
        angle = np.linalg.norm(w)
        if angle == 0:
            return np.zeros(3)
        return np.tan(angle / 2) * w / angle

    def scaled(w: Any) -> Any:
        return np.zeros(3) if np.all(w == 0) else np.tan(np.linalg.norm(w) / 2) * w / np.linalg.norm(w)

    for fun in (turned, scaled):
        np.testing.assert_allclose(rg.jacobian(fun)(np.zeros(3)), np.eye(3) / 2, atol=1e-15)


def test_python_branches_at_two_points() -> None:
    def fun(x: Any, y: Any) -> Any:
        a = 1.0 if x == 0 else np.sin(x) / x
        b = 1.0 if y == 1 else np.log(y) / (y - 1)
        return {"product": a * b + x * y, "x": x}

    assert rg.grad(lambda x, y: fun(x, y)["product"], (0, 1))(0.0, 1.0) == (1.0, -0.5)
    np.testing.assert_allclose(
        rg.hessian(lambda x, y: fun(x, y)["product"], (0, 1))(0.0, 1.0), [[-1 / 3, 1.0], [1.0, 2 / 3]]
    )
    (value, back) = rg.vjp(fun, 0.0, 1.0)
    assert value == {"product": 1.0, "x": 0.0} and back({"product": 1.0, "x": 0.0}) == (1.0, -0.5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "ratio",
    [
        lambda y: np.log(y) / (y - 1),
        lambda y: np.log(y) / np.sin(y - 1),
        lambda y: np.log(y) / np.expm1(y - 1),
        lambda y: 3 * np.log(y) / (y * y + y - 2),
        lambda y: np.log(y) / (np.sqrt(y) - 1) / 2,
        lambda y: np.arctan(y - 1) / np.log(y),
    ],
)
@pytest.mark.parametrize("weight", [lambda x: np.sin(x) / x, np.expm1, lambda x: x * x])
def test_a_logarithm_is_a_factor_beside_its_divisor(weight, ratio) -> None:
    """w(x)·f(y), f(1) = 1 as it is chosen there, has the derivatives by y that w·f has beside 1."""

    def fun(x: Any, y: Any) -> Any:
        return weight(x) * (1.0 if y == 1 else ratio(y)) + x * y

    second = rg.hessian(fun, (0, 1))
    np.testing.assert_allclose(second(1.5, 1.0), second(1.5, 1 + 1e-7), rtol=1e-5, atol=1e-6)


def test_a_choice_stands_beside_a_function_that_has_no_value_at_all_numbers() -> None:
    def fun(x: Any, y: Any) -> Any:
        a = 1.0 if x == 0 else np.sin(x) / x
        return a * (1.0 if y == 1 else np.arctanh(y - 1) / (y - 1))

    np.testing.assert_allclose(rg.hessian(fun, (0, 1))(0.0, 0.5)[0][0], -np.arctanh(0.5) / 1.5, rtol=1e-12)
    np.testing.assert_allclose(rg.hessian(fun)(0.0, 1.0), -1 / 3, rtol=1e-12)


def test_a_branch_knows_its_own_entries_and_no_others() -> None:
    def shares(x: Any) -> Any:
        logs = np.log(np.log(1 + np.exp(x)))
        return np.exp(np.mean(logs - np.max(logs, axis=-1, keepdims=True)))

    def kept(x: Any) -> Any:
        positive = np.where(x > 0, x, 2.0)
        return np.where(x > 0, np.sin(x), np.where(x < 0, np.sinh(x), 0.0)) / np.max(positive)

    x = np.array([[0.1, -0.1, 0.6], [0.1, -0.5, 0.4]])
    for fun in (shares, lambda x: np.sum(kept(x))):
        np.testing.assert_allclose(rg.grad(fun)(x), rg.grad(fun, strategy="naive")(x), rtol=1e-12, atol=1e-15)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("fun", "slope"),
    [
        (lambda x: 5.0 if x == 0 else np.sin(x) / x, 0.0),
        (lambda x: 2 * x + 1.0001 if x == 0 else np.expm1(x) / x, 2.0),
        (lambda x: 0.0 if x == 0 else x * np.log(x), 0.0),
        (lambda x: 0.0 if x == 0 else x**2 * np.sin(1 / x), 0.0),
        (lambda x: 0.0 if x == 0 else np.exp(-1 / x**2), 0.0),
        (lambda x: 0.0 if x == 0 else 1 / x, 0.0),
        (lambda x: 3 * x if x == 0 else np.linalg.cholesky(np.diag([1 / x]))[0, 0], 3.0),
        (lambda x: 0.0 if x == 0 else np.ones(2) * x, 0.0),
    ],
)
def test_python_branches_that_are_none_stay(fun: Callable[[Any], Any], slope: float) -> None:
    """A jump, an infinite slope, a pole, what raises, what has another shape: the branch that is taken counts."""
    for strategy in ("default", "eager", "naive"):
        assert rg.value_and_grad(fun, strategy=strategy)(0.0) == (fun(0.0), slope)


def by_cases(x: Any) -> Any:
    if x == 0:
        return 1.0
    if x > 0:
        return np.expm1(x) / x
    return (np.exp(x) - 1) / x


def with_a_check(x: Any) -> Any:
    if x == 0:
        return 1.0
    y = np.expm1(x) / x
    return y if x < 100 else np.inf


def by_a_loop(x: Any) -> Any:
    """The loop ends after one step where x is small: 1 + x."""
    if x == 0:
        return 1.0
    total, part, k = 1.0, 1.0, 0
    while abs(part) > 1e-3:
        k += 1
        part = part * x / k
        total = total + part
    return total


def until_it_is_near(x: Any) -> Any:
    """With NaN, which sin(x)/x is at 0, the loop would never end."""
    if x == 0:
        return 1.0
    y = np.sin(x) / x
    while not abs(y - 1) < 1e-3:
        y = (y + 1) / 2
    return y


def size_by_cases(x: Any) -> Any:
    if x == 0:
        return 0.0
    return x if x > 0 else -x


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    ("fun", "slope"),
    [(by_cases, 0.5), (with_a_check, 0.5), (by_a_loop, 1.0), (until_it_is_near, 0.0), (size_by_cases, 0.0)],
)
def test_what_the_other_branch_asks_is_answered_by_continuity(
    fun: Callable[[Any], Any], slope: float, strategy: str
) -> None:
    """Two numbers that differ at the point do so next to it; where they do not, both answers count, or none is."""
    np.testing.assert_allclose(rg.grad(fun, strategy=strategy)(0.0), slope, rtol=1e-13)


def test_functions_that_change_what_is_outside_are_called_once() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return len(calls) * (1.0 if x == 0 else np.expm1(x) / x)

    assert rg.value_and_grad(counted)(0.0) == (1.0, 0.0)
    assert len(calls) == 1

    def outer(x: Any) -> Any:
        count = 0

        def inner(y: Any) -> Any:
            nonlocal count
            count += 1
            return 1.0 if y == 0 else np.expm1(y) / y

        return rg.grad(inner)(x) + 10 * count

    assert rg.stabilize(outer)(0.0) == 10.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_guards_within_guards_where_digits_cancel(strategy: str) -> None:
    """(log(1 + 2u) − 2u)/u², u = x − 1: doubled arithmetic and lines read the other branch, which is none at 1."""

    def fun(x: Any) -> Any:
        u = np.where(x == 1, 7.0, x) - 1
        return np.where(x == 1, 4.0, ((np.log(1 + 2 * u) - 2 * u) / u**2) ** 2)

    x = np.array([1.0, 1 + 2.0**-30, 1.5])
    u = x[1:] - 1
    slope = 2 * (np.log1p(2 * 0.5) - 1) / 0.25 * ((2 / 2 - 2) / 0.25 - 2 * (np.log1p(1) - 1) / 0.125)
    expected = [-32 / 3, -32 / 3 + 2 * (64 / 9 + 16) * u[0], slope]
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(fun(x)), strategy=strategy)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(rg.grad(fun, strategy=strategy)(1.0), -32 / 3, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_poles_and_flat_points_under_a_guard(strategy: str) -> None:
    """Both sides of a pole are one function, of which the point is none."""
    for fun in (
        lambda x: np.where(x == 0, 0.0, 1 / x),
        lambda x: np.where(x == 0, 0.0, np.exp(-1 / x**2)),
        lambda x: np.where(x == 0, 0.0, x**2 * np.sin(1 / x)),
    ):
        assert rg.value_and_grad(fun, strategy=strategy)(0.0) == (0.0, 0.0)


def by_two_masks(x: Any) -> Any:
    y, zero = np.empty_like(x), x == 0
    y[zero] = 1.0
    y[~zero] = np.expm1(x[~zero]) / x[~zero]
    return y


def by_sides(x: Any) -> Any:
    return np.select([x < 0, x == 0, x > 0], [np.expm1(x) / x, 1.0 + 0 * x, np.expm1(x) / x])


def by_pieces(x: Any) -> Any:
    return np.piecewise(x, [x == 0], [1.0, lambda v: np.expm1(v) / v])


def by_division(x: Any) -> Any:
    return np.divide(np.expm1(x), x, out=np.ones_like(x), where=x != 0)


def by_entries(x: Any) -> Any:
    return np.array([1.0 if v == 0 else np.expm1(v) / v for v in x])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("fun", [by_two_masks, by_sides, by_pieces, by_division, by_entries])
def test_guards_as_people_write_them(fun: Callable[[Any], Any], strategy: str) -> None:
    x, weights = np.array([1.0, 0.0, -2.0, 0.0]), np.array([1.0, -2.0, 3.0, 0.5])
    away = np.where(x == 0, 1.0, x)
    slopes = np.where(x == 0, 0.5, (np.exp(x) * (x - 1) + 1) / away**2)
    np.testing.assert_allclose(rg.stabilize(fun, strategy=strategy)(x), fun(x), rtol=1e-15)
    found = rg.grad(lambda x: np.sum(weights * fun(x)), strategy=strategy)(x)
    np.testing.assert_allclose(found, weights * slopes, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(("value", "slope"), [(0.5, 1 / 6), (1.5, 0.0)])
def test_three_ways_at_a_point_where_both_sides_have_a_limit(
    value: float, slope: float, strategy: str
) -> None:
    """Of both sides, which are (eˣ − 1 − x)/x², the point is the limit, or it is none."""

    def fun(x: Any) -> Any:
        side = (np.exp(x) - 1 - x) / x**2
        return np.where(x < 0, side, np.where(x > 0, side, value))

    assert rg.stabilize(fun, strategy=strategy)(0.0) == value
    np.testing.assert_allclose(rg.grad(fun, strategy=strategy)(0.0), slope, rtol=1e-13)


def step_response(zeta: Any, t: Any) -> Any:
    u = 1 - zeta**2
    s = np.sqrt(np.abs(u))
    below = np.cos(s * t) + zeta / s * np.sin(s * t)
    above = np.cosh(s * t) + zeta / s * np.sinh(s * t)
    critical = np.exp(-t) * (1 + t)
    return np.where(
        zeta < 1, np.exp(-zeta * t) * below, np.where(zeta > 1, np.exp(-zeta * t) * above, critical)
    )


def circle(k: Any, r: Any) -> Any:
    s = np.sqrt(np.abs(k))
    return np.where(k > 0, np.sin(s * r) / s, np.where(k < 0, np.sinh(s * r) / s, r))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("fun", "at", "slope"),
    [
        (step_response, 1.0, lambda t: t**3 * np.exp(-t) / 3),
        (circle, 0.0, lambda r: -(r**3) / 6),
        (lambda x, y: np.sign(x) ** 2 * np.exp(x) * y, 0.0, lambda y: 0.0),
        (lambda x, y: np.where(x > 0, np.sin(x), np.where(x < 0, x, y)), 0.0, lambda y: 0.0),
    ],
    ids=["an oscillator, critically damped", "a circle where space is flat", "a sign", "a jump"],
)
def test_three_ways_where_there_are_other_arguments(
    fun: Callable[..., Any], at: float, slope: Callable[[float], float]
) -> None:
    """where(x > c, f, where(x < c, g, a)) = f on both sides of c, where f and g have one series and a is the limit."""
    found = rg.grad(fun)(at, 1.4)
    np.testing.assert_allclose(found, slope(1.4), rtol=1e-12)


def test_a_branch_may_hold_one_of_several_results() -> None:
    def largest(x: Any) -> Any:
        u = x[0] - 2
        return np.where(u == 0, 1.0, u + np.linalg.eigh(np.diag(x))[0][-1])

    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        assert rg.stabilize(largest)(np.array([2.0, 0.0, 1.0])) == 1
        np.testing.assert_array_equal(rg.grad(largest)(np.array([3.0, 4.0, 1.0])), [1, 1, 0])


def test_nothing_is_near_an_integer() -> None:
    """where(n == 0, 1, sin(n)/n) stands for an integer n, also where n is computed."""

    def f(x: Any) -> Any:
        n = np.argmax(x, 0)
        return np.median(np.where(n > 0, np.log(np.where(n > 0, n, 1)), 0.0)) + np.sum(
            np.where(n == 0, 1.0, np.sin(n) / np.where(n == 0, 1, n)) * x
        )

    x = np.array([[0.9, 1.1], [0.2, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-14)
        np.testing.assert_allclose(rg.grad(f)(x), np.ones((2, 1)) * [1.0, np.sin(1.0)], rtol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "fun",
    [
        lambda c, x: np.where((x == x) & (c != 0), np.log1p(c * x) / c, x),
        lambda c, x: np.where(np.logical_and(c != 0, x > -9), np.log1p(c * x) / c, x),
        lambda c, x: np.where((c == 0) | (x != x), x, np.log1p(c * x) / c),
    ],
)
def test_a_point_may_stand_beside_another_condition(fun: Callable[..., Any]) -> None:
    x = np.array([0.1, 0.5, 0.0])
    for c in (0.0, 1e-200, -1e-9):
        assert rg.grad(lambda c: np.sum(fun(c, x)))(c) == pytest.approx(-np.sum(x**2) / 2, rel=2e-9)
    assert np.isnan(rg.stabilize(fun)(0.5, np.nan)) == np.isnan(fun(0.5, np.nan))


def test_another_condition_that_leaves_the_point_open_stays() -> None:
    f = rg.stabilize(lambda c, x: np.where((c != 0) & (x < 1), np.log1p(c * x) / c, x))
    assert f(0.5, 2.0) == 2.0
    assert f(0.5, 0.5) == pytest.approx(np.log1p(0.25) / 0.5, rel=1e-15)
    other = rg.stabilize(lambda c, x: np.where((c == 0) & (x == 3), 7.0, np.cos(c) * x))
    assert other(0.0, 3.0) == 7.0
    assert other(0.0, 2.0) == 2.0


IMPUTED: dict[str, Callable[[Any], Any]] = {
    "the mean for 0": lambda x: np.where(x == 0, np.mean(x), x),
    "the sum for 0": lambda x: np.where(x != 0, np.sin(x), np.sum(x)),
    "the largest for 0": lambda x: np.where(x == 0, np.max(x), np.expm1(x)),
    "a length for 0": lambda x: np.where(np.abs(x) > 0, x, np.linalg.norm(x)),
    "a product for 1": lambda x: np.where(x == 1, np.prod(x), x),
    "a running product for 1": lambda x: np.where(x == 1, np.cumprod(x)[::-1], x),
    "a neighbour for 0": lambda x: np.where(x == 0, x[::-1], x),
    "the sum beside a limit": lambda x: np.where(x == 0, np.sum(x) + 1, np.sin(x) / np.where(x == 0, 1.0, x)),
    "the sum in the other branch": lambda x: np.where(x == 0, 0.0, x + np.sum(x)),
    "another row for a row of zeros": lambda x: np.where(
        np.linalg.norm(x.reshape(-1, 1), axis=1, keepdims=True) == 0, np.mean(x), x.reshape(-1, 1)
    ),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", IMPUTED)
def test_an_entry_at_the_point_leaves_the_others_anywhere(name: str, strategy: str) -> None:
    """where(x == 0, mean(x), x) ≠ x, though the mean of zeros is 0."""
    f = IMPUTED[name]
    g = rg.stabilize(f, strategy=strategy, validate=False)
    for x in ([0.0, 1.0, 2.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, -3.0], [1.0, 0.0, 1.0]):
        np.testing.assert_allclose(g(np.array(x)), f(np.array(x)), rtol=1e-15, err_msg=str(x))


def test_a_limit_holds_wherever_the_other_entries_are() -> None:
    """where(x == 0, 0, (x·x)·x) = (x·x)·x, whose slope at an entry that is 0 is x·x."""
    x = np.array([0.0, 1.0, 2.0])
    for f in (
        lambda x: np.where(x == 0, 0.0, (x @ x) * x),
        lambda x: np.where(x == 0, np.maximum(x, 0), (x @ x) * x),
    ):
        found = rg.jacobian(f)(x)
        np.testing.assert_allclose(found, (x @ x) * np.eye(3) + 2 * np.outer(x, x), rtol=1e-15)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,), ()])
def test_a_number_meets_entries_of_an_array(shape: tuple[int, ...]) -> None:
    """where(a == b, b, a) = a, and the logarithmic mean of b and of entries that are b has both slopes 1/2."""
    a = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
    ones, zero = rg.grad(lambda a, b: np.sum(np.where(a == b, b, a)), (0, 1))(a, 1.0)
    np.testing.assert_array_equal(ones, np.ones(shape))
    assert zero == 0
    for apart in (lambda a, b: a == b, lambda a, b: b == a, lambda a, b: a - b == 0):
        mean = lambda a, b, apart=apart: np.where(apart(a, b), b, (a - b) / (np.log(a) - np.log(b)))
        for b in (1.0, float(a.size)):
            slopes = [rg.jvp(mean, (a, b), moved)[1] for moved in ((np.ones(shape), 0.0), (0 * a, 1.0))]
            np.testing.assert_allclose([s[a == b] for s in slopes], 0.5, rtol=1e-14)


def _above_and_below(x: Any) -> Any:
    if x < 1:
        return np.arctanh(np.sqrt(1 - x)) / np.sqrt(1 - x)
    if x > 1:
        return np.arctan(np.sqrt(x - 1)) / np.sqrt(x - 1)
    return 1.0


def _within_and_without(x: Any) -> Any:
    if x <= 1 and x >= 1:
        return 1.0
    return np.log(x) / (x - 1)


@pytest.mark.parametrize(
    ("fun", "slope"), [(_above_and_below, -1 / 3), (_within_and_without, -1 / 2)], ids=["of all", "of both"]
)
def test_a_point_that_is_neither_above_nor_below(fun: Callable[[Any], Any], slope: float) -> None:
    """x < 1: False, x > 1: False: the branch that is left is at one point, where the others have a slope."""
    assert rg.grad(fun, precise=False)(1.0) == pytest.approx(slope, rel=1e-14)
    assert rg.grad(fun)(1 + 1e-9) == pytest.approx(slope, rel=1e-7)


def test_a_kink_that_is_neither_above_nor_below_stays() -> None:
    """x < 0: −x, x > 0: 2·x, 0 between: its slope at 0 is that of the branch that Python takes."""

    def kinked(x: Any) -> Any:
        if x < 0:
            return -x
        if x > 0:
            return 2 * x
        return 0.0 * x

    assert [rg.grad(kinked)(x) for x in (-1.0, 0.0, 1.0)] == [-1.0, 0.0, 2.0]
