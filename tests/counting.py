"""Work, counted: no test bounds a time, which depends on the machine and on what else it does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

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


def chain(step: Callable[[Any], Any], n: int) -> Callable[[Any], Any]:
    """sin, 3 → x ↦ Σ sin(sin(sin(x))): a loop of so many steps."""

    def f(x: Any) -> Any:
        for _ in range(n):
            x = step(x)
        return np.sum(x)

    return f


@contextmanager
def watched(room: Any, name: str, tell: Callable[[], None]) -> Iterator[None]:
    """Within, each call of a function that a module knows by name is told of first."""
    original = getattr(room, name)

    def call(*args: Any) -> Any:
        tell()
        return original(*args)

    setattr(room, name, call)
    try:
        yield
    finally:
        setattr(room, name, original)


def counted(room: Any, name: str, f: Callable[[], Any]) -> int:
    """Return how often a function that a module knows by name is called while another runs."""
    count = 0

    def tally() -> None:
        nonlocal count
        count += 1

    with watched(room, name, tally):
        f()
    return count


@contextmanager
def at_most(attempts: int) -> Iterator[None]:
    """Within, rows are tried at places so often at most; what would go on for ever ends here."""
    count = 0

    def tally() -> None:
        nonlocal count
        count += 1
        if count > attempts:
            raise TooMuch(f"rows were tried more than {attempts} times")

    with watched(relate, "rewrites", tally):
        yield
