"""Which arrays are dead at which line, and which results may therefore be written into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relgrad.compile.lines import STRETCHED, Line, Lines
from relgrad.compile.operands import is_large, is_ufunc
from relgrad.leaf import Input
from relgrad.op import Constant, Project
from relgrad.syntax import Template, slots, template
from relgrad.term import Term, subterms
from relgrad.types import ArrayType

OPERATORS = ("BinOp", "UnaryOp", "Compare")
"""Templates that are no calls, and whose results are fresh arrays."""
FREE = 1 << 17
"""Dead arrays of this many bytes are freed: beyond it, the allocator asks the system for fresh pages."""


def is_view(node: Term, whole: Template) -> bool:
    """Whether a result may share memory with an operand: x[1:], xᵀ: yes; x + y, np.exp(x): no.

    A `view_map` tells; without one, operators, ufuncs and kernels are known to return fresh arrays.
    """
    if node.op.view_map is not None:
        return bool(node.op.view_map) and whole.head != STRETCHED
    return not (whole.head in OPERATORS or is_ufunc(node) or whole.head in (*node.op.imports, STRETCHED))


class Ownership:
    """xᵀ → {x}, x + y → {x + y}: the arrays that a term's value lives in, each named by the term that allocates it."""

    def __init__(self, lines: Lines, roots: Sequence[Term]):
        """A fresh array owns itself; a view has its operands' owners, and is stiff if that or these are read-only."""
        self._owners: dict[Term, frozenset[Term]] = {}
        self._stiff: set[Term] = set()
        self._fresh: set[Term] = set()
        for node in subterms(*roots):
            whole = lines.templates.get(node)
            # The outputs of an op that returns fresh arrays are arrays of their own.
            fresh = self._owners[node.rands[0]] == {node.rands[0]} if type(node.op) is Project else False
            computed = lines.computed(node)
            if fresh or (type(node.op) is not Project and (whole is None or not is_view(computed, whole))):
                self._owners[node] = frozenset([node])
                if whole is not None and isinstance(node.type, ArrayType):
                    self._fresh.add(node)
                continue
            # A view without operands shows nobody's memory: such a term owns itself, but is not fresh.
            owners = [self._owners[x] for x in node.rands] or [frozenset([node])]
            self._owners[node] = frozenset().union(*owners)
            if (
                (whole is not None and computed.op.read_only)
                or not node.rands
                or any(x in self._stiff for x in node.rands)
            ):
                self._stiff.add(node)

    def of(self, node: Term) -> frozenset[Term]:
        return self._owners[node]

    def private(self, node: Term) -> bool:
        """Whether the caller may get the value as it is: a writable array that nobody else holds."""
        return node not in self._stiff and not any(
            type(o.op) in (Input, Constant) for o in self._owners[node]
        )

    def writable(self, node: Term) -> bool:
        """Whether a term's value is a large array made for it alone."""
        return node in self._fresh and is_large(node)


def plan(lines: Lines, ownership: Ownership, roots: Sequence[Term]) -> None:
    """exp_x = np.exp(x); t = np.sin(exp_x) → np.sin(exp_x, out=exp_x): large results are written into dead arrays.

    Other large arrays that are dead are freed: del t.
    """
    body = lines.lines
    last, names = _lifetimes(lines, ownership, roots)
    dying: dict[int, list[Term]] = {}
    for owner, i in last.items():
        if owner in names and ownership.writable(owner):
            dying.setdefault(i, []).append(owner)
    # Of the names of an array, some stand for views of it.
    holder = {line.node: line.targets[0] for line in body}
    pool: dict[Any, list[Term]] = {}
    claimed: set[Term] = set()
    for i, line in enumerate(body):
        dead = [owner for owner in dying.get(i, ()) if owner is not line.node]
        if _takes_out(line):
            same = [owner for owner in dead if owner.type == line.node.type]
            chosen = next((x for x in line.rands if x in same), None) or next(iter(same), None)
            if chosen is None and pool.get(line.node.type):
                chosen = pool[line.node.type].pop()
            if chosen is not None:
                claimed.add(chosen)
                line.template = _into(line, holder[chosen])
                names[line.node] = names[chosen] + names[line.node]
        for owner in dead:
            if owner not in claimed:
                pool.setdefault(owner.type, []).append(owner)
    gone: set[str] = set()
    busy = [i for i, line in enumerate(body) if not is_view(lines.computed(line.node), line.template)]
    for i, owners in sorted(dying.items()):
        if not busy or i >= busy[-1]:
            break
        for owner in owners:
            if owner not in claimed and owner.type.size * owner.type.dtype.itemsize >= FREE:
                body[i].dead += [name for name in names[owner] if name not in gone]
                gone.update(names[owner])


def _lifetimes(
    lines: Lines, ownership: Ownership, roots: Sequence[Term]
) -> tuple[dict[Term, int], dict[Term, list[str]]]:
    """t = x + y; u = t.T; z = u·2 → z, [t, u] for t: the last line that reads an array, and the names that hold it."""
    last: dict[Term, int] = {}
    names: dict[Term, list[str]] = {}
    for i, line in enumerate(lines.lines):
        for node in line.reads:
            for owner in ownership.of(node):
                last[owner] = i
        for owner in ownership.of(line.node):
            last[owner] = i
            # A term that is written into a longer line has no name: nothing can be written into its array.
            if owner is line.node or owner in names:
                names.setdefault(owner, []).extend(name for name in line.targets if name != "_")
    for root in roots:
        for node in lines.reads(root):
            for owner in ownership.of(node):
                last[owner] = len(lines.lines)
    return last, names


def _takes_out(line: Line) -> bool:
    """Whether a line is one large ufunc call to which `out=` may be given: np.exp(x): yes; np.exp(x) + 1: no."""
    if not is_ufunc(line.node) or not is_large(line.node) or line.node.op.function.nout != 1:
        return False
    if line.template.head not in OPERATORS:
        return line.template.pieces[-1].endswith(")")
    # NumPy itself writes the result of an operator into an operand that has no name.
    inline = any(
        not x.text.isidentifier() and is_large(r) for x, r in zip(line.operands, line.rands, strict=True)
    )
    return not inline and getattr(np, line.node.op.function.__name__, None) is line.node.op.function


def _into(line: Line, name: str) -> Template:
    """x + y → np.add(x, y, out=t);    np.exp(x) → np.exp(x, out=t)"""
    if line.template.head in OPERATORS:
        operands = ", ".join(slots(len(line.rands)))
        return template(f"np.{line.node.op.function.__name__}({operands}, out={name})")
    *pieces, end = line.template.pieces
    return replace(line.template, pieces=(*pieces, f"{end[:-1]}, out={name})"))
