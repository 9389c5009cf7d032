"""Which entries of a program NaN reaches, seen without computing: from arguments, and from ops outside their domains.

Two questions of one graph: which marks there may be, of a program as written, and which there are for certain, of the
rewritten one. Where the second answer covers the first, nothing needs to be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relgrad.definedness.marks import (
    MANY,
    NONE,
    Mark,
    Marks,
    Under,
    along,
    everywhere,
    is_test,
    labels_of,
    lift,
    lifted,
    own_mark,
    relabelled,
    summed,
)
from relgrad.definedness.outside import Plain, given, outside
from relgrad.dependence import dependent
from relgrad.gradient import Gradient, Pushforward
from relgrad.key import interned
from relgrad.leaf import Anchor, Input
from relgrad.op import Constant, Project
from relgrad.ops.casting import Cast
from relgrad.ops.einsum import Einsum
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Reduction, Sum
from relgrad.ops.rows import RowsOp
from relgrad.ops.selection import where
from relgrad.ops.shaping import Transpose
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze
from relgrad.term import Term, operands_first, rands_of, subterms
from relgrad.types import ArrayType


class Sources(dict[Term, dict[Term, None]]):
    """log(x) + y → x, x < 0, y: for each term the arguments and constants that may hold NaN, and tests of domains,
    below it.

    Terms that have the same of them keep one collection, since thousands may.
    """

    def __init__(self, plain: Plain):
        super().__init__()
        self._plain = plain

    def __missing__(self, t: Term) -> dict[Term, None]:
        for node in operands_first([t], self.__contains__, rands_of):
            found: dict[Term, None] = {}
            for more in [*[self[x] for x in node.rands], dict.fromkeys(self._own(node))]:
                found = (found | more if found else more) if not more.keys() <= found.keys() else found
            self[node] = found
        return self[t]

    def _own(self, node: Term) -> list[Term]:
        if type(node.op) in (Input, Constant):
            may = node.type.dtype.kind == "f" and (type(node.op) is Input or np.isnan(node.op.value).any())
            return [node] if may else []
        return [] if (test := outside(node, self._plain)) is None else [test]


class Reach:
    """x/x.sum(axis=1) → {(x, (0, 1)), (x, (0, None))}: the marks on each term, `certain` ones, or all there may be.

    An op whose way with NaN is not known in detail is an atom of its own: where two programs apply it alike, NaN
    reaches the same entries.
    """

    def __init__(self, roots: Sequence[Term], certain: bool):
        self.certain, self.plain = certain, Plain()
        self.of: dict[Term, Marks] = {}
        self.atoms: dict[Term, None] = {}
        self._below = Sources(self.plain)
        self._outputs: dict[Term, list[Marks]] = {}
        for node in subterms(*roots):
            self.of[node] = self._few(self._marks(node), node)

    def _few(self, marks: Marks, x: Term) -> Marks:
        """Many marks → none for certain, or all origins everywhere: the same of a term with less known."""
        if len(marks) <= MANY:
            return marks
        return NONE if self.certain else everywhere(marks, x)

    def _marks(self, node: Term) -> Marks:
        """x → {(x, own)};    op(a, …) → marks of a, …, and of its test of domain;    integers → none"""
        op = node.op
        if type(op) is Gradient or type(op) is Pushforward:
            self._outputs[node] = self._gradient(node) if type(op) is Gradient else self._pushforward(node)
            return NONE
        if not isinstance(node.type, ArrayType):
            self._outputs[node] = [
                frozenset([own_mark(interned((op, i, *self._operands(node))), kind.shape)])
                for i, kind in enumerate(node.type.outputs)
            ]
            return NONE
        if node.type.dtype.kind != "f":
            return NONE
        if type(op) is Input:
            return frozenset([self._atom(node)])
        if type(op) is Constant:
            return frozenset([self._atom(node)]) if np.isnan(op.value).any() else NONE
        if type(op) is Project:
            return self._outputs[node.rands[0]][op.index]
        test = outside(node, self.plain)
        found = self._passed(node)
        return found if test is None else found | lift([self._atom(test)], node.type.ndim)

    def _atom(self, t: Term) -> Mark:
        """Return the mark of an argument or test on itself, and remember which came first."""
        self.atoms.setdefault(t)
        return own_mark(t, t.type.shape)

    def _passed(self, node: Term) -> Marks:
        """a + b → marks(a) ∪ marks(b);    Σ a → marks(a) along its axes;    where(c, a, b) → by c;    else one atom"""
        op, rank = node.op, node.type.ndim
        each = [self.of[x] for x in node.rands]
        if op is where:
            return self._chosen(node.rands[0], lift(each[1], rank), lift(each[2], rank))
        if not any(each):
            return NONE
        if isinstance(op, (Anchor, Cast)):
            return each[0]
        if isinstance(op, (BroadcastTo, BroadcastLike)):
            return lift(each[0], rank)
        if (labels := labels_of(node)) is not None:
            inputs, output = labels
            return frozenset().union(
                *[relabelled(g, own, output) for g, own in zip(each, inputs, strict=True)]
            )
        if op.strict(node):
            marks = frozenset().union(*[lift(g, rank) for g in each])
            return marks if op.elementwise else along(marks, op.axes)
        return frozenset([own_mark(interned((op, *self._operands(node))), node.type.shape)])

    def _operands(self, node: Term) -> list[Any]:
        """[marks(a), …] of operands in which an op is linear; for others the operands themselves, and their marks."""
        linear = node.op.laws.linear
        return [self.of[x] if i in linear else x for i, x in enumerate(node.rands)] + [
            self.of[x] for i, x in enumerate(node.rands) if i not in linear
        ]

    def _chosen(self, condition: Term, yes: Marks, no: Marks) -> Marks:
        """where(c, a, b) → marks of both, those of a under c, those of b under ¬c; a test that c excludes is none."""
        found, condition = set(yes & no), self.plain(condition)
        for marks, truth in ((yes - no, True), (no - yes, False)):
            for m in marks:
                if (
                    not is_test(m.atom)
                    or m.under
                    or lifted(own_mark(m.atom, m.atom.type.shape), len(m.pattern)) != m.pattern
                ):
                    found.add(m._replace(under=m.under | {(condition, truth)}))
                elif (test := given(m.atom, condition, truth)) is not None:
                    found.update(lift([self._atom(test)], len(m.pattern)))
        return frozenset(found)

    # Derivatives, from which only what may be marked is asked.

    def _gradient(self, node: Term) -> list[Marks]:
        """x̄ ← marks of all cotangents that flow to x: for each argument that is differentiated for."""
        values, cotangents, wrt = node.op.parts(node)
        relevant = dependent(values, wrt)
        flows: dict[Term, Marks] = {}
        # Conditions without which nothing flows to a value: what is not taken does not matter.
        masks: dict[Term, Under] = {}

        def flow(x: Term, marks: Marks, under: Under) -> None:
            flows[x] = self._few(flows.get(x, NONE) | marks, x)
            masks[x] = masks.get(x, under) & under

        for v, g in zip(values, cotangents, strict=True):
            flow(v, self.of[g], frozenset())
        for v in reversed([v for v in subterms(*values) if v in relevant]):
            for i, x in enumerate(v.rands):
                if x in relevant and v in flows:
                    under: Under = frozenset()
                    if v.op.elementwise and x.type == v.type:
                        under = masks[v] | ({(v.rands[0], i == 1)} if v.op is where else set())
                    flow(x, frozenset(self._back(v, i, flows[v], masks[v])), under)
        return [flows.get(x, NONE) for x in wrt]

    def _back(self, v: Term, i: int, g: Marks, masks: Under) -> Iterable[Mark]:
        """a·b → marks(g) ∪ marks(b) on ā: the marks on what flows back from a value to an operand."""
        op, x = v.op, v.rands[i]
        if not (isinstance(v.type, ArrayType) and isinstance(x.type, ArrayType)):
            return self._anywhere(v, x, g)
        rank = v.type.ndim
        if op is where:
            return summed(self._masked(g, frozenset([(v.rands[0], i == 1)])), v, x)
        if op.as_sum or isinstance(op, (Anchor, Cast, BroadcastTo, Sum)):
            return summed(g, v, x)
        if isinstance(op, (Expand, Squeeze, Transpose)):
            inputs, output = labels_of(v)  # pyright: ignore[reportGeneralTypeIssues]
            return relabelled(g, output, inputs[0])
        others = [r for j, r in enumerate(v.rands) if j != i or i not in op.laws.linear]
        if op.elementwise:
            test = None if op.continues or i in op.laws.linear else outside(v, self.plain)
            marks = frozenset().union(*[lift(self.of[r], rank) for r in others])
            marks = marks if test is None else marks | lift([self._atom(test)], rank)
            return summed(g | self._masked(marks, masks), v, x)
        if isinstance(op, (MatMul, Einsum)) and (labels := labels_of(v)) is not None:
            inputs, output = labels
            parts = [relabelled(g, output, inputs[i])]
            parts += [relabelled(self.of[r], inputs[j], inputs[i]) for j, r in enumerate(v.rands) if j != i]
            return frozenset().union(*parts)
        if isinstance(op, (Reduction, RowsOp)):
            marks = g.union(*[lift(self.of[r], rank) for r in v.rands])
            return summed(along(marks, op.axes), v, x)
        return self._anywhere(v, x, g)

    def _masked(self, marks: Marks, masks: Under) -> Marks:
        """{(x, …)}, {c} → {(x, …) under c}: marks where all conditions are as they should be."""
        for condition, truth in masks:
            marks = self._chosen(condition, marks, NONE) if truth else self._chosen(condition, NONE, marks)
        return marks

    def _pushforward(self, node: Term) -> list[Marks]:
        """ẏ → marks of all that y depends on, and of the tangents, on all entries."""
        values, _, tangents = node.op.parts(node)
        return [
            frozenset(self._anywhere(v, v, frozenset().union(*[self.of[t] for t in tangents])))
            for v in values
        ]

    def _anywhere(self, v: Term, x: Term, g: Marks) -> Iterable[Mark]:
        """log(x)·y → marks of x, x < 0 and y on all entries: of all that a value depends on."""
        found = self._below[v]
        self.atoms.update(found)
        pattern = (None,) * x.type.ndim if isinstance(x.type, ArrayType) else ()
        return everywhere(g, x) | {Mark(atom, pattern) for atom in found}
