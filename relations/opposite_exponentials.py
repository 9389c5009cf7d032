"""Hyperbolic functions of which one is written in two opposite exponentials, or summed apart from the other."""

import numpy as np

from relgrad.ops import expit, expit_difference, sech_squared_difference
from relgrad.relation import relation


@relation(source="NIST DLMF 4.28.1 and 4.28.2")
def sum_of_hyperbolic_cosines_and_sines(x, axis):
    """A sum of hyperbolic cosines and one of their sines is one of exponentials."""
    return (
        np.sum(np.cosh(x), axis=axis, keepdims=True) + np.sum(np.sinh(x), axis=axis, keepdims=True),
        np.sum(np.exp(x), axis=axis, keepdims=True),
    )


@relation(source="NIST DLMF 4.28.1 and 4.28.2")
def sum_of_hyperbolic_cosines_minus_sines(x, axis):
    """A sum of hyperbolic cosines less one of their sines is one of exponentials."""
    return (
        np.sum(np.cosh(x), axis=axis, keepdims=True) - np.sum(np.sinh(x), axis=axis, keepdims=True),
        np.sum(np.exp(-x), axis=axis, keepdims=True),
    )


@relation(source="NIST DLMF 4.28.2")
def sum_of_opposite_exponentials(x):
    """The sum of two opposite exponentials is twice a hyperbolic cosine."""
    return np.exp(x) + np.exp(-x), 2 * np.cosh(x)


@relation(source="NIST DLMF 4.28.1 and 4.28.2")
def exponential_over_hyperbolic_cosine(x):
    """An exponential over a hyperbolic cosine is a logistic function."""
    return np.exp(x) / np.cosh(x), 2 * expit(2 * x)


@relation(source="(eˣ - 1)/(eˣ + 1) = tanh(x/2)")
def expm1_over_exponential_plus_one(x):
    """(eˣ - 1)/(eˣ + 1) is the hyperbolic tangent of one half."""
    return np.expm1(x) / (np.exp(x) + 1), np.tanh(x / 2)


@relation(source="(tanh x - tanh y)·(tanh x + tanh y) = sech²y - sech²x")
def difference_of_logistics_times_sum_of_hyperbolic_tangents(x, y):
    """The product of the difference and the sum of two hyperbolic tangents is one of squared secants."""
    return (
        expit_difference(2 * x, 2 * y, 2 * (x - y)) * (np.tanh(x) + np.tanh(y)),
        -sech_squared_difference(x, y, x - y) / 2,
    )
