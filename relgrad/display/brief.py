"""Terms in part, as looks show them: implicit gradients as shells around what they differentiate, and marks on parts.

Where `show` writes `gradient(y, 1.0, x, pairs=1)[0]`, there stands `∂[y]/∂x` here. Marks are signs of Unicode's private
use within the text, which `painted` turns into what colours them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relgrad.display.text import Lines, Picture
from relgrad.gradient import Gradient, Pushforward
from relgrad.looks import shortened
from relgrad.op import Constant, Project, Symbolic, as_term, is_constant
from relgrad.ops.structure import BroadcastTo
from relgrad.syntax import ATOM, PRODUCT, SUM, Expr
from relgrad.term import Term, Unknown, is_term, reachable

APPLICATIONS = 60
"""So many applications are shown, those nearest to the root."""
OPERANDS = 24
"""So many operands of one application are shown."""
LONGEST = 20_000
"""A text is cut where it is longer."""

SHELL = 0
"""The mark of an implicit gradient."""
_OPEN, _CLOSE, _LAST = 0xE001, "\ue000", 0xF8FF


Marks = Mapping[Any, Sequence[int]]
"""The numbers that terms and variables are marked with."""


class Flow(NamedTuple):
    """g · ∂y/∂x → Flow(y, x, g): a summand of an implicit derivative; no `factor` where it is one."""

    value: Any
    by: Any
    factor: Any


def flows(node: Term) -> list[Flow] | None:
    """output 0 of gradient(y, g, x) → [Flow(y, x, g)]: of an implicit derivative; None of any other term."""
    inner: Any = node.rands[0] if type(node.op) is Project else None
    if not is_term(inner):
        return None
    if isinstance(inner.op, Gradient):
        values, cotangents, wrt = inner.op.parts(inner)
        x = wrt[node.op.index]
        return [Flow(v, x, None if is_one(g) else g) for v, g in zip(values, cotangents, strict=True)]
    if isinstance(inner.op, Pushforward):
        values, inputs, tangents = inner.op.parts(inner)
        y = values[node.op.index]
        return [Flow(y, x, None if is_one(t) else t) for x, t in zip(inputs, tangents, strict=True)]
    return None


def is_one(x: Any) -> bool:
    """broadcast_to(1.0, (3,)) → True: whether a term is a one, or an array of them."""
    if is_term(x) and type(x.op) is BroadcastTo:
        return is_one(x.rands[0])
    return is_constant(x) and x.op.value.size > 0 and bool(np.all(x.op.value == 1))


class Brief(Picture):
    """gradient(y, 1.0, x)[0] → ∂[y]/∂x: a picture with shells, and with marks on some terms and variables."""

    def __init__(self, roots: Sequence[Any], width: int, limit: int, marks: Marks | None = None):
        self._marks = marks or {}
        super().__init__(roots, width, limit)

    def operands(self, node: Term) -> tuple[Any, ...]:
        found = flows(node)
        if found is not None:
            return tuple(dict.fromkeys([part for flow in found for part in flow if part is not None]))
        return node.rands[:OPERANDS]

    def label(self, variable: Any) -> str:
        return _unsigned(super().label(variable))

    def text(self, part: Any) -> Expr:
        expr = super().text(part)
        numbers = self._marks.get(part) or (self._marks.get(self.fused(part), ()) if is_term(part) else ())
        return expr._replace(text=signed(expr.text, *numbers))

    def definition(self, node: Term) -> Expr:
        found = flows(node)
        if found is not None:
            parts = [self._flow(flow) for flow in found]
            return parts[0] if len(parts) == 1 else Expr(" + ".join([p.within(SUM) for p in parts]), SUM)
        if len(node.rands) > OPERANDS:
            shown = ", ".join([self.text(x).text for x in self.operands(node)])
            return Expr(f"{node.op.name}({shown}, … {len(node.rands) - OPERANDS} more)")
        expr = super().definition(node)
        if type(node.op) is Constant or not node.rands:
            return expr._replace(text=_unsigned(expr.text))
        # A variable among the axes stands in the template, not in one of its holes.
        props = [x for x in self.fused(node).op._props() if isinstance(x, Unknown) and x in self._marks]
        for variable in props:
            name = self.label(variable)
            text = re.sub(rf"={re.escape(name)}(?!\w)", f"={signed(name, *self._marks[variable])}", expr.text)
            expr = expr._replace(text=text)
        return expr

    def _flow(self, flow: Flow) -> Expr:
        inner = f"∂[{self.text(flow.value).text}]/∂{self.text(flow.by).within(ATOM)}"
        shell = signed(inner, SHELL)
        if flow.factor is None:
            return Expr(shell)
        return Expr(f"{self.text(flow.factor).within(PRODUCT)} · {shell}", PRODUCT)


def brief(terms: Any, width: int = 90, limit: int = APPLICATIONS, marks: Marks | None = None) -> Lines:
    """exp(x) + y, {x: (1,)} → "exp(⟨x⟩₁) + y": the text of one or several terms, with marks on parts."""
    roots = roots_of(terms)
    told = Brief(roots, width, limit, marks).told(roots)
    lines, where = ([shortened(line, LONGEST) for line in some] for some in told)
    return Lines(lines, where, cut_of(roots, limit))


def roots_of(terms: Any) -> list[Any]:
    """np.exp(x) → [exp(x)]: the terms of a symbolic array, a term or a pattern, or of several."""
    if is_term(terms) or isinstance(terms, (Unknown, Symbolic)):
        terms = [terms]
    return [as_term(x) for x in terms]


def cut_of(roots: Sequence[Any], limit: int) -> str:
    """100,000 operations → "60 of 100,000 operations are shown, …"; nothing of terms that are shown whole."""
    count = applications(*roots)
    return f"{limit:,} of {count:,} operations are shown, those nearest to the root" if count > limit else ""


def applications(*roots: Any) -> int:
    """exp(x) + 1 → 2: the number of applications below the roots."""
    return sum(1 for node in reachable(*roots) if node.rands)


def signed(text: str, *numbers: int) -> str:
    """ "x", 1 → "⟨x⟩₁": text within the signs of marks, those of the first number outside."""
    opening = "".join([chr(min(_OPEN + n, _LAST)) for n in numbers])
    return f"{opening}{text}{_CLOSE * len(numbers)}"


def painted(text: str, plain: Callable[[str], str], paint: Callable[[str, int], str]) -> str:
    """Return a text whose marked parts were painted, inner ones first, and whose other parts were made `plain`.

    >>> painted(signed("x", 1) + " < y", str.upper, lambda text, n: f"[{text}|{n}]")
    '[X|1] < Y'
    """
    stack: list[tuple[int, list[str]]] = [(-1, [])]
    # A text that was cut may not close what it opens, and close what it does not open.
    for piece in re.split("([\ue000-\uf8ff])", text + _CLOSE * len(re.findall("[\ue001-\uf8ff]", text))):
        if piece == _CLOSE:
            if len(stack) > 1:
                n, inner = stack.pop()
                stack[-1][1].append(paint("".join(inner), n))
        elif len(piece) == 1 and _OPEN <= ord(piece) <= _LAST:
            stack.append((ord(piece) - _OPEN, []))
        else:
            stack[-1][1].append(plain(piece))
    return "".join(stack[0][1])


def unpainted(text: str) -> str:
    """ "exp(⟨x⟩₁)" → "exp(x)": a text without its marks."""
    return _unsigned(text, "")


def _unsigned(text: str, instead: str = "�") -> str:
    return re.sub("[\ue000-\uf8ff]", instead, text)
