"""What stands for an array and computes none: arguments, variables of differentiation, cotangents that are no array."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from relgrad.contract import of_first
from relgrad.op import Labelled, Op
from relgrad.term import Term, rebuild, term
from relgrad.types import REAL, ArrayType, DisconnectedType, Interval, NullType, Type


class Leaf(Labelled):
    """x : float64 (3,), 0 ≤ x: what stands for an array of a type, by its label; its entries lie in a range."""

    arity = 0
    array: ArrayType
    range: Interval  # pyright: ignore[reportIncompatibleVariableOverride]

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return self.array

    def make_node(self, *inputs: Any) -> Term:
        return term(self)


class Input(Leaf):
    """x : float64 (3,), x > 0: a leaf that stands for an argument, or for a symbol that is none.

    `range` is where its entries are assumed to lie; `facts` are the values that are computed of it with their
    assumed ranges, each a term of inputs without assumptions. Inputs that are assumed to differ are different terms,
    and so is all that is computed of them: an assumption is never seen by a program that does not make it. `trace` is
    the number of the trace that the input belongs to, while it lasts.
    """

    __props__ = ("label", "array", "symbol", "range", "facts", "trace")

    def __init__(
        self,
        label: str,
        array: ArrayType,
        symbol: bool = False,
        range: Interval = REAL,
        facts: tuple[tuple[Term, Interval], ...] = (),
        trace: int = 0,
    ):
        self.label, self.array, self.symbol, self.range, self.facts = label, array, symbol, range, facts
        self.trace = trace


class Anchor(Op):
    """Anchor(x) = x, opaque to relations: a variable of differentiation that is itself a computed value.

    It keeps what a gradient is taken for distinct from everything else with the same value, until it is expanded.
    """

    __props__ = ("serial",)
    serial: int
    rounds = False
    range = staticmethod(of_first)

    def output_type(self, *types: Any) -> Type:
        return types[0]

    def compute(self, *arrays: Any) -> Any:
        return arrays[0]

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return names[0]

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0]]


def without_anchors(terms: Iterable[Term], kept: Container[int] = ()) -> list[Term]:
    """A₁(A₂(x)), {1} → A₁(x): terms with values in place of variables of differentiation, but for those that are
    kept by their serial numbers.
    """

    def change(old: Term, rands: tuple[Any, ...]) -> Term:
        if type(old.op) is Anchor and old.op.serial not in kept:
            return rands[0]
        return term(old.op, *rands, type_=old.type)

    return rebuild(terms, change)


class Known(Op):
    """∂y/∂c = Known(DisconnectedType): a leaf that is no array: the cotangent of what is disconnected, or undefined."""

    __props__ = ("kind",)
    kind: DisconnectedType | NullType

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
