"""Selections of entries, and which of them may be taken after a division by a total instead of before it.

x[i]/Σ x = (x/Σ x)[i]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.logic.rewrite import Selection
from relgrad.op import is_constant
from relgrad.ops.gather import ARRAY, Index, TakeAlong
from relgrad.ops.joining import Part
from relgrad.term import Term

LARGEST = 1 << 22
"""Arrays of more entries than this are not followed entry by entry."""


def fits(selection: Selection, shape: Sequence[Any]) -> bool:
    """Whether what is selected from has a shape."""
    return selection[-1].rands[0].type.shape == tuple(shape)


def commutes(selection: Selection, total: Term, moves: Sequence[Term] = ()) -> bool:
    """(x/total)[i] = x[i]/total, where each entry that is selected has the same total as before.

    x[:, 1]/Σ x over columns: yes; x[1]/Σ x over columns of a matrix: no. `moves` insert and take out axes of the
    selected entries, the innermost last.
    """
    shape = selection[-1].rands[0].type.shape
    if None in shape or None in total.type.shape or np.prod(shape) > LARGEST:
        return False
    size = int(np.prod(total.type.shape))
    if size == 1:
        return True
    try:
        places = np.arange(size).reshape(total.type.shape)
        found = np.broadcast_to(places, shape)
        for step in reversed(selection):
            operands = _operands(step, total)
            if operands is None:
                return False
            found = step.op.compute(found, *operands)
        for move in reversed(moves):
            found = move.op.compute(found)
        return bool(np.all(found == places))
    except ValueError:
        return False


def _operands(step: Term, total: Term) -> list[Any] | None:
    """v[i] → [array of i]: the operands of a selection; any numbers for what is not known, along axes of extent 1;
    or None.
    """
    arrays = list(step.rands[1:])
    if type(step.op) is Part:
        return None if any(None in x.type.shape for x in arrays) else [np.empty(x.type.shape) for x in arrays]
    if type(step.op) is TakeAlong:
        free = [total.type.extent(step.op.axis) == 1]
    elif type(step.op) is Index:
        rank = step.rands[0].type.ndim
        free = [total.type.extent(i - rank) == 1 for i, e in enumerate(step.op.pattern) if e == ARRAY]
    else:
        free = [False] * len(arrays)
    values = []
    for x, anything in zip(arrays, free, strict=True):
        if is_constant(x):
            values.append(x.op.value)
        elif anything and None not in x.type.shape:
            values.append(np.zeros(x.type.shape, int))
        else:
            return None
    return values
