"""The scheduler: interleaves relations, one-layer expansions of gradients and constant folding, with fuel.

Terms are visited bottom-up, each distinct one once for each way in which a theory reads through it, so the cost is
near linear in the size of the graph. Relations rooted in a product or sum are tried at maximal products and sums
only, since an inner match would destroy the outer one.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from math import isnan
from operator import is_not
from typing import Any

import numpy as np

from relgrad.calculus.along import along_lines
from relgrad.calculus.increment import have_increments
from relgrad.calculus.isolated import elsewhere, near_points, unguarded
from relgrad.calculus.series import Series, Slope, applied, is_of_entries
from relgrad.calculus.ties import at_ties
from relgrad.calculus.univariate import in_series
from relgrad.collector import uncollected
from relgrad.constancy import loses_extreme
from relgrad.conventions import DEFAULT as USUAL
from relgrad.conventions import Conventions, settled
from relgrad.dependence import depends
from relgrad.errors import DerivationError, OutOfFuel, RelgradWarning
from relgrad.gradient import Pullback, Pushforward, Tangents, gradient, is_implicit, packed
from relgrad.logic.conditions import Goal
from relgrad.logic.goals import BinaryGoal, ldisj_seq
from relgrad.logic.index import head_key, own_head
from relgrad.logic.masks import is_masking
from relgrad.logic.theory import PRODUCT, SUM, theories_of
from relgrad.logic.unify import State, extended, fresh
from relgrad.logic.view import is_wide, sum_of, width
from relgrad.op import Project, is_constant, is_zero
from relgrad.ops.selection import where
from relgrad.relation import Library
from relgrad.schedule.definitions import by_definition, has_meaning, improved
from relgrad.schedule.fold import fold, is_surd
from relgrad.schedule.keys import SPREADS, Key, leads_to, operand_keys
from relgrad.schedule.likeness import Answer, Likeness
from relgrad.schedule.patience import Patience
from relgrad.schedule.pullbacks import PAIR, pullbacks_of, told, told_of
from relgrad.schedule.relate import (
    AFTER,
    CANCEL_FACTORS,
    INCREMENTS,
    INTO_MASK,
    LOG_NEAR_ONE,
    ROOT,
    Found,
    Law,
    Named,
    answers,
    is_asked,
    laws,
    lengths,
    made_by,
    may_be_near_zero,
    may_be_root,
    may_relate,
    noted,
    relate_wide,
    relations,
    rows,
)
from relgrad.schedule.strategy import (
    DEFAULT,
    EXPAND,
    FOLD,
    INCREMENT,
    LIMITS,
    LINE,
    MOVES,
    NAIVE,
    RELATE,
    SERIES,
    SINK,
    Left,
    Move,
    Strategy,
    own_goals,
)
from relgrad.step import Derivation, Failure, Step
from relgrad.term import Term, reachable, rebuild, remade, subterms
from relgrad.types import ArrayType

NO_ROWS = Library([])


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
    """[log(Σ eˣ)] → [logsumexp(x)], steps: the derivation that a strategy finds:
    equal roots, stabilised, all gradients explicit.

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
    nodes = reachable(*roots)
    size = len(nodes)
    given = fuel is not None
    if fuel is None:
        fuel = 2000 + 20 * size
    aside: list[str] = []
    defines = strategy.relates and any(map(has_meaning, nodes))
    library = library.without(*[name for name, place in left if place is None]) if left else library
    with Patience(seconds) as patience:
        while True:
            run = _Run(
                library, fuel, patience, affordable=1000 + 4 * size, conventions=conventions, left=left
            )
            run.growth = 0 if given else 4 * size
            run.defines = defines
            run.pullbacks = pullbacks_of(library if strategy.relates else NO_ROWS)
            after = run.follow(roots, strategy.phases)
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
    after, steps = _limits(after, conventions)
    failures = tuple([Failure(name, *which) for name, which in run.failed.items()])
    return Derivation(
        tuple(roots),
        tuple(after),
        (*run.steps, *steps),
        failures=failures,
        wholes=tuple(run.wholes),
        phases=strategy.phases,
        conventions=conventions,
        unfinished=unfinished,
    )


def replay(derivation: Derivation) -> Derivation:
    """replay(d).after = d.after, if the steps of d are right:
    the derivation that they make of its roots, without any search.

    Steps on places are applied where they were made, and as they are; gradients are expanded by their rules, and
    series and lines are computed again at the places that have them.
    """
    run = _Replay(derivation)
    roots = [*derivation.before, *derivation.besides]
    after, steps = _limits(run.follow(roots, derivation.phases), run.conventions)
    return replace(derivation, after=tuple(after[: len(derivation.before)]), steps=(*run.steps, *steps))


def _limits(roots: Sequence[Term], conventions: Conventions) -> tuple[list[Term], list[Step]]:
    """roots → roots with the values of the conventions where they are open, and with limits where values tie;
    the steps.
    """
    after, steps = settled(roots, conventions)
    limits = at_ties(after)
    return limits, steps + [
        Step("ties", "limit where values tie", old, new, str(new.op.program))
        for old, new in zip(after, limits, strict=True)
        if new is not old
    ]


def without_points(roots: Sequence[Term], library: Library) -> list[Term]:
    """Return roots with the other branches of choices by one point: off these points, and in limits, they are equal.

    where(x == 0, 1, sin(x)/x) ⟶ sin(x)/x
    """
    with Patience() as patience:
        return near_points(roots, _Run(library, 2000, patience, affordable=1000)._lined)


def moves(t: Term, library: Library) -> Iterator[Found]:
    """log(eˣ) → Found(x), …: all moves that can be made at the root of a term, those first that the scheduler tries
    first.

    Equal results of several moves come once. Moves that raise are left out.
    """
    with Patience() as patience:
        run = _Run(library, 0, patience)
        seen = {t}
        for found in run.moves(t):
            if found.term not in seen:
                seen.add(found.term)
                yield found


class _Run:
    """follow(roots, phases) → roots after: the state of one run, its fuel and steps, and all that raised."""

    def __init__(
        self,
        library: Library,
        fuel: int,
        patience: Patience,
        *,
        affordable: int = 0,
        conventions: Conventions = USUAL,
        left: Left = frozenset(),
    ):
        """`affordable` is how many parts of wide sums and products may be read."""
        self.conventions, self.left, self.patience = conventions, left, patience
        self.failed: dict[str, tuple[Term, Exception]] = {}
        self.visited = 0
        self.library, self.fuel, self.affordable = library, fuel, affordable
        self.growth = 0
        """So many flows may still add fuel, as gradients are written out."""
        self.steps: list[Step] = []
        self.result, self.named = fresh("result"), fresh("move")
        self._barred = False
        self.defines = False
        self.pullbacks = pullbacks_of(NO_ROWS)
        self.phase = 0
        self.wholes: list[Step] = []
        self._read: set[Term] = set()
        self._idle: dict[Any, bool] = {}
        self._own: list[tuple[str, BinaryGoal]] = []
        """The goals of one's own among the moves of the phase."""
        self._likeness = Likeness()
        self._branches: dict[tuple[Callable[..., Any], Term], Term | None] = {}
        """Choices by one point, and what they are by either law,"""
        self._elsewhere: dict[Term, Term] = {}
        """and their other branches, stabilised."""
        self.orders = 1
        """So often something is differentiated, twice at most."""

    def follow(self, roots: Sequence[Term], phases: Sequence[frozenset[Move]]) -> list[Term]:
        """[log(eˣ)], phases → [x]: does the phases of a strategy one after the other, and expands the gradients that
        are left.
        """
        after = list(roots)
        self.orders = min(2, max([1, *[root.orders for root in roots]]))
        for self.phase, moves in enumerate(phases):
            if isnan(self.conventions.untaken):
                moves -= {SINK, LINE}  # by either a branch that is not taken says nothing
            if RELATE in moves and any(map(_makes_series_only, phases[: self.phase])):
                after = self._in_bodies(after, frozenset({RELATE}))
            if late := moves & {INCREMENT, SINK}:
                after = self._in_bodies(after, late | (moves & {RELATE}))
            after = self.along(roots, after) if LINE in moves else self.saturate(after, moves)
        self.phase = len(phases)
        return self.saturate(after, frozenset({EXPAND}))

    def saturate(self, roots: Sequence[Term], moves: frozenset[Move]) -> list[Term]:
        """[log(exp(log(eʸ)))], {RELATE} → [y]: all moves of a phase, bottom-up, until none is left."""
        late = moves <= {SINK, FOLD}
        if late and not any(map(_is_late, reachable(*roots))):
            return list(roots)
        if moves <= {EXPAND} and not any(root.orders for root in roots):
            return list(roots)
        if INCREMENT in moves and not have_increments(roots):
            return list(roots)
        normal = _at_rest(roots) if late else dict[Key, Term]()
        became: dict[Key, Key] = {}
        self._idle.clear()
        self._own = own_goals(moves)
        for root in roots:
            self._visit(root, moves, normal, became)
        found = [normal[root] for root in roots]
        return self._in_series(found) if SERIES in moves else found

    def _visit(
        self, start: Key, moves: frozenset[Move], normal: dict[Key, Term], became: dict[Key, Key]
    ) -> None:
        """start → normal[start]: every term below is visited after its operands, and again as long as it becomes
        another.

        x + y, y ↦ z: became[x + y] = x + z, normal[x + y] = normal[x + z].
        """
        stack = [start]
        looks = self._looks(moves)
        # What has been rewritten and waits for its successor. A relation may put a term inside its own successor,
        # as x = f(f⁻¹(x)) does; there it stays as it is.
        waiting: set[Key] = set()
        while stack:
            key = stack[-1]
            if key in normal:
                waiting.discard(key)
                stack.pop()
                continue
            successor = became.get(key)
            if successor is None:
                t, within = (key, 0) if type(key) is Term else key
                op = t.op
                theories = theories_of(op)
                read = within or (PRODUCT if type(op) in SPREADS else 0)
                operands = operand_keys(t, within) if theories else t.rands
                missing = [k for k in operands if k not in normal and k not in waiting]
                if missing:
                    stack.extend(missing)
                    continue
                rands: list[Any] = [normal.get(k, old) for k, old in zip(operands, t.rands, strict=True)]
                if any(map(is_not, rands, t.rands)):
                    for k, new in zip(operands, rands, strict=True):
                        normal.setdefault(new if type(k) is Term else (new, k[1]), new)
                    new = op.with_rands(t, rands)
                    unseen = new not in normal and new not in became and new not in waiting
                    alike = not theories and new.op is op and new.rands == tuple(rands)
                    if looks and unseen and alike and self._is_idle(new, 0, moves):
                        became[key] = normal[key] = normal[new] = new
                        stack.pop()
                        continue
                else:
                    idle = self._is_idle(t, theories & ~read, moves) if looks else not op.implicit
                    idle = idle and not (looks and _cancels_inside(t, read))
                    new = None if idle else self._move(key, t, read, moves, became)
                    if new is None:
                        normal[key] = t
                        stack.pop()
                        continue
                successor = (new, within) if within else new
                if leads_to(successor, key, became):
                    if not (EXPAND in moves and is_implicit(t) and type(t.op) is not Slope):
                        normal[key] = t
                        continue
                    successor = self._expand(
                        t
                    )  # whatever its values were rewritten to, none is left implicit
                became[key] = successor
            if successor in normal:
                normal[key] = normal[successor]
            else:
                waiting.add(key)
                stack.append(successor)

    def _note(self, name: str, t: Term, error: Exception) -> None:
        # A warning that the caller has made an error, or an alarm that the caller has set.
        if isinstance(error, (RelgradWarning, TimeoutError)):
            raise error
        self.failed.setdefault(name, (t, error))

    def _looks(self, moves: frozenset[Move]) -> bool:
        """Whether there is anything to do at a place but to expand it."""
        return not moves <= {EXPAND, SERIES}

    def _is_idle(self, t: Term, readings: int, moves: frozenset[Move]) -> bool:
        """(xᵀ, 0, {RELATE}), (sin(cos(x)), 0, {RELATE}) → True unless a row is rooted in the op, or on the pair of ops:
        whether no move can be made where an op is applied, and read so.
        """
        op, inner = t.op, None
        if len(t.rands) == 1 and own_head(op) and own_head(t.rands[0].op):
            inner = t.rands[0].op
        found = self._idle.get((op, inner, readings))
        if found is None:
            found = self._idle[op, inner, readings] = not (
                readings
                or theories_of(op) & PRODUCT
                or op.implicit
                or self._own
                or not moves.isdisjoint({FOLD, SINK})
                or (op.elementwise and self.defines)
                or (op.elementwise and op.arity == 1 if inner is None else may_relate(t, self.library, 0))
                or is_asked(op)
                or (inner is None and self.library.has_root(head_key(op)))
            )
        return found

    def _move(
        self, key: Key, t: Term, within: int, moves: frozenset[Move], became: dict[Key, Key]
    ) -> Term | None:
        """log(eˣ) → x, ∂… → its expansion, x → None: one move at a term whose operands are normal."""
        if is_implicit(t):
            if EXPAND not in moves:
                return None
            if type(t.op) is Slope:
                return self._slope(t, moves)
            return self._with_series(t, moves) or self._expand(t)
        if RELATE in moves and self._may_look() and (readings := theories_of(t.op) & ~within):
            for theory in (PRODUCT, SUM):
                if readings & theory and self._is_wide(t, theory):
                    new, found = relate_wide(t, self.library, self._note, theory)
                    if new is not t and not any(self._is_left(move.name, move.before or t) for move in found):
                        for move in found:
                            self._record(move.before, move, _PARTS)
                        why = "what its parts became"
                        self.wholes.append(Step("whole", "", t, new, why, {}, self.phase, _within(key)))
                        return new
                    within |= theory
        goals = self._goals(t, self.result, self.named, moves, within)
        return self._first(chain.from_iterable(goals), key, t, within, became) if goals else None

    def _goals(self, t: Term, v: Any, m: Any, moves: frozenset[Move], within: int) -> list[Iterable[Goal]]:
        """v = log(eˣ) → x by relations, by folding, by sinking, …: the goals of a phase at t, with m naming the move.

        Their disjunction is a move. Where nothing can be made, the list is empty.
        """
        found: list[Iterable[Goal]] = []
        theories = theories_of(t.op)
        readings = theories & ~within
        is_real = t.type.differentiable
        if RELATE in moves and self.fuel >= 0 and not self.patience.ended:
            if _cancels_inside(t, within):
                found.append(laws(t, v, m, AFTER[:1], SUM, self._note))
            if may_relate(t, self.library, within) and not self._likeness.is_hopeless(t, within):
                found.append(self._related(t, v, m, within))
            if self.defines and not within and t.op.elementwise and is_real:
                found.append((self._by_definition(t, v, m),))
        elif LIMITS in moves and is_real:
            found.append(lengths(t, v, m, self._note))
            if may_be_root(t.op) and self._may_look():  # of squares, where the rule of a root has no slope
                found.append(
                    (*rows(t, v, m, self.library, self._note, readings), ROOT.goal(t, v, m, self._note))
                )
        if t.op is where and not moves.isdisjoint({RELATE, LIMITS}) and self._may_look():
            unguard = Law("unguard", partial(self._chosen, unguarded), _UNGUARD)
            told = Law("elsewhere", partial(self._chosen, elsewhere), _ELSEWHERE)
            found += [(law.goal(t, v, m, self._note),) for law in (unguard, told)]
        if self._own and isinstance(t.type, ArrayType):
            found.append([made_by(name, move, t, v, m, self._note) for name, move in self._own])
        if readings and is_real and INCREMENT in moves and self._may_look():
            found.append(self._increments(t, v, m, readings))
        if FOLD in moves and (type(t.op) is Project or _of_constants(t)):
            found.append((_folded(t, v, m),))
        if FOLD in moves and any(map(is_zero, t.rands)) and is_real:
            found.append(laws(t, v, m, (CANCEL_FACTORS,), theories, self._note))
        if SINK in moves and theories and is_real and self.fuel >= 0:
            found.append(laws(t, v, m, (INTO_MASK,), theories, self._note))
        if SINK in moves and is_real and self.fuel >= 0 and may_be_near_zero(t):
            found.append((LOG_NEAR_ONE.goal(t, v, m, self._note),))
        return found

    def _related(self, t: Term, v: Any, m: Any, within: int) -> Iterator[Goal]:
        """v = log(eˣ) → x: the goals of relations and laws; where none has an answer, the place is known as one."""
        if (known := self._likeness.answer(t, within)) is not None:
            yield lambda s: iter([extended(s, {**known.bindings, v: known.term, m: known.name})])
        yield from relations(t, v, m, self.library, self._note, within)
        if not self._barred:
            self._likeness.failed(t, within)

    def _answer(self, t: Term, within: int) -> Answer | None:
        """log(eˣ) → x: the first answer of relations and laws at a place, or None."""
        v, m = self.result, self.named
        s = next(iter(ldisj_seq(relations(t, v, m, self.library, self._note, within))({})), None)
        return None if s is None else _answered(s, v, m)

    def _increments(self, t: Term, v: Any, m: Any, readings: int) -> Iterator[Goal]:
        """v = f(x) − f(y) → Δf(x, y, x − y): the goals of INCREMENTS; where none has an answer, the place is known."""
        how = INCREMENT, readings
        if not self._likeness.is_hopeless(t, how):
            yield from laws(t, v, m, INCREMENTS, readings, self._note)
            if not self._barred:
                self._likeness.failed(t, how)

    def moves(self, t: Term) -> Iterator[Found]:
        """log(eˣ) → Found(x), …: all moves at a term that stands by itself."""
        if is_implicit(t) or (type(t.op) is Project and is_implicit(t.rands[0])):
            yield Found("expand", "expand", self.saturate([t], frozenset({EXPAND}))[0], "written out", {})
            return
        self.defines = True
        yield from answers(lambda v, m: chain.from_iterable(self._goals(t, v, m, MOVES, 0)))

    def _first(
        self, goals: Iterable[Goal], key: Key, t: Term, within: int, became: dict[Key, Key]
    ) -> Term | None:
        """goals → the result of the first state that is allowed: none that leads back, as x → y → x, or is left out."""
        self._barred = False

        for state in ldisj_seq(goals)({}):
            new, name = state[self.result], state[self.named].name
            barred = self._is_left(name, t) or leads_to((new, within) if within else new, key, became)
            if barred or loses_extreme(t, new):
                self._barred = True
                continue
            found = Found.of(state, self.result, self.named)
            if found.move == "relation":
                answer = _answered(state, self.result, self.named)
                self._likeness.found(t, within, answer, lambda t: self._answer(t, within))
            self._record(t, found, _within(key), int(found.move != "fold"))
            return found.term
        return None

    def _by_definition(self, t: Term, v: Any, m: Any) -> Goal:
        """logaddexp(0, x) − x → softplus(−x): the goal that v is t with stable functions read as what they mean, if
        that gains.

        Results of this are not read again.
        """

        @noted("by_definition", t, self._note)
        def by_definition_goal(s: State) -> Iterator[State]:
            """s → s ∪ {v: that, m: by_definition}, if it gains."""
            again = t in self._read
            found = None if again else by_definition(t, lambda whole: _improved(whole, self.library))
            if found is not None:
                self._read |= found.made
                why = f"{', '.join(found.functions)} read by definition"
                yield extended(s, {v: found.term, m: Named("simplify", "by_definition", why)})

        return by_definition_goal

    def _stabilised(self, t: Term) -> Term:
        """Return a term stabilised by itself, as it is before it is differentiated."""
        return self._again().saturate([t], frozenset({RELATE, SERIES}))[0]

    def _chosen(self, law: Callable[..., Term | None], t: Term) -> Term | None:
        """where(x == 0, 1, sin(x)/x) → sin(x)/x as a series, by `unguarded`: found once, however branches nest."""
        if (law, t) not in self._branches:
            self._branches[law, t] = law(t, self._branch)
        return self._branches[law, t]

    def _branch(self, t: Term) -> Term:
        """sin(x)/x → its series: a branch stabilised by itself, once for both laws."""
        if t not in self._elsewhere:
            self._elsewhere[t] = self._stabilised(t)
        return self._elsewhere[t]

    def _lined(self, t: Term) -> Term:
        """t → t stabilised by itself, with its series along lines; t where that raises."""
        try:
            return along_lines([self._stabilised(t)], lambda: [t])[0][0]
        except Exception as error:
            self._note("line", t, error)
            return t

    def _again(self) -> _Run:
        """Return another run, whose steps are none of this one."""
        run = _Run(self.library, self.fuel, self.patience, conventions=self.conventions, left=self.left)
        run._branches, run._elsewhere = self._branches, self._elsewhere
        return run

    def _in_series(
        self, roots: Sequence[Term], *, kinks: int = 0, singular: bool = True, derived: bool = False
    ) -> list[Term]:
        """(1 − cos x)/x² → ½ − x²/24 + … near 0: the roots with series for functions of one term that cancel near a
        point.

        And for kinks that do.
        """
        if self.fuel < 0 or self.patience.ended:
            return list(roots)
        may = lambda t: self._may("series", t) and not self.pullbacks.may_tell(t)
        new, found = in_series(roots, may, kinks, singular, derived, self.conventions, self._improved)
        for before, after, series in found:
            self.fuel -= 1
            why = "; ".join(str(op) for op in series) or "what they are series of is better"
            self.steps.append(Step("series", "series", before, after, why, {}, self.phase))
        return new

    def _improved(self, t: Term, opened: Callable[[Term], Term]) -> Term | None:
        """erf(x)/x + x·(erf′(x)/x − erf(x)/x²) → erf′(x): a term opened and rewritten by relations, if that gains."""
        before = len(self.steps)
        new = improved(t, lambda t: self.saturate([t], frozenset({RELATE}))[0], opened)
        if new is None:
            del self.steps[before:]
        return new

    def _in_bodies(self, roots: Sequence[Term], moves: frozenset[Move]) -> list[Term]:
        """series of √(x²·y), {RELATE} → series of |x|·√y: what earlier phases made series of, with moves in the bodies.

        series of where(x > 0, 1, 0)·log x, {SINK} → series of where(x > 0, log x, 0);
        series of Φ(1.01·x) − Φ(0.99·x), {INCREMENT} → series of ΔΦ(1.01·x, 0.99·x, 0.02·x).
        """

        def change(old: Term, rands: tuple[Any, ...]) -> Any:
            """Return a series of the same terms with moves in its body, its own series first; others made again.

            A body that is a number, as x/x is, has no series. One that relations would write with arrays stays.
            """
            op = old.op
            if type(op) is not Series:
                return remade(old, rands)
            (body,) = self.saturate(self._in_bodies([op.body], moves), moves)
            body = body if is_of_entries(body) else op.body
            number = not depends([body], [op.argument])
            return applied(body, op.argument, *rands) if number else op.of(body).make_node(*rands)

        has_series = any(type(t.op) is Series for t in reachable(*roots))
        return rebuild(roots, change) if has_series else list(roots)

    def along(self, written: Sequence[Term], roots: Sequence[Term]) -> list[Term]:
        """(eˣ − e^y)/(x − y) → … near x = y: the roots with series along the lines near which they still lose
        digits.
        """
        if self.fuel < 0 or self.patience.ended or not self._may("line", None):
            return list(roots)
        explicit = lambda: self._again().saturate(near_points(written, self._lined), frozenset({EXPAND}))
        try:
            new, found = along_lines(roots, explicit)
        except Exception as error:
            self._note("line", roots[0], error)
            return list(roots)
        for before, after, line in found:
            self.steps.append(Step("line", "series along a line", before, after, str(line), {}, self.phase))
        return new

    def _slope(self, t: Term, moves: frozenset[Move]) -> Term:
        """(½ − x²/24 + …)′ → −x/12 + …: the derivative of a series, stabilised by itself."""
        op = t.op
        explicit = op.explicit(self.conventions)
        (body,) = self.saturate([explicit], moves)
        if not moves.isdisjoint({SERIES, LIMITS}):
            (body,) = self._in_series([body], kinks=self.orders, singular=SERIES in moves, derived=True)
        return applied(body if is_of_entries(body) else explicit, op.argument, t.rands[0])

    def _with_series(self, t: Term, moves: frozenset[Move]) -> Term | None:
        """∂((1 − cos x)/x²) → ∂(series): an implicit derivative with series for all that cancels in its values, or
        None.
        """
        values = t.op.parts(t)[0]
        if moves.isdisjoint({SERIES, LIMITS}) or not any(v.rands for v in values):
            return None
        # What stands behind a variable of differentiation stays the same in the values and in the variable.
        both = [*values, *t.op.wrt(t)]
        new = dict(zip(both, self._in_series(both, kinks=self.orders, singular=SERIES in moves), strict=True))
        changed = any(new[v] is not v for v in values)
        return t.op.with_rands(t, [new.get(r, r) for r in t.rands]) if changed else None

    def _may_look(self) -> bool:
        """Whether there is fuel, and time, to look for a relation at one more place."""
        self.visited += 1
        return self.fuel >= 0 and not self.patience.is_over(self.visited, len(self.steps))

    def _is_wide(self, t: Term, theory: int) -> bool:
        """x₁ + … + x₂₅ → True: whether a sum or product has more parts than a view holds, and reading them is
        affordable.

        Where sums share their beginnings, to read each of them whole would take quadratic time.
        """
        if not t.type.differentiable or not is_wide(t, theory):
            return False
        self.affordable -= width(t, theory, max(self.affordable, 0))
        return self.affordable > 0

    def _may(self, name: str, t: Term | None) -> bool:
        return not self.left or self.left.isdisjoint({(name, t), (name, None)})

    def _is_left(self, name: str, t: Term) -> bool:
        return bool(self.left) and ((name, t) in self.left or (name, None) in self.left)

    def _record(self, t: Any, found: Found, within: int, fuel: int = 1) -> None:
        """(log(eˣ), Found(x), within) → steps + [Step(log(eˣ) → x)], fuel − 1."""
        self.fuel -= fuel
        bindings = found.bindings
        self.steps.append(
            Step(found.move, found.name, t, found.term, found.why, bindings, self.phase, within)
        )

    def _expand(self, t: Term) -> Term:
        """∂⟨g, sin(x)⟩/∂x → g·cos(x): an implicit gradient written out, layer by layer, each a step."""
        if type(t.op) is Pushforward:
            return self._expand_pushforward(t)
        pullback = Pullback(t, self.conventions)
        while pullback.pending:
            known = self._by_row(pullback)
            v, g, flows = pullback.expand(known)
            if self.growth > 0:  # the graph grows, and what may be done to it, though not for ever
                self.fuel += 20 * len(flows)
                self.growth -= len(flows)
            if flows and known is None:
                why = "what flows back to its operands"
                name = f"pullback of {v.op}"
                self.steps.append(Step("expand", name, (v, g), tuple(flows), why, {}, self.phase))
        return packed(pullback.results(), pullback.wrt)

    def _by_row(self, pullback: Pullback) -> list[tuple[Term, Term]] | None:
        """⟨g, f(X)⟩ → [(X, r(X, g))]: what flows back from the next value by a relation on gradients, or None."""
        if not self.pullbacks.rules or not self._may_look():
            return None
        for s in ldisj_seq(self.pullbacks.goals(pullback, self.result, self.named, self._note))({}):
            found, (x, flow) = Found.of(s, self.result, self.named), s[self.result]
            before = gradient([pullback.next], [x])[0]
            if not self._is_left(found.name, before):
                self._record(before, found._replace(term=flow), PAIR)
                return [(x, flow)]
        return None

    def _expand_pushforward(self, t: Term) -> Term:
        """sin(x), ẋ → cos(x)·ẋ: an implicit pushforward written out, layer by layer, each a step."""
        tangents = Tangents(t, self.conventions)
        while (layer := tangents.expand()) is not None:
            v, out = layer
            name, why = f"pushforward of {v.op}", "the tangent of its result"
            self.steps.append(Step("expand", name, v, tuple(out), why, {}, self.phase))
        _, inputs, _ = t.op.parts(t)
        return packed(tangents.results(), inputs)


class _Replay(_Run):
    """script[phase, place, within] = step: a run whose moves at places are those of a derivation."""

    def __init__(self, derivation: Derivation):
        """derivation → the steps by their places, and by the pairs from which a row lets flow."""
        super().__init__(NO_ROWS, 1 << 62, Patience(), conventions=derivation.conventions or USUAL)
        places = [step for step in (*derivation.steps, *derivation.wholes) if step.move in _AT_PLACES]
        self.script = {(step.phase, step.before, step.within): step for step in places}
        self.flows = told_of(places)
        self.places = {
            (step.move, step.before) for step in derivation.steps if step.move in ("series", "line")
        }

    def _move(
        self, key: Key, t: Term, within: int, moves: frozenset[Move], became: dict[Key, Key]
    ) -> Term | None:
        """log(eˣ) → x where a step says so, else None; raises DerivationError for a step that leads back."""
        step = self.script.get((self.phase, t, within))
        if step is None:
            return (
                super()._move(key, t, within, moves & {EXPAND, SERIES, LIMITS}, became)
                if is_implicit(t)
                else None
            )
        if leads_to((step.after, within) if within else step.after, key, became):
            raise DerivationError(
                f"the step {step.name} runs in a circle",
                cause="what it makes has become its own place by the steps before",
                cure="derive it again: a derivation that was made ends",
            )
        if step.move != "whole":
            self.steps.append(step)
        return step.after

    def _looks(self, moves: frozenset[Move]) -> bool:
        return True

    def _is_idle(self, t: Term, readings: int, moves: frozenset[Move]) -> bool:
        return False

    def _may(self, name: str, t: Term | None) -> bool:
        return any(move == name and (t is None or t is before) for move, before in self.places)

    def _by_row(self, pullback: Pullback) -> list[tuple[Term, Term]] | None:
        """⟨g, f(X)⟩ → [(X, r(X, g))] where a step says so, else None."""
        step = told(self.flows, self.phase, pullback)
        if step is None:
            return None
        self.steps.append(step)
        return [(step.before.rands[0].rands[-1], step.after)]


def _answered(s: State, v: Any, m: Any) -> Answer:
    """{v: x, m: row, a: x} → Answer(x, row, {a: x}): what a state makes of a place."""
    return Answer(s[v], s[m], {x: s[x] for x in s[m].variables if x in s})


def _within(key: Key) -> int:
    return 0 if type(key) is Term else key[1]


_UNGUARD = "a branch at one point gives the limit of the other"
_ELSEWHERE = "a branch is not at the point of the other"
_PARTS = -1
"""What stands for the theories of a step on parts of a wide sum or product, which are no place of their own."""
_AT_PLACES = frozenset({"relation", "simplify", "goal", "fold", "whole"})


@lru_cache(maxsize=4096)
def _improved(whole: Term, library: Library) -> Term | None:
    """log(e⁰ + eˣ) − x → softplus(−x): a pattern with meanings written out, rewritten by relations, if it gains;
    or None.
    """

    def rewrite(t: Term) -> Term:
        """t → t after RELATE and FOLD, with little fuel."""
        with Patience() as patience:
            run = _Run(library, 200, patience, affordable=1000)
            return run.saturate([t], frozenset({RELATE, FOLD}))[0]

    return improved(whole, rewrite)


def _folded(t: Term, v: Any, m: Any) -> Goal:
    """2.0 + 3.0 → {v: 5.0}: the goal that v is the finite constant that t is, and no root that is kept."""

    def folded_goal(s: State) -> Iterator[State]:
        """s → s ∪ {v: the constant, m: fold}, if it is finite and t no surd."""
        value = None if is_surd(t) else fold(t)
        if value is not None and np.isfinite(value.op.value).all():
            yield extended(s, {v: value, m: Named("fold", "fold", "all operands are constants")})

    return folded_goal


def _cancels_inside(t: Term, within: int) -> bool:
    """0 + a of y − ((0 + a) + b) → True: whether summands meet in a sum inside another, where others may share it."""
    return bool(within & SUM and t.op.as_sum) and t.type.differentiable and sum_of(t).cancelled


def _is_late(t: Term) -> bool:
    """Whether a term may be folded, or have a factor 0, or be a mask into which factors sink, or a logarithm of what
    may be near one.
    """
    return _of_constants(t) or any(map(is_zero, t.rands)) or is_masking(t) or may_be_near_zero(t)


def _at_rest(roots: Sequence[Term]) -> dict[Key, Term]:
    """x·y + sin(2.0) → {x: x, y: y, x·y: x·y}: what has no constants to fold in it, no mask to sink into, and no
    logarithm near zero; by all its keys.
    """
    moved: set[Term] = set()
    found: dict[Key, Term] = {}
    for t in subterms(*roots):
        if _is_late(t) or not moved.isdisjoint(t.rands):
            moved.add(t)
        else:
            found[t] = found[t, PRODUCT] = found[t, SUM] = t
    return found


def _makes_series_only(moves: frozenset[Move]) -> bool:
    return RELATE not in moves and not moves.isdisjoint({SERIES, LIMITS})


def _of_constants(t: Term) -> bool:
    return bool(t.rands) and all(map(is_constant, t.rands))
