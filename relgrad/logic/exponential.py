"""Which terms hold exponentials that the log domain can take out, and the parts in which it looks for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relgrad.bounds import MODERATE, is_moderate, range_of
from relgrad.logic.group import SumView, added
from relgrad.logic.theory import SUMS
from relgrad.logic.view import product_of, sum_of
from relgrad.op import constant
from relgrad.ops.arithmetic import absolute, multiply
from relgrad.ops.exponential import exp
from relgrad.ops.extremes import Max, Min
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.scan import CumSum
from relgrad.ops.selection import where
from relgrad.ops.softmax import Gibbs, Softmax
from relgrad.ops.structure import expand, squeeze
from relgrad.term import Term, is_term, kept
from relgrad.types import ArrayType, broadcast_shapes

LARGEST = 1 << 21
"""A matrix product is formed entry by entry in the log domain where it has at most so many products of entries."""


def is_exponential(t: Any) -> bool:
    """Whether there is an exponential in a term where the log domain can reach it, and has something to gain."""
    if not is_term(t) or not t.ground:
        return False
    stack = [t]
    while stack:
        node = stack[-1]
        if "exponential" in node.cache:
            stack.pop()
            continue
        if not (isinstance(node.type, ArrayType) and node.type.differentiable and mentions_exponential(node)):
            node.cache["exponential"] = False
            continue
        known = node.op is exp or stated_logarithm(node) is not None
        # A long sum is looked through step by step, so that its beginnings cost nothing.
        parts = [] if known else list(node.rands if node.op in SUMS else parts_of(node))
        missing = [p for p in parts if "exponential" not in p.cache]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        known = known or any(p.cache["exponential"] for p in parts)
        node.cache["overflows"] = known and _overflows(node, parts)
        node.cache["exponential"] = known and not _is_tame(node)
    return t.cache["exponential"]


def may_overflow(t: Term) -> bool:
    """Whether an exponential in a term that holds some may be large, where what else is in the term is not."""
    return t.cache["overflows"]


def _is_tame(t: Term) -> bool:
    """Whether nothing of a term is lost in floats: it stays away from zero, and no exponential in it is large.

    1 + x²/(1 + e⁻ʸ)
    """
    return is_moderate(t) or (range_of(t).low >= 1 / MODERATE and not t.cache["overflows"])


def _overflows(t: Term, parts: Sequence[Term]) -> bool:
    if range_of(t).high <= MODERATE:
        return False
    if not parts:
        return True
    factors = product_of(t).factors
    if t.op in SUMS or t in factors:
        return any(p.cache.get("overflows") for p in parts)
    return any(
        b.cache.get("overflows") if e > 0 else b.cache["exponential"] and range_of(b).low < 1 / MODERATE
        for b, e in factors.items()
        if is_term(b)
    )


def mentions_exponential(t: Term) -> bool:
    """Whether there is an exponential anywhere below a term: where there is none, no reading of it has one."""
    return kept(t, "exponential below", _mentions)


def _mentions(t: Term) -> bool:
    known = t.op is exp or stated_logarithm(t) is not None
    return known or any(x.cache["exponential below"] for x in t.rands)


def parts_of(t: Term) -> Iterator[Term]:
    """Yield the terms of which the log domain makes its reading of a term."""
    factors = product_of(t).factors
    if t not in factors:
        yield from (b for b in factors if is_term(b))
    elif t.op in SUMS:
        yield from (b for b in summands_of(t).terms if is_term(b) and b is not t)
    elif type(t.op) in (MatMul, CumSum):
        expanded = as_sum(t)
        if expanded is not None:
            yield expanded
    elif type(t.op) in (Sum, Prod, Max, Min, Norm) or t.op is absolute or t.op.laws.selects:
        yield t.rands[0]
    elif type(t.op) is Concatenate:
        yield from t.rands
    elif t.op is where:
        yield from t.rands[1:]


def summands_of(t: Term) -> SumView:
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
    if None in shape or math.prod(n or 0 for n in shape) > LARGEST:
        return None
    return squeeze(Sum((axis,)).make_node(multiply(a, b)), (axis,))


def stated_logarithm(t: Term) -> Any:
    """Return the op's own answer. The quotient of two negative numbers has a logarithm, and they have none."""
    if type(t.op) in (Softmax, Gibbs) and not range_of(t).nonnegative:
        return None
    return t.op.in_log_domain(t)
