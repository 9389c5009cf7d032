"""Entropies and divergences from probabilities, of which some may be zero: 0·log 0 is 0, as in scipy.special."""

import numpy as np

from relgrad.ops import xlog1py, xlog_ratio, xlogy
from relgrad.relation import relation, same_shape


@relation(source="continuity: x·log x goes to 0 with x; scipy.special.xlogy")
def number_times_its_log(x):
    """x·log x is 0 at 0."""
    return x * np.log(x), xlogy(x, x)


@relation(source="continuity: x·log x goes to 0 with x; Cover & Thomas 2006, section 2.1")
def number_times_its_binary_log(x):
    """x·log₂ x is 0 at 0."""
    return x * np.log2(x), xlogy(x, x) / np.log(2.0)


@relation(source="convention 0·log(0/q) = 0; Cover & Thomas 2006, section 2.3")
def number_times_its_log_ratio(x, y):
    """x·(log x - log y) is 0 where x is."""
    return x * (np.log(x) - np.log(y)), xlog_ratio(x, y)


@relation(source="convention 0·log(0/q) = 0; Cover & Thomas 2006, section 2.3")
def number_times_log_of_its_ratio(x, y):
    """x·log(x/y) is 0 where x is."""
    return x * np.log(x / y), xlog_ratio(x, y)


@relation(source="convention 0·log 0 = 0; scipy.special.xlogy")
def sum_of_weighted_logs(x, y, axis):
    """In a sum of weighted logs, what has no weight does not count."""
    return (
        np.sum(x * np.log(y), axis=axis, keepdims=True),
        np.sum(xlogy(x, y), axis=axis, keepdims=True),
        same_shape(x, y),
    )


@relation(source="convention 0·log 0 = 0; scipy.special.xlog1py")
def sum_of_weighted_logs_of_one_plus(x, y, axis):
    """In a sum of weighted logs of one plus something, what has no weight does not count."""
    return (
        np.sum(x * np.log1p(y), axis=axis, keepdims=True),
        np.sum(xlog1py(x, y), axis=axis, keepdims=True),
        same_shape(x, y),
    )


@relation(source="binary entropy; Cover & Thomas 2006, eq. 2.5")
def complement_times_log_of_complement(x):
    """(1 - x)·log(1 - x) is 0 at 1."""
    return (1 - x) * np.log1p(-x), xlog1py(1 - x, -x)


@relation(source="convention 0·log 0 = 0, for the log-likelihood of Bernoulli trials")
def bernoulli_log_likelihood(x, y):
    """The log-likelihood of outcomes x with probabilities y: where the outcome is certain, the other does not count."""
    return x * np.log(y) + (1 - x) * np.log1p(-y), xlogy(x, y) + xlog1py(1 - x, -y)
