"""What an entropy lacks of the largest that it may have, which equal shares have.

log n + Σ p·log p, Σ p = 1                Σ D(p, 1/n)
log 2 + p·log p + (1 − p)·log(1 − p)     D(p, ½) + D(1 − p, ½)
Σ u·log u, Σ u = n                      Σ D(u, 1)
k·max y − log Σ e^(k·y)                  log_softmax(k·y)[y = max y]
k·max(x, y) − log(e^(k·x) + e^(k·y))     −log(1 + e^(−k·|x − y|))

D(x, y) = x·log(x/y) − x + y is the I-divergence. Where n parts add up to s, Σ p·log p is Σ D(p, s/n) + s·log(s/n).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from itertools import product as pairs_of
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.logic.build import build_product, fit, fitted
from relgrad.logic.conditions import is_constant_along
from relgrad.logic.group import ProductView, SumView, added, multiplied, number_of, renamed
from relgrad.logic.parts import dtype_of, rebuilt
from relgrad.logic.space import product
from relgrad.logic.view import SHARED, product_of, sum_of, summand
from relgrad.op import as_term, constant, holds_nan, is_constant
from relgrad.ops.arithmetic import absolute, divide, multiply, negative, subtract
from relgrad.ops.comparison import equal
from relgrad.ops.differences import i_divergence, xlog_ratio
from relgrad.ops.exponential import logaddexp
from relgrad.ops.extremes import Max, Min
from relgrad.ops.moments import centred
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import maximum, minimum, where
from relgrad.ops.softmax import LogSoftmax, LogSumExp
from relgrad.ops.stable import softplus, xlog1py, xlogy
from relgrad.term import Term, is_term
from relgrad.trace.tracer import Tracer


def extreme_beside_sum(t: Term) -> Term | None:
    """k·max y − log Σ e^(k·y) → log_softmax(k·y)[y = max y];    k·min y − log Σ e^(k·y) → log_softmax(k·y)[y = min y]:
    a log-sum-exp beside the extreme of what it is of, as the logarithm of the share that this has; or None.
    """
    view, dtype = sum_of(t), dtype_of(t)
    if not 1 < len(view.terms) <= SHARED:
        return None
    for (part, c), (other, n) in permutations(view.terms.items(), 2):
        whole, beside = product_of(part), product_of(other)
        for total, of in pairs_of(whole.factors, beside.factors):
            if not is_term(total) or not is_term(of) or (found := _share_of_extreme(total, of)) is None:
                continue
            outside, k = multiplied((whole, 1), (ProductView(1, {total: 1}), -1)), found.power
            left = multiplied((beside, 1), (ProductView(1, {of: 1}), -1), (outside, -1), (k, -1))
            if left.factors or left.coefficient * n != -c:
                continue
            new = summand(multiplied((outside, 1), (product_of(found.log), 1)), None, dtype)
            return fit(rebuilt(added((view, 1), (SumView(0, {part: c, other: n}), -1), (new, -c)), t), t)
    return None


class _Extreme(NamedTuple):
    """k, and the logarithm of the share of Σ e^(k·y) that the largest or smallest y has."""

    power: ProductView
    log: Term


def _share_of_extreme(total: Term, of: Term) -> _Extreme | None:
    """log Σ e^(k·y), max y → k, log_softmax(k·y)[y = max y];
    logaddexp(k·x, k·y), min(x, y) → k, −log(1 + e^(k·|x − y|));    others → None
    """
    unweighted = type(total.op) is LogSumExp and len(total.rands) == 1
    if unweighted and isinstance(of.op, (Max, Min)) and of.op.axes == total.op.axes:
        reads = [list(zip(total.rands, of.rands, strict=True))]
    elif total.op in (logaddexp, softplus) and of.op in (maximum, minimum):
        zero = [constant(0.0, total.type.dtype)] * (total.op is softplus)
        reads = [list(zip((*total.rands, *zero), ys, strict=True)) for ys in permutations(of.rands)]
    else:
        return None
    for pairs in reads:
        pairs = [(x, y) for x, y in pairs if number_of(x) != 0 or number_of(y) != 0]
        if any(number_of(y) == 0 for _, y in pairs):
            continue
        k, *others = [multiplied((product_of(x), 1), (product_of(y), -1)) for x, y in pairs]
        if any(k != other for other in others):
            continue
        if len(of.rands) > 1:
            apart = multiply(build_product(k, total.type.dtype), absolute(subtract(*of.rands)))
            return _Extreme(k, negative(softplus(apart if of.op is minimum else negative(apart))))
        ((x, y),) = pairs
        if all(is_constant_along(b, of.op.axes) for b in k.factors):
            own = equal(y, of)
            shares = where(own, LogSoftmax(of.op.axes).make_node(x), 0.0)
            count = where(own, constant(1.0, y.type.dtype), 0.0)
            return _Extreme(k, divide(*[Sum(of.op.axes).make_node(u) for u in (shares, count)]))
    return None


def lacking_entropy(t: Term) -> Term | None:
    """log n + Σ p·log p → Σ D(p, 1/n), where Σ p is 1:
    a number and what is least where it is taken off, from how far each part is from equal ones; or None.
    """
    view = sum_of(t)
    if len(view.terms) > SHARED:
        return None
    numbers = {part: k * x for part, k in view.terms.items() if (x := _number(part)) is not None}
    number = view.constant + sum(numbers.values())
    for parts, k, total, count in _entropies(view) if number else ():
        least = total * math.log(total / count)
        if abs(float(Fraction(number) / k) + least) <= 4 * math.ulp(least):
            new = [(view, 1), (SumView(view.constant, {x: view.terms[x] for x in numbers}), -1)]
            for part, base in parts:
                others = multiplied((product_of(part), 1), (ProductView(1, {base: 1}), -1))
                far = multiplied((others, 1), (ProductView(1, {_divergence(base, total / count): 1}), 1))
                new += [
                    (SumView(0, {part: 1}), -view.terms[part]),
                    (summand(far, None, dtype_of(t)), view.terms[part]),
                ]
            return fitted(rebuilt(added(*new), t), t)
    return None


def relative_entropy(t: Term) -> Term | None:
    """Σ p·log(p/q) → Σ D(p, q), where Σ p is Σ q, as Σ u·log u → Σ D(u, 1), where u has n entries and Σ u is n:
    a factor that is 0 where all of both are equal; or None.
    """
    for base, e in product_of(t).factors.items():
        if e == 1 and (found := _of_equal_sums(base)) is not None:
            rest = multiplied((product_of(t), 1), (ProductView(1, {base: 1}), -1))
            new = multiplied((rest, 1), (ProductView(1, {found: 1}), 1))
            return fitted(build_product(new, dtype_of(t)), t)
    return None


def _of_equal_sums(t: Any) -> Term | None:
    """Σ p·log(p/q) → Σ D(p, q), if Σ p = Σ q; or None."""
    if not is_term(t) or not t.ground or type(t.op) is not Sum:
        return None
    known = _of_sum(t)
    if known is not None:
        return _divergence(t, 1.0) if known[0] == known[1] else None
    (body,) = t.rands
    inner = body.rands[1] if body.op is where else body
    if body.op is where and not holds_nan(body.rands[2]):
        return None
    if inner.op is xlog_ratio:
        p, q, apart = inner.rands
    elif inner.op is xlogy:
        p, ratio = inner.rands
        q = fit(build_product(product_of(divide(p, ratio)), dtype_of(body)), inner)
        apart = subtract(p, q)
    else:
        return None
    left = added(
        (sum_of(_one_by_one(t.op.axes, fit(p, body))), 1), (sum_of(_one_by_one(t.op.axes, fit(q, body))), -1)
    )
    if left.constant or left.terms:
        return None
    far = i_divergence.make_node(p, q, apart)
    return t.op.make_node(
        fit(far if inner is body else where.make_node(body.rands[0], far, body.rands[2]), body)
    )


def _one_by_one(axes: Sequence[int], x: Term) -> Term:
    """Σᵢⱼ xᵢ·yⱼ → Σᵢ xᵢ·Σⱼ yⱼ: a sum over axes in turn, so that factors leave the sums in which they are constant."""
    for a in axes:
        view = product_of(Sum((a,)).make_node(x))
        x = build_product(view._replace(factors=renamed(view.factors, _whole)), x.type.dtype)
    return x


def _whole(x: Any) -> Any:
    """Σᵢ Σⱼ x → Σᵢⱼ x"""
    if not is_term(x) or type(x.op) is not Sum or type(x.rands[0].op) is not Sum:
        return x
    return Sum(tuple(sorted({*x.op.axes, *x.rands[0].op.axes}))).make_node(*x.rands[0].rands)


def _entropies(view: SumView) -> Iterator[tuple[list[tuple[Any, Term]], Fraction, float, int]]:
    """k·Σ p·log p → [Σ p·log p], k, Σ p, n;    k·p·log p + k·(1 − p)·log(1 − p) → both, k, 1, 2: summands with what of
    them is an entropy.
    """
    single: dict[Fraction, list[tuple[Any, Term]]] = {}
    for part, c in view.terms.items():
        reading = product_of(part)
        numbers = {b: x for b in reading.factors if (x := _number(b)) is not None}
        bases = [b for b, e in reading.factors.items() if b not in numbers and e == 1 and is_term(b)]
        if len(bases) + len(numbers) < len(reading.factors) or len(bases) != 1:
            continue
        k = Fraction(c) * Fraction(reading.coefficient)
        for b, x in numbers.items():
            k *= x ** int(reading.factors[b])
        known = _of_sum(bases[0])
        if known is not None:
            yield [(part, bases[0])], k, *known
        elif _share(bases[0]) is not None:
            single.setdefault(k, []).append((part, bases[0]))
    for k, parts in single.items():
        total = added(*[(sum_of(_share(base)), 1) for _, base in parts])
        if len(parts) > 1 and not total.terms and total.constant > 0:
            yield parts, k, float(total.constant), len(parts)


def _number(t: Any) -> Fraction | None:
    """log 3 → 1.0986…, x → None: a function of numbers as a number; or None."""
    if (
        not is_term(t)
        or not t.rands
        or not t.op.elementwise
        or t.type.size != 1
        or not all(map(is_constant, t.rands))
    ):
        return None
    value = float(np.ravel(t.op.compute(*[x.op.value for x in t.rands]))[0])
    return Fraction(value) if math.isfinite(value) and value else None


def _of_sum(t: Any) -> tuple[float, int] | None:
    """Σ p·log p → Σ p, n: what parts add up to, if that is a number, and how many there are; or None."""
    if not is_term(t) or not t.ground or type(t.op) is not Sum or (p := _share(t.rands[0])) is None:
        return None
    whole = product_of(t.op.make_node(fit(p, t.rands[0])))
    count = product(t.rands[0].type.extent(a) for a in t.op.axes)
    return (
        (float(whole.coefficient), count) if count and not whole.factors and whole.coefficient > 0 else None
    )


def _share(t: Term) -> Term | None:
    """p·log p → p;    (1 − q)·log1p(−q) → 1 − q;    others → None"""
    if t.op is xlogy and t.rands[0] is t.rands[1]:
        return t.rands[0]
    if t.op is not xlog1py:
        return None
    p, q = t.rands
    left = added((sum_of(p), 1), (sum_of(q), -1))
    return p if left.constant == 1 and not left.terms else None


def _divergence(part: Term, equal: float) -> Term:
    """Σ p·log p, s/n → Σ D(p, s/n);    p·log p, s/n → D(p, s/n)"""
    body = part.rands[0] if type(part.op) is Sum else part
    p = _share(body)
    assert p is not None
    y = constant(equal, p.type.dtype)
    if type(part.op) is not Sum:
        return as_term(i_divergence(p, y, subtract(p, y)))
    p = fit(p, body)
    apart = centred(Tracer(p), axis=part.op.axes)
    return part.op.make_node(fit(as_term(i_divergence(Tracer(p), y, apart)), body))
