"""Gradients of random programs, their cost in the graph's size, and implicit gradients layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from counting import calls
from differences import assert_close, jacobian_by_differences
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import relgrad as rg
from relgrad.dependence import dependent, depends
from relgrad.gradient import Gradient, Pullback, Tangents, gradient, is_implicit, ones_like, pushforward
from relgrad.interpret import interpret
from relgrad.leaf import Anchor
from relgrad.op import as_term
from relgrad.term import subterms
from relgrad.trace.tracer import Tracer

LAST: Any = {"axis": -1, "keepdims": True}
UNARY: dict[str, Callable[..., Any]] = {
    "sin": np.sin,
    "tanh": np.tanh,
    "exp": np.exp,
    "expm1": np.expm1,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "root": lambda a: np.sqrt(1 + a * a),
    "power": lambda a: (1 + a * a) ** 1.5,
    "negative": lambda a: -a,
    "absolute": np.abs,
    "reciprocal": lambda a: 1 / (2 + np.sin(a)),
    "log1p": lambda a: np.log1p(a * a),
    "log of absolute": lambda a: np.log(np.abs(a) + 0.5),
    "softmax": lambda a: np.exp(a) / np.sum(np.exp(a), **LAST),
    "shifted softmax": lambda a: UNARY["softmax"](a - np.max(a, **LAST)),
    "log of sum of exponentials": lambda a: np.log(np.sum(np.exp(a), **LAST)),
    "log of mean of exponentials": lambda a: np.log(np.mean(np.exp(a), axis=0, keepdims=True)),
    "log of product": lambda a: np.log(np.prod(np.exp(a), **LAST)),
    "entropy": lambda a: (lambda p: -np.sum(p * np.log(p), **LAST))(UNARY["softmax"](a)),
    "softplus": lambda a: np.log(1 + np.exp(a)),
    "log1p of exp": lambda a: np.log1p(np.exp(a)),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "one minus sigmoid": lambda a: 1 - 1 / (1 + np.exp(-a)),
    "log of sigmoid": lambda a: np.log(1 / (1 + np.exp(-a))),
    "log of one minus sigmoid": lambda a: np.log(1 - 1 / (1 + np.exp(-a))),
    "logit of sigmoid": lambda a: (lambda p: np.log(p / (1 - p)))(1 / (1 + np.exp(-a))),
    "tanh by hand": lambda a: (np.exp(a) - np.exp(-a)) / (np.exp(a) + np.exp(-a)),
    "log of cosh": lambda a: np.log(np.cosh(a)),
    "one minus cosine": lambda a: 1 - np.cos(a),
    "gaussian": lambda a: np.exp(-0.5 * a**2),
    "sum": lambda a: a.sum(**LAST),
    "mean": lambda a: np.mean(a, keepdims=True),
    "centred": lambda a: a - np.mean(a, **LAST),
    "variance": lambda a: np.var(a, **LAST),
    "norm": lambda a: np.sqrt(np.sum(a**2, **LAST) + 1.0),
    "largest": lambda a: np.max(a, **LAST),
    "cumulative": lambda a: np.cumsum(a, axis=-1),
    "flipped": lambda a: a[:, ::-1],
    "clipped": lambda a: np.clip(a, -0.53, 0.71),
    "leaky": lambda a: np.where(a > 0.1, a, 0.2 * a),
    "relu": lambda a: np.maximum(a, 0.0),
    "sinc": np.sinc,
    "stopped": lambda a: a * np.round(a * 0.1 + 0.3),
}
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda a, b: a / (1.5 + np.sin(b)),
    "maximum": np.maximum,
    "where": lambda a, b: np.where(a > b, a, b * b),
    "logaddexp": np.logaddexp,
    "log of exponentials": lambda a, b: np.log(np.exp(a) + np.exp(b)),
    "ratio of exponentials": lambda a, b: np.exp(a) / (np.exp(a) + np.exp(b)),
    "exponential of difference": lambda a, b: np.exp(a - b),
    "difference of exponentials": lambda a, b: np.exp(a) - np.exp(b),
    "power": lambda a, b: (1.2 + a * a) ** np.tanh(b),
    "logarithm times": lambda a, b: a * np.log(1 + b * b),
    "hypot": lambda a, b: np.hypot(a, b + 2.5),
    "arctan2": lambda a, b: np.arctan2(a, 2 + b * b),
    "likelihood": lambda a, b: -0.5 * ((a - 1) / (1 + b * b)) ** 2 - np.log(1 + b * b),
    "cross entropy": lambda a, b: -np.sum(a * np.log(UNARY["softmax"](b)), **LAST),
    "matrices": lambda a, b: (a + np.zeros((2, 3))) @ (b + np.zeros((2, 3))).T @ np.ones((2, 3)),
}
X = np.array([[0.31, -0.74, 1.22], [-0.46, 0.85, 0.13]])
Y = np.array([[0.62, -0.17, 0.94]])
WEIGHTS = np.array([[0.7, -1.1, 0.4], [0.9, 0.2, -0.6]])

Program = list[tuple[str, int, int]]
steps = st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(1, 3), st.integers(1, 6))
programs = st.lists(steps, min_size=1, max_size=5)


def run(program: Program, x: Any, y: Any) -> list[Any]:
    """Return all intermediate values; operands are counted from the last one back."""
    values = [y, x]
    for name, first, second in program:
        a, b = values[-min(first, len(values))], values[-min(second, len(values))]
        values.append(UNARY[name](a) if name in UNARY else BINARY[name](a, b))
    return values


def loss_of(program: Program) -> Callable[..., Any]:
    """Return a scalar function of two arguments; assumes that it is finite."""
    with np.errstate(all="ignore"):
        assume(all(np.isfinite(v).all() and np.abs(v).max() < 50 for v in run(program, X, Y)))
    return lambda x, y: np.sum(WEIGHTS * run(program, x, y)[-1]) + 0.0 * np.sum(x + y)


V, W = np.cos(X), np.sin(3 * Y)
BOTH = (0, 1)


def slope(loss: Callable[..., Any], strategy: str = "default") -> Callable[..., Any]:
    def along(x: Any, y: Any) -> Any:
        dx, dy = rg.grad(loss, BOTH, strategy=strategy)(x, y)
        return np.sum(dx * V) + np.sum(dy * W)

    return along


def differences(f: Callable[..., Any], h: float = 1e-3) -> list[Any]:
    return [jacobian_by_differences(f, (X, Y), i, h) for i in BOTH]


def smooth_differences(f: Callable[..., Any]) -> list[Any]:
    """Return the gradient by differences; assumes that no kink is near."""
    coarse, fine = differences(f), differences(f, 3e-4)
    for a, b in zip(coarse, fine, strict=True):
        assume(np.allclose(a, b, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(b).max())))
    return coarse


@settings(max_examples=8, deadline=None, derandomize=True)
@given(programs)
def test_first_derivatives_of_random_programs(program: Program) -> None:
    loss = loss_of(program)
    value, got = rg.value_and_grad(loss, BOTH)(X, Y)
    assert_close(value, loss(X, Y), 1e-11)
    for strategy in ("eager", "naive"):
        for a, b in zip(rg.grad(loss, BOTH, strategy=strategy)(X, Y), got, strict=True):
            assert_close(a, b, 1e-9)
    for strategy in ("default", "naive"):
        tangent = rg.jvp(loss, (X, Y), (V, W), strategy=strategy)[1]
        assert_close(tangent, np.sum(got[0] * V) + np.sum(got[1] * W), 1e-9)
    for a, b in zip(got, smooth_differences(loss), strict=True):
        assert_close(a, b, 1e-5)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(programs)
def test_second_derivatives_of_random_programs(program: Program) -> None:
    loss = loss_of(program)
    got = rg.grad(slope(loss), BOTH)(X, Y)
    others = [
        rg.grad(slope(loss), BOTH, strategy="eager")(X, Y),
        rg.grad(slope(loss), BOTH, strategy="naive")(X, Y),
        rg.grad(lambda x, y: rg.jvp(loss, (x, y), (V, W))[1], BOTH)(X, Y),
        rg.jvp(rg.grad(loss, BOTH), (X, Y), (V, W))[1],
    ]
    for other in others:
        for a, b in zip(other, got, strict=True):
            assert_close(a, b, 1e-7)
    for a, b in zip(got, smooth_differences(slope(loss)), strict=True):
        assert_close(a, b, 1e-5)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(programs)
def test_derivatives_of_many_random_programs(program: Program) -> None:
    test_first_derivatives_of_random_programs.hypothesis.inner_test(program)
    test_second_derivatives_of_random_programs.hypothesis.inner_test(program)


def test_a_wrong_derivative_would_be_noticed() -> None:
    loss = lambda x, y: np.sum(np.exp(x) * y)
    dx, _ = rg.grad(loss, BOTH)(X, Y)
    expected, _ = differences(loss)
    assert_close(dx, expected, 1e-5)
    with pytest.raises(AssertionError):
        assert_close(1.0005 * dx, expected, 1e-5)


# Linear in the graph


def chain(n: int) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = np.sin(x)
        return x

    return f


def shared(n: int) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = x * np.cos(x) + 0.5 * x
        return x

    return f


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": lambda f, x: rg.grad(f)(x),
    "jvp": lambda f, x: rg.jvp(f, (x,), (1.0,))[1],
    "grad of grad": lambda f, x: rg.grad(rg.grad(f))(x),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("family", [chain, pytest.param(shared, marks=pytest.mark.slow)])
def test_work_grows_with_the_number_of_operations(family: Any, transform: str) -> None:
    # Products of few factors are read whole: up to there the work at a place grows with them.
    n = 60 if family is shared else 40
    small, large = (calls(lambda m=m: TRANSFORMS[transform](family(m), 0.5)) for m in (n, 2 * n))
    assert large < 3 * small, (small, large)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
def test_steps_and_source_grow_with_the_number_of_operations(strategy: str) -> None:
    counts = []
    for n in (15, 30, 60):
        d = rg.grad(shared(n), strategy=strategy)
        counts.append((len(d.explain(0.5)), d.source(0.5).count("\n")))
    for first, second, third in zip(*counts, strict=True):
        assert third - second <= 2 * (second - first) + 4
        assert third < 100 * 40


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
def test_sixty_doublings(strategy: str) -> None:
    def squared(x: Any) -> Any:
        for _ in range(60):
            x = x * x
        return x

    def added(x: Any) -> Any:
        for _ in range(60):
            x = x + x
        return x

    assert rg.grad(squared, strategy=strategy)(1.0) == 2.0**60
    assert rg.grad(added, strategy=strategy)(1.0) == 2.0**60
    assert rg.jvp(added, (1.0,), (1.0,), strategy=strategy)[1] == 2.0**60
    d = rg.grad(shared(60), strategy=strategy)
    assert_close(d(0.5), rg.jvp(shared(60), (0.5,), (1.0,))[1], 1e-10)
    assert len(d.explain(0.5)) < 60 * 20


def test_a_gradient_of_ten_thousand_operations() -> None:
    x = rg.symbol("x")
    y = as_term(chain(10_000)(x))
    state = Pullback(gradient([(y, ones_like(y))], [x.term])[0].rands[0])
    layers = 0
    while state.pending:
        state.expand()
        layers += 1
    assert layers == 10_001
    (result,) = state.results()
    assert sum(1 for _ in subterms(result)) < 31_000
    (value,) = interpret([result], {x.term: np.asarray(0.5)})
    expected, point = 1.0, 0.5
    for _ in range(10_000):
        expected, point = expected * np.cos(point), np.sin(point)
    assert_close(value / expected, 1.0, 1e-9)


def test_ten_thousand_operations_end_to_end() -> None:
    d = rg.grad(chain(2_500), strategy="naive")
    assert np.isfinite(d(0.5))
    assert (
        rg.grad(lambda x: sum([x * float(i) for i in range(2_500)]), strategy="naive")(1.0) == 2500 * 2499 / 2
    )


# One layer at a time


def test_the_graph_shows_the_gradient_until_it_is_expanded() -> None:
    f = lambda x: np.sum(np.exp(x) * x)
    (t,) = [node for node in subterms(rg.grad(f).term(X)) if is_implicit(node)]
    assert type(t.op) is Gradient
    values, cotangents, wrt = t.op.parts(t)
    assert (len(values), len(cotangents), len(wrt)) == (1, 1, 1)
    assert rg.grad(f).term(X).type == wrt[0].type
    before, after = rg.grad(f).explain(X).derivation.before, rg.grad(f).explain(X).derivation.after
    assert any(is_implicit(node) for node in subterms(*before))
    assert not any(is_implicit(node) for node in subterms(*after))


def test_an_expansion_can_stop_anywhere() -> None:
    x = rg.symbol("x", (3,))
    y = as_term(np.sum(np.exp(np.sin(x)) * x))
    (whole,) = gradient([(y, ones_like(y))], [x.term])
    data = {x.term: np.array([0.3, -0.7, 1.2])}
    expected = None
    for stop in range(20):
        state = Pullback(whole.rands[0])
        for _ in range(stop):
            if state.pending:
                state.expand()
        rest = Pullback(state.term())
        while rest.pending:
            rest.expand()
        (value,) = interpret(rest.results(), data)
        expected = value if expected is None else expected
        assert_close(value, expected, 1e-15)
    assert_close(expected, rg.grad(lambda x: np.sum(np.exp(np.sin(x)) * x))(data[x.term]), 1e-12)


def test_each_value_is_expanded_once_and_after_all_that_uses_it() -> None:
    x = rg.symbol("x")
    y = as_term(shared(8)(x))
    state = Pullback(gradient([(y, ones_like(y))], [x.term])[0].rands[0])
    order = []
    while state.pending:
        order.append(state.expand()[0])
    assert len(order) == len(set(order))
    place = {v: i for i, v in enumerate(order)}
    for v in order:
        assert all(place[v] < place[rand] for rand in v.rands if rand in place)


def test_what_depends_on_what_is_found_from_either_end() -> None:
    x, y = rg.symbol("x", (3,)), rg.symbol("y", (3,))
    t = as_term(np.where(x > 0, np.sum(np.exp(x) * y), np.zeros_like(y)) / np.shape(x)[0])
    nodes = list(subterms(t))
    for source, root in product(nodes, repeat=2):
        assert depends([root], [source]) == (root in dependent([root], [source]))
    assert depends([x.term, t], [y.term]) and not depends([], [x.term])


def test_what_does_not_depend_on_the_argument_is_not_visited() -> None:
    x, z = rg.symbol("x", (3,)), rg.symbol("z", (3,))
    big = chain(50)(z)
    y = as_term(np.sum(np.exp(x) * big))
    assert len(dependent([y], [x.term])) == 5
    state = Pullback(gradient([(y, ones_like(y))], [x.term])[0].rands[0])
    layers = 0
    while state.pending:
        state.expand()
        layers += 1
    assert layers <= 5


def test_a_known_zero_is_no_array_until_it_is_a_result() -> None:
    x, z = rg.symbol("x", (3,)), rg.symbol("z", (2,))
    y = as_term(np.sum(x))
    state = Pullback(gradient([(y, ones_like(y))], [x.term, z.term])[0].rands[0])
    while state.pending:
        state.expand()
    assert z.term not in state.done
    _, dz = interpret(state.results(), {x.term: np.ones(3), z.term: np.ones(2)})
    assert_close(dz, np.zeros(2))
    tangents = Tangents(pushforward([y], [z.term], [z.term])[0].rands[0])
    assert tangents.expand() is None
    (dy,) = interpret(tangents.results(), {x.term: np.ones(3), z.term: np.ones(2)})
    assert_close(dy, 0.0)


def test_several_values_with_cotangents_share_their_graph() -> None:
    x = rg.symbol("x", (3,))
    common = np.exp(x)
    a, b = as_term(np.sum(common)), as_term(np.sum(common * common))
    two = Tracer(as_term(np.asarray(2.0)))
    state = Pullback(
        gradient([(a, ones_like(a)), (b, as_term(two)), (a, as_term(two))], [x.term])[0].rands[0]
    )
    expanded = []
    while state.pending:
        expanded.append(state.expand()[0])
    assert expanded.count(as_term(common)) == 1
    data = np.array([0.3, -0.7, 1.2])
    (value,) = interpret(state.results(), {x.term: data})
    assert_close(value, 3 * np.exp(data) + 4 * np.exp(2 * data), 1e-14)


def test_the_value_itself_may_be_what_is_asked_for() -> None:
    assert rg.grad(lambda x: x)(3.0) == 1.0
    assert rg.jvp(lambda x: x, (3.0,), (2.0,))[1] == 2.0
    np.testing.assert_array_equal(rg.jacobian(lambda x: x)(np.ones(2)), np.eye(2))
    np.testing.assert_array_equal(
        rg.vjp(lambda x: (x, x), np.ones(2))[1]((np.ones(2), np.ones(2)))[0], [2.0, 2.0]
    )


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_the_gradient_of_a_deviation_of_nothing_is_zero_like_that_of_a_norm(strategy: str) -> None:
    equal = np.full(3, 0.5)
    np.testing.assert_array_equal(rg.grad(np.linalg.norm, strategy=strategy)(0 * equal), np.zeros(3))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(rg.grad(np.std, strategy=strategy)(equal), np.zeros(3))


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (np.sqrt, [0.0, 0.0, 0.25]),
        (np.log, [0.0, 0.0, 0.25]),
        (lambda x: x * np.log(x), [0.0, 0.0, 1.0 + np.log(4.0)]),
        (lambda x: x**0.5, [0.0, 0.0, 0.25]),
    ],
)
def test_a_branch_that_is_not_taken_contributes_nothing(f: Any, expected: Any, strategy: str) -> None:
    guarded = lambda x: np.sum(np.where(x > 0, f(x), 0.0))
    with np.errstate(all="ignore"):
        assert_close(rg.grad(guarded, strategy=strategy)(np.array([0.0, -1.0, 4.0])), expected)


def _variables(f: Any, *args: Any) -> int:
    root = f.term(*args)
    parts = root if isinstance(root, tuple) else (root,)
    return sum(type(node.op) is Anchor for node in subterms(*[as_term(part) for part in parts]))


def test_an_input_stands_for_what_it_is_differentiated_for_unless_it_occurs_in_other_ways():
    assert _variables(rg.value_and_grad(lambda x: np.sum(x * x)), np.ones(3)) == 0
    assert _variables(rg.grad(lambda x, y: x * y, argnums=(0, 1)), 2.0, 2.0) == 0
    # The derivative of x·y² at y = x, for y alone, is 2·x².
    partial = lambda x: rg.grad(lambda y: x * y * y)(x)
    assert _variables(rg.stabilize(partial), 3.0) == 1
    assert rg.stabilize(partial)(3.0) == 18.0
    assert (
        _variables(rg.grad(partial), 3.0) == 1
    )  # the outer one's variable is the input, the inner one's is not
    assert rg.grad(partial)(3.0) == 12.0


def test_what_is_differentiated_is_the_value_beside_it():
    value, slope = rg.value_and_grad(lambda x: np.sum(np.exp(x) * x)).term(np.ones(3))
    (gradient_,) = [node for node in subterms(as_term(slope)) if is_implicit(node)]
    assert gradient_.rands[0] is as_term(value)
