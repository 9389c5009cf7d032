"""What a view is made of: which terms the theories of the reals hold of, and the operands that are read first."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.logic.build import build_product
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.group import ProductView, number_of, renamed
from relgrad.logic.theory import (
    inner_product,
    linear_operands,
)
from relgrad.ops.arithmetic import absolute, negative, power, reciprocal
from relgrad.ops.casting import Cast
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, expand
from relgrad.term import Term, is_term
from relgrad.types import ArrayType


def is_real(t: Any) -> bool:
    """Whether the theories of the reals apply: floats, bare numbers and patterns, but not machine integers."""
    return not is_term(t) or not t.ground or (isinstance(t.type, ArrayType) and t.type.differentiable)


def is_widening(t: Term) -> bool:
    """Whether a term is made of floats of a smaller precision, as they are."""
    if type(t.op) is not Cast or not t.ground:
        return False
    before = t.rands[0].type.dtype
    return before.kind == t.type.dtype.kind == "f" and np.can_cast(before, t.type.dtype)


def needs(kind: str, t: Term) -> list[tuple[str, Any]]:
    """List the views of operands from which a view is computed."""
    op = t.op
    if not is_real(t):
        return []
    if kind == "sum":
        return [("sum", rand) for rand in t.rands] if op.as_sum else [("product", t)]
    if op.as_product is not None or type(op) in (BroadcastTo, BroadcastLike, Expand) or is_widening(t):
        return [("product", rand) for rand in t.rands[: op.arity if op.as_product is not None else 1]]
    if op is power or op is absolute or op.laws.parity:
        return [("product", t.rands[0])]
    if op is exp:
        return [("sum", t.rands[0])]
    if op.as_sum:
        return [("sum", t)]
    if t.ground and op.elementwise and len(t.rands) == 1:
        return [("product", t.rands[0])]
    if t.ground:
        dot = inner_product(t)
        return [("product", t.rands[i]) for i, _ in linear_operands(t)] if dot is None else [("product", dot)]
    return []


def without_leading_axes(t: Term) -> ProductView | None:
    """Read an inserted axis as the factor without those that lead, which broadcasting supplies."""
    rank = t.type.ndim
    lead = sum(1 for i in range(len(t.op.axes)) if t.op.axes[i] == i - rank)
    return ProductView(1, {expand(t.rands[0], t.op.axes[lead:]): 1}) if lead else None


def inverts(t: Term, divisors: list[ProductView]) -> bool:
    """Whether an inverse is divided by, or a quotient inverted: x/(1/y) is x·y, and 1/(x/y) is y/x."""
    whole = all(number_of(rand) is not None for rand in t.rands[:-1]) or t.op is power
    return any(
        (any if whole else all)(e < 0 and not (is_term(b) and b.op is exp) for b, e in view.factors.items())
        for view in divisors
        if view.factors
    )


def holds_inverse(t: Term) -> bool:
    """Whether a factor is written as an inverse, which would be rounded before it is multiplied: x·y⁻¹ is x/y."""
    return any(
        is_term(rand) and (rand.op is reciprocal or (rand.op is power and number_of(rand.rands[1]) == -1))
        for rand in t.rands
    )


def turned(t: Term, view: ProductView) -> ProductView | None:
    """Read an odd or even function of -x as that of x, with its sign."""
    (x,) = t.rands
    c, factors = view[:2]
    if not t.ground or c >= 0:
        return None
    x = x.rands[0] if x.op is negative else build_product(ProductView(-c, factors), x.type.dtype)
    return ProductView(t.op.laws.parity, {t.op.make_node(x): 1})


def widened(t: Term, view: ProductView) -> ProductView:
    """Read a product in a larger precision as that of its factors, each in the larger one before they meet."""
    cast = t.op.make_node

    def wide(b: Term) -> Term:
        inside = b.op is exp or b.op.as_sum or type(b.op) is Sum
        return b.op.make_node(*map(cast, b.rands)) if inside else cast(b)

    return view._replace(factors=renamed(view.factors, wide))


def is_repeated(t: Term, view: ProductView) -> bool:
    """Whether what is summed over an axis are equal entries, all factors being broadcast along it."""
    if type(t.op) is not Sum or not t.ground:
        return False
    (rand,) = t.rands
    return any(
        rand.type.extent(a) != 1 and all(is_constant_along(b, (a,)) for b in view.factors) for a in t.op.axes
    )


def in_floats(part: Any, whole: Term) -> Any:
    """Return what is added to floats as floats, too: a truth value by itself has no sign."""
    if not (is_term(part) and part.ground and whole.ground) or part.type.dtype.kind == "f":
        return part
    return Cast(whole.type.dtype).make_node(part)
