"""Constant folding: what depends on constants only is computed once."""

from __future__ import annotations

import numpy as np

from relgrad.op import constant, is_constant
from relgrad.term import Term
from relgrad.types import ArrayType

LARGEST = 1 << 12
"""Results of more entries than this are left to be computed, so that the program stays small."""


def fold(t: Term) -> Term | None:
    """Return the constant that a term is, or None where it is none, is large, or out of range."""
    if not t.rands or not isinstance(t.type, ArrayType) or not all(is_constant(rand) for rand in t.rands):
        return None
    if (
        (t.type.size or 0) > LARGEST
        or (t.type.ndim and t.type.size == 0)
        or not t.op.do_constant_folding(None, t)
    ):
        return None
    try:
        with np.errstate(over="raise", under="raise", divide="ignore", invalid="ignore"):
            (value,) = t.op.evaluate(t, [rand.op.value for rand in t.rands])
    except Exception:  # whatever it is, the user's own call shall raise it
        return None
    value = np.asarray(value)
    if value.dtype != t.type.dtype or value.shape != t.type.shape:
        return None
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        return None
    return constant(value)
