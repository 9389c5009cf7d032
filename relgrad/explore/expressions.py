"""Expressions of other systems: etuples `(function, *operands)` of NumPy functions or ops, to terms and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import itemgetter
from typing import Any

import numpy as np

from relgrad.errors import ShapeError, TraceError
from relgrad.explore.match import symbolic
from relgrad.gradient import is_implicit
from relgrad.leaf import Input
from relgrad.op import Op, Pack, Project, as_term, is_constant
from relgrad.relation import Library
from relgrad.schedule import NAIVE, schedule
from relgrad.symbolic import Symbolic
from relgrad.term import (
    ExpressionTuple,
    KwdPair,
    Rands,
    Term,
    Unknown,
    is_term,
    operands_first,
    reachable,
    subterms,
)
from relgrad.trace.tracer import Tracer
from relgrad.types import TupleType


def term(expression: Any) -> Any:
    """Return the term of an expression: an etuple of NumPy functions or ops, a symbolic array, a function of symbols.

    >>> from etuples import etuple
    >>> from relgrad import show, symbol
    >>> x, y = symbol("x", (3,)), symbol("y")
    >>> show(term(etuple(np.multiply, y, etuple(np.sum, etuple(np.exp, x), axis=0, keepdims=True))))
    'y * sum(exp(x), axis=-1, keepdims)'

    Operands are terms, symbolic arrays, logic variables, numbers, arrays and etuples, keywords included; a part that
    is used twice is one term. What holds nothing symbolic is computed. An associative op takes any number of operands.
    Raises TraceError for what is no expression, and what tracing the functions raises.
    """
    if not _is_open(expression):
        return symbolic(expression)
    values: dict[int, Any] = {}
    inside = lambda part: filter(_is_open, map(_value, part))
    for part in operands_first([expression], lambda x: id(x) in values, inside):
        values[id(part)] = _applied([values[id(x)] if _is_open(x) else x for x in map(_value, part)], part)
    return as_term(values[id(expression)])


def etuple(expression: Any, /, **values: Any) -> Any:
    """Return an expression as an etuple of ops: with values for symbols by name, `evaled_obj` is its value.

    >>> from relgrad import symbol
    >>> x, y = symbol("x"), symbol("y")
    >>> etuple(x * y + 1, x=3.0, y=2.0).evaled_obj
    array(7.)
    >>> etuple(x * y + 1).evaled_obj is term(x * y + 1)
    True

    A part that is used twice is one etuple, evaluated once. Values may be symbolic, so that an etuple is a program,
    `stabilize(lambda x: etuple(t, x=x).evaled_obj)`; where there are values, gradients are written out. Raises
    TraceError for a name that no symbol has, ShapeError for a value that is no array of the symbol's type.
    """
    roots = [t := term(expression)]
    if not is_term(t):
        return t
    inputs = {node.op.label for node in reachable(t) if type(node.op) is Input}
    if unknown := sorted(values.keys() - inputs):
        raise TraceError(
            f"the expression has no symbol {unknown[0]}",
            cause=f"its symbols are {', '.join(sorted(inputs)) or 'none'}",
            cure="name the values after symbols",
        )
    if values and t.ground and any(map(is_implicit, reachable(t))):
        roots = schedule(roots, Library([]), NAIVE).after
    parts: dict[Any, Any] = {}
    for node in subterms(*roots):
        parts[node] = _part(node, [parts.get(rand, rand) for rand in node.rands], values)
    return parts[roots[0]]


def _is_open(x: Any) -> bool:
    """Whether x is an etuple, and no term."""
    return isinstance(x, ExpressionTuple) and not is_term(x)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, KwdPair) else x


def _applied(parts: Sequence[Any], written: Any) -> Any:
    """(np.add, x, y) → x + y: a head applied to operands whose values are known; raises TraceError where it is no
    function.
    """
    head, names = parts[0] if parts else None, [getattr(x, "arg", None) for x in written]
    if not callable(head) or isinstance(head, Symbolic):
        raise TraceError(
            f"an etuple has no function at its head: {head!r}" if parts else "an etuple is empty",
            cause="it is applied to what follows",
            cure="write etuple(np.add, x, y), or an op of relgrad in place of NumPy's function",
        )
    operands = [_wrapped(x) for x, name in zip(parts[1:], names[1:], strict=True) if name is None]
    options = {
        name: x if name == "axis" else _wrapped(x) for x, name in zip(parts, names, strict=True) if name
    }
    if isinstance(head, Op) and head.laws.associative and len(operands) > 2:
        return reduce(head, operands)
    return head(*operands, **options)


def _wrapped(x: Any) -> Any:
    """Return terms and logic variables as the symbolic arrays that NumPy's functions take."""
    if is_term(x) or isinstance(x, Unknown):
        return Tracer(x)
    return type(x)(map(_wrapped, x)) if type(x) in (tuple, list) else x


def _part(node: Term, operands: Sequence[Any], values: dict[str, Any]) -> Any:
    """2·x → (multiply, 2, x): a node as an etuple of its operands; inputs by name become the values given."""
    if is_constant(node):
        return node.op.value.item() if node.op.weak else node.op.value[()]
    if type(node.op) is Input:
        return _of_type(values[node.op.label], node) if node.op.label in values else node
    if type(node.op) is Project and node.op.index == node.rands[0].op.default_output:
        return operands[0]
    if type(node.op) is Project:
        return Rands((itemgetter(node.op.index), *operands))
    several = isinstance(node.type, TupleType) and node.op.default_output is None
    return Rands((partial(_outputs, node.op) if several else node.op, *operands))


def _outputs(op: Op, *operands: Any) -> Any:
    """Return all outputs of an op, of one as well, as a list."""
    found = list(operands) if type(op) is Pack else op(*operands)
    return found if isinstance(found, list) else [found]


def _of_type(value: Any, node: Term) -> Any:
    """(2, x : float64) → 2.0: a value as an array of the dtype of a symbol; raises ShapeError where it does not fit."""
    label, kind = node.op.label, node.type
    if isinstance(value, (Symbolic, ExpressionTuple, Unknown)):
        return value
    array = np.asarray(value)
    if not kind.admits(array.shape) or not np.can_cast(array.dtype, kind.dtype, "same_kind"):
        raise ShapeError(
            f"the value of {label} has dtype {array.dtype} and shape {array.shape}, and {label} is of {kind}",
            cure=f"pass an array of that type, or make the symbol as relgrad.symbol({label!r}, {array.shape})",
        )
    return array.astype(kind.dtype)[()]
