"""Ordinary programs on ordinary inputs, rewritten, against plain NumPy: how many were tried, and which came out wrong.

    python benchmarks/soundness.py --programs 50000 --seed 1 --processes 2

Program i of seed s is the same everywhere: `--seed s --first i --programs 1` runs it alone. See docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import model_programs
import ordinary_programs
from crossed_programs import crossing

BATCH = 25


def tried(task: tuple[int, int, bool, str]) -> list[str]:
    """Return what is wrong with a batch of programs, each with its text and the shapes of its arrays."""
    seed, first, validate, kind = task
    warnings.simplefilter("ignore")
    made: Any = {
        "ordinary": ordinary_programs.program,
        "crossed": crossing,
        "models": model_programs.program,
    }[kind]
    judge: Any = model_programs.faults if kind == "models" else ordinary_programs.faults
    found = []
    for number in range(first, first + BATCH):
        p = made((seed, number))
        for fault in judge(p, (seed, number), further=number % 8 == 0, validate=validate) if p else ():
            found.append(f"# {seed}, {number}: {[np.shape(x) for x in p[-1]]}: {fault}\n{p.text}\n")
    return found


def batches(chosen: argparse.Namespace) -> Iterator[tuple[int, int, bool, str]]:
    """Yield the tasks that so many programs of a seed make."""
    for start in range(chosen.first, chosen.first + chosen.programs, BATCH):
        yield chosen.seed, start, chosen.validated, chosen.kind


def main() -> None:
    """Print each program that is wrong, and how many there are; exit with 1 if there is one."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--programs", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--validated", action="store_true", help="validate, and count each alarm as a fault")
    options.add_argument(
        "--crossed",
        action="store_const",
        const="crossed",
        default="ordinary",
        dest="kind",
        help="collected computations in each other's company",
    )
    options.add_argument(
        "--models",
        action="store_const",
        const="models",
        dest="kind",
        help="models with parameters unpacked, linear algebra, loops over slices",
    )
    chosen = options.parse_args()
    tasks = list(batches(chosen))
    started, wrong = time.time(), 0
    with multiprocessing.Pool(chosen.processes, maxtasksperchild=40) as pool:
        for done, found in enumerate(pool.imap_unordered(tried, tasks), 1):
            wrong += len(found)
            print(*found, sep="\n", end="\n" if found else "", flush=True)
            if done % 20 == 0:
                print(f"{done * BATCH} programs, {wrong} faults, {time.time() - started:.0f} s", flush=True)
    print(f"seed {chosen.seed}: {len(tasks) * BATCH} programs: {wrong} faults")
    raise SystemExit(int(wrong > 0))


if __name__ == "__main__":
    main()
