"""Matching modulo declared laws: exactly the distinct answers, each once, lazily, wherever the ground side stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from typing import Any

import pytest
from aco_oracle import (
    LAWS,
    Generator,
    Hole,
    Law,
    Problem,
    brute_force,
    canon,
    complaints,
    fill,
    holes_of,
    two_laws,
)
from cons import cons
from counting import calls
from etuples import etuple
from hypothesis import given, settings
from hypothesis import strategies as st
from kanren import conde, eq, fact, run, var
from kanren.assoccomm import associative, commutative, eq_assoccomm
from kanren.term import arguments, operator, term
from unification import reify

import relgrad
from relgrad.contract import Laws
from relgrad.logic.aco import goal as reading
from relgrad.logic.aco import match as matching
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.match import match
from relgrad.logic.aco.node import term_of
from relgrad.logic.aco.normal import normal
from relgrad.logic.aco.theory import DECLARED, FREE, Theory
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import maximum

a, b, c, x, y, z = (var() for _ in range(6))


@pytest.fixture(autouse=True)
def facts() -> Iterator[None]:
    """State that + and * are associative and commutative; unstate it afterwards."""
    relations = (associative, commutative)
    before = [(set(r.facts), {k: set(v) for k, v in r.index.items()}) for r in relations]
    for relation in relations:
        fact(relation, "+")
        fact(relation, "*")
    yield
    for relation, (facts, index) in zip(relations, before, strict=True):
        relation.facts.clear()
        relation.facts.update(facts)
        relation.index.clear()
        relation.index.update(index)


THEORY = Theory(
    {
        "+": Laws(associative=True, commutative=True),
        "p": Laws(associative=True, commutative=True, identity=0),
        ".": Laws(associative=True),
        ";": Laws(associative=True, identity="e"),
        "c": Laws(commutative=True),
        "d": Laws(commutative=True, identity=0),
        "u": Laws(associative=True, commutative=True, idempotent=True),
        "v": Laws(associative=True, commutative=True, idempotent=True, identity=0),
    }
)


@pytest.mark.parametrize(
    ("pattern", "subject", "answers"),
    [
        (("f", x, y), ("f", 1, 2), {(1, 2)}),
        (("f", x, x), ("f", 1, 2), set()),
        (("f", x), ("f", 1, 2), set()),
        (("+", x, y), ("+", 1, 2, 1), {(1, "1+2"), (2, "1+1"), ("1+1", 2), ("1+2", 1)}),
        (("+", x, x, y), ("+", 1, 2, 1), {(1, 2)}),
        (("+", x, x, y, y), ("+", 1, 2, 2, 1), {(1, 2), (2, 1)}),
        (("+", x, x), ("+", 1, 1, 1), set()),
        (("+", x, y), 1, set()),
        (("+", x, ("f", x)), ("+", ("f", ("+", 1, 2)), 2, 1), {("1+2",)}),
        (("+", ("f", x), ("g", x), y), ("+", ("f", 1), ("f", 2), ("g", 2)), {(2, ("f", 1))}),
        (("p", x, y), 1, {(0, 1), (1, 0)}),
        (("p", x, x, y), ("p", 1, 1, 2), {(1, 2), (0, "p112")}),
        (("p", x, y), 0, {(0, 0)}),
        ((".", x, y), (".", 1, 2, 3), {(1, ".23"), (".12", 3)}),
        ((".", x, 2, y), (".", 1, 2, 2, 3), {(1, ".23"), (".12", 3)}),
        ((".", x, x), (".", 1, 2, 1, 2), {(".12",)}),
        ((";", x, y), (";", 1, 2), {("e", ";12"), (1, 2), (";12", "e")}),
        (("c", x, y, 1), ("c", 1, 2, 3), {(2, 3), (3, 2)}),
        (("c", x, y), ("c", 1, 2, 3), set()),
        (("c", x, x), ("c", 1, 1), {(1,)}),
        (("d", x, y), ("d", 1, 2), {(1, 2), (2, 1), (0, "d12"), ("d12", 0)}),
        (
            ("u", x, y),
            ("u", 1, 2),
            {(1, 2), (2, 1), (1, "u12"), (2, "u12"), ("u12", 1), ("u12", 2), ("u12", "u12")},
        ),
        (("u", ("f", x), ("f", y)), ("f", 1), {(1, 1)}),
        (("v", x, 1), ("v", 1, 2), {(2,), ("v12",)}),
        (("v", x, 1), 1, {(0,), (1,)}),
    ],
)
def test_known_answers(pattern, subject, answers):
    names = [v for v in (x, y) if v in normal(pattern, THEORY).variables]

    def spelled(t: Any) -> Any:
        flat = isinstance(t, tuple) and t[0] not in ("f", "g")
        return ("+".join if t[0] == "+" else lambda s: t[0] + "".join(s))(map(str, t[1:])) if flat else t

    for u, v in ((pattern, subject), (subject, pattern)):
        found = run(0, tuple(names), eq_aco(u, v, THEORY))
        assert sorted(map(repr, (tuple(map(spelled, answer)) for answer in found))) == sorted(
            map(repr, answers)
        )


# Against brute force


def laws(theory: dict[str, Law]) -> Theory:
    return Theory(
        {
            head: Laws(
                associative="A" in law.letters,
                commutative="C" in law.letters,
                idempotent="I" in law.letters,
                identity=law.unit,
            )
            for head, law in theory.items()
        }
    )


def asked(problem: Problem, theory: Theory, bound: dict[Hole, Any], early: bool, flipped: bool) -> list[Any]:
    variables = {hole: var() for hole in holes_of(problem.pattern)}
    sides = fill(problem.pattern, variables), problem.subject
    goals = [eq(variables[hole], value) for hole, value in bound.items()]
    goal = eq_aco(*(sides[::-1] if flipped else sides), theory)
    goals = [*goals, goal] if early else [goal, *goals]
    return list(run(0, tuple(variables[h] for h in sorted(variables)), *goals))


@given(st.sampled_from(LAWS), st.sampled_from(LAWS), st.integers(0, 10**6), st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_answers_are_those_of_brute_force(first: str, second: str, seed: int, flipped: bool):
    theory = two_laws(first, second)
    few = "I" in first + second
    problem = Generator(seed, theory).matching(holes=3, leaves_at_most=4 if few else 6)
    ours = laws(theory)
    wanted = brute_force(problem)
    answers = asked(problem, ours, {}, True, flipped)
    assert complaints(problem, answers, wanted) == []
    holes = holes_of(problem.pattern)
    subject = normal(problem.subject, ours)
    for answer in answers:
        filled = normal(fill(problem.pattern, dict(zip(holes, answer, strict=True))), ours)
        assert filled is subject or filled == subject


@given(st.sampled_from(LAWS), st.sampled_from(LAWS), st.integers(0, 10**6), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_variable_may_be_bound_before(first: str, second: str, seed: int, flipped: bool):
    theory = two_laws(first, second)
    few = "I" in first + second
    problem = Generator(seed, theory).matching(holes=3, leaves_at_most=4 if few else 6)
    wanted = brute_force(problem)
    hole = holes_of(problem.pattern)[0]
    for value in sorted({answer[0] for answer in wanted}, key=repr)[:3]:
        answers = asked(problem, laws(theory), {hole: value}, True, flipped)
        assert complaints(problem, answers, {answer for answer in wanted if answer[0] == value}) == []


@pytest.mark.parametrize(
    "pattern", [("+", x, ("*", y, 2), z), ("+", ("f", x), x, y), ("+", ("*", x, y), ("*", z, y), a)]
)
def test_the_order_of_arguments_is_irrelevant(pattern):
    theory = {"+": Law("AC"), "*": Law("AC")}
    subjects = permutations([("*", 2, 3), ("f", 1), 1, ("*", 4, 3)])
    found = set()
    for subject in subjects:
        for order in permutations(pattern[1:]):
            answers = run(0, (x, y, z), eq_aco((pattern[0], *order), ("+", *subject)))
            found.add(frozenset(canon(answer, theory) for answer in answers))
            assert len(answers) == len(next(iter(found)))
    assert len(found) == 1 and found != {frozenset()}


# kanren's questions


@pytest.mark.parametrize(
    ("question", "u", "v"),
    [
        (True, 1, 1),
        (True, (1,), (1,)),
        (True, ("+", 1, ("+", 2, 3)), ("+", ("+", 3, 2), 1)),
        (True, ("+", 1, 1), ("other", 1, 1)),
        (x, ("+", 3, ("+", 1, 2)), ("+", 1, x, 3)),
        (x, ("+", 1, 2, 3), ("+", 1, x)),
        ((x, y), ("+", ("+", 1, x), y), ("+", 2, ("+", 3, 1))),
        ((x, y), ("*", ("+", 1, x), y), ("*", 2, ("+", 3, 1))),
        (x, ("div", 1, ("+", 1, 2, 3)), ("div", 1, ("+", 2, x, 1))),
        (x, ("div", 1, ("div", 1, 2, 3)), ("div", 1, ("div", 2, x, 1))),
        (x, ("+", 1, ("+", 2, 3)), x),
        (x, etuple("+", 1, 2, 3), etuple("+", 1, x)),
    ],
)
def test_kanren_has_the_same_answers_modulo_the_theory(question, u, v):
    theory = {"+": Law("AC"), "*": Law("AC")}

    def plain(t: Any) -> Any:
        return tuple(map(plain, t)) if isinstance(t, (tuple, type(etuple(1)))) else t

    ours = [canon(plain(t), theory) for t in run(0, question, eq_aco(u, v))]
    theirs = [canon(plain(t), theory) for t in run(0, question, eq_assoccomm(u, v))]
    assert len(set(ours)) == len(ours) and set(ours) == set(theirs)


class Operator:
    def __init__(self, name: str):
        self.name = name


class Application:
    def __init__(self, op: Operator, args: Sequence[Any]):
        self.op, self.args = op, tuple(args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Application) and (self.op, self.args) == (other.op, other.args)

    def __hash__(self) -> int:
        return hash((self.op, self.args))


term.register(Operator, Sequence)(Application)
arguments.register(Application)(lambda t: t.args)
operator.register(Application)(lambda t: t.op)


def test_objects_that_kanren_takes_apart():
    plus = Operator("plus")
    fact(associative, plus)
    fact(commutative, plus)

    def plus_of(*args: Any) -> Application:
        return Application(plus, args)

    assert run(0, True, eq_aco(plus_of(1, 2, 3), plus_of(3, 1, 2))) == (True,)
    assert run(0, x, eq_aco(plus_of(1, 2, 3), plus_of(1, 2, x))) == (3,)
    assert run(0, x, eq_aco(plus_of(1, 2, 3), plus_of(x, 2))) == (plus_of(1, 3),)
    assert run(0, x, eq_aco(plus_of(1, 2, 3), Application(Operator("minus"), (1, x)))) == ()


def test_a_head_may_be_a_variable():
    subject = ("+", 1, 2, 3)
    assert run(0, (a, x), eq_aco((a, 1, x), subject)) == (("+", ("+", 2, 3)),)
    assert run(0, (a, x), eq_aco((a, (a, 1, x), 3), subject)) == (("+", 2),)
    assert run(0, (a, x), eq_aco(("+", 1, (a, x, 3)), subject)) == (("+", 2),)
    assert run(0, (a, x), eq_aco(("g", (a, 1, x), a), ("g", subject, "*"))) == ()
    assert run(0, x, eq_aco((("+", 1, x), 5), (("+", 2, 1), 5))) == (2,)
    for goals in ((eq(a, "+"), eq_aco((a, 1, x), subject)), (eq_aco((a, 1, x), subject), eq(a, "+"))):
        assert run(0, x, *goals) == (("+", 2, 3),)


def test_what_has_no_carrier_is_unified_without_laws():
    assert run(0, (x, y), eq_aco(cons(x, y), ("+", 1, 2))) == (("+", (1, 2)),)
    assert run(0, x, eq_aco({"k": x}, {"k": 1})) == (1,)
    assert run(0, x, eq_aco(["+", x, [1]], ["+", [1], 2])) == (2,)
    assert run(0, x, eq_aco(("+", x, 1), etuple("+", 1, 2))) == ()


# States


def test_goals_may_stand_in_any_order():
    goals = [
        eq_aco(("+", x, y), ("+", 1, 2, 3)),
        conde([eq(x, 1)], [eq(x, ("+", 2, 3))], [eq(x, 4)]),
        eq_aco(("*", z, ("f", y)), ("*", ("f", ("+", 3, 2)), 7)),
    ]
    theory = {"+": Law("AC"), "*": Law("AC")}
    for order in permutations(goals):
        answers = run(0, (x, y, z), *order)
        assert [canon(answer, theory) for answer in answers] == [(1, ("+", 2, 3), 7)]


def test_a_state_is_never_changed():
    s = {a: [1], "junk": object(), b: ("+", c, 1)}
    before = dict(s)
    found = list(eq_aco(("+", x, b), ("+", 3, 2, 1))(s))
    assert s == before and all(t.items() >= s.items() for t in found)
    assert [reify((x, c), t) for t in found] == [(3, 2), (2, 3)]
    found[0][y] = 1
    assert y not in found[1]


def test_no_finite_term_holds_itself():
    assert run(0, x, eq_aco(x, ("+", x, 1))) == ()
    assert run(0, x, eq_aco(x, ("f", x))) == ()
    assert run(0, y, eq_aco(x, ("p", x, y), THEORY)) == (0,)
    assert list(eq_aco(("+", x, 1), ("+", 1, 2))({x: ("f", x)})) == []
    assert list(eq_aco(("+", x, y), ("+", 1, z))({x: ("f", y), y: ("f", x)})) == []


# Laziness, fairness, speed


def test_answers_come_one_at_a_time_the_small_shares_first():
    subject = ("+", *range(60))
    answers = run(None, (x, y, z), eq_aco(("+", x, y, z), subject))
    first = list(islice(answers, 100))
    assert len(set(first)) == 100
    assert [answer[:2] for answer in first[:59]] == [(0, i) for i in range(1, 60)]


def test_of_few_arguments_every_answer_comes():
    answers = run(0, (x, y, z), eq_aco(("+", x, y, z), ("+", *range(6))))
    assert len(answers) == len(set(answers)) == 3**6 - 3 * 2**6 + 3  # onto maps


def test_heads_that_differ_settle_it_before_anything_is_normalised(monkeypatch):
    def never(*args: Any) -> Any:
        raise AssertionError("normalised")

    monkeypatch.setattr(reading, "normal", never)
    huge = ("+", *range(1000))
    assert run(0, x, eq_aco(("f", huge, x), ("g", huge, x))) == ()
    assert run(0, x, eq_aco(huge, ("g", huge))) == ()
    assert run(0, x, eq_aco(huge, 3)) == ()
    assert run(0, x, eq_aco(("f", x, ("h", huge)), ("f", huge, ("k", huge)))) == ()
    assert run(0, x, eq_aco(("f", huge), ("f", huge, x))) == ()
    with pytest.raises(AssertionError, match="normalised"):
        run(0, x, eq_aco(("p", ("g", 1), x), ("g", 1), THEORY))


def tried(question: Any, goal: Any, monkeypatch: Any) -> int:
    """Return how many times the matcher takes equations apart until all answers are found."""
    count = 0
    settled = matching._settled

    def counting(*args: Any) -> Any:
        nonlocal count
        count += 1
        return settled(*args)

    monkeypatch.setattr(matching, "_settled", counting)
    assert run(0, question, goal)
    monkeypatch.setattr(matching, "_settled", settled)
    return count


@pytest.mark.parametrize(
    ("pattern", "fillers", "found"),
    [
        (("+", ("f", 7), x), lambda i: ("f", i + 100), [("f", 7)]),
        (("+", ("f", a), ("g", a), x), lambda i: ("fg"[i % 2], i + 100), [("f", 7), ("g", 7)]),
        (
            ("+", ("*", a, b), ("*", a, c), x),
            lambda i: ("*", 2 * i + 100, 2 * i + 101),
            [("*", 1, 2), ("*", 1, 3)],
        ),
        (("+", ("h", a, 7), ("k", a), x), lambda i: ("h", i, i + 100), [("h", 5, 7), ("k", 5)]),
        ((".", ("f", a), x, ("g", a)), lambda i: ("f", i), [("f", 7), ("g", 7)]),
    ],
)
def test_arguments_that_cannot_match_are_not_tried(pattern, fillers, found, monkeypatch):
    counts = []
    for n in (10, 400):
        middle = [fillers(i) for i in range(n)]
        subject = (pattern[0], found[0], *middle, *found[1:])
        counts.append(
            tried(
                (a, b, c, x), eq_aco(pattern, subject, THEORY if pattern[0] == "." else DECLARED), monkeypatch
            )
        )
    assert counts[0] == counts[1] < 30


def test_tens_of_thousands_of_summands():
    def question(n: int) -> None:
        chain: Any = ("f", 0)
        for i in range(1, n):
            chain = ("+", chain, ("f", i))
        ((rest, which),) = run(0, (x, a), eq_aco(("+", ("f", n // 2), x, ("g", a)), ("+", ("g", 1), chain)))
        assert len(rest) == n and which == 1

    question(10_000)
    assert calls(lambda: question(6_000)) < 3 * calls(lambda: question(3_000))


def test_matching_again_is_answered_from_the_remembered_form():
    subject = ("+", *[("f", i) for i in range(50)])
    first = run(0, x, eq_aco(("+", ("f", 3), x), subject))
    assert first == run(0, x, eq_aco(("+", ("f", 3), x), subject))
    fact(associative, "f")
    fact(commutative, "f")
    subject = ("f", 1, ("f", 2, 3))
    assert run(0, x, eq_aco(("f", 3, 2, x), subject)) == (1,)
    changing = ("+", [1], 2)
    assert run(0, x, eq_aco(("+", [1], x), changing)) == (2,)
    changing[1].append(5)
    assert run(0, x, eq_aco(("+", [1], x), changing)) == ()


def test_laws_that_are_unstated_are_forgotten():
    u, v = ("+", 1, 2), ("+", 2, 1)
    assert run(0, True, eq_aco(u, v)) == (True,)
    commutative.facts.discard(("+",))
    assert run(0, True, eq_aco(u, v)) == ()
    assert run(0, True, eq_aco(u, v, FREE)) == ()


# Terms


p, q, r = (relgrad.symbol(name, (3,)).term for name in "pqr")


def test_terms_of_ops():
    assert run(0, x, eq_aco(add(exp(p), x), add(add(p, q), exp(p)))) == (add(p, q),)
    subject = add(multiply(p, q), multiply(p, r))
    answers = run(0, (a, b, c), eq_aco(add(multiply(a, b), multiply(a, c)), subject))
    assert set(answers) >= {(p, q, r), (p, r, q)}
    theory = DECLARED
    assert {normal(add(multiply(u, v), multiply(u, w)), theory) for u, v, w in answers} == {
        normal(subject, theory)
    }
    assert run(0, True, eq_aco(add(add(p, q), r), add(r, add(q, p)))) == (True,)
    assert set(run(0, (x, y), eq_aco(add(x, y), add(p, q)))) == {
        (p, q),
        (q, p),
        (constant(0), add(p, q)),
        (add(p, q), constant(0)),
    }


def test_units_are_not_made_up_where_they_would_change_the_dtype():
    i, j = (relgrad.symbol(name, (3,), "int64").term for name in "ij")
    assert set(run(0, (x, y), eq_aco(maximum(x, y), maximum(i, j)))) == {(i, j), (j, i), *_both(i, j)}
    assert (
        len(run(0, (x, y), eq_aco(maximum(x, y), maximum(p, q)))) == 9
    )  # ACUI: each takes a set, together both
    assert run(0, (x, y), eq_aco(maximum(x, y), i)) == ((i, i),)


def _both(i: Any, j: Any) -> set[Any]:
    whole = maximum(i, j)
    return {(i, whole), (j, whole), (whole, i), (whole, j), (whole, whole)}


def test_ops_whose_parameters_are_variables():
    axes = var()
    found = run(0, (axes, x), eq_aco(add(Sum(axes)(x), q), add(q, Sum((-1,))(p))))
    assert found == (((-1,), p),)
    assert run(0, x, eq_aco(Sum((axes,))(x), Sum((-1,))(p)), eq(axes, -2)) == ()


def test_tens_of_thousands_of_levels_of_terms():
    t = p
    for _ in range(20_000):
        t = exp(t)
    assert run(0, True, eq_aco(add(t, p), add(p, t))) == (True,)
    assert run(0, x, eq_aco(add(x, p), add(p, t), Theory({add: Laws(commutative=True)}))) == (t,)


def test_match_extends_a_substitution():
    pattern, subject = normal(("+", x, y), THEORY), normal(("+", 1, 2), THEORY)
    s = {x: z, z: 2, a: 7}
    (found,) = match(pattern, subject, s)
    assert found == {**s, y: 1} and term_of(subject) == ("+", 1, 2)
