"""Logarithms: of exponentials, and of sums and products of them, which are formed in the log domain."""

import numpy as np

from relgrad.ops import log1mexp, logdiffexp, logsumexp, softplus
from relgrad.relation import nonnegative, relation


@relation(source="definition of the logarithm")
def log_of_exponential(x):
    """The logarithm of an exponential is its argument."""
    return np.log(np.exp(x)), x


@relation(source="Blanchard, Higham & Higham 2021, eq. 1.4")
def log_of_sum_of_exponentials(x, axis):
    """The log of a sum of exponentials, shifted by the largest."""
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=True)), logsumexp(x, axis=axis, keepdims=True)


@relation(source="Muller, Elementary Functions (2016), section 10.4")
def log_of_sum_of_two_exponentials(x, y):
    """The log of the sum of two exponentials."""
    return np.log(np.exp(x) + np.exp(y)), np.logaddexp(x, y)


@relation(source="Maechler 2012, eq. 10")
def log_of_one_plus_exponential(x):
    """The log of one plus an exponential is a softplus."""
    return np.log(1 + np.exp(x)), softplus(x)


@relation(source="Maechler 2012, eq. 10")
def log1p_of_exponential(x):
    """The log of one plus an exponential is a softplus, however it is written."""
    return np.log1p(np.exp(x)), softplus(x)


@relation(source="Maechler 2012, eq. 7")
def log_of_one_minus_exponential(x):
    """The log of one less an exponential, for x < 0."""
    return np.log(1 - np.exp(x)), log1mexp(x)


@relation(source="Maechler 2012, eq. 7")
def log_of_negated_expm1(x):
    """The log of one less an exponential, for x < 0, written with expm1."""
    return np.log(-np.expm1(x)), log1mexp(x)


@relation(source="Maechler 2012, eq. 7")
def log_of_difference_of_exponentials(x, y):
    """The log of the difference of two exponentials, for x > y."""
    return np.log(np.exp(x) - np.exp(y)), logdiffexp(x, y)


@relation(source="Goldberg 1991, theorem 4")
def log_of_one_plus(x):
    """The log of one plus something, without rounding the sum."""
    return np.log(1 + x), np.log1p(x)


@relation(source="Maechler 2012, eq. 7")
def log1p_of_negated_exponential(x):
    """The log of one less an exponential, for x < 0, written with log1p."""
    return np.log1p(-np.exp(x)), log1mexp(x)


@relation(source="functional equation of the logarithm")
def log_of_reciprocal(x):
    """The log of a reciprocal."""
    return np.log(1 / x), -np.log(x), nonnegative(x)
