"""NumPy code for every op: label ↦ (function, *arguments), smooth near the arguments unless the op is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

import relgrad as rg
from relgrad import kernels

Row = tuple[Any, ...]
_rng = np.random.default_rng(0)
X, Y = _rng.uniform(0.2, 0.9, (3, 4)), _rng.uniform(1.1, 1.9, (3, 4))
Q = X * (np.arange(12).reshape(3, 4) - 5.5)
"""Dividends of X whose quotients are far from integers."""
V, S = _rng.uniform(0.2, 0.9, 4), np.float64(0.7)
M = _rng.normal(size=(3, 3)) + 3 * np.eye(3)
P = M @ M.T
T, R = _rng.uniform(0.2, 0.9, (2, 3, 4)), _rng.normal(size=(2, 4, 3))
PERM, B = np.array([2, 0, 1]), X > 0.5


def n(x: Any) -> Any:
    """Return integers."""
    return np.floor(10 * x).astype(int)


def named(names: str, *args: Any, module: Any = np, suffix: str = "") -> dict[str, Row]:
    """Return a row for each function of a module."""
    return {f"{name}{suffix}": (getattr(module, name), *args) for name in names.split()}


def over(name: str, x: Any, *axes: Any, module: Any = np, **options: Any) -> dict[str, Row]:
    """Return a row for each axis of a reduction."""
    f = getattr(module, name)

    def along(axis: Any) -> Callable[..., Any]:
        return lambda x: f(x, axis=axis, **options)

    extra = "".join(f" {key}={value}" for key, value in options.items())
    return {f"{name} axis={axis}{extra}": (along(axis), x) for axis in axes}


def einsum(subscripts: str, *args: Any) -> dict[str, Row]:
    return {f"einsum {subscripts}": (lambda *xs: np.einsum(subscripts, *xs), *args)}


def norm(x: Any, order: Any, axis: Any = None) -> dict[str, Row]:
    return {f"norm ord={order} axis={axis}": (lambda x: np.linalg.norm(x, ord=order, axis=axis), x)}


def pad(mode: str) -> dict[str, Row]:
    return {f"pad {mode}": (lambda x: np.pad(x, ((1, 2), (2, 1)), mode=mode), X)}


BINARY = """add subtract multiply divide true_divide power float_power maximum minimum fmax fmin arctan2 hypot
    logaddexp logaddexp2 copysign heaviside greater greater_equal less less_equal equal not_equal logical_and
    logical_or logical_xor"""
QUOTIENTS = "floor_divide remainder mod fmod"
REDUCTIONS = "sum prod mean var std max min ptp any all"

ELEMENTWISE: dict[str, Row] = {
    **named(
        """negative positive absolute fabs sign rint sqrt square cbrt reciprocal exp exp2 expm1 log log2 log10
        log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh degrees radians deg2rad rad2deg
        floor ceil trunc isfinite isinf isnan signbit logical_not conjugate sinc fix nan_to_num real imag""",
        X,
    ),
    **named("arccosh modf frexp", Y),
    **named(BINARY, X, Y),
    **named("add divide power maximum hypot logaddexp copysign greater", V, Y, suffix=" broadcast"),
    **named("subtract multiply power fmin arctan2 heaviside less_equal", X, 1.5, suffix=" scalar"),
    **named(QUOTIENTS + " divmod", Q, X),
    **named(QUOTIENTS, X, 0.37, suffix=" scalar"),
    "ldexp": (lambda x: np.ldexp(x, np.array([1, 2, 3, 4])), X),
    "operators": (lambda x, y: (-x + y * 2 - 1 / x) ** 2 + abs(x - y) + 2.0**x + x**-1.5 + +y, X, Y),
    "quotient operators": (lambda x, y: x // y + x % y + divmod(x, y)[1] + 0.1 % y, Q, X),
    "comparisons": (lambda x, y: np.where((x > 0.3) & (y < 1.5) | ~(x <= 0.6) ^ (x != y), x, y), X, Y),
    "where": (lambda x, y: np.where(x > 0.5, x * y, y), X, Y),
    "where condition of arrays": (lambda x, v: np.where(B, x, v), X, V),
    "select": (lambda x, y: np.select([x > 0.7, y > 1.4], [x, x * y], y), X, Y),
    "choose": (lambda x, v: np.choose(n(x) % 2, [x, v]), X, V),
    "isclose": (lambda x, y: np.isclose(x, y, rtol=0.4) * x, X, Y),
    "where constant": (lambda x: np.where(B, x, 0.0), X),
    "clip": (lambda x: np.clip(x, 0.3, 0.6), X),
    "clip by arrays": (lambda x, a, b: x.clip(a, b), X, V * 0 + 0.31, np.float64(0.61)),
    "clip above": (lambda x: np.clip(x, None, 0.6), X),
    "round": (lambda x: np.round(x, 1), X),
    "integers": (
        lambda x: np.gcd(n(x), 6) + np.lcm(n(x), 4) + np.bitwise_count(n(x)) + (n(x) << 2 >> 1) * x,
        X,
    ),
    "bits": (lambda x: ((n(x) & 6) | ~n(x) ^ np.invert(n(x) + 1)) * x, X),
    "in place": (lambda x: [x := x + 1, x := x * x][-1], X),
}
REDUCED: dict[str, Row] = {
    **named(REDUCTIONS + " cumsum cumprod argmax argmin average count_nonzero nansum", X),
    **named("sum mean prod max min cumsum", S, suffix=" of rank 0"),
    **{k: v for name in REDUCTIONS.split() for k, v in over(name, T, 1, -1, (-1, 0)).items()},
    **{k: v for name in ("sum", "std", "max") for k, v in over(name, T, 1, (0, 2), keepdims=True).items()},
    **{k: v for name in ("cumsum", "cumprod", "argmax", "argmin") for k, v in over(name, T, 0, -1).items()},
    **over("var", T, 0, (0, 1), ddof=1),
    **over("std", T, -1, ddof=1),
    **over("nanmean", X, 0),
    **named("nanmax nanmin nanprod nanvar nanstd", X),
    **{k: v for name in ("sum", "var", "any", "all") for k, v in over(name, X, 0, None, where=B).items()},
    **{k: v for name in ("prod", "max") for k, v in over(name, X, 1, where=B, initial=0.1).items()},
    "mean of what is large": (lambda x: np.mean(x, axis=1, where=x > 0.4), X),
    "methods": (lambda x: x.sum(0) + x.mean(axis=1).prod() + x.std() + x.max() * x.cumsum()[-1], X),
    **{k: v for name in ("sort", "argsort", "median") for k, v in over(name, T, 0, -1, None).items()},
    **over("quantile", T, 1, (0, 2), q=[0.2, 0.7]),
    **over("percentile", X, None, -1, q=30.0, method="hazen"),
    "quantile of traced q": (lambda x, q: np.quantile(x, q, axis=1), X, V),
    "partition": (lambda x: np.partition(x, 2, axis=1)[:, 2], X),
    "argpartition": (lambda x: np.argpartition(x, 2, axis=1)[:, 2], X),
    "lexsort": (lambda x: x[:, np.lexsort((x[0], np.floor(2 * x[1])))], X),
    "searchsorted": (lambda x, v: np.searchsorted(np.sort(v), x) * x, X, V),
    "digitize": (lambda x: np.digitize(x, [0.7, 0.3], right=True) * x, X),
    "maximum.accumulate": (np.maximum.accumulate, X),
    "minimum.accumulate": (lambda x: np.minimum.accumulate(x, axis=1), X),
    "bincount": (lambda v: np.bincount([2, 0, 2, 5], v, 3), V),
    "bincount of traced integers": (lambda v: np.bincount(n(v), v, minlength=12), V),
    "interp": (np.interp, X, np.array([0.1, 0.35, 0.64, 1.0]), V),
    "interp beyond the ends": (lambda x: np.interp(x, [0.3, 0.5], [2.0, 1.0], left=0.5), X),
    **named("polyval", V, X),
    **named("polyder polyint vander ediff1d", V),
    **named("trapezoid cov", X),
    "corrcoef": (lambda x: np.corrcoef(x)[0, 1:], X),
    "trapezoid of places": (lambda y, x: np.trapezoid(y, np.cumsum(x)), X, V),
    "cov with weights": (lambda x, w: np.cov(x, aweights=w, fweights=[1, 2, 3, 1]), X, V),
    "gradient": (lambda x: np.gradient(x, edge_order=2)[0], X),
    "gradient of places": (lambda y, x: np.gradient(y, np.cumsum(x), axis=1), X, V),
    "unwrap": (lambda x: np.unwrap(10 * x), X),
    "average weights": (lambda x, v: np.average(x, axis=1, weights=v), X, V),
    "add.reduce": (np.add.reduce, X),
    "multiply.reduce": (np.multiply.reduce, X),
    "maximum.reduce": (lambda x: np.maximum.reduce(x, axis=1), X),
    "logaddexp.reduce": (np.logaddexp.reduce, X),
    "add.accumulate": (np.add.accumulate, X),
    "subtract.outer": (np.subtract.outer, V, V + 1),
    "multiply.outer": (np.multiply.outer, X, V),
    "diff": (np.diff, X),
    "diff twice": (lambda x: np.diff(x, n=2, axis=1), X),
}
SHAPED: dict[str, Row] = {
    "reshape": (lambda x: np.reshape(x, (2, 6)), X),
    "reshape method": (lambda x: x.reshape(4, -1), X),
    "reshape columns first": (lambda x: x.reshape((4, 3), order="F"), X),
    **named("ravel transpose fliplr flipud flip atleast_3d", X),
    **named("atleast_1d", S),
    **named("atleast_2d diagflat", V),
    "flatten": (lambda x: x.flatten(), X),
    "transpose axes": (lambda x: np.transpose(x, (1, 2, 0)), T),
    "T and mT": (lambda x: x.T @ np.ones(2) + x.mT.sum(0)[:, :3].sum(), T),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 2), T),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), T),
    "rollaxis": (lambda x: np.rollaxis(x, 2), T),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)), X),
    "squeeze": (lambda x: np.squeeze(x[:, None, :1]), X),
    "squeeze axis": (lambda x: np.squeeze(x[None], axis=0), X),
    "newaxis": (lambda x: x[:, None, :, None], X),
    "broadcast_to": (lambda x: np.broadcast_to(x[:, :1], (2, 3, 5)), X),
    "broadcast_arrays": (lambda x, v: np.broadcast_arrays(x, v)[1], X, V),
    "meshgrid": (lambda a, b: np.meshgrid(a, b)[0] * 2, V, V),
    "concatenate": (lambda x, y: np.concatenate([x, y, x], axis=1), X, Y),
    "concatenate flat": (lambda x, v: np.concatenate([x, v], axis=None), X, V),
    "stack": (lambda x, y: np.stack([x, y], axis=1), X, Y),
    "hstack": (lambda x, y: np.hstack([x, y]), X, Y),
    "vstack": (lambda x, v: np.vstack([x, v]), X, V),
    "dstack": (lambda x, y: np.dstack([x, y]), X, Y),
    "column_stack": (lambda x, y: np.column_stack([x, y]), V, V * 2),
    "append": (lambda x, v: np.append(x, v), X, V),
    "split": (lambda x: np.split(x, 2, axis=1)[1], X),
    "array_split": (lambda x: np.array_split(x, 3, axis=1)[0], X),
    "hsplit": (lambda x: np.hsplit(x, 2)[0], X),
    "flip axis": (lambda x: np.flip(x, 1), X),
    "roll": (lambda x: np.roll(x, 2), X),
    "roll axis": (lambda x: np.roll(x, -1, axis=1), X),
    "pad zeros": (lambda x: np.pad(x, ((1, 2), (0, 1))), X),
    "pad constant": (lambda x: np.pad(x, 1, constant_values=2.5), X),
    **pad("edge"),
    **pad("reflect"),
    **pad("symmetric"),
    **pad("wrap"),
    "tile": (lambda x: np.tile(x, (2, 1, 3)), X),
    "repeat": (lambda x: np.repeat(x, 3), X),
    "repeat axis": (lambda x: np.repeat(x, 2, axis=1), X),
    "repeat counts": (lambda x: np.repeat(x, [1, 0, 2], axis=0), X),
}
INDEXED: dict[str, Row] = {
    "row": (lambda x: x[1], X),
    "entry": (lambda x: x[-1, 2], X),
    "slices": (lambda x: x[::2, 1:-1], X),
    "backwards": (lambda x: x[::-1, ::-2], X),
    "ellipsis": (lambda x: x[..., 0], T),
    "list": (lambda x: x[[0, 2, 2]], X),
    "arrays": (lambda x: x[PERM[:, None], [1, 3]], X),
    "mask": (lambda x: x[B], X),
    "mask of rows": (lambda x: x[np.array([True, False, True])], X),
    "array and integer": (lambda x: x[:, PERM, 1], T),
    "integer, slice, list": (lambda x: x[1, :, [0, 3, 3]], T),
    "compress": (lambda x: np.compress([True, False, True], x, axis=0), X),
    "extract": (lambda x: np.extract(B, x), X),
    "delete": (lambda x: np.delete(x, [0, -1], axis=1), X),
    "insert": (lambda x, v: np.insert(x, 1, v, axis=0), X, V),
    "block": (lambda x, v: np.block([[x, v[:3, None]], [v, 1.0]]), X, V),
    "sliding_window_view": (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)), X),
    "nothing": (lambda x: x[:0], X),
    "array of rank 0": (lambda x: x[np.array(1)], X),
    "take": (lambda x: np.take(x, [0, 5, 5]), X),
    "take axis": (lambda x: np.take(x, PERM, axis=1), X),
    "take one": (lambda x: np.take(x, 1, axis=0), X),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1), X),
    "take_along_axis twice": (lambda x: np.take_along_axis(x, np.array([[0, 0, 1, 3]] * 3), axis=1), X),
}
PRODUCTS: dict[str, Row] = {
    "matmul": (lambda x, y: x @ y.T, X, Y),
    "matmul matrix vector": (lambda x, v: x @ v, X, V),
    "matmul vector matrix": (lambda x, v: v @ x, X, V[:3]),
    "matmul vectors": (lambda v, w: v @ w, V, V * 2),
    "matmul batch": (np.matmul, T, R),
    "matmul batch by matrix": (np.matmul, T, R[0]),
    "dot": (np.dot, X, Y.T),
    "dot scalar": (np.dot, X, 2.0),
    "dot of rank 3": (np.dot, T, R),
    "dot method": (lambda a, b: a.dot(b), X, V),
    **named("inner vdot vecdot", X, Y),
    **named("outer kron", X, V),
    "cross": (np.cross, M, P),
    "tensordot axes": (lambda a, b: np.tensordot(a, b, axes=([1, 2], [0, 1])), T, X),
    "tensordot 1": (lambda a, b: np.tensordot(a, b, axes=1), T, X.T),
    "tensordot 0": (lambda a, b: np.tensordot(a, b, axes=0), X, V),
    **einsum("ij,ij->", X, Y),
    **einsum("ij,kj->ik", X, Y),
    **einsum("ii->i", M),
    **einsum("ii", M),
    **einsum("ij->ji", X),
    **einsum("bij,j->bi", T, V),
    **einsum("...ij,kj->...ik", T, X),
    **einsum("i,j,k->ijk", V, V, V[:2]),
    **einsum("ij,ij,j->i", X, Y, V),
    **einsum("ij,jk,kl->il", X, Y.T, X),
    "einsum of lists": (lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), X, Y.T),
    **named("convolve correlate", V, V[:3]),
    **named("trace diag diagonal tril", M),
    "trace offset": (lambda x: np.trace(x, offset=1), X),
    "diagonal axes": (lambda x: np.diagonal(x, offset=1, axis1=1, axis2=2), T),
    "diag of a vector": (lambda x: np.diag(x, k=-1), V),
    "triu above": (lambda x: np.triu(x, 1), X),
}
_linalg = np.linalg
LINALG: dict[str, Row] = {
    **norm(X, None),
    **norm(X, None, 1),
    **{k: v for order in (1, 2, 3, np.inf, -np.inf, 0.5, 0) for k, v in norm(X, order, -1).items()},
    **{k: v for order in ("fro", 1, -1, np.inf) for k, v in norm(X, order).items()},
    "norm keepdims": (lambda x: _linalg.norm(x, axis=(0, 1), keepdims=True), X),
    "solve": (_linalg.solve, M, X),
    "solve vector": (_linalg.solve, M, V[:3]),
    "solve batch": (_linalg.solve, np.stack([M, P]), T),
    "inv": (_linalg.inv, M),
    "det": (_linalg.det, M),
    "det batch": (_linalg.det, np.stack([M, P])),
    "det of a singular matrix": (_linalg.det, np.outer(V[:3], V[:3])),
    "slogdet": (_linalg.slogdet, M),
    "slogdet by name": (lambda a: _linalg.slogdet(a).logabsdet, M),
    "cholesky": (lambda a: _linalg.cholesky(a @ a.T + np.eye(3)), M),
    "matrix_power": (lambda a: _linalg.matrix_power(a, 3), M),
    "matrix_power negative": (lambda a: _linalg.matrix_power(a, -2), M),
    "multi_dot": (lambda a, b: _linalg.multi_dot([a, b, a]), M, P),
    "eigvalsh": (lambda a: _linalg.eigvalsh(a + a.T), M),
    "svd u": (lambda x: _linalg.svd(x, full_matrices=False)[0], X),
    "svd s": (lambda x: _linalg.svd(x, compute_uv=False), T),
    "svd vh": (lambda x: _linalg.svd(x.T, full_matrices=False)[2], X),
    "norm nuc": (lambda x: np.linalg.norm(x, "nuc", axis=(0, 2)), T),
    "qr q": (lambda x: _linalg.qr(x.mT)[0], T),
    "qr r": (lambda x: _linalg.qr(x, "r"), X),
    "pinv": (_linalg.pinv, T),
    "eigh": (lambda a: _linalg.eigh(a + a.T)[0], M),
}


def apart(names: str) -> dict[str, Row]:
    """Return a row for each function of x, y and their distance."""

    def of_two(f: Any) -> Callable[..., Any]:
        return lambda x, y: f(x, y, x - y)

    return {name: (of_two(getattr(kernels, name)), Y, X) for name in names.split()}


KERNELS: dict[str, Row] = {
    **named(
        """coversin expit_entropy log_exprel versin""",
        X,
        module=kernels,
    ),
    **named("power1p power1pm1 hypot_excess", X, Y, module=kernels),
    **named("sagitta", Y, X, module=kernels),
    **named("radical quadratic_root", X, Y, V, module=kernels),
    **apart(
        """arctan_difference cos_difference exp_difference
        expit_difference i_divergence itakura_saito leg log_difference ratio_minus_one log_quotient sin_difference
        softplus_difference tan_difference tanh_difference xlog_ratio"""
    ),
    "power_difference": (lambda x, y, a: kernels.power_difference(x, y, a, x - y), Y, X, V),
    "boxcox": (lambda x, a: kernels.boxcox(x, a, x - 1), X, Y),
    "product_difference": (lambda x, y: kernels.product_difference(x, y, y + 1, x * y), X, Y),
    "sum_minus": (lambda x, s: kernels.sum_minus(x, s, axis=1), X, S),
    "mean_minus": (lambda x, s: kernels.mean_minus(x, s, axis=1), X, S),
    "logmeanexp": (lambda x: kernels.logmeanexp(x, axis=1, keepdims=True), X),
    "coarse": (lambda x: x * kernels.coarse(np.floor(x) + 0.3), X),
    **named("mills mills_excess", X, module=kernels),
    "prod1pm1": (lambda x: kernels.prod1pm1(x, axis=1, keepdims=True), X),
    "log_prod": (lambda x: kernels.log_prod(x, axis=1, keepdims=True), X),
}
CREATED: dict[str, Row] = {
    "zeros_like": (lambda x: np.zeros_like(x) + x, X),
    "ones_like": (lambda x: np.ones_like(x) * x, X),
    "full_like": (lambda x: np.full_like(x, 2.5) * x, X),
    "empty_like": (lambda x: np.zeros_like(np.empty_like(x)) + x, X),
    "zeros": (lambda x: np.zeros((3, 4)) + x, X),
    "ones": (lambda x: np.ones(4) * x, X),
    "full": (lambda x: np.full((3, 4), 2.0) * x, X),
    "arange": (lambda x: np.arange(len(x), dtype=float)[:, None] * x, X),
    "eye": (lambda x: np.eye(3) @ x, X),
    "identity": (lambda x: np.identity(3) @ x, X),
    "tri": (lambda x: np.tri(3, 4) * x, X),
    "linspace": (lambda a, b: np.linspace(a, b, 4), S, 2 * S),
    "logspace": (lambda a: np.logspace(0.0, a, 5), S),
    "astype": (lambda x: x.astype(float) * x.astype(int) + x.astype(bool), 3 * X),
    "copy": (lambda x: x.copy(), X),
}
STABLE: dict[str, Row] = {
    **{
        label: row
        for name in ("logsumexp", "softmax", "log_softmax")
        for label, row in over(name, X, None, 0, -1, (0, 1), module=rg).items()
    },
    **named("expit log_expit softplus log_cosh logit", X, module=rg),
    **named("log1mexp", -X, module=rg),
    **named("xlogy xlog1py", X, Y, module=rg),
    **named("logdiffexp", Y, X, module=rg),
    **named(
        "expit log_expit logit entr erf erfc erfcx ndtr log_ndtr ndtri exprel",
        X,
        module=sp,
        suffix=" of SciPy",
    ),
    **named("gamma gammaln psi", X, module=sp, suffix=" of SciPy"),
    **named(
        "xlogy xlog1py beta betaln rel_entr kl_div pseudo_huber huber", X, Y, module=sp, suffix=" of SciPy"
    ),
    **named("erfinv erfcinv rgamma expi exp1 cbrt exp10", X, module=sp, suffix=" of SciPy"),
    **named("j0 j1 y0 y1 i0 i1 i0e i1e k0 k1 k0e k1e", X, module=sp, suffix=" of SciPy"),
    **{
        f"{name} of SciPy": (lambda x, name=name: getattr(sp, name)(2, x), X)
        for name in ("jv", "yv", "iv", "ive", "kv", "kve", "polygamma")
    },
    **{
        f"{name} of SciPy": (lambda x, name=name: getattr(sp, name)(1.7, x), X)
        for name in ("gammainc", "gammaincc")
    },
    **{
        f"{name} of SciPy": (lambda x, name=name: getattr(sp, name)(1.7, 0.6, x), X)
        for name in ("betainc", "betaincc")
    },
    **named("dawsn erfi spence ellipk ellipe ellipkm1", X, module=sp, suffix=" of SciPy"),
    **named("ndtri_exp", -X, module=sp, suffix=" of SciPy"),
    **{
        f"{name} of SciPy": (lambda a, x, name=name, p=parameters: getattr(sp, name)(1 + a, *p, x), Y, X)
        for names, parameters in (
            ("gammaincinv gammainccinv", ()),
            ("betaincinv betainccinv", (0.6,)),
        )
        for name in names.split()
    },
    "gammainc of SciPy, by its parameter": (lambda a, x: sp.gammainc(1 + a, x), Y, X),
    "betaincc of SciPy, by its parameters": (lambda a, x: sp.betaincc(1 + a, 2 + a, x), Y, X),
    "stdtr of SciPy, by its parameter": (lambda v, t: sp.stdtr(v, t), Y, X),
    "stdtrit of SciPy": (lambda v, p: sp.stdtrit(v, p), Y, X),
    "hyp2f1 of SciPy": (lambda x: sp.hyp2f1(0.5, 1.0, 1.5, x), X),
    "eval_jacobi of SciPy": (lambda x: sp.eval_jacobi(3, 0.5, 1.0, x), X),
    "multigammaln of SciPy": (lambda x: sp.multigammaln(x[0, 0] + 2, 3), X),
    "sin(x)/x": (lambda x: np.sin(x) / x, X),
    "expm1(x)/x": (lambda x: np.expm1(x) / x, X),
    "log1p(x)/x": (lambda x: np.log1p(x) / x, X),
    "tanh(x)/x": (lambda x: np.tanh(x) / x, X),
    "(1-cos(x))/x²": (lambda x: (1 - np.cos(x)) / x**2, X),
    "softmax by hand": (lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), X),
    "cross entropy": (
        lambda x, y: -np.sum(y * np.log(np.exp(x) / np.exp(x).sum(-1, keepdims=True)), -1),
        X,
        Y,
    ),
    "log of expit by hand": (lambda x: np.log(1 / (1 + np.exp(-x))), X),
    "log1p of exp": (lambda x: np.log1p(np.exp(x)), X),
    "log of cosh": (lambda x: np.log(np.cosh(x)), X),
}
TABLES = {
    "elementwise": ELEMENTWISE,
    "reduced": REDUCED,
    "shaped": SHAPED,
    "indexed": INDEXED,
    "products": PRODUCTS,
    "linalg": LINALG,
    "created": CREATED,
    "stable": STABLE,
    "kernels": KERNELS,
}
ROWS: dict[str, Row] = {
    f"{topic}: {label}": row for topic, table in TABLES.items() for label, row in table.items()
}

NOT_A_FUNCTION_OF_THE_REALS: dict[str, Row] = {
    **named("spacing", X),
    **named("nextafter", X, Y),
}
"""Traced, but without derivative: asking for one is an error."""

HALF_KNOWN = tuple([f"reduced: {label}" for label in over("var", X, 0, None, where=B)])
"""Not traced where only the mask's extents are known."""

NEED_EXTENTS = (
    "reduced: cumsum",
    "reduced: cumprod",
    "reduced: methods",
    "reduced: polyval",
    "indexed: insert",
    "indexed: block",
    "reduced: unwrap",
    "linalg: multi_dot",
    "linalg: qr q",
    "linalg: qr r",
    "reduced: bincount of traced integers",
    "reduced: interp",
    "reduced: polyder",
    "reduced: polyint",
    "reduced: vander",
    "reduced: cov",
    "reduced: corrcoef",
    "reduced: cov with weights",
    "reduced: gradient",
    "reduced: gradient of places",
    "indexed: compress",
    "indexed: extract",
    "indexed: delete",
    "indexed: sliding_window_view",
    "reduced: sort axis=None",
    "reduced: argsort axis=None",
    "reduced: median axis=0",
    "reduced: median axis=-1",
    "reduced: median axis=None",
    "reduced: quantile axis=1 q=[0.2, 0.7]",
    "reduced: quantile axis=(0, 2) q=[0.2, 0.7]",
    "reduced: percentile axis=None q=30.0 method=hazen",
    "reduced: percentile axis=-1 q=30.0 method=hazen",
    "reduced: quantile of traced q",
    "shaped: reshape",
    "shaped: reshape method",
    "shaped: reshape columns first",
    "shaped: ravel",
    "shaped: flatten",
    "shaped: concatenate flat",
    "shaped: append",
    "shaped: split",
    "shaped: array_split",
    "shaped: hsplit",
    "shaped: roll",
    "shaped: pad edge",
    "shaped: pad reflect",
    "shaped: pad symmetric",
    "shaped: pad wrap",
    "shaped: repeat",
    "shaped: repeat axis",
    "shaped: repeat counts",
    "indexed: take",
    "products: vdot",
    "products: outer",
    "products: kron",
    "products: cross",
    "products: convolve",
    "products: correlate",
    "created: arange",
)
"""What cannot be traced while extents are unknown."""
