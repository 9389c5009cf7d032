"""The log domain: logarithms of positive expressions, formed from the logarithms of their parts."""

import numpy as np

from relgrad.ops import log_prod
from relgrad.relation import logarithmo, normalizedo, product_logarithmo, relation


@relation(
    source="Blanchard, Higham & Higham 2021, section 1; Rabiner 1989, section V.A (products of many factors)"
)
def logarithm_in_the_log_domain(x, y):
    """The logarithm of a positive expression of exponentials, formed without leaving the log domain."""
    return np.log(x), y, logarithmo(x, y)


@relation(source="Blanchard, Higham & Higham 2021, eq. 1.5")
def quotient_in_the_log_domain(x, y, z):
    """An exponential over a sum of exponentials, formed where neither needs to be in range."""
    return x / y, z, normalizedo(x / y, z)


def _log_of_signed(x, y, axis):
    """Return log Π x where log|x| = y: NaN where the product is negative."""
    signs = np.prod(np.copysign(1.0, x), axis=axis, keepdims=True)
    log = np.sum(y, axis=axis, keepdims=True)
    return log + np.where(np.logical_or(signs >= 0, log == -np.inf), 0.0, np.nan)


@relation(source="functional equation of the logarithm, for factors of any sign")
def log_of_product_of_factors(x, y, axis):
    """The logarithm of a product over axes with a factor that may leave the floats, factor by factor."""
    return (
        log_prod(x, axis=axis, keepdims=True),
        _log_of_signed(x, y, axis),
        product_logarithmo(np.abs(x), y),
    )
