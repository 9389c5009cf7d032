"""Arrays that are written to entry by entry, or row by row: the parts are kept, and joined when the whole is read.

    y[i] = a; y[j] = b      parts {i: a, j: b} of y
    y[i]                    a, and no part of the graph beside it
    y                       concatenate(y[:i], a, y[i+1:j], b, y[j+1:])

A loop that fills an array of n entries, and reads some on its way, is thereby traced in n steps, not in n².
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relgrad.interpret import value_of
from relgrad.op import Symbolic, constant, is_constant
from relgrad.ops.gather import Index
from relgrad.ops.indexing import getitem, select
from relgrad.ops.joining import Concatenate
from relgrad.ops.structure import expand
from relgrad.trace.lens import put
from relgrad.types import ArrayType

Prefix = tuple[int, ...]


def prefix_of(key: Any, shape: tuple[Any, ...]) -> Prefix | None:
    """Return a key of integers within bounds, counted from the left; None for other keys.

    >>> prefix_of(-1, (3,)), prefix_of((0, 2), (1, 3, 4)), prefix_of(3, (3,)), prefix_of(slice(1), (3,))
    ((2,), (0, 2), None, None)
    """
    entries = key if type(key) is tuple else (key,)
    if not 0 < len(entries) <= len(shape):
        return None
    prefix: list[int] = []
    for e, n in zip(entries, shape, strict=False):
        if isinstance(e, (bool, np.bool_, Symbolic)) or not isinstance(e, (int, np.integer)):
            return None
        if n is None or not -n <= e < n:
            return None
        prefix.append(int(e) % n)
    return tuple(prefix)


def folded(t: Any) -> Any:
    """[1, 2] + 1 → [2, 3]: a constant in place of integers, booleans and entries of constants:
    nothing is rounded in them.
    """
    kind = t.type
    if not t.rands or not isinstance(kind, ArrayType) or not all(map(is_constant, t.rands)):
        return t
    exact = kind.dtype.kind in "biu" or type(t.op) in (Index, Concatenate) or t.op.laws.selects
    if not exact or not t.op.do_constant_folding(None, t):
        return t
    try:
        return constant(np.asarray(value_of(t, {x: x.op.value for x in t.rands})))
    except Exception:  # what raises there raises where the program computes it
        return t


class Parts:
    """y[2] = a; y[0] = b → base y, cells {(2,): a, (0,): b}: the parts of an array that were written to.

    All have prefixes of one length.
    """

    __slots__ = ("base", "cells", "depth", "state")

    def __init__(self, base: Any):
        """base → no cells = {}."""
        self.base = base
        self.cells: dict[Prefix, Any] = {}
        self.depth = 0
        self.state = object()
        """What tells the array from itself before and after a write."""

    def put(self, prefix: Prefix, y: Any) -> None:
        """((2,), a) → cells {(2,): a}: writes a part, of the shape that entries with this prefix have."""
        outer = prefix[: self.depth]
        if self.cells and len(prefix) > self.depth and outer in self.cells:
            rest = prefix[self.depth :]
            self.cells[outer] = put(self.cells[outer], lambda x: np.asarray(x[rest]), y)
        else:
            if self.cells and len(prefix) != self.depth:
                self.base, self.cells = self.whole(), {}
            self.depth = len(prefix)
            self.cells[prefix] = y
        self.state = object()

    def at(self, prefix: Prefix) -> Any:
        """(2,) → a, (1,) → base[1], () → None: the part with a prefix; None where several parts make it up."""
        if len(prefix) < self.depth:
            return None
        outer, rest = prefix[: self.depth], prefix[self.depth :]
        if outer not in self.cells:
            return folded(getitem(self.base, prefix))
        return getitem(self.cells[outer], rest) if rest else self.cells[outer]

    def whole(self) -> Any:
        """Return the term of the array."""
        return self._joined((), self.cells)

    def _joined(self, prefix: Prefix, cells: Mapping[Prefix, Any]) -> Any:
        """{(2,): a} → concatenate(base[:2], a, base[3:]): the entries with a prefix, of cells by the rest of theirs."""
        if () in cells:
            return cells[()]
        groups: dict[int, dict[Prefix, Any]] = {}
        for (i, *rest), y in cells.items():
            groups.setdefault(i, {})[tuple(rest)] = y
        n, *inner = self.base.type.shape[len(prefix) :]
        axis = -len(inner) - 1
        base = None
        if len(groups) < n:
            base = folded(getitem(self.base, prefix)) if prefix else self.base
        pieces: list[Any] = []
        start = 0
        for i in [*sorted(groups), n]:
            if start < i:
                pieces.append(folded(select(base, axis, slice(start, i))))
            if i < n:
                pieces.append(expand(self._joined((*prefix, i), groups[i]), (axis,)))
            start = i + 1
        return pieces[0] if len(pieces) == 1 else Concatenate(axis).make_node(*pieces)
