"""How far quotients are from one, where what is divided and what it is divided by have something in common."""

from relgrad.ops import power_difference, ratio_minus_one
from relgrad.relation import additive, relation


@relation(source="Hamming, NMSE (1973), section 3.3: x² - y² = (x - y)(x + y)")
def quotient_of_squares_minus_one(x, y):
    """How far a quotient of squares is from one, as under the root of an eccentricity or a Lorentz factor."""
    return x**2 / y**2 - 1, power_difference(x / y, 1, 2, ratio_minus_one(x, y, x - y)), additive(x, y)
