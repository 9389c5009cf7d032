"""Constant folding: what depends on no argument is computed once, when the program is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.op import Project, constant, is_constant
from relgrad.ops.structure import BroadcastLike, BroadcastTo
from relgrad.term import Term, rebuild
from relgrad.types import ArrayType, TupleType

LIMIT = 1 << 16
"""Results of more bytes than this are computed when the program runs: they would only swell it."""


def fold_constants(roots: Sequence[Term]) -> list[Term]:
    """Return the roots with every application to constants replaced by its value, as NumPy computes it.

    Left alone: an op whose `do_constant_folding` says so, one that raises, overflows or underflows, one whose result
    is larger than 64 KiB or not of the inferred type, and broadcasts, which cost nothing as long as they stay views.
    """
    several: dict[Term, list[Any]] = {}

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        same = all(a is b for a, b in zip(rands, old.rands, strict=True))
        new = old if same else old.op.make_node(*rands)
        return _folded(new, several) if new.rands else new

    return rebuild(roots, change)


def _folded(node: Term, several: dict[Term, list[Any]]) -> Term:
    """Return the constant that a term with constant operands stands for, or the term itself."""
    op = node.op
    if type(op) is Project and node.rands[0] in several:
        return _constant(several[node.rands[0]][op.index], node)
    if not all(map(is_constant, node.rands)) or isinstance(op, (BroadcastTo, BroadcastLike)):
        return node
    types = node.type.outputs if isinstance(node.type, TupleType) else (node.type,)
    if not all(isinstance(t, ArrayType) and _small(t) for t in types) or not op.do_constant_folding(
        None, node
    ):
        return node
    try:
        with np.errstate(over="raise", under="raise", divide="ignore", invalid="ignore"):
            values = op.evaluate(node, [x.op.value for x in node.rands])
    except Exception:  # whatever a user's op raises, it shall raise when the program runs, not now
        return node
    if isinstance(node.type, TupleType):
        several[node] = values
        return node
    return _constant(values[0], node)


def _small(kind: ArrayType) -> bool:
    return kind.size is None or kind.size * kind.dtype.itemsize <= LIMIT


def _constant(value: Any, node: Term) -> Term:
    array = np.asarray(value)
    if array.nbytes > LIMIT or array.dtype != node.type.dtype or array.ndim != node.type.ndim:
        return node
    if any(n is not None and n != m for n, m in zip(node.type.shape, array.shape, strict=True)):
        return node
    return constant(array)
