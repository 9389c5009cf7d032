"""A step: one applied move; a derivation: the list of them, the proof that output equals input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relgrad.looks import Shown


@dataclass(frozen=True)
class Step(Shown):
    """log(eˣ) → x by a row: one move: its relation's name, or `expand …`, `fold`, and the place before and after it."""

    move: str
    name: str
    before: Any
    after: Any
    why: str = ""
    bindings: dict[str, Any] = field(default_factory=dict)
    phase: int = 0
    """In which phase of the strategy it was made."""
    within: int = 0
    """The theories under which the place was part of a larger sum or product; -1 of some parts of a wide one."""


@dataclass(frozen=True)
class Failure:
    """(row, place, ZeroDivisionError): a move that raised at its place ⟶ the place was left as it is."""

    name: str
    place: Any
    error: Exception


@dataclass(frozen=True)
class Derivation(Shown):
    """before → steps → after: all that the scheduler did: the roots, every step in between, and the assumptions."""

    before: tuple[Any, ...]
    after: tuple[Any, ...]
    steps: tuple[Step, ...]
    assumed: tuple[tuple[Any, Any], ...] = ()
    """The terms of which the user assumes a range, and the ranges: they are among the premises."""
    decided: tuple[Any, ...] = ()
    """What the function asked of values, each with the answer for which the program is made."""
    failures: tuple[Failure, ...] = ()
    """The moves that raised, each once: the places at which they did are left as they were."""
    guards: tuple[Any, ...] = ()
    """The tests that tell whether digits cancel where relations have left sums that may."""
    wholes: tuple[Step, ...] = ()
    """Wide sums and products before and after the steps on some of their parts."""
    besides: tuple[Any, ...] = ()
    """Further roots that were rewritten together with these, such as domains."""
    phases: tuple[frozenset[Any], ...] = ()
    """The moves of each phase of the strategy."""
    conventions: Any = None
    """What was taken where analysis leaves a choice; None is the usual."""
    unfinished: str = ""
    """What ended the search before nothing was left to do; empty where nothing was."""

    @property
    def relations(self) -> list[str]:
        """The names of the relations that were applied, in order."""
        return [step.name for step in self.steps if step.move == "relation"]
