"""The ops: one topic per module, one row per op. Importing this package makes all of them known to the tracer.

What is named here is what authors of relations and callers use beyond NumPy.
"""

from relgrad.ops import (  # noqa: F401 - for what importing them declares
    arithmetic,
    casting,
    comparison,
    creation,
    diagonal,
    einsum,
    exponential,
    indexing,
    joining,
    linalg,
    matmul,
    moving,
    norms,
    products,
    reduction,
    repeating,
    rounding,
    scan,
    selection,
    shaping,
    stable,
    statistics,
    structure,
    trigonometric,
)
from relgrad.kernels import unit
from relgrad.ops.softmax import log_softmax, logsumexp, softmax
from relgrad.ops.stable import (
    cosc_n,
    entr,
    expit,
    exprel_n,
    log1mexp,
    log1prel_n,
    log_cosh,
    log_expit,
    logdiffexp,
    logit,
    sinc_n,
    softplus,
    xlog1py,
    xlogy,
)

__all__ = [
    "cosc_n",
    "entr",
    "expit",
    "exprel_n",
    "log1mexp",
    "log1prel_n",
    "log_cosh",
    "log_expit",
    "log_softmax",
    "logdiffexp",
    "logit",
    "logsumexp",
    "sinc_n",
    "softmax",
    "softplus",
    "unit",
    "xlog1py",
    "xlogy",
]
