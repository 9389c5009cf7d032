"""Orthogonal factors of rectangular matrices, singular values and pseudoinverses.

Source: Townsend 2016, Differentiating the singular value decomposition; Golub & Pereyra 1973, The differentiation of
pseudo-inverses and nonlinear least squares problems whose variables separate, SIAM J. Numer. Anal. 10, theorem 4.3;
Walter & Lehmann 2013, Algorithmic differentiation of linear algebra functions, J. Optim. Theory Appl. 159.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from relgrad.contract import total
from relgrad.errors import GradientError, OpError, ShapeError, TraceError
from relgrad.implementations import implements
from relgrad.op import Symbolic, as_term
from relgrad.ops.diagonal import Embed
from relgrad.ops.factors import Cauchy, eigh_ball, homogeneous, skew
from relgrad.ops.matmul import swap
from relgrad.ops.square import Square, outputs_like, over_matrices
from relgrad.types import Extent, TupleType, Type, array_type

SVDResult: Any = type(np.linalg.svd(np.eye(1)))
QRResult: Any = type(np.linalg.qr(np.eye(1)))


class Rectangular(Square):
    """f(a : (…, m, n)): = an op on the matrices in the last two axes of its operand."""

    def check(self, *types: Any) -> np.dtype:
        """float64 (…, m, n) → float64; raises ShapeError where there are fewer than two axes."""
        if len(types[0].shape) < 2:
            raise ShapeError(
                f"{self.code}: an operand of shape {types[0].shape}",
                cause="matrices lie in the last two axes",
            )
        return super().check(array_type(types[0].dtype, (1, 1)))


def _least(m: Extent, n: Extent) -> Extent:
    return None if m is None or n is None else min(m, n)


def _outside(q: Any, x: Any) -> Any:
    """Return the part of columns that is orthogonal to those of q."""
    return x - np.matmul(q, np.matmul(swap(q), x))


def _beside(q: Any, x: Any, s: Any) -> Any:
    """Return the part of columns that is orthogonal to those of q, over s; None where q is square."""
    square = None not in q.shape[-2:] and q.shape[-2] == q.shape[-1]
    return None if square else _outside(q, x) * Cauchy(0)(s)


class SVD(Rectangular):
    """u, s and vᵀ with a = u·diag(s)·vᵀ: singular values s, descending, with orthonormal columns of u and v.

    ṡ = diag(p), u̇ = u·(f ∘ (p + pᵀ) + h ∘ (p - pᵀ))/2 + (1 - u·uᵀ)·ȧ·v/s, and v̇ alike with f - h, where p = uᵀ·ȧ·v,
    f_ij = 1/(s_j - s_i) and h_ij = 1/(s_j + s_i): they are `Cauchy` of s.
    """

    text = "{code}({0}, full_matrices=False)"

    code = "np.linalg.svd"
    n_outputs = 3

    def output_type(self, *types: Any) -> Type:
        dtype, (*stack, m, n) = self.check(*types), types[0].shape
        k = _least(m, n)
        return TupleType(tuple([array_type(dtype, (*stack, *part)) for part in ((m, k), (k,), (k, n))]))

    def ball(self, *balls: Any) -> Any:
        return np.vectorize(_svd_ball, "OOO", signature="(m,n)->(m,k),(k),(k,n)")(*balls)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = u·(diag(s̄) + C₋·(L + R) + C₊·(L − R))·vᵀ + …, L = skew(uᵀ·ū), R = skew(vᵀ·v̄), C±ᵢⱼ = 1/(sⱼ ± sᵢ).

        And what is outside of the span of u, or of v, over s (Townsend 2016).
        """
        (u, s, vh), (gu, gs, gvh) = outputs, output_gradients
        v = swap(vh)
        inner, outer = [None if gs is None else Embed(0)(gs)], []
        turns = [None, None]
        if gu is not None:
            turns[0] = skew(np.matmul(swap(u), gu))
            if (rest := _beside(u, gu, s)) is not None:
                outer.append(np.matmul(rest, vh))
        if gvh is not None:
            gv = swap(gvh)
            turns[1] = skew(np.matmul(vh, gv))
            if (rest := _beside(v, gv, s)) is not None:
                outer.append(np.matmul(u, swap(rest)))
        left, right = turns
        if left is not None or right is not None:
            inner.append(Cauchy(-1)(s) * total(turns))
            inner.append(Cauchy(1)(s) * total([left, None if right is None else -right]))
        return [total([np.matmul(np.matmul(u, total(inner)), vh), *outer])]


@homogeneous(0, 1, 0)
def _svd_ball(a: Any) -> tuple[Any, Any, Any]:
    """aᵀ·a = v·diag(s²)·vᵀ, u = a·v/s: balls of singular values and vectors with LAPACK's signs;
    of a wide a, from a·aᵀ.
    """
    wide = a.shape[0] < a.shape[1]
    tall = a.T if wide else a
    squares, vectors = eigh_ball(tall.T @ tall)
    s = np.array([x.sqrt() for x in squares[::-1]], dtype=object)
    v = vectors[:, ::-1]
    middle = np.array([[float(x.mid()) for x in row] for row in a])
    if np.isfinite(middle).all():
        plain = np.linalg.svd(middle, full_matrices=False)
        agree = np.array([[float(x.mid()) for x in row] for row in v]) * (plain[0] if wide else plain[2].T)
        v = np.where(np.sum(agree, axis=0) < 0, -v, v)
    u = (tall @ v) / s
    return (v, s, u.T) if wide else (u, s, v.T)


class QR(Rectangular):
    """q with orthonormal columns and the upper triangular r with q·r = a, which has no more columns than rows.

    With c = qᵀ·ȧ·r⁻¹ and ω = l - lᵀ for the lower triangle l of c, below its diagonal: ṙ = (c - ω)·r and
    q̇ = q·ω + (1 - q·qᵀ)·ȧ·r⁻¹.
    """

    code = "np.linalg.qr"
    n_outputs = 2

    def output_type(self, *types: Any) -> Type:
        dtype, shape = self.check(*types), types[0].shape
        if None not in shape[-2:] and shape[-1] > shape[-2]:
            raise ShapeError(f"{self.code}: more columns than rows, {shape}", cause="q has as many as rows")
        return TupleType((array_type(dtype, shape), array_type(dtype, (*shape[:-2], shape[-1], shape[-1]))))

    def ball(self, *balls: Any) -> Any:
        return np.vectorize(_qr_ball, "OO", signature="(m,n)->(m,n),(n,n)")(*balls)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = (q̄ + q·sym(tril(r·r̄ᵀ − q̄ᵀ·q)))·r⁻ᵀ, sym(m): the symmetric matrix with the lower triangle m."""
        (q, r), (gq, gr) = outputs, output_gradients
        inner = total(
            [
                None if gr is None else np.matmul(r, swap(np.triu(gr))),
                None if gq is None else -np.matmul(swap(gq), q),
            ]
        )
        lower = np.tril(inner)
        symmetric = lower + swap(np.tril(inner, -1))
        back = total([gq, np.matmul(q, symmetric)])
        return [swap(np.linalg.solve(r, swap(back)))]


@homogeneous(0, 1)
def _qr_ball(a: Any) -> tuple[Any, Any]:
    """a = q·r by the Gram-Schmidt process, with LAPACK's signs, of balls."""
    import flint

    n = a.shape[1]
    q, r = np.array(a), np.full((n, n), flint.arb(0), dtype=object)
    middle = np.array([[float(x.mid()) for x in row] for row in a])
    signs = np.sign(np.diag(np.linalg.qr(middle)[1])) if np.isfinite(middle).all() else np.ones(n)
    for j in range(n):
        for i in range(j):
            r[i, j] = q[:, i] @ q[:, j]
            q[:, j] = q[:, j] - r[i, j] * q[:, i]
        length: Any = q[:, j] @ q[:, j]
        r[j, j] = length.sqrt() * int(signs[j] or 1)
        q[:, j] = q[:, j] / r[j, j]
    return q, r


class Completion(Rectangular):
    """[q, c]·[q, c]ᵀ = 1: the orthonormal vectors c that NumPy adds to those of a rectangular matrix, to a whole basis.

    They are determined up to a rotation among themselves, which LAPACK chooses: they have no derivatives.
    """

    __props__ = ("basis", "known")
    basis: str
    known: int
    """How many there are of the others."""
    UNDEFINED = "the vectors that NumPy adds to those of a rectangular matrix are not determined"
    CURE = "write the projection on them as 1 - q·qᵀ, of the others: np.eye(len(q)) - q @ q.T"
    CODES = MappingProxyType(
        {
            "q": "np.linalg.qr({0}, mode='complete')[0][..., {known}:]",
            "u": "np.linalg.svd({0})[0][..., {known}:]",
            "vh": "np.linalg.svd({0})[2][..., {known}:, :]",
        }
    )

    @property
    def code(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"the completion of {self.basis}"

    def output_type(self, *types: Any) -> Type:
        dtype, (*stack, m, n) = self.check(*types), types[0].shape
        rows = (n - m, n) if self.basis == "vh" else (m, m - n)
        return array_type(dtype, (*stack, *rows))

    @property
    def text(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.CODES[self.basis]

    def ball(self, *balls: Any) -> Any:
        raise OpError(f"{self.code} has no high-precision evaluation", cause=self.UNDEFINED, cure=self.CURE)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        raise GradientError(
            f"the gradient through {self.code} is undefined", cause=self.UNDEFINED, cure=self.CURE
        )


class Pinv(Rectangular):
    """The pseudoinverse p = a⁺, where singular values below `rtol` times the largest count as zero.

    As long as the rank stays: ṗ = -p·ȧ·p + p·pᵀ·ȧᵀ·(1 - a·p) + (1 - p·a)·ȧᵀ·pᵀ·p.
    """

    __props__ = ("rtol",)
    rtol: float
    text = "{code}({0}, {rtol!r})"
    code = "np.linalg.pinv"

    def output_type(self, *types: Any) -> Type:
        *stack, m, n = types[0].shape
        return array_type(self.check(*types), (*stack, n, m))

    def ball(self, *balls: Any) -> Any:
        """a⁺ = (aᵀ·a)⁻¹·aᵀ, or aᵀ·(a·aᵀ)⁻¹ of a wide a, of balls; unknown where a singular value may count as zero."""
        m, n = balls[0].shape[-2:]

        def full_rank(a: Any) -> Any:
            """a → p = (aᵀ·a)⁻¹·aᵀ of one matrix of full rank: (σ₁/σₙ)² ≤ ‖a‖²·‖p‖² < 1/rtol²."""
            t = a.transpose()
            p = (t * a).solve(t) if m >= n else t * (a * t).inv()
            squares: Any = math.prod([sum([x * x for x in matrix.entries()]) for matrix in (a, p)])
            return p if squares * self.rtol**2 < 1 else p * type(squares)("nan")

        return over_matrices(full_rank, balls[0])

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ā = −pᵀ·p̄·pᵀ + (1 − a·p)·p̄ᵀ·p·pᵀ + pᵀ·p·p̄ᵀ·(1 − p·a), p = a⁺ (Golub & Pereyra 1973)."""
        (a,), (p,), (g,) = inputs, outputs, output_gradients
        t, back = swap(p), swap(g)
        left = np.matmul(np.matmul(back, p), t)
        right = np.matmul(np.matmul(t, p), back)
        return [
            total(
                [
                    -np.matmul(np.matmul(t, g), t),
                    left - np.matmul(a, np.matmul(p, left)),
                    right - np.matmul(np.matmul(right, p), a),
                ]
            )
        ]


def _extents(name: str, a: Any) -> tuple[int, int]:
    shape = as_term(a).type.shape[-2:]
    if None in shape:
        raise ShapeError(f"{name} needs the extents of matrices, which are not known: {shape}")
    return shape


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """a = u @ diag(s) @ vh: traces `np.linalg.svd`; the result is NumPy's named tuple, or the singular values."""
    if hermitian and compute_uv:
        raise TraceError(
            "np.linalg.svd cannot be traced with hermitian=True",
            cause="singular vectors would have other signs than NumPy's",
            cure="write np.linalg.eigh(a): the singular values are the sizes of the eigenvalues",
        )
    u, s, vh = outputs_like(SVD(), a)
    if not compute_uv:
        return s
    if full_matrices:
        m, n = _extents("np.linalg.svd with full_matrices=True", a)
        u = np.concatenate([u, _complement("u", a)], axis=-1) if m > n else u
        vh = np.concatenate([vh, _complement("vh", a)], axis=-2) if m < n else vh
    return SVDResult(u, s, vh)


def _complement(basis: str, a: Any) -> Any:
    made = Completion(basis, min(a.shape[-2:])).make_node(as_term(a))
    return type(a)(made) if isinstance(a, Symbolic) else made


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """a = q @ r: traces `np.linalg.qr`: of a wide matrix (b, c), the factors of b, and qᵀ·c beside r."""
    m, n = _extents("np.linalg.qr", a)
    if mode not in ("reduced", "r", "complete"):
        raise TraceError(
            f"np.linalg.qr cannot be traced with mode={mode!r}",
            cause="Householder's vectors are not traced",
            cure="leave mode= out, or write mode='r'",
        )
    q, r = outputs_like(QR(), a[..., :m] if n > m else a)
    if n > m:
        r = np.concatenate([r, np.matmul(swap(q), a[..., m:])], axis=-1)
    if mode == "complete" and m > n:
        q = np.concatenate([q, _complement("q", a)], axis=-1)
        r = np.concatenate([r, np.zeros((*r.shape[:-2], m - n, n), r.dtype)], axis=-2)
    return r if mode == "r" else QRResult(q, r)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """a @ pinv(a) @ a = a: traces `np.linalg.pinv`."""
    given = rcond if rtol is np._NoValue else rtol
    if given is None:
        given = (
            1e-15
            if rtol is np._NoValue
            else max(_extents("np.linalg.pinv", a)) * np.finfo(as_term(a).type.dtype).eps
        )
    return Pinv(float(given)).make_node(as_term(a))
