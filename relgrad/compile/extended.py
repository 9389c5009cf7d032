"""Which programs may overflow or underflow on the way to results that do neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.calculus.series import Series
from relgrad.op import is_constant
from relgrad.ops.casting import Cast
from relgrad.term import Term, subterms
from relgrad.types import ArrayType

_LEAVE = frozenset(
    [
        *("multiply", "divide", "reciprocal", "square", "power", "float_power", "exp", "exp2", "expm1"),
        *("sinh", "cosh", "prod", "cumprod", "matmul", "det", "inv", "solve", "einsum", "prod_power"),
        *("power1p", "cofactor", "leave_one_out_prod", "linear_recurrence", "hypot_excess"),
        *("power_difference", "product_difference", "sum", "cumsum"),
    ]
)
"""Ops whose results may be out of range though their operands are not."""
_STAY = frozenset(
    [
        *("add", "subtract", "negative", "positive", "absolute", "fabs", "sum", "cumsum", "maximum"),
        *("minimum", "max", "min", "where", "concatenate", "scatter", "cast"),
    ]
)
"""Ops whose results are out of range where their operands are, as are those of ops that move entries."""
_ABSORB = frozenset(["exp", "exp2", "cosh", "expit"])
"""Ops to which infinity and zero are as good as what is larger or smaller than any float."""


ORDINARY = 1e-30
"""Constants of at least this size, whose reciprocals are too, are ordinary."""


def may_leave_range(roots: Sequence[Term]) -> bool:
    """Whether an op that may come back into the range of floats reads what may have left it."""
    left: dict[Term, bool] = {}
    for node in subterms(*roots):
        if isinstance(node.op, Series) and may_leave_range([node.op.body]):
            return True
        below = node.op.name not in _ABSORB and any(left[rand] for rand in node.rands)
        if below and not _stays(node):
            return True
        left[node] = _is_float(node) and (below or _leaves(node))
    return False


def _stays(node: Term) -> bool:
    return node.op.name in _STAY or node.op.laws.selects or type(node.op) is Cast or _is_multiple(node)


def _leaves(node: Term) -> bool:
    return node.op.name in _LEAVE and not _is_multiple(node)


def _is_multiple(node: Term) -> bool:
    """Whether a term is an ordinary multiple of another, which is out of range only where that nearly is."""
    if node.op.name not in ("multiply", "divide"):
        return False
    plain = [is_constant(rand) and _is_ordinary(rand.op.value) for rand in node.rands]
    return any(plain) if node.op.name == "multiply" else plain[1]


def _is_ordinary(value: Any) -> bool:
    size = np.abs(np.asarray(value, float))
    return bool(np.all((size == 0) | ((size > ORDINARY) & (size < 1 / ORDINARY))))


def _is_float(node: Term) -> bool:
    return isinstance(node.type, ArrayType) and node.type.dtype.kind == "f"
