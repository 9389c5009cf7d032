"""Collected computations in each other's company, at moderate arguments of other shapes than they were collected with.

Ordinary lines seldom hold what people compute. Here a mixture's likelihood is divided by what a hinge leaves, a
softmax is taken of a Kullback-Leibler divergence, one is the argument of the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from cases import CASES
from cases.case import NUMPY, Case

FRAMES = ((3,), (2, 3), (4, 1), (3, 3), (), (1, 3))
LARGEST = 1e6
Parts = tuple[Callable[..., Any], Callable[..., Any], Sequence[Any], Sequence[Any]]


class Crossing(NamedTuple):
    """A function made of two that were collected, arrays for it, and in words what it is."""

    text: str
    function: Callable[..., Any]
    arrays: tuple[Any, ...]


def _shares(x: Any) -> Any:
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


MEETINGS: dict[str, Callable[..., Any]] = {
    "f": lambda f, g, xs, ys: f(*xs),
    "f - g": lambda f, g, xs, ys: f(*xs) - g(*ys),
    "f·g": lambda f, g, xs, ys: f(*xs) * g(*ys),
    "f/(1 + g²)": lambda f, g, xs, ys: f(*xs) / (1 + g(*ys) ** 2),
    "f(g)": lambda f, g, xs, ys: f(g(*ys) * 0.3 + xs[0], *xs[1:]),
    "log Σ exp f + g": lambda f, g, xs, ys: np.log(np.sum(np.exp(f(*xs)))) + g(*ys),
    "softmax(f + g)": lambda f, g, xs, ys: _shares(f(*xs) + g(*ys)),
    "f - mean f + g": lambda f, g, xs, ys: f(*xs) - np.mean(f(*xs)) + g(*ys),
    "[Σ f, Σ g]": lambda f, g, xs, ys: np.stack([f(*xs).sum(), g(*ys).sum()]),
    "max(f, g)": lambda f, g, xs, ys: np.where(f(*xs) > g(*ys), f(*xs), g(*ys)),
    "std f + max g": lambda f, g, xs, ys: np.std(f(*xs)) + np.max(g(*ys)),
}
"""How two functions meet."""

KINDS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x,
    lambda x: np.exp(0.5 * x),
    lambda x: 1 / (1 + np.exp(-x)),
    lambda x: np.abs(x) + 0.2,
)
"""What is made of normal numbers."""


def crossing(seed: Any) -> Crossing | None:
    """Return the crossing of a seed; None where many tries have no moderate value."""
    draw = random.Random(f"crossing {seed}")
    numbers = np.random.default_rng(draw.getrandbits(32))
    for _ in range(40):
        made = _drawn(draw, numbers)
        if _is_moderate(made):
            return made
    return None


def _drawn(draw: random.Random, numbers: np.random.Generator) -> Crossing:
    collected = [case for case in CASES if case.dtype == "float64"]
    first, second = draw.choice(collected), draw.choice(collected)
    name, frame, alias = draw.choice(list(MEETINGS)), draw.choice(FRAMES), draw.random() < 0.4
    xs, ys = ([_array(draw, numbers, np.shape(x), frame) for x in c.arguments] for c in (first, second))
    arrays = (*xs, *(ys[1:] if alias else ys))
    text = f"{name}: f is {first.name}, g is {second.name}{', of the same array' if alias else ''}"
    return Crossing(text, _meeting(first, second, MEETINGS[name], alias), arrays)


def _meeting(first: Case, second: Case, meet: Callable[..., Any], alias: bool) -> Callable[..., Any]:
    count = len(first.arguments)

    def function(*arrays: Any) -> Any:
        xs, ys = arrays[:count], arrays[count:]
        ys = (xs[0], *ys) if alias else ys
        return meet(lambda *a: first.value(NUMPY, *a), lambda *a: second.value(NUMPY, *a), xs, ys)

    return function


def _array(draw: random.Random, numbers: np.random.Generator, shape: tuple[int, ...], frame: Any) -> Any:
    """Return an array of a shape, or of one that broadcasts into a frame."""
    if len(shape) < 2 and draw.random() < 0.5:
        shape = frame[draw.randint(0, len(frame)) :]
        shape = frame if draw.random() < 0.7 else tuple(1 if draw.random() < 0.4 else n for n in shape)
    return draw.choice(KINDS)(numbers.normal(size=shape))


def _is_moderate(made: Crossing) -> bool:
    """Whether NumPy computes a value that is moderate, in extended precision too."""
    try:
        with np.errstate(all="raise"):
            value = made.function(*made.arrays)
        with np.errstate(all="ignore"):
            made.function(*[np.asarray(x, np.longdouble) for x in made.arrays])
    except (ArithmeticError, ValueError, TypeError, IndexError, AttributeError, np.linalg.LinAlgError):
        return False
    moderate = isinstance(value, np.ndarray | np.generic) and np.size(value) > 0
    return moderate and bool(np.all(np.abs(value) < LARGEST))
