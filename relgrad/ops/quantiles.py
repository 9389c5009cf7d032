"""Quantiles: entries of sorted data, and what lies between two of them.

Source: Hyndman & Fan 1996, Sample quantiles in statistical packages, The American Statistician 50(4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.ops.arguments import is_symbolic, normalize_axes, refuse, require_ground
from relgrad.ops.derived import array, arrays, derived

_DISCRETE: dict[str, Callable[[int, Any], Any]] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "closest_observation": lambda n, q: _nearest_even(n * q - 1.5),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
}
"""Methods that choose one entry: which place it has."""

_BETWEEN: dict[str, tuple[float, float]] = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Methods that interpolate at n·q + α + q·(1 − α − β) − 1: α and β."""


def _nearest_even(place: Any) -> Any:
    """Return the next place, or the one that is met if that is odd."""
    below = np.floor(place)
    return np.where((place == below) & (below % 2 == 1), below, below + 1)


def _sorted_last(function: str, a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """(a : (2, 3), axis 0) → sort(aᵀ) along its last axis, (−2,): data sorted along the joined axes, and those axes."""
    x = array(a)
    require_ground(function, x)
    axes = normalize_axes(axis, x.ndim)
    kept = [i for i in range(-x.ndim, 0) if i not in axes]
    x = np.transpose(x, (*kept, *axes))
    if len(axes) != 1:
        shape = x.shape
        x = np.reshape(x, (*shape[: len(kept)], -1 if None in shape else math.prod(shape[len(kept) :])))
    return np.sort(x, axis=-1), axes


def _or_nan(result: Any, rows: Any) -> Any:
    """Return a result, or NaN for data that holds any, which was sorted to the end."""
    if rows.dtype.kind != "f" or rows.shape[-1] == 0:
        return result
    return np.where(np.isnan(rows[..., -1]), rows[..., -1], result)


@derived(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """median([1, 2, 4, 8]) = 3: traces `np.median`: the mean of the one or two entries in the middle."""
    refuse("np.median", out=out)
    rows, axes = _sorted_last("np.median", a, axis)
    n = len(rows.T)
    result = _or_nan(np.mean(rows[..., (n - 1) // 2 : n // 2 + 1], axis=-1), rows)
    return np.expand_dims(result, axes) if keepdims else result


def _quantile(function: str, a: Any, q: Any, weak: bool, axis: Any, method: str, keepdims: bool) -> Any:
    """([1, 2, 4], ½) → 2: the quantiles of data; a `weak` q gives way to the dtype of the data."""
    # NumPy says what is wrong with methods, and with numbers that are known.
    if is_symbolic(q):
        a, q = arrays(a, q)
    known: Any = 0.0 if is_symbolic(q) else q
    np.quantile(np.zeros(1), known, method=method)  # type: ignore[call-overload]
    rows, axes = _sorted_last(function, a, axis)
    n = len(rows.T)
    if n == 0:
        raise ShapeError(f"{function} of no numbers does not exist: the data is of shape {array(a).shape}")
    first = np.moveaxis(rows, -1, 0)
    if method in _DISCRETE or (method == "linear" and q.dtype.kind in "iu"):
        place = _DISCRETE[method](n, q) if method in _DISCRETE else (n - 1) * q
        result = first[_place(place, n)]
    else:
        place, share = _interpolated(method, n, q)
        low = _place(np.floor(place), n)
        share = float(share) if weak else np.reshape(share, (*q.shape, *[1] * (rows.ndim - 1)))
        result = _between(first[low], first[np.minimum(low + (place >= 0), n - 1)], share)
    result = _or_nan(result, rows)
    return np.expand_dims(result, axes) if keepdims else result


def _place(place: Any, n: int) -> Any:
    return np.clip(place, 0, n - 1).astype(np.intp)


def _interpolated(method: str, n: int, q: Any) -> tuple[Any, Any]:
    """(linear, 5, 0.3) → 1.2, 0.2: the place between two entries, (n − 1)·q, and the share of the second."""
    if method == "midpoint":
        place = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
        return place, np.where(place % 1 == 0, 0.0, 0.5).astype(place.dtype)
    if method == "averaged_inverted_cdf":
        place = n * q - 1
        return place, np.where(place == np.floor(place), 0.5, 1.0).astype(place.dtype)
    if method == "linear":
        place = (n - 1) * q
    else:
        alpha, beta = _BETWEEN[method]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
    return place, place - np.floor(place)


def _between(a: Any, b: Any, share: Any) -> Any:
    """a + (b − a)·share = b − (b − a)·(1 − share): from the nearer end, exact at both."""
    gap = b - a
    near_a, near_b = a + gap * share, b - gap * (1 - share)
    if type(share) is float:
        return near_b if share >= 0.5 else near_a
    return np.where(share >= 0.5, near_b, near_a)


def _of_shares(function: Any, whole: int) -> Any:
    """quantile(x, q) = percentile(x, 100·q): the function that traces the quantile of q/whole; without weights."""
    name = f"np.{function.__name__}"

    def trace(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Any:
        """a, q → the quantile of q/whole; raises for `out` and weights."""
        refuse(name, out=out, weights=weights)
        share = array(q) if whole == 1 else np.true_divide(array(q), whole)
        return _quantile(name, a, share, type(q) in (int, float), axis, method, keepdims)

    return derived(function)(trace)


quantile = _of_shares(np.quantile, 1)
percentile = _of_shares(np.percentile, 100)
