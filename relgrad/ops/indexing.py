"""Selecting entries by position, as `x[key]` and the functions of NumPy spell it.

New axes, and axes of extent 1 that an integer removes, are left to `Expand` and `Squeeze`, reversed axes to
`Flip`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from relgrad.errors import OutOfBoundsError, RelationError, ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.op import Symbolic, as_term, constant, is_constant, strong
from relgrad.ops.arguments import call, is_ground, normalize_axis, refuse, require_ground
from relgrad.ops.gather import ARRAY, BACKWARDS, FULL, WHOLE, Index, TakeAlong, entries_of
from relgrad.ops.moving import Flip
from relgrad.ops.structure import Squeeze, broadcast_like, expand, squeeze
from relgrad.term import Unknown, is_term, term
from relgrad.types import Extent


def select(x: Any, axis: int, entry: Any) -> Any:
    """Index one axis (negative) of a term, and take the others whole."""
    return getitem(x, (..., entry, *[FULL] * (-axis - 1)))


@implements("__getitem__")
def getitem(a: Any, key: Any) -> Any:
    """x[0, :, None] → its selections and axes: traces `x[key]`.

    Keys are integers, slices, None, an ellipsis, arrays of integers, and masks that are not traced.
    Raises ShapeError for too many indices and for integers out of bounds, TraceError for a traced mask.
    """
    x = strong(as_term(a))
    entries = _flat_key(key)
    if not is_ground(x):
        return _pattern_getitem(x, entries)
    _check_masks(key, x.type.shape)
    rank = x.type.ndim
    consumed = sum(e is not None and e is not Ellipsis for e in entries)
    if consumed > rank:
        raise OutOfBoundsError(
            f"too many indices: {consumed} for an array of shape {x.type.shape}",
            cure="insert axes first, with [..., None]",
        )
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    middle = next(i for i, e in enumerate(entries) if e is Ellipsis)
    entries[middle : middle + 1] = [FULL] * (rank - consumed)
    arrays = [e for e in entries if is_term(e)]
    new = tuple([i - len(entries) for i, e in enumerate(entries) if e is None])
    if arrays:
        # New axes between arrays decide where their axes go: insert them first, and take them whole.
        x = expand(x, new)
        entries = [FULL if e is None else e for e in entries]
        return _advanced(x, entries)
    return _basic(x, entries)


def _check_masks(key: Any, shape: tuple[int | None, ...]) -> None:
    """x : (3,), mask : (4,) → ShapeError: masks have the extents of the axes that they choose of."""
    parts = [e for e in (key if isinstance(key, tuple) else (key,)) if e is not None]
    parts = [np.array(e) if _is_list_of_booleans(e) else e for e in parts]
    masks = [e if isinstance(e, np.ndarray) and e.dtype.kind == "b" else None for e in parts]
    if not any(m is not None for m in masks):
        return
    counts = [1 if m is None else m.ndim for m in masks]
    at = 0
    for i, (e, mask, count) in enumerate(zip(parts, masks, counts, strict=True)):
        if e is Ellipsis:
            at = len(shape) - sum(counts[i + 1 :])
            continue
        axes = shape[at : at + count]
        if mask is not None and any(n not in (None, m) for n, m in zip(axes, mask.shape, strict=False)):
            raise ShapeError(
                f"a mask of shape {mask.shape} cannot index axes of extents {axes}",
                cause="NumPy would raise IndexError for an array of this shape",
                cure="make the mask of the array that it indexes, x[x > 0]",
            )
        at += count


def _is_list_of_booleans(e: Any) -> bool:
    return isinstance(e, list) and bool(e) and all(isinstance(x, (bool, np.bool_)) for x in e)


def _flat_key(key: Any) -> list[Any]:
    """(0, [True, False], i) → [0, [0], i]: the entries of a key, with masks as arrays of integers, and arrays as
    terms.
    """
    entries: list[Any] = []
    for e in key if isinstance(key, tuple) else (key,):
        if e is None or e is Ellipsis:
            entries.append(e)
        elif isinstance(e, slice):
            entries.append(_plain_slice(e))
        elif isinstance(e, (Symbolic, Unknown)) or is_term(e):
            entries.append(_traced_index(as_term(e)))
        elif isinstance(e, (list, tuple, np.ndarray, bool, np.bool_)):
            entries += _array_entries(e)
        else:
            entries.append(_integer(e))
    if sum(e is Ellipsis for e in entries) > 1:
        raise ShapeError("an index can only have a single ellipsis ('...')")
    return entries


def _integer(e: Any) -> int:
    """np.int64(2) → 2; raises TraceError for what is no integer."""
    try:
        return operator.index(e)
    except TypeError:
        raise TraceError(
            f"an array cannot be indexed with {e!r}",
            cause="indices are integers, slices, None, an ellipsis, and arrays of integers or booleans",
        ) from None


def _plain_slice(s: slice) -> slice:
    """slice(np.int64(1), None) → slice(1, None, None); raises TraceError for a traced bound."""
    for bound in (s.start, s.stop, s.step):
        if isinstance(bound, (Symbolic, Unknown)) or is_term(bound):
            raise TraceError(
                "a slice cannot have a traced bound",
                cause="the shape of the result would depend on a value",
                cure="use x[i + np.arange(n)] for n entries from a traced i on",
            )
    return slice(*[None if b is None else _integer(b) for b in (s.start, s.stop, s.step)])


def _traced_index(x: Any) -> Any:
    """i : int → i; raises TraceError for traced masks and floats, RelationError for variables."""
    if not is_ground(x):
        raise RelationError("a logic variable cannot be an index")
    kind = x.type.dtype.kind
    if kind == "b":
        raise TraceError(
            "a traced boolean mask cannot be an index",
            cause="the shape of the result would depend on values",
            cure="use np.where(mask, x, 0), which keeps the shape; for a mean, divide by np.sum(mask)",
        )
    if kind not in "iu":
        raise TraceError("an array of floats cannot be an index", cure="round it and cast it: x.astype(int)")
    if is_constant(x):
        return _constant_index(x.op.value)
    return x


def _array_entries(e: Any) -> list[Any]:
    """[True, False, True] → [[0, 2]], [0, 2] → [[0, 2]]:
    an array as an index; a mask gives one for each of its axes.
    """
    from relgrad.ops.creation import stack_nested

    x = stack_nested(e)
    if not is_constant(x):
        return [_traced_index(x)]
    values = x.op.value
    if values.dtype.kind == "b":
        if values.ndim == 0:
            raise TraceError(
                "True and False cannot be indices of a traced array", cure="use [None] or np.where"
            )
        return [constant(np.ascontiguousarray(i)) for i in np.nonzero(values)]
    if values.size == 0:
        values = values.astype(np.intp)
    if values.dtype.kind not in "iu":
        raise TraceError("an array of floats cannot be an index", cure="round it and cast it: x.astype(int)")
    return [_constant_index(values)]


def _constant_index(values: np.ndarray) -> Any:
    return int(values) if values.ndim == 0 else constant(values.astype(np.intp))


def _pattern_getitem(x: Any, entries: list[Any]) -> Any:
    """a[..., None] → expand(a, −1): a pattern indexed with an ellipsis, whole axes and None, so that the rank matters
    not.
    """
    tail = entries[1:] if entries and entries[0] is Ellipsis else None
    if tail is None or any(e is not None and e != FULL for e in tail):
        raise RelationError(
            "a pattern can only be indexed with an ellipsis, whole axes and None",
            cause="its rank and extents are not known",
            cure="count axes from the right: x[..., None], np.expand_dims(x, -1)",
        )
    return expand(x, tuple([i - len(tail) for i, e in enumerate(tail) if e is None]))


def _bounded(index: int, n: Extent, axis: int) -> int:
    """(−1, 3, 0) → 2: an integer index, counted from the left if the extent is known; raises out of bounds."""
    if n is None:
        return index
    if not -n <= index < n:
        raise _out_of_bounds(index, n, axis)
    return index + n if index < 0 else index


def _slice_entry(s: slice, n: Extent) -> tuple[Any, Any, Any]:
    """(::−1, 3) → BACKWARDS, (0:9, 3) → WHOLE, (2:9:5, 4) → (2, 3, None):
    the one form of a slice, for a known extent.
    """
    if s.step == 0:
        raise ShapeError("the step of a slice cannot be zero")
    if n is None:
        step = None if s.step == 1 else s.step
        start = None if s.start == 0 and step is None else s.start
        return start, s.stop, step
    chosen = range(*s.indices(n))
    if len(chosen) == 0:
        return 0, 0, None
    if len(chosen) == n and (n == 1 or chosen.step in (1, -1)):
        return WHOLE if n == 1 or chosen.step == 1 else BACKWARDS
    if len(chosen) == 1:
        return chosen[0], chosen[0] + 1, None
    stop = chosen[-1] + (1 if chosen.step > 0 else -1)
    return chosen[0], None if stop < 0 else stop, None if chosen.step == 1 else chosen.step


def _basic(x: Any, entries: list[Any]) -> Any:
    """x[0, None, ::−1] → expand(flip(x[0])): an index of integers, slices and None, by expand, squeeze, flip and
    `Index`.
    """
    shape = x.type.shape
    pattern: list[Any] = []
    kept: list[str] = []  # for each axis of the result before squeezing: new, unit (to squeeze) or whole
    for e in entries:
        if e is None:
            kept.append("new")
            continue
        axis = len(pattern)
        if isinstance(e, slice):
            pattern.append(_slice_entry(e, shape[axis]))
            kept.append("whole")
            continue
        e = _bounded(e, shape[axis], axis)
        pattern.append(WHOLE if shape[axis] == 1 else e)
        if shape[axis] == 1:
            kept.append("unit")
    x = _index(x, pattern)
    before = [k for k in kept if k != "new"]
    x = squeeze(x, tuple([i - len(before) for i, k in enumerate(before) if k == "unit"]))
    after = [k for k in kept if k != "unit"]
    return expand(x, tuple([i - len(after) for i, k in enumerate(after) if k == "new"]))


def _index(x: Any, pattern: list[Any]) -> Any:
    """squeeze(x)[p] → squeeze(x[p′]), x[::−1] → flip(x): a basic pattern without new axes."""
    if isinstance(x.op, Squeeze) and any(p != WHOLE for p in pattern):
        inner, axes = x.rands[0], x.op.axes
        rest = iter(pattern)
        below = [WHOLE if a in axes else next(rest) for a in range(-inner.type.ndim, 0)]
        left = [a for a, p in zip(range(-inner.type.ndim, 0), below, strict=True) if type(p) is tuple]
        return squeeze(_index(inner, below), tuple([i - len(left) for i, a in enumerate(left) if a in axes]))
    if (found := entries_of(x, pattern)) is not None:
        return found
    if all(p in (WHOLE, BACKWARDS) for p in pattern):
        axes = tuple([i - len(pattern) for i, p in enumerate(pattern) if p == BACKWARDS])
        return Flip(axes).make_node(x)
    return term(Index(_trimmed(pattern)), x)


def _trimmed(pattern: list[Any]) -> tuple[Any, ...]:
    while pattern and pattern[-1] == WHOLE:
        pattern = pattern[:-1]
    return tuple(pattern)


def _advanced(x: Any, entries: list[Any]) -> Any:
    """x[i, 1:] → Index((ARRAY, (1, n, None)))(x, i): an index with arrays of integers, and no new axes."""
    shape = x.type.shape
    pattern: list[Any] = []
    arrays = []
    for axis, e in enumerate(entries):
        n = shape[axis]
        if is_term(e):
            if is_constant(e) and n is not None:
                _check_bounds(e.op.value, n, axis)
            pattern.append(ARRAY)
            arrays.append(e)
        else:
            pattern.append(_slice_entry(e, n) if isinstance(e, slice) else _bounded(e, n, axis))
    return term(Index(_trimmed(pattern)), x, *arrays)


def _check_bounds(values: np.ndarray, n: int, axis: int) -> None:
    wrong = values[(values < -n) | (values >= n)]
    if wrong.size:
        raise _out_of_bounds(wrong.flat[0], n, axis)


def _out_of_bounds(index: int, n: int, axis: int) -> OutOfBoundsError:
    """(5, 3, 0) → OutOfBoundsError: that index 5 is out of bounds for axis 0 of extent 3."""
    which = f"an index from {-n} to {n - 1}" if n else "an array that is not empty"
    return OutOfBoundsError(
        f"index {index} is out of bounds for axis {axis} of extent {n}",
        cause="NumPy would raise IndexError for an array of this shape",
        cure=f"pass {which}",
    )


@implements(np.take, "take")
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """take(x, i, axis=0)[k] = x[i[k]]: traces `np.take`; positions out of bounds are read as its modes say."""
    refuse("np.take", out=out)
    x = require_ground("np.take", a)
    if axis is None or (not x.type.ndim and axis in (0, -1)):  # NumPy takes a number for a row of one entry
        x, axis = call(np.ravel, x), -1
    axis = normalize_axis(axis, x.type.ndim)
    n = x.type.shape[axis]
    if n and 0 in x.type.shape[:axis]:
        mode = "clip"  # NumPy looks at positions in each of the outer blocks, of which there is none
    return select(x, axis, _inside(indices, n, mode))


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """compress([True, False, True], x) = x[[0, 2]]: traces `np.compress`; a mask that is traced is decided."""
    kept = np.asarray(condition)
    return take(a, np.compress(kept, np.arange(kept.size)), axis, out)


@implements("compress")
def compress_method(a: Any, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """Trace `x.compress(condition)`."""
    return compress(condition, a, axis, out)


def _inside(indices: Any, n: Extent, mode: str) -> Any:
    """([5], 3, "wrap") → [2], ([5], 3, "clip") → [2]:
    positions along an axis of so many entries, by a mode of `np.take`.
    """
    indices = list(indices) if isinstance(indices, range) else indices
    if mode == "raise" or n == 0:
        return indices
    refuse("np.take", mode=mode if n is None or mode not in ("wrap", "clip") else None)
    from relgrad.ops.casting import cast
    from relgrad.ops.creation import stack_nested

    places = stack_nested(indices)
    if places.type.dtype.kind not in "biu" and places.type.size:
        return indices  # is refused
    places = as_term(cast(places, np.intp))
    return call(np.mod, places, n) if mode == "wrap" else call(np.clip, places, 0, n - 1)  # type: ignore[operator]


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """take_along_axis(x, k, −1)[i, j] = x[i, k[i, j]]: traces `np.take_along_axis`."""
    from relgrad.ops.creation import stack_nested

    x, chosen = strong(as_term(arr)), stack_nested(indices)
    if is_ground(chosen) and chosen.type.dtype.kind not in "iu":
        raise TraceError("np.take_along_axis needs indices that are integers")
    if axis is None:
        x, axis = call(np.ravel, x), -1
    if is_ground(x):
        axis = normalize_axis(axis, x.type.ndim)
        n = x.type.shape[axis]
        if is_constant(chosen) and n is not None:
            _check_bounds(chosen.op.value, n, axis)
    return TakeAlong(axis).make_node(x, chosen)


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """diff(x)ᵢ = xᵢ₊₁ − xᵢ, n times: traces `np.diff`."""
    x = require_ground("np.diff", a)
    axis = normalize_axis(axis, x.type.ndim)
    ends = [_end(x, axis, end) for end in (prepend, append)]
    if any(end is not None for end in ends):
        x = call(np.concatenate, [part for part in (ends[0], x, ends[1]) if part is not None], axis)
    for _ in range(n):
        minus = np.not_equal if x.type.dtype.kind == "b" else np.subtract
        x = call(minus, select(x, axis, slice(1, None)), select(x, axis, slice(None, -1)))
    return x


def _end(x: Any, axis: int, end: Any) -> Any:
    """(x : (3, 4), 1, 0.0) → zeros (3, 1): the entries put before or after x along an axis; None if none are."""
    if end is None or end is np._NoValue:
        return None
    node = strong(as_term(end))
    if node.type.ndim:
        return node
    return broadcast_like(node, select(x, axis, slice(0, 1)))
