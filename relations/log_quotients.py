"""Logarithms of quotients that are one at zero."""

import numpy as np

from relgrad.ops import (
    exprel_n,
    log_exprel,
)
from relgrad.relation import relation


@relation(source="log((eˣ - 1)/x), about x/2")
def log_of_relative_exponential(x):
    """The log of (eˣ - 1)/x, which is one at zero and may overflow."""
    return np.log(exprel_n(x, 0)), log_exprel(x)
