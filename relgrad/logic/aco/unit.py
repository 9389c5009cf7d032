"""What dtypes ask of laws: where a unit may stand or be left out, and which applications may not be regrouped."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.op import Constant, constant
from relgrad.term import Term


@lru_cache(maxsize=256)
def unit_of_op(identity: float) -> Term:
    """Return the bare number that an op's identity is written as: an integer where it can be one.

    Bare numbers have no shape and give way to their partners' dtype.
    """
    whole = math.isfinite(identity) and float(identity).is_integer()
    return constant(int(identity) if whole else float(identity))


def is_number(x: Any, value: Any) -> bool:
    """Whether a child is a scalar constant of this value; an array of ones has a shape of its own."""
    return type(x) is Term and type(x.op) is Constant and x.op.value.shape == () and x.op.value == value


def is_neutral(op: Any, unit: Any, others: Iterable[Any]) -> bool:
    """Whether a unit, a scalar constant, may be left out beside the other operands of an op, or be added.

    dtype: with some operand it must leave the dtype alone: 0.0 + i is no integer, max(-inf, i) neither, b + 0 no
    longer boolean. Shape: units are scalars, which stretch to any shape. Signed zero: -0.0 + 0 is 0, so 0 stays
    beside a constant -0.0. Infinity: the limits that are declared as identities hold for infinite operands too.
    Operands that are not known don't object.
    """
    known = [x for x in others if type(x) is Term and x.ground]
    if not known:
        return True
    if unit.op.value == 0 and not np.signbit(unit.op.value) and any(map(_is_negative_zero, known)):
        return False
    return any(_keeps_dtype(op, unit, x) for x in known)


def _is_negative_zero(x: Term) -> bool:
    return (
        type(x.op) is Constant
        and x.op.value.dtype.kind == "f"
        and bool(np.any((x.op.value == 0) & np.signbit(x.op.value)))
    )


def _keeps_dtype(op: Any, unit: Term, x: Term) -> bool:
    dtype = getattr(x.type, "dtype", None)
    try:
        return dtype is not None and op.type_of((x, unit)).dtype == dtype
    except Exception:  # an op may refuse operands in any way; then there is no such application
        return False


def stays_grouped(t: Term) -> bool:
    """Whether an operand is an application of the same op to other machine numbers than those of the result.

    b + c of two booleans is their disjunction and i + j of two bytes wraps, so (b + c) + x is not b + (c + x).
    """
    if not t.ground:
        return False
    for rand in t.rands:
        if type(rand) is Term and rand.op is t.op and rand.type is not t.type:
            dtype = getattr(rand.type, "dtype", None)
            if dtype is not None and dtype.kind in "biu" and dtype != getattr(t.type, "dtype", None):
                return True
    return False
