"""Hyperbolic functions: written in exponentials or by name, values and two derivatives are right everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from scalar_checks import errors, naive_error, steps

import relgrad as rg

TANH = {
    "quotient of sums": lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)),
    "halves": lambda m, x: ((m.exp(x) - m.exp(-x)) / 2) / ((m.exp(x) + m.exp(-x)) / 2),
    "doubled": lambda m, x: (m.exp(2 * x) - 1) / (m.exp(2 * x) + 1),
    "doubled and turned": lambda m, x: (1 - m.exp(-2 * x)) / (1 + m.exp(-2 * x)),
    "one less a share": lambda m, x: 1 - 2 / (1 + m.exp(2 * x)),
    "a share less one": lambda m, x: 2 / (1 + m.exp(-2 * x)) - 1,
    "reciprocals": lambda m, x: (m.exp(x) - 1 / m.exp(x)) / (m.exp(x) + 1 / m.exp(x)),
    "squares": lambda m, x: (m.exp(x) ** 2 - 1) / (m.exp(x) ** 2 + 1),
    "by name": lambda m, x: m.sinh(x) / m.cosh(x),
    "negated": lambda m, x: -(m.exp(-x) - m.exp(x)) / (m.exp(-x) + m.exp(x)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TANH)
def test_tanh_written_by_hand(name):
    assert max(errors(TANH[name], [300.0, -300.0, 3.0, 0.25, -1e-6])) <= 4
    with np.errstate(over="ignore"):
        x = np.array([800.0, -800.0])
        assert rg.stabilize(lambda x: TANH[name](np, x))(x).tolist() == [1, -1]
        assert rg.grad(lambda x: np.sum(TANH[name](np, x)))(x).tolist() == [0, 0]


TAILS = {
    "1 - tanh": lambda m, x: 1 - m.tanh(x),
    "tanh - 1": lambda m, x: m.tanh(x) - 1,
    "half": lambda m, x: 0.5 - 0.5 * m.tanh(x),
    "written out": lambda m, x: 1 - (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)),
    "1 - tanh²": lambda m, x: 1 - m.tanh(x) ** 2,
    "1 - tanh·tanh": lambda m, x: 1 - m.tanh(x) * m.tanh(x),
    "product": lambda m, x: (1 - m.tanh(x)) * (1 + m.tanh(x)),
    "1/cosh²": lambda m, x: 1 / m.cosh(x) ** 2,
    "4/(eˣ + e⁻ˣ)²": lambda m, x: 4 / (m.exp(x) + m.exp(-x)) ** 2,
    "coth - 1": lambda m, x: 1 / m.tanh(x) - 1,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TAILS)
def test_tails(name):
    assert max(errors(TAILS[name], [0.5, 15.0, 20.0, 150.0])) <= 5


LOGS = {
    "log cosh": lambda m, x: m.log(m.cosh(x)),
    "mean": lambda m, x: m.log((m.exp(x) + m.exp(-x)) / 2),
    "half": lambda m, x: m.log(0.5 * (m.exp(x) + m.exp(-x))),
    "halves": lambda m, x: m.log(0.5 * m.exp(x) + 0.5 * m.exp(-x)),
    "reciprocal": lambda m, x: -m.log(1 / m.cosh(x)),
    "log(1 - tanh²)": lambda m, x: m.log(1 - m.tanh(x) ** 2),
    "log of a product": lambda m, x: m.log((1 - m.tanh(x)) * (1 + m.tanh(x))),
    "log1p": lambda m, x: m.log1p(-(m.tanh(x) ** 2)),
}


TANGENTS = {
    "log tanh": lambda m, x: m.log(m.tanh(x)),
    "log(cosh/sinh)": lambda m, x: m.log(m.cosh(x) / m.sinh(x)),
    "quotient of sums": lambda m, x: m.log((m.exp(x) + m.exp(-x)) / (m.exp(x) - m.exp(-x))),
    "log(tanh²)": lambda m, x: m.log(m.tanh(x) ** 2),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TANGENTS)
def test_logarithms_of_what_is_nearly_one(name):
    assert max(errors(TANGENTS[name], [1e-9, 0.3, 2.0, 30.0, 150.0])) <= 7


@pytest.mark.parametrize("name", LOGS)
def test_logarithms(name):
    assert max(errors(LOGS[name], [2.0, -30.0, 0.5, 400.0], orders=2)) <= 4


SMALL = {
    "log cosh": lambda m, x: m.log(m.cosh(x)),
    "sinh": lambda m, x: (m.exp(x) - m.exp(-x)) / 2,
    "sinh as halves": lambda m, x: 0.5 * m.exp(x) - 0.5 * m.exp(-x),
    "cosh - 1": lambda m, x: m.cosh(x) - 1,
    "(eˣ + e⁻ˣ)/2 - 1": lambda m, x: (m.exp(x) + m.exp(-x)) / 2 - 1,
    "eˣ - 2 + e⁻ˣ": lambda m, x: m.exp(x) - 2 + m.exp(-x),
    "1 - sech": lambda m, x: 1 - 1 / m.cosh(x),
    "cosh² - 1": lambda m, x: m.cosh(x) ** 2 - 1,
    "sinh x - x": lambda m, x: m.sinh(x) - x,
    "x - tanh x": lambda m, x: x - m.tanh(x),
    "x - arcsinh x": lambda m, x: x - m.arcsinh(x),
    "arctanh x - x": lambda m, x: m.arctanh(x) - x,
    "(cosh x - 1)/x²": lambda m, x: (m.cosh(x) - 1) / x**2,
    "sinh(x)/x": lambda m, x: m.sinh(x) / x,
    "x/sinh x": lambda m, x: x / m.sinh(x),
    "tanh(x)/x": lambda m, x: m.tanh(x) / x,
    "x/tanh x": lambda m, x: x / m.tanh(x),
    "coth x - 1/x": lambda m, x: 1 / m.tanh(x) - 1 / x,
    "cosh x/sinh x - 1/x": lambda m, x: m.cosh(x) / m.sinh(x) - 1 / x,
    "arcsinh(x)/x": lambda m, x: m.arcsinh(x) / x,
    "arctanh(x)/x": lambda m, x: m.arctanh(x) / x,
    "(sinh x - x)/x³": lambda m, x: (m.sinh(x) - x) / x**3,
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SMALL)
def test_near_zero(name):
    assert max(errors(SMALL[name], [1e-9, -2e-5, 0.3, 0.7])) <= 7


INVERSE = {
    "arcsinh": (lambda m, x: m.log(x + m.sqrt(x**2 + 1)), [1e-9, -1e5, 3.0, 1e200]),
    "arccosh": (lambda m, x: m.log(x + m.sqrt(x * x - 1)), [1 + 1e-12, 3.0, 1e200]),
    "arccosh(1 + x)": (lambda m, x: m.arccosh(1 + x), [1e-20, 1e-9, 3.0]),
    "arctanh": (lambda m, x: 0.5 * m.log((1 + x) / (1 - x)), [1e-12, -1e-5, 0.5]),
    "arctanh, two logs": (lambda m, x: 0.5 * (m.log(1 + x) - m.log(1 - x)), [1e-12, -1e-5, 0.5]),
}


@pytest.mark.parametrize("name", INVERSE)
def test_inverse_functions_written_by_hand(name):
    f, points = INVERSE[name]
    assert naive_error(f, points) > 20
    assert max(errors(f, points, orders=2)) <= 4


DIFFERENCES = {
    "tanh": lambda m, x, h: m.tanh(x + h) - m.tanh(x),
    "sinh": lambda m, x, h: m.sinh(x + h) - m.sinh(x),
    "cosh": lambda m, x, h: m.cosh(x + h) - m.cosh(x),
    "logistic": lambda m, x, h: 1 / (1 + m.exp(-x - h)) - 1 / (1 + m.exp(-x)),
}


@pytest.mark.parametrize("name", DIFFERENCES)
@pytest.mark.parametrize("wrt", [0, 1])
def test_differences_of_near_values(name, wrt):
    x, h = [0.5, 2.0, -1.5], [1e-9, -1e-12, 1e-7]
    assert naive_error(DIFFERENCES[name], x, h) > 20
    assert max(errors(DIFFERENCES[name], x, h, wrt=wrt, orders=2)) <= 5


def test_an_epsilon_stays():
    f = lambda m, x: m.log(1 - m.tanh(x) ** 2 + 1e-6)
    assert max(errors(f, [20.0, -6.0, 0.5])) <= 5
    assert "one_minus_square_of_hyperbolic_tangent" in steps(f, [20.0])


ORDINARY = {
    "2 - tanh x": lambda m, x: 2 - m.tanh(x),
    "3·tanh x": lambda m, x: 3 * m.tanh(x),
    "cosh x + 1": lambda m, x: m.cosh(x) + 1,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_is_right_already_is_left_alone(name):
    assert steps(ORDINARY[name], [0.5, 2.0]) == []


@pytest.mark.parametrize("x", [1e72, -1e72, 800.0, -800.0, 1e-9, 2.0])
def test_a_divisor_that_stands_twice_meets_an_exponential(x):
    """eˣ/(eˣ − 1)² = −1/((eˣ − 1)·(e⁻ˣ − 1)), which is 0 far from 0, where the quotient is ∞/∞."""
    slope = rg.grad(lambda x: np.exp(x) / (np.exp(x) - 1))
    expected = 0.0 if abs(x) > 1e3 else -((2 * np.sinh(x / 2)) ** -2.0)
    np.testing.assert_allclose(slope(x), expected, rtol=1e-13)
