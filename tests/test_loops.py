"""Programs unrolled from loops: ranks stay those of the program as written, and work grows with its length."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counting import calls, chain, counted
from scipy import special

import relgrad as rg
from relgrad.calculus import isolated, lengths
from relgrad.definedness.marks import Mark
from relgrad.errors import OutOfFuel, TraceError
from relgrad.logic import multisets
from relgrad.logscale import domain
from relgrad.op import as_term
from relgrad.schedule import relate
from relgrad.schedule.likeness import Answer, Likeness
from relgrad.schedule.patience import Patience
from relgrad.term import reachable
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

RNG = np.random.default_rng(0)
OBS = RNG.normal(size=64)
POINTS = RNG.normal(size=(3, 2))
PHASES = RNG.uniform(0, 6, size=5)
COSTS = RNG.uniform(size=(4, 5))


def forward_algorithm(n: int) -> Callable[..., Any]:
    def f(a: Any, mu: Any) -> Any:
        alpha = -0.5 * (OBS[0] - mu) ** 2
        for t in range(1, n):
            alpha = np.log(np.sum(np.exp(alpha[:, None] + a), axis=0)) - 0.5 * (OBS[t] - mu) ** 2
        return np.log(np.sum(np.exp(alpha)))

    return f


def sinkhorn(n: int) -> Callable[..., Any]:
    def f(cost: Any) -> Any:
        kernel = np.exp(-cost / 0.5)
        u, v = np.ones(4), np.ones(5)
        for _ in range(n):
            v = 0.2 / (kernel.T @ u)
            u = 0.25 / (kernel @ v)
        return np.sum(u[:, None] * kernel * v[None, :] * cost)

    return f


def oscillators(n: int) -> Callable[..., Any]:
    def f(phase: Any) -> Any:
        for _ in range(n):
            phase = phase + 0.05 * np.mean(np.sin(phase[None, :] - phase[:, None]), axis=1)
        return np.mean(np.cos(phase)) ** 2 + np.mean(np.sin(phase)) ** 2

    return f


def bodies(n: int) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        v = np.zeros((3, 2))
        for _ in range(n):
            d = x[None, :, :] - x[:, None, :]
            v = v + 0.01 * (d / ((d**2).sum(-1) + 0.1)[:, :, None] ** 1.5).sum(1)
            x = x + 0.01 * v
        return np.sum(v**2)

    return f


def filtering(n: int) -> Callable[..., Any]:
    def f(a: Any, r: Any) -> Any:
        h, x, p, total = np.array([[1.0, 0.0]]), np.zeros(2), np.eye(2), 0.0
        for t in range(n):
            x, p = a @ x, a @ p @ a.T + 0.1 * np.eye(2)
            s = (h @ p @ h.T)[0, 0] + r
            gain, e = (p @ h.T)[:, 0] / s, OBS[t] - (h @ x)[0]
            x, p = x + gain * e, p - np.outer(gain, h @ p)
            total = total - 0.5 * (np.log(s) + e**2 / s)
        return total

    return f


def diffusion(n: int) -> Callable[..., Any]:
    def f(u: Any, k: Any) -> Any:
        for _ in range(n):
            u = u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return np.sum(u**2)

    return f


LOOPS: dict[str, tuple[Callable[[int], Callable[..., Any]], tuple[Any, ...], int]] = {
    "forward algorithm": (forward_algorithm, (np.zeros((2, 2)), np.array([-1.0, 1.0])), 2),
    "sinkhorn": (sinkhorn, (COSTS,), 2),
    "oscillators": (oscillators, (PHASES,), 2),
    "bodies": (bodies, (POINTS,), 3),
    "filtering": (filtering, (np.array([[1.0, 0.1], [0.0, 0.98]]), 0.5), 2),
    "diffusion": (diffusion, (OBS[:8], 0.2), 1),
}
"""The loop of n steps, its arguments, and the largest rank in it as written."""


def derived(make: Callable[[int], Callable[..., Any]], args: tuple[Any, ...], n: int) -> Any:
    f = rg.grad(make(n), argnums=tuple(range(len(args))))
    return f.explain(*args).derivation


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LOOPS)
def test_ranks_stay_those_of_the_program_as_written(name: str) -> None:
    make, args, rank = LOOPS[name]
    derivation = derived(make, args, 4)
    for roots in (derivation.before, derivation.after):
        ranks = [t.type.ndim for t in reachable(*roots) if isinstance(t.type, ArrayType)]
        assert max(ranks) <= rank + 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LOOPS)
def test_values_and_gradients_are_those_of_differences(name: str) -> None:
    make, args, _ = LOOPS[name]
    f = make(5)
    np.testing.assert_allclose(rg.stabilize(f)(*args), f(*args), rtol=1e-12)
    direction = [np.asarray(RNG.normal(size=np.shape(x))) for x in args]
    at = lambda s: f(*[x + s * d for x, d in zip(args, direction, strict=True)])
    want = (8 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4
    got = rg.grad(f, argnums=tuple(range(len(args))))(*args)
    along = sum(np.sum(g * d) for g, d in zip(got, direction, strict=True))
    np.testing.assert_allclose(along, want, rtol=1e-7, atol=1e-9)


def looked_at(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> int:
    """Count the places at which relations are looked for in earnest."""
    count = 0
    hopeless = Likeness.is_hopeless

    def counting(self: Likeness, t: Any, how: Any) -> bool:
        nonlocal count
        found = hopeless(self, t, how)
        count += not found
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Likeness, "is_hopeless", counting)
        run()
    return count


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["filtering", "diffusion", "forward algorithm"])
def test_longer_loops_look_for_no_more_than_their_steps_do(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, args, _ = LOOPS[name]
    few, many = (looked_at(monkeypatch, lambda n=n: derived(make, args, n)) for n in (16, 32))
    assert many <= 1.3 * 2 * few


def haplotypes(n: int) -> Callable[..., Any]:
    """Expectation and maximisation, step by step on scalars: shares of shares of shares."""

    def f(z: Any) -> Any:
        w = [v / sum(np.exp(z)) for v in np.exp(z)]
        for _ in range(n):
            total = w[0] * w[1] + w[1] * w[2]
            a, b = w[0] * w[1] / total, w[1] * w[2] / total
            counts = [a + 0.5, a + b, b]
            w = [c / sum(counts) for c in counts]
        return w[1]

    return f


def rational(n: int) -> Callable[..., Any]:
    """Quotients of polynomials in which shares, that are no larger than one, stand beside what may be."""

    def f(z: Any) -> Any:
        p, q = z[0], z[1]
        for _ in range(n):
            p, q = p * q / (1 + 1 / (1 + np.exp(-p)) ** 2), 0.1 * p**3 - 0.2 * (p + q)
            p, q = p / (p * p + q * q + 1), q / (p * p + q * q + 1)
        return p * q

    return f


def decaying(n: int) -> Callable[..., Any]:
    """Sums that are divided by sums with exponentials, which meet exponentials that are none of theirs."""

    def f(z: Any) -> Any:
        p, q = z[0], z[1]
        for _ in range(n):
            p, q = (p + q) / (1 + (0.3 / (1 + np.exp(-p)) + 0.5 * q) ** 2), 0.1 * np.exp(-p) - 0.2 * (p - q)
            p, q = p / (p * p + q * q + 1), q / (p * p + q * q + 1)
        return p * q

    return f


def normed(n: int) -> Callable[..., Any]:
    def f(z: Any) -> Any:
        p, q = z[0], z[1]
        for _ in range(n):
            size = np.sqrt(p * p + q * q)
            p, q = 0.3 * p / size + 0.2 * np.log(np.exp(p) + np.exp(q)), 0.1 * np.exp(-p) - 0.2 * max(p, 0.1)
        return p * q

    return f


def mixture(n: int) -> Callable[..., Any]:
    """Expectation and maximisation on arrays: each sum over points is part of many products."""
    x = np.linspace(-2.0, 3.0, 9) ** 3 / 9

    def f(z: Any) -> Any:
        mu, s, w = z[:2], np.exp(z[2] * np.ones(2)), np.ones(2) / 2
        for _ in range(n):
            p = w * np.exp(-0.5 * ((x[:, None] - mu) / s) ** 2) / s
            r = p / p.sum(1, keepdims=True)
            count = r.sum(0)
            mu = (r * x[:, None]).sum(0) / count
            s, w = np.sqrt((r * (x[:, None] - mu) ** 2).sum(0) / count), count / 9
        return np.sum(np.log((w * np.exp(-0.5 * ((x[:, None] - mu) / s) ** 2) / s).sum(1)))

    return f


RECURRENCES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "product": lambda a, b: -(a * b),
    "log-sum-exp": lambda a, b: np.log(np.exp(a) + np.exp(b)),
    "mean": lambda a, b: (a + b) / 2,
    "difference": lambda a, b: b - 0.5 * a,
}


def test_summands_that_are_too_many_are_counted_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """(a + e^x + e^y)·(b + e^x + …)·…: of three factors 27 summands are one sum; of four there are 81."""
    read: list[Any] = []
    piece = domain._piece
    monkeypatch.setattr(domain, "_piece", lambda *args: read.append(args) or piece(*args))
    x, y = rg.symbol("x"), rg.symbol("y")
    sums = [rg.symbol(f"a{i}") + np.exp((i + 2) * x) + np.exp((i + 3) * y) for i in range(4)]
    assert domain.joined_sum(as_term(sums[0] * sums[1] * sums[2])) is not None
    assert len(read) == 27
    assert domain.joined_sum(as_term(sums[0] * sums[1] * sums[2] * sums[3])) is None
    assert len(read) == 27


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RECURRENCES)
def test_recurrences_of_second_order_are_not_written_out(name: str) -> None:
    """a, b ⟵ b, a + b: both operands of a step share all steps before it, of which a tree would be Fibonacci's."""

    def f(x: Any) -> Any:
        a, b = x[0], x[1]
        for _ in range(40):
            a, b = b, RECURRENCES[name](a, b)
        return b * 1e-9

    x = np.array([1.0, 0.9999])
    np.testing.assert_allclose(rg.grad(f)(x), rg.grad(f, strategy="naive")(x), rtol=1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("make", [mixture, rational, haplotypes, decaying, normed])
def test_twice_the_rounds_are_twice_the_steps(make: Callable[[int], Callable[..., Any]]) -> None:
    z = np.array([0.3, 0.8, -0.2])
    of = {n: rg.grad(make(n)) for n in (2, 4, 8)}
    for n, slope in of.items():
        np.testing.assert_allclose(slope(z), rg.grad(make(n), strategy="naive")(z), rtol=1e-7, atol=1e-15)
    few, some, many = (len(slope.explain(z).steps) for slope in of.values())
    assert many - some < 2.6 * max(some - few, few)


def test_sines_of_sums_are_shared_out_only_beside_those_of_their_summands():
    """sin(x + y) − 2·sin x + sin(x − y) is no part of Σ sin θᵢ, whose angles are sums of all that went before."""

    def swinging(n: int) -> Callable[..., Any]:
        def f(z: Any) -> Any:
            angle, speed = z[0], z[1]
            energy = 0.0
            for _ in range(n):
                speed = speed - 0.49 * np.sin(angle)
                angle = angle + 0.05 * speed
                energy = energy + 9.8 * (1 - np.cos(angle))
            return energy

        return f

    z = np.array([0.3, 0.5])
    few, many = (calls(lambda n=n: rg.grad(swinging(n))(z)) for n in (8, 16))
    assert many < 3 * few
    np.testing.assert_allclose(rg.grad(swinging(6))(z), rg.grad(swinging(6), strategy="naive")(z), rtol=1e-12)


def test_sums_of_a_recurrence_keep_their_beginnings():
    """m ⟵ m + k·(y − m), and so is its covariance: each sum holds the one before, also where parts of both change."""

    def filtered(q: Any, r: Any, y: Any) -> Any:
        m = n = b = total = 0.0
        a = c = 1.0
        for i in range(20):
            m, a, b, c = m + n, a + 2 * b + c + q, b + c, c + q
            s, e = a + r, y[i] - m
            k, h = a / s, b / s
            m, n, a, b, c = m + k * e, n + h * e, (1 - k) * a, (1 - k) * b, c - h * b
            total = total - 0.5 * (np.log(2 * np.pi * s) + e * e / s)
        return total

    args = 0.1, 0.5, np.random.default_rng(0).normal(size=20)
    f = rg.stabilize(filtered)
    assert f(*args) == pytest.approx(filtered(*args), rel=1e-13)
    derivation = f.programs[0].derivation
    before, after = (len(reachable(*terms)) for terms in (derivation.before, derivation.after))
    assert after < 1.2 * before


def test_mixtures_in_a_loop_share_their_parts():
    """k ⟵ k·a/c + (1 − k·a/c)·r, c = a·k + p·(1 − k): what k leaves of one is a product, no sum is written twice."""

    def traced(p: Any, rate: Any) -> Any:
        k, total = 0.2, 0.0
        for i in range(12):
            c = 0.9 * k + p * (1 - k)
            total = total + np.log(c if i % 3 else 1 - c)
            k = 0.9 * k / c if i % 3 else 0.1 * k / (1 - c)
            k = k + (1 - k) * rate
        return total

    slope, naive = rg.grad(traced), rg.grad(traced, strategy="naive")
    for args in (0.3, 0.1), (0.7, 0.999):
        assert slope(*args) == pytest.approx(naive(*args), rel=1e-12)
    sizes = [len(reachable(*f.programs[0].derivation.after)) for f in (slope, naive)]
    assert sizes[0] < 2 * sizes[1]


def test_products_are_shared_out_for_sums_of_products_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """b¹²·Σ z·(1 − z) is no Σ(x² + y²): none of the ways to share b¹², z, … among x and y is tried."""
    built, count = multisets.Products.built, [0]

    def counted(self: Any, *args: Any) -> Any:
        count[0] += 1
        return built(self, *args)

    def orbit(x: Any, b: Any) -> Any:
        z = 1 / (1 + np.exp(-x))
        for _ in range(12):
            z = b * z * (1 - z)
        return np.sum(np.log(z * z + 1))

    monkeypatch.setattr(multisets.Products, "built", counted)
    rg.grad(orbit, 1)(np.array([0.3, -0.2, 1.1, 0.4]), 1.7)
    assert count[0] < 1000


def test_what_flows_through_matrices_is_computed_with_one_sign():
    """−A·S⁻¹(B − C) keeps its sign: A·S⁻¹(C − B) would be a second chain of the same, and the two drift apart."""

    def filtered(a: Any, q: Any) -> Any:
        p, total = np.eye(2), 0.0
        for _ in range(12):
            p = a @ p @ a.T + q @ q.T
            s = p + np.eye(2) / 2
            k = p @ np.linalg.inv(s)
            total = total + np.linalg.slogdet(s)[1]
            p = (np.eye(2) - k) @ p
        return total

    a = np.array([[0.676, 0.590], [1.890, 1.077]]), np.array([[2.038, 0.604], [0.604, 1.370]])
    slope, naive = rg.grad(filtered, (0, 1)), rg.grad(filtered, (0, 1), strategy="naive")
    for got, want in zip(slope(*a), naive(*a), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    count = [f.source(*a).split("def grad_filtered(")[-1].count("linalg.solve(") for f in (slope, naive)]
    assert count[0] <= 2 * 12 + 1, count


def test_conditions_on_data_in_loops_are_told_apart_so_far_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NaN may come from is said of each condition of few, and of all together of many."""
    made = 0

    def counted(self: Mark, **kwargs: Any) -> Mark:
        nonlocal made
        made += 1
        return original(self, **kwargs)

    def f(z: Any, n: int) -> Any:
        p, q = z[0], z[1]
        for _ in range(n):
            p, q = np.arctan2(p, q) + np.tanh(p) / (1 + (p / (p + q)) ** 2), np.where(p > q, p, q) * np.sin(q)
        return p * q

    original = Mark._replace
    monkeypatch.setattr(Mark, "_replace", counted)
    counts = []
    for n in (5, 10):
        made = 0
        rg.grad(lambda z, n=n: f(z, n))(np.array([0.3, 0.8]))
        counts.append(made)
    assert counts[1] < 5 * counts[0] + 1000


def test_what_entries_share_is_selected_from_once() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        for _ in range(40):
            y = y * y / (1 + y * y)
        return y[0] * np.exp(x)[0] / np.sum(np.exp(x))

    x = np.array([0.3, -0.2, 0.1])
    np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-12)


def test_terms_that_lose_no_digits_are_not_gathered() -> None:
    """V - 0.003·V is as good as 0.997·V: gathered, each step would be written with all that were before."""

    def leak(n: int) -> Callable[..., Any]:
        def f(v: Any, m: Any) -> Any:
            for _ in range(n):
                v, m = v - 0.01 * (0.3 * (v + 54.0) + m * v), m + 0.01 * (1 - m) * np.tanh(v)
            return v

        return f

    few, many = (len(reachable(*derived(leak, (-64.0, 0.1), n).after)) for n in (8, 16))
    assert many <= 1.1 * 2 * few
    names = lambda f: [step.name for step in rg.stabilize(f).explain(1.5).steps]
    assert names(lambda x: x - 0.01 * x) == []
    assert names(lambda x: 2 * x - x) == ["cancel_summands"]


def test_a_search_without_time_is_the_program_as_written() -> None:
    f = rg.stabilize(lambda x: np.log(np.sum(np.exp(x))), seconds=0)
    with pytest.warns(OutOfFuel, match="stopped after 0 seconds; the program may not be fully stabilised"):
        result = f(np.array([1.0, 2.0]))
    np.testing.assert_allclose(result, np.log(np.sum(np.exp([1.0, 2.0]))))


def test_gradients_without_time_are_complete() -> None:
    f = lambda x: np.sum(np.exp(x) / np.sum(np.exp(x)) * np.arange(3.0))
    x = np.array([0.1, 0.2, 0.3])
    with pytest.warns(OutOfFuel):
        got = rg.grad(f, seconds=0)(x)
    np.testing.assert_allclose(got, rg.grad(f)(x), rtol=1e-12)


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1", True])
def test_seconds_that_are_no_time_are_refused(seconds: Any) -> None:
    with pytest.raises(TraceError, match="is no time"):
        rg.stabilize(np.sum, seconds=seconds)


def test_progress_is_logged_past_two_seconds(caplog: pytest.LogCaptureFixture) -> None:
    patience = Patience()
    with caplog.at_level(logging.INFO, "relgrad"):
        assert not patience.is_over(1, 0)
        assert not caplog.records
        patience._next = 0.0
        assert not patience.is_over(70, 3)
    assert "70 places, 3 steps" in caplog.text


def test_places_that_look_alike_are_known_by_heads_types_ranges_and_sharing() -> None:
    likeness = Likeness()
    look = lambda make: likeness._look(as_term(make(rg.symbol("x", (3,)), rg.symbol("y", (3,)))))
    assert look(lambda x, y: np.exp(x) * x) != look(lambda x, y: np.exp(x) * y)
    assert look(lambda x, y: x * 2.0) != look(lambda x, y: x * 3.0)
    assert look(lambda x, y: x * np.array([1.0, 2.5, 3.0])) == look(
        lambda x, y: x * np.array([7.0, 2.5, 1.0])
    )
    assert look(lambda x, y: np.log(np.exp(x))) != look(lambda x, y: np.log(x))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", LOOPS)
def test_what_is_made_of_one_place_is_made_of_those_that_look_alike(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs are the same, and so are their steps, whether answers are kept or looked for each time."""
    make, args, _ = LOOPS[name]
    found = []
    for first in (0, 1 << 30):
        monkeypatch.setattr("relgrad.schedule.likeness.FIRST", first)
        found.append(derived(make, args, 12))
    kept, looked_for = found
    assert kept.after == looked_for.after
    assert [(s.name, s.before, s.after, s.bindings) for s in kept.steps] == [
        (s.name, s.before, s.after, s.bindings) for s in looked_for.steps
    ]


def test_an_answer_is_kept_only_if_it_holds_whatever_lies_deeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relgrad.schedule.likeness.FIRST", -1)
    x, y = rg.symbol("x", (3,)), rg.symbol("y", (3,))
    share = lambda z: as_term(np.exp(z) / np.sum(np.exp(z)))
    softmax = lambda z: Answer(as_term(rg.softmax(z)), "normalized_exponential", {})
    likeness = Likeness()
    likeness.found(share(x), 0, softmax(x), lambda t: softmax(Tracer(t.rands[0].rands[0])))
    assert likeness.answer(share(y), 0) == softmax(y)
    assert likeness.answer(as_term(np.exp(y) / np.sum(np.exp(x))), 0) is None
    for says in (lambda t: None, lambda t: softmax(2 * Tracer(t.rands[0].rands[0]))):
        likeness = Likeness()
        likeness.found(share(x), 0, softmax(x), says)
        assert likeness.answer(share(y), 0) is None


@pytest.mark.parametrize("op", [np.logaddexp, np.hypot, np.maximum])
def test_steps_of_an_associative_op_that_share_all_before_them_are_seen_once_each(op: Any) -> None:
    """x₁₀₀ = x₉₈ ∘ x₉₉ has as many operands, written out, as the hundredth number of Fibonacci."""

    def steps(x: Any, y: Any) -> Any:
        for _ in range(100):
            x, y = y, op(x, y)
        return x, y

    last_step = lambda x, y: (lambda pair: pair[1] - pair[0])(steps(x, y))
    x, y = steps(0.3, 0.2)
    close = lambda z: pytest.approx(z, rel=1e-13, abs=1e-15 * abs(x))
    assert rg.stabilize(last_step)(0.3, 0.2) == close(y - x)


CENTRING = lambda x: x - np.mean(x) + 0.09 * x


@pytest.mark.parametrize(
    ("step", "transform", "room", "name"),
    [
        (CENTRING, rg.stabilize, relate, "rewrites"),
        (lambda x: x - special.logsumexp(x) + 0.3, rg.stabilize, multisets, "build_sum"),
        (lambda x: np.maximum(x, 0.3 * x - 0.1), rg.grad, isolated, "decided"),
        (lambda x: np.abs(x - 0.3), rg.grad, lengths, "expanded"),
    ],
)
def test_a_loop_twice_as_long_is_not_looked_at_many_times_as_often(
    step: Any, transform: Any, room: Any, name: str
) -> None:
    x = np.array([0.2, 0.5, 0.7])
    short, long = [counted(room, name, lambda n=n: transform(chain(step, n))(x)) for n in (6, 12)]
    assert long <= 6 * short + 50
