"""The library of relations, one topic per module; a value that callers pass on, extend and restrict."""

from relgrad.relations import exponential, logarithm, logistic, softmax  # pyright: ignore[reportMissingImports]  # from relations/, see pyproject

from relgrad.relation import Library

LIBRARY = Library.of(exponential, logarithm, logistic, softmax)
"""All relations of this package."""
