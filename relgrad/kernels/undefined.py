"""Functions that are NaN where another way to compute them is no real number."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, parts

__all__ = [
    "keeps_nan",
]


def keeps_nan(when: Callable[..., Any], where: Callable[..., Any]) -> Callable[..., Any]:
    """f → where(mask, nan, f), in a decorator: NaN `where` masks say so, which are asked `when` a test is true.

    >>> @keeps_nan(when=lambda x: np.any(x < 0), where=lambda x: x < 0)
    ... def square_of_root(x):
    ...     return 1.0 * x
    >>> square_of_root(np.array([4.0, -1.0]))
    array([ 4., nan])

    Test and masks are functions of the same arguments. The masks come in the container that the function returns, and
    broadcast to its arrays; those of what is no float have no effect.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if not when(*args, **kwargs):
                return result
            masks = iter(parts(where(*args, **kwargs)))
            return mapped(lambda x: _filled(x, next(masks)), result)

        vars(call).pop("told", None)  # the function's own, which knows of no masks
        return call

    return decorate


def _filled(x: Any, mask: Any) -> Any:
    if np.asarray(x).dtype.kind != "f" or not np.any(mask):
        return x
    return np.where(mask, np.nan, x)[()]
