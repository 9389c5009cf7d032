"""Centring, and logarithms and powers of products over axes, as ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.contract import Laws, total
from relgrad.ops.arguments import as_balls, is_ground, log_or_infinite
from relgrad.ops.reduction import ProdOthers
from relgrad.ops.rows import Reduced, RowsOp, over_axes, promoted
from relgrad.ops.stable import xdivy
from relgrad.term import Term, term
from relgrad.types import NONNEGATIVE, REAL, Interval, Shape, broadcast_shapes

__all__ = [
    "centred",
    "log_prod",
    "prod1pm1",
    "prod_power",
]


class Centred(RowsOp):
    """x − mean(x) = centred(x) over axes; linear and its own adjoint."""

    laws = Laws(linear=(0,))
    kernel = staticmethod(kernels.centred)
    positional = 1
    finite = True
    projects = True
    cancels = "centre"

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return self.axes

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [self(output_gradients[0])]

    def ball(self, *balls: Any) -> Any:
        """x → x − Σ x/n, of balls."""

        def row(xs: list[Any]) -> list[Any]:
            """[1, 3] → [−1, 1]: one row less its mean."""
            mean = sum(xs) / len(xs)
            return [x - mean for x in xs]

        return self._ball_rows(row, *balls)


class _ProductOp(Reduced):
    """A function of the product over axes."""

    def _ball_product(self, x: Any) -> Any:
        return as_balls(np.prod(x, axis=self.axes, keepdims=True))


class LogProd(_ProductOp):
    """log Π x = log_prod(x) over axes; its derivative is 1/x."""

    kernel = staticmethod(kernels.log_prod)
    positional = 1

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] / inputs[0]]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [self._sum(eval_points[0] / inputs[0])]

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(log_or_infinite, 1, 1)(self._ball_product(balls[0]))


class Prod1pm1(_ProductOp):
    """Π (1 + x) − 1 = prod1pm1(x) over axes."""

    kernel = staticmethod(kernels.prod1pm1)
    positional = 1

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * ProdOthers(self.axes)(1 + inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [self._sum(eval_points[0] * ProdOthers(self.axes)(1 + inputs[0]))]

    def ball(self, *balls: Any) -> Any:
        return self._ball_product(1 + balls[0]) - 1


class ProdPower(_ProductOp):
    """(Π x)ᵖ = prod_power(x, p) over axes; its derivative is p·out/x."""

    kernel = staticmethod(kernels.prod_power)
    grows = True

    def make_node(self, *inputs: Any) -> Term:
        """axes of extent 1 of x → none: neither operand stands for what the other repeats."""
        x, p = promoted(inputs)
        if not (self.ground and is_ground(x) and is_ground(p)):
            return term(self, x, p)
        # Neither operand stands for what the other repeats: a product has as many factors, and a power its own shape.
        return term(ProdPower(tuple(a for a in self.axes if x.type.extent(a) != 1)), x, p)

    def _broadcast(self, types: Sequence[Any]) -> Shape:
        x, p = [t.shape for t in types]
        product = tuple([1 if i - len(x) in self.axes else n for i, n in enumerate(x)])
        return broadcast_shapes(product, p)

    def result_shape(self, shape: Shape) -> Shape:
        return shape

    def range_of(self, *ranges: Interval) -> Interval:
        return NONNEGATIVE if ranges[0].nonnegative else REAL

    def log_size(self, *operands: Any) -> tuple[Any, Any]:
        x, p = operands
        log = LogProd(self.axes)(np.abs(x))
        return None, np.where(np.logical_and(p == 0, log == -np.inf), 0.0, p * log)

    def _with_zeros(self, x: Any, p: Any) -> tuple[Any, Any, Any, Any]:
        """Π x = 0 → p·(Π x)ᵖ⁻¹ and the products of others; else log Π x: where a product is 0, and the slopes there."""
        vanishes = np.any(x == 0, axis=self.axes, keepdims=True)
        # No product is formed of what may overflow, but where it is 0.
        some, others = np.where(vanishes, x, 1.0), np.where(vanishes, 1.0, x)
        slope = p * np.power(np.prod(some, axis=self.axes, keepdims=True), p - 1)
        return vanishes, slope, ProdOthers(self.axes)(some), LogProd(self.axes)(others)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (x, p), (out,), (g,) = inputs, outputs, output_gradients
        vanishes, slope, others, log = self._with_zeros(x, p)
        along = np.where(vanishes, self._sum(g * slope) * others, xdivy(self._sum(g * p * out), x))
        return [along, g * out * np.where(np.logical_and(vanishes, p > 0), 0.0, log)]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        """ẏ = p·y·Σ ẋ/x + ṗ·y·log Π x, by the products of others where Π x = 0."""
        (x, p), (dx, dp) = inputs, eval_points
        out = self(x, p)
        vanishes, slope, others, log = self._with_zeros(x, p)
        parts = []
        if dx is not None:
            far = p * out * self._sum(dx / np.where(vanishes, 1.0, x))
            parts.append(np.where(vanishes, slope * self._sum(others * dx), far))
        if dp is not None:
            parts.append(dp * out * np.where(np.logical_and(vanishes, p > 0), 0.0, log))
        return [total(parts)]

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(lambda v, p: v**p, 2, 1)(self._ball_product(balls[0]), balls[1])


centred = over_axes(Centred)
log_prod = over_axes(LogProd)
prod_power = over_axes(ProdPower)
prod1pm1 = over_axes(Prod1pm1)
