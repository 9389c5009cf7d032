"""Inputs to measure with: floats drawn evenly over their representation, and numbers as they occur in practice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgrad.types import REAL, Interval


@dataclass(frozen=True)
class Floats:
    """A sampler of arrays whose entries are drawn evenly among the floats from `low` to `high`.

    Each power of two is then as likely as any other: tiny, moderate and huge numbers all occur.

    >>> Floats(1.0, 1e300)(np.random.default_rng(0)) > 0
    np.True_
    """

    low: float = -float(np.finfo(np.float64).max)
    high: float = float(np.finfo(np.float64).max)
    shape: tuple[int, ...] = ()
    dtype: Any = np.float64

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"no float lies between {self.low} and {self.high}")

    def __call__(self, rng: np.random.Generator) -> Any:
        low, high = (int(_ordinal(np.asarray(v, self.dtype))) for v in (self.low, self.high))
        return _from_ordinal(rng.integers(low, high, self.shape, endpoint=True), np.dtype(self.dtype))[()]


def floats(
    low: float = Floats.low,
    high: float = Floats.high,
    shape: int | Sequence[int] = (),
    dtype: Any = np.float64,
) -> Floats:
    """Return a sampler of arrays with entries drawn evenly among the floats between two.

    Raises ValueError where low > high.
    """
    return Floats(low, high, (shape,) if isinstance(shape, int) else tuple(shape), dtype)


def _ordinal(x: Any) -> Any:
    """Number the floats in their order, 0 for zero."""
    bits = np.asarray(x).view(f"i{x.dtype.itemsize}").astype(np.int64)
    return np.where(bits < 0, -(bits & ((1 << (8 * x.dtype.itemsize - 1)) - 1)), bits)


def _from_ordinal(n: Any, dtype: np.dtype) -> Any:
    size = np.abs(np.asarray(n)).astype(f"i{dtype.itemsize}").view(dtype)
    return np.where(np.asarray(n) < 0, -size, size).astype(dtype)


SPECIAL = np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e-8, -1e-8])
"""Numbers at which functions tend to be special."""


def practical(rng: np.random.Generator, shape: tuple[int, ...], where: Interval = REAL) -> Any:
    """[0, ∞) → 0.3, 1e-12, 4.0, …: numbers in an interval as they occur:
    moderate ones, and such of every order of magnitude.

    Along the first axis every other array is wholly moderate. A few special numbers come first.
    """
    size = math.prod(shape)
    moderate = rng.normal(scale=rng.choice([0.5, 2.0, 8.0], size), size=size)
    ordered = rng.choice([-1.0, 1.0], size) * np.exp2(rng.uniform(-60.0, 12.0, size))
    anything = Floats(shape=(size,))(rng)
    kind = rng.integers(0, 8, shape)
    kind[::2] = 0
    kind = np.ravel(kind)
    x = np.where(kind < 2, moderate, np.where(kind < 7, ordered, anything))
    x = np.reshape(_into(x, where), shape)
    special = np.array([v for v in SPECIAL if where.holds(v)])[: size // 8]
    x.flat[: len(special)] = rng.permutation(special)
    return x


def moderate(rng: np.random.Generator, shape: tuple[int, ...], where: Interval = REAL) -> Any:
    """Return numbers of size near one in an interval, at which most programs are well-conditioned."""
    return _into(np.asarray(rng.normal(scale=rng.choice([0.5, 1.0, 2.0]), size=shape)), where)


def _into(x: Any, where: Interval) -> Any:
    """(−2.0, [0, ∞)) → 2.0, (x, [0, 1]) → near either end: real numbers mapped into an interval, tails to its ends."""
    low, high = where.low, where.high
    if math.isinf(low) and math.isinf(high):
        return x
    if math.isinf(high):
        x = low + np.abs(x)
    elif math.isinf(low):
        x = high - np.abs(x)
    else:
        # Half of the numbers near either end.
        part = np.abs(x) / (1 + np.abs(x))
        x = np.where(x < 0, low + (high - low) * part, high - (high - low) * part)
    low = np.nextafter(low, math.inf) if where.open_low else low
    high = np.nextafter(high, -math.inf) if where.open_high else high
    return np.clip(x, low, high)
