"""The classical problems of cancellation, on a sample: as good as the textbook, and never worse than naive."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("flint")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

import scalar_everywhere
import scalar_problems

BEHIND = {
    # xᵃ⁻¹ loses what rounding takes from a − 1.
    "3.4.6 (x+1)^(1/n) − x^(1/n) ∂/∂x": 2.5,
    "(x+1)^⅓ − x^⅓ ∂/∂x": 2.5,
    # Quotients are not brought over a common denominator.
    "x/(x+1) − (x+1)/(x−1) value": 64.0,
    "x/(x+1) − (x+1)/(x−1) ∂/∂x": 64.0,
}
"""So many bits more than the one that is allowed."""
PROBLEMS = [(p, 64) for p in scalar_problems.PROBLEMS] + [(p, 32) for p in scalar_everywhere.EVERYWHERE]


@pytest.mark.sampled(18)
@pytest.mark.parametrize(
    ("problem", "points"), PROBLEMS, ids=[f"{p.name} {points}" for p, points in PROBLEMS]
)
def test_value_and_derivatives_are_within_a_bit_of_the_better_of_textbook_and_naive_formula(problem, points):
    for e in scalar_problems.measure(problem, points):
        allowed = 1 + BEHIND.get(f"{e.problem} {e.quantity}", 0)
        assert e.points > 0
        assert e.relgrad <= min(e.textbook, e.naive) + allowed, e


def test_the_naive_formulas_are_naive():
    errors = [scalar_problems.measure(p, 16)[0] for p in scalar_problems.PROBLEMS[::6]]
    assert sum(e.naive > 8 for e in errors) > len(errors) / 2
