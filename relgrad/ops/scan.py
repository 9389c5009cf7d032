"""Running sums and products, and the recurrences that their derivatives are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, Laws, along_axis
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import (
    below_squeeze,
    call,
    is_ground,
    normalize_axis,
    refuse,
    require_ground,
)
from relgrad.ops.expression import Expression
from relgrad.ops.indexing import getitem
from relgrad.ops.reduction import FACTORS, Prod, Sum, cast_to, running_products
from relgrad.ops.shaping import AmongZeros, Rearrangement
from relgrad.ops.structure import Squeeze, squeeze
from relgrad.term import Term, term
from relgrad.types import REAL, Interval, Type, array_type


class _Along(Expression):
    """(2, 3) → (2, 3): an op that keeps the shape of its operand and acts along one axis."""

    __props__ = ("axis",)
    axis: int
    text = "np.{name}({0}, axis={axis})"
    view_map = FRESH
    mixes = along_axis

    def output_type(self, *types: Any) -> Type:
        return array_type(Sum((self.axis,)).result_dtype(types[0].dtype), types[0].shape)

    def make_node(self, *inputs: Any) -> Term:
        """f(squeeze x) → squeeze(f(x)), along an extent of 1 → x."""
        x = strong(inputs[0])
        if is_ground(x) and isinstance(x.op, Squeeze):
            inner, (axis,), squeezed = below_squeeze(x, (self.axis,))
            return squeeze(type(self)(axis).make_node(inner), squeezed)
        if is_ground(x) and x.type.shape[self.axis] == 1 and self.output_type(x.type) == x.type:
            return x
        return term(self, x)

    def entries(self, node: Term, pattern: Sequence[Any]) -> Any:
        """cumsum(x)[0] → x[0]: what runs begins with the first entry."""
        (x,), chosen = node.rands, pattern[self.axis]
        if chosen not in (0, (0, 1, None)) or x.type.dtype != node.type.dtype:
            return None
        return as_term(getitem(x, tuple([slice(*p) if type(p) is tuple else p for p in pattern])))


class CumSum(_Along, Rearrangement):
    """yₖ = x₀ + … + xₖ along an axis; the adjoint runs from the other end."""

    grows = True
    out_of_range = "stays"
    cancels = "sum"

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        if x.nonnegative:
            return Interval(x.low, np.inf, x.open_low)
        return -self.range_of(-x) if x.high <= 0 else REAL

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [np.flip(self(np.flip(output_gradients[0], self.axis)), self.axis)]


class CumProd(_Along):
    """Running products yₖ = xₖ yₖ₋₁ along an axis.

    With λ the adjoint recurrence, λₖ = gₖ + xₖ₊₁ λₖ₊₁, the pullback is x̄ₖ = λₖ yₖ₋₁: no division by zeros.
    """

    grows = True

    def range_of(self, *ranges: Interval) -> Interval:
        return Prod((self.axis,)).range_of(*ranges)

    def reflected(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1 − x₀…xₖ = u₀ + x₀·u₁ + … + x₀…xₖ₋₁·uₖ, where u = 1 − x"""
        (u,) = operands
        return np.cumsum(u * self._before(self(1.0 - u)), axis=self.axis)

    def in_entries(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Running products, each by the one before it."""
        (x,) = operands
        written = 0 < x.shape[self.axis] <= FACTORS
        return np.concatenate(running_products(x, self.axis), axis=self.axis) if written else None

    def _before(self, y: Any) -> Any:
        """Return yₖ₋₁, with 1 before the first."""
        ones = np.ones_like(y)
        later = Delay(self.axis, 1)
        return later(y) + (ones - later(ones))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        adjoint = Recurrence(self.axis, True)(inputs[0], output_gradients[0])
        return [adjoint * self._before(outputs[0])]


class Delay(AmongZeros):
    """yₖ = xₖ₋ₛ along an axis, 0 where there is none."""

    __props__ = ("axis", "step")
    axis: int
    step: int
    text = "delay({0}, {axis}, {step})"
    imports = ("delay",)
    mixes = along_axis

    def output_type(self, *types: Any) -> Type:
        return types[0]

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Delay(self.axis, -self.step)(output_gradients[0])]


class Recurrence(Expression):
    """The solution s of sₖ = aₖ sₖ₋₁ + bₖ along an axis from zero on; or, adjoint, of sₖ = bₖ + aₖ₊₁ sₖ₊₁.

    Linear in b, where each of the two is the adjoint of the other.
    """

    __props__ = ("axis", "adjoint")
    axis: int
    adjoint: bool
    text = "linear_recurrence({0}, {1}, {axis}, {adjoint})"
    imports = ("linear_recurrence",)
    laws = Laws(linear=(1,))
    mixes = along_axis

    def output_type(self, *types: Any) -> Type:
        return array_type(np.result_type(types[0].dtype, types[1].dtype), types[0].shape)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (a, _), (s,), (g,) = inputs, outputs, output_gradients
        back = Recurrence(self.axis, not self.adjoint)(a, g)
        later = Delay(self.axis, 1)
        return [s * later(back) if self.adjoint else back * later(s), back]


def _scan(op: type[_Along], function: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """(CumSum, x, axis) → CumSum(axis)(x), of ravel(x) for None; raises for `out`."""
    refuse(function, out=out)
    x = strong(as_term(cast_to(a, dtype)))
    if axis is None or (axis in (0, -1) and is_ground(x) and x.type.ndim == 0):
        x, axis = call(np.ravel, x), -1
    if is_ground(x):
        axis = normalize_axis(axis, x.type.ndim)
    elif operator.index(axis) >= 0:
        require_ground(f"{function} along an axis counted from the left", x)
    return cast_to(op(axis).make_node(x), dtype)


@implements(np.cumsum, "cumsum")
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Trace `np.cumsum`."""
    return _scan(CumSum, "np.cumsum", a, axis, dtype, out)


@implements(np.cumprod, "cumprod")
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Trace `np.cumprod`."""
    return _scan(CumProd, "np.cumprod", a, axis, dtype, out)
