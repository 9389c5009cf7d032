"""Exponentials: where they meet their inverse, and where one is subtracted from another, or from its first terms."""

import numpy as np

from relgrad.ops import (
    exp_difference,
    exprel_n,
)
from relgrad.relation import positive, relation, unknown


@relation(source="definition of the logarithm")
def exponential_of_logarithm(x):
    """The exponential of a logarithm is its argument."""
    return np.exp(np.log(x)), x, positive(x)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def exponential_minus_one(x):
    """An exponential less one, without the cancellation at zero."""
    return np.exp(x) - 1, np.expm1(x)


@relation(source="e⁻ˣ·(eˣ - 1) = 1 - e⁻ˣ")
def expm1_over_exponential(x):
    """An exponential less one, over the exponential."""
    return -np.exp(-x) * np.expm1(x), np.expm1(-x)


@relation(source="Scharfetter & Gummel 1969: B(-x) - B(x) = x for Bernoulli's function x/(eˣ - 1)")
def difference_of_opposite_bernoulli_functions(x):
    """What drifts with an even concentration: two functions of Bernoulli, of opposite arguments, differ by these."""
    return 1 / exprel_n(-x, 0) - 1 / exprel_n(x, 0), x


@relation(source="Hamming, NMSE (1973), problem 3.4.4: e²ˣ - 1 = (eˣ - 1)(eˣ + 1)")
def expm1_of_double(x):
    """e²ˣ - 1 over eˣ - 1."""
    return np.expm1(2 * x) / np.expm1(x), 1 + np.exp(x)


@relation(source="Hamming, NMSE (1973), section 3.3")
def difference_of_exponentials(x, y):
    """The difference of two exponentials, from that of the exponents."""
    return np.exp(x) - np.exp(y), exp_difference(x, y, x - y)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def difference_quotient_of_exponential(x, y, z):
    """The difference quotient of an exponential, from the larger of two."""
    return (
        exp_difference(x, y, z) / z,
        np.where(z > 0, np.exp(y + z) * exprel_n(-z, 0), np.exp(y) * exprel_n(z, 0)),
    )


@relation(source="(eˣ - 1)/x with a scale")
def relative_exponential_of_multiple(x, w):
    """(e^wx - 1)/x, continued to w at zero."""
    return np.expm1(w * x) / x, w * exprel_n(w * x, 0), unknown(x)


@relation(source="the slope of x·((eˣ - 1)/x)")
def relative_exponential_and_its_slope(x):
    """The slope of eˣ - 1, written as x times what that is over x, of which the parts are larger where x is below 0."""
    return exprel_n(x, 0) + x * exprel_n(x, 1), np.exp(x)
