"""Entries left out and put between others, at places that decide the shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import Symbolic, as_term
from relgrad.ops.arguments import call, normalize_axis, refuse, require_ground
from relgrad.ops.casting import cast
from relgrad.ops.creation import stack_nested
from relgrad.ops.indexing import select


def _known(x: Any) -> Any:
    """Return places or a mask as they are; traced ones are decided."""
    return np.asarray(x) if isinstance(x, Symbolic) else x


def _along(function: str, a: Any, axis: Any) -> tuple[Any, int, int]:
    """(x : (2, 3), None) → ravel(x), −1, 6: a term, a negative axis of it and its extent;
    None is the flattened array's.
    """
    x = require_ground(function, a)
    if axis is None:
        x, axis = call(np.ravel, x), -1
    axis = normalize_axis(axis, x.type.ndim)
    n = x.type.shape[axis]
    if n is None:
        raise ShapeError(f"{function} needs the extent of axis {axis}, which is not known")
    return x, axis, n


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """compress([True, False, True], x) = x[[0, 2]]: traces `np.compress`, by a mask that is not traced."""
    refuse("np.compress", out=out)
    of_number = axis in (0, -1) and not np.ndim(a)  # which NumPy takes for a vector of one entry
    x, axis, n = _along("np.compress", a, None if of_number else axis)
    return select(x, axis, np.compress(_known(condition), np.arange(n)))


@implements("compress")
def compress_method(a: Any, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """Trace `x.compress(condition)`."""
    return compress(condition, a, axis, out)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """insert(x, 1, v) = [x₀, v, x₁, …]: traces `np.insert`: NumPy itself says where the entries of both stand."""
    x, axis, _ = _along("np.insert", arr, axis)
    y = as_term(cast(stack_nested(values), x.type.dtype))
    if None in (*x.type.shape, *y.type.shape):
        raise ShapeError("np.insert needs all extents, of which some are not known")
    size = x.type.size
    places = np.arange(size).reshape(x.type.shape)
    others = size + np.arange(y.type.size).reshape(y.type.shape)
    found = np.insert(places, _known(obj), others, axis)
    both = call(np.concatenate, [call(np.ravel, x), call(np.ravel, y)])
    return call(np.reshape, select(both, -1, found.ravel()), found.shape)
