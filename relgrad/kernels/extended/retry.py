"""Programs that compute in floats, and once more in extended range where that overflows or underflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, paired
from relgrad.kernels.extended.number import Extended
from relgrad.kernels.numbers import Twin, has_nan, lowered


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
    call = _retried(function, wide, told=False)
    call.attempt = _retried(function, wide, told=True)  # type: ignore[attr-defined]  # for who knows better than floats
    return call


def _retried(function: Callable[..., Any], wide: Twin, told: bool) -> Callable[..., Any]:
    """Return a function that is computed again where it leaves the range; `told` besides whether it stayed in it.

    Who is told fills in what neither knows.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with np.errstate(over="raise", under="raise"):
                found = function(*args, **kwargs)
            return (found, True) if told else found
        except (FloatingPointError, OverflowError) as error:
            if not str(error).startswith(("overflow", "underflow", "(34")):
                raise
        try:
            with np.errstate(all="ignore"):
                found = wide(*args, **kwargs)
            found = mapped(lowered, found)
        except (TypeError, ValueError, AttributeError, IndexError, NotImplementedError):
            # What is written for arrays of floats only gets them, and their range.
            found = function(*args, **kwargs)
            return (found, True) if told else found
        return (found, False) if told else filled(found, function, args, kwargs)

    return call


def filled(found: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return what was found in extended range, and where that is NaN what floats have there.

    What has no rule for extended range may not know huge numbers.
    """
    if not has_nan(found):
        return found
    with np.errstate(all="ignore"):
        return paired(_filled, found, function(*args, **kwargs))


def _filled(x: Any, plain: Any) -> Any:
    return np.where(np.isnan(x), plain, x)[()] if has_nan(x) and np.shape(plain) == np.shape(x) else x
