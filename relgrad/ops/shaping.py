"""The same entries in another shape or another order of axes.

Axes of extent 1 are only ever inserted and removed by `Expand` and `Squeeze`, whatever function says so:
`s.reshape(-1, 1)`, `s[:, None]` and, for one column, `s.T` are the terms that they are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, SELECTION
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import (
    ZERO,
    as_balls,
    hull,
    is_ground,
    normalize_axis,
    refuse,
    require_ground,
    several,
)
from relgrad.ops.expression import Entries
from relgrad.ops.structure import Expand, Squeeze, expand, squeeze
from relgrad.term import Term, term
from relgrad.types import Extent, Interval, Shape, Type, array_type


class Rearrangement(Entries):
    """An op that only moves, drops or repeats entries of its first operand."""


class AmongZeros(Rearrangement):
    """y ⊆ x ∪ {0}: an op that moves or drops entries, and puts zeros where there are none."""

    view_map = FRESH

    def range_of(self, *ranges: Interval) -> Interval:
        return hull(ranges[0], ZERO)

    def ball(self, *balls: Any) -> Any:
        return as_balls(self.compute(*balls))


class Reshape(Rearrangement):
    """reshape([[a, b], [c, d]], (4,)) = [a, b, c, d]:
    entries, read row by row, in another shape without extents of 1.
    """

    __props__ = ("shape",)
    shape: tuple[int, ...]
    text = "np.reshape({0}, {shape})"
    laws = SELECTION
    named = False

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, self.shape)

    def make_node(self, *inputs: Any) -> Term:
        return reshape(inputs[0], self.shape)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [np.reshape(output_gradients[0], inputs[0].shape)]


class Transpose(Rearrangement):
    """Permute trailing axes: axis i − k of the result is axis order[i] of the operand, k = len(order)."""

    __props__ = ("order",)
    order: tuple[int, ...]
    laws = SELECTION
    named = False

    def full_order(self, rank: int) -> tuple[int, ...]:
        """Return the permutation of all axes of an array of the given rank."""
        return (*range(-rank, -len(self.order)), *self.order)

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return tuple(a - len(self.order) for a, b in enumerate(self.order) if a - len(self.order) != b)

    def output_type(self, *types: Any) -> Type:
        shape = types[0].shape
        return array_type(types[0].dtype, [shape[a] for a in self.full_order(len(shape))])

    def make_node(self, *inputs: Any) -> Term:
        return transpose(inputs[0], self.order)

    def compute(self, *arrays: Any) -> Any:
        return np.transpose(arrays[0], self.full_order(np.ndim(arrays[0])))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        rank = node.type.ndim
        if rank == 2:
            return f"{names[0]}.T"
        return f"np.transpose({names[0]}, {tuple([a + rank for a in self.full_order(rank)])})"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Transpose(inverse_order(self.order))(output_gradients[0])]


def inverse_order(order: Sequence[int]) -> tuple[int, ...]:
    """(−1, −3, −2) → (−2, −1, −3): the permutation that undoes another."""
    inverse = [0] * len(order)
    for i, a in enumerate(order):
        inverse[a] = i - len(order)
    return tuple(inverse)


def reshape(x: Any, shape: Sequence[Any]) -> Any:
    """(x : (2, 3), (3, −1)) → (3, 2): the term of x in a shape, of which one extent may be −1.

    Raises ShapeError where the numbers of entries differ, and where extents are unknown that must be known.
    """
    x = require_ground("np.reshape", x)
    shape = _resolve(x.type.shape, tuple(shape))
    while isinstance(x.op, (Reshape, Expand, Squeeze)) and x.type.shape != shape:
        x = x.rands[0]
    inserted = _units_only(x, shape)
    if inserted is not None:
        return inserted
    without = tuple([n for n in shape if n != 1])
    node = term(Reshape(without), x)
    return expand(node, tuple([i - len(shape) for i, n in enumerate(shape) if n == 1]))


def _resolve(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """((2, 3), (3, −1)) → (3, 2), ((None, 1), (−1,)) → (None,): −1 in a shape replaced by its extent.

    For unknown extents only where axes of extent 1 come and go.
    """
    failure = f"cannot reshape an array of shape {old} to {new}"
    if new.count(-1) > 1 or any(n is not None and n < -1 for n in new):
        raise ShapeError(failure, cause="at most one extent may be -1, the others are counts")
    if None in old or None in new:
        kept, wanted = [n for n in old if n != 1], [n for n in new if n != 1]
        if len(kept) == len(wanted) and all(w in (n, -1) for n, w in zip(kept, wanted, strict=True)):
            rest = iter(kept)
            return tuple([1 if n == 1 else next(rest) for n in new])
        raise ShapeError(
            failure,
            cause="an extent is not known yet, and more than axes of extent 1 would come or go",
            cure="give the symbol all its extents, or reshape with np.transpose, [:, None] or np.concatenate",
        )
    size, named = math.prod(old), math.prod(n for n in new if n != -1)
    if -1 in new:
        if named == 0 or size % named:
            raise ShapeError(failure, cause=f"{size} entries do not fill rows of {named}")
        return tuple([size // named if n == -1 else n for n in new])
    if size != named:
        raise ShapeError(failure, cause=f"{size} entries are not {named}")
    return new


def _units_only(x: Any, shape: Shape) -> Any:
    """(x : (3, 1), (1, 3)) → x by squeeze and expand, (x : (2, 3), (6,)) → None:
    x in a shape if only extents of 1 differ.
    """
    old = x.type.shape
    if old == shape:
        return x
    if [n for n in old if n != 1] != [n for n in shape if n != 1]:
        return None
    removed: list[int] = []
    added: list[int] = []
    i = j = 0
    while i < len(old) or j < len(shape):
        # Runs of extents 1 stand opposite each other; the longer one gives up, or gains, its last axes.
        here = next((k for k in range(i, len(old)) if old[k] != 1), len(old))
        there = next((k for k in range(j, len(shape)) if shape[k] != 1), len(shape))
        common = min(here - i, there - j)
        removed += [k - len(old) for k in range(i + common, here)]
        added += [k - len(shape) for k in range(j + common, there)]
        i, j = here + 1, there + 1
    return expand(squeeze(x, tuple(removed)), tuple(added))


def transpose(x: Any, order: Sequence[int]) -> Any:
    """transpose(x, (−1, −2)) = xᵀ, of a transpose → one, of x : (3, 1) → squeeze and expand:
    trailing axes in another order.

    `order` are negative axes of the operand.
    """
    x = strong(as_term(x))
    order = tuple(order)
    while order and order[0] == -len(order):
        order = order[1:]
    if not order or not is_ground(x):
        return x if not order else term(Transpose(order), x)
    rank = x.type.ndim
    full = Transpose(order).full_order(rank)
    if isinstance(x.op, Transpose):
        inner = x.op.full_order(rank)
        return transpose(x.rands[0], [inner[a] for a in full])
    if isinstance(x.op, Expand):
        kept = [a for a in range(-rank, 0) if a not in x.op.axes]
        number = {a: i - len(kept) for i, a in enumerate(kept)}
        axes = [i - rank for i, a in enumerate(full) if a in x.op.axes]
        return expand(transpose(x.rands[0], [number[a] for a in full if a in number]), tuple(axes))
    if isinstance(x.op, Squeeze):
        inner_rank = x.rands[0].type.ndim
        kept = [a for a in range(-inner_rank, 0) if a not in x.op.axes]
        rest = iter(full)
        below = [a if a in x.op.axes else kept[next(rest)] for a in range(-inner_rank, 0)]
        return squeeze(transpose(x.rands[0], below), x.op.axes)
    if x.op.elementwise and any(isinstance(y.op, Transpose) for y in x.rands):
        operands = [_turned(y, full) for y in x.rands]
        if None not in operands:
            return x.op.make_node(*operands)
    # Axes of extent 1 stay where they are, and are moved afterwards by removing and inserting them.
    large = iter([a for a in full if x.type.shape[a] != 1])
    staying = [a if x.type.shape[a] == 1 else next(large) for a in range(-rank, 0)]
    while staying and staying[0] == -len(staying):
        staying = staying[1:]
    node = term(Transpose(tuple(staying)), x) if staying else x
    return _units_only(node, tuple([x.type.shape[a] for a in full]))


def _turned(x: Any, order: tuple[int, ...]) -> Any:
    """Return an elementwise operand with its axes permuted, or None where it needs a transpose for that.

    (aᵀ/b)ᵀ = a/bᵀ, where bᵀ only moves axes of extent 1.
    """
    if x.type.size == 1:
        return x
    rank = len(order)
    moved = [a for a in order if -a <= x.type.ndim and x.type.shape[a] != 1]
    if not isinstance(x.op, Transpose) and moved != sorted(moved):
        return None
    turned = transpose(expand(x, tuple(range(-rank, -x.type.ndim))), order)
    return None if isinstance(turned.op, Transpose) else turned


@implements(np.reshape)
def reshape_function(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    """reshape(x, (3, −1)): (2, 3) → (3, 2): traces `np.reshape`."""
    refuse("np.reshape", copy=copy, order=None if order in ("C", "F") else order)
    shape = newshape if shape is None else shape
    x = require_ground("np.reshape", a)
    wanted = tuple([_extent(n) for n in several(shape)])
    if order != "F":
        return reshape(x, wanted)
    return _reversed(reshape(_reversed(x), wanted[::-1]))


@implements("reshape")
def reshape_method(a: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    """Trace `x.reshape(...)`, with the shape as one tuple or as several integers."""
    return reshape_function(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _extent(n: Any) -> Extent:
    return None if n is None else operator.index(n)


def _reversed(x: Any) -> Any:
    return transpose(x, tuple(range(-1, -x.type.ndim - 1, -1)))


@implements(np.ravel, "ravel", "flatten")
def ravel(a: Any, order: str = "C") -> Any:
    """Trace `np.ravel`."""
    return reshape_function(a, (-1,), order)


@implements(np.transpose, np.permute_dims)
def transpose_function(a: Any, axes: Any = None) -> Any:
    """transpose(x, (1, 0))[j, i] = x[i, j]: traces `np.transpose`."""
    x = require_ground("np.transpose", a)
    rank = x.type.ndim
    if axes is None:
        return _reversed(x)
    order = [normalize_axis(i, rank) for i in axes]
    if sorted(order) != list(range(-rank, 0)):
        raise ShapeError(f"axes {tuple(axes)} are no permutation of the {rank} axes of an array")
    return transpose(x, order)


@implements("transpose")
def transpose_method(a: Any, *axes: Any) -> Any:
    """Trace `x.transpose(...)`, with the axes as one tuple or as several integers."""
    if not axes or axes[0] is None:
        return transpose_function(a)
    return transpose_function(a, axes[0] if np.iterable(axes[0]) else axes)


@implements(np.swapaxes, "swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """swapaxes(x, 0, 1)[j, i] = x[i, j]: traces `np.swapaxes`; of patterns too, if the axes are negative."""
    x = strong(as_term(a))
    first, second = operator.index(axis1), operator.index(axis2)
    if is_ground(x):
        first, second = normalize_axis(first, x.type.ndim), normalize_axis(second, x.type.ndim)
    elif first >= 0 or second >= 0:
        require_ground("np.swapaxes with axes counted from the left", x)
    order = list(range(min(first, second), 0))
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)
