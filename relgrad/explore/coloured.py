"""Answers in colour: pattern and subject side by side, and in both each variable with its mark.

A mark in the subject is where the value of a variable is written. What an answer reads otherwise than it is written
is said: the parts of a sum that stand apart, what is absent and stands for an identity, what moved through a reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.display.brief import SHELL, brief, painted, signed
from relgrad.display.latex import formula, stacked, symbol, worded
from relgrad.display.page import Markup, details, element, facts, framed, joined, note, table
from relgrad.display.terms import coded, displayed, term_fragment
from relgrad.explore.answers import NOTHING, Answer, Answers, Question, question_of
from relgrad.explore.reasons import Rewrites
from relgrad.logic.build import build_product, build_sum
from relgrad.logic.equality import canonical_key
from relgrad.logic.group import added, multiplied
from relgrad.logic.theory import in_product, in_sum
from relgrad.logic.unify import label_of, reify_term, unknowns
from relgrad.logic.view import product_of, sum_of
from relgrad.looks import coloured, html, latex, shortened
from relgrad.op import as_term, is_constant
from relgrad.ops.reduction import Reduction
from relgrad.schedule.relate import Found
from relgrad.symbolic import Symbolic
from relgrad.term import Term, Unknown, is_term, reachable, subterms
from relgrad.types import ArrayType

SEARCHED = 2000
"""In subjects of so many terms those are looked for that are equal to a value and written otherwise."""
NUMBERS = 9999
"""A term of a constant is told apart by its value where it has no more entries."""

_STYLES = ("red", "blue", "green", "yellow", "magenta", "cyan", "bright_red", "bright_blue")
_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Reading(NamedTuple):
    """a = x, written at one place, mark 1: a variable's value in an answer, where that is written, and a remark."""

    name: str
    mark: int
    value: Any
    places: tuple[Term, ...] = ()
    said: str = ""


def readings(answer: Answer, question: Question) -> list[Reading]:
    """a = −y in x − y → Reading(a, …, "read as the opposite of what is written"):
    for each variable, its value's places.
    """
    subject = _Subject(question.right)
    found = []
    for mark, name in enumerate(answer, 1):
        value = answer[name].term if isinstance(answer[name], Symbolic) else answer[name]
        variable = question.variables[name]
        if not is_term(value):
            said = "stays open" if isinstance(value, Unknown) else "axes" if value != variable else ""
            found.append(Reading(name, mark, value, (), said))
            continue
        places, said = subject.read(value, question.left, variable)
        found.append(Reading(name, mark, value, places, said))
    return found


class _Subject:
    """x·exp(y) → places of values in it: the side that a pattern is matched against, in which values are looked for."""

    def __init__(self, root: Any):
        self._root = root
        self._terms = reachable(root) if is_term(root) else set()
        self._reduced = below_reductions(root)

    def read(self, value: Term, pattern: Any, variable: Any) -> tuple[tuple[Term, ...], str]:
        """value → (places, remark): where a value is written, and a remark where it is not simply written there."""
        places, said = self._places(value, pattern, variable)
        if places and not self._reduced.issuperset(places) and variable in below_reductions(pattern):
            inside = "taken into the reduction, of which it stands outside"
            said = f"{said}; {inside}" if said else inside
        return places, said

    def _places(self, value: Term, pattern: Any, variable: Any) -> tuple[tuple[Term, ...], str]:
        """x → (x,), "";    1 → (), "absent";    exp(−y) → exp(y), "read as the reciprocal …": places, and a remark."""
        if value in self._terms:
            return (value,), ""
        if is_constant(value):
            same = tuple([t for t in self._terms if is_constant(t) and _same_number(t, value)])
            # A number that is written nowhere is often what a law puts in the place of nothing.
            return same, "" if same else _absence(value, pattern, variable)
        equal = tuple(self._written_otherwise(value))
        if equal:
            return equal, ""
        turned = next(self._turned(value), None)
        if turned:
            return turned
        parts = [t for t in _joined_parts(value) if t in self._terms and not is_constant(t)]
        if parts:
            return tuple(parts), "read as one, from parts that stand apart"
        return (), "read so; it is written nowhere"

    def _written_otherwise(self, value: Term) -> Iterator[Term]:
        """y·x → x·y: the subterms that are equal to a value modulo the theories, and of its type."""
        if len(self._terms) > SEARCHED or not value.ground:
            return
        key = canonical_key(value)
        for t in self._terms:
            if t.ground and t.rands and t.type == value.type and canonical_key(t) == key:
                yield t

    def _turned(self, value: Term) -> Iterator[tuple[tuple[Term, ...], str]]:
        """exp(−y) → exp(y), −y → y: a term of which a value is the reciprocal or the opposite."""
        if len(self._terms) > SEARCHED or not value.ground:
            return
        product, total = product_of(value), sum_of(value)
        for t in self._terms:
            if is_constant(t) or not isinstance(t.type, ArrayType):
                continue
            if product_of(t).coefficient and multiplied((product_of(t), -1))[:2] == product[:2]:
                yield (t,), "read as the reciprocal of what is written"
            elif added((sum_of(t), -1))[:2] == total[:2]:
                yield (t,), "read as the opposite of what is written"


def below_reductions(root: Any) -> set[Any]:
    """Σ x·a + b → {x·a, x, a}: the terms and variables that a reduction is applied to, with all below them."""
    if not is_term(root):
        return set()
    found: set[Any] = set()
    stack: list[Any] = [t.rands[0] for t in subterms(root) if isinstance(t.op, Reduction)]
    while stack:
        part = stack.pop()
        if part not in found:
            found.add(part)
            stack += part.rands if is_term(part) else ()
    return found


def _same_number(x: Term, y: Term) -> bool:
    a, b = x.op.value, y.op.value
    return a.size == b.size <= NUMBERS and bool(np.array_equal(a.ravel(), b.ravel(), equal_nan=False))


def _absence(value: Term, pattern: Any, variable: Any) -> str:
    """Say which identity a constant is that stands for nothing: in a + x + b, b = 0 where there is only x."""
    number = value.op.value
    for t in subterms(pattern) if is_term(pattern) else ():
        identity = t.op.laws.identity
        if variable in t.rands and identity is not None and number.size and np.all(number == identity):
            return f"absent: {identity}, the identity of {t.op.name}, stands for it"
    if number.size and np.all(number == 0):
        return "absent: zero stands for it"
    return "read so; it is written nowhere"


def _joined_parts(value: Term) -> list[Term]:
    """(a + b) + c → [a, b, c]: the operands of a sum or product that are joined by the same op, in order."""
    if not value.op.laws.associative:
        return []
    parts, stack = [], [value]
    while stack:
        t = stack.pop()
        if is_term(t) and t.op == value.op:
            stack += reversed(t.rands)
        else:
            parts.append(t)
    return parts


def carried_along(pattern: Any, place: Term, bindings: Mapping[Any, Any]) -> Term | None:
    """Return what stands beside a pattern in the sum or product that it is a part of; None where there is nothing.

    The bindings are those of its variables there.

    >>> from relgrad.logic.unify import fresh
    >>> from relgrad.trace.tracer import Tracer
    >>> from relgrad.explore.match import symbolic
    >>> a = fresh("a")
    >>> place = symbolic(lambda x, z: z - np.exp(x))
    >>> print(value_text(carried_along(as_term(np.exp(Tracer(a))), place, {a: symbolic(lambda x: x)})))
    z
    """
    matched = reify_term(pattern, bindings)
    for read, view, join, build in _READINGS:
        if not read(place.op):
            continue
        whole, part = view(place), view(matched)
        shared = next((x for x in part[1] if x in whole[1]), None)
        if shared is None:
            continue
        rest = join((whole, 1), (part, -Fraction(whole[1][shared]) / part[1][shared]))
        if len(rest[1]) < len(whole[1]):
            beside = build(rest, place.type.dtype)
            return None if is_constant(beside) and beside.op.value == place.op.laws.identity else beside
    return None


_READINGS: tuple[tuple[Callable[[Any], bool], Any, Any, Any], ...] = (
    (in_sum, sum_of, added, build_sum),
    (in_product, product_of, multiplied, build_product),
)


class Sides(NamedTuple):
    """pattern a·exp(b), subject x·exp(y) → their texts, with marks."""

    names: tuple[str, str]
    left: str
    right: str
    cut: str


def sides(found: Sequence[Reading], question: Question) -> Sides:
    """[a = x] → "a₁·exp(b)", "x₁·exp(y)": both sides of a question with the marks of a reading."""
    marks: dict[Any, list[int]] = {}
    for reading in found:
        for part in {question.variables[reading.name]: None, **dict.fromkeys(reading.places)}:
            marks.setdefault(part, []).append(reading.mark)
    left, right = brief(question.left, width=44, marks=marks), brief(question.right, width=44, marks=marks)
    names = ("left side", "right side") if unknowns(question.right) else ("pattern", "subject")
    return Sides(names, left.text, right.text, right.cut or left.cut)


def view_of(question: Question) -> str:
    """a·b, x/y → "both read as products": the theory of the root, where it may be read otherwise than written."""
    ops = [side.op for side in (question.left, question.right) if is_term(side)]
    if len({str(op) for op in ops}) < 2:
        return ""
    return (
        "both read as products"
        if all(map(in_product, ops))
        else "both read as sums"
        if all(map(in_sum, ops))
        else ""
    )


def value_text(value: Any) -> str:
    """Return what stands for a variable, as NumPy."""
    return brief(value).text if is_term(value) or isinstance(value, Unknown) else str(value)


# HTML


@html.register
def _(answer: Answer) -> str:
    return framed(_fragment(answer), "answer")


@html.register
def _(answers: Answers) -> str:
    first, rest = answers.first()
    count = f"{len(first)} answer{'s' * (len(first) != 1)}" if first else "no answers"
    question = answers.question
    modulo = f" modulo {question.theory}" if question else ""
    views = f"; {view_of(question)}" if question and first and view_of(question) else ""
    head = element("p", element("strong", count), modulo, views, f" {rest}" if rest else "")
    if not first and question:
        body = _side_by_side(sides([], question))
    else:
        body = joined(
            [
                details(coded(_line(i, answer)), _fragment(answer), opened=i == 1)
                for i, answer in enumerate(first, 1)
            ]
        )
    return framed(joined([head, body]), f"answers: {count}")


def _line(number: int, answer: Answer) -> str:
    first = repr(answer).split("\n")[0]
    return f"{number}. {shortened(first, 90)}"


def _fragment(answer: Answer) -> Markup:
    """Answer → HTML: pattern beside subject, each variable in its colour, and a table of their values."""
    question = question_of(answer)
    if question is None:
        found = [Reading(name, i, as_term(answer[name])) for i, name in enumerate(answer, 1)]
        return _bindings(found)
    found = readings(answer, question)
    return joined([_side_by_side(sides(found, question)), _bindings(found)])


def _side_by_side(shown: Sides) -> Markup:
    """Sides → <div class="sides">: pattern and subject beside each other."""
    both = element(
        "div",
        *[
            element("div", element("div", name, class_="note"), coded(text))
            for name, text in zip(shown.names, (shown.left, shown.right), strict=True)
        ],
        class_="sides",
    )
    return joined([both, note(shown.cut) if shown.cut else ""])


def _bindings(found: Sequence[Reading]) -> Markup:
    """[Reading] → a table: variable, value, and how it was read where any was read otherwise."""
    if not found:
        return note(NOTHING)
    remarks = any(reading.said for reading in found)
    rows = [
        (coded(signed(r.name, r.mark)), coded(signed(value_text(r.value), r.mark)), *[r.said] * remarks)
        for r in found
    ]
    return table(("variable", "stands for", *["how"] * remarks), rows)


@html.register
def _(found: Rewrites) -> str:
    first, rest = found.first()
    parts = [
        details(joined([coded(move.name), f" — {move.why}"]), _move(move, found), opened=i == 0)
        for i, move in enumerate(first)
    ]
    count = f"{len(first)} rewrite{'s' * (len(first) != 1)} at the root" if first else found.nothing
    head = element("p", element("strong", count), f" {rest}" if rest else "")
    return framed(joined([head, *parts]), count)


def _move(move: Found, found: Rewrites) -> Markup:
    """Found → HTML: the left side of a row beside the place that it matches, in colour, and its result."""
    made = ("makes", term_fragment(move.term))
    row = next((row for row in found.library if row.name == move.name), None)
    variables = {} if row is None else {label_of(v): v for v in row.variables}
    if row is None or move.move != "relation" or not variables.keys() <= move.bindings.keys():
        return facts([("place", term_fragment(found.place)), made])
    question = Question(row.left, found.place, variables, "the laws of real arithmetic")
    named = {name: move.bindings[name] for name in variables}
    seen = readings(Answer(named, question), question)
    shown = sides(seen, question)._replace(names=("left side", "place"))
    beside = carried_along(row.left, found.place, {v: named[name] for name, v in variables.items()})
    carried = ("carried along", term_fragment(beside) if beside is not None else "")
    return joined([_side_by_side(shown), _bindings(seen), facts([carried, made])])


# LaTeX


@latex.register
def _(answer: Answer) -> str:
    return displayed(stacked([_equations(answer)], []))


@latex.register
def _(answers: Answers) -> str:
    first, rest = answers.first()
    lines = [_equations(answer) for answer in first] or [r"\text{no answers}"]
    return displayed(stacked([*lines, *[r"\text{and maybe more}"] * bool(rest)], []))


def _equations(answer: Answer) -> str:
    sides = [(symbol(name), _value(answer[name])) for name in answer]
    parts = [f"{name} = {value}" for name, value in sides if name != value]
    return r",\quad ".join(parts) or r"\text{equal as they stand}"


def _value(value: Any) -> str:
    if isinstance(value, (Symbolic, Unknown)) or is_term(value):
        return formula(value)
    return worded(str(value))


# Terminals


@coloured.register(Answer)
@coloured.register(Answers)
def _(answers: Any) -> Any:
    from rich.text import Text

    members, rest = ([answers], "") if isinstance(answers, Answer) else answers.first()
    lines = [line for answer in members for line in _rich_lines(answer)]
    return Text("\n").join([*(lines or [Text("no answers")]), *[Text(rest)] * bool(rest)])


def _rich_lines(answer: Answer) -> Iterator[Any]:
    """Answer → the lines "pattern …", "subject …", "a = x": as styled text of rich."""
    from rich.text import Text

    question = question_of(answer)
    if question is None:
        yield Text(repr(answer))
        return
    found = readings(answer, question)
    both = sides(found, question)
    for name, text in zip(both.names, (both.left, both.right), strict=True):
        yield Text(f"{name}  ", style="dim") + _painted(text.replace("\n", "\n" + " " * (len(name) + 2)))
    for r in found:
        said = Text(f"  ({r.said})" if r.said else "", style="dim")
        yield Text("  ") + _painted(signed(f"{r.name} = {value_text(r.value)}", r.mark)) + said


def _painted(text: str) -> Any:
    from rich.markup import escape
    from rich.text import Text

    return Text.from_markup(painted(text, escape, _paint))


def _paint(inner: str, n: int) -> str:
    """(x, 1) → "[… underline]x[/]₁": a text in the style of a mark, for rich's markup."""
    if n == SHELL:
        return f"[italic]{inner}[/italic]"
    style = _STYLES[(n - 1) % len(_STYLES)]
    between = "," if inner.endswith("[/]") else ""
    return f"[{style} underline]{inner}[/][{style}]{between}{str(n).translate(_DIGITS)}[/]"
