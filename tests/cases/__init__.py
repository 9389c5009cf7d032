"""Computations that lose accuracy in floats as people write them, and what is true of them."""

from cases import cancellation, logarithms, logistic, sciences, softmax, vectors
from cases.case import KINDS, Case

CASES: tuple[Case, ...] = (
    *softmax.CASES,
    *logarithms.CASES,
    *logistic.CASES,
    *cancellation.CASES,
    *vectors.CASES,
    *sciences.CASES,
)
"""The whole collection."""

__all__ = ["CASES", "KINDS", "Case"]
