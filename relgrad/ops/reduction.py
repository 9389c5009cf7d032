"""Reductions over axes. Internally they keep their axes, with extent 1, and a squeeze removes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.errors import RelationError, ShapeError
from relgrad.op import Laws, Op, as_term, implements, strong
from relgrad.ops.structure import Squeeze, squeeze
from relgrad.term import Term, Unknown, is_term, term
from relgrad.types import REAL, Interval, Type, array_type


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes (None, one, or several, of either sign) as sorted negative integers.

    >>> normalize_axes((0, -1), 3)
    (-3, -1)

    Raises ShapeError for an axis that the array does not have or that is named twice.
    """
    if axis is None:
        return tuple(range(-ndim, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    result = []
    for a in axes:
        a = int(a)
        if not -ndim <= a < ndim:
            raise ShapeError(f"axis {a} is out of bounds for an array with {ndim} axes")
        result.append(a - ndim if a >= 0 else a)
    if len(set(result)) != len(result):
        raise ShapeError(f"axes {axis} name the same axis twice")
    return tuple(sorted(result))


class Reduction(Op):
    """A reduction over `axes` (negative, sorted) that leaves them with extent 1."""

    __props__ = ("axes",)
    numpy_name: str = ""
    drops_unit_axes: bool = True

    def __init__(self, axes: Any):
        self.axes = axes

    def output_type(self, *types: Any) -> Type:
        (x,) = types[:1]
        rank = len(x.shape)
        shape = [1 if i - rank in self.axes else n for i, n in enumerate(x.shape)]
        return array_type(self.result_dtype(x.dtype), shape)

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return dtype

    def make_node(self, *inputs: Any) -> Term:
        (x,) = inputs
        if not x.ground:
            return term(self, x)
        x = strong(x)
        axes = self.axes
        if isinstance(x.op, Squeeze):
            inner = x.rands[0]
            kept = [a for a in range(-inner.type.ndim, 0) if a not in x.op.axes]
            return squeeze(type(self)(tuple(kept[a] for a in axes)).make_node(inner), x.op.axes)
        if self.drops_unit_axes and self.result_dtype(x.type.dtype) == x.type.dtype:
            axes = tuple(a for a in axes if x.type.shape[a] != 1)
            if not axes:
                return x
        return term(type(self)(axes), x)

    def compute(self, *arrays: Any) -> Any:
        return getattr(np, self.numpy_name)(arrays[0], axis=self.axes, keepdims=True)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        axis = self.axes[0] if len(self.axes) == 1 else self.axes
        if self.axes == tuple(range(-node.rands[0].type.ndim, 0)) and node.type.ndim != 1:
            axis = None
        where = "" if axis is None else f"axis={axis}, "
        return f"np.{self.numpy_name}({names[0]}, {where}keepdims=True)"


class Sum(Reduction):
    """Σ over axes; linear."""

    numpy_name = "sum"
    laws = Laws(linear=(0,))

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.dtype(np.int64) if dtype.kind in "b" or (dtype.kind == "i" and dtype.itemsize < 8) else dtype

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        if x.nonnegative:
            return Interval(0.0, np.inf, x.positive)
        return -self.range_of(-x) if x.high <= 0 else REAL

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [np.broadcast_to(output_gradients[0], inputs[0].shape)]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [self(eval_points[0])]

    def ball(self, *balls: Any) -> Any:
        return np.sum(balls[0], axis=self.axes, keepdims=True)


def reduce(op: type[Reduction], x: Any, axis: Any, keepdims: bool) -> Any:
    """Apply a reduction as NumPy's functions spell it: any axes, kept or not; x is a term."""
    x = as_term(x)
    if not (is_term(x) and x.ground):
        return op(pattern_axes(axis, keepdims)).make_node(x)
    axes = normalize_axes(axis, x.type.ndim)
    if not axes:
        return op(axes).make_node(x)
    node = op(axes).make_node(x)
    return node if keepdims else squeeze(node, axes)


def pattern_axes(axis: Any, keepdims: bool) -> Any:
    """Check and return the axes of a reduction in a relation, where the rank is not known."""
    if not keepdims:
        raise RelationError(
            "a reduction in a relation must keep its axes",
            cause="without keepdims=True the rank of its result depends on that of its operand",
            cure="pass keepdims=True; relations hold for every rank and for reductions that drop their axes too",
        )
    if isinstance(axis, Unknown):
        return axis
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(a, int) and a < 0 for a in axes):
        raise RelationError(
            f"a relation cannot reduce over axis={axis!r}",
            cause="axes in relations are counted from the right, or are logic variables",
            cure="make the axis a parameter of the relation, or use a negative axis",
        )
    return tuple(sorted(axes))


@implements(np.sum, "sum")
def sum_(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Trace `np.sum`."""
    from relgrad.ops.casting import cast

    x = as_term(a) if dtype is None else cast(a, dtype)
    return reduce(Sum, x, axis, keepdims)
