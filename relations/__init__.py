"""The library of relations, one topic per module; a value that callers pass on, extend and restrict."""

from relgrad.relations import (  # pyright: ignore[reportMissingImports]  # from relations/, see pyproject
    exponential,
    hyperbolic,
    limits,
    log_domain,
    logarithm,
    logistic,
    moments,
    norms,
    powers,
    softmax,
    trigonometric,
)

from relgrad.relation import Library

LIBRARY = Library.of(
    exponential,
    hyperbolic,
    limits,
    log_domain,
    logarithm,
    logistic,
    moments,
    norms,
    powers,
    softmax,
    trigonometric,
)
"""All relations of this package."""
