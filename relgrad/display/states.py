"""What a program is between the steps of its derivation: the roots, rewritten so far.

A derivation lists places before and after each step. Operands were rewritten before what uses them, and a place may
have been read as part of a larger sum or product, so a place is found by following what each term has become, as the
scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import is_not
from typing import Any

from relgrad.conventions import DEFAULT, Conventions
from relgrad.gradient import Gradient, Pullback, Pushforward, Tangents, is_implicit, packed
from relgrad.op import Pack
from relgrad.schedule.keys import Key, leads_to, operand_keys
from relgrad.schedule.pullbacks import PAIR, Told, told, told_of
from relgrad.step import Derivation, Step
from relgrad.term import Term, is_term, nearest_where, reachable, substitute, subterms, term

_AT_ONCE = frozenset({"series", "line", "ties", "convention"})
"""Moves of which several are made in one program at once, each at a place as it was before all of them."""


@dataclass(frozen=True)
class Change:
    """log(eˣ) + 1 ⟶ x + 1, at log(eˣ), which became x: one step in the whole program: the roots before and after it,
    and the places that it changed in them.

    There is no place before where the step was made beside the program, as in the derivative of a series, and none
    after where what came of it has merged with what uses it, as -(2) becomes -2.
    """

    step: Step
    before: tuple[Term, ...]
    after: tuple[Term, ...]
    places: tuple[Term, ...]
    became: tuple[Term, ...]


def changes(derivation: Derivation, shown: Sequence[int] | None = None) -> Iterator[Change]:
    """derivation → Change, Change, …: the change of the whole program by each step of a derivation; by the steps
    numbered `shown`, if given.

    The last one ends in the roots after the derivation.
    """
    steps, count = derivation.steps, len(derivation.before)
    wanted = set(range(len(steps)) if shown is None else shown)
    run = _Run(derivation)
    before: list[Term] | None = None
    for number, step in enumerate(steps):
        if number not in wanted:
            run.make(step)
            before = None
            continue
        run.settle(step)
        before = before or run.roots()
        place = run.place(step)
        run.make(step)
        if number + 1 < len(steps):
            run.settle(steps[number + 1])
            after = run.roots()
        else:
            run.settle(None)
            after = [*derivation.after]
        new = run.successor(step) if place is not None else None
        yield Change(
            step, tuple(before[:count]), tuple(after[:count]), _within(before, place), _within(after, new)
        )
        before = after


def _within(roots: Sequence[Term], place: Term | None) -> tuple[Term, ...]:
    """roots, (a, b) packed → (a, b): a place, or the parts of a packed one, as far as below the roots."""
    if place is None:
        return ()
    parts = place.rands if type(place.op) is Pack else (place,)
    below = reachable(*roots)
    return tuple([t for t in parts if t in below])


class _Run:
    """log(eˣ) + 1, {log(eˣ): x} → x + 1: the program while steps are made, by its roots and successors."""

    def __init__(self, derivation: Derivation):
        self._base = [*derivation.before, *derivation.besides]
        self._became: dict[Key, Key] = {}
        self._phase = 0
        self._conventions = derivation.conventions or DEFAULT
        self._wholes = list(derivation.wholes)
        self._told = told_of(derivation.steps)
        self._series: dict[Term, Term] = {}
        self._expanding: _Expanding | None = None
        self._last: Key | None = None

    def roots(self) -> list[Term]:
        """→ [x + 1]: the roots as they have become so far."""
        found = self._resolved(self._base)
        return substitute(found, self._series) if self._series else found

    def place(self, step: Step) -> Term | None:
        """step log(eˣ) → x ⟶ log(eˣ), the place in the roots of the next step; None where there is none such."""
        if _is_layer(step):
            return self._implicit(step)
        key = self._key(step)
        if step.within < 0 and self._wholes:
            key = self._wholes[0].before
        found = self._resolved([key])[0]
        return found if found in reachable(*self.roots()) else None

    def successor(self, step: Step) -> Term | None:
        """step log(eˣ) → x ⟶ x: the term at the place of a step that has been made."""
        if step.move in _AT_ONCE:
            return step.after
        key = self._last if step.within < 0 or _is_layer(step) else self._key(step)
        return self._resolved([key])[0] if key is not None else None

    def make(self, step: Step) -> None:
        """{…} → {log(eˣ): x, …}: makes a step."""
        if step.phase != self._phase:
            self.settle(None)
            self._base, self._phase = self.roots(), step.phase
            self._became, self._series, self._expanding = {}, {}, None
        if step.move in _AT_ONCE:
            self.settle(step)
            self._series[step.before] = step.after
            return
        if self._series:
            self._base, self._series = self.roots(), {}
        if _is_layer(step):
            self._expand(step)
            return
        self.settle(step)
        if step.within < 0:
            self._last = None
            if self._wholes:
                whole = self._wholes.pop(0)
                self._last = self._key(whole)
                self._set(self._last, whole.after, whole.within)
            return
        self._set(self._key(step), step.after, step.within)

    def _key(self, step: Step) -> Key:
        return (step.before, step.within) if step.within > 0 and not is_implicit(step.before) else step.before

    def _set(self, key: Key, after: Term, within: int) -> None:
        successor = (after, within) if within > 0 and type(key) is tuple else after
        if not leads_to(successor, key, self._became):
            self._became[key] = successor

    def _implicit(self, step: Step) -> Term | None:
        """step on sin(x) → ∂⟨g, sin(x)⟩/∂x, whose next layer is the step, ready to be expanded."""
        if self._expanding is None or not self._expanding.meets(step):
            self.settle(step)
            waiting = [t for t in subterms(*self.roots()) if is_implicit(t)]
            found = (_Expanding(t, self._conventions, self._told, self._phase) for t in waiting)
            self._expanding = next((e for e in found if e.meets(step)), None)
        return self._expanding and self._expanding.term

    def _expand(self, step: Step) -> None:
        if self._implicit(step) is not None:
            assert self._expanding is not None
            self._last = old = self._expanding.term
            self._put(old, self._expanding.expand())

    def settle(self, step: Step | None) -> None:
        """∂⟨…⟩ with no layer left → its results, unless the next step is its next layer."""
        if self._expanding is not None and not (step and _is_layer(step) and self._expanding.meets(step)):
            old = self._expanding.term
            self._put(old, self._expanding.rest(step and step.before))
            self._expanding = None

    def _put(self, old: Term, new: Term) -> None:
        if new is not old:
            self._became[old] = new

    def _resolved(self, keys: Sequence[Key]) -> list[Term]:
        """[log(eˣ) + 1] → [x + 1]: the successors of terms, operands first."""
        done: dict[Key, Term] = {}
        became = self._became
        for start in keys:
            stack: list[tuple[Key, Key]] = [(start, start)]
            waiting: set[Key] = set()
            while stack:
                origin, key = stack[-1]
                if origin in done:
                    stack.pop()
                    continue
                waiting.add(origin)
                while key in became:
                    key = became[key]
                    waiting.add(key)
                if key in done:
                    done[origin] = done[key]
                    stack.pop()
                    continue
                t, within = (key, 0) if type(key) is Term else key
                operands = operand_keys(t, within)
                missing = [k for k in operands if k not in done and k not in waiting]
                if missing:
                    stack[-1] = origin, key
                    stack += [(k, k) for k in missing]
                    continue
                rands: list[Any] = [done.get(k, old) for k, old in zip(operands, t.rands, strict=True)]
                if any(map(is_not, rands, t.rands)):
                    for k, new in zip(operands, rands, strict=True):
                        done.setdefault(new if type(k) is Term else (new, k[1]), new)
                    new = t.op.with_rands(t, rands)
                    stack[-1] = origin, ((new, within) if within else new)
                    continue
                done[origin] = done[key] = t
                stack.pop()
        return [done[key] for key in keys]


class _Expanding:
    """∂⟨g, sin(x)·y⟩/∂x ⟶ ∂⟨g·y, sin(x)⟩/∂x: an implicit derivative, layer by layer."""

    def __init__(self, t: Term, conventions: Conventions, steps: Told, phase: int):
        self.term = t
        self._layers = _layers(t, conventions, steps, phase)
        self._ahead: list[tuple[Term | None, Term]] = []

    def meets(self, step: Step) -> bool:
        """step on sin(x) → True: whether a step is the next layer; layers without any flow are no steps."""
        value = _value(step)
        while not self._ahead or self._ahead[-1][0] is None:
            layer = next(self._layers, None)
            if layer is None:
                return False
            self._ahead.append(layer)
        return self._ahead[-1][0] is value

    def expand(self) -> Term:
        """∂⟨g·y, sin(x)⟩/∂x → g·y·cos(x): does the next layer, and returns the rest."""
        self.term = self._ahead[-1][1]
        self._ahead = []
        return self.term

    def rest(self, until: Any) -> Term:
        """layers without flows → the results, or the rest that a relation knows."""
        for value, left in chain(self._ahead, self._layers):
            if self.term is until or value is not None:
                break
            self.term = left
        return self.term


def _is_layer(step: Step) -> bool:
    """pullback of sin → True: expanded, or told by a row on gradients."""
    return step.move == "expand" or step.within == PAIR


def _value(step: Step) -> Term:
    """⟨g, sin(x)⟩ → sin(x): the value that a layer is about."""
    if step.within == PAIR:
        return step.before.rands[0].rands[0]
    return step.before[0] if isinstance(step.before, tuple) else step.before


def _layers(t: Term, conventions: Conventions, steps: Told, phase: int) -> Iterator[tuple[Term | None, Term]]:
    """∂⟨g, sin(x)⟩/∂x → (sin(x), g·cos(x)), …: each layer's value, None where nothing flows, and the rest."""
    if isinstance(t.op, Gradient):
        pullback = Pullback(t, conventions)
        while pullback.pending:
            row = told(steps, phase, pullback)
            value, _, flows = pullback.expand(row and [(row.before.rands[0].rands[-1], row.after)])
            left = pullback.term() if pullback.pending else packed(pullback.results(), pullback.wrt)
            yield (value if flows else None), left
    elif isinstance(t.op, Pushforward):
        tangents = Tangents(t, conventions)
        values, inputs, _ = t.op.parts(t)
        while (layer := tangents.expand()) is not None:
            yield layer[0], term(Pushforward(len(values)), *values, *_known(tangents, values))
        yield None, packed(tangents.results(), inputs)


def _known(tangents: Tangents, values: Sequence[Term]) -> list[Term]:
    """tangents {u: u̇}, values [f(u)] → [u, u̇]: the known values nearest to the results, and their tangents."""
    known = {v: g for v, g in tangents.tangents.items() if is_term(g)}
    found = nearest_where(values, known.__contains__)
    return [*found, *[known[v] for v in found]]
