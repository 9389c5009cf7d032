"""The collection of computations that lose accuracy as written: values, gradients, Hessian-vector products."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from cases import CASES, KINDS, Case
from cases.case import GRADIENT, NUMPY, PRODUCT, VALUE
from cases.judge import judge
from cases.not_yet import NOT_YET
from cases.reference import read, stored
from mpmath import mpf

import relgrad as rg

REFERENCES = stored()


def full_name(case: Case) -> str:
    return f"{case.family}: {case.name}"


def answer(case: Case, kind: str) -> Any:
    if kind == VALUE:
        return rg.stabilize(lambda *a: case.value(NUMPY, *a))(*case.arguments)
    slope = rg.grad(lambda *a: case.scalar(NUMPY, *a), case.wrt)
    if kind == GRADIENT:
        return slope(*case.arguments)
    before, x, after = case.arguments[: case.wrt], case.arguments[case.wrt], case.arguments[case.wrt + 1 :]
    return rg.grad(lambda x: np.sum(slope(*before, x, *after) * case.direction()))(x)


REASONS = {
    (name, kind): reason
    for reason, names in NOT_YET.items()
    for entry in names.strip().split("\n")
    for name, kinds in re.findall(r"\s*(.*) \[(.*)\]", entry)
    for kind in kinds.split()
}


def questions() -> list[Any]:
    asked = [(case, kind) for case in CASES for kind in KINDS if kind in case.kinds]
    return [
        pytest.param(
            case,
            kind,
            id=f"{full_name(case)} ({kind})",
            marks=[pytest.mark.xfail(strict=True, reason=reason)] if reason else [],
        )
        for case, kind in asked
        for reason in [REASONS.get((full_name(case), kind))]
    ]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("case", "kind"), questions())
def test_it_is_accurate(case, kind):
    truth = read(REFERENCES[full_name(case)], kind)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", rg.RelgradWarning)
        got = answer(case, kind)
    verdict = judge(case, got, truth)
    assert verdict.ok, verdict.why
    assert np.asarray(got).dtype == case.dtype


@pytest.mark.parametrize("case", [c for c in CASES if c.control and VALUE in c.kinds], ids=full_name)
def test_a_control_is_accurate_as_it_is_written(case):
    assert judge(case, case.value(NUMPY, *case.arguments), read(REFERENCES[full_name(case)], VALUE)).ok


def test_names_tell_cases_apart():
    assert not [name for name, times in Counter(map(full_name, CASES)).items() if times > 1]


def test_what_is_not_reached_is_in_the_collection():
    assert set(REASONS) <= {(full_name(case), kind) for case in CASES for kind in case.kinds}


def test_each_case_has_its_references():
    assert {name: sorted(entry.keys() - {"key"}) for name, entry in REFERENCES.items()} == {
        full_name(case): sorted(case.kinds) for case in CASES
    }


@pytest.mark.parametrize(
    ("got", "truth", "scale", "ok"),
    [
        (1.0, "1", 0.0, True),
        (1.0 + 64 * 2.0**-52, "1", 0.0, True),
        (1.0 + 66 * 2.0**-52, "1", 0.0, False),
        (np.nan, "1", 0.0, False),
        (np.inf, "1e308", 0.0, False),
        (np.inf, "1e400", 0.0, True),
        (-np.inf, "1e400", 0.0, False),
        (0.0, "1e-20", 0.0, False),
        (0.0, "1e-20", 1.0, True),
        (1e-310, "0", 0.0, True),
    ],
)
def test_the_judge_tells_right_from_wrong(got, truth, scale, ok):
    case = CASES[0]._replace(scale=scale)
    assert judge(case, np.array([got]), np.array([mpf(truth)])).ok is ok
    assert judge(case, np.array([got, 1.0]), np.array([mpf(truth), mpf(1)])).ok is (ok or truth == "1e-20")


def test_an_error_of_another_shape_fails():
    assert not judge(CASES[0], np.ones(3), np.array([mpf(1)])).ok


def test_derivatives_of_the_oracle_are_those_of_calculus():
    from cases.case import case as made
    from cases.reference import reference

    cube = made("cube", lambda xp, x: xp.sum(x**3), [2.0, -1e-200])("none")
    assert [float(x) for x in reference(cube, GRADIENT)] == [12.0, 3e-400]
    assert [float(x) for x in reference(cube, PRODUCT)] == pytest.approx([12.0, 3e-200], rel=1e-15)
