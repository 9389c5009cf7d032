"""How hazards, accuracies and checks show themselves."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from relgrad.accuracy.check_op import OpCheck
from relgrad.accuracy.hazards import Hazard
from relgrad.accuracy.report import Check, Witness, assignments
from relgrad.accuracy.result import HEAD, Accuracy
from relgrad.display.brief import brief, unpainted
from relgrad.display.latex import formula, worded
from relgrad.display.page import Markup, code, details, element, facts, framed, joined, note, table
from relgrad.display.terms import coded, displayed, term_fragment
from relgrad.errors import readable
from relgrad.looks import html, latex, plain, wrapped


def line_of(where: str) -> str:
    """ "loss.py:3" → "return np.log(x)": the line of code at `file:number`, or nothing where there is none."""
    file, _, number = where.rpartition(":")
    return linecache.getline(file, int(number)).strip() if number.isdigit() else ""


def near(where: str) -> str:
    """Return a place as its reader knows it, without the folders that differ from one machine to the next.

    >>> near("/somewhere/deep/project/loss.py:12")
    'project/loss.py:12'
    """
    return "/".join(PurePath(readable(where)).parts[-2:])


def removed_by(hazard: Hazard) -> str:
    """hazard → "log_of_one_plus, …": the names of the rows that remove a hazard."""
    return ", ".join(hazard.relations) or "nothing in the library"


def hazard_fragment(hazard: Hazard) -> Markup:
    """hazard → its place, line and term, the loss, an input, and the rows that remove it."""
    said = [
        ("at", coded(near(hazard.where))),
        ("line", coded(line_of(hazard.where))),
        ("in", term_fragment(hazard.term)),
        ("loses", f"{hazard.bits:.0f} bits of the {hazard.output}"),
        ("input", code(assignments(hazard.inputs))),
        ("removed by", coded(removed_by(hazard)) if hazard.relations else removed_by(hazard)),
    ]
    return facts([pair for pair in said if pair[1] != code("")])


def hazard_title(hazard: Hazard) -> str:
    """hazard → "overflow, 64 bits, at loss.py:3": a hazard in a line."""
    return f"{hazard.kind}, {hazard.bits:.0f} bits, at {near(hazard.where)}"


@html.register
def _(hazard: Hazard) -> str:
    head = element("p", element("strong", hazard.kind))
    return framed(joined([head, hazard_fragment(hazard)]), f"hazard: {hazard.kind}")


@latex.register
def _(hazard: Hazard) -> str:
    return displayed(rf"{worded(hazard.kind)}\ \text{{in}}\ {formula(hazard.term)}")


@plain.register
def _(hazard: Hazard) -> str:
    lines = [
        hazard_title(hazard),
        f"  in          {unpainted(brief(hazard.term, width=80, limit=8).text)}",
        f"  loses       {hazard.bits:.0f} bits of the {hazard.output} at {assignments(hazard.inputs)}",
        f"  removed by  {removed_by(hazard)}",
    ]
    return wrapped("\n".join(lines))


@html.register
def _(found: Accuracy) -> str:
    rows = [(*row[:-1], code(row[-1]) if row[-1] else "") for row in found.rows()]
    notes = joined(map(note, found.notes()))
    return framed(joined([table(HEAD, rows, title_of(found)), notes]), "accuracy, in bits lost")


@latex.register
def _(found: Accuracy) -> str:
    return displayed(array(HEAD, found.rows()))


def title_of(found: Accuracy) -> str:
    """accuracy → "loss at 100 points": the function that was measured, and the number of points."""
    count = len(found.inputs)
    return f"{found.name} at {count} point{'s' * (count != 1)}"


def array(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table in LaTeX, its first column to the left, the others to the right.

    >>> array(["f", "bits"], [["x", "1.0"]])
    '\\begin{array}{lr}\\mathrm{f} & \\mathrm{bits}\\\\\\hline \\mathrm{x} & \\mathrm{1.0}\\end{array}'
    """
    lines = [" & ".join([worded(cell) for cell in row]) for row in (head, *rows)]
    body = r"\\\hline " + r"\\".join(lines[1:]) if rows else ""
    return rf"\begin{{array}}{{l{'r' * (len(head) - 1)}}}{lines[0]}{body}\end{{array}}"


def witness_fragment(witness: Witness) -> Markup:
    """witness → the sides differ, left, right: an input at which something is false, and the values there."""
    names = ("left", "right", "program", "becomes")
    said = zip(names, (witness.left, witness.right, witness.subject, witness.result), strict=True)
    sides = [(name, code(text)) for name, text in said if text]
    return facts([(witness.why, code(assignments(witness.inputs))), *sides])


@html.register
def _(check: Check) -> str:
    return framed(check_fragment(check), f"check of {check.name}: {check.verdict}")


def check_fragment(check: Check) -> Markup:
    """check → "not refuted", compared, applied, wins: the verdict on a relation, and the findings."""
    witness = witness_fragment(check.witness) if check.witness else ""
    return joined([_verdict(check), facts([("source", check.source), ("false", witness), *check.findings])])


def _verdict(check: Check | OpCheck) -> Markup:
    # A sign beside the word, so that a glance tells, and nothing by colour.
    sign = "✓" if check.ok else "✗"
    return element("p", element("strong", coded(check.name)), f": {sign} {check.verdict}")


@html.register
def _(check: OpCheck) -> str:
    rows = [
        (
            claim.what,
            f"not refuted at {claim.tried} inputs"
            if claim.witness is None
            else details("✗ false", witness_fragment(claim.witness), opened=True),
        )
        for claim in check.claims
    ]
    body = joined([_verdict(check), table(("what it says", "what was found"), rows)])
    return framed(body, f"check of {check.name}: {check.verdict}")


@latex.register(Check)
@latex.register(OpCheck)
def _(check: Any) -> str:
    return displayed(worded(f"{check.name}: {check.verdict}"))
