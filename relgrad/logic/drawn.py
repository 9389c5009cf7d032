"""Exponentials drawn into sums and scatters in which something is divided by a sum of exponentials.

e^x·(a/S + b) = e^x·a/S + e^x·b, and e^x·put(a/S, i) = put(e^x[i]·a/S, i): inside, the quotient can be formed in range.
"""

from __future__ import annotations

from typing import Any

from relgrad.logic.build import build_product, build_sum, fit
from relgrad.logic.exponential import is_exponential
from relgrad.logic.group import ProductView, added, multiplied
from relgrad.logic.normalize import normalized_product
from relgrad.logic.parts import dtype_of
from relgrad.logic.rewrite import chain_of
from relgrad.logic.view import product_of, sum_of, summand
from relgrad.op import is_constant
from relgrad.ops.exponential import exp
from relgrad.ops.gather import ARRAY, AddAlong, Index, Scatter, TakeAlong
from relgrad.term import Term, is_term


def drawn_product(t: Term) -> Any:
    """Return a product with its exponentials drawn into a factor that divides by a sum of exponentials, or None."""
    view = product_of(t)
    outside = {b: e for b, e in view.factors.items() if _is_drawn(b)}
    if not outside:
        return None
    for base, e in view.factors.items():
        if e != 1 or not is_term(base) or not (is_exponential(base) or type(base.op) in (Scatter, AddAlong)):
            continue
        new = None
        if base.op.as_sum:
            new = _into_sum(base, ProductView(1, outside))
        elif type(base.op) in (Scatter, AddAlong) and _divides(base):
            new = _into_scatter(base, build_product(ProductView(1, outside), base.type.dtype))
        if new is not None:
            left = multiplied(
                (view, 1), (ProductView(1, {base: 1, **outside}), -1), (ProductView(1, {new: 1}), 1)
            )
            return fit(build_product(left, dtype_of(t)), t)
    return None


def _is_drawn(b: Any) -> bool:
    """Whether a factor is an exponential, or entries of one."""
    if not is_term(b) or not b.ground:
        return False
    b = chain_of(b)[1]
    return b.op is exp and not is_constant(b.rands[0])


def _divides(t: Any) -> bool:
    """Whether a sum of exponentials is among what a term divides by, inside a scatter or not."""
    for base, e in product_of(t).factors.items():
        if e < 0 and is_exponential(base) and base.op is not exp:
            return True
        if e == 1 and type(base.op) in (Scatter, AddAlong) and _divides(base.rands[0]):
            return True
    return False


def _into_sum(total: Term, outside: ProductView) -> Any:
    view = sum_of(total)
    if view.constant or not any(_divides(part) for part in view.terms):
        return None
    parts = [
        (summand(multiplied((product_of(part), 1), (outside, 1)), None, dtype_of(total)), k)
        for part, k in view.terms.items()
    ]
    pairs = zip(view.terms, parts, strict=True)
    met = any(_divides(old) and any(map(_is_formed, new.terms)) for old, (new, _) in pairs)
    return build_sum(added(*parts), dtype_of(total)) if met else None


def _is_formed(t: Any) -> bool:
    """Whether an exponential over a sum of exponentials is made one op, now that they stand in one product."""
    scattered = (b for b, e in product_of(t).factors.items() if e == 1 and type(b.op) in (Scatter, AddAlong))
    return any(map(_divides, scattered)) or normalized_product(t) is not None


def _into_scatter(scatter: Term, outside: Any) -> Any:
    if outside.type.shape != scatter.type.shape:
        return None
    values, *rest = scatter.rands
    if type(scatter.op) is AddAlong:
        picked = TakeAlong(scatter.op.axis).make_node(outside, rest[0])
    else:
        arrays = rest[: sum(entry == ARRAY for entry in scatter.op.pattern)]
        picked = Index(scatter.op.pattern).make_node(outside, *arrays)
    inside = multiplied((product_of(values), 1), (product_of(picked), 1))
    return scatter.op.make_node(fit(build_product(inside, values.type.dtype), values), *rest)
