"""Norms of vectors and matrices, computed without overflow or underflow on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.kernels_linalg import norm2, norm_p, unit, unit_p
from relgrad.op import Op, as_term, implements, strong
from relgrad.ops.arguments import (
    below_squeeze,
    call,
    is_ground,
    normalize_axes,
    normalize_axis,
    require_ground,
)
from relgrad.ops.reduction import Reduction, pattern_axes
from relgrad.ops.structure import squeeze
from relgrad.term import Term, term
from relgrad.types import NONNEGATIVE, REAL, Interval, Type, array_type

INF = float("inf")


def _float(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float64)


def _axis(axes: tuple[int, ...]) -> Any:
    return axes[0] if len(axes) == 1 else axes


class Norm(Reduction):
    """√(Σ x²) over axes; its gradient is x/‖x‖, and 0 at 0."""

    imports = ("norm2",)

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _float(dtype)

    def make_node(self, *inputs: Any) -> Term:
        x = strong(as_term(inputs[0]))
        if not (is_ground(x) and self.ground):
            return term(self, x)
        x, axes, squeezed = below_squeeze(x, self.axes)
        axes = tuple(a for a in axes if x.type.shape[a] != 1)
        if axes or x.type.dtype.kind != "f":
            node = term(self.with_props((axes, *self._props()[1:])), x)
        else:
            node = as_term(call(np.abs, x))
        return squeeze(node, squeezed)

    def compute(self, *arrays: Any) -> Any:
        return norm2(arrays[0], self.axes, keepdims=True)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"norm2({names[0]}, axis={_axis(self.axes)}, keepdims=True)"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * self.slope(inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (x,), (t,) = inputs, eval_points
        if t is None:
            return [None]
        return [np.sum(t * self.slope(x), axis=self.axes, keepdims=True)]

    def slope(self, x: Any) -> Any:
        """Return ∂‖x‖/∂x."""
        return Unit(self.axes)(x)

    def range_of(self, *ranges: Interval) -> Interval:
        return NONNEGATIVE

    def ball(self, *balls: Any) -> Any:
        total = np.asarray(np.sum(balls[0] * balls[0], axis=self.axes, keepdims=True), dtype=object)
        return np.frompyfunc(lambda t: t.sqrt(), 1, 1)(total)


class PNorm(Norm):
    """(Σ |x|ᵖ)^(1/p) over axes, p not 0 nor infinite; its gradient is sign(x)·(|x|/‖x‖)^(p-1), and 0 at 0."""

    __props__ = ("axes", "order")
    imports = ("norm_p",)

    def __init__(self, axes: Any, order: float):
        super().__init__(axes)
        self.order = order

    def compute(self, *arrays: Any) -> Any:
        return norm_p(arrays[0], self.order, self.axes, keepdims=True)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"norm_p({names[0]}, {self.order!r}, axis={_axis(self.axes)}, keepdims=True)"

    def slope(self, x: Any) -> Any:
        return PUnit(self.axes, self.order)(x)

    def ball(self, *balls: Any) -> Any:
        powers = np.frompyfunc(lambda t: abs(t) ** self.order, 1, 1)(balls[0])
        total = np.asarray(np.sum(powers, axis=self.axes, keepdims=True), dtype=object)
        return np.frompyfunc(lambda t: t ** (1 / _exact(self.order)), 1, 1)(total)


def _exact(order: float) -> Any:
    import flint

    return flint.arb(order)


class Unit(Op):
    """x/‖x‖ over axes, and 0 where x = 0; its Jacobian (I - u·uᵀ)/‖x‖ is symmetric, and taken as 0 at 0."""

    __props__ = ("axes",)
    imports = ("unit",)

    def __init__(self, axes: tuple[int, ...]):
        self.axes = axes

    def output_type(self, *types: Any) -> Type:
        return array_type(_float(types[0].dtype), types[0].shape)

    def make_node(self, *inputs: Any) -> Term:
        x = strong(as_term(inputs[0]))
        if not (is_ground(x) and self.ground):
            return term(self, x)
        x, axes, squeezed = below_squeeze(x, self.axes)
        axes = tuple(a for a in axes if x.type.shape[a] != 1)
        if axes or x.type.dtype.kind != "f":
            return squeeze(term(self.with_props((axes, *self._props()[1:])), x), squeezed)
        return squeeze(as_term(call(np.sign, x)), squeezed)

    def compute(self, *arrays: Any) -> Any:
        return unit(arrays[0], self.axes)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"unit({names[0]}, axis={_axis(self.axes)})"

    def project(self, x: Any, v: Any) -> Any:
        """Apply the Jacobian at x to v."""
        u, norm = self(x), Norm(self.axes)(x)
        across = v - u * np.sum(u * v, axis=self.axes, keepdims=True)
        return np.where(norm == 0, 0, across / np.where(norm == 0, 1, norm))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [self.project(inputs[0], output_gradients[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (x,), (t,) = inputs, eval_points
        return [None if t is None else self.project(x, t)]

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        return Interval(0.0 if x.nonnegative else -1.0, 0.0 if x.high <= 0 else 1.0)

    def ball(self, *balls: Any) -> Any:
        (x,) = balls
        norm = np.broadcast_to(Norm(self.axes).ball(x), x.shape)
        return np.frompyfunc(lambda a, n: a if n.is_zero() else a / n, 2, 1)(x, norm)


class PUnit(Unit):
    """sign(x)·(|x|/‖x‖)^(p-1), the gradient of the p-norm, and 0 where x = 0; its Jacobian is symmetric."""

    __props__ = ("axes", "order")
    imports = ("unit_p",)

    def __init__(self, axes: tuple[int, ...], order: float):
        super().__init__(axes)
        self.order = order

    def compute(self, *arrays: Any) -> Any:
        return unit_p(arrays[0], self.order, self.axes)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"unit_p({names[0]}, {self.order!r}, axis={_axis(self.axes)})"

    def project(self, x: Any, v: Any) -> Any:
        u, norm = self(x), PNorm(self.axes, self.order)(x)
        norm = np.where(norm == 0, 1, norm)
        # For p < 2 the curvature is infinite at entries that are 0; they count as constant there.
        bend = np.where(x == 0, 0, np.where(x == 0, 1, np.abs(x) / norm) ** (self.order - 2))
        return (self.order - 1) * ((bend * v - u * np.sum(u * v, axis=self.axes, keepdims=True)) / norm)

    def range_of(self, *ranges: Interval) -> Interval:
        return REAL if self.order < 1 else super().range_of(*ranges)

    def ball(self, *balls: Any) -> Any:
        (x,) = balls
        norm = np.broadcast_to(PNorm(self.axes, self.order).ball(x), x.shape)
        power = _exact(self.order) - 1
        slope = lambda a, n: a if a.is_zero() else a.sgn() * (abs(a) / n) ** power
        return np.frompyfunc(slope, 2, 1)(x, norm)


def _floating(x: Any) -> Any:
    if x.type.dtype.kind == "f":
        return x
    from relgrad.ops.casting import cast

    return as_term(cast(x, np.float64))


def _vector(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return the norm of a given order over axes taken together."""
    x = _floating(x)
    if order is None or order == 2:
        node = Norm(axes).make_node(x)
    elif order in (INF, -INF, 1, 0):
        size = call(np.abs, x)
        if order == 1:
            node = call(np.sum, size, axis=axes, keepdims=True)
        elif order == 0:
            one = x.type.dtype.type(1)
            counted = call(np.where, call(np.not_equal, x, 0), one, one - one)
            node = call(np.sum, counted, axis=axes, keepdims=True)
        else:
            node = call(np.max if order > 0 else np.min, size, axis=axes, keepdims=True)
    else:
        node = PNorm(axes, float(order)).make_node(x)
    node = as_term(node)
    return node if keepdims else squeeze(node, axes)


def _matrix(x: Any, order: Any, rows: int, columns: int, keepdims: bool) -> Any:
    """Return the norm of a given order of the matrices that lie in two axes."""
    axes = tuple(sorted((rows, columns)))
    if order in (None, "fro"):
        return _vector(x, 2, axes, keepdims)
    if order not in (1, -1, INF, -INF):
        raise TraceError(
            f"np.linalg.norm of matrices with ord={order!r} cannot be traced",
            cause="it is a function of the singular values"
            if order in (2, -2, "nuc")
            else "there is no such norm",
            cure="use ord=None, 'fro', 1, -1, np.inf or -np.inf; the spectral norm of x is"
            " np.sqrt(np.linalg.eigvalsh(x.mT @ x)[..., -1])",
        )
    x = _floating(x)
    inner, outer = (rows, columns) if order in (1, -1) else (columns, rows)
    sums = call(np.sum, call(np.abs, x), axis=inner, keepdims=True)
    node = as_term(call(np.max if order > 0 else np.min, sums, axis=outer, keepdims=True))
    return node if keepdims else squeeze(node, axes)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Trace `np.linalg.norm`: every order but those of singular values."""
    x = strong(as_term(x))
    if not is_ground(x):
        axes = pattern_axes(axis, keepdims)
        if ord not in (None, 2):
            raise TraceError("np.linalg.norm in a relation has ord=None", cure="write other norms out")
        return Norm(axes).make_node(x)
    rank = x.type.ndim
    if axis is None and ord is None:
        return _vector(x, 2, tuple(range(-rank, 0)), keepdims)
    if axis is None:
        axis = tuple(range(-rank, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    normalize_axes(axes, rank)
    places = [normalize_axis(a, rank) for a in axes]
    if len(places) == 1:
        if isinstance(ord, str):
            raise TraceError(
                f"np.linalg.norm: ord={ord!r} is not a norm of vectors", cure="use a number, or ord=None"
            )
        return _vector(x, ord, tuple(places), keepdims)
    if len(places) == 2:
        return _matrix(x, ord, *places, keepdims=keepdims)
    raise ShapeError(
        f"np.linalg.norm over {len(places)} axes",
        cause="the norms of given orders and axes are those of vectors and matrices",
        cure="use np.linalg.vector_norm, which takes any axes together",
    )


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Trace `np.linalg.vector_norm`."""
    x = strong(as_term(x))
    if not is_ground(x):
        return norm(x, ord, axis, keepdims)
    return _vector(x, ord, normalize_axes(axis, x.type.ndim), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Trace `np.linalg.matrix_norm`."""
    return _matrix(strong(as_term(x)), ord, -2, -1, keepdims)


@implements(norm2)
def norm2_(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Trace the kernel `norm2`."""
    return vector_norm(x, axis=axis, keepdims=keepdims)


@implements(norm_p)
def norm_p_(x: Any, order: float, axis: Any = None, keepdims: bool = False) -> Any:
    """Trace the kernel `norm_p`."""
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=order)


@implements(unit)
def unit_(x: Any, axis: Any = None) -> Any:
    """Trace the kernel `unit`."""
    x = strong(as_term(x))
    if not is_ground(x):
        return Unit(pattern_axes(axis, True)).make_node(x)
    return Unit(normalize_axes(axis, x.type.ndim)).make_node(x)


@implements(unit_p)
def unit_p_(x: Any, order: float, axis: Any = None) -> Any:
    """Trace the kernel `unit_p`."""
    x = require_ground("unit_p", x)
    return PUnit(normalize_axes(axis, x.type.ndim), float(order)).make_node(x)
