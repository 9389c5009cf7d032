"""Logarithms formed in the log domain, and the condition that nothing is left to be formed.

    log Σ w·eˣ      logsumexp(x, weights=w)
    log ∏ bᵢ^eᵢ     Σ eᵢ·log|bᵢ|               where the product of their signs is not negative

Only products with a factor that grows fast are read factor by factor: a power with a variable exponent, a product over
axes, and ops that answer `log_size`, as a gamma function, a determinant, a hyperbolic cosine do. Where nothing can
overflow, the logarithm of the product is the more accurate one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.logic.build import build_product, build_sum, fitted
from relgrad.logic.complements import complement_of
from relgrad.logic.conditions import Goal, finding
from relgrad.logic.goals import computedo
from relgrad.logic.group import Number, ProductView, SumView, added
from relgrad.logic.match import match
from relgrad.logic.unify import State, reify_term
from relgrad.logic.view import product_of, sum_of
from relgrad.logscale.domain import is_exponential, logarithm, mentions_exponential
from relgrad.op import as_term, constant
from relgrad.ops.arithmetic import absolute, add, multiply, negative, power, sign, subtract
from relgrad.ops.comparison import greater_equal, less
from relgrad.ops.differences import power1p
from relgrad.ops.exponential import exp, log
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.selection import where
from relgrad.ops.stable import xlog1py, xlogy
from relgrad.term import Term, is_term
from relgrad.trace.tracer import Tracer


def unlike_exponentials(*terms: Any) -> Goal:
    """2·x: holds; x·eʸ, Σ eˣ, 1 − eˣ: fails: construct a goal stating that no factor is an exponential, a sum of such,
    or, but for its sign, what something leaves of one.
    """

    def unlike_goal(s: State) -> Iterator[State]:
        known = [t for x in terms if is_term(t := reify_term(getattr(x, "term", x), s)) and t.ground]
        bases = [b for t in known for b in product_of(t).factors if is_term(b)]
        alike = any(b.op is exp or (type(b.op) is Sum and is_exponential(b)) for b in bases)
        real = [t for t in known if t.type.differentiable]
        if not alike and all(complement_of(negative(t)) is None for t in real):
            yield s

    return unlike_goal


def logarithmo(x: Any, y: Any) -> Goal:
    """log(w·e^x) = x + log w: construct a goal stating that y is the logarithm of x, formed in the log domain.

    Where only y is known, x is e^y.
    """

    def log_domain_goal(s: State) -> Iterator[State]:
        u, v = (reify_term(getattr(t, "term", t), s) for t in (x, y))
        if is_term(u) and u.ground:
            found = fitted(logarithm(u), u)
            if found is not None:
                yield from match(v, found, s)
        elif is_term(v) and v.ground:
            yield from match(u, exp(v), s)

    return finding(log_domain_goal, x, y, mentions_exponential)


class _Log(NamedTuple):
    """log|f| of a factor f, and what has the sign of f."""

    size: Any
    sign: Any


def logarithm_by_factors(t: Term) -> Any:
    """log(2·Γ(x)/y) ⟶ log(2/y) + log|Γ(x)|, and NaN where the product is negative; None where no factor grows fast.

    Powers of integers wrap around, and are left.
    """
    if not t.type.differentiable:
        return None
    view = product_of(t)
    logs = {b: _log(b) for b in view.factors}
    if view.coefficient == 1 and not any(logs.values()):
        logs = _near_one(view)
    if view.coefficient <= 0 or not any(logs.values()) or _is_over_axes(t):
        return None
    parts: list[tuple[SumView, Number]] = []
    doubtful: dict[Any, Any] = {}
    calm: dict[Any, Number] = {}
    for base, e in view.factors.items():
        found = logs[base]
        if not range_of(base).nonnegative and (isinstance(e, Fraction) or e % 2):
            doubtful[base] = base if found is None else found.sign
        if found is None:
            calm[base] = e
        else:
            parts.append((sum_of(found.size), e))
    if view.coefficient != 1 and not calm:
        # A number meets another, as log 2 does log ½.
        parts.insert(0, (SumView(Fraction(math.log(view.coefficient)), {}), 1))
    elif calm:
        inner = build_product(ProductView(view.coefficient, calm), t.type.dtype)
        own = any(b in calm for b in doubtful)
        parts.insert(0, (sum_of(log(absolute(inner) if own and len(doubtful) > 1 else inner)), 1))
        if own and len(doubtful) == 1:
            doubtful.clear()  # its own logarithm says so
    result = build_sum(added(*parts), t.type.dtype)
    if not doubtful:
        return result
    first, *others = doubtful.values()
    signs = first if not others else sign(first)
    for other in others:
        signs = multiply(signs, sign(other))
    # Added, it leaves the gradient as it is.
    return add(result, where(greater_equal(signs, constant(0.0)), constant(0.0), constant(np.nan)))


def _near_one(view: ProductView) -> dict[Any, _Log | None]:
    """(1 + x)·√(1 + y) → log|1 + x|, log(1 + y): of factors that may all be near one, so that their product is."""
    sums = {b: sum_of(b) for b in view.factors if is_term(b) and b.ground and b.op.as_sum}
    if len(sums) < max(len(view.factors), 2) or any(abs(v.constant) != 1 for v in sums.values()):
        return {}
    return {b: _Log(log(b if isinstance(view.factors[b], Fraction) else absolute(b)), b) for b in sums}


def _is_over_axes(t: Term) -> bool:
    """Whether a term is a product over axes, or its size: Π x, |Π x|: yes. Relations know the logarithm of such."""
    return type((t.rands[0] if t.op is absolute else t).op) is Prod


def _log(base: Any) -> _Log | None:
    """x^y → y·log|x|;    Π x → log Π |x|;    Γ(x) → log|Γ(x)|: size and sign of a factor that grows fast; or None."""
    if not is_term(base) or not base.ground:
        return None
    if base.op is absolute:
        inner = _log(base.rands[0])
        return inner and _Log(inner.size, base)
    if base.op is power:
        x, y = base.rands
        known = range_of(x)
        size = multiply(y, log(x)) if known.positive else xlogy(y, x if known.nonnegative else absolute(x))
        return _Log(size, base)
    if base.op is power1p:
        x, y = base.rands
        below = less(x, constant(-1.0))
        size = xlog1py(y, x if range_of(x).low >= -1 else where(below, subtract(constant(-2.0), x), x))
        return _Log(size, base)
    if type(base.op) is Prod:
        sizes = base if range_of(base).nonnegative else base.op.make_node(absolute(*base.rands))
        return _Log(log(sizes), base)
    found = base.op.log_size(*map(Tracer, base.rands))
    return found and _Log(as_term(found[1]), base if found[0] is None else as_term(found[0]))


def product_logarithmo(x: Any, y: Any) -> Goal:
    """Construct a goal stating that y is the logarithm of a product x, factor by factor."""
    return computedo(lambda u: fitted(logarithm_by_factors(u), u), x, y)
