"""The softmax, in every way of writing it, and its logarithm."""

import numpy as np

from relgrad.ops import log_softmax, logsumexp, softmax
from relgrad.relation import positive, relation


@relation(source="Goodfellow, Bengio & Courville 2016, section 4.1; Blanchard, Higham & Higham 2021, eq. 1.5")
def normalized_exponential(x, axis):
    """An exponential over the sum of its kind is a softmax."""
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True), softmax(x, axis=axis)


@relation(source="Blanchard, Higham & Higham 2021, eq. 1.5, with weights")
def normalized_weighted_exponential(x, w, axis):
    """A weighted exponential over the sum of its kind is a weighted softmax."""
    return (
        w * np.exp(x) / np.sum(w * np.exp(x), axis=axis, keepdims=True),
        softmax(x, axis=axis, weights=w),
    )


@relation(source="a distribution has mass one")
def sum_of_softmax(x, axis):
    """A softmax sums to one."""
    return np.sum(softmax(x, axis=axis), axis=axis, keepdims=True), 1


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def log_of_softmax(x, axis):
    """The log of a softmax."""
    return np.log(softmax(x, axis=axis)), log_softmax(x, axis=axis)


@relation(source="functional equation of the logarithm")
def log_of_multiple_of_softmax(x, w, axis):
    """The log of a positive multiple of a softmax."""
    return np.log(w * softmax(x, axis=axis)), np.log(w) + log_softmax(x, axis=axis), positive(w)


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def argument_minus_logsumexp(x, axis):
    """What is left of the exponents when their log-sum-exp is taken off is a log-softmax."""
    return x - logsumexp(x, axis=axis, keepdims=True), log_softmax(x, axis=axis)


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def exponential_of_log_softmax(x, axis):
    """The exponential of a log-softmax is a softmax."""
    return np.exp(log_softmax(x, axis=axis)), softmax(x, axis=axis)
