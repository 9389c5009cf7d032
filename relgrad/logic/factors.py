"""Logarithms of products factor by factor, where a factor may leave the floats though the logarithm does not.

log ∏ bᵢ^eᵢ = Σ eᵢ·log|bᵢ| where the product of their signs is not negative. Only products with a factor that grows
fast are read so: a power with a variable exponent, a gamma function, a determinant, a product over axes. Where nothing
can overflow, the logarithm of the product is the more accurate one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.logic.build import build_product, build_sum, fitted
from relgrad.logic.group import Number, ProductView, SumView, added
from relgrad.logic.match import match
from relgrad.logic.ranges import Goal, finding, range_of
from relgrad.logic.unify import State, reify_term
from relgrad.logic.view import product_of, sum_of
from relgrad.op import constant
from relgrad.ops.arithmetic import absolute, add, multiply, power, sign, subtract
from relgrad.ops.comparison import greater_equal, less
from relgrad.ops.exponential import log
from relgrad.ops.selection import where
from relgrad.ops.stable import xlog1py, xlogy
from relgrad.term import Term, is_term

_FAST = frozenset(["gamma", "gamma_ratio", "beta", "prod", "prod_power", "det", "power1p"])


def logarithm_by_factors(t: Term) -> Any:
    """Return the logarithm of a product as the sum of those of its factors, or None where none of them grows fast."""
    view = product_of(t)
    if not any(_grows(b) for b in view.factors) or view.coefficient <= 0:
        return None
    if len(view.factors) == 1 and next(iter(view.factors)).op is not power and view.coefficient == 1:
        return None
    parts: list[tuple[SumView, Number]] = []
    doubtful: list[Any] = []
    calm: dict[Any, Number] = {}
    for base, e in view.factors.items():
        known = range_of(base).nonnegative
        if not known and not isinstance(e, Fraction) and e % 2:
            doubtful.append(base)
        if _grows(base):
            size = base if known or isinstance(e, Fraction) else absolute(base)
            parts.append((sum_of(_log(base, size)), e))
        else:
            calm[base] = e
    rest = ProductView(view.coefficient, calm)
    if calm or view.coefficient != 1:
        inner = build_product(rest, t.type.dtype)
        own = [b for b in doubtful if b in calm]
        if len(doubtful) > 1 or (doubtful and not own):
            inner = inner if not own else absolute(inner)
        parts.insert(0, (sum_of(log(inner)), 1))
    result = build_sum(added(*parts), t.type.dtype)
    if not doubtful or (len(doubtful) == 1 and doubtful[0] in calm):
        return result
    signs: Any = sign(doubtful[0])
    for base in doubtful[1:]:
        signs = multiply(signs, sign(base))
    # Added, it leaves the gradient as it is.
    return add(result, where(greater_equal(signs, constant(0.0)), constant(0.0), constant(np.nan)))


def _grows(base: Any) -> bool:
    return is_term(base) and (base.op is power or base.op.name in _FAST)


def _log(base: Term, size: Any) -> Any:
    """Return the logarithm of the size of a factor; that of a power is a multiple of its base's, and 0 of 0⁰."""
    if base.op is power:
        x, y = base.rands
        known = range_of(x)
        return multiply(y, log(x)) if known.positive else xlogy(y, x if known.nonnegative else absolute(x))
    if base.op.name == "power1p":
        x, y = base.rands
        below = less(x, constant(-1.0))
        return xlog1py(y, x if range_of(x).low >= -1 else where(below, subtract(constant(-2.0), x), x))
    return log(size)


def product_logarithmo(x: Any, y: Any) -> Goal:
    """Construct a goal stating that y is the logarithm of a product x, factor by factor."""

    def product_log_goal(s: State) -> Iterator[State]:
        u, v = (reify_term(getattr(t, "term", t), s) for t in (x, y))
        if is_term(u) and u.ground:
            found = fitted(logarithm_by_factors(u), u)
            if found is not None:
                yield from match(v, found, s)

    return finding(product_log_goal, x, y)
