"""logsumexp, softmax and log_softmax over axes, and the linear maps that their derivatives are made of.

With p = softmax(x), the maps D(g) = g − Σpg/Σp (`deviation`), R(g) = g − p·Σg/Σp (`log_softmax_pullback`) and
P(g) = p·D(g) (`softmax_pullback`) are closed under differentiation: R is the adjoint of D, P its own, and
their derivatives in p are written with them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from relgrad import kernels
from relgrad.errors import ShapeError
from relgrad.op import Laws, Op, Symbolic, as_term, implements, is_constant, strong
from relgrad.ops.arguments import is_ground, is_symbolic, normalize_axes
from relgrad.ops.reduction import pattern_axes
from relgrad.ops.structure import align, squeeze
from relgrad.term import Term, Unknown, term
from relgrad.types import REAL, Interval, Shape, Type, array_type, broadcast_shapes


class AxesOp(Op):
    """An op on operands that broadcast, with `axes` (negative, sorted) along which entries are tied."""

    __props__ = ("axes",)
    kernel: ClassVar[Callable[..., Any]]

    def __init__(self, axes: Any):
        self.axes = axes
        self.imports = (self.name,)

    @property
    def name(self) -> str:
        return self.kernel.__name__

    def make_node(self, *inputs: Any) -> Term:
        inputs = _promote(inputs)
        if not (self.ground and all(is_ground(x) for x in inputs)):
            return term(self, *inputs)
        operands, squeezed = align(inputs)
        shape = self._broadcast([x.type for x in operands])
        kept = [a for a in range(-len(shape), 0) if a not in squeezed]
        axes = tuple(kept[a] for a in self.axes)
        return squeeze(self._canonical(operands, axes, shape), squeezed)

    def _canonical(self, operands: Sequence[Any], axes: tuple[int, ...], shape: Shape) -> Term:
        """Apply the op to aligned operands: axes of extent 1 leave it."""
        op = type(self)(tuple(a for a in axes if shape[a] != 1))
        return term(op, *operands)

    def output_type(self, *types: Any) -> Type:
        dtype = np.result_type(*[t.dtype for t in types])
        if dtype.kind != "f":
            dtype = np.result_type(dtype, np.float64)
        return array_type(dtype, self.result_shape(self._broadcast(types)))

    def _broadcast(self, types: Sequence[Any]) -> Shape:
        try:
            return broadcast_shapes(*[t.shape for t in types])
        except ValueError as error:
            raise ShapeError(
                f"{self.name}: {error}",
                cause="its operands broadcast against one another",
                cure="insert an axis with [:, None] or keepdims=True where the extents should broadcast",
            ) from None

    def result_shape(self, shape: Shape) -> Shape:
        return shape

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        """Return the keyword arguments of the kernel besides the axis."""
        return {}

    positional = 2

    def compute(self, *arrays: Any) -> Any:
        return type(self).kernel(*arrays[: self.positional], axis=self.axes, **self.arguments(arrays))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        axis = self.axes[0] if len(self.axes) == 1 else self.axes
        options = "".join(f", {k}={v}" for k, v in self.arguments(names).items())
        return f"{self.name}({', '.join(names[: self.positional])}, axis={axis}{options})"

    def _sum(self, x: Any) -> Any:
        return np.sum(x, axis=self.axes, keepdims=True)

    def _ball_rows(self, function: Callable[..., Any], *balls: Any) -> Any:
        """Apply `function(*rows)` to the entries along the axes, as flat lists, and put its results back."""
        balls = tuple(np.broadcast_arrays(*[np.asarray(b, dtype=object) for b in balls]))
        ndim, count = balls[0].ndim, len(self.axes)
        ends = tuple(range(-count, 0))
        moved = [np.moveaxis(b, self.axes, ends) for b in balls]
        lead, tail = moved[0].shape[: ndim - count], moved[0].shape[ndim - count :]
        out = np.empty(moved[0].shape, dtype=object)
        for place in np.ndindex(*lead):
            row = np.empty(int(np.prod(tail)), dtype=object)
            row[:] = function(*[list(m[place].ravel()) if count else [m[place]] for m in moved])
            out[place] = row.reshape(tail) if count else row[0]
        return np.moveaxis(out, ends, self.axes)


def _promote(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Give weak constants the dtype of their partners."""
    dtypes = [x.type.dtype for x in inputs if is_ground(x) and not (is_constant(x) and x.op.weak)]
    dtype = np.result_type(*dtypes) if dtypes else None
    return tuple([strong(x, dtype if dtype is not None and dtype.kind == "f" else None) for x in inputs])


class _Weighted(AxesOp):
    """An op of x and, optionally, weights."""

    positional = 1

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        return {"weights": operands[1]} if len(operands) > 1 else {}


def _differentiable(x: Any) -> bool:
    return x.dtype.kind == "f"


class LogSumExp(_Weighted):
    """log Σ w·eˣ over axes, which stay with extent 1: `LogSumExp(axes)(x)`, `LogSumExp(axes)(x, w)`."""

    kernel = staticmethod(kernels.logsumexp)

    def _canonical(self, operands: Sequence[Any], axes: tuple[int, ...], shape: Shape) -> Term:
        node = super()._canonical(operands, axes, shape)
        return (
            operands[0] if len(operands) == 1 and not node.op.axes and node.type is operands[0].type else node
        )

    def result_shape(self, shape: Shape) -> Shape:
        return tuple([1 if i - len(shape) in self.axes else n for i, n in enumerate(shape)])

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        return {"keepdims": True, **super().arguments(operands)}

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (out,), (g,) = outputs, output_gradients
        cotangents = [g * Softmax(self.axes)(*inputs) if _differentiable(inputs[0]) else None]
        if len(inputs) > 1:
            # Not softmax/w: where a weight is zero, its derivative is not.
            cotangents.append(g * np.exp(inputs[0] - out) if _differentiable(inputs[1]) else None)
        return cotangents

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        parts = []
        if eval_points[0] is not None:
            parts.append(self._sum(Softmax(self.axes)(*inputs) * eval_points[0]))
        if len(inputs) > 1 and eval_points[1] is not None:
            parts.append(self._sum(np.exp(inputs[0] - self(*inputs)) * eval_points[1]))
        return [_total(parts)]

    def ball(self, *balls: Any) -> Any:
        out = self._ball_rows(lambda *rows: [_ball_logsumexp(*rows)] * len(rows[0]), *balls)
        return out[tuple(slice(0, 1) if a in self.axes else slice(None) for a in range(-out.ndim, 0))]


class Softmax(_Weighted):
    """w·eˣ / Σ w·eˣ: `Softmax(axes)(x)`, `Softmax(axes)(x, w)`."""

    kernel = staticmethod(kernels.softmax)

    def range_of(self, *ranges: Interval) -> Interval:
        return Interval(0.0, 1.0) if len(ranges) == 1 or ranges[1].nonnegative else REAL

    def _unnormalised(self, inputs: list[Any]) -> Any:
        """softmax/w, where w may be zero."""
        return np.exp(inputs[0] - LogSumExp(self.axes)(*inputs))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (p,), (g,) = outputs, output_gradients
        cotangents = [SoftmaxPullback(self.axes)(g, p) if _differentiable(inputs[0]) else None]
        if len(inputs) > 1:
            wanted = _differentiable(inputs[1])
            cotangents.append(self._unnormalised(inputs) * Deviation(self.axes)(g, p) if wanted else None)
        return cotangents

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        p = self(*inputs)
        parts = []
        if eval_points[0] is not None:
            parts.append(SoftmaxPullback(self.axes)(eval_points[0], p))
        if len(inputs) > 1 and eval_points[1] is not None:
            parts.append(LogSoftmaxPullback(self.axes)(self._unnormalised(inputs) * eval_points[1], p))
        return [_total(parts)]

    def ball(self, *balls: Any) -> Any:
        def row(xs: list[Any], ws: list[Any] | None = None) -> list[Any]:
            total = _ball_logsumexp(xs, ws)
            ps = [(x - total).exp() for x in xs]
            return ps if ws is None else [w * p for w, p in zip(ws, ps, strict=True)]

        return self._ball_rows(row, *balls)


class LogSoftmax(AxesOp):
    """x − log Σ eˣ: `LogSoftmax(axes)(x)`."""

    kernel = staticmethod(kernels.log_softmax)
    positional = 1

    def range_of(self, *ranges: Interval) -> Interval:
        return Interval(-np.inf, 0.0)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        if not _differentiable(inputs[0]):
            return [None]
        return [LogSoftmaxPullback(self.axes)(output_gradients[0], Softmax(self.axes)(inputs[0]))]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        return [None if t is None else Deviation(self.axes)(t, Softmax(self.axes)(inputs[0]))]

    def ball(self, *balls: Any) -> Any:
        def row(xs: list[Any]) -> list[Any]:
            # −log(1 + Σ' e^(xᵢ − x)) for each x, where Σ' leaves it out.
            others = [[(y - x).exp() for j, y in enumerate(xs) if j != i] for i, x in enumerate(xs)]
            return [-_plus(es, x * 0).log1p() for x, es in zip(xs, others, strict=True)]

        return self._ball_rows(row, *balls)


class _Map(AxesOp):
    """A map of g, linear, under weights p; a change of a common offset of g, or scale of p, is exact."""

    laws = Laws(linear=(0,))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        g, p = inputs
        (h,) = output_gradients
        return [
            self.adjoint(h, p) if _differentiable(g) else None,
            self.pull_p(h, g, p) if _differentiable(p) else None,
        ]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (g, p), (tg, tp) = inputs, eval_points
        parts = [] if tg is None else [self(tg, p)]
        if tp is not None:
            parts.append(self.push_p(tp, g, p))
        return [_total(parts)]

    def adjoint(self, h: Any, p: Any) -> Any:
        raise NotImplementedError

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        raise NotImplementedError

    def push_p(self, t: Any, g: Any, p: Any) -> Any:
        raise NotImplementedError

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        raise NotImplementedError

    def ball(self, *balls: Any) -> Any:
        def row(gs: list[Any], ps: list[Any]) -> list[Any]:
            return [self.ball_entry(g, p, gs, ps, sum(ps)) for g, p in zip(gs, ps, strict=True)]

        return self._ball_rows(row, *balls)


def _mean(g: Any, gs: list[Any], ps: list[Any], total: Any) -> Any:
    return sum(p * (g - other) for other, p in zip(gs, ps, strict=True)) / total


class Deviation(_Map):
    """D(g, p) = g − Σpg/Σp: the distance from the mean under the weights p."""

    kernel = staticmethod(kernels.deviation)

    def adjoint(self, h: Any, p: Any) -> Any:
        return LogSoftmaxPullback(self.axes)(h, p)

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        return -self(g, p) * (self._sum(h) / self._sum(p))

    def push_p(self, t: Any, g: Any, p: Any) -> Any:
        return np.broadcast_to(
            -self._sum(t * self(g, p)) / self._sum(p), np.broadcast_shapes(g.shape, p.shape)
        )

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        return _mean(g, gs, ps, total)


class LogSoftmaxPullback(_Map):
    """R(g, p) = g − p·Σg/Σp: the pullback of log_softmax where p is the softmax."""

    kernel = staticmethod(kernels.log_softmax_pullback)

    def adjoint(self, h: Any, p: Any) -> Any:
        return Deviation(self.axes)(h, p)

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        return -Deviation(self.axes)(h, p) * (self._sum(g) / self._sum(p))

    def push_p(self, t: Any, g: Any, p: Any) -> Any:
        return -self(t, p) * (self._sum(g) / self._sum(p))

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        return g - p * sum(gs) / total


class SoftmaxPullback(_Map):
    """P(g, p) = p·(g − Σpg/Σp): the pullback, and pushforward, of softmax with the result p."""

    kernel = staticmethod(kernels.softmax_pullback)

    def adjoint(self, h: Any, p: Any) -> Any:
        return self(h, p)

    def pull_p(self, h: Any, g: Any, p: Any) -> Any:
        return Deviation(self.axes)(h, p) * Deviation(self.axes)(g, p)

    def push_p(self, t: Any, g: Any, p: Any) -> Any:
        return LogSoftmaxPullback(self.axes)(t * Deviation(self.axes)(g, p), p)

    def ball_entry(self, g: Any, p: Any, gs: Any, ps: Any, total: Any) -> Any:
        return p * _mean(g, gs, ps, total)


def _total(parts: list[Any]) -> Any:
    if len(parts) == 2:
        return parts[0] + parts[1]
    return parts[0] if parts else None


def _plus(terms: Iterable[Any], start: Any) -> Any:
    return sum(terms, start)


def _ball_logsumexp(xs: list[Any], ws: list[Any] | None = None) -> Any:
    top = max(xs, key=lambda x: float(x.mid()))
    total = _plus(
        ((x - top).exp() if ws is None else ws[i] * (x - top).exp() for i, x in enumerate(xs)), top * 0
    )
    return top + total.log()


def _build(op: type[AxesOp], operands: Sequence[Any], axis: Any, keepdims: bool = True) -> Any:
    """Apply an op as SciPy spells it: axes of either sign, kept or not."""
    terms = [as_term(x) for x in operands]
    wrapper = next((type(x) for x in operands if isinstance(x, Symbolic)), lambda x: x)
    if isinstance(axis, Unknown) or not all(is_ground(x) for x in terms):
        return wrapper(op(pattern_axes(axis, keepdims)).make_node(*terms))
    ndim = max(x.type.ndim for x in terms)
    axes = normalize_axes(axis, ndim)
    node = op(axes).make_node(*terms)
    return wrapper(node if keepdims else squeeze(node, axes))


def _operands(x: Any, weights: Any) -> list[Any]:
    return [x] if weights is None else [x, weights]


@implements(kernels.logsumexp)
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False, weights: Any = None) -> Any:
    """log Σ w·eˣ over axes, of an array, a traced array, a term or a logic variable.

    The weights (default 1) broadcast against x and are used linearly; they may be zero or negative. In a
    relation `axis` may be a logic variable, and `keepdims` must be true. Source: as
    `relgrad.kernels.logsumexp`.

    >>> logsumexp(np.array([-1000.0, -1000.0]), weights=0.5)
    np.float64(-1000.0)
    """
    if not any(is_symbolic(a) for a in (x, weights, axis)):
        return kernels.logsumexp(x, axis, keepdims, weights)
    return _build(LogSumExp, _operands(x, weights), axis, keepdims)


@implements(kernels.softmax)
def softmax(x: Any, axis: Any = -1, weights: Any = None) -> Any:
    """w·eˣ / Σ w·eˣ over axes, of an array, a traced array, a term or a logic variable.

    The default is the last axis; `scipy.special.softmax` normalises over all axes by default.

    >>> softmax(np.array([0.0, 800.0]))
    array([0., 1.])
    """
    if not any(is_symbolic(a) for a in (x, weights, axis)):
        return kernels.softmax(x, axis, weights)
    return _build(Softmax, _operands(x, weights), axis)


@implements(kernels.log_softmax)
def log_softmax(x: Any, axis: Any = -1) -> Any:
    """x − log Σ eˣ over axes, of what `softmax` takes, and with its default axis."""
    if not any(is_symbolic(a) for a in (x, axis)):
        return kernels.log_softmax(x, axis)
    return _build(LogSoftmax, [x], axis)


@implements(kernels.softmax_pullback)
def softmax_pullback(g: Any, p: Any, axis: Any = -1) -> Any:
    """p·(g − Σpg/Σp) over axes."""
    if not any(is_symbolic(a) for a in (g, p, axis)):
        return kernels.softmax_pullback(g, p, axis)
    return _build(SoftmaxPullback, [g, p], axis)


@implements(kernels.log_softmax_pullback)
def log_softmax_pullback(g: Any, p: Any, axis: Any = -1) -> Any:
    """g − p·Σg/Σp over axes."""
    if not any(is_symbolic(a) for a in (g, p, axis)):
        return kernels.log_softmax_pullback(g, p, axis)
    return _build(LogSoftmaxPullback, [g, p], axis)


@implements(kernels.deviation)
def deviation(g: Any, p: Any, axis: Any = -1) -> Any:
    """g − Σpg/Σp over axes."""
    if not any(is_symbolic(a) for a in (g, p, axis)):
        return kernels.deviation(g, p, axis)
    return _build(Deviation, [g, p], axis)
