"""Hyperbolic functions of which one is written in two opposite exponentials, or summed apart from the other."""

import numpy as np

from relgrad.ops import bose, expit_difference, sech_squared_difference
from relgrad.relation import relation


@relation(source="NIST DLMF 4.28.2")
def sum_of_opposite_exponentials(x):
    """The sum of two opposite exponentials is twice a hyperbolic cosine."""
    return np.exp(x) + np.exp(-x), 2 * np.cosh(x)


@relation(source="(tanh x - tanh y)·(tanh x + tanh y) = sech²y - sech²x")
def difference_of_logistics_times_sum_of_hyperbolic_tangents(x, y):
    """The product of the difference and the sum of two hyperbolic tangents is one of squared secants."""
    return (
        expit_difference(2 * x, 2 * y, 2 * (x - y)) * (np.tanh(x) + np.tanh(y)),
        -sech_squared_difference(x, y, x - y) / 2,
    )


@relation(source="NIST DLMF 4.28.1")
def exponential_over_hyperbolic_sine(x):
    """An exponential over a hyperbolic sine is a Bose function."""
    return np.exp(x) / np.sinh(x), -2 * bose(-2 * x)
