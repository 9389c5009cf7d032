"""Elementwise functions of probabilities, of which some may be zero."""

from __future__ import annotations

from typing import Any

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.ops.stable import xdivy, xlogy

__all__ = [
    "xlog_ratio",
]


def _ball(x: Any, y: Any) -> Any:
    return x if x.is_zero() else x * (x / y).log()


xlog_ratio = elementwise(
    kernels.xlog_ratio,
    lambda g, out, x, y: xlogy(g, x / y) + g,
    lambda g, out, x, y: -xdivy(g * x, y),
    ball=_ball,
    cancels="zeros",
    rough=(0, 1),
    zero_log=lambda x, y: x == 0,
)
