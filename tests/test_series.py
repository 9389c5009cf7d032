"""Functions of one term near a point where they cancel: series, what decides on them, and what stands as written."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from scalar_checks import EXACT

import relgrad as rg
from relgrad.calculus import series as series_module
from relgrad.calculus.fit import fitted
from relgrad.calculus.laurent import Around
from relgrad.calculus.ring import NoSeries
from relgrad.calculus.series import argument, expanded
from relgrad.kernels import extended_range, near
from relgrad.op import as_term
from relgrad.ops.elementwise import Elementwise
from relgrad.term import Term
from relgrad.trace.tracer import Tracer

PRECISE = SimpleNamespace(
    **vars(EXACT),
    erf=mp.erf,
    erfc=mp.erfc,
    expit=lambda x: 1 / (1 + mp.exp(-x)),
    ndtr=lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
    exp2=lambda x: mp.mpf(2) ** x,
)
NUMPY = SimpleNamespace(
    **{name: getattr(np, name) for name in vars(EXACT)},
    **{name: getattr(scipy.special, name) for name in ("erf", "erfc", "expit", "ndtr")},
    exp2=np.exp2,
)

FUNCTIONS = {
    "x·cosh x - sinh x": lambda m, x: x * m.cosh(x) - m.sinh(x),
    "(x·cosh x - sinh x)/x³": lambda m, x: (x * m.cosh(x) - m.sinh(x)) / x**3,
    "log(tan(x)/x)": lambda m, x: m.log(m.tan(x) / x),
    "log(tan(x)/x)/x²": lambda m, x: m.log(m.tan(x) / x) / x**2,
    "erf(x)/x": lambda m, x: m.erf(x) / x,
    "(1 - erfc x)/x": lambda m, x: (1 - m.erfc(x)) / x,
    "φ₃": lambda m, x: (m.exp(x) - 1 - x - x**2 / 2) / x**3,
    "φ₄": lambda m, x: (m.exp(x) - 1 - x - x**2 / 2 - x**3 / 6) / x**4,
    "(eˣ - e^tan x)/x³": lambda m, x: (m.exp(x) - m.exp(m.tan(x))) / x**3,
    "1/sin x - 1/x": lambda m, x: 1 / m.sin(x) - 1 / x,
    "(2 - 2·cos x - x·sin x)/x⁴": lambda m, x: (2 - 2 * m.cos(x) - x * m.sin(x)) / x**4,
    "(arctan x - tanh x)/x⁵": lambda m, x: (m.arctan(x) - m.tanh(x)) / x**5,
    "cos x - eˣ": lambda m, x: m.cos(x) - m.exp(x),
    "sin x - tanh x": lambda m, x: m.sin(x) - m.tanh(x),
    "(sin x - arctan x)/x³": lambda m, x: (m.sin(x) - m.arctan(x)) / x**3,
    "(e^sin x - 1)/x": lambda m, x: (m.exp(m.sin(x)) - 1) / x,
    "(e^sin x - eˣ)/x³": lambda m, x: (m.exp(m.sin(x)) - m.exp(x)) / x**3,
    "(log(1+x) - sin x)/x²": lambda m, x: (m.log1p(x) - m.sin(x)) / x**2,
    "(√(1+x) - 1 - x/2)/x²": lambda m, x: (m.sqrt(1 + x) - 1 - x / 2) / x**2,
    "(√(1+sin x) - 1 - x/2)/x²": lambda m, x: (m.sqrt(1 + m.sin(x)) - 1 - x / 2) / x**2,
    "1/log(1+x) - 1/x - 1/2": lambda m, x: 1 / m.log1p(x) - 1 / x - 0.5,
    "1/(eˣ - 1) - 1/sin x": lambda m, x: 1 / m.expm1(x) - 1 / m.sin(x),
    "(tan x - sin x)/x³": lambda m, x: (m.tan(x) - m.sin(x)) / x**3,
    "arcsin x - arctan x": lambda m, x: m.arcsin(x) - m.arctan(x),
    "(arcsinh x - x)/x³": lambda m, x: (m.arcsinh(x) - x) / x**3,
    "sin sin x - x": lambda m, x: m.sin(m.sin(x)) - x,
    "(sin tan x - tan sin x)/x⁷": lambda m, x: (m.sin(m.tan(x)) - m.tan(m.sin(x))) / x**7,
    "cos x·cosh x - 1": lambda m, x: m.cos(x) * m.cosh(x) - 1,
    "sinh x·sin x - x²": lambda m, x: m.sinh(x) * m.sin(x) - x * x,
    "(expit x - 1/2 - x/4)/x³": lambda m, x: (m.expit(x) - 0.5 - x / 4) / x**3,
    "(ndtr x - 1/2)/x": lambda m, x: (m.ndtr(x) - 0.5) / x,
    "x/(1 - e⁻ˣ)": lambda m, x: x / (1 - m.exp(-x)),
    "1/tanh²x - 1/x²": lambda m, x: 1 / m.tanh(x) ** 2 - 1 / x**2,
    "1/x² - 1/sinh²x": lambda m, x: 1 / x**2 - 1 / m.sinh(x) ** 2,
    "log(sinh(x)/sin x)": lambda m, x: m.log(m.sinh(x) / m.sin(x)),
    "(1 + x)^(1/x)": lambda m, x: m.exp(m.log1p(x) / x),
    "(1 + x)³ - 1 - 3x": lambda m, x: (1 + x) ** 3 - 1 - 3 * x,
    "((1 + x)⁵ - 1)/x": lambda m, x: ((1 + x) ** 5 - 1) / x,
    "(x/tan x - x/tanh x)/x²": lambda m, x: (x / m.tan(x) - x / m.tanh(x)) / x**2,
    "x/(eˣ - 1) - 1 + x/2": lambda m, x: x / m.expm1(x) - 1 + x / 2,
    "(e^-x² - cos x)/x²": lambda m, x: (m.exp(-x * x) - m.cos(x)) / x**2,
    "(log(1+x) - x + x²/2)/x³": lambda m, x: (m.log1p(x) - x + x**2 / 2) / x**3,
    "log(1+x)/log(1-x)": lambda m, x: m.log1p(x) / m.log1p(-x),
    "tanh(x)/arctan x": lambda m, x: m.tanh(x) / m.arctan(x),
    "arctanh(x)/arcsin x": lambda m, x: m.arctanh(x) / m.arcsin(x),
    "(1/√(1-x²) - 1)/x²": lambda m, x: (1 / m.sqrt(1 - x * x) - 1) / x**2,
    "(2ˣ - 1)/x": lambda m, x: (m.exp2(x) - 1) / x,
    "x - log(1 + sinh x)": lambda m, x: x - m.log(1 + m.sinh(x)),
    "tan(x)/x - 1/cos x": lambda m, x: m.tan(x) / x - 1 / m.cos(x),
    "sin(x)/x - cos x": lambda m, x: m.sin(x) / x - m.cos(x),
    "eˣ less its Padé approximant": lambda m, x: (m.exp(x) - (1 + x / 2) / (1 - x / 2)) / x**3,
    "(e¹⁰⁰ˣ - 1 - 100x)/x²": lambda m, x: (m.exp(100 * x) - 1 - 100 * x) / x**2,
    "(sin(x/100) - x/100)/x³": lambda m, x: (m.sin(x / 100) - x / 100) / x**3,
    "(e^cos x - e^cosh x)/x²": lambda m, x: (m.exp(m.cos(x)) - m.exp(m.cosh(x))) / x**2,
    "log cosh x - x²/2": lambda m, x: m.log(m.cosh(x)) - x * x / 2,
    "log((eˣ - 1)/x) - x/2": lambda m, x: m.log(m.expm1(x) / x) - x / 2,
    "(x - sin x)/(1 - cos x)": lambda m, x: (x - m.sin(x)) / (1 - m.cos(x)),
    "sin²x/x² - 1": lambda m, x: m.sin(x) ** 2 / x**2 - 1,
    "(arcsin(x)/x)³": lambda m, x: (m.arcsin(x) / x) ** 3,
    "√(sin(x)/x)": lambda m, x: m.sqrt(m.sin(x) / x),
    "log(1 + x + x²)/x - 1": lambda m, x: m.log(1 + x + x**2) / x - 1,
}
POINTS = (1e-12, -3e-6, 1e-3, -0.03, 0.1, 0.2)
ULP = 64


def _exact(f: Any, x: float, order: int) -> Any:
    with mp.workdps(800):
        h = mp.mpf(10) ** -50 * abs(mp.mpf(x))
        at = [f(PRECISE, mp.mpf(x) + k * h) for k in (-1, 0, 1)]
        return [at[1], (at[2] - at[0]) / (2 * h), (at[2] - 2 * at[1] + at[0]) / h**2][order]


def _programs(f: Any, **how: Any) -> list[Any]:
    g = lambda x: f(NUMPY, x)
    return [rg.stabilize(g, **how), rg.grad(g, **how), rg.grad(rg.grad(g, **how), **how)]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_two_derivatives_are_right_near_zero_and_at_it(name):
    f = FUNCTIONS[name]
    for order, program in enumerate(_programs(f)):
        for x in POINTS:
            exact = _exact(f, x, order)
            # Where a value nearly vanishes, it is as uncertain as x is.
            turn = _exact(f, x, order + 1) * x if order < 2 else 0
            assert abs(mp.mpf(float(program(np.float64(x)))) - exact) < ULP * 2.0**-53 * max(
                abs(exact), abs(turn)
            )
        limit = float(_exact(f, 1e-40, order))
        assert math.isclose(program(np.float64(0.0)), limit, rel_tol=1e-14, abs_tol=1e-30)
        assert math.isclose(program(np.float64(1e-300)), limit, rel_tol=1e-14, abs_tol=1e-30)


TURNS = {
    "a branch": lambda u: np.where(u > 0, u, 0.0),
    "a kink": lambda u: np.maximum(0.0, u),
    "a size": lambda u: np.abs(u) + u,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("centre", [0.02, 0.06, 0.1, 0.14])
@pytest.mark.parametrize("name", TURNS)
def test_decisions_hold_as_far_as_a_series_is_used(name, centre):
    """u > 0 in a window of width 0.006: no sample need fall into it."""
    f = lambda x: (1 - np.cos(x) + 1e3 * x**2 * TURNS[name](1e-5 - (x - centre) ** 2)) / x**2
    x = np.array([centre, centre + 1e-3, 1e-9])
    assert np.allclose(rg.stabilize(f, validate=False)(x)[:2], f(x)[:2], rtol=1e-9, atol=0)
    assert math.isclose(rg.stabilize(f, validate=False)(x)[2], 0.5, rel_tol=1e-12)


STAY = {
    "a pole": lambda x: (np.cos(x) - 1 - x) / x**2,
    "a pole by a number that is nearly 1": lambda x: (np.cos(x) - 1.0000000000000002) / x,
    "an essential singularity": lambda x: np.exp(-1 / x**2) / x,
    "a branch point": lambda x: (np.sqrt(x) - x) / x,
    "a logarithm": lambda x: (np.log(x) - x) / (np.log(x) + x),
    "a corner": lambda x: np.abs(x) / x,
    "no cancellation": lambda x: np.cos(x) + np.exp(x) / (1 + x * x),
    "a difference that is not zero": lambda x: np.sin(x) - 0.9999 * x + 1e-3 * np.cos(x),
}


@pytest.mark.parametrize("name", STAY)
def test_what_has_no_series_stands_as_written(name):
    x = np.array([0.3, 0.01, -0.2])
    program = rg.stabilize(STAY[name])
    assert "series" not in [step.move for step in program.explain(x).steps]
    with np.errstate(all="ignore"):
        assert np.allclose(program(x), STAY[name](x), rtol=1e-12, equal_nan=True)


def kepler(x: Any) -> Any:
    return (x * np.cosh(x) - np.sinh(x)) / x**3


@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 4), (3, 1, 2), (0,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_of_arrays_are_computed_as_numbers_are(shape, dtype):
    x = np.resize(np.array([0.0, 1e-9, -0.3, 0.8, 2.0, np.nan], dtype), shape)
    program = rg.stabilize(kepler)
    got = program(x)
    assert got.shape == shape and got.dtype == dtype
    alone = [rg.stabilize(kepler)(v) for v in x.ravel()]
    assert np.allclose(got.ravel(), alone, rtol=4 * np.finfo(dtype).eps, atol=0, equal_nan=True)


def test_half_precision_loses_nothing_in_single_precision():
    x = np.linspace(-3, 3, 2001, dtype=np.float32)
    exact = np.where(x == 0, 1 / 3, kepler(np.where(np.abs(x) < 0.05, np.nan, x.astype(float))))
    got = rg.stabilize(kepler)(x)
    settled = np.isfinite(exact)
    assert np.max(np.abs(got - exact)[settled] / exact[settled]) < 2.0**-23


def test_a_function_of_a_product_of_two_arguments():
    f = lambda x, y: (np.exp(x * y) - 1 - x * y - (x * y) ** 2 / 2) / (x * y) ** 3
    x, y = np.array([1e-9, 0.0, 2.0]), np.array([1e-3, 0.4, 1.0])
    assert np.allclose(rg.stabilize(f)(x, y), [1 / 6, 1 / 6, (np.e**2 - 5) / 8], rtol=1e-14)
    slope = rg.grad(lambda x, y: np.sum(f(x, y)), 1)(x, y)
    assert np.allclose(slope[:2], x[:2] / 24, rtol=1e-11, atol=0)


@pytest.mark.parametrize("c", [1e-300, 1e-30, -0.25])
def test_the_argument_may_be_a_sum_whose_zero_has_powers_out_of_range(c):
    def form_factor(q, r):
        x = q * r + c
        return 3 * (np.sin(x) - x * np.cos(x)) / x**3

    for q, r in ((0.0, 2.0), (1e-12, 1.0), (0.125, 2.0), (0.125, 2.0 + 1e-9)):
        x = q * r + c
        want = 1 - x**2 / 10 + x**4 / 280, r * (-x / 5 + x**3 / 70)
        got = rg.value_and_grad(form_factor)(q, r)
        assert np.allclose(got, want, rtol=1e-13 if abs(x) < 1e-3 else 1e-4, atol=0), (q, r)


def test_factors_of_a_product_meet_wherever_they_stand():
    f = lambda w, x: w * (x * np.cosh(x) - np.sinh(x)) / x**3
    assert np.allclose(rg.stabilize(f)(np.array([2.0, 3.0]), np.array([0.0, 1e-6])), [2 / 3, 1.0], rtol=1e-14)


def test_a_weight_that_flows_back_does_not_hide_the_cancellation():
    w, x = np.array([[1.0, -2.0, 0.5]]), np.array([0.0, 1e-8, 0.2])
    g = rg.grad(lambda w, x: np.sum((w @ kepler(x)) ** 2), 1)(w, x)
    # f(x) = 1/3 + x²/30 + x⁴/840 + …
    slope = x / 15 + x**3 / 210 + x**5 / 7560
    value = (w @ (1 / 3 + x**2 / 30 + x**4 / 840)).item()
    assert np.allclose(g, 2 * value * w[0] * slope, rtol=1e-8, atol=0)


def test_away_from_zero_a_quotient_is_continued():
    f = lambda x: (x**3 - 1) / (x - 1)
    assert np.allclose(rg.stabilize(f)(np.array([1.0, 1 + 1e-9, 2.0])), [3.0, 3 + 3e-9, 7.0], rtol=1e-15)
    assert np.allclose(rg.grad(f)(1.0), 3.0, rtol=1e-15)


def test_what_a_function_asks_of_its_argument_holds_within_the_radius():
    f = lambda x: np.where(np.abs(x) < 0.01, kepler(x), 7.0)
    x = np.array([0.0, 1e-5, 0.009, 0.02, 0.5])
    assert np.allclose(rg.stabilize(f)(x), [1 / 3, 1 / 3, 1 / 3 + 0.009**2 / 30, 7, 7], rtol=1e-9)


def test_ranges_that_exclude_the_point_need_no_series():
    x = np.array([2.0, 3.0])
    program = rg.stabilize(kepler, assume={"x": (1.0, 5.0)})
    assert "series" not in [step.move for step in program.explain(x).steps]
    assert np.allclose(program(x), kepler(x), rtol=1e-15)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["1/tan x - 1/x", "1/x² - 1/sinh²x", "(1 - cos x)/x²"])
@pytest.mark.parametrize(("low", "high"), [(-0.5, 1.01), (-1e-3, 1e-3), (-3e-2, 0.0), (0.0, 0.1)])
def test_a_domain_within_the_radius_needs_all_terms(name, low, high):
    """|x| ≤ 1/10: cot(x) − 1/x = −x/3 − x³/45 − …, and not −x/3, though no end of the series is in the domain."""
    f = {
        "1/tan x - 1/x": lambda m, x: 1 / m.tan(x) - 1 / x,
        "1/x² - 1/sinh²x": lambda m, x: 1 / x**2 - 1 / m.sinh(x) ** 2,
        "(1 - cos x)/x²": lambda m, x: (1 - m.cos(x)) / x**2,
    }[name]

    def assumed(x):
        rg.assume((x >= low) & (x <= high))
        return f(NUMPY, x)

    made = (rg.stabilize(assumed), rg.grad(assumed), rg.grad(rg.grad(assumed)))
    for x in low + (high - low) * np.array([0.03, 0.31, 0.77, 0.999]):
        with mp.workdps(60):
            expected = [float(mp.diff(lambda t: f(PRECISE, t), mp.mpf(float(x)), n)) for n in range(3)]
        np.testing.assert_allclose([g(x) for g in made], expected, rtol=1e-12)


def test_outside_the_domain_stays_undefined():
    f = lambda x: (np.log(1 + x) - np.sin(x)) / x**2
    got = rg.stabilize(f)(np.array([-2.0, 0.0, np.nan, 1e-9]))
    assert np.isnan(got[[0, 2]]).all() and np.allclose(got[[1, 3]], -0.5)


@extended_range
def _overflowing(x: Any) -> Any:
    return near(x, 0.0, 0.5, 1, 2, (1.0, -0.5), lambda z: z**4 / (1 + z**4)) * 1.0


def test_extended_range_within_the_series_and_beyond():
    got = _overflowing(np.array([0.0, 1e-200, 0.25, 1e100]))
    assert np.allclose(got, [0.0, 1e-200, 0.25 - 0.5 * 0.25**3, 1.0], rtol=1e-15, atol=0)


def test_source_shows_the_coefficients_and_runs_by_itself():
    x = np.array([0.0, 0.1, 2.0])
    program = rg.stabilize(kepler)
    text = program.source(x)
    assert "near(" in text and "0.03333333333333333" in text
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert np.array_equal(namespace["stabilize_kepler"](x), program(x))
    again = rg.stabilize(namespace["stabilize_kepler"])  # a program can be traced
    assert np.allclose(again(x), program(x), rtol=1e-14)


def test_explanation_names_the_function_and_the_point():
    (step,) = [s for s in rg.stabilize(kepler).explain(np.ones(2)).steps if s.move == "series"]
    assert "0.3333 + 0.03333·t^2" in step.why and "t = x - 0" in step.why


def test_each_branch_sees_its_own_entries():
    seen = []

    def far(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return np.sin(x) / x

    near(np.array([0.0, 1e-9, 2.0, 3.0]), 0.0, 0.1, 0, 2, (1.0, -1 / 6), far)
    assert [x.tolist() for x in seen] == [[2.0, 3.0]]


def test_nothing_is_expanded_where_nothing_cancels(monkeypatch):
    made = []
    monkeypatch.setattr(series_module, "Around", lambda *args: made.append(args) or Around(*args))
    w = np.linspace(-1, 1, 6).reshape(2, 3)
    loss = lambda w, x: (
        np.sum(np.tanh(w @ x) ** 2) + np.log(np.sum(np.exp(w @ x))) + np.sum(np.exp(-(w**2)) / 3)
    )
    rg.value_and_grad(loss)(w, np.ones(3))
    assert not made


class _Gudermann(Elementwise):
    """A user's op: gd(x) = 2·arctan(tanh(x/2)), whose derivative is 1/cosh x."""

    def __init__(self) -> None:
        super().__init__("gd", lambda x: 2 * np.arctan(np.tanh(x / 2)), lambda g, out, x: g / np.cosh(x))


gd = _Gudermann()


def test_an_op_of_a_user_takes_part():
    f = lambda x: (gd(x) - x) / x**3
    assert np.allclose(rg.stabilize(f)(np.array([0.0, 1e-6])), [-1 / 6, -1 / 6], rtol=1e-11)
    assert np.allclose(rg.grad(f)(1e-6), 1e-6 / 12, rtol=1e-9)  # gd(x) = x - x³/6 + x⁵/24 - …


class _Sinh(rg.Op):
    """A user's op that has but a pullback."""

    __props__ = ()
    elementwise = True

    def make_node(self, x):
        return rg.apply(self, [x], [x.type])

    def compute(self, x):
        return np.sinh(x)

    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0] * np.cosh(inputs[0])]


def test_an_op_of_a_user_needs_no_pushforward():
    sinh = _Sinh()
    f = lambda x: (sinh(x) - x) / x**3
    assert np.allclose(rg.stabilize(f)(np.array([0.0, 1e-9, 1e-5])), 1 / 6, rtol=1e-10)


def test_derivatives_that_lead_to_each_other_without_end():
    f = lambda x: scipy.special.gammaln(1 + x) / x
    got = rg.stabilize(f)(np.array([0.0, 1e-9, 0.2]))
    with mp.workdps(60):
        exact = [
            -mp.euler,
            mp.loggamma(1 + mp.mpf(1e-9)) / mp.mpf(1e-9),
            mp.loggamma(1 + mp.mpf(0.2)) / mp.mpf(0.2),
        ]
    assert np.allclose(got, np.array(exact, float), rtol=1e-14, atol=0)


# Laurent series.


def _series(f: Any, point: float = 0.0, length: int = 12) -> Any:
    x = argument()
    around = Around(x, point, length)
    return around.expand(as_term(f(Tracer(x))))


def test_coefficients_are_exact():
    bernoulli = [Fraction(1), Fraction(-1, 2), Fraction(1, 6), Fraction(0), Fraction(-1, 30)]
    found = _series(lambda x: x / (np.exp(x) - 1))
    for k, b in enumerate(bernoulli):
        assert math.isclose(found.at(k).number, b / math.factorial(k), abs_tol=1e-40)
        assert found.at(k).error == 0
    assert found.at(3).residue == 0


@pytest.mark.parametrize(
    ("f", "order"),
    [
        (lambda x: (np.sin(x) ** 2 + x**9) + (np.cos(x) ** 2 - 1), 9),
        (lambda x: np.exp(np.cos(x)) - np.exp(np.cosh(x)), 2),
        (lambda x: 1 / np.sin(x) ** 2 - 1 / x**2, 0),
        (lambda x: (np.exp(2 * x) + x**7) - np.exp(x) ** 2, 7),
        (lambda x: 1 / np.tan(x) ** 3, -3),
        # x³/6 in floats is no third coefficient of the sine: 9.25e-18·x³ is left of it.
        (lambda x: np.sin(x) - x + 0.16666666666666666 * x**3, 3),
        (lambda x: np.sin(x) - x + x**3 / 6, 5),
    ],
)
def test_valuations_are_exact(f, order):
    assert _series(f, length=16).start == order


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(x),
        lambda x: np.abs(x),
        lambda x: np.log(x),
        lambda x: np.arcsin(1 + x),
        lambda x: np.exp(1 / x),
        lambda x: np.maximum(x, -x),
        lambda x: np.hypot(x, 2 * x),
        # ∛2·∛2·∛2 is 2, of which no digits are certain
        lambda x: np.cbrt(2 + x) ** 3 - 2 - x + x**3,
    ],
)
def test_no_series_is_said_to_be_one(f):
    with pytest.raises(NoSeries):
        _series(f)


def test_a_value_at_which_a_function_is_flat_is_no_exact_number():
    # tanh(40) is 1 in floats.
    assert 0 < 1 - _series(lambda x: np.tanh(40 + x)).at(0).number < 1e-30


NAMES = {
    "sin(π·(1 + x))/x": (lambda x: np.sin(np.pi * (1 + x)) / x, 0, -np.pi),
    "sinc(1 + x)/x": (lambda x: np.sinc(1 + x) / x, 0, -1.0),
    "cos(x + π/2)": (lambda x: np.cos(x + np.pi / 2), 1, -1.0),
    "cos(x + 3·π/2)/x": (lambda x: np.cos(x + 3 * np.pi / 2) / x, 0, 1.0),
    "sin(x + π/6) − 1/2": (lambda x: np.sin(x + np.pi / 6) - 0.5, 1, np.sqrt(3) / 2),
    "cos(2·π/3 − x) + 1/2": (lambda x: np.cos(2 * np.pi / 3 - x) + 0.5, 1, np.sqrt(3) / 2),
    "tan(π/4 + x) − 1": (lambda x: np.tan(np.pi / 4 + x) - 1, 1, 2.0),
    "erf(x) − 2·x/√π": (lambda x: scipy.special.erf(x) - 2 * x / np.sqrt(np.pi), 3, -2 / 3 / np.sqrt(np.pi)),
    "ndtr(x) − 1/2 − x/√(2π)": (
        lambda x: scipy.special.ndtr(x) - 0.5 - x / np.sqrt(2 * np.pi),
        3,
        -1 / 6 / np.sqrt(2 * np.pi),
    ),
    "(2ˣ − 1 − x·log 2)/x²": (lambda x: (np.exp2(x) - 1 - x * np.log(2)) / x**2, 0, np.log(2) ** 2 / 2),
    "e^(1 + x) − e": (lambda x: np.exp(1 + x) - np.e, 1, np.e),
    "√(2 + x)² − 2 − x + x³": (lambda x: np.sqrt(2 + x) * np.sqrt(2 + x) - 2 - x + x**3, 3, 1.0),
    "log(2 + x) − log 2": (lambda x: np.log(2 + x) - np.log(2), 1, 0.5),
    "sin(x°) − π/180·x": (lambda x: np.sin(np.deg2rad(x)) - np.pi / 180 * x, 3, -((np.pi / 180) ** 3) / 6),
}


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_have_names_are_exact_in_coefficients(name):
    """sin(π) is 0, and 1/√(2π) what the density of a normal distribution begins with: as numbers, not as floats."""
    f, start, first = NAMES[name]
    found = _series(f, length=12)
    assert found.start == start
    assert float(found.numbers[0]) == pytest.approx(first, rel=1e-15)


def test_a_body_is_looked_at_once():
    x = argument()
    body = as_term(kepler(Tracer(x)))
    assert isinstance(body, Term)
    before = fitted.cache_info().misses
    expanded(body, x)
    once = fitted.cache_info().misses
    rg.stabilize(lambda z: np.sum(kepler(z), axis=0))(np.ones((2, 3)))
    expanded(body, x)
    assert fitted.cache_info().misses - once <= 1 and once - before <= 1


def test_an_op_that_must_not_run_early_does_not():
    class Counted(_Gudermann):
        def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
            return False

        def compute(self, *arrays: Any) -> Any:
            raise AssertionError("computed while the program was made")

    f = lambda x: (Counted()(x) - x) / x**3
    rg.stabilize(f, validate=False).explain(np.ones(2))


def test_conventions_hold_within_a_function_that_cancels():
    f = lambda x: (np.exp(scipy.special.xlogy(x, x)) - 1) / x + (np.cos(x) - 1) / x**2
    convention = rg.Conventions(zero_log=math.nan)
    assert np.isnan(rg.stabilize(f, conventions=convention)(np.array([0.0]))).all()


def test_a_weight_shared_by_summands_does_not_hide_the_cancellation():
    w, x = np.array([1.0, -0.5]), np.array([1e-6, 800.0])
    heat = lambda x: x * x * np.exp(x) / (np.exp(x) - 1) ** 2
    assert np.allclose(rg.grad(lambda x: np.sum(w * heat(x)))(x), [-1e-6 / 6, 0.0], rtol=1e-11, atol=0)


@pytest.mark.parametrize("h", [3.0, np.array([3.0]), np.array([0.5, -7.0])])
@pytest.mark.parametrize(
    "f",
    [
        lambda z, h: 2 / h * (np.exp(z) - 1) - 2 * z / h,
        lambda z, h: (np.exp(z) - 1) * (h * 2) - z * h * 2,
        lambda z, h: (np.exp(z) - 1) / (0.5 * h) - z / h - z / h,
    ],
)
def test_numbers_beside_a_shared_weight_do_not_hide_the_cancellation(f, h):
    """2/h·f(z) − 2·g(z)/h = (2·f(z) − 2·g(z))/h, a function of z over h."""
    z, by_h = 1e-5, f(1.0, h) / (np.e - 2)
    got = rg.stabilize(f, precise=False)(z, h)
    assert np.allclose(got, by_h * (z**2 / 2 + z**3 / 6 + z**4 / 24), rtol=1e-13, atol=0)
    slope = rg.grad(lambda z, h: np.sum(f(z, h)), precise=False)(z, h)
    assert np.isclose(slope, np.sum(by_h) * np.expm1(z), rtol=1e-13, atol=0)


def test_a_pole_between_parts_that_cancel():
    f = lambda x: np.arctanh(x) / x
    slope = rg.grad(lambda x: np.sum(f(x)))
    x = np.array([0.0, 1e-9])
    assert np.allclose(rg.grad(lambda x: np.sum(slope(x)))(x), 2 / 3, rtol=1e-14)


def test_a_divisor_by_name_beside_a_weight():
    w, x = np.array([1.0, -0.5]), np.array([0.0, 1e-9])
    f = lambda x: x / (np.exp(x) - 1)
    assert np.allclose(rg.grad(lambda x: np.sum(w * f(x)))(x), w * (x / 6 - 0.5), rtol=1e-14)


AT_INFINITY = {
    "x·sin(1/x) − 1": (lambda m, x: x * m.sin(1 / x) - 1, True),
    "x·log(1 + 1/x) − 1": (lambda m, x: x * m.log(1 + 1 / x) - 1, True),
    "cos(2/x) − (1 − 1/x)^(1 − 1/x)": (lambda m, x: m.cos(2 / x) - (1 - 1 / x) ** (1 - 1 / x), True),
    "sinh(1/x)/tan(1/x) − 1": (lambda m, x: m.sinh(1 / x) / m.tan(1 / x) - 1, True),
    "e^(−1/x²) + 1/x² − 1": (lambda m, x: m.exp(-1 / x**2) + x**-2 - 1, True),
    "sin x + 1/x": (lambda m, x: m.sin(x) + 1 / x, False),  # no function of 1/x
}


@pytest.mark.parametrize("name", AT_INFINITY)
def test_what_cancels_at_infinity_is_a_series_in_the_reciprocal(name):
    f, found = AT_INFINITY[name]
    program = lambda x: f(np, x)
    assert ("series" in [step.name for step in rg.stabilize(program).explain(1e5).derivation.steps]) is found
    with mp.workdps(60):
        for x in (-3e5, 51146.885, 3.0) if found else ():
            for order, got in enumerate((rg.stabilize(program)(x), rg.grad(program)(x))):
                want = mp.diff(lambda x: f(mp, x), mp.mpf(x), order)
                assert abs(mp.mpf(float(got)) - want) <= 2.0**-45 * abs(want), (x, order)


def test_a_function_that_is_constant_has_the_shape_of_its_argument():
    x = as_term(Tracer(argument())).op.make_node()
    t = as_term(np.ones((2, 3)))
    constant = as_term(2.0 * np.ones(()))
    assert series_module.applied(constant, x, t).type.shape == (2, 3)


def test_a_formula_is_watched_far_from_the_point_of_its_series():
    library = [row for row in rg.LIBRARY if row.name != "root_plus_what_it_is_near"]
    x = np.array([-1e10, -1e5, -0.1, 1e-9, 0.5, 1e10])
    arcsinh = rg.stabilize(lambda x: np.log(x + np.sqrt(x**2 + 1)), relations=library)
    np.testing.assert_allclose(arcsinh(x), np.arcsinh(x), rtol=1e-15)
    assert "near(" in arcsinh.source(x) and "cancels_at(" in arcsinh.source(x)
    calm = rg.stabilize(lambda x: (np.exp(x) - 1 - x) / x**2)
    assert "near(" in calm.source(x) and "cancels" not in calm.source(x)


def test_the_formula_of_a_series_is_computed_for_many_entries():
    """Ops of a formula that write no source are made for a number, and applied to arrays."""

    def fun(x: Any) -> Any:
        gap = np.arccos(np.cos(x)) - np.abs(x)
        size = np.degrees(np.arctan2(gap, -1.0)) * np.sqrt(gap**2)
        root = np.sqrt((np.arctan2(size, x)) ** 2 + 1)
        return np.sum(np.where(root >= 2, np.cos(root), np.log1p(root**2)) - np.cos(root))

    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        rg.grad(fun)(np.linspace(-2, 2, 7))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda r, t: (np.exp(-r * t) - 1 + r * t) / (r**2 * t), 0.9999999993333333),
        (lambda r, t: t - (1 - np.exp(-r * t)) / r, 1.999999998666667e-09),
        (lambda r, t: 3 * r * t - 3 * np.sin(t * r), 4e-27),
    ],
)
def test_multiples_and_powers_of_one_product_are_functions_of_it(function, expected):
    f = rg.stabilize(function, precise=False)
    assert "along_line" not in f.source(1e-9, 2.0)
    np.testing.assert_allclose(f(1e-9, 2.0), expected, rtol=1e-15)


OF_ONE_DEGREE = {
    "arctan(h/z)/h": lambda m, h, z: m.arctan(h / z) / h - 1 / z,
    "z·arctan(h/z)/h": lambda m, h, z: z * m.arctan(h / z) / h - 1,
    "exp(h/z)/h": lambda m, h, z: m.exp(h / z) / h - 1 / z - 1 / h,
    "sin(h·z)/h": lambda m, h, z: m.sin(h * z) / h - z,
    "exp(h·z)/(h·z²)": lambda m, h, z: m.exp(h * z) / (h * z**2) - 1 / z - 1 / (h * z**2),
    "(1 - cos(h·z))/h²": lambda m, h, z: (1 - m.cos(h * z)) / h**2 - z**2 / 2,
    "a sum as a factor": lambda m, h, z: m.arctan(h / z) * (1 + z * m.arctan(h / z) ** 2) / h - 1 / z,
}
"""Sums of one degree in h and z, beside functions of their product or quotient: 0 at h = 0."""


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("name", OF_ONE_DEGREE)
def test_a_sum_of_one_degree_is_a_function_of_a_quotient(name, precise):
    """f(h/z)/h − 1/z = (1/z)·(f(u)/u − 1), u = h/z: in powers of u, what cancels is a function of one term."""
    f = OF_ONE_DEGREE[name]
    h, z = np.broadcast_arrays(np.array([[1e-9], [-1e-4], [0.02], [1.0]]), np.array([2.0, 0.7]))
    with mp.workdps(80):
        at = lambda n: np.vectorize(lambda x, y: float(mp.diff(lambda *p: f(PRECISE, *p), (x, y), n)))(h, z)
        values, *slopes = map(at, [(0, 0), (1, 0), (0, 1)])
    value = rg.stabilize(lambda h, z: f(np, h, z), precise=precise)
    for part in (np.s_[:, :], np.s_[:1, :], np.s_[1], np.s_[1:2, :1], np.s_[2, 0]):
        np.testing.assert_allclose(value(h[part], z[part]), values[part], rtol=1e-14)
    np.testing.assert_allclose(value(h[:, :1], z[0]), values, rtol=1e-14)
    np.testing.assert_allclose(value(h[:, 0], 2.0), values[:, 0], rtol=1e-14)
    np.testing.assert_array_equal(value(np.zeros(2), 2.0), np.zeros(2))
    found = rg.grad(lambda h, z: np.sum(f(np, h, z)), argnums=(0, 1), precise=precise)(h, z)
    np.testing.assert_allclose(found, slopes, rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "at_zero", "slope", "bend"),
    [
        (lambda u: np.log(1 - np.exp(-u)) - np.log(u), 0, -1 / 2, 1 / 12),
        (lambda u: np.log(u - np.sin(u)) - 3 * np.log(u), -np.log(6), 0, -1 / 10),
        (lambda u: np.log(np.cosh(u) - 1) - 2 * np.log(u), -np.log(2), 0, 1 / 6),
        (lambda u: 3 * np.log(u) - np.log(np.exp(u) - 1) - 2 * np.log(np.sin(u)) + u, 0, 1 / 2, 7 / 12),
    ],
)
@pytest.mark.parametrize("u", [1e-300, 1e-12])
def test_logarithms_that_grow_where_their_sum_does_not_have_one_series(f, at_zero, slope, bend, u):
    """log f(u) − k·log u = log(f(u)/uᵏ), at any order; far away each stays, as cosh(u) is out of range."""
    value, first = rg.stabilize(f, precise=False), rg.grad(f, precise=False)
    np.testing.assert_allclose(value(u), at_zero + slope * u + bend * u**2 / 2, rtol=1e-15)
    np.testing.assert_allclose(first(u), slope + bend * u, rtol=1e-14)
    np.testing.assert_allclose(rg.grad(rg.grad(f), precise=False)(u), bend, rtol=1e-13)
    np.testing.assert_allclose(first(30.0), rg.grad(f, strategy="naive")(30.0), rtol=1e-13)


def test_a_multiple_of_a_logarithm_meets_the_power():
    """k·log x = log xᵏ beside xᵏ: log(1 − exp(−xᵏ)) − k·log x is a function of xᵏ."""
    f = lambda x, k: np.sum(np.log(1 - np.exp(-(x**k))) - k * np.log(x))
    x, k = np.array([1e-5, 1e-9, 0.5]), 3.0
    u = x**k
    want = np.log(-np.expm1(-u) / u)
    want[:2] = -u[:2] / 2
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, k), want.sum(), rtol=1e-14)
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(x[:1], k), want[0], rtol=1e-14)
    np.testing.assert_allclose(rg.grad(f, precise=False)(x, k)[:2], -1.5 * x[:2] ** 2, rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("legs", [2, 3])
def test_squares_of_legs_are_that_of_the_hypotenuse(legs, shape):
    """x² + y² = h² beside h = hypot(x, y): (1 − cos h)/h² is a function of h, and so are its slopes."""

    def f(*xs: Any) -> Any:
        t = np.sqrt(sum(x**2 for x in xs))
        return np.sum((1 - np.cos(t)) / t**2)

    xs = [np.full(shape, x) for x in (1e-8, 2e-8, -1e-8)[:legs]]
    slopes = rg.grad(f, argnums=tuple(range(legs)), precise=False)(*xs)
    for slope, x in zip(slopes, xs, strict=True):
        np.testing.assert_allclose(slope, -x / 12, rtol=1e-14)
    twice = rg.grad(lambda *xs: np.sum(rg.grad(f)(*xs)), precise=False)(*xs)
    np.testing.assert_allclose(twice, np.full(shape, -1 / 12), rtol=1e-12)


def test_what_stands_behind_a_variable_of_differentiation_has_one_series():
    """∂u/∂u·d = d for u = log(max(exp(x), 1/2)), which becomes a series: the same u in the value and the variable."""
    u = lambda x: np.log(np.clip(np.exp(x), 0.5, None))
    x = np.array([0.65, -1.97, 0.01])
    tangent = rg.stabilize(lambda x: rg.jvp(lambda v: v, (u(x),), (u(x),))[1], validate=False)
    np.testing.assert_allclose(tangent(x), u(x), rtol=1e-13)
    slope = rg.stabilize(lambda x: rg.grad(lambda v: np.sum(v**2))(u(x)), validate=False)
    np.testing.assert_allclose(slope(x), 2 * u(x), rtol=1e-13)


def test_lengths_and_guards_look_at_arrays_that_move_and_at_one_of_several_results():
    """A branch that reads entries elsewhere is no function of a number; NaN of an op's second result is no point."""

    def moved(x: Any) -> Any:
        t = np.exp(np.log(np.linalg.norm(x, axis=(0, 1)) + 1).mean())
        return np.sum(np.log(t.reshape(-1, 1) + t.ravel()))

    def second(x: Any) -> Any:
        size = np.linalg.slogdet(np.eye(3) + np.outer(x, x))[1]
        return np.sum(np.hypot(np.nansum(size[None], 0), x))

    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        rg.grad(moved)(np.ones((3, 2)))
        rg.grad(second)(np.ones(3))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_summand_that_stands_several_times_counts_each_time(times):
    def f(x, t):
        total = -(t * np.exp(x))
        for _ in range(times):
            total = total + t
        return total

    for x in (0.3, 1e-9, -2.0):
        want = 1.7 * (times - 1 - np.expm1(x))
        assert abs(rg.stabilize(f, validate=False)(x, 1.7) - want) <= 1e-14 * abs(want)
    slope = rg.jvp(lambda x: np.expm1(x - (np.exp(x) - x)), (0.3,), (1.0,), validate=False)[1]
    assert abs(slope - (2 - np.exp(0.3)) * np.exp(0.6 - np.exp(0.3))) < 1e-15


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("ratio", [8.0, 14.0, 20.0, 25.7])
def test_a_series_ends_before_a_narrow_feature_that_its_coefficients_do_not_show(ratio, precise):
    """1/(1 + x) + e^(−((x − c)/w)²): at 0 the second part, and all of its first derivatives, are below all floats."""
    centre = 9.2294e-4
    width = centre / ratio
    part = lambda x: 1 / (1 + x) + np.exp(-(((x - centre) / width) ** 2))
    slope = rg.stabilize(lambda x: (part(x) - part(-x)) / (2 * x), precise=precise)
    for x in centre + width * np.array([0.0, 0.4, -0.9, 3.0]):
        expected = -1 / (1 - x * x) + np.exp(-(((x - centre) / width) ** 2)) / (2 * x)
        assert slope(x) == pytest.approx(expected, rel=1e-10)


def test_summands_of_one_term_stand_together_beside_others():
    """y² + eˣ − 1 − x: the function of x is looked at by itself."""
    f = rg.stabilize(lambda x, y: y**2 + np.exp(x) - 1 - x, precise=False)
    assert f(1e-9, 1e-9) == pytest.approx(1.5e-18, rel=1e-9)
    g = rg.stabilize(lambda x, y: np.sum(y**2 - x + np.log(1 + x)), precise=False)
    assert g(np.array([1e-9, 1.0]), np.array([0.0, 0.0])) == pytest.approx(np.log(2) - 1)
    assert g(np.array([1e-9]), np.array([1e-9])) == pytest.approx(5e-19, rel=1e-8)


def test_a_formula_of_what_is_computed_is_watched_where_it_vanishes():
    """log((1 + r)/(1 − r)), a series near r = 0, of r that rounds to 1."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 4.0, 6.0, 8.0 + 2e-8])

    def fisher(x, y):
        u, v = x - np.mean(x), y - np.mean(y)
        r = np.sum(u * v) / np.sqrt(np.sum(u * u) * np.sum(v * v))
        return np.log((1 + r) / (1 - r)) / 2

    with mp.workdps(60):
        u, v = ([mp.mpf(float(a)) - sum(map(mp.mpf, map(float, z))) / 4 for a in z] for z in (x, y))
        dot = lambda a, b: mp.fsum(p * q for p, q in zip(a, b, strict=True))
        want = float(mp.atanh(dot(u, v) / mp.sqrt(dot(u, u) * dot(v, v))))
    assert rg.stabilize(fisher)(x, y) == pytest.approx(want, rel=1e-14)


def test_a_choice_has_the_series_of_the_branch_that_is_taken():
    """where(x > 0, x², ∞) at 1 → 1 + 2·t + t²: the other branch, a constant or not, need not have one."""
    x = argument()
    for other in (np.inf, np.nan, np.log(Tracer(x) - 1)):
        found = Around(x, 1.0, 4).expand(as_term(np.where(Tracer(x) > 0, Tracer(x) ** 2, other)))
        assert [float(c) for c in found.numbers] == [1, 2, 1]


M, NEAR_ONE = np.array([1e-9, 1e-10, 1e-11]), np.array([1 + 1e-9, 1 - 1e-9, 1.0])
HALF_SQUARES = (NEAR_ONE - 1) ** 2 / 2


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda m, s: m + s - 1 - np.log(s), M + HALF_SQUARES),
        (lambda m, s: m**2 + s**2 - 1 - np.log(s**2), M**2 + 4 * HALF_SQUARES),
        (lambda m, s: m**2 - 2 * np.log(s) + s**2 - 1, M**2 + 4 * HALF_SQUARES),
        (lambda m, s: m**2 + np.exp(s - 1) - 1 - (s - 1), M**2 + HALF_SQUARES),
    ],
)
def test_a_number_goes_with_the_summands_that_it_cancels(f, want):
    """μ² + s² − 1 − log s² loses s² − 1 − log s² = 2·(s − 1)² + … near s = 1, and μ² is beside that, not μ² − 1."""
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(M, NEAR_ONE), want, rtol=1e-6)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_relations_see_into_a_series(strategy):
    """√(max(x, 0)²·u) has slope 0·∞ at x < 0 by its rules; the kink of u = |log|x|| + ¹⁄₁₀ at −1 hides no relation."""

    def f(x):
        return np.sum(np.sqrt(np.maximum(x, 0) ** 2 * (abs(np.log(abs(x))) + 0.1)))

    x = np.array([-1.5, 0.7, -0.3, -1.0])
    u = abs(np.log(0.7)) + 0.1
    want = np.array([0, np.sqrt(u) - 0.5 / np.sqrt(u), 0, 0])
    slope = rg.grad(f, strategy=strategy)
    np.testing.assert_allclose(slope(x), want, rtol=1e-14)
    derivation = slope.explain(x).derivation
    assert derivation.replay() == derivation.after
    derivation.verify()


def test_a_series_whose_body_relations_make_a_number_is_that():
    """u/u, of two sums that are one, is a series by the eager strategy before relations see that it is 1."""

    def f(x):
        u = np.exp(x - x)
        return u * (3 * (u.sum(axis=(0, 1), keepdims=True) / u.sum(axis=0, keepdims=True))) ** 1.5

    x = np.array([[0.5], [-2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        found = rg.stabilize(f, strategy="eager")(x)
        slope = rg.grad(lambda x: np.sum(f(x) * x), strategy="eager")
    np.testing.assert_allclose(found, np.full((2, 1), 3**1.5), rtol=1e-14)
    np.testing.assert_allclose(slope(x), np.full((2, 1), 3**1.5), rtol=1e-14)


def test_relations_that_would_bring_arrays_into_a_body_leave_it():
    """log|e^(x/2)·x/(eˣ·x − ½)| and its exponentials: in the log domain a body would stack what stands for x."""

    def f(x):
        u = np.log(abs(np.exp(x / 2) * x / (np.exp(x) * x - 0.5)))
        v = u - u.mean()
        return x * np.sqrt(np.exp(v).sum() + np.exp(v).sum())

    x, w = np.array([[2.5, -0.6, 0.7], [0.6, -0.5, -0.4]]), np.array([[1.0, -2.0, 0.3], [0.5, 0.7, -0.2]])

    def second(how):
        slope = rg.grad(lambda x: np.sum(w * f(x)), strategy=how)
        return rg.grad(lambda x: np.sum(w * slope(x)), strategy=how)(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.RelgradWarning)
        np.testing.assert_allclose(second("eager"), second("default"), rtol=1e-9)


EVEN_IN_A_ROOT = {
    "1 - sinc √x": lambda m, x: (1 - m.sin(m.sqrt(x)) / m.sqrt(x)) / x,
    "stumpff": lambda m, x: (m.sqrt(x) - m.sin(m.sqrt(x))) / m.sqrt(x) ** 3,
    "x^1.5": lambda m, x: (m.exp(m.sqrt(x)) - m.exp(-m.sqrt(x))) / m.sqrt(x) ** 3 - 2 / x,
}


@pytest.mark.parametrize("name", EVEN_IN_A_ROOT)
def test_what_is_even_in_a_root_is_a_series_in_its_square(name):
    """(1 − sin √x/√x)/x = 1/6 − x/120 + …: no net is needed beside 0, nor at a moderate x; left of 0 nothing is."""
    f = EVEN_IN_A_ROOT[name]
    for order, program in enumerate(_programs(f, precise=False)):
        for x in (1e-14, 3e-6, 1e-3, 0.03, 0.2, 0.5):
            exact = _exact(f, x, order)
            assert abs(mp.mpf(float(program(x))) - exact) < ULP * 2.0**-53 * abs(exact)
        assert math.isclose(program(0.0), float(_exact(f, 1e-40, order)), rel_tol=1e-14)
        assert np.isnan(program(-1e-3))
        if order == 0:
            several = program(np.array([[1e-9, 0.3]]))
            assert np.allclose(several, [[program(1e-9), program(0.3)]], rtol=1e-14, atol=0)


def test_a_sum_of_squares_with_weights_is_the_square_of_a_root():
    """x² + 1e-14·y² is no hypotenuse of x and y; 1 − sinc of its root has a series all the same."""

    def f(x, y):
        t = np.sqrt(x**2 + 1e-14 * y**2)
        return (1 - np.sin(t) / t) / t**2 * x

    assert math.isclose(rg.stabilize(f, precise=False)(1e-7, 3.0), 1e-7 / 6, rel_tol=1e-14)
    slopes = rg.grad(f, argnums=(0, 1), precise=False)(1e-7, 3.0)
    assert np.allclose(slopes, (1 / 6, -1e-7 * 3e-14 / 60), rtol=1e-13, atol=0)


@pytest.mark.parametrize("left", [7.0, np.nan])
def test_another_function_left_of_a_root_stays(left):
    f = lambda x: np.where(x > 0, (1 - np.cos(np.sqrt(np.abs(x)))) / x, left)
    assert np.array_equal(rg.stabilize(f)(-1e-6), left, equal_nan=True)
    assert math.isclose(rg.stabilize(f)(1e-6), 0.5 - 1e-6 / 24, rel_tol=1e-14)
    g = lambda x: np.where(x > 0, (1 - np.sin(np.sqrt(x)) / np.sqrt(x)) / x, left)
    assert np.array_equal(rg.stabilize(g)(-1e-6), left, equal_nan=True)
    assert math.isclose(rg.stabilize(g)(1e-6), 1 / 6 - 1e-6 / 120, rel_tol=1e-14)


OVER_A_FACTOR: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "log1p(x·y)/x": (lambda x, y: np.log1p(x * y) / x, lambda x, y: y - x * y**2 / 2),
    "y·(e^(x·y) − 1)/x": (lambda x, y: y * (np.exp(x * y) - 1) / x, lambda x, y: y**2 + x * y**3 / 2),
    "(1 − cos(x·y))/x²": (lambda x, y: (1 - np.cos(x * y)) / x**2, lambda x, y: y**2 / 2 - x**2 * y**4 / 24),
    "(√(1 + x·y) − 1)/x": (lambda x, y: (np.sqrt(1 + x * y) - 1) / x, lambda x, y: y / 2 - x * y**2 / 8),
    "tanh(x·y)/y/x": (lambda x, y: np.tanh(x * y) / y / x, lambda x, y: 1 - (x * y) ** 2 / 3),
    "Σ sin(x·y)/x": (lambda x, y: np.sum(np.sin(x * y) / x), lambda x, y: np.sum(y - x**2 * y**3 / 6)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OVER_A_FACTOR)
@pytest.mark.parametrize("x", [0.0, 1e-9, -1e-300, np.array([[0.0], [1e-10]])])
def test_a_function_of_a_product_over_one_factor(name, x):
    f, near = OVER_A_FACTOR[name]
    for y in (0.7, np.array([0.3, -2.0, 1e-5])):
        np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, y), near(x, y), rtol=1e-15)
        whole = lambda x, y: np.sum(np.cos(f(x, y)))
        slope = rg.grad(whole, precise=False)(x, y)
        full = np.broadcast_shapes(np.shape(x), np.shape(y))
        spread = lambda x, y=y, full=full: np.sum(np.cos(near(np.broadcast_to(x, full), y)))
        step = 1e-6
        want = (spread(x + step) - spread(x - step)) / (2 * step)
        assert np.sum(slope) == pytest.approx(want, rel=1e-5, abs=1e-9)


def test_a_function_that_is_not_zero_at_zero_keeps_its_divisor():
    f = rg.stabilize(lambda x, y: np.exp(x * y) / x, precise=False)
    assert f(0.5, 0.0) == 2.0
    assert rg.stabilize(lambda x, y: np.cos(x * y) / x - 1 / x, precise=False)(0.5, 0.0) == 0.0


@pytest.mark.parametrize("m", [1e-4, 1.0, 300.0])
@pytest.mark.parametrize("r", [1e-12, 1e-5, 0.3, 2.0])
def test_a_product_of_a_sum_is_multiplied_out_where_that_is_a_function_of_one_term(m, r):
    """(1/r² + m/r)·e^(−m·r) − 1/r²: the force of Yukawa's potential less that of Coulomb's, also with −m·r."""
    for f in (
        lambda r, m: (1 / r**2 + m / r) * np.exp(-m * r) - 1 / r**2,
        lambda r, m: (1 / r + m) * np.exp(-r * m) / r - 1 / r**2,
    ):
        with mp.workdps(60):
            u = mp.mpf(m) * mp.mpf(r)
            want = float((mp.exp(-u) * (1 + u) - 1) / mp.mpf(r) ** 2)
        assert rg.stabilize(f, precise=False)(r, m) == pytest.approx(want, rel=1e-14)


TWICE = {
    "x·log x - x + 1": (1, lambda m, x: x * m.log(x) - x + 1),
    "x·log(x/7) - x + 7": (7, lambda m, x: x * m.log(x / 7) - x + 7),
    "1/x + x - 2": (1, lambda m, x: 1 / x + x - 2),
    "x + 4/x - 4": (2, lambda m, x: x + 4 / x - 4),
    "x³ - 3·x + 2": (1, lambda m, x: x**3 - 3 * x + 2),
    "√x - 2 - (x - 4)/4": (4, lambda m, x: m.sqrt(x) - 2 - (x - 4) / 4),
    "(x·log x - x + 1)/(1/x + x - 2)": (1, lambda m, x: (x * m.log(x) - x + 1) / (1 / x + x - 2)),
    "x·tanh(x - 3) - 3·x + 9": (3, lambda m, x: x * m.tanh(x - 3) - 3 * x + 9),
}


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("step", [1e-3, -1e-5, 1e-7])
def test_what_vanishes_twice_at_a_number_has_a_series_there(name, step):
    """A double zero is found though no part of the function shows it; its slope is that of a simple one."""
    zero, f = TWICE[name]
    x = zero + step
    value, *slopes = [float(h(x)) for h in _programs(f, precise=False)]
    assert value == pytest.approx(float(_exact(f, x, 0)), rel=ULP * 2.0**-52)
    for order, slope in enumerate(slopes, 1):
        assert slope == pytest.approx(float(_exact(f, x, order)), rel=2.0**-45 / abs(step))


FAR = {
    "erf(x·y)/x": (
        lambda x, y: scipy.special.erf(x * y) / x,
        lambda x, y: 2 / mp.sqrt(mp.pi) * mp.exp(-((x * y) ** 2)),
    ),
    "tanh(x·y)/x": (lambda x, y: np.tanh(x * y) / x, lambda x, y: mp.sech(x * y) ** 2),
    "(1 - (1 + x·y)·e^(−x·y))/x²": (
        lambda x, y: (1 - (1 + x * y) * np.exp(-x * y)) / x**2,
        lambda x, y: y * mp.exp(-x * y),
    ),
}


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("precise", [True, False])
def test_what_series_leave_of_each_other_is_one_function(name, precise):
    """h(u) + u·h′(u) of the series h of erf(u)/u is erf′(u): both cancel where u is large."""
    f, exact = FAR[name]
    slope = rg.grad(f, 1, precise=precise)
    for x, y in ((1.0, 20.0), (0.5, 16.0), (2.0, 1.5), (1e-3, 0.7), (0.0, 3.0)):
        with mp.workdps(400):
            want = float(exact(mp.mpf(x), mp.mpf(y)))
        assert float(slope(x, y)) == pytest.approx(want, rel=2.0**-44)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x**3 * np.log(x) - x**3 + x * x,
        lambda x: x * np.log(x) / (x - 1),
        lambda x: x**3 * np.log(x) + (1 - np.cos(x + 1)) / (x + 1) ** 2,
        lambda x: np.sum(x**3 * np.log(x)) + (1 - np.cos(x)) / x**2,
        lambda x: scipy.special.kl_div(x * x * x, x * x),
    ],
)
def test_a_log_without_weight_is_zero_beside_and_beyond_series(fun):
    x = np.array([0.0, 0.7])
    for how in ({}, {"validate": False}):
        got, tiny = rg.stabilize(fun, **how)(x), rg.stabilize(fun, **how)(np.array([1e-12, 0.7]))
        np.testing.assert_allclose(got, tiny, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda m, k, h: m.sin(k * h) / (3 * k * k) - h / (3 * k),
        lambda m, k, h: 2.5 * k * k * m.tanh(k * h) - 2.5 * k * k * k * h,
        lambda m, k, h: 9.81 * (k + 1) * m.tanh((k + 1) * h) - 9.81 * (k + 1) * (k + 1) * h,
        lambda m, k, h: (k + 1) ** 3 * h - (k + 1) ** 2 * m.sin((k + 1) * h),
    ],
)
@pytest.mark.parametrize("k", [1e-3, 0.5])
@pytest.mark.parametrize("h", [2e-3, -7.0])
def test_multiples_of_powers_of_a_factor_are_powers_of_the_product(f, k, h):
    """2.5·k²·tanh(k·h) − 2.5·k³·h = 2.5·k²·(tanh u − u), u = k·h"""
    with mp.workdps(60):
        truth = float(f(mp, mp.mpf(k), mp.mpf(h)))
    found = rg.stabilize(lambda k, h: f(np, k, h), precise=False)
    assert found(k, h) == pytest.approx(truth, rel=4e-15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_summands_beside_a_function_of_a_negated_product_keep_their_sign(sign):
    """w·(B − t) − B²/a, B = (1 − e^(−a·t))/a: the second is no function of −a·t alone, and stands as it is."""

    def yield_of(a, w, t):
        b = (1 - np.exp(-a * t)) / a
        return w * (b - t) + sign * b * b / (4 * a)

    a, w, t = 0.7, 0.3, 2.0
    assert rg.stabilize(yield_of, precise=False)(a, w, t) == pytest.approx(yield_of(a, w, t), rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_functions_of_a_negated_product_over_its_factors_keep_their_sign(k):
    """f(−a·t)/aᵏ = f(u)/uᵏ·(−t)ᵏ, u = −a·t: a quotient by factors is one by powers of −1, too."""

    def over_powers(a, t, np=np):
        return (np.expm1(-a * t) / a + t) / a**k

    a, t = 0.7, 1.2
    with mp.workdps(40):
        truth = [float(mp.diff(lambda *p: over_powers(*p, mp), (a, t), n)) for n in ((1, 0), (0, 1))]
    for how in ({}, {"strategy": "eager"}):
        found = rg.grad(over_powers, (0, 1), validate=False, precise=False, **how)(a, t)
        assert found == pytest.approx(truth, rel=1e-13)
