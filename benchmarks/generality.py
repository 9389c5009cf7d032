"""Laws of cancellation for functions that nobody chose: how many well-conditioned questions are answered within 64 ulp.

    python benchmarks/generality.py --questions 2000 --seed 1 --processes 2
    python benchmarks/generality.py --seed 1 --question 123

Question q of seed s is the same everywhere; `--question` asks it alone and shows it. See docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from cancelling import KINDS, SECONDS, ask, described, law_of
from cancelling_programs import LAWS


class Task(NamedTuple):
    """Questions about one program."""

    seed: int
    numbers: Sequence[int]
    seconds: float
    precise: bool = True


class Line(NamedTuple):
    """What became of a question, and the question as text."""

    number: int
    law: str
    kind: str
    asked: bool
    written: bool
    right: bool
    worse: bool
    seconds: float
    text: str


def run(task: Task) -> list[Line]:
    """Ask the questions about a program."""
    warnings.simplefilter("ignore")
    found = []
    for number in task.numbers:
        v = ask(task.seed, number, task.seconds, precise=task.precise)
        written, right = [answer is not None and answer.right for answer in (v.written, v.relgrad)]
        found.append(
            Line(number, v.program.law, v.kind, v.asked, written, right, v.worse, v.seconds, described(v))
        )
    return found


def tasks(seed: int, questions: int, law: str, *how: Any) -> list[Task]:
    """Return the tasks of the first so many questions about programs of laws whose names contain `law`."""
    if not any(law in name for name in LAWS):
        raise SystemExit(f"no law is called {law!r}; there are {', '.join(LAWS)}")
    numbers = (q for q in itertools.count() if law in law_of(q // len(KINDS)))
    chosen = itertools.islice(numbers, questions)
    return [Task(seed, tuple(some), *how) for _, some in itertools.groupby(chosen, lambda q: q // len(KINDS))]


def results(todo: list[Task], processes: int) -> Iterator[list[Line]]:
    """Yield results in the order in which they come."""
    if processes == 1:
        yield from map(run, todo)
        return
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=100) as pool:
        yield from pool.imap_unordered(run, todo)


def table(lines: list[Line]) -> str:
    """Return by law and kind: right as written, right by relgrad, asked, and where relgrad is worse."""
    rows = [["", *KINDS, "all"]]
    laws = [law for law in LAWS if any(line.law == law for line in lines)]
    for law in (*laws, None):
        of_law = [line for line in lines if law in (line.law, None) and line.asked]
        cells = [_cell([line for line in of_law if line.kind == kind]) for kind in KINDS]
        rows.append([law or "all", *cells, _cell(of_law)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _cell(lines: list[Line]) -> str:
    if not lines:
        return "–"
    counts = Counter[str]()
    for line in lines:
        counts.update(written=line.written, right=line.right, worse=line.worse)
    worse = f" ({counts['worse']} worse)" if counts["worse"] else ""
    return f"{counts['written']} → {counts['right']} of {len(lines)}{worse}"


def summary(lines: list[Line], seed: int, elapsed: float) -> str:
    """Return what the whole comes to."""
    asked = [line for line in lines if line.asked]
    n, times = max(len(asked), 1), sorted(line.seconds for line in asked) or [0.0]
    written, right = (100 * sum(part) / n for part in ([x.written for x in asked], [x.right for x in asked]))
    worse = sum(x.worse for x in asked)
    quantiles = ", ".join(f"{times[int(q * (len(times) - 1))]:.2f}" for q in (0.5, 0.99, 1.0))
    return "\n".join(
        [
            f"seed {seed}: {len(lines)} questions, {len(asked)} of them well-conditioned",
            f"right as written {written:.1f} %, by relgrad {right:.1f} %; relgrad worse than as written: {worse}",
            f"seconds of a first call: median, 99 %, largest: {quantiles}; all in all {elapsed:.0f}",
        ]
    )


def main() -> None:
    """Ask, print what fails if that is wanted, and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--law", default="", help="only laws whose names contain this")
    parser.add_argument("--question", type=int, help="one question alone, by its number")
    parser.add_argument(
        "--show", type=int, default=0, help="how many failures of each law and kind are printed; -1: all"
    )
    parser.add_argument(
        "--worse", action="store_true", help="show only failures that are worse than as written"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long a first call may take")
    parser.add_argument(
        "--precise",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="compute once more where digits cancel",
    )
    options = parser.parse_args()
    how = options.seconds, options.precise
    if options.question is not None:
        (line,) = run(Task(options.seed, (options.question,), *how))
        state = "not asked" if not line.asked else "right" if line.right else "wrong"
        raise SystemExit(print(f"# {line.law}, {line.kind}: {state}\n{line.text}"))
    start, lines, shown = time.perf_counter(), list[Line](), Counter[tuple[str, str]]()
    for some in results(tasks(options.seed, options.questions, options.law, *how), options.processes):
        lines += some
        for line in (x for x in some if x.asked and not x.right and (x.worse or not options.worse)):
            shown[line.law, line.kind] += 1
            if options.show < 0 or shown[line.law, line.kind] <= options.show:
                worse = ", worse than as written" if line.worse else ""
                print(f"## {line.number}: {line.law}, {line.kind}{worse}\n{line.text}\n", flush=True)
    print(f"right as written → by relgrad, of those asked:\n{table(lines)}\n")
    print(summary(lines, options.seed, time.perf_counter() - start))


if __name__ == "__main__":
    main()
