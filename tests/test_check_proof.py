"""Equations are proved over boxes where they hold and their sides are analytic, and nowhere else."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.accuracy import proof
from relgrad.accuracy.analytic import Analytic, _cut, _entire
from relgrad.accuracy.instance import instances

flint: Any = pytest.importorskip("flint")


def boxes(function: Any) -> list[Any]:
    return proof.proved(instances(rg.relation(function), 1))


TRUE = {
    "a double angle": lambda x: (2 * np.sin(x) * np.cos(x), np.sin(2 * x)),
    "a sum of exponents": lambda x, y: (np.exp(x) * np.exp(y), np.exp(x + y)),
    "a fast one": lambda x: (np.sin(1000 * x), 2 * np.sin(500 * x) * np.cos(500 * x)),
    "an absolute value": lambda x: (np.sqrt(x**2), np.abs(x)),
    "a logarithm of a square": lambda x: (np.log(x**2), 2 * np.log(np.abs(x))),
    "on one side of zero": lambda x: (np.sqrt(x**2), -x, rg.negative(x)),
    "an inverse function": lambda x: (np.arcsin(x), np.arctan(x / np.sqrt(1 - x * x))),
    "three variables": lambda x, y, z: ((x - y) * (x + y) / z, (x * x - y * y) / z),
    "the larger of two": lambda x, y: (np.maximum(x, y) + np.minimum(x, y), x + y),
    "a distance": lambda x, y: (rg.ops.sin_difference(x, y, x - y), np.sin(x) - np.sin(y)),
}
UNPROVED = {
    "off by a little": lambda x: (np.sin(x), np.sin(x) + 2.0**-35),
    "off by a wave": lambda x: (np.sin(1000 * x), np.sin(1000 * x) + 1e-9 * np.sin(500 * x)),
    "steps": lambda x: (np.floor(x), np.floor(x) + 0 * x),
    "a wrong sign": lambda x, y: (np.cos(x) - np.cos(y), 2 * np.sin((x + y) / 2) * np.sin((x - y) / 2)),
    "nowhere defined": lambda x: (np.log(-np.exp(x)), np.log(-np.exp(x) - 1)),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_and_analytic_is_proved(name):
    found = boxes(TRUE[name])
    assert found, name
    assert min(box.bits for box in found) >= proof.ENOUGH


@pytest.mark.parametrize("name", UNPROVED)
def test_what_is_false_or_not_analytic_is_not_proved(name):
    assert boxes(UNPROVED[name]) == []


@pytest.mark.parametrize("bits", [45, 60, 80])
def test_a_bound_is_no_smaller_than_what_the_sides_differ_by(bits):
    (box,) = boxes(lambda x: (np.exp(np.sin(x)), np.exp(np.sin(x)) + np.cos(3 * x) * 2.0**-bits))
    low, high = box.sides["x"]
    most = max(abs(np.cos(3 * np.linspace(low, high, 101)))) * 2.0**-bits
    assert most <= 2.0**-box.bits < 64 * most


def made_by(maker: Any) -> set[str]:
    """Return the names of the methods of complex balls that a function has made."""
    code = maker(None).__code__
    return {name for name, method in vars(Analytic).items() if getattr(method, "__code__", None) is code}


@pytest.mark.parametrize("name", sorted(made_by(_entire) | made_by(_cut)))
@pytest.mark.parametrize("x", [-2.5, -0.75, 0.3, 0.9, 1.5, 4.25])
def test_functions_are_those_of_real_balls_or_have_no_value(name, x):
    real = getattr(flint.arb(x), name, None)
    found = getattr(Analytic(flint.acb(x)), name)()
    if found.is_finite() and real is not None:
        assert found.z.overlaps(flint.acb(real()))
        assert found.z.imag.overlaps(flint.arb(0))
    else:
        assert name in made_by(_cut) or real is None


@pytest.mark.parametrize(
    ("name", "centre"),
    [
        *[
            ("log", 0.2),
            ("sqrt", -1),
            ("rsqrt", 0),
            ("log1p", -1.3),
            ("lgamma", 0.1),
            ("gamma", -2),
            ("tan", 1.5),
        ],
        *[
            ("asin", 1.1),
            ("acos", -1.2),
            ("acosh", 0.8),
            ("atanh", 1),
            ("atan", 1j),
            ("asinh", -1j),
            ("coth", 0),
        ],
    ],
)
def test_balls_that_meet_a_cut_or_a_pole_have_no_value(name, centre):
    around = flint.acb(flint.arb(complex(centre).real, 0.3), flint.arb(complex(centre).imag, 0.3))
    assert not getattr(Analytic(around), name)().is_finite()


def test_what_the_balls_do_not_tell_raises():
    x, y = (Analytic(flint.acb(flint.arb(c, 0.5), flint.arb(0, 0.5))) for c in (0.2, 0.4))
    for ask in (
        lambda: x < y,
        lambda: x == y,
        lambda: abs(x),
        lambda: x.max(y),
        lambda: bool(x),
        lambda: x.sgn(),
    ):
        with pytest.raises(TypeError, match="not known"):
            ask()
    for ask in (lambda: x.mid(), lambda: x.floor()):
        with pytest.raises(AttributeError, match="not known to be analytic"):
            ask()
    assert x < y + 2
    assert abs(x - 2).z.real > 0
    assert (2 ** (y + 2)).z.overlaps(flint.acb(2) ** flint.acb(2.4))


def test_a_check_says_what_is_proved():
    found = rg.check(rg.LIBRARY["second_difference_of_sine"], samples=12, subjects=1)
    assert found.boxes
    assert f"  proved     {found.boxes[0]}" in str(found)
    assert str(found.boxes[0]).startswith("to 2^-")


def test_most_rows_on_numbers_are_proved():
    rows = [
        row for row in rg.LIBRARY if not any(n.endswith("axis") for n in signature(row.function).parameters)
    ]
    assert sum(bool(proof.proved(instances(row, 1))) for row in rows) >= 0.69 * len(rows)
