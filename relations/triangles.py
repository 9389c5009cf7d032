"""Right triangles: a hypotenuse less a leg, a leg from a hypotenuse, and the height of an arc."""

import numpy as np

from relgrad.ops import hypot_excess, leg, power_difference, sagitta
from relgrad.relation import relation


@relation(source="Kahan 1987, Branch cuts for complex elementary functions, section 4")
def hypotenuse_minus_leg(x, y):
    """A hypotenuse less one of the legs."""
    return np.hypot(x, y) - y, hypot_excess(x, y)


@relation(source="Kahan 1987, Branch cuts for complex elementary functions, section 4")
def hypotenuse_plus_leg(x, y):
    """A hypotenuse plus one of the legs, which may be negative."""
    return np.hypot(x, y) + y, hypot_excess(x, -y)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), problem 3.8")
def root_of_difference_of_squares(x, y, z):
    """The root of a difference of squares is a leg of a right triangle."""
    return np.sqrt(power_difference(x, y, 2, z)), leg(x, y, z)


@relation(source="Hamming, NMSE (1973), section 3.2")
def hypotenuse_minus_other_leg(x, y, z):
    """A hypotenuse less a leg, from the other leg: the height of an arc."""
    return y + z - leg(x, y, z), sagitta(y + z, y)


@relation(source="Kahan 1987, Branch cuts for complex elementary functions, section 4")
def leg_over_hypotenuse_minus_one(x, y):
    """How far the cosine of an angle is from one, from the legs."""
    return x / np.hypot(x, y) - 1, -hypot_excess(y, x) / np.hypot(x, y)


@relation(
    source="Forsythe 1966, How do you solve a quadratic equation? The smaller eigenvalue of a symmetric matrix"
)
def sum_minus_hypotenuse_of_difference(x, y, z):
    """A sum less a hypotenuse of the difference, of which (x + y)² − h² = 4xy − z²."""
    both, side = x + y, np.hypot(x - y, z)
    near = 2 * both > -side
    return both - side, np.where(near, (4 * x * y - z * z) / np.where(near, both + side, 1), both - side)


@relation(source="Kahan 1987, Branch cuts for complex elementary functions, section 4")
def hypotenuse_minus_size_of_leg(x, y):
    """A hypotenuse less the length of one of the legs."""
    return np.hypot(x, y) - np.abs(y), hypot_excess(x, np.abs(y))
