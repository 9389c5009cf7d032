"""Means and sums less what they may nearly be, and the log of a mean of exponentials, as ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.contract import total
from relgrad.implementations import implements
from relgrad.ops.arguments import is_symbolic
from relgrad.ops.rows import RowsOp, build, differentiable
from relgrad.ops.softmax import Softmax
from relgrad.ops.structure import broadcast_like
from relgrad.types import Shape

__all__ = [
    "logmeanexp",
    "mean_minus",
    "sum_minus",
]


class _Reduced(RowsOp):
    """An op whose axes stay with extent 1."""

    def result_shape(self, shape: Shape) -> Shape:
        return tuple([1 if i - len(shape) in self.axes else n for i, n in enumerate(shape)])

    def _ball_sum(self, x: Any) -> Any:
        return np.asarray(np.sum(x, axis=self.axes, keepdims=True), dtype=object)


class SumMinus(_Reduced):
    """Σ x - y over axes, along which y is constant."""

    kernel = staticmethod(kernels.sum_minus)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (x, y), (g,) = inputs, output_gradients
        along = broadcast_like(self.share(g, x), x) if differentiable(x) else None
        return [along, -g if differentiable(y) else None]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (x, _), (dx, dy) = inputs, eval_points
        return [total([None if dx is None else self._sum(self.share(dx, x)), None if dy is None else -dy])]

    def increment(self, inputs: list[Any], others: list[Any], increments: list[Any]) -> Any:
        return self.R_op(inputs, increments)[0]

    def share(self, g: Any, x: Any) -> Any:
        """Return what of g an entry of x moves."""
        return g

    def ball(self, *balls: Any) -> Any:
        x, y = balls
        return self._ball_sum(x) - y


class MeanMinus(SumMinus):
    """The mean of x over axes, less y, which is constant along them."""

    kernel = staticmethod(kernels.mean_minus)
    cancels = "centre"

    def share(self, g: Any, x: Any) -> Any:
        return g / np.sum(np.ones_like(x), axis=self.axes, keepdims=True)

    def ball(self, *balls: Any) -> Any:
        x, y = balls
        sums = self._ball_sum(x)
        return sums / (np.size(x) // max(np.size(sums), 1)) - y


class LogMeanExp(_Reduced):
    """The log of the mean of eˣ over axes; its derivative is a softmax."""

    kernel = staticmethod(kernels.logmeanexp)
    positional = 1
    tolerant = True

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        return {"keepdims": True}

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * Softmax(self.axes)(inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [self._sum(Softmax(self.axes)(inputs[0]) * eval_points[0])]

    def ball(self, *balls: Any) -> Any:
        (x,) = balls
        sums = self._ball_sum(np.frompyfunc(lambda v: v.exp(), 1, 1)(x))
        return np.frompyfunc(lambda v: v.log(), 1, 1)(sums / (np.size(x) // max(np.size(sums), 1)))


@implements(kernels.sum_minus)
def sum_minus(x: Any, y: Any, axis: Any = None) -> Any:
    """Σ x - y over axes, which stay, of arrays, traced arrays, terms or logic variables."""
    return build(SumMinus, [x, y], axis) if _any_symbolic(x, y, axis) else kernels.sum_minus(x, y, axis)


@implements(kernels.mean_minus)
def mean_minus(x: Any, y: Any, axis: Any = None) -> Any:
    """The mean of x over axes, which stay, less y, of what `sum_minus` takes."""
    return build(MeanMinus, [x, y], axis) if _any_symbolic(x, y, axis) else kernels.mean_minus(x, y, axis)


@implements(kernels.logmeanexp)
def logmeanexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The log of the mean of eˣ over axes, of what `sum_minus` takes."""
    if not _any_symbolic(x, axis):
        return kernels.logmeanexp(x, axis, keepdims)
    return build(LogMeanExp, [x], axis, keepdims)


def _any_symbolic(*arguments: Any) -> bool:
    return any(is_symbolic(a) for a in arguments)
