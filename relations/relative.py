"""How far quotients are from one, where what is divided and what it is divided by have something in common."""

import numpy as np

from relgrad.ops import power_difference
from relgrad.relation import relation


@relation(source="Hamming, NMSE (1973), section 3.3")
def relative_increase(x, z):
    """How much larger a quotient is than one, where something is added above."""
    return (x + z) / x - 1, z / x


@relation(source="Hamming, NMSE (1973), section 3.3")
def relative_decrease(x, z):
    """How much smaller a quotient is than one, where something is added below."""
    return x / (x + z) - 1, -z / (x + z)


@relation(source="Hamming, NMSE (1973), section 3.3")
def relative_difference(x, y, z):
    """How far a quotient of two sums that have something in common is from one."""
    return (x + y) / (x + z) - 1, (y - z) / (x + z)


@relation(source="Hamming, NMSE (1973), section 3.2")
def quotient_of_roots_minus_one(x, y):
    """How far a quotient of two roots is from one."""
    return np.sqrt(x) / np.sqrt(y) - 1, power_difference(x, y, 0.5, x - y) / np.sqrt(y)


@relation(source="Hamming, NMSE (1973), section 3.3")
def share_of_rest_plus_one(x, z):
    """What is divided by the rest, plus one, is the whole over the rest."""
    return x / (z - x) + 1, z / (z - x)


@relation(source="Hamming, NMSE (1973), section 3.3")
def relative_difference_of_summands(x, y, z):
    """How far a quotient of two sums that have something in common is from one, where it is split."""
    return x / (x + z) + y / (x + z) - 1, (y - z) / (x + z)
