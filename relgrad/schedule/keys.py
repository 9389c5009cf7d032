"""What the scheduler visits: terms, and how they are read as part of what they stand in."""

from __future__ import annotations

from typing import Any

from relgrad.logic.theory import BAG, is_contraction, shared_theories
from relgrad.logic.view import is_open, is_wide, product_of
from relgrad.ops.arithmetic import power, sqrt
from relgrad.ops.structure import BroadcastLike, BroadcastTo
from relgrad.term import Term

Key = Any
"""A term; or a term and the theories, if any, under which it is read as part of a larger product or sum."""


def leads_to(start: Key, goal: Key, became: dict[Key, Key]) -> bool:
    """(a, c, {a: b, b: c}) → True: whether one term has been rewritten into another; circles stop where they began."""
    place: Key | None = start
    while place is not None and place != goal:
        place = became.get(place)
    return place is not None


SPREADS = BroadcastTo, BroadcastLike
"""What is only spread is a product by itself: in t == max(broadcast(t)), t is rewritten the same way twice."""


def operand_keys(t: Term, within: int = 0) -> list[Key]:
    """x·(y·z) → [x, (y·z, PRODUCT)]: the operands, each with the theories under which it is part of what t is.

    Σ y·z → [y·z]: a contraction's operand is a place by itself, rewritten once however many products it is part of.
    """
    if (not within and type(t.op) in SPREADS) or is_contraction(t):
        return list(t.rands)
    keys: list[Key] = []
    for rand in t.rands:
        shared = shared_theories(t.op, rand.op)
        # A power looks into its operand as far as a view goes; what is wider stands for itself.
        if shared & ~BAG and not is_open(t.op, shared):
            shared = 0 if is_wide(rand, shared) or _is_closed_root(t) else shared
        keys.append((rand, shared) if shared else rand)
    return keys


def _is_closed_root(t: Term) -> bool:
    """Whether a root or power is not read through, because signs are not known."""
    return t.op in (sqrt, power) and t in product_of(t).factors
