"""Derivations step by step: the states of the program between them, and how they are shown."""

from __future__ import annotations

import builtins
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from cases import CASES

import relgrad as rg
from relgrad import cli
from relgrad.display import stepper
from relgrad.display.states import changes
from relgrad.display.steps import CLOSE, OPEN, SHOWN, Steps, bracketed, marked
from relgrad.display.walk import walk
from relgrad.errors import RelgradError
from relgrad.leaf import Input
from relgrad.looks import html
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.step import Derivation, Step
from relgrad.term import reachable, term
from relgrad.types import array_type

Z = np.array([[1000.0, 0.0, -1000.0], [3.0, 1.0, -2.0]])
Y = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def loss(z, y):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return -np.mean(np.sum(y * np.log(p), axis=1))


def softplus(x):
    return np.log(1 + np.exp(x))


def long_sum(x):
    return sum(i * np.log(1 + np.exp(i * x)) for i in range(1, 50))


def log_cosh(x):
    return np.log(np.cosh(x))


@rg.relation(source="d log cosh = tanh")
def pullback_of_log_cosh(x, g):
    """What flows back through a logarithm of a hyperbolic cosine."""
    return rg.vjp(log_cosh, x)[1](g)[0], g * np.tanh(x)


def derivations():
    vector = np.arange(3.0)
    tangent = lambda x: rg.jvp(lambda t: np.log(np.sum(np.exp(t))), (x,), (np.ones(3),))[1]
    yield rg.stabilize(loss).explain(Z, Y).derivation
    yield rg.grad(loss).explain(Z, Y).derivation
    yield rg.grad(loss, strategy="eager").explain(Z, Y).derivation
    yield rg.grad(rg.grad(softplus)).explain(1.0).derivation
    yield rg.stabilize(tangent).explain(vector).derivation
    yield rg.grad(lambda x: (1 - np.cos(x)) / x**2).explain(1e-9).derivation
    yield rg.value_and_grad(lambda x: np.sum(np.log1p(np.exp(x)) / (x + 1))).explain(vector).derivation
    yield rg.grad(lambda x: np.log(np.mean(x**2) - np.mean(x) ** 2)).explain(vector + 1e9).derivation
    yield rg.stabilize(lambda x, y: {"a": np.log(np.exp(x)), "b": [x - y, y]}).explain(1.0, 2.0).derivation
    for wrap in (
        lambda x: np.sum(np.log(np.cosh(np.sin(x)))),
        lambda x: np.sum(3 * log_cosh(x)) + np.sum(x**2),
    ):
        yield rg.grad(wrap, relations=rg.Library([pullback_of_log_cosh])).explain(Z / 1000).derivation
    for case in CASES[::60]:
        yield rg.stabilize(lambda *a, case=case: case.function(np, *a)).explain(*case.arguments).derivation


DERIVATIONS = list(derivations())


@pytest.mark.parametrize("derivation", DERIVATIONS)
def test_steps_lead_without_a_gap_from_the_program_before_to_the_program_after(derivation):
    before = derivation.before
    for change, step in zip(changes(derivation), derivation.steps, strict=True):
        assert change.step is step
        assert change.before == before
        before = change.after
    assert before == derivation.after or not derivation.steps


@pytest.mark.parametrize("derivation", DERIVATIONS)
def test_a_place_stands_in_the_program_before_and_what_it_becomes_in_the_program_after(derivation):
    for change in changes(derivation):
        assert set(change.places) <= reachable(*change.before)
        assert set(change.became) <= reachable(*change.after)
        assert change.places or change.before == change.after or change.step is derivation.steps[-1]


def test_nearly_all_steps_have_a_place():
    places = [bool(change.places) for d in DERIVATIONS for change in changes(d)]
    assert len(places) > 60
    assert sum(places) > 0.9 * len(places)


def test_a_step_of_a_row_on_gradients_has_its_place_in_the_gradient_that_waits():
    f = rg.grad(lambda x: np.sum(log_cosh(x)) + x[0], relations=rg.Library([pullback_of_log_cosh]))
    (frame,) = [x for x in rg.steps(f, np.ones(2)) if x.step.name == "pullback_of_log_cosh"]
    assert (frame.note, frame.law) == ("", "g · ∂[log(cosh(x))]/∂x = g * tanh(x)")
    assert "∂[log(cosh(x))]/∂x" in frame.before and "log(cosh(x))" not in frame.after
    assert "tanh(x)" in frame.after and OPEN in frame.after


@pytest.mark.parametrize("derivation", DERIVATIONS)
def test_a_step_in_one_place_leaves_what_stands_around_it(derivation):
    for change in changes(derivation):
        if len(change.places) == len(change.became) == 1 and change.places[0] in change.before:
            assert change.became[0] in change.after


@pytest.mark.parametrize("derivation", DERIVATIONS[:3])
def test_some_of_the_steps_are_those_of_all(derivation):
    every = list(changes(derivation))
    some = list(changes(derivation, [0, len(every) - 1]))
    assert [c.step for c in some] == [every[0].step, every[-1].step]
    assert some[-1].before == every[-1].before


def test_marks_stand_around_the_place_wherever_it_stands():
    x = term(Input("x", array_type(float)))
    square = multiply(x, x)
    assert bracketed(marked([add(square, constant(1.0))], [square])) == "⟦x * x⟧ + 1.0"
    assert bracketed(marked([multiply(add(x, x), square)], [add(x, x)])) == "(⟦x + x⟧) * (x * x)"
    assert bracketed(marked([x], [])) == "x"


def test_each_frame_marks_a_place_and_gains_are_told():
    steps = rg.steps(rg.grad(loss), Z, Y, bits=True)
    for frame in steps:
        assert frame.before.count(OPEN) == frame.before.count(CLOSE) > 0
        assert frame.after.count(OPEN) == frame.after.count(CLOSE)
        assert "operations" in frame.gains[0]
    first, second, *_, last = steps
    assert "softmax" in first.law
    assert "Goodfellow" in first.source
    assert "places that overflow or become NaN at the arguments 1 → 0" in second.gains
    assert "bits lost at the arguments 64.0 → 0.0" in second.gains
    assert "bits lost at the arguments 0.0, as before" in last.gains


class Checked(HTMLParser):
    """Whether elements are closed in order; which are there, and the text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.said = [], [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        if tag not in ("html", "input", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.said += data if "style" not in self.open else ""


def test_html_needs_no_script_and_the_first_and_last_step_are_open():
    steps = rg.steps(rg.grad(loss), Z, Y)
    page = Checked(steps.html())
    opened = ["open" in a for tag, a in zip(page.tags, page.attributes, strict=True) if tag == "details"]
    assert opened == [True, *[False] * (len(steps) - 2), True]
    assert "script" not in page.tags
    assert page.tags.count("mark") >= 2 * len(steps) - 1
    assert rg.grad(loss).explain(Z, Y)._repr_html_() == steps._repr_html_() == html(steps)


def test_names_with_html_in_them_are_escaped():
    x = rg.symbol("<script>x</script>", shape=(2,))
    before, after = rg.term(np.log(np.exp(x))), rg.term(x)
    derivation = Derivation((before,), (after,), (Step("relation", "<i>", before, after, "<b>why</b>"),))
    page = Steps(derivation).html()
    assert "<script>" not in page
    assert "<i>" not in page
    assert "<b>why" not in page
    assert "&lt;script&gt;" in page


def test_a_derivation_without_a_step_says_so():
    steps = rg.steps(lambda x: x, 1.0)
    assert len(steps) == 0
    assert str(steps) == "no step: x"
    assert "No step was made" in steps.html()
    assert steps.widget() is not None


def test_of_a_long_derivation_the_first_and_last_steps_are_shown():
    steps = rg.steps(rg.grad(long_sum), 0.3)
    assert len(steps) > 2 * SHOWN
    shown = steps.some()
    assert [f.number for f in shown] == [*range(1, 31), *range(len(steps) - 29, len(steps) + 1)]
    assert f"… {len(steps) - SHOWN} more steps …" in str(steps)
    assert f"… {len(steps) - SHOWN} more steps …" in steps.html()
    assert steps[0].title == shown[0].title
    assert str(steps[5]) == str(shown[5])


def test_of_a_large_program_only_the_places_are_shown():
    x = rg.symbol("x")
    before, after = rg.term(np.log(1 + np.exp(x))), rg.term(rg.softplus(x))
    step = Step("relation", "softplus", before, after)
    for i in range(5000):
        before, after = multiply(before, constant(float(i))), multiply(after, constant(float(i)))
    frame = Steps(Derivation((before,), (after,), (step,)))[0]
    assert "only the place is shown" in frame.note
    assert len(str(frame)) < 5000


def test_bits_need_arguments():
    with pytest.raises(
        RelgradError, match=r"bits are lost at arguments(?s:.*)relgrad.steps\(fun, \*args, bits=True\)"
    ):
        Steps(DERIVATIONS[0], bits=True)


def test_saved_steps_are_a_page(tmp_path):
    path = tmp_path / "steps.html"
    rg.steps(softplus, 800.0).save(path)
    page = path.read_text()
    assert page.startswith("<!doctype html>")
    assert "softplus" in Checked(page).said


def test_without_anywidget_the_widget_is_static_and_says_how_to_install_it(monkeypatch):
    stepper._widget.cache_clear()
    found = builtins.__import__
    monkeypatch.setattr("importlib.import_module", lambda name: found("no_such_module_here"))
    steps = rg.steps(softplus, 800.0)
    assert "pip install &#x27;relgrad[notebook]&#x27;" in steps.widget()._repr_html_()
    assert "pip install" not in steps._repr_html_()
    stepper._widget.cache_clear()


def test_the_widget_holds_the_frames_and_shows_static_html_where_nothing_runs():
    pytest.importorskip("anywidget")
    steps = rg.steps(rg.grad(loss), Z, Y)
    widget = steps.widget()
    assert len(widget.frames) == len(widget.titles) == len(steps)
    for part in ("back", "next", "slider", "label", "view"):
        assert f'data-part="{part}"' in widget.shell
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/html"] == steps.html()


def walked(steps, *answers):
    asked, written = iter([*answers]), []
    walk(steps, lambda prompt: next(asked), written.append)
    return written


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (["q"], ["a"]),
        (["", "n", ""], ["a", "b", "c"]),
        (["n", "b", "b", "q"], ["a", "b", "a"]),
        (["3", "1", "q"], ["a", "c", "a"]),
        (["4", "x", "q"], ["a", "there are steps 1 to 3", "there are steps 1 to 3"]),
    ],
)
def test_walking_goes_forwards_backwards_and_to_any_step(answers, shown):
    assert walked(["a", "b", "c"], *answers) == shown


def test_walking_ends_where_the_input_does():
    def read(prompt):
        raise EOFError

    written = []
    walk(["a", "b"], read, written.append)
    assert written == ["a"]


def test_the_command_explains(tmp_path, capsys):
    file = tmp_path / "some.py"
    file.write_text("import numpy as np\ndef f(x):\n    return np.log(1 + np.exp(x))\n")
    assert cli.main(["explain", f"{file}:f", "800.0"]) == 0
    assert capsys.readouterr().out.rstrip() == str(rg.stabilize(softplus).explain(800.0))
    assert cli.main(["explain", f"{file}:f", "800.0", "--step"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"1 of 1: log_of_one_plus_exponential", said)
    assert "⟦log(1.0 + exp(x))⟧" in said
    assert cli.main(["explain", f"{file}:g"]) == 2


def test_frames_are_well_formed():
    for frame in rg.steps(rg.grad(loss), Z, Y):
        ET.fromstring(f"<div>{frame.body()}</div>")
