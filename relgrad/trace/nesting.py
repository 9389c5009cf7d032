"""What a thread is in the middle of: a stack of its own, to which a block adds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Nesting(threading.local, Generic[T]):
    """within(a): within(b): → values = [a, b]: the values of the blocks that this thread is within, the innermost
    last.
    """

    def __init__(self) -> None:
        self.values: list[T] = []

    @contextmanager
    def within(self, value: T) -> Iterator[T]:
        """`with nesting.within(a): …` → values = […, a] there."""
        self.values.append(value)
        try:
            yield value
        finally:
            self.values.pop()
