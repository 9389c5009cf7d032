"""Functions less their first terms at 0, as ops; their derivatives are functions of this kind again."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.types import NONNEGATIVE, Interval

_UP_TO_TWO = Interval(0.0, 2.0)


def _odd(x: Interval) -> Interval:
    """An odd increasing function has the sign of its argument."""
    if x.nonnegative:
        return NONNEGATIVE
    return -NONNEGATIVE if x.high <= 0 else Interval()


def _square_over_root(x: Any, root: Any) -> Any:
    """1/√(1 ∓ x²) − 1 up to its sign, given the root."""
    return np.square(x) / (root * (1.0 + root))


versin = elementwise(
    "versin",
    kernels.versin,
    lambda g, out, x: g * np.sin(x),
    kernel=True,
    range=_UP_TO_TWO,
    ball=lambda x: 2 * (x / 2).sin() ** 2,
)
vercos = elementwise(
    "vercos",
    kernels.vercos,
    lambda g, out, x: -g * np.sin(x),
    kernel=True,
    range=_UP_TO_TWO,
    ball=lambda x: 2 * (x / 2).cos() ** 2,
)
coversin = elementwise(
    "coversin",
    kernels.coversin,
    lambda g, out, x: -g * np.cos(x),
    kernel=True,
    range=_UP_TO_TWO,
    ball=lambda x: 1 - x.sin(),
)
coshm1 = elementwise(
    "coshm1",
    kernels.coshm1,
    lambda g, out, x: g * np.sinh(x),
    kernel=True,
    range=NONNEGATIVE,
    ball=lambda x: 2 * (x / 2).sinh() ** 2,
)
x_minus_sin = elementwise(
    "x_minus_sin",
    kernels.x_minus_sin,
    lambda g, out, x: g * versin(x),
    kernel=True,
    range=_odd,
    ball=lambda x: x - x.sin(),
)
tan_minus_x = elementwise(
    "tan_minus_x",
    kernels.tan_minus_x,
    lambda g, out, x: g * np.square(np.tan(x)),
    kernel=True,
    ball=lambda x: x.tan() - x,
)
sinh_minus_x = elementwise(
    "sinh_minus_x",
    kernels.sinh_minus_x,
    lambda g, out, x: g * coshm1(x),
    kernel=True,
    range=_odd,
    ball=lambda x: x.sinh() - x,
)
x_minus_tanh = elementwise(
    "x_minus_tanh",
    kernels.x_minus_tanh,
    lambda g, out, x: g * np.square(np.tanh(x)),
    kernel=True,
    range=_odd,
    ball=lambda x: x - x.tanh(),
)
x_minus_arctan = elementwise(
    "x_minus_arctan",
    kernels.x_minus_arctan,
    lambda g, out, x: g * np.square(x / np.hypot(1.0, x)),
    kernel=True,
    range=_odd,
    ball=lambda x: x - x.atan(),
)
arcsin_minus_x = elementwise(
    "arcsin_minus_x",
    kernels.arcsin_minus_x,
    lambda g, out, x: g * _square_over_root(x, np.sqrt((1.0 - x) * (1.0 + x))),
    kernel=True,
    range=_odd,
    ball=lambda x: x.asin() - x,
)
x_minus_arcsinh = elementwise(
    "x_minus_arcsinh",
    kernels.x_minus_arcsinh,
    lambda g, out, x: g * _square_over_root(x, np.hypot(1.0, x)),
    kernel=True,
    range=_odd,
    ball=lambda x: x - x.asinh(),
)
arctanh_minus_x = elementwise(
    "arctanh_minus_x",
    kernels.arctanh_minus_x,
    lambda g, out, x: g * (np.square(x) / ((1.0 - x) * (1.0 + x))),
    kernel=True,
    range=_odd,
    ball=lambda x: x.atanh() - x,
)
expm1_minus_x = elementwise(
    "expm1_minus_x",
    kernels.expm1_minus_x,
    lambda g, out, x: g * np.expm1(x),
    kernel=True,
    range=NONNEGATIVE,
    ball=lambda x: x.expm1() - x,
)
expm1_minus_square = elementwise(
    "expm1_minus_square",
    kernels.expm1_minus_square,
    lambda g, out, x: g * expm1_minus_x(x),
    kernel=True,
    range=_odd,
    ball=lambda x: x.expm1() - x - x * x / 2,
)
coshm1_minus_square = elementwise(
    "coshm1_minus_square",
    kernels.coshm1_minus_square,
    lambda g, out, x: g * sinh_minus_x(x),
    kernel=True,
    range=NONNEGATIVE,
    ball=lambda x: x.cosh() - 1 - x * x / 2,
)
square_minus_versin = elementwise(
    "square_minus_versin",
    kernels.square_minus_versin,
    lambda g, out, x: g * x_minus_sin(x),
    kernel=True,
    range=NONNEGATIVE,
    ball=lambda x: x * x / 2 - 1 + x.cos(),
)
x_minus_log1p = elementwise(
    "x_minus_log1p",
    kernels.x_minus_log1p,
    lambda g, out, x: g * (x / (1.0 + x)),
    kernel=True,
    range=NONNEGATIVE,
    ball=lambda x: x - x.log1p(),
)
sin_minus_xcos = elementwise(
    "sin_minus_xcos",
    kernels.sin_minus_xcos,
    lambda g, out, x: g * (x * np.sin(x)),
    kernel=True,
    ball=lambda x: x.sin() - x * x.cos(),
)
xlogx1p_minus_x = elementwise(
    "xlogx1p_minus_x",
    kernels.xlogx1p_minus_x,
    lambda g, out, x: g * np.log1p(x),
    kernel=True,
    range=NONNEGATIVE,
    ball=lambda x: (1 + x) * x.log1p() - x if x != -1 else -x,
)
log_cos = elementwise(
    "log_cos",
    kernels.log_cos,
    lambda g, out, x: -g * np.tan(x),
    kernel=True,
    range=-NONNEGATIVE,
    ball=lambda x: x.cos().log(),
)
