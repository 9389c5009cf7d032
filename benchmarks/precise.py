"""What it costs that digits are watched: calls with guards, calls that are computed again, and how often those are.

Each row is a program of the kind that people call often, at random inputs of a usual size. *Plain* is a call with
`precise=False`, *watched* one with guards, *again* one in which a guard tripped and the program was computed once more
in doubled arithmetic. *First* is the first call, which compiles the program. All in one run, taking turns; times are of
the processor, the least of several calls.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import relgrad as rg
from relgrad.kernels.numbers import Twin

RNG = np.random.default_rng(0)
AGAIN = [0]
"""How many times a program was computed in other numbers than floats."""


class Row(NamedTuple):
    """A program, how it is transformed, and its arguments for n entries."""

    name: str
    how: Callable[..., Any]
    function: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]


def normal(*shape: int) -> Any:
    """Return random numbers."""
    return RNG.normal(size=shape)


def network(p: Any, x: Any, y: Any) -> Any:
    """The squared error of a network of one layer."""
    return np.mean((np.tanh(x @ p["W"] + p["b"]) @ p["v"] - y) ** 2)


def logistic(w: Any, x: Any, y: Any) -> Any:
    """The loss of logistic regression."""
    z = x @ w
    return np.mean(np.logaddexp(0, z) - y * z)


def heat(u: Any, step: Any) -> Any:
    """Ten explicit steps of the equation of heat."""
    for _ in range(10):
        u = u + step * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def pendulum(q: Any, p: Any) -> Any:
    """Ten steps of the leapfrog."""
    for _ in range(10):
        p = p - 0.05 * np.sin(q)
        q = q + 0.1 * p
    return q, p


def regression(n: int) -> tuple[Any, ...]:
    """Return weights, data and what they should give."""
    return normal(8), normal(n, 8), normal(n)


def fitted(n: int) -> tuple[Any, ...]:
    """Return the same after a fit."""
    w, x, _ = regression(n)
    return w + 1e-6 * normal(8), x, x @ w


def at_optimum(loss: Callable[..., Any]) -> Callable[[int], tuple[Any, ...]]:
    """n → (w, x, y) with ∂loss/∂w ≈ 0: where an optimiser ends, and most entries of the gradient cancel."""

    def arguments(n: int) -> tuple[Any, ...]:
        w, x, _ = regression(n)
        y = np.where(RNG.random(n) < 0.5, 0.0, 1.0)
        return minimize(rg.value_and_grad(loss, precise=False), w, (x, y), "BFGS", jac=True, tol=1e-9).x, x, y

    return arguments


def squares(w: Any, x: Any, y: Any) -> Any:
    """The loss of least squares."""
    return np.sum((y - x @ w) ** 2)


def decayed(loss: Callable[..., Any]) -> Callable[..., Any]:
    """loss(w) → loss(w) + w²/100"""
    return lambda w, x, y: loss(w, x, y) + 0.01 * np.sum(w**2)


def layer(n: int) -> tuple[Any, ...]:
    """Return the same for a network."""
    return {"W": normal(8, 16), "b": normal(16), "v": normal(16)}, normal(n, 8), normal(n)


ROWS = (
    Row("discriminant", rg.stabilize, lambda a, b, c: b * b - 4 * a * c, lambda n: tuple(normal(3, n))),
    Row("polynomial", rg.stabilize, lambda x: x**3 - 2 * x * x + x - 0.3, lambda n: (normal(n),)),
    Row("residuals", rg.stabilize, lambda w, x, y: y - x @ w, regression),
    Row("least squares", rg.grad, squares, regression),
    Row("…, fitted", rg.grad, squares, fitted),
    Row("…, at an optimum", rg.grad, decayed(squares), at_optimum(decayed(squares))),
    Row("logistic regression", rg.value_and_grad, logistic, regression),
    Row("…, at an optimum", rg.value_and_grad, decayed(logistic), at_optimum(decayed(logistic))),
    Row("network", rg.value_and_grad, network, layer),
    Row("heat", rg.stabilize, heat, lambda n: (np.sin(np.linspace(0, 6, n)) + 0.01 * normal(n), 0.1)),
    Row("pendulum", rg.stabilize, pendulum, lambda n: tuple(normal(2, n))),
    Row(
        "decay",
        rg.value_and_grad,
        lambda a, x, y: np.sum((y - a * np.exp(-x)) ** 2),
        lambda n: (2.0, normal(n), normal(n)),
    ),
)


def cost(f: Callable[..., Any], args: tuple[Any, ...], repeat: int = 3) -> float:
    """Return the least processor time of a call, in microseconds."""
    best = math.inf
    for _ in range(repeat):
        begin = time.process_time()
        f(*args)
        best = min(best, time.process_time() - begin)
    return best * 1e6


def counted(self: Twin, /, *args: Any, _call: Any = Twin.__call__, **kwargs: Any) -> Any:
    """Compute in other numbers, and count it."""
    AGAIN[0] += 1
    return _call(self, *args, **kwargs)


def measure(row: Row, n: int, calls: int) -> str:
    """Return a line of figures."""
    args = row.arguments(n)
    plain, watched = row.how(row.function, precise=False), row.how(row.function)
    first = [cost(f, args, 1) / 1e3 for f in (plain, watched)]
    times: dict[str, list[float]] = {"plain": [], "watched": [], "again": []}
    for _ in range(calls):
        args, AGAIN[0] = row.arguments(n), 0
        watched(*args)
        times["again" if AGAIN[0] else "watched"].append(cost(watched, args))
        times["plain"].append(cost(plain, args))
    least = {name: min(found, default=math.nan) for name, found in times.items()}
    figures = [f"{x:9.1f}" for x in (*first, *least.values())]
    ratios = [f"{least[name] / least['plain']:6.1f}" for name in ("watched", "again")]
    return f"{row.name:20}{n:8}{''.join(figures)}{''.join(ratios)}{len(times['again']):6} of {calls}"


def main() -> None:
    """Print a row for each program and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1000, 100_000])
    parser.add_argument("--calls", type=int, default=20, help="at so many random inputs")
    options = parser.parse_args()
    Twin.__call__ = counted
    print(" " * 28 + "first, ms: off, on  plain  watched    again   µs    ratios    again")
    for n in options.sizes:
        for row in ROWS:
            print(measure(row, n, options.calls), flush=True)


if __name__ == "__main__":
    main()
