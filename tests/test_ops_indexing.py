"""Indexing: equal to NumPy's for every key, scattered back by its pullback, and in one canonical form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from linear_checks import check_derivatives, evaluate, inputs_like, jvp, vjp
from source_checks import both_ways, same_as_numpy

import relgrad as rg
from relgrad import stabilize, symbol
from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.op import as_term
from relgrad.ops.gather import AddAlong, Index, Scatter
from relgrad.ops.moving import Flip
from relgrad.ops.structure import Expand, Squeeze
from relgrad.term import subterms
from relgrad.types import Interval

rng = np.random.default_rng(3)
X = rng.normal(size=(3, 4))
Y = rng.normal(size=(2, 3, 4))


def tracer(*shape, unknown=False):
    return inputs_like([np.zeros(shape)], unknown)[0]


shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def agrees(shape, key, unknown=False):
    """Check values against NumPy, and that the pullback adds g into zeros, entry by entry."""
    x = np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)
    f = lambda z: z[key]
    same_as_numpy(f, x, unknown=unknown)
    g = rng.integers(-4, 5, size=np.shape(x[key])).astype(float)
    (pulled,) = both_ways(vjp(f, 1), x, g, unknown=unknown)[:1]
    expected = np.zeros(shape)
    np.add.at(expected, key, g)
    np.testing.assert_array_equal(pulled, expected)
    (pushed,) = evaluate(jvp(f, 1), x, -x)
    np.testing.assert_array_equal(pushed, -x[key])


@settings(max_examples=150, deadline=None)
@given(st.data(), st.booleans())
def test_basic_keys(data, unknown):
    shape = data.draw(shapes)
    agrees(shape, data.draw(hnp.basic_indices(shape, allow_newaxis=True)), unknown)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_arrays_of_integers(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    agrees(shape, data.draw(hnp.integer_array_indices(shape)), data.draw(st.booleans()))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mixed_keys(data):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=4, min_side=1, max_side=3))
    joint = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=2))
    key = []
    for n in shape:
        kind = data.draw(st.sampled_from(["whole", "slice", "integer", "array", "new"]))
        if kind == "new":
            key.append(None)
        if kind in ("whole", "new"):
            key.append(slice(None))
        elif kind == "slice":
            key.append(data.draw(st.slices(n)))
        elif kind == "integer":
            key.append(data.draw(st.integers(-n, n - 1)))
        else:
            key.append(data.draw(hnp.arrays(np.int64, joint, elements=st.integers(-n, n - 1))))
    agrees(shape, tuple(key), data.draw(st.booleans()))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_masks_that_are_not_traced(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
    rank = data.draw(st.integers(1, len(shape)))
    agrees(shape, data.draw(hnp.arrays(bool, shape[:rank])))


def test_masks_stand_among_other_entries():
    agrees((3, 4), (slice(None), np.array([True, False, True, True])))
    agrees((2, 3, 4), (1, np.eye(3, 4, dtype=bool)))
    agrees((3, 4), ([True, False, True], 2))


def test_lists_are_arrays():
    agrees((3, 4), [0, 2, 2])
    agrees((3, 4), ([0, 1], [[1], [2]]))
    agrees((3, 4), [])


@pytest.mark.parametrize("unknown", [False, True])
def test_traced_integers_are_operands(unknown):
    for f in (
        lambda z, i: z[i],
        lambda z, i: z[:, i],
        lambda z, i: z[i, i],
        lambda z, i: z[i, 1:],
        lambda z, i: z[0, i],
        lambda z, i: z[i[0]],
        lambda z, i: z[1, i[1]],
        lambda z, i: z[:, i[0], None],
        lambda z, i: z[i[:, None], i],
        lambda z, i: np.take(z, i, axis=1),
    ):
        same_as_numpy(f, X, np.array([0, 2, 2, 1]), unknown=unknown)
    same_as_numpy(lambda z: z[np.argmax(z, axis=0), np.arange(4)], X)
    same_as_numpy(lambda z: z[np.argmin(z[:, 0])], X, unknown=unknown)


def test_repeated_entries_add_up():
    (got,) = both_ways(vjp(lambda z: z[[1, 1, 0, 1]], 1), np.zeros(3), np.array([1.0, 2.0, 4.0, 8.0]))[:1]
    np.testing.assert_array_equal(got, [4.0, 11.0, 0.0])
    got, _ = evaluate(
        vjp(lambda z, i: z[i], 2), np.zeros(3, np.float32), np.array([2, 2]), np.ones(2, np.float32)
    )
    np.testing.assert_array_equal(got, [0.0, 0.0, 2.0])
    assert got.dtype == np.float32


NONLINEAR = {
    "slices": lambda z: z[1:] * z[:-1],
    "repeated": lambda z: z[[0, 2, 2, 1]] ** 2,
    "pairs": lambda z: z[[0, 1, 1], [2, 2, 3]] * z[0, :3],
    "steps": lambda z: z[::2, ::-2] * z[0, 1],
    "flipped": lambda z: z[::-1] * z,
    "along": lambda z: np.take_along_axis(z, np.argsort(X, axis=1), axis=1) ** 2,
    "along, repeated": lambda z: np.take_along_axis(z, np.array([[0, 1, 1, 2], [2, 2, 0, 0]]), axis=0) ** 2,
    "along, broadcast": lambda z: np.take_along_axis(z, np.array([[1], [3], [0]]), axis=1) * z,
    "along all": lambda z: np.take_along_axis(z, np.array([3, 3, 11]), axis=None) ** 2,
    "diff": lambda z: np.diff(z, axis=0) ** 2,
    "second diff": lambda z: np.diff(z, 2) * z[:, 2:],
    "diff with ends": lambda z: np.diff(z, prepend=0.0, append=z[:, :1]),
    "take": lambda z: np.take(z, [5, 5, 0]) ** 2,
    "largest": lambda z: z[np.argmax(z, axis=0), np.arange(4)] ** 2,
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_derivatives_to_second_order(name):
    same_as_numpy(NONLINEAR[name], X)
    check_derivatives(NONLINEAR[name], X)


@pytest.mark.parametrize("name", [n for n in NONLINEAR if n not in ("along all", "take")])
def test_pullbacks_with_unknown_extents(name):
    f = NONLINEAR[name]
    same_as_numpy(f, X, unknown=True)
    g = rng.normal(size=f(X).shape)
    known, unknown = (both_ways(vjp(f, 1), X, g, unknown=u)[0] for u in (False, True))
    np.testing.assert_allclose(known, unknown, rtol=1e-14)


def test_derivatives_through_traced_indices():
    i = np.array([[0, 2, 1, 1]])
    check_derivatives(lambda z: z[np.argsort(i[0])] * z[i[0]], rng.normal(size=4))
    g = rng.normal(size=(1, 4))
    got, _ = both_ways(vjp(lambda z, k: np.take_along_axis(z, k, axis=0), 2), X, i, g)
    expected = np.zeros((3, 4))
    expected[i[0], np.arange(4)] = g
    np.testing.assert_array_equal(got, expected)


def test_take_along_axis_broadcasts_the_data():
    row, indices = rng.normal(size=(1, 4)), np.array([[0, 1], [3, 3], [2, 0]])
    same_as_numpy(lambda z: np.take_along_axis(z, indices, axis=1), row)
    check_derivatives(lambda z: np.take_along_axis(z, indices, axis=1) ** 2, row)


def test_booleans_differ_by_exclusive_or():
    same_as_numpy(lambda z: np.diff(z > 0, axis=1), X)


# Canonical form


def test_what_selects_everything_is_the_operand():
    x = tracer(3, 4)
    for same in (x[...], x[:], x[:, :], x[0:3], x[..., 0:], x[-3:, :9], x[::-1][::-1]):
        assert as_term(same) is as_term(x)


def test_new_axes_and_units_are_expansions_and_squeezes():
    x = tracer(3, 4)
    assert as_term(x[:, None]).op == Expand((-2,))
    assert as_term(x[None, ..., None]).op == Expand((-4, -1))
    kept = np.sum(x, axis=1, keepdims=True)
    assert as_term(kept[:, 0]) is as_term(np.sum(x, axis=1))
    assert as_term(kept[:, -1]) is as_term(kept.squeeze(1))
    assert as_term(kept[:, :1]) is as_term(kept)
    assert as_term(np.sum(x, axis=1)[:, None]) is as_term(kept)
    assert isinstance(as_term(np.sum(x, axis=1)[1:]).op, Squeeze)


def test_reversed_axes_are_flips():
    x = tracer(3, 4)
    assert as_term(x[::-1]).op == Flip((-2,))
    assert as_term(x[:, ::-1]) is as_term(np.flip(x, 1))
    assert as_term(x[-1::-1, 3::-1]) is as_term(np.flip(x))


def test_one_selection_has_one_term():
    x = tracer(6, 4)
    assert as_term(x[-1]) is as_term(x[5]) is as_term(np.take(x, 5, axis=0))
    assert as_term(x[1:5]) is as_term(x[1:-1]) is as_term(x[1:5, :]) is as_term(x[1:5:1])
    assert as_term(x[0:5:2]) is as_term(x[0:6:2]) is as_term(x[::2])
    assert as_term(x[4:1:-2]) is as_term(x[4:0:-2]) is not as_term(x[2:5:2])
    assert as_term(x[[1, 2]]) is as_term(x[np.array([1, 2], np.int8)])


def test_sources_are_plain_indexing():
    x = tracer(6, 4)
    assert as_term(x[1:5, 2]).op.source(None, ["x"]) == "x[1:5, 2]"
    assert as_term(x[:, [1, 2]]).op.source(None, ["x", "i"]) == "x[:, i]"
    assert Scatter(((1, 5, None),), (6, 4)).source(None, ["g"]) == "put_at(g, np.s_[1:5], (6, 4))"
    assert Scatter(("array",), None).source(None, ["g", "i", "x"]) == "add_at(g, np.s_[i], np.shape(x))"


def test_scatters_without_arrays_assign():
    (x,) = inputs_like([X])
    pulled = as_term(vjp(lambda z: z[1:, 0], 1)(x, np.ones(2))[0])
    assert [t.op.imports for t in subterms(pulled) if isinstance(t.op, Scatter)] == [("put_at",)]


# Refusals


def test_indices_out_of_bounds():
    x = tracer(3, 4)
    for key in (3, -4, (0, 4), [0, 3], (slice(None), [-5])):
        with pytest.raises(ShapeError, match="out of bounds"):
            x[key]
    with pytest.raises(ShapeError, match="out of bounds"):
        np.take_along_axis(x, np.array([[4]]), axis=1)
    with pytest.raises(ShapeError, match="too many indices"):
        x[0, 0, 0]
    with pytest.raises(ShapeError, match="single ellipsis"):
        x[..., ...]
    with pytest.raises(ShapeError, match="must broadcast"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(ShapeError, match="cannot be zero"):
        x[::0]


def test_masks_that_are_traced():
    x = tracer(3, 4)
    with pytest.raises(TraceError, match=r"np\.where\(mask, x, 0\)"):
        x[x > 0]


def test_one_truth_value_chooses_all_of_an_array_or_nothing():
    x = np.arange(12.0).reshape(3, 4)
    for key in (True, False, np.True_):
        np.testing.assert_array_equal(rg.stabilize(lambda x, k=key: x[k] * 2)(x), x[key] * 2)


def test_keys_that_are_not_indices():
    x = tracer(3, 4)
    with pytest.raises(TraceError, match="floats"):
        x[x[0]]
    with pytest.raises(TraceError, match="floats"):
        x[[0.5]]
    with pytest.raises(TraceError, match="cannot become an index"):
        x[np.argmax(x[0]) :]
    with pytest.raises(TraceError, match="indexed with 'a'"):
        x["a"]
    with pytest.raises((TraceError, ValueError), match="mode"):
        np.take(x, [0], axis=0, mode="nowhere")
    with pytest.raises(IndexError, match="must be an integer array"):
        np.take_along_axis(x, np.ones((3, 1)), axis=1)


def test_patterns_are_indexed_from_the_right():
    from relgrad.op import Op, Symbolic
    from relgrad.ops.indexing import getitem
    from relgrad.term import Unknown

    class Anything(Op):
        pass

    Unknown.register(Anything)
    x = Symbolic(Anything())
    assert getitem(x, (..., None)).op == Expand((-1,))
    assert getitem(x, (..., None, slice(None))).op == Expand((-2,))
    for key in (0, (slice(None), None), (..., slice(1, None))):
        with pytest.raises(RelationError, match="pattern can only be indexed"):
            getitem(x, key)


# Ranges and balls


def test_ranges_of_what_is_scattered():
    positive = Interval(1.0, 2.0)
    assert Index((0,)).range_of(positive) == positive
    assert Scatter((0,), (3,)).range_of(positive) == Interval(0.0, 2.0)
    assert Scatter(("array",), (3,)).range_of(positive) == Interval(0.0, np.inf)
    assert AddAlong(-1, (3,)).range_of(-positive) == Interval(-np.inf, 0.0)


def test_balls_are_gathered_and_scattered():
    flint = pytest.importorskip("flint")
    balls = np.vectorize(flint.arb, otypes=[object])
    floats = np.vectorize(float, otypes=[float])
    i = np.array([2, 0, 2])
    np.testing.assert_array_equal(floats(Index(("array",)).ball(balls(X), balls(i))), X[i])
    scattered = Scatter(("array",), (3, 4)).ball(balls(X), balls(i))
    expected = np.zeros((3, 4))
    np.add.at(expected, i, X)
    assert all(isinstance(v, flint.arb) for v in scattered.ravel())
    np.testing.assert_allclose(floats(scattered), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("key", "same"),
    [
        (0, lambda a, b: a[0]),
        (-1, lambda a, b: b[-1]),
        (slice(2, None), lambda a, b: b),
        (slice(0, 2), lambda a, b: a),
        (slice(4, 1, -2), lambda a, b: b[::-2]),
        ((3, slice(1, None)), lambda a, b: b[1, 1:]),
        ((slice(1, 2), None), lambda a, b: a[1:][:, None]),
    ],
)
def test_entries_of_a_concatenation_are_those_of_its_operand(key: Any, same: Any) -> None:
    a, b = (symbol(name, shape=(n, 2)) for name, n in (("a", 2), ("b", 3)))
    assert as_term(np.concatenate([a, b])[key]) is as_term(same(a, b))


def test_entries_of_several_operands_are_those_of_the_concatenation() -> None:
    a, b = np.arange(4.0).reshape(2, 2), np.arange(6, dtype=np.float32).reshape(3, 2)
    for key in (slice(1, 3), slice(None, None, 2), slice(0, 0), [0, 3], slice(2, None), 4):
        got = stabilize(lambda a, b, key=key: np.concatenate([a, b])[key])(a, b)
        want = np.concatenate([a, b])[key]
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
