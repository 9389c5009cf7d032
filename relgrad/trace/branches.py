"""A choice between two functions that one program makes for all calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.errors import TraceError
from relgrad.ops.arguments import is_symbolic
from relgrad.trace.construct import construct
from relgrad.trace.containers import flatten


def cond(condition: Any, true: Callable[..., Any], false: Callable[..., Any], *args: Any) -> Any:
    """Return true(*args) if a condition holds, and false(*args) if it does not.

    >>> import relgrad as rg
    >>> absolute = rg.grad(lambda x: cond(x > 0, lambda x: x, lambda x: -x, x))
    >>> absolute(2.0), absolute(-2.0)
    (np.float64(1.0), np.float64(-1.0))

    Where the condition is traced both functions are, and NumPy's `where` chooses between their results, which have one
    structure: unlike an `if`, this needs no program of its own for each answer. Raises TraceError where they have not.
    """
    if not is_symbolic(condition):
        return (true if condition else false)(*args)
    (first, structure), (second, other) = flatten(true(*args)), flatten(false(*args))
    if structure != other or np.ndim(condition):
        raise TraceError(
            f"cond chooses between {structure} and {other}, by a condition of shape {np.shape(condition)}",
            where=construct().where,
            cause="one condition chooses between two results of one structure",
            cure="return the same containers from both functions; choose entry by entry with np.where",
        )
    return structure.unflatten([np.where(condition, x, y) for x, y in zip(first, second, strict=True)])
