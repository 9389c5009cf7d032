"""Sums of entries: of functions of entries, and of arrays that are joined of parts.

σ(x)[1:] − σ(x)[:-1]             σ(x[1:]) − σ(x[:-1])
[0, σ, 1][1:] − [0, σ, 1][:-1]   [σ[:1] − 0, σ[1:] − σ[:-1], 1 − σ[-1:]]
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from relgrad.bounds import range_of
from relgrad.logic.build import build_sum, fitted
from relgrad.logic.complements import complement_of
from relgrad.logic.group import SumView, added
from relgrad.logic.parts import dtype_of
from relgrad.logic.rewrite import chain_of, pushed
from relgrad.logic.view import SHARED, sum_of
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.gather import WHOLE, Index
from relgrad.ops.indexing import getitem
from relgrad.ops.joining import Concatenate
from relgrad.ops.structure import RESHAPES, BroadcastTo, broadcast_to
from relgrad.term import Term, is_term


def sum_of_entries(t: Term) -> Term | None:
    """σ(x)[1:] − σ(x)[:-1] → σ(x[1:]) − σ(x[:-1]): summands that are shares by one function, as it is of entries; or
    None.
    """
    view = sum_of(t)
    if not 1 < len(view.terms) <= SHARED:
        return None
    inside: dict[Any, list[tuple[Any, Term]]] = {}
    for part in view.terms:
        selection, inner = chain_of(part) if is_term(part) else ((), part)
        plain = bool(selection) and all(type(step.op) is Index for step in selection)
        if plain and inner.op.elementwise and len(inner.rands) == 1 and _is_share(inner):
            inside.setdefault(inner.op, []).append((part, pushed(selection, inner, inner.rands)))
    taken = [pair for pairs in inside.values() if len(pairs) > 1 for pair in pairs]
    if not taken:
        return None
    new = [(SumView(0, {part: -1, function: 1}), view.terms[part]) for part, function in taken]
    return fitted(build_sum(added((view, 1), *new), dtype_of(t)), t)


def _is_share(t: Term) -> bool:
    """σ(x), e⁻ˣ² → True: whether an op says what it leaves of one, and all entries are from 0 to 1."""
    among = range_of(t)
    return t.op.complement is not None and among.low >= 0 and among.high <= 1


def sum_of_joined(t: Term) -> Term | None:
    """[0, σ, 1][1:] − [0, σ, 1][:-1] → [σ[:1] − 0, σ[1:] − σ[:-1], 1 − σ[-1:]]: a sum of arrays that are joined of
    numbers and shares, as the sums of their parts, joined; or None.
    """
    view, shape = sum_of(t), t.type.shape
    if not 1 < len(view.terms) <= SHARED or None in shape or not all(map(is_term, view.terms)):
        return None
    for axis in range(-len(shape), 0):
        joined = {part: found for part in view.terms if (found := _joined(part, axis)) is not None}
        ends = sorted({0, shape[axis], *[end for _, _, some in joined.values() for end in some]})
        if len(joined) < 2 or not 2 < len(ends) <= SHARED:
            continue
        sums: list[Any] = []
        for start, end in pairwise(ends):
            key = lambda n, axis=axis, start=start, end=end: (
                ...,
                slice(start + n, end + n),
                *[slice(None)] * (-1 - axis),
            )
            new = SumView(view.constant, {})
            for part, k in view.terms.items():
                whole, first, _ = joined.get(part, (broadcast_to(part, shape), 0, ()))
                new = added((new, 1), (_as_number(getitem(whole, key(first))), k))
            sums.append(fitted(build_sum(new, dtype_of(t)), getitem(t, key(0))))
        if None not in sums:
            return as_term(Concatenate(axis)(*sums))
    return None


def _joined(t: Term, axis: int) -> tuple[Term, int, list[int]] | None:
    """[0, σ, 1][1:], of 5 entries σ → [0, σ, 1], 1, [5]: what is joined along an axis of numbers and shares; where
    entries of it begin, and where parts end in those; or None.
    """
    if t.type.ndim < -axis:
        return None
    whole, start, stop = t, 0, t.type.shape[axis]
    if type(t.op) is Index and len(t.rands) == 1:
        (whole,) = t.rands
        pattern = (*t.op.pattern, *[WHOLE] * (whole.type.ndim - len(t.op.pattern)))
        if any(p != WHOLE for i, p in enumerate(pattern, -len(pattern)) if i != axis):
            return None
        chosen = pattern[axis]
        start, stop, step = (
            slice(*chosen).indices(whole.type.shape[axis]) if type(chosen) is tuple else (0, 0, 0)
        )
        if step != 1:
            return None
    if type(whole.op) is not Concatenate or whole.op.axis != axis:
        return None
    others = [part for part in whole.rands if not _is_number(part)]
    if len(others) == len(whole.rands) or all(complement_of(part) is None for part in others):
        return None
    ends = accumulate(part.type.shape[axis] for part in whole.rands)
    return whole, start, [end - start for end in ends if start < end < stop]


def _as_number(t: Term) -> SumView:
    """[1, 1] → 1, x → x: one constant, or a summand."""
    values = np.unique(t.op.value) if is_constant(t) else ()
    return sum_of(constant(values[0], t.type.dtype) if len(values) == 1 else t)


def _is_number(t: Term) -> bool:
    """Whether all entries are one constant as written."""
    while type(t.op) in (BroadcastTo, *RESHAPES):
        t = t.rands[0]
    return is_constant(t)
