"""Equations proved over boxes: |f − g| ≤ δ at every real point of a box, for the sides f and g of a relation.

Where f and g are analytic and |f − g| ≤ M on the ellipses with foci at the ends of the sides of a box whose semi-axes
add up to ρ half-lengths, the polynomial that interpolates f − g at n + 1 Chebyshev points of each side is no farther
from it than 4Mρ⁻ⁿ/(ρ − 1) for each side. At the points f − g is enclosed in balls; M is what the sides are over
complex balls around the ellipses, where logarithms and powers that meet their cuts have no value.

Source: Trefethen 2013, Approximation Theory and Approximation Practice, theorems 8.2 and 15.2 (the Lebesgue constant is
at most 2/π·log(n + 1) + 1); Johansson 2018, Numerical integration in arbitrary-precision ball arithmetic, on balls of
analytic functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from relgrad.accuracy.analytic import Analytic
from relgrad.accuracy.instance import Instance
from relgrad.accuracy.report import Box
from relgrad.balls.graph import evaluate
from relgrad.errors import RelgradError
from relgrad.term import Term, subterms
from relgrad.types import Interval

DEGREES = {1: 96, 2: 32, 3: 18}
"""The degree of the polynomial, by the number of variables; equations of more are not proved."""
RHO = 8
HALF = 2.0**-5
"""Half the length of a side, and ρ: the ellipses reach four times as far as the box."""
CENTRES = (0.71, -0.43, 1.63, 0.29, -1.37, 2.83)
"""Where the sides of boxes are tried, of a variable that may be any real number."""
TRIES = 12
"""So many boxes are tried for each instance."""
BITS = 512
"""The working precision, in bits."""
ENOUGH = 40
"""An equation counts as proved if its sides are the same to so many bits."""


def proved(tried: Iterable[Instance]) -> list[Box]:
    """[Instance, …] → [Box, …]: |left − right| ≤ 2^(−bits) on a box for each instance that can be proved on one.

    Such as those of analytic functions.
    """
    found = []
    for instance in tried:
        shapes = {t.type.shape for t in instance.leaves.values()}
        of_numbers = len(shapes) == 1 and len(next(iter(shapes))) == 1
        if of_numbers and all(
            t.op.elementwise or not t.rands for t in subterms(instance.left, instance.right)
        ):
            proofs = (_proof(instance, centre) for centre in islice(_boxes(instance), TRIES))
            found += islice((box for box in proofs if box is not None), 1)
    return found


def _boxes(instance: Instance) -> Iterator[dict[Term, float]]:
    """x > 0 → {x: 0.7}, {x: 2.3}, …: the centres of boxes within the domain, sides that differ first."""
    free = instance.free
    if 0 < len(free) <= len(DEGREES):
        # Sides that differ come first: x = y is a special case.
        shifted = [CENTRES[i:] + CENTRES[:i] for i in range(len(free))]
        rows = [*zip(*shifted, strict=True), *product(CENTRES, repeat=len(free))]
        for row in dict.fromkeys(rows):
            yield {t: _within(t.op.range, c) for t, c in zip(free, row, strict=True)}


def _within(known: Interval, centre: float) -> float:
    """([0, ∞), −1) → half + 1, (ℝ, −1) → −1: a centre in an interval, as it is if it lies there with its box."""
    low, high = known.low + HALF, known.high - HALF
    if low <= centre <= high:
        return centre
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) * (0.5 + math.atan(centre) / math.pi)
    return low + abs(centre) if math.isfinite(low) else high - abs(centre)


def _proof(instance: Instance, centre: dict[Term, float]) -> Box | None:
    """|f − g| ≤ M around, ≤ δ at the nodes → |f − g| ≤ Λ·δ + 4·M·ρ⁻ⁿ/(ρ − 1) on the box, if that is little:
    Box, or None.
    """
    import flint

    arb = flint.arb
    d, n = len(centre), DEGREES[len(centre)]
    with flint.ctx.workprec(BITS):
        most = _difference(instance, {t: _around(c) for t, c in centre.items()})
        if most is None:
            return None
        points = [(arb(k) / n * arb.pi()).cos() * HALF for k in range(n + 1)]
        grid = zip(*product(points, repeat=d), strict=True)
        nodes = {t: [c + x for x in column] for (t, c), column in zip(centre.items(), grid, strict=True)}
        least = _difference(instance, nodes)
        if least is None:
            return None
        lebesgue = 1 + 2 / arb.pi() * arb(n + 1).log()
        beyond = 4 * most / (arb(RHO) ** n * (RHO - 1))
        bound = lebesgue**d * least + sum((lebesgue**i * beyond for i in range(d)), arb(0))
        if not bound < arb(2) ** -ENOUGH:
            return None
        bits = BITS if bound == 0 else math.floor(-float(bound.upper().log() / arb(2).log()))
    return Box({t.op.label: (c - HALF, c + HALF) for t, c in centre.items()}, min(bits, BITS))


def _around(centre: float) -> list[Any]:
    """c → c ± a + i·(0 ± b), the ellipse with a + b = ρ half-lengths: where the sides are to be analytic."""
    import flint

    wide, high = HALF * (RHO + 1 / RHO) / 2, HALF * (RHO - 1 / RHO) / 2
    return [Analytic(flint.acb(flint.arb(centre, wide), flint.arb(0, high)))]


def _difference(instance: Instance, values: Mapping[Term, Sequence[Any]]) -> Any:
    """max |left − right| ≤ bound at numbers or balls; None where they need not have values."""
    import flint

    try:
        known = instance.exact(values, BITS)
        left, right = np.broadcast_arrays(*evaluate([instance.left, instance.right], known, BITS))
        most = flint.arb(0)
        for a, b in zip(left.flat, right.flat, strict=True):
            gap = a - b
            most = most.max(gap.size() if isinstance(gap, Analytic) else abs(gap).upper())
    except (TypeError, AttributeError, ArithmeticError, ValueError, RelgradError):
        return None  # an op that is not analytic, or not known to be
    return most if most.is_finite() else None
