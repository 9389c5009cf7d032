"""What a view is made of: which terms the theories of the reals hold of, and the operands that are read first."""

from __future__ import annotations

from typing import Any

from relgrad.logic.group import (
    ProductView,
)
from relgrad.logic.theory import (
    PARITY,
    PRODUCTS,
    SUMS,
    inner_product,
    linear_operands,
)
from relgrad.ops.arithmetic import (
    absolute,
    power,
)
from relgrad.ops.exponential import exp
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, expand
from relgrad.term import Term, is_term
from relgrad.types import ArrayType


def is_real(t: Any) -> bool:
    """Whether the theories of the reals apply: floats, bare numbers and patterns, but not machine integers."""
    return not is_term(t) or not t.ground or (isinstance(t.type, ArrayType) and t.type.differentiable)


def needs(kind: str, t: Term) -> list[tuple[str, Any]]:
    """List the views of operands from which a view is computed."""
    op = t.op
    if not is_real(t):
        return []
    if kind == "sum":
        return [("sum", rand) for rand in t.rands] if op in SUMS else [("product", t)]
    if op in PRODUCTS or type(op) in (BroadcastTo, BroadcastLike, Expand):
        return [("product", rand) for rand in t.rands[: op.arity if op in PRODUCTS else 1]]
    if op is power or op is absolute or op in PARITY:
        return [("product", t.rands[0])]
    if op is exp:
        return [("sum", t.rands[0])]
    if op in SUMS:
        return [("sum", t)]
    if t.ground:
        dot = inner_product(t)
        return [("product", t.rands[i]) for i, _ in linear_operands(t)] if dot is None else [("product", dot)]
    return []


def without_leading_axes(t: Term) -> ProductView | None:
    """Read an inserted axis as the factor without those that lead, which broadcasting supplies."""
    rank = t.type.ndim
    lead = sum(1 for i in range(len(t.op.axes)) if t.op.axes[i] == i - rank)
    return ProductView(1, {expand(t.rands[0], t.op.axes[lead:]): 1}) if lead else None
