"""The logistic function and its logarithm, which saturate in both tails."""

import numpy as np

from relgrad.ops import (
    expit,
    expit_entropy,
    log1mexp,
    log_expit,
    softplus,
)
from relgrad.relation import relation


@relation(source="definition of the logistic function")
def reciprocal_of_one_plus_exponential(x):
    """The reciprocal of one plus an exponential is a logistic function."""
    return 1 / (1 + np.exp(x)), expit(-x)


@relation(source="definition of the logistic function")
def exponential_over_one_plus_exponential(x):
    """An exponential over one plus itself is a logistic function."""
    return np.exp(x) / (1 + np.exp(x)), expit(x)


@relation(source="Maechler 2012, eq. 10")
def log_of_logistic(x):
    """The log of a logistic function."""
    return np.log(expit(x)), log_expit(x)


@relation(source="log σ(x) = x - log(1 + e^x)")
def argument_minus_softplus(x):
    """An argument less its softplus is a log-logistic function."""
    return x - softplus(x), log_expit(x)


@relation(source="log σ(x - y) = x - log(e^x + e^y)")
def argument_minus_logaddexp(x, y):
    """An argument less the log of the sum of its exponential and another is a log-logistic function."""
    return x - np.logaddexp(x, y), log_expit(x - y)


@relation(source="σ(x) - σ(y) = (1 - e^(y - x))·σ(x)·σ(-y)")
def log_of_difference_of_logistics(x, y):
    """The log of the probability of an interval under a logistic distribution, for x > y."""
    return np.log(expit(x) - expit(y)), log_expit(x) + log_expit(-y) + log1mexp(y - x)


@relation(source="Shannon 1948: the entropy of a Bernoulli trial with log odds x")
def softplus_minus_mean(x, w):
    """A softplus function less its argument times a logistic function is an entropy."""
    return w * softplus(x) - w * x * expit(x), w * expit_entropy(x)


@relation(source="Shannon 1948: log(e^x + e^y) - p·x - q·y = -p·log p - q·log q")
def logaddexp_minus_mean(x, y):
    """The log of a sum of two exponentials less the mean of the exponents is an entropy."""
    p, q = (expit(u - np.where(np.isinf(u), 0.0, v)) for u, v in ((x, y), (y, x)))
    return np.logaddexp(x, y) - p * x - q * y, expit_entropy(x - y)
