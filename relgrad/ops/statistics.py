"""Means, variances and other figures of data, all of them written with sums."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import Op, as_term, constant, strong
from relgrad.ops.arguments import below_squeeze, call, is_ground, normalize_axes, normalize_axis, refuse
from relgrad.ops.casting import cast
from relgrad.ops.extremes import any_
from relgrad.ops.reduction import Sum, is_given, mask_like, masked, pattern_axes, reduce, single, sum_
from relgrad.ops.structure import Squeeze, broadcast_like, expand
from relgrad.term import Term, term
from relgrad.types import POSITIVE, Type, array_type


class Size(Op):
    """size(x : (2, 3), axes (−1,)) = 3.0: the number of entries along axes, a constant as soon as the extents are
    known.
    """

    __props__ = ("axes",)
    axes: Any
    connected = ()
    range = POSITIVE

    def output_type(self, *types: Any) -> Type:
        return array_type(_floating(types[0].dtype))

    def make_node(self, *inputs: Any) -> Term:
        """x : (2, 3) → 3.0, x : (2, None) → size(x), of a squeeze → of its operand."""
        x = strong(inputs[0])
        if not (is_ground(x) and self.ground):
            return term(self, x)
        if isinstance(x.op, Squeeze):
            inner, axes, _ = below_squeeze(x, self.axes)
            return Size(axes).make_node(inner)
        n = _known_count(x, self.axes)
        return term(self, x) if n is None else constant(n, _floating(x.type.dtype))

    def compute(self, *arrays: Any) -> Any:
        n = math.prod(np.shape(arrays[0])[a] for a in self.axes)
        return np.asarray(n, _floating(np.asarray(arrays[0]).dtype))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        extents = " * ".join(f"np.shape({names[0]})[{a}]" for a in self.axes)
        return f"np.{node.type.dtype}({extents or 1})"

    def ball(self, *balls: Any) -> Any:
        import flint

        return flint.arb(math.prod(np.shape(balls[0])[a] for a in self.axes))


def _floating(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _known_count(x: Any, axes: tuple[int, ...]) -> int | None:
    extents = [x.type.extent(a) for a in axes]
    return None if None in extents else math.prod(n for n in extents if n is not None)


def _as_floating(a: Any, dtype: Any) -> Any:
    """x : int → cast(x, float64), x : float16 → cast(x, float32), x : float32 → x: data in the dtype that NumPy's mean
    adds them up in.
    """
    x = strong(as_term(a))
    if dtype is None and is_ground(x):
        dtype = np.promote_types(_floating(x.type.dtype), np.float32)
    return x if dtype is None else as_term(cast(x, dtype))


def _as_figure(y: Any, a: Any, dtype: Any) -> Any:
    """y : float32, a : float16 → cast(y, float16): a figure of data in their dtype; that of integers is as it is."""
    x = as_term(a)
    return cast(y, x.type.dtype) if dtype is None and is_ground(x) and x.type.dtype.kind == "f" else y


def _over_count(total: Any, x: Any, axis: Any, ddof: float = 0, mask: Any = None) -> Any:
    """(Σx, x : (3,), ddof 1) → Σx/2: a sum over the number of summands, or of those that a mask chooses, less ddof."""
    if mask is not None:
        kept = total.type.ndim == x.type.ndim
        count = sum_(mask, axis, total.type.dtype, keepdims=kept)
        if ddof:
            count = call(np.maximum, call(np.subtract, count, float(ddof)), 0.0)
        return call(np.divide, total, count)
    if not is_ground(x):
        count = Size(pattern_axes(axis, True)).make_node(x)
        return call(np.divide, total, call(np.subtract, count, ddof) if ddof else count)
    axes = normalize_axes(axis, x.type.ndim)
    n = _known_count(x, axes)
    if n is not None:
        left = max(float(n - ddof), 0.0)
        return total if left == 1 else call(np.divide, total, left)
    count = Size(axes).make_node(x)
    return call(
        np.divide, total, call(np.maximum, call(np.subtract, count, float(ddof)), 0.0) if ddof else count
    )


@implements(np.mean, "mean")
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """mean(x) = Σx / n: traces `np.mean`, over what a mask chooses."""
    refuse("np.mean", out=out)
    x = _as_floating(a, dtype)
    mask = _mask("np.mean", where, x)
    total = reduce(Sum, masked("np.mean", x, where, 0), axis, keepdims)
    return _as_figure(_over_count(total, x, axis, 0, mask), a, dtype)


def _mask(function: str, where: Any, x: Any) -> Any:
    return mask_like(function, where, x) if is_given(where, True) else None


@implements(np.var, "var")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = np._NoValue,
    correction: Any = np._NoValue,
) -> Any:
    """var(x) = Σ(x − mean(x))² / (n − ddof), over what a mask chooses: traces `np.var`."""
    refuse("np.var", out=out)
    ddof = ddof if correction is np._NoValue or correction is None else correction
    x = _as_floating(a, dtype)
    mask = _mask("np.var", where, x)
    middle = as_term(mean) if is_given(mean) else _mean(x, axis, keepdims=True, where=where)
    gaps = masked("np.var", call(np.subtract, x, middle), where, 0)
    total = reduce(Sum, call(np.square, gaps), axis, keepdims)
    return _as_figure(_over_count(total, x, axis, ddof, mask), a, dtype)


_mean = mean


@implements(np.std, "std")
def std(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Trace `np.std`: the root of the variance."""
    return call(np.sqrt, var(a, *args, **kwargs))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Trace `np.count_nonzero`."""
    return sum_(call(np.not_equal, as_term(a), 0), axis, keepdims=keepdims)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """average(x, w) = Σwx / Σw: traces `np.average`, and Σw too if it is to be returned."""
    x = strong(as_term(a))
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        if not returned:
            return result
        axes = normalize_axes(axis, x.type.ndim)
        return result, broadcast_like(strong(Size(axes).make_node(x), result.type.dtype), result)
    w = strong(as_term(weights))
    if is_ground(x) and is_ground(w):
        kind = np.result_type(
            x.type.dtype, w.type.dtype, np.float64 if x.type.dtype.kind in "biu" else x.type.dtype
        )
        x, w = cast(x, kind), cast(w, kind)
        w = w if w.type.shape == x.type.shape else _spread_weights(x, w, axis)
    total = sum_(w, axis, keepdims=keepdims)
    result = call(np.divide, sum_(call(np.multiply, x, w), axis, keepdims=keepdims), total)
    return (result, broadcast_like(total, result)) if returned else result


def _spread_weights(x: Any, w: Any, axis: Any) -> Any:
    """w : (3,) for axis 0 of x : (3, 4) → w[:, None]: weights that belong to some axes in the rank of the data."""
    if axis is None:
        raise ShapeError(
            f"np.average: weights of shape {w.type.shape} for data of shape {x.type.shape}",
            cause="axis must be given when the weights have another shape than the data",
        )
    named = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [normalize_axis(operator.index(a), x.type.ndim) for a in named]
    if len(axes) != w.type.ndim:
        raise ShapeError(f"np.average: weights of rank {w.type.ndim} for {len(axes)} axes")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    if order != list(range(len(axes))):
        w = call(np.transpose, w, order)
    return expand(w, tuple([a for a in range(-x.type.ndim, 0) if a not in axes]))


def _without_nan(a: Any, fill: float) -> tuple[Any, Any]:
    """Return data with NaN replaced, and where there was none."""
    x = strong(as_term(a))
    missing = call(np.isnan, x)
    return call(np.where, missing, single(fill, x), x), call(np.logical_not, missing)


def _nan_extreme(function: Any, farthest: float) -> Any:
    """nanmax(x) = max(where(isnan(x), −∞, x)): the function that traces `np.nanmax` or `np.nanmin`;
    NaN of nothing else.
    """

    def trace(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """x → the extreme of the others, NaN where there are none."""
        refuse("np.nan" + function.__name__, out=out)
        x = strong(as_term(a))
        if x.type.dtype.kind != "f":
            return call(function, x, axis, keepdims=keepdims)
        others, present = _without_nan(x, farthest)
        found = call(function, others, axis, keepdims=keepdims)
        return call(np.where, any_(present, axis, keepdims=keepdims), found, constant(np.nan, x.type.dtype))

    return trace


implements(np.nanmax)(_nan_extreme(np.max, -np.inf))
implements(np.nanmin)(_nan_extreme(np.min, np.inf))


def _of_numbers(spread: Callable[..., Any]) -> Any:
    """nanvar(x) = var(x, where=~isnan(x)): the function that traces it; NaN of no more than ddof numbers."""

    def trace(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """x → the spread of the others, NaN where they are ≤ ddof many."""
        refuse("np.nan" + spread.__name__, out=out)
        if as_term(a).type.dtype.kind != "f":
            return spread(a, axis, dtype, ddof=ddof, keepdims=keepdims)
        present = call(np.logical_not, call(np.isnan, as_term(a)))
        result = spread(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=present)
        enough = call(np.greater, sum_(present, axis, keepdims=keepdims), ddof)
        return call(np.where, enough, result, constant(np.nan, result.type.dtype))

    return trace


implements(np.nanvar)(_of_numbers(var))
implements(np.nanstd)(_of_numbers(std))


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """nanmean(x) = Σ where(isnan(x), 0, x)/Σ ~isnan(x): traces `np.nanmean`."""
    refuse("np.nanmean", out=out)
    x, present = _without_nan(_as_floating(a, dtype), 0.0)
    total = sum_(x, axis, keepdims=keepdims)
    count = sum_(present, axis, total.type.dtype, keepdims=keepdims)
    return _as_figure(call(np.divide, total, count), a, dtype)
