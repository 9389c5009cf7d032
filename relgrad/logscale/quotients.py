"""Quotients of exponentials by sums of them, in which neither needs to be in range.

    e^x / (e^x + e^y + …)       a share of the sum: a part of a softmax
    e^a / Σ e^x                 both shifted by the largest exponent

What stands in place of the sum never overflows, and its derivatives are those of softmaxes.

Exponents are those that are written. A logarithm that would be formed of a sum, as those of u and v in

    u = a/(K @ v),  v = b/(Kᵀ @ u),  K = e^x

has an error of its own size, which the quotient as written has not: extended range keeps that one in range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, build_sum, fitted
from relgrad.logic.conditions import Goal, whole_of
from relgrad.logic.goals import computedo
from relgrad.logic.group import Number, ProductView, added, multiplied, quotient, whole
from relgrad.logic.parts import dtype_of, without
from relgrad.logic.rewrite import raised, scopes
from relgrad.logic.space import SINGLE
from relgrad.logic.view import exponent_sum, product_of, splits
from relgrad.logscale.domain import (
    Joined,
    is_exponential,
    is_formed,
    joined_sum,
    may_overflow,
    mentions_exponential,
    reading,
)
from relgrad.op import is_constant
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.softmax import Gibbs
from relgrad.term import Term, is_term

Taken = tuple[ProductView, Any]
"""The rest of a product, and the term that takes the place of the factors that were taken."""
Denominator = tuple[Term, Number, Joined]
"""A sum of exponentials, the power to which it is divided by, and how it is read."""


def normalized_product(t: Term) -> Any:
    """g·e^x/Σ e^x → g·softmax(x);    e^a/Σ e^x → gibbs(a, x): exponentials over a sum of them as one op; or None."""
    if not is_exponential(t):
        return None
    found = [(scope, below) for scope in scopes(product_of(t)) if (below := _denominators(scope.available))]
    for take in (_share, _balanced, _quotient):
        for scope, denominators in found:
            for denominator in denominators:
                for left, new in take(scope.available, denominator):
                    if scope.is_met(left):
                        own, inherited = scope.split(left)
                        view = scope.rebuild(multiplied((own, 1), (product_of(new), 1)), inherited)
                        result = None if view is None else fitted(build_product(view, dtype_of(t)), t)
                        if result is not None and result is not t:
                            return result
    return None


def normalizedo(x: Any, y: Any) -> Goal:
    """Construct a goal stating that y is x, with an exponential over a sum of exponentials made one op."""
    return computedo(normalized_product, x, y, _may_be_normalized)


def _may_be_normalized(t: Term) -> bool:
    """Whether a sum of exponentials is divided by: a/(1 + e^x): yes; a/b: no."""
    if not mentions_exponential(t):
        return False
    return any(
        _is_divisor(b, e) for scope in scopes(product_of(t)) for b, e in scope.available.factors.items()
    )


def _is_divisor(b: Any, e: Number) -> bool:
    """Whether a power of a factor divides by a sum of exponentials: (1 + e^x)⁻²: yes; e⁻ˣ, 1 + e^x: no."""
    return e < 0 and is_exponential(b) and b.op is not exp


def _denominators(view: ProductView) -> list[Denominator]:
    """g/S² → (S, 2, Σ e^x): the sums of exponentials in a product, the powers they divide to, and their readings."""
    found = []
    for base, e in view.factors.items():
        if _is_divisor(base, e) and _is_sum(base):
            joined = joined_sum(base)
            if joined is not None and joined.is_written and not _stays(joined):
                found.append((base, -e, joined))
    return found


def _stays(joined: Joined) -> bool:
    """Σ σ(z) + c → True, 1 + Σ e^z → False: whether an array of exponentials that are never large stands beside
    a number, which keeps floats in range.
    """
    exponents = [p.exponent for p in joined.pieces if p.exponent is not None]
    bounded = len(exponents) < len(joined.pieces) and all(range_of(x).high <= 0 for x in exponents)
    return bounded and any(p.space != SINGLE for p in joined.pieces)


def _is_sum(base: Any) -> bool:
    return is_term(base) and (base.op.as_sum or type(base.op) is Sum)


def _share(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """a·e^x/Σ e^x → a, softmax(x): yields a product without an exponential and the sum that it is part of, and its
    share in their place.
    """
    base, k, joined = denominator
    if k < 1:
        return
    once = multiplied((available, 1), (ProductView(1, {base: 1}), 1))
    order = sorted(range(len(joined.pieces)), key=lambda i: -len(joined.pieces[i].factors.factors))
    for i in order:
        piece = joined.pieces[i]
        if piece.exponent is not None:
            left = without(once, piece.factors._replace(coefficient=1))
            if left is not None:
                c = ProductView(piece.factors.coefficient, {})
                yield multiplied((left, 1), (c, -1)), joined.share(i)


def _balanced(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """e^(x/2)/√(e^x + e^y) → (e^x/(e^x + e^y))^½: a summand's exponential over the sum, once, or to a common fraction.

    The rest of the one or the other is left so: in derivatives it is a factor of what is outside.
    """
    base, k, joined = denominator
    for piece in joined.pieces:
        if piece.exponent is None:
            continue
        if q := _part_of(min(_multiple(available, exp(piece.exponent)), k), denominator):
            taken = multiplied((product_of(exp(piece.exponent)), q), (ProductView(1, {base: -q}), 1))
            yield multiplied((available, 1), (taken, -1)), joined.quotient(piece.exponent, q)


def _part_of(q: Number, denominator: Denominator) -> Number:
    """5/2 → 1, 1/2 → 1/2 or 0: how much of a common power is taken; a fraction only where a root is real."""
    base, k, _ = denominator
    if q >= 1:
        return 1
    return whole(Fraction(q)) if q > 0 and splits(base, k) else 0


def _multiple(view: ProductView, t: Term) -> Number:
    """a³·b, a → 3;    a⁻², a → −2: which power of a term is in a product; negative where only its inverse is."""
    factors = product_of(t).factors
    ratios = [Fraction(view.factors.get(b, 0)) / Fraction(e) for b, e in factors.items()]
    if not ratios:
        return 0
    low, high = min(ratios), max(ratios)
    return low if low > 0 else high if high < 0 else 0


def _quotient(available: ProductView, denominator: Denominator) -> Iterator[Taken]:
    """e^a·e^b/Σ e^x → (e^(a + b)/Σ e^x): all exponentials over a sum that does not hold them."""
    base, k, joined = denominator
    if any(p.exponent is not None and _multiple(available, exp(p.exponent)) for p in joined.pieces):
        return
    taken = {b: e for b, e in available.factors.items() if b is not base and _is_unbounded(b, e)}
    if all(b.op is exp and is_constant(b.rands[0]) for b in taken):
        return
    k = 1 if k == int(k) else k
    found = [(reading(b), e) for b, e in taken.items()]
    total = added(*[(exponent_sum(r.exponent), quotient(e, k)) for r, e in found if r is not None])
    weights = [(raised(r.weight, e), 1) for r, e in found if r is not None and r.weight is not None]
    left = multiplied((available, 1), (ProductView(1, {**taken, base: -k}), -1), *weights)
    yield left, joined.quotient(build_sum(total, base.type.dtype), k)


def _is_unbounded(b: Any, e: Number) -> bool:
    """Whether a power of a factor is an exponential, or may grow like one unseen: e^x, max(e^x): yes; 1 + e^x: no."""
    if not is_term(b) or not is_exponential(b) or type(whole_of(b).op) is Gibbs:
        return False
    if b.op is exp:
        return True
    return e > 0 and not is_formed(b) and may_overflow(b) and reading(b) is not None
