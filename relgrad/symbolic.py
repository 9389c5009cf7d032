"""Symbolic arrays, and whether this thread is in the middle of a trace, in which they stand for arguments."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relgrad.looks import Shown


class Symbolic(Shown):
    """x + 1 → Symbolic(add(x, 1)): an array that stands for a term: user code and derivative rules compute with it."""

    __slots__ = ("term",)

    @property
    def family(self) -> type:
        """The class of the symbolic arrays that are made of this one."""
        return type(self)

    def __init__(self, term: Any):
        self.term = term


class _Tracing(threading.local):
    """The class of the symbolic arrays of the trace that a thread is in the middle of, or None.

    `numbers` are the functions of numbers, as exp(0.1), that are traced; None where they stay what they are.
    """

    wrapper: Any = None
    numbers: list[Any] | None = None


tracing = _Tracing()


@contextmanager
def numbers_as_terms(all_is_seen: bool) -> Iterator[list[Any]]:
    """`with numbers_as_terms(True) as made: …` → made = [exp(0.1)]: functions of numbers are traced within, or not."""
    made: list[Any] = []
    before, tracing.numbers = tracing.numbers, made if all_is_seen else None
    try:
        yield made
    finally:
        tracing.numbers = before
