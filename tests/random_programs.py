"""Random NumPy programs: lines drawn from templates over all traced functions, as text that runs on its own.

A number names a program: `random_case(seed)` is the same program, with the same inputs, in every process. Templates
that belong together (a softmax, a log-likelihood, a normalised vector) are drawn as often as single functions, and
operands are drawn among all that was computed before, late ones first; so fragments share subterms and interact.

Source: McKeeman 1998, Differential testing for software; the grammar follows what numerical code is made of.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sp

Node = tuple[str, tuple[int, ...]]
"""A line: an expression with places `{0}`, `{1}`, … for operands, and which values stand there."""
MASK = np.array(
    [[True, False, True, True], [False, True, True, False], [True] * 4, [False, False, True, True]]
)
NAMES = {"np": np, "sp": sp, "MASK": MASK}
"""What the text of a program may name."""
LARGEST = 48
"""No array of a program has more entries."""


class Leaf(NamedTuple):
    """An argument: its shape, its dtype, and where its entries lie as a rule."""

    shape: tuple[int, ...]
    dtype: str
    region: str


@dataclass(frozen=True)
class Program:
    """A function as text: arguments, and lines that each compute one value; the last one is the result."""

    leaves: tuple[Leaf, ...]
    nodes: tuple[Node, ...]

    @property
    def names(self) -> list[str]:
        """The names of all values, arguments first."""
        return [f"x{i}" for i in range(len(self.leaves))] + [f"t{i}" for i in range(len(self.nodes))]

    @property
    def source(self) -> str:
        """The text of the function `f`."""
        names = self.names
        lines = [expression.format(*[names[i] for i in operands]) for expression, operands in self.nodes]
        body = [f"    {name} = {line}" for name, line in zip(names[len(self.leaves) :], lines, strict=True)]
        arguments = names[: len(self.leaves)]
        return "\n".join([f"def f({', '.join(arguments)}):", *body, f"    return {names[-1]}"])

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        space = dict(NAMES)
        exec(self.source, space)
        return space["f"]

    def pruned(self) -> tuple[Program, list[int]]:
        """Return the program without what its result does not depend on, and which arguments are left."""
        first = len(self.leaves)
        needed = {first + len(self.nodes) - 1}
        for i in range(first + len(self.nodes) - 1, first - 1, -1):
            if i in needed:
                needed.update(self.nodes[i - first][1])
        kept = sorted(needed)
        place = {old: new for new, old in enumerate(kept)}
        leaves = [i for i in kept if i < first]
        nodes = [self.nodes[i - first] for i in kept if i >= first]
        moved = tuple([(text, tuple([place[i] for i in operands])) for text, operands in nodes])
        return Program(tuple([self.leaves[i] for i in leaves]), moved), leaves


class Case(NamedTuple):
    """A program with the inputs that it is tried at."""

    program: Program
    points: tuple[tuple[Any, ...], ...]


UNARY = """
-A | abs(A) | np.fabs(A) | +A | np.sign(A) | np.sqrt(A) | np.square(A) | np.cbrt(A) | np.reciprocal(A)
np.conjugate(A) | np.exp(A) | np.exp(A) | np.exp(-A) | np.exp(-A*A/2) | np.exp2(A) | np.expm1(A) | np.log(A)
np.log(A) | np.log2(A) | np.log10(A) | np.log1p(A) | np.sin(A) | np.cos(A) | np.tan(A) | np.arcsin(A)
np.arccos(A) | np.arctan(A) | np.sinc(A) | np.sinh(A) | np.cosh(A) | np.tanh(A) | np.arcsinh(A)
np.arccosh(A) | np.arctanh(A) | np.degrees(A) | np.radians(A) | np.deg2rad(A) | np.rad2deg(A) | np.floor(A)
np.ceil(A) | np.trunc(A) | np.rint(A) | np.round(A, 1) | np.fix(A) | np.nan_to_num(A) | np.positive(A)
np.real(A) | np.modf(A)[0] | np.frexp(A)[0] | np.ldexp(A, I) | A.copy() | np.astype(A, np.float64)
A.astype(int) * 0.5 | A.astype(np.float32) | np.clip(A, -1.0, 1.0) | A.clip(0.0, None) | np.maximum(A, 0)
np.minimum(A, C) | np.heaviside(A, 0.5) | np.copysign(C, A) | np.isfinite(A) * A | np.signbit(A) * A
sp.expit(A) | sp.log_expit(A) | sp.logit(A) | sp.entr(A) | sp.erf(A) | sp.erfc(A) | sp.erfcx(A) | sp.ndtr(A)
sp.log_ndtr(A) | sp.ndtri(A) | sp.i0(A) | sp.i1(A) | sp.i0e(A) | sp.i1e(A) | sp.j0(A) | sp.j1(A) | sp.k0(A)
sp.k1e(A) | sp.y0(A) | sp.iv(2, A) | sp.jv(3, A) | sp.kv(2, A) | sp.ive(2, A) | sp.gammainc(1.5, A)
sp.gammaincc(1.5, A) | sp.erfinv(A) | sp.erfcinv(A) | sp.expi(A) | sp.exp1(A) | sp.rgamma(A) | sp.cbrt(A)
sp.betainc(1.5, 2.0, A) | sp.betaincc(1.5, 2.0, A) | sp.exp10(A) | sp.dawsn(A) | sp.erfi(A) | sp.spence(A)
sp.ellipk(A) | sp.ellipe(A) | sp.ellipkm1(A) | sp.ndtri_exp(A) | sp.expn(2, A) | sp.hyp2f1(0.5, 1.0, 1.5, A)
sp.hyp1f1(0.5, 1.5, A) | sp.hyp0f1(1.5, A) | sp.gammaincinv(1.5, A) | sp.betaincinv(1.5, 2.0, A)
sp.eval_legendre(3, A) | sp.eval_jacobi(3, 0.5, 1.0, A) | sp.eval_chebyt(4, A) | sp.eval_hermite(3, A)
sp.eval_genlaguerre(3, 0.5, A) | sp.binom(A, 2.5) | sp.gammainc(A, 1.5) | sp.betainc(A, 2.0, 0.3)
sp.stdtr(3.0, A) | sp.stdtr(A, 0.7)
sp.exprel(A) | sp.gamma(A) | sp.gammaln(A) | sp.psi(A) | A + C | C - A
A - C | C * A | A / C | C / A | 1 + A | 1 - A | A - 1 | 1 / A | A**2 | A**3 | A**0.5 | A**-1 | A**-0.5
A**1.5 | A * A | 2 * A | 0.5 * A | C**A | A % 1.0 | A // C | np.fmod(A, C) | divmod(A, C)[1]
np.float_power(A, 2) | 1 + A**2 | 1 - A**2 | A + 1e-3 | A * 1e-6 | np.sqrt(1 + A) | np.log(1 + A)
np.exp(A) - 1 | 1 - np.exp(-A) | 1 / (1 + np.exp(-A)) | np.log(1 + np.exp(A)) | np.exp(A) / (1 + np.exp(A))
np.log(np.cosh(A)) | 1 - np.cos(A)
"""
BINARY = """
A + B | A + B | A - B | A - B | A * B | A * B | A / B | A / B | A**B | np.maximum(A, B) | np.minimum(A, B)
np.fmax(A, B) | np.fmin(A, B) | np.arctan2(A, B) | np.hypot(A, B) | np.logaddexp(A, B) | np.logaddexp2(A, B)
np.copysign(A, B) | np.heaviside(A, B) | A // B | A % B | np.fmod(A, B) | np.true_divide(A, B)
np.float_power(A, B) | np.remainder(A, B) | sp.xlogy(A, B) | sp.xlog1py(A, B) | sp.beta(A, B)
sp.betaln(A, B) | sp.rel_entr(A, B) | sp.kl_div(A, B) | sp.huber(A, B) | sp.pseudo_huber(A, B)
(A > B) * A | (A <= B) * 1.0 | np.where(A > B, A, B)
np.where(A < 0, A, B) | np.where((A > 0) & (B < 1)|~(A >= C), A, B) | np.where(A != B, A, 0.0)
np.where(np.logical_or(A > C, B > C), A * B, B) | np.where(np.logical_xor(A > 0, B > 0), A, -A)
np.where(A > 0, np.log(A), B) | np.where(A == 0, 1.0, np.sin(A) / A) * B | np.clip(A, -1.0, abs(B))
A * B + A | A * A + B * B
"""
REDUCE = """
A.sum(AXIS) | A.sum(AXIS, keepdims=True) | np.sum(A, axis=AXIS) | A.mean(AXIS) | A.mean(AXIS, keepdims=True)
A.max(AXIS) | A.max(AXIS, keepdims=True) | A.min(AXIS) | A.prod(AXIS) | A.std(AXIS) | A.var(AXIS)
np.var(A, axis=AXIS, ddof=1) | np.std(A, axis=AXIS, ddof=1) | np.ptp(A, axis=AXIS)
np.logaddexp.reduce(A, axis=LAST) | np.linalg.norm(A, axis=LAST)
np.linalg.norm(A, axis=LAST, keepdims=True) | np.linalg.norm(A, ord=1, axis=LAST)
np.linalg.norm(A, ord=3, axis=LAST) | np.linalg.norm(A, ord=np.inf, axis=LAST) | np.linalg.norm(A)
np.average(A, axis=AXIS) | np.nansum(A, axis=AXIS) | np.nanmean(A, axis=AXIS) | np.nanprod(A, axis=AXIS)
np.nanmax(A, axis=AXIS) | np.nanmin(A, axis=AXIS) | np.nanvar(A, axis=AXIS) | np.nanstd(A, axis=AXIS)
np.sum(A, axis=AXIS, where=A > 0) | np.mean(A, axis=AXIS, where=A < 1) | np.max(A, axis=AXIS, initial=0.5)
np.cumsum(A, axis=LAST)
np.cumprod(A, axis=LAST) | A.argmax(LAST) * 0.5 | A.argmin(LAST) + 0.5
np.count_nonzero(A > 0, axis=AXIS) * A | np.any(A > 1, axis=AXIS) * A.sum() | np.all(A > 0, axis=AXIS) * 1.0
np.sort(A, axis=LAST) | np.sort(A, axis=LAST)[..., -1] | np.argsort(A, axis=LAST) * A | np.median(A, axis=AXIS)
np.partition(A, 0, axis=LAST)[..., 0] | np.argpartition(A, -1, axis=LAST)[..., -1] * 0.5
np.quantile(A, 0.3, axis=AXIS) | np.percentile(A, 70.0, axis=AXIS, method='hazen') | np.maximum.accumulate(A, axis=LAST)
np.minimum.accumulate(A, axis=LAST) | np.lexsort((A,)) * 1.0 + A
np.searchsorted([0.5, 1.0], A) * A | np.digitize(A, [0.0, 1.0]) + A
np.maximum.reduce(A, axis=LAST) | np.diff(A, axis=LAST) | np.linalg.vector_norm(A, axis=AXIS)
"""
SHAPE = """
A[0] | A[-1] | A[..., 0] | A[..., -1] | A[1:] | A[..., 1:] | A[..., :-1] | A[::-1] | A[..., ::2]
A[:, None] | A[None] | A[..., None] | A[[0, 1, 1]] | A[..., [1, 0]] | A[A.shape[0] * [0]] | A.T
np.transpose(A) | A.mT | A.ravel() | A.flatten() | A.reshape(-1) | np.reshape(A, (-1, 1)) | np.flip(A, -1)
np.flipud(A) | np.fliplr(A) | np.roll(A, 1, axis=-1) | np.roll(A, 1) | np.concatenate([A, A], axis=-1)
np.concatenate([A, B]) | np.concatenate([A, B], axis=-1) | np.stack([A, B]) | np.stack([A, B], -1)
np.hstack([A, B]) | np.vstack([A, B]) | np.dstack([A, B])[..., 0] | np.column_stack([A, B])
np.append(A, B) | np.squeeze(A) | np.expand_dims(A, 0) | np.swapaxes(A, 0, -1) | np.moveaxis(A, 0, -1)
np.rollaxis(A, -1) | np.atleast_1d(A) | np.atleast_2d(A) | np.atleast_3d(A) | np.broadcast_to(A, (2, *A.shape))
np.broadcast_arrays(A, B)[0] * B | np.meshgrid(A, B)[1] | np.split(A, 2, axis=-1)[1]
np.array_split(A, 2)[0] | np.tile(A, 2) | np.repeat(A, 2, axis=-1) | np.repeat(A, 2) | np.pad(A, 1)
np.pad(A, 1, mode='edge') | np.pad(A, 1, mode='wrap') | np.take(A, [0, 1], axis=-1) | np.take(A, 1)
A[MASK[:A.shape[0], :A.shape[1]]] | A[A.shape[0] * [True]]
np.where(MASK[:A.shape[0], :A.shape[1]], A, 0.0) | np.where(MASK[:A.shape[0], :A.shape[1]], A, -np.inf)
np.where(MASK[0, :A.shape[-1]], A, B) | np.take_along_axis(A, np.argmax(A, axis=-1, keepdims=True), axis=-1)
A + np.arange(A.shape[-1]) | A * np.arange(1.0, 1 + A.shape[-1]) | np.zeros_like(A) + B
np.ones_like(A) * B | np.full_like(A, C) - A | np.linspace(A, B, 3) | np.logspace(0.0, A, 3)
np.compress(A.shape[0] * [True], A, axis=0) | np.extract(MASK.ravel()[:A.size], A) | np.delete(A, 0, axis=-1)
np.insert(A, 1, C, axis=-1) | np.block([A, B]) | np.select([A > C, B > C], [A, B], C)
np.choose(np.floor(abs(A)).astype(int), [A, B, C], mode='clip') | np.isclose(A, B) * A
np.lib.stride_tricks.sliding_window_view(A, 2, axis=-1) | np.interp(A, [-1.0, 0.0, 2.0], [0.5, C, 1.5])
np.trapezoid(A, axis=-1) | np.gradient(A, axis=-1) | np.ediff1d(A) | np.unwrap(A) | np.bincount([0, 1, 1], A)
np.polyval(A, C) | np.polyval([C, 1.0, 0.5], A) | np.polyder(A) | np.polyint(A) | np.vander(A, 3) | np.cov(A)
np.corrcoef(A, B) | np.diagflat(A) | np.diag(A) | np.tril(A) | np.triu(A, 1)
"""
PRODUCT = """
A @ B | A @ B | A.T @ B | A @ A.T | np.dot(A, B) | np.matmul(A, B) | np.inner(A, B) | np.outer(A, B)
np.vdot(A, B) | np.vecdot(A, B) | np.tensordot(A, B, axes=1) | np.tensordot(A, B, 0) | np.kron(A, B)
np.cross(A.ravel()[[0, 1, 1]], B.ravel()[[1, 0, 1]]) | np.convolve(A, B) | np.correlate(A, B) | np.einsum('i,i', A, B)
np.einsum('ij,j->i', A, B) | np.einsum('ij,ij->i', A, B) | np.einsum('i,j->ij', A, B)
np.einsum('...i,...i->...', A, B) | np.einsum('ii', A) | np.trace(A) | np.diagonal(A)
np.multiply.outer(A, B) | np.subtract.outer(A, B)
"""
SQUARE = """
np.linalg.det(A) | np.linalg.slogdet(A)[1] | np.linalg.inv(A) | np.linalg.solve(A, B) | np.linalg.inv(A) @ B
np.trace(np.linalg.inv(A)) | np.linalg.matrix_power(A, 2) | np.linalg.multi_dot([A, A, B])
A.mT @ A + np.eye(A.shape[-1]); np.linalg.cholesky(#0)
A @ A.mT + np.eye(A.shape[-2]); np.log(np.linalg.det(#0))
A @ A.mT + np.identity(A.shape[-2]); np.linalg.solve(#0, B) | A + A.mT; np.linalg.eigvalsh(#0)
A + A.mT; np.linalg.eigh(#0)[0] | B @ A @ B
np.linalg.norm(A, 'fro') | np.linalg.matrix_norm(A) | np.linalg.norm(A, 1)
"""
FRAGMENT = """
np.exp(A); #0 / #0.sum(LAST, keepdims=True) | np.exp(A); #0.sum(LAST, keepdims=True); #0 / #1
np.exp(A - A.max(LAST, keepdims=True)); #0 / #0.sum(LAST, keepdims=True)
np.exp(A); np.log(#0 / #0.sum(LAST, keepdims=True))
np.exp(A); #0 / #0.sum(LAST, keepdims=True); -np.sum(B * np.log(#1), LAST) | np.exp(A); np.log(#0.sum(LAST))
np.log(np.sum(np.exp(A))) | np.log(np.exp(A).mean(LAST))
np.exp(A).sum(LAST, keepdims=True); A - np.log(#0) | np.log(np.exp(A) + np.exp(B))
np.log(np.exp(A) - np.exp(B)) | np.exp(A) * B; np.log(#0.sum(LAST)) | np.log(np.sum(B * np.exp(A), LAST))
np.exp(A); #0 * B; #1.sum(LAST) / #0.sum(LAST)
1 / (1 + np.exp(-A)); B * np.log(#0) + (1 - B) * np.log(1 - #0) | 1 / (1 + np.exp(-A)); #0 * (1 - #0)
1 / (1 + np.exp(-A)); np.log(#0) | 1 / (1 + np.exp(-A)); np.log(#0 / (1 - #0))
np.log(1 + np.exp(A)) - B * A | np.log(1 + np.exp(-B * A)) | np.log1p(np.exp(A))
np.exp(-np.log1p(np.exp(-A))) | np.log(1 - np.exp(A)) | np.log(1 - np.exp(-abs(A))) | np.log(1 + A) / A
(np.exp(A) - 1) / A | np.expm1(A) / A | np.sin(A) / A | np.tanh(A) / A | (1 - np.cos(A)) / A**2
(1 - np.cos(A)) / np.sin(A) | np.sqrt(A + 1) - np.sqrt(A) | np.sqrt(A * A + 1) - 1 | np.sqrt(A**2 + B**2)
1 / np.sqrt(A) - 1 / np.sqrt(A + 1) | np.sqrt(A**2 + B**2) - A | (-B + np.sqrt(B * B - 4 * A * C)) / (2 * A)
np.cosh(A)**2 - np.sinh(A)**2 | np.cosh(A) - np.sinh(A) | (np.exp(A) - np.exp(-A)) / 2
(np.exp(A) - np.exp(-A)) / (np.exp(A) + np.exp(-A)) | 2 / (1 + np.exp(-2 * A)) - 1
np.log((1 + A) / (1 - A)) / 2 | np.log(A + np.sqrt(A * A + 1)) | 1 - np.tanh(A)**2 | 1 / np.cosh(A)**2
np.tanh(A); 1 - #0 * #0 | np.exp(A) - np.exp(B) | np.log(A) - np.log(B) | np.log(A / B)
np.exp(A) * np.exp(B) | np.exp(A) / np.exp(B) | (1 + 1 / A)**A | (1 + A)**B - 1 | np.log(A**2)
np.log(A * B) | np.log(A.prod(LAST)) | np.exp(np.log(A).mean(LAST)) | A.prod(LAST)**(1 / 3)
A - A.mean(LAST, keepdims=True); (#0**2).mean(LAST) | (A**2).mean(LAST) - A.mean(LAST)**2
A - A.mean(LAST, keepdims=True); #0 / np.sqrt((#0**2).mean(LAST, keepdims=True))
A.mean(LAST, keepdims=True); A.std(LAST, keepdims=True); (A - #0) / (#1 + 1e-5) | np.sqrt((A**2).sum(LAST))
np.sqrt(np.sum(A * A, LAST, keepdims=True)); A / #0 | np.linalg.norm(A, axis=LAST, keepdims=True); A / #0
np.sqrt(np.sum((A - B)**2, LAST))
np.sum(A * B, LAST); #0 / np.sqrt(np.sum(A * A, LAST) * np.sum(B * B, LAST))
A / A.sum(LAST, keepdims=True); -np.sum(#0 * np.log(#0), LAST) | -np.sum(A * np.log(A), LAST)
np.sum(A * np.log(A / B), LAST) | A * np.log(A) | A * np.log(B)
-0.5 * ((A - B) / C)**2 - np.log(C) - 0.9189385332046727 | np.exp(-0.5 * (A - B)**2); np.log(#0.sum(LAST))
np.exp(-(A - B)**2 / 2) / np.sqrt(2 * np.pi); np.log(#0) | np.log(sp.ndtr(A))
0.5 * (1 + sp.erf(A / np.sqrt(2))) | np.log(1 - sp.ndtr(A))
sp.gammaln(A + B) - sp.gammaln(A) - sp.gammaln(B) | A * np.log(B) - B - sp.gammaln(A + 1)
np.where(A > 0, A, 0.0); np.sqrt(#0 + 1) | np.where(A > 0, np.sqrt(abs(A)), 0.0)
np.where(A > 0, A, np.exp(A) - 1) | np.where(abs(A) < 1, 0.5 * A**2, abs(A) - 0.5) | A / (1 + abs(A))
np.maximum(A, 0) - A * B + np.log(1 + np.exp(-abs(A))) | A * np.tanh(np.log(1 + np.exp(A)))
A / (1 + np.exp(-A)) | np.exp(A); np.where(A > 1, #0, B)
np.where(MASK[0, :A.shape[-1]], A, -np.inf); np.exp(#0); #1 / #1.sum(LAST, keepdims=True)
np.exp(A) * MASK[0, :A.shape[-1]]; np.log(#0.sum(LAST)) | np.cumsum(np.exp(A), axis=LAST); np.log(#0)
np.exp(np.cumsum(np.log(A), axis=LAST)) | A[..., None] - B[..., None, :]; np.exp(-#0**2); #1.sum(LAST)
A @ B; np.exp(#0); #1 / #1.sum() | A @ B; np.tanh(#0) | np.exp(A) @ B; np.log(#0)
A @ B / np.sqrt(3.0); np.exp(#0); #1 / #1.sum(LAST, keepdims=True) | np.sin(A + B) - np.sin(A)
np.cos(A + 1e-3) - np.cos(A) | np.tan(A) - np.sin(A) | A - np.sin(A) | np.arctan(A + 1) - np.arctan(A)
np.log(A + 1) - np.log(A) | np.exp(A) - 1 - A | np.sin(A)**2 + np.cos(A)**2 | np.sin(A) / np.cos(A)
np.cos(A)**2 - np.sin(A)**2 | 2 * np.sin(A) * np.cos(A) | np.cbrt(A + 1) - np.cbrt(A) | 1 / (A + 1) - 1 / A
"""
INTEGER = """
np.gcd(np.floor(4 * A).astype(int), 6) * A | np.lcm(np.floor(A).astype(int), 2) + A
(np.floor(A).astype(int) & 3) * A | ((np.floor(A).astype(int) << 2)|1) + A
(np.rint(A).astype(int) ^ 5 >> 1) * A | np.bitwise_count(np.rint(A).astype(int)) * A | np.isnan(A) + A
np.isinf(A) + A | np.isposinf(A) * 1.0 + A | np.logical_not(A) + A | np.logical_and(A, A > 1) * A
np.invert(A > 0) * A | np.isneginf(A) * 1.0 + A | np.imag(A) + A | np.empty_like(A) * 0 + A
np.eye(A.shape[-1]) * A | np.tri(A.shape[-1]) * A | np.full(A.shape, C) * A
"""
GROUPS = (
    (UNARY, 5),
    (BINARY, 4),
    (REDUCE, 3),
    (SHAPE, 2),
    (PRODUCT, 1),
    (SQUARE, 1),
    (FRAGMENT, 9),
    (INTEGER, 1),
)
"""Templates and how often each group is drawn from."""
TEMPLATES = tuple(
    [
        ([t.strip() for line in text.strip().splitlines() for t in line.split(" | ")], weight)
        for text, weight in GROUPS
    ]
)
CONSTANTS = ("0.5", "2.0", "3", "1.5", "0.1", "1e-3", "10.0", "-1.0", "0.25")
REGIONS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "real": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(0.1, 3.0, shape),
    "unit": lambda rng, shape: rng.uniform(0.02, 0.98, shape),
}
SCALES: tuple[Callable[[np.random.Generator, Any], Any], ...] = (
    lambda rng, x: 30.0 * x,
    lambda rng, x: 1000.0 * x,
    lambda rng, x: 1e-4 * x,
    lambda rng, x: 1e-9 * x,
    lambda rng, x: x * np.exp2(rng.uniform(-60.0, 4.0, np.shape(x))),
    lambda rng, x: x * np.exp2(rng.uniform(-8.0, 40.0, np.shape(x))),
    lambda rng, x: 1.0 + 1e-7 * x,
    lambda rng, x: 1e4 + x,
    lambda rng, x: np.full_like(x, np.mean(x)),
    lambda rng, x: np.round(2 * x) / 2,
)
"""What is done to moderate inputs: large, small, of many orders, close to each other, equal, simple numbers."""


def random_case(seed: object, longest: int = 7) -> Case:
    """Return the program of a seed, of at most `longest` templates, and three points: moderate, moderate, any."""
    draw = random.Random(str(seed))
    while True:
        program = _random_program(draw, longest)
        if program is not None:
            return Case(program, tuple([_point(program, draw, wild) for wild in (False, False, True)]))


def _random_program(draw: random.Random, longest: int) -> Program | None:
    n, m = draw.choice((2, 3, 3, 4)), draw.choice((2, 3))
    shapes = [(), (n,), (n,), (m, n), (m, n), (n, n), (m, 1), (1, n)]
    dtype = draw.choice(("float64", "float64", "float32"))
    leaves = [
        Leaf(draw.choice(shapes), dtype, draw.choice(tuple(REGIONS)))
        for _ in range(draw.choice((1, 2, 2, 3)))
    ]
    if draw.random() < 0.05:
        leaves[0] = leaves[0]._replace(dtype="float32" if dtype == "float64" else "float64")
    rng = np.random.default_rng(draw.getrandbits(32))
    values = [_drawn(leaf, rng) for leaf in leaves]
    nodes: list[Node] = []
    for _ in range(draw.randint(2, longest)):
        for _ in range(20):
            made = _line(draw, values)
            if made is not None:
                nodes += made[0]
                values += made[1]
                break
    if not nodes or np.asarray(values[-1]).dtype.kind != "f":
        return None
    program, _ = Program(tuple(leaves), tuple(nodes)).pruned()
    return program if program.leaves else None


def _line(draw: random.Random, values: list[Any]) -> tuple[list[Node], list[Any]] | None:
    """Return the lines of a random template with random operands, and what they compute; None if it does not fit."""
    (templates,) = draw.choices([t for t, _ in TEMPLATES], [w for _, w in TEMPLATES])
    template = draw.choice(templates)
    latest = len(values) - 1
    operands = {
        "A": latest if draw.random() < 0.6 else _operand(draw, latest + 1),
        "B": _operand(draw, latest + 1),
    }
    rank = np.ndim(values[operands["A"]])
    axes = ["None", "-1", *(["0", "(0, 1)"] if rank > 1 else [])] if rank else ["None"]
    axis, last = draw.choice(axes), draw.choice(("-1", "-1", "0")) if rank > 1 else "-1"
    template = re.sub(r"\bAXIS\b", axis, re.sub(r"\bLAST\b", last, template))
    template = re.sub(r"\bC\b", draw.choice(CONSTANTS), re.sub(r"\bI\b", draw.choice("123"), template))
    made: list[Node] = []
    computed: list[Any] = []
    for expression in template.split(";"):
        node = _node(expression.strip(), operands, len(values))
        value = _evaluated(node, [*values, *computed])
        if value is None or not _moderate(value, draw):
            return None
        made.append(node)
        computed.append(value)
    return made, computed


def _operand(draw: random.Random, count: int) -> int:
    """Draw one of the values, a late one rather than an early one."""
    return max(draw.randrange(count), draw.randrange(count))


def _node(expression: str, operands: dict[str, int], offset: int) -> Node:
    """Return a line of a template, with operands for its letters and earlier lines for its numbers."""
    used: list[int] = []

    def place(found: re.Match[str]) -> str:
        token = found[0]
        target = offset + int(token[1:]) if token[0] == "#" else operands[token]
        if target not in used:
            used.append(target)
        return f"{{{used.index(target)}}}"

    text = re.sub(r"#\d|\b[AB]\b", place, expression)
    return text, tuple(used)


def _evaluated(node: Node, values: Sequence[Any]) -> Any:
    expression, operands = node
    names = [f"v{i}" for i in operands]
    space = {**NAMES, **{name: values[i] for name, i in zip(names, operands, strict=True)}}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(expression.format(*names), space)
    except (ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError, np.linalg.LinAlgError):
        return None


def _moderate(value: Any, draw: random.Random) -> bool:
    """Whether a value may stay in a program: a real array, small, and as a rule finite and of moderate numbers."""
    x = np.asarray(value)
    if not 0 < x.size <= LARGEST or x.ndim > 3 or x.dtype.kind not in "f":
        return False
    if not np.all(np.isfinite(x)):
        return not np.any(np.isnan(x)) and draw.random() < 0.1
    return bool(np.max(np.abs(x)) < 1e4) or draw.random() < 0.2


def _drawn(leaf: Leaf, rng: np.random.Generator) -> Any:
    return np.asarray(REGIONS[leaf.region](rng, leaf.shape)).astype(leaf.dtype)[()]


def _point(program: Program, draw: random.Random, wild: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(draw.getrandbits(32))
    found = [_drawn(leaf, rng) for leaf in program.leaves]
    if wild:
        change = draw.choice(SCALES)
        with np.errstate(all="ignore"):
            found = [
                np.asarray(change(rng, x)).astype(x.dtype)[()] if draw.random() < 0.8 else x for x in found
            ]
    return tuple(found)


def smaller(case: Case, point: int) -> Iterator[Case]:
    """Yield cases with less of the program, at one point: lines left out, or replaced by arguments of their value."""
    program, inputs = case.program, case.points[point]
    first = len(program.leaves)
    values = list(inputs)
    for node in program.nodes:
        values.append(_evaluated(node, values))
    for i in range(first + len(program.nodes) - 1, first - 1, -1):
        if i < first + len(program.nodes) - 1:
            yield _pruned(Program(program.leaves, program.nodes[: i - first + 1]), inputs)
    for i in range(first + len(program.nodes) - 2, first - 1, -1):
        yield from _replaced(program, inputs, values, i)
    for i, (expression, operands) in enumerate(program.nodes):
        for simple in ("{0}", *(["{1}"] if len(operands) > 1 else [])):
            if simple != expression:
                nodes = (*program.nodes[:i], (simple, operands), *program.nodes[i + 1 :])
                yield _pruned(Program(program.leaves, nodes), inputs)
    yield from _simpler_arguments(program, inputs)


def _replaced(program: Program, inputs: Sequence[Any], values: Sequence[Any], at: int) -> Iterator[Case]:
    """Yield the program with one line made an argument of the value that it had."""
    first, value = len(program.leaves), values[at]
    if value is None or np.asarray(value).dtype.kind != "f":
        return
    x = np.asarray(value)
    leaf = Leaf(x.shape, str(x.dtype), "real")
    nodes = list(program.nodes)
    del nodes[at - first]

    def moved(i: int) -> int:
        return i if i < first else first if i == at else i + 1 if i < at else i

    changed = tuple([(text, tuple([moved(i) for i in operands])) for text, operands in nodes])
    yield _pruned(Program((*program.leaves, leaf), changed), (*inputs, x[()]))


def _simpler_arguments(program: Program, inputs: Sequence[Any]) -> Iterator[Case]:
    for i, (leaf, x) in enumerate(zip(program.leaves, inputs, strict=True)):
        for axis in range(np.ndim(x)):
            cut = np.take(x, [0], axis=axis)
            if cut.shape != np.shape(x):
                yield _with_argument(program, inputs, i, leaf._replace(shape=cut.shape), cut)
        if np.ndim(x):
            only = np.asarray(x).flat[0]
            yield _with_argument(program, inputs, i, leaf._replace(shape=()), only)
        short = np.asarray(np.vectorize(lambda v: float(f"{v:.1g}"))(x)).astype(leaf.dtype)[()]
        if not np.array_equal(short, x, equal_nan=True):
            yield _with_argument(program, inputs, i, leaf, short)


def _with_argument(program: Program, inputs: Sequence[Any], i: int, leaf: Leaf, x: Any) -> Case:
    leaves = (*program.leaves[:i], leaf, *program.leaves[i + 1 :])
    return Case(replace(program, leaves=leaves), ((*inputs[:i], x, *inputs[i + 1 :]),))


def _pruned(program: Program, inputs: Sequence[Any]) -> Case:
    pruned, kept = program.pruned()
    return Case(pruned, (tuple([inputs[i] for i in kept]),))


def size(case: Case) -> tuple[int, int]:
    """Return how long a program is: lines and characters, entries of its arguments and their digits."""
    text = len(case.program.source)
    digits = sum(len(repr(np.asarray(x).tolist())) for x in case.points[0])
    return text + 20 * len(case.program.nodes), digits
