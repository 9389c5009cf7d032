"""Entries of an array, and means of them, less the log-sum-exp of the whole: log-probabilities, which do not cancel.

x[i] − log Σ e^x      log_softmax(x)[i]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.leaf import Anchor, Input
from relgrad.logic.build import build_product, fit, fitted
from relgrad.logic.conditions import Goal, is_constant_along
from relgrad.logic.group import ProductView
from relgrad.logic.match import match
from relgrad.logic.parts import without
from relgrad.logic.rewrite import Selection, chain_of, selected
from relgrad.logic.theory import inner_product
from relgrad.logic.unify import State, reify_term, unknowns
from relgrad.logic.view import product_of
from relgrad.logscale.selections import commutes, fits
from relgrad.op import Constant, constant
from relgrad.ops.arithmetic import add, multiply, subtract
from relgrad.ops.casting import Cast
from relgrad.ops.extremes import Max
from relgrad.ops.gather import FULL, Index
from relgrad.ops.indexing import getitem
from relgrad.ops.joining import Concatenate
from relgrad.ops.reduction import Sum
from relgrad.ops.rounding import coarse
from relgrad.ops.softmax import LogSoftmax, LogSumExp
from relgrad.ops.structure import RESHAPES, Expand, Squeeze
from relgrad.term import Term, is_term

_MOVES = (Expand, Squeeze)
_LEAVES = (Input, Anchor, Cast)
SHORT = 12
"""A product with a number of so many bits is taken to be exact."""
NEAR = 1e-6
"""Weights whose sum is farther from one than this are no mean."""


def log_probability(x: Term, y: Term, axes: tuple[int, ...]) -> Any:
    """x[i] − log Σ e^x = log_softmax(x)[i], or a mean of entries less the same; None where x is no such thing of y."""
    if y.type.ndim < -min(axes, default=0):
        return None
    moves: list[Term] = []
    inner = x
    while type(inner.op) in _MOVES:
        moves.append(inner)
        inner = inner.rands[0]
    total = LogSumExp(axes).make_node(y)
    selection, whole = chain_of(inner)
    if type(inner.op) is LogSumExp and inner.op.axes == axes:
        found = _part(inner, y, axes)
    elif selection and whole is y:
        if not commutes(selection, total, moves):
            return None
        found = selected(selection, LogSoftmax(axes).make_node(y))
    else:
        found = (
            _joined(inner, y, axes, total, moves)
            or _multiple(inner, y, axes, total, moves)
            or _mean(inner, y, axes, total)
        )
    if found is not None and moves:
        found = fitted(found, inner)
    for move in moves[::-1] if found is not None else ():
        found = move.op.make_node(found)
    return found


def _joined(t: Term, y: Term, axes: tuple[int, ...], total: Term, moves: list[Term]) -> Any:
    """x − lse(concatenate((x, z))) = log_softmax(concatenate((x, z)))[0], where x is one entry; or None."""
    if type(y.op) is not Concatenate or axes != (y.op.axis,):
        return None
    start, axis = 0, y.op.axis
    for piece in y.rands:
        if (extent := piece.type.extent(axis)) is None:
            return None
        if extent == 1 and (piece is t or (isinstance(piece.op, RESHAPES) and piece.rands == (t,))):
            key: list[Any] = [FULL] * y.type.ndim
            key[axis] = slice(start, start + 1) if piece is t else start
            found = getitem(LogSoftmax(axes).make_node(y), tuple(key))
            if found.type.shape == t.type.shape:
                return found if commutes(chain_of(found)[0], total, moves) else None
        start += extent
    return None


def _multiple(t: Term, y: Term, axes: tuple[int, ...], total: Term, moves: list[Term]) -> Any:
    """k·z[i] − lse(k·z) = (k·z − lse(k·z))[i], for one number k; or None."""
    above, below = product_of(t), product_of(y)
    for base, e in above.factors.items() if above.coefficient == below.coefficient else ():
        selection, whole = chain_of(base) if e == 1 and is_term(base) else ((), base)
        if not selection or below.factors.get(whole, 0) != 1 or whole.type.shape != y.type.shape:
            continue
        k = {b: n for b, n in above.factors.items() if b is not base}
        one = all(is_term(b) and b.type.size == 1 for b in k)
        if (
            one
            and k == {b: n for b, n in below.factors.items() if b is not whole}
            and commutes(selection, total, moves)
        ):
            return selected(selection, LogSoftmax(axes).make_node(y))
    return None


def _part(t: Term, y: Term, axes: tuple[int, ...]) -> Any:
    """log Σ w·e^y[i] − lse(y) = log Σ w·e^(y − lse(y))[i]; or None."""
    inner, *weights = t.rands
    selection, whole = chain_of(inner)
    if whole is not y or (not selection and not weights):
        return None
    if selection and (not fits(selection, y.type.shape) or not _rows(selection, axes)):
        return None
    return LogSumExp(axes).make_node(selected(selection, LogSoftmax(axes).make_node(y)), *weights)


def _rows(selection: Selection, axes: tuple[int, ...]) -> bool:
    """Whether a selection takes the same entries of each row along axes: x[:, 1:3] along the last: yes; x[1]: no."""
    return all(
        type(step.op) is Index
        and step.type.ndim == step.rands[0].type.ndim
        and all(entry == FULL or i - step.type.ndim in axes for i, entry in enumerate(step.op.pattern))
        for step in selection
    )


def mask_of(x: Any, y: Any = None) -> tuple[Any, Any] | None:
    """x[0], x[2] → x, (1, 0, 1): the row that terms are entries of, and weights that make its sum theirs; or None.

    Two terms are one entry each: a function of both takes them entry by entry.
    """
    if x.type.ndim > 1 or (y is not None and (x.type.size != 1 or y.type.size != 1)):
        return None
    found = [chain_of(t) for t in (x, y) if t is not None]
    (_, row), *_ = found
    if any(not chain or t is not row for chain, t in found) or row.type.ndim != 1 or None in row.type.shape:
        return None
    weights = np.zeros(row.type.shape)
    for selection, _ in found:
        places = np.arange(weights.size)
        for step in reversed(selection):
            if len(step.rands) > 1:
                return None
            places = step.op.compute(places)
        np.add.at(weights, places, 1.0)
    return row, constant(weights.astype(row.type.dtype))


def entrieso(x: Any, y: Any, row: Any, weights: Any) -> Goal:
    """x[0], x[2] of x, (1, 0, 1): construct a goal stating that x and y are entries of a row, its weighted sum theirs.

    Where y is None, x alone is.
    """

    def entries_goal(s: State) -> Iterator[State]:
        u, v, r, w = (
            None if t is None else reify_term(getattr(t, "term", t), s) for t in (x, y, row, weights)
        )
        if not (is_term(u) and getattr(u, "ground", False) and (v is None or (is_term(v) and v.ground))):
            return
        found = mask_of(u, v)
        if found is not None:
            for state in match(r, found[0], s):
                yield from match(w, found[1], state)

    entries_goal.finds = unknowns(getattr(row, "term", row)) | unknowns(getattr(weights, "term", weights))  # pyright: ignore[reportFunctionMemberAccess]
    return entries_goal


def _mean(t: Term, y: Term, axes: tuple[int, ...], total: Term) -> Any:
    """Σ w·y − lse = Σ w·(y − lse) + (Σ w − 1)·lse, where Σ w − 1 is known or small; or None."""
    t = inner_product(t) or t
    if type(t.op) is not Sum or t.op.axes != axes:
        return None
    weights = without(product_of(t.rands[0]), product_of(y))
    if weights is None:
        return None
    w = fit(build_product(weights, t.type.dtype), t.rands[0])
    rest = _excess(w, axes)
    if rest is None:
        return None
    mean = t.op.make_node(multiply(w, LogSoftmax(axes).make_node(y)))
    return mean if rest is True else add(mean, multiply(rest, total))


def _excess(w: Term, axes: tuple[int, ...]) -> Any:
    """(0.5, 0.5) → True, (0.1, 0.9000001) → 1e-7: Σ w − 1, True for nothing, None where w is not known to be a mean."""
    moves: list[Term] = []
    bare = w
    while isinstance(bare.op, RESHAPES):
        moves.append(bare)
        bare = bare.rands[0]
    if type(bare.op) is Constant:
        value = bare.op.value
        for move in moves[::-1]:
            value = move.op.compute(value)
        excess = np.sum(value, axis=axes, keepdims=True) - 1
        return None if np.any(np.abs(excess) > NEAR) else True if not np.any(excess) else constant(excess)
    if type(bare.op) in _LEAVES:
        return subtract(Sum(axes).make_node(w), constant(1.0, w.type.dtype))
    return None


def log_probabilityo(x: Any, y: Any, axes: Any, z: Any) -> Goal:
    """x[i], x → log_softmax(x)[i]: construct a goal stating that z is x less the log-sum-exp of y.

    Of y, x is an entry, or a mean of entries.
    """

    def log_probability_goal(s: State) -> Iterator[State]:
        u, v, w, a = (reify_term(getattr(t, "term", t), s) for t in (x, y, z, axes))
        if is_term(u) and u.ground and is_term(v) and v.ground and isinstance(a, tuple):
            found = log_probability(u, v, a)
            if found is not None:
                yield from match(w, found, s)

    log_probability_goal.finds = unknowns(getattr(z, "term", z))  # pyright: ignore[reportFunctionMemberAccess]
    return log_probability_goal


def centred_exponents(x: Term, axes: tuple[int, ...]) -> Any:
    """0.1·z → 0.1·(z − c), z/t → (z − c)/t, c near max z: exponents k·z of which the product is rounded, or None.

    None for k = 2, 1/4, …, and for z/t if z is no argument: what is computed is rounded before it is divided.
    """
    view = product_of(x)
    shared = {b: e for b, e in view.factors.items() if is_constant_along(b, axes)}
    z = _product({b: e for b, e in view.factors.items() if b not in shared}, x)
    if z is None or not shared or type(chain_of(z)[1].op) not in _LEAVES:
        k = Fraction(view.coefficient)
        if abs(k.numerator).bit_length() <= SHORT and k.denominator & (k.denominator - 1) == 0:
            return None
        z, shared = _product(view.factors, x), {}
    if z is None or (z.op is subtract and z.rands[1].op is coarse):
        return None
    factors = {subtract(z, coarse(Max(axes).make_node(z))): 1, **shared}
    return build_product(ProductView(view.coefficient, factors), x.type.dtype)


def _product(factors: dict[Any, Any], x: Term) -> Term | None:
    """{z: 1} → z: the product of some factors of x, or None where that is of another shape."""
    z = build_product(ProductView(1, factors), x.type.dtype)
    return z if is_term(z) and z.type.shape == x.type.shape else None


def centred_exponentso(x: Any, axes: Any, y: Any) -> Goal:
    """0.1·z → 0.1·(z − c): construct a goal stating that y are exponents x, up to a shift, with the number outside."""

    def centred_exponents_goal(s: State) -> Iterator[State]:
        u, v, a = (reify_term(getattr(t, "term", t), s) for t in (x, y, axes))
        if is_term(u) and u.ground and isinstance(a, tuple):
            found = centred_exponents(u, a)
            if found is not None:
                yield from match(v, found, s)

    centred_exponents_goal.finds = unknowns(getattr(y, "term", y))  # pyright: ignore[reportFunctionMemberAccess]
    return centred_exponents_goal
