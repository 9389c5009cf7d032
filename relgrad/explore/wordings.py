"""Wordings: what people write for the same thing, law by law. A law lists expressions that are equal over the reals.

Each is written as its author would type it, and is found as it is written: this is the reverse of a view, which reads
all of them alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgrad.logic.conditions import Goal, constant_along, nonnegative, positive
from relgrad.logic.index import head_key
from relgrad.logic.unify import fresh, is_variable, reify_term, unify_terms, unknowns
from relgrad.op import as_term, is_constant, strong
from relgrad.relation import same_shape
from relgrad.term import Term, is_term, rebuild, term
from relgrad.trace.tracer import Tracer

Law = Callable[..., tuple[Any, ...]]


def _kept(x: Any, axis: Any) -> Any:
    return np.sum(x, axis=axis, keepdims=True)


ARITHMETIC: tuple[Law, ...] = (
    lambda a, b: (a + b, b + a),
    lambda a, b, c: (a + (b + c), (a + b) + c),
    lambda a, b: (a - b, a + (-b), -(b - a), -b + a),
    lambda a, b, c: ((a - b) - c, a - (b + c)),
    lambda a, b, c: ((a + b) - c, a + (b - c), a - (c - b)),
    lambda a: (a + a, 2 * a),
    lambda a, b: (a * b, b * a),
    lambda a, b, c: (a * (b * c), (a * b) * c),
    lambda a, b: ((-a) * b, -(a * b), a * (-b)),
    lambda a, b: ((-a) / b, -(a / b), a / (-b)),
    lambda a, b: (a / b, a * b**-1, 1 / (b / a)),
    lambda a: (1 / a, a**-1, np.reciprocal(a)),
    lambda a, b, c: ((a * b) / c, a * (b / c), a / (c / b)),
    lambda a, b, c: (a / (b * c), (a / b) / c),
    lambda a, b, c: ((a + b) / c, a / c + b / c),
    lambda a, b, c: ((a - b) / c, a / c - b / c),
    lambda a: (a * a, a**2, np.square(a)),
    lambda a: (a * a * a, a**3, a * a**2),
    lambda a: (1 / a**2, a**-2, (1 / a) ** 2),
    lambda a: (np.sqrt(a), a**0.5),
    lambda a: (1 / np.sqrt(a), a**-0.5, np.sqrt(1 / a)),
    lambda a, b: (np.square(a / b), np.square(a) / np.square(b)),
    lambda a, b: (a**2 - b**2, (a - b) * (a + b)),
    lambda a: (a, 1 / (1 / a)),
)
"""Orders of sums and products, signs, reciprocals and quotients, squares and roots."""

INVARIANTS: tuple[Law, ...] = (
    lambda a, b, axis: (a * _kept(b, axis), _kept(a * b, axis), constant_along(a, axis)),
    lambda a, b, axis: (
        _kept(b, axis) / a,
        _kept(b / a, axis),
        1 / a * _kept(b, axis),
        constant_along(a, axis),
    ),
    lambda a, axis: (-_kept(a, axis), _kept(-a, axis)),
    lambda a, b, axis: (_kept(a, axis) + _kept(b, axis), _kept(a + b, axis), same_shape(a, b)),
    lambda a, b, axis: (_kept(a, axis) - _kept(b, axis), _kept(a - b, axis), same_shape(a, b)),
)
"""What does not vary along an axis, inside a sum and outside."""

DEFINITIONS: tuple[Law, ...] = (
    lambda a, b: (np.exp(a + b), np.exp(a) * np.exp(b)),
    lambda a, b: (np.exp(a - b), np.exp(a) / np.exp(b)),
    lambda a: (np.exp(-a), 1 / np.exp(a)),
    lambda a: (np.exp(2 * a), np.exp(a) ** 2),
    lambda a: (np.exp(a / 2), np.sqrt(np.exp(a))),
    lambda a: (
        np.tanh(a),
        (np.exp(a) - np.exp(-a)) / (np.exp(a) + np.exp(-a)),
        (np.exp(2 * a) - 1) / (np.exp(2 * a) + 1),
        (1 - np.exp(-2 * a)) / (1 + np.exp(-2 * a)),
        np.sinh(a) / np.cosh(a),
    ),
    lambda a: (np.sinh(a), (np.exp(a) - np.exp(-a)) / 2),
    lambda a: (np.cosh(a), (np.exp(a) + np.exp(-a)) / 2),
    lambda a: (np.tan(a), np.sin(a) / np.cos(a)),
    lambda a: (np.exp2(a), 2**a),
    lambda a: (np.log1p(a), np.log(1 + a)),
    lambda a: (np.expm1(a), np.exp(a) - 1),
    lambda a, b: (np.log(a * b), np.log(a) + np.log(b), positive(a), positive(b)),
    lambda a, b: (np.log(a / b), np.log(a) - np.log(b), positive(a), positive(b)),
    lambda a: (np.log(1 / a), -np.log(a), positive(a)),
    lambda a: (np.log(a**2), 2 * np.log(a), positive(a)),
    lambda a: (np.log(np.sqrt(a)), 0.5 * np.log(a), np.log(a) / 2, nonnegative(a)),
    lambda a, b: (np.sqrt(a * b), np.sqrt(a) * np.sqrt(b), nonnegative(a), nonnegative(b)),
    lambda a, b: (np.sqrt(a / b), np.sqrt(a) / np.sqrt(b), nonnegative(a), positive(b)),
    lambda a, b: (np.hypot(a, b), np.sqrt(a**2 + b**2)),
    lambda a, b: (np.logaddexp(a, b), np.log(np.exp(a) + np.exp(b))),
)
"""Functional equations, and definitions written out; log(a)/log(10) is none of log10(a), since log(10) is rounded."""

LAWS = (*ARITHMETIC, *INVARIANTS, *DEFINITIONS)


@dataclass(frozen=True, eq=False)
class Wording:
    """a + a, of [a + a, 2·a] → 2·a: one of the expressions of a law, as a pattern of a dtype; the others;
    the conditions.
    """

    pattern: Any
    others: tuple[Any, ...]
    conditions: tuple[Goal, ...]

    def reword(self, t: Term) -> Iterator[Term]:
        """x + x → 2·x: the other expressions of the law for a term that is written as this wording."""
        state = unify_terms(self.pattern, t, {})
        if state is False or not all(any(True for _ in goal(state)) for goal in self.conditions):
            return
        for other in self.others:
            new = reify_term(other, state)
            if is_term(new) and new.ground and new.type == t.type:
                yield new


class Wordings:
    """x + x → [a + a of a law, …]: the laws filed by the heads of their wordings, for terms of one dtype."""

    def __init__(self, dtype: Any, laws: Sequence[Law] = LAWS):
        """[a + a, 2·a] → {add: [a + a], multiply: [2·a]}: files the wordings of each law."""
        self._by_head: dict[Any, list[Wording]] = {}
        for law in laws:
            sides, conditions = _sides(law)
            for i, side in enumerate(sides):
                pattern = promoted(side, dtype)
                others = sides[:i] + sides[i + 1 :]
                key = head_key(pattern.op) if is_term(pattern) else None
                self._by_head.setdefault(key, []).append(Wording(pattern, others, conditions))

    def at(self, t: Term) -> list[Wording]:
        """Return the wordings that a term may have been written in."""
        return self._by_head.get(head_key(t.op), []) + self._by_head.get(None, []) if t.rands else []


def _sides(law: Law) -> tuple[tuple[Any, ...], tuple[Goal, ...]]:
    """law(a) = [a + a, 2·a], conditions → the sides as patterns, and the conditions."""
    names = list(inspect.signature(law).parameters)
    variables = [fresh(name) for name in names]
    parts = law(*[v if n == "axis" else Tracer(v) for n, v in zip(names, variables, strict=True)])
    sides = tuple([as_term(x) for x in parts if isinstance(x, Tracer)])
    assert all(unknowns(side) == unknowns(sides[0]) for side in sides)
    return sides, tuple([x for x in parts if not isinstance(x, Tracer)])


def promoted(pattern: Any, dtype: Any) -> Any:
    """2·a, float32 → float32(2)·a: the bare numbers of a pattern in the dtype that they have beside their partners."""
    if is_variable(pattern):
        return pattern
    return rebuild(
        [pattern], lambda old, rands: strong(old, dtype) if is_constant(old) else term(old.op, *rands)
    )[0]
