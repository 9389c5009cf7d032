"""Programs that branch, loop and write come out as Python has them; and the judge finds what is made wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from python_programs import Outcome, Program, difference, faults, is_near, outcome, program

import relgrad as rg

SAMPLE, LARGE, BATCH = 48, 3000, 6


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_random_programs_are_those_of_python(first):
    check("sample", first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, LARGE, BATCH))
def test_many_random_programs_are_those_of_python(first):
    check("many", first)


def check(seed: str, first: int) -> None:
    """A batch of programs is right, for all tuples of arguments, and their gradients are difference quotients."""
    for number in range(first, first + BATCH):
        case = program((seed, number))
        found = list(faults(case, number, slopes=number % 2 == 0))
        assert not found, f"{case.text}\n{case.calls}\n{found}"


def test_few_programs_are_refused():
    refused = 0
    for number in range(20):
        refusals: list[str] = []
        list(faults(program(("sample", number)), slopes=False, refusals=refusals))
        refused += bool(refusals)
    assert refused <= 8


def test_a_seed_names_a_program():
    first, again = program(7), program(7)
    assert first.text == again.text
    assert str(first.calls) == str(again.calls)
    assert len({program(n).text for n in range(50)}) > 45


def test_programs_branch_loop_and_write():
    texts = [program(n).text for n in range(100)]
    for part in (
        "if ",
        "while ",
        "for ",
        "] = ",
        "] += ",
        "out=",
        "def h",
        ".append(",
        "np.zeros",
        "return ",
    ):
        assert any(part in text for text in texts), part


def test_calls_of_a_program_have_one_signature_and_the_first_is_the_last():
    for number in range(30):
        calls = program(number).calls
        assert len(calls) > 2
        assert calls[0] is calls[-1]
        assert len({tuple([(type(x), np.shape(x), np.result_type(x)) for x in call]) for call in calls}) == 1


def _program(body: str, *calls: tuple[Any, ...]) -> Program:
    names = ", ".join(f"x{i}" for i in range(len(calls[0])))
    return Program(f"def f({names}):\n{body}", (*calls, calls[0]))


X, Y = np.array([0.5, -1.0]), np.array([-0.5, 2.0])
RIGHT = "    y = np.zeros(2)\n    y[1] = x0[0] ** 2 if x0[0] > 0 else -x0[1]\n    return y"


def test_the_judge_finds_a_wrong_branch(monkeypatch):
    """A program that is kept for all calls, whatever they decide, is found by the second one."""
    assert not list(faults(_program(RIGHT, (X,), (Y,))))
    monkeypatch.setattr("relgrad.programs.Run.taken", lambda self, args, kwargs: self.path)
    found = list(faults(_program(RIGHT, (X,), (Y,)), slopes=False))
    assert len([fault for fault in found if "call 1: " in fault]) == 2


def test_the_judge_finds_a_wrong_slope(monkeypatch):
    def halved(f, **options):
        made = value_and_grad(f, **options)

        def call(*args):
            value, gradients = made(*args)
            return value, tuple([g / 2 for g in gradients])

        return call

    value_and_grad = rg.value_and_grad
    monkeypatch.setattr(rg, "value_and_grad", halved)
    found = list(faults(_program(RIGHT, (X,), (Y,))))
    assert found
    assert all("slope" in fault for fault in found)


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (lambda x: x.astype(np.float32), "float32"),
        (lambda x: x[None], "array([["),
        (lambda x: x + 1e-3, "where NumPy has"),
        (lambda x: 1 / 0, "raises ZeroDivisionError"),
        (lambda x: x.__iadd__(1), "the arguments are changed"),
        (lambda x: (x, x), "where NumPy has"),
    ],
)
def test_the_judge_finds_other_values_dtypes_shapes_and_what_raises(monkeypatch, made, fault):
    monkeypatch.setattr(rg, "stabilize", lambda f, **options: made)
    found = list(faults(_program("    return x0 * 1.0", (X,), (Y,)), slopes=False))
    assert len(found) == 6
    assert all(fault in text for text in found)


def test_the_judge_finds_answers_where_numpy_raises_or_writes(monkeypatch):
    monkeypatch.setattr(rg, "stabilize", lambda f, **options: lambda x: x * 1.0)
    for body in ("    return x0[5]", "    x0[0] = 1\n    return x0"):
        assert all("answers" in fault for fault in faults(_program(body, (X,), (Y,))))
        assert len(list(faults(_program(body, (X,), (Y,))))) == 6


def test_a_refusal_is_no_fault_and_is_told():
    case, refusals = _program("    y = x0\n    return y.view()", (X,), (Y,)), []
    assert not list(faults(case, refusals=refusals))
    assert len(refusals) == 6


def answer(value: Any, error: Exception | None = None) -> Outcome:
    return Outcome(value, error, False)


def test_what_is_near_is_what_numpy_gives_a_few_units_in_the_last_place_away():
    step = lambda x: float(x * 10 >= 7)
    assert is_near(answer(1.0), step, (0.7,)) and is_near(answer(0.0), step, (0.7,))
    rows = lambda x, y: (x > y) * 1.0
    x, y = np.array([1.0, 2.0]), np.array([1.0, 5.0])
    assert is_near(answer(np.array([1.0, 0.0])), rows, (x, y))
    assert outcome(rows, (x, y)).value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("value", "f", "args"),
    [
        (1.0, lambda x: float(x >= 0.7), (0.6999,)),  # the step is further away
        (0.5, lambda x: float(x >= 0.7), (0.7,)),  # no side of the step
        (
            np.array([1.0, 1.0]),
            lambda x: (x >= 1) * 1.0,
            (np.array([1.0, 0.5]),),
        ),  # one entry is near, the other is not
        (1.001, lambda x: x, (1.0,)),
        (math.nan, lambda x: x, (1.0,)),
        (1.0, lambda n: n / 2, (3,)),  # integers do not move
        (1.0, lambda x: np.float32(x), (1.0,)),  # of another dtype
        (5.0, lambda x: 1 / (x - 0.7), (0.7,)),  # what raises where it stands, or next to it, excuses nothing
        (5.0, lambda x: math.sqrt(x - 0.7), (0.7,)),
        (5.0, lambda x: 1 / 0, (0.7,)),
    ],
)
def test_what_is_not_near_is_not_excused(value, f, args):
    assert not is_near(answer(value), f, args)


def test_an_exception_is_excused_by_the_same_one_only():
    root = lambda x: math.sqrt(x - 0.7)
    assert is_near(answer(None, ValueError()), root, (0.7,))
    assert not is_near(answer(None, IndexError()), root, (0.7,))
    assert not is_near(answer(None, ValueError()), lambda x: x, (0.7,))


def test_differences_are_told_by_place():
    assert difference({"a": [1.0, X]}, {"a": [1.0, X]}, 1e-9) is None
    assert difference({"a": [1.0, X]}, {"a": [1.0, Y]}, 1e-9).startswith("['a'][1]: ")
    assert difference(np.array([math.nan]), np.array([math.nan]), 1e-9) is None
    assert Outcome(1.0, None, False).error is None
