"""References: the functions as written, over the reals, and central differences of them.

An agreement of two evaluations, the second with far more digits and a far smaller step, settles a reference.
The first has 1000 digits already: a program that loses all of them is wrong by the same 0 or infinity in both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

from cases.case import GRADIENT, KINDS, VALUE, Case
from cases.exact import Exact, Real, exact, number

FILE = Path(__file__).with_name("references.json")
LEVELS = ((1000, 60), (1700, 130), (2900, 280), (5000, 560))
"""Digits, and digits of the step."""
DIGITS = 30


def reference(case: Case, kind: str) -> Any:
    """Return the array of mpmath numbers that a perfect program would round.

    Steps are small beside the smallest entry, which they must not lead out of the domain.
    """
    if case.expected and kind in case.expected:
        return np.vectorize(mpf, otypes=[object])(np.asarray(case.expected[kind]))
    entries = np.abs(np.ravel(case.arguments[case.wrt]))
    small = mpf(float(np.min(entries, where=entries > 0, initial=1.0)))
    before = None
    for digits, step in LEVELS:
        with mp.workdps(digits):
            now = _evaluated(case, kind, mpf(10) ** -step * small)
        if before is not None and all(map(_agree, before.flat, now.flat)):
            return now
        before = now
    raise ArithmeticError(f"{case.name}, {kind}: no {DIGITS} digits are settled: {before}")


def _agree(x: Any, y: Any) -> bool:
    if mpmath.isinf(y):
        return x == y
    return abs(x - y) <= abs(y) * mpf(10) ** -DIGITS or max(abs(x), abs(y)) < mpf("1e-400")


def _evaluated(case: Case, kind: str, step: Any) -> Any:
    arguments = [exact(a) if a.dtype.kind == "f" else a for a in case.arguments]
    if kind == VALUE:
        return np.vectorize(number, otypes=[object])(exact(case.value(Exact, *arguments)))
    along, shape = case.direction(), case.arguments[case.wrt].shape

    def at(shift: Any) -> Any:
        moved = [a if i != case.wrt else exact(a + shift) for i, a in enumerate(arguments)]
        value = np.asarray(case.scalar(Exact, *moved), dtype=object)
        assert value.shape == (), case.name
        return number(value.item())

    def unit(i: int) -> Any:
        flat = exact(np.zeros(int(np.prod(shape))))
        flat[i] = Real(step)
        return flat.reshape(shape)

    slope = np.empty(int(np.prod(shape)), dtype=object)
    for i, entry in enumerate(np.ravel(case.arguments[case.wrt])):
        if np.isinf(entry):
            slope[i] = mpf(0)
        elif kind == GRADIENT:
            slope[i] = (at(unit(i)) - at(-unit(i))) / (2 * step)
        else:
            v = exact(along) * Real(step)
            slope[i] = (at(unit(i) + v) - at(unit(i) - v) - at(v - unit(i)) + at(-unit(i) - v)) / (
                4 * step**2
            )
    return slope.reshape(shape)


def stored() -> dict[str, Any]:
    """Return the references on file, by name of the case."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def written(case: Case) -> dict[str, Any]:
    """Return what is put on file for a case."""
    entry: dict[str, Any] = {"key": case.key()}
    for kind in (k for k in KINDS if k in case.kinds):
        entry[kind] = np.vectorize(_text, otypes=[object])(reference(case, kind)).tolist()
    return entry


def _text(x: Any) -> str:
    return "0" if x == 0 or abs(x) < mpf("1e-100000") else mpmath.nstr(x, DIGITS, min_fixed=-5, max_fixed=20)


def read(entry: dict[str, Any], kind: str) -> Any:
    """Return the reference of an entry of the file, as an array of mpmath numbers."""
    with mp.workdps(DIGITS + 10):
        return np.vectorize(mpf, otypes=[object])(np.asarray(entry[kind], dtype=object))
