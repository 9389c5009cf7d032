"""What a cosine and others are away from their values at 0, as ops; their derivatives are plain functions."""

from __future__ import annotations

import numpy as np

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.ops.elementwise import elementwise
from relgrad.types import Interval

__all__ = [
    "coversin",
    "versin",
]


_UP_TO_TWO = Interval(0.0, 2.0)

versin = elementwise(
    kernels.versin,
    lambda g, out, x: g * np.sin(x),
    laws=Laws(parity=1),
    range=_UP_TO_TWO,
    ball=lambda x: 2 * (x / 2).sin() ** 2,
    complement=lambda x: np.cos(x),
    cancels="turns",
)
coversin = elementwise(
    kernels.coversin,
    lambda g, out, x: -g * np.cos(x),
    range=_UP_TO_TWO,
    ball=lambda x: 1 - x.sin(),
    complement=lambda x: np.sin(x),
    cancels="turns",
)
