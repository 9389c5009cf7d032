"""Hazards: found at the user's line with an input and the relation that removes them; fine code is left alone."""

from __future__ import annotations

import cProfile
import sys

import numpy as np
import pytest
import scipy.special

import relgrad as rg
from relgrad.accuracy.lines import lines_of

pytest.importorskip("flint")
HERE = __file__
V = np.array([1.0, -2.0, 0.5])


def line_of(f, offset):
    return f"{HERE}:{f.__code__.co_firstlineno + offset}"


def softplus(x):
    e = np.exp(x)
    return np.log(1 + e)


def softmax(x):
    e = np.exp(x)
    return e / e.sum()


def variance(x):
    return np.mean(x**2) - np.mean(x) ** 2


def complement(x):
    p = 1 / (1 + np.exp(-x))
    return 1 - p


def quotient(x):
    return np.expm1(x) / x


def test_an_overflow_is_found_where_it_is_born():
    found = {h.kind: h for h in rg.lint(softplus)(1.0)}
    overflow = found["overflow"]
    assert overflow.where == line_of(softplus, 1)
    assert str(overflow.term.op) == "exp"
    assert overflow.bits == 64.0
    assert overflow.inputs["x"] > 709
    assert overflow.relations == ("log_of_one_plus_exponential",)


def test_a_rounding_that_is_magnified_is_found():
    found = {h.kind: h for h in rg.lint(softplus)(1.0)}
    assert found["rounding"].where == line_of(softplus, 2)
    assert found["rounding"].inputs["x"] < -10


def test_a_cancellation_is_found():
    found = rg.lint(complement)(1.0)
    assert (line_of(complement, 2), "cancellation") in {(h.where, h.kind) for h in found}
    assert all(h.relations for h in found)
    found = rg.lint(variance)(V)
    assert {h.kind for h in found} == {"cancellation", "overflow"}
    assert found[0].where == line_of(variance, 1)


def test_zero_by_zero_is_found_at_the_given_input():
    found = rg.lint(quotient, relations=())(0.0)
    assert "0/0" in {h.kind for h in found}
    assert all(h.relations == () for h in found)
    assert "nothing in the library removes it" in str(found)


def test_what_is_computed_in_a_wider_range_says_so():
    found = rg.lint(lambda x: np.prod(x) ** 0.02)(np.full(50, 1e10))
    assert found[0].kind == "overflow" and found[0].cured and not found[0].relations
    assert "nothing in the library removes it; where numbers leave the range of floats" in str(found)
    below = lambda x: np.log(scipy.special.betainc(2.0, 1.0, x))
    text = str(rg.lint(below)(1e-200))
    assert "underflow" in text and "where numbers leave the range of floats" in text
    assert rg.stabilize(below)(1e-200) == pytest.approx(2 * np.log(1e-200), rel=1e-15)
    text = str(rg.lint(lambda x: x - np.sin(x), relations=())(1e-9))
    assert "leave the range" not in text


def test_the_input_of_a_hazard_shows_it():
    for hazard in rg.lint(softplus)(1.0):
        x = hazard.inputs["x"]
        with np.errstate(over="ignore"):
            assert not np.isclose(softplus(x), np.logaddexp(0, x), rtol=1e-9, atol=0.0)


def test_hazards_of_the_gradient_lie_at_the_line_that_is_differentiated():
    found = rg.lint(softmax)(V)
    gradients = [h for h in found if h.output.startswith("gradient")]
    assert gradients
    assert {h.where for h in found} <= {line_of(softmax, 1), line_of(softmax, 2)}
    assert all("normalized_exponential" in h.relations for h in found)


def stable_logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def two_passes(x):
    return np.mean((x - np.mean(x)) ** 2)


def stable_sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def benign_overflow(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (stable_logsumexp, (V,)),
        (stable_sigmoid, (0.5,)),
        (benign_overflow, (0.5,)),
        (lambda x: np.logaddexp(0.0, x), (V,)),
        (lambda x: np.exp(x), (V,)),
        (lambda w, x: np.tanh(w @ x), (np.ones((2, 3)), V)),
        (lambda x, y: np.hypot(x, y) * np.sin(x), (0.5, 1.5)),
        (lambda x: rg.log_softmax(x)[0], (V,)),
        (lambda x: np.log1p(x) + np.expm1(x), (0.5,)),
        (lambda x: np.sqrt(np.sum(x * x) + 1.0), (V,)),
    ],
)
def test_no_alarm_on_values_of_code_that_is_fine(f, args):
    assert [h for h in rg.lint(f)(*args) if h.output.startswith("value")] == []


def stable_softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def huber(x):
    return np.where(np.abs(x) < 1, 0.5 * x**2, np.abs(x) - 0.5)


P, W, M = np.array([0.2, 0.3, 0.4, 0.1]), np.ones((2, 3)), np.eye(3) + 0.5


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (stable_logsumexp, (V,)),
        (stable_softmax, (V,)),
        (two_passes, (V,)),
        (huber, (V,)),
        (lambda x: np.logaddexp(0.0, x), (V,)),
        (lambda x: rg.log_softmax(x), (V,)),
        (lambda x: rg.expit(x) * x, (V,)),
        (lambda x: np.maximum(x, 0.0), (V,)),
        (lambda x: np.where(x > 0, x, 0.1 * x), (V,)),
        (lambda x: np.clip(x, -1.0, 1.0), (V,)),
        (lambda x: np.exp(-(x**2)), (V,)),
        (lambda x: 1.0 / (1.0 + x * x), (V,)),
        (lambda x: 3 * x**2 + 2 * x + 1, (V,)),
        (lambda x: np.tanh(x), (V,)),
        (lambda x: np.log1p(x * x), (V,)),
        (lambda x: np.log(x), (2.0,)),
        (lambda x: np.sqrt(x), (2.0,)),
        (lambda x: np.max(x) - np.min(x), (V,)),
        (lambda x: np.linalg.norm(x), (V,)),
        (lambda x, y: np.hypot(x, y), (1.0, 2.0)),
        (lambda x, y: np.arctan2(y, x), (1.0, 2.0)),
        (lambda x, y: np.mean((x - y) ** 2), (V, V + 1)),
        (lambda p: -np.sum(scipy.special.xlogy(p, p)), (P,)),
        (lambda w, x: np.sum(np.tanh(w @ x) ** 2), (W, V)),
        (lambda w, x: np.sum((x @ w) ** 2), (V, W)),
        (lambda m, x: np.linalg.solve(m, x), (M, V)),
        (lambda x: np.sqrt(np.sum(x * x) + 1.0), (V,)),
    ],
)
def test_no_alarm_at_all_on_code_that_is_fine(f, args):
    found = rg.lint(f, points=40)(*args)
    assert list(found) == [], found
    assert str(found) == "no hazard found"


def attention(q, k):
    s = np.exp(q @ k.T)
    return s / np.sum(s, axis=-1, keepdims=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("f", "args", "kind", "relation"),
    [
        (lambda x: np.log(np.sum(np.exp(x))), (V,), "overflow", "log_of_sum_of_exponentials"),
        (attention, (W, W), "overflow", "normalized_exponential"),
        (lambda x: np.exp(x) / (1 + np.exp(x)), (1.0,), "overflow", "exponential_over_one_plus_exponential"),
        (lambda x: np.log(1 / (1 + np.exp(-x))), (1.0,), "underflow", "reciprocal_of_one_plus_exponential"),
        (lambda x: np.exp(x) - 1, (1.0,), "cancellation", "exponential_minus_one"),
        (lambda x: (1 - np.cos(x)) / x**2, (1.0,), "cancellation", "one_minus_cosine"),
        (lambda x: np.sin(x) / x, (1.0,), "0/0", "relative_sine"),
        (lambda x, y: np.sqrt(x**2 + y**2), (1.0, 2.0), "NaN", "root_of_two_squares"),
        (lambda x: np.sqrt(np.sum(x**2)), (V,), "NaN", "root_of_sum_of_squares"),
        (lambda x: np.sqrt(x + 1) - np.sqrt(x), (1.0,), "cancellation", "increment"),
        (lambda x, y: np.log(x) - np.log(y), (1.0, 2.0), "cancellation", "difference_of_logarithms"),
        (lambda x: np.log(np.cosh(x)), (1.0,), "overflow", "logarithm_of_factors"),
        (lambda x: np.log(1 - np.exp(x)), (-1.0,), "rounding", "log_of_negated_expm1"),
        (lambda x: np.log(1 + x), (1.0,), "rounding", "log_of_one_plus"),
        (lambda p: -np.sum(p * np.log(p)), (P,), "NaN", "number_times_its_log"),
        (lambda p, q: np.sum(p * np.log(p / q)), (P, P[::-1]), "NaN", "number_times_its_log_quotient"),
        (lambda m: np.log(np.linalg.det(m)), (1e-70 * np.eye(5),), "underflow", "logarithm_of_factors"),
        (lambda x: np.where(x > 0, np.log(x), 0.0), (1.0,), "0/0", "sink_into_mask"),
        (lambda x: np.linalg.norm(x) ** 2 / np.linalg.norm(x), (V,), "0/0", "cancel_factors"),
        (lambda x: 1 + scipy.special.erf(x), (1.0,), "cancellation", "complement"),
    ],
)
def test_a_hazard_has_a_line_an_input_and_what_removes_it(f, args, kind, relation):
    found = rg.lint(f, points=40)(*args)
    (hazard, *_) = [h for h in found if h.kind == kind and relation in h.relations]
    assert hazard.bits > 16
    assert hazard.where.startswith(f"{HERE}:")
    assert abs(int(hazard.where.rpartition(":")[2]) - f.__code__.co_firstlineno) <= 2
    assert len(hazard.inputs) == len(args)
    assert f"removed by {relation}" in str(found) or f", {relation}" in str(found)


def test_a_singular_matrix_is_no_input_but_that_of_the_caller():
    with pytest.raises(np.linalg.LinAlgError):
        rg.lint(lambda m: np.linalg.inv(m))(np.zeros((2, 2)))


class Held(rg.Op):
    """k·x, by which k nobody wrote the derivative."""

    __props__ = ()

    def output_type(self, *types):
        return types[1]

    def compute(self, *arrays):
        return np.asarray(arrays[0] * arrays[1])

    def ball(self, *balls):
        return balls[0] * balls[1]

    def L_op(self, inputs, outputs, output_gradients):
        return [rg.grad_not_implemented(self, 0, inputs[0], "nobody did it"), output_gradients[0] * inputs[0]]


def test_arguments_by_which_there_is_no_gradient_are_left_out():
    f = lambda k, x: np.log(Held()(k + 1, x))
    with pytest.raises(rg.GradientError, match="nobody did it"):
        rg.grad(f)(3.0, 2.0)
    assert [e.label for e in rg.accuracy(f, 3.0, 2.0, points=3).outputs] == ["value", "gradient x"]
    assert isinstance(list(rg.lint(f, points=3)(3.0, 2.0)), list)


def test_samplers_say_which_inputs_to_try():
    assert list(rg.lint(softplus)(rg.floats(1.0, 100.0))) == []
    assert {h.kind for h in rg.lint(softplus)(rg.floats(1.0, 1000.0))} == {"overflow"}


def test_a_finding_reads():
    text = str(rg.lint(softplus)(1.0))
    assert (
        f"{line_of(softplus, 1)}: overflow in exp(x)\n    e = np.exp(x)\n  the value loses 64 bits at x = "
        in text
    )
    assert "\n  removed by log_of_one_plus_exponential" in text


def test_lines_are_those_where_terms_are_made_first():
    lines = lines_of(softmax, (V,))
    assert set(lines.values()) == {line_of(softmax, 1), line_of(softmax, 2)}
    by_op = {str(t.op): line for t, line in lines.items()}
    assert by_op["exp"] == line_of(softmax, 1)
    assert by_op["divide"] == line_of(softmax, 2)
    assert "x" not in by_op


def test_watching_leaves_no_trace():
    before = sys.getprofile()
    lines_of(softmax, (V,))
    with pytest.raises(rg.TraceError):
        lines_of(lambda x: float(x), (V,))
    assert sys.getprofile() is before


def test_a_profiler_goes_on_after_watching():
    with cProfile.Profile() as profiler:
        lines_of(softmax, (V,))
        assert sys.getprofile() is profiler
