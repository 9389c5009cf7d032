"""Terms to lines of code: each distinct term once, those used once written into the line that uses them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relgrad.calculus.series import Series
from relgrad.compile.callables import Callables
from relgrad.compile.operands import dropped, is_large, is_scalar, is_ufunc, literals, supplied
from relgrad.errors import OpError
from relgrad.leaf import Input
from relgrad.op import Constant, Project
from relgrad.syntax import ATOM, Expr, Names, Template, slots, template
from relgrad.term import Term, subterms
from relgrad.types import TupleType

WIDTH = 84
STRETCHED = "np.full"
"""The call that a stretched number is written as where it must be writable, and so not as a view."""
DEEP = 3
"""No expression nests further: deep nesting is hard to read, and CPython's parser recurses on it."""
MANY = 4
"""No line applies more ops than this."""


@dataclass(slots=True)
class Line:
    """One assignment: which term it computes, how, and the named terms that it reads."""

    node: Term
    targets: list[str]
    template: Template
    operands: list[Expr]
    rands: tuple[Term, ...]
    reads: frozenset[Term]
    dead: list[str] = field(default_factory=list)

    def expression(self) -> Expr:
        return self.template.fill(self.operands)


@dataclass(slots=True)
class _Inline:
    """A term that waits for the line which uses it."""

    line: Line
    expr: Expr
    depth: int
    count: int


class Lines:
    """Write the lines for some roots; the outcome is `lines`, and `refer(root)` for each root."""

    def __init__(
        self,
        roots: Sequence[Term],
        inputs: Mapping[Term, str],
        names: Names,
        callables: Callables,
        formulas: dict[Series, tuple[str, list[str]]] | None = None,
    ):
        """Each term is written once, operands first; one that is used once waits for the line that uses it."""
        self.names, self.callables = names, callables
        self.formulas = {} if formulas is None else formulas
        """The functions that series are of, as names and lines: they stand before all other lines."""
        self.lines: list[Line] = []
        self.constants: dict[str, np.ndarray] = {}
        self.templates: dict[Term, Template] = {}
        self._named: dict[Term, Expr] = {node: Expr(name) for node, name in inputs.items()}
        self._waiting: dict[Term, _Inline] = {}
        self._rands: dict[Term, tuple[Any, ...]] = {}
        self._uses: dict[Term, int] = {}
        self._read: set[Any] = set()
        self._fused: dict[Term, Term] = {}
        self._root_set = set(roots)
        nodes = self._live(roots)
        self._outputs: dict[Term, list[Term]] = {}
        for node in nodes:
            if type(node.op) is Project:
                self._outputs.setdefault(node.rands[0], []).append(node)
        for node in nodes:
            self._visit(node)

    def _live(self, roots: Sequence[Term]) -> list[Term]:
        """The terms that are needed, operands first, with counts of their uses; squeeze(Σ x) becomes one line."""
        order = list(subterms(*roots))
        uses = self._uses
        for root in roots:
            uses[root] = uses.get(root, 0) + 1
        for node in reversed(order):
            if node not in uses or node in self._named:
                continue
            rands = self._rands[node] = supplied(node)
            for rand in rands:
                uses[rand] = uses.get(rand, 0) + 1
        for node in order:
            reduction = dropped(node)
            if reduction is not None and node in uses and uses[reduction] == 1:
                self._fused[node] = reduction
                self._rands[node] = self._rands[reduction]
                del uses[reduction]
        return [node for node in order if node in uses and node not in self._named]

    def _visit(self, node: Term) -> None:
        """A constant array → a name for it;    an output of a known op → nothing;    any other term → its line."""
        op = node.op
        if type(op) is Constant:
            if node.type.ndim or self._is_root(node):
                name = self.names.take("c", numbered=True)
                self.constants[name] = op.value
                self._named[node] = Expr(name)
            return
        if type(op) is Input:
            raise OpError(
                f"the program depends on {op}, which is none of its arguments",
                cause="a symbolic array of another trace was used in it",
                cure="pass the array as an argument",
            )
        if node in self._named:  # an output of an op that has several
            return
        self._apply(node, self._rands[node])

    def _is_root(self, node: Term) -> bool:
        return node in self._root_set

    def _apply(self, node: Term, rands: tuple[Term, ...]) -> None:
        """exp(x + y) → a line of its own, or a text that waits to be written into the one line that reads the term."""
        fused = self._fused.get(node)
        if isinstance(op := (fused or node).op, Series):
            text = self._series(op, *slots(1))
        else:
            text = op.source(fused or node, slots(len(rands)))
        if fused is not None:
            text = _KEEPDIMS.sub("", text)
            if rands[0].type.ndim == 1 and text.startswith("np."):
                text = text.replace(", axis=-1)", ")")
        if text is None:
            text = self.callables.call(node)
        elif self._is_root(node) and rands and rands[0].type.ndim == 0:
            # A result must be writable.
            text = _BROADCAST.sub(rf"{STRETCHED}(\2, \1)", text)
        whole = template(text)
        self.templates[node] = whole
        waiting = [x for x in rands if x in self._waiting]
        for x in self._unfit(node, whole, rands, waiting):
            self._flush(x)
        inline = [self._waiting.pop(x) for x in rands if x in self._waiting]
        by_term = {i.line.node: i.expr for i in inline}
        exprs = literals(
            node, rands, [None if is_scalar(x) else by_term.get(x) or self._named[x] for x in rands]
        )
        if whole.head == STRETCHED and (plain := _NUMBER.fullmatch(exprs[0].text)):
            exprs[0] = Expr(plain[1], ATOM)
        self._read.update(rands)
        reads = frozenset([x for x in rands if x in self._named and x not in by_term])
        line = Line(node, [], whole, exprs, rands, reads.union(*[i.line.reads for i in inline]))
        if isinstance(node.type, TupleType):
            self._emit_several(line)
            return
        entry = _Inline(line, line.expression(), 0, 0)
        if self._uses[node] == 1 and (not self._is_root(node) or self._may_end(entry)):
            entry.depth = 1 + max((i.depth for i in inline), default=0)
            entry.count = 1 + sum(i.count for i in inline)
            self._waiting[node] = entry
        else:
            self._emit(line)

    def _series(self, op: Series, x: str) -> str:
        """near(x, 0.0, 0.1, 0, 2, (1.0, …), formula_1): the text of a series, with its formula as a function."""
        if op not in self.formulas:
            name, z = self.names.take("formula", numbered=True), self.names.take("z", numbered=True)
            inner = Lines([op.body], {op.argument: z}, self.names, self.callables, self.formulas)
            self.constants |= inner.constants
            body = [f"{line.targets[0]} = {line.expression().text}" for line in inner.lines]
            self.formulas[op] = name, [f"def {name}({z}):", *body, f"return {inner.refer(op.body).text}"]
        radius, power, step, coefficients = op.terms
        listed = f"({', '.join(map(repr, coefficients))},)"
        return f"near({x}, {op.point!r}, {radius!r}, {power}, {step}, {listed}, {self.formulas[op][0]})"

    def _may_end(self, entry: _Inline) -> bool:
        """Whether a root may be written into the return statement."""
        if len(self._root_set) == 1 or entry.line.template.head in ("np.broadcast_to", STRETCHED):
            return True
        # Arrays that the return statement reads stay in memory until then.
        return len(entry.expr.text) <= 32 and not any(map(is_large, entry.line.reads))

    def _unfit(
        self, node: Term, whole: Template, rands: tuple[Term, ...], waiting: list[Term]
    ) -> Iterable[Term]:
        """The waiting operands that must have lines of their own: used twice, deep, long, or worth writing into."""
        entries = {x: self._waiting[x] for x in waiting}
        kept = []
        for i, x in enumerate(rands):
            if x not in entries:
                continue
            entry = entries[x]
            if whole.count(i) == 1 and entry.depth < DEEP and not _reusable(node, whole, x):
                kept.append(x)
        length = sum(map(len, whole.pieces)) + 12
        length += sum(len(self._named[x].text) if x in self._named else 8 for x in rands)
        kept.sort(key=lambda x: (entries[x].count, len(entries[x].expr.text)))
        fit: set[Term] = set()
        count = 1
        for x in kept:
            entry = entries[x]
            if count + entry.count <= MANY and length + len(entry.expr.text) <= WIDTH:
                fit.add(x)
                count += entry.count
                length += len(entry.expr.text)
        return [x for x in dict.fromkeys(rands) if x in entries and x not in fit]

    def _flush(self, node: Term) -> None:
        self._emit(self._waiting.pop(node).line)

    def _emit(self, line: Line) -> None:
        name = self._name(line)
        line.targets = [name]
        self._named[line.node] = Expr(name)
        self.lines.append(line)

    def _emit_several(self, line: Line) -> None:
        """w, v = np.linalg.eigh(a): a line with a target for each output, "_" for one that is not used."""
        node = line.node
        outputs = self._outputs.get(node, [])
        if self._uses[node] > len(outputs):
            self._emit(line)
            for output in outputs:
                self._named[output] = Expr(f"{line.targets[0]}[{output.op.index}]")
            return
        wishes = getattr(node.op, "output_names", None) or [f"{node.op.name}_{i + 1}" for i in range(99)]
        line.targets = ["_"] * len(node.type.outputs)
        for output in sorted(outputs, key=lambda x: x.op.index):
            line.targets[output.op.index] = self.names.take(wishes[output.op.index])
            self._named[output] = Expr(line.targets[output.op.index])
        self.lines.append(line)

    def _name(self, line: Line) -> str:
        """exp(x) → exp_x, x + y → t1, matmul(a, b) → matmul_a: the name of a line's result."""
        head = line.template.head
        label = head.removeprefix("np.").rpartition(".")[2] if "(" not in head else ""
        if head in ("BinOp", "UnaryOp", "Compare", "Subscript", "Attribute", ""):
            return self.names.take("t", numbered=True)
        if not line.node.op.named and head != STRETCHED:
            return self.names.take("t", numbered=True)
        subjects = [e.text for e, x in zip(line.operands, line.rands, strict=True) if not is_scalar(x)]
        if subjects and subjects[0].isidentifier() and len(label) + len(subjects[0]) <= 12:
            return self.names.take(f"{label}_{subjects[0]}")
        return self.names.take(label, numbered=True)

    def computed(self, node: Term) -> Term:
        """squeeze(Σ x) → Σ x, in one line that drops the axes; else the term itself, whose line that is."""
        return self._fused.get(node, node)

    def refer(self, root: Term) -> Expr:
        """Return the expression for a root: its name, or how it is computed if no line does it."""
        entry = self._waiting.get(root)
        return self._named[root] if entry is None else entry.expr

    def reads(self, root: Term) -> frozenset[Term]:
        """Return the named terms that the expression for a root reads."""
        entry = self._waiting.get(root)
        return frozenset([root]) if entry is None else entry.line.reads

    def forget(self, node: Term) -> None:
        """Drop a constant that nothing but results use."""
        if node not in self._read:
            self.constants.pop(self._named[node].text, None)


_NUMBER = re.compile(r"np\.float64\(([^()]*)\)")
_BROADCAST = re.compile(r"^np\.broadcast_to\((_slot0_), (.*)\)$")
_KEEPDIMS = re.compile(r",? ?keepdims=True")


def _reusable(node: Term, whole: Template, x: Term) -> bool:
    """Whether an operand should have a name because the result can then be written into it: np.exp(x), x large: yes.

    Where the ufunc is spelled as an operator, NumPy does the same by itself with nameless operands.
    """
    return (
        is_ufunc(node) and whole.head not in ("BinOp", "UnaryOp") and is_large(node) and x.type == node.type
    )
