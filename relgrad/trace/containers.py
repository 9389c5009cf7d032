"""Nested containers of arrays, taken apart into leaves and a structure, and put together again.

Dicts, lists, tuples, named tuples and dataclasses are containers; arrays, numbers and tracers are leaves;
None and whatever else is hashable (strings, functions, enums, modules, ...) is static and belongs to the
structure. Lists are containers, never arrays: each number in one is a leaf of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from relgrad.errors import TraceError
from relgrad.trace.forms import LEAF_FORM, STATIC_FORM, Form, Static, form_of


class Structure:
    """{"w": x, "b": y} → {"b": *, "w": *}: a container without its leaves; hashable, and equal for equal containers.

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
        """{"w": *} → form of dict, keys ("w",), children (LEAF,), size 1."""
        self.form, self.detail, self.keys, self.children, self.order = form, detail, keys, children, order
        self.size: int = 1 if form is LEAF_FORM else sum([child.size for child in children])
        self._hash = hash((id(form), detail, keys, children))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """{"w": *} = {"w": *} ≠ {"b": *}: equal forms, keys, details and children."""
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
        """→ "{'w': *}": the container as text, with `*` for each leaf."""
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
        """{"w": *}, [2] → {"w": 2}: a new container with these leaves; raises ValueError unless there are as many as it
        has.
        """
        leaves = list(leaves)
        if len(leaves) != self.size:
            raise ValueError(f"{self} has {self.size} leaves, not {len(leaves)}")
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        """leaves → the container, each leaf taken in order."""
        if self is LEAF:
            return next(leaves)
        if self.form is STATIC_FORM:
            return self.static
        return self.form.build(self, [child._build(leaves) for child in self.children])

    def walk(self, path: str = "") -> Iterator[tuple[str, Structure]]:
        """{"w": *} as p → ("p['w']", LEAF): the Python expression for each leaf and static value, and its structure."""
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

    def classes(self) -> set[type]:
        """{"m": Model(*)} → {Model}: the classes of the containers that are none of Python's own."""
        own = (
            set() if self.form.cls.__module__ == "builtins" or not self.form.is_container else {self.form.cls}
        )
        return own.union(*[child.classes() for child in self.children])

    @property
    def exact(self) -> Hashable:
        """A key that also tells the order of the dicts' keys, which a function might depend on."""
        return self, tuple(self._orders())

    def _orders(self) -> Iterator[Any]:
        if self.form.mapping and self.order != self.keys:
            yield self.order
        for child in self.children:
            yield from child._orders()


DEEPEST = 200
"""Containers are nested so deeply at most."""

LEAF = Structure(LEAF_FORM, None, (), ())


def _static(value: Any) -> Structure:
    return Structure(STATIC_FORM, Static(value), (), ())


NONE = _static(None)


def flatten(x: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a nested container and its structure: `structure.unflatten(leaves)` is x again.

    >>> leaves, structure = flatten((1.0, {"b": 2.0, "a": None}, "text"))
    >>> leaves, structure
    ([1.0, 2.0], Structure((*, {'a': None, 'b': *}, 'text')))

    Raises TraceError for a value that is neither a container nor an array, number or hashable, and for containers
    that hold themselves.
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(x, leaves, DEEPEST)
    except _Unfit as found:
        unfit = found
    name, where = type(unfit.value).__name__, "".join(reversed(unfit.steps))
    if len(unfit.steps) == DEEPEST:
        raise TraceError(
            f"a container is nested more than {DEEPEST} deep, at {where[:40]}…",
            cause="it may hold itself, and have no end",
            cure="pass arrays in a flat list or dict, or stacked into one array",
        )
    raise TraceError(
        f"cannot take apart a value of type {name}" + (f", at {where}" if where else ""),
        cause=f"a {name} is neither an array nor a container that is known, and it cannot be hashed",
        cure="pass arrays in dicts, lists, tuples, named tuples or dataclasses, and a set as a frozenset",
    )


class _Unfit(Exception):
    """{"w": [set()]} → set(), ["[0]", "['w']"]: a value that is no part of a container, and the steps to it, innermost
    first.
    """

    def __init__(self, value: Any):
        super().__init__()
        self.value = value
        self.steps: list[str] = []


def _flatten(x: Any, leaves: list[Any], depth: int) -> Structure:
    """{"w": 2}, [] → {"w": *}, [2]: a container's structure, its leaves put into a list."""
    form = form_of(type(x))
    if form is LEAF_FORM:
        leaves.append(x)
        return LEAF
    if x is None:
        return NONE
    if form is STATIC_FORM:
        try:
            return _static(x)
        except (TypeError, ValueError):  # a memoryview that can be written to raises the latter
            raise _Unfit(x) from None
    if not depth:
        raise _Unfit(x)
    keys, values, order, detail = form.parts(x)
    children: list[Structure] = []
    try:
        for value in values:
            children.append(_flatten(value, leaves, depth - 1))
    except _Unfit as unfit:
        unfit.steps.append(_step(form, keys[len(children)], len(children)))
        raise
    return Structure(form, detail, keys, tuple(children), order)


def _step(form: Form, key: Any, position: int) -> str:
    """Return how Python code gets at one part of a container."""
    return f"[{position}]" if key is None else f"[{key!r}]" if form.mapping else f".{key}"
