"""Matrix products of stacks of matrices, and of vectors as matrices with one row or column."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from relgrad.contract import FRESH, Laws
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.align import insert
from relgrad.ops.arguments import call, refuse
from relgrad.ops.expression import Expression
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze, expand, squeeze
from relgrad.term import Term, is_term, term
from relgrad.types import REAL, Interval, Type, array_type, broadcast_shapes


def traced(function: Any, *args: Any, **options: Any) -> Any:
    """Return the term that a NumPy function makes of terms."""
    return as_term(call(function, *args, **options))


def swap(x: Any) -> Any:
    """Transpose the last two axes of an array, term or tracer."""
    return traced(np.swapaxes, x, -1, -2) if is_term(x) else np.swapaxes(x, -1, -2)


class MatMul(Expression):
    """a·b over the last two axes, broadcast over the others: c[…, i, k] = Σ_j a[…, i, j]·b[…, j, k]."""

    __props__ = ()
    text = "np.matmul({0}, {1})"
    laws = Laws(linear=(0, 1), associative=True)
    finite = True
    grows = True
    cancels = "sum"
    view_map = FRESH

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return (-1,) if i == 0 else (-2,)

    def make_node(self, *inputs: Any) -> Term:
        """(n,) @ (n,) → squeeze((1, n) @ (n, 1)), (n, 1) @ (1, m) → a·b:
        vectors as matrices, outer products as products.
        """
        a, b = [strong(as_term(x)) for x in inputs]
        if not (is_term(a) and is_term(b) and a.ground and b.ground):
            return term(self, a, b)
        if a.type.ndim == 0 or b.type.ndim == 0:
            raise ShapeError(
                "matmul: an operand has no axes",
                cause="np.matmul and @ multiply matrices and vectors, not scalars",
                cure="multiply by a scalar with *",
            )
        axes = tuple(axis for axis, x in ((-2, a), (-1, b)) if x.type.ndim == 1)
        if axes:
            a = expand(a, (-2,)) if -2 in axes else a
            b = expand(b, (-1,)) if -1 in axes else b
            return squeeze(self.make_node(a, b), axes)
        self.output_type(a.type, b.type)
        if isinstance(a.op, Squeeze) and max(a.op.axes) < -2:
            return squeeze(self.make_node(a.rands[0], insert(b, a.op.axes)), a.op.axes)
        if isinstance(b.op, Squeeze) and max(b.op.axes) < -2:
            return squeeze(self.make_node(insert(a, b.op.axes), b.rands[0]), b.op.axes)
        a = _strip(a, b)
        b = _strip(b, a)
        if a.type.shape[-1] == 1 and b.type.shape[-2] == 1:
            return traced(np.multiply, a, b)
        return term(self, a, b)

    def output_type(self, *types: Any) -> Type:
        """(k, n) @ (n, m) → (k, m), stacks broadcast; raises ShapeError for n that differ."""
        a, b = types
        dtype = np.matmul.resolve_dtypes((a.dtype, b.dtype, None))[-1]
        known = a.shape[-1] is not None and b.shape[-2] is not None
        if (known or 1 in (a.shape[-1], b.shape[-2])) and a.shape[-1] != b.shape[-2]:
            raise ShapeError(
                f"matmul: {a.shape[-1]} columns against {b.shape[-2]} rows, in {a.shape} and {b.shape}",
                cause="the last axis of the left operand must fit the last but one of the right",
                cure="transpose an operand, or check the order of the factors",
            )
        try:
            batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError as error:
            raise ShapeError(
                f"matmul: {error}", cause="the axes before the last two must broadcast against each other"
            ) from None
        return array_type(dtype, (*batch, a.shape[-2], b.shape[-1]))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = ḡ·bᵀ, b̄ = aᵀ·ḡ; where one matrix meets a stack, the stack is contracted at once."""
        (a, b), (g,) = inputs, output_gradients
        # One matrix that meets a stack: contract the stack at once instead of summing a stack of products.
        stack = string.ascii_lowercase[: max(a.ndim, b.ndim) - 2]
        shared = f"{stack}IK,{stack}JK->IJ", f"{stack}KI,{stack}KJ->IJ"
        left = np.einsum(shared[0], g, b) if a.ndim == 2 < b.ndim else np.matmul(g, swap(b))
        right = np.einsum(shared[1], a, g) if b.ndim == 2 < a.ndim else np.matmul(swap(a), g)
        return [left if a.dtype.kind == "f" else None, right if b.dtype.kind == "f" else None]

    def range_of(self, *ranges: Interval) -> Interval:
        a, b = ranges
        if a.nonnegative and b.nonnegative:
            return Interval(0.0, np.inf, a.positive and b.positive)
        return REAL


def _strip(x: Any, partner: Any) -> Any:
    """(1, k, n) beside (2, n, m) → (k, n): an operand without the stacking axes and broadcast that its partner
    supplies.
    """
    stack = partner.type.shape[:-2]
    if isinstance(x.op, (BroadcastTo, BroadcastLike)):
        inner = x.rands[0]
        if inner.type.shape[-2:] != x.type.shape[-2:]:
            return x
        covered = broadcast_shapes(x.type.shape[:-2], stack) == stack
        return inner if covered else x
    if not isinstance(x.op, Expand) or x.type.ndim > partner.type.ndim:
        return x
    lead = 0
    while lead < x.type.ndim - 2 and lead - x.type.ndim in x.op.axes:
        lead += 1
    return squeeze(x, tuple(range(-x.type.ndim, lead - x.type.ndim))) if lead else x


@implements(np.matmul)
def matmul(x1: Any, x2: Any, /, **options: Any) -> Any:
    """Trace `np.matmul` and the operator `@`, vectors included."""
    refuse("np.matmul", **options)
    return MatMul().make_node(x1, x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, **options: Any) -> Any:
    """vecdot(x, y)ᵢ = Σⱼ xᵢⱼ·yᵢⱼ: traces `np.vecdot`."""
    refuse("np.vecdot", **options)
    x1, x2 = [x if axis == -1 else traced(np.moveaxis, x, axis, -1) for x in (as_term(x1), as_term(x2))]
    node = MatMul().make_node(expand(x1, (-2,)), expand(x2, (-1,)))
    return squeeze(node, (-2, -1))


def matvec(x1: Any, x2: Any, /, **options: Any) -> Any:
    """Trace `np.matvec`: stacks of matrices times stacks of vectors."""
    refuse("np.matvec", **options)
    return squeeze(MatMul().make_node(x1, expand(x2, (-1,))), (-1,))


def vecmat(x1: Any, x2: Any, /, **options: Any) -> Any:
    """Trace `np.vecmat`: stacks of vectors times stacks of matrices."""
    refuse("np.vecmat", **options)
    return squeeze(MatMul().make_node(expand(x1, (-2,)), x2), (-2,))


for _name, _builder in {"vecdot": vecdot, "matvec": matvec, "vecmat": vecmat}.items():
    if hasattr(np, _name):  # they came with NumPy 2.0 and 2.2
        implements(getattr(np, _name))(_builder)
