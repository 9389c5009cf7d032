"""The log domain: positive terms as weight · e^exponent, so that neither overflow nor underflow can reach them.

The reading of a term follows from those of its parts, one clause for each op that has one:

    exp(x) = e^x                    f(x) = e^g(x)  where an op declares its logarithm
    x·y, x/y, xᵏ, √x, xʸ            weights multiply, exponents add, or are multiplied
    Σ x, x + y, x @ y               one sum of weighted exponentials, whose logarithm is a log-sum-exp
    Π x, cumprod(x)                 Π weight · e^Σ exponent, along an axis too
    |x|                             |weight| · e^exponent
    x[i], xᵀ, where(c, x, y), …     entry by entry

Weights stay linear: log w would add a rounding error of the size of the exponent. A sum is read only where no summand
can be negative. Readings are computed bottom-up, once a term.

A sum of exponentials of several kinds is one sum over one array, so that one shift serves all of it: e^x₀ + e^x₁ +
Σ w·e^y is Σ w'·e^z, where z holds x₀, x₁ and y side by side. Then its logarithm is one log-sum-exp and the shares of
its summands are parts of one softmax; a fold of binary operations would round again at each of them.

Source: for sums of exponentials, Blanchard, Higham & Higham, IMA Journal of Numerical Analysis 41(4), 2021.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.bounds import MODERATE, is_moderate, range_of
from relgrad.logic.build import build_product, build_sum, number_term, opposite
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.group import ProductView, SumView, added, float_summands, multiplied
from relgrad.logic.rewrite import raised
from relgrad.logic.space import SINGLE, Extents, Space, nested, product, shape_of, space_of
from relgrad.logic.view import exponent_sum, product_of, sum_of
from relgrad.op import Constant, constant, is_zero
from relgrad.ops.align import insert
from relgrad.ops.arithmetic import absolute, float_power, multiply, power, square
from relgrad.ops.exponential import cosh, exp, log, logaddexp
from relgrad.ops.extremes import Max, Min
from relgrad.ops.gather import FULL
from relgrad.ops.indexing import getitem
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.scan import CumProd, CumSum
from relgrad.ops.selection import where
from relgrad.ops.softmax import Gibbs, LogSumExp, Softmax
from relgrad.ops.stable import expit, log1mexp, softplus
from relgrad.ops.structure import broadcast_to, expand, squeeze
from relgrad.term import Term, is_term, kept
from relgrad.types import Extent, Shape, broadcast_shapes

LARGEST, OFTEN = 1 << 21, 64
"""A matrix product, and a running sum, are formed entry by entry in the log domain of at most so many products of
entries, each entry in so many of them: extended range costs less than more."""


def is_exponential(t: Any) -> bool:
    """Whether the log domain reaches an exponential in a term, and gains: 1 + eˣ: yes; x + 1, sin(eˣ): no."""
    if not is_term(t) or not t.ground:
        return False
    return kept(t, "exponential", _is_exponential, _looked_through)


def _looked_through(t: Term) -> Sequence[Term]:
    """a·b → a, b;    a + b → a, b;    eˣ → none: the terms whose exponentials are a term's that has none of its own."""
    if not _may_hold_exponential(t) or is_stated(t):
        return []
    # A long sum is looked through step by step, so that its beginnings cost nothing.
    return list(t.rands if t.op.as_sum else parts_of(t))


def _is_exponential(t: Term) -> bool:
    """a·b, with eˣ in a or b: yes, unless floats lose nothing of the term; notes if the exponential may be large."""
    if not _may_hold_exponential(t):
        return False
    parts = _looked_through(t)
    known = is_stated(t) or any(p.cache["exponential"] for p in parts)
    t.cache["overflows"] = known and _overflows(t, parts)
    return known and not _is_tame(t)


def _may_hold_exponential(t: Term) -> bool:
    return t.type.differentiable and mentions_exponential(t)


def is_stated(t: Term) -> bool:
    """Whether the logarithm of a term is known from its op alone: eˣ, softmax(x): yes; eˣ + 1: no."""
    return t.op is exp or stated_logarithm(t) is not None


def may_overflow(t: Term) -> bool:
    """Whether an exponential in a term that holds some may be large, where what else is in the term is not."""
    return t.cache["overflows"]


def _is_tame(t: Term) -> bool:
    """1 + x²/(1 + e⁻ʸ): whether floats lose nothing of a term, far from zero and with no large exponential in it."""
    return is_moderate(t) or (range_of(t).low >= 1 / MODERATE and not t.cache["overflows"])


def _overflows(t: Term, parts: Sequence[Term]) -> bool:
    """Whether an exponential in a term of these parts may be large: eˣ, 1 + eˣ: yes; 1/(1 + eˣ): no."""
    if range_of(t).high <= MODERATE:
        return False
    if not parts:
        return True
    factors = product_of(t).factors
    if _is_power(t) and range_of(t.rands[1]).low < 0:
        return True
    if t.op.as_sum or t in factors:
        return any(p.cache.get("overflows") for p in parts)
    return any(
        b.cache.get("overflows") if e > 0 else b.cache["exponential"] and range_of(b).low < 1 / MODERATE
        for b, e in factors.items()
        if is_term(b)
    )


def mentions_exponential(t: Term) -> bool:
    """Whether an exponential is anywhere below a term: where none is, no reading has one. sin(eˣ): yes; sin(x): no."""
    return kept(t, "exponential below", _mentions)


def _mentions(t: Term) -> bool:
    return is_stated(t) or any(x.cache["exponential below"] for x in t.rands)


def parts_of(t: Term) -> Iterator[Term]:
    """a·b → a, b;    a + b → a, b;    A @ B → Σ a·b;    Σ a, Π a, max a, |a|, a[i] → a;    where(c, a, b) → a, b

    The terms of which the log domain makes its reading of a term.
    """
    factors = product_of(t).factors
    if t not in factors:
        yield from (b for b in factors if is_term(b))
    elif t.op.as_sum:
        yield from (b for b in summands_of(t).terms if is_term(b) and b is not t)
    elif type(t.op) in (MatMul, CumSum):
        expanded = as_sum(t)
        if expanded is not None:
            yield expanded
    elif (
        type(t.op) in (Sum, Prod, CumProd, Max, Min, Norm)
        or t.op is absolute
        or _is_power(t)
        or t.op.laws.selects
    ):
        yield t.rands[0]
    elif type(t.op) is Concatenate:
        yield from t.rands
    elif t.op is where:
        yield from t.rands[1:]


def _is_power(t: Term) -> bool:
    """x^y → True: whether a term is a power, of which the log domain reads the base."""
    return t.op in (power, float_power)


def summands_of(t: Term) -> SumView:
    """a − (b + 2·c) → {a: 1, b: −1, c: −2}: all summands of a sum, however many there are."""
    parts: list[tuple[SumView, Any]] = []
    stack: list[tuple[Any, Any]] = [(t, 1)]
    while stack:
        node, k = stack.pop()
        if node.op.as_sum:
            stack.extend(
                (rand, k * c) for rand, c in list(zip(node.rands, node.op.as_sum, strict=True))[::-1]
            )
        else:
            parts.append((sum_of(node), k))
    return added(*parts)


def as_sum(t: Term) -> Term | None:
    """(A @ B)_ik = Σ_j a_ij·b_jk, cumsum(a)_i = Σ_j [j ≤ i]·a_j: as one sum over an axis; None of too many products.

    It is the same term each time, though constants of many entries are not.
    """
    return kept(t, "as sum", _as_sum, lambda _: ())


def _as_sum(t: Term) -> Term | None:
    if type(t.op) is MatMul:
        a, b = t.rands
        a, b, axis = expand(a, (-1,)), expand(b, (-3,)), -2
    else:
        (a,), axis = t.rands, t.op.axis
        extent = a.type.extent(axis)
        if extent is None:
            return None
        rows = np.tri(extent, dtype=a.type.dtype).reshape((extent, extent) + (1,) * (-1 - axis))
        a, b = expand(a, (axis - 1,)), constant(rows)
    shape = broadcast_shapes(a.type.shape, b.type.shape)
    size, entries = math.prod(n or 0 for n in shape), sum(x.type.size or 0 for x in (t, *t.rands))
    if None in shape or size > min(LARGEST, OFTEN * entries):
        return None
    return squeeze(Sum((axis,)).make_node(multiply(a, b)), (axis,))


def stated_logarithm(t: Term) -> Any:
    """softmax(x) → 1·e^log_softmax(x): the op's own answer, a weight and an exponent, or None.

    None as well for shares that may be negative: the quotient of two negative numbers has a logarithm, they have none.
    """
    if type(t.op) in (Softmax, Gibbs) and not range_of(t).nonnegative:
        return None
    return t.op.in_log_domain(t)


SUMMANDS = 16
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
        """Σ e^x over n × m, x varying along m → n·Σ e^x over m: how often a summand counts, as a coefficient."""
        count = ProductView(self.space.multiplicity or 0, {})
        factors, weight = multiplied((self.factors, 1), (count, 1)), multiplied((self.weight, 1), (count, 1))
        return Piece(factors, weight, self.exponent, Space(self.space.varying, {}))

    @property
    def nonnegative(self) -> bool:
        """Whether the weight is known not to be negative: 2·|w|, w²: yes; w: no."""
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
    def is_written(self) -> bool:
        """Whether no exponent is a logarithm that the log domain forms: Σ e^x·e^y: yes; Σ e^x·(Σ e^y)⁻¹: no."""
        return not any(is_term(b) and is_formed(b) for piece in self.pieces for b in piece.factors.factors)

    @property
    def _operands(self) -> list[Any]:
        return [self.exponent] if self.weights is None else [self.exponent, self.weights]

    @property
    def _binary(self) -> list[Any] | None:
        """e^x + e^y → [x, y], 1 + e^y → [None, y]: the two exponents, where there is nothing else."""
        plain = self.weights is None and all(piece.space == SINGLE for piece in self.pieces)
        return [piece.exponent for piece in self.pieces] if plain and len(self.pieces) == 2 else None

    @property
    def _one_less(self) -> tuple[Any, Any] | None:
        """e^x − e^y → (x, y), 1 − e^y → (None, y): the two exponents, where there is nothing else."""
        pieces = sorted(self.pieces, key=lambda piece: -piece.weight.coefficient)
        weights = [(piece.weight.coefficient, len(piece.weight.factors)) for piece in pieces]
        if weights != [(1, 0), (-1, 0)] or any(piece.space != SINGLE for piece in pieces):
            return None
        return pieces[0].exponent, pieces[1].exponent

    def log(self) -> Any:
        """log(e^x + e^y) = logaddexp(x, y), log(1 + e^x) = softplus(x), log(e^x − e^y) = x + log(1 − e^(y − x))

        Else log Σ w·e^x = logsumexp(x, weights=w).
        """
        if (less := self._one_less) is not None:
            x, y = less
            odds = opposite(x) if y is None else y if x is None else _distance(y, x)
            return log1mexp(odds) if x is None else _plus(x, log1mexp(odds))
        if self._binary is not None:
            x, y = self._binary
            return softplus(y) if x is None else softplus(x) if y is None else logaddexp(x, y)
        return self._without_lead(LogSumExp(self.axes).make_node(*self._operands))

    def share(self, i: int) -> Any:
        """eˣ/(eˣ + eʸ) = expit(x − y), eˣ/Σ eᶻ = softmax(z)[i]: the share that the entries of an exponential piece have
        of the sum.
        """
        if self._binary is not None:
            own, other = self._binary if i == 0 else self._binary[::-1]
            return expit(own if other is None else _distance(own, other))
        shares = Softmax(self.axes).make_node(*self._operands)
        return shares if len(self.pieces) == 1 else getitem(shares, self.keys[i])

    def quotient(self, a: Any, power: Any) -> Any:
        """(eᵃ/Σ weights·e^exponent)^power, which of a single entry without weight is e^(power·(a − exponent))"""
        if (
            self.weights is None
            and self.lead is None
            and all(self.exponent.type.extent(k) == 1 for k in self.axes)
        ):
            odds = build_sum(
                added((exponent_sum(a), power), (exponent_sum(self.exponent), -power)), a.type.dtype
            )
            return exp(odds)
        if self.lead is not None:
            a = insert(a, (self.lead,))
        power = int(power) if power == int(power) else float(power)
        return self._without_lead(Gibbs(self.axes, power).make_node(a, *self._operands))

    def _without_lead(self, t: Any) -> Any:
        return t if self.lead is None or t.type.ndim < -self.lead else squeeze(t, (self.lead,))


def _distance(x: Any, y: Any) -> Any:
    """x, y → x − y"""
    return build_sum(added((exponent_sum(x), 1), (exponent_sum(y), -1)), x.type.dtype)


def join(pieces: Sequence[Piece], like: Term) -> Joined | None:
    """[e^x₀, Σ w·e^y] → Σ w′·e^z, z = (x₀, y): the one sum that pieces are, of the type of `like`; or None."""
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
    """[e^x, e^y] → Σ e^z, z = (x, y): joins pieces that are not summed, along an axis of extent 1 if there is one."""
    unit = next((axis for axis in range(-1, -like.type.ndim - 1, -1) if like.type.extent(axis) == 1), None)
    return _stacked(pieces, like.type.dtype) if unit is None else _concatenated(pieces, unit, like)


def _is_common(pieces: Sequence[Piece]) -> bool:
    """Whether all pieces are summed over the same axes, and one varies along each: Σᵢ e^xᵢ, Σᵢ w·e^yᵢ: yes."""
    spaces = [piece.space for piece in pieces]
    axes = {**spaces[0].varying, **spaces[0].repeated}
    same = all(space.times == 1 and {**space.varying, **space.repeated} == axes for space in spaces)
    return same and all(any(axis in space.varying for space in spaces) for axis in axes)


def _exponent(piece: Piece, dtype: Any) -> Any:
    return number_term(0, dtype) if piece.exponent is None else piece.exponent


def _summed(piece: Piece, dtype: Any) -> Piece:
    """Σ w·e^x → e^logsumexp(x, weights=w): a piece with its own sum in the log domain, one factor in the sum of all."""
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
    """[Σᵢ u·e^xᵢ, Σᵢ v·e^yᵢ] → Σ over the new axis and i of (u, v)·e^(x, y): joins pieces along a new leading axis."""
    shapes = [piece.shape for piece in pieces]
    shape = broadcast_shapes(*shapes)
    if len(shape) >= SUMMANDS or (None in shape and any(s != shape for s in shapes)):
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
    """[Σᵢ e^xᵢ, e^y] → Σ e^z, z = (x₁, …, xₙ, y): joins pieces along the one axis that some of them are summed over."""
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
    """[x/T, y/T] → 1/T, [x, y]: the factors that all exponents share, constant along axes, and what is left of each.

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
    """x, (3, 4) → x stretched to (3, 4), or to (1, 3, 4) with a lead; for None, an array of the number `missing`."""
    x = constant(np.full(tuple(n or 1 for n in shape), missing, dtype)) if x is None else x
    if x.type.shape != shape:
        x = broadcast_to(x, shape)
    return x if lead is None else expand(x, (lead,))


def _side_by_side(parts: Sequence[Any], axis: int) -> Any:
    return Concatenate(axis).make_node(*parts)


MOST = 2048
"""Sums of more different exponentials than this are not joined."""
MULTIPLIED = 16
"""Products of sums are multiplied out to so many summands, and twice those that the sums have."""
EXTREME = 1e-30
"""Constant weights are linear, unless they or their reciprocals are smaller than this."""
SEEN = 64
"""So many parts of a weight are looked at, to see whether one of them grows."""


class Reading(NamedTuple):
    """A term as weight · e^exponent; a weight of None is one."""

    weight: Any
    exponent: Any


def reading(t: Term) -> Reading | None:
    """2·e^x·e^y → 2, x + y;    e^x + e^y → 1, logaddexp(x, y): how the log domain reads a term; None of open signs."""
    return kept(t, "log domain", _read, _read_parts) if is_exponential(t) else None


def is_formed(t: Term) -> bool:
    """(Σ e^x)⁻¹·e^y → True, e^x·e^y → False: whether the exponent of a term is a logarithm that the log domain forms,
    with an error of its own size.
    """
    return is_exponential(t) and kept(t, "formed logarithm", _is_formed, _read_parts)


def _is_formed(t: Term) -> bool:
    whole = t in product_of(t).factors and (t.op.as_sum or type(t.op) in (Sum, Norm))
    return bool(whole) or any(p.cache["formed logarithm"] for p in _read_parts(t))


def _read_parts(t: Term) -> Iterator[Term]:
    """w·e^x·(1 + e^y) → e^x, 1 + e^y: the parts of which a term's reading is made."""
    return filter(is_exponential, () if is_stated(t) else parts_of(t))


def logarithm(t: Term) -> Any:
    """log(w·e^x) = x + log w: the logarithm of a term, formed in the log domain; None where no exponential is in it."""
    if not is_exponential(t):
        return None
    view = product_of(t)
    signed = [b for b in view.factors if _opens(b) and reading(b) is None]
    if len(signed) == 1 and view.factors[signed[0]] == 1:
        # A sum may have either sign here: its logarithm is NaN where it is negative, as that of the sum is.
        joined = joined_sum(t)
        if joined is not None:
            return joined.log()
    weight, exponents = _product(view)
    if not exponents.terms and not exponents.constant:
        return None
    exponent = build_sum(exponents, t.type.dtype)
    if not weight.factors and weight.coefficient == 1:
        return exponent
    return _plus(exponent, log(build_product(weight, t.type.dtype)))


def _read(t: Term) -> Reading | None:
    """e^x → x;    u·v → weights multiply, exponents add;    a + b, Σ a → one log-sum-exp;    others entry by entry"""
    if t.op is exp:
        return Reading(None, t.rands[0])
    known = stated_logarithm(t)
    if known is not None:
        return Reading(*known)
    view = product_of(t)
    if t not in view.factors:
        weight, exponents = _product(view)
        if not exponents.terms and not exponents.constant:
            return None
        trivial = not weight.factors and weight.coefficient == 1
        return Reading(
            None if trivial else build_product(weight, t.type.dtype), build_sum(exponents, t.type.dtype)
        )
    if type(t.op) in (MatMul, CumSum):
        return reading(next(parts_of(t)))
    if t.op.as_sum or type(t.op) is Sum:
        joined = joined_sum(t)
        return Reading(None, joined.log()) if joined is not None and joined.nonnegative else None
    return _read_entries(t)


def _read_entries(t: Term) -> Reading | None:
    """|w·e^x| = |w|·e^x;    (w·e^x)^y = w^y·e^(x·y);    Π w·e^x = Π w·e^Σx;    max e^x = e^max(x);
    ‖w·e^x‖ = e^(½·logsumexp(2·x, weights=w²))

    An op that treats the weights of its operands, and the exponents, entry by entry; None for others.
    """
    if t.op is where:
        return _branches(t)
    if type(t.op) is Concatenate:
        return _row(t)
    inner = reading(t.rands[0])
    if inner is None:
        return None
    w, x = inner
    if t.op is absolute:
        return Reading(None if w is None else absolute(w), x)
    if _is_power(t):
        y = t.rands[1]
        if w is not None and not range_of(w).positive:
            return None
        return Reading(None if w is None else t.op.make_node(w, y), multiply(y, x))
    if type(t.op) in (Prod, CumProd):
        weight = None if w is None else t.op.make_node(_like(w, t.rands[0]))
        adds = Sum(t.op.axes) if type(t.op) is Prod else CumSum(t.op.axis)
        return Reading(weight, adds.make_node(_like(x, t.rands[0])))
    if type(t.op) is Norm:
        weights = [] if w is None else [square(w)]
        squares = LogSumExp(t.op.axes).make_node(multiply(constant(2.0), _like(x, t.rands[0])), *weights)
        return Reading(None, multiply(constant(0.5), squares))
    if type(t.op) in (Max, Min):
        return Reading(None, t.op.make_node(_like(x, t.rands[0]))) if w is None else None
    weight = None if w is None else t.op.make_node(_like(w, t.rands[0]), *t.rands[1:])
    return Reading(weight, t.op.make_node(_like(x, t.rands[0]), *t.rands[1:]))


def _like(x: Any, t: Term) -> Any:
    return x if x.type.shape == t.type.shape else broadcast_to(x, t.type.shape)


def _split(t: Any) -> tuple[Any, Any]:
    """w·e^x → w, x;    w → w, 0;    e^x → 1, x: weight and exponent of a term as terms."""
    found = reading(t) if is_exponential(t) else None
    if found is None:
        return t, constant(0.0, t.type.dtype)
    return constant(1.0, t.type.dtype) if found.weight is None else found.weight, found.exponent


def _branches(t: Term) -> Reading:
    """where(c, u·e^x, v·e^y) = where(c, u, v)·e^where(c, x, y); of where(c, u·e^x, 0) the exponent is x."""
    c, *branches = t.rands
    (u, x), (v, y) = [_split(b) for b in branches]
    if is_zero(branches[1]):
        return Reading(where(c, u, v), x)  # where the weight is zero, no exponent is looked at
    if is_zero(branches[0]):
        return Reading(where(c, u, v), y)
    one = u is v is constant(1.0, t.type.dtype)
    return Reading(None if one else u if u is v else where(c, u, v), where(c, x, y))


def _row(t: Term) -> Reading | None:
    """concatenate(u·e^x, v·e^y) = concatenate(u, v)·e^concatenate(x, y); None for unknown shapes."""
    if None in t.type.shape:
        return None
    pairs = [_split(rand) for rand in t.rands]
    columns = [
        [_like(part, rand) for part, rand in zip(c, t.rands, strict=True)] for c in zip(*pairs, strict=True)
    ]
    weights, exponents = columns
    plain = all(type(w.op) is Constant and np.all(w.op.value == 1) for w, _ in pairs)
    return Reading(None if plain else t.op.make_node(*weights), t.op.make_node(*exponents))


def _product(view: ProductView) -> tuple[ProductView, SumView]:
    """2·a·e^x·e^y → 2·a, x + y: the weight and the exponent of a product."""
    weights: list[tuple[ProductView, Any]] = [(ProductView(view.coefficient, {}), 1)]
    exponents: list[tuple[SumView, Any]] = []
    for base, e in view.factors.items():
        found = reading(base) if is_term(base) else None
        if found is None and _is_extreme(base):
            found = Reading(None, constant(np.log(base.op.value), base.type.dtype))
        if found is None:
            weights.append((ProductView(1, {base: 1}), e))
            continue
        if found.weight is not None:
            weights.append((raised(found.weight, e), 1))
        exponents.append((exponent_sum(found.exponent), e))
    return multiplied(*weights), added(*exponents)


def _is_extreme(base: Any) -> bool:
    """Whether a constant weight is so far from one that a product of a few leaves the floats: 1e-40: yes; 1e-20: no."""
    if (
        not (is_term(base) and type(base.op) is Constant and base.op.value.size)
        or base.type.dtype.kind != "f"
    ):
        return False
    low, high = base.op.value.min(), base.op.value.max()
    return bool(low > 0 and np.isfinite(high) and (low < EXTREME or high > 1 / EXTREME))


def joined_sum(t: Term) -> Joined | None:
    """e^x + Σ w·e^y → Σ w′·e^z: a sum, or a contraction, as one sum of weighted exponentials; None without any."""
    if "joined" not in t.cache:
        pieces = _few_pieces(t)
        usable = any(p.exponent is not None for p in pieces)
        usable = usable and all(p.space.multiplicity is not None for p in pieces)
        usable = usable and not any(_grows(b) for p in pieces for b in p.weight.factors)
        t.cache["joined"] = join(pieces, t) if usable else None
    return t.cache["joined"]


def _few_pieces(t: Term) -> list[Piece]:
    """(a + eˣ)·b → a·b, b·eˣ: the summands of a term; none where many come of few, as of (a + b)·(c + d)·(e + f)·…"""
    found: list[tuple[ProductView, Extents, Extent]] = []
    opened: dict[Term, int] = {}
    for part in _parts(product_of(t), {}, 1, 4, opened):
        found.append(part)
        if len(found) > min(MOST, MULTIPLIED + 2 * sum(opened.values())):
            return []
    return [_piece(view, t.type.dtype, summed, times) for view, summed, times in found]


def _grows(weight: Any) -> bool:
    """Whether a weight may grow like an exponential: xⁿ beside 2ⁿ: yes; Σ(eˣ − c)², scaled by e⁻²ᵐ elsewhere: yes."""
    if not is_term(weight):
        return False
    if weight.op in (power, float_power) and type(weight.rands[1].op) is not Constant:
        return not range_of(weight.rands[0]).within(-1, 1)
    # Through sums, products and what else is linear, an exponential grows unseen.
    stack, seen = [weight], {weight}
    while stack and len(seen) < SEEN:
        node = stack.pop()
        if range_of(node).high < math.inf:
            continue
        if node.op is exp:
            return True
        factors = product_of(node).factors
        parts = [node.rands[i] for i in node.op.laws.linear] if node in factors else factors
        stack += [part for part in parts if is_term(part) and part not in seen]
        seen.update(parts)
    return False


def _parts(
    view: ProductView, summed: Extents, times: Extent, depth: int, seen: dict[Term, int]
) -> Iterator[tuple[ProductView, Extents, Extent]]:
    """c·(a + Σ b) → c·a, Σ c·b: the summands of a product in which one factor is a sum, each with all the rest.

    Each stands under a sum over some axes, which counts it so many times. Sums that are opened are `seen`,
    with the number of their summands. cosh x counts as (eˣ + e⁻ˣ)/2.
    """
    opened = next((b for b, e in view.factors.items() if e == 1 and depth and _opens(b)), None)
    if opened is None and depth and not any(is_exponential(b) for b in view.factors):
        opened = next((b for b, e in view.factors.items() if e == 1 and is_term(b) and b.op is cosh), None)
    if opened is None:
        yield view, summed, times
        return
    others = multiplied((view, 1), (ProductView(1, {opened: 1}), -1))
    if opened.op.as_sum or opened.op is cosh:
        total = _opposite(*opened.rands) if opened.op is cosh else summands_of(opened)
        parts = [(product_of(s), k) for s, k in total.terms.items()]
        parts += [(ProductView(1, {}), n) for n in float_summands(total.constant, opened.type.dtype) if n]
        seen[opened] = len(parts)
        for part, k in parts:
            inner = multiplied((others, 1), (part, 1), (ProductView(k, {}), 1))
            yield from _parts(inner, summed, times, depth - 1, seen)
    elif all(is_constant_along(b, opened.op.axes) for b in others.factors):
        body = opened.rands[0]
        below, met = nested(summed, opened.op.axes, body.type.shape)
        inner = multiplied((others, 1), (product_of(body), 1))
        yield from _parts(inner, below, product([times, met]), depth - 1, seen)
    else:
        yield view, summed, times


def _opposite(x: Term) -> SumView:
    """cosh x = (eˣ + e⁻ˣ)/2"""
    return SumView(0, {exp.make_node(x): Fraction(1, 2), exp.make_node(opposite(x)): Fraction(1, 2)})


def _piece(view: ProductView, dtype: Any, summed: Extents, times: Extent) -> Piece:
    """2·w·e^x → the piece of weight 2·w, of exponent x."""
    weight, exponents = _product(view)
    some = exponents.terms or exponents.constant
    exponent = build_sum(exponents, dtype) if some else None
    weight = _plain(weight)
    shape = shape_of([*weight.factors, *([] if exponent is None else [exponent])])
    return Piece(view, weight, exponent, space_of(summed, shape or (), times))


def _opens(base: Any) -> bool:
    return is_exponential(base) and (base.op.as_sum or type(base.op) is Sum)


def _plain(weight: ProductView) -> ProductView:
    """w·[1, 1, 1] → w: weights that are all the same number, one, as that number."""
    parts: list[tuple[ProductView, Any]] = [(ProductView(weight.coefficient, {}), 1)]
    for base, e in weight.factors.items():
        one = type(base.op) is Constant and base.op.value.size > 0 and np.all(base.op.value == 1)
        parts.append((ProductView(1, {} if one else {base: 1}), e))
    return multiplied(*parts)


def _plus(x: Any, y: Any) -> Any:
    return build_sum(added((SumView(0, {x: 1}), 1), (SumView(0, {y: 1}), 1)), x.type.dtype)
