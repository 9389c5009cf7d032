"""Large arrays, which constants hold without copying them: whether one changed in place while a function was traced."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from relgrad.errors import TraceError


class _Held(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[int, tuple[np.ndarray, int]] | None = None


_held = _Held()


def hold(array: np.ndarray) -> None:
    """Remember the entries of an array that a constant holds, if a function is being traced."""
    if _held.arrays is not None and id(array) not in _held.arrays:
        _held.arrays[id(array)] = array, _sum(array)


def _sum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


@contextmanager
def unchanged_arrays(where: str | None) -> Iterator[None]:
    """sum(before) ≠ sum(after) → TraceError: no array may be changed in place once a constant holds it, until the trace
    ends.

    The outermost trace asks.
    """
    if _held.arrays is not None:
        yield
        return
    _held.arrays = arrays = {}
    try:
        yield
        for array, before in arrays.values():
            if _sum(array) != before:
                raise TraceError(
                    f"an array of shape {array.shape} was changed in place after a traced array met it",
                    where=where,
                    cause="large arrays are part of the program as they are, and the program runs after the trace",
                    cure="copy it where it meets the traced array, x + a.copy(), or write a = a + 1 instead of a += 1",
                )
    finally:
        _held.arrays = None
