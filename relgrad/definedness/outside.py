"""Tests of domains: where the operands of an op are such that its result is no real number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.bounds import is_empty, is_number, meet, possible
from relgrad.contract import Contract
from relgrad.interpret import unknown
from relgrad.leaf import Anchor
from relgrad.op import as_term, is_constant
from relgrad.ops.align import FLOATING
from relgrad.ops.arithmetic import add, divide, multiply, subtract
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import (
    greater,
    less,
    logical_and,
    logical_not,
    logical_or,
)
from relgrad.ops.gather import AddAlong, Scatter
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import where
from relgrad.term import Term, kept, remade, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType


class Plain:
    """variable(x) → x: terms without variables of differentiation, each of which stands for its value."""

    def __init__(self) -> None:
        self._known: dict[Term, Term] = {}

    def __call__(self, t: Term) -> Term:
        known = self._known
        for node in unknown([t], known):
            rands = tuple([known[x] for x in node.rands])
            known[node] = rands[0] if type(node.op) is Anchor else remade(node, rands)
        return known[t]


def outside(node: Term, plain: Plain) -> Term | None:
    """log(x) → x < 0: where an application leaves the reals at real operands; None if that is known to be nowhere."""
    test = _test(node, plain)
    return None if test is None else _beyond_rounding(possible(as_term(test)))


def _beyond_rounding(test: Term | None) -> Term | None:
    """a + b < 0 → a + b < −ε^¾·(|a| + |b|): a test with a margin, as rounding may take a computed term across."""
    if test is None or test.op in (logical_or, logical_and):
        return None if test is None else test.op.make_node(*map(_beyond_rounding, test.rands))
    if test.op is not less and test.op is not greater:
        return test
    x, bound = test.rands
    if not x.rands or x.type.dtype.kind != "f" or not is_number(bound):
        return test
    limit, margin = float(bound.op.value), float(np.finfo(x.type.dtype).eps) ** 0.75
    sign = -1.0 if test.op is less else 1.0
    if limit:
        return test.op.make_node(x, as_term(limit + sign * margin * abs(limit)))
    if x.op not in (add, subtract):
        return test
    size = np.abs(Tracer(x.rands[0])) + np.abs(Tracer(x.rands[1]))
    finite = np.minimum(size, np.finfo(x.type.dtype).max)  # a sum that leaves the range is beyond rounding
    return test.op.make_node(x, as_term(sign * margin * finite))


def _test(node: Term, plain: Callable[[Term], Term]) -> Any:
    """log(x) → x < 0;    Σ x/n → x = 0 ∧ n = 0, where n is a count: 0/0, which has no limit, as n stays 0 nearby.

    None for ops that are known to have no domain to leave, as exp and add are.
    """
    counts = node.op is divide and kept(node.rands[1], "is_counted", _is_counted)
    if not counts and getattr(node.op.outside, "__func__", None) is Contract.outside:
        return None
    operands = [Tracer(plain(x)) for x in node.rands]
    if not counts:
        return node.op.outside(*operands)
    x, n = operands
    return None if is_constant(n.term) and np.all(n.term.op.value) else np.logical_and(x == 0, n == 0)


def _is_counted(t: Term) -> bool:
    """Σ (x > 0), Σ where(x > 0, 1, 0), 3 → True; x, y·Σ (x > 0) → False: whether a term is a sum of truth values,
    integers and constants.
    """
    op = t.op
    if is_constant(t) or (isinstance(t.type, ArrayType) and t.type.dtype.kind != "f"):
        return True
    adds = (
        op.as_sum
        or op is multiply
        or op is where
        or isinstance(op, (Cast, Sum, AddAlong, Scatter, *FLOATING))
    )
    return bool(adds) and all(x.cache["is_counted"] for x in t.rands)


class Domains:
    """√(x·y − 1) → [x·y − 1 < 0]: the tests of all domains in a program, to be rewritten together with the program.

    `terms` are tests as written, whose operands stand in the program; after they have been rewritten, `became` tells
    for each test the one that it is.
    """

    def __init__(self, roots: Sequence[Term]):
        self._plain = Plain()
        self._found: dict[Term, Term] = {}
        for node in subterms(*roots):
            test = _test(node, lambda x: x)
            simple = None if test is None else _beyond_rounding(possible(self._plain(as_term(test))))
            if simple is not None and any(x.rands for x in simple.rands):
                self._found.setdefault(simple, as_term(test))

    @property
    def terms(self) -> list[Term]:
        return list(self._found.values())

    def became(self, rewritten: Sequence[Term]) -> dict[Term, Term | None]:
        """[x, …] → {x < 0: its simplest form, …}: each test after its term has been rewritten; None is never true."""
        plain = map(self._plain, rewritten)
        return {t: _beyond_rounding(possible(x)) for t, x in zip(self._found, plain, strict=True)}


def given(test: Term, condition: Term, truth: bool) -> Term | None:
    """x < 0, x > 0 → None;    x < 0, y > 0 → x < 0 ∧ y > 0: a test where a condition holds (or not); None if excluded.

    `where(x > 0, log(x), 0)` is nowhere undefined: x < 0 excludes x > 0.
    """
    if test.op is logical_or:
        parts = [x for x in [given(part, condition, truth) for part in test.rands] if x is not None]
        return parts[0] if len(parts) == 1 else logical_or.make_node(*parts) if parts else None
    if _excludes(test, condition, truth):
        return None
    other = condition if truth else logical_not.make_node(condition)
    return logical_and.make_node(test, other)


def _excludes(test: Term, condition: Term, truth: bool) -> bool:
    """Whether a test is false wherever a condition is true (or false): x < 0 and x > 0: yes; x < 1 and x > 0: no."""
    if test.op is logical_and:
        return any(_excludes(part, condition, truth) for part in test.rands)
    if truth and condition.op is logical_and:
        return any(_excludes(test, part, truth) for part in condition.rands)
    if not truth and condition.op is logical_or:
        return any(_excludes(test, part, truth) for part in condition.rands)
    if test.op.solutions is None or condition.op.solutions is None:
        return False
    (x, bound), (y, limit) = test.rands, condition.rands
    if x is not y or not (is_number(bound) and is_number(limit)):
        return False
    ours, theirs = (t.op.solutions(float(b.op.value)) for t, b in ((test, bound), (condition, limit)))
    both = meet(ours, theirs)
    return is_empty(both) if truth else both == ours
