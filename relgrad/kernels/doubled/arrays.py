"""NumPy's functions of whole arrays, and functions known by their names, in doubled arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.kernels import eft, formulas
from relgrad.kernels.doubled.entries import multiply, pick, subtract
from relgrad.kernels.doubled.number import BLOCK, Doubled, Undecided, is_open, with_error
from relgrad.kernels.doubled.products import sliced_product
from relgrad.kernels.index import running_argmax, running_argmin
from relgrad.kernels.numbers import (
    LARGEST,
    alike,
    axes_of,
    entrywise_products,
    of_matrices,
    rules_in,
    share_rules,
    stretched,
)

FUNCTIONS, NAMED = Doubled.functions, Doubled.named


_rule = rules_in(FUNCTIONS)


@_rule(np.where)
def _where(c: Any, x: Any, y: Any) -> Doubled:
    return pick(c, Doubled.of(x), Doubled.of(y))


def _matmul(a: Doubled, b: Doubled) -> Doubled:
    """(a·b)_ik = Σ_j a_ij·b_jk in pairs of floats; of large matrices by slices, but for entries left open."""
    if a.size * b.shape[-1] <= BLOCK:
        return entrywise_products(a, b, multiply, total)
    found = sliced_product(a, b)
    *stack, row, column = np.nonzero(is_open(found))
    if not 0 < len(row) * a.shape[-1] <= LARGEST:
        return found
    at_stack = lambda part: np.broadcast_to(part, (*found.shape[:-2], *part.shape[-2:]))
    rows = a.moved(lambda part: at_stack(part)[*stack, row])
    columns = b.moved(lambda part: at_stack(np.swapaxes(part, -1, -2))[*stack, column])
    parts = [np.array(part) for part in found.parts]
    for part, better in zip(parts, total(multiply(rows, columns), axis=-1).parts, strict=True):
        part[*stack, row, column] = better
    return Doubled(*parts)


@_rule(np.sum)
def total(
    x: Doubled, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Doubled:
    """Σ x = Σ hi + Σ lo: leading parts without error, by blocks and then by halves, the rest in floats.

    Source: Ogita, Rump & Oishi 2005, Accurate sum and dot product, §4.
    """
    axes = axes_of(axis, x.ndim)
    count, kept = math.prod(x.shape[a] for a in axes), tuple(np.delete(x.shape, axes))
    x = x.moved(lambda part: np.moveaxis(np.asarray(part), axes, range(len(axes))).reshape((count, *kept)))
    rows = max(BLOCK // max(math.prod(kept), 1), 1)
    s, rest, size = x.hi[:rows], np.zeros(kept), np.zeros(kept)
    if count > rows:
        s, off, away = s.copy(), np.zeros(s.shape), np.zeros(s.shape)
        for i in range(rows, count, rows):
            some = slice(0, min(rows, count - i))
            s[some], t = eft.two_sum(s[some], x.hi[i : i + rows])
            off[some] += t
            away[some] += np.abs(t)
        rest, size = np.add.reduce(off, 0), np.add.reduce(away, 0)
    while len(s) > 1:
        half = len(s) // 2
        new, off = eft.two_sum(s[:half], s[half : 2 * half])
        rest, size = rest + np.add.reduce(off, 0), size + np.add.reduce(np.abs(off), 0)
        s = np.concatenate([new, s[2 * half :]]) if len(s) % 2 else new
    if not x.exact:
        rest, size = rest + np.add.reduce(x.lo, 0), size + np.add.reduce(np.abs(x.lo), 0)
    bound = np.add.reduce(np.broadcast_to(x.bound, x.shape), 0) + count * 2.0**-52 * size
    found = with_error(eft.two_sum(s[0] if count else rest, rest), bound)
    return found.moved(lambda part: np.expand_dims(part, axes)) if keepdims else found


Doubled.ufuncs[np.matmul] = of_matrices(_matmul)
share_rules(Doubled)


def _like(value: float) -> Any:
    return lambda x, *_, **__: Doubled(np.full(x.shape, value))


FUNCTIONS.update({np.zeros_like: _like(0.0), np.ones_like: _like(1.0)})


@_rule(np.argsort)
def _argsort(x: Doubled, axis: int = -1, kind: Any = None) -> Any:
    """(3, 1, 2) → (1, 2, 0): the order of the floats, if neighbours differ by more than their bounds; or Undecided."""
    order = np.argsort(x.floats(), axis=axis, kind="stable")
    if not x.exact:
        sorted_ = x.moved(lambda part: np.moveaxis(np.take_along_axis(part, order, axis), axis, 0))
        if not np.all(subtract(sorted_[1:], sorted_[:-1]).signs() > 0):
            raise Undecided
    return order


def _running(function: Callable[..., Any], sign: int) -> None:
    """(1, 3, 2) → (0, 1, 1): where floats have the extreme entry so far, if by more than bounds; or Undecided."""

    @_rule(function)
    def rule(x: Doubled, axis: int) -> Any:
        places = function(x.floats(), axis)
        if not x.exact:
            best = x.moved(lambda part: np.moveaxis(np.take_along_axis(part, places, axis), axis, 0)[:-1])
            later = x.moved(lambda part: np.moveaxis(part, axis, 0)[1:])
            is_new = np.diff(np.moveaxis(places, axis, 0), axis=0) > 0
            if not np.array_equal(sign * subtract(later, best).signs() > 0, is_new):
                raise Undecided
        return places


_running(running_argmax, 1)
_running(running_argmin, -1)


def _einsum(subscripts: str, *operands: Any, **_: Any) -> Any:
    """ij,jk->ik → Σ_j a_ij·b_jk; raises Undecided for what has no formula."""
    found = formulas.einsum(subscripts, *operands)
    if found is None:
        raise Undecided
    return found


def _norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))


def _unit(x: Any, axis: Any = None) -> Any:
    """x/‖x‖; NaN at 0, where the value is a matter of convention."""
    return x / _norm(x, axis, keepdims=True)


def _unit_pullback(x: Any, v: Any, axis: Any = None) -> Any:
    """(v − u·Σuv)/‖x‖ with u = x/‖x‖; NaN at 0."""
    x, v = stretched(*alike(x, v))
    norm = _norm(x, axis, keepdims=True)
    u = x / norm
    return (v - u * np.sum(u * v, axis=axis, keepdims=True)) / norm


NAMED["einsum"] = lambda _: _einsum
NAMED["norm2"], NAMED["unit"], NAMED["unit_pullback"] = (
    lambda _, f=f: f for f in (_norm, _unit, _unit_pullback)
)
NAMED["trace"] = lambda _: lambda x: np.sum(np.diagonal(x, 0, -2, -1), axis=-1)


@lambda f: NAMED.setdefault("add_at", lambda _: f)
def _add_at(values: Any, key: Any, shape: tuple[int, ...]) -> Any:
    """(u, v, w), [0, 2, 0], (3,) → (u + w, 0, v): zeros to which numbers are added, at one place one by one."""
    place = np.zeros(shape, np.int64)
    where = np.arange(place.size).reshape(shape)[key]
    where, values = np.ravel(np.broadcast_to(where, values.shape)), values.reshape(-1)
    found = values.of(np.zeros(place.size))
    while len(where):
        _, first = np.unique(where, return_index=True)
        parts = [np.array(p) for p in found.parts]
        for part, new in zip(parts, (found[where[first]] + values[first]).parts, strict=True):
            part[where[first]] = new
        found = values.made(parts)
        rest = np.setdiff1d(np.arange(len(where)), first)
        where, values = where[rest], values[rest]
    return found.reshape(shape)


NAMED["leave_one_out_prod"] = lambda _: lambda *xs, **axes: formulas.leave_one_out_prod(*alike(*xs), **axes)
