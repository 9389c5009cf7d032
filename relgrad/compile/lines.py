"""Terms to lines of code: each distinct term once, those used once written into the line that uses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relgrad.compile.callables import Callables
from relgrad.compile.literals import operands as with_literals
from relgrad.op import Constant, Input, Project, is_constant
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand
from relgrad.syntax import Expr, Names, Template, slots, template
from relgrad.term import Term, subterms
from relgrad.types import ArrayType, TupleType, broadcast_shapes

WIDTH = 84
DEEP = 3
"""No expression nests further: deep nesting is hard to read, and CPython's parser recurses on it."""
MANY = 4
"""No line applies more ops than this."""
LARGE = 4096
"""Arrays of this many entries or more are worth writing into a dead one."""


@dataclass(slots=True)
class Line:
    """One assignment: which term it computes, how, and the named terms that it reads."""

    node: Term
    targets: list[str]
    template: Template
    operands: list[Expr]
    rands: tuple[Term, ...]
    reads: frozenset[Term]
    out: str = ""
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

    def __init__(self, roots: Sequence[Term], inputs: Mapping[Term, str], names: Names, callables: Callables):
        self.names, self.callables = names, callables
        self.lines: list[Line] = []
        self.constants: dict[str, np.ndarray] = {}
        self.templates: dict[Term, Template] = {}
        self._named: dict[Term, Expr] = {node: Expr(name) for node, name in inputs.items()}
        self._waiting: dict[Term, _Inline] = {}
        self._rands: dict[Term, tuple[Any, ...]] = {}
        self._uses: dict[Term, int] = {}
        self._root_set = set(roots)
        nodes = self._live(roots)
        self._outputs: dict[Term, list[Term]] = {}
        for node in nodes:
            if type(node.op) is Project:
                self._outputs.setdefault(node.rands[0], []).append(node)
        for node in nodes:
            self._visit(node)

    def _live(self, roots: Sequence[Term]) -> list[Term]:
        """Return the terms that are needed, operands first, and count their uses."""
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
        return [node for node in order if node in uses and node not in self._named]

    def _visit(self, node: Term) -> None:
        op = node.op
        if type(op) is Constant:
            if node.type.ndim or self._is_root(node):
                name = self.names.take("c", numbered=True)
                self.constants[name] = op.value
                self._named[node] = Expr(name)
            return
        if type(op) is Input:
            raise KeyError(f"no argument is given for the input {op}")
        if node in self._named:  # an output of an op that has several
            return
        self._apply(node, self._rands[node])

    def _is_root(self, node: Term) -> bool:
        return node in self._root_set

    def _apply(self, node: Term, rands: tuple[Term, ...]) -> None:
        text = node.op.source(node, slots(len(rands)))
        whole = template(text if text is not None else self.callables.call(node))
        self.templates[node] = whole
        waiting = [x for x in rands if x in self._waiting]
        for x in self._unfit(node, whole, rands, waiting):
            self._flush(x)
        inline = [self._waiting.pop(x) for x in rands if x in self._waiting]
        by_term = {i.line.node: i.expr for i in inline}
        exprs = with_literals(
            node, rands, [None if is_scalar(x) else by_term.get(x) or self._named[x] for x in rands]
        )
        reads = frozenset([x for x in rands if x in self._named and x not in by_term])
        line = Line(node, [], whole, exprs, rands, reads.union(*[i.line.reads for i in inline]))
        if isinstance(node.type, TupleType):
            self._emit_several(line)
            return
        if self._uses[node] == 1 and (len(self._root_set) == 1 or not self._is_root(node)):
            depth = 1 + max((i.depth for i in inline), default=0)
            count = 1 + sum(i.count for i in inline)
            self._waiting[node] = _Inline(line, line.expression(), depth, count)
        else:
            self._emit(line)

    def _unfit(
        self, node: Term, whole: Template, rands: tuple[Term, ...], waiting: list[Term]
    ) -> Iterable[Term]:
        """Return the waiting operands that must have lines of their own, lest this one becomes unreadable."""
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
        op = line.node.op
        if op.name in _PLAIN or line.template.head in ("BinOp", "UnaryOp"):
            return self.names.take("t", numbered=True)
        label = op.name.removeprefix("reduce_")
        subjects = [e.text for e, x in zip(line.operands, line.rands, strict=True) if not is_scalar(x)]
        if subjects and subjects[0].isidentifier() and len(label) + len(subjects[0]) <= 14:
            return self.names.take(f"{label}_{subjects[0]}", label)
        return self.names.take(label)

    def refer(self, root: Term) -> Expr:
        """Return the expression for a root: its name, or how it is computed if no line does it."""
        entry = self._waiting.get(root)
        return self._named[root] if entry is None else entry.expr

    def reads(self, root: Term) -> frozenset[Term]:
        """Return the named terms that the expression for a root reads."""
        entry = self._waiting.get(root)
        return frozenset([root]) if entry is None else entry.line.reads

    def settle(self, root: Term) -> None:
        """Give a root that waits a line of its own."""
        if root in self._waiting:
            self._flush(root)


_PLAIN = frozenset(("add", "subtract", "multiply", "divide", "true_divide", "power", "negative", "matmul"))


def is_scalar(x: Any) -> bool:
    """Whether a term is a constant of rank 0, which is written as a literal."""
    return is_constant(x) and x.type.ndim == 0


def is_large(x: Any) -> bool:
    return isinstance(x.type, ArrayType) and (x.type.size or 0) >= LARGE


def is_ufunc(node: Term) -> bool:
    return bool(node.op.elementwise) and isinstance(getattr(node.op, "function", None), np.ufunc)


def _reusable(node: Term, whole: Template, x: Term) -> bool:
    """Whether an operand should have a name because the result can then be written into it.

    Where the ufunc is spelled as an operator, NumPy does the same by itself with nameless operands.
    """
    return (
        is_ufunc(node) and whole.head not in ("BinOp", "UnaryOp") and is_large(node) and x.type == node.type
    )


def supplied(node: Term) -> tuple[Any, ...]:
    """Return the operands, without the broadcasts and leading axes that an elementwise op's partners supply."""
    rands = node.rands
    if not node.op.elementwise or len(rands) < 2:
        return rands
    if not any(isinstance(x.op, (Expand, BroadcastTo, BroadcastLike)) for x in rands):
        return rands
    changed = list(rands)
    for i, x in enumerate(rands):
        leading = isinstance(x.op, Expand) and x.op.axes == tuple(
            range(-x.type.ndim, -x.type.ndim + len(x.op.axes))
        )
        if not leading and not isinstance(x.op, (BroadcastTo, BroadcastLike)):
            continue
        shapes = [y.type.shape for j, y in enumerate(changed) if j != i]
        try:
            if broadcast_shapes(x.rands[0].type.shape, *shapes) == node.type.shape:
                changed[i] = x.rands[0]
        except ValueError:  # pragma: no cover - type inference has refused such operands before
            continue
    return tuple(changed)
