"""Collected computations in each other's company come out as NumPy has them, with their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from crossed_programs import crossing
from ordinary_programs import faults

import relgrad as rg

SAMPLE, BATCH = 96, 8


def judged(number: int) -> list[str]:
    case = crossing(number)
    if case is None:
        return []
    shapes = [x.shape for x in case.arrays]
    found = faults(case, number, further=number % 4 == 0, validate=False)
    return [f"{number}: {case.text}, {shapes}: {fault}" for fault in found]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_crossings_are_those_of_numpy(first: int):
    assert not [fault for number in range(first, first + BATCH) for fault in judged(number)]


def test_a_number_names_a_crossing():
    one, other = crossing(5), crossing(5)
    assert one is not None and other is not None
    assert one.text == other.text
    assert all((x == y).all() for x, y in zip(one.arrays, other.arrays, strict=True))


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("shape", [(4, 1), (1, 3), (), (4, 3)], ids=str)
def test_mixtures_whose_weights_repeat_entries_have_second_derivatives(shape: tuple[int, ...], strategy: str):
    numbers = np.random.default_rng(0)
    x, s, t = (numbers.uniform(0.5, 1.5, shape) for _ in range(3))
    w = numbers.uniform(size=(4, 3))

    def slope(how: str, x: Any) -> Any:
        log = lambda x: np.log(np.sum(w * np.exp(x) * x / s))
        return rg.grad(lambda x: np.sum(rg.grad(log, strategy=how, validate=False)(x) * t), strategy=how)(x)

    np.testing.assert_allclose(slope(strategy, x), slope("naive", x), rtol=1e-11, atol=1e-13)
