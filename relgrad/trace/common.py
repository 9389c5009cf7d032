"""What two traces have in common: the constants in which they differ become inputs, and so one program serves both.

The least general generalisation of two terms (Plotkin 1970, *A note on inductive generalization*), for constants:

    common(2·x + 3, 2·x + 4) = 2·x + h,   h = 4

A term is an instance of another if and only if their generalisation is the other. Constants are what a function read
outside of its arguments, or drew, or computed of that: by this, an array that changes costs a trace, and no program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from relgrad.bounds import narrow, range_of
from relgrad.leaf import Anchor, Input
from relgrad.op import Constant
from relgrad.term import Term, substitute, subterms, term
from relgrad.trace.trace import Traced
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, ArrayType, Interval

_SIGNS = (POSITIVE, -POSITIVE, NONNEGATIVE, -NONNEGATIVE)


def lifted(traced: Traced) -> Traced:
    """x + array → x + outside_1, {outside_1: array}: a trace with its large arrays as inputs.

    They are passed, never copied, and may change in place.
    """
    large = [
        t for t in subterms(*traced.computed) if type(t.op) is Constant and t.op.value.nbytes > Constant.LARGE
    ]
    if not large:
        return traced
    labels = _labels(traced)
    new: dict[Term, Any] = {t: _input(next(labels), t.type, _sign(_range(t))) for t in large}
    return _with(traced, substitute(_roots(traced), new), {new[t]: t.op.value for t in large})


def common(a: Traced, b: Traced, scalars: bool = False) -> Traced | None:
    """2·x + 3, 2·x + 4 → 2·x + h, h = 4: a trace with inputs in place of the constants in which it differs from
    another.

    None where more differs. `outside` holds the values that these inputs have in b. The outputs are those of a if b is
    an
    instance of it. A single number stays, and differs, unless `scalars` may be inputs too: programs for one number are
    better.
    """
    if a.inputs != b.inputs or a.out_structure != b.out_structure or len(a.assumed) != len(b.assumed):
        return None
    if any(known != other for (_, known), (_, other) in zip(a.assumed, b.assumed, strict=True)):
        return None
    if a.answers != b.answers or a.silent != b.silent:
        return None
    pairs = list(zip(_roots(a), _roots(b), strict=True))
    walk = _Walk(a, scalars)
    return _with(a, [walk.done[pair] for pair in pairs], walk.outside) if walk.run(pairs) else None


class _Walk:
    """(2·x + 3, 2·x + 4) → 2·x + h: two traces gone through together: pairs of terms with what they have in common."""

    def __init__(self, a: Traced, scalars: bool):
        self.known, self.scalars, self.labels = a.outside, scalars, _labels(a)
        self.done: dict[tuple[Term, Term], Term] = {}
        self.outside: dict[Term, Any] = {}
        self.anchors: dict[int, int] = {}
        self.opposite: dict[int, int] = {}

    def run(self, pairs: list[tuple[Term, Term]]) -> bool:
        """[(2·x + 3, 2·x + 4)] → True, done[pair] = 2·x + h: whether all pairs have something in common."""
        stack = list(pairs)
        while stack:
            pair = a, b = stack[-1]
            if pair in self.done:
                stack.pop()
            elif a is b:
                self.done[pair] = a
            elif not a.rands:
                if type(b.op) is not Constant or not self.leaves(a, b):
                    return False
            elif len(a.rands) != len(b.rands) or a.type != b.type or not self.agree(a.op, b.op):
                return False
            elif missing := [p for p in zip(a.rands, b.rands, strict=True) if p not in self.done]:
                stack += missing
            else:
                rands = [self.done[p] for p in zip(a.rands, b.rands, strict=True)]
                self.done[pair] = term(a.op, *rands, type_=a.type)
        return True

    def agree(self, a: Any, b: Any) -> bool:
        """sin, sin → True, Anchor(1), Anchor(5) → True, if they are always paired: whether two ops are one."""
        if type(a) is Anchor and type(b) is Anchor:
            paired = self.anchors.setdefault(a.serial, b.serial), self.opposite.setdefault(b.serial, a.serial)
            return paired == (b.serial, a.serial)
        return a is b or a == b

    def leaves(self, a: Term, b: Term) -> bool:
        """3, 4 → done[3, 4] = h, outside[h] = 4: pairs an input that stands for constants, or a constant, with a
        constant.

        Says whether that is possible.
        """
        kind = a.type
        if kind != b.type or not isinstance(kind, ArrayType) or b.op.weak:
            return False
        if a in self.known:
            new = a
            if a in self.outside or not _within(b, a.op.range):
                new = _input(next(self.labels), kind, _joined(a.op.range, b))
        elif type(a.op) is not Constant or a.op.weak or (kind.size == 1 and not self.scalars):
            return False
        else:
            new = _input(next(self.labels), kind, _joined(_range(a), b))
        self.done[a, b], self.outside[new] = new, b.op.value
        return True


def _roots(traced: Traced) -> list[Term]:
    return [*traced.outputs, *(t for t, _ in traced.assumed), *(d.term for d in traced.decisions)]


def _with(traced: Traced, roots: list[Any], outside: dict[Term, Any]) -> Traced:
    """roots → the trace with these as outputs, assumptions and decisions, and the values of `outside`."""
    count, end = len(traced.outputs), len(roots) - len(traced.decisions)
    assumed = tuple([(t, known) for t, (_, known) in zip(roots[count:end], traced.assumed, strict=True)])
    decisions = tuple([d._replace(term=t) for t, d in zip(roots[end:], traced.decisions, strict=True)])
    for t, known in assumed:
        if t.rands:
            narrow(t, known)
    outputs = tuple(roots[:count])
    return replace(traced, outputs=outputs, assumed=assumed, outside=outside, decisions=decisions)


def _labels(traced: Traced) -> Iterator[str]:
    """{outside_1} → outside_2, outside_3, …: names for inputs that a trace does not have yet."""
    taken = {t.op.label for t in (*traced.inputs, *traced.outside)}
    n = 0
    while True:
        n += 1
        if f"outside_{n}" not in taken:
            yield f"outside_{n}"


def _input(label: str, kind: ArrayType, known: Interval) -> Term:
    return term(Input(label, kind, range=known))


def _range(t: Term) -> Interval:
    """Return where a constant lies as it is at this moment: a large one may have changed."""
    if type(t.op) is Constant and t.op.value.nbytes > Constant.LARGE:
        t.cache.pop("range", None)
    return range_of(t)


def _sign(known: Interval) -> Interval:
    """Return what programs ask of constants: their sign."""
    return next((sign for sign in _SIGNS if _inside(known, sign)), REAL)


def _joined(known: Interval, b: Term) -> Interval:
    other = _range(b)
    return next((sign for sign in _SIGNS if _inside(known, sign) and _inside(other, sign)), REAL)


def _within(b: Term, known: Interval) -> bool:
    return known == REAL or _inside(_range(b), known)


def _inside(x: Interval, sign: Interval) -> bool:
    """Whether an interval lies in that of a sign; a bound of 0 counts as reached unless it is said to be open."""
    if sign.low == -math.inf:
        x, sign = -x, -sign
    return x.positive if sign.open_low else x.nonnegative
