"""Programs that compute in floats, and once more in extended range where that overflows or underflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, paired, parts
from relgrad.kernels.extended.number import Extended
from relgrad.kernels.numbers import Twin, lowered


def extended_range(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is computed again in extended range where a float overflows or underflows on the way.

    >>> @extended_range
    ... def f(x):
    ...     return np.sqrt(x * x + 1)
    >>> f(np.array([1e200, 0.0]))
    array([1.e+200, 1.e+000])

    The function consists of NumPy calls and of functions of arrays; what has no rule for extended range sees floats.
    """
    wide = Twin(function, Extended)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with np.errstate(over="raise", under="raise"):
                return function(*args, **kwargs)
        except (FloatingPointError, OverflowError) as error:
            if not str(error).startswith(("overflow", "underflow", "(34")):
                raise
        try:
            with np.errstate(all="ignore"):
                found = wide(*args, **kwargs)
            found = mapped(lowered, found)
        except (TypeError, ValueError, AttributeError, IndexError, NotImplementedError):
            # What is written for arrays of floats only gets them, and their range.
            return function(*args, **kwargs)
        if not any(map(_has_nan, parts(found))):
            return found
        # What has no rule for extended range may not know huge numbers: NaN is what floats have there.
        with np.errstate(all="ignore"):
            return paired(_filled, found, function(*args, **kwargs))

    return call


def _has_nan(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.floating)) and x.dtype.kind == "f" and bool(np.isnan(x).any())


def _filled(x: Any, plain: Any) -> Any:
    return np.where(np.isnan(x), plain, x)[()] if _has_nan(x) and np.shape(plain) == np.shape(x) else x
