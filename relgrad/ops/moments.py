"""Centring, and logarithms and powers of products over axes, as ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.ops.arguments import as_balls, log_or_infinite
from relgrad.ops.reduction import ProdOthers
from relgrad.ops.rows import Reduced, RowsOp, over_axes

__all__ = [
    "centred",
    "log_prod",
    "prod1pm1",
]


class Centred(RowsOp):
    """x − mean(x) = centred(x) over axes; linear and its own adjoint."""

    laws = Laws(linear=(0,))
    kernel = staticmethod(kernels.centred)
    positional = 1
    finite = True
    projects = True
    cancels = "centre"
    invariant = displaces = True

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [self(output_gradients[0])]

    def ball(self, *balls: Any) -> Any:
        return balls[0] - self._ball_mean(balls[0])


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

    def ball(self, *balls: Any) -> Any:
        return np.frompyfunc(log_or_infinite, 1, 1)(self._ball_product(balls[0]))


class Prod1pm1(_ProductOp):
    """Π (1 + x) − 1 = prod1pm1(x) over axes."""

    kernel = staticmethod(kernels.prod1pm1)
    positional = 1

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * ProdOthers(self.axes)(1 + inputs[0])]

    def ball(self, *balls: Any) -> Any:
        return self._ball_product(1 + balls[0]) - 1


centred = over_axes(Centred)
log_prod = over_axes(LogProd)
prod1pm1 = over_axes(Prod1pm1)
