"""Hyperbolic functions of which one is written in two opposite exponentials, or summed apart from the other."""

import numpy as np

from relgrad.relation import relation


@relation(source="NIST DLMF 4.28.2")
def sum_of_opposite_exponentials(x):
    """The sum of two opposite exponentials is twice a hyperbolic cosine."""
    return np.exp(x) + np.exp(-x), 2 * np.cosh(x)
