"""What is left of a function when its first terms are taken off at 0, where those terms would cancel.

Near 0 the Taylor series of a remainder is summed, whose coefficients are exact fractions; elsewhere nothing cancels
and it is computed as it stands.

Sources: R. W. Hamming, "Numerical Methods for Scientists and Engineers", 2nd ed., sections 3.3 and 3.4; NIST DLMF
4.21.27 (1 − cos x = 2·sin²(x/2)).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels.dispatch import floats, kernel
from relgrad.kernels.jets import At, Jet, value_at_zero

Program = Callable[[At], Jet]

_JETS: dict[str, Program] = {}


@lru_cache
def _series(name: str, start: int, step: int, terms: int) -> tuple[float, ...]:
    """Taylor coefficients at 0, every `step`-th from the power `start` on."""
    jet = _JETS[name](At(Fraction(0), start + step * terms, value_at_zero)).c
    return tuple(float(jet[start + step * n]) for n in range(terms))


def _remainder(
    name: str,
    says: str,
    width: float,
    powers: tuple[int, int],
    terms: int,
    jet: Program,
    plain: Callable[[Any], Any],
) -> Callable[..., Any]:
    """Make the kernel of a remainder: so many terms of its series for |x| < width, the formula elsewhere.

    `powers` are the first power of x in the series and their step.
    """
    _JETS[name] = jet
    start, step = powers

    def compute(x: Any) -> Any:
        (given,) = floats(x)
        x = np.asarray(given, np.float64)
        near = np.abs(x) < width
        out = np.empty_like(x)
        t = x[near]
        square = t * t
        total = np.zeros_like(t)
        for c in _series(name, start, step, terms)[::-1]:
            total = total * (t if step == 1 else square) + c
        out[near] = total * {2: square, 3: square * t, 4: square * square}[start]
        out[~near] = plain(x[~near])
        return out.astype(given.dtype)[()]

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"{says}; within 4 ulp."
    return kernel(compute)


@kernel
def versin(x: Any) -> Any:
    """1 − cos x = 2·sin²(x/2); within 2 ulp."""
    (x,) = floats(x)
    s = np.sin(x / 2)
    return 2 * s * s


@kernel
def vercos(x: Any) -> Any:
    """1 + cos x = 2·cos²(x/2); within 2 ulp."""
    (x,) = floats(x)
    c = np.cos(x / 2)
    return 2 * c * c


@kernel
def coversin(x: Any) -> Any:
    """1 − sin x = cos²x/(1 + sin x); within 3 ulp."""
    (x,) = floats(x)
    s, c = np.sin(x), np.cos(x)
    return np.where(s > 0, c * (c / (1 + s)), 1 - s)[()]


@kernel
def coshm1(x: Any) -> Any:
    """cosh x − 1 = 2·sinh²(x/2); within 3 ulp."""
    (x,) = floats(x)
    s = np.sinh(x / 2)
    return s * (2 * s)


x_minus_sin = _remainder(
    "x_minus_sin", "x − sin x, about x³/6", 1.5, (3, 2), 12, lambda f: f.t - f.sin(), lambda x: x - np.sin(x)
)
tan_minus_x = _remainder(
    "tan_minus_x",
    "tan x − x, about x³/3",
    1,
    (3, 2),
    44,
    lambda f: f.sin() / f.cos() - f.t,
    lambda x: np.tan(x) - x,
)
sinh_minus_x = _remainder(
    "sinh_minus_x",
    "sinh x − x, about x³/6",
    1.5,
    (3, 2),
    12,
    lambda f: f.sinh() - f.t,
    lambda x: np.sinh(x) - x,
)
x_minus_tanh = _remainder(
    "x_minus_tanh",
    "x − tanh x, about x³/3",
    1,
    (3, 2),
    44,
    lambda f: f.t - f.sinh() / f.cosh(),
    lambda x: x - np.tanh(x),
)
x_minus_arctan = _remainder(
    "x_minus_arctan",
    "x − arctan x, about x³/3",
    0.8,
    (3, 2),
    80,
    lambda f: f.t - f.arctan(),
    lambda x: x - np.arctan(x),
)
arcsin_minus_x = _remainder(
    "arcsin_minus_x",
    "arcsin x − x, about x³/6",
    0.8,
    (3, 2),
    80,
    lambda f: f.arcsin() - f.t,
    lambda x: np.arcsin(x) - x,
)
x_minus_arcsinh = _remainder(
    "x_minus_arcsinh",
    "x − arcsinh x, about x³/6",
    0.8,
    (3, 2),
    80,
    lambda f: f.t - f.arcsinh(),
    lambda x: x - np.arcsinh(x),
)
arctanh_minus_x = _remainder(
    "arctanh_minus_x",
    "arctanh x − x, about x³/3",
    0.8,
    (3, 2),
    80,
    lambda f: f.arctanh() - f.t,
    lambda x: np.arctanh(x) - x,
)
expm1_minus_x = _remainder(
    "expm1_minus_x",
    "eˣ − 1 − x, about x²/2",
    1,
    (2, 1),
    18,
    lambda f: f.expm1() - f.t,
    lambda x: np.expm1(x) - x,
)
expm1_minus_square = _remainder(
    "expm1_minus_square",
    "eˣ − 1 − x − x²/2, about x³/6",
    1.5,
    (3, 1),
    20,
    lambda f: f.expm1() - f.t - f.t * f.t * Fraction(1, 2),
    lambda x: np.expm1(x) - x - x * x / 2,
)
coshm1_minus_square = _remainder(
    "coshm1_minus_square",
    "cosh x − 1 − x²/2, about x⁴/24",
    2,
    (4, 2),
    14,
    lambda f: f.cosh() - 1 - f.t * f.t * Fraction(1, 2),
    lambda x: coshm1(x) - x * x / 2,
)
square_minus_versin = _remainder(
    "square_minus_versin",
    "x²/2 − 1 + cos x, about x⁴/24",
    2,
    (4, 2),
    14,
    lambda f: f.cos() - 1 + f.t * f.t * Fraction(1, 2),
    lambda x: x * x / 2 - versin(x),
)
x_minus_log1p = _remainder(
    "x_minus_log1p",
    "x − log(1 + x), about x²/2",
    0.6,
    (2, 1),
    76,
    lambda f: f.t - f.log1p(),
    lambda x: x - np.log1p(x),
)
sin_minus_xcos = _remainder(
    "sin_minus_xcos",
    "sin x − x·cos x, about x³/3",
    1.5,
    (3, 2),
    14,
    lambda f: f.sin() - f.t * f.cos(),
    lambda x: np.sin(x) - x * np.cos(x),
)
xlogx1p_minus_x = _remainder(
    "xlogx1p_minus_x",
    "(1 + x)·log(1 + x) − x, about x²/2",
    0.6,
    (2, 1),
    76,
    lambda f: (f.t + 1) * f.log1p() - f.t,
    lambda x: scipy.special.xlog1py(1 + x, x) - x,
)


@kernel
def log_cos(x: Any) -> Any:
    """log cos x = log(1 − 2·sin²(x/2)) where the cosine is above one half; within 4 ulp."""
    (x,) = floats(x)
    c, s = np.cos(x), np.sin(x / 2)
    return np.where(c > 0.5, np.log1p(-2 * s * s), np.log(c))[()]
