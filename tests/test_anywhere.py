"""Relations at one place of a term: both directions, each result once, whatever the size."""

from __future__ import annotations

from itertools import count, islice

import numpy as np
import pytest
from etuples import etuple
from kanren import conde, eq, lall, run, var
from kanren.constraints import neq

import relgrad as rg
from relgrad.logic import goals, match
from relgrad.logic.equality import equal_ground
from relgrad.logic.goals import Graph, anywhereo, rewriteso
from relgrad.logic.laws import commutative
from relgrad.ops.arithmetic import add, subtract
from relgrad.relation import relation
from relgrad.term import is_term
from relgrad.trace.tracer import Tracer


@relation(source="definition of the logarithm")
def log_of_exp(x):
    """The logarithm undoes the exponential."""
    return np.log(np.exp(x)), x


@relation(source="double angle")
def double_angle(x):
    """Twice the product of sine and cosine."""
    return 2 * np.sin(x) * np.cos(x), np.sin(2 * x)


X, Y, Z = (rg.symbol(name) for name in "xyz")


def texts(terms):
    return [rg.show(t) for t in terms]


def swap(old, new):
    """Relate one given term to another."""
    return lambda u, v: lall(eq(u, old), eq(v, new))


def doubled(u, v):
    """Relate (add, a, a) to (mul, 2, a)."""
    a = var()
    return lall(eq(u, ("add", a, a)), eq(v, ("mul", 2, a)))


def forwards(relation, u):
    q = var()
    return run(0, q, anywhereo(relation, u, q))


def backwards(relation, v):
    q = var()
    return run(0, q, anywhereo(relation, q, v))


# Terms


def test_each_place_gives_a_result_the_root_first():
    t = np.log(np.exp(np.log(np.exp(X)) * Y))
    assert texts(forwards(log_of_exp, t)) == ["log(exp(x)) * y", "log(exp(x * y))"]


def test_nothing_matches_nothing():
    assert forwards(log_of_exp, np.sin(X) + Y) == ()


def test_a_relation_carries_along_what_surrounds_it_in_a_product():
    t = np.exp(np.sin(X) * Y * np.cos(X) * 2) + Z
    assert texts(forwards(double_angle, t)) == ["exp(y * sin(2.0 * x)) + z"]


def test_a_product_is_looked_at_as_a_whole_only():
    parts = np.sin(X) * Y * np.cos(X) * 2 * Z
    found = forwards(double_angle, parts)
    assert len(found) == 1 and equal_ground(found[0], (Y * Z * np.sin(2 * X)).term)


def test_it_runs_backwards():
    t = np.exp(np.sin(2 * X) * Y)
    assert any(
        equal_ground(u, np.exp(2 * np.sin(X) * np.cos(X) * Y).term) for u in backwards(double_angle, t)
    )


@pytest.mark.parametrize("t", [np.exp(2 * np.sin(X) * np.cos(X)) + Y, np.cos(2 * np.sin(Y) * np.cos(Y))])
def test_backwards_undoes_forwards(t):
    for v in forwards(double_angle, t):
        assert any(equal_ground(u, t.term) for u in backwards(double_angle, v))


def test_backwards_leaves_open_what_the_result_does_not_say():
    @relation(source="a quotient of equals")
    def quotient(x, y):
        return x * y / y, x

    found = run(1, q := var(), anywhereo(quotient, q, np.sin(X)))
    assert len(found) == 1 and is_term(found[0])


def test_both_sides_known_is_a_check():
    t = np.log(np.exp(X)) + Y
    assert run(0, True, anywhereo(log_of_exp, t, Y + X)) == (True,)
    assert run(0, True, anywhereo(log_of_exp, t, X)) == ()


def test_both_sides_unknown_holds_at_the_root():
    u, v = var(), var()
    ((left, right),) = run(0, (u, v), anywhereo(log_of_exp, u, v))
    assert texts([left, right]) == ["log(exp(x))", "x"]


def test_a_shared_subterm_is_one_place():
    shared = np.log(np.exp(X))
    assert texts(forwards(log_of_exp, np.sin(shared) * shared)) == ["sin(x) * x"]


def test_any_goal_of_two_terms_is_a_relation():
    found = forwards(
        lambda u, v: conde([eq(u, X.term), eq(v, Y.term)], [eq(u, Y.term), eq(v, Z.term)]), X + np.sin(Y)
    )
    assert texts(found) == ["y + sin(y)", "x + sin(z)"]


def test_variables_of_a_term_can_be_bound_on_the_way():
    a, q = var(), var()
    pattern = np.cos(np.sin(Tracer(a)))
    ((value, result),) = run(0, (a, q), anywhereo(swap(np.sin(X).term, Y.term), pattern, q))
    assert value is X.term and result is np.cos(Y).term


def test_symbolic_arrays_may_stand_for_their_terms():
    assert (
        forwards(log_of_exp, np.log(np.exp(X))) == forwards(log_of_exp, np.log(np.exp(X)).term) == (X.term,)
    )


def test_matrices_keep_their_shapes():
    m = rg.symbol("m", (3, 4))
    (found,) = forwards(log_of_exp, np.log(np.exp(m)).sum(axis=0) @ m.T)
    assert found.type == (m.sum(axis=0) @ m.T).term.type


# Tuples and etuples


def test_plain_tuples_and_lists_and_etuples():
    assert forwards(swap(1, 2), ("f", 1, 3)) == (("f", 2, 3),)
    assert forwards(swap(1, 2), ["f", 1, ["g", 1]]) == (["f", 2, ["g", 2]],)
    assert forwards(swap(1, 2), etuple("f", etuple("g", 1))) == (etuple("f", etuple("g", 2)),)
    assert backwards(swap(1, 2), ("f", 2)) == (("f", 1),)
    assert forwards(swap("f", "g"), ("f", 1)) == ()  # a head is no place


def test_equal_parts_of_a_tuple_are_one_place():
    t = ("f", ("add", 1, 1), ("g", ("add", 1, 1), ("add", 2, 2)))
    two = ("mul", 2, 1)
    assert forwards(doubled, t) == (
        ("f", two, ("g", two, ("add", 2, 2))),
        ("f", ("add", 1, 1), ("g", ("add", 1, 1), ("mul", 2, 2))),
    )


def test_numbers_of_different_types_are_different_places():
    assert forwards(swap(1, 2), ("f", 1, True, 1.0)) == (
        ("f", 2, True, 1.0),
        ("f", 1, 2, 1.0),
        ("f", 1, True, 2),
    )


def test_results_that_coincide_are_given_once():
    either = lambda u, v: conde([eq(u, 1), eq(v, 3)], [eq(u, 1), eq(v, 3)])
    assert forwards(either, ("f", 1, 2)) == (("f", 3, 2),)


def test_answers_that_differ_in_other_variables_are_different():
    q, a = var(), var()
    either = lambda u, v: lall(eq(u, 1), eq(v, 3), conde([eq(a, "x")], [eq(a, "y")]))
    assert set(run(0, (a, q), anywhereo(either, ("f", 1), q))) == {("x", ("f", 3)), ("y", ("f", 3))}


def test_variables_inside_are_no_places_but_may_be_bound():
    a, q = var(), var()
    assert run(0, (a, q), anywhereo(swap(1, 2), ("f", a, 1), q)) == ((a, ("f", a, 2)),)
    assert run(0, (a, q), anywhereo(swap(("g", 1), 2), ("f", ("g", a)), q)) == ((1, ("f", 2)),)
    assert run(0, (a, q), eq(a, 1), anywhereo(swap(1, 2), ("f", a), q)) == ((1, ("f", 2)),)


def test_a_term_never_stands_inside_itself():
    q = var()
    assert run(0, q, anywhereo(swap(1, 2), ("f", 1, q), q)) == ()


def test_constraints_are_kept():
    q = var()
    assert run(0, q, neq(q, ("f", 2)), anywhereo(swap(1, 2), ("f", 1), q)) == ()


def test_it_joins_with_other_goals():
    q, op = var(), var()
    swapped = lambda u, v: lall(eq(u, (op, 1, 2)), commutative(op), eq(v, (op, 2, 1)))
    assert run(0, q, anywhereo(swapped, ("f", (add, 1, 2)), q)) == (("f", (add, 2, 1)),)
    assert run(0, q, anywhereo(swapped, ("f", (subtract, 1, 2)), q)) == ()


# Laziness, fairness, size


def test_answers_are_found_as_they_are_asked_for():
    tried = []

    def counted(u, v):
        tried.append(u)
        return swap(1, 2)(u, v)

    q = var()
    answers = run(None, q, anywhereo(counted, ("f", 1, ("g", ("h", 1.5))), q))
    assert next(iter(answers)) == ("f", 2, ("g", ("h", 1.5)))
    assert tried == [("f", 1, ("g", ("h", 1.5))), 1]


def test_an_endless_place_starves_no_other():
    def numbers(u, v):
        def goal(s):
            for i in count():
                yield from eq(v, (u, i))(s)

        return goal

    q = var()
    answers = list(islice(run(None, q, anywhereo(numbers, ("f", 1), q)), 6))
    assert ("f", (1, 0)) in answers and (("f", 1), 0) in answers


def chain(n, inside):
    t = inside
    for _ in range(n):
        t = np.cos(t) + Y
    return t


@pytest.fixture
def trials(monkeypatch):
    """Count how often a relation is really tried."""
    calls = []
    original = type(log_of_exp).__call__
    monkeypatch.setattr(type(log_of_exp), "__call__", lambda *a: calls.append(a) or original(*a))
    return calls


def test_places_that_cannot_match_are_not_tried(trials):
    t = chain(200, np.log(np.exp(X)))
    assert len(forwards(log_of_exp, t)) == 1 and len(trials) == 1
    assert backwards(double_angle, chain(200, np.sin(2 * X))) and len(trials) == 2


def test_distinct_subterms_are_tried_once_however_many_paths_there_are(trials):
    t = np.sin(X)
    for _ in range(60):
        t = np.arctan2(t, t)  # 2**60 paths
    tried = []
    forwards(lambda u, v: tried.append(u) or swap(0, 1)(u, v), t)
    assert len(tried) == 62


def test_the_work_is_linear_in_the_size(trials, monkeypatch):
    numbered = []
    original = Graph._number
    monkeypatch.setattr(Graph, "_number", lambda *a: numbered.append(a[1]) or original(*a))
    t = chain(5_000, np.log(np.exp(X)))  # 10,000 nodes
    (found,) = forwards(log_of_exp, t)
    assert found is chain(5_000, X).term
    assert len(trials) == 1 and len(numbered) < 21_000


def test_nothing_overflows_the_stack():
    t = 1
    for _ in range(20_000):
        t = ("f", t)
    (found,) = forwards(swap(1, 2), t)
    for _ in range(20_000):
        found = found[1]
    assert found == 2


def test_only_the_path_to_the_root_is_rebuilt():
    t = ("f", ("g", 1), ("h", 3))
    graph = Graph(t, {})
    before = len(graph.nodes)
    new = graph.replaced(graph.add(1, {}), 5, {})
    assert graph.nodes[new] == ("f", ("g", 5), ("h", 3)) and graph.nodes[new][2] is t[2]
    assert len(graph.nodes) - before == 3  # 5, (g 5), and the root


# The closure


def test_any_number_of_steps_forwards_the_nearest_first():
    t = np.log(np.exp(np.log(np.exp(X)) + Y))
    q = var()
    found = texts(run(0, q, rewriteso(log_of_exp, t, q)))
    assert found[0] == rg.show(t.term) and found[-1] == "x + y" and len(found) == len(set(found)) == 4


def test_any_number_of_steps_backwards_with_fuel():
    q = var()
    found = run(0, q, rewriteso(log_of_exp, q, X, fuel=2))
    assert texts(found[:2]) == ["x", "log(exp(x))"] and 2 < len(found) < 6


def test_the_closure_checks():
    t = np.log(np.exp(np.log(np.exp(X)) + Y))
    assert run(0, True, rewriteso(log_of_exp, t, X + Y)) == (True,)
    assert run(0, True, rewriteso(log_of_exp, t, X)) == ()
    assert run(
        1, True, rewriteso(doubled, ("add", ("add", 1, 1), ("add", 1, 1)), ("mul", 2, ("mul", 2, 1)))
    ) == (True,)


def test_the_closure_of_a_cycle_ends():
    flip = lambda u, v: conde([eq(u, 1), eq(v, 2)], [eq(u, 2), eq(v, 1)])
    q = var()
    assert set(run(0, q, rewriteso(flip, ("f", 1), q))) == {("f", 1), ("f", 2)}


def test_a_state_is_never_changed():
    q = var()
    state = {}
    for new in anywhereo(swap(1, 2), ("f", 1, ("g", 1)), q)(state):
        kept = dict(new)
        assert state == {} and new == kept
    assert goals.match is match.match
