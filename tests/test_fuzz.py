"""Random programs agree with themselves over the reals; and the judge of that finds what is made wrong on purpose."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flint")

import fuzzing
from fuzzing import check, described, reduced
from random_programs import TEMPLATES, Case, Leaf, Program, random_case, size

import relgrad as rg
from relgrad.implementations import IMPLEMENTATIONS

SAMPLE = 240
BATCH = 20
SECONDS = 20.0
OPERATORS = """add subtract multiply divide floor_divide negative power absolute equal not_equal less less_equal greater
    greater_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift matrix_transpose"""
RARE = """
amax amin around matvec vecmat nextafter spacing empty zeros ones vsplit hsplit svd svdvals qr pinv
gammainccinv betainccinv eval_chebyu eval_gegenbauer eval_hermitenorm eval_laguerre bdtr bdtrc fdtr fdtrc gdtr
gdtrc nbdtr nbdtrc chdtri fdtri stdtrit kn yn
k0e kve y1 yv chdtr chdtrc pdtr pdtrc powm1 boxcox boxcox1p inv_boxcox inv_boxcox1p cosm1 poch
"""
"""Other names of what occurs, what has no derivative, and what takes no array."""


@pytest.fixture(autouse=True)
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def program(*lines: str, point: Any = 0.7, space: dict[str, Any] | None = None) -> Case:
    """Return a program of one argument x0, with lines that use the one before as {0}."""
    x = np.asarray(point, float)
    nodes = tuple([(line, (i,)) for i, line in enumerate(lines)])
    return Case(Program((Leaf(x.shape, "float64", "real"),), nodes), ((x[()],),))


def kinds(case: Case, *rows: Any, **options: Any) -> set[str]:
    library = rg.Library(rows) if rows else rg.LIBRARY
    return {failure.kind for failure in check(case, library, **options).failures}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_random_programs_agree_with_the_truth(first):
    for number in range(first, first + BATCH):
        case = random_case(("sample", number), longest=5)
        outcome = check(case, seconds=SECONDS, second=number % 16 == 0)
        for failure in outcome.failures:
            pytest.fail(f"{failure}\n{described(case.program, case.points[failure.point])}")


def test_a_seed_names_a_program():
    first, again = random_case((0, 1)), random_case((0, 1))
    assert first.program == again.program
    assert all(
        np.array_equal(x, y)
        for p, q in zip(first.points, again.points, strict=True)
        for x, y in zip(p, q, strict=True)
    )
    assert random_case((0, 2)).program != first.program


def test_programs_are_text_that_runs_alone():
    for number in range(50):
        case = random_case(("text", number))
        with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
            assert isinstance(case.program.function(*case.points[0]), (np.ndarray, np.floating))
        assert case.program.source.startswith("def f(x0")


def test_all_traced_functions_of_numpy_occur():
    text = " ".join(template for templates, _ in TEMPLATES for template in templates)
    spelled_otherwise = set(OPERATORS.split()) | set(RARE.split())
    names = {
        f.__name__
        for f in IMPLEMENTATIONS
        if (getattr(f, "__module__", "").startswith("numpy") or isinstance(f, np.ufunc))
        and not f.__name__.startswith("_")
    }
    assert {n for n in names - spelled_otherwise if f"{n}(" not in text and f".{n}" not in text} == set()


def test_a_false_relation_is_found():
    @rg.relation(source="false")
    def exponential_is_linear(x):
        return np.exp(x), 1 + x

    assert kinds(program("np.exp({0})"), exponential_is_linear) == {"inaccurate"}


def test_a_true_relation_that_loses_accuracy_is_found():
    @rg.relation(source="DLMF 4.37.16")
    def area_from_logarithm(x):
        return np.arcsinh(x), np.log(x + np.sqrt(x * x + 1))

    assert kinds(program("np.arcsinh({0})", point=-1e6), area_from_logarithm) == {"inaccurate"}
    assert kinds(program("np.arcsinh({0})", point=3.0), area_from_logarithm) == set()


def test_what_a_relation_loses_at_zero_a_series_mends():
    @rg.relation(source="definition of the hyperbolic tangent")
    def tangent_from_exponentials(x):
        return np.tanh(x), (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))

    assert kinds(program("np.tanh({0})", point=1e-9), tangent_from_exponentials) == set()


def test_a_number_that_becomes_none_is_found():
    @rg.relation(source="true only where x > 0")
    def cube_root_from_logarithm(x):
        return np.cbrt(x), np.exp(np.log(x) / 3)

    assert kinds(program("np.cbrt({0})", point=-0.5), cube_root_from_logarithm) == {"inaccurate"}
    assert kinds(program("np.cbrt({0})", point=0.5), cube_root_from_logarithm) == set()


def test_a_wrong_pullback_is_found(monkeypatch):
    monkeypatch.setattr(IMPLEMENTATIONS[np.arctan], "rules", (lambda g, out, x: g / (1 + x),))
    assert kinds(program("np.arctan({0})")) == {"wrong pullback"}


def test_what_raises_is_found():
    @rg.relation(source="of another rank")
    def broken(x):
        return np.tanh(x), np.tanh(np.linalg.inv(x))

    assert kinds(program("np.tanh({0})", point=[0.5, 0.25]), broken) == {"raises"}


def test_what_hangs_is_found(monkeypatch):
    ended = []
    monkeypatch.setattr(fuzzing, "schedule", lambda *args: time.sleep(60) or ended.append(True))
    assert kinds(program("np.exp({0})"), seconds=0.5) == {"hangs"}
    assert not ended


def test_another_dtype_is_found(monkeypatch):
    original = fuzzing._run
    monkeypatch.setattr(fuzzing, "_run", lambda *args: [x.astype(np.float32) for x in original(*args)])
    assert kinds(program("np.exp({0})")) == {"type"}


def test_cancellation_that_naive_evaluation_suffers_too_is_no_failure():
    assert kinds(program("{0} + 1e9", "{0} - 1e9", point=[0.1, 0.7])) == set()


def test_better_and_worse_are_counted():
    outcome = check(program("np.log(1 + np.exp({0}))", point=800.0))
    assert outcome.better > 0
    assert outcome.worse == 0
    assert outcome.slopes == 1


def test_failures_are_reduced_to_what_matters():
    @rg.relation(source="false")
    def cube_root_is_linear(x):
        return np.cbrt(x), x / 3

    library = rg.Library([cube_root_is_linear])
    case = program("np.tanh({0})", "{0} + 2.0", "np.cbrt({0})", "np.sin({0})", "{0} * 3", point=[0.3, 0.4])
    failure = check(case, library).failures[0]
    small = reduced(case, failure, lambda c: check(c, library), seconds=20)
    assert [expression for expression, _ in small.program.nodes] == ["np.cbrt({0})"]
    assert size(small) < size(case)
    assert small.program.leaves[0].shape == ()
