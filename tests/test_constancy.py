"""Entries that are constant whatever the arguments are: nothing flows through them, however steep the function is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.constancy import where_moving
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.term import term
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
WEIGHTS = np.arange(1.0, 10).reshape(3, 3)
CONSTANT: dict[str, Callable[[Any], Any]] = {
    "less the largest": lambda x: np.cbrt(x - x.max()),
    "the largest less": lambda x: np.sqrt(np.max(x, keepdims=True) - x),
    "over the largest": lambda x: np.arccos(x / x.max()),
    "over the smallest": lambda x: np.arccosh(x / np.min(x)),
    "less the first": lambda x: np.cbrt(x - x[0]),
    "pairs": lambda x: WEIGHTS * np.cbrt(x[:, None] - x),
    "products": lambda x: np.sqrt(np.abs(x * np.exp(x) - x[0] * np.exp(x[0]))),
    "squares": lambda x: np.sqrt(np.abs(x * x - x[1] * x[1])),
    "rows": lambda x: np.sqrt(np.outer(x, x**2) - np.min(np.outer(x, x**2), axis=1, keepdims=True)),
    "logarithms": lambda x: np.sqrt(np.log(x) - np.log(x.min())),
    "of a share": lambda x: np.sqrt(1 - x / x.max()),
    "min-max": lambda x: ((x - x.min()) / (x.max() - x.min())) ** 0.5,
    "of min-max": lambda x: np.arcsin((x - x.min()) / np.ptp(x)),
    "ordered": lambda x: np.sqrt(np.sort(x) - np.sort(x)[0]),
    "sigmoid": lambda x: np.cbrt((1 - np.exp(x - x.max())) / (1 + np.exp(x - x.max()))),
    "weighted": lambda x: np.cbrt((x - x.max()) * np.sin(x)) * WEIGHTS[1],
}


BESIDE_THEIR_LARGEST: dict[str, Callable[[Any], Any]] = {
    "shifted": lambda x: (t := x + np.max(x, axis=-1, keepdims=True)) - np.max(t, axis=-1, keepdims=True),
    "weighted": lambda x: np.log((p := x**2 * np.exp(-(x**2) / 2)) / np.max(p, axis=-1, keepdims=True)),
    "shares": lambda x: np.log(
        (p := np.abs(x) * np.exp(x) / np.sum(np.abs(x) * np.exp(x), axis=-1, keepdims=True))
        / np.max(p, axis=-1, keepdims=True)
    ),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", BESIDE_THEIR_LARGEST)
def test_entries_less_their_largest_are_never_above_zero(name: str, strategy: str):
    f = BESIDE_THEIR_LARGEST[name]
    x = np.round(np.random.default_rng(0).normal(size=(40, 5)), 2)
    np.testing.assert_array_equal(rg.stabilize(lambda x: f(x) >= 0, strategy=strategy)(x), f(x) >= 0)
    root = rg.stabilize(lambda x: np.sqrt(-f(x)), strategy=strategy)(x)
    np.testing.assert_allclose(root, np.sqrt(-f(x)), rtol=1e-6, atol=1e-7)


def slopes(f: Callable[[Any], Any], x: Any) -> Any:
    h = 1e-6
    return np.array([(np.sum(f(x + h * e)) - np.sum(f(x - h * e))) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CONSTANT)
def test_derivatives_through_constant_entries_are_those_of_the_others(name: str):
    f, x = CONSTANT[name], np.array([1.0, 2.0, 0.5])
    want = slopes(f, x)
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(f(x)))(x), want, rtol=1e-6, atol=1e-6)
    t = np.array([0.5, -1.0, 2.0])
    assert rg.jvp(lambda x: np.sum(f(x)), (x,), (t,))[1] == pytest.approx(want @ t, rel=1e-6, abs=1e-6)


def test_second_derivatives_are_differences_of_the_first():
    x = np.array([1.0, 2.0, 0.5])
    for name in ("less the largest", "over the largest", "min-max", "pairs"):
        slope = rg.grad(lambda x, f=CONSTANT[name]: np.sum(WEIGHTS[0] * f(x)))
        want = np.array([(slope(x + 1e-6 * e) - slope(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)])
        found = rg.hessian(lambda x, f=CONSTANT[name]: np.sum(WEIGHTS[0] * f(x)))(x)
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_entries_that_tie_are_not_constant():
    x = np.array([2.0, 2.0, 1.0])
    assert not np.isfinite(rg.grad(lambda x: np.sum(np.sqrt(x.max() - x)))(x)[:2]).any()
    w = np.array([1.0, 5.0, 2.0])
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(w * (x - x.max())))(x), [-3, 1, 2])


def test_what_is_finite_everywhere_is_left_as_it_is():
    x = Tracer(term(Input("x", array_type(np.dtype(float), (3,)))))
    difference = as_term(x - np.max(x))
    assert where_moving(difference, as_term(np.exp(x))) is as_term(np.exp(x))
    pole = as_term(1 / (x - np.max(x)))
    assert where_moving(difference, pole) is not pole
    assert where_moving(as_term(x - np.max(x**2)), pole) is pole


COSTS = np.array([np.inf, 1.0, 2.0])
INFINITE: dict[str, Callable[[Any], Any]] = {
    "masked": lambda t: np.sum(np.exp(-COSTS / t)),
    "soft minimum": lambda t: -t * np.log(np.sum(np.exp(-COSTS / t))),
    "of numbers": lambda t: -t * np.log(np.exp(-1 / t) + np.exp(-np.inf / t) + np.exp(-2 / t)),
    "with what moves": lambda t: -t * np.log(np.sum(np.exp(-np.array([t, np.inf, t * t]) / t))),
    "products": lambda t: np.sum(np.tanh(t) * np.exp(-COSTS * t)),
}


def borders(t: Any) -> Any:
    """Return a soft distance between two series, by rows and columns that begin at infinity."""
    x, y = np.array([0.3, -1.0, 0.5]), np.array([0.1, 0.9])
    r = np.full((4, 3), np.inf)
    r[0, 0] = 0.0
    for i in range(3):
        for j in range(2):
            z = np.array([r[i, j], r[i, j + 1], r[i + 1, j]])
            r[i + 1, j + 1] = (x[i] - y[j]) ** 2 - t * np.log(np.sum(np.exp(-z / t)))
    return r[3, 2]


@pytest.mark.parametrize("strategy", ["default", "naive"])
@pytest.mark.parametrize("name", [*INFINITE, "borders"])
def test_nothing_flows_through_entries_that_are_infinite(name: str, strategy: str):
    f = borders if name == "borders" else INFINITE[name]
    want = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    assert rg.grad(f, strategy=strategy)(0.7) == pytest.approx(want, rel=1e-7)


def test_what_flows_to_infinite_entries_is_infinite():
    assert rg.grad(lambda t: np.sum(COSTS * t))(0.7) == np.inf


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.exp(np.std(x[:1]) * x) + x**3,
        lambda x: np.sqrt(np.log(x) - np.log(x)) * x + x**3,
        lambda x: np.cbrt(x - x) + np.sqrt(np.square(x - np.mean(x[:, None], axis=1))) + x**3,
        lambda x: np.arccos(x / x) * x + x**3,
        lambda x: np.std(np.sum(x * np.log(x / x), keepdims=True) * x) * x + x**3,
        lambda x: np.linalg.norm(np.cumsum(x - x)) * x + x**3,
        lambda x: np.std(np.stack([x**2, x**2], -1).sum(axis=0)) * x + x**3,
        lambda x: np.std(np.exp(np.broadcast_to(x, (3, 2))), axis=0) * x + x**3,
        lambda x: np.std(np.exp(x)[[1, 1, 1]] ** 2) * x + x**3,
        lambda x: np.std(np.repeat(x[None], 3, axis=0).T, axis=1) * x + x**3,
    ],
)
def test_nothing_flows_through_what_is_constant_at_any_order(f, strategy):
    x = np.array([0.5, 2.0])
    first = rg.grad(lambda x: np.sum(f(x)), strategy=strategy)
    second = rg.grad(lambda x: np.sum(first(x)), strategy=strategy)
    third = rg.grad(lambda x: np.sum(second(x)), strategy=strategy)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(first(x), 3 * x**2, rtol=1e-14)
        np.testing.assert_allclose(second(x), 6 * x, rtol=1e-14)
        np.testing.assert_allclose(third(x), [6, 6], rtol=1e-14)


KINKS = {
    "clipped": lambda x: np.cbrt(x - np.clip(x, -1, 1)),
    "larger": lambda x: np.sqrt(np.maximum(x, -1) - x),
    "chosen": lambda x: np.sqrt(np.where(x > -1, x, -1) - x),
    "quotient": lambda x: np.arccosh(x / np.minimum(x, 1)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
@pytest.mark.parametrize("name", list(KINKS))
def test_nothing_flows_through_the_difference_from_a_choice(name: str, strategy: str):
    slope = rg.grad(lambda x: np.sum(KINKS[name](x)), strategy=strategy)
    curvature = rg.grad(lambda x: np.sum(slope(x)), strategy=strategy)
    x = np.array([0.5, 0.9])
    np.testing.assert_array_equal(slope(x), 0)
    np.testing.assert_array_equal(curvature(x), 0)


@pytest.mark.parametrize("kind", [bool, int, float])
def test_numbers_choose_as_truth_values_do(kind: type):
    mask = np.array([0, 2, 1]).astype(kind)
    slope = rg.grad(lambda x, mask: np.sum(np.cbrt(np.where(mask, x, 1.0) - x)))(
        np.array([0.5, 2.0, 3.0]), mask
    )
    np.testing.assert_allclose(slope, [-(0.5 ** (-2 / 3)) / 3, 0, 0], rtol=1e-14)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_what_ties_with_a_choice_is_not_constant(strategy: str):
    slope = rg.grad(lambda x: np.sum((x - np.clip(x, -1, 1)) ** 3 + x * np.clip(x, -1, 1)), strategy=strategy)
    x = np.array([-2.0, -1.0, 0.5, 1.0, 2.0])
    want = [2.0, -1.5, 1.0, 1.5, 4.0]
    np.testing.assert_allclose(slope(x), want)


def test_stacks_of_different_arrays_have_a_standard_deviation():
    slope = rg.grad(lambda x: np.std(np.stack([x, x, 2 * x])), strategy="eager")
    assert slope(3.0) == pytest.approx(np.std([1.0, 1.0, 2.0]), rel=1e-14)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_what_is_differentiated_for_moves_whatever_its_value_is(strategy: str):
    def grad(f):
        return rg.grad(f, strategy=strategy)

    assert grad(lambda a: grad(lambda b: a * b)(0.0))(3.0) == 1
    assert grad(lambda a: a * grad(lambda b: b**2)(a / a))(3.0) == 2
    assert grad(lambda a: grad(lambda b: (a / a) * b)(2.0) * a)(3.0) == 1
    assert grad(lambda a: a * grad(lambda b: np.sum(b * np.array([0.0, 1.0]) * a))(0.0))(2.0) == 4


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_nothing_flows_through_entries_that_a_mask_takes_out(strategy: str):
    mask, x = np.array([0.0, 1.0]), np.array([0.3, 4.0])
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(np.sqrt(mask * x)), strategy=strategy)(x), [0, 0.25])
    np.testing.assert_allclose(rg.grad(lambda x: np.linalg.norm(0 * x) + x[1], strategy=strategy)(x), [0, 1])
