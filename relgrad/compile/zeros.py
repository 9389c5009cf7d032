"""The zero of a difference has no sign, whatever a difference is read as; a divisor or an angle would show one.

    1/√(1 − eˣ)  ⟶  1/√(−expm1(x)), −∞ at 0  ⟶  1/√(0 − expm1(x)), ∞

In floats x − y is +0 where both are equal, and −(y − x), which algebra makes of it, is −0. A negation that the program
was written with keeps its zero.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from relgrad.logic.conditions import is_nonzero
from relgrad.op import constant, is_constant
from relgrad.ops.align import FLOATING
from relgrad.ops.arithmetic import add, divide, multiply, negative, sqrt, subtract
from relgrad.ops.structure import Expand, Squeeze
from relgrad.term import Term, reachable, rebuild, remade

_DEEP = 6
"""So many ops that hand on the sign of a zero are looked through."""


def without_negative_zeros(written: Sequence[Term], roots: Sequence[Term]) -> list[Term]:
    """[1/(1 − eˣ)], [1/−expm1(x)] → [1/(0 − expm1(x))]: the roots, with zeros of no sign where it would show."""
    there = reachable(*written)

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        shown = (*old.op.divisors, *old.op.signs) if old not in there else ()
        return remade(old, tuple([_unsigned(x, there) if i in shown else x for i, x in enumerate(rands)]))

    return rebuild(roots, change)


def _unsigned(t: Term, there: Collection[Term], deep: int = _DEEP) -> Term:
    """−u → 0 − u, √−u → √(0 − u), −2·u → 0 + −2·u, y·(x − 1) → 0 + y·(x − 1): a term that is +0 where it is −0, if that
    was not written so.
    """
    op = t.op
    if t in there or not deep or not t.rands or t.type.dtype.kind != "f" or is_nonzero(t):
        return t
    zero = constant(0.0, t.type.dtype)
    if op is negative:
        return subtract.make_node(zero, *t.rands)
    if op.distance is not None or (op in (multiply, divide) and _turns(t, there, deep)):
        return add.make_node(zero, t)
    if op in (sqrt, add, subtract, multiply, divide) or isinstance(op, (Expand, Squeeze, *FLOATING)):
        return remade(t, tuple([_unsigned(x, there, deep - 1) for x in t.rands]))
    return t


def _turns(t: Term, there: Collection[Term], deep: int) -> bool:
    """−2·u, y·(x − 1) of y·x − y: whether algebra put a number below zero, or a sum, among the factors of a term."""
    if is_constant(t):
        return bool((t.op.value < 0).any())
    if t in there or not deep:
        return False
    if t.op in (multiply, divide):
        return any(_turns(x, there, deep - 1) for x in t.rands)
    return t.op in (add, subtract) or t.op.distance is not None
