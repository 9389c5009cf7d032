"""Strategies as goals: laws of the combinators, and the scheduler's moves under kanren's own `run`."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kanren import eq, membero, run, var

import relgrad as rg
from relgrad.schedule import attempt, bottom_up, chain, either, exhaust, innermost, interleave, prefer, search
from relgrad.term import subterms

DOCS = Path(__file__).resolve().parent.parent / "docs" / "strategies.md"
Q, R = var("q"), var("r")
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8, unique=True)
TREES = st.recursive(
    st.integers(0, 5), lambda trees: st.lists(trees, min_size=1, max_size=3).map(lambda x: ("f", *x))
)


def moving(pairs):
    """Return the move that takes numbers to numbers."""
    return lambda u, v: membero((u, v), tuple(pairs))


def answers(move, start):
    return run(0, Q, move(start, Q))


@settings(max_examples=60)
@given(PAIRS, PAIRS, PAIRS, st.integers(0, 5))
def test_chains_and_choices_are_those_of_relations(first, second, third, start):
    a, b, c = map(moving, (first, second, third))
    composed = {z for x, y in first for w, z in second if x == start and w == y}
    assert set(answers(chain(a, b), start)) == composed
    assert set(answers(chain(chain(a, b), c), start)) == set(answers(chain(a, chain(b, c)), start))
    assert sorted(answers(either(a, b), start)) == sorted((*answers(a, start), *answers(b, start)))
    assert answers(prefer(a, b), start) == (answers(a, start) or answers(b, start))
    assert answers(attempt(a), start) == (answers(a, start) or (start,))
    assert answers(chain(), start) == (start,)
    assert answers(either(), start) == answers(prefer(), start) == ()


@settings(max_examples=60)
@given(PAIRS, PAIRS, st.integers(0, 5))
def test_chains_and_choices_run_backwards(first, second, end):
    a, b = moving(first), moving(second)
    composed = {x for x, y in first for w, z in second if z == end and w == y}
    assert set(run(0, Q, chain(a, b)(Q, end))) == composed
    assert set(run(0, Q, either(a, b)(Q, end))) == {x for x, y in (*first, *second) if y == end}


@settings(max_examples=60)
@given(PAIRS, st.integers(0, 5))
def test_what_is_exhausted_has_no_move_that_is_new(pairs, start):
    (end,) = answers(exhaust(moving(pairs)), start)
    seen, here = [start], start
    while nexts := [y for x, y in pairs if x == here and y not in seen]:
        here = nexts[0]
        seen.append(here)
    assert end == here


@settings(max_examples=60)
@given(PAIRS, TREES)
def test_operands_come_before_what_uses_them(pairs, tree):
    once = {x: next(y for w, y in pairs if w == x) for x, _ in pairs}

    def mapped(t):
        return (t[0], *map(mapped, t[1:])) if isinstance(t, tuple) else once.get(t, t)

    assert answers(bottom_up(moving(pairs)), tree) == (mapped(tree),)
    assert answers(bottom_up(eq), tree) == answers(innermost(eq), tree) == (tree,)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] < p[1]), max_size=6), TREES
)
def test_innermost_leaves_nothing_to_do(pairs, tree):
    move = moving(pairs)
    (normal,) = answers(innermost(move), tree)
    assert answers(bottom_up(move), normal) == (normal,)
    assert answers(exhaust(bottom_up(move)), tree) == (normal,)


@rg.relation(source="definition of the logarithm")
def log_of_exponential(x):
    """The logarithm undoes the exponential."""
    return np.log(np.exp(x)), x


def test_relations_are_moves_on_terms_however_deep_and_shared():
    x = t = rg.symbol("x")
    for _ in range(500):
        t = np.log(np.exp(t + t))
    (found,) = answers(innermost(log_of_exponential), t.term)
    assert not any(node.op.name == "log" for node in subterms(found))
    y = x
    for _ in range(500):
        y = y + y
    assert found is y.term


def test_moves_that_run_in_a_circle_or_grow_for_ever_end():
    circle = moving([(0, 1), (1, 2), (2, 0)])
    assert answers(exhaust(circle), 0) == (2,)
    assert answers(innermost(circle), ("f", 0)) == (("f", 2),)
    grow = lambda u, v: eq(v, ("s", u))
    assert answers(exhaust(grow, fuel=3), 0) == (("s", ("s", ("s", 0))),)
    assert len(answers(innermost(grow, fuel=5), 0)) == 1


def test_search_keeps_the_cheapest():
    move = moving([(5, 3), (5, 4), (4, 1), (3, 2)])
    assert answers(search(move, lambda t: t), 5) == (1,)
    assert answers(search(move, lambda t: t, fuel=2), 5) == (3,)
    assert answers(search(move, lambda t: -t), 5) == (5,)


def test_a_strategy_takes_goals_of_ones_own_and_says_so():
    @rg.relation(source="double angle")
    def double_angle(x):
        """Twice the product of sine and cosine."""
        return np.sin(x) * np.cos(x), np.sin(2 * x) / 2

    def nothing(u, v):
        return eq(u, v)

    f = rg.grad(
        lambda x: np.sin(x) * np.cos(x) * x, strategy=interleave("relate", "expand", double_angle, nothing)
    )
    derivation = f.explain(1.2).derivation
    assert [step.name for step in derivation.steps if step.move == "goal"] == ["double_angle"]
    assert derivation.replay() == derivation.after
    assert f(1.2) == pytest.approx(np.sin(2.4) / 2 + 1.2 * np.cos(2.4), rel=1e-14)
    with pytest.raises(ValueError, match="unknown moves"):
        interleave("relate", "guess")


def test_a_wrong_goal_is_left_out_of_a_strategy():
    def wrong(u, v):
        return eq((u, v), (np.sin(rg.variables("a")[0]).term, np.cos(rg.variables("a")[0]).term))

    @rg.relation(source="none")
    def sine_as_cosine(x):
        """A false equation."""
        return np.sin(x), np.cos(x)

    with pytest.warns(rg.WrongRewrite, match="sine_as_cosine"):
        assert rg.stabilize(np.sin, strategy=interleave(sine_as_cosine))(0.3) == np.sin(0.3)
    assert rg.stabilize(np.sin, strategy=interleave(wrong))(0.3) == np.sin(0.3)


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_each_step_is_an_answer_of_its_row_under_kanren(strategy):
    f = rg.grad(lambda x: np.sum(np.log(softmax(x)) * softmax(-x)) / (1 + np.exp(-x[0])), strategy=strategy)
    steps = [s for s in f.explain(np.ones(3)).steps if s.move == "relation" and not s.within]
    assert steps
    for step in steps:
        row = rg.LIBRARY[step.name]
        assert any(found is step.after for found in run(0, Q, row(step.before, Q))), step


def test_the_whole_strategy_is_a_goal_in_both_directions():
    x = rg.symbol("x", (3,))
    naive = np.log(np.sum(np.exp(x))).term
    (stable,) = run(1, Q, rg.stabilizedo(naive, Q))
    assert "logsumexp" in rg.show(stable)
    assert run(0, Q, rg.stabilizedo(naive, stable)) and not run(0, Q, rg.stabilizedo(naive, naive))
    first, second = run(2, Q, rg.stabilizedo(Q, stable))
    assert first is stable and run(1, Q, rg.stabilizedo(second, Q)) == (stable,)
    assert run(1, Q, rg.stabilizedo(Q, R)) == ()
    gradient = rg.term(lambda x: rg.grad(lambda x: np.log(np.exp(x) + 1))(x))
    (found,) = run(1, Q, rg.stabilizedo(gradient, Q))
    assert rg.show(found) == "expit(x)"


def test_the_document_runs():
    result = doctest.testfile(
        str(DOCS), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert result.attempted > 20 and not result.failed
