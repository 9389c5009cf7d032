"""Series along lines: coefficients against exact ones, what is left where first terms vanish, and where none stand."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from hypothesis import given
from hypothesis import strategies as st

import relgrad as rg
from relgrad.calculus import along, line
from relgrad.calculus.arrays import bounded, doubled, error_of, polynomial
from relgrad.calculus.line import Part, followed
from relgrad.calculus.path import STEEP, Path
from relgrad.calculus.ring import NoSeries
from relgrad.calculus.series import Slope, argument
from relgrad.conventions import DEFAULT
from relgrad.interpret import interpret
from relgrad.kernels.doubled.number import Doubled
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.term import subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type
from relgrad.validate import explicit

X = term(Input("x", array_type(np.dtype(float), ())))
V = term(Input("v", array_type(np.dtype(float), (3,))))

CURVES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp(sin x)": (lambda x: np.exp(np.sin(x)), lambda x: mpmath.exp(mpmath.sin(x))),
    "log(1 + x²)": (lambda x: np.log(1 + x**2), lambda x: mpmath.log(1 + x**2)),
    "x**2.5/(1 + x)": (lambda x: x**2.5 / (1 + x), lambda x: x ** mpmath.mpf("2.5") / (1 + x)),
    "x**x": (lambda x: x**x, lambda x: x**x),
    "x³ − x⁻²": (lambda x: x**3 - x**-2.0, lambda x: x**3 - x**-2),
    "log(eˣ + e^x²)": (
        lambda x: np.logaddexp(x, x * x),
        lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(x * x)),
    ),
    "tanh(1/x)": (lambda x: np.tanh(1 / x), lambda x: mpmath.tanh(1 / x)),
    "arctan(√x)": (lambda x: np.arctan(np.sqrt(x)), lambda x: mpmath.atan(mpmath.sqrt(x))),
    "erf(x)·Γ": (lambda x: sp.erf(x) * sp.gammaln(x), lambda x: mpmath.erf(x) * mpmath.loggamma(x)),
    "where": (lambda x: np.where(x > 9, 0.0, np.cos(x)), mpmath.cos),
    "|x|": (lambda x: np.abs(x - 7) * x, lambda x: (7 - x) * x),
}


def path_of(f: Callable[[Any], Any], leaf: Any, at: Any, step: Any, order: int = 9) -> list[Any]:
    """Return the coefficients of f along at + t·step, with their bounds."""
    path = Path({leaf: polynomial((np.asarray(at), 0.0), (np.asarray(step), 0.0))}, order)
    series = path(as_term(f(Tracer(leaf))))
    return [series.at(k) or (0.0, 0.0) for k in range(order)]


@given(st.sampled_from(sorted(CURVES)), st.floats(0.3, 3))
def test_coefficients_are_taylors_but_for_what_their_bounds_say(name: str, at: float):
    f, exact = CURVES[name]
    with mpmath.workdps(60):
        want = mpmath.taylor(exact, mpmath.mpf(at), 8)
    for k, (c, bound) in enumerate(path_of(f, X, at, 1.0)):
        assert abs(float(c) - float(want[k])) <= 4 * float(bound) + 1e-300, k
        assert float(bound) <= 1e-9 * (1 + sum(abs(float(w)) for w in want))


@given(st.sampled_from(sorted(CURVES)), st.floats(0.3, 3))
def test_in_doubled_arithmetic_coefficients_have_twice_the_digits(name: str, at: float):
    f, exact = CURVES[name]
    leaf = polynomial((Doubled(np.float64(at)), 0.0), (Doubled(np.float64(1.0)), 0.0))
    series = Path({X: leaf}, 7, number=doubled)(as_term(f(Tracer(X))))
    with mpmath.workdps(60):
        want = mpmath.taylor(exact, mpmath.mpf(at), 6)
        for k in range(7):
            c = series.at(k) or (Doubled(0.0), 0.0)
            value = c[0] if isinstance(c[0], Doubled) else Doubled.of(c[0])
            got = mpmath.mpf(float(value.pair[0])) + mpmath.mpf(float(value.pair[1]))
            assert abs(got - want[k]) <= 4 * float(error_of(c)) + 1e-300, k
            assert float(error_of(c)) <= (1e-14 if name == "erf(x)·Γ" else 1e-24) * (
                1 + sum(abs(float(w)) for w in want)
            )


def test_entries_of_divisors_may_begin_with_different_powers():
    whole = path_of(lambda v: v**5 / v**3 + v**-2 * np.square(v), V, [0.0, 1.0, 2.0], [1.0, 1.0, 0.0])
    for k, want in enumerate(([1.0, 2.0, 5.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0] * 3)):
        np.testing.assert_allclose(np.zeros(3) + whole[k][0], want, atol=1e-15)


def test_products_of_many_operands_have_the_series_of_repeated_ones():
    many = path_of(
        lambda v: np.einsum("i,i,i,j->j", v, 1 / v, np.exp(v), v), V, [0.5, 1.0, 2.0], [1.0, 0.0, 2.0]
    )
    few = path_of(lambda v: np.sum(np.exp(v)) * v, V, [0.5, 1.0, 2.0], [1.0, 0.0, 2.0])
    for (c, bound), (want, _) in zip(many, few, strict=True):
        np.testing.assert_allclose(c, want, rtol=1e-12, atol=1e-12)
        assert np.all(np.abs(c - want) <= 4 * bound + 1e-15)


def normalized(v: Any) -> Any:
    return v / np.sum(v)


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "shares": lambda v: np.sum(normalized(v) ** 2),
    "matrix": lambda v: np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]]) @ np.tanh(v),
    "outer": lambda v: np.einsum("i,j->ij", v, v).sum(axis=0),
    "moves": lambda v: np.concatenate([v[::-1], v[1:] * v[:-1]]),
    "logsumexp": lambda v: np.log(np.sum(np.exp(v))),
    "norm": lambda v: np.linalg.norm(v) * v,
    "broadcast": lambda v: np.sum(v[:, None] / (1 + v) + 2.0, axis=1),
}


@given(st.sampled_from(sorted(ARRAYS)), st.integers(0, 99))
def test_a_series_of_arrays_adds_up_to_the_program(name: str, seed: int):
    rng = np.random.default_rng(seed)
    at, step = rng.uniform(0.5, 2, 3), rng.uniform(-1, 1, 3)
    f = ARRAYS[name]
    found = path_of(f, V, at, step, 12)
    got = sum(c * 2.0 ** (-6 * k) for k, (c, _) in enumerate(found))
    assert got == pytest.approx(f(at + step / 64), rel=1e-13)


def test_what_has_no_series_is_said_to_have_none():
    for f in (np.log, np.sqrt, lambda x: np.sin(1 / x), lambda x: 1 / (x - x)):
        with pytest.raises(NoSeries):
            path_of(f, X, 0.0, 1.0)


def renyi(x: Any, a: Any) -> Any:
    return np.log(np.sum(normalized(x) ** a)) / (1 - a)


def pareto(x: Any, a: Any) -> Any:
    return np.exp(-((1 + a * x) ** (-1 / a)))


def chi_squared(x: Any, y: Any) -> Any:
    return np.sum(normalized(x) ** 2 / normalized(y)) - 1


def quotient(x: Any, y: Any) -> Any:
    return (np.arctan(x) - np.arctan(y)) / (x - y)


P = np.array([1.6, 1.7, 2.0])
SHIFT = np.array([1.0, -2.0, 0.5])


def high(f: Callable[..., Any], *args: Any) -> float:
    """Return a value to high precision."""
    with mpmath.workdps(80):
        return float(f(*args))


def shares(x: Any) -> Any:
    return [mpmath.mpf(float(v)) / mpmath.fsum(map(float, x)) for v in x]


def exact_renyi(x: Any, a: float) -> Any:
    p = shares(x)
    if a == 1:
        return -mpmath.fsum(v * mpmath.log(v) for v in p)
    return mpmath.log(mpmath.fsum(v ** mpmath.mpf(a) for v in p)) / (1 - mpmath.mpf(a))


def exact_chi_squared(x: Any, y: Any) -> Any:
    return mpmath.fsum(p * p / q for p, q in zip(shares(x), shares(y), strict=True)) - 1


@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-8, 1e-5, 1e-3, 0.03, 0.5])
def test_what_is_left_where_the_first_terms_vanish(gap: float):
    """Renyi's entropy at 1 is Shannon's; a divergence is of second order; a quotient is a derivative."""
    found = rg.stabilize(renyi)(P, 1 + gap)
    assert found == pytest.approx(high(exact_renyi, P, 1 + gap), rel=1e-12)
    y = P + gap * SHIFT
    assert rg.stabilize(chi_squared)(P, y) == pytest.approx(high(exact_chi_squared, P, y), rel=1e-9, abs=0)
    at = 1.3 + gap
    want = high(
        lambda: (
            (mpmath.atan(at) - mpmath.atan(1.3)) / (mpmath.mpf(at) - 1.3)
            if gap
            else 1 / (1 + mpmath.mpf(1.3) ** 2)
        )
    )
    assert rg.stabilize(quotient)(at, 1.3) == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4])
def test_gradients_are_as_good_as_values(gap: float):
    x, a = rg.grad(renyi, argnums=(0, 1))(P, 1 + gap)
    with mpmath.workdps(80):
        want = mpmath.diff(
            lambda s: exact_renyi(P, s), 1 + mpmath.mpf(gap) + mpmath.mpf("1e-30"), h=mpmath.mpf("1e-20")
        )
    assert a == pytest.approx(float(want), rel=1e-8)
    assert x @ P == pytest.approx(0, abs=1e-12)  # shares do not change with the scale
    slope = rg.grad(quotient, argnums=(0, 1))(1.3 + gap, 1.3)
    if not gap:
        assert slope == pytest.approx([-1.3 / (1 + 1.3**2) ** 2] * 2, rel=1e-12)
    assert rg.grad(pareto, argnums=1)(0.7, gap) == pytest.approx(-0.07404499187458727, rel=2e-4)


@pytest.mark.parametrize("a", [1.0, 1 - 2.0**-30, 1 + 2.0**-9])
def test_two_lines_at_once(a: float):
    """Near-uniform shares at an order near one: the series near one of them cancels near the other."""
    near = np.array([8.447953917530398, 8.503847135047767, 8.632850046677273])
    x = np.broadcast_to(near, (3,)).copy()
    found = rg.grad(renyi, 1)(x, a)
    with mpmath.workdps(80):
        want = mpmath.diff(lambda s: exact_renyi(x, s), a + mpmath.mpf("1e-40"), h=mpmath.mpf("1e-30"))
    assert found == pytest.approx(float(want), rel=1e-14, abs=0)
    assert rg.grad(renyi, 1, precise=False)(x, a) == pytest.approx(float(want), rel=1e-9, abs=0)


def used(f: Callable[..., Any], *args: Any) -> bool:
    function = rg.stabilize(f)
    function(*args)
    return "series along a line" in str(function.explain(*args))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sin(1 / (x - y)),
        lambda x, y: np.log(np.abs(x - y)),
        lambda x, y: np.sqrt(np.abs(x - y)),
        lambda x, y: np.sum((x - y) ** 2),
        lambda x, y: np.tanh(x) @ np.tanh(y),
        lambda x, y: np.log(np.sum(np.exp(x))) - np.log(np.sum(np.exp(y))),
    ],
)
def test_what_has_no_limit_or_loses_nothing_stands_as_it_is(f: Callable[..., Any]):
    assert not used(f, P, P[::-1].copy())


def test_decisions_on_the_way_are_those_of_the_program():
    """Where a branch, a kink or an order changes between the line and the arguments, no series is taken across."""
    step = lambda x, y: (np.where(x > 0.75, np.exp(x), np.cos(x)) - np.cos(y)) / (x - y)
    for x, y in ((0.76, 0.74), (0.751, 0.749), (0.74, 0.745), (0.76, 0.7650001)):
        assert rg.stabilize(step)(x, y) == pytest.approx(step(x, y), rel=1e-6)
    kink = lambda x, y: (np.abs(np.sin(x - 0.75)) - np.abs(np.sin(y - 0.75))) / (x - y)
    assert rg.stabilize(kink)(0.7501, 0.7498) == pytest.approx(kink(0.7501, 0.7498), rel=1e-9)
    side = lambda x, y: np.abs(x - y) / (x - y)
    with np.errstate(all="ignore"):
        assert [float(rg.stabilize(side)(1.0 + d, 1.0)) for d in (1e-3, -1e-3)] == [1.0, -1.0]
        assert np.isnan(rg.stabilize(side)(np.float64(1.0), np.float64(1.0)))
    special = lambda x: np.where(x == 0, 5.0, np.sin(x) / x)
    assert rg.stabilize(special)(np.array([0.0, 1e-9, 0.1])).tolist() == [5.0, 1.0, np.sin(0.1) / 0.1]
    ordered = rg.grad(lambda x: np.sort(np.sin(x) + x) @ np.array([1.0, 2.0, 4.0]))
    assert ordered(P[::-1] / 1e9) == pytest.approx([8.0, 4.0, 2.0])


def test_a_gap_between_terms_is_no_end():
    """1 + δ⁸ and its like: terms that vanish in the middle do not end a series."""
    f = lambda x, y: (np.exp((x - y) ** 9) - 1 + (x - y) ** 2 * x) / (x - y) ** 2
    for d in (1e-7, 1e-2, 0.05):
        want = 1.0 + d + np.expm1(d**9) / d**2
        assert rg.stabilize(f)(1.0 + d, 1.0) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 3), (2, 1)])
def test_shapes_and_dtypes_stay(shape: tuple[int, ...]):
    f = rg.stabilize(lambda x, a: np.log(np.sum((x / np.sum(x)) ** a)) * x / (1 - a))
    for dtype in (np.float64, np.float32):
        x, a = np.ones(shape, dtype), np.full((1,) * len(shape), 1, dtype)
        got = f(x, a)
        assert got.shape == shape
        assert got.dtype == dtype
        assert got == pytest.approx(np.full(shape, math.log(math.prod(shape))), rel=1e-6)


def test_away_from_the_line_the_program_stands():
    f = rg.stabilize(renyi)
    for a in (0.25, 0.5, 2.0, 7.0):
        assert f(P, a) == pytest.approx(high(exact_renyi, P, a), rel=1e-14)
    assert np.isnan(f(np.array([np.nan, 1.0, 2.0]), 1.0))


def test_whole_powers_of_what_vanishes():
    found = path_of(lambda x: x**3 - 2 * x**2 + x**0, X, 0.0, 1.0, 5)
    assert [float(c) for c, _ in found] == [1, 0, -2, 1, 0]


def test_a_power_whose_exponent_grows_as_its_base_nears_one():
    """(Σ xᵃ/n)^(1/a) is the geometric mean at a = 0: the pole of 1/a meets a logarithm that vanishes."""
    f = lambda x, a: np.mean(x**a) ** (1 / a)
    x = np.array([0.2, 1.5, 3.0])
    with mpmath.workdps(50):
        for a in (0.0, 1e-12, -1e-7, 1e-3):
            exact = lambda *v, a=a: (
                mpmath.exp(sum(map(mpmath.log, v)) / 3)
                if not a
                else (sum(t ** mpmath.mpf(a) for t in v) / 3) ** (1 / mpmath.mpf(a))
            )
            value, gradient = rg.stabilize(f)(x, a), rg.grad(f)(x, a)
            want = [
                mpmath.diff(exact, tuple(map(mpmath.mpf, x)), tuple(int(i == j) for j in range(3)))
                for i in range(3)
            ]
            assert value == pytest.approx(float(exact(*map(mpmath.mpf, x))), rel=1e-13)
            np.testing.assert_allclose(gradient, [float(w) for w in want], rtol=1e-12)


@pytest.mark.parametrize("q", [1.0, 1 + 1e-9, 1 - 1e-5])
@pytest.mark.parametrize("name", ["renyi", "tsallis", "hill", "divergence"])
def test_what_vanishes_for_shares_alone_has_its_limit_for_shares(name: str, q: float):
    """Σ p^q = 1 at q = 1 where Σ p = 1: entropies of arguments that are distributions, and no others', have a limit."""
    p, r = np.array([0.25, 0.125, 0.5, 0.125]), np.array([0.5, 0.25, 0.125, 0.125])
    f, exact = {
        "renyi": (
            lambda p, r, q: np.log(np.sum(p**q)) / (1 - q),
            lambda q: mpmath.log(sum(mpmath.mpf(x) ** q for x in p)) / (1 - q),
        ),
        "tsallis": (
            lambda p, r, q: (1 - np.sum(p**q)) / (q - 1),
            lambda q: (1 - sum(mpmath.mpf(x) ** q for x in p)) / (q - 1),
        ),
        "hill": (
            lambda p, r, q: np.sum(p**q) ** (1 / (1 - q)),
            lambda q: sum(mpmath.mpf(x) ** q for x in p) ** (1 / (1 - q)),
        ),
        "divergence": (
            lambda p, r, q: np.log(np.sum(p**q * r ** (1 - q))) / (q - 1),
            lambda q: (
                mpmath.log(
                    sum(mpmath.mpf(x) ** q * mpmath.mpf(y) ** (1 - q) for x, y in zip(p, r, strict=True))
                )
                / (q - 1)
            ),
        ),
    }[name]
    with mpmath.workdps(80):
        step = mpmath.mpf(10) ** -25
        low, high = exact(q - step), exact(q + step)
        assert rg.stabilize(f)(p, r, q) == pytest.approx(float((low + high) / 2), rel=1e-14)
        assert rg.grad(f, 2)(p, r, q) == pytest.approx(float((high - low) / (2 * step)), rel=1e-13)
    assert not np.isfinite(rg.stabilize(f)(2 * p, 2 * p, 1.0))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("gap", [0.0, 1e-13, -1e-5])
def test_interpolants_are_what_they_interpolate_at_nodes_that_are_entries_of_an_argument(k: int, gap: float):
    """Σ wᵢ·yᵢ/(x − xᵢ) / Σ wᵢ/(x − xᵢ) = p(x), where x meets xₖ and poles meet: the polynomial, and its slope."""
    w = np.array([-1.0, 3.0, -3.0, 1.0])
    barycentric = lambda x, nodes, y: np.sum(w * y / (x - nodes)) / np.sum(w / (x - nodes))
    shepard = lambda x, nodes, y: np.sum(y / (x - nodes) ** 2) / np.sum(1 / (x - nodes) ** 2)
    nodes, y = np.array([0.5, 1.5, 2.5, 3.5]), np.array([1.0, -2.0, 0.25, 4.0])
    p = np.polynomial.Polynomial.fit(nodes, y, 3).convert()
    x = nodes[k] + gap
    assert rg.stabilize(barycentric)(x, nodes, y) == pytest.approx(p(x), rel=1e-11)
    assert rg.grad(barycentric)(x, nodes, y) == pytest.approx(p.deriv()(x), rel=1e-11)
    assert rg.stabilize(shepard)(x, nodes, y) == pytest.approx(y[k], rel=100 * gap**2 + 1e-14)
    np.testing.assert_allclose(rg.grad(shepard, 2)(x, nodes, y), np.arange(4) == k, atol=10 * gap**2)


def test_the_gradient_of_a_quotient_loses_what_the_quotient_does_not():
    """g/k = −1.128… + 0.0642·x + … where both vanish at 0: its slope is what is left of g′k − gk′."""
    f = lambda x: (np.sqrt(1 + x**2) + sp.erf(x) - 1) / (x**3 - np.expm1(x))
    exact = lambda x: (mpmath.sqrt(1 + x**2) + mpmath.erf(x) - 1) / (x**3 - mpmath.expm1(x))
    with mpmath.workdps(60):
        for x in (8e-6, -3e-9, 1e-3):
            assert rg.grad(f)(x) == pytest.approx(float(mpmath.diff(exact, mpmath.mpf(x))), rel=1e-12)


def test_difference_quotients_of_programs_with_predicates_and_broadcasts():
    """What asks whether numbers are finite, and what is spread over axes, has series as well."""
    c = np.array([-0.875, -1.25, -0.25])
    programs = (
        (lambda x: np.sum(np.cumsum(np.logaddexp(0, 2 * x)) ** 2), 1e-11),
        (lambda x: c @ np.exp(np.exp2(x)) / np.sum(np.exp(np.exp2(x))), 1e-11),
    )
    x, u = np.array([0.4, 0.5, 0.2]), np.array([1.25, 0.75, 0.5])
    for g, tolerance in programs:
        quotient = lambda h, g=g: (g(x + h * u) - g(x)) / h
        slope = rg.jvp(g, (x,), (u,))[1]
        curve = rg.jvp(lambda x, g=g: rg.jvp(g, (x,), (u,))[1], (x,), (u,))[1]
        assert rg.stabilize(quotient)(0.0) == pytest.approx(slope, rel=tolerance)
        assert rg.grad(quotient)(1e-9) == pytest.approx(curve / 2, rel=1e-7)
        assert rg.grad(quotient)(0.0) == pytest.approx(curve / 2, rel=tolerance)


def remaining(x: Any, y: Any) -> Any:
    """√x less the first terms of its Taylor series at y, over the distance squared."""
    return (np.sqrt(x) - np.sqrt(y) - (x - y) / (2 * np.sqrt(y))) / (x - y) ** 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("y", [np.float64(1.5), np.full((1, 1), 1.5), np.full((2, 1), 1.5)])
def test_entries_that_meet_one_that_is_spread(y: Any):
    """f(x₁, y), f(x₂, y), … are as good as f(x, y) of two numbers, whichever of them lies near y."""
    x = np.array([[1.5, 2.0, 1.5 + 1e-9], [1.25, 1.5, 3.0]])
    ends = np.broadcast_to(y, x.shape)
    slope = rg.grad(lambda x, y: np.sum(remaining(x, y)))
    np.testing.assert_allclose(rg.stabilize(remaining)(x, y), rg.stabilize(remaining)(x, ends), rtol=1e-13)
    np.testing.assert_allclose(slope(x, y), slope(x, ends), rtol=1e-12)
    np.testing.assert_allclose(slope(x, y)[0, 0], 1.5**-2.5 / 16, rtol=1e-12)


def test_arguments_are_drawn_where_the_program_is_defined():
    """(Σ w·tan(x)ᵃ/Σw)^(1/a) is no number beyond π/2, where it may be tried first."""
    f = lambda x, w, a: (w @ np.tan(x) ** a / np.sum(w)) ** (1 / a)
    x, w = np.array([0.3, 0.4, 0.5]), np.array([0.8, 1.0, 1.2])
    want = np.exp(w @ np.log(np.tan(x)) / np.sum(w))
    assert rg.stabilize(f)(x, w, 0.0) == pytest.approx(want, rel=1e-14)
    np.testing.assert_allclose(
        rg.grad(f)(x, w, 0.0), want * w / np.sum(w) / (np.sin(x) * np.cos(x)), rtol=1e-13
    )


def test_an_argument_that_only_the_rewritten_derivative_keeps():
    def gap(x, y):
        return np.sum((np.log(x / (1 - x)) - np.log(y / (1 - y))) * np.array([1.0, -0.5]))

    slope = rg.grad(gap)
    x, y = np.array([0.3, 0.6]), np.array([0.3000001, 0.7])
    assert slope.explain(x, y).derivation.failures == ()
    np.testing.assert_allclose(slope(x, y), np.array([1.0, -0.5]) / (x * (1 - x)), rtol=1e-15)


def test_a_sign_of_all_entries_where_each_has_a_line_of_its_own():
    def f(x, y):
        return np.sum(
            np.log(np.exp(np.where(y > 0, y, 0.0) + np.linalg.norm(x + 0.5)))
            * np.arange(8.0).reshape(2, 2, 2)
        )

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2, 2)), rng.normal(size=(2, 2, 2))
    slope = rg.grad(f, argnums=(0, 1))
    assert slope.explain(x, y).derivation.failures == ()
    to_x, to_y = slope(x, y)
    np.testing.assert_allclose(to_x, 28 * (x + 0.5) / np.linalg.norm(x + 0.5), rtol=1e-14)
    np.testing.assert_allclose(to_y, np.where(y > 0, np.arange(8.0).reshape(2, 2, 2), 0), rtol=1e-14)


def test_lines_know_what_the_written_program_sums_though_the_rewritten_does_not():
    f = lambda x, y: np.exp(x + np.sum(np.maximum(0.0, 1 - y), axis=-2, keepdims=True))
    share = lambda x, y: f(x, y) / np.sum(f(x, y), axis=-1, keepdims=True)
    x = np.array([[0.3, 0.2, 0.5], [1.0, 2.0, 0.1]])
    for y in (np.ones((4, 1)), np.full((2, 1), 0.5)):
        found = rg.grad(lambda x, y: np.sum(share(x, y) * x), argnums=(0, 1), strategy="eager")(x, y)
        want = rg.grad(lambda x, y: np.sum(share(x, y) * x), argnums=(0, 1), strategy="naive")(x, y)
        np.testing.assert_allclose(found[0], want[0], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found[1], 0, atol=1e-15)


DATA = np.array([0.4, 1.3, 2.2])
OF_PARAMETERS: dict[str, tuple[Callable[..., Any], list[float], int]] = {
    "annuity": (lambda r, n: (1 - (1 + r) ** -n) / r, [0.0, 10.0], 0),
    "decay chain": (
        lambda a, b: np.sum(a / (b - a) * (np.exp(-a * DATA) - np.exp(-b * DATA))),
        [0.7, 0.7],
        1,
    ),
    "extreme values": (
        lambda m, s, k: np.sum(
            np.log(s) + (1 + 1 / k) * np.log(1 + k * (DATA - m) / s) + (1 + k * (DATA - m) / s) ** (-1 / k)
        ),
        [0.1, 1.2, 0.0],
        2,
    ),
    "power transform": (lambda p, m: np.sum(((DATA**p - 1) / p - m) ** 2), [0.0, 0.3], 0),
    "turning": (lambda v, w, t: v / w * (np.sin(t + w) - np.sin(t)), [1.0, 0.0, 0.3], 1),
    "second difference quotient": (
        lambda a, b, c: (
            np.sin(a) / ((a - b) * (a - c))
            + np.sin(b) / ((b - a) * (b - c))
            + np.sin(c) / ((c - a) * (c - b))
        ),
        [0.3, 0.3, 1.0],
        1,
    ),
}
PACKED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "unpacked": (lambda p: p, lambda t: t),
    "read backwards": (lambda p: p[::-1], lambda t: [t[len(t) - 1 - i] for i in range(len(t))]),
    "entries of a matrix": (
        lambda p: np.stack([np.ones_like(p), p], axis=1),
        lambda t: t.T[1],
    ),
    "of one entry each": (lambda p: p[None], lambda t: [t[0, i : i + 1] for i in range(t.shape[1])]),
}


@pytest.mark.sampled(30)
@pytest.mark.parametrize("gap", [0.0, 1e-9, -1e-6, 1e-4, 0.01])
@pytest.mark.parametrize("form", PACKED)
@pytest.mark.parametrize("name", OF_PARAMETERS)
def test_entries_of_an_argument_are_arguments(name: str, form: str, gap: float):
    f, at, i = OF_PARAMETERS[name]
    pack, unpack = PACKED[form]
    p = np.array(at)
    p[i] += gap
    packed = lambda t: np.sum(f(*unpack(t)))
    assert rg.stabilize(packed)(pack(p)) == pytest.approx(float(rg.stabilize(f)(*p)), rel=1e-12)
    apart = np.array(rg.grad(f, tuple(range(len(p))))(*map(float, p)))
    assert np.isfinite(apart).all()
    found = rg.grad(packed)(pack(p))
    picked = unpack(np.arange(found.size).reshape(found.shape))
    got = found.reshape(-1)[[int(np.asarray(place).reshape(())) for place in picked]]
    np.testing.assert_allclose(got, apart, rtol=1e-12, atol=1e-12 * np.abs(apart).max())


def test_an_argument_read_by_entries_and_as_a_whole():
    f = lambda t: np.expm1(t[0] * t[1]) / t[1] + t @ t
    for k in (0.0, 1e-9, -1e-4):
        exact = np.array([1.0 + k * 0.3 + 0.6, 0.045 + 0.009 * k + 2 * k])
        np.testing.assert_allclose(rg.grad(f)(np.array([0.3, k])), exact, rtol=1e-7)
        assert rg.stabilize(f)(np.array([0.3, k])) == pytest.approx(0.39 + 0.045 * k + k * k, rel=1e-8)


@pytest.mark.parametrize(
    "columns", [lambda x: (x[:, 0], x[:, 1]), lambda x: x.T, lambda x: (x[..., 0], x[..., 1])]
)
def test_columns_of_a_matrix_are_arguments(columns: Callable[[Any], Any]):
    f = lambda u, k: ((1 + k * u) ** (1 / k) - 1) * u + (1 - np.exp(-k * u)) / k
    x = np.array([[0.3, 0.0], [0.4, 1e-9], [0.5, 0.1], [0.2, -1e-5], [0.7, 0.0]])
    u, k = x.T.copy()
    np.testing.assert_allclose(rg.stabilize(lambda x: f(*columns(x)))(x), rg.stabilize(f)(u, k), rtol=1e-13)
    together = rg.grad(lambda x: np.sum(f(*columns(x))))(x)
    apart = rg.grad(lambda u, k: np.sum(f(u, k)), (0, 1))(u, k)
    np.testing.assert_allclose(together, np.stack(apart, axis=1), rtol=1e-12)
    assert np.isfinite(together).all()


FOLLOWING: dict[str, Callable[[Any], Any]] = {
    "columns": lambda x: x[:, 0] * np.exp(x[:, 1]),
    "reversed": lambda x: x[::-1].T + 1,
    "spread": lambda x: np.stack([x, x * x]),
    "sum of one": lambda x: np.sum(x[:, :1] * np.ones(4), axis=1),
    "joined": lambda x: np.concatenate([x[0], np.zeros(2), x[1] ** 2]),
    "several": lambda x: x + x[::-1],
    "all": lambda x: np.sum(x) * x,
    "gradient": lambda x: rg.grad(lambda x: np.sum(x[:, 0] * np.tanh(x[:, 1])))(x),
    "put twice": lambda x: rg.grad(lambda x: np.sum(x[[0, 0]] ** 3))(x),
    "chosen": lambda x: np.where(x > 0.6, x, 1.0),
    "matrix": lambda x: x @ x.T,
}


@pytest.mark.parametrize("part", [None, (0,), (2, 3), (1, 3, 5)])
@pytest.mark.parametrize("name", FOLLOWING)
def test_what_follows_an_entry_changes_with_no_other(name: str, part: tuple[int, ...] | None):
    leaf = term(Input("x", array_type(np.dtype(float), (3, 2))))
    moved = Part(leaf, (3, 2) if part is None else (len(part),), part)
    (body,) = explicit([as_term(FOLLOWING[name](Tracer(leaf)))], DEFAULT)
    follows = followed(body, moved)
    x = np.random.default_rng(0).uniform(0.5, 1, (3, 2))
    before = interpret([body], {leaf: x})[0]
    depends = []
    for i in range(6) if part is None else part:
        new = x.copy()
        new.reshape(-1)[i] += 0.3
        depends.append(interpret([body], {leaf: new})[0] != before)
    if follows is None:
        assert np.any(np.sum(depends, axis=0) > 1) or name in ("put twice", "matrix")
    else:
        for i, changed in enumerate(depends):
            assert np.all((follows == i + 1) | ~changed)


def test_a_formula_beside_its_series_gives_no_warning():
    f, at, _ = OF_PARAMETERS["extreme values"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isfinite(rg.grad(f, (0, 1, 2))(*at)).all()
    with pytest.warns(RuntimeWarning):
        rg.stabilize(lambda x: np.log(x))(np.zeros(2))


ENDLESS: dict[str, Callable[[Any, Any], Any]] = {
    "x·log(1 + 1/x)": lambda m, x: x * (m.log(x + 1) - m.log(x)) - 1,
    "√(x² + x)": lambda m, x: m.sqrt(x * x + x) - x - 0.5,
    "an oblique asymptote": lambda m, x: (x**3 + x) / (x**2 - 1) - x - 2 / x,
    "x/√(x² + 1)": lambda m, x: x / m.sqrt(x * x + 1) - 1,
    "(1 + 1/x)ˣ": lambda m, x: (1 + 1 / x) ** x,
    "two quotients": lambda m, x: x / (x + 1) - (x + 1) / (x - 1) + 3 / x,
    "e^(1/x)": lambda m, x: m.exp(1 / x) * (x - 1) - x,
    "powers of it": lambda m, x: (x**4 + x) ** 0.5 - x**2 - 1 / (2 * x),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("x", [1e3, 1e8, 3e16, 1e40, -2e9])
@pytest.mark.parametrize("name", ENDLESS)
def test_what_is_left_near_infinity(name: str, x: float):
    f = ENDLESS[name]
    in_floats = lambda x: f(np, x)
    with np.errstate(all="ignore"):
        if not np.isfinite(in_floats(x)):
            return
        found, slope = rg.stabilize(in_floats)(x), rg.grad(in_floats)(x)
    with mpmath.workdps(400):
        at = mpmath.mpf(x)
        exact = f(mpmath, at)
        step = at * mpmath.mpf(10) ** -90
        tangent = (f(mpmath, at + step) - f(mpmath, at - step)) / (2 * step)
        # What x itself is rounded to is no error of theirs.
        assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
        assert slope == pytest.approx(float(tangent), rel=1e-12, abs=1e-300)


def test_near_infinity_beside_other_arguments():
    """Compounding ever more often, (1 + r/n)ⁿ → eʳ, by entries of one argument, and of many at once."""
    f = lambda t: (1 + t[0] / t[1]) ** t[1] - np.exp(t[0])
    for n in (1e6, 1e10, 1e15):
        with mpmath.workdps(80):
            r, m = mpmath.mpf(0.25), mpmath.mpf(n)
            want = (1 + r / m) ** m - mpmath.exp(r)
        assert rg.stabilize(f)(np.array([0.25, n])) == pytest.approx(float(want), rel=1e-12, abs=0)
    many = rg.stabilize(lambda x: x / np.sqrt(x * x + 1) - 1)(np.array([0.5, 1e9, 2.0, -1e3, np.inf, 1e5]))
    one = [float(rg.stabilize(lambda x: x / np.sqrt(x * x + 1) - 1)(v)) for v in (0.5, 1e9, 2.0, -1e3, 1e5)]
    np.testing.assert_allclose(many[[0, 1, 2, 3, 5]], one, rtol=1e-14)


def test_roots_of_what_vanishes_or_ends():
    """√(t²·w) = t·√w where t is not negative; √t has a branch point."""
    t = path_of(lambda x: np.sqrt(x * x * (4 + x)), X, 0.0, 1.0, 4)
    assert [float(c) for c, _ in t] == pytest.approx([0.0, 2.0, 0.25, -1 / 64])
    cube = path_of(lambda x: np.cbrt(x**3 * (1 - x)), X, 0.0, 1.0, 4)
    assert [float(c) for c, _ in cube] == pytest.approx([0.0, 1.0, -1 / 3, -1 / 9])
    for f in (np.sqrt, np.cbrt, lambda x: (x * x) ** 0.75):
        with pytest.raises(NoSeries):
            path_of(f, X, 0.0, 1.0)
    # |x - y| has no derivative on the line: it is another from either side.
    kink = rg.grad(lambda x, y: np.sqrt((x - y) ** 2 * (2 + x)) / (3 + y))
    with np.errstate(all="ignore"):
        assert [float(np.sign(kink(1.0 + d, 1.0))) for d in (1e-3, -1e-3)] == [1.0, -1.0]


OF_ROOTS = {
    "sinh(√k·d)/√k": (lambda k, d: np.sinh(np.sqrt(k) * d) / np.sqrt(k), [(k, 3.0) for k in (0, 1e-200, 1e-40, 1e-20)],
                      0, lambda k, d: (d + k * d**3 / 6, d**3 / 6 + k * d**5 / 60)),
    "log cosh(√(g·k)·t)/k": (lambda k, t, g: np.log(np.cosh(np.sqrt(g * k) * t)) / k,
                             [(k, 2.0, 10.0) for k in (0, 1e-200, 1e-14, 1e-12)], 0,
                             lambda k, t, g: (g * t**2 / 2 - g**2 * k * t**4 / 12, -(g**2) * t**4 / 12
                                              + 2 * g**3 * t**6 * k / 45)),
    "(√z − sin √z)/√z³": (lambda z: (np.sqrt(z) - np.sin(np.sqrt(z))) / np.sqrt(z) ** 3,
                          [(z,) for z in (0, 1e-250, 1e-18, 1e-6)], 0,
                          lambda z: (1 / 6 - z / 120 + z**2 / 5040, -1 / 120 + z / 2520 - z**2 / 120960)),
    "(1 − cos √z)/z": (lambda z: (1 - np.cos(np.sqrt(z))) / z, [(z,) for z in (0, 1e-200, 1e-14, 1e-6)], 0,
                       lambda z: (1 / 2 - z / 24 + z**2 / 720, -1 / 24 + z / 360 - z**2 / 13440)),
    "cosh √z": (lambda z: np.cosh(np.sqrt(z)), [(0.0,)], 0, lambda z: (1.0, 0.5)),
    "arccosh(1 + z)²": (lambda z: np.arccosh(1 + z) ** 2, [(0.0,)], 0, lambda z: (0.0, 2.0)),
    "cosh(5·arccosh x)": (lambda x: np.cosh(5 * np.arccosh(x)), [(1.0,)], 0, lambda x: (1.0, 25.0)),
    "oscillator, critically damped": (
        lambda g, w, t: np.exp(-g * t) * np.sin(np.sqrt(w**2 - g**2) * t) / np.sqrt(w**2 - g**2),
        [(1.0, 1.0, 3.0), (1e-9, 1e-9, 1.0)], 1,
        lambda g, w, t: (t * np.exp(-g * t), -np.exp(-g * t) * w * t**3 / 3)),
    "tunnelling at the height of the barrier": (
        lambda e, v, a: 1 / (1 + v**2 * np.sinh(np.sqrt(2 * (v - e)) * a) ** 2 / (4 * e * (v - e))),
        [(1.0, 1.0, 2.0)], 0, lambda e, v, a: (1 / 3, 22 / 27)),
    "area of an oblate spheroid": (
        lambda a, b: (lambda e: 2 * np.pi * a**2 * (1 + (1 - e**2) / e * np.arctanh(e)))(np.sqrt(1 - b**2 / a**2)),
        [(1.0, 1.0)], 1, lambda a, b: (4 * np.pi, 8 * np.pi / 3)),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_ROOTS)
def test_roots_of_the_distance_are_no_branch_points_of_what_is_even_in_them(name):
    f, points, wrt, exact = OF_ROOTS[name]
    value, gradient = rg.stabilize(f), rg.grad(f, wrt)
    for at in points:
        found = value(*map(float, at)), gradient(*map(float, at))
        # Of the oscillator's slope, near(u)/leg is known along the line only, as the limit of differences.
        np.testing.assert_allclose(found, exact(*at), rtol=2e-14 if name.startswith("oscillator") else 1e-14)


@pytest.mark.filterwarnings("ignore")
def test_a_branch_point_stays():
    assert rg.grad(lambda z: np.sqrt(z) * np.cos(z))(0.0) == np.inf
    np.testing.assert_array_equal(
        rg.stabilize(lambda z: np.sinh(np.sqrt(z)) / np.sqrt(z))(np.array([-1.0, -1e-9])), np.nan
    )
    # Two functions meet where the argument of the root vanishes.
    f = rg.stabilize(lambda z: np.where(z < 0, np.cosh(np.sqrt(np.abs(z))), np.sin(np.sqrt(np.abs(z)))))
    np.testing.assert_allclose(
        f(np.array([-1e-9, 0.0, 1e-9])), [1 + 5e-10, 0.0, np.sin(1e-9**0.5)], rtol=1e-15
    )


@pytest.mark.parametrize("g", [np.sqrt, lambda y: y**1.5, lambda y: np.sqrt(y) * y])
def test_a_side_without_values_says_nothing_of_the_line(g):
    """where(√y > 0, x, √y) at y = 0: the branch there is not that of y > 0, and there are no others."""
    f = rg.stabilize(lambda x, y: np.where(g(y) > 0, x, g(y)))
    x, y = np.array([0.3, 0.4, 0.5]), np.array([0.0, 2.0, 1e-12])
    np.testing.assert_array_equal(f(x, y), [0.0, 0.4, 0.5])


@pytest.mark.parametrize("x", [1e4, 1e8, 1e16, 1e100])
def test_logarithms_of_the_distance_cancel(x):
    """log(x² + 1) − 2·log x is −2λ + log(1 + t²) + 2λ, for x = 1/t and λ = log t."""
    f = lambda x: np.log(x * x + 1) - 2 * np.log(x)
    with mpmath.workdps(450):
        u = mpmath.mpf(x)
        truth = mpmath.log1p(1 / u**2), -2 / (u * (u**2 + 1))
    found = rg.stabilize(f)(x), rg.grad(f)(x)
    np.testing.assert_allclose(found, [float(t) for t in truth], rtol=1e-14)
    assert rg.stabilize(lambda x: np.log(x) * x)(1e-12) == 1e-12 * np.log(1e-12)


def test_on_a_line_logarithms_of_the_distance_tell_nothing():
    """t·log t → 0 at t = 0, but |t|·(x/|t| + 1)^(1 + t/2) → x is no multiple of t, as e^(−log t) = 1/t."""
    for p in (lambda a: a / 2, lambda a: 1 + (a - 2) / 3):
        f = rg.stabilize(lambda x, a, p=p: np.abs(a - 2) * (x / np.abs(a - 2) + 1) ** p(a), precise=False)
        assert f(3.0, 2.0) == 3 or np.isnan(f(3.0, 2.0))
        assert f(3.0, 2 + 1e-9) == pytest.approx(3, rel=1e-7)


def test_small_arguments_may_be_near_beside_a_number():
    """∂/∂g (1 − q³⁰)/(r − g), q = (1 + g)/(1 + r), at r = 1e-10, g = 2·r: g and r are near, beside 1."""
    f = rg.grad(lambda g, r: (1 - ((1 + g) / (1 + r)) ** 30) / (r - g), precise=False)
    with mpmath.workdps(60):
        want = mpmath.diff(lambda g: (1 - ((1 + g) / (1 + mpmath.mpf(1e-10))) ** 30) / (1e-10 - g), 2e-10)
    assert f(2e-10, 1e-10) == pytest.approx(float(want), rel=1e-13)
    quotient = rg.grad(lambda x, y: (np.log(x) - np.log(y)) / (x - y), precise=False)
    assert quotient(2e-10, 1e-10) == pytest.approx((0.5 - np.log(2)) * 1e20, rel=1e-13)


def test_a_slope_on_a_line_may_be_zero():
    """f = a·(e^(−at) − e^(−bt))/(b − a) → ∂f/∂a = t·e^(−at)·(1 − a·t/2) at a = b, which is 0 at a·t = 2."""
    f = rg.grad(lambda a, b, t: a / (b - a) * (np.exp(-a * t) - np.exp(-b * t)), precise=False)
    assert f(1.0, 1.0, 2.0) == 0
    assert f(1.0, 1.0, 3.0) == pytest.approx(-1.5 * np.exp(-3), rel=1e-14)


def test_beside_a_line_the_program_as_written_may_be_open():
    """Σ (eˣ − 1)/x + (eˣ − eʸ)/(x − y) at x = y = 0, where two formulas are open at once."""

    def f(x, b):
        e = np.exp(x)
        return np.sum((e - 1) / x * b) + (e[0] - e[1]) / (x[0] - x[1])

    np.testing.assert_allclose(
        rg.grad(f, precise=False)(np.zeros(2), np.array([1.0, 2.0])), [1.0, 1.5], rtol=1e-14
    )


def agree(
    f: Callable[..., Any],
    exact: Callable[..., Any],
    points: Sequence[float],
    rel: float = 1e-13,
    ways: Sequence[bool] = (True, False),
) -> None:
    """Check values and gradients of a function of one number, with and without doubled arithmetic."""
    for precise in ways:
        value, slope = rg.stabilize(f, precise=precise), rg.grad(f, precise=precise)
        with mpmath.workdps(400):
            for x in points:
                at = mpmath.mpf(x)
                assert value(x) == pytest.approx(float(exact(at)), rel=rel, abs=0), x
                assert slope(x) == pytest.approx(float(mpmath.diff(exact, at)), rel=rel, abs=0), x


def erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


STIRLING: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "arccosh x − log 2x": (
        lambda x: np.arccosh(x) - np.log(2 * x),
        lambda x: mpmath.acosh(x) - mpmath.log(2 * x),
    ),
    "log Γ(x + 1/2) − log Γ(x) − log(x)/2": (
        lambda x: sp.gammaln(x + 0.5) - sp.gammaln(x) - 0.5 * np.log(x),
        lambda x: mpmath.loggamma(x + 0.5) - mpmath.loggamma(x) - 0.5 * mpmath.log(x),
    ),
    "ψ(x) − log x": (
        lambda x: sp.digamma(x) - np.log(x),
        lambda x: mpmath.digamma(x) - mpmath.log(x),
    ),
    "2·erfcx(2x) − erfcx(x)": (
        lambda x: 2 * sp.erfcx(2 * x) - sp.erfcx(x),
        lambda x: 2 * erfcx(2 * x) - erfcx(x),
    ),
    "ψ′(x) − 1/x": (lambda x: sp.polygamma(1, x) - 1 / x, lambda x: mpmath.psi(1, x) - 1 / x),
    "log B(x, 2) + 2·log x": (
        lambda x: sp.betaln(x, 2.0) + 2 * np.log(x),
        lambda x: mpmath.log(x / (x + 1)),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", STIRLING)
def test_near_infinity_functions_are_their_asymptotic_series(name: str):
    agree(*STIRLING[name], [1e3, 1e9, 1e17])


def test_near_minus_infinity_gamma_functions_have_no_series():
    f = rg.stabilize(lambda x: sp.polygamma(1, x) - 1 / x)
    with mpmath.workdps(40):
        exact = [float(mpmath.psi(1, x) - 1 / mpmath.mpf(x)) for x in (-100.5, 1e9)]
    assert f(np.array([-100.5, 1e9])) == pytest.approx(exact, rel=1e-13, abs=0)
    assert f(-100.5) == pytest.approx(exact[0], rel=1e-13)


POLES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Γ(x) − 1/x": (lambda x: sp.gamma(x) - 1 / x, lambda x: mpmath.gamma(x) - 1 / x),
    "x·(x + 3)·Γ(x − 3)": (
        lambda x: x * (x + 3) * sp.gamma(x - 3),
        lambda x: x * (x + 3) * mpmath.gamma(x - 3),
    ),
    "Γ(x)/Γ(2x)": (lambda x: sp.gamma(x) / sp.gamma(2 * x), lambda x: mpmath.gamma(x) / mpmath.gamma(2 * x)),
    "B(x, 2.5) − 1/x": (lambda x: sp.beta(x, 2.5) - 1 / x, lambda x: mpmath.beta(x, 2.5) - 1 / x),
    "1/(x·Γ(x))": (lambda x: sp.rgamma(x) / x, lambda x: mpmath.rgamma(x) / x),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", POLES)
def test_gamma_functions_have_poles_that_others_meet(name: str):
    f, exact = POLES[name]
    agree(f, exact, [1e-12, 3e-6, -1e-3])
    with mpmath.workdps(120):
        near = mpmath.mpf("1e-40")
        limit, slope = exact(near), (exact(near) - exact(-near)) / (2 * near)
    assert rg.stabilize(f)(0.0) == pytest.approx(float(limit), rel=1e-13)
    assert rg.grad(f)(0.0) == pytest.approx(float(slope), rel=1e-13)


def test_gamma_functions_beyond_all_floats_lead_on_for_so_long_only():
    """Γ(180) is infinite, and no pole: Γ(181)/180 is no nearer to a number."""
    f = rg.stabilize(lambda x, y: x * sp.gamma(x) / sp.gamma(y))
    assert f(180.0, 180.0) == pytest.approx(180.0, rel=1e-12)
    assert rg.stabilize(lambda x: x * sp.gamma(x) - sp.gamma(x + 1))(180.0) == 0.0


FAR_ROOTS: dict[str, Callable[[Any, Any], Any]] = {
    "√x·arctan(1/√x)": lambda m, x: m.sqrt(x) * (m.arctan if m is np else m.atan)(1 / m.sqrt(x)) - 1,
    "√(x + √x)": lambda m, x: m.sqrt(x + m.sqrt(x)) - m.sqrt(x) - 0.5,
    "√(x + 1)·e^(1/√x)": lambda m, x: m.sqrt(x + 1) * m.exp(1 / m.sqrt(x)) - m.sqrt(x) - 1,
}


@pytest.mark.parametrize("name", FAR_ROOTS)
def test_near_infinity_as_well_series_are_of_the_root_of_the_distance(name: str):
    f = FAR_ROOTS[name]
    agree(lambda x: f(np, x), lambda x: f(mpmath, x), [1e5, 3e6, 1e12, 2e12], ways=(True,))


def test_on_a_line_of_several_entries_the_limit_is_the_same_from_everywhere():
    turn = lambda v: np.arctan2(np.sqrt(np.sum(v**2)), 2.0) / np.sqrt(np.sum(v**2)) * v
    assert rg.stabilize(turn)(np.zeros(3)).tolist() == [0.0] * 3
    assert rg.jacobian(turn)(np.zeros(3)) == pytest.approx(np.eye(3) / 2)
    entries = lambda w: np.sum(w * (0.5 + 1 / (np.exp(w / 2.0) - 1)))
    assert rg.stabilize(entries)(np.zeros(3)) == pytest.approx(6.0, rel=1e-15)
    near = lambda x, y: np.sin(np.sqrt(np.sum((x - y) ** 2))) / np.sqrt(np.sum((x - y) ** 2))
    assert rg.stabilize(near)(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 1.0
    with np.errstate(all="ignore"):
        for f in (
            lambda v: v[0] * v[1] / np.sum(v**2),
            lambda v: 1 + v[0] ** 2 * v[1] / (v[0] ** 4 + v[1] ** 2),
            lambda v: 1 + v[0] * v[1] ** 2 / (v[0] ** 2 + v[1] ** 4),
            lambda v: 1 + v[0] ** 3 * v[1] / (v[0] ** 6 + v[1] ** 2),
            lambda v: (np.abs(v[0] * v[1]) - v[0] * v[1]) / np.sum(v**2),
            lambda v: v[0] * v[1] / np.sum(v**2) + np.sum(v),
            lambda v: np.sqrt(np.sum(v**2)) / np.sum(np.abs(v)),
        ):
            assert np.isnan(rg.stabilize(f)(np.zeros(2)))


def test_a_limit_that_one_of_several_results_has_is_found():
    """d/da log(cosh(a·s))/a is s²/2 at a = 0, where d/ds is 0."""
    f = lambda a, s: np.log(0.5 * np.exp(a * s) + 0.5 * np.exp(-a * s)) / a
    assert rg.grad(f, argnums=(0, 1))(0.0, 1.5) == pytest.approx((1.125, 0.0))


def test_what_moves_as_a_whole_moves_in_units_of_its_own_size():
    """√(Σ v²) is t·√(Σ e²) for v = t·e, though v² is no float."""
    f = lambda v, w: np.arccos(w / np.sqrt(w * w + np.sum(v * v)))
    v = np.array([3e-170, 4e-170])
    assert rg.stabilize(f)(v, 2.0) == pytest.approx(2.5e-170, rel=1e-14, abs=0)
    assert rg.grad(f)(v, 2.0) == pytest.approx(np.array([0.3, 0.4]), rel=1e-14)


def test_quotients_of_series_are_mostly_exact():
    """1/x is 1 + t + t² + … at x = 1 − t, so that arccosh(1/x) has a root there and none next to it."""
    f = lambda x: np.arccosh(1 / x) / np.sqrt(1 / x - 1)
    exact = lambda x: mpmath.acosh(1 / x) / mpmath.sqrt(1 / x - 1)
    agree(f, exact, [1 - 1e-9, 1 - 1e-4, 0.5])
    assert [rg.stabilize(f)(1.0), rg.grad(f)(1.0)] == pytest.approx([2**0.5, 2**0.5 / 12], rel=1e-14)


def test_what_is_compared_with_several_numbers_at_once_has_a_line_at_each():
    """Interpolation in barycentric form is 0/0 at each of its knots."""
    knots, weights = np.array([-1.0, 0.5, 2.0]), np.array([2 / 9, -4 / 9, 2 / 9])
    f = lambda x, y: np.sum(weights / (x - knots) * y) / np.sum(weights / (x - knots))
    y = 3 + knots * (knots - 5)
    value, slope = rg.stabilize(f), rg.grad(f)
    for x in (*knots, 0.5 + 1e-9, 0.5 - 2e-15, 1.25):
        assert [value(x, y), slope(x, y)] == pytest.approx([3 + x * (x - 5), 2 * x - 5], rel=2e-14), x


MASKED: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "where": (
        lambda x: np.where(x < 0, np.arctan(np.sqrt(-x)) / np.sqrt(-x), np.arctanh(np.sqrt(x)) / np.sqrt(x)),
        (1 / 3, 1 / 5),
    ),
    "maximum and minimum": (
        lambda x: np.where(
            x < 0,
            np.sinh(np.sqrt(-np.minimum(x, 0.0))) / np.sqrt(np.abs(x)),
            np.sin(np.sqrt(np.maximum(x, 0.0))) / np.sqrt(np.abs(x)),
        ),
        (-1 / 6, 1 / 120),
    ),
}


@pytest.mark.parametrize("name", MASKED)
def test_what_a_mask_leaves_out_needs_no_series(name: str):
    """Of where(x < 0, f(−x), g(x)) one branch has no value on either side of 0, and its cotangent is 0."""
    f, (a, b) = MASKED[name]
    value, slope = rg.stabilize(f), rg.grad(f)
    for x in (1e-12, -1e-12, 1e-6, -1e-6):
        assert [value(x), slope(x)] == pytest.approx([1 + a * x + b * x * x, a + 2 * b * x], rel=1e-14), x
    assert value(0.0) == 1.0


def test_a_line_is_looked_at_where_the_logarithm_of_a_mixture_hides_what_cancels():
    f = lambda x: np.log(1 - np.exp(-x) * (1 + x + x * x / 2))
    agree(f, lambda x: mpmath.log(1 - mpmath.exp(-x) * (1 + x + x * x / 2)), [0.5, 1e-5, 1e-60])


def lagrange(m: Any, a: Any, b: Any, c: Any, t: Any) -> Any:
    parts = ((a, b, c), (b, c, a), (c, a, b))
    return sum(m.sin(x) * (t - y) * (t - z) / ((x - y) * (x - z)) for x, y, z in parts)


CLUSTERS: dict[str, Callable[..., Any]] = {
    "a chain of decays": lambda m, a, b, c, t: (
        a * b * sum(m.exp(-x * t) / ((y - x) * (z - x)) for x, y, z in ((a, b, c), (b, c, a), (c, a, b)))
    ),
    "a second divided difference": lambda m, a, b, c, t: (
        t
        * ((m.log(1 + c * c) - m.log(1 + b * b)) / (c - b) - (m.log(1 + b * b) - m.log(1 + a * a)) / (b - a))
        / (c - a)
    ),
    "interpolation": lagrange,
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CLUSTERS)
def test_arguments_that_come_near_one_another_all_at_once(name: str):
    f = CLUSTERS[name]
    value = rg.stabilize(lambda *x: f(np, *x))
    slope = rg.grad(lambda *x: f(np, *x), argnums=(0, 1, 2, 3))
    for args in (
        (1.0, 1.0 + 1e-9, 1.0 + 3e-9, 0.7),
        (0.5, 0.5 - 1e-6, 0.5 + 1e-12, 0.7),
        (1.0, 1.001, 0.998, 0.7),
        (1.0, 2.5, 0.8, 0.7),
        (1.0, 1.0, 1.0 + 1e-9, 0.7),  # two have met
        (0.5, 0.5 - 1e-5, 0.5, 0.7),
    ):
        with mpmath.workdps(150):
            at = [
                mpmath.mpf(x) + mpmath.mpf(10) ** -40 * i * (len(set(args)) < 4) for i, x in enumerate(args)
            ]
            orders = [tuple(int(i == k) for i in range(4)) for k in range(4)]
            want = [f(mpmath, *at)]
            want += [mpmath.diff(lambda *x: f(mpmath, *x), at, n, h=mpmath.mpf(10) ** -60) for n in orders]
            for got, exact in zip((value(*args), *slope(*args)), want, strict=True):
                assert abs(got - exact) <= (4e-14 if len(set(args)) == 4 else 1e-10) * abs(exact), (
                    args,
                    got,
                    exact,
                )


def test_where_two_arguments_meet_and_a_third_is_near():
    """Written, it is 0/0 all along the line; rewritten, it is none."""
    f = rg.stabilize(lambda a, b, c: CLUSTERS["a second divided difference"](np, a, b, c, 1.0))
    for a, c in ((1.0, 1.0 + 1e-7), (0.5, 0.5 - 1e-9), (2.0, 2.0 + 2.0**-20)):
        d = c - a  # f[a, a, c] = f″/2 + f‴·d/6
        u = 1 + a * a
        second, third = (2 - 2 * a * a) / u**2, (4 * a**3 - 12 * a) / u**3
        assert f(a, a, c) == pytest.approx(second / 2 + third * d / 6, abs=2 * d * d + 1e-15), (a, c)


def test_nothing_is_divided_by_nothing_along_a_line():
    x, y = (term(Input(name, array_type(np.float64))) for name in "xy")
    same = (
        polynomial((np.float64(1.0), 0.0), (np.float64(0.5), 0.0)),
        polynomial((np.float64(1.0), 0.0), (np.float64(0.5), 0.0)),
    )
    path = Path({x: same[0], y: same[1]}, 6)
    u, v = Tracer(x), Tracer(y)
    assert path(as_term(np.exp(u) - np.exp(v))).at(3) is None
    with pytest.raises(NoSeries):
        path(as_term((np.exp(u) - np.exp(v)) / (u - v)))


def test_a_sign_of_what_nothing_is_known_of_is_undecided():
    """arccos(cos x) has no bound of its error at 0, where it is 0: it is not larger than 1 for that."""
    x = np.array([1e-3, 0.05, -0.06, 0.3, 1.2])
    angle = lambda x: (np.arccos(np.cos(x)) > 1.0) * 2 * np.arccos(np.cos(x))
    fun = lambda x: np.mod(angle(x) + np.pi, 2 * np.pi) - np.pi
    assert rg.stabilize(fun, validate=False)(x) == pytest.approx([0, 0, 0, 0, 2.4], rel=1e-12)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("modulus", [1.0, -2.0, 2 * np.pi])
@pytest.mark.parametrize("remainder", [np.mod, np.fmod])
def test_remainders_are_series_between_their_jumps(
    remainder: Callable[..., Any], modulus: float, strategy: str
):
    """−δ mod 1 = 1 − δ, though 0 mod 1 = 0; and δ + 0.99 mod 1 jumps where δ is small, but not that small."""
    x = np.array([1e-9, -1e-9, 1e-300, -1e-5, 0.3, -0.3, 0.0, 3.0])
    for sign in (1, -1):
        fun = lambda x, sign=sign: remainder(sign * x, modulus)
        assert np.array_equal(rg.stabilize(fun, strategy=strategy)(x), fun(x))
        beside = lambda x, sign=sign: np.sin(remainder(x + sign * 0.99, 1.0) - sign * 0.99) / (x + 2)
        with np.errstate(all="ignore"):
            found = rg.stabilize(beside, strategy=strategy)(x + 0.0123)
        assert found == pytest.approx(beside(x + 0.0123), rel=1e-12)
    angle = rg.stabilize(lambda x: np.sin((x + np.pi) % (2 * np.pi) - np.pi) / x, strategy=strategy)
    assert angle(0.0) == 1.0


@pytest.mark.parametrize("scale", [1e12, 1e15, 1e20, 1e30])
@pytest.mark.parametrize("precise", [True, False])
def test_what_is_left_beside_the_rounding_of_huge_numbers_does_not_vanish(scale, precise):
    """s − c·(2 − 2m) is s at m = 1, though c·(2 − 2m) is known to no better than that nearby."""
    f = lambda s, m: np.maximum(s - scale * (2 - 2 * m), 0) ** 2
    s, m = np.array([3.0, 5.0, 2.0]), np.array([1.0, 0.0, 1.0])
    np.testing.assert_array_equal(rg.stabilize(f, precise=precise)(s, m), f(s, m))
    slope = rg.grad(lambda s, m: np.sum(f(s, m)), precise=precise)
    np.testing.assert_array_equal(slope(s, m), 2 * np.maximum(s - scale * (2 - 2 * m), 0))


def test_terms_that_underflow_are_no_series_where_the_distance_makes_numbers_of_them():
    """p·r/(1 − (1 + r)^−n) is p·r for huge r and n, though n is so much larger that r seems near 0."""
    payment = rg.stabilize(lambda p, r, n: p * r / (1 - (1 + r) ** -n))
    assert payment(1e-45, 6e187, 4e306) == 1e-45 * 6e187
    np.testing.assert_allclose(payment(1e-45, 1e-20, 30.0), 1e-45 / 30, rtol=1e-15)


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (lambda x: np.cosh(np.exp(2 * np.arctan2(x, x))), (np.array([0.5, 0.06, -1e-3, -0.5]),)),
        (
            lambda x: np.exp(np.arctan2(x, np.expm1(x))) * np.expm1(x) / x,
            (np.array([0.5, 1e-9, -1e-9, -0.5]),),
        ),
        (lambda x, y: np.exp(2 * np.arctan2(x - y, x - y)), (np.array([1.5, 0.999]), 1.0)),
        (lambda x: np.exp(np.arctan2(x, -1.0)) * np.expm1(x) / x, (np.array([0.02, -0.02]),)),
    ],
)
def test_an_op_has_no_series_where_it_jumps(fun, args):
    """arctan2(t, t) is π/4 for t > 0 and −3π/4 for t < 0: what it is at t = 0 says nothing of either."""
    for strategy in ("default", "eager"):
        f = rg.stabilize(fun, strategy=strategy, validate=False)
        np.testing.assert_allclose(f(*args), fun(*args), rtol=1e-13)


def test_slopes_of_divided_differences_are_right_where_two_nodes_have_met():
    def second_difference(x):
        a, b = np.where(x[0] == x[1], 1.0, x[1] - x[0]), x[2] - x[1]
        first = np.where(x[0] == x[1], np.exp(x[0]), (np.exp(x[1]) - np.exp(x[0])) / a)
        return ((np.exp(x[2]) - np.exp(x[1])) / b - first) / (x[2] - x[0])

    slope = rg.grad(second_difference)(np.array([0.5, 0.5, 0.5 + 1e-9]))
    np.testing.assert_allclose(slope, math.exp(0.5) / 6, rtol=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("g", [np.arcsinh, lambda x: x - 3, lambda x: np.log(x - 5), lambda x: 1 / (7 - x)])
def test_power_means_become_geometric_means_whatever_their_domains(g):
    """(mean gᵃ)^(1/a) → e^(mean log g) as a → 0, though it may be near 1 where arguments are drawn, or NaN there."""

    def mean(x, a):
        return np.mean(g(x) ** a) ** (1 / a)

    x = np.array([6.3, 6.7, 6.1])
    value, slope = rg.value_and_grad(mean)(x, 0.0)
    geometric = np.exp(np.mean(np.log(g(x))))
    np.testing.assert_allclose(value, geometric, rtol=1e-14)
    np.testing.assert_allclose(slope, geometric / 3 * rg.grad(lambda x: np.sum(np.log(g(x))))(x), rtol=1e-12)
    np.testing.assert_allclose(rg.stabilize(mean)(x, 1e-9), geometric, rtol=1e-8)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize(
    "g",
    [
        np.prod,
        lambda x: np.prod(1 / (2 * x)),
        lambda x: np.prod(np.outer(x, 1 + x)[:, :2], axis=(0, 1)),
        lambda x: np.sum(np.cumprod(np.sin(x))),
        lambda x: np.linalg.det(np.outer(x, x**2) + np.diag(np.exp(x))),
    ],
)
def test_second_differences_of_products_and_determinants_are_second_derivatives_at_no_distance(g, precise):
    def second(x, h):
        return (g(x + h) - 2 * g(x) + g(x - h)) / h**2

    x = np.array([1.98, 1.71, 1.67])
    truth = np.sum(rg.hessian(g)(x))
    for h in (0.0, 1e-9):
        np.testing.assert_allclose(rg.stabilize(second, precise=precise)(x, h), truth, rtol=1e-13)


def test_small_directions_do_not_say_that_what_they_multiply_is_large():
    """The product of a Hessian with u is linear in u: x is near 0 however small u is."""
    g = rg.grad(lambda x: (np.log(1 + x) - x) / x**2)
    product = rg.grad(lambda x, u: g(x) * u)
    np.testing.assert_allclose(product(1e-9, 1e-12), -0.5e-12, rtol=1e-8)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("a", "looked"), [(1.02, False), (1 + 1e-6, False), (1 + 2.0**-52, False), (1.0, True)]
)
def test_no_series_is_made_where_enough_digits_know_the_last_one(monkeypatch, a, looked):
    looks = []
    near_line = line.near_line

    def counting(*args: Any) -> Any:
        looks.append(args)
        return near_line(*args)

    f = rg.stabilize(lambda p, a: np.log(np.sum((p / np.sum(p)) ** a)) / (1 - a))
    p = np.array([0.2, 0.3, 0.5])
    f(p, 2.0)
    monkeypatch.setattr(line, "near_line", counting)
    with mpmath.workdps(60):
        q = [mpmath.mpf(x) / sum(map(mpmath.mpf, p.tolist())) for x in p.tolist()]
        want = mpmath.log(sum(x ** mpmath.mpf(a) for x in q)) / (1 - mpmath.mpf(a)) if a != 1 else None
        want = want or -sum(x * mpmath.log(x) for x in q)
        assert f(p, a) == pytest.approx(float(want), rel=4e-16)
    assert bool(looks) is looked


def test_what_is_undefined_where_arguments_meet_is_not_known_there():
    f = rg.stabilize(lambda x, y: (np.exp(x) - np.exp(y)) / (x - y) - np.exp(y))
    x = np.array([1.0, 1.0, 2.0])
    y = np.array([1.0, 1.0 + 1e-13, 2.1])
    with mpmath.workdps(60):
        gaps = [mpmath.mpf(a) - mpmath.mpf(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        want = [
            float(mpmath.exp(b) * (mpmath.expm1(d) / d - 1)) if d else 0.0
            for d, b in zip(gaps, y.tolist(), strict=True)
        ]
    np.testing.assert_allclose(f(x, y), want, rtol=1e-15)


def test_where_one_result_is_noisy_near_a_line_others_may_be_undefined_on_it():
    """y = −log(1 − k·x)/k is x at k = 0; near it y′ loses digits, and y, as log1p(−k·x)/−k, does not."""
    f = lambda x, k: np.sum((1 - k) * -np.log(1 - k * x) / k)
    x = np.array([0.5, -1.25, 2.0])
    value, (to_x, to_k) = rg.value_and_grad(f, argnums=(0, 1))(x, 0.0)
    assert value == pytest.approx(np.sum(x), rel=1e-14)
    assert to_x == pytest.approx(np.ones(3), rel=1e-14)
    assert to_k == pytest.approx(np.sum(x * x / 2 - x), rel=1e-14)


def test_results_without_what_cancels_are_not_looked_at_along_a_line():
    y = lambda x, k: (np.exp(-np.log(1 - k * x) / k) - np.exp(x)) / (2 - x)
    f = lambda x, k: [y(x, k), *[np.cosh(k * x + i) for i in range(8)]]
    assert rg.stabilize(f)(0.5, 1e-9)[0] == pytest.approx(np.exp(0.5) * 0.125e-9 / 1.5, rel=1e-8)
    x, k = (term(Input(name, array_type(np.float64))) for name in "xk")
    roots = [as_term(r) for r in f(Tracer(x), Tracer(k))]
    (to_zero,) = [
        there for there in along.lines(list(subterms(*roots))) if there.leaves == {k} and not there.is_endless
    ]
    assert along._Trials(roots, list(subterms(*roots))).suspects(to_zero) == {roots[0]}


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize(
    "feature",
    [
        lambda u: 0.01 * np.exp(-(u**2)),
        lambda u: 0.001 * np.tanh(u),
        lambda u: 0.01 * np.exp(-np.abs(u)),
        lambda u: 0.01 / (1 + u**2),
        lambda u: 0.01 * np.sin(u),
    ],
)
def test_a_series_knows_nothing_of_narrow_features_beside_the_line(feature, precise):
    """(x − y)/log(x/y) + h((x − c)/w), where h and all its derivatives vanish at x = y, but for rounding."""
    for centre, width in (
        (1.5017804989089725, 4.1339004721135583e-05),
        (1.450000000000001, 2.000000000000003e-3),
    ):
        f = lambda x, y: (x - y) / np.log(x / y) + feature((x - centre) / width)  # noqa: B023
        plain, stable = f(centre, 1.5), rg.stabilize(f, precise=precise)(centre, 1.5)
        assert stable == pytest.approx(plain, rel=1e-9)


def test_gradients_by_entries_see_narrow_features():
    """∇(Σ (p − q)/log(p/q) + h(p₀ − q₀)), where the series of the mean says nothing of h."""
    q = np.array([1.25, 0.75, 1.5])
    p = q + np.array([1.3e-6, 2.1e-6, -0.7e-6])
    centre, width = float((p - q)[0]) * 1.01, 5.123456789012345e-8
    f = lambda p, q: np.sum((p - q) / np.log(p / q)) + np.exp(-((((p - q)[0] - centre) / width) ** 2))
    u = ((p - q)[0] - centre) / width
    expected = 0.5 - 2 * u * np.exp(-(u**2)) / width
    assert rg.grad(f)(p, q)[0] == pytest.approx(expected, rel=1e-7)


def test_constants_of_float32_are_rounded_to_it_beside_a_line():
    """(Σ w·xᵉ)^(1/e)/x at e = 0, where the log of 1.7 that a rule brings leaves a pole of its rounding."""

    def ces(rho, beta):
        e = 1 - rho
        return ((1 - beta) * 2.0**e + beta * 1.7**e) ** (1 / e)

    got = rg.grad(ces)(np.float32(1), np.float32(0.5))
    assert got == pytest.approx(rg.grad(ces)(1.0, 0.5), rel=1e-5)


def test_an_entry_that_stays_is_put_among_others():
    """Rodrigues' formula, of which the gradient puts single numbers into vectors, along w = 0."""

    def turned(w, v):
        angle = np.sqrt(w @ w)
        wv = np.cross(w, v)
        return (
            v + (1 - np.cos(angle)) / angle**2 * wv + (angle - np.sin(angle)) / angle**3 * np.cross(w, wv)
        )[0]

    w = np.array([1e-3, 2e-3, 1e-3])
    got = rg.grad(turned)(w, np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(got[1:], -w[1:] / 3, rtol=1e-5)


def test_a_remainder_has_no_series_and_what_is_written_has_one():
    """∂/∂x (g(x + h) + g(x − h) − 2·g(x))/h² = g‴(x) + O(h²), though no derivative is taken of Taylor's remainders."""
    g = lambda x: np.expm1(x) * np.sqrt(1 + x**2)
    f = lambda x, h: (g(x + h) + g(x - h) - 2 * g(x)) / h**2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_x, to_h = rg.grad(f, argnums=(0, 1), precise=False)(1.0728266765273655, 0.00012433340488081693)
    assert to_x == pytest.approx(12.571653881401862, rel=1e-14)
    assert to_h == pytest.approx(0.00029593473958211644, rel=1e-12)


@pytest.mark.parametrize("precise", [True, False])
def test_near_entries_have_a_series_whatever_far_ones_meet_on_the_way(precise):
    """log(1 + θ) − (2 + 1/θ)·log(u^−θ + v^−θ − 1) near θ = 0, beside entries of which the powers leave the range."""
    f = lambda u, v, t: np.log((1 + t) * (u * v) ** (-t - 1) * (u**-t + v**-t - 1) ** (-2 - 1 / t))
    slope = rg.grad(lambda u, v, t: np.sum(f(u, v, t)), argnums=2, precise=precise)
    far = slope(*np.array([[1e-200, 0.3], [1e-180, 0.6], [1.5, 1e-9]]))
    alone = slope(*np.array([[0.3], [0.6], [1e-9]]))
    assert far[1] == alone[0]


def test_a_guard_of_the_line_is_no_choice_beside_it():
    """(sin(a + h·b) − sin a)/b, guarded where |b| is tiny, as of a vehicle that drives nearly straight."""

    def f(a, b):
        straight = np.abs(b) < 1e-12
        return np.where(straight, 0.1 * np.cos(a), (np.sin(a + 0.1 * b) - np.sin(a)) / b)

    slope = rg.grad(f, argnums=1, precise=False)
    assert slope(0.5, 1e-9) == pytest.approx(-0.005 * np.sin(0.5), rel=1e-9)
    assert slope(0.5, 1e-13) == 0
    assert slope(0.5, 1.0) == pytest.approx(0.1 * np.cos(0.6) - (np.sin(0.6) - np.sin(0.5)), rel=1e-13)
    both = rg.grad(lambda a, b: np.sum(f(a, b)), argnums=1, precise=False)
    np.testing.assert_allclose(
        both(np.full(3, 0.5), np.array([1e-13, 1e-9, 1.0])),
        [slope(0.5, b) for b in (1e-13, 1e-9, 1.0)],
        rtol=1e-12,
    )


def test_a_choice_between_constants_has_no_series_beside_it():
    """The slope of max(u) is constant beside a tie: a choice of few entries, also where the slope has other axes."""
    w = np.array([[0.1, 0.9, -0.4], [1.1, 0.3, -0.8]])

    def f(x):
        largest, *rest = np.sin(w) @ x
        for u in rest:
            largest = np.maximum(largest, u)
        return largest

    slope = rg.grad(f)
    np.testing.assert_array_equal(slope(np.array([1.0, 0.5, 2.0])), np.sin(w[0]))
    assert "along_line" not in slope.source(np.ones(3))


@pytest.mark.parametrize("x", [-1e-200, -1e-16, 0.0])
def test_what_is_infinite_beside_a_line_does_not_vanish_there(x: float) -> None:
    """log 0 = −∞ ± ∞ is no coefficient that vanishes but for rounding."""
    f = rg.stabilize(lambda y: np.log(np.sum(np.where(y > 0, np.exp(y), 0), axis=-1)))
    np.testing.assert_array_equal(f(np.array([[1.0], [x]])), [1.0, -np.inf])


@pytest.mark.parametrize(
    ("x", "y"), [(1e-30, 1e20), (1e-160, 1e170), (1e-300, 1e200), (1e-10, 1e300), (0.0, 2.0)]
)
def test_what_underflows_in_a_series_is_not_taken_for_zero(x: float, y: float) -> None:
    """The slope of 1/(y/x + x) is 1/y near x = 0, though it is made of 1/y²."""
    np.testing.assert_allclose(rg.grad(lambda x, y: 1 / (y / x + x))(x, y), 1 / y, rtol=1e-14)


def test_a_slope_is_paid_for_before_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slope of a formula is a few times as long as the one before: the last one took ten seconds."""
    x = argument()
    body = as_term((1 - np.cos(Tracer(x))) / Tracer(x) ** 2)
    cost = STEEP * sum(1 for _ in subterms(body))
    computed, seen = Slope._compute, list[Slope]()

    def noted(self: Slope, at: Any) -> Any:
        seen.append(self)
        return computed(self, at)

    monkeypatch.setattr(Slope, "_compute", noted)
    for budget in (cost - 1, cost):
        assert not seen
        with bounded(budget), pytest.raises(NoSeries, match="too many steps"):
            path_of(lambda z: Slope(body, x)(z), X, 0.5, 1.0)
    assert seen


def test_lines_of_many_entries_are_looked_for_with_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine entries meet in 210 ways by threes and fours: a soft alignment of two series, 20 cells of smooth minima."""

    def aligned(a, b):
        cost = np.full((len(a) + 1, len(b) + 1), 1e10)
        cost[0, 0] = 0.0
        for i in range(len(a)):
            for j in range(len(b)):
                near = -np.array([cost[i, j + 1], cost[i + 1, j], cost[i, j]])
                cost[i + 1, j + 1] = (a[i] - b[j]) ** 2 - np.log(np.sum(np.exp(near)))
        return cost[-1, -1]

    count = 0
    value_of = along.value_of

    def counting(*args, **kwargs):
        nonlocal count
        count += 1
        return value_of(*args, **kwargs)

    monkeypatch.setattr(along, "value_of", counting)
    a, b = np.array([0.3, -1.0, 0.7, 2.0]), np.array([0.1, 0.4, -0.2, 1.0, 2.5])
    assert rg.stabilize(aligned)(a, b) == pytest.approx(aligned(a, b), rel=1e-13)
    assert count < 2 * (along.EVALUATIONS + along.MORE_EVALUATIONS)


@pytest.mark.filterwarnings("error::relgrad.errors.FailedRelation")
def test_places_that_are_computed_are_integers_along_a_line() -> None:
    """i − 1 is computed in reals there, and takes an entry all the same."""

    def f(x, y):
        v = np.tanh(y)
        v = np.array([v[0], 0.5 * v[0] + v[1], 0.25 * v[0] + 0.5 * v[1] + v[2]])
        i = np.argmax(v)
        return np.sum(x * v) + (v[i] - x[i - 1]) * y.sum()

    x, y = np.array([-1.1, -0.5, 1.1]), np.array([-0.7, 0.9, 2.0])
    slope, h = rg.grad(f, 1), 1e-6
    want = (slope(x + h * x, y + h * y) - slope(x - h * x, y - h * y)) / (2 * h)
    np.testing.assert_allclose(rg.pushforward(slope)((x, y), (x, y))[1], want, rtol=1e-6)


@pytest.mark.parametrize("x", [3.0, 20.0, 1e3, 1e8])
def test_what_has_a_series_at_infinity_as_rewritten_only(x):
    """e^(−x²)/erfc(x) − √π·x, of which neither part has a series at ∞: 1/erfcx(x) has."""
    f = rg.stabilize(lambda x: np.exp(-(x**2)) / sp.erfc(x) - np.sqrt(np.pi) * x, precise=False)
    with mpmath.workdps(50):
        u = mpmath.mpf(x)
        near = mpmath.exp(-u * u) / mpmath.erfc(u) - mpmath.sqrt(mpmath.pi) * u if x < 1e5 else 0
        far = mpmath.sqrt(mpmath.pi) / 2 / u
        np.testing.assert_allclose(f(x), float(near or far), rtol=4e-15)


@pytest.mark.parametrize("degree", [1, 2])
def test_programs_that_raise_beside_a_line_are_none_along_it(degree: int) -> None:
    x = np.array([0.3, -0.5, 1.2, 0.7])

    def f(x: Any) -> Any:
        share = x**2 / np.sum(x**2)
        return np.polyfit(share / (1 + share**2), x, degree)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error", rg.errors.FailedRelation)
        got = rg.grad(f)(x)
    np.testing.assert_allclose(got, rg.grad(f, strategy="naive")(x), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 3.0])
def test_what_is_small_is_near_beside_a_number_in_the_program(scale, ratio):
    """∂/∂a (e⁻ᵃ − e⁻ᵇ)/(b − a), of rates that are small beside the time, however they are beside each other."""

    def f(a, b, t):
        return (np.exp(-a * t) - np.exp(-b * t)) / (b - a)

    a, b = ratio * scale, scale
    with mpmath.workdps(60):
        truth = mpmath.diff(lambda x: (mpmath.exp(-x) - mpmath.exp(-b)) / (b - x), mpmath.mpf(a))
    assert rg.grad(f, precise=False)(a, b, 1.0) == pytest.approx(float(truth), rel=1e-14, abs=0)


@pytest.mark.parametrize("other", [np.nan, np.inf, -1.5, 0.0, 1e-12])
def test_entries_on_a_line_have_their_limits_whatever_stands_beside_them(other):
    f = rg.stabilize(lambda x, y: (x - y) / np.log(x / y) - np.sqrt(x * y))
    slope = rg.grad(lambda x, y: np.sum((x**y - y**x) / (x - y)))
    x, y = np.array([1.5, 2.5]), np.array([1.5, other])
    with np.errstate(all="ignore"):
        assert f(x, y)[0] == 0.0
        near = np.array([1.7367232159279054, 2.5]), np.array([1.736723215928079, other])
        assert slope(*near)[0] == pytest.approx(slope(near[0][:1], near[1][:1])[0], rel=1e-13)


@pytest.mark.parametrize("x", [[-np.inf, -np.inf], [np.nan, 1.0]])
def test_what_is_no_number_is_near_nothing(x):
    """∂²/∂x² of a share where nothing is left of all: NaN, as written, though the share has a series near x = 0."""
    share = lambda x: np.sum(np.exp(x) / np.sum(np.exp(x)) * np.array([1.0, 0.0]))
    with np.errstate(all="ignore"):
        assert np.all(np.isnan(rg.hessian(share)(np.array(x))))


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (lambda a, x: np.where(a > 0, np.exp(-a * x) / (1 + a), np.nan), (0.3, 0.5)),
        (lambda a, x: np.tanh(1e3 * (a - x)) + a, (0.3, 0.5)),
    ],
    ids=["undefined by choice", "steep"],
)
def test_no_series_is_looked_for_where_floats_keep_all_digits(
    fun: Callable[..., Any], args: Sequence[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = list[line.Line]()
    first = along._first
    monkeypatch.setattr(
        along, "_first", lambda t, x, to, *more: looked_at.append(to) or first(t, x, to, *more)
    )
    np.testing.assert_allclose(rg.stabilize(fun)(*args), fun(*args), rtol=1e-14)
    assert all(to.is_endless for to in looked_at)


@pytest.mark.parametrize("y", [-0.02, -1e-3, 1e-5, -1e-200])
def test_a_power_of_the_distance_is_no_series_on_the_line(y: float) -> None:
    """t^y = e^(y·log t) is 0 or ∞ at t = 0, and not what y·log t is a little beside it."""
    f = lambda x, y: np.cosh(np.abs(x * y) ** (x - y))
    for how in ({}, {"validate": False}):
        with np.errstate(all="ignore"):
            assert rg.stabilize(f, **how)(0.0, y) == f(np.float64(0.0), np.float64(y))


def test_what_has_no_bound_on_a_line_does_not_vanish_there() -> None:
    """√(f² + g²) → |g| where f → 0 as 1/log t does: its leading term is not 0 but for rounding, but unknown."""

    def f(x: Any, y: Any) -> Any:
        u = y * np.log(np.abs(y / (x - y)))
        return np.sqrt(((np.exp(u) - 1) / u) ** 2 + np.expm1(-np.hypot(x - y, x * y)) ** 2)

    x = np.float64(-2.71e-8)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(rg.stabilize(f)(x, x), f(x, x), rtol=1e-12)
