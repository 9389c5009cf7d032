"""Symbolic arrays, and whether this thread is in the middle of a trace, in which they stand for arguments."""

from __future__ import annotations

import threading
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
    """The class of the symbolic arrays of the trace that a thread is in the middle of, or None."""

    wrapper: Any = None


tracing = _Tracing()
