"""Einstein sums, brought to the simplest op that computes them: a reduction, a product, a matrix product.

What no simpler op computes stays an `Einsum` in normal form: at least two floating operands of one dtype, no
operand names an axis twice, and each axis that is summed belongs to at least two of them.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from relgrad.contract import FRESH, Laws
from relgrad.errors import GradientError, RelationError, ShapeError
from relgrad.implementations import implements
from relgrad.op import as_term, strong
from relgrad.ops.arguments import refuse
from relgrad.ops.expression import Expression
from relgrad.ops.matmul import MatMul, swap, traced
from relgrad.ops.structure import expand, squeeze
from relgrad.term import Term, is_term, term
from relgrad.types import REAL, Interval, Type, array_type

Labels = tuple[Hashable, ...]


class Einsum(Expression):
    """Σ over the axes that the output does not name, of the product of all operands; linear in each.

    `subscripts` is explicit ("ab,bc->ac"), one letter for each axis.
    """

    __props__ = ("subscripts",)
    text = 'np.einsum("{subscripts}", {operands}, optimize=True)'
    grows = True
    cancels = "sum"
    laws = Laws(linear=(0,))
    read_only = True

    def __init__(self, subscripts: str):
        """ij,jk->ik → operands (ij, jk), output ik, linear in each."""
        self.subscripts = subscripts
        left, self.output = subscripts.split("->")
        self.operands = left.split(",")
        self.laws = Laws(linear=tuple(range(len(self.operands))))
        self.view_map = {0: (0,)} if len(self.operands) == 1 else FRESH

    def make_node(self, *inputs: Any) -> Term:
        if not all(is_term(x) and x.ground for x in inputs):
            return term(self, *[strong(as_term(x)) for x in inputs])
        return contract([tuple(labels) for labels in self.operands], list(inputs), tuple(self.output))

    def output_type(self, *types: Any) -> Type:
        extents = _extents([tuple(labels) for labels in self.operands], types)
        dtype = np.result_type(*[t.dtype for t in types])
        return array_type(dtype, [extents[label] for label in self.output])

    def mixes(self, node: Term, i: int) -> tuple[int, ...] | None:
        own = self.operands[i]
        kept = [label == out for label, out in zip(own[::-1], self.output[::-1], strict=False)]
        places = range(-len(own), 0)
        return tuple([a for a in places if -a > len(kept) or not kept[-a - 1] or own.count(own[a]) > 1])

    def L_op(self, inputs: list[Any], outputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        """ij,jk->ik: x̄ = einsum(jk,ik->ij, y, ḡ): each operand's cotangent is an Einstein sum of the others."""
        (g,) = output_gradients
        cotangents = []
        for i, own in enumerate(self.operands):
            others = [*self.operands[:i], *self.operands[i + 1 :], self.output]
            if len(set(own)) < len(own) or not set(own) <= set("".join(others)):
                raise GradientError(
                    f"the gradient of {self} is asked for out of normal form",
                    cause="an axis is named twice by one operand, or summed in one operand alone",
                    cure="build the term with np.einsum or Einsum.make_node, which bring it to normal form",
                )
            factors = [*inputs[:i], *inputs[i + 1 :], g]
            cotangents.append(np.einsum(f"{','.join(others)}->{own}", *factors))
        return cotangents

    def range_of(self, *ranges: Interval) -> Interval:
        if all(x.nonnegative for x in ranges):
            return Interval(0.0, np.inf, all(x.positive for x in ranges))
        return REAL

    def ball(self, *balls: Any) -> Any:
        return np.einsum(self.subscripts, *balls)


def _extents(operands: Sequence[Labels], types: Sequence[Any]) -> dict[Hashable, int | None]:
    """(ij, jk), ((2, 3), (3, 4)) → {i: 2, j: 3, k: 4}:
    the extent of each label; 1 gives way to others, known to unknown.
    """
    extents: dict[Hashable, int | None] = {}
    for labels, type_ in zip(operands, types, strict=True):
        if len(labels) != type_.ndim:
            raise ShapeError(f"einsum: {len(labels)} subscripts for an operand of shape {type_.shape}")
        own: dict[Hashable, int | None] = {}
        for label, n in zip(labels, type_.shape, strict=True):
            if None not in (n, own.get(label, n)) and own.get(label, n) != n:
                raise ShapeError(
                    f"einsum: the diagonal over {label!r} has extents {own[label]} and {n}",
                    cause="a subscript that one operand repeats must name axes of equal extents",
                )
            own[label] = n
            found = extents.get(label, 1)
            if found == 1 or (found is None and n != 1):
                extents[label] = n
            elif n not in (1, None, found):
                raise ShapeError(
                    f"einsum: the axis {label!r} has extents {found} and {n}",
                    cause="axes with the same subscript must have equal extents, or 1",
                    cure="check the order of the subscripts against the shapes of the operands",
                )
    return extents


def contract(labels: list[Labels], operands: list[Any], output: Labels) -> Term:
    """ij,j->i → a @ b, i,i->i → a·b, ij->i → Σ a, ij,ij->i → Σ a·b: the simplest term for an Einstein sum.

    Terms are ground. Any values may label axes.
    """
    operands = [strong(x) for x in operands]
    extents = _extents(labels, [x.type for x in operands])
    dtype = np.result_type(*[x.type.dtype for x in operands])
    if dtype.kind != "f":  # NumPy's sums of small integers are wider than its Einstein sums
        return _einsum(labels, operands, output)
    operands = [x if x.type.dtype == dtype else traced_cast(x, dtype) for x in operands]
    for i in range(len(operands)):
        labels[i], operands[i] = _distinct(labels[i], operands[i])
        one = tuple(
            axis - len(labels[i])
            for axis, label in enumerate(labels[i])
            if operands[i].type.shape[axis] == 1 != extents[label]
        )
        labels[i] = tuple(label for axis, label in enumerate(labels[i]) if axis - len(labels[i]) not in one)
        operands[i] = squeeze(operands[i], one)
    uses = Counter(label for own in labels for label in own)
    for i, own in enumerate(labels):
        alone = tuple(a for a, label in enumerate(own) if uses[label] == 1 and label not in output)
        if alone:
            operands[i] = traced(np.sum, operands[i], axis=alone)
            labels[i] = tuple(label for a, label in enumerate(own) if a not in alone)
    summed = {label for own in labels for label in own} - set(output)
    if not summed:
        return _product(labels, operands, output)
    if len(operands) == 2 and len(summed) == 1:
        a, b = zip(labels, operands, strict=True)
        (s,) = summed
        found = _matmul(a, b, s, output) or _matmul(b, a, s, output)
        if found is not None:
            return found
    if all(set(own) == set(labels[0]) for own in labels):
        whole = _product(labels, operands, (*output, *sorted(summed, key=labels[0].index)))
        return traced(np.sum, whole, axis=tuple(range(-len(summed), 0)))
    return _einsum(labels, operands, output)


def _product(labels: list[Labels], operands: list[Any], order: Labels) -> Any:
    """ij, x, j, y → x·y: the product of operands, axes brought to an order."""
    aligned = [_arrange(own, x, order) for own, x in zip(labels, operands, strict=True)]
    return reduce(partial(traced, np.multiply), aligned)


def traced_cast(x: Any, dtype: np.dtype) -> Any:
    """Return the term of x with another dtype."""
    from relgrad.ops.casting import cast

    return as_term(cast(x, dtype))


def _distinct(labels: Labels, x: Any) -> tuple[Labels, Any]:
    """(ii, x) → i, diagonal(x): the diagonals that repeated labels ask for, taken."""
    while len(set(labels)) < len(labels):
        label = next(label for label, n in Counter(labels).items() if n > 1)
        i, j = [a for a, other in enumerate(labels) if other == label][:2]
        x = traced(np.diagonal, x, 0, i, j)
        labels = (*(other for a, other in enumerate(labels) if a not in (i, j)), label)
    return labels, x


def _arrange(labels: Labels, x: Any, order: Labels) -> Any:
    """(ij, x, order jik) → xᵀ with an axis k of extent 1: axes brought to an order, missing ones inserted."""
    perm = tuple(labels.index(label) for label in order if label in labels)
    if perm != tuple(range(len(perm))):
        x = traced(np.transpose, x, perm)
    return expand(x, tuple(i - len(order) for i, label in enumerate(order) if label not in labels))


def _matmul(a: tuple[Labels, Any], b: tuple[Labels, Any], s: Hashable, output: Labels) -> Term | None:
    """(ij, a), (jk, b), j → a @ b: the matrix product that sums over s, if the stacking axes stand in order;
    else None.
    """
    left, right = set(a[0]) - set(b[0]), set(b[0]) - set(a[0])
    column = output[-1:] if output and output[-1] in right else ()
    rest = output[: len(output) - len(column)]
    row = rest[-1:] if rest and rest[-1] in left else ()
    stack = rest[: len(rest) - len(row)]
    if stack and not row and not column:  # a stack of dot products, slow as matrix products
        return None
    factors = []
    for (labels, x), inner, swapped in ((a, (*row, s), (s, *row)), (b, (s, *column), (*column, s))):
        own = tuple(label for label in stack if label in labels)
        if labels == (*own, *inner):
            pass
        elif labels == (*own, *swapped):
            x = swap(x)
        else:
            return None
        factors.append(_arrange((*own, *inner), x, (*stack, *inner)))
    if not row:
        factors[0] = expand(factors[0], (-2,))
    if not column:
        factors[1] = expand(factors[1], (-1,))
    axes = (() if row else (-2,)) + (() if column else (-1,))
    return squeeze(MatMul().make_node(*factors), axes)


def _einsum(labels: Sequence[Labels], operands: Sequence[Any], output: Labels) -> Term:
    """[(0, 1), (1, 2)], (0, 2) → Einsum("ab,bc->ac")(a, b): an application with letters for labels."""
    names: dict[Hashable, str] = {}
    for own in labels:
        for label in own:
            names.setdefault(label, string.ascii_letters[len(names)])
    left, right = [["".join(names[label] for label in own) for own in part] for part in (labels, [output])]
    return term(Einsum(f"{','.join(left)}->{right[0]}"), *operands)


def parse(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of the operands and of the output; those of an ellipsis are negative integers.

    >>> parse("...i,i", [2, 1])
    ([(-1, 'i'), ('i',)], (-1,))

    Raises ShapeError for subscripts that do not fit the ranks.
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise ShapeError(f"einsum: {len(parts)} subscripts ({subscripts!r}) for {len(ranks)} operands")
    labels, most = [], 0
    for part, rank in zip(parts, ranks, strict=True):
        before, dots, after = part.partition("...")
        hidden = rank - len(before) - len(after)
        if hidden < 0 or (hidden and not dots):
            raise ShapeError(f"einsum: the subscripts {part!r} do not fit an operand with {rank} axes")
        labels.append((*before, *range(-hidden, 0), *after))
        most = max(most, hidden)
    used = Counter(label for own in labels for label in own if isinstance(label, str))
    if arrow:
        before, dots, after = right.partition("...")
        if most and not dots:
            raise ShapeError(f"einsum: the output of {subscripts!r} has no ellipsis, but an operand has")
        output = (*before, *(range(-most, 0) if dots else ()), *after)
    else:
        output = (*range(-most, 0), *sorted(label for label, n in used.items() if n == 1))
    named = [label for label in output if isinstance(label, str)]
    if len(set(named)) < len(named) or not set(named) <= set(used):
        raise ShapeError(f"einsum: the output of {subscripts!r} repeats or invents a subscript")
    if not all(label.isalpha() and label.isascii() for label in used):
        raise ShapeError(f"einsum: the subscripts {subscripts!r} hold more than letters")
    return labels, output


def _interleaved(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """(x, [0, 1], y, [1, 2], [0, 2]) → "ab,bc->ac", [x, y]: subscripts and operands of that form of a call."""

    def spell(sublist: Any) -> str:
        return "".join("..." if s is Ellipsis else string.ascii_letters[s] for s in sublist)

    pairs, rest = len(args) // 2, args[2 * (len(args) // 2) :]
    subscripts = ",".join(spell(args[2 * i + 1]) for i in range(pairs))
    if rest:
        subscripts += "->" + spell(rest[0])
    return subscripts, [args[2 * i] for i in range(pairs)]


@implements(np.einsum)
def einsum(*args: Any, optimize: Any = False, **options: Any) -> Any:
    """einsum("ij,jk->ik", a, b) = a @ b: traces `np.einsum`; the path is chosen when the program runs."""
    refuse("np.einsum", **options)
    subscripts, operands = (args[0], args[1:]) if isinstance(args[0], str) else _interleaved(args)
    operands = [as_term(x) for x in operands]
    if all(is_term(x) and x.ground for x in operands):
        labels, output = parse(subscripts, [x.type.ndim for x in operands])
        return contract(labels, operands, output)
    if "..." in subscripts or "->" not in subscripts:
        raise RelationError(
            f"a relation cannot use the subscripts {subscripts!r}",
            cause="the ranks of its operands are not known",
            cure="name all axes, and those of the result after '->'",
        )
    parts = subscripts.replace(" ", "").replace("->", ",").split(",")
    labels, output = [tuple(part) for part in parts[:-1]], tuple(parts[-1])
    if len(operands) == 2 and labels[0][1:] == labels[1][:1] and output == (labels[0][0], *labels[1][1:]):
        return MatMul().make_node(*operands)
    return _einsum(labels, operands, output)
