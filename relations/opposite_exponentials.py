"""Hyperbolic functions of which one is written in two opposite exponentials, or summed apart from the other."""

import numpy as np

from relgrad.ops import cosh_difference
from relgrad.relation import relation


@relation(source="NIST DLMF 4.28.2")
def sum_of_opposite_exponentials_minus_hyperbolic_cosine(x, y):
    """The difference of two hyperbolic cosines, one of them written in exponentials."""
    return np.exp(x) + np.exp(-x) - 2 * np.cosh(y), 2 * cosh_difference(x, y, x - y)


@relation(source="NIST DLMF 4.28.2")
def difference_of_sums_of_opposite_exponentials(x, y):
    """The difference of two hyperbolic cosines, both written in exponentials."""
    return np.exp(x) + np.exp(-x) - np.exp(y) - np.exp(-y), 2 * cosh_difference(x, y, x - y)


@relation(source="NIST DLMF 4.28.1 and 4.28.2")
def sum_of_opposite_exponentials_plus_hyperbolic_sine(x):
    """Two opposite exponentials and twice a hyperbolic sine are twice an exponential."""
    return np.exp(x) + np.exp(-x) + 2 * np.sinh(x), 2 * np.exp(x)


@relation(source="NIST DLMF 4.28.1 and 4.28.2")
def sum_of_opposite_exponentials_minus_hyperbolic_sine(x):
    """Two opposite exponentials less twice a hyperbolic sine are twice an exponential."""
    return np.exp(x) + np.exp(-x) - 2 * np.sinh(x), 2 * np.exp(-x)


@relation(source="NIST DLMF 4.35.11")
def square_of_sum_of_opposite_exponentials_minus_four(x):
    """The square of the sum of two opposite exponentials, less its least value."""
    return (np.exp(x) + np.exp(-x)) ** 2 - 4, 4 * np.sinh(x) ** 2


@relation(source="NIST DLMF 4.35.11")
def square_of_sum_of_opposite_exponentials_minus_square_of_sine(x):
    """The square of the sum of two opposite exponentials, less that of twice their hyperbolic sine."""
    return (np.exp(x) + np.exp(-x)) ** 2 - 4 * np.sinh(x) ** 2, 4


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
