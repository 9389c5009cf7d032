"""Relations proposed by example, where they meet the library, where they loop, and how they are found."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import relgrad as rg
from relgrad.accuracy.check import check
from relgrad.authoring import Refuted
from relgrad.authoring.search import search, words
from relgrad.authoring.written import TEMPLATE, Row, as_written, of_terms
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.loading import relations_of
from relgrad.op import as_term
from relgrad.term import subterms
from relgrad.trace.tracer import Tracer

pytest.importorskip("flint")


def conditions_of(draft):
    return [condition.__name__ for condition in draft.relation.conditions]


def refused(call, error=rg.RelationError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("left", "right", "conditions"),
    [
        ("np.log(np.exp(a) + np.exp(b))", "np.logaddexp(a, b)", []),
        ("np.sqrt(x**2)", "x", ["nonnegative"]),
        ("np.sqrt(x**2)", "-x", ["negative"]),
        ("np.abs(x) / x", "1 + 0 * x", ["nonnegative"]),
        ("np.exp(np.log(x))", "x", ["nonnegative"]),
        ("np.sqrt(x**2) + np.sqrt(y**2)", "x + y", ["nonnegative", "nonnegative"]),
        (
            "np.sum(x * y, axis=axis, keepdims=True)",
            "x * np.sum(y, axis=axis, keepdims=True)",
            ["constant_along"],
        ),
        ("np.log(np.prod(x, axis=axis, keepdims=True))", "log_prod(x, axis=axis, keepdims=True)", []),
    ],
)
def test_the_fewest_and_weakest_conditions_are_proposed(left, right, conditions):
    found = rg.new_relation(left, right, source="a source")
    assert conditions_of(found) == conditions
    assert found.check.ok
    assert bool(found.refuted) == bool(conditions)
    for i in range(len(conditions)):
        fewer = found.row.conditions[:i] + found.row.conditions[i + 1 :]
        assert rg.check(found.row._replace(conditions=fewer).compiled()).witness is not None


def test_without_the_conditions_the_sides_differ_at_the_witness():
    found = rg.new_relation("np.sqrt(x**2)", "x")
    assert found.refuted is not None
    x = found.refuted.inputs["x"]
    assert np.sqrt(x**2) != x


def test_a_draft_without_a_source_asks_for_one_and_is_refused_until_then():
    found = rg.new_relation(lambda x: np.log(1 + np.exp(x)), lambda x: rg.softplus(x))
    assert found.check.without == ("source",)
    assert not found.check.ok
    assert 'source=""' in str(found)
    assert "where it can be looked up" in str(found)
    assert "known" in repr(found)
    assert found.known


def test_what_is_printed_defines_the_row(tmp_path):
    found = rg.new_relation(
        lambda x, w: np.log(w * np.exp(x)),
        lambda x, w: x + np.log(w),
        name="log_weight",
        doc='The "log" of a weight \\ times.',
        source='A "book", page 3',
    )
    path = tmp_path / "rows.py"
    path.write_text(str(found))
    (row,) = relations_of(path)
    assert (row.name, row.source, row.doc) == (
        "log_weight",
        'A "book", page 3',
        'The "log" of a weight \\ times.',
    )
    assert rg.show((row.left, row.right)) == rg.show((found.relation.left, found.relation.right))
    assert check(row).ok
    assert rg.stabilize(lambda x: np.log(3 * np.exp(x)), relations=[row])(800.0) == 800 + np.log(3)


def test_a_row_is_written_as_its_author_wrote_it():
    found = rg.new_relation(lambda a: rg.softplus(-a) - np.log(1), lambda a: np.logaddexp(0, -a))
    assert "return softplus(-a) - np.log(1), np.logaddexp(0, -a)" in str(found)
    assert "from relgrad.ops import softplus" in str(found)
    assert "rg." not in str(found).replace("rg.check", "")


def test_functions_of_ones_own_are_written_out():
    def half(x):
        return x / 2

    found = rg.new_relation(lambda x: np.cosh(half(x)) ** 2 - np.sinh(half(x)) ** 2, lambda x: 1)
    assert "half" not in str(found)
    assert found.check.witness is None


@pytest.mark.parametrize("step", range(8))
def test_the_rows_of_the_library_can_be_written_out(step):
    rows = [row for row in rg.LIBRARY if not any(getattr(c, "finds", ()) for c in row.conditions)][step::8]
    written = 0
    for row in rows:
        names = tuple(inspect.signature(row.function).parameters)
        text = Row(row.name, names, of_terms(row.left, row.right), (), row.doc, row.source)
        try:
            again = text.compiled()
        except Exception:
            continue
        arguments = [
            v if n == "axis" or n.endswith("_axis") else Tracer(v)
            for n, v in zip(names, row.variables, strict=True)
        ]
        sides = [as_term(x) for x in again.function(*arguments)]
        assert rg.show(sides) == rg.show((row.left, row.right))
        written += 1
    assert written > 0.8 * len(rows)


def test_what_no_conditions_mend_is_refused_with_a_witness():
    text = refused(lambda: rg.new_relation("np.exp(a)", "1 + a", name="linear"), Refuted)
    assert "exp(a) is not 1 + a" in text
    assert "linear, between its left and its right side" in text
    assert "the sides differ at a = " in text


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        ("np.exp(a", "a", "the left side is no Python expression"),
        ("np.exp(a)", "b +", "the right side is no Python expression"),
        ("exp(a)", "a", r"np.exp is NumPy's"),
        ("np.exp(a)", "lgo(a)", "the right side calls lgo, which there is not"),
        ("np.exp(a)", "b", "the right side has b, which the left side does not have"),
        (3, "a", "the left side is no function but int"),
        (lambda a: np.exp(a), rg.symbol("x"), "the right side is no function but Tracer"),
        ("a", "np.exp(a)", "is a bare variable"),
        ("np.exp(a)", "np.nothing(a)", "the right side of the new relation raised AttributeError"),
        (lambda a: 1 / 0, "a", "the left side of the new relation raised ZeroDivisionError"),
        ("np.exp(a)", "np.exp(a)", "both sides are exp(a)"),
        ("np.exp(1)", "np.e", "the left side has no variables"),
        (np.exp, np.exp, "the left side is a function whose parameters are no variables: exp"),
        (lambda *a: np.exp(a[0]), "a", "whose parameters are no variables"),
        ("a.shape[0] * np.exp(a)", "a", "the left side of the new relation: a logic variable has no shape"),
    ],
)
def test_errors_of_authoring_name_the_side(left, right, says):
    assert says in refused(lambda: rg.new_relation(left, right), Exception)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (lambda x: (np.exp(x), nothing(x)), "the right side of <lambda> raised NameError"),  # noqa: F821
        (lambda x: (np.exp(x) + "a", x), "the left side of <lambda>: a str cannot"),
        (lambda x: (np.exp(x), x, rg.positive(nothing)), "condition 1 of <lambda> raised NameError"),  # noqa: F821
        (lambda x: (np.exp(x), x, rg.positive(x), x > 0), "its condition 2 is Tracer"),
        (lambda x: (np.exp(x), x, True), "its condition 1 is True"),
        (lambda x: (np.exp(x), "s"), "the right side of <lambda>: cannot make an array"),
        (lambda x, axis: (np.exp(x), np.sum(x, axis=axis)), "the right side of <lambda>: a reduction"),
        (lambda x: np.exp(x), "it returns one side only"),
    ],
)
def test_errors_of_a_row_name_its_part(row, says):
    assert says in refused(lambda: rg.relation(row), rg.RelgradError)


def test_the_line_of_a_part_that_raises_is_named():
    def row(x):
        return (
            np.exp(x),
            nothing(x),  # noqa: F821
        )

    text = refused(lambda: rg.relation(row))
    assert "the right side of row raised NameError" in text
    assert f"{Path(__file__).name}:{inspect.getsourcelines(row)[1] + 3}" in text


def test_names_are_free_and_files_hold_what_is_alike():
    assert rg.new_relation("np.log(np.exp(x))", "x").relation.name not in {row.name for row in rg.LIBRARY}
    assert (
        rg.new_relation("np.sin(x) * np.cos(x) * 4", "2 * np.sin(2 * x)").file == "relations/trigonometric.py"
    )
    assert rg.new_relation("np.cosh(x) ** 2 - 2", "np.sinh(x) ** 2 - 1").file == "relations/hyperbolic.py"


def test_the_template_holds_true_relations(tmp_path):
    path = tmp_path / "relations.py"
    path.write_text(TEMPLATE)
    rows = relations_of(path)
    assert len(rows) == 3
    assert all(rg.check(row).ok for row in rows)


@rg.relation(source="double angle")
def double_angle(x):
    """Twice the product of sine and cosine."""
    return 2 * np.sin(x) * np.cos(x), np.sin(2 * x)


@rg.relation(source="double angle")
def angle_halved(x):
    """The reverse of it."""
    return np.sin(2 * x), 2 * np.sin(x) * np.cos(x)


@rg.relation(source="test")
def swapped(x, y):
    """A sum in another order."""
    return np.sin(x) + np.cos(y), np.cos(y) + np.sin(x)


@rg.relation(source="test")
def unrolled(x):
    """It holds its own left side."""
    return np.sin(x), 3 * np.sin(x / 3) - 4 * np.sin(x / 3) ** 3


def test_overlaps_are_terms_that_both_rows_rewrite():
    found = rg.overlaps(
        "log_of_exponential", rg.LIBRARY.restricted("log_of_exponential", "exponential_of_logarithm")
    )
    assert [str(rg.show(o.term)) for o in found] == ["log(exp(log(x)))", "exp(log(exp(x)))"]
    assert [rg.show(o.results) for o in found] == ["log(x)\nlog(x)", "exp(x)\nexp(x)"]
    assert all(o.joined for o in found)
    assert found.apart == []


@pytest.mark.parametrize("name", ["log_of_one_plus_exponential", "one_minus_cosine", "log_of_exponential"])
def test_what_two_rows_make_of_a_term_is_equal_at_numbers(name):
    overlaps = rg.overlaps(name)[:8]
    assert len(overlaps) == 8
    for overlap in overlaps:
        terms = [overlap.term, *overlap.results, *overlap.normal]
        inputs = dict.fromkeys(t for t in subterms(*terms) if type(t.op) is Input)
        values = {
            t: np.linspace(0.3, 0.7, t.type.size or 1).reshape(t.type.shape) + i for i, t in enumerate(inputs)
        }
        with np.errstate(all="ignore"):
            found = interpret(terms, values, typed=False)
        for other in found[1:]:
            np.testing.assert_allclose(
                np.broadcast_to(other, found[0].shape), found[0], rtol=1e-6, atol=1e-12
            )


def test_a_sum_may_hold_the_other_side_beside_more():
    @rg.relation(source="test")
    def cosine_and_more(x, y):
        """One and a cosine, and more."""
        return 1 + np.cos(x) + np.sin(y) ** 3, np.sin(y) ** 3 + 2 * np.cos(x / 2) ** 2

    @rg.relation(source="test")
    def cube_plus_one(y):
        """One and a cube."""
        return 1 + np.sin(y) ** 3, np.exp(np.log1p(np.sin(y) ** 3))

    found = rg.overlaps(cosine_and_more, rg.Library([cube_plus_one]))
    assert {o.inner for o in found} | {o.outer for o in found} == {"cosine_and_more", "cube_plus_one"}


def test_results_that_no_row_joins_are_apart():
    @rg.relation(source="test")
    def one_way(x):
        """One way."""
        return np.log(np.cosh(x)), np.arctan(x)

    @rg.relation(source="test")
    def another_way(x):
        """Another."""
        return np.cosh(x), np.sinh(x) + 2

    (overlap,) = rg.overlaps(one_way, [another_way])
    assert not overlap.joined
    assert "not joined" in str(overlap)
    assert "one_way: arctan(x)" in str(overlap)


def test_a_row_that_no_row_has_is_told_with_the_nearest():
    assert "log_of_exponential" in refused(lambda: rg.overlaps("log_of_exponentil"))


@pytest.mark.parametrize("rows", [[3], "x", 3])
def test_what_is_no_relation_has_no_loops_and_no_overlaps(rows):
    assert "is no library of relations" in refused(lambda: rg.loops(rows))
    assert "is no library of relations" in refused(lambda: rg.overlaps("log_of_exponential", rows))


def test_rows_that_undo_each_other_are_loops():
    (loop,) = [loop for loop in rg.loops([double_angle, angle_halved]) if not loop.grows]
    assert {*loop.rows} == {"double_angle", "angle_halved"}
    assert rg.show(loop.terms[0]) == rg.show(loop.terms[-1])
    assert "runs in a circle" in str(loop)


def test_a_row_that_changes_the_order_only_is_a_loop():
    found = rg.loops(swapped)
    assert all(loop.rows == ("swapped",) for loop in found)


def test_a_row_that_holds_its_own_left_side_is_told():
    (loop,) = rg.loops(unrolled)
    assert loop.grows
    assert loop.rows == ("unrolled", "unrolled")
    assert "rewrites what it makes" in str(loop)


def test_rows_that_lead_nowhere_back_are_no_loops():
    assert not rg.loops(rg.LIBRARY.restricted("log_of_exponential", "exponential_of_logarithm"))
    assert repr(rg.loops(double_angle)) == "no row leads back"


def test_the_library_runs_in_no_circle():
    assert [loop.rows for loop in rg.loops() if not loop.grows] == []


def test_words_are_compared_by_what_they_mean():
    assert words("log of the Sums of exponentials") == words("logarithm sum exp")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("sum of exponentials", "log_of_sum_of_exponentials"),
        ("log softmax", "log_of_softmax"),
        ("second difference of a cosine", "second_difference_of_cosine"),
        ("Mills ratio normal tail", "density_over_complementary_error_function"),
    ],
)
def test_the_row_that_words_are_about_comes_first(text, first):
    assert search(text, rg.LIBRARY)[0].name == first


def test_without_words_all_rows_are_found_and_without_sense_none():
    assert {*search("", rg.LIBRARY)} == {*rg.LIBRARY}
    assert search("of the", rg.LIBRARY) == search("", rg.LIBRARY)
    assert search("xylophone", rg.LIBRARY) == []


@pytest.mark.parametrize("step", range(5))
def test_every_row_is_found_by_its_name(step):
    for row in list(rg.LIBRARY)[step::40]:
        assert row in search(row.name.replace("_", " "), rg.LIBRARY)[:3]


def test_as_written_is_none_of_what_its_file_alone_knows():
    shift = 3.0
    assert as_written(lambda x: x + shift) is None
    assert as_written(lambda x: np.exp(x) + abs(x)) == "np.exp(x) + abs(x)"
    assert as_written(np.exp) is None
