"""Reductions over axes. Internally they keep their axes, with extent 1, and a squeeze removes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.errors import RelationError, ShapeError
from relgrad.kernels_index import leave_one_out_prod
from relgrad.op import Laws, Op, as_term, implements, strong
from relgrad.ops.arguments import below_squeeze, is_ground, normalize_axes, refuse
from relgrad.ops.structure import Squeeze, broadcast_like, squeeze
from relgrad.term import Term, Unknown, term
from relgrad.types import NONNEGATIVE, REAL, Interval, Shape, Type, array_type


class Reduction(Op):
    """A reduction over `axes` (negative, sorted) that leaves them with extent 1."""

    __props__ = ("axes",)
    numpy_name: str = ""
    drops_unit_axes: bool = True

    def __init__(self, axes: Any):
        self.axes = axes

    def output_type(self, *types: Any) -> Type:
        (x,) = types[:1]
        rank = len(x.shape)
        shape = [1 if i - rank in self.axes else n for i, n in enumerate(x.shape)]
        return array_type(self.result_dtype(x.dtype), shape)

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return dtype

    def make_node(self, *inputs: Any) -> Term:
        (x,) = inputs
        if not (is_ground(x) and self.ground):
            return term(self, strong(x))
        x = strong(x)
        axes = self.axes
        if isinstance(x.op, Squeeze):
            inner, axes, squeezed = below_squeeze(x, axes)
            return squeeze(type(self)(axes).make_node(inner), squeezed)
        if self.drops_unit_axes and self.result_dtype(x.type.dtype) == x.type.dtype:
            axes = tuple(a for a in axes if x.type.shape[a] != 1)
            if not axes:
                return x
        return term(type(self)(axes), x)

    def compute(self, *arrays: Any) -> Any:
        return getattr(np, self.numpy_name)(arrays[0], axis=self.axes, keepdims=True)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        axis = self.axes[0] if len(self.axes) == 1 else self.axes
        if self.axes == tuple(range(-node.rands[0].type.ndim, 0)) and node.type.ndim != 1:
            axis = None
        where = "" if axis is None else f"axis={axis}, "
        return f"np.{self.numpy_name}({names[0]}, {where}keepdims=True)"


class Sum(Reduction):
    """Σ over axes; linear."""

    numpy_name = "sum"
    laws = Laws(linear=(0,))

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _accumulator(dtype)

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        if x.nonnegative:
            return Interval(0.0, np.inf, x.positive)
        return -self.range_of(-x) if x.high <= 0 else REAL

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [broadcast_like(output_gradients[0], inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        return [None if t is None else self(t)]

    def ball(self, *balls: Any) -> Any:
        return np.sum(balls[0], axis=self.axes, keepdims=True)


class Prod(Reduction):
    """Π over axes; its derivative is the product of all others, so that zeros do no harm."""

    numpy_name = "prod"

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return _accumulator(dtype)

    def range_of(self, *ranges: Interval) -> Interval:
        (x,) = ranges
        if not x.nonnegative:
            return REAL
        return Interval(0.0, 1.0 if x.high <= 1 else np.inf, x.positive)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0] * ProdOthers(self.axes)(inputs[0])]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        if t is None:
            return [None]
        return [np.sum(t * ProdOthers(self.axes)(inputs[0]), axis=self.axes, keepdims=True)]

    def ball(self, *balls: Any) -> Any:
        return np.prod(balls[0], axis=self.axes, keepdims=True)


class ProdOthers(Op):
    """∇ₓ Dᵐ P(x)[t₁, …, tₘ] for P(x) = Π x over axes; without directions t, for each entry Π of all others.

    Closed under differentiation: it is a gradient, so its Jacobian is symmetric, ∂/∂x along v adds the direction v,
    and it is linear in each direction.
    """

    __props__ = ("axes",)
    imports = ("leave_one_out_prod",)

    def __init__(self, axes: tuple[int, ...]):
        self.axes = axes

    @property
    def name(self) -> str:
        return "prod_others"

    def output_type(self, *types: Any) -> Type:
        return array_type(np.result_type(*[t.dtype for t in types]), types[0].shape)

    def compute(self, *arrays: Any) -> Any:
        return leave_one_out_prod(*arrays, axes=self.axes)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"leave_one_out_prod({', '.join(names)}, axes={self.axes})"

    def range_of(self, *ranges: Interval) -> Interval:
        return Interval(0.0, np.inf, ranges[0].positive) if len(ranges) == 1 and ranges[0].nonnegative else REAL

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (g,) = output_gradients
        x, *directions = inputs
        others = [directions[:i] + directions[i + 1 :] for i in range(len(directions))]
        return [self(x, *directions, g), *[self(x, *rest, g) for rest in others]]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        parts = [
            part
            for t, part in zip(eval_points, self._parts(inputs, eval_points), strict=True)
            if t is not None
        ]
        return [sum(parts[1:], parts[0]) if parts else None]

    def _parts(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        x, *directions = inputs
        parts = []
        for i, t in enumerate(eval_points):
            if t is None:
                parts.append(None)
            elif i == 0:
                parts.append(self(x, *directions, t))
            else:
                parts.append(self(x, *directions[: i - 1], *directions[i:], t))
        return parts


class _Extreme(Reduction):
    """The largest or smallest entry; entries that tie for it share its cotangent equally, as in JAX."""

    def output_type(self, *types: Any) -> Type:
        _require_entries(self, types[0].shape)
        return super().output_type(*types)

    def range_of(self, *ranges: Interval) -> Interval:
        return ranges[0]

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        mask, count = self._ties(inputs[0], outputs[0])
        return [output_gradients[0] * mask / count]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        if t is None:
            return [None]
        mask, count = self._ties(inputs[0], self(inputs[0]))
        return [np.sum(t * mask, axis=self.axes, keepdims=True) / count]

    def _ties(self, x: Any, out: Any) -> tuple[Any, Any]:
        mask = np.equal(x, out)
        return mask, np.sum(mask, axis=self.axes, dtype=x.dtype, keepdims=True)

    def ball(self, *balls: Any) -> Any:
        pick = np.frompyfunc(lambda a, b: getattr(a, self.numpy_name)(b), 2, 1)
        (x,) = balls
        for axis in self.axes:
            x = pick.reduce(x, axis=axis, keepdims=True)
        return x


class Max(_Extreme):
    """The largest entry over axes."""

    numpy_name = "max"


class Min(_Extreme):
    """The smallest entry over axes."""

    numpy_name = "min"


class _Flat(Reduction):
    """A reduction whose value is locally constant: its derivative is zero wherever it exists."""

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [None]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [None]


class Any_(_Flat):
    """Whether any entry over axes is nonzero."""

    numpy_name = "any"

    @property
    def name(self) -> str:
        return self.numpy_name

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.dtype(bool)

    def range_of(self, *ranges: Interval) -> Interval:
        return Interval(0.0, 1.0)


class All_(Any_):
    """Whether all entries over axes are nonzero."""

    numpy_name = "all"


class ArgMax(_Flat):
    """Where the first largest entry stands along one axis, or in the flattened array.

    Several axes are all that have more than one entry: the others were squeezed from the operand.
    """

    numpy_name = "argmax"
    drops_unit_axes = False

    def output_type(self, *types: Any) -> Type:
        _require_entries(self, types[0].shape)
        return super().output_type(*types)

    def result_dtype(self, dtype: np.dtype) -> np.dtype:
        return np.dtype(np.intp)

    def range_of(self, *ranges: Interval) -> Interval:
        return NONNEGATIVE

    def compute(self, *arrays: Any) -> Any:
        return getattr(np, self.numpy_name)(arrays[0], axis=self._axis, keepdims=True)

    @property
    def _axis(self) -> int | None:
        return self.axes[0] if len(self.axes) == 1 else None

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        return f"np.{self.numpy_name}({names[0]}, axis={self._axis}, keepdims=True)"


class ArgMin(ArgMax):
    """Where the first smallest entry stands along one axis, or in the flattened array."""

    numpy_name = "argmin"


def _accumulator(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which NumPy sums and multiplies: at least 64 bits for integers."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


def _require_entries(op: Reduction, shape: Shape) -> None:
    rank = len(shape)
    kept = [n for i, n in enumerate(shape) if i - rank not in op.axes]
    if any(shape[a] == 0 for a in op.axes) and 0 not in kept:
        raise ShapeError(
            f"{op.numpy_name} over axes {op.axes} of an array of shape {shape} does not exist",
            cause="an extent that is reduced is 0, and there is no largest or smallest of no numbers",
            cure="leave the reduction out where the array is empty",
        )


def reduce(op: type[Reduction], x: Any, axis: Any, keepdims: bool) -> Any:
    """Apply a reduction as NumPy's functions spell it: any axes, kept or not; x is a term."""
    x = as_term(x)
    if not is_ground(x):
        return op(pattern_axes(axis, keepdims)).make_node(x)
    axes = normalize_axes(axis, x.type.ndim)
    if not axes:
        return op(axes).make_node(x)
    node = op(axes).make_node(x)
    return node if keepdims else squeeze(node, axes)


def pattern_axes(axis: Any, keepdims: bool) -> Any:
    """Check and return the axes of a reduction in a relation, where the rank is not known."""
    if not keepdims:
        raise RelationError(
            "a reduction in a relation must keep its axes",
            cause="without keepdims=True the rank of its result depends on that of its operand",
            cure="pass keepdims=True; relations hold for every rank and for reductions that drop their axes too",
        )
    if isinstance(axis, Unknown):
        return axis
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(a, int) and a < 0 for a in axes):
        raise RelationError(
            f"a relation cannot reduce over axis={axis!r}",
            cause="axes in relations are counted from the right, or are logic variables",
            cure="make the axis a parameter of the relation, or use a negative axis",
        )
    return tuple(sorted(axes))


@implements(np.sum, "sum")
def sum_(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Any:
    """Trace `np.sum`."""
    refuse("np.sum", out=out, **options)
    return reduce(Sum, _cast(a, dtype), axis, keepdims)


@implements(np.prod, "prod")
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
) -> Any:
    """Trace `np.prod`."""
    refuse("np.prod", out=out, **options)
    return reduce(Prod, _cast(a, dtype), axis, keepdims)


@implements(np.max, np.amax, "max")
def max_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """Trace `np.max`; entries that tie share the cotangent equally."""
    refuse("np.max", out=out, **options)
    return reduce(Max, a, axis, keepdims)


@implements(np.min, np.amin, "min")
def min_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """Trace `np.min`; entries that tie share the cotangent equally."""
    refuse("np.min", out=out, **options)
    return reduce(Min, a, axis, keepdims)


@implements(np.any, "any")
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """Trace `np.any`."""
    refuse("np.any", out=out, **options)
    return reduce(Any_, a, axis, keepdims)


@implements(np.all, "all")
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """Trace `np.all`."""
    refuse("np.all", out=out, **options)
    return reduce(All_, a, axis, keepdims)


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


def _cast(a: Any, dtype: Any) -> Any:
    if dtype is None:
        return a
    from relgrad.ops.casting import cast

    return cast(a, dtype)


def _reduce_method(builder: Any) -> Any:
    """Return what traces `ufunc.reduce`, whose axis is 0 unless given."""

    def trace(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> Any:
        return builder(_cast(array, dtype), axis, out=out, keepdims=keepdims, **options)

    return trace


for _ufunc, _builder in (
    (np.add, sum_),
    (np.multiply, prod),
    (np.maximum, max_),
    (np.minimum, min_),
    (np.logical_or, any_),
    (np.logical_and, all_),
):
    implements((_ufunc, "reduce"))(_reduce_method(_builder))
