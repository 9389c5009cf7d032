"""The softmax, in every way of writing it, and its logarithm."""

import numpy as np

from relgrad.ops import (
    complement,
    deviation,
    log1mexp,
    log_softmax,
    logmeanexp,
    logsumexp,
    softmax,
    softplus,
    unit,
)
from relgrad.relation import (
    centred_exponentso,
    centredo,
    constant_along,
    entrieso,
    log_probabilityo,
    nonnegative,
    relation,
    unlike_exponentials,
    varying_along,
)


@relation(source="Goodfellow, Bengio & Courville 2016, section 4.1; Blanchard, Higham & Higham 2021, eq. 1.5")
def normalized_exponential(x, axis):
    """An exponential over the sum of its kind is a softmax."""
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True), softmax(x, axis=axis)


@relation(source="√p is the unit vector along √e^x")
def root_of_softmax(x, axis):
    """The root of a softmax, as in the distance of Hellinger, has slopes where it underflows."""
    return np.sqrt(softmax(x, axis=axis)), unit(softmax(x / 2, axis=axis), axis=axis)


@relation(source="a distribution has mass one")
def sum_of_softmax(x, axis):
    """A softmax sums to one."""
    return np.sum(softmax(x, axis=axis), axis=axis, keepdims=True), 1


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def log_of_softmax(x, axis):
    """The log of a softmax."""
    return np.log(softmax(x, axis=axis)), log_softmax(x, axis=axis)


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def argument_minus_logsumexp(x, axis):
    """What is left of the exponents when their log-sum-exp is taken off is a log-softmax."""
    return x - logsumexp(x, axis=axis, keepdims=True), log_softmax(x, axis=axis)


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def exponential_of_log_softmax(x, axis):
    """The exponential of a log-softmax is a softmax."""
    return np.exp(log_softmax(x, axis=axis)), softmax(x, axis=axis)


@relation(source="Gini impurity: 1 - Σp² = Σ p·(1 - p)")
def one_minus_sum_of_squares(x, axis):
    """The probability that two draws differ."""
    p = softmax(x, axis=axis)
    return 1 - np.sum(p**2, axis=axis, keepdims=True), np.sum(
        p * complement(p, axis=axis), axis=axis, keepdims=True
    )


@relation(source="Simpson 1949, Measurement of diversity: 1 - Σp² = Σ p·(1 - p)")
def one_minus_sum_of_squares_of_shares(x, axis):
    """The probability that two draws from counts differ."""
    total = np.sum(x, axis=axis, keepdims=True)
    return (
        1 - np.sum(x**2, axis=axis, keepdims=True) / total**2,
        np.sum(x / total * complement(x, axis=axis), axis=axis, keepdims=True),
    )


@relation(source="Chan, Golub & LeVeque 1983: variances are taken around the mean")
def variance_under_softmax(x, y, axis):
    """A variance under a softmax, from distances from the mean."""
    p = softmax(y, axis=axis)
    return (
        np.sum(p * x**2, axis=axis, keepdims=True) - np.sum(p * x, axis=axis, keepdims=True) ** 2,
        np.sum(p * deviation(x, p, axis=axis) ** 2, axis=axis, keepdims=True),
        varying_along(x, axis),
        varying_along(p, axis),
    )


@relation(source="Maechler 2012, eq. 7, for a log-probability")
def log_of_complement_of_softmax(x, axis):
    """The log of the share of all others."""
    return np.log(complement(softmax(x, axis=axis), axis=axis)), log1mexp(log_softmax(x, axis=axis))


@relation(source="Chan, Golub & LeVeque 1983: means are taken around a value nearby")
def distance_from_mean(x, y, axis):
    """The distance from a mean under a softmax, measured from the entry that weighs most."""
    p = softmax(y, axis=axis)
    return (
        x - np.sum(p * x, axis=axis, keepdims=True),
        deviation(x, p, axis=axis),
        varying_along(x, axis),
        unlike_exponentials(x),
        varying_along(p, axis),
    )


@relation(source="Chan, Golub & LeVeque 1983: means are taken around a value nearby")
def distance_from_mean_under_weighted_softmax(x, y, w, axis):
    """The distance from a mean under a weighted softmax, measured from the entry that weighs most."""
    p = softmax(y, axis=axis, weights=w)
    return (
        x - np.sum(p * x, axis=axis, keepdims=True),
        deviation(x, p, axis=axis),
        varying_along(x, axis),
        unlike_exponentials(x),
        varying_along(p, axis),
    )


@relation(source="a distribution has mass one: max x - Σ p·x = Σ p·(max x - x)")
def largest_minus_mean(x, y, axis):
    """What a mean under a softmax lacks of the largest, from what each lacks: none of that is negative."""
    p, largest = softmax(y, axis=axis), np.max(x, axis=axis, keepdims=True)
    return (
        largest - np.sum(p * x, axis=axis, keepdims=True),
        np.sum(p * (largest - x), axis=axis, keepdims=True),
        varying_along(x, axis),
        varying_along(p, axis),
    )


@relation(source="a distribution has mass one: Σ p·x - min x = Σ p·(x - min x)")
def mean_minus_smallest(x, y, axis):
    """What a mean under a softmax has more than the smallest, from what each has more: none of that is negative."""
    p, smallest = softmax(y, axis=axis), np.min(x, axis=axis, keepdims=True)
    return (
        np.sum(p * x, axis=axis, keepdims=True) - smallest,
        np.sum(p * (x - smallest), axis=axis, keepdims=True),
        varying_along(x, axis),
        varying_along(p, axis),
    )


@relation(source="covariance: Σ x·p·(y - ȳ) = Σ p·(x - x̄)·(y - ȳ)")
def sum_against_zero_sum(x, y, axis):
    """A sum against something that sums to zero depends on distances from a mean, which do not cancel."""
    return np.sum(x, axis=axis, keepdims=True), y, centredo(np.sum(x, axis=axis, keepdims=True), y)


@relation(source="Shannon 1948: log Σ e^x - Σ p·x = -Σ p·log p")
def logsumexp_minus_mean(x, axis):
    """A log-sum-exp less the mean of the exponents is an entropy, which both may exceed by far."""
    return (
        logsumexp(x, axis=axis, keepdims=True) - np.sum(softmax(x, axis=axis) * x, axis=axis, keepdims=True),
        -np.sum(softmax(x, axis=axis) * log_softmax(x, axis=axis), axis=axis, keepdims=True),
    )


@relation(source="Shannon 1948: log Σ w·e^x - Σ p·x = -Σ p·log(p/w)")
def logsumexp_with_weights_minus_mean(x, w, axis):
    """A log-sum-exp with weights, as degeneracies of levels are, less the mean of the exponents is an entropy."""
    p = softmax(x, axis=axis, weights=w)
    less = x - np.max(x, axis=axis, keepdims=True)
    return (
        logsumexp(x, axis=axis, keepdims=True, weights=w) - np.sum(p * x, axis=axis, keepdims=True),
        -np.sum(p * (less - logsumexp(less, axis=axis, keepdims=True, weights=w)), axis=axis, keepdims=True),
    )


@relation(source="Cover & Thomas 2006, eq. 2.93: the divergence from even shares")
def log_mean_minus_mean_of_exponents(x, axis):
    """A log-mean-exp less the mean of the exponents under a softmax is a divergence, which both may exceed by far."""
    p = softmax(x, axis=axis)
    less = x - np.max(x, axis=axis, keepdims=True)
    return (
        logmeanexp(x, axis=axis, keepdims=True) - np.sum(p * x, axis=axis, keepdims=True),
        -np.sum(p * (less - logmeanexp(less, axis=axis, keepdims=True)), axis=axis, keepdims=True),
    )


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def entry_minus_logsumexp(x, y, z, axis):
    """What an entry, or a mean of entries, is less the log-sum-exp of all is a log-probability."""
    return x - logsumexp(y, axis=axis, keepdims=True), z, log_probabilityo(x, y, axis, z)


@relation(source="Blanchard, Higham & Higham 2021, section 1")
def logsumexp_of_distances_from_entry(x, y, z, axis):
    """The log-sum-exp of distances from one of the entries is a negated log-probability."""
    return (
        logsumexp(x - y, axis=axis, keepdims=True),
        -z,
        constant_along(y, axis),
        log_probabilityo(y, x, axis, z),
    )


@relation(source="Blanchard, Higham & Higham 2021, eq. 1.4: the log-sum-exp moves with its argument")
def shifted_logsumexp(x, y, axis):
    """A log-sum-exp of shifted exponents, and the shift."""
    return (
        y + logsumexp(x - y, axis=axis, keepdims=True),
        logsumexp(x, axis=axis, keepdims=True),
        constant_along(y, axis),
    )


@relation(source="log Σ w·p = -log(1 + Σ (1 - w)·p / Σ w·p), for a distribution p")
def log_of_share(x, w, axis):
    """The log of the share that some entries have of all, which may be nearly all."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return (
        logsumexp(log_softmax(x, axis=axis), axis=axis, keepdims=True, weights=w),
        -softplus(
            logsumexp(shifted, axis=axis, keepdims=True, weights=1 - w)
            - logsumexp(shifted, axis=axis, keepdims=True, weights=w)
        ),
        nonnegative(w),
        nonnegative(1 - w),
        varying_along(x, axis),
    )


@relation(source="a distribution has mass one")
def log_of_share_of_part(x, y, w, axis):
    """The log-sum-exp of some log-probabilities is that of all, with weights that are zero or one."""
    row = log_softmax(y, axis=axis)
    return (
        logsumexp(x, axis=axis, keepdims=True),
        logsumexp(row, axis=axis, keepdims=True, weights=w),
        entrieso(x, None, row, w),
    )


@relation(source="a distribution has mass one")
def log_of_share_of_two(x, y, z, w):
    """The log of the sum of two probabilities out of a row."""
    row = log_softmax(z, axis=-1)
    return (
        np.logaddexp(x, y),
        np.squeeze(logsumexp(row, axis=-1, keepdims=True, weights=w), -1),
        entrieso(x, y, row, w),
    )


@relation(source="Blanchard, Higham & Higham 2021, section 1: a softmax does not change with a shift")
def softmax_of_rounded_product(x, y, axis):
    """Exponents that are a multiple of something are shifted before they are multiplied, which rounds."""
    return softmax(x, axis=axis), softmax(y, axis=axis), centred_exponentso(x, axis, y)


@relation(source="Blanchard, Higham & Higham 2021, section 1: a softmax does not change with a shift")
def log_softmax_of_rounded_product(x, y, axis):
    """Exponents that are a multiple of something are shifted before they are multiplied, which rounds."""
    return log_softmax(x, axis=axis), log_softmax(y, axis=axis), centred_exponentso(x, axis, y)


@relation(source="the effective sample size of weights e^x, in logs; Kong 1992")
def log_of_effective_sample_size(x, axis):
    """Twice a log-sum-exp less that of the double, in log-probabilities."""
    return (
        2 * logsumexp(x, axis=axis, keepdims=True) - logsumexp(2 * x, axis=axis, keepdims=True),
        -logsumexp(2 * log_softmax(x, axis=axis), axis=axis, keepdims=True),
        varying_along(x, axis),
    )
