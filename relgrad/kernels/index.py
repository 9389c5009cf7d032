"""Scattering, products of all others, and recurrences: what generated source needs and NumPy lacks."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import overridable

__all__ = [
    "add_along",
    "add_at",
    "delay",
    "leave_one_out_prod",
    "linear_recurrence",
    "put_at",
    "running_argmax",
    "running_argmin",
]


@overridable
def put_at(values: Any, key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """(1, 2), [0, 2], (3,) → (1, 0, 2): zeros with `out[key] = values`; no entry may be named twice."""
    values = np.asarray(values)
    out = np.zeros(shape, values.dtype)
    out[key] = values
    return out


@overridable
def add_at(values: Any, key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """(1, 2, 3), [0, 2, 0], (3,) → (4, 0, 2): zeros to which values are added, at one place one after the other."""
    values = np.asarray(values)
    out = np.zeros(shape, values.dtype)
    np.add.at(out, key, values)
    return out


@overridable
def add_along(values: Any, indices: np.ndarray, axis: int, shape: tuple[int, ...]) -> np.ndarray:
    """The transpose of np.take_along_axis(x, indices, axis), x of the given shape: gathered entries are added up."""
    return add_at(values, key_along(indices, axis, shape), shape)


def key_along(indices: np.ndarray, axis: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """[[1], [0]], −1, (2, 3) → [[0], [1]], [[1], [0]]: the key of what np.take_along_axis takes."""
    key = [np.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - i)) for i, n in enumerate(shape)]
    key[axis] = indices
    return tuple(key)


def running_argmax(x: Any, axis: int) -> np.ndarray:
    """argmax(x₀, …, xₖ) for each k along an axis, the first of those that tie; NaN counts as largest.

    >>> running_argmax([1.0, 3.0, 2.0, 3.0, 4.0], 0)
    array([0, 1, 1, 1, 4])
    """
    return _running_arg(np.asarray(x), axis, np.maximum, np.greater)


def running_argmin(x: Any, axis: int) -> np.ndarray:
    """(3, 1, 2, 1) → (0, 1, 1, 1): where the smallest of x₀ … xₖ stands along an axis, as in `running_argmax`."""
    return _running_arg(np.asarray(x), axis, np.minimum, np.less)


def _running_arg(x: np.ndarray, axis: int, extreme: np.ufunc, beyond: np.ufunc) -> np.ndarray:
    """(1, 3, 2), max → (0, 1, 1): where the extreme entry so far stands along an axis."""
    rows = np.moveaxis(x, axis, 0)
    best = extreme.accumulate(rows, axis=0)
    new = np.ones(rows.shape, bool)
    new[1:] = beyond(rows[1:], best[:-1])
    if x.dtype.kind == "f":
        new[1:] |= np.isnan(rows[1:])
    places = np.arange(len(rows)).reshape((-1,) + (1,) * (rows.ndim - 1))
    return np.moveaxis(np.maximum.accumulate(np.where(new, places, 0), axis=0), 0, axis)


@overridable
def delay(x: np.ndarray, axis: int, step: int) -> np.ndarray:
    """(1, 2, 3), 1 → (0, 1, 2);    −1 → (2, 3, 0): entries shifted along an axis, and zeros."""
    x = np.asarray(x)
    out = np.zeros_like(x)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    if step >= 0:
        target[step:] = source[: max(len(source) - step, 0)]
    else:
        target[:step] = source[-step:]
    return out


@overridable
def linear_recurrence(a: Any, b: Any, axis: int, adjoint: bool = False) -> np.ndarray:
    """sₖ = aₖ·sₖ₋₁ + bₖ along an axis, from zero on; or its adjoint, sₖ = bₖ + aₖ₊₁·sₖ₊₁."""
    a, b = np.broadcast_arrays(a, b)
    out = np.empty(a.shape, np.result_type(a, b))
    a, b, s = (np.moveaxis(z, axis, 0) for z in (a, b, out))
    n = len(s)
    if adjoint:
        s[n - 1 :] = b[n - 1 :]
        for k in range(n - 2, -1, -1):
            s[k] = b[k] + a[k + 1] * s[k + 1]
    else:
        s[:1] = b[:1]
        for k in range(1, n):
            s[k] = b[k] + a[k] * s[k - 1]
    return out


@overridable
def leave_one_out_prod(x: np.ndarray, *directions: Any, axes: tuple[int, ...] = (-1,)) -> np.ndarray:
    """∇ₓ Dᵐ(Π xⱼ)[t₁, …, tₘ] for the product over `axes`: without directions, Π_{j≠i} xⱼ for each i.

    No division, so zeros do no harm; mantissas and exponents are apart, so only the results can overflow.
    With directions, the products are of xⱼ + Σ εₐ tₐⱼ, in the ring of polynomials in ε₁ … εₘ with εₐ² = 0.
    As many directions as there are factors, or more, leave nothing of a product of the others.
    """
    x = np.asarray(x)
    if len(directions) >= max(math.prod([x.shape[a] for a in axes]), 1):
        return np.zeros_like(x) + np.sum(np.where(np.isnan(x), x, 0), axis=axes, keepdims=True)
    full = (1 << len(directions)) - 1
    tail = tuple(range(-len(axes), 0))
    moved_shape = np.moveaxis(x, axes, tail).shape
    batch = moved_shape[: x.ndim - len(axes)]
    n = int(np.prod(moved_shape[x.ndim - len(axes) :], dtype=int))
    width = 1 << max(n - 1, 0).bit_length()
    # Leaves of a binary tree, one ring element each: axis 0 holds coefficients, the last axis the factors.
    leaves = np.zeros((full + 1, *batch, width), x.dtype)
    leaves[0] = 1
    for coefficient, values in ((0, x), *((1 << i, t) for i, t in enumerate(directions))):
        flat = np.moveaxis(np.broadcast_to(values, x.shape), axes, tail).reshape((*batch, n))
        leaves[coefficient, ..., :n] = flat
    levels = [_normalized(leaves)]
    while levels[-1][0].shape[-1] > 2:
        pairs = [[part[..., i::2] for part in levels[-1]] for i in (0, 1)]
        levels.append(_ring_product(*pairs))
    one = np.zeros((full + 1, *batch, 1), x.dtype)
    one[0] = 1
    outside = _normalized(one)
    if width > 1:
        for below in reversed(levels):
            # The product outside a child: that outside its parent, times its sibling.
            shape = below[0].shape
            siblings = [part.reshape((*shape[:-1], shape[-1] // 2, 2))[..., ::-1] for part in below]
            product = _ring_product([part[..., None] for part in outside], siblings)
            outside = [part.reshape(shape) for part in product]
    m, e = (part[full] for part in outside)
    result = np.ldexp(m, np.clip(e, -5000, 5000).astype(np.intc))[..., :n]
    return np.moveaxis(result.reshape(moved_shape), tail, axes)


def _ring_product(a: Any, b: Any) -> Any:
    """(a + a′·ε)·(b + b′·ε) = a·b + (a·b′ + a′·b)·ε, ε² = 0: coefficients are indexed by sets of εs, as bits.

    Each is m·2ᵉ by itself: a may be far smaller than a′.
    """
    (m, e), (n, f) = a, b
    sums = []
    for whole in range(len(m)):
        parts = [part for part in range(whole + 1) if part & whole == part]
        found = [(m[part] * n[whole ^ part], e[part] + f[whole ^ part]) for part in parts]
        most = reduce(np.maximum, [exponent for _, exponent in found])
        if len(found) > 1:
            found = [(np.ldexp(x, np.maximum(k - most, -5000).astype(np.intc)), most) for x, k in found]
        sums.append(_normalized(sum(x for x, _ in found), most))
    return [np.stack(parts) for parts in zip(*sums, strict=True)]


_NOTHING = -(1 << 40)
"""The exponent of 0, below all others."""


def _normalized(m: Any, e: Any = 0) -> Any:
    """12·2⁰ → 0.75, 4: mantissas and exponents, entry by entry."""
    mantissa, exponent = np.frexp(m)
    return mantissa, np.where(m == 0, _NOTHING, e + exponent.astype(np.int64))
