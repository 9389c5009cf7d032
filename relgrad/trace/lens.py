"""Writing into a view, on terms: the array that a view belongs to, with the view's entries replaced.

A view v of an array x is what NumPy answers without copying: x.T, x[1:], np.split(x, 2)[0]. Reading it is v(x), and
writing y into it makes `put(x, v, y)` of x:

    v(put(x, v, y)) = y        put(x, v, v(x)) = x        put(put(x, v, y), v, z) = put(x, v, z)

Where the entries of v lie is asked of NumPy itself: v(positions), for positions = arange(x.size).reshape(x.shape).

Source: Foster, Greenwald, Moore, Pierce & Schmitt (2007), "Combinators for bidirectional tree transformations",
ACM TOPLAS 29(3), section 3: the laws of very well-behaved lenses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.op import constant
from relgrad.ops.arguments import call
from relgrad.ops.casting import cast
from relgrad.ops.indexing import getitem, select
from relgrad.ops.joining import Concatenate
from relgrad.ops.shaping import reshape, transpose
from relgrad.ops.structure import BroadcastTo, broadcast_to, squeeze
from relgrad.types import ArrayType

Range = tuple[int, int, int]
"""Start, count and step (positive) along an axis."""


def positions(shape: Sequence[int | None]) -> np.ndarray:
    """(2, 3) → [[0, 1, 2], [3, 4, 5]]: an array whose entries are their own places, read row by row.

    Raises TraceError where an extent is unknown.
    """
    if None in shape:
        raise TraceError(
            f"a part of an array of shape {tuple(shape)} cannot be written to",
            cause="an extent is unknown while the graph is built",
            cure="state the extent, or build the array with np.where or np.concatenate",
        )
    return np.arange(math.prod(shape)).reshape(shape)  # type: ignore[arg-type]


def put(x: Any, view: Callable[[np.ndarray], np.ndarray], y: Any) -> Any:
    """v(put(x, v, y)) = y: the term of x once y, of the view's shape, is written into a view v of it."""
    places = positions(x.type.shape)
    chosen = view(places)
    if chosen.size == 0:
        return x
    region = _region(places, chosen)
    if region is None:
        return scattered(x, chosen, y)
    ranges, order, backwards = region
    large = reshape(y, [n for n in chosen.shape if n != 1])
    large = transpose(large, [a - len(order) for a in order])
    if backwards:
        large = call(np.flip, large, backwards)
    return _placed(x, ranges, reshape(large, [count for _, count, _ in ranges]))


def assigned(x: Any, key: Any, y: Any) -> Any:
    """Return the term of x after x[key] = y, for a key of plain integers, slices, arrays and masks.

    Where an entry is named twice the last value stays, as in NumPy.
    """
    chosen = positions(x.type.shape)[key]
    y = fitted(y, chosen.shape)
    return scattered(x, chosen, y) if chosen.size else x


def fitted(y: Any, shape: tuple[int | None, ...]) -> Any:
    """(y : (), (3,)) → (3,), (y : (1, 3), (3,)) → (3,): a term as assignment broadcasts it.

    Leading axes of extent 1 may be too many.
    """
    extra = y.type.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in y.type.shape[:extra]):
        y = squeeze(y, tuple(range(-y.type.ndim, -len(shape))))
    if y.type.shape == shape:
        return y
    try:
        return broadcast_to(y, shape)
    except ValueError:
        raise ShapeError(
            f"could not broadcast input array from shape {y.type.shape} into shape {shape}",
            cause="so many entries are written to, and others are given",
            cure="write one number, or as many entries as there are places",
        ) from None


def converted(y: Any, kind: ArrayType, function: Any, casting: Any, stretch: bool) -> Any:
    """(y : float64, float32 (3,)) → cast(y, float32):
    a function's result y in the dtype of an array, and its shape if `stretch`.

    Raises TraceError and ShapeError where NumPy raises UFuncTypeError and ValueError.
    """
    if not np.can_cast(y.type.dtype, kind.dtype, casting):
        raise TraceError(
            f"cannot cast the result of '{function.__name__}' from {y.type.dtype} to {kind.dtype}"
            f" with casting rule '{casting}'",
            cause="an array keeps its dtype when it is written to",
            cure="write x = x + y, which makes a new array, or convert first: x = x.astype(float)",
        )
    if stretch:
        with suppress(ShapeError):
            y = broadcast_to(y, kind.shape)
    if y.type.shape != kind.shape:
        raise ShapeError(
            f"non-broadcastable output operand with shape {kind.shape} doesn't match"
            f" the broadcast shape {y.type.shape}",
            cause="an array keeps its shape when it is written to",
            cure="write x = x + y, which makes a new array",
        )
    return cast(y, kind.dtype)


def _region(places: np.ndarray, chosen: np.ndarray) -> tuple[list[Range], list[int], tuple[int, ...]] | None:
    """x[1:3, ::−1] → [(1, 2, 1), (0, n, 1)], [0, 1], (−1,):
    a view as a product of ranges, the order of its axes, those reversed.

    Axes of extent 1 are left out. None stands for views that are no such product:
    diagonals, and shapes that join or split
    axes.
    """
    shape = places.shape
    first = np.unravel_index(int(chosen.flat[0]), shape)
    ranges: list[Range] = [(int(start), 1, 1) for start in first]
    axes: list[int] = []
    backwards: list[int] = []
    for k, n in enumerate(chosen.shape):
        if n == 1:
            continue
        second = np.unravel_index(int(chosen[(0,) * k + (1,) + (0,) * (chosen.ndim - k - 1)]), shape)
        moved = [a for a in range(len(shape)) if second[a] != first[a]]
        if len(moved) != 1 or moved[0] in axes:
            return None
        (a,) = moved
        step = int(second[a]) - int(first[a])
        ranges[a] = (int(first[a]) + min(0, step * (n - 1)), n, abs(step))
        axes.append(a)
        backwards += [a] if step < 0 else []
    if any(start < 0 or start + (n - 1) * step >= shape[a] for a, (start, n, step) in enumerate(ranges)):
        return None
    kept = sorted(axes)
    order = [axes.index(a) for a in kept]
    flips = tuple([kept.index(a) - len(kept) for a in backwards])
    again = places[tuple([slice(s, s + (n - 1) * step + 1, step) for s, n, step in ranges])]
    again = np.flip(again.reshape([n for n in again.shape if n != 1]), flips)
    if not np.array_equal(again.transpose(np.argsort(order)).reshape(chosen.shape), chosen):
        return None
    return ranges, order, flips


def _placed(x: Any, ranges: Sequence[Range], y: Any) -> Any:
    """(x, [(1, 2, 1)], y) → concatenate(x[:1], y, x[3:]): x with y in the place of a product of ranges."""
    extents = x.type.shape
    partial = [a for a, (_, n, _) in enumerate(ranges) if n != extents[a]]
    if not partial:
        return y
    a, *others = partial
    start, n, step = ranges[a]
    axis = a - len(extents)
    if others:
        inner = select(x, axis, slice(start, start + (n - 1) * step + 1, step))
        whole = [
            (0, m, 1) if i == a else r for i, (r, m) in enumerate(zip(ranges, inner.type.shape, strict=True))
        ]
        y = _placed(inner, whole, y)
    if step == 1 or n == 1:
        parts = [*_pieces(x, axis, 0, start), y, *_pieces(x, axis, start + n, extents[a])]
        return Concatenate(axis).make_node(*parts)
    source = np.arange(extents[a])
    source[start : start + (n - 1) * step + 1 : step] = extents[a] + np.arange(n)
    return select(Concatenate(axis).make_node(x, y), axis, source)


def _pieces(x: Any, axis: int, start: int, stop: int) -> list[Any]:
    """concatenate(a, b)[: m + n] → [a, b]: terms that make up x[start:stop] along an axis, operands where they are
    whole.
    """
    if start >= stop:
        return []
    if not (type(x.op) is Concatenate and x.op.axis == axis):
        return [select(x, axis, slice(start, stop))]
    found: list[Any] = []
    at = 0
    for part in x.rands:
        n = part.type.shape[axis]
        low, high = max(start, at) - at, min(stop, at + n) - at
        if low < high:
            piece = part if high - low == n else select(part, axis, slice(low, high))
            found.append(cast(piece, x.type.dtype))
        at += n
    return found


def scattered(x: Any, chosen: np.ndarray, y: Any) -> Any:
    """(x, [2, 0], y) → z with z[2] = y[0], z[0] = y[1], else x: x with the entries of y at these positions."""
    shape, size = x.type.shape, x.type.size
    single = _single(y)
    if single is not None:
        mask = np.zeros(size, bool)
        mask[chosen.ravel()] = True
        return call(np.where, constant(mask.reshape(shape)), single, x)
    source = np.arange(size)
    source[chosen.ravel()] = size + np.arange(chosen.size)
    flat = reshape(y, (-1,))
    if np.all(source >= size):  # nothing of x is left
        source -= size
    else:
        flat = Concatenate(-1).make_node(reshape(x, (-1,)), flat)
    entries = flat if np.array_equal(source, np.arange(flat.type.size)) else getitem(flat, source)
    return reshape(entries, shape)


def _single(y: Any) -> Any:
    """broadcast(1.0, (3,)) → 1.0, x → None: the number that an array repeats."""
    inner = y.rands[0] if type(y.op) is BroadcastTo else y
    return reshape(inner, ()) if inner.type.size == 1 else None
