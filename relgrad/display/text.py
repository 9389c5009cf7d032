"""Terms and patterns as text that reads like the NumPy it came from, whatever their depth."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

from relgrad.leaf import Input
from relgrad.looks import Shown, plain, shortened
from relgrad.op import Constant, Symbolic, as_term
from relgrad.ops.reduction import Reduction
from relgrad.ops.structure import Squeeze
from relgrad.syntax import ATOM, UNARY, Expr, slots, template
from relgrad.term import Term, Unknown, is_term, operands_first

_SHORT = 14
"""Texts of up to this length are repeated rather than named."""


@singledispatch
def show(terms: Any, width: int = 100, limit: int = 200) -> str:
    """Return the text of a symbolic array, a term or a pattern, or of several, one a line; or of what shows itself.

    What is used more than once and is not short has a name, defined after `where`; so has what would make a
    line longer than `width`. At most `limit` applications are shown, those nearest to the roots.

    >>> from relgrad.leaf import Input
    >>> from relgrad.term import term
    >>> from relgrad.types import array_type
    >>> show(term(Input("x", array_type(float))))
    'x'
    """
    if is_term(terms) or isinstance(terms, (Unknown, Symbolic)):
        terms = [terms]
    elif isinstance(terms, Shown):
        return plain(terms)
    roots = [as_term(x) for x in terms]
    return Lines(*Picture(roots, width, limit).told(roots)).text


class Lines(NamedTuple):
    """["exp(t1)"], ["t1 = x + y"], "" → lines, definitions of the names in them, and a remark on the rest."""

    lines: list[str]
    where: list[str]
    cut: str = ""

    @property
    def text(self) -> str:
        r"""→ "exp(t1)\n  where t1 = x + y": the whole text, definitions after `where`."""
        named = [f"{'        ' if i else '  where '}{line}" for i, line in enumerate(self.where)]
        return "\n".join([*self.lines, *named])


class Picture:
    """exp(x + y)·(x + y) → t1 = x + y, "exp(t1) * t1": terms, their names, and the text of each part."""

    def __init__(self, roots: Sequence[Any], width: int, limit: int):
        self._shown, unknowns, inputs = _nearest(roots, limit, self.operands)
        self.has_variables = bool(unknowns)
        self._labels = labels_of(unknowns)
        self._fused: dict[Any, Any] = {}
        self.names: dict[Term, str] = {}
        self._texts: dict[Term, Expr] = {}
        self.order = order = ordered(roots, self._shown, self.operands)
        uses = Counter(rand for node in order for rand in self.operands(node) if rand in self._shown)
        for node in order:
            inner: Any = node.rands[0] if isinstance(node.op, Squeeze) else None
            fits = inner in self._shown and isinstance(inner.op, Reduction) and inner.op.axes == node.op.axes
            if fits and uses[inner] == 1:
                self._fused[node] = inner
        sides: dict[Any, int] = {}
        for node in order:
            if node.op.elementwise:
                parts = self.operands(node)
                sides.update({part: max(sides.get(part, 2), len(parts)) for part in parts})
        named = set()
        for node in order:
            expr = self._texts[node] = self.definition(node)
            shared = uses[node] + (node in roots) > 1 and len(expr.text) > _SHORT
            # A line holds the parts of this length that stand side by side, two or more, and what joins them.
            most = 0.9 * width / min(sides.get(node, 2), 4)
            if node.rands and (shared or (len(expr.text) > most and node not in roots)):
                named.add(node)
                self._texts[node] = Expr("t99")
        used = set(self._labels.values()) | {str(x.op) for x in inputs}
        free = (name for i in range(1, 10**9) if (name := f"t{i}") not in used)
        # Roots first, so that definitions are read in the order in which the names come up.
        self.named = [node for node in reversed(order) if node in named and node not in self._fused.values()]
        self.names = {node: next(free) for node in self.named}
        for node in order:
            self._texts[node] = Expr(self.names[node]) if node in self.names else self.definition(node)

    def told(self, roots: Sequence[Any]) -> tuple[list[str], list[str]]:
        """[exp(x + y)] → ["exp(t1)"], ["t1 = x + y"]: the texts of the roots, and definitions of the names."""
        definitions = [f"{self.names[node]} = {self.definition(node).text}" for node in self.named]
        return [self.text(root).text for root in roots], definitions

    def operands(self, node: Term) -> tuple[Any, ...]:
        """exp(x) → (x,): the parts of a term's text."""
        return node.rands

    def label(self, variable: Any) -> str:
        """~x_7 → "x": the name of a logic variable here."""
        return self._labels.get(variable) or _label(variable)

    def fused(self, node: Term) -> Term:
        """sum(x)[0] → sum(x): the reduction that is written together with a squeeze; other terms as they are."""
        return self._fused.get(node, node)

    def text(self, part: Any) -> Expr:
        """x + y → "x + y" or "t1" or "…": the text of an operand: a variable's label, a name, an expression, or `…`."""
        if not is_term(part):
            return Expr(self.label(part))
        return self._texts.get(part) or Expr("…")

    def definition(self, node: Term) -> Expr:
        """exp(x + y) → "exp(t1)": the text of a term in terms of its operands' texts."""
        op = node.op
        if type(op) is Constant:
            return _constant(op)
        if not node.rands:
            return Expr(str(op))
        expr = template(self.template(node)).fill([self.text(x) for x in self.fused(node).rands])
        return expr._replace(text=expr.text.replace("keepdims=True", "keepdims"))

    def template(self, node: Term) -> str:
        """exp(x) → "exp(_slot0_)": the NumPy of a term, in which `slots` stand for its operands."""
        keepdims, node = node not in self._fused, self.fused(node)
        op, count = node.op, len(node.rands)
        if isinstance(op, Reduction):
            arguments = [*slots(count), f"axis={self._axes(op.axes)}"]
            return f"{_name(op)}({', '.join(arguments + ['keepdims=True'] * keepdims)})"
        text = None
        if op.elementwise and hasattr(op, "code"):
            text = op.code.format(*slots(count))
        elif node.ground:
            text = op.source(node, slots(count))
        if text is not None:
            return re.sub(r"\bnp\.(linalg\.)?", "", text)
        props = [
            f"{'axis' if key == 'axes' else key}={self._value(value) if key != 'axes' else self._axes(value)}"
            for key, value in zip(op.__props__ or (), op._props(), strict=bool(op.__props__))
            if key != "label"
        ]
        return f"{_name(op)}({', '.join([*slots(count), *props])})"

    def _axes(self, axes: Any) -> str:
        return self._value(axes[0] if type(axes) is tuple and len(axes) == 1 else axes)

    def _value(self, value: Any) -> str:
        """(0,) → "(0,)": the text of a prop, as an expression that Python can parse."""
        if isinstance(value, Unknown):
            return self.label(value)
        if type(value) is tuple:
            return f"({', '.join([self._value(x) for x in value])}{',' * (len(value) == 1)})"
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        text = str(value)
        return text if text.isidentifier() else repr(shortened(text, 40))


def _name(op: Any) -> str:
    name = getattr(op, "numpy_name", "") or op.name
    return re.sub(r"\W", "_", name)


def _constant(op: Constant) -> Expr:
    value = op.value
    if value.ndim == 0:
        text = repr(value.item())
        return Expr(text, UNARY if text.startswith("-") else ATOM)
    if value.size <= 6:
        return Expr(str(value.tolist()))
    return Expr(f"array{value.shape}")


def _label(variable: Any) -> str:
    """~x_7 → "x": the name that a logic variable was given."""
    text = str(variable).lstrip("~")
    return re.sub(r"_\d+$", "", text) or text


def labels_of(unknowns: Sequence[Any]) -> dict[Any, str]:
    """x, x, y ↦ x, x2, y: a label for each variable; those that share one get numbers.

    x, x, y   ↦   x, x2, y
    """
    labels: dict[Any, str] = {}
    for variable in unknowns:
        label, i = _label(variable), 1
        while label in labels.values():
            i += 1
            label = f"{_label(variable)}{i}"
        labels[variable] = label
    return labels


Operands = Callable[[Term], Sequence[Any]]


def _nearest(roots: Sequence[Any], limit: int, operands: Operands) -> tuple[set[Term], list[Any], set[Term]]:
    """[exp(x + y)], 1 → {exp}, …: the terms nearest to the roots, and the variables and leaves among their operands."""
    shown: set[Term] = set()
    unknowns: dict[Any, None] = {}
    leaves: set[Term] = set()
    queue = deque(roots)
    applications = 0
    while queue:
        part = queue.popleft()
        if not is_term(part):
            unknowns[part] = None
            continue
        if part in shown:
            continue
        parts = operands(part)
        if parts:
            if applications == limit:
                continue
            applications += 1
        elif type(part.op) is Input:
            leaves.add(part)
        shown.add(part)
        unknowns.update((prop, None) for prop in _flat(part.op._props()) if isinstance(prop, Unknown))
        queue.extend(parts)
    return shown, list(unknowns), leaves


def _flat(props: Any) -> list[Any]:
    return [x for prop in props for x in (prop if type(prop) is tuple else (prop,))]


def ordered(roots: Iterable[Any], shown: Container[Any], operands: Operands) -> list[Term]:
    """[exp(x)] → [x, exp(x)]: the terms that are shown, operands before what uses them."""
    order: dict[Any, None] = {}
    for node in operands_first(roots, lambda x: x in order or x not in shown, operands):
        order[node] = None
    return list(order)
