"""The site, built once for all tests, by whichever of them comes first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
MISSING = "the site needs Sphinx: pip install 'relgrad[docs]'"


class Site(NamedTuple):
    """The folder of a site, and how building it ended."""

    folder: Path
    status: int
    said: str

    @property
    def pages(self) -> dict[str, str]:
        """The HTML of the pages that have a source, by name."""
        sources = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*") if is_source(p)}
        return {name: (self.folder / f"{name}.html").read_text(encoding="utf-8") for name in sorted(sources)}


def is_source(path: Path) -> bool:
    """Whether a file is a page before it is built."""
    return path.suffix in (".md", ".ipynb") and "_build" not in path.parts


def built_site(temporary: pytest.TempPathFactory) -> Site:
    """Return the site; of several processes of a test run the first builds it, and the others wait."""
    for name in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(name, reason=MISSING)
    base = temporary.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, outcome = shared / "site", shared / "site.json"
    try:
        (shared / "site.started").mkdir()
    except FileExistsError:
        while not outcome.exists():
            time.sleep(0.2)
    else:
        outcome.with_suffix(".new").write_text(json.dumps(_build(folder)))
        outcome.with_suffix(".new").rename(outcome)
    return Site(folder, *json.loads(outcome.read_text()))


def _build(folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html", DOCS, folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr
