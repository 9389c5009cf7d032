"""Nested containers of arrays, taken apart into leaves and a structure, and put together again.

Dicts, lists, tuples, named tuples and dataclasses are containers; arrays, numbers and tracers are leaves;
None and whatever else is hashable (strings, functions, enums, modules, ...) is static and belongs to the
structure. Lists are containers, never arrays: each number in one is a leaf of its own.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from relgrad.errors import TraceError
from relgrad.op import Symbolic


class Structure:
    """What remains of a container without its leaves; hashable, and equal for equal containers.

    The order of a dict's keys makes no difference to `==` (leaves come in the order of the sorted keys), yet
    `unflatten` restores it, and `exact` tells apart structures that differ in it.
    """

    __slots__ = ("_hash", "children", "detail", "form", "keys", "order", "size")

    def __init__(
        self,
        form: Form,
        detail: Any,
        keys: tuple[Any, ...],
        children: tuple[Structure, ...],
        order: Any = None,
    ):
        self.form, self.detail, self.keys, self.children, self.order = form, detail, keys, children, order
        self.size: int = 1 if form is LEAF_FORM else sum([child.size for child in children])
        self._hash = hash((id(form), detail, keys, children))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Structure)
            and self._hash == other._hash
            and self.form is other.form
            and self.detail == other.detail
            and self.keys == other.keys
            and self.children == other.children
        )

    def __repr__(self) -> str:
        return f"Structure({self.describe()})"

    def describe(self) -> str:
        """Return the container as text, with `*` for each leaf."""
        if self is LEAF:
            return "*"
        if self.form is STATIC_FORM:
            return repr(self.static)
        inner = [
            text if key is None else f"{key!r}: {text}" if self.form.mapping else f"{key}={text}"
            for key, text in zip(self.keys, [child.describe() for child in self.children], strict=True)
        ]
        name = self.form.cls.__name__
        if self.form.mapping:
            return "{" + ", ".join(inner) + "}" if name == "dict" else f"{name}({{{', '.join(inner)}}})"
        if name == "list":
            return f"[{', '.join(inner)}]"
        if name == "tuple":
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        return f"{name}({', '.join(inner)})"

    @property
    def static(self) -> Any:
        """The value of a static structure."""
        return self.detail.value if self.form is STATIC_FORM else None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return a new container with these leaves; raises ValueError unless there are as many as it has."""
        leaves = list(leaves)
        if len(leaves) != self.size:
            raise ValueError(f"{self} has {self.size} leaves, not {len(leaves)}")
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self is LEAF:
            return next(leaves)
        if self.form is STATIC_FORM:
            return self.static
        return self.form.build(self, [child._build(leaves) for child in self.children])

    def walk(self, path: str = "") -> Iterator[tuple[str, Structure]]:
        """Yield the Python expression that accesses each leaf and static value, and its structure."""
        if not self.form.is_container:
            yield path, self
        for i, (key, child) in enumerate(zip(self.keys, self.children, strict=True)):
            yield from child.walk(path + _step(self.form, key, i))

    def paths(self, path: str = "") -> list[str]:
        """Return the Python expression that accesses each leaf.

        >>> flatten({"W": 1.0, "b": [2.0, "relu"]})[1].paths("params")
        ["params['W']", "params['b'][0]"]
        """
        return [where for where, part in self.walk(path) if part is LEAF]

    def statics(self, path: str = "") -> list[tuple[str, Any]]:
        """Return the static values other than None, each with the expression that accesses it."""
        found = [(where, part.static) for where, part in self.walk(path) if part.form is STATIC_FORM]
        return [(where, value) for where, value in found if value is not None]

    @property
    def exact(self) -> Hashable:
        """A key that also tells the order of the dicts' keys, which a function might depend on."""
        return self, tuple(self._orders())

    def _orders(self) -> Iterator[Any]:
        if self.form.mapping and self.order != self.keys:
            yield self.order
        for child in self.children:
            yield from child._orders()


class Form:
    """How containers of one class are taken apart and put together."""

    __slots__ = ("build", "cls", "is_container", "mapping", "parts")

    def __init__(
        self,
        cls: type,
        parts: Callable[[Any], tuple[tuple[Any, ...], Iterable[Any], Any, Hashable]] | None = None,
        build: Callable[[Structure, list[Any]], Any] | None = None,
        mapping: bool = False,
    ):
        self.cls, self.mapping, self.is_container = cls, mapping, parts is not None
        self.parts: Any = parts
        """Gives the keys (None for a position), the values, the order of keys, and what else to keep."""
        self.build: Any = build


class Static:
    """A static value: equal only to one of the same type (1 is not True)."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any):
        self.value = value
        # Slices cannot be hashed before Python 3.12.
        part = (value.start, value.stop, value.step) if isinstance(value, slice) else value
        self.key = (type(value), part)
        hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


LEAF_FORM = Form(np.ndarray)
STATIC_FORM = Form(object)
LEAF = Structure(LEAF_FORM, None, (), ())


def _static(value: Any) -> Structure:
    return Structure(STATIC_FORM, Static(value), (), ())


NONE = _static(None)


def _sequence_form(cls: type) -> Form:
    def parts(x: Any) -> Any:
        return (None,) * len(x), x, None, None

    def build(structure: Structure, values: list[Any]) -> Any:
        return values if cls is list else cls(values)

    return Form(cls, parts, build)


def _namedtuple_form(cls: Any) -> Form:
    return Form(cls, lambda x: (cls._fields, x, None, None), lambda structure, values: cls(*values))


def _dict_form(cls: Any) -> Form:
    def parts(x: Any) -> Any:
        order = tuple(x)
        keys = tuple(_sorted(order))
        detail = Static(x.default_factory) if isinstance(x, defaultdict) else None
        return keys, [x[key] for key in keys], order, detail

    def build(structure: Structure, values: list[Any]) -> Any:
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
    fields = tuple([field.name for field in dataclasses.fields(cls)])

    def parts(x: Any) -> Any:
        # What __post_init__ has set beside the fields belongs to the object too.
        keys = fields + tuple([name for name in getattr(x, "__dict__", ()) if name not in fields])
        return keys, [getattr(x, key) for key in keys], None, None

    def build(structure: Structure, values: list[Any]) -> Any:
        # Neither __init__ nor __post_init__ runs: they may check or convert what is an array.
        new = object.__new__(cls)
        for key, value in zip(structure.keys, values, strict=True):
            object.__setattr__(new, key, value)
        return new

    return Form(cls, parts, build)


@cache
def form_of(cls: type) -> Form:
    """Return how values of a class are treated: as leaves, as static values, or as containers."""
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


def flatten(x: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a nested container and its structure: `structure.unflatten(leaves)` is x again.

    >>> leaves, structure = flatten((1.0, {"b": 2.0, "a": None}, "text"))
    >>> leaves, structure
    ([1.0, 2.0], Structure((*, {'a': None, 'b': *}, 'text')))

    Raises TraceError for a value that is neither a container nor an array, number or hashable.
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(x, leaves)
    except _Unfit as unfit:
        name, where = type(unfit.value).__name__, "".join(reversed(unfit.steps))
    raise TraceError(
        f"cannot take apart a value of type {name}" + (f", at {where}" if where else ""),
        cause=f"a {name} is neither an array nor a container that is known, and it cannot be hashed",
        cure="pass arrays in dicts, lists, tuples, named tuples or dataclasses, and a set as a frozenset",
    )


class _Unfit(Exception):
    """A value that is no part of a container, and the steps that lead to it, innermost first."""

    def __init__(self, value: Any):
        super().__init__()
        self.value = value
        self.steps: list[str] = []


def _flatten(x: Any, leaves: list[Any]) -> Structure:
    form = form_of(type(x))
    if form is LEAF_FORM:
        leaves.append(x)
        return LEAF
    if x is None:
        return NONE
    if form is STATIC_FORM:
        try:
            return _static(x)
        except TypeError:
            raise _Unfit(x) from None
    keys, values, order, detail = form.parts(x)
    children: list[Structure] = []
    try:
        for value in values:
            children.append(_flatten(value, leaves))
    except _Unfit as unfit:
        unfit.steps.append(_step(form, keys[len(children)], len(children)))
        raise
    return Structure(form, detail, keys, tuple(children), order)


def _step(form: Form, key: Any, position: int) -> str:
    """Return how Python code gets at one part of a container."""
    return f"[{position}]" if key is None else f"[{key!r}]" if form.mapping else f".{key}"
