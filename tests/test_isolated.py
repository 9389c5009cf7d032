"""A branch at one point that gives the limit of the other is no branch: where(u == c, f(c), f(u)) = f(u)."""

from __future__ import annotations

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
        (x == 0, Point(x.term, 0.0)),
        (2 * np.abs(x) > 0, Point(x.term, 0.0)),
        (x**2 != 0, Point(x.term, 0.0)),
        (2 * x - 1 == 0, Point(x.term, 0.5)),
        (np.sqrt(np.sum(x * x, keepdims=True)) > 0, Point(x.term, 0.0)),
        (x == y, Point(x.term, y.term)),
    ]:
        found = isolated(as_term(np.where(condition, np.sin(x), np.cos(x))))
        assert found is not None and found.point == point
    for condition in (x > 0, np.abs(x) < 1e-8, np.isnan(x), (x == 0) & (y == 0)):
        assert isolated(as_term(np.where(condition, np.sin(x), np.cos(x)))) is None
