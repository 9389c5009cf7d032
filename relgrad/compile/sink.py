"""Squeezes float to the root of a graph so that relations meet one form; for reading, they sink again.

squeeze(f(sum(x, keepdims), c)) = f(sum(x), c): exact, and the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.op import Constant, constant
from relgrad.ops.structure import Expand, Squeeze, squeeze
from relgrad.term import Term, rebuild, subterms, term

PASSES = 8
"""If it is not settled after this many passes which squeezes can sink, all stay where they are."""

Axes = tuple[int, ...]


def sink_squeezes(roots: Sequence[Term]) -> list[Term]:
    """squeeze(f(Σ x, c)) → f(squeeze(Σ x), c): through elementwise ops to reductions, which then drop their axes.

    A term loses axes only where all that use it want just these gone, and that takes no further squeeze.
    """
    order = list(subterms(*roots))
    if not any(isinstance(node.op, Squeeze) for node in order):
        return list(roots)
    stuck: set[Term] = set()
    for _ in range(PASSES):
        wanted = _Wanted(order, roots, stuck)
        if not wanted.stick_where_needed():
            return _without(roots, wanted)
    return list(roots)


class _Wanted:
    """Which axes the users of each term want gone, if those that are `stuck` lose none."""

    def __init__(self, order: Sequence[Term], roots: Sequence[Term], stuck: set[Term]):
        self._order, self._stuck = order, stuck
        self._axes: dict[Term, set[Axes]] = {root: {()} for root in roots}
        for node in reversed(order):
            for x, axes in zip(node.rands, self.from_operands(node), strict=True):
                self._axes.setdefault(x, set()).add(axes)

    def of(self, node: Term) -> Axes:
        """Return the axes that a term shall lose."""
        axes = self._axes[node]
        return next(iter(axes)) if len(axes) == 1 and node not in self._stuck else ()

    def from_operands(self, node: Term) -> list[Axes]:
        """squeeze(x) wants x to lose its axes;    x + y, to lose axes, the same of x and y;    others nothing."""
        own, op = self.of(node), node.op
        if isinstance(op, Squeeze):
            return [op.axes]
        if own and op.elementwise:
            return [tuple([axis for axis in own if -axis <= x.type.ndim]) for x in node.rands]
        if own and isinstance(op, Expand):
            rest = squeeze(node, own)
            return [rest.op.axes if isinstance(rest.op, Squeeze) and rest is not node.rands[0] else ()]
        return [()] * len(node.rands)

    def stick_where_needed(self) -> bool:
        """Let those terms be stuck that cannot lose their axes after all; return whether there are any."""
        before = len(self._stuck)
        for node in self._order:
            own = self.of(node)
            if own and not self._loses(node, own):
                self._stuck.add(node)
        return len(self._stuck) > before

    def _loses(self, node: Term, own: Axes) -> bool:
        """Whether a term can lose its axes: Σ over them, a constant, x + y if both can: yes; an argument: no."""
        op = node.op
        if op.elementwise or isinstance(op, Expand):
            wishes = zip(node.rands, self.from_operands(node), strict=True)
            rest = squeeze(node, own) if isinstance(op, Expand) else node
            inner = node.rands[0]
            whole = rest is inner or not isinstance(rest.op, Squeeze) or rest.rands[0] is inner
            return whole and all(not axes or self.of(x) == axes for x, axes in wishes)
        reduces = getattr(op, "axes", None) == own and not isinstance(op, Squeeze)
        return reduces or type(op) is Constant


def _without(roots: Sequence[Term], wanted: _Wanted) -> list[Term]:
    """f(Σ x, c), wanted gone → f(squeeze(Σ x), c): the roots with the axes gone that are wanted gone."""

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        """f(Σ x, c) → f(squeeze(Σ x), c) where the axes are wanted gone; nothing is brought back to canonical form."""
        own = wanted.of(old)
        if type(old.op) is Constant:
            return constant(np.squeeze(old.op.value, own)) if own else old
        if isinstance(old.op, Squeeze) and wanted.of(old.rands[0]) == old.op.axes:
            return rands[0]
        if isinstance(old.op, Expand) and own and (own == old.op.axes or wanted.of(old.rands[0])):
            return rands[0]
        # Nothing is brought back to canonical form: that would let the squeezes float again.
        new = term(old.op, *rands)
        return new if not own or old.op.elementwise else squeeze(new, own)

    return rebuild(roots, change)
