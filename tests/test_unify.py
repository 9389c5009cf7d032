"""Stock kanren on terms: unify, reify and run in both directions, with the occurs check."""

import pytest
from cons import cons
from counting import calls
from etuples import rands, rator
from hypothesis import given
from hypothesis import strategies as st
from kanren import conde, eq, run, var
from kanren.core import lall
from kanren.goals import membero
from kanren.term import applyo
from unification import reify, unify

from relgrad.leaf import Input
from relgrad.logic.unify import unknowns
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.ops.exponential import exp, log
from relgrad.ops.reduction import Sum
from relgrad.term import Term, term
from relgrad.types import array_type

x, y = (term(Input(n, array_type("float64", (3,)))) for n in "xy")


def test_unify_binds_and_reify_rebuilds_the_very_term():
    a, b = var(), var()
    pattern = add(exp(a), b)
    s = unify(pattern, add(exp(x), y), {})
    assert s == {a: x, b: y}
    assert reify(pattern, s) is add(exp(x), y)


def test_run_works_in_both_directions():
    a, q = var(), var()
    assert run(0, q, eq(exp(q), exp(x))) == (x,)
    assert run(0, q, eq(a, x), eq(q, exp(a))) == (exp(x),)
    assert set(run(0, q, conde([eq(q, x)], [eq(q, exp(x))]))) == {x, exp(x)}
    assert run(0, q, membero(q, [x, y]), eq(exp(q), exp(y))) == (y,)


def test_props_of_ops_unify_too():
    axes, a = var(), var()
    assert unify(Sum(axes).make_node(a), Sum((-1,)).make_node(x), {}) == {axes: (-1,), a: x}
    assert unify(Sum((-2,)).make_node(a), Sum((-1,)).make_node(x), {}) is False
    assert reify(Sum(axes).make_node(a), {axes: (-1,), a: x}) is Sum((-1,)).make_node(x)


def test_occurs_check():
    a, b = var(), var()
    assert unify(a, exp(a), {}) is False
    assert unify(exp(a), a, {}) is False
    assert unify(add(a, b), add(exp(b), exp(a)), {}) is False
    assert run(0, a, eq(a, exp(a))) == ()
    assert unify(add(a, a), add(b, exp(b)), {}) is False


def test_a_term_is_a_cons_of_its_op_and_operands():
    op, args, q = var(), var(), var()
    assert run(1, (op, args), eq(cons(op, args), exp(x)))[0][0] is exp
    assert run(1, q, lall(applyo(op, args, exp(x)), applyo(op, args, q))) == (exp(x),)
    assert cons(rator(exp(x)), rands(exp(x))) is exp(x)


def test_constants_do_not_unify_across_sign_or_type():
    assert unify(constant(0.0), constant(-0.0), {}) is False
    assert unify(constant(1), constant(True), {}) is False
    assert unify(constant(float("nan")), constant(float("nan")), {}) == {}


def test_ground_terms_unify_or_fail_at_once_whatever_their_size():
    def question(s, t):
        assert unify(s, t, {}) is False
        assert unify(exp(s), exp(s), {}) == {}
        a = var()
        assert run(1, a, eq(exp(a), exp(s))) == (s,)

    s, t = small, other = add.make_node(x, x), add.make_node(y, y)
    for _ in range(1000):
        s, t = add.make_node(s, s), add.make_node(t, t)
    question(small, other)
    assert calls(lambda: question(s, t)) == calls(lambda: question(small, other))


def test_shared_patterns_do_not_blow_up():
    a = var()
    p, t = a, x
    for _ in range(200):
        p, t = add(p, p), add(t, t)
    assert unify(p, t, {}) == {a: x}
    assert reify(p, {a: x}) is t
    assert unknowns(p) == {a}


def test_a_deep_pattern_does_not_recurse():
    a = var()
    p, t = a, x
    for _ in range(20_000):
        p, t = exp.make_node(p), exp.make_node(t)
    assert unify(p, t, {}) == {a: x}
    assert reify(p, {a: x}) is t


def trees(leaves):
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.one_of(
            inner.map(exp), inner.map(log), st.builds(add, inner, inner), st.builds(multiply, inner, inner)
        ),
        max_leaves=8,
    )


A, B = var(), var()


@given(trees([x, y, A, B]), trees([x, y, A, B]))
def test_a_unifier_makes_both_sides_equal(u, v):
    s = unify(u, v, {})
    if s is not False:
        for _ in range(4):
            u, v = reify(u, s), reify(v, s)
        assert u is v
    assert (unify(v, u, {}) is False) == (s is False)


@given(trees([A, B]), trees([x, y]), trees([x, y]))
def test_matching_an_instance_succeeds(pattern, first, second):
    instance = reify(pattern, {A: first, B: second})
    s = unify(pattern, instance, {})
    assert s is not False
    assert reify(pattern, s) is instance
    if isinstance(pattern, Term) and unknowns(pattern) == {A, B}:
        assert s == {A: first, B: second}


@pytest.mark.parametrize("value", [3, "text", None, (1, 2)])
def test_terms_do_not_unify_with_what_is_no_term(value):
    assert unify(exp(x), value, {}) is False
