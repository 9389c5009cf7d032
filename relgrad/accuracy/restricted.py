"""A leaf that stands for an array whose entries lie in an interval."""

from __future__ import annotations

import numpy as np

from relgrad.leaf import Leaf
from relgrad.term import Term, term
from relgrad.types import Interval, array_type


class Restricted(Leaf):
    """A leaf that stands for an array whose entries lie in an interval."""

    __props__ = ("label", "array", "range")


def leaf(label: str, shape: tuple[int, ...], interval: Interval) -> Term:
    """Return a leaf of float64 with a label, a shape, and an interval in which its entries lie."""
    return term(Restricted(label, array_type(np.float64, shape), interval))
