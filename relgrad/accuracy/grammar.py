"""Random expressions as numerical code is made of them: where a reduction meets a broadcast, rewriting must count.

Arrays have up to three axes of extents 1, 2 and 3, and every part broadcasts into one shape, the frame. Parts are used
again, as `p / p.sum()` does, and reduced over any axes, with and without kept ones.

Source: McKeeman 1998, Differential testing for software.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from relgrad.accuracy.restricted import leaf
from relgrad.ops import expit, log_softmax, logsumexp, softmax, softplus
from relgrad.term import Term
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval, broadcast_shapes

Shape = tuple[int, ...]
EXTENTS = (1, 2, 3)
RANKS = (0, 1, 1, 2, 2, 2, 3, 3)
MOST = 4
"""So many different arrays stand in an expression at most."""

WHOLE: tuple[Callable[[Any], Any], ...] = (
    np.exp,
    np.exp,
    np.exp,
    lambda x: np.exp(2 * x),
    lambda x: np.exp(-(x**2)),
    lambda x: np.exp(x) * x**2,
    lambda x: 1 / (1 + np.exp(-x)),
    lambda x: np.log(1 + np.exp(x)),
    np.cosh,
    np.square,
    np.abs,
    expit,
    softplus,
)
"""Positive parts of one array."""
ALONG: tuple[Callable[[Any, int], Any], ...] = (
    lambda x, a: np.exp(x - np.max(x, axis=a, keepdims=True)),
    lambda x, a: np.exp(x) / np.sum(np.exp(x), axis=a, keepdims=True),
    lambda x, a: softmax(x, axis=a),
    lambda x, a: np.exp(log_softmax(x, axis=a)),
    lambda x, a: np.exp(logsumexp(x, axis=a, keepdims=True)),
    lambda x, a: np.cumsum(np.exp(x), axis=a),
    lambda x, a: np.exp(np.cumsum(x, axis=a)),
    lambda x, a: np.concatenate((np.exp(x), np.square(x)), axis=a),
    lambda x, a: np.flip(np.exp(x), axis=a),
)
"""Positive parts of one array along an axis."""
REDUCTIONS: tuple[Callable[..., Any], ...] = (
    np.sum,
    np.sum,
    np.sum,
    np.mean,
    np.mean,
    np.prod,
    np.max,
    np.min,
)
NUMBERS = (1.0, 1.0, 2.0, 3.0, 0.5, 1e-3, 1e-8)


class Grammar:
    """frame (2, 3) → x·np.sum(x, axis=1, keepdims=True) + y: random expressions over one frame.

    `leaves` are the arrays that stand in them.
    """

    def __init__(self, rng: np.random.Generator, frame: Shape | None = None):
        """frame, or one with extents 1, 2 and 3 → no leaves = {}."""
        self.rng = rng
        if frame is None:
            frame = tuple(int(n) for n in rng.choice(EXTENTS, rng.choice(RANKS)))
        self.frame = frame
        self.leaves: dict[str, Term] = {}
        self.pool: list[Any] = []

    def chance(self, probability: float) -> bool:
        """Whether something happens that happens so often."""
        return bool(self.rng.random() < probability)

    def one_of(self, choices: Sequence[Any]) -> Any:
        """Return one of several."""
        return choices[int(self.rng.integers(len(choices)))]

    def axes(self) -> tuple[int, ...]:
        """Return some of the axes of the frame, counted from the right; the last one if it has none."""
        places = range(-len(self.frame), 0)
        sets = [chosen for n in range(1, len(places) + 1) for chosen in combinations(places, n)]
        return self.one_of(sets) if sets else (-1,)

    def shape(self) -> Shape:
        """frame (2, 3) → (2, 3) or (1, 3), (3,), (): a shape that broadcasts into the frame, itself half of the
        time.
        """
        if self.chance(0.5):
            return self.frame
        shape = self.frame[int(self.rng.integers(len(self.frame) + 1)) :]
        return tuple(1 if self.chance(0.4) else n for n in shape)

    def array(self, interval: Interval = REAL, shape: Shape | None = None) -> Any:
        """[0, ∞) → x ≥ 0: an array with entries in an interval, one that stands in the expression already, or a new
        one.
        """
        known = [t for t in self.leaves.values() if t.op.range == interval and shape in (None, t.type.shape)]
        if known and (len(self.leaves) >= MOST or self.chance(0.5)):
            return Tracer(self.one_of(known))
        return self.new(interval, shape)

    def new(self, interval: Interval = REAL, shape: Shape | None = None) -> Any:
        """Return a new array with entries in an interval."""
        name = "xyzuvwpq"[len(self.leaves)] if len(self.leaves) < 8 else f"x{len(self.leaves)}"
        self.leaves[name] = leaf(name, self.shape() if shape is None else shape, interval)
        return Tracer(self.leaves[name])

    def fits(self, x: Any) -> bool:
        """x : (1, 3) in the frame (2, 3) → True: whether an expression broadcasts into the frame."""
        try:
            return broadcast_shapes(x.shape, self.frame) == self.frame
        except ValueError:
            return False

    def expression(self, depth: int, positive: bool = False) -> Any:
        """depth 2 → np.exp(x) + y: a random expression of a depth."""
        if self.pool and self.chance(0.15):
            return self.one_of(self.pool)
        made = self._positive(depth) if positive or self.chance(0.7) else self._real(depth)
        if depth:
            self.pool.append(made)
        return made

    def _real(self, depth: int) -> Any:
        """depth 1 → x + y, np.sum(x), np.where(x > 0, x, y), …: a random expression of any sign."""
        if depth <= 0:
            return self.array(self.one_of((REAL, REAL, REAL, NONNEGATIVE, POSITIVE, UNIT)))
        x = self.expression(depth - 1)
        if self.chance(0.3):
            return self.reduced(x, (np.sum, np.mean, np.max))
        y = self.expression(depth - 1)
        return self.one_of(
            (lambda: x + y, lambda: x - y, lambda: x * y, lambda: -x, lambda: np.where(x > 0, x, y))
        )()

    def _positive(self, depth: int) -> Any:
        """depth 0 → np.exp(x), …: a random expression with entries > 0."""
        if depth <= 0 or self.chance(0.15):
            x = self.array()
            if self.chance(0.2) and x.ndim:
                made = self.one_of(ALONG)(x, -1 - int(self.rng.integers(x.ndim)))
                if self.fits(made):
                    return made
            return self.one_of(WHOLE)(x)
        return self.one_of(JOINTS)(self, depth - 1)

    def reduced(self, x: Any, reductions: Sequence[Callable[..., Any]] = REDUCTIONS[:5]) -> Any:
        """x : (2, 3) → np.sum(x, axis=1, keepdims=True), …: a reduction over any axes; kept, unless it fits without."""
        if not x.ndim:
            return x
        places = range(-x.ndim, 0)
        sets = [chosen for n in range(1, x.ndim + 1) for chosen in combinations(places, n)]
        axes, reduction = self.one_of(sets), self.one_of(reductions)
        if self.chance(0.4):
            bare = reduction(x, axis=axes)
            if self.fits(bare):
                return bare
        return reduction(x, axis=axes, keepdims=True)

    def stretched(self, x: Any) -> Any:
        """Return an expression stretched to the frame, as entries are repeated by a product with ones."""
        return self.one_of((lambda: np.broadcast_to(x, self.frame), lambda: x * np.ones(self.frame)))()


JOINTS: tuple[Callable[[Grammar, int], Any], ...] = (
    lambda g, n: g.expression(n, True) + g.one_of(NUMBERS),
    lambda g, n: g.expression(n, True) + g.reduced(g.expression(n, True)),
    lambda g, n: g.expression(n, True) + g.reduced(g.expression(n, True)),
    lambda g, n: g.expression(n, True) * g.reduced(g.expression(n, True)),
    lambda g, n: g.reduced(g.expression(n, True), REDUCTIONS),
    lambda g, n: g.reduced(g.expression(n, True)),
    lambda g, n: g.reduced(g.expression(n, True) + g.reduced(g.expression(n - 1, True))),
    lambda g, n: g.reduced(g.stretched(g.expression(n, True))),
    lambda g, n: _share(g.expression(n, True), g, g.one_of(NUMBERS)),
    lambda g, n: _share(g.expression(n, True), g, g.expression(n, True)),
    lambda g, n: _share(g.expression(n, True), g, 0.0),
    lambda g, n: g.one_of((np.sqrt, np.square, np.reciprocal, np.abs))(g.expression(n, True)),
    lambda g, n: g.expression(n, True) ** 1.5,
    lambda g, n: g.expression(n, True) + g.expression(n, True),
    lambda g, n: g.expression(n, True) * g.expression(n, True),
    lambda g, n: g.expression(n, True) / g.expression(n, True),
)
"""How positive parts are put together: smoothing, shares, sums over axes that meet broadcasts."""


def _share(x: Any, grammar: Grammar, more: Any) -> Any:
    return x / (grammar.reduced(x) + more)
