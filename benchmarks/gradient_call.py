"""One value and gradient: relgrad from naive code, autograd from stable code, NumPy by an expert's hand.

All three take turns within one run; the medians and their ratios to the hand-written program are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import autograd
import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import logsumexp

import relgrad as rg

RANDOM = np.random.default_rng(0)


class Case(NamedTuple):
    """One program three times: as relgrad takes it, as autograd needs it, and by hand with its gradient."""

    name: str
    naive: Callable[..., Any]
    stable: Callable[..., Any]
    by_hand: Callable[..., Any]
    arguments: tuple[Any, ...]
    argnums: tuple[int, ...]


def cross_entropy() -> Case:
    """The mean cross entropy of 256 rows of 1,000 logits."""
    z, y = RANDOM.normal(size=(256, 1000)) * 3, np.eye(1000)[RANDOM.integers(0, 1000, 256)]

    def naive(z, y):
        return -np.mean(np.sum(y * np.log(np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)), axis=1))

    def stable(z, y):
        return -anp.mean(anp.sum(y * (z - logsumexp(z, axis=1, keepdims=True)), axis=1))

    def by_hand(z, y):
        shifted = z - z.max(axis=1, keepdims=True)
        e = np.exp(shifted)
        total = e.sum(axis=1, keepdims=True)
        value = -np.mean(np.sum(y * (shifted - np.log(total)), axis=1))
        e /= total
        e -= y
        e /= len(z)
        return value, (e,)

    return Case("cross entropy", naive, stable, by_hand, (z, y), (0,))


def logistic() -> Case:
    """Binary logistic regression: 10,000 rows, 100 features."""
    X, w = RANDOM.normal(size=(10000, 100)), RANDOM.normal(size=100) * 0.1
    y = np.where(RANDOM.random(10000) < 0.5, 1.0, -1.0)

    def naive(w, X, y):
        return np.mean(np.log(1 + np.exp(-y * (X @ w)))) + 0.5e-3 * np.sum(w**2)

    def stable(w, X, y):
        return anp.mean(anp.logaddexp(0.0, -y * anp.dot(X, w))) + 0.5e-3 * anp.sum(w**2)

    def by_hand(w, X, y):
        z = y * (X @ w)
        e = np.exp(-np.abs(z))
        value = np.mean(np.maximum(-z, 0) + np.log1p(e)) + 0.5e-3 * (w @ w)
        p = np.where(z >= 0, e, 1.0) / (1 + e)
        return value, ((p * y / -len(y)) @ X + 1e-3 * w,)

    return Case("logistic regression", naive, stable, by_hand, (w, X, y), (0,))


def attention() -> Case:
    """Half the squared norm of an attention layer's output: 128 queries of 64 entries."""
    Q, K, V = (RANDOM.normal(size=(128, 64)) for _ in range(3))

    def naive(Q, K, V):
        s = Q @ K.T * 0.125
        out = np.exp(s) / np.sum(np.exp(s), axis=1, keepdims=True) @ V
        return 0.5 * np.sum(out * out)

    def stable(Q, K, V):
        s = anp.dot(Q, K.T) * 0.125
        e = anp.exp(s - anp.max(s, axis=1, keepdims=True))
        out = anp.dot(e / anp.sum(e, axis=1, keepdims=True), V)
        return 0.5 * anp.sum(out * out)

    def by_hand(Q, K, V):
        s = Q @ K.T
        s *= 0.125
        s -= s.max(axis=1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(axis=1, keepdims=True)
        out = s @ V
        dV, ds = s.T @ out, out @ V.T
        ds -= np.einsum("ij,ij->i", ds, s)[:, None]
        ds *= s
        ds *= 0.125
        return 0.5 * np.vdot(out, out), (ds @ K, ds.T @ Q, dV)

    return Case("attention", naive, stable, by_hand, (Q, K, V), (0, 1, 2))


def scalar() -> Case:
    """A softplus of two scalars: what a call costs at all."""

    def naive(x, y):
        return np.log(1 + np.exp(x * y)) + np.sin(x)

    def stable(x, y):
        return anp.logaddexp(0.0, x * y) + anp.sin(x)

    def by_hand(x, y):
        z = x * y
        e = np.exp(-np.abs(z))
        s = np.where(z >= 0, 1.0, e) / (1 + e)
        return np.maximum(z, 0) + np.log1p(e) + np.sin(x), (s * y + np.cos(x), s * x)

    return Case("two scalars", naive, stable, by_hand, (np.float64(0.3), np.float64(1.7)), (0, 1))


def medians(functions: dict[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """Return the median seconds of each function; they take turns for as long as the budget lasts."""
    for function in functions.values():
        function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def deviation(found: Any, right: Any) -> float:
    """Return the largest difference of values and gradients, relative to the largest entry of each."""
    pairs = zip((found[0], *found[1]), (right[0], *right[1]), strict=True)
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend on each program")
    budget = parser.parse_args().seconds
    print("value and gradient: median microseconds a call (ratio to NumPy by hand)")
    heads = f"{'NumPy by hand':>14}{'relgrad':>20}{'autograd':>20}{'first call':>13}{'deviation':>11}"
    print(f"{'program':<22}{heads}")
    for case in (cross_entropy(), logistic(), attention(), scalar()):
        ours = rg.value_and_grad(case.naive, case.argnums)
        theirs = autograd.value_and_grad(case.stable, case.argnums)
        start = time.perf_counter()
        result = ours(*case.arguments)
        first = time.perf_counter() - start
        found = medians(
            {
                "hand": lambda case=case: case.by_hand(*case.arguments),
                "relgrad": lambda case=case, ours=ours: ours(*case.arguments),
                "autograd": lambda case=case, theirs=theirs: theirs(*case.arguments),
            },
            budget,
        )
        cells = "".join(
            f"{1e6 * found[name]:>12.1f} ({found[name] / found['hand']:4.1f})"
            for name in ("relgrad", "autograd")
        )
        error = deviation(result, case.by_hand(*case.arguments))
        print(f"{case.name:<22}{1e6 * found['hand']:>14.1f}{cells}  {1e3 * first:>8.1f} ms{error:>11.1e}")


if __name__ == "__main__":
    main()
