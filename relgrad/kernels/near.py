"""Functions that are computed by their Taylor series near a point, and by a formula elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import arithmetic_kernel, floats

__all__ = [
    "near",
]


@arithmetic_kernel
def near(
    x: Any,
    point: float,
    radius: float,
    power: int,
    step: int,
    coefficients: Sequence[float],
    far: Callable[[Any], Any],
) -> Any:
    """f(x) = t^power · Σₖ coefficients[k]·t^(k·step) where t = x − point and |t| < radius, and far(x) elsewhere.

    Each is computed on its own entries only, in float64.

    >>> near(np.array([0.0, 1e-9, 2.0]), 0.0, 0.1, 0, 2, (1.0, -1 / 6, 1 / 120), lambda x: np.sin(x) / x)
    array([1.        , 1.        , 0.45464871])
    """
    (given,) = floats(x)
    x = np.asarray(given, np.float64)
    t = x - point
    inside = np.abs(t) < radius
    if not inside.any():
        return np.asarray(far(x)).astype(given.dtype)[()]
    if inside.all():
        out = polynomial(t, power, step, coefficients)
    else:
        out = np.empty_like(x)
        out[inside] = polynomial(t[inside], power, step, coefficients)
        out[~inside] = far(x[~inside])
    return out.astype(given.dtype)[()]


def polynomial(t: Any, power: int, step: int, coefficients: Sequence[float]) -> Any:
    """t^power·Σₖ coefficients[k]·t^(k·step), by Horner's rule; underflow is silent."""
    with np.errstate(all="ignore"):
        factor = t**step if len(coefficients) > 1 else t
        total = np.full_like(t, coefficients[-1])
        for c in coefficients[-2::-1]:
            total *= factor
            total += c
        # One factor at a time underflows no earlier than the result does.
        for _ in range(power):
            total = total * t
        return total
