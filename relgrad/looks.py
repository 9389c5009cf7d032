"""How objects show themselves: asked here by the data types, answered in `display/`, which they never import."""

from __future__ import annotations

from functools import singledispatch
from typing import Any


@singledispatch
def html(x: Any) -> str | None:
    """Return what a notebook shows of x, right without scripts and style elements; None where nothing is known."""
    return None


@singledispatch
def latex(x: Any) -> str | None:
    """Return x in LaTeX, within `$…$` or `$$…$$`; None where nothing is known."""
    return None


@singledispatch
def plain(x: Any) -> str:
    """Return x as text of at most 100 columns, for terminals.

    >>> plain(1.5)
    '1.5'
    """
    return repr(x)


class Shown:
    """What shows itself in notebooks and terminals, by the three functions above.

    >>> Shown()._repr_html_() is None
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return html(self)

    def _repr_latex_(self) -> str | None:
        return latex(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("…" if cycle else plain(self))
