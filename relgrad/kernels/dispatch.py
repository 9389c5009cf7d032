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

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if (
                type(x) not in _PLAIN
                and hasattr(type(x), "__array_function__")
                and not isinstance(x, np.ndarray)
            ):
                return x.__array_function__(call, (type(x),), args, kwargs)
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return cast(F, call)


def floats(*arrays: Any) -> list[np.ndarray]:
    """Return the operands as arrays of their common floating dtype; Python numbers take their partners'."""
    scalars = [x if type(x) in (bool, int, float) else np.asarray(x) for x in arrays]
    dtype = np.result_type(*scalars)
    if dtype.kind != "f":
        dtype = np.result_type(dtype, np.float64)
    return [np.asarray(x, dtype) for x in scalars]
