"""How many terms of a Taylor series stand for a function near a point, and within which radius.

Both are decided by numbers: the terms left out count for less than a rounding within the radius, and the formula has no
more than a few wrong digits where the series ends and beyond; its error grows towards the point as its order says.

Sources: N. Brunie, F. de Dinechin, O. Kupriianova & C. Lauter, "Code generators for mathematical functions", ARITH
2015, for choosing radius and degree together; N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
section 5.1, for the error of Horner's rule.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.laurent import CONTEXT, Around, BothSides, Laurent
from relgrad.calculus.ring import NoSeries
from relgrad.interpret import interpret
from relgrad.kernels.near import polynomial
from relgrad.term import Term

LENGTHS = 64, 112, 160
"""So many coefficients are computed, and so many where those are too few."""
ENOUGH = 32.0
"""Errors of the formula where the series ends, in ulp, with which no more terms are asked for."""
_TOLERANCES = (8.0, 32.0, 256.0, 4096.0)
"""Errors in ulp of the formula where the series ends, the first that can be had."""
_LEFT_OUT = 2.0**-55
"""The sum of the terms left out, relative to the value."""
_SPREAD = 64.0
"""The sum of the terms' sizes, relative to the value: more would cancel within the series."""
_HALVINGS = 16
"""Radii are tried in steps of √2, from half the radius of convergence down."""
_SHORTEST = 12
"""No radius is shorter than 1/64 of the widest without need."""
_DENSE = 2.0 ** -np.linspace(0.0, 13.0, 6144)
"""Where, of its radius, a series is compared with the formula: a feature that the coefficients do not show, as they
would be below all floats, is wider than the gaps. e^(−(x − c)²/w²) has c < 27·w then, tanh′((x − c)/w) c < 360·w."""
_APART = 1024.0
"""So many roundings of a series are no difference."""


class Terms(NamedTuple):
    """t^power · Σ cₖ·t^(k·step) within a radius, as `kernels.near` sums it: 1 − t²/6 + … has power 0 and step 2."""

    radius: float
    power: int
    step: int
    coefficients: tuple[float, ...]

    @property
    def limit(self) -> float:
        """The value at t = 0: c₀ for the power 0, 0 for a positive one, and NaN at a pole."""
        return self.coefficients[0] if self.power == 0 else 0.0 if self.power > 0 else math.nan

    def __str__(self) -> str:
        shown = [f"{c:.4g}·t^{self.power + i * self.step}" for i, c in enumerate(self.coefficients[:3]) if c]
        more = " + …" if len(self.coefficients) > 3 else ""
        return (" + ".join(shown) + more).replace("·t^0", "").replace("t^1 ", "t ").replace("+ -", "- ")


def values(body: Term, x: Term, at: Any) -> Any:
    """x², x, (1, 2) → (1, 4): a body's values at an array of numbers, silently."""
    with np.errstate(all="ignore"):
        return interpret([body], {x: np.asarray(at)}, typed=False)[0]


@lru_cache(maxsize=1024)
def fitted(
    body: Term,
    x: Term,
    point: float,
    loss: int,
    series: type[Around | BothSides] = Around,
    formula: Term | None = None,
) -> Terms | None:
    """sin(x)/x at 0 → 1 − t²/6 + …, |t| < r: the terms of a body's series, and the radius within which they serve.

    None where none will do. The formula's error may grow towards the point as t^(−loss), and no faster: else the two
    are not one function. The formula is the body, or another of the same function: log x has no series at 0 that its
    quotient log(sin x/x) has.
    """
    best: tuple[float, Terms] | None = None
    for length in LENGTHS:
        try:
            around = series(x, point, length)
            y = around.expand(body)
        except NoSeries:
            break
        enough = y.settled and (y.whole or len(y.residues) > length // 2)
        found = _fit(y, around, formula or body, x, loss) if enough else None
        if found is not None and (best is None or found[0] < best[0]):
            best = found
        # Where no radius serves, the formula is at fault, and no longer series mends that.
        if y.whole or best is None or best[0] <= ENOUGH:
            break
    return None if best is None else best[1]


def _fit(
    y: Laurent, around: Around | BothSides, body: Term, x: Term, loss: int
) -> tuple[float, Terms] | None:
    """Σ cₖ·tᵏ for |t| < r, the formula beyond: the shortest such series, and the formula's error in ulp at r; or None.

    Radii are tried from half the radius of convergence down. At one that is good the formula is, from the end of the
    series on, within a tolerance, its error grows inwards by no more than t^(−loss − 1), and no terms cancel in the
    series. Where series and formula part within a radius, smaller ones are tried.
    """
    c = np.array([abs(float(n)) for n in y.numbers])
    if not np.isfinite(c).all() or not 1e-300 < (widest := _converges(c, y.whole)) < 1e300:
        return None
    radii = widest * 2.0 ** (-np.arange(_HALVINGS) / 2)
    grid = around.point + np.multiply.outer(radii, [1.0, -1.0])
    t = grid - around.point
    inside = (x.op.range.low <= grid) & (grid <= x.op.range.high)
    far = np.broadcast_to(np.asarray(values(body, x, grid), float), grid.shape)
    with localcontext(CONTEXT):
        exact = np.vectorize(lambda at: _summed(y, at), otypes=[object])(t)
        errors = np.vectorize(lambda f, e: float(abs(Decimal(f) - e)) if math.isfinite(f) else math.inf)(
            far, exact
        )
    size = np.abs(exact.astype(float))
    powers = y.start + np.arange(len(c))
    signed = np.array([float(n) for n in y.numbers])
    with np.errstate(all="ignore"):
        sizes = np.abs(t)[..., None] ** powers * c
        turn = np.abs((t[..., None] ** powers * signed * powers).sum(-1))  # |t·f′|
        doubt = (np.abs(t)[..., None] ** powers * np.array(y.errors)).sum(-1)
        # Near a zero of f the values of all formulas are as uncertain as t is.
        scale = np.maximum(size, turn / 8)
        bad = np.where(inside, errors * 2.0**53 / scale, 0.0)
        spread = np.where(inside, (sizes.sum(-1) + doubt * 2.0**50) / scale, 0.0)
    bad, spread = bad.max(1), spread.max(1)
    within = math.inf
    for most in _TOLERANCES:
        good = [
            j
            for j in range(len(radii))
            if bad[max(j - 4, 0) : j + 1].max() <= most
            and spread[j:].max() <= _SPREAD
            and around.keeps_signs(radii[j])
            and np.all(bad[j:] <= 64 * most * (radii[j] / radii[j:]) ** (loss + 1))
        ]
        while good := [j for j in good if radii[j] < within]:
            j = max([j for j in good if j <= _SHORTEST] or [good[0]])
            # Where the domain lies within the radius, its own ends are at a smaller one.
            end = next((k for k in range(j, len(radii)) if inside[k].any()), j)
            least = float(scale[end][inside[end] | ~inside[end].any()].min())
            terms = _cut(y, c, float(radii[j]), least)
            if terms is None:
                return None
            within = math.inf if y.whole else _parting(terms, around.point, body, x, 64 * most, loss)
            if within == math.inf:
                return float(bad[max(j - 4, 0) : j + 1].max()), terms
    return None


def _parting(terms: Terms, point: float, body: Term, x: Term, most: float, loss: int) -> float:
    """|t| → where the formula is another than the series first, by more than `most`·(r/t)^(loss + 1) ulp; ∞ if nowhere.

    (1 − cos x)/x² + e^(−((x − c)/w)²) is so near c, where the second part has no term of size at 0.
    """
    at = point + terms.radius * np.concatenate([_DENSE, -_DENSE])
    at = at[(x.op.range.low <= at) & (at <= x.op.range.high)]
    t = at - point
    near = polynomial(t, *terms[1:])
    with np.errstate(all="ignore"):
        further = at + 2.0**-20 * t
        turn = 2.0**20 / 8 * np.abs(polynomial(further - point, *terms[1:]) - near)  # |t·f′|/8
        far = np.broadcast_to(np.asarray(values(body, x, at), float), at.shape)
        known = (most * (terms.radius / np.abs(t)) ** (loss + 1) + _APART) * 2.0**-53
        wrong = np.abs(far - near) > known * np.maximum(np.abs(near), turn)
    return float(np.abs(t[wrong]).min(initial=math.inf))


def _converges(c: Any, whole: bool) -> float:
    """(1, 1, 1/2, 1/6, …) of n terms → r with |cₖ|·rᵏ < 2⁻⁵⁸·max for k ≥ 3·n/4, or 1 for a single term."""
    powers = np.flatnonzero(c)
    if len(powers) < 2:
        return 1.0
    logs = np.log(c[powers])
    scale = np.max((logs[0] - logs[1:]) / powers[1:]) + math.log(16)
    last = powers >= 0.75 * len(c)
    if whole or not last.any():
        return math.exp(min(scale, 600.0))
    low, high = -700.0, scale
    for _ in range(40):
        middle = (low + high) / 2
        sizes = logs + powers * middle
        low, high = (middle, high) if sizes[last].max() < sizes.max() - 58 * math.log(2) else (low, middle)
    return math.exp(low)


def _summed(y: Laurent, t: float) -> Decimal:
    """Σ cₖ·tᵏ of all terms that are known, by Horner's rule with gaps, in decimals."""
    at, total, gap = Decimal(t), Decimal(0), 0
    for number in reversed(y.numbers):
        if number or not gap:
            total = total * (at if gap < 2 else at**gap) + number
            gap = 0
        gap += 1
    return total * at ** (gap - 1) * at**y.start


def _cut(y: Laurent, c: Any, radius: float, least: float) -> Terms | None:
    """c₀ + … + cₙ·tⁿ → its first m terms, with Σ_{k ≥ m} |cₖ|·rᵏ ≤ 2⁻⁵⁵·least; None where all known ones are needed."""
    rest, n = 0.0, len(c)
    while n > 1 and rest + c[n - 1] * radius ** (n - 1 + y.start) <= _LEFT_OUT * least:
        n -= 1
        rest += c[n] * radius ** (n + y.start)
    if n == len(c) and not y.whole:
        return None
    step = math.gcd(*[k for k in range(1, n) if c[k]]) or 1
    return Terms(radius, y.start, step, tuple([float(y.numbers[k]) for k in range(0, n, step)]))
