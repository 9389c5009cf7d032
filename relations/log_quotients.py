"""Logarithms of quotients that are one at zero."""

import numpy as np

from relgrad.ops import (
    bernoulli_n,
    exprel_n,
    log_exprel,
    log_quotient,
    log_sinc,
    log_sinhc,
    power_difference,
    sinc_n,
    sinhc_n,
    xcoth_n,
    xcsc_n,
    xcsch_n,
)
from relgrad.relation import relation


@relation(source="log((eˣ - 1)/x), about x/2")
def log_of_relative_exponential(x):
    """The log of (eˣ - 1)/x, which is one at zero and may overflow."""
    return np.log(exprel_n(x, 0)), log_exprel(x)


@relation(source="NIST DLMF 24.2.1; log(x/(eˣ - 1)), about -x/2")
def log_of_bernoulli(x):
    """The log of x/(eˣ - 1), which is one at zero and may vanish."""
    return np.log(bernoulli_n(x, 0)), -log_exprel(x)


@relation(source="NIST DLMF 4.19.1; log(sin(x)/x), about -x²/6")
def log_of_relative_sine(x):
    """The log of sin(x)/x, which is one at zero."""
    return np.log(sinc_n(x, 0)), log_sinc(x)


@relation(source="NIST DLMF 4.19.4; log(x/sin x), about x²/6")
def log_of_reciprocal_of_relative_sine(x):
    """The log of x/sin x, which is one at zero."""
    return np.log(xcsc_n(x, 0)), -log_sinc(x)


@relation(source="NIST DLMF 4.33.1; log(sinh(x)/x), about x²/6")
def log_of_relative_hyperbolic_sine(x):
    """The log of sinh(x)/x, which is one at zero and may overflow."""
    return np.log(sinhc_n(x, 0)), log_sinhc(x)


@relation(source="NIST DLMF 4.33.1; log(x/sinh x), about -x²/6")
def log_of_reciprocal_of_relative_hyperbolic_sine(x):
    """The log of x/sinh x, which is one at zero and may vanish."""
    return np.log(xcsch_n(x, 0)), -log_sinhc(x)


@relation(source="NIST DLMF 4.33.1")
def ratio_of_hyperbolic_sines_of_multiple(x, w):
    """The ratio of two hyperbolic sines, the argument of one a multiple of that of the other."""
    return np.sinh(x) / np.sinh(w * x), np.exp(log_sinhc(x) - log_sinhc(w * x)) / w


@relation(source="log(1 - x²) = log(1 - x) + log(1 + x)")
def log_of_one_minus_square(x, z):
    """The log of one less a square, near zero and near one."""
    return (
        np.log(-power_difference(x, 1, 2, z)),
        np.where(np.square(1 + z) < 0.5, np.log1p(-np.square(1 + z)), np.log(-z) + np.log(2 + z)),
    )


@relation(source="the log of an odds ratio: p·(1 - q)/(q·(1 - p)) = 1 + (p - q)/(q·(1 - p))")
def difference_of_log_odds(x, y):
    """The difference of the log odds of two probabilities that may be near each other."""
    up, down = (x - y) / (y * (1 - x)), (y - x) / (x * (1 - y))
    probabilities = np.minimum(x * (1 - x), y * (1 - y)) >= 0
    return (
        log_quotient(x, 1 - x, 2 * x - 1) - log_quotient(y, 1 - y, 2 * y - 1),
        np.where(probabilities, np.where(x >= y, np.log1p(up), -np.log1p(down)), np.nan),
    )


@relation(source="x/(eˣ - 1) + x/2 = (x/2)·coth(x/2); the energy of an oscillator")
def bernoulli_plus_half(x):
    """Twice x/(eˣ - 1), plus x, which is even."""
    return 2 * bernoulli_n(x, 0) + x, 2 * xcoth_n(x / 2, 0)
