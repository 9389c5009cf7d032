"""Common to all kernels: NumPy's override protocol, silence, and floating dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
BLOCK = 1 << 13
"""So many entries at a time,"""
ROWS = 1 << 15
"""and so many where they are read in rows, each of which costs a few calls."""
SHORT = 16
"""Rows of so many entries are short."""
_PLAIN = (np.ndarray, np.float64, np.float32, float, int)


def kernel(function: F) -> F:
    """Let arrays that are not NumPy's own take over a call (NEP 18), and keep floating point errors silent.

    Programs that call kernels can thus be traced again.
    """
    return _kernel(function, lambda: np.errstate(all="ignore"))


def overridable(function: F) -> F:
    """Make a kernel that only moves, adds and multiplies, and has the floating point errors of these."""
    return _kernel(function, np.errstate)


def entrywise(function: F) -> F:
    """log(1 + eˣ) at −800 → underflow: a kernel of entries that is `ranged` for numbers other than 0, and vanishes."""
    return ranged(_are_numbers, "vanishes")(function)


def _are_numbers(*arrays: Any) -> Any:
    """(1, 0, ∞) → (True, False, False): where all operands are numbers other than 0, at which results may be exact."""
    return np.logical_and.reduce([np.isfinite(x) & (x != 0) for x in np.broadcast_arrays(*arrays)])


def by_entries(function: F) -> F:
    """Let a function of single entries have arrays of the common floating dtype of its operands, `in_blocks`."""

    @wraps(function)
    def call(*operands: Any) -> Any:
        return in_blocks(function, floats(*operands))

    return cast(F, call)


def in_blocks(function: Callable[..., Any], arrays: Sequence[Any], by_rows: bool = False) -> Any:
    """f(x) = (f(x₁), f(x₂), …) for the blocks of large arrays, so that intermediate results stay in the cache.

    The function is one of single entries, or of rows along the last axis.
    """
    most = ROWS if by_rows else BLOCK
    size = max([x.size for x in arrays])
    shape = max([x.shape for x in arrays], key=len) if size > 2 * most else None
    if shape is None or any(x.ndim and (x.shape != shape or not x.flags.c_contiguous) for x in arrays):
        return function(*arrays)
    row = shape[-1:] if by_rows else ()
    flat = [x.reshape(-1, *row) if x.ndim else x for x in arrays]
    result = np.empty((size // math.prod(row), *row), flat[0].dtype)
    step = max(1, most // math.prod(row))
    for start in range(0, len(result), step):
        some = slice(start, start + step)
        result[some] = function(*[x[some] if x.ndim else x for x in flat])
    return result.reshape(shape)


def arithmetic_kernel(function: F) -> F:
    """Make a kernel that overflows and underflows as NumPy's arithmetic does, which callers may have raised."""
    return _kernel(function, _raised_or_silent)


def _raised_or_silent() -> Any:
    state = np.geterr()
    how: Any = {name: "raise" if state[name] == "raise" else "ignore" for name in ("over", "under")}
    return np.errstate(divide="ignore", invalid="ignore", **how)


def ranged(numbers: Callable[..., Any], how: str = "grows") -> Callable[[F], F]:
    """1/(eˣ − 1) at 1e-310 → overflow: a kernel of entries that tells if results for `numbers` leave the range.

    `how` is the question of the contract that its op answers.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*arrays: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*arrays)
            tell_range(result, lambda: numbers(*arrays))
            return result

        told = _kernel(by_entries(cast(F, call)), np.errstate)
        told.tells = how  # type: ignore[attr-defined]  # what the op asks that calls it
        return told

    return decorate


def tell_range(result: Any, numbers: Callable[[], Any]) -> None:
    """(1e-310, inf), numbers True → FloatingPointError, where callers want it: results out of range, but of numbers."""
    state = np.geterr()
    if "raise" not in (state["over"], state["under"]):
        return
    size, limits = np.abs(result), np.finfo(np.asarray(result).dtype)
    if np.logical_and.reduce((size >= limits.tiny) & (size <= limits.max), axis=None):
        return
    if state["over"] == "raise" and np.any(numbers() & ~(size <= limits.max)):
        raise FloatingPointError("overflow encountered in a kernel")
    if state["under"] == "raise" and np.any(numbers() & (size < limits.tiny)):
        raise FloatingPointError("underflow encountered in a kernel")


def _kernel(function: F, errors: Callable[[], Any]) -> F:
    """f(x) → x.__array_function__(f, …) for an x that is no array of NumPy's, else f(x) under `errors()`."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if (
                type(x) not in _PLAIN
                and hasattr(type(x), "__array_function__")
                and not issubclass(type(x), np.ndarray)
            ):
                return x.__array_function__(call, (type(x),), args, kwargs)
        with errors():
            return function(*args, **kwargs)

    return cast(F, call)


def floats(*arrays: Any) -> list[np.ndarray]:
    """(1, float32 x) → float32 arrays, (1, 2) → float64: operands as arrays of their common floating dtype.

    Python numbers take their partners'.
    """
    scalars = [x if type(x) in (bool, int, float) else np.asarray(x) for x in arrays]
    dtype = np.result_type(*scalars)
    if dtype.kind != "f":
        dtype = np.result_type(dtype, np.float64)
    return [np.asarray(x, dtype) for x in scalars]


def reduced(ufunc: np.ufunc, x: Any, axis: int | tuple[int, ...] | None, **options: Any) -> Any:
    """Σ x over axes, which stay: of short rows entry by entry of all, since NumPy is as slow for each as for many."""
    if axis == -1 and 0 < x.shape[-1] <= SHORT and x.size > 4 * SHORT * SHORT:
        total = np.array(x[..., :1], options.get("dtype"))
        for i in range(1, x.shape[-1]):
            ufunc(total, x[..., i : i + 1], out=total)
        return total
    return ufunc.reduce(x, axis=axis, keepdims=True, **options)
