"""Norms at any scale, what is divided by them, and their derivatives, which are zero at zero."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relgrad as rg
from relgrad.kernels import norm2, unit, unit_pullback

X = np.array([0.3, -0.4, 1.2])
SCALES = [1.0, 1e200, 1e-180, 3e-170]
DIRECTION = np.array([1.0, 2.0, -1.0])

NORMS = {
    "sqrt(sum(x**2))": lambda x: np.sqrt(np.sum(x**2)),
    "sqrt(sum(x*x))": lambda x: np.sqrt(np.sum(x * x)),
    "sqrt(x @ x)": lambda x: np.sqrt(x @ x),
    "sqrt(dot)": lambda x: np.sqrt(np.dot(x, x)),
    "sqrt(vdot)": lambda x: np.sqrt(np.vdot(x, x)),
    "(...)**0.5": lambda x: (x**2).sum() ** 0.5,
    "sqrt of squares of sizes": lambda x: np.sqrt(np.sum(np.abs(x) ** 2)),
    "linalg.norm": np.linalg.norm,
    "three squares": lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2),
    "root mean square": lambda x: np.sqrt(np.mean(x**2)) * np.sqrt(3.0),
    "multiples": lambda x: np.sqrt(4 * np.sum(x * x)) / 2,
    "weights": lambda x: np.sqrt(np.sum(np.array([1.0, 1.0, 1.0]) * x * x)),
    "sum over root": lambda x: np.sum(x * x) / np.sqrt(np.sum(x * x)),
    "differences": lambda x: np.sqrt(np.sum((x - np.zeros(3)) ** 2)),
}
UNITS = {
    "x/sqrt(sum)": lambda x: x / np.sqrt(np.sum(x**2)),
    "x/norm": lambda x: x / np.linalg.norm(x),
    "x*sum**-0.5": lambda x: x * np.sum(x * x) ** -0.5,
    "2*x/norm(2*x)": lambda x: 2 * x / np.linalg.norm(2 * x),
}


def hvp(f, x, v):
    slope = rg.grad(f)
    return rg.grad(lambda t: np.sum(slope(t) * v))(x)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NORMS)
def test_norms_and_derivatives_at_any_scale(name, scale):
    f, x = NORMS[name], X * scale
    np.testing.assert_allclose(rg.stabilize(f)(x), 1.3 * scale, rtol=1e-15)
    np.testing.assert_allclose(rg.grad(f)(x), X / 1.3, rtol=2e-15)
    across = DIRECTION - X * (X @ DIRECTION) / 1.69
    np.testing.assert_allclose(hvp(f, x, DIRECTION) * scale, across / 1.3, rtol=1e-14)


@pytest.mark.parametrize("name", NORMS)
def test_at_zero_the_gradient_is_zero(name):
    np.testing.assert_array_equal(rg.grad(NORMS[name])(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", UNITS)
def test_unit_vectors_at_any_scale(name, scale):
    f, x = UNITS[name], X * scale
    np.testing.assert_allclose(rg.stabilize(f)(x), X / 1.3, rtol=2e-15)
    cost = lambda x: np.sum(DIRECTION * f(x))
    across = DIRECTION - X * (X @ DIRECTION) / 1.69
    np.testing.assert_allclose(rg.grad(cost)(x) * scale, across / 1.3, rtol=1e-14)
    np.testing.assert_array_equal(rg.grad(cost)(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_cosine_similarity(scale):
    y = np.array([1.0, 0.5, -2.0])
    for f in (
        lambda x: np.sum(x * y) / (np.sqrt(np.sum(x * x)) * np.sqrt(np.sum(y * y))),
        lambda x: (x @ y) / (np.linalg.norm(x) * np.linalg.norm(y)),
    ):
        want = X @ y / (1.3 * np.sqrt(5.25))
        np.testing.assert_allclose(rg.stabilize(f)(X * scale), want, rtol=1e-15)
        slope = (y - X * (X @ y) / 1.69) / (1.3 * np.sqrt(5.25))
        np.testing.assert_allclose(rg.grad(f)(X * scale) * scale, slope, rtol=1e-14)


def test_normalisation_with_a_lower_bound():
    f = lambda x: np.sum(DIRECTION * x / np.sqrt(np.maximum(np.sum(x**2), 1e-12)))
    np.testing.assert_allclose(rg.stabilize(f)(X * 1e200), DIRECTION @ X / 1.3)
    np.testing.assert_allclose(rg.grad(f)(np.zeros(3)), DIRECTION * 1e6)


def test_standard_deviation_of_equal_entries():
    np.testing.assert_array_equal(rg.grad(np.std)(np.full(4, 0.1)), np.zeros(4))
    np.testing.assert_allclose(rg.grad(np.std)(np.array([1.0, 3.0])), [-0.5, 0.5])


def test_multiples_of_a_square_are_one_whatever_the_digits_of_their_sum():
    """√(a·x² + b·x²) = √(a + b)·|x|, as in the second step of Adam, where a + b is no float."""

    def step(g):
        v = 0.99 * (0.01 * g**2) + 0.01 * g**2
        return np.sum(1 / (np.sqrt(v / (1 - 0.99**2)) + 1e-8))

    x = np.array([0.0, 1.0, -2.0])
    np.testing.assert_allclose(rg.stabilize(step)(x), step(x), rtol=1e-14)
    np.testing.assert_allclose(rg.grad(step)(x), [0.0, -1.0, 0.25], rtol=1e-7)


def test_deviations_of_what_is_not_nan_are_flat_where_it_is_equal():
    x = np.array([2.0, np.nan, 2.0])
    np.testing.assert_array_equal(rg.grad(np.nanstd)(x), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(rg.grad(np.nanstd)(np.ones(1)), [0.0])


@pytest.mark.parametrize("order", [-1, -2, -0.5])
def test_norms_of_negative_orders_are_flat_beside_a_zero(order):
    """∂‖x‖ₚ/∂xᵢ = (|xᵢ|/‖x‖)^(p−1)·sign(xᵢ) → 0 where another entry, and so the norm, tends to 0."""
    for strategy in ("default", "eager", "naive"):
        slope = rg.grad(lambda x: np.linalg.norm(x, order), strategy=strategy)(np.array([-1.2, 0.0]))
        np.testing.assert_array_equal(slope, [0.0, 0.0])


def test_a_sum_of_squares_is_no_norm_squared():
    assert "norm2" not in rg.stabilize(lambda x: np.sum(x * x)).source(X)
    square = lambda x: np.sqrt(np.sum(x**2)) ** 2
    np.testing.assert_allclose(hvp(square, np.zeros(3), DIRECTION), 2 * DIRECTION)


def test_the_derivative_of_a_unit_vector_is_across():
    x, v = np.random.default_rng(0).normal(size=(2, 5))
    along = unit_pullback(x, v)
    np.testing.assert_allclose(along @ unit(x), 0, atol=1e-16)
    np.testing.assert_allclose(along, (v - unit(x) * (unit(x) @ v)) / norm2(x), rtol=1e-13)
    np.testing.assert_array_equal(unit_pullback(np.zeros(3), np.ones(3)), np.zeros(3))


INFINITE_SLOPES = {
    "sqrt": (np.sqrt, 0.0),
    "cbrt": (np.cbrt, 0.0),
    "power": (lambda u: u**0.3, 0.0),
    "log": (np.log, 0.0),
    "reciprocal": (np.reciprocal, 0.0),
    "arcsin": (np.arcsin, 1.0),
    "arccos": (np.arccos, 1.0),
    "arccosh": (np.arccosh, 1.0),
    "arctanh": (np.arctanh, 1.0),
    "log1p": (np.log1p, -1.0),
    "root of the rest": (lambda u: np.sqrt(1 - u * u), 1.0),
}
FLAT = {
    "a - a": (lambda a: a - a, 0.0),
    "3a - a - 2a": (lambda a: 3 * a - a - 2 * a, 0.0),
    "a/a": (lambda a: a / a, 1.0),
    "a/|a|": (lambda a: a / np.abs(a), 1.0),
    "|a|/a": (lambda a: np.abs(a) / a, 1.0),
    "a/sqrt(a²)": (lambda a: a / np.sqrt(a**2), 1.0),
    "3a/|2a|": (lambda a: 2 * a / np.abs(2 * a), 1.0),
    "(a - 1)/|a - 1|": (lambda a: (a - 1) / np.abs(a - 1), 1.0),
    "a·(1/|a|)": (lambda a: a * (1 / np.abs(a)), 1.0),
    "(a/|a|)³": (lambda a: a**3 / np.abs(a) ** 3, 1.0),
    "sinh a/|sinh a|": (lambda a: np.sinh(a) / np.abs(np.sinh(a)), 1.0),
    "sign": (np.sign, 1.0),
    "floor": (lambda a: np.floor(a) - 2, 0.0),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("slope", INFINITE_SLOPES)
@pytest.mark.parametrize("flat", FLAT)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_does_not_change_has_no_slope_whatever_it_is_put_into(flat, slope):
    (u, value), (f, edge) = FLAT[flat], INFINITE_SLOPES[slope]
    a = np.array([2.0, 2.5])
    shifted = (lambda a: f(u(a))) if edge == value else (lambda a: f(u(a) + (edge - value)))
    np.testing.assert_array_equal(rg.grad(lambda a: np.sum(shifted(a)))(a), 0.0)
    np.testing.assert_array_equal(rg.jvp(shifted, (a,), (a,))[1], 0.0)
    np.testing.assert_array_equal(rg.hessian(lambda a: np.sum(shifted(a)))(a), 0.0)


def test_a_number_over_its_size_is_its_sign_and_undefined_at_zero():
    x = np.array([-3.0, 0.0, 1e-320, 1e300])
    for f in (lambda x: x / np.abs(x), lambda x: np.abs(x) / x):
        np.testing.assert_array_equal(rg.stabilize(f)(x), [-1.0, np.nan, 1.0, 1.0])
        np.testing.assert_array_equal(
            rg.grad(lambda x, f=f: np.sum(x * f(x)))(x[[0, 2, 3]]), [-1.0, 1.0, 1.0]
        )


NEAR_AXIS = np.array([[1.0, 1e-9, 2e-9], [-1.0, 3e-10, 0.0], [0.5, 2.0, -1.0]])
ACROSS = np.hypot(NEAR_AXIS[:, 1], NEAR_AXIS[:, 2])
ANGLES = {
    "entry over norm": lambda q: np.arccos(q[:, 0] / np.linalg.norm(q, axis=1)),
    "entry of unit": lambda q: np.arccos((q / np.sqrt(np.sum(q**2, axis=1, keepdims=True)))[:, 0]),
    "all entries": lambda q: np.arccos(q / np.linalg.norm(q, axis=1, keepdims=True))[:, 0],
    "hypotenuse": lambda q: np.arccos(q[:, 0] / np.sqrt(q[:, 0] ** 2 + q[:, 1] ** 2 + q[:, 2] ** 2)),
    "complement": lambda q: np.pi / 2 - np.arcsin(q[:, 0] / np.linalg.norm(q, axis=1)),
    "opposite": lambda q: np.pi - np.arccos(-q[:, 0] / np.linalg.norm(q, axis=1)),
    "one by one": lambda q: np.stack([np.arccos(row[0] / np.linalg.norm(row)) for row in q]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ANGLES)
def test_angles_from_an_axis_are_those_of_what_lies_across(name):
    f = ANGLES[name]
    angle = np.arctan2(ACROSS, NEAR_AXIS[:, 0])
    tolerance = 1e-15 if name in ("complement", "opposite") else 0  # they subtract an angle from another
    np.testing.assert_allclose(rg.stabilize(f)(NEAR_AXIS), angle, rtol=1e-15, atol=tolerance)
    size = np.sum(NEAR_AXIS**2, axis=1)
    along, across = -ACROSS / size, NEAR_AXIS[:, 0] / size
    expected = np.column_stack([along, *(across * NEAR_AXIS[:, 1:].T / ACROSS)])
    np.testing.assert_allclose(rg.grad(lambda q: np.sum(f(q)))(NEAR_AXIS), expected, rtol=1e-14, atol=1e-25)


def test_a_momentum_over_the_energy_is_the_tangent_of_a_rapidity():
    f = rg.stabilize(lambda p, m: np.arctanh(p / np.sqrt(p * p + m * m)))
    np.testing.assert_allclose(f(1e12, 1.0), np.arcsinh(1e12), rtol=1e-15)
    np.testing.assert_allclose(f(-1e-12, 1.0), -1e-12, rtol=1e-15)


@pytest.mark.parametrize("q", [NEAR_AXIS.T, np.float32([[1.0], [1e-5]]), np.array([[2.0]])], ids=str)
def test_entries_of_other_axes_and_of_one_number(q):
    f = lambda q: np.arccos(q[0] / np.linalg.norm(q, axis=0))
    wide = q.astype(float)
    across = np.sqrt(np.sum(wide[1:] ** 2, axis=0))
    eps = np.finfo(q.dtype).eps
    np.testing.assert_allclose(rg.stabilize(f)(q), np.arctan2(across, wide[0]), rtol=4 * eps)


def test_the_root_of_a_sign_squared_takes_no_power_of_nothing():
    """√((√x²/x)²): |x| stands over |x|, and no factor with the exponent 0 is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        assert np.array_equal(
            rg.stabilize(lambda x: np.sqrt((np.sqrt(x**2) / x) ** 2))(np.array([2.0, -3.0])), [1, 1]
        )


def test_a_direction_that_is_zero_is_across_all():
    """arccos 0 = π/2 where a vector is 0, as its direction is."""
    cosine = lambda x, y: np.sum(rg.ops.unit(x) * rg.ops.unit(y), axis=-1)
    for f in (lambda x, y: np.arccos(cosine(x, y)), lambda x, y: np.arccos(np.abs(cosine(x, y)))):
        stable = rg.stabilize(f)
        assert [step.name for step in stable.explain(X, DIRECTION).steps]
        np.testing.assert_allclose(stable(X, DIRECTION), f(X, DIRECTION), rtol=1e-14)
        assert stable(0 * X, DIRECTION) == stable(X, 0 * DIRECTION) == np.pi / 2


@pytest.mark.parametrize("c", [-3.0, 1e-310, 2.5, -1e200])
def test_the_slope_of_the_logarithm_of_a_size_is_a_reciprocal(c):
    """(w·log|c|)′ = w/c, of which neither sign nor size is asked."""
    for f, want in (
        (lambda c, w: np.log(np.abs(c)), 1 / np.float64(c)),
        (lambda c, w: w * np.log(np.abs(c)), 3 / np.float64(c)),
    ):
        slope = rg.grad(f, precise=False)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(slope(c, 3.0), want, rtol=4e-16)
        assert "sign" not in slope.source(c, 3.0) and "abs" not in slope.source(c, 3.0)
