"""Why rows do not fire: each gate at its place, and changes that hold; all that can be done at a place."""

import warnings

import numpy as np
import pytest
from counting import counted

import relgrad as rg
from relgrad.explore import reasons
from relgrad.explore.reasons import (
    CONDITION,
    FIRED,
    FUEL,
    GATES,
    HEAD,
    LEFT_OUT,
    ORDER,
    PATTERN,
    RAISED,
    RESULT,
)
from relgrad.op import as_term
from relgrad.ops.exponential import expm1
from relgrad.term import substitute

ROW = "log_of_one_plus_exponential"


@rg.relation(source="double angle")
def double_angle(x):
    """Twice the product of sine and cosine."""
    return np.sin(x) * np.cos(x), np.sin(2 * x) / 2


@rg.relation(source="angle sums")
def shifted(x, y):
    """A sine is a shifted cosine."""
    return np.sin(x) * y, y * np.cos(x - np.pi / 2)


@rg.relation(source="none")
def raising(x):
    """A row whose condition raises."""
    return np.sin(x), np.cos(x), lambda s: 1 // 0


@rg.relation(source="none")
def same(x):
    """A row that makes of a square what it is."""
    return np.square(x), x * x


def product(x):
    return np.sin(x) * np.cos(x)


def only(found, gate):
    """Return the one reason that is told, of a gate."""
    assert [reason.gate for reason in found] == [gate]
    return found[0]


def test_where_a_row_fired():
    found = rg.why_not(ROW, lambda x: np.log(1 + np.exp(x)))(3.0)
    assert found.fired and "became softplus(x)" in only(found, FIRED).text
    assert str(found).startswith(f"{ROW} fired\n")


def test_a_condition_names_bindings_ranges_and_an_assumption_that_holds():
    def f(x):
        return 2 + np.exp(np.log(x))

    reason = only(rg.why_not("exponential_of_logarithm", f)(3.0), CONDITION)
    assert "it matches with x = x" in reason.text
    assert "positive(x) is not known to hold" in reason.text
    assert "what is known: x is any number" in reason.text
    assert reason.change == "with assume={'x': relgrad.positive}"
    assert "test_reasons.py:" in reason.where
    assumed = rg.why_not("exponential_of_logarithm", rg.stabilize(f, assume={"x": rg.positive}))(3.0)
    assert assumed.fired and not rg.why_not("exponential_of_logarithm", f)(3.0).fired


def test_an_assumption_of_what_is_computed():
    def f(x, y):
        rg.assume(x * y - 1 > 0)
        return 2 + np.exp(np.log(x * y - 1))

    reason = only(
        rg.why_not("exponential_of_logarithm", lambda x, y: 2 + np.exp(np.log(x * y - 1)))(3.0, 2.0),
        CONDITION,
    )
    assert reason.change == "after relgrad.assume(x * y - 1.0 > 0) in the function"
    assert rg.why_not("exponential_of_logarithm", f)(3.0, 2.0).fired


def test_two_assumptions_where_one_is_not_enough():
    reason = only(
        rg.why_not("exponential_of_logarithm", lambda x, y: np.exp(np.log(x * y)) + 1)(1.0, 2.0), CONDITION
    )
    assert reason.change == "with assume={'x': relgrad.positive, 'y': relgrad.positive}"


def test_the_part_without_a_partner_stands_beside_what_is_there():
    reason = only(rg.why_not(ROW, lambda x: np.log(2 + np.exp(x)))(3.0), PATTERN)
    assert [line.split() for line in reason.text.split("\n")[:5]] == [
        ["pattern", "here"],
        ["log(…)", "log(…)"],
        ["a", "sum", "of"],
        ["exp(x)", "exp(x)"],
        ["1", "2", "←", "no", "1"],
    ]
    assert not reason.change


def test_the_place_that_is_nearest_comes_first():
    found = rg.why_not(ROW, lambda x: np.log(3 + x) + np.log(2 + np.exp(x)) + np.log(np.sin(x)))(3.0)
    assert rg.show(found[0].place) == "log(2.0 + exp(x))"


def test_an_equation_that_would_help_is_named_and_does():
    found = rg.why_not(ROW, lambda x: np.log(2 + np.expm1(x)))(3.0)
    reason = only(found, PATTERN)
    assert reason.change == "if expm1(x) were written exp(x) - 1.0, by expm1(a) = exp(a) - 1"
    x = rg.symbol("x")
    assert "by_definition made softplus(x) of it" in reason.text
    (changed,) = substitute([as_term(np.log(2 + np.expm1(x)))], {expm1(x.term): as_term(np.exp(x) - 1)})
    assert ROW in [move.name for move in rg.rewrites(changed)]


def test_what_the_program_lacks():
    reason = only(rg.why_not(ROW, product)(3.0), HEAD)
    assert reason.place is None
    assert "its left side is log(1 + exp(x))" in reason.text
    assert "the program has no exp, no log" in reason.text


def test_another_row_came_first():
    library = rg.Library([double_angle, shifted])
    reason = only(rg.why_not(shifted, product, relations=library)(1.0), ORDER)
    assert "double_angle came first, and made sin(2.0 * x) * 0.5" in reason.text
    assert reason.change == "with relations=library.without('double_angle')"
    assert rg.why_not("shifted", product, relations=library.without("double_angle"))(1.0).fired


def test_a_row_that_is_in_no_library_and_one_that_raises():
    reason = only(rg.why_not(double_angle, product, relations=[shifted])(1.0), LEFT_OUT)
    assert reason.change == "with it in relations="
    with pytest.warns(rg.FailedRelation):
        found = rg.why_not(raising, lambda x: np.sin(x) + 1, relations=[raising])(1.0)
    assert "it raised ZeroDivisionError" in only(found, RAISED).text


def test_a_row_that_changes_nothing():
    reason = only(rg.why_not(same, lambda x: np.square(np.sin(x)) + 1, relations=[same])(1.0), RESULT)
    assert "what it makes of the place is the place itself" in reason.text


def test_a_search_that_was_ended():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = rg.stabilize(product, relations=[double_angle], seconds=0)
        reason = only(rg.why_not(double_angle, stopped)(1.0), FUEL)
    assert "stopped after 0 seconds" in reason.text and reason.change == "with more time or fuel"


def test_places_inside_gradients():
    found = rg.why_not(ROW, rg.grad(lambda x: np.log(2 + np.exp(x))))(3.0)
    assert found[0].gate == PATTERN and "test_reasons.py:" in found[0].where


def test_hazards_that_remain():
    library = rg.LIBRARY.restricted(ROW, "log_of_exponential")
    found = rg.why_not(lambda x, y: np.log(np.exp(x) + np.exp(y)), relations=library)(800.0, 1.0)
    hazard, near = found[0]
    assert hazard.kind == "overflow"
    assert any(reason.row == ROW and "no 1" in reason.text for _, rows in found for reason in rows)
    assert f"{ROW}, nearly:" in str(found)
    assert all(reason.gate != FIRED for reason in near)
    assert str(rg.why_not(lambda x: np.log(1 + np.exp(x)))(1.0)) == "no hazard remains"


def test_changes_are_looked_for_where_they_are_told_only():
    """Of all rows that nearly match, three are told at each hazard, each with at most 12 parts and the place."""
    ask = rg.why_not(lambda x, k: (1 - x) * x**k / (1 - x ** (k + 1)), points=20)
    found = ask(0.9, 5.0)
    assert len(found)
    assert counted(reasons, "_equal", lambda: ask(0.9, 5.0)) <= len(found) * reasons.NEAR * 13


def test_all_that_can_be_done_at_a_place():
    x = rg.symbol("x")
    found = rg.rewrites(np.log(1 + np.exp(x)))
    assert [move.name for move in found[:2]] == [ROW, "log_of_one_plus"]
    assert f"{ROW}: softplus(x) — " in repr(found)
    assert [rg.show(m.term) for m in rg.rewrites(np.exp(x) / np.exp(x))] == ["1.0"]
    assert repr(rg.rewrites(x)) == "nothing can be done here"
    gradient = rg.grad(lambda x: np.sin(x) ** 2).term(x)
    assert [move.move for move in rg.rewrites(gradient)] == ["expand"]
    assert len(rg.rewrites(np.log(1 + np.exp(x)), relations=[double_angle])) == 0


@pytest.mark.parametrize("row", [row.name for row in rg.LIBRARY][::40])
def test_every_row_has_a_reason_in_any_program(row):
    found = rg.why_not(row, lambda x, y: np.log(1 + np.exp(x) * y) - np.sum(x * y) / np.sqrt(y))(
        np.ones(3), np.ones(3)
    )
    assert len(found) and all(reason.gate in GATES and reason.text for reason in found)


def test_errors_say_what_and_how_to_mend_it():
    with pytest.raises(
        rg.RelationError,
        match=r"(?s)no row is named 'log_of_one_plus_exponentials'.*nearest names are log_of_one",
    ):
        rg.why_not("log_of_one_plus_exponentials", np.sin)
    with pytest.raises(rg.RelationError, match=r"(?s)why_not needs a function beside 'log'"):
        rg.why_not("log")
    with pytest.raises(rg.RelationError, match="needs a function beside <relation double_angle>"):
        rg.why_not(double_angle)
