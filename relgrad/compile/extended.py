"""Which programs may overflow or underflow on the way to results that do neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.calculus.series import Series
from relgrad.op import is_constant, is_float
from relgrad.ops.arithmetic import divide, multiply
from relgrad.term import Term, subterms

ORDINARY = 1e-30
"""Constants of at least this size, whose reciprocals are too, are ordinary."""


def may_leave_range(roots: Sequence[Term]) -> bool:
    """Whether an op that may come back into range reads a term that may have left: √(x²), x²/y: yes; x², x² + y: no."""
    left: dict[Term, bool] = {}
    for node in subterms(*roots):
        if isinstance(node.op, Series) and may_leave_range([node.op.body]):
            return True
        below = node.op.out_of_range != "absorbed" and any(left[rand] for rand in node.rands)
        if below and not _stays(node):
            return True
        left[node] = is_float(node) and (below or _leaves(node))
    return False


def _stays(node: Term) -> bool:
    return node.op.out_of_range == "stays" or node.op.laws.selects or _is_multiple(node)


def _leaves(node: Term) -> bool:
    return node.op.grows and not _is_multiple(node)


def _is_multiple(node: Term) -> bool:
    """Whether a term is an ordinary multiple of another, out of range where that nearly is: x/3: yes; 1e200·x: no."""
    if node.op is not multiply and node.op is not divide:
        return False
    plain = [is_constant(rand) and _is_ordinary(rand.op.value) for rand in node.rands]
    return any(plain) if node.op is multiply else plain[1]


def _is_ordinary(value: Any) -> bool:
    size = np.abs(np.asarray(value, float))
    return bool(np.all((size == 0) | ((size > ORDINARY) & (size < 1 / ORDINARY))))
