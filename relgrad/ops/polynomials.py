"""Polynomials as NumPy writes them, as vectors of coefficients with the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.ops.derived import array, derived


@derived(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """polyint([a, b]) = [a/2, b, k]: traces `np.polyint`: the m-th integral, with constants of integration."""
    p, m = array(p), operator.index(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(array(k))
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if len(constants) < m:
        raise ShapeError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        p = np.concatenate((p / np.arange(len(p), 0, -1), constants[i : i + 1]))
    return p


@derived(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """vander(x)[i, j] = xᵢ^(n − 1 − j): traces `np.vander`, the highest power first."""
    x = array(x)
    if x.ndim != 1:
        raise ShapeError("x must be a one-dimensional array or sequence.")
    x = x.astype(np.result_type(x.dtype, int))
    count = len(x) if N is None else operator.index(N)
    if count <= 0:
        return np.zeros((len(x), 0), x.dtype)
    products = np.cumprod(np.broadcast_to(x[:, None], (len(x), count - 1)), axis=1)
    powers = np.concatenate((np.ones_like(x)[:, None], products), axis=1)
    return powers if increasing else powers[:, ::-1]
