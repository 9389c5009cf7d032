"""Derivatives of functions on symbolic arrays: what the public transformations trace.

Each returns implicit gradients in the graph; the scheduler expands them later.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.errors import GradientError
from relgrad.gradient import Anchor, check_differentiable, fit_cotangent, gradient, ones_like, pushforward, zeros_like
from relgrad.op import as_term, constant, strong
from relgrad.term import Term, substitute, term
from relgrad.trace.containers import Structure, flatten
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

_serial = itertools.count()


def _anchored(x: Any, name: str) -> Term:
    """Return a variable of differentiation with the value of x, distinct from all others."""
    t = strong(as_term(x))
    check_differentiable(t, name)
    return term(Anchor(next(_serial)), t)


def _positions(argnums: int | Sequence[int], count: int, fun: Callable[..., Any]) -> list[int]:
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    for position in chosen:
        if not -count <= position < count:
            raise GradientError(
                f"argnums={argnums} does not name an argument of {getattr(fun, '__name__', 'the function')}",
                cause=f"the function was called with {count} positional arguments",
                cure="count positional arguments from 0; pass what is differentiated positionally",
            )
    return [position % count for position in chosen]


class _Variables:
    """The arguments of a call with those that are differentiated made variables, leaf by leaf."""

    def __init__(self, fun: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...]):
        self.single = isinstance(argnums, int)
        self.leaves: list[Term] = []
        self.structures: list[tuple[Structure, int]] = []
        self.args = list(args)
        for position in _positions(argnums, len(args), fun):
            leaves, structure = flatten(args[position])
            anchors = [_anchored(leaf, f"argument {position}") for leaf in leaves]
            self.structures.append((structure, len(anchors)))
            self.leaves.extend(anchors)
            self.args[position] = structure.unflatten([Tracer(a) for a in anchors])

    def unflatten(self, values: Sequence[Any]) -> Any:
        """Arrange one value a leaf as the differentiated arguments are arranged."""
        rest = list(values)
        result = []
        for structure, count in self.structures:
            result.append(structure.unflatten(rest[:count]))
            rest = rest[count:]
        return result[0] if self.single else tuple(result)


def _scalar(out: Any, fun: Callable[..., Any]) -> Term:
    name = getattr(fun, "__name__", "the function")
    try:
        cost = strong(as_term(out))
    except Exception:
        cost = None
    if cost is None or not isinstance(cost.type, ArrayType) or cost.type.shape != ():
        got = type(out).__name__ if cost is None else f"shape {cost.type.shape}"
        raise GradientError(
            f"grad needs a function that returns a scalar; {name} returned {got}",
            cause="the gradient is that of one number",
            cure="sum the result, or use jacobian or vjp",
        )
    if not cost.type.differentiable:
        raise GradientError(
            f"grad needs a function that returns a float; {name} returned {cost.type.dtype}",
            cure="cast the result with .astype(float) if its derivative means anything",
        )
    return cost


def value_and_gradient(
    fun: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """Return fun's value and its implicit gradient in the structure of the arguments named by argnums."""
    variables = _Variables(fun, argnums, args)
    cost = _scalar(fun(*variables.args, **kwargs), fun)
    gradients = gradient([(cost, ones_like(cost))], variables.leaves)
    return Tracer(_plain(cost, variables)), variables.unflatten([Tracer(g) for g in gradients])


def _plain(value: Term, variables: _Variables) -> Term:
    """Return a value without the variables of differentiation in it."""
    (result,) = substitute([value], {a: a.rands[0] for a in variables.leaves})
    return result


def pull_along(fun: Callable[..., Any], primals: tuple[Any, ...], cotangent: Any) -> tuple[Any, ...]:
    """Return the implicit cotangents of the primals, given one for the result in the result's structure."""
    variables = _Variables(fun, range(len(primals)), primals)
    outputs, structure = flatten(fun(*variables.args))
    given, shape = flatten(cotangent)
    if shape != structure or len(given) != len(outputs):
        raise GradientError("the cotangent does not have the structure of the function's result")
    pairs = []
    for out, g in zip(outputs, given, strict=True):
        value, flow = strong(as_term(out)), strong(as_term(g))
        if flow.type.shape != value.type.shape:
            raise GradientError(f"a cotangent of shape {flow.type.shape} for a result of shape {value.type.shape}")
        if value.type.differentiable:
            pairs.append((value, fit_cotangent(flow, value)))
    return variables.unflatten([Tracer(g) for g in gradient(pairs, variables.leaves)])


def push_along(fun: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return fun's value and its implicit derivative along tangents, both in the structure of the result."""
    variables = _Variables(fun, range(len(primals)), tuple(primals))
    given, structure = flatten(tuple(tangents))
    if len(given) != len(variables.leaves):
        raise GradientError("the tangents do not have the structure of the primals")
    directions = []
    for x, t in zip(variables.leaves, given, strict=True):
        direction = strong(as_term(t), x.type.dtype)
        if direction.type.shape != x.type.shape:
            raise GradientError(f"a tangent of shape {direction.type.shape} for a primal of shape {x.type.shape}")
        directions.append(fit_cotangent(direction, x))
    outputs, structure = flatten(fun(*variables.args))
    values = [strong(as_term(out)) for out in outputs]
    pushed = pushforward(values, variables.leaves, directions)
    plain = [Tracer(_plain(v, variables)) for v in values]
    return structure.unflatten(plain), structure.unflatten([Tracer(t) for t in pushed])


def jacobian_of(
    fun: Callable[..., Any], argnums: int | Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the implicit Jacobian: for each entry of each result, the gradient, stacked.

    Its shape is the result's shape followed by the argument's. Results may be nested; their shapes must be known.
    """
    variables = _Variables(fun, argnums, args)
    outputs, structure = flatten(fun(*variables.args, **kwargs))
    return structure.unflatten([_rows(strong(as_term(out)), variables) for out in outputs])


def _rows(value: Term, variables: _Variables) -> Any:
    size = value.type.size
    if size is None:
        raise GradientError("the Jacobian of a result of unknown shape cannot be laid out")
    rows = []
    for i in range(size):
        unit = np.zeros(size, value.type.dtype)
        unit[i] = 1
        rows.append(gradient([(value, constant(unit.reshape(value.type.shape)))], variables.leaves))
    columns = []
    for j, x in enumerate(variables.leaves):
        parts = [Tracer(row[j]) for row in rows] or [Tracer(zeros_like(x))][:0]
        shape = value.type.shape + x.type.shape
        stacked = np.stack(parts) if parts else Tracer(constant(np.zeros(shape, x.type.dtype)))
        columns.append(np.reshape(stacked, shape))
    return variables.unflatten(columns)
