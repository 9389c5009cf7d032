"""Measuring: what naive code loses and rewritten code keeps, at which inputs; as text, HTML and picture."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relgrad as rg
from relgrad.accuracy.sample import Floats, practical
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval

pytest.importorskip("flint")


def softplus(x):
    return np.log(1 + np.exp(x))


def softmax(x):
    return np.exp(x) / np.sum(np.exp(x))


def test_what_is_lost_and_what_is_kept():
    found = rg.accuracy(softplus, rg.floats(1.0, 1e3), points=60)
    assert found["value"].worst("naive") == found["gradient x"].worst("naive") == 64.0
    assert found.naive == 64.0
    assert found.rewritten < 2.0
    assert 0 < found["value"].mean("naive") < 64


def test_stable_code_loses_nothing():
    found = rg.accuracy(lambda x: np.logaddexp(0.0, x), np.array([-800.0, -1.0, 0.0, 1e-8, 800.0]))
    assert found.naive < 2.0
    assert found.rewritten < 2.0


def test_the_truth_is_the_function_as_written():
    # Not a softplus: rows that would make it one are refuted by the measured error.
    wrong = rg.relation(lambda x: (np.log(1 + np.exp(x)), x))
    found = rg.accuracy(softplus, np.array([0.5, 1.0]), relations=[wrong])
    assert found["value"].worst("naive") < 2.0
    assert found["value"].worst("rewritten") > 50


def test_each_output_and_each_argument_has_a_row():
    def model(params, x, n):
        return {"p": softmax(x @ params["w"] + params["b"]), "n": n + 1}

    params = {"w": np.ones((2, 3)) * 400, "b": np.zeros(3)}
    found = rg.accuracy(model, params, np.array([1.0, 2.0]), 3)
    labels = {errors.label for errors in found.outputs}
    assert labels == {
        "value['p']",
        "value['n']",
        "gradient params['b']",
        "gradient params['w']",
        "gradient x",
    }
    assert {e.label for e in rg.accuracy(model, params, np.ones(2), 3, argnums=1).outputs} == {
        "value['p']",
        "value['n']",
        "gradient x",
    }
    assert all("value" in e.label for e in rg.accuracy(model, params, np.ones(2), 3, gradient=False).outputs)


def test_gradients_of_gradients_are_measured():
    found = rg.accuracy(rg.grad(softplus), np.array(-40.0))
    assert found.rewritten < 2.0
    assert {e.label for e in found.outputs} == {"value", "gradient x"}


def test_samplers_are_drawn_from_and_arrays_stay():
    found = rg.accuracy(lambda x, y: x * y, rg.floats(1.0, 2.0, shape=3), np.float64(5.0), points=7)
    assert len(found.inputs) == 7
    assert {float(point["y"]) for point in found.inputs} == {5.0}
    assert len({point["x"].tobytes() for point in found.inputs}) == 7
    again = rg.accuracy(lambda x, y: x * y, rg.floats(1.0, 2.0, shape=3), np.float64(5.0), points=7)
    assert np.array_equal(found.inputs[3]["x"], again.inputs[3]["x"])


def test_a_singularity_that_can_be_removed_is_compared_with_its_limit():
    found = rg.accuracy(lambda x: np.expm1(x) / x, np.array([0.0, 1.0]))
    assert found["value"].limits == 1
    assert found["value"].worst("naive") == 64.0
    assert "compared with a limit" in str(found)


def test_what_has_no_value_is_left_out_and_said_so():
    found = rg.accuracy(np.log, np.array([-1.0, 1.0]))
    assert found["value"].undetermined == 1
    assert found["value"].worst("naive") == 0.0
    assert "left out" in str(found)


def test_small_absolute_errors_may_be_allowed():
    f = lambda x: (1.0 + x) - 1.0
    x = np.array(1e-9)
    assert rg.accuracy(f, x, relations=()).naive > 20
    assert rg.accuracy(f, x, relations=(), atol=1e-15).naive == 0.0


def test_single_precision_has_32_bits():
    found = rg.accuracy(softplus, np.array([100.0], np.float32))
    assert found.naive == 32.0
    assert found.rewritten < 2.0


def test_it_prints_a_table():
    text = str(rg.accuracy(softplus, np.array([800.0, 1.0])))
    title, head, value, gradient = text.split("\n")
    assert title == "softplus at 1 point"
    assert " ".join(head.split()) == "bits lost naive: mean worst relgrad: mean worst naive is worst at"
    assert re.fullmatch(r"value +32.0 +64.0 +0.\d +0.\d  x = 800\.", value)
    assert gradient.startswith("gradient x ")


def test_it_displays_as_html():
    found = rg.accuracy(lambda x: softplus(x), np.array([800.0, 1.0]))._repr_html_()
    assert "<table><caption>&lt;lambda&gt; at 1 point</caption>" in found
    assert '<td class="number">64.0</td>' in found
    assert "&lt;lambda&gt;" in found


def test_errors_along_an_input():
    found = rg.accuracy(softplus, rg.floats(1.0, 1e4), points=40)
    x, naive, rewritten = found.series("value")
    assert np.all(np.diff(x) >= 0)
    assert naive[x > 710].min() == 64.0
    assert naive[x < 700].max() < 2.0
    assert rewritten.max() < 2.0
    entries = rg.accuracy(softplus, np.array([3.0, 1.0, 800.0])).series("value")
    assert entries[0].tolist() == [1.0, 3.0, 800.0]
    with pytest.raises(ValueError, match="no place along an axis"):
        rg.accuracy(lambda x: np.sum(x), np.ones(3)).series("value")
    with pytest.raises(KeyError, match="there are value, gradient x"):
        found.series("gradient y")


def test_it_plots():
    pytest.importorskip("matplotlib").use("Agg")
    figure = rg.accuracy(softplus, rg.floats(1.0, 1e4), points=20).plot()
    assert [axes.get_title() for axes in figure.axes] == ["value", "gradient x"]
    assert figure.axes[-1].get_xlabel() == "x"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_are_drawn_evenly_over_their_representation(dtype):
    x = Floats(1e-30, 1e30, (4000,), dtype)(np.random.default_rng(0))
    assert x.dtype == dtype
    assert 1e-30 <= x.min() < x.max() <= 1.1e30
    assert abs(np.median(np.log10(x))) < 2
    y = Floats(-1.0, 1.0, (4000,), dtype)(np.random.default_rng(0))
    assert 0.45 < np.mean(y < 0) < 0.55
    assert y.min() >= -1
    with pytest.raises(ValueError, match="no float lies between"):
        rg.floats(1.0, 0.0)


@pytest.mark.parametrize(
    "where", [REAL, POSITIVE, NONNEGATIVE, UNIT, Interval(-np.inf, -1.0), Interval(2.0, 3.0)]
)
def test_samples_lie_in_their_interval(where):
    x = practical(np.random.default_rng(0), (500, 3), where)
    assert np.all(x >= where.low)
    assert np.all(x <= where.high)
    assert not where.open_low or np.all(x > where.low)
    assert not where.open_high or np.all(x < where.high)
    assert len(np.unique(x)) > 1000
