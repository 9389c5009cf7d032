"""Logarithms: of exponentials, and of sums and products of them, which are formed in the log domain."""

import numpy as np

from relgrad.ops import log1mexp, logsumexp, power1p, softplus, xlog1py
from relgrad.relation import nonnegative, positive, relation


@relation(source="definition of the logarithm")
def log_of_exponential(x):
    """The logarithm of an exponential is its argument."""
    return np.log(np.exp(x)), x


@relation(source="Blanchard, Higham & Higham 2021, eq. 1.4")
def log_of_sum_of_exponentials(x, axis):
    """The log of a sum of exponentials, shifted by the largest."""
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=True)), logsumexp(x, axis=axis, keepdims=True)


@relation(source="Maechler 2012, eq. 10")
def log_of_one_plus_exponential(x):
    """The log of one plus an exponential is a softplus."""
    return np.log(1 + np.exp(x)), softplus(x)


@relation(source="Maechler 2012, eq. 7")
def log_of_one_minus_exponential(x):
    """The log of one less an exponential, for x < 0."""
    return np.log(1 - np.exp(x)), log1mexp(x)


@relation(source="Maechler 2012, eq. 7")
def log_of_negated_expm1(x):
    """The log of one less an exponential, for x < 0, written with expm1."""
    return np.log(-np.expm1(x)), log1mexp(x)


@relation(source="Goldberg 1991, theorem 4")
def log_of_one_plus(x):
    """The log of one plus something, without rounding the sum."""
    return np.log(1 + x), np.log1p(x)


@relation(source="|1 + x| − 1 is the larger of x and −2 − x")
def log_of_distance_from_minus_one(x):
    """The log of a size that is near one, on either side of zero."""
    return np.log(np.abs(1 + x)), np.log1p(np.maximum(x, -2 - x))


@relation(source="functional equation of the logarithm")
def log_of_reciprocal(x):
    """The log of a reciprocal."""
    return np.log(1 / x), -np.log(x), nonnegative(x)


@relation(source="Goldberg 1991, What every computer scientist should know, section 1.4")
def exponential_of_multiple_of_log1p(x, a):
    """The exponential of a multiple of log(1 + x) is a power of one plus x."""
    return np.exp(a * np.log1p(x)), power1p(x, a)


@relation(source="Goldberg 1991, What every computer scientist should know, section 1.4")
def exponential_of_weighted_log1p(x, a):
    """The exponential of a multiple of log(1 + x), which is zero for an exponent of zero, is a power."""
    return np.exp(xlog1py(a, x)), power1p(x, a)


@relation(source="x + 1/x = 2·cosh(log x)")
def sum_with_reciprocal_plus_hyperbolic_sine_of_logarithm(x):
    """A number, its reciprocal and twice the hyperbolic sine of its logarithm are twice the number."""
    return x + 1 / x + 2 * np.sinh(np.log(x)), 2 * x, positive(x)


@relation(source="x + 1/x = 2·cosh(log x)")
def sum_with_reciprocal_minus_hyperbolic_sine_of_logarithm(x):
    """A number and its reciprocal less twice the hyperbolic sine of its logarithm are twice the reciprocal."""
    return x + 1 / x - 2 * np.sinh(np.log(x)), 2 / x, positive(x)


@relation(source="functional equation of the exponential")
def exponential_of_negated_logarithm(x):
    """The exponential of a negated logarithm is the reciprocal of its argument."""
    return np.exp(-np.log(x)), 1 / x, positive(x)


@relation(source="Goldberg 1991, What every computer scientist should know, section 1.4")
def exponential_of_negated_weighted_log1p(x, a):
    """The exponential of a negated multiple of log(1 + x) is the inverse of a power."""
    return np.exp(-xlog1py(a, x)), power1p(x, -a)
