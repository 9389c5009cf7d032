"""A derivation as text: each step with its relation, what stood there before and after, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from relgrad.bounds import in_words
from relgrad.display.text import show
from relgrad.errors import readable
from relgrad.looks import Shown, shortened
from relgrad.step import Derivation, Step
from relgrad.term import Term

WIDTH = 100
LIMIT = 16
"""A step shows at most this many applications of what stood before it and after; the rest is `…`."""


class Explanation(Shown):
    """f.explain(x) → "from … 1. log_of_exponential … to …": the steps, and the values of the inputs."""

    def __init__(self, derivation: Derivation, values: Mapping[Term, Any] | None = None):
        self.derivation = derivation
        self.values = values or {}

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.derivation.steps

    @property
    def relations(self) -> list[str]:
        """→ ["log_of_exponential", …]: the names of the relations that were applied, in order."""
        return self.derivation.relations

    def __str__(self) -> str:
        return explain(self.derivation)

    __repr__ = __str__

    def __len__(self) -> int:
        return len(self.steps)


def explain(derivation: Derivation, limit: int = 60) -> str:
    """derivation → "from … 1. log_of_exponential … to …"; of a very long one, the first and last steps."""
    lines = ["from", *_indented(_shown(derivation.before))]
    if derivation.assumed:
        lines += [
            "assuming",
            *[f"     {in_words(_one_line(t, 40), known)}" for t, known in derivation.assumed],
        ]
    if derivation.decided:
        lines += ["deciding", *[f"     {_decision(d)}" for d in derivation.decided[:limit]]]
        lines += [f"     … {len(derivation.decided) - limit} more …"] * (len(derivation.decided) > limit)
    steps = list(enumerate(derivation.steps, 1))
    if len(steps) > limit:
        hidden = len(steps) - limit
        steps = [*steps[: limit // 2], (0, f"… {hidden} more steps …"), *steps[-limit // 2 :]]  # type: ignore[list-item]
    for number, step in steps:
        lines += [f"  {step}"] if isinstance(step, str) else _step_lines(number, step)
    lines += ["to", *_indented(_shown(derivation.after))]
    if derivation.guards:
        lines += ["and again in doubled arithmetic, as written, where"]
        lines += [f"     {_one_line(t, 80)}" for t in derivation.guards]
    return "\n".join(lines)


def _step_lines(number: int, step: Step) -> list[str]:
    why = f" — {step.why}" if step.why else ""
    head = textwrap.wrap(f"{number}. {step.name}{why}", WIDTH, subsequent_indent="   ")
    if step.move == "expand":
        return [*head, *_expansion_lines(step)]
    return [*head, *_labelled("before", step.before), *_labelled("after", step.after)]


def _expansion_lines(step: Step) -> list[str]:
    if not isinstance(step.before, tuple):
        return [line for t in step.after if t is not None for line in _labelled("tangent", t)]
    value, _ = step.before
    lines = _labelled("value", value)
    for operand, flow in step.after:
        lines += _labelled("flow", flow, f"  to {_one_line(operand, 40)}")
    return lines


def _decision(decision: Any) -> str:
    """x > 0, True → "x > 0 is True, at f.py:3": a question, its answer, and the line that asked."""
    kind, answer = decision.term.type, decision.answer
    if isinstance(answer, bytes):
        answer = f"as in this call, of shape {kind.shape}"
    return f"{_one_line(decision.term, 48)} is {answer}, at {readable(decision.where)}"


def _labelled(label: str, t: Any, suffix: str = "") -> list[str]:
    first, *rest = _shown(t, LIMIT).split("\n")
    if suffix and len(first) + len(suffix) > WIDTH - 16:
        rest.insert(0, suffix)
    else:
        first += suffix
    return [f"     {label + ':':8} {first}", *[f"              {line}" for line in rest]]


def _one_line(t: Any, width: int) -> str:
    return shortened(_shown(t, LIMIT).split("\n")[0], width)


def _shown(t: Any, limit: int = 200) -> str:
    return show(t, width=WIDTH - 16, limit=limit)


def _indented(text: str) -> list[str]:
    return textwrap.indent(text, "     ").split("\n")
