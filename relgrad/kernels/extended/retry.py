"""Programs that compute in floats, and once more in extended range where that overflows or underflows."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, parts
from relgrad.kernels.extended.number import Extended, applied


def extended_range(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is computed again in extended range where a float overflows or underflows on the way.

    >>> @extended_range
    ... def f(x):
    ...     return np.sqrt(x * x + 1)
    >>> f(np.array([1e200, 0.0]))
    array([1.e+200, 1.e+000])

    The function consists of NumPy calls and of functions of arrays; what has no rule for extended range sees floats.
    """
    wide = ExtendedTwin(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            with np.errstate(over="raise", under="raise"):
                return function(*args, **kwargs)
        except (FloatingPointError, OverflowError) as error:
            if not str(error).startswith(("overflow", "underflow", "(34")):
                raise
        try:
            found = wide(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, IndexError, NotImplementedError):
            # What is written for arrays of floats only gets them, and their range.
            return function(*args, **kwargs)
        if not any(map(_has_nan, parts(found))):
            return found
        # What has no rule for extended range may not know huge numbers: NaN is what floats have there.
        with np.errstate(all="ignore"):
            plain = iter(parts(function(*args, **kwargs)))
        return mapped(lambda x: _filled(x, next(plain)), found)

    return call


def _has_nan(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.floating)) and x.dtype.kind == "f" and bool(np.isnan(x).any())


def _filled(x: Any, plain: Any) -> Any:
    return np.where(np.isnan(x), plain, x)[()] if _has_nan(x) and np.shape(plain) == np.shape(x) else x


class ExtendedTwin:
    """A function with NumPy, kernels and constants that know numbers of extended range: it computes in that."""

    def __init__(self, function: Any):
        self._function = function

    @cached_property
    def _twin(self) -> Callable[..., Any]:
        f = self._function
        names = {name: _widened(x) for name, x in f.__globals__.items() if not name.startswith("__")}
        twin = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)
        twin.__kwdefaults__ = f.__kwdefaults__
        return twin

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result = self._twin(*[mapped(_to_extended, x) for x in args], **mapped(_to_extended, kwargs))
        return mapped(_to_floats, result)


def _widened(x: Any) -> Any:
    if x is np:
        return _Namespace()
    if isinstance(x, np.ndarray):
        return _to_extended(x)
    return _dispatched(x) if isinstance(x, types.FunctionType) else x


def _dispatched(function: Any) -> Any:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        wide = any(isinstance(x, Extended) for x in (*args, *kwargs.values()))
        return applied(function, args, kwargs) if wide else function(*args, **kwargs)

    return call


class _Namespace:
    """NumPy, with numbers of extended range where its own functions would make floats of them."""

    def __init__(self) -> None:
        self.float64, self.float32 = _Float(np.float64), _Float(np.float32)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        """Return the same numbers in a dtype."""
        if isinstance(x, Extended):
            return x if dtype is None else x.astype(dtype)
        return _to_extended(np.asarray(x, dtype))

    array = asarray

    def full(self, shape: Any, x: Any, dtype: Any = None) -> Any:
        """Return an array of equal numbers."""
        if isinstance(x, Extended):
            return self.asarray(np.broadcast_to(x, shape), dtype)
        return np.full(shape, x, dtype)


class _Float:
    """A floating type, which converts to numbers of extended range."""

    def __init__(self, kind: Any):
        self.dtype = np.dtype(kind)

    def __call__(self, x: Any) -> Extended:
        return Extended.of(x, self.dtype)


def _to_extended(x: Any) -> Any:
    return Extended.of(x) if isinstance(x, (np.ndarray, np.floating)) and x.dtype.kind == "f" else x


def _to_floats(x: Any) -> Any:
    return x.floats() if isinstance(x, Extended) else x
