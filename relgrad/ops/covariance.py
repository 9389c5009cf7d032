"""Covariances and correlations of several variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.ops.arguments import is_symbolic
from relgrad.ops.derived import array, derived, floating


@derived(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """cov(x)ᵢⱼ = Σₖ wₖ·(xᵢₖ − x̄ᵢ)·(xⱼₖ − x̄ⱼ) / (Σw − ddof·Σwa/Σw), with a = 1 or the weights `aweights`:
    traces `np.cov`.
    """
    X = _variables(m, rowvar, np.ndim(m) == 1)
    if len(X) == 0:
        return np.zeros((0, 0))
    if y is not None:
        other = np.atleast_2d(array(y))
        X = np.concatenate((X, _variables(y, rowvar, len(other) == 1)))
    X = X.astype(np.result_type(X.dtype, np.float64) if dtype is None else dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    a, f = (None if w is None else _weights(w, X.shape[1]) for w in (aweights, fweights))
    if f is not None and not is_symbolic(f):
        np.cov(np.zeros(len(f)), fweights=f, ddof=0)  # raises TypeError where they are no integers
    w = a if f is None else f if a is None else f * a
    if w is None:
        total, reach = X.shape[1], 1.0
    else:
        total = np.sum(w)
        reach = 1.0 if a is None else np.sum(w * a) / total
    left = X - np.average(X, axis=1, weights=w, keepdims=True)
    right = left if w is None else left * w
    n = total - ddof * reach
    n = np.maximum(n, 0.0) if is_symbolic(n) else max(float(n), 0.0)
    return np.squeeze(left @ right.T / n)


def _variables(x: Any, rowvar: bool, row: bool) -> Any:
    """(3,) → (1, 3), X with rowvar = False → Xᵀ: a matrix of which each row is a variable.

    A vector is one variable, whatever `rowvar` says.
    """
    x = array(x)
    if x.ndim > 2:
        raise ShapeError(f"np.cov takes vectors and matrices, not an array of shape {x.shape}")
    x = np.atleast_2d(x)
    return x if rowvar or row else x.T


def _weights(w: Any, n: int) -> Any:
    w = floating(w)
    if w.shape != (n,):
        raise ShapeError(f"np.cov: weights of shape {w.shape} for {n} observations")
    return w
