"""Order: where entries stand that are sorted, where numbers belong among sorted ones, what was largest so far.

These are integers, and have no derivative. Sorting gathers: sort(x) = x[argsort(x)], so the cotangent of an entry goes
to where the entry came from; among entries that tie it is the order that NumPy finds which decides.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, along_axis
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import as_balls, call, is_symbolic, normalize_axis, refuse, require_ground
from relgrad.ops.comparison import less, less_equal
from relgrad.ops.derived import array, derived
from relgrad.ops.expression import Expression
from relgrad.ops.gather import TakeAlong
from relgrad.term import Term
from relgrad.types import NONNEGATIVE, Type, array_type


class Places(Expression):
    """0 ≤ argsort(x) < n: integers that say where entries stand along an axis: constant wherever continuous."""

    axis: int
    connected = ()
    rounds = False
    view_map = FRESH
    range = NONNEGATIVE
    mixes = along_axis

    def output_type(self, *types: Any) -> Type:
        return array_type(np.intp, types[0].shape)


class ArgSort(Places):
    """x[argsort(x)]₀ ≤ x[argsort(x)]₁ ≤ …, NaN last: the permutation along an axis that sorts."""

    __props__ = ("axis", "kind")

    def __init__(self, axis: int, kind: str | None = None):
        self.axis, self.kind = axis, kind

    def compute(self, *arrays: Any) -> Any:
        return np.argsort(arrays[0], axis=self.axis, kind=self.kind)  # type: ignore[call-overload]

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        kind = "" if self.kind is None else f", kind={self.kind!r}"
        return f"np.argsort({names[0]}, axis={self.axis}{kind})"

    def ball(self, *balls: Any) -> Any:
        return as_balls(np.apply_along_axis(_ball_order, self.axis, balls[0]) if balls[0].size else balls[0])


class ArgPartition(Places):
    """x[p]ᵢ ≤ x[p]ₖ for i < k: a permutation along an axis that puts the k-th smallest entry at k."""

    __props__ = ("axis", "kth")
    axis: int
    kth: tuple[int, ...]
    text = "np.argpartition({0}, {kth}, axis={axis})"

    def ball(self, *balls: Any) -> Any:
        return ArgSort(self.axis).ball(*balls)


class RunningArg(Places):
    """x[running_argmax(x)ₖ] = max(x₀, …, xₖ): where it stands along an axis, the first of those that tie."""

    __props__ = ("axis", "largest")
    text = "{name}({0}, {axis})"

    def __init__(self, axis: int, largest: bool):
        self.axis, self.largest = axis, largest
        self.imports = ("running_argmax" if largest else "running_argmin",)

    @property
    def name(self) -> str:
        return self.imports[0]

    def ball(self, *balls: Any) -> Any:
        """the running position of the extreme, of balls: [1, 3, 2] → [0, 1, 1]."""

        def row(x: Any) -> Any:
            """[1, 3, 2] → [0, 1, 1], for one row."""
            best = [0]
            for i in range(1, len(x)):
                before = x[best[-1]]
                best.append(i if _sign(x[i], before) * (1 if self.largest else -1) > 0 else best[-1])
            return np.array(best, dtype=object)

        return as_balls(np.apply_along_axis(row, self.axis, balls[0]) if balls[0].size else balls[0])


def _sign(x: Any, y: Any) -> int:
    """Return the sign of x − y for balls; raises ArithmeticError where it is not certain at this precision."""
    if not (x < y or x > y or x == y):
        raise ArithmeticError(f"the order of {x} and {y} is not certain")
    return 1 if x > y else -1 if x < y else 0


def _ball_order(row: Any) -> Any:
    """Return, as objects, the permutation that sorts a row of balls."""
    by_value = functools.cmp_to_key(lambda i, j: _sign(row[i], row[j]))
    return np.array(sorted(range(len(row)), key=by_value), dtype=object)


class SearchSorted(Places):
    """searchsorted(a, v) = how many aᵢ < v (right: aᵢ ≤ v): where v belongs among the sorted."""

    __props__ = ("side",)
    side: str

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return None if i == 0 else ()

    def output_type(self, *types: Any) -> Type:
        """(n,), (2, 3) → int (2, 3); raises ShapeError where a is no vector."""
        a, v = types
        if len(a.shape) != 1:
            raise ShapeError(
                f"np.searchsorted looks among the entries of a vector, not of an array of shape {a.shape}",
                cure="count row by row instead: np.sum(a < v[..., None], axis=-1)",
            )
        return array_type(np.intp, v.shape)

    def compute(self, *arrays: Any) -> Any:
        return np.searchsorted(*arrays, side=self.side)  # type: ignore[call-overload]

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        side = "" if self.side == "left" else f", side={self.side!r}"
        return f"np.searchsorted({names[0]}, {names[1]}{side})"

    def ball(self, *balls: Any) -> Any:
        a, v = balls
        before = (less if self.side == "left" else less_equal).ball(a, np.asarray(v)[..., None])
        return np.sum(before, axis=-1)


def _axis(function: str, a: Any, axis: Any, numbers: bool = False) -> tuple[Any, int]:
    """(x, None) → ravel(x), −1; (x, 0) → x, −2: a term and a negative axis of it; that of the flattened array for None.

    Also for the axis of `numbers`.
    """
    x = require_ground(function, a)
    if axis is None or (numbers and not x.type.ndim and axis in (0, -1)):
        return call(np.ravel, x), -1
    return x, normalize_axis(axis, x.type.ndim)


def _kind(kind: Any, stable: Any) -> str | None:
    return "stable" if stable or kind in ("stable", "mergesort") else kind


@implements(np.argsort, "argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Trace `np.argsort`."""
    refuse("np.argsort", order=order)
    x, axis = _axis("np.argsort", a, axis, numbers=True)
    return ArgSort(axis, _kind(kind, stable)).make_node(x)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Trace `np.sort`: x[argsort(x)]."""
    refuse("np.sort", order=order)
    x, axis = _axis("np.sort", a, axis)
    return TakeAlong(axis).make_node(x, ArgSort(axis, _kind(kind, stable)).make_node(x))


def _partition(function: str, a: Any, kth: Any, axis: Any) -> tuple[Any, Any]:
    """(x, k) → x, p with x[p]ᵢ ≤ x[p]ₖ for i < k: the array, and its permutation."""
    x, axis = _axis(function, a, axis, numbers=function == "np.argpartition")
    n = x.type.shape[axis]
    places = [operator.index(k) for k in np.atleast_1d(kth)]
    if n and any(not -n <= k < n for k in places):
        raise ShapeError(f"{function}: kth={kth} is out of bounds for an axis of extent {n}")
    return x, ArgPartition(axis, tuple(places)).make_node(x)


@implements(np.argpartition, "argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """Trace `np.argpartition`."""
    refuse("np.argpartition", order=order)
    return _partition("np.argpartition", a, kth, axis)[1]


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    """Trace `np.partition`: x[argpartition(x)]."""
    refuse("np.partition", order=order)
    x, places = _partition("np.partition", a, kth, axis)
    return TakeAlong(places.op.axis).make_node(x, places)


@derived(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """lexsort((b, a)) sorts by a, then b: = stable sorts by one key after the other, the last counts most:
    `np.lexsort`.
    """
    first, *others = [array(key) for key in keys]
    if not first.ndim:
        return np.zeros_like(first, dtype=np.intp)
    places = np.argsort(first, axis=axis, stable=True)
    for key in others:
        later = np.argsort(np.take_along_axis(key, places, axis=axis), axis=axis, stable=True)
        places = np.take_along_axis(places, later, axis=axis)
    return places


@implements(np.searchsorted, "searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """searchsorted(a, v) = how many aᵢ < v: traces `np.searchsorted`."""
    from relgrad.ops.creation import stack_nested

    if side not in ("left", "right"):
        raise ValueError(f"search side must be one of 'left' or 'right' (got {side!r})")
    vector = require_ground("np.searchsorted", stack_nested(a))
    if sorter is not None:
        vector = call(np.take, vector, sorter, 0)
    return SearchSorted(side).make_node(vector, require_ground("np.searchsorted", stack_nested(v)))


@derived(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """digitize(x, edges) = how many edges ≤ x (right: < x): traces `np.digitize`; above, where edges decrease."""
    x, bins = array(x), array(bins)
    side = "left" if right else "right"
    increasing = np.searchsorted(bins, x, side)
    decreasing = len(bins) - np.searchsorted(bins[::-1], x, side)
    if not is_symbolic(bins):
        np.digitize(0.0, bins)  # raises ValueError where the edges are not in order
        return increasing if not len(bins) or bins[0] <= bins[-1] else decreasing
    return np.where(bins[0] <= bins[-1], increasing, decreasing) if len(bins) else increasing


def _running(function: np.ufunc, largest: bool) -> Callable[..., Any]:
    """maximum.accumulate(x)ₖ = max(x₀, …, xₖ): the function that traces it, x at its running argmax."""

    def trace(a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """x → x[running_argmax(x)]; raises ShapeError for a number."""
        name = f"np.{function.__name__}.accumulate"
        refuse(name, dtype=dtype, out=out)
        x = strong(as_term(a))
        if not x.type.ndim:
            raise ShapeError(f"{name} needs an axis, and a number has none", cure="use np.atleast_1d(x)")
        x, axis = _axis(name, x, axis)
        return TakeAlong(axis).make_node(x, RunningArg(axis, largest).make_node(x))

    return trace


implements((np.maximum, "accumulate"))(_running(np.maximum, True))
implements((np.minimum, "accumulate"))(_running(np.minimum, False))
