"""The library run backwards: how many naive spellings of each stable form the default strategy stabilises.

A spelling is stabilised if the rewritten program is as accurate as the stable form, within 2 bits, at every input of
a sample that holds the hard ones: overflow, underflow, arguments that nearly meet or nearly cancel. The truth is the
stable form in ball arithmetic.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import relgrad as rg
from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.instance import Instance
from relgrad.balls.graph import Enclosure, enclose
from relgrad.compile.extended import may_leave_range
from relgrad.compile.function import compile_source, fold_constants
from relgrad.compile.sink import sink_squeezes
from relgrad.compile.source import write_source
from relgrad.differentiate import pull_along
from relgrad.explore.spellings import instance_of
from relgrad.interpret import interpret
from relgrad.op import as_term
from relgrad.schedule import schedule
from relgrad.schedule.strategy import NAIVE
from relgrad.term import Term, substitute
from relgrad.trace.tracer import Tracer

BITS = 2.0
"""So much less accurate than the stable form a rewritten spelling may be; its first bit does not count."""


PRECISION = 2048
"""What is not known with so many bits is not asked for."""
SMALL = 2.0**-200
"""Smaller numbers, and greater ones than its inverse, are asked for where a row is about them."""


def sample(instance: Instance, rng: np.random.Generator) -> dict[Term, Any]:
    """Return numbers for the variables: of every size, and some that nearly meet each other or a small integer."""
    values = instance.sample(rng)
    first: Any = None
    for t, x in values.items():
        where = t.op.range
        near = 1 + rng.standard_normal(x.shape) * np.exp2(-rng.uniform(4, 40, x.shape))
        lead = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1)) if x.ndim else np.zeros(())
        spread = lead % 8 == 5
        center = x.reshape(len(x), -1)[:, :1].reshape(-1, *[1] * (x.ndim - 1))
        candidates = [
            (lead % 8 == 3, np.sign(x) * near * np.minimum(np.ceil(np.abs(x)), 3)),
            (spread, center * near),
        ]
        if first is not None and first.shape == x.shape:
            candidates.append((lead % 4 == 1, first * near))
        for chosen, new in candidates:
            inside = (new > where.low) & (new < where.high)
            x = np.where(chosen & inside, new, x)
        values[t] = x
        first = x if first is None else first
    return values


def gradient(root: Term, leaves: Sequence[Term]) -> list[Term]:
    """Return the implicit gradient of the sum of a term, for each leaf."""

    def f(*xs: Tracer) -> Any:
        return Tracer(substitute([root], {t: x.term for t, x in zip(leaves, xs, strict=True)})[0])

    out = np.ones(root.type.shape)
    return [as_term(g) for g in pull_along(f, tuple([Tracer(t) for t in leaves]), out)]


@dataclass
class Judge:
    """A stable form at its inputs: the truth, and the errors in bits of the form itself, of its value or gradient."""

    instance: Instance
    values: dict[Term, Any]
    with_gradient: bool
    truth: list[Enclosure] = field(init=False)
    errors: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        stable, written = self.roots(self.instance.right), self.roots(self.instance.left)
        exact = [schedule(r, rg.LIBRARY, NAIVE).after for r in (stable, written)]
        a, b = (enclose(r, self.values, limit=PRECISION) for r in exact)
        # The library may continue a function where it is not defined; there nobody can ask for a value.
        self.truth = [
            Enclosure(s.balls, s.settled & w.settled & _finite(w) & _finite(s))
            for s, w in zip(a, b, strict=True)
        ]
        if self.with_gradient:
            # Where a function has no value it has no gradient, though its formula may have one.
            values = [
                schedule([r], rg.LIBRARY, NAIVE).after[0] for r in (self.instance.left, self.instance.right)
            ]
            defined = [_finite(e) for e in enclose(values, self.values, limit=PRECISION)]
            known = np.all([np.all(d.reshape(len(d), -1), axis=1) if d.ndim else d for d in defined], axis=0)
            for t in self.truth:
                t.settled[...] &= _along_first(known, t.settled)
        self._known: dict[tuple[Term, ...], list[Any]] = {}
        self.errors = self.errors_of(schedule(stable, rg.LIBRARY).after)
        # At numbers whose squares and cubes leave the floats, only what the row says of them is asked for.
        said = self.lost(self.measured(self.written(exact[1])))
        for t, lost in zip(self.truth, said, strict=True):
            t.settled[...] &= lost | _along_first(_moderate(self.values), t.settled)

    def roots(self, t: Term) -> list[Term]:
        """Return what is judged of a term."""
        return gradient(t, list(self.instance.leaves.values())) if self.with_gradient else [t]

    def written(self, roots: Sequence[Term]) -> list[Any]:
        """Return what a program computes as it is written."""
        with np.errstate(all="ignore"):
            return interpret(roots, self.values)

    def compiled(self, roots: Sequence[Term]) -> list[Any]:
        """Return what a program computes as its users get it: compiled, in extended range where it needs that."""
        names = {t: f"x{i}" for i, t in enumerate(self.values)}
        roots = sink_squeezes(fold_constants(roots))
        source = write_source("program", list(names.values()), names, roots, extended=may_leave_range(roots))
        with np.errstate(all="ignore"):
            found = compile_source(source)(*[np.array(x) for x in self.values.values()])
        return [found] if len(roots) == 1 else list(found)

    def measured(self, found: Sequence[Any]) -> list[Any]:
        """Return the errors of results in bits."""
        return [
            bits_of_error(np.broadcast_to(x, t.balls.shape), t)
            for x, t in zip(found, self.truth, strict=True)
        ]

    def errors_of(self, after: Sequence[Term]) -> list[Any]:
        """Return the errors in bits of a program that many spellings may lead to."""
        key = tuple(after)
        if key not in self._known:
            self._known[key] = self.measured(self.compiled(after))
        return self._known[key]

    def lost(self, errors: Sequence[Any]) -> list[Any]:
        """Return where a program is worse than the stable form."""
        return [
            t.settled & (e > np.maximum(s, 1.0) + BITS)
            for e, s, t in zip(errors, self.errors, self.truth, strict=True)
        ]

    def verdict(self, t: Term, naive: bool = False) -> tuple[bool, str]:
        """Return whether a spelling is naive, if not known, and where it is not stabilised: empty where it is."""
        roots = self.roots(t)
        written = schedule(roots, rg.LIBRARY, NAIVE).after
        naive = naive or any(x.any() for x in self.lost(self.measured(self.written(written))))
        after = schedule(roots, rg.LIBRARY).after
        errors = self.errors_of(after)
        wrong = self.lost(errors)
        if not any(x.any() for x in wrong):
            return naive, ""
        defined = enclose(written, self.values, limit=PRECISION)
        for w, d, e, s, root in zip(wrong, defined, errors, self.errors, after, strict=True):
            w &= d.settled & _finite(d)
            for place in np.argwhere(w):
                inputs = {
                    n: np.asarray(self.values[x])[tuple(place[:1])].tolist()
                    for n, x in self.instance.leaves.items()
                }
                place = tuple(place)
                return (
                    True,
                    f"{e[place]:.0f} bits lost, the stable form {s[place]:.0f}, at {inputs}: {rg.show(root)}",
                )
        return naive, ""


def _finite(e: Enclosure) -> Any:
    return np.asarray(np.frompyfunc(lambda b: b.is_finite(), 1, 1)(e.balls), dtype=bool)


def _moderate(values: dict[Term, Any]) -> Any:
    """Whether all numbers of an entry of the first axis are zero or of moderate size."""
    size = [np.abs(x).reshape(len(x), -1) for x in values.values()]
    return np.all([np.all((x == 0) | ((x > SMALL) & (x < 1 / SMALL)), axis=1) for x in size], axis=0)


def _along_first(x: Any, like: Any) -> Any:
    """Return an array of one axis as long as the first of another array and of as many axes."""
    if x.ndim and like.ndim and len(like) == len(x):
        return x.reshape(-1, *[1] * (like.ndim - 1))
    return x.all()


@dataclass
class Result:
    """What became of the spellings of one row."""

    name: str
    count: int = 0
    naive: int = 0
    failed: list[tuple[str, str, str]] = field(default_factory=list)


def judge_row(row: Any, count: int, seed: int, gradients: bool, samples: int = 64) -> Result:
    """Return what becomes of the first spellings of a row."""
    instance = instance_of(row, samples)
    small = instance_of(row)
    rng = np.random.default_rng(seed)
    result = Result(row.name)
    values = sample(instance, rng)
    judges = {"value": Judge(instance, values, False)}
    if gradients:
        judges["gradient"] = Judge(instance, values, True)
    for t in islice(rg.spellings(row, seed=seed), count):
        [t] = substitute([t], {small.leaves[n]: x for n, x in instance.leaves.items()})
        result.count += 1
        bad = {}
        naive = False
        for what, judge in judges.items():
            naive, why = judge.verdict(t, naive)
            if why:
                bad[what] = why
        result.naive += naive
        for what, why in bad.items():
            result.failed.append((what, rg.show(t).replace("\n", " "), why))
            break
    return result


def results(rows: Sequence[Any], count: int, seed: int, gradients: bool) -> Iterator[Result]:
    """Yield the result of each row."""
    for row in rows:
        yield judge_row(row, count, seed, gradients)


def main() -> None:
    """Print a line for each row, and what is not stabilised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="spellings for each row")
    parser.add_argument("--only", nargs="*", help="names of rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--values", action="store_true", help="no gradients")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--left", type=Path, help="a table of what is not stabilised is written here")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for row in rg.LIBRARY if not arguments.only or row.name in arguments.only]
    rows = sorted(rows, key=lambda r: r.name)[arguments.start :: arguments.step]
    total = naive = failed = 0
    start = time.perf_counter()
    left = ["row\tof what\tspelling\twhat is lost"]
    for row in rows:
        try:
            found = judge_row(row, arguments.count, arguments.seed, not arguments.values)
        except Exception as error:
            print(f"{row.name}: ERROR {type(error).__name__} {error}", flush=True)
            continue
        total, naive, failed = total + found.count, naive + found.naive, failed + len(found.failed)
        print(f"{row.name:50} {found.count:4} {found.naive:4} {len(found.failed):4}", flush=True)
        for what, text, why in found.failed:
            print(f"    {what}: {text}\n        {why}", flush=True)
            left.append("\t".join([row.name, what, text, " ".join(why.split())]))
        if arguments.left:
            arguments.left.write_text("\n".join(left) + "\n")
    print(f"{total} spellings, {naive} naive, {failed} not stabilised; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
