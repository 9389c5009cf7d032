"""Extended range: arithmetic of numbers m·2^e, and programs that are computed again in it."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from mpmath import mpf
from op_table import ROWS

import relgrad as rg
from relgrad import kernels
from relgrad.balls.numbers import Balls
from relgrad.kernels.containers import mapped
from relgrad.kernels.extended import extended_range
from relgrad.kernels.extended.number import NAMED, Extended
from relgrad.kernels.numbers import Twin, lowered
from relgrad.kernels.watched import Shaken
from relgrad.trace.containers import flatten

SPREAD = [3e-320, 2e-200, -1e-3, 0.7, -1.0, 5.0, 1e3, -4e200, 3e307]
POSITIVE = [abs(x) for x in SPREAD]


def exact(x: Extended) -> list[Any]:
    return [mpf(float(m)) * mpf(2) ** int(e) for m, e in zip(x.m.ravel(), x.e.ravel(), strict=True)]


def relative(got: Any, truth: Any) -> float:
    return float(abs(got - truth) / abs(truth)) if truth else float(abs(got))


@pytest.mark.parametrize(
    ("function", "oracle", "first", "second"),
    [
        (np.add, lambda x, y: x + y, SPREAD, POSITIVE),
        (np.subtract, lambda x, y: x - y, SPREAD, POSITIVE[::-1]),
        (np.multiply, lambda x, y: x * y, SPREAD, SPREAD),
        (np.divide, lambda x, y: x / y, SPREAD, SPREAD[::-1]),
        (np.power, lambda x, y: x**y, POSITIVE, [0.5, -3.0, 7.25, 1100.0, -0.1, 300.0, 1 / 3, 12.0, 2.0]),
        (np.power, lambda x, y: x**y, SPREAD, [3.0, 2.0, -5.0, 101.0, 4.0, -1.0, 99.0, 7.0, -2.0]),
        (np.hypot, lambda x, y: mpmath.sqrt(x * x + y * y), SPREAD, SPREAD[::-1]),
        (np.maximum, max, SPREAD, SPREAD[::-1]),
        (np.minimum, min, SPREAD, SPREAD[::-1]),
    ],
)
def test_functions_of_two_numbers(function, oracle, first, second):
    with mpmath.workdps(60):
        x, y = Extended.of(np.array(first)), Extended.of(np.array(second))
        for got, a, b in zip(exact(function(x, y)), first, second, strict=True):
            assert relative(got, oracle(mpf(a), mpf(b))) < 8e-16, (function, a, b)


@pytest.mark.parametrize(
    ("function", "oracle", "at"),
    [
        (np.sqrt, mpmath.sqrt, POSITIVE),
        (np.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), SPREAD),
        (np.square, lambda x: x * x, SPREAD),
        (np.reciprocal, lambda x: 1 / x, SPREAD),
        (np.exp, mpmath.exp, [-3e4, -800.0, -1e-300, 0.5, 700.0, 1e6]),
        (np.exp2, lambda x: mpf(2) ** x, [-3e4, -1080.5, 0.25, 1e6]),
        (np.expm1, mpmath.expm1, [-800.0, -1e-310, 1e-3, 2000.0]),
        (np.sinh, mpmath.sinh, [-800.0, 1e-310, 2.0, 3000.0]),
        (np.cosh, mpmath.cosh, [-800.0, 2.0, 3000.0]),
    ],
)
def test_functions_of_one_number(function, oracle, at):
    with mpmath.workdps(60):
        for got, x in zip(exact(function(Extended.of(np.array(at)))), at, strict=True):
            assert relative(got, oracle(mpf(x))) < 1e-15, (function, x)


def test_logarithms_of_what_is_no_float():
    x = Extended.of(np.array([1e200, 1e-200, 3.0])) ** 3.0
    np.testing.assert_allclose(np.log(x).floats(), 3 * np.log([1e200, 1e-200, 3.0]), rtol=4e-16)
    np.testing.assert_allclose(np.log2(x).floats(), 3 * np.log2([1e200, 1e-200, 3.0]), rtol=4e-16)
    np.testing.assert_allclose(np.log1p(x).floats(), np.log([1e200, 1, 28 ** (1 / 3)]) * 3, rtol=4e-16)
    np.testing.assert_allclose(kernels.log1mexp(-(x[1:2] ** 5.0)).floats(), 3000 * np.log(0.1), rtol=4e-16)
    np.testing.assert_array_equal(kernels.log1mexp(x[1:2] ** 5.0).floats(), np.nan)


def test_zeros_infinities_and_nan_are_as_in_floats():
    special = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
    x, y = special[:, None], special
    for f in (
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.power,
        np.maximum,
        np.minimum,
        np.fmax,
        np.less,
    ):
        with np.errstate(all="ignore"):
            got = f(Extended.of(x), Extended.of(y))
            np.testing.assert_array_equal(
                got.floats() if isinstance(got, Extended) else got, f(x, y), f.__name__
            )
    for f in (np.sqrt, np.log, np.exp, np.expm1, np.log1p, np.square, np.sinh, np.cosh, np.tanh, np.isfinite):
        with np.errstate(all="ignore"):
            got = f(Extended.of(special))
            np.testing.assert_array_equal(
                got.floats() if isinstance(got, Extended) else got, f(special), f.__name__
            )


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(axis, keepdims):
    x = np.array([[1e-200, -3e10, 2.0], [4e150, 0.0, 1e-5]])
    for f in (np.sum, np.prod, np.max, np.min, np.mean):
        got = f(Extended.of(x), axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(got.floats(), f(x, axis=axis, keepdims=keepdims), rtol=1e-15)
        assert got.shape == np.shape(f(x, axis=axis, keepdims=keepdims))


def test_products_of_matrices_keep_what_is_small():
    a = np.array([[1e200, 1e-200], [3.0, 4.0]])
    b = np.array([[1e-200, 2.0], [1e200, 5.0]])
    np.testing.assert_allclose(
        np.matmul(Extended.of(a), Extended.of(b)).floats(), [[2.0, 2e200], [4e200, 26.0]]
    )
    np.testing.assert_allclose(np.matmul(Extended.of(a), Extended.of(b[0])).floats(), a @ b[0])


SCALES = np.array([[1e-300], [1.0], [1e300]])


@pytest.mark.parametrize("directions", [0, 1, 2])
def test_products_of_others_keep_rows_of_any_size(directions):
    """∇Dᵐ(Π s·xⱼ) = s^(n − 1 − m)·∇Dᵐ(Π xⱼ): a row is not measured by the largest of all."""
    rng = np.random.default_rng(directions)
    x, *along = rng.normal(size=(1 + directions, 3, 5))
    got = kernels.leave_one_out_prod(Extended.of(SCALES) * x, *along)
    want = kernels.leave_one_out_prod(x, *along) * Extended.of(SCALES) ** (4.0 - directions)
    np.testing.assert_allclose((got / want).floats(), 1.0, rtol=1e-13)


def test_sums_of_products_and_solutions_keep_what_is_of_any_size():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4))
    wide = Extended.of(SCALES) ** 2.0
    found = NAMED["einsum"](np.einsum)("ij,ij->i", wide * x, y / wide)
    np.testing.assert_allclose(found.floats(), np.sum(x * y, axis=1), rtol=1e-14)
    a, b = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 2))
    stack = wide[..., None]
    np.testing.assert_allclose(
        NAMED["solve"](np.linalg.solve)(stack * a, stack * b).floats(), np.linalg.solve(a, b), rtol=1e-12
    )
    inverse = NAMED["inv"](np.linalg.inv)(stack * a)
    np.testing.assert_allclose((inverse * stack).floats(), np.linalg.inv(a), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e-90, 1e-70, 1e-20, 1.0, 1e20, 1e70, 1e90, 1e100])
@pytest.mark.parametrize("precise", [False, True])
def test_curvatures_of_products_do_not_depend_on_the_scale(scale, precise):
    """f = √|Π xⱼ| of four has curvatures of degree 0: directions are far larger or smaller than what they move."""
    x, v = np.array([-1.04, 0.71, -0.29, 1.34]), np.array([0.3, -1.2, 0.5, 0.9])

    def product(x):
        slope = rg.grad(lambda x: np.sqrt(np.abs(np.prod(x))), precise=precise)
        return rg.grad(lambda x: np.sum(slope(x) * v), precise=precise)(x)

    want = math.sqrt(abs(math.prod(x))) * ((v / x).sum() / 4 - v / x / 2) / x
    np.testing.assert_allclose(product(scale * x), want, rtol=1e-12)


def test_what_underflows_is_no_zero():
    """The root of Π xⱼ = 10⁻⁴⁰⁰ is 10⁻²⁰⁰, whose curvatures are not small beside one."""
    x, v = np.array([-1.0, 0.7, -0.3, 1.3]), np.array([0.3, -1.2, 0.5, 0.9])

    def product(x):
        slope = rg.grad(lambda x: np.sum(np.cos(x)) + np.sqrt(np.abs(np.prod(x))))
        return rg.grad(lambda x: np.sum(slope(x) * v))(x)

    curved = math.sqrt(abs(math.prod(x))) * ((v / x).sum() / 4 - v / x / 2) / x
    np.testing.assert_allclose(product(1e-100 * x), curved - v, rtol=1e-12)


def test_a_program_is_computed_again_only_where_a_float_leaves_its_range():
    calls = []

    def f(x):
        calls.append(type(x))
        return np.sqrt(np.sum(x * x))

    g = extended_range(f)
    assert g(np.array([3.0, 4.0])) == 5.0
    assert calls == [np.ndarray]
    assert g(np.array([3e200, 4e200])) == pytest.approx(5e200, rel=1e-15)
    assert g(np.array([3e-200, 4e-200])) == pytest.approx(5e-200, rel=1e-15)
    assert calls[1:] == [np.ndarray, np.ndarray, Shaken, Extended] * 2


def test_a_program_stays_in_floats_where_what_leaves_the_range_does_not_matter():
    calls = []

    def f(x):
        calls.append(type(x))
        e = np.exp(-x * x)
        return np.sum(x * e) / np.sum(e), np.tanh(np.exp(x))

    x = np.array([0.5, 40.0, -30.0, 800.0])
    mean, limit = extended_range(f)(x)
    assert mean == 0.5 and limit[3] == 1 and calls == [np.ndarray] * 3 + [Shaken]
    for g in (  # results are as small as what leaves the range, or smaller
        lambda x: np.exp(-x) * 0.5,
        lambda x: x / 900 * np.exp(-x) - np.exp(-x - 1),
    ):
        calls.clear()
        found = extended_range(lambda x, g=g: (calls.append(type(x)), g(x))[1])(np.array([720.0, 740.0]))
        assert calls[-1] is Shaken and np.all(found == g(np.array([720.0, 740.0])))
    for g in (  # it matters here, though the results in floats are numbers
        lambda x: 1 + np.exp(-x) ** 1e-3,
        lambda x: np.log(np.log(np.exp(x))),
        lambda x: np.where(np.exp(-x) == 0, 1.0, 2.0),
        lambda x: np.sum((np.exp(-x) - np.exp(-x - 1)) * 1e300),
        lambda x: np.exp(-x) * 1e10 / 1e-300,
        lambda x: np.exp(-x) * 64,
        lambda x: 1 / (x**14).astype(np.float32),
    ):
        calls.clear()
        extended_range(lambda x, g=g: (calls.append(type(x)), g(x))[1])(np.array([800.0, 801.0]))
        assert calls[-1] is Extended


@pytest.mark.parametrize(
    "order",
    [
        lambda x: np.where(x < x[::-1], 1.0, 2.0),
        lambda x: np.where(x == np.max(x), 1.0, 2.0),
        lambda x: np.take(np.arange(5.0), np.argsort(x)),
        lambda x: np.argmax(x) * 1.0,
        lambda x: np.searchsorted(np.sort(x), x) * 1.0,
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_out_of_range_is_no_matter_of_chance(order, sign):
    rng = np.random.default_rng(7)
    program = extended_range(lambda x: order(np.exp(x)))
    for _ in range(20):
        x = sign * rng.uniform(800, 900, 5)
        np.testing.assert_array_equal(program(x), order(x))


def test_what_is_added_at_one_place_is_not_lost_beside_what_goes_elsewhere():
    """Softmax by segments, of which one underflows."""
    x, at = np.array([[0.0, 3.0], [-800.0, -2e5], [-801.0, 7.0]]), np.array([1, 0, 0])

    def shares(x):
        total = np.zeros((2, 2))
        np.add.at(total, at, np.exp(x))
        return np.exp(x) / total[at]

    q = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(rg.stabilize(shares)(x), [[1, 1], [q, 0], [1 - q, 1]], rtol=1e-13)
    along = lambda x: kernels.add_along(x, np.array([[1], [0], [0]]), -1, (3, 2))
    got = lowered(Twin(lambda x: along(np.exp(x[:, :1])) * np.exp(-x[:, :1]), Extended)(x))
    np.testing.assert_allclose(got, [[0, 1], [1, 0], [1, 0]], rtol=1e-13)


def test_deviations_under_shares_below_the_range_keep_their_dtype():
    g, x = np.array([0.0, -1.0, 1.0], np.float32), np.array([0.0, -500.0, -1000.0], np.float32)
    spread = Twin(lambda x: kernels.deviation(g, kernels.softmax(x, axis=-1), axis=-1), Extended)
    assert lowered(spread(x)).dtype == np.float32


def test_float32_has_its_own_range():
    g = extended_range(lambda x: np.sqrt(x * x))
    got = g(np.array([1e30, 1e-30, 2.0], np.float32))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.array([1e30, 1e-30, 2.0], np.float32))


def test_containers_of_arrays_pass():
    g = extended_range(lambda p, q: {"a": p["x"] * q[0] / q[1]})
    assert g({"x": np.array([1e200])}, (np.array([1e200]), np.array([1e210])))["a"] == pytest.approx([1e190])


def test_other_errors_are_the_callers_own():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        extended_range(lambda x: 1 / x)(np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow"):
            extended_range(lambda x: x * x)(np.array([1e200]))


def test_a_strategy_without_relations_stays_in_floats():
    f = lambda x: np.sqrt(x * x * x)
    with np.errstate(over="ignore"):
        assert rg.stabilize(f, strategy="naive")(1e200) == np.inf
    assert "extended_range" not in rg.stabilize(f, strategy="naive").source(1.0)
    assert rg.stabilize(f)(1e200) == pytest.approx(1e300)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * x),
        lambda x: np.tanh(3.0 * x) + 1.0,
        lambda x: np.log(np.sum(np.exp(x))),
        lambda x: 2.0 * np.exp(x),
    ],
)
def test_what_cannot_come_back_is_not_watched(f):
    assert "extended_range" not in rg.stabilize(f).source(np.ones(3))


def test_source_by_itself_has_the_range():
    namespace: dict[str, Any] = {}
    f = rg.grad(lambda x, y: np.sum(x * y / (x + y)))
    exec(f.source(np.ones(1), np.ones(1)), namespace)
    got = namespace["grad_<lambda>" if "grad_<lambda>" in namespace else "grad_f"](
        np.array([1e200]), np.array([2e200])
    )
    np.testing.assert_allclose(got, [4 / 9], rtol=1e-15)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(ROWS))
def test_programs_of_all_ops_are_the_same_in_extended_range(name):
    f, *args = ROWS[name]
    program = rg.stabilize(f, precise=False)
    want = flatten(program(*args))[0]
    (compiled,) = [p.compiled for found in program._programs.values() for p in found.programs]
    got = flatten(mapped(lowered, Twin(inspect.unwrap(compiled.function), Extended)(*args)))[0]
    for a, b in zip(got, want, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x, y: (x**4 - y**4) / x**3, 1e90),
        (lambda x, y: (x**4 - y**4) / x**3, -1e90),
        (lambda x, y: (x**2 - y**2) / x, 1e170),
        (lambda x, y: (x**2 - y**2) / x, 1e-170),
        (lambda x, y: (x**-2 - y**-2) * x, 1e-170),
        (lambda x, y: (x**2.5 - y**2.5) / x**2, 1e150),
        (lambda x, y: (x**3 - y**3) / x**2, 1e-150),
    ],
)
@pytest.mark.parametrize("part", [0.5, 1 - 1e-9, -0.25])
def test_differences_of_powers_come_back_into_range(f, x, part):
    y = part * x
    with mpmath.workdps(700):
        want = f(mpf(x), mpf(y))
    if isinstance(want, mpmath.mpc):
        pytest.skip("no real number")
    np.testing.assert_allclose(rg.stabilize(f)(x, y), float(want), rtol=1e-14)
    with np.errstate(all="ignore"):
        nothing = [rg.stabilize(f)(x, z) for z in (x, np.nan)]
    assert nothing[0] == 0
    assert np.isnan(nothing[1])


@pytest.mark.parametrize("size", [2.0**40, 2.0**46, 2.0**53, 2.0**57, 4e17])
def test_no_exponent_is_too_large_to_be_told_from_another(size):
    small, large = (np.exp(Extended.of(np.array([x]))) for x in (size, 1.5 * size))
    assert np.less(small, large).all()
    assert (small / large).floats() == 0
    assert np.isinf((large / small).floats())
    assert ((large - small) / large).floats() == 1
    for got, x in zip((small, large, small * large), (size, 1.5 * size, 2.5 * size), strict=True):
        assert np.log(got).floats() == pytest.approx(x, rel=2e-15)
    assert np.log(small**-3.5).floats() == pytest.approx(-3.5 * size, rel=2e-15)
    assert np.log(np.power(Extended.of(np.array([3.0])), size)).floats() == pytest.approx(
        size * np.log(3), rel=2e-15
    )


@pytest.mark.parametrize("x", [2.0**40, 2.0**46, 2.0**53 + 2, 2.0**57, 4e17])
@pytest.mark.parametrize("y", [1.0, 3e4, 2.0**50, 1e17])
def test_factors_cancel(x, y):
    first, second = (np.exp(Extended.of(np.array([v]))) for v in (x, y))
    for got in (first * second / first, first / (first / second), np.cbrt(first) ** 3 * second / first):
        assert (got / second).floats() == pytest.approx(1, rel=2e-15)
    for got in (first * first / first, (first + first) / 2, np.sqrt(first) ** 2, first**2.5 / first**1.5):
        assert (got / first).floats() == pytest.approx(1, rel=2e-15)
    assert (first**3 / first**2 / first).floats() == pytest.approx(1)


def test_beyond_every_exponent_are_zero_and_infinity():
    huge = np.exp(Extended.of(np.array([1e300])))
    assert np.isinf(huge.m)
    assert (1 / huge).m == 0
    assert np.isnan((huge - huge).m)
    assert np.isinf(np.exp2(huge).m)
    assert np.isinf((Extended.of(np.array([3.0])) ** huge).m)


def test_what_overflows_twice_stays_where_it_is():
    slope = rg.grad(lambda x: np.exp(np.exp(x)) / (1 + np.exp(np.exp(2 * x))))
    for x in (4.0, 8.0, 16.0, 40.0):
        assert abs(slope(x)) < 1e-15


def test_products_of_many_large_numbers_do_not_wrap_around():
    huge = np.exp(Extended.of(np.array([4e17])))
    with np.errstate(all="ignore"):
        for n in (2, 3, 4, 8, 16, 40):
            x = (huge.reshape(1, 1) * Extended.of(np.eye(n)))[None]
            (det,) = np.linalg.det(x)
            assert np.isinf(det.m) or np.log(det).floats() == pytest.approx(n * 4e17)
            assert (det.e > 0) or np.isinf(det.m)
        product = huge
        for _ in range(20):
            product = product * huge
            assert product.e > 0 or np.isinf(product.m)


def test_numbers_are_computed_again_where_a_series_stands_beside_the_formula():
    """A decorator between the program and its second run hides no names: numbers, not only arrays, leave the floats."""
    mean = rg.stabilize(lambda r, x, y: (0.25 * x**r + 0.75 * y**r) ** (1 / r))
    assert "along_line" in mean.source(2.0, 2.0, 3.0)
    for r, x, y in ((2000.0, 2.0, 3.0), (-2000.0, 2.0, 3.0), (3.0, 1e200, 1e199), (2.0, 1e-200, 3e-200)):
        with mpmath.workdps(30):
            want = (mpf(x) ** r / 4 + 3 * mpf(y) ** r / 4) ** (1 / mpf(r))
        assert mean(r, x, y) == pytest.approx(float(want), rel=1e-12), (r, x, y)


def test_what_is_mended_stays_where_it_is_no_float():
    mended = lambda values, *arguments: np.where(values == 3.0, 4.0, values)
    mended.mends = True  # pyright: ignore[reportFunctionMemberAccess]
    wide = Extended.applied(mended, (Extended(np.array([0.5, 0.75]), np.array([5000, 2])),), {})
    assert exact(wide) == [mpf(2) ** 4999, 4]
    mended = lambda values, *arguments: np.where(np.isinf(values), 4.0, values)
    mended.mends = True  # pyright: ignore[reportFunctionMemberAccess]
    assert exact(Extended.applied(mended, (wide,), {})) == [4, 4]


@pytest.mark.parametrize("base", [0.684, 1.5, 1e308, 5e-324])
@pytest.mark.parametrize("exponent", [1e6, -1e12, 9e15, -9007199254740991.0])
def test_powers_with_large_exponents(base: float, exponent: float):
    """log₂ of 0.684^(9·10¹⁵) is −4.9·10¹⁵: whole exponents of both signs would cancel in floats."""
    found = np.power(Extended.of(np.float64(base)), Extended.of(np.float64(exponent)))
    with mpmath.workdps(50):
        size = mpf(exponent) * mpmath.log(mpf(base), 2)
        if abs(size) < 2**60:
            assert abs(mpmath.log(mpf(float(found.m)), 2) + int(found.e) - size) < abs(exponent) * 2.0**-50


@pytest.mark.parametrize("x", [800.3, 1e6 + 0.45, -1e9 - 0.2, 1e12 + 0.1, -(2.0**51 + 0.5)])
def test_exponentials_have_all_digits_that_their_exponents_have(x: float):
    """eˣ = eʳ·2ᵏ, where r = x − k·log 2 has no rounding of k·log 2."""
    found = np.exp(Extended.of(np.float64(x)))
    with mpmath.workdps(50):
        assert abs(mpf(float(found.m)) * mpf(2) ** int(found.e) / mpmath.exp(mpf(x)) - 1) < 3e-16


def test_nan_is_searched_for_behind_all_numbers():
    table, sought = np.array([-1.0, 0.0, 1.0, np.nan]), np.array([np.nan, 0.0, 2.0, -3.0])
    for side in ("left", "right"):
        found = np.searchsorted(Extended.of(table), Extended.of(sought), side=side)
        assert np.array_equal(found, np.searchsorted(table, sought, side=side))


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda x, d: sp.ndtr(-(x + d)) / sp.ndtr(-x), (100.0, 0.0078125), 0.457783632822123),
        (lambda x, d: d * np.exp(x) * sp.exp1(x), (750.0, 0.3), 0.000399468083230),
        (lambda x, d: x**2 * np.exp(-d * x) / 2 / sp.gammaincc(3, d * x), (900.0, 1.0), 0.997780246907),
        (lambda x, d: (1 - x) * x**1100 / (1 - x**1101) * d, (2.0, 1.0), 0.5),
        (lambda x, d: (np.sinh(x + d) - np.sinh(x)) / np.cosh(x), (900.0, 1e-8), 1.000000005e-8),
    ],
)
def test_what_has_no_rule_is_computed_by_its_text(function, arguments, expected):
    np.testing.assert_allclose(rg.stabilize(function)(*arguments), expected, rtol=1e-11)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda m, v, c: m * c * c * (1 / np.sqrt(1 - v * v / (c * c)) - 1), (1e174, 2e58, 3e109), 2e290),
        (lambda p, r, n: p * r / (1 - (1 + r) ** -n), (1e203, 2e49, 2e294), 2e252),
        (lambda i, n, x: x * ((1 + i / n) ** n - 1) / (i / n), (3e306, 2e-117, 1e120), 0.0),
        (lambda i, n, x: x * ((1 + i / n) ** n - 1) / (i / n), (-4e-175, 3e138, 1.0), 3e138),
        (lambda x, y, z: x * y - z * z, (1e200, 1e200, -1e180), np.inf),
        (lambda x, y, z: x * y - z * z, (-1e200, 1e200, -1e180), -np.inf),
        (lambda a, b, c: -b / (2 * a) + np.sqrt((b / (2 * a)) ** 2 - c / a), (1e-64, 2e-14, -1e288), 1e176),
        (lambda a, b, c: -b / (2 * a) + np.sqrt((b / (2 * a)) ** 2 - c / a), (1e-76, 1e255, 3e-43), -3e-298),
    ],
)
def test_roots_arcs_and_annuities_out_of_range(function, arguments, expected):
    np.testing.assert_allclose(rg.stabilize(function)(*arguments), expected, rtol=1e-13)


def test_slopes_of_annuities_out_of_range():
    slopes = rg.grad(lambda p, r, n: p * r / (1 - (1 + r) ** -n), argnums=(0, 1, 2))
    np.testing.assert_allclose(slopes(1e203, 2e49, 2e294), (2e49, 1e203, 0.0), rtol=1e-13)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("b", [-240.0, -300.0, -750.0, 300.0])
def test_shares_far_below_the_range_count(b: float):
    """What weighs e⁻³⁰⁰⁰ counts e³⁰⁰⁰ times."""

    def mean(b, e):
        weights = [np.exp(-b * e * k) for k in range(5)]
        return sum(k * e * w for k, w in enumerate(weights)) / sum(weights)

    slopes = rg.grad(mean, argnums=(0, 1))(b, 1.0)
    np.testing.assert_allclose(slopes, (0.0, 4.0 if b < 0 else 0.0), atol=1e-11)


def _counted(monkeypatch: pytest.MonkeyPatch) -> dict[Any, int]:
    """Count the entries that rules of extended range are asked for."""
    counts: dict[Any, int] = {}
    for ufunc, rule in list(Extended.ufuncs.items()):

        def counting(*args: Any, ufunc: Any = ufunc, rule: Any = rule) -> Any:
            counts[ufunc] = counts.get(ufunc, 0) + max(x.size for x in args)
            return rule(*args)

        monkeypatch.setitem(Extended.ufuncs, ufunc, counting)
    return counts


def test_entries_in_range_are_computed_in_floats(monkeypatch):
    counts = _counted(monkeypatch)
    x = np.linspace(-5, 5, 1000)
    x[[3, 700]] = 40.0, -50.0
    with np.errstate(all="ignore"):
        got = np.exp(-np.square(Extended.of(x))) * (2.0 * Extended.of(x))
        want = np.exp(-np.square(x)) * (2.0 * x)
    assert counts == {np.exp: 2, np.multiply: 2}
    inside = np.abs(x) < 20
    np.testing.assert_array_equal(got.floats()[inside], want[inside])
    assert got[3].e.item() == pytest.approx((math.log(80) - 1600) / math.log(2), abs=1)


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x[::-2],
        lambda x: x.T[1:],
        lambda x: x[:, None] * np.ones((2, 1)),
        lambda x: np.broadcast_to(x, (2, 4, 3)),
        lambda x: np.concatenate([x, 2 * x[:1], x / 2]),
        lambda x: np.stack([x[0], x[3]], -1),
        lambda x: np.where(np.array([True, False, True]), x, x[::-1]),
        lambda x: x + x[:1] * x[:, :1],
        lambda x: np.sum(x, 0),
        lambda x: np.sum(x, 1, keepdims=True) - np.sum(x),
        lambda x: np.max(x, 0) * np.min(x),
        lambda x: np.sqrt(x * x),
        lambda x: x < x[1, 1],
        lambda x: np.reshape(x, (2, 6)) / x[2, 2],
    ],
)
def test_numbers_beyond_the_range_are_where_they_belong(move):
    """f(2ᵏ·x) = 2^(d·k)·f(x): what is far out moves as what is not."""
    x = np.arange(12.0).reshape(4, 3) - 4
    x[0, 0], x[1, 2], x[3, 1] = 2.0**1000, -(2.0**-1000), 2.0**1010
    far = Extended.of(x) * Extended(1.0, 40)
    assert far.form[1].tolist() == [0, 10]
    got, wide = move(far), move(Extended(far.m, far.e))
    if isinstance(got, Extended):
        np.testing.assert_array_equal(got.m, wide.m)
        np.testing.assert_array_equal(got.e, wide.e)
    else:
        np.testing.assert_array_equal(got, wide)


def test_sums_need_what_is_out_of_range_only_where_it_counts(monkeypatch):
    x = np.ones((3, 1000))
    x[0, 5] = x[2, :] = 1e-200
    x[1, 7] = 1e200
    square = np.square(Extended.of(x))
    counts = _counted(monkeypatch)
    total = np.sum(square, axis=-1)
    np.testing.assert_array_equal(total.floats()[0], 999.0)
    assert counts == {np.add: 3}
    np.testing.assert_allclose(
        np.sqrt(total).floats(), [math.sqrt(999), 1e200, math.sqrt(1e3) * 1e-200], rtol=1e-15
    )


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_ufuncs_without_a_rule_are_asked_of_balls(strategy):
    def f(x: Any) -> Any:
        return np.logaddexp(x, np.arccosh(np.exp2(x)))

    x = np.array([3.0, 2000.0])
    np.testing.assert_allclose(rg.stabilize(f, strategy=strategy)(x)[1], 2000.0, rtol=1e-15)
    slopes = rg.grad(lambda x: np.sum(f(x)), strategy=strategy)(x)
    np.testing.assert_allclose(slopes, [0.8666659952470333, 1.0], rtol=1e-14)
    step = rg.stabilize(lambda x: np.heaviside(x**81, 0.5) * np.log(x**80), strategy=strategy)
    np.testing.assert_allclose(step(np.array([1e5, 1e-5])), [80 * np.log(1e5), -80 * np.log(1e5)], rtol=1e-15)
    np.testing.assert_allclose(
        rg.stabilize(lambda x: np.degrees(x**2) / x)(1e200), 180e200 / np.pi, rtol=1e-15
    )


def test_ufuncs_without_a_rule_leave_nan_as_it_is():
    x = Extended(np.array([0.7, np.nan, 0.3, 0.6]), np.array([5000, 0, 0, 1]))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(
            np.arccosh(x).floats(),
            [np.log(1.4) + 5000 * np.log(2), np.nan, np.nan, np.arccosh(1.2)],
            rtol=1e-13,
        )
        assert np.isnan(np.arccos(x).floats()).tolist() == [True, True, False, True]
        assert np.isnan(sp.betainc(2.0, 1.0, x).floats()).tolist() == [True, True, False, True]


def test_digits_that_nobody_knows_are_nan():
    huge = Extended(np.array([0.7]), 5000)
    for f in (np.sin, np.cos, np.tan, lambda x: np.fmod(x, 7.0), lambda x: np.remainder(x, 7.0)):
        with np.errstate(invalid="ignore"):
            assert np.isnan(f(huge).floats()[0])


def test_a_function_of_entries_is_asked_of_balls_where_floats_are_no_help(monkeypatch):
    asked = []
    called = Balls.called

    def counting(function: Any, args: Any, kwargs: Any, wanted: Any) -> Any:
        asked.append(np.count_nonzero(wanted))
        return called(function, args, kwargs, wanted)

    monkeypatch.setattr(Balls, "called", counting)
    x = np.linspace(0.1, 10, 6000)
    x[17] = 800.0
    with np.errstate(all="ignore"):
        got = 1 / kernels.exprel_n(Extended.of(x), 0)
    assert asked == [1]
    assert np.log(got[17]).floats() == pytest.approx(math.log(800) - 800, rel=1e-15)


def test_a_quotient_of_exponentials_that_underflows_is_met_by_a_factor_that_is_as_large():
    """eⁿ/e^(3·n)·e^(2·n) = 1, where the quotient is less than all floats; a share of a sum that is, is 0."""

    @extended_range
    def one(n):
        return kernels.gibbs(n, 3 * n, axis=()) * np.exp(2 * n / 4) ** 4

    assert one(389.0) == pytest.approx(1, rel=1e-13)
    with np.errstate(under="raise"):
        kernels.gibbs(np.array([0.0, 800.0]), np.array([0.0, 800.0]))
        with pytest.raises(FloatingPointError):
            kernels.gibbs(0.0, 800.0, axis=())


@pytest.mark.parametrize("size", [1.5, 800.25, 5e3, 7e9])
def test_exponents_that_cancel_have_lost_the_digits_of_their_sizes(size: float):
    """e^(−a·b)·cosh(a·b + c) → e^c/2, Γ(x + a)/Γ(x) → xᵃ: exponentials that meet are computed with their exponents."""
    cosh = rg.stabilize(lambda a, b, c: np.exp(-a * b) * (np.cosh(a * b + c) + 2 * np.sinh(a * b + c)))
    gamma = rg.stabilize(lambda x, a: sp.gamma(x + a) / sp.gamma(x))
    a, b, c = size, 1.1, 0.3
    with mpmath.workdps(60):
        s, d = mpf(a) * mpf(b) + mpf(c), -mpf(a) * mpf(b)
        want = (3 * mpmath.exp(s + d) - mpmath.exp(d - s)) / 2
        assert cosh(a, b, c) == pytest.approx(float(want), rel=1e-14)
        want = mpmath.exp(mpmath.loggamma(mpf(a) + mpf(c)) - mpmath.loggamma(mpf(a)))
        assert gamma(a, c) == pytest.approx(float(want), rel=1e-14)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("size", [30.3, 1234.567, 54321.1])
@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (
            lambda x: np.exp(-(x**2) / 2) / (sp.ndtr(-x) + sp.ndtr(-x - 1)),
            lambda x: mpmath.exp(-(x**2) / 2) / (mpmath.ncdf(-x) + mpmath.ncdf(-x - 1)),
        ),
        (
            lambda x: sp.erfc(x * 1.5) / sp.erfc(x * 1.5 + 1e-6),
            lambda x: mpmath.erfc(x * 1.5) / mpmath.erfc(x * 1.5 + mpf(1e-6)),
        ),
        (
            lambda x: sp.ndtr(-x) / np.sqrt(sp.ndtr(-x - 1e-6)) * np.reciprocal(np.sqrt(sp.ndtr(1e-6 - x))),
            lambda x: mpmath.ncdf(-x) / mpmath.sqrt(mpmath.ncdf(-x - mpf(1e-6)) * mpmath.ncdf(mpf(1e-6) - x)),
        ),
        (
            lambda x: np.expm1(x * x * 1.5) / np.expm1(x * x * 1.5 + 0.1),
            lambda x: mpmath.expm1(x * x * 1.5) / mpmath.expm1(x * x * 1.5 + mpf(0.1)),
        ),
        (
            lambda x: np.exp2(x * x * 1.5) * np.exp2(-x * x * 1.5 - 0.1),
            lambda x: mpf(2) ** (x * x * 1.5 - x * x * 1.5 - mpf(0.1)),
        ),
        (
            lambda x: sp.exp1(x * 1.5) * np.exp(x * 1.5 + 0.1),
            lambda x: mpmath.e1(x * 1.5) * mpmath.exp(x * 1.5 + mpf(0.1)),
        ),
    ],
)
def test_functions_out_of_range_that_meet_have_lost_the_digits_of_their_sizes(
    f, exact, size, shape, strategy
):
    """e^(−x²/2)/(Φ(−x) + Φ(−x − 1)): whatever leaves the range of floats, and comes back, is computed with digits to
    lose.
    """
    with mpmath.workdps(60), np.errstate(all="ignore"):
        found = rg.stabilize(f, strategy=strategy)(np.full(shape, size))
        np.testing.assert_allclose(found, np.full(shape, float(exact(mpf(size)))), rtol=1e-14)


def test_a_share_that_overflows_is_met_by_a_factor_that_is_as_small():
    """eᵃ/(e^-a + e^-a)·e^(-2·a) = 1/2, where the quotient is more than all floats; nothing is told of e⁰/0."""

    @extended_range
    def half(a):
        return kernels.gibbs(a, np.stack([-a, -a])) * np.exp(-a) ** 2

    assert half(389.0) == pytest.approx(0.5, rel=1e-13)
    with np.errstate(over="raise"):
        assert np.isnan(kernels.gibbs(np.array(0.0), np.array([-np.inf, -np.inf])))
        assert kernels.gibbs(np.array(0.0), np.array([np.inf, np.inf])) == 0


def test_plans_of_transport_keep_their_gradient_where_kernels_are_far_below_one():
    """P = diag(u)·K·diag(v) has given margins, so Σ P·c of equal costs c has the slope 1 in each, whatever K."""

    def transport(cost, offset, temperature):
        k = np.exp(-cost / np.exp(temperature))
        u = np.ones(cost.shape[0])
        for _ in range(2):
            v = 1 / (k.T @ u)
            u = 1 / (k @ v)
        plan = u[:, None] * k * v[None, :]
        return np.sum(plan * cost) + np.sum(plan * offset)

    found = rg.grad(transport, precise=False)(np.full((2, 1), 100.0), np.zeros((2, 1)), -1.42)
    assert found == pytest.approx(np.ones((2, 1)), rel=1e-9)


@pytest.mark.parametrize(
    ("f", "args", "truth"),
    [
        (lambda x, y: np.log(1 + np.exp(x)) / np.log(1 + np.exp(y)), (-800.0, -801.0), math.e),
        (lambda x: np.sqrt(np.log(1 + np.exp(x))), (-800.0,), math.exp(-400)),
        (lambda x: np.sqrt(1 - 1 / (1 + np.exp(-x))), (800.0,), math.exp(-400)),
        (lambda x: np.log(1 - np.exp(x)) * 1e200 * 1e200, (-800.0,), -((1e200 * math.exp(-400)) ** 2)),
        (lambda x: np.sqrt(1 - np.cos(x)), (1e-180,), math.sqrt(0.5) * 1e-180),
        (lambda x, y: np.sqrt(np.cos(x) - np.cos(y)), (1e-180, 2e-180), math.sqrt(1.5) * 1e-180),
        (lambda x: np.log(np.log(np.cosh(x))), (1e-180,), 2 * math.log(1e-180) - math.log(2)),
        (lambda x, y: (np.exp(x) - np.exp(y)) / 1e200, (720.0, 0.0), 1e-200 * math.exp(360) * math.exp(360)),
        (lambda x, p: ((1 + x) ** p - 1) * 1e200 * 1e200, (1e-180, 1e-180), 1e40),
    ],
)  # fmt: skip
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_functions_of_entries_tell_where_they_leave_the_range_of_floats(f, args, truth, strategy):
    """log(1 + e⁻⁸⁰⁰) is no float, and so many times another that is none: kernels tell, as np.exp does."""
    assert rg.stabilize(f, strategy=strategy)(*args) == pytest.approx(truth, rel=1e-12)


def test_what_is_exact_where_an_operand_is_zero_is_told_by_no_kernel():
    """log(1 + (e⁰ − 1)·σ(x)) = 0 has not underflowed, nor has e^−∞; log(eᵃ − eᵃ) = −∞ is a pole."""
    with np.errstate(over="raise", under="raise"):
        assert kernels.softplus_difference(-800.0, -800.0, 0.0) == 0
        assert kernels.log_cosh(0.0) == kernels.softplus(-np.inf) == kernels.gammaln(1.0) == 0
        assert kernels.logdiffexp(1.0, 1.0) == -np.inf
        with pytest.raises(FloatingPointError):
            kernels.log1mexp(-800.0)


def test_digits_are_watched_along_axes_that_a_part_of_a_sum_does_not_have():
    """x − c of shape (2, 3, 2), c of shape (3, 2), watched along the first axis, in extended range too."""
    watched = NAMED["cancels"](kernels.cancels)
    x, huge = np.arange(12.0).reshape(2, 3, 2), Extended(np.full((3, 2), 0.5), np.full((3, 2), 2000))
    assert watched(x - 1.0, huge, axis=-3)
    assert not watched(huge * x, huge, axis=-3)


@pytest.mark.parametrize(
    ("f", "may"),
    [
        (lambda x, y: np.sum(y * np.log(1 + np.exp(x))), False),
        (lambda x, y: np.log(1 + np.exp(x)) / (2 + np.sum(y)), False),
        (lambda x, y: y / (1 + np.log(1 + np.exp(x))), False),
        (lambda x, y: np.sqrt(np.log(1 + np.exp(x))) * y, True),
        (lambda x, y: y / np.log(1 + np.exp(x)), True),
        (lambda x, y: y * np.log(1 + np.exp(x)) * 1e200, True),
        (lambda x, y: np.exp(y) * np.log(1 + np.exp(x)), True),
    ],
)
def test_what_is_too_small_stays_so_in_products_of_what_is_in_range(f, may):
    assert ("@extended_range" in rg.stabilize(f).source(np.zeros(3), np.zeros(3))) is may


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize(("kind", "x"), [(np.float64, [500.0, 1e-3, 0.0]), (np.float32, [60.0, 1e-3, 0.0])])
def test_what_stands_beside_a_series_has_the_range_of_the_whole_program(kind, x, precise):
    """Einstein's heat capacity x²·eˣ/(eˣ − 1)²: its slope is x·(2 − x)·e⁻ˣ far from 0, where (eˣ − 1)² overflows."""
    heat = lambda x: np.sum(x**2 * np.exp(x) / (np.exp(x) - 1) ** 2)
    got = rg.grad(heat, precise=precise)(np.array(x, kind))
    assert got.dtype == kind
    near = -1e-3 / 6 + 1e-9 / 60 - 1e-15 / 1008
    np.testing.assert_allclose(
        got, [x[0] * (2 - x[0]) * np.exp(-x[0]), near, 0], rtol=30 * np.finfo(kind).eps
    )


@pytest.mark.parametrize("z", [-50.0, -200.0])
@pytest.mark.parametrize("precise", [False, True])
def test_weights_below_the_range_meet_exponentials_as_small(z, precise):
    """log(z·Φ(z) + φ(z)): where Φ(z) is no float, e^(−z²/2) is as small, and they cancel."""
    f = lambda z: np.log(z * sp.ndtr(z) + np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
    with mpmath.workdps(60):
        truth = mpmath.log(z * mpmath.ncdf(z) + mpmath.npdf(z))
    np.testing.assert_allclose(
        rg.stabilize(f, precise=precise)(z), float(truth), rtol=1e-15 if precise else 1e-9
    )
    w, x = np.array([2.0, -1.0]), np.array([0.0, 0.3])
    far = Extended.of(w) * np.exp(Extended.of(np.array([-3e3, -3e3])))
    np.testing.assert_allclose(
        kernels.logsumexp(x, weights=far).floats() + 3e3, kernels.logsumexp(x, weights=w), rtol=1e-12
    )
    np.testing.assert_allclose(
        (kernels.gibbs(x, x, power=2, weights=far) * np.exp(Extended.of(-6e3))).floats(),
        kernels.gibbs(x, x, power=2, weights=w),
        rtol=1e-11,
    )
    cancels = NAMED["mixture_cancels"](kernels.mixture_cancels)
    assert not cancels(x, far)
    assert cancels(x * 0, far * np.array([0.5, 1.0]))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(("x", "shift"), [(1e-200, -300.0), (1e-200, -700.0), (1e200, 990.0), (1e200, 900.0)])
def test_a_small_term_that_is_a_weight_out_of_range_times_an_exponential_counts(x, shift, strategy, sign):
    """log(1 ± 1e-400·e³⁰⁰) = ±1e-400·e³⁰⁰: the reference is the term that is largest, not the largest exponent."""

    def f(x, shift):
        return np.log(1 + sign * x**2 * np.exp(-shift))

    with mpmath.workdps(900):
        t = sign * mpf(x) ** 2 * mpmath.exp(-mpf(shift))
        truth = (
            None if t <= -1 else [float(mpmath.log(1 + t)), float(2 * t / x / (1 + t)), float(-t / (1 + t))]
        )
    got = [
        d(x, shift)
        for d in (rg.stabilize(f, strategy=strategy), *(rg.grad(f, i, strategy=strategy) for i in (0, 1)))
    ]
    if truth is None:
        assert np.isnan(got[0])
    else:
        np.testing.assert_allclose(got, truth, rtol=1e-12)


@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_mixtures_with_weights_out_of_range_are_right_in_each_row(axis):
    x = np.array([[300.0, 0.0, -5.0], [0.0, 900.0, 1.0], [-np.inf, 2.0, 950.0]])
    weights = Extended(
        np.array([[0.5, 0.5, 0.0], [0.5, -0.5, 0.5], [0.5, 0.75, 0.5]]),
        [[-1400, 1, 0], [3, -2000, 1], [0, 1, -1400]],
    )
    with mpmath.workdps(900):
        terms = np.array(exact(weights)).reshape(3, 3) * np.vectorize(mpmath.exp, otypes=[object])(x)
        truth = np.vectorize(lambda t: float(mpmath.log(t)))(np.sum(terms, axis))
    got = NAMED["logsumexp"](kernels.logsumexp)(x, axis=axis, weights=weights)
    assert got.shape == np.shape(truth)
    np.testing.assert_allclose(got.floats(), truth, rtol=1e-14)


@pytest.mark.parametrize(
    ("fun", "truth"),
    [
        (lambda p: np.log(1 - p[..., 0]), lambda rest: mpmath.log(rest / (1 + rest))),
        (lambda p: np.log(1 - p)[..., 0], lambda rest: mpmath.log(rest / (1 + rest))),
        (lambda p: np.log(-np.log(p[..., 0])), lambda rest: mpmath.log(mpmath.log1p(rest))),
        (lambda p: 1e200 * np.sqrt(-np.log(p))[..., 0], lambda rest: 1e200 * mpmath.sqrt(mpmath.log1p(rest))),
    ],
    ids=["share", "shares", "log of a log", "root"],
)
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("kwargs", [{}, {"precise": False}])
def test_a_share_is_as_far_from_one_as_the_others_are_large(fun, truth, axis, kwargs):
    x = np.array([[1000.0, 0.3, -1000.0], [900.0, 1.0, 1.0], [0.5, 0.5, 0.5], [3.0, 1.0, -900.0]])

    def of_shares(x):
        return fun(np.moveaxis(np.exp(x) / np.exp(x).sum(axis, keepdims=True), axis, -1))

    with mpmath.workdps(1000):
        expected = [float(truth(sum(mpmath.exp(y - row[0]) for y in row[1:]))) for row in x]
    got = rg.stabilize(of_shares, **kwargs)(np.moveaxis(x, -1, axis))
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert rg.stabilize(lambda x: np.exp(x) / np.exp(x).sum(), **kwargs)(np.array([900.0])) == 1


@pytest.mark.parametrize("scale", [2.0**-535, 2.0**-1000, 2.0**530, 2.0**900])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x: np.sum(x**3, -1) / np.sum(x * x, -1) ** 1.5,
        lambda x: np.sum(x * x * x, -1) / np.sum(x * x, -1) / np.max(x, -1),
        lambda x: np.einsum("...i,...i->...", x * x, 1 / x) / np.sum(x, -1),
    ],
    ids=["skewness", "weighted mean", "einsum"],
)
def test_digits_that_weights_have_below_the_range_are_not_lost(fun: Any, scale: float):
    x = np.array([0.7, 3.1, 1.9])
    np.testing.assert_allclose(rg.stabilize(fun)(x * scale), fun(x), rtol=1e-14)
    slopes = rg.grad(lambda x: np.sum(fun(x) ** 2))
    np.testing.assert_allclose(slopes(x * scale) * scale, slopes(x), rtol=1e-12, atol=1e-15)


SQUARE = np.array([[2.0, 0.5, -0.3], [0.5, 1.5, 0.2], [-0.3, 0.2, 3.0]])
TALL = np.array([[1.0, 0.5, -0.3], [0.2, -1.5, 0.2], [-0.7, 0.2, 2.0], [0.4, 0.9, 1.1]])
HOMOGENEOUS = {
    "cholesky": (lambda a: np.linalg.cholesky(a)[2], SQUARE, 0.5),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(a), SQUARE, 1),
    "eigh": (lambda a: np.linalg.eigh(a)[0] * np.abs(np.linalg.eigh(a)[1][0]), SQUARE, 1),
    "singular values": (lambda a: np.linalg.svd(a)[1], TALL, 1),
    "singular vectors": (lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[0][0]), TALL, 0),
    "qr": (lambda a: np.linalg.qr(a)[0][0] * np.linalg.qr(a)[1][0], TALL, 1),
    "pinv": (lambda a: np.linalg.pinv(a)[0][:3], TALL, -1),
    "inv": (lambda a: np.linalg.inv(a)[0], SQUARE, -1),
    "solve": (lambda a: np.linalg.solve(a, np.arange(3.0)), SQUARE, -1),
    "det": (np.linalg.det, SQUARE, 3),
    "slogdet": (lambda a: np.exp(np.linalg.slogdet(a)[1] / 3), SQUARE, 1),
    "cond": (np.linalg.cond, SQUARE, 0),
    "a spectral norm": (lambda a: np.linalg.norm(a, 2), TALL, 1),
    "a nuclear norm": (lambda a: np.linalg.norm(a, "nuc"), TALL, 1),
}


@pytest.mark.parametrize("name", HOMOGENEOUS)
@pytest.mark.parametrize("how", [{}, {"precise": False}, {"strategy": "eager"}], ids=str)
def test_matrices_beyond_floats_have_the_factors_of_matrices_in_range(name: str, how: dict[str, Any]):
    fun, a, degree = HOMOGENEOUS[name]

    def linear(x):  # in x, as a is of x³ and the last factor takes that out
        return np.sum(fun(a * x**3) * np.array([1.0, 2.0, 3.0])) * x ** (1 - 3 * degree)

    value, slope = rg.stabilize(linear, **how), rg.grad(linear, **how)
    expected = np.sum(fun(a) * np.array([1.0, 2.0, 3.0]))
    for scale in 1.0, 2.0**200, 2.0**-300, 2.0**600, 2.0**-600:
        np.testing.assert_allclose(value(scale) / scale, expected, rtol=1e-12)
        np.testing.assert_allclose(slope(scale), expected, rtol=1e-11)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 1)])
def test_factors_of_stacks_have_a_scale_each(shape: tuple[int, ...]):
    rng = np.random.default_rng(0)
    b = rng.normal(size=(*shape, 3, 3))
    a, shift = b @ b.mT + np.eye(3), 2 * rng.integers(-900, 900, size=(*shape, 1, 1))
    wide = Extended(a, shift)
    back = lambda x, times: Extended(
        x.m, x.e - times * shift.reshape(*shape, *[1] * (x.m.ndim - len(shape)))
    ).floats()
    for name, times in ("eigh", (1, 0)), ("svd", (0, 1, 0)), ("qr", (0, 1)):
        found, expected = (getattr(np.linalg, name)(x) for x in (wide, a))
        for x, y, k in zip(found, expected, times, strict=True):
            np.testing.assert_allclose(back(x, k), y, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(back(np.linalg.eigvalsh(wide), 1), np.linalg.eigvalsh(a), rtol=1e-12)
    np.testing.assert_allclose(back(np.linalg.cholesky(wide) ** 2, 1), np.linalg.cholesky(a) ** 2, rtol=1e-12)
    sign, size = np.linalg.slogdet(wide)
    np.testing.assert_array_equal(sign, 1)
    np.testing.assert_allclose(
        size.floats() - 3 * np.log(2) * shift[..., 0, 0], np.linalg.slogdet(a)[1], rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("exponent", [-2000, 2000])
@pytest.mark.parametrize(
    "move", [lambda x: kernels.diag_embed(x, 1), lambda x: np.tril(np.outer(x, x)), lambda x: np.diag(x)]
)
def test_zeros_that_numbers_move_beside_are_below_all_numbers(move: Any, exponent: int):
    x = np.array([0.5, -0.75])
    moved, plain = move(Extended(x, exponent)), move(x)
    ones = Extended(np.ones(plain.shape), -3000)
    total = moved + ones
    assert np.all((total - moved).m[plain == 0] == 0.5)


@pytest.mark.parametrize("how", [{}, {"precise": False}], ids=str)
@pytest.mark.parametrize(
    "fun",
    [
        lambda x, y: np.corrcoef(x, y)[0, 1],
        lambda x, y: np.sum(np.log(np.abs(np.cbrt(y**3 + y**3))) - np.log(np.abs(y)) + x / y),
        lambda x, y: np.sum(np.where(x * x / np.abs(x * y) > 1, x / y, np.sin(x / y))),
    ],
)
def test_decisions_by_what_left_the_range_are_no_decisions_by_nan(fun: Any, how: dict[str, Any]):
    x, y = np.array([0.3, -1.2, 0.7, 2.1]), np.array([-0.4, 1.1, -0.9, 0.2])
    slopes = rg.grad(fun, (0, 1), **how)
    for scale in 2.0**500, 2.0**-500, 2.0**960, 2.0**-960:
        for got, expected in zip(slopes(x * scale, y * scale), slopes(x, y), strict=True):
            np.testing.assert_allclose(got * scale, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("how", [{}, {"precise": False}], ids=str)
@pytest.mark.parametrize(
    ("fun", "oracle", "points"),
    [
        (lambda x: sp.jv(40, x), lambda x: mpmath.besselj(40, x), [1e-8, 1e-9, 0.3]),
        (lambda x: sp.yv(40, x), lambda x: mpmath.bessely(40, x), [1e-8, 1e-9, 0.3]),
        (lambda x: sp.ive(40, x), lambda x: mpmath.besseli(40, x) * mpmath.exp(-x), [1e-8, 1e-9, 0.3]),
        (lambda x: sp.kve(40, x), lambda x: mpmath.besselk(40, x) * mpmath.exp(x), [1e-8, 1e-9, 0.3]),
        (sp.rgamma, mpmath.rgamma, [180.0, 200.0, 3.5]),
        (sp.expi, mpmath.ei, [720.0, 800.0, -800.0]),
        (
            lambda x: sp.betainc(40.0, 2.0, x),
            lambda x: mpmath.betainc(40, 2, 0, x, regularized=True),
            [3e-10, 1e-9, 0.3],
        ),
    ],
    ids=["jv", "yv", "ive", "kve", "rgamma", "expi", "betainc"],
)
def test_functions_of_scipy_tell_where_they_leave_the_range(fun: Any, oracle: Any, points: Any, how: Any):
    ratio = rg.stabilize(lambda x: fun(x) / fun(1.25 * x), **how)
    with mpmath.workdps(40):
        expected = [float(oracle(mpf(x)) / oracle(mpf(1.25 * x))) for x in points]
    np.testing.assert_allclose(ratio(np.array(points)), expected, rtol=1e-12)
    np.testing.assert_allclose([ratio(x) for x in points], expected, rtol=1e-12)


@pytest.mark.parametrize("how", [{}, {"precise": False}], ids=str)
@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 1.0, 2.0])], ids=["1", "two tie"])
def test_floats_that_left_their_range_are_no_answer(a: np.ndarray, how: dict[str, Any]):
    def square(x: Any, a: Any) -> Any:
        u, w, vt = np.linalg.svd(a * x**3, full_matrices=False)
        return np.sum(((u * w**2) @ vt)[0]) * x**-5

    slopes = rg.grad(square, 1, **how)
    for scale in 1.0, 2.0**300, 2.0**-300:  # NaN where values tie, and not 0
        got = slopes(scale, a)[0] / scale
        assert np.all(np.isnan(got) | np.isclose(got, slopes(1.0, a)[0], rtol=1e-12))


@pytest.mark.parametrize("how", [{}, {"precise": False}, {"validate": False}], ids=str)
@pytest.mark.parametrize(
    ("fun", "points"),
    [
        *[(lambda y, f=f: f(y), (0.0,)) for f in (sp.k0, sp.k1, sp.y0, sp.y1, sp.exp1, sp.expi, sp.logit)],
        *[(lambda y, f=f: f(y), (0.0,)) for f in (sp.digamma, sp.gammaln, sp.gamma, sp.ndtri, sp.entr)],
        (lambda y: sp.gammaln(y - 1), (0.0,)),
        (lambda y: sp.logit(1 - y), (0.0,)),
        (lambda y: np.exp(-sp.k0(y)), (0.0,)),
        (lambda y: sp.betaln(y, 0.5), (0.0,)),
        (lambda y: sp.rel_entr(1.0, y), (0.0,)),
        (lambda y: sp.gammaincc(np.log(y), 0.5), (0.0, 0.1)),
        (lambda y: sp.gammaincc(sp.betaln(y, y), 0.6), (2.5,)),
        (lambda y: sp.gammainc(y - 2.5, 0.6), (2.0,)),
        (lambda y: sp.betainc(sp.betaln(y, y), 0.6, 0.3), (2.5,)),
        (lambda y: sp.betaincc(0.5, 0.6, sp.betaln(y, y)), (2.5, 0.2)),
    ],
)
def test_floats_tell_poles_limits_and_domains_beside_what_leaves_their_range(fun: Any, points: Any, how: Any):
    cube = lambda x: fun(x * x * x)
    x = np.array([1e-120, *np.cbrt(points), 0.7])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(rg.stabilize(cube, **how)(x)[1:], cube(x)[1:], rtol=1e-13)


@pytest.mark.parametrize(
    ("fun", "x", "want"),
    [
        (lambda x: sp.ndtr(-x * x), 1e200, 0.0),
        (lambda x: sp.ndtr(x * x * x), -1e200, 0.0),
        (lambda x: sp.betaln(-x * x, 2.0), 1.0, np.inf),
        (lambda x: sp.beta(1 / x, 2.5), -1.0, np.inf),
        (rg.grad(lambda x: np.sum(sp.erfcx(1 / x))), 1e-200, 1 / np.sqrt(np.pi)),
        (rg.grad(lambda x: np.sum(sp.digamma(1 / x))), 1e200, -1.0),
        (lambda x: x * x * sp.polygamma(1, x), 1e-200, 1.0),
    ],
)
def test_what_lies_below_all_numbers_is_nothing_and_derivatives_tell_their_range(
    fun: Any, x: float, want: Any
):
    for how in ({}, {"validate": False}, {"precise": False}):
        np.testing.assert_allclose(rg.stabilize(fun, **how)(x), want, rtol=1e-14)
        np.testing.assert_allclose(rg.stabilize(fun, **how)(np.array([x, x])), want, rtol=1e-14)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("axis", [0, -1])
def test_exponents_without_weight_may_be_far_above_all_others(strategy, axis):
    """w·eˣ/Σ w·eˣ of x = (0, 1e18, -1e18), w = (1, 0, 1) is (1, 0, 0), in value and gradient."""
    x = np.array([[0.0, 1e18, -1e18], [1.0, 2.0, 3.0]])
    w, c = np.array([1.0, 0.0, 1.0]), np.array([0.3, 0.5, 0.7])
    x, w, c = (x, w, c) if axis else (x.T, w[:, None], c[:, None])

    def f(x):
        p = w * np.exp(x)
        return np.sum(c * (p / np.sum(p, axis=axis, keepdims=True)))

    slope = 0.4 * np.exp(2.0) / (1 + np.exp(2.0)) ** 2
    want = np.array([[0.0, 0.0, 0.0], [-slope, 0.0, slope]])
    found = rg.grad(f, strategy=strategy)(x)
    np.testing.assert_allclose(found, want if axis else want.T, rtol=1e-13, atol=1e-16)
