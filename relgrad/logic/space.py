"""Index spaces: the axes that a sum runs over, each with its extent, and how often the sum counts what stands under it.

Along an axis that a sum runs over, its summand varies, or is repeated:

    Σ_A x = n·Σ_(A∖R) x                  R: the axes of A along which x has extent 1, n: the product of their extents
    Σ_A Σ_B x = n·Σ_(A∪B) x              Σ_B x has extent 1 along B, n: the product of the extents in A of A ∩ B

Σ over 5 rows and 3 columns of e^x, with one x a column → 5·Σ over 3 columns of e^x. A view or a reading may take an
array for a smaller one that broadcasts to it; what stands under a sum may not shrink. So extents are counted here,
from the array that is summed, and not from what that array is read as.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from relgrad.ops.structure import broadcast_to
from relgrad.term import is_term
from relgrad.types import Extent, Shape, broadcast_shapes

Extents = Mapping[int, Extent]
"""Axes, counted from the right, with their extents; None is an extent that is not known, and not 1."""


def product(extents: Iterable[Extent]) -> Extent:
    """Return the product of extents, or None where one is not known.

    >>> product([2, 3]), product([2, None])
    (6, None)
    """
    known = list(extents)
    return None if None in known else math.prod(n or 0 for n in known)


def entries(total: Any) -> Extent:
    """Return how many entries each entry of a sum is made of, or None where that is not known."""
    return product(total.rands[0].type.extent(axis) for axis in total.op.axes)


class Space(NamedTuple):
    """Σ over (3, 4) of x : (3, 1) → varying {−2: 3}, repeated {−1: 4}, times 1: the axes that a sum runs over.

    Along some its summand varies, along others it is repeated. All of that is counted so many `times`.
    """

    varying: Extents
    repeated: Extents
    times: Extent = 1

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes along which the summand varies, sorted."""
        return tuple(sorted(self.varying))

    @property
    def multiplicity(self) -> Extent:
        """How often each entry of the summand is counted, or None where an extent is not known.

        >>> Space({-1: 3}, {-2: 5}, 2).multiplicity
        10
        """
        return product([self.times, *self.repeated.values()])


SINGLE = Space({}, {})
"""The space of what is not summed."""


def extent(shape: Shape, axis: int) -> Extent:
    """Return the extent of a shape along a negative axis; axes that broadcasting would add have extent 1.

    >>> extent((5, 3), -1), extent((5, 3), -3)
    (3, 1)
    """
    return shape[axis] if -axis <= len(shape) else 1


def bare(shape: Shape) -> Shape:
    """Return a shape without leading extents of 1, which broadcasting supplies: what an op counts along its axes.

    >>> bare((1, 1, 3, 1))
    (3, 1)
    """
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]


def space_of(summed: Extents, shape: Shape, times: Extent = 1) -> Space:
    """Return the space of a sum over axes of what has a shape: Σ over 5 and 3 of x with shape (3,) is 5·Σ over 3 of x.

    >>> space_of({-2: 5, -1: 3}, (3,))
    Space(varying={-1: 3}, repeated={-2: 5}, times=1)
    """
    varying = {axis: n for axis, n in summed.items() if extent(shape, axis) != 1}
    repeated = {axis: n for axis, n in summed.items() if n != 1 and axis not in varying}
    return Space(varying, repeated, times)


def nested(outer: Extents, axes: Iterable[int], shape: Shape) -> tuple[Extents, Extent]:
    """Return over which axes Σ_A Σ_B x runs as one sum, and how often it counts each entry of that: A ∩ B.

    `outer` is A, with its extents, `axes` B, and `shape` the one of what the inner sum is of.

    >>> nested({-2: 5, -1: 3}, (-1,), (5, 4))
    ({-2: 5, -1: 4}, 3)
    """
    inner = {axis: extent(shape, axis) for axis in axes}
    return {**outer, **inner}, product(n for axis, n in outer.items() if axis in inner)


def shape_of(parts: Iterable[Any]) -> Shape | None:
    """x : (3, 1), y : (4,) → (3, 4): the shape that factors or summands broadcast to, or None where one is a pattern.

    It may be smaller than that of the term which they are read from: what cancels takes its extents with it.
    """
    shapes: list[Shape] = []
    for part in parts:
        if not is_term(part) or not part.ground:
            return None
        shapes.append(part.type.shape)
    return broadcast_shapes(*shapes) if shapes else ()


def spread(x: Any, like: Any, axes: Sequence[int]) -> Any:
    """Return x with the extents that another term has along axes: put under a sum, x is counted as often as that.

    >>> from relgrad.op import constant
    >>> import numpy as np
    >>> spread(constant(np.ones((5, 1))), constant(np.ones((2, 3))), (-1,)).type.shape
    (5, 3)
    """
    rank = max(x.type.ndim, *[-axis for axis in axes], 0)
    wanted = tuple([(like if axis in axes else x).type.extent(axis) for axis in range(-rank, 0)])
    return x if wanted == x.type.shape else broadcast_to(x, wanted)
