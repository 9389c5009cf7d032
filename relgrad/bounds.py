"""Where the entries of a term lie: from the ranges that ops declare, and from what is assumed of arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgrad.op import Constant, as_term, is_constant
from relgrad.ops.arithmetic import add, divide, multiply, negative, subtract
from relgrad.ops.comparison import logical_and, logical_or
from relgrad.ops.intervals import TRUTH
from relgrad.ops.matmul import MatMul
from relgrad.ops.structure import Expand, without_leading
from relgrad.term import Term, is_term, kept
from relgrad.types import NONNEGATIVE, REAL, ArrayType, Interval

MODERATE = 2.0**20
"""Terms that are between the reciprocal of this and this are moderate."""


def is_moderate(t: Any) -> bool:
    """Whether a term is near one in size wherever it stands, as 1 + 1/(1 + e⁻ˣ): products with it stay in range."""
    known = range_of(t)
    return known.low >= 1 / MODERATE and known.high <= MODERATE


def range_of(t: Any) -> Interval:
    """Return the range of a term, from the ranges that its ops declare; computed once per term, bottom-up."""
    if not is_term(t) or not t.ground:
        return REAL
    return kept(t, "range", _range)


def told(answer: Any, t: Term) -> Any:
    """Return an op's answer to a question about an application, where it may be a function of the operands' ranges.

    told(log.finite, log(x)) = log.finite(range of x)
    """
    return answer(*map(range_of, t.rands)) if callable(answer) else answer


def narrow(t: Term, known: Interval) -> Interval:
    """range(t) := range(t) ∩ known: narrows the range of a term for as long as it lives; returns it.

    Terms are shared by all programs: `known` must follow from the term alone, that is from its leaves.
    """
    found = t.cache["range"] = meet(range_of(t), known)
    return found


def _range(node: Term) -> Interval:
    """range(f(x)) = f(range x) for each op, and x·x ≥ 0, x @ x ≥ 0, x − max x ≤ 0:
    the range of a term from those of its operands.
    """
    if type(node.op) is Constant:
        value = node.op.value
        if value.size == 0 or value.dtype.kind == "O" or np.isnan(value).any():
            return REAL
        return Interval(float(value.min()), float(value.max()))
    ranges = [rand.cache["range"] for rand in node.rands]
    found = node.op.range_of(*ranges)
    if node.op is multiply:
        found = meet(found, _of_square(*node.rands))
    if type(node.op) is MatMul and _is_square(*node.rands):
        found = meet(found, NONNEGATIVE)
    if node.op is subtract:
        found = meet(found, _beside_extreme(*node.rands))
    return _wrapped(node.type.dtype, found) if isinstance(node.type, ArrayType) else found


def _of_square(a: Any, b: Any) -> Interval:
    """x·x ≥ 0 and (−2·x)·x ≤ 0 whatever the sign of x, which the ranges of the two operands alone do not show."""
    (sign, x), (other, y) = _multiple(a), _multiple(b)
    if without_leading(x) is not without_leading(y):
        return REAL
    known = range_of(x)
    nonzero = known.positive or known.negative
    return (
        Interval(0.0, math.inf, nonzero) if sign * other > 0 else Interval(-math.inf, 0.0, open_high=nonzero)
    )


def _is_square(a: Any, b: Any) -> bool:
    """(x[None], x[:, None]) → True: whether a vector meets itself in a product of matrices, which is Σ x² then."""
    row, column = [type(x.op) is Expand and x.op.axes for x in (a, b)]
    return (row, column) == ((-2,), (-1,)) and a.rands == b.rands and a.type.ndim == 2


def _multiple(t: Any, deep: int = 4) -> tuple[int, Any]:
    """−2·x → −1, x: the sign of the numbers by which a term is multiplied, a few at most, and the term."""
    if not deep:
        return 1, t
    if t.op is negative:
        sign, x = _multiple(t.rands[0], deep - 1)
        return -sign, x
    for number, other in (t.rands, t.rands[::-1]) if t.op is multiply else ():
        value = number.op.value.item() if is_constant(number) and number.type.size == 1 else 0
        if value and math.isfinite(value):
            sign, x = _multiple(other, deep - 1)
            return sign if value > 0 else -sign, x
    return 1, t


def _beside_extreme(a: Any, b: Any) -> Interval:
    """Return what is known of a - b where one is the largest or smallest of what the other is among: x - max(x) ≤ 0."""
    sign = (b.op.laws.extreme if a in b.rands else 0) - (a.op.laws.extreme if b in a.rands else 0)
    return Interval(-math.inf, 0.0) if sign > 0 else NONNEGATIVE if sign < 0 else REAL


def _wrapped(dtype: np.dtype, x: Interval) -> Interval:
    """(int8, [0, 300]) → [−128, 127], (bool, [0, 300]) → [0, 1]:
    where truth values lie, and machine integers, which wrap.

    Those of 64 bits are taken to be wide enough.
    """
    if dtype.kind == "b":
        return meet(x, TRUTH)
    if dtype.kind not in "iu":
        return x
    limits = np.iinfo(dtype)
    low = limits.min if dtype.kind == "u" or dtype.itemsize < 8 else -math.inf
    high = limits.max if dtype.itemsize < 8 else math.inf
    return x if low <= x.low and x.high <= high else Interval(float(low), float(high))


def meet(x: Interval, y: Interval) -> Interval:
    """Return where both hold.

    >>> meet(Interval(0.0, 2.0), Interval(-1.0, 2.0, open_high=True))
    Interval(low=0.0, high=2.0, open_low=False, open_high=True)
    """
    low, high = max(x.low, y.low), min(x.high, y.high)
    return Interval(
        low,
        high,
        any(i.open_low for i in (x, y) if i.low == low),
        any(i.open_high for i in (x, y) if i.high == high),
    )


def is_empty(x: Interval) -> bool:
    """Whether no number lies in an interval.

    >>> is_empty(Interval(1.0, 1.0)), is_empty(Interval(1.0, 1.0, open_low=True))
    (False, True)
    """
    return x.low > x.high or (x.low == x.high and (x.open_low or x.open_high))


def possible(test: Term) -> Term | None:
    """1 − x < 0 → x > 1, e^x < 0 → None: a test of operands in its simplest form, or None for one that is never true.

    log(1 − x) and log1p(−x) are tested alike.
    """
    if test.op in (logical_or, logical_and):
        parts = [possible(x) for x in test.rands]
        known = [x for x in parts if x is not None]
        if len(known) == 2:
            return test.op.make_node(*known)
        return known[0] if known and test.op is logical_or else None
    return _comparison(test) if test.op.solutions is not None else test


def _comparison(test: Term) -> Term | None:
    """2·x + 1 < 0 → x < −1/2, peeled until x is no affine function; None where the range of x excludes it."""
    op, (x, bound) = test.op, test.rands
    if not is_number(bound):
        return test
    limit = float(bound.op.value)
    if is_empty(meet(range_of(x), op.solutions(limit))):
        return None
    while (found := _peeled(op, x, limit)) is not None:
        op, x, limit = found
    return op.make_node(x, as_term(limit))


def _peeled(op: Any, x: Term, limit: float) -> tuple[Any, Term, float] | None:
    """a + x < c → x < c − a;    −x < c → x > −c;    k·x < c → x < c/k, or x > c/k for k < 0; None for others."""
    if x.op is negative:
        return op.mirrored, x.rands[0], -limit
    if len(x.rands) != 2 or x.op not in (add, subtract, multiply, divide):
        return None
    a, b = x.rands
    if x.op is add and is_number(a):
        return op, b, limit - float(a.op.value)
    if x.op is add and is_number(b):
        return op, a, limit - float(b.op.value)
    if x.op is subtract and is_number(b):
        return op, a, limit + float(b.op.value)
    if x.op is subtract and is_number(a):
        return op.mirrored, b, float(a.op.value) - limit
    if x.op is multiply and (is_number(a) or is_number(b)):
        number, rest = (a, b) if is_number(a) else (b, a)
        k = float(number.op.value)
        return (op if k > 0 else op.mirrored, rest, limit / k) if k else None
    if x.op is divide and is_number(b):
        k = float(b.op.value)
        return (op if k > 0 else op.mirrored, a, limit * k) if k else None
    return None


def is_number(x: Term) -> bool:
    """2.5 → True; x, [1, 2], ∞ → False: whether a term is one finite number."""
    return is_constant(x) and x.op.value.ndim == 0 and bool(np.isfinite(x.op.value))


def in_words(name: str, x: Interval) -> str:
    """Return what an interval says of a name.

    >>> in_words("x", Interval(0.0, math.inf, open_low=True)), in_words("y", Interval(0.0, 1.0, open_high=True))
    ('x > 0', '0 <= y < 1')
    """
    x = x._replace(low=x.low + 0.0, high=x.high + 0.0)  # -0.0 reads as 0
    below, above = "<" if x.open_low else "<=", "<" if x.open_high else "<="
    if x.low == x.high and not is_empty(x):
        return f"{name} = {x.low:g}"
    if x.low == -math.inf:
        return f"{name} {above} {x.high:g}" if x.high < math.inf else f"{name} is any number"
    if x.high == math.inf:
        return f"{name} {below.replace('<', '>')} {x.low:g}"
    return f"{x.low:g} {below} {name} {above} {x.high:g}"
