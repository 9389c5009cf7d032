"""Arrays made larger: with zeros around them, tiled and repeated."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import strong
from relgrad.ops.arguments import (
    call,
    is_ground,
    normalize_axis,
    refuse,
    require_ground,
    several,
)
from relgrad.ops.indexing import getitem, select
from relgrad.ops.joining import Concatenate
from relgrad.ops.shaping import AmongZeros, reshape
from relgrad.ops.structure import broadcast_to, expand
from relgrad.term import Term, term
from relgrad.types import Type, array_type


class Pad(AmongZeros):
    """pad([a, b]) = [0, a, b, 0, 0], widths ((1, 2),):
    zeros around the entries, for each axis how many before and after.
    """

    __props__ = ("widths",)
    widths: tuple[tuple[int, int], ...]
    text = "np.pad({0}, {widths})"

    def output_type(self, *types: Any) -> Type:
        """(2,), widths ((1, 2),) → (5,)."""
        shape = [
            None if n is None else n + before + after
            for n, (before, after) in zip(types[0].shape, self.widths, strict=True)
        ]
        return array_type(types[0].dtype, shape)

    def make_node(self, *inputs: Any) -> Term:
        x = strong(inputs[0])
        return x if is_ground(x) and not any(map(any, self.widths)) else term(self, x)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        key = [slice(before, -after if after else None) for before, after in self.widths]
        return [getitem(output_gradients[0], tuple(key))]


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """tile([a, b], 2) = [a, b, a, b]: traces `np.tile`."""
    x = require_ground("np.tile", A)
    counts = [operator.index(r) for r in several(reps)]
    counts = [1] * (x.type.ndim - len(counts)) + counts
    x = expand(x, tuple(range(-len(counts), -x.type.ndim)))
    for axis, count in zip(range(-len(counts), 0), counts, strict=True):
        if count == 0:
            x = select(x, axis, slice(0, 0))
        elif count > 1:
            x = _repeated(x, axis, count, axis - 1)
    return x


@implements(np.repeat, "repeat")
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """repeat([a, b], 2) = [a, a, b, b]: traces `np.repeat`; the counts decide a shape, and so are decided."""
    x = require_ground("np.repeat", a)
    if axis is None:
        x, axis = call(np.ravel, x), -1
    if x.type.ndim == 0:
        normalize_axis(axis, 1)
        return broadcast_to(x, (int(np.asarray(repeats).reshape(())),))
    axis = normalize_axis(axis, x.type.ndim)
    counts = np.asarray(repeats)
    if counts.size == 1:
        count = int(counts.reshape(()))
        if count == 0:
            return select(x, axis, slice(0, 0))
        return x if count == 1 else _repeated(x, axis, count, axis)
    n = x.type.shape[axis]
    if n is None or counts.shape != (n,):
        raise ShapeError(f"np.repeat: {counts.size} counts for an axis of extent {n}")
    return select(x, axis, np.repeat(np.arange(n), counts))


def _repeated(x: Any, axis: int, count: int, place: int) -> Any:
    """Repeat an axis, through a new axis before it (place = axis − 1: whole) or after it (axis: each)."""
    shape = x.type.shape
    n = shape[axis]
    if n == 1:
        stretched = list(shape)
        stretched[axis] = count
        return repeated(x, axis, count) if None in stretched else broadcast_to(x, tuple(stretched))
    if None in shape:
        if place == axis:
            raise ShapeError("np.repeat needs known extents", cause=f"the shape is {shape}")
        return repeated(x, axis, count)
    wide = expand(x, (place,))
    target = list(wide.type.shape)
    target[place] = count
    flat = list(shape)
    flat[axis] = n * count
    return reshape(broadcast_to(wide, tuple(target)), tuple(flat))


def repeated(x: Any, axis: int, count: int) -> Any:
    """Return so many copies of a term, one after the other along an axis."""
    return Concatenate(axis).make_node(*[x] * count)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """windows(x, n)[i, k] = x[i + k]: traces `sliding_window_view`, places k along axes of their own at the end."""
    name = "np.lib.stride_tricks.sliding_window_view"
    if writeable:
        refuse(name, writeable="True")
    x = require_ground(name, x)
    lengths = several(window_shape)
    axes = range(x.type.ndim) if axis is None else several(axis)
    if len(lengths) != len(axes):
        raise ShapeError(f"{name}: {len(lengths)} windows for {len(axes)} axes")
    places = [normalize_axis(a, x.type.ndim) + x.type.ndim for a in axes]
    for place, length in zip(places, map(operator.index, lengths), strict=True):
        n = x.type.shape[place]
        if n is None or not 0 <= length <= n:
            raise ShapeError(f"{name}: a window of {length} entries on an axis of extent {n}")
        window = np.arange(n - length + 1)[:, None] + np.arange(length)
        x = call(np.moveaxis, select(x, place - x.type.ndim, window), place + 1, -1)
    return x
