"""`np.pad` with a constant, or with an array's own entries; what pads otherwise NumPy's own code says.

np.pad(x, (1, 2), mode="edge")   ↦   [x₀, x₀, …, xₙ, xₙ, xₙ]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.ops.arguments import call, is_symbolic, require_ground
from relgrad.ops.indexing import select
from relgrad.ops.repeating import Pad

_REPEATING = ("edge", "reflect", "symmetric", "wrap")


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """pad(x, 1) = [0, x₀, …, 0]: traces `np.pad` where it moves entries, or puts one number around them."""
    x = require_ground("np.pad", array)
    widths = _pairs(x.type.ndim, pad_width)
    value = options.get("constant_values", 0)
    single = mode == "constant" and not is_symbolic(value) and np.ndim(value) == 0
    if single and value == 0:
        return Pad(widths).make_node(x)
    if single:
        inside = call(np.ones_like, x, bool)
        return call(np.where, *[Pad(widths).make_node(y) for y in (inside, x)], x.type.dtype.type(value))
    if None in x.type.shape:
        raise ShapeError(f"np.pad in the mode {mode!r} needs all extents, of which some are not known")
    if mode not in _REPEATING or "odd" in options.values():
        raise TraceError(f"np.pad cannot be traced in the mode {mode!r}")
    for axis, width in zip(range(-len(widths), 0), widths, strict=True):
        if any(width):
            x = select(x, axis, np.pad(np.arange(x.type.extent(axis)), width, mode=mode))
    return x


def _pairs(rank: int, pad_width: Any) -> tuple[tuple[int, int], ...]:
    """1 → ((1, 1), …), {0: 2} → ((2, 2), (0, 0)): how much is padded before and after each axis."""
    if isinstance(pad_width, dict):
        full: list[Any] = [(0, 0)] * rank
        for axis, width in pad_width.items():
            full[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = full
    pairs = np.broadcast_to(np.asarray(pad_width), (rank, 2))
    if pairs.size and pairs.min() < 0:
        raise ShapeError("np.pad: widths cannot be negative")
    return tuple([(int(a), int(b)) for a, b in pairs])
