"""Entries in another order along axes, or partly zeroed: flips, rolls and triangles."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, SELECTION
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import (
    below_squeeze,
    is_ground,
    normalize_axes,
    require_ground,
    several,
)
from relgrad.ops.expression import OverAxes
from relgrad.ops.shaping import AmongZeros, Rearrangement, reshape
from relgrad.ops.structure import Squeeze, broadcast_to, squeeze
from relgrad.term import Term, term
from relgrad.types import Type


class _Moved(OverAxes, Rearrangement):
    """f(squeeze(x)) = squeeze(f(x)): entries in another order along axes, which all stand where axes are squeezed."""

    axes: tuple[int, ...]
    laws = SELECTION

    def output_type(self, *types: Any) -> Type:
        return types[0]

    def make_node(self, *inputs: Any) -> Term:
        x = strong(inputs[0])
        if not is_ground(x):
            return term(self, x)
        if isinstance(x.op, Squeeze):
            inner, axes, squeezed = below_squeeze(x, self.axes)
            return squeeze(self.with_props((axes, *self._props()[1:])).make_node(inner), squeezed)
        return self.of(x)

    def of(self, x: Term) -> Term:
        """Return the application to an operand that is not squeezed, joined with what moved it before."""
        raise NotImplementedError


class Flip(_Moved):
    """flip(x)[i] = x[n − 1 − i] along axes; its own inverse and adjoint."""

    __props__ = ("axes",)
    axes: tuple[int, ...]
    text = "np.flip({0}, {axis})"

    def of(self, x: Term) -> Term:
        """flip(flip(x)) → x; extents of 0 and 1 stay."""
        axes = set(self.axes)
        if isinstance(x.op, Flip):
            x, axes = x.rands[0], axes ^ set(x.op.axes)
        left = tuple(sorted(a for a in axes if x.type.shape[a] not in (0, 1)))
        return term(Flip(left), x) if left else x

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [self(output_gradients[0])]


class Roll(_Moved):
    """roll(x, k)[i] = x[(i − k) mod n] along axes, each by its own number of places."""

    __props__ = ("axes", "shifts")
    axes: tuple[int, ...]
    shifts: tuple[int, ...]
    text = "np.roll({0}, {shift}, axis={axis})"
    view_map = FRESH

    def of(self, x: Term) -> Term:
        """roll(roll(x, 1), 2) → roll(x, 3), roll(x, n) → x."""
        shifts = dict(zip(self.axes, self.shifts, strict=True))
        if isinstance(x.op, Roll):
            for axis, shift in zip(x.op.axes, x.op.shifts, strict=True):
                shifts[axis] = shifts.get(axis, 0) + shift
            x = x.rands[0]
        for axis, shift in shifts.items():
            n = x.type.shape[axis]
            shifts[axis] = shift if n is None else shift % max(n, 1)
        left = sorted((axis, shift) for axis, shift in shifts.items() if shift)
        if not left:
            return x
        return term(Roll(tuple([axis for axis, _ in left]), tuple([shift for _, shift in left])), x)

    @property
    def shift(self) -> int | tuple[int, ...]:
        """How far entries move along the only axis, or along each."""
        return self.shifts[0] if len(self.shifts) == 1 else self.shifts

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Roll(self.axes, tuple([-s for s in self.shifts]))(output_gradients[0])]


class Triangle(AmongZeros):
    """tril(x)[i, j] = x[i, j] for j ≤ i + k, else 0: the entries of matrices on one side of the k-th diagonal."""

    __props__ = ("k", "upper")
    k: int
    upper: bool

    @property
    def name(self) -> str:
        return "triu" if self.upper else "tril"

    def output_type(self, *types: Any) -> Type:
        if len(types[0].shape) < 2:
            raise ShapeError(f"np.{self.name} needs a matrix, not an array of shape {types[0].shape}")
        return types[0]

    def make_node(self, *inputs: Any) -> Term:
        x = strong(inputs[0])
        return x if is_ground(x) and x.op == self else term(self, x)

    def compute(self, *arrays: Any) -> Any:
        return getattr(np, self.name)(arrays[0], self.k)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"np.{self.name}({names[0]}{f', {self.k}' if self.k else ''})"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [self(output_gradients[0])]


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """flip(x)[i] = x[n − 1 − i]: traces `np.flip`."""
    x = strong(as_term(m))
    if not is_ground(x):
        named = several(axis)
        if any(a is None or operator.index(a) >= 0 for a in named):
            require_ground("np.flip without negative axes", x)
        return Flip(tuple(sorted(named))).make_node(x)
    return Flip(normalize_axes(axis if axis is None else several(axis), x.type.ndim)).make_node(x)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """roll(x, k)[i] = x[(i − k) mod n]: traces `np.roll`."""
    x = require_ground("np.roll", a)
    if axis is None:
        flat = roll(reshape(x, (-1,)), int(np.sum(shift)), 0)
        return reshape(flat, x.type.shape)
    pairs = np.broadcast(shift, axis)
    shifts: dict[int, int] = {}
    for s, named in pairs:
        (where,) = normalize_axes(int(named), x.type.ndim)
        shifts[where] = shifts.get(where, 0) + operator.index(s)
    return Roll(tuple(sorted(shifts)), tuple([shifts[a] for a in sorted(shifts)])).make_node(x)


def _triangle(upper: bool) -> Any:
    """tril(m)[i, j] = m[i, j] for j ≤ i, else 0: the function that traces `np.tril` or `np.triu`."""

    def trace(m: Any, k: int = 0) -> Any:
        x = strong(as_term(m))
        if is_ground(x) and x.type.ndim == 1:
            x = broadcast_to(x, x.type.shape * 2)
        return Triangle(operator.index(k), upper).make_node(x)

    return trace


implements(np.triu)(_triangle(True))
implements(np.tril)(_triangle(False))
