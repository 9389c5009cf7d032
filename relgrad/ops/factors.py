"""Factors of symmetric matrices: Cholesky's triangle, eigenvalues and eigenvectors.

Source: Murray 2016, Differentiation of the Cholesky decomposition, section 3; Giles 2008, Collected matrix
derivative results for forward and reverse mode algorithmic differentiation, section 3.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.implementations import implements
from relgrad.op import as_term
from relgrad.ops.diagonal import Embed
from relgrad.ops.matmul import swap, total
from relgrad.ops.square import Square, outputs_like, over_matrices, square_shape
from relgrad.types import TupleType, Type, array_type

EighResult: Any = type(np.linalg.eigh(np.eye(1)))


class Cholesky(Square):
    """The lower triangular l with l·lᵀ = a, for the symmetric a whose lower triangle the operand holds.

    Its derivatives are those along symmetric changes of a: l̇ = l·φ(l⁻¹·ȧ·l⁻ᵀ), where φ takes the lower
    triangle with half the diagonal; l̄ flows back as the symmetric part of l⁻ᵀ·φ(lᵀ·l̄)·l⁻¹.
    """

    function = staticmethod(np.linalg.cholesky)
    code = "np.linalg.cholesky"
    partial = True

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        upper = swap(outputs[0])
        inner = _half_lower(np.matmul(upper, np.tril(output_gradients[0])))
        # l⁻ᵀ·m·l⁻¹ by two solves: the second one acts on the transpose.
        full = swap(np.linalg.solve(upper, swap(np.linalg.solve(upper, inner))))
        return [(full + swap(full)) / 2]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        if t is None:
            return [None]
        lower = self(*inputs)
        symmetric = (t + swap(t)) / 2
        inner = swap(np.linalg.solve(lower, swap(np.linalg.solve(lower, symmetric))))
        return [np.matmul(lower, _half_lower(inner))]

    def ball(self, *balls: Any) -> Any:
        return over_matrices(_cholesky_ball, balls[0])


def _half_lower(x: Any) -> Any:
    return (np.tril(x) + np.tril(x, -1)) / 2


def _cholesky_ball(a: Any) -> Any:
    import flint

    n = a.nrows()
    rows: list[list[Any]] = [[flint.arb(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            left = a[i, j] - sum((rows[i][k] * rows[j][k] for k in range(j)), flint.arb(0))
            rows[i][j] = left.sqrt() if i == j else left / rows[j][j]
    return flint.arb_mat(rows)


class Eigh(Square):
    """Eigenvalues w, ascending, and eigenvectors v of the symmetric a whose lower triangle the operand holds.

    ẇ = diag(vᵀ·ȧ·v) and v̇ = v·(f ∘ (vᵀ·ȧ·v)) with f_ij = 1/(w_j - w_i). Eigenvectors of equal eigenvalues are
    not determined; what does not depend on their choice has the right derivative with f_ij = 0 there.
    """

    function = staticmethod(np.linalg.eigh)
    code = "np.linalg.eigh"
    partial = True
    n_outputs = 2

    def output_type(self, *types: Any) -> Type:
        dtype, shape = self.check(*types), square_shape(types[0].shape)
        return TupleType((array_type(dtype, shape[:-1]), array_type(dtype, shape)))

    def compute(self, *arrays: Any) -> Any:
        return tuple(np.linalg.eigh(arrays[0]))

    def ball(self, *balls: Any) -> Any:
        values, vectors = np.empty(balls[0].shape[:-1], dtype=object), np.empty(balls[0].shape, dtype=object)
        for place in np.ndindex(balls[0].shape[:-2]):
            values[place], vectors[place] = eigh_ball(balls[0][place])
        return values, vectors

    def _gaps(self, w: Any) -> Any:
        gap = np.expand_dims(w, -2) - np.expand_dims(w, -1)
        return np.where(gap == 0, 0, 1 / np.where(gap == 0, 1, gap))

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        (w, v), (gw, gv) = outputs, output_gradients
        inner = total(
            [
                None if gw is None else Embed(0)(gw),
                None if gv is None else self._gaps(w) * np.matmul(swap(v), gv),
            ]
        )
        full = np.matmul(np.matmul(v, inner), swap(v))
        return [(full + swap(full)) / 2]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        (t,) = eval_points
        if t is None:
            return [None, None]
        w, v = self(*inputs)
        inner = np.matmul(np.matmul(swap(v), (t + swap(t)) / 2), v)
        return [np.diagonal(inner, 0, -2, -1), np.matmul(v, self._gaps(w) * inner)]


def eigh_ball(a: Any) -> tuple[Any, Any]:
    """Return balls of eigenvalues, ascending, and eigenvectors with LAPACK's signs; no numbers where values tie."""
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
