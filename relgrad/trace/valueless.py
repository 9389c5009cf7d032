"""What needs values, which a traced array has not while a function is traced: conversions, refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.op import Symbolic
from relgrad.trace.refusal import (
    refuse_array,
    refuse_condition,
    refuse_hash,
    refuse_number,
    refuse_pickle,
    refuse_write,
)
from relgrad.types import ArrayType


class Valueless(Symbolic):
    """A symbolic array as Python's own protocols see it: no truth, no number, no hash, no memory to read."""

    __slots__ = ()

    @property
    def _has_many(self) -> bool:
        """Whether NumPy refuses to make a number of it, too."""
        type_ = getattr(self.term, "type", None)
        return isinstance(type_, ArrayType) and any(n != 1 for n in type_.shape)

    @property
    def _is_no_index(self) -> bool:
        """Whether NumPy refuses to make an index of it, too."""
        type_ = getattr(self.term, "type", None)
        if not isinstance(type_, ArrayType):
            return False
        return bool(type_.shape) or (type_.dtype.kind not in "iu" and self.__class__ is not bool)

    def __bool__(self) -> bool:
        refuse_condition(self._has_many)

    def __contains__(self, value: Any) -> bool:
        refuse_condition()

    def __float__(self) -> float:
        refuse_number("float", self._has_many)

    def __int__(self) -> int:
        refuse_number("int", self._has_many)

    def __index__(self) -> int:
        refuse_number("index", self._is_no_index)

    def __complex__(self) -> complex:
        refuse_number("complex", self._has_many)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        refuse_array()

    def __delitem__(self, key: Any) -> None:
        refuse_write(
            "arrays do not lose entries, nor do NumPy's", "write np.concatenate([x[:i], x[i + 1 :]])"
        )

    def __hash__(self) -> int:
        refuse_hash(self.__class__ is np.ndarray)

    def __format__(self, spec: str) -> str:
        if spec:
            refuse_number("str", self.__class__ is np.ndarray)
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        refuse_pickle()
