"""The increment of an op that has no formula for it: f(x) − f(y) = ∫₀¹ Df(y + t·d)·d dt, by its own pushforward."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from relgrad.gradient import push_forward
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import Op
from relgrad.ops.increments import APART, QUADRATURES, cancels, converged
from relgrad.term import Term, term
from relgrad.types import ArrayType, Type


@lru_cache(maxsize=4096)
def tangent_of(
    op: Op, kinds: tuple[Any, ...], moved: tuple[int, ...]
) -> tuple[list[Term], list[Term], Term] | None:
    """f, of which x₀ moves → ∂f/∂x₀·d₀, with leaves x₀, x₁, … for operands, and d₀ for the tangent; or None."""
    leaves = [term(Input(f"x{i}", kind, symbol=True)) for i, kind in enumerate(kinds)]
    tangents = {i: term(Input(f"d{i}", kinds[i], symbol=True)) for i in moved}
    try:
        (root,) = push_forward(op, term(op, *leaves), list(map(tangents.get, range(len(kinds)))))
    except Exception:  # whatever a user's rule raises, it shall raise where it is asked for a gradient
        return None
    return None if root is None else (leaves, list(tangents.values()), root)


FAR = 0.125
"""Points farther apart than so much of one of them may be too far for two quadratures to agree."""


class Change(Op):
    """f(x) − f(y), told x − y of each operand that has moved: ∫₀¹ Df(y + t·d)·d dt where the difference cancels.

    Operands: those of f at x; at y, those that have moved; as many distances x − y.
    """

    __props__ = ("of", "moved")

    def __init__(self, of: Op, moved: tuple[int, ...]):
        self.of, self.moved = of, moved

    @property
    def name(self) -> str:
        return f"{self.of.name}_difference"

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return self.of.type_of(rands[: -2 * len(self.moved)])

    def _parts(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """x₀, x₁, y₀, d₀ → (x₀, x₁), (y₀, x₁), (d₀): the operands of f at x and at y, and the distances."""
        n = len(operands) - 2 * len(self.moved)
        at_x, at_y, distances = [*operands[:n]], [*operands[:n]], [*operands[n + len(self.moved) :]]
        for i, y in zip(self.moved, operands[n:], strict=False):
            at_y[i] = y
        return at_x, at_y, distances

    def compute(self, *arrays: Any) -> Any:
        """f(x) − f(y), or, in entries where that cancels and two quadratures agree, ∫₀¹ Df(y + t·d)·d dt.

        Raises FloatingPointError where callers want it, of values f(x) and f(y) out of range.
        """
        xs, ys, distances = self._parts(arrays)
        with np.errstate(divide="ignore", invalid="ignore"):
            at_x, at_y = (np.asarray(self.of.compute(*zs)) for zs in (xs, ys))
        with np.errstate(all="ignore"):
            plain = at_x - at_y
            extent = np.abs if self.of.elementwise else lambda x: np.max(np.abs(x), initial=0)
            size, step = (
                reduce(np.maximum, map(extent, zs)) for zs in ([xs[i] for i in self.moved], distances)
            )
            # Where f is near 0, values may not cancel, but their arguments have lost the digits of the distance.
            near = cancels(plain, at_x, at_y) | cancels(step * APART, size, size)
            if not np.any(near):
                return plain
            few, many = (self._mean(ys, distances, rule) for rule in QUADRATURES)
            # The op may enlarge the rounding of its operands: as much as it enlarges their distances.
            scale = np.abs(at_x) + np.abs(many) * np.divide(size, step)
            return np.where(near & converged(plain, few, many, scale), many, plain)

    def _mean(self, ys: list[Any], distances: list[Any], quadrature: Any) -> Any:
        """∫₀¹ Df(y + t·d)·d dt ≈ Σ wᵢ·Df(y + tᵢ·d)·d, where each of y and d may be repeated along axes of the other."""
        ys, distances = list(ys), list(distances)
        for k, i in enumerate(self.moved):
            ys[i], distances[k] = np.broadcast_arrays(ys[i], distances[k])
        kinds = tuple([ArrayType(np.asarray(y).dtype, np.shape(y)) for y in ys])
        found = tangent_of(self.of, kinds, self.moved)
        assert found is not None  # or there is no such op
        leaves, tangents, root = found
        total: Any = 0
        for t, w in quadrature:
            point = dict(zip(leaves, ys, strict=True))
            for i, d in zip(self.moved, distances, strict=True):
                point[leaves[i]] = ys[i] + np.asarray(ys[i]).dtype.type(t) * d
            point |= dict(zip(tangents, distances, strict=True))
            total = total + np.asarray(interpret([root], point)[0]) * root.type.dtype.type(w)
        return total

    def margin(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """|f(x) − f(y)|/|f(x)| where the points are far apart, as plain differences stand there; else 1."""
        xs, _, distances = self._parts(operands)
        far: Any = False
        for i, d in zip(self.moved, distances, strict=True):
            size, step = np.abs(xs[i]), np.abs(d)
            if not self.of.elementwise and step.ndim and size.ndim:
                size, step = (np.max(x, axis=-1, keepdims=True) for x in (size, step))
            far = np.logical_or(far, step > FAR * size)
        return np.where(far, np.abs(self(*operands) / self.of(*xs)), 1.0)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """g → f*(x)·g, −f*(y)·g: the pullbacks at both points, added for operands that have not moved."""
        xs, ys, distances = self._parts(inputs)
        (g,) = output_gradients
        at_x, at_y = ([*self.of.L_op(zs, [self.of(*zs)], [h])] for zs, h in ((xs, g), (ys, -g)))
        moved = [at_y[i] for i in self.moved]
        for i, (a, b) in enumerate(zip(at_x, at_y, strict=True)):
            if i not in self.moved and a is not None and b is not None:
                at_x[i] = a + b
        return [*at_x, *moved, *[None] * len(distances)]

    def ball(self, *balls: Any) -> Any:
        """f(y + d) − f(y) in balls, with the distances as they are told."""
        xs, ys, distances = self._parts(balls)
        for i, d in zip(self.moved, distances, strict=True):
            xs[i] = ys[i] + d
        return self.of.ball(*xs) - self.of.ball(*ys)


def change_of(x: Term, y: Term, distances: Sequence[Term | None]) -> Term | None:
    """f(x), f(y), (x − y, …) → Change(f)(x, y, x − y): for an op of one array that has a pushforward; else None."""
    if not isinstance(x.type, ArrayType):
        return None
    moved = tuple([i for i, d in enumerate(distances) if d is not None])
    op = Change(x.op, moved)
    if tangent_of(x.op, tuple([rand.type for rand in x.rands]), moved) is None:
        return None
    return term(op, *x.rands, *[y.rands[i] for i in moved], *[distances[i] for i in moved])
