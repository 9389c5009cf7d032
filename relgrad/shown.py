"""How programs, proofs, hazards and reasons show themselves: the looks of what lies below `display` and `explore`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from textwrap import indent
from typing import Any

from relgrad.bounds import in_words
from relgrad.conventions import DEFAULT
from relgrad.display import reports, rows, terms
from relgrad.display.brief import brief, unpainted
from relgrad.display.derivation import Explanation
from relgrad.display.latex import formula, formulas, stacked, worded
from relgrad.display.page import Markup, code, details, element, facts, framed, joined, note, table
from relgrad.display.reports import hazard_fragment, hazard_title, near
from relgrad.display.steps import Steps
from relgrad.display.terms import coded, displayed, term_fragment
from relgrad.examine import Hazards, Hopes
from relgrad.explore import coloured
from relgrad.explore.reasons import Reason, Reasons, Rewrites
from relgrad.explore.spellings import Spellings
from relgrad.looks import Lazy, html, latex, plain, wrapped
from relgrad.step import Derivation, Step
from relgrad.term import Term, Unknown, is_term
from relgrad.transformed import Transformed
from relgrad.validate.proof import Verified

LOOKS = terms, rows, reports, coloured
"""The modules that say how what lies above is shown."""
SIGNATURES, ARGUMENTS = 20, 8
"""So many signatures of a program are shown, and arguments of each."""
LINES = 40
"""So many lines of a report are written in LaTeX."""

# Programs


def signatures_of(program: Transformed) -> list[tuple[str, int]]:
    """Return the types of the arguments that a function has been compiled for, and how many programs there are."""
    return list(Counter(_typed(made.traced.inputs) for made in program.programs).items())


def _typed(inputs: Sequence[Term]) -> str:
    """[x : float64 (3,)] → "x: float64[3]": inputs with their types, in words."""
    parts = []
    for x in inputs[:ARGUMENTS]:
        kind = x.type
        extents = ", ".join(map(str, kind.shape))
        parts.append(f"{x.op}: {kind.dtype}{f'[{extents}]' if extents else ''}")
    more = len(inputs) - ARGUMENTS
    return ", ".join([*parts, *[f"… {more} more"] * (more > 0)]) or "no arrays"


def options_of(program: Transformed) -> list[tuple[str, str]]:
    """grad(f, strategy="eager") → [("strategy", "eager"), …]: a function's options, as far as they are not as usual."""
    how = program.settings
    changed = [
        f"{f.name}={getattr(how.conventions, f.name)!r}"
        for f in fields(how.conventions)
        if repr(getattr(how.conventions, f.name)) != repr(getattr(DEFAULT, f.name))
    ]
    found = [
        ("relations", str(len(how.library))),
        ("strategy", how.strategy.name),
        ("assuming", ", ".join([in_words(str(name), known) for name, known in how.assume])),
        ("conventions", ", ".join(changed)),
        ("validated", "" if how.validate else "no"),
        ("precise", "" if how.precise else "no"),
        ("at most", f"{how.seconds:g} s" if how.seconds is not None else ""),
    ]
    return [(name, said) for name, said in found if said]


def compiled_for(program: Transformed) -> list[str]:
    """Return a line for each signature that a function has been compiled for."""
    found = signatures_of(program)
    lines = [f"{typed}  ({count} programs)" if count > 1 else typed for typed, count in found[:SIGNATURES]]
    return [*lines, *[f"… {len(found) - SIGNATURES} more"] * (len(found) > SIGNATURES)] or ["nothing yet"]


@html.register
def _(program: Transformed) -> str:
    lines = joined(map(coded, compiled_for(program)), Markup("<br>"))
    pairs = [(name, coded(said)) for name, said in options_of(program)]
    head = element("p", element("strong", coded(program.name)))
    return framed(joined([head, facts([*pairs, ("compiled for", lines)])]), f"program {program.name}")


@plain.register
def _(program: Transformed) -> str:
    first, *rest = compiled_for(program)
    lines = [f"  {name:12} {said}" for name, said in [*options_of(program), ("compiled for", first)]]
    return wrapped("\n".join([repr(program), *lines, *[f"  {'':12} {line}" for line in rest]]))


@latex.register
def _(program: Transformed) -> str:
    """Return results = terms of the program that was made last, before it was rewritten, or the name alone."""
    if not program.programs:
        return displayed(worded(program.name))
    return displayed(rf"{worded(program.name)}:\ {formula(program.programs[0].traced.outputs)}")


# Derivations


@html.register
def _(step: Step) -> str:
    pairs = [(name, _place(x)) for name, x in (("before", step.before), ("after", step.after))]
    bound = facts([(coded(name), _place(x)) for name, x in step.bindings.items()])
    head = element("p", element("strong", coded(step.name)), f" — {step.why}" if step.why else "")
    return framed(joined([head, facts([*pairs, ("with", bound)])]), f"step {step.name}")


def _place(x: Any) -> Markup:
    terms = _terms(x)
    return term_fragment(terms) if terms else code(str(x))


def _terms(x: Any) -> list[Any]:
    """Return the terms that stand at the place of a step, or that came of it."""
    parts = x if isinstance(x, (tuple, list)) else [x]
    flat = [y for part in parts for y in (part if isinstance(part, (tuple, list)) else [part])]
    return [y for y in flat if is_term(y) or isinstance(y, Unknown)]


@latex.register
def _(step: Step) -> str:
    before, after = _terms(step.before), _terms(step.after)
    if len(before) != 1 or len(after) != 1:
        return displayed(worded(step.name))
    (left, right), definitions, cut = formulas([*before, *after])
    return displayed(stacked([f"{left} = {right}"], definitions, cut))


@plain.register
def _(step: Step) -> str:
    lines = [f"{step.name}{f' — {step.why}' if step.why else ''}"]
    for name, x in (("before", step.before), ("after", step.after)):
        terms = _terms(x)
        body = unpainted(brief(terms, width=80, limit=16).text) if terms else str(x)
        lines.append(f"  {name:7} {indent(body, ' ' * 10).strip()}")
    return wrapped("\n".join(lines))


@html.register
def _(derivation: Derivation) -> str:
    explained = Explanation(derivation)
    return html(explained) or framed(code(str(explained)), "derivation")


@latex.register
def _(derivation: Derivation) -> str:
    pairs = zip(derivation.before, derivation.after, strict=False)
    lines, definitions, cut = formulas([t for pair in pairs for t in pair])
    equations = [f"{left} = {right}" for left, right in zip(lines[::2], lines[1::2], strict=True)]
    return displayed(stacked(equations, definitions, cut))


@latex.register(Explanation)
@latex.register(Steps)
def _(explained: Any) -> str | None:
    return latex(explained.derivation)


@plain.register
def _(derivation: Derivation) -> str:
    return wrapped(str(Explanation(derivation)))


@html.register
def _(verified: Verified) -> str:
    return framed(code(str(verified)), "a derivation as it was verified")


# What is found in functions


@html.register
def _(found: Hazards) -> str:
    parts = [details(coded(hazard_title(h)), hazard_fragment(h), opened=i == 0) for i, h in enumerate(found)]
    count = f"{len(found)} hazard{'s' * (len(found) != 1)}" if len(found) else "no hazard found"
    return framed(joined([element("p", element("strong", count)), *parts]), count)


@html.register
def _(found: Hopes) -> str:
    parts = [
        details(
            coded(hazard_title(hazard)),
            hazard_fragment(hazard),
            *([joined(map(_reason, rows))] if rows else [note("no row comes near")]),
            opened=i == 0,
        )
        for i, (hazard, rows) in enumerate(found)
    ]
    count = f"{len(found)} hazards remain" if len(found) != 1 else "1 hazard remains"
    return framed(joined([element("p", element("strong", count)), *parts]), count)


@html.register
def _(found: Reasons) -> str:
    fired = "fired" if found.fired else "did not fire"
    parts = [
        details(f"{r.gate}{f' at {near(r.where)}' if r.where else ''}", _reason(r), opened=i == 0)
        for i, r in enumerate(found)
    ]
    head = element("p", element("strong", coded(found.row)), f" {fired}")
    return framed(joined([head, *parts]), f"{found.row} {fired}")


@html.register
def _(reason: Reason) -> str:
    return framed(_reason(reason), f"why {reason.row} does not fire")


def _reason(reason: Reason) -> Markup:
    """Reason → a list of facts: relation = …, at = …, place, gate, and the change with which the row would fire."""
    return facts(
        [
            ("relation", coded(reason.row)),
            ("at", coded(near(reason.where)) if reason.where else ""),
            ("place", term_fragment(reason.place) if reason.place is not None else ""),
            (reason.gate, code(reason.text)),
            ("would fire", code(reason.change) if reason.change else ""),
        ]
    )


@html.register
def _(found: Spellings) -> str:
    first, rest = found.first()
    rows = [(str(i), term_fragment(t)) for i, t in enumerate(first, 1)]
    body = table(("", "spelling"), rows) if rows else note(found.nothing)
    return framed(joined([body, note(rest) if rest else ""]), "spellings")


@html.register
def _(found: Lazy) -> str:
    first, rest = found.first()
    parts = [
        details(coded(repr(x).partition("\n")[0]), Markup(html(x) or code(repr(x))), opened=i == 0)
        for i, x in enumerate(first)
    ]
    return framed(
        joined([*(parts or [note(found.nothing)]), note(rest) if rest else ""]), "the first members"
    )


@latex.register(Rewrites)
@latex.register(Spellings)
def _(found: Any) -> str:
    first, rest = found.first()
    lines = [formula(getattr(member, "term", member)) for member in first] or [worded(found.nothing)]
    return displayed(stacked([*lines, *[worded(rest)] * bool(rest)], []))


@latex.register(Hazards)
@latex.register(Hopes)
@latex.register(Reasons)
@latex.register(Reason)
@latex.register(Verified)
def _(found: Any) -> str:
    return displayed(
        stacked([worded(" ".join(line.split())) for line in plain(found).split("\n")[:LINES]], [])
    )
