"""Graphs of terms as pictures: shared subterms once, types where edges begin, implicit derivatives as shells."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from relgrad.dependence import dependent
from relgrad.display.layers import Layout, layered
from relgrad.display.page import Markup, element, joined
from relgrad.display.svg import OTHER, RELGRAD, Picture, group, label, legible, rect, width_of
from relgrad.display.text import ordered
from relgrad.gradient import Gradient, is_implicit
from relgrad.leaf import Anchor, Input
from relgrad.looks import shortened
from relgrad.op import Constant, Project
from relgrad.ops.arithmetic import add, multiply
from relgrad.term import Term, is_term, rands_of, reachable, subterms
from relgrad.types import ArrayType, TupleType

MOST = 60
"""So many terms are drawn, those nearest to the results."""
LONGEST = 26
"""So many letters a name has at most."""
HEIGHT, ROW, MARGIN = 26.0, 84.0, 16.0
INSET = 6.0
"""How far apart the outlines of nested shells are."""

Stub = tuple[str, Term]
"""What stands for the operands of a term that are not drawn."""


class Graph(Picture):
    """x → exp → add ← 1: the graph of some terms, as SVG; `dot()` is that of Graphviz, and `str` lists it line by line.

    Data flows downwards. A dashed shell stands around what an implicit derivative differentiates.
    """

    def __init__(self, roots: Sequence[Term], title: str = "", most: int = MOST):
        self.roots = tuple(dict.fromkeys(roots))
        self.size = len(reachable(*self.roots))
        self.most = most
        count = f"{self.size} term{'s' * (self.size != 1)}"
        self.title = f"Graph of {title}: {count}" if title else f"Graph of {count}"

    @cached_property
    def terms(self) -> list[Term]:
        """→ [x, exp(x), …]: the terms that are drawn, operands first."""
        found = dict.fromkeys(self.roots[: self.most])
        queue = deque(found)
        while queue and len(found) < self.most:
            for rand in queue.popleft().rands:
                if is_term(rand) and rand not in found and len(found) < self.most:
                    found[rand] = None
                    queue.append(rand)
        return ordered(found, found, rands_of)

    @cached_property
    def shells(self) -> list[tuple[Term, frozenset[Term]]]:
        """gradient(y, g, x) → [(gradient, {y, …})]: the implicit derivatives that are drawn, each with what it
        differentiates; outer ones first.

        Those that would overlap others in part have no shell.
        """
        drawn = set(self.terms)
        found = []
        for t in self.terms:
            if is_implicit(t) and hasattr(t.op, "parts"):
                values, wrt = t.op.parts(t)[0], t.op.wrt(t)
                inside = (dependent(values, wrt) & drawn) - set(wrt)
                found.append((t, frozenset(v for v in inside if v.rands)))
        found.sort(key=lambda shell: -len(shell[1]))
        kept: list[tuple[Term, frozenset[Term]]] = []
        for t, inside in found:
            apart = all(inside < other or not inside & other for _, other in kept)
            if inside and apart:
                kept.append((t, inside))
        return kept

    @property
    def note(self) -> str:
        """→ "60 of 1,000 terms are shown, …": the share that is shown, in words; empty where all is."""
        if len(self.terms) == self.size:
            return ""
        return f"{len(self.terms)} of {self.size:,} terms are shown, those nearest to the results"

    @cached_property
    def names(self) -> dict[Term, str]:
        """{exp(x): "t1", x: "x"}: the names by which `str` speaks of the terms that are drawn."""
        taken = {t.op.label for t in self.terms if type(t.op) is Input}
        free = (name for i in range(1, 10**9) if (name := f"t{i}") not in taken)
        return {t: next(free) if t.rands else name_of(t) for t in self.terms}

    def __str__(self) -> str:
        lines = [self.title, *([self.note] if self.note else [])]
        for t in self.terms:
            operands = ", ".join(self.names.get(rand, "…") for rand in t.rands)
            said = f"{self.names[t]} = {name_of(t)}({operands})" if t.rands else name_of(t)
            lines.append("  ".join([said, type_name(t.type), *self._results(t)]).rstrip())
        for t, inside in self.shells:
            within = ", ".join(self.names[v] for v in self.terms if v in inside)
            lines.append(f"{self.names[t]} waits, and stands around {within}")
        return "\n".join(lines)

    __repr__ = __str__

    def _results(self, t: Term) -> list[str]:
        if t not in self.roots:
            return []
        return ["result" if len(self.roots) == 1 else f"result {self.roots.index(t) + 1}"]

    def _nodes(self) -> tuple[dict[Any, str], list[tuple[Any, Any]]]:
        """→ {exp(x): "float64"}, [(x, exp(x))]: the lines below each box, by box, and the edges."""
        below: dict[Any, str] = {}
        edges: list[tuple[Any, Any]] = []
        drawn = set(self.terms)
        for t in self.terms:
            if any(rand not in drawn for rand in t.rands):
                stub: Stub = ("…", t)
                below[stub] = ""
                edges.append((stub, t))
            below[t] = " ".join([type_name(t.type), *[f"→ {r}" for r in self._results(t)]])
            edges += [(rand, t) for rand in t.rands if rand in drawn]
        return below, edges

    def layout(self) -> Layout:
        """→ the middle of each box, and its layer: the places of the boxes of the terms."""
        below, edges = self._nodes()
        widths = {v: max(box_width(v), width_of(said) * 0.85) for v, said in below.items()}
        return layered(widths, edges, [inside for _, inside in self.shells])

    def drawn(self) -> tuple[float, float, Markup]:
        below, edges = self._nodes()
        layout = self.layout()
        depth = max((sum(a < b for _, b in self.shells) for _, a in self.shells), default=0)
        row = ROW + 2 * INSET * depth
        top = MARGIN + (20 if self.note else 0) + INSET * depth
        ends = [(layout.x[v] - box_width(v) / 2, layout.x[v] + box_width(v) / 2) for v in below]
        ends += [(layout.x[v] - width_of(s) / 2, layout.x[v] + width_of(s) / 2) for v, s in below.items()]
        ends += [(x, x) for bends in layout.bends.values() for x, _ in bends]
        ends += [end for band in layout.bands for end in band.values()]
        left = min((low for low, _ in ends), default=0.0) - MARGIN
        right = max((high for _, high in ends), default=0.0) + MARGIN
        width = max(right - left, width_of(self.note) + 2 * MARGIN)
        height = top + row * (max(layout.layer.values(), default=0) + 1) - (row - HEIGHT - 20) + MARGIN
        at = {v: (layout.x[v] - left, top + row * layout.layer[v]) for v in below}
        parts = [label(self.note, MARGIN, MARGIN + 8, "start")] if self.note else []
        for (t, _), band in zip(self.shells, layout.bands, strict=True):
            inner = sum(1 for _, other in self.shells if other < dict(self.shells)[t])
            parts.append(_shell(t, band, left, top, row, inner))
        order = {v: list(v.rands) for v in below if is_term(v)}
        seen: dict[Any, int] = {}
        for start, end in edges:
            bends = [(x - left, top + row * n) for x, n in layout.bends[start, end]]
            rands = order[end]
            place = seen[end] = seen.get(end, -1) + 1
            offset = (place - (len(rands) - 1) / 2) * min(14.0, box_width(end) / max(len(rands), 1))
            tag = str(place + 1) if len(rands) > 1 and end.op not in (add, multiply) else ""
            x, y = at[start]
            begin = x, y + HEIGHT + (15 if below[start] else 1)
            parts.append(_edge(begin, bends, at[end], offset, tag))
        parts += [self._box(v, *at[v], said) for v, said in below.items()]
        return width, height, joined(parts)

    def _box(self, v: Any, x: float, y: float, below: str) -> Markup:
        wide = box_width(v)
        kind = _kind(v)
        options: dict[str, Any] = {"stroke": "currentColor", "stroke_width": 1.2, "rx": 4}
        if kind == "input":
            options |= {"rx": HEIGHT / 2, "stroke": RELGRAD, "stroke_width": 2}
        elif kind == "constant":
            options |= {"stroke_opacity": 0.45}
        elif kind == "implicit":
            options |= {"stroke": OTHER, "stroke_width": 2, "stroke_dasharray": "5 3"}
        if v in self.roots:
            options |= {"stroke_width": 3}
        box = rect(x - wide / 2, y, wide, HEIGHT, **options)
        said = element("title", legible(f"{kind}: {_full(v)} {below}".strip()))
        name = label(name_of(v), x, y + HEIGHT / 2 + 4, font_weight="bold" if kind == "input" else None)
        kinds = [label(below, x, y + HEIGHT + 12, font_size=10)] if below else []
        return group(said, box, name, *kinds, class_="node")

    def dot(self) -> str:
        """Return the whole graph as source for Graphviz, with all terms.

        >>> from relgrad.types import array_type
        >>> from relgrad.term import term
        >>> print(Graph([term(Input("x", array_type(float)))]).dot())
        digraph {
          n0 [label="x", shape=oval];
        }
        """
        terms = list(subterms(*self.roots))
        number = {t: f"n{i}" for i, t in enumerate(terms)}
        whole = Graph(self.roots, most=len(terms))
        lines = []
        shapes = {"input": "oval", "constant": "plaintext", "implicit": "box, style=dashed"}
        for t in terms:
            shape = shapes.get(_kind(t), "box, style=rounded")
            lines.append(f"  {number[t]} [label={_quoted(_full(t))}, shape={shape}];")
        for t in terms:
            lines += [f"  {number[r]} -> {number[t]} [label={_quoted(type_name(r.type))}];" for r in t.rands]
        opened: list[str] = []
        for i, (t, inside) in enumerate(whole.shells):
            members = " ".join(f"{number[v]};" for v in terms if v in inside)
            opened.append(f"  subgraph cluster{i} {{ style=dashed; label={_quoted(_full(t))}; {members} }}")
        return "\n".join(["digraph {", *lines, *opened, "}"])

    def save(self, path: str | Path) -> None:
        """ "g.svg" → SVG, "g.dot" → Graphviz source: writes the picture to a file."""
        if str(path).endswith((".dot", ".gv")):
            Path(path).write_text(self.dot(), encoding="utf-8")
        else:
            super().save(path)


def _kind(v: Any) -> str:
    if not is_term(v):
        return "more operands"
    if type(v.op) is Input:
        return "input"
    if type(v.op) is Constant:
        return "constant"
    return "implicit" if is_implicit(v) else "operation"


def _full(v: Any) -> str:
    """constant 2.0 → "2", sum{axes=(-1,)} → "sum -1": the text of a box, in full."""
    if not is_term(v):
        return "…"
    op = v.op
    if type(op) is Constant:
        value = op.value
        return f"{value.item():.6g}" if value.size == 1 else np.array2string(value, precision=4, threshold=6)
    if type(op) is Project:
        return f"output {op.index}"
    if type(op) is Anchor:
        return f"variable {op.serial}"
    if is_implicit(v) and hasattr(op, "wrt"):
        said = "gradient" if isinstance(op, Gradient) else "tangents"
        return f"{said} by {', '.join(_full(x) for x in op.wrt(v) if x is not v)}"
    if not op.__props__ or type(op) is Input:
        return str(op.name)
    said = " ".join(str(_plain(x)) for x in op._props() if x is not None and not callable(x))
    return f"{op.name} {said}".strip()


def _plain(prop: Any) -> Any:
    return prop[0] if type(prop) is tuple and len(prop) == 1 else prop


def name_of(v: Any) -> str:
    """a long name → "a lon…": the text of a box, shortened where it is long."""
    return shortened(re.sub(r"\s+", " ", _full(v)), LONGEST)


def box_width(v: Any) -> float:
    """ "exp" → 38.3: the width of the box of a term."""
    return max(width_of(name_of(v)) + 16, 34.0)


def type_name(kind: Any) -> str:
    """Return an array type in few letters.

    >>> from relgrad.types import array_type
    >>> type_name(array_type("float32", (None, 3))), type_name(array_type(float))
    ('float32 ?×3', 'float64')
    """
    if isinstance(kind, ArrayType):
        return f"{kind.dtype} {'×'.join('?' if n is None else str(n) for n in kind.shape)}".strip()
    if isinstance(kind, TupleType):
        return f"{len(kind.outputs)} output{'s' * (len(kind.outputs) != 1)}"
    return type(kind).__name__.removesuffix("Type").lower() if kind is not None else ""


def _edge(
    start: tuple[float, float],
    bends: Sequence[tuple[float, float]],
    end: tuple[float, float],
    offset: float,
    tag: str,
) -> Markup:
    way = [f"M{start[0]:.1f} {start[1]:.1f}"]
    last = start
    stops = [((bx, by - 6), (bx, by + HEIGHT + 6)) for bx, by in bends]
    for before, after in [*stops, ((end[0] + offset, end[1] - 5), None)]:
        middle = (last[1] + before[1]) / 2
        way.append(
            f"C{last[0]:.1f} {middle:.1f} {before[0]:.1f} {middle:.1f} {before[0]:.1f} {before[1]:.1f}"
        )
        if after is not None:
            way.append(f"L{after[0]:.1f} {after[1]:.1f}")
            last = after
    tip = end[0] + offset
    head = f"M{tip - 3.5:.1f} {end[1] - 7:.1f}L{tip:.1f} {end[1] - 0.5:.1f}L{tip + 3.5:.1f} {end[1] - 7:.1f}Z"
    parts = [
        element("path", d="".join(way), stroke="currentColor", stroke_opacity=0.6, stroke_width=1.2),
        element("path", d=head, fill="currentColor"),
    ]
    if tag:
        parts.append(label(tag, tip + 4, end[1] - 8, "start", font_size=9))
    return group(*parts, class_="edge")


def _shell(
    t: Term, band: Mapping[int, tuple[float, float]], left: float, top: float, row: float, inner: int
) -> Markup:
    """gradient of log(exp x) → a dashed polygon around log and exp."""
    rows = sorted(band)
    above, below = 12.0 + INSET * inner, HEIGHT + 18.0 + INSET * inner
    ys = [top + row * rows[0] - above]
    ys += [top + row * n - row / 2 + HEIGHT / 2 + 14 for n in rows[1:]]
    ys.append(top + row * rows[-1] + below)
    right_side, left_side = [], []
    for n, y0, y1 in zip(rows, ys, ys[1:], strict=False):
        low, high = band[n]
        left_side += [(low - left, y0), (low - left, y1)]
        right_side += [(high - left, y0), (high - left, y1)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*left_side, *reversed(right_side)])
    style = {"stroke_dasharray": "6 4", "stroke_linejoin": "round", "fill": OTHER, "fill_opacity": 0.07}
    outline = element("polygon", points=points, stroke=OTHER, stroke_width=1.6, **style)
    return group(element("title", legible(f"what {_full(t)} differentiates")), outline, class_="shell")


def _quoted(said: str) -> str:
    r"""say "x" → "say \"x\"": text as a string of Graphviz: backslashes and quotes are escaped, and lines are one."""
    text = re.sub(r"\s+", " ", legible(said)).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
