"""Products with transposed factors as transposed products: (aᵀ/b)ᵀ, where b has to be turned as well, is a/bᵀ."""

from __future__ import annotations

from typing import Any

from relgrad.logic.build import build_product
from relgrad.logic.group import ProductView
from relgrad.logic.parts import dtype_of
from relgrad.logic.view import product_of
from relgrad.op import Op, is_constant
from relgrad.ops.shaping import Transpose, inverse_order
from relgrad.ops.structure import expand
from relgrad.term import Term, is_term


def turned_product(t: Term) -> tuple[Op, Term] | None:
    """Return a permutation of axes, and the product of which t is the transpose; None where none of it is simpler."""
    view = product_of(t)
    order = next((b.op.order for b in view.factors if is_term(b) and type(b.op) is Transpose), None)
    if order is None or len(view.factors) < 2 or t.type.ndim != len(order):
        return None
    back = Transpose(inverse_order(order))
    factors: dict[Any, Any] = {}
    for base, e in view.factors.items():
        inner = _turned(base, back, len(order))
        if inner is None:
            return None
        factors[inner] = factors.get(inner, 0) + e
    product = build_product(ProductView(view.coefficient, factors), dtype_of(t))
    return Transpose(order), product


def _turned(base: Any, back: Transpose, rank: int) -> Any:
    """Return a factor with its axes turned back, if that needs no transpose of its own."""
    if not is_term(base) or all(n == 1 for n in base.type.shape) or is_constant(base):
        return base if is_term(base) and base.type.size == 1 else None
    lead = rank - base.type.ndim
    turned = back.make_node(expand(base, tuple(range(-rank, lead - rank))) if lead else base)
    return None if type(turned.op) is Transpose else turned
