"""Ratios of gamma functions."""

from __future__ import annotations

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.ops.families import digamma
from relgrad.ops.special import gammaln
from relgrad.types import POSITIVE, REAL

__all__ = [
    "gamma_ratio",
]


gamma_ratio = elementwise(
    kernels.gamma_ratio,
    lambda g, out, x, y: g * out * digamma(x),
    lambda g, out, x, y: -(g * out) * digamma(y),
    range=lambda x, y: POSITIVE if x.nonnegative and y.nonnegative else REAL,
    ball=lambda x, y: x.gamma() / y.gamma(),
    log=lambda x, y: gammaln(x) - gammaln(y),
)
