"""What a call costs because nothing is frozen: guards that hold, and arrays that change.

Each row is one function that reads something outside of its arguments. *Guard* is the comparison by itself; *call* is
a call while nothing changes, and *NumPy* what it computes, written by hand; *changed* is a call after an array was
changed in place, which is traced again and finds its program. Times are of the processor, the best of several rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import relgrad as rg
from relgrad.trace.outside import read

RATE, SCALE, SHIFT, MODE = 0.1, 2.0, 1.0, "plain"
WEIGHTS = np.linspace(0.1, 1.0, 16)
CONFIG: dict[str, Any] = {"rate": 0.1, "weights": WEIGHTS}
DATA = np.random.default_rng(0).normal(size=(2_000, 16))


class Model:
    """Two attributes and a switch."""

    def __init__(self) -> None:
        self.weights, self.rate, self.training = WEIGHTS, 0.1, True

    def loss(self, x: Any) -> Any:
        """A weighted sum of squares."""
        return self.rate * np.sum(self.weights * x**2) if self.training else np.sum(x**2)


class Row(NamedTuple):
    """A function, and its gradient by hand."""

    name: str
    function: Callable[..., Any]
    by_hand: Callable[..., Any]


def rows() -> list[Row]:
    """Return the functions that are measured."""
    bias = np.zeros(16)
    return [
        Row("nothing", lambda x: (x * x).sum(), lambda x: 2 * x),
        Row(
            "four numbers and text",
            lambda x: (RATE * x * x * SCALE + SHIFT).sum() if MODE == "plain" else x.sum(),
            lambda x: 2 * RATE * SCALE * x,
        ),
        Row("an array", lambda x: (WEIGHTS * x * x).sum(), lambda x: 2 * WEIGHTS * x),
        Row("a cell", lambda x: ((x - bias) * (x - bias)).sum(), lambda x: 2 * (x - bias)),
        Row(
            "a dict", lambda x: CONFIG["rate"] * np.sum(CONFIG["weights"] * x**2), lambda x: 0.2 * WEIGHTS * x
        ),
        Row("a method", Model().loss, lambda x: 0.2 * WEIGHTS * x),
        Row("256 kB of data", lambda x: np.sum((DATA @ x) ** 2), lambda x: 2 * (DATA @ x) @ DATA),
    ]


def cost(f: Callable[[], Any], seconds: float) -> float:
    """Return the least processor time of a call, in microseconds."""
    begin, count = time.process_time(), 0
    while time.process_time() - begin < seconds / 20:
        f()
        count += 1
    best = float("inf")
    for _ in range(10):
        begin = time.process_time()
        for _ in range(count):
            f()
        best = min(best, (time.process_time() - begin) / count)
    return best * 1e6


def main() -> None:
    """Print a row for each function."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="processor time for each figure")
    seconds = parser.parse_args().seconds
    x = np.linspace(-1.0, 1.0, 16)
    print(f"{'reads':24}{'guard':>9}{'call':>10}{'NumPy':>10}{'changed':>10}   µs")
    for row in rows():
        d = rg.grad(row.function)
        np.testing.assert_allclose(d(x), row.by_hand(x))
        guard = read(row.function, seconds=0.01)
        times = [cost(lambda g=guard, f=row.function: g.holds(f), seconds)]
        times += [cost(lambda d=d: d(x), seconds), cost(lambda f=row.by_hand: f(x), seconds)]
        if row.name == "an array":

            def changed(d: Any = d) -> None:
                WEIGHTS[0] += 1e-3
                d(x)

            times.append(cost(changed, seconds))
            WEIGHTS[0] = 0.1
        print(f"{row.name:24}" + "".join(f"{t:{9 if i == 0 else 10}.2f}" for i, t in enumerate(times)))


if __name__ == "__main__":
    main()
