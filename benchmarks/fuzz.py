"""Random programs over all ops, judged: how many were tried, how they fared against naive evaluation, what failed.

Program i of seed s is the same everywhere: `--seed s --first i --programs 1` runs it alone. See docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fuzzing import Failure, Outcome, check, described, reduced
from random_programs import Case, random_case

SECOND = 8
"""One program in so many has its second derivative checked."""
COUNTED = ("compared", "undefined", "results", "better", "worse", "excused", "slopes", "second", "unjudged")
BATCH = 20


class Found(NamedTuple):
    """A failure with its program: the number, what is wrong, the smallest text that shows it, the relations in it."""

    number: int
    failure: Failure
    text: str
    relations: tuple[str, ...]

    @property
    def family(self) -> tuple[Any, ...]:
        """What failures with the same cause have in common, as far as can be told."""
        return (*self.failure.key, self.failure.output, self.relations)


class Task(NamedTuple):
    """Programs to run in one process."""

    seed: int
    numbers: range
    seconds: float
    reduce: float


class Result(NamedTuple):
    """What became of a task: counts, times to rewrite by number, relations applied, failures."""

    counts: Counter[str]
    times: dict[int, float]
    relations: Counter[str]
    failures: list[Found]


def run(task: Task) -> Result:
    """Judge some programs."""
    warnings.simplefilter("ignore")
    result = Result(Counter(), {}, Counter(), [])
    for number in task.numbers:
        case = random_case((task.seed, number))
        second = number % SECOND == 0
        outcome = check(case, seconds=task.seconds, second=second)
        result.counts["programs"] += 1
        result.counts.update({name: int(getattr(outcome, name)) for name in COUNTED})
        result.counts["judged"] += bool(outcome.compared)
        result.counts["rewritten"] += bool(outcome.relations)
        result.relations.update(outcome.relations)
        result.times[number] = outcome.seconds
        keys = {f.key: f for f in reversed(outcome.failures)}
        result.failures.extend(_found(number, case, f, second, task) for f in keys.values())
    return result


def _found(number: int, case: Case, failure: Failure, second: bool, task: Task) -> Found:
    def again(smaller: Case) -> Outcome:
        return check(smaller, seconds=task.seconds, second=second, slopes=failure.kind == "wrong pullback")

    small = reduced(case, failure, again, task.reduce) if task.reduce else case
    outcome = again(small)
    same = next((f for f in outcome.failures if f.key == failure.key), failure)
    point = small.points[min(same.point, len(small.points) - 1)]
    return Found(number, same, described(small.program, point), tuple(sorted(outcome.relations)))


def results(tasks: list[Task], processes: int) -> Iterator[Result]:
    """Yield results in the order in which they come."""
    if processes == 1:
        yield from map(run, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=50) as pool:
        yield from pool.imap_unordered(run, tasks)


def summary(total: Result, elapsed: float, seed: int) -> str:
    """Return the counts as a table."""
    c, times = total.counts, sorted(total.times.values())
    rows = [
        ("seed", seed),
        ("programs", c["programs"]),
        ("programs with entries to compare", c["judged"]),
        ("programs in which relations applied", c["rewritten"]),
        ("relations that applied at all", len(total.relations)),
        ("second derivatives", c["second"]),
        ("gradients compared with difference quotients", c["slopes"]),
        ("entries compared (both strategies)", c["compared"]),
        ("entries without a value", c["undefined"]),
        ("results (an output at a point, by a strategy)", c["results"]),
        (
            "  more than 2 bits better than naive",
            f"{c['better']} ({100 * c['better'] / max(c['results'], 1):.1f} %)",
        ),
        ("  more than 2 bits worse", f"{c['worse']} ({100 * c['worse'] / max(c['results'], 1):.1f} %)"),
        ("entries worse than naive by luck or condition", c["excused"]),
        ("programs whose truth could not be had in time", c["unjudged"]),
        ("seconds to rewrite: median, 99 %, largest", _quantiles(times)),
        ("failures", f"{len({f.number for f in total.failures})} programs"),
        ("seconds", f"{elapsed:.0f}"),
    ]
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)


def _quantiles(times: list[float]) -> str:
    if not times:
        return "-"
    return ", ".join(f"{times[int(q * (len(times) - 1))]:.3f}" for q in (0.5, 0.99, 1.0))


def main() -> int:
    """Run, print failures by families and a summary; return 1 if there were any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long rewriting a program may take")
    parser.add_argument(
        "--reduce", type=float, default=20.0, help="seconds for reducing a failure; 0: not at all"
    )
    parser.add_argument("--show", type=int, default=2, help="how many failures of a family are printed")
    options = parser.parse_args()
    end = options.first + options.programs
    tasks = [
        Task(options.seed, range(i, min(i + BATCH, end)), options.seconds, options.reduce)
        for i in range(options.first, end, BATCH)
    ]
    total = Result(Counter(), {}, Counter(), [])
    families: Counter[Any] = Counter()
    start = time.perf_counter()
    for result in results(tasks, options.processes):
        total.counts.update(result.counts)
        total.times.update(result.times)
        total.relations.update(result.relations)
        total.failures.extend(result.failures)
        if total.counts["programs"] % 1000 == 0:
            print(f"{total.counts['programs']} programs", file=sys.stderr, flush=True)
        for found in result.failures:
            families[found.family] += 1
            if families[found.family] <= options.show:
                f = found.failure
                print(
                    f"-- {found.number}: {f.kind}, {f.strategy} {f.output}: {f.text}\n{found.text}",
                    flush=True,
                )
                print(f"   by {', '.join(found.relations) or 'no relation'}", flush=True)
    print("\nfamilies of failures:" if families else "\nno failure")
    for family, count in families.most_common():
        print(f"{count:6d}  {family}")
    print(summary(total, time.perf_counter() - start, options.seed))
    return 1 if total.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
