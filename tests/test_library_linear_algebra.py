"""Determinants that leave the floats, inverses that need not be formed, and Gaussian likelihoods."""

from __future__ import annotations

import numpy as np
import pytest

import relgrad as rg

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
B = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.0], [3.0, 0.0, 1.0]])
b = np.array([1.0, -2.0, 3.0])
LOG = np.linalg.slogdet(A)[1]
INVERSE = np.linalg.inv(A)
L = np.linalg

LOGS = {
    "log(det)": (lambda a: np.log(L.det(a)), 1.0, 0.0),
    "-log(det)": (lambda a: -np.log(L.det(a)), -1.0, 0.0),
    "log(abs(det))": (lambda a: np.log(np.abs(L.det(a))), 1.0, 0.0),
    "0.5*log(det)": (lambda a: 0.5 * np.log(L.det(a)), 0.5, 0.0),
    "log(sqrt(det))": (lambda a: np.log(np.sqrt(L.det(a))), 0.5, 0.0),
    "log(1/sqrt(det))": (lambda a: np.log(1 / np.sqrt(L.det(a))), -0.5, 0.0),
    "log(det**-0.5)": (lambda a: np.log(L.det(a) ** -0.5), -0.5, 0.0),
    "log(1/det)": (lambda a: np.log(1 / L.det(a)), -1.0, 0.0),
    "log(2*det)": (lambda a: np.log(2 * L.det(a)), 1.0, np.log(2)),
    "log(sqrt((2*pi)**3*det))": (
        lambda a: np.log(np.sqrt((2 * np.pi) ** 3 * L.det(a))),
        0.5,
        1.5 * np.log(2 * np.pi),
    ),
    "log(det**2)": (lambda a: np.log(L.det(a) ** 2), 2.0, 0.0),
    "log(det*det)": (lambda a: np.log(L.det(a) * L.det(a)), 2.0, 0.0),
    "log(det/det)": (lambda a: np.log(L.det(a @ a) / L.det(a)), 1.0, 0.0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale", [1.0, 1e-120, 1e150])
@pytest.mark.parametrize("name", LOGS)
def test_logarithms_of_determinants(name, scale):
    f, factor, offset = LOGS[name]
    if "det/det" in name and scale != 1.0:
        pytest.skip("the product of the matrices itself leaves the floats")
    want = factor * (LOG + 3 * np.log(scale)) + offset
    np.testing.assert_allclose(rg.stabilize(f)(A * scale), want, rtol=1e-14)
    np.testing.assert_allclose(rg.grad(f)(A * scale) * scale, factor * INVERSE.T, rtol=1e-13, atol=1e-15)
    slope = rg.grad(f)
    product = rg.grad(lambda a: np.sum(slope(a) * (B * scale)))(A * scale)
    np.testing.assert_allclose(product * scale, -factor * (INVERSE @ B @ INVERSE).T, rtol=1e-12, atol=1e-13)


def test_the_domain_of_a_logarithm_is_kept():
    swapped = A[::-1]
    assert np.isnan(rg.stabilize(lambda a: np.log(L.det(a)))(swapped))
    assert rg.stabilize(lambda a: np.log(L.det(a)))(np.zeros((2, 2))) == -np.inf
    np.testing.assert_allclose(rg.stabilize(lambda a: np.log(L.det(a) ** 2))(swapped), 2 * LOG, rtol=1e-14)
    np.testing.assert_allclose(rg.stabilize(lambda a: np.log(-L.det(a)))(swapped), LOG, rtol=1e-14)


SOLVED = {
    "inv(a) @ b": (lambda a: L.inv(a) @ b, INVERSE @ b),
    "b @ inv(a)": (lambda a: b @ L.inv(a), b @ INVERSE),
    "inv(a) @ B": (lambda a: L.inv(a) @ B, INVERSE @ B),
    "b @ inv(a) @ b": (lambda a: b @ L.inv(a) @ b, b @ INVERSE @ b),
    "b @ (inv(a) @ b)": (lambda a: b @ (L.inv(a) @ b), b @ INVERSE @ b),
    "sum(b*(inv(a) @ b))": (lambda a: np.sum(b * (L.inv(a) @ b)), b @ INVERSE @ b),
    "trace(inv(a) @ B)": (lambda a: np.trace(L.inv(a) @ B), np.trace(INVERSE @ B)),
}


@pytest.mark.parametrize("name", SOLVED)
def test_an_inverse_that_is_multiplied_is_not_formed(name):
    f, want = SOLVED[name]
    assert "inv(" not in rg.stabilize(f, nan="real", precise=False).source(A)
    np.testing.assert_allclose(rg.stabilize(f)(A), want, rtol=1e-14)
    cost = lambda a: np.sum(f(a) * 1.0)
    change = 1e-6 * B
    slope = (cost(A + change) - cost(A - change)) / 2
    np.testing.assert_allclose(np.sum(rg.grad(cost)(A) * change), slope, rtol=1e-7)


def test_an_ill_conditioned_system_is_solved_with_a_small_residual():
    n = 9
    hilbert = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1)
    right = hilbert @ np.ones(n)
    x = rg.stabilize(lambda a, c: L.inv(a) @ c)(hilbert, right)
    assert np.max(np.abs(hilbert @ x - right)) < 1e-14


def test_the_trace_of_a_product_needs_no_product():
    f = lambda a: np.trace(a @ B)
    assert "matmul" not in rg.stabilize(f, nan="real", precise=False).source(A)
    np.testing.assert_allclose(rg.stabilize(f)(A), np.trace(A @ B), rtol=1e-15)
    np.testing.assert_array_equal(rg.grad(f)(A), B.T)


def test_a_diagonal_stands_beside_the_other_entries_of_a_product():
    """d/da mean(log Σ e^s − diag s), s = a·bᵀ, of pairs that are nearly sure: what softmax(s) lacks of one is e⁻⁴⁰."""
    contrast = lambda a, b: np.mean(np.log(np.sum(np.exp(a @ b.T), axis=1)) - np.diag(a @ b.T))
    a, q = np.sqrt(40) * np.eye(3), np.exp(-40) / (1 + 2 * np.exp(-40))
    slope = rg.grad(contrast, precise=False)(a, a)
    np.testing.assert_allclose(slope, q * np.sqrt(40) * (1 / 3 - np.eye(3)), rtol=1e-14)


def test_a_diagonal_of_what_is_repeated_along_an_axis_is_one_of_a_matrix():
    """np.corrcoef of two equal vectors, whose covariances are those of one that is repeated, over a count."""
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(rg.stabilize(lambda x: np.corrcoef(x, x)[0, 1])(x), 1.0, rtol=1e-15)
    f = lambda x: np.diagonal(np.broadcast_to(x, (2, 3)) @ np.ones((3, 2)) / 2)
    np.testing.assert_array_equal(rg.stabilize(f)(x), f(x))


GAUSSIANS = {
    "log of density": lambda a: np.log(
        np.exp(-0.5 * b @ L.inv(a) @ b) / np.sqrt((2 * np.pi) ** 3 * L.det(a))
    ),
    "powers": lambda a: np.log((2 * np.pi) ** -1.5 * L.det(a) ** -0.5 * np.exp(-0.5 * b @ L.inv(a) @ b)),
    "terms": lambda a: -0.5 * (b @ L.inv(a) @ b) - 0.5 * np.log(L.det(a)) - 1.5 * np.log(2 * np.pi),
    "one determinant": lambda a: -0.5 * b @ L.solve(a, b) - 0.5 * np.log(L.det(2 * np.pi * a)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale", [1.0, 1e-110, 1e120])
@pytest.mark.parametrize("name", GAUSSIANS)
def test_multivariate_gaussians(name, scale):
    quadratic = b @ INVERSE @ b / scale
    want = -0.5 * quadratic - 0.5 * (LOG + 3 * np.log(scale)) - 1.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(rg.stabilize(GAUSSIANS[name])(A * scale), want, rtol=1e-14)
    solved = INVERSE @ b / scale
    slope = 0.5 * np.outer(solved, solved) - 0.5 * INVERSE / scale
    np.testing.assert_allclose(rg.grad(GAUSSIANS[name])(A * scale), slope, rtol=1e-12)
