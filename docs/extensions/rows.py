"""Rows of the library as the catalogue tells of them: equation, conditions, and measurements on their domains.

`python docs/extensions/rows.py` measures all rows and writes docs/catalogue.json, as `make catalogue` does.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

import relgrad as rg
from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.instance import Instance, instances
from relgrad.balls.graph import Enclosure, enclose, nearest
from relgrad.compile.extended import may_leave_range
from relgrad.compile.function import compile_source, fold_constants
from relgrad.compile.sink import sink_squeezes
from relgrad.compile.source import write_source
from relgrad.explore.spellings import instance_of
from relgrad.interpret import interpret
from relgrad.schedule import schedule
from relgrad.term import Term, substitute

SAMPLES, SEED = 96, 0
SPELLINGS, TRIED, SECONDS = 4, 40, 3.0
"""So many spellings are kept, of so many that are tried, in so much time."""
BITS = 2.0
"""So much less accurate than the right side a rewritten spelling may be."""
DATA = Path(__file__).resolve().parent.parent / "catalogue.json"
PICTURES = DATA.parent / "pictures"


def equation(row: rg.Relation) -> str:
    """Return both sides as NumPy, and below them the names that they share."""
    text = (
        rg.show(row.left, width=10**6, limit=10**4).split("\n"),
        rg.show(row.right, width=10**6).split("\n"),
    )
    if len(text[0]) + len(text[1]) == 2:
        return f"{text[0][0]} = {text[1][0]}"
    return "\n".join([*text[0], "=", *text[1]])


def conditions(row: rg.Relation) -> list[str]:
    """Return the conditions as their author wrote them."""
    tree = ast.parse(dedent(inspect.getsource(row.function)))
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    sides = next((x for x in returned if isinstance(x, ast.Tuple)), None)
    return [] if sides is None else [ast.unparse(x) for x in sides.elts[2:]]


def topics() -> dict[str, list[rg.Relation]]:
    """Return the rows by the module in which they are written, in the order in which they stand there."""
    found: dict[str, list[rg.Relation]] = {}
    for row in sorted(rg.LIBRARY, key=lambda r: (r.function.__module__, r.function.__code__.co_firstlineno)):
        found.setdefault(row.function.__module__.rpartition(".")[2], []).append(row)
    return found


def measured(row: rg.Relation) -> dict[str, Any]:
    """Return the bits that the left side loses as written and as rewritten, an input at which it does, spellings."""
    found = instances(row, SAMPLES)
    if not found:
        return {"spellings": _spellings(row)}
    instance = found[0]
    values = instance.sample(np.random.default_rng(SEED))
    judge = Judge(instance, values)
    data: dict[str, Any] = {}
    if judge.settled.any():
        written, rewritten = _written(instance.left, values), judge.compiled(instance.left)
        before, after = judge.errors(written), judge.errors(rewritten)
        for name, lost in (("written", before), ("rewritten", after)):
            chosen = lost[judge.settled]
            data[name] = [round(float(chosen.mean()), 1), round(float(chosen.max()), 1)]
        place = judge.telling(before, after)
        if place is not None:
            data["example"] = {
                "inputs": {name: float(values[t][place]) for name, t in instance.leaves.items()},
                "written": str(float(written[place])),
                "rewritten": str(float(rewritten[place])),
                "truth": str(nearest(judge.truth[place])),
            }
    data["spellings"] = _spellings(row)
    return data


class Judge:
    """The value of an instance at a sample, in ball arithmetic, where both of its sides have one."""

    def __init__(self, instance: Instance, values: dict[Term, Any]):
        left, right = enclose([instance.left, instance.right], values)
        self.values = values
        shape = np.broadcast_shapes(left.balls.shape, right.balls.shape)
        self.truth = np.broadcast_to(right.balls, shape)
        self.settled = np.broadcast_to(left.settled & right.settled & _finite(left) & _finite(right), shape)

    def errors(self, found: Any) -> Any:
        """Return the errors in bits, 0 where the value is not known."""
        truth = Enclosure(self.truth, self.settled)
        return np.where(self.settled, bits_of_error(np.broadcast_to(found, self.truth.shape), truth), 0.0)

    def compiled(self, t: Term) -> Any:
        """Return what users get of a term: rewritten, compiled, in extended range where it needs that."""
        roots = sink_squeezes(fold_constants(schedule([t], rg.LIBRARY).after))
        names = {leaf: f"x{i}" for i, leaf in enumerate(self.values)}
        source = write_source("program", list(names.values()), names, roots, extended=may_leave_range(roots))
        with np.errstate(all="ignore"):
            found = compile_source(source)(*[np.array(x) for x in self.values.values()])
        return np.broadcast_to(found, self.truth.shape)

    def telling(self, before: Any, after: Any) -> tuple[int, ...] | None:
        """Return where a program lost most that loses nothing as rewritten, at numbers of moderate size if it can."""
        if any(x.shape != self.truth.shape for x in self.values.values()) or self.truth.ndim != 1:
            return None
        sizes = [np.abs(np.log10(np.abs(np.where(x == 0, 1.0, x)))) for x in self.values.values()]
        gains = np.where(after < 2, before, 0.0) - np.maximum(np.max(sizes, axis=0) - 6, 0)
        place = np.argmax(gains)
        return (int(place),) if gains[place] > 4 else None


def _finite(e: Enclosure) -> Any:
    return np.asarray(np.frompyfunc(lambda b: b.is_finite(), 1, 1)(e.balls), dtype=bool)


def _written(t: Term, values: dict[Term, Any]) -> Any:
    with np.errstate(all="ignore"):
        return interpret([t], values)[0]


def _spellings(row: rg.Relation) -> list[str]:
    """Return a few of what people may write for the right side, each of which the library makes as accurate."""
    try:
        found = rg.spellings(row, seed=SEED)
        small, large = instance_of(row), instance_of(row, SAMPLES)
        values = large.sample(np.random.default_rng(SEED))
    except rg.RelgradError:  # a row whose right side a condition finds, or that has no instance of this size
        return []
    moved = {small.leaves[n]: t for n, t in large.leaves.items()}
    judge = Judge(large, values)
    stable = judge.errors(judge.compiled(large.right))
    # Those that differ in their order only have the same letters, as has the left side that the row is known by.
    known = {_letters(rg.show(small.left)): ""}
    for t in islice(_within(SECONDS, iter(found)), TRIED):
        text = rg.show(t)
        [program] = substitute([t], moved)
        if _is_telling(text) and _letters(text) not in known:
            right = (judge.errors(judge.compiled(program)) <= np.maximum(stable, 1.0) + BITS).all()
            known[_letters(text)] = text if right else ""
    return sorted(filter(None, known.values()), key=lambda text: (len(text), text))[:SPELLINGS]


def _is_telling(text: str) -> bool:
    """Whether a spelling is short, and is not one by laws that hold of every term."""
    return (
        "\n" not in text
        and len(text) <= 72
        and not re.search(
            r"1\.0 / \(1\.0 / |reciprocal\(1\.0 |/ reciprocal|log\(1\.0\)|\*\* -1\.0|\+ -1\.0|-1\.0 \+", text
        )
    )


def _letters(text: str) -> str:
    return "".join(sorted(re.sub(r"[ ()]|\.0\b", "", text)))


def _within(seconds: float, found: Iterator[Term]) -> Iterator[Term]:
    end = time.monotonic() + seconds
    for t in found:
        if time.monotonic() > end:
            return
        yield t


def draw() -> None:
    """Draw the pictures of docs/pictures.md, with what the page says that they are made of."""
    naive, log_sum = lambda x: (1 - np.cos(x)) / x**2, lambda x, y: np.log(np.exp(x) + np.exp(y))
    pictures = {
        "graph": rg.graph(rg.grad(lambda x: np.log(1 + np.exp(x))), 1.0),
        "error_along": rg.error_along(naive, 1e-9, 1.0),
        "error_map": rg.error_map(log_sum, (-900, 900), (-900, 900), points=12),
        "comb": rg.comb(1, 8, 3),
        "difference": rg.difference(1.0000001, 1.0),
    }
    PICTURES.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        picture.save(PICTURES / f"{name}.svg")


def main() -> None:
    """Draw the pictures, and measure every row."""
    warnings.simplefilter("ignore")
    draw()
    data = {row.name: measured(row) for row in sorted(rg.LIBRARY, key=lambda r: r.name)}
    lines = [f"{json.dumps(name)}: {json.dumps(found, ensure_ascii=False)}" for name, found in data.items()]
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
