"""Which programs may overflow or underflow on the way to results that do neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.bounds import range_of
from relgrad.calculus.series import Series
from relgrad.op import is_constant, is_float
from relgrad.ops.arithmetic import add, divide, float_power, multiply, power, square, subtract
from relgrad.ops.einsum import Einsum
from relgrad.ops.matmul import MatMul
from relgrad.ops.softmax import Softmax
from relgrad.term import Term, subterms

ORDINARY = 1e-30
"""Constants of at least this size, whose reciprocals are too, are ordinary."""


def may_leave_range(roots: Sequence[Term]) -> bool:
    """Whether an op that may come back into range reads a term that may have left: √(x²), x²/y: yes; x², x² + y: no.

    What has only become too small stays so in products with what is in range: y·log(1 + eˣ): no; √log(1 + eˣ): yes.
    """
    left, small = set[Term](), set[Term]()
    for node in subterms(*roots):
        if isinstance(node.op, Series) and may_leave_range([node.op.body]):
            return True
        reads = node.op.out_of_range != "absorbed"
        out = reads and not left.isdisjoint(node.rands)
        tiny = reads and not out and not small.isdisjoint(node.rands) and not _is_lost(node, small)
        if (out or (tiny and not _is_small(node, small))) and not _stays(node):
            return True
        if is_float(node):
            grows = node.op.grows and not _is_multiple(node)
            part = grows and _is_part(node)
            if out or (grows and not part):
                left.add(node)
            elif tiny or part or node.op.vanishes:
                small.add(node)
    return False


def _is_lost(node: Term, small: set[Term]) -> bool:
    """1 + y, softmax(y) → True: what is too small makes no difference beside an ordinary number, or in exponents."""
    if type(node.op) is Softmax:
        return small.isdisjoint(node.rands[1:])
    numbers = [rand.op.value for rand in node.rands if is_constant(rand)]
    return node.op in (add, subtract) and any(np.all(x) and _is_ordinary(x) for x in numbers)


def _is_small(node: Term, small: set[Term]) -> bool:
    """y·log(1 + eˣ), log(1 + eˣ)/y, σ(x)² → True: a product, a quotient by what is in range, a power from 1 up.

    Without a large constant.
    """
    op, rands = node.op, node.rands
    if op is divide and rands[1] in small:
        return False
    if op is power or op is float_power:
        return is_constant(rands[1]) and bool(np.all(rands[1].op.value >= 1))
    large = any(is_constant(rand) and not _is_ordinary(rand.op.value) for rand in rands)
    return (op in (multiply, divide, square) or type(op) in (MatMul, Einsum)) and not large


def _is_part(node: Term) -> bool:
    """x·σ(y), x·cos(y) → True: a product with what is no larger than 1 may become too small, but not too large."""
    shares = [range_of(rand) for rand in node.rands] if node.op is multiply else []
    return any(share.within(-1, 1) for share in shares)


def _stays(node: Term) -> bool:
    return node.op.out_of_range == "stays" or node.op.laws.selects or _is_multiple(node)


def _is_multiple(node: Term) -> bool:
    """Whether a term is an ordinary multiple of another, out of range where that nearly is: x/3: yes; 1e200·x: no."""
    if node.op is not multiply and node.op is not divide:
        return False
    plain = [is_constant(rand) and _is_ordinary(rand.op.value) for rand in node.rands]
    return any(plain) if node.op is multiply else plain[1]


def _is_ordinary(value: Any) -> bool:
    size = np.abs(np.asarray(value, float))
    return bool(np.all((size == 0) | ((size > ORDINARY) & (size < 1 / ORDINARY))))
