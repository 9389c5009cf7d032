"""Beta functions: ratios of gamma functions, which may be close to each other, and large."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from relgrad.kernels.dispatch import ranged

__all__ = [
    "beta",
    "betaln",
]


def _are_no_poles(*operands: Any) -> Any:
    """(0.5, 2) → True, (−1, 2) → False: where an infinite result is so in floats alone."""
    return np.logical_and.reduce(
        [np.isfinite(x) & ((x > 0) | (x % 1 != 0)) for x in np.broadcast_arrays(*operands)]
    )


@ranged(_are_no_poles, "vanishes")
def betaln(x: Any, y: Any) -> Any:
    """log|B(x, y)| within 32 ulp, where SciPy's loses as many bits as the larger argument has.

    >>> betaln(1e12, 1e-3) - betaln(1e12, 2e-3)
    np.float64(0.7213529527404221)
    """
    return _by_distance(x, y, scipy.special.betaln, scipy.special.gammaln, np.subtract, np.positive)


@ranged(_are_no_poles, "vanishes")
def beta(x: Any, y: Any) -> Any:
    """B(x, y) = Γ(x)·Γ(y)/Γ(x + y).

    >>> beta(1e12, 1e-3) / beta(1e12, 2e-3)
    np.float64(2.0572146428351146)
    """
    over_power = lambda value, log: value * np.exp(-log)
    return _by_distance(x, y, scipy.special.beta, scipy.special.gamma, over_power, np.exp)


def _by_distance(x: Any, y: Any, plain: Any, of_gamma: Any, over: Any, of_log: Any) -> Any:
    """Γ(b) over Γ(a + b)/Γ(a), a ≥ b > 0, where a is large; by Stirling's series where b is, too; `plain` elsewhere."""
    value, above, below = plain(x, y), np.maximum(x, y), np.minimum(x, y)
    known = (below > 0) & (above > LARGE) & (above < 1e300)
    if not known.any():
        return value
    a, b = (np.where(known, z, LARGE).astype(np.float64) for z in (above, below))
    apart = over(of_gamma(np.minimum(b, LARGE)), _log_ratio(a + b, a, b))
    log = (b - 0.5) * np.log(b / (a + b)) - a * np.log1p(b / a) - 0.5 * np.log(a / (2 * np.pi))
    log += _stirling(a) + _stirling(b) - _stirling(a + b)
    return np.where(known, np.where(b > LARGE, of_log(log), apart), value).astype(value.dtype)[()]


LARGE = 16
"""Above it five terms of Stirling's series are exact in floats."""


def _log_ratio(x: Any, y: Any, d: Any) -> Any:
    """log Γ(x)/Γ(y) = (y − ½)·log(x/y) + d·log x − d + s(x) − s(y), d = x − y, with Stirling's series s."""
    relative = np.where(np.abs(d) < y / 2, np.log1p(d / y), np.log(x / y))
    return (y - 0.5) * relative + d * (np.log(x) - 1) + (_stirling(x) - _stirling(y))


def _stirling(x: Any) -> Any:
    """Σ B₂ₖ/(2k·(2k − 1)·x^(2k−1)). Source: NIST DLMF 5.11.1."""
    u = 1 / (x * x)
    return (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u / 1188)))) / x
