"""A handle: a name for memory, whose term is replaced where NumPy would write into the memory.

    x += y        x.term ↦ (x + y).term, for every name of x; what x is a view of, and other views of that, follow

The term of an array of its own is a slot. That of a view is not set: it follows from the term of its parent, and is
asked for by `__getattr__`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dis import opmap
from types import FrameType
from typing import Any

import numpy as np

from relgrad.errors import ShapeError
from relgrad.op import as_term, strong
from relgrad.ops.arguments import call
from relgrad.ops.casting import cast
from relgrad.ops.creation import stack_nested
from relgrad.ops.structure import expand
from relgrad.trace.construct import construct
from relgrad.trace.cures import CALLS
from relgrad.trace.decisions import known
from relgrad.trace.dispatch import QUERIES, call_function, call_method
from relgrad.trace.keys import settled
from relgrad.trace.lens import assigned, converted, fitted, put
from relgrad.trace.parts import Parts, Prefix, folded, prefix_of
from relgrad.trace.refusal import refuse_function, refuse_layout, refuse_position, refuse_write
from relgrad.trace.valueless import Valueless
from relgrad.trace.views import Origin, Viewing, is_basic, is_traced
from relgrad.types import ArrayType

FLOATS = ("as_integer_ratio", "hex")
"""Methods of floats that ask for all their digits."""


class Handle(Valueless):
    """x += y → x.term = (x + y).term for all names of x: a symbolic array with memory.

    What is written to it, all see who hold it, or a view of it.
    """

    __slots__ = ("origin", "parts")

    def __init__(self, term: Any):
        """term → an array of memory of its own: origin = parts = None."""
        self.term = term
        self.origin: Origin | None = None
        """Where its memory comes from; None for a fresh array, and for a number."""
        self.parts: Parts | None = None
        """What was written to memory of its own since the term was known as a whole."""

    def __getattr__(self, name: str) -> Any:
        if name == "term":
            return self._read()
        if name in FLOATS and self.is_number and (value := known(self.term)) is not None:
            return getattr(value.item(), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _read(self) -> Any:
        """x[1:] → [1:] of x.term, x with parts → their concatenation:
        the term of a view, or of an array, its parts joined.
        """
        at = self.origin
        if self.parts is not None:
            self.term = folded(self.parts.whole())
            return self.term
        if at is None or at.view is None:
            refuse_layout((at and at.lost) or construct())
        state = at.root.state
        if state is at.seen:
            return at.value
        if not at.certain:
            refuse_layout(construct())
        stale: list[Any] = []
        x: Handle = self
        while x is not at.root and x.origin.seen is not state:  # type: ignore[union-attr]
            stale.append(x.origin)
            x = x.origin.parent  # type: ignore[union-attr]
        value = x.term
        for view in reversed(stale):
            value = _apply(view.view, value)
            view.seen, view.value = state, value
        return value

    def write(self, value: Any) -> None:
        """x[1:].write(y) → x.term = put(x, [1:], y): replaces the term of the memory, its own, or a part of what it is
        a view of.
        """
        x, term = self, value
        written: list[tuple[Origin, Any]] = []
        while (at := _writable(x)) is not None and at.certain:
            if is_traced(at.view.args):
                at.view = _decided(at.view)
            written.append((at, term))
            x = at.parent
            prefix = x.own_part(at.view.args[0]) if at.view.function == "__getitem__" else None
            if prefix is not None:
                x.write_part(prefix, term)
                break
            term = put(x.term, at.view, term)
        else:
            if at is not None:  # a view or a copy of its parent, which is not read again
                _forget(at.parent)
                x.origin = Origin(np.ndarray)
            x.term, x.parts = folded(term), None
        for view, part in written:
            view.seen, view.value = x.state, part

    def own_part(self, key: Any) -> Prefix | None:
        """(2,) in x : (3, 4) → the prefix (2,): the prefix that a key of integers names in memory of its own;
        None for others.
        """
        at = self.origin
        own = at is None or (at.view is None and at.guard is None and at.lost is None)
        kind = self.kind if own else None
        return prefix_of(key, kind.shape) if isinstance(kind, ArrayType) else None

    @property
    def kind(self) -> Any:
        """The type of the term, for which no parts need to be joined; None in patterns."""
        return getattr(self.term if self.parts is None else self.parts.base, "type", None)

    def write_part(self, prefix: Prefix, value: Any) -> None:
        """((2,), y) → parts {(2,): y}: writes to the entries with a prefix."""
        if self.parts is None:
            self.parts = Parts(self.term)
        self.parts.put(prefix, value)
        with suppress(AttributeError):
            del self.term

    @property
    def state(self) -> Any:
        """before write → a, after → b, a is not b: an object that tells the array from itself before and after a
        write.
        """
        return self.term if self.parts is None else self.parts.state

    def update(self, value: Any, ufunc: np.ufunc, casting: Any = "same_kind", stretch: bool = False) -> None:
        """Write the result of a ufunc."""
        self.write(converted(strong(as_term(value)), self.kind, ufunc, casting, stretch))

    def under(self, mask: Any) -> Any:
        """Return the term of which this is what a mask chooses, where that is so; else None."""
        return None

    @property
    def is_number(self) -> bool:
        """Whether in-place operators make another number of it, where they write into arrays."""
        at = self.origin
        return not (self.kind.shape if at is None else issubclass(at.cls, np.ndarray))

    def fill(self, value: Any) -> None:
        """Write a value to all entries."""
        self[...] = value

    def _class(self) -> type:
        """x : (3,) → np.ndarray, a number → np.float64: the class that NumPy's array has."""
        at = self.origin
        if at is not None:
            return at.cls
        kind = self.kind
        if not isinstance(kind, ArrayType):
            return type(self)
        return np.ndarray if kind.shape else kind.dtype.type

    __class__ = property(_class)  # type: ignore[assignment]

    def __setitem__(self, key: Any, value: Any) -> None:
        """x[k] = y → x.term = put(x, k, y); masks by where(mask, y, x)."""
        if self.is_number:
            refuse_write("a number cannot be changed", "write x = v, or keep an array of rank 1")
        kind = self.kind
        part = value.under(key.term) if isinstance(key, Handle) and isinstance(value, Handle) else None
        if part is not None and key.kind.shape == kind.shape:
            self.write(call(np.where, key.term, as_term(cast(part, kind.dtype)), self.term))
            return
        y = as_term(cast(stack_nested(value), kind.dtype))
        if isinstance(key, Handle) and key.dtype.kind == "b" and _is_uniform(kind, key.term.type, y.type):
            self.write(_where(self.term, key.term, y))
            return
        if isinstance(value, Handle) and value.origin is not None and value.origin.parent is self:
            _require_python(sys._getframe(1))
        key = settled(key, written=True)
        entries = key if isinstance(key, tuple) else (key,)
        prefix = self.own_part(key)
        if prefix is not None:
            if not self._is_part(value, key):
                self.write_part(prefix, fitted(y, kind.shape[len(prefix) :]))
            return
        if is_traced(entries):
            refuse_position()
        elif not is_basic(entries):
            self.write(assigned(self.term, key, y))
        else:
            target: Any = self[key]  # type: ignore[index]
            if target.origin is None:  # a number, which is no view
                self.write(put(self.term, Viewing("__getitem__", (key,)), fitted(y, ())))
                return
            if not self._is_part(value, key):
                target.write(fitted(y, target.shape))

    def _is_part(self, value: Any, key: Any) -> bool:
        """Whether x[key] += y assigns the view x[key], which it has written to, to the place where it is."""
        source = value.origin if isinstance(value, Handle) else None
        return source is not None and source.parent is self and source.view == Viewing("__getitem__", (key,))


def _require_python(frame: FrameType) -> None:
    """rng.shuffle(x) → TraceError: x[i], x[j] = x[j], x[i] of rows in code that is not Python's, which would move rows
    of NumPy's arrays through a buffer.
    """
    if frame.f_code.co_code[frame.f_lasti] != opmap["STORE_SUBSCR"]:
        refuse_write("a function moves its rows that is not written in Python", CALLS["shuffle"])


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """copyto(x, y, where=m) → x.term = where(m, y, x): traces `np.copyto` into a traced array."""
    if not isinstance(dst, Handle):
        refuse_function(np.copyto)
    y = fitted(stack_nested(src), dst.term.type.shape)
    if where is not True:
        y = call(np.where, stack_nested(where), y, dst.term)
    dst.write(converted(y, dst.term.type, np.copyto, casting, False))


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """(x, x) → True, (x, x.copy()) → False: answers `np.shares_memory` and `np.may_share_memory`.

    Raises TraceError for what only the layout tells.
    """
    first, second = map(_root, (a, b))
    if first is second and (a is first or b is second):
        return bool(a.size and b.size)
    if first is second or any(isinstance(x, Handle) and x.origin and x.origin.view for x in (first, second)):
        refuse_function(np.shares_memory)
    return False


def _root(x: Any) -> Any:
    at = x.origin if isinstance(x, Handle) else None
    return x if at is None or at.view is None or not at.certain else at.root


QUERIES.update({np.copyto: copyto, np.shares_memory: shares_memory, np.may_share_memory: shares_memory})


def _writable(x: Handle) -> Any:
    """x[1:] → its origin, x → None: where the memory of a view comes from; raises TraceError for what is protected."""
    at = x.origin
    if at is not None and at.guard is not None:
        refuse_write(*at.guard)
    return None if at is None or at.view is None else at


def _forget(x: Handle) -> None:
    """x → x.term raises: makes it impossible to read an array:
    whether it was written to depends on the layout of memory.
    """
    while (at := _writable(x)) is not None:
        x = at.parent
    x.origin, x.parts = Origin(np.ndarray, lost=construct()), None
    with suppress(AttributeError):
        del x.term


def _apply(view: Viewing, x: Any) -> Any:
    """Return the term of a view of a term."""
    call_ = call_method if isinstance(view.function, str) else call_function
    return as_term(call_(view.function, (x, *view.args), view.kwargs or {}))


def _decided(view: Viewing) -> Viewing:
    """x[i] with i = 2 in this call → x[2]: a view of the entries that are decided by values of the call that is
    traced.
    """
    args = tuple([settled(key, written=True) for key in view.args])
    if is_traced(args):
        refuse_position()
    return Viewing(view.function, args, view.kwargs)


def _is_uniform(x: ArrayType, mask: ArrayType, y: ArrayType) -> bool:
    """Whether an array is the same for all entries that a mask over the leading axes of x chooses, by their types."""
    own = max(y.ndim - (x.ndim - mask.ndim), 0)
    return y.shape[:own] == (1,) * own


def _where(x: Any, mask: Any, y: Any) -> Any:
    """Return x after x[mask] = y, for a mask over the leading axes, and a y that is the same for all it chooses."""
    rank = mask.type.ndim
    if mask.type.shape != x.type.shape[:rank]:
        raise ShapeError(f"a mask of shape {mask.type.shape} cannot index an array of shape {x.type.shape}")
    extra = x.type.ndim - rank
    y = fitted(y, x.type.shape[rank:])
    return call(np.where, expand(mask, tuple(range(-extra, 0))), y, x)
