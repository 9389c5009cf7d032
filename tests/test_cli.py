"""The command line: what it prints and returns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relgrad as rg
from relgrad import cli
from relgrad.cli import main

pytest.importorskip("flint")

RELATIONS = Path(rg.relations.__file__).parent
FILE = '''
import numpy as np
import relgrad as rg

@rg.relation(source="definition")
def log_of_exponential(x):
    """The logarithm undoes the exponential."""
    return np.log(np.exp(x)), x

{more}

def softplus(x, scale=1.0):
    return np.log(1 + np.exp(x)) * scale

def fine(x):
    return np.logaddexp(0.0, x)
'''
WRONG = """
@rg.relation
def lost_absolute_value(x):
    return np.sqrt(x**2), x
"""


@pytest.fixture
def file(tmp_path):
    def write(more=""):
        path = tmp_path / "code.py"
        path.write_text(FILE.format(more=more))
        return str(path)

    return write


def test_true_relations_pass(file, capsys):
    assert main(["check", file()]) == 0
    out = capsys.readouterr().out
    assert "log_of_exponential" in out
    assert "1 checked, 0 of them false, refused or never compared" in out


def test_false_relations_fail_with_a_witness(file, capsys):
    assert main(["check", file(WRONG)]) == 1
    out = capsys.readouterr().out
    assert "lost_absolute_value: false\n  the sides differ at x = -" in out
    assert "2 checked, 1 of them false, refused or never compared" in out


def test_a_check_may_be_told_in_full(file, capsys):
    assert main(["check", "-v", file()]) == 0
    assert "log_of_exponential: not refuted\n  compared   at " in capsys.readouterr().out


def test_the_library_is_what_is_checked_by_default(monkeypatch, capsys):
    rows = rg.LIBRARY.restricted("log_of_one_plus_exponential", "log_of_softmax")
    monkeypatch.setattr(cli, "LIBRARY", rows)
    assert main(["check", "--samples", "12", "--programs", "2"]) == 0
    out = capsys.readouterr().out
    assert "log_of_softmax" in out
    assert " 0 of them false, refused or never compared" in out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("module", ["masking", "norms", "logistic"])
def test_a_file_of_the_library_can_be_checked(module, capsys):
    assert main(["check", "--samples", "6", str(RELATIONS / f"{module}.py")]) == 0
    assert " 0 of them false, refused or never compared" in capsys.readouterr().out


def test_hazards_are_listed(file, capsys):
    assert main(["lint", f"{file()}:softplus", "1.0"]) == 1
    assert "overflow in exp(x)" in capsys.readouterr().out
    assert main(["lint", f"{file()}:fine", "np.ones(3)"]) == 0
    assert capsys.readouterr().out == "no hazard found\n"


def test_arguments_that_are_missing_are_numbers(file, capsys):
    assert main(["lint", f"{file()}:fine"]) == 0


def test_accuracy_is_measured(file, capsys):
    assert main(["accuracy", f"{file()}:softplus", "floats(1.0, 1e4)", "--points", "20"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("softplus at 20 points\n")
    assert "64.0" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lint", "{file}:nothing"], "names no function"),
        (["lint", "{file}"], "names no function"),
        (["lint", "{file}:softplus", "1 +"], "the argument 1 \\+ cannot be evaluated"),
        (["accuracy", "missing.py:f"], "missing.py"),
        (["check", "missing.py"], "missing.py"),
    ],
)
def test_what_cannot_be_run_is_told(file, capsys, arguments, says):
    assert main([a.format(file=file()) for a in arguments]) == 2
    assert re.search(says, capsys.readouterr().err)


def test_a_file_without_relations_is_told(tmp_path, capsys):
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    assert main(["check", str(path)]) == 2
    assert "defines no relation" in capsys.readouterr().err
