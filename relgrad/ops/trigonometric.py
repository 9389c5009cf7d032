"""Circular functions and their inverses, and degrees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.contract import Laws
from relgrad.implementations import implements
from relgrad.ops.arithmetic import inverse_radius, one_minus_square
from relgrad.ops.elementwise import elementwise
from relgrad.ops.intervals import decreasing, increasing
from relgrad.ops.remainders import coversin, versin
from relgrad.types import Interval

# The floats next above π and π/2, which are not floats themselves.
_PI, _HALF_PI = math.nextafter(math.pi, 4), math.nextafter(math.pi / 2, 2)
_WAVE = Interval(-1.0, 1.0)
_RIGHT = Interval(-_HALF_PI, _HALF_PI, True, True)

sin = elementwise(
    np.sin,
    lambda g, out, x: g * np.cos(x),
    laws=Laws(parity=-1),
    range=_WAVE,
    ball=lambda x: x.sin(),
    word="sine",
    cancels="turns",
    complement=coversin,
)
cos = elementwise(
    np.cos,
    lambda g, out, x: -g * np.sin(x),
    laws=Laws(parity=1),
    range=_WAVE,
    ball=lambda x: x.cos(),
    tolerant=True,
    word="cosine",
    cancels="turns",
    complement=versin,
    alone=False,
)
tan = elementwise(
    np.tan,
    lambda g, out, x: g * (1.0 + out * out),
    laws=Laws(parity=-1),
    ball=lambda x: x.tan(),
    word="tangent",
    cancels="turns",
)
arcsin = elementwise(
    np.arcsin,
    lambda g, out, x: g / np.sqrt(one_minus_square(x)),
    laws=Laws(inverse="sin", monotone=1, parity=-1),
    range=increasing(np.arcsin, _RIGHT),
    ball=lambda x: x.asin(),
    outside=lambda x: np.logical_or(x < -1, x > 1),
    margin=lambda x: 1.0 - np.abs(x),
)
arccos = elementwise(
    np.arccos,
    lambda g, out, x: -g / np.sqrt(one_minus_square(x)),
    laws=Laws(inverse="cos", monotone=-1),
    range=decreasing(np.arccos, Interval(0.0, _PI), fixed=(1.0,)),
    ball=lambda x: x.acos(),
    outside=lambda x: np.logical_or(x < -1, x > 1),
    margin=lambda x: 1.0 - np.abs(x),
    from_one=lambda d, x: 2.0 * np.arctan2(np.sqrt(d), np.sqrt(2.0 - d)),
)
arctan = elementwise(
    np.arctan,
    lambda g, out, x: g / (1.0 + x * x),
    laws=Laws(inverse="tan", monotone=1, parity=-1),
    range=increasing(np.arctan, _RIGHT),
    ball=lambda x: x.atan(),
)


def _arctan2_rule(g: Any, x: Any, y: Any, along: Any) -> Any:
    """Return g·along/(x² + y²), where the square neither overflows nor vanishes."""
    r = inverse_radius(x, y)
    return g * (along * r) * r


arctan2 = elementwise(
    np.arctan2,
    lambda g, out, x, y: _arctan2_rule(g, x, y, y),
    lambda g, out, x, y: _arctan2_rule(-g, x, y, x),
    range=lambda x, y: (
        _RIGHT if y.positive else Interval(0.0 if x.nonnegative else -_PI, 0.0 if x.negative else _PI)
    ),
    ball=lambda x, y: type(x).atan2(x, y),
    strict=True,
    rough=(0, 1),
    signs=(0, 1),
)
deg2rad = elementwise(
    np.deg2rad,
    lambda g, out, x: g * (math.pi / 180),
    laws=Laws(inverse="rad2deg", linear=(0,), monotone=1, homomorphism=("add", "add")),
    range=increasing(np.deg2rad),
    ball=lambda x: x * x.pi() / 180,
)
rad2deg = elementwise(
    np.rad2deg,
    lambda g, out, x: g * (180 / math.pi),
    laws=Laws(inverse="deg2rad", linear=(0,), monotone=1, homomorphism=("add", "add")),
    range=increasing(np.rad2deg),
    ball=lambda x: x * 180 / x.pi(),
)
implements(np.radians)(deg2rad)
implements(np.degrees)(rad2deg)
