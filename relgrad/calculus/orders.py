"""Digits that a function computed in floats loses near a point: orders of values and errors, in the distance t.

A value is about t^v, where v is the start of its Laurent series, and its error about ε·t^e: relatively ε·t^(e − v),
which has no bound near the point if e < v. Errors propagate by derivatives, e = min(eᵢ + order of ∂f/∂xᵢ) over the
operands; rounding adds v itself, and an exact operand has none. So 1 − cos x has v = 2 and e = 0.

Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 1.6, term by term.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from relgrad.calculus.laurent import Around
from relgrad.calculus.ring import NoSeries
from relgrad.interpret import interpret
from relgrad.op import Constant
from relgrad.ops.selection import where
from relgrad.term import Term, subterms

NEARBY = np.array([1e-6, -1e-6, 1e-9, -1e-9])
SMALL = 1e-3
"""Where summands are compared, and which are small."""


class Order(NamedTuple):
    """t^v ± ε·t^e: the orders v of a value and e of its error, and whether floats give the value at the point."""

    value: float
    error: float
    defined: bool

    @property
    def lost(self) -> bool:
        """Whether the value, finite at the point, is not computed there or has no accurate digits nearby."""
        return self.value >= 0 and (not self.defined or self.error < self.value)

    @property
    def good(self) -> Order:
        """The same value, computed as well as it may be."""
        return self if self.value < 0 else Order(self.value, max(self.error, self.value), True)


class Orders:
    """1 − cos x at 0 → (2, 0): the orders of a function's terms around a point, as far as they have series there."""

    def __init__(self, root: Term, argument: Term, around: Around):
        """x → (1, ∞) at 0, (0, ∞) elsewhere, constants → (0, ∞): exact leaves; the orders of other terms follow."""
        self.argument, self.around = argument, around
        self.of: dict[Term, Order] = {}
        for node in subterms(root):
            if node is argument:
                self.of[node] = Order(0 if around.point else 1, math.inf, True)
            elif type(node.op) is Constant:
                self.of[node] = Order(0, math.inf, True)
            elif all(rand in self.of for rand in node.rands):
                try:
                    self.of[node] = self._order(node, [self.of[rand] for rand in node.rands])
                except NoSeries:
                    continue

    def places(self, root: Term) -> list[Term]:
        """(1 − cos x)/x² → itself: the terms to be computed otherwise near the point, for the root to be good."""
        found: dict[Term, None] = {}
        seen: set[Term] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            order = self.of.get(node)
            if order is None:
                stack.extend(self._felt(node))
            elif order.lost:
                operands = [self.of[rand] for rand in node.rands]
                # A part that is zero around the point belongs to the whole: another part may hold further away.
                split = node.op is not where and any(x.value == math.inf for x in operands)
                if split or self._order(node, [x.good for x in operands]).lost:
                    found[node] = None
                elif node.op is where:
                    stack.append(self._taken(node))
                else:
                    stack.extend(node.rands)
        return list(found)

    def _felt(self, node: Term) -> Sequence[Term]:
        """x + eˣ near 0 → eˣ: the operands whose last digits count near the point; of a sum, the large ones."""
        if getattr(node.op, "function", None) not in (np.add, np.subtract):
            return node.rands
        with np.errstate(all="ignore"):
            values = interpret(node.rands, {self.argument: self.around.point + NEARBY}, typed=False)
        sizes = np.broadcast_arrays(*[np.nan_to_num(np.abs(value)) for value in values])
        return [
            rand
            for rand, size in zip(node.rands, sizes, strict=True)
            if np.any(size >= SMALL * np.max(sizes, axis=0))
        ]

    def _order(self, node: Term, operands: Sequence[Order]) -> Order:
        """e = min(v, eᵢ + order of ∂f/∂xᵢ): the orders of a term from those of its operands.

        1 − cos x at 0 → v = 2, e = min(2, 0 + 0), with the error of cos x. A difference of exact parts has none.
        """
        y = self.around.expand(node)
        if y.whole and not y.settled:  # a truth value, or zero
            return Order(math.inf if y.holds is None else 0, math.inf, True)
        series = [self.around.expand(rand) for rand in node.rands]
        op, rounding = node.op, float(y.start)
        function = getattr(op, "function", None)
        if self.around.point and function in (np.divide, np.reciprocal) and operands[-1].value < 0:
            # Away from 0, a rational recurrence is so at every pole of an earlier step, which no one meant.
            raise NoSeries("a divisor is infinite")
        slopes: Iterable[float]
        if op is where:
            return operands[node.rands.index(self._taken(node))]
        if function in (np.add, np.subtract):
            slopes = (0, 0)
            cancels = y.start > min(x.value for x in operands)
            rounding = math.inf if cancels and all(x.error == math.inf for x in operands) else rounding
        elif op.distance is not None:
            # Such an op is told the distance, so that the relative error of each operand counts.
            slopes = [y.start - x.value for x in operands]
        else:
            slopes = [self.around.slope(node, i) for i in range(len(series))]
            rounding = math.inf if function in (np.negative, np.positive) else rounding
        error = min([rounding, *[x.error + slope for x, slope in zip(operands, slopes, strict=True)]])
        defined = y.start >= 0 and all(x.defined and x.value >= 0 for x in operands)
        if defined:
            with np.errstate(all="ignore"):
                defined = bool(np.isfinite(op.compute(*[u.value() for u in series])))
        return Order(y.start, error, defined)

    def _taken(self, node: Term) -> Term:
        """where(x > 0, a, b) at 1 → a: the operand that is chosen around the point."""
        return node.rands[1 if self.around.expand(node.rands[0]).holds else 2]
