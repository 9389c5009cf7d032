"""Everything shows itself: as HTML without scripts, as LaTeX, as text of 100 columns, and in rich."""

from __future__ import annotations

import doctest
import html as entities
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting import calls

import relgrad as rg
from relgrad.display.brief import applications, brief, painted, signed, unpainted
from relgrad.display.latex import formula, symbol
from relgrad.display.mathml import mathml
from relgrad.display.page import Markup, code, details, element, framed, marked, table
from relgrad.display.rows import equation, families
from relgrad.explore.answers import Answer, question_of
from relgrad.explore.coloured import readings
from relgrad.gradient import pushforward
from relgrad.looks import html, latex, plain, wrapped
from relgrad.op import constant
from relgrad.term import Term

X, Y, Z = rg.symbol("x", (4,)), rg.symbol("y"), rg.symbol("z")
ODD = """<script>alert("1")</script>&amp; $\\frac{%_#~^}$ `'"""
VOID = {"br", "hr", "img", "wbr"}


def cost(x, y):
    return np.sum(np.log(1 + np.exp(x * y)))


class Tree(HTMLParser):
    """What a fragment holds; it complains of elements that are not closed in turn."""

    def __init__(self, fragment: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(fragment)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def balanced(source: str) -> bool:
    """Whether braces, environments and stretching delimiters of LaTeX are closed, indices single, dollars outside."""
    bare = re.sub(r"\\[\\{}$%&#_ ]", "", source)
    begun = re.findall(r"\\(begin|end)\{(\w+)\}", bare)
    depth: list[str] = []
    for what, name in begun:
        if what == "begin":
            depth.append(name)
        elif not depth or depth.pop() != name:
            return False
    level = 0
    for c in bare:
        level += (c == "{") - (c == "}")
        if level < 0:
            return False
    if re.search(r"_\{[^{}]*\}_|\^\{[^{}]*\}\^", bare):
        return False
    stretched = len(re.findall(r"\\left\b", bare)) == len(re.findall(r"\\right\b", bare))
    return not depth and not level and stretched and "$" not in bare[1:-1] and bare[0] == bare[-1] == "$"


def naive(x):
    return np.log(1 + np.exp(x))


def gradient():
    """Return a gradient that has been called."""
    found = rg.grad(cost, argnums=(0, 1))
    found(np.ones(4), 2.0)
    return found


def explained():
    return gradient().explain(np.ones(4), 2.0)


def pushed():
    """Return the implicit tangent of a product."""
    x, y = rg.symbol("x"), rg.symbol("y")
    return pushforward([(x * y).term], [x.term, y.term], [constant(1.0), constant(4.0)])[0]


def reduced(a, b, axis):
    return np.sum(a * np.exp(b), axis=axis, keepdims=True)


A, B = rg.variables("a b")
ROW = rg.LIBRARY["log_of_one_plus_exponential"]
ODDLY = rg.symbol(ODD)
EXAMPLES: dict[str, Callable[[], Any]] = {
    "symbol": lambda: X,
    "symbolic array": lambda: np.log(1 + np.exp(X * Y)),
    "term": lambda: np.log(1 + np.exp(X * Y)).term,
    "logic variable": lambda: A,
    "pattern": lambda: np.exp(A) + B,
    "odd name": lambda: np.exp(ODDLY),
    "axes of a pattern": lambda: rg.LIBRARY["angle_of_vectors"].left.rands[0],
    "implicit gradient": lambda: gradient().term(np.ones(4), 2.0)[0],
    "its op": lambda: gradient().term(np.ones(4), 2.0)[0].rands[0],
    "gradient of a gradient": lambda: rg.grad(lambda x: np.sum(rg.grad(cost)(x, 2.0))).term(np.ones(4)),
    "hessian": lambda: rg.hessian(cost).term(np.ones(4), 2.0),
    "pushforward": pushed,
    "several outputs": lambda: np.linalg.slogdet(rg.symbol("m", (3, 3)))[1].term.rands[0],
    "empty array": lambda: np.exp(rg.symbol("e", (0, 3))),
    "unknown extents": lambda: np.exp(rg.symbol("u", (None, 3))),
    "constants": lambda: X * np.array([np.nan, np.inf, -np.inf, 1e300]),
    "large constant": lambda: rg.symbol("w", (300, 300)) * np.ones((300, 300)),
    "indices of indices": lambda: np.quantile(rg.symbol("m", (5, 3)), 0.3, axis=0),
    "relation": lambda: ROW,
    "library": lambda: rg.LIBRARY,
    "empty library": lambda: rg.LIBRARY.restricted(),
    "laws": lambda: rg.Laws(associative=True, identity=0, homomorphism=("log_add", "multiply")),
    "no laws": lambda: rg.Laws(),
    "program": gradient,
    "program not called": lambda: rg.stabilize(naive),
    "derivation": lambda: explained().derivation,
    "step": lambda: explained().steps[0],
    "expansion": lambda: explained().steps[-1],
    "verified": lambda: explained().derivation.verify(),
    "answers": lambda: rg.match(lambda a, b: a * b, lambda x, y, z: x * y * z, theory=rg.AC),
    "answer": lambda: rg.match(lambda a, b: np.exp(a) + b, lambda x, y: y + np.exp(x))[0],
    "answer alone": lambda: Answer({"a": X + 1, "b": X}),
    "answer without variables": lambda: rg.match(X, X)[0],
    "no answers": lambda: rg.match(lambda a: np.exp(a), lambda x: np.sin(x)),
    "answers with axes": lambda: rg.match(reduced, Y * np.sum(np.exp(X))),
    "odd answers": lambda: rg.match(lambda a, b: np.exp(a) + b, np.exp(ODDLY) + Y),
    "unifiers": lambda: rg.unify(lambda a: np.exp(a), lambda b: np.exp(b * b)),
    "hazards": lambda: rg.lint(naive, points=4)(np.array([1.0, 2.0])),
    "hazard": lambda: rg.lint(naive, points=4)(np.array([800.0, 2.0]))[0],
    "no hazards": lambda: rg.lint(lambda x: 2 * x, points=4)(1.0),
    "accuracy": lambda: rg.accuracy(naive, np.array([800.0, 1.0])),
    "check": lambda: rg.check(ROW, samples=8, subjects=2),
    "check of a false row": lambda: rg.check(rg.relation(lambda x: (np.exp(x), x)), samples=8, subjects=2),
    "check of an op": lambda: rg.check(rg.expit),
    "reasons": lambda: rg.why_not("exponential_of_logarithm", lambda x: 2 + np.exp(np.log(x)))(3.0),
    "reason": lambda: example("reasons")[0],
    "hopes": lambda: rg.why_not(naive, relations=rg.LIBRARY.restricted("square_root_of_square"), points=4)(800.0),
    "rewrites": lambda: rg.rewrites(naive),
    "spellings": lambda: rg.spellings(ROW),
}  # fmt: skip


@cache
def example(name: str) -> Any:
    """Return something that shows itself."""
    return EXAMPLES[name]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_html_is_right_without_scripts_and_escaped(name):
    tree = Tree(example(name)._repr_html_())
    tags = {tag for tag, _ in tree.tags}
    assert not tags & {"script", "iframe", "img", "link", "object"}
    assert not [a for _, attributes in tree.tags for a in attributes if a.startswith("on")]
    assert tree.text.strip()
    frames = [attributes for _, attributes in tree.tags if attributes.get("role") == "group"]
    assert frames and all(attributes["aria-label"] for attributes in frames)


@pytest.mark.parametrize("name", EXAMPLES)
def test_latex_is_closed_and_within_dollars(name):
    source = example(name)._repr_latex_()
    assert balanced(source), source
    assert not re.search(r"<\w", source)


@pytest.mark.parametrize("name", EXAMPLES)
def test_text_has_100_columns(name):
    lines = plain(example(name)).split("\n")
    assert max(map(len, lines)) <= 100
    assert not re.search("[\ue000-\uf8ff]", "".join(lines))


@pytest.mark.parametrize("name", EXAMPLES)
def test_rich_prints_the_same_words(name):
    rich = pytest.importorskip("rich.console")
    x = example(name)
    out = StringIO()
    rich.Console(file=out, width=100).print(x)
    if isinstance(x, (Answer, rg.Answers)):
        assert out.getvalue().strip()
    else:
        assert out.getvalue().split() == plain(x).split()


def test_every_public_name_that_is_a_value_shows_itself():
    for name in rg.__all__:
        value = getattr(rg, name)
        if isinstance(value, type):
            continue
        assert html(value) is None or Tree(html(value)).text
        assert latex(value) is None or balanced(latex(value))
        assert plain(value)


def test_ipython_is_given_the_text():
    class Printer:
        said = ""

        def text(self, words: str) -> None:
            self.said += words

    printer = Printer()
    (X * Y)._repr_pretty_(printer, False)
    assert printer.said == plain(X * Y) == "x * y\n  float64 of shape (4,)"
    (X * Y)._repr_pretty_(printer, True)
    assert printer.said.endswith("…")


# Pages


def test_what_is_no_markup_is_escaped():
    assert element("p", "<", Markup("<b>x</b>")) == "<p>&lt;<b>x</b></p>"
    assert element("p", title='"') == '<p title="&quot;"></p>'
    assert "&lt;" in table(["<"], [["<", "<"]], caption="<") and "<<" not in table(["<"], [["<", "<"]])
    assert code("a\nb").startswith("<pre>")
    assert details("s", "b", opened=True).startswith("<details open>")
    assert "&lt;" in framed("<", "<").split("</style>")[1]


def test_marks_differ_by_more_than_colour():
    looks = [re.sub("<sup>.*?</sup>|color:[^;]*;", "", marked("x", n)) for n in range(1, 6)]
    assert len(set(looks)) == 5
    assert "<sup>12</sup>" in marked("x", 12)
    assert "<sup>,1</sup>" in marked(marked("x", 2), 1)


def test_marks_are_painted_from_the_inside():
    text = f"{signed('f(' + signed('x', 2) + ')', 1)} < 1"
    assert painted(text, entities.escape, lambda t, n: f"{n}[{t}]") == "1[f(2[x])] &lt; 1"
    assert painted(text[:8], str, lambda t, n: f"{n}[{t}]") == "1[f(2[x])]"
    assert unpainted(text) == "f(x) < 1"


def test_long_lines_go_on_further_to_the_right():
    assert all(len(line) <= 20 for line in wrapped("  " + "word " * 20, 20).split("\n"))
    assert wrapped("short\n  and kept   so") == "short\n  and kept   so"


# Terms


def test_a_gradient_is_a_shell_around_what_it_differentiates():
    t = rg.grad(cost).term(np.ones(4), 2.0)
    assert unpainted(brief(t).text) == "∂[sum(log(1.0 + exp(x * y)), axis=-1)]/∂x"
    assert 'class="shell"' in html(t)
    assert formula(t) == r"\frac{\partial}{\partial x}\left[\sum \log(1 + e^{x\,y})\right]"
    assert "gradient" in rg.show(t)


def test_a_pushforward_is_a_sum_over_the_inputs():
    assert unpainted(brief(example("pushforward")).text) == "∂[x * y]/∂x + 4.0 · ∂[x * y]/∂y"


def chain(length: int) -> Any:
    x = rg.symbol("x")
    for _ in range(length // 2):
        x = np.sin(x) + 1.0
    return x


def test_a_term_of_100000_operations_is_shown_in_part_and_said_so():
    deep = chain(100_000)
    count = applications(deep.term)
    assert count == 100_000
    for look in (html, latex, plain):
        shown = look(deep)
        assert len(shown) < 20_000
        assert "100,000 operations" in shown.replace("\\ ", " ")


def test_to_show_a_term_is_work_in_proportion_to_its_operations():
    large, larger = map(chain, (2000, 4000))
    for look in (html, latex, plain):
        work = [calls(lambda t=t, look=look: look(t)) for t in (large, larger)]
        assert work[1] < 2.1 * work[0]


def test_an_application_of_many_operands_is_shown_in_part():
    wide = np.stack([rg.symbol(f"x{i}") for i in range(3000)])
    for look in (html, latex, plain):
        assert len(look(wide)) < 20_000
    assert "more" in plain(wide)


def test_large_constants_are_told_by_their_shape():
    shown = plain(example("large constant"))
    assert shown.split("\n")[0] == "w * array(300, 300)"
    assert r"300 \times 300" in latex(example("large constant"))


def test_private_signs_in_names_paint_nothing():
    x = rg.symbol("a\ue002b\ue000")
    assert "mark" not in Tree(html(x)).text and "�" in html(x)


# LaTeX


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda x, y: x + y * 2, r"x + y \cdot 2"),
        (lambda x, y: (x + y) * 2, r"(x + y) \cdot 2"),
        (lambda x, y: 2 * (x - y), r"2\,(x - y)"),
        (lambda x, y: x - (y - 1), r"x - (y - 1)"),
        (lambda x, y: x + -y, r"x - y"),
        (lambda x, y: x - -2.0, r"x - (-2)"),
        (lambda x, y: -x * y, r"-x\,y"),
        (lambda x, y: x / y, r"\frac{x}{y}"),
        (lambda x, y: (x / y) ** 2, r"\left(\frac{x}{y}\right)^{2}"),
        (lambda x, y: (x + 1) ** y, r"(x + 1)^{y}"),
        (lambda x, y: np.sqrt(x) * np.exp(-y), r"\sqrt{x}\,e^{-y}"),
        (lambda x, y: np.exp(x / y), r"\exp\left(\frac{x}{y}\right)"),
        (lambda x, y: np.exp(x) ** y, r"(e^{x})^{y}"),
        (lambda x, y: np.abs(x), r"\left| x \right|"),
        (lambda x, y: np.where(x > y, x, 0.0), r"\begin{cases}x & \text{if } x > y\\ 0 & \text{otherwise}\end{cases}"),
        (lambda x, y: np.maximum(x, y), r"\max(x,\, y)"),
        (lambda x, y: np.log1p(x), r"\operatorname{log1p}(x)"),
        (lambda x, y: rg.log_expit(x), r"\operatorname{log\_expit}(x)"),
        (lambda x, y: x * 1e-300, r"x \cdot 10^{-300}"),
        (lambda x, y: x * 2.5e20, r"x \cdot 2.5 \cdot 10^{20}"),
        (lambda x, y: x + np.inf, r"x + \infty"),
    ],
)  # fmt: skip
def test_mathematics_reads_as_it_is_written_on_paper(expression, expected):
    assert formula(rg.term(expression)) == expected


def test_sums_name_their_axes_unless_they_are_over_everything():
    m = rg.symbol("m", (3, 4))
    assert formula(np.sum(m)) == r"\sum m"
    assert formula(np.sum(m, axis=-1)) == r"\sum_{\mathrm{axis}\ -1} m"
    assert formula(np.sum(m, axis=0)) == r"\sum_{\mathrm{axis}\ -2} m"
    assert formula(np.sum(m + 1)) == r"\sum (m + 1)"
    assert formula(np.sum(m) * 2) == r"\left(\sum m\right) \cdot 2"
    row = rg.relation(lambda x, axis: (np.sum(x, axis=axis, keepdims=True), x))
    assert formula(row.left) == r"\sum_{\mathit{axis}} x"


def test_entries_are_indices():
    m = rg.symbol("m_1", (5, 3))
    assert formula(m[1:4, ::-1]) == r"{m_{1}}_{1:4,\ ::-1}"
    assert formula(np.swapaxes(m, 0, 1)) == r"m_{1}^{\mathsf{T}}"


def test_symbols_stand_upright_beside_variables():
    a, b = rg.variables("a b")
    x = rg.symbol("x")
    assert formula(a + b) == "a + b" and formula(x) == "x"
    assert formula(a + x) == r"a + \mathrm{x}"


def test_names_that_would_look_alike_are_told_apart():
    assert symbol("x1") == symbol("x_1")
    assert formula(rg.symbol("x1") + rg.symbol("x_1")) == r"x_{1} + \mathit{x\_1}"
    assert balanced(f"${symbol(ODD)}$")


def test_shared_parts_have_names_defined_below():
    shared = np.exp(np.sin(X) * np.cos(Y) + X)
    shown = formula(np.arctan2(shared + 1, shared))
    assert r"\text{where }\ t_{1} = e^{" in shown and shown.count("t_{1}") == 3


def test_an_op_that_nobody_knows_is_an_operator():
    class Odd(rg.Op):
        __props__ = ("level",)

        def __init__(self, level):
            self.level = level

        def output_type(self, *types):
            return types[0]

    assert formula(Odd(3)(X)) == r"\operatorname{odd}(x,\, \mathrm{level}{=}3)"


# Rows


def test_an_equation_reads_as_it_was_written():
    assert equation(rg.LIBRARY["log_of_one_plus_exponential"]) == "log(1 + exp(x)) = softplus(x)"


def test_a_library_lists_each_row_once_by_family():
    found = dict(families(rg.LIBRARY))
    assert sum(map(len, found.values())) == len(rg.LIBRARY)
    words = Tree(html(rg.LIBRARY)).text
    assert all(row.name in words for row in rg.LIBRARY) and all(f"{family} —" in words for family in found)


def test_a_row_tells_its_conditions():
    row = rg.LIBRARY["angle_of_vectors"]
    assert "same_shape(x, y)" in Tree(html(row)).text and row.source in Tree(html(row)).text
    assert str(row.place) not in html(row)


# Matches


def reading(pattern: Any, subject: Any, name: str, number: int = 0, **options: Any) -> Any:
    answer = rg.match(pattern, subject, **options)[number]
    question = question_of(answer)
    assert question is not None
    return next(r for r in readings(answer, question) if r.name == name)


def test_each_variable_has_one_mark_on_both_sides():
    fragment = html(rg.match(lambda a, b: np.exp(a) + b, np.exp(X) + np.sin(Y)))
    for number in (1, 2):
        # In the pattern, in the subject, and twice among the bindings.
        assert fragment.count(f"<sup>{number}</sup>") == 4


def test_every_written_place_is_marked():
    x, y = rg.symbol("x"), rg.symbol("y")
    found = reading(lambda a, b: a * a + b, x * x + y, "a")
    assert found.places == (x.term,) and not found.said
    assert html(rg.match(lambda a, b: a * a + b, x * x + y)).count("<sup>1</sup>") == 6


def test_parts_that_stand_apart_are_said_to_be_read_as_one():
    x, y, z = (rg.symbol(name) for name in "xyz")
    found = reading(lambda a, b: np.exp(a) + b, y + np.exp(x) + z, "b")
    assert set(found.places) == {y.term, z.term} and "stand apart" in found.said


def test_what_is_absent_is_said_to_be_so():
    x = rg.symbol("x")
    found = reading(lambda a, b: a + b, np.exp(x), "a", theory=rg.ACU)
    assert found.places == () and found.said.startswith("absent: 0")


def test_what_is_turned_over_is_said_to_be_so():
    x, y = rg.symbol("x"), rg.symbol("y")
    assert "reciprocal" in reading(lambda a, b: a / b, x * np.exp(-y), "b").said
    assert "opposite" in reading(lambda a, b: np.sin(a) - b, np.sin(x) + np.exp(y), "b").said


def test_what_moves_into_a_reduction_is_said_to_do_so():
    assert "into the reduction" in reading(reduced, Y * np.sum(np.exp(X)), "a").said
    assert not reading(reduced, Y * np.sum(np.exp(X)), "b").said
    assert reading(reduced, np.sum(np.exp(X)) * Y, "axis").said == "axes"


def test_all_answers_can_be_stepped_through_and_the_first_is_open():
    found = rg.match(lambda a, b: a * b, lambda x, y, z: x * y * z, theory=rg.AC)
    tree = Tree(html(found))
    steps = [attributes for tag, attributes in tree.tags if tag == "details"]
    assert len(steps) == len(found) == 6
    assert ["open" in attributes for attributes in steps] == [True] + [False] * 5
    assert "associativity and commutativity" in tree.text


def test_answers_are_as_lazy_as_before():
    def endless():
        while True:
            yield Answer({"a": X})

    assert "maybe more" in html(rg.Answers(["a"], endless()))


def test_sides_are_shown_where_nothing_matches():
    words = Tree(html(rg.match(lambda a: np.exp(a), lambda x: np.sin(x)))).text
    assert "no answers" in words and "exp(a)" in words and "sin(x)" in words


def test_rich_marks_with_colours_and_numbers():
    rich = pytest.importorskip("rich.console")
    out = StringIO()
    found = rg.match(lambda a, b: np.exp(a) + b, np.exp(rg.symbol("[red]")) + Y)
    rich.Console(file=out, width=100, force_terminal=True, color_system="standard").print(found)
    assert "\x1b[4;31m" in out.getvalue() and "a" in out.getvalue()
    words = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert "pattern  exp(a¹) + b²" in words and "subject  exp([red]¹) + y²" in words


# Programs


def test_a_program_tells_the_signatures_that_it_has_been_compiled_for():
    f = rg.grad(cost, assume={"y": rg.positive})
    assert "nothing yet" in plain(f)
    f(np.ones(4), 2.0)
    f(np.ones(7), 2.0)
    assert "x: float64[4], y: float64" in plain(f) and "x: float64[7]" in Tree(html(f)).text
    assert "y > 0" in plain(f)
    assert repr(f) == "<relgrad grad_cost>"


def test_a_false_row_shows_its_witness():
    words = Tree(html(example("check of a false row"))).text
    assert "✗ false" in words and "x = " in words


def test_types_are_told_in_words():
    assert "a pattern" in plain(rg.variables("a")[0])
    assert "(0, 3)" in plain(example("empty array")) and "(?, 3)" in plain(example("unknown extents"))
    assert isinstance(example("several outputs"), Term)
    assert "2 outputs" in plain(example("several outputs"))


def test_what_is_carried_along_is_said_to_be_so():
    found = rg.rewrites(lambda x, y, z: x**2 - y**2 + z)
    words = Tree(html(found)).text
    assert "difference_of_squares" in words and re.search(r"carried along\s*zmakes", words)
    assert "carried along" not in Tree(html(rg.rewrites(naive))).text


def test_the_examples_in_the_documentation_are_true():
    pytest.importorskip("rich")
    path = Path(__file__).resolve().parent.parent / "docs" / "display.md"
    found = doctest.testfile(str(path), module_relative=False)
    assert found.attempted > 20 and found.failed == 0


def test_show_takes_what_shows_itself():
    f = lambda x: np.log(1 + np.exp(x))
    row = rg.LIBRARY["log_of_one_plus_exponential"]
    for thing in (
        row,
        rg.LIBRARY,
        rg.stabilize(f),
        rg.stabilize(f).explain(1.0),
        rg.accuracy(f, 1.0),
        rg.lint(f)(1.0),
    ):
        assert rg.show(thing) == plain(thing)
    assert rg.show(rg.symbol("x", ())) == "x"


def stripped(fragment: str) -> str:
    return entities.unescape(re.sub("<[^>]*>", "", re.sub("<style>.*?</style>", "", fragment, flags=re.S)))


def test_mathematics_is_right_where_its_elements_are_stripped():
    latexes = {
        r"\frac{a + 1}{b\,c}": "(a+1)/(b⋅c)",
        r"\sqrt{x_{1} + y}": "√(x_1+y)",
        r"-x^{y - 1} = -2": "−x^(y−1)=−2",
        r"\sum_{\mathit{axis}} \operatorname{log\_softmax}(x,\, y)": "∑_axis\u00a0log_softmax(x,y)",
        r"\begin{cases}x & \text{if } y\\ 0 & \text{otherwise}\end{cases}": "{x\u00a0if\u00a0y;\u00a00\u00a0otherwise",
    }
    assert {source: stripped(mathml(source)) for source in latexes} == latexes


def test_roots_are_drawn_by_signs_that_every_font_has():
    assert "msqrt" not in mathml(r"\sqrt{x}") and "<mo>√</mo>" in mathml(r"\sqrt{x}")


def test_each_row_of_the_library_shows_its_law_as_mathematics_and_as_numpy():
    for row in rg.LIBRARY:
        shown = html(row)
        tree = Tree(shown)
        assert [tag for tag, _ in tree.tags].count("math") == 1, row.name
        inside = stripped(shown[shown.index("<math") : shown.index("</math>")])
        assert "=" in inside and not {"\\", "{}"} & set(inside), row.name
        assert unpainted(equation(row)) in stripped(shown)


def test_names_with_html_are_escaped_in_mathematics():
    assert "<script" not in mathml(rf"\mathit{{{'<script>x</script>'}}}").replace("&lt;script", "")
    assert "<b>" not in mathml("a<b>c")


def test_drafts_overlaps_and_loops_show_themselves():
    draft = rg.new_relation("np.sqrt(x**2)", "x", source="definition")
    assert {"math", "pre"} <= {tag for tag, _ in Tree(html(draft)).tags}
    assert "the sides differ" in stripped(html(draft))
    found = rg.overlaps(
        "log_of_exponential", rg.LIBRARY.restricted("exponential_of_logarithm", "log_of_exponential")
    )
    assert "exponential_of_logarithm" in Tree(html(found[0])).text
    assert Tree(html(found)).text.count("and then") == len(found)

    @rg.relation(source="none")
    def grows(x):
        """A term that holds itself."""
        return np.sin(x), np.sin(x) * np.cos(0 * x)

    for loop in rg.loops(grows):
        assert "grows" in Tree(html(loop)).text


def test_ipython_shows_what_plain_says():
    pretty = pytest.importorskip("IPython.lib.pretty").pretty
    explained = rg.grad(lambda x: np.log(1 + np.exp(x))).explain(800.0)
    for x in (explained.derivation, explained.steps[0], rg.Laws(commutative=True), rg.LIBRARY, X.term):
        assert pretty(x) == plain(x)


def test_hazards_have_a_hundred_columns_whatever_their_inputs():
    found = rg.lint(lambda w, z: np.log(np.sum(np.exp(z))) + np.sum(w))(
        np.linspace(0, 1, 40), np.linspace(700, 1000, 40)
    )
    for text in (plain(found), str(found), plain(found[0])):
        assert max(map(len, text.split("\n"))) <= 100
