"""Work, counted: no test bounds a time, which depends on the machine and on what else it does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relgrad.schedule import relate


def calls(f: Callable[[], Any]) -> int:
    """Return how many calls of Python functions a function makes, none of them by the collector of garbage."""
    count = 0

    def tally(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    # Dead terms are taken from the table of terms by callbacks, whenever the collector happens to run.
    gc.collect()
    gc.disable()
    sys.setprofile(tally)
    try:
        f()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


class TooMuch(BaseException):
    """More was tried than is allowed; no `except Exception` on the way hides it."""


@contextmanager
def at_most(attempts: int) -> Iterator[None]:
    """Within, rows are tried at places so often at most; what would go on for ever ends here."""
    original, count = relate.rewrites, 0

    def counted(*args: Any) -> Any:
        nonlocal count
        count += 1
        if count > attempts:
            raise TooMuch(f"rows were tried more than {attempts} times")
        return original(*args)

    relate.rewrites = counted
    try:
        yield
    finally:
        relate.rewrites = original
