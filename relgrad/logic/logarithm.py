"""Goals of the log domain: a logarithm formed there, and the condition that nothing is left to be formed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relgrad.logic.build import fitted
from relgrad.logic.exponential import is_exponential, mentions_exponential
from relgrad.logic.logdomain import logarithm
from relgrad.logic.match import match
from relgrad.logic.ranges import Goal, finding
from relgrad.logic.unify import State, reify_term
from relgrad.logic.view import product_of
from relgrad.ops.exponential import exp
from relgrad.ops.reduction import Sum
from relgrad.term import is_term


def without_exponentials(*terms: Any) -> Goal:
    """Construct a goal stating that no exponential is in terms where the log domain can reach it."""

    def plain_goal(s: State) -> Iterator[State]:
        if not any(is_exponential(reify_term(getattr(t, "term", t), s)) for t in terms):
            yield s

    return plain_goal


def unlike_exponentials(*terms: Any) -> Goal:
    """Construct a goal stating that no factor of terms is an exponential, or a sum of exponentials over axes."""

    def unlike_goal(s: State) -> Iterator[State]:
        known = [reify_term(getattr(t, "term", t), s) for t in terms]
        bases = [b for t in known if is_term(t) and t.ground for b in product_of(t).factors if is_term(b)]
        if not any(b.op is exp or (type(b.op) is Sum and is_exponential(b)) for b in bases):
            yield s

    return unlike_goal


def logarithmo(x: Any, y: Any) -> Goal:
    """Construct a goal stating that y is the logarithm of x, formed in the log domain.

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
