"""Logarithms of functions over their arguments, which vanish at zero where the quotients are one.

Sources: NIST DLMF 4.33; Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 1.14.1.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import entrywise

__all__ = [
    "log_exprel",
]


_SINHC = tuple([1 / factorial(2 * k + 3) for k in range(9)])
"""(sinh(x)/x − 1)/x² in powers of x²."""


def _near(x: Any) -> Any:
    """log(sinh(x)/x) for |x| < 1."""
    square = x * x
    total = np.zeros_like(x)
    for c in _SINHC[::-1]:
        total = total * square + c
    return np.log1p(total * square)


@entrywise
def log_exprel(x: Any) -> Any:
    """log((eˣ − 1)/x), about x/2; within 4 ulp.

    >>> log_exprel(np.array([0.0, 1e-9, 1e4]))
    array([0.00000000e+00, 5.00000000e-10, 9.99078966e+03])
    """
    near = np.abs(x) < 1
    half, a = np.where(near, x, 0) / 2, np.where(near, 1, np.abs(x))
    # eˣ − 1 is eˣ·(1 − e⁻ˣ), where that may overflow.
    far = np.maximum(x, 0) + (np.log(-np.expm1(-a)) - np.log(a))
    return np.where(near, half + _near(half), far)[()]
