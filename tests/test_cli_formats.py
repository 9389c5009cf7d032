"""Findings in the formats of editors and of continuous integration, and comments that ignore them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from relgrad.cli import main
from relgrad.findings import KINDS

pytest.importorskip("flint")

FILE = """import numpy as np

def f(x):
    return np.log(1 + np.exp(x)){comment}

def fine(x):
    return np.logaddexp(0.0, x)
"""


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*options, comment="", name="code.py", function="f"):
        Path(name).write_text(FILE.format(comment=comment))
        code = main(["lint", f"{name}:{function}", *options])
        return code, capsys.readouterr().out

    return run


def test_sarif_has_what_the_standard_requires(lint):
    code, out = lint("--format", "sarif")
    assert code == 1
    log = json.loads(out)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "relgrad"
    assert [rule["id"] for rule in driver["rules"]] == [f"relgrad/{kind}" for kind in KINDS]
    assert run["results"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "code.py"
        assert place["region"]["startLine"] == 4


def test_uris_are_escaped(lint):
    _, out = lint("--format", "sarif", name="a b%é.py")
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for r in json.loads(out)["runs"][0]["results"]
    }
    assert uris == {"a%20b%25%C3%A9.py"}


def test_what_is_ignored_is_suppressed_with_its_reason(lint):
    _, out = lint("--format", "sarif", comment="  # relgrad: ignore[overflow] inputs are shares")
    results = json.loads(out)["runs"][0]["results"]
    suppressed = {r["ruleId"]: r["suppressions"] for r in results if "suppressions" in r}
    assert suppressed == {"relgrad/overflow": [{"kind": "inSource", "justification": "inputs are shares"}]}
    assert {r["ruleId"] for r in results} == {"relgrad/overflow", "relgrad/rounding"}


def test_nothing_to_say_is_a_log_without_results(lint):
    code, out = lint("--format", "sarif", function="fine")
    assert code == 0
    assert json.loads(out)["runs"][0]["results"] == []


def test_annotations_are_commands_of_one_line_each(lint):
    code, out = lint("--format", "github", name="a,b:c%.py")
    assert code == 1
    for line in out.strip().splitlines():
        found = re.fullmatch(r"::(warning|notice) (?P<properties>[^:]*)::(?P<message>.+)", line)
        assert found, line
        properties = dict(p.split("=", 1) for p in found["properties"].split(","))
        assert properties["file"] == "a%2Cb%3Ac%25.py"
        assert properties["line"] == "4"
    assert "::warning " in out


def test_a_hazard_with_a_reason_is_counted_and_not_shown(lint):
    code, out = lint(comment="  # relgrad: ignore[Overflow, rounding] small by construction")
    assert code == 0
    assert out == "no hazard found\n2 hazards are ignored by comments\n"
    code, out = lint("--format", "github", comment="  # relgrad: ignore[overflow,rounding] small")
    assert code == 0
    assert out == "::notice title=relgrad::2 ignored by comments\n"


def test_only_the_kinds_that_are_named_are_ignored(lint):
    code, out = lint(comment="  # relgrad: ignore[rounding] small")
    assert code == 1
    assert "overflow in" in out
    assert "rounding in" not in out
    assert "1 hazard is ignored" in out


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# relgrad: ignore[overflow]", "overflow is not ignored without a reason"),
        ("# relgrad: ignore[overfow] why", "ignores overfow, which is no kind of hazard"),
        ("# relgrad: ignore[] why", "ignores no kind of hazard"),
        ("# relgrad: ignore why", "ignores no kind of hazard"),
    ],
)
def test_a_comment_that_cannot_be_heard_is_told_once(lint, comment, says):
    code, out = lint(comment=f"  {comment}")
    assert code == 1
    assert "overflow in exp(x)" in out
    assert out.count(says) == 1
    _, out = lint("--format", "github", comment=f"  {comment}")
    assert says in out
    _, out = lint("--format", "sarif", comment=f"  {comment}")
    notes = json.loads(out)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert any(says in note["message"]["text"] for note in notes)


def test_text_that_looks_like_a_comment_is_none(lint):
    code, _ = lint(comment=' * len("# relgrad: ignore[overflow, rounding] no") / 41')
    assert code == 1
