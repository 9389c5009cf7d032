"""Models come out as NumPy has them; and the judge of that finds what is made wrong on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_programs import Program, faults, program

import relgrad as rg

SAMPLE, BATCH = 24, 4


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_random_models_are_those_of_numpy(first: int) -> None:
    for number in range(first, first + BATCH):
        case = program(("sample", number))
        found = list(faults(case, number, further=number % 8 == 0, validate=False))
        assert not found, f"{case.text}\n{case.args}\n{found}"


def test_a_seed_names_a_model() -> None:
    assert program(7).text == program(7).text
    assert str(program(7).args) == str(program(7).args)
    assert len({program(n).text for n in range(30)}) > 25


def test_models_unpack_solve_write_and_return_several_values() -> None:
    texts = "\n".join(program(n).text for n in range(60))
    for part in (
        "np.linalg.",
        "np.einsum(",
        "keepdims=True",
        "def f",
        "for ",
        "] = ",
        "] +=",
        "*",
        "lambda",
        "return v",
    ):
        assert part in texts, part


@rg.relation(source="wrong on purpose")
def product_of_exponentials(x, y):
    """A product for a sum."""
    return np.exp(x) + np.exp(y), np.exp(x + y)


@pytest.mark.parametrize("result", ["np.exp(theta) + np.exp(X[:, 0])", "X, np.exp(theta) + np.exp(X[:, 0])"])
def test_the_judge_finds_wrong_rows(result: str) -> None:
    draw = np.random.default_rng(0)
    args: tuple[Any, ...] = (draw.normal(size=3), draw.normal(size=(3, 2)))
    case = Program(f"def f(theta, X):\n    return {result}", args)
    assert not list(faults(case, 0, further=True))
    library = rg.LIBRARY.extended(product_of_exponentials)
    found = list(faults(case, 0, relations=library, validate=False))
    assert any("value" in x for x in found) and any("slope" in x for x in found)


def test_the_judge_finds_what_raises() -> None:
    case = Program("def f(theta):\n    return np.fft.fft(theta).real", (np.arange(3.0),))
    assert any("raises" in x for x in faults(case, 0))
