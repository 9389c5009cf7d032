"""Rewriting throughput: graphs of N nodes with a naive log-softmax in every 20, for growing N.

`wide` joins independent blocks by a sum; `deep` feeds each block into the next, and a block uses its input
twice, so that as a tree it would double at every block. A steady time per node says that rewriting is linear.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import relgrad as rg

FILLERS = (np.sin, np.cos, np.tanh)


def block(x, fillers):
    """A naive log-softmax and so many elementwise functions after it."""
    x = np.log(np.exp(x) / np.sum(np.exp(x)))
    for i in range(fillers):
        x = FILLERS[i % 3](x)
    return x


def wide(x, blocks):
    """Independent blocks, joined by a balanced tree of sums."""
    parts = [block(x * float(i + 1), 13) for i in range(blocks)]
    while len(parts) > 1:
        parts = [sum(parts[i : i + 2][1:], parts[i]) for i in range(0, len(parts), 2)]
    return parts[0]


def deep(x, blocks):
    """Each block works on the result of the one before it."""
    start = x
    for _ in range(blocks):
        x = block(x, 15) + start
    return x


def measure(shape, nodes):
    """Return the seconds of the first call, the relations that fired, and the occurrences there are."""
    blocks, x = nodes // 20, np.linspace(-1.0, 1.0, 8)
    stable = rg.stabilize(lambda x: shape(x, blocks))
    start = time.perf_counter()
    stable(x)
    seconds = time.perf_counter() - start
    return seconds, len(stable.explain(x).relations), blocks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=8000, help="nodes of the largest graph")
    largest = parser.parse_args().largest
    print("\ntrace, rewrite and compile: a naive log-softmax in every 20 nodes")
    print(
        f"{'shape':<8}{'nodes':>8}{'seconds':>10}{'us a node':>11}{'relations fired':>17}{'occurrences':>13}"
    )
    for shape in (wide, deep):
        nodes = 500
        while nodes <= largest:
            seconds, fired, occurrences = measure(shape, nodes)
            per_node = 1e6 * seconds / nodes
            print(
                f"{shape.__name__:<8}{nodes:>8}{seconds:>10.3f}{per_node:>11.0f}{fired:>17}{occurrences:>13}"
            )
            nodes *= 2


if __name__ == "__main__":
    main()
