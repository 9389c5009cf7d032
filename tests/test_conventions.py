"""Conventions: the table of docs/conventions.md, at every order, and each of the choices that a call may make."""

from __future__ import annotations

import doctest
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import relgrad as rg
from relgrad.conventions import DEFAULT
from relgrad.term import subterms

NAN, INF = math.nan, math.inf
ZERO, ONES, NOTHING = np.zeros(2), np.ones(2), np.full(2, -INF)
DOCS = Path(__file__).resolve().parent.parent / "docs" / "conventions.md"

Scalar = Callable[[Any], Any]


def norm(x: Any) -> Any:
    return np.linalg.norm(x)


def third(fun: Scalar, **how: Any) -> Any:
    """Return the gradient of the sum of the second derivatives along one direction."""
    slope = rg.grad(fun, **how)
    curve = rg.grad(lambda x: np.sum(slope(x)), **how)
    return rg.grad(lambda x: np.sum(curve(x)), **how)


def orders(fun: Scalar, x: Any, **how: Any) -> list[Any]:
    """Return value, gradient, Hessian and third derivative."""
    with np.errstate(all="ignore"):
        return [
            rg.stabilize(fun, **how)(x),
            rg.grad(fun, **how)(x),
            rg.hessian(fun, **how)(x),
            third(fun, **how)(x),
        ]


def assert_orders(fun: Scalar, x: Any, expected: list[Any], **how: Any) -> None:
    for found, value in zip(orders(fun, x, **how), expected, strict=False):
        np.testing.assert_allclose(found, np.broadcast_to(value, np.shape(found)), rtol=1e-12, atol=1e-15)


SIZES: dict[str, tuple[Scalar, Any]] = {
    "norm": (norm, ZERO),
    "root of squares": (lambda x: np.sqrt(np.sum(x * x)), ZERO),
    "norm over an axis": (lambda x: np.sum(np.linalg.norm(x[None, :], axis=1)), ZERO),
    "3-norm": (lambda x: np.linalg.norm(x, 3), ZERO),
    "1-norm": (lambda x: np.linalg.norm(x, 1), ZERO),
    "abs": (lambda x: np.sum(np.abs(x)), ZERO),
    "root of a square": (lambda x: np.sum(np.sqrt(x**2)), ZERO),
    "hypot": (lambda x: np.hypot(x[0], x[1]), ZERO),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_have_gradient_zero_at_zero(name: str, strategy: str):
    fun, x = SIZES[name]
    assert_orders(fun, x, [0.0, 0.0, 0.0, 0.0], strategy=strategy)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SIZES)
def test_sizes_may_have_another_gradient_at_zero(name: str):
    fun, x = SIZES[name]
    half = rg.Conventions(norm_at_zero=0.5)
    assert_orders(fun, x, [0.0, 0.5, 0.0, 0.0], conventions=half)
    np.testing.assert_allclose(rg.jvp(fun, (x,), (ONES,), conventions=half)[1], 1.0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SIZES)
def test_sizes_may_have_no_gradient_at_zero_at_any_order(name: str):
    fun, x = SIZES[name]
    found = orders(fun, x, conventions=rg.Conventions(norm_at_zero=NAN))
    assert found[0] == 0
    assert all(np.isnan(np.diagonal(np.atleast_2d(d))).all() for d in found[1:])
    assert np.isnan(rg.jvp(fun, (x,), (ONES,), conventions=rg.Conventions(norm_at_zero=NAN))[1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("zero", [0.5, NAN])
def test_away_from_zero_no_convention_changes_anything(name: str, zero: float):
    fun, x = SIZES[name][0], np.array([0.3, -0.4])
    for found, expected in zip(
        orders(fun, x, conventions=rg.Conventions(norm_at_zero=zero, ties="last", zero_log=NAN, masked=0.0)),
        orders(fun, x),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_the_deviation_of_equal_entries(strategy: str):
    assert_orders(np.std, np.ones(3), [0.0, 0.0, 0.0, 0.0], strategy=strategy)
    assert np.isnan(rg.grad(np.std, conventions=rg.Conventions(norm_at_zero=NAN))(np.ones(3))).all()


EXTREMES: dict[str, Scalar] = {
    "max": np.max,
    "min": np.min,
    "max over two axes": lambda x: np.max(np.reshape(x, (1, 2)), axis=(0, 1)),
    "maximum": lambda x: np.maximum(x[0], x[1]),
    "minimum": lambda x: np.minimum(x[0], x[1]),
    "fmax": lambda x: np.fmax(x[0], x[1]),
    "fmin": lambda x: np.fmin(x[0], x[1]),
}
TIES = {"share": [0.5, 0.5], "first": [1.0, 0.0], "last": [0.0, 1.0]}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_ties(name: str, ties: str, strategy: str):
    how: dict[str, Any] = {"conventions": rg.Conventions(ties=ties), "strategy": strategy}
    fun, weights = EXTREMES[name], np.array(TIES[ties])
    assert_orders(fun, ONES, [1.0, weights, 0.0, 0.0], **how)
    # At second order: ½ (Σ wᵢ xᵢ²) for weights that are settled.
    assert_orders(lambda x: fun(x**2), ONES, [1.0, 2 * weights, np.diag(2 * weights)], **how)
    np.testing.assert_allclose(rg.jvp(fun, (ONES,), (np.array([3.0, 5.0]),), **how)[1], weights @ [3.0, 5.0])


@pytest.mark.parametrize("ties", TIES)
def test_bounds_of_clip_and_relu_are_ties(ties: str):
    how: Any = {"conventions": rg.Conventions(ties=ties)}
    own = TIES[ties][0]
    assert_orders(lambda x: np.sum(np.clip(x, 0.0, 1.0)), np.array([0.0, 1.0]), [1.0, own, 0.0, 0.0], **how)
    assert_orders(lambda x: np.maximum(x, 0.0), 0.0, [0.0, own, 0.0, 0.0], **how)


def test_one_entry_is_picked_among_many_that_tie():
    x = np.array([[1.0, 3.0, 3.0], [3.0, 2.0, 3.0]])
    total = lambda x: np.sum(np.max(x, axis=0))
    pick = lambda ties, fun: rg.grad(fun, conventions=rg.Conventions(ties=ties))(x)
    np.testing.assert_array_equal(pick("first", total), [[0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(pick("last", total), [[0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(pick("first", np.max), [[0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(pick("last", np.max), [[0, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("strategy", ["default", "naive"])
@pytest.mark.parametrize("ties", TIES)
def test_the_extreme_of_numbers_in_another_order_is_picked_as_theirs(ties: str, strategy: str):
    """∂max(f(x)) = f′(x) at the largest f(x), for f that rises and that falls, whatever those that tie do."""
    x, how = (
        np.array([-1.0, 0.0, -1.5, -1.0]),
        {"conventions": rg.Conventions(ties=ties), "strategy": strategy},
    )
    for fun in (lambda x: x + 2.5 - 2.5, np.exp, lambda x: 2.0 - np.exp(x), lambda x: -3.0 * x):
        for extreme in (np.max, np.min):
            i = list(fun(x)).index(extreme(fun(x)))
            slope = (fun(x[i] + 1e-6) - fun(x[i] - 1e-6)) / 2e-6
            if np.count_nonzero(x == x[i]) == 1:
                got = rg.grad(lambda x, f=fun, e=extreme: e(f(x)), **how)(x)
                np.testing.assert_allclose(got, slope * (np.arange(4) == i), rtol=1e-9)


def test_the_first_along_an_unknown_extent_is_not_known():
    x = rg.symbol("x", (None,))
    first = rg.grad(np.max, conventions=rg.Conventions(ties="first"))
    with pytest.raises(
        rg.GradientError, match="which entry is the first along an unknown extent is not known"
    ):
        first.source(x)


LOGS: dict[str, Scalar] = {
    "x log x": lambda x: x * np.log(x),
    "xlogy": lambda x: scipy.special.xlogy(x, x),
    "entr": lambda x: -scipy.special.entr(x),
    "x log x/y": lambda x: x * np.log(x / 2) + 0.0,
}


@pytest.mark.parametrize("name", LOGS)
def test_zero_times_log_of_zero(name: str):
    fun = lambda x: np.sum(LOGS[name](x))
    ieee = rg.Conventions(zero_log=NAN)
    x = np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        assert np.isfinite(rg.stabilize(fun)(x))
        assert np.isnan(rg.stabilize(fun, conventions=ieee)(x))
        gradient, second = rg.grad(fun)(x), rg.hessian(fun)(x)
        assert gradient[0] == -INF
        assert second[0, 0] == INF
        assert second[0, 1] == second[1, 0] == 0
    assert_orders(fun, ONES, orders(fun, ONES), conventions=ieee)


def test_a_log_without_weight_does_not_count():
    weights = np.array([0.0, 2.0])
    fun = lambda p: np.sum(weights * np.log(p))
    p = np.array([0.0, 0.5])
    assert_orders(fun, p, [2 * math.log(0.5), [0.0, 4.0], np.diag([0.0, -8.0])])
    ieee = rg.Conventions(zero_log=NAN)
    found = orders(fun, p, conventions=ieee)
    assert np.isnan(found[0])
    assert np.isnan([found[1][0], found[2][0, 0]]).all()
    assert found[1][1] == 4
    assert found[2][1, 1] == -8


def test_where_everything_is_minus_infinity():
    total = lambda x: np.log(np.sum(np.exp(x)))
    zero = rg.Conventions(masked=0.0)
    for fun in (total, rg.logsumexp):
        assert_orders(fun, NOTHING, [-INF, NAN, NAN])
        assert_orders(fun, NOTHING, [-INF, 0.0, 0.0, 0.0], conventions=zero)
        assert_orders(fun, ZERO, orders(fun, ZERO), conventions=zero)
    first = lambda x: np.sum(np.exp(x) / np.sum(np.exp(x)) * np.array([1.0, 0.0]))
    assert_orders(first, NOTHING, [NAN, NAN, NAN])
    assert_orders(first, NOTHING, [0.0, 0.0, 0.0, 0.0], conventions=zero)
    assert_orders(first, ZERO, orders(first, ZERO), conventions=zero)
    assert_orders(lambda x: np.logaddexp(x[0], x[1]), NOTHING, [-INF, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t[0],
        lambda t: np.sum(np.where(np.isfinite(t), t, 0.0)),
        lambda t: np.sum(np.exp(t)),
        lambda t: np.logaddexp.reduce(t),
        lambda t: np.max(t) ** 2,
    ],
)
def test_nothing_flows_to_what_a_mask_leaves_out_though_it_leaves_out_everything(read):
    """∂ log Σ where(c, eˣ, 0) = where(c, share, 0), where all shares are 0/0."""
    f = lambda x: read(np.log(np.sum(np.where(x > 0, np.exp(x), 0), axis=0)))
    x = np.array([[0.6, -1.0], [0.2, -0.3]])
    np.testing.assert_allclose(rg.grad(f)(x)[:, :1], rg.grad(f)(x[:, :1]), rtol=1e-12)
    assert not rg.grad(f)(x)[:, 1].any()
    second = rg.hessian(f)(x)
    assert not second[:, 1].any()
    assert not second[:, :, :, 1].any()


def test_a_masked_row_does_not_touch_the_others():
    weights = lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True)
    x = np.array([[-INF, -INF], [0.0, 1.0]])
    fun = lambda x: np.sum(weights(x)[:, 0])
    gradient = rg.grad(fun, conventions=rg.Conventions(masked=0.0))(x)
    np.testing.assert_array_equal(gradient[0], [0.0, 0.0])
    np.testing.assert_allclose(gradient[1], rg.grad(fun)(x[1:])[0], rtol=1e-15)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("branch", "at"), [(np.sqrt, 0.0), (np.log, 0.0), (lambda x: 1 / x, 0.0), (lambda x: np.exp(-1 / x), 0.0)]
)
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_a_branch_that_is_not_taken_contributes_nothing(branch: Scalar, at: float, strategy: str):
    fun = lambda x: np.sum(np.where(x > 0, branch(x), 0.0))
    x = np.array([at, 2.0])
    taken = lambda x: np.sum(branch(x))
    for found, alone in zip(orders(fun, x, strategy=strategy), orders(taken, x[1:]), strict=True):
        assert np.ravel(found)[-1] == pytest.approx(np.ravel(alone)[-1], rel=1e-12)
        assert np.ravel(found)[:-1].tolist() == [0.0] * (np.size(found) - 1)


def test_a_branch_that_is_not_taken_may_poison_the_gradient():
    fun = lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))
    ieee = rg.Conventions(untaken=NAN)
    with np.errstate(all="ignore"):
        gradient = rg.grad(fun, conventions=ieee)(np.array([0.0, 4.0]))
        second = rg.hessian(fun, conventions=ieee)(np.array([0.0, 4.0]))
    assert np.isnan([gradient[0], second[0, 0]]).all()
    assert gradient[1] == 0.25
    assert second[1, 1] == -1 / 32


def test_signs_and_limits():
    assert_orders(np.sign, 0.0, [0.0, 0.0, 0.0])
    assert_orders(lambda x: x / x, 0.0, [1.0, 0.0, 0.0])
    assert_orders(lambda x: np.sin(x) / x, 0.0, [1.0, 0.0, -1 / 3, 0.0])
    assert_orders(lambda x: np.expm1(x) / x, 0.0, [1.0, 1 / 2, 1 / 3, 1 / 4])
    assert_orders(lambda x: (x / norm(x))[0], ZERO, [0.0, 0.0, 0.0])


NAMED: list[tuple[Scalar, Any, list[Any]]] = [
    (lambda x: np.sum(np.abs(x)), ZERO, [0.0, 0.0, 0.0]),
    (norm, ZERO, [0.0, 0.0, 0.0]),
    (lambda x: np.hypot(x[0], x[1]), ZERO, [0.0, 0.0, 0.0]),
    (rg.logsumexp, NOTHING, [-INF, NAN, NAN]),
    (lambda x: np.sum(scipy.special.xlogy(x, x)), ONES, [0.0, 1.0, np.eye(2)]),
]


@pytest.mark.parametrize(("fun", "x", "expected"), NAMED)
def test_ops_that_are_named_follow_the_table_under_every_strategy(fun: Scalar, x: Any, expected: list[Any]):
    assert_orders(fun, x, expected, strategy="eager")


# Per call


def test_conventions_tell_programs_apart():
    usual, first = rg.grad(np.max), rg.grad(np.max, conventions=rg.Conventions(ties="first"))
    for _ in range(2):
        np.testing.assert_array_equal(usual(ONES), [0.5, 0.5])
        np.testing.assert_array_equal(first(ONES), [1.0, 0.0])
    equal = rg.grad(np.max, conventions=rg.Conventions(masked=float("nan"), ties="first"))
    assert equal.settings == first.settings


def test_no_trace_of_other_conventions_is_left_in_shared_terms():
    """The ops that stand for others where they are differentiated are never applied themselves."""
    for conventions in (rg.Conventions(norm_at_zero=0.5, ties="first"), DEFAULT):
        how: Any = {"conventions": conventions}
        fun = lambda x: norm(x) + np.max(x) + np.sum(np.abs(np.maximum(x, 0.0)))
        roots = rg.hessian(fun, **how).explain(ONES).derivation.after
        assert not any(type(t.op).__name__.startswith("_") for t in subterms(*roots))
        rg.pushforward(fun, **how)((ONES,), (ONES,))
    assert_orders(norm, ZERO, [0.0, 0.0, 0.0, 0.0])


def test_conventions_of_a_gradient_hold_for_its_derivatives():
    picked = rg.grad(lambda x: np.max(x**2), conventions=rg.Conventions(ties="last"))
    np.testing.assert_array_equal(rg.jacobian(picked)(ONES), [[0.0, 0.0], [0.0, 2.0]])
    assert rg.jacobian(picked).settings.conventions.ties == "last"


def test_every_transformation_takes_conventions():
    how: Any = {"conventions": rg.Conventions(ties="first")}
    assert rg.value_and_grad(np.max, **how)(ONES)[1].tolist() == [1, 0]
    assert rg.vjp(np.max, ONES, **how)[1](1.0)[0].tolist() == [1, 0]
    assert rg.jvp(np.max, (ONES,), (np.array([3.0, 5.0]),), **how)[1] == 3
    assert rg.jacobian(lambda x: np.max(x) * ONES, **how)(ONES).tolist() == [[1, 0], [1, 0]]


def test_explanations_show_values_that_are_a_choice():
    text = str(rg.stabilize(lambda x: x * np.log(x), conventions=rg.Conventions(zero_log=NAN)).explain(0.5))
    assert "zero_log — the convention of this call" in text


@pytest.mark.parametrize(
    ("field", "value", "cause"),
    [
        ("ties", "shared", "ties is 'share', 'first' or 'last'"),
        ("ties", 0, "ties is 'share', 'first' or 'last'"),
        ("norm_at_zero", INF, "norm_at_zero is a finite number, or NaN"),
        ("norm_at_zero", "nan", "norm_at_zero is a finite number, or NaN"),
        ("zero_log", 1.0, "zero_log is 0 or NaN"),
        ("masked", True, "masked is 0 or NaN"),
        ("untaken", None, "untaken is 0 or NaN"),
    ],
)
def test_values_that_no_convention_has(field: str, value: Any, cause: str):
    with pytest.raises(rg.ConventionError) as caught:
        rg.Conventions(**{field: value})
    assert str(caught.value).startswith(f"{field}={value!r} is no convention")
    assert caught.value.cause == cause
    assert "test_conventions.py" in caught.value.where


def test_what_is_no_set_of_conventions():
    with pytest.raises(rg.ConventionError, match=r"pass relgrad\.Conventions"):
        rg.grad(norm, conventions="first")  # pyright: ignore[reportArgumentType]


def test_the_examples_of_the_documentation():
    text = "\n".join(line for line in DOCS.read_text().splitlines() if not line.startswith("```"))
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(text, {}, "conventions.md", str(DOCS), 0)
    with np.errstate(all="ignore"):
        results = doctest.DocTestRunner(optionflags=flags).run(test)
    assert results.attempted > 30
    assert results.failed == 0


SIGNS: dict[str, Any] = {
    "a bump": lambda x: np.exp(-1 / (1 - x**2)),
    "a bump, in its bounds": lambda x: np.where(np.abs(x) <= 1, np.exp(-1 / (1 - x * x)), 0.0),
    "an inverse root": lambda x: 1 / np.sqrt(1 - x**2),
    "a power": lambda x: (1 - x**2) ** -1.0,
    "less a power": lambda x: -1 / (x**4 - 1),
    "less an exponential": lambda x: 1 / (1 - np.exp(x - 1)),
    "a decay": lambda x: np.exp(-1 / np.sqrt(1 - np.exp(x * x - 1))),
    "twice": lambda x: 1 / (2 - 2 * np.exp(x - 1)),
    "an angle": lambda x: np.arctan2(1 - np.exp(x - 1), -1.0),
    "a sign": lambda x: np.copysign(1.0, 1 - np.exp(x - 1)),
    "a factor taken out": lambda x: np.arctan2(x * (x * x) - x, -1.0),
    "a factor taken out of a product": lambda x: np.arctan2(0.0, (x + 1) * x - 2 * x) + 1 / (x * (x * x) - x),
    "as it is written": lambda x: 1 / -np.log(x * x),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", SIGNS)
def test_the_zero_of_a_difference_has_the_sign_that_it_has_as_written(name: str, strategy: str) -> None:
    f = SIGNS[name]
    with np.errstate(all="ignore"):
        for x in (np.float64(1.0), np.float64(-1.0), np.array([1.0, -1.0, 0.25]), np.ones(1, np.float32)):
            np.testing.assert_allclose(rg.stabilize(f, strategy=strategy)(x), f(x), rtol=1e-6)
