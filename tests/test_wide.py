"""Sums and products of any number of parts: relations apply inside them, and the cost is linear."""

from __future__ import annotations

import math
import time
from collections import Counter

import numpy as np
import pytest

import relgrad as rg
from relgrad.op import as_term
from relgrad.ops.arithmetic import add, multiply
from relgrad.schedule.schedule import schedule
from relgrad.term import subterms

X = np.linspace(-3.0, 3.0, 7)


def names(f, *args, **options):
    return Counter(step.name for step in rg.stabilize(f, **options).explain(*args).steps)


def pieces(x, n):
    return [np.sin(x * (i + 1.0)) * 800.0 for i in range(n)]


@pytest.mark.parametrize("n", [2, 23, 24, 25, 60])
def test_a_relation_applies_wherever_its_parts_stand_in_a_sum(n):
    def f(x):
        total = np.sum(pieces(x, n), axis=0) if n < 0 else 0.0
        for v in pieces(x, n):
            total = total + v
        for v in pieces(x, n):
            total = total - np.log(np.sum(np.exp(v)))
        return total

    assert names(f, X)["argument_minus_logsumexp"] == n
    with np.errstate(over="ignore"):
        assert np.isfinite(rg.stabilize(f)(X)).all()


@pytest.mark.parametrize("n", [2, 24, 40])
def test_a_relation_applies_wherever_its_parts_stand_in_a_product(n):
    def f(x):
        total = 1.0
        for v in pieces(x, n):
            total = total * np.exp(v)
        for v in pieces(x, n):
            total = total / np.sum(np.exp(v))
        return total**0.001

    assert names(f, X)["normalized_exponential"] == n
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(f(X)).all()
    assert np.isfinite(rg.stabilize(f)(X)).all()


def test_a_second_difference_is_found_among_other_sines():
    """sin(x + h) − 2·sin x + sin(x − h) + Σ sin aᵢ − 2·Σ sin bᵢ: the sine of one argument is looked for first."""

    def f(x, h):
        more = sum(np.sin(x * k + 0.3 * k * k) - 2 * np.sin(h * k + 0.3 * k) for k in range(1, 12))
        return more + np.sin(x + h) - 2 * np.sin(x) + np.sin(x - h)

    assert names(f, 0.7, 1e-5)["second_difference_of_sine"] == 1


@pytest.mark.parametrize("n", [10, 100])
def test_what_cancels_cancels_however_far_apart(n):
    def f(x):
        total = x * 1e300
        for i in range(n):
            total = total + np.sin(x * i)
        return total - x * 1e300

    np.testing.assert_allclose(rg.stabilize(f)(X), sum(np.sin(X * i) for i in range(n)), rtol=1e-12)


@rg.relation
def sine_and_cosine(x):
    """A square of a sine and one of a cosine."""
    return np.sin(x) ** 2 + np.cos(x) ** 2, 1


@pytest.mark.parametrize("scale", [1.0, 3.0, -2.0])
@pytest.mark.parametrize("n", [4, 40])
def test_multiples_are_found_and_the_rest_keeps_its_order(n, scale):
    def f(x):
        total = np.cbrt(x)
        for i in range(n):
            total = total + np.arctan(x * (i + 2.0))
        total = total + scale * np.sin(x) ** 2
        for i in range(n):
            total = total + np.arcsinh(x * (i + 2.0))
        return total + scale * np.cos(x) ** 2

    library = rg.Library([sine_and_cosine])
    assert names(f, X, relations=library)["sine_and_cosine"] == 1
    np.testing.assert_allclose(rg.stabilize(f, relations=library)(X), f(X), rtol=1e-12)
    (after,) = schedule([as_term(f(rg.symbol("x", (7,))))], library).after
    order = [t.op.name for t in subterms(after) if t.op.name in ("cbrt", "arctan", "arcsinh")]
    assert order == ["cbrt", *["arctan"] * n, *["arcsinh"] * n]


def test_the_result_has_the_dtype_and_shape_of_the_place():
    def f(x, y):
        total = y[:, None] - y[:, None]
        for i in range(30):
            total = total + np.sin(x * i)
        return total

    x, y = X.astype("float32"), np.ones(3, "float32")
    result = rg.stabilize(f)(x, y)
    assert result.shape == (3, 7)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, f(x, y), rtol=1e-5)


@pytest.mark.parametrize("op", [add, multiply])
def test_each_part_of_a_long_sum_is_looked_at_a_bounded_number_of_times(op):
    def steps(n):
        total = None
        for i in range(n):
            x = rg.symbol(f"x{i}", (3,))
            part = as_term(np.log(np.exp(x) / np.sum(np.exp(x))) if i % 20 == 0 else x)
            total = part if total is None else op(total, part)
        return len(schedule([total], rg.LIBRARY).relations)

    assert steps(200) == 2 * 10
    assert steps(2000) == 2 * 100


@pytest.mark.parametrize("n", [500, pytest.param(1000, marks=pytest.mark.slow)])
def test_sums_that_share_their_beginnings_stay_affordable(n):
    x = rg.symbol("x", (3,))
    total, roots = as_term(x), []
    for i in range(n):
        total = add(total, as_term(np.sin(x * float(i))))
        roots.append(total)
    derivation = schedule(roots, rg.LIBRARY)
    assert len(derivation.after) == n


def test_operands_that_stand_beside_their_op_are_looked_for_one_by_one():
    """hypot(x, y) − y in hypot(a, hypot(b, …)) + c: y is one of the operands, of which there are 2ⁿ bags."""

    def f(x):
        y = np.sin(x) ** 2 + 1
        return np.hypot.reduce(y) - y[0] + np.sum(1.1 * y)

    started = time.process_time()
    x = np.linspace(0.3, 2.4, 16)
    slope = rg.grad(f)(x)
    assert time.process_time() - started < 10
    steps = [(f(x + h) - f(x - h)) / 2e-6 for h in np.eye(16) * 1e-6]
    np.testing.assert_allclose(slope, steps, rtol=1e-6, atol=1e-8)
    small = rg.stabilize(lambda a, b: np.hypot(np.hypot(a, 1e-9), b) - np.hypot(1e-9, b))
    assert math.isclose(small(1e-8, 2.0), 2.5e-17)
