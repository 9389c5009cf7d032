"""Where in the user's code a term was made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from relgrad.errors import user_line
from relgrad.gradient import Anchor
from relgrad.leaf import Input
from relgrad.op import Symbolic
from relgrad.step import Derivation
from relgrad.term import Term, reachable, rebuild, substitute, subterms, term
from relgrad.trace.trace import trace

Lines = dict[Term, str]
"""`file:line` for each term."""


def lines_of(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Lines:
    """f → {sin(x): "f.py:3"}: the lines of a function at which its terms are made first.

    Terms do not know where they come from, since equal ones are one. So the interpreter is watched while the
    function is traced: whatever hands a symbolic array back does so to some line of the user's.
    """
    lines: Lines = {}
    with _watching(lambda result: _mark(result.term, user_line(), lines)):
        traced = trace(fun, args, kwargs)
    # While a trace lasts its inputs are its own.
    inputs = {t.op.label: t for t in traced.inputs}

    def change(old: Term, rands: tuple[Any, ...]) -> Term:
        if type(old.op) is Input:
            return inputs.get(old.op.label, old) if old.op.trace else old
        return term(old.op, *rands, type_=old.type)

    settled = dict(zip(rebuild(lines, change), lines.values(), strict=True))
    for t in traced.inputs:
        settled.pop(t, None)
    return settled


@contextmanager
def _watching(see: Callable[[Any], None]) -> Iterator[None]:
    """`with _watching(see): …` → see(array) for each symbolic array that a function returns."""

    def profile(frame: Any, event: str, value: Any) -> None:
        if event == "return" and isinstance(value, Symbolic):
            see(value)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        # A profiler written in C, as cProfile is, hands out itself, which cannot be set.
        sys.setprofile(before) if before is None or callable(before) else before.enable()


def _mark(root: Any, line: str, lines: Lines) -> None:
    """(sin(x), "f.py:3") → lines {sin(x): "f.py:3"}, and all below that has no line yet."""
    new = lambda terms: [t for t in terms if t not in lines]
    lines.update(dict.fromkeys(reachable(*new([root]), below=lambda t: new(t.rands)), line))


def lines_of_gradient(derivation: Derivation, lines: Lines) -> Lines:
    """cos(x)·g of sin(x) at f.py:3 → {cos(x)·g: "f.py:3"}:
    the lines of pullbacks' terms are those of the terms themselves.
    """
    pulled = [step for step in derivation.steps if step.move == "expand" and isinstance(step.before, tuple)]
    values = [step.before[0] for step in pulled]
    flows = [[flow for _, flow in step.after if flow is not None] for step in pulled]
    every = [*values, *[flow for some in flows for flow in some]]
    anchors = {t: t.rands[0] for t in reachable(*every) if type(t.op) is Anchor}
    plain = dict(zip(every, substitute(every, anchors), strict=True))
    found: Lines = {}
    for value, some in zip(values, flows, strict=True):
        line = lines.get(plain[value])
        for node in subterms(*[plain[flow] for flow in some]):
            if line is not None and node.rands and node not in lines:
                found.setdefault(node, line)
    return found
