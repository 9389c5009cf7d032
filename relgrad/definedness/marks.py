"""Marks: which entries of a term NaN of an argument reaches, as axes of the one that are axes of the other.

A mark (atom, pattern) on a term t says: t[i] is NaN if atom[j] is for a j that agrees with i, j[pattern[k]] = i[k] for
every axis k whose pattern is an axis of the atom. Sums forget an axis, products keep it: x marks the entries of
`x / x.sum(axis=1)`, whose axes are kept, with (0, None), each entry of a row by all of the row, and with (0, 1).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from relgrad.key import interned
from relgrad.leaf import Input
from relgrad.ops.einsum import Einsum
from relgrad.ops.matmul import MatMul
from relgrad.ops.shaping import Transpose
from relgrad.ops.structure import Expand, Squeeze
from relgrad.term import Term, is_term
from relgrad.types import ArrayType

Under = frozenset[Any]
Labels = Sequence[Hashable]


class Mark(NamedTuple):
    """(x, (0, None)): t[i, j] is NaN if x[i, k] is, for some k: an atom, a pattern, and conditions for that to hold."""

    atom: Any
    pattern: tuple[int | None, ...]
    under: Under = frozenset()


Marks = frozenset[Mark]
NONE: Marks = frozenset()
MANY = 48
"""More marks than these are not told apart."""


def covered(mark: Mark, marks: Iterable[Mark]) -> bool:
    """Whether a mark is reached by another for certain: (x, (0, 1)) by (x, (0, None)): yes; the reverse: no."""
    return any(
        other.atom == mark.atom
        and other.under <= mark.under
        and all(
            p is None or p == q for p, q in zip(other.pattern, lifted(mark, len(other.pattern)), strict=True)
        )
        for other in marks
    )


def lifted(mark: Mark, rank: int) -> tuple[int | None, ...]:
    """(0, 1), 3 → (None, 0, 1);    (0, 1), 1 → (1,): a mark's pattern on a broadcast term, or on its trailing axes."""
    return (None,) * (rank - len(mark.pattern)) + mark.pattern[max(len(mark.pattern) - rank, 0) :]


def origins(marks: Iterable[Mark]) -> Iterator[Term]:
    """Marks of x, and of op(x, y) as an atom → x, y: the arguments, constants and tests that marks come from."""
    stack, seen = list(marks), set()
    while stack:
        atom = stack.pop().atom
        if is_term(atom):
            yield atom
        else:
            inner = [part for part in atom.parts if isinstance(part, frozenset) and part not in seen]
            seen.update(inner)
            for part in inner:
                stack.extend(part)


def is_test(atom: Any) -> bool:
    """Whether an atom is the test of a domain."""
    return is_term(atom) and type(atom.op) is not Input and atom.type.dtype.kind == "b"


def own_mark(atom: Any, shape: Sequence[int | None]) -> Mark:
    """x of shape (3, 1, 4) → (x, (0, None, 2)): the mark of an atom on itself."""
    return Mark(atom, tuple([None if n == 1 else i for i, n in enumerate(shape)]))


def everywhere(marks: Iterable[Mark], x: Term) -> Marks:
    """(x, (0, 1)) → (x, (None, None)): marks of the same origins, by which each reaches all entries of a term."""
    pattern = (None,) * x.type.ndim if isinstance(x.type, ArrayType) else ()
    return frozenset([Mark(atom, pattern) for atom in origins(marks)])


def lift(marks: Iterable[Mark], rank: int) -> Marks:
    """(x, (0,)), 2 → (x, (None, 0)): marks on a term that broadcasting has made of another."""
    return frozenset([m if len(m.pattern) == rank else Mark(m.atom, lifted(m, rank), m.under) for m in marks])


def along(marks: Iterable[Mark], axes: Sequence[int]) -> Marks:
    """(x, (0, 1)), (−1,) → (x, (0, None)): marks on entries that are tied along axes."""
    return frozenset(
        [
            _with(m, [None if k - len(m.pattern) in axes else p for k, p in enumerate(m.pattern)], axes)
            for m in marks
        ]
    )


def summed(marks: Iterable[Mark], v: Term, x: Term) -> Marks:
    """(x, (0, 1)) on (3, 4), to (1, 4) → (x, (None, 1)): marks on a cotangent summed down to an operand's shape."""
    if x.type.shape == v.type.shape:
        return frozenset(marks)
    rank = x.type.ndim
    kept = [n != 1 or m == 1 for n, m in zip(x.type.shape, v.type.shape[v.type.ndim - rank :], strict=True)]
    shape = (x.type.shape, v.type.shape)
    return frozenset(
        [
            _with(m, [p if k else None for k, p in zip(kept, lifted(m, rank), strict=True)], shape)
            for m in marks
        ]
    )


def relabelled(marks: Iterable[Mark], own: Labels, output: Labels) -> Marks:
    """(x, (0, 1)), ij → ji: (x, (1, 0)): marks on an array with an operand's axes, which bear the same labels."""
    return frozenset(
        [
            _with(
                m,
                [m.pattern[own.index(label)] if label in own else None for label in output],
                (tuple(own), tuple(output)),
            )
            for m in marks
        ]
    )


def _with(mark: Mark, pattern: Sequence[int | None], how: Hashable) -> Mark:
    """Return a mark with another pattern; its conditions are those of other entries from there on."""
    under: Under = frozenset([interned((how, mark.under))]) if mark.under else mark.under
    return Mark(mark.atom, tuple(pattern), under)


def labels_of(node: Term) -> tuple[list[Labels], Labels] | None:
    """a @ b → [ij, jk], ik;    aᵀ → [01], 10: the labels of the axes of operands and result; None for other ops."""
    op, rank = node.op, node.type.ndim
    if isinstance(op, Expand):
        output: Labels = range(rank)
        return [[k for k in output if k - rank not in op.axes]], output
    if isinstance(op, Squeeze):
        whole = range(node.rands[0].type.ndim)
        return [whole], [k for k in whole if k - len(whole) not in op.axes]
    if isinstance(op, Transpose):
        return [range(rank)], [a + rank for a in op.full_order(rank)]
    if isinstance(op, MatMul):
        ranks = [x.type.ndim - 2 for x in node.rands]
        batch = [range(-n, 0) for n in ranks]
        return [[*batch[0], "i", "j"], [*batch[1], "j", "k"]], [*range(2 - rank, 0), "i", "k"]
    if isinstance(op, Einsum) and all(len(set(own)) == len(own) for own in op.operands):
        return list(op.operands), op.output
    return None
