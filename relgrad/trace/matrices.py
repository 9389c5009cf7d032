"""Functions of `scipy.linalg`, which are compiled, written in NumPy's: what stands in for them on traced arrays.

scipy.linalg.cho_solve((l, True), b)   ↦   solve(lᵀ, solve(l, b))
scipy.linalg.block_diag(a, b)          ↦   [[a, 0], [0, b]]

Options that say how to compute, and nothing of the result, are left out. Where a result is only determined up to signs
they are SciPy's, or it is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from relgrad.ops.creation import holds_symbolic
from relgrad.trace.refusal import refuse_because
from relgrad.trace.tracer import gathered


def _array(x: Any) -> Any:
    return gathered(x) if holds_symbolic(x) else np.asarray(x)


def _refuse(name: str, what: str, cure: str) -> NoReturn:
    """(expm, "several matrices", cure) → TraceError: that a function of scipy.linalg is not traced so."""
    cause = "what NumPy's functions compute is traced"
    refuse_because(f"scipy.linalg.{name} cannot be traced with {what}", cause=cause, cure=cure)


def _triangle(a: Any, lower: bool, unit_diagonal: bool = False) -> Any:
    x = np.tril(a) if lower else np.triu(a)
    return x if not unit_diagonal else x - np.diag(np.diag(x)) + np.eye(x.shape[-1])


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    """Return x with a·x = b, or aᵀ·x = b, of one triangle of a."""
    x = _triangle(_array(a), lower, unit_diagonal)
    return np.linalg.solve(x if trans in (0, "N") else x.T, _array(b))


def cholesky(a: Any, lower: bool = False, **options: Any) -> Any:
    """Return the triangle l with l·lᵀ = a, or its transpose."""
    x = np.linalg.cholesky(a if lower else np.transpose(a))
    return x if lower else x.T


def cho_solve(c_and_lower: Any, b: Any, **options: Any) -> Any:
    """Return x with a·x = b from the triangle of a."""
    c, lower = c_and_lower
    x = _triangle(c, lower)
    first, second = (x, x.T) if lower else (x.T, x)
    return np.linalg.solve(second, np.linalg.solve(first, _array(b)))


def eigenvalues(
    a: Any, b: Any = None, lower: bool = True, subset_by_index: Any = None, **options: Any
) -> Any:
    """Return λ with a·v = λ·v or a·v = λ·b·v, of one triangle of a symmetric matrix, ascending."""
    return _eigen("eigvalsh", a, b, lower, subset_by_index, options)[0]


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    subset_by_index: Any = None,
    **options: Any,
) -> Any:
    """Return the eigenvalues, and the eigenvectors v with vᵀ·b·v = 1."""
    if (b is None or not lower) and not eigvals_only:  # of other algorithms, with signs of theirs
        _refuse("eigh", "eigenvectors", "write np.linalg.eigh(a); or leave them out, with eigvals_only=True")
    values, vectors = _eigen("eigh", a, b, lower, subset_by_index, options)
    return values if eigvals_only else (values, vectors)


def _eigen(name: str, a: Any, b: Any, lower: bool, which: Any, options: Any) -> tuple[Any, Any]:
    """a·v = w·b·v → (w, v): eigenvalues and vectors of a, or of a and b, of one half; some of them."""
    if options.get("subset_by_value") is not None or options.get("type", 1) != 1:
        _refuse(name, "these options", "write np.linalg.eigh(a), and select of its results")
    half = _triangle(_array(a), lower)
    a = half + half.T - np.diag(np.diag(half))
    chosen = slice(None) if which is None else slice(which[0], which[1] + 1)
    if b is None:
        return np.linalg.eigvalsh(a)[chosen], None
    c = cholesky(_array(b), lower=True) if lower else cholesky(_array(b)).T
    values, y = np.linalg.eigh(np.linalg.solve(c, np.linalg.solve(c, a).T))
    return values[chosen], np.linalg.solve(c.T, y)[:, chosen]


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **options: Any) -> Any:
    """Return u, s, vᵀ with a = u·diag(s)·vᵀ, or s."""
    if options.get("lapack_driver", "gesdd") != "gesdd":
        _refuse("svd", "another driver", "leave it out")
    return np.linalg.svd(_array(a), full_matrices=full_matrices, compute_uv=compute_uv)


def qr(a: Any, *args: Any, mode: str = "full", pivoting: bool = False, **options: Any) -> Any:
    """Return q, r with q·r = a, or (r,)."""
    if pivoting or mode == "raw":
        _refuse("qr", "pivoting=True or mode='raw'", "leave it out")
    if mode == "r":
        return (np.linalg.qr(_array(a), mode="complete")[1],)
    return tuple(np.linalg.qr(_array(a), mode="complete" if mode == "full" else "reduced"))


def lu_factor(a: Any, *args: Any, **options: Any) -> Any:
    """Return both triangles of p·l·u = a in one array, without the ones of l, and which rows were swapped."""
    x = _array(a)
    n = len(x)
    swaps = np.arange(n)
    for k in range(n):
        swaps[k] = k + int(np.argmax(np.abs(x[k:, k])))
        rows = np.arange(n)
        rows[[k, swaps[k]]] = rows[[swaps[k], k]]
        x = x[rows]
        below = x[k + 1 :, k : k + 1] / x[k, k]
        rest = [x[k + 1 :, :k], below, x[k + 1 :, k + 1 :] - below * x[k, k + 1 :]]
        x = np.concatenate([x[: k + 1], np.concatenate(rest, axis=1)])
    return x, swaps.astype(np.int32)


def _permuted(swaps: Any) -> Any:
    rows = np.arange(len(swaps))
    for k, p in enumerate(swaps):
        rows[[k, int(p)]] = rows[[int(p), k]]
    return rows


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, **options: Any) -> Any:
    """Return x with a·x = b, or aᵀ·x = b, from the triangles of a."""
    x, swaps = lu_and_piv
    rows, b = _permuted(swaps), _array(b)
    if trans:
        y = solve_triangular(x, solve_triangular(x, b, trans=1), trans=1, lower=True, unit_diagonal=True)
        return y[np.argsort(rows)]
    return solve_triangular(x, solve_triangular(x, b[rows], lower=True, unit_diagonal=True))


def lu(a: Any, permute_l: bool = False, *args: Any, p_indices: bool = False, **options: Any) -> Any:
    """Return p, l, u with p·l·u = a, of a square matrix."""
    x, swaps = lu_factor(a)
    rows = _permuted(swaps)
    p = np.eye(len(x))[:, np.argsort(rows)].T
    lower, upper = _triangle(x, True, True), _triangle(x, False)
    if permute_l:
        return p @ lower, upper
    return np.argsort(rows) if p_indices else p, lower, upper


def block_diag(*arrs: Any) -> Any:
    """block_diag(a, b) = [[a, 0], [0, b]]: the matrix of blocks along its diagonal."""
    blocks = [np.atleast_2d(_array(x)) for x in arrs]
    width, left, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(np.pad(x, ((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return np.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return t with t[i, j] = c[i − j] below the diagonal, and r[j − i] above."""
    c = np.ravel(_array(c))
    r = c if r is None else np.ravel(_array(r))
    places = np.arange(len(c))[:, None] - np.arange(len(r))
    return np.concatenate([r[:0:-1], c])[places + len(r) - 1]


def hankel(c: Any, r: Any = None) -> Any:
    """Return h with h[i, j] = (c, r[1:])[i + j]; r is 0 where it is not given."""
    c = np.ravel(_array(c))
    r = np.zeros_like(c) if r is None else np.ravel(_array(r))
    return np.concatenate([c, r[1:]])[np.arange(len(c))[:, None] + np.arange(len(r))]


def circulant(c: Any) -> Any:
    """Return t with t[i, j] = c[i − j], modulo its length."""
    c = _array(c)
    n = len(c)
    return c[(np.arange(n)[:, None] - np.arange(n)) % n]


def _banded(below: int, above: int, ab: Any) -> Any:
    """Return the matrix a with a[i, j] = ab[above + i − j, j]."""
    n = ab.shape[1]
    kept = range(-min(below, n - 1), min(above, n - 1) + 1)
    return sum(np.diag(ab[above - k, max(k, 0) : n + min(k, 0)], k) for k in kept)


def solve_banded(l_and_u: Any, ab: Any, b: Any, *args: Any, **options: Any) -> Any:
    """Return x with a·x = b, of the diagonals of a."""
    below, above = l_and_u
    return np.linalg.solve(_banded(below, above, _array(ab)), _array(b))


def solveh_banded(ab: Any, b: Any, *args: Any, lower: bool = False, **options: Any) -> Any:
    """Return x with a·x = b, of the diagonals of a symmetric matrix on one side."""
    ab = _array(ab)
    width = len(ab) - 1
    half = _banded(width, 0, ab) if lower else _banded(0, width, ab)
    return np.linalg.solve(half + half.T - np.diag(np.diag(half)), _array(b))


def solve_toeplitz(c_or_cr: Any, b: Any, **options: Any) -> Any:
    """Return x with t·x = b, of the first column and row of t."""
    parts = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    return np.linalg.solve(toeplitz(*parts), _array(b))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return x with a·x + x·b = q."""
    a, b, q = map(_array, (a, b, q))
    both = np.kron(a, np.eye(len(b))) + np.kron(np.eye(len(a)), b.T)
    return np.linalg.solve(both, q.reshape(-1)).reshape(q.shape)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Return x with a·x + x·aᵀ = q."""
    a = _array(a)
    return solve_sylvester(a, a.T, q)


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Return x with a·x·aᵀ − x + q = 0."""
    a, q = _array(a), _array(q)
    return np.linalg.solve(np.eye(a.size) - np.kron(a, a), q.reshape(-1)).reshape(q.shape)


_PADE = [math.comb(13, k) * math.factorial(26 - k) // math.factorial(13) for k in range(14)]
"""Coefficients of the numerator of the Padé approximant of degree 13 to eˣ."""


def expm(A: Any) -> Any:
    """expm(a) = Σ aᵏ/k!, by a Padé approximant of a/2ˢ that is squared s times.

    Source: Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl.
    26, 2005, algorithm 2.3, with the degree 13 throughout.
    """
    a = _array(A)
    if a.ndim != 2:
        _refuse("expm", "several matrices", "write a loop, and np.stack of its results")
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


def _ignoring(function: Any, *names: str) -> Callable[..., Any]:
    """Return a function that leaves options out of a call."""
    return lambda *args, **kwargs: function(*args, **{k: v for k, v in kwargs.items() if k not in names})


_HOW = ("overwrite_a", "overwrite_b", "check_finite", "assume_a")
"""Options that say how to compute, and nothing of the result."""
_WRITTEN = (
    *(solve_triangular, cholesky, cho_solve, eigh, svd, qr, lu, lu_factor, lu_solve, block_diag, toeplitz),
    *(hankel, circulant, solve_banded, solveh_banded, solve_toeplitz, solve_sylvester, expm),
    *(solve_continuous_lyapunov, solve_discrete_lyapunov),
)
MATRICES: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in _WRITTEN},
    "cho_factor": lambda a, lower=False, **options: (cholesky(a, lower), lower),
    "eigvalsh": eigenvalues,
    "svdvals": lambda a, **options: svd(a, compute_uv=False),
    "pinv": lambda a, **options: np.linalg.pinv(_array(a), rtol=max(np.shape(a)) * np.finfo(float).eps),
    **{name: _ignoring(getattr(np.linalg, name), *_HOW) for name in ("solve", "inv", "det", "norm")},
}
"""What traces a function of `scipy.linalg`, by its name."""
