"""Sums of what is joined of pieces, differences of what runs, and arrays of one number."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import relgrad as rg
from relgrad.interpret import interpret
from relgrad.logic.pieces import between, joined_sum, running_sum
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply, subtract
from relgrad.ops.indexing import getitem
from relgrad.ops.joining import Concatenate
from relgrad.ops.scan import CumProd, CumSum
from relgrad.ops.structure import broadcast_to

x = rg.symbol("x", shape=(5,)).term
y = rg.symbol("y", shape=(2, 5)).term


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def ordinal(f, cuts):
    """The probabilities of ordered classes, from the cuts between them."""
    cdf = sigmoid(cuts[None, :] - f[:, None])
    ends = np.zeros((len(f), 1)), np.ones((len(f), 1))
    return np.diff(np.concatenate([ends[0], cdf, ends[1]], axis=1), axis=1)


def true_ordinal(f, cuts):
    s = lambda v: 1 / (1 + mpmath.exp(-v))
    rows = [[mpf(0), *[s(mpf(c) - mpf(v)) for c in cuts], mpf(1)] for v in f]
    return [[b - a for a, b in itertools.pairwise(row)] for row in rows]


@pytest.mark.parametrize("scale", [1.0, 40.0, 300.0])
def test_padded_distributions_are_taken_apart_where_they_are_joined(scale):
    f, cuts, classes = scale * np.array([0.5, -1.3, 1.1]), np.array([-1.0, -0.999, 2.0]), np.array([0, 3, 1])
    loss = lambda f, cuts: -np.sum(np.log(ordinal(f, cuts)[np.arange(3), classes]))
    with mpmath.workdps(600):
        truth = true_ordinal(f, cuts)
        want = [[float(v) for v in row] for row in truth]
        total = -sum(float(mpmath.log(truth[i][k])) for i, k in enumerate(classes))
    np.testing.assert_allclose(rg.stabilize(ordinal, precise=False)(f, cuts), want, rtol=1e-13)
    np.testing.assert_allclose(rg.stabilize(loss, precise=False)(f, cuts), total, rtol=1e-14)
    assert np.all(np.isfinite(rg.grad(loss, argnums=(0,), precise=False)(f, cuts)[0]))


@pytest.mark.parametrize("scale", [1.0, 40.0, 900.0])
def test_survival_is_lost_by_the_hazard(scale):
    """S₍ₜ₋₁₎ − Sₜ = S₍ₜ₋₁₎·hₜ, also in the log domain"""

    def loss(eta):
        survival = np.cumprod(1 - sigmoid(eta))
        lost = np.concatenate([np.ones(1), survival[:-1]]) - survival
        return -np.log(lost[2]) - np.log(survival[4])

    eta = scale * np.array([0.3, -0.7, 0.2, 1.1, -0.4])
    with mpmath.workdps(2000):
        left = [1 - 1 / (1 + mpmath.exp(-mpf(v))) for v in eta]
        survival = [mpmath.fprod(left[: k + 1]) for k in range(5)]
        want = -mpmath.log(survival[1] - survival[2]) - mpmath.log(survival[4])
    np.testing.assert_allclose(rg.stabilize(loss, precise=False)(eta), float(want), rtol=1e-14)


@pytest.mark.parametrize("scan, whole", [(CumSum, np.cumsum), (CumProd, np.cumprod)])
@pytest.mark.parametrize("t, axis", [(x, -1), (y, -1), (y, -2)])
def test_entries_of_what_runs_differ_by_what_lies_between(scan, whole, t, axis):
    rng, n, runs = np.random.default_rng(0), t.type.extent(axis), scan(axis).make_node(t)
    keys = [slice(1, None), slice(None, -1), slice(0, 1), slice(3, 4), slice(None, None, 2), 0, 2, -1]
    values = rng.normal(size=t.type.shape)
    found = 0
    for a, b in itertools.permutations(keys, 2):
        full = [(..., k, *[slice(None)] * (-axis - 1)) for k in (a, b)]
        if any(not isinstance(k, slice) and not -n <= k < n for k in (a, b)):
            continue
        u, v = (getitem(runs, k) for k in full)
        if (apart := between(u, v)) is None:
            continue
        found += 1
        want = whole(values, axis)[full[0]] - whole(values, axis)[full[1]]
        np.testing.assert_allclose(interpret([apart], {t: values})[0], want, rtol=1e-12, atol=1e-12)
        assert apart.type.shape == want.shape
        new = running_sum(subtract(u, v))
        np.testing.assert_allclose(interpret([new], {t: values})[0], want, rtol=1e-12, atol=1e-12)
    assert found or n == 2


@pytest.mark.parametrize("axis", [-1, -2])
def test_a_sum_of_what_is_joined_is_its_pieces_joined(axis):
    """concatenate((0, y)) − 2·concatenate((y, 1)) + y₊, piece by piece, along each axis"""
    rng, shape = np.random.default_rng(1), y.type.shape
    one = tuple(1 if i == 2 + axis else n for i, n in enumerate(shape))
    more = rg.symbol("more", shape=tuple(n + 1 if i == 2 + axis else n for i, n in enumerate(shape))).term
    zeros, ones = constant(np.zeros(one)), constant(np.ones(one))
    lower, upper = Concatenate(axis).make_node(zeros, y), Concatenate(axis).make_node(y, ones)
    whole = add(subtract(lower, multiply(constant(2.0), upper)), more)
    new = joined_sum(whole)
    values = {y: rng.normal(size=shape), more: rng.normal(size=more.type.shape)}
    assert type(new.op) is Concatenate and new.type == whole.type
    np.testing.assert_allclose(interpret([new], values)[0], interpret([whole], values)[0], rtol=1e-14)
    inner = getitem(whole, (..., slice(1, None), *[slice(None)] * (-axis - 1)))
    assert inner.type.extent(axis) == shape[axis]


def test_what_is_not_joined_of_pieces_is_left_alone():
    assert joined_sum(subtract(y, x)) is None
    many = Concatenate(-1).make_node(*[getitem(x, slice(i, i + 1)) for i in range(5)] * 2)
    assert joined_sum(subtract(many, Concatenate(-1).make_node(x, x))) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3,), (2, 1), (2, 3), (1, 3)])
def test_an_array_of_one_number_is_the_number(dtype, shape):
    """ones(3) − σ(x) = σ(−x); its shape and dtype stay where no partner has them."""
    v = np.array([40.0, -3.0, 0.5], dtype)
    got = rg.stabilize(lambda v: np.log(np.ones(shape, dtype) - sigmoid(v)), precise=False, validate=False)(v)
    want = np.broadcast_to(-np.logaddexp(0, v), np.broadcast_shapes(shape, (3,)))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-6 if dtype is np.float32 else 1e-14)
    mixed = rg.stabilize(lambda v: np.full(shape, 0.1) * v)(v)
    assert mixed.dtype == np.float64 and mixed.shape == np.broadcast_shapes(shape, (3,))
    assert np.signbit(rg.stabilize(lambda v: np.full(shape, -0.0) * v * v)(v)).all()
    assert rg.stabilize(lambda v: np.ones((0, 3), dtype) * v)(v).shape == (0, 3)


STRETCHED = [
    ((3,), (2, 3)),
    ((2, 1), (2, 3)),
    ((1, 1), (2, 3)),
    ((), (2, 3)),
    ((2, 1, 1), (2, 2, 3)),
    ((1,), (1, 3)),
]
KEYS = [
    slice(None),
    slice(1, None),
    slice(0, 1),
    slice(2, 2),
    slice(None, None, 2),
    slice(None, None, -1),
    0,
    -1,
]


@pytest.mark.parametrize("own, shape", STRETCHED)
def test_entries_of_a_broadcast_are_those_of_what_is_stretched(own, shape):
    v = np.arange(1.0, 1 + np.prod(own, dtype=int)).reshape(own)
    t = rg.symbol("v", shape=own).term
    for key in itertools.product(KEYS, repeat=2):
        for k in (key, (..., *key)):
            got = interpret([getitem(broadcast_to(t, shape), k)], {t: v})[0]
            want = np.broadcast_to(v, shape)[k]
            assert np.shape(got) == np.shape(want) and np.all(got == want)


ROWS = np.array([[1.0, 3.0, 2.0, 0.5], [0.25, 1.0, 4.0, 2.0], [2.0, 0.125, 1.0, 3.0]])
LESS = {
    "an entry": (lambda f, x: np.sum(f(x)) - f(x[1]), ROWS[0], np.s_[1:2]),
    "an entry of what is computed": (lambda f, x: np.sum(f(x)) - f(x)[1], ROWS[0], np.s_[1:2]),
    "two entries": (lambda f, x: np.sum(f(x)) - f(x[1]) - f(x[-1]), ROWS[0], np.s_[1::2]),
    "a part": (lambda f, x: np.sum(f(x)) - np.sum(f(x[1:3])), ROWS[0], np.s_[1:3]),
    "an entry of each row": (lambda f, x: np.sum(f(x), 1) - f(x[:, 1]), ROWS, np.s_[:, 1]),
    "a row of all": (lambda f, x: np.sum(f(x), 0) - f(x[2]), ROWS, np.s_[2]),
    "a part of each row": (lambda f, x: np.sum(f(x), 1) - np.sum(f(x[:, ::3]), 1), ROWS, np.s_[:, ::3]),
    "a part of all rows": (lambda f, x: np.sum(f(x)) - np.sum(f(x[1:, ::3])), ROWS, np.s_[1:, ::3]),
}


@pytest.mark.parametrize("which", LESS)
@pytest.mark.parametrize("f", [lambda x: x**2, np.exp, lambda x: x, lambda x: 3 * x * np.sqrt(x)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sum_less_its_entries_is_that_of_the_others(which, f, dtype):
    """Σ f(x) − f(x[1]) = Σ' f(x), whatever is beside it: entries that go may be as large as they like"""
    less, x, gone = LESS[which]
    x, others = x.astype(dtype), np.ones(x.shape)
    x[gone], others[gone] = 40.0, 0.0
    want = less(lambda y: y, np.where(others, f(x), 0.0))
    found = rg.stabilize(lambda x: less(f, x), precise=False)(x)
    np.testing.assert_allclose(found, want, rtol=1e-14 if dtype is np.float64 else 2e-6)
    slope = rg.grad(lambda x: np.sum(less(f, x)), precise=False)(x)
    assert not np.any(slope[gone])


@pytest.mark.parametrize(
    "less",
    [
        lambda x: np.sum(x**2, axis=1)[:, None] - x[1] ** 2,  # an entry of one row, beside all
        lambda x: np.sum(x**2, axis=1) - x[1, :3] ** 2,
        lambda x: np.sum(x**2, axis=1) - x[::-1, 1] ** 2,
        lambda x: np.sum(x**2, axis=0) - np.sum(x[:, ::-1] ** 2, axis=0),
        lambda x: np.sum(x[0] ** 2) - x[0, 1] ** 2 - x[0, -3] ** 2,  # one entry, twice
        lambda x: np.sum(x**2) - np.sum(x[:0] ** 2),
        lambda x: np.sum(x**2) - 2 * x[0, 1] ** 2,
        lambda x: np.sum(x**2) - x[0, 1] ** 3,
        lambda x: np.sum(x[:, :0] ** 2, axis=1) - np.sum(x[:0] ** 2),
    ],
)
def test_entries_that_a_sum_has_not_or_has_once_stay(less):
    for precise in (True, False):
        np.testing.assert_allclose(rg.stabilize(less, precise=precise)(ROWS), less(ROWS), rtol=1e-14)
