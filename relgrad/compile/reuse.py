"""Which arrays are dead at which line, and which results may therefore be written into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relgrad.compile.lines import Line, Lines
from relgrad.compile.operands import is_large, is_ufunc
from relgrad.leaf import Input
from relgrad.op import Constant, Project
from relgrad.syntax import Template, slots, template
from relgrad.term import Term, subterms
from relgrad.types import ArrayType

FREE = 1 << 17
"""Dead arrays of this many bytes are freed: beyond it, the allocator asks the system for fresh pages."""

_VIEW_NAMES = """
    asanyarray asarray ascontiguousarray astype atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to
    diag diagonal expand_dims flip fliplr flipud hsplit imag matrix_transpose moveaxis permute_dims ravel real
    real_if_close require reshape rollaxis rot90 sliding_window_view split squeeze swapaxes transpose unstack
    view vsplit
"""
_VIEWS = frozenset(_VIEW_NAMES.split())
_STIFF = frozenset(["broadcast_to", "broadcast_arrays", "diag", "diagonal", "einsum"])
"""Views that NumPy makes read-only."""


def is_view(node: Term, whole: Template) -> bool:
    """Whether the result may share memory with an operand.

    A user's own op is trusted only if it declares a `view_map`, as Theano's and Aesara's ops do.
    """
    declared = getattr(node.op, "view_map", None)
    if declared is not None:
        return bool(declared)
    head = whole.head
    if head in ("BinOp", "UnaryOp", "Compare") or is_ufunc(node):
        return False
    if head == "np.einsum":
        return len(node.rands) == 1
    if head.startswith("np."):
        return head.rpartition(".")[2] in _VIEWS
    # The functions of relgrad.kernels return fresh arrays; anything else may not.
    return head not in node.op.imports


class Ownership:
    """Which arrays a term's value lives in; an array is named by the term that allocates it."""

    def __init__(self, lines: Lines, roots: Sequence[Term]):
        self._owners: dict[Term, frozenset[Term]] = {}
        self._stiff: set[Term] = set()
        self._fresh: set[Term] = set()
        for node in subterms(*roots):
            whole = lines.templates.get(node)
            # The outputs of an op that returns fresh arrays are arrays of their own.
            fresh = self._owners[node.rands[0]] == {node.rands[0]} if type(node.op) is Project else False
            if fresh or (type(node.op) is not Project and (whole is None or not is_view(node, whole))):
                self._owners[node] = frozenset([node])
                if whole is not None and isinstance(node.type, ArrayType):
                    self._fresh.add(node)
                continue
            # What a view without operands shows is nobody's: it owns itself, but is not fresh.
            owners = [self._owners[x] for x in node.rands] or [frozenset([node])]
            self._owners[node] = frozenset().union(*owners)
            if (
                (whole is not None and whole.head.rpartition(".")[2] in _STIFF)
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
    """Let large elementwise results be written into dead arrays, and free what else is large and dead."""
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
    busy = [i for i, line in enumerate(body) if not is_view(line.node, line.template)]
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
    """Return for each array the last line that reads it, and the names that hold it or a view of it."""
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
    """Whether the line is one large ufunc call to which `out=` can be given with profit."""
    if not is_ufunc(line.node) or not is_large(line.node) or line.node.op.function.nout != 1:
        return False
    if line.template.head not in ("BinOp", "UnaryOp", "Compare"):
        return line.template.pieces[-1].endswith(")")
    # NumPy itself writes the result of an operator into an operand that has no name.
    inline = any(
        not x.text.isidentifier() and is_large(r) for x, r in zip(line.operands, line.rands, strict=True)
    )
    return not inline and getattr(np, line.node.op.function.__name__, None) is line.node.op.function


def _into(line: Line, name: str) -> Template:
    """Return the template of a line with `out=name`."""
    if line.template.head in ("BinOp", "UnaryOp", "Compare"):
        operands = ", ".join(slots(len(line.rands)))
        return template(f"np.{line.node.op.function.__name__}({operands}, out={name})")
    *pieces, end = line.template.pieces
    return replace(line.template, pieces=(*pieces, f"{end[:-1]}, out={name})"))
