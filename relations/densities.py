"""Densities: the gamma function and what is made of it, in the log domain or without leaving the floats."""

import numpy as np

from relgrad.ops import (
    beta,
    gamma,
)
from relgrad.relation import product_logarithmo, relation


@relation(source="NIST Digital Library of Mathematical Functions, eq. 5.12.1")
def beta_of_gammas(x, y):
    """The beta function by gamma functions."""
    return gamma(x) * gamma(y) / gamma(x + y), beta(x, y)


@relation(source="NIST Digital Library of Mathematical Functions, eq. 5.12.1 and 5.5.1")
def binomial_of_gammas(x, y):
    """A binomial coefficient by gamma functions: of x + y - 2 objects, x - 1."""
    return gamma(x + y - 1) / (gamma(x) * gamma(y)), 1 / ((x + y - 1) * beta(x, y))


@relation(source="functional equation of the logarithm, for factors of any sign")
def logarithm_of_factors(x, y):
    """The log of a product with a factor that may leave the floats, factor by factor."""
    return np.log(x), y, product_logarithmo(x, y)
