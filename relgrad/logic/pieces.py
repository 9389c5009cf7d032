"""Sums of what is joined of pieces, or runs along an axis: piece by piece, and by what lies between two entries.

F₊ = concatenate((0, F, 1)):   F₊[1:] − F₊[:-1]              concatenate((F[:1], F[1:] − F[:-1], 1 − F[-1:]))
                               cumsum(x)[1:] − cumsum(x)[:-1]     x[1:]
                               cumprod(x)[:-1] − cumprod(x)[1:]   cumprod(x)[:-1]·(1 − x[1:])
Σ x² − x[1]²                                              Σ where(others, x², 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from relgrad.logic.build import build_sum, fit, fit_to
from relgrad.logic.equality import equal_ground
from relgrad.logic.group import SumView, added
from relgrad.logic.parts import dtype_of, rebuilt
from relgrad.logic.rewrite import Selection, chain_of, pushed, selected
from relgrad.logic.space import bare
from relgrad.logic.theory import inner_product
from relgrad.logic.view import SHARED, sum_of
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply, negative, subtract
from relgrad.ops.gather import WHOLE, Index
from relgrad.ops.indexing import getitem, select
from relgrad.ops.joining import Concatenate
from relgrad.ops.reduction import Prod, Sum
from relgrad.ops.scan import CumProd, CumSum
from relgrad.ops.selection import where
from relgrad.ops.structure import RESHAPES, squeeze
from relgrad.term import Term, is_term, subterms
from relgrad.types import array_type

PIECES = 6
"""A sum is written piece by piece of so many pieces at most."""
MOVED = 1 << 16
"""Of arrays with more entries nobody asks which a sum loses."""
STEPS = 4
"""Entries that lie so far apart, all along an axis, are told by what lies between them."""


def joined_sum(t: Term) -> Any:
    """Return a sum of arrays, some of which are joined of pieces, as its pieces joined, or None.

    concatenate((0, F)) + concatenate((F, 1)) = concatenate((F[:1], F[1:] + F[:-1], 1 + F[-1:]))
    """
    view, shape = sum_of(t), t.type.shape
    terms = [x for x in view.terms if is_term(x) and x.ground]
    if not 2 <= len(terms) <= SHARED or len(terms) < len(view.terms) or None in shape:
        return None
    for axis in {x.op.axis for s in terms for x in (s, *s.rands[:1]) if type(x.op) is Concatenate}:
        varying = [x for x in terms if x.type.extent(axis) != 1]
        cuts = sorted({0, shape[axis], *(cut for x in varying for cut in _cuts(x, axis))})
        if len(varying) < 2 or not 2 < len(cuts) <= PIECES + 1:
            continue
        pieces = []
        for a, b in pairwise(cuts):
            parts = [
                (sum_of(_between(x, axis, a, b) if x in varying else x), k) for x, k in view.terms.items()
            ]
            whole = build_sum(added((SumView(view.constant, {}), 1), *parts), dtype_of(t))
            pieces.append(fit_to(whole, array_type(t.type.dtype, _with(shape, axis, b - a))))
        return Concatenate(axis).make_node(*pieces)
    return None


def _with(shape: Sequence[Any], axis: int, extent: Any) -> tuple[Any, ...]:
    """((2, 3), −1, 5) → (2, 5)"""
    return tuple([extent if i == len(shape) + axis else n for i, n in enumerate(shape)])


class _Stretch(NamedTuple):
    """x[…, start:stop, …], or x[…, start, …] if it is `one`: entries that follow one another along an axis."""

    whole: Term
    pattern: tuple[Any, ...]
    start: int
    stop: int
    one: bool

    def moved(self, x: Any, start: int, stop: int, one: bool) -> Any:
        """The same entries of x, but others along the axis."""
        key = [slice(*p) if type(p) is tuple else p for p in self.pattern]
        key[key.index(None)] = start if one else slice(start, stop)
        return getitem(x, tuple(key))


def _stretch(t: Term, axis: int) -> _Stretch | None:
    """x[1:4] → x, 1, 4: what a term has of another along an axis of that; all of itself, if it is no selection."""
    whole, pattern = (t.rands[0], t.op.pattern) if type(t.op) is Index else (t, ())
    rank, extent = whole.type.ndim, whole.type.extent(axis)
    if (len(t.rands) > 1 and type(t.op) is Index) or rank < -axis or extent is None:
        return None
    pattern = (*pattern, *[WHOLE] * (rank - len(pattern)))
    entry = pattern[axis]
    start, stop, step = (
        (0, extent, None) if entry == WHOLE else entry if type(entry) is tuple else (entry, entry + 1, None)
    )
    if step is not None:
        return None
    return _Stretch(whole, _with(pattern, axis, None), start, stop, type(entry) is not tuple)


def _between(t: Term, axis: int, a: int, b: int) -> Any:
    """x[1:], 2, 4 → x[3:5]: entries of entries are entries of the whole."""
    part = _stretch(t, axis)
    if part is None or part.one:
        return select(t, axis, slice(a, b))
    return part.moved(part.whole, part.start + a, part.start + b, one=False)


def _cuts(t: Term, axis: int) -> list[int]:
    """concatenate((x, y, z))[1:] → [len x − 1, len x + len y − 1]: where pieces meet along an axis."""
    part = _stretch(t, axis)
    if part is None or type(part.whole.op) is not Concatenate or part.whole.op.axis != axis or part.one:
        return []
    ends = accumulate(x.type.shape[axis] for x in part.whole.rands)
    return [end - part.start for end in ends if part.start < end < part.stop]


def running_sum(t: Term) -> Any:
    """Return a sum that holds two entries of what runs, taken from each other, by what lies between them, or None.

    cumsum(x)[k + 1] − cumsum(x)[k] = x[k + 1],  cumprod(x)[k] − cumprod(x)[k + 1] = cumprod(x)[k]·(1 − x[k + 1])
    """
    view = sum_of(t)
    parts = [x for x in list(view.terms)[:SHARED] if is_term(x) and runs(x)]
    for x, y in combinations(parts, 2):
        k = view.terms[x]
        if k == -view.terms[y] and (found := between(x, y)) is not None:
            left = added((view, 1), (SumView(0, {x: 1, y: -1}), -k), (sum_of(found), k))
            return fit(build_sum(left, dtype_of(t)), t)
    return None


def left_of_sum(t: Term) -> Any:
    """Σ f(x) − f(x[1]) = Σ where(others, f(x), 0): a sum less entries that it has, as that of the others; or None.

    Each sum of several loses entries of its own: Σⱼ x[i, j] − x[i, 1]. Σ x − Σ x[:2] has lost two.
    """
    view = sum_of(t)
    for total, k in list(view.terms.items())[:SHARED]:
        moves, whole = _under_moves(total)
        size = whole.rands[0].type.size if type(whole.op) is Sum else None
        parts = [x for x, n in view.terms.items() if n == -k and is_term(x) and x is not total]
        if not size or size > MOVED or not parts:
            continue
        (x,), shape = whole.rands, whole.rands[0].type.shape
        of = np.arange(whole.type.size).reshape(whole.type.shape)
        places, sums = np.arange(size).reshape(shape), np.broadcast_to(of, shape)
        others, gone = np.ones(size, bool), {total: k}
        for part in parts[:SHARED]:
            back, inner = _under_moves(part)
            entries, axes = (inner.rands[0], inner.op.axes) if type(inner.op) is Sum else (inner, ())
            if not entries.type.size or (selection := _selection_of(entries, x)) is None:
                continue
            among, lost = _computed(selection, sums), np.ravel(_computed(selection, places))
            first = np.min(among, axis=axes, keepdims=True)
            if (
                np.all(among == first)
                and _are_alike(_computed(back, first), _computed(moves, of))
                and np.all(others[lost])
                and np.unique(lost).size == lost.size
            ):
                others[lost] = False
                gone[part] = -k
        if len(gone) > 1:
            zero = constant(0.0, x.type.dtype)
            rest: Any = whole.op.make_node(where(constant(others.reshape(shape)), x, zero))
            for move in reversed(moves):
                rest = move.op.make_node(rest)
            return fit(rebuilt(added((view, 1), (SumView(0, gone), -1), (sum_of(rest), k)), t), t)
    return None


def _under_moves(t: Term) -> tuple[Selection, Term]:
    """(Σ x)[:, None] → ([:, None],), Σ x: what moves or repeats entries at the root of a term, and what is below."""
    moves: list[Term] = []
    while isinstance(t.op, RESHAPES):
        moves.append(t)
        t = t.rands[0]
    return tuple(moves), inner_product(t) or t


def _selection_of(t: Term, x: Term) -> Selection | None:
    """f(x[1:]), f(x) → ([1:],): how entries are selected that a term has of another, function of entries; or None."""
    for node in subterms(t):
        chain, whole = chain_of(node)
        if not chain or any(len(step.rands) > 1 for step in chain) or whole.type.shape != x.type.shape:
            continue
        if t is selected(chain, x):
            return chain
        found = pushed(chain, x)
        if found.type == t.type and equal_ground(found, t):
            return chain
    return None


def _computed(steps: Selection, found: Any) -> Any:
    """([:, 1],), array → array[:, 1]: what selects or moves entries, done to an array."""
    for step in reversed(steps):
        found = step.op.compute(found)
    return found


def _are_alike(x: Any, y: Any) -> bool:
    """(1, 3), (3,) → True, if the entries are the same: whether arrays agree but for leading axes of extent 1."""
    return bare(x.shape) == bare(y.shape) and np.array_equal(np.ravel(x), np.ravel(y))


def runs(t: Term) -> bool:
    """cumsum(x)[1:] → True: whether a term has entries of a running sum, or of running products."""
    return type(t.op) is Index and type(t.rands[0].op) in (CumSum, CumProd)


def of_one_run(x: Term, y: Term) -> bool:
    """cumsum(x)[1:], cumsum(x)[:-1] → True: whether two terms have entries of the same running sum, or products."""
    return runs(x) and runs(y) and x.rands[0] is y.rands[0]


def between(x: Term, y: Term) -> Term | None:
    """cumsum(x)[1:], cumsum(x)[:-1] → x[1:]: how far apart entries of what runs are, by what lies between; or None."""
    if not of_one_run(x, y):
        return None
    ours, theirs = (_stretch(t, t.rands[0].op.axis) for t in (x, y))
    if ours is None or theirs is None or (ours.pattern, ours.one) != (theirs.pattern, theirs.one):
        return None
    steps = ours.start - theirs.start
    if steps != ours.stop - theirs.stop or (abs(steps) > STEPS and not ours.one):
        return None
    return _change(theirs, steps) if steps > 0 else negative(_change(ours, -steps))


def _change(first: _Stretch, steps: int) -> Any:
    """y[k + n] − y[k] → xₖ₊₁ + … + xₖ₊ₙ,  or y[k]·(xₖ₊₁·…·xₖ₊ₙ − 1) of running products"""
    scan, (x,) = first.whole.op, first.whole.rands
    adds = type(scan) is CumSum
    if first.one:
        right = sum(type(p) is tuple for p in first.pattern[len(first.pattern) + scan.axis + 1 :])
        between = first.moved(x, first.start + 1, first.start + 1 + steps, one=False)
        axes = (-1 - right,)
        between = squeeze((Sum if adds else Prod)(axes).make_node(between), axes)
    else:
        windows = [first.moved(x, first.start + k, first.stop + k, one=False) for k in range(1, steps + 1)]
        between = reduce(add if adds else multiply, windows)
    if adds:
        return between
    return multiply(first.moved(first.whole, first.start, first.stop, first.one), subtract(between, 1.0))
