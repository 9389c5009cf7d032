"""Circular functions: what cancels near zero, differences of near values, limits at zero itself."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scalar_checks import errors, naive_error, steps

import relgrad as rg

SMALL = {
    "1 - cos x": lambda m, x: 1 - m.cos(x),
    "cos x - 1": lambda m, x: m.cos(x) - 1,
    "(1 - cos x)/2": lambda m, x: (1 - m.cos(x)) / 2,
    "2 - 2·cos x": lambda m, x: 2 - 2 * m.cos(x),
    "1 - cos 2x": lambda m, x: 1 - m.cos(2 * x),
    "1 - cos²x": lambda m, x: 1 - m.cos(x) ** 2,
    "(1 - cos x)/x": lambda m, x: (1 - m.cos(x)) / x,
    "(1 - cos x)/x²": lambda m, x: (1 - m.cos(x)) / x**2,
    "(1 - cos x)/x/x": lambda m, x: (1 - m.cos(x)) / x / x,
    "(1 - cos x)/(x·x)": lambda m, x: (1 - m.cos(x)) / (x * x),
    "(1 - cos x)/sin x": lambda m, x: (1 - m.cos(x)) / m.sin(x),
    "(1 - cos x)/sin²x": lambda m, x: (1 - m.cos(x)) / m.sin(x) ** 2,
    "sin x/(1 + cos x)": lambda m, x: m.sin(x) / (1 + m.cos(x)),
    "1/sin x - 1/tan x": lambda m, x: 1 / m.sin(x) - 1 / m.tan(x),
    "1/sin x - cos x/sin x": lambda m, x: 1 / m.sin(x) - m.cos(x) / m.sin(x),
    "1/cos x - 1": lambda m, x: 1 / m.cos(x) - 1,
    "tan x - sin x": lambda m, x: m.tan(x) - m.sin(x),
    "tan x - x": lambda m, x: m.tan(x) - x,
    "x - sin x": lambda m, x: x - m.sin(x),
    "x - arctan x": lambda m, x: x - m.arctan(x),
    "arcsin x - x": lambda m, x: m.arcsin(x) - x,
    "(x - sin x)/x³": lambda m, x: (x - m.sin(x)) / x**3,
    "(tan x - x)/x³": lambda m, x: (m.tan(x) - x) / x**3,
    "(x - sin x)/(x - tan x)": lambda m, x: (x - m.sin(x)) / (x - m.tan(x)),
    "1/x - 1/tan x": lambda m, x: 1 / x - 1 / m.tan(x),
    "1/x - cos x/sin x": lambda m, x: 1 / x - m.cos(x) / m.sin(x),
    "1/sin x - 1/x": lambda m, x: 1 / m.sin(x) - 1 / x,
    "1/sin²x - 1/x²": lambda m, x: 1 / m.sin(x) ** 2 - 1 / x**2,
    "sin(x)/x": lambda m, x: m.sin(x) / x,
    "sin(3x)/x": lambda m, x: m.sin(3 * x) / x,
    "(sin(x)/x)²": lambda m, x: (m.sin(x) / x) ** 2,
    "x/sin x": lambda m, x: x / m.sin(x),
    "tan(x)/x": lambda m, x: m.tan(x) / x,
    "x/tan x": lambda m, x: x / m.tan(x),
    "arctan(x)/x": lambda m, x: m.arctan(x) / x,
    "arcsin(x)/x": lambda m, x: m.arcsin(x) / x,
    "1 - sin(x)/x": lambda m, x: 1 - m.sin(x) / x,
    "sin(x)/x - cos x": lambda m, x: m.sin(x) / x - m.cos(x),
    "(sin x - x·cos x)/x²": lambda m, x: (m.sin(x) - x * m.cos(x)) / x**2,
    "log cos x": lambda m, x: m.log(m.cos(x)),
    "cos x - cos 2x": lambda m, x: m.cos(x) - m.cos(2 * x),
    "sin 2x - 2·sin x": lambda m, x: m.sin(2 * x) - 2 * m.sin(x),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SMALL)
def test_near_zero(name):
    assert max(errors(SMALL[name], [1e-9, -2e-5, 0.3, 0.9])) <= 7


LIMITS = {
    "sin(x)/x": (lambda x: np.sin(x) / x, [1, 0, -1 / 3]),
    "sin(2x)/x": (lambda x: np.sin(2 * x) / x, [2, 0, -8 / 3]),
    "tan(x)/x": (lambda x: np.tan(x) / x, [1, 0, 2 / 3]),
    "x/sin x": (lambda x: x / np.sin(x), [1, 0, 1 / 3]),
    "(1 - cos x)/x²": (lambda x: (1 - np.cos(x)) / x**2, [1 / 2, 0, -1 / 12]),
    "(1 - cos x)/sin x": (lambda x: (1 - np.cos(x)) / np.sin(x), [0, 1 / 2, 0]),
    "(x - sin x)/x³": (lambda x: (x - np.sin(x)) / x**3, [1 / 6, 0, -1 / 60]),
    "1/x - 1/tan x": (lambda x: 1 / x - 1 / np.tan(x), [0, 1 / 3, 0]),
    "(x - sin x)/(x - tan x)": (lambda x: (x - np.sin(x)) / (x - np.tan(x)), [-1 / 2, 0, 9 / 20]),
    "arctan(x)/x": (lambda x: np.arctan(x) / x, [1, 0, -2 / 3]),
    "sinh(x)/x": (lambda x: np.sinh(x) / x, [1, 0, 1 / 3]),
    "coth x - 1/x": (lambda x: 1 / np.tanh(x) - 1 / x, [0, 1 / 3, 0]),
    "(eˣ - 1)/x": (lambda x: (np.exp(x) - 1) / x, [1, 1 / 2, 1 / 3]),
    "x/(eˣ - 1)": (lambda x: x / (np.exp(x) - 1), [1, -1 / 2, 1 / 6]),
    "log(1 + x)/x": (lambda x: np.log(1 + x) / x, [1, -1 / 2, 2 / 3]),
    "1/x - 1/(eˣ - 1)": (lambda x: 1 / x - 1 / (np.exp(x) - 1), [1 / 2, -1 / 12, 0]),
    "(√(1+x) - 1)/x": (lambda x: (np.sqrt(1 + x) - 1) / x, [1 / 2, -1 / 8, 1 / 8]),
    "((1+x)¹⁰ - 1)/x": (lambda x: ((1 + x) ** 10 - 1) / x, [10, 45, 240]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LIMITS)
def test_at_zero_itself(name):
    f, expected = LIMITS[name]
    x = np.zeros(2)
    g = rg.grad(lambda x: np.sum(f(x)))
    with np.errstate(all="ignore"):
        found = [rg.stabilize(f)(x), g(x), rg.grad(lambda x: np.sum(g(x)))(x)]
        assert not np.isfinite(f(x)).any()
    np.testing.assert_allclose(np.array(found).T, [expected, expected], rtol=1e-14, atol=1e-16)


DIFFERENCES = {
    "sin": lambda m, x, h: m.sin(x + h) - m.sin(x),
    "sin, either side": lambda m, x, h: m.sin(x + h) - m.sin(x - h),
    "cos": lambda m, x, h: m.cos(x + h) - m.cos(x),
    "tan": lambda m, x, h: m.tan(x + h) - m.tan(x),
    "arctan": lambda m, x, h: m.arctan(x + h) - m.arctan(x),
    "sin²": lambda m, x, h: m.sin(x + h) ** 2 - m.sin(x) ** 2,
    "addition theorem": lambda m, x, h: m.sin(x + h) * m.cos(x) - m.cos(x + h) * m.sin(x),
    "quotient of sines": lambda m, x, h: (m.sin(x + h) - m.sin(x)) / h,
}


@pytest.mark.parametrize("name", DIFFERENCES)
@pytest.mark.parametrize("wrt", [0, 1])
def test_differences_of_near_values(name, wrt):
    x, h = [0.5, 2.0, -1.25], [1e-9, -1e-12, 1e-7]
    assert naive_error(DIFFERENCES[name], x, h) > 20
    assert max(errors(DIFFERENCES[name], x, h, wrt=wrt, orders=2)) <= 5


def test_inverse_tangents_of_large_neighbours():
    f = lambda m, n: m.arctan(n + 1) - m.arctan(n)
    assert max(errors(f, [1e8, 3e12, 1e150, 2.5], orders=2)) <= 3


def test_far_apart_differences_are_those_of_the_values():
    x, y = np.array([1e10, 3.0, -700.0]), np.array([1.0, -40.0, 1e15])
    for f in (np.sin, np.cos, np.tan, np.arctan):
        np.testing.assert_allclose(rg.stabilize(lambda x, y, f=f: f(x) - f(y))(x, y), f(x) - f(y), rtol=1e-13)


def test_short_distances_on_the_sphere():
    def distance(m, x, y, z):
        return m.arccos(m.sin(x) * m.sin(y) + m.cos(x) * m.cos(y) * m.cos(z))

    x, y, z = [0.5, 0.25, 1.0], [0.5 + 1e-9, 0.25, 1.0 - 1e-8], [1e-10, 1e-7, 0.5]
    assert naive_error(distance, x, y, z) > 25
    assert errors(distance, x, y, z, orders=1)[0] <= 4


@pytest.mark.parametrize("f", [lambda m, x: m.arccos(1 - x), lambda m, x: m.arccos(1 - x * x)])
def test_angles_near_zero(f):
    assert max(errors(f, [1e-12, 1e-5, 0.5, 1.2], orders=2)) <= 4


ORDINARY = {
    "2 - cos x": lambda m, x: 2 - m.cos(x),
    "sin x + sin 2x": lambda m, x: m.sin(x) + m.sin(2 * x),
    "x + sin x": lambda m, x: x + m.sin(x),
    "sin(x)·x": lambda m, x: m.sin(x) * x,
    "cos(x)/x": lambda m, x: m.cos(x) / x,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_is_right_already_is_left_alone(name):
    assert steps(ORDINARY[name], [0.5, 2.0]) == []


@pytest.mark.parametrize("gap", [1e-3, 1e-7])
def test_places_that_are_nearly_opposite(gap):
    """20015 km but for gap·cos(0.8), by haversines; and its slope in longitude."""
    height = lambda p, q, d: np.sin((q - p) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin(d / 2) ** 2
    forms = (
        lambda p, q, d: np.arcsin(np.sqrt(height(p, q, d))),
        lambda p, q, d: np.arctan2(np.sqrt(height(p, q, d)), np.sqrt(1 - height(p, q, d))),
    )
    d = np.pi - gap
    rest = np.arcsin(np.cos(0.8) * np.sin((np.pi - d + 1.2246467991473532e-16) / 2))
    for f in forms:
        assert rg.stabilize(f, precise=False)(0.8, -0.8, d) == pytest.approx(np.pi / 2 - rest, rel=1e-15)
        slope = rg.grad(f, argnums=2, precise=False)(0.8, -0.8, d)
        assert slope == pytest.approx(0.5 * np.cos(0.8) * np.cos(gap / 2) / np.cos(rest), rel=1e-14)


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize(("x", "y"), [(1e6, 1e6 - 1e-9), (3.3, 1000000.1), (0.1, 0.2), (-1e5, 7.0)])
def test_the_sine_of_a_difference_that_rounds_is_that_of_sines(x: float, y: float, precise: bool):
    """sin x·cos y − cos x·sin y: x − y rounds by 10⁻¹⁰ at 10⁶, and is exact where it cancels."""
    f = lambda x, y: np.sin(x) * np.cos(y) - np.cos(x) * np.sin(y)
    with mpmath.workdps(40):
        true = float(mpmath.sin(mpmath.mpf(x) - mpmath.mpf(y)))
    assert rg.stabilize(f, precise=precise)(x, y) == pytest.approx(true, rel=1e-14)


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("x", [1e-9, -1e-9, 0.5, -2.0, 3.0, 3.5, 100.0, np.pi + 1e-9])
def test_the_angle_of_a_cosine_is_the_angle(x: float, precise: bool):
    """arccos(cos x) = |x − 2πk|, to the last digit, with slopes ±1: not by a cosine that has lost the angle."""
    f = lambda x: np.arccos(np.cos(x))
    with mpmath.workdps(60):
        true = mpmath.fabs(mpmath.mpf(x) - 2 * mpmath.pi * mpmath.nint(mpmath.mpf(x) / (2 * mpmath.pi)))
    assert rg.stabilize(f, precise=precise)(x) == pytest.approx(float(true), rel=4e-16)
    assert rg.grad(f, precise=precise)(x) == pytest.approx(np.sign(np.sin(x)), rel=1e-15)
    assert np.allclose(rg.stabilize(f, precise=precise)(np.array([[x], [-x]])), float(true), rtol=4e-16)


@pytest.mark.parametrize("t", [0.0, 1e-8, 0.5, -0.5, 2.0])
def test_an_angle_over_its_sine_has_one_series(t: float):
    """a/(2·sin a) where cos a = cos t: of a rounded cosine beside an exact sine the errors do not cancel."""

    def f(t):
        a = np.arccos(np.cos(t))
        return a / (2 * np.sin(a))

    true = [mpmath.mpf(1) / 2, 0, mpmath.mpf(1) / 6]
    if t:
        with mpmath.workdps(60):
            true = [mpmath.diff(lambda u: u / mpmath.sin(u) / 2, mpmath.mpf(t), n) for n in range(3)]
    made = rg.stabilize(f, precise=False), rg.grad(f, precise=False), rg.grad(rg.grad(f), precise=False)
    assert [g(t) for g in made] == pytest.approx([float(y) for y in true], rel=4e-15)
