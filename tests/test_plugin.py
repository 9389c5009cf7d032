"""The plugin of pytest, by running it: what is configured becomes items, and nothing is imported otherwise."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("flint")
pytest_plugins = ["pytester"]

RELATIONS = '''
import numpy as np
import relgrad as rg

@rg.relation(source="double angle")
def double_angle(x):
    """Twice the product of sine and cosine."""
    return 2 * np.sin(x) * np.cos(x), np.sin(2 * x)
'''
WRONG = '''
@rg.relation(source="none")
def lost_sign(x):
    """The root of a square, as many believe."""
    return np.sqrt(x**2), x
'''
LOSSES = """
import numpy as np
from . import relations

def loss(x):
    return np.log(np.sum(np.exp(x)))

def quiet(x):
    return np.log(np.exp(x))  # relgrad: ignore[overflow, rounding, underflow, nan] a test of comments

def fine(x):
    return np.logaddexp(x, 0.0)

def raises(x):
    raise KeyError("lost")
"""


@pytest.fixture
def project(pytester):
    def make(*, check=(), lint=(), more="", testpaths='testpaths = ["tests"]'):
        lines = [
            "[tool.pytest.ini_options]",
            testpaths,
            f"relgrad_check = {[*check]}",
            f"relgrad_lint = {[*lint]}",
        ]
        pytester.makefile(".toml", pyproject="\n".join(lines))
        package = pytester.mkpydir("mypkg")
        (package / "relations.py").write_text(RELATIONS + more)
        (package / "losses.py").write_text(LOSSES)
        tests = pytester.mkdir("tests")
        (tests / "test_own.py").write_text("def test_own(): pass\n")
        return pytester

    return make


def run(pytester, *args):
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", *args)


def test_a_line_of_configuration_checks_relations(project):
    result = run(project(check=["mypkg/relations.py"]), "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["mypkg/relations.py::check?double_angle? PASSED*"])


def test_a_false_relation_fails_with_its_witness_and_no_traceback(project):
    result = run(project(check=["mypkg/relations.py"], more=WRONG))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*relations.py:*: lost_sign: false", "*the sides differ at x = -*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_relgrad.py*")


def test_a_hazard_fails_with_its_line_and_what_removes_it(project):
    result = run(project(lint=["mypkg/losses.py:loss(np.ones(3))", "mypkg/losses.py:fine"]))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*losses.py:6: overflow in exp(x)", "*removed by log_of_sum_of_exponentials"]
    )


def test_what_is_ignored_for_a_reason_passes(project):
    run(project(lint=["mypkg/losses.py:quiet"])).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("configured", "says"),
    [
        ({"check": ["mypkg/gone.py"]}, "there is no file *gone.py"),
        ({"check": ["mypkg/__init__.py"]}, "*defines no relation*"),
        ({"lint": ["mypkg/losses.py:los"]}, "*the nearest name is loss*"),
        ({"lint": ["mypkg/losses.py:raises"]}, "*raised KeyError: 'lost'*"),
        ({"lint": ["mypkg/losses.py"]}, "*names no function*"),
        ({"lint": ["mypkg/losses.py:loss(np.one(3))"]}, "*the argument np.one(3) cannot be evaluated*"),
    ],
)
def test_what_is_configured_wrongly_fails_and_says_why(project, configured, says):
    result = run(project(**configured))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([says])


def test_items_are_chosen_by_id_and_by_keyword(project):
    p = project(check=["mypkg/relations.py"], lint=["mypkg/losses.py:fine"], more=WRONG)
    run(p, "mypkg/relations.py::check[double_angle]").assert_outcomes(passed=1)
    run(p, "mypkg/losses.py::lint[fine]").assert_outcomes(passed=1)
    run(p, "-k", "double_angle").assert_outcomes(passed=1, deselected=3)
    run(p, "tests").assert_outcomes(passed=1)


def test_files_that_pytest_comes_by_are_not_run_twice(project):
    run(project(check=["mypkg/relations.py"], testpaths="")).assert_outcomes(passed=2)


def test_nothing_is_imported_where_nothing_is_configured(project):
    p = project()
    (p.path / "tests" / "test_own.py").write_text(
        "import sys\ndef test_own():\n    assert 'pytest_relgrad' in sys.modules\n"
        "    assert not {'relgrad', 'numpy', 'kanren'} & set(sys.modules)\n"
    )
    (p.path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:xdist", "tests"]
    done = subprocess.run(command, cwd=p.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
