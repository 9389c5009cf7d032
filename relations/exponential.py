"""Exponentials: where they meet their inverse, and where one is subtracted from another, or from its first terms."""

import numpy as np

from relgrad.ops import (
    bernoulli_n,
    bose,
    bose_difference,
    bose_gap_n,
    coshm1,
    exp_difference,
    expm1_minus_square,
    expm1_minus_x,
    exprel2_n,
    exprel_n,
    log1mexp,
    log_exp_difference,
    logdiffexp,
    power1pm1,
    xcsch_n,
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


@relation(source="definition of log1p")
def expm1_of_log1p(x):
    """An exponential of log(1 + x), less one, is x."""
    return np.expm1(np.log1p(x)), x, positive(1 + x)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def relative_exponential(x):
    """(eˣ - 1)/x, continued to one at zero."""
    return np.expm1(x) / x, exprel_n(x, 0)


@relation(source="NIST DLMF 24.2.1")
def reciprocal_of_relative_exponential(x):
    """x/(eˣ - 1), the generating function of Bernoulli numbers."""
    return 1 / exprel_n(x, 0), bernoulli_n(x, 0)


@relation(source="Hamming, NMSE (1973), section 3.11")
def exponential_over_expm1(x):
    """An exponential over itself less one."""
    return np.exp(x) / np.expm1(x), -bose(-x)


@relation(source="e⁻ˣ·(eˣ - 1) = 1 - e⁻ˣ")
def expm1_over_exponential(x):
    """An exponential less one, over the exponential."""
    return -np.exp(-x) * np.expm1(x), np.expm1(-x)


@relation(source="eˣ/(eˣ - 1) - 1 = 1/(eˣ - 1)")
def negated_bose_of_negated_minus_one(x):
    """Bose functions of opposite arguments add up to minus one."""
    return -bose(-x) - 1, bose(x)


@relation(source="Hamming, NMSE (1973), problem 3.4.4: e²ˣ - 1 = (eˣ - 1)(eˣ + 1)")
def expm1_of_double(x):
    """e²ˣ - 1 over eˣ - 1."""
    return np.expm1(2 * x) / np.expm1(x), 1 + np.exp(x)


@relation(source="Hamming, NMSE (1973), section 3.3")
def difference_of_exponentials(x, y):
    """The difference of two exponentials, from that of the exponents."""
    return np.exp(x) - np.exp(y), exp_difference(x, y, x - y)


@relation(source="eˣ - 1 - (eʸ - 1) = eˣ - eʸ")
def difference_of_expm1(x, y):
    """The difference of two exponentials less one."""
    return np.expm1(x) - np.expm1(y), exp_difference(x, y, x - y)


@relation(source="Maechler 2012, eq. 7")
def log_of_exponential_difference(x, y, z):
    """The log of the difference of two exponentials, for x > y."""
    return np.log(exp_difference(x, y, z)), log_exp_difference(x, y, z)


@relation(source="Maechler 2012, eq. 7")
def log_of_negated_exponential_difference(x, y, z):
    """The log of the difference of two exponentials, for x < y."""
    return np.log(-exp_difference(x, y, z)), y + log1mexp(z)


@relation(source="Taylor's theorem; NIST DLMF 4.2.19")
def expm1_minus_argument(x):
    """An exponential less its first two terms."""
    return np.expm1(x) - x, expm1_minus_x(x)


@relation(source="Taylor's theorem; NIST DLMF 4.2.19")
def second_relative_exponential(x):
    """(eˣ - 1 - x)/x², continued to one half at zero."""
    return expm1_minus_x(x) / x**2, exprel2_n(x, 0)


@relation(source="NIST DLMF 24.2.1")
def reciprocal_minus_bose(x):
    """1/x - 1/(eˣ - 1), continued to one half at zero."""
    return 1 / x - 1 / np.expm1(x), bose_gap_n(x, 0)


@relation(source="NIST DLMF 24.2.1")
def reciprocal_minus_bose_function(x):
    """1/x less a Bose function, continued to one half at zero."""
    return 1 / x - bose(x), bose_gap_n(x, 0)


@relation(source="NIST DLMF 24.2.1")
def argument_times_bose(x):
    """x/(eˣ - 1), the generating function of Bernoulli numbers, however it is written."""
    return x * bose(x), bernoulli_n(x, 0)


@relation(source="NIST DLMF 24.2.1")
def one_minus_bernoulli(x):
    """1 - x/(eˣ - 1), which vanishes at zero."""
    return 1 - bernoulli_n(x, 0), x * bose_gap_n(x, 0)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def difference_quotient_of_exponential(x, y, z):
    """The difference quotient of an exponential, from the larger of two."""
    return (
        exp_difference(x, y, z) / z,
        np.where(z > 0, np.exp(y + z) * exprel_n(-z, 0), np.exp(y) * exprel_n(z, 0)),
    )


@relation(
    source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1; the Bateman function"
)
def difference_of_exponentials_over_difference_of_rates(x, y, z, w):
    """The difference of two exponentials, over that of their rates."""
    return exp_difference(x, y, w * z) / z, w * np.exp(y) * exprel_n(w * z, 0), unknown(z)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def ratio_of_expm1(x, w):
    """The ratio of two exponentials less one, the argument of one a multiple of that of the other."""
    return np.expm1(x) / np.expm1(w * x), exprel_n(x, 0) / (w * exprel_n(w * x, 0))


@relation(source="definition of the sign")
def sign_of_positive(x):
    """The sign of what is positive."""
    return np.sign(x), 1, positive(x)


@relation(source="Taylor's theorem; NIST DLMF 4.2.19")
def relative_exponential_minus_reciprocal(x):
    """(eˣ - 1 - x)/x², continued to one half at zero, where it is divided by x first."""
    return exprel_n(x, 0) / x - 1 / x, exprel2_n(x, 0)


@relation(source="1/(eˣ - 1) - 1/(eʸ - 1) = (eˣ⁻ʸ - 1)/((eˣ - 1)·(e⁻ʸ - 1))")
def difference_of_bose(x, y):
    """The difference of two Bose functions, from that of their arguments."""
    return bose(x) - bose(y), bose_difference(x, y, x - y)


@relation(source="Hamming, NMSE (1973), problem 3.4.2")
def expm1_of_sum_over_product(x, y):
    """An exponential less one, over those of the parts of its exponent."""
    return np.expm1(x + y) / (np.expm1(x) * np.expm1(y)), bose_difference(x, -y, x + y)


@relation(source="Taylor's theorem; the Bregman divergence of the exponential")
def difference_of_exponentials_minus_tangent(x, y, z):
    """The difference of two exponentials less its first term."""
    return exp_difference(x, y, z) - z * np.exp(y), np.exp(y) * expm1_minus_x(z)


@relation(source="Maechler 2012, eq. 7, for y = 0")
def log_of_expm1(x):
    """The log of an exponential less one, for x > 0: the inverse of a softplus."""
    return np.log(np.expm1(x)), logdiffexp(x, 0)


@relation(source="(eˣ - 1)/x with a scale")
def relative_exponential_of_multiple(x, w):
    """(e^wx - 1)/x, continued to w at zero."""
    return np.expm1(w * x) / x, w * exprel_n(w * x, 0), unknown(x)


@relation(source="NIST DLMF 24.2.1, with a scale")
def argument_times_bose_of_multiple(x, w):
    """x/(e^wx - 1), continued to 1/w at zero, however it is written."""
    return x * bose(w * x), bernoulli_n(w * x, 0) / w, unknown(x)


@relation(source="NIST DLMF 24.2.1, with a scale")
def argument_times_bose_of_quotient(x, w):
    """x/(e^(x/w) - 1), continued to w at zero, however it is written."""
    return x * bose(x / w), w * bernoulli_n(x / w, 0), unknown(x)


@relation(source="(eˣ - 1)/x - 1 = x·(eˣ - 1 - x)/x²")
def relative_exponential_minus_one(x):
    """(eˣ - 1)/x less its value at zero."""
    return exprel_n(x, 0) - 1, x * exprel2_n(x, 0)


@relation(source="derivative of (eˣ - 1)/x")
def relative_exponential_minus_exponential(x):
    """(eˣ - 1)/x less eˣ."""
    return exprel_n(x, 0) - np.exp(x), -x * exprel_n(x, 1)


@relation(source="derivative of (eˣ - 1)/x")
def argument_times_exponential_minus_expm1(x):
    """x·eˣ less eˣ - 1, about x²/2."""
    return x * np.exp(x) - np.expm1(x), x**2 * exprel_n(x, 1)


@relation(source="Taylor's theorem; NIST DLMF 4.2.19")
def expm1_minus_two_terms(x):
    """An exponential less its first three terms."""
    return expm1_minus_x(x) - x**2 / 2, expm1_minus_square(x)


@relation(source="functional equation of the exponential")
def expm1_of_multiple_of_log1p(x, a):
    """(1 + x)ᵃ - 1, written with exponential and logarithm."""
    return np.expm1(a * np.log1p(x)), power1pm1(x, a)


@relation(source="eˣ⁺ʸ - 2eˣ + eˣ⁻ʸ = 2eˣ(cosh y - 1)")
def second_difference_of_exponential(x, y):
    """The second difference of an exponential."""
    return np.exp(x + y) - 2 * np.exp(x) + np.exp(x - y), 2 * np.exp(x) * coshm1(y)


@relation(source="x²·eˣ/(eˣ - 1)² = (x/2)²/sinh²(x/2); the heat capacity of an oscillator, Einstein 1907")
def product_of_opposite_bernoulli(x):
    """The product of x/(eˣ - 1) and its mirror image, which is even."""
    return bernoulli_n(x, 0) * bernoulli_n(-x, 0), xcsch_n(x / 2, 0) ** 2


@relation(source="Taylor's theorem; NIST DLMF 4.2.19")
def relative_expm1_minus_argument(x):
    """(eˣ - 1 - x)/x, whose numerator may underflow."""
    return expm1_minus_x(x) / x, x * exprel2_n(x, 0)


@relation(source="NIST DLMF 24.2.1")
def reciprocal_of_expm1(x):
    """The reciprocal of an exponential less one is a Bose function."""
    return 1 / np.expm1(x), bose(x)


@relation(source="NIST DLMF 24.2.1")
def reciprocal_of_bose(x):
    """The reciprocal of a Bose function is an exponential less one."""
    return 1 / bose(x), np.expm1(x)
