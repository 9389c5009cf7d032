"""Kernels of statistics: centring without the rounding of the mean, and products that neither overflow nor vanish."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, kernel
from relgrad.kernels.eft import two_sum

__all__ = [
    "centred",
    "log_prod",
    "mean_minus",
    "prod1pm1",
    "sum_minus",
]


Axis = int | tuple[int, ...] | None


@kernel
def centred(x: Any, axis: Axis = None) -> Any:
    """x less its mean over axes: the mean of what is left is taken off once more, so that no offset of x can round.

    >>> centred(np.array([1e9, 1e9 + 1, 1e9 + 2.5])) * 3
    array([-3.5, -0.5,  4. ])

    Source: Chan, Golub & LeVeque 1983, Algorithms for computing the sample variance, section 3.
    """
    (x,) = floats(x)
    rest = np.asarray(x - np.mean(x, axis=axis, keepdims=True))
    left = np.mean(rest, axis=axis, keepdims=True)
    rest -= np.where(np.isfinite(left), left, 0)
    return rest[()]


def _cascaded(x: Any, axis: Axis) -> tuple[Any, Any]:
    """x → s, e with s + e = Σ x over axes, which stay: the sum and its rounding error.

    Source: Ogita, Rump & Oishi 2005, algorithm 4.4.
    """
    axes = _axes(x, axis)
    shape = tuple([1 if a - x.ndim in axes else n for a, n in enumerate(x.shape)])
    rows = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(*shape, math.prod([x.shape[a] for a in axes]))
    error = np.zeros(shape, x.dtype)
    while rows.shape[-1] > 1:
        half = rows.shape[-1] // 2
        total, low = two_sum(rows[..., :half], rows[..., half : 2 * half])
        error = error + np.sum(low, axis=-1)
        rows = np.concatenate([total, rows[..., 2 * half :]], axis=-1)
    return np.sum(rows, axis=-1), error


@kernel
def sum_minus(x: Any, y: Any, axis: Axis = None) -> Any:
    """Σ x − y over axes, which stay, without the rounding of the sum.

    >>> sum_minus(np.array([0.5, 0.25, 0.25 + 2.0**-54]), 1.0) == 2.0**-54
    array([ True])
    """
    x, y = floats(x, y)
    total, error = _cascaded(x, axis)
    rest, low = two_sum(total, -y)
    return np.where(np.isfinite(rest + low + error), rest + (low + error), total - y)


@kernel
def mean_minus(x: Any, y: Any, axis: Axis = None) -> Any:
    """The mean of x over axes, which stay, less y, without the rounding of the mean.

    >>> mean_minus(np.array([1e9, 1e9 + 1]), 1e9)
    array([0.5])
    """
    x, y = floats(x, y)
    apart, lost = two_sum(x, -np.broadcast_to(y, np.broadcast_shapes(x.shape, y.shape)))
    total, error = _cascaded(apart, axis)
    error = error + np.sum(lost, axis=axis, keepdims=True)
    count = apart.size // max(total.size, 1)
    plain = np.mean(x, axis=axis, keepdims=True) - y
    return np.where(np.isfinite(total + error), (total + error) / count, plain)


def _scaled_product(x: Any, axis: Axis) -> tuple[Any, Any]:
    """Π x = m·2ᵏ over axes: m is the product itself and k zero, wherever that is a normal number."""
    plain = np.prod(x, axis=axis, keepdims=True)
    size = np.abs(x)
    info = np.finfo(x.dtype)
    low = np.prod(np.minimum(size, 1), axis=axis, keepdims=True)
    high = np.prod(np.maximum(size, 1), axis=axis, keepdims=True)
    if np.all((low > info.tiny) & (high < np.inf)):
        return plain, np.zeros_like(plain)
    mantissa, exponent = np.frexp(x)
    total = np.sum(exponent, axis=axis, keepdims=True, dtype=np.int64)
    product = np.ones_like(plain)
    # Mantissas are at least a half: a thousand of them may be multiplied before any underflows, in float32 a hundred.
    moved = np.moveaxis(mantissa, _axes(x, axis), range(-len(_axes(x, axis)), 0))
    rows = moved.reshape(*moved.shape[: x.ndim - len(_axes(x, axis))], -1)
    step = 100
    for start in range(0, rows.shape[-1], step):
        part, k = np.frexp(np.prod(rows[..., start : start + step], axis=-1).reshape(plain.shape))
        product, more = np.frexp(product * part)
        total = total + k + more
    regular = (low > info.tiny) & (high < np.inf)
    return np.where(regular, plain, product), np.where(regular, 0, total).astype(x.dtype)


def _axes(x: Any, axis: Axis) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(-x.ndim, 0))
    return tuple(sorted(a % x.ndim - x.ndim for a in ((axis,) if isinstance(axis, int) else axis)))


@kernel
def log_prod(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """log Π x over axes, though the product may overflow or underflow; NaN where it is negative.

    >>> np.isclose(log_prod(np.full(4, 1e-200)), 4 * np.log(1e-200), rtol=1e-14)
    np.True_
    """
    (x,) = floats(x)
    product, exponent = _scaled_product(x, axis)
    result = np.log(product) + exponent * x.dtype.type(0.6931471805599453)
    return result if keepdims else np.squeeze(result, axis)[()]


@kernel
def prod1pm1(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Π (1 + x) − 1 over axes, by the sum of the logarithms where the product is near one.

    >>> prod1pm1(np.array([1e-20, 1e-20])) == 2e-20
    np.True_
    """
    (x,) = floats(x)
    product = np.prod(1 + x, axis=axis, keepdims=True)
    # The log of the size: of two negative factors the signs cancel, since the product is positive there.
    log = np.sum(
        np.where(x > -1, np.log1p(np.maximum(x, -1)), np.log(np.abs(1 + x))), axis=axis, keepdims=True
    )
    result = np.where(np.abs(product - 1) < 0.5, np.expm1(log), product - 1)
    return result if keepdims else np.squeeze(result, axis)[()]
