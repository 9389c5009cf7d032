"""Moving, inserting and removing axes, and broadcasting, as NumPy's functions spell them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import call, is_ground, normalize_axes, normalize_axis, require_ground, several
from relgrad.ops.shaping import transpose
from relgrad.ops.structure import broadcast_like, broadcast_to, expand, squeeze
from relgrad.types import broadcast_shapes


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """moveaxis(x, 0, −1)[j, k, i] = x[i, j, k]: traces `np.moveaxis`."""
    x = require_ground("np.moveaxis", a)
    rank = x.type.ndim
    sources, targets = ([normalize_axis(i, rank) for i in several(axes)] for axes in (source, destination))
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets) or len(sources) != len(targets):
        raise ShapeError(f"np.moveaxis cannot move axes {source} to {destination}")
    order = [a for a in range(-rank, 0) if a not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target + rank, moved)
    return transpose(x, order)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """expand_dims(x, −1)[i, 0] = x[i]: traces `np.expand_dims`; of patterns too, if the axes are negative."""
    x = strong(as_term(a))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if not is_ground(x):
        if any(operator.index(i) >= 0 for i in axes):
            require_ground("np.expand_dims with axes counted from the left", x)
        return expand(x, tuple(sorted(operator.index(i) for i in axes)))
    return expand(x, normalize_axes(tuple(axes), x.type.ndim + len(axes)))


@implements(np.squeeze, "squeeze")
def squeeze_function(a: Any, axis: Any = None) -> Any:
    """squeeze(x)[i] = x[i, 0]: traces `np.squeeze`; raises ShapeError for axes whose extent is not 1."""
    x = strong(as_term(a))
    if not is_ground(x):
        named = axis if isinstance(axis, (tuple, list)) else (axis,)
        if any(i is None or operator.index(i) >= 0 for i in named):
            require_ground("np.squeeze without negative axes", x)
        return squeeze(x, tuple(sorted(operator.index(i) for i in named)))
    shape, rank = x.type.shape, x.type.ndim
    if axis is None:
        return squeeze(x, tuple([i - rank for i, n in enumerate(shape) if n == 1]))
    axes = normalize_axes(axis, rank)
    for i in axes:
        if shape[i] != 1:
            raise ShapeError(
                f"cannot squeeze axis {i} of an array of shape {shape}",
                cause="its extent is not 1",
                cure="select one entry with an integer index, or reduce over the axis",
            )
    return squeeze(x, axes)


@implements(np.broadcast_to)
def broadcast_to_function(array: Any, shape: Any, subok: bool = False) -> Any:
    """broadcast_to(x, (2, 3))[i, j] = x[j]: traces `np.broadcast_to`; None is the extent that x has."""
    x = require_ground("np.broadcast_to", array)
    wanted = several(shape)
    if len(wanted) == x.type.ndim and None in wanted:
        wanted = tuple([m if n is None else n for n, m in zip(wanted, x.type.shape, strict=True)])
    return broadcast_to(x, wanted)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Trace `np.broadcast_arrays`."""
    return broadcast_together([require_ground("np.broadcast_arrays", a) for a in args])


def broadcast_together(terms: Sequence[Any]) -> tuple[Any, ...]:
    """(3,), (2, 1) → (2, 3), (2, 3): terms stretched to the shape that they have in common;
    raises ShapeError without one.
    """
    try:
        shape = broadcast_shapes(*[x.type.shape for x in terms])
    except ValueError as error:
        raise ShapeError(f"cannot broadcast these arrays together: {error}") from None
    if None not in shape:
        return tuple([broadcast_to(x, shape) for x in terms])
    # Where extents are unknown, only an array can tell the shape, and a sum of all has it.
    whole = reduce(lambda x, y: call(np.add, x, y), terms)
    return tuple([broadcast_like(x, whole) for x in terms])


def at_least(a: Any, rank: int) -> Any:
    """(x : (3,), 2) → (1, 3), (x : (3,), 3) → (1, 3, 1): axes inserted as `np.atleast_1d`, `_2d` and `_3d` do."""
    x = require_ground(f"np.atleast_{rank}d", a)
    missing = max(rank - x.type.ndim, 0)
    if rank < 3 or missing == 0:
        return expand(x, tuple(range(-x.type.ndim - missing, -x.type.ndim)))
    return expand(x, {0: (-3, -2, -1), 1: (-3, -1), 2: (-1,)}[x.type.ndim])


def _several(rank: int) -> Any:
    """rank 2: f(x) → x : (1, n), f(x, y) → (…, …): traces `np.atleast_1d` and its likes, of one or several."""

    def trace(*arys: Any) -> Any:
        results = [at_least(a, rank) for a in arys]
        return results[0] if len(results) == 1 else tuple(results)

    return trace


implements(np.atleast_1d)(_several(1))
implements(np.atleast_2d)(_several(2))
implements(np.atleast_3d)(_several(3))


@implements(np.copy, "copy")
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Trace `np.copy`: terms never change, so the copy is the original."""
    return as_term(a)
