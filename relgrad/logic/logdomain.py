"""The log domain: positive terms as weight · e^exponent, so that neither overflow nor underflow can reach them.

The reading of a term follows from those of its parts, one clause for each op that has one:

    exp(x) = e^x                    f(x) = e^g(x)  where an op declares its logarithm
    x·y, x/y, xᵏ, √x                weights multiply, exponents add
    Σ x, x + y, x @ y               one sum of weighted exponentials, whose logarithm is a log-sum-exp
    Π x                             Π weight · e^Σ exponent
    x[i], xᵀ, where(c, x, y), …     entry by entry

Weights stay linear: log w would add a rounding error of the size of the exponent. A sum is read only where no summand
can be negative. Readings are computed bottom-up, once a term.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, build_sum
from relgrad.logic.group import ProductView, SumView, added, multiplied
from relgrad.logic.joined import Joined, Piece, join
from relgrad.logic.match import match
from relgrad.logic.ranges import Goal, is_constant_along
from relgrad.logic.theory import SUMS
from relgrad.logic.unify import State, reify_term, unknowns
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Constant, constant
from relgrad.ops.arithmetic import multiply, square
from relgrad.ops.exponential import exp, log
from relgrad.ops.extremes import Max, Min
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.scan import CumSum
from relgrad.ops.selection import where
from relgrad.ops.softmax import Gibbs, LogSumExp, Softmax
from relgrad.ops.structure import broadcast_to, expand, squeeze
from relgrad.term import Term, is_term
from relgrad.types import ArrayType, broadcast_shapes

MOST = 2048
"""Sums of more different exponentials than this are not joined."""
LARGEST = 1 << 21
"""A matrix product is formed entry by entry in the log domain where it has at most so many products of entries."""


EXTREME = 1e-30
"""Constant weights are linear, unless they or their reciprocals are smaller than this."""


class Reading(NamedTuple):
    """A term as weight · e^exponent; a weight of None is one."""

    weight: Any
    exponent: Any


def is_exponential(t: Any) -> bool:
    """Whether there is an exponential in a term where the log domain can reach it."""
    if not is_term(t) or not t.ground:
        return False
    stack = [t]
    while stack:
        node = stack[-1]
        if "exponential" in node.cache:
            stack.pop()
            continue
        if not (isinstance(node.type, ArrayType) and node.type.differentiable):
            node.cache["exponential"] = False
            continue
        known = node.op is exp or _known(node) is not None
        # A long sum is looked through step by step, so that its beginnings cost nothing.
        parts = [] if known else list(node.rands if node.op in SUMS else _parts(node))
        missing = [p for p in parts if "exponential" not in p.cache]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        node.cache["exponential"] = known or any(p.cache["exponential"] for p in parts)
    return t.cache["exponential"]


def _parts(t: Term) -> Iterator[Term]:
    """Yield the terms of which the log domain makes its reading of a term."""
    factors = product_of(t).factors
    if t not in factors:
        yield from (b for b in factors if is_term(b))
    elif t.op in SUMS:
        yield from (b for b in _summands(t).terms if is_term(b) and b is not t)
    elif type(t.op) in (MatMul, CumSum):
        expanded = as_sum(t)
        if expanded is not None:
            yield expanded
    elif type(t.op) in (Sum, Prod, Max, Min, Norm) or t.op.laws.selects:
        yield t.rands[0]
    elif type(t.op) is Concatenate:
        yield from t.rands
    elif t.op is where:
        yield from t.rands[1:]


def _summands(t: Term) -> SumView:
    """Return all summands of a sum, however many there are."""
    parts: list[tuple[SumView, Any]] = []
    stack: list[tuple[Any, Any]] = [(t, 1)]
    while stack:
        node, k = stack.pop()
        if node.op in SUMS:
            stack.extend((rand, k * c) for rand, c in list(zip(node.rands, SUMS[node.op], strict=True))[::-1])
        else:
            parts.append((sum_of(node), k))
    return added(*parts)


def as_sum(t: Term) -> Term | None:
    """Return a product of matrices, or a cumulative sum, as a sum over an axis, where it has not too many terms."""
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
    if None in shape or np.prod(shape) > LARGEST:
        return None
    return squeeze(Sum((axis,)).make_node(multiply(a, b)), (axis,))


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
        missing = [p for p in _parts(node) if is_exponential(p) and "log domain" not in p.cache]
        if missing and node.op is not exp and _known(node) is None:
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
    if t in view.factors and (t.op in SUMS or type(t.op) is Sum):
        # A sum may have either sign here: its logarithm is NaN where it is negative, as that of the sum is.
        joined = joined_sum(t)
        return None if joined is None else joined.log()
    weight, exponents = _product(view)
    if not exponents.terms and not exponents.constant:
        return None
    exponent = build_sum(exponents, t.type.dtype)
    if not weight.factors and weight.coefficient == 1:
        return exponent
    return _plus(exponent, log(build_product(weight, t.type.dtype)))


def _known(t: Term) -> Any:
    """Return the op's own answer. The quotient of two negative numbers has a logarithm, and they have none."""
    if type(t.op) in (Softmax, Gibbs) and not range_of(t).nonnegative:
        return None
    return t.op.in_log_domain(t)


def without_exponentials(*terms: Any) -> Goal:
    """Construct a goal stating that no exponential is in terms where the log domain can reach it."""

    def plain_goal(s: State) -> Iterator[State]:
        if not any(is_exponential(reify_term(getattr(t, "term", t), s)) for t in terms):
            yield s

    return plain_goal


def logarithmo(x: Any, y: Any) -> Goal:
    """Construct a goal stating that y is the logarithm of x, formed in the log domain.

    Where only y is known, x is e^y.
    """

    def log_domain_goal(s: State) -> Iterator[State]:
        u, v = (reify_term(getattr(t, "term", t), s) for t in (x, y))
        if is_term(u) and u.ground:
            found = logarithm(u)
            if found is not None:
                yield from match(v, found, s)
        elif is_term(v) and v.ground:
            yield from match(u, exp(v), s)

    log_domain_goal.finds = unknowns(getattr(y, "term", y))  # pyright: ignore[reportFunctionMemberAccess]
    return log_domain_goal


def _plus(x: Any, y: Any) -> Any:
    return build_sum(added((SumView(0, {x: 1}), 1), (SumView(0, {y: 1}), 1)), x.type.dtype)


def _read(t: Term) -> Reading | None:
    if t.op is exp:
        return Reading(None, t.rands[0])
    known = _known(t)
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
        return reading(next(_parts(t)))
    if t.op in SUMS or type(t.op) is Sum:
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
    return Reading(None if u is v else where(c, u, v), where(c, x, y))


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
            weights.append((product_of(found.weight), e))
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
        pieces = list(_pieces(product_of(t) if t.op not in SUMS else ProductView(1, {t: 1}), t, (), 4))
        usable = 0 < len(pieces) <= MOST and any(p.exponent is not None for p in pieces)
        t.cache["joined"] = join(pieces, t) if usable else None
    return t.cache["joined"]


def _pieces(view: ProductView, like: Term, axes: tuple[int, ...], depth: int) -> Iterator[Piece]:
    """Yield the summands of a product in which one factor is a sum, over axes: those inside, each with all the rest."""
    opened = next((b for b, e in view.factors.items() if e == 1 and depth and _opens(b)), None)
    if opened is None:
        yield _piece(view, like, axes)
        return
    others = multiplied((view, 1), (ProductView(1, {opened: 1}), -1))
    if opened.op in SUMS:
        total = _summands(opened)
        parts = [(product_of(s), k) for s, k in total.terms.items()]
        parts += [(ProductView(1, {}), total.constant)] if total.constant else []
        for part, k in parts:
            inner = multiplied((others, 1), (part, 1), (ProductView(k, {}), 1))
            yield from _pieces(inner, like, axes, depth - 1)
    elif all(is_constant_along(b, opened.op.axes) for b in others.factors):
        inner = multiplied((others, 1), (product_of(opened.rands[0]), 1))
        below = tuple(sorted({*axes, *opened.op.axes}))
        yield from _pieces(inner, opened.rands[0], below, depth - 1)
    else:
        yield _piece(view, like, axes)


def _piece(view: ProductView, like: Term, axes: tuple[int, ...]) -> Piece:
    dtype = like.type.dtype
    weight, exponents = _product(view)
    some = exponents.terms or exponents.constant
    exponent = build_sum(exponents, dtype) if some else None
    piece = Piece(view, _plain(weight), exponent, axes)
    if any(_extent(piece.shape, a) != like.type.extent(a) for a in axes):
        # What does not vary along an axis is summed as often as the axis is long.
        ones = ProductView(1, {broadcast_to(constant(1.0, dtype), like.type.shape): 1})
        piece = Piece(view, multiplied((weight, 1), (ones, 1)), exponent, axes)
    return piece


def _extent(shape: Any, axis: int) -> Any:
    return shape[axis] if -axis <= len(shape) else 1


def _opens(base: Any) -> bool:
    return is_exponential(base) and (base.op in SUMS or type(base.op) is Sum)


def _plain(weight: ProductView) -> ProductView:
    """Read weights that are all the same number as that number."""
    parts: list[tuple[ProductView, Any]] = [(ProductView(weight.coefficient, {}), 1)]
    for base, e in weight.factors.items():
        one = type(base.op) is Constant and base.op.value.size > 0 and np.all(base.op.value == 1)
        parts.append((ProductView(1, {} if one else {base: 1}), e))
    return multiplied(*parts)
