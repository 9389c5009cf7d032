"""The library of relations, one topic per module; a value that callers pass on, extend and restrict."""

from relgrad.relations import (  # pyright: ignore[reportMissingImports]  # from relations/, see pyproject
    densities,
    entropy,
    exponential,
    hyperbolic,
    limits,
    linear_algebra,
    log_domain,
    log_quotients,
    logarithm,
    logistic,
    masking,
    means,
    moments,
    norms,
    powers,
    quotients,
    softmax,
    tails,
    triangles,
    trigonometric,
)

from relgrad.relation import Library

LIBRARY = Library.of(
    densities,
    entropy,
    exponential,
    hyperbolic,
    limits,
    linear_algebra,
    log_domain,
    log_quotients,
    logarithm,
    logistic,
    masking,
    means,
    moments,
    norms,
    powers,
    quotients,
    softmax,
    tails,
    triangles,
    trigonometric,
)
"""All relations of this package."""
