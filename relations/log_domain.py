"""The log domain: logarithms of positive expressions, formed from the logarithms of their parts."""

import numpy as np

from relgrad.ops import log_prod, prod_power
from relgrad.relation import logarithmo, nonnegative, normalizedo, positive, product_logarithmo, relation


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


@relation(source="functional equation of the logarithm")
def log_of_product_in_the_log_domain(x, y, axis):
    """The logarithm of a product of exponentials over axes is the sum of the exponents."""
    return (
        log_prod(x, axis=axis, keepdims=True),
        np.sum(y, axis=axis, keepdims=True),
        nonnegative(x),
        logarithmo(x, y),
    )


def _log_of_signed(x, y, axis):
    """Return log Π x where log|x| = y: NaN where the product is negative."""
    signs = np.prod(np.copysign(1.0, x), axis=axis, keepdims=True)
    log = np.sum(y, axis=axis, keepdims=True)
    return log + np.where(np.logical_or(signs >= 0, log == -np.inf), 0.0, np.nan)


@relation(source="functional equation of the logarithm, for factors of any sign")
def log_of_signed_product_in_the_log_domain(x, y, axis):
    """The logarithm of a product of weighted exponentials, of which an even number may be negative."""
    return (
        log_prod(x, axis=axis, keepdims=True),
        _log_of_signed(x, y, axis),
        logarithmo(np.abs(x), y),
    )


@relation(source="functional equation of the logarithm, for factors of any sign")
def log_of_product_of_factors(x, y, axis):
    """The logarithm of a product over axes with a factor that may leave the floats, factor by factor."""
    return (
        log_prod(x, axis=axis, keepdims=True),
        _log_of_signed(x, y, axis),
        product_logarithmo(np.abs(x), y),
    )


@relation(source="functional equation of the logarithm")
def power_of_product_in_the_log_domain(x, y, p, axis):
    """A power of a product of exponentials over axes is the exponential of a multiple of the sum of the exponents."""
    return (
        prod_power(x, p, axis=axis, keepdims=True),
        np.exp(p * np.sum(y, axis=axis, keepdims=True)),
        positive(x),
        logarithmo(x, y),
    )
