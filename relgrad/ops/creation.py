"""Arrays made from nothing but a shape, or from nested lists that hold symbolic arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import Symbolic, as_term, constant, strong
from relgrad.ops.arguments import call, is_symbolic, normalize_axis, refuse, require_ground
from relgrad.ops.axes import broadcast_together
from relgrad.ops.casting import cast
from relgrad.ops.structure import broadcast_like, broadcast_to, expand


def stack_nested(x: Any) -> Any:
    """[[x, 1], [2, y]] → stack of the parts: the term of a nested list that may hold symbolic arrays, as `np.array`
    reads one.

    Raises ShapeError where the parts differ in shape.
    """
    if not isinstance(x, (list, tuple)) or not holds_symbolic(x):
        return strong(as_term(x))
    parts = [stack_nested(part) for part in x]
    shapes = {part.type.shape for part in parts}
    if len(shapes) != 1:
        raise ShapeError(
            "cannot make an array of parts that differ in shape",
            cause="the parts have shapes " + ", ".join(sorted(map(str, shapes))),
            cure="bring them to one shape, or join them along an axis with np.concatenate",
        )
    return call(np.concatenate, [expand(part, (-part.type.ndim - 1,)) for part in parts], 0)


def holds_symbolic(x: Any) -> bool:
    """Whether an argument is a symbolic array, or a list or tuple that holds one."""
    if isinstance(x, (list, tuple)):
        return any(holds_symbolic(part) for part in x)
    return is_symbolic(x)


def filled(like: Any, value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """(x : (3,), 2) → [2, 2, 2]: an array of one value, of the shape (and dtype, unless given) of a term."""
    x = require_ground("np.full_like", like)
    dtype = x.type.dtype if dtype is None else np.dtype(dtype)
    if isinstance(value, Symbolic) or is_symbolic(value):
        single = as_term(cast(as_term(value), dtype))
    else:
        single = constant(value, dtype)
    if shape is not None:
        return broadcast_to(single, _shape(shape))
    if single.type.ndim > x.type.ndim:
        raise ShapeError(
            f"cannot fill an array of shape {x.type.shape} from one of shape {single.type.shape}"
        )
    return broadcast_like(single, x)


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, shape)) if isinstance(shape, (tuple, list)) else (operator.index(shape),)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """full_like(x, v)ᵢ = v: traces `np.full_like`; the value may be traced, and broadcasts."""
    refuse("np.full_like", device=None if device == "cpu" else device)
    return filled(a, fill_value, dtype, shape)


def _filled_with(name: str, value: int) -> Any:
    """ones_like(x)ᵢ = 1: the function that traces `np.ones_like` or `np.zeros_like`."""

    def trace(
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        """x → an array of the value in the shape of x."""
        refuse(name, device=None if device == "cpu" else device)
        return filled(a, value, dtype, shape)

    return trace


implements(np.zeros_like, np.empty_like)(_filled_with("np.zeros_like", 0))
implements(np.ones_like)(_filled_with("np.ones_like", 1))


def _from_shape(name: str, value: int) -> Any:
    """ones((2, 3))ᵢⱼ = 1: the function that traces `np.ones` or `np.zeros`."""

    def trace(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
        refuse(name, device=None if device == "cpu" else device)
        return broadcast_to(constant(value, np.float64 if dtype is None else dtype), _shape(shape))

    return trace


implements(np.zeros, np.empty)(_from_shape("np.zeros", 0))
implements(np.ones)(_from_shape("np.ones", 1))


@implements(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """Trace `np.full` with a traced value, or with `like=`."""
    refuse("np.full", device=None if device == "cpu" else device)
    value = strong(as_term(fill_value))
    if dtype is not None:
        return filled(value, value, dtype, shape)
    return broadcast_to(value, _shape(shape))


def _evaluated(function: Any) -> Any:
    """Return what traces a function of plain numbers that was called with `like=`."""

    def trace(*args: Any, **kwargs: Any) -> Any:
        return constant(function(*args, **kwargs))

    return trace


for _function in (np.arange, np.eye, np.identity, np.tri):
    implements(_function)(_evaluated(_function))


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """linspace(a, b)ₖ = a + k·(b − a)/n, between traced ends, to the last bit as NumPy rounds it:
    traces `np.linspace`.
    """
    refuse("np.linspace", device=None if device == "cpu" else device)
    # Python numbers give way to the dtype of the other end.
    kinds = [
        x if type(x) in (int, float) else require_ground("np.linspace", x).type.dtype for x in (start, stop)
    ]
    floating = np.result_type(*kinds, 0.0)
    ends = [
        np.asarray(x, floating) if type(x) in (int, float) else cast(as_term(x), floating)
        for x in (start, stop)
    ]
    first, last = broadcast_together([require_ground("np.linspace", x) for x in ends])
    rise = call(np.subtract, last, first)
    shape = first.type.shape
    axis = normalize_axis(axis, len(shape) + 1)
    gaps = num - 1 if endpoint else num
    k = np.arange(operator.index(num), dtype=floating).reshape(-1, *[1] * (-axis - 1))
    first, last = (expand(x, (axis,)) if shape else x for x in (first, last))
    step = call(np.divide, expand(rise, (axis,)) if shape else rise, floating.type(max(gaps, 1)))
    result = call(np.add, call(np.multiply, k, step), first)
    if endpoint and num > 1:
        result = call(np.where, k == num - 1, last, result)
    if dtype is not None:
        whole = np.dtype(dtype).kind in "iu"
        result = cast(call(np.floor, result) if whole else as_term(result), np.dtype(dtype))
    return (result, call(np.divide, rise, float(gaps) if gaps else np.nan)) if retstep else result


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """meshgrid(x, y) → X[j, i] = x[i], Y[j, i] = y[j]: traces `np.meshgrid`."""
    rank = len(xi)
    vectors = [call(np.ravel, x) for x in xi]
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = 1, 0
    grids = [
        expand(x, tuple([a for a in range(-rank, 0) if a + rank != p]))
        for x, p in zip(vectors, places, strict=True)
    ]
    return tuple(grids) if sparse else tuple(call(np.broadcast_arrays, *grids))
