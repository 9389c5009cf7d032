"""Kernels of linear algebra that NumPy lacks: scaled norms, unit vectors, cofactors, embedded diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.dispatch import arithmetic_kernel, floats, kernel
from relgrad.kernels.eft import two_product
from relgrad.kernels.index import leave_one_out_prod
from relgrad.kernels.roots import product_difference

__all__ = [
    "cauchy",
    "cofactor",
    "cofactor_derivative",
    "diag_embed",
    "norm2",
    "norm_p",
    "unit",
    "unit_p",
    "unit_pullback",
]


Axis = int | tuple[int, ...] | None


def _scale(size: np.ndarray) -> np.ndarray:
    """3 → 2, 0.3 → 1/4: the power of two next below each entry, by which division is exact; 1 for 0, inf and NaN."""
    usable = np.isfinite(size) & (size > 0)
    # One division by a power of two never rounds a normal number, so scaling costs no accuracy.
    _, exponent = np.frexp(np.where(usable, size, 1))
    return np.where(usable, np.ldexp(np.ones_like(size), exponent - 1), np.ones_like(size))


@kernel
def norm2(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """√(Σ x²) over axes, without overflow or underflow on the way.

    >>> [norm2(np.array([3.0, 4.0]) * scale) == 5 * scale for scale in (2.0**1000, 2.0**-1000, 0.0)]
    [np.True_, np.True_, np.True_]

    Source: Blue 1978, A portable Fortran program to find the Euclidean norm of a vector. Changed from the
    source: one scale for each reduced slice, and a first attempt without any.
    """
    (x,) = floats(x)
    info = np.finfo(x.dtype)
    plain = np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if np.all((plain > np.sqrt(info.tiny / info.eps)) & (plain < np.inf)):
        return plain
    scale = _scale(np.max(np.abs(x), axis=axis, keepdims=True, initial=0))
    scaled = x / scale
    norm = np.sqrt(np.sum(scaled * scaled, axis=axis, keepdims=True)) * scale
    return norm if keepdims else np.squeeze(norm, axis)[()]


@kernel
def unit(x: Any, axis: Axis = None) -> Any:
    """x/‖x‖ over axes, and 0 where x = 0.

    >>> unit(np.array([3e200, 4e200])), unit(np.zeros(2))
    (array([0.6, 0.8]), array([0., 0.]))
    """
    (x,) = floats(x)
    norm = norm2(x, axis, keepdims=True)
    info = np.finfo(x.dtype)
    if not np.all((norm > info.tiny / info.eps) & (norm < np.inf)):
        x = x / _scale(np.max(np.abs(x), axis=axis, keepdims=True, initial=0))
        norm = norm2(x, axis, keepdims=True)
    return x / np.where(norm == 0, np.ones_like(norm), norm)


@kernel
def unit_pullback(x: Any, v: Any, axis: Axis = None) -> Any:
    """(v - u·Σuv)/‖x‖ with u = x/‖x‖, over axes, and 0 where x = 0: the derivative of `unit` along v.

    Linear and self-adjoint in v. The part along x is taken off twice, the first time with exact products, so that
    of two vectors that are nearly parallel the distance is known to full precision.

    >>> unit_pullback(np.array([3e200, 4e200]), np.array([4e200, -3e200]))
    array([ 0.8, -0.6])
    """
    x, v = np.broadcast_arrays(*floats(x, v))
    scales = [_scale(np.max(np.abs(z), axis=axis, keepdims=True, initial=0)) for z in (x, v)]
    x, v = x / scales[0], v / scales[1]
    norm = norm2(x, axis, keepdims=True)
    norm = np.where(norm == 0, np.ones_like(norm), norm)
    u = x / norm
    along, lost = two_product(np.sum(u * v, axis=axis, keepdims=True) / norm, x)
    v = (v - along) - lost
    v = v - u * np.sum(u * v, axis=axis, keepdims=True)
    back = np.frexp(scales[1])[1] - np.frexp(scales[0])[1]
    return np.where(np.any(x != 0, axis=axis, keepdims=True), np.ldexp(v / norm, back), 0)


@kernel
def norm_p(x: Any, order: float, axis: Axis = None, keepdims: bool = False) -> Any:
    """(Σ |x|ᵖ)^(1/p) over axes, scaled so that no power overflows or underflows needlessly.

    >>> norm_p(np.array([1e200, 1e200]), 3) == 2 ** (1 / 3) * 1e200
    np.True_
    """
    (x,) = floats(x)
    size = np.abs(x)
    if order > 0:
        scale = _scale(np.max(size, axis=axis, keepdims=True, initial=0))
    else:
        scale = _scale(np.min(size, axis=axis, keepdims=True, initial=np.inf))
    total = np.sum((size / scale) ** order, axis=axis, keepdims=True)
    norm = total ** (1 / order) * scale
    return norm if keepdims else np.squeeze(norm, axis)[()]


@kernel
def unit_p(x: Any, order: float, axis: Axis = None) -> Any:
    """sign(x)·(|x|/‖x‖)^(p-1) over axes, and 0 where x = 0 or ‖x‖ = 0: the gradient of `norm_p`.

    >>> unit_p(np.array([1e200, -1e200, 0.0]), 4).round(6)
    array([ 0.594604, -0.594604,  0.      ])
    """
    (x,) = floats(x)
    size = np.abs(x)
    size = size / _scale(np.max(size, axis=axis, keepdims=True, initial=0))
    norm = norm_p(size, order, axis, keepdims=True)
    ratio = np.where(x == 0, 1, size / np.where(norm == 0, 1, norm)).astype(x.dtype)
    return np.sign(x) * (norm != 0) * ratio ** (order - 1)


@kernel
def diag_embed(x: Any, offset: int = 0, shape: tuple[int, int] | None = None) -> np.ndarray:
    """Matrices of zeros but for one diagonal, the last axis of x; square unless a shape is given.

    >>> diag_embed(np.array([1, 2]), 1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    x = np.asarray(x)
    n = x.shape[-1]
    rows, columns = shape if shape is not None else (n + abs(offset), n + abs(offset))
    result = np.zeros((*x.shape[:-1], rows, columns), x.dtype)
    i = np.arange(n)
    result[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return result


@kernel
def cauchy(w: Any, sign: int) -> np.ndarray:
    """The Cauchy matrix 1/(wⱼ + sign·wᵢ) of the last axis, 0 on its diagonal; the row 1/wⱼ if the sign is 0.

    NaN where that divides by zero.

    >>> cauchy(np.array([1.0, 2.0, 2.0]), -1)
    array([[ 0.,  1.,  1.],
           [-1.,  0., nan],
           [-1., nan,  0.]])
    """
    (w,) = floats(w)
    result = w[..., None, :] + sign * w[..., :, None] if sign else w[..., None, :]
    result = 1 / np.where(result == 0, np.nan, result).astype(w.dtype)
    if sign:
        i = np.arange(w.shape[-1])
        result[..., i, i] = 0
    return result


def _singular(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x = U·diag(s)·Vᵀ → U, Vᵀ, det U·det V, and s as mantissas and exponents."""
    u, s, vt = np.linalg.svd(x)
    sign = np.sign(np.linalg.det(u)) * np.sign(np.linalg.det(vt))
    return u, vt, sign[..., None, None], *np.frexp(s)


def _minors(x: np.ndarray) -> np.ndarray | None:
    """x[i+1, j+1]·x[i+2, j+2] − x[i+1, j+2]·x[i+2, j+1], the indices modulo three: cofactors of up to three rows.

    None where a product leaves the range of floats.
    """
    n = x.shape[-1]
    if n == 1:
        return np.ones_like(x)
    if n == 2:
        return np.flip(x, (-2, -1)) * np.array([[1, -1], [-1, 1]], x.dtype)
    rows, columns = np.ix_(range(3), range(3))
    a, b, c, d = (x[..., (rows + i) % 3, (columns + j) % 3] for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)))
    small = np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps ** 2
    sizes = [(np.abs(p * q), (p == 0) | (q == 0)) for p, q in ((a, b), (c, d))]
    usual = all(np.all((size > small) & (size < np.inf) | zero | np.isnan(size)) for size, zero in sizes)
    return product_difference(a, b, c, d) if usual else None


@arithmetic_kernel
def cofactor(x: Any) -> np.ndarray:
    """The matrix of cofactors, det(x)·x⁻ᵀ, which also singular matrices have: ∂det(x)/∂x.

    With x = U·diag(s)·Vᵀ it is det(U)·det(V)·U·diag(Π_{j≠i} s_j)·Vᵀ; the minors of up to three rows are exact to the
    last digits, however small they are beside others.

    >>> cofactor(np.array([[1.0, 1e-20], [3e-20, 2.0]]))
    array([[ 2.e+00, -3.e-20],
           [-1.e-20,  1.e+00]])
    """
    (x,) = floats(x)
    if x.shape[-1] == 0:
        return x
    found = _minors(x) if x.shape[-1] <= 3 else None
    if found is not None:
        return found
    u, vt, sign, mantissa, exponent = _singular(x)
    products = np.ldexp(leave_one_out_prod(mantissa), np.sum(exponent, axis=-1, keepdims=True) - exponent)
    return sign * (u * products[..., None, :]) @ vt


@kernel
def cofactor_derivative(x: Any, v: Any) -> np.ndarray:
    """lim (cofactor(x + t·v) − cofactor(x))/t, t → 0; linear and self-adjoint in v, finite for singular x too."""
    x, v = floats(x, v)
    n = x.shape[-1]
    if n == 0:
        return v
    u, vt, sign, mantissa, exponent = _singular(x)
    rotated = np.swapaxes(u, -1, -2) @ v @ np.swapaxes(vt, -1, -2)
    diagonal = np.eye(n, dtype=bool)
    # Π_{l≠i,j} s_l: leave j out of the product that has a 1 in the place of s_i.
    pairs = leave_one_out_prod(np.where(diagonal, 1, mantissa[..., None, :]).astype(x.dtype))
    total = np.sum(exponent, axis=-1)[..., None, None]
    pairs = np.ldexp(pairs, total - exponent[..., :, None] - exponent[..., None, :])
    pairs = np.where(diagonal, 0, pairs)
    along = np.sum(pairs * np.diagonal(rotated, 0, -2, -1)[..., None, :], axis=-1)
    inner = np.where(diagonal, along[..., None, :], -pairs * np.swapaxes(rotated, -1, -2))
    return sign * (u @ inner @ vt)
