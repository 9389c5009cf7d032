"""Ratios of gamma functions."""

from __future__ import annotations

from relgrad import kernels
from relgrad.ops.elementwise import elementwise
from relgrad.ops.families import digamma
from relgrad.ops.special import gamma, gammaln
from relgrad.types import POSITIVE, REAL

__all__ = [
    "gamma_ratio",
]


gamma_ratio = elementwise(
    kernels.gamma_ratio,
    lambda g, out, x, y, d: g * out * digamma(x),
    lambda g, out, x, y, d: -(g * out) * digamma(y),
    None,
    range=lambda x, y, d: POSITIVE if x.nonnegative and y.nonnegative else REAL,
    ball=lambda x, y, d: (y + d).gamma() / y.gamma(),
    log=lambda x, y, d: gammaln(x) - gammaln(y),
    unbounded=lambda far, x, y, d: gamma(x) / gamma(y),
)
gamma_ratio.distance = 0, 1, 2
