"""Programs that compute in floats, and once more in doubled arithmetic where digits have cancelled."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, parts
from relgrad.kernels.doubled.number import BLOCK, Doubled
from relgrad.kernels.numbers import Twin, lowered

CHANCE = 2.0**-7
"""Of random numbers, digits may seem lost this often: the fewer entries a result has, the less they may lose."""
SMALL = 2.0**-12
"""A difference this far below its parts has lost digits, however many entries there are."""
TINY = 2.0**-26
"""So has a sum of many this far below the sum of their magnitudes, which has random signs."""


def cancels(result: Any, *parts: Any, axis: Any = ()) -> Any:
    """Return which entries of a sum are far below a part of it, |result| < ε·|part|, or False for none.

    ε is 2⁻⁷ of a single number, and at least 2⁻¹². Along axes it is the largest entries that are compared.

    >>> x = np.array([1.0, 2.0])
    >>> cancels(x - 0.5, x), cancels(x - 1.0001, x), cancels(x - 1.0001, x, axis=0)
    (False, array([ True, False]), False)
    """
    kind: type = type(result)
    if kind is float and issubclass(type(parts[0]), (float, np.floating, np.ndarray)):
        result = np.broadcast_to(result, np.shape(parts[0]))[()]
        kind = type(result)
    if kind is np.float64 or kind is np.float32:
        size = abs(result)
        return any(size < CHANCE * abs(x) for x in parts)
    if not issubclass(kind, np.ndarray):  # a stand-in for an array, while a program is traced again
        return False
    count = result.size
    for a in np.atleast_1d(axis) if axis != () else ():
        count //= result.shape[a] or 1
    found = [lost for x in parts if (lost := _below(result, x, count)) is not False]
    if found and axis != ():
        # Where the largest of a row is far below, so is an entry: that part of the row which is largest.
        largest = _largest(result, axis)
        return any(_below(largest, _largest(x, axis), count) is not False for x in parts)
    return functools.reduce(np.logical_or, found) if found else False


def _below(result: Any, part: Any, count: int) -> Any:
    """Return where |result| < ε·|part|, or False for nowhere; large arrays are looked at in the cache."""
    small = max(SMALL, CHANCE / (count or 1))
    if result.size <= 2 * BLOCK or np.shape(part) != result.shape:
        found = np.abs(result) < np.abs(part) * small
        return found if np.count_nonzero(found) else False
    r, p, found = result.reshape(-1), part.reshape(-1), np.empty(result.size, bool)
    for start in range(0, result.size, BLOCK):
        some = slice(start, start + BLOCK)
        np.less(np.abs(r[some]), np.abs(p[some]) * small, out=found[some])
    return found.reshape(result.shape) if np.count_nonzero(found) else False


def _largest(x: Any, axis: Any) -> Any:
    """Return the largest magnitudes along axes, which stay."""
    x = np.abs(x)
    x = x.reshape((1,) * max(-min(np.atleast_1d(axis)) - x.ndim, 0) + x.shape)
    return np.maximum.reduce(x, axis=axis, keepdims=True, initial=0.0)


def sum_cancels(total: Any, x: Any, axis: Any = None) -> bool:
    """Return whether a sum of n entries is below ε·Σ |x|, where ε = 2⁻⁷/√n for one sum, and at least 2⁻²⁶.

    >>> sum_cancels(np.float64(0), np.array([1.0, -1.0])), sum_cancels(np.float64(0.5), np.array([1.0, -0.5]))
    (True, False)
    """
    if not issubclass(type(total), (np.ndarray, np.floating)):
        return False
    small = _small(x.size, np.size(total))
    if axis is None and x.size <= BLOCK:
        # Σ |x| is at most √n·‖x‖.
        flat = x.reshape(-1)
        if abs(total) >= small * math.sqrt(x.size * flat.dot(flat)):
            return False
    magnitudes = np.add.reduce(np.abs(x), axis=axis, keepdims=np.ndim(total) == np.ndim(x))
    return bool(np.any(np.abs(total) < small * magnitudes))


def _small(products: int, sums: int) -> float:
    return max(TINY, CHANCE / math.sqrt(max(sums * products, 1)))


def product_cancels(product: Any, a: Any, b: Any) -> bool:
    """Return whether an entry of a product of matrices is below ε·Σ |a|·|b|, with ε as in a sum.

    >>> a = np.array([[1.0, 1.0]])
    >>> product_cancels(np.array([[0.0]]), a, np.array([[1.0], [-1.0]]))
    True
    """
    if not issubclass(type(product), (np.ndarray, np.floating)):
        return False
    size, small = np.abs(product), _small(np.size(product) * a.shape[-1], np.size(product))
    if a.size + b.size > BLOCK:
        rows = np.sqrt(np.einsum("...ij,...ij->...i", a, a))[..., None]
        columns = np.sqrt(np.einsum("...ij,...ij->...j", b, b))[..., None, :]
        if not np.count_nonzero(size < small * rows * columns):
            return False
    return bool(np.any(size < small * np.matmul(np.abs(a), np.abs(b))))


def precise(by: Callable[..., Any], entrywise: bool = False) -> Callable[[Any], Any]:
    """Return a decorator of functions that return a result, and where to ask another for it, in doubled arithmetic.

    >>> def as_written(b, c):
    ...     return b * b - c, []
    >>> @precise(by=as_written)
    ... def f(b, c):
    ...     t = b * b
    ...     return t - c, cancels(t - c, c)
    >>> float(f(np.float64(1 + 2**-30), np.float64(1 + 2**-29))) == 2**-60
    True

    Doubled results come with bounds of their errors. Where they prove that an entry is further off than they are, they
    stand in its place, if what the other function has decided, and returns besides, comes out in floats as well.
    Of an `entrywise` function, only the entries that are asked for are computed again.
    """
    return lambda function: mending(function, lambda: by, entrywise)


def mending(
    function: Callable[..., Any], by: Callable[[], Callable[..., Any]], entrywise: bool
) -> Callable[..., Any]:
    """Return the function that is `precise` by another, which is asked for when it is needed."""
    made = _Both(by)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result, lost = function(*args, **kwargs)
        if not (lost.any() if isinstance(lost, np.ndarray) else lost):
            return result
        try:
            with np.errstate(all="ignore"):
                if isinstance(lost, np.ndarray) and entrywise:
                    return _by_entries(made, args, kwargs, result, lost)
                found, alike = made(*args, **kwargs)
                found = iter(parts(found))
                return mapped(lambda x: _mended(x, next(found), np.all(alike)), result)
        except (ArithmeticError, TypeError, ValueError, AttributeError, LookupError, RuntimeError):
            # What is written for arrays of floats only, or decides by digits that are not known.
            return result

    return call


class _Both:
    """A function as written in doubled arithmetic, and where its decisions are those of floats."""

    def __init__(self, by: Callable[[], Callable[..., Any]]):
        self._by = by

    @cached_property
    def _twin(self) -> tuple[Callable[..., Any], Twin]:
        function = self._by()
        return function, Twin(function, Doubled)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        function, twin = self._twin
        found, decided = twin(*args, **kwargs)
        alike = np.True_
        if decided:
            for a, b in zip(decided, function(*args, **kwargs)[1], strict=True):
                alike = alike & (lowered(a) == b)
        return found, alike


def _by_entries(doubled: Any, args: Any, kwargs: Any, result: Any, lost: Any) -> Any:
    """Return the result with entries computed again, so many at a time that they stay in the cache."""
    shape = np.broadcast_shapes(*[np.shape(x) for x in parts(result)])
    flat = lambda x: np.broadcast_to(x, shape).reshape(-1) if np.ndim(x) else x
    args, kwargs, lost = mapped(flat, args), mapped(flat, kwargs), flat(lost)
    new = mapped(lambda x: np.array(x, order="C"), result)
    whole = [x.reshape(-1) for x in parts(new)]
    for start in range(0, lost.size, BLOCK):
        some: Any = np.flatnonzero(lost[start : start + BLOCK])
        if len(some) == 0:
            continue
        some = slice(start, start + BLOCK) if len(some) > BLOCK // 4 else some + start
        at = lambda x: x[some] if np.ndim(x) else x  # noqa: B023
        found, alike = doubled(*mapped(at, args), **mapped(at, kwargs))
        for x, better in zip(whole, parts(found), strict=True):
            x[some] = _mended(x[some], better, alike)
    return new


def _mended(x: Any, better: Any, alike: Any) -> Any:
    if not isinstance(better, Doubled) or np.shape(x) != better.shape or np.asarray(x).dtype.kind != "f":
        return x
    # The result is off by more than the doubled one, rounded, can be.
    floats = better.floats()
    sure = np.abs(floats - x) > 2.0 * better.bound + np.finfo(x.dtype).eps * np.abs(floats)
    return np.where(sure & alike, floats, x).astype(x.dtype)[()]
