"""Roots of quadratic equations and sides of right triangles, as ops that are closed under differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.types import NONNEGATIVE

__all__ = [
    "hypot_excess",
    "leg",
    "quadratic_root",
    "radical",
    "sagitta",
]


def _root(w: Any, y: Any, e: Any) -> Any:
    return ((y * y + e * w).sqrt() - y) / w


def _margin(w: Any, y: Any, e: Any) -> Any:
    """Return a discriminant over its parts, which is near 0 where it cancels."""
    return (y * y + e * w) / (y * y + np.abs(e * w))


def _divided(x: Any, y: Any, limit: float = 0.0) -> Any:
    """Return x/y, and 0 where y is 0: at the origin directions are taken to be 0, or what has that limit."""
    return np.where(y == 0, limit, x / np.where(y == 0, 1.0, y))


radical = elementwise(
    kernels.radical,
    lambda g, out, w, y, e: g * _divided(0.5 * e, out),
    lambda g, out, w, y, e: g * _divided(y, out),
    lambda g, out, w, y, e: g * _divided(0.5 * w, out),
    range=NONNEGATIVE,
    ball=lambda w, y, e: (y * y + e * w).sqrt(),
    margin=_margin,
)
# w·r² + 2·y·r = e gives dr = (de − 2·r·dy − r²·dw)/(2·√(y² + e·w)), whose terms do not cancel.
quadratic_root = elementwise(
    kernels.quadratic_root,
    lambda g, out, w, y, e: -g * (0.5 * out * (out / radical(w, y, e))),
    lambda g, out, w, y, e: -g * (out / radical(w, y, e)),
    lambda g, out, w, y, e: g * (0.5 / radical(w, y, e)),
    ball=_root,
    margin=_margin,
)
leg = elementwise(
    kernels.leg,
    lambda g, out, x, y, d: g * (x / out),
    lambda g, out, x, y, d: -g * (y / out),
    None,
    range=NONNEGATIVE,
    ball=lambda x, y, d: (d * (2 * y + d)).sqrt(),
    margin=lambda x, y, d: 1.0 + _divided(y, x),
)
leg.distance = 0, 1, 2
hypot_excess = elementwise(
    kernels.hypot_excess,
    lambda g, out, x, y: g * _divided(x, np.hypot(x, y)),
    lambda g, out, x, y: -g * _divided(out, np.hypot(x, y), limit=1.0),
    range=NONNEGATIVE,
    ball=lambda x, y: (x * x + y * y).sqrt() - y,
    meaning=lambda x, y: np.hypot(x, y) - y,
    grows=True,
)
sagitta = elementwise(
    kernels.sagitta,
    lambda g, out, x, y: -g * (out / leg(x, y, x - y)),
    lambda g, out, x, y: g * (y / leg(x, y, x - y)),
    ball=lambda x, y: x - (x * x - y * y).sqrt(),
)
