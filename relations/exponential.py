"""Exponentials: where they meet their inverse, and where one is subtracted from its value at zero."""

import numpy as np

from relgrad.ops import exprel_n
from relgrad.relation import positive, relation


@relation(source="definition of the logarithm")
def exponential_of_logarithm(x):
    """The exponential of a logarithm is its argument."""
    return np.exp(np.log(x)), x, positive(x)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def exponential_minus_one(x):
    """An exponential less one, without the cancellation at zero."""
    return np.exp(x) - 1, np.expm1(x)


@relation(source="Higham, Accuracy and Stability of Numerical Algorithms (2002), section 1.14.1")
def relative_exponential(x):
    """(eˣ - 1)/x, continued to one at zero."""
    return np.expm1(x) / x, exprel_n(x, 0)
