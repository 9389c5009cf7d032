"""The gamma function in the log domain, and ratios of it."""

from __future__ import annotations

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.ops.families import digamma
from relgrad.types import POSITIVE, REAL

log_gamma = elementwise(
    "log_gamma",
    kernels.log_gamma,
    lambda g, out, x: g * digamma(x),
    kernel=True,
    ball=lambda x: x.gamma().log(),
)
gamma_ratio = elementwise(
    "gamma_ratio",
    kernels.gamma_ratio,
    lambda g, out, x, y: g * out * digamma(x),
    lambda g, out, x, y: -(g * out) * digamma(y),
    kernel=True,
    range=lambda x, y: POSITIVE if x.nonnegative and y.nonnegative else REAL,
    ball=lambda x, y: x.gamma() / y.gamma(),
)
