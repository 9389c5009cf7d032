"""The class of ops on stacks of square matrices, which lie in the last two axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgrad.contract import FRESH
from relgrad.errors import ShapeError, TraceError
from relgrad.op import Op, Project, Symbolic, as_term
from relgrad.ops.expression import Expression
from relgrad.ops.matmul import swap
from relgrad.term import term
from relgrad.types import Type, array_type


class Square(Expression):
    """f(a : (…, n, n)) = row of matrices by row: an op on the square matrices in the last two axes of its first
    operand.
    """

    __props__ = ()
    text = "{code}({operands})"
    code: str = ""
    view_map = FRESH

    def check(self, *types: Any) -> np.dtype:
        """float32 (…, n, n) → float32, int (…, n, n) → float64:
        the dtype of the result; raises for matrices that are not square.
        """
        square_shape(types[0].shape, self.code)
        dtypes = [t.dtype if t.dtype.kind == "f" else np.dtype(np.float64) for t in types]
        dtype = np.result_type(*dtypes)
        if dtype.itemsize not in (4, 8):
            raise TraceError(
                f"{self.code}: the dtype {dtype} is not supported", cure="use float32 or float64"
            )
        return dtype

    def output_type(self, *types: Any) -> Type:
        dtype = self.check(*types)
        return array_type(dtype, square_shape(types[0].shape))


def square_shape(shape: Any, name: str = "np.linalg") -> tuple[Any, ...]:
    """(5, None, 3) → (5, 3, 3): the known side of a square for the other; raises ShapeError where it is none."""
    if len(shape) < 2:
        raise ShapeError(
            f"{name}: an operand with {len(shape)} axes",
            cause="matrices lie in the last two axes",
            cure="insert axes with x[..., None]",
        )
    if None not in shape[-2:] and shape[-2] != shape[-1]:
        raise ShapeError(f"{name}: matrices of {shape[-2]} rows and {shape[-1]} columns are not square")
    side = shape[-1] if shape[-2] is None else shape[-2]
    return (*shape[:-2], side, side)


def over_matrices(f: Callable[..., Any], *stacks: Any) -> Any:
    """(f, a : (2, n, n)) → [f(a₀), f(a₁)]: a function of `flint.arb_mat` over stacks of object matrices.

    A scalar or matrix for each.
    """
    import flint

    stack = np.broadcast_shapes(*[x.shape[:-2] for x in stacks])
    stacks = tuple([np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in stacks])
    results = []
    for index in np.ndindex(stack):
        found = f(*[flint.arb_mat(x[index].tolist()) for x in stacks])
        results.append(found.tolist() if isinstance(found, flint.arb_mat) else found)
    values = np.array(results, dtype=object)
    return values.reshape((*stack, *values.shape[1:]))


def outputs_like(op: Op, a: Any, swapped: bool = False) -> list[Any]:
    """Return the outputs of an op with several, each wrapped as the operand is."""
    node = op.make_node(swap(as_term(a)) if swapped else as_term(a))
    parts = [term(Project(i), node) for i in range(op.n_outputs)]
    return [type(a)(part) for part in parts] if isinstance(a, Symbolic) else parts
