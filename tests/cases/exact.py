"""Arrays of mpmath's numbers under NumPy's names: what a function as written is, over the reals.

Division by zero, logarithms of zero and arithmetic of infinities follow IEEE 754, since programs rely on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

NAN, INFINITY = mpf("nan"), mpf("inf")


def number(x: Any) -> Any:
    """Return the mpmath number that a number of any kind is."""
    return x.number if isinstance(x, Real) else mpf(x if isinstance(x, mpf) else float(x))


def _quotient(x: Any, y: Any) -> Any:
    if y != 0:
        return x / y
    return NAN if x == 0 or x != x else mpmath.sign(x) * INFINITY


def _power(x: Any, y: Any) -> Any:
    if y == 0:
        return mpf(1)
    if x == 0:
        return mpf(0) if y > 0 else INFINITY
    if mpmath.isint(y):
        return mp.power(x, int(y))
    return NAN if x < 0 else mp.sqrt(x) if y == 0.5 else mp.power(x, y)


def _guarded(function: Callable[[Any], Any], low: float, high: float = np.inf) -> Callable[[Any], Any]:
    """Return the function with NaN outside its domain, where mpmath has complex numbers."""
    return lambda x: function(x) if low <= x <= high else NAN


class Real:
    """A number that mixes with floats and with arrays of its kind."""

    __slots__ = ("number",)

    def __init__(self, x: Any):
        self.number = x

    def __float__(self) -> float:
        return float(self.number)

    def __bool__(self) -> bool:
        return bool(self.number != 0)

    def __neg__(self) -> Real:
        return Real(-self.number)

    def __pos__(self) -> Real:
        return self

    def __abs__(self) -> Real:
        return Real(abs(self.number))

    def __hash__(self) -> int:
        return hash(self.number)


def _binary(name: str, function: Callable[[Any, Any], Any], made: Callable[[Any], Any]) -> None:
    def forward(self: Real, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else made(function(self.number, number(other)))

    def backward(self: Real, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else made(function(number(other), self.number))

    setattr(Real, f"__{name}__", forward)
    if made is Real:
        setattr(Real, f"__r{name}__", backward)


for _name, _function in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)):
    _binary(_name, _function, Real)
_binary("truediv", _quotient, Real)
_binary("pow", _power, Real)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _binary(_name, getattr(operator, _name), bool)

exact = np.frompyfunc(lambda x: x if isinstance(x, Real) else Real(number(x)), 1, 1)
"""The array of exact numbers that an array of floats holds."""

ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    name: getattr(mp, name) for name in ("exp", "expm1", "tanh", "sin", "cos", "tan", "sinh", "cosh", "sign")
} | {
    "log": _guarded(mp.log, 0.0),
    "log1p": _guarded(mp.log1p, -1.0),
    "log2": _guarded(lambda x: mp.log(x) / mp.log(2), 0.0),
    "log10": _guarded(mp.log10, 0.0),
    "sqrt": _guarded(mp.sqrt, 0.0),
    "cbrt": lambda x: mpmath.sign(x) * mp.cbrt(abs(x)),
    "arctan": mp.atan,
    "arcsin": _guarded(mp.asin, -1.0, 1.0),
    "arccos": _guarded(mp.acos, -1.0, 1.0),
    "arcsinh": mp.asinh,
    "arccosh": _guarded(mp.acosh, 1.0),
    "arctanh": _guarded(mp.atanh, -1.0, 1.0),
    "exp2": lambda x: mp.power(2, x),
    "square": lambda x: x * x,
    "reciprocal": lambda x: _quotient(mpf(1), x),
    "abs": abs,
    "negative": operator.neg,
}
SPECIAL: dict[str, Callable[[Any], Any]] = {
    "erf": mp.erf,
    "erfc": mp.erfc,
    "gammaln": mp.loggamma,
    "ndtr": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _quotient,
    "power": _power,
    "maximum": max,
    "minimum": min,
    "arctan2": mp.atan2,
    "hypot": mp.hypot,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
}


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    each = np.frompyfunc(lambda x: Real(NAN) if x.number != x.number else Real(function(x.number)), 1, 1)
    return lambda x: each(exact(x))


def _pairwise(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    each = np.frompyfunc(lambda x, y: Real(function(x.number, y.number)), 2, 1)
    return lambda x, y: each(exact(x), exact(y))


def _lifted(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(exact(x), exact(y))


def _named(functions: dict[str, Any], made: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: staticmethod(made(function)) for name, function in functions.items()}


Special = type("Special", (), _named(SPECIAL, _unary))


class Linalg:
    """Linear algebra on square matrices, by Gaussian elimination with pivots."""

    @staticmethod
    def solve(a: Any, b: Any) -> Any:
        """Return the x with a x = b."""
        return _eliminated(exact(a), exact(b))[1]

    @staticmethod
    def inv(a: Any) -> Any:
        """Return the inverse."""
        return Linalg.solve(a, np.eye(len(a)))

    @staticmethod
    def det(a: Any) -> Any:
        """Return the determinant."""
        return _eliminated(exact(a), exact(np.zeros(len(a))))[0]

    @staticmethod
    def norm(x: Any) -> Any:
        """Return the root of the sum of squares."""
        return Exact.sqrt(np.sum(exact(x) * exact(x)))


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    a, b, determinant = a.copy(), b.copy(), Real(mpf(1))
    for k in range(len(a)):
        pivot = max(range(k, len(a)), key=lambda i: abs(a[i, k].number))
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]], determinant = a[[pivot, k]], b[[pivot, k]], -determinant
        determinant = determinant * a[k, k]
        b[k], a[k] = b[k] / a[k, k], a[k] / a[k, k]
        for i in set(range(len(a))) - {k}:
            b[i], a[i] = b[i] - b[k] * a[i, k], a[i] - a[k] * a[i, k]
    return determinant, b


def _reduced(function: Callable[..., Any]) -> Any:
    return staticmethod(lambda x, axis=None, keepdims=False: function(exact(x), axis=axis, keepdims=keepdims))


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return total * Real(mpf(1) * np.size(total) / np.size(x))


def _var(x: Any, axis: Any, keepdims: bool) -> Any:
    from_mean = x - _mean(x, axis, True)
    return _mean(from_mean * from_mean, axis, keepdims)


class _Moved:
    """NumPy itself for what only moves entries, whatever they are."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


Exact: Any = type(
    "Exact",
    (_Moved,),
    _named(ELEMENTWISE, _unary)
    | _named(BINARY, _pairwise)
    | {name: _reduced(getattr(np, name)) for name in ("sum", "prod", "max", "min")}
    | _named({name: getattr(np, name) for name in ("dot", "matmul", "outer")}, _lifted)
    | {"mean": _reduced(_mean), "var": _reduced(_var), "linalg": Linalg, "special": Special}
    | {"std": staticmethod(lambda x, axis=None: Exact.sqrt(Exact.var(x, axis)))}
    | {"where": staticmethod(lambda c, x, y: np.where(np.asarray(c, dtype=bool), exact(x), exact(y))[()])},
)()
