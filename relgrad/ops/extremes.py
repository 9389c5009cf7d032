"""Reductions that pick an entry, or say where it stands or whether there is one."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import Laws, of_first
from relgrad.errors import GradientError, ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.op import Op, is_constant
from relgrad.ops.arguments import call, normalize_axes, refuse, require_ground
from relgrad.ops.arithmetic import absolute, divide, multiply, power
from relgrad.ops.comparison import logical_and, logical_or, not_equal
from relgrad.ops.conventional import Under
from relgrad.ops.reduction import Reduction, is_given, masked, reduce, single
from relgrad.ops.structure import broadcast_to, squeeze
from relgrad.term import Term
from relgrad.types import NONNEGATIVE, Interval, Shape, Type


class _Extreme(Reduction):
    """max(x), x̄ = ȳ·[x = max]/count: the largest or smallest entry; those that tie share its cotangent equally, as in
    JAX.
    """

    finite = True
    out_of_range = "stays"
    rounds = False
    range = staticmethod(of_first)

    def output_type(self, *types: Any) -> Type:
        _require_entries(self, types[0].shape)
        return super().output_type(*types)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        mask, count = self._ties(inputs[0], outputs[0])
        return [output_gradients[0] * mask / count]

    def _ties(self, x: Any, out: Any) -> tuple[Any, Any]:
        mask = self._extreme(x, out)
        return mask, np.sum(mask, axis=self.axes, dtype=x.dtype, keepdims=True)

    def _extreme(self, x: Any, out: Any) -> Any:
        """log(1 + u), max of it → u == max(u): which entries are the extreme, of numbers that are rounded less."""
        u, sign = _order(x.term, self.axes)
        if u is x.term:
            return np.equal(x, out)
        return np.equal(x.family(u), x.family((Max if sign * self.laws.extreme > 0 else Min)(self.axes)(u)))

    def under(self, conventions: Any) -> Op:
        return self if conventions.ties == "share" else _Picking(self, conventions.ties == "last")

    def ball(self, *balls: Any) -> Any:
        """max(max(a, b), c), along each axis in turn, = max(a, b, c) of balls."""
        pick = np.frompyfunc(lambda a, b: getattr(a, self.numpy_name)(b), 2, 1)
        (x,) = balls
        for axis in self.axes:
            x = pick.reduce(x, axis=axis, keepdims=True)
        return x


class _Picking(Under, _Extreme):
    """x̄ = ȳ at the first (last) x = max: a largest or smallest entry that is the first or last of those that tie."""

    def __init__(self, original: _Extreme, last: bool):
        super().__init__(original.axes)
        self.original, self.last = original, last
        # Which entries are the extreme is a law of the op that is applied.
        self.laws = original.laws

    def _ties(self, x: Any, out: Any) -> tuple[Any, Any]:
        """[1, 2, 2], 2 → [0, 1, 0], 1: the mask of the one entry that is picked, and that it is one."""
        extents = [x.shape[a] if a - len(x.shape) in self.axes else 1 for a in range(len(x.shape))]
        if None in extents:
            raise GradientError(
                f"which entry is the {'last' if self.last else 'first'} along an unknown extent is not known",
                cure="state the extents, or let those that tie share: ties='share'",
            )
        count = math.prod(extents)
        places = np.arange(count).astype(x.dtype).reshape(extents)
        pick, never = (np.max, -1) if self.last else (np.min, count)
        mask = np.equal(
            places,
            pick(np.where(self._extreme(x, out), places, never), axis=self.axes, keepdims=True),
        )
        return mask, np.sum(mask, axis=self.axes, dtype=x.dtype, keepdims=True)


def _order(t: Term, axes: tuple[int, ...]) -> tuple[Term, int]:
    """√(1 + v²) → |v|, 1;    2 − eᵘ → u, −1: a term that is in the same order along axes, or the opposite one."""
    sign = 1
    while (step := _same_order(t, axes)) is not None and step[0].type == t.type:
        t, sign = step[0], sign * step[1]
    return t, sign


def _same_order(t: Term, axes: tuple[int, ...]) -> tuple[Term, int] | None:
    """eᵘ → u, 1;    c − u → u, −1;    −2·u → u, −1;    u² → |u|, 1;    sin u, [1, 2]·u → None

    Numbers, and the other parts of a sum, are the same along the axes.
    """
    op = t.op
    if op.laws.monotone and not op.jumps:
        return t.rands[0], op.laws.monotone
    if op.as_sum:
        moving = [i for i, x in enumerate(t.rands) if any(x.type.extent(a) != 1 for a in axes)]
        return (t.rands[moving[0]], op.as_sum[moving[0]]) if len(moving) == 1 else None
    numbers = [x for x in t.rands if is_constant(x)]
    if len(numbers) != 1 or len(t.rands) != 2 or op not in (multiply, divide, power):
        return None
    (number,), (x,) = numbers, (x for x in t.rands if not is_constant(x))
    values = number.op.value.ravel()
    if not values.size or np.any(values != values[0]):
        return None
    c = values[0]
    if op is power and number is t.rands[1]:
        return (absolute.make_node(x), 1) if c > 0 and c % 2 == 0 else None
    if op is power or (op is divide and number is t.rands[0]) or c == 0:
        return None
    return x, 1 if c > 0 else -1


class Max(_Extreme):
    """max([1, 3, 2]) = 3: the largest entry over axes."""

    numpy_name = "max"
    laws = Laws(extreme=1)

    def reflected(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1 − max(x) = min(1 − x)"""
        return Min(self.axes)(*operands)


class Min(_Extreme):
    """min([1, 3, 2]) = 1: the smallest entry over axes."""

    numpy_name = "min"
    laws = Laws(extreme=-1)

    def reflected(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1 − min(x) = max(1 − x)"""
        return Max(self.axes)(*operands)


class Any_(Reduction):
    """any(x) = (x₀ ≠ 0) ∨ (x₁ ≠ 0) ∨ …, over axes."""

    numpy_name = "any"
    connected = ()
    range = Interval(0.0, 1.0)

    @property
    def name(self) -> str:
        return self.numpy_name

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.dtype(bool)

    def ball(self, *balls: Any) -> Any:
        """[0, 2] → 1: entries other than 0 joined by ∨ (∧) along each axis, of balls."""
        decide: Any = (logical_or if self.numpy_name == "any" else logical_and).scalar_ball
        join = np.frompyfunc(decide, 2, 1)
        truth = not_equal.ball(balls[0], 0)
        for axis in self.axes:
            truth = join.reduce(truth, axis=axis, keepdims=True)
        return truth


class All_(Any_):
    """Whether all entries over axes are nonzero."""

    numpy_name = "all"


class ArgMax(Reduction):
    """argmax([1, 3, 3]) = 1: where the first largest entry stands along one axis, or in the flattened array.

    Several axes are all that have more than one entry: the others were squeezed from the operand.
    """

    numpy_name = "argmax"
    connected = ()
    drops_unit_axes = False
    rounds = False
    range = NONNEGATIVE

    def output_type(self, *types: Any) -> Type:
        _require_entries(self, types[0].shape)
        return super().output_type(*types)

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.dtype(np.intp)

    def compute(self, *arrays: Any) -> Any:
        return getattr(np, self.numpy_name)(arrays[0], axis=self._axis, keepdims=True)

    @property
    def _axis(self) -> int | None:
        return self.axes[0] if len(self.axes) == 1 else None

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"np.{self.numpy_name}({names[0]}, axis={self._axis}, keepdims=True)"

    def ball(self, *balls: Any) -> Any:
        (x,) = balls
        if self._axis is not None:
            return np.apply_along_axis(self._ball_position, self._axis, x)
        return self._ball_position(x.ravel()).reshape((1,) * x.ndim)

    def _ball_position(self, row: Any) -> Any:
        """[1 ± 1, 1.5] → [0, 1]: the ball around the positions that may be the first extreme, in an array of one
        entry.
        """
        import flint

        values = list(-row if self.numpy_name == "argmin" else row)
        places = [
            flint.arb(i)
            for i, x in enumerate(values)
            if not any(y >= x for y in values[:i]) and not any(y > x for y in values[i + 1 :])
        ]
        result = np.empty(1, dtype=object)
        result[0] = functools.reduce(flint.arb.union, places) if places else flint.arb.nan()
        return result


class ArgMin(ArgMax):
    """Where the first smallest entry stands along one axis, or in the flattened array."""

    numpy_name = "argmin"


def _require_entries(op: Reduction, shape: Shape) -> None:
    """extent 0 along a reduced axis → ShapeError: there is no largest or smallest of no numbers."""
    if any(shape[a] == 0 for a in op.axes):
        raise ShapeError(
            f"{op.numpy_name} over axes {op.axes} of an array of shape {shape} does not exist",
            cause="an extent that is reduced is 0, and there is no largest or smallest of no numbers",
            cure="leave the reduction out where the array is empty",
        )


def _extreme(op: type[_Extreme], a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """max(x, initial=v, where=m) = max(v, max(where(m, x, v))): the extreme with an initial value, if there is one."""
    name = f"np.{op.numpy_name}"
    if not is_given(initial):
        if is_given(where, True):
            raise TraceError(
                f"{name} cannot be traced with where= and without initial=",
                cause="there is no largest or smallest of no numbers, and NumPy raises ValueError",
                cure="pass initial= as well, such as -np.inf for a maximum",
            )
        return reduce(op, a, axis, keepdims)
    x = require_ground(f"{name} with initial=", a)
    first = single(initial, x)
    axes = normalize_axes(axis, x.type.ndim)
    join = np.maximum if op is Max else np.minimum
    if any(x.type.extent(i) == 0 for i in axes):
        shape = [1 if i - x.type.ndim in axes else n for i, n in enumerate(x.type.shape)]
        kept = broadcast_to(first, tuple(shape))
        return kept if keepdims else squeeze(kept, axes)
    return call(join, first, reduce(op, masked(name, x, where, first), axis, keepdims))


def _traced(op: type[_Extreme]) -> Any:
    """Max → the function that traces `np.max`: max(x, axis)ᵢ = the largest of row i."""

    def trace(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """x, axis → max(x, axis); raises for `out`."""
        refuse(f"np.{op.numpy_name}", out=out)
        return _extreme(op, a, axis, keepdims, initial, where)

    return trace


max_ = implements(np.max, np.amax, "max")(_traced(Max))
min_ = implements(np.min, np.amin, "min")(_traced(Min))


@implements(np.any, "any")
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Trace `np.any`: what a mask leaves out counts as false."""
    refuse("np.any", out=out)
    return reduce(Any_, masked("np.any", a, where, False), axis, keepdims)


@implements(np.all, "all")
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Trace `np.all`: what a mask leaves out counts as true."""
    refuse("np.all", out=out)
    return reduce(All_, masked("np.all", a, where, True), axis, keepdims)


@implements(np.argmax, "argmax")
def argmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Trace `np.argmax`."""
    refuse("np.argmax", out=out)
    return reduce(ArgMax, a, axis, keepdims)


@implements(np.argmin, "argmin")
def argmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Trace `np.argmin`."""
    refuse("np.argmin", out=out)
    return reduce(ArgMin, a, axis, keepdims)
