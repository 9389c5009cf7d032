"""A leaf that stands for an array whose entries lie in an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.op import Op
from relgrad.term import Term, term
from relgrad.types import ArrayType, Interval, Type, array_type


class Restricted(Op):
    """A leaf that stands for an array whose entries lie in an interval."""

    __props__ = ("label", "array", "interval")

    def __init__(self, label: str, array: ArrayType, interval: Interval):
        self.label, self.array, self.interval = label, array, interval

    @property
    def name(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return self.label

    __str__ = __repr__

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return self.array

    def make_node(self, *inputs: Any) -> Term:
        return term(self)

    def range_of(self, *ranges: Interval) -> Interval:
        return self.interval


def leaf(label: str, shape: tuple[int, ...], interval: Interval) -> Term:
    """Return a leaf of float64 with a label, a shape, and an interval in which its entries lie."""
    return term(Restricted(label, array_type(np.float64, shape), interval))
