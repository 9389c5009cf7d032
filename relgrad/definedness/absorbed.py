"""Tests of undefined numbers: x/x > ½ is false where x is NaN, and 1 > ½ is not.

Truth values, indices, and fmax absorb NaN: no mark on them tells that an operand was undefined. So their operands are
made to say it, wherever the equations would define them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.conventions import Conventions
from relgrad.definedness.tests import tests
from relgrad.definedness.undefined import undefined
from relgrad.op import as_term, constant, is_float
from relgrad.step import Derivation
from relgrad.term import Term, reachable, rebuild, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType


def undefined_where_tested(
    written: Sequence[Term],
    rewritten: Sequence[Term],
    rewrite: Callable[[Sequence[Term]], Derivation],
    conventions: Conventions,
) -> list[Term]:
    """isnan(x/x) → isnan(where(isnan(x), nan, x/x)): the roots, with tests of numbers that are NaN as they are written.

    Only tests that the rewritten roots have no longer, of operands that would be defined where they were not.
    """
    there = reachable(*rewritten)
    gone = {t for t in subterms(*written) if _absorbs(t) and t not in there}
    operands = list(dict.fromkeys(x for t in gone for x in t.rands if x.rands and is_float(x)))
    if not operands:
        return list(written)
    pairs = zip(operands, rewrite(operands).after, strict=True)
    lost = [old for old, new in pairs if tests([old], [new], {}, rewrite)]
    masks = dict(zip(lost, undefined(lost, rewrite, conventions), strict=True))

    def change(old: Term, rands: tuple[Any, ...]) -> Term:
        if old in gone and not masks.keys().isdisjoint(old.rands):
            rands = tuple([_masked(x, masks.get(was)) for x, was in zip(rands, old.rands, strict=True)])
        return old if rands == old.rands else old.op.make_node(*rands)

    return rebuild(written, change)


def _absorbs(t: Term) -> bool:
    """x > y, argmax(x), fmax(x, y): yes; x + y: no: whether floats that are NaN may have a result that is none."""
    if not isinstance(t.type, ArrayType) or not any(map(is_float, t.rands)):
        return False
    return not is_float(t) or bool(t.op.kinks and not t.op.strict(t))


def _masked(x: Term, mask: Term | None) -> Term:
    """(x/x, isnan(x)) → where(isnan(x), nan, x/x)"""
    if mask is None:
        return x
    return as_term(np.where(Tracer(mask), Tracer(constant(np.nan, x.type.dtype)), Tracer(x)))
