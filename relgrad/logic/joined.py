"""A sum of exponentials of several kinds as one sum over one array, so that one shift serves all of it.

e^x₀ + e^x₁ + Σ w·e^y is Σ w'·e^z, where z holds x₀, x₁ and y side by side. Then its logarithm is one log-sum-exp and
the shares of its summands are parts of one softmax; a fold of binary operations would round again at each of them.

Source: for sums of exponentials, Blanchard, Higham & Higham, IMA Journal of Numerical Analysis 41(4), 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, build_sum, number_term
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.group import ProductView, added, multiplied
from relgrad.logic.space import SINGLE, Extents, Space, shape_of
from relgrad.logic.view import product_of, sum_of
from relgrad.op import constant
from relgrad.ops.align import insert
from relgrad.ops.arithmetic import negative
from relgrad.ops.exponential import logaddexp
from relgrad.ops.gather import FULL
from relgrad.ops.indexing import getitem
from relgrad.ops.joining import Concatenate
from relgrad.ops.reduction import Sum
from relgrad.ops.softmax import Gibbs, LogSumExp, Softmax
from relgrad.ops.stable import expit, softplus
from relgrad.ops.structure import broadcast_to, expand, squeeze
from relgrad.term import Term
from relgrad.types import Shape, broadcast_shapes

MOST = 16
"""Arrays with so many axes get no further one: NumPy has 32 or 64 at most."""


class Piece(NamedTuple):
    """A summand: Σ weight·e^exponent over a space; `factors` is what stands under the sum, as written."""

    factors: ProductView
    weight: ProductView
    exponent: Any
    space: Space = SINGLE

    @property
    def shape(self) -> Shape:
        """The shape of what stands under the sum, entries that are repeated left out."""
        parts = [*self.weight.factors, *([] if self.exponent is None else [self.exponent])]
        return shape_of(parts) or ()

    @property
    def counted(self) -> Piece:
        """The same summand over the axes along which it varies, how often it is counted in its coefficient."""
        count = ProductView(self.space.multiplicity or 0, {})
        factors, weight = multiplied((self.factors, 1), (count, 1)), multiplied((self.weight, 1), (count, 1))
        return Piece(factors, weight, self.exponent, Space(self.space.varying, {}))

    @property
    def nonnegative(self) -> bool:
        """Whether the weight is known not to be negative."""
        signed = [b for b, e in self.weight.factors.items() if e % 2 or not range_of(b).nonnegative]
        return self.weight.coefficient > 0 and all(range_of(b).nonnegative for b in signed)

    def weights(self, dtype: Any) -> Any:
        """Return the weight as a term, or None where it is one."""
        trivial = self.weight.coefficient == 1 and not self.weight.factors
        return None if trivial else build_product(self.weight, dtype)


class Joined(NamedTuple):
    """Σ weights·e^exponent over axes; `lead` is the axis along which pieces were stacked, which the sum lacks.

    `keys` pick each piece out of the array.
    """

    pieces: Sequence[Piece]
    exponent: Any
    weights: Any
    axes: tuple[int, ...]
    lead: int | None
    keys: Sequence[Any]

    @property
    def nonnegative(self) -> bool:
        """Whether no summand can be negative."""
        return all(piece.nonnegative for piece in self.pieces)

    @property
    def _operands(self) -> list[Any]:
        return [self.exponent] if self.weights is None else [self.exponent, self.weights]

    @property
    def _binary(self) -> list[Any] | None:
        """The two exponents, where all is e^x + e^y: None is an exponent of zero."""
        plain = self.weights is None and all(piece.space == SINGLE for piece in self.pieces)
        return [piece.exponent for piece in self.pieces] if plain and len(self.pieces) == 2 else None

    def log(self) -> Any:
        """Return log Σ weights·e^exponent."""
        if self._binary is not None:
            x, y = self._binary
            return softplus(y) if x is None else softplus(x) if y is None else logaddexp(x, y)
        return self._without_lead(LogSumExp(self.axes).make_node(*self._operands))

    def share(self, i: int) -> Any:
        """Return the share that the entries of a piece have of the sum."""
        if self._binary is not None:
            own, other = self._binary if i == 0 else self._binary[::-1]
            odds = own if other is None else negative(other) if own is None else _distance(own, other)
            return expit(odds)
        shares = Softmax(self.axes).make_node(*self._operands)
        return shares if len(self.pieces) == 1 else getitem(shares, self.keys[i])

    def quotient(self, a: Any, power: Any) -> Any:
        """Return (eᵃ / Σ weights·e^exponent)^power."""
        if self.lead is not None:
            a = insert(a, (self.lead,))
        power = int(power) if power == int(power) else float(power)
        return self._without_lead(Gibbs(self.axes, power).make_node(a, *self._operands))

    def _without_lead(self, t: Any) -> Any:
        return t if self.lead is None or t.type.ndim < -self.lead else squeeze(t, (self.lead,))


def _distance(x: Any, y: Any) -> Any:
    return build_sum(added((sum_of(x), 1), (sum_of(y), -1)), x.type.dtype)


def join(pieces: Sequence[Piece], like: Term) -> Joined | None:
    """Return the one sum that several pieces are, of the type of `like`, or None where shapes are unknown."""
    dtype = like.type.dtype
    if len(pieces) == 1:
        piece = pieces[0].counted
        return Joined([piece], _exponent(piece, dtype), piece.weights(dtype), piece.space.axes, None, ())
    if _is_common(pieces):
        return _stacked(pieces, dtype) if any(p.space.axes for p in pieces) else _together(pieces, like)
    pieces = [piece.counted for piece in pieces]
    several = {axis for piece in pieces for axis in piece.space.axes}
    if len(several) == 1 and like.type.extent(min(several)) == 1:
        return _concatenated(pieces, min(several), like)
    if not all(piece.nonnegative for piece in pieces):
        return None
    return _together([_summed(piece, dtype) for piece in pieces], like)


def _together(pieces: Sequence[Piece], like: Term) -> Joined | None:
    """Join pieces that are not summed: along an axis of extent 1 if there is one, so that ranks do not grow."""
    unit = next((axis for axis in range(-1, -like.type.ndim - 1, -1) if like.type.extent(axis) == 1), None)
    return _stacked(pieces, like.type.dtype) if unit is None else _concatenated(pieces, unit, like)


def _is_common(pieces: Sequence[Piece]) -> bool:
    """Whether all pieces are summed over the same axes, along each of which one of them varies."""
    spaces = [piece.space for piece in pieces]
    axes = {**spaces[0].varying, **spaces[0].repeated}
    same = all(space.times == 1 and {**space.varying, **space.repeated} == axes for space in spaces)
    return same and all(any(axis in space.varying for space in spaces) for axis in axes)


def _exponent(piece: Piece, dtype: Any) -> Any:
    return number_term(0, dtype) if piece.exponent is None else piece.exponent


def _summed(piece: Piece, dtype: Any) -> Piece:
    """Return a piece with its own sum taken in the log domain: under the sum of all, it stands as one factor."""
    axes = piece.space.axes
    if not axes:
        return piece
    weights, body = piece.weights(dtype), build_product(piece.factors._replace(coefficient=1), dtype)
    operands = [_exponent(piece, dtype), *([] if weights is None else [weights])]
    factors = multiplied(
        (ProductView(piece.factors.coefficient, {}), 1), (product_of(Sum(axes).make_node(body)), 1)
    )
    return Piece(factors, ProductView(1, {}), LogSumExp(axes).make_node(*operands))


def _stacked(pieces: Sequence[Piece], dtype: Any) -> Joined | None:
    """Join pieces along a new leading axis."""
    shapes = [piece.shape for piece in pieces]
    shape = broadcast_shapes(*shapes)
    if len(shape) >= MOST or (None in shape and any(s != shape for s in shapes)):
        return None
    lead = -(len(shape) + 1)
    scale, exponents = _scaled([piece.exponent for piece in pieces], ())
    joined = _side_by_side([_placed(x, shape, lead, 0, dtype) for x in exponents], lead)
    weights = [piece.weights(dtype) for piece in pieces]
    if any(w is not None for w in weights):
        smallest = broadcast_shapes(*[w.type.shape for w in weights if w is not None])
        smallest = (1,) * (len(shape) - len(smallest)) + tuple(smallest)
        weights = _side_by_side([_placed(w, smallest, lead, 1, dtype) for w in weights], lead)
    else:
        weights = None
    # Along axes where a piece is repeated, one of its equal shares stands for all.
    keys = [(i, Ellipsis, *_first_along(piece.space.repeated)) for i, piece in enumerate(pieces)]
    summed = {axis for piece in pieces for axis in piece.space.axes}
    axes = tuple(sorted({lead, *summed}))
    return Joined(pieces, _times(scale, joined, dtype), weights, axes, lead, keys)


def _first_along(axes: Extents) -> list[slice]:
    return [slice(0, 1) if a in axes else FULL for a in range(min(axes, default=0), 0)]


def _concatenated(pieces: Sequence[Piece], axis: int, like: Term) -> Joined | None:
    """Join pieces along the one axis that some of them are summed over."""
    dtype, rank = like.type.dtype, like.type.ndim
    extents = [piece.space.varying.get(axis, 1) for piece in pieces]
    if None in extents or None in like.type.shape or rank < -axis:
        return None
    shapes = [tuple(n if i == rank + axis else m for i, m in enumerate(like.type.shape)) for n in extents]
    scale, exponents = _scaled([piece.exponent for piece in pieces], (axis,))
    joined = _side_by_side(
        [_placed(x, s, None, 0, dtype) for x, s in zip(exponents, shapes, strict=True)], axis
    )
    weights = [piece.weights(dtype) for piece in pieces]
    if any(w is not None for w in weights):
        weights = _side_by_side(
            [_placed(w, s, None, 1, dtype) for w, s in zip(weights, shapes, strict=True)], axis
        )
    else:
        weights = None
    keys: list[Any] = []
    start = 0
    for n in [n or 0 for n in extents]:
        keys.append((Ellipsis, slice(start, start + n), *[FULL] * (-axis - 1)))
        start += n
    return Joined(pieces, _times(scale, joined, dtype), weights, (axis,), None, keys)


def _scaled(exponents: Sequence[Any], axes: tuple[int, ...]) -> tuple[ProductView, list[Any]]:
    """Return the factors that all exponents share, constant along axes, and the exponents without them.

    A temperature is divided by once, so that derivatives in it see all exponents together.
    """
    views = [product_of(x) for x in exponents if x is not None]
    shared = {
        b: e
        for b, e in views[0].factors.items()
        if all(view.factors.get(b) == e for view in views[1:]) and is_constant_along(b, axes)
    }
    if not shared or len(views) < 2:
        return ProductView(1, {}), list(exponents)
    scale = ProductView(1, shared)
    rest = [
        None if x is None else build_product(multiplied((product_of(x), 1), (scale, -1)), x.type.dtype)
        for x in exponents
    ]
    return scale, rest


def _times(scale: ProductView, x: Any, dtype: Any) -> Any:
    if not scale.factors:
        return x
    view = product_of(x)
    return build_product(multiplied((view, 1), (scale, 1)), dtype)


def _placed(x: Any, shape: Shape, lead: int | None, missing: int, dtype: Any) -> Any:
    """Stretch an operand to a shape, and insert the axis along which it is joined with others."""
    x = constant(np.full(tuple(n or 1 for n in shape), missing, dtype)) if x is None else x
    if x.type.shape != shape:
        x = broadcast_to(x, shape)
    return x if lead is None else expand(x, (lead,))


def _side_by_side(parts: Sequence[Any], axis: int) -> Any:
    return Concatenate(axis).make_node(*parts)
