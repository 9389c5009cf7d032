"""What every kernel shares: NumPy's override protocol, silence, and floating dtypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
_PLAIN = (np.ndarray, np.float64, np.float32, float, int)


def kernel(function: F) -> F:
    """Let arrays that are not NumPy's own take over a call (NEP 18), and keep floating point errors silent.

    Programs that call kernels can thus be traced again.
    """
    return _kernel(function, lambda: np.errstate(all="ignore"))


def entrywise(function: F) -> F:
    """Make a kernel of single entries: its operands come as arrays of their common floating dtype."""

    @wraps(function)
    def call(*operands: Any) -> Any:
        return function(*floats(*operands))

    return kernel(cast(F, call))


def arithmetic_kernel(function: F) -> F:
    """Make a kernel that overflows and underflows as NumPy's arithmetic does, which callers may have raised."""
    return _kernel(function, _raised_or_silent)


def _raised_or_silent() -> Any:
    state = np.geterr()
    how: Any = {name: "raise" if state[name] == "raise" else "ignore" for name in ("over", "under")}
    return np.errstate(divide="ignore", invalid="ignore", **how)


def ranged(numbers: Callable[..., Any]) -> Callable[[F], F]:
    """Make a kernel that overflows and underflows where it leaves the range of floats at what `numbers` says."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*args)
            tell_range(result, numbers(*args))
            return result

        return arithmetic_kernel(cast(F, call))

    return decorate


def tell_range(result: Any, numbers: Any) -> None:
    """Raise FloatingPointError, where callers want it, for results out of range that are `numbers` but for that."""
    state = np.geterr()
    if state["over"] == "raise" and np.any(numbers & ~np.isfinite(result)):
        raise FloatingPointError("overflow encountered in a kernel")
    if state["under"] == "raise" and np.any(
        numbers & (np.abs(result) < np.finfo(np.result_type(result)).tiny)
    ):
        raise FloatingPointError("underflow encountered in a kernel")


def _kernel(function: F, errors: Callable[[], Any]) -> F:
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
    """Return the operands as arrays of their common floating dtype; Python numbers take their partners'."""
    scalars = [x if type(x) in (bool, int, float) else np.asarray(x) for x in arrays]
    dtype = np.result_type(*scalars)
    if dtype.kind != "f":
        dtype = np.result_type(dtype, np.float64)
    return [np.asarray(x, dtype) for x in scalars]
