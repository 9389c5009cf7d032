"""What a term stands for: an array of a dtype and shape, several of them, or nothing at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

Extent = int | None
Shape = tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array: its dtype, and its shape with `None` for an extent that is not known (and not 1).

    >>> array_type("float32", (None, 3))
    ArrayType(float32, (?, 3))
    """

    dtype: np.dtype
    shape: Shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """(2, 3) → 6, (None, 3) → None: the number of entries, or None where an extent is unknown."""
        total = 1
        for extent in self.shape:
            if extent is None:
                return None
            total *= extent
        return total

    @property
    def differentiable(self) -> bool:
        """Whether entries are real numbers, as floats are; machine integers and truth values are none."""
        return self.dtype.kind == "f"

    def extent(self, axis: int) -> Extent:
        """The extent along a negative axis; axes that broadcasting would add have extent 1."""
        return self.shape[axis] if -axis <= len(self.shape) else 1

    def admits(self, shape: Sequence[int]) -> bool:
        """Whether an array of this type may have a shape: extents that are not known may be any."""
        return len(shape) == len(self.shape) and all(
            n is None or n == m for n, m in zip(self.shape, shape, strict=True)
        )

    def __repr__(self) -> str:
        inner = ", ".join("?" if n is None else str(n) for n in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        return f"ArrayType({self.dtype}, ({inner}{comma}))"


class Interval(NamedTuple):
    """[0, 1), low ≤ x ≤ high: where all entries of an array lie, with open ends where a bound is never reached.

    Infinities and NaN in the data are the caller's affair: a range speaks of finite arguments.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @property
    def positive(self) -> bool:
        return self.low > 0 or (self.low == 0 and self.open_low)

    @property
    def nonnegative(self) -> bool:
        return self.low >= 0

    @property
    def negative(self) -> bool:
        return self.high < 0 or (self.high == 0 and self.open_high)

    def within(self, low: float, high: float) -> bool:
        """Whether no entry lies beyond two numbers: [0.2, 1) within 0 and 1: yes."""
        return self.low >= low and self.high <= high

    def holds(self, x: Any) -> bool:
        """Whether all entries of an array lie in it."""
        above = np.greater(x, self.low) if self.open_low else np.greater_equal(x, self.low)
        below = np.less(x, self.high) if self.open_high else np.less_equal(x, self.high)
        return bool(np.all(above & below))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.open_high, self.open_low)


REAL = Interval()
POSITIVE = Interval(0.0, math.inf, True)
NONNEGATIVE = Interval(0.0)
UNIT = Interval(0.0, 1.0, True, True)


@dataclass(frozen=True, slots=True)
class TupleType:
    """(float64 (3,), float64 ()): the type of an op with several outputs → one type each."""

    outputs: tuple[Type, ...]
    differentiable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class DisconnectedType:
    """The cotangent of what the cost does not depend on: a known zero, never an array of zeros."""

    differentiable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class NullType:
    """A cotangent that does not exist, and why."""

    why: str
    differentiable: ClassVar[bool] = False


Type = ArrayType | TupleType | DisconnectedType | NullType


@lru_cache(maxsize=4096)
def _array_type(dtype: np.dtype, shape: Shape) -> ArrayType:
    return ArrayType(dtype, shape)


def array_type(dtype: object, shape: Sequence[Extent] = ()) -> ArrayType:
    """Return the array type of a dtype (anything `np.dtype` takes) and a shape."""
    return _array_type(np.dtype(dtype), tuple(shape))  # type: ignore[arg-type]


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that NumPy's broadcasting gives, where None is an unknown extent other than 1.

    >>> broadcast_shapes((None, 1), (4,))
    (None, 4)

    Raises ValueError when two known extents differ and neither is 1.
    """
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    rank = max(map(len, shapes), default=0)
    result: list[Extent] = []
    for axis in range(-rank, 0):
        extent: Extent = 1
        for shape in shapes:
            n = shape[axis] if -axis <= len(shape) else 1
            if n == 1 or n == extent:
                continue
            if extent == 1 or extent is None:
                extent = n
            elif n is not None:
                listed = " and ".join(str(s) for s in shapes)
                raise ValueError(f"shapes {listed} do not broadcast: {extent} against {n} along axis {axis}")
        result.append(extent)
    return tuple(result)
