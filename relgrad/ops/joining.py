"""Arrays side by side: concatenating, stacking, repeating, padding, and taking apart again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.contract import FRESH, SELECTION, along_axis
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import (
    call,
    hull,
    is_ground,
    normalize_axis,
    refuse,
    require_ground,
)
from relgrad.ops.creation import stack_nested
from relgrad.ops.expression import Expression
from relgrad.ops.gather import FULL, WHOLE
from relgrad.ops.indexing import getitem
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import broadcast_to, expand
from relgrad.term import Term
from relgrad.types import ArrayType, Extent, Type, array_type


class Concatenate(Expression):
    """concatenate(([a], [b, c])) = [a, b, c]: operands joined along an axis."""

    __props__ = ("axis",)
    axis: int
    text = "np.concatenate(({operands}), axis={axis})"
    range = staticmethod(hull)
    finite = True
    out_of_range = "stays"
    rounds = False
    view_map = FRESH

    def reflected(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self(*operands)

    def output_type(self, *types: Any) -> Type:
        """(2, 3), (2, 4), axis −1 → (2, 7); raises ShapeError where other extents differ."""
        first = types[0]
        if any(len(t.shape) != len(first.shape) for t in types) or not first.shape:
            raise ShapeError(
                f"cannot concatenate arrays of shapes {_listed(types)}",
                cause="they differ in rank, or have no axes",
                cure="np.stack joins along a new axis; np.expand_dims inserts one",
            )
        shape: list[Extent] = []
        for axis in range(-len(first.shape), 0):
            extents = [t.shape[axis] for t in types]
            if axis == self.axis:
                shape.append(None if None in extents else sum(extents))
                continue
            known = {n for n in extents if n is not None}
            if len(known) > 1:
                raise ShapeError(
                    f"cannot concatenate arrays of shapes {_listed(types)} along axis {self.axis}",
                    cause=f"they differ along axis {axis}",
                )
            shape.append(known.pop() if known else None)
        return array_type(np.result_type(*[t.dtype for t in types]), shape)

    def make_node(self, *inputs: Any) -> Term:
        if len(inputs) == 1:
            return strong(inputs[0])
        return super().make_node(*inputs)

    def entries(self, node: Term, pattern: Sequence[Any]) -> Any:
        """Return entries that are all of one operand as entries of that.

        concatenate((a, b))[n + 1] = b[1] and concatenate((a, b))[n:] = b, where a has n entries
        """
        from relgrad.ops.casting import cast

        start, chosen, n = 0, pattern[self.axis], node.type.shape[self.axis]
        if n is None or chosen == WHOLE:
            return None
        positions = range(n)[slice(*chosen)] if type(chosen) is tuple else range(chosen, chosen + 1)
        for part in node.rands:
            extent = part.type.shape[self.axis]
            if len(positions) and all(start <= i < start + extent for i in (positions[0], positions[-1])):
                key: list[Any] = [slice(*p) if type(p) is tuple else p for p in pattern]
                first, last, step = positions[0] - start, positions[-1] - start, positions.step
                after = last + (1 if step > 0 else -1)
                one = type(chosen) is not tuple
                key[self.axis] = first if one else slice(first, None if after < 0 else after, step)
                return as_term(cast(getitem(part, tuple(key)), node.type.dtype))
            start += extent
        return None

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (g,) = output_gradients
        return [Part(self.axis, i)(g, *inputs) if x.dtype.kind == "f" else None for i, x in enumerate(inputs)]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        changes = zip(inputs, eval_points, strict=True)
        return [self(*[np.zeros_like(x) if t is None else t for x, t in changes])]

    def increment(self, inputs: list[Any], others: list[Any], increments: list[Any]) -> Any:
        return self.R_op(inputs, increments)[0]


def _listed(types: Sequence[ArrayType]) -> str:
    return ", ".join(str(t.shape) for t in types)


class Part(Rearrangement):
    """Part(−1, 1)(concatenate((x, y)), x, y) = y: the part of the first operand where operand `index` was joined."""

    __props__ = ("axis", "index")
    axis: int
    index: int
    laws = SELECTION
    connected = (0,)
    mixes = along_axis

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, types[1 + self.index].shape)

    def make_node(self, *inputs: Any) -> Term:
        """g, x, y → g[m : m + n] where the extents are known, else the op."""
        g, *parts = inputs
        if is_ground(g) and all(map(is_ground, parts)):
            extents = [x.type.shape[self.axis] for x in parts[: self.index + 1]]
            if None not in extents:
                start = sum(extents[:-1])
                key = [FULL] * g.type.ndim
                key[self.axis] = slice(start, start + extents[-1])
                return getitem(g, tuple(key))
        return super().make_node(*inputs)

    def compute(self, *arrays: Any) -> Any:
        return arrays[0][self._key([np.shape(x) for x in arrays[1:]])]

    def _key(self, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
        start = sum(s[self.axis] for s in shapes[: self.index])
        return (..., slice(start, start + shapes[self.index][self.axis]), *[FULL] * (-self.axis - 1))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        extents = [f"np.shape({x})[{self.axis}]" for x in names[1:]]
        start = " + ".join(extents[: self.index]) or "0"
        stop = " + ".join(extents[: self.index + 1])
        return f"{names[0]}[{', '.join(['...', f'{start} : {stop}', *[':'] * (-self.axis - 1)])}]"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (g,) = output_gradients
        parts = inputs[1:]
        placed = [g if i == self.index else np.zeros_like(x, dtype=g.dtype) for i, x in enumerate(parts)]
        return [Concatenate(self.axis)(*placed), *[None] * len(parts)]


@implements(np.concatenate)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """concatenate((x, y)) = [x₀, …, y₀, …]: traces `np.concatenate`; one entry repeated is a broadcast."""
    refuse("np.concatenate", out=out, casting=None if casting == "same_kind" else casting)
    parts = [stack_nested(x) for x in (arrays if isinstance(arrays, (list, tuple)) else list(arrays))]
    if not parts:
        raise ShapeError("need at least one array to concatenate")
    if dtype is not None:
        from relgrad.ops.casting import cast

        parts = [as_term(cast(x, dtype)) for x in parts]
    if axis is None:
        parts, axis = [call(np.ravel, x) for x in parts], -1
    ground = next((x for x in parts if is_ground(x)), None)
    if ground is not None:
        axis = normalize_axis(axis, ground.type.ndim) if ground.type.ndim else -1
    elif axis >= 0:
        require_ground("np.concatenate along an axis counted from the left", parts[0])
    node = Concatenate(axis).make_node(*parts)
    first, kind = parts[0], node.type
    alike = len(parts) > 1 and node.ground and None not in kind.shape and all(x is first for x in parts)
    # One entry that is repeated is known as such to whoever asks what varies along an axis.
    return broadcast_to(first, kind.shape) if alike and first.type.extent(axis) == 1 else node


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """stack((x, y))[i] = (x, y)[i]: traces `np.stack`."""
    parts = [require_ground("np.stack", stack_nested(x)) for x in arrays]
    if len({x.type.ndim for x in parts}) > 1:
        raise ShapeError(
            "np.stack needs arrays of one shape", cause=f"they are {_listed([x.type for x in parts])}"
        )
    place = normalize_axis(axis, (parts[0].type.ndim if parts else 0) + 1)
    return concatenate([expand(x, (place,)) for x in parts], place, out, dtype=dtype, casting=casting)
