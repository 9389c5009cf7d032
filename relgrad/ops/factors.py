"""Factors of symmetric matrices: Cholesky's triangle, eigenvalues and eigenvectors.

Source: Murray 2016, Differentiation of the Cholesky decomposition, section 3; Giles 2008, Collected matrix
derivative results for forward and reverse mode algorithmic differentiation, section 3.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.contract import total
from relgrad.implementations import implements
from relgrad.kernels.linalg import cauchy
from relgrad.op import as_term
from relgrad.ops.arguments import require_ground
from relgrad.ops.diagonal import Embed
from relgrad.ops.expression import Expression
from relgrad.ops.matmul import swap
from relgrad.ops.square import Square, outputs_like, over_matrices, square_shape
from relgrad.term import term
from relgrad.types import TupleType, Type, array_type

EighResult: Any = type(np.linalg.eigh(np.eye(1)))


class Cholesky(Square):
    """The lower triangular l with l·lᵀ = a, for the symmetric a whose lower triangle the operand holds.

    Its derivatives are those along symmetric changes of a: l̇ = l·φ(l⁻¹·ȧ·l⁻ᵀ), where φ takes the lower
    triangle with half the diagonal; l̄ flows back as the symmetric part of l⁻ᵀ·φ(lᵀ·l̄)·l⁻¹.
    """

    code = "np.linalg.cholesky"
    partial = True
    cancels = "rows"

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = sym(l⁻ᵀ·Φ(lᵀ·l̄)·l⁻¹), Φ: the lower triangle with half of its diagonal (Murray 2016)."""
        upper = swap(outputs[0])
        inner = _half_lower(np.matmul(upper, np.tril(output_gradients[0])))
        # l⁻ᵀ·m·l⁻¹ by two solves: the second one acts on the transpose.
        full = swap(np.linalg.solve(upper, swap(np.linalg.solve(upper, inner))))
        return [(full + swap(full)) / 2]

    def ball(self, *balls: Any) -> Any:
        return over_matrices(_cholesky_ball, balls[0])


def _half_lower(x: Any) -> Any:
    return (np.tril(x) + np.tril(x, -1)) / 2


def _cholesky_ball(a: Any) -> Any:
    """l·lᵀ = a, row by row, of balls; [[1, 1], [1, 1]] → NaN in the last entry: a pivot of 0 is not positive."""
    import flint

    n = a.nrows()
    rows: list[list[Any]] = [[flint.arb(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            left = a[i, j] - sum((rows[i][k] * rows[j][k] for k in range(j)), flint.arb(0))
            rows[i][j] = left / (left.sqrt() if i == j else rows[j][j])
    return flint.arb_mat(rows)


class Cauchy(Expression):
    """cᵢⱼ = 1/(wⱼ + sign·wᵢ), cᵢᵢ = 0: the Cauchy matrix of the last axis; the row 1/wⱼ if the sign is 0.

    Derivatives of matrix factors divide by these gaps of their spectrum. What does not depend on the choice of
    vectors where values tie has a limit there, which `calculus/ties.py` takes; here the entry is NaN.
    """

    __props__ = ("sign",)
    sign: int
    text = "cauchy({0}, {sign})"
    imports = ("cauchy",)

    def output_type(self, *types: Any) -> Type:
        *stack, n = types[0].shape
        return array_type(types[0].dtype, (*stack, n if self.sign else 1, n))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        change = -output_gradients[0] * outputs[0] ** 2
        columns = np.sum(change, axis=-2)
        return [columns + self.sign * np.sum(change, axis=-1) if self.sign else columns]


@implements(cauchy)
def trace_cauchy(w: Any, sign: int) -> Any:
    """Trace the kernel `cauchy`."""
    return term(Cauchy(int(sign)), require_ground("cauchy", w))


class Eigh(Square):
    """Eigenvalues w, ascending, and eigenvectors v of the symmetric a whose lower triangle the operand holds.

    ẇ = diag(vᵀ·ȧ·v) and v̇ = v·(f ∘ (vᵀ·ȧ·v)) with f_ij = 1/(w_j - w_i), `Cauchy` of w.
    """

    code = "np.linalg.eigh"
    partial = True
    n_outputs = 2

    def output_type(self, *types: Any) -> Type:
        dtype, shape = self.check(*types), square_shape(types[0].shape)
        return TupleType((array_type(dtype, shape[:-1]), array_type(dtype, shape)))

    def ball(self, *balls: Any) -> Any:
        return np.vectorize(eigh_ball, "OO", signature="(n,n)->(n),(n,n)")(*balls)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = sym(v·(diag(w̄) + C·skew(vᵀ·v̄))·vᵀ), Cᵢⱼ = 1/(wⱼ − wᵢ) (Giles 2008, 3.1)."""
        (w, v), (gw, gv) = outputs, output_gradients
        inner = [None if gw is None else Embed(0)(gw)]
        if gv is not None:
            # What turns eigenvectors into each other does nothing where their values tie: it is 0/0 there.
            inner.append(Cauchy(-1)(w) * skew(np.matmul(swap(v), gv)))
        full = np.matmul(np.matmul(v, total(inner)), swap(v))
        return [(full + swap(full)) / 2]


def skew(x: Any) -> Any:
    """Return the skew part of matrices, (x − xᵀ)/2."""
    return (x - swap(x)) / 2


def eigh_ball(a: Any) -> tuple[Any, Any]:
    """a·v = v·diag(w): balls of eigenvalues, ascending, and eigenvectors with LAPACK's signs;
    no numbers where values tie.
    """
    import flint

    n = len(a)
    lower = np.array([[a[max(i, j), min(i, j)] for j in range(n)] for i in range(n)], dtype=object)
    try:
        found, columns = flint.acb_mat(lower.tolist()).eig(right=True)
    except ValueError:
        nothing = flint.arb.nan()
        return np.full(n, nothing, dtype=object), np.full((n, n), nothing, dtype=object)
    order = sorted(range(n), key=lambda k: float(found[k].real.mid()))
    middle = np.array([[float(x.mid()) for x in row] for row in lower])
    signs = np.linalg.eigh(middle)[1] if np.isfinite(middle).all() else np.ones((n, n))
    vectors = np.empty((n, n), dtype=object)
    for position, k in enumerate(order):
        vector = [columns[i, k].real for i in range(n)]
        length = sum((x * x for x in vector), flint.arb(0)).sqrt()
        agreement = sum(float(x.mid()) * s for x, s in zip(vector, signs[:, position], strict=True))
        vectors[:, position] = [x / (length if agreement >= 0 else -length) for x in vector]
    return np.array([found[k].real for k in order], dtype=object), vectors


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Trace `np.linalg.cholesky`."""
    return swap(Cholesky().make_node(swap(as_term(a)))) if upper else Cholesky().make_node(as_term(a))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Trace `np.linalg.eigh`; the result is NumPy's named tuple."""
    return EighResult(*outputs_like(Eigh(), a, swapped=UPLO.upper() == "U"))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Trace `np.linalg.eigvalsh`."""
    return eigh(a, UPLO)[0]
