"""What the sides of an equation demand of a product or sum, sorted: what is known, heads, variables."""

from __future__ import annotations

from typing import Any

from relgrad.errors import ShapeError
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied
from relgrad.logic.unify import State, is_variable, walked
from relgrad.logic.view import product_of, sum_of
from relgrad.op import is_constant
from relgrad.ops.exponential import exp
from relgrad.term import is_term

Parts = list[tuple[Any, Number]]


def demands_of_product(p: ProductView, s: State) -> tuple[ProductView, Parts, Parts] | None:
    """Return the factors that are known, those that have a head, and variables.

    None where zero is divided by, or arrays do not broadcast together.
    """
    needed, heads, variables = ProductView(p.coefficient, {}), [], []
    for base, k in p.factors.items():
        try:
            base = walked(base, s)
        except ShapeError:
            return None
        if is_variable(base):
            variables.append((base, k))
        elif not is_term(base) or base.ground:
            view = product_of(base)
            if not view.coefficient:
                return None
            if not view.factors and k.denominator != 1:
                view = ProductView(1, {base: 1})  # a root that is not rational is a factor
            needed = multiplied((needed, 1), (view, k))
        elif base.op is not exp and not base.op.as_sum and base not in product_of(base).factors:
            for b, e in product_of(base).factors.items():  # bindings have opened what was one factor
                heads.append((b, e * k))
        else:
            heads.append((base, k))
    return needed, heads, variables


def demands_of_sum(p: SumView, s: State) -> tuple[SumView, Parts, Parts] | None:
    """Return the summands that are known, those that have a head, and variables; None where shapes do not fit."""
    needed, heads, variables = SumView(p.constant, {}), [], []
    for part, k in p.terms.items():
        try:
            part = walked(part, s)
        except ShapeError:
            return None
        if is_variable(part):
            variables.append((part, k))
        elif not is_term(part) or part.ground:
            needed = added((needed, 1), (sum_of(part), k))
        else:
            heads.append((part, k))
    return needed, heads, variables


def is_one_sum(view: ProductView) -> bool:
    """Whether a product is a number times one sum: half of x + y is x/2 + y/2."""
    return (
        all(e == 1 and is_term(b) and b.op.as_sum for b, e in view.factors.items()) and len(view.factors) == 1
    )


def divided(p: ProductView, t: ProductView, s: State) -> ProductView | None:
    """Divide a product by a variable's value of which it has a part only, or None: f(w·x)/x is w·f(w·x)/(w·x)."""
    if len(p.factors) != 1 or p.coefficient != 1:
        return None
    ((variable, k),) = p.factors.items()
    value = walked(variable, s)
    if k >= 0 or not is_variable(variable) or not is_term(value) or not value.ground:
        return None
    view = product_of(value)
    own = {b: e for b, e in view.factors.items() if is_term(b) and not is_constant(b)}
    if len(view.factors) < 2 or not any(e > 0 and t.factors.get(b, 0) == e * k for b, e in own.items()):
        return None
    return multiplied((t, 1), (view, -k))
