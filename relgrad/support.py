"""Which entries of a term may be other than zero: what constants, placements and products leave of them.

    support(x·y) = support x ∩ support y        support(x ± y) = support x ∪ support y
    support(op(…, x, …)) = op(support x)        for an op that moves entries of x, or sums them

y = zeros(3); y[0] = x; support y[1:] → no entry. What has no support is zero, and so is everything that flows back from
there, though it may meet what is infinite: 0·∂√x/∂x at x = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.op import Constant, is_constant
from relgrad.ops.arithmetic import add, subtract
from relgrad.ops.einsum import Einsum
from relgrad.ops.joining import Concatenate
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import where
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import RESHAPES
from relgrad.term import Term, kept
from relgrad.types import ArrayType

LARGEST = 1 << 16
"""Arrays of more entries than this are not followed entry by entry."""

_MOVES = (Rearrangement, Concatenate, *RESHAPES)
_SUMS = (Sum, MatMul, Einsum)


def vanishes(t: Term) -> bool:
    """Whether a term is zero in every entry, wherever what stands in it is finite."""
    found = kept(t, "support", _support)
    return found is not None and not found.any()


def _support(node: Term) -> Any:
    """x·[1, 0, 2] → [True, False, True], x → None: in which entries a term may be other than zero;
    None where maybe all.
    """
    op, kind = node.op, node.type
    if type(op) is Constant:
        value = op.value
        return (
            value != 0 if value.dtype.kind in "biuf" and value.size <= LARGEST and not value.all() else None
        )
    known = [rand.cache["support"] for rand in node.rands]
    if not isinstance(kind, ArrayType) or not kind.size or kind.size > LARGEST:
        return None
    shape: Any = kind.shape
    if any(known[i] is not None and not known[i].any() for i in op.laws.linear):
        return np.zeros(shape, bool)
    places = isinstance(op, Rearrangement) and not op.laws.selects
    if all(x is None for x in known) and not places:
        return None
    if op.elementwise:
        found = _of_entries(op, known)
    elif isinstance(op, (*_MOVES, *_SUMS)):
        found = _moved(node, known)
    else:
        return None
    return None if found is None or found.all() else np.broadcast_to(found, shape)


def _of_entries(op: Any, known: list[Any]) -> Any:
    """x·y → s(x) ∩ s(y), x + y → s(x) ∪ s(y): the support of a function of single entries."""
    if op in (add, subtract, where):
        x, y = known[-2:]
        return None if x is None or y is None else x | y
    found: Any = None
    for i in op.laws.linear:
        if known[i] is not None:
            found = known[i] if found is None else found & known[i]
    return found


def _moved(node: Term, known: list[Any]) -> Any:
    """concatenate([0, x]) → [False, True]: the support of what moves or adds up entries.

    The op applied to zeros and ones, which do not cancel.
    """
    count = 1 if isinstance(node.op, Rearrangement) else len(node.rands)
    moved, positions = node.rands[:count], node.rands[count:]
    if any((x.type.size or LARGEST + 1) > LARGEST for x in moved) or not all(map(is_constant, positions)):
        return None
    masks = [
        np.ones(x.type.shape) if m is None else m.astype(float) for x, m in zip(moved, known, strict=False)
    ]
    try:
        return node.op.compute(*masks, *[x.op.value for x in positions]) != 0
    except IndexError:  # the program shall raise when it runs, not now
        return None
