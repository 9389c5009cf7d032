"""Diagonals, norms, solving, determinants and factors: NumPy's values, and right and stable derivatives."""

from __future__ import annotations

import flint
import mpmath
import numpy as np
import pytest
from linear_checks import check_derivatives, evaluate, inputs_like, jvp, vjp

import relgrad as rg
from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.kernels.linalg import cofactor, cofactor_derivative, diag_embed, norm2, norm_p, unit, unit_p
from relgrad.op import as_term
from relgrad.ops.einsum import Einsum
from relgrad.ops.rectangular import Pinv
from relgrad.term import Unknown, subterms

rng = np.random.default_rng(0)
start = rng.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers():
    """Draw the same numbers whichever tests run, and in whatever order."""
    rng.bit_generator.state = start


def agrees(f, *arrays, unknown=False, rtol=1e-11):
    ours, theirs = evaluate(f, *arrays, unknown=unknown), f(*arrays)
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    for mine, numpys in zip(ours, theirs, strict=True):
        assert mine.dtype == numpys.dtype
        assert mine.shape == np.shape(numpys)
        tolerance = 1e-4 if mine.dtype == np.float32 else rtol
        np.testing.assert_allclose(mine, numpys, rtol=tolerance, atol=tolerance)


def normal(*shape):
    return rng.normal(size=shape)


def apart(*shape):
    """Entries far from each other and from zero, where the norms of orders 1 and ∞ have kinks."""
    sizes = 0.4 + 0.2 * (rng.permutation(int(np.prod(shape))) + 0.5 * rng.random(int(np.prod(shape))))
    return np.reshape(sizes * rng.choice([-1, 1], sizes.shape), shape)


def regular(*shape):
    return normal(*shape) + 3 * np.eye(shape[-1])


def definite(*shape):
    a = normal(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def symmetric(*directions):
    return [v + np.swapaxes(v, -1, -2) for v in directions]


# Diagonals and traces


@pytest.mark.parametrize("offset", [0, 1, -1, 2, -3, 5])
@pytest.mark.parametrize("axes", [(0, 1), (-2, -1), (2, 0), (1, 2), (-1, -2)])
def test_diagonal_and_trace(offset, axes):
    x = normal(3, 4, 3)
    for f in (np.diagonal, np.trace):
        agrees(lambda a: f(a, offset, *axes), x)  # noqa: B023 - called at once
    agrees(lambda a: a.diagonal(offset, *axes), x)
    agrees(lambda a: a.trace(offset, *axes), x)
    check_derivatives(lambda a: np.diagonal(a, offset, *axes) ** 2, x)
    check_derivatives(lambda a: np.trace(a, offset, *axes) ** 2, x)


@pytest.mark.parametrize("k", [0, 1, -2])
def test_diag_both_ways(k):
    agrees(lambda v: np.diag(v, k), normal(3))
    agrees(lambda v: np.diag(v, k), normal(3, 4))
    agrees(lambda v: np.diagflat(v, k), normal(2, 2))
    agrees(lambda v: np.linalg.diagonal(v, offset=k), normal(2, 3, 4))
    agrees(lambda v: np.linalg.trace(v, offset=k), normal(2, 3, 4))
    check_derivatives(lambda v: np.diag(v, k) ** 2, normal(3))
    check_derivatives(lambda v: np.diag(v, k) ** 2, normal(3, 4))


def test_a_diagonal_of_unknown_extents_has_a_gradient():
    x, g = normal(3, 4), normal(3)
    (back,) = evaluate(vjp(lambda a: np.diagonal(a), 1), x, g, unknown=True)
    np.testing.assert_array_equal(back, diag_embed(g, 0, (3, 4)))


def test_traces_of_integers_promote_as_numpy():
    agrees(np.trace, np.arange(9, dtype=np.int8).reshape(3, 3))
    agrees(np.diag, np.arange(3))


def test_diagonal_refuses_what_has_none():
    for f in (lambda v: np.diagonal(v), lambda v: np.trace(v)):
        with pytest.raises(ShapeError, match="no diagonal"):
            f(*inputs_like([normal(3)]))
    with pytest.raises(ShapeError, match="both axis 1"):
        np.diagonal(*inputs_like([normal(3, 3)]), axis1=1, axis2=1)


# Norms

ORDERS = [None, 1, 2, 3, 2.5, 0.5, -1, np.inf, -np.inf, 0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_vectors(order, keepdims):
    for dtype in ("f8", "f4"):
        agrees(lambda v: np.linalg.norm(v, order, keepdims=keepdims), normal(5).astype(dtype))
        agrees(lambda v: np.linalg.norm(v, order, axis=1, keepdims=keepdims), normal(3, 4, 2).astype(dtype))
    agrees(lambda v: np.linalg.norm(v, order), np.array([3, -4, 1]))
    if order is not None:
        agrees(lambda v: np.linalg.vector_norm(v, axis=(0, 2), ord=order, keepdims=keepdims), normal(3, 4, 2))
    if order != 0:
        check_derivatives(lambda v: np.linalg.norm(v, order, axis=-1, keepdims=keepdims), apart(3, 4))


@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [(0, 1), (1, 0), (-1, 0), (-2, -1)])
def test_norms_of_matrices(order, axis):
    x = apart(3, 4, 5)
    agrees(lambda a: np.linalg.norm(a, order, axis), x)
    agrees(lambda a: np.linalg.norm(a, order, axis, keepdims=True), x)
    agrees(lambda a: np.linalg.norm(a, order), x[0])
    agrees(lambda a: np.linalg.norm(a, order), np.arange(6).reshape(2, 3))
    check_derivatives(lambda a: np.linalg.norm(a, order, axis), x)


def test_norms_of_everything():
    agrees(np.linalg.norm, normal(2, 3, 4))
    agrees(lambda a: np.linalg.norm(a, keepdims=True), normal(2, 3, 4))
    agrees(np.linalg.norm, np.float64(-3.0))
    agrees(np.linalg.matrix_norm, normal(2, 3, 4))
    agrees(np.linalg.vector_norm, normal(2, 3, 4))
    agrees(np.linalg.norm, np.zeros(0))
    agrees(lambda a: np.linalg.norm(a, axis=0), np.zeros((0, 3)))


def test_norms_of_singular_values_and_what_is_none():
    (a,) = inputs_like([normal(3, 3)])
    for order in (2, -2, "nuc"):
        agrees(lambda x, order=order: np.linalg.norm(x, order, axis=(2, 0), keepdims=True), normal(3, 2, 4))
    with pytest.raises(TraceError, match="there is no such norm"):
        np.linalg.norm(a, 3)
    with pytest.raises(ShapeError, match="vector_norm"):
        np.linalg.norm(*inputs_like([normal(2, 2, 2)]), ord=2)
    with pytest.raises(TraceError, match="ord='fro'"):
        np.linalg.norm(a, "fro", axis=0)


HARD = [1.0, 1e200, 1e-180, 1e-310, 2e-323, 1.7e308]


@pytest.mark.parametrize("scale", HARD)
def test_norm2_and_unit_neither_overflow_nor_underflow(scale):
    x = np.array([0.25, -0.5, 0.5]) * scale
    exact = mpmath.sqrt(sum(mpmath.mpf(float(v)) ** 2 for v in x))
    assert abs(mpmath.mpf(float(norm2(x))) - exact) <= 4e-16 * exact + 5e-324
    for ours, v in zip(unit(x), x, strict=True):
        assert abs(float(ours) - float(v / exact)) <= 3e-16
    (value,) = evaluate(np.linalg.norm, x)
    assert value == norm2(x)
    (back,) = evaluate(vjp(np.linalg.norm, 1), x, np.float64(1.0))
    np.testing.assert_array_equal(back, unit(x))
    one = np.ones(1)
    cubes = mpmath.cbrt(sum(abs(mpmath.mpf(float(v))) ** 3 for v in x))
    assert abs(mpmath.mpf(float(norm_p(x, 3))) - cubes) <= 1e-15 * cubes + 5e-324
    assert norm2(one * scale) == scale == norm_p(one * scale, 4)


def test_norm2_mixes_scales_and_keeps_dtypes():
    x = np.array([[1e200, 1e200], [1e-200, 1e-200], [0, 0], [np.inf, 1], [np.nan, 1]])
    expected = [np.sqrt(2) * 1e200, np.sqrt(2) * 1e-200, 0, np.inf, np.nan]
    np.testing.assert_allclose(norm2(x, axis=1), expected, rtol=1e-15)
    x32 = np.array([3e30, 4e30], np.float32)
    assert norm2(x32) == np.float32(5e30)
    assert norm2(x32).dtype == unit(x32).dtype == norm_p(x32, 3).dtype == np.float32
    np.testing.assert_allclose(unit(np.full(10, 1.7e308)), np.full(10, 10**-0.5), rtol=1e-15)


@pytest.mark.parametrize("f", [norm2, unit, lambda v: norm_p(v, 3), lambda v: unit_p(v, 2.5)])
def test_kernels_of_norms_are_traced(f):
    agrees(f, normal(4))
    check_derivatives(f, apart(4))


def test_all_derivatives_of_a_norm_at_zero_are_zero():
    x = np.zeros(3)
    first = vjp(np.linalg.norm, 1)
    second = vjp(lambda v: first(v, np.float64(1.0))[0], 1)
    third = jvp(lambda v, w: second(v, w)[0], 2)
    for values in (
        evaluate(first, x, np.float64(1.0)),
        evaluate(second, x, np.ones(3)),
        evaluate(third, x, np.ones(3), np.ones(3), np.ones(3)),
        evaluate(vjp(lambda v: np.linalg.norm(v, 3), 1), x, np.float64(1.0)),
    ):
        np.testing.assert_array_equal(values[0], x)


@pytest.mark.parametrize("scale", [1e-180, 1e150])
def test_the_hessian_of_a_norm_is_the_projection_over_the_norm(scale):
    x = np.array([0.3, -0.4, 0.5]) * scale
    u = unit(x)
    v = np.array([1.0, 2.0, -1.0])
    first = vjp(np.linalg.norm, 1)
    (product,) = evaluate(vjp(lambda z: first(z, np.float64(1.0))[0], 1), x, v)
    np.testing.assert_allclose(product, (v - u * (u @ v)) / norm2(x), rtol=1e-14, atol=1e-15 / norm2(x))


def test_norm_leaves_axes_of_extent_1_alone():
    (x,) = inputs_like([normal(3, 1)])
    assert next(str(t.op) for t in subterms(np.linalg.norm(x, axis=-1).term) if t.rands).startswith("abs")
    assert np.linalg.norm(x).term is np.linalg.norm(x[:, 0]).term


@pytest.mark.parametrize("order", [0.5, 1.5, 3, 4])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_entries_that_are_zero_spoil_no_derivative_of_a_norm(order, scale):
    x, v = np.array([3.0, 0.0, -1.0]) * scale, np.array([1.0, 0.0, 2.0])
    first = vjp(lambda y: np.linalg.norm(y, order), 1)
    second = vjp(lambda y: first(y, np.float64(1.0))[0], 1)
    (slope,), (curve,) = evaluate(first, x, np.float64(1.0)), evaluate(second, x, v)
    kept = [0, 2]
    (slope_there,), (curve_there,) = (
        evaluate(first, x[kept], np.float64(1.0)),
        evaluate(second, x[kept], v[kept]),
    )
    assert slope[1] == 0
    if order > 1:
        assert curve[1] == 0
        np.testing.assert_allclose(slope[kept], slope_there, rtol=1e-13)
        np.testing.assert_allclose(curve[kept], curve_there, rtol=1e-13)
    assert np.all(np.isfinite(curve))


# Solving, inverses, determinants

MATRICES = [(3, 3), (2, 3, 3), (1, 1), (2, 0, 2, 2), (0, 0)]


@pytest.mark.parametrize("shape", MATRICES)
def test_square_matrices(shape):
    a = regular(*shape)
    for f in (np.linalg.inv, np.linalg.det, np.linalg.slogdet):
        for dtype in ("f8", "f4"):
            agrees(f, a.astype(dtype))
        agrees(f, np.round(10 * a).astype(int))
        agrees(f, a, unknown=True)
    check_derivatives(np.linalg.inv, a)
    check_derivatives(np.linalg.det, a)
    check_derivatives(lambda x: np.linalg.slogdet(x)[1], a)
    check_derivatives(lambda x: np.linalg.slogdet(x).sign * x[..., 0, 0] if shape[-1] else np.sum(x), a)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 4)),
        ((3, 3), (2, 3, 4)),
        ((4, 1, 3, 3), (2, 3, 1)),
        ((0, 0), (0, 2)),
    ],
)
def test_solve(shapes):
    a, b = regular(*shapes[0]), normal(*shapes[1])
    agrees(np.linalg.solve, a, b)
    agrees(np.linalg.solve, a, b, unknown=True)
    agrees(np.linalg.solve, a.astype(np.float32), b.astype(np.float32))
    agrees(np.linalg.solve, a.astype(np.float32), b)
    agrees(np.linalg.solve, np.round(10 * a).astype(int), np.round(b).astype(int))
    check_derivatives(np.linalg.solve, a, b)


def test_solving_for_a_vector_is_solving_for_its_column():
    a, b = inputs_like([regular(3, 3), normal(3)])
    assert np.linalg.solve(a, b).term is np.linalg.solve(a, b[:, None])[:, 0].term


def test_singular_matrices_raise_what_numpy_raises():
    for f in (np.linalg.inv, lambda a: np.linalg.solve(a, np.ones(2))):
        with pytest.raises(np.linalg.LinAlgError):
            evaluate(f, np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        evaluate(np.linalg.cholesky, -np.eye(2))


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh"])
def test_what_is_not_square_is_refused(name):
    f = getattr(np.linalg, name)
    with pytest.raises(ShapeError, match="not square"):
        f(*inputs_like([normal(2, 3)]))
    with pytest.raises(ShapeError, match="last two axes"):
        f(*inputs_like([normal(3)]))
    with pytest.raises(TraceError, match="float16"):
        f(*inputs_like([np.eye(2, dtype=np.float16)]))


def test_solve_refuses_what_does_not_fit():
    a, b = inputs_like([regular(3, 3), normal(2, 3)])
    with pytest.raises(ShapeError, match="do not fit"):
        np.linalg.solve(a, b)


def test_the_named_tuple_of_slogdet():
    (a,) = inputs_like([regular(3, 3)])
    found = np.linalg.slogdet(a)
    assert type(found) is type(np.linalg.slogdet(np.eye(1)))
    assert found.logabsdet.shape == ()
    assert found.sign is found[0]


def test_slogdet_has_derivatives_where_the_determinant_overflows():
    a = 1e10 * regular(40, 40)
    (back,) = evaluate(vjp(lambda x: np.linalg.slogdet(x)[1], 1), a, np.float64(1.0))
    np.testing.assert_allclose(back, np.linalg.inv(a).T, rtol=1e-10)


def minors(a):
    """The cofactors by their definition, which knows nothing of inverses."""
    n = len(a)
    parts = [np.delete(np.delete(a, i, 0), j, 1) for i in range(n) for j in range(n)]
    signs = np.array([[(-1) ** (i + j) for j in range(n)] for i in range(n)])
    return signs * np.reshape([np.linalg.det(p) for p in parts], (n, n))


def of_rank(n, rank):
    return normal(n, rank) @ normal(rank, n)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("defect", [0, 1, 2, 3])
def test_the_gradient_of_a_determinant_of_any_rank(n, defect):
    a = of_rank(n, max(n - defect, 0))
    np.testing.assert_allclose(cofactor(a), minors(a), atol=1e-12 * (1 + np.abs(a).max() ** (n - 1)))
    (back,) = evaluate(vjp(np.linalg.det, 1), a, np.float64(2.0))
    np.testing.assert_allclose(back, 2 * minors(a), atol=1e-11 * (1 + np.abs(a).max() ** (n - 1)))
    v = normal(n, n)
    h = 1e-4
    slope = (minors(a + h * v) - minors(a - h * v)) / (2 * h)
    np.testing.assert_allclose(cofactor_derivative(a, v), slope, atol=1e-6 * (1 + np.abs(slope).max()))
    w = normal(n, n)
    np.testing.assert_allclose(
        np.sum(w * cofactor_derivative(a, v)), np.sum(v * cofactor_derivative(a, w)), rtol=1e-9, atol=1e-9
    )


def test_cofactors_neither_overflow_nor_underflow_on_the_way():
    a = np.diag([1e200, 1e200, 1e-200, 1e-200])
    np.testing.assert_allclose(np.diag(cofactor(a)), [1e-200, 1e-200, 1e200, 1e200], rtol=1e-13)
    assert cofactor(np.zeros((3, 3), np.float32)).dtype == np.float32


def test_determinants_of_stacks_and_of_singular_matrices_to_second_order():
    a = np.stack([of_rank(3, 2), of_rank(3, 1), regular(3, 3)])
    check_derivatives(np.linalg.det, a)


def test_the_third_derivative_of_a_determinant():
    a = regular(3, 3)
    check_derivatives(np.linalg.det, a, order=3)
    check_derivatives(cofactor, a)
    check_derivatives(cofactor_derivative, a, normal(3, 3), order=1)


# Factors


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4), (0, 3, 3)])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape, upper):
    a = definite(*shape)
    f = lambda x: np.linalg.cholesky(x, upper=upper)
    agrees(f, a)
    agrees(f, a, unknown=True)
    agrees(f, a.astype(np.float32))
    agrees(f, a + 100 * (np.tril if upper else np.triu)(np.ones(shape), -1 if upper else 1))
    check_derivatives(f, a, vary=symmetric)


def test_a_cholesky_factor_gives_the_derivatives_of_the_log_determinant():
    a, one = definite(4, 4), np.float64(1.0)
    half = lambda x: np.sum(np.log(np.diagonal(np.linalg.cholesky(x)))) * 2
    (mine,) = evaluate(vjp(half, 1), a, one)
    np.testing.assert_allclose(mine, np.linalg.inv(a), rtol=1e-10)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 3, 3)])
def test_eigh(shape):
    a = definite(*shape)
    agrees(np.linalg.eigh, a)
    agrees(np.linalg.eigvalsh, a)
    agrees(lambda x: np.linalg.eigh(x, "U").eigenvalues, a + 9 * np.tril(np.ones(shape), -1))
    check_derivatives(np.linalg.eigvalsh, a, vary=symmetric, rtol=1e-5)

    def apply(x):  # a function of the matrix: independent of the signs of the eigenvectors
        w, v = np.linalg.eigh(x)
        return (v * np.exp(-w)[..., None, :]) @ np.swapaxes(v, -1, -2)

    check_derivatives(apply, a, vary=symmetric, rtol=1e-5)


# What every op answers

SINGLE = {
    "matmul": (np.matmul, (normal(2, 3, 4), normal(4, 3))),
    "einsum": (lambda a, b: np.einsum("ij,ij,ii->", a, b, a), (normal(3, 3), normal(3, 3))),
    "solve": (np.linalg.solve, (regular(3, 3), normal(3))),
    "inv": (np.linalg.inv, (regular(3, 3),)),
    "det": (np.linalg.det, (regular(3, 3),)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (regular(3, 3),)),
    "cholesky": (np.linalg.cholesky, (definite(3, 3),)),
    "eigh": (lambda a: np.linalg.eigh(a)[1], (definite(3, 3),)),
    "norm": (np.linalg.norm, (normal(3),)),
    "norm3": (lambda a: np.linalg.norm(a, 3), (normal(3),)),
    "norm0": (lambda a: np.linalg.norm(a, 0) * np.linalg.norm(a), (normal(3),)),
    "trace": (lambda a: np.trace(a, 1) ** 2, (normal(3, 3),)),
    "convolve": (lambda a, b: np.convolve(a, b, "same"), (normal(3), normal(4))),
}


@pytest.mark.parametrize("name", SINGLE)
def test_float32_stays_float32_to_second_order(name):
    f, operands = SINGLE[name]
    n = len(operands)
    xs = inputs_like([x.astype(np.float32) for x in operands])
    y = f(*xs)
    first = lambda *args: vjp(f, n)(*args, y)[0]
    roots = [y, first(*xs), vjp(first, n)(*xs, xs[0])[0], jvp(first, n)(*xs, *xs)]
    for node in subterms(*[r.term for r in roots]):
        for t in getattr(node.type, "outputs", (node.type,)):
            assert t.dtype in (np.float32, np.bool_), node


class Variable(Unknown):
    """A logic variable, as far as ops know of them."""


def test_patterns_hold_logic_variables():
    x, y = Variable(), Variable()
    for f in (np.matmul, np.dot, np.linalg.solve, cofactor_derivative):
        pattern = IMPLEMENTATIONS[f](x, y)
        assert not pattern.ground
        assert pattern.rands == (x, y)
    assert IMPLEMENTATIONS[np.einsum]("ij,jk->ik", x, y) is IMPLEMENTATIONS[np.matmul](x, y)
    assert IMPLEMENTATIONS[np.einsum]("ij,ij->", x, y).op == Einsum("ab,ab->")
    for f in (np.linalg.inv, np.linalg.det, np.linalg.cholesky, cofactor):
        assert IMPLEMENTATIONS[f](x).rands == (x,)
    assert IMPLEMENTATIONS[np.linalg.norm](x, axis=-1, keepdims=True).op.axes == (-1,)
    assert IMPLEMENTATIONS[unit](x, axis=y).op.axes is y
    assert IMPLEMENTATIONS[np.linalg.slogdet](x).logabsdet.rands[0].rands == (x,)
    for f in (lambda: IMPLEMENTATIONS[np.linalg.norm](x), lambda: IMPLEMENTATIONS[np.einsum]("ij,jk", x, y)):
        with pytest.raises(RelationError):
            f()


BALLS = {
    "solve": (np.linalg.solve, (regular(2, 3, 3), normal(3, 2))),
    "inv": (np.linalg.inv, (regular(2, 3, 3),)),
    "det": (np.linalg.det, (regular(2, 3, 3),)),
    "cofactor": (cofactor, (regular(2, 3, 3),)),
    "cofactor_derivative": (cofactor_derivative, (regular(2, 3, 3), normal(2, 3, 3))),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (regular(2, 3, 3),)),
    "cholesky": (np.linalg.cholesky, (definite(2, 3, 3),)),
    "norm": (np.linalg.norm, (normal(3, 3),)),
    "norm3": (lambda a: np.linalg.norm(a, 3, axis=0), (normal(3, 3),)),
    "unit": (unit, (normal(3, 3),)),
    "unit3": (lambda a: unit_p(a, 3, axis=0), (normal(3, 3),)),
    "diagonal": (lambda a: np.diagonal(a, 1), (normal(3, 3),)),
    "diag": (lambda a: np.diag(a, -1), (normal(3),)),
    "matmul": (np.matmul, (normal(2, 3), normal(3, 4))),
    "einsum": (lambda a, b: np.einsum("ij,ij->", a, b), (normal(2, 3), normal(2, 3))),
    "convolve": (np.convolve, (normal(3), normal(4))),
}


@pytest.mark.parametrize("name", BALLS)
def test_source_and_balls_compute_what_the_op_does(name):
    flint = pytest.importorskip("flint")
    import relgrad.kernels.linalg as kernels

    f, operands = BALLS[name]
    xs = inputs_like(operands)
    root = as_term(f(*xs))
    values = {x.term: np.asarray(a) for x, a in zip(xs, operands, strict=True)}
    balls = {x: np.vectorize(flint.arb, otypes=[object])(a) for x, a in values.items()}
    for node in subterms(root):
        if not node.rands:
            continue
        names = [f"v{i}" for i in range(len(node.rands))]
        scope = {n: values[rand] for n, rand in zip(names, node.rands, strict=True)}
        space = {"np": np, **{k: getattr(kernels, k) for k in node.op.imports if hasattr(kernels, k)}}
        values[node] = eval(node.op.source(node, names), space, scope)
        if type(node.op).__name__ == "Project":
            balls[node] = balls[node.rands[0]][node.op.index]
        else:
            balls[node] = node.op.ball(*[balls[rand] for rand in node.rands])
    expected = f(*operands)
    np.testing.assert_allclose(values[root], expected, rtol=1e-12)
    middle = np.vectorize(lambda b: float(b.mid()), otypes=[float])(balls[root])
    assert np.shape(middle) == np.shape(expected)
    np.testing.assert_allclose(middle, expected, rtol=1e-9, atol=1e-12)


def test_second_derivatives_of_many_determinants_are_those_of_each():
    """Of 8,000 matrices of 3 × 3 the work is not split within matrices."""
    x = np.random.default_rng(0).normal(size=(8000, 3, 3))
    slope = rg.grad(lambda x: np.sum(np.linalg.det(x) ** 2))
    many, few = (rg.jvp(slope, (a,), (np.cos(a),))[1] for a in (x, x[:5]))
    np.testing.assert_array_equal(many[:5], few)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
def test_singular_values_that_count_as_zero_do_so_in_any_arithmetic(shape):
    """Entries of a product of rank 2 are rounded, so that floats as they are have rank 3; their sum cancels."""
    left, right = of_rank(shape[0], 2)[:, :2], of_rank(shape[1], 2)[:2]
    rank_two = lambda x: (left * x) @ right
    for cancelling in (
        lambda x: np.sum(np.linalg.pinv(rank_two(x)) - np.linalg.pinv(left @ right)),
        lambda x: np.trace(np.linalg.pinv(rank_two(x)) @ rank_two(x)) - 2,
    ):
        assert abs(rg.stabilize(cancelling)(1.0)) < 1e-13
    with flint.ctx.workprec(300):
        balls = Pinv(1e-15).ball(as_balls(rank_two(1.0)))
    assert not any(ball.is_finite() for ball in balls.flat)
    regular = left @ right + np.eye(*shape)
    np.testing.assert_allclose(
        np.vectorize(float)(Pinv(1e-15).ball(as_balls(regular))), np.linalg.pinv(regular), rtol=1e-12
    )


def as_balls(x):
    return np.vectorize(flint.arb, otypes=[object])(x)
