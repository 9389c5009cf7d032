"""Rewriting throughput: graphs of N operations with naive log-softmaxes, stabilised with the whole library.

    wide     N/20 blocks, each a naive log-softmax and elementwise functions after it, joined by a balanced tree of sums
    deep     each block works on the result of the one before it and uses it twice: as a tree it would double
    line     one naive log-softmax, and elementwise functions after it
    sum      one sum of N arguments, one in twenty of them a naive log-softmax
    product  one product of such arguments

The graphs are built as terms beforehand. `relgrad x2` has a library with as many further relations for heads that
do not occur. Every point runs in a process of its own that is stopped after `--cap` seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import multiprocessing
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

SHAPES = ("wide", "deep", "line", "sum", "product")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
FILLERS = ("sin", "cos", "tanh")
Clock = time.perf_counter
Build = tuple[Callable[[str], Any], dict[str, Callable[..., Any]]]


def graph(
    shape: str, n: int, leaf: Callable[[str], Any], f: dict[str, Callable[..., Any]]
) -> tuple[Any, int]:
    """Build a graph from leaves and functions; return it, and how many naive log-softmaxes there are."""

    def naive(x: Any) -> Any:
        e = f["exp"](x)
        return f["log"](f["divide"](e, f["sum"](e)))

    def filled(x: Any, count: int) -> Any:
        for i in range(count):
            x = f[FILLERS[i % 3]](x)
        return x

    if shape == "line":
        return filled(naive(leaf("x")), n - 4), 1
    if shape == "deep":
        start = x = leaf("x")
        for _ in range(n // 20):
            x = f["add"](filled(naive(x), 15), start)
        return x, n // 20
    if shape == "wide":
        parts = [filled(naive(leaf(f"x{i}")), 15) for i in range(n // 20)]
        while len(parts) > 1:
            joined = [f["add"](a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = joined + (parts[-1:] if len(parts) % 2 else [])
        return parts[0], n // 20
    join = f["add" if shape == "sum" else "multiply"]
    whole, naives = None, 0
    for i in range(n):
        part = f[FILLERS[i % 3]](leaf(f"x{i}")) if i % 20 else naive(leaf(f"x{i}"))
        naives += not i % 20
        whole = part if whole is None else join(whole, part)
    return whole, naives


# Engines: each returns what rewrites a graph once; it gives the number of log-softmaxes that it found


def with_relgrad(doubled: bool) -> Callable[[str, int, str], tuple[Callable[[], int], int, int]]:
    def prepare(shape: str, n: int, salt: str) -> tuple[Callable[[], int], int, int]:
        import numpy as np
        from relgrad.relations import LIBRARY

        from relgrad.leaf import Input
        from relgrad.op import as_term
        from relgrad.schedule import schedule
        from relgrad.term import subterms, term
        from relgrad.trace.tracer import Tracer
        from relgrad.types import array_type

        library = LIBRARY.extended(*further(len(LIBRARY))) if doubled else LIBRARY
        kind = array_type("float64", (8,))
        functions = {
            name: getattr(np, name) for name in ("exp", "log", "divide", "add", "multiply", "sum", *FILLERS)
        }
        root, naives = graph(shape, n, lambda name: Tracer(term(Input(name + salt, kind))), functions)
        roots = [as_term(root)]
        operations = sum(1 for t in subterms(*roots) if t.rands)

        def run() -> int:
            steps = schedule(roots, library).steps
            return sum(step.move == "relation" for step in steps)

        return run, operations, naives

    return prepare


def further(count: int) -> list[Any]:
    """Return relations on ops that no graph here has, rooted in ops, sums and products in turn."""
    import numpy as np

    from relgrad.ops.elementwise import Elementwise
    from relgrad.relation import Relation, relation

    def row(i: int) -> Relation:
        outer, inner = (Elementwise(f"{name}{i}", np.tanh, None) for name in ("outer", "inner"))

        def of_op(x: Any) -> Any:
            return outer(inner(x)), x

        def of_sum(x: Any, y: Any) -> Any:
            return outer(x) + inner(y), outer(inner(x + y))

        def of_product(x: Any, y: Any) -> Any:
            return outer(x) * inner(y), outer(inner(x * y))

        function = (of_op, of_sum, of_product)[i % 3]
        function.__name__ = f"further_{i}"
        return relation(function)

    return [row(i) for i in range(count)]


def with_pytensor(shape: str, n: int, salt: str) -> tuple[Callable[[], int], int, int]:
    import pytensor.tensor as pt
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.utils import rewrite_graph

    # Some of its rewrites recurse along products and sums.
    sys.setrecursionlimit(1_000_000)
    inputs: list[Any] = []

    def leaf(name: str) -> Any:
        inputs.append(pt.vector(name + salt))
        return inputs[-1]

    names = {"divide": "true_div", "multiply": "mul"}
    functions = {
        name: getattr(pt, names.get(name, name))
        for name in ("exp", "log", "divide", "add", "multiply", "sum", *FILLERS)
    }
    root, naives = graph(shape, n, leaf, functions)
    built = FunctionGraph(inputs, [root], clone=False)

    def run() -> int:
        rewrite_graph(built, include=("canonicalize", "stabilize", "specialize"))
        return sum(type(node.op).__name__ == "LogSoftmax" for node in built.apply_nodes)

    return run, len(built.apply_nodes), naives


ENGINES: dict[str, Callable[[str, int, str], tuple[Callable[[], int], int, int]]] = {
    "relgrad": with_relgrad(doubled=False),
    "relgrad x2": with_relgrad(doubled=True),
    "pytensor": with_pytensor,
}


# Timing


def peak() -> float:
    """Return the largest memory that this process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(engine: str, shape: str, n: int, rounds: int) -> dict[str, Any]:
    """Rewrite fresh graphs of one kind; nothing is known of one that another could use."""
    times: list[float] = []
    found: dict[str, Any] = {}
    ENGINES[engine](shape, 40, "warm")[0]()
    for i in range(rounds if n < 100_000 else 1):
        run, operations, naives = ENGINES[engine](shape, n, f"r{i}")
        gc.collect()
        before, start = peak(), Clock()
        rewritten = run()
        times.append(Clock() - start)
        found = found or {"before": before, "peak": peak()}
        found |= {"operations": operations, "naives": naives, "rewritten": rewritten}
    return {**found, "seconds": statistics.median(times)}


def _child(pipe: Any, *arguments: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        try:
            pipe.send(measure(*arguments))
        except Exception as e:  # whatever an engine raises ends its point only
            pipe.send(f"{type(e).__name__}: {e}"[:80])
    os._exit(0)


def capped(cap: float, *arguments: Any) -> dict[str, Any] | str:
    """Measure one point in a process that is stopped when its time is over."""
    there, here = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=_child, args=(here, *arguments))
    process.start()
    here.close()
    try:
        return there.recv() if there.poll(cap) else f"no answer in {cap:g} s"
    except EOFError:
        return "died"
    finally:
        process.kill()
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cap", type=float, default=120, help="seconds for one point, building included")
    parser.add_argument("--rounds", type=int, default=3, help="fresh graphs of which medians are taken")
    parser.add_argument("--quick", action="store_true", help="one round, up to 10,000, a cap of 30 seconds")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--sizes", default="", help="comma list of N")
    parser.add_argument("--only", default="", help="comma list of engines")
    options = parser.parse_args()
    sizes = [int(n) for n in options.sizes.split(",")] if options.sizes else list(SIZES)
    if options.quick:
        options.rounds, options.cap = 1, min(options.cap, 30)
        sizes = [n for n in sizes if n <= 10_000]
    engines = [e for e in ENGINES if not options.only or e in options.only.split(",")]
    missing = [e for e in engines if importlib.util.find_spec(e.split()[0]) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    engines = [e for e in engines if e not in missing]
    print(__doc__)
    heads = (
        f"{'seconds':>10}{'per s':>10}{'us each':>9}{'to first':>10}{'library':>9}{'peak MB':>9}{'+MB':>7}"
    )
    print(f"{'shape':<9}{'N':>7}  {'engine':<11}{'operations':>10}{heads}  applied")
    for shape in options.shapes.split(","):
        smallest: dict[str, float] = {}
        stopped: set[str] = set()
        for n in sizes:
            base = None
            for engine in engines:
                if engine in stopped:
                    continue
                row = capped(options.cap, engine, shape, n, options.rounds)
                if isinstance(row, str):
                    print(f"{shape:<9}{n:>7}  {engine:<11}{row}", flush=True)
                    stopped.add(engine)
                    continue
                each = row["seconds"] / row["operations"]
                base = each if engine == "relgrad" else base
                library = f"{each / base:.2f}" if base and engine == "relgrad x2" else ""
                cells = f"{row['seconds']:>10.3f}{1 / each:>10.0f}{1e6 * each:>9.1f}"
                cells += f"{each / smallest.setdefault(engine, each):>10.2f}{library:>9}"
                cells += f"{row['peak']:>9.0f}{row['peak'] - row['before']:>7.0f}"
                found = f"{row['rewritten']}/{row['naives']}"
                print(f"{shape:<9}{n:>7}  {engine:<11}{row['operations']:>10}{cells}  {found}", flush=True)


if __name__ == "__main__":
    main()
