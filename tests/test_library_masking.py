"""Masks: no derivative of a branch that is not taken is infinite or NaN, at any order, without where within where."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.logic.masks import sunk_product
from relgrad.op import as_term
from relgrad.ops.gather import Scatter

X = np.array([0.0, 4.0, -1.0])
W = np.array([1.0, 0.0, 2.0])
V = np.array([1.0, 2.0, 3.0])
ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
LOW, HIGH = np.array([0.5, -2.0]), np.array([1.0, 1000.0])


def hvp(f, x, v):
    slope = rg.grad(f)
    return rg.grad(lambda t: np.sum(slope(t) * v))(x)


# At 4: the value, its derivative and second derivative where the branch is taken.
TAKEN = {
    "where(x > 0, sqrt(x), 0)": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 2.0, 0.25, -1 / 32),
    "where(x > 0, log(x), 0)": (lambda x: np.where(x > 0, np.log(x), 0.0), np.log(4), 0.25, -1 / 16),
    "where(x <= 0, 0, 1/x)": (lambda x: np.where(x <= 0, 0.0, 1 / x), 0.25, -1 / 16, 1 / 32),
    "where(x > 0, x**1.5, 0)": (lambda x: np.where(x > 0, x**1.5, 0.0), 8.0, 3.0, 0.375),
    "where(x > 0, x*log(x), 0)": (
        lambda x: np.where(x > 0, x * np.log(x), 0.0),
        4 * np.log(4),
        1 + np.log(4),
        0.25,
    ),
    "where(x > 0, log(sqrt(x)), 0)": (
        lambda x: np.where(x > 0, np.log(np.sqrt(x)), 0.0),
        np.log(2),
        1 / 8,
        -1 / 32,
    ),
    "where(x > 0, x/where(x > 0, sqrt(x), 1), 0)": (
        lambda x: np.where(x > 0, x / np.where(x > 0, np.sqrt(x), 1.0), 0.0),
        2.0,
        0.25,
        -1 / 32,
    ),
    "(x > 0)*sqrt(x)": (lambda x: (x > 0) * np.sqrt(x), 2.0, 0.25, -1 / 32),
    "(x > 0).astype(float)*log(x)": (lambda x: (x > 0).astype(float) * np.log(x), np.log(4), 0.25, -1 / 16),
    "where(x > 0, 1.0, 0.0)*log(x)": (
        lambda x: np.where(x > 0, 1.0, 0.0) * np.log(x),
        np.log(4),
        0.25,
        -1 / 16,
    ),
    "(log(x)*W)[1:2] with a weight": (
        lambda x: np.array([0.0, 1.0, 0.0]) * np.log(x),
        np.log(4),
        0.25,
        -1 / 16,
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TAKEN)
def test_a_branch_that_is_not_taken_leaves_no_trace(name):
    f, value, first, second = TAKEN[name]
    np.testing.assert_allclose(rg.stabilize(f)(X), [0, value, 0], rtol=1e-15)
    cost = lambda x: np.sum(f(x))
    np.testing.assert_allclose(rg.grad(cost)(X), [0, first, 0], rtol=1e-15)
    np.testing.assert_allclose(hvp(cost, X, V), [0, 2 * second, 0], rtol=1e-14)


@pytest.mark.parametrize("name", TAKEN)
def test_forward_and_reverse_mode_agree(name):
    f = TAKEN[name][0]
    tangent = rg.jvp(f, (X,), (V,))[1]
    np.testing.assert_allclose(tangent, rg.grad(lambda x: np.sum(f(x)))(X) * V, rtol=1e-14)


DOMAINS = {
    np.sqrt: (0.0, np.inf),
    np.log: (0.0, np.inf),
    np.log1p: (-1.0, np.inf),
    np.arcsin: (-1.0, 1.0),
    np.arccos: (-1.0, 1.0),
    np.arctanh: (-1.0, 1.0),
    np.arccosh: (1.0, np.inf),
}
WAYS = {
    "a factor": lambda f, t: t * f(t),
    "its sign is": lambda f, t: t * np.sign(f(t)),
    "a bounded function of it is": lambda f, t: t * np.tanh(f(t)),
    "its own square": lambda f, t: (t * f(t)) ** 2,
    "what it is at most": lambda f, t: np.minimum(f(t), 0.4) * t,
    "of what cannot be positive": lambda f, t: t * f(t) + t * np.sqrt(t * t) ** 1.5,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("outer", [np.square, np.sinc, np.arctan], ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", DOMAINS, ids=lambda f: f.__name__)
def test_what_has_no_value_outside_of_its_domain_is_not_multiplied_by_zero(f, way, outer, strategy):
    low, high = DOMAINS[f]
    x = np.array([-3.0, -0.7, -0.2, 0.3, 0.8, 1.7, 4.0])
    inside = (x > low) & (x < high)
    taken = lambda t: WAYS[way](f, t)
    chosen = lambda t: np.where((t > low) & (t < high), taken(t), t)
    slope = lambda of, x: rg.grad(lambda t: np.sum(outer(of(t))), strategy=strategy)(x)
    expected = np.where(inside, 0.0, slope(lambda t: t, x))
    expected[inside] = slope(taken, x[inside])
    np.testing.assert_allclose(slope(chosen, x), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_what_is_bounded_where_it_is_a_number_is_not_multiplied_by_zero(strategy):
    for power in (0.5, 1.5, -0.5):
        f = lambda x, p=power: np.where(np.sum(x * x) > 0, np.sum(x * x) ** 1.5, (-np.sum(x * x)) ** p)
        slope = rg.grad(f, strategy=strategy)(X)
        np.testing.assert_allclose(slope, 3 * X * np.sqrt(np.sum(X * X)), rtol=1e-12)


BESIDE = {
    "itself": lambda u, root: np.where(u > 0.2, root, u),
    "what is left of one": lambda u, root: np.where(u > 0.2, root, 1 - u),
    "its square": lambda u, root: np.where(u > 0.2, u * root, u**2),
    "an inverse root": lambda u, root: np.where(u > 0.2, 1 / root, u),
    "a factor": lambda u, root: u * (u + np.where(u > 0.2, root, 0.0)),
    "a factor of an inverse": lambda u, root: u * (1 + np.where(u > 0.2, 1 / root, 0.0)),
    "a divisor": lambda u, root: (u + np.where(u > 0.2, root, 0.0)) / u,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("u", [np.cos, np.sin, lambda x: x**3 - x], ids=["cos", "sin", "cubic"])
@pytest.mark.parametrize("name", BESIDE)
def test_a_root_in_one_branch_is_no_factor_of_the_other(name, u, strategy):
    """u = √u·√u where u is not negative, and one summand of a sum says nothing of the others."""
    x = np.array([0.75, -1.79, 1.225, -0.4])
    f = lambda x: BESIDE[name](u(x), np.sqrt(u(x)))
    alone = lambda x: BESIDE[name](u(x), np.sqrt(np.where(u(x) > 0.2, u(x), 1.0)))
    v = np.array([1.0, 2.0, -1.0, 0.5])
    twice = lambda f, how: rg.grad(lambda x: np.sum(rg.grad(lambda x: np.sum(f(x)), **how)(x) * v), **how)(x)
    expected = twice(alone, {"strategy": "naive"})
    np.testing.assert_allclose(twice(f, {"strategy": strategy}), expected, rtol=1e-9, atol=1e-12)


def test_masks_that_broadcast():
    f = lambda x: np.sum(np.where(x[:, None] > 0, np.sqrt(x)[:, None] * W, 0.0))
    np.testing.assert_allclose(rg.grad(f)(X), [0, 0.75, 0])
    g = lambda x: np.sum(np.where((x[:, None] > 0) & (W > 0), np.log(x)[:, None] * W, 0.0))
    np.testing.assert_allclose(rg.grad(g)(X), [0, 0.75, 0])
    np.testing.assert_allclose(hvp(g, X, V), [0, -3 / 8, 0])


def test_norms_of_rows_and_rows_over_sums():
    norms = lambda x: np.sum(
        np.where(np.sqrt(np.sum(x**2, axis=1)) > 0.5, np.sqrt(np.sum(x**2, axis=1)), 1.0)
    )
    slope = rg.grad(norms)(ROWS)
    np.testing.assert_allclose(slope[2], 0)
    np.testing.assert_allclose(slope[1], [0.6, 0.8])

    def shares(x):
        total = np.sum(x, axis=1, keepdims=True)
        return np.where(total > 0, x / total, 0.0)

    slope = rg.grad(lambda x: np.sum(shares(x)[:, 0]))(ROWS)
    np.testing.assert_allclose(slope[2], 0)
    np.testing.assert_allclose(slope[1], [4 / 49, -3 / 49])


def test_entries_that_were_not_selected_do_not_matter():
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(np.sqrt(x)[1:2]))(X), [0, 0.25, 0])
    picked = rg.grad(lambda x: np.sum(np.log(x)[np.array([1, 1])]))(X)
    np.testing.assert_allclose(picked, [0, 0.5, 0])


def test_what_overflows_where_it_is_not_taken():
    f = lambda x: np.sum(np.where(x < 10, np.exp(x), x))
    np.testing.assert_allclose(rg.grad(f)(HIGH), [np.e, 1])
    np.testing.assert_allclose(hvp(f, HIGH, np.ones(2)), [np.e, 0])


def test_magnitudes_at_zero():
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(np.sqrt(np.abs(x))))(X), [0, 0.25, -0.5])
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(np.sqrt(x**2)))(X), [0, 1, -1])
    np.testing.assert_allclose(rg.grad(lambda x: np.sum(np.sqrt(np.maximum(x, 1.0))))(X), [0, 0.25, 0])


def test_a_true_infinity_stays():
    assert rg.grad(np.sqrt)(0.0) == np.inf
    assert np.isnan(rg.stabilize(np.log)(-1.0))
    assert rg.grad(lambda x: np.sum(np.where(x >= 0, np.sqrt(x), 0.0)))(X)[0] == np.inf


def test_what_stands_in_a_mask_is_drawn_in_once():
    """put(log y, i) reads as log(y)·put(1, i), so that the logarithm seems to stand outside of what it stands in."""
    x, y = rg.symbol("x", (3,)), rg.symbol("y", (2,))
    put = lambda v, k, n: Scatter(as_term(rg.symbol("z", (n,))[k]).op.pattern, (n,))(v)
    t = as_term(put(y[1:], slice(0, 1), 2)[1:2] * x * put(np.log(y)[1], 1, 3))
    assert sunk_product(t) is None


def induction(x, n):
    """A value of neighbours, with a floor, step by step backwards: sums of masks within sums of masks."""
    v = np.maximum(1 - x, 0.0)
    for _ in range(n):
        y = x[: len(v) - 1]
        grown = -np.log(y) * v[1:] + np.sqrt(y) * v[:-1]
        v = np.maximum(np.where(y > 0, grown, 0.3), 0.1)
    return v.sum()


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_factors_are_masked_once_beside_sums_of_masks_within_sums_of_masks(strategy):
    """f·(put(m, i) + put(n, j)) = where(c, f, 1)·(put(m, i) + put(n, j)): steps in proportion to the program."""
    x = np.array([0.0, 0.5, 0.2, 0.9, 0.0, 0.95, 0.8, 0.4, 0.7, 0.6])
    steps = [
        len(rg.grad(lambda x, n=n: induction(x, n), strategy=strategy).explain(x).steps) for n in (4, 6, 8)
    ]
    assert steps[2] - steps[1] <= 1.5 * (steps[1] - steps[0])
    with np.errstate(invalid="ignore"):
        before = [induction(x - h, 6) for h in np.diag(np.full(len(x), 1e-7))]
    slope = rg.grad(lambda x: induction(x, 6), strategy=strategy)(x)
    assert np.count_nonzero(slope) > 2
    np.testing.assert_allclose(slope, (induction(x, 6) - np.array(before)) / 1e-7, rtol=1e-5, atol=1e-6)


def test_branches_within_branches_are_stabilised_once_each(monkeypatch):
    run = import_module("relgrad.schedule.schedule")._Run
    runs, begin = [], run.__init__
    monkeypatch.setattr(run, "__init__", lambda self, *a, **k: runs.append(self) or begin(self, *a, **k))
    counts = []
    for n in (3, 5, 7):
        runs.clear()
        rg.grad(lambda x, n=n: induction(x, n)).explain(np.linspace(0.0, 1.0, 10))
        counts.append(len(runs))
    assert counts[2] - counts[1] <= 1.5 * (counts[1] - counts[0])


def filtered(q, steps=2):
    """The determinants of a filter's innovations, whose derivative in q sums over the diagonal."""
    p, h, total = 0.1 * np.eye(3), np.array([[1.0, 0.5, 0.2]]), 0.0
    for _ in range(steps):
        p = p + q * np.eye(3)
        s = h @ p @ h.T + np.diag(np.array([0.3]))
        p = (np.eye(3) - p @ h.T @ np.linalg.inv(s) @ h) @ p
        total = total + np.log(np.linalg.det(s))
    return total


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_supports_that_are_known_before_the_call_are_folded(strategy):
    """where(c, f, 1) with c that holds everywhere is f again: nothing is masked there."""
    slope = (filtered(0.3 + 1e-6) - filtered(0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(rg.grad(filtered, strategy=strategy)(0.3), slope, rtol=1e-7)


def test_ordinary_masks_are_left_alone():
    relu = lambda x: np.sum(np.where(x > 0, x, 0.0) * np.tanh(x))
    assert "sink_into_mask" not in [step.name for step in rg.grad(relu).explain(X).steps]
    np.testing.assert_array_equal(rg.grad(relu)(X)[1], np.tanh(4.0) + 4 / np.cosh(4.0) ** 2)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("large", [1e4, 1e9, 1e30])
def test_a_mask_that_is_a_large_number_takes_no_digits_of_what_it_lets_pass(large, strategy):
    """s + k·(1 - m) is not s + k - k·m, nor is it up to a shift: next to k no digit of s is left."""
    s, m = np.array([[0.25, -1.5, 0.75], [1.0, 2.0, -0.5]]), np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])

    def masked(s, m):
        return s + (1 - m) * -large

    def softmax(s, m):
        p = np.exp(masked(s, m))
        return p / p.sum(axis=-1, keepdims=True)

    def entropy(s):
        p = softmax(s, m)
        return -np.sum(p * np.log(p + 1e-9))

    def log_sum(s, m):
        return np.log(np.sum(np.exp(masked(s, m)), axis=-1))

    for f in (softmax, log_sum, lambda s, m: entropy(s)):
        np.testing.assert_allclose(rg.stabilize(f, strategy=strategy)(s, m), f(s, m), rtol=1e-14)
    g = rg.grad(lambda s, m: np.sum(V[:2] * log_sum(s, m)), strategy=strategy)(s, m)
    np.testing.assert_allclose(g, V[:2, None] * softmax(s, m), rtol=1e-14)


@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
def test_shares_of_no_entries_have_no_slope(strategy: str) -> None:
    """Σ f(p) = 0 of the shares p of entries of which there are none, and so it is nearby."""
    x = np.array([-0.5, -2.0])
    shares = lambda e: np.exp(e) / np.sum(np.exp(e))
    for f in (
        lambda x: -np.sum(shares(x[x > 0]) * np.log(shares(x[x > 0]))),
        lambda x: np.sum(shares(x[x > 0]) ** 2),
        lambda x: np.sum(shares(2 * x[x > 0]) * shares(x[x > 0])),
    ):
        np.testing.assert_array_equal(rg.grad(f, strategy=strategy)(x), 0.0)
        np.testing.assert_allclose(
            rg.grad(f, strategy=strategy)(-x),
            rg.grad(lambda x, f=f: f(x + 0.0), strategy="naive")(-x),
            atol=1e-15,
        )


def test_what_cannot_be_reached_has_no_part_in_a_derivative() -> None:
    """∂ log Σ w·eˣ = 0 where w = 0, be it put together of several numbers, as by a recursion from the first states."""

    def reached(x: Any) -> Any:
        p = np.exp(x) / np.sum(np.exp(x))
        a = np.zeros((4, 2))
        a[0, 0], a[1, 0] = p[0], p[1]
        a[:, 0] /= np.sum(a[:, 0])
        for s in range(1, 4):
            a[s, 1] = (a[s, 0] + a[s - 1, 0]) * p[s - 1]
        return np.log(np.sum(a[:, 1]))

    x = np.array([0.1, -0.2, 0.6])
    found = rg.grad(reached, precise=False)(x)
    np.testing.assert_allclose(found, rg.grad(reached, strategy="naive")(x), rtol=1e-13)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_factors_are_masked_once_behind_squeezes(strategy: str) -> None:
    """(where(c, f, 1)[:, 0])·Σ m is masked already."""

    def f(x: Any, z: Any) -> Any:
        return (x / np.log1p(np.exp(np.sum(np.where(z > 0.1, z, 0), axis=-1)))) ** 2

    x, z = (
        np.array([[0.6, -2.3, -1.0], [0.1, 0.2, 1.2]]),
        np.array([[0.5, 0, -2.5], [0, 1.5, 0], [1.5, -1.5, 0.5]]),
    )
    along = lambda x, z: rg.jvp(f, (x, z), (x, z))[1]
    assert len(rg.stabilize(along, strategy=strategy).explain(x, z).steps) < 30
