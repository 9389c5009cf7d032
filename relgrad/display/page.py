"""How fragments of HTML are made and framed: right without scripts, and readable where style elements are stripped.

Whatever is not `Markup` is escaped. Colours are variables with a fallback that is legible on white and on black; the
frame's style element sets them for light and dark, by JupyterLab's theme where there is one. Nothing is said by
colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

COLOURS = 8
"""So many marks differ in colour; those after them begin again, with other numbers."""

MATHEMATICS = "'STIX Two Math','Cambria Math','Latin Modern Math','DejaVu Math TeX Gyre',math"
_LIGHT = ["#a3282f", "#1f57a8", "#19692c", "#8a4b00", "#6d2fa0", "#00666e", "#9b1f73", "#555555"]
_DARK = ["#ff8f8f", "#8bbcff", "#7fd68f", "#f2b25c", "#cfa3f7", "#6fd3dc", "#f79ad3", "#bdbdbd"]
_EITHER = ["#c4474d", "#4a7cc9", "#3f8a50", "#a86a1c", "#9160bd", "#2c8790", "#bd4f98", "#7a7a7a"]
_LINES = "solid", "dashed", "dotted", "double", "wavy"


class Markup(str):
    """Text that is HTML already, and is not escaped again.

    >>> element("b", Markup("&lt;"), "<")
    '<b>&lt;&lt;</b>'
    """

    __slots__ = ()


def text(x: Any) -> Markup:
    """ "a < b" → a &lt; b: x as HTML: escaped, unless it is markup."""
    return x if isinstance(x, Markup) else Markup(escape(str(x)))


def joined(parts: Iterable[Any], between: str = "") -> Markup:
    """["a", "b"], ", " → a, b: fragments one after the other."""
    return Markup(str(text(between)).join(map(text, parts)))


def element(tag: str, *parts: Any, **attributes: Any) -> Markup:
    """Return an element; of attributes, True stands alone, None and False are left out, and `_` is written `-`.

    >>> element("th", "a & b", scope="col", class_="number", width=1 / 3)
    '<th scope="col" class="number" width="0.333333">a &amp; b</th>'
    """
    words = [tag]
    for name, value in attributes.items():
        name = name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            said = f"{value:.6g}" if isinstance(value, float) else str(value)
            words.append(f'{name}="{escape(said)}"')
    return Markup(f"<{' '.join(words)}>{joined(parts)}</{tag}>")


def code(source: Any) -> Markup:
    """Return text as code: lines as they are where there are several, within a line otherwise.

    >>> code("a < b")
    '<code>a &lt; b</code>'
    """
    inner = element("code", text(source))
    return element("pre", inner) if "\n" in source else inner


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], caption: Any = "") -> Markup:
    """Return a table; the first cell of each row is its head, and cells of digits stand to the right.

    >>> table(("x", "bits"), [("a", "1.5")])
    '<div class="wide"><table><thead><tr><th scope="col">x</th><th scope="col">bits</th></tr></thead><tbody><tr><th
    scope="row">a</th><td class="number">1.5</td></tr></tbody></table></div>'
    """
    titles = element("thead", element("tr", *[element("th", cell, scope="col") for cell in head]))
    body = element("tbody", *[element("tr", *map(_cell, range(len(row)), row)) for row in rows])
    parts = [element("caption", caption)] if caption else []
    return element("div", element("table", *parts, *([titles] if any(head) else []), body), class_="wide")


def _cell(position: int, content: Any) -> Markup:
    if position == 0:
        return element("th", content, scope="row")
    number = not isinstance(content, Markup) and str(content).strip("-+%.e ").replace(".", "").isdigit()
    return element("td", content, class_="number" if number else None)


def details(summary: Any, *body: Any, opened: bool = False) -> Markup:
    """ "more", body → <details><summary>more</summary>body</details>: opens and closes without a script."""
    return element("details", element("summary", summary), *body, open=opened)


def facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    """[("bits", "3")] → <dl><dt>bits</dt><dd>3</dd></dl>; pairs without content are left out."""
    rows = [joined([element("dt", name), element("dd", said)]) for name, said in pairs if said]
    return element("dl", *rows) if rows else Markup("")


def note(said: Any) -> Markup:
    """ "…" → <p class="note">…</p>: a remark."""
    return element("p", said, class_="note")


def marked(shown: Any, n: int) -> Markup:
    """Return text with the n-th mark, counted from 1: a colour, a line below, and the number behind.

    >>> marked("x", 2)
    '<span class="mark" style="color:var(--relgrad-2,#4a7cc9);text-decoration:underline dashed">x<sup>2</sup></span>'
    """
    i = (n - 1) % COLOURS
    style = (
        f"color:var(--relgrad-{i + 1},{_EITHER[i]});text-decoration:underline {_LINES[(n - 1) % len(_LINES)]}"
    )
    # Numbers of marks that end together would read as one.
    number = f",{n}" if str(text(shown)).endswith("</sup></span>") else str(n)
    return element("span", shown, element("sup", number), class_="mark", style=style)


def shelled(shown: Any, label: str) -> Markup:
    """ "∂y/∂x" → a frame around it: text within a shell: a frame with a title, such as that of an implicit gradient."""
    return element("span", shown, class_="shell", title=label)


def framed(body: Any, label: str) -> str:
    """body, "term" → <style>…</style><div class="relgrad" aria-label="term">body</div>: a fragment in relgrad's frame,
    which is called `label` where it is read aloud.

    The style element comes with each frame, since a notebook may show any of them alone.
    """
    # Both classes keep MathJax from reading dollars in what is no mathematics.
    frame = element(
        "div", body, class_="relgrad tex2jax_ignore mathjax_ignore", role="group", aria_label=label
    )
    return f"<style>{STYLE}</style>{frame}"


def _variables(colours: Sequence[str]) -> str:
    return "".join(f"--relgrad-{i}:{colour};" for i, colour in enumerate(colours, 1))


_BRIGHT = f"color-scheme:light;--relgrad-ink:#1b1b1b;--relgrad-paper:#fff;--relgrad-line:#c8c8c8;{_variables(_LIGHT)}"
_DIM = (
    f"color-scheme:dark;--relgrad-ink:#ececec;--relgrad-paper:#161616;--relgrad-line:#555;{_variables(_DARK)}"
)
_BRIGHT_THEMES = '[data-jp-theme-light="true"] .relgrad,.vscode-light .relgrad,[data-theme="light"] .relgrad'
_DIM_THEMES = '[data-jp-theme-light="false"] .relgrad,.vscode-dark .relgrad,[data-theme="dark"] .relgrad'
STYLE = (
    f".relgrad{{{_BRIGHT}}}"
    f"@media (prefers-color-scheme:dark){{.relgrad{{{_DIM}}}}}"
    f"{_BRIGHT_THEMES}{{{_BRIGHT}}}{_DIM_THEMES}{{{_DIM}}}"
    f"@media print{{.relgrad,{_BRIGHT_THEMES},{_DIM_THEMES}{{{_BRIGHT}}}"
    ".relgrad details::details-content{content-visibility:visible;display:block;height:auto}}"
    ".relgrad{color:var(--jp-content-font-color1,var(--relgrad-ink));"
    "background:var(--jp-layout-color0,var(--relgrad-paper));"
    "padding:.25em .5em;overflow-wrap:anywhere;line-height:1.5;text-align:left}"
    ".relgrad code,.relgrad pre{color:inherit;background:none;border:0;padding:0;margin:0;font-size:.95em;"
    "white-space:pre-wrap;font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace)}"
    ".relgrad p{margin:.3em 0}"
    ".relgrad pre,.relgrad pre code{font-size:1em}"
    f".relgrad .wide{{overflow-x:auto}}.relgrad math{{font-family:{MATHEMATICS}}}"
    ".relgrad table{border-collapse:collapse;margin:.4em 0;font-size:1em}"
    ".relgrad caption{text-align:left;font-weight:600;padding:.2em 0}"
    ".relgrad.relgrad th,.relgrad.relgrad td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0;"
    "background:none;color:inherit;border:0;border-bottom:1px solid var(--relgrad-line);overflow-wrap:normal}"
    ".relgrad.relgrad .number{text-align:right;font-variant-numeric:tabular-nums}"
    ".relgrad dl{display:grid;grid-template-columns:fit-content(9em) minmax(0,1fr);gap:.1em 1em;"
    "align-items:baseline;margin:.3em 0}"
    ".relgrad dt{font-weight:600}.relgrad dt,.relgrad dd{float:none;width:auto;margin:0}"
    ".relgrad .note{opacity:.85}"
    ".relgrad summary{cursor:pointer}"
    ".relgrad .mark{text-decoration-thickness:.1em;text-underline-offset:.2em}"
    ".relgrad .mark sup{font-size:.7em;line-height:0;text-decoration:none}"
    ".relgrad .shell{border:1px solid var(--relgrad-line);border-radius:.4em;padding:0 .2em;"
    "box-decoration-break:clone;-webkit-box-decoration-break:clone}"
    ".relgrad .sides{display:flex;flex-wrap:wrap;gap:.3em 2em}.relgrad .sides>*{min-width:0}"
)
"""The frame's style: both themes, JupyterLab's and the page's where they are told, and black on white in print."""
