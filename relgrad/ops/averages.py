"""Means and sums less what they may nearly be, and the log of a mean of exponentials, as ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.ops.arguments import as_balls
from relgrad.ops.rows import Reduced, differentiable, over_axes
from relgrad.ops.softmax import Softmax
from relgrad.ops.structure import broadcast_like

__all__ = [
    "logmeanexp",
    "mean_minus",
    "sum_minus",
]


class SumMinus(Reduced):
    """sum_minus(x, y) = Σ x − y over axes, along which y is constant."""

    kernel = staticmethod(kernels.sum_minus)
    cancels = "difference"

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        return {}

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (x, y), (g,) = inputs, output_gradients
        along = broadcast_like(self.share(g, x), x) if differentiable(x) else None
        return [along, -g if differentiable(y) else None]

    def share(self, g: Any, x: Any) -> Any:
        """Return what of g an entry of x moves."""
        return g

    def ball(self, *balls: Any) -> Any:
        x, y = balls
        return as_balls(np.sum(x, axis=self.axes, keepdims=True)) - y


class MeanMinus(SumMinus):
    """mean_minus(x, y) = mean(x) − y over axes, along which y is constant."""

    kernel = staticmethod(kernels.mean_minus)

    def share(self, g: Any, x: Any) -> Any:
        return g / np.sum(np.ones_like(x), axis=self.axes, keepdims=True)

    def ball(self, *balls: Any) -> Any:
        x, y = balls
        return self._ball_mean(x) - y


class LogMeanExp(Reduced):
    """log(Σ eˣ/n) = logmeanexp(x) over axes; ∂/∂x = softmax(x)."""

    kernel = staticmethod(kernels.logmeanexp)
    positional = 1
    tolerant = True

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * Softmax(self.axes)(inputs[0])]

    def ball(self, *balls: Any) -> Any:
        return as_balls(np.log(self._ball_mean(np.exp(balls[0]))))


sum_minus = over_axes(SumMinus)
mean_minus = over_axes(MeanMinus)
logmeanexp = over_axes(LogMeanExp)
