"""Norms over axes as ops, and the unit vectors that are their gradients; neither overflows on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.linalg import unit_pullback
from relgrad.op import Op, as_term, strong
from relgrad.ops.arguments import as_balls, below_squeeze, is_ground
from relgrad.ops.arithmetic import absolute, sign
from relgrad.ops.conventional import Under, at_zero
from relgrad.ops.expression import OverAxes, SecondDerivative
from relgrad.ops.reduction import Reduction
from relgrad.ops.rows import RowsOp
from relgrad.ops.structure import broadcast_like, squeeze
from relgrad.term import Term, term
from relgrad.types import NONNEGATIVE, REAL, Interval, Shape, Type, array_type


def _float(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float64)


class _OfVectors(OverAxes):
    """f(x) along axes; x : (3, 1), axis −1 → of_numbers(x):
    a function of the vectors along axes, and of their one entry.
    """

    of_numbers: Callable[..., Any]

    def make_node(self, *inputs: Any) -> Term:
        """‖x‖ over extents of 1 → |x|, ‖squeeze x‖ → squeeze ‖x‖."""
        x = strong(as_term(inputs[0]))
        if not (is_ground(x) and self.ground):
            return term(self, x)
        x, axes, squeezed = below_squeeze(x, self.axes)
        axes = tuple(a for a in axes if x.type.shape[a] != 1)
        vectors = axes or x.type.dtype.kind != "f"
        node = term(self.with_props((axes, *self._props()[1:])), x) if vectors else type(self).of_numbers(x)
        return squeeze(as_term(node), squeezed)


class Norm(_OfVectors, Reduction):
    """‖x‖ = √(Σ x²) over axes; its gradient is x/‖x‖, and 0 at 0."""

    text = "norm2({0}, axis={axis}, keepdims=True)"
    of_numbers = staticmethod(absolute)
    imports = ("norm2",)
    range = NONNEGATIVE
    finite = True

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _float(dtype)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * self.slope(inputs[0])]

    def under(self, conventions: Any) -> Op:
        return self if conventions.norm_at_zero == 0 else _Sloped(self, conventions.norm_at_zero)

    def slope(self, x: Any) -> Any:
        """Return ∂‖x‖/∂x."""
        return Unit(self.axes)(x)

    def ball(self, *balls: Any) -> Any:
        return np.sqrt(as_balls(np.sum(balls[0] * balls[0], axis=self.axes, keepdims=True)))


class _Sloped(Under, Norm):
    """∂‖x‖/∂x = c at 0: a norm with another slope there."""

    def __init__(self, original: Norm, value: float):
        super().__init__(original.axes)
        self.original, self.value = original, value

    def slope(self, x: Any) -> Any:
        assert isinstance(self.original, Norm)
        return at_zero(self.original.slope(x), self.original(x), self.value)


class PNorm(Norm):
    """‖x‖ₚ = (Σ |x|ᵖ)^(1/p) over axes, p not 0 nor infinite; its gradient is sign(x)·(|x|/‖x‖)^(p−1), and 0 at 0."""

    __props__ = ("axes", "order")
    order: float
    text = "norm_p({0}, {order!r}, axis={axis}, keepdims=True)"
    imports = ("norm_p",)

    def slope(self, x: Any) -> Any:
        return PUnit(self.axes, self.order)(x)

    def ball(self, *balls: Any) -> Any:
        total = as_balls(np.sum(np.abs(balls[0]) ** self.order, axis=self.axes, keepdims=True))
        return total ** (1 / _exact(self.order))


def _exact(order: float) -> Any:
    import flint

    return flint.arb(order)


class Unit(_OfVectors):
    """x/‖x‖ over axes, and 0 where x = 0; its Jacobian (I - u·uᵀ)/‖x‖ is symmetric, and taken as 0 at 0."""

    __props__ = ("axes",)
    axes: tuple[int, ...]
    text = "unit({0}, axis={axis})"
    of_numbers = staticmethod(sign)
    imports = ("unit",)
    is_strict = True

    def output_type(self, *types: Any) -> Type:
        return array_type(_float(types[0].dtype), types[0].shape)

    def project(self, x: Any, v: Any) -> Any:
        """Apply the Jacobian at x to v."""
        return UnitPullback(self.axes)(x, v)

    def over_length(self, *operands: Any) -> tuple[Any, Any] | None:
        (x,) = operands
        return Norm(self.axes)(x), x

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [self.project(inputs[0], output_gradients[0])]

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        return Interval(0.0 if x.nonnegative else -1.0, 0.0 if x.high <= 0 else 1.0)

    def ball(self, *balls: Any) -> Any:
        (x,) = balls
        norm = np.broadcast_to(Norm(self.axes).ball(x), x.shape)
        return np.frompyfunc(lambda a, n: a if n.is_zero() else a / n, 2, 1)(x, norm)


class UnitPullback(SecondDerivative, RowsOp):
    """(v - u·Σuv)/‖x‖ with u = x/‖x‖, the Jacobian of `Unit` at x, and 0 where x = 0; linear and symmetric in v.

    Its derivative in x is the third of the norm, -(P(v)·Σuw + P(w)·Σuv + u·ΣwP(v))/‖x‖ along v and w.
    """

    kernel = staticmethod(unit_pullback)
    cancels = "centre"
    is_strict = True

    def minuend(self, *operands: Any) -> Any:
        x, v = operands
        norm = Norm(self.axes)(self._repeated(x, v))
        return v / np.where(norm == 0, 1.0, norm)

    def _canonical(self, operands: Sequence[Any], axes: tuple[int, ...], shape: Shape) -> Term:
        return term(self.with_props((tuple(a for a in axes if shape[a] != 1),)), *operands)

    def over_length(self, *operands: Any) -> tuple[Any, Any] | None:
        """P(x)·v/‖x‖; where x = 0, P is I: what knows the direction of x cancels in every derivative that exists."""
        x, v = operands
        x = self._repeated(x, v)
        norm = Norm(self.axes)(x)
        return norm, np.where(norm == 0, v, self(Unit(self.axes)(x), v))

    def _repeated(self, x: Any, v: Any) -> Any:
        """x : (1,), v : (2, 1) → x of (2, 1): an entry that an axis repeats counts so often in the norm."""
        return broadcast_like(x, self(x, v))

    def third(self, x: Any, v: Any, w: Any) -> Any:
        """−(Pv·⟨u, w⟩ + Pw·⟨u, v⟩ + u·⟨w, Pv⟩)/‖x‖ = ∂(Pv)/∂x·w, with u = x/‖x‖; 0 at 0."""
        x = self._repeated(x, v)
        u, norm = Unit(self.axes)(x), Norm(self.axes)(x)
        pv = self(x, v)
        third = pv * self._sum(u * w) + self(x, w) * self._sum(u * v) + u * self._sum(w * pv)
        return np.where(norm == 0, 0.0, -third / np.where(norm == 0, 1.0, norm))

    def ball(self, *balls: Any) -> Any:
        """x, v → (v − x·⟨x, v⟩/‖x‖²)/‖x‖, and 0 at 0, of balls."""

        def row(xs: list[Any], vs: list[Any]) -> list[Any]:
            """x, v → (v − x·⟨x, v⟩/‖x‖²)/‖x‖ of one vector."""
            square: Any = sum(x * x for x in xs)
            along: Any = sum(x * v for x, v in zip(xs, vs, strict=True))
            if not xs or square.is_zero():
                return [v * 0 for v in vs]
            return [(v - x * along / square) / square.sqrt() for x, v in zip(xs, vs, strict=True)]

        return self._ball_rows(row, *balls)


class PUnit(Unit):
    """sign(x)·(|x|/‖x‖)^(p-1), the gradient of the p-norm, and 0 where x = 0; its Jacobian is symmetric."""

    __props__ = ("axes", "order")
    order: float
    text = "unit_p({0}, {order!r}, axis={axis})"
    imports = ("unit_p",)

    def over_length(self, *operands: Any) -> tuple[Any, Any] | None:
        return None

    def project(self, x: Any, v: Any) -> Any:
        """(p − 1)·(|x/‖x‖|^(p−2)·v − u·⟨u, v⟩)/‖x‖ = ∂u/∂x·v, u the gradient of ‖x‖ₚ; entries that are 0 count as
        constant.
        """
        u, norm = self(x), PNorm(self.axes, self.order)(x)
        norm = np.where(norm == 0, 1, norm)
        # For p < 2 the curvature is infinite at entries that are 0; they count as constant there.
        bend = np.where(x == 0, 0, np.where(x == 0, 1, np.abs(x) / norm) ** (self.order - 2))
        return (self.order - 1) * ((bend * v - u * np.sum(u * v, axis=self.axes, keepdims=True)) / norm)

    def range_of(self, *ranges: Interval) -> Interval:
        return REAL if self.order < 1 else super().range_of(*ranges)

    def ball(self, *balls: Any) -> Any:
        """x → sign(x)·(|x|/‖x‖)^(p−1), and 0 at 0, of balls."""
        (x,) = balls
        norm = np.broadcast_to(PNorm(self.axes, self.order).ball(x), x.shape)
        power = _exact(self.order) - 1
        slope = lambda a, n: a if a.is_zero() else a.sgn() * (abs(a) / n) ** power
        return np.frompyfunc(slope, 2, 1)(x, norm)
