"""Compute the references of the cases that changed: `python tests/cases/regenerate.py [--all]`. Needs mpmath."""

from __future__ import annotations

import json
import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cases import CASES
from cases.reference import FILE, stored, written


def compute(number: int) -> tuple[str, dict | str]:
    """Return the entry of one case, or why there is none."""
    try:
        return CASES[number].name, written(CASES[number])
    except Exception as error:
        return CASES[number].name, f"{type(error).__name__}: {error}"


def main() -> None:
    """Write the file anew, keeping the entries of cases that have not changed."""
    names = [f"{c.family}: {c.name}" for c in CASES]
    assert not (twice := [n for n, k in Counter(names).items() if k > 1]), twice
    old = {} if "--all" in sys.argv else stored()
    new = {n: old[n] for n, c in zip(names, CASES, strict=True) if old.get(n, {}).get("key") == c.key()}
    with Pool(2) as pool:
        todo = [i for i, name in enumerate(names) if name not in new]
        for i, (name, entry) in zip(todo, pool.imap(compute, todo), strict=True):
            if isinstance(entry, str):
                print(f"{name}: {entry}")
            else:
                new[names[i]] = entry
    ordered = {name: new[name] for name in names if name in new}
    lines = [
        f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in ordered.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(new)} cases, {len(todo)} of them computed")


if __name__ == "__main__":
    main()
