"""Validation of compiled programs: wrong rows are named and left out, right ones never, whatever the program."""

from __future__ import annotations

import doctest
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import relgrad as rg
from relgrad.op import as_term
from relgrad.schedule import schedule, strategy
from relgrad.trace.trace import trace
from relgrad.validate import Sample
from relgrad.validate.blocks import in_blocks
from relgrad.validate.conditioning import Written

X = np.array([0.3, -1.2, 2.0])
Z = np.array([[0.4, -0.7, 1.1], [2.0, 0.1, -0.3]])


@rg.relation
def missing_factor(x):
    return np.square(np.sin(x)), (1 - np.cos(2 * x)) / 3


@rg.relation
def wrong_sign(x):
    return np.tan(-x), np.tan(x)


@rg.relation
def lost_count(x, axis):
    return np.sum(np.arctan(x), axis=axis, keepdims=True), np.mean(np.arctan(x), axis=axis, keepdims=True)


@rg.relation
def lost_absolute_value(x):
    return np.sqrt(np.square(x)), x


@rg.relation
def too_wide_a_domain(x):
    return np.arcsin(np.sin(x)), x


@rg.relation
def right(x):
    return np.arctan(np.sinh(x)), np.arcsin(np.tanh(x))


WRONG = [
    (missing_factor, lambda x: np.sin(x) ** 2 + 1, X),
    (wrong_sign, lambda x: x * np.tan(-x), X),
    (lost_count, lambda x: np.exp(np.arctan(x).sum()), X),
    (lost_count, lambda z: np.arctan(z).sum(axis=0) * z, Z),
    (lost_absolute_value, lambda x: 3 - np.sqrt(np.square(x)), X),
    (too_wide_a_domain, lambda x: np.arcsin(np.sin(3 * x)), X),
]
wrong = pytest.mark.parametrize(("row", "f", "x"), WRONG, ids=[w[0].name for w in WRONG])


def warned(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return a result, and the texts of the warnings about rewriting on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(w.message) for w in caught if issubclass(w.category, rg.RelgradWarning)]


def numeric(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of a sum of f by central differences."""
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = 1e-6
        result[i] = (np.sum(f(x + step)) - np.sum(f(x - step))) / 2e-6
    return result


@wrong
@pytest.mark.parametrize("how", ["default", "eager"])
def test_a_wrong_row_is_named_and_left_out(row, f, x, how):
    got, said = warned(lambda: rg.stabilize(f, relations=rg.LIBRARY.extended(row), strategy=how)(x))
    np.testing.assert_allclose(got, f(x), rtol=1e-12)
    assert len(said) == 1
    assert f"relation {row.name} ({row.place}) changed what stabilize_f computes" in said[0]
    assert re.search(r"where: .*test_validate\.py:\d+", said[0])
    assert "as written and" in said[0]
    assert f"of shape {x.shape}" in said[0]
    assert "please report this" in said[0]


def test_a_rewriting_is_tried_without_the_doubled_numbers_that_may_hide_it():
    """w(x)·(1 − I₁(k)/I₀(k)) loses digits at every x near which it is tried, where it is computed as written."""

    def f(x):
        k = 1e6 + x * x
        return np.sin(x) ** 2 * (1 - special.i1e(k) / special.i0e(k))

    plain = rg.stabilize(f, relations=rg.LIBRARY.extended(missing_factor), validate=False)
    assert "precise" in plain.source(0.3)
    assert plain(0.3) == pytest.approx(f(0.3), rel=1e-6)  # wrong, but mended
    _, texts = warned(lambda: rg.stabilize(f, relations=rg.LIBRARY.extended(missing_factor))(0.3))
    assert [t for t in texts if "missing_factor" in t]


@wrong
def test_a_wrong_row_is_left_out_of_gradients(row, f, x):
    got, said = warned(lambda: rg.grad(lambda x: np.sum(f(x)), relations=rg.LIBRARY.extended(row))(x))
    np.testing.assert_allclose(got, numeric(f, x), rtol=1e-6, atol=1e-8)
    assert len(said) == 1
    assert row.name in said[0]


def test_a_wrong_row_is_left_out_beside_the_slope_of_a_maximum():
    def f(x):
        logs = np.log(1 + x * x)
        return np.exp(np.mean(logs - np.max(logs))) + np.sum(np.tan(-x)) / 100

    found, texts = warned(lambda: rg.grad(f, relations=rg.LIBRARY.extended(wrong_sign))(X))
    assert any("wrong_sign" in text for text in texts)
    np.testing.assert_allclose(found, numeric(f, X), rtol=1e-6)


@wrong
def test_without_validation_a_wrong_row_is_believed(row, f, x):
    f_wrong = rg.stabilize(f, relations=[row], validate=False)
    got, said = warned(lambda: f_wrong(x))
    assert said == []
    assert row.name in f_wrong.explain(x).relations
    assert not np.allclose(got, f(x))


def test_the_place_is_the_users_line():
    def f(x):
        y = np.exp(x)
        return y * np.tan(-x)

    _, (said,) = warned(lambda: rg.stabilize(f, relations=[wrong_sign])(X))
    line = f.__code__.co_firstlineno + 2
    assert f"where: {__file__}:{line}" in said
    assert "tan(-x) of ArrayType(float64, (3,)) became tan(x)" in said


def test_the_guilty_step_is_found_among_many():
    def loss(z):
        p = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
        return -np.sum(np.log(p)) + np.log(1 + np.exp(np.sin(z) ** 2)).sum() + np.log(np.cosh(z)).sum()

    g = rg.grad(loss, relations=rg.LIBRARY.extended(missing_factor))
    got, (said,) = warned(lambda: g(Z))
    np.testing.assert_allclose(got, numeric(loss, Z), rtol=1e-6, atol=1e-8)
    assert "relation missing_factor" in said
    expected = rg.grad(loss).explain(Z).relations
    assert g.explain(Z).relations == expected
    assert len(expected) > 3


def test_a_row_is_left_out_only_where_it_is_wrong():
    def f(x):
        return np.sqrt(np.square(np.exp2(x))) + np.sqrt(np.square(x))

    s = rg.stabilize(f, relations=[lost_absolute_value])
    got, (said,) = warned(lambda: s(X))
    np.testing.assert_allclose(got, f(X), rtol=1e-14)
    assert s.explain(X).relations == ["lost_absolute_value"]
    assert "lost_absolute_value" in said


def test_a_row_at_fault_in_a_long_sum():
    def f(x):
        return sum(np.tan(-x * k) for k in range(1, 40))

    got, said = warned(lambda: rg.stabilize(f, relations=[wrong_sign])(X / 50))
    np.testing.assert_allclose(got, f(X / 50), rtol=1e-12)
    assert said
    assert all("wrong_sign" in text for text in said)


def test_two_wrong_rows_are_both_named():
    def f(x):
        return np.sin(x) ** 2 * np.tan(-x)

    got, said = warned(lambda: rg.stabilize(f, relations=[missing_factor, wrong_sign, right])(X))
    np.testing.assert_allclose(got, f(X), rtol=1e-12)
    assert sorted(re.findall(r"relation (\w+) \(", " ".join(said))) == ["missing_factor", "wrong_sign"]


def test_right_rows_raise_no_alarm():
    got, said = warned(lambda: rg.stabilize(lambda x: np.arctan(np.sinh(x)), relations=[right])(X))
    np.testing.assert_allclose(got, np.arctan(np.sinh(X)))
    assert said == []


def test_what_is_assumed_holds_of_the_inputs():
    def f(x, y):
        rg.assume(x > 0, x < y)
        return np.sqrt(np.square(x)) + np.sqrt(np.square(y - x))

    got, said = warned(lambda: rg.stabilize(f, relations=[lost_absolute_value])(X + 2, X + 3))
    np.testing.assert_allclose(got, X + 3)
    assert said == []


@rg.relation
def raising_condition(x):
    def broken(state):
        raise KeyError("no such thing")

    return np.sin(x) / x, np.sinc(x / np.pi), broken


@rg.relation
def wrong_shape(x):
    return np.sinh(x), np.expand_dims(np.sinh(x), -1) + np.sinh(x)


@pytest.mark.parametrize("f", [lambda x: np.sin(x) / x + 1, lambda x: np.exp(np.sin(x) / x)])
@pytest.mark.parametrize("checked", [True, False])
def test_an_exception_inside_a_row_leaves_the_place_as_it_is(f, checked):
    s = rg.stabilize(f, relations=rg.LIBRARY.extended(raising_condition), validate=checked)
    got, (said,) = warned(lambda: s(X))
    np.testing.assert_allclose(got, f(X), rtol=1e-15)
    assert "raising_condition raised KeyError: 'no such thing'" in said
    assert f"where: {raising_condition.place}" in said
    assert "it was tried at sin(x) / x" in said


def test_an_exception_inside_a_row_in_a_gradient_and_in_a_long_product():
    def f(x):
        y = x
        for k in range(40):
            y = y * np.sin(x + k)
        return np.sum(np.sin(x) / x) + np.sum(y)

    got, said = warned(lambda: rg.grad(f, relations=rg.LIBRARY.extended(raising_condition))(X))
    np.testing.assert_allclose(got, numeric(f, X), rtol=1e-5)
    assert len(said) == 1


@pytest.mark.parametrize("checked", [True, False])
def test_a_row_of_another_shape_is_never_an_error(checked):
    f = rg.stabilize(lambda x: np.sinh(x) + 1, relations=[wrong_shape], validate=checked)
    got, said = warned(lambda: f(X))
    np.testing.assert_allclose(got, np.sinh(X) + 1)
    assert "wrong_shape" in said[0]


def test_what_the_program_as_written_raises_is_raised():
    with pytest.raises(rg.GradientError):
        rg.grad(lambda x: x)(X)
    with pytest.raises(np.linalg.LinAlgError):
        rg.stabilize(np.linalg.inv)(np.zeros((2, 2)))


class Lying(rg.Op):
    """Twice its operand, as code; its square, as it is performed."""

    __props__ = ()

    def output_type(self, x):
        return x

    def compute(self, x):
        return x * x

    def source(self, node, names):
        return f"2 * {names[0]}"


def test_an_op_whose_code_is_not_what_it_performs_is_noticed():
    _, (said,) = warned(lambda: rg.stabilize(lambda x: Lying()(x) + 1)(X))
    assert "is compiled to something else than is written" in said
    assert "an op whose `source` is not its `perform`" in said


class Linear(rg.Op):
    """A square that says of itself that it is linear."""

    __props__ = ()
    laws = rg.Laws(linear=(0,))

    def output_type(self, x):
        return x

    def compute(self, x):
        return x * x


def test_an_op_whose_laws_are_false_is_noticed_where_a_rewrite_uses_them():
    def f(x):
        return Linear()(3.0 * np.exp(x)) / 3.0

    got, said = warned(lambda: rg.stabilize(f)(X))
    np.testing.assert_allclose(got, 3 * np.exp(2 * X))
    assert len(said) == 1


# Large arrays


LARGE = [
    (lambda x, w: np.sum(np.tan(-x) * w, axis=0), (500, 300), True),
    (lambda x, w: np.log(np.sum(np.exp(np.tan(-x) + w), axis=1)), (450, 400), True),
    (lambda x, w: np.tan(-x)[1:] * w, (500, 300), False),
    (lambda x, w: np.tan(-x).reshape(-1), (500, 300), False),
]


@pytest.mark.parametrize(("f", "shape", "blocks"), LARGE)
def test_large_arrays_are_tried_in_blocks_where_the_graph_allows(f, shape, blocks):
    traced = trace(f, (np.ones(shape), np.ones(shape[1])))
    given = dict(zip(traced.inputs, (np.ones(shape), np.ones(shape[1])), strict=True))
    found = in_blocks(given, traced.outputs, traced.outputs)
    assert (found is not None) == blocks
    if found is not None:
        assert sorted(x.type.shape for x in found[0]) == [(5,), (6, 5)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("f", "shape", "blocks"), LARGE)
def test_wrong_rows_are_left_out_of_programs_of_large_arrays(f, shape, blocks):
    x, w = np.linspace(0.1, 1.2, shape[0] * shape[1]).reshape(shape), np.linspace(1, 2, shape[1])
    got, said = warned(lambda: rg.stabilize(f, relations=rg.LIBRARY.extended(wrong_sign))(x, w))
    np.testing.assert_allclose(got, f(x, w), rtol=1e-9)
    assert len(said) == 1
    _, said = warned(lambda: rg.stabilize(f)(x, w))
    assert said == []


# The program as written


def test_without_relations_nothing_is_rewritten():
    def f(x):
        return np.exp(x) / np.sum(np.exp(x)) + (x - x) + np.sqrt(x**2) + x * np.where(x > 0, x, 0) / x

    for how in ("default", "eager", "naive"):
        for s in (rg.stabilize(f, relations=[], strategy=how), rg.stabilize(f, strategy="naive")):
            assert len(s.explain(X)) == 0
            np.testing.assert_array_equal(s(X), f(X))
            with np.errstate(all="ignore"):
                assert np.isnan(s(1000 + X)).all()
        g = rg.grad(lambda x: np.sum(f(x)), relations=[], strategy=how)
        assert {step.move for step in g.explain(X).steps} == {"expand"}


# Inputs, and what may be concluded from them


def sample_of(f: Callable[..., Any], *args: Any) -> tuple[Sample, Any]:
    traced = trace(f, args)
    return Sample(traced.inputs, args, traced.assumed), traced


def test_points_are_generic():
    sample, traced = sample_of(lambda x, y: x + y, np.zeros((3, 4)), np.ones(4))
    points = list(sample.points(np.random.default_rng(1)))
    (x, y) = traced.inputs
    assert len(points) >= 4
    for point in points:
        assert point[x].shape == (3, 4)
        assert np.unique(point[x]).size == 12
        assert np.unique(point[y]).size == 4
    assert any(np.all(p[x] > 0) for p in points)
    assert any(np.any(p[x] > 0) and np.any(p[x] < 0) for p in points)


def test_points_keep_types_ranges_and_structure():
    labels, mask, spd = np.array([0, 2, 1]), np.array([True, False]), np.array([[2.0, 0.3], [0.3, 1.0]])

    def f(p, i, m, a, lower, upper):
        rg.assume(p > 0, p < 1, lower < upper)
        return p[i].sum() + m.sum() + a.sum() + lower + upper

    args = (np.full(3, 0.5, np.float32), labels, mask, spd, 1.0, 2.0)
    sample, traced = sample_of(f, *args)
    p, i, m, a, lower, upper = traced.inputs
    points = list(sample.points(np.random.default_rng(1)))
    assert len(points) >= 3
    for point in points:
        assert point[p].dtype == np.float32
        assert np.all((point[p] > 0) & (point[p] < 1))
        assert np.all((point[i] >= 0) & (point[i] <= 2))
        assert point[m].dtype == bool
        np.linalg.cholesky(point[a])
        assert np.array_equal(point[a], point[a].T)
        assert point[lower] < point[upper]


@pytest.mark.parametrize(
    ("f", "judged"),
    [
        (lambda x: np.exp(x) + 1, True),
        (lambda x: x - 1e-3 * x, True),
        (lambda x: (x + 1e12) - 1e12, False),
        (lambda x: np.log(np.exp(1e-14 * x)), False),
        (lambda x: (x + 1) - (1 + x), False),
        (lambda x: np.where(np.floor(x * 1e14) % 2 == 0, x, -x), False),
        (lambda x: np.exp(-1000 + x) / (np.exp(-1000 - x) + 1e-310), False),
        (lambda x: np.sqrt(-1 - x * x), False),
        (lambda x: np.where(x == x.max(), x, 0.0).sum(), True),
    ],
)
def test_only_where_it_is_well_conditioned_a_program_is_judged(f, judged):
    traced = trace(f, (X,))
    written = Written(schedule(traced.outputs, rg.LIBRARY, strategy("naive")).after)
    point = {traced.inputs[0]: X}
    values = written.at(point)
    assert values is not None
    other = [v * 1.01 + 1e-9 for v in values]
    assert (written.difference(point, values, other) is not None) == judged
    assert written.difference(point, values, [v * (1 + 1e-15) for v in values]) is None


def test_a_result_that_is_no_number_or_of_another_shape_is_a_difference():
    x = rg.symbol("x", (3,))
    written = Written([as_term(np.exp(x))])
    point = {x.term: X}
    values = written.at(point)
    assert values is not None
    assert written.difference(point, values, [np.full(3, np.nan)]) is not None
    assert written.difference(point, values, [np.exp(X)[:1]]) is not None


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (1 - np.cos(1e-9 * x)) / 1e-18,
        lambda x: np.log(1 + np.exp(1e-20 * x)) - np.log(2),
        lambda x: np.sqrt(1e20 + x) - 1e10,
        lambda x: np.exp(x * 400) / np.sum(np.exp(x * 400)),
        lambda x: np.log(np.sum(np.exp(-1000 * np.abs(x)))),
        lambda x: (np.exp(1e-12 * x) - 1) / 1e-12,
        lambda x: np.log(np.sum(np.exp(x) * 5e-324)),
        lambda x: np.square(x * 1e-161) / np.sum(np.square(x * 1e-161)),
        lambda x: np.log(np.prod(1e-108 * np.exp(x))),
    ],
)
def test_what_floats_fail_as_written_raises_no_alarm(f):
    _, said = warned(lambda: (rg.stabilize(f)(X), rg.grad(lambda x: np.sum(f(x)))(X)))
    assert said == []


@pytest.mark.parametrize("size", [1e-161, 3e-160, 1e-155])
def test_what_is_right_below_the_normal_floats_is_not_left_out(size):
    """(c·x)²/Σ (c·x)² of squares of few digits: the program as written is no judge of the share."""
    share, said = warned(lambda: rg.stabilize(lambda x: np.square(x * size) / np.sum(np.square(x * size)))(X))
    np.testing.assert_allclose(share, X**2 / np.sum(X**2), rtol=1e-13)
    assert said == []


def chosen(x):
    y = np.exp(np.exp(x) ** 2)
    y = y.sum(axis=-2, keepdims=True) * y / y.mean()
    return np.where(y > 0, y, 0.0)


def far_away(x):
    y = np.exp(4 * np.exp(x))
    return np.exp(-((y + 1e-9 - np.log(1 + np.exp(y))) ** 2))


@pytest.mark.parametrize("f", [chosen, far_away])
def test_what_overflows_on_the_way_raises_no_alarm(f):
    """Infinity over infinity decides, or a logarithm of infinity is far from what it would be."""
    _, said = warned(lambda: rg.stabilize(f)(np.zeros((5, 3))))
    assert said == []


def test_single_precision_is_judged_by_its_own_rounding():
    x = X.astype(np.float32)
    _, said = warned(lambda: rg.stabilize(lambda x: np.log(np.sum(np.exp(x))) + np.tanh(x))(x))
    assert said == []
    got, said = warned(lambda: rg.stabilize(lambda x: np.tan(-x), relations=[wrong_sign])(x))
    np.testing.assert_allclose(got, np.tan(-x), rtol=1e-6)
    assert len(said) == 1


def test_the_documentation_is_true():
    file = Path(__file__).resolve().parent.parent / "docs" / "validation.md"
    failed, tried = doctest.testfile(str(file), module_relative=False)
    assert failed == 0
    assert tried > 8


def test_ties_that_are_rounding_are_no_proof_against_a_program():
    """min(e^(−x²), 1) is e^(−x²), with the curvature −2 at 0; in floats it is 1 for all |x| < 1e-8, and ties."""

    def cut(x):
        rg.assume(np.abs(x) <= 1.11e-8)
        return np.sum(np.clip(np.exp(-(x**2)), -1, 1))

    x = np.array([-1e-8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope, curvature = rg.jvp(rg.grad(cut), (x,), (np.ones(1),))
    assert slope == pytest.approx([2e-8], rel=1e-12)
    assert curvature == pytest.approx([-2.0], rel=1e-12)


def test_symmetric_matrices_of_halves_are_tried_as_others_are() -> None:
    """What LAPACK takes is of single or double precision."""
    y = np.array([[2.0, 1.0], [1.0, 3.0]], np.float16)
    slope = rg.grad(lambda y: np.sum(np.sin(y)) + np.sum(np.cov(y)))(y)
    assert slope.dtype == np.float16
