"""How objects show themselves: asked here by the data types, answered in `display/`, which they never import."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")

WIDTH = 100
SHOWN = 10
"""So many members are printed."""
REST = "… and maybe more"


@singledispatch
def html(x: Any) -> str | None:
    """Return what a notebook shows of x, right without scripts and style elements; None where nothing is known."""
    return _as_disguised(html, x)


@singledispatch
def latex(x: Any) -> str | None:
    """Return x in LaTeX, within `$…$` or `$$…$$`; None where nothing is known."""
    return _as_disguised(latex, x)


@singledispatch
def plain(x: Any) -> str:
    """Return x as text of at most 100 columns, for terminals.

    >>> plain(1.5)
    '1.5'
    """
    return _as_disguised(plain, x) or wrapped(repr(x))


@singledispatch
def coloured(x: Any) -> Any:
    """Return what rich prints of x, where rich is installed: a text with colours, or without."""
    from rich.text import Text

    return _as_disguised(coloured, x) or Text(plain(x))


def _as_disguised(look: Any, x: Any) -> Any:
    """Return the look of the type of x, or None, where x shows another class, as a traced array does."""
    found = look.dispatch(type(x))
    return None if found is look.dispatch(object) else found(x)


def wrapped(text: str, width: int = WIDTH) -> str:
    """Return a text with lines of at most so many columns; what is broken goes on further to the right.

    >>> print(wrapped("to be or not to be", 9))
    to be or
        not
        to be
    """
    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())] + "    "
        fits = len(line) <= width
        lines += [line] if fits else textwrap.wrap(line, width, subsequent_indent=indent[: width // 2])
    return "\n".join(lines)


def shortened(text: str, width: int) -> str:
    """ "to be or not", 8 → "to be o…": a text of at most so many letters."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


class Shown:
    """x._repr_html_() = html(x): an object that shows itself in notebooks, terminals and rich, by the functions above.

    >>> Shown()._repr_html_() is None
    True
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """IPython asks a class that has a `__repr__` of its own only for what stands beside it."""
        super().__init_subclass__(**options)
        cls._repr_pretty_ = cls._repr_pretty_

    def _repr_html_(self) -> str | None:
        return html(self)

    def _repr_latex_(self) -> str | None:
        return latex(self)

    def _repr_pretty_(self, p: Any, cycle: bool) -> None:
        p.text("…" if cycle else plain(self))

    def __rich__(self) -> Any:
        return coloured(self)


class Listed(Sequence[T], Shown):
    """Listed([a, b])[0] → a, two lines a, b: what was found, in its order; a subclass says how it is told."""

    def __init__(self, found: Iterable[T]):
        self.found = tuple(found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self.found))

    def __repr__(self) -> str:
        return str(self)


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
