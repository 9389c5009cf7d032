"""Which steps of a derivation changed what is computed, and where in the user's code they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from relgrad.conventions import Conventions
from relgrad.gradient import is_implicit
from relgrad.relation import Library
from relgrad.schedule import NAIVE, schedule
from relgrad.step import Derivation, Step
from relgrad.term import Term, is_term, reachable
from relgrad.validate.conditioning import Difference, Written
from relgrad.validate.points import Values

MOVES = ("relation", "simplify", "goal", "series", "fold")


class Guilty(NamedTuple):
    """A step whose two sides differ at a point, and where they do."""

    step: Step
    difference: Difference | None


def explicit(roots: Sequence[Term], conventions: Conventions) -> list[Term]:
    """Return roots with their gradients expanded, and nothing else done: the program as written."""
    return list(schedule(roots, Library([]), NAIVE, conventions=conventions).after)


def differentiated(roots: Sequence[Term]) -> list[Term]:
    """Return the values that are differentiated in roots: f of the gradient of f."""
    found = [v for t in reachable(*roots) if is_implicit(t) for v in t.op.parts(t)[0]]
    return [v for v in dict.fromkeys(found) if v.type.differentiable]


def guilty_steps(derivation: Derivation, point: Values, conventions: Conventions) -> Iterator[Guilty]:
    """log(eˣ) → x: no; sin(x) → cos(x): yes: the steps that put one thing in another's place though they differ at a
    point.
    """
    for step in derivation.steps:
        if step.move in MOVES and is_term(step.before) and is_term(step.after):
            try:
                before, after = (explicit([t], conventions) for t in (step.before, step.after))
            except Exception:  # a side that cannot be differentiated is judged by what it is part of
                continue
            written = Written(before)
            values, got = written.at(point), Written(after).at(point)
            if values is None:
                continue
            if got is None:
                yield Guilty(step, None)
                continue
            difference = written.difference(point, values, got, after)
            if difference is not None:
                yield Guilty(step, difference)


def line_of(t: Term, derivation: Derivation, lines: dict[Term, str]) -> str | None:
    """sin(2·x), made of 2·sin(x)·cos(x) → "f.py:3": the user's line at which a term, or its origin, or its nearest
    part, stands.
    """
    became = {
        step.after: step.before for step in derivation.steps if is_term(step.after) and is_term(step.before)
    }
    stack, seen = [t], {t}
    for node in stack:  # which grows meanwhile
        if node in lines:
            return lines[node]
        parts = [became[node], *node.rands] if node in became else node.rands
        stack += [part for part in parts if part not in seen]
        seen.update(parts)
    return None
