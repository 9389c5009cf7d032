"""Lengths of vectors and what is divided by them, at any scale; at zero, directions are zero."""

import numpy as np

from relgrad.ops import leg, unit, unit_pullback, xdivy
from relgrad.relation import direction_cosineo, relation, same_shape


@relation(source="Blue 1978, A portable Fortran program to find the Euclidean norm of a vector")
def root_of_sum_of_squares(x, axis):
    """The root of a sum of squares is a norm, which neither overflows nor underflows on the way."""
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=True)), np.linalg.norm(x, axis=axis, keepdims=True)


@relation(source="Moler & Morrison 1983, Replacing square roots by Pythagorean sums")
def root_of_two_squares(x, y):
    """The root of two squares is a hypotenuse."""
    return np.sqrt(x * x + y * y), np.hypot(x, y)


@relation(source="Moler & Morrison 1983, Replacing square roots by Pythagorean sums")
def root_of_three_squares(x, y, z):
    """The root of three squares is the hypotenuse of one and a hypotenuse."""
    return np.sqrt(x * x + y * y + z * z), np.hypot(np.hypot(x, y), z)


@relation(source="definition of a unit vector; 0 where the vector is 0")
def vector_over_norm(x, axis):
    """A vector over its norm is a unit vector."""
    return x / np.linalg.norm(x, axis=axis, keepdims=True), unit(x, axis=axis)


@relation(source="definition of the sign")
def number_over_its_size(x):
    """A number over its size is its sign, which has no slope; 0/0 is undefined."""
    return x / np.abs(x), np.where(x == 0, np.nan, np.sign(x))


@relation(source="definition of the sign")
def sign_over_size(x):
    """The slope of log|x|."""
    return np.sign(x) / np.abs(x), 1 / x


@relation(source="definition of the sign")
def sign_over_size_of_none(w, x):
    """The slope of w·log|x|, which is 0 where w is 0."""
    return np.sign(x) * xdivy(w, np.abs(x)), xdivy(w, x)


def _across_and_along(x, y, axis):
    """Return what a vector has across another, and along it, times the length of that; a zero is across all."""
    across = np.linalg.norm(unit_pullback(x, y, axis=axis), axis=axis, keepdims=True)
    along = np.sum(unit(x, axis=axis) * y, axis=axis, keepdims=True)
    across = across * np.linalg.norm(x, axis=axis, keepdims=True)
    vanishes = np.logical_and(across == 0, along == 0)
    return np.where(vanishes, 1.0, across), np.where(vanishes, 0.0, along)


def _cosine(x, y, axis):
    return np.sum(unit(x, axis=axis) * unit(y, axis=axis), axis=axis, keepdims=True)


@relation(source="Kahan 2006, How futile are mindless assessments of roundoff, section 13")
def angle_of_vectors(x, y, axis):
    """The angle between two vectors, from what one has across and along the other."""
    across, along = _across_and_along(x, y, axis)
    return np.arccos(_cosine(x, y, axis)), np.arctan2(across, along), same_shape(x, y)


@relation(source="Kahan 2006, How futile are mindless assessments of roundoff, section 13")
def angle_of_lines(x, y, axis):
    """The angle between two lines, of which vectors point along either way."""
    across, along = _across_and_along(x, y, axis)
    return np.arccos(np.abs(_cosine(x, y, axis))), np.arctan2(across, np.abs(along)), same_shape(x, y)


@relation(source="Kahan 2006, How futile are mindless assessments of roundoff, section 13")
def angle_from_axis(u, x, y):
    """The angle between a vector and an axis, from what lies along the axis and across it."""
    return np.arccos(u), np.arctan2(y, x), direction_cosineo(u, x, y)


@relation(source="Kahan 2006, How futile are mindless assessments of roundoff, section 13")
def elevation_of_vector(u, x, y):
    """The angle between a vector and what is across an axis."""
    return np.arcsin(u), np.arctan2(x, y), direction_cosineo(u, x, y)


@relation(source="p = m·sinh w, E = m·cosh w; Einstein 1905")
def rapidity_of_vector(u, x, y):
    """The rapidity of a momentum, from that and the mass."""
    return np.arctanh(u), np.arcsinh(x / y), direction_cosineo(u, x, y)


@relation(source="sin²t = 1 - cos²t")
def sine_of_angle_from_axis(u, x, y, z):
    """The sine of the angle between a vector and an axis."""
    return leg(1, u, z), y / np.hypot(x, y), direction_cosineo(u, x, y)


@relation(source="P(x + z) = P·z for a projection with P·x = 0")
def turn_by_a_sum_with_itself(x, z, axis):
    """What lies along a vector does not turn it."""
    return unit_pullback(x, x + z, axis=axis), unit_pullback(x, z, axis=axis), same_shape(x, z)
