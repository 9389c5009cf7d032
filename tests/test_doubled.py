"""Doubled arithmetic: error-free transformations, functions with their bounds, and programs that are mended by them."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

import relgrad as rg
from relgrad.kernels import cancels
from relgrad.kernels.doubled import eft
from relgrad.kernels.doubled.number import Doubled, Undecided

mild = st.floats(-1e60, 1e60, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-60)


def exact(x: Doubled) -> list[Any]:
    return [
        mpf(float(a)) + mpf(float(b))
        for a, b in zip(*[np.broadcast_to(p, x.shape).ravel() for p in x.pair], strict=True)
    ]


def total(x: eft.Pair) -> Fraction:
    return Fraction(float(x[0])) + Fraction(float(x[1]))


@given(mild, mild)
def test_what_rounding_takes_is_kept(a: float, b: float) -> None:
    assert total(eft.two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert total(eft.two_product(a, b)) == Fraction(a) * Fraction(b)
    assert total(eft.two_square(a)) == Fraction(a) ** 2
    assert total(eft.split(a)) == Fraction(a)
    assert eft.two_sum(a, b)[0] == a + b
    assert eft.two_product(a, b)[0] == a * b


@given(st.lists(mild, min_size=4, max_size=4), st.sampled_from(["add", "subtract", "multiply", "divide"]))
def test_results_lie_within_their_bounds(parts: list[float], name: str) -> None:
    x, y = [Doubled.of(a) + Doubled.of(b) for a, b in (parts[:2], parts[2:])]
    left, right = [Fraction(a) + Fraction(b) for a, b in (parts[:2], parts[2:])]
    if name == "divide" and not right:
        return
    got = getattr(np, name)(x, y)
    truth = {
        "add": left + right,
        "subtract": left - right,
        "multiply": left * right,
        "divide": left / right if right else Fraction(0),
    }[name]
    assert abs(total(got.pair) - truth) <= Fraction(float(got.bound))


AROUND = np.array([-7.25, -1.5, -0.3, -1e-9, 1e-12, 0.2, 0.9999, 1.0001, 2.5, 11.0])
WITHIN = np.array([-0.9999, -0.4, 1e-10, 0.5, 0.98])
BEYOND = np.array([1e-300, 1e-6, 0.7, 1.0 + 1e-9, 3.0, 40.0, 1e200])


@pytest.mark.parametrize(
    ("function", "oracle", "at"),
    [
        (np.exp, mpmath.exp, AROUND),
        (np.exp2, lambda x: mpf(2) ** x, AROUND),
        (np.expm1, mpmath.expm1, AROUND),
        (np.log, mpmath.log, BEYOND),
        (np.log2, lambda x: mpmath.log(x, 2), BEYOND),
        (np.log10, mpmath.log10, BEYOND),
        (np.log1p, mpmath.log1p, np.r_[WITHIN, BEYOND]),
        (np.sin, mpmath.sin, np.r_[AROUND, math.pi, 1e4]),
        (np.cos, mpmath.cos, np.r_[AROUND, math.pi / 2, 1e4]),
        (np.tan, mpmath.tan, AROUND),
        (np.arcsin, mpmath.asin, WITHIN),
        (np.arccos, mpmath.acos, WITHIN),
        (np.arctan, mpmath.atan, AROUND),
        (np.sinh, mpmath.sinh, AROUND),
        (np.cosh, mpmath.cosh, AROUND),
        (np.tanh, mpmath.tanh, AROUND),
        (np.arcsinh, mpmath.asinh, AROUND),
        (np.arccosh, mpmath.acosh, BEYOND[3:6]),
        (np.arctanh, mpmath.atanh, WITHIN),
        (np.sqrt, mpmath.sqrt, BEYOND),
        (np.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), AROUND),
        (np.reciprocal, lambda x: 1 / x, AROUND),
        (sp.expit, lambda x: 1 / (1 + mpmath.exp(-x)), AROUND),
        (sp.logit, lambda x: mpmath.log(x / (1 - x)), np.abs(WITHIN)),
        (sp.entr, lambda x: -x * mpmath.log(x), BEYOND),
        (sp.erf, mpmath.erf, AROUND),
        (sp.erfc, mpmath.erfc, AROUND),
        (sp.ndtr, mpmath.ncdf, AROUND),
        (sp.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), np.r_[AROUND, -30.0]),
        (sp.gammaln, mpmath.loggamma, BEYOND[[1, 2, 4, 5]]),
        (sp.digamma, mpmath.digamma, BEYOND[1:6]),
    ],
)
def test_functions_lie_within_bounds_that_are_far_below_rounding(function, oracle, at):
    x = Doubled.of(at) + Doubled.of(at * 2.0**-60)
    got = function(x)
    with mpmath.workprec(600):
        for value, bound, a in zip(exact(got), np.broadcast_to(got.bound, at.shape), exact(x), strict=True):
            assert abs(value - oracle(a)) <= bound <= 2.0**-72 * abs(value) + 2.0**-90, (function, a)


@pytest.mark.parametrize("power", [3.0, -2.0, 0.5, 2.75, -0.1])
def test_powers(power):
    got: Any = np.power(Doubled.of(BEYOND[1:6]), power)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with mpmath.workprec(600):
        for value, bound, a in zip(exact(got), got.bound, BEYOND[1:6], strict=True):
            assert abs(value - mpf(float(a)) ** mpf(power)) <= bound <= 2.0**-80 * value


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_sums_and_products_of_matrices_are_right_though_they_cancel(axis):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 5)) * 10.0 ** rng.integers(-12, 12, (6, 5))
    x = np.concatenate([x, -x * (1 + 2.0**-40)])
    got: Any = np.sum(Doubled.of(x), axis=axis)  # pyright: ignore[reportArgumentType, reportCallIssue]
    want = np.vectorize(Fraction, otypes=[object])(x).sum(axis=axis)
    for value, bound, truth in zip(
        np.ravel(got.floats()),
        np.ravel(np.broadcast_to(got.bound, got.shape)),
        np.ravel(np.asarray(want, object)),
        strict=True,
    ):
        assert abs(Fraction(float(value)) - truth) <= Fraction(float(bound)) + abs(truth) / 2**52
    product: Any = Doubled.of(x) @ Doubled.of(x.T)
    assert float(np.max(product.bound / np.abs(product.floats()))) < 1e-25


def test_what_has_no_rule_is_not_believed():
    assert np.isinf(np.i0(Doubled.of(np.array([1.0]))).bound).all()
    with pytest.raises(Undecided):
        float(Doubled.of(1.0))
    with pytest.raises(Undecided):
        np.asarray(Doubled.of(1.0))


def test_what_bounds_leave_open_is_not_decided():
    third = Doubled.of(1.0) / Doubled.of(3.0)
    with pytest.raises(Undecided):
        _ = third * 3.0 == 1.0
    with pytest.raises(Undecided):
        np.floor(third * 3.0)
    assert bool(third > 0.3)
    assert bool(Doubled.of(0.5) == 0.5)


# Programs


def run(text: str, name: str) -> Any:
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return namespace[name]


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=4e-16, atol=0)


B, A, C = 2 + 2.0**-28, 1 + 2.0**-30, 1 + 2.0**-30


def discriminant(a, b, c):
    return b * b - 4 * a * c


def test_a_program_is_computed_again_where_its_digits_cancel():
    f = rg.stabilize(discriminant, precise=True)
    close(f(A, B, C), float(Fraction(B) ** 2 - 4 * Fraction(A) * Fraction(C)))
    entries = np.array([B, 5.0, B])
    close(f(A, entries, C), [float(Fraction(b) ** 2 - 4 * Fraction(A) * Fraction(C)) for b in entries])


def test_rumps_example():
    f = rg.stabilize(lambda x, y: 9 * x**4 - y**4 + 2 * y**2, precise=True)
    assert f(10864.0, 18817.0) == 1


def test_sums_and_areas_of_exact_numbers():
    x = np.array([1e16, 1.0, -1e16, 2.0**-40])
    assert rg.stabilize(lambda x: np.sum(x) * 3.0, precise=True)(x) == 3 * (1 + 2.0**-40)
    y = np.array([1.0, 1e-17, 1.0, -3.0])
    close(
        rg.stabilize(lambda x, y: x @ y, precise=True)(x, y),
        float(sum(Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True))),
    )

    def area(x, y):
        return np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2

    x, y = 1e8 + np.array([0.0, 2e-7, 1e-7]), 1e8 + np.array([0.0, 1e-7, 3e-7])
    exact_ = sum(Fraction(x[i]) * Fraction(y[i - 2]) - Fraction(y[i]) * Fraction(x[i - 2]) for i in range(3))
    close(rg.stabilize(area, precise=True)(x, y), float(exact_ / 2))


def test_gradients_are_computed_as_written():
    def f(x):
        return np.sum(np.log(np.sqrt(x * x + 1) * np.cos(x) + 1e-9 * x))

    x = np.array([1e-5, 0.3])
    got = rg.grad(f, precise=True)(x)
    with mpmath.workdps(40):
        want = [
            mpmath.diff(
                lambda t: mpmath.log(mpmath.sqrt(t * t + 1) * mpmath.cos(t) + mpf(1e-9) * t), mpf(float(a))
            )
            for a in x
        ]
    np.testing.assert_allclose(got, [float(w) for w in want], rtol=1e-14)


def test_float32_is_mended_too():
    f = rg.stabilize(discriminant, precise=True)
    a, b = np.float32(1 + 2.0**-12), np.float32(2 + 2.0**-11)
    got = f(a, b, a)
    assert got.dtype == np.float32
    assert got == np.float32(Fraction(float(b)) ** 2 - 4 * Fraction(float(a)) ** 2)


def test_quotients_of_integers_are_not_taken_for_exact():
    f = rg.stabilize(lambda n, m, x: (n / m) * (n / m) - x, precise=True)
    n, m, x = np.int64(1), np.int64(3), 1 / 9
    assert f(n, m, x) == (n / m) ** 2 - x


def test_nan_and_infinity_stay():
    f = rg.stabilize(lambda a, b, c: np.sqrt(discriminant(a, b, c)), precise=True)
    got = f(A, np.array([np.nan, np.inf, 0.0, B]), C)
    assert np.isnan(got[0]) and got[1] == np.inf and np.isnan(got[2])
    close(got[3], math.sqrt(Fraction(B) ** 2 - 4 * Fraction(A) * Fraction(C)))


def test_what_leaves_the_range_of_floats_besides_is_right():
    f = rg.stabilize(lambda x, y: (x * x * y - 3.0) / (x * x), precise=True)
    close(f(1e200, 2.0), 2.0)
    x, y = 1 + 2.0**-30, 3 - 6 * 2.0**-30
    close(f(x, y), float((Fraction(x) ** 2 * Fraction(y) - 3) / Fraction(x) ** 2))


def test_containers_and_pickles():
    f = rg.stabilize(sums, precise=True)
    found = pickle.loads(pickle.dumps(f))({"b": B, "c": np.array([4 * A * C])})
    assert set(found) == {"d", "s"}
    close(found["d"], [float(Fraction(B) ** 2 - Fraction(4 * A * C))])


def sums(p):
    return {"d": p["b"] * p["b"] - p["c"], "s": p["b"] + 1}


def test_source_by_itself_is_as_precise_and_names_its_guards():
    f = rg.stabilize(discriminant, precise=True)
    text = f.source(A, B, C)
    assert "@precise(by=stabilize_discriminant_as_written, entrywise=True)" in text
    assert "return t2, cancels(t2, t1)" in text
    assert run(text, "stabilize_discriminant")(A, B, C) == f(A, B, C)
    assert "cancels" in str(f.explain(A, B, C))


@pytest.mark.parametrize("how", [{}, {"precise": False}, {"precise": True, "strategy": "naive"}])
def test_it_may_be_switched_off(how):
    f = rg.stabilize(discriminant, **how)
    assert "cancels" not in f.source(A, B, C)
    assert f(A, B, C) == discriminant(A, B, C)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x - y,
        lambda x, y: np.exp(x) + np.exp(y),
        lambda x, y: np.exp(x * 2 - y * 3),
        lambda x, y: np.log(np.sum(np.exp(x))) - np.log(np.sum(np.exp(y))),
        lambda x, y: np.sum(x * x),
        lambda x, y: -np.sum(y * np.log(np.exp(x) / np.sum(np.exp(x)))),
    ],
)
def test_what_cannot_cancel_is_not_watched(f):
    x = np.array([0.5, 1.5])
    assert "cancels" not in rg.stabilize(f, precise=True).source(x, x + 1)


def test_a_single_number_loses_less_than_one_of_many():
    x = np.full(100, 1.0)
    assert cancels(np.float64(0.005), np.float64(1.0))
    assert cancels(0.005 * x, x) is False
    assert np.all(cancels(1e-4 * x, x))


def test_what_is_traced_again_is_the_program_in_floats():
    b = np.array([3.0, 4.0])
    f = run(rg.stabilize(discriminant, precise=True).source(b, b, b), "stabilize_discriminant")
    close(rg.grad(lambda a: np.sum(f(a, a, b)))(b), 2 * b - 4 * b)
