"""Scopes: the insides of linear contractions, with the factors outside that may be drawn in.

Inside sum(body) the factors of the body are available, and so are those outside that are constant along the axes,
since sum(b/a) = sum(b)/a. This is what lets exp(x)·sum(g·exp(x)/S²) hold a softmax twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from relgrad.logic.build import build_product, fitted
from relgrad.logic.group import Number, ProductView, multiplied
from relgrad.logic.theory import linear_operands, stands_outside
from relgrad.logic.view import LIMIT, product_of
from relgrad.term import Term, is_term


class Scope(NamedTuple):
    """The inside of nested contractions: its own factors and those it may draw in from outside."""

    own: ProductView
    inherited: dict[Any, Number]
    rebuild: Callable[[ProductView, dict[Any, Number]], ProductView | None]

    @property
    def available(self) -> ProductView:
        return multiplied((self.own, 1), (ProductView(1, self.inherited), 1)) if self.inherited else self.own

    def uses_own(self, rest: ProductView) -> bool:
        """Whether a match that left `rest` took any of the scope's own factors."""
        return not self.inherited or any(rest.factors.get(b, 0) != e for b, e in self.own.factors.items())

    def split(self, rest: ProductView) -> tuple[ProductView, dict[Any, Number]]:
        """Divide what a match left into the scope's own factors and those outside."""
        own = {b: e for b, e in rest.factors.items() if b not in self.inherited}
        return ProductView(rest.coefficient, own), {
            b: e for b, e in rest.factors.items() if b in self.inherited
        }


def scopes(view: ProductView) -> Iterator[Scope]:
    """Yield the insides of the contractions among the factors of a product, itself first."""
    return _scopes(view, {}, 3)


def _scopes(view: ProductView, inherited: dict[Any, Number], depth: int) -> Iterator[Scope]:
    yield Scope(view, inherited, lambda own, outside: multiplied((own, 1), (ProductView(1, outside), 1)))
    if not depth or len(view.factors) > LIMIT:
        return
    for base, e in view.factors.items():
        if not is_term(base) or not base.ground:
            continue
        # What is divided by, or under a root, is by itself: nothing outside can meet what is inside.
        amount = 1 if e == int(e) and e >= 1 else e
        for position, axes in linear_operands(base):
            others = multiplied(
                (view, 1), (ProductView(1, inherited), 1), (ProductView(1, {base: amount}), -1)
            )
            movable = {
                b: k
                for b, k in others.factors.items()
                if amount == 1 and b is not base and stands_outside(b, axes, base.rands[position])
            }
            for inner in _scopes(product_of(base.rands[position]), movable, depth - 1):
                around = _around(inner, base, amount, position, others, movable)
                yield Scope(inner.own, inner.inherited, around)


def _around(
    inner: Scope, base: Term, amount: Number, position: int, others: ProductView, movable: dict[Any, Number]
) -> Callable[[ProductView, dict[Any, Number]], ProductView | None]:
    """Return how a contraction is put back around its rewritten operand."""

    def rebuild(own: ProductView, outside: dict[Any, Number]) -> ProductView | None:
        view = inner.rebuild(own, outside)
        if view is None:
            return None
        # The inner rebuild multiplied in what was not used of the factors drawn in: they go back outside.
        kept = {b: e for b, e in view.factors.items() if b in movable}
        body = multiplied((view, 1), (ProductView(1, kept), -1))
        inside = body.coefficient if amount != int(amount) else 1  # a root of it may be no number
        operand = build_product(ProductView(inside, body.factors), base.type.dtype)
        rands = list(base.rands)
        rands[position] = fitted(operand, rands[position])
        if rands[position] is None:
            return None
        rest = ProductView(others.coefficient, {b: e for b, e in others.factors.items() if b not in movable})
        return multiplied(
            (rest, 1),
            (ProductView(1 if inside != 1 else body.coefficient, kept), amount),
            (ProductView(1, {base.op.make_node(*rands): 1}), amount),
        )

    return rebuild
