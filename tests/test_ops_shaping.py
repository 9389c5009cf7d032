"""Shapes: equal to NumPy's, transposed by their pullbacks, and in one canonical form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from linear_checks import check_derivatives, inputs_like
from source_checks import both_ways, same_as_numpy

from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.op import as_term, constant
from relgrad.ops.creation import stack_nested
from relgrad.ops.gather import Index
from relgrad.ops.joining import Concatenate
from relgrad.ops.repeating import Pad
from relgrad.ops.shaping import Reshape, Transpose, transpose
from relgrad.ops.structure import Expand, Squeeze, broadcast_to
from relgrad.types import Interval

rng = np.random.default_rng(2)
X = rng.normal(size=(3, 4))
Y = rng.normal(size=(2, 3, 4))
V = rng.normal(size=5)


def tracer(*shape, unknown=False):
    return inputs_like([np.zeros(shape)], unknown)[0]


EVERYWHERE = {
    "T": lambda z: z.T,
    "transpose": lambda z: np.transpose(z, (1, 0)),
    "transpose method": lambda z: z[None].transpose(2, 0, 1),
    "swapaxes": lambda z: z.swapaxes(0, 1),
    "matrix_transpose": lambda z: np.matrix_transpose(z),
    "moveaxis": lambda z: np.moveaxis(z[..., None], [0, 2], [-1, 0]),
    "rollaxis": lambda z: np.rollaxis(z, 1),
    "rollaxis to the end": lambda z: np.rollaxis(z, 0, 2),
    "expand_dims": lambda z: np.expand_dims(z, (0, -1)),
    "squeeze": lambda z: np.squeeze(z[:, None, :, None], axis=(1, -1)),
    "squeeze all": lambda z: z[None].squeeze(),
    "concatenate": lambda z: np.concatenate([z, 2 * z, np.ones((1, 4))]),
    "concatenate columns": lambda z: np.concatenate((z, z * z), axis=-1),
    "stack": lambda z: np.stack([z, z * z], axis=1),
    "stack last": lambda z: np.stack([z, z * z], -1),
    "vstack": lambda z: np.vstack([z, z[0]]),
    "hstack": lambda z: np.hstack([z, z]),
    "hstack of vectors": lambda z: np.hstack([z[0], z[1]]),
    "dstack": lambda z: np.dstack([z, z]),
    "column_stack": lambda z: np.column_stack([z, z[:, 0]]),
    "flip": np.flip,
    "flip one": lambda z: np.flip(z, -1),
    "flipud": np.flipud,
    "fliplr": np.fliplr,
    "roll": lambda z: np.roll(z, 1, axis=0),
    "roll several": lambda z: np.roll(z, (1, -2), axis=(0, 1)),
    "triu": np.triu,
    "tril": lambda z: np.tril(z, -1),
    "pad": lambda z: np.pad(z, 1),
    "pad unevenly": lambda z: np.pad(z, ((1, 2), (0, 3))),
    "pad with values": lambda z: np.pad(z, ((1, 2), (0, 1)), constant_values=2.5),
    "atleast_2d": lambda z: np.atleast_2d(z[0]),
    "atleast_3d": np.atleast_3d,
    "tile": lambda z: np.tile(z, (2, 3)),
    "tile more axes": lambda z: np.tile(z, (2, 1, 2)),
    "copy": lambda z: np.copy(z) * z.copy(),
    "zeros_like": lambda z: np.zeros_like(z) + z,
    "full_like": lambda z: np.full_like(z, 2.5) * z,
    "full_like traced": lambda z: np.full_like(z, z[0]) * z,
    "linspace": lambda z: np.linspace(z[0] ** 2, 1 + z[1] ** 2, 5, axis=1),
}
WHERE_KNOWN = {
    "reshape": lambda z: z.reshape(2, 6),
    "reshape in columns": lambda z: np.reshape(z, (4, 3), order="F"),
    "reshape with units": lambda z: z.reshape(1, 6, 1, -1),
    "ravel": np.ravel,
    "flatten in columns": lambda z: z.flatten("F"),
    "append": lambda z: np.append(z, z[0]),
    "concatenate all": lambda z: np.concatenate([z, z[0]], axis=None),
    "repeat": lambda z: z.repeat(3, axis=0),
    "repeat all": lambda z: np.repeat(z, 2),
    "repeat unevenly": lambda z: np.repeat(z, [1, 0, 2], axis=0),
    "roll all": lambda z: np.roll(z, 5),
    "pad edge": lambda z: np.pad(z, 1, mode="edge"),
    "pad reflect": lambda z: np.pad(z, ((1, 2), (0, 3)), mode="reflect"),
    "pad symmetric": lambda z: np.pad(z, ((1, 0), (2, 1)), mode="symmetric"),
    "pad wrap": lambda z: np.pad(z, 2, mode="wrap"),
    "broadcast_to": lambda z: np.broadcast_to(z, (2, 3, 4)),
    "triu of a vector": lambda z: np.triu(z[0]),
}


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys_with_any_extents(name, unknown, dtype):
    same_as_numpy(EVERYWHERE[name], X.astype(dtype), unknown=unknown)


@pytest.mark.parametrize("name", WHERE_KNOWN)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_values_are_numpys_with_known_extents(name, dtype):
    same_as_numpy(
        WHERE_KNOWN[name], (X > 0).astype(dtype) if dtype in (np.int64, np.bool_) else X.astype(dtype)
    )


@pytest.mark.parametrize("name", [*EVERYWHERE, *WHERE_KNOWN])
def test_pullbacks_transpose_pushforwards(name):
    check_derivatives({**EVERYWHERE, **WHERE_KNOWN}[name], X)


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0)])
def test_pullbacks_of_transposes_go_back(order):
    check_derivatives(lambda z: np.transpose(z, order), Y)
    check_derivatives(lambda z: np.moveaxis(z, 0, order[0]) ** 2, Y)


def test_pullbacks_of_unknown_extents():
    from linear_checks import evaluate, vjp

    for name in EVERYWHERE:
        g = rng.normal(size=np.shape(EVERYWHERE[name](X)))
        known, unknown = (evaluate(vjp(EVERYWHERE[name], 1), X, g, unknown=u)[0] for u in (False, True))
        np.testing.assert_allclose(known, unknown, rtol=1e-14, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(
    st.permutations([0, 1, 2]),
    st.permutations([0, 1, 2]),
    hnp.array_shapes(min_dims=3, max_dims=3, max_side=3),
)
def test_transposes_compose(first, second, shape):
    x = rng.normal(size=shape)
    same_as_numpy(lambda z: np.transpose(np.transpose(z, first), second), x)
    z = tracer(*shape)
    once = np.transpose(z, [first[i] for i in second])
    if shape.count(1) < 2:  # which of several axes of extent 1 is which cannot be told
        assert as_term(np.transpose(np.transpose(z, first), second)) is as_term(once)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_reshapes_are_numpys(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
    size = int(np.prod(shape))
    new = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 6, size]), max_size=4))
    if data.draw(st.booleans()) and new:
        new[data.draw(st.integers(0, len(new) - 1))] = -1
    x = np.arange(float(size)).reshape(shape)
    try:
        x.reshape(new)
    except ValueError:
        with pytest.raises(ShapeError, match="cannot reshape"):
            tracer(*shape).reshape(new)
    else:
        same_as_numpy(lambda z: z.reshape(new), x)
        term = as_term(tracer(*shape).reshape(new))
        assert [n for n in shape if n != 1] != [n for n in term.type.shape if n != 1] or not _uses(
            term, Reshape
        )


def _uses(node, op):
    from relgrad.term import subterms

    return any(isinstance(t.op, op) for t in subterms(node))


def test_inserting_and_removing_axes_is_one_thing():
    s = tracer(5)
    column = as_term(s[:, None])
    assert isinstance(column.op, Expand)
    for same in (
        s.reshape(-1, 1),
        s.reshape((5, 1)),
        np.expand_dims(s, 1),
        s[None].T,
        s[None, :].reshape(5, 1),
    ):
        assert as_term(same) is column
    assert as_term(s.reshape(1, -1)) is as_term(s[None]) is as_term(np.atleast_2d(s))
    assert as_term(s[:, None].ravel()) is as_term(s[:, None].squeeze()) is as_term(s)
    unknown = tracer(5, unknown=True)
    assert as_term(unknown.reshape(-1, 1)) is as_term(unknown[:, None])


def test_reshapes_collapse():
    x = tracer(3, 4)
    assert as_term(x.reshape(12).reshape(2, 6)) is as_term(x.reshape(2, 6))
    assert as_term(x.reshape(2, 6).reshape(3, 4)) is as_term(x)
    assert as_term(x.reshape(6, 2)[None].reshape(3, 1, 4)) is as_term(x[:, None])
    assert as_term(x.reshape(6, 2, 1)) is as_term(x.reshape(6, 2)[..., None])
    assert as_term(x.reshape(x.shape)) is as_term(x)


def test_nothing_is_done_twice():
    x = tracer(3, 4)
    for same in (
        x.T.T,
        np.swapaxes(x.T, 0, 1),
        np.flip(np.flip(x)),
        np.roll(np.roll(x, 1, 0), 2, 0),
        x.copy(),
        np.pad(x, 0),
    ):
        assert as_term(same) is as_term(x)
    assert as_term(np.triu(np.triu(x))) is as_term(np.triu(x))
    assert as_term(np.flip(np.flipud(x), 1)) is as_term(np.flip(x))
    assert as_term(np.concatenate([x])) is as_term(x)
    assert as_term(np.tile(x, 1)) is as_term(np.repeat(x, 1, axis=0)) is as_term(x)


def test_transposes_that_only_move_units_are_squeezes():
    s = np.sum(tracer(3, 4), axis=1, keepdims=True)
    assert as_term(s.T) is as_term(s[:, 0][None])
    assert not _uses(as_term(s.T), Transpose)
    row = np.sum(tracer(3, 4), axis=1)
    assert not _uses(as_term(row.T), Transpose)


def test_squeezes_float_out_of_transposes():
    x = tracer(2, 3, 4)
    mixed = as_term(np.sum(x, axis=1).T)
    assert isinstance(mixed.op, Squeeze)
    same_as_numpy(lambda z: np.sum(z, axis=1).T, Y)
    same_as_numpy(lambda z: np.flip(np.cumsum(np.sum(z, axis=1), axis=0), 1), Y)


def test_extents_that_must_be_known_are_asked_for():
    with pytest.raises(ShapeError, match="an extent is not known yet"):
        tracer(3, 4, unknown=True).reshape(-1)
    with pytest.raises(ShapeError, match="extent"):
        np.pad(tracer(3, unknown=True), 1, mode="edge")


def test_what_does_not_fit_is_refused():
    x = tracer(3, 4)
    with pytest.raises(ShapeError, match="12 entries"):
        x.reshape(5, -1)
    with pytest.raises(ShapeError, match="its extent is not 1"):
        np.squeeze(x, 0)
    with pytest.raises(ShapeError, match="differ along axis -1"):
        np.concatenate([x, x[:, :2]])
    with pytest.raises(ShapeError, match="differ in rank"):
        np.concatenate([x, x[0]])
    with pytest.raises(ShapeError, match="no permutation"):
        np.transpose(x, (0, 0))
    with pytest.raises(ValueError, match="equal division"):
        np.split(x, 2)
    with pytest.raises(TraceError, match="mode 'mirror'"):
        np.pad(x, 1, mode="mirror")
    with pytest.raises(TraceError, match="cannot become an ndarray"):
        np.repeat(x, inputs_like([np.array(2)])[0], axis=0)


def test_patterns_know_axes_from_the_right_only():
    from relgrad.op import Op, Symbolic
    from relgrad.ops.axes import expand_dims, squeeze_function
    from relgrad.ops.shaping import reshape, swapaxes
    from relgrad.term import Unknown

    class Anything(Op):
        pass

    Unknown.register(Anything)
    x = Symbolic(Anything())
    assert (
        swapaxes(x, -1, -2).op == Transpose((-1, -2)) == transpose(as_term(tracer(2, 3, 4)), (-3, -1, -2)).op
    )
    assert expand_dims(x, -1).op == Expand((-1,))
    assert squeeze_function(x, -2).op == Squeeze((-2,))
    for refused in (lambda: swapaxes(x, 0, 1), lambda: reshape(x, (-1,)), lambda: expand_dims(x, 0)):
        with pytest.raises(RelationError, match="cannot stand in a relation"):
            refused()


def test_several_results():
    for split in (
        lambda z: np.split(z, 2, axis=1),
        lambda z: np.array_split(z, 3, axis=1),
        lambda z: np.array_split(z, [1, 2, 9]),
        lambda z: np.hsplit(z, 2),
        lambda z: np.vsplit(z, 3),
        lambda z: np.broadcast_arrays(z, z[:1], z[0]),
        lambda z: np.meshgrid(z[0], z[:, 0]),
        lambda z: np.meshgrid(z[0], z[:, 0], indexing="ij", sparse=True),
        lambda z: np.atleast_1d(z, z[0, 0]),
    ):
        same_as_numpy(split, X)
    same_as_numpy(lambda z: np.broadcast_arrays(z[:, :1], z[:1]), X, unknown=True)


@pytest.mark.parametrize("retstep", [False, True])
@pytest.mark.parametrize("endpoint", [False, True])
def test_linspace_between_traced_ends(endpoint, retstep):
    f = lambda a, b: np.linspace(a, b, 7, endpoint=endpoint, retstep=retstep)
    same_as_numpy(f, np.float64(0.1), np.float64(2.3))
    same_as_numpy(f, np.float32(0.1), np.float32(2.3))
    (grid,) = both_ways(lambda a, b: np.linspace(a, b, 7), np.float64(0.1), np.float64(2.3))
    assert grid[0] == 0.1 and grid[-1] == 2.3
    same_as_numpy(lambda a: np.logspace(a, 2 * a, 4), np.float64(0.5))


def test_creation_like_a_tracer():
    (x,) = inputs_like([X])
    for made, plain in (
        (np.zeros((2, 3), like=x), np.zeros((2, 3))),
        (np.ones(3, np.float32, like=x), np.ones(3, np.float32)),
        (np.full((2,), 7, like=x), np.full((2,), 7)),
        (np.arange(3, like=x), np.arange(3)),
        (np.eye(2, like=x), np.eye(2)),
        (np.ones_like(x, dtype=int), np.ones_like(X, dtype=int)),
        (np.zeros_like(x, shape=(2,)), np.zeros(2)),
    ):
        node = as_term(made)
        assert (node.type.dtype, node.type.shape) == (plain.dtype, plain.shape)
        from relgrad.interpret import interpret

        np.testing.assert_array_equal(interpret([node], {})[0], plain)


def test_nested_lists_stack():
    same_as_numpy(
        lambda a, b: np.stack([[a, b, 1.0], [b, a, 2.0]]) if isinstance(a, np.generic) else np.stack([a, a]),
        V,
        V,
    )
    a, b = inputs_like([np.float64(0), np.float64(0)])
    node = stack_nested([[a, b], [1.0, a]])
    assert node.type.shape == (2, 2)
    assert stack_nested([1.0, 2.0]) is constant(np.array([1.0, 2.0]))
    with pytest.raises(ShapeError, match="differ in shape"):
        stack_nested([[a, b], [a]])


def test_dtypes_promote_as_in_numpy():
    x = np.ones((2, 2), np.float32)
    same_as_numpy(lambda z: np.concatenate([z, np.ones((1, 2))]), x)
    same_as_numpy(lambda z: np.concatenate([z, np.ones((1, 2), np.float32)]), x)
    same_as_numpy(lambda z: np.append(z, 1.0), x)
    same_as_numpy(lambda z: np.concatenate([z, z], dtype=np.float64), x)
    same_as_numpy(lambda z: np.pad(z, 1, constant_values=2.5), x)


def test_linear_ops_say_so_and_ranges_pass():
    unit = Interval(0.5, 1.0)
    for op in (Reshape((2,)), Transpose((-1, -2)), Index((0,))):
        assert op.laws.linear == (0,)
        assert op.range_of(unit) == unit
    assert Pad(((1, 1),)).range_of(unit) == Interval(0.0, 1.0)
    assert Concatenate(-1).range_of(unit, Interval(2.0, 3.0)) == Interval(0.5, 3.0)


@pytest.mark.parametrize("name", [*EVERYWHERE, *WHERE_KNOWN])
def test_every_op_evaluates_in_balls(name):
    flint = pytest.importorskip("flint")
    from relgrad.op import Constant
    from relgrad.term import subterms

    f = {**EVERYWHERE, **WHERE_KNOWN}[name]
    (x,) = inputs_like([X])
    root = as_term(f(x))
    balls = {x.term: np.vectorize(flint.arb, otypes=[object])(X)}
    for node in subterms(root):
        if node not in balls:
            balls[node] = node.op.ball(*[balls[r] for r in node.rands])
        assert isinstance(node.op, Constant) or all(isinstance(b, flint.arb) for b in np.ravel(balls[node]))
    np.testing.assert_allclose(np.vectorize(float, otypes=[float])(balls[root]), f(X), rtol=1e-14)


def test_broadcasts_are_the_leads():
    x = tracer(4)
    assert as_term(np.broadcast_to(x, (3, 4))) is broadcast_to(as_term(x), (3, 4))
