"""Programs of large arrays at small extents: the same graph, of small blocks of its inputs and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from relgrad.leaf import Input
from relgrad.op import Constant, constant
from relgrad.term import Term, rebuild, subterms, term
from relgrad.types import ArrayType, array_type

LARGE = 12
"""Longer axes are shortened."""


class Unfit(Exception):
    """A graph that is not the same at other extents."""


class Blocks:
    """x : (1000, 3) → (5, 3): small extents for the large ones of some inputs, distinct where those are.

    None of them is among the extents that stay.
    """

    def __init__(self, inputs: Sequence[Term]):
        extents = {n for x in inputs for n in x.type.shape}
        free = (n for n in count(5) if n not in extents)
        self.extents = {n: next(free) for n in sorted(extents) if n > LARGE}
        self.inputs = {x: self._input(x) for x in inputs}

    def shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Return what becomes of a shape."""
        return tuple([self.extents.get(n, n) for n in shape])

    def of(self, value: Any) -> Any:
        """Return the first block of an array."""
        return None if value is None else value[tuple([slice(n) for n in self.shape(np.shape(value))])]

    def graphs(self, roots: Sequence[Term]) -> list[Term]:
        """Return graphs at the small extents. Raises Unfit, or what ops raise, where they cannot be computed there."""
        return rebuild(roots, self._changed)

    def _input(self, x: Term) -> Term:
        op = x.op
        kind = array_type(op.array.dtype, self.shape(op.array.shape))
        return term(Input(op.label, kind, op.symbol, op.range))

    def _changed(self, old: Term, rands: tuple[Any, ...]) -> Term:
        """Σ over (1000,) → Σ over (5,): a node at the small extents; raises Unfit where its type is not of these."""
        op: Any = old.op
        if old in self.inputs:
            return self.inputs[old]
        if type(op) is Constant:
            return constant(self.of(op.value)) if self.shape(op.value.shape) != op.value.shape else old
        if "shape" in (props := op.__props__ or ()):
            op = op.with_props(
                [self.shape(v) if p == "shape" else v for p, v in zip(props, op._props(), strict=True)]
            )
        new = op.make_node(*rands)
        if isinstance(old.type, ArrayType) and (
            new.type.dtype != old.type.dtype or new.type.shape != self.shape(old.type.shape)
        ):
            raise Unfit
        return new


def in_blocks(
    inputs: Mapping[Term, Any], written: Sequence[Term], rewritten: Sequence[Term]
) -> tuple[dict[Term, Any], list[Term], list[Term]] | None:
    """{x : (1000, 3)}, f(x), g(x) → {x : (5, 3)}, f(x), g(x):
    smaller inputs with the caller's values, and two graphs of them.

    None where that cannot be done.
    """
    blocks = Blocks(list(inputs))
    if not blocks.extents:
        return None
    try:
        both = blocks.graphs([*written, *rewritten])
    except Exception:  # ops that hold extents in a way of their own
        return None
    given = {blocks.inputs[x]: blocks.of(value) for x, value in inputs.items()}
    known = set(given)
    if any(type(t.op) is Input and t not in known for t in subterms(*both)):
        return None
    return given, both[: len(written)], both[len(written) :]
