"""Functions less their values at 0, or at a quarter of a turn, where the difference would cancel.

Sources: R. W. Hamming, "Numerical Methods for Scientists and Engineers", 2nd ed., sections 3.3 and 3.4; NIST DLMF
4.21.27 (1 − cos x = 2·sin²(x/2)); C. Loader, "Fast and accurate computation of binomial probabilities", 2000 (x −
log(1 + x) as a series in x/(2 + x)).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.dispatch import entrywise

__all__ = [
    "coversin",
    "versin",
]


@entrywise
def versin(x: Any) -> Any:
    """1 − cos x = 2·sin²(x/2); within 2 ulp."""
    s = np.sin(x / 2)
    return 2 * s * s


@entrywise
def coversin(x: Any) -> Any:
    """1 − sin x = cos²x/(1 + sin x); within 3 ulp."""
    s, c = np.sin(x), np.cos(x)
    return np.where(s > 0, c * (c / (1 + s)), 1 - s)[()]


def log1p_gap(x: Any) -> Any:
    """x − log(1 + x), about x²/2, for |x| ≤ 0.6: r·(x − 2r²·Σ r²ᵏ/(2k + 3)) where r = x/(2 + x); within 4 ulp."""
    r = x / (2 + x)
    square = r * r
    total = np.zeros_like(r)
    for k in range(20, -1, -1):
        total = total * square + 1 / (2 * k + 3)
    return r * (x - 2 * square * total)
