"""The magic of IPython: the hazards of what a cell defines."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import relgrad as rg
from relgrad.magic import subject_of

pytest.importorskip("flint")
InteractiveShell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "relgrad")
        shell.run_cell("import numpy as np\nx = np.ones(3)\ndef own(z): return np.log(1 + np.exp(z))")
        yield shell
        InteractiveShell.clear_instance()


def ran(shell, capsys, cell):
    capsys.readouterr()
    result = shell.run_cell(cell)
    return result, capsys.readouterr().out


@pytest.mark.parametrize("line", ["own(1.0)", "own", "np.log(1 + np.exp(x))", "own(x)[0]"])
def test_the_hazards_of_a_call_and_of_an_expression(shell, capsys, line):
    result, out = ran(shell, capsys, f"%relgrad {line}")
    assert result.success
    assert "overflow in exp(" in out
    assert "removed by log_of_one_plus_exponential" in out


def test_the_functions_of_a_cell_are_examined_when_it_has_run(shell, capsys):
    cell = (
        "%%relgrad\n"
        "def first(z):\n"
        "    return np.log(1 + np.exp(z))\n"
        "def second(z):\n"
        "    return np.exp(z)\n"
        "answer = 3\n"
    )
    _, out = ran(shell, capsys, cell)
    assert shell.user_ns["answer"] == 3
    head, _, tail = out.partition("second:")
    assert "first:" in head
    assert "overflow in exp(z)" in head
    assert "return np.log(1 + np.exp(z))" in head
    assert "no hazard found" in tail


def test_the_line_names_calls_of_what_the_cell_defines(shell, capsys):
    _, out = ran(
        shell, capsys, "%%relgrad third(np.ones(3)); third(np.ones((2, 2)))\ndef third(a): return a @ a\n"
    )
    assert out.count("no hazard found") == 2


def test_comments_of_a_cell_ignore(shell, capsys):
    cell = "%%relgrad\ndef f(z):\n    return np.log(1 + np.exp(z))  # relgrad: ignore[overflow, rounding] small\n"
    _, out = ran(shell, capsys, cell)
    assert "no hazard found\n2 hazards are ignored by comments" in out


def test_a_cell_that_raises_shows_its_own_error_alone(shell, capsys):
    _, out = ran(shell, capsys, "%%relgrad\ndef f(z): return z\nraise KeyError('lost')\n")
    assert "KeyError" in out
    assert "f:" not in out.replace("def f(z):", "")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%relgrad", "cannot read ''"),
        ("%relgrad 1 +", "cannot read '1 +'"),
        ("%relgrad own(xs)", "xs cannot be evaluated"),
        ("%relgrad own(z=1)", "arguments are given by position"),
        ("%relgrad ownn(1.0)", "the nearest name is own"),
        ("%%relgrad\na = 1\n", "the cell defines no function"),
        ("%%relgrad\ndef g(a): return a @ a\n", "g raised TypeError"),
        ("%%relgrad\n%time 1 + 1\n", "the cell defines no function"),
    ],
)
def test_what_cannot_be_examined_is_told(shell, capsys, cell, says):
    result, out = ran(shell, capsys, cell)
    assert result.success
    assert says in out
    assert "Traceback" not in out


def test_an_expression_is_a_function_of_its_numbers():
    function, arguments = subject_of("np.exp(a) + n", {"np": np, "a": np.zeros(2), "n": 3})
    np.testing.assert_array_equal(function(*arguments), np.full(2, 4.0))
    assert linecache.getline("<%relgrad>", 1) == "np.exp(a) + n"


def test_the_package_needs_no_ipython():
    assert callable(rg.load_ipython_extension)


def test_places_in_cells_are_named_as_their_reader_knows_them(shell):
    shell.run_cell(
        "import relgrad as rg, numpy as np\n"
        "def f(x):\n"
        "    return float(x) * x\n"
        "try:\n"
        "    rg.grad(lambda x: np.sum(f(x)))(np.ones(3))\n"
        "except Exception as error:\n"
        "    said = str(error)",
        store_history=True,
    )
    said = shell.user_ns["said"]
    assert "where: In[" in said and "]:3" in said, said
