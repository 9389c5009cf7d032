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

def raises(x):
    raise KeyError("lost")
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
        (["lint", "{file}:softplu"], "the nearest name is softplus"),
        (["lint", "{file}:np"], "np is no function"),
        (["lint", "{file}:softplus(1.0"], "names no function"),
        (["lint", "{file}:softplus(x=1.0)"], "write Python expressions, by position"),
        (["lint", "{file}:softplus", "flots(1, 2)"], "the nearest name is floats"),
        (["lint", "{file}:raises"], r"raises raised KeyError: 'lost'\n  where: .*code.py:\d+"),
        (["accuracy", "{file}:raises"], "raised KeyError"),
        (["new-relation"], "needs a left and a right side"),
        (["new-relation", "np.exp(a", "a"], "the left side is no Python expression"),
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


@pytest.mark.parametrize(
    ("content", "says", "line"),
    [
        (b"\x00\x01\xff", "cannot be imported: SyntaxError", None),
        (b"\xff = 1\n", "cannot be imported: SyntaxError", None),
        (b"x = 1\ny = (\n", "cannot be imported: SyntaxError", 2),
        (b"x = 1\nimport nothing_of_this_name\n", "cannot be imported: ModuleNotFoundError", 2),
        (b"x = 1\n\nraise SystemExit(3)\n", "cannot be imported: SystemExit: 3", 3),
        (b"import relgrad\n@relgrad.relation\ndef f(x):\n    return x\n", "does not return an equation", 2),
    ],
)
@pytest.mark.parametrize("command", [["check", "{file}"], ["lint", "{file}:f"]])
def test_a_file_that_cannot_be_imported_is_told_with_its_line(tmp_path, capsys, command, content, says, line):
    path = tmp_path / "bad.py"
    path.write_bytes(content)
    assert main([part.format(file=path) for part in command]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert line is None or f"bad.py:{line}" in told


def test_the_nearest_file_is_named(tmp_path, capsys):
    (tmp_path / "losses.py").write_text("")
    assert main(["lint", f"{tmp_path / 'loses.py'}:f"]) == 2
    assert "the nearest name is losses.py" in capsys.readouterr().err


def test_files_of_a_package_import_their_neighbours(tmp_path, capsys):
    package = tmp_path / "neighbours_of_one_another"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("import numpy as np\n\ndef f(x):\n    return np.tanh(x)\n")
    (package / "second.py").write_text("from .first import f\n")
    (tmp_path / "beside.py").write_text("def g(x):\n    return x\n")
    (tmp_path / "alone.py").write_text("from beside import g\n")
    assert main(["lint", f"{package / 'second.py'}:f", "--points", "5"]) == 0
    assert main(["lint", f"{tmp_path / 'alone.py'}:g", "--points", "5"]) == 0


def test_rows_without_docstring_or_source_are_refused(file, capsys):
    bare = "@rg.relation\ndef cosine_is_even(x):\n    return np.cos(-x), np.cos(x)\n"
    assert main(["check", file(bare)]) == 1
    assert (
        "cosine_is_even: refused\n  refused    it has no docstring and no source" in capsys.readouterr().out
    )


def test_arguments_may_stand_with_the_function(file, capsys):
    assert main(["lint", f"{file()}:fine(np.ones((2, 3)))", "--points", "5"]) == 0


def test_relations_are_listed_and_found(file, capsys):
    assert main(["relations", file(WRONG)]) == 0
    assert re.search(r"log_of_exponential  .*code.py:\d+\n  The logarithm undoes", capsys.readouterr().out)
    assert main(["relations", "--search", "absolute", "-v", file(WRONG)]) == 0
    out = capsys.readouterr().out
    assert "log_of_exponential" not in out
    assert "sqrt(x ** 2)\n  = x\n  source: none" in out
    assert main(["relations", "--search", "xylophone"]) == 1
    assert "no relation is about 'xylophone'" in capsys.readouterr().err


def test_a_relation_is_written_and_checked(tmp_path, capsys):
    sides = ["np.sqrt(x**2)", "x", "--source", "definition", "--name", "root_of_square"]
    assert main(["new-relation", *sides]) == 0
    out, err = capsys.readouterr()
    assert "return np.sqrt(x ** 2), x, nonnegative(x)" in out
    assert "root_of_square: not refuted" in err
    (tmp_path / "rows.py").write_text(out)
    assert main(["check", str(tmp_path / "rows.py")]) == 0
    assert main(["new-relation", "np.exp(x)", "x"]) == 1
    assert "exp(x) is not x" in capsys.readouterr().err


def test_a_template_is_printed(tmp_path, capsys):
    assert main(["new-relation", "--template"]) == 0
    (tmp_path / "rows.py").write_text(capsys.readouterr().out)
    assert main(["check", str(tmp_path / "rows.py")]) == 0
