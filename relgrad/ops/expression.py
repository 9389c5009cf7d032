"""Ops that are one NumPy expression, which is their generated source and what computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from string import Formatter
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.contract import Laws, of_first
from relgrad.op import Op
from relgrad.term import Term


class Expression(Op):
    """An op that is one expression of its operands {0}, {1}, … or {operands}, and of its attributes.

    text = "np.take_along_axis({0}, {1}, axis={axis})"  ⟶  np.take_along_axis(x, i, axis=-1)
    """

    text: str

    def written(self, names: Sequence[str]) -> str:
        """Return the expression of operands with these names."""
        return Formatter().vformat(self.text, names, _Attributes(self, names))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return self.written(names)

    def compute(self, *arrays: Any) -> Any:
        return _function(self, len(arrays))(*arrays)

    def ball(self, *balls: Any) -> Any:
        return self.compute(*balls)


class Entries(Expression):
    """y ⊆ x, range(y) = range(x): an expression whose entries are some of its first operand's; linear in it."""

    laws = Laws(linear=(0,))
    finite = True
    range = staticmethod(of_first)


class SecondDerivative(Op):
    """h(x, v) = D²f(x)·v, linear in v: h(x, v)·w = h(x, w)·v, and its derivative in x along w is D³f(x)·v·w."""

    laws = Laws(linear=(1,))

    def third(self, x: Any, v: Any, w: Any) -> Any:
        """Return D³f(x)·v·w."""
        raise NotImplementedError

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (x, v), (g,) = inputs, output_gradients
        return [self.third(x, v, g), self(x, g)]


class OverAxes(Expression):
    """axes (−1,) → {axis} = −1, (−2, −1) → (−2, −1):
    an expression in which {axis} is a single axis, or all of several.
    """

    axes: Any

    @property
    def axis(self) -> Any:
        """A single axis as a number, several as a tuple."""
        return self.axes[0] if len(self.axes) == 1 else self.axes

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return self.axes


class _Attributes(Mapping[str, Any]):
    """{axis} → op.axis, {operands} → "x, y": the attributes of an op by name, and the names of its operands in a
    row.
    """

    def __init__(self, op: Op, names: Sequence[str]):
        self.op, self.names = op, names

    def __getitem__(self, key: str) -> Any:
        return ", ".join(self.names) if key == "operands" else getattr(self.op, key)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _function(op: Expression, arity: int) -> Callable[..., Any]:
    names = [f"x{i}" for i in range(arity)]
    return eval(f"lambda {', '.join(names)}: {op.written(names)}", {"np": np, **vars(kernels)})
