"""Checking relations: the library's are true; what is false, too wide or empty is caught, with a proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.accuracy.check import check_simplification
from relgrad.accuracy.subjects import subjects
from relgrad.interpret import interpret
from relgrad.op import as_term
from relgrad.schedule.relate import SIMPLIFICATIONS

pytest.importorskip("flint")
ROUNDS_A_SUM = {"difference_of_entropies_near_one"}
"""Rows whose right side forms x = y + d or 1 + x, which matters only far from what the row is about."""
OF_ENTRIES = {
    "angle_from_axis",
    "elevation_of_vector",
    "entry_minus_logsumexp",
    "log_of_share_of_part",
    "log_of_share_of_two",
    "log_softmax_of_rounded_product",
    "logsumexp_of_distances_from_entry",
    "rapidity_of_vector",
    "sine_of_angle_from_axis",
    "softmax_of_rounded_product",
}
"""Rows whose goals want entries of an array, directions, or rounded multiples, which are not sampled."""


FEW = 6
"""So many programs are tried for each row; `relgrad check` tries more."""
SELDOM = 6
"""How many of the rows are not applied in any of them at most, in percent."""


@pytest.mark.sampled(9)
@pytest.mark.parametrize("row", list(rg.LIBRARY), ids=lambda row: row.name)
def test_every_row_of_the_library_is_true_and_loses_no_more_than_it_wins(row):
    found = rg.check(row, samples=48, subjects=FEW)
    if row.name in OF_ENTRIES:
        assert found.witness is None, found
        assert not found.compared, found
        return
    assert found.ok, found
    assert found.coverage > 0.1, found
    assert found.worse <= max(found.better, 0.02) or found.gain > -0.5 or row.name in ROUNDS_A_SUM, found


def test_rows_are_applied_in_the_programs_that_they_are_tried_on():
    draws = lambda row: np.random.default_rng([0, *row.name.encode()])
    idle = [row.name for row in rg.LIBRARY if not any(subjects(row, draws(row), FEW))]
    assert len(idle) * 100 <= SELDOM * len(list(rg.LIBRARY)), idle


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [law.name for law in SIMPLIFICATIONS])
def test_every_simplification_of_the_scheduler_is_true(name):
    found = check_simplification(name, subjects=60)
    assert found.ok, found
    assert found.matched, found


def wrong_sign(x):
    return np.log(1 / x), np.log(x), rg.positive(x)


def lost_absolute_value(x):
    return np.sqrt(x**2), x


def defined_on_one_half(x):
    return np.log(x**2), 2 * np.log(x)


def a_number_from_nothing(x):
    return np.exp(np.log(x)), x


def domain_of_the_wrong_sign(x):
    return np.sqrt(x**2), x, rg.negative(x)


def domain_that_lets_zero_in(x):
    return x / x * np.abs(x), 1 * x, rg.nonnegative(-x)


def forgotten_weights(x, w, axis):
    return np.sum(w * np.exp(x), axis=axis, keepdims=True), np.sum(np.exp(x), axis=axis, keepdims=True)


def another_axis(x, axis):
    return np.log(rg.softmax(x, axis=axis)), rg.log_softmax(x, axis=-1)


def forgotten_numerator(x, axis):
    return (
        np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True),
        1 / np.sum(np.exp(x), axis=axis, keepdims=True),
    )


def too_large_a_shape(x, axis):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=True)), x


def off_by_a_tiny_term(x):
    return np.log(np.exp(x)), x + 1e-30


def off_by_a_tiny_factor(x):
    return np.log(np.exp(x)), x * (1 + 1e-9)


def nearly_one(x):
    return np.tanh(x + 40), 1


def rounded_too_early(x):
    return np.exp(0.69314718 * x), np.exp2(x)


def exchanged_operands(x, y):
    return np.exp(x) / np.exp(y), np.exp(y - x)


FALSE = [
    wrong_sign,
    lost_absolute_value,
    defined_on_one_half,
    a_number_from_nothing,
    domain_of_the_wrong_sign,
    domain_that_lets_zero_in,
    forgotten_weights,
    another_axis,
    forgotten_numerator,
    too_large_a_shape,
    off_by_a_tiny_term,
    off_by_a_tiny_factor,
    nearly_one,
    rounded_too_early,
    exchanged_operands,
]


def stated(function: Any, doc: str = "An equation.", source: str = "these tests") -> rg.Relation:
    """Return a relation with a docstring and a source."""
    function.__doc__ = doc
    return rg.relation(function, source=source)


@pytest.mark.parametrize("doc", ["", "The logarithm of an exponential."])
@pytest.mark.parametrize("source", ["", "definition of the logarithm"])
def test_a_row_without_docstring_or_source_is_refused(doc, source):
    found = rg.check(stated(lambda x: (np.log(np.exp(x)), x), doc, source))
    missing = [name for name, text in (("docstring", doc), ("source", source)) if not text]
    assert found.ok == (not missing)
    assert found.verdict == ("refused" if missing else "not refuted")
    assert (
        "it has no " + " and no ".join(missing) + ": say what it states in a docstring" in str(found)
    ) == bool(missing)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("function", FALSE)
def test_what_is_false_is_caught(function, seed):
    found = rg.check(rg.relation(function), seed=seed)
    assert not found.ok
    assert found.verdict == "false"
    assert found.witness.why in str(found)


@pytest.mark.parametrize("function", [f for f in FALSE if f is not too_large_a_shape])
def test_a_witness_is_an_input_at_which_the_sides_differ(function):
    found = rg.check(rg.relation(function)).witness
    arguments = [np.asarray(v) if not isinstance(v, tuple) else v for v in found.inputs.values()]
    assert set(found.inputs) == set(function.__code__.co_varnames)
    if function in (nearly_one, off_by_a_tiny_term, rounded_too_early):
        return  # the difference is too small for floats
    with np.errstate(all="ignore"):
        left, right, *_ = np.broadcast_arrays(*function_on_arrays(function, arguments))
    assert not np.allclose(left, right, rtol=1e-12, atol=0.0)


def function_on_arrays(function: Any, arguments: Any) -> Any:
    """Evaluate both sides on arrays: conditions take terms, and are left out."""
    symbols: list[Any] = [
        a if isinstance(a, tuple) else rg.symbol(f"x{i}", a.shape) for i, a in enumerate(arguments)
    ]
    left, right, *_ = function(*symbols)
    values = {s.term: a for s, a in zip(symbols, arguments, strict=True) if not isinstance(a, tuple)}
    return interpret([as_term(left), as_term(right)], values)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x + y - np.hypot(x, y), np.where(x + y > 0, 1, -1) * np.abs(x + y) - np.hypot(x, y)),
        lambda x, y: (
            np.hypot(x, y) - y,
            np.where(y > 0, x * (x / (np.hypot(x, y) + y)), np.hypot(x, y) + abs(y)),
        ),
    ],
)
def test_a_kink_that_one_side_has_alone_is_caught(function):
    found = rg.check(stated(function))
    assert found.verdict == "false"
    assert "the slopes of the sides differ" in str(found)


def test_curvatures_are_those_of_the_left_side_where_slopes_are_continuous():
    flat = rg.check(stated(lambda x: (x * np.sinh(x), abs(x) * np.sinh(abs(x)))))
    assert flat.verdict == "false"
    assert "the curvatures of the sides differ" in str(flat)
    bent = lambda x: (np.log(np.cosh(x)) - abs(x), np.log1p(np.exp(-2 * abs(x))) - np.log(2))
    assert rg.check(stated(bent)).witness is None  # 1 and 0 at 0, where the slope jumps


def test_what_differs_in_shape_says_so():
    found = rg.check(rg.relation(too_large_a_shape))
    assert "the sides differ in shape" in str(found)


def test_what_is_never_defined_is_not_called_true():
    found = rg.check(stated(lambda x: (np.log(-np.exp(x)), np.log(-np.exp(x) - 1))))
    assert not found.ok
    assert found.verdict == "never defined"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (np.sqrt(x**2), x, rg.nonnegative(x)),
        lambda x: (np.sqrt(x**2), -x, rg.negative(x)),
        lambda x: (np.log(x**2), 2 * np.log(x), rg.positive(x)),
        lambda x: (np.log(x**2), 2 * np.log(np.abs(x))),
        lambda x, y: (np.log(x * y), np.log(x) + np.log(y), rg.positive(x), rg.positive(y)),
        lambda x: (np.log(np.linalg.det(x) ** 2), 2 * np.linalg.slogdet(x)[1]),
        lambda x, w, axis: (
            np.sum(w * x, axis=axis, keepdims=True),
            w * np.sum(x, axis=axis, keepdims=True),
            rg.constant_along(w, axis),
        ),
    ],
)
def test_what_holds_on_its_domain_is_true(function):
    found = rg.check(stated(function))
    assert found.ok, found


def test_a_constant_that_was_rounded_stands_for_what_it_was_rounded_from():
    assert rg.check(stated(lambda x: (np.exp(x * np.log(2)), np.exp2(x)))).ok
    assert not rg.check(stated(lambda x: (np.exp(x * (np.log(2) + 1e-15)), np.exp2(x)))).ok


def test_the_wrong_orientation_shows():
    found = rg.check(stated(lambda x: (np.log1p(x), np.log(1 + x))))
    assert found.ok
    assert found.worse > 0.2
    assert found.gain < -5
    assert found.worst.bits > 40
    assert "loses" in str(found)
    assert rg.check(stated(lambda x: (np.log(1 + x), np.log1p(x)))).gain > 5


def test_coverage_is_the_part_at_which_the_sides_were_compared():
    assert rg.check(stated(lambda x: (np.exp(x) ** 2, np.exp(2 * x)))).coverage > 0.99
    assert rg.check(stated(lambda x: (np.log(x) * 2, np.log(x) + np.log(x)))).coverage < 0.7


def test_a_check_is_the_same_each_time():
    row = next(iter(rg.LIBRARY))
    assert str(rg.check(row)) == str(rg.check(row))


def test_what_is_no_relation_is_told_so():
    with pytest.raises(
        rg.RelationError, match=r"check needs a relation or an op, not function(?s:.*)@relgrad.relation"
    ):
        rg.check(wrong_sign)
