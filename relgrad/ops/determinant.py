"""Determinants, their logarithms, and the cofactors that are their derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from relgrad.implementations import implements
from relgrad.kernels.linalg import cofactor, cofactor_derivative
from relgrad.op import as_term
from relgrad.ops.arithmetic import sign
from relgrad.ops.exponential import log
from relgrad.ops.expression import SecondDerivative
from relgrad.ops.matmul import swap
from relgrad.ops.square import Square, outputs_like, over_matrices, square_shape
from relgrad.term import Term
from relgrad.types import TupleType, Type, array_type, broadcast_shapes

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


LARGEST = 5
"""Determinants of larger matrices are not written out."""


class Det(Square):
    """det(a), ā = ȳ·C with the cofactors C = ∂det(a)/∂a, which singular matrices have too."""

    code = "np.linalg.det"
    grows = True
    cancels = "rows"

    def output_type(self, *types: Any) -> Type:
        return array_type(self.check(*types), types[0].shape[:-2])

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [_wide(output_gradients[0]) * Cofactor()(inputs[0])]

    def in_entries(self, *operands: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Σⱼ ±aᵢⱼ·(the minor without row i and column j), from the last rows up; None of large matrices."""
        (a,) = operands
        n = a.shape[-1]
        if not 0 < n <= LARGEST:
            return None
        minors: dict[tuple[int, ...], Any] = {(j,): a[..., n - 1, j] for j in range(n)}
        for size in range(2, n + 1):
            minors = {
                columns: sum(
                    (-1) ** k * a[..., n - size, j] * minors[columns[:k] + columns[k + 1 :]]
                    for k, j in enumerate(columns)
                )
                for columns in itertools.combinations(range(n), size)
            }
        return minors[tuple(range(n))]

    def log_size(self, *operands: Any) -> tuple[Any, Any]:
        return slogdet(*operands)

    def ball(self, *balls: Any) -> Any:
        return over_matrices(lambda a: a.det(), *balls)


class Cofactor(Square):
    """C = det(a)·a⁻ᵀ: the matrix of cofactors; its Jacobian is the Hessian of the determinant, so symmetric."""

    code = "cofactor"
    imports = ("cofactor",)
    grows = True
    cancels = "rows"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [CofactorDerivative()(inputs[0], output_gradients[0])]

    def ball(self, *balls: Any) -> Any:
        return over_matrices(lambda a: (a.inv() * a.det()).transpose(), *balls)


class CofactorDerivative(SecondDerivative, Square):
    """The derivative of c = cofactor(a) along v: (c·⟨c, v⟩ - c·vᵀ·c)/det(a).

    Linear and self-adjoint in v. It is finite for every matrix; its own derivative in a, the third of the
    determinant, is computed by the formula above and so needs a regular one.
    """

    code = "cofactor_derivative"
    imports = ("cofactor_derivative",)

    @property
    def name(self) -> str:
        return "cofactor_derivative"

    def output_type(self, *types: Any) -> Type:
        a, v = types
        return array_type(self.check(a, v), broadcast_shapes(square_shape(a.shape), v.shape))

    def third(self, x: Any, v: Any, w: Any) -> Any:
        """third(x, v, w) = ∂(C′(x)·v)/∂x·w: the second derivative of the cofactors along v and w."""
        c = Cofactor()(x)
        cv, cw = _wide(_inner(c, v)), _wide(_inner(c, w))
        crossed = np.matmul(np.matmul(w, swap(c)), v) + np.matmul(np.matmul(v, swap(c)), w)
        change = self(x, v * cw + w * cv - crossed)
        second = _wide(_inner(w, self(x, v)))
        return (change - second * c) / _wide(np.linalg.det(x))

    def ball(self, *balls: Any) -> Any:
        """C′·v = (C·⟨C, v⟩ − C·vᵀ·C)/det(a), in ball arithmetic."""
        a, v = balls
        c = Cofactor().ball(a)
        along = np.asarray(np.sum(c * v, axis=(-1, -2), keepdims=True))
        return (c * along - np.matmul(np.matmul(c, np.swapaxes(v, -1, -2)), c)) / Det().ball(a)[
            ..., None, None
        ]


def _wide(x: Any) -> Any:
    return np.expand_dims(x, (-2, -1))


def _inner(a: Any, b: Any) -> Any:
    """⟨a, b⟩ for the matrices in the last two axes."""
    return np.sum(a * b, axis=(-2, -1))


class SLogDet(Square):
    """sign(det a), log|det a|: two outputs; ∂log|det a|/∂a = a⁻ᵀ, the sign's derivative is 0."""

    code = "np.linalg.slogdet"
    n_outputs = 2
    cancels = "rows"

    def output_type(self, *types: Any) -> Type:
        kind = array_type(self.check(*types), types[0].shape[:-2])
        return TupleType((kind, kind))

    def connection_pattern(self, node: Term) -> list[list[bool]]:
        return [[False, True]]

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        g = output_gradients[1]
        return [None if g is None else _wide(g) * swap(np.linalg.inv(inputs[0]))]

    def ball(self, *balls: Any) -> Any:
        det = Det().ball(balls[0])
        return sign.ball(det), log.ball(np.abs(det))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """Trace `np.linalg.det`."""
    return Det().make_node(as_term(a))


implements(cofactor)(Cofactor())
implements(cofactor_derivative)(CofactorDerivative())


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """Trace `np.linalg.slogdet`; the result is NumPy's named tuple."""
    return SlogdetResult(*outputs_like(SLogDet(), a))
