"""Exponentials and logarithms near 0 and 1, and near each other: values and two derivatives are right."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp
from scalar_checks import errors, naive_error, steps

import relgrad as rg

SMALL = {
    "eˣ - 1": lambda m, x: m.exp(x) - 1,
    "1 - e⁻ˣ": lambda m, x: 1 - m.exp(-x),
    "(eˣ - 1)/x": lambda m, x: (m.exp(x) - 1) / x,
    "(1 - e⁻ˣ)/x": lambda m, x: (1 - m.exp(-x)) / x,
    "(e³ˣ - 1)/x": lambda m, x: (m.exp(3 * x) - 1) / x,
    "x/(eˣ - 1)": lambda m, x: x / (m.exp(x) - 1),
    "x/(1 - e⁻ˣ)": lambda m, x: x / (1 - m.exp(-x)),
    "x·eˣ/(eˣ - 1)": lambda m, x: x * m.exp(x) / (m.exp(x) - 1),
    "1 - x/(eˣ - 1)": lambda m, x: 1 - x / (m.exp(x) - 1),
    "eˣ - 1 - x": lambda m, x: m.exp(x) - 1 - x,
    "(eˣ - 1 - x)/x²": lambda m, x: (m.exp(x) - 1 - x) / x**2,
    "eˣ/(eˣ - 1)": lambda m, x: m.exp(x) / (m.exp(x) - 1),
    "1/x - 1/(eˣ - 1)": lambda m, x: 1 / x - 1 / (m.exp(x) - 1),
    "1/(1 - e⁻ˣ) - 1/x": lambda m, x: 1 / (1 - m.exp(-x)) - 1 / x,
    "(e²ˣ - 1)/(eˣ - 1)": lambda m, x: (m.exp(2 * x) - 1) / (m.exp(x) - 1),
    "√((e²ˣ - 1)/(eˣ - 1))": lambda m, x: m.sqrt((m.exp(2 * x) - 1) / (m.exp(x) - 1)),
    "(eˣ - 1)/(e²ˣ - 1)": lambda m, x: (m.exp(x) - 1) / (m.exp(2 * x) - 1),
    "(eˣ - 1)/(eˣ + 1)": lambda m, x: (m.exp(x) - 1) / (m.exp(x) + 1),
    "log(1 + x)": lambda m, x: m.log(1 + x),
    "log(1 + x)/x": lambda m, x: m.log(1 + x) / x,
    "x/log(1 + x)": lambda m, x: x / m.log(1 + x),
    "log(1 + x) - x": lambda m, x: m.log(1 + x) - x,
    "1/log(1 + x) - 1/x": lambda m, x: 1 / m.log(1 + x) - 1 / x,
    "log(1 - x)/log(1 + x)": lambda m, x: m.log(1 - x) / m.log(1 + x),
    "log(1 + x)/log(1 + 2x)": lambda m, x: m.log(1 + x) / m.log(1 + 2 * x),
    "log((1 - x)/(1 + x))": lambda m, x: m.log((1 - x) / (1 + x)),
    "log(1 + x) - log(1 - x)": lambda m, x: m.log(1 + x) - m.log(1 - x),
    "e^sin x - 1": lambda m, x: m.exp(m.sin(x)) - 1,
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SMALL)
def test_near_zero(name):
    points = [1e-9, -2e-5, 0.4]
    assert naive_error(SMALL[name], points) > 8
    assert max(errors(SMALL[name], points)) <= 7


LARGE = {
    "log(n+1) - log n": lambda m, n: m.log(n + 1) - m.log(n),
    "log((n+1)/n)": lambda m, n: m.log((n + 1) / n),
    "log(n/(n+1))": lambda m, n: m.log(n / (n + 1)),
    "log n - log(n-1)": lambda m, n: m.log(n) - m.log(n - 1),
    "log(1 + 1/n)": lambda m, n: m.log(1 + 1 / n),
    "n·log((n+1)/n)": lambda m, n: n * m.log((n + 1) / n),
    "(n+1)·log(n+1) - n·log n - 1": lambda m, n: (n + 1) * m.log(n + 1) - n * m.log(n) - 1,
    "(n+1)^(1/n) - n^(1/n)": lambda m, n: (n + 1) ** (1 / n) - n ** (1 / n),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_neighbours(name):
    assert max(errors(LARGE[name], [1e8, 3e12, 2.5], orders=2)) <= 7


NEAR = {
    "exp": lambda m, x, h: m.exp(x + h) - m.exp(x),
    "exp, factored": lambda m, x, h: m.exp(x) * (m.exp(h) - 1),
    "log": lambda m, x, h: m.log(x + h) - m.log(x),
    "log of a quotient": lambda m, x, h: m.log((x + h) / x),
    "quotient of exponentials": lambda m, x, h: (m.exp(x + h) - m.exp(x)) / h,
}


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("wrt", [0, 1])
def test_differences_of_near_values(name, wrt):
    x, h = [0.5, 2.0, 7.0], [1e-9, -1e-12, 1e-7]
    assert max(errors(NEAR[name], x, h, wrt=wrt, orders=2)) <= 5


COMPLEMENTS = {
    "of a mixture": lambda m, x, y: 1 - (m.exp(-x) + (1 - m.exp(-x)) * m.exp(-y)),
    "of a mixture of logistics": lambda m, x, y: (
        1 - (1 / (1 + m.exp(x)) + (1 - 1 / (1 + m.exp(x))) / (1 + m.exp(-y)))
    ),
    "of two channels": lambda m, x, y: (
        1 - ((1 - m.exp(-x)) / (1 + m.exp(-y)) + m.exp(-x) * (1 - 1 / (1 + m.exp(-y))))
    ),
    "of a logistic, beside another": lambda m, x, y: m.exp(-y) / (1 + m.exp(-x)) + (1 - 1 / (1 + m.exp(-x))),
    "of a square": lambda m, x, y: 1 - m.exp(-x) - (1 - m.exp(-x)) ** 2,
    "of a product of complements": lambda m, x, y: 1 - (1 - m.exp(-x)) * (1 - m.exp(-y)),
    "of a copula": lambda m, x, y: 1 - m.exp(-x - y) - (1 - m.exp(-x)) * (1 - m.exp(-y)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", COMPLEMENTS)
def test_complements_of_complements_are_no_differences_of_what_is_near_one(name, log):
    f = COMPLEMENTS[name]
    if log:
        f = lambda m, x, y: m.log(COMPLEMENTS[name](m, x, y))
    x, y = [40.0, 1e-9, 30.0], [45.0, 2e-9, 31.0]
    assert naive_error(f, x, y) > 30
    assert max(errors(f, x, y, orders=2)) <= 11


RESIDUALS = {
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), lambda x: sp.expit(x), lambda x: -sp.expit(-x)),
    "normal": (lambda x: sp.ndtr(x / 20), lambda x: sp.ndtr(x / 20), lambda x: -sp.ndtr(-x / 20)),
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_a_share_less_its_label_is_what_it_lacks(name):
    share, of_zero, of_one = RESIDUALS[name]
    x, y = np.array([700.0, 45.0, 0.3, -0.3, -45.0]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    expected = np.where(y == 1, of_one(x), of_zero(x))
    for how in ({"precise": False}, {}):
        found = rg.stabilize(lambda x, y: 3 * y - 3 * share(x), **how)(x, y)
        np.testing.assert_allclose(found, -3 * expected, rtol=1e-14)
    logits = np.stack([x, 0 * x], axis=1)
    found = rg.stabilize(lambda z, y: np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True) - y, precise=False)
    np.testing.assert_allclose(
        found(logits, np.stack([y, 1 - y], axis=1))[:, 0],
        np.where(y == 1, -sp.expit(-x), sp.expit(x)),
        rtol=1e-13,
    )
    # Where labels are none, nothing is lost.
    smooth = np.array([0.7, 0.2, 0.5, 0.9, 2.0])
    np.testing.assert_allclose(
        rg.stabilize(lambda x, y: share(x) - y)(x, smooth), of_zero(x) - smooth, rtol=1e-14
    )


def test_logarithms_of_independent_numbers_that_are_close():
    x = np.array([1.0, 3e5, 1e-300])
    y = x * (1 + 2.0**-40)
    f = lambda m, x, y: m.log(x) - m.log(y)
    assert naive_error(f, x, y) > 30
    assert errors(f, x, y, orders=1)[0] <= 1
    assert errors(lambda m, x, y: m.log(x) - m.log(y), x, y, wrt=1, orders=2)[1] <= 1


def test_logarithms_at_the_ends():
    x, y = np.array([0.0, 1.0, np.inf, 1e300, 1e-300]), np.array([1.0, 0.0, 1.0, 1e-300, 1e300])
    with np.errstate(all="ignore"):
        expected = np.log(x) - np.log(y)
        np.testing.assert_allclose(
            rg.stabilize(lambda x, y: np.log(x) - np.log(y))(x, y), expected, rtol=1e-15
        )


@pytest.mark.parametrize("x", [400.0, 700.0, -400.0, -700.0])
def test_quotients_do_not_overflow_before_they_must(x):
    for f in (
        lambda m, x: (m.exp(x) - 1) / x,
        lambda m, x: x / (m.exp(x) - 1),
        lambda m, x: m.exp(x) / (m.exp(x) - 1),
    ):
        assert max(errors(f, [x], orders=2)) <= 10


def test_what_is_the_same_cancels():
    x = np.zeros(3)
    assert rg.stabilize(lambda x: x / x)(x).tolist() == [1, 1, 1]
    assert rg.stabilize(lambda x: (x * x - x) / x)(x).tolist() == [-1, -1, -1]
    assert rg.grad(lambda x: np.sum(x**2 / x))(x).tolist() == [1, 1, 1]


ORDINARY = {
    "eˣ - 2": lambda m, x: m.exp(x) - 2,
    "eˣ + 1": lambda m, x: m.exp(x) + 1,
    "log(2 + x)": lambda m, x: m.log(2 + x),
    "log(x)·x²": lambda m, x: m.log(x) / (x + 2),
    "eˣ/x": lambda m, x: m.exp(x) / x,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_is_right_already_is_left_alone(name):
    assert steps(ORDINARY[name], [0.5, 2.0]) == []
