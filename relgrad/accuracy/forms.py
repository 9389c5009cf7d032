"""Expressions that stand for the variables of a row whose conditions find its right side.

Such conditions look into terms: `logarithmo` finds nothing in a bare array. So the variables are tried as
expressions of samples, and those for which the conditions find something are instances of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from relgrad.ops import expit, gamma, softmax, softmax_pullback

Form = Callable[..., Any]
"""An expression of samples of one shape; what it keeps of the shape is what a row of it is given."""

FORMS: tuple[Form, ...] = (
    lambda x: x,
    lambda x: np.exp(x),
    lambda x, w: w * np.exp(x),
    lambda x, y: np.exp(x) + np.exp(y),
    lambda x, y: np.exp(x) - np.exp(y),
    lambda x, y, w: 3 + w**2 * np.exp(x) / np.exp(y),
    lambda x: np.sqrt(np.sum(np.exp(x), axis=-1, keepdims=True)),
    lambda x: 1 / (1 + np.exp(x)),
    lambda x, w: np.where(w > 0, expit(x), np.exp(x)),
    lambda x, y: np.abs(x) ** y,
    lambda x, w: w * gamma(x),
    lambda x, y, w: w * softmax_pullback(x, softmax(y, axis=-1), axis=-1),
)
"""What is tried: exponentials and sums of them, with weights and without; what grows fast; what sums to zero."""


def forms(names: Sequence[str]) -> Iterator[dict[str, Form]]:
    """Yield each way in which forms stand for names."""
    for chosen in product(FORMS, repeat=len(names)):
        yield dict(zip(names, chosen, strict=True))
