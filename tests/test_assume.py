"""Assumptions: what follows from them, in values and derivatives; that they stay where they are made; errors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relgrad as rg
from relgrad.bounds import in_words, is_empty, meet, range_of
from relgrad.relation import positive, relation
from relgrad.term import subterms
from relgrad.trace.trace import trace
from relgrad.types import REAL, Interval

X = np.array([1.0, 2.0])


def size(x: Any) -> Any:
    return np.sum(np.sqrt(x**2))


def assumed_size(x: Any) -> Any:
    rg.assume(x > 0)
    return np.sum(np.sqrt(x**2))


def ops(transformed: Any, *args: Any, **kwargs: Any) -> set[str]:
    """Return the names of the ops that a call computes."""
    return {t.op.name for t in subterms(*transformed.explain(*args, **kwargs).derivation.after)}


@relation(source="definition of the logarithm")
def log_of_square(x: Any) -> Any:
    """The log of a square is twice the log of a positive number."""
    return np.log(x * x), 2 * np.log(x), positive(x)


ONE = rg.LIBRARY.restricted().extended(log_of_square)


# What follows


def test_the_size_of_what_is_positive_is_itself():
    assert "absolute" in ops(rg.stabilize(size), X)
    assert "absolute" not in ops(rg.stabilize(assumed_size), X)
    assert rg.stabilize(assumed_size)(X) == assumed_size(X) == size(X)


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (lambda x: x > 0, "0 <", ""),
        (lambda x: 0 < x, "0 <", ""),  # noqa: SIM300
        (lambda x: (x >= 0) & (x <= 1), "0 <=", "<= 1"),
        (lambda x: np.logical_and(x >= 0, x < 1), "0 <=", "< 1"),
        (lambda x: np.abs(x) <= 1, "-1 <=", "<= 1"),
        (lambda x: np.abs(x) < 1, "-1 <", "< 1"),
        (lambda x: -x > 2, "", "< -2"),
        (lambda x: np.all(x > 0), "0 <", ""),
        (lambda x: np.min(x) > 3, "3 <", ""),
        (lambda x: np.max(x) <= 3, "", "<= 3"),
        (lambda x: np.maximum(x, 1.0) <= 3, "", "<= 3"),
        (lambda x: x[:, None] > 0, "0 <", ""),
        (lambda x: x > np.array([1.0, 2.0]), "1 <", ""),
        (lambda x: x == 2.0, "2 <=", "<= 2"),
        (lambda x: (x > 0) & (x > 1) & (x < 5) & (x < 4), "1 <", "< 4"),
    ],
)
def test_a_comparison_is_a_range(condition: Callable[..., Any], low: str, high: str):
    def f(x: Any) -> Any:
        rg.assume(condition(x))
        return x

    known = range_of(trace(f, (X,)).inputs[0])
    assert (f"{known.low:g} {'<' if known.open_low else '<='}" if low else "") == low
    assert (f"{'<' if known.open_high else '<='} {known.high:g}" if high else "") == high
    assert low or known.low == -np.inf
    assert high or known.high == np.inf


def test_bounds_are_carried_over_comparisons_in_any_order():
    def f(x: Any, y: Any, z: Any) -> Any:
        rg.assume(x < y, y < z, x >= 0, z < 1)
        return x, y, z

    x, y, z = [range_of(t) for t in trace(f, (X, X, X)).inputs]
    assert x == Interval(0.0, 1.0, False, True)
    assert y == z == Interval(0.0, 1.0, True, True)


def test_whole_numbers_above_zero_are_at_least_one():
    def f(n: Any) -> Any:
        rg.assume(n > 0, n < 2.5)
        return n

    assert range_of(trace(f, (3,)).inputs[0]) == Interval(1.0, 2.0)


def test_machine_integers_wrap_and_are_not_trusted_beyond_their_width():
    def f(n: Any) -> Any:
        rg.assume(n > 100)
        return n + n, n - n, n // n

    total, *_ = [range_of(t) for t in trace(f, (np.array([200], np.uint8),)).outputs]
    assert np.array([200], np.uint8) + np.array([200], np.uint8) < 200
    assert total == Interval(0.0, 255.0)


@pytest.mark.parametrize(
    ("f", "low", "high"),
    [
        (lambda x: x - np.max(x, axis=0), -np.inf, 0.0),
        (lambda x: np.max(x) - x, 0.0, np.inf),
        (lambda x: x - np.min(x, axis=-1, keepdims=True), 0.0, np.inf),
        (lambda x: np.minimum(x, 2 * x) - 2 * x, -np.inf, 0.0),
        (lambda x: 2 * x - np.maximum(x, 3 * x), -np.inf, np.inf),
    ],
)
def test_beside_their_extremes_numbers_have_a_sign(f, low: float, high: float):
    (total,) = trace(f, (X,)).outputs
    assert range_of(total) == Interval(low, high)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (lambda x: x[0] > x[1], lambda x: np.sqrt((x[0] - x[1]) ** 2)),
        (lambda x: x[1] < x[0], lambda x: np.sqrt((x[0] - x[1]) ** 2 * x[1] ** 2) / np.sqrt(x[1] ** 2)),
        (lambda x: x[0] >= 0, lambda x: np.sqrt(x[0] ** 2)),
        (lambda x: np.sum(x) > 0, lambda x: np.sqrt(np.sum(x) ** 2)),
        (lambda x: np.sin(x) >= 0, lambda x: np.sum(np.sqrt(np.sin(x) ** 2))),
    ],
)
def test_what_is_assumed_of_a_value_on_the_way_is_known_of_it(
    condition: Callable[..., Any], value: Callable[..., Any]
):
    def f(x: Any) -> Any:
        rg.assume(condition(x))
        return value(x)

    x = np.array([2.0, 0.5])
    assert "absolute" in ops(rg.stabilize(value), x)
    assert "absolute" not in ops(rg.stabilize(f), x)
    assert "sign" in ops(rg.grad(value), x)
    for transform in (rg.stabilize, rg.grad, rg.hessian):
        assert not ops(transform(f), x) & {"absolute", "sign"}
        np.testing.assert_allclose(transform(f)(x), transform(value)(x), rtol=1e-14)


@given(
    low=st.floats(-3, 3),
    width=st.floats(0.01, 3),
    x=st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_where_an_assumption_holds_nothing_changes(low: float, width: float, x: list[float]):
    def f(x: Any) -> Any:
        rg.assume(x >= low, x <= low + width)
        return np.sum(np.sqrt(x * x) * np.abs(x - low) + np.log(np.exp(x)) * np.maximum(x, low))

    arg = np.clip(low + width * np.array(x), low, low + width)
    np.testing.assert_allclose(rg.stabilize(f)(arg), f(arg), rtol=1e-13, atol=1e-13)


# Per argument


def test_ranges_of_arguments_by_name_and_position():
    f = lambda x, y: np.sqrt(x**2) * np.sqrt(y**2)
    assert ops(rg.stabilize(f), 1.0, 2.0) == {"x", "y", "multiply", "absolute"}
    assert ops(rg.stabilize(f, assume={"x": rg.positive, "y": rg.nonnegative}), 1.0, 2.0) == {
        "x",
        "y",
        "multiply",
    }
    assert ops(rg.stabilize(f, assume={0: (0, 1), -1: Interval(0.0, 3.0, True)}), 1.0, 2.0) == {
        "x",
        "y",
        "multiply",
    }
    assert ops(rg.stabilize(f, assume={"y": rg.positive}), 1.0, y=2.0) == {"x", "y", "multiply", "absolute"}


def test_the_name_of_a_container_means_all_arrays_inside():
    f = lambda p: np.sqrt(p["a"][0] ** 2) + np.sqrt(p["b"] ** 2)
    p = {"a": [1.0], "b": 2.0}
    assert "absolute" not in ops(rg.stabilize(f, assume={"p": rg.positive}), p)
    assert "absolute" not in ops(rg.stabilize(f, assume={"p['a']": rg.positive, "p['b']": (0, 9)}), p)
    assert "absolute" in ops(rg.stabilize(f, assume={"p['a']": rg.positive}), p)


def test_a_parameter_that_a_call_leaves_out_needs_no_range():
    f = lambda x, n=2: np.sqrt(x**n)
    assert "absolute" not in ops(rg.stabilize(f, assume={"x": rg.positive, "n": rg.positive}), 3.0)


@pytest.mark.parametrize("transform", [rg.grad, rg.value_and_grad, rg.jacobian, rg.hessian, rg.pushforward])
def test_every_transformation_takes_assumptions(transform: Any):
    args = (X,) if transform is not rg.pushforward else ((X,), (X,))
    cube = lambda x: np.sum(np.sqrt(x**2) ** 3)
    assert ops(transform(cube), *args) & {"absolute", "sign"}
    assert not ops(transform(cube, assume={"x": rg.positive}), *args) & {"absolute", "sign"}
    assert not ops(transform(cube, assume={0: (1, 2)}), *args) & {"absolute", "sign"}


def test_pullbacks_and_tangents_take_assumptions():
    value, pullback = rg.vjp(size, X, assume={"x": rg.positive})
    assert value == 3.0
    assert not ops(pullback, 1.0) & {"absolute", "sign"}
    assert rg.jvp(size, (X,), (X,), assume={"x": rg.positive}) == (3.0, 3.0)


def test_assumptions_hold_in_derivatives_of_any_order():
    def f(x: Any) -> Any:
        rg.assume(x > 0)
        return np.sum(np.sqrt(x**2) ** 3)

    third = rg.grad(lambda x: np.sum(rg.grad(lambda y: np.sum(rg.grad(f)(y)))(x)))
    assert not ops(third, X) & {"absolute", "sign"}
    np.testing.assert_allclose(third(X), [6.0, 6.0])


def test_assumptions_of_an_inner_transformation_hold_of_what_is_passed_to_it():
    inner = rg.stabilize(size, assume={"x": rg.positive})
    outer = rg.grad(lambda x: inner(np.sin(x)))
    assert not ops(outer, X) & {"absolute", "sign"}
    assert "sign" in ops(rg.grad(lambda x: size(np.sin(x))), X)


# They stay where they are made


def uses(transformed: Any, *args: Any) -> bool:
    return bool(transformed.explain(*args).relations)


def test_a_relation_that_needs_an_assumption_is_applied_under_it_only():
    bare = lambda x: np.log(x * x)

    def under(x: Any) -> Any:
        rg.assume(x > 0)
        return np.log(x * x)

    def within(x: Any) -> Any:
        rg.assume(x >= 0)
        return np.log(x * x)

    for _ in range(2):
        assert uses(rg.stabilize(under, relations=ONE), 2.0)
        assert not uses(rg.stabilize(bare, relations=ONE), 2.0)
        assert not uses(rg.stabilize(within, relations=ONE), 2.0)
        assert uses(rg.stabilize(bare, relations=ONE, assume={"x": (1, 2)}), 2.0)
        assert not uses(rg.stabilize(bare, relations=ONE, assume={"x": rg.negative}), -2.0)
    assert rg.stabilize(bare, relations=ONE)(-2.0) == np.log(4.0)


def test_equal_terms_of_two_functions_do_not_share_assumptions():
    def ordered(x: Any, y: Any) -> Any:
        rg.assume(x > y)
        return np.sqrt((x - y) ** 2), x - y

    def free(x: Any, y: Any) -> Any:
        return np.sqrt((x - y) ** 2), x - y

    def reversed_(x: Any, y: Any) -> Any:
        rg.assume(x < y)
        return np.sqrt((x - y) ** 2), x - y

    traces = [trace(f, (1.0, 2.0)) for f in (free, ordered, reversed_, free, ordered)]
    ranges = [range_of(t.outputs[1]) for t in traces]
    assert ranges[0] == ranges[3] == REAL
    assert ranges[1] == ranges[4] and ranges[1].positive
    assert ranges[2].negative
    assert traces[0].outputs[1] is traces[3].outputs[1]
    assert traces[1].outputs[1] is traces[4].outputs[1]
    for f in (free, ordered, reversed_, free):
        assert ("absolute" in ops(rg.stabilize(f), 1.0, 2.0)) == (f is not ordered)


def test_an_inner_trace_says_nothing_of_the_inputs_of_an_outer_one():
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            rg.assume(x > 0)
            return np.sum(y)

        constant = rg.stabilize(inner)(X)
        return np.sqrt(x**2) + constant

    bare = trace(lambda x: np.sqrt(x**2), (2.0,))
    rg.stabilize(outer)(2.0)
    assert range_of(bare.inputs[0]) == REAL
    assert "absolute" in ops(rg.stabilize(lambda x: np.sqrt(x**2)), 2.0)


def test_the_same_function_has_a_program_for_each_set_of_assumptions():
    plain, under = rg.stabilize(size), rg.stabilize(size, assume={"x": rg.positive})
    again = rg.stabilize(size)
    assert under.source(X) != plain.source(X) == again.source(X)
    np.testing.assert_equal([plain(-X), again(-X)], [3.0, 3.0])


def test_assumptions_die_with_their_programs():
    def f(x: Any, y: Any) -> Any:
        rg.assume(x > y)
        return x - y

    traced = trace(f, (1.0, 2.0))
    keys = [t.op for t in traced.inputs]
    del traced
    gc.collect()
    again = trace(f, (1.0, 2.0))
    assert [t.op for t in again.inputs] == keys
    assert range_of(again.outputs[0]).positive


# What shows


def test_explanations_state_assumptions():
    text = str(rg.grad(assumed_size).explain(X))
    assert "assuming\n     x > 0\n" in text
    assert "assuming" not in str(rg.grad(size).explain(X))

    def f(x: Any, y: Any) -> Any:
        rg.assume(x < y, y <= 1)
        return x * y

    text = str(rg.stabilize(f).explain(0.0, 1.0))
    assert "assuming\n     x < 1\n     y <= 1\n     y - x > 0\nto" in text


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (REAL, "x is any number"),
        (Interval(1.0, 1.0), "x = 1"),
        (Interval(-np.inf, -0.0, False, True), "x < 0"),
        (Interval(0.5, 1.0, True, False), "0.5 < x <= 1"),
    ],
)
def test_intervals_in_words(interval: Interval, words: str):
    assert in_words("x", interval) == words


@given(st.tuples(*[st.integers(-2, 2)] * 4), st.tuples(*[st.booleans()] * 4), st.integers(-5, 5))
def test_a_meet_holds_what_both_hold(ends: tuple[int, ...], open_: tuple[bool, ...], doubled: int):
    x = doubled / 2
    a, b = Interval(ends[0], ends[1], *open_[:2]), Interval(ends[2], ends[3], *open_[2:])
    inside = lambda i: (
        (x > i.low if i.open_low else x >= i.low) and (x < i.high if i.open_high else x <= i.high)
    )
    assert inside(meet(a, b)) == (inside(a) and inside(b))
    assert not (inside(a) and is_empty(a))


def test_a_symbol_may_have_a_range():
    x = rg.symbol("x", assume=rg.positive)
    assert range_of(x.term).positive
    assert x.term is not rg.symbol("x").term
    assert range_of(rg.symbol("x").term) == REAL


# On plain arrays


def test_on_plain_arrays_nothing_happens():
    assert assumed_size(-X) == 3.0
    rg.assume()
    rg.assume(False, X > 5, np.bool_(False))


def test_a_function_may_be_run_with_its_assumptions_checked():
    with rg.checked_assumptions():
        assert assumed_size(X) == 3.0
        with pytest.raises(rg.AssumptionError, match=r"an assumption is false: `rg.assume\(x > 0\)`"):
            assumed_size(np.array([1.0, np.nan]))
    assert assumed_size(-X) == 3.0


# Errors

IMPOSSIBLE = "an assumption cannot hold: `rg.assume"
FALSE = "an assumption is false: `rg.assume"
NOTHING = "nothing follows for a range from an assumption: `rg.assume"


@pytest.mark.parametrize(
    ("claim", "what", "cause"),
    [
        (lambda x, n: rg.assume(x > 1, x < 0), IMPOSSIBLE, "how it is computed, x > 1"),
        (lambda x, n: rg.assume(x > 0, -x > 0), IMPOSSIBLE, "x > 0"),
        (lambda x, n: rg.assume(np.exp(x) < 0), IMPOSSIBLE, "the result of exp > 0"),
        (lambda x, n: rg.assume(x > 1, np.exp(x) < 0.5), IMPOSSIBLE, "the result of exp < 0.5"),
        (lambda x, n: rg.assume(x < x[0], x[0] < x), IMPOSSIBLE, "the result of subtract < 0"),
        (lambda x, n: rg.assume(n > 0, n < 1), IMPOSSIBLE, "n >= 1"),
        (lambda x, n: rg.assume(x == np.nan), FALSE, ""),
        (lambda x, n: rg.assume(x.ndim == 2), FALSE, ""),
        (lambda x, n: rg.assume((x > 0) | (x < -1)), NOTHING, "this is `bitwise_or`"),
        (lambda x, n: rg.assume(x != 0), NOTHING, "this is `not_equal`"),
        (lambda x, n: rg.assume(np.isfinite(x)), NOTHING, "this is `isfinite`"),
        (lambda x, n: rg.assume(x), NOTHING, "this is an array of float64"),
        (lambda x, n: rg.assume("x > 0"), NOTHING, "this is a str"),
    ],
)
@pytest.mark.parametrize("transform", [rg.stabilize, rg.grad])
def test_what_cannot_be_assumed(transform: Any, claim: Any, what: str, cause: str):
    def f(x: Any, n: Any) -> Any:
        claim(x, n)
        return np.sum(x)

    with pytest.raises(rg.AssumptionError) as caught:
        transform(f)(X, 3)
    assert str(caught.value).startswith(what)
    assert cause in caught.value.cause
    assert "test_assume.py" in caught.value.where


def test_chained_comparisons_are_refused_with_the_cure():
    def f(x: Any) -> Any:
        rg.assume(0 < x < 1)
        return x

    with pytest.raises(rg.TraceError, match=r"write \(a < x\) & \(x < b\)"):
        rg.stabilize(f)(X)


def test_there_is_nothing_to_assume_of_symbols_and_variables():
    with pytest.raises(rg.AssumptionError, match="outside of a trace"):
        rg.assume(rg.symbol("x") > 0)

    def row(x: Any) -> Any:
        rg.assume(x > 0)
        return np.sqrt(x * x), x

    with pytest.raises(rg.AssumptionError, match="return positive"):
        relation(row)


@pytest.mark.parametrize(
    ("assume", "what"),
    [
        ({"y": rg.positive}, "assume names 'y', and no array among the arguments has that name"),
        ({1: rg.positive}, "assume names 1, "),
        ({"x": 3}, "assume={'x': 3} is no range"),
        ({"x": (1, 0)}, r"assume={'x': (1, 0)} is no range"),
        ({"x": (0.0, float("nan"))}, "is no range"),
        ({"x": rg.same_shape}, "is no range"),
        ([rg.positive], "names no arguments"),
    ],
)
def test_what_is_no_assumption_about_an_argument(assume: Any, what: str):
    with pytest.raises(rg.AssumptionError) as caught:
        rg.stabilize(size, assume=assume)(X)
    assert what in str(caught.value)
    assert caught.value.cure


def test_options_that_there_are_not():
    with pytest.raises(TypeError, match="unknown option 'assumptions'; there are relations, strategy"):
        rg.grad(size, assumptions={})  # pyright: ignore[reportCallIssue]


def _root_of_less(x: Any) -> Any:
    return np.log(np.exp(x) - 1) + np.sqrt(x)


def _assuming_root_of_less(x: Any) -> Any:
    rg.assume(x > 0)
    return _root_of_less(x)


@pytest.mark.parametrize(
    ("f", "how"), [(_assuming_root_of_less, {}), (_root_of_less, {"assume": {"x": rg.positive}})]
)
def test_nothing_is_measured_where_an_assumption_is_false(f: Callable[..., Any], how: Any):
    found = rg.lint(f, points=40, **how)(np.array([1.0, 2.0]))
    assert found
    assert all(np.all(h.inputs["x"] > 0) for h in found)
    report = rg.accuracy(f, rg.floats(-5, 5, (1,)), points=40, **how)
    assert 0 < len(report.inputs) < 40
    assert all(np.all(x["x"] > 0) for x in report.inputs)
    with pytest.raises(rg.AssumptionError, match="no point at which the assumptions of") as refused:
        rg.accuracy(f, np.array([-1.0]), **how)
    assert "draw arguments where they are assumed to lie" in str(refused.value)
