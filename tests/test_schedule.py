"""The scheduler: strategies, staged expansion, relations on gradients, fuel, and steps that prove the result."""

import warnings

import numpy as np
import pytest

import relgrad as rg
from relgrad.gradient import Gradient, Pullback, gradient, is_implicit, ones_like
from relgrad.interpret import interpret
from relgrad.schedule import DEFAULT, EAGER, interleave, schedule, strategy
from relgrad.schedule.strategy import EXPAND, FOLD, INCREMENT, LIMITS, LINE, RELATE, SERIES, SINK
from relgrad.term import subterms
from relgrad.trace.trace import trace

X = np.array([1e-18, 1e18, -1e18])


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def test_the_graph_shows_the_gradient_until_it_is_expanded():
    traced = trace(lambda x: rg.grad(lambda x: softmax(x).sum())(x), (X,))
    assert any(type(t.op) is Gradient for t in subterms(*traced.outputs))
    derivation = schedule(traced.outputs, rg.LIBRARY)
    assert not any(is_implicit(t) for t in subterms(*derivation.after))
    assert derivation.before == traced.outputs


def test_an_expansion_takes_one_step_and_leaves_a_gradient():
    x = rg.symbol("x", (3,))
    cost = np.sum(np.exp(np.sin(x))).term
    pullback = Pullback(gradient([(cost, ones_like(cost))], [x.term])[0].rands[0])
    seen = []
    while pullback.pending:
        value, _, flows = pullback.expand()
        seen.append(value.op.name)
        assert type(pullback.term().op) is Gradient
        assert all(value in operand.rands or operand in value.rands for operand, _ in flows)
    assert seen == ["squeeze", "sum", "exp", "sin", "x"]


def test_relations_match_a_gradient_at_any_stage():
    @rg.relation(source="d tanh = sech²")
    def gradient_of_tanh(x, g):
        return Gradient(1)(np.tanh(x), g, x), g / np.square(np.cosh(x))

    f = rg.grad(lambda x: np.sum(2.0 * np.tanh(x)), relations=rg.Library([gradient_of_tanh]))
    x = np.array([0.5, -2.0])
    assert "gradient_of_tanh" in f.explain(x).relations
    np.testing.assert_allclose(f(x), 2 / np.cosh(x) ** 2, rtol=1e-15)
    assert not any(step.name == "pullback of tanh" for step in f.explain(x).steps)


def test_strategies_compose():
    last = interleave(RELATE, INCREMENT) >> interleave(SINK, FOLD) >> interleave(LINE)
    assert (interleave(RELATE, EXPAND, SERIES) >> last).phases == DEFAULT.phases
    assert (interleave(EXPAND, LIMITS) >> interleave(RELATE, SERIES) >> last).phases == EAGER.phases
    assert strategy("eager") is EAGER
    with pytest.raises(ValueError, match="unknown strategy 'egaer'; there are default, eager, naive"):
        strategy("egaer")
    with pytest.raises(ValueError, match="unknown moves"):
        interleave("guess")


def test_naive_is_what_automatic_differentiation_alone_gives():
    with np.errstate(all="ignore"):
        assert np.isnan(rg.grad(lambda x: softmax(x).sum(), strategy="naive")(X)).any()
    np.testing.assert_array_equal(rg.grad(lambda x: softmax(x).sum(), strategy="eager")(X), 0)
    np.testing.assert_array_equal(rg.grad(lambda x: softmax(x).sum())(X), 0)


def test_eager_reaches_the_explicit_graph_of_the_issue_before_it_matches():
    f = rg.grad(lambda x: softmax(x).sum(), strategy="eager")
    moves = [step.move for step in f.explain(X).steps]
    assert (
        moves == sorted(moves, key=["expand", "relation", "simplify", "fold"].index)
        or "relation" not in moves
    )
    text = str(f.explain(X))
    assert "sum(-1.0 * (exp(x) / t2) / t2, axis=-1, keepdims)" in text


def test_out_of_fuel_is_said_and_the_program_is_right():
    @rg.relation
    def grows(x):
        return np.sin(x), 2 * np.sin(x / 2) * np.cos(x / 2)

    @rg.relation
    def swaps(x):
        return np.arctan(x), np.arctan(np.tan(np.arctan(x)))

    x = np.array([0.3, 0.4])
    f = rg.stabilize(lambda x: np.sin(x) + np.arctan(x), relations=rg.Library([grows, swaps]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = f(x)
    assert any(issubclass(w.category, rg.OutOfFuel) for w in caught)
    assert "stopped after" in str(next(w.message for w in caught if issubclass(w.category, rg.OutOfFuel)))
    np.testing.assert_allclose(result, np.sin(x) + np.arctan(x), rtol=1e-12)


def test_a_rewrite_that_goes_round_in_a_circle_stops():
    @rg.relation
    def there(x):
        return np.sinh(x), np.tan(x)

    @rg.relation
    def back(x):
        return np.tan(x), np.sinh(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = rg.stabilize(lambda x: np.sinh(x), relations=rg.Library([there, back]), validate=False)
        assert len(f.explain(1.0)) == 1


@pytest.mark.parametrize("how", ["default", "eager"])
def test_every_step_is_an_equality(how):
    x = np.array([0.3, -1.2, 2.0])

    def f(x):
        return np.sum(np.log(softmax(x)) * softmax(-x)) / (1 + np.exp(-x[0]))

    traced = trace(lambda x: rg.grad(f)(x), (x,))
    derivation = schedule(traced.outputs, rg.LIBRARY, strategy(how))
    checked = 0
    for step in derivation.steps:
        if step.move in ("relation", "simplify", "fold"):
            inputs = {
                t: 0.7 * x for t in subterms(step.before, step.after) if not t.rands and t.type.shape == (3,)
            }
            inputs = {t: v for t, v in inputs.items() if type(t.op).__name__ == "Input"}
            before, after = interpret([step.before, step.after], inputs)
            np.testing.assert_allclose(before, after, rtol=1e-9, atol=1e-12)
            checked += 1
    assert checked > 3


def test_the_order_of_the_rows_means_nothing():
    rows = list(rg.LIBRARY)
    f = lambda x: np.sum(np.log(softmax(x)) * softmax(-x)) / (1 + np.exp(-x[0]))
    texts = set()
    for seed in range(4):
        np.random.default_rng(seed).shuffle(rows)
        texts.add(rg.grad(f, relations=rg.Library(rows)).source(X))
    assert len(texts) == 1


def test_a_gradient_whose_values_are_rewritten_in_a_circle_is_expanded():
    """∂/∂x of sinc(3/y) is 0, and so is what is differentiated once more, however sinc is written meanwhile."""
    inner = lambda x, y: np.sum(np.sinc(3 / y) - (x - x) * (x * x))
    second = rg.grad(lambda x, y: np.sum(rg.grad(inner)(x, y)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        assert not np.any(second(np.array([0.3, -2.0]), np.array([0.5, 2.0])))


def test_what_folds_to_zero_takes_its_product_along():
    """y·log|y/y| ⟶ y·log|1| ⟶ y·0 ⟶ 0: y² overflows where the product is nothing."""
    f = rg.stabilize(lambda y: (y * np.log(np.abs(y / y))) ** 2)
    assert f(1e200) == 0.0
    np.testing.assert_array_equal(f(np.array([1e200, 2.0])), np.zeros(2))
