"""The canonical form of elementwise operands: where their axes of extent 1 stand.

Squeezes float towards the root; leading axes that broadcasting supplies, and broadcasts that partners imply, are
left out; so is the shape of an array of one number. This is exact, so it may change the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgrad.op import Constant, constant
from relgrad.ops.structure import (
    RESHAPES,
    BroadcastLike,
    BroadcastTo,
    Expand,
    Squeeze,
    expand,
    without_leading,
)
from relgrad.types import broadcast_shapes

FLOATING = (*RESHAPES, BroadcastLike)
"""The ops on axes that alignment moves."""


def align(operands: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """Bring elementwise operands to canonical form; return them and the axes to squeeze from the result.

    f(squeeze(a), b) = squeeze(f(a, expand(b))), and leading axes of extent 1 that another operand supplies go.
    """
    operands = list(operands)
    for x in operands:
        if isinstance(x.op, FLOATING) or _repeats(x):
            break
    else:
        return operands, ()
    for i in range(len(operands)):
        if isinstance(operands[i].op, (Expand, BroadcastTo, BroadcastLike)) or _repeats(operands[i]):
            operands[i] = _strip(operands[i], operands[:i] + operands[i + 1 :])
    rank = max((x.type.ndim for x in operands), default=0)
    squeezed = sorted({x for x in operands if isinstance(x.op, Squeeze)}, key=_float_order)
    most = max((x.rands[0].type.ndim for x in squeezed), default=0)
    for x in squeezed:
        axes, inner = x.op.axes, x.rands[0]
        if x.type.ndim == 0:
            # A single entry needs no room beside its partners.
            floated, axes = [inner if y is x else y for y in operands], tuple(range(-inner.type.ndim, -rank))
        elif axes == tuple(range(-inner.type.ndim, -x.type.ndim)) and rank >= inner.type.ndim:
            floated, axes = [inner if y is x else y for y in operands], ()
        else:
            floated = [inner if y is x else insert(y, axes) for y in operands]
            if max(y.type.ndim for y in floated) > max(most, rank):
                continue
        aligned, more = align(floated)
        return aligned, _compose(axes, more, max(y.type.ndim for y in aligned)) if axes else more
    return operands, ()


def _repeats(x: Any) -> bool:
    """ones(3) → True: whether an operand is an array of one number, many times."""
    return type(x.op) is Constant and x.op.repeats


def _float_order(x: Any) -> tuple[bool, int, tuple[int, ...]]:
    """Order squeezes by rank and axes, so that those that float do not depend on the order of operands.

    A single entry comes last: x[:, 0]/s, where s = Σx, is (x/s)[:, 0], and the axis that s has left need not be kept.
    """
    return x.type.ndim == 0, -x.rands[0].type.ndim, x.op.axes


def _strip(x: Any, partners: Sequence[Any]) -> Any:
    """x : (1, 3) beside (2, 3) → x : (3,), ones((2, 3)) beside it → 1: an operand without the leading axes and the
    broadcast that its partners supply.
    """
    try:
        shape = broadcast_shapes(*[y.type.shape for y in partners])
        covered = broadcast_shapes(x.type.shape, shape) == shape
    except ValueError:  # type inference reports operands that do not fit
        return x
    if covered and _repeats(x):
        x = constant(x.op.value.flat[0], x.type.dtype)
    elif covered and isinstance(x.op, (BroadcastTo, BroadcastLike)):
        x = x.rands[0]
    return x if x.type.ndim > len(shape) else without_leading(x)


def insert(x: Any, axes: tuple[int, ...]) -> Any:
    """(x : (3,), (−1,)) → x : (3, 1), (−2,) → x: axes inserted into an operand, but for those that would lead."""
    chosen: list[int] = []
    for axis in sorted(axes, reverse=True):
        if -axis > x.type.ndim + len(chosen):
            break
        chosen.append(axis)
    return expand(x, tuple(chosen))


def _compose(axes: tuple[int, ...], inner: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """((−1,), (−2,), 3) → (−2, −1): the one squeeze that does `inner` first and then `axes`."""
    if not inner:
        return axes
    kept = [a for a in range(-rank, 0) if a not in inner]
    return tuple(sorted((*inner, *(kept[a] for a in axes))))
