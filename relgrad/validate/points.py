"""Random inputs to try a program at: moderate, generic, of the types, ranges and structure of its arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.term import Term, reachable
from relgrad.types import REAL, Interval

Values = dict[Term, Any]
"""An array for each input."""

KINDS = ("signed", "positive", "given", "unit", "signed")
"""What the entries are like, one point each: of both signs, positive, near the caller's, between 0 and 1."""
TRIES = 16
"""So many points are drawn to find one that keeps what is assumed of computed values, as x < y."""


class Sample:
    """x : (3,), given [1, 2, 3], assumed x > 0 → points:
    the inputs of a program, the caller's arrays, and the assumptions.
    """

    def __init__(
        self,
        inputs: Sequence[Term],
        given: Sequence[Any] | None = None,
        assumed: Sequence[tuple[Term, Interval]] = (),
    ):
        """inputs, given → {x: array or None}, and their ranges."""
        arrays = [None if x is None else np.asarray(x) for x in given or [None] * len(inputs)]
        self.given: dict[Term, Any] = dict(zip(inputs, arrays, strict=True))
        self.ranges = {x: x.op.range for x in inputs if type(x.op) is Input}
        self.assumed = [(t, known) for t, known in assumed if t.rands]

    def points(self, rng: np.random.Generator) -> Iterator[Values]:
        """→ {x: near what is given}, {x: normal}, {x: positive}, {x: in (0, 1)}: a few points, different ones each."""
        for kind in KINDS:
            if kind != "given" or any(x is not None for x in self.given.values()):
                for _ in range(TRIES if self.assumed else 1):
                    found = {x: self._drawn(x, kind, rng) for x in self.given}
                    if self._holds(found):
                        yield found
                        break

    def near(self, point: Mapping[Term, Any], rng: np.random.Generator) -> Values:
        """{x: 2.0} → {x: 2.0013}: a point so close that a fault of the program shows there too, unless it is of that
        point only.
        """
        found = {}
        for x, value in point.items():
            kind = value.dtype.kind
            found[x] = value
            if kind == "f":
                moved = value * (1 + 1e-3 * rng.uniform(-1, 1, value.shape))
                found[x] = _structured(moved, value).astype(value.dtype)
        return found

    def _holds(self, point: Values) -> bool:
        """{x: 2.0}, x² > 1 assumed → True: whether all that is assumed of computed values is true."""
        for t, known in self.assumed:
            labels = {x.op.label: value for x, value in point.items() if type(x.op) is Input}
            leaves = [leaf for leaf in reachable(t) if type(leaf.op) is Input]
            if any(leaf.op.label not in labels for leaf in leaves):
                continue
            with np.errstate(all="ignore"):
                (value,) = interpret([t], {leaf: labels[leaf.op.label] for leaf in leaves})
            if not known.holds(value):
                return False
        return True

    def _drawn(self, x: Term, kind: str, rng: np.random.Generator) -> Any:
        """x : float64 (3,), x > 0 → [0.4, 1.3, 2.1]: random entries of an input's type, within its range."""
        shape, dtype, given = x.type.shape, x.type.dtype, self.given[x]
        if dtype.kind == "b":
            return rng.random(shape) < 0.6
        if dtype.kind in "iu":
            return _whole_numbers(shape, dtype, given, self.ranges.get(x, REAL), kind, rng)
        value = _structured(_numbers(shape, given, kind, rng), given)
        return np.asarray(_moved(value, self.ranges.get(x, REAL)), dtype)


def _numbers(shape: tuple[int, ...], given: Any, kind: str, rng: np.random.Generator) -> Any:
    """((3,), given, kind) → near the given, positive, in (0, 1) or normal: random numbers of one kind."""
    if kind == "given" and given is not None and np.all(np.abs(given) < 1e3):
        # Values that repeat, or are zero, would hide which of them are counted.
        return np.asarray(given, float) * (1 + 0.2 * rng.normal(size=shape)) + 0.05 * rng.normal(size=shape)
    if kind == "positive":
        return np.exp(0.6 * rng.normal(size=shape))
    if kind == "unit":
        return rng.uniform(0.05, 0.95, shape)
    return rng.normal(size=shape)


def _structured(value: Any, like: Any) -> Any:
    """A, like symmetric → (A + Aᵀ)/2, like positive definite → A·Aᵀ/n + 1:
    random numbers structured as the caller's matrix.
    """
    if like is None or like.ndim < 2 or like.shape[-1] != like.shape[-2] or like.shape[-1] < 2:
        return value
    if not np.all(np.isfinite(like)) or not np.array_equal(like, np.swapaxes(like, -1, -2)) or not like.any():
        return value
    value = (value + np.swapaxes(value, -1, -2)) / 2
    try:
        np.linalg.cholesky(np.asarray(like, float))
    except np.linalg.LinAlgError:
        return value
    return value @ np.swapaxes(value, -1, -2) / value.shape[-1] + np.eye(value.shape[-1])


def _moved(value: Any, known: Interval) -> Any:
    """[−1, 2] within x > 0 → [e^(−½), e]: numbers within a range, as they are where all lie in it, else in order."""
    low, high = known.low, known.high
    inside = (value > low) & (value < high)
    if np.all(inside):
        return value
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) / (1 + np.exp(-value))
    if math.isfinite(low):
        return low + np.exp(value / 2)
    return high - np.exp(value / 2)


def _whole_numbers(
    shape: tuple[int, ...], dtype: np.dtype, given: Any, known: Interval, kind: str, rng: np.random.Generator
) -> Any:
    """given [0, 4] → [2, 0]: whole numbers where the caller's lie, who may use them as indices, counts or labels."""
    if kind == "given" and given is not None:
        return np.array(given, dtype)
    low, high = (0, 2) if given is None or given.size == 0 else (int(given.min()), int(given.max()))
    low = max(low, math.ceil(known.low) if known.low > -1e9 else low)
    high = min(high, math.floor(known.high) if known.high < 1e9 else high)
    wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
    return rng.integers(low, max(low, high), size=shape, endpoint=True, dtype=wide).astype(dtype)
