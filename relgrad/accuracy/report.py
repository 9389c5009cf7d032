"""What a check found, as a value that prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relgrad.looks import Shown

WORSE = 2.0
"""A side is called worse than another if it loses more bits than that: less is how roundings happen to fall."""
CURE = 'say what it states in a docstring, and where that is shown: @rg.relation(source="…")'
"""What a row lacks that is refused."""


class Witness(NamedTuple):
    """x = 2: left 1, right 3 → inputs at which an equation is false, and its sides there.

    `subject` is the program that it makes wrong, if not its own sides, and `result` what it becomes, as text.
    """

    why: str
    inputs: dict[str, Any]
    left: str
    right: str
    subject: str = ""
    result: str = ""

    def __str__(self) -> str:
        """→ "the sides differ at x = 2: left 1, right 3 / program … / becomes …"."""
        sides = f": left {self.left}, right {self.right}" if self.left or self.right else ""
        lines = [f"{self.why} at {assignments(self.inputs)}{sides}"]
        for name, text in (("program", self.subject), ("becomes", self.result)):
            if text:
                lines.append(f"{name:10} {text}".replace("\n", "\n             "))
        return "\n  ".join(lines)


class Box(NamedTuple):
    """|left − right| ≤ 2^(−bits) for all x in [0.5, 1]: a box on which the sides of an equation are that near."""

    sides: dict[str, tuple[float, float]]
    bits: int

    def __str__(self) -> str:
        where = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in self.sides.items())
        return f"to 2^-{self.bits} for all {where}"


class Loss(NamedTuple):
    """How many bits are lost where most are."""

    bits: float
    inputs: dict[str, Any]


@dataclass(frozen=True)
class Check(Shown):
    """check(row).ok → the row was not refuted: all that is known of a relation; a test asserts `ok`.

    A row that is `without` a docstring or a source is refused: nobody could say what it should be checked against.
    `before` and `after` are the errors in bits of its left and right side, at the same points. Of `subjects` random
    programs that hold the left side, the relation was applied in `matched`.
    """

    name: str
    source: str
    points: int
    compared: int
    witness: Witness | None
    before: Any
    after: Any
    worst: Loss | None
    subjects: int = 0
    matched: int = 0
    without: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the two sides were equal wherever they were compared, which was somewhere, and nothing is missing."""
        compared = self.compared > 0 or (not self.points and self.matched > 0)
        return self.witness is None and compared and not self.without

    @property
    def coverage(self) -> float:
        """The part of the samples at which both sides were known well enough to be compared."""
        return self.compared / self.points if self.points else 0.0

    @property
    def gain(self) -> float:
        """How many bits the right side wins on the average."""
        return float(np.mean(self.before - self.after)) if len(self.before) else 0.0

    @property
    def better(self) -> float:
        """The part of the samples at which the right side wins more than two bits."""
        return _part(self.before - self.after > WORSE)

    @property
    def worse(self) -> float:
        """The part of the samples at which the right side loses more than two bits."""
        return _part(self.after - self.before > WORSE)

    @property
    def verdict(self) -> str:
        """→ "false", "refused", "not refuted" or "never defined"."""
        if self.witness:
            return "false"
        if self.without:
            return "refused"
        return "not refuted" if self.ok else "never defined"

    @property
    def findings(self) -> list[tuple[str, str]]:
        """→ [("compared", "at 96 of 96 points of its domain"), …]: all that was found, but for a witness, by name."""
        box, *others = self.boxes or ("",)
        more = f", and on {len(others)} more" if others else ""
        wins = f"{self.gain:.1f} bits on average; more than {WORSE:.0f} at {self.better:.0%} of the points"
        worst = self.worst if self.worst and self.worst.bits > WORSE else None
        programs = f"in {self.matched} of {self.subjects} random programs that it may stand in"
        found = [
            ("refused", f"it has no {' and no '.join(self.without)}: {CURE}" if self.without else ""),
            ("compared", f"at {self.compared} of {self.points} points of its domain" if self.points else ""),
            ("proved", f"{box}{more}"),
            ("applied", programs if self.subjects else ""),
            ("wins", f"{wins}, loses as much at {self.worse:.0%}" if len(self.before) else ""),
            ("loses", f"{worst.bits:.1f} bits at {assignments(worst.inputs)}" if worst else ""),
        ]
        return [(name, said) for name, said in found if said]

    def __str__(self) -> str:
        """→ "name: not refuted / compared at 96 of 96 points of its domain / wins 12.0 bits on average; …"."""
        lines = [f"{self.name}: {self.verdict}", *([f"  {self.witness}"] if self.witness else [])]
        return "\n".join([*lines, *[f"  {name:10} {said}" for name, said in self.findings]])

    __repr__ = __str__


def _part(condition: Any) -> float:
    return float(np.mean(condition)) if len(condition) else 0.0


def checks_table(checks: Sequence[Check]) -> str:
    """[Check, …] → one line each: verdict, coverage, bits won on average, how often it wins and loses."""
    rows = [
        (c.name, c.verdict, f"{c.coverage:.0%}", f"{c.gain:.1f}", f"{c.better:.0%}", f"{c.worse:.0%}")
        for c in checks
    ]
    return table(("relation", "verdict", "compared", "bits won", "wins", "loses"), rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, numbers to the right.

    >>> print(table(("name", "bits"), [("x", "1.5"), ("total", "12.0")]))
    name   bits
    x       1.5
    total  12.0
    """
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    left = [all(not row[i][:1].isdigit() for row in rows) for i in range(len(head))]
    lines = [
        "  ".join(
            v.ljust(w) if to_left else v.rjust(w) for v, w, to_left in zip(row, widths, left, strict=True)
        )
        for row in (head, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def assignments(inputs: dict[str, Any]) -> str:
    """Return inputs as they would be typed."""
    return ", ".join(f"{name} = {_typed(x)}" for name, x in inputs.items()) or "no input"


def _typed(x: Any) -> str:
    if isinstance(x, tuple):
        return repr(x)
    return np.array2string(np.asarray(x), separator=", ", threshold=12).replace("\n", "")
