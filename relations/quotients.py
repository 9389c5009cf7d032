"""Quotients and differences that have a removable singularity at zero, continued to zero."""

import numpy as np

from relgrad.ops import (
    arcsinc_n,
    arcsinhc_n,
    arctanc_n,
    arctanhc_n,
    cos_difference,
    cosc_n,
    coshc_n,
    coshm1,
    cot_gap_n,
    coth_gap_n,
    csc2_gap_n,
    csc_gap_n,
    j1_n,
    j1c_n,
    sin_difference,
    sin_minus_xcos,
    sinc3_n,
    sinc_gap_n,
    sinc_n,
    sinh_minus_x,
    sinhc3_n,
    sinhc_n,
    sintan_n,
    tan_difference,
    tan_minus_x,
    tanc3_n,
    tanc_n,
    tanhc3_n,
    tanhc_n,
    versin,
    x_minus_sin,
    x_minus_tanh,
    xcot_n,
    xcoth_n,
    xcsc_n,
    xcsch_n,
)
from relgrad.relation import relation


@relation(source="NIST DLMF 4.19.1")
def relative_sine(x):
    """sin(x)/x, continued to one at zero."""
    return np.sin(x) / x, sinc_n(x, 0)


@relation(source="Hamming, NMSE (1973), problem 3.4.1")
def relative_versine(x):
    """(1 - cos x)/x², continued to one half at zero."""
    return versin(x) / x**2, cosc_n(x, 0)


@relation(source="NIST DLMF 4.19.1; the kernel of Dirichlet, spherical linear interpolation")
def ratio_of_sines(x, w):
    """The ratio of two sines, the argument of one a multiple of that of the other."""
    return np.sin(x) / np.sin(w * x), sinc_n(x, 0) / (w * sinc_n(w * x, 0))


@relation(source="NIST DLMF 4.19.2; the rotation formula of Rodrigues")
def versine_of_length_over_its_square(x, axis):
    """(1 - cos r)/r², where r is the length of a vector."""
    r = np.linalg.norm(x, axis=axis, keepdims=True)
    return versin(r) / np.sum(x * x, axis=axis, keepdims=True), cosc_n(r, 0)


@relation(source="NIST DLMF 4.19.3")
def relative_tangent(x):
    """tan(x)/x, continued to one at zero."""
    return np.tan(x) / x, tanc_n(x, 0)


@relation(source="NIST DLMF 4.24.3")
def relative_arctangent(x):
    """arctan(x)/x, continued to one at zero."""
    return np.arctan(x) / x, arctanc_n(x, 0)


@relation(source="NIST DLMF 4.24.1")
def relative_arcsine(x):
    """arcsin(x)/x, continued to one at zero."""
    return np.arcsin(x) / x, arcsinc_n(x, 0)


@relation(source="NIST DLMF 4.19.4")
def reciprocal_of_relative_sine(x):
    """x/sin x, continued to one at zero."""
    return 1 / sinc_n(x, 0), xcsc_n(x, 0)


@relation(source="NIST DLMF 4.19.6")
def reciprocal_of_relative_tangent(x):
    """x/tan x, continued to one at zero."""
    return 1 / tanc_n(x, 0), xcot_n(x, 0)


@relation(source="NIST DLMF 4.19.6; Hamming, NMSE (1973), example 3.9")
def reciprocal_minus_cotangent(x):
    """1/x - 1/tan x, continued to zero at zero."""
    return 1 / x - 1 / np.tan(x), cot_gap_n(x, 0)


@relation(source="NIST DLMF 4.19.6; Hamming, NMSE (1973), example 3.9")
def reciprocal_minus_quotient_of_cosine(x):
    """1/x - cos x/sin x, continued to zero at zero."""
    return 1 / x - np.cos(x) / np.sin(x), cot_gap_n(x, 0)


@relation(source="NIST DLMF 4.19.4")
def cosecant_minus_reciprocal(x):
    """1/sin x - 1/x, continued to zero at zero."""
    return 1 / np.sin(x) - 1 / x, csc_gap_n(x, 0)


@relation(source="NIST DLMF 4.19.1")
def relative_argument_minus_sine(x):
    """(x - sin x)/x³, continued to one sixth at zero."""
    return x_minus_sin(x) / x**3, sinc3_n(x, 0)


@relation(source="NIST DLMF 4.19.3")
def relative_tangent_minus_argument(x):
    """(tan x - x)/x³, continued to one third at zero."""
    return tan_minus_x(x) / x**3, tanc3_n(x, 0)


@relation(source="Hamming, NMSE (1973), problem 3.4.5")
def sine_gap_over_tangent_gap(x):
    """(x - sin x)/(x - tan x), continued to minus one half at zero."""
    return x_minus_sin(x) / tan_minus_x(x), -sintan_n(x, 0)


@relation(source="NIST DLMF 4.19.1")
def one_minus_relative_sine(x):
    """1 - sin(x)/x, which vanishes at zero."""
    return 1 - sinc_n(x, 0), sinc_gap_n(x, 0)


@relation(source="NIST DLMF 10.49.3: the spherical Bessel function j₁")
def relative_sine_minus_cosine(x):
    """sin(x)/x - cos x."""
    return sinc_n(x, 0) - np.cos(x), x * j1_n(x, 0)


@relation(source="NIST DLMF 10.49.3: the spherical Bessel function j₁")
def spherical_bessel(x):
    """(sin x - x·cos x)/x², continued to zero at zero."""
    return sin_minus_xcos(x) / x**2, j1_n(x, 0)


@relation(source="NIST DLMF 10.49.3: the form factor of a sphere")
def form_factor_of_sphere(x):
    """(sin x - x·cos x)/x³, continued to one third at zero."""
    return sin_minus_xcos(x) / x**3, j1c_n(x, 0)


@relation(source="NIST DLMF 10.49.3: the form factor of a sphere")
def spherical_bessel_over_argument(x):
    """(sin x - x·cos x)/x³, continued to one third at zero, where it is divided by x last."""
    return j1_n(x, 0) / x, j1c_n(x, 0)


@relation(source="NIST DLMF 4.19.4")
def square_of_cosecant_minus_square_of_reciprocal(x):
    """1/sin²x - 1/x², continued to one third at zero."""
    return 1 / np.sin(x) ** 2 - 1 / x**2, csc2_gap_n(x, 0)


@relation(source="NIST DLMF 4.21.7")
def difference_quotient_of_sine(x, y, z):
    """The difference quotient of a sine."""
    return sin_difference(x, y, z) / z, np.cos(y + z / 2) * sinc_n(z / 2, 0)


@relation(source="NIST DLMF 4.21.9")
def difference_quotient_of_cosine(x, y, z):
    """The difference quotient of a cosine."""
    return cos_difference(x, y, z) / z, -np.sin(y + z / 2) * sinc_n(z / 2, 0)


@relation(source="NIST DLMF 4.21.10")
def difference_quotient_of_tangent(x, y, z):
    """The difference quotient of a tangent."""
    return tan_difference(x, y, z) / z, sinc_n(z, 0) / (np.cos(y + z) * np.cos(y))


@relation(source="NIST DLMF 4.33.1")
def relative_hyperbolic_sine(x):
    """sinh(x)/x, continued to one at zero."""
    return np.sinh(x) / x, sinhc_n(x, 0)


@relation(source="NIST DLMF 4.33.1")
def reciprocal_of_relative_hyperbolic_sine(x):
    """x/sinh x, continued to one at zero."""
    return 1 / sinhc_n(x, 0), xcsch_n(x, 0)


@relation(source="NIST DLMF 4.33.3")
def relative_hyperbolic_tangent(x):
    """tanh(x)/x, continued to one at zero."""
    return np.tanh(x) / x, tanhc_n(x, 0)


@relation(source="NIST DLMF 4.33.3")
def reciprocal_of_relative_hyperbolic_tangent(x):
    """x/tanh x, continued to one at zero."""
    return 1 / tanhc_n(x, 0), xcoth_n(x, 0)


@relation(source="NIST DLMF 4.33.2")
def relative_hyperbolic_cosine_minus_one(x):
    """(cosh x - 1)/x², continued to one half at zero."""
    return coshm1(x) / x**2, coshc_n(x, 0)


@relation(source="NIST DLMF 4.38.1")
def relative_inverse_hyperbolic_sine(x):
    """arcsinh(x)/x, continued to one at zero."""
    return np.arcsinh(x) / x, arcsinhc_n(x, 0)


@relation(source="NIST DLMF 4.38.5")
def relative_inverse_hyperbolic_tangent(x):
    """arctanh(x)/x, continued to one at zero."""
    return np.arctanh(x) / x, arctanhc_n(x, 0)


@relation(source="the Langevin function")
def hyperbolic_cotangent_minus_reciprocal(x):
    """coth x - 1/x, continued to zero at zero."""
    return 1 / np.tanh(x) - 1 / x, coth_gap_n(x, 0)


@relation(source="the Langevin function")
def quotient_of_hyperbolic_cosine_minus_reciprocal(x):
    """cosh x/sinh x - 1/x, continued to zero at zero."""
    return np.cosh(x) / np.sinh(x) - 1 / x, coth_gap_n(x, 0)


@relation(source="NIST DLMF 4.33.1")
def relative_hyperbolic_sine_minus_argument(x):
    """(sinh x - x)/x³, continued to one sixth at zero."""
    return sinh_minus_x(x) / x**3, sinhc3_n(x, 0)


@relation(source="NIST DLMF 4.33.3")
def relative_argument_minus_hyperbolic_tangent(x):
    """(x - tanh x)/x³, continued to one third at zero."""
    return x_minus_tanh(x) / x**3, tanhc3_n(x, 0)


@relation(source="NIST DLMF 4.19.1")
def relative_sine_gap_over_square(x):
    """(x - sin x)/x³, continued to one sixth at zero, where it is divided by x first."""
    return sinc_gap_n(x, 0) / x**2, sinc3_n(x, 0)


@relation(source="NIST DLMF 4.19.3")
def relative_tangent_minus_one_over_square(x):
    """(tan x - x)/x³, continued to one third at zero, where it is divided by x first."""
    return tanc_n(x, 0) / x**2 - 1 / x**2, tanc3_n(x, 0)


@relation(source="NIST DLMF 4.33.1")
def relative_hyperbolic_sine_minus_one_over_square(x):
    """(sinh x - x)/x³, continued to one sixth at zero, where it is divided by x first."""
    return sinhc_n(x, 0) / x**2 - 1 / x**2, sinhc3_n(x, 0)


@relation(source="NIST DLMF 4.33.3")
def one_minus_relative_hyperbolic_tangent_over_square(x):
    """(x - tanh x)/x³, continued to one third at zero, where it is divided by x first."""
    return 1 / x**2 - tanhc_n(x, 0) / x**2, tanhc3_n(x, 0)


@relation(source="NIST DLMF 4.19.3")
def relative_tangent_minus_one_divided(x):
    """(tan x - x)/x³, continued to one third at zero, where it is divided by x first."""
    return (tanc_n(x, 0) - 1) / x**2, tanc3_n(x, 0)


@relation(source="NIST DLMF 4.33.1")
def relative_hyperbolic_sine_minus_one_divided(x):
    """(sinh x - x)/x³, continued to one sixth at zero, where it is divided by x first."""
    return (sinhc_n(x, 0) - 1) / x**2, sinhc3_n(x, 0)


@relation(source="NIST DLMF 4.33.3")
def one_minus_relative_hyperbolic_tangent_divided(x):
    """(x - tanh x)/x³, continued to one third at zero, where it is divided by x first."""
    return (1 - tanhc_n(x, 0)) / x**2, tanhc3_n(x, 0)
