"""Logarithms of quotients that are one at zero."""

import numpy as np

from relgrad.ops import (
    exprel_n,
    log_exprel,
    log_sinhc,
    power_difference,
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


@relation(source="log(1 - x²) = log(1 - x) + log(1 + x)")
def log_of_one_minus_square(x, z):
    """The log of one less a square, near zero and near one."""
    return (
        np.log(-power_difference(x, 1, 2, z)),
        np.where(np.square(1 + z) < 0.5, np.log1p(-np.square(1 + z)), np.log(-z) + np.log(2 + z)),
    )
