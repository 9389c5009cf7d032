"""Whether a sum or product openly shows what elementary rows are about, seen without reading it under its theories."""

from __future__ import annotations

from relgrad.op import is_constant
from relgrad.ops.arithmetic import divide, reciprocal
from relgrad.ops.exponential import cosh, exp, sinh
from relgrad.term import Term

_MOST = 16
"""So many terms are looked at."""


def shows_elementary(t: Term) -> bool:
    """Whether exponentials or hyperbolic functions, or quotients of sums, stand in a sum or product at few steps."""
    of_sum = t.op.as_sum or any(map(is_constant, t.rands))
    stack = [(t, False)]
    for _ in range(_MOST):
        if not stack:
            return False
        node, divided = stack.pop()
        op = node.op
        if op.as_sum:
            if divided and of_sum:
                return True
            stack.extend([(rand, divided) for rand in node.rands])
        elif op.as_product is not None:
            divided = divided or op is divide or op is reciprocal
            stack.extend([(rand, divided) for rand in node.rands])
        elif op is sinh or op is cosh or (op is exp and of_sum):
            return True
    return True


def sums_multiples(t: Term) -> bool:
    """Whether a sum has a multiple of another sum by a number among its summands, as (a + b)/2 - (a - b)/2 has."""
    stack = [t] if t.op.as_sum else []
    for _ in range(_MOST):
        if not stack:
            return False
        node = stack.pop()
        if node.op.as_sum:
            stack.extend(node.rands)
        elif (
            node.op.as_product is not None
            and any(x.op.as_sum for x in node.rands)
            and any(map(is_constant, node.rands))
        ):
            return True
    return False
