"""Ops that are equal to their first operand over the reals, and compute it in another way where floats lose it."""

from __future__ import annotations

from typing import Any

from relgrad.contract import of_first
from relgrad.op import Op
from relgrad.term import Term
from relgrad.types import Type


class Mended(Op):
    """f(x), x → F(x) = f(x) over the reals: a program's values, and the arguments of which they are computed anew.

    Types, ranges, balls and derivatives are those of the values.
    """

    called = True
    range = staticmethod(of_first)
    stand_in = "lambda values, *arguments: values"

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return rands[0].type

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0], *[None] * (len(inputs) - 1)]

    def ball(self, *balls: Any) -> Any:
        return balls[0]
