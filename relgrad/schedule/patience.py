"""The time that a search may take, and what is said of one that takes long."""

from __future__ import annotations

import logging
import sys
from time import monotonic

AFTER = 2.0
"""Seconds after which a search says how far it is."""
EVERY = 0.5
"""Seconds between two lines of progress."""

log = logging.getLogger("relgrad")


class Patience:
    """Patience(2.0).is_over(…) → False for two seconds, then True: the clock of one search, and its progress.

    Progress is one line that is overwritten where stderr is a terminal, and else a record of level INFO of the logger
    `relgrad`. None is a search without bounds.
    """

    def __init__(self, seconds: float | None = None):
        self.seconds = seconds
        self._start = monotonic()
        self._end = float("inf") if seconds is None else self._start + seconds
        self._next = self._start + AFTER
        self._written = False
        self.ended = False

    def is_over(self, places: int, applied: int) -> bool:
        """now − start ≥ seconds → True: whether the time is over; says on the way how many places were visited, and
        steps made.
        """
        now = monotonic()
        if now >= self._next:
            self._next = now + EVERY
            self._say(f"relgrad: {now - self._start:.1f} s, {places} places, {applied} steps")
        self.ended = self.ended or now >= self._end
        return self.ended

    def __enter__(self) -> Patience:
        return self

    def __exit__(self, *_: object) -> None:
        if self._written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._written = False

    def _say(self, text: str) -> None:
        """relgrad: 2.1 s, … → over the last line of a terminal, or into the log."""
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._written = True
        else:
            log.info(text)
