"""Causes and cures of what cannot be traced: tables that the refusals read."""

from __future__ import annotations

import statistics
from types import NoneType
from typing import Any

import numpy as np

VALUES = "while a function is traced its arrays have a shape and a dtype, but no values yet"
LOST = "it would not know what it was computed of, so that derivatives, and calls with other arguments, would be wrong"
GONE = (
    "compute within the function that is traced, in its thread; or return the array from it, and compute with what the"
    " call returns"
)
MASKED = "leave entries out with where=: np.sum(x, where=mask)"

UNKNOWN = (
    "nothing is known of how to trace it",
    "write it with functions that are supported, or as an op of your own (a subclass of relgrad.Op)",
)

CONDITIONS = {
    "if": (
        "a Python `if`",
        "choose with np.where(condition, a, b), np.maximum, np.minimum or np.clip; or branch on what is"
        " static, such as x.shape, len(x), or a Python value of the closure",
    ),
    "while": (
        "a Python `while`",
        "loop a fixed number of times, for _ in range(n), and freeze what has converged with np.where",
    ),
    "assert": (
        "an `assert`",
        "assert what is static, such as x.shape, or check the values before the call",
    ),
    "conditional": (
        "a conditional expression `a if condition else b`",
        "write np.where(condition, a, b); or branch on what is static, such as x.shape or len(x)",
    ),
    "comprehension": (
        "the condition of a comprehension",
        "keep all entries and weigh them with np.where(condition, a, b)",
    ),
    "boolean": (
        "`and` or `or`",
        "write np.logical_and(a, b) or np.logical_or(a, b), or (a) & (b), (a) | (b), between comparisons",
    ),
    "comparison": (
        "a chained comparison",
        "write (a < x) & (x < b)",
    ),
    "not": (
        "`not`",
        "write np.logical_not(x), or ~x for a boolean array",
    ),
    "in": (
        "`in`",
        "write np.any(x == value)",
    ),
}

MATH = {
    "fabs": "np.abs", "pow": "np.power", "dist": "np.linalg.norm", "prod": "np.prod", "fsum": "np.sum",
    "erf": "scipy.special.erf", "erfc": "scipy.special.erfc", "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln", "remainder": "x - y * np.round(x / y)", "ceil": "np.ceil", "sumprod": "np.dot",
}  # fmt: skip

ORDER = "write x = np.sort(x), which makes a new array"
STACK = (
    "write np.stack([a, b]) for arrays of one shape, or np.concatenate; for nested lists, np.stack each row"
)
WRITE = (
    "make the array within the function, with np.zeros(n) or a = np.array(a); or build it, with"
    " np.where(mask, new, old) or np.concatenate"
)

CALLS = {
    "max": "write np.maximum(a, b) for two arrays, np.max(x) for the entries of one",
    "min": "write np.minimum(a, b) for two arrays, np.min(x) for the entries of one",
    "sorted": ORDER,
    "any": "write np.any(x)",
    "all": "write np.all(x)",
    "bool": "write x != 0, which is a boolean array, or x.astype(bool)",
    "float": "leave float(...) out: a rank-0 array computes like a number; x.astype(float) converts",
    "int": "write np.floor(x), np.trunc(x) or np.round(x); x.astype(int) converts",
    "complex": "relgrad computes with real numbers",
    "range": "the number of steps must be a Python int: close over it, or bind it with functools.partial",
    "round": "write np.round(x)",
    "asarray": "leave it out: the argument already is an array; x.astype(dtype) converts",
    "asanyarray": "leave it out: the argument already is an array; x.astype(dtype) converts",
    "ascontiguousarray": "leave it out: the argument already is an array; x.astype(dtype) converts",
    "array": "leave it out: the argument already is an array; x.copy() copies, x.astype(dtype) converts",
    "float64": "write x.astype(np.float64)",
    "float32": "write x.astype(np.float32)",
    "int64": "write x.astype(int)",
    "int32": "write x.astype('int32')",
    "bool_": "write x.astype(bool)",
    "full": "write value * np.ones(shape), or np.broadcast_to(value, shape)",
    "vectorize": "call the function on the whole array: NumPy's functions act on every entry",
    **dict.fromkeys(
        ("choice", "permutation", "shuffle"), "draw positions, i = rng.permutation(n), and write x[i]"
    ),
    "uniform": "draw z = rng.random(shape) and write low + (high - low) * z",
    "exponential": "draw z = rng.standard_exponential(shape) and write scale * z",
    "Polynomial": "write np.polynomial.polynomial.polyval(x, coefficients)",
    "poly1d": "write np.polyval(coefficients, x)",
    **dict.fromkeys(("masked_array", "masked_where"), MASKED),
    "fromarrays": "keep the columns in a dict of arrays",
    "normal": "draw z = rng.standard_normal(shape) and write mean + scale * z",
    **{name: f"write np.linalg.{name}(a)" for name in ("eigh", "eigvalsh", "svd", "qr")},
    **dict.fromkeys(
        ("lu", "lu_factor", "lu_solve", "solve_banded", "solveh_banded", "solve_toeplitz"),
        "write np.linalg.solve(a, b), of the whole matrix",
    ),
    **dict.fromkeys(
        ("solve_sylvester", "solve_continuous_lyapunov"),
        "write np.linalg.solve(np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T), q.ravel()) for a @ x + x @ b = q",
    ),
    "logsumexp": "write np.log(np.sum(np.exp(x), axis)), which is made stable, or call relgrad.logsumexp",
    "softmax": "write np.exp(x) / np.sum(np.exp(x), axis, keepdims=True), which is made stable, or call"
    " relgrad.softmax",
    "log_softmax": "write x - np.log(np.sum(np.exp(x), axis, keepdims=True)), which is made stable, or call"
    " relgrad.log_softmax",
}

CLASSES: tuple[tuple[type, str, str], ...] = (
    (
        np.ma.MaskedArray,
        "its mask would be lost",
        "pass x.data, and x.mask as an array of its own for np.where",
    ),
    (np.matrix, "np.matrix means other things by * and **", "pass np.asarray(x), and write @ for products"),
    (complex, "derivatives are taken over the real numbers", "pass real and imaginary parts as two arrays"),
    (NoneType, "None is no number", "compare with `x is None`, which does not look into the array"),
)
"""Classes whose objects would lose their meaning as arrays of real numbers: cause and cure."""


def of_class(cls: type) -> tuple[str, str] | None:
    """np.matrix → "np.matrix means …", "pass np.asarray(x), …": the cause and the cure of a class, if there are any."""
    return next(((cause, cure) for kind, cause, cure in CLASSES if issubclass(cls, kind)), None)


METHODS: dict[str, tuple[str, str]] = {
    "tobytes": (VALUES, "compute with the array itself"),
    "tofile": (VALUES, "save the result of the call instead"),
    "dump": (VALUES, "save the result of the call instead"),
    "dumps": (VALUES, "save the result of the call instead"),
    "view": ("a traced array has no memory to look at", "x.astype(dtype) converts the values"),
    "getfield": ("a traced array has no memory to look at", "x.astype(dtype) converts the values"),
    "byteswap": ("a traced array has no memory to look at", "x.astype(dtype) converts the values"),
    "as_integer_ratio": (LOST, "compute with the number itself, or with NumPy's functions: np.mean, np.std"),
    "hex": (LOST, "compute with the number itself"),
    "resize": ("x.resize(shape) changes x in place", "write np.reshape(x, shape)"),
    "setfield": (UNKNOWN[0], "write x[i] = v"),
    "setflags": (UNKNOWN[0], "leave it out"),
}
"""Array methods that have no meaning on a traced array: cause and cure."""

ATTRIBUTES: dict[str, tuple[str, str]] = {
    "flags": ("a traced array has no memory", "leave it out"),
    "strides": ("a traced array has no memory", "leave it out"),
    "data": ("a traced array has no memory", "compute with the array itself"),
    "ctypes": ("a traced array has no memory", "wrap foreign code as an op of your own"),
    "base": ("a traced array has no memory", "leave it out"),
}
"""Array attributes that have no meaning on a traced array: cause and cure."""

SAMPLE = (
    *("mean", "fmean", "geometric_mean", "harmonic_mean", "variance", "pvariance", "stdev", "pstdev"),
    *("covariance", "correlation"),
)
"""Functions of Python's `statistics` that are not traced."""

_COMPLEX = "its result is complex, and relgrad computes with real numbers"
_FOURIER = (
    _COMPLEX,
    "multiply by the matrices of cosines and sines, t = 2 * math.pi * np.outer(np.arange(n), np.arange(n)) / n: the"
    " real part is np.cos(t) @ x, the imaginary one -np.sin(t) @ x, and the power the sum of their squares",
)
_SAMPLE = (
    "it adds exact fractions of the numbers themselves",
    "write np.mean(x), np.var(x, ddof=1), np.std(x, ddof=1)",
)
_EIGEN = (_COMPLEX, "for symmetric matrices, write np.linalg.eigh(a), which is traced")

FUNCTIONS: dict[Any, tuple[str, str]] = {
    np.copyto: ("np.copyto writes into its first argument", "copy into a traced array, such as np.zeros_like(x)"),
    **{function: _FOURIER for name, function in vars(np.fft).items() if "fft" in name and callable(function)},
    np.asmatrix: ("np.matrix means other things by * and **", "leave it out, and write @ for the product"),
    **{getattr(statistics, name): _SAMPLE for name in SAMPLE},
    np.linalg.tensorsolve: (
        "it gives its result another shape in place",
        "write np.linalg.solve(a.reshape(n, n), b.ravel()).reshape(shape)",
    ),
    np.linalg.eig: _EIGEN,
    np.linalg.eigvals: _EIGEN,
    np.roots: (
        _COMPLEX,
        "find a real root by Newton's method, x = x - np.polyval(p, x) / np.polyval(np.polyder(p), x)",
    ),
    np.lib.stride_tricks.as_strided: (
        "it reads memory by steps that are counted in bytes, and a traced array has no memory",
        "write np.lib.stride_tricks.sliding_window_view(x, n), or x[indices] with an array of positions",
    ),
    np.nditer: ("it walks over memory", "write for place, x in np.ndenumerate(a)"),
    np.save: (VALUES, "save the result of the call instead"),
    np.savetxt: (VALUES, "save the result of the call instead"),
    np.savez: (VALUES, "save the result of the call instead"),
}  # fmt: skip
"""NumPy functions that cannot be traced, rather than merely are not: cause and cure."""
