"""What is left of a function when its first terms are taken off at 0, where those terms would cancel.

Near 0 a remainder x·∫₀¹ r(xs) ds is integrated from its derivative r, which has no zero but 0, with Gauss-Legendre
quadrature; elsewhere nothing cancels and it is computed as it stands.

Sources: R. W. Hamming, "Numerical Methods for Scientists and Engineers", 2nd ed., sections 3.3 and 3.4; NIST DLMF
4.21.27 (1 − cos x = 2·sin²(x/2)).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, kernel


@lru_cache
def gauss_legendre(points: int) -> list[tuple[float, float]]:
    """Return nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def _integrated(x: Any, slope: Callable[[Any], Any]) -> Any:
    total = np.zeros_like(x)
    for s, weight in gauss_legendre(20):
        total += weight * slope(x * s)
    return x * total


def _remainder(
    x: Any, low: float, high: float, slope: Callable[[Any], Any], plain: Callable[[Any], Any]
) -> Any:
    (given,) = floats(x)
    x = np.asarray(given, np.float64)
    near = (x > low) & (x < high)
    out = np.empty_like(x)
    out[near] = _integrated(x[near], slope)
    out[~near] = plain(x[~near])
    return out.astype(given.dtype)[()]


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


def _rooted(square: Any, root: Any) -> Any:
    return square / (root * (1 + root))


@kernel
def x_minus_sin(x: Any) -> Any:
    """x − sin x, about x³/6; within 4 ulp."""
    return _remainder(x, -1.5, 1.5, versin, lambda x: x - np.sin(x))


@kernel
def tan_minus_x(x: Any) -> Any:
    """tan x − x, about x³/3; within 4 ulp."""
    return _remainder(x, -1, 1, lambda t: np.square(np.tan(t)), lambda x: np.tan(x) - x)


@kernel
def sinh_minus_x(x: Any) -> Any:
    """sinh x − x, about x³/6; within 4 ulp."""
    return _remainder(x, -1.5, 1.5, coshm1, lambda x: np.sinh(x) - x)


@kernel
def x_minus_tanh(x: Any) -> Any:
    """x − tanh x, about x³/3; within 4 ulp."""
    return _remainder(x, -1, 1, lambda t: np.square(np.tanh(t)), lambda x: x - np.tanh(x))


@kernel
def x_minus_arctan(x: Any) -> Any:
    """x − arctan x, about x³/3; within 4 ulp."""
    return _remainder(x, -1, 1, lambda t: t * t / (1 + t * t), lambda x: x - np.arctan(x))


@kernel
def arcsin_minus_x(x: Any) -> Any:
    """arcsin x − x, about x³/6; within 8 ulp."""
    slope = lambda t: _rooted(t * t, np.sqrt((1 - t) * (1 + t)))
    return _remainder(x, -0.6, 0.6, slope, lambda x: np.arcsin(x) - x)


@kernel
def x_minus_arcsinh(x: Any) -> Any:
    """x − arcsinh x, about x³/6; within 8 ulp."""
    slope = lambda t: _rooted(t * t, np.sqrt(1 + t * t))
    return _remainder(x, -1, 1, slope, lambda x: x - np.arcsinh(x))


@kernel
def arctanh_minus_x(x: Any) -> Any:
    """arctanh x − x, about x³/3; within 8 ulp."""
    return _remainder(x, -0.6, 0.6, lambda t: t * t / ((1 - t) * (1 + t)), lambda x: np.arctanh(x) - x)


@kernel
def expm1_minus_x(x: Any) -> Any:
    """eˣ − 1 − x, about x²/2; within 4 ulp."""
    return _remainder(x, -1, 1, np.expm1, lambda x: np.expm1(x) - x)


@kernel
def x_minus_log1p(x: Any) -> Any:
    """x − log(1 + x), about x²/2; within 4 ulp."""
    return _remainder(x, -0.5, 1, lambda t: t / (1 + t), lambda x: x - np.log1p(x))
