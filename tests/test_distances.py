"""Squares of distances that are written as norms and a product of matrices."""

from __future__ import annotations

import numpy as np
import pytest

import relgrad as rg
from relgrad.logic.distances import squared_distances

RNG = np.random.default_rng(0)
X, C = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
WRITTEN = {
    "as a column and a row": lambda x, c: (x**2).sum(1)[:, None] + (c**2).sum(1)[None, :] - 2 * x @ c.T,
    "with kept axes": lambda x, c: (
        np.sum(x * x, axis=1, keepdims=True) + np.sum(c * c, 1) - 2 * np.dot(x, c.T)
    ),
    "as a contraction": lambda x, c: (
        np.square(x).sum(-1)[:, None] - 2 * np.einsum("id,jd->ij", x, c) + np.square(c).sum(-1)
    ),
    "of columns": lambda x, c: (x**2).sum(1)[:, None] + (c.T**2).sum(0, keepdims=True) - 2 * x @ c.T,
    "the product first": lambda x, c: -2 * (x @ c.T) + (c**2).sum(1) + (x**2).sum(1, keepdims=True),
}
OTHERS = {
    "the other norms": lambda x, c: (x**2).sum(1) + (c**2).sum(1)[:, None] - 2 * c @ c.T,
    "a product alone": lambda x, c: (x**2).sum(1)[:, None] + (c**2).sum(1) - x @ c.T,
    "twice the norm": lambda x, c: 2 * (x**2).sum(1)[:, None] + (c**2).sum(1) - 2 * x @ c.T,
    "fourth powers": lambda x, c: (x**4).sum(1)[:, None] + (c**2).sum(1) - 2 * x @ c.T,
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_distances_are_of_differences(name, shift):
    f, gaps = WRITTEN[name], lambda x, c: ((x[:, None] - c) ** 2).sum(-1)
    x, c = X + shift, C + shift
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, c), gaps(x, c), rtol=1e-14)
    loss = lambda f: lambda x, c: np.sum(np.exp(-3 * f(x, c)))
    got = rg.grad(loss(f), argnums=(0, 1), precise=False)(x, c)
    want = rg.grad(loss(gaps), argnums=(0, 1), precise=False)(x, c)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_factors_and_summands_beside_distances_stay():
    f = lambda x, c, s: (
        s * (x**2).sum(1)[:, None] + s * (c**2).sum(1) - 2 * (s * (x @ c.T)) + np.arange(3.0) + 1
    )
    want = 0.7 * ((X[:, None] - C) ** 2).sum(-1) + np.arange(3.0) + 1
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(X, C, 0.7), want, rtol=1e-14)


def test_distances_of_scaled_rows():
    f = lambda x, s: ((x / s) ** 2).sum(1, keepdims=True) + ((x / s) ** 2).sum(1) - 2 * (x / s) @ (x / s).T
    want = ((X[:, None] - X) ** 2).sum(-1) / 0.09
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(X + 1e5, 0.3), want, rtol=1e-9)


def test_distances_of_rows_from_each_other_are_zero():
    f = lambda x: (x * x).sum(1)[:, None] + (x * x).sum(1) - 2 * (x @ x.T)
    assert np.all(np.diag(rg.stabilize(f, precise=False)(X + 1e3)) == 0)


@pytest.mark.parametrize("name", OTHERS)
def test_other_sums_are_left_alone(name):
    f = OTHERS[name]
    x, c = X[:3], C
    t = f(rg.symbol("x", shape=(3, 2)), rg.symbol("c", shape=(3, 2))).term
    assert squared_distances(t) is None
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, c), f(x, c), rtol=1e-13)


def test_many_distances_are_left_to_the_product_of_matrices():
    x, c = rg.symbol("x", shape=(2000, 50)), rg.symbol("c", shape=(3000, 50))
    assert squared_distances(WRITTEN["as a column and a row"](x, c).term) is None
