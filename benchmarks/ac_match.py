"""Matching modulo associativity and commutativity: relgrad, kanren, MatchPy and Maude in one run.

Four patterns against one sum or product of n arguments; X takes all arguments that are left, at least one:

    bound   add(f(k), X), k the argument of the last of n f's                            1 answer
    shared  add(f(A), g(A), X), half f's, half g's, of which two have an argument in common    1 answer
    factor  add(mul(A, B), mul(A, C), X), n products, of which two share a factor        2 answers
    pairs   mul(exp(A), exp(B), X), every fourth argument an exp                         k(k - 1) answers

Every point runs in a process of its own that is stopped after `--cap` seconds; the engines take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from ac_engines import ENGINES, PATTERNS, case

SIZES = (3, 4, 5, 6, 8, 16, 64, 256, 1024)
LARGE = (10_000, 100_000)
Clock = time.perf_counter


def repeated(work: Callable[[], Any], budget: float, most: int) -> float:
    """Return the median seconds of a call; calls that are too short for the clock are made in batches."""
    start = Clock()
    work()
    once = Clock() - start
    batch = max(1, int(1e-4 / max(once, 1e-7)))
    times, end = [once] if batch == 1 else [], Clock() + budget
    while not times or (len(times) < most and Clock() < end):
        start = Clock()
        for _ in range(batch):
            work()
        times.append((Clock() - start) / batch)
    return statistics.median(times)


def measure(engine: type, name: str, n: int, quick: bool, send: Callable[[Any], None]) -> None:
    """Send the times one by one, so that those that were measured before the cap are not lost."""
    judge, times, reps = engine(), [], 3 if quick else 7
    judge.first(judge.prepare(case(name, 3, "w")))
    end = Clock() + 2
    question = None
    while len(times) < reps and (not times or Clock() < end):
        question = judge.prepare(case(name, n, f"r{len(times)}x"))
        start = Clock()
        judge.first(question)
        times.append(Clock() - start)
    send(("new", statistics.median(times)))
    budget, most = (0.1, 5) if quick else (0.3, 15)
    send(("first", repeated(lambda: judge.first(question), budget, most)))
    if n <= SIZES[-1] or name != "pairs":
        start = Clock()
        send(("answers", judge.all(question)))
        send(
            (
                "all",
                Clock() - start
                if Clock() - start > 1
                else repeated(lambda: judge.all(question), budget, most),
            )
        )


def _child(pipe: Any, *arguments: Any) -> None:
    with contextlib.suppress(BrokenPipeError):
        try:
            measure(*arguments, pipe.send)
        except Exception as e:  # whatever an engine raises ends its point only
            pipe.send(("error", type(e).__name__))
        pipe.send(None)
    os._exit(0)


def capped(cap: float, *arguments: Any) -> dict[str, Any]:
    """Measure one point in a process that is stopped when its time is over; return what was measured."""
    there, here = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=_child, args=(here, *arguments))
    process.start()
    here.close()
    found, end = {}, Clock() + cap
    with contextlib.suppress(EOFError):
        while there.poll(max(0.0, end - Clock())):
            if (message := there.recv()) is None:
                break
            found[message[0]] = message[1]
        else:
            found["capped"] = True
    process.kill()
    process.join()
    return found


COLUMNS = ("new", "first", "all")


def points(
    names: list[str], engines: list[str], sizes: list[int], options: Any
) -> Iterator[tuple[str, int, dict]]:
    """Yield for each pattern and size what each engine took; an engine that was capped is not asked for more."""
    for name in names:
        dead: set[str] = set()
        for n in sizes:
            found: dict[str, list[dict[str, Any]]] = {}
            for _ in range(options.rounds):
                for engine in engines:
                    if engine in dead or (n > SIZES[-1] and not engine.startswith("relgrad")):
                        continue
                    rounds = found.setdefault(engine, [])
                    if rounds and "capped" in rounds[-1]:
                        continue
                    rounds.append(capped(options.cap, ENGINES[engine], name, n, options.quick))
                    if "first" not in rounds[-1]:
                        dead.add(engine)
            yield name, n, {engine: merged(rounds) for engine, rounds in found.items()}


def merged(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of several rounds."""
    found = {
        c: statistics.median(r[c] for r in rounds if c in r) for c in COLUMNS if any(c in r for r in rounds)
    }
    return found | {k: r[k] for r in rounds for k in ("answers", "error", "capped") if k in r}


def seconds(t: float | None) -> str:
    if t is None:
        return "-"
    scale, unit = next((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if t >= s or u == "us")
    return f"{t / scale:.3g} {unit}"


def table(name: str, n: int, found: dict[str, dict[str, Any]]) -> None:
    """Print one point: times, and their ratios to relgrad's on tuples."""
    base = found.get("relgrad tuples", {})
    wanted = case(name, min(n, SIZES[-1])).answers if n <= SIZES[-1] or name != "pairs" else None
    print(f"\n{name}, n = {n}")
    heads = "".join(f"{c:>11}{'ratio':>9}" for c in COLUMNS)
    print(f"  {'':<17}{heads}{'answers':>11}")
    for engine, row in found.items():
        cells = ""
        for c in COLUMNS:
            ratio = f"{row[c] / base[c]:.3g}" if c in row and c in base else "-"
            cells += f"{seconds(row.get(c)):>11}{ratio:>9}"
        count = row.get("answers")
        note = row.get("error") or ("capped" if "capped" in row else "")
        if count is not None and count != wanted:
            note += f" ({wanted} distinct)"
        print(f"  {engine:<17}{cells}{'-' if count is None else count:>11} {note}".rstrip(), flush=True)


def is_installed(module: str) -> bool:
    """Import what an engine needs, for all its processes at once."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cap", type=float, default=20, help="seconds for one engine at one point")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which medians are taken")
    parser.add_argument("--quick", action="store_true", help="one round, few sizes, a cap of four seconds")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--sizes", default="", help="comma list of numbers of arguments")
    parser.add_argument("--only", default="", help="comma list of engines")
    options = parser.parse_args()
    sizes = [*SIZES, *LARGE]
    if options.quick:
        options.rounds, options.cap, sizes = 1, min(options.cap, 4), [3, 5, 8, 64, 1024]
    if options.sizes:
        sizes = [int(n) for n in options.sizes.split(",")]
    engines = [e for e in ENGINES if not options.only or e in options.only.split(",")]
    missing = [e for e in engines if not is_installed(ENGINES[e].needs)]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    engines = [e for e in engines if e not in missing]
    print(__doc__)
    print("medians; new: first answer, subject never seen; first: first answer again; all: all answers again")
    for point in points(options.patterns.split(","), engines, sizes, options):
        table(*point)


if __name__ == "__main__":
    main()
