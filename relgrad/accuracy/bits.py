"""Errors in bits: how many of the last bits of a float are wrong.

Source: Panchekha, Sanchez-Stern, Wilcox & Tatlock 2015, Automatically improving accuracy for floating point
expressions, section 2. Changed from the source: the distance is counted in units in the last place of the true
value, so that the error of 1e-300 for a true 0 is not called small, and that of the nearest float is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.balls.graph import Enclosure, nearest


def all_bits(dtype: Any) -> int:
    """Return the number of bits of a format: the error of what has nothing in common with the truth."""
    return 8 * np.dtype(dtype).itemsize


def bits_of_error(got: Any, truth: Enclosure, atol: float = 0.0) -> Any:
    """bits = log₂(|got − truth| / ulp(truth)) for each entry, between 0 and the number of bits of the format.

    NaN and infinities where the truth is finite are errors of all bits. Errors of at most `atol` count as none.
    The result is NaN where the truth is not settled. Shapes that differ are errors of all bits everywhere.
    """
    got = np.asarray(got)
    if got.shape != truth.balls.shape:
        return np.full(truth.balls.shape, float(all_bits(got.dtype)))
    flat = [
        _bits(x, ball, atol) if settled else np.nan
        for x, ball, settled in zip(got.flat, truth.balls.flat, truth.settled.flat, strict=True)
    ]
    return np.array(flat, dtype=float).reshape(got.shape)


def _bits(x: Any, truth: Any, atol: float) -> float:
    """(1 + 4·ε, 1 ± 0) → 2.0: the error of one entry in bits; all bits for NaN."""
    import flint

    most = float(all_bits(x.dtype))
    if x.dtype.kind != "f":
        return 0.0 if truth == int(x) else most
    with np.errstate(over="ignore"):
        rounded = x.dtype.type(nearest(truth))
    if not np.isfinite(x) or not np.isfinite(rounded):
        return 0.0 if x == rounded else most
    with flint.ctx.workprec(256):
        distance = abs(flint.arb(float(x)) - truth.mid())
        if distance.is_zero() or distance <= atol:
            return 0.0
        ulp = float(np.abs(np.spacing(rounded)))
        return min(max(log2(distance) - math.log2(ulp), 0.0), most)


def log2(ball: Any) -> float:
    """Return the binary logarithm of the midpoint of a positive ball, which no float may hold, nor its exponent."""
    man, exp = ball.mid().man_exp()
    return math.log2(int(man)) + float(min(max(int(exp), -(1 << 62)), 1 << 62))
