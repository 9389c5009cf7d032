"""Logarithms with other bases, of what is near one, or near each other."""

import numpy as np

from relgrad.ops import log_quotient
from relgrad.relation import additive, relation


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def binary_log_of_quotient(x, y):
    """The binary log of a quotient of numbers that may be nearly equal."""
    return np.log2(x / y), log_quotient(x, y, x - y) / np.log(2.0), additive(x, y)


@relation(source="Hamming, NMSE (1973), problem 3.3.6")
def decimal_log_of_quotient(x, y):
    """The decimal log of a quotient of numbers that may be nearly equal."""
    return np.log10(x / y), log_quotient(x, y, x - y) / np.log(10.0), additive(x, y)
