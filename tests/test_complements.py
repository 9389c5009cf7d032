"""What is left of one, where it is seen through what only chooses, moves, joins, orders or multiplies shares."""

from __future__ import annotations

from types import SimpleNamespace as Namespace
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import relgrad as rg
from relgrad.logic.complements import left_of
from relgrad.op import as_term

C = np.array([True, False, True])
CHOICES = {
    "clip": lambda p: np.clip(p, 1e-15, 1.0),
    "a floor": lambda p: np.maximum(p, 0.2),
    "the lesser": lambda p: np.minimum(p, p[::-1]),
    "the larger but for NaN": lambda p: np.fmax(p, p[::-1]),
    "the lesser but for NaN": lambda p: np.fmin(p, p[::-1]),
    "a choice": lambda p: np.where(C, p, p * p),
    "a choice beside a number": lambda p: np.where(C, p, 0.5),
    "an entry": lambda p: p[0],
    "a reversal": lambda p: p[::-1],
    "a shape": lambda p: p.reshape(3, 1).T,
    "parts": lambda p: np.concatenate([p, p * p[0]]),
    "a stack": lambda p: np.stack([p, p * p]),
    "parts beside a whole number": lambda p: np.concatenate([[0], p]),
    "a stretch": lambda p: np.broadcast_to(p, (2, 3)),
    "an order": lambda p: np.sort(p),
    "a largest": lambda p: np.max(p),
    "a least": lambda p: np.min(np.stack([p, p * p]), axis=0),
    "running products": lambda p: np.cumprod(p),
    "a choice times a share": lambda p: np.where(C, p, 0.5) * p,
    "a choice in an entry of a choice": lambda p: np.where(C, np.maximum(p, 0.3)[::-1], 0.25)[1:],
}
Z = np.array([40.0, -3.0, 38.0])


def share(z):
    return 1 / (1 + np.exp(-z))


def exactly(z):
    return np.array([1 / (1 + mp.exp(-x)) for x in z], dtype=object)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("name", CHOICES)
def test_what_chosen_shares_leave_of_one_does_not_cancel(name, precise):
    f = CHOICES[name]
    with mp.workdps(60):
        left = 1 - np.asarray(f(exactly(map(mp.mpf, Z.tolist()))), dtype=object)
        truth, log = (np.vectorize(lambda x, g=g: float(g(x)))(left) for g in (mp.mpf, mp.log))
    for written in (lambda z: 1 - f(share(z)), lambda z: np.exp(np.log(1 - f(share(z))))):
        np.testing.assert_allclose(rg.stabilize(written, precise=precise)(Z), truth, rtol=2e-14)
    by_name = rg.stabilize(lambda z: np.log1p(-f(share(z))), precise=precise)(Z)
    np.testing.assert_allclose(by_name, log, rtol=1e-13)
    twice = rg.stabilize(lambda z: 3 * z[1] - 3 * z[1] * f(share(z)), precise=precise)(Z)
    np.testing.assert_allclose(twice, -9 * truth, rtol=1e-14)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CHOICES)
def test_slopes_of_logarithms_of_what_chosen_shares_leave(name):
    f = CHOICES[name]

    def loss(p):
        return np.sum(np.log(1 - f(p)) if p.dtype.kind == "f" else [mp.log(x) for x in np.ravel(1 - f(p))])

    found = rg.grad(lambda z: loss(share(z)), precise=False)(Z)
    for i in range(3):
        with mp.workdps(80):
            at = [[mp.mpf(x) + (i == k) * h for k, x in enumerate(Z.tolist())] for h in (-1e-30, 1e-30)]
            slope = (loss(exactly(at[1])) - loss(exactly(at[0]))) / 2e-30
        np.testing.assert_allclose(found[i], float(slope), rtol=1e-12, atol=1e-14)


def test_sizes_of_odd_functions_leave_what_they_leave_of_the_size():
    found = rg.stabilize(lambda x: 1 - np.abs(np.tanh(x)), precise=False)(
        np.array([30.0, -30.0, 0.0, np.nan])
    )
    np.testing.assert_allclose(found, [2 * np.exp(-60), 2 * np.exp(-60), 1, np.nan], rtol=1e-15)
    given = rg.stabilize(lambda p: 1 - np.maximum(p, 0.2), precise=False).source(np.array([0.3]))
    assert "1.0 - np.maximum(p, 0.2)" in given


def test_choices_may_be_nested_deeply():
    def highest(z):
        p = share(z)
        largest = p[0]
        for i in range(1, len(z)):
            largest = np.maximum(largest, p[i])
        return 1 - largest

    z = np.linspace(-30.0, 30.0, 600)
    found = rg.stabilize(highest, precise=False, validate=False)(z)
    np.testing.assert_allclose(found, np.exp(-30) / (1 + np.exp(-30)), rtol=1e-14)


@pytest.mark.parametrize(
    "product",
    [
        lambda p: np.prod(1 - p),
        lambda p: np.prod((1 - p) ** np.array([5.0, 10.0, 3.0])),
        lambda p: np.prod(np.where(C, 1 - p, 1)),
        lambda p: np.prod(np.where(p > 0, (1 - p) ** 7.0, 1.0)),
    ],
)
def test_what_a_product_of_numbers_near_one_leaves_of_it(product):
    """1 − Π (1 − pᵢ)ⁿ = −prod1pm1(power1pm1(−pᵢ, n)), also of those that a mask keeps."""
    p = np.array([1e-12, 1e-11, 0.0])
    with mp.workdps(60):
        exact = product(np.array([mp.mpf(x) for x in p.tolist()], dtype=object))
        want = float(1 - exact)
    f = rg.stabilize(lambda p: 1 - product(p), precise=False)
    np.testing.assert_allclose(f(p), want, rtol=1e-14)
    g = rg.stabilize(lambda p: np.log(1 - product(p)), precise=False)
    np.testing.assert_allclose(g(p), np.log(want), rtol=1e-15)


NEAR_ONE = {
    "eˣ·cos y − 1": lambda m, x, y: m.exp(x) * m.cos(y) - 1,
    "1 − cos x·cosh³y": lambda m, x, y: 1 - m.cos(x) * m.cosh(y) ** 3,
    "1 − cos x/cosh y": lambda m, x, y: 1 - m.cos(x) / m.cosh(y),
    "√(cosh x)·cos y − 1": lambda m, x, y: m.sqrt(m.cosh(x)) * m.cos(y) - 1,
    "cosh x − cos y": lambda m, x, y: m.cosh(x) - m.cos(y),
    "cosh² x − tanh² y": lambda m, x, y: m.cosh(x) ** 2 - m.tanh(y) ** 2,
    "cosh x·cosh y − cos x·cos y": lambda m, x, y: m.cosh(x) * m.cosh(y) - m.cos(x) * m.cos(y),
    "y + 3·cosh x − 3·exp(−y²)": lambda m, x, y: y + 3 * m.cosh(x) - 3 * m.exp(-y * y),
    "arccos(cos x·cos y)": lambda m, x, y: m.arccos(m.cos(x) * m.cos(y)),
    "arccos(cos x·cos y·exp(−x²))": lambda m, x, y: m.arccos(m.cos(x) * m.cos(y) * m.exp(-x * x)),
    "arccos(cos x·cos y/2)": lambda m, x, y: m.arccos(m.cos(x) * m.cos(y) / 2),
    "arccos(1 − x²)": lambda m, x, y: m.arccos(1 - x * x) + 0 * y,
    "arcosh(cosh x·cosh y)": lambda m, x, y: m.arccosh(m.cosh(x) * m.cosh(y)),
}


class Exactly:
    """mpmath by NumPy's names."""

    arccos, arccosh = staticmethod(mp.acos), staticmethod(mp.acosh)

    def __getattr__(self, name):
        return getattr(mp, name)


@pytest.mark.parametrize("name", NEAR_ONE)
def test_products_of_several_functions_near_one_leave_what_each_leaves(name):
    """f(x, y), and its slopes, with `precise=False`: near (0, 0), where all is 1, and far away."""
    f = NEAR_ONE[name]
    plain = lambda x, y: f(np, x, y)
    value, slopes = rg.stabilize(plain, precise=False), rg.grad(plain, (0, 1), precise=False)
    for x, y in [(0.3, 0.2), (1e-5, 3e-9), (-2e-9, 1e-4), (1.2, 20.0), (-0.7, 4.0), (1e-8, 1.0)]:
        if "arccos(1" in name and abs(x) > 1.4:
            continue
        with mp.workdps(120):
            h, m = mp.mpf(1e-50), Exactly()
            a, b = mp.mpf(x), mp.mpf(y)
            true = (
                f(m, a, b),
                (f(m, a + h, b) - f(m, a - h, b)) / (2 * h),
                (f(m, a, b + h) - f(m, a, b - h)) / (2 * h),
            )
        if any(isinstance(t, mp.mpc) for t in true):
            continue
        np.testing.assert_allclose(value(x, y), float(true[0]), rtol=1e-13)
        np.testing.assert_allclose(slopes(x, y), list(map(float, true[1:])), rtol=1e-12, atol=1e-290)


@pytest.mark.parametrize(
    ("f", "truth"),
    [
        (lambda r, z: 1 + r**2 - 2 * r * np.cos(z), lambda r, z: 1 + r**2 - 2 * r * mp.cos(z)),
        (lambda r, z: 2 * r * np.cos(z) - r * r - 1, lambda r, z: 2 * r * mp.cos(z) - r * r - 1),
        (lambda r, z: 4 * r * r + 9 * z**2 - 12 * r * z * np.exp(-z), None),
        (lambda r, z: r * r + (r + z) ** 2 - 2 * r * (r + z) * np.exp(-z), None),
        (lambda r, z: 1 + r**2 + z**2 - 2 * r * np.cos(z), None),
        (lambda r, z: 1 + r**2 + 2 * r * np.cos(z), None),
    ],
)
@pytest.mark.parametrize(
    "r, z", [(1 + 2.0**-30, 1e-7), (1.0, 1e-9), (0.3, 2.0), (-2.0, 3.0), (1.0, 0.0), (1.5, 30.0)]
)
def test_squares_of_differences_where_a_factor_is_one(f, truth, r, z):
    """x² + y² − 2·x·y·cos z = (x − y)² + 2·x·y·versin z, and with e⁻ᶻ in the place of cos z"""
    got = rg.stabilize(f, precise=False)(r, z)
    if truth is None:
        np.testing.assert_allclose(got, f(r, z), rtol=1e-13, atol=1e-14)
        return
    with mp.workdps(60):
        np.testing.assert_allclose(got, float(truth(mp.mpf(r), mp.mpf(z))), rtol=1e-14)


@pytest.mark.parametrize(
    "share",
    [
        lambda x: x[1, 2] / np.sum(x),
        lambda x: x[1] / np.sum(x),
        lambda x: x.T / np.sum(x),
        lambda x: x[0] / np.sum(x, axis=1, keepdims=True),
        lambda x: x.T / np.sum(x, axis=0),
        lambda x: x[:, 0] / np.sum(x, axis=1),
        lambda x: x[:, 0] / np.sum(x, axis=0),
        lambda x: x[::-1] / np.sum(x, axis=1, keepdims=True),
        lambda x: np.roll(x, 1, 0) / np.sum(x, axis=1, keepdims=True),
    ],
)
@pytest.mark.parametrize("of", [lambda x: x, np.exp])
def test_entries_over_sums_that_they_may_be_no_summands_of(share, of):
    """1 − x[i]/Σ x is the share of the others where Σ is that of all entries; beside several sums NumPy's answer."""
    x = np.random.default_rng(0).uniform(0.5, 2, (4, 4))
    left = lambda x: 1 - share(of(x))
    np.testing.assert_allclose(rg.stabilize(left, validate=False)(x), left(x), rtol=1e-12)


@pytest.mark.parametrize(
    "left",
    [
        lambda x: 1 - x[:, 0] / np.sum(x, axis=1),
        lambda x: 1 - x[:, :1] / np.sum(x, axis=1, keepdims=True),
        lambda x: 1 - x.T[0] / x.sum(axis=1),
        lambda x: 1 - np.max(x, axis=1) / np.sum(x, axis=1),
    ],
)
def test_an_entry_of_each_row_leaves_the_others_of_its_row(left):
    x = np.array([[1.0, 1e-20, 2e-20], [1.0, 3e-18, 1e-30]])
    others = x[:, 1:].sum(axis=1)
    for precise in (True, False):
        found = rg.stabilize(left, precise=precise)(x)
        np.testing.assert_allclose(np.ravel(found), others, rtol=1e-14)


def test_the_largest_of_a_sum_that_is_negative_leaves_what_numpy_says():
    left = lambda x: 1 - np.max(x) / np.sum(x)
    for x in ([-1.0, -2.0, -4.0], [3.0, -4.0, -1.0], [2.0, 2.0, 1.0]):
        x = np.array(x)
        assert rg.stabilize(left)(x) == pytest.approx(left(x), rel=1e-15)
        want = rg.grad(left, strategy="naive")(x)
        np.testing.assert_allclose(rg.grad(left)(x), want, rtol=1e-14)


@pytest.mark.parametrize("of", [lambda r: np.exp(-r), lambda r: r, lambda r: 3 * np.exp(r) / r, np.sqrt])
def test_a_share_is_taken_of_what_stands_beside_it_however_that_is_written(of):
    """w − w·Φ(x) = w·Φ(−x), of an exponential w too, which has a complement of its own"""
    r, x = 0.75, 9.0
    lost = lambda r, x: of(r) - of(r) * sp.ndtr(x)
    with mp.workdps(60):
        left = mp.erfc(x / mp.sqrt(2)) / 2
    found = rg.stabilize(lost, precise=False)(r, x)
    np.testing.assert_allclose(found, of(r) * float(left), rtol=1e-14)


V = np.array([1.0, 2.0, 3.0])


def _cosine_in_norms(x, y):
    return np.sum(x * y, -1) / (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1))


def _cosine_in_a_root(x, y):
    return x @ y / np.sqrt((x @ x) * (y @ y))


def _versine(x, y, times=1):
    """k·(1 − c) = k·(Σ x²·Σ y² − (Σ x·y)²)/(Σ x²·Σ y²·(1 + c)), in many digits."""
    x, y = ([mp.mpf(float(v)) for v in z] for z in (x, y))
    return float(times * (1 - mp.fdot(x, y) / mp.sqrt(mp.fdot(x, x) * mp.fdot(y, y))))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("cosine", [_cosine_in_norms, _cosine_in_a_root])
@pytest.mark.parametrize("times", [1, 2, 0.5])
@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e170])
@pytest.mark.parametrize(
    "y",
    [V + np.array([0, 0, 1e-7]), V * 0.3 + [1e-6, 0, 0], [3.0, 0, -1], [1.0, 0, 0], -V + [0, 1e-6, 0], -V],
)
def test_near_directions_have_the_distance_that_they_have(y, scale, times, cosine):
    x, y = V / scale, np.asarray(y) * scale
    with mp.workdps(60):
        want = _versine(x, y, times)
    distance = rg.stabilize(lambda x, y: times - times * cosine(x, y), precise=False)
    np.testing.assert_allclose(distance(x, y), want, rtol=1e-13 if want > 1e-4 else 1e-8)


@pytest.mark.parametrize("cosine", [_cosine_in_norms, _cosine_in_a_root])
def test_the_distance_of_one_direction_from_itself_has_a_curvature(cosine):
    """d²(1 − c) = Σ v²/Σ x² − (Σ x·v)²/(Σ x²)² where x = y, though lengths across x have no slope there"""
    v, square = np.array([0.5, -1.0, 2.0]), V @ V
    slope = lambda x: np.sum(v * rg.grad(lambda x: 1 - cosine(x, V))(x))
    np.testing.assert_allclose(
        rg.grad(slope, precise=False)(V), v / square - V * (V @ v) / square**2, rtol=1e-12
    )
    np.testing.assert_allclose(rg.grad(lambda x: 1 - cosine(x, V), precise=False)(V), 0, atol=1e-16)


def test_directions_of_rows_and_of_what_is_empty():
    x = np.arange(6.0).reshape(2, 3) + 1
    distance = rg.stabilize(lambda x, y: 1 - _cosine_in_norms(x, y), precise=False)
    for y in (x[::-1] + 0.25, V, x[:, :1] * 0 + V):
        want = [_versine(u, v) for u, v in zip(*np.broadcast_arrays(x, y), strict=True)]
        np.testing.assert_allclose(distance(x, y), want, rtol=1e-9, atol=1e-60)
        np.testing.assert_allclose(
            distance(*(z.astype(np.float32) for z in (x, y))), want, rtol=2e-5, atol=1e-15
        )
    np.testing.assert_array_equal(distance(x[:, :1], -x[:, :1]), [2, 2])
    assert distance(x[:0], x[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("log", "base"), [(np.log, mp.e), (np.log2, mp.mpf(2)), (np.log10, mp.mpf(10))], ids=["e", "2", "10"]
)
@pytest.mark.parametrize(
    ("f", "left", "xs"),
    [
        (sp.erf, mp.erfc, [6.0, 0.3, 1e-20]),
        (lambda x: sp.gammainc(2.0, x), lambda x: (1 + x) * mp.exp(-x), [45.0, 2.0]),
        (np.cos, lambda x: 2 * mp.sin(x / 2) ** 2, [1e-5, 1.0]),
    ],
    ids=["erf", "gammainc", "cos"],
)
def test_logarithms_near_zero_are_of_what_is_left_of_one(f, left, xs, log, base):
    """log f(x) = log(1 − (1 − f(x))), by what is left of one where that is little."""
    found = rg.stabilize(lambda x: log(f(x)), precise=False)(np.array(xs))
    with mp.workdps(60):
        truth = [float(mp.log(1 - left(mp.mpf(x)), base)) for x in xs]
    np.testing.assert_allclose(found, truth, rtol=4e-15)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    "x", [[1e9, 0.25], [0.25, 1e9, 4.0], [1.0], [3.0, 0.0], [1e9, -1.0], [[1e9, 1.0], [1.0, 3.0]]], ids=str
)
def test_logarithms_of_shares_near_one(x, kind):
    """log(x[i]/Σ x) is of what the others have, and log(1 − x[i]/Σ x) of what x[i] has."""
    x = np.array(x, kind)
    exact = np.vectorize(mp.mpf, otypes=[object])(x.astype(float))
    for of in (lambda x: x[..., 0] / np.sum(x, -1), lambda x: 1 - x[..., -1] / np.sum(x, -1)):
        found = rg.stabilize(lambda x, of=of: np.log(of(x)), precise=False)(x)
        with mp.workdps(60):
            share = np.asarray(of(exact), dtype=object)
            truth = np.vectorize(lambda p: float(mp.log(p)) if p else -np.inf, otypes=[float])(share)
        assert found.dtype == kind
        np.testing.assert_allclose(found, truth, rtol=8 * np.finfo(kind).eps)


@pytest.mark.parametrize("y", [2e-9, -0.5, 3.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: 1 - (1 - x) * (1 - y),
        lambda x, y: 3 - 3 * (1 + x) ** 2 * (1 - x * y),
        lambda x, y: y - y * (1 - x) * (1 - y * x) * (1 + x * x),
    ],
    ids=["either of two", "a power", "a whole"],
)
def test_what_a_product_of_sums_leaves_of_one(f, y):
    """1 − (1 − x)·(1 − y) = x + (1 − x)·y, which loses nothing where x and y are small."""
    found = rg.stabilize(f, precise=False)
    for x in (1e-9, -1e-12, 0.3, 7.0):
        with mp.workdps(60):
            truth = float(f(mp.mpf(x), mp.mpf(y)))
        np.testing.assert_allclose(found(x, y), truth, rtol=4e-15)


def test_weighted_logarithms_of_shares_near_one():
    """w·log p is of what is left of one, and 0 where w is."""
    x, w = np.array([3e8, 1e3, 0.0]), np.array([2.0, 1.0, 0.0])
    found = rg.stabilize(lambda x: w * np.log(x / np.sum(x)), precise=False)(x)
    rest = mp.mpf(1000) / (mp.mpf(300000000) + 1000)
    np.testing.assert_allclose(found[:2], [float(2 * mp.log1p(-rest)), float(mp.log(rest))], rtol=4e-15)
    entropy = rg.stabilize(lambda x: -np.sum(sp.xlogy(x / np.sum(x), x / np.sum(x))), precise=False)(x)
    np.testing.assert_allclose(
        entropy, float(-(1 - rest) * mp.log1p(-rest) - rest * mp.log(rest)), rtol=4e-15
    )


LEFT_OF_ONE = {
    "a cube": lambda m, x: 1 - (1 - m.exp(-x)) ** 3,
    "a square": lambda m, x: 2 - 2 * (1 - m.exp(-x)) ** 2,
    "a square of a power": lambda m, x: 1 - (1 - (1 / (1 + x)) ** 32.5) ** 2,
    "a cube below zero": lambda m, x: x + x * (m.exp(-x) - 1) ** 3,
    "a cube of an odd function": lambda m, x: 1 - m.tanh(x) ** 3,
    "the log of a cube": lambda m, x: m.log(1 - (1 - m.exp(-x)) ** 3),
    "the log of a power": lambda m, x: m.log(1 - (1 / (1 + x)) ** 32.5),
    "a mean": lambda m, x: 1 - (m.tanh(x) + m.tanh(x + 1)) / 2,
    "two shares": lambda m, x: 2 - m.tanh(x) - m.tanh(x + 1),
    "two shares from below": lambda m, x: m.tanh(-x) + 2 - m.tanh(x + 1),
    "the log of a mean": lambda m, x: m.log((m.tanh(x) + m.tanh(x + 1)) / 2),
    "the log of a mean with weights that are rounded": lambda m, x: m.log(
        0.3 * (1 - m.exp(-x)) + 0.7 * m.tanh(x)
    ),
}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", LEFT_OF_ONE)
def test_what_powers_and_means_leave_of_one(name, kind):
    """1 − (1 − e⁻ˣ)³ has the digits of e⁻ˣ, and 2 − p − q = (1 − p) + (1 − q), of any shape."""
    f = LEFT_OF_ONE[name]
    x = np.array([[40.0, 30.0, 0.7], [7.0, 2.0, 1.0]], kind)
    with mp.workdps(200):
        truth = np.vectorize(lambda v: float(f(mp, mp.mpf(float(v)))))(x)
    found = rg.stabilize(lambda x: f(np, x), precise=False)
    limits = np.finfo(kind)
    if kind == np.float64 or "rounded" not in name:  # in float32, 0.3 and 0.7 are others
        np.testing.assert_allclose(found(x), truth, rtol=64 * limits.eps, atol=limits.tiny)
        np.testing.assert_allclose(found(x[1, 0]), truth[1, 0], rtol=64 * limits.eps, atol=limits.tiny)
    assert found(x[:, :0]).shape == (2, 0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (1 + x) * (1 + y) - 1 - (x + y),
        lambda x, y: (1 - x) * (1 + y) - (1 - x),
        lambda x, y: (1 + x) * (1 - y) * (1 + x * y) + y - x - 1,
        lambda x, y: (1 + x) * y - (y + x * y * y),
    ],
)
@pytest.mark.parametrize("y", [3e-9, -0.5, np.array([[2e-7], [3.0]])])
def test_parts_of_what_a_product_of_sums_leaves_of_one_meet_summands(f, y):
    """(1 + x)·(1 + y) − 1 − (x + y) = x·y"""
    x = np.array([1e-9, -1e-12, 0.3])
    with mp.workdps(60):
        truth = np.vectorize(lambda x, y: float(f(mp.mpf(x), mp.mpf(y))))(x, y)
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(x, y), truth, rtol=1e-14)


@pytest.mark.parametrize("h", [1.5e-9, 2.0, 7e5])
def test_angles_of_quotients_near_one(h):
    """arccos(r/(r + h)) = 2·arctan2(√d, √(2 − d)), d = h/(r + h): how far the horizon dips."""
    r = 6371e3
    with mp.workdps(60):
        dip, arc = mp.acos(mp.mpf(r) / (mp.mpf(r) + h)), mp.acosh((mp.mpf(r) + h) / r)
    assert rg.stabilize(lambda r, h: np.arccos(r / (r + h)), precise=False)(r, h) == pytest.approx(
        float(dip), rel=4e-16
    )
    assert rg.stabilize(lambda r, h: np.arccosh((r + h) / r), precise=False)(r, h) == pytest.approx(
        float(arc), rel=8e-16
    )


def _late(m, x):
    return m.log((1 - m.exp(-x)) * (1 - m.exp(-x - 1)))


@pytest.mark.parametrize(
    "f",
    [
        _late,
        lambda m, x: m.log(m.tanh(x) * (1 - m.exp(-x)) ** 2),
        lambda m, x: m.log(m.cos(1 / x) * m.tanh(x)),
    ],
)
def test_logarithms_of_products_of_shares_near_one(f):
    """log(p·q) is of what both leave of one, (1 − p) + p·(1 − q), and not of 1."""
    x = np.array([40.0, 12.0, 1.0])
    with mp.workdps(60):
        truth = [float(f(mp, mp.mpf(v))) for v in x.tolist()]
    np.testing.assert_allclose(rg.stabilize(lambda x: f(np, x), precise=False)(x), truth, rtol=1e-13)


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_logarithms_of_products_over_axes_of_shares_near_one(precise, sign):
    """log Π p is Σ log p of sizes where the product is not negative, and -inf where a factor is 0."""
    x = sign * np.array([[12.0, 40.0], [0.0, 3.0], [800.0, 1e-320]])
    found = rg.stabilize(lambda x: np.log(np.prod(np.tanh(x), axis=1)), precise=precise)(x)
    size = np.abs(x)
    truth = np.sum(np.log1p(-2 / (np.exp(2 * size[[0]]) + 1)), axis=1)
    np.testing.assert_allclose(found, [*truth, -np.inf, np.log(1e-320)], rtol=4e-15)
    odd = rg.stabilize(lambda x: np.log(np.prod(np.tanh(x), axis=0)), precise=precise)(sign * np.ones((3, 2)))
    np.testing.assert_allclose(odd, 3 * np.log(np.tanh(1.0)) if sign > 0 else np.nan, rtol=4e-15)


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda w, x: w - w * x, lambda w, x: w * (1 - x)),
        (lambda w, x: np.sin(w) * x - np.sin(w), lambda w, x: -np.sin(w) * (1 - x)),
        (lambda w, x: w * x - w * x * x / 2 - w * x * (x / 2), lambda w, x: w * x * (1 - x)),
        (lambda w, x: 3 * w - 2 * w * x - w * x, lambda w, x: 3 * w * (1 - x)),
    ],
)
def test_what_data_leave_of_one_is_computed_before_it_is_multiplied(f: Any, want: Any) -> None:
    """w − w·x = w·(1 − x), right to the last digits where x is near one; w + w·x stays as it is."""
    w, x = np.array([[0.3], [-7.7]]), 1 - np.array([2.0**-50, 3e-9, 0.2])
    stable = rg.stabilize(f, precise=False)
    np.testing.assert_allclose(stable(w, x), want(w, x), rtol=4e-16)
    slope = rg.grad(lambda w, x: np.sum(f(w, x)), precise=False)
    np.testing.assert_allclose(slope(w, x), rg.grad(lambda w, x: np.sum(want(w, x)))(w, x), rtol=1e-15)
    assert rg.stabilize(lambda w, x: w + w * x).explain(w, x).steps == ()


def test_a_product_of_no_factors_has_no_parts_that_it_leaves():
    """x/x = 1, which leaves 0 of one: no sum of parts, that a test of it would look at."""
    x = rg.symbol("x")
    assert left_of(as_term(x / x)) is None


SHARES: dict[str, Any] = {
    "a product": lambda m, x: 1 / ((1 + m.exp(-x)) * (1 + m.exp(-2 * x))),
    "a product of others": lambda m, x: m.tanh(x) / (1 + m.exp(-x)),
    "an odd function": lambda m, x: m.tanh(x),
    "an integral": lambda m, x: m.erf(x),
}


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("name", SHARES)
def test_a_logarithm_of_one_less_a_share_is_right_where_that_is_near_one_and_near_zero(name, precise):
    """log1p(−p) = log_quotient(1 − p, 1, −p): of p the digits count where it is 1e-40, of what it leaves elsewhere."""
    f, x = SHARES[name], np.array([-3.0, 1e-40, 2.0, 30.0, 800.0])
    if "product" in name:
        x[1] = -30.0
    with mp.workdps(800):
        truth = [float(mp.log1p(-f(mp, mp.mpf(v)))) for v in x[:4].tolist()]
    plain = Namespace(exp=np.exp, tanh=np.tanh, erf=sp.erf)
    found = rg.stabilize(lambda x: np.log1p(-f(plain, x)), precise=precise)(x)
    np.testing.assert_allclose(found[:4], truth, rtol=1e-13)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("precise", [True, False])
def test_a_logarithm_of_one_less_a_product_over_an_axis_is_right_where_that_is_near_zero(precise):
    """log1p(−Π (1 − (1 − q)²)): a factor is near 0 where q is, and near 1 where that is."""
    q = np.array([[0.3, 1e-4, 1e-4, 0.5, 0.1], 1 - np.array([1e-9, 2e-9, 1e-12, 0.0, 1e-10])])
    f = lambda q: np.log1p(-np.prod(1 - (1 - q) * (1 - q), axis=-1))
    with mp.workdps(60):
        truth = [float(mp.log1p(-mp.fprod([1 - (1 - mp.mpf(v)) ** 2 for v in row]))) for row in q.tolist()]
    np.testing.assert_allclose(rg.stabilize(f, precise=precise)(q), truth, rtol=1e-14)


@pytest.mark.parametrize("offset", [1e-9, -3e-7, 0.0])
@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: np.tanh(x), lambda x: 2 * sp.expit(-2 * x)),
        (
            lambda x: np.tanh(x) / (1 + np.exp(-x)),
            lambda x: sp.expit(-x) + 2 * sp.expit(-2 * x) * sp.expit(x),
        ),
        (lambda x: 2 - np.cosh(1 / x), lambda x: 2 * np.sinh(0.5 / x) ** 2),
    ],
)
def test_what_shares_leave_of_one_and_a_little(f, left, offset):
    """1 − tanh(x) + ε = 2·σ(−2·x) + ε: a number that is nearly one is read as one and the rest."""
    x = np.array([0.3, 30.0, 200.0])
    found = rg.stabilize(lambda x: 1 - f(x) + offset, precise=False)(x)
    np.testing.assert_allclose(found, left(x) + offset, rtol=1e-13)


def test_both_sides_of_an_increment_are_what_they_leave_of_one():
    """log1p(cosh x − 1) − log1p(cosh x − 1 + ε): both are read as 2·sinh²(x/2), so that they are near each other."""
    with mp.workdps(40):
        c = mp.cosh(mp.mpf(3e-4))
        truth = float(mp.log(c) - mp.log(c + mp.mpf(1e-9)))
    e = np.array([3e-4, 3e-4])
    g = lambda e: np.log1p(np.cosh(e) - 1) - np.log1p(np.cosh(e) - 1 + 1e-9)
    np.testing.assert_allclose(rg.stabilize(g, precise=False)(e), truth, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "known"),
    [
        (lambda p: sp.ndtri(1 - p / 2), lambda p: -sp.ndtri(p / 2)),
        (lambda p: sp.logit(1 - p), lambda p: -sp.logit(p)),
        (lambda p: sp.erfinv(1 - p), sp.erfcinv),
        (lambda p: sp.stdtrit(5.0, 1 - p), lambda p: -sp.stdtrit(5.0, p)),
        (lambda p: sp.gammaincinv(2.5, 1 - p), lambda p: sp.gammainccinv(2.5, p)),
        (lambda p: sp.gammainccinv(2.5, 1 - p), lambda p: sp.gammaincinv(2.5, p)),
        (lambda p: sp.betaincinv(2.5, 1.5, 1 - p), lambda p: sp.betainccinv(2.5, 1.5, p)),
        (lambda p: sp.betainccinv(2.5, 1.5, 1 - p), lambda p: sp.betaincinv(2.5, 1.5, p)),
        (lambda p: sp.ellipk(1 - p), sp.ellipkm1),
        (lambda p: np.arctanh(1 - p), lambda p: np.log(2 / p - 1) / 2),
    ],
)
@pytest.mark.parametrize("p", [1e-20, 0.3])
def test_quantiles_of_what_a_probability_leaves(f, known, p):
    """F⁻¹(1 − p) = C⁻¹(p), C = 1 − F"""
    assert rg.stabilize(f, precise=False)(p) == pytest.approx(known(p), rel=1e-14)


@pytest.mark.parametrize("x", [1e-12, 0.3, 1 - 1e-12])
def test_functions_of_roots_of_quotients_near_one(x):
    """1 − √p = (1 − p)/(1 + √p), p = (1 − x)/(1 + x)"""
    with mp.workdps(60):
        root = mp.sqrt((1 - mp.mpf(x)) / (1 + mp.mpf(x)))
        truth = float(mp.atanh(root)), float(mp.acos(root)), float(mp.ellipk(root))
    f = lambda x: np.sqrt((1 - x) / (1 + x))
    for g, known in zip((np.arctanh, np.arccos, sp.ellipk), truth, strict=True):
        assert rg.stabilize(lambda x, g=g: g(f(x)), precise=False)(x) == pytest.approx(known, rel=1e-14)


@pytest.mark.parametrize("d", [1e-9, 2.0])
def test_elliptic_integrals_of_loops_that_nearly_touch(d):
    """1 − 4ab/((a + b)² + d²) = ((a − b)² + d²)/((a + b)² + d²)"""
    f = lambda a, b, d: sp.ellipk(4 * a * b / ((a + b) ** 2 + d**2))
    a, b = 1.5, np.nextafter(1.5, 2)
    known = sp.ellipkm1(((a - b) ** 2 + d**2) / ((a + b) ** 2 + d**2))
    assert rg.stabilize(f, precise=False)(a, b, d) == pytest.approx(known, rel=1e-14)


@pytest.mark.parametrize("r", [1e-12, 0.1])
@pytest.mark.parametrize("steps", [1, 4])
def test_what_gains_leave_of_variances(steps, r):
    """P − P²/(P + r) = P·r/(P + r), P = x + q: filtered variances, summed, and their slopes."""

    def filtered(q, r):
        total, p = 0.0, 1.0
        for i in range(steps):
            p = p + q[i % 2]
            p = p - p / (p + r) * p
            total = total + p
        return total

    q = np.array([0.5, 2.0])
    total, p, slope = 0.0, 1.0, np.zeros(2)
    gained = np.zeros(2)
    for i in range(steps):
        p, slope = p + q[i % 2], slope + np.eye(2)[i % 2]
        p, slope = p * r / (p + r), slope * (r / (p + r)) ** 2
        total, gained = total + p, gained + slope
    assert rg.stabilize(filtered, precise=False)(q, r) == pytest.approx(total, rel=1e-14)
    np.testing.assert_allclose(rg.grad(filtered, precise=False)(q, r), gained, rtol=1e-13)


@pytest.mark.parametrize("u", [-60.0, -0.5])
@pytest.mark.parametrize(
    ("f", "known"),
    [
        (
            lambda u: np.log(1 - np.tanh(3 + u * u) * np.exp(u)),
            lambda m, u: m.log(1 - m.tanh(3 + u * u) * m.exp(u)),
        ),
        (lambda u: np.log(2 - (1 - np.exp(u))), lambda m, u: m.log(1 + m.exp(u))),
    ],
)
def test_logarithms_of_what_products_and_shares_leave_of_one(f, known, u):
    """log(1 − p·q) = −p·q − …, where p is a share, and q far from one; log(2 + expm1(u)) = log1p(eᵘ)"""
    with mp.workdps(60):
        truth = float(known(mp, mp.mpf(u)))
    assert rg.stabilize(f, precise=False)(u) == pytest.approx(truth, rel=1e-14)


def test_what_one_of_two_shares_leaves_is_the_other():
    """log(1 − eᵘ/(eᵘ + c)) = log c − log(eᵘ + c), where that is out of range, too."""
    f = rg.stabilize(
        lambda r, t: np.log(100 - 100 * np.exp(r * t) / (100 + (np.exp(r * t) - 1))), precise=False
    )
    np.testing.assert_allclose(
        f(0.5, np.array([0.1, 3000.0])),
        [np.log(9900) - np.log(99 + np.exp(0.05)), np.log(9900) - 1500],
        rtol=1e-15,
    )
