"""Reasons: why a relation does not fire, place by place, and the least change that would let it.

A place is looked at as the scheduler does, gate by gate: the heads that the left side needs, its match, its
conditions, and whether what it makes is another term. Where nothing matches, pattern and place are aligned part by
part, so that the one part without a partner is seen beside what stands there instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice, permutations, zip_longest
from typing import Any, NamedTuple

from relgrad.bounds import in_words, is_empty, meet, range_of
from relgrad.display.rows import condition_name
from relgrad.display.text import show
from relgrad.errors import readable
from relgrad.explore.spellings import rewordings
from relgrad.leaf import Anchor, Input
from relgrad.logic.build import build_product, build_sum, number_term
from relgrad.logic.group import ProductView, SumView
from relgrad.logic.index import Index
from relgrad.logic.match import match
from relgrad.logic.rewrite import rewrites
from relgrad.logic.theory import PRODUCT, SUM, theories_of
from relgrad.logic.unify import State, is_variable, label_of, reify_term, unify_terms, unknowns
from relgrad.logic.view import is_wide, product_of, sum_of
from relgrad.looks import Lazy, Listed, Shown, shortened
from relgrad.ops.arithmetic import add, multiply
from relgrad.relation import Library, Relation
from relgrad.schedule import schedule
from relgrad.schedule.keys import operand_keys
from relgrad.schedule.relate import Found, relate
from relgrad.schedule.schedule import moves
from relgrad.step import Derivation
from relgrad.term import Term, is_term, reachable, substitute, subterms, term
from relgrad.types import NONNEGATIVE, POSITIVE, ArrayType, Interval

PLACES = 4000
"""So many places are looked at, those of the program as written first."""
STATES = 32
"""So many ways in which a left side matches are tried against its conditions."""
NEAR = 3
"""So many places are told of at which a left side almost matches."""
WIDTH = 60
"""A text of a term is cut where it is longer."""
TRIALS = 200
"""So many equations are tried for one that lets a row fire."""

FIRED, CONDITION, RESULT, ORDER, FUEL = "fired", "condition", "no gain", "order", "fuel"
RAISED, LEFT_OUT, PATTERN, HEAD = "raised", "left out", "pattern", "head"
GATES = (FIRED, CONDITION, RESULT, ORDER, FUEL, RAISED, LEFT_OUT, PATTERN, HEAD)
"""What a place may tell of a row, the nearest to its firing first."""

_RANGES = {"positive": POSITIVE, "nonnegative": NONNEGATIVE, "negative": -POSITIVE}


@dataclass(frozen=True)
class Reason(Shown):
    """(row, condition, place, "positive(x) is not known to hold", "with assume=…") → why a row did not fire at a place.

    `gate` is one of `GATES`; `place` is None, and `where` empty, of a program without any place. `change` is empty
    where none was found.
    """

    row: str
    gate: str
    place: Term | None
    where: str
    text: str
    change: str = ""

    def __str__(self) -> str:
        at = f"{readable(self.where)}: " if self.where else ""
        head = f"{at}{_text(self.place)}\n" if self.place is not None else ""
        change = f"\nit would fire {self.change}" if self.change else ""
        return head + "\n".join(f"  {line}" for line in (self.text + change).split("\n"))


class Reasons(Listed[Reason]):
    """[Reason, …] → "row did not fire / …": the reasons of a row at the places of a program, the nearest to its firing
    first.
    """

    def __init__(self, row: str, reasons: Iterable[Reason]):
        super().__init__(reasons)
        self.row = row

    @property
    def fired(self) -> bool:
        """Whether the row fired anywhere."""
        return any(reason.gate == FIRED for reason in self)

    def __str__(self) -> str:
        return "\n".join([f"{self.row} {'fired' if self.fired else 'did not fire'}", *map(str, self)])


class Rewrites(Lazy[Found]):
    """log(eˣ) → "name: x — why": all moves at a place, lazily; printed one a line: its name, its result, and why."""

    nothing = "nothing can be done here"

    def __init__(self, found: Iterable[Found], place: Term, library: Library):
        super().__init__(found)
        self.place, self.library = place, library

    def _slice(self, members: Iterable[Found]) -> Rewrites:
        return Rewrites(members, self.place, self.library)

    def _text(self, member: Found) -> str:
        return f"{member.name}: {_text(member.term)} — {member.why}"


def rewrites_of(t: Term, library: Library) -> Rewrites:
    """Return all that can be done at the root of a term: rows and simplifications, the most specific first."""
    return Rewrites(moves(t, library), t, library)


def reasons(row: Relation, derivation: Derivation, library: Library, lines: Mapping[Term, str]) -> Reasons:
    """Return why a row did or did not fire at the places of a derivation, with the lines of the user's code."""
    return Reasons(row.name, _Trial(row, derivation, library, lines).reasons())


def nearest_rows(place: Term, library: Library, lines: Mapping[Term, str], count: int = NEAR) -> list[Reason]:
    """place → [Reason, …]: for the rows that come nearest to firing at a place why they do not;
    at least half of each is there.
    """
    nothing = Derivation((place,), (place,), ())
    found: list[tuple[float, Reason, _Trial]] = []
    for row in library:
        trial = _Trial(row, nothing, library, lines)
        near = trial.at(place, 0)
        if near is not None and near[0] >= 0.5 and trial.fires(place) is None:
            found.append((*near, trial))
    found.sort(key=lambda near: (-near[0], near[1].row))
    return [trial.with_change(reason) for _, reason, trial in found[:count]]


class _Trial:
    """row, derivation → reasons: a row held against the places of a derivation."""

    def __init__(self, row: Relation, derivation: Derivation, library: Library, lines: Mapping[Term, str]):
        """steps → moves {place: [step, …]}, and an index of the one row."""
        self.row, self.derivation, self.library = row, derivation, library
        self.lines = {_unanchored(t): line for t, line in lines.items()}
        self.index = Index([row.pattern])
        self.moves: dict[Term, list[Any]] = {}
        for step in derivation.steps:
            if is_term(step.before):
                self.moves.setdefault(step.before, []).append(step)

    def reasons(self) -> list[Reason]:
        """→ [Reason at each place where it matched], or the nearest misses, or that the program lacks its head."""
        places = _places(self.derivation)
        found = [near for t, within in places.items() if (near := self.at(t, within)) is not None]
        missed = [near for near in found if near[1].gate == PATTERN]
        missed.sort(key=lambda near: -near[0])
        told = [reason for _, reason in found if reason.gate != PATTERN]
        told.sort(key=lambda reason: GATES.index(reason.gate))
        if not told:
            told = [self.with_change(reason) for _, reason in missed[:NEAR]]
        return told or [self._without_head(places)]

    def at(self, t: Term, within: int) -> tuple[float, Reason] | None:
        """place → (0.6, Reason): how near a row came to firing there, from 0 to 1, and why it did not;
        None where it cannot.
        """
        if not t.type.differentiable or _is_wide(t):
            return None
        if any(step.name == self.row.name for step in self.moves.get(t, ())):
            return 1.0, self._reason(FIRED, t, f"became {_text(self.moves[t][0].after)}")
        theories = theories_of(t.op)
        try:
            states = self._states(t) if self.index.candidates(t, theories & ~within) else []
            if states:
                return 1.0, self._refused(t, states)
        except Exception as error:
            return 1.0, self._reason(RAISED, t, f"it raised {type(error).__name__}: {error}")
        if theories & within and self.row.pattern.kind in ("sum", "product"):
            return None  # the whole sum or product is a place of its own
        near = _aligned(self.row.left, t, {}, 0)
        if not near.points or near.points >= near.whole:
            return None
        made = [f"{step.name} made {_text(step.after)} of it" for step in self.moves.get(t, ())[:1]]
        return near.points / near.whole, self._reason(PATTERN, t, "\n".join([near.table(), *made]))

    def _reason(self, gate: str, t: Term | None, text: str, change: str = "") -> Reason:
        return Reason(
            self.row.name, gate, t, "" if t is None else self.lines.get(_unanchored(t), ""), text, change
        )

    def _states(self, t: Term) -> list[State]:
        """sin(a)·cos(a) at sin(x)·cos(x) → [{a: x}]: the states in which the left side matches, whatever the conditions
        say.
        """
        states: list[State] = []

        def note(s: State) -> Iterator[State]:
            states.append(s)
            if len(states) >= STATES:
                raise _Enough
            return iter(())

        try:
            for _ in rewrites(self.row.pattern, self.row.right, (note,), t, {}):
                pass
        except _Enough:
            pass
        return states

    def _refused(self, t: Term, states: Sequence[State]) -> Reason:
        """{a: x}, positive(a) → "positive(x) is not known to hold":
        the reason of a place at which the left side matches.
        """
        best: tuple[int, Any, State] | None = None
        for s in states:
            passed, condition = self._passed(s)
            if condition is None:
                return self._not_made(t, s)
            if best is None or passed > best[0]:
                best = passed, condition, s
        assert best is not None
        _, condition, s = best
        about = [reify_term(x, s) for x in getattr(condition, "about", ())]
        known = [
            in_words(_text(x), range_of(x))
            for x in about
            if is_term(x) and condition_name(condition) in _RANGES
        ]
        shapes = [
            f"{_text(x)} has shape {x.type.shape}" for x in about if is_term(x) and not known and x.ground
        ]
        text = "\n".join(
            [
                f"it matches with {self._bindings(s)}",
                f"{condition_name(condition)}({', '.join(map(_text, about))}) is not known to hold"
                if about
                else f"{condition_name(condition)} finds nothing for these",
                *[f"what is known: {fact}" for fact in (*known, *shapes)],
            ]
        )
        return self._reason(CONDITION, t, text, self._assumption(t, about, condition))

    def _passed(self, s: State) -> tuple[int, Any]:
        """{a: x} → (1, positive(a)): how many conditions hold one after the other, and the first that does not."""
        states = [s]
        for i, condition in enumerate(self.row.conditions):
            states = list(islice(chain.from_iterable(map(condition, states)), STATES))
            if not states:
                return i, condition
        return len(self.row.conditions), None

    def _bindings(self, s: State) -> str:
        pairs = [(label_of(v), reify_term(s[v], s)) for v in self.row.variables if v in s]
        return ", ".join(f"{name} = {_text(x)}" for name, x in pairs) or "no variables"

    def fires(self, t: Term) -> Term | None:
        """sin(x)·cos(x) → sin(2·x)/2: the row's result at a term, or None."""
        if not self.index.candidates(t, theories_of(t.op)):
            return None
        try:
            found = next(iter(rewrites(self.row.pattern, self.row.right, self.row.conditions, t, {})), None)
        except Exception:  # a row that raises does not fire
            return None
        return found.term if found else None

    def _fires_with(self, t: Term, library: Library) -> bool:
        """Whether a row of another library fires at a term that stands by itself."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.row.name in schedule([t], library).relations

    def _not_made(self, t: Term, s: State) -> Reason:
        """matches, conditions hold → left out, raised, came later, out of fuel, or no change:
        the reason of such a place.
        """
        new = self.fires(t)
        bindings = f"it matches with {self._bindings(s)}"
        if new is None:
            return self._reason(RESULT, t, f"{bindings}\nwhat it makes of the place is the place itself")
        makes = f"{bindings}\nit would make {_text(new)}"
        known = self.row.name in {row.name for row in self.library}
        others = [step for step in self.moves.get(t, ()) if step.move in ("relation", "simplify", "fold")]
        failed = [failure for failure in self.derivation.failures if failure.name == self.row.name]
        if not known:
            change = "with it in relations=" if self._fires_with(t, self.library.extended(self.row)) else ""
            return self._reason(LEFT_OUT, t, f"{makes}\nit is not in the library", change)
        if failed:
            error = failed[0].error
            return self._reason(RAISED, t, f"{makes}\nit raised {type(error).__name__}: {error}")
        if others:
            first = others[0]
            without = first.move == "relation" and self._fires_with(t, self.library.without(first.name))
            change = f"with relations=library.without({first.name!r})" if without else ""
            return self._reason(
                ORDER, t, f"{makes}\n{first.name} came first, and made {_text(first.after)}", change
            )
        if self.derivation.unfinished:
            change = "with more time or fuel" if self._fires_with(t, self.library) else ""
            return self._reason(FUEL, t, f"{makes}\n{self.derivation.unfinished}", change)
        came = [step.name for step in self.derivation.steps if step.before is new]
        if came:
            return self._reason(
                ORDER, t, f"{makes}\nwhich {came[0]} has made into something else: a circle ends here"
            )
        return self._reason(ORDER, t, f"{makes}\nwhat it stands in was rewritten before it was looked at")

    def _assumption(self, t: Term, about: Sequence[Any], condition: Any) -> str:
        """positive(x) refused → "with assume={'x': relgrad.positive}":
        an assumption under which the row fires at a place.

        Of inputs, or of the term that a condition is about; "" for none.
        """
        inputs = [x for x in subterms(*filter(is_term, about)) if type(x.op) is Input]
        inputs = [x for x in inputs if x.type.differentiable]
        for several in (1, 2):
            for some in permutations(inputs[:6], several):
                for name, known in _RANGES.items():
                    assumed = {x: _assuming(x, known) for x in some}
                    if None in assumed.values():
                        continue
                    (new,) = substitute([t], assumed)
                    if self.fires(new) is not None:
                        ranges = ", ".join(f"{x.op.label!r}: relgrad.{name}" for x in some)
                        return f"with assume={{{ranges}}}"
        known = _RANGES.get(condition_name(condition))
        if known is None or len(about) != 1 or not is_term(about[0]):
            return ""
        (u,) = about
        symbol = term(Input("u", u.type, symbol=True, range=known))
        if self.fires(substitute([t], {u: symbol})[0]) is None:
            return ""
        return f"after relgrad.assume({in_words(_text(u), known)}) in the function"

    def with_change(self, reason: Reason) -> Reason:
        """log(x·eʸ) missed → "if x·eʸ were written …": a pattern that almost matches, with an equation that lets it."""
        place = reason.place
        if place is None or reason.gate != PATTERN:
            return reason
        parts = [x for x in subterms(place) if x is not place and isinstance(x.type, ArrayType)][-12:]
        trials = chain.from_iterable(_equal(part, self.library) for part in (*reversed(parts), place))
        for name, part, new in islice(trials, TRIALS):
            (whole,) = substitute([place], {part: new})
            if whole is not place and self.fires(whole) is not None:
                return replace(reason, change=f"if {_text(part)} were written {_text(new)}, by {name}")
        return reason

    def _without_head(self, places: Iterable[Term]) -> Reason:
        """log(exp(a)), x + y → "the program has no log, no exp":
        the reason of a program in which nothing is like the left side.
        """
        there = {_head(t) for t in places}
        needed = [t for t in subterms(self.row.left) if t.rands and not theories_of(t.op)]
        missing = dict.fromkeys(str(t.op.name) for t in needed if _head(t) not in there)
        lacks = (
            f"the program has no {', no '.join(missing)}" if missing else "nothing in the program is like it"
        )
        return self._reason(HEAD, None, f"its left side is {_text(self.row.left)}\n{lacks}")


class _Enough(Exception):
    """That so many states are enough."""


class _Near(NamedTuple):
    """sin(a) + 1 beside sin(x) + 2 → 2 points of 3: a pattern beside a term, how many of its parts have partners, and a
    table.
    """

    points: int
    whole: int
    rows: tuple[tuple[int, str, str, str], ...]
    state: State

    def table(self) -> str:
        """→ "pattern  here / sin(a)   sin(x) / 1        2   ← no 1":
        pattern and place side by side, lacking partners marked.
        """
        cells = [("  " * depth + left, right, note) for depth, left, right, note in self.rows]
        wide = max(len("pattern"), *[len(left) for left, _, _ in cells])
        lines = [f"{'pattern':{wide}}  here"]
        lines += [f"{left:{wide}}  {right}{f'   ← {note}' if note else ''}" for left, right, note in cells]
        return "\n".join(line.rstrip() for line in lines)


def _aligned(p: Any, t: Any, s: State, depth: int) -> _Near:
    """sin(a) + 1, sin(x) + 2 → _Near: a pattern beside a term, each part beside the one that it is most like."""
    state = next(iter(match(p, t, s)), None)
    if state is not None:
        return _Near(_size(p), _size(p), ((depth, _text(p), _text(t), ""),), state)
    if is_variable(p):
        known = reify_term(p, s)
        return _Near(0, 1, ((depth, _text(p), _text(t), f"{_text(p)} is {_text(known)} already"),), s)
    if is_term(p) and not p.ground:
        for kind in (SUM, PRODUCT):
            if theories_of(p.op) & theories_of(t.op) & kind and len(wanted := _parts(p, kind)) > 1:
                return _shared(wanted, t, s, depth, kind)
        if type(p.op) is type(t.op) and len(p) == len(t) and (p.op == t.op or p.op._props()):
            return _operands(p, t, s, depth)
    return _Near(0, _size(p), ((depth, _text(p), _text(t), f"no {_kind(p)}"),), s)


def _operands(p: Term, t: Term, s: State, depth: int) -> _Near:
    """sin(a), sin(x) → sin(…) beside sin(…), a beside x: one op beside another of its kind, operand by operand."""
    props: Any = unify_terms(p.op, t.op, s)
    same = props is not False
    rows = [(depth, f"{p.op.name}(…)" if same else str(p.op), f"{t.op.name}(…)" if same else str(t.op), "")]
    rows = rows if same else [(*rows[0][:3], "it does something else")]
    points, state = int(same), props if same else s
    for x, y in zip(p.rands, t.rands, strict=True):
        near = _aligned(x, y, state, depth + 1)
        points, state = points + near.points, near.state
        rows += near.rows
    return _Near(points, _size(p), tuple(rows), state)


def _shared(wanted: list[Any], t: Term, s: State, depth: int, kind: int) -> _Near:
    """a·exp(b), x·exp(y) → exp(b) beside exp(y), a beside x:
    parts of a sum or product beside their likes, variables last.
    """
    there = _parts(t, kind)
    wanted.sort(key=lambda part: (is_variable(part), -_size(part)))
    rows = [(depth, "a sum of" if kind == SUM else "a product of", "", "")]
    points, state, left, lonely = 1, s, list(there), []
    for i, part in enumerate(wanted):
        if is_variable(part) and i == len(wanted) - 1 and left and depth:
            left = [reduce(add if kind == SUM else multiply, left)]
        nears = [_aligned(part, x, state, depth + 1) for x in left]
        best = max(range(len(nears)), key=lambda j: (nears[j].points, -j), default=None)
        if best is None or not nears[best].points:
            lonely.append(part)
            continue
        del left[best]
        points, state = points + nears[best].points, nears[best].state
        rows += nears[best].rows
    for part, x in zip_longest(lonely, left):
        if part is None:
            rows.append((depth + 1, "", _text(x), "no part of the pattern" if depth else "may stay"))
        else:
            rows.append((depth + 1, _text(part), "" if x is None else _text(x), f"no {_kind(part)}"))
    whole = 1 + sum(map(_size, wanted))
    return _Near(min(points, whole - 1), whole, tuple(rows), state)


def _parts(t: Term, kind: int) -> list[Any]:
    """x − 2·y → [x, −2·y]: the summands of a sum or the factors of a product, with their coefficients or exponents."""
    if kind == SUM:
        view = sum_of(t)
        parts = [build_sum(SumView(0, {x: k})) for x, k in view.terms.items()]
        return [*parts, *[number_term(view.constant)] * bool(view.constant)]
    product = product_of(t)
    parts = [build_product(ProductView(1, {b: e})) for b, e in product.factors.items()]
    return [*parts, *[number_term(product.coefficient)] * (product.coefficient != 1)]


def _size(p: Any) -> int:
    """Return of how many parts a pattern is: ops applied, and variables."""
    return sum(1 for _ in subterms(p)) + len(unknowns(p)) if is_term(p) else 1


def _places(derivation: Derivation) -> dict[Term, int]:
    """log(eˣ) + y → {log(eˣ) + y: 0, log(eˣ): 0, …}:
    the terms that a row may be tried at, with the theories around each.

    A term that is part of a larger sum or product only is one under that theory alone.
    """
    steps = [step for step in derivation.steps if is_term(step.before) and is_term(step.after)]
    roots = [*derivation.before, *chain.from_iterable((x.before, x.after) for x in steps), *derivation.after]
    places: dict[Term, int] = {}
    seen: set[Any] = set()
    for root in roots:
        stack: list[Any] = [root]
        while stack and len(places) < PLACES:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            t, within = (key, 0) if is_term(key) else key
            places[t] = places.get(t, within) & within
            stack += operand_keys(t, within)[::-1] if theories_of(t.op) else t.rands[::-1]
    return places


def _equal(part: Term, library: Library) -> Iterator[tuple[str, Term, Term]]:
    """2·x → x + x by a law, …: other ways to write a part, by a row, from left to right or back, or by a law of
    arithmetic.
    """
    for found in relate(part, library, lambda *_: None):
        yield found.name, part, found.term
    for name, new in rewordings(part, library):
        yield name, part, new


def _assuming(x: Term, known: Interval) -> Term | None:
    """x, positive → x > 0: an input of which a range is assumed as well; None where nothing new or nothing possible
    is.
    """
    both = meet(x.op.range, known)
    if both == x.op.range or is_empty(both):
        return None
    props = [both if name == "range" else x for name, x in zip(x.op.__props__, x.op._props(), strict=True)]
    return term(x.op.with_props(props))


def _unanchored(t: Term) -> Term:
    """Return a term with what it is differentiated by in place of its variables of differentiation."""
    anchors = {x: x.rands[0] for x in reachable(t) if type(x.op) is Anchor}
    return substitute([t], anchors)[0] if anchors else t


def _is_wide(t: Term) -> bool:
    return any(theories_of(t.op) & theory and is_wide(t, theory) for theory in (PRODUCT, SUM))


def _head(t: Any) -> Any:
    return t.op if t.op.elementwise else type(t.op)


def _kind(p: Any) -> str:
    return p.op.name if is_term(p) and p.rands else _text(p)


def _text(x: Any) -> str:
    text = show(x, width=10_000, limit=12).split("\n")[0] if is_term(x) or is_variable(x) else repr(x)
    return shortened(text, WIDTH)
