"""What a row, or a simplification of the scheduler, makes of random programs, and whether it is equal to them.

Where the direct instance of a row is `left = right` on arrays of one shape, a subject is a program that the row is
found in. The engine's own matcher makes the other side of it, so that the goals which build right sides in Python are
on trial as rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.agree import agree
from relgrad.accuracy.instance import written_out
from relgrad.accuracy.programs import Program, around_row, around_simplification
from relgrad.accuracy.report import Witness
from relgrad.accuracy.sample import moderate
from relgrad.errors import RelgradError
from relgrad.gradient import gradient, is_implicit
from relgrad.logic.rewrite import rewrites
from relgrad.logic.theory import PRODUCT, SUM, theories_of
from relgrad.logic.unify import unknowns
from relgrad.logic.view import is_wide
from relgrad.relation import Library, Relation
from relgrad.schedule.relate import SIMPLIFICATIONS, relate_wide
from relgrad.term import Term, is_term, subterms

ANSWERS = 3
"""So many of the ways in which a row rewrites one place are tried."""
DEEPER = 10
"""By which factor more programs are tried for rows whose conditions find the right side."""
MISFITS = (RelgradError, ValueError, TypeError, IndexError, ArithmeticError)
"""What is raised where a program is made of shapes or numbers that do not go together."""


class Subject(NamedTuple):
    """y·log(eˣ) → y·x: a term, its result by a move, and the arrays in both; an error where the move raised one."""

    before: Term
    after: Any
    leaves: dict[str, Term]
    error: Exception | None = None

    @property
    def size(self) -> int:
        """How much there is to read: terms, and entries of arrays."""
        return 10 * len(list(subterms(self.before))) + sum(t.type.size for t in self.leaves.values())


class Judgement(NamedTuple):
    """(None, 32, 20) → a witness, if a subject and its result differ; how many subjects there were, and were
    matched.
    """

    witness: Witness | None
    subjects: int
    matched: int


def subjects(row: Relation, rng: np.random.Generator, count: int) -> Iterator[list[Subject]]:
    """row, 32 → [y·log(eˣ) → y·x], [], …: a row's results in each of `count` programs; empty where it does not
    match.
    """
    library = Library([row])
    deeper = any(getattr(condition, "finds", None) for condition in row.conditions)
    for _ in range(count * DEEPER if deeper else count):
        program = _fitting(lambda: around_row(row, rng))
        yield [] if program is None else list(_matched(library, program))


def simplified(name: str, rng: np.random.Generator, count: int) -> Iterator[list[Subject]]:
    """cancel, 32 → [x·y/y → x], …: a simplification's results in each of `count` programs."""
    law = next(law for law in SIMPLIFICATIONS if law.name == name)
    for _ in range(count):
        program = _fitting(lambda: around_simplification(name, rng))
        places = [t for t in subterms(program.term) if theories_of(t.op) & law.theory] if program else []
        yield [
            made
            for t in places
            if program is not None and t.type.differentiable
            for made in _tried(t, program, lambda t=t: [(t, law.make(t))])
        ]


def _fitting(make: Callable[[], Program]) -> Program | None:
    try:
        return make()
    except MISFITS:
        return None


def judged(
    made: Iterable[list[Subject]], rng: np.random.Generator, written: Callable[[Term], str]
) -> Judgement:
    """[before → after, …] → Judgement: subjects compared with their results; the witness is the smallest one that is
    wrong.
    """
    number = matched = 0
    worst: tuple[int, Witness] | None = None
    for found in made:
        number += 1
        matched += bool(found)
        for subject in found:
            if worst is not None and subject.size >= worst[0]:
                continue
            witness = _witness(subject, rng)
            if witness is not None:
                texts = [written(t) for t in (subject.before, subject.after) if t is not None]
                worst = (
                    subject.size,
                    witness._replace(**dict(zip(("subject", "result"), texts, strict=False))),
                )
    return Judgement(worst and worst[1], number, matched)


def _witness(subject: Subject, rng: np.random.Generator) -> Witness | None:
    """before, after at moderate numbers → Witness where they differ, or where the move raised; else None."""
    values = {t: moderate(rng, t.type.shape, t.op.range) for t in subject.leaves.values()}
    if subject.error is None:
        return agree(subject.before, subject.after, values).witness
    kind = type(subject.error).__name__
    return Witness(f"{kind} is raised in matching: {subject.error}", {}, "", "")


def _matched(library: Library, program: Program) -> Iterator[Subject]:
    """y·log(eˣ) → log(eˣ) → x, …: the results of the only row of a library at the terms in a program, the whole
    first.
    """
    for t in reversed(list(subterms(program.term))):
        if not t.type.differentiable:
            continue
        wide = [theory for theory in (PRODUCT, SUM) if t is program.term and is_wide(t, theory)]
        for theory in wide:
            yield from _tried(
                t,
                program,
                lambda t=t, theory=theory: [
                    (m.before, m.term) for m in relate_wide(t, library, _raised, theory)[1]
                ],
            )
        if wide:
            return
        for row in library.candidates(t, theories_of(t.op)):
            made = partial(_flows if t.rands and is_implicit(t.rands[0]) else _sides, row, t, program)
            yield from _tried(t, program, made)


def _raised(name: str, t: Term, error: Exception) -> None:
    raise error


def _sides(row: Relation, t: Term, program: Program) -> list[tuple[Term, Any]]:
    return [(t, new) for new in _answers(row, t)]


def _flows(row: Relation, t: Term, program: Program) -> list[tuple[Term, Any]]:
    """∂⟨g, v⟩/∂z = ∂⟨r, x⟩/∂z, where a row says that r flows from v to x: → both sides, for each z.

    An array z of the program is in x, and other parts of v do not depend on it.
    """
    (v,), (g,), (x,) = t.rands[0].op.parts(t.rands[0])
    pattern, _, own = row.left.rands[0].rands
    found = []
    for rewrite in islice(rewrites(row.pattern, row.right, row.conditions, t, {}), ANSWERS):
        others = [y for w in unknowns(pattern) - {own} if is_term(y := rewrite.state[w])]
        within = set(subterms(x)) - set(subterms(*others))
        for z in program.leaves.values():
            if z in within:
                found.append((gradient([(v, g)], [z])[0], gradient([(x, rewrite.term)], [z])[0]))
    return found


def _answers(row: Relation, t: Term) -> list[Any]:
    found = islice(rewrites(row.pattern, row.right, row.conditions, t, {}), ANSWERS)
    return [rewrite.term for rewrite in found]


def _tried(t: Term, program: Program, move: Callable[[], list[tuple[Any, Any]]]) -> Iterator[Subject]:
    """t, move → Subject(t, move(t)), …: a move's results at a term; an error that it raises is one of the findings."""
    try:
        made = move()
    except Exception as error:
        yield Subject(t, None, program.leaves, error)
        return
    for before, after in made:
        if after is not None and after is not before:
            old, new = written_out([before, after])
            yield Subject(old, new, program.leaves)
