"""Derivations that hold: replayed without a search, verified step by step, saved and loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from relgrad.balls.graph import enclose
from relgrad.conventions import DEFAULT
from relgrad.display.text import show
from relgrad.errors import DerivationError, OpError
from relgrad.gradient import flows_of, is_implicit
from relgrad.leaf import Input
from relgrad.logic.equality import equal_ground
from relgrad.logic.theory import theories_of
from relgrad.looks import Shown, shortened
from relgrad.op import Project
from relgrad.relation import Library
from relgrad.schedule import replay
from relgrad.schedule.relate import answers, rows
from relgrad.schedule.schedule import moves
from relgrad.step import Derivation, Step
from relgrad.term import Term, is_term, reachable
from relgrad.types import ArrayType
from relgrad.validate.blame import explicit
from relgrad.validate.conditioning import NOTHING, Written
from relgrad.validate.points import Sample, Values
from relgrad.validate.saved import read, written

LARGEST = 1 << 12
"""Sides of more entries are compared in floats, not in balls."""
ALIKE, APART = 2.0**-40, 2.0**-30
"""Constants of a row are floats: sides that agree so far are equal, and such as are farther apart are not."""


@dataclass(frozen=True)
class Checked:
    """(log(eˣ) → x, True, 3): a step as verified: whether its row matches again, at how many points its sides agree, a
    fault.

    `matched` is None of a move that is no match, and of rows that the library lacks.
    """

    step: Step
    matched: bool | None
    points: int
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the step."""
        return self.matched is not False and not self.fault


@dataclass(frozen=True)
class Verified(Shown):
    """5 steps: 4 match again, 5 agree at 15 points → ok: a derivation as it was verified; its `str` says so.

    And names what does not hold.
    """

    steps: tuple[Checked, ...]
    replayed: str = ""
    """What is wrong with the whole; empty where its steps lead from the roots before to those after."""

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against any step, and their whole."""
        return not self.replayed and all(checked.ok for checked in self.steps)

    def __str__(self) -> str:
        """→ "5 steps: 4 match again, …", and a line for each step that does not hold."""
        matched = sum(checked.matched is True for checked in self.steps)
        tried = sum(checked.points > 0 for checked in self.steps)
        points = sum(checked.points for checked in self.steps)
        lines = [
            f"{len(self.steps)} steps: {matched} match again, {tried} agree at {points} points",
            self.replayed or "replayed, they lead from the program before to the program after",
        ]
        for i, checked in enumerate(self.steps, 1):
            if not checked.ok:
                faults = [*["it does not match there"] * (checked.matched is False), checked.fault]
                lines.append(f"step {i}, {checked.step.name}: {'; '.join(filter(None, faults))}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class Proof(Derivation):
    """proof.verify().ok = True where each step is true:
    a derivation with the library that it used, if that is at hand.
    """

    library: Library | None = field(default=None, compare=False)

    @classmethod
    def of(cls, derivation: Derivation, library: Library | None = None) -> Self:
        """Return a derivation as a proof."""
        parts = {f.name: getattr(derivation, f.name) for f in fields(Derivation)}
        return cls(**parts, library=library)

    def replay(self) -> tuple[Term, ...]:
        """proof.replay() = proof.after: the roots that the steps make of those before, without a search.

        Raises DerivationError where they are not.
        """
        try:
            found = replay(self).after
        except DerivationError:
            raise
        except Exception as error:  # whatever an op says of operands that are not its own
            raise DerivationError(
                f"replayed, the derivation raises {type(error).__name__}: {error}",
                cause="its steps do not fit together",
                cure="derive it again",
            ) from error
        for new, old in zip(found, self.after, strict=True):
            if new is not old:
                raise DerivationError(
                    f"replayed, the derivation ends in {_short(new)}",
                    cause=f"it says {_short(old)}",
                    cure="derive it again: it may be of another version, or its steps have been changed",
                )
        return found

    def verify(self, seed: int = 0) -> Verified:
        """before = after at a few points, for each step:
        the steps are replayed, matched again, and their equations checked.

        An equation is checked at a few points in ball arithmetic, with derivatives written out; without python-flint,
        and where an op has no balls, in floats, as far as these are known there.
        """
        try:
            self.replay()
            replayed = ""
        except DerivationError as error:
            replayed = str(error)
        rng = np.random.default_rng(seed)
        steps = [*self.steps, *self.wholes]
        return Verified(tuple([self._checked(step, rng) for step in steps]), replayed)

    def _checked(self, step: Step, rng: np.random.Generator) -> Checked:
        """step → Checked: matched again, its equation tried at points; an exception is a fault."""
        try:
            matched = self._matches(step)
        except Exception as error:  # whatever a row or a rule raises
            return Checked(step, False, 0, f"it raises {type(error).__name__}: {error}")
        count, fault = 0, ""
        if _is_equation(step):
            count, fault = self._agreeing(step, rng)
        return Checked(step, matched, count, fault)

    def _matches(self, step: Step) -> bool | None:
        """log(eˣ) → x by a row → True: whether a move can be made there again with the same result;
        None where none matches.
        """
        before, library = step.before, self.library
        if step.move == "expand" and isinstance(before, tuple):
            v, g = before
            flows = flows_of(v, g, {operand for operand, _ in step.after}, self.conventions or DEFAULT)
            return [*map(tuple, flows)] == [*map(tuple, step.after)]
        if step.move == "relation":
            names = {row.name for row in library or ()}
            if library is None or step.name not in names:
                return None
            readings = theories_of(before.op) & ~max(step.within, 0)
            row = library.restricted(step.name)
            found = answers(lambda v, m: rows(before, v, m, row, _ignored, readings))
            if step.within < 0:  # the parts of a wide sum are matched among others
                return any(equal_ground(x.term, step.after) for x in found) or None
            # What flows back is fitted to the array, and more may have been differentiated than the row says.
            of_gradient = is_term(before) and type(before.op) is Project and is_implicit(before.rands[0])
            return any(x.term is step.after for x in found) or (None if of_gradient else False)
        if step.move == "simplify" or step.move == "fold":
            found = moves(before, library or Library([]))
            alike = any(x.name == step.name and x.term is step.after for x in found)
            return alike or (None if step.within or library is None else False)
        return None

    def _agreeing(self, step: Step, rng: np.random.Generator) -> tuple[int, str]:
        """log(eˣ) → x → (4, ""): at how many points the sides of a step agree, and a point at which they do not."""
        try:
            before, after = (explicit([t], self.conventions or DEFAULT) for t in (step.before, step.after))
        except Exception:  # what cannot be differentiated is judged by what it is part of
            return 0, ""
        inputs = [t for t in reachable(*before, *after) if type(t.op) is Input]
        inputs.sort(key=lambda t: (t.op.label, repr(t.type)))
        if any(None in t.type.shape for t in inputs):
            return 0, ""
        count = 0
        for point in Sample(inputs, assumed=self.assumed).points(rng):
            agree = _agree(before, after, point, step.move != "fold")
            if agree is False:
                values = ", ".join(
                    f"{t.op.label} = {np.array2string(x, precision=4)}" for t, x in point.items()
                )
                return count, f"its sides differ at {values}"
            count += agree is True
        return count, ""

    def to_json(self) -> str:
        """from_json(proof.to_json()) = proof, without its library: text in the format of `relgrad.validate.saved`.

        Raises DerivationError for an op that exists in this process only.
        """
        return written(self)

    @classmethod
    def from_json(cls, text: str, library: Library | None = None) -> Self:
        """Return the derivation that a text stands for; raises DerivationError for what is none."""
        return cls(**read(text), library=library)

    def save(self, path: str | Path) -> None:
        """Write the derivation to a file; raises what `to_json` raises."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(), self.library)


def _is_equation(step: Step) -> bool:
    sides = step.before, step.after
    arrays = all(is_term(t) and isinstance(t.type, ArrayType) for t in sides)
    return arrays and step.move not in ("expand", "convention")


def _agree(before: Sequence[Term], after: Sequence[Term], point: Values, in_balls: bool) -> bool | None:
    """(log(eˣ), x, {x: 2}) → True: whether two programs agree at a point; None where that is not known well there."""
    program = Written(before)
    if (
        in_balls
        and program.entries <= LARGEST
        and (agree := _agree_in_balls(before, after, point)) is not None
    ):
        return agree
    values, got = program.at(point), Written(after).at(point)
    if values is None or got is None or not any(np.any(np.isfinite(x)) for x in values):
        return None
    return program.difference(point, values, got, after) is None


def _agree_in_balls(before: Sequence[Term], after: Sequence[Term], point: Values) -> bool | None:
    """|a − b| ≤ ALIKE·(|a| + |b|) → True, > APART·(|a| + |b|) → False, else None: judged in ball arithmetic."""
    try:
        sides = [enclose(roots, point, limit=512) for roots in (before, after)]
    except (OpError, ValueError, TypeError, ArithmeticError):
        return None
    known = [x.settled & y.settled for x, y in zip(*sides, strict=True)]
    if not any(map(np.any, known)):
        return None
    pairs = [
        (abs(a - b), abs(a) + abs(b))
        for x, y, both in zip(*sides, known, strict=True)
        for a, b in zip(x.balls[both], y.balls[both], strict=True)
    ]
    # Rounded constants may leave of two summands what is next to nothing.
    if any(apart > APART * size and apart > NOTHING for apart, size in pairs):
        return False
    return True if all(apart <= ALIKE * size or apart.contains(0) for apart, size in pairs) else None


def _ignored(*_: Any) -> None:
    """Take no note of what a row raises: it does not match, then."""


def _short(t: Term) -> str:
    return shortened(show(t, width=10_000, limit=16).split("\n")[0], 100)
