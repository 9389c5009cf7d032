"""Reductions over axes. Internally they keep their axes, with extent 1, and a squeeze removes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from relgrad.contract import FRESH, Laws
from relgrad.errors import RelationError, ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.kernels.formulas import leave_one_out_prod
from relgrad.op import Op, as_term, constant, strong
from relgrad.ops.arguments import (
    as_balls,
    below_squeeze,
    call,
    is_ground,
    normalize_axes,
    refuse,
    require_ground,
)
from relgrad.ops.expression import OverAxes
from relgrad.ops.structure import Squeeze, broadcast_like, broadcast_to, squeeze
from relgrad.term import Term, Unknown, term
from relgrad.types import REAL, Interval, Type, array_type


class Reduction(Op):
    """(2, 3), axes (−1,) → (2, 1): a reduction over `axes` (negative, sorted) that leaves them with extent 1."""

    __props__ = ("axes",)
    axes: Any
    numpy_name: str = ""
    is_strict = True
    drops_unit_axes: bool = True
    of_nothing: int | None = None
    """The result over an axis without entries."""

    view_map = FRESH

    def output_type(self, *types: Any) -> Type:
        (x,) = types[:1]
        rank = len(x.shape)
        shape = [1 if i - rank in self.axes else n for i, n in enumerate(x.shape)]
        return array_type(self.result_dtype(x.dtype), shape)

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return dtype

    def make_node(self, *inputs: Any) -> Term:
        """Σ squeeze(x) → squeeze(Σ x), Σ over extents of 1 → x, Σ over extents of 0 → 0."""
        (x,) = inputs
        if not (is_ground(x) and self.ground):
            return term(self, strong(x))
        x = strong(x)
        axes = self.axes
        if isinstance(x.op, Squeeze):
            inner, axes, squeezed = below_squeeze(x, axes)
            return squeeze(type(self)(axes).make_node(inner), squeezed)
        if self.of_nothing is not None and any(x.type.extent(a) == 0 for a in axes):
            kind: Any = self.output_type(x.type)
            return as_term(broadcast_to(constant(self.of_nothing, kind.dtype), kind.shape))
        if self.drops_unit_axes and self.result_dtype(x.type.dtype) == x.type.dtype:
            axes = tuple(a for a in axes if x.type.extent(a) != 1)
            if not axes:
                return x
        return term(self if axes == self.axes else type(self)(axes), x)

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return self.axes

    def compute(self, *arrays: Any) -> Any:
        return getattr(np, self.numpy_name)(arrays[0], axis=self.axes, keepdims=True)

    def ball(self, *balls: Any) -> Any:
        return self.compute(*balls)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        """Σ over (−1,) → "np.sum(x, axis=-1, keepdims=True)"."""
        axis = self.axes[0] if len(self.axes) == 1 else self.axes
        if self.axes == tuple(range(-node.rands[0].type.ndim, 0)) and node.type.ndim != 1:
            axis = None
        where = "" if axis is None else f"axis={axis}, "
        return f"np.{self.numpy_name}({names[0]}, {where}keepdims=True)"


class Sum(Reduction):
    """Σ (a·x + y) = a·Σ x + Σ y over axes; linear."""

    numpy_name = "sum"
    of_nothing = 0
    laws = Laws(linear=(0,))
    finite = True
    grows = True
    out_of_range = "stays"
    cancels = "sum"

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _accumulator(dtype)

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        if x.nonnegative:
            return Interval(0.0, np.inf, x.positive)
        return -self.range_of(-x) if x.high <= 0 else REAL

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [broadcast_like(output_gradients[0], inputs[0])]


FACTORS = 64
"""Products of more are not written out."""


def running_products(x: Any, axis: int) -> list[Any]:
    """[x₀, x₁, x₂] → [x₀, x₀·x₁, x₀·x₁·x₂]: the running products along an axis, each of extent 1."""
    rest = (slice(None),) * (-1 - axis)
    factors = [x[(..., slice(i, i + 1), *rest)] for i in range(x.shape[axis])]
    return list(itertools.accumulate(factors, np.multiply))


class Prod(Reduction):
    """∂(Π x)/∂xᵢ = Π_{j ≠ i} xⱼ, a product over axes; zeros do no harm to that."""

    numpy_name = "prod"
    of_nothing = 1
    grows = True

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _accumulator(dtype)

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        if not x.nonnegative:
            return REAL
        return Interval(0.0, 1.0 if x.high <= 1 else np.inf, x.positive)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * ProdOthers(self.axes)(inputs[0])]

    def in_entries(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Π x = x₀·x₁·…, along each axis in turn"""
        (x,) = operands
        if math.prod(x.shape[axis] for axis in self.axes) > FACTORS or 0 in x.shape:
            return None
        for axis in self.axes:
            x = running_products(x, axis)[-1]
        return x


class ProdOthers(OverAxes):
    """∇ₓ Dᵐ P(x)[t₁, …, tₘ] for P(x) = Π x over axes; without directions t, for each entry Π of the others.

    Closed under differentiation: a gradient's Jacobian is symmetric, its derivative along v adds the
    direction v, and it is linear in each direction.
    """

    __props__ = ("axes",)
    axes: tuple[int, ...]
    text = "leave_one_out_prod({operands}, axes={axes})"
    imports = ("leave_one_out_prod",)

    @property
    def name(self) -> str:
        return "prod_others"

    def output_type(self, *types: Any) -> Type:
        return array_type(np.result_type(*[t.dtype for t in types]), types[0].shape)

    def ball(self, *balls: Any) -> Any:
        return as_balls(leave_one_out_prod(*np.broadcast_arrays(*balls), axes=self.axes))

    def range_of(self, *ranges: Interval) -> Interval:
        return (
            Interval(0.0, np.inf, ranges[0].positive) if len(ranges) == 1 and ranges[0].nonnegative else REAL
        )

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (g,) = output_gradients
        x, *directions = inputs
        others = [directions[:i] + directions[i + 1 :] for i in range(len(directions))]
        return [self(x, *directions, g), *[self(x, *rest, g) for rest in others]]


def _accumulator(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which NumPy sums and multiplies: at least 64 bits for integers."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


def reduce(op: type[Reduction], x: Any, axis: Any, keepdims: bool) -> Any:
    """(Sum, x : (2, 3), 1, False) → squeeze(Σ₋₁ x) : (2,): a reduction as NumPy's functions spell it; x is a term."""
    x = as_term(x)
    if not is_ground(x):
        return op(pattern_axes(axis, keepdims)).make_node(x)
    axes = normalize_axes(axis, x.type.ndim)
    if not axes:
        return op(axes).make_node(x)
    node = op(axes).make_node(x)
    return node if keepdims else squeeze(node, axes)


def pattern_axes(axis: Any, keepdims: bool) -> Any:
    """−1 → (−1,), a variable → itself: the axes of a reduction in a relation, where the rank is not known.

    Raises RelationError where axes are not kept, or counted from the left.
    """
    if not keepdims:
        raise RelationError(
            "a reduction in a relation must keep its axes",
            cause="without keepdims=True the rank of its result depends on that of its operand",
            cure="pass keepdims=True; the relation holds for reductions that drop their axes too",
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


def cast_to(a: Any, dtype: Any) -> Any:
    """(x, float32) → cast(x, float32), (x, None) → x."""
    if dtype is None:
        return a
    from relgrad.ops.casting import cast

    return cast(a, dtype)


def is_given(option: Any, default: Any = None) -> bool:
    """Whether an option of a reduction, `where=` or `initial=`, changes what it does."""
    return option is not None and option is not np._NoValue and option is not default


def mask_like(function: str, where: Any, x: Any) -> Any:
    """Return the term of a mask, `where=` of a reduction, stretched to the shape of what is reduced.

    Raises TraceError for what is no mask, and ShapeError where it does not fit.
    """
    mask = strong(as_term(where))
    if mask.type.dtype.kind != "b":
        raise TraceError(
            f"{function} cannot be traced with where= of dtype {mask.type.dtype}",
            cause="a mask consists of truth values",
            cure="compare, as in where=(mask != 0)",
        )
    shape = mask.type.shape
    with suppress(ValueError):
        mask = broadcast_like(mask, x)
    wanted = x.type.shape
    if mask.type.ndim != len(wanted) or any(
        n not in (m, None) for m, n in zip(mask.type.shape, wanted, strict=True)
    ):
        raise ShapeError(
            f"{function}: where= of shape {shape} for an array of shape {wanted}",
            cause="a mask may be stretched to the shape of what is reduced, but not the other way round",
            cure="stretch the array first, with np.broadcast_to",
        )
    return mask


def masked(function: str, a: Any, where: Any, fill: Any) -> Any:
    """(x, m, 0) → where(m, x, 0), without a mask → x: what is left out counts as `fill`."""
    if not is_given(where, True):
        return a
    x = require_ground(f"{function} with where=", a)
    return call(np.where, mask_like(function, where, x), x, single(fill, x))


def single(value: Any, like: Any) -> Any:
    """Return the term of a number, `initial=` of a reduction, in the dtype of a term."""
    x = as_term(value)
    if x.type.shape:
        raise ShapeError(f"initial= of a reduction is a number, not an array of shape {x.type.shape}")
    return as_term(cast_to(x, like.type.dtype))


def _folded(op: type[Reduction], join: Any, neutral: int) -> Any:
    """sum(x, initial=v, where=m) = v + Σ where(m, x, 0): the function that traces `np.sum`, or another reduction."""
    function = f"np.{op.numpy_name}"

    def trace(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """x, axis → v + Σ where(m, x, 0); raises for `out`."""
        refuse(function, out=out)
        x = masked(function, cast_to(a, dtype), where, neutral)
        result = cast_to(reduce(op, x, axis, keepdims), dtype)
        return call(join, single(initial, as_term(result)), result) if is_given(initial) else result

    return trace


sum_ = implements(np.sum, "sum")(_folded(Sum, np.add, 0))
prod = implements(np.prod, "prod")(_folded(Prod, np.multiply, 1))
