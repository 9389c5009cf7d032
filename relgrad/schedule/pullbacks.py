"""Relations on gradients: where a value is what a row differentiates, the row says what flows back.

    row: ∂⟨g, f(x)⟩/∂x = r(x, g)     v = f(X), where nothing else in v depends on what is asked for
    ⟨g, v⟩ + …  ⟶  ⟨r(X, g), X⟩ + …  in any gradient, whatever else flows there and wherever X leads

That is the chain rule, so a row holds in every company: beside other values, for several inputs, before inner
functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from relgrad.dependence import dependent
from relgrad.gradient import Gradient, Pullback, fit_cotangent
from relgrad.logic.conditions import Goal
from relgrad.logic.goals import equalo, lall
from relgrad.logic.index import Index, compile_pattern
from relgrad.logic.theory import BAG, PRODUCT, SUM, theories_of
from relgrad.logic.unify import State, extended, is_variable, reify_term, unknowns
from relgrad.op import Project, is_constant
from relgrad.ops.arithmetic import multiply
from relgrad.relation import Library, Relation
from relgrad.schedule.relate import Named, Note, noted
from relgrad.step import Step
from relgrad.term import Term, is_term, subterms

PAIR = PRODUCT | SUM | BAG
"""What stands for the theories of a row's step on a pair ⟨g, f(X)⟩ of a gradient, which is no place of its own."""


class _Rule(NamedTuple):
    """A row ∂⟨g, f(x)⟩/∂x = r(x, g)."""

    row: Relation
    value: Term
    cotangent: Any
    x: Any


class Pullbacks:
    """∂⟨g, f(x)⟩/∂x = r(x, g) → found under f: the rows on gradients with respect to one variable, by what is
    differentiated.
    """

    def __init__(self, library: Library):
        self.rules = [rule for row in library if (rule := _read(row)) is not None]
        self._index = Index([compile_pattern(rule.value) for rule in self.rules])

    def may_tell(self, t: Term) -> bool:
        """Whether rows may know, by its heads, what a term or a part of it is differentiated to."""
        offered = lambda node: self._index.candidates(node, theories_of(node.op))
        return bool(self.rules) and any(map(offered, subterms(t)))

    def goals(self, pullback: Pullback, v: Any, m: Any, note: Note) -> Iterator[Goal]:
        """⟨g, f(X)⟩ → goals that v = (X, r(X, g)): that v is a row's flow to an array from the next value;
        m names the row.
        """
        value, g = pullback.next
        if self.rules and is_term(g):
            for i in self._index.candidates(value, theories_of(value.op)):
                yield _flow(self.rules[i], pullback, value, g, v, m, note)


@lru_cache(maxsize=64)
def pullbacks_of(library: Library) -> Pullbacks:
    """Return the rows of a library on gradients."""
    return Pullbacks(library)


def _read(row: Relation) -> _Rule | None:
    """∂⟨g, f(x)⟩/∂x = r → (row, f(x), g, x): a row as a rule for what flows; None if its left side is no such
    gradient.
    """
    node = row.left.rands[0] if type(row.left.op) is Project else row.left
    if not is_term(node) or type(node.op) is not Gradient or len(node.rands) != 3:
        return None
    value, cotangent, x = node.rands
    return _Rule(row, value, cotangent, x) if is_term(value) and value.rands and is_variable(x) else None


def _flow(rule: _Rule, pullback: Pullback, value: Term, g: Term, v: Any, m: Any, note: Note) -> Goal:
    """f(X), g → {v: (X, r(X, g)), m: row}: the goal of one row at one value with its cotangent."""

    row = rule.row

    @noted(row.name, value, note)
    def flow_goal(s: State) -> Iterator[State]:
        """s → the states in which the row's value and cotangent match, and its conditions hold."""
        named = Named("relation", row.name, row.summary, row.variables)
        for state in lall(*_premises(rule, value, g))(s):
            if (flow := _contribution(rule, pullback, value, g, state)) is not None:
                yield extended(state, {v: flow, m: named})

    return flow_goal


def _premises(rule: _Rule, value: Term, g: Term) -> list[Goal]:
    cotangent = [] if is_constant(rule.cotangent) else [equalo(rule.cotangent, g)]
    return [equalo(rule.value, value), *cotangent, *rule.row.conditions]


def _contribution(
    rule: _Rule, pullback: Pullback, value: Term, g: Term, s: State
) -> tuple[Term, Term] | None:
    """⟨g, f(X)⟩, ∂⟨g, f(x)⟩/∂x = r(x, g) → (X, r(X, g)): an array and its flow; None where that is not all there is.

    What has been matched may stand beside the array that it is differentiated for; a part that depends on what is asked
    for in another way would get nothing.
    """
    x = s[rule.x]
    if not is_term(x) or x is value or x not in pullback.relevant or x not in set(subterms(value)):
        return None
    others = [y for w in unknowns(rule.value) - {rule.x} if is_term(y := s[w])]
    if dependent(others, pullback.wrt) & set(others):
        return None
    if not _is_elementwise(rule.value) and reify_term(rule.value, s).type != value.type:
        return None
    right = reify_term(rule.row.right, s)
    if is_constant(rule.cotangent):
        # ∂(Σ f)/∂x is told; entry by entry, or of one entry, any cotangent is a factor.
        if not (value.type.size == 1 or _is_elementwise(rule.value)):
            return None
        right = multiply(g, right)
    return x, fit_cotangent(right, x)


Told = Mapping[tuple[int, Term, Term], Step]
"""The steps of rows on gradients, by phase, value and cotangent."""


def told_of(steps: Iterable[Step]) -> Told:
    """∂⟨g, f(X)⟩/∂X → r(X, g), in phase 1 ⟶ {(1, f(X), g): step}."""
    return {(s.phase, *s.before.rands[0].rands[:2]): s for s in steps if s.within == PAIR}


def told(steps: Told, phase: int, pullback: Pullback) -> Step | None:
    """⟨g, f(X)⟩ → the step of a row on what is expanded next, or None; of several outputs no row tells."""
    value, g = pullback.next
    return steps.get((phase, value, g)) if is_term(g) else None


def _is_elementwise(pattern: Term) -> bool:
    return all(node.op.elementwise or is_constant(node) for node in subterms(pattern))
