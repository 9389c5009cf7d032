"""Where relations meet: terms that two of them rewrite, and rows that run in circles.

Source: critical pairs after Knuth & Bendix 1970. Changed from the source: sides are unified modulo the laws that ops
declare, a sum or product may hold the other side beside more (Peterson & Stickel 1981), and the pairs are joined by
the scheduler, with symbols for the variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from relgrad.authoring.grounded import FUEL, grounded, normal_form, rewritten
from relgrad.display.brief import brief
from relgrad.display.page import element, framed, joined, table
from relgrad.display.terms import coded, term_fragment
from relgrad.display.text import show
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.theory import DECLARED
from relgrad.logic.equality import canonical_key
from relgrad.logic.index import head_key
from relgrad.logic.theory import theories_of
from relgrad.logic.unify import fresh, is_variable, label_of, reify_term, unknowns
from relgrad.looks import Lazy, Shown, html, shortened
from relgrad.op import is_constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.relation import Library, Relation
from relgrad.schedule.relate import answers, rows
from relgrad.term import Term, is_term, substitute, subterms, term

ANSWERS = 3
"""So many unifiers of two sides are looked at."""
STEPS = 400
"""So much is looked for in a unifier."""
WIDTH = 60


@dataclass(frozen=True)
class Overlap(Shown):
    """log(exp(log x)), by log eˣ = x at the root and e^log x = x inside → log x, log x: a term that two rows rewrite,
    `outer` at its root and `inner` at `place`, by their names.

    `results` are what they make of it, `normal` what the scheduler makes of these.
    """

    outer: str
    inner: str
    term: Term
    place: Term
    results: tuple[Term, Term]
    normal: tuple[Term, Term]

    @property
    def joined(self) -> bool:
        """log x and log x → True: whether the scheduler makes the same of both results."""
        first, second = map(canonical_key, self.normal)
        return first == second

    def __str__(self) -> str:
        lines = [f"{_text(self.term)}: {'joined' if self.joined else 'not joined'}"]
        for name, result, normal in self.ways:
            further = "" if normal is result else f", and then {_text(normal)}"
            lines.append(f"  {name}: {_text(result)}{further}")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def ways(self) -> list[tuple[str, Term, Term]]:
        """→ [("log_of_exponential", log x, log x), …]: by each row, its result, and the normal form of that."""
        return list(zip((self.outer, self.inner), self.results, self.normal, strict=True))


class Overlaps(Lazy[Overlap]):
    """row, library → log(exp(x)): joined, …: the overlaps of a row, lazily; those not joined are `apart`."""

    nothing = "no other row meets it"

    @property
    def apart(self) -> list[Overlap]:
        """→ [overlap, …]: the overlaps whose results the scheduler does not make the same; looks at all."""
        return [overlap for overlap in self if not overlap.joined]


@dataclass(frozen=True)
class Loop(Shown):
    """a → b → a: rows that lead from a term back to it, or, of one row, to a term that it rewrites again.

    `rows` are their names in order, `terms` the terms before and after each.
    """

    rows: tuple[str, ...]
    terms: tuple[Term, ...]
    grows: bool

    def __str__(self) -> str:
        lines = [f"{'rewrites what it makes' if self.grows else 'runs in a circle'}: {' → '.join(self.rows)}"]
        widest = max(map(len, self.rows))
        pairs = zip(("", *self.rows), self.terms, strict=True)
        return "\n".join([*lines, *[f"  {row:{widest}}  {_text(t)}" for row, t in pairs]])

    __repr__ = __str__


class Loops(Lazy[Loop]):
    """rows → a → b → a, …: the loops of some rows, lazily."""

    nothing = "no row leads back"


def _text(t: Term) -> str:
    return shortened(show(t, width=10_000, limit=40).replace("\n", " "), 2 * WIDTH)


@html.register
def _(found: Overlap) -> str:
    head = element("p", coded(brief(found.term, marks={found.place: (1,)}).text), f", at 1 by {found.inner}")
    rows = [
        (coded(name), term_fragment(result), term_fragment(normal)) for name, result, normal in found.ways
    ]
    shown = joined([head, table(("row", "makes", "and then"), rows)])
    return framed(shown, "two rows on one term, " + ("joined" if found.joined else "not joined"))


@html.register
def _(found: Loop) -> str:
    rows = zip(map(coded, ("", *found.rows)), map(term_fragment, found.terms), strict=True)
    return framed(table(("row", "makes"), rows), "rows that lead back")


def overlaps_of(row: Relation, library: Library, fuel: int = FUEL) -> Iterator[Overlap]:
    """log eˣ = x, {e^log x = x} → log(exp(log x)), exp(log(exp x)): with each row, itself among them."""
    known, library = set(), library.extended(row)
    for other in reversed(library.relations):  # what is met by the simplest is read first
        for outer, inner in [(row, other), (other, row)][: 1 if other is row else 2]:
            for place in _places(outer):
                root = place is outer.left
                if root and (other is row or outer is not row):
                    continue  # both at their roots: once, and not of a row with itself
                for found in _overlapping(outer, inner, place, library, fuel):
                    key = outer.name, inner.name, canonical_key(found.term), canonical_key(found.place)
                    if key not in known:
                        known.add(key)
                        yield found


def _places(row: Relation) -> Iterator[Term]:
    """log eˣ → log eˣ, eˣ: the parts of a left side that are neither variables nor constants."""
    return (t for t in subterms(row.left) if not t.ground)


def _overlapping(
    outer: Relation, inner: Relation, place: Term, library: Library, fuel: int
) -> Iterator[Overlap]:
    if head_key(place.op) != head_key(inner.left.op):
        return
    renaming = {v: fresh(label_of(v)) for v in unknowns(inner.left)}
    other = reify_term(inner.left, renaming)
    sides = [other]
    if inner.left.op in (add, multiply):
        sides.append(term(inner.left.op, other, fresh("rest")))
    for side in sides:
        for state in islice(eq_aco(place, side, DECLARED, STEPS)({}), ANSWERS):
            patterns = reify_term(outer.left, state), reify_term(place, state)
            found = next(_results(outer, inner, patterns, library, fuel), None)
            if found is not None:
                yield found


def _results(
    outer: Relation, inner: Relation, patterns: Sequence[Any], library: Library, fuel: int
) -> Iterator[Overlap]:
    for whole, place in grounded(outer, patterns):
        part = rewritten(inner, place)
        first = rewritten(outer, whole)
        if part is None or first is None:
            continue
        second = substitute([whole], {place: part})[0]
        if second is not whole:
            normal = normal_form(first, library, fuel)[0], normal_form(second, library, fuel)[0]
            yield Overlap(outer.name, inner.name, whole, place, (first, second), normal)


def loops_of(rows: Iterable[Relation], length: int = 3, most: int = 60) -> Iterator[Loop]:
    """{a = b, b = a} → a → b → a: from each row, of up to `length` steps; `most` terms are looked at."""
    library = Library(rows)
    known = set()
    for row in library:
        start = next((sides[0] for sides in grounded(row, (row.left,))), None)
        first = None if start is None else rewritten(row, start)
        if start is None or first is None:
            continue
        for loop in _from(row, start, first, library, length, most):
            key = frozenset(loop.rows), loop.grows
            if key not in known:
                known.add(key)
                yield loop


def _from(
    row: Relation, start: Term, first: Term, library: Library, length: int, most: int
) -> Iterator[Loop]:
    home = canonical_key(start)
    paths: list[tuple[tuple[str, ...], tuple[Term, ...]]] = [((row.name,), (start, first))]
    seen = {home, canonical_key(first)}
    if canonical_key(first) == home:
        yield Loop(*paths[0], grows=False)
        return
    for names, terms in paths:
        for name, new in _steps(terms[-1], library):
            key = canonical_key(new)
            path = (*names, name), (*terms, new)
            if key == home:
                yield Loop(*path, grows=False)
            elif names == (row.name,) and name == row.name:
                yield Loop(*path, grows=True)
            elif key not in seen and len(names) + 1 < length and len(paths) < most:
                seen.add(key)
                paths.append(path)


def _steps(t: Term, library: Library) -> Iterator[tuple[str, Term]]:
    """log(exp x) → ("log_of_exponential", x), …: each row's name, and its result at each place of a term."""
    for place in subterms(t):
        if is_constant(place) or not place.rands:
            continue
        readings = theories_of(place.op)
        for found in answers(lambda v, m: rows(place, v, m, library, _unheard, readings)):  # noqa: B023
            if is_term(found.term) and not is_variable(found.term):
                yield found.name, substitute([t], {place: found.term})[0]


def _unheard(name: str, place: Term, error: Exception) -> None:
    """a row that raises → nothing: a place at which a row raises is left alone."""
