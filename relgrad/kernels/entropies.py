"""Kernels of information theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.dispatch import entrywise

__all__ = [
    "xlog_ratio",
]


@entrywise
def xlog_ratio(x: Any, y: Any) -> Any:
    """x·log(x/y), and 0 where x is, whatever y; near x = y the ratio is not rounded.

    >>> xlog_ratio(np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    array([0., 0., 0.])

    Source: scipy.special.rel_entr; changed from the source: two negative numbers have a ratio too.
    """
    x, y = np.broadcast_arrays(x, y)
    distance = (x - y) / y
    ratio = x / y
    far = np.where((ratio > 0) & np.isfinite(ratio), np.log(ratio), np.log(np.abs(x)) - np.log(np.abs(y)))
    far = np.where((x < 0) != (y < 0), np.nan, far)
    log = np.where(np.abs(distance) < 0.5, np.log1p(distance), far)
    return np.where(x == 0, np.where(np.isnan(y), y, 0), x * log)[()]
