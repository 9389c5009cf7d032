"""Axes of extent 1: inserting, removing and stretching them.

Squeezes and expansions cancel where they meet, which is exact, so it may change the graph; what becomes of them
among elementwise operands is in `align`. Axes are negative, counted from the right, so that they mean the same at
every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.contract import SELECTION
from relgrad.errors import ShapeError
from relgrad.op import Op, Symbolic, as_term, strong
from relgrad.ops.expression import Entries
from relgrad.term import Term, is_term, term
from relgrad.types import Shape, Type, array_type, broadcast_shapes


class _Axes(Entries):
    __props__ = ("axes",)
    axes: tuple[int, ...]
    laws = SELECTION


class Expand(_Axes):
    """expand(x : (3,), (−1,)) → (3, 1): inserts axes of extent 1; `axes` are negative positions in the result."""

    def output_type(self, *types: Any) -> Type:
        """(3,), axes (−1,) → (3, 1)."""
        shape = list(types[0].shape)
        rank = len(shape) + len(self.axes)
        for axis in self.axes:
            shape.insert(axis + rank, 1)
        return array_type(types[0].dtype, shape)

    def make_node(self, *inputs: Any) -> Term:
        return expand(inputs[0], self.axes)

    def compute(self, *arrays: Any) -> Any:
        return np.expand_dims(arrays[0], self.axes)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        key = ["None" if a in self.axes else ":" for a in range(-node.type.ndim, 0)]
        while len(key) > 1 and key[-1] == ":":
            key.pop()
        return f"{names[0]}[{', '.join(key)}]"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Squeeze(self.axes)(output_gradients[0])]


class Squeeze(_Axes):
    """squeeze(x : (3, 1), (−1,)) → (3,): removes axes of extent 1; `axes` are negative positions in the operand."""

    def output_type(self, *types: Any) -> Type:
        """(3, 1), axes (−1,) → (3,); raises ShapeError where an extent is not 1."""
        shape = types[0].shape
        rank = len(shape)
        if any(isinstance(shape[a], int) and shape[a] != 1 for a in self.axes):
            raise ShapeError(
                f"axes {self.axes} of an array of shape {shape} are to be removed, and are not all of extent 1"
            )
        return array_type(types[0].dtype, [n for i, n in enumerate(shape) if i - rank not in self.axes])

    def make_node(self, *inputs: Any) -> Term:
        return squeeze(inputs[0], self.axes)

    def compute(self, *arrays: Any) -> Any:
        return np.squeeze(arrays[0], self.axes)

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        key = ["0" if a in self.axes else ":" for a in range(-node.rands[0].type.ndim, 0)]
        while len(key) > 1 and key[-1] == ":":
            key.pop()
        return f"{names[0]}[{', '.join(key)}]"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [Expand(self.axes)(output_gradients[0])]


class BroadcastTo(Entries):
    """x : (3, 1) → (2, 3, 4): stretches axes of extent 1, and adds leading ones, up to a known shape."""

    __props__ = ("shape",)
    shape: Shape
    text = "np.broadcast_to({0}, {shape})"
    named = False
    read_only = True

    def reflected(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self(*operands)

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, self.shape)

    def make_node(self, *inputs: Any) -> Term:
        return broadcast_to(inputs[0], self.shape)

    def do_constant_folding(self, fgraph: Any, node: Term) -> bool:
        return False  # it takes no time and the folded array would take memory

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0]]  # the gradient room sums cotangents down to the operand's shape


class BroadcastLike(Entries):
    """(x : (3, 1), y : (3, n)) → x : (3, n): stretches the first operand as the second needs, whose entries do not
    matter.
    """

    __props__ = ()
    text = "np.broadcast_arrays({0}, {1})[0]"
    read_only = True
    connected = (0,)

    def reflected(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self(*operands)

    def output_type(self, *types: Any) -> Type:
        return array_type(types[0].dtype, broadcast_shapes(types[0].shape, types[1].shape))

    def make_node(self, *inputs: Any) -> Term:
        return broadcast_like(*inputs)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0], None]


RESHAPES = (Expand, Squeeze, BroadcastTo)
"""The ops whose entries are those of their operand, as often, or repeated along axes."""


def _like(x: Any, node: Any) -> Any:
    """Hand a term back the way the caller's operand came: wrapped or bare."""
    return x.family(node) if isinstance(x, Symbolic) else node


@lru_cache(maxsize=4096)
def _op(kind: Callable[[Any], Op], prop: Any) -> Op:
    """Return the op of a kind; the same few are asked for again and again."""
    return kind(prop)


def broadcast_to(x: Any, shape: Shape) -> Any:
    """broadcast_to(broadcast_to(x, s), t) = broadcast_to(x, t): x stretched to a shape; the last of several counts.

    Raises ShapeError where NumPy would.
    """
    node = strong(as_term(x))
    shape = tuple(shape)
    if node.type.shape == shape:
        return _like(x, node)
    if isinstance(node.op, (BroadcastTo, BroadcastLike)):
        node = node.rands[0]
    node = without_leading(node)
    if len(node.type.shape) > len(shape) or broadcast_shapes(node.type.shape, shape) != shape:
        raise ShapeError(f"cannot broadcast an array of shape {node.type.shape} to shape {shape}")
    return _like(x, node if node.type.shape == shape else term(_op(BroadcastTo, shape), node))


def broadcast_like(g: Any, x: Any) -> Any:
    """(g : (1,), x : (n,)) → g : (n,): g stretched to the shape of x, whether or not that shape is known yet."""
    node, like = strong(as_term(g)), strong(as_term(x))
    shape = broadcast_shapes(node.type.shape, like.type.shape)
    if node.type.shape == shape:
        return _like(g, node)
    if None not in shape:
        return _like(g, broadcast_to(node, shape))
    return _like(g, term(BroadcastLike(), node, like))


def expand(x: Any, axes: tuple[int, ...]) -> Any:
    """Insert axes of extent 1 at negative positions of the result.

    expand(squeeze(x, a), a) = x; what remains of partly matching axes stays.
    """
    x = strong(as_term(x))
    axes = tuple(sorted(axes))
    if not axes:
        return x
    if is_term(x) and x.ground and isinstance(x.op, Squeeze):
        inner, dropped = x.rands[0], x.op.axes
        common = tuple(a for a in axes if a in dropped)
        # Positions agree only if nothing to their right is inserted or removed by one of the two alone.
        if common and all(a < min(common) for a in set(axes) ^ set(dropped)):
            rest = tuple(a for a in axes if a not in common)
            left = tuple(a for a in dropped if a not in common)
            return expand(squeeze(inner, left), rest)
    if is_term(x) and x.ground and isinstance(x.op, Expand):
        rank = x.type.ndim + len(axes)
        kept = [a for a in range(-rank, 0) if a not in axes]
        first = tuple(kept[a + x.type.ndim] for a in x.op.axes)
        return term(_op(Expand, tuple(sorted((*first, *axes)))), x.rands[0])
    return term(_op(Expand, axes), x)


def squeeze(x: Any, axes: tuple[int, ...]) -> Any:
    """Remove axes of extent 1 at negative positions of the operand; squeeze(expand(x, a), a) = x."""
    x = strong(as_term(x))
    axes = tuple(sorted(axes))
    if not axes:
        return x
    if is_term(x) and x.ground and isinstance(x.op, Expand):
        rank = x.type.ndim
        common = tuple(a for a in axes if a in x.op.axes)
        if common:
            rest = tuple(a for a in x.op.axes if a not in common)
            left = tuple(a for a in axes if a not in common)
            keep = [a for a in range(-rank, 0) if a not in common]
            renumber = {a: i - len(keep) for i, a in enumerate(keep)}
            inner = expand(x.rands[0], tuple(renumber[a] for a in rest))
            return squeeze(inner, tuple(renumber[a] for a in left))
    if is_term(x) and x.ground and isinstance(x.op, Squeeze):
        rank = x.rands[0].type.ndim
        kept = [a for a in range(-rank, 0) if a not in x.op.axes]
        return term(_op(Squeeze, tuple(sorted((*x.op.axes, *(kept[a] for a in axes))))), x.rands[0])
    return term(_op(Squeeze, axes), x)


def without_leading(x: Any) -> Any:
    """expand(x, (−3, −1)) → expand(x, (−1,)): x without the leading axes that were inserted."""
    if not isinstance(x.op, Expand):
        return x
    rank = x.type.ndim
    lead = next((i for i in range(rank) if i - rank not in x.op.axes), rank)
    return squeeze(x, tuple(range(-rank, -rank + lead)))
