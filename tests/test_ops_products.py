"""Products of arrays: equal to NumPy's, of the inferred type, with the right derivatives to second order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_checks import check_derivatives, evaluate, inputs_like, vjp

import relgrad as rg
from relgrad.errors import ShapeError, TraceError
from relgrad.op import as_term
from relgrad.ops.einsum import Einsum, parse
from relgrad.ops.matmul import MatMul
from relgrad.term import subterms

rng = np.random.default_rng(0)
start = rng.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers():
    """Draw the same numbers whichever tests run, and in whatever order."""
    rng.bit_generator.state = start


def agrees(f, *arrays, unknown=False, rtol=1e-12):
    (ours,), theirs = evaluate(f, *arrays, unknown=unknown), f(*arrays)
    assert ours.dtype == theirs.dtype
    assert ours.shape == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5 if ours.dtype == np.float32 else rtol, atol=rtol)


def arrays(*shapes, dtype=np.float64):
    return [np.asarray(rng.normal(size=shape) * 3, dtype) for shape in shapes]


def heads(f, *operands):
    return [type(t.op).__name__ for t in subterms(as_term(f(*inputs_like(operands)))) if t.rands]


MATMUL = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((1, 3), (3, 1)),
    ((3, 1), (1, 4)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((4, 0, 3), (3,)),
]


@pytest.mark.parametrize("shapes", MATMUL)
def test_matmul_is_numpys_and_so_are_its_derivatives(shapes):
    a, b = arrays(*shapes)
    agrees(np.matmul, a, b)
    agrees(lambda x, y: x @ y, a, b)
    agrees(np.matmul, a, b, unknown=True)
    check_derivatives(np.matmul, a, b)


@pytest.mark.parametrize("dtype", ["f4", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("other", ["f4", "f8", "i8"])
def test_matmul_promotes_as_numpy(dtype, other):
    (a,), (b,) = arrays((2, 3), dtype=dtype), arrays((3, 2), dtype=other)
    agrees(np.matmul, a, b)


def test_matmul_with_a_constant_operand():
    w = rng.normal(size=(3, 4))
    agrees(lambda x: x @ w, *arrays((2, 3)))
    agrees(lambda x: w @ x, *arrays((4,)))
    agrees(lambda x: x @ [1.0, 2.0, 3.0], *arrays((2, 3)))


def test_a_product_with_a_vector_is_that_with_its_column():
    a, x = inputs_like(arrays((2, 3), (3,)))
    assert (a @ x).term is np.squeeze(a @ x[:, None], -1).term
    assert (x @ a.T).term is np.squeeze(x[None, :] @ a.T, 0).term


def test_a_chain_of_vectors_keeps_its_columns():
    names = heads(lambda a, b, x: a @ np.tanh(b @ x), *arrays((2, 3), (3, 4), (4,)))
    assert names == ["Expand", "MatMul", "Elementwise", "MatMul", "Squeeze"]


def test_one_column_times_one_row_is_the_outer_product():
    u, v = inputs_like(arrays((3,), (4,)))
    assert (u[:, None] @ v[None, :]).term is np.outer(u, v).term is np.einsum("i,j->ij", u, v).term


def test_the_gradient_of_shared_weights_never_builds_a_stack():
    x, w, g = inputs_like(arrays((5, 2, 3), (3, 4), (5, 2, 4)))
    _, back = vjp(np.matmul, 2)(x, w, g)
    assert all(t.type.ndim <= 3 and t.type.size <= 60 for t in subterms(back.term))
    assert isinstance(back.term.op, Einsum)


def test_stacking_axes_of_extent_1_leave_the_operands():
    a, b = inputs_like(arrays((2, 3), (5, 3, 4)))
    assert np.matmul(a[None], b).term is np.matmul(a, b).term
    assert np.matmul(np.broadcast_to(a, (5, 2, 3)), b).term is np.matmul(a, b).term
    assert np.matmul(a, np.max(b, axis=0)).term.op.name == "squeeze"


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3, 2), (3,)), ((), (3,)), ((5, 2, 3), (4, 3, 2))])
def test_matmul_refuses_what_does_not_fit(shapes):
    with pytest.raises(ShapeError, match="matmul"):
        evaluate(np.matmul, *arrays(*shapes))


def test_matmul_refuses_options():
    a, b = inputs_like(arrays((2, 2), (2, 2)))
    with pytest.raises(TraceError, match="dtype"):
        np.matmul(a, b, dtype=np.float32)


DOT = [
    ((), (3,)),
    ((3,), ()),
    ((3,), (3,)),
    ((2, 3), (3, 4)),
    ((2, 5, 3), (3,)),
    ((2, 5, 3), (4, 3, 6)),
    ((3,), (4, 3, 2)),
]


@pytest.mark.parametrize("shapes", DOT)
def test_dot(shapes):
    a, b = arrays(*shapes)
    agrees(np.dot, a, b)
    agrees(lambda x, y: x.dot(y), a, b)
    check_derivatives(np.dot, a, b)


@pytest.mark.parametrize(
    "shapes", [((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (3, 2)), ((2, 3), (6,))]
)
def test_vdot(shapes):
    a, b = arrays(*shapes)
    agrees(np.vdot, a, b)
    check_derivatives(np.vdot, a, b)


@pytest.mark.parametrize(
    "shapes",
    [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), (4, 3)), ((5, 2, 3), (4, 6, 3))],
)
def test_inner(shapes):
    a, b = arrays(*shapes)
    agrees(np.inner, a, b)
    check_derivatives(np.inner, a, b)


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((), (2,)), ((2, 2), (3,))])
def test_outer_and_kron(shapes):
    a, b = arrays(*shapes)
    agrees(np.outer, a, b)
    agrees(np.kron, a, b)
    check_derivatives(np.outer, a, b)
    check_derivatives(np.kron, a, b)


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((2, 3), (3, 4)), 1),
        (((2, 3, 4), (3, 4, 5)), 2),
        (((2, 3), (4,)), 0),
        (((2, 3, 4), (4, 5, 2)), ([0, 2], [2, 0])),
        (((2, 3, 4), (5, 3)), (1, 1)),
        (((2, 3, 4), (5, 4)), (-1, -1)),
    ],
)
def test_tensordot(shapes, axes):
    a, b = arrays(*shapes)
    agrees(lambda x, y: np.tensordot(x, y, axes), a, b)
    check_derivatives(lambda x, y: np.tensordot(x, y, axes), a, b)


def test_tensordot_refuses_extents_that_differ():
    with pytest.raises(ShapeError, match="does not fit"):
        evaluate(lambda x, y: np.tensordot(x, y, 1), *arrays((2, 3), (1, 4)))


@pytest.mark.parametrize("name", ["vecdot", "matvec", "vecmat"])
def test_products_of_stacks_of_vectors(name):
    if not hasattr(np, name):
        pytest.skip("needs a newer NumPy")
    shapes = {
        "vecdot": ((5, 3), (4, 1, 3)),
        "matvec": ((4, 2, 3), (5, 1, 3)),
        "vecmat": ((5, 1, 3), (4, 3, 2)),
    }[name]
    agrees(getattr(np, name), *arrays(*shapes))
    check_derivatives(getattr(np, name), *arrays(*shapes))


def test_vecdot_over_another_axis():
    agrees(lambda x, y: np.vecdot(x, y, axis=0), *arrays((3, 2), (3, 2)))
    agrees(lambda x, y: np.linalg.vecdot(x, y), *arrays((3, 2), (2,)))


def test_cross():
    a, b = arrays((4, 3), (3,))
    agrees(np.cross, a, b)
    agrees(lambda x, y: np.cross(x, y, axis=0), *arrays((3, 2), (3, 2)))
    agrees(np.linalg.cross, a, b)
    check_derivatives(np.cross, a, b)


def test_multi_dot_takes_the_cheapest_order():
    operands = arrays((10, 2), (2, 30), (30, 3))
    agrees(lambda *xs: np.linalg.multi_dot(xs), *operands)
    chain = arrays((4,), (4, 5), (5, 2), (2,))
    found = rg.stabilize(lambda *xs: np.linalg.multi_dot(xs))(*chain)
    np.testing.assert_allclose(found, np.linalg.multi_dot(chain), rtol=1e-14)
    a, b, c = inputs_like(operands)
    assert np.linalg.multi_dot([a, b, c]).term is (a @ (b @ c)).term


@pytest.mark.parametrize("n", range(-2, 6))
def test_matrix_power(n):
    (a,) = arrays((2, 3, 3))
    agrees(lambda x: np.linalg.matrix_power(x, n), a, rtol=1e-9)
    check_derivatives(lambda x: np.linalg.matrix_power(x, n), a + 9 * np.eye(3))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (5, 2), (3, 3), (2, 5), (6, 4)])
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_convolve_and_correlate(f, m, n, mode):
    a, b = arrays((m,), (n,))
    agrees(lambda x, y: f(x, y, mode), a, b)
    check_derivatives(lambda x, y: f(x, y, mode), a, b)


# Einstein sums

EINSUM = [
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("ij,kj->ik", ((2, 3), (4, 3))),
    ("ij,jk->ki", ((2, 3), (3, 4))),
    ("ji,jk", ((3, 2), (3, 4))),
    ("i,i", ((3,), (3,))),
    ("ij,ij->", ((2, 3), (2, 3))),
    ("bi,bi->b", ((2, 3), (2, 3))),
    ("bij,bj->bi", ((5, 2, 3), (5, 3))),
    ("bij,jk->bik", ((5, 2, 3), (3, 4))),
    ("...ij,...jk->...ik", ((5, 1, 2, 3), (6, 3, 4))),
    ("...i->...", ((2, 3),)),
    ("i...,i...->...", ((3, 2), (3, 2))),
    ("ii->i", ((3, 3),)),
    ("ii", ((3, 3),)),
    ("iji->j", ((3, 2, 3),)),
    ("iii->", ((3, 3, 3),)),
    ("ij->ji", ((2, 3),)),
    ("ij->", ((2, 3),)),
    ("i,j->ij", ((2,), (3,))),
    ("i,j->", ((2,), (3,))),
    ("ij,j,j->i", ((2, 3), (3,), (3,))),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ("ii,ij->j", ((3, 3), (3, 2))),
    ("ij,jk->ik", ((2, 1), (3, 4))),
    ("ij,ij->ij", ((2, 1), (1, 3))),
    ("bqhd,bkhd->bhqk", ((2, 3, 4, 5), (2, 6, 4, 5))),
    ("ij,jk->ik", ((2, 0), (0, 4))),
    (",i->i", ((), (3,))),
]


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUM)
def test_einsum(subscripts, shapes):
    operands = arrays(*shapes)
    agrees(lambda *xs: np.einsum(subscripts, *xs), *operands)
    if not any(1 in shape for shape in shapes):
        agrees(lambda *xs: np.einsum(subscripts, *xs, optimize=True), *operands, unknown=True)
    check_derivatives(lambda *xs: np.einsum(subscripts, *xs), *operands)


@st.composite
def einstein_sums(draw):
    extents = {label: draw(st.integers(1, 3)) for label in "abcde"}
    operands = draw(st.lists(st.text("abcde", max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(operands)))
    output = draw(st.permutations(used)) if used else []
    output = output[: draw(st.integers(0, len(output)))]
    thin = draw(st.booleans())
    shapes = []
    for labels in operands:
        narrow = thin and len(set(labels)) == len(labels) and draw(st.booleans())
        shapes.append(tuple(1 if narrow and i == 0 else extents[label] for i, label in enumerate(labels)))
    # A label whose every use is narrow has extent 1 in the output, for NumPy as for us.
    return f"{','.join(operands)}->{''.join(output)}", shapes


@settings(max_examples=150, deadline=None)
@given(einstein_sums())
def test_random_einsum(case):
    subscripts, shapes = case
    operands = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    agrees(lambda *xs: np.einsum(subscripts, *xs), *operands)


@settings(max_examples=25, deadline=None)
@given(einstein_sums())
def test_random_einsum_derivatives(case):
    subscripts, shapes = case
    operands = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    check_derivatives(lambda *xs: np.einsum(subscripts, *xs), *operands)


@pytest.mark.parametrize(
    "dtypes", [("f4", "f4"), ("f4", "f8"), ("i4", "f4"), ("i2", "i2"), ("?", "?"), ("u1", "i8")]
)
def test_einsum_promotes_as_numpy(dtypes):
    a, b = [np.asarray(rng.integers(0, 2, (3, 3)), dtype) for dtype in dtypes]
    for subscripts in ("ij,jk->ik", "ij,ij->", "ij,kl->jl", "ij,ij->ij"):
        agrees(lambda x, y: np.einsum(subscripts, x, y), a, b)  # noqa: B023 - called at once
    agrees(lambda x: np.einsum("ij->i", x), a)


def test_einsum_with_lists_of_axes():
    a, b = arrays((2, 3), (3, 4))
    agrees(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), a, b)
    agrees(lambda x, y: np.einsum(x, [..., 1], y, [1, 2]), a, b)


def test_einsum_becomes_the_simplest_op():
    a, b = arrays((3, 3), (3, 3))
    assert heads(lambda x, y: np.einsum("ij,jk->ik", x, y), a, b) == ["MatMul"]
    assert heads(lambda x, y: np.einsum("xy,yz", x, y), a, b) == ["MatMul"]
    assert heads(lambda x: np.einsum("ij->i", x), a) == ["Sum", "Squeeze"]
    assert heads(lambda x: np.einsum("ii", x), a) == ["Diagonal", "Sum", "Squeeze"]
    assert heads(lambda x, y: np.einsum("ij,ij->ij", x, y), a, b) == ["Elementwise"]
    x, y = inputs_like((a, b))
    assert np.einsum("pq,pq->", x, y).term is np.einsum("ij,ij->", x, y).term
    assert (np.einsum("ij,jk->ik", x, y)).term is (x @ y).term


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk->ik", ((2, 3), (4, 5)), "extents 3 and 4"),
        ("ij->i", ((2,),), "do not fit"),
        ("ij->k", ((2, 3),), "invents"),
        ("ii->i", ((2, 3),), "diagonal"),
        ("ij->ij", ((2, 3), (2, 3)), "operands"),
        ("...i->i", ((2, 3),), "ellipsis"),
        ("i1->i", ((2, 3),), "letters"),
    ],
)
def test_einsum_refuses_what_does_not_fit(subscripts, shapes, message):
    operands = arrays(*shapes)
    with pytest.raises((ValueError, TypeError)):
        np.einsum(subscripts, *operands)
    with pytest.raises(ShapeError, match=message):
        evaluate(lambda *xs: np.einsum(subscripts, *xs), *operands)


def test_an_op_is_told_by_its_subscripts_up_to_names():
    assert Einsum("ab,ab->") == Einsum("ab,ab->") != Einsum("ab,ba->")
    assert Einsum("ab,ab->").laws.linear == (0, 1)
    assert MatMul().laws.associative
    assert parse("ij,j", [2, 1]) == ([("i", "j"), ("j",)], ("i",))


@pytest.mark.parametrize(
    "f", [lambda x, y: x @ y, lambda x, y: np.einsum("ij,kj->", x, y), lambda x, y: np.outer(x, y)]
)
def test_source_computes_what_the_op_does(f):
    a, b = arrays((2, 3), (3, 3))
    roots = [as_term(f(*inputs_like((a, b))))] if f is not None else []
    values = {}
    for node in subterms(*roots):
        if not node.rands:
            values[node] = {"x0": a, "x1": b}[str(node.op)]
            continue
        names = [f"v{i}" for i in range(len(node.rands))]
        scope = {name: values[rand] for name, rand in zip(names, node.rands, strict=True)}
        values[node] = eval(node.op.source(node, names), {"np": np}, scope)
        np.testing.assert_allclose(values[node], node.op.compute(*scope.values()), rtol=1e-14)
    np.testing.assert_allclose(values[roots[0]], f(a, b), rtol=1e-13)
