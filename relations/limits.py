"""Logarithms of what is near one, or near each other, and quotients of them continued to zero."""

import numpy as np

from relgrad.ops import (
    itakura_saito,
    log1prel_n,
    log_difference,
    log_quotient,
    logrel_n,
)
from relgrad.relation import additive, relation


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def difference_of_logarithms(x, y):
    """The difference of two logarithms, from that of their arguments."""
    return np.log(x) - np.log(y), log_difference(x, y, x - y)


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def difference_of_log1p_and_logarithm(x, y):
    """The difference of two logarithms, one of them of one plus something."""
    return np.log1p(x) - np.log(y), log_difference(1 + x, y, x - (y - 1))


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), problem 1.5")
def relative_log1p(x):
    """log(1 + x)/x, continued to one at zero."""
    return np.log1p(x) / x, log1prel_n(x, 0)


@relation(source="NIST DLMF 4.6.1")
def log_difference_minus_relative_distance(x, y, z):
    """A difference of logarithms less its first term."""
    return log_difference(x, y, z) - z / y, np.where(y >= 0, -itakura_saito(y + z, y, z), np.nan)


@relation(source="NIST DLMF 4.6.1")
def log_difference_minus_other_relative_distance(x, y, z):
    """A difference of logarithms less its first term from the other side."""
    return log_difference(x, y, z) - z / (y + z), np.where(y >= 0, itakura_saito(y, y + z, -z), np.nan)


@relation(source="NIST DLMF 4.6.1")
def log_quotient_minus_relative_distance(x, y, z):
    """The logarithm of a quotient near one less its first term."""
    return log_quotient(x, y, z) - z / y, -itakura_saito(y + z, y, z)


@relation(source="NIST DLMF 4.6.1")
def log_difference_minus_quotient_plus_one(x, y):
    """A difference of logarithms less its first term, where that is split."""
    return (
        log_difference(x, y, x - y) - x / y + 1,
        np.where(y >= 0, -itakura_saito(x, y, x - y), np.nan),
    )


@relation(source="NIST DLMF 4.6.1")
def log_difference_plus_quotient_minus_one(x, y):
    """A difference of logarithms and its first term, where that is split."""
    return (
        log_difference(x, y, x - y) + y / x - 1,
        np.where(y >= 0, itakura_saito(y, x, y - x), np.nan),
    )


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), problem 1.5")
def ratio_of_log1p(x, w):
    """The ratio of two logarithms near one, the argument of one a multiple of that of the other."""
    return np.log1p(x) / np.log1p(w * x), log1prel_n(x, 0) / (w * log1prel_n(w * x, 0))


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def log1p_of_quotient(y, z):
    """The log of one plus a quotient, which rounds where the quotient is near minus one."""
    return np.log1p(z / y), log_quotient(y + z, y, z), additive(z, y)


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def log_of_quotient(x, y):
    """The log of a quotient, which rounds where the two are nearly equal, and leaves the floats before its log."""
    return np.log(x / y), log_quotient(x, y, x - y), additive(x, y)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), problem 1.5")
def distance_from_one_over_log(x):
    """(x - 1)/log(x), continued to one at one."""
    return (x - 1) / np.log(x), 1 / logrel_n(x, 0)
