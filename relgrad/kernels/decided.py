"""Functions that hold where what they were asked of their arguments has the same answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any

import numpy as np

__all__ = [
    "decided",
    "fails",
]


def answers(values: Any) -> tuple[Hashable, ...]:
    """Return arrays of discrete values as what tells them from others of their types.

    >>> answers([np.True_, np.array([1, 2], np.int8)])
    (True, b'\\x01\\x02')
    """
    return tuple([v.item() if np.ndim(v) == 0 else v.tobytes() for v in map(np.asarray, values)])


def decided(by: Callable[..., Any], as_: tuple[Hashable, ...]) -> Callable[..., Any]:
    """Return a decorator of functions that hold where decisions, functions of the same arguments, come out `as_` given.

    >>> @decided(by=lambda x: [x > 0], as_=(True,))
    ... def absolute(x):
    ...     return x
    >>> absolute(2.0)
    2.0
    >>> absolute(-2.0)
    Traceback (most recent call last):
    ...
    ValueError: absolute is made for other arguments: it decides by (True,), and these give (False,)

    Raises ValueError elsewhere.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = answers(by(*args, **kwargs))
            if given != as_:
                raise ValueError(
                    f"{function.__name__} is made for other arguments: it decides by {as_}, and these give {given}"
                )
            return function(*args, **kwargs)

        return call

    return decorate


def fails(compute: Callable[[], Any], **kinds: Any) -> bool:
    """Return whether a computation raises, with NumPy told so of floating-point errors of some kinds.

    >>> fails(lambda: np.linalg.cholesky(np.zeros((1, 1)))), fails(lambda: np.exp(np.array(1e3)), over="raise")
    (True, True)
    """
    try:
        with np.errstate(**{"all": "ignore", **kinds}):
            compute()
    except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError):
        return True
    return False
