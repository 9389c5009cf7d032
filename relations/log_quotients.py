"""Logarithms of quotients that are one at zero."""

import numpy as np

from relgrad.ops import (
    exprel_n,
    log_exprel,
    log_sinhc,
)
from relgrad.relation import relation


@relation(source="log((eˣ - 1)/x), about x/2")
def log_of_relative_exponential(x):
    """The log of (eˣ - 1)/x, which is one at zero and may overflow."""
    return np.log(exprel_n(x, 0)), log_exprel(x)


@relation(source="NIST DLMF 4.33.1")
def ratio_of_hyperbolic_sines_of_multiple(x, w):
    """The ratio of two hyperbolic sines, the argument of one a multiple of that of the other."""
    return np.sinh(x) / np.sinh(w * x), np.exp(log_sinhc(x) - log_sinhc(w * x)) / w
