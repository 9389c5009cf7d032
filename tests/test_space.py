"""The law of index spaces: a sum counts what stands under it, whatever that is read as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relgrad as rg
from relgrad.interpret import interpret
from relgrad.logic.build import build_product, fit
from relgrad.logic.equality import equal_ground
from relgrad.logic.match import match
from relgrad.logic.space import Space, bare, nested, shape_of, space_of, spread
from relgrad.logic.unify import fresh
from relgrad.logic.view import product_of
from relgrad.logscale.domain import joined_sum, logarithm
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.ops.exponential import exp
from relgrad.ops.extremes import Max
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import broadcast_to
from relgrad.term import Term, term

EXTENTS = st.sampled_from([1, 2, 3])


@st.composite
def sums(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Draw a shape, axes to sum over, and a shape that broadcasts to the first."""
    shape = tuple(draw(st.lists(EXTENTS, min_size=1, max_size=3)))
    axes = draw(st.sets(st.integers(-len(shape), -1), min_size=1))
    return shape, tuple(sorted(axes)), draw(smaller(shape))


@st.composite
def smaller(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draw a shape that broadcasts to another."""
    return tuple([n if draw(st.booleans()) else 1 for n in shape[draw(st.integers(0, len(shape))) :]])


def array(shape: tuple[int, ...], start: float = 1.0) -> Any:
    return np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape) / 7


def value(t: Term, **arrays: Any) -> Any:
    return interpret([t], {SYMBOLS[name, x.shape]: x for name, x in arrays.items()})[0]


SYMBOLS: dict[Any, Term] = {}


def variable(name: str, shape: tuple[int, ...]) -> Any:
    return SYMBOLS.setdefault((name, shape), rg.symbol(name, shape=shape).term)


@given(sums())
def test_a_sum_counts_what_is_repeated_along_its_axes(drawn):
    shape, axes, small = drawn
    x = array(small)
    whole = np.broadcast_to(x, shape).sum(axes, keepdims=True)
    space = space_of({a: shape[a] for a in axes}, small)
    assert np.allclose(whole, space.multiplicity * x.sum(space.axes, keepdims=True))
    assert not space.varying.keys() & space.repeated.keys()


@given(sums(), st.data())
def test_a_sum_of_sums_is_one_sum_that_counts_what_both_run_over(drawn, data):
    shape, inner, _ = drawn
    x = array(shape)
    partial = x.sum(inner, keepdims=True)
    # What the outer sum is of: the inner one, stretched to a shape with extents of its own.
    wide = tuple([data.draw(EXTENTS) if n == 1 else n for n in partial.shape])
    outer = tuple(sorted(data.draw(st.sets(st.integers(-len(wide), -1), min_size=1))))
    whole = np.broadcast_to(partial, wide).sum(outer, keepdims=True)
    summed, times = nested({a: wide[a] for a in outer}, inner, shape)
    space = space_of(summed, shape, times)
    assert np.allclose(whole, space.multiplicity * x.sum(space.axes, keepdims=True))


def test_extents_that_are_not_known_are_not_counted():
    assert space_of({-1: None}, (5, 1)).multiplicity is None
    assert space_of({-1: None}, (5, None)) == Space({-1: None}, {})
    assert nested({-1: None}, (-1,), (3,))[1] is None


@given(sums())
def test_what_is_spread_is_counted_as_what_it_stands_for(drawn):
    shape, axes, small = drawn
    x, like = constant(array(small)), constant(array(shape))
    stretched = spread(x, like, axes)
    assert all(stretched.type.extent(a) == like.type.extent(a) for a in axes)
    assert np.array_equal(
        np.broadcast_to(stretched.op.value if not stretched.rands else array(small), shape),
        np.broadcast_to(array(small), shape),
    )


@given(st.lists(EXTENTS, max_size=3).map(tuple))
def test_a_bare_shape_broadcasts_to_the_same_arrays(shape):
    assert bare((1, *shape)) == bare(shape)
    assert np.broadcast_shapes(bare(shape), shape) == shape


@given(sums())
@settings(max_examples=40, deadline=None)
def test_views_of_sums_have_their_value(drawn):
    shape, axes, small = drawn
    x, y = variable("x", small), variable("y", shape)
    for body in (broadcast_to(x, shape), multiply(x, y), add(x, y), exp(add(x, y))):
        if body.type.shape != shape:
            continue
        t = Sum(axes).make_node(body)
        view = product_of(t)
        arrays = {"x": array(small), "y": array(shape, 0.5)}
        found = value(fit(build_product(view, t.type.dtype), t), **arrays)
        assert np.allclose(found, value(t, **arrays))
        assert shape_of(view.factors) is not None


@given(sums(), st.data())
@settings(max_examples=60, deadline=None)
def test_the_log_domain_counts_as_sums_do(drawn, data):
    shape, axes, small = drawn
    x, y = variable("x", small), variable("y", shape)
    arrays = {"x": array(small, -1.0), "y": array(shape, 0.5)}
    inner = Sum(tuple(sorted(data.draw(st.sets(st.sampled_from(axes), min_size=1))))).make_node(exp(y))
    for summand in (add(exp(x), inner), multiply(exp(x), add(inner, exp(y))), add(inner, constant(2.0))):
        t = Sum(axes).make_node(broadcast_to(summand, shape))
        joined = joined_sum(t)
        if joined is not None:
            assert np.allclose(np.exp(value(fit(joined.log(), t), **arrays)), value(t, **arrays))
        found = logarithm(t)
        if found is not None:
            assert np.allclose(np.exp(value(fit(found, t), **arrays)), value(t, **arrays))


@given(sums(), st.data())
@settings(max_examples=40, deadline=None)
def test_shares_are_shares(drawn, data):
    shape, axes, small = drawn
    x, y = variable("x", small), variable("y", shape)
    arrays = {"x": array(small, -1.0), "y": array(shape, 0.5)}
    t = Sum(axes).make_node(broadcast_to(add(exp(x), exp(y)), shape))
    joined = joined_sum(t)
    for i, piece in enumerate(joined.pieces if joined is not None else ()):
        body = np.exp(value(piece.exponent, **arrays)) * float(piece.factors.coefficient)
        share = body / value(t, **arrays)
        assert np.allclose(np.broadcast_to(value(joined.share(i), **arrays), share.shape), share)


def test_broadcast_operands_are_not_taken_for_what_they_are_stretched_from():
    x, y = variable("x", (1, 4)), variable("y", (1, 3))
    wide, tall = broadcast_to(x, (3, 4)), broadcast_to(y, (4, 3))
    once, often = (
        MatMul().make_node(variable("x", (3, 1)), y),
        MatMul().make_node(broadcast_to(variable("x", (3, 1)), (3, 4)), tall),
    )
    assert not equal_ground(once, often)
    assert equal_ground(wide, x)  # a broadcast alone changes no value
    assert not equal_ground(Sum((-2,)).make_node(multiply(wide, constant(array((3, 1))))), x)


@pytest.mark.parametrize("op", [Max((-1,)), Sum((-1,))])
def test_variables_are_bound_to_what_an_op_counts(op):
    a, b = fresh("a"), fresh("b")
    x, y = variable("x", (3, 1)), variable("y", (3, 1))
    subject = term(op, broadcast_to(multiply(x, y), (3, 4)))
    for state in match(term(op, multiply(a, b)), subject, {}):
        assert multiply(state[a], state[b]).type.extent(-1) == 4


ISSUE = {
    "softmax of a matrix with one in it": lambda z: np.exp(z) / (1 + np.sum(np.exp(z))),
    "a sum inside a sum": lambda z: np.log(np.sum(np.exp(z).sum() + np.exp(z))),
    "shares of column sums": lambda z: (lambda n: n / np.sum(n + 1))(np.exp(z).sum(0)),
    "sums of two lengths": lambda z: np.log(np.sum(np.exp(z[0])) + np.sum(np.exp(z[:, 0]))),
    "Dice loss of logistic functions": lambda z: (
        1 - 2 * np.sum(1 / (1 + np.exp(-z)) * (z > 0)) / (np.sum(1 / (1 + np.exp(-z))) + np.sum(z > 0) + 1e-7)
    ),
    "spatial softmax with an epsilon": lambda z: (
        np.exp(z) / (np.exp(z).sum(axis=(-2, -1), keepdims=True) + 1e-7)
    ),
    "shares of a matrix": lambda z: (lambda p: p / (p.sum() + 1e-7))(np.exp(z)),
    "kernel weights": lambda z: (lambda k: k / k.sum(1, keepdims=True))(np.exp(-((z[:, :1] - z[:, 0]) ** 2))),
    "additive smoothing": lambda z: (lambda p: (p + 0.1) / (p + 0.1).sum())(np.exp(z) / np.exp(z).sum(0)),
    "roots beside a sum of any sign": lambda z: np.exp(z / 2) / (np.exp(z) - 2),
    "a sum of any sign over a root": lambda z: (np.exp(z) - 2) / np.exp(z / 3),
    "an entry of a root beside a sum of any sign": lambda z: np.exp(z / 2)[0] / (np.exp(z).sum(0) - 9),
    "a variance of shares of steep exponentials": lambda z: (lambda p: p / p.mean() / (p.var(axis=0) + 1))(
        np.exp(np.exp(2 * z) - np.exp(2 * z).max())
    ),
    "a root of squares": lambda z: np.sqrt((1 - np.cos(z)) / (1 + np.cos(z))),
    "products over axes": lambda z: (lambda e: np.log(e / e.prod(axis=(0, 1), keepdims=True)))(
        np.exp(z) ** 2 / np.exp(2 * z) * np.exp(z) / np.exp(z - np.max(z))
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ISSUE)
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_values_are_those_of_numpy(name, strategy):
    f, z = ISSUE[name], np.random.default_rng(3).normal(size=(5, 3))
    assert np.allclose(rg.stabilize(f, strategy=strategy)(z), f(z), rtol=1e-12)
    w = np.random.default_rng(4).normal(size=np.shape(f(z)))
    loss, d = lambda z: np.sum(w * f(z)), np.random.default_rng(5).normal(size=z.shape)
    slope = (loss(z + 1e-6 * d) - loss(z - 1e-6 * d)) / 2e-6
    assert np.isclose(np.sum(rg.grad(loss, strategy=strategy)(z) * d), slope, rtol=1e-6, atol=1e-9)
