"""The nested container that a function returns, written as an expression."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relgrad.compile.callables import is_plain
from relgrad.importable import is_importable
from relgrad.syntax import Names
from relgrad.trace.containers import LEAF, STATIC_FORM, Structure


class Returns:
    """Write containers; classes are imported where they can be, and handed in as `objects` where not."""

    def __init__(self, names: Names):
        self._names = names
        self._held: dict[int, tuple[Any, str]] = {}
        self.imports: list[str] = []
        self.objects: dict[str, Any] = {}
        self.definitions: list[str] = []

    def prepare(self, structure: Structure) -> Callable[[Sequence[str]], str]:
        """Name what a container needs; return the function that writes it, given the texts of its leaves."""
        pieces = list(self._pieces(structure, 0))

        def write(texts: Sequence[str]) -> str:
            return "".join([texts[piece] if isinstance(piece, int) else piece for piece in pieces])

        return write

    def _pieces(self, structure: Structure, first: int) -> Iterator[str | int]:
        """Yield the text of a container piece by piece, the number of the leaf for each leaf."""
        if structure is LEAF:
            yield first
            return
        if structure.form is STATIC_FORM:
            yield self._static(structure.static)
            return
        # Leaves come in the order of the sorted keys, yet a dict is written in its own order.
        starts = [first]
        for child in structure.children:
            starts.append(starts[-1] + child.size)
        opening, closing, labels = self._brackets(structure, structure.form.cls)
        order = range(len(labels))
        if structure.form.mapping:
            order = [structure.keys.index(key) for key in structure.order]
        yield opening
        for position, i in enumerate(order):
            yield (", " if position else "") + labels[i]
            yield from self._pieces(structure.children[i], starts[i])
        yield closing

    def _brackets(self, structure: Structure, cls: Any) -> tuple[str, str, list[str]]:
        """(x, y) → "(", ")", ["", ""];    {"a": x} → "{", "}", ["'a': "]: texts around the parts, and before each."""
        blank = [""] * len(structure.keys)
        if cls is list:
            return "[", "]", blank
        if cls is tuple:
            return "(", ",)" if len(blank) == 1 else ")", blank
        if cls in (dict, OrderedDict, defaultdict):
            labels = [f"{self._static(key)}: " for key in structure.keys]
            if cls is dict:
                return "{", "}", labels
            factory = f"{self._static(structure.detail.value)}, " if cls is defaultdict else ""  # type: ignore[union-attr]
            return f"{self._object(cls, cls.__name__)}({factory}{{", "})", labels
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return f"{self._object(cls, cls.__name__)}(", ")", blank
        if dataclasses.is_dataclass(cls) and _transparent(cls, structure.keys):
            return f"{self._object(cls, cls.__name__)}(", ")", [f"{key}=" for key in structure.keys]

        def build(*values: Any) -> Any:
            # Values come in the order in which the text lists them.
            of = dict(zip(structure.order, values, strict=True)) if structure.form.mapping else None
            return structure.form.build(
                structure, [of[key] for key in structure.keys] if of else list(values)
            )

        return f"{self._object(build, f'make_{cls.__name__}', structure.describe())}(", ")", blank

    def _static(self, value: Any) -> str:
        if is_plain(value):
            return repr(value)
        return self._object(value, getattr(value, "__name__", f"static_{type(value).__name__}"))

    def _object(self, value: Any, wish: str, what: str = "") -> str:
        """OrderedDict → "OrderedDict", imported;    a class of the script → its name, handed in with a remark."""
        found = self._held.get(id(value))
        if found is not None:
            return found[1]
        home, attribute = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        name = self._names.take(wish) if home != "builtins" else attribute
        self._held[id(value)] = (value, name)
        if home == "builtins" and attribute.isidentifier():
            return name
        if home != "__main__" and "." not in attribute and is_importable(value, home, attribute):
            self.imports.append(
                f"from {home} import {attribute}" + (f" as {name}" if name != attribute else "")
            )
        else:
            self.definitions.append(f"# {name} must be defined: {what or repr(value)}")
        self.objects[name] = value
        return name


def _transparent(cls: Any, keys: tuple[Any, ...]) -> bool:
    """Whether calling a dataclass with its fields does nothing but store them: with a __post_init__: no."""
    fields = dataclasses.fields(cls)
    parameters = cls.__dataclass_params__
    generated = parameters.init and "__init__" in vars(cls) and not hasattr(cls, "__post_init__")
    return generated and keys == tuple([f.name for f in fields]) and all(f.init for f in fields)
