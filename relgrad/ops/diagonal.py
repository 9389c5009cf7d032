"""Diagonals of matrices, matrices of diagonals, and traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.contract import SELECTION
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.kernels.linalg import diag_embed
from relgrad.op import as_term
from relgrad.ops.arguments import call, is_ground, normalize_axis, refuse, require_ground
from relgrad.ops.shaping import AmongZeros, Rearrangement
from relgrad.term import term
from relgrad.types import Extent, Type, array_type


class Diagonal(Rearrangement):
    """y[…, i] = x[…, i, i + offset]: the diagonal of the last two axes, as a last axis."""

    __props__ = ("offset",)
    offset: int
    text = "np.diagonal({0}, {offset}, -2, -1)"
    laws = SELECTION
    read_only = True

    def output_type(self, *types: Any) -> Type:
        if types[0].ndim < 2:
            raise ShapeError(f"{types[0]} has no diagonal")
        *stack, rows, columns = types[0].shape
        return array_type(types[0].dtype, (*stack, _length(rows, columns, self.offset)))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x̄ = embed(ȳ): the cotangent on the diagonal of zeros."""
        (x,), (g,) = inputs, output_gradients
        rows, columns = x.shape[-2:]
        if rows is None or columns is None:
            return [EmbedLike(self.offset)(g, x)]
        return [Embed(self.offset, (rows, columns))(g)]


class Embed(AmongZeros):
    """y[…, i, i + offset] = x[…, i], else 0: matrices of zeros but for one diagonal; square if `shape` is None."""

    __props__ = ("offset", "shape")
    text = "diag_embed({0}, {offset}, {shape})"
    imports = ("diag_embed",)

    def __init__(self, offset: int, shape: tuple[int, int] | None = None):
        self.offset, self.shape = offset, shape

    def output_type(self, *types: Any) -> Type:
        *stack, n = types[0].shape
        side = None if n is None else n + abs(self.offset)
        return array_type(types[0].dtype, (*stack, *(self.shape or (side, side))))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Diagonal(self.offset)(output_gradients[0])]


class EmbedLike(Embed):
    """`Embed` into the shape of a second operand, where that is not known yet:
    y = embed(x, shape of z), whatever z's entries.
    """

    __props__ = ("offset",)
    text = "diag_embed({0}, {offset}, np.shape({1})[-2:])"
    connected = (0,)

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, (*types[0].shape[:-1], *types[1].shape[-2:]))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Diagonal(self.offset)(output_gradients[0]), None]


def _length(rows: Extent, columns: Extent, offset: int) -> Extent:
    if rows is None or columns is None:
        return None
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


@implements(diag_embed)
def embed(x: Any, offset: int = 0, shape: tuple[int, int] | None = None) -> Any:
    """Trace the kernel `diag_embed`."""
    return term(Embed(offset, shape), require_ground("diag_embed", x))


@implements(np.diagonal, "diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """diagonal(x)[i] = x[i, i]: traces `np.diagonal`."""
    if (axis1, axis2) == (-2, -1) and not is_ground(as_term(a)):
        return term(Diagonal(int(offset)), as_term(a))
    x = require_ground("np.diagonal", a)
    rank = x.type.ndim
    if rank < 2:
        raise ShapeError(f"np.diagonal: an array with {rank} axes has no diagonal")
    first, second = normalize_axis(axis1, rank), normalize_axis(axis2, rank)
    if first == second:
        raise ShapeError(f"np.diagonal: axis1 and axis2 are both axis {axis1}")
    if (first, second) == (-1, -2):
        offset = -offset
    elif (first, second) != (-2, -1):
        others = [axis for axis in range(-rank, 0) if axis not in (first, second)]
        x = call(np.transpose, x, (*others, first, second))
    return term(Diagonal(int(offset)), x)


@implements(np.trace, "trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """Trace `np.trace`: Σ of the diagonal."""
    refuse("np.trace", out=out)
    return call(np.sum, diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """diag([a, b]) = [[a, 0], [0, b]], diag(X)[i] = X[i, i]: traces `np.diag`."""
    x = require_ground("np.diag", v)
    if x.type.ndim not in (1, 2):
        raise ShapeError(
            f"np.diag: an operand with {x.type.ndim} axes",
            cause="np.diag takes vectors and matrices",
            cure="take diagonals of stacks with np.diagonal(x, axis1=-2, axis2=-1)",
        )
    return term(Embed(int(k)), x) if x.type.ndim == 1 else diagonal(x, k)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """Trace `np.diagflat`."""
    return term(Embed(int(k)), call(np.ravel, require_ground("np.diagflat", v)))
