"""Means less what they are near, and variances under weights that sum to one: what cancels is formed first."""

import numpy as np

from relgrad.ops import deviation, mean_minus, sum_minus
from relgrad.relation import additive, constant_along, relation, same_shape, unrounded, varying_along


@relation(source="the mean is linear; Ogita, Rump & Oishi 2005, Accurate sum and dot product")
def mean_minus_number(x, y, axis):
    """How far a mean is from a number: what is left may be less than the rounding of the mean."""
    return (
        np.mean(x, axis=axis, keepdims=True) - y,
        mean_minus(x, y, axis=axis),
        additive(x, y),
        unrounded(y),
        constant_along(y, axis),
        varying_along(x, axis),
    )


@relation(source="Ogita, Rump & Oishi 2005, Accurate sum and dot product")
def sum_minus_number(x, y, axis):
    """How far a sum is from a number: what is left may be less than the rounding of the sum."""
    return (
        np.sum(x, axis=axis, keepdims=True) - y,
        sum_minus(x, y, axis=axis),
        additive(x, y),
        unrounded(y),
        constant_along(y, axis),
        varying_along(x, axis),
    )


@relation(source="Chan, Golub & LeVeque 1983: means are taken around a value nearby")
def weighted_mean_minus_number(x, y, w, axis):
    """How far a weighted mean is from a number is the mean of the distances from it."""
    total = np.sum(w, axis=axis, keepdims=True)
    return (
        np.sum(w * x, axis=axis, keepdims=True) / total - y,
        np.sum(w * (x - y), axis=axis, keepdims=True) / total,
        additive(x, y),
        unrounded(y),
        constant_along(y, axis),
        same_shape(x, w),
        varying_along(x, axis),
    )


@relation(source="Steiner's theorem, with weights that need not sum to one")
def weighted_squares_minus_square_of_weighted_sum(x, w, axis):
    """A variance under probabilities: what these lack of one counts with the square of the mean."""
    mean = np.sum(w * x, axis=axis, keepdims=True)
    excess = sum_minus(w, 1.0, axis=axis)
    return (
        np.sum(w * (x * x), axis=axis, keepdims=True) - mean * mean,
        np.where(
            np.abs(excess) < 0.5,
            np.sum(w * np.square(x - mean), axis=axis, keepdims=True) - mean * mean * excess,
            np.sum(w * x * (x - mean), axis=axis, keepdims=True),
        ),
        additive(x, w),
        same_shape(x, w),
        varying_along(x, axis),
    )


@relation(source="Steiner's theorem, with weights; the slope of weighted least squares")
def weighted_products_times_weight(x, y, w, axis):
    """The weight times a weighted sum of products less the product of the weighted sums: an offset changes nothing."""

    def moments(x, y):
        weight, one, other = [np.sum(part, axis=axis, keepdims=True) for part in (w, w * x, w * y)]
        return weight * np.sum(w * x * y, axis=axis, keepdims=True) - one * other

    size = np.abs(w)
    size = size + (np.sum(size, axis=axis, keepdims=True) == 0)
    return (
        moments(x, y),
        moments(deviation(x, size, axis=axis), deviation(y, size, axis=axis)),
        same_shape(x, w),
        same_shape(y, w),
        varying_along(x, axis),
    )
