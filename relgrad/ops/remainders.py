"""What a cosine and others are away from their values at 0, as ops; their derivatives are plain functions."""

from __future__ import annotations

import numpy as np

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.types import NONNEGATIVE, Interval

__all__ = [
    "coshm1",
    "coversin",
    "vercos",
    "versin",
    "xlogx1p_minus_x",
]


_UP_TO_TWO = Interval(0.0, 2.0)

versin = elementwise(
    kernels.versin,
    lambda g, out, x: g * np.sin(x),
    range=_UP_TO_TWO,
    ball=lambda x: 2 * (x / 2).sin() ** 2,
)
vercos = elementwise(
    kernels.vercos,
    lambda g, out, x: -g * np.sin(x),
    range=_UP_TO_TWO,
    ball=lambda x: 2 * (x / 2).cos() ** 2,
)
coversin = elementwise(
    kernels.coversin,
    lambda g, out, x: -g * np.cos(x),
    range=_UP_TO_TWO,
    ball=lambda x: 1 - x.sin(),
)
coshm1 = elementwise(
    kernels.coshm1,
    lambda g, out, x: g * np.sinh(x),
    range=NONNEGATIVE,
    ball=lambda x: 2 * (x / 2).sinh() ** 2,
)
xlogx1p_minus_x = elementwise(
    kernels.xlogx1p_minus_x,
    lambda g, out, x: g * np.log1p(x),
    range=NONNEGATIVE,
    ball=lambda x: (1 + x) * x.log1p() - x if x != -1 else -x,
)
