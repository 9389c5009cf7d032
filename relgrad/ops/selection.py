"""Choosing between entries: by a condition, or by which is the larger."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.contract import FRESH, Laws
from relgrad.errors import TraceError
from relgrad.implementations import implements
from relgrad.op import as_term, constant, is_constant, strong
from relgrad.ops.arguments import call, hull, is_ground, is_symbolic, refuse, require_ground
from relgrad.ops.casting import cast
from relgrad.ops.comparison import not_equal
from relgrad.ops.conventional import picking
from relgrad.ops.derived import array, derived
from relgrad.ops.elementwise import Elementwise, elementwise, joint_dtype
from relgrad.ops.expression import Expression
from relgrad.ops.intervals import larger, smaller
from relgrad.term import Term
from relgrad.types import Interval, Type, array_type


class Where(Elementwise):
    """where(c, x, y)ᵢ = xᵢ where cᵢ, else yᵢ: numbers are true but 0."""

    def make_node(self, *inputs: Any) -> Term:
        condition, *branches = inputs
        if getattr(condition, "ground", False) and condition.type.dtype.kind != "b":
            condition = not_equal.make_node(condition, as_term(0))
        return super().make_node(condition, *branches)

    def _loop(self, keys: tuple[Any, ...]) -> tuple[np.dtype, ...]:
        condition, *branches = keys
        condition = np.dtype(bool) if isinstance(condition, type) else condition
        common = np.result_type(*[k(0) if isinstance(k, type) else k for k in branches])
        return condition, common, common, common

    def increment(self, inputs: list[Any], others: list[Any], increments: list[Any]) -> Any:
        (c, *_), (e, *_) = inputs, others
        chosen = np.where(c, *[0.0 if d is None else d for d in increments[1:]])
        return chosen if c.term is e.term else np.where(c == e, chosen, self(*inputs) - self(*others))


def _decided(c: Any, x: Any, y: Any) -> Any:
    """where(True, x, y) = x, where(False, x, y) = y, of a condition that is known; where(c, x, x) = x."""
    if x is y or (is_constant(c) and np.all(c.op.value)):
        return x
    return y if is_constant(c) and not np.any(c.op.value) else None


where = Where(
    "where",
    np.where,
    None,
    lambda g, out, c, x, y: np.where(c, g, 0.0),
    lambda g, out, c, x, y: np.where(c, 0.0, g),
    range=lambda c, x, y: y if c.low == c.high == 0 else x if c.positive or c.negative else hull(x, y),
    ball=lambda c, x, y: x if c != 0 else y if c == 0 else x.union(y),
    exactly=_decided,
    reflected=np.where,
    finite=True,
    out_of_range="stays",
    rounds=False,
    view_map=FRESH,
    named=False,
)


@implements(np.where)
def where_(condition: Any, *branches: Any) -> Any:
    """where(c, x, y)ᵢ = xᵢ where cᵢ, else yᵢ: traces `np.where`; raises TraceError for a condition alone."""
    if len(branches) != 2:
        raise TraceError(
            "np.where(condition) cannot be traced without x and y",
            cause="the number of its results depends on the data",
            cure="use np.where(condition, x, y)",
        )
    x, y = map(as_term, branches)
    if is_ground(x) and is_ground(y) and joint_dtype(x, y).kind in "iu":
        x, y = (_wrapped(z, joint_dtype(x, y)) for z in (x, y))
    c = as_term(condition)
    return where(strong(c, bool) if is_constant(c) and c.op.weak else c, x, y)


def _wrapped(x: Any, dtype: np.dtype) -> Any:
    """Return a Python number as an integer of a dtype, as C converts it: −1 among uint8 is 255."""
    return constant(x.op.value.astype(dtype)) if is_constant(x) and x.op.weak else x


def _winner(g: Any, wins: Any, ties: Any) -> Any:
    """Return the cotangent of an operand: all of g where it wins, half where both are equal."""
    return np.where(wins, g, np.where(ties, 0.5 * g, 0.0))


def _extreme(
    function: np.ufunc, wins: Callable[..., Any], sign: int, reflected: np.ufunc, strict: bool = False
) -> Elementwise:
    """max(x, y) = x where x wins, else y: the op of the larger operand, or of the smaller one for −1.

    NaN wins where it is `strict`, and else loses.
    """

    def one_part(d: Interval) -> tuple[Any, ...] | None:
        """max(x, y) = x for d = x − y ≥ 0, y for d ≤ 0."""
        if not (d.low >= 0 or d.high <= 0):
            return None
        whole = lambda g, out, x, y: g
        return (whole, None) if (d.low >= 0) == (sign > 0) else (None, whole)

    return elementwise(
        function,
        lambda g, out, x, y: _winner(g, wins(x, y), x == y),
        lambda g, out, x, y: _winner(g, wins(y, x), x == y),
        laws=Laws(
            associative=True,
            commutative=True,
            idempotent=True,
            identity=-sign * np.inf,
            absorbing=sign * np.inf if strict else None,
            extreme=sign if strict else 0,
        ),
        range=larger if sign > 0 else smaller,
        ball=(lambda x, y: x.max(y)) if sign > 0 else (lambda x, y: x.min(y)),
        strict=strict,
        finite=True,
        out_of_range="stays" if strict else "returns",
        rounds=False,
        under=picking(wins),
        reflected=reflected,
        kinks=True,
        one_part=one_part if strict else None,
    )


maximum = _extreme(np.maximum, np.greater, 1, np.minimum, strict=True)
minimum = _extreme(np.minimum, np.less, -1, np.maximum, strict=True)
fmax = _extreme(np.fmax, lambda x, y: np.logical_or(x > y, np.isnan(y)), 1, np.fmin)
fmin = _extreme(np.fmin, lambda x, y: np.logical_or(x < y, np.isnan(y)), -1, np.fmax)
heaviside = elementwise(
    np.heaviside,
    None,
    lambda g, out, x, y: np.where(x == 0, g, 0.0),
    range=lambda x, y: hull(Interval(0.0, 1.0), y),
    ball=lambda x, y: (
        type(x)(1) if x > 0 else type(x)(0) if x < 0 else y if x == 0 else y.union(x * 0).union(x * 0 + 1)
    ),
)


CLIP = vars(sys.modules["numpy._core._multiarray_umath"])["clip"]
"""The ufunc that `a.clip(l, h)` of an array calls, which has no public name."""


@implements(np.clip, "clip", CLIP)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    **options: Any,
) -> Any:
    """clip(a, l, h) = min(max(a, l), h): traces `np.clip`, where each bound may be missing."""
    refuse("np.clip", out=out, **options)
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    x = as_term(a)
    if is_ground(x) and x.type.dtype.kind in "iu":  # a Python number that is no such integer bounds nothing
        fits = np.iinfo(x.type.dtype)
        low = None if type(low) is int and low <= fits.min else low
        high = None if type(high) is int and high >= fits.max else high
    bounds = [as_term(bound) for bound in (low, high) if bound is not None]
    if len(bounds) == 2 and all(map(is_ground, (x, *bounds))):
        # One dtype is that of all three: one bound after the other would take -1 for an integer beside truth values.
        x = cast(x, joint_dtype(x, *bounds))
    for bound, limit in zip(bounds, (minimum,) if low is None else (maximum, minimum), strict=False):
        x = limit(x, bound)
    return x


def _of_one_dtype(choices: Any) -> list[Any]:
    """Return arrays in the dtype that they have in common, to which Python numbers give way."""
    several = [x if type(x) in (int, float) else array(x) for x in choices]
    dtype = np.result_type(*several)
    return [array(x).astype(dtype) for x in several]


class Choice(Expression):
    """choice(k) = k for 0 ≤ k < n: whole numbers as they are: others, and negative ones, are a ValueError."""

    __props__ = ("count",)
    count: int
    text = "np.choose({0}, range({count}))"
    connected = ()
    partial = True
    view_map = FRESH

    def output_type(self, *types: Any) -> Type:
        return array_type(np.intp, types[0].shape)

    def range_of(self, *ranges: Interval) -> Interval:
        return Interval(0.0, float(max(self.count - 1, 0)))

    def ball(self, *balls: Any) -> Any:
        return balls[0]


@derived(np.choose, "choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """choose(a, [x, y])ᵢ = [xᵢ, yᵢ][aᵢ]: traces `np.choose`."""
    refuse("np.choose", out=out)
    which, several = array(a), _of_one_dtype(choices)
    n = len(several)
    if which.dtype.kind not in "biu":
        raise TraceError("np.choose needs integers, or truth values, that say which choice is taken")
    if mode == "wrap":
        which = which.astype(np.intp) % n
    elif mode == "clip":
        which = np.clip(which.astype(np.intp), 0, n - 1)
    elif not is_symbolic(which):
        np.choose(which, np.zeros(n))  # raises ValueError out of bounds
    else:
        which = Choice(n)(which)
    which, *several = np.broadcast_arrays(which, *several)
    return np.take_along_axis(np.stack(several), which.astype(np.intp)[None], axis=0)[0]


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """nan_to_num([NaN, ∞]) = [0, largest]: traces `np.nan_to_num`; infinities become the largest floats unless told
    otherwise.
    """
    if not copy:
        refuse("np.nan_to_num", copy=copy)
    x = require_ground("np.nan_to_num", x)
    dtype = x.type.dtype
    if dtype.kind != "f":
        return x
    largest = np.finfo(dtype)
    above = dtype.type(largest.max if posinf is None else posinf)
    below = dtype.type(largest.min if neginf is None else neginf)
    x_finite = call(
        np.where,
        call(np.greater, x, largest.max),  # what leaves the range on the way is infinite, too
        above,
        call(np.where, call(np.less, x, largest.min), below, x),
    )
    return call(np.where, call(np.isnan, x), as_term(nan), x_finite)
