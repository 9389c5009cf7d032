"""Powers and roots: differences of two of them, roots of quadratic equations, compound interest."""

import numpy as np

from relgrad.ops import (
    boxcox,
    leg,
    power1p,
    power_difference,
    quadratic_root,
)
from relgrad.relation import (
    exact_at_minus_one,
    maybe_large,
    relation,
    unknown,
    unlike_exponentials,
)


@relation(source="Hamming, NMSE (1973), section 3.3")
def difference_of_squares(x, y):
    """The difference of two squares, or of a square and a part of another."""
    return x**2 - y**2, power_difference(x, y, 2, x - y), unlike_exponentials(x, y)


@relation(source="Hamming, NMSE (1973), section 3.3")
def power_minus_one(x, a):
    """A power less one, from its base less one."""
    return np.power(x, a) - 1, power_difference(x, 1, a, x - 1), unlike_exponentials(x)


@relation(source="Forsythe 1966, How do you solve a quadratic equation?")
def root_minus_what_it_is_near(x, y):
    """The root of a square and something else, less what is squared, is a root of a quadratic equation."""
    return np.sqrt(x + y * y) - y, quadratic_root(1, y, x)


@relation(source="Forsythe 1966, How do you solve a quadratic equation?")
def root_plus_what_it_is_near(x, y):
    """The root of a square and something else, plus what is squared, is a root of a quadratic equation."""
    return np.sqrt(x + y * y) + y, quadratic_root(1, -y, x)


@relation(source="Forsythe 1966, How do you solve a quadratic equation?")
def quotient_of_quadratic_root(w, x, y):
    """The root of r² + 2·y·r = w·x over w is that of w·r² + 2·y·r = x."""
    return quadratic_root(1, y, w * x) / w, quadratic_root(w, y, x)


@relation(source="Hamming, NMSE (1973), section 3.2")
def difference_quotient_of_square(x, y, z):
    """The difference quotient of a square."""
    return power_difference(x, y, 2, z) / z, y + (y + z)


@relation(source="Goldberg 1991, What every computer scientist should know, section 1.4")
def power_of_one_plus(x, a):
    """A high power of one plus something, which may be tiny."""
    return np.power(1 + x, a), power1p(x, a), maybe_large(a), exact_at_minus_one(x)


@relation(source="(1 - x)/x = 1/x - 1")
def reciprocal_of_leg_less_one(x, y, d, z):
    """The reciprocal of a leg less one, as in a Lorentz factor, over what it vanishes with."""
    return power_difference(leg(x, y, d), 1, -1, z), -z / (1 + z)


@relation(source="Box & Cox 1964, eq. 1")
def transformation_of_box_and_cox(x, z, a):
    """(xᵃ - 1)/a, continued to log x at a = 0."""
    return power_difference(x, 1, a, z) / a, boxcox(x, a, z), unknown(a)
