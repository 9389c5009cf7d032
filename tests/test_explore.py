"""Matching and unification for people: answers that are lazy, right, and print as NumPy."""

from __future__ import annotations

import doctest
import runpy
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from kanren import fact

import relgrad as rg
from relgrad.explore.answers import Answer, Answers
from relgrad.logic.equality import equal_ground
from relgrad.looks import SHOWN
from relgrad.ops.arithmetic import add

X, Y, Z = (rg.symbol(name) for name in "xyz")
THEORIES = ["reals", rg.AC, rg.ACU, rg.FREE]


def summands(n):
    return sum((rg.symbol(f"x{i}") for i in range(1, n)), rg.symbol("x0"))


# Answers are right


@pytest.mark.parametrize("theory", THEORIES)
@pytest.mark.parametrize(
    ("pattern", "expression"),
    [
        (lambda a, b: np.exp(a) + b, lambda x, y, z: np.exp(x) + y * z),
        (lambda a, b: a + b, lambda x, y, z: x + y + z),
        (lambda a, b: a * b + a, lambda x, y: x * y + x),
        (lambda a: np.log(1 + np.exp(a)), lambda x, y: np.log(1 + np.exp(x * y))),
        (lambda a, b: np.maximum(a, b), lambda x, y: np.maximum(x, y)),
    ],
)
def test_the_pattern_with_its_answer_is_the_expression(theory, pattern, expression):
    found = rg.match(pattern, expression, theory=theory)
    assert found
    laws = theory if theory == "reals" else rg.DECLARED
    for answer in found:
        assert rg.match(pattern(**answer), expression, theory=laws)


def test_theories_differ_in_what_they_find():
    pattern, subject = (lambda a, b: np.exp(a) + b), (lambda x, y: y + np.exp(x))
    assert not rg.match(pattern, subject, theory=rg.FREE)
    assert repr(rg.match(pattern, subject, theory=rg.AC)) == "a = x, b = y"
    assert len(rg.match(lambda a, b: a + b, lambda x, y: x + y, theory=rg.AC)) == 2
    assert len(rg.match(lambda a, b: a + b, lambda x, y: x + y, theory=rg.ACU)) == 4
    assert rg.match(lambda a, b: a / b, lambda x, y: x * np.exp(-y), theory="reals")
    assert not rg.match(lambda a, b: a / b, lambda x, y: x * np.exp(-y), theory=rg.ACU)


def test_bare_numbers_in_a_pattern_take_the_dtype_of_the_expression():
    for dtype in (np.float32, np.float64):
        x = rg.symbol("x", dtype=dtype)
        for theory in THEORIES:
            assert repr(rg.match(lambda a: np.exp(a) * 2, np.exp(x) * 2, theory=theory)) == "a = x"


def test_axes_are_variables_too():
    m = rg.symbol("m", (3, 4))
    pattern = lambda a, axis: np.exp(a).sum(axis=axis, keepdims=True)
    (kept,) = rg.match(pattern, np.exp(m).sum(axis=0, keepdims=True))
    (dropped,) = rg.match(pattern, np.exp(m).sum(axis=0))
    assert repr(kept) == repr(dropped) == "a = m, axis = (-2,)"


def test_without_variables_there_is_one_empty_answer_or_none():
    (answer,) = rg.match(X + Y, Y + X)
    assert dict(answer) == {} and repr(answer) == "equal as they stand"
    assert repr(rg.match(X + Y, X)) == "no answers"
    assert rg.match(1, 1) and not rg.match(1, 2)


def test_a_variable_alone_is_anything():
    (a,) = rg.variables("a")
    assert repr(rg.match(a, X + 1)) == "a = x + 1.0"
    assert repr(rg.match(a, 3)) == "a = 3"


def test_variables_are_used_in_numpy_expressions():
    a, b = rg.variables("a, b")
    assert repr(rg.match(np.exp(a) + b, np.exp(X) + Y + Z)) == "a = x, b = y + z"
    assert rg.match(a * a, X * X)[0].a.term is X.term
    assert not rg.match(np.sin(a) * np.cos(a), np.sin(X) * np.cos(Y))


def test_variables_of_one_name_made_apart_are_apart():
    (a,), (other,) = rg.variables("a"), rg.variables("a")
    (answer,) = rg.match(np.exp(a) + np.sin(other), np.exp(X) + np.sin(Y))
    assert repr(answer) == "a = x, a2 = y"


# Unification


def test_unifiers_with_and_without_identities():
    sides = (lambda x, y: x + y), (lambda z, w: z + w)
    assert repr(rg.unify(*sides)) == "x = z1 + z2, y = z3 + z4, z = z1 + z3, w = z2 + z4"
    assert len(rg.unify(*sides, theory=rg.AC)) == 7
    assert repr(rg.unify(*sides, theory=rg.FREE)) == "x = z, y = w"


@pytest.mark.parametrize("theory", THEORIES)
def test_unifiers_make_the_sides_equal(theory):
    left, right = (lambda a, b: np.exp(a) * np.sin(b)), (lambda c: np.exp(c * X) * np.sin(Y))
    found = rg.unify(left, right, theory=theory)
    assert found
    for answer in found:
        answer = dict(answer)
        sides = left(answer["a"], answer["b"]), right(answer["c"])
        assert rg.unify(*sides, theory=theory)
        assert repr(rg.match(answer["b"], Y)) == "equal as they stand"


def test_parameters_of_one_name_are_one_variable():
    assert repr(rg.unify(lambda a: np.exp(a), lambda a: np.exp(a))) == "equal as they stand"
    assert not rg.unify(lambda a: np.exp(a), lambda a: np.exp(np.exp(a)))
    assert rg.unify(lambda a: np.exp(a), lambda b: np.exp(np.exp(b)))


def test_nothing_is_unified_with_what_holds_it():
    for theory in THEORIES:
        assert not rg.unify(lambda a: a, lambda a: np.exp(a), theory=theory)


def test_fuel_bounds_the_search():
    question = (lambda a, b: a @ b), (lambda a, b: b @ a)
    with pytest.warns(rg.OutOfFuel, match="stopped after 50 steps"):
        few = len(rg.unify(*question, fuel=50))
    with pytest.warns(rg.OutOfFuel):
        assert few < len(rg.unify(*question, fuel=100))


# Answers are lazy


def counted(n):
    """Return n answers, and the list of those that were computed."""
    made = []

    def answers():
        for i in range(n):
            made.append(i)
            yield Answer({"a": X + i})

    return Answers(["a"], answers()), made


def test_no_more_is_computed_than_asked_for():
    answers, made = counted(100)
    assert made == []
    assert bool(answers) and made == [0]
    assert repr(answers[2]) == "a = x + 2.0" and made == [0, 1, 2]
    assert len(answers[1:4]) == 3 and made == [0, 1, 2, 3]
    assert len(list(islice(answers, 5))) == 5 and len(made) == 5
    assert repr(answers).endswith("\n… and maybe more") and len(made) == SHOWN
    assert len(answers) == 100 and made == list(range(100))


def test_nothing_is_computed_twice():
    answers, made = counted(4)
    assert [*answers] == [*answers] and made == [0, 1, 2, 3]
    assert repr(answers) == repr(answers) and "more" not in repr(answers)


def test_answers_are_a_sequence():
    answers, _ = counted(5)
    assert answers[-1] is answers[4] and [*answers[::-1]] == [*reversed(answers)]
    assert [*answers[-2:]] == [answers[3], answers[4]] and [*answers[10:]] == []
    with pytest.raises(IndexError):
        answers[5]
    assert not Answers([], []) and len(Answers([], [])) == 0


def test_the_first_of_very_many_answers_comes_at_once():
    found = rg.match(lambda a, b, c: a + b + c, summands(20))
    assert repr(found[0]).startswith("a = x0")
    assert repr(found[:2]).count("\n") == 1


@pytest.mark.parametrize(
    ("pattern", "expression", "answers"),
    [
        (
            lambda a, b: (a + b) / a,
            lambda s: sum(s[1:10], s[0]) / (s[2] + s[3] + s[4]),
            "a = s2 + s3 + s4, b = s0 + s1 + s5 + s6 + s7 + s8 + s9",
        ),
        (
            lambda a, b: a * (a + b),
            lambda s: (s[0] + s[1] + s[2]) * (s[1] + s[2]),
            "a = s1 + s2, b = s0",
        ),
        (
            lambda a, b: np.exp(b) * (a + b) / a,
            lambda s: np.exp(s[0] + s[3]) * (s[0] + s[1] + s[2] + s[3]) / (s[1] + s[2]),
            "a = s1 + s2, b = s0 + s3",
        ),
        (
            lambda a, b, c: (a + b) / (a + c),
            lambda s: (s[0] + s[1] + s[2]) / (s[1] + s[2] + s[3]),
            "a = s1 + s2, b = s0, c = s3\na = s1, b = s0 + s2, c = s2 + s3\na = s2, b = s0 + s1, c = s1 + s3",
        ),
    ],
)
def test_a_variable_that_several_factors_share_is_what_they_have_in_common(pattern, expression, answers):
    s = [rg.symbol(f"s{i}") for i in range(10)]
    assert repr(rg.match(pattern, expression(s))) == answers


@pytest.mark.parametrize("n", [1, 2, 9])
def test_two_sums_are_told_from_their_sum_and_difference(n):
    u, v = (sum((rg.symbol(f"{name}{i}") for i in range(1, n)), rg.symbol(f"{name}0")) for name in "uv")
    found = rg.match(lambda a, b: (a - b) * (a + b), (u - v) * (u + v))
    assert len(found) == 2
    for answer, other in zip(found, (v, -v), strict=True):
        assert rg.match(answer.a, u) and rg.match(answer.b, other)


# Answers print


def test_an_answer_is_a_mapping_with_attributes():
    (answer,) = rg.match(lambda a, b: np.exp(a) + np.sin(b), lambda x, y: np.exp(x) + np.sin(y))
    assert list(answer) == ["a", "b"] and len(answer) == 2 and "a" in dir(answer)
    assert rg.show(answer.a.term) == rg.show(answer["a"].term) == "x"
    with pytest.raises(AttributeError) as error:
        _ = answer.c
    assert str(error.value) == "no variable c in this answer; there are: a, b"
    with pytest.raises(KeyError):
        answer["c"]


def test_answers_print_one_a_line():
    found = rg.match(lambda a, b: a + b, lambda x, y, z: x * y + z)
    assert repr(found) == "a = x * y, b = z\na = z, b = x * y"


def test_what_is_used_twice_is_named():
    long = np.exp(np.sin(X) * np.cos(Y))
    (answer,) = rg.match(lambda a, b: np.arctan2(a, b), np.arctan2(long + 1, long))
    assert repr(answer) == "a = t1 + 1.0, b = t1\n  where t1 = exp(sin(x) * cos(y))"
    assert "t1 = exp(sin(x) * cos(y))" in answer._repr_html_()


def test_html_is_a_table_and_escaped():
    odd = rg.symbol("<b>")
    found = rg.match(lambda a, b: np.exp(a) + np.sin(b), np.exp(odd) + np.sin(Y))
    html = found._repr_html_()
    assert '<th scope="row"><code><span class="mark"' in html
    assert "exp(" in html and "&lt;b&gt;" in html and "<b>" not in html
    assert (
        "no answers" in rg.match(X, Y)._repr_html_() and "equal as they stand" in rg.match(X, X)._repr_html_()
    )
    many = rg.match(lambda a, b: a + b, summands(6))
    assert many._repr_html_().count("<details") == SHOWN and "… and maybe more" in many._repr_html_()


# Nonsense


def refused(call, error):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_what_is_no_expression_is_refused():
    text = refused(lambda: rg.match("x + y", X), rg.TraceError)
    assert text.startswith("the pattern is no expression but str: 'x + y'\n  where: ")
    assert "cure:  write it with relgrad.variables and relgrad.symbol, or as a lambda" in text
    assert "the expression is no expression but NoneType" in refused(lambda: rg.match(X, None), rg.TraceError)
    assert "the right side is no expression but tuple" in refused(
        lambda: rg.unify(X, lambda a: (a, a)), rg.TraceError
    )


@pytest.mark.parametrize("function", [np.exp, lambda *a: a, lambda **a: a, lambda *, a: a])
def test_a_function_needs_names(function):
    text = refused(lambda: rg.match(function, X), rg.TraceError)
    assert text.startswith("the pattern is a function whose parameters have no names: ")
    assert "cure:  write a lambda, such as lambda a, b: np.exp(a) + b" in text


def test_a_subject_has_no_variables():
    a, b = rg.variables("a b")
    text = refused(lambda: rg.match(a + 1, X + b), rg.RelationError)
    assert text.startswith("the expression holds the variable b\n")
    assert "cure:  use symbols in the expression, made by relgrad.symbol, or relgrad.unify" in text


@pytest.mark.parametrize("theory", ["real", None, 3, "AC"])
def test_a_theory_must_be_known(theory):
    text = refused(lambda: rg.match(lambda a: a + 1, X + 1, theory=theory), rg.RelationError)
    assert text.startswith(f"match: unknown theory {theory!r}\n")
    assert 'cure:  use "reals", or relgrad.AC, relgrad.ACU, relgrad.DECLARED, relgrad.FREE' in text


@pytest.mark.parametrize("fuel", [-1, 1.5, True, "1"])
def test_fuel_is_a_number_of_steps(fuel):
    assert refused(lambda: rg.match(X, X, fuel=fuel), rg.TraceError).startswith(
        f"match: fuel={fuel!r} is no number of steps"
    )


@pytest.mark.parametrize("name", ["1a", "a-b", "np.a"])
def test_a_variable_needs_a_name(name):
    assert refused(lambda: rg.variables(name), rg.TraceError).startswith(f"{name!r} is no name of a variable")


def test_names_stand_in_one_string():
    assert "variables takes names in one string, not ['a']" in refused(
        lambda: rg.variables(["a"]), rg.TraceError
    )


def test_a_variable_has_no_shape():
    assert refused(lambda: rg.match(lambda a: a / a.shape[0], X), rg.RelationError).startswith(
        "a logic variable has no shape, rank or dtype"
    )


def test_shapes_that_do_not_fit_are_refused_where_they_are_written():
    with pytest.raises(rg.ShapeError):
        rg.match(lambda a, b: a + b, rg.symbol("u", (3,)) + rg.symbol("v", (4,)))


# What is written about it


ROOT = Path(__file__).resolve().parent.parent


def test_the_examples_in_the_documentation_are_true():
    path = ROOT / "docs" / "matching.md"
    found = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
    for law in (rg.associative, rg.commutative, rg.identity):
        for row in [row for row in law.facts if row[0] in ("plus", add)]:
            law.facts.discard(row)
            law.index.pop((0, row[0]), None)
    assert found.attempted > 20 and found.failed == 0


def test_the_tour_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "matching.py"), run_name="__main__")
    assert "a = x, b = y + z" in capsys.readouterr().out


# Laws of one's own


class Join(rg.Op):
    """A made-up op with laws."""

    __props__ = ()
    laws = rg.Laws(associative=True, commutative=True, idempotent=True)

    def output_type(self, *types):
        return types[0]


join = Join()


def test_an_op_takes_part_by_declaring_its_laws():
    found = rg.match(
        lambda a: join(join(a, np.exp(a)), X), join(np.exp(Y), join(X, join(Y, X))), theory=rg.DECLARED
    )
    assert repr(found) == "a = y"
    assert not rg.match(lambda a: join(a, X), join(X, Y), theory=rg.FREE)


class Smooth(rg.Op):
    """A moving average along the last axis."""

    __props__ = ()
    laws = rg.Laws(linear=(0,))

    def output_type(self, *types):
        return types[0]

    def mixes(self, node, i):
        return (-1,)


def test_a_linear_op_takes_part_by_declaring_it():
    smooth = Smooth()
    x, s = rg.symbol("x", (5,)), rg.symbol("s")
    assert equal_ground(smooth(x * 2).term, (2 * smooth(x)).term)
    assert equal_ground(smooth(s * x).term, (s * smooth(x)).term)
    assert not equal_ground(smooth(x * x).term, (x * smooth(x)).term)
    assert repr(rg.match(lambda a: smooth(a), s * smooth(x) / 2)) == "a = s * x * 0.5"
    f = rg.stabilize(lambda x: smooth(np.exp(x)) / np.exp(x).sum())
    assert f.explain(np.zeros(5)).relations == ["normalized_exponential"]


def test_facts_count_for_plain_heads():
    from kanren import run, var

    q = var()
    fact(rg.commutative, "meet")
    assert run(0, q, rg.eq_aco(("meet", 1, q), ("meet", 2, 1))) == (2,)
    rg.commutative.facts.discard(("meet",))
    rg.commutative.index.pop((0, "meet"))


def test_everything_that_is_given_out_can_be_shown():
    x = rg.symbol("x", 3)
    assert rg.show(x) == "x"
    assert rg.show(np.exp(x) + 1) == rg.show((np.exp(x) + 1).term)
    assert rg.show([x, np.sin(x)]) == "x\nsin(x)"
    (a,) = rg.variables("a")
    assert rg.show(np.exp(a)) == "exp(a)"
    answers = rg.match(lambda a, b: np.exp(a) + b, lambda x, y: y + np.exp(x))
    assert rg.show(answers) == rg.show(answers[0]) == "a = x, b = y"
    assert rg.show(answers[0]["a"]) == "x"
    assert rg.show(rg.match(lambda a: np.exp(a), lambda x: np.sin(x))) == "no answers"
    assert rg.show(list(answers[0].values())) == "x\ny"
