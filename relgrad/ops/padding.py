"""`np.pad`: constants, ramps, statistics, or the entries themselves again around those of an array.

    np.pad(x, (1, 2), mode="mean")   ↦   [m, x₀, …, xₙ, m, m], m = mean(x)

Each axis is padded in turn, with all that was put around the axes before it, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.op import as_term, constant
from relgrad.ops.arguments import call, is_symbolic, require_ground
from relgrad.ops.casting import cast
from relgrad.ops.creation import stack_nested
from relgrad.ops.indexing import getitem, select
from relgrad.ops.joining import Concatenate
from relgrad.ops.repeating import Pad, repeated
from relgrad.ops.structure import broadcast_like, broadcast_to

Widths = tuple[tuple[int, int], ...]


def _median(x: Any, axis: int, keepdims: bool) -> Any:
    """[1, 2, 4, 8] → 3: the mean of the middle entries of the sorted; NaN where one is."""
    n, ordered = x.type.shape[axis], call(np.sort, x, axis=axis)
    middle = select(ordered, axis, slice((n - 1) // 2, n // 2 + 1))
    found = call(np.mean, middle, axis=axis, keepdims=keepdims)
    if x.type.dtype.kind != "f":
        return found
    return call(np.where, call(np.isnan, select(ordered, axis, slice(n - 1, n))), np.nan, found)


_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": partial(call, np.mean),
    "median": _median,
    "maximum": partial(call, np.max),
    "minimum": partial(call, np.min),
}
_REPEATING = ("edge", "reflect", "symmetric", "wrap")
_OPTIONS = {
    "constant": "constant_values",
    "linear_ramp": "end_values",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    **dict.fromkeys(_STATISTICS, "stat_length"),
}
"""The option of each mode; others have none."""


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """pad(x, 1) = [0, x₀, …, 0]: traces `np.pad`; the vectors that a function pads are written to, which is traced
    elsewhere.
    """
    x = require_ground("np.pad", array)
    widths = _pairs(x, pad_width)
    _check(x, widths, mode, options)
    given = options.get(_OPTIONS.get(mode, ""))
    if mode in ("constant", "empty"):
        values = 0 if given is None else given
        if not is_symbolic(values) and not np.any(np.asarray(values)):
            return Pad(widths).make_node(x)
        return _pad_values(x, widths, values)
    sides = _sides(mode, x, given)
    for i, (axis, width) in enumerate(zip(range(-len(widths), 0), widths, strict=True)):
        if any(width):
            x = sides(x, axis, width, i)
    return x


def _check(x: Any, widths: Widths, mode: Any, options: dict[str, Any]) -> None:
    """mode "x" → TraceError, an unknown option → ValueError, an empty axis → ShapeError: as NumPy raises."""
    if mode not in ("empty", "linear_ramp", "constant", *_REPEATING, *_STATISTICS):
        raise TraceError(
            f"np.pad cannot be traced in the mode {mode!r}",
            cure="use constant, edge, reflect, symmetric, wrap, linear_ramp, mean, median, maximum or minimum",
        )
    unknown = sorted(set(options) - {_OPTIONS.get(mode)})
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {set(unknown)}")
    for axis, (n, width) in enumerate(zip(x.type.shape, widths, strict=True)):
        if mode in ("constant", "empty") or not any(width):
            continue
        if n is None:
            raise ShapeError(f"np.pad in the mode {mode!r} needs the extent of axis {axis}")
        if n == 0:
            raise ShapeError(f"np.pad in the mode {mode!r} cannot extend axis {axis}, which is empty")


def _pairs(x: Any, pad_width: Any) -> Widths:
    """1 → ((1, 1), …), {0: 2} → ((2, 2), (0, 0)): how much is padded before and after each axis."""
    rank = x.type.ndim
    if isinstance(pad_width, dict):
        full: list[Any] = [(0, 0)] * rank
        for axis, width in pad_width.items():
            full[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = full
    pairs = np.broadcast_to(np.asarray(pad_width), (rank, 2))
    if pairs.size and pairs.min() < 0:
        raise ShapeError("np.pad: widths cannot be negative")
    return tuple([(int(a), int(b)) for a, b in pairs])


def _sides(mode: str, x: Any, given: Any) -> Callable[..., Any]:
    """mean → (x, axis, width, i) ↦ padded x: the function that pads one axis in a mode."""
    rank = x.type.ndim
    if mode in _STATISTICS:
        lengths = np.broadcast_to(np.array(given, object), (rank, 2))
        return lambda x, axis, width, i: _joined(
            x, axis, width, _statistics(_STATISTICS[mode], x, axis, lengths[i])
        )
    if mode == "linear_ramp":
        ends = broadcast_to(as_term(stack_nested(0 if given is None else given)), (rank, 2))
        return lambda x, axis, width, i: _ramps(x, axis, width, [getitem(ends, (i, side)) for side in (0, 1)])
    options = {} if given is None else {"reflect_type": given}
    return lambda x, axis, width, i: _again(x, axis, width, mode, options)


def _again(x: Any, axis: int, width: tuple[int, int], mode: str, options: dict[str, Any]) -> Any:
    """[a, b, c] → [c, b, a, b, c, b]: one axis padded with its own entries:
    Σₖ wᵢₖ·x[pᵢₖ], whole weights where turned over.
    """
    n = x.type.shape[axis]
    if options.get("reflect_type", "even") != "odd":
        return select(x, axis, np.pad(np.arange(n), width, mode=mode, **options))  # type: ignore[call-overload]
    weights = np.pad(np.eye(n), (width, (0, 0)), mode=mode, **options)  # type: ignore[call-overload]
    order = np.argsort(weights == 0, axis=1, kind="stable")
    total = None
    for k in range(int(np.count_nonzero(weights, axis=1).max())):
        places = order[:, k]
        factor = weights[np.arange(len(places)), places].reshape(-1, *[1] * (-axis - 1)).astype(x.type.dtype)
        part = call(np.multiply, factor, select(x, axis, places))
        part = call(np.where, factor != 0, part, np.zeros((), x.type.dtype))
        total = part if total is None else call(np.add, total, part)
    return total


def _statistics(function: Any, x: Any, axis: int, lengths: Any) -> list[Any]:
    """mean of [x₀, x₁] and of [xₙ₋₁, xₙ] → two values:
    a statistic of the first and of the last entries, of all for None.
    """
    n = x.type.shape[axis]
    counts = [n if k is None else min(int(k), n) for k in lengths]
    found = []
    for part in (slice(0, counts[0]), slice(n - counts[1], n)):
        value = function(select(x, axis, part), axis=axis, keepdims=True)
        whole = x.type.dtype.kind in "iu"
        found.append(as_term(cast(call(np.round, value) if whole else value, x.type.dtype)))
    return found


def _ramps(x: Any, axis: int, width: tuple[int, int], ends: list[Any]) -> Any:
    """(0, x, 0) → [0, x₀/2, x₀, …]: one axis padded with equal steps from the entries at its ends to other values."""
    edges = [select(x, axis, 0), select(x, axis, -1)]
    made = [
        call(np.linspace, end, edge, count, endpoint=False, dtype=x.type.dtype, axis=axis) if count else None
        for end, edge, count in zip(ends, edges, width, strict=True)
    ]
    if made[1] is not None:
        made[1] = call(np.flip, made[1], axis)
    return Concatenate(axis).make_node(*[as_term(p) for p in (made[0], x, made[1]) if p is not None])


def _joined(x: Any, axis: int, width: tuple[int, int], values: list[Any]) -> Any:
    """Pad one axis with two values, each as often as it is wide."""
    blocks = [_block(x, axis, count, value) for count, value in zip(width, values, strict=True)]
    return Concatenate(axis).make_node(*[p for p in (blocks[0], x, blocks[1]) if p is not None])


def _pad_values(x: Any, widths: Widths, values: Any) -> Any:
    """(x, 1, v) → [v, x₀, …, v]: padded with values other than zero, axis by axis, as NumPy does."""
    if not is_symbolic(values) and not isinstance(values, (list, tuple)):
        values = constant(values, x.type.dtype)
    both = broadcast_to(stack_nested(values), (len(widths), 2))
    for i, (axis, width) in enumerate(zip(range(-len(widths), 0), widths, strict=True)):
        x = _joined(x, axis, width, [getitem(both, (i, side)) for side in (0, 1)])
    return x


def _block(x: Any, axis: int, count: int, value: Any) -> Any:
    """(v, count 2) → [v, v] along an axis, in the shape of x; None for 0."""
    if count == 0:
        return None
    value = as_term(cast(value, x.type.dtype))
    shape = list(x.type.shape)
    shape[axis] = count
    if None in shape:
        row = select(x, axis, slice(0, 1))
        return repeated(broadcast_like(value, row), axis, count)
    return broadcast_to(value, tuple(shape))
