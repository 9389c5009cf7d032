"""What cancels inside kernels, behind choices, and at the ends of what floats can say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from op_table import TABLES
from quicktions import Fraction

import relgrad as rg
from relgrad.kernels import expit, extended_range, log_expit
from relgrad.kernels.doubled.number import Doubled
from relgrad.logic.group import SumView, added, float_summands

X = rg.symbol("x", shape=()).term


def test_a_discriminant_that_cancels_is_computed_again():
    """√(a² + b² + 2ab·cos C) is d where cos C = (d² − a² − b²)/(2ab), and small."""

    def gap(a, b, d):
        cosine = (d**2 - a**2 - b**2) / (2 * a * b)
        return a + b - np.sqrt(a**2 + b**2 + 2 * a * b * cosine)

    np.testing.assert_allclose(rg.stabilize(gap)(1.0, 1 - 1e-9, 1e-5), 2 - 1e-9 - 1e-5, rtol=1e-15)


def test_the_gap_of_jensen_is_right_for_means_that_cancel():
    x = np.array([1e-9, 3e-9, -1.7e-9])
    found = rg.stabilize(lambda x: np.log(np.mean(np.exp(x))) - np.mean(x))(x)
    np.testing.assert_allclose(found, np.var(x) / 2, rtol=1e-8)


def test_the_largest_entries_may_be_those_that_are_not_chosen():
    def loss(s, y, t):
        share = np.exp(s * t) / (np.exp(s * t) + np.exp(-s * t))
        return -np.sum(np.where(y > 0, np.log(share), np.log(1 - share)))

    s, y = np.array([500.0, -600.0, 3.0]), np.array([1.0, -1.0, 1.0])
    np.testing.assert_allclose(rg.stabilize(loss)(s, y, 2.0), -log_expit(12.0), rtol=1e-15)


def test_logistic_functions_may_leave_the_range_of_floats_on_the_way():
    root = extended_range(lambda x: expit(x) ** -0.5)
    np.testing.assert_allclose(root(np.array([-800.0, 3.0])), [math.exp(400), expit(3.0) ** -0.5], rtol=1e-12)


@pytest.mark.parametrize("ends", [(900.0, -800.0), (-3.0, 1.0)])
def test_intervals_of_logistic_distributions_are_right_in_both_tails(ends):
    f = rg.stabilize(lambda x: np.sum(np.log(1 / (1 + np.exp(-(0.5 - x))) - 1 / (1 + np.exp(-(-1.0 - x))))))
    x = np.array(ends)
    truth = np.sum(log_expit(0.5 - x) + log_expit(1.0 + x) + math.log1p(-math.exp(-1.5)))
    np.testing.assert_allclose(f(x), truth, rtol=1e-15)


def test_turns_that_quaternions_of_either_sign_stand_for():
    def angle(p, q):
        return 2 * np.arccos(np.abs(np.dot(p / np.linalg.norm(p), q / np.linalg.norm(q))))

    p, q = np.array([1.0, 0.0, 0.0, 1e-8]), np.array([1.0, 0.0, 0.0, 0.0])
    for sign in (1, -1):
        np.testing.assert_allclose(rg.stabilize(angle)(sign * p, q), 2e-8, rtol=1e-15)
        slope = rg.grad(angle)(sign * p, q)
        np.testing.assert_allclose(slope, sign * np.array([-2e-8, 0, 0, 2]), rtol=1e-14)


def test_an_exponential_less_its_share_is_taken_over_the_divisor():
    """The growth rate of a logistic curve near its limit is exponentially small."""
    slope = rg.grad(lambda t, k: k * np.exp(t) / (k + (np.exp(t) - 1)), precise=False)
    t, k = 40.0, 3.0
    np.testing.assert_allclose(slope(t, k), k * (k - 1) * np.exp(t) / (k + np.expm1(t)) ** 2, rtol=1e-14)


def test_programs_of_counts_are_computed_again():
    f = rg.grad(lambda x, k: np.log(x**k / (1 + x**k)) * np.asarray(k - 1.0))
    x, k = 1e4, np.int64(3)
    np.testing.assert_allclose(f(x, k), 2 * 3 / (x * (1 + x**3)), rtol=1e-14)


def test_exact_quotients_have_no_error():
    found = Doubled.of(np.array([6.0, 1.0])) / Doubled.of(np.array([3.0, 3.0]))
    assert found.bound[0] < 1e-300 < found.bound[1] < 1e-30


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("tiny", [1e-10, 1e-16, 1e-20])
@pytest.mark.parametrize(
    ("f", "whole"),
    [
        (lambda p, x, e: np.log(1 - p + e), lambda e: math.log(e)),
        (lambda p, x, e: np.log((1 - p + e) * np.exp(x)), lambda e: math.log(e) + 0.5),
        (lambda p, x, e: np.log(2 * (1 - p + e) + x - x), lambda e: math.log(2 * e)),
        (lambda p, x, e: np.log(np.abs(1 - p + e)), lambda e: math.log(e)),
        (
            lambda p, x, e: np.log(1 - p + e) - np.log(1 - p + e + 1e-3),
            lambda e: math.log(e) - math.log(e + 1e-3),
        ),
    ],
)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_tiny_number_is_not_added_to_one_that_cancels(f, whole, tiny, precise, kind):
    p, x = np.ones(2, kind), np.full(2, 0.5, kind)
    found = rg.stabilize(lambda p, x: f(p, x, tiny), precise=precise)(p, x)
    assert found.dtype == kind
    np.testing.assert_allclose(found, whole(tiny), rtol=1e-6 if kind == np.float32 else 1e-12)


def test_numbers_beyond_the_floats_of_a_dtype_are_no_sums():
    assert float_summands(10**300 + 1, np.float32) == [10**300 + 1]
    assert float_summands(10**400 + 1) == [10**400 + 1]
    assert float_summands(Fraction(1, 3)) == [Fraction(1, 3)]
    assert float_summands(1 + Fraction(2) ** -30, np.float32) == [1, Fraction(2) ** -30]
    huge = Fraction(10**401, 3)
    assert added((SumView(0, {X: huge + 1}), 1), (SumView(0, {X: huge}), -1)).terms == {}


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_nor_is_it_in_derivatives_of_mixtures(strategy):
    """log(1 − p + ε) = log(q + ε), q = 1/(1 + eˢ): its second derivative is ε·q/(q + ε)² where q is far below one."""
    loss = lambda s: np.sum(np.log(1 - 1 / (1 + np.exp(-s)) + 1e-20))
    found = rg.hessian(loss, strategy=strategy)(np.array([60.0]))
    q = math.exp(-60)
    np.testing.assert_allclose(found, [[1e-20 * q / (q + 1e-20) ** 2]], rtol=1e-12)


HIDING = {
    f"{kind}: {label}": row
    for kind in ("reduced", "shaped", "indexed", "products", "linalg")
    for label, row in TABLES[kind].items()
    if label not in ("bincount of traced integers", "logaddexp.reduce", "dot method")
}
"""What passes digits on: functions of arrays that are no function of single entries. Left out is one that counts by
values, one that needs digits after the point only, and one that arrays of NumPy do not have traced arrays for.
"""


def _hiding(x, rng, symmetric):
    """x → b, a, u: b·b − a = u is near x, and known exactly; digits cancel in half of the entries."""
    b = rng.normal(size=np.shape(x)) * np.where(rng.random(np.shape(x)) < 0.5, 1.0, 3e4)
    a = b * b - x
    if symmetric:
        b, a = (np.tril(v) + np.tril(v, -1).T for v in (b, a))
    exact = np.vectorize(lambda b, a: float(Fraction(float(b)) ** 2 - Fraction(float(a))), otypes=[float])
    return b, np.asarray(a), exact(b, a)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", HIDING)
def test_what_cancels_before_any_function_has_its_digits_in_each_entry_of_the_result(name):
    """f(b·b − a)ₖ = f(u)ₖ: whatever f does with entries, and whichever k is asked."""
    f, *args = HIDING[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    for i, x in enumerate(args):
        if np.asarray(x).dtype.kind != "f":
            continue
        b, a, u = _hiding(x, rng, np.ndim(x) == 2 and np.array_equal(x, np.transpose(x)))

        def called(v, i=i):
            found = f(*[v if j == i else y for j, y in enumerate(args)])
            return found[-1] if isinstance(found, (tuple, list)) else found

        exact = np.asarray(called(u))
        if exact.dtype.kind != "f":
            continue
        moved = [called(u * (1 + 1e-12 * rng.uniform(-1, 1, np.shape(u)))) for _ in range(3)]
        slack = 30 * np.max([abs(y - exact) for y in moved], axis=0) + 1e-11 * abs(exact)
        for k in [None, *rng.permutation(exact.size)[:2]]:
            at = lambda y, k=k: y if k is None else np.ravel(y)[k]
            found = rg.stabilize(lambda b, a, at=at, called=called: at(called(b * b - a)))(b, a)
            assert np.all(abs(found - at(exact)) <= at(slack)), (i, k)
