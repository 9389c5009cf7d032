"""Which ops the theories of products and sums read through, and how: the laws, as tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from relgrad.logic.group import Number
from relgrad.op import Op
from relgrad.ops.align import insert
from relgrad.ops.arithmetic import (
    add,
    divide,
    multiply,
    negative,
    positive,
    power,
    reciprocal,
    sqrt,
    square,
    subtract,
)
from relgrad.ops.exponential import exp
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import BroadcastLike, BroadcastTo
from relgrad.term import Term

PRODUCTS: dict[Op, tuple[int, tuple[Number, ...]]] = {
    multiply: (1, (1, 1)),
    divide: (1, (1, -1)),
    negative: (-1, (1,)),
    positive: (1, (1,)),
    reciprocal: (1, (-1,)),
    square: (1, (2,)),
    sqrt: (1, (Fraction(1, 2),)),
}
"""The ops that the theory of products reads: a coefficient, and each operand's exponent."""

SUMS: dict[Op, tuple[int, ...]] = {add: (1, 1), subtract: (1, -1), negative: (-1,), positive: (1,)}
"""The ops that the theory of sums reads: each operand's coefficient."""


def hoisting_axes(op: Op, ndim: int) -> tuple[tuple[int, ...], ...]:
    """Return for each operand in which a linear op is linear the axes along which a factor must be constant.

    The op contracts these axes, so a factor that does not vary along them may stand before or behind it.
    """
    if type(op) is Sum:
        return (op.axes,)
    if type(op) is MatMul:
        return ((-1,), (-2,))
    return ()


def is_contraction(t: Term) -> bool:
    """Whether a term is a linear contraction, which reads as a product and opens a scope."""
    return type(t.op) in (Sum, MatMul)


def in_product(op: Op) -> bool:
    """Whether the theory of products reads through an op."""
    return op in PRODUCTS or op is power or type(op) in (Sum, MatMul, BroadcastTo, BroadcastLike)


def in_sum(op: Op) -> bool:
    """Whether the theory of sums reads through an op."""
    return op in SUMS


PRODUCT, SUM = 1, 2


def theories_of(op: Op) -> int:
    """Return which theories read through an op, as a sum of PRODUCT and SUM; kept on the op, which is asked often."""
    found = op.__dict__.get("_theories")
    if found is None:
        found = op.__dict__["_theories"] = (PRODUCT if in_product(op) else 0) | (SUM if in_sum(op) else 0)
    return found


def insert_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Insert axes into a factor, under its exp where it is one, leaving out those that would lead."""
    if x.op is exp:
        return exp(insert_axes(x.rands[0], axes))
    return insert(x, axes)
