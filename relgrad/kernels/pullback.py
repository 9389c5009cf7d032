"""Functions of a softmax: its pullback and that of its log, deviations from means, and complements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.kernels.dispatch import floats, in_blocks, kernel, reduced

__all__ = [
    "complement",
    "deviation",
    "log_softmax_pullback",
    "softmax_pullback",
]


Axis = int | tuple[int, ...] | None


class _Rows:
    """(2, 3, 4) over axes 0, 2 → (3, 8), and back: arrays with their reduced axes joined into a last one."""

    def __init__(self, axis: Axis, *arrays: Any):
        """(2, 3, 4) over axes 0, 2 → (3, 8): arrays with their reduced axes joined into the last one."""
        arrays = tuple(np.broadcast_arrays(*floats(*arrays)))
        ndim = arrays[0].ndim
        axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        self.axes = sorted(a % ndim for a in axes)
        self.order = [a for a in range(ndim) if a not in self.axes] + self.axes
        self.plain = self.order == list(range(ndim)) and len(self.axes) == 1
        moved = [a if self.plain else a.transpose(self.order) for a in arrays]
        self.shape = moved[0].shape
        kept = self.shape[: ndim - len(self.axes)]
        length = int(np.prod(self.shape[ndim - len(self.axes) :]))
        self.arrays = moved if self.plain else [a.reshape((*kept, length)) for a in moved]

    def each(self, function: Callable[..., Any]) -> Any:
        """f(rows), block by block, with the axes where they were."""
        first = self.arrays[0]
        x = in_blocks(function, self.arrays, by_rows=True) if first.size else first.copy()
        return x if self.plain else x.reshape(self.shape).transpose(np.argsort(self.order))


def _heaviest(p: Any) -> Any:
    """(0.1, −0.7, 0.2) → 1: the place of the largest |p| in each row."""
    return np.argmax(np.abs(p), axis=-1, keepdims=True)


def _deviation(g: Any, p: Any, k: Any) -> Any:
    """g − Σpg/Σp = h − Σph/Σp, h = g − gₖ, measured from the heaviest entry k."""
    g = g - np.take_along_axis(g, k, -1)
    return g - reduced(np.add, p * g, -1) / reduced(np.add, p, -1)


@kernel
def deviation(g: Any, p: Any, axis: Axis = -1) -> Any:
    """g − Σpg/Σp: the distance of g from its mean under the weights p.

    Computed with g measured from its value at the heaviest entry, so that there the others' share is all that
    is left, and a common offset of g is gone before it can round.
    """
    return _Rows(axis, g, p).each(lambda g, p: _deviation(g, p, _heaviest(p)))


@kernel
def softmax_pullback(g: Any, p: Any, axis: Axis = -1) -> Any:
    """p·(g − Σpg/Σp): what softmax with the result p makes of a cotangent, or tangent, g.

    >>> p = np.array([1.0, 1e-20])
    >>> softmax_pullback(np.array([1.0, 0.0]), p)
    array([ 1.e-20, -1.e-20])
    """
    return _Rows(axis, g, p).each(lambda g, p: p * _deviation(g, p, _heaviest(p)))


@kernel
def log_softmax_pullback(g: Any, p: Any, axis: Axis = -1) -> Any:
    """g − p·Σg/Σp: what log_softmax makes of a cotangent g, where p is the softmax.

    At the heaviest entry k it is (gₖ·Σ' p − pₖ·Σ' g)/Σp, where Σ' leaves k out: 1 − pₖ is never formed.

    >>> log_softmax_pullback(np.array([1.0, 0.0]), np.array([1.0, 1e-20]))
    array([ 1.e-20, -1.e-20])
    """
    return _Rows(axis, g, p).each(_log_softmax_pullback)


def _log_softmax_pullback(g: Any, p: Any) -> Any:
    """g, p → g − p·Σg/Σp, and (gₖ·Σ' p − pₖ·Σ' g)/Σp at the heaviest entry k of each row."""
    k = _heaviest(p)
    gk, pk = np.take_along_axis(g, k, -1), np.take_along_axis(p, k, -1)
    g_rest, p_rest = np.array(g), np.array(p)
    np.put_along_axis(g_rest, k, 0, -1)
    np.put_along_axis(p_rest, k, 0, -1)
    g_sum, p_sum = (reduced(np.add, a, -1) for a in (g_rest, p_rest))
    total = p_sum + pk
    result = g - p * ((g_sum + gk) / total)
    np.put_along_axis(result, k, (gk * p_sum - pk * g_sum) / total, -1)
    return result


@kernel
def complement(p: Any, axis: Axis = -1) -> Any:
    """1 − p/Σp: for each entry the share of all others; at the heaviest, their sum, where 1 − p would cancel.

    >>> complement(np.array([1.0, 1e-20, 0.0]))
    array([1.e-20, 1.e+00, 1.e+00])
    """
    return _Rows(axis, p).each(_complement)


def _complement(p: Any) -> Any:
    """p → 1 − p/Σp, and Σ' p/Σp at the heaviest entry of each row."""
    k = _heaviest(p)
    rest = np.array(p)
    np.put_along_axis(rest, k, 0, -1)
    others = reduced(np.add, rest, -1)
    total = others + np.take_along_axis(p, k, -1)
    result = 1 - p / total
    np.put_along_axis(result, k, others / total, -1)
    return result
