"""Quotients of exponentials by sums of them, in which neither needs to be in range.

e^x / (e^x + e^y + …) is a share of the sum: a part of a softmax. e^a over a sum that does not hold e^a is a quotient
that is formed with both shifted by the largest exponent. What stands in place of the sum never overflows, and its
derivatives are those of softmaxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from relgrad.logic.build import build_product, build_sum, fit
from relgrad.logic.group import Number, ProductView, added, multiplied, whole
from relgrad.logic.joined import Joined, Piece
from relgrad.logic.logdomain import is_exponential, joined_sum, reading
from relgrad.logic.rewrite import scopes
from relgrad.logic.share import dtype_of, without
from relgrad.logic.theory import SUMS
from relgrad.logic.view import product_of, sum_of, summand
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.term import Term, is_term

Taken = tuple[ProductView, Any]
"""What is left of a product, and the term that takes the place of what was taken."""
Denominator = tuple[Term, Number, Joined]
"""A sum of exponentials, the power to which it is divided by, and how it is read."""


def normalized_product(t: Term) -> Any:
    """Return a product with an exponential over a sum of exponentials made one, or None where there is none."""
    if not is_exponential(t):
        return None
    found = [(scope, below) for scope in scopes(product_of(t)) if (below := _denominators(scope.available))]
    for take in (_share, _distributed, _quotient, _constant_share):
        for scope, denominators in found:
            for denominator in denominators:
                for left, new in take(scope.available, denominator):
                    if scope.uses_own(left):
                        own, inherited = scope.split(left)
                        view = scope.rebuild(multiplied((own, 1), (product_of(new), 1)), inherited)
                        if view is not None:
                            return fit(build_product(view, dtype_of(t)), t)
    return None


def _denominators(view: ProductView) -> list[Denominator]:
    found = []
    for base, e in view.factors.items():
        if e < 0 and _is_sum(base) and is_exponential(base):
            joined = joined_sum(base)
            if joined is not None:
                found.append((base, -e, joined))
    return found


def _is_sum(base: Any) -> bool:
    return is_term(base) and (base.op in SUMS or type(base.op) is Sum)


def _share(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """Yield a summand over the sum that it is part of."""
    yield from _parts(available, denominator, lambda piece: piece.exponent is not None)


def _constant_share(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """Yield a summand without exponential, such as 1 in 1/(1 + e^x), over the sum that it is part of."""
    yield from _parts(available, denominator, lambda piece: piece.exponent is None and not piece.axes)


def _parts(
    available: ProductView, denominator: Denominator, which: Callable[[Piece], bool]
) -> Iterator[Taken]:
    base, k, joined = denominator
    if k < 1:
        return
    once = multiplied((available, 1), (ProductView(1, {base: 1}), 1))
    order = sorted(range(len(joined.pieces)), key=lambda i: -len(joined.pieces[i].factors.factors))
    for i in order:
        piece = joined.pieces[i]
        if which(piece):
            left = without(once, piece.factors._replace(coefficient=1))
            if left is not None:
                c = ProductView(piece.factors.coefficient, {})
                yield multiplied((left, 1), (c, -1)), joined.share(i)


def _distributed(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """Yield a sum of exponentials over another, term by term."""
    base, k, _ = denominator
    for total, e in available.factors.items():
        if e == 1 and k >= 1 and is_term(total) and total.op in SUMS and is_exponential(total):
            below = ProductView(1, {base: -1})
            view = sum_of(total)
            dtype = dtype_of(total)
            parts = [
                (summand(multiplied((product_of(part), 1), (below, 1)), None, dtype), c)
                for part, c in view.terms.items()
            ]
            if view.constant:
                parts.append((summand(below, None, dtype), view.constant))
            left = multiplied((available, 1), (ProductView(1, {total: 1, base: -1}), -1))
            yield left, build_sum(added(*parts), dtype)


def _quotient(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """Yield all exponentials over a sum that does not hold them."""
    base, k, joined = denominator
    taken = {b: e for b, e in available.factors.items() if is_term(b) and b.op is exp}
    outside = {
        b: e for b, e in available.factors.items() if b is not base and _is_sum(b) and reading(b) is not None
    }
    if not taken and not any(e > 0 for e in outside.values()):
        return
    exponents = [(sum_of(b.rands[0]), e) for b, e in taken.items()]
    exponents += [(sum_of(reading(b).exponent), e) for b, e in outside.items()]
    total = added(*[(view, whole(Fraction(e) / k)) for view, e in exponents])
    left = multiplied((available, 1), (ProductView(1, {**taken, **outside, base: -k}), -1))
    yield left, joined.quotient(build_sum(total, base.type.dtype), k)
