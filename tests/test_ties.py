"""Derivatives of matrix factors where values tie: those of functions of matrices, and NaN where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import relgrad as rg
from relgrad.calculus import ties

RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(3, 3))
TALL = RNG.normal(size=(4, 3))
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
TURN4 = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
eigh: Callable[[Any], Any] = np.linalg.eigh
STRATEGIES = ["default", "naive"]


def symmetric(a: Any) -> Any:
    return (a + np.swapaxes(a, -1, -2)) / 2


def turned(*w: float) -> Any:
    """Return a matrix whose eigenvalues are apart by rounding where they are equal."""
    return symmetric(TURN @ np.diag(w) @ TURN.T)


def apply(g: Callable[[Any], Any], a: Any) -> Any:
    w, v = eigh(a)
    return (v * g(w)[..., None, :]) @ np.swapaxes(v, -1, -2)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "w²": (lambda w: w**2, lambda w: w**2),
    "exp": (np.exp, mpmath.exp),
    "log": (np.log, mpmath.log),
    "√w": (np.sqrt, mpmath.sqrt),
    "w^-1.5": (lambda w: w**-1.5, lambda w: w ** mpmath.mpf(-1.5)),
}
MATRICES: dict[str, Any] = {
    "1": np.eye(3),
    "diag(1, 1, 2)": np.diag([1.0, 1.0, 2.0]),
    "turned": turned(1, 1, 2),
    "turned above": turned(1, 2, 2),
    "apart": turned(1, 1.5, 2),
    "close and closer": np.diag([1, 1 + 1e-14, 1 + 1e-8]),
    "small": np.diag([1e-10, 1e-12, 1]),
} | {f"apart by 1e-{k}": turned(1, 1 + 10.0**-k, 2) for k in range(4, 17, 2)}


def daleckii_krein(g: Callable[[Any], Any], a: Any, weights: Any) -> Any:
    """Return the gradient of Σ weights∘g(a) by divided differences, in 80 digits, values apart by 1e-30 at least."""
    n = len(a)
    with mpmath.workdps(80):
        apart = mpmath.diag([mpmath.mpf(10) ** -30 * k for k in range(n)])
        w, q = mpmath.eigsy(mpmath.matrix(a.tolist()) + apart)
        inner = q.T * mpmath.matrix(symmetric(weights).tolist()) * q
        for i in range(n):
            for j in range(n):
                inner[i, j] *= mpmath.diff(g, w[i]) if i == j else (g(w[i]) - g(w[j])) / (w[i] - w[j])
        return np.array((q * inner * q.T).tolist(), float)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("matrix", MATRICES)
def test_a_function_of_a_matrix_has_the_gradient_of_daleckii_and_krein(matrix, name, strategy):
    g, exact = FUNCTIONS[name]
    a = MATRICES[matrix]
    want = daleckii_krein(exact, a, WEIGHTS)
    found = rg.grad(lambda x: np.sum(WEIGHTS * apply(g, x)), strategy=strategy)(a)
    np.testing.assert_allclose(found, want, atol=1e-9 * np.max(np.abs(want)))


def powers(x: Any) -> Any:
    return x @ x @ x


X = RNG.normal(size=3)
FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "vector": (
        lambda a: (lambda w, v: X @ (v @ (w**3 * (v.T @ X))))(*eigh(a)),
        lambda a: X @ powers(a) @ X,
    ),
    "diag": (
        lambda a: (lambda w, v: np.sum(WEIGHTS * (v @ np.diag(w**3) @ v.T)))(*eigh(a)),
        lambda a: np.sum(WEIGHTS * powers(a)),
    ),
    "columns": (
        lambda a: (lambda w, v: sum(w[i] ** 3 * (v[:, i] @ X) ** 2 for i in range(3)))(*eigh(a)),
        lambda a: X @ powers(a) @ X,
    ),
    "einsum": (
        lambda a: (lambda w, v: np.einsum("ij,j,kj,ik", v, w**3, v, WEIGHTS))(*eigh(a)),
        lambda a: np.sum(WEIGHTS * powers(a)),
    ),
    "trace": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 3), lambda a: np.trace(powers(a))),
    "of a function": (
        lambda a: np.sum(WEIGHTS * np.sin(apply(lambda w: w**3, a))),
        lambda a: np.sum(WEIGHTS * np.sin(powers(a))),
    ),
    "beside": (lambda a: np.sum(WEIGHTS * (apply(np.square, a) @ a)), lambda a: np.sum(WEIGHTS * powers(a))),
    "of another": (
        lambda a: np.sum(WEIGHTS * apply(np.sqrt, apply(lambda w: w**6, a))),
        lambda a: np.sum(WEIGHTS * powers(a)),
    ),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("matrix", ["1", "turned"])
def test_all_derivatives_are_those_of_the_same_function_without_factors(matrix, form):
    f, plain = FORMS[form]
    a, t = MATRICES[matrix], symmetric(RNG.normal(size=(3, 3)))
    same = lambda x: plain(symmetric(x))  # eigh reads a symmetric matrix
    both = lambda x: f(symmetric(x))
    close = lambda found, want: np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)
    close(rg.grad(both)(a), rg.grad(same)(a))
    close(rg.jvp(both, (a,), (t,))[1], rg.jvp(same, (a,), (t,))[1])
    close(rg.jvp(rg.grad(both), (a,), (t,))[1], rg.jvp(rg.grad(same), (a,), (t,))[1])
    close(rg.hessian(both)(a), rg.hessian(same)(a))


def projected(columns: slice) -> Callable[[Any], Any]:
    return lambda a: np.sum(WEIGHTS * (lambda v: v[:, columns] @ v[:, columns].T)(eigh(a)[1]))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_projector_has_a_derivative_where_values_tie_within_it_and_none_where_they_tie_across(strategy):
    inside = rg.grad(projected(slice(0, 2)), strategy=strategy)
    rest = rg.grad(lambda a: -projected(slice(2, 3))(a), strategy=strategy)
    for a in (np.diag([1.0, 1.0, 2.0]), turned(1, 1, 2)):
        np.testing.assert_allclose(inside(a), rest(a), rtol=1e-12, atol=1e-12)
    for a in (np.diag([1.0, 2.0, 2.0]), turned(1, 2, 2), np.eye(3)):
        assert np.isnan(inside(a)).any()
        assert np.isnan(rg.jvp(projected(slice(0, 2)), (a,), (WEIGHTS + WEIGHTS.T,))[1])


def test_a_limit_that_depends_on_how_values_are_moved_apart_is_none():
    larger = rg.grad(lambda a: (lambda w, v: np.sum(WEIGHTS * (v[:, 1:] * w[1:] @ v[:, 1:].T)))(*eigh(a)))
    assert np.isnan(larger(np.diag([0.0, 0.0, 1.0]))).any()
    assert np.isfinite(larger(np.diag([0.0, 0.5, 1.0]))).all()
    positive = rg.grad(lambda a: np.sum(WEIGHTS * apply(lambda w: np.maximum(w, 0.0), a)))
    assert np.isnan(positive(np.diag([0.0, 0.0, 1.0]))).any()


def test_what_does_not_depend_on_vectors_has_a_derivative_though_it_is_written_with_them():
    for strategy in STRATEGIES:
        back = rg.grad(lambda a: np.sum(eigh(a)[1] ** 2), strategy=strategy)(np.eye(3))
        np.testing.assert_allclose(back, np.zeros((3, 3)), atol=1e-14)


SINGULAR: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "s³": (lambda s: s**3, lambda a: a @ a.T @ a),
    "s/(1 + s²)": (lambda s: s / (1 + s**2), lambda a: a @ np.linalg.inv(np.eye(3) + a.T @ a)),
    "s": (lambda s: s, lambda a: a),
}
RECTANGLES = {
    "1": np.eye(3),
    "equal": TURN @ np.diag([2.0, 1.0, 1.0]) @ TURN,
    "tall": TURN4[:, :3] @ np.diag([2.0, 2.0, 1.0]) @ TURN,
    "tall 1": np.eye(4, 3),
    "of rank 1": TURN4[:, :3] @ np.diag([2.0, 0.0, 0.0]) @ TURN,
    "of rank 2": np.eye(4, 3) * [1.0, 2.0, 0.0],
    "0": np.zeros((3, 3)),
    "apart": TURN4[:, :3] @ np.diag([3.0, 2.0, 1.0]) @ TURN,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("matrix", RECTANGLES)
def test_odd_functions_of_singular_values_have_the_derivatives_of_the_same_without_factors(matrix, name):
    h, plain = SINGULAR[name]
    a = RECTANGLES[matrix]
    weights = TALL[: len(a)]

    def f(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return np.sum(weights * ((u * h(s)) @ vh))

    want = rg.grad(lambda x: np.sum(weights * plain(x)))(a)
    for strategy in STRATEGIES:
        np.testing.assert_allclose(rg.grad(f, strategy=strategy)(a), want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        rg.grad(lambda x: f(x.T))(np.ascontiguousarray(a.T)), want.T, rtol=1e-9, atol=1e-9
    )


def test_the_polar_factor_has_a_derivative_where_singular_values_tie_and_none_where_two_vanish():
    def polar(x: Any) -> Any:
        u, _, vh = np.linalg.svd(x)
        return np.sum(WEIGHTS * (u @ vh))

    # d(u·vᵀ) at q is the skew part of qᵀ·da, turned by q.
    for q in (np.eye(3), TURN):
        want = q @ (q.T @ WEIGHTS - WEIGHTS.T @ q) / 2
        np.testing.assert_allclose(rg.grad(polar)(q), want, atol=1e-12)
    assert np.isnan(rg.grad(polar)(np.diag([1.0, 0.0, 0.0]))).any()


def test_stacks_have_their_derivatives_matrix_by_matrix_and_single_floats_theirs():
    stack = np.stack([np.eye(3), turned(1, 1, 2), turned(1, 2, 3), np.diag([1.0, 2.0, 2.0])])
    f = lambda a: np.sum(WEIGHTS * apply(np.exp, a))
    each = np.stack([rg.grad(f)(a) for a in stack])
    np.testing.assert_allclose(rg.grad(f)(stack), each, rtol=1e-13)
    np.testing.assert_allclose(rg.grad(f)(stack.reshape(2, 2, 3, 3)).reshape(4, 3, 3), each, rtol=1e-13)
    one = rg.grad(f)(stack.astype(np.float32))
    assert one.dtype == np.float32
    np.testing.assert_allclose(one, each, rtol=1e-5, atol=1e-5)
    undefined = rg.grad(lambda a: np.sum(WEIGHTS * (lambda v: v[..., :1] @ v[..., :1].mT)(eigh(a)[1])))
    np.testing.assert_array_equal(np.isnan(undefined(stack)).any((-1, -2)), [True, True, False, False])


def test_values_that_are_apart_cost_no_series(monkeypatch):
    made = []
    limit = ties._limit
    monkeypatch.setattr(ties, "_limit", lambda *args: made.append(args) or limit(*args))
    gradient = rg.grad(lambda a: np.sum(WEIGHTS * apply(np.exp, a)))
    gradient(turned(1, 2, 3))
    assert not made
    gradient(np.eye(3))
    assert made


def test_matrices_of_one_row_and_of_none_have_their_gradients():
    f = rg.grad(lambda a: np.sum(apply(np.exp, a)))
    np.testing.assert_allclose(f(np.array([[2.0]])), [[np.exp(2)]])
    assert f(np.empty((0, 2, 2))).shape == (0, 2, 2)


def test_the_step_to_a_limit_is_told():
    text = str(rg.grad(lambda a: np.sum(WEIGHTS * apply(np.exp, a))).explain(np.eye(3)))
    assert "limit where values tie" in text


@pytest.mark.parametrize(
    "a", [np.eye(3), np.diag([1.0, 1.0, 2.0]), np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 3]])], ids=str
)
@pytest.mark.parametrize("exponent", [-900, -600, -300, 300, 600, 1000])
def test_values_that_tie_are_moved_apart_by_their_own_size(a: Any, exponent: int) -> None:
    def root(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(((v * np.sqrt(w)) @ v.T)[0])

    def absolute(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return np.sum(((u * s) @ vt)[0])

    for f, degree in (root, 0.5), (absolute, 1):
        expected, got = rg.grad(f)(a), rg.grad(f)(a * 2.0**exponent)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(got * 2.0 ** (exponent * (1 - degree)), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("factor", [[1, 2, 3], [2, 2, 2], [-3, -3, -3], [True, True, True], [1.5, 1.5, 1.5]])
@pytest.mark.parametrize("extreme", [np.max, np.min])
def test_the_largest_of_multiples_by_whole_numbers(factor, extreme):
    """max(n·x): whole numbers are numbers, one for all entries or several, and ties of multiples are shared."""
    n, x = (
        np.array(factor),
        np.array([6.0, 3.0, -2.0]) if factor[0] != factor[1] else np.array([2.0, 2.0, -2.0]),
    )
    sign = 1.0 if (extreme is np.max) == (n[0] > 0) else -1.0
    x = sign * x
    found = rg.grad(lambda x: extreme(x * n))(x)
    entries = np.isclose(x * n, extreme(x * n))
    assert entries.sum() == 2
    np.testing.assert_array_equal(found, np.where(entries, n / 2, 0.0))
    np.testing.assert_array_equal(
        rg.grad(lambda x: extreme(x / n))(x * n**2), np.where(entries, 1 / n / 2, 0.0)
    )
