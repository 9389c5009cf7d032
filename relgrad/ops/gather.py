"""Gathering entries by position, and scattering them back.

The pattern of an index is static: one entry for each axis of the operand from the left, an integer, a slice
as a tuple (start, stop, step), or `ARRAY` for an array of integers, which is an operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, SELECTION, along_axis
from relgrad.errors import ShapeError
from relgrad.kernels import add_along, add_at, put_at
from relgrad.op import as_term
from relgrad.ops.arguments import ZERO, as_balls, hull
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import BroadcastTo, broadcast_to, squeeze
from relgrad.term import Term, is_term
from relgrad.types import Extent, Interval, Shape, Type, array_type, broadcast_shapes

FULL = slice(None)
ARRAY = "array"
WHOLE = (None, None, None)
BACKWARDS = (None, None, -1)


class Index(Rearrangement):
    """y = x[pattern], where arrays of integers follow x as operands."""

    __props__ = ("pattern",)
    pattern: tuple[Any, ...]
    laws = SELECTION
    connected = (0,)

    def output_type(self, *types: Any) -> Type:
        x, *arrays = types
        return array_type(x.dtype, _result_shape(x.shape, self.pattern, [a.shape for a in arrays]))

    def make_node(self, *inputs: Any) -> Term:
        """concatenate((x, y))[0] → x[0]: entries of what knows its entries are those."""
        (x, *arrays), pattern = inputs, self.pattern
        if not arrays and is_term(x) and x.ground and len(pattern) <= x.type.ndim:
            found = entries_of(x, [*pattern, *[WHOLE] * (x.type.ndim - len(pattern))])
            if found is not None:
                return found
        return super().make_node(*inputs)

    def may_raise(self, node: Term) -> bool:
        return ARRAY in self.pattern

    def compute(self, *arrays: Any) -> Any:
        return arrays[0][_key(self.pattern, arrays[1:])]

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"{names[0]}[{_key_source(self.pattern, names[1:])}]"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        x, *arrays = inputs
        return [scatter(output_gradients[0], self.pattern, arrays, x), *[None] * len(arrays)]

    def ball(self, *balls: Any) -> Any:
        return self.compute(balls[0], *map(_integers, balls[1:]))


def entries_of(x: Term, pattern: Sequence[Any]) -> Any:
    """concatenate((x, y))[0] → x[0]:
    entries of an application as those of an operand, where its op, or a broadcast, tells; or None.
    """
    return _of_stretched(x, pattern) if type(x.op) is BroadcastTo else x.op.entries(x, pattern)


def _of_stretched(t: Term, pattern: Sequence[Any]) -> Any:
    """broadcast_to(x, (2, 3))[0, 1:] → broadcast_to(x[1:], (2,)), where x has 3 entries"""
    (x,), whole = t.rands, t.type.shape
    if None in whole or BACKWARDS in pattern:
        return None
    kept = [(n, p) for n, p in zip(whole, pattern, strict=True) if type(p) is tuple]
    own = list(zip(range(-x.type.ndim, 0), pattern[len(pattern) - x.type.ndim :], strict=True))
    stretched = {axis for axis, _ in own if x.type.shape[axis] != whole[axis]}
    inner = [WHOLE if axis in stretched else p for axis, p in own]
    left = [p for (_, p), q in zip(own, inner, strict=True) if type(q) is tuple]
    gone = tuple([i - len(left) for i, p in enumerate(left) if type(p) is not tuple])
    chosen = x if set(inner) <= {WHOLE} else Index(tuple(inner)).make_node(x)
    return broadcast_to(squeeze(chosen, gone), tuple([len(range(n)[slice(*p)]) for n, p in kept]))


class Scatter(Rearrangement):
    """y = 0, y[pattern] += v: zeros of a shape to which values are added at x[pattern], the adjoint of `Index`.

    Operands: the values, the arrays of integers, and, where `shape` is None, an array that has the shape.
    """

    __props__ = ("pattern", "shape")
    out_of_range = "stays"
    rounds = False
    connected = (0,)

    def __init__(self, pattern: tuple[Any, ...], shape: tuple[int, ...] | None):
        self.pattern, self.shape = pattern, shape
        self.imports = ("add_at" if ARRAY in pattern else "put_at",)

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, types[-1].shape if self.shape is None else self.shape)

    def _split(self, operands: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        """Return the values, the arrays of integers, and in a list what gives the shape."""
        end = 1 + self.pattern.count(ARRAY)
        return operands[0], operands[1:end], operands[end:]

    def compute(self, *arrays: Any) -> Any:
        values, integers, like = self._split(arrays)
        shape = np.shape(like[0]) if self.shape is None else self.shape
        put = add_at if integers else put_at
        return put(values, _key(self.pattern, integers), shape)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        values, integers, like = self._split(names)
        shape = f"np.shape({like[0]})" if self.shape is None else self.shape
        return f"{self.imports[0]}({values}, np.s_[{_key_source(self.pattern, integers)}], {shape})"

    def range_of(self, *ranges: Interval) -> Interval:
        if ARRAY not in self.pattern:
            return hull(ranges[0], ZERO)
        return _summed(ranges[0])

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        _, integers, _ = self._split(inputs)
        return [Index(self.pattern)(output_gradients[0], *integers), *[None] * (len(inputs) - 1)]

    def ball(self, *balls: Any) -> Any:
        values, integers, like = self._split(balls)
        return as_balls(self.compute(values, *map(_integers, integers), *like))


class TakeAlong(Rearrangement):
    """y[i, j] = x[i, indices[i, j]]: `np.take_along_axis(x, indices, axis)`."""

    __props__ = ("axis",)
    axis: int
    text = "np.take_along_axis({0}, {1}, axis={axis})"
    laws = SELECTION
    view_map = FRESH
    connected = (0,)
    mixes = along_axis
    partial = True

    @property
    def name(self) -> str:
        return "take_along_axis"

    def output_type(self, *types: Any) -> Type:
        """(float64 (2, 5), int (2, 3)), axis −1 → float64 (2, 3); raises ShapeError for shapes that do not fit."""
        x, indices = types
        if len(x.shape) != len(indices.shape):
            raise ShapeError(
                f"np.take_along_axis: shapes {x.shape} and {indices.shape} differ in rank",
                cure="insert axes into the indices, or use x[indices]",
            )
        shape = list(x.shape)
        shape[self.axis] = 1
        try:
            return array_type(x.dtype, broadcast_shapes(tuple(shape), indices.shape))
        except ValueError as error:
            raise ShapeError(f"np.take_along_axis: {error}") from None

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x̄[i, indices[i, j]] += ȳ[i, j]."""
        x, indices = inputs
        (g,) = output_gradients
        if None in x.shape:
            return [AddAlong(self.axis, None)(g, indices, x), None]
        return [AddAlong(self.axis, x.shape)(g, indices), None]

    def ball(self, *balls: Any) -> Any:
        return self.compute(balls[0], _integers(balls[1]))


class AddAlong(Rearrangement):
    """y = 0, y[i, indices[i, j]] += v[i, j]: values added where `TakeAlong` took them, its adjoint.

    Operands: the values, the indices, and, where `shape` is None, an array that has the shape.
    """

    __props__ = ("axis", "shape")
    axis: int
    shape: tuple[int, ...] | None
    imports = ("add_along",)
    connected = (0,)
    mixes = along_axis

    @property
    def name(self) -> str:
        return "add_along_axis"

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, types[-1].shape if self.shape is None else self.shape)

    def compute(self, *arrays: Any) -> Any:
        shape = np.shape(arrays[2]) if self.shape is None else self.shape
        return add_along(arrays[0], arrays[1], self.axis, shape)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        shape = f"np.shape({names[2]})" if self.shape is None else self.shape
        return f"add_along({names[0]}, {names[1]}, {self.axis}, {shape})"

    def range_of(self, *ranges: Interval) -> Interval:
        return _summed(ranges[0])

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        taken = TakeAlong(self.axis)(output_gradients[0], inputs[1])
        return [taken, *[None] * (len(inputs) - 1)]

    def ball(self, *balls: Any) -> Any:
        return as_balls(self.compute(balls[0], _integers(balls[1]), *balls[2:]))


def _summed(x: Interval) -> Interval:
    """Return the range of sums of any number of entries."""
    return Interval(0.0 if x.nonnegative else -np.inf, 0.0 if x.high <= 0 else np.inf)


def _integers(balls: Any) -> Any:
    """Return balls as integers; raises ArithmeticError where they are not certain at this precision."""
    return np.vectorize(_integer, otypes=[np.intp])(balls)


def _integer(ball: Any) -> int:
    number = ball.unique_fmpz() if hasattr(ball, "unique_fmpz") else ball
    if number is None:
        raise ArithmeticError(f"{ball} is no certain integer")
    return int(number)


def _key(pattern: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
    rest = iter(arrays)
    return tuple(
        [next(rest) if p is ARRAY or p == ARRAY else slice(*p) if type(p) is tuple else p for p in pattern]
    )


def _key_source(pattern: tuple[Any, ...], names: Sequence[str]) -> str:
    """((0, 2, None), ARRAY, 1), [i] → "0:2, i, 1": a pattern as it is written in brackets."""
    rest = iter(names)
    parts = []
    for p in pattern:
        if p == ARRAY:
            parts.append(next(rest))
        elif type(p) is tuple:
            start, stop, step = ("" if n is None else str(n) for n in p)
            parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
        else:
            parts.append(str(p))
    return ", ".join(parts)


def _result_shape(shape: Shape, pattern: tuple[Any, ...], arrays: Sequence[Shape]) -> Shape:
    """((5, 6, 7), (0, ARRAY), [(2,)]) → (2, 7): the shape of x[pattern]; arrays that are not neighbours put their axes
    first.
    """
    result: list[Extent] = []
    places: list[int] = []
    at = 0
    for axis, entry in enumerate((*pattern, *[WHOLE] * (len(shape) - len(pattern)))):
        if type(entry) is tuple:
            n = shape[axis]
            if n is not None:
                result.append(len(range(*slice(*entry).indices(n))))
            else:
                result.append(n if entry in (WHOLE, BACKWARDS) else _sliced_extent(entry))
        elif arrays:
            at = len(result) if not places else at
            places.append(axis)
    if not arrays:
        return tuple(result)
    try:
        joint = broadcast_shapes(*arrays)
    except ValueError as error:
        raise ShapeError(f"arrays of integers in one index must broadcast: {error}") from None
    if places[-1] - places[0] + 1 != len(places):
        at = 0
    return (*result[:at], *joint, *result[at:])


def _sliced_extent(entry: tuple[Any, ...]) -> Extent:
    """Return the extent of a slice of an unknown extent, which a single entry at an end has.

    >>> _sliced_extent((-1, None, None)), _sliced_extent((1, None, None))
    (1, None)
    """
    start, stop, step = entry
    single = (step in (None, 1)) and (((start or 0) == 0 and stop == 1) or (start == -1 and stop is None))
    return 1 if single else None


def scatter(values: Any, pattern: tuple[Any, ...], arrays: Sequence[Any], like: Any) -> Any:
    """y = 0 of the shape of `like`, y[pattern] += v."""
    shape = as_term(like).type.shape
    if None in shape:
        return Scatter(pattern, None)(values, *arrays, like)
    return Scatter(pattern, shape)(values, *arrays)
