"""Selections of entries: what is picked from a function of single entries is the function of what is picked.

f(x)[i] = f(x[i]), so e^x[i] / Σ e^x is an entry of a softmax, whether the exponential was taken before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from relgrad.op import is_constant
from relgrad.ops.gather import ARRAY, Index, TakeAlong
from relgrad.ops.joining import Part
from relgrad.ops.structure import broadcast_to
from relgrad.term import Term, is_term

LARGEST = 1 << 22
"""Arrays of more entries than this are not followed entry by entry."""
DEEP = 6

Selection = tuple[Term, ...]
"""Applications of ops that select, the outermost first, each to the next; the last to what is selected from."""


def pushed(selection: Selection, t: Any, known: Collection[Any] = ()) -> Any:
    """Return a selection from a term, taken before its functions of single entries instead of after them.

    (√x·x)[i]  ⟶  √(x[i])·x[i]

    What is `known` is selected from as it is. Entries of it that are not selected need not be in the domain of the
    functions: the derivative of √x[i] has nothing to do with them, that of (√x)[i] has 0·∞ there.
    """
    made: dict[Any, Any] = {}

    def push(x: Any) -> Any:
        if x not in made:
            inside = (
                x not in known and x.op.elementwise and x.rands and x.type.ndim and None not in x.type.shape
            )
            made[x] = (
                x.op.make_node(*[_over(push, y, x) for y in x.rands]) if inside else selected(selection, x)
            )
        return made[x]

    return push(t)


def _over(push: Callable[[Any], Any], x: Any, t: Any) -> Any:
    """Return an operand of a function of single entries, pushed as what is as large as the result."""
    return push(broadcast_to(x, t.type.shape)) if x.type.ndim else x


def selected(selection: Selection, t: Any) -> Any:
    """Return a selection from a term."""
    for step in reversed(selection):
        t = step.op.make_node(t, *step.rands[1:])
    return t


def chain_of(t: Term) -> tuple[Selection, Term]:
    """Return the selections at the root of a term, and what they select from."""
    steps: list[Term] = []
    while t.op.laws.selects:
        steps.append(t)
        t = t.rands[0]
    return tuple(steps), t


def selections_in(t: Any) -> Iterator[Selection]:
    """Yield the selections in a term, from its root down through functions of single entries."""
    stack = [(t, DEEP)]
    while stack:
        node, depth = stack.pop()
        if not is_term(node):
            continue
        steps, _ = chain_of(node)
        if steps:
            yield from (steps[:n] for n in range(len(steps), 0, -1))
        elif depth and node.op.elementwise:
            stack.extend((rand, depth - 1) for rand in node.rands)


def fits(selection: Selection, shape: Sequence[Any]) -> bool:
    """Whether what is selected from has a shape."""
    return selection[-1].rands[0].type.shape == tuple(shape)


def commutes(selection: Selection, total: Term, moves: Sequence[Term] = ()) -> bool:
    """Whether selecting from x/total is selecting from x, and dividing by the total as it is.

    That is so where each entry that is selected has the same total as before. `moves` insert and take out axes of
    what is selected, the innermost last.
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
    """Return the operands of a selection as arrays; what is not known may be anything where totals are constant."""
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
