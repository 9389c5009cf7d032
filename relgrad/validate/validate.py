"""The program as written and the program as rewritten, evaluated side by side; what makes them differ is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from relgrad.conventions import Conventions
from relgrad.display.text import show
from relgrad.errors import RelgradWarning, WrongRewrite, is_users, readable, warn
from relgrad.relation import Library
from relgrad.schedule import NAIVE, Left, Strategy
from relgrad.step import Derivation, Step
from relgrad.term import Term
from relgrad.types import ArrayType
from relgrad.validate.blame import MOVES, Guilty, differentiated, explicit, guilty_steps, line_of
from relgrad.validate.blocks import in_blocks
from relgrad.validate.conditioning import Difference, Written
from relgrad.validate.points import Sample, Values

ENOUGH = 2
"""Every entry is looked at at so many points, as far as it has a value there."""
AFFORDABLE = 1 << 17
"""So many entries are computed at each point: programs of more are tried in blocks, or at one point."""
LARGEST = 1 << 22
"""Programs of more entries are tried in blocks only."""
SUSPECTED = 1 << 26
"""Programs of more are not tried as they are, though they differ in blocks."""
REPORT = "please report this, with the function and the relation: a relation must never change a value"
MEND = f"{REPORT}; if it is yours, relgrad.check(relation) finds where its sides differ"


class Program(Protocol):
    """run([x]) → [f(x)]: all that a trace became: a derivation, and a function of the arrays that stand for its
    inputs.
    """

    derivation: Derivation

    def run(self, arrays: Sequence[Any]) -> list[Any]: ...


class Fault(NamedTuple):
    """point → written and rewritten differ: a point at which a program is wrong, where it differs there, or its
    exception.
    """

    point: Values
    difference: Difference | None
    error: Exception | None = None


@dataclass(frozen=True)
class Subject:
    """make(strategy, left) → program: the roots as written, with their inputs, and how a program is made of them.

    `make` returns the program that a strategy finds without the moves that are left out. `lines`
    gives the user's lines of terms, `where` that of the function, `name` what it is called. Where it is not `tried`,
    only what raises is left out.
    """

    roots: Sequence[Term]
    inputs: Sequence[Term]
    sample: Sample
    strategy: Strategy
    library: Library
    conventions: Conventions
    name: str
    make: Callable[[Strategy, Left], Any]
    lines: Callable[[], dict[Term, str]]
    where: str | None = None
    tried: bool = True


def validated(subject: Subject) -> Any:
    """program(x) = written(x) at random x, wherever that is well-conditioned:
    the program without the moves that break this.

    Warns `WrongRewrite` of each. What the program as written raises, when it is differentiated or compiled, is raised.
    """
    return _Validation(subject).program()


class _Validation:
    """subject → program: one subject, its program as written, and the points at which that has values."""

    def __init__(self, subject: Subject):
        self.subject = subject
        self.rng = np.random.default_rng(20)
        self.written: Written | None = None
        self.points: list[tuple[Values, list[Any]]] | None = None

    def program(self) -> Any:
        """right → the program; wrong → without the moves at fault; wrong all the same → as written."""
        program, error = self._made(frozenset())
        fault = self._fault(program, error)
        if fault is None:
            return program
        # What cannot be made as written either is the user's to mend, and raises here.
        naive = self.subject.make(NAIVE, frozenset())
        if self._fault(naive, None) is not None:
            # Not the rewriting's doing: what the caller's arrays make of it will tell.
            if fault.difference is not None:
                self._tell(
                    f"{self.subject.name} is compiled to something else than is written",
                    f"{_seen(fault, self.subject.inputs)}; an op whose `source` is not its `perform` does that",
                )
            return program or naive
        for left, guilty in self._remedies(program, fault):
            better = self._right(left)
            if better is not None:
                self._warn(fault, guilty, program)
                return better
        self._warn(fault, [], program)
        return naive

    def _made(self, left: Left) -> tuple[Any, Exception | None]:
        """left → (program, None), or (None, the exception) where it raises; as written, it may raise."""
        try:
            return self.subject.make(self.subject.strategy, left), None
        except RelgradWarning:  # one that the caller has made an error
            raise
        except Exception as error:
            if self.subject.strategy == NAIVE:
                raise
            return None, error

    def _tell(self, what: str, cause: str, where: str | None = None, cure: str = REPORT) -> None:
        """Warn of a program that is not what is written."""
        warn(WrongRewrite, what, where=where or self.subject.where or "<unknown>", cause=cause, cure=cure)

    def _right(self, left: Left) -> Any:
        """Return the program without some moves if it is right, or None."""
        program, error = self._made(left)
        return program if self._fault(program, error) is None else None

    def _found_points(self, written: Written) -> list[tuple[Values, list[Any]]]:
        """→ [(point, values), …] until each entry is finite at ENOUGH of them:
        points where the program as written has values, which cover them where nothing overflows on the way.

        Points at which no entry is finite tell of shapes only: one of them stands for all if there are no others.
        """
        covered: list[Any] | None = None
        points: list[tuple[Values, list[Any]]] = []
        idle: list[tuple[Values, list[Any]]] = []
        for point in self.subject.sample.points(self.rng):
            overflows: list[str] = []
            values = written.at(point, lambda kind, _, seen=overflows: seen.append(kind))
            if values is None:
                continue
            some = any(np.isfinite(x).any() for x in values)
            (points if some else idle).append((point, values))
            if overflows or not some:
                continue  # differences say little there
            known = [np.isfinite(x).astype(int) for x in values]
            covered = known if covered is None else [a + b for a, b in zip(covered, known, strict=True)]
            if all(np.all(n >= (ENOUGH if written.entries <= AFFORDABLE else 1)) for n in covered):
                break
        return points or idle[:1]

    def _fault(self, program: Any, error: Exception | None) -> Fault | None:
        """program(x) ≠ written(x) → Fault: where a program is wrong, and nearby too; None where it is right as far as
        can be told.
        """
        subject = self.subject
        if program is None:
            return Fault({}, None, error)
        if not subject.tried or any(None in x.type.shape for x in subject.inputs):
            return None
        if self.written is None:
            values = differentiated(subject.roots)
            roots, values = (explicit(ts, subject.conventions) for ts in (subject.roots, values))
            self.written = Written(roots, values)
        size = self.written.entries
        if size > AFFORDABLE:
            agree = self._agree_in_blocks(program)
            if agree or size > (LARGEST if agree is None else SUSPECTED):
                return None
        if self.points is None:
            self.points = self._found_points(self.written)
        # What doubled numbers mend at one point stands by itself at another.
        plain = Written(program.derivation.after) if program.derivation.guards else None
        for point, values in self.points:
            fault = self._fault_at(program, plain, point, values)
            if fault is not None:
                near = subject.sample.near(point, self.rng)
                again = self.written.at(near)
                if again is not None and self._fault_at(program, plain, near, again) is not None:
                    return fault
        return None

    def _agree_in_blocks(self, program: Any) -> bool | None:
        """f = g at small extents → True: they need not agree where extents became numbers; None is unknown."""
        assert self.written is not None
        sample = self.subject.sample
        found = (
            None if sample.assumed else in_blocks(sample.given, self.written.roots, program.derivation.after)
        )
        if found is None:
            return None
        given, roots, others = found
        written, rewritten, tried = Written(roots), Written(others), 0
        for point in Sample(list(given), list(given.values())).points(self.rng):
            values, got = written.at(point), rewritten.at(point)
            if values is None or got is None:
                continue
            if written.difference(point, values, got, others) is not None:
                return False
            tried += all(np.all(np.isfinite(x)) for x in values)
            if tried == ENOUGH:
                return True
        return None

    def _fault_at(
        self, program: Any, plain: Written | None, point: Values, values: Sequence[Any]
    ) -> Fault | None:
        """program(point) ≠ values → Fault: where a program is wrong at a point, by itself or as it is without doubled
        numbers, `plain`, or raises there; or None.
        """
        assert self.written is not None
        try:
            with np.errstate(all="ignore"):
                got = program.run([np.array(point[x])[()] for x in self.subject.inputs])
        except Exception as error:
            nothing = [np.full(np.shape(x), np.nan) for x in values]
            return Fault(point, None, error) if self.written.difference(point, values, nothing) else None
        after = program.derivation.after
        difference = self.written.difference(point, values, got, after)
        if difference is None and plain is not None and (alone := plain.at(point)):
            alone = [np.where(np.isfinite(x), x, y) for x, y in zip(alone, got, strict=True)]
            difference = self.written.difference(point, values, alone, after)
        return None if difference is None else Fault(point, difference)

    def _remedies(self, program: Any, fault: Fault) -> Iterator[tuple[Left, list[Guilty]]]:
        """[step₁ here], [step₁ everywhere], [half of the rows], … → what might be left out, with the steps that it is.

        Steps that differ at the fault, at their places, then everywhere; then the one move without which it is right.
        """
        if program is not None:
            guilty = list(guilty_steps(program.derivation, fault.point, self.subject.conventions))
            if guilty:
                yield frozenset([(g.step.name, g.step.before) for g in guilty]), guilty
                yield frozenset([(g.step.name, None) for g in guilty]), guilty
            steps = {s.name: s for s in reversed(program.derivation.steps) if s.move in MOVES}
        else:
            steps = {row.name: Step("relation", row.name, None, None) for row in self.subject.library}
        names = list(steps)
        while len(names) > 1:
            half = names[: len(names) // 2]
            names = half if self._right(_everywhere(half)) is not None else names[len(half) :]
        yield _everywhere(names), [Guilty(steps[name], None) for name in names]

    def _warn(self, fault: Fault, guilty: Sequence[Guilty], wrong: Any) -> None:
        """[guilty] → WrongRewrite: says once of each move at fault its place and how it showed;
        or that nothing is rewritten.
        """
        subject = self.subject
        lines = subject.lines() if guilty else {}
        rows = {row.name: row.place for row in subject.library}
        for g in {g.step.name: g for g in reversed(guilty)}.values():
            before, after = g.step.before, g.step.after
            row = f"{g.step.move} {g.step.name}" + (
                f" ({readable(rows[g.step.name])})" if g.step.name in rows else ""
            )
            place = None if before is None else line_of(before, wrong.derivation, lines)
            changed = "" if before is None else f"{_shown(before)} became {_shown(after)}; "
            self._tell(
                f"{row} changed what {subject.name} computes, and is left out of it",
                changed + _seen(fault, subject.inputs),
                place,
                MEND if is_users(rows.get(g.step.name, "<relgrad ")) else REPORT,
            )
        if not guilty:
            self._tell(
                f"rewriting changed what {subject.name} computes, which is used as it is written",
                _seen(fault, subject.inputs),
            )


def _everywhere(names: Sequence[str]) -> Left:
    return frozenset([(name, None) for name in names])


def _shown(t: Any) -> str:
    """Return a term as text, with its type."""
    text = show(t, width=80, limit=12).replace("\n", " ")
    return f"{text} of {t.type}" if isinstance(t.type, ArrayType) else text


def _seen(fault: Fault, inputs: Sequence[Term]) -> str:
    """Fault → "at random inputs (x of shape (3,)) entry [1] of output 0 is 1 as written and 2 as rewritten":
    in words.
    """
    shapes = ", ".join(f"{x.op.name} of shape {x.type.shape}" for x in inputs)
    at = f"at random inputs ({shapes})" if inputs else "when it is computed"
    if fault.error is not None:
        return f"{type(fault.error).__name__}: {fault.error}"
    if fault.difference is None:
        return at
    output, entry, a, b = fault.difference
    if np.shape(a) != np.shape(b):
        return f"{at} output {output} is of shape {np.shape(a)} as written and {np.shape(b)} as rewritten"
    return f"{at} entry {list(entry)} of output {output} is {a:.8g} as written and {b:.8g} as rewritten"
