"""What needs the values of a traced array: discrete ones are decided by the call that is traced, others refused."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.op import Symbolic
from relgrad.ops.arguments import call
from relgrad.trace.construct import is_formatting
from relgrad.trace.decisions import decided, known, told
from relgrad.trace.refusal import (
    refuse_array,
    refuse_condition,
    refuse_hash,
    refuse_number,
    refuse_pickle,
    refuse_write,
)
from relgrad.types import ArrayType


class Text(str):
    """f"{x}" → Text("2.0"), float(Text) → TraceError: the text of a traced array's value."""

    __slots__ = ()

    def __float__(self) -> float:
        refuse_number("float")

    def __reduce__(self) -> Any:
        return str, (str.__str__(self),)


class Valueless(Symbolic):
    """bool(x > 0) → True, decided; float(x) → TraceError: a symbolic array as Python's own protocols see it.

    Truth, integers and hashes by decision, no memory to read.
    """

    __slots__ = ()

    @property
    def kind(self) -> Any:
        """The type of the array; None in patterns."""
        return getattr(self.term, "type", None)

    @property
    def _has_many(self) -> bool:
        """Whether NumPy refuses to make a number of it, too."""
        type_ = self.kind
        return isinstance(type_, ArrayType) and any(n != 1 for n in type_.shape)

    @property
    def _is_no_index(self) -> bool:
        """x : (3,) → True, x : int () → False: whether NumPy refuses to make an index of it, too."""
        type_ = self.kind
        if not isinstance(type_, ArrayType):
            return False
        return bool(type_.shape) or (type_.dtype.kind not in "iu" and self.__class__ is not bool)

    def __bool__(self) -> bool:
        value = None if self._has_many else decided(self.term)
        return refuse_condition(self.term, self._has_many) if value is None else bool(value)

    def __contains__(self, value: Any) -> bool:
        equal: Any = self == value
        return bool(np.any(equal))

    def __float__(self) -> float:
        """integer or known → float(value), else TraceError, unless for a text."""
        value = None if self._has_many else self._discrete()
        if value is None and not self._has_many and is_formatting(sys._getframe(1)):
            value = told(self.term)
        return (
            refuse_number("float", self.term, self._has_many)
            if value is None
            else float(np.reshape(value, self.kind.shape))
        )

    def __int__(self) -> int:
        return self._whole("int", int, np.trunc)

    def __trunc__(self) -> int:
        return self._whole("int", math.trunc, np.trunc)

    def __floor__(self) -> int:
        return self._whole("int", math.floor, np.floor)

    def __ceil__(self) -> int:
        return self._whole("int", math.ceil, np.ceil)

    def _whole(self, kind: str, function: Callable[[Any], int], rounded: Any) -> int:
        """int(x) → ⌊x⌋ of the call, decided: an integer near the value of a number; the derivative of each is 0."""
        term = self.term
        if not self._has_many and isinstance(self.kind, ArrayType):
            shape: Any = self.kind.shape
            whole = term.type.dtype.kind in "biu"
            value = decided(term if whole else call(rounded, term))
            if value is not None:
                int(np.ones(shape))  # NumPy refuses arrays of rank 1 and more
                return function(value.item())
        return refuse_number(kind, self.term, self._has_many)

    def __index__(self) -> int:
        """x : int → its value, decided; raises TraceError for others."""
        value = None if self._is_no_index else decided(self.term)
        return (
            refuse_number("index", self.term, self._is_no_index)
            if value is None
            else operator.index(value.item())
        )

    def __complex__(self) -> complex:
        value = None if self._has_many else known(self.term)
        return refuse_number("complex", self.term, self._has_many) if value is None else complex(value.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        value = self._discrete()
        return refuse_array(self.term) if value is None else np.array(value, dtype)

    def _discrete(self) -> Any:
        """x : int → its value, decided, ones(3) → [1, 1, 1], x : float → None:
        the value of integers, booleans, known terms.
        """
        value = known(self.term)
        kind = self.kind
        if value is None and isinstance(kind, ArrayType) and kind.dtype.kind in "biu":
            value = decided(self.term)
        return value

    def __delitem__(self, key: Any) -> None:
        refuse_write(
            "arrays do not lose entries, nor do NumPy's", "write np.concatenate([x[:i], x[i + 1 :]])"
        )

    def __hash__(self) -> int:
        is_array = self.__class__ is np.ndarray
        value = None if is_array else decided(self.term)
        return refuse_hash(is_array) if value is None else hash(value.item())

    def __str__(self) -> str:
        """Return the text that NumPy shows; of a symbolic array without a value, its type."""
        value = self._shown()
        return repr(self) if value is None else self._text(str(value))

    def __format__(self, spec: str) -> str:
        """f"{x:.2f}" → Text("2.00") in a call that tells its values, else TraceError for a format."""
        value = self._shown()
        if value is not None:
            return self._text(format(value, spec))
        if spec:
            refuse_number("str", self.term, self._has_many)
        return repr(self)

    def _text(self, text: str) -> str:
        """The text of a value, which may be read as a number again only if it depends on no input."""
        return Text(text) if known(self.term) is None else text

    def _shown(self) -> Any:
        """x → 2.0 as an object of the class that it shows, for a text: integers and booleans are decided."""
        value = self._discrete()
        value = told(self.term) if value is None else value
        if value is None or self.__class__ is np.ndarray:
            return value
        return value.item() if self.__class__ in (bool, int, float) else value[()]

    def __reduce_ex__(self, protocol: Any) -> Any:
        refuse_pickle()
