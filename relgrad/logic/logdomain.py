"""The log domain: positive terms as weight · e^exponent, so that neither overflow nor underflow can reach them.

The reading of a term follows from those of its parts, one clause for each op that has one:

    exp(x) = e^x                    f(x) = e^g(x)  where an op declares its logarithm
    x·y, x/y, xᵏ, √x                weights multiply, exponents add
    Σ x, x + y, x @ y               one sum of weighted exponentials, whose logarithm is a log-sum-exp
    Π x                             Π weight · e^Σ exponent
    |x|                             |weight| · e^exponent
    x[i], xᵀ, where(c, x, y), …     entry by entry

Weights stay linear: log w would add a rounding error of the size of the exponent. A sum is read only where no summand
can be negative. Readings are computed bottom-up, once a term.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, build_sum
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.exponential import is_exponential, parts_of, stated_logarithm, summands_of
from relgrad.logic.group import ProductView, SumView, added, multiplied
from relgrad.logic.joined import Joined, Piece, join
from relgrad.logic.rewrite import raised
from relgrad.logic.space import Extents, nested, product, shape_of, space_of
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Constant, constant
from relgrad.ops.arithmetic import absolute, float_power, multiply, power, square
from relgrad.ops.exponential import exp, log
from relgrad.ops.extremes import Max, Min
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.scan import CumSum
from relgrad.ops.selection import where
from relgrad.ops.softmax import LogSumExp
from relgrad.ops.structure import broadcast_to
from relgrad.term import Term, is_term
from relgrad.types import Extent

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
    """Return how the log domain reads a term, or None: no exponential is in it, or its sign is unknown."""
    if not is_exponential(t):
        return None
    stack = [t]
    while stack:
        node = stack[-1]
        if "log domain" in node.cache:
            stack.pop()
            continue
        missing = [p for p in parts_of(node) if is_exponential(p) and "log domain" not in p.cache]
        if missing and node.op is not exp and stated_logarithm(node) is None:
            stack.extend(missing)
            continue
        stack.pop()
        node.cache["log domain"] = _read(node)
    return t.cache["log domain"]


def logarithm(t: Term) -> Any:
    """Return the logarithm of a term, formed in the log domain, or None where no exponential is in it."""
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
    """Read an op that treats the weights of its operands, and the exponents, entry by entry."""
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
    if type(t.op) is Prod:
        weight = None if w is None else t.op.make_node(broadcast_to(w, t.rands[0].type.shape))
        return Reading(weight, Sum(t.op.axes).make_node(_like(x, t.rands[0])))
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
    """Return weight and exponent of a term as terms; one and zero where there is none."""
    found = reading(t) if is_exponential(t) else None
    if found is None:
        return t, constant(0.0, t.type.dtype)
    return constant(1.0, t.type.dtype) if found.weight is None else found.weight, found.exponent


def _branches(t: Term) -> Reading:
    c, *branches = t.rands
    (u, x), (v, y) = [_split(b) for b in branches]
    if _is_zero(branches[1]):
        return Reading(where(c, u, v), x)  # where the weight is zero, no exponent is looked at
    if _is_zero(branches[0]):
        return Reading(where(c, u, v), y)
    one = u is v is constant(1.0, t.type.dtype)
    return Reading(None if one else u if u is v else where(c, u, v), where(c, x, y))


def _is_zero(t: Any) -> bool:
    return type(t.op) is Constant and not np.any(t.op.value)


def _row(t: Term) -> Reading | None:
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
    """Return the weight and the exponent of a product."""
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
        exponents.append((sum_of(found.exponent), e))
    return multiplied(*weights), added(*exponents)


def _is_extreme(base: Any) -> bool:
    """Whether a weight is so far from one that a product of a few would leave the floats."""
    if (
        not (is_term(base) and type(base.op) is Constant and base.op.value.size)
        or base.type.dtype.kind != "f"
    ):
        return False
    low, high = base.op.value.min(), base.op.value.max()
    return bool(low > 0 and np.isfinite(high) and (low < EXTREME or high > 1 / EXTREME))


def joined_sum(t: Term) -> Joined | None:
    """Return a sum, or a contraction, as one sum of weighted exponentials; None where there are none in it."""
    if "joined" not in t.cache:
        pieces = _few_pieces(t)
        usable = any(p.exponent is not None for p in pieces)
        usable = usable and all(p.space.multiplicity is not None for p in pieces)
        usable = usable and not any(_grows(b) for p in pieces for b in p.weight.factors)
        t.cache["joined"] = join(pieces, t) if usable else None
    return t.cache["joined"]


def _few_pieces(t: Term) -> list[Piece]:
    """Return the summands of a term; none where multiplying them out makes many of few: (a + b)·(c + d)·(e + f)·…"""
    pieces: list[Piece] = []
    opened: dict[Term, int] = {}
    for piece in _pieces(product_of(t), t.type.dtype, {}, 1, 4, opened):
        pieces.append(piece)
        if len(pieces) > min(MOST, MULTIPLIED + 2 * sum(opened.values())):
            return []
    return pieces


def _grows(weight: Any) -> bool:
    """Whether a weight may grow like an exponential: xⁿ beside 2ⁿ, or Σ(eˣ - c)² that is scaled by e⁻²ᵐ elsewhere."""
    if not is_term(weight):
        return False
    if weight.op in (power, float_power) and type(weight.rands[1].op) is not Constant:
        known = range_of(weight.rands[0])
        return known.low < -1 or known.high > 1
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


def _pieces(
    view: ProductView, dtype: Any, summed: Extents, times: Extent, depth: int, seen: dict[Term, int]
) -> Iterator[Piece]:
    """Yield the summands of a product in which one factor is a sum: those inside, each with all the rest.

    The product stands under a sum over some axes, which counts it so many times. Sums that are opened are `seen`,
    with the number of their summands.
    """
    opened = next((b for b, e in view.factors.items() if e == 1 and depth and _opens(b)), None)
    if opened is None:
        yield _piece(view, dtype, summed, times)
        return
    others = multiplied((view, 1), (ProductView(1, {opened: 1}), -1))
    if opened.op.as_sum:
        total = summands_of(opened)
        parts = [(product_of(s), k) for s, k in total.terms.items()]
        parts += [(ProductView(1, {}), total.constant)] if total.constant else []
        seen[opened] = len(parts)
        for part, k in parts:
            inner = multiplied((others, 1), (part, 1), (ProductView(k, {}), 1))
            yield from _pieces(inner, dtype, summed, times, depth - 1, seen)
    elif all(is_constant_along(b, opened.op.axes) for b in others.factors):
        body = opened.rands[0]
        below, met = nested(summed, opened.op.axes, body.type.shape)
        inner = multiplied((others, 1), (product_of(body), 1))
        yield from _pieces(inner, dtype, below, product([times, met]), depth - 1, seen)
    else:
        yield _piece(view, dtype, summed, times)


def _piece(view: ProductView, dtype: Any, summed: Extents, times: Extent) -> Piece:
    weight, exponents = _product(view)
    some = exponents.terms or exponents.constant
    exponent = build_sum(exponents, dtype) if some else None
    weight = _plain(weight)
    shape = shape_of([*weight.factors, *([] if exponent is None else [exponent])])
    return Piece(view, weight, exponent, space_of(summed, shape or (), times))


def _opens(base: Any) -> bool:
    return is_exponential(base) and (base.op.as_sum or type(base.op) is Sum)


def _plain(weight: ProductView) -> ProductView:
    """Read weights that are all the same number as that number."""
    parts: list[tuple[ProductView, Any]] = [(ProductView(weight.coefficient, {}), 1)]
    for base, e in weight.factors.items():
        one = type(base.op) is Constant and base.op.value.size > 0 and np.all(base.op.value == 1)
        parts.append((ProductView(1, {} if one else {base: 1}), e))
    return multiplied(*parts)


def _plus(x: Any, y: Any) -> Any:
    return build_sum(added((SumView(0, {x: 1}), 1), (SumView(0, {y: 1}), 1)), x.type.dtype)
