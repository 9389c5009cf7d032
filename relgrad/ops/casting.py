"""Casting between dtypes; and the parts of complex numbers, which real ones have too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import Laws
from relgrad.errors import TraceError
from relgrad.implementations import implements
from relgrad.op import Op, as_term, is_constant, strong
from relgrad.ops.align import align
from relgrad.ops.arguments import is_ground, predicate_ball, refuse, require_ground
from relgrad.ops.intervals import TRUTH
from relgrad.ops.structure import broadcast_like, squeeze
from relgrad.term import Term, term
from relgrad.types import Interval, Type, array_type


class Cast(Op):
    """cast(1.7, int) = 1: entries in another dtype, as `ndarray.astype` converts them.

    From float to float it is the identity of the reals, and the cotangent is cast back. To and from integers
    there is no derivative.
    """

    __props__ = ("dtype",)
    dtype: Any
    laws = Laws(linear=(0,))
    finite = True
    out_of_range = "stays"
    rounds = False

    def make_node(self, *inputs: Any) -> Term:
        """cast(x : dtype, dtype) → x, cast(2, float32) → float32(2):
        a cast that does nothing, or names a number's dtype, is none.
        """
        (x,) = inputs
        if not (is_ground(x) and self.ground):
            return term(self, x)
        if is_constant(x) and x.op.weak:
            return strong(x, self.dtype)
        if x.type.dtype == self.dtype:
            return x
        (operand,), axes = align([x])
        return squeeze(term(self, operand), axes)

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return ()

    def output_type(self, *types: Any) -> Type:
        return array_type(self.dtype, types[0].shape)

    def compute(self, *arrays: Any) -> Any:
        return np.asarray(arrays[0]).astype(self.dtype)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"np.asarray({names[0]}, dtype=np.{_name(self.dtype)})"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (x,), (g,) = inputs, output_gradients
        return [cast(g, x.dtype) if x.dtype.kind == self.dtype.kind == "f" else None]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (x,), (t,) = inputs, eval_points
        return [cast(t, self.dtype) if t is not None and x.dtype.kind == self.dtype.kind == "f" else None]

    def connection_pattern(self, node: Term) -> list[list[bool]]:
        return [[node.rands[0].type.differentiable and self.dtype.kind == "f"]]

    def range_of(self, *ranges: Interval) -> Interval:
        """([0.5, 2.7], int) → [0, 2], ([0, 300], int8) → [−128, 127]:
        truncated; all of the dtype where something wraps.
        """
        (x,) = ranges
        if self.dtype.kind == "f":
            return x
        if self.dtype.kind == "b":
            return TRUTH
        limits = np.iinfo(self.dtype)
        low, high = (v if math.isinf(v) else float(np.trunc(v)) for v in (x.low, x.high))
        if low < limits.min or high > limits.max:  # what does not fit wraps around
            return Interval(float(limits.min), float(limits.max))
        return Interval(low, high)

    def ball(self, *balls: Any) -> Any:
        """float → the ball, bool → 0 or 1, int → truncated towards 0."""
        if self.dtype.kind == "f":
            return balls[0]
        if self.dtype.kind == "b":
            return np.frompyfunc(_truth_ball, 1, 1)(balls[0])
        return np.frompyfunc(truncated_ball, 1, 1)(balls[0])


_truth_ball = predicate_ball(lambda x: x != 0, lambda x: x == 0)


def truncated_ball(x: Any) -> Any:
    """Return a ball rounded towards zero."""
    return x.floor() if x >= 0 else x.ceil() if x <= 0 else x.floor().union(x.ceil())


def _name(dtype: np.dtype) -> str:
    return "bool_" if dtype.kind == "b" else dtype.name


def cast(x: Any, dtype: Any) -> Any:
    """Return x (a symbolic array, term, array or number) in another real dtype.

    >>> cast(np.array([1.7, -1.7]), int)
    array([ 1, -1])

    Raises TraceError for a dtype that is not one of real numbers.
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        raise TraceError(
            f"cannot cast to dtype {dtype}",
            cause="traced arrays hold real numbers: booleans, integers or floats",
            cure="cast to a float, integer or boolean dtype",
        )
    return Cast(dtype)(x)


def astype(
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
    device: Any = None,
) -> Any:
    """astype(x, float32) = cast(x, float32): traces `x.astype` and `np.astype`; order and copy mean nothing here."""
    node = as_term(x)
    if is_ground(node) and not np.can_cast(node.type.dtype, np.dtype(dtype), casting):
        raise TraceError(
            f"cannot cast from {node.type.dtype} to {np.dtype(dtype)} by the rule {casting!r}",
            cure="leave out casting=",
        )
    return cast(node, dtype)


implements("astype")(astype)
if hasattr(np, "astype"):  # since NumPy 2.1

    @implements(np.astype)
    def astype_function(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """Trace `np.astype`."""
        return astype(x, dtype)


@implements("conj", "conjugate")
def conjugate_method(x: Any) -> Any:
    """Trace `x.conj()`, which is the identity on real arrays."""
    return as_term(x)


@implements(np.conjugate)
def conjugate(x: Any, **options: Any) -> Any:
    """Trace `np.conjugate`, which is the identity on real arrays; like NumPy's it makes booleans int8."""
    refuse("np.conjugate", **options)
    x = as_term(x)
    return cast(x, np.int8) if is_ground(x) and x.type.dtype.kind == "b" else x


@implements(np.imag)
def imag(val: Any) -> Any:
    """Trace `np.imag`, which is 0 on real arrays."""
    x = require_ground("np.imag", val)
    return broadcast_like(np.zeros((), x.type.dtype), x)
