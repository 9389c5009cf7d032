"""Special functions of statistics: the error function, the normal distribution, gamma and beta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from relgrad import kernels
from relgrad.contract import Laws
from relgrad.implementations import implements
from relgrad.op import as_term
from relgrad.ops.arithmetic import sqrt
from relgrad.ops.elementwise import elementwise
from relgrad.ops.families import ball_erfc, digamma, erfcx_n, stirling
from relgrad.ops.intervals import increasing
from relgrad.types import POSITIVE, REAL, UNIT, Interval

__all__ = [
    "beta",
    "betaln",
    "erf",
    "erfc",
    "gamma",
    "gammaln",
    "log_ndtr",
    "mills",
    "mills_excess",
    "ndtr",
]


def _ball_ndtr(x: Any) -> Any:
    return ball_erfc(-x / (x * 0 + 2).sqrt()) / 2


def _ball_mills(x: Any) -> Any:
    return (-x * x / 2).exp() / (2 * x.pi()).sqrt() / _ball_ndtr(x)


erf = elementwise(
    kernels.erf,
    lambda g, out, x: g * (1.1283791670955126 * np.exp(-np.square(x))),
    range=increasing(kernels.erf, Interval(-1.0, 1.0, True, True), off=8),
    laws=Laws(monotone=1, parity=-1),
    ball=lambda x: x.erf(),
    complement=lambda x: erfc(x),
)
erfc = elementwise(
    kernels.erfc,
    lambda g, out, x: g * (-1.1283791670955126 * np.exp(-np.square(x))),
    range=Interval(0.0, 2.0, True, True),
    laws=Laws(monotone=-1),
    ball=ball_erfc,
    log=lambda x: 0.6931471805599453 + log_ndtr(-1.4142135623730951 * x),
    complement=lambda x: erf(x),
)
implements(scipy.special.erfc)(erfc)


def _root_of_two() -> Any:
    """Return √2 as a root, whose square is 2."""
    return sqrt(as_term(2.0))


ndtr = elementwise(
    kernels.ndtr,
    lambda g, out, x: g * (0.3989422804014327 * np.exp(-0.5 * np.square(x))),
    range=UNIT,
    laws=Laws(monotone=1, inverse="ndtri"),
    ball=_ball_ndtr,
    meaning=lambda x: 0.5 * erfc(-x / _root_of_two()),
    tolerant=True,
    complement=lambda x: ndtr(-x),
)
implements(scipy.special.ndtr)(ndtr)
ndtri = elementwise(
    kernels.ndtri,
    lambda g, out, x: g * (2.5066282746310007 * np.exp(0.5 * np.square(out))),
    laws=Laws(monotone=1, inverse="ndtr"),
    ball=lambda x: -((2 * x).erfcinv()) * (x * 0 + 2).sqrt(),
    outside=lambda x: np.logical_or(x < 0, x > 1),
    from_one=lambda d, x: -ndtri(d),
)


def _excess_slope(g: Any, out: Any, x: Any) -> Any:
    """g·(1 − m·(x + m)), m = φ(x)/Φ(x): about g/x² far out, where it is g/2·(log erfcx)″(−x/√2)."""
    far = x < -1
    at = np.where(far, -x * math.sqrt(0.5), 1.0)
    value, slope, curvature = (erfcx_n(at, n) for n in range(3))
    return g * np.where(far, (curvature / value - np.square(slope / value)) / 2, 1 - mills(x) * out)


mills = elementwise(
    kernels.mills,
    lambda g, out, x: -g * out * mills_excess(x),
    range=POSITIVE,
    laws=Laws(monotone=-1),
    ball=_ball_mills,
)
mills_excess = elementwise(
    kernels.mills_excess,
    _excess_slope,
    range=POSITIVE,
    laws=Laws(monotone=1),
    ball=lambda x: x + _ball_mills(x),
)
log_ndtr = elementwise(
    kernels.log_ndtr,
    lambda g, out, x: g * mills(x),
    range=Interval(-math.inf, 0.0, open_high=True),
    laws=Laws(monotone=1),
    ball=lambda x: _ball_ndtr(x).log() if float(x.mid()) < 0 else (-_ball_ndtr(-x)).log1p(),
    meaning=lambda x: np.log(ndtr(x)),
    tolerant=True,
)
implements(scipy.special.log_ndtr)(log_ndtr)


gamma = elementwise(
    kernels.gamma,
    lambda g, out, x: g * out * digamma(x),
    range=lambda x: POSITIVE if x.nonnegative else REAL,
    ball=lambda x: x.gamma(),
    log=lambda x: gammaln(x),
    sign=lambda x: np.where(np.logical_and(x < 0, np.floor(x) % 2 != 0), -1.0, 1.0),
    unbounded=lambda far, x: None if far else gamma(x + 1.0) / x,
)
gammaln = elementwise(
    kernels.gammaln,
    lambda g, out, x: g * digamma(x),
    ball=lambda x: x.lgamma() if float(x.mid()) > 0 else abs(x.gamma()).log(),
    cancels="zeros",
    rough=(0,),
    unbounded=lambda far, x: stirling(x) if far else gammaln(x + 1.0) - 0.5 * np.log(x * x),
)
implements(scipy.special.gamma)(gamma)
implements(scipy.special.gammaln)(gammaln)
beta = elementwise(
    kernels.beta,
    lambda g, out, x, y: g * out * (digamma(x) - digamma(x + y)),
    lambda g, out, x, y: g * out * (digamma(y) - digamma(x + y)),
    laws=Laws(commutative=True),
    range=lambda x, y: POSITIVE if x.nonnegative and y.nonnegative else REAL,
    ball=lambda x, y: x.gamma() * y.gamma() / (x + y).gamma(),
    log=lambda x, y: betaln(x, y),
    unbounded=lambda far, x, y: gamma(x) * gamma(y) / gamma(x + y),
)
betaln = elementwise(
    kernels.betaln,
    lambda g, out, x, y: g * (digamma(x) - digamma(x + y)),
    lambda g, out, x, y: g * (digamma(y) - digamma(x + y)),
    laws=Laws(commutative=True),
    ball=lambda x, y: abs(x.gamma() * y.gamma() / (x + y).gamma()).log(),
    unbounded=lambda far, x, y: gammaln(x) + gammaln(y) - gammaln(x + y),
)
implements(scipy.special.beta)(beta)
implements(scipy.special.betaln)(betaln)
