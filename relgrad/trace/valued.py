"""NumPy functions whose results' shapes, or the places that they write to, depend on values: those are decided.

np.nonzero(x > 0)     the places where the call that is traced has x > 0
np.add.at(y, i, v)    y[i[0]] += v[0]; y[i[1]] += v[1]; …, for the i of the call
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.implementations import IMPLEMENTATIONS
from relgrad.op import as_term, constant
from relgrad.ops.arguments import call, is_symbolic
from relgrad.ops.casting import cast
from relgrad.ops.creation import stack_nested
from relgrad.ops.gather import ARRAY, Scatter
from relgrad.ops.shaping import reshape
from relgrad.trace.decisions import decided, is_deciding
from relgrad.trace.dispatch import QUERIES, REDUCTIONS
from relgrad.trace.handle import Handle
from relgrad.trace.keys import settled
from relgrad.trace.lens import fitted, positions, scattered
from relgrad.trace.numbers import SURE, number
from relgrad.trace.refusal import UnrecordedError, refuse_condition, refuse_write
from relgrad.trace.tracer import Tracer, gathered, wrap


def _truth(x: Any) -> np.ndarray:
    """Return where entries are not zero, which is decided."""
    return _decided(_is_true(x))


def _is_true(x: Any) -> Any:
    """Return where entries are not zero."""
    x = x if is_symbolic(x) else np.asarray(x)
    return x if x.dtype.kind == "b" else np.not_equal(x, 0)


def _decided(x: Any) -> np.ndarray:
    """x > 0 → [True, False]: an array of integers or booleans in place of a traced one."""
    if not is_symbolic(x):
        return np.asarray(x)
    value = decided(x.term)
    return np.asarray(refuse_condition() if value is None else value)


def _of_truth(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.nonzero → (x ↦ np.nonzero(x ≠ 0), decided): a function of where entries are not zero."""
    return lambda a: function(_truth(a))


def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """bincount([0, 1, 1]) = [1, 2]: traces `np.bincount`, positions decided where they tell the shape."""
    if not is_symbolic(x) or not is_deciding():
        return NotImplemented
    if minlength > 0 and np.size(x) and bool(np.max(x) < minlength):  # as many bins for all such x
        return NotImplemented
    return np.bincount(_decided(x), weights, minlength)


def _target(function: Any, x: Any) -> Handle:
    """tracer → itself, ndarray → UnrecordedError: the array that a function writes to."""
    if isinstance(x, Handle):
        return x
    return refuse_write(
        f"{function} writes into an array that is not traced, and what it writes is",
        "make the array within the function, y = np.array(y), or take an argument",
        UnrecordedError,
    )


def _write_at(x: Handle, places: np.ndarray, values: Any) -> None:
    """Write values to places of an array, counted row by row, the last one where a place is named twice."""
    if places.size:
        y = fitted(as_term(cast(stack_nested(values), x.kind.dtype)), places.shape)
        x.write(scattered(x.term, places, y))


VALUES = ("v", "vals", "values", "val")
"""What the functions that write into an array call that which they write."""


def _writing(function: Callable[..., Any]) -> Callable[..., None]:
    """np.put → ((x, i, v) ↦ x with v at i): a function that writes into its first argument, at places that are decided.

    Which value stands where is asked of NumPy: put(positions of x, i, further positions, those of v).
    """

    def write(*args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(function).bind(*args, **kwargs)
        (first, a), *_ = (given := bound.arguments).items()
        x = _target(f"np.{function.__name__}", a)
        for name in given.keys() - {first}:
            value = gathered(given[name])
            if name not in VALUES and is_symbolic(value):
                value = _truth(value) if name == "mask" else _decided(value)
            given[name] = value
        name = next(name for name in VALUES if name in given)
        v: Any = given[name]
        places = positions(x.kind.shape)
        new = np.arange(places.size, places.size + np.size(v)).reshape(np.shape(v))
        # Entries of these dtypes first: NumPy raises where values cannot be converted.
        for target, values in ((_ones(x), _ones(v)), (places, new)):
            given[first], given[name] = target, values
            function(*bound.args, **bound.kwargs)
        chosen = np.flatnonzero(places >= places.size)
        flat = np.ravel(v)
        _write_at(x, chosen, flat if flat.size == 1 else flat[places.ravel()[chosen] - places.size])

    return write


def _ones(x: Any) -> Any:
    """x : float32 (3,) → [1, 1, 1]; a plain value → itself: what NumPy may be asked with about shapes and dtypes."""
    return np.ones(np.shape(x), _dtype(x)) if is_symbolic(x) else x


def _at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """Trace `ufunc.at(a, indices, b)`: a[indices] = ufunc(a[indices], b), once for each time that an entry is named."""
    x = _target(f"np.{ufunc.__name__}.at", a)
    indices = settled(indices, written=True)
    with np.errstate(all="ignore"):
        ufunc.at(_ones(x), indices, *([] if b is None else [_ones(b)]))  # raises what NumPy raises
    chosen = positions(x.kind.shape)[indices]
    if not chosen.size:
        return
    values = None if b is None else np.broadcast_to(b, chosen.shape).reshape(-1)
    places = chosen.ravel()
    # All at once where nothing is rounded in between: NumPy converts each sum to the dtype of the array.
    exact = b is not None and (x.kind.dtype.kind == "f" or np.can_cast(_dtype(b), x.kind.dtype, "same_kind"))
    if ufunc in (np.add, np.subtract) and exact and x.kind.dtype.kind != "b":
        added = as_term(cast(as_term(values), x.kind.dtype))
        size = (x.kind.size,)
        total = Scatter((ARRAY,), size).make_node(added, constant(places))
        result = call(ufunc, x.term, reshape(total, x.kind.shape))
        x.write(as_term(cast(result, x.kind.dtype)))
        return
    for round_ in _rounds(places):
        at = places[round_]
        entries = wrap(x.term).reshape(-1)[at]
        _write_at(x, at, ufunc(entries) if values is None else ufunc(entries, values[round_]))


def _dtype(x: Any) -> np.dtype:
    return x.dtype if is_symbolic(x) else np.asarray(x).dtype  # type: ignore[attr-defined]


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """x = a⁺·b, Σ(b − a·x)², rank, s: traces `np.linalg.lstsq`; the rank is decided."""
    (m, n), eps = np.shape(a), np.finfo(_dtype(a) if _dtype(a).kind == "f" else float).eps
    rtol = float(eps * max(m, n) if rcond is None else eps if rcond < 0 else rcond)
    s = np.linalg.svdvals(a)
    rank = int(_decided(s > rtol * s[:1]).sum())
    x: Any = np.matmul(np.linalg.pinv(a, rtol), b)
    rest: Any = np.sum(np.square(b - np.matmul(a, x)), axis=0).reshape(-1) if m > n == rank else np.zeros(0)
    return x, rest, np.int32(rank), s


def _cond(x: Any, p: Any = None) -> Any:
    if p in (None, 2, -2):
        s = np.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


def _accumulate(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """ufunc.accumulate([a, b, c]) = [a, f(a, b), f(f(a, b), c)]:
    traced step by step, where nothing says how at once.
    """
    if not _is_stepwise(ufunc, "accumulate") or out is not None:
        return NotImplemented
    rows, _ = _rows(ufunc, array, axis, dtype)
    return np.moveaxis(np.stack([*itertools.accumulate(rows, ufunc)]) if len(rows) else rows, 0, axis)


def _rows(ufunc: np.ufunc, array: Any, axis: int, dtype: Any) -> tuple[Any, np.dtype[Any]]:
    """(np.add, x : int8, 0) → x in the dtype of its sum, int64: an array with one axis first, as a ufunc folds it."""
    if dtype is None:
        kind = ufunc.resolve_dtypes((None, array.dtype, None), reduction=True)[-1]
    else:
        signature = (np.dtype(dtype), None, None)
        given = (None, array.dtype, None)
        kind = ufunc.resolve_dtypes(given, signature=signature, casting="unsafe", reduction=True)[-1]
    x = np.moveaxis(array, axis, 0)
    return (x if x.dtype == kind else x.astype(kind)), kind


def _is_stepwise(ufunc: np.ufunc, method: str) -> bool:
    """Whether a method of a ufunc is traced step by step, since nothing says how to do it at once."""
    known = ((ufunc, method) in methods for methods in (IMPLEMENTATIONS, REDUCTIONS))
    return ufunc in IMPLEMENTATIONS and ufunc.nin == 2 and not any(known)


def _reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """subtract.reduce([a, b, c]) = a − b − c: traces `ufunc.reduce` step by step along one axis."""
    if not _is_stepwise(ufunc, "reduce") or out is not None or where is not True or initial is None:
        return NotImplemented
    if ufunc in (
        np.power,
        np.arctan2,
    ):  # NumPy 2.4 may answer with what it is of the first entry and the last
        return NotImplemented
    if not array.ndim and axis in (None, 0, -1):
        array, axis, keepdims = np.reshape(array, 1), 0, False
    axes = tuple(range(array.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) != 1:
        return NotImplemented
    rows, kind = _rows(ufunc, array, axes[0], dtype)
    steps = [*rows]
    if initial is not np._NoValue:
        steps = [np.broadcast_to(np.asarray(initial).astype(kind), rows.shape[1:]), *steps]
    if len(steps) < 2 and ufunc.identity is not None:  # one entry meets the identity: hypot(0, -3) is 3
        steps = [np.full(rows.shape[1:], ufunc.identity, kind), *steps]
    if not steps:
        return NotImplemented
    result = functools.reduce(ufunc, steps)
    return np.expand_dims(result, axes[0]) if keepdims else result


def _reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """add.reduceat(x, [0, 2]) = [x₀ + x₁, x₂ + …]: traces `ufunc.reduceat`, from each index to the next, or one
    entry.
    """
    if out is not None:
        return NotImplemented
    axis = 0 if axis is None and np.ndim(array) == 1 else axis
    x = np.moveaxis(array, axis, 0)
    starts = _decided(indices)
    made = ufunc.reduceat(np.ones(len(x), x.dtype), starts, dtype=dtype).dtype  # raises what NumPy raises
    parts = [x[i : max(j, i + 1)] for i, j in zip(starts, [*starts, len(x)][1:], strict=True)]
    if not parts:
        return array.copy() if not len(x) else NotImplemented
    # One entry stays what it is, unlike that of a reduction, which meets the identity; but for truth values of it.
    stays = dtype is None and ufunc.resolve_dtypes((x.dtype, x.dtype, None))[-1] == x.dtype
    found = [part[0] if stays and len(part) == 1 else ufunc.reduce(part, dtype=dtype) for part in parts]
    return np.moveaxis(np.stack(found).astype(made), 0, axis)


def _rounds(places: np.ndarray) -> list[np.ndarray]:
    """[2, 0, 2] → [[0, 1], [2]]: indices into places, in order, so that no place is named twice in one of the
    groups.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
    rank = np.empty(places.size, int)
    rank[order] = np.arange(places.size) - np.repeat(starts, np.diff([*starts, places.size]))
    return [np.flatnonzero(rank == r) for r in range(rank.max() + 1)]


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """piecewise(x, [c, d], [f, g]) = f(x[c]) at c, g(x[d]) at d: traces `np.piecewise`, conditions decided."""
    single = not isinstance(condlist, (list, tuple)) and np.ndim(condlist) == np.ndim(x)
    single = single or (
        isinstance(condlist, (list, tuple)) and condlist and np.ndim(condlist[0]) == 0 != np.ndim(x)
    )
    conditions = [*map(_is_true, np.stack([condlist] if single else condlist))]  # all of one shape
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(np.stack(conditions), axis=0))
    x, conditions, shape = np.atleast_1d(x), [*map(np.atleast_1d, conditions)], np.shape(x)
    y = np.zeros_like(x)
    for chosen, f in zip(conditions, funclist, strict=True):
        if chosen.any():
            y[chosen] = f(x[chosen], *args, **kwargs) if callable(f) else f
    return y.reshape(shape)


def _sort(self: Tracer, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    self.write(as_term(np.sort(self, axis=axis)))


def _partition(self: Tracer, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    self.write(as_term(np.partition(self, kth, axis=axis)))  # type: ignore[call-overload]


def _polymul(a1: Any, a2: Any) -> Any:
    if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
        return NotImplemented
    return np.convolve(*[_leading(np.atleast_1d(a)) for a in (a1, a2)])


def _leading(a: Any) -> Any:
    """Return coefficients from the first that is not zero."""
    kept = np.trim_zeros(a, "f")
    return kept if len(kept) else np.zeros(1)


def _of_integers(function: Any) -> Callable[..., Any]:
    """Return a function of integers, which are decided."""
    return lambda first, *args, **kwargs: function(
        tuple(map(_decided, first)) if isinstance(first, tuple) else _decided(first), *args, **kwargs
    )


def _item(self: Tracer, *args: Any) -> Any:
    if not args:
        return number(self.reshape(())) if self.size == 1 else np.empty(self.shape).item()
    return number(self.ravel()[args[0]] if len(args) == 1 and not isinstance(args[0], tuple) else self[args])


def _round(rounded: Tracer) -> Any:
    """round(2.5) = 2: a whole number as Python's integer, which gives way to the dtypes of arrays;
    a large one is decided.
    """
    if rounded.dtype.kind == "f" and float(np.finfo(rounded.dtype).max) > 2.0**SURE:
        small = decided(call(np.less, call(np.abs, rounded.term), 2.0**SURE))
        if small is not None and not small:
            return int(rounded)
    return number(rounded.astype(np.int64))


def _tolist(self: Tracer) -> Any:
    return [x.tolist() for x in self] if self.ndim else number(self)


def _where(condition: Any, *branches: Any) -> Any:
    return np.nonzero(_truth(condition)) if not branches else NotImplemented


QUERIES.update(
    {
        np.nonzero: _of_truth(np.nonzero),
        np.bincount: _bincount,
        np.linalg.lstsq: _lstsq,
        np.linalg.cond: _cond,
        np.polymul: _polymul,
        **{f: _of_integers(f) for f in (np.unravel_index, np.ravel_multi_index)},
        **{f: _writing(f) for f in (np.put, np.put_along_axis, np.place, np.putmask, np.fill_diagonal)},
        np.piecewise: _piecewise,
        np.where: _where,
        (np.ufunc, "at"): _at,
        (np.ufunc, "accumulate"): _accumulate,
        (np.ufunc, "reduce"): _reduce,
        (np.ufunc, "reduceat"): _reduceat,
        "sort": _sort,
        "partition": _partition,
        "item": _item,
        "tolist": _tolist,
        "__round__": _round,
        "nonzero": _of_truth(np.nonzero),
        "put": _writing(np.put),
        "itemset": lambda self, *args: self.__setitem__(args[:-1], args[-1]),
    }
)
