"""Which ops the theories of products and sums read through, and how: what ops say of that, and contractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.logic.conditions import is_constant_along
from relgrad.op import Op, constant, is_constant
from relgrad.ops.align import insert
from relgrad.ops.arithmetic import (
    multiply,
    power,
)
from relgrad.ops.casting import Cast
from relgrad.ops.exponential import exp
from relgrad.ops.matmul import MatMul, swap
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze, expand, squeeze
from relgrad.term import Term

_READ_THROUGH = (BroadcastTo, BroadcastLike, Expand, Squeeze, Cast)
"""Linear ops that views look through in their own way, or that float to the root."""


def inner_product(t: Term) -> Term | None:
    """a @ b = Σᵢ aᵢ·bᵢ: the sum of products that a row times a column is, or None; kept on the term.

    A matrix times a vector is read so as well where exponentials are summed: it may be a normalisation.
    """
    if type(t.op) is not MatMul:
        return None
    row, column = t.type.extent(-2) == 1, t.type.extent(-1) == 1
    if not (row or column):
        return None
    if "inner product" not in t.cache:
        a, b = t.rands
        found = None
        if column and (row or _is_exponential(a) or _is_exponential(b)):
            found = Sum((-1,)).make_node(multiply(a, _turned(b, -1)))
        elif _is_exponential(a) or _is_exponential(b):
            found = Sum((-2,)).make_node(multiply(_turned(a, -2), b))
        t.cache["inner product"] = found
        if found is not None:
            found.cache["unwritten"] = True
    return t.cache["inner product"]


def is_written(t: Term) -> bool:
    """Σ x·y → True, unless it is how x @ y is read: whether a contraction's operand may stand in a program."""
    return "unwritten" not in t.cache


def _turned(x: Any, axis: int) -> Any:
    """x : (n, 1) → x.T : (1, n): a row or column, whose extent along an axis is 1, transposed."""
    if is_constant(x):
        return constant(np.swapaxes(x.op.value, -1, -2), x.type.dtype)
    if type(x.op) is Expand and axis in x.op.axes:
        return expand(squeeze(x, (axis,)), (-3 - axis,))
    return swap(x)


def _is_exponential(x: Any, depth: int = 4) -> bool:
    """x·eʸ, (eˣ)[0] → True; x + eʸ → False: whether an exponential is among the factors, as far as one sees at a
    glance.
    """
    if x.op is exp:
        return True
    if not depth or not (x.op.as_product is not None or x.op.laws.selects or type(x.op) in _READ_THROUGH):
        return False
    return any(_is_exponential(rand, depth - 1) for rand in x.rands[: 1 if x.op.laws.selects else None])


def linear_positions(op: Op) -> tuple[int, ...]:
    """matmul → (0, 1), sin → (): the operands of which factors may stand before the op: those in which it is linear.

    Elementwise ops are read as products, or not at all: xlogy(0, 0) is 0, but 0·xlogy(1, 0) is not.
    """
    return () if op.elementwise or type(op) in _READ_THROUGH else op.laws.linear


def linear_operands(t: Term) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Σ_{−1} x → ((0, (−1,)),): each operand in which an op is linear, with the axes along which factors leaving it are
    constant.
    """
    found = []
    for i in linear_positions(t.op):
        # Truth values and machine integers are no factors.
        if i < len(t.rands) and t.rands[i].type.differentiable:
            axes = t.op.mixes(t, i)
            found.append((i, tuple(range(-t.rands[i].type.ndim, 0)) if axes is None else axes))
    return tuple(found)


def stands_outside(x: Any, axes: tuple[int, ...], like: Term) -> bool:
    """Whether a factor may cross a linear op, op(a·x) = a·op(x), and change no type where it goes.

    `like` is the application where the factor leaves it, and the operand where it enters.
    """
    if not is_constant_along(x, axes) or x.type.ndim > like.type.ndim:
        return False
    return x.type.dtype == like.type.dtype or np.result_type(x.type.dtype, like.type.dtype) == like.type.dtype


def is_contraction(t: Term) -> bool:
    """Whether a term is a linear contraction, which reads as a product and opens a scope."""
    return type(t.op) in (Sum, MatMul)


def in_product(op: Op) -> bool:
    """Whether the theory of products reads through an op."""
    return op.as_product is not None or op is power or type(op) in (Sum, MatMul, BroadcastTo, BroadcastLike)


def in_sum(op: Op) -> bool:
    """Whether the theory of sums reads through an op."""
    return bool(op.as_sum)


PRODUCT, SUM, BAG = 1, 2, 4
"""Theories that read through several ops at once: products, sums, and any other op that is associative."""


def theories_of(op: Op) -> int:
    """multiply → PRODUCT, add → SUM, maximum → BAG: the theories that read through an op, as a sum of their numbers.

    Kept on the op, which is asked often.
    """
    try:
        return op._theories  # type: ignore[attr-defined]
    except AttributeError:
        found = (PRODUCT if in_product(op) else 0) | (SUM if in_sum(op) else 0)
        if not found and op.laws.associative:
            found = BAG
        op._theories = found  # type: ignore[attr-defined]
        return found


def shared_theories(op: Op, inner: Op) -> int:
    """Return the theories under which the application of `inner` is part of the one of `op` that it stands in."""
    shared = theories_of(op) & theories_of(inner)
    return 0 if shared == BAG and inner != op else shared


def insert_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Insert axes into a factor, under its exp where it is one, leaving out those that would lead."""
    if x.op is exp:
        return exp(insert_axes(x.rands[0], axes))
    return insert(x, axes)
