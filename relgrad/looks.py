"""How objects show themselves: asked here by the data types, answered in `display/`, which they never import."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any, TypeVar

T = TypeVar("T")

WIDTH = 100


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


class Shown:
    """x._repr_html_() = html(x): an object that shows itself in notebooks, terminals and rich, by the functions above.

    >>> Shown()._repr_html_() is None
    True
    """

    __slots__ = ()

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
