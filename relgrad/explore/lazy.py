"""Sequences of which no more is computed than is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from relgrad.looks import Shown

T = TypeVar("T")

SHOWN = 10
"""So many members are printed."""
REST = "… and maybe more"


class Lazy(Sequence[T], Shown):
    """A sequence that computes no more members than are asked for, and none twice.

    >>> from itertools import count
    >>> Lazy(n * n for n in count())[3:5]
    [9, 16]

    `len`, negative positions and slices without an end compute all; printing computes the first few.
    """

    nothing = "nothing"
    """Printed where there are no members."""

    def __init__(self, members: Iterable[T]):
        self._found: list[T] = []
        self._rest: Iterator[T] | None = iter(members)

    def _compute(self, count: int | None) -> None:
        """count = 3 → three members ready; None → all."""
        while self._rest is not None and (count is None or len(self._found) < count):
            before = len(self._found)
            self._found += islice(self._rest, 1)
            if len(self._found) == before:
                self._rest = None

    def __getitem__(self, index: Any) -> Any:
        """lazy[2] → the third member, lazy[:3] → as lazy; a negative index computes all."""
        if isinstance(index, slice):
            bounds = (index.start or 0, index.stop, index.step or 1)
            lazy = index.stop is not None and min(bounds) >= 0
            return self._slice(islice(self, *bounds) if lazy else [*self][index])
        self._compute(index + 1 if index >= 0 else None)
        return self._found[index]

    def _slice(self, members: Iterable[T]) -> Sequence[T]:
        return list(members)

    def __iter__(self) -> Iterator[T]:
        """→ members one after the other, each computed once, when asked for."""
        position = 0
        while True:
            self._compute(position + 1)
            if position == len(self._found):
                return
            yield self._found[position]
            position += 1

    def __len__(self) -> int:
        self._compute(None)
        return len(self._found)

    def __bool__(self) -> bool:
        self._compute(1)
        return bool(self._found)

    def first(self) -> tuple[list[T], str]:
        """Return the members that are printed, and what is said of the rest."""
        self._compute(SHOWN)
        more = self._rest is not None or len(self._found) > SHOWN
        return self._found[:SHOWN], REST if more else ""

    def _text(self, member: T) -> str:
        return repr(member)

    def __repr__(self) -> str:
        members, rest = self.first()
        return "\n".join([*(list(map(self._text, members)) or [self.nothing]), *[rest] * bool(rest)])
