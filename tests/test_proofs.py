"""Derivations replayed, verified, saved and loaded; and such as do not hold, found out."""

import json
import pickle
import random
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES
from cases.case import NUMPY

import relgrad as rg
from relgrad.op import constant
from relgrad.ops.arithmetic import add
from relgrad.ops.elementwise import Elementwise
from relgrad.term import is_term
from relgrad.validate import Proof

Z = np.array([[1000.0, 0.0, -1000.0], [3.0, 1.0, -2.0]])
Y = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def loss(z, y):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return -np.mean(np.sum(y * np.log(p), axis=1))


def wide(x):
    return sum(np.log(x + i) * np.exp(x) for i in range(60)) - 3 * np.log(x)


def twice(f, **how):
    g = rg.grad(f, **how)
    return rg.grad(lambda *args: np.sum(g(*args)), **how)


FUNCTIONS = {
    "loss": (loss, (Z, Y)),
    "wide sum": (wide, (2.0,)),
    "series": (lambda x: (1 - np.cos(x)) / x**2, (1e-3,)),
    "series and sums": (lambda x: np.sum(x * np.log(x)), (np.arange(1.0, 4),)),
    "increment": (lambda x, y: np.sin(x) ** 2 - np.sin(y) ** 2, (1.0, 1.0001)),
    "factorings": (lambda x: np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1], (np.arange(1.0, 4),)),
    "masks": (lambda x: np.sum(np.where(x > 1, np.log(x), x)), (np.arange(1.0, 4),)),
    "decisions": (lambda x: np.log(np.exp(x) + 1) if x > 0 else x, (3.0,)),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", ["default", "eager", "naive"])
@pytest.mark.parametrize("make", [rg.stabilize, rg.grad, twice], ids=["value", "gradient", "second"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_derivation_holds(name, make, strategy):
    function, args = FUNCTIONS[name]
    proof = make(function, strategy=strategy).explain(*args).derivation
    assert proof.replay() == proof.after
    found = proof.verify()
    assert found.ok, str(found)
    assert all(
        checked.matched for checked in found.steps if checked.step.move in ("relation", "expand", "fold")
    )
    again = Proof.from_json(proof.to_json())
    assert again == proof and again.after == proof.after and again.replay() == proof.after
    assert pickle.loads(pickle.dumps(proof)) == proof


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["value", "gradient"])
@pytest.mark.parametrize(
    "case", random.Random(0).sample(CASES, 40), ids=lambda case: f"{case.family}: {case.name}"
)
def test_derivations_of_collected_programs_hold(case, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "value":
            program = rg.stabilize(lambda *a: case.value(NUMPY, *a))
        else:
            program = rg.grad(lambda *a: case.scalar(NUMPY, *a), case.wrt)
        proof = program.explain(*case.arguments).derivation
    found = proof.verify()
    assert found.ok, str(found)
    assert replace(Proof.from_json(proof.to_json()), failures=proof.failures) == proof


def test_the_report_counts_what_was_done():
    found = rg.stabilize(lambda x: np.log(1 + np.exp(x))).explain(3.0).derivation.verify()
    assert str(found) == (
        "1 steps: 1 match again, 1 agree at 4 points\n"
        "replayed, they lead from the program before to the program after"
    )


# What does not hold


@rg.relation(source="nowhere")
def wrong(x):
    """A sine that is a cosine."""
    return np.sin(x), np.cos(x)


def test_a_wrong_row_is_found_by_its_equation():
    proof = rg.stabilize(lambda x: np.sin(x) + 1, relations=[wrong], validate=False).explain(1.0).derivation
    assert proof.replay() == proof.after  # it is a derivation, by a wrong equation
    found = proof.verify()
    assert not found.ok and found.steps[0].matched
    assert "step 1, wrong: its sides differ at x = " in str(found)


def test_a_small_error_of_an_equation_is_found():
    proof = rg.stabilize(lambda x: np.sin(x) + 1, relations=[wrong], validate=False).explain(1.0).derivation
    (step,) = proof.steps
    tilted = replace(step, name="tilted", after=add(step.before, constant(1e-8)))
    (checked,) = replace(proof, steps=(tilted,)).verify().steps
    assert checked.fault.startswith("its sides differ at x = ")


def test_a_step_that_was_changed_does_not_match_and_does_not_lead_to_the_end():
    proof = rg.grad(loss).explain(Z, Y).derivation
    at = next(i for i, step in enumerate(proof.steps) if step.move == "relation")
    step = replace(proof.steps[at], after=proof.steps[at].before)
    circle = replace(proof, steps=(*proof.steps[:at], step, *proof.steps[at + 1 :]))
    with pytest.raises(rg.DerivationError, match=rf"the step {step.name} runs in a circle"):
        circle.replay()
    step = replace(step, after=add(step.before, step.before))
    changed = replace(proof, steps=(*proof.steps[:at], step, *proof.steps[at + 1 :]))
    found = changed.verify()
    assert found.steps[at].matched is False and not found.ok
    assert f"step {at + 1}, {step.name}: it does not match there; its sides differ at z = " in str(found)
    with pytest.raises(rg.DerivationError, match=r"(?s)replayed, the derivation ends in .*it says"):
        changed.replay()


def test_an_expansion_that_was_changed_is_found():
    proof = rg.grad(loss).explain(Z, Y).derivation
    at = next(i for i, step in enumerate(proof.steps) if step.move == "expand")
    operand, flow = proof.steps[at].after[0]
    step = replace(proof.steps[at], after=((operand, -1 * flow if not is_term(flow) else add(flow, flow)),))
    found = replace(proof, steps=(*proof.steps[:at], step, *proof.steps[at + 1 :])).verify()
    assert found.steps[at].matched is False


def test_a_missing_step_is_missed():
    proof = rg.stabilize(loss).explain(Z, Y).derivation
    found = replace(proof, steps=proof.steps[:-1]).verify()
    assert "replayed, the derivation ends in" in found.replayed and not found.ok


# Files


def test_a_derivation_is_saved_and_loaded(tmp_path):
    proof = rg.grad(loss).explain(Z, Y).derivation
    proof.save(tmp_path / "loss.json")
    loaded = rg.load_derivation(tmp_path / "loss.json")
    assert loaded == proof and loaded.verify().ok
    assert [c.matched for c in loaded.verify().steps] == [c.matched for c in proof.verify().steps]
    file = json.loads((tmp_path / "loss.json").read_text())
    assert (file["format"], file["version"]) == ("relgrad derivation", 1)
    assert [step["name"] for step in file["steps"]] == [step.name for step in proof.steps]
    assert all(i < n for n, (_, rands) in enumerate(file["nodes"]) for i in rands)


def test_another_process_reads_it(tmp_path):
    proof = rg.grad(loss, strategy="eager").explain(Z, Y).derivation
    proof.save(tmp_path / "loss.json")
    code = (
        "import sys, relgrad as rg\n"
        "d = rg.load_derivation(sys.argv[1])\n"
        "print(d.verify().ok, d.to_json() == open(sys.argv[1], encoding='utf-8').read())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "loss.json")], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["True", "True"]


def test_a_deep_program_is_pickled_without_recursion():
    def deep(x):
        for _ in range(3000):
            x = np.sin(x) + 1
        return x

    proof = rg.stabilize(deep, strategy="naive").explain(1.0).derivation
    assert pickle.loads(pickle.dumps(proof)).after == proof.after


HERE = rg.symbol("x").term
LOCAL = Elementwise("local", np.sin, None, arity=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "this is no derivation"),
        ("[]", "this is no derivation"),
        (
            '{"format": "relgrad derivation", "version": 7}',
            "of version 7.*reads a relgrad derivation of version 1",
        ),
        ('{"format": "relgrad derivation", "version": 1}', "does not fit this relgrad.*'nodes'"),
    ],
)
def test_what_is_no_derivation_is_refused(text, message):
    with pytest.raises(rg.DerivationError, match=f"(?s){message}"):
        Proof.from_json(text)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            {"name": ["antigravity", "fly"]},
            "the derivation uses antigravity.fly.*antigravity is not imported",
        ),
        ({"made": ["subprocess", "Popen"], "of": [["true"]]}, "is no class of ops or of values"),
        ({"name": ["relgrad.ops.arithmetic", "gone"]}, "does not fit this relgrad.*no attribute 'gone'"),
    ],
)
def test_a_file_executes_nothing(op, message):
    proof = rg.stabilize(np.sin).explain(1.0).derivation
    file = json.loads(proof.to_json())
    file["nodes"][-1][0] = op
    with pytest.raises(rg.DerivationError, match=f"(?s){message}"):
        Proof.from_json(json.dumps(file))
    assert "antigravity" not in sys.modules


def test_an_op_of_this_process_only_cannot_be_saved():
    made = Elementwise("made", np.sin, None, arity=1)
    proof = Proof((made(HERE),), (made(HERE),), ())
    with pytest.raises(rg.DerivationError, match=r"(?s)with the op made cannot be saved.*no module holds it"):
        proof.to_json()
    kept = Proof((LOCAL(HERE),), (LOCAL(HERE),), ())
    assert Proof.from_json(kept.to_json()).after[0] is kept.after[0]
