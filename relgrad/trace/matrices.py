"""Functions of `scipy.linalg` and `scipy.spatial.distance`, which are compiled, written in NumPy's: what stands in for
them on traced arrays.

scipy.linalg.cho_solve((l, True), b)   ↦   solve(lᵀ, solve(l, b))
scipy.linalg.block_diag(a, b)          ↦   [[a, 0], [0, b]]
scipy.spatial.distance.cdist(x, y)     ↦   ‖x[i] − y[j]‖

Options that say how to compute, and nothing of the result, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.ops.creation import holds_symbolic
from relgrad.trace.refusal import refuse_because
from relgrad.trace.tracer import gathered


def arrayed(x: Any) -> Any:
    """[x, 1] → the traced array of them, [2, 1] → array([2, 1])"""
    return gathered(x) if holds_symbolic(x) else np.asarray(x)


def _triangle(a: Any, lower: bool, unit_diagonal: bool = False) -> Any:
    x = np.tril(a) if lower else np.triu(a)
    return x if not unit_diagonal else x - np.diag(np.diag(x)) + np.eye(x.shape[-1])


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    """Return x with a·x = b, or aᵀ·x = b, of one triangle of a."""
    x = _triangle(arrayed(a), lower, unit_diagonal)
    return np.linalg.solve(x if trans in (0, "N") else x.T, arrayed(b))


def cholesky(a: Any, lower: bool = False, **options: Any) -> Any:
    """Return the triangle l with l·lᵀ = a, or its transpose."""
    x = np.linalg.cholesky(a if lower else np.transpose(a))
    return x if lower else x.T


def cho_solve(c_and_lower: Any, b: Any, **options: Any) -> Any:
    """Return x with a·x = b from the triangle of a."""
    c, lower = c_and_lower
    x = _triangle(c, lower)
    first, second = (x, x.T) if lower else (x.T, x)
    return np.linalg.solve(second, np.linalg.solve(first, arrayed(b)))


def block_diag(*arrs: Any) -> Any:
    """block_diag(a, b) = [[a, 0], [0, b]]: the matrix of blocks along its diagonal."""
    blocks = [np.atleast_2d(arrayed(x)) for x in arrs]
    width, left, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(np.pad(x, ((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return np.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return t with t[i, j] = c[i − j] below the diagonal, and r[j − i] above."""
    c = np.ravel(arrayed(c))
    r = c if r is None else np.ravel(arrayed(r))
    places = np.arange(len(c))[:, None] - np.arange(len(r))
    return np.concatenate([r[:0:-1], c])[places + len(r) - 1]


def hankel(c: Any, r: Any = None) -> Any:
    """Return h with h[i, j] = (c, r[1:])[i + j]; r is 0 where it is not given."""
    c = np.ravel(arrayed(c))
    r = np.zeros_like(c) if r is None else np.ravel(arrayed(r))
    return np.concatenate([c, r[1:]])[np.arange(len(c))[:, None] + np.arange(len(r))]


def circulant(c: Any) -> Any:
    """Return t with t[i, j] = c[i − j], modulo its length."""
    c = arrayed(c)
    n = len(c)
    return c[(np.arange(n)[:, None] - np.arange(n)) % n]


_PADE = [math.comb(13, k) * math.factorial(26 - k) // math.factorial(13) for k in range(14)]
"""Coefficients of the numerator of the Padé approximant of degree 13 to eˣ."""


def expm(A: Any) -> Any:
    """expm(a) = Σ aᵏ/k!, by a Padé approximant of a/2ˢ that is squared s times.

    Source: Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl.
    26, 2005, algorithm 2.3, with the degree 13 throughout.
    """
    a = arrayed(A)
    if a.ndim != 2:
        refuse_because(
            "scipy.linalg.expm cannot be traced with several matrices",
            cause="what NumPy's functions compute is traced",
            cure="write a loop, and np.stack of its results",
        )
    size = np.max(np.sum(np.abs(a), axis=0))
    halvings = max(int(np.ceil(np.log2(size / 5.371920351148152))), 0) if size > 0 else 0
    a = a / 2**halvings
    b, one = [float(c) for c in _PADE], np.eye(len(a), dtype=a.dtype)
    a2 = a @ a
    a4, a6 = a2 @ a2, a2 @ a2 @ a2
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    x = np.linalg.solve(even - odd, even + odd)
    for _ in range(halvings):
        x = x @ x
    return x


_METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": lambda x, y: np.linalg.norm(x - y, axis=-1),
    "sqeuclidean": lambda x, y: np.sum((x - y) ** 2, axis=-1),
    "cityblock": lambda x, y: np.sum(np.abs(x - y), axis=-1),
    "chebyshev": lambda x, y: np.max(np.abs(x - y), axis=-1),
    "minkowski": lambda x, y, p=2: np.linalg.norm(x - y, p, axis=-1),
    "cosine": lambda x, y: (
        1 - np.sum(x * y, axis=-1) / (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1))
    ),
}
"""Distances of vectors along the last axis, by their names."""


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **options: Any) -> Any:
    """Return d with d[i, j] the distance of XA[i] and XB[j]."""
    if metric not in _METRICS:
        refuse_because(
            f"distances of the metric {metric!r} cannot be traced",
            cause="SciPy's code of them is compiled",
            cure=f"use one of {', '.join(map(repr, _METRICS))}, or write the distance with NumPy",
        )
    return _METRICS[metric](arrayed(XA)[:, None], arrayed(XB)[None], **options)


def pdist(X: Any, metric: Any = "euclidean", **options: Any) -> Any:
    """Return the distances of X[i] and X[j] for all i < j."""
    return cdist(X, X, metric, **options)[np.triu_indices(len(X), 1)]


def _ignoring(function: Any, *names: str) -> Callable[..., Any]:
    """Return a function that leaves options out of a call."""
    return lambda *args, **kwargs: function(*args, **{k: v for k, v in kwargs.items() if k not in names})


_HOW = ("overwrite_a", "overwrite_b", "check_finite", "assume_a")
"""Options that say how to compute, and nothing of the result."""
_WRITTEN = (solve_triangular, cholesky, cho_solve, block_diag, toeplitz, hankel, circulant, expm)
MATRICES: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in _WRITTEN},
    "cho_factor": lambda a, lower=False, **options: (cholesky(a, lower), lower),
    "svdvals": lambda a, **options: np.linalg.svdvals(arrayed(a)),
    "pinv": lambda a, **options: np.linalg.pinv(arrayed(a), rtol=max(np.shape(a)) * np.finfo(float).eps),
    **{name: _ignoring(getattr(np.linalg, name), *_HOW) for name in ("solve", "inv", "det", "norm")},
}
"""What traces a function of `scipy.linalg`, by its name."""
COMPILED = {"scipy.linalg": MATRICES, "scipy.spatial.distance": {"cdist": cdist, "pdist": pdist}}
"""And what traces functions of modules."""
