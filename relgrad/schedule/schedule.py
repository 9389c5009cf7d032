"""The scheduler: interleaves relations, one-layer expansions of gradients and constant folding, with fuel.

Terms are visited bottom-up, each distinct one once for each way in which a theory reads through it, so the cost is
near linear in the size of the graph. Relations rooted in a product or sum are tried at maximal products and sums
only, since an inner match would destroy the outer one.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from relgrad.errors import OutOfFuel
from relgrad.gradient import Anchor, Gradient, Pullback, Pushforward, Tangents, is_implicit
from relgrad.logic import in_product, in_sum
from relgrad.op import Pack
from relgrad.relation import Library
from relgrad.schedule.fold import fold
from relgrad.schedule.relate import Found, relate
from relgrad.schedule.strategy import DEFAULT, EXPAND, FOLD, RELATE, Strategy
from relgrad.step import Derivation, Step
from relgrad.term import Term, substitute, subterms, term

Key = tuple[Term, bool, bool]
"""A term, and whether the product and the sum that it belongs to are larger than it."""


def schedule(
    roots: Sequence[Term], library: Library, strategy: Strategy = DEFAULT, fuel: int | None = None
) -> Derivation:
    """Return the derivation that a strategy finds: equal roots, without implicit gradients, stabilised.

    `fuel` bounds the number of relations applied (by default in proportion to the graph). When it runs out, the
    relation that was applied most often is set aside and the search begins anew: the result is the best program
    without it, and `OutOfFuel` says so.
    """
    if fuel is None:
        fuel = 2000 + 20 * sum(1 for _ in subterms(*roots))
    aside: list[str] = []
    while True:
        run = _Run(library, fuel)
        after = list(roots)
        for moves in strategy.phases:
            after = run.saturate(after, moves)
        if any(is_implicit(node) for node in subterms(*after)):
            after = run.saturate(after, frozenset({EXPAND}))
        if run.fuel >= 0:
            break
        applied = Counter(step.name for step in run.steps if step.move == "relation")
        aside += [name for name, _ in applied.most_common(1)]
        if not applied:
            break
        library = library.without(aside[-1])
    if run.fuel < 0 or aside:
        without = f"; set aside: {', '.join(aside)}" if aside else ""
        warnings.warn(
            OutOfFuel(f"stopped after {fuel} relations{without}; the program may not be fully stabilised"),
            stacklevel=3,
        )
    return Derivation(tuple(roots), tuple(after), tuple(run.steps))


class _Run:
    """The state of one run: fuel and steps."""

    def __init__(self, library: Library, fuel: int):
        self.library, self.fuel = library, fuel
        self.steps: list[Step] = []

    def saturate(self, roots: Sequence[Term], moves: frozenset[str]) -> list[Term]:
        """Make all moves of a phase, bottom-up, until none is left."""
        normal: dict[Key, Term] = {}
        became: dict[Key, Key] = {}
        for root in roots:
            self._visit((root, False, False), moves, normal, became)
        return [normal[root, False, False] for root in roots]

    def _visit(
        self, start: Key, moves: frozenset[str], normal: dict[Key, Term], became: dict[Key, Key]
    ) -> None:
        stack = [start]
        # What has been rewritten and waits for its successor. A relation may put a term inside its own successor,
        # as x = f(f⁻¹(x)) does; there it stays as it is.
        waiting: set[Key] = set()
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
            t = key[0]
            operands = _operand_keys(t)
            missing = [k for k in operands if k not in normal and k not in waiting]
            if missing:
                stack.extend(missing)
                continue
            rands = tuple([normal.get(k, k[0]) for k in operands])
            if any(new is not old for new, old in zip(rands, t.rands, strict=True)):
                for k, new in zip(operands, rands, strict=True):
                    normal.setdefault((new, k[1], k[2]), new)
                successor = (t.op.make_node(*rands), key[1], key[2])
            else:
                new = self._move(key, moves, became)
                if new is None:
                    normal[key] = t
                    stack.pop()
                    continue
                successor = (new, key[1], key[2])
            if _leads_to(successor, key, became):
                normal[key] = t
            else:
                became[key] = successor

    def _move(self, key: Key, moves: frozenset[str], became: dict[Key, Key]) -> Term | None:
        """Make one move at a term whose operands are normal, or return None."""
        t, inside_product, inside_sum = key
        if is_implicit(t):
            return self._expand(t) if EXPAND in moves else None
        if RELATE in moves and self.fuel >= 0:
            for found in relate(t, self.library, not inside_product, not inside_sum):
                if _leads_to((found.term, inside_product, inside_sum), key, became):
                    continue
                self._record(t, found)
                return found.term
        if FOLD in moves:
            value = fold(t)
            if value is not None:
                self.steps.append(Step("fold", "fold", t, value, "all operands are constants"))
                return value
        return None

    def _record(self, t: Term, found: Found) -> None:
        self.fuel -= 1
        self.steps.append(Step(found.move, found.name, t, found.term, found.why, found.bindings))

    def _expand(self, t: Term) -> Term:
        if type(t.op) is Pushforward:
            return self._expand_pushforward(t)
        pullback = Pullback(t)
        watched = self.library.of_op(Gradient)
        while pullback.pending:
            if watched and self.fuel >= 0:
                # A relation may know the gradient of what is left as a whole.
                rest = pullback.term()
                for found in relate(rest, self.library, False, False):
                    self._record(rest, found)
                    return found.term
            v, g, flows = pullback.expand()
            if flows:
                why = "what flows back to its operands"
                self.steps.append(Step("expand", f"pullback of {v.op}", (v, g), tuple(flows), why))
        return _without_anchors(pullback.results(), pullback.wrt)

    def _expand_pushforward(self, t: Term) -> Term:
        tangents = Tangents(t)
        while (layer := tangents.expand()) is not None:
            v, out = layer
            self.steps.append(
                Step("expand", f"pushforward of {v.op}", v, tuple(out), "the tangent of its result")
            )
        _, inputs, _ = t.op.parts(t)
        return _without_anchors(tangents.results(), inputs)


def _without_anchors(results: Sequence[Term], wrt: Sequence[Term]) -> Term:
    """Put the values back that stood behind the variables of differentiation, and pack the results."""
    anchors: dict[Term, Any] = {x: x.rands[0] for x in wrt if type(x.op) is Anchor}
    return term(Pack(), *(substitute(results, anchors) if anchors else results))


def _leads_to(start: Key, goal: Key, became: dict[Key, Key]) -> bool:
    """Whether one term has been rewritten into another: relations that run in a circle stop where they began."""
    place: Key | None = start
    while place is not None and place != goal:
        place = became.get(place)
    return place is not None


def _operand_keys(t: Term) -> list[Key]:
    product, sum_ = in_product(t.op), in_sum(t.op)
    if not (product or sum_):
        return [(rand, False, False) for rand in t.rands]
    return [(rand, product and in_product(rand.op), sum_ and in_sum(rand.op)) for rand in t.rands]
