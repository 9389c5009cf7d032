"""The linear maps that derivatives of softmax are made of: distances from a weighted mean.

D(g) = g − Σpg/Σp (`deviation`), R(g) = g − p·Σg/Σp (`log_softmax_pullback`) and P(g) = p·D(g)
(`softmax_pullback`) are closed under differentiation: R is the adjoint of D, P its own, and their derivatives
in p are written with them again. They are differentiated for any weights p, though p is a softmax wherever
they arise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.op import constant
from relgrad.ops.rows import RowsOp, differentiable, over_axes
from relgrad.ops.structure import broadcast_like, broadcast_to
from relgrad.term import Term
from relgrad.types import REAL, Interval, Shape

__all__ = [
    "complement",
    "deviation",
    "log_softmax_pullback",
    "softmax_pullback",
]


class _Map(RowsOp):
    """L(a·g + h, p) = a·L(g, p) + L(h, p): a map of g under weights p.

    A change of a common offset of g, or scale of p, is exact.
    """

    laws = Laws(linear=(0,))
    is_strict = True

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ḡ = L*(h, p), p̄ = pull_p(h, g, p), for the cotangent h."""
        g, p = inputs
        (h,) = output_gradients
        return [
            self.adjoint(h, p) if differentiable(g) else None,
            self.pull_p(h, g, p) if differentiable(p) else None,
        ]

    def _ratio(self, g: Any, p: Any, like: Any) -> Any:
        """Σg/Σp, where both count as often as they are repeated in the shape of `like`."""
        return self._sum(broadcast_like(g, like)) / self._sum(broadcast_like(p, like))

    def settled(self, conventions: Any, *operands: Any) -> tuple[str, Any] | None:
        """Σ|p| = 0 → of_nothing(g): the value of a row without weights, by the convention `masked`."""
        if conventions.masked != 0:
            return None
        g, p = operands
        nothing = np.sum(np.abs(p), axis=self.axes, keepdims=True) == 0
        return "masked", np.where(nothing, self.of_nothing(g), self(g, p))

    def of_nothing(self, g: Any) -> Any:
        """g where Σ p = 0 → the map of g there, if a convention says that shares of nothing are 0."""
        return g

    def adjoint(self, h: Any, p: Any) -> Any:
        raise NotImplementedError

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        raise NotImplementedError

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        raise NotImplementedError

    def ball(self, *balls: Any) -> Any:
        def row(gs: list[Any], ps: list[Any]) -> list[Any]:
            return [self.ball_entry(g, p, gs, ps, sum(ps)) for g, p in zip(gs, ps, strict=True)]

        return self._ball_rows(row, *balls)


def _mean(g: Any, gs: list[Any], ps: list[Any], total: Any) -> Any:
    return sum(p * (g - other) for other, p in zip(gs, ps, strict=True)) / total


class Deviation(_Map):
    """D(g, p) = g − Σpg/Σp: the distance from the mean under the weights p."""

    kernel = staticmethod(kernels.deviation)
    projects = True
    cancels = "centre"
    invariant = displaces = True

    def adjoint(self, h: Any, p: Any) -> Any:
        return LogSoftmaxPullback(self.axes)(h, p)

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        return -self(g, p) * self._ratio(h, p, h)

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        return _mean(g, gs, ps, total)


class LogSoftmaxPullback(_Map):
    """R(g, p) = g − p·Σg/Σp: the pullback of log_softmax where p is the softmax."""

    kernel = staticmethod(kernels.log_softmax_pullback)
    projects = True
    cancels = "centre"

    def minuend(self, *operands: Any) -> Any:
        g, p = operands
        return (1 - p) * g

    def _canonical(self, operands: Sequence[Any], axes: tuple[int, ...], shape: Shape) -> Term:
        """R(p, p) = p − p·Σp/Σp = 0 of shares p, none negative: what flows to Σ p·log p by its logarithms."""
        g, p = operands
        if g == p and p.op.invariant and p.op.range_of(*[REAL for _ in p.rands]).nonnegative:
            return broadcast_to(constant(0.0, np.result_type(g.type.dtype, p.type.dtype)), shape)
        return super()._canonical(operands, axes, shape)

    def adjoint(self, h: Any, p: Any) -> Any:
        return Deviation(self.axes)(h, p)

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        return -Deviation(self.axes)(h, p) * self._ratio(g, p, h)

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        return g - p * sum(gs) / total


class SoftmaxPullback(_Map):
    """P(g, p) = p·(g − Σpg/Σp): the pullback, and pushforward, of softmax with the result p."""

    kernel = staticmethod(kernels.softmax_pullback)
    cancels = "centre"
    invariant = True

    def minuend(self, *operands: Any) -> Any:
        g, p = operands
        return p * (1 - p) * g

    def of_nothing(self, g: Any) -> Any:
        return 0.0

    def adjoint(self, h: Any, p: Any) -> Any:
        return self(h, p)

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        return Deviation(self.axes)(h, p) * Deviation(self.axes)(g, p)

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        return p * _mean(g, gs, ps, total)


class Complement(RowsOp):
    """C(p) = 1 − p/Σp: for each entry the share of all others."""

    kernel = staticmethod(kernels.complement)
    positional = 1

    def range_of(self, *ranges: Interval) -> Interval:
        return Interval(0.0, 1.0) if ranges[0].nonnegative else REAL

    def complement(self, p: Any) -> Any:
        return p / self._sum(p)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (p,), (g,) = inputs, output_gradients
        return [-Deviation(self.axes)(g, p) / self._sum(p)]

    def ball(self, *balls: Any) -> Any:
        return self._ball_rows(
            lambda ps: [sum(ps[:i] + ps[i + 1 :], p * 0) / sum(ps) for i, p in enumerate(ps)], *balls
        )


deviation = over_axes(Deviation)
softmax_pullback = over_axes(SoftmaxPullback)
log_softmax_pullback = over_axes(LogSoftmaxPullback)
complement = over_axes(Complement)
