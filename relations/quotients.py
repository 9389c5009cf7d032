"""Quotients and differences that have a removable singularity at zero, continued to zero."""

import numpy as np

from relgrad.ops import (
    sinc_n,
)
from relgrad.relation import relation


@relation(source="NIST DLMF 4.19.1")
def relative_sine(x):
    """sin(x)/x, continued to one at zero."""
    return np.sin(x) / x, sinc_n(x, 0)


@relation(source="NIST DLMF 4.19.1; the kernel of Dirichlet, spherical linear interpolation")
def ratio_of_sines(x, w):
    """The ratio of two sines, the argument of one a multiple of that of the other."""
    return np.sin(x) / np.sin(w * x), sinc_n(x, 0) / (w * sinc_n(w * x, 0))
