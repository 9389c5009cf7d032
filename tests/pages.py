"""Pages of docs/ as programs: blocks of Python in order, each with what it prints in the block of text after it."""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent.parent / "docs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of Python, what it should print (None where the page does not say), and its first line in the page."""

    code: str
    output: str | None
    line: int


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of Python in a page; those of doctest, and fragments, which are marked `py`, are none."""
    found = [(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)]
    for (language, code, line), after in zip(found, [*found[1:], ("", "", 0)], strict=False):
        if language == "python" and not code.startswith(">>>"):
            yield Block(code, after[1] if after[0] == "text" else None, line)


def run(block: Block, names: dict[str, Any], file: str) -> str:
    """Return what a block prints, as part of a file in which it has the lines that it has in the page."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.code, file, "exec"), names)
    return printed.getvalue()


def agrees(expected: str, got: str) -> bool:
    """Whether a text is what a page says, where `…` stands for anything and white space does not count.

    >>> agrees("a … c", "a  b\\nc"), agrees("a", "b")
    (True, False)
    """
    parts = [re.escape(" ".join(part.split())) for part in re.split("…", expected)]
    return re.fullmatch(r"\s*.*?\s*".join(parts), " ".join(got.split()), re.DOTALL) is not None


def untrue(path: Path) -> list[str]:
    """Return the blocks of a page that print something else than the page says, and its doctests that fail."""
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    # A page that shows lines of a file says how the file is called.
    found = re.search(r"^(\w+\.py):", text, re.MULTILINE)
    file = found[1] if found else "page.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    wrong = []
    for block in blocks(text):
        got = run(block, names, file)
        if block.output is not None and not agrees(block.output, got):
            wrong.append(f"{path.name}:{block.line} prints\n{got}instead of\n{block.output}")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testfile(str(path), module_relative=False, optionflags=flags)
    return [*wrong, *[f"{path.name}: {failed} doctests"] * bool(failed)]
