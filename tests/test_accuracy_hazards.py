"""Hazards: found at the user's line with an input and the relation that removes them; fine code is left alone."""

from __future__ import annotations

import sys

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (stable_logsumexp, (V,)),
        (lambda x: np.logaddexp(0.0, x), (V,)),
        (lambda w, x: np.sum((x @ w) ** 2), (V, np.ones((2, 3)))),
        (lambda x: np.sqrt(np.sum(x * x) + 1.0), (V,)),
    ],
)
def test_no_alarm_at_all_on_code_that_is_fine(f, args):
    found = rg.lint(f)(*args)
    assert list(found) == [], found
    assert str(found) == "no hazard found"


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
