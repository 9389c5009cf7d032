"""Derivations as JSON: terms in one table, each once, operands before what uses them; everything else by value.

    {"format": "relgrad derivation", "version": 1, "nodes": [[op, [operand, …]], …], "before": […], "after": […],
     "steps": [{"move": …, "name": …, "before": …, "after": …, "why": …, "bindings": …, "phase": …, "within": …}], …}

| value | written as |
|---|---|
| `None`, truth values, whole numbers, finite floats, text | themselves |
| other floats, fractions | `{"float": "nan"}`, `{"fraction": [1, 3]}` |
| dtypes, bytes | `{"dtype": "<f8"}`, `{"bytes": "00ff"}` |
| tuples, lists, sets, dicts | `{"tuple": […]}`, `{"list": […]}`, `{"set": […]}`, `{"dict": [[key, value], …]}` |
| arrays, and their scalars | `{"array": [dtype, shape, bits in base 64]}`, `{"scalar": [dtype, [], bits]}` |
| a term | `{"term": position in the table}` |
| an op, or another value, that a class makes of parts | `{"made": [module, class], "of": […]}` |
| an op that equals only itself, a function, a class | `{"name": [module, name]}` |

Nothing of a file is executed: names are looked up in relgrad and in modules that are loaded, and only ops, named tuples
and dataclasses are made.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction as Ratio
from functools import cache
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.display.text import show
from relgrad.errors import DerivationError
from relgrad.importable import home_of, imported, is_importable
from relgrad.op import Op
from relgrad.step import Derivation, Failure, Step
from relgrad.term import Term, subterms, term

FORMAT, VERSION = "relgrad derivation", 1

_STEP = ("move", "name", "before", "after", "why", "bindings", "phase", "within")
_PARTS = ("before", "after", "besides", "assumed", "decided", "guards", "phases", "conventions", "unfinished")


def written(derivation: Derivation) -> str:
    """read(written(d)) = d: a derivation as JSON. Raises DerivationError for an op that exists in this process only."""
    table = _Table()
    parts: dict[str, Any] = {name: table.of(getattr(derivation, name)) for name in _PARTS}
    for name in ("steps", "wholes"):
        parts[name] = [
            {key: table.of(getattr(step, key)) for key in _STEP} for step in getattr(derivation, name)
        ]
    parts["failures"] = [
        [f.name, table.of(f.place), type(f.error).__name__, str(f.error)] for f in derivation.failures
    ]
    return json.dumps({"format": FORMAT, "version": VERSION, "nodes": table.nodes, **parts})


def read(text: str) -> dict[str, Any]:
    """{"format": …, "nodes": …, "before": [0]} → before, after, steps, …: the parts of a derivation by name.

    Raises DerivationError for what is none, or is of another version.
    """
    try:
        file = json.loads(text)
        found = file["format"], file["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DerivationError(
            "this is no derivation", cause=str(error), cure="load what save wrote"
        ) from error
    if found != (FORMAT, VERSION):
        raise DerivationError(
            f"this is a {found[0]} of version {found[1]}",
            cause=f"this relgrad reads a {FORMAT} of version {VERSION}",
            cure="load it with the relgrad that saved it, or derive it again",
        )
    try:
        reader = _Reader(file["nodes"])
        parts = {name: reader.of(file[name]) for name in _PARTS}
        for name in ("steps", "wholes"):
            parts[name] = tuple([Step(**{key: reader.of(step[key]) for key in _STEP}) for step in file[name]])
        parts["failures"] = tuple(
            [
                Failure(name, reader.of(place), DerivationError(f"{kind}: {text}"))
                for name, place, kind, text in file["failures"]
            ]
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ImportError) as error:
        if isinstance(error, DerivationError):
            raise
        raise DerivationError(
            "the derivation does not fit this relgrad",
            cause=f"{type(error).__name__}: {error}",
            cure="derive it again",
        ) from error
    return parts


class _Table:
    """sin(x) + x → nodes [[x, []], [sin, [0]], [add, [1, 0]]]:
    the terms that are written, each once; values refer to them.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self._ids: dict[Term, int] = {}
        self._home_of = cache(home_of)  # all modules are looked through

    def of(self, x: Any) -> Any:
        """2.0 → 2.0, (1, x) → {"tuple": [1, {"term": 0}]}:
        a value as JSON has it; raises DerivationError for what cannot be saved.
        """
        if x is None or type(x) in (bool, int, str) or (type(x) is float and math.isfinite(x)):
            return x
        for kind, write in _WRITERS:
            if isinstance(x, kind):
                return write(self, x)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return self._made(x, x)
        if isinstance(x, tuple):
            return {"tuple": list(map(self.of, x))}
        if is_dataclass(x) and not isinstance(x, type):
            return self._made(x, [getattr(x, field.name) for field in fields(x)])
        home = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
        if is_importable(x, *home):
            return {"name": list(home)}
        raise DerivationError(
            f"a derivation with {type(x).__name__} in it cannot be saved: {x!r}",
            cause="it exists in this process only",
            cure="define it in a module, under a name",
        )

    def term(self, t: Term) -> Any:
        """sin(x) → {"term": 1}, with the nodes below it; a pattern → {"text": …}."""
        if not t.ground:
            return {"text": show(t)}
        if t not in self._ids:
            for node in subterms(t):
                if node not in self._ids:
                    entry = [self.op(node.op), [self._ids[rand] for rand in node.rands]]
                    self._ids[node] = len(self.nodes)
                    self.nodes.append(entry)
        return {"term": self._ids[t]}

    def op(self, op: Op) -> Any:
        """Sum((−1,)) → {"made": [module, "Sum"], "of": [[−1]]}, sin → {"name": [module, "sin"]}:
        an op as JSON has it.
        """
        if op.__props__ is not None:
            return self._made(op, op.made_of())
        home = self._home_of(op)
        if home is None:
            raise DerivationError(
                f"a derivation with the op {op} cannot be saved",
                cause="it was made for this program, and no module holds it",
                cure="give its class __props__, or keep it in a module under a name",
            )
        return {"name": list(home)}

    def array(self, x: Any) -> list[Any]:
        if x.dtype.kind == "O":
            raise DerivationError("an array of objects cannot be saved", cure="use arrays of numbers")
        return [x.dtype.str, list(x.shape), base64.b64encode(x.tobytes()).decode()]

    def _made(self, x: Any, parts: Sequence[Any]) -> Any:
        """Interval(0, 1) → {"made": [module, "Interval"], "of": [0, 1, …]}: a value by its class and parts."""
        home = type(x).__module__, type(x).__qualname__
        if not is_importable(type(x), *home):
            raise DerivationError(
                f"a derivation with {type(x).__name__} in it cannot be saved: {x!r}",
                cause=f"no module holds its class under the name {'.'.join(home)}",
                cure="define the class at the top of a module",
            )
        return {"made": list(home), "of": list(map(self.of, parts))}


_WRITERS: tuple[tuple[Any, Callable[[_Table, Any], Any]], ...] = (
    (Term, _Table.term),
    (Op, _Table.op),
    (np.ndarray, lambda table, x: {"array": table.array(x)}),
    (np.generic, lambda table, x: {"scalar": table.array(x)}),
    (np.dtype, lambda table, x: {"dtype": x.str}),
    (float, lambda table, x: {"float": repr(x)}),
    ((Fraction, Ratio), lambda table, x: {"fraction": [int(x.numerator), int(x.denominator)]}),
    (bytes, lambda table, x: {"bytes": x.hex()}),
    (list, lambda table, x: {"list": list(map(table.of, x))}),
    ((set, frozenset), lambda table, x: {"set": sorted(map(table.of, x), key=repr)}),
    (dict, lambda table, x: {"dict": [[table.of(k), table.of(v)] for k, v in x.items()]}),
)


class _Reader:
    """nodes [[x, []], [sin, [0]]] → terms [x, sin(x)]: the terms of a table, and all that refers to them."""

    def __init__(self, nodes: Sequence[Any]):
        self._terms: list[Term] = []
        for op, rands in nodes:
            self._terms.append(term(self.of(op), *[self._terms[i] for i in rands]))

    def of(self, x: Any) -> Any:
        """{"term": 1} → sin(x), {"tuple": [1, 2]} → (1, 2), 2.0 → 2.0: the value that JSON stands for."""
        if not isinstance(x, dict):
            return x
        if "made" in x:
            kind = _named(*x["made"])
            parts = list(map(self.of, x["of"]))
            if not (isinstance(kind, type) and (issubclass(kind, Op | tuple) or is_dataclass(kind))):
                raise DerivationError(
                    f"{x['made']} is no class of ops or of values", cure="load what save wrote"
                )
            return kind(*parts)
        ((kind, value),) = x.items()
        return _READERS[kind](self, value)

    def term(self, i: int) -> Term:
        return self._terms[i]


def _named(module: str, name: str) -> Any:
    """(relgrad.ops.reduction, "Sum") → Sum; raises DerivationError for modules that are not imported:
    nothing is executed.
    """
    if module not in sys.modules and not module.startswith("relgrad."):
        raise DerivationError(
            f"the derivation uses {module}.{name}",
            cause=f"{module} is not imported",
            cure=f"import {module} first; loading a derivation executes nothing",
        )
    return imported(module, name)


def _array(value: Any) -> Any:
    dtype, shape, bits = value
    return np.frombuffer(base64.b64decode(bits), np.dtype(dtype)).reshape(shape)


_READERS: dict[str, Callable[[_Reader, Any], Any]] = {
    "term": lambda reader, i: reader.term(i),
    "name": lambda reader, x: _named(*x),
    "array": lambda reader, x: _array(x),
    "scalar": lambda reader, x: _array(x)[()],
    "dtype": lambda reader, x: np.dtype(x),
    "float": lambda reader, x: float(x),
    "fraction": lambda reader, x: Fraction(*x),
    "bytes": lambda reader, x: bytes.fromhex(x),
    "tuple": lambda reader, x: tuple(map(reader.of, x)),
    "list": lambda reader, x: list(map(reader.of, x)),
    "set": lambda reader, x: frozenset(map(reader.of, x)),
    "dict": lambda reader, x: {reader.of(k): reader.of(v) for k, v in x},
    "text": lambda reader, x: x,
}
