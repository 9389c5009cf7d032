"""One program at two near points: values, quotients, gradients and second differences, against high precision."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

import relgrad as rg
from relgrad import ops
from relgrad.calculus.change import Change
from relgrad.calculus.increment import _Over, _with_slope, incremented
from relgrad.calculus.remainder import remaindered
from relgrad.interpret import interpret
from relgrad.kernels import exprel_n
from relgrad.op import as_term
from relgrad.ops.arithmetic import multiply
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.increments import Difference, MeanSlope, difference_of
from relgrad.ops.reduction import Sum
from relgrad.ops.scan import CumSum
from relgrad.ops.structure import BroadcastTo, Expand, Squeeze
from relgrad.term import subterms, term

ULP = 2.0**-53
TINY = 1e-300
PLAIN = SimpleNamespace(
    sin=np.sin, cos=np.cos, exp=np.exp, log=np.log, log2=np.log2, sqrt=np.sqrt, arcsin=np.arcsin, cosh=np.cosh,
    arctan=np.arctan, tanh=np.tanh, hypot=np.hypot, exp2=np.exp2, erf=scipy.special.erf,
    gammaln=scipy.special.gammaln, expit=scipy.special.expit,
)  # fmt: skip
EXACT = SimpleNamespace(
    sin=mp.sin, cos=mp.cos, exp=mp.exp, log=mp.log, log2=lambda x: mp.log(x, 2), sqrt=mp.sqrt, arcsin=mp.asin,
    cosh=mp.cosh, arctan=mp.atan, tanh=mp.tanh, hypot=mp.hypot, exp2=lambda x: mp.mpf(2) ** x, erf=mp.erf,
    gammaln=mp.loggamma, expit=lambda x: 1 / (1 + mp.exp(-x)),
)  # fmt: skip
FUNCTIONS = {
    "arcsin": lambda m, x: m.arcsin(x),
    "erf": lambda m, x: m.erf(x),
    "gammaln": lambda m, x: m.gammaln(x),
    "log2": lambda m, x: m.log2(x),
    "2ˣ": lambda m, x: m.exp2(x),
    "x·eˣ": lambda m, x: x * m.exp(x),
    "xˣ": lambda m, x: x**x,
    "sin x/(2 + cos x)": lambda m, x: m.sin(x) / (2 + m.cos(x)),
    "exp(−x²)": lambda m, x: m.exp(-(x**2)),
    "√(1 + x²)": lambda m, x: m.sqrt(1 + x * x),
    "arctan eˣ": lambda m, x: m.arctan(m.exp(x)),
    "log cosh x": lambda m, x: m.log(m.cosh(x)),
    "length": lambda m, x: m.hypot(x, 2.0),
    "tanh³ x": lambda m, x: m.tanh(x) ** 3,
    "x·σ(x)": lambda m, x: x * m.expit(x),
}


@pytest.fixture(autouse=True, scope="module")
def precision():
    with mp.workdps(60):
        yield


def ulps(got, truth):
    return float(abs((mp.mpf(float(got)) - truth) / truth)) / ULP


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_near_does_not_cancel(name):
    f = FUNCTIONS[name]
    ours = lambda x: f(PLAIN, x)
    exact = lambda x: f(EXACT, mp.mpf(x))
    slope = lambda x: mp.diff(exact, x, h=mp.mpf(10) ** -25)
    step = rg.stabilize(lambda x, h: ours(x + h) - ours(x))
    grad = rg.grad(lambda x, h: ours(x + h) - ours(x), argnums=(0, 1))
    quotient = rg.stabilize(lambda x, h: (ours(x + h) - ours(x)) / h)
    second = rg.stabilize(lambda x, h: ours(x + h) - 2 * ours(x) + ours(x - h))
    for x in (0.3, 0.61):
        for h in (1e-3, -3e-9, 1e-11):
            z, k = mp.mpf(x) + mp.mpf(h), mp.mpf(h)
            assert ulps(step(x, h), exact(z) - exact(x)) < 32
            assert ulps(quotient(x, h), (exact(z) - exact(x)) / k) < 32
            assert ulps(second(x, h), exact(z) - 2 * exact(x) + exact(mp.mpf(x) - k)) < 64
            along_x, along_h = grad(x, h)
            assert ulps(along_x, slope(z) - slope(mp.mpf(x))) < 256
            assert ulps(along_h, slope(z)) < 32
        assert ulps(quotient(x, 0.0), slope(mp.mpf(x))) < 32


W = np.random.default_rng(0).normal(size=(3, 4))
PROGRAMS = {
    "log(1 + Σ eᵛ)": (lambda v: np.log(1 + np.sum(np.exp(v))), lambda v: mp.log1p(mp.fsum(map(mp.exp, v)))),
    "a share": (
        lambda v: (np.exp(v) / np.sum(np.exp(v)))[0],
        lambda v: mp.exp(v[0]) / mp.fsum(map(mp.exp, v)),
    ),
    "a length": (lambda v: np.linalg.norm(v), lambda v: mp.sqrt(mp.fsum(z * z for z in v))),
    "a product": (lambda v: np.prod(1 + v), lambda v: mp.fprod(1 + z for z in v)),
    "a network": (
        lambda v: np.sum(np.tanh(W @ np.sin(v))),
        lambda v: mp.fsum(mp.tanh(mp.fsum(a * mp.sin(z) for a, z in zip(row, v, strict=True))) for row in W),
    ),
    "branches": (
        lambda v: np.sum(np.where(v > 0, np.sin(v), v**3)),
        lambda v: mp.fsum(mp.sin(z) if z > 0 else z**3 for z in v),
    ),
    "parts": (
        lambda v: np.sum(np.concatenate([np.sin(v), np.exp(v)]) * np.arange(8.0)),
        lambda v: mp.fsum(k * z for k, z in enumerate([*map(mp.sin, v), *map(mp.exp, v)])),
    ),
    "a quadratic form": (
        lambda v: v @ (W.T @ W) @ v,
        lambda v: mp.fsum(mp.fsum(mp.mpf(a) * z for a, z in zip(row, v, strict=True)) ** 2 for row in W),
    ),
    "running sums": (
        lambda v: np.sum(np.sin(np.cumsum(v))),
        lambda v: mp.fsum(mp.sin(mp.fsum(v[: i + 1])) for i in range(4)),
    ),
    "neighbours": (
        lambda v: np.sum(9 * (v[1:] - v[:-1] ** 2) ** 2 + np.exp(1 - v)[1:] * v[:-1]),
        lambda v: mp.fsum(9 * (b - a**2) ** 2 + mp.exp(1 - b) * a for a, b in pairwise(v)),
    ),
    "entries": (
        lambda v: (v[0] * v[3] - v[1] * v[2]) * np.tanh(v - 2)[1] + np.log(3 + v)[2],
        lambda v: (v[0] * v[3] - v[1] * v[2]) * mp.tanh(v[1] - 2) + mp.log(3 + v[2]),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_arrays_do_not_cancel(name, precise):
    ours, exact = PROGRAMS[name]
    v, h = np.array([0.4, -0.2, 0.9, 0.1]), np.array([1e-10, 2e-12, -3e-9, 1e-13])
    x = [mp.mpf(a) + mp.mpf(b) for a, b in zip(v.tolist(), h.tolist(), strict=True)]
    truth = exact(x) - exact([mp.mpf(a) for a in v.tolist()])
    got = rg.stabilize(lambda v, h: ours(v + h) - ours(v), precise=precise)(v, h)
    assert abs(mp.mpf(float(got)) - truth) / abs(truth) < 1e-13
    far = np.array([1.5, -0.7, 0.4, 2.0])
    got = rg.stabilize(lambda v, h: ours(v + h) - ours(v), precise=precise)(v, far)
    np.testing.assert_allclose(got, ours(v + far) - ours(v), rtol=1e-13)


OF_QUOTIENTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "f(x)/f(y) - 1": (lambda f, v, h: f(v + h) / f(v) - 1, lambda x, y: x / y - 1),
    "2 - 2·f(x)/f(y)": (lambda f, v, h: 2 - 2 * f(v + h) / f(v), lambda x, y: 2 - 2 * x / y),
    "(f(x) - f(y))/f(y)": (lambda f, v, h: (f(v + h) - f(v)) / f(v), lambda x, y: x / y - 1),
    "log(f(x)/f(y))": (lambda f, v, h: np.log(f(v + h) / f(v)), lambda x, y: mp.log(x / y)),
}
FACTORED = {
    "a product": PROGRAMS["a product"],
    "a product of sines": (lambda v: np.prod(2 + np.sin(v)), lambda v: mp.fprod(2 + mp.sin(z) for z in v)),
    "odds": (lambda v: np.prod(1 + np.exp(v)), lambda v: mp.fprod(1 + mp.exp(z) for z in v)),
    "pairs": (
        lambda v: np.sum(np.exp(v[:, None] * v)),
        lambda v: mp.fsum(mp.exp(y * z) for y in v for z in v),
    ),
    "a network": (lambda v: 9 + PROGRAMS["a network"][0](v), lambda v: 9 + PROGRAMS["a network"][1](v)),
    "distances": (
        lambda v: np.sum((v[:, None] - v) ** 2),
        lambda v: mp.fsum((y - z) ** 2 for y in v for z in v),
    ),
    "running products": (
        lambda v: np.cumprod(2 + np.floor(3 * v) * v)[-1],
        lambda v: mp.fprod(2 + mp.floor(3 * z) * z for z in v),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", OF_QUOTIENTS)
@pytest.mark.parametrize("name", FACTORED)
def test_quotients_of_programs_do_not_cancel_near_one(name, form):
    (ours, exact), (written, truth) = FACTORED[name], OF_QUOTIENTS[form]
    v, h = np.array([0.4, -0.2, 0.9, 0.1]), np.array([1e-10, 2e-12, -3e-9, 1e-13])
    x = [mp.mpf(a) + mp.mpf(b) for a, b in zip(v.tolist(), h.tolist(), strict=True)]
    want = truth(exact(x), exact([mp.mpf(a) for a in v.tolist()]))
    for precise in (True, False):
        got = rg.stabilize(lambda v, h: written(ours, v, h), precise=precise)(v, h)
        assert abs(mp.mpf(float(got)) - want) / abs(want) < 1e-13


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [4, 60, 400])
def test_changes_of_products_out_of_range_come_back(n):
    """Of n factors with the product 1e-1200 floats see nothing; a change of 0 would be no news, but a wrong answer."""
    x = np.full(n, 10.0 ** (-1200 / n))
    y, want = 1.001 * x, 1.001**-n - 1
    for f in (
        lambda x, y: (np.prod(x) - np.prod(y)) / np.prod(y),
        lambda x, y: np.prod(x) / np.prod(y) - 1,
        lambda x, y: np.expm1(np.log(np.abs(np.prod(x))) - np.log(np.abs(np.prod(y)))),
        lambda x, y: np.expm1(np.log(np.prod(x) / np.prod(y))),
    ):
        assert rg.stabilize(f)(x, y) == pytest.approx(want, rel=1e-12)


def test_the_second_derivative_of_the_log_of_a_product_out_of_range():
    slope = rg.grad(lambda x, y: np.log(np.prod(x) / np.prod(y)))
    x, y = np.array([1e-150, 2e-250, 3.0]), np.array([3e-200, 1e-200, 0.5])
    twice = rg.grad(lambda x, y: np.sum(slope(x, y) * np.array([1e-160, 0.0, 1.0])))
    np.testing.assert_allclose(twice(x, y), [-1e140, -0.0, -1 / 9], rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sin(2 * x) - np.arcsin(x),
        lambda x, y: np.arcsin(1 - x) - np.arcsin(x),
        lambda x, y: np.arcsin(2 * x) - np.arcsin(x),
        lambda x, y: np.arcsin(x) + np.arcsin(x + y),
    ],
)
def test_what_is_not_near_stays(f):
    t = f(rg.symbol("x"), rg.symbol("y")).term
    assert incremented(t) is None and remaindered(t) is None


def test_parts_that_cancel_are_not_added():
    f = lambda x, y: x * np.arctan(y) - y * np.arctan(x)
    assert incremented(f(rg.symbol("x"), rg.symbol("y")).term) is not None
    x, y = np.array([1e-10, 1.0, 1.0 + 2**-30]), np.array([1.0, 3.0, 1.0])
    truth = [
        mp.mpf(a) * mp.atan(b) - mp.mpf(b) * mp.atan(a) for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    for got, exact in zip(rg.stabilize(f)(x, y), truth, strict=True):
        assert ulps(got, exact) < 8


def test_a_function_that_a_library_rounds_often_does_not_cancel():
    """betaln(3e10, 7e10) is off by 16 roundings."""
    f = lambda a, b: betaln(a + 4, b + 6) - betaln(a, b)
    exact = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    a, b = 3e10, 7e10
    truth = exact(mp.mpf(a) + 4, mp.mpf(b) + 6) - exact(mp.mpf(a), mp.mpf(b))
    assert ulps(rg.stabilize(f, precise=False)(a, b), truth) < 32


SMOOTH = sorted(
    (
        op
        for op in {x for x in vars(ops).values() if isinstance(x, Elementwise)}
        if op.arity == 1 and op.undefined is None and op.rules[0] is not None and op.dtype is None
    ),
    key=str,
)


NEARLY = [
    (y, side * d)
    for y in (1e-3, 0.4, 1.25, 3.0, 17.0, -0.3, -1.25, -6.0)
    for d in 2.0 ** -np.array([3.0, 13.0, 30.0, 48.0])
    for side in (1, -1)
]
OF_TWO_POINTS: dict[str, Callable[[], tuple[Any, Any]]] = {
    op.label: partial(lambda op: (op, op), op)
    for op in vars(ops).values()
    if isinstance(op, Elementwise) and op.distance and op.scalar_ball
} | {
    f"{make.__name__} {of}": partial(lambda make, of: (make(_with_slope(of)), make(of)), make, of)
    for of in vars(ops).values()
    if isinstance(of, Elementwise) and of.distance is None and of.rules[0] is not None and of.arity <= 2
    if of.scalar_ball is not None
    for make in (Difference, difference_of, MeanSlope)
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(OF_TWO_POINTS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ops_of_two_points_are_accurate_where_these_nearly_meet(name):
    """f(x) − f(y), told x − y, and its quotient by that, of points that differ by 2⁻³ to 2⁻⁴⁸ of their size."""
    op, plain = OF_TWO_POINTS[name]()
    if op is None:
        return
    ball, places = plain.scalar_ball, op.distance
    at_d = places[2]
    for y, distance in NEARLY:
        operands = np.full(op.arity, 0.5)
        x = y + distance * max(1.0, abs(y))
        operands[[*places]] = x, y, x - y
        moved = operands * (1 + 2.0**-52)
        moved[at_d] = x - y
        with flint.ctx.workprec(400):
            exact, beside = (ball(*map(flint.arb, map(float, p))) for p in (operands, moved))
            if not exact.is_finite() or not beside.is_finite() or not abs(exact) > TINY:
                continue
            off, moves = (
                float(abs(v / exact - 1)) for v in (flint.arb(float(op.compute(*operands))), beside)
            )
        assert off <= 2.0**-46 + 16 * moves, (operands, float(op.compute(*operands)), float(exact))


@pytest.mark.parametrize("op", SMOOTH, ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_difference_is_the_plain_one_but_for_rounding(op):
    rng = np.random.default_rng(3)
    y = rng.choice([0.0, 1.0, -1.0, *rng.normal(0, 2, 20)], 60)
    d = y * rng.choice([0.0, 1e-12, -1e-3, 0.3, 1.0, -2.0, 40.0], 60)
    x = y + d
    d = x - y
    with np.errstate(all="ignore"):
        plain = op.compute(x) - op.compute(y)
        size = np.abs(op.compute(x)) + np.abs(op.compute(y))
        found, mean = Difference(op)(x, y, d), MeanSlope(op)(x, y, d)
        moved = np.abs(x * mean)
    real = np.isfinite(plain)
    assert np.all(np.isfinite(found) == real)
    assert np.all(
        np.abs(found - plain)[real] <= 1e-14 * (size + np.where(np.isfinite(moved), moved, 0))[real]
    )


@given(st.floats(-3, 3), st.floats(-1e-3, 1e-3), st.sampled_from([np.float32, np.float64]))
def test_an_increment_keeps_dtype_and_shape(y, h, dtype):
    f = rg.stabilize(lambda x, h: np.arctan(np.exp(x + h)) - np.arctan(np.exp(x)))
    x, h = np.full((2, 1), y, dtype), np.full((1, 3), h, dtype)
    found = f(x, h)
    assert found.dtype == dtype and found.shape == (2, 3)
    with mp.workdps(40):
        a, b = mp.mpf(float(x[0, 0])), mp.mpf(float(h[0, 0]))
        truth = mp.atan(mp.exp(a + b)) - mp.atan(mp.exp(a))
    assert abs(float(found[0, 0]) - float(truth)) <= 64 * np.finfo(dtype).eps * abs(float(truth)) + 1e-40


def test_a_stencil_is_found_under_a_sum_over_entries():
    f = lambda v: np.sum(np.sin(v) * np.exp(v))
    g = rg.stabilize(lambda v, h: (f(v + h) - 2 * f(v) + f(v - h)) / h**2)
    v = np.array([0.3, 0.7])
    np.testing.assert_allclose(g(v, 1e-6), np.sum(2 * np.cos(v) * np.exp(v)), rtol=1e-11)


def test_the_pasted_source_of_a_difference_runs():
    f = rg.stabilize(lambda x, h: np.arcsin(x + h) - np.arcsin(x))
    expected = f(0.5, 1e-9)
    space: dict = {}
    exec(f.source(0.5, 1e-9), space)
    assert space["stabilize_f"](0.5, 1e-9) == expected


def test_increments_are_steps_of_the_derivation():
    step = rg.stabilize(lambda x, h: np.arcsin(x + h) - np.arcsin(x))
    text = str(step.explain(0.5, 1e-9))
    assert "increment" in text and "one program at two near points" in text
    x, h = rg.symbol("x"), rg.symbol("h")
    new = incremented((np.arcsin(x + h) - np.arcsin(x)).term)
    assert new is not None and any(isinstance(node.op, Difference) for node in subterms(new))


def test_one_point_may_be_stretched():
    f = rg.stabilize(lambda x, h: np.arctan(np.exp(x + h)) - np.arctan(np.exp(x)))
    x, h = np.array([[0.0], [1.0]]), np.array([[1e-9, -1e-12]])
    np.testing.assert_allclose(f(x, h), h * np.exp(x) / (1 + np.exp(2 * x)), rtol=1e-8)
    assert "arctan_difference" in f.source(x, h)


OVER_AXES = {
    "sum": lambda x: np.sum(x),
    "columns": lambda x: np.sum(x, axis=0),
    "mean": lambda x: np.mean(x, axis=-1),
    "running": lambda x: np.cumsum(x, axis=1),
    "length": lambda x: np.linalg.norm(x),
    "product": lambda x: x @ x[0],
    "contraction": lambda x: np.einsum("ij,ij->j", x, np.cos(x)),
    "largest": lambda x: np.max(x, axis=0),
    "spread": lambda x: np.var(x, axis=1),
    "joined": lambda x: np.concatenate([x, 2 * x], axis=1),
    "repeated": lambda x: np.tile(x, (2, 1)),
    "stacked": lambda x: np.stack([x, x * x]).sum(0),
    "moved": lambda x: np.roll(x, 1, axis=0)[:, 1:],
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x), axis=0),
}
DISTANCES = {
    "number": 0.5,
    "scalar": np.float64(0.25),
    "row": np.array([0.5, 0.25, 1.0]),
    "column": np.full((2, 1), 0.5),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OVER_AXES)
@pytest.mark.parametrize("d", DISTANCES)
def test_a_distance_counts_at_each_entry_that_an_axis_has(name, d):
    """Σ (x + h) − Σ x is Σ h over the extent of x, though h is a number."""
    g = OVER_AXES[name]
    x = np.array([[0.3, -0.2, 1.4], [0.9, 0.1, -0.5]])
    for f in (
        lambda x, h: np.exp(g(np.tanh(x) + h)) - np.exp(g(np.tanh(x))),
        lambda x, h: 1 - g(np.exp(x)) / g(np.exp(x) + h),
    ):
        h = DISTANCES[d]
        np.testing.assert_allclose(rg.stabilize(f, validate=False)(x, h), f(x, h), rtol=1e-9, atol=1e-12)


def test_points_of_other_extents_are_not_taken_from_each_other_under_a_sum():
    """Σ e^(x + h) − Σ e^h is no Σ of a difference where x has three entries and h one."""
    f = lambda x, h: np.exp(np.sum(np.tanh(x + h), axis=0)) - np.exp(np.sum(np.tanh(h), axis=0))
    x, h = np.array([0.3, -0.2, 1.4]), np.array([0.25])
    np.testing.assert_allclose(rg.stabilize(f, validate=False)(x, h), f(x, h), rtol=1e-12)


def test_means_move_by_the_mean_of_the_distances():
    """mean(x + h)² − mean(x)² where the distances nearly cancel among themselves."""
    x, h = np.array([2.9, 3.0, 3.0]), np.array([-1.1e-5, 1.2e-5, -7e-6])
    got = rg.stabilize(lambda x, h: np.mean(x + h) ** 2 - np.mean(x) ** 2)(x, h)
    a, b = (mp.fsum(map(mp.mpf, v.tolist())) / 3 for v in (x, h))
    assert ulps(got, (a + b) ** 2 - a**2) <= 16


def test_the_distance_of_a_change_may_be_one_number():
    change, y, d = Change(CumSum(-1), (0,)), np.array([1.0, 2.0, 4.0]), np.array(2.0**-40)
    np.testing.assert_allclose(change.compute(y + d, y, d), np.arange(1, 4) * d, rtol=1e-14)


@pytest.mark.parametrize(
    ("op", "of"),
    [
        (Squeeze((-1,)), lambda d, x: d),
        (Squeeze((-2,)), lambda d, x: multiply(d, d)),
        (Expand((-1,)), lambda d, x: d),
        (BroadcastTo((2, 3)), lambda d, x: d),
        (Sum((-1,)), lambda d, x: term(BroadcastTo((2, 3)), d)),
        (Sum((-2,)), lambda d, x: multiply(x, d)),
        (Sum((-1, -2)), lambda d, x: as_term(rg.symbol("x", (2, 3)) * rg.symbol("d", (1, 1)) / x)),
    ],
    ids=lambda part: part if isinstance(part, str) else str(part) if hasattr(part, "__props__") else "",
)
def test_a_quotient_by_a_distance_has_the_axes_of_its_place(op, of):
    d, x = as_term(rg.symbol("d", (1, 1))), as_term(rg.symbol("x", (2, 3)))
    t = term(op, of(d, x))
    quotient = _Over(d)(t)
    assert quotient is not None and quotient.type == t.type
    at = {d: np.array([[0.3]]), x: np.arange(1.0, 7.0).reshape(2, 3)}
    whole, part = interpret([t, quotient], at)
    np.testing.assert_allclose(part * 0.3, whole, rtol=1e-15)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("a", [0, 1, 2])
def test_functions_of_two_names_have_increments_and_a_weight_of_zero_does_not_count(a, strategy):
    def plain(x):
        return (x + a + 1) * np.log(x + a + 1) - (x + a) * np.log(x + a)

    def exact(x):
        u = mp.mpf(x) + a
        return (u + 1) * mp.log(u + 1) - (u * mp.log(u) if u else 0)

    x = np.array([0.0, 1e-20, 0.5, 1e10, 1e100, 1e300])
    slope = lambda x: mp.log1p(1 / (mp.mpf(x) + a)) if x or a else mp.inf
    value, gradient = (
        rg.stabilize(plain, strategy=strategy)(x),
        rg.grad(lambda x: np.sum(plain(x)), strategy=strategy)(x),
    )
    with mp.workdps(700):
        np.testing.assert_allclose(value, [float(exact(u)) for u in x], rtol=1e-15)
        np.testing.assert_allclose(gradient, [float(slope(u)) for u in x], rtol=1e-15)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_differences_of_large_angles_are_no_worse_than_the_plain_ones(name):
    rng, f = np.random.default_rng(0), getattr(np, name)
    x = rng.uniform(-1, 1, 400) * 10.0 ** rng.uniform(-2, 9, 400)
    y = np.where(rng.random(400) < 0.5, x + rng.normal(size=400), rng.permutation(x))
    truth = [getattr(mp, name)(mp.mpf(u)) - getattr(mp, name)(mp.mpf(v)) for u, v in zip(x, y, strict=True)]
    quotients = [t / (mp.mpf(u) - mp.mpf(v)) for t, u, v in zip(truth, x, y, strict=True)]
    for g, exact in (
        (lambda x, y: f(x) - f(y), truth),
        (lambda x, y: (f(x) - f(y)) / (x - y), quotients),
    ):
        plain, ours = (
            [ulps(v, t) for v, t in zip(h(x, y), exact, strict=True)] for h in (g, rg.stabilize(g))
        )
        assert np.all(np.array(ours) <= np.array(plain) + 8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("log_ratio", [lambda x, y: np.log(x) - np.log(y), lambda x, y: np.log(x / y)])
def test_a_distance_over_a_difference_is_over_a_mean_slope(log_ratio):
    """The logarithmic mean, and its gradient."""
    f = lambda x, y: (x - y) / log_ratio(x, y)
    gradient = rg.grad(f, (0, 1))
    exact = lambda x, y: x if x == y else (x - y) / (mp.log(x) - mp.log(y))
    for x, y in ((1e300, 1e-300), (3.0, 1e-200), (2.0, 2.5), (2.0, 2.0 + 2**-30), (1e-200, 1e150)):
        with mp.workdps(700):
            u, v = mp.mpf(x), mp.mpf(y)
            truth = exact(u, v)
            slopes = [(1 - truth / u) / (mp.log(u) - mp.log(v)), (truth / v - 1) / (mp.log(u) - mp.log(v))]
        np.testing.assert_allclose(rg.stabilize(f)(x, y), float(truth), rtol=1e-15)
        for found, slope in zip(gradient(x, y), slopes, strict=True):
            np.testing.assert_allclose(found, float(slope) if abs(slope) < 1e308 else np.inf, rtol=3e-15)
    assert (f(2.0, 2.0) != 2.0, rg.stabilize(f)(2.0, 2.0), *gradient(2.0, 2.0)) == (True, 2.0, 0.5, 0.5)


def test_derivatives_of_a_function_are_not_what_it_means():
    """(eˣ − 1)/x and its derivative are two functions: their ratio is not 1."""
    x = np.array([0.3, -2.0, 15.667])
    fun = lambda x: exprel_n(x, 1) / exprel_n(x, 0) - 1
    assert rg.stabilize(fun, validate=False)(x) == pytest.approx(fun(x), rel=1e-12)


EVEN = {
    "square": (np.square, lambda x: x * x),
    "cos": (np.cos, mp.cos),
    "cosh": (np.cosh, mp.cosh),
    "log_cosh": (ops.log_cosh, lambda x: mp.log(mp.cosh(x))),
    "sech_squared": (ops.sech_squared, lambda x: mp.sech(x) ** 2),
}


@pytest.mark.parametrize("name", EVEN)
@pytest.mark.parametrize("x", [0.7, -2.0, 1e-5])
def test_even_functions_are_compared_at_opposite_points(name, x):
    f, exact = EVEN[name]
    op: Any = as_term(f(rg.symbol("x"))).op
    y = np.array([-x, -x * (1 + 1e-9), -x - 1e-13, x * (1 - 1e-9), -3 * x])
    d = x - y
    for new in (Difference(op), difference_of(op), MeanSlope(op)):
        found = new(np.full(5, x), y, d)  # type: ignore[misc]
        for got, b, distance in zip(found, y, d, strict=True):
            want = exact(mp.mpf(x)) - exact(mp.mpf(b))
            want = want / mp.mpf(distance) if isinstance(new, MeanSlope) else want
            assert abs(got - want) <= 32 * ULP * abs(want)


@pytest.mark.parametrize("n", [6.0, -4.0, np.array([2.0, 6.0])])
def test_even_powers_are_compared_at_opposite_points(n):
    x, y = 1.5, -1.5 * (1 - 1e-9)
    found = rg.stabilize(lambda x, y: x**n - y**n)(x, y)
    for got, k in np.broadcast(found, n):
        assert abs(got - (mp.mpf(x) ** k - mp.mpf(y) ** k)) <= 32 * ULP * abs(got)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("part", [1 - 1e-9, -1 - 1e-12, 0.5, 1.0])
def test_increments_come_back_into_range(size, part):
    f = lambda m, x, y: (m.square(x) - m.square(y)) / x / y
    x, y = size, part * size
    want = (mp.mpf(x) ** 2 - mp.mpf(y) ** 2) / mp.mpf(x) / mp.mpf(y)
    for library in (rg.LIBRARY, rg.LIBRARY.without("difference_of_squares")):
        got = rg.stabilize(partial(f, np), relations=library)(x, y)
        assert abs(got - want) <= 32 * ULP * abs(want)


@pytest.mark.parametrize("power", [2.0, 3.0, 5.0])
@pytest.mark.parametrize("x", [1e-255, 1e-99, 3e-99, 5e-100])
def test_a_change_below_the_range_may_be_that_of_a_large_distance(power: float, x: float):
    """(x³ − y³)/(x − y) = x² + x·y + y², of which y alone may be left."""
    slope = rg.stabilize(lambda x, y: (x**power - y**power) / (x - y))
    y = 1.1e-99 if power < 5 else 1.1e-60
    terms = [x**k * y ** (power - 1 - k) for k in range(int(power))]
    np.testing.assert_allclose(slope(x, y), sum(terms), rtol=1e-14)


def test_a_mean_slope_may_leave_the_range_and_come_back():
    """(a − b)/(log a − log b) of denormal numbers, whose slope is infinite; Stolarsky's mean of large ones."""
    mean = rg.stabilize(lambda a, b: (a - b) / (np.log(a) - np.log(b)))
    assert mean(1e-310, 2e-310) == pytest.approx(1e-310 / np.log(2), rel=1e-12, abs=0)
    stolarsky = rg.stabilize(lambda a, b, p=2.5: ((a**p - b**p) / (p * (a - b))) ** (1 / (p - 1)))
    assert stolarsky(1e200, 3e200) == pytest.approx(1e200 * stolarsky(1.0, 3.0), rel=1e-13)


def test_the_slope_of_a_soft_minimum_by_its_temperature_is_an_entropy():
    slope = rg.grad(lambda t, a, b: -t * np.log(np.exp(-a / t) + np.exp(-b / t)), precise=False)
    assert slope(1.0, -900.0, -901.0) == pytest.approx(-0.5822031088882180, rel=1e-14)
    assert slope(1e-9, 0.5, 0.5) == pytest.approx(-np.log(2), rel=1e-14)


OF_NUMBERS = [
    ("m.exp(x)", 0.1),
    ("3.22 * m.exp(x) + 0.3", 0.0),
    ("0.76 * m.sqrt(x) + 0.3 * m.sin(x)", 0.1),
    ("m.exp(m.sin(m.sqrt(x)))", 0.7),
    ("m.log(m.cosh(x)) * m.exp(-x)", 1.7),
]


@pytest.mark.parametrize(
    ("form", "f", "x0", "precise"),
    [
        *[("f(x) - f(c)", f, x0, False) for f, x0 in OF_NUMBERS[:4]],
        *[
            (form, f, x0, True)
            for f, x0 in OF_NUMBERS
            for form in ("f(x) - f(c)", "(f(x) - f(c)) / (x - c)", "f(x) / f(c) - 1")
        ],
    ],
)
def test_a_function_at_a_number_is_that_function(form, f, x0, precise):
    def made(m, c):
        """form, f → x ↦ f(x) − f(c)"""
        space = {"m": m, "c": c}
        exec(f"def f(x):\n    return {f}\ndef g(x):\n    return {form}\n", space)
        return space["g"]

    stable = rg.stabilize(made(np, x0), precise=precise)
    if "x - c" not in form:
        assert stable(x0) == 0
    for h in (1e-9, 3e-6, 1e-3, 0.3):
        with mp.workdps(60):
            want = made(mp, mp.mpf(x0))(mp.mpf(x0 + h))
            assert abs(stable(x0 + h) - want) <= 64 * ULP * abs(want), h


@pytest.mark.parametrize("precise", [True, False])
def test_a_function_of_data_is_that_function(precise):
    q, d = np.array([0.2, 0.3, 0.5]), 1e-7 * np.array([1.0, -2.0, 1.0])

    def divergence(p):
        return np.sum(p * (np.log(p) - np.log(q)))

    p = q + d
    with mp.workdps(60):
        want = sum(mp.mpf(a) * mp.log(mp.mpf(a) / mp.mpf(b)) for a, b in zip(p, q, strict=True))
        got = rg.stabilize(divergence, precise=precise)(p)
        assert abs(got - want) <= (64 * ULP if precise else 1e-10) * want
    assert rg.stabilize(divergence, precise=precise)(q) == 0
    np.testing.assert_allclose(rg.grad(divergence, precise=precise)(p), np.log1p(d / q) + 1, rtol=1e-15)


def test_an_increment_and_what_was_taken_off_are_the_function():
    """1 − (1 − 1/m)ⁿ: what 1 − 1/m lacks of one is 1/m, also where that is an increment of m⁻¹."""
    f = rg.stabilize(lambda m, n: 1 - (1 - 1 / m) ** n, precise=False)
    assert f(1e9, 30.0) == pytest.approx(-np.expm1(30 * np.log1p(-1e-9)), rel=1e-15)
    slope = rg.grad(lambda m, n: 1 - (1 - 1 / m) ** n, argnums=1, precise=False)
    assert slope(100.0, 1e5) == pytest.approx(0.99**1e5 * -np.log1p(-0.01), abs=1e-300)


def test_the_nearest_points_are_taken_from_each_other():
    """ψ(a + k) − ψ(a) − ψ(a + b + n) + ψ(a + b), as in the slope of a beta-binomial probability."""
    f = lambda a, b, k, n: betaln(k + a, n - k + b) - betaln(a, b)
    a, b, k, n = 2e9, 3e9, 7.0, 10.0
    with mp.workdps(50):
        psi = [mp.digamma(mp.mpf(t)) for t in (a + k, a, a + b + n, a + b)]
        want = float(psi[0] - psi[1] - psi[2] + psi[3])
    assert rg.grad(f, precise=False)(a, b, k, n) == pytest.approx(want, rel=1e-14)


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "selected": lambda x: np.exp(x[1]) - np.exp(x[0]),
    "sliced": lambda x: np.sum(np.arctan(2 * x[1:]) - np.arctan(2 * x[:-1])),
    "np.diff": lambda x: np.sum(np.diff(np.sin(x)) * np.array([1.0, 2.0])),
    "joined": lambda x: np.sum(
        np.exp(np.concatenate([x, x[:1]])[np.array([1, 2])]) - np.exp(np.concatenate([x, x[:1]])[:2])
    ),
    "with a broadcast factor": lambda x: np.sum(np.diff(np.exp(x)[:, None] * x[:1], axis=0)),
    "flipped": lambda x: np.sqrt(x[::-1])[0] - np.sqrt(x)[0],
    "squares": lambda x: np.sum((np.sin(x[::-1]) - np.sin(x)) ** 2),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_of_data_are_points(name):
    f = ENTRIES[name]
    x = np.array([1.0, 1 + 1e-9, 1 + 3e-9])
    d = np.diff(x)
    c, s = np.cos(1.0), 2 / 5
    want = {
        "selected": np.e * d[0],
        "sliced": s * (d[0] + d[1]),
        "np.diff": c * (d[0] + 2 * d[1]),
        "joined": np.e * (d[0] + d[1]),
        "with a broadcast factor": np.e * (d[0] + d[1]),
        "flipped": 0.5 * (d[0] + d[1]),
        "squares": 2 * c**2 * (d[0] + d[1]) ** 2,
    }[name]
    stable = rg.stabilize(f, precise=False)
    assert stable(x) == pytest.approx(want, rel=1e-8)
    assert stable(x) == pytest.approx(rg.stabilize(f)(x), rel=1e-14)
    np.testing.assert_allclose(rg.grad(f, precise=False)(x), rg.grad(f)(x), rtol=1e-14)


def test_a_probability_between_two_of_several_cuts():
    """An ordered probit: Φ(c[k + 1] − x) − Φ(c[k] − x) in either tail."""
    ndtr = scipy.special.ndtr
    f = lambda x, cuts, k: np.log(ndtr(cuts[k + 1] - x) - ndtr(cuts[k] - x))
    x, cuts, k = np.array([12.0, -14.0, 60.0]), np.array([-1.0, 0.5, 2.0]), np.array([0, 1, 1])
    with mp.workdps(800):
        between = [
            mp.ncdf(mp.mpf(cuts[j + 1]) - mp.mpf(t)) - mp.ncdf(mp.mpf(cuts[j]) - mp.mpf(t))
            for t, j in zip(x, k, strict=True)
        ]
        want = [float(mp.log(p)) for p in between]
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, cuts, k), want, rtol=1e-14)


@pytest.mark.parametrize("h", [1e-9, 1e-4, 2.0])
@pytest.mark.parametrize("b", [1e-12, 1.0, -3.0])
def test_a_part_of_what_flows_back_meets_the_function_at_the_other_point(h, b):
    """a·f(x) − (a + b)·f(y) = a·Δf − b·f(y), but where these cancel."""
    f = rg.stabilize(lambda a, b, x, h: a * np.sin(x + h) - (a + b) * np.sin(x), precise=False)
    for a in (0.7, 1.0, -b * (1 - 1e-9)):
        with mp.workdps(40):
            m = [mp.mpf(t) for t in (a, b, 0.5, h)]
            want = m[0] * mp.sin(m[2] + m[3]) - (m[0] + m[1]) * mp.sin(m[2])
            size = min(
                abs(m[0] * (mp.sin(m[2] + m[3]) - mp.sin(m[2]))) + abs(m[1] * mp.sin(m[2])), 2 * abs(m[0])
            )
            assert abs(f(a, b, 0.5, h) - want) <= 16 * ULP * size


@pytest.mark.parametrize("t", [900.0, 2.0, 1e-9])
def test_the_slope_of_what_saturates(t):
    """(1 − e^(−k·t))/k has the slope e^(−k·t) in t, of which (1 − e^−x)/x and its slope are the parts."""
    slope = rg.grad(lambda t, k: (1 - np.exp(-k * t)) / k, precise=False)
    assert slope(t, 0.3) == pytest.approx(np.exp(-0.3 * t), rel=1e-13)


def test_the_difference_of_two_data_is_one_already():
    """y − (a + b) has nothing to gain from y − a, nor has y[1:] − y[:-1]."""
    for f, args in (
        (lambda y, a, b: np.exp(y - (a + b)), (1.0, 2.0, 3.0)),
        (lambda y: y[1:] - y[:-1], (np.arange(4.0),)),
    ):
        stable = rg.stabilize(f)
        stable(*args)
        assert not stable.programs[0].derivation.steps


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("h", [1e-3, -9.4e-7, 9.40372948e-10, 1e-13, 3e-30])
@pytest.mark.parametrize(
    ("f", "exact", "x"),
    [
        (scipy.special.gammaln, mp.loggamma, 1.0),
        (scipy.special.gammaln, mp.loggamma, 2.0),
        (scipy.special.digamma, mp.digamma, 1.4616321449683623),
        (np.log2, lambda x: mp.log(x, 2), 1.0),
        (np.sin, mp.sin, 3.0),
        (scipy.special.j0, lambda x: mp.besselj(0, x), 2.404825557695773),
    ],
)
def test_where_a_function_is_zero_its_arguments_cancel(f, exact, x, h, precise, strategy):
    """log Γ(1 + h)/h: the values 0 and log Γ(1 + h) do not cancel, but 1 + h has lost the digits of h."""
    slope = rg.stabilize(lambda x, h: (f(x + h) - f(x)) / h, precise=precise, strategy=strategy)
    with mp.workdps(80):
        want = (exact(mp.mpf(x) + mp.mpf(h)) - exact(mp.mpf(x))) / mp.mpf(h)
        for entries in (np.float64(x), np.array([x, x])):
            np.testing.assert_allclose(slope(entries, h), float(want), rtol=3e-14)


@pytest.mark.parametrize("a", [-0.5, -1.5, -2.0, -3.0, -1.0])
@pytest.mark.parametrize(("x", "h"), [(1.1e107, 1.0), (2.7e-45, 3.9e-284), (3.0, 1e-12)])
def test_negative_powers_differ_as_powers(a, x, h):
    """(x + h)ᵃ − xᵃ is one difference: over x⁻ᵃ·(x + h)⁻ᵃ it left the range of floats on the way."""
    f = lambda x, h: (x + h) ** a - x**a
    for order, g in enumerate((f, rg.grad(f), rg.grad(rg.grad(f)))):
        with mp.workdps(700):
            e = mp.mpf(a) - order
            exact = (mp.mpf(x) + mp.mpf(h)) ** e - mp.mpf(x) ** e
            exact *= mp.ff(a, order)
        if abs(exact) > 1e-300:
            assert ulps(rg.stabilize(g, precise=False)(x, h), exact) < 16


@pytest.mark.sampled(2)
@pytest.mark.parametrize("far", [1.0, 3.0, 1e6])
@pytest.mark.parametrize("bend", [1e-3, 1e-9, 1e-30])
def test_points_too_far_apart_for_quadratures_are_watched(far: float, bend: float):
    """x/‖x‖ − y/‖y‖ = 1 − 1/√(1 + e²) for x = (1, e), y = (k, 0): a plain difference may cancel wherever it stands."""
    length = lambda u, v: np.sqrt(np.sum((u - v) ** 2))
    detour = rg.grad(lambda a, b, c: length(a, b) + length(b, c) - length(a, c))
    e = Fraction(bend) ** 2
    want = float(e / 2 - 3 * e * e / 8 + 5 * e**3 / 16 - 35 * e**4 / 128 + 63 * e**5 / 256)
    found = detour(np.zeros(2), np.array([1.0, bend]), np.array([1.0 + far, 0.0]))
    assert found[0] == pytest.approx(want, rel=1e-13)


@pytest.mark.parametrize("x", [1e-9, 1e-300, -1e-12, 0.4, 3.0])
def test_an_even_function_is_compared_on_both_sides(x: float):
    """√(L² + (x + d/2)²) − √(L² + (x − d/2)²): the paths of Young's two slits, of which x + d/2 has lost x."""
    path = lambda x, d: np.hypot(2.0, x + d / 2) - np.sqrt(4.0 + (x - d / 2) ** 2)
    with mp.workdps(400):
        h = [mp.sqrt(4 + (mp.mpf(x) + k * mp.mpf(0.5)) ** 2) for k in (1, -1)]
        assert ulps(rg.stabilize(path, precise=False)(x, 1.0), h[0] - h[1]) < 8


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,)])
def test_the_distance_of_an_array_may_be_one_number(shape: tuple[int, ...]):
    """cosh(x + h) − cosh(x − h) = 2·sinh(x)·sinh(h): one h for all x, of which cosh tells no sign."""
    x, h = np.linspace(-3.0, 0.5, int(np.prod(shape))).reshape(shape), 1e-7
    found = rg.stabilize(lambda x, h: np.cosh(x + h) - np.cosh(x - h), precise=False)(x, h)
    np.testing.assert_allclose(found, 2 * np.sinh(x) * np.sinh(h), rtol=1e-14)


def test_exponentials_are_compared_as_they_are_and_not_their_powers():
    """e^(−x²/2) as (e^(x²))^(−½) would leave the range of floats where it is 0."""
    kernel = lambda a, b: np.mean(np.exp(-((a[:, None] - b) ** 2) / 2))
    distance = lambda x, y: kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)
    x, y = np.array([1.0, 2.0]), np.array([100.0, 300.0])
    for precise in (True, False):
        assert rg.stabilize(distance, precise=precise)(x, y) == pytest.approx(distance(x, y), rel=1e-15)


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (lambda m, n, k: m.gammaln(n + 1) - m.gammaln(n + k), (1e9, 3.0)),
        (lambda m, n, k: m.gammaln(n) - m.gammaln(n - k + 1), (1e9, 300.0)),
        (lambda m, n, k: m.gammaln(n + 1) - m.gammaln(k + 1) - m.gammaln(n - k + 1), (1e9, 3.0)),
        (lambda m, n, k: m.gammaln(k + n) - m.gammaln(k + 1) - m.gammaln(n), (1e9, 3.0)),
    ],
    ids=["a rising factorial", "a falling one", "a binomial coefficient", "one of a negative number"],
)
def test_a_function_with_a_series_is_near_the_same_without_one(f, at):
    """log Γ(x + 1) is read as a series where x is near 0, and log Γ(x) is not: both are one function."""
    found = rg.stabilize(partial(f, PLAIN), precise=False)(*at)
    assert ulps(found, f(EXACT, *map(mp.mpf, at))) < 32
    slopes = rg.grad(partial(f, PLAIN), argnums=(0, 1), precise=False)(*at)
    for i, slope in enumerate(slopes):
        truth = mp.diff(partial(f, EXACT), at, tuple(int(i == k) for k in range(2)))
        assert ulps(slope, truth) < 64


@pytest.mark.parametrize(
    "shapes", [((3,), ()), ((), (2,)), ((2, 3), (3,)), ((2, 1), (3,)), ((1,), (2, 3)), ((0,), ())]
)
@pytest.mark.parametrize("name", ["gammaln", "tanh³ x", "x·eˣ"])
def test_what_is_near_may_have_fewer_axes(name, shapes):
    """f(y + h) − f(y) where y is stretched along axes that h has."""
    f, rng = FUNCTIONS[name], np.random.default_rng(1)
    h, y = (rng.uniform(0.5, 1.0, shape) * scale for shape, scale in zip(shapes, (1e-9, 1.0), strict=True))
    found = rg.stabilize(lambda h, y: f(PLAIN, y + h) - f(PLAIN, y), precise=False)(h, y)
    exact = np.vectorize(lambda h, y: f(EXACT, mp.mpf(y) + mp.mpf(h)) - f(EXACT, mp.mpf(y)), otypes=[object])
    truth = exact(h, y) if h.size else np.zeros(0)
    assert found.shape == truth.shape
    np.testing.assert_allclose(found, truth.astype(float), rtol=1e-14)
    whole = rg.stabilize(lambda h, y: np.sum(f(PLAIN, y + h) - f(PLAIN, y)), precise=False)(h, y)
    np.testing.assert_allclose(whole, float(np.sum(truth)), rtol=1e-14)


@pytest.mark.parametrize("p", [0.5, 0.5 + 1e-7, 0.3])
@pytest.mark.parametrize("d", [1e-9, -3e-12])
def test_increments_beside_a_zero_keep_the_digits_of_the_distance(p, d):
    """log(q/(1 − q)) − log(p/(1 − p)), q = p + d: at p = ½ nothing cancels, but q has lost the digits of d."""

    def f(p, d):
        q = p + d
        return np.log(q / (1 - q)) - np.log(p / (1 - p))

    with mp.workdps(50):
        x, h = mp.mpf(p), mp.mpf(d)
        truth = float(mp.log((x + h) / (1 - x - h)) - mp.log(x / (1 - x)))
    found = rg.stabilize(f, precise=False)
    assert found(p, d) == pytest.approx(truth, rel=1e-14, abs=0)
    both = found(np.array([p, 0.3]), np.array([d, 0.4]))
    np.testing.assert_allclose(both, [truth, np.log(0.7 / 0.3) - np.log(0.3 / 0.7)], rtol=1e-14)


EDGES: dict[str, Any] = {
    "arcsin": (np.arcsin, mp.asin),
    "arctanh": (np.arctanh, mp.atanh),
    "log1p": (lambda u: np.log1p(-u), lambda u: mp.log1p(-u)),
}


@pytest.mark.parametrize("name", EDGES)
def test_increments_beside_a_branch_point_are_of_what_is_left_of_one(name):
    """arcsin(1 − q) − arcsin(1 − q − h): both points are rounded beside 1, where errors are multiplied."""
    f, exact = EDGES[name]
    q, h = np.array([3e-12, 1e-9, 0.3, 1e-13]), np.array([1e-13, 3e-12, 1e-10, 0.3])
    with mp.workdps(50):
        pairs = [(mp.mpf(a), mp.mpf(b)) for a, b in zip(q.tolist(), h.tolist(), strict=True)]
        truth = [float(exact(1 - a) - exact(1 - a - b)) for a, b in pairs]
    found = rg.stabilize(lambda q, h: f(1 - q) - f(1 - q - h))(q, h)
    np.testing.assert_allclose(found, truth, rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [lambda q, h: np.log(1 - q) - np.log(1 - q + h * h), lambda q, h: np.log((1 - q) / (1 - q + h * h))],
)
def test_increments_of_logarithms_of_what_is_left_of_one_are_of_that(f):
    """log(1 − q) − log(1 − q + h) = log(1 − h/(1 − q + h)): not of log1p(h − q), in which h is rounded beside q."""
    q, h = np.array([1 - 1e-9, 1 - 1e-12, 0.25]), np.array([1e-6, 1e-3, 1e-9])
    with mp.workdps(50):
        a, b = ([mp.mpf(v) for v in x.tolist()] for x in (q, h))
        truth = [float(mp.log((1 - u) / (1 - u + v * v))) for u, v in zip(a, b, strict=True)]
    np.testing.assert_allclose(rg.stabilize(f)(q, h), truth, rtol=1e-14)
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(q, h), truth, rtol=1e-6)


@pytest.mark.parametrize("b", [0.3, 5.0, 40.0, -7.0, 0.0])
def test_multiples_of_one_term_are_near_each_other_and_so_they_are_beyond_a_series(b):
    """f(1.01·b) − f(0.99·b) = Δf(1.01·b, 0.99·b, 0.02·b): where a series ends as where there is none."""
    for f, exact in (
        (scipy.special.ndtr, mp.ncdf),
        (np.arctan, mp.atan),
        (lambda x: np.arctan(x + 1), lambda x: mp.atan(x + 1)),
    ):
        with mp.workdps(60):
            want = float(exact(mp.mpf(1.01) * b) - exact(mp.mpf(0.99) * b)) if b else 0.0
        apart = rg.stabilize(lambda b, f=f: f(1.01 * b) - f(0.99 * b), precise=False)
        np.testing.assert_allclose(apart(b), want, rtol=2e-14 * max(1.0, b * b / 20))


def test_logarithms_of_multiples_are_a_number_apart():
    """np.log(s/(0.999·k)) − np.log(s/(1.001·k)) = log(1.001/0.999), far out in the tail of Φ as well."""
    spread = lambda s, k, c: (
        scipy.special.ndtr(np.log(s / (k * 0.999)) / c) - scipy.special.ndtr(np.log(s / (k * 1.001)) / c)
    )
    with mp.workdps(60):
        at = [mp.log(100 / (60 * mp.mpf(k))) / mp.mpf(0.067) for k in (0.999, 1.001)]
        want = float(mp.ncdf(-at[1]) - mp.ncdf(-at[0]))
    assert rg.stabilize(spread, precise=False)(100.0, 60.0, 0.067) == pytest.approx(want, rel=1e-12)


def test_far_multiples_are_not_near():
    """2·x and x lie no nearer to each other than to zero: nothing is gained by their distance."""
    assert "difference" not in rg.stabilize(lambda x: np.arctan(2 * x) - np.arctan(x)).source(3.0)
