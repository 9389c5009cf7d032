"""Bits of error of NumPy, JAX, PyTorch, autograd, PyTensor and relgrad on the same naive programs.

The cases and their references are those of `tests/cases`. A number passes within 64 units in the last place.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from collection import CASES, KINDS, Verdict, judge, read, stored
from peers import installed

Results = dict[tuple[str, str, str], dict[str, Verdict]]
"""The verdict on each peer, by family, name and kind of a case; without those that were not asked."""


def measured(peers: list[Any], only: str = "") -> Results:
    """Ask each peer all of its questions."""
    references, results = stored(), defaultdict(dict)
    for peer in peers:
        start = time.perf_counter()
        for case in CASES:
            name = f"{case.family}: {case.name}"
            for kind in (k for k in case.kinds if hasattr(peer, k) and only in name):
                verdict = asked(peer, case, kind, read(references[name], kind))
                if verdict is not None:
                    results[case.family, case.name, kind][peer.name] = verdict
        print(f"{peer.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return results


def asked(peer: Any, case: Any, kind: str, truth: Any) -> Verdict | None:
    """Return the verdict on one answer, or None where the peer lacks a function that the program calls."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            got = getattr(peer, kind)(case)
    except (AttributeError, NotImplementedError):
        return None
    except Exception as error:
        return Verdict(False, 64.0, f"{type(error).__name__}: {error}")
    return judge(case, got, truth)


def passed(rows: list[dict[str, Verdict]], peer: str) -> str:
    """Return how many of the answers pass, of how many."""
    verdicts = [row[peer] for row in rows if peer in row]
    return f"{sum(v.ok for v in verdicts)}/{len(verdicts)}" if verdicts else "–"


def summary(results: Results, peers: list[str]) -> list[list[str]]:
    """Return the table by kind of question."""
    controls = {(c.family, c.name) for c in CASES if c.control}
    groups = {
        "values": [r for (*_, k), r in results.items() if k == KINDS[0]],
        "gradients": [r for (*_, k), r in results.items() if k == KINDS[1]],
        "Hessian-vector products": [r for (*_, k), r in results.items() if k == KINDS[2]],
        "controls": [r for (f, n, _), r in results.items() if (f, n) in controls],
        "all": list(results.values()),
    }
    rows = [[label, *(passed(group, p) for p in peers)] for label, group in groups.items() if group]
    bits = {p: [r[p].bits for r in results.values() if p in r] for p in peers}
    return [*rows, ["mean bits of error", *(f"{statistics.mean(bits[p]):.1f}" for p in peers)]]


def by_family(results: Results, peers: list[str]) -> list[list[str]]:
    """Return the table by family."""
    families: dict[str, list[dict[str, Verdict]]] = defaultdict(list)
    for (family, *_), row in results.items():
        families[family].append(row)
    return [[family, *(passed(rows, p) for p in peers)] for family, rows in families.items()]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    dashes = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    lines = [head, dashes, *rows]
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


def versions(peers: list[Any]) -> str:
    """Return what was run."""
    found = [f"{p.name} {importlib.metadata.version(p.module)}" for p in peers]
    return ", ".join([f"Python {sys.version.split()[0]}", *found])


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose name or family contains this")
    parser.add_argument(
        "--peers", default="", help="names, separated by commas; all that are installed otherwise"
    )
    parser.add_argument("--picture", type=Path, help="where to write the picture (needs matplotlib)")
    parser.add_argument("--failures", help="also list what this peer fails")
    options = parser.parse_args()
    peers, missing = installed()
    wanted = options.peers.split(",") if options.peers else [p.name for p in peers]
    peers = [p for p in peers if p.name in wanted]
    results = measured(peers, options.only)
    names = [p.name for p in peers]
    print(versions(peers) + "".join(f"; {name} is not installed" for name in missing) + "\n")
    print(markdown(["passed", *names], summary(results, names)) + "\n")
    print(markdown(["family", *names], by_family(results, names)))
    if options.failures:
        for (family, name, kind), row in results.items():
            if (verdict := row.get(options.failures)) is not None and not verdict.ok:
                print(f"{family}: {name} ({kind}): {verdict.bits:.1f} bits; {verdict.why[:150]}")
    if options.picture:
        from accuracy_picture import draw

        draw(results, names, options.picture)


if __name__ == "__main__":
    main()
