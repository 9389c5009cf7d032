"""Constant folding: what depends on no argument is computed once, when the program is built."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.op import Project, constant, is_constant
from relgrad.ops.arithmetic import sqrt
from relgrad.ops.structure import BroadcastLike, BroadcastTo
from relgrad.term import Term, once
from relgrad.types import ArrayType, TupleType

WHOLE = 1000
"""The largest radicand of a root that stays one until the program is compiled."""
LIMIT = 1 << 16
"""Results of more bytes than this are computed when the program runs: they would only swell it."""


def fold(t: Term) -> Term | None:
    """2.0 + 3.0 → 5.0, x + 3.0 → None: the constant that an application to constants is, as NumPy computes it; or None.

    Left alone: an op whose `do_constant_folding` says so, one that raises, overflows or underflows, one whose result
    is larger than 64 KiB or not of the inferred type, and broadcasts, which cost nothing as long as they stay views.
    """
    node, i = (t.rands[0], t.op.index) if type(t.op) is Project else (t, 0)
    values = None if isinstance(t.type, TupleType) else _values(node)
    return None if values is None else constant(values[i])


def is_surd(t: Term) -> bool:
    """√2 → True, √4, √x → False: whether a term is an irrational root of a whole number:
    (√2)² = 2, that of its float is not.
    """
    if t.op is not sqrt or not is_constant(t.rands[0]) or t.type.ndim:
        return False
    x = t.rands[0].op.value.item()
    return 0 < x <= WHOLE and x == int(x) and math.isqrt(int(x)) ** 2 != x


def _values(node: Term) -> list[Any] | None:
    """2.0 + 3.0 → [5.0]: the outputs of an application to constants; computed once, however many are asked for."""
    if not node.rands or not all(map(is_constant, node.rands)):
        return None
    return once(node, "folded", _computed)


def _computed(node: Term) -> list[Any] | None:
    """2.0 + 3.0 → [5.0], exp(1000.0) → None: the outputs computed; None if an op raises, overflows, or is large."""
    types: Any = node.type.outputs if isinstance(node.type, TupleType) else (node.type,)
    if isinstance(node.op, (BroadcastTo, BroadcastLike)) or not all(map(_is_small, types)):
        return None
    try:
        if not node.op.do_constant_folding(None, node):
            return None
        with np.errstate(over="raise", under="raise", divide="ignore", invalid="ignore"):
            values = [np.asarray(x) for x in node.op.evaluate(node, [x.op.value for x in node.rands])]
    except Exception:  # whatever a user's op raises, it shall raise when the program runs, not now
        return None
    fits = (
        x.dtype == t.dtype and t.admits(x.shape) and x.nbytes <= LIMIT
        for x, t in zip(values, types, strict=True)
    )
    return values if all(fits) else None


def _is_small(kind: Any) -> bool:
    return isinstance(kind, ArrayType) and (kind.size is None or kind.size * kind.dtype.itemsize <= LIMIT)
