"""What conditions say of ranges, what follows from several together, and how the terms of a trace come to know it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, NoReturn

import numpy as np

from relgrad.bounds import in_words, is_empty, meet, narrow, range_of
from relgrad.errors import AssumptionError
from relgrad.leaf import Anchor, Input, without_anchors
from relgrad.op import is_constant
from relgrad.ops.align import FLOATING
from relgrad.ops.arithmetic import absolute, fabs, negative, subtract
from relgrad.ops.comparison import bitwise_and, equal, greater, greater_equal, less, less_equal, logical_and
from relgrad.ops.extremes import All_, Max, Min
from relgrad.ops.selection import maximum, minimum
from relgrad.term import Term, reachable, substitute, subterms, term
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, Interval

Facts = tuple[tuple[Term, Interval], ...]
"""Terms with the ranges that are assumed of them."""

CURE = "assume comparisons, such as x > 0, np.abs(x) <= 1 or x < y; join several by `&`, or pass them as arguments"
_JOINS = (logical_and, bitwise_and)
_SAME_ENTRIES = (Anchor, *FLOATING)


class Claim(NamedTuple):
    """x : [0, ∞), "x >= 0", "f.py:3": that all entries of a term lie in an interval; the text that says so, and its
    line.
    """

    term: Term
    range: Interval
    text: str = ""
    where: str | None = None


def claims_of(condition: Term, text: str, where: str | None) -> Iterator[Claim]:
    """(x > 0) & (y < 1) → x : (0, ∞), y : (−∞, 1): all that follows for ranges if a condition is true of every entry.

    Raises AssumptionError for what is no comparison, and for a comparison of constants that is false.
    """
    stack = [condition]
    while stack:
        t = stack.pop()
        if t.type.dtype.kind == "b" and 0 in t.type.shape:
            continue
        if t.op in _JOINS and t.type.dtype.kind == "b":
            stack += reversed(t.rands)
        elif type(t.op) is All_ or (type(t.op) in _SAME_ENTRIES and t.type.dtype.kind == "b"):
            stack.append(t.rands[0])
        elif t.op in (less, less_equal, greater, greater_equal, equal):
            for known, interval in _compared(t):
                if is_empty(interval) or math.isnan(interval.low) or math.isnan(interval.high):
                    raise AssumptionError(f"an assumption is false: {_quoted(text)}", where=where)
                yield Claim(known, interval, text, where)
        else:
            refuse(text, where, f"`{t.op}`" if t.type.dtype.kind == "b" else f"an array of {t.type.dtype}")


def refuse(text: str, where: str | None, what: str) -> NoReturn:
    """sin(x) → AssumptionError: that nothing follows for a range from what is no comparison."""
    raise AssumptionError(
        f"nothing follows for a range from an assumption: {_quoted(text)}",
        where=where,
        cause=f"an assumption is a comparison, or several joined by `&`; this is {what}",
        cure=CURE,
    )


def _quoted(text: str) -> str:
    return f"`{text}`" if text else "assume(...)"


def _compared(t: Term) -> Iterator[tuple[Term, Interval]]:
    """Yield the ranges of x and y, or of y - x, that follow from x < y."""
    if t.op is equal:
        orders = [(*t.rands, False), (*reversed(t.rands), False)]
    else:
        strict = t.op in (less, greater)
        orders = [(*(t.rands if t.op in (less, less_equal) else reversed(t.rands)), strict)]
    for x, y, strict in orders:
        low, high = _constant(x), _constant(y)
        if high is not None:
            yield x, Interval(high=float(high.max()), open_high=strict)
        if low is not None:
            yield y, Interval(low=float(low.min()), open_low=strict)
        if low is None and high is None:
            difference = subtract(y, x) if "f" in (x.type.dtype.kind, y.type.dtype.kind) else None
            if difference is not None:
                yield difference, POSITIVE if strict else NONNEGATIVE


def _constant(t: Term) -> np.ndarray | None:
    while type(t.op) in _SAME_ENTRIES:
        t = t.rands[0]
    return t.op.value if is_constant(t) else None


class Known:
    """x < y, y < 1 → x < 1: ranges that follow from claims, from one another, and from how terms are computed."""

    def __init__(self, claims: Sequence[Claim]):
        """[x < y, y < 1] → {x − y: < 0, y: < 1, x: < 1}: rounds of comparisons, until nothing follows any more."""
        self.ranges: dict[Term, Interval] = {}
        for claim in claims:
            self.learn(claim)
        for claim in claims:
            for t in _without_anchors(claim.term):
                self.learn(claim._replace(term=t))
        # Each round carries bounds over one more comparison: from x < y and y < 1 it follows that x < 1.
        for _ in range(len(claims)):
            before = dict(self.ranges)
            for claim in claims:
                self._compare(claim)
            if self.ranges == before:
                break

    def of(self, t: Term) -> Interval:
        """Return where a term lies."""
        return self.ranges.get(t) or range_of(t)

    def learn(self, claim: Claim) -> None:
        """−x < 0 → x > 0: takes in a claim, and all that it says of the operands."""
        stack = [claim]
        while stack:
            t, interval = stack.pop()[:2]
            before = self.of(t)
            after = meet(before, _whole(interval) if t.type.dtype.kind in "iub" else interval)
            if is_empty(after):
                _contradicted(t, before, claim)
            if after == before:
                continue
            self.ranges[t] = after
            stack += [claim._replace(term=u, range=r) for u, r in _implied(t, after)]

    def _compare(self, claim: Claim) -> None:
        """y − x ≥ 0, y < 1 → x < 1: bounds carried over one comparison, either way."""
        t = claim.term
        if t.op is subtract and self.of(t).nonnegative:
            (y, x), strict = t.rands, self.of(t).positive
            above, below = self.of(y), self.of(x)
            upper = Interval(high=above.high, open_high=strict or above.open_high)
            lower = Interval(low=below.low, open_low=strict or below.open_low)
            self.learn(claim._replace(term=x, range=upper))
            self.learn(claim._replace(term=y, range=lower))


def _implied(t: Term, known: Interval) -> Iterator[tuple[Term, Interval]]:
    """−x : [0, 1] → x : [−1, 0], max(x, y) ≤ 1 → x ≤ 1, y ≤ 1:
    the ranges of operands, and of the opposite of a difference.
    """
    op = t.op
    if type(op) in _SAME_ENTRIES:
        yield t.rands[0], known
    elif op is negative:
        yield t.rands[0], -known
    elif op is subtract:
        yield subtract(t.rands[1], t.rands[0]), -known
    elif op in (absolute, fabs):
        yield t.rands[0], Interval(-known.high, known.high, known.open_high, known.open_high)
    elif op is maximum or type(op) is Max:
        yield from [(x, Interval(high=known.high, open_high=known.open_high)) for x in t.rands]
    elif op is minimum or type(op) is Min:
        yield from [(x, Interval(low=known.low, open_low=known.open_low)) for x in t.rands]


def _whole(x: Interval) -> Interval:
    """Return the whole numbers of an interval: n > 0 says that n >= 1."""
    low = math.ceil(x.low) if math.isfinite(x.low) else x.low
    high = math.floor(x.high) if math.isfinite(x.high) else x.high
    return Interval(
        float(low + (x.open_low and low == x.low)), float(high - (x.open_high and high == x.high))
    )


def _contradicted(t: Term, before: Interval, claim: Claim) -> NoReturn:
    """x > 0, x < 0 → AssumptionError: that an assumption cannot hold."""
    while type(t.op) in _SAME_ENTRIES:
        t = t.rands[0]
    name = t.op.label if type(t.op) is Input else f"the result of {t.op.name}"
    raise AssumptionError(
        f"an assumption cannot hold: {_quoted(claim.text)}",
        where=claim.where,
        cause=f"by other assumptions, or by how it is computed, {in_words(name, before)}",
        cure="assume what holds together; leave out what may be false",
    )


def _without_anchors(t: Term) -> Iterator[Term]:
    """A₁(A₂(x)) → A₁(x), A₂(x), x: a term without the outermost and the innermost variables of differentiation.

    However many of each: gradients of inputs do without the outermost, and expansions leave out the innermost first.
    """
    serials = sorted({node.op.serial for node in reachable(t) if type(node.op) is Anchor})
    some = [serials[i:j] for i, j in combinations(range(len(serials) + 1), 2)]
    yield from (without_anchors([t], kept)[0] for kept in [*some, []] if kept != serials)


def apply(
    inputs: Sequence[Term], outputs: Sequence[Term], claims: Sequence[Claim]
) -> tuple[tuple[Term, ...], tuple[Term, ...], Facts]:
    """x, log(x), x > 0 → x : (0, ∞), log(x), ((x, (0, ∞)),): a trace once the claims are known to its terms.

    The inputs carry the assumptions; so does all that is computed of them, and nothing else.
    """
    ranges = Known(claims).ranges
    below = {t: reachable(t) for t in ranges}
    facts = {t: r for t, r in ranges.items() if t.rands and not below[t].isdisjoint(inputs)}
    bare = {t: r for t, r in facts.items() if not any(type(x.op) is Anchor for x in below[t])}
    new: dict[Term, Term] = {}
    for x in inputs:
        own = tuple([(t, r) for t, r in bare.items() if x in below[t]])
        op = Input(x.op.label, x.op.array, x.op.symbol, ranges.get(x, REAL), own)
        new[x] = term(op)
    changed = substitute([*outputs, *facts], new)
    results, named = changed[: len(outputs)], dict(zip(changed[len(outputs) :], facts.items(), strict=True))
    for node in subterms(*named):
        if node in named and not reachable(node).isdisjoint(new.values()):
            old, known = named[node]
            if is_empty(narrow(node, known)):
                claim = next((c for c in claims if c.term is old), claims[-1])
                _contradicted(old, known, claim)
    stated = [(new[x], ranges[x]) for x in inputs if x in ranges]
    stated += [(node, known) for node, (_, known) in named.items()]
    return tuple(new.values()), tuple(results), tuple(stated)
