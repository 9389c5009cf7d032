"""How far work is that takes more than a second: one line on a terminal, gone when the work is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

AFTER = 1.0
"""Seconds after which work says how far it is."""
EVERY = 0.2
"""Seconds between two lines."""
CLEAR = "\r\x1b[K"


@contextmanager
def progress(work: str, items: Sequence[T]) -> Iterator[Iterator[T]]:
    """Give the items one by one, and say on the way how many are done; nothing where stderr is no terminal.

    >>> with progress("squares", [1, 2, 3]) as numbers:
    ...     print([n * n for n in numbers])
    [1, 4, 9]
    """
    written = False

    def told() -> Iterator[T]:
        """[a, b, …] → a, b, …, and a line about how far it is, every now and then."""
        nonlocal written
        start = monotonic()
        due = start + AFTER
        for done, item in enumerate(items):
            if (now := monotonic()) >= due:
                due, written = now + EVERY, True
                _write(f"{CLEAR}relgrad: {work}, {done} of {len(items)}, {now - start:.0f} s")
            yield item

    try:
        yield told() if _is_terminal() else iter(items)
    finally:
        if written:
            _write(CLEAR)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
