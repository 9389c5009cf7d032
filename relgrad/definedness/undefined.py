"""The entries at which a program as written is undefined, as a program.

def(x) = "x is not NaN" for an argument; def(op(a, …)) = def(a) ∧ … ∧ "(a, …) lies in the domain of op", entry by
entry as the op ties them; def(where(c, a, b)) = where(c, def(a), def(b)). A derivative is defined where the chain rule,
written out, is, in which nothing flows back to a branch that is not taken. Overflow, inf − inf and 0/0 on the way are
artefacts of floats, and undefine nothing, unless what is divided by is a count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

import numpy as np

from relgrad.contract import FRESH
from relgrad.conventions import Conventions
from relgrad.definedness.outside import Plain, outside
from relgrad.dependence import mixed
from relgrad.gradient import is_implicit, ones_like, zeros_like
from relgrad.leaf import Input
from relgrad.op import Constant, Project, as_term, constant, is_constant
from relgrad.ops.arithmetic import absolute, add, divide, multiply, negative, positive, subtract
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import isfinite, isinf, logical_and, logical_not, logical_or
from relgrad.ops.comparison import isnan as isnan_
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.gather import AddAlong, Scatter
from relgrad.ops.moving import Triangle
from relgrad.ops.reduction import Reduction, Sum
from relgrad.ops.scan import Delay
from relgrad.ops.selection import where
from relgrad.relation import Library
from relgrad.schedule import schedule, strategy
from relgrad.step import Derivation
from relgrad.term import Term, reachable, remade, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

nan_where = Elementwise(
    "nan_where",
    lambda mask, x: np.where(mask, np.nan, x),
    None,
    None,
    code="np.where({}, np.nan, {})",
    view_map=FRESH,
    named=False,
    dtype=lambda mask, x: x,
)
"""NaN where a mask is true, opaque to relations."""


def undefined(
    roots: Sequence[Term], rewrite: Callable[[Sequence[Term]], Derivation], conventions: Conventions
) -> list[Term]:
    """log(x) + y → isnan(x) ∨ isnan(y) ∨ x < 0: for each root, where it is undefined as written, broadcasting to it.

    The operands of tests of domains, and of conditions, are rewritten, so that rounding undefines nothing.
    """
    plain = Plain()
    derived = [any(is_implicit(node) for node in reachable(root)) for root in roots]
    if any(derived):
        roots = schedule(roots, Library(()), strategy("naive"), conventions=conventions).after
    explicit = [plain(x) for x in roots]
    # Factors of a mask need not lie in a domain, but NaN in an argument is NaN, unless nothing flows there.
    flows = isnan(conventions.untaken)
    found: dict[Term, Term] = {}
    for d in set(derived):
        own = [x for x, it in zip(explicit, derived, strict=True) if it is d]
        nan, real = _Masks(own, None, flows or not d, d), _Masks(own, plain, flows, d)
        for x in own:
            found[x] = _either([m for m in (nan.of[x], real.of[x]) if m is not None]) or constant(False)
    return list(rewrite([found[x] for x in explicit]).after)


_FILLING = (Scatter, AddAlong, Delay, Triangle)
"""Ops that fill up with zeros."""


class _Masks:
    """def(op(a, …)) = def(a) ∧ … ∧ "in the domain of op": the mask ¬def of each term; None is one that is nowhere true.

    They are those of NaN in arguments, or of ops outside their domains.
    """

    def __init__(self, roots: Sequence[Term], domains: Plain | None, flows: bool, derived: bool):
        """¬def of each term, operands first; with the places at which masks make terms 0, unless NaN `flows` there."""
        self.of: dict[Term, Term | None] = {}
        self._domains, self._derived = domains, derived
        self._vague: dict[Term, Term] = {}
        self._guarded: dict[Term, Term] = {}
        self._zero: dict[Term, Term] = {}
        for node in subterms(*roots):
            self.of[node] = self._mask(node)
            if not flows and (zero := self._masked(node)) is not None:
                self._zero[node] = zero

    def _mask(self, node: Term) -> Term | None:
        """x → isnan(x);    where(c, a, b) → where(c, ¬def a, ¬def b);    op(a, …) → ¬def a ∨ … ∨ outside; or None"""
        op = node.op
        kind = node.type
        if isinstance(kind, ArrayType) and kind.dtype.kind != "f":
            guarded = self._applied(node)
            if guarded is not node:
                self._guarded[node] = guarded
            if op not in (isnan_, isinf, isfinite):
                vague = [m for x in node.rands if (m := self.of.get(x) or self._vague.get(x)) is not None]
                if vague and (op.elementwise or isinstance(op, Reduction)):
                    self._vague[node] = self._tied(node, vague)
            return None
        if type(op) is Cast and node.rands[0] in self._vague:
            self._vague[node] = self._vague[node.rands[0]]
        if type(op) is Input:
            return as_term(np.isnan(Tracer(node))) if self._domains is None else None
        if type(op) is Constant:
            return constant(np.isnan(op.value)) if not self._domains and np.isnan(op.value).any() else None
        if op is where:
            return self._choice(node)
        given = {i: m for i in range(len(node.rands)) if (m := self._given(node, i)) is not None}
        passed = self._passed(node, given) if given else None
        test = self._outside(node) if isinstance(kind, ArrayType) else None
        return _either([m for m in (passed, test) if m is not None])

    def _outside(self, node: Term) -> Term | None:
        """log(x) → x < 0; of quotients in derivatives nothing: they may be of a 0 that does not flow."""
        return (
            outside(node, self._domains)
            if self._domains and not (self._derived and node.op is divide)
            else None
        )

    def _given(self, node: Term, i: int) -> Term | None:
        """x·m → ¬def x ∧ m ≠ 0, m a mask's zero: where an operand is undefined and that matters."""
        mask = self.of.get(node.rands[i])
        if self._derived and isinstance(
            node.op, Sum
        ):  # how many entries tie is open where they are undefined
            mask = mask or self._vague.get(node.rands[i])
        if mask is None or not (node.op is multiply or (node.op is divide and i == 1)):
            return mask
        zero = self._zero.get(node.rands[1 - i])
        if zero is None:
            return mask
        return as_term(np.logical_and(Tracer(mask), np.logical_not(Tracer(zero))))

    def _masked(self, node: Term) -> Term | None:
        """where(x > 0, y, 0) → x ≤ 0: where a condition, or a constant of some zeros, makes a term 0; None for nowhere.

        A product is 0 where a factor is, a sum where both summands are, Σ a where no entry is added up.
        """
        op, zeros = node.op, [self._zero.get(x) for x in node.rands]
        if type(op) is Constant:
            zero = op.value == 0
            return constant(zero) if zero.any() and not zero.all() else None
        if isinstance(node.type, ArrayType) and node.type.dtype.kind == "b":
            return self._certain(logical_not.make_node(self._guarded.get(node, node)), node)
        if op is where:
            condition, *branches = node.rands
            known = [
                constant(True) if is_constant(x) and not np.any(x.op.value) else self._zero.get(x)
                for x in branches
            ]
            zero = self._chosen(condition, known)
            if zero is None:
                return None
            # Where both branches are 0 the condition does not matter.
            both = [] if None in known else [logical_and.make_node(*known)]
            return _either([self._certain(zero, condition), *both])
        known = [z for z in zeros if z is not None]
        if op.elementwise or type(op) is Cast:
            if op is multiply:
                return _either(known)
            if op in (add, subtract):
                return logical_and.make_node(*known) if len(known) == 2 else None
            return zeros[0] if op in (divide, negative, positive, absolute) or type(op) is Cast else None
        linear = op.laws.linear
        if not linear or not (known or isinstance(op, _FILLING)) or not isinstance(node.type, ArrayType):
            return None
        # An entry is 0 where nothing is added up to it.
        counted = [self._nonzero(x) if i in linear else x for i, x in enumerate(node.rands)]
        return as_term(Tracer(op.make_node(*counted)) == 0)

    def _certain(self, zero: Term, condition: Term) -> Term:
        """zero ∧ def(condition): the entries that a condition makes zero, where the condition is defined."""
        vague = self._vague.get(condition)
        return zero if vague is None else logical_and.make_node(zero, logical_not.make_node(vague))

    def _nonzero(self, x: Term) -> Term:
        """where(zero, 0, 1): 1 where a term may be other than 0."""
        zero = self._zero.get(x)
        return (
            ones_like(x)
            if zero is None
            else as_term(np.where(Tracer(zero), Tracer(zeros_like(x)), Tracer(ones_like(x))))
        )

    def _choice(self, node: Term) -> Term | None:
        """where(c, a, b) → where(c, ¬def a, ¬def b); None where both branches are defined everywhere."""
        condition, *branches = node.rands
        return self._chosen(condition, [self.of.get(x) for x in branches])

    def _chosen(self, condition: Term, masks: list[Term | None]) -> Term | None:
        """c, a, b → where(c, a, b): a mask of one of two, of which None is false everywhere; None where both are."""
        if masks == [None, None]:
            return None
        yes, no = [Tracer(constant(False) if m is None else m) for m in masks]
        return as_term(np.where(Tracer(self._guarded.get(condition, condition)), yes, no))

    def _passed(self, node: Term, given: dict[int, Term]) -> Term | None:
        """op(a, …) → the entries that undefined operands undefine: tied ones, or those that are NaN of NaN operands."""
        op = node.op
        if isinstance(node.type, ArrayType) and type(op) is not Project and op.strict(node):
            return self._tied(node, list(given.values()))
        # The op itself says what it makes of NaN. Where it is linear, the numbers beside do not matter.
        linear = all(i in op.laws.linear for i, x in enumerate(node.rands) if self.of.get(x) is not None)
        applied = self._applied(node, ones=linear and type(op) is not Project)
        reached = _either([_along(mixed(node, i), m) for i, m in given.items()])
        if not isinstance(node.type, ArrayType):
            self._guarded[node] = applied
            return reached
        found = as_term(np.isnan(Tracer(applied)))
        # Where nothing is undefined, NaN is an artefact of floats.
        return found if linear else as_term(np.logical_and(Tracer(found), Tracer(reached)))

    def _tied(self, node: Term, given: Sequence[Term]) -> Term:
        """Σ a over axes → any(¬def a) along these: the entries that an op ties to some of which one is given."""
        mask = _either(given)
        assert mask is not None
        return _along(() if node.op.elementwise else node.op.axes, mask)

    def _applied(self, node: Term, ones: bool = False) -> Term:
        """op(a, …) → op(nan where ¬def a, …); with `ones`, of 1 in place of numbers."""
        return remade(node, tuple([self._guard(x, ones) for x in node.rands]))

    def _guard(self, x: Term, ones: bool) -> Any:
        """x → where(¬def x, nan, x); an argument, which is NaN itself, as it is."""
        mask = self.of.get(x)
        if x in self._guarded or mask is None or (type(x.op) is Input and not ones):
            return self._guarded.get(x, x)
        return nan_where.make_node(mask, ones_like(x) if ones else x)


def _along(axes: tuple[int, ...] | None, mask: Term) -> Term:
    """(−1,), ¬def x → any(¬def x) along −1: entries that some of a mask reach, which mix along axes; None is all."""
    if axes is None:
        return as_term(np.any(Tracer(mask)))
    axes = tuple([a for a in axes if -a <= mask.type.ndim])
    return as_term(np.any(Tracer(mask), axis=axes, keepdims=True)) if axes else mask


MANY = 16
"""A disjunction of more masks is one of disjunctions."""


def _either(masks: Sequence[Term]) -> Term | None:
    """[a ∨ b, a] → a ∨ b: where one of some masks is true, each of which is asked once."""
    found: Term | None = None
    for mask in _alternatives(masks):
        found = mask if found is None else as_term(np.logical_or(Tracer(found), Tracer(mask)))
    return found


def _alternatives(masks: Sequence[Term]) -> list[Term]:
    """[a ∨ b, c] → [a, b, c]: the parts of disjunctions, in order, or the disjunctions themselves if they are many."""
    found, pending = dict[Term, None](), list(masks)[::-1]
    while pending and len(found) < MANY:
        mask = pending.pop()
        if mask.op is logical_or and mask not in found:
            pending.extend(mask.rands[::-1])
        else:
            found[mask] = None
    return list(dict.fromkeys(masks)) if pending else list(found)
