"""Formulas as MathML, which browsers render by themselves: no script, no font, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from relgrad.display.mathml import mathml


def visit_inline(writer: Any, node: nodes.Element) -> None:
    """Write `$x^2$` as an element of the line."""
    writer.body.append(f'<span class="formula-inline">{mathml(node.astext())}</span>')
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    """Write a displayed formula as a block that scrolls by itself where it is wider than the page."""
    writer.body.append(f'<div class="formula" tabindex="0">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
