"""Computations that lose accuracy in floats as people write them, and what is true of them."""

from cases import (
    cancellation,
    controls,
    conventions,
    densities,
    formulas,
    hyperbolic,
    likelihoods,
    logarithms,
    logistic,
    losses,
    models,
    products,
    ranges,
    sciences,
    shapes,
    softmax,
    vectors,
    wordings,
)
from cases.case import KINDS, Case

CASES: tuple[Case, ...] = (
    *softmax.CASES,
    *logarithms.CASES,
    *products.CASES,
    *logistic.CASES,
    *losses.CASES,
    *hyperbolic.CASES,
    *cancellation.CASES,
    *ranges.CASES,
    *vectors.CASES,
    *shapes.CASES,
    *densities.CASES,
    *sciences.CASES,
    *models.CASES,
    *wordings.CASES,
    *likelihoods.CASES,
    *formulas.CASES,
    *controls.CASES,
    *conventions.CASES,
)
"""The whole collection."""

__all__ = ["CASES", "KINDS", "Case"]
