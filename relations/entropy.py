"""Entropies and divergences from probabilities, of which some may be zero: 0·log 0 is 0, as in scipy.special."""

import numpy as np

from relgrad.ops import (
    i_divergence,
    itakura_saito,
    log_difference,
    log_quotient,
    ratio_minus_one,
    xlog1py,
    xlog_ratio,
    xlogy,
)
from relgrad.relation import finite, relation, same_shape


@relation(source="continuity: x·log x goes to 0 with x; scipy.special.xlogy")
def number_times_its_log(x):
    """x·log x is 0 at 0."""
    return x * np.log(x), xlogy(x, x)


@relation(source="convention 0·log(0/q) = 0; Cover & Thomas 2006, section 2.3")
def number_times_its_log_difference(x, y):
    """x·(log x - log y) is 0 where x is."""
    return x * log_difference(x, y, x - y), np.where(y >= 0, xlog_ratio(x, y, x - y), np.nan)


@relation(source="convention 0·log(0/q) = 0; Cover & Thomas 2006, section 2.3")
def number_times_negated_log_difference(x, y):
    """x·(log y - log x) is 0 where x is."""
    return x * log_difference(y, x, y - x), np.where(y >= 0, -xlog_ratio(x, y, x - y), np.nan)


@relation(source="convention 0·log(0/q) = 0; Cover & Thomas 2006, section 2.3")
def number_times_its_log_quotient(x, y):
    """x·log(x/y) is 0 where x is, however it was stabilised."""
    return x * log_quotient(x, y, x - y), xlog_ratio(x, y, x - y)


@relation(source="convention 0·log(0/q) = 0; Cover & Thomas 2006, section 2.3")
def number_times_its_inverse_log_quotient(x, y):
    """x·log(y/x) is 0 where x is, however it was stabilised."""
    return x * log_quotient(y, x, y - x), -xlog_ratio(x, y, x - y)


@relation(source="convention 0·log 0 = 0; scipy.special.xlogy")
def weight_times_log(x, y):
    """A log without weight does not count."""
    return x * np.log(y), xlogy(x, y), same_shape(x, y), finite(x)


@relation(source="convention 0·log 0 = 0; scipy.special.xlog1py")
def weight_times_log1p(x, y):
    """A log without weight does not count."""
    return x * np.log1p(y), xlog1py(x, y), same_shape(x, y), finite(x)


@relation(source="Itakura & Saito 1968")
def quotient_minus_its_log_minus_one(x, y):
    """A quotient less its logarithm and one."""
    return x / y - log_quotient(x, y, x - y) - 1, itakura_saito(x, y, x - y)


@relation(source="Csiszár 1975, I-divergence geometry; the deviance of Poisson's distribution")
def divergence_of_unnormalised(x, y):
    """The divergence of measures that need not have one sum: quadratic in how far they are apart."""
    return xlog_ratio(x, y, x - y) - x + y, i_divergence(x, y, x - y)


def _divergence(x, y):
    """Return x²/(2y²) - log(x/y) - 1/2."""
    return itakura_saito((x / y) ** 2, 1, ratio_minus_one(x, y, x - y) * (x / y + 1)) / 2


@relation(source="the divergence of two normal distributions; Cover & Thomas 2006, section 8.5")
def divergence_of_normals(x, y, w):
    """The divergence of two normal distributions from their deviations: quadratic in how far these are apart."""
    return (
        log_quotient(y, x, y - x) + (x**2 + w) / (2 * y**2) - 0.5,
        np.where(y / x >= 0, _divergence(x, y) + w / y / y / 2, np.nan),
    )
