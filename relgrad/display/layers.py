"""Directed graphs in layers: every edge runs downwards, boxes do not overlap, and shells hold their members only.

Source: Sugiyama, Tagawa & Toda 1981, Methods for visual understanding of hierarchical system structures. Changed from
the source: positions within a layer are the least squares under the order and the distances that boxes need, found by
pooling adjacent violators; members of a shell are kept side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Node = Hashable
SWEEPS = 12
BEND = 12.0
"""How wide an edge is where it passes a layer."""


@dataclass
class Layout:
    """{a: 12.0}, {a: 0}: the middle of each box, its layer, and by edge the middles that it passes on its way."""

    x: dict[Node, float]
    layer: dict[Node, int]
    bends: dict[tuple[Node, Node], list[tuple[float, int]]]
    bands: list[dict[int, tuple[float, float]]]
    """For each shell, by layer, from where to where it reaches."""


def layered(
    widths: Mapping[Node, float],
    edges: Sequence[tuple[Node, Node]],
    shells: Sequence[frozenset[Node]] = (),
    gap: float = 24.0,
    padding: float = 14.0,
) -> Layout:
    """Return a layout of boxes with these widths, given in an order in which every edge runs forwards.

    Shells are nested or disjoint, the outer before the inner.

    >>> layout = layered({"a": 10.0, "b": 10.0, "c": 10.0}, [("a", "c"), ("b", "c")])
    >>> layout.layer, layout.x["a"] + layout.x["b"] == 2 * layout.x["c"]
    ({'a': 0, 'b': 0, 'c': 1}, True)
    """
    layer = _layers(list(widths), edges)
    size: dict[Node, float] = dict(widths)
    inside: dict[Node, list[int]] = {v: [i for i, s in enumerate(shells) if v in s] for v in widths}
    pieces: list[tuple[Node, Node]] = []
    passing: dict[tuple[Node, Node], list[Node]] = {}
    for edge in dict.fromkeys(edges):
        start, end = edge
        both = [i for i in inside[start] if i in inside[end]]
        way: list[Node] = [(edge, n) for n in range(layer[start] + 1, layer[end])]
        for bend, n in zip(way, range(layer[start] + 1, layer[end]), strict=True):
            layer[bend], size[bend], inside[bend] = n, BEND, both
        pieces += zip([start, *way], [*way, end], strict=True)
        passing[edge] = way
    rows: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for v in size:
        rows[layer[v]].append(v)
    _ordered(rows, pieces, inside)
    distance = {}
    for row in rows:
        for a, b in pairwise(row):
            borders = len(set(inside[a]) ^ set(inside[b]))
            distance[a, b] = (size[a] + size[b]) / 2 + gap + borders * padding
    x = _placed(rows, pieces, distance)
    bends = {edge: [(x[v], layer[v]) for v in way] for edge, way in passing.items()}
    bands: list[dict[int, tuple[float, float]]] = [{} for _ in shells]
    for v, within in inside.items():
        for level, i in enumerate(reversed(within), 1):
            reach = size[v] / 2 + level * padding
            low, high = bands[i].get(layer[v], (x[v], x[v]))
            bands[i][layer[v]] = min(low, x[v] - reach), max(high, x[v] + reach)
    return Layout({v: x[v] for v in widths}, {v: layer[v] for v in widths}, bends, bands)


def _layers(nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]]) -> dict[Node, int]:
    """a → b, a → c, b → c ⟶ {a: 0, b: 1, c: 2}: below all that leads to a node, near its successors."""
    to: dict[Node, list[Node]] = defaultdict(list)
    for start, end in edges:
        to[start].append(end)
    layer: dict[Node, int] = dict.fromkeys(nodes, 0)
    for v in nodes:
        for w in to[v]:
            layer[w] = max(layer[w], layer[v] + 1)
    for v in reversed(nodes):
        if to[v]:
            layer[v] = min(layer[w] for w in to[v]) - 1
    return layer


def _ordered(
    rows: list[list[Node]], pieces: Sequence[tuple[Node, Node]], inside: Mapping[Node, list[int]]
) -> None:
    """rows with crossing edges → rows with fewer: sweeps down and up; shells stay side by side."""
    above: dict[Node, list[Node]] = defaultdict(list)
    below: dict[Node, list[Node]] = defaultdict(list)
    for a, b in pieces:
        below[a].append(b)
        above[b].append(a)
    best, crossings = [list(row) for row in rows], None
    for sweep in range(SWEEPS):
        neighbours, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        place: dict[Node, float] = {}
        for row in rows:
            place.update(zip(row, range(len(row)), strict=True))
        for row in order:
            wish = {
                v: sum(place[w] for w in neighbours[v]) / len(neighbours[v]) if neighbours[v] else place[v]
                for v in row
            }
            row[:] = _side_by_side(row, wish, inside, 0)
            place.update(zip(row, range(len(row)), strict=True))
        found = sum(_crossings(row, below, place) for row in rows)
        if crossings is None or found < crossings:
            best, crossings = [list(row) for row in rows], found
    rows[:] = best


def _side_by_side(
    row: Sequence[Node], wish: Mapping[Node, float], inside: Mapping[Node, list[int]], depth: int
) -> list[Node]:
    """[a, s, b, s'] with s, s' in a shell → [a, s, s', b]: in the order of wishes."""
    parts: dict[Node, list[Node]] = {}
    for v in row:
        parts.setdefault(("shell", inside[v][depth]) if len(inside[v]) > depth else v, []).append(v)
    ordered = sorted(parts.items(), key=lambda part: sum(wish[v] for v in part[1]) / len(part[1]))
    found: list[Node] = []
    for key, members in ordered:
        is_shell = type(key) is tuple and key[0] == "shell"
        found += _side_by_side(members, wish, inside, depth + 1) if is_shell else members
    return found


def _crossings(row: Sequence[Node], below: Mapping[Node, list[Node]], place: Mapping[Node, float]) -> int:
    ends = [place[w] for v in row for w in sorted(below[v], key=lambda w: place[w])]
    return sum(b < a for i, a in enumerate(ends) for b in ends[i + 1 :])


def _placed(
    rows: Sequence[Sequence[Node]],
    pieces: Sequence[tuple[Node, Node]],
    distance: Mapping[tuple[Node, Node], float],
) -> dict[Node, float]:
    """rows, edges → {a: 12.0, b: −12.0}: as near to neighbours as order and distances allow."""
    near: dict[Node, list[Node]] = defaultdict(list)
    for a, b in pieces:
        near[a].append(b)
        near[b].append(a)
    x: dict[Node, float] = {}
    for row in rows:
        x.update(zip(row, _spread([0.0] * len(row), row, distance), strict=True))
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wishes = [sum(x[w] for w in near[v]) / len(near[v]) if near[v] else x[v] for v in row]
            x.update(zip(row, _spread(wishes, row, distance), strict=True))
    return x


def _spread(
    wishes: Sequence[float], row: Sequence[Node], distance: Mapping[tuple[Node, Node], float]
) -> list[float]:
    """wishes [0, 0], distance 10 → [−5, 5]: the places nearest to the wishes, by least squares."""
    from scipy.optimize import isotonic_regression  # slow to import, and only pictures need it

    offset, offsets = 0.0, []
    for i, v in enumerate(row):
        offset += distance[row[i - 1], v] if i else 0.0
        offsets.append(offset)
    levels = isotonic_regression(np.subtract(wishes, offsets)).x
    return [float(x) for x in levels + offsets]
