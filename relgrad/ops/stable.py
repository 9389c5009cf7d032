"""Elementwise functions of the log domain, which keep floating point from overflowing and cancelling.

Each row traces the kernel and, where there is one, SciPy's ufunc of that name. Derivatives are written in
functions of this file again, so that those of every order keep the accuracy of the first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.implementations import implements
from relgrad.op import as_term, is_constant
from relgrad.ops.arithmetic import divide, multiply
from relgrad.ops.elementwise import elementwise
from relgrad.ops.exponential import log, log1p
from relgrad.ops.intervals import increasing
from relgrad.symbolic import Symbolic
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval

__all__ = [
    "bose",
    "entr",
    "expit",
    "expit_entropy",
    "log1mexp",
    "log_expit",
    "log_exprel",
    "logdiffexp",
    "logit",
    "rel_entr",
    "softplus",
    "xdivy",
    "xlog1py",
    "xlogy",
]


NEGATIVE = Interval(-math.inf, 0.0, open_high=True)


def _ball_log1mexp(x: Any) -> Any:
    return (-x.expm1()).log() if float(x.mid()) > -1 else (-x.exp()).log1p()


def _ball_xlogy(x: Any, y: Any) -> Any:
    return x if x.is_zero() else x * y.log()


expit = elementwise(
    kernels.expit,
    lambda g, out, x: g * out * expit(-x),
    range=increasing(kernels.expit, UNIT, off=8),
    laws=Laws(monotone=1, inverse="logit"),
    ball=lambda x: 1 / (1 + (-x).exp()),
    meaning=lambda x: 1.0 / (1.0 + np.exp(-x)),
    out_of_range="absorbed",
    tolerant=True,
    word="logistic",
    complement=lambda x: expit(-x),
)
implements(scipy.special.expit)(expit)
logit = elementwise(
    kernels.logit,
    lambda g, out, x: g / (x * (1 - x)),
    laws=Laws(monotone=1, inverse="expit"),
    ball=lambda x: x.log() - (-x).log1p(),
    outside=lambda x: np.logical_or(x < 0, x > 1),
    meaning=lambda x: np.log(x / (1.0 - x)),
    cancels="zeros",
    margin=lambda x: 1.0 - x,
    rough=(0,),
    from_one=lambda d, x: -logit(d),
)
log_expit = elementwise(
    kernels.log_expit,
    lambda g, out, x: g * expit(-x),
    range=NEGATIVE,
    laws=Laws(monotone=1),
    ball=lambda x: -(-x).exp().log1p(),
    meaning=lambda x: -np.log(1.0 + np.exp(-x)),
    finite=True,
    tolerant=True,
)
implements(scipy.special.log_expit)(log_expit)
expit.in_log_domain = lambda node: (None, log_expit(*node.rands))
softplus = elementwise(
    kernels.softplus,
    lambda g, out, x: g * expit(x),
    range=POSITIVE,
    laws=Laws(monotone=1),
    ball=lambda x: x.exp().log1p(),
    meaning=lambda x: np.log(1.0 + np.exp(x)),
    finite=True,
    tolerant=True,
)
log1pexp = softplus
expit_entropy = elementwise(
    kernels.expit_entropy,
    lambda g, out, x: -g * x * (expit(x) * expit(-x)),
    range=NONNEGATIVE,
    ball=lambda x: x.exp().log1p() - x / (1 + (-x).exp()),
)
bose = elementwise(
    kernels.bose,
    lambda g, out, x: g * out * bose(-x),
    range=lambda x: POSITIVE if x.nonnegative else Interval(-math.inf, -1.0) if x.high <= 0 else REAL,
    ball=lambda x: 1 / x.expm1(),
    meaning=lambda x: 1.0 / np.expm1(x),
)
log1mexp = elementwise(
    kernels.log1mexp,
    lambda g, out, x: -g * bose(-x),
    range=NEGATIVE,
    laws=Laws(monotone=-1, inverse="log1mexp"),
    ball=_ball_log1mexp,
    outside=lambda x: x > 0,
    meaning=lambda x: np.log(-np.expm1(x)),
)
logdiffexp = elementwise(
    kernels.logdiffexp,
    lambda g, out, x, y: -g * bose(y - x),
    lambda g, out, x, y: -g * bose(x - y),
    ball=lambda x, y: x + _ball_log1mexp(y - x),
    outside=lambda x, y: x < y,
    strict=True,
)
log_exprel = elementwise(
    kernels.log_exprel,
    lambda g, out, x: -g * (1.0 / x + bose(-x)),
    laws=Laws(monotone=1),
    ball=lambda x: x.hypgeom_1f1(1, 2).log(),
)


def _by_number(f: Any) -> Any:
    """Return number·f(y) for a function that is 0 where its first operand is: xlogy(2, y) = 2·log(y)."""

    def product(x: Any, y: Any) -> Any:
        return multiply(x, f(y)) if is_constant(x) and np.all(x.op.value != 0) else None

    return product


def _over(g: Any, x: Any, *ys: Any) -> Any:
    """g·x/y, which is g where x is y: (x·log x)′ = log x + 1. All `ys` are y."""
    if isinstance(x, Symbolic) and any(as_term(x) is as_term(y) for y in ys):
        return g
    return xdivy(g * x, ys[0])


# 0·log 0 is 0 in xlogy, and the derivatives keep that up: a zero cotangent or factor makes zero.
xdivy = elementwise(
    kernels.xdivy,
    lambda g, out, x, y: xdivy(g, y),
    lambda g, out, x, y: -xdivy(g * out, y),
    laws=Laws(linear=(0,)),
    ball=lambda x, y: x if x.is_zero() else x / y,
    exactly=lambda x, y: divide(x, y) if is_constant(x) and np.all(x.op.value != 0) else None,
    meaning=lambda x, y: x / y,
    zero_log=lambda x, y: np.logical_and(x == 0, y == 0),
    zero_first=True,
)
xlogy = elementwise(
    kernels.xlogy,
    lambda g, out, x, y: xlogy(g, y),
    lambda g, out, x, y: _over(g, x, y),
    laws=Laws(linear=(0,)),
    ball=_ball_xlogy,
    exactly=_by_number(log),
    outside=lambda x, y: np.logical_and(x != 0, y < 0),
    strict=True,
    meaning=lambda x, y: x * np.log(y),
    cancels="zeros",
    rough=(0, 1),
    zero_log=lambda x, y: np.logical_and(x == 0, y == 0),
    zero_first=True,
)
xlog1py = elementwise(
    kernels.xlog1py,
    lambda g, out, x, y: xlog1py(g, y),
    lambda g, out, x, y: _over(g, x, 1 + y, y + 1),
    laws=Laws(linear=(0,)),
    exactly=_by_number(log1p),
    ball=lambda x, y: x if x.is_zero() else x * y.log1p(),
    outside=lambda x, y: np.logical_and(x != 0, y < -1),
    strict=True,
    meaning=lambda x, y: xlogy(x, 1 + y),
    zero_log=lambda x, y: np.logical_and(x == 0, y == -1),
    zero_first=True,
)
entr = elementwise(
    kernels.entr,
    lambda g, out, x: -xlogy(g, x) - g,
    range=Interval(-math.inf, 0.36787944117144233),
    ball=lambda x: -_ball_xlogy(x, x),
    meaning=lambda x: -x * np.log(x),
    cancels="zeros",
    rough=(0,),
    zero_log=lambda x: x == 0,
)
rel_entr = elementwise(
    kernels.rel_entr,
    lambda g, out, x, y: xlogy(g, x / y) + g,
    lambda g, out, x, y: -xdivy(g * x, y),
    ball=lambda x, y: x if x.is_zero() else x * (x / y).log(),
    meaning=lambda x, y: x * np.log(x / y),
    cancels="zeros",
    rough=(0, 1),
    zero_log=lambda x, y: x == 0,
)
