"""logsumexp, softmax and log_softmax over axes, with optional linear weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.implementations import implements
from relgrad.interpret import interpret
from relgrad.op import constant, is_constant, is_zero
from relgrad.ops.arguments import as_balls, is_ground, is_symbolic, log_or_infinite
from relgrad.ops.arithmetic import multiply, subtract
from relgrad.ops.deviation import Deviation, LogSoftmaxPullback, SoftmaxPullback
from relgrad.ops.rows import Reduced, RowsOp, build, differentiable, promoted
from relgrad.ops.selection import where
from relgrad.term import Term, subterms, term
from relgrad.types import REAL, Interval, Shape, Type, array_type, broadcast_shapes

__all__ = [
    "gibbs",
    "log_softmax",
    "logsumexp",
    "softmax",
]


class _Weighted(RowsOp):
    """f(x), f(x, w) = f with weights w·eˣ: an op of x and, optionally, weights."""

    positional = 1

    def strict(self, node: Term) -> bool:
        weights = node.rands[1:]
        return all(is_constant(w) and bool(np.all(w.op.value)) for w in weights)

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        return {"weights": operands[1]} if len(operands) > 1 else {}


class LogSumExp(Reduced, _Weighted):
    """logsumexp(x, w) = log Σ w·eˣ over axes, which stay with extent 1:
    `LogSumExp(axes)(x)`, `LogSumExp(axes)(x, w)`.
    """

    kernel = staticmethod(kernels.logsumexp)
    finite = True
    tolerant = True

    def _canonical(self, operands: Sequence[Any], axes: tuple[int, ...], shape: Shape) -> Term:
        node = super()._canonical(operands, axes, shape)
        return (
            operands[0] if len(operands) == 1 and not node.op.axes and node.type is operands[0].type else node
        )

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x̄ = ḡ·softmax(x, w), w̄ = ḡ·eˣ/Σ w·eˣ, which is not 0 where w is."""
        (g,) = output_gradients
        cotangents = [g * _shares(self.axes, *inputs) if differentiable(inputs[0]) else None]
        if len(inputs) > 1:
            # Not softmax/w: where a weight is zero, its derivative is not.
            cotangents.append(g * _over_weight(self.axes, *inputs) if differentiable(inputs[1]) else None)
        return cotangents

    def ball(self, *balls: Any) -> Any:
        top, total, _ = _ball_sum(self.axes, *balls)
        return top + np.frompyfunc(log_or_infinite, 1, 1)(total)


class Softmax(_Weighted):
    """softmax(x, w) = w·eˣ / Σ w·eˣ: `Softmax(axes)(x)`, `Softmax(axes)(x, w)`."""

    kernel = staticmethod(kernels.softmax)
    tolerant = True
    invariant = True

    def settled(self, conventions: Any, *operands: Any) -> tuple[str, Any] | None:
        """0 over nothing, where every entry is -inf."""
        if conventions.masked != 0:
            return None
        return "masked", np.where(LogSumExp(self.axes)(*operands) == -np.inf, 0.0, self(*operands))

    def complement(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """1 − softmax(x) = that of all others, which does not cancel where one has nearly all; of two the other."""
        p = self(*operands)
        two = np.prod([p.shape[a] or 0 for a in self.axes]) == 2
        return np.flip(p, self.axes) if two else kernels.complement(p, axis=self.axes)

    def in_log_domain(self, node: Term) -> tuple[Any, Any] | None:
        x, *weights = node.rands
        if not weights:
            return None, LogSoftmax(self.axes).make_node(x)
        return weights[0], subtract(x, LogSumExp(self.axes).make_node(x, *weights))

    def range_of(self, *ranges: Interval) -> Interval:
        if len(ranges) == 1:
            return Interval(0.0, 1.0, open_low=True)
        return Interval(0.0, 1.0) if ranges[1].nonnegative else REAL

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """x̄ = p·(ḡ − Σ p·ḡ), w̄ = eˣ/Σ w·eˣ·(ḡ − Σ p·ḡ)."""
        (p,), (g,) = outputs, output_gradients
        x_bar = lambda: _where_chosen(SoftmaxPullback(self.axes)(g, p), *inputs[1:])
        cotangents = [x_bar() if differentiable(inputs[0]) else None]
        if len(inputs) > 1:
            wanted = differentiable(inputs[1])
            cotangents.append(
                _over_weight(self.axes, *inputs) * Deviation(self.axes)(g, p) if wanted else None
            )
        return cotangents

    def ball(self, *balls: Any) -> Any:
        _, total, terms = _ball_sum(self.axes, *balls)
        return terms / total


def _shares(axes: Any, x: Any, *weights: Any) -> Any:
    """∂ log Σ w·eˣ/∂x = softmax(x, w), and 0 where a constant mask leaves nothing to be summed."""
    w = _number(weights[0].term) if weights else None
    if w is not None:
        empty = ~np.any(w, axis=tuple([a for a in axes if -a <= w.ndim]), keepdims=True)
        if empty.any():
            some = np.asarray(~empty, w.dtype)
            return x.family(constant(some)) * Softmax(axes)(x, x.family(constant(np.where(empty, 1, w))))
    return _where_chosen(Softmax(axes)(x, *weights), *weights)


def _where_chosen(y: Any, *weights: Any) -> Any:
    """y, where(c, w, 0) → where(c, y, 0): nothing flows to what a mask leaves out, though all shares are 0/0 where it
    leaves out everything. What a constant mask does is known.
    """
    w = weights[0].term if weights else None
    if w is None or w.op is not where or is_constant(w.rands[0]) or not any(map(is_zero, w.rands[1:])):
        return y
    chosen = y.family(w.rands[0])
    return np.where(chosen, y, 0.0) if is_zero(w.rands[2]) else np.where(chosen, 0.0, y)


def _number(t: Term) -> Any:
    """Return the value of an array of numbers, or of what is made of such, as 1 - mask is; else None."""
    leaves = (x for x in subterms(t) if not x.rands)
    return interpret([t], {})[0] if all(map(is_constant, leaves)) else None


def _over_weight(axes: Any, x: Any, w: Any) -> Any:
    """softmax/w, where w may be zero."""
    return Gibbs(axes, 1)(x, x, w)


class Gibbs(RowsOp):
    """gibbs(a, x, w) = (eᵃ / Σ w·eˣ)^power: `Gibbs(axes, power)(a, x)`, `…(a, x, w)`; the sum keeps its axes."""

    __props__ = ("axes", "power")
    kernel = staticmethod(kernels.gibbs)
    tolerant = True

    def __init__(self, axes: Any, power: Any = 1):
        super().__init__(axes)
        self.power = power
        # A share of a sum that underflows is 0 in any company but that of a factor as large.
        self.grows = not self.axes

    def output_type(self, *types: Any) -> Type:
        """a : (2, 3), x : (2, 3), axes (−1,) → (2, 3): the shape of a with that of the sum."""
        dtype = np.result_type(*[t.dtype for t in types])
        dtype = dtype if dtype.kind == "f" else np.result_type(dtype, np.float64)
        summed = self._broadcast(types[1:])
        total = [1 if i - len(summed) in self.axes else n for i, n in enumerate(summed)]
        return array_type(dtype, broadcast_shapes(types[0].shape, tuple(total)))

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        power = {} if self.power == 1 else {"power": self.power}
        return {**power, **({"weights": operands[2]} if len(operands) > 2 else {})}

    def in_log_domain(self, node: Term) -> tuple[Any, Any] | None:
        """gibbs(a, x, w) = e^(power·(a − logsumexp(x, w))): no weight, and that exponent."""
        a, x, *weights = node.rands
        log = subtract(a, LogSumExp(self.axes).make_node(x, *weights))
        if a is x and not weights:
            log = LogSoftmax(self.axes).make_node(x)
        return None, log if self.power == 1 else multiply(constant(self.power), log)

    def log_size(self, *operands: Any) -> tuple[Any, Any] | None:
        """log|gibbs(a, x, w)| = −power·log Σ w·s·e^(x − a), s the sign of the sum, where weights may be of either.

        None where a has several entries for one sum: what each takes off would be rounded.
        """
        a, x, *weights = operands
        if not weights or any(a.term.type.extent(k) != 1 for k in self.axes):
            return None
        size = LogSumExp(self.axes)(x, np.abs(weights[0]))
        sign = np.sign(Gibbs(self.axes, -1)(size, x, *weights))
        log = -self.power * LogSumExp(self.axes)(x - a, sign * weights[0])
        return sign * sign if self.power % 2 == 0 else sign, log

    def make_node(self, *inputs: Any) -> Term:
        """axes along which x and w have extent 1 → none; operands stay as they are."""
        operands = promoted(inputs)
        if not (self.ground and all(map(is_ground, operands))):
            return term(self, *operands)
        summed = self._broadcast([x.type for x in operands[1:]])
        kept = tuple(a for a in self.axes if -a <= len(summed) and summed[a] != 1)
        return term(Gibbs(kept, self.power), *operands)

    def range_of(self, *ranges: Interval) -> Interval:
        positive = len(ranges) == 2 or ranges[2].nonnegative
        return Interval(0.0, np.inf, open_low=True) if positive else REAL

    def _entries(self, x: Any, *weights: Any) -> Any:
        """Return how much each entry of x counts: Σ w·eˣ / Σ w·eˣ, the upper sum over the weights of one entry."""
        p = Softmax(self.axes)(x, *weights)
        axes = [k for k in self.axes if x.term.type.extent(k) == 1 and p.term.type.extent(k) != 1]
        return np.sum(p, axis=tuple(axes), keepdims=True) if axes else p

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = h, x̄ = −Σh·softmax(x, w), h = power·ḡ·y; of x = a, x̄ = h − p·Σh at once."""
        a, x, *weights = inputs
        h = self.power * output_gradients[0] * outputs[0]
        if x.term is a.term:
            # The parts of a and x nearly cancel where one entry has all the weight.
            cotangents = [None, LogSoftmaxPullback(self.axes)(h, self._entries(x, *weights))]
        else:
            cotangents = [h, -self._sum(h) * _shares(self.axes, x, *weights)]
        if weights:
            cotangents.append(-self._sum(h) * _over_weight(self.axes, x, *weights))
        return [c if differentiable(y) else None for c, y in zip(cotangents, inputs, strict=True)]

    def ball(self, *balls: Any) -> Any:
        a, *summed = balls
        top, total, _ = _ball_sum(self.axes, *summed)
        return (np.exp(a - top) / total) ** self.power


class LogSoftmax(RowsOp):
    """log_softmax(x) = x − log Σ eˣ: `LogSoftmax(axes)(x)`."""

    kernel = staticmethod(kernels.log_softmax)
    positional = 1
    vanishes = True
    finite = True
    tolerant = True
    invariant = displaces = True
    range = Interval(-np.inf, 0.0)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        if not differentiable(inputs[0]):
            return [None]
        return [LogSoftmaxPullback(self.axes)(output_gradients[0], Softmax(self.axes)(inputs[0]))]

    def ball(self, *balls: Any) -> Any:
        """yᵢ = −log(1 + Σ_{j ≠ i} e^(xⱼ − xᵢ)), of balls."""

        def row(xs: list[Any]) -> list[Any]:
            """xs → −log(1 + Σ_{j ≠ i} e^(xⱼ − xᵢ)) for each i of one row."""
            # −log(1 + Σ' e^(xᵢ − x)) for each x, where Σ' leaves it out.
            others = [[(y - x).exp() for j, y in enumerate(xs) if j != i] for i, x in enumerate(xs)]
            return [-_plus(es, x * 0).log1p() for x, es in zip(xs, others, strict=True)]

        return self._ball_rows(row, *balls)


def _plus(terms: Iterable[Any], start: Any) -> Any:
    return sum(terms, start)


def _ball_sum(axes: tuple[int, ...], x: Any, weights: Any = 1) -> tuple[Any, Any, Any]:
    """x, w → m, Σ w·e^(x − m), w·e^(x − m), of balls, with m = max x over axes in floats, which stay."""
    x, weights = np.broadcast_arrays(x, weights)
    middle = np.asarray(np.frompyfunc(lambda v: float(v.mid()), 1, 1)(x), float)
    top = np.max(middle, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    terms = as_balls(weights * np.exp(x - top))
    return top, as_balls(np.sum(terms, axis=axes, keepdims=True)), terms


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
    return build(LogSumExp, _operands(x, weights), axis, keepdims)


@implements(kernels.softmax)
def softmax(x: Any, axis: Any = -1, weights: Any = None) -> Any:
    """w·eˣ / Σ w·eˣ over axes, of an array, a traced array, a term or a logic variable.

    The default is the last axis; `scipy.special.softmax` normalises over all axes by default.

    >>> softmax(np.array([0.0, 800.0]))
    array([0., 1.])
    """
    if not any(is_symbolic(a) for a in (x, weights, axis)):
        return kernels.softmax(x, axis, weights)
    return build(Softmax, _operands(x, weights), axis)


@implements(kernels.gibbs)
def gibbs(a: Any, x: Any, axis: Any = -1, power: float = 1, weights: Any = None) -> Any:
    """(eᵃ / Σ w·eˣ)^power, where the sum over axes stays with extent 1, of what `softmax` takes.

    >>> gibbs(np.array([800.0]), np.array([801.0, 801.0]))
    array([0.18393972])
    """
    if not any(is_symbolic(y) for y in (a, x, weights, axis, power)):
        return kernels.gibbs(a, x, axis, power, weights)
    return build(partial(Gibbs, power=power), [a, *_operands(x, weights)], axis)


@implements(kernels.log_softmax)
def log_softmax(x: Any, axis: Any = -1) -> Any:
    """x − log Σ eˣ over axes, of what `softmax` takes, and with its default axis."""
    if not any(is_symbolic(a) for a in (x, axis)):
        return kernels.log_softmax(x, axis)
    return build(LogSoftmax, [x], axis)
