"""Kinks that cancel: functions written with |x|, max, min, sign and branches that are smooth where these are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import relgrad as rg
from relgrad.calculus.kinks import one_function, smoothed
from relgrad.calculus.series import argument
from relgrad.op import as_term
from relgrad.schedule import replay
from relgrad.trace.tracer import Tracer

LOG2 = np.log(2.0)


def root(x: Any) -> Any:
    return np.sqrt(np.where(x > 0, x, 1.0))


SMOOTH: dict[str, tuple[Callable[[Any], Any], float, tuple[float, ...]]] = {
    "softplus": (lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), 0.0, (LOG2, 0.5, 0.25, 0.0)),
    "cross-entropy": (
        lambda x: np.maximum(x, 0) - 0.3 * x + np.log1p(np.exp(-np.abs(x))),
        0.0,
        (LOG2, 0.2, 0.25),
    ),
    "sigmoid": (
        lambda x: np.where(x >= 0, 1.0, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
        0.0,
        (0.5, 0.25, 0.0, -0.125),
    ),
    "two sigmoids": (
        lambda x: np.where(
            x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
        ),
        0.0,
        (0.5, 0.25, 0.0),
    ),
    "log cosh": (lambda x: np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - LOG2, 0.0, (0.0, 0.0, 1.0)),
    "arcsinh": (lambda x: np.sign(x) * np.log(np.abs(x) + np.sqrt(x * x + 1)), 0.0, (0.0, 1.0, 0.0)),
    "tanh": (
        lambda x: np.sign(x) * (1 - np.exp(-2 * np.abs(x))) / (1 + np.exp(-2 * np.abs(x))),
        0.0,
        (0.0, 1.0, 0.0),
    ),
    "a kink beside 0/0": (
        lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))) - (1 - np.cos(x)) / x**2,
        0.0,
        (LOG2 - 0.5, 0.5, 1 / 3),
    ),
    "square of a maximum": (lambda x: np.maximum(x, -x) ** 2, 0.0, (0.0, 0.0, 2.0, 0.0)),
    "squares of two parts": (
        lambda x: np.maximum(x, 0) ** 2 + np.maximum(-x, 0) ** 2,
        0.0,
        (0.0, 0.0, 2.0),
    ),
    "product of the larger and the smaller": (
        lambda x: np.maximum(x, 2 * x) * np.minimum(x, 2 * x),
        0.0,
        (0.0, 0.0, 4.0),
    ),
    "signed branches": (lambda x: np.where(x > 0, x**2, -(x**2)) * np.sign(x), 0.0, (0.0, 0.0, 2.0)),
    "a bound that is reached": (lambda x: np.clip(np.sqrt(1 + x**2), -1.0, 1.0), 0.0, (1.0, 0.0, 0.0)),
    "roots of a square": (
        lambda x: np.minimum(np.maximum(np.maximum(-x - x * x, x), 0.0), 0.0),
        -1.0,
        (0.0, 0.0, 0.0),
    ),
    "a condition beside a kink": (
        lambda x: np.where(np.clip(x - 1, -1.0, 1.0) > -2, 1 + np.maximum(2 * x, 0.0) ** 2, x),
        0.0,
        (1.0, 0.0),
    ),
    "copied sign": (lambda x: np.copysign(np.tanh(np.abs(x)), x), 0.0, (0.0, 1.0, 0.0)),
    "logaddexp by hand": (
        lambda x: np.maximum(x, 1.0) + np.log1p(np.exp(-np.abs(x - 1.0))),
        1.0,
        (1 + LOG2, 0.5, 0.25),
    ),
    "Stumpff's c₂": (
        lambda x: np.where(
            x > 0, (1 - np.cos(np.sqrt(x))) / x, np.where(x < 0, (np.cosh(np.sqrt(-x)) - 1) / -x, 0.5)
        ),
        0.0,
        (1 / 2, -1 / 24, 1 / 360),
    ),
    "Stumpff's c₃, guarded": (
        lambda x: np.where(
            x > 0,
            (root(x) - np.sin(root(x))) / root(x) ** 3,
            np.where(x < 0, (np.sinh(root(-x)) - root(-x)) / root(-x) ** 3, 1 / 6),
        ),
        0.0,
        (1 / 6, -1 / 120),
    ),
    "cosine of a root": (
        lambda x: np.where(x < 1, np.cosh(np.sqrt(np.abs(x - 1))), np.cos(np.sqrt(np.abs(x - 1)))),
        1.0,
        (1.0, -1 / 2, 1 / 12),
    ),
}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_where_kinks_cancel(name: str, strategy: str) -> None:
    fun, at, expected = SMOOTH[name]
    found, current = [], rg.stabilize(fun, strategy=strategy)
    for order in range(len(expected)):
        found.append(current(at))
        current = rg.grad(fun if not order else current, strategy=strategy)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("left", "slope"),
    [(lambda s: np.sinh(s) / s, -1 / 6), (lambda s: np.sin(s) / s, 0.0), (lambda s: np.cosh(s), 0.0)],
)
def test_functions_of_a_root_are_one_if_their_series_are(left: Callable[[Any], Any], slope: float) -> None:
    """sin(√x)/√x, sinh(√−x)/√−x = 1 − x/6 + … on both sides of 0; sin(√−x)/√−x = 1 + x/6 + … is another."""

    def fun(x: Any) -> Any:
        s = np.sqrt(np.abs(x))
        return np.where(x > 0, np.sin(s) / s, np.where(x < 0, left(s), 1.0))

    x = np.array([0.0, 1e-9, 0.5])
    slopes = [slope, -1 / 6 + 1e-9 / 60, np.cos(0.5**0.5) - fun(0.5)]
    for dtype in (np.float64, np.float32):
        found = rg.grad(lambda x: np.sum(fun(x)))(x.astype(dtype))
        np.testing.assert_allclose(found, slopes, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", SMOOTH)
def test_far_from_kinks_nothing_changes(name: str) -> None:
    fun, at, _ = SMOOTH[name]
    for x in (at + 0.7, at - 3.0, at + 700.0, at - 700.0):
        step = 1e-6 * max(1.0, abs(x))
        with np.errstate(over="ignore", invalid="ignore"):
            slope = (fun(x + step) - fun(x - step)) / (2 * step)
        if np.isfinite(slope):
            np.testing.assert_allclose(rg.grad(fun)(x), slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("last", [lambda x, y: x - y, lambda x, y: y - x])
def test_two_arguments_that_meet(strategy: str, last: Callable[[Any, Any], Any]) -> None:
    """The Hessian of log(eˣ + eʸ) = max(x, y) + log(1 + e^−|x − y|) is 1/4 of [[1, −1], [−1, 1]] where x = y."""

    def added(t: Any) -> Any:
        return np.maximum(t[0], t[1]) + np.log1p(np.exp(-np.abs(last(t[0], t[1]))))

    found = rg.hessian(added, strategy=strategy)(np.full(2, 0.5))
    np.testing.assert_allclose(found, [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-14)
    np.testing.assert_allclose(rg.grad(added, strategy=strategy)(np.full(2, 0.5)), [0.5, 0.5], rtol=1e-15)
    far = rg.grad(added, strategy=strategy)(np.array([800.0, -3.0]))
    np.testing.assert_allclose(far, [1.0, 0.0], atol=1e-15)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "how",
    [{"ties": "first"}, {"ties": "last"}, {"norm_at_zero": 1.0}, {"norm_at_zero": np.nan}],
    ids=str,
)
@pytest.mark.parametrize("name", ["softplus", "x·|x|", "|x|³", "softplus of x"])
def test_conventions_change_no_derivative_that_exists(name: str, how: dict[str, Any]) -> None:
    """∂(max(x, 0) + log1p(e^−|x|)) = 1/2 at 0, ∂(x·|x|) = 0, whatever a part is said to have there."""
    fun, slopes = {
        "softplus": (SMOOTH["softplus"][0], (0.5, 0.25)),
        "x·|x|": (lambda x: x * np.abs(x), (0.0,)),
        "|x|³": (lambda x: np.abs(x) ** 3, (0.0, 0.0)),
        "softplus of x": (lambda x: np.sin(SMOOTH["softplus"][0](x)), (np.cos(LOG2) / 2,)),
    }[name]
    for slope in slopes:
        fun = rg.grad(fun, conventions=rg.Conventions(**how))
        np.testing.assert_allclose(fun(0.0), slope, rtol=1e-14, atol=1e-300)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("x", "y"), [((-0.5, 0.2, 0.5), (0.5,)), ((0.5,), (-0.5, 0.2, 0.5)), ((0.5, 0.1), 0.5), (0.5, (0.5, 0.1))]
)
def test_an_argument_that_is_spread_meets_each_entry(x: Any, y: Any) -> None:
    """max(x, y) + log1p(exp(−|x − y|)) = log(eˣ + e^y), whichever of the two has fewer entries."""
    x, y = np.array(x), np.array(y)
    smooth = lambda x, y: np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y)))
    found, expected = (
        rg.hessian(lambda x, y, f=f: np.sum(np.sin(f(x, y))), argnums=(0, 1))(x, y)
        for f in (smooth, np.logaddexp)
    )
    for rows in zip(found, expected, strict=True):
        for block, other in zip(*rows, strict=True):
            np.testing.assert_allclose(block, other, rtol=1e-12, atol=1e-15)


def test_logistic_regression_from_zero_weights() -> None:
    """The Hessian of the cross-entropy at w = 0 is XᵀX/4, however the loss keeps from overflowing."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), (rng.random(20) < 0.5).astype(float)

    def loss(w: Any) -> Any:
        z = x @ w
        return np.sum(np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z))))

    np.testing.assert_allclose(rg.hessian(loss)(np.zeros(3)), x.T @ x / 4, rtol=1e-13)
    np.testing.assert_allclose(rg.grad(loss)(np.zeros(3)), x.T @ (0.5 - y), rtol=1e-12)


@pytest.mark.parametrize(
    ("fun", "slope"),
    [
        (lambda x: np.maximum(x, 0.0), 0.5),
        (np.abs, 0.0),
        (lambda x: np.where(x > 0, x, 2 * x), 2.0),
        (lambda x: np.maximum(x, 0) + 0.1 * np.minimum(x, 0), 0.55),
        (lambda x: np.clip(x, 0.0, 1.0), 0.5),
        (lambda x: np.abs(x) + x, 1.0),
        (lambda x: np.maximum(np.sin(x), 0), 0.5),
    ],
)
def test_kinks_that_stay_are_as_conventions_say(fun: Callable[[Any], Any], slope: float) -> None:
    assert rg.grad(fun)(0.0) == slope


def test_huber_has_its_kinks_in_the_curvature() -> None:
    huber = lambda x: np.where(np.abs(x) <= 1, x * x / 2, np.abs(x) - 0.5)
    second = rg.grad(rg.grad(huber))
    assert [float(second(x)) for x in (-2.0, 0.0, 0.5, 1.5)] == [0.0, 1.0, 1.0, 0.0]


def test_series_stand_where_both_sides_are_one_function() -> None:
    x = argument()
    at = Tracer(x)
    smooth = as_term(np.maximum(at, 0.0) + np.log1p(np.exp(-np.abs(at))))
    assert [series.point for series in smoothed(smooth, x)[1]] == [0.0]
    two = as_term(np.maximum(at - 1, 1 - at) ** 2 + np.maximum(at, -at) ** 2)
    assert sorted(series.point for series in smoothed(two, x)[1]) == [0.0, 1.0]
    for kinked in (np.abs(at), np.maximum(at, 0.0) * at, np.abs(at) ** 3, np.exp(-np.abs(at)), np.sin(at)):
        assert smoothed(as_term(kinked), x)[1] == ()


def test_series_end_before_other_kinks() -> None:
    x = argument()
    at = Tracer(x)
    parts = as_term(np.where(at > 0.1, 5.0, 0.0) + np.maximum(at, -at) ** 2)
    (series,) = smoothed(parts, x)[1]
    assert series.point == 0.0 and 0.01 < series.terms.radius < 0.1


def test_a_derivative_that_both_sides_have_though_they_are_two_functions() -> None:
    """d/dx copysign(e^|x| − 1, x) is 1 at 0 from either side; the second derivative jumps from −1 to 1."""
    fun = lambda x: np.copysign(np.expm1(np.abs(x)), x)
    assert rg.grad(fun)(0.0) == 1.0
    assert [float(rg.grad(rg.grad(fun))(x)) for x in (-1.0, 1.0)] == pytest.approx([-np.e, np.e])


def test_one_function_on_both_sides() -> None:
    x = Tracer(argument())
    from relgrad.kernels import expit

    both = np.where(x >= 0, expit(np.abs(x)), expit(-np.abs(x)))
    assert one_function(as_term(both)) is as_term(expit(x))
    for other in (
        np.where(x >= 0, expit(np.abs(x)), expit(x + 0.1)),
        np.where(x > 0, x, np.where(x == 0, 5.0, x)),
        np.where(x > 0, np.abs(x - 1), x - 1),
        np.where(x > 0, np.sin(x), 0.0),
        np.where(x > 0, np.abs(np.sin(x)), -np.abs(np.sin(x))),  # turns at π as well
        np.where(x >= 0, np.maximum(x, np.exp(x) - 30), x),
        np.where(x >= np.cos(x) + x**3, x, np.abs(x)),
        np.where(x >= 0, np.floor(x), np.floor(x) + 1),
    ):
        assert one_function(as_term(other)) is None


def test_what_turns_with_an_increasing_function_turns_once() -> None:
    x = Tracer(argument())
    for turning in (np.sinh(x) + x, 2 * x, np.expm1(x), -np.arctan(x) / 3):
        chosen = np.where(turning > 0, np.abs(turning), -np.abs(turning))
        assert one_function(as_term(chosen)) is as_term(turning), turning


REPLAYED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "kinks": (SMOOTH["softplus"][0], 0.3),
    "sides": (SMOOTH["two sigmoids"][0], 0.3),
    "guard": (lambda x: np.where(x == 0, 1.0, np.expm1(x) / np.where(x == 0, 1.0, x)), 0.3),
    "length": (lambda w: np.cos(np.linalg.norm(w)), np.array([0.1, 0.2])),
    "direction": (
        lambda w: np.sum(np.sin(np.linalg.norm(w)) * (w / np.linalg.norm(w))),
        np.array([0.1, 0.2]),
    ),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", REPLAYED)
def test_derivations_are_replayed(name: str, strategy: str) -> None:
    """The steps of derivations with limits lead from the program to what is computed, once more."""
    fun, at = REPLAYED[name]
    first = rg.grad(fun, strategy=strategy)
    second = rg.jacobian(first, strategy=strategy)
    for transformed in (first, second):
        derivation = transformed.explain(at).derivation
        assert replay(derivation).after == derivation.after


@pytest.mark.sampled(8)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    "fun",
    [
        lambda t: np.where(np.append(t, t) == np.append(t, t).max(), np.append(t, t), 0),
        lambda t: np.exp(np.tile(t, 2) - np.tile(t, 2).max()),
        lambda t: np.broadcast_to(t, (3, 2)) / np.broadcast_to(t, (3, 2)).max(),
    ],
)
def test_what_is_spread_is_compared_with_itself_in_one_form(fun, strategy):
    """t == max(broadcast(t)): both are rewritten alike, so that rounding does not tell them apart."""
    for seed in range(6):
        x = np.random.default_rng(seed).uniform(0.3, 2, 2)
        for inner in (
            lambda x: 1 / x * np.exp(x).sum() * np.exp(x) * np.exp(x) * np.sqrt(x),
            lambda x: np.sqrt(x + 0.5) ** 2,
        ):
            f = lambda x, inner=inner: fun(inner(x))
            np.testing.assert_allclose(
                rg.stabilize(f, strategy=strategy, validate=False)(x), f(x), rtol=1e-13
            )
            slope = rg.jvp(f, (x,), (x,), strategy=strategy, validate=False)[1]
            steps = (f(x * (1 + 1e-6)) - f(x * (1 - 1e-6))) / 2e-6
            np.testing.assert_allclose(slope, steps, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_a_logistic_function_by_sides_has_its_slope_where_they_meet(strategy: str) -> None:
    """−log(1 − σ(z)) has the slope σ(z) and the curvature σ(z)·(1 − σ(z)), at 0 too."""

    def loss(z):
        e = np.exp(-np.abs(z))
        return -np.log(1 - np.where(z >= 0, 1 / (1 + e), e / (1 + e)))

    slope = rg.grad(loss, strategy=strategy)
    assert float(slope(0.0)) == pytest.approx(0.5, rel=1e-15)
    assert float(rg.grad(slope)(0.0)) == pytest.approx(0.25, rel=1e-15)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("centre", np.random.default_rng(0).uniform(0.01, 0.6, 20))
def test_a_series_ends_before_the_next_kink(centre: float) -> None:
    """A bump of the width 1e-5 beside the kinks that cancel is seen wherever it is."""

    def bumped(x: Any) -> Any:
        inside = 1e-10 - (x - centre) ** 2
        softplus = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
        return softplus + 1000 * np.where(inside > 0, inside, 0)

    share = 1 / (1 + np.exp(-centre))
    np.testing.assert_allclose(rg.grad(rg.grad(bumped))(centre), share * (1 - share) - 2000, rtol=1e-12)


@pytest.mark.parametrize(
    ("fun", "at", "second"),
    [
        (lambda x: (x - np.floor(x)) * np.floor(x + 1) + np.ceil(x) * 0, 0.0, 0.0),
        (lambda x: np.where(np.floor(x) < 0, np.exp(x), np.exp(np.abs(x))), 0.0, 1.0),
        (lambda x: np.where(np.rint(x + 0.5) > 0.5, np.exp(x), np.exp(-np.abs(x))), 0.0, 1.0),
    ],
)
def test_what_jumps_where_kinks_cancel(fun: Callable[[Any], Any], at: float, second: float) -> None:
    np.testing.assert_allclose(rg.grad(rg.grad(fun))(at), second, rtol=1e-13)


@pytest.mark.parametrize("ties", ["first", "last", "share"])
def test_a_power_of_nothing_is_nothing_beside_a_kink(ties: Any) -> None:
    fun = lambda y: np.maximum(y, 0.0) - np.minimum(y, 0.0) ** 2 / 2 - np.abs(y) / 2
    assert rg.grad(fun, conventions=rg.Conventions(ties=ties))(0.0) == 0.5


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.maximum(np.sum(x**2), 0),
        lambda x: -np.minimum(0.0, -np.sum(x**2)),
        lambda x: np.abs(np.sum(x**2)) - np.sum(x**2) / 2 + np.abs(-np.sum(x**2)) / 2,
        lambda x: 2 * np.maximum(np.cosh(x), 1).sum(),
        lambda x: np.sum(x**2).clip(0, None),
    ],
)
@pytest.mark.parametrize("ties", ["share", "last"])
def test_what_is_on_one_side_everywhere_has_no_kink(
    fun: Callable[[Any], Any], strategy: str, ties: Any
) -> None:
    """max(x·x, 0) = x·x at 0, too, where the two are equal."""
    how: Any = {"strategy": strategy, "conventions": rg.Conventions(ties=ties, norm_at_zero=np.nan)}
    np.testing.assert_allclose(rg.hessian(fun, **how)(np.zeros(2)), 2 * np.eye(2))
    _, moved = rg.jvp(rg.grad(fun, **how), (np.zeros(2),), (np.array([1.0, 2.0]),), **how)
    np.testing.assert_allclose(moved, [2.0, 4.0])


@pytest.mark.parametrize(
    "how", [{}, {"strategy": "eager"}, {"strategy": "naive"}, {"relations": []}], ids=repr
)
def test_functions_without_a_kink_at_0_are_written_without_one(how: dict[str, Any]) -> None:
    """The fraction of x is x near 0, and Huber's function x·x/2."""
    assert rg.grad(lambda x: np.modf(x)[0], **how)(0.0) == 1.0
    assert rg.hessian(lambda x: scipy.special.huber(1.0, x), **how)(0.0) == 1.0


@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
def test_what_bounds_itself_has_no_kink(strategy: str) -> None:
    """min(x, max x) = x, though all entries tie."""
    w = np.arange(3.0)
    for bounded in (lambda x: np.minimum(x, np.max(x)), lambda x: np.clip(x, x.min(), None)):
        slope = rg.grad(lambda x, bounded=bounded: np.sum(bounded(x) * w), strategy=strategy)
        np.testing.assert_array_equal(slope(np.ones(3)), w)


def test_a_number_with_its_own_sign_is_the_number():
    """copysign(x, x) = x, at 0 as well."""
    assert rg.grad(lambda x: np.copysign(x, x))(0.0) == 1.0
    np.testing.assert_array_equal(
        rg.stabilize(lambda x: np.copysign(x, x))(np.array([-0.0, np.nan])), [-0.0, np.nan]
    )
