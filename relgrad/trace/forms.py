"""Classes of containers: how each is taken apart into keys and values, and put together again."""

from __future__ import annotations

import dataclasses
import enum
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from relgrad.op import Symbolic
from relgrad.trace.inspection import is_standard


class Form:
    """build(parts(x)) = x: how containers of one class are taken apart and put together."""

    __slots__ = ("build", "cls", "is_container", "mapping", "parts")

    def __init__(
        self,
        cls: type,
        parts: Callable[[Any], tuple[tuple[Any, ...], Iterable[Any], Any, Hashable]] | None = None,
        build: Callable[[Any, list[Any]], Any] | None = None,
        mapping: bool = False,
    ):
        """(dict, parts, build) → a form; without `parts` one of leaves or static values."""
        self.cls, self.mapping, self.is_container = cls, mapping, parts is not None
        self.parts: Any = parts
        """Gives the keys (None for a position), the values, the order of keys, and what else to keep."""
        self.build: Any = build


class Static:
    """A static value: equal only to one of the same type (1 is not True), and to itself where users define `==`."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any):
        """relu → key (str, "relu"): a value by its class and itself, or by identity where its class compares in its own
        way.
        """
        self.value = value
        # Slices cannot be hashed before Python 3.12.
        part = (value.start, value.stop, value.step) if isinstance(value, slice) else value
        if isinstance(type(value).__eq__, FunctionType) and not is_standard(type(value).__module__):
            part = id(value)
        self.key = (type(value), part)
        hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


LEAF_FORM = Form(np.ndarray)
STATIC_FORM = Form(object)


def _sequence_form(cls: type) -> Form:
    """[a, b] → keys (None, None), values a, b: the form of lists and tuples."""

    def parts(x: Any) -> Any:
        return (None,) * len(x), x, None, None

    def build(structure: Any, values: list[Any]) -> Any:
        return values if cls is list else cls(values)

    return Form(cls, parts, build)


def _namedtuple_form(cls: Any) -> Form:
    return Form(cls, lambda x: (cls._fields, x, None, None), lambda structure, values: cls(*values))


def _dict_form(cls: Any) -> Form:
    """{"b": x, "a": y} → keys (a, b), values y, x, order (b, a): the form of dicts and their subclasses."""

    def parts(x: Any) -> Any:
        order = tuple(x)
        keys = tuple(_sorted(order))
        detail = Static(x.default_factory) if isinstance(x, defaultdict) else None
        return keys, [x[key] for key in keys], order, detail

    def build(structure: Any, values: list[Any]) -> Any:
        """keys (a, b), [y, x], order (b, a) → {"b": x, "a": y}."""
        values_of = dict(zip(structure.keys, values, strict=True))
        items = {key: values_of[key] for key in structure.order}
        if cls is dict:
            return items
        if issubclass(cls, defaultdict):
            return cls(structure.detail.value, items)
        new: Any = cls.__new__(cls)
        new.update(items)
        return new

    return Form(cls, parts, build, mapping=True)


def _sorted(keys: tuple[Any, ...]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


def _dataclass_form(cls: type) -> Form:
    """Model(w, b) → keys (w, b), and attributes beside the fields: the form of dataclasses."""
    fields = tuple([field.name for field in dataclasses.fields(cls)])

    def parts(x: Any) -> Any:
        # What __post_init__ has set beside the fields belongs to the object too.
        keys = fields + tuple([name for name in getattr(x, "__dict__", ()) if name not in fields])
        return keys, [getattr(x, key) for key in keys], None, None

    def build(structure: Any, values: list[Any]) -> Any:
        """keys (w, b), [x, y] → Model with w = x, b = y; neither `__init__` nor `__post_init__` runs."""
        # Neither __init__ nor __post_init__ runs: they may check or convert what is an array.
        new = object.__new__(cls)
        for key, value in zip(structure.keys, values, strict=True):
            object.__setattr__(new, key, value)
        return new

    return Form(cls, parts, build)


@cache
def form_of(cls: type) -> Form:
    """float → LEAF_FORM, str → STATIC_FORM, dict → its form: how values of a class are treated."""
    if issubclass(cls, (str, bytes, enum.Enum)):
        return STATIC_FORM
    if issubclass(cls, (np.ndarray, np.generic, bool, int, float, complex, Symbolic)):
        return LEAF_FORM
    if issubclass(cls, dict):
        return _dict_form(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _namedtuple_form(cls)
    if issubclass(cls, (list, tuple)):
        return _sequence_form(cls)
    if dataclasses.is_dataclass(cls):
        return _dataclass_form(cls)
    return LEAF_FORM if hasattr(cls, "__array__") else STATIC_FORM
