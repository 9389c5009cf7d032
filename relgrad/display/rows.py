"""How relations, libraries and laws show themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from relgrad.contract import Laws
from relgrad.display.brief import brief, unpainted
from relgrad.display.latex import escaped, formulas, stacked
from relgrad.display.mathml import mathml
from relgrad.display.page import Markup, details, element, facts, framed, joined, note, table
from relgrad.display.reports import near
from relgrad.display.terms import coded, displayed
from relgrad.looks import html, latex, plain, wrapped
from relgrad.op import as_term
from relgrad.relation import Library, Relation

ROWS = 400
"""So many rows of a library are shown."""
EQUATIONS = 40
"""So many equations of a library are written in LaTeX."""


def equation(row: Relation) -> str:
    """Return the equation that a row states, as NumPy.

    >>> import numpy as np
    >>> from relgrad.relation import relation
    >>> print(equation(relation(lambda x: (np.log(np.exp(x)), x))))
    log(exp(x)) = x
    """
    shown = brief([row.left, row.right])
    left, right = shown.lines
    one_line = f"{left} = {right}"
    lines = [one_line] if len(unpainted(one_line)) <= 90 else [left, f"  = {right}"]
    return shown._replace(lines=lines).text


def equation_in_latex(row: Relation) -> str:
    r"""log eˣ = x → "\log(e^{x}) = x": the equation that a row states, in LaTeX."""
    (left, right), definitions, cut = formulas([row.left, row.right])
    return stacked([f"{left} = {right}"], definitions, cut)


def law_of(row: Relation) -> Markup:
    """log eˣ = x → <math>…</math> and log(exp(x)) = x: the equation of a row for a page."""
    shown = mathml(equation_in_latex(row))
    return joined([element("div", shown, class_="wide"), element("div", coded(equation(row)))])


def condition_name(condition: Any) -> str:
    """positive(x) → "positive": the author's name of a condition."""
    inner = "<locals>" in condition.__qualname__ and not hasattr(condition, "about")
    return condition.__qualname__.split(".")[0] if inner else condition.__name__


def condition_texts(row: Relation) -> list[str]:
    """row → ["positive(x)"]: the conditions of a row by their names, with their operands as far as these are told."""
    found = []
    for condition in row.conditions:
        about = getattr(condition, "about", None)
        # What a condition finds is told by its variables, which no term holds.
        about = sorted(getattr(condition, "finds", ()), key=str) if about is None else about
        operands = ", ".join(unpainted(brief(as_term(x)).lines[0]) for x in about)
        found.append(f"{condition_name(condition)}({operands or '…'})")
    return found


def place_of(row: Relation) -> str:
    """row → "relations/logarithm.py:21": its file, below the folder that it is in, and line."""
    return near(row.place)


def family_of(row: Relation) -> str:
    """row → "logarithm": the name of the module in which a row is written."""
    return row.function.__module__.rpartition(".")[2]


def families(library: Library) -> Iterator[tuple[str, list[Relation]]]:
    """library → ("logarithm", [row, …]), …: the families of a library by name, with their rows by name."""
    ordered = sorted(library, key=lambda row: (family_of(row), row.name))
    for family, rows in groupby(ordered, family_of):
        yield family, list(rows)


@html.register
def _(row: Relation) -> str:
    conditions = joined([coded(text) for text in condition_texts(row)], Markup("<br>"))
    said = facts(
        [("where", conditions), ("source", row.source), ("written in", coded(place_of(row)))],
    )
    head = element("p", element("strong", coded(row.name)))
    doc = note(row.doc) if row.doc else ""
    return framed(joined([head, law_of(row), doc, said]), f"relation {row.name}")


@latex.register
def _(row: Relation) -> str:
    return displayed(equation_in_latex(row))


@plain.register
def _(row: Relation) -> str:
    lines = [row.name, *[f"  {line}" for line in unpainted(equation(row)).split("\n")]]
    pairs = [("where", ", ".join(condition_texts(row))), ("source", row.source), ("says", row.summary)]
    lines += [f"  {name:7} {said}" for name, said in [*pairs, ("in", place_of(row))] if said]
    return wrapped("\n".join(lines))


@html.register
def _(library: Library) -> str:
    left, parts = ROWS, []
    for family, rows in families(library):
        shown = [
            (coded(row.name), coded(equation(row)), coded(", ".join(condition_texts(row))), row.source)
            for row in rows[: max(left, 0)]
        ]
        left -= len(rows)
        parts.append(
            details(
                joined([coded(family), f" — {_counted(len(rows))}"]),
                table(("name", "equation", "where", "source"), shown),
            )
        )
    rest = note(f"{-left} more are not shown") if left < 0 else ""
    head = element("p", element("strong", _counted(len(library))))
    return framed(joined([head, *parts, rest]), f"library of {_counted(len(library))}")


@latex.register
def _(library: Library) -> str:
    rows = list(library)[:EQUATIONS]
    lines = [equation_in_latex(row) for row in rows]
    more = len(library) - len(rows)
    return displayed(stacked(lines, [], f"and {more} more" if more else "") if lines else r"\emptyset")


@plain.register
def _(library: Library) -> str:
    counts = [(family, len(rows)) for family, rows in families(library)]
    width = max([len(family) for family, _ in counts], default=0)
    return "\n".join([_counted(len(library)), *[f"  {f:{width}}  {n:4}" for f, n in counts]])


def _counted(count: int) -> str:
    return f"{count} relation{'s' * (count != 1)}"


class Law(NamedTuple):
    """("commutative", "f(x, y) = f(y, x)"): a law that holds of an op f: its name, and its equation, or its words."""

    name: str
    equation: str
    words: str = ""


def laws_that_hold(laws: Laws) -> list[Law]:
    """Return the laws that an op has.

    >>> [law.equation for law in laws_that_hold(Laws(commutative=True, identity=0))]
    ['f(x, y) = f(y, x)', 'f(x, 0) = x']
    """
    inner, outer = laws.homomorphism or ("", "")
    linear = f"linear in operand {', '.join(str(i + 1) for i in laws.linear)}"
    found = [
        (laws.associative, Law("associative", "f(f(x, y), z) = f(x, f(y, z))")),
        (laws.commutative, Law("commutative", "f(x, y) = f(y, x)")),
        (laws.idempotent, Law("idempotent", "f(x, x) = x")),
        (laws.identity is not None, Law("identity", f"f(x, {laws.identity}) = x")),
        (laws.absorbing is not None, Law("absorbing", f"f(x, {laws.absorbing}) = {laws.absorbing}")),
        (laws.inverse, Law("inverse", f"{laws.inverse}(f(x)) = x")),
        (laws.homomorphism, Law("homomorphism", f"f({inner}(x, y)) = {outer}(f(x), f(y))")),
        (laws.linear, Law("linear", "", linear)),
        (laws.monotone, Law("monotone", "", "increasing" if laws.monotone > 0 else "decreasing")),
        (laws.selects, Law("selects", "", "every entry of the result is one of the first operand")),
        (laws.extreme, Law("extreme", "", f"no operand is {'larger' if laws.extreme > 0 else 'smaller'}")),
    ]
    return [law for holds, law in found if holds]


@html.register
def _(laws: Laws) -> str:
    pairs = [(law.name, coded(law.equation) if law.equation else law.words) for law in laws_that_hold(laws)]
    return framed(facts(pairs) or note("no laws"), "laws of an op f")


@latex.register
def _(laws: Laws) -> str:
    lines = [rf"\text{{{law.name}:}}\ {_law_in_latex(law)}" for law in laws_that_hold(laws)]
    return displayed(stacked(lines, []) if lines else r"\text{no laws}")


def _law_in_latex(law: Law) -> str:
    if not law.equation:
        return rf"\text{{{law.words}}}"
    return re.sub(r"[^\W\d]\w+", lambda m: rf"\operatorname{{{escaped(m[0])}}}", law.equation)


@plain.register
def _(laws: Laws) -> str:
    lines = [f"{law.name:13} {law.equation or law.words}" for law in laws_that_hold(laws)]
    return "\n".join(lines) or "no laws"
