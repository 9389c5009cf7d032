"""Programs in balls: enclosures of any size, as many digits as it takes, and what is left open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
import scipy.special as sp
from mpmath import mp, mpf

import relgrad as rg
from relgrad import kernels
from relgrad.balls import numbers
from relgrad.balls.graph import BITS
from relgrad.balls.numbers import Balls
from relgrad.kernels.doubled.number import Undecided
from relgrad.kernels.doubled.precise import Again
from relgrad.kernels.extended.number import Extended
from relgrad.op import as_term
from relgrad.ops.distributions import betainc, betaincc
from relgrad.ops.special import erfc, ndtr

AROUND = np.array([-7.25, -1.5, -0.3, -1e-9, 1e-12, 0.2, 0.9999, 1.0001, 2.5, 11.0])
BEYOND = np.array([1e-300, 1e-6, 0.7, 1.0 + 1e-9, 3.0, 40.0, 1e200])
FAR = np.array([3e-200, 1e200, 700.0, -700.0, 9000.0, -9000.0, 1e5, -123456.7, 5e5, 25.0, -0.3])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "oracle", "at"),
    [
        (np.exp, mpmath.exp, FAR[[0, *range(2, 11)]]),
        (lambda x: np.log(np.exp(x)), lambda x: x, FAR[2:]),
        (np.expm1, mpmath.expm1, FAR[[0, *range(2, 11)]]),
        (lambda x: np.log1p(np.exp(x)), lambda x: mpmath.log1p(mpmath.exp(x)), FAR[2:]),
        (lambda x: np.log1p(x * x), lambda x: mpmath.log1p(x * x), FAR),
        (np.sinh, mpmath.sinh, FAR[[0, *range(2, 11)]]),
        (np.cosh, mpmath.cosh, FAR[[0, *range(2, 11)]]),
        (np.tanh, mpmath.tanh, FAR),
        (np.arcsinh, mpmath.asinh, FAR),
        (lambda x: np.sqrt(x * x * x * x), lambda x: x * x, FAR),
        (lambda x: np.cbrt(x * x * x), lambda x: x, FAR),
        (lambda x: np.hypot(x * x, 3.0 * x), lambda x: mpmath.hypot(x * x, 3 * x), FAR),
        (lambda x: x**-7.0, lambda x: x**-7, FAR),
        (lambda x: np.abs(x) ** 30.25, lambda x: abs(x) ** mpf(30.25), FAR),
        (lambda x: x * x - 1.0, lambda x: x * x - 1, FAR),
        (lambda x: np.maximum(x * x, 1e-300), lambda x: max(x * x, mpf(1e-300)), FAR),
        (lambda x: np.minimum(x * x, 1e300), lambda x: min(x * x, mpf(1e300)), FAR),
        (sp.expit, lambda x: 1 / (1 + mpmath.exp(-x)), FAR[[0, *range(2, 11)]]),
        (partial(kernels.iv, 1), lambda x: mpmath.besseli(1, x), FAR[[2, 3, 4, 6, 9]]),
        (
            lambda x: np.sum(np.exp([0.5, 1.0] * x[..., None]), axis=-1),
            lambda x: mpmath.exp(x / 2) + mpmath.exp(x),
            FAR[2:],
        ),
        (lambda x: np.prod(np.stack([x, x, x, 1 / x]), axis=0), lambda x: x * x, FAR),
        (partial(kernels.digamma_n, order=1), lambda x: mpmath.polygamma(1, x), BEYOND[1:6]),
        (partial(kernels.digamma_n, order=4), lambda x: mpmath.polygamma(4, x), BEYOND[2:6]),
        (kernels.exprel_n, lambda x: mpmath.expm1(x) / x, AROUND),
        (partial(kernels.exprel_n, order=3), lambda x: mpmath.hyp1f1(4, 5, x) / 4, AROUND),
        (kernels.erfcx_n, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), AROUND),
        (
            partial(kernels.erfcx_n, order=2),
            lambda x: (2 + 4 * x * x) * mpmath.exp(x * x) * mpmath.erfc(x) - 4 * x / mpmath.sqrt(mpmath.pi),
            AROUND[:-1],
        ),
        (
            partial(kernels.ive, 0),
            lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
            np.r_[AROUND, 39.9, 40.1],
        ),
        (
            partial(kernels.ive, 3),
            lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(3, x),
            np.r_[AROUND, -800.0],
        ),
        (partial(kernels.iv, 1), lambda x: mpmath.besseli(1, x), AROUND),
    ],
)
def test_balls_hold_the_numbers_and_little_else(function, oracle, at):
    with flint.ctx.workprec(256), mpmath.workprec(800):
        Balls.left = numbers.WORK
        got = function(Balls.of(at))
        for a, ball in zip(at, got.balls, strict=True):
            want = oracle(mpf(a))
            man, exp = map(int, ball.mid().man_exp())
            radius = mpf(int(ball.rad().man_exp()[0])) * mpf(2) ** int(ball.rad().man_exp()[1])
            assert abs(mpf(man) * mpf(2) ** exp - want) <= radius, (a, ball)
            assert radius <= abs(want) * mpf(2) ** -BITS


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda x, y, z: 1 - (1 - x) * (1 - y) * (1 - z), (1e-200, -1e-200, 1e-300)),
        (lambda x, y, z: (x + y) * (x - y) - x * x + z, (1e160, 1.0, 2.0)),
        (
            lambda p, q, z: p * mp.log(p / q) + (1 - p) * mp.log((1 - p) / (1 - q)) + 0 * z,
            (1e-30, 1e-290, 0.0),
        ),
        (lambda x, y, z: (mp.exp(x) - mp.exp(y)) / mp.exp(z), (800.0, 800.0 - 2e-13, 790.0)),
    ],
)
def test_as_many_digits_as_it_takes(function, at):
    with mpmath.workprec(4000):
        want = float(function(*map(mpf, at)))

    def written(*args: Any) -> Any:
        names = {name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin")}
        return type(function)(function.__code__, {"mp": type("mp", (), names)})(*args)

    found = rg.stabilize(written)
    np.testing.assert_allclose(found(*at), want, rtol=1e-15)
    arrays = [np.array([a, 0.25, a]) for a in at]
    np.testing.assert_allclose(found(*arrays)[[0, 2]], want, rtol=1e-15)


def test_gradients_take_as_many_digits():
    gradient = rg.grad(lambda c, v: c * c * (1 / np.sqrt(1 - v * v / (c * c)) - 1))
    c, v = 1e80, 1e10
    with mpmath.workprec(4000):
        want = float(
            mpmath.diff(lambda c: c * c * (1 / mp.sqrt(1 - v * v / (c * c)) - 1), mpf(c), h=mpf(10) ** -300)
        )
    np.testing.assert_allclose(gradient(c, v), want, rtol=1e-15)


def test_numbers_that_rules_bring_are_known_to_all_digits():
    """d/dd Φ(−x − d)/Φ(−x) = −φ(x + d)/Φ(−x), with 1/√(2π) rounded, out of range and cancelling."""
    gradient = rg.grad(lambda x, d: sp.ndtr(-(x + d)) / sp.ndtr(-x), (0, 1))
    x, d = 100.0, 0.01
    with mpmath.workdps(60):
        slope = lambda *at: mpmath.diff(lambda x, d: mpmath.ncdf(-(x + d)) / mpmath.ncdf(-x), (x, d), at)
        want = [float(slope(1, 0)), float(slope(0, 1))]
    np.testing.assert_allclose(gradient(x, d), want, rtol=1e-14)


def test_what_balls_do_not_tell_is_undecided():
    with flint.ctx.workprec(64):
        third = Balls.of(np.array(1.0)) / 3.0
        assert bool(third > 0.0) and not bool(third > 0.5)
        with pytest.raises(Undecided):
            np.less(3.0 * third, 1.0)
        assert np.argmax(np.stack([third, 2.0 * third])) == 1


def test_work_is_bounded(monkeypatch):
    asked = []
    spend = Balls.spend.__func__
    monkeypatch.setattr(Balls, "spend", classmethod(lambda cls, work: asked.append(1) or spend(cls, work)))
    f = rg.stabilize(lambda x, y: 1 - (1 - x) * (1 - y))
    x = np.full(8, 1e-200)
    assert np.all(f(x, -x * (1 + 1e-9)) != 0) and asked
    asked.clear()
    x = np.full(numbers.WORK, 1e-200)
    f(x, -x)
    assert len(asked) < 12


def test_what_is_no_number_is_not_asked(monkeypatch):
    monkeypatch.setattr(Balls, "spend", classmethod(lambda *_: pytest.fail("asked")))
    f = rg.stabilize(lambda x, y: x * x - y * y + np.sum(x))
    with np.errstate(all="ignore"):
        assert np.isnan(f(np.array([np.nan, 1.0]), np.array([1.0, 1.0]))[0])


def test_nan_of_numbers_is_asked():
    """∇² Σ log softmax at 1000, of which the eager strategy makes inf − inf."""

    def score(x: Any) -> Any:
        p = np.exp(x) / np.sum(np.exp(x))
        return np.sum(np.log(p))

    x = np.array([1000.0, 999.0, -3.0])
    p = np.exp(x - 1000) / np.exp(x - 1000).sum()
    with np.errstate(all="ignore"):
        found = rg.hessian(score, strategy="eager")(x)
    np.testing.assert_allclose(found, -3 * (np.diag(p) - np.outer(p, p)), rtol=1e-12, atol=1e-300)


def test_nan_of_what_leaves_its_domain_is_not_asked(monkeypatch):
    asked = []
    for name in ("mended", "mended_at"):
        whole = getattr(Again, name)
        monkeypatch.setattr(Again, name, lambda *args, whole=whole: asked.append(args[1]) or whole(*args))
    x = np.array([-1.0, 2.0, 3.0])
    with np.errstate(all="ignore"):
        for f in (
            lambda x: np.sum(np.log(x) * np.sqrt(x + 1) + np.log(3.5 - x)),
            lambda x: np.sqrt(x * x - 3.0) - np.sqrt(x + 1e9),
            lambda x: np.log(np.sum(x) - 1e7) ** 2,
            lambda x: np.sum(np.arccos(2 + x / 7)) - 1,
        ):
            assert np.isnan(rg.stabilize(f)(x)).any() and not asked
        arccos = kernels.precise(by=lambda x: (np.arccos(x), []))(lambda x: (np.arccos(x), False))
        assert np.isnan(arccos(np.float64(2))) and not asked
        assert np.isnan(arccos(np.float64(1 + 2**-52))) and asked  # it may be 1 but for rounding


def test_what_has_no_limit_stays_as_it_is():
    f = rg.stabilize(lambda x, y: (x - y) / (x * x - y * y) * (x + y))
    with np.errstate(all="ignore"):
        assert f(0.0, 0.0) == 1 or np.isnan(f(0.0, 0.0))
        assert np.isnan(rg.stabilize(lambda x: np.log(x) - np.log(2 * x))(-1.0))


def test_threads_ask_for_digits_of_their_own():
    f = rg.stabilize(lambda x, y, z: 1 - (1 - x) * (1 - y) * (1 - z))
    points = [(10.0**-k, -(10.0**-k), 10.0 ** -(k + 40)) for k in range(20, 260, 10)]
    want = [f(*p) for p in points]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda p: f(*p), points * 4)) == want * 4


def test_a_function_without_a_rule_is_known_out_of_range():
    with np.errstate(all="ignore"):
        found = np.sqrt(Extended.of(np.array(1.0))) * kernels.erfc(Extended.of(np.array([40.0, 1.0])))
    m, e = found.parts
    with mpmath.workprec(200):
        np.testing.assert_allclose(float(mpf(m[0]) * mpf(2) ** int(e[0]) / mpmath.erfc(40)), 1.0, rtol=1e-15)
    np.testing.assert_allclose(found.floats()[1], sp.erfc(1.0), rtol=1e-15)


@pytest.mark.parametrize("x", [5.0, 45.0, 1e6, 3e9])
def test_complementary_error_functions_of_balls_keep_their_digits(x):
    """erfc(x) = e^(−x²)·erfcx(x): as many as exponentials have, of a ball of some width."""
    with numbers._precision(256):
        ball = flint.arb(2).sqrt() * flint.arb(x)
        for found in (erfc.ball(ball), ndtr.ball(-ball)):
            assert found.rel_accuracy_bits() > 180
        assert erfc.ball(ball).overlaps(ball.erfc())


def test_tails_out_of_all_floats_differ_by_nothing():
    """K·Φ(−d₂) − S·Φ(−d₁) = 0 in floats, far out of the money."""
    call = lambda s, k, d, e: k * (1 - sp.ndtr(d)) - s * (1 - sp.ndtr(e))
    assert rg.stabilize(call)(1.0, 100.0, 5e6, 5e6 - 1e-6) == 0.0


def test_products_of_all_but_one_and_their_slopes_in_balls():
    """(b·c, a·c, a·b) and its derivative along t, of vectors of balls."""
    from flint import arb

    x, t = (np.array([*map(arb, v)], dtype=object) for v in ((2, 3, 5), (1, 0, 2)))
    assert [float(v) for v in kernels.formulas.leave_one_out_prod(x)] == [15, 10, 6]
    assert [float(v) for v in kernels.formulas.leave_one_out_prod(x, t)] == [6, 9, 3]


def test_a_term_in_as_many_digits_as_it_takes():
    """1 − cos x at 1e-200 needs 1,400 bits; 0/0 stays open; a constant of many digits may be rounded."""
    x = rg.symbol("x", shape=())
    for at in (1e-3, 1e-60, 1e-200):
        found: Any = Balls.nearest(as_term((1 - np.cos(x)) / x), {as_term(x): np.float64(at)}, 100)
        with mpmath.workdps(900):
            want = (1 - mpmath.cos(mpf(at))) / mpf(at)
            assert abs(found.hi - want) <= found.bound == abs(found.hi) * 2.0**-53
    (at,) = ({as_term(x): np.float64(0.1234567890123456)},)
    assert np.isinf(Balls.nearest(as_term((x - x) / (x - x)), at, 100).bound)
    assert np.isinf(Balls.nearest(as_term(x - 0.1234567890123456), at, 100).bound)
    assert Balls.nearest(as_term(1 - np.cos(x)), at, 1) is None


@pytest.mark.parametrize(
    ("a", "b", "x"), [(1.5, 1000.0, 0.5), (1000.0, 2.0, 0.9), (3.0, 1e-100, 0.6), (0.3, 0.7, 1.0)]
)
def test_incomplete_beta_functions_of_balls_keep_their_digits(a, b, x):
    """I_x(a, b) + I_{1 − x}(b, a) = 1 in all digits of both, on either side of the mean."""
    with numbers._precision(1000):
        ball = [flint.arb(v) for v in (a, b, x)]
        lower, upper = (op.ball(*ball) for op in (betainc, betaincc))
        assert min(v.rel_accuracy_bits() for v in (lower, upper) if v != 0) > 500
        assert (lower + upper).overlaps(flint.arb(1))
    with mpmath.workdps(30):
        assert float(lower) == pytest.approx(float(mpmath.betainc(a, b, 0, x, regularized=True)), rel=1e-14)
