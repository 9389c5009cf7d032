"""Entropies and divergences where probabilities are zero, in every way of writing them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relgrad as rg
from relgrad.kernels import xlog_ratio, xlogy

P = np.array([0.0, 0.5, 0.5, 0.0])
Q = np.array([0.0, 0.25, 0.75, 0.0])
LABELS = np.array([0.0, 1.0, 1.0, 0.0])
S, log, log1p = np.sum, np.log, np.log1p
ENTROPY, DIVERGENCE = np.log(2), 0.5 * np.log(4 / 3)
CROSS = -0.5 * np.log(0.25) - 0.5 * np.log(0.75)

VALUES = {
    ENTROPY: """-S(p*log(p)); -S(log(p)*p); -p @ log(p); -np.dot(p, log(p)); -np.mean(p*log(p))*4; S(p*log(1/p));
        -S(p*np.log2(p))*np.log(2.0); -0.5*S(2*p*log(p)); -S(np.where(p > 0, p*log(p), 0.0)); S(-p*log(p));
        -S(p*log(p), axis=0); -(p[0]*log(p[0]) + p[1]*log(p[1]) + p[2]*log(p[2]) + p[3]*log(p[3]))""",
    DIVERGENCE: """S(p*log(p/q)); S(p*(log(p) - log(q))); S(p*log(p)) - S(p*log(q)); S(p*log(p) - p*log(q));
        -S(p*log(q/p)); -S(p*(log(q) - log(p))); np.mean(p*log(p/q))*4; p @ (log(p) - log(q))""",
    CROSS: "-S(p*log(q)); -S(log(q)*p); -p @ log(q); -S(2*p*log(q))/2; -np.mean(p*log(q))*4",
}
CASES = [(want, text.strip()) for want, texts in VALUES.items() for text in texts.split(";")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("want", "text"), CASES, ids=[t for _, t in CASES])
def test_nothing_times_the_log_of_nothing_is_nothing(want, text):
    code = compile(text, text, "eval")
    f = lambda p, q: eval(code, globals(), {"p": p, "q": q})
    np.testing.assert_allclose(rg.stabilize(f)(P, Q), want, rtol=1e-15)
    slope = rg.grad(f, 1)(P, Q)
    uses_q = "q" in text
    np.testing.assert_allclose(slope, [0, -2 * uses_q, -2 / 3 * uses_q, 0], rtol=1e-15, atol=0)
    first = rg.grad(f)(P[1:3], Q[1:3]) if "p[3]" not in text and "*4" not in text else None
    if first is not None and want == ENTROPY:
        np.testing.assert_allclose(first, -np.log(0.5) - 1 + np.zeros(2), rtol=1e-14)


def test_likelihoods_of_certain_outcomes():
    f = lambda p, y: -S(y * log(p) + (1 - y) * log(1 - p))
    certain = np.array([0.0, 1.0, 0.5, 0.0])
    np.testing.assert_allclose(rg.stabilize(f)(certain, LABELS), np.log(2), rtol=1e-15)
    np.testing.assert_allclose(rg.grad(f)(certain, LABELS), [1, -1, -2, 1])
    hot = lambda p: -S(LABELS * log(p))
    np.testing.assert_allclose(rg.grad(hot)(P), [0, -2, -2, 0])
    curved = rg.grad(lambda p: S(rg.grad(hot)(p) * np.arange(4.0)))(P)
    np.testing.assert_allclose(curved, [0, 4, 8, 0])


def test_binary_entropy_and_the_divergence_of_jensen_and_shannon():
    f = lambda p: -S(p * log(p) + (1 - p) * log(1 - p))
    np.testing.assert_allclose(rg.stabilize(f)(np.array([0.0, 1.0, 0.5])), np.log(2), rtol=1e-15)
    tiny = np.array([1e-20])
    np.testing.assert_allclose(rg.stabilize(f)(tiny), 1e-20 * (1 - np.log(1e-20)), rtol=1e-15)
    js = lambda p, q: 0.5 * S(p * log(2 * p / (p + q))) + 0.5 * S(q * log(2 * q / (p + q)))
    m = 0.5 * (P + Q)[1:3]
    want = 0.5 * S(P[1:3] * np.log(P[1:3] / m)) + 0.5 * S(Q[1:3] * np.log(Q[1:3] / m))
    np.testing.assert_allclose(rg.stabilize(js)(P, Q), want, rtol=1e-14)


def test_counts_with_a_rate_of_zero():
    f = lambda rate, k: S(k * log(rate) - rate)
    rate, k = np.array([0.0, 2.0]), np.array([0.0, 3.0])
    np.testing.assert_allclose(rg.stabilize(f)(rate, k), 3 * np.log(2) - 2)
    np.testing.assert_allclose(rg.grad(f)(rate, k), [-1, 0.5])


def test_a_log_squared_is_no_weighted_log():
    assert "xlogy" not in rg.stabilize(lambda x: S(log(x) ** 2)).source(P)


def test_ratios_near_one():
    x = np.array([1.0, 1.0 + 2**-40, -2.0, 0.0])
    y = np.array([1.0, 1.0, -3.0, 0.0])
    want = [0.0, (1 + 2**-40) * np.log1p(2**-40), -2 * np.log(2 / 3), 0.0]
    np.testing.assert_allclose(xlog_ratio(x, y, x - y), want, rtol=1e-15)
    assert np.isnan(xlog_ratio(1.0, -1.0, 2.0))
    np.testing.assert_allclose(xlog_ratio(1e300, 1e-300, 1e300), 1e300 * np.log(10) * 600, rtol=1e-15)


def test_a_log_mean_less_the_mean_of_exponents_is_a_divergence():
    """log(Σ eᶻ/n) − Σ p·z is −Σ p·log(n·p): −log n where one share is all, though both are large."""
    f = lambda z: np.log(np.mean(np.exp(z))) - S(z * np.exp(z) / S(np.exp(z)))
    for shift in (0.0, 3000.0, -1e5):
        assert rg.stabilize(f)(shift + np.array([0.0, -900.0, -800.0])) == pytest.approx(
            -np.log(3), rel=4e-16
        )
    slope = rg.grad(lambda a, x: np.log(np.mean(np.exp(x / a))) * a)
    assert slope(0.001, np.array([1.0, 2.0, -1.5])) == pytest.approx(-np.log(3), rel=4e-16)


@pytest.mark.parametrize("beta", [150.0, 1.0, 1e-9])
def test_energies_of_opposite_signs_are_exponents_of_one_sum(beta):
    """-log Z/β of energies ±1 and 1/2: its slope in β is the entropy over β², of which parts are far larger."""
    free = lambda b: -np.log(np.exp(b) + np.exp(-b) + 2 * np.exp(-b / 2)) / b
    written_otherwise = lambda b: -np.log(2 * np.cosh(b) + 2 * np.exp(-b / 2)) / b
    energies, counts = np.array([-1.0, 1.0, 0.5]), np.array([1.0, 1.0, 2.0])
    weights = counts * np.exp(-beta * (energies + 1))
    entropy = S(weights * (np.log1p(weights[1:].sum()) + beta * (energies + 1))) / weights.sum()
    for f in (free, written_otherwise):
        np.testing.assert_allclose(
            rg.grad(f, precise=False)(beta), entropy / beta**2, rtol=1e-12, atol=1e-200
        )


@pytest.mark.parametrize("t", [2.0, 60.0, 900.0])
def test_a_divisor_is_read_through_what_its_summands_mean(t):
    """K·eˣ/(K - 1 + eˣ) has the slope K·(K - 1)·eˣ/(K - 1 + eˣ)²."""
    f = lambda x, K: K * np.exp(x) / (K - 1 + np.exp(x))
    e = np.exp(-t)
    np.testing.assert_allclose(rg.grad(f, precise=False)(t, 100.0), 9900 * e / (1 + 99 * e) ** 2, rtol=1e-13)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_largest_less_what_is_just_below_it(axis):
    x = np.array([[100.0, 1.0, 2.0], [-1.0, -3.0, 90.0]])
    y = np.sort(x, axis=axis)
    largest, others = np.take(y, [-1], axis), np.delete(y, -1, axis)
    gaps = S(np.exp(others - largest), axis=axis)
    f = rg.stabilize(lambda x: np.max(x, axis=axis) - log(S(np.exp(x), axis=axis)), precise=False)
    np.testing.assert_allclose(f(x), -log1p(gaps), rtol=1e-14)
    mean = lambda x: S(np.exp(x) * x, axis=axis) / S(np.exp(x), axis=axis)
    expected = S((largest - others) * np.exp(others - largest), axis=axis) / (1 + gaps)
    g = rg.stabilize(lambda x: np.max(x, axis=axis) - mean(x), precise=False)
    np.testing.assert_allclose(g(x), expected, rtol=1e-13)
    h = rg.stabilize(lambda x: mean(x) - np.min(x, axis=axis), precise=False)
    np.testing.assert_allclose(h(x), y.max(axis=axis) - y.min(axis=axis) - expected, rtol=1e-14)


@pytest.mark.parametrize("x", [4e-15, -3e-9, 0.3, 40.0, -800.0])
def test_bernoulli_functions_of_opposite_arguments(x):
    f = rg.stabilize(lambda x: x / (1 - np.exp(-x)) - x / (np.exp(x) - 1), precise=False)
    assert f(x) == x


def test_the_divergence_of_rare_events_knows_the_distance_of_their_complements():
    f = lambda p, q: p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    p, q = 1e-17, 1e-16
    for precise in (True, False):
        assert rg.stabilize(f, precise=precise)(p, q) == pytest.approx(p * np.log(p / q) + q - p, rel=1e-15)
    assert rg.stabilize(f)(1.0, 0.5) == pytest.approx(np.log(2), rel=1e-15)


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_running_sums_of_exponentials_of_any_length(n):
    """log cumsum(eˣ) and its gradient: sums of few entries each in the log domain, longer ones in extended range."""
    x, rows = np.linspace(-1500, 900, n), np.tri(n) > 0
    log_sums = lambda x: np.log(np.cumsum(np.exp(x)))
    want = np.logaddexp.accumulate(x)
    np.testing.assert_allclose(rg.stabilize(log_sums)(x), want, rtol=1e-15)
    k = np.cos(np.arange(n))
    got = rg.grad(lambda x: np.sum(log_sums(x) * k))(x)
    np.testing.assert_allclose(got, k @ np.exp(np.where(rows, x - want[:, None], -np.inf)), atol=1e-12)


def _histograms(x, y):
    p, q = x / S(x), y / S(y)
    return S(p * (log(p) - log(q)))


NEARLY_EQUAL = {
    "shares": lambda x, y: log(3) + S(x / S(x) * log(x / S(x))),
    "rows": lambda x, y: S(log(2) + S(_rows(x, y) * log(_rows(x, y)), axis=1)),
    "in units of the largest": lambda x, y: 1 + S(x / S(x) * log(x / S(x))) / log(3),
    "one and the rest": lambda x, y: S(x / 2 * log(x / 2) + (1 - x / 2) * log(1 - x / 2) + log(2)),
    "in bits": lambda x, y: S(1 + x / 2 * np.log2(x / 2) + (1 - x / 2) * np.log2(1 - x / 2)),
    "over the mean": lambda x, y: np.mean(x / np.mean(x) * log(x / np.mean(x))),
    "histograms": _histograms,
    "measures": lambda x, y: S(x * log(x / y) - x + y),
    "what two tell of each other": lambda x, y: _information(np.stack([x, y]) / S(x + y)),
}


def _rows(x, y):
    both = np.stack([x, y], axis=1)
    return both / S(both, axis=1, keepdims=True)


def _information(p):
    return S(p * log(p / (S(p, axis=0, keepdims=True) * S(p, axis=1, keepdims=True))))


@pytest.mark.parametrize("name", NEARLY_EQUAL)
def test_divergences_of_what_is_nearly_equal_are_sums_of_what_is_above_zero(name):
    """Quadratic in how far parts are from equal ones: a quarter where that is a half; far from them NumPy's values."""
    f = NEARLY_EQUAL[name]
    value = rg.stabilize(f, precise=False)
    d, one = np.array([3.0, 1.0, -2.0]), np.ones(3)
    near = [value(one + d * 2.0**-k, one) for k in (29, 30)]
    assert near[0] > 0
    assert near[0] / near[1] == pytest.approx(4, rel=1e-6)
    x, y = np.array([0.3, 1.5, 0.9]), np.array([1.0, 0.2, 0.7])
    assert value(x, y) == pytest.approx(f(x, y), rel=1e-14)
    got = rg.grad(f, argnums=(0, 1), precise=False)(x, y)
    want = rg.grad(f, argnums=(0, 1), strategy="naive")(x, y)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


def test_entropies_beside_other_numbers_are_left_alone():
    """log 4 is not the entropy of three equal shares, nor is log 3 that of what adds up to two."""
    x = np.array([0.3, 1.5, 0.9])
    for f in (
        lambda x: log(4) + S(x / S(x) * log(x / S(x))),
        lambda x: log(3) + S(2 * x / S(x) * log(2 * x / S(x))),
        lambda x: log(3) - S(x / S(x) * log(x / S(x))),
    ):
        assert rg.stabilize(f, precise=False)(x) == pytest.approx(f(x), rel=1e-15)


@pytest.mark.parametrize("zero", [0.0, -0.0, np.zeros(4), np.array([0.0, 1.0, 0.0, 2.0])])
def test_logarithms_of_nothing_are_no_divergences(zero):
    p = np.array([0.1, 0.2, 0.3, 0.4])
    for fun in (lambda p: S(xlogy(p, zero)), lambda p: S(xlogy(p, zero * p)), lambda p: S(p * log(zero * p))):
        with warnings.catch_warnings():
            warnings.simplefilter("error", rg.RelgradWarning)
            assert rg.stabilize(fun)(p) == -np.inf
            assert rg.stabilize(fun, strategy="eager")(p) == -np.inf


@pytest.mark.parametrize("k", [1.0, -0.5, np.log(10) / 10, np.array([2.0, -3.0])])
@pytest.mark.parametrize("y", [0.0, np.array([[7.0], [-30.0]])])
def test_a_log_of_two_exponentials_less_the_extreme_of_both(k, y):
    """log(e^(k·x) + e^(k·y)) − k·max(x, y) = log(1 + e^(−k·|x − y|)), which is small beside both."""
    x = np.array([50.0, 3.0])
    for extreme, sign in ((np.maximum, -1), (np.minimum, 1)):
        f = lambda x, y, k, e=extreme: 3 * np.log(np.exp(k * x) + np.exp(k * y)) / k - 3 * e(x, y)
        for order in ((x, y), (y, x)):
            found = rg.stabilize(f, precise=False)(*order, k)
            np.testing.assert_allclose(found, 3 * np.logaddexp(0, sign * k * np.abs(x - y)) / k, rtol=1e-13)
    beside = rg.stabilize(lambda x: np.log(1 + np.exp(x)) - np.maximum(0, x), precise=False)
    np.testing.assert_allclose(beside(x), np.log1p(np.exp(-x)), rtol=1e-15)


@pytest.mark.parametrize("extreme", [np.max, np.min])
def test_a_log_of_weighted_exponentials_less_an_extreme_stays_weighted(extreme):
    """log Σ w·eˣ − max x is no share of Σ eˣ, of which w takes parts."""
    x, w = np.array([1.0, 3.0, -2.0, 0.5]), np.array([0.0, 2.0, 1.0, 0.5])
    sums = lambda x: np.log(np.cumsum(np.exp(x - extreme(x)))) + extreme(x)
    weighted = lambda x: np.log(np.sum(w * np.exp(x))) - extreme(x)
    for f in (sums, weighted):
        np.testing.assert_allclose(rg.stabilize(f, validate=False)(x), f(x), rtol=1e-13)
