"""The classical problems of cancellation, on a sample: as good as the textbook, and never worse than naive."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flint")

BEHIND = {"3.4.6 (x+1)^(1/n) − x^(1/n) ∂/∂x": 2.5}
"""So many bits more than the one that is allowed: xᵃ⁻¹ loses what rounding takes from a − 1."""


def benchmark() -> Any:
    path = Path(__file__).resolve().parent.parent / "benchmarks" / "scalar_problems.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_scalar_problems", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCALAR = benchmark()


@pytest.mark.parametrize("problem", SCALAR.PROBLEMS, ids=[p.name for p in SCALAR.PROBLEMS])
def test_value_and_derivatives_are_within_a_bit_of_the_better_of_textbook_and_naive_formula(problem):
    for e in SCALAR.measure(problem, 64):
        allowed = 1 + BEHIND.get(f"{e.problem} {e.quantity}", 0)
        assert e.points > 0
        assert e.relgrad <= min(e.textbook, e.naive) + allowed, e


def test_the_naive_formulas_are_naive():
    errors = [SCALAR.measure(p, 16)[0] for p in SCALAR.PROBLEMS[::6]]
    assert sum(e.naive > 8 for e in errors) > len(errors) / 2
