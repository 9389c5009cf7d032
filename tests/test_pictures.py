"""Pictures: graphs in layers, errors along inputs, floats as combs; as SVG, and in words."""

from __future__ import annotations

import doctest
import math
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relgrad as rg
from relgrad.display.charts import Axis
from relgrad.display.comb import Format
from relgrad.display.graph import HEIGHT, Graph, box_width, name_of
from relgrad.display.layers import layered
from relgrad.display.svg import width_of
from relgrad.errors import RelgradError, TraceError
from relgrad.ops.arithmetic import add
from relgrad.term import reachable, subterms

SVG = "{http://www.w3.org/2000/svg}"
Z = np.array([[1000.0, 0.0, -1000.0], [3.0, 1.0, -2.0]])
Y = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def loss(z, y):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return -np.mean(np.sum(y * np.log(p), axis=1))


def softplus(x):
    return np.log(1 + np.exp(x))


def cosine(x):
    return (1 - np.cos(x)) / x**2


def deep(x, count):
    for i in range(count):
        x = np.sin(x) * np.cos(x) + i
    return x


def pictures():
    yield "one term", rg.graph(rg.symbol("x"))
    yield "one op", rg.graph(lambda x: np.exp(x))
    yield "a gradient", rg.graph(rg.grad(loss), Z, Y)
    yield "what is computed", rg.graph(rg.grad(loss), Z, Y, rewritten=True)
    yield "a gradient of a gradient", rg.graph(rg.grad(rg.grad(softplus)), 1.0)
    yield (
        "several results",
        rg.graph(rg.value_and_grad(lambda x: np.sum(np.log1p(np.exp(x)))), np.arange(3.0)),
    )
    yield "in part", rg.graph(deep(rg.symbol("x"), 100))
    yield "a name with HTML", rg.graph(np.exp(rg.symbol('<b>"x"&\x00</b>', shape=(2, 3))) + 1)
    yield "an error", rg.error_along(cosine, 1e-9, 1.0, points=30)
    yield "an error on both sides", rg.error_along(cosine, -1.0, 1.0, points=30, spacing="log")
    yield "an error of a derivative", rg.error_along(softplus, -900.0, 900.0, points=20, gradient=True)
    yield (
        "a map",
        rg.error_map(
            lambda x, y: np.log(np.exp(x) + np.exp(y)), (-900, 900), (1, 900), points=4, spacing="linear"
        ),
    )
    yield "a comb", rg.comb(0, 8, 3)
    yield "a comb of many", rg.comb(-1e308, 1e308)
    yield "a comb of neighbours", rg.comb(1.0, 1 + 2.0**-48)
    yield "a difference", rg.difference(1.0000001, 1.0)
    yield "a difference of equals", rg.difference(1.0, 1.0)
    yield "a small difference", rg.difference(100.3, 100.1, "float16")


PICTURES = dict(pictures())
GRAPHS = {name: p for name, p in PICTURES.items() if isinstance(p, Graph)}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_xml_that_scales_and_is_read_aloud(name):
    picture = PICTURES[name]
    for text in (picture.svg(), picture._repr_svg_()):
        root = ET.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert root[0].tag == f"{SVG}title"
        assert root[1].tag == f"{SVG}desc"
        assert root[0].text.strip()
        assert len(root[1].text.strip()) > 5
        assert root.get("role") == "img"
        assert len(root.get("viewBox").split()) == 4


@pytest.mark.parametrize("name", PICTURES)
def test_all_texts_and_shapes_lie_within_the_picture(name):
    root = ET.fromstring(PICTURES[name].svg())
    *_, width, height = map(float, root.get("viewBox").split())
    for t in root.iter(f"{SVG}text"):
        size = float(t.get("font-size", 12)) / 12
        room, x, y = width_of(t.text) * size, float(t.get("x")), float(t.get("y"))
        left = {"start": x, "middle": x - room / 2, "end": x - room}[t.get("text-anchor")]
        assert left >= -1, t.text
        assert left + room <= width + 1, t.text
        assert 0 < y <= height, t.text
    for r in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(r.get(k)) for k in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + w <= width + 1
        assert y + h <= height + 1
    for p in root.iter(f"{SVG}polygon"):
        for point in p.get("points").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_ink_is_the_pages_and_paper_is_brought_along_where_there_is_none():
    picture = PICTURES["a gradient"]
    assert "currentColor" in picture.svg()
    assert "relgrad-paper" not in picture.svg()
    assert 'class="relgrad-paper"' in picture._repr_svg_()
    assert "prefers-color-scheme:dark" in picture._repr_svg_()


def test_pictures_are_saved(tmp_path):
    for name in ("one.svg", "one.dot"):
        PICTURES["a gradient"].save(tmp_path / name)
    assert ET.fromstring((tmp_path / "one.svg").read_text(encoding="utf-8")).tag == f"{SVG}svg"
    assert (tmp_path / "one.dot").read_text(encoding="utf-8").startswith("digraph {")


@pytest.mark.parametrize("name", GRAPHS)
def test_every_term_is_drawn_once_or_said_to_be_left_out(name):
    graph = GRAPHS[name]
    assert len(set(graph.terms)) == len(graph.terms) <= graph.most
    assert set(graph.roots) <= set(graph.terms)
    root = ET.fromstring(graph.svg())
    nodes = [g for g in root.iter(f"{SVG}g") if g.get("class") == "node"]
    stubs = [g for g in nodes if g[0].text.startswith("more operands")]
    assert len(nodes) - len(stubs) == len(graph.terms)
    whole = reachable(*graph.roots)
    assert (len(graph.terms) == len(whole)) == (not stubs)
    assert bool(graph.note) == bool(stubs)
    edges = [g for g in root.iter(f"{SVG}g") if g.get("class") == "edge"]
    drawn = set(graph.terms)
    assert len(edges) == sum(rand in drawn for t in drawn for rand in t.rands) + len(stubs)


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_do_not_overlap(name):
    root = ET.fromstring(GRAPHS[name].svg())
    boxes = []
    for g in root.iter(f"{SVG}g"):
        if g.get("class") == "node":
            r = g.find(f"{SVG}rect")
            boxes.append([float(r.get(k)) for k in ("x", "y", "width", "height")])
    for (x, y, w, h), (u, v, s, t) in combinations(boxes, 2):
        assert x + w <= u or u + s <= x or y + h <= v or v + t <= y


def test_a_shell_stands_around_what_a_gradient_differentiates_and_nothing_else():
    graph = PICTURES["a gradient"]
    ((gradient, inside),) = graph.shells
    names = {name_of(t) for t in inside}
    assert {"exp", "log", "divide", "negative"} <= names
    assert not names & {"z", "y", "2", "gradient by z"}
    layout = graph.layout()
    (band,) = layout.bands
    for t in graph.terms:
        low, high = band.get(layout.layer[t], (math.inf, -math.inf))
        left, right = layout.x[t] - box_width(t) / 2, layout.x[t] + box_width(t) / 2
        assert (t in inside and low < left and right < high) or (
            t not in inside and (right < low or high < left)
        )
    assert f"{graph.names[gradient]} waits" in str(graph)


def test_shells_of_gradients_of_gradients_are_nested():
    (_, outer), (_, inner) = PICTURES["a gradient of a gradient"].shells
    assert inner < outer
    dot = PICTURES["a gradient of a gradient"].dot()
    assert dot.count("style=dashed; label=") == 2


def test_types_stand_where_edges_begin():
    graph = rg.graph(np.sum(np.exp(rg.symbol("x", shape=(2, 3), dtype="float32")), axis=1))
    texts = [t.text for t in ET.fromstring(graph.svg()).iter(f"{SVG}text")]
    assert texts.count("float32 2×3") == 2
    assert "float32 2 → result" in texts


def test_dot_has_all_terms_and_escapes_names():
    x = rg.symbol("x")
    assert rg.graph(deep(x, 100)).dot().count("label=") > 500
    dot = rg.graph(np.exp(rg.symbol('a"b\\c'))).dot()
    assert r'label="a\"b\\c"' in dot


def test_a_graph_of_100000_operations_is_drawn_in_part():
    graph = rg.graph(deep(rg.symbol("x"), 20_000))
    assert f"60 of {graph.size:,} terms are shown" in graph.svg()
    assert graph.size > 99_000
    assert len(graph.svg()) < 100_000


def test_graphs_are_drawn_of_terms_only():
    with pytest.raises(TraceError, match=r"nothing to draw(?s:.*)write symbols in place of variables"):
        rg.graph(rg.variables("a b"))


def test_a_graph_of_what_explain_returns_is_that_of_the_program():
    explained = rg.grad(loss).explain(Z, Y)
    assert rg.graph(explained).roots == explained.derivation.before
    assert rg.graph(explained, rewritten=True).roots == explained.derivation.after


@st.composite
def dags(draw):
    """Draw the widths of nodes, edges that run forwards, and shells that are nested or disjoint."""
    count = draw(st.integers(1, 24))
    widths = {i: draw(st.floats(10.0, 150.0)) for i in range(count)}
    ends = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=40))
    edges = [(min(a, b), max(a, b)) for a, b in pairs if a != b]
    cuts = sorted(draw(st.lists(st.integers(0, count), min_size=4, max_size=4)))
    outer, inner = frozenset(range(cuts[0], cuts[3])), frozenset(range(cuts[1], cuts[2]))
    return widths, edges, [s for s in dict.fromkeys([outer, inner]) if s]


@given(dags())
@settings(max_examples=150, deadline=None)
def test_layers_keep_boxes_apart_and_shells_to_their_members(drawn):
    widths, edges, shells = drawn
    layout = layered(widths, edges, shells)
    assert set(layout.x) == set(widths)
    for a, b in edges:
        assert layout.layer[a] < layout.layer[b]
        assert [n for _, n in layout.bends[a, b]] == [*range(layout.layer[a] + 1, layout.layer[b])]
    for a, b in combinations(widths, 2):
        if layout.layer[a] == layout.layer[b]:
            assert abs(layout.x[a] - layout.x[b]) > (widths[a] + widths[b]) / 2
    for shell, band in zip(shells, layout.bands, strict=True):
        for v, width in widths.items():
            low, high = band.get(layout.layer[v], (math.inf, -math.inf))
            inside = low < layout.x[v] - width / 2 and layout.x[v] + width / 2 < high
            outside = layout.x[v] + width / 2 < low or high < layout.x[v] - width / 2
            assert inside if v in shell else outside


@given(dags())
@settings(max_examples=30, deadline=None)
def test_a_graph_of_terms_has_a_box_for_each(drawn):
    widths, edges, _ = drawn
    terms = {}
    for v in widths:
        operands = [terms[a] for a, b in edges if b == v]
        terms[v] = rg.term(rg.symbol(f"x{v}"))
        for operand in operands:
            terms[v] = add(terms[v], operand)
    graph = Graph(list(terms.values()), most=1000)
    assert set(graph.terms) == set(subterms(*terms.values()))
    layout = graph.layout()
    for a, b in combinations(graph.terms, 2):
        if layout.layer[a] == layout.layer[b]:
            assert abs(layout.x[a] - layout.x[b]) >= (box_width(a) + box_width(b)) / 2
    assert HEIGHT > 0
    ET.fromstring(graph.svg())


def test_errors_along_an_input_are_what_they_are():
    curve = PICTURES["an error"]
    assert len(curve.x) == 30
    assert sorted(curve.x) == list(curve.x)
    assert curve.axis.kind == "log"
    for x, naive, rewritten in zip(curve.x, curve.naive, curve.rewritten, strict=True):
        assert rewritten < 2
        assert naive > 45 or x > 1e-7
    ((at, why),) = curve.changes
    assert 0.05 < at < 0.5
    assert "series" in why
    root = ET.fromstring(curve.svg())
    assert sum(g.get("class") == "change" for g in root.iter(f"{SVG}g")) == 1
    assert "a formula changes at x =" in str(curve)


def test_where_a_test_decides_between_formulas_is_found_to_the_last_bit():
    curve = rg.error_along(lambda x: np.where(x < 0.3, np.sin(x), np.cos(x)), 1e-3, 1.0, points=20)
    assert 0.3 in [at for at, _ in curve.changes]


def test_the_varying_argument_is_named_or_numbered_and_others_are_given():
    fun = lambda x, h: np.sqrt(x + h) - np.sqrt(x)
    by_name = rg.error_along(fun, 1e-12, 1.0, 3.0, along="h", points=8)
    by_place = rg.error_along(fun, 1e-12, 1.0, 3.0, along=1, points=8)
    assert by_name.argument == "h"
    assert list(by_name.naive) == list(by_place.naive)
    assert max(by_name.naive) > 30


def test_a_map_shows_both_programs():
    bits = PICTURES["a map"]
    assert bits.naive.shape == bits.rewritten.shape == (4, 4)
    assert bits.naive.max() == 64.0
    assert bits.rewritten.max() < 2
    cells = [g for g in ET.fromstring(bits.svg()).iter(f"{SVG}g") if g.get("class") == "cell"]
    assert len(cells) == 2 * 16 + 5


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: rg.error_along(np.exp, 1.0, 1.0), "is no range(?s:.*)the smaller one first"),
        (lambda: rg.error_along(softplus, 0.0, math.inf), "is no range"),
        (
            lambda: rg.error_along(softplus, 0.0, 1.0, along="y"),
            "has no argument 'y'(?s:.*)its arguments are x",
        ),
        (lambda: rg.error_along(softplus, 0.0, 1.0, along=2), "has no argument 2"),
        (lambda: rg.error_along(softplus, 0.0, 1.0, spacing="cubic"), 'pass "linear" or "log"'),
        (lambda: rg.error_map(np.add, (0, 1), (0, 1), along=(1, 1)), "is one argument, not two"),
        (lambda: rg.comb(1.0, 0.0), "there are no floats to draw"),
        (lambda: rg.comb(0.0, 100.0, 3), "the largest float of 3-bit significands"),
        (lambda: rg.comb(0.0, 1.0, "int8"), "no format of floats"),
        (lambda: rg.difference(1e308, -1e308), "a result is larger"),
    ],
)
def test_what_cannot_be_drawn_is_told(ask, said):
    with pytest.raises(RelgradError, match=said):
        ask()


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.sampled_from([None, "linear", "log"]))
def test_an_axis_goes_from_low_to_high_and_back(a, b, spacing):
    low, high = min(a, b), max(a, b)
    if not low < high or (spacing == "log" and low < 0 < high and min(-low, high) < high * 1e-15):
        return
    axis = Axis.of(low, high, spacing)
    numbers = axis.points(20, np.random.default_rng(0))
    assert all(low <= x <= high for x in numbers)
    places = [axis.place(x) for x in numbers]
    assert all(-1e-9 <= p <= 1 + 1e-9 for p in places)
    assert places == sorted(places)


@given(st.integers(2, 8), st.floats(-14.0, 14.0))
def test_a_comb_has_every_float_once(digits, x):
    format = Format.of(digits)
    found, step = format.between(-format.most, format.most, 10**6)
    assert step == 1
    assert found == sorted(set(found))
    assert len(found) == format.count(-format.most, format.most)
    assert set(found) == {-v for v in found}
    nearest = format.nearest(x) if abs(x) <= format.most else found[-1]
    assert nearest in found
    assert abs(x) > format.most or min(abs(x - v) for v in found) == abs(x - nearest)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(x=st.floats(-60000.0, 60000.0))
def test_the_spacing_of_floats_is_numpys(dtype, x):
    format = Format.of(dtype)
    rounded = np.dtype(dtype).type(x)
    assert format.nearest(x) == float(rounded)
    assert format.spacing(float(rounded)) == float(np.spacing(abs(rounded)))
    assert format.most == float(np.finfo(dtype).max)


def test_digits_are_lost_where_numbers_are_close():
    assert rg.difference(3.0, 1.0).lost < 2
    assert rg.difference(1 + 2.0**-30, 1.0).lost == pytest.approx(31, abs=1)
    assert rg.difference(1.0, 1.0).lost == 53
    assert "say nothing" in str(rg.difference(1.0000001, 1.0))


def test_the_examples_of_the_documentation_run():
    file = Path(__file__).resolve().parent.parent / "docs" / "pictures.md"
    test = doctest.DocTestParser().get_doctest(file.read_text(encoding="utf-8"), {}, file.name, str(file), 0)
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert results.attempted > 10
    assert results.failed == 0
