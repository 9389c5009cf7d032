"""A derivation step by step: the whole program before and after each, its law, and what is gained by it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from relgrad.accuracy.bits import bits_of_error
from relgrad.balls.graph import Enclosure, enclose
from relgrad.bounds import in_words
from relgrad.conventions import DEFAULT
from relgrad.display.brief import SHELL, brief, cut_of, painted, signed, unpainted
from relgrad.display.derivation import Explanation
from relgrad.display.page import (
    Markup,
    code,
    details,
    element,
    facts,
    framed,
    joined,
    note,
    shelled,
    text,
)
from relgrad.display.rows import equation, law_of
from relgrad.display.states import Change, changes
from relgrad.display.terms import IMPLICIT
from relgrad.errors import RelgradError
from relgrad.gradient import is_implicit
from relgrad.interpret import interpret
from relgrad.looks import Lazy, Shown, html, latex, shortened
from relgrad.op import Project
from relgrad.relation import Library, Relation
from relgrad.schedule import NAIVE, schedule
from relgrad.schedule.relate import INCREMENTS, SIMPLIFICATIONS
from relgrad.step import Derivation, Step
from relgrad.term import Term, reachable, subterms

WIDTH = 88
LIMIT = 40
"""So many applications of a program are shown."""
SHOWN = 60
"""So many steps are shown of a derivation that is longer, half of them its first and half its last."""
WHOLE = 4000
"""Programs of more terms are not followed from step to step; of their steps, the places alone are shown."""
FEW, SMALL = 10_000, 300
"""Programs of so many terms are computed after each step for arguments of so few entries, to see what overflows."""
OPEN, CLOSE = "⟦", "⟧"
"""What stands around a changed place."""
_PLACE = 1
_SIGNS = signed("", _PLACE)


def marked(roots: Sequence[Term], places: Collection[Term] = (), limit: int = LIMIT) -> str:
    """Return the text of a program with the signs of a mark around some places, wherever they stand.

    >>> from relgrad.leaf import Input
    >>> from relgrad.op import constant
    >>> from relgrad.ops.arithmetic import add, multiply
    >>> from relgrad.term import term
    >>> from relgrad.types import array_type
    >>> x = term(Input("x", array_type(float)))
    >>> bracketed(marked([add(multiply(x, x), constant(1.0))], [multiply(x, x)]))
    '⟦x * x⟧ + 1.0'
    """
    marks = dict.fromkeys(places, (_PLACE,))
    # Of an implicit derivative its outputs are what is shown.
    if any(map(is_implicit, places)):
        outputs = (t for t in reachable(*roots) if type(t.op) is Project and t.rands[0] in marks)
        marks |= dict.fromkeys(outputs, (_PLACE,))
    return _defined(brief(roots, WIDTH, limit, marks).text)


def bracketed(shown: str) -> str:
    """ "⟨x⟩₁ + 1" → "⟦x⟧ + 1": text with signs of marks as plain text, in which places stand in brackets."""
    return painted(shown, str, lambda inner, n: inner if n == SHELL else f"{OPEN}{inner}{CLOSE}")


def highlighted(shown: str) -> Markup:
    """ "⟨x⟩₁ + 1" → <mark>⟦x⟧</mark> + 1, implicit derivatives in shells."""
    return Markup(painted(shown, text, _painted))


def _painted(inner: str, n: int) -> str:
    if n == SHELL:
        return shelled(Markup(inner), IMPLICIT)
    style = "background:#e0a80055;color:inherit;border-radius:.2em"
    return element("mark", OPEN, Markup(inner), CLOSE, style=style)


def _defined(shown: str) -> str:
    """Return text with marks around the definitions of names rather than around the names.

    >>> print(bracketed(_defined(signed("t1", 1) + " + x\\n  where t1 = exp(x)")))
    t1 + x
      where t1 = ⟦exp(x)⟧
    """
    opening, closing = _SIGNS
    for name in dict.fromkeys(re.findall(f"{opening}(t[0-9]+){closing}", shown)):
        definition = re.compile(rf"^((?:  where |        ){name} = )(.*)$", re.MULTILINE)
        if definition.search(shown):
            shown = shown.replace(f"{opening}{name}{closing}", name)
            shown = definition.sub(rf"\g<1>{opening}\g<2>{closing}", shown)
    return shown


@dataclass(frozen=True)
class Frame(Shown):
    """⟦log(eˣ)⟧ + 1 ⟶ ⟦x⟧ + 1 by log eˣ = x; operations 3 → 1: a step: the program before and after it with the place
    marked, its law, and its gain.

    `old` and `new` are the texts of the program with signs around the place, `before` and `after` those with brackets.
    """

    number: int
    count: int
    step: Step
    old: str
    new: str
    law: str
    says: str
    source: str
    gains: tuple[str, ...]
    note: str
    row: Relation | None = None

    @property
    def before(self) -> str:
        """ "⟦log(exp(x))⟧ + 1": the program before the step, with the place that changes in brackets."""
        return bracketed(self.old)

    @property
    def after(self) -> str:
        """ "⟦x⟧ + 1": the program after the step, with what has come of the place in brackets."""
        return bracketed(self.new)

    @property
    def title(self) -> str:
        """ "1 of 3: log_of_exponential — The logarithm …": the step's number, its name, and why it was made."""
        why = f" — {self.step.why}" if self.step.why else ""
        return f"{self.number} of {self.count}: {self.step.name}{why}"

    @property
    def said(self) -> list[tuple[str, str]]:
        """[("law", "log(exp(x)) = x"), ("source", …), …]: further facts of the step, by name."""
        pairs = [
            ("flow" if self.step.move == "expand" else "law", self.law),
            ("says", self.says),
            ("source", self.source),
            ("gain", "; ".join(self.gains)),
        ]
        return [(name, said) for name, said in pairs if said]

    def __str__(self) -> str:
        lines = textwrap.wrap(self.title, 100, subsequent_indent="  ")
        for name, said in [*self.said, ("before", self.before), ("after", self.after), ("note", self.note)]:
            first, *rest = [w for line in said.split("\n") for w in _wrapped(line, 90)] or [""]
            if said:
                lines += [f"  {name + ':':8}{first}", *[f"          {line}" for line in rest]]
        return "\n".join(lines)

    __repr__ = __str__

    def body(self) -> Markup:
        """frame → facts, before, after: the step in HTML, without its title."""
        sides = [
            element("div", _titled(name), element("pre", element("code", highlighted(shown))))
            for name, shown in (("before", self.old), ("after", self.new))
        ]
        law = law_of(self.row) if self.row else ""
        said = [(name, law if name == "law" else code(x) if name == "flow" else x) for name, x in self.said]
        return joined(
            [facts(said), element("div", *sides, class_="sides"), note(self.note) if self.note else ""]
        )


def _wrapped(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, width, subsequent_indent=indent + "  ", break_long_words=False) or [line]


def _titled(name: str) -> Markup:
    return element("p", element("b", name), style="margin:.5em 0 0")


class Steps(Lazy[Frame]):
    """explained → steps[0], steps[1], …: the steps of a derivation, to go through: `print(steps[0])`; in a notebook
    they open and close.

    What a step gains is counted in operations; with the `values` of inputs, also in places that overflow or become
    NaN there, and in the bits that are lost where `bits` are asked for.
    """

    def __init__(
        self,
        explained: Explanation | Derivation,
        values: Mapping[Term, Any] | None = None,
        bits: bool = False,
        remark: str = "",
    ):
        of_call = isinstance(explained, Explanation)
        self.derivation: Derivation = explained.derivation if of_call else explained
        self.values = values if values is not None else explained.values if of_call else {}
        self._bits, self._remark = bits, remark
        self._faults, self._lost = cache(self._faults_of), cache(self._lost_of)
        super().__init__(self._frames(range(len(self))))
        if bits and not self.values:
            raise RelgradError(
                "bits are lost at arguments, and there are none here",
                cure="write relgrad.steps(fun, *args, bits=True)",
            )

    def __len__(self) -> int:
        return len(self.derivation.steps)

    def some(self, limit: int = SHOWN) -> list[Frame]:
        """100 steps → the first 30 and the last 30; all where there are no more than `limit`."""
        count = len(self)
        if count <= limit:
            return list(self)
        return list(self._frames([*range(limit // 2), *range(count - limit // 2, count)]))

    def _frames(self, numbers: Sequence[int]) -> Iterator[Frame]:
        for number, change in zip(numbers, self._changes(numbers), strict=True):
            yield self._frame(number + 1, change)

    def _changes(self, numbers: Sequence[int]) -> Iterator[Change | Step]:
        if len(reachable(*self.derivation.before)) > WHOLE:
            return iter([self.derivation.steps[i] for i in numbers])
        return changes(self.derivation, numbers)

    def _frame(self, number: int, change: Change | Step) -> Frame:
        step = change if isinstance(change, Step) else change.step
        law, says, source, row = self._law(step)
        remark, gains = "", ()
        if isinstance(change, Step):
            before, after = _sides(step)
            remark = f"the program has more than {WHOLE} terms: only the place is shown"
        else:
            before, after = marked(change.before, change.places), marked(change.after, change.became)
            gains = tuple(self._gains(change))
            if not change.places:
                before, after = _sides(step)
                remark = "made beside the program, as in the derivative of a series, and put into it later"
            elif _SIGNS[0] not in before or (change.became and _SIGNS[0] not in after):
                before, after = _sides(step)
                remark = "the place lies deeper than is shown of the program: it stands here alone"
            else:
                law = _flows(step) if step.move == "expand" else law
                remark = "" if change.became else "what came of it is one with what uses it"
        return Frame(number, len(self), step, before, after, law, says, source, gains, remark, row)

    def _law(self, step: Step) -> tuple[str, str, str, Relation | None]:
        """step by log eˣ = x → "log(exp(x)) = x", "", "definition", row: equation, words, source, row."""
        if step.move == "relation":
            row = self._rows.get(step.name)
            return ("", "", "", None) if row is None else (unpainted(equation(row)), "", row.source, row)
        return "", _SAYS.get(step.name, ""), "", None

    @cached_property
    def _rows(self) -> dict[str, Relation]:
        library: Library | None = getattr(self.derivation, "library", None)
        return {row.name: row for row in library or ()}

    def _gains(self, change: Change) -> Iterator[str]:
        both = change.before, change.after
        operations, waiting = ([*map(count, both)] for count in (_operations, _waiting))
        yield f"operations {_arrow(*operations)}"
        if waiting[0] != waiting[1]:
            yield f"derivatives that wait {_arrow(*waiting)}"
        faults = [*map(self._faults, both)]
        if None not in faults and faults[0] != faults[1]:
            yield f"places that overflow or become NaN at the arguments {_arrow(*faults)}"
        if self._bits:
            lost = ["unknown" if x is None else f"{x:.1f}" for x in map(self._lost, both)]
            yield f"bits lost at the arguments {_arrow(*lost)}"

    def _explicit(self, roots: Sequence[Term]) -> Sequence[Term]:
        if not any(map(is_implicit, reachable(*roots))):
            return roots
        conventions = self.derivation.conventions or DEFAULT
        return schedule(roots, Library([]), NAIVE, conventions=conventions).after

    def _faults_of(self, roots: Sequence[Term]) -> int | None:
        """log(exp(800)) → 1: the terms that are not finite though their operands are; None where not known."""
        if not self.values or sum(np.size(x) for x in self.values.values()) > FEW:
            return None
        if len(reachable(*roots)) > SMALL:
            return None
        try:
            nodes = [t for t in subterms(*self._explicit(roots)) if not is_implicit(t)]
            with np.errstate(all="ignore"):
                values = dict(zip(nodes, interpret(nodes, self.values), strict=True))
        except Exception:  # whatever an op raises at these arguments: nothing is said of them then
            return None
        bad = {t for t, x in values.items() if not _is_finite(x)}
        return sum(all(rand not in bad for rand in t.rands) for t in bad)

    @cached_property
    def _truth(self) -> list[Enclosure]:
        return enclose(self._explicit(self.derivation.before), self.values)

    def _lost_of(self, roots: Sequence[Term]) -> float | None:
        """log(1 + exp(800)) → 64.0: the most bits that an entry loses; None where no true value is known."""
        with np.errstate(all="ignore"):
            got = interpret(self._explicit(roots), self.values)
        errors = [bits_of_error(x, t) for x, t in zip(got, self._truth, strict=True)]
        return max((float(np.nanmax(e)) for e in errors if not np.isnan(e).all()), default=None)

    def __str__(self) -> str:
        shown = self.some()
        lines = [str(frame) for frame in shown]
        if len(shown) < len(self):
            lines.insert(len(shown) // 2, f"… {len(self) - len(shown)} more steps …")
        return "\n\n".join(lines) if lines else f"no step: {bracketed(marked(self.derivation.before))}"

    __repr__ = __str__

    def html(self, limit: int = SHOWN) -> str:
        """steps → <details>…</details> …: each opens and closes without a script; the first and last are open."""
        derivation, shown = self.derivation, self.some(limit)
        parts: list[Any] = [note(self._remark)] if self._remark else []
        parts += [_titled("from"), _program(derivation.before)]
        assumed = [in_words(_line(t), known) for t, known in derivation.assumed]
        parts += [facts([("assuming", "; ".join(assumed))])]
        for i, frame in enumerate(shown):
            if len(shown) < len(self) and i == len(shown) // 2:
                parts.append(note(f"… {len(self) - len(shown)} more steps …"))
            parts.append(details(frame.title, frame.body(), opened=i in (0, len(shown) - 1)))
        if not shown:
            parts.append(
                note("No step was made: nothing in the library applies, or nothing is to be gained.")
            )
        parts += [_titled("to"), _program(derivation.after)]
        count = len(self)
        label = f"A derivation of {count} step{'s' * (count != 1)}"
        return framed(joined([element("p", element("b", label)), *parts]), label)

    def save(self, path: str | Path) -> None:
        """ "steps.html" ← a page that needs no script: writes the steps to a file."""
        head = '<!doctype html><html lang="en"><meta charset="utf-8">'
        head += '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        Path(path).write_text(
            f"{head}<title>{len(self)} steps</title>{self.html(len(self))}", encoding="utf-8"
        )

    def widget(self) -> Any:
        """steps → buttons, a slider, keys: the steps as a widget with buttons, a slider and keys; as static HTML that
        says so without anywidget.

        The widget needs `pip install 'relgrad[notebook]'`.
        """
        from relgrad.display.stepper import stepper

        found = stepper(self)
        if found is None:
            remark = "The widget needs anywidget, which is not installed: pip install 'relgrad[notebook]'"
            return Steps(self.derivation, self.values, self._bits, remark)
        return found


@html.register
def _(steps: Steps) -> str:
    return steps.html()


@html.register
def _(explained: Explanation) -> str:
    return Steps(explained).html()


@html.register
def _(frame: Frame) -> str:
    return framed(joined([element("p", element("b", frame.title)), frame.body()]), frame.title)


@latex.register
def _(frame: Frame) -> str | None:
    return latex(frame.step if frame.row is None else frame.row)


def _program(roots: Sequence[Term]) -> Markup:
    cut = cut_of(roots, LIMIT)
    shown = element("pre", element("code", highlighted(marked(roots))))
    return joined([shown, note(cut)]) if cut else shown


def _sides(step: Step) -> tuple[str, str]:
    """step log(eˣ) → x ⟶ "⟦log(exp(x))⟧", "⟦x⟧": the texts of a place before and after a step, by themselves."""
    if step.move == "expand":
        value = step.before[0] if isinstance(step.before, tuple) else step.before
        return marked([value]), _flows(step)
    return marked([step.before], [step.before]), marked([step.after], [step.after])


def _flows(step: Step) -> str:
    """pullback of x·y → "to x flows g * y", …: the flows back to each operand of a layer, or its tangents."""
    lines = []
    for part in step.after:
        if isinstance(part, tuple):
            operand, flow = (_line(t) for t in part)
            lines.append(f"to {shortened(operand, 30)} flows {shortened(flow, 60)}")
        elif part is not None:
            lines.append(f"tangent {shortened(_line(part), 80)}")
    return "\n".join(lines)


def _line(t: Any) -> str:
    return unpainted(brief([t], 10_000, 12).lines[0])


def _operations(roots: Sequence[Term]) -> int:
    return sum(bool(t.rands) and not is_implicit(t) for t in reachable(*roots))


def _waiting(roots: Sequence[Term]) -> int:
    return sum(map(is_implicit, reachable(*roots)))


def _arrow(old: Any, new: Any) -> str:
    return f"{old} → {new}" if old != new else f"{old}, as before"


def _is_finite(x: Any) -> bool:
    arrays = x if isinstance(x, tuple) else (x,)
    return all(bool(np.all(np.isfinite(a))) for a in arrays if np.asarray(a).dtype.kind in "fiub")


def _sentence(function: Any) -> str:
    """f → "x." of "Return x, or None.": what a docstring says of a result, in a line."""
    said = re.sub(r"\s+", " ", (inspect.getdoc(function) or "").partition("\n\n")[0])
    return re.sub("^Return |[,;] or None(?: where nothing does)?", "", said)


_SAYS = {law.name: _sentence(law.make) for law in (*SIMPLIFICATIONS, *INCREMENTS)}
