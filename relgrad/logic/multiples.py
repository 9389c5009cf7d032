"""Which multiples of a sum, and which powers of a product, a subject may hold; judged by heads, before matching."""

from __future__ import annotations

from typing import Any

from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.conditions import is_nonzero
from relgrad.logic.group import Number, ProductView, SumView, added, key_of, multiplied, quotient, whole
from relgrad.logic.index import head_key, summand_heads
from relgrad.logic.space import entries
from relgrad.logic.theory import linear_positions
from relgrad.logic.unify import is_variable
from relgrad.logic.view import product_of, root, sum_of, summand
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.ops.statistics import Size
from relgrad.term import Term, is_term, subterms


def takes_whole(subject: SumView, rest: SumView) -> bool:
    """Whether a match takes summands whole: of 2/x - 1/y, taking 1/x - 1/y leaves 1/x, which nothing is gained by."""
    taken = [t for t, k in subject.terms.items() if rest.terms.get(t, 0) != k]
    return not subject.terms or (bool(taken) and all(t not in rest.terms for t in taken))


def factors(pattern: SumView, subject: SumView) -> list[ProductView]:
    """List the factors that stand beside the heads of a pattern in the summands of a place."""
    heads = {
        head_key(p.op)
        for p in pattern.terms
        if is_term(p) and not p.ground and p in product_of(p).factors and not linear_positions(p.op)
    }
    found: dict[Any, ProductView] = {}
    for t in subject.terms if heads else ():
        factors = product_of(t).factors
        for base, e in factors.items():
            if e == 1 and len(factors) > 1 and is_term(base) and head_key(base.op) in heads:
                others = {b: k for b, k in factors.items() if b is not base}
                found.setdefault(frozenset(others.items()), ProductView(1, others))
    return list(found.values())


def times(view: SumView, factor: ProductView, power: int, dtype: Any) -> SumView:
    """Return a sum with a power of a factor multiplied into each summand."""
    parts = [
        (summand(multiplied((product_of(t), 1), (factor, power)), None, dtype), k)
        for t, k in view.terms.items()
    ]
    if view.constant:
        parts.append((summand(multiplied((factor, power)), None, dtype), view.constant))
    return added(*parts)


def may_echo(p: Term, pattern: SumView, subject: SumView) -> bool:
    """Whether x may stand beside f(x), for a pattern like x - f(x): the first, cheap test of the many that are so."""
    echo = p.cache.get("echo", False)
    if echo is False:
        echo = p.cache["echo"] = next(
            (q.op for q in pattern.terms if is_term(q) and q.op.elementwise and q.rands[0] in pattern.terms),
            None,
        )
    if echo is None:
        return True
    known = {key_of(t) for t in subject.terms}
    for t in subject.terms:
        if is_term(t) and t.op == echo:
            inner = sum_of(t.rands[0]).terms
            if not inner or not known.isdisjoint(map(key_of, inner)):
                return True
    return False


def scales(p: Term, pattern: SumView, subject: SumView) -> list[Number]:
    """List the multiples of the pattern that the subject may hold, judged by the pattern's heads."""
    heads: dict[Any, dict[Number, None]] | None = p.cache.get("scaling heads")
    if heads is None:
        heads = p.cache["scaling heads"] = {}
        for q, k in pattern.terms.items():
            if is_term(q) and not q.ground:
                for key in summand_heads(q):
                    heads.setdefault(key, {})[k] = None
    scales: dict[Number, None] = {} if heads else {1: None, -1: None}
    for t, c in subject.terms.items():
        for key in summand_heads(t) if heads else ():
            for k in heads.get(key, ()):
                scales[quotient(c, k)] = None
        # What stands beside a mean tells how often it is there, since the mean has a coefficient of its own.
        if Sum in heads:
            if any(is_variable(p) for p in pattern.terms):
                scales[c] = None
            if is_term(t) and type(t.op) is Sum and _has_mean(p) and (count := entries(t)) is not None:
                scales[whole(c * count)] = None
    return sorted(filter(None, scales), key=lambda scale: scale < 0)


def _has_mean(p: Term) -> bool:
    """Whether a pattern has a mean in it, which is a sum with a coefficient that is known once the sum is."""
    found = p.cache.get("mean")
    if found is None:
        found = p.cache["mean"] = any(type(t.op) is Size for t in subterms(p))
    return found


def powers(pattern: ProductView, subject: ProductView) -> list[Number]:
    """List the powers of the pattern that the subject may hold, judged by the pattern's heads: itself before others.

    Exponentials say nothing of it, since a power of one is another. Where a root of a factor stands, it is real.
    """
    heads: dict[Any, set[Number]] = {}
    for p, k in pattern.factors.items():
        if is_term(p) and not p.ground and p.op is not exp:
            heads.setdefault(head_key(p.op), set()).add(k)
    # Of S√S all is taken by a root of S, and not its root only.
    rooted = any(k.denominator != 1 for ks in heads.values() for k in ks)
    powers: dict[Number, None] = {} if rooted else {1: None}
    if abs(pattern.coefficient) == 1:
        for t, e in subject.factors.items():
            for k in sorted(heads.get(head_key(t.op), ()), reverse=True) if is_term(t) else ():
                # A root is not taken out of what is no root: Σx² is no norm squared, sin(x) no root of sin(x)².
                if k.denominator in (1, e.denominator):
                    power = quotient(e, k)
                    if power.denominator in (1, e.denominator) or range_of(t).nonnegative:
                        powers[power] = None
    if len(pattern.factors) == 1 and next(iter(pattern.factors.values())) < 0:
        # What is said of the reciprocal of an op alone is not meant for the op.
        return [power for power in powers if power > 0] or [1]
    return list(powers)


def left_over(before: Number, rest: ProductView, power: Number) -> ProductView | None:
    """Return what stands beside a power of a match: of a number that the match took, the same power is gone."""
    left = Fraction(rest.coefficient) / before
    if left != 1 and power != int(power):
        return None
    return to_the(rest, power)._replace(
        coefficient=whole(before * left ** int(power) if left != 1 else before)
    )


def is_real(subject: ProductView, rest: ProductView, power: Number) -> bool:
    """Whether what a match to a power took of a product may be raised to that power, whatever the signs.

    With x < 0, neither is (x²)^½ = x, nor is x the product of two roots. `rest` is what the match left of
    subject^(1/power), among that what it put there itself: 1/x is y/(yx).
    """
    if power == int(power):
        return True
    for base in {**subject.factors, **rest.factors}:
        e = subject.factors.get(base, 0)
        taken = e - Fraction(rest.factors.get(base, 0)) * power
        if taken and taken % 2 and e == int(e) and not (is_term(base) and range_of(base).nonnegative):
            return False
    return True


def adds_no_zero(subject: ProductView, rest: ProductView) -> bool:
    """Whether no factor that may be 0 was put both into what a match took of a product and, inverted, beside it.

    f(w·x)/w in f(x·y)/y, with w = x·y and the number 1 for x, is x·f(x·y)/(x·y), which is none where x is 0.
    """
    for base, left in rest.factors.items():
        before = subject.factors.get(base, 0)
        if (abs(left) > abs(before) or left * before < 0) and not (is_term(base) and _never_zero(base)):
            return False
    return True


def _never_zero(base: Term) -> bool:
    interval = range_of(base)
    return interval.positive or interval.negative or is_nonzero(base)


def to_the(view: ProductView, power: Number) -> ProductView:
    """Return the factors of a product to a power, its coefficient as it is."""
    return ProductView(view.coefficient, {b: whole(Fraction(e) * power) for b, e in view.factors.items()})


def raised(t: Any, power: Number) -> ProductView:
    """Return a term to a power as a product: x²/y to the power ½ is |x|/√y, and x·y, of unknown signs, √(x·y)."""
    view = product_of(t)
    if power == int(power):
        return multiplied((view, power))
    return root(view, Fraction(power)) or ProductView(1, {t: power})
