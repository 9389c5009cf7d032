"""How far quotients are from one, where what is divided and what it is divided by have something in common."""

import numpy as np

from relgrad.ops import log_quotient, logrel_n, power_difference, ratio_minus_one
from relgrad.relation import additive, relation


@relation(source="Hamming, NMSE (1973), section 3.3: x² - y² = (x - y)(x + y)")
def quotient_of_squares_minus_one(x, y):
    """How far a quotient of squares is from one, as under the root of an eccentricity or a Lorentz factor."""
    return x**2 / y**2 - 1, power_difference(x / y, 1, 2, ratio_minus_one(x, y, x - y)), additive(x, y)


@relation(source="Hamming, NMSE (1973), section 3.2; the Doppler shift")
def root_of_quotient_minus_one(x, y):
    """How far the root of a quotient is from one."""
    return (
        np.sqrt(x / y) - 1,
        ratio_minus_one(x, y, x - y) / (np.sqrt(x / y) + 1),
        additive(x, y),
    )


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), problem 1.5")
def quotient_minus_one_over_its_logarithm(x, y, z):
    """(u - 1)/log(u) for a quotient u, continued to one at one."""
    return ratio_minus_one(x, y, z) / log_quotient(x, y, z), 1 / logrel_n((y + z) / y, 0)
