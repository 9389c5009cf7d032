"""Hyperbolic functions, written out in exponentials or by name, and what cancels or overflows in them."""

import numpy as np

from relgrad.ops import (
    expit,
    sech_squared,
)
from relgrad.relation import relation


@relation(source="NIST DLMF 4.28.1")
def difference_of_opposite_exponentials(x):
    """The difference of two opposite exponentials is twice a hyperbolic sine."""
    return np.exp(x) - np.exp(-x), 2 * np.sinh(x)


@relation(source="NIST DLMF 4.28.2")
def sum_of_opposite_exponentials(x):
    """The sum of two opposite exponentials is twice a hyperbolic cosine."""
    return np.exp(x) + np.exp(-x), 2 * np.cosh(x)


@relation(source="NIST DLMF 4.28.4")
def hyperbolic_sine_over_cosine(x):
    """A hyperbolic sine over its cosine is a hyperbolic tangent."""
    return np.sinh(x) / np.cosh(x), np.tanh(x)


@relation(source="(eˣ - 1)/(eˣ + 1) = tanh(x/2)")
def expm1_times_logistic(x):
    """(eˣ - 1)/(eˣ + 1) is the hyperbolic tangent of one half."""
    return np.expm1(x) * expit(-x), np.tanh(x / 2)


@relation(source="NIST DLMF 4.35.12")
def one_minus_square_of_hyperbolic_tangent(x):
    """One less the square of a hyperbolic tangent."""
    return 1 - np.tanh(x) ** 2, sech_squared(x)


@relation(source="NIST DLMF 4.28.3")
def hyperbolic_cosine_minus_sine(x):
    """A hyperbolic cosine less its sine is an exponential."""
    return np.cosh(x) - np.sinh(x), np.exp(-x)


@relation(source="NIST DLMF 4.28.3")
def hyperbolic_cosine_plus_sine(x):
    """A hyperbolic cosine plus its sine is an exponential."""
    return np.cosh(x) + np.sinh(x), np.exp(x)
