"""What vanishes with a length takes it out of a direction: g(‖x‖)·x/‖x‖ = (g(‖x‖)/‖x‖)·x, also where x = 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import relgrad as rg
from relgrad.calculus.lengths import Over, directions, length_taken_out, shows_length
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.ops import unit
from relgrad.ops.lengths import Norm, UnitPullback
from relgrad.term import Term, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

STRATEGIES = ("default", "eager")
EVEN: dict[str, tuple[Callable[[Any], Any], float]] = {
    "cosine": (np.cos, -0.5),
    "square": (lambda n: n**2, 1.0),
    "polynomial": (lambda n: n**4 - n * n, -1.0),
    "root": (lambda n: np.sqrt(1 + n**2), 0.5),
    "log cosh": (lambda n: np.log(np.cosh(n)), 0.5),
    "Gauss": (lambda n: np.exp(-(n**2) / 2), -0.5),
    "Matern 3/2": (lambda n: (1 + np.sqrt(3) * n) * np.exp(-np.sqrt(3) * n), -1.5),
    "Matern 5/2": (lambda n: (1 + n + n * n / 3) * np.exp(-n), -1 / 6),
    "product": (lambda n: n * np.tanh(n), 1.0),
    "Huber": (lambda n: np.where(n < 1, n * n / 2, n - 0.5), 0.5),
    "two in one": (lambda n: np.cos(n + n**2), -0.5),
    "exponentials": (lambda n: np.logaddexp(n, -n), 0.5),
    "Bessel": (lambda n: sp.j0(n / 2), -1 / 16),
}
"""Functions f(n) = F(n²), with F′(0)."""
LENGTHS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "norm": (np.linalg.norm, 3),
    "size": (lambda w: np.abs(w[0]), 1),
    "hypotenuse": (lambda w: np.hypot(w[0], w[1]), 2),
    "norm of a difference": (lambda w: np.linalg.norm(w - np.zeros(3)), 3),
    "multiple": (lambda w: np.linalg.norm(2 * w) / 2, 3),
}
ROOTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "root of a sum of squares": (lambda w: np.sqrt(np.sum(w**2)), 3),
    "root of a product": (lambda w: np.sqrt(w @ w), 3),
    "root of three squares": (lambda w: np.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2), 3),
}
"""Lengths by relations, which the eager strategy meets when all is differentiated."""
CASES = [(name, how, "default") for name in EVEN for how in (*LENGTHS, *ROOTS)]
CASES += [(name, how, "eager") for name in EVEN for how in LENGTHS]


@pytest.mark.sampled(36)
@pytest.mark.filterwarnings("ignore:.*encountered in scalar divide:RuntimeWarning")
@pytest.mark.parametrize(("name", "how", "strategy"), CASES)
def test_the_hessian_of_an_even_function_of_a_length(name: str, how: str, strategy: str) -> None:
    """∇²F(‖w‖²) = 2·F′(0)·I at w = 0, and next to it."""
    (fun, slope), (length, n) = EVEN[name], (LENGTHS | ROOTS)[how]
    hessian = rg.hessian(lambda w: fun(length(w)), strategy=strategy)
    expected = np.diag(np.where(np.arange(3) < n, 2 * slope, 0.0))
    np.testing.assert_allclose(hessian(np.zeros(3)), expected, rtol=1e-14, atol=1e-15)
    near = np.array([3e-9, -4e-9, 12e-9]) if n > 1 else np.array([2e-9, 0.0, 0.0])
    np.testing.assert_allclose(hessian(near), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "along",
    [
        lambda w: np.sin(np.linalg.norm(w)) * w / np.linalg.norm(w),
        lambda w: np.sin(np.abs(w[0])) * w[0] / np.abs(w[0]),
        lambda w: np.sin(np.abs(w[0])) * w[0] / np.sqrt(w[0] ** 2),
        lambda w: np.sin(np.abs(w[0])) * w[0] * np.power(w[0] ** 2, -0.5),
        lambda w: np.linalg.norm(w) * unit(w)[0],
        lambda w: np.linalg.norm(w) * np.sum(w * unit(w)),
    ],
)
def test_where_a_length_is_taken_out_ops_show_that_there_is_one(along: Callable[[Any], Any]) -> None:
    w = Tracer(term(Input("w", array_type("float64", (3,)))))
    product = as_term(2 * along(w) * np.exp(w[1]))
    found = [t for t in subterms(product) if length_taken_out(t) is not None]
    assert found
    assert all(map(shows_length, found))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_slopes_along_directions(strategy: str) -> None:
    """∂(g(‖w‖)·(a·w/‖w‖)) = g′(0)·a at w = 0."""
    a = np.array([1.0, -2.0, 3.0])

    def pulled(w: Any) -> Any:
        n = np.linalg.norm(w)
        return np.sum(np.tanh(2 * n) * (w / n) * a)

    np.testing.assert_allclose(rg.grad(pulled, strategy=strategy)(np.zeros(3)), 2 * a, rtol=1e-15)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "direction",
    [
        lambda w, n: np.where(n > 0, w / np.where(n > 0, n, 1.0), 0.0),
        lambda w, n: np.where(n == 0, w, w / np.where(n == 0, 1.0, n)),
        lambda w, n: np.where(n > 0, w / n, w),
    ],
)
def test_a_direction_that_is_guarded_is_one(direction: Callable[[Any, Any], Any], strategy: str) -> None:
    """where(‖w‖ > 0, w/where(‖w‖ > 0, ‖w‖, 1), 0) = w/‖w‖: the slope of sin‖w‖·w/‖w‖ at 0 is 1, however w/‖w‖ is kept
    from 0/0.
    """

    def along(w: Any) -> Any:
        n = np.linalg.norm(w)
        return np.sin(n) * direction(w, n)

    for w in (np.zeros(2), np.zeros(1)):
        np.testing.assert_allclose(rg.jacobian(along, strategy=strategy)(w), np.eye(len(w)), rtol=1e-15)
    w = np.array([0.3, -0.4])
    want = np.sin(0.5) / 0.5 * np.eye(2) + (np.cos(0.5) - np.sin(0.5) / 0.5) * np.outer(w, w) / 0.25
    np.testing.assert_allclose(rg.jacobian(along, strategy=strategy)(w), want, rtol=1e-14)


def rotation(w: Any) -> Any:
    """Rodrigues' formula as it is written in textbooks."""
    angle = np.linalg.norm(w)
    k = w / angle
    z = 0 * k[0]
    K = np.array([[z, -k[2], k[1]], [k[2], z, -k[0]], [-k[1], k[0], z]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def test_rotations_about_no_axis() -> None:
    """R(0) = I, ∂R/∂wₖ = the generator of rotations about the k-th axis."""
    zero, levi = np.zeros(3), np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        levi[i, j, k], levi[i, k, j] = -1.0, 1.0
    np.testing.assert_array_equal(rg.stabilize(rotation)(zero), np.eye(3))
    np.testing.assert_allclose(rg.jacobian(rotation)(zero), levi.transpose(1, 2, 0), atol=1e-16)
    second = rg.hessian(lambda w: rotation(w)[0, 0])(zero)
    np.testing.assert_allclose(second, np.diag([0.0, -1.0, -1.0]), atol=1e-15)


@pytest.mark.parametrize(
    "angle",
    [
        lambda q: np.arccos(q[..., 0] / np.sqrt((q * q).sum(-1))),
        lambda q: np.arctan2(np.sqrt((q[..., 1:] ** 2).sum(-1)), q[..., 0]),
    ],
)
def test_logarithms_of_rotations_about_no_axis(angle: Callable[[Any], Any]) -> None:
    """θ·v/‖v‖, θ = arctan2(‖v‖, w), has the slope 1/w at v = 0 where w > 0; near half a turn nothing is lost."""

    def log(q: Any) -> Any:
        return angle(q)[..., None] * q[..., 1:] / np.sqrt((q[..., 1:] ** 2).sum(-1, keepdims=True))

    slopes = rg.jacobian(lambda q: log(q)[0], precise=False)
    np.testing.assert_allclose(slopes(np.array([[2.0, 0, 0, 0]]))[:, 0], np.eye(4)[1:] / 2, atol=1e-16)
    np.testing.assert_allclose(slopes(np.array([[1e-12, 0, 1, 0]]))[1, 0], [-1, 0, 1e-12, 0], rtol=1e-12)
    second = rg.hessian(lambda q: log(q).sum(), precise=False)(np.array([1.0, 0, 0, 0]))
    np.testing.assert_allclose(second[0], [0, -1, -1, -1], atol=1e-15)


def test_kernels_of_points_that_meet() -> None:
    """−∂²k/∂x∂y at x = y, which Gaussian processes with gradients need: 5/3·I for Matérn 5/2."""

    def kernel(x: Any, y: Any) -> Any:
        r = np.sqrt(5.0) * np.linalg.norm(x - y)
        return (1 + r + r**2 / 3) * np.exp(-r)

    mixed = rg.jacobian(lambda y: rg.grad(kernel)(np.ones(2), y))(np.ones(2))
    np.testing.assert_allclose(mixed, 5 / 3 * np.eye(2), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_that_are_zero_beside_others(strategy: str) -> None:
    x = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]])
    weights = np.array([1.0, 0.5])
    step = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])

    def energy(x: Any) -> Any:
        n = np.linalg.norm(x, axis=-1)
        return np.sum(weights * (1 + n + n * n / 3) * np.exp(-n))

    found = rg.jvp(rg.grad(energy, strategy=strategy), (x,), (step,), strategy=strategy)[1]
    np.testing.assert_allclose(found, -step / 3, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("turned", [False, True])
def test_lengths_that_are_multiplied_along_other_axes(strategy: str, turned: bool) -> None:
    """Σᵢⱼ sin(nⱼ)·uᵢⱼ is not Σᵢⱼ sin(nᵢ)·uᵢⱼ."""
    x = np.random.default_rng(0).normal(size=(3, 3))
    weights = np.arange(9.0).reshape(3, 3)

    def mixed(x: Any) -> Any:
        n = np.linalg.norm(x, axis=-1)
        return np.sum(weights * np.sin(n if turned else n[:, None]) * (x / n[:, None]))

    assert rg.stabilize(mixed, strategy=strategy)(x) == pytest.approx(mixed(x), rel=1e-13)
    expected = rg.grad(mixed, strategy="naive")(x)
    np.testing.assert_allclose(rg.grad(mixed, strategy=strategy)(x), expected, rtol=1e-12)


def test_a_guard_that_gives_the_limit_is_no_guard() -> None:
    """sin(n)·where(n > 0, w/n, 0) = sinc(n)·w."""

    def guarded(w: Any) -> Any:
        n = np.linalg.norm(w)
        return np.sum(np.sin(n) * np.where(n > 0, w / n, 0.0))

    np.testing.assert_array_equal(rg.grad(guarded)(np.zeros(3)), np.ones(3))


def test_what_has_no_derivative_is_as_conventions_say() -> None:
    zero = np.zeros(3)
    np.testing.assert_array_equal(rg.hessian(np.linalg.norm)(zero), np.zeros((3, 3)))
    np.testing.assert_array_equal(rg.grad(lambda w: np.sum(w / np.linalg.norm(w)))(zero), zero)
    half = rg.Conventions(norm_at_zero=0.5)
    np.testing.assert_array_equal(rg.hessian(np.linalg.norm, conventions=half)(zero), np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("function", "arguments", "slope"),
    [
        (lambda x, y: x / np.sqrt(x * x + y * y), (1e20, 3.0), 9e-60),
        (lambda x, y: x * y / np.sqrt(x * x * y * y + 1), (1e10, 2.0), 2.5e-31),
        (lambda x, y: (np.sqrt(x * x + y * y) - y) / (np.sqrt(x * x + y * y) + y), (1.0, 1e-30), 2e-30),
        (lambda x, y: y / np.hypot(y, -x) - 1, (1e-30, 1.0), -1e-30),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_slope_of_a_length_that_divides_anyway_meets_what_is_beside_it(
    function, arguments, slope, strategy
) -> None:
    """1/h − x²/h³ = y²/h³; with a 0 in place of x/h at h = 0, nothing would meet."""
    gradient = rg.grad(function, strategy=strategy, precise=False)
    np.testing.assert_allclose(gradient(*arguments), slope, rtol=1e-14)


def vector(*shape: int) -> Tracer:
    return Tracer(term(Input("x", array_type("float64", shape), symbol=True)))


def over(t: Any, length: Any) -> Term | None:
    return Over(as_term(length))(as_term(t))


@pytest.mark.parametrize(
    "vanishing",
    [
        lambda n: n,
        lambda n: 3 * n**2 * np.exp(n),
        lambda n: np.sin(2 * n) - n,
        lambda n: np.expm1(-n) * np.cos(n),
        lambda n: 1 - np.cos(n),
        lambda n: np.where(n < 1, n, 1.0),
        lambda n: np.where(n < 1, 0.0, n - 1),
        lambda n: np.where(n > 0, np.sin(n), 0.0),
        lambda n: np.log1p(np.tanh(n) + n * n),
    ],
)
def test_quotients_by_a_length(vanishing: Callable[[Any], Any]) -> None:
    """(t/‖x‖)·‖x‖ = t, and the quotient is finite where x = 0."""
    x = vector(3)
    n = Norm((-1,))(x)
    quotient = over(vanishing(n), n)
    assert quotient is not None
    for at in (np.array([0.3, -0.4, 0.0]), np.array([3.0, 4.0, 12.0]), np.array([1e-9, 0.0, 2e-9])):
        size = np.atleast_1d(np.linalg.norm(at))
        with np.errstate(all="ignore"):
            (found,) = interpret([quotient], {x.term: at})
        np.testing.assert_allclose(found * size, vanishing(size), rtol=1e-13, atol=1e-17)
    with np.errstate(all="ignore"):
        assert np.isfinite(interpret([quotient], {x.term: np.zeros(3)})[0]).all()


@pytest.mark.parametrize(
    "other",
    [
        lambda n, x: np.cos(n),
        lambda n, x: n + 1,
        lambda n, x: np.exp(n),
        lambda n, x: np.where(n == 0, 0.0, 1.0),
        lambda n, x: np.where(n > 1, n, 1.0),
        lambda n, x: np.sqrt(n),
        lambda n, x: x[0],
        lambda n, x: np.sin(n) * 0 + x,
    ],
)
def test_what_does_not_vanish_with_a_length_is_not_divided_by_it(other: Callable[[Any, Any], Any]) -> None:
    x = vector(3)
    n = Norm((-1,))(x)
    assert over(other(n, x), n) is None


def test_multiples_of_directions_are_found_through_linear_ops_only() -> None:
    x = vector(3)
    u = unit(x)
    assert [d.term for d in directions(as_term(2 * u[0] - np.sum(u[1:])))] == [as_term(u)]
    assert directions(as_term(np.exp(u))) == ()
    assert length_taken_out(as_term(np.sin(Norm((-1,))(x)) * np.exp(u))) is None


def test_lengths_of_rows_stay_with_their_rows() -> None:
    """Directions of rows are not multiplied through what mixes or turns rows: sin(nᵢ)·uⱼ keeps uⱼ."""
    x = vector(2, 2)
    u, n = unit(x, axis=-1), Norm((-1,))(x)
    assert length_taken_out(as_term(np.sin(n) * u.T)) is None
    assert length_taken_out(as_term(np.sin(n) * np.cumsum(u, axis=0))) is None
    assert length_taken_out(as_term(np.sin(np.squeeze(n, -1)) * u)) is None
    whole = length_taken_out(as_term(np.sin(n) * u))
    assert whole is not None and directions(whole) == ()


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_what_is_infinite_where_a_length_vanishes_has_no_slope_there(strategy):
    for f in (lambda x, y: np.log(np.hypot(x, y)), lambda x, y: 1 / np.hypot(x, y)):
        with np.errstate(all="ignore"):
            assert np.isnan(rg.grad(f, (0, 1), strategy=strategy)(0.0, 0.0)).all()


def test_a_term_is_looked_through_once_for_a_length_however_often_it_is_met(monkeypatch):
    x, y = (Tracer(term(Input(name, array_type(np.dtype(float), (3,))))) for name in "xy")
    norm = Tracer(Norm((-1,)).make_node(as_term(x)))
    looks = []
    of = Over.of

    def counting(self: Over, t: Any) -> Any:
        looks.append(t)
        return of(self, t)

    monkeypatch.setattr(Over, "of", counting)
    factor = as_term(np.sin(norm) * np.cos(np.sum(y)) + norm**2 * np.exp(np.sum(y)))
    length = as_term(norm)
    first = Over(length)(factor)
    once = len(looks)
    assert first is not None
    assert once > 1
    assert Over(length)(factor) is first
    assert len(looks) == once


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "size",
    [
        lambda u: np.sin(abs(u)),
        lambda u: np.log1p(abs(u)),
        lambda u: np.sqrt(u**2),
        lambda u: np.tanh(np.sqrt(u**2)),
    ],
    ids=["sin", "log1p", "root", "tanh of root"],
)
@pytest.mark.parametrize(
    ("argument", "slope"),
    [
        (lambda x, y: 2 * y, 2.0),
        (lambda x, y: x * y, 2.0),
        (lambda x, y: x**2 * np.sin(y), 4.0),
        (lambda x, y: y / x, 0.5),
        (lambda x, y: x + 3 * y - 2, 3.0),
        (lambda x, y: x * (y + 1) - x, 2.0),
    ],
    ids=["2y", "xy", "x²·sin y", "y/x", "x+3y-2", "x(y+1)-x"],
)
def test_the_vector_of_a_direction_may_be_a_product_and_a_difference_that_cancels(size, argument, slope):
    """g(|u|)·u/|u| and g(|u|)·sign(u) have the slope g'(0)·u' where u = 0, also computed again with more digits."""
    for sign in (np.sign, lambda u: u / np.abs(u)):
        for how in ({}, {"precise": False}):
            found = rg.grad(lambda x, y: size(argument(x, y)) * sign(argument(x, y)), 1, **how)  # noqa: B023
            assert found(2.0, 0.0) == slope


def test_a_length_is_taken_out_of_the_products_that_are_summed():
    """Σ w·log(1 + |x − y|)·sign(x − y), with weights before the rest, has the slopes w where x = y."""
    w = np.array([0.6, 0.8])
    loss = lambda x, y: np.sum(w * np.log1p(np.abs(x - y)) * np.sign(x - y))
    np.testing.assert_allclose(rg.grad(loss)(np.array([1.0, 0.4]), np.array([1.0, 0.4])), w, rtol=1e-15)


@pytest.mark.parametrize(
    ("of_x", "of_v", "axes"),
    [((1,), (1, 2, 1), (-2,)), ((3, 1), (3, 2), (-1,)), ((2,), (3, 2), (-2, -1)), ((1, 1), (4, 2), (-2,))],
)
def test_an_entry_that_an_axis_repeats_counts_so_often_in_the_length_of_a_pullback(of_x, of_v, axes):
    x, v = (term(Input(n, array_type("float64", s))) for n, s in (("x", of_x), ("v", of_v)))
    pullback = as_term(UnitPullback(axes)(Tracer(x), Tracer(v)))
    length, rest = map(as_term, pullback.op.over_length(*map(Tracer, pullback.rands)))
    rng = np.random.default_rng(0)
    values = {x: rng.normal(size=of_x), v: rng.normal(size=of_v)}
    whole, size, other = interpret([pullback, length, rest], values)
    np.testing.assert_allclose(other / size, whole, rtol=1e-14)


@pytest.mark.parametrize(
    ("f", "rows"),
    [
        (lambda x: np.sum(np.abs(x)[1:] ** 2), [1, 2]),
        (lambda x: np.sum(np.linalg.norm(x, axis=-1)[1:] ** 2), [1, 2]),
        (lambda x: np.linalg.norm(x, axis=-1)[1] ** 2, [1]),
        (lambda x: np.sum(np.abs(x)[[0, 2]] ** 2), [0, 2]),
        (lambda x: -2 * np.sum(np.cos(np.sqrt(x**2))[:1]), [0]),
    ],
)
def test_squares_of_some_of_many_lengths_have_the_slopes_of_squares(f: Any, rows: list[int]):
    want = np.zeros((3, 2))
    want[rows] = 2.0
    np.testing.assert_allclose(rg.hessian(f)(np.zeros((3, 2))), np.diag(want.ravel()).reshape(3, 2, 3, 2))


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_what_vanishes_no_faster_than_a_divisor_gives_no_length(strategy: str):
    x, ones = np.array([0.0, 0.5, -1.0]), np.ones(3)
    for size in (np.expm1, np.log1p):
        f = lambda x, size=size: np.sign(x) * size(np.abs(x))
        slope = np.exp(np.abs(x)) if size is np.expm1 else 1 / (1 + np.abs(x))
        np.testing.assert_allclose(rg.jvp(f, (x,), (ones,), strategy=strategy)[1], slope, rtol=1e-14)
