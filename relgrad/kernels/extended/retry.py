"""Programs that compute in floats, and once more in extended range where that overflows or underflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, paired, parts
from relgrad.kernels.extended.number import Extended
from relgrad.kernels.numbers import OF_FLOATS_ONLY, Twin, has_nan, innermost, is_floating, lowered
from relgrad.kernels.watched import Shaken, is_steady


def extended_range(function: Callable[..., Any]) -> Callable[..., Any]:
    """f → f, computed again in extended range where a float overflows or underflows on the way.

    >>> @extended_range
    ... def f(x):
    ...     return np.sqrt(x * x + 1)
    >>> f(np.array([1e200, 0.0]))
    array([1.e+200, 1.e+000])

    The function consists of NumPy calls and of functions of arrays; what has no rule for extended range sees floats.
    """
    wide, shaken = Twin(function, Extended), Twin(function, Shaken)
    call = _retried(function, wide, shaken, told=False)
    call.attempt = _retried(function, wide, shaken, told=True)  # type: ignore[attr-defined]  # for who knows better than floats
    return call


def _retried(function: Callable[..., Any], wide: Twin, shaken: Twin, told: bool) -> Callable[..., Any]:
    """f → f in floats, and again in extended range where it leaves theirs, and that matters.

    A caller that is `told` whether floats were enough, besides, fills in NaN by itself.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        """f(x); where that overflows or underflows, still f(x) if shaken floats make that, else f in extended range."""
        try:
            with np.errstate(over="raise", under="raise"):
                found = function(*args, **kwargs)
            return (found, True) if told else found
        except (FloatingPointError, OverflowError) as error:
            underflowed = str(error).startswith("underflow")
            if not underflowed and not str(error).startswith(("overflow", "(34")):
                raise
        with np.errstate(all="ignore"):
            found = _steady(function, shaken, args, kwargs, overflowed=not underflowed)
            stayed = found is not None
            if not stayed:
                try:
                    found = wide(*args, **kwargs)
                except (TypeError, ValueError, AttributeError, IndexError, NotImplementedError):
                    stayed = True
        if found is None:  # what is written for arrays of floats only gets them, and their range
            found = function(*args, **kwargs)
        found = mapped(lowered, found)
        if told:
            return found, stayed
        return found if stayed else filled(found, lambda: function(*args, **kwargs), (args, kwargs))

    return call


def _steady(function: Callable[..., Any], shaken: Twin, args: Any, kwargs: Any, overflowed: bool) -> Any:
    """f(x), if f of floats shaken out of range is the same: 1 + e⁻⁸⁰⁰ → 1, log(e⁻⁸⁰⁰) → None.

    A function that has underflowed may have `overflowed` after that. Numbers shaken near the ends of the range do not
    stand for all beyond them where NaN or ∞ is made of those, and may be masked: ∞/∞ > 0 → None, 1/e⁻⁸⁰⁰ → None.
    """
    try:
        with np.errstate(over="ignore" if overflowed else "raise", invalid="raise", divide="raise"):
            found = innermost(function)(*args, **kwargs)  # within decorators that silence these
        return found if is_steady(found, mapped(lowered, shaken(*args, **kwargs)), overflowed) else None
    except (FloatingPointError, OverflowError):
        return None if overflowed else _steady(function, shaken, args, kwargs, overflowed=True)
    except (ArithmeticError, *OF_FLOATS_ONLY):
        return None


def filled(found: Any, plain: Callable[[], Any], given: Any) -> Any:
    """NaN, () → y → y: a result with the floats' own where that is NaN, if what is given is not finite, or a divisor 0.

    Equations hold for numbers, and ∞ is none: tanh(x/y)/x is 1/x at y = 0, but not as tanh(z)/z · 1/y. A divisor that
    may be 0 for being out of range tells nothing.
    """
    if not has_nan(found):
        return found
    told: set[str] = set()
    with np.errstate(all="call", invalid="ignore", call=lambda kind, _: told.add(kind)):
        numbers = plain()
    known = told != {"divide by zero"} and all(np.isfinite(x).all() for x in parts(given) if is_floating(x))
    return found if known else paired(_filled, found, numbers)


def _filled(x: Any, plain: Any) -> Any:
    return np.where(np.isnan(x), plain, x)[()] if has_nan(x) and np.shape(plain) == np.shape(x) else x
