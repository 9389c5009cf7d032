"""Inputs like given ones: of the same structure, shapes and dtypes, with other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.trace.containers import flatten

MANY = 4
"""So many entries of one sign, or between 0 and 1, are taken to be meant so."""


def _orders(rng: np.random.Generator, n: int, low: float, high: float) -> Any:
    """Return numbers of every order of magnitude."""
    return rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(low, high, n))


def _near(rng: np.random.Generator, x: Any) -> Any:
    return x * (1 + 1e-9 * rng.normal(size=x.shape))


SCALES = (
    lambda rng, n, seed: rng.normal(scale=2.0, size=n),
    lambda rng, n, seed: rng.normal(scale=30.0, size=n),
    lambda rng, n, seed: rng.normal(scale=1000.0, size=n),
    lambda rng, n, seed: rng.normal(scale=1e4) + rng.normal(size=n),
    lambda rng, n, seed: _orders(rng, n, -60.0, 0.0),
    lambda rng, n, seed: _orders(rng, n, -60.0, 12.0),
    lambda rng, n, seed: _near(rng, np.random.default_rng(seed).normal(scale=30.0, size=n)),
    lambda rng, n, seed: _orders(rng, n, -700.0, 700.0),
    lambda rng, n, seed: np.zeros(n),
)
"""How inputs are drawn in turn; with one `seed`, arguments of one size nearly meet."""
EXTREME = 7
"""Which of these overflow in nearly any code."""


def alike(args: Sequence[Any], rng: np.random.Generator, number: int) -> tuple[tuple[Any, ...], bool]:
    """((1.0, 2), rng, 7) → (1e-3, 2), False: inputs, and whether they are extreme:
    floats are drawn anew, the rest stays.

    Samplers are drawn from.
    """
    leaves, structure = flatten(tuple([x(rng) if callable(x) else x for x in args]))
    given = [x for x in args if not callable(x)]
    fixed = {id(x) for x in flatten(tuple(given))[0]}
    which = number % len(SCALES)
    drawn = [_sampled(x, rng, which, number) if id(x) in fixed else x for x in leaves]
    return structure.unflatten(drawn), which == EXTREME and bool(fixed)


def _sampled(x: Any, rng: np.random.Generator, which: int, seed: int) -> Any:
    """[0.2, 0.8, 0.5, …] → other numbers in (0, 1): floats of another scale, of the sign and range that many entries
    show.
    """
    array = np.asarray(x)
    if array.dtype.kind != "f" or array.size == 0:
        return x
    drawn = SCALES[which](rng, array.size, seed).reshape(array.shape)
    if array.size >= MANY and np.all(array >= 0):
        drawn = np.abs(drawn)
    if array.size >= MANY and np.all((array > 0) & (array < 1)):
        drawn = drawn / (1 + drawn)
    with np.errstate(over="ignore", under="ignore"):
        drawn = drawn.astype(array.dtype)
    return drawn if isinstance(x, np.ndarray) else type(x)(drawn)


def nudged(args: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Return inputs with the last bit of each float changed; of a matrix, that of its largest entry."""
    leaves, structure = flatten(tuple(args))
    return structure.unflatten([_nudged(x, rng) for x in leaves])


def _nudged(x: Any, rng: np.random.Generator) -> Any:
    """1.0 → 1.0 ± ulp: floats moved by their last bit, of a matrix by that of its largest entry."""
    array = np.asarray(x)
    if array.dtype.kind != "f":
        return x
    way = rng.choice(np.array([-1, 1], array.dtype), array.shape)
    last = np.spacing(np.abs(array).max(initial=0.0) if array.ndim > 1 else np.abs(array))
    moved = (array + way * last).astype(array.dtype)
    return moved if isinstance(x, np.ndarray) else type(x)(moved)
