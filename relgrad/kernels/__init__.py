"""Stable functions that NumPy lacks, on arrays: generated programs import only this and NumPy.

All keep float32 and float64 (integers become float64), take ±inf, NaN and empty arrays, and emit no warnings.
The accuracy that each docstring states was measured against mpmath at 50 digits; the tests repeat the
measurement.
"""

from relgrad.kernels.logexp import (
    bose,
    expit,
    log1mexp,
    log1pexp,
    log_cosh,
    log_expit,
    logdiffexp,
    softplus,
    xdivy,
    xlog1py,
    xlogy,
)
from relgrad.kernels.normalize import (
    deviation,
    log_softmax,
    log_softmax_pullback,
    logsumexp,
    softmax,
    softmax_pullback,
)
from relgrad.kernels.removable import cosc_n, exprel_n, log1prel_n, sinc_n
from relgrad.kernels.special import (
    beta,
    betaln,
    digamma_n,
    entr,
    erf,
    erfc,
    erfcx_n,
    gamma,
    gammaln,
    log_ndtr,
    logit,
    mills,
    mills_excess,
    ndtr,
    ndtri,
    rel_entr,
)

__all__ = [
    "beta",
    "betaln",
    "bose",
    "cosc_n",
    "deviation",
    "digamma_n",
    "entr",
    "erf",
    "erfc",
    "erfcx_n",
    "expit",
    "exprel_n",
    "gamma",
    "gammaln",
    "log1mexp",
    "log1pexp",
    "log1prel_n",
    "log_cosh",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "log_softmax_pullback",
    "logdiffexp",
    "logit",
    "logsumexp",
    "mills",
    "mills_excess",
    "ndtr",
    "ndtri",
    "rel_entr",
    "sinc_n",
    "softmax",
    "softmax_pullback",
    "softplus",
    "xdivy",
    "xlog1py",
    "xlogy",
]
