"""What pictures share: SVG that scales, is read aloud, and is legible on light and dark paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from relgrad.display.page import Markup, element
from relgrad.looks import Shown, shortened

FONT = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SIZE = 12
LETTER = 0.62 * SIZE
"""How wide a letter is, rounded up: lines of text are given room without a browser that measures them."""
READABLE = 560.0
"""So wide a picture is at least."""
NAIVE, RELGRAD, OTHER = "#c4474d", "#4a7cc9", "#a86a1c"
"""Colours that are legible on white and on black."""

_PAPER = (
    ".relgrad-paper{color:#1b1b1b}.relgrad-paper>.paper{fill:#fff}"
    "@media (prefers-color-scheme:dark){.relgrad-paper{color:#ececec}.relgrad-paper>.paper{fill:#161616}}"
)
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Picture(Shown):
    """picture → .svg(), .save("p.svg"), and str, which says in words or in a table what is drawn."""

    title: str

    def drawn(self) -> tuple[float, float, Markup]:
        """→ 640.0, 330.0, <g>…</g>: the width, the height, and the content."""
        raise NotImplementedError

    def svg(self) -> str:
        """→ "<svg>…</svg>": the picture to be put into a page, whose ink it takes."""
        return self._made({})

    def _repr_svg_(self) -> str:
        """→ "<svg>…</svg>" with a sheet: the picture on paper of its own, which is dark where the reader's is."""
        return self._made({"class_": "relgrad-paper", "color": "#1b1b1b"})

    def save(self, path: str | Path) -> None:
        """ "p.svg" ← picture: writes the picture, on paper of its own, to a file of SVG."""
        Path(path).write_text(self._repr_svg_(), encoding="utf-8")

    def _made(self, paper: dict[str, str]) -> str:
        width, height, body = self.drawn()
        # Where there is little room a picture scrolls before its letters are too small to be read.
        style = f"max-width:max(100%,{min(width, READABLE):g}px);height:auto"
        options = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:g} {height:g}",
            "style": style,
        }
        options |= {"width": width, "height": height, "role": "img", "aria_label": legible(self.title)}
        options |= {"fill": "none", "stroke": "none", "font_family": FONT, "font_size": SIZE, **paper}
        sheet = [element("style", Markup(_PAPER)), rect(0, 0, width, height, fill="#fff", class_="paper")]
        said = [element("title", legible(self.title)), element("desc", legible(str(self)))]
        return element("svg", *said, *(sheet if paper else []), body, **options)


def legible(said: str) -> str:
    r""" "a\0b" → "a�b": text without the characters that XML has not."""
    return _NO_XML.sub("�", said)


def label(said: Any, x: float, y: float, anchor: str = "middle", **attributes: Any) -> Markup:
    """ "x", 3, 4 → <text x="3" y="4">x</text>: text at a place, in the page's ink."""
    attributes = {"fill": "currentColor", "text_anchor": anchor, **attributes}
    return element("text", legible(str(said)), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> Markup:
    """0, 0, 1, 1 → <line x1="0" …>: a straight line, in the page's ink."""
    attributes = {"stroke": "currentColor", **attributes}
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: Any) -> Markup:
    """0, 0, 2, 1 → <rect width="2" height="1" …>: a rectangle, by its upper left corner."""
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def group(*parts: Any, **attributes: Any) -> Markup:
    """a, b → <g>ab</g>: parts as one."""
    return element("g", *parts, **attributes)


def fitted(said: str, width: float) -> str:
    """ "a long title", 30 → "a l…": a line of text, cut where it takes more room."""
    return shortened(said, int(width / LETTER))


def width_of(said: str) -> float:
    """ "abc" → 22.32: the room that a line of text takes."""
    return LETTER * len(said)
