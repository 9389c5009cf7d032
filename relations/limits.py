"""Logarithms of what is near one, or near each other, and quotients of them continued to zero."""

import numpy as np

from relgrad.ops import (
    log1prel_n,
    log_difference,
    log_quotient,
)
from relgrad.relation import additive, relation


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def difference_of_logarithms(x, y):
    """The difference of two logarithms, from that of their arguments."""
    return np.log(x) - np.log(y), log_difference(x, y, x - y)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), problem 1.5")
def relative_log1p(x):
    """log(1 + x)/x, continued to one at zero."""
    return np.log1p(x) / x, log1prel_n(x, 0)


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def log_of_quotient(x, y):
    """The log of a quotient, which rounds where the two are nearly equal, and leaves the floats before its log."""
    return np.log(x / y), log_quotient(x, y, x - y), additive(x, y)
