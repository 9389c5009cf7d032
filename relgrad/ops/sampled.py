"""Functions that are known at points: interpolation, sums and differences of samples, counts in bins."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.op import is_constant
from relgrad.ops.arguments import is_symbolic, normalize_axes, normalize_axis
from relgrad.ops.derived import array, arrays, derived, floating
from relgrad.ops.gather import ARRAY, Scatter


@derived(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """interp(x) = fᵢ + (x − xᵢ)·(fᵢ₊₁ − fᵢ)/(xᵢ₊₁ − xᵢ) between xᵢ and xᵢ₊₁:
    traces `np.interp`, constant beyond the ends; ∞ beside a number is ∞ up to that.
    """
    x, xp, fp = map(floating, arrays(x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or len(xp) == 0:
        raise ShapeError(
            f"np.interp: data points of shapes {xp.shape} and {fp.shape}",
            cause="they must be two vectors of one length, and not empty",
        )
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, period)
        left = right = None
    n = len(xp)
    first, last = fp[0] if left is None else left, fp[-1] if right is None else right
    if n == 1:
        inside = np.broadcast_to(fp[0], x.shape)
    else:
        i = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 2)
        gap = xp[i + 1] - xp[i]
        # Of points that coincide the last is met, but at the end, where there is no interval after it.
        slope = (fp[i + 1] - fp[i]) / np.where(gap == 0, 1.0, gap)
        inside = np.where((gap == 0) & (x == xp[i]), fp[i + 1], fp[i] + slope * (x - xp[i]))
        if not (is_constant(fp.term) and np.isfinite(fp.term.op.value).all()):
            known = np.isfinite(fp)
            ends = np.where(x == xp[i], fp[i], np.where(x == xp[i + 1], fp[i + 1], fp[i] + fp[i + 1]))
            inside = np.where(known[i] & known[i + 1], inside, ends)
    return np.where(x < xp[0], first, np.where(x > xp[-1], last, inside))


def _unrolled(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """period 1, [0.2, 0.7] → [−0.3, 0.2, 0.7, 1.2]: points within one period, in order, with one more on either
    side.
    """
    period = abs(period)
    xp = xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
    return x % period, xp, np.concatenate((fp[-1:], fp, fp[:1]))


@derived(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """gradient(f, h)ᵢ = (fᵢ₊₁ − fᵢ₋₁)/(2·h): traces `np.gradient`, differences of the first or second order at the
    edges.
    """
    f = array(f)
    if f.dtype.kind != "f":
        f = floating(f)
    axes = normalize_axes(axis, f.ndim)
    named = axis if isinstance(axis, (tuple, list)) else axes if axis is None else (axis,)
    axes = [normalize_axis(a, f.ndim) for a in named]
    spacings = [array(h) for h in (varargs or (1.0,))]
    if len(spacings) == 1 and not spacings[0].ndim:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise ShapeError(f"np.gradient: {len(spacings)} spacings for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    slopes = [_slopes(f, a, h, edge_order) for a, h in zip(axes, spacings, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slopes(f: Any, axis: int, h: Any, edge_order: int) -> Any:
    """r = Δf/h → r + h·(r′ − r)/(h + h′): the slopes of samples along an axis, whose distance or places are h."""
    f = np.moveaxis(f, axis, 0)
    n = len(f)
    if n < edge_order + 1:
        raise ShapeError(f"np.gradient needs {edge_order + 1} samples along an axis, which has {n}")
    even = h.ndim == 0
    if even:
        h = np.broadcast_to(h, n - 1)
    elif h.shape == (n,):
        h = np.diff(floating(h) if h.dtype.kind in "iu" else h)
    else:
        raise ShapeError(f"np.gradient: places of shape {h.shape} for an axis of extent {n}")
    h = h[(..., *[None] * (f.ndim - 1))]
    rises = (f[1:] - f[:-1]) / h
    # That of the parabola through three samples: r + h·(r' − r)/(h + h').
    bend = (rises[1:] - rises[:-1]) / (h[:-1] + h[1:])
    inner = (f[2:] - f[:-2]) / (2 * h[1:]) if even else rises[:-1] + h[:-1] * bend
    first, last = rises[:1], rises[-1:]
    if edge_order == 2:
        first, last = first - h[:1] * bend[:1], last + h[-1:] * bend[-1:]
    return np.moveaxis(np.concatenate((first, inner, last)), 0, axis).astype(f.dtype)


@derived(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Trace `np.bincount`: Σ wᵢ over xᵢ = k, for k below the largest of them, or below minlength.

    Of a traced x minlength is the number of bins: an x beyond it is an IndexError.
    """
    x, n = array(x), operator.index(minlength)
    if x.ndim != 1 or x.dtype.kind not in "biu":
        raise ShapeError(f"np.bincount counts a vector of integers, not {x.dtype} of shape {x.shape}")
    if not is_symbolic(x):
        n = len(np.bincount(x, minlength=n))
    elif n <= 0:
        raise TraceError(
            "np.bincount cannot be traced without minlength= where the integers are traced",
            cause="the shape of the result would depend on values",
            cure="pass minlength=, a number that is larger than all integers",
        )
    w = np.ones(x.shape, np.intp) if weights is None else floating(weights)
    if w.shape not in (x.shape, (None,)):
        raise ShapeError(f"np.bincount: weights of shape {w.shape} for integers of shape {x.shape}")
    if x.size == 0:
        return np.zeros(n, np.intp)
    places = x.astype(np.intp)
    return Scatter((ARRAY,), (n,))(w, places)
