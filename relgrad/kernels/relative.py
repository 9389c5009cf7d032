"""Logarithms of functions over their arguments, which vanish at zero where the quotients are one.

Sources: NIST DLMF 4.19, 4.33; Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 1.14.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, kernel
from relgrad.kernels.quotients import exprel2_n, sinc_gap_n, sinhc3_n


@kernel
def log_exprel(x: Any) -> Any:
    """log((eˣ − 1)/x), about x/2; within 4 ulp.

    >>> log_exprel(np.array([0.0, 1e-9, 1e4]))
    array([0.00000000e+00, 5.00000000e-10, 9.99078966e+03])
    """
    (x,) = floats(x)
    near = np.abs(x) < 1
    small, a = np.where(near, x, 0), np.where(near, 1, np.abs(x))
    # eˣ − 1 is eˣ·(1 − e⁻ˣ), where that may overflow.
    far = np.maximum(x, 0) + (np.log(-np.expm1(-a)) - np.log(a))
    return np.where(near, np.log1p(small * exprel2_n(small, 0)), far)[()]


@kernel
def log_sinhc(x: Any) -> Any:
    """log(sinh(x)/x), about x²/6; within 4 ulp."""
    (x,) = floats(x)
    a = np.abs(x)
    near = a < 1
    small, large = np.where(near, x, 0), np.where(near, 1, a)
    far = large + (np.log(-np.expm1(-2 * large)) - np.log(2 * large))
    return np.where(near, np.log1p(small * small * sinhc3_n(small, 0)), far)[()]


@kernel
def log_sinc(x: Any) -> Any:
    """log(sin(x)/x), about −x²/6; NaN where the quotient is negative; within 4 ulp."""
    (x,) = floats(x)
    near = np.abs(x) < 1
    small, large = np.where(near, x, 0), np.where(near, 1, x)
    return np.where(near, np.log1p(-sinc_gap_n(small, 0)), np.log(np.sin(large) / large))[()]
