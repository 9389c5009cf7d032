"""What builders share that are written in NumPy: they compose functions that are traced, and so are traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.implementations import implements
from relgrad.op import Symbolic, as_term
from relgrad.ops.creation import stack_nested


def derived(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """derived(np.ptp)(f): np.ptp(x) → f(x): declares that a function written in NumPy traces these;
    results are new arrays.
    """

    def register(formula: Callable[..., Any]) -> Callable[..., Any]:
        """formula → trace, registered for each of the functions."""

        @functools.wraps(formula)
        def trace(*args: Any, **kwargs: Any) -> Any:
            return _terms(formula(*args, **kwargs))

        return implements(*functions)(trace)

    return register


def _terms(x: Any) -> Any:
    return type(x)(map(_terms, x)) if type(x) in (tuple, list) else as_term(x)


def array(x: Any) -> Any:
    """[x, 1] → symbolic array, [1, 2] → np.array: an argument as `np.asarray` returns it; a symbolic array stays."""
    if isinstance(x, Symbolic):
        return x
    wrapper = _wrapper(x)
    return np.asarray(x) if wrapper is None else wrapper(stack_nested(x))


def arrays(*xs: Any) -> list[Any]:
    """Return arguments of which one is symbolic as symbolic arrays, so that each may index another."""
    wrapper = _wrapper(xs)
    return [x if isinstance(x, Symbolic) else wrapper(stack_nested(x)) for x in xs]


def _wrapper(x: Any) -> Any:
    """Return the class of the first symbolic array in a nested list, or None."""
    if isinstance(x, (list, tuple)):
        return next((found for part in x if (found := _wrapper(part)) is not None), None)
    return x.family if isinstance(x, Symbolic) else None


def floating(x: Any) -> Any:
    """Return an argument as an array of floats, of at least double precision."""
    x = array(x)
    return x.astype(np.result_type(x.dtype, np.float64))
