"""Circular functions: differences of two values, distances from values at zero and at quarters of a turn."""

import numpy as np

from relgrad.ops import (
    leg,
    versin,
)
from relgrad.relation import relation


@relation(source="NIST DLMF 4.21.27; Hamming, NMSE (1973), problem 3.4.1")
def one_minus_cosine(x):
    """One less a cosine is a versine."""
    return 1 - np.cos(x), versin(x)


@relation(source="NIST DLMF 4.16.3")
def cosine_of_arctangent(x):
    """The cosine of the angle with a tangent, which is large where the cosine vanishes."""
    return np.cos(np.arctan(x)), 1 / np.hypot(1, x)


@relation(source="NIST DLMF 4.16.3")
def sine_of_arccosine(x):
    """The sine of the angle with a cosine."""
    return np.sin(np.arccos(x)), leg(1, x, 1 - x)


@relation(source="NIST DLMF 4.16.3")
def cosine_of_arcsine(x):
    """The cosine of the angle with a sine."""
    return np.cos(np.arcsin(x)), leg(1, x, 1 - x)


@relation(source="NIST DLMF 4.16.3")
def tangent_of_arccosine(x):
    """The tangent of the angle with a cosine, which is infinite where that is zero."""
    return np.tan(np.arccos(x)), leg(1, x, 1 - x) / x


def _haversines(x, y, z):
    """Return the haversine between two places at latitudes x and y, z apart in longitude, and what it leaves of one."""
    product = np.cos(x) * np.cos(y)
    near = np.sin((x - y) / 2) ** 2 + product * np.sin(z / 2) ** 2
    return near, np.sin((x + y) / 2) ** 2 + product * np.cos(z / 2) ** 2


@relation(source="Sinnott 1984, Virtues of the haversine")
def angle_between_places(x, y, z):
    """The angle between two places, by haversines."""
    near, far = _haversines(x, y, z)
    cosine = np.sin(x) * np.sin(y) + np.cos(x) * np.cos(y) * np.cos(z)
    return np.arccos(cosine), 2 * np.arctan2(np.sqrt(near), np.sqrt(far))


@relation(source="Sinnott 1984, Virtues of the haversine")
def angle_from_haversine(x, y, z):
    """Half of the angle between two places, which may be opposite to each other."""
    near, far = _haversines(x, y, z)
    return np.arcsin(np.sqrt(near)), np.arctan2(np.sqrt(near), np.sqrt(far))


@relation(source="Sinnott 1984, Virtues of the haversine")
def one_minus_haversine(x, y, z):
    """What is left between two places that are nearly opposite to each other."""
    near, far = _haversines(x, y, z)
    return 1 - near, far


@relation(source="NIST DLMF 4.21.28")
def multiple_of_cosine_minus_its_size(x, y):
    """How far a multiple of a cosine is below the largest, as in the exponent of a density on the circle."""
    above, below = np.abs(y) + y, np.abs(y) - y
    return y * np.cos(x) - np.abs(y), -above * np.sin(x / 2) ** 2 - below * np.cos(x / 2) ** 2


@relation(source="NIST DLMF 4.21.9")
def second_difference_of_cosine(x, y):
    """The second difference of a cosine."""
    return np.cos(x + y) - 2 * np.cos(x) + np.cos(x - y), -2 * np.cos(x) * versin(y)


@relation(source="NIST DLMF 4.21.7")
def second_difference_of_sine(x, y):
    """The second difference of a sine."""
    return np.sin(x + y) - 2 * np.sin(x) + np.sin(x - y), -2 * np.sin(x) * versin(y)


@relation(source="NIST DLMF 4.16.3")
def arccosine_of_cosine(x):
    """The size of an angle, whole turns left out: a small one has lost its digits in the cosine."""
    return np.arccos(np.cos(x)), np.abs(np.arctan2(np.sin(x), np.cos(x)))
