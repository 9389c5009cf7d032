"""Equality of ground terms modulo the theories of products and sums."""

from __future__ import annotations

from typing import Any

from relgrad.logic.group import product_key, sum_key
from relgrad.logic.view import product_of, sum_of
from relgrad.term import is_term


def same(u: Any, v: Any) -> bool:
    """Whether two ground terms are equal modulo the theories, as far as their views tell."""
    if u is v:
        return True
    if not (is_term(u) and is_term(v)):
        return u == v
    p, q = product_of(u), product_of(v)
    if p.coefficient == q.coefficient and product_key(p.factors) == product_key(q.factors):
        return True
    return sum_key(sum_of(u)) == sum_key(sum_of(v))


def equal_ground(u: Any, v: Any) -> bool:
    """Whether two ground terms are equal modulo the theories: by their views, or operand by operand."""
    todo, seen = [(u, v)], set()
    while todo:
        a, b = todo.pop()
        if (a, b) in seen or same(a, b):
            continue
        seen.add((a, b))
        if a.op != b.op or len(a) != len(b) or not a.rands:
            return False
        todo.extend(zip(a.rands, b.rands, strict=True))
    return True
