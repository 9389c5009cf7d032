"""Exponentials and logarithms, and the hyperbolic functions made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.op import constant, is_constant
from relgrad.ops.arguments import log_or_infinite
from relgrad.ops.arithmetic import float_power, multiply, one_minus_square, power
from relgrad.ops.elementwise import Elementwise, elementwise
from relgrad.ops.intervals import added, increasing, larger, magnitude
from relgrad.term import Term
from relgrad.types import NONNEGATIVE, POSITIVE, Interval

__all__ = [
    "log_cosh",
    "sech_squared",
]


LN2 = math.log(2)
_AT_LEAST_ONE = Interval(1.0)
_ABOVE_MINUS_ONE = Interval(-1.0, math.inf, True)
_BELOW_ONE_IN_SIZE = Interval(-1.0, 1.0, True, True)

exp = elementwise(
    np.exp,
    lambda g, out, x: g * out,
    laws=Laws(inverse="log", monotone=1, homomorphism=("add", "multiply")),
    range=increasing(np.exp, POSITIVE),
    ball=lambda x: x.exp(),
    grows=True,
    out_of_range="absorbed",
    tolerant=True,
    word="exponential",
    complement=lambda x: -expm1(x),
    alone=False,
)
exp2 = elementwise(
    np.exp2,
    lambda g, out, x: g * out * LN2,
    laws=Laws(inverse="log2", monotone=1, homomorphism=("add", "multiply")),
    range=increasing(np.exp2, POSITIVE),
    ball=lambda x: (x * _log2()).exp(),
    grows=True,
    out_of_range="absorbed",
    tolerant=True,
)
exp2.in_log_domain = lambda node: (None, multiply(constant(LN2, node.type.dtype), node.rands[0]))


def _number_to_power(node: Term) -> tuple[Any, Any] | None:
    """2ˣ → (None, x·log 2): a positive number raised to what is none, as e^exponent; or None."""
    base, x = node.rands
    if not is_constant(base) or is_constant(x) or not (base.op.value > 0).all():
        return None
    return None, multiply(constant(np.log(base.op.value.astype(float)).astype(node.type.dtype)), x)


power.in_log_domain = float_power.in_log_domain = _number_to_power
expm1 = elementwise(
    np.expm1,
    lambda g, out, x: g * np.exp(x),
    laws=Laws(inverse="log1p", monotone=1),
    range=increasing(np.expm1, _ABOVE_MINUS_ONE),
    ball=lambda x: x.expm1(),
    meaning=lambda x: np.exp(x) - 1.0,
    grows=True,
)
log = elementwise(
    np.log,
    lambda g, out, x: g / x,
    laws=Laws(inverse="exp", monotone=1, homomorphism=("multiply", "add")),
    range=increasing(np.log, fixed=(1.0,)),
    ball=log_or_infinite,
    outside=lambda x: x < 0,
    continues=True,
    finite=lambda x: x.low > 0,
    cancels="zeros",
    rough=(0,),
)


def _to_base(base: int, function: np.ufunc, inverse: str | None = None) -> Elementwise:
    """log₂ x = log x/log 2: the logarithm to a base."""
    unit = math.log(base)
    return elementwise(
        function,
        lambda g, out, x: g / (x * unit),
        laws=Laws(inverse=inverse, monotone=1, homomorphism=("multiply", "add")),
        range=increasing(function, fixed=(1.0,)),
        ball=lambda x: log_or_infinite(x) / _arb(base).log(),
        outside=lambda x: x < 0,
        continues=True,
        meaning=lambda x: np.log(x) / unit,
        cancels="zeros",
        rough=(0,),
    )


log2 = _to_base(2, np.log2, "exp2")
log10 = _to_base(10, np.log10)
log1p = elementwise(
    np.log1p,
    lambda g, out, x: g / (1.0 + x),
    laws=Laws(inverse="expm1", monotone=1),
    range=increasing(np.log1p),
    ball=lambda x: type(x)("-inf") if (x + 1).is_zero() else x.log1p(),
    outside=lambda x: x < -1,
    continues=True,
    meaning=lambda x: np.log(1.0 + x),
    finite=lambda x: x.low > -1,
    margin=lambda x: 1.0 + x,
)


def _arb(x: Any) -> Any:
    import flint

    return flint.arb(x)


def _log2() -> Any:
    return _arb(2).log()


def _share(x: Any, y: Any) -> Any:
    """Return exp(x − logaddexp(x, y)), also where one or both are infinite: 0 where x is −∞."""
    return expit(x - np.where(np.isinf(x), 0.0, y))


def _logaddexp_range(x: Interval, y: Interval) -> Interval:
    above = added(larger(x, y), Interval(0.0, 0.6931471805599454))
    return Interval(larger(x, y).low, above.high, True, above.open_high)


logaddexp = elementwise(
    np.logaddexp,
    lambda g, out, x, y: g * _share(x, y),
    lambda g, out, x, y: g * _share(y, x),
    laws=Laws(associative=True, commutative=True, identity=-math.inf),
    range=_logaddexp_range,
    ball=lambda x, y: x.max(y) + (-abs(x - y)).exp().log1p(),
    strict=True,
    meaning=lambda x, y: np.log(np.exp(x) + np.exp(y)),
    finite=True,
)
logaddexp2 = elementwise(
    np.logaddexp2,
    lambda g, out, x, y: g * _share(LN2 * x, LN2 * y),
    lambda g, out, x, y: g * _share(LN2 * y, LN2 * x),
    laws=Laws(associative=True, commutative=True, identity=-math.inf),
    range=lambda x, y: Interval(larger(x, y).low, added(larger(x, y), Interval(0.0, 1.0)).high, True),
    ball=lambda x, y: x.max(y) + (-abs(x - y) * _log2()).exp().log1p() / _log2(),
    strict=True,
)

sinh = elementwise(
    np.sinh,
    lambda g, out, x: g * np.cosh(x),
    laws=Laws(inverse="arcsinh", monotone=1, parity=-1),
    range=increasing(np.sinh),
    ball=lambda x: x.sinh(),
    grows=True,
    word="hyperbolic_sine",
)
log_cosh = elementwise(
    kernels.log_cosh,
    lambda g, out, x: g * np.tanh(x),
    laws=Laws(parity=1),
    range=NONNEGATIVE,
    ball=lambda x: (2 * (x / 2).sinh() ** 2).log1p(),
    finite=True,
    tolerant=True,
)
cosh = elementwise(
    np.cosh,
    lambda g, out, x: g * np.sinh(x),
    laws=Laws(parity=1),
    range=lambda x: increasing(np.cosh, _AT_LEAST_ONE)(magnitude(x)),
    ball=lambda x: x.cosh(),
    log=log_cosh,
    grows=True,
    out_of_range="absorbed",
    tolerant=True,
    word="hyperbolic_cosine",
    complement=lambda x: -2.0 * np.square(np.sinh(x / 2)),
)
# 1/cosh², where 1 − tanh² would cancel and cosh overflow, here and in what derives from it.
sech_squared = Elementwise(
    "sech_squared",
    lambda x: 4 * kernels.expit(2 * x) * kernels.expit(-2 * x),
    lambda g, out, x: -2.0 * g * out * np.tanh(x),
    code="4 * expit(2 * {0}) * expit(-2 * {0})",
    laws=Laws(parity=1),
    range=Interval(0.0, 1.0, True),
    ball=lambda x: x.sech() ** 2,
    log=lambda x: -2.0 * log_cosh(x),
)
sech_squared.imports = ("expit",)


def _log_tanh(x: Any) -> Any:
    """log|tanh x| = log(1 − e^−2|x|) − log(1 + e^−2|x|), with the derivative from the right where x is 0."""
    z = np.where(x < 0, 2.0 * x, -2.0 * x)
    return kernels.log1mexp(z) - kernels.softplus(z)


tanh = elementwise(
    np.tanh,
    lambda g, out, x: g * sech_squared(x),
    laws=Laws(inverse="arctanh", monotone=1, parity=-1),
    range=increasing(np.tanh, _BELOW_ONE_IN_SIZE),
    ball=lambda x: x.tanh(),
    log=_log_tanh,
    word="hyperbolic_tangent",
    complement=lambda x: 2.0 * kernels.expit(-2.0 * x),
)
arcsinh = elementwise(
    np.arcsinh,
    lambda g, out, x: g / np.hypot(1.0, x),
    laws=Laws(inverse="sinh", monotone=1, parity=-1),
    range=increasing(np.arcsinh),
    ball=lambda x: x.asinh(),
    finite=True,
    unbounded=lambda far, x: np.log(x + np.sqrt(x * x + 1.0)),
)
arccosh = elementwise(
    np.arccosh,
    lambda g, out, x: g / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)),
    laws=Laws(inverse="cosh", monotone=1),
    range=increasing(np.arccosh, NONNEGATIVE, fixed=(1.0,)),
    ball=lambda x: x.acosh(),
    outside=lambda x: x < 1,
    cancels="zeros",
    rough=(0,),
    unbounded=lambda far, x: np.log(x + np.sqrt(x * x - 1.0)),
    from_one=lambda d, x: 2.0 * np.arcsinh(np.sqrt(-d / 2.0)),
)
arctanh = elementwise(
    np.arctanh,
    lambda g, out, x: g / one_minus_square(x),
    laws=Laws(inverse="tanh", monotone=1, parity=-1),
    range=increasing(np.arctanh),
    ball=lambda x: x.atanh(),
    outside=lambda x: np.logical_or(x < -1, x > 1),
    continues=True,
    margin=lambda x: 1.0 - np.abs(x),
    unbounded=lambda far, x: 0.5 * np.log(1.0 + x) - 0.5 * np.log(1.0 - x),
    from_one=lambda d, x: np.arcsinh(x / np.sqrt(d * (1.0 + x))),
)
