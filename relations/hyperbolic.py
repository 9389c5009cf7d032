"""Hyperbolic functions, written out in exponentials or by name, and what cancels or overflows in them."""

import numpy as np

from relgrad.ops import (
    bose,
    expit,
    expit_difference,
    sech_squared,
    sech_squared_difference,
)
from relgrad.relation import relation


@relation(source="NIST DLMF 4.28.1")
def difference_of_opposite_exponentials(x):
    """The difference of two opposite exponentials is twice a hyperbolic sine."""
    return np.exp(x) - np.exp(-x), 2 * np.sinh(x)


@relation(source="NIST DLMF 4.28.4")
def hyperbolic_sine_over_cosine(x):
    """A hyperbolic sine over its cosine is a hyperbolic tangent."""
    return np.sinh(x) / np.cosh(x), np.tanh(x)


@relation(source="(eˣ - 1)/(eˣ + 1) = tanh(x/2)")
def expm1_times_logistic(x):
    """(eˣ - 1)/(eˣ + 1) is the hyperbolic tangent of one half."""
    return np.expm1(x) * expit(-x), np.tanh(x / 2)


@relation(source="σ(x) = (1 + tanh(x/2))/2")
def twice_logistic_minus_one(x):
    """Twice a logistic function less one is a hyperbolic tangent."""
    return 2 * expit(x) - 1, np.tanh(x / 2)


@relation(source="σ(x) - σ(y) = (1 - e^(y - x))·σ(x)·σ(-y)")
def difference_of_logistics(x, y):
    """The difference of two logistic functions, from that of their arguments."""
    return expit(x) - expit(y), expit_difference(x, y, x - y)


@relation(source="tanh x = 2·σ(2x) - 1")
def difference_of_hyperbolic_tangents(x, y):
    """The difference of two hyperbolic tangents, from that of their arguments."""
    return np.tanh(x) - np.tanh(y), 2 * expit_difference(2 * x, 2 * y, 2 * (x - y))


@relation(source="tanh x = 2·σ(2x) - 1")
def one_minus_hyperbolic_tangent(x):
    """One less a hyperbolic tangent is a logistic function."""
    return 1 - np.tanh(x), 2 * expit(-2 * x)


@relation(source="tanh x = 2·σ(2x) - 1")
def one_plus_hyperbolic_tangent(x):
    """One plus a hyperbolic tangent is a logistic function."""
    return 1 + np.tanh(x), 2 * expit(2 * x)


@relation(source="NIST DLMF 4.35.12")
def one_minus_square_of_hyperbolic_tangent(x):
    """One less the square of a hyperbolic tangent."""
    return 1 - np.tanh(x) ** 2, sech_squared(x)


@relation(source="NIST DLMF 4.35.13")
def square_of_hyperbolic_cotangent_minus_one(x):
    """The square of a hyperbolic cotangent less one."""
    return 1 / np.tanh(x) ** 2 - 1, 1 / np.sinh(x) ** 2


@relation(source="tanh x = 2·σ(2x) - 1")
def difference_of_squares_of_hyperbolic_tangents(x, y):
    """The difference of the squares of two hyperbolic tangents, which may be near one with either sign."""
    return (
        np.tanh(x) ** 2 - np.tanh(y) ** 2,
        -sech_squared_difference(x, y, x - y),
    )


@relation(source="coth x = -1 - 2/(e⁻²ˣ - 1)")
def hyperbolic_cotangent_plus_one(x):
    """A hyperbolic cotangent plus one."""
    return 1 / np.tanh(x) + 1, -2 * bose(-2 * x)


@relation(source="NIST DLMF 4.28.3")
def hyperbolic_cosine_minus_sine(x):
    """A hyperbolic cosine less its sine is an exponential."""
    return np.cosh(x) - np.sinh(x), np.exp(-x)


@relation(source="NIST DLMF 4.28.3")
def hyperbolic_cosine_plus_sine(x):
    """A hyperbolic cosine plus its sine is an exponential."""
    return np.cosh(x) + np.sinh(x), np.exp(x)


@relation(source="NIST DLMF 4.35.11")
def difference_of_squares_of_hyperbolic_functions(x):
    """The squares of hyperbolic cosine and sine differ by one."""
    return np.cosh(x) ** 2 - np.sinh(x) ** 2, 1


@relation(source="cosh u - 1 = 2·sinh²(u/2)")
def inverse_hyperbolic_cosine_of_one_plus(x):
    """An inverse hyperbolic cosine near one."""
    return np.arccosh(1 + x), 2 * np.arcsinh(np.sqrt(x / 2))
