"""Logarithms: of exponentials, and of sums and products of them, which are formed in the log domain."""

import numpy as np

from relgrad.ops import log1mexp, logsumexp, softplus
from relgrad.relation import exact_at_minus_one, nonnegative, relation


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
    return np.log(1 + x), np.log1p(x), exact_at_minus_one(x)


@relation(source="|1 + x| − 1 is the larger of x and −2 − x")
def log_of_distance_from_minus_one(x):
    """The log of a size that is near one, on either side of zero."""
    return np.log(np.abs(1 + x)), np.log1p(np.maximum(x, -2 - x)), exact_at_minus_one(x)


@relation(source="functional equation of the logarithm")
def log_of_reciprocal(x):
    """The log of a reciprocal."""
    return np.log(1 / x), -np.log(x), nonnegative(x)
