"""Limits: what a graph tends to at a point where it has no value, such as sin(x)/x at zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from relgrad.balls.graph import BITS, Enclosure, evaluate
from relgrad.ops.arguments import as_balls
from relgrad.term import Term

STEP, PRECISION = 300, 4096
"""How near the neighbours lie, as a power of two, and the precision at which they are evaluated."""
_AGREE, _ZERO = 60, 150


def limits(roots: Sequence[Term], values: Mapping[Term, Any], seed: int = 0) -> list[Enclosure]:
    """sin(x)/x at 0 → 1: the limits of the roots, = the values at neighbours on several sides, where these agree.

    This is strong evidence and no proof. An entry is settled where the neighbours agree to 60 bits, or all vanish;
    at the border of a domain the neighbours inside count alone.
    """
    import flint

    rng = np.random.default_rng(seed)
    steps = [{t: rng.uniform(0.5, 1.0, np.shape(v)) for t, v in values.items()} for _ in range(2)]
    turned = {t: s * rng.choice([-1.0, 1.0], np.shape(s)) for t, s in steps[0].items()}
    sides = []
    for direction, sign in product((*steps, turned), (1, -1)):
        with flint.ctx.workprec(PRECISION):
            near = {t: _moved(v, sign * direction[t]) for t, v in values.items()}
        sides.append(evaluate(roots, near, PRECISION))
    results = []
    for found in zip(*sides, strict=True):
        balls, settled = np.empty(found[0].shape, dtype=object), np.zeros(found[0].shape, dtype=bool)
        for place in np.ndindex(found[0].shape):
            ball = _common([side[place] for side in found])
            settled[place] = ball is not None
            balls[place] = flint.arb.nan() if ball is None else ball
        results.append(Enclosure(balls, settled))
    return results


def _moved(values: Any, steps: Any) -> Any:
    """x → x + |x|·s/2ᴺ, 0 → s/2ᴺ: numbers moved by a step, as balls."""
    import flint

    values = np.asarray(values)
    balls = as_balls(values)
    if values.dtype.kind != "f":
        return balls
    for place in np.ndindex(values.shape):
        if np.isfinite(values[place]):
            scale = abs(balls[place]) if values[place] else flint.arb(1)
            balls[place] += scale * flint.arb(float(steps[place])) / flint.arb(2) ** STEP
    return balls


def _common(sides: list[Any]) -> Any:
    """[1 + δ, 1 − δ, NaN] → 1: a ball around values that agree, or None."""
    import flint

    sides = [ball for ball in sides if not ball.is_nan()]
    if len(sides) < 2 or not all(ball.is_finite() for ball in sides):
        return None
    if all(ball.abs_upper() < flint.arb(2) ** -_ZERO for ball in sides):
        return flint.arb(0)
    if any(ball.rel_accuracy_bits() < BITS for ball in sides):
        return None
    middle = sides[0].mid()
    if any(abs(ball - middle) > abs(middle) / flint.arb(2) ** _AGREE for ball in sides):
        return None
    return middle
