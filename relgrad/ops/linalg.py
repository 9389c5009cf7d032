"""Solving linear equations, inverses and powers of stacks of square matrices.

Source: Giles 2008, Collected matrix derivative results for forward and reverse mode algorithmic
differentiation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.contract import Laws
from relgrad.errors import ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops import determinant, factors, rectangular  # noqa: F401 - the rest of np.linalg, for who imports this alone
from relgrad.ops.arguments import is_ground
from relgrad.ops.matmul import swap
from relgrad.ops.square import Square, over_matrices, square_shape
from relgrad.ops.structure import expand, squeeze
from relgrad.term import Term, term
from relgrad.types import Type, array_type, broadcast_shapes


class Solve(Square):
    """x with a·x = b, for matrices b; linear in b. x̄ flows back as b̄ = a⁻ᵀ·x̄ and ā = -b̄·xᵀ."""

    laws = Laws(linear=(1,))
    code = "np.linalg.solve"
    partial = True
    grows = True
    cancels = "rows"

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        return (-2,) if i == 1 else (-2, -1)

    def output_type(self, *types: Any) -> Type:
        """(n, n), (n, m) → (n, m), stacks broadcast; raises ShapeError where they do not fit."""
        a, b = types
        dtype = self.check(a, b)
        n = square_shape(a.shape)[-1]
        if b.ndim < 2 or (None not in (n, b.shape[-2]) and n != b.shape[-2]):
            raise ShapeError(
                f"np.linalg.solve: matrices {a.shape} and right-hand sides {b.shape} do not fit",
                cure="b is a vector if it has one axis, and a stack of matrices otherwise (NumPy 2)",
            )
        try:
            stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError as error:
            raise ShapeError(f"np.linalg.solve: {error}") from None
        return array_type(dtype, (*stack, b.shape[-2] if n is None else n, b.shape[-1]))

    def make_node(self, *inputs: Any) -> Term:
        a, b = [strong(as_term(x)) for x in inputs]
        if is_ground(b) and b.type.ndim == 1:
            return squeeze(term(self, a, expand(b, (-1,))), (-1,))
        return term(self, a, b)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (a, _), (x,), (g,) = inputs, outputs, output_gradients
        back = np.linalg.solve(swap(a), g)
        return [-np.matmul(back, swap(x)), back]

    def ball(self, *balls: Any) -> Any:
        return over_matrices(lambda a, b: a.solve(b), *balls)


class Inv(Square):
    """y = a⁻¹, ā = −yᵀ·ȳ·yᵀ."""

    laws = Laws(inverse="inv")
    code = "np.linalg.inv"
    partial = True
    grows = True
    cancels = "rows"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        transposed = swap(outputs[0])
        return [-np.matmul(np.matmul(transposed, output_gradients[0]), transposed)]

    def ball(self, *balls: Any) -> Any:
        return over_matrices(lambda a: a.inv(), *balls)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Trace `np.linalg.solve`: b is a vector only if it has one axis, as in NumPy 2."""
    return Solve().make_node(a, b)


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """Trace `np.linalg.inv`."""
    return Inv().make_node(as_term(a))
