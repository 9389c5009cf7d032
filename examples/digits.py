"""Multinomial logistic regression on handwritten digits, written naively, trained with three gradients."""

from __future__ import annotations

import inspect
import statistics
import sys
import time
import types
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import autograd
import autograd.numpy
import numpy as np
import screen
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import relgrad as rg

C = 0.1
STEP, MOMENTUM, DESCENT_STEPS = 0.3, 0.9, 100
CLASSES = 10
MOST_ITERATIONS = 10_000


def loss(W, b, X, y, l2):
    z = X @ W + b
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(y)), y])) + l2 * np.sum(W**2)


def naive_gradient(W, b, X, y, l2):
    z = X @ W + b
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    d = (p - np.eye(CLASSES)[y]) / len(y)
    return X.T @ d + 2 * l2 * W, np.sum(d, axis=0)


def descend(gradient, data, update):
    W, b = np.zeros((64, CLASSES)), np.zeros(CLASSES)
    dW, db = np.zeros_like(W), np.zeros_like(b)
    for step in range(1, DESCENT_STEPS + 1):
        gW, gb = gradient(W, b, *data)
        if not (np.isfinite(gW).all() and np.isfinite(gb).all()):
            return W, b, step
        dW, db = MOMENTUM * dW - STEP * gW, MOMENTUM * db - STEP * gb
        W, b = W + dW, b + db
        update(step)
    return W, b, None


def stable_by_hand(W, b, X, y, l2):
    """The value and gradient as an expert writes them: the yardstick for speed and for the optimum."""
    rows = np.arange(len(y))
    z = X @ W + b
    z -= z.max(axis=1, keepdims=True)
    true = z[rows, y]
    np.exp(z, out=z)
    total = z.sum(axis=1, keepdims=True)
    value = np.mean(np.log(total[:, 0]) - true) + l2 * np.sum(W * W)
    z /= total
    z[rows, y] -= 1.0
    z /= len(y)
    return value, (X.T @ z + 2 * l2 * W, z.sum(axis=0))


class Data(NamedTuple):
    """What `loss` takes besides the weights, and the digits that are held out."""

    train: tuple[Any, ...]
    X_test: np.ndarray
    y_test: np.ndarray

    def accuracy(self, W: Any, b: Any) -> float:
        return float(np.mean(np.argmax(self.X_test @ W + b, axis=1) == self.y_test))


def load() -> Data:
    """Return the digits with pixels as they come, 0 … 16, a quarter of them held out."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    # The objective of LogisticRegression, divided by C·n.
    return Data((X, y, 1 / (2 * C * len(y))), X_test, y_test)


def with_numpy(function: Callable[..., Any], numpy: Any) -> Callable[..., Any]:
    """Return the same function with another module for its `np`: autograd needs its own."""
    namespace = {**function.__globals__, "np": numpy}
    return types.FunctionType(function.__code__, namespace, function.__name__)


def polish(
    value_and_grad: Callable[..., Any], W: Any, b: Any, data: Data, update: Any
) -> tuple[Any, Any, int]:
    """Go on with L-BFGS to the optimum; return it, and the number of calls."""

    def flat(p: Any) -> tuple[float, Any]:
        nonlocal calls
        calls += 1
        value, (gW, gb) = value_and_grad(p[: W.size].reshape(W.shape), p[W.size :], *data.train)
        return float(value), np.concatenate([gW.ravel(), gb])

    calls = iterations = 0

    def report(intermediate_result: Any) -> None:
        nonlocal iterations
        iterations += 1
        update(iterations, f"loss {float(intermediate_result.fun):.6f}")

    options = {"maxiter": MOST_ITERATIONS, "maxfun": 2 * MOST_ITERATIONS, "gtol": 1e-6, "ftol": 1e-13}
    found = minimize(
        flat, np.concatenate([W.ravel(), b]), jac=True, method="L-BFGS-B", options=options, callback=report
    )
    return found.x[: W.size].reshape(W.shape), found.x[W.size :], calls


def seconds_per_call(functions: dict[str, Callable[[], Any]], rounds: int = 30) -> dict[str, float]:
    """Return the median times of calls that take turns, so that all meet the same weather."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def error_far_out(value_and_grad: Callable[..., Any], data: Data) -> tuple[float, float]:
    """Return the largest logit at bold random weights, and the error there, relative to the largest entry."""
    W, b = 20 * np.random.default_rng(0).normal(size=(64, CLASSES)), np.zeros(CLASSES)
    pairs = zip(
        _flat(value_and_grad(W, b, *data.train)), _flat(stable_by_hand(W, b, *data.train)), strict=True
    )
    errors = [np.max(np.abs(found - right)) / np.max(np.abs(right)) for found, right in pairs]
    return float(np.max(data.train[0] @ W)), float(np.max(errors))


def _flat(result: Any) -> tuple[Any, ...]:
    value, (gW, gb) = result
    return value, gW, gb


def main() -> bool:
    data = load()
    n, features = data.train[0].shape
    screen.title("(b) Logistic regression on handwritten digits")
    screen.say(f"{n} digits to train on, {len(data.y_test)} held out; {features} pixels of 0 … 16, unscaled.")
    screen.heading("The loss, written naively, and its gradient by hand")
    screen.code(inspect.getsource(loss) + "\n" + inspect.getsource(naive_gradient))
    screen.heading("Gradient descent: one loop for all, the same start and the same step")
    screen.code(inspect.getsource(descend))

    both = rg.value_and_grad(loss, argnums=(0, 1))
    racers = {
        "hand-written, naive": naive_gradient,
        "autograd": autograd.grad(with_numpy(loss, autograd.numpy), (0, 1)),
        "relgrad": rg.grad(loss, argnums=(0, 1)),
    }
    reached = {}
    with np.errstate(all="ignore"):
        for name, gradient in racers.items():
            with screen.progress(name, DESCENT_STEPS) as update:
                reached[name] = descend(gradient, data.train, update)
            died = reached[name][2]
            if died is not None:
                screen.say(f"    {name:<24} NaN in the gradient at step {died}: training is over", "red")
    W, b, _ = reached["relgrad"]

    screen.heading("What relgrad computes: the relations that fired, and the generated source")
    fired = both.explain(W, b, *data.train).relations
    screen.say("    " + ", ".join(f"{name} ({count}x)" for name, count in Counter(fired).items()))
    screen.code(both.source(W, b, *data.train))

    screen.heading("On to the optimum from where relgrad's descent ended (L-BFGS, from SciPy)")
    with screen.progress("relgrad") as update:
        start = time.perf_counter()
        W_best, b_best, calls = polish(both, W, b, data, update)
        training = time.perf_counter() - start
    screen.say(f"    Converged after {calls} calls of value_and_grad in {training:.1f} s.")

    sklearn = LogisticRegression(C=C, tol=1e-6, max_iter=100_000).fit(data.train[0], data.train[1])
    W_sk, b_sk = sklearn.coef_.T, sklearn.intercept_
    times = seconds_per_call(
        {
            "relgrad": lambda: both(W_best, b_best, *data.train),
            "hand-written, stable": lambda: stable_by_hand(W_best, b_best, *data.train),
        }
    )
    logits, error = error_far_out(both, data)
    gap = stable_by_hand(W_best, b_best, *data.train)[0] - stable_by_hand(W_sk, b_sk, *data.train)[0]

    screen.heading("What was measured")
    rows = []
    for name, (W_end, b_end, died) in reached.items():
        fate = "-" if died is None else f"at step {died}"
        rows.append([f"{name}, descent", fate, f"{data.accuracy(W_end, b_end):.4f}"])
    accuracy, accuracy_sk = data.accuracy(W_best, b_best), float(sklearn.score(data.X_test, data.y_test))
    rows.append(["relgrad, at the optimum", "-", f"{accuracy:.4f}"])
    rows.append([f"LogisticRegression(C={C}) of scikit-learn", "-", f"{accuracy_sk:.4f}"])
    screen.table(rows, ["training with", "NaN", "accuracy on held-out digits"])
    screen.say("")
    ratio = times["relgrad"] / times["hand-written, stable"]
    screen.table(
        [
            ["loss at the optimum, relgrad's less scikit-learn's", f"{gap:+.1e}"],
            [f"largest error of relgrad's gradient at logits up to {logits:.0f}", f"{error:.1e}"],
            ["one value and gradient, relgrad", f"{1e3 * times['relgrad']:.3f} ms"],
            ["one value and gradient, stable NumPy by hand", f"{1e3 * times['hand-written, stable']:.3f} ms"],
            ["ratio of the two (medians, taking turns)", f"{ratio:.2f}"],
        ],
        ["quantity", "measured"],
    )
    return screen.verdict(
        {
            "the naive gradients turned into NaN during descent": all(
                reached[name][2] is not None for name in ("hand-written, naive", "autograd")
            ),
            "relgrad's gradient never did": reached["relgrad"][2] is None,
            "relgrad reaches scikit-learn's accuracy on the held-out digits": accuracy >= accuracy_sk,
            "relgrad's optimum is scikit-learn's, to 1e-5 in the loss": abs(gap) < 1e-5,
            "relgrad's value and gradient are right to 1e-12 far out, too": error < 1e-12,
        }
    )


if __name__ == "__main__":
    sys.exit(not main())
