"""Moments: what is centred is centred first, and products of many numbers are formed without leaving the floats."""

import numpy as np

from relgrad.ops import (
    centred,
    deviation,
    log_prod,
)
from relgrad.relation import (
    maybe_nonpositive,
    positive,
    relation,
    same_shape,
    varying_along,
)


@relation(source="Chan, Golub & LeVeque 1983, Algorithms for computing the sample variance, section 3")
def distance_from_arithmetic_mean(x, axis):
    """What is left when the mean is taken off, without the rounding of the mean."""
    return x - np.mean(x, axis=axis, keepdims=True), centred(x, axis=axis), varying_along(x, axis)


@relation(source="definition of the weighted mean")
def distance_from_weighted_mean(x, w, axis):
    """What is left when the weighted mean is taken off, where there is one."""
    mean = np.sum(w * x, axis=axis, keepdims=True) / np.sum(w, axis=axis, keepdims=True)
    return x - mean, deviation(x, w, axis=axis), same_shape(x, w), positive(w)


@relation(source="Steiner's theorem, with weights")
def weighted_products_about_means(x, y, w, axis):
    """The weighted sum of products less the product of the weighted sums over the weight is that about the means."""
    return (
        np.sum(w * x * y, axis=axis, keepdims=True)
        - np.sum(w * x, axis=axis, keepdims=True)
        * np.sum(w * y, axis=axis, keepdims=True)
        / np.sum(w, axis=axis, keepdims=True),
        np.sum(w * deviation(x, w, axis=axis) * deviation(y, w, axis=axis), axis=axis, keepdims=True),
        same_shape(x, w),
        same_shape(y, w),
    )


@relation(source="(x - y)² = x² + y² - 2xy")
def squared_distance_expanded_in_two(x, y, axis):
    """A squared distance that was multiplied out, its squares summed together."""
    return (
        np.sum(x * x + y * y, axis=axis, keepdims=True) - 2 * np.sum(x * y, axis=axis, keepdims=True),
        np.sum(np.square(x - y), axis=axis, keepdims=True),
        same_shape(x, y),
    )


@relation(source="functional equation of the logarithm")
def log_of_product_of_positives(x, axis):
    """The log of a product of what is positive is the sum of the logs."""
    return (
        np.log(np.prod(x, axis=axis, keepdims=True)),
        np.sum(np.log(x), axis=axis, keepdims=True),
        positive(x),
    )


@relation(source="functional equation of the logarithm")
def log_of_product_over_axes(x, axis):
    """The log of a product, without forming what overflows or underflows."""
    return np.log(np.prod(x, axis=axis, keepdims=True)), log_prod(x, axis=axis, keepdims=True)


@relation(source="functional equation of the logarithm; the log-survival of independent events")
def log_of_product_of_complements(x, axis):
    """The log of a product of what is near one is the sum of the logs, where no factor is far from one."""
    near = np.abs(x) < 0.5
    logs = np.log1p(np.where(near, x, 0.0))
    return (
        np.log(np.prod(1 + x, axis=axis, keepdims=True)),
        np.where(
            np.all(near, axis=axis, keepdims=True),
            np.sum(logs, axis=axis, keepdims=True),
            log_prod(1 + x, axis=axis, keepdims=True),
        ),
        maybe_nonpositive(1 + x),
    )
