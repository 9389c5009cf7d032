"""Rows on gradients: written with `rg.grad` and `rg.vjp`, matched in every company, replayed, verified, checked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relgrad as rg

X = np.array([[1.0, -2.0, 0.3], [0.2, 800.0, -0.7]])


@rg.relation(source="d log cosh = tanh")
def pullback_of_log_cosh(x, g):
    """What flows back through a logarithm of a hyperbolic cosine."""
    return rg.vjp(lambda x: np.log(np.cosh(x)), x)[1](g)[0], g * np.tanh(x)


@rg.relation(source="d log cosh = tanh")
def gradient_of_log_cosh(x):
    """The gradient of a logarithm of a hyperbolic cosine."""
    return rg.grad(lambda x: np.log(np.cosh(x)))(x), np.tanh(x)


@rg.relation(source="d(xʸ)/dx = y·xʸ⁻¹, where y is what it may be")
def pullback_of_share(x, y, g):
    """What flows back through a share of two exponentials, for one of them."""
    return rg.vjp(lambda x: np.exp(x) / (np.exp(x) + np.exp(y)), x)[1](g)[0], g / (
        4 * np.cosh((x - y) / 2) ** 2
    )


@rg.relation(source="pullback of a softmax")
def pullback_of_softmax(x, g, axis):
    """What flows back through a softmax."""
    naive = lambda x: np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)
    p = rg.softmax(x, axis=axis)
    return rg.vjp(naive, x)[1](g)[0], p * (g - np.sum(g * p, axis=axis, keepdims=True))


ROWS = [pullback_of_log_cosh, gradient_of_log_cosh]
COMPANY = {
    "alone": lambda x: np.sum(np.log(np.cosh(x))),
    "with weights and other flows": lambda x: np.sum(3 * np.log(np.cosh(x))) + np.sum(x**2) / 7,
    "before an inner function": lambda x: np.sum(np.log(np.cosh(np.sin(x) * 2)) ** 2),
    "twice": lambda x: np.sum(np.log(np.cosh(np.log(np.cosh(x))))),
    "of a broadcast": lambda x: np.sum(np.log(np.cosh(x[:, :1])) * x),
    "in a reduction": lambda x: np.sum(np.log(np.sum(np.log(np.cosh(x / 100)), axis=0) + 1)),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", COMPANY)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_holds_in_every_company(row, name, strategy):
    f = rg.grad(COMPANY[name], relations=rg.Library([row]), strategy=strategy)
    explanation = f.explain(X)
    assert row.name in explanation.relations
    assert not any(step.name == "pullback of cosh" for step in explanation.steps)
    found = f(X / 100)
    np.testing.assert_allclose(found, rg.grad(COMPANY[name], strategy="naive")(X / 100), rtol=1e-9)
    assert np.isfinite(f(X)).all()
    assert explanation.derivation.replay() == explanation.derivation.after
    verified = explanation.derivation.verify()
    assert verified.ok, verified


def test_several_arguments_each_have_their_flows():
    f = lambda x, y: np.sum(np.log(np.cosh(x * y[:, None])))
    x, y = X / 10, np.array([0.5, -2.0])
    g = rg.grad(f, argnums=(0, 1), relations=rg.Library(ROWS[:1]))
    assert g.explain(x, y).relations == ["pullback_of_log_cosh"]
    for found, want in zip(g(x, y), rg.grad(f, argnums=(0, 1), strategy="naive")(x, y), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-9)


def test_a_row_for_one_operand_is_left_alone_where_the_other_depends_on_what_is_asked_for_too():
    share = lambda x, y: np.sum(np.exp(x) / (np.exp(x) + np.exp(y)))
    library = rg.Library([pullback_of_share])
    one = rg.grad(share, relations=library)
    assert one.explain(0.3, 1.1).relations == ["pullback_of_share"]
    assert one(0.3, 1.1) == pytest.approx(rg.grad(share, strategy="naive")(0.3, 1.1), rel=1e-14)
    both = rg.grad(lambda x: share(x, np.sin(x)), relations=library)
    assert both.explain(0.3).relations == []
    assert both(0.3) == pytest.approx(
        rg.grad(lambda x: share(x, np.sin(x)), strategy="naive")(0.3), rel=1e-14
    )


def test_a_row_on_a_gradient_wins_over_a_series():
    f = lambda x: np.sum(np.log(np.cosh(np.sin(x))))
    steps = rg.grad(f, relations=rg.LIBRARY.extended(*ROWS[:1]).without("log_of_cosh")).explain(X).steps
    assert not any(step.move == "series" for step in steps)


def test_the_naive_program_knows_no_rows():
    f = rg.grad(COMPANY["alone"], relations=rg.Library(ROWS), strategy="naive")
    assert f.explain(X).relations == []


@pytest.mark.parametrize("row", [*ROWS, pullback_of_share, pullback_of_softmax], ids=lambda row: row.name)
def test_a_row_on_a_gradient_is_checked(row):
    found = rg.check(row)
    assert found.ok, found


@pytest.mark.parametrize("slope", [np.sinh, lambda x: 2 * np.tanh(x), lambda x: -np.tanh(x)])
def test_a_wrong_one_is_found_out_and_left_out(slope):
    @rg.relation(source="none")
    def wrong(x, g):
        """A false equation."""
        return rg.vjp(lambda x: np.log(np.cosh(x)), x)[1](g)[0], g * slope(x)

    assert not rg.check(wrong).ok
    f = COMPANY["with weights and other flows"]
    with pytest.warns(rg.WrongRewrite, match="relation wrong"):
        found = rg.grad(f, relations=rg.Library([wrong]))(X / 10)
    np.testing.assert_allclose(found, rg.grad(f, strategy="naive")(X / 10), rtol=1e-12)


def test_a_row_that_raises_leaves_the_place_as_it_is():
    def unlucky(s):
        raise ValueError("not today")

    @rg.relation(source="none")
    def raising(x, g):
        """A row with a condition that raises."""
        return rg.vjp(np.tanh, x)[1](g)[0], g / np.cosh(x) ** 2, unlucky

    with pytest.warns(rg.FailedRelation, match="not today"):
        found = rg.grad(lambda x: np.sum(np.tanh(x)), relations=rg.Library([raising]))(X)
    np.testing.assert_allclose(found, rg.grad(lambda x: np.sum(np.tanh(x)), strategy="naive")(X), rtol=1e-12)


def test_second_derivatives_pass_through_what_a_row_knows():
    f = lambda x: np.sum(np.log(np.cosh(x)) * x)
    library = rg.Library(ROWS[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        found = rg.hessian(f, relations=library)(X[0])
    np.testing.assert_allclose(found, rg.hessian(f, strategy="naive")(X[0]), rtol=1e-12)


def test_a_row_beside_an_op_of_several_outputs_is_replayed():
    f = rg.grad(
        lambda x: np.sum(np.log(np.cosh(x))) + np.linalg.slogdet(x)[1], relations=rg.Library(ROWS[:1])
    )
    derivation = f.explain(np.array([[1.0, 0.2], [0.3, 2.0]])).derivation
    assert derivation.relations == ["pullback_of_log_cosh"]
    assert derivation.verify().ok
