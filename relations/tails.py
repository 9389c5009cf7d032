"""Tails: ratios and logarithms of functions that grow or vanish like exponentials."""

import numpy as np

from relgrad.ops import (
    erfc,
    erfcx,
    log_cosh,
    mills,
    mills_excess,
    ndtr,
)
from relgrad.relation import relation


@relation(source="NIST Digital Library of Mathematical Functions, eq. 7.2.3; the ratio of Mills")
def density_over_complementary_error_function(x):
    """A normal density over its tail."""
    return np.exp(-x * x) / erfc(x), 1 / erfcx(x)


@relation(source="NIST Digital Library of Mathematical Functions, eq. 7.2.3; the ratio of Mills")
def exponential_over_complementary_error_function(x, y):
    """A normal density, and an exponential beside it, over its tail."""
    return np.exp(y - x * x) / erfc(x), np.exp(y) / erfcx(x)


@relation(source="NIST Digital Library of Mathematical Functions, eq. 7.2.3; the ratio of Mills")
def normal_density_over_distribution_function(x):
    """A normal density over its distribution function, both of which may underflow."""
    return np.exp(-x * x / 2) / ndtr(x), 2 * mills(x) / mills(0.0)


@relation(source="the ratio of Mills and its excess, about 1/|x| for x → −∞")
def excess_over_linear_of_mills_ratio(x):
    """A ratio of Mills and what it cancels far out, as in its slope."""
    return x + mills(x), mills_excess(x)


@relation(source="NIST Digital Library of Mathematical Functions, eq. 7.4.2")
def two_minus_complementary_error_function(x):
    """The other tail of an error function."""
    return 2 - erfc(x), erfc(-x)


@relation(source="cosh x = e^|x|·(1 + e^-2|x|)/2")
def log_of_hyperbolic_cosine_minus_size(x):
    """The log of a hyperbolic cosine less what it grows like."""
    return log_cosh(x) - np.abs(x), np.log1p(np.expm1(-2 * np.abs(x)) / 2)
