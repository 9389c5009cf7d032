"""Leaves that hold no array: arguments, and the cotangents of what is disconnected or undefined."""

from __future__ import annotations

from typing import Any

from relgrad.op import Op
from relgrad.term import Term, term
from relgrad.types import ArrayType, DisconnectedType, NullType, Type


class Input(Op):
    """A leaf that stands for an argument, or for a symbol that is none: a name and an array type."""

    __props__ = ("label", "array", "symbol")

    def __init__(self, label: str, array: ArrayType, symbol: bool = False):
        self.label, self.array, self.symbol = label, array, symbol

    @property
    def name(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return self.label

    __str__ = __repr__

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return self.array

    def make_node(self, *inputs: Any) -> Term:
        return term(self)


class Known(Op):
    """A leaf that is no array: the cotangent of what is disconnected, or undefined."""

    __props__ = ("kind",)

    def __init__(self, kind: DisconnectedType | NullType):
        self.kind = kind

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return self.kind


def disconnected() -> Term:
    """The cotangent of an input that the cost does not depend on."""
    return term(Known(DisconnectedType()))


def grad_undefined(op: Op, index: int, x: Any = None, why: str = "") -> Term:
    """The cotangent of an input for which the derivative does not exist."""
    return term(Known(NullType(why or f"the gradient of {op} with respect to input {index} is undefined")))


def grad_not_implemented(op: Op, index: int, x: Any = None, why: str = "") -> Term:
    """The cotangent of an input for which the derivative exists but nobody wrote it down."""
    return term(
        Known(NullType(why or f"the gradient of {op} with respect to input {index} is not implemented"))
    )
