"""The tracer: an array that records, through NumPy's own protocols, what plain NumPy code does to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.op import IMPLEMENTATIONS, Symbolic
from relgrad.term import is_term


class Tracer(Symbolic, np.lib.mixins.NDArrayOperatorsMixin):
    """A symbolic array: wraps a term (or, in a relation, a logic variable)."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return wrap(IMPLEMENTATIONS[ufunc](*inputs, **kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return wrap(IMPLEMENTATIONS[function](*args, **kwargs))

    @property
    def shape(self) -> tuple[int | None, ...]:
        return self.term.type.shape

    @property
    def ndim(self) -> int:
        return self.term.type.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.term.type.dtype


def wrap(x: Any) -> Any:
    """Wrap the terms of a result, in tuples and lists too, as tracers."""
    if is_term(x):
        return Tracer(x)
    if type(x) in (tuple, list):
        return type(x)(wrap(y) for y in x)
    return x
