"""The operands of an application as generated code needs them: literals for scalars, and nothing idle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.compile.literals import PYTHON, number, scalar
from relgrad.op import is_constant
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze
from relgrad.syntax import ATOM, UNARY, Expr, slots
from relgrad.term import Term
from relgrad.types import ArrayType, broadcast_shapes

LARGE = 4096
"""Arrays of this many entries or more are worth writing into a dead one."""


def is_scalar(x: Any) -> bool:
    """Whether a term is a constant of rank 0, which is written as a literal."""
    return is_constant(x) and x.type.ndim == 0


def is_large(x: Any) -> bool:
    """Whether a term is an array of known size that is worth reusing: 4,096 entries: yes; 4,095, (n,): no."""
    return isinstance(x.type, ArrayType) and x.type.ndim > 0 and (x.type.size or 0) >= LARGE


def is_ufunc(node: Term) -> bool:
    """Whether a term applies a NumPy ufunc, which takes `out=`: exp(x), x + y: yes; Σ x: no."""
    return bool(node.op.elementwise) and isinstance(getattr(node.op, "function", None), np.ufunc)


def dropped(node: Term) -> Term | None:
    """squeeze(Σ x, keepdims) → Σ x: the reduction whose axes a squeeze drops, exactly; else None."""
    if not isinstance(node.op, Squeeze):
        return None
    inner = node.rands[0]
    text = (
        inner.op.source(inner, slots(len(inner.rands)))
        if getattr(inner.op, "axes", None) == node.op.axes
        else ""
    )
    return inner if text and "keepdims=True" in text else None


def supplied(node: Term) -> tuple[Any, ...]:
    """x·broadcast(y, like x) → x, y: the operands, without broadcasts and leading axes that others supply."""
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


def literals(node: Any, rands: Sequence[Any], exprs: list[Expr | None]) -> list[Expr]:
    """x: float32, 0.1 → x, "0.1": the operands' texts, with the scalar constants among them filled in.

    A bare Python number stands where NumPy's promotion gives the same loop with it, a NumPy scalar elsewhere.
    """
    scalars = tuple([is_constant(x) and x.type.ndim == 0 for x in rands])
    bare = all(scalars) or not any(scalars)
    loop = None if bare else _weak_loop(getattr(node.op, "function", None), _keys(rands), scalars)
    result: list[Expr] = []
    for i, (x, expr) in enumerate(zip(rands, exprs, strict=True)):
        if expr is None:
            text = number(x.op.value, loop[i]) if loop is not None and _fits(x.op.value, loop[i]) else None
            text = text or scalar(x.op.value)
            expr = Expr(text, UNARY if text[0] == "-" else ATOM if text[0].isalpha() else ATOM - 1)
        result.append(expr)
    return result


def _keys(rands: Sequence[Any]) -> tuple[np.dtype, ...]:
    return tuple([x.type.dtype for x in rands])


def _fits(value: np.ndarray, dtype: np.dtype) -> bool:
    """Whether a loop of a dtype sees one number, a Python number or the constant: int8 1 in a loop of int64: yes."""
    return value.dtype == dtype or (value.dtype.kind in "iu" and dtype.kind in "iu") or dtype == np.float64


@lru_cache(maxsize=4096)
def _weak_loop(
    function: Any, dtypes: tuple[np.dtype, ...], scalars: tuple[bool, ...]
) -> tuple[np.dtype, ...] | None:
    """add of (float32, float64) → None;    of (float64, float64) → these, and the result's: the dtypes of a loop.

    None where they are others with a Python number in place of a scalar.
    """
    weak = tuple(PYTHON[d.kind] if s and d.kind != "b" else d for d, s in zip(dtypes, scalars, strict=True))
    if function is np.where:
        branches = [
            np.zeros(1, d) if not s else PYTHON[d.kind](0) for d, s in zip(dtypes, scalars, strict=True)
        ]
        common = np.result_type(*dtypes[1:])
        if scalars[0] or np.result_type(*branches[1:]) != common:
            return None
        return (dtypes[0], common, common)
    if not isinstance(function, np.ufunc):
        return None
    try:
        holes = [None] * function.nout
        strong = function.resolve_dtypes((*dtypes, *holes))
        return strong if function.resolve_dtypes((*weak, *holes)) == strong else None  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
