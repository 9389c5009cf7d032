"""Doubled arithmetic: error-free transformations, functions with their bounds, and programs that are mended by them."""

from __future__ import annotations

import math
import pickle
import warnings
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf
from op_table import ROWS
from ordinary_programs import program
from scipy.optimize import minimize

import relgrad as rg
from relgrad import kernels
from relgrad.balls.graph import evaluate
from relgrad.compile.function import compile_program
from relgrad.compile.precise import Literal, as_written
from relgrad.compile.precise import _word as word_of
from relgrad.kernels import cancels, cancels_at, eft, leave_one_out_prod, rounded
from relgrad.kernels.containers import parts
from relgrad.kernels.doubled import elementary
from relgrad.kernels.doubled.named import name_of, written
from relgrad.kernels.doubled.number import BLOCK, Doubled, Undecided, is_open
from relgrad.kernels.doubled.precise import Again
from relgrad.kernels.doubled.products import sliced_product
from relgrad.kernels.extended.number import Extended
from relgrad.kernels.numbers import Twin, lowered
from relgrad.kernels.watched import Drawn
from relgrad.op import Constant
from relgrad.term import subterms
from relgrad.validate import explicit

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
        (np.sin, mpmath.sin, np.r_[AROUND, math.pi, 1e4, 3e5]),
        (np.cos, mpmath.cos, np.r_[AROUND, math.pi / 2, 1e4, -3e5]),
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
        (np.sinc, mpmath.sincpi, AROUND),
        (np.deg2rad, mpmath.radians, AROUND),
        (np.rad2deg, mpmath.degrees, AROUND),
        (sp.rgamma, mpmath.rgamma, BEYOND[[1, 2, 4, 5]]),
        (kernels.log1mexp, lambda x: mpmath.log(-mpmath.expm1(x)), -BEYOND[1:6]),
        (kernels.log_cosh, lambda x: mpmath.log(mpmath.cosh(x)), AROUND[[0, 1, 2, 5, 6, 7, 8, 9]]),
    ],
)
def test_functions_lie_within_bounds_that_are_far_below_rounding(function, oracle, at):
    x = Doubled.of(at) + Doubled.of(at * 2.0**-60)
    got = function(x)
    with mpmath.workprec(600):
        for value, bound, a in zip(exact(got), np.broadcast_to(got.bound, at.shape), exact(x), strict=True):
            assert abs(value - oracle(a)) <= bound <= 2.0**-72 * abs(value) + 2.0**-90, (function, a)


@pytest.mark.parametrize("tail", [0.0, 2.0**-54, -(2.0**-70)])
def test_angles_of_any_size_are_reduced(tail):
    hi = np.array([1e5, -7e9, 1e22, 6381956970095103 * 2.0**797, -1.7e308])
    lo = hi * tail
    sine, cosine = elementary.sincos((hi, lo))
    with mpmath.workprec(1500):
        for (first, rest), oracle in ((sine, mpmath.sin), (cosine, mpmath.cos)):
            for a, b, x, y in zip(first.tolist(), rest.tolist(), hi.tolist(), lo.tolist(), strict=True):
                want = oracle(mpf(x) + mpf(y))
                assert abs(mpf(a) + mpf(b) - want) <= elementary.ERROR * abs(want)
    assert all(np.isnan(part).all() for part in elementary.sincos((np.array([np.inf, np.nan]), 0.0))[0])


@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (sp.beta, mpmath.beta),
        (sp.betaln, lambda x, y: mpmath.log(mpmath.beta(x, y))),
        (np.logaddexp2, lambda x, y: mpmath.log(mpf(2) ** x + mpf(2) ** y, 2)),
        (lambda x, y: kernels.boxcox(x, y, x - 1.0), lambda x, y: mpmath.expm1(y * mpmath.log(x)) / y),
        (kernels.logdiffexp, lambda x, y: mpmath.log(mpmath.exp(x) - mpmath.exp(y))),
    ],
)
def test_functions_of_two_numbers(function, oracle):
    x, y = np.array([3.0, 0.7, 40.0]), np.array([0.5, 0.6999, 2.25])
    got: Any = function(Doubled.of(x), Doubled.of(y))
    with mpmath.workprec(600):
        for value, bound, a, b in zip(exact(got), got.bound, x, y, strict=True):
            assert (
                abs(value - oracle(mpf(float(a)), mpf(float(b)))) <= bound <= 2.0**-72 * abs(value) + 2.0**-90
            )


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


def doubled(rng: np.random.Generator, shape: tuple[int, ...], spread: int, pairs: bool) -> Doubled:
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-spread, spread + 1, shape)
    if not pairs:
        return Doubled(np.round(x * 8))
    high, low = eft.fast_two_sum(x, x * 2.0**-53 * rng.uniform(-1, 1, shape))
    return Doubled(high, low, 2.0**-100 * np.abs(x))


def fractions(x: Doubled) -> Any:
    whole = np.vectorize(lambda a, b: Fraction(float(a)) + Fraction(float(b)), otypes=[object])
    return whole(*x.parts[:2])


@pytest.mark.parametrize("spread", [0, 3, 60])
@pytest.mark.parametrize("pairs", list(product([False, True], repeat=2)))
def test_products_by_slices_lie_within_their_bounds(spread, pairs):
    for seed, shapes in enumerate(
        [((3, 40), (40, 2)), ((2, 3, 5), (2, 5, 4)), ((1, 1), (1, 3)), ((2, 300), (300, 1))]
    ):
        rng = np.random.default_rng(seed)
        a, b = [doubled(rng, s, spread, p) for s, p in zip(shapes, pairs, strict=True)]
        got, want = sliced_product(a, b), fractions(a) @ fractions(b)
        errors = np.abs(fractions(got) - want)
        assert np.all(
            errors <= np.vectorize(Fraction, otypes=[object])(np.broadcast_to(got.bound, got.shape))
        )
        if spread == 0:
            assert np.median(got.bound / np.abs(got.hi)) < 1e-24


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "shapes",
    [((40, 50), (50, 30)), ((3, 20, 30), (30, 20)), ((2, 1, 20, 30), (3, 30, 9)), ((9000,), (9000,))],
)
def test_entries_of_large_products_that_slices_leave_open_are_computed_by_themselves(shapes):
    rng = np.random.default_rng(0)
    a, b = [rng.normal(size=s) * 2.0 ** rng.integers(-300, 300, s) for s in shapes]
    got: Any = Doubled(a) @ Doubled(b)
    want = fractions(Doubled(a)) @ fractions(Doubled(b))
    assert got.shape == np.shape(want)
    assert not np.any(is_open(got))
    assert np.array_equal(got.floats(), np.asarray(want, object).astype(float))


def test_what_has_no_rule_is_not_believed():
    i0: Any = lambda n: np.i0(Doubled.of(np.ones(n)))
    known, unknown = i0(2), i0(1 << 17)
    assert np.isinf(unknown.bound).all() and np.all(known.bound < 1e-30)
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
    with pytest.raises(Undecided):
        third.astype(np.float32)
    assert (Doubled.of(0.1).astype(np.float32) == np.float32(0.1)).all()
    assert bool(third > 0.3)
    assert bool(Doubled.of(0.5) == 0.5)


def test_numbers_that_rules_round_are_known_or_have_the_error_of_rounding():
    for constant, truth in (
        (math.log(2), lambda: mpmath.log(2)),
        (-math.log(10), lambda: -mpmath.log(10)),
        (math.pi / 180, lambda: mpmath.pi / 180),
        (-math.pi / 2, lambda: -mpmath.pi / 2),
        (math.log(math.tau) / 2, lambda: mpmath.log(2 * mpmath.pi) / 2),
        (2 / math.sqrt(math.pi), lambda: 2 / mpmath.sqrt(mpmath.pi)),
        (float(np.float32(2.5066282746310007)), lambda: mpmath.sqrt(2 * mpmath.pi)),
        (1 / 3, lambda: mpf(1) / 3),
        (float(np.float32(1 / 3)), lambda: mpf(1) / 3),
    ):
        got: Any = Doubled.functions[rounded](constant)
        with mpmath.workdps(60):
            assert abs(exact(got)[0] - truth()) <= got.bound
    assert Doubled.functions[rounded](math.log(2)).bound < 1e-30
    assert Doubled.functions[kernels.given](1 / 3).exact


# Programs


def in_doubled(fun: Any, args: Any) -> tuple[list[Any], Any]:
    """Return a function's results as written, in doubled arithmetic, and the trace."""
    traced = fun._traced(args, {})
    expand = partial(explicit, conventions=fun.settings.conventions)
    roots = as_written(traced.outputs, expand).roots
    compiled = compile_program(traced, roots, "f", folds=False)
    return list(parts(Twin(compiled.function, Doubled)(*args))), (traced, expand, roots)


def violations(number: int) -> tuple[int, int]:
    """Return how many entries of the value and the gradient of a random program leave their bounds, of how many."""
    flint = pytest.importorskip("flint")
    p = program(("doubled", number))
    gradient = rg.grad(lambda *x: np.sum(p.function(*x)), tuple(range(len(p.arrays))))
    wrong = count = 0
    for fun in (rg.stabilize(p.function), gradient):
        try:
            found, (traced, expand, _) = in_doubled(fun, tuple(p.arrays))
        except Undecided:
            continue
        balls = evaluate(expand(traced.outputs), dict(zip(traced.inputs, p.arrays, strict=True)), 500)
        for x, y in zip(found, balls, strict=True):
            for hi, lo, bound, ball in zip(*map(np.ravel, x.parts), np.ravel(y), strict=True):
                if np.isfinite(bound) and ball.is_finite():
                    with flint.ctx.workprec(600):
                        off = abs(flint.arb(float(hi)) + flint.arb(float(lo)) - ball)
                        wrong += off.abs_lower() > 1.01 * flint.arb(float(bound))
                    count += 1
    return wrong, count


def test_results_of_random_programs_lie_within_their_bounds(monkeypatch):
    found = [violations(n) for n in range(8)]
    assert [wrong for wrong, _ in found] == [0] * 8
    assert sum(count for _, count in found) > 50
    # Bounds that are too small are found out.
    monkeypatch.setattr(eft, "add", lambda x, y: (x[0] + y[0], 0.0 * y[0]))
    assert any(violations(n)[0] for n in range(8))


ELEMENTARY = [name for name in ROWS if name.startswith(("elementwise", "stable"))]


@pytest.mark.parametrize("name", ELEMENTARY)
def test_a_float_that_a_rule_brings_is_never_taken_for_exact(name):
    f, *args = ROWS[name]
    floats = tuple([i for i, x in enumerate(args) if np.asarray(x).dtype.kind == "f"])
    traced = rg.grad(lambda *x: sum(np.sum(y) for y in parts(f(*x))), floats)
    try:
        traced = traced._traced(tuple(args), {})
    except rg.RelgradError:
        return
    roots = as_written(
        traced.outputs, partial(explicit, conventions=rg.stabilize(f).settings.conventions)
    ).roots
    for node in subterms(*roots):
        for x in node.rands if type(node.op) is not Literal else ():
            if type(x.op) is Constant and x.type.dtype.kind == "f" and np.isfinite(x.op.value).all():
                assert np.all(x.op.value * 64 % 1 == 0), (node, x)


def test_a_constant_is_exact_if_the_user_wrote_it():
    f = rg.grad(lambda x, y: 0.1 * sp.erf(x) - np.log2(y) / 3, (0, 1), precise=True)
    _, (_, _, roots) = in_doubled(f, (0.5, 2.0))
    words = [t for t in subterms(*roots) if type(t.op) is Literal]
    said = {
        word: {float(t.rands[0].op.value) for t in words if t.op.kernel == word}
        for word in ("given", "rounded")
    }
    assert 0.1 in said["given"]
    assert said["rounded"] == {2 / math.sqrt(math.pi), math.log(2)}


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


@pytest.mark.parametrize(
    "fun",
    [
        lambda x, y, z: (x * y + z) * np.sqrt(x) - y,
        lambda x, y, z: np.log(np.abs(np.sin(x) * y - z)),
        lambda x, y, z: 0.125 * x - y * z + 0.375,
        lambda x, y, z: (x / y - y / z) / (x + np.exp(y) - 3 * z),
        lambda x, y, z: (x * y - np.tanh(z))[::-1] * np.mean(x - 0.75 * y * z),
        lambda x, y, z: np.sin(4096 * x * y + z) + 0 * HELD,
    ],
)
def test_float32_loses_no_more_than_half_of_its_digits(fun):
    """f of float32 is f in float64 of the same numbers to 2⁻¹² in each of many entries; the source does the same."""
    x, y, z = np.random.default_rng(3).uniform(0.3, 2, (3, 2000)).astype(np.float32)
    f = rg.stabilize(fun)
    got, want = f(x, y, z), fun(*[v.astype(np.float64) for v in (x, y, z)])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2.0**-11)
    names: dict[str, Any] = {}
    exec(f.source(x, y, z), names)
    assert "@wider" in f.source(x, y, z)
    np.testing.assert_array_equal(list(names.values())[-1](x, y, z), got)


def test_what_float32_decides_it_decides():
    """⌊10·x⌋ of 10·0.7 = 7 in float32, though 0.7 is less than that there: a program that jumps stays in float32."""
    x = np.array([0.7, 0.3], np.float32)
    f = rg.stabilize(lambda x: np.floor(10 * x) - x * (x + 6.7) * 0.2)
    assert "@wider" not in f.source(x)
    np.testing.assert_allclose(
        f(x), np.floor(10 * x) - x * (x + np.float32(6.7)) * np.float32(0.2), rtol=1e-6
    )


HELD = np.float32(1.5)


def test_quotients_of_integers_are_not_taken_for_exact():
    f = rg.stabilize(lambda n, m, x: (n / m) * (n / m) - x, precise=True)
    n, m, x = np.int64(1), np.int64(3), 1 / 9
    assert f(n, m, x) == (n / m) ** 2 - x


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.where(x * 10 - 3 == 0, 5.0, x * y - 0.03),
        lambda x, y: np.where(x * 10 >= 3, x * y - 0.03, y * y - x * y * y),
        lambda x, y: np.floor(x * 10) * (x * y - 0.03),
    ],
)
def test_what_floats_decide_otherwise_is_left_to_them(f):
    # 0.3·10 is less than 3, and rounded to it.
    x, y = np.float64(0.3), np.float64(0.1)
    assert rg.stabilize(f, precise=True)(x, y) == rg.stabilize(f)(x, y)
    several = rg.stabilize(f, precise=True)(np.array([0.3, 0.5]), np.array([0.1, 0.06]))
    assert several[0] == rg.stabilize(f)(x, y)


def test_what_a_function_decides_by_what_it_computed_comes_out_in_floats_as_well():
    """b·b > c − 1 → b·b − c has all its digits; where b·b > c holds of numbers and not of floats, the float stands."""
    b, c = 1 + 2.0**-30, 1 + 2.0**-29

    def far(b, c):
        return b * b - c if b * b > c - 1 else c

    def near(b, c):
        return b * b - c if b * b <= c else c

    def halved(b, c):
        step = 1.0
        while b * b * step > 0.1:
            step /= 2
        return step * (b * b - c)

    def converged(b, c):
        x = np.array(b)
        while np.any(abs(x * x - c) > 1e-3):
            x = (x + c / x) / 2
        return x * x - c

    assert rg.stabilize(far)(b, c) == 2.0**-60
    assert rg.stabilize(near)(b, c) == near(b, c) == 0
    assert rg.stabilize(halved)(b, c) == 2.0**-64
    assert rg.stabilize(converged)(b, c) == 2.0**-60
    x = np.array([b, 3.0, 1.0])
    found, exact = rg.stabilize(converged)(x, np.full(3, c)), [Fraction(float(v)) for v in x]
    while max(abs(v * v - Fraction(c)) for v in exact) > 1e-3:
        exact = [(v + Fraction(c) / v) / 2 for v in exact]
    close(found, [float(v * v - Fraction(c)) for v in exact])
    assert rg.grad(far)(b, c) == 2 * b


class Shown(rg.Op):
    """x, shown to a user who looks at it."""

    __props__ = ()

    def __init__(self):
        self.seen = []

    def make_node(self, *inputs):
        return rg.apply(self, inputs, [inputs[0].type])

    def perform(self, node, inputs, output_storage):
        self.seen.append(type(inputs[0]))
        output_storage[0][0] = inputs[0]


def test_an_op_of_a_user_sees_floats_only():
    shown = Shown()
    f = rg.stabilize(lambda x, y: shown(x) * y - 0.03, precise=True)
    x = np.array([0.3])
    assert f(x, np.array([0.1])) == 0.3 * 0.1 - 0.03
    assert set(shown.seen) == {np.ndarray}
    assert "@precise" not in f.source(x, x)


def test_numbers_from_outside_are_exact_as_they_are_typed_and_may_change():
    given_ = {"c": np.array([0.3])}
    f = rg.stabilize(lambda b: b * b - given_["c"], precise=True)
    for c in (0.3, 0.7, 1.1):
        given_["c"], b = np.array([c]), math.sqrt(c)
        close(f(np.array([b])), [float(Fraction(b) ** 2 - Fraction(c))])


def test_what_was_computed_in_floats_before_is_not_taken_for_exact():
    """(g(x₀ + h) − g(x₀))/h² where g(x₀) is a float already: its rounding is no part of the program."""
    x, g = np.array([0.4, 0.5, 0.2]), lambda x: np.sum(np.cumsum(np.logaddexp(0, 2 * x)) ** 2)
    for f in (lambda h: g(x + h) - g(x), lambda h: (g(x + h) - g(x)) / h):
        for h in (1e-9, -1e-7):
            assert rg.grad(f, precise=True)(h) == rg.grad(f, precise=False)(h)


def _between(p, cos, sin, arccos, whole=1.0):
    """Two entries of a point at t of the arc between two directions, where 1 − t and t² were computed before."""
    t = 0.3
    angle = arccos(cos(p[0]) * cos(p[1]) + sin(p[0]) * sin(p[1]))
    first, second = (whole - t) * angle, t * t * angle
    return (sin(first) * cos(p[0]) + 3 * sin(second) * sin(p[1])) / sin(angle)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("apart", [1e-9, -3e-8, 1e-5])
def test_numbers_that_were_computed_before_leave_what_they_matter_little_to(apart, strategy):
    """sin((1 − t)·a)/sin(a), t = 0.3: the float 1 − t may be off, and so may its multiple, by as much and no more."""
    f, x = (lambda p: _between(p, np.cos, np.sin, np.arccos)), np.array([0.1, 0.1 + apart])
    with mpmath.workdps(120):
        exact_ = lambda p: _between(p, mpmath.cos, mpmath.sin, mpmath.acos)
        near, e = [mpf(float(v)) for v in x], mpf(10) ** -40
        steps = ([e, 0], [0, e])
        at = lambda step, k: exact_([a + k * b for a, b in zip(near, step, strict=True)])
        slopes = [float((at(s, 1) - at(s, -1)) / (2 * e)) for s in steps]
        twice = [float((at(s, 1) - 2 * at(s, 0) + at(s, -1)) / e**2) for s in steps]
        np.testing.assert_allclose(rg.stabilize(f, strategy=strategy)(x), float(exact_(near)), rtol=1e-13)
    np.testing.assert_allclose(rg.grad(f, strategy=strategy)(x), slopes, rtol=1e-9)
    np.testing.assert_allclose(np.diag(rg.hessian(f, strategy=strategy)(x)), twice, rtol=1e-7)


def test_numbers_that_were_computed_before_are_not_trusted_with_the_digits_that_they_have_not():
    """x·x − c for a number c that was computed, few units beside it: the difference stays as floats have it."""
    t = 0.1

    def f(x):
        return (x * x - t * t * 13.0) * np.exp(x)

    root = math.sqrt(t * t * 13.0)
    for x in (root, root * (1 + 2e-16), root * (1 - 3e-16)):
        assert rg.stabilize(f)(x) == rg.stabilize(f, precise=False)(x)


@pytest.mark.parametrize(
    "f, truth, x",
    [
        (lambda b: b * b - math.pi, lambda b: b * b - mpmath.pi, math.sqrt(math.pi)),
        (lambda x: math.pi / 2 - np.arctan(x), lambda x: mpmath.pi / 2 - mpmath.atan(x), 1e9),
        (lambda x: math.pi - np.arccos(x), lambda x: mpmath.pi - mpmath.acos(x), -1.0),
        (lambda x: 2 * np.arctan(np.exp(x)) - np.pi / 2, lambda x: mpmath.asin(mpmath.tanh(x)), 1e-9),
        (lambda x: np.log(x) - np.log(2 * np.pi), lambda x: mpmath.log(x / (2 * mpmath.pi)), 6.0),
    ],
)
def test_named_constants_are_what_they_name(f, truth, x):
    """π/2 − arctan(10⁹) = arctan(10⁻⁹), of which 15 digits are lost where π is the float next to it."""
    with mpmath.workdps(60):
        np.testing.assert_allclose(rg.stabilize(f, precise=True)(x), float(truth(mpf(x))), rtol=1e-15)


def test_large_powers_and_differences_from_means_are_watched():
    f = rg.stabilize(lambda x, n: (1 + x / n) ** n, precise=True)
    for n in (1e9, np.array([3.0, 1e9])):
        with mpmath.workdps(50):
            want = [(1 + mpf(0.3) / mpf(float(k))) ** mpf(float(k)) for k in np.ravel(n)]
        close(np.ravel(f(0.3, n)), [float(w) for w in want])

    def variance(x):
        y = np.exp(x)
        return np.sum(y * y) - np.sum(y) ** 2 / 4

    x = 1.6 + np.array([1e-6, 3e-6, -2e-6, 0.0])
    with mpmath.workdps(60):
        y = [mpmath.exp(mpf(float(a))) for a in x]
        want = float(sum(a * a for a in y) - sum(y) ** 2 / 4)
    close(rg.stabilize(variance, precise=True)(x), want)


def test_what_a_program_rounds_itself_stays_rounded():
    def low(x, y):
        high = x.astype(np.float32)
        return (x - high) * 1.0 - y * y * 0.0

    x = np.array([0.1, 1 / 3])
    np.testing.assert_array_equal(rg.stabilize(low, precise=True)(x, x), rg.stabilize(low)(x, x))


def test_what_a_program_rounds_itself_is_no_ball():
    def low(x, y):
        high = (x * y).astype(np.float32).astype(np.float64)
        return (x * y - high) / (x - 1)

    x, y = np.array([0.1, 1.0000000001, 1e-9]), np.array([1e-9])
    np.testing.assert_array_equal(rg.stabilize(low)(x, y), low(x, y))


def test_float32_is_mended_where_it_decides():
    """(1 + x)ⁿ⁺¹/(1 + x) − 1, of which the gradient asks whether 1 + x is 0."""
    f = lambda x, n: (1.7 * (1 + x)) ** (n + 1) / (1.7 * (1 + x)) - 1.7**n
    at = np.float32(1e-4), np.float32(0.1)
    got = rg.grad(f, argnums=(0, 1))(*at)
    with mpmath.workdps(40):
        c, x, n = (mpf(float(v)) for v in (np.float32(1.7), *at))
        want = (
            n * c**n * (1 + x) ** (n - 1),
            (c * (1 + x)) ** n * mpmath.log(c * (1 + x)) - c**n * mpmath.log(c),
        )
    np.testing.assert_allclose(got, [float(w) for w in want], rtol=4e-7)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_constants_are_read_by_the_digits_of_their_type(kind):
    words = [word_of(np.asarray(kind(x))) for x in (1.7, math.pi, 1 / 3, math.sqrt(6), 0.12345678901234567)]
    assert words == ["given", "rounded", "rounded", "rounded", "computed"]


def test_blocks_give_what_the_whole_gives():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3 * BLOCK + 5)) + 10
    z = x * y
    a, b = Doubled.of(x), Doubled.of(y)
    whole, some = a * b - z, [a[i : i + 7] * b[i : i + 7] - z[i : i + 7] for i in (0, BLOCK - 3, 2 * BLOCK)]
    for k, i in enumerate((0, BLOCK - 3, 2 * BLOCK)):
        for p, q in zip(whole[i : i + 7].parts, some[k].parts, strict=True):
            np.testing.assert_array_equal(p, q)
    total_: Any = np.sum(whole)  # pyright: ignore[reportArgumentType, reportCallIssue]
    truth = sum(Fraction(u) * Fraction(v) - Fraction(w) for u, v, w in zip(x, y, z, strict=True))
    assert abs(total(total_.pair) - truth) <= Fraction(float(total_.bound))
    assert total_.bound < 1e-20


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("f", "oracle", "args"),
    [
        (
            lambda k, t: np.exp(k * np.cos(t)) / (2 * np.pi * sp.i0(k)),
            lambda k, t: mpmath.exp(k * mpmath.cos(t)) / (2 * mpmath.pi * mpmath.besseli(0, k)),
            (600.0, 0.2),
        ),
        (
            lambda k, t: k * np.cos(t) - np.log(2 * np.pi * sp.i0(k)),
            lambda k, t: k * mpmath.cos(t) - mpmath.log(2 * mpmath.pi * mpmath.besseli(0, k)),
            (1e5, 0.01),
        ),
        (
            lambda x, y: (sp.i1(x) / sp.i0(x) - 1) * y,
            lambda x, y: (mpmath.besseli(1, x) / mpmath.besseli(0, x) - 1) * y,
            (800.0, 1.5),
        ),
        (
            lambda x, y: (x * x + y * y - 1.5 * x * x) / (x * x),
            lambda x, y: (x * x + y * y - 1.5 * x * x) / (x * x),
            (1e-200, 0.7071067811865476e-200),
        ),
        (
            lambda x, y: np.sum(np.stack([x * x, y * y, -2.0 * x * y])) / (x * x),
            lambda x, y: (x - y) ** 2 / x**2,
            (1e180, 1.0000001e180),
        ),
        (
            lambda x, y: (np.sqrt(x**2 + y**2) - x) * x / y,
            lambda x, y: (mpmath.sqrt(x**2 + y**2) - x) * x / y,
            (1e-170, 1e-173),
        ),
        (
            lambda x, y: np.sqrt((x + 1e-200 + np.sqrt((x - 1e-200) ** 2 + y * y)) / (4e-200 * x - y * y)),
            lambda x, y: mpmath.sqrt(
                (x + mpf(1e-200) + mpmath.sqrt((x - mpf(1e-200)) ** 2 + y * y)) / (mpf(4e-200) * x - y * y)
            ),
            (1e200, 0.5),
        ),
    ],
)
def test_values_and_derivatives_where_digits_cancel_out_of_range(f, oracle, args):
    got = [rg.stabilize(f)(*args), *rg.grad(f, argnums=(0, 1))(*args)]
    with mpmath.workdps(500):
        at = [mpf(a) for a in args]
        want = [oracle(*at), *(mpmath.diff(oracle, at, n, h=mpf(10) ** -420) for n in ((1, 0), (0, 1)))]
        for value, exact_ in zip(got, want, strict=True):
            assert abs(mpf(float(value)) - exact_) <= 2.0**-44 * abs(exact_), (got, want)


def test_entries_get_the_digits_that_each_of_them_needs():
    def semiaxis(a, b, c, f):
        d = b * b - 4 * a * c
        return -np.sqrt(2 * (d * f) * ((a + c) + np.sqrt((a - c) ** 2 + b * b))) / d

    rng = np.random.default_rng(3)
    args = rng.choice([-1.0, 1.0], (4, 40)) * 10 ** rng.uniform(-200, 200, (4, 40))
    together = rg.grad(lambda *args: np.sum(semiaxis(*args)))(*args)
    alone = [rg.grad(semiaxis)(*map(float, x)) for x in args.T]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert np.count_nonzero(np.isfinite(alone)) > 10


def test_an_infinity_that_digits_tell_apart_has_its_sign():
    f = rg.stabilize(lambda x, y: (x + 1.0 - x) * 1e300 * y * y)
    assert f(-1e20, 1e10) == np.inf
    g = rg.stabilize(lambda k, x: np.tan(3.14159 * k) / (x * x))
    assert g(1.7343245974556024e32, -2.25e-213) == np.inf


def test_containers_and_pickles():
    f = rg.stabilize(sums, precise=True)
    found = pickle.loads(pickle.dumps(f))({"b": B, "c": np.array([4 * A * C])})
    assert set(found) == {"d", "s"}
    close(found["d"], [float(Fraction(B) ** 2 - Fraction(4 * A * C))])


def sums(p):
    return {"d": p["b"] * p["b"] - p["c"], "s": p["b"] + 1}


def test_source_by_itself_has_the_constants_of_all_its_functions():
    mask, x = (
        np.array([[True, False, True], [True, True, False]]),
        np.array([[0.3, 1.0, -2.0], [0.7, 0.1, 4.0]]),
    )

    def loss(x: Any) -> Any:
        return np.sum(np.var(x, axis=0, where=mask, keepdims=True) * np.array([[0.5, -1.5, 2.0]]))

    f, namespace = rg.grad(loss), dict[str, Any]()
    exec(f.source(x), namespace)
    np.testing.assert_array_equal(namespace["grad_loss"](x), f(x))


def test_source_by_itself_is_as_precise_and_names_its_guards():
    f = rg.stabilize(discriminant, precise=True)
    text = f.source(A, B, C)
    assert "@precise(by=stabilize_discriminant_as_written, entrywise=True)" in text
    assert "return t2, cancels_at(t2, t1)" in text
    assert "return b * b - 4.0 * a * c, []" in text
    assert run(text, "stabilize_discriminant")(A, B, C) == f(A, B, C)
    assert "cancels" in str(f.explain(A, B, C))


@pytest.mark.parametrize("how", [{"precise": False}, {"strategy": "naive"}])
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
        lambda x, y: np.log(np.sum(np.exp(x))),
        lambda x, y: np.sum(x * x),
        lambda x, y: -np.sum(y * np.log(np.exp(x) / np.sum(np.exp(x)))),
    ],
)
def test_what_cannot_cancel_is_not_watched(f):
    x = np.array([0.5, 1.5])
    assert "cancels" not in rg.stabilize(f, precise=True).source(x, x + 1)


def test_infinite_operands_are_watched(recwarn):
    f = lambda x: np.tanh(x[0] * x[1] - np.inf - np.exp(x[0]))
    x = np.array([0.5, 1.5])
    assert "np.inf, " in rg.stabilize(f).source(x) and rg.stabilize(f)(x) == -1.0
    assert not recwarn


def test_a_single_number_loses_less_than_one_of_many():
    x = np.full(100, 1.0)
    assert cancels(np.float64(0.05), np.float64(1.0))
    assert not cancels(1e-4 * x, x)
    assert cancels(1e-5 * x, x)
    assert cancels_at(1e-4 * x, x) is False
    assert np.all(cancels_at(1e-5 * x, x))


@pytest.mark.parametrize("n", [None, 1, 3])
def test_few_digits_that_are_lost_count_where_rounding_by_chance_shows_it(n, monkeypatch):
    """(x·y − z)³ of numbers loses three times what the difference does; 2 + (x·y − z)³·cos x loses nothing."""
    again, rng = times_computed_again(monkeypatch), np.random.default_rng(0)
    cube = rg.stabilize(lambda x, y, z: (x * y - z) ** 3)
    slope = rg.grad(lambda x, y, z: np.sum((x * y - z) ** 4), argnums=2)
    beside = rg.stabilize(lambda x, y, z: 2 + (x * y - z) ** 3 * np.cos(x))
    for _ in range(30):
        x, y = rng.uniform(1, 2, (2, n or 1))
        z = x * y * (1 - rng.uniform(0.01, 0.05, n or 1))
        args = (x, y, z) if n else (x[0], y[0], z[0])
        exact = np.array([Fraction(a) * Fraction(b) - Fraction(c) for a, b, c in zip(x, y, z, strict=True)])
        if n != 3:
            np.testing.assert_array_max_ulp(np.ravel(cube(*args)), (exact**3).astype(float), 64)
            np.testing.assert_array_max_ulp(np.ravel(slope(*args)), (-4 * exact**3).astype(float), 64)
        again.clear()
        beside(*args)
        assert all(issubclass(twin._kind, Drawn) for twin in again)


@pytest.mark.parametrize("size", [1e-200, 1e200, 3.0])
@pytest.mark.parametrize("transform", [lambda f, i: rg.stabilize(f), lambda f, i: rg.grad(f, argnums=i)])
def test_large_exponents_made_of_logarithms_keep_their_digits(size, transform):
    """e^(Σ w·log x) = Π xʷ changes by w times what x does, however large the exponent is."""
    mean = transform(lambda x: np.exp(np.mean(np.log(x))), 0)
    weighted = transform(lambda x, y, w: np.exp(w * np.log(x) + (1 - w) * np.log(y)), 1)
    x = np.array([1.0, 2.0, 1.5]) * size
    by = [1.0] if mean.name.startswith("stabilize") else [float(1 / (3 * mpf(v))) for v in x]
    with mpmath.workdps(40):
        power = mpmath.cbrt(mpf(x[0]) * mpf(x[1]) * mpf(x[2]))
        np.testing.assert_allclose(np.ravel(mean(x)), [float(power * b) for b in by], 1e-14)
        product = mpf(x[0]) ** mpf(0.3) * mpf(x[1]) ** (1 - mpf(0.3))
        slope = 1 if by == [1.0] else (1 - mpf(0.3)) / mpf(x[1])
        np.testing.assert_allclose(weighted(x[0], x[1], 0.3), float(product * slope), 1e-14)


def test_results_of_several_shapes_are_rounded_by_chance():
    f = rg.grad(lambda x, y, z: np.sum((np.outer(x, y) - z) ** 3), argnums=(0, 1, 2))
    x, y = np.array([1.1, 1.3]), np.array([1.2, 0.7, 0.9])
    outer = np.array([[Fraction(a) * Fraction(b) for b in y] for a in x])
    z = outer.astype(float) * np.array([0.9995, 1.1, 0.7])
    slope = 3 * (outer - np.array([[Fraction(c) for c in row] for row in z])) ** 2
    exact = (slope @ [Fraction(b) for b in y], [Fraction(a) for a in x] @ slope, -slope)
    for got, wanted in zip(f(x, y, z), exact, strict=True):
        np.testing.assert_allclose(got, wanted.astype(float), 2e-14)


def test_large_exponents_of_other_terms_are_not_watched():
    f = rg.stabilize(lambda x: np.exp(-x * x / 2) + np.exp(3 * np.sin(x)))
    assert "cancels" not in f.source(1.0)


def test_losses_of_factors_count_in_sums(monkeypatch):
    """(x·y − z)·w/x − v of which each sum loses 4 bits loses 8."""
    f = rg.stabilize(lambda x, y, z, w, v: (x * y - z) * w / x - v)
    rng, again = np.random.default_rng(0), times_computed_again(monkeypatch)
    for x, y, w in rng.uniform(1, 2, (30, 3)):
        z = x * y * 15 / 16
        v = (x * y - z) * w / x * 15 / 16
        x_, y_, z_, w_, v_ = map(Fraction, (x, y, z, w, v))
        np.testing.assert_array_max_ulp(f(x, y, z, w, v), float((x_ * y_ - z_) * w_ / x_ - v_), 64)
    assert again
    again.clear()
    f(1.3, 1.2, 0.1, 1.1, 0.9 * 1.46 / 1.3)
    assert not again


def test_random_numbers_seldom_trip_a_guard():
    """A difference of n random numbers has an entry below ε with the probability n·ε ≤ 2⁻⁴/√n."""
    rng = np.random.default_rng(3)
    for n in (1, 10, 1000):
        trips = [cancels(a - b, b) for a, b in rng.uniform(1, 2, (1000, 2, n))]
        assert np.mean(trips) <= 2.0**-2 / math.sqrt(n)


def times_computed_again(monkeypatch):
    """Return a list that grows with each program that is computed again."""
    found = []
    original = Twin.__call__

    def call(self, /, *args, **kwargs):
        found.append(self)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Twin, "__call__", call)
    return found


def network(p, x, y):
    return np.mean((np.tanh(x @ p["W"] + p["b"]) @ p["v"] - y) ** 2)


def heat(u, dt):
    for _ in range(4):
        u = u + dt * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


@pytest.mark.parametrize(
    ("f", "how", "shapes"),
    [
        (lambda w, x, y: np.sum((y - x @ w) ** 2), rg.grad, [(8,), (2000, 8), (2000,)]),
        (lambda w, x, y: np.mean(np.abs(y - x @ w)), rg.grad, [(8,), (2000, 8), (2000,)]),
        (lambda w, x, y: y - x @ w, rg.stabilize, [(8,), (2000, 8), (2000,)]),
        (lambda w, x, y: np.sum((y - np.exp(w[0] * x[:, 0])) ** 2), rg.grad, [(8,), (2000, 8), (2000,)]),
        (
            lambda w, b, v, x, y: network({"W": w, "b": b, "v": v}, x, y),
            lambda f, **how: rg.value_and_grad(f, (0, 1, 2), **how),
            [(8, 16), (16,), (16,), (2000, 8), (2000,)],
        ),
        (lambda u: heat(np.sin(np.cumsum(np.abs(u) / 1000)), 0.1), rg.stabilize, [(2000,)]),
        (lambda x, g: (x.T - x.mean(-1)).T / x.std(-1, keepdims=True) * g + 1, rg.stabilize, [(500, 8), (8,)]),
    ],
)  # fmt: skip
def test_losses_and_residuals_of_usual_sizes_are_not_computed_again(f, how, shapes, monkeypatch):
    again, rng = times_computed_again(monkeypatch), np.random.default_rng(0)
    g = how(f, precise=True)
    for _ in range(20):
        g(*[rng.normal(size=shape) for shape in shapes])
    assert len(again) == 0


def _logistic_loss(w, x, y):
    z = x @ w
    return np.mean(np.log(1 + np.exp(z)) - y * z) + 0.01 * np.sum(w**2)


def _half_squares(w, x, y):
    return np.sum((x @ w - y) ** 2) / 2 + 0.1 * np.sum(w * w)


@pytest.mark.parametrize("n", [100, 2000])
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("loss", [_logistic_loss, _half_squares])
def test_a_gradient_by_data_stands_near_an_optimum(loss, outside, n, monkeypatch):
    """∇f(w) ≈ 0 moves as far with the last digits of data as rounding on the way moves it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    y = np.where(x @ [1.0, -2.0, 0.5] + rng.normal(size=n) > 0, 1.0, 0.0)
    of_all = rg.value_and_grad(loss)
    by_w = rg.value_and_grad(lambda w: loss(w, x, y)) if outside else lambda w: of_all(w, x, y)
    asked = []
    monkeypatch.setattr(Again, "better", lambda self, result, *args: asked.append(result) or result)
    found = minimize(by_w, np.zeros(3), jac=True, method="BFGS")
    assert np.abs(found.jac).max() < 1e-5
    assert not asked


def test_what_was_computed_before_is_not_computed_again_in_vain(monkeypatch):
    """Σ (c − m) ≈ 0 moves with the last digits of c, which nobody knows."""
    c, asked = np.random.default_rng(0).normal(size=100), []
    residual = rg.stabilize(lambda m: np.sum((c - m) / 3))
    monkeypatch.setattr(Again, "better", lambda self, result, *args: asked.append(result) or result)
    assert abs(residual(np.mean(c))) < 1e-13
    assert not asked
    exact = rg.stabilize(lambda c, m: np.sum((c - m) / 3))
    exact(c, np.mean(c))
    assert asked


def test_a_matrix_that_is_definite_by_its_last_digits_alone_has_its_gradient():
    """∂ log det(A)/∂A = A⁻¹, though A of digits rounded off has no Cholesky factor."""
    n = 20
    a = np.eye(n)
    a[0, 1] = a[1, 0] = 1 - 1e-12
    log_det = lambda a: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(a)))) + 1e-12 * np.sum(a)
    got = rg.grad(log_det)(a)
    assert np.all(np.isfinite(got))


def test_a_gradient_by_many_numbers_is_computed_again_where_they_tell_its_digits():
    """1/(1 + x²) − 1/(x²·(1 + x⁻²)) + 10⁻¹²: parts cancel for each x, so it does not matter which digits x ends in."""
    x = np.random.default_rng(0).uniform(1, 2, 200)
    got = rg.grad(lambda x: np.sum(np.arctan(x) + np.arctan(1 / x) + 1e-12 * x))(x)
    np.testing.assert_allclose(got, 1e-12, rtol=1e-14)


def test_what_is_summed_on_matters_beside_what_it_is_added_to(monkeypatch):
    again = times_computed_again(monkeypatch)
    f = rg.stabilize(lambda x, a, b: x + 0.1 * (b * b - a), precise=True)
    assert f(1.0, B * B, B) == 1.0 + 0.1 * (B * B - B * B)
    assert not again
    a = float(np.nextafter(B * B, 9))
    close(f(1e-17, a, B), float(Fraction(1e-17) + Fraction(0.1) * (Fraction(B) ** 2 - Fraction(a))))
    assert again


def test_a_difference_of_exact_numbers_is_a_part_as_it_is(monkeypatch):
    again = times_computed_again(monkeypatch)
    f = rg.stabilize(lambda x, a, b: x * x + 0.01 * (a - b), precise=True)
    f(1.0, 1e12 + 1, 1e12)
    assert not again
    x, h = 1e-3, 1e-4 * (1 - 2.0**-30)
    close(f(x, 0.0, h), float(Fraction(x) ** 2 - Fraction(0.01) * Fraction(h)))
    assert again


@pytest.mark.parametrize("f", [np.log, np.reciprocal, np.sqrt, lambda d: d**-0.5])
def test_what_has_no_derivative_at_zero_needs_the_digits_of_each_entry(f):
    b = np.array([B, 3.0, 5.0])
    a = np.array([B * B * (1 - 2.0**-50), 1.0, 2.0])
    got = rg.stabilize(lambda a, b: np.sum(f(b * b - a)), precise=True)(a, b)
    exact_ = np.array([float(Fraction(x) ** 2 - Fraction(y)) for x, y in zip(b, a, strict=True)])
    np.testing.assert_allclose(got, np.sum(f(exact_)), rtol=1e-15)


def test_what_is_traced_again_is_the_program_in_floats():
    b = np.array([3.0, 4.0])
    f = run(rg.stabilize(discriminant, precise=True).source(b, b, b), "stabilize_discriminant")
    close(rg.grad(lambda a: np.sum(f(a, a, b)))(b), 2 * b - 4 * b)


@pytest.mark.parametrize(
    ("f", "truth", "x"),
    [
        (lambda x: np.log(np.tanh(x)), lambda x: mpmath.log(mpmath.tanh(x)), 20.0),
        (lambda x: np.log(sp.erf(x)), lambda x: mpmath.log(mpmath.erf(x)), 5.0),
        (lambda x: np.arcsin(1 - x), lambda x: mpmath.asin(1 - x), 1e-14),
        (lambda x: np.arcsin(x / np.sqrt(1 + x * x)), mpmath.atan, 1e10),
        (lambda x: np.arccos(x / np.sqrt(1 + x * x)), lambda x: mpmath.atan(1 / mpmath.mpf(x)), 1e7),
        (lambda x: np.arctanh(1 - x * x), lambda x: mpmath.atanh(1 - mpmath.mpf(x) ** 2), 1e-7),
        (lambda x: np.log1p(-x * x), lambda x: mpmath.log1p(-(mpmath.mpf(x) ** 2)), 1 - 2.0**-40),
        (lambda x: sp.logit(x * x), lambda x: -mpmath.log(mpmath.mpf(x) ** -2 - 1), 1 - 2.0**-40),
        (lambda x: np.sin(x * 3), lambda x: mpmath.sin(x * 3), 1e15),
        (lambda x: np.tan(x + 0.1), lambda x: mpmath.tan(x + mpmath.mpf(0.1)), 1e9),
        (
            lambda x: np.cos(x + 0.1) - np.cos(x),
            lambda x: mpmath.cos(x + mpmath.mpf(0.1)) - mpmath.cos(x),
            1e30,
        ),
        (lambda x: 1 - np.cos(x / 3), lambda x: 1 - mpmath.cos(x / 3), 1e200),
        (lambda x: (1 + x) ** 1e9 - x**1e9, lambda x: mpmath.exp(mpmath.log1p(x) * 1e9), 3e-9),
    ],
)
def test_functions_that_multiply_the_errors_of_a_computed_operand_are_watched(f, truth, x):
    with mpmath.workdps(60):
        want = truth(mpmath.mpf(x)) if abs(x) < 1e9 else _at_many_digits(truth, x)
        assert abs(rg.stabilize(f)(x) - want) <= 4e-16 * abs(want)


EXPONENTS = [
    (
        lambda k, x: k * np.log(x) - x - sp.gammaln(k + 1),
        lambda k, x: k * mpmath.log(x) - x - mpmath.loggamma(k + 1),
    ),
    (lambda k, x: -(k * x - x**2 - 3 * x) / 8.0, lambda k, x: -(k * x - x**2 - 3 * x) / 8),
    (lambda k, x: (np.sqrt(k) * np.sqrt(x) - x) / (k / x), lambda k, x: (mpmath.sqrt(k * x) - x) * x / k),
]


@pytest.mark.parametrize(("f", "truth"), EXPONENTS)
@pytest.mark.parametrize("g", ["number", "array", "sum", "derivative"])
def test_exponents_of_large_parts_are_watched(f, truth, g):
    """exp(u) has the digits of u after the point, and those are as many as the largest part of u leaves."""
    x = np.array([1e6 + 0.5, 3e6])
    k = x + 3 + np.array([2.0**-24, -(2.0**-24)])
    with mpmath.workdps(60):
        want = [mpmath.exp(truth(mpf(a), mpf(b))) for a, b in zip(k, x, strict=True)]
        if g == "array":
            got = rg.stabilize(lambda k, x: np.exp(f(k, x)))(k, x)
        elif g == "sum":
            got, want = [rg.stabilize(lambda k, x: np.exp(np.sum(f(k, x))))(k, x)], [want[0] * want[1]]
        elif g == "number":
            got, want = [rg.stabilize(lambda k, x: np.exp(f(k, x)))(k[0], x[0])], want[:1]
        else:
            got = [rg.grad(lambda k, x: np.exp(f(k, x)), argnums=1)(k[0], x[0])]
            want = [mpmath.diff(lambda b: mpmath.exp(truth(mpf(k[0]), b)), mpf(x[0]))]
        assert all(abs(a - b) <= 1e-15 * abs(b) for a, b in zip(got, want, strict=True) if abs(b) > 1e-300)


def test_an_exponent_is_watched_where_its_divisor_shares_an_argument_with_a_part():
    """((x − z) − x·y)/((x − z) + x·y) = −1 at x = z, but x·(1 − y) − z has lost x·y beside x."""
    x = 3.1e-16
    f = lambda x, y, z: np.exp2(((x - z) - x * y) / ((x - z) + x * y))
    assert rg.stabilize(f)(x, x, x) == 0.5


@pytest.mark.parametrize("log", [lambda u: np.log(np.abs(u)), np.log1p])
def test_a_logarithm_that_vanishes_with_the_divisor_of_an_exponent_is_watched(log):
    """exp(log(u)/(u − 1)) → e as u → 1, whatever log u has lost beside 1."""
    x, y = 1.0, 2.0**-35
    u = (lambda x, y: (x + y) / x**2) if log is not np.log1p else (lambda x, y: (x + y) / x**2 - 1)
    f = lambda x, y: np.exp(log(u(x, y)) / ((x + y) - x**2))
    assert abs(rg.stabilize(f)(x, y) - math.exp(1 - y / 2)) < 1e-14


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2)])
def test_scales_of_exponents_may_have_fewer_axes_than_what_is_summed(axis):
    x = np.random.default_rng(0).uniform(1, 2, size=(2, 3, 4))
    for f in (
        lambda x: np.exp(np.sum(x * x - x, axis=axis) / np.sum(x, axis=axis) ** 2),
        lambda x: np.exp(-3.0 * np.max(x * x - x, axis=axis) / np.sum(x, axis=axis)),
        lambda x: np.tanh(np.sum(np.sqrt(x) ** 2, axis=axis) / np.sum(np.sqrt(x), axis=axis) ** 2),
    ):
        np.testing.assert_allclose(rg.stabilize(f, relations=[])(x), f(x), rtol=1e-14)
        np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-14)


def test_an_exponent_is_watched_only_where_parts_share_an_argument():
    x = np.array([0.5, 1.5])
    for f in (
        lambda x, y: np.exp(x * np.pi - y * 3),
        lambda x, y: np.exp(np.sum(x * y)),
        lambda x, y: np.tanh(2 * x @ y - 3.0),
    ):
        assert "cancels(np.maximum" not in rg.stabilize(f, precise=True).source(x, x + 1)


def _at_many_digits(truth, x):
    with mpmath.workdps(400):
        return truth(mpmath.mpf(x))


@pytest.mark.parametrize("g", [1 - 2.0**-44, 1 - 2.0**-50, 0.5])
def test_mixtures_of_weights_of_both_signs_are_watched(g):
    f = rg.value_and_grad(lambda g, x: np.log(1 - g / (1 + np.exp(-x))), argnums=(0, 1))
    value, slopes = f(g, 33.0)
    with mpmath.workdps(60):
        q = lambda g, x: mpmath.log(1 - g / (1 + mpmath.exp(-x)))
        at = mpmath.mpf(g), mpmath.mpf(33)
        for got, want in zip(
            (value, *slopes), (q(*at), *[mpmath.diff(q, at, n) for n in ((1, 0), (0, 1))]), strict=True
        ):
            assert abs(got - want) <= 1e-15 * abs(want)


def test_products_of_others_keep_their_digits():
    x = np.array([[0.5, 3.0, -2.0], [1 + 2**-30, 7.0, 0.1]])
    for axes in ((-1,), (-2,), (-2, -1)):
        exact = [
            math.prod(Fraction(float(v)) for j, v in np.ndenumerate(x) if j != i and _together(i, j, axes))
            for i in np.ndindex(x.shape)
        ]
        twin = Twin(lambda x, axes=axes: leave_one_out_prod(x, axes=axes), Doubled)(x).floats()
        close(twin.ravel(), [float(e) for e in exact])


OF_ROWS = {
    "unit_pullback": lambda x, v: kernels.unit_pullback(x, v, axis=-1),
    "deviation": lambda p, g: kernels.deviation(g, p, axis=-1),
    "softmax_pullback": lambda p, g: kernels.softmax_pullback(g, p, axis=-1),
    "log_softmax_pullback": lambda p, g: kernels.log_softmax_pullback(g, p, axis=-1),
    "softmax": lambda x, w: kernels.softmax(x, axis=-1, weights=w),
    "logsumexp": lambda x, w: kernels.logsumexp(x, axis=-1, keepdims=True, weights=w),
}


@pytest.mark.parametrize("short", [0, 1])
@pytest.mark.parametrize("name", OF_ROWS)
def test_entries_that_rows_repeat_count_so_often(name, short):
    """f(x : (2, 1), y : (2, 3)) = f(x repeated, y), in any numbers: norms and sums of weights are of three entries."""
    rows = [np.array([[0.5, 0.3, 0.8], [0.2, 0.7, 0.4]]), np.array([[0.9, 0.6, 0.1], [0.3, 0.8, 0.2]])]
    rows[short] = rows[short][:, :1]
    want = OF_ROWS[name](*[np.broadcast_to(x, (2, 3)) for x in rows])
    for f in (OF_ROWS[name], *[Twin(OF_ROWS[name], kind) for kind in (Doubled, Extended, Drawn)]):
        np.testing.assert_allclose(lowered(f(*rows)) + 0 * want, want, rtol=1e-12, atol=1e-15)
    if name in ("unit_pullback", "deviation", "softmax_pullback"):  # which are linear in the second
        with np.errstate(all="ignore"):
            large = Extended.of(rows[1]) * 2.0**900 * 2.0**900
            found = Twin(OF_ROWS[name], Extended)(rows[0], large) * 2.0**-900 * 2.0**-900
        np.testing.assert_allclose(lowered(found) + 0 * want, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("shape", [(1,), (2, 1), (3,)])
def test_lengths_of_repeated_entries_are_curved_as_those_of_entries(shape, strategy):
    """‖(x, x)‖ = √2·|x| has no curvature, though digits cancel in it: it is computed again, of as many entries."""
    x = 2.5 + np.arange(math.prod(shape)).reshape(shape)
    straight = rg.hessian(lambda x: np.sum(np.linalg.norm(np.repeat(x, 2, -1), axis=-1)), strategy=strategy)
    written = rg.hessian(lambda x: np.sum(np.sqrt(2 * np.sum(x**2, axis=-1))), strategy=strategy)
    np.testing.assert_allclose(straight(x), written(x), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("size", [1.0, 2.0**-1030])
def test_products_of_constants_that_are_too_small_to_be_one(size):
    """D(c·d, w) with c·d below floats, which is no constant: what is centred there is a number all the same."""
    x, d, weights = np.array([0.3, -0.4]), np.array([0.5, 0.7]), np.array([0.7, 0.2])
    slope = rg.grad(lambda x: np.sum(weights * (x * (x**2 + 1.5)) / np.sum(x**2 + 1.5)))
    with warnings.catch_warnings(), np.errstate(under="ignore"):
        warnings.simplefilter("error", rg.RelgradWarning)
        found = rg.grad(lambda x: np.sum(slope(x) * (d * size)))(x)
    want = rg.hessian(lambda x: np.sum(weights * (x * (x**2 + 1.5)) / np.sum(x**2 + 1.5)))(x) @ d
    np.testing.assert_allclose(found / size, want, rtol=1e-12 if size == 1 else 1e-3)


@pytest.mark.parametrize("holder", ["cell", "default", "container"])
@pytest.mark.parametrize("kind", [float, np.float64])
def test_numbers_of_few_digits_are_what_they_say_whoever_holds_them(kind, holder):
    """Σ log(1 + e^(h·(xᵢ - xⱼ))) has the slope h²·Σ (xᵢ - xⱼ)/2: h = 10⁻⁸ is exact in NumPy's type as well."""
    h, held = kind(1e-8), [kind(1e-8)]
    pairs = lambda x, h: np.sum(np.log(1 + np.exp((x[:, None] - x) * h)))
    f = {
        "cell": lambda x: pairs(x, h),
        "default": lambda x, h=h: pairs(x, h),
        "container": lambda x: pairs(x, held[0]),
    }[holder]
    x = np.random.default_rng(0).normal(size=50).round(1)
    np.testing.assert_allclose(rg.grad(f)(x), 1e-16 * np.sum(x[:, None] - x, axis=1) / 2, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_product_of_few_has_no_derivatives_along_many(count):
    x = np.arange(1.0, count + 1)
    for m in range(1, 7):
        found = leave_one_out_prod(x, *[x] * m)
        lost = [math.prod(np.delete(x, i)) * math.perm(count - 1, m) for i in range(count)]
        np.testing.assert_allclose(found, lost, rtol=1e-14)
        np.testing.assert_allclose(
            Twin(lambda x, *v: leave_one_out_prod(x, *v), Doubled)(x, *[x] * m).floats(), lost
        )


@pytest.mark.parametrize("kind", [Doubled, Extended])
@pytest.mark.parametrize(
    "x", [np.zeros((2, 0)), np.zeros((0, 3)), np.array([7.0]), np.array([np.inf, 0.0])], ids=str
)
def test_products_of_others_of_few_are_those_of_floats(kind, x):
    found = Twin(lambda x: leave_one_out_prod(x), kind)(x).floats()
    np.testing.assert_array_equal(found, leave_one_out_prod(x))


def _together(i, j, axes):
    return all(a == b for n, (a, b) in enumerate(zip(i, j, strict=True)) if n - len(i) not in axes)


NEARLY_SINGULAR = {
    "det": (
        lambda e: np.linalg.det(np.array([[2 + e, 4 - e], [3 + 2 * e, 6 + e]])),
        lambda e: 3 * e + 3 * e * e,
    ),
    "log of det": (
        lambda e: np.log(np.linalg.det(np.eye(2) + e * np.array([[2.0, 0.5], [1.0, -1.0]]))),
        lambda e: mpmath.log(1 + e - mpf(2.5) * e * e),
    ),
    "solve": (
        lambda e: np.linalg.solve(np.array([[1.0, 1 - e], [1 - e, 1.0]]), np.array([1.0, 2.0]))[0],
        lambda e: (1 - 2 * (1 - e)) / (1 - (1 - e) ** 2),
    ),
    "inv": (
        lambda e: np.linalg.inv(np.array([[1.0, 1 - e], [1 - e, 1.0]]))[0, 1],
        lambda e: -(1 - e) / (1 - (1 - e) ** 2),
    ),
    "slogdet": (
        lambda e: np.linalg.slogdet(np.array([[1.0, e], [-e, 1.0]]))[1],
        lambda e: mpmath.log1p(e * e),
    ),
    "rows of different sizes": (
        lambda e: np.linalg.det(np.array([[1.0, 3e8, 9e16], [1.0, e, e * e], [1.0, 2.0, 4.0]])),
        lambda e: (e - 3e8) * (2 - mpf(3e8)) * (2 - e),
    ),
    "product": (lambda e: np.prod(1 + e * np.array([1.0, 2.0, 4.0])) ** (1 / 3) - 1, None),
}


@pytest.mark.parametrize("name", NEARLY_SINGULAR)
def test_what_elimination_loses_is_computed_again(name):
    f, exact = NEARLY_SINGULAR[name]
    e = 3e-10
    with mpmath.workdps(60):
        third = mpf(1 / 3)
        product = (1 + mpf(e)) * (1 + 2 * mpf(e)) * (1 + 4 * mpf(e))
        want = product**third - 1 if exact is None else exact(mpf(e))
    assert rg.stabilize(f)(e) == pytest.approx(float(want), rel=1e-15, abs=0)
    assert f(e) != pytest.approx(float(want), rel=1e-12, abs=0)


NEARLY = lambda e: np.array([[1.0, 2.0], [2.0, 4.0]]) + e * np.eye(2)
SINGULAR_IN_FLOATS = {
    "inv": (lambda e: np.linalg.inv(NEARLY(e))[0, 1], lambda e: -2 / (5 * e + e * e)),
    "solve": (
        lambda e: np.linalg.solve(NEARLY(e), np.array([[1.0], [1.0]]))[1, 0],
        lambda e: (e - 1) / (5 * e + e * e),
    ),
    "one of several": (
        lambda e: np.linalg.inv(np.stack([np.eye(2) + e, NEARLY(e)]))[1, 0, 0],
        lambda e: (4 + e) / (5 * e + e * e),
    ),
    "cholesky": (
        lambda e: np.linalg.cholesky(NEARLY(e))[1, 1],
        lambda e: mpmath.sqrt((5 * e + e * e) / (1 + e)),
    ),
    "slope of slogdet": (
        rg.grad(lambda e: np.linalg.slogdet(NEARLY(e))[1]),
        lambda e: (5 + 2 * e) / (5 * e + e * e),
    ),
    "slope of a quadratic form": (
        rg.grad(lambda e: np.array([1.0, 1.0]) @ np.linalg.solve(NEARLY(e), np.array([1.0, 1.0]))),
        lambda e: 2 / (5 * e + e * e) - (1 + 2 * e) * (5 + 2 * e) / (5 * e + e * e) ** 2,
    ),
}


@pytest.mark.parametrize("name", SINGULAR_IN_FLOATS)
def test_matrices_that_are_singular_in_floats_alone_are_no_error(name):
    f, exact = SINGULAR_IN_FLOATS[name]
    with mpmath.workdps(60):
        want = float(exact(mpf(1e-17)))
    assert rg.stabilize(f)(1e-17) == pytest.approx(want, rel=1e-15, abs=0)
    with pytest.raises(np.linalg.LinAlgError):
        rg.stabilize(f, precise=False)(1e-17)
    with pytest.raises(np.linalg.LinAlgError):
        rg.stabilize(f)(0.0)


def test_matrices_that_are_not_nearly_singular_are_not_computed_again(monkeypatch):
    again, rng = times_computed_again(monkeypatch), np.random.default_rng(4)
    f = rg.stabilize(lambda a, b: np.linalg.solve(a, b))
    for n in (2, 3, 8):
        for _ in range(20):
            f(rng.normal(size=(n, n)) + 3 * np.eye(n), rng.normal(size=n))
    assert not again
    assert "ill_conditioned" not in f.source(np.eye(40), np.ones(40))


@pytest.mark.parametrize("add", [np.logaddexp, np.logaddexp2], ids=["natural", "binary"])
def test_a_sum_of_two_exponentials_that_is_nearly_one_is_watched(add):
    """log(e^x + e^y) for computed x and y cancels where it is far nearer to zero than the larger of both."""
    y = np.array([math.sqrt(math.log(2)), math.sqrt(-math.log(-math.expm1(-0.25))), 6.4, 6.437795])
    x = np.array([math.sqrt(math.log(2)), 0.5, 1e-9, 1e-9])
    unit = 1.0 if add is np.logaddexp else math.log(2)
    root = math.sqrt(unit)
    f = lambda x, y: add(-x * x, -y * y)
    with mpmath.workdps(60):
        base = mpmath.e if add is np.logaddexp else mpmath.mpf(2)
        parts = [[base ** (-(mpmath.mpf(v) ** 2)) for v in a.tolist()] for a in (x / root, y / root)]
        truth = [float(mpmath.log(a + b) / mpmath.log(base)) for a, b in zip(*parts, strict=True)]
    assert rg.stabilize(f)(x / root, y / root) == pytest.approx(truth, rel=1e-12)


def test_a_mixture_that_is_nearly_one_is_watched():
    f = lambda w, x: np.log(w + (1 - w) * np.exp(-x))
    with mpmath.workdps(50):
        want = mpmath.log(mpf(0.3) + (1 - mpf(0.3)) * mpmath.exp(-mpf(1e-10)))
    assert rg.stabilize(f)(0.3, 1e-10) == pytest.approx(float(want), rel=1e-15, abs=0)


def test_a_sum_of_shares_that_is_nearly_one_is_watched():
    """log Σ p²/q, Rényi's divergence of order 2, where p is near q."""

    def f(x, y):
        p, q = [np.exp(z) / np.sum(np.exp(z)) for z in (x, y)]
        return np.log(np.sum(p**2 / q))

    x, y = np.array([-0.5586, 0.5236, -0.1865]), np.array([-0.5802, 0.5011, -0.2102])
    with mpmath.workdps(50):
        e = [[mpmath.exp(mpf(float(v))) for v in z] for z in (x, y)]
        p, q = [[v / sum(z) for v in z] for z in e]
        want = mpmath.log(sum(a * a / b for a, b in zip(p, q, strict=True)))
    assert rg.stabilize(f)(x, y) == pytest.approx(float(want), rel=4e-15, abs=0)


def test_deviations_of_computed_numbers_are_watched():
    def f(x, w):
        y = 1 / (2 + x)
        return w @ y**2 / np.sum(w) - (w @ y / np.sum(w)) ** 2

    x, w = 1.36 + 1e-5 * np.array([1.0, 3.0, 4.0]), np.array([1.0, 2.0, 0.5])
    with mpmath.workdps(50):
        y, v = [1 / (2 + mpf(float(a))) for a in x], [mpf(float(a)) for a in w]
        mean = sum(a * b for a, b in zip(v, y, strict=True)) / sum(v)
        want = sum(a * (b - mean) ** 2 for a, b in zip(v, y, strict=True)) / sum(v)
    assert rg.stabilize(f)(x, w) == pytest.approx(float(want), rel=1e-14, abs=0)


AT = np.array([0.3, 0.7, 1.4, 2.6, 5.2, -0.4, -3.1])


def strays(function, numbers) -> bool | None:
    """Whether numbers of more than floats make another value than floats do; None where none takes them."""
    tried = False
    for arity, last in product(range(1, 5), ((), (0,), (1,), (2,))):
        operands = [np.roll(AT, 3 * i) for i in range(arity)]
        try:
            plain = np.asarray(function(*operands, *last), float)
            found = function(*map(numbers.of, operands), *last)
        except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
            continue
        if plain.shape != AT.shape or not isinstance(found, numbers):
            continue
        value, bound = found.floats(), getattr(found, "bound", 0.0)
        known = np.isfinite(plain) & np.isfinite(value) & np.isfinite(bound)
        tried = True
        if np.any(known & (np.abs(value - plain) > 1e-9 * np.abs(plain) + 1e-11)):
            return True
    return False if tried else None


RULES = [
    (numbers, name, function)
    for numbers in (Doubled, Extended)
    for name, function in [
        *[(name, getattr(kernels, name)) for name in numbers.named if hasattr(kernels, name)],
        *[(f.__name__, f) for f in (*numbers.ufuncs, np.sinc)],
    ]
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("numbers", "name", "function"), RULES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_rule_computes_what_floats_do(numbers, name, function):
    with np.errstate(all="ignore"):
        assert not strays(function, numbers)


def test_rules_are_tried_and_strays_are_seen():
    with np.errstate(all="ignore"):
        found = [strays(function, numbers) for numbers, _, function in RULES]
        assert sum(x is False for x in found) > 150
        assert strays(lambda x: x if isinstance(x, np.ndarray) else x * 2, Doubled)


def test_differences_of_even_functions_are_watched_where_arguments_are_opposite():
    f = rg.stabilize(lambda x: (1 - np.exp(-x)) ** 2 - x**2)
    np.testing.assert_allclose(f(np.float64(1e-6)), -9.99999416666917e-19, rtol=1e-14)


def test_blocks_of_floats_are_floats_and_bounds_that_are_one_number_stay_one():
    x = Doubled(np.linspace(1, 2, 3 * BLOCK))
    assert (2.0 * x).exact
    assert np.concatenate([x, x[:5]]).exact
    assert np.ndim((x + 0.1).bound) == 0
    mixed = np.concatenate([x[:2], x[:2] * 0.1, x[:2] / 3.0])
    np.testing.assert_array_equal(mixed.parts[2][:2], 0.0)
    assert (mixed.parts[2][2:] > 0).all()


@pytest.mark.parametrize("x", [1e-17, np.array([[1e-17]]), np.array([1e-17, 0.2])], ids=np.shape)
def test_what_entries_are_not_computed_of_need_not_fit_them(x: Any) -> None:
    """f(x, y) = √(1 − (2x − 1)²), y of another shape: y is read by no entry that is computed again."""
    f = lambda x, y: np.sqrt(1 - (2 * x - 1) ** 2)
    found = rg.stabilize(f, validate=False)(x, np.zeros((5, 3)))
    np.testing.assert_allclose(found, 2 * np.sqrt(x * (1 - x)), rtol=1e-15)
    _, slope = rg.jvp(f, (x, np.zeros((5, 3))), (np.ones_like(x), np.ones((5, 3))), validate=False)
    np.testing.assert_allclose(slope, (1 - 2 * x) / np.sqrt(x * (1 - x)), rtol=1e-14)


def test_a_result_is_watched_beside_one_that_is_not_asked_for_and_may_raise() -> None:
    """log(a·b − w²), with a⁻¹·f computed and left out: whether the inverse exists is no matter of rounding."""

    def f(w: Any, a: Any, b: Any) -> Any:
        inverse = np.linalg.inv(np.array([[a, w], [w, b]]))
        return np.log(a * b - w**2), inverse

    w = 1 - 1e-10
    slope = rg.grad(lambda *args: f(*args)[0])(w, 1.0, 1.0)
    with mpmath.workdps(40):
        true = float(-2 * mpf(w) / (1 - mpf(w) * mpf(w)))
    assert slope == pytest.approx(true, rel=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        rg.stabilize(lambda *args: f(*args)[0])(1.0, 1.0, 1.0)


def test_counts_of_masks_divide_what_is_known_twice_as_well() -> None:
    """q − s²/c of groups, c = Σ mask, on x + 2²⁷: counts are given, as arguments are."""
    group, x = np.array([0, 0, 1, 1, 1]), np.array([0.5, 0.75, 2.0, 1.25, 0.5])

    def within(x: Any) -> Any:
        m = (group[None, :] == np.arange(2)[:, None]) * 1.0
        c, s = m.sum(axis=1), m @ x
        return (m @ (x * x) - s * s / c) / (c - 1)

    found = rg.stabilize(within)(x + 2.0**27)
    np.testing.assert_allclose(found, [np.var(x[:2], ddof=1), np.var(x[2:], ddof=1)], rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        np.sin,
        np.tan,
        np.arctan,
        np.sinh,
        np.tanh,
        np.arcsinh,
        np.expm1,
        np.log1p,
        np.cbrt,
        np.sqrt,
        np.abs,
        np.negative,
    ],
)
def test_zeros_keep_their_signs_in_functions_of_one(function):
    zeros = np.array([-0.0, 0.0])
    np.testing.assert_array_equal(np.signbit(function(Doubled.of(zeros)).hi), np.signbit(function(zeros)))


@pytest.mark.parametrize("function", [np.add, np.subtract, np.multiply, np.arctan2, np.maximum])
def test_zeros_keep_their_signs_in_functions_of_two(function):
    x, y = np.meshgrid([-0.0, 0.0, -2.0, 2.0], [-0.0, 0.0, -2.0, 2.0])
    found, floats = function(Doubled.of(x), Doubled.of(y)).floats(), function(x, y)
    np.testing.assert_allclose(found, floats, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(floats))


def _log_odds(x):
    p = 1 / (1 + np.exp(-x))
    return np.sum(np.log(p) - np.log(1 - p), axis=-1)


def _mean_slope(x):
    return (np.exp(x[..., 0]) - np.exp(x[..., 1])) / (x[..., 0] - x[..., 1])


def _entropy(x):
    p = np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)
    return -np.sum(p * np.log(p), axis=-1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [[1e-300, 2e-300, -1e-300], [1e-160, 1.5e-160, 3e-160], [1e-9, 3e-9, -1e-9]])
@pytest.mark.parametrize("other", [[np.nan, 1.0, 2.0], [np.nan] * 3, [1.0, np.nan, -np.inf]])
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("f", [_log_odds, _mean_slope, _entropy])
def test_a_row_is_computed_again_though_another_is_nan(f, strategy, other, row):
    """f((x, NaN)) = (f(x), NaN): digits that cancel in one row are as many whatever stands in another."""
    value = rg.stabilize(f, strategy=strategy)
    slope = rg.grad(lambda x: np.sum(f(x)), strategy=strategy)
    for rows, at in (([row, other], 0), ([other, row], 1), ([other, row, other], 1)):
        x = np.array(rows)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(value(x)[at], value(np.array(row)), rtol=1e-14)
            np.testing.assert_allclose(slope(x)[at], slope(np.array(row)), rtol=1e-13)
        assert np.isnan(value(x)[1 - at if len(rows) == 2 else 0])


ORDERS = {
    "√(1 + v²)": lambda v: np.sqrt(1 + v**2),
    "3 − eᵛ": lambda v: 3 - np.exp(v),
    "log Σ cosh": lambda v: np.log(np.sum(np.cosh(np.stack([v, 2 * v])), axis=0)),
    "share": lambda v: np.exp(v) / np.sum(np.exp(v)),
    "less its mean": lambda v: np.tanh(1 + v) - np.mean(np.tanh(1 + v)),
    "running": lambda v: np.cumsum(np.concatenate([np.ones(1), v[1:]])),
    "clipped": lambda v: np.maximum(1 + v * v, 0.5) / -7,
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("pick", [np.max, np.min])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-11])
def test_the_slope_of_the_largest_of_computed_numbers_is_that_of_one(name, pick, scale):
    """max f(v) has the slope of the largest f(v), though several are the same in floats."""
    f, v = ORDERS[name], scale * np.array([0.3, -0.7, 0.61, 0.2])
    with mpmath.workdps(50):
        exact = _in_many_digits(name, v)
        k = max(range(4), key=lambda i: exact[i] if pick is np.max else -exact[i])
    found = rg.grad(lambda v: pick(f(v)))(v)
    alone = rg.grad(lambda v: f(v)[k])(v)
    assert np.allclose(found, alone, rtol=1e-13, atol=0), (found, alone)


def _in_many_digits(name, v):
    """Return the entries of ORDERS[name] at v, as numbers of 50 digits."""
    v = [mpf(float(x)) for x in v]
    mean = lambda xs: sum(xs) / len(xs)
    one = [mpf(1), *v[1:]]
    return {
        "√(1 + v²)": [mpmath.sqrt(1 + x**2) for x in v],
        "3 − eᵛ": [-mpmath.exp(x) for x in v],
        "log Σ cosh": [mpmath.cosh(x) + mpmath.cosh(2 * x) for x in v],
        "share": [mpmath.exp(x) for x in v],
        "less its mean": [mpmath.tanh(1 + x) - mean([mpmath.tanh(1 + y) for y in v]) for x in v],
        "running": [sum(one[: i + 1]) for i in range(4)],
        "clipped": [max(1 + x * x, 0.5) / -7 for x in v],
    }[name]


VARYING = {
    "multiples": lambda x, c: c * np.exp(-x),
    "parts": lambda x, c: c - np.exp(x),
    "quotients": lambda x, c: np.tanh(x) / c,
    "negative ones too": lambda x, c: (c - 2.5) * np.exp(x),
    "powers": lambda x, c: np.square(x) ** c,
    "shared": lambda x, c: np.sqrt(np.sum(x) + c * np.exp(x)) - x[..., :1],
    "of other rows": lambda x, c: np.exp(x) + np.sum(c * x, axis=-1, keepdims=True),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", VARYING)
@pytest.mark.parametrize("pick", [np.max, np.min])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 1)])
def test_what_varies_along_the_axes_decides_which_is_the_largest(name, pick, axis, shape):
    """max c·e⁻ˣ, c = (1, 2, 3, 4), is where c·e⁻ˣ is the largest: not where x is the least."""
    f, x = VARYING[name], np.random.default_rng(7).normal(size=(3, 4)) + 3
    c = np.arange(1.0, 13.0)[: math.prod(shape)].reshape(shape)
    g = lambda x: np.sum(pick(f(x, c), axis=axis))
    y = f(x, c)
    there = (y == pick(y, axis=axis, keepdims=True)).astype(float)
    expected = rg.vjp(lambda x: f(x, c), x)[1](there)
    expected = expected[0] if isinstance(expected, tuple) else expected
    np.testing.assert_allclose(rg.grad(g)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(rg.grad(g, strategy="eager")(x), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "sort", [np.sort, lambda x: np.flip(np.sort(x)), lambda x: np.take(x, np.argsort(x))]
)
def test_slopes_go_back_from_sorted_entries_in_balls_as_well(sort):
    """∂ Σ c·sort(arcsin(tanh y)) = c/cosh(y), in the order of y: where 1 − tanh² is below doubled digits, too."""
    y, c = np.array([-42.5, -5.34, -5.37, 3.0]), np.arange(1.0, 5)
    found = rg.grad(lambda y: np.sum(c * sort(np.arcsin(np.tanh(y)))))(y)
    order = sort(y)
    close(found, [c[list(order).index(v)] / np.cosh(v) for v in y])


@pytest.mark.parametrize("pick", [np.max, np.min])
def test_numbers_that_tie_share_the_slope_of_the_largest(pick):
    for f, slope in (
        (lambda v: np.exp(v) + v * v, lambda v: np.exp(v) + 2 * v),
        (lambda v: np.maximum(v, 0.0), lambda v: (v > 0) + 0.0),
        (lambda v: np.cos(v) * 3, lambda v: -3 * np.sin(v)),
    ):
        for v in (np.full(4, 0.3), np.full((2, 3), 0.3)):
            found = rg.grad(lambda v, f=f: np.sum(pick(f(v), axis=-1)))(v)
            assert np.allclose(found, slope(v) / v.shape[-1], rtol=1e-14)


def test_ties_are_watched_of_computed_numbers_only(monkeypatch):
    """max x, max f(x) of an increasing f: as exact as x;    max(0, …, 0): all of relu's zeros are the same."""
    times, x = times_computed_again(monkeypatch), np.random.default_rng(2).normal(size=(4, 4))
    for f in (np.max, lambda x: np.max(x[1:] * 2.0), lambda x: np.max(np.tanh(1 - x))):
        assert "ties(" not in rg.grad(f).source(x)
    relu = rg.grad(lambda x: np.max(np.maximum(x @ x, 0)))
    assert "ties(" in relu.source(x)
    relu(x), relu(np.zeros((4, 4)))
    assert not times


@pytest.mark.parametrize("steps", [2, 3])
def test_guards_do_not_warn(steps):
    """What a part of a sum has lost is asked where both are 0, too: in the slopes of slices of a matrix."""

    def gated(w, x):
        h = c = np.zeros(2)
        for t in range(steps):
            z = w @ np.concatenate((h, x[t]))
            gates = 1 / (1 + np.exp(-z[:6]))
            c = gates[2:4] * c + gates[:2] * np.tanh(z[6:])
            h = gates[4:] * np.tanh(c)
        return np.log(np.sum(np.exp(h)))

    w, x = np.sin(np.arange(32.0)).reshape(8, 4), np.cos(np.arange(6.0)).reshape(3, 2)
    slope = rg.grad(gated)
    assert "lost(" in slope.source(w, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(np.isfinite(slope(w, x)))


ROOTS = np.sqrt(np.pi * np.array([0.5, 7.5, 94.5]))


@pytest.mark.parametrize("n", [None, 3])
def test_sines_near_their_zeros_keep_their_digits(n):
    """Chebyshev's polynomials, T₇(x) = cos(7·arccos x), and cos x² near the zeros of both."""
    x = np.array([1e-9, 0.4338837391175581, -0.7818314824680298])
    t7 = lambda x: 64 * x**7 - 112 * x**5 + 56 * x**3 - 7 * x
    with mpmath.workdps(40):
        first = [float(t7(mpmath.mpf(y))) for y in x]
        second = [float(mpmath.cos(mpmath.mpf(y) ** 2)) for y in ROOTS]
    for f, want, at in (
        (lambda x: np.cos(7 * np.arccos(x)), first, x),
        (lambda x: np.cos(x * x), second, ROOTS),
    ):
        got = rg.stabilize(f)(at) if n else [rg.stabilize(f)(y) for y in at]
        np.testing.assert_allclose(got, want, rtol=64 * 2.0**-52)


def test_sines_of_large_angles_are_right_for_those_who_read_few_digits_of_them():
    f = rg.stabilize(lambda x: np.exp(np.cos(np.sin(x / 3))))
    with mpmath.workdps(400):
        for x in (2729852480.1326056, -6.73356341691068e224):
            want = float(mpmath.exp(mpmath.cos(mpmath.sin(mpmath.mpf(x) / 3))))
            np.testing.assert_allclose(f(x), want, rtol=64 * 2.0**-52)


def test_guards_of_large_numbers_do_not_warn():
    """Σ x of 1e300: squares overflow by which it is told whether digits were lost."""
    x = np.array([1e300, 1e10, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            rg.stabilize(lambda x: np.arange(3.0) * x.sum())(x), np.arange(3.0) * x.sum()
        )


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_names_are_those_of_parts_of_pi_and_of_no_other_number(kind):
    """m·π/n has its name for n up to 12, and floats a few units away have none."""
    for n in range(1, 13):
        for m in range(1, 2 * n + 1):
            x = kind(m * np.pi / n)
            name, part = name_of(x)
            assert name == "pi" and part == Fraction(m, n)
            assert name_of(-x) == (name, -part)
            assert name_of(x + 4 * np.spacing(x)) is None
    drawn = np.random.default_rng(3).uniform(0.0, 10.0, 4000).astype(kind)
    assert not any(name_of(x) for x in drawn)
    assert not any(name_of(kind(x)) for x in (0.0, np.inf, np.nan, 1e-30, 1e30, 0.1, 1 / 3, 3.14159, 22 / 7))


@pytest.mark.parametrize(
    ("x", "number"),
    [(np.pi / 4, lambda: mpmath.pi / 4), (-np.log(2), lambda: -mpmath.log(2)), (0.75, lambda: mpf(0.75))],
)
def test_constants_are_the_numbers_that_they_name(x, number):
    """0.7853981633974483 → π/4, and not that float; ⅓, without a name, may have been rounded."""
    found = written(np.float64(x))
    with mpmath.workdps(40):
        assert abs(sum(map(mpf, map(float, found.parts[:2]))) - number()) < 1e-31
    assert found.bound < 2.0**-100
    assert written(np.float64(1 / 3)).bound > 0


def test_turns_are_taken_off_the_angle_of_a_cardinal_sine():
    x = 1e5 + 0.3
    with mpmath.workdps(60):
        u = mpmath.pi * (mpf(x) ** 2 - mpf(x))
        want = mpmath.sin(u) / u
        assert abs(rg.stabilize(lambda x: np.sinc(x * x - x))(x) - want) <= 1e-15 * abs(want)
