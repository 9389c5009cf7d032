"""Ops that write no source of their own: how generated code gets hold of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from relgrad import kernels
from relgrad.op import Op
from relgrad.syntax import Names, slots
from relgrad.term import Term
from relgrad.types import ArrayType, TupleType


class Bound:
    """An op together with the term that it is applied in, which its `perform` may consult."""

    __slots__ = ("mends", "node", "of_entries", "op")

    def __init__(self, op: Op, node: Term):
        self.op, self.node = op, node
        self.mends = hasattr(op, "stand_in")
        """Whether it is its first operand, but for what floats lose."""

        self.of_entries = op.elementwise and isinstance(node.type, ArrayType) and not node.type.shape
        """Whether it is written for a number, as the formula of a series is, and may be computed for many."""

    def __call__(self, *arrays: Any) -> Any:
        if self.of_entries:
            return self.op.evaluate(self.node, arrays, typed=False)[0].astype(self.node.type.dtype)[()]
        return self.op.evaluate(self.node, arrays)[0]

    def evaluate(self, node: Term | None, arrays: Sequence[Any]) -> list[Any]:
        return self.op.evaluate(self.node, arrays)


class Callables:
    """The op objects that a generated function calls, by name, and the text that makes each of them."""

    def __init__(self, names: Names):
        self._names = names
        self._by_op: dict[Any, str] = {}
        self.objects: dict[str, Bound] = {}
        self.imports: list[str] = []
        self.definitions: list[str] = []

    def call(self, node: Term) -> str:
        """f(x, y) of an op without a text → "f_op(x, y)", or "f_op.evaluate(None, [x, y])" for several results."""
        op = node.op
        # An overridden perform may ask its node for what it likes, so it gets an object of its own.
        key = (op, node.type if type(op).perform is Op.perform else node)
        name = self._by_op.get(key)
        if name is None:
            name = self._by_op[key] = self._define(op)
            self.objects[name] = Bound(op, node)
        arguments = ", ".join(slots(len(node.rands)))
        if isinstance(node.type, TupleType):
            return f"{name}.evaluate(None, [{arguments}])"
        return f"{name}({arguments})"

    def _define(self, op: Op) -> str:
        """exp of a module → "from module import exp";    MyOp(3) → "my_op = MyOp(3)";    else a stand-in, or remark."""
        # A program that this one is printed beside may call the kernel of that name.
        own = [] if hasattr(kernels, op.name) else [op.name]
        name = self._names.take(*own, f"{op.name}_op")
        cls = type(op)
        held, made = _held(op), self._made(op)
        if held is not None:
            module, key = held
            renamed = "" if key == name else f" as {name}"
            self.imports.append(f"from {module} import {key}{renamed}")
        elif made is not None:
            alias = self._by_op.get(cls)
            if alias is None:
                alias = self._by_op[cls] = self._names.take(cls.__name__)
                renamed = "" if alias == cls.__name__ else f" as {alias}"
                self.imports.append(f"from {cls.__module__} import {cls.__name__}{renamed}")
            self.definitions.append(f"{name} = {alias}({made})")
        elif (stand_in := getattr(op, "stand_in", None)) is not None:
            self.definitions.append(f"# {op} is not written out: without it digits are lost there.")
            self.definitions.append(f"{name} = {stand_in}")
        else:
            home = f"{cls.__module__}.{cls.__qualname__}"
            self.definitions.append(
                f"# {name} must be defined: the op {op}, which cannot be imported from {home}."
            )
        return name

    def _made(self, op: Op) -> str | None:
        """MyOp(3, exp) → "3, exp": the arguments that make an op of its class, importing ops among them; or None."""
        if not _may_be_made(op):
            return None
        return ", ".join([self._name(prop) if isinstance(prop, Op) else repr(prop) for prop in op._props()])

    def _name(self, op: Op) -> str:
        """Return the name of an op that another is made of."""
        name = self._by_op.get(op)
        if name is None:
            name = self._by_op[op] = self._define(op)
        return name


def _held(op: Op) -> tuple[str, str] | None:
    """exp → relgrad.ops.exponential, "exp": the module that holds an op, and the name there; None where none does.

    That of its class is asked first, then those of the room of ops.
    """
    home = _home(op)
    if home is None:
        return None
    for name, module in [(type(op).__module__, home), *_ROOMS]:
        key = next(
            (key for key, value in vars(module).items() if type(value) is type(op) and value == op), None
        )
        if key is not None:
            return name, key
    return None


def _may_be_made(op: Op) -> bool:
    """Change(LogSoftmax((-1,)), (0,)): whether an op is its class called with what can be written."""
    is_public = op.__props__ is not None and getattr(_home(op), type(op).__name__, None) is type(op)
    return is_public and all(
        is_plain(prop) or (isinstance(prop, Op) and (_held(prop) is not None or _may_be_made(prop)))
        for prop in op._props()
    )


def _home(op: Op) -> Any:
    """The module of an op's class; None for a class of the script, or one inside a function or class."""
    cls = type(op)
    inside = cls.__module__ == "__main__" or not cls.__qualname__.isidentifier()
    return None if inside else sys.modules.get(cls.__module__)


_ROOMS = [(name, module) for name, module in sys.modules.items() if name.startswith("relgrad.ops.")]


def is_plain(x: Any) -> bool:
    """Whether `eval(repr(x))` gives x back: 3, (1.5, "a"), None: yes; inf, [1]: no."""
    if type(x) is tuple:
        return all(map(is_plain, x))
    return x is None or type(x) in (bool, int, str) or (type(x) is float and math.isfinite(x))
