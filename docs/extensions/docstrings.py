"""Docstrings of this project, which are plain text with code in backticks, as the reStructuredText of Sphinx."""

from __future__ import annotations

import re
from typing import Any

import relgrad as rg

SPAN = re.compile(r"`([^`]+)`")
NAMES = frozenset(rg.__all__)
ERRORS = re.compile(rf"\b({'|'.join(n for n in rg.__all__ if n.endswith('Error'))})\b")


def _linked(name: str, text: str = "") -> str:
    return f":py:obj:`{text or name} <relgrad.{name}>`"


def _prose(text: str) -> str:
    """Escape what reStructuredText would read as markup, and link the exceptions that are raised."""
    return ERRORS.sub(lambda m: _linked(m[1]), re.sub(r"([*|_\\])", r"\\\1", text))


def _code(text: str) -> str:
    name = text.removeprefix("rg.").removeprefix("relgrad.")
    return _linked(name, text) if name in NAMES else f"``{text}``"


def rewritten(lines: list[str]) -> list[str]:
    """Return the lines of a docstring in which spans of code, and nothing else, are markup.

    >>> rewritten(["x*y of `a*b`, or raises OpError"])
    ['x\\\\*y of ``a*b``, or raises :py:obj:`OpError <relgrad.OpError>`']
    """
    text: list[str] = []
    found: list[str] = []

    def flush() -> None:
        # A span of code may run over the end of a line.
        parts = SPAN.split("\n".join(text))
        joined = "".join(_code(part) if i % 2 else _prose(part) for i, part in enumerate(parts))
        found.extend(joined.split("\n") if text else [])
        text.clear()

    example = False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if example:
            flush()
            found.append(line)
        else:
            text.append(line)
    flush()
    return found


def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place, as autodoc asks."""
    lines[:] = rewritten(lines)


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
