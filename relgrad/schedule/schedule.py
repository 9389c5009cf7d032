"""The scheduler: interleaves relations, one-layer expansions of gradients and constant folding, with fuel.

Terms are visited bottom-up, each distinct one once for each way in which a theory reads through it, so the cost is
near linear in the size of the graph. Relations rooted in a product or sum are tried at maximal products and sums
only, since an inner match would destroy the outer one.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import isnan
from operator import is_not
from typing import Any

import numpy as np

from relgrad.calculus.increment import has_increment
from relgrad.calculus.line import along_lines
from relgrad.calculus.series import Slope, applied
from relgrad.calculus.ties import at_ties
from relgrad.calculus.univariate import in_series
from relgrad.collector import uncollected
from relgrad.conventions import DEFAULT as USUAL
from relgrad.conventions import Conventions, settled
from relgrad.errors import OutOfFuel, RelgradWarning
from relgrad.gradient import Gradient, Pullback, Pushforward, Tangents, is_implicit, packed
from relgrad.logic import (
    BAG,
    LIMIT,
    PRODUCT,
    SUM,
    head_key,
    is_masking,
    shows_elementary,
    theories_of,
    width,
)
from relgrad.op import Project, is_constant
from relgrad.relation import Library
from relgrad.schedule.definitions import by_definition, has_meaning, improved
from relgrad.schedule.fold import fold
from relgrad.schedule.keys import Key, leads_to, operand_keys
from relgrad.schedule.likeness import Likeness
from relgrad.schedule.patience import Patience
from relgrad.schedule.relate import Found, increase, relate, relate_rows, relate_wide, sink
from relgrad.schedule.strategy import (
    DEFAULT,
    EXPAND,
    FOLD,
    INCREMENT,
    LINE,
    NAIVE,
    RELATE,
    SERIES,
    SINK,
    Left,
    Strategy,
)
from relgrad.step import Derivation, Failure, Step
from relgrad.term import Term, reachable


@uncollected()
def schedule(
    roots: Sequence[Term],
    library: Library,
    strategy: Strategy = DEFAULT,
    fuel: int | None = None,
    conventions: Conventions = USUAL,
    left: Left = frozenset(),
    seconds: float | None = None,
) -> Derivation:
    """Return the derivation that a strategy finds: equal roots, without implicit gradients, stabilised.

    `fuel` bounds the number of relations applied (by default in proportion to the graph). When it runs out, the
    relation that was applied most often is set aside and the search begins anew: the result is the best program
    without it, and `OutOfFuel` says so. When `seconds` are over, no relation is looked for any more, and what has been
    found is the result, with the same warning. Where a relation raises, the place is left as it is; the derivation
    names it.

    `left` are moves that are left out: their names, each with a place, or with None for everywhere. With an empty
    library there is nothing to relate, and the strategy is `NAIVE`.
    """
    if not len(library):
        strategy = NAIVE
    size = len(reachable(*roots))
    given = fuel is not None
    if fuel is None:
        fuel = 2000 + 20 * size
    aside: list[str] = []
    defines = any(map(has_meaning, reachable(*roots)))
    library = library.without(*[name for name, place in left if place is None]) if left else library
    with Patience(seconds) as patience:
        while True:
            run = _Run(library, fuel, 0 if given else 4 * size, 1000 + 4 * size, conventions, left, patience)
            run.defines = defines
            after = list(roots)
            for moves in strategy.phases:
                if isnan(conventions.untaken):
                    moves -= {SINK}
                after = run.along(roots, after) if LINE in moves else run.saturate(after, moves)
            if any(is_implicit(node) for node in reachable(*after)):
                after = run.saturate(after, frozenset({EXPAND}))
            if run.fuel >= 0 or patience.ended:
                break
            applied = Counter(step.name for step in run.steps if step.move == "relation")
            aside += [name for name, _ in applied.most_common(1)]
            if not applied:
                break
            library = library.without(aside[-1])
    unfinished = ""
    if run.fuel < 0 or aside or patience.ended:
        spent = f"{patience.seconds:g} seconds" if patience.ended else f"{fuel} relations"
        without = f"; set aside: {', '.join(aside)}" if aside else ""
        unfinished = f"stopped after {spent}{without}"
        warnings.warn(OutOfFuel(f"{unfinished}; the program may not be fully stabilised"), stacklevel=4)
    after, steps = settled(after, conventions)
    limits = at_ties(after)
    steps += [
        Step("ties", "limit where values tie", old, new, str(new.op.program))
        for old, new in zip(after, limits, strict=True)
        if new is not old
    ]
    failures = tuple([Failure(name, *which) for name, which in run.failed.items()])
    return Derivation(
        tuple(roots), tuple(limits), (*run.steps, *steps), failures=failures, unfinished=unfinished
    )


def moves(t: Term, library: Library) -> Iterator[Found]:
    """Yield all moves that can be made at the root of a term, those that the scheduler would try first before others.

    What several moves make comes once. Moves that raise are left out.
    """
    with Patience(None) as patience:
        run = _Run(library, 0, 0, 0, USUAL, frozenset(), patience)
        seen = {t}
        for found in run.moves(t):
            if found.term not in seen:
                seen.add(found.term)
                yield found


class _Run:
    """The state of one run: fuel and steps, and what raised."""

    def __init__(
        self,
        library: Library,
        fuel: int,
        growth: int,
        affordable: int,
        conventions: Conventions,
        left: Left,
        patience: Patience,
    ):
        self.conventions, self.left, self.patience = conventions, left, patience
        self.failed: dict[str, tuple[Term, Exception]] = {}
        self.visited = 0
        self.library, self.fuel, self.growth, self.affordable = library, fuel, growth, affordable
        self.steps: list[Step] = []
        self.defines = False
        self._idle: dict[Any, bool] = {}
        self._likeness = Likeness()

    def saturate(self, roots: Sequence[Term], moves: frozenset[str]) -> list[Term]:
        """Make all moves of a phase, bottom-up, until none is left."""
        if moves <= {SINK, FOLD} and not any(_of_constants(t) or is_masking(t) for t in reachable(*roots)):
            return list(roots)
        if moves <= {EXPAND} and not any(map(is_implicit, reachable(*roots))):
            return list(roots)
        if INCREMENT in moves and not any(map(has_increment, reachable(*roots))):
            return list(roots)
        normal: dict[Key, Term] = {}
        became: dict[Key, Key] = {}
        self._idle.clear()
        for root in roots:
            self._visit(root, moves, normal, became)
        found = [normal[root] for root in roots]
        return self._in_series(found) if SERIES in moves else found

    def _visit(
        self, start: Key, moves: frozenset[str], normal: dict[Key, Term], became: dict[Key, Key]
    ) -> None:
        stack = [start]
        # What has been rewritten and waits for its successor. A relation may put a term inside its own successor,
        # as x = f(f⁻¹(x)) does; there it stays as it is.
        waiting: set[Key] = set()
        seen: set[Key] = set()
        while stack:
            key = stack[-1]
            if key in normal:
                waiting.discard(key)
                stack.pop()
                continue
            if key in became:
                successor = became[key]
                if successor in normal:
                    normal[key] = normal[successor]
                else:
                    waiting.add(key)
                    stack.append(successor)
                continue
            t, within = (key, 0) if type(key) is Term else key
            op = t.op
            theories = theories_of(op)
            operands = operand_keys(t) if theories else t.rands
            rands = [normal.get(k) for k in operands]
            if None in rands:
                missing = [
                    k for k, new in zip(operands, rands, strict=True) if new is None and k not in waiting
                ]
                if missing:
                    if theories and key not in seen:
                        seen.add(key)
                        new = self._simplified(key, t, within, moves, became)
                        if new is not None:
                            became[key] = (new, within) if within else new
                            continue
                    stack.extend(missing)
                    continue
                rands = [old if new is None else new for old, new in zip(t.rands, rands, strict=True)]
            if any(map(is_not, rands, t.rands)):
                for k, new in zip(operands, rands, strict=True):
                    normal.setdefault(new if type(k) is Term else (new, k[1]), new)
                new = op.with_rands(t, rands)
            else:
                idle = not theories and self._is_idle(op, moves)
                new = None if idle else self._move(key, t, within, moves, became)
                if new is None:
                    normal[key] = t
                    stack.pop()
                    continue
            successor = (new, within) if within else new
            if leads_to(successor, key, became):
                normal[key] = t
            else:
                became[key] = successor

    def _note(self, name: str, t: Term, error: Exception) -> None:
        # A warning that the caller has made an error, or an alarm that the caller has set.
        if isinstance(error, (RelgradWarning, TimeoutError)):
            raise error
        self.failed.setdefault(name, (t, error))

    def _is_idle(self, op: Any, moves: frozenset[str]) -> bool:
        """Whether no move can be made where an op is applied, whatever it is applied to."""
        found = self._idle.get(op)
        if found is None:
            found = not (
                FOLD in moves or op.implicit or op.elementwise or self.library.has_root(head_key(op))
            )
            self._idle[op] = found
        return found

    def _move(
        self, key: Key, t: Term, within: int, moves: frozenset[str], became: dict[Key, Key]
    ) -> Term | None:
        """Make one move at a term whose operands are normal, or return None."""
        if is_implicit(t):
            if EXPAND not in moves:
                return None
            if type(t.op) is Slope:
                return self._slope(t, moves)
            return (self._with_series(t) if SERIES in moves else None) or self._expand(t)
        if RELATE in moves and self._may_look():
            for theory in (PRODUCT, SUM):
                if theories_of(t.op) & theory & ~within and self._is_wide(t, theory):
                    new, found = relate_wide(t, self.library, self._note, theory)
                    if new is not t and not any(self._is_left(move, move.before or t) for move in found):
                        for move in found:
                            self._record(move.before, move)
                        return new
                    within |= theory
            if not self._likeness.is_hopeless(t, within):
                new, barred = self._first(relate(t, self.library, self._note, within), key, t, within, became)
                if new is not None:
                    return new
                if not barred:
                    self._likeness.failed(t, within)
            if self.defines and not within and t.op.elementwise and t.type.differentiable:
                new, _ = self._first(self._by_definition(t), key, t, within, became)
                if new is not None:
                    return new
        if INCREMENT in moves and self._may_look():
            found = increase(t, self._note, theories_of(t.op) & ~within)
            new, _ = self._first(found, key, t, within, became)
            if new is not None:
                return new
        if FOLD in moves:
            value = fold(t)
            if value is not None and np.isfinite(value.op.value).all():
                self.steps.append(Step("fold", "fold", t, value, "all operands are constants"))
                return value
        if SINK in moves and self.fuel >= 0:
            return self._first(sink(t, self._note), key, t, within, became)[0]
        return None

    def moves(self, t: Term) -> Iterator[Found]:
        """Yield all moves at a term that stands by itself."""
        if is_implicit(t) or (type(t.op) is Project and is_implicit(t.rands[0])):
            yield Found("expand", "expand", self.saturate([t], frozenset({EXPAND}))[0], "written out", {})
            return
        yield from relate(t, self.library, self._note)
        if t.op.elementwise and t.type.differentiable:
            yield from self._by_definition(t)
        yield from increase(t, self._note, theories_of(t.op))
        value = fold(t)
        if value is not None and np.isfinite(value.op.value).all():
            yield Found("fold", "fold", value, "all operands are constants", {})
        yield from sink(t, self._note)

    def _first(
        self, moves: Iterable[Found], key: Key, t: Term, within: int, became: dict[Key, Key]
    ) -> tuple[Term | None, bool]:
        """Make the first move that may be made, and return its result; whether one before it was barred."""
        barred = False
        for found in moves:
            successor = (found.term, within) if within else found.term
            if self._is_left(found, t) or leads_to(successor, key, became):
                barred = True
                continue
            self._record(t, found)
            return found.term, barred
        return None, barred

    def _by_definition(self, t: Term) -> Iterator[Found]:
        """Yield a place with stable functions read as what they mean, where it gains."""
        try:
            found = by_definition(t, lambda whole: _improved(whole, self.library))
        except Exception as error:
            self._note("by_definition", t, error)
            return
        if found is not None:
            yield Found("simplify", "by_definition", found[0], found[1], {})

    def _in_series(self, roots: Sequence[Term]) -> list[Term]:
        """Return the roots with series for functions of one term that cancel near a point."""
        if self.fuel < 0 or self.patience.ended:
            return list(roots)
        new, found = in_series(
            roots, lambda t: not self.left or self.left.isdisjoint({("series", t), ("series", None)})
        )
        for before, after, series in found:
            self.fuel -= 1
            why = "; ".join(str(op) for op in series)
            self.steps.append(Step("series", "series", before, after, why))
        return new

    def along(self, written: Sequence[Term], roots: Sequence[Term]) -> list[Term]:
        """Return the roots with series along the lines near which they still lose digits."""
        if self.fuel < 0 or self.patience.ended or ("line", None) in self.left:
            return list(roots)
        explicit = lambda: _Run(self.library, 0, 0, 0, self.conventions, self.left, self.patience).saturate(
            written, frozenset({EXPAND})
        )
        try:
            new, found = along_lines(roots, explicit)
        except Exception as error:
            self._note("line", roots[0], error)
            return list(roots)
        for before, after, line in found:
            self.steps.append(Step("line", "series along a line", before, after, str(line)))
        return new

    def _slope(self, t: Term, moves: frozenset[str]) -> Term:
        """Return the derivative of a series, stabilised by itself."""
        op = t.op
        (body,) = self.saturate([op.explicit(self.conventions)], moves)
        return applied(body, op.argument, t.rands[0])

    def _with_series(self, t: Term) -> Term | None:
        """Return an implicit derivative of series for what cancels in the values that it differentiates, or None."""
        values = t.op.parts(t)[0]
        if not any(v.rands for v in values):
            return None
        new = self._in_series(values)
        return (
            None
            if all(a is b for a, b in zip(new, values, strict=True))
            else t.op.with_rands(t, [*new, *t.rands[len(values) :]])
        )

    def _simplified(
        self, key: Key, t: Term, within: int, moves: frozenset[str], became: dict[Key, Key]
    ) -> Term | None:
        """Apply an elementary row, where operands still show what they will be rewritten to one function of."""
        readings = theories_of(t.op) & ~within & (PRODUCT | SUM)
        if not readings or RELATE not in moves or not t.type.differentiable:
            return None
        if not self._may_look() or not shows_elementary(t):
            return None
        if any(readings & theory and width(t, theory, LIMIT) > LIMIT for theory in (PRODUCT, SUM)):
            return None
        if self._likeness.is_hopeless(t, ("elementary", readings)):
            return None
        rows = relate_rows(t, self.library.elementary, self._note, readings)
        new, barred = self._first(rows, key, t, within, became)
        if new is None and not barred:
            self._likeness.failed(t, ("elementary", readings))
        return new

    def _may_look(self) -> bool:
        """Whether there is fuel, and time, to look for a relation at one more place."""
        self.visited += 1
        return self.fuel >= 0 and not self.patience.is_over(self.visited, len(self.steps))

    def _is_wide(self, t: Term, theory: int) -> bool:
        """Whether a sum or product has more parts than a view holds, and reading them all is still affordable.

        Where sums share their beginnings, to read each of them whole would take quadratic time.
        """
        if not t.type.differentiable or width(t, theory, LIMIT) <= LIMIT:
            return False
        self.affordable -= width(t, theory, max(self.affordable, 0))
        return self.affordable > 0

    def _is_left(self, found: Found, t: Term) -> bool:
        return bool(self.left) and ((found.name, t) in self.left or (found.name, None) in self.left)

    def _record(self, t: Any, found: Found) -> None:
        self.fuel -= 1
        self.steps.append(Step(found.move, found.name, t, found.term, found.why, found.bindings))

    def _expand(self, t: Term) -> Term:
        if type(t.op) is Pushforward:
            return self._expand_pushforward(t)
        pullback = Pullback(t, self.conventions)
        watched = self.library.has_root(Gradient)
        while pullback.pending:
            if watched and self._may_look():
                # A relation may know the gradient of what is left as a whole.
                rest = pullback.term()
                for found in relate(rest, self.library, self._note, PRODUCT | SUM | BAG):
                    if self._is_left(found, rest):
                        continue
                    self._record(rest, found)
                    return found.term
            v, g, flows = pullback.expand()
            if self.growth > 0:  # the graph grows, and what may be done to it, though not for ever
                self.fuel += 20 * len(flows)
                self.growth -= len(flows)
            if flows:
                why = "what flows back to its operands"
                self.steps.append(Step("expand", f"pullback of {v.op}", (v, g), tuple(flows), why))
        return packed(pullback.results(), pullback.wrt)

    def _expand_pushforward(self, t: Term) -> Term:
        tangents = Tangents(t, self.conventions)
        while (layer := tangents.expand()) is not None:
            v, out = layer
            self.steps.append(
                Step("expand", f"pushforward of {v.op}", v, tuple(out), "the tangent of its result")
            )
        _, inputs, _ = t.op.parts(t)
        return packed(tangents.results(), inputs)


@lru_cache(maxsize=4096)
def _improved(whole: Term, library: Library) -> Term | None:
    """Return what relations make of a pattern with meanings written out, if it gains."""

    def rewrite(t: Term) -> Term:
        with Patience(None) as patience:
            run = _Run(library, 200, 0, 1000, USUAL, frozenset(), patience)
            return run.saturate([t], frozenset({RELATE, FOLD}))[0]

    return improved(whole, rewrite)


def _of_constants(t: Term) -> bool:
    return bool(t.rands) and all(map(is_constant, t.rands))
