"""What ops over axes share: rows of entries that are tied, operands that broadcast, canonical axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import update_wrapper
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import Op, Symbolic, as_term, is_constant, strong
from relgrad.ops.align import align
from relgrad.ops.arguments import as_balls, is_ground, is_symbolic, normalize_axes
from relgrad.ops.reduction import pattern_axes
from relgrad.ops.structure import squeeze
from relgrad.term import Term, Unknown, term
from relgrad.types import Shape, Type, array_type, broadcast_shapes


class RowsOp(Op):
    """f(x : (2, 3), w : (3,)), axes (−1,) → row by row: an op on operands that broadcast.

    Entries are tied along `axes` (negative, sorted).
    """

    __props__ = ("axes",)
    kernel: ClassVar[Callable[..., Any]]
    projects: ClassVar[bool] = False
    """f(f(x, w), w) = f(x, w): whether what the op has made stays as it is, as what is centred does."""

    def __init__(self, axes: Any):
        self.axes = axes
        self.imports = (self.name,)

    @property
    def name(self) -> str:
        return self.kernel.__name__

    def strict(self, node: Term) -> bool:
        return self.is_strict or len(node.rands) == 1

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return self.axes

    def make_node(self, *inputs: Any) -> Term:
        """f(squeeze x) → squeeze(f(x)), operands aligned, axes of the larger rank."""
        inputs = promoted(inputs)
        if not (self.ground and all(is_ground(x) for x in inputs)):
            return term(self, *inputs)
        operands, squeezed = align(inputs)
        shape = self._broadcast([x.type for x in operands])
        kept = [a for a in range(-len(shape), 0) if a not in squeezed]
        if self.axes and -min(self.axes) > len(kept):
            raise ShapeError(f"{self.name}: axis {min(self.axes)} of an array with {len(kept)} axes")
        axes = tuple(kept[a] for a in self.axes)
        return squeeze(self._canonical(operands, axes, shape), squeezed)

    def _canonical(self, operands: Sequence[Any], axes: tuple[int, ...], shape: Shape) -> Term:
        """Apply the op to aligned operands: axes of extent 1 leave it."""
        node = term(type(self)(tuple(a for a in axes if shape[a] != 1)), *operands)
        first = operands[0]
        stays = self.projects and first.op == node.op and first.rands[1:] == node.rands[1:]
        return first if stays and first.type == node.type else node

    def output_type(self, *types: Any) -> Type:
        dtype = np.result_type(*[t.dtype for t in types])
        if dtype.kind != "f":
            dtype = np.result_type(dtype, np.float64)
        return array_type(dtype, self.result_shape(self._broadcast(types)))

    def _broadcast(self, types: Sequence[Any]) -> Shape:
        """(2, 3), (3,) → (2, 3); raises ShapeError for shapes that do not broadcast."""
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

    def _ball_mean(self, x: Any) -> Any:
        """Σ x/n over the axes, which stay, of balls."""
        total = as_balls(np.sum(x, axis=self.axes, keepdims=True))
        return total / (np.size(x) // max(np.size(total), 1))

    def _ball_rows(self, function: Callable[..., Any], *balls: Any) -> Any:
        """y[i, :] = function(x[i, :], …): applied to the entries along the axes, as flat lists, results put back."""
        ends = tuple(range(-len(self.axes), 0))
        moved = [np.moveaxis(b, self.axes, ends) for b in np.broadcast_arrays(*map(as_balls, balls))]
        lead = moved[0].ndim - len(ends)
        flat = [x.reshape(*x.shape[:lead], math.prod(x.shape[lead:])) for x in moved]
        each = np.vectorize(
            lambda *rows: as_balls(function(*map(list, rows))),
            "O",
            signature=f"{','.join(['(n)'] * len(flat))}->(n)",
        )
        return np.moveaxis(each(*flat).reshape(moved[0].shape), ends, self.axes)


class Reduced(RowsOp):
    """(2, 3), axes (−1,) → (2, 1): a function of the entries along axes, which stay with extent 1."""

    def result_shape(self, shape: Shape) -> Shape:
        return tuple([1 if i - len(shape) in self.axes else n for i, n in enumerate(shape)])

    def arguments(self, operands: Sequence[Any]) -> dict[str, Any]:
        return {"keepdims": True, **super().arguments(operands)}


def promoted(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Give weak constants the dtype of their partners."""
    dtypes = [x.type.dtype for x in inputs if is_ground(x) and not (is_constant(x) and x.op.weak)]
    dtype = np.result_type(*dtypes) if dtypes else None
    return tuple([strong(x, dtype if dtype is not None and dtype.kind == "f" else None) for x in inputs])


def differentiable(x: Any) -> bool:
    """Whether x is floating, so that a cotangent can flow to it."""
    return x.dtype.kind == "f"


def over_axes(op: type[RowsOp]) -> Callable[..., Any]:
    """Return the function of arrays, traced arrays, terms or logic variables that a kernel is traced to.

    deviation = over_axes(Deviation)  ⟶  deviation(g, p, axis=-1), which takes what its kernel takes
    """
    kernel, parameters = op.kernel, signature(op.kernel)

    @implements(kernel)
    def apply(*args: Any, **options: Any) -> Any:
        """arrays → kernel(arrays), tracers → the op over the axes."""
        given = parameters.bind(*args, **options)
        given.apply_defaults()
        operands = dict(given.arguments)
        if not any(map(is_symbolic, operands.values())):
            return kernel(*args, **options)
        axis, keepdims = operands.pop("axis"), operands.pop("keepdims", True)
        return build(op, list(operands.values()), axis, keepdims)

    update_wrapper(apply, kernel)
    apply.__module__ = op.__module__
    return apply


def build(op: Callable[[Any], RowsOp], operands: Sequence[Any], axis: Any, keepdims: bool = True) -> Any:
    """(op, [x], 1, False) → squeeze(op((−1,))(x)): an op as SciPy spells it, axes of either sign, kept or not."""
    terms = [as_term(x) for x in operands]
    wrapper = next((x.family for x in operands if isinstance(x, Symbolic)), lambda x: x)
    if isinstance(axis, Unknown) or not all(is_ground(x) for x in terms):
        return wrapper(op(pattern_axes(axis, keepdims)).make_node(*terms))
    ndim = max(x.type.ndim for x in terms)
    axes = normalize_axes(axis, ndim)
    node = op(axes).make_node(*terms)
    return wrapper(node if keepdims else squeeze(node, axes))
