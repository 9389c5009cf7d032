"""The public transformations: the flow from a callable to a function, on one screen.

callable → trace → term → schedule(relations, gradient) → derivation → compile → function → arrays
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from inspect import ismethod
from types import MethodType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from relgrad.compile.function import compile_program
from relgrad.differentiate import jacobian_of, positions_of, pull_along, push_along, value_and_gradient
from relgrad.display.derivation import Explanation
from relgrad.errors import RelationError, TraceError
from relgrad.gradient import free_anchors
from relgrad.leaf import Input
from relgrad.relation import Library, Relation
from relgrad.relations import LIBRARY  # pyright: ignore[reportMissingImports]  # from relations/, see pyproject
from relgrad.schedule import Strategy, schedule, strategy
from relgrad.step import Derivation
from relgrad.term import term
from relgrad.trace.containers import flatten
from relgrad.trace.trace import (
    Traced,
    has_tracer,
    is_tracing,
    signature,
    trace,
    with_symbolic_arrays,
)
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

Function = Callable[..., Any]
Argnums = int | Sequence[int]
Relations = Library | Iterable[Relation] | None
"""What `relations=` takes: None is the library of the package."""
Named = str | Strategy
"""What `strategy=` takes: a strategy or its name."""

_cache: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


class Program:
    """What one signature of a function became: its graph, derivation, and compiled form."""

    def __init__(self, traced: Traced, derivation: Derivation, name: str):
        self.traced, self.derivation = traced, derivation
        self.compiled = compile_program(traced, derivation.after, name)


class Transformed:
    """A function that is traced, rewritten and compiled on its first call with each signature of arguments.

    `explain(*args)`, `source(*args)` and `term(*args)` show what becomes of a call; within another
    transformation it is traced like any other code. What the function closes over is read when it is traced,
    and not again.
    """

    def __init__(
        self,
        fun: Function,
        rule: Function,
        name: str,
        relations: Relations,
        how: Named,
        options: tuple[Any, ...] = (),
        first: tuple[Any, ...] = (),
    ):
        if not callable(fun):
            raise TraceError(
                f"{name} needs a function, not {type(fun).__name__}: {fun!r}", cure="pass a callable"
            )
        functools.update_wrapper(self, fun, updated=())
        self._rule = rule
        self._library = _library(relations)
        self._strategy = strategy(how)
        self._first = first
        label = getattr(fun, "__name__", "f")
        label = "f" if not label.isidentifier() else label
        self._name = f"{name}_{label}"
        self._programs = _programs_of(fun, (name, options, self._library, self._strategy))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._first + args
        if not is_tracing():
            # Programs of symbolic arguments have keys of their own, so that what is found here is numeric.
            program = self._programs.get(signature(args, kwargs))
            if program is not None:
                return program.compiled(*args, **kwargs)
            if not has_tracer(args, kwargs):
                return self._program(args, kwargs).compiled(*args, **kwargs)
        return self._call_while_tracing(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method that a function is when it is looked up on an instance."""
        return self if instance is None else MethodType(self, instance)

    def _call_while_tracing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not has_tracer(args, kwargs):
            # Nothing traced goes in; unless the function closes over something traced, this is a number.
            traced = trace(self._rule, args, kwargs)
            if not traced.free() and not free_anchors(traced.outputs):
                return self._finish(traced).compiled(*args, **kwargs)
        args, kwargs = with_symbolic_arrays(args, kwargs)
        return self._rule(*args, **kwargs)

    def _finish(self, traced: Traced) -> Program:
        return Program(traced, schedule(traced.outputs, self._library, self._strategy), self._name)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        key = signature(args, kwargs)
        if has_tracer(args, kwargs):
            key = Tracer, key
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._finish(trace(self._rule, args, kwargs))
        return program

    def __repr__(self) -> str:
        return f"<relgrad {self._name}>"

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return the steps that lead from the function as written to what is computed; to be printed."""
        return Explanation(self._program(self._first + args, kwargs).derivation)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the NumPy source of what is computed; executed alone, it defines the same function."""
        return self._program(self._first + args, kwargs).compiled.source

    def term(self, *args: Any, **kwargs: Any) -> Any:
        """Return the graph of the call before any rewriting, gradients implicit, arranged as the result."""
        traced = trace(self._rule, self._first + args, kwargs)
        return traced.out_structure.unflatten(list(traced.outputs))


def _programs_of(fun: Function, key: Any) -> dict[Any, Program]:
    """Return the programs compiled of a function before, as long as it lives."""
    if ismethod(fun):  # equal to the next one of its object, which may have changed by then
        return {}
    try:
        return _cache.setdefault(fun, {}).setdefault(key, {})
    except TypeError:  # neither hashable nor weakly referenceable
        return {}


def _library(relations: Any) -> Library:
    if relations is None:
        return LIBRARY
    rows = relations if isinstance(relations, Iterable) else (relations,)
    if not all(isinstance(row, Relation) for row in rows):
        raise RelationError(
            f"relations={relations!r} is no library of relations",
            cure="pass a Library, such as relgrad.LIBRARY.extended(row), or a sequence of relations",
        )
    return relations if isinstance(relations, Library) else Library(rows)


def stabilize(
    fun: Function,
    *,
    relations: Relations = None,
    strategy: str | Strategy = "default",
) -> Transformed:
    """Return the same function, rewritten so that it neither overflows nor cancels where a relation can help.

    >>> softmax = stabilize(lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True))
    >>> softmax(np.array([1e-18, 1e18, -1e18]))
    array([0., 1., 0.])
    """
    return Transformed(fun, fun, "stabilize", relations, strategy)


def grad(
    fun: Function, argnums: Argnums = 0, *, relations: Relations = None, strategy: Named = "default"
) -> Transformed:
    """Return the function that computes ∂fun/∂args[argnums], in the structure of those arguments.

    `fun` must return a scalar. Raises GradientError where it does not, or where an argument is not floating.

    >>> grad(lambda x: np.log(np.exp(x).sum()))(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(fun, argnums, args, kwargs)[1]

    return Transformed(fun, gradient, "grad", relations, strategy, _options(argnums))


def value_and_grad(
    fun: Function, argnums: Argnums = 0, *, relations: Relations = None, strategy: Named = "default"
) -> Transformed:
    """Return the function that computes (fun(*args), ∂fun/∂args[argnums]) together."""

    @functools.wraps(fun)
    def both(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(fun, argnums, args, kwargs)

    return Transformed(fun, both, "value_and_grad", relations, strategy, _options(argnums))


def vjp(
    fun: Function, *primals: Any, relations: Relations = None, strategy: Named = "default"
) -> tuple[Any, Transformed]:
    """Return fun(*primals) and its pullback: cotangent of the result ↦ cotangents of the primals, a tuple.

    A primal without derivative (integers, text) has the cotangent None. The pullback's source is a function
    of (primals, cotangent).

    >>> y, pullback = vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> float(y), [float(g) for g in pullback(1.0)]
    (12.0, [4.0, 3.0])
    """

    def pullback(primals: Any, cotangent: Any) -> Any:
        return pull_along(fun, primals, cotangent)

    value = stabilize(fun, relations=relations, strategy=strategy)(*primals)
    leaves, structure = flatten(primals)
    kept = structure.unflatten([np.array(x) if isinstance(x, np.ndarray) else x for x in leaves])
    return value, Transformed(fun, pullback, "vjp", relations, strategy, first=(kept,))


def jvp(
    fun: Function, primals: Any, tangents: Any, *, relations: Relations = None, strategy: Named = "default"
) -> tuple[Any, Any]:
    """Return fun(*primals) and its derivative along the tangents, one for each primal (None for integers).

    >>> [float(y) for y in jvp(np.sin, (0.0,), (2.0,))]
    [0.0, 2.0]
    """
    return pushforward(fun, relations=relations, strategy=strategy)(primals, tangents)


def pushforward(
    fun: Function,
    *,
    relations: Relations = None,
    strategy: str | Strategy = "default",
) -> Transformed:
    """Return the function (primals, tangents) ↦ (fun(*primals), its derivative along the tangents)."""

    def along(primals: Any, tangents: Any) -> Any:
        return push_along(fun, primals, tangents)

    return Transformed(fun, along, "jvp", relations, strategy)


def jacobian(
    fun: Function, argnums: Argnums = 0, *, relations: Relations = None, strategy: Named = "default"
) -> Transformed:
    """Return the function that computes ∂fun/∂args[argnums] of shape fun's shape + the argument's shape."""

    @functools.wraps(fun)
    def full(*args: Any, **kwargs: Any) -> Any:
        return jacobian_of(fun, argnums, args, kwargs)

    return Transformed(fun, full, "jacobian", relations, strategy, _options(argnums))


def hessian(
    fun: Function, argnums: Argnums = 0, *, relations: Relations = None, strategy: Named = "default"
) -> Transformed:
    """Return the function that computes ∂²fun/∂args[argnums]², for a scalar fun.

    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """

    @functools.wraps(fun)
    def full(*args: Any, **kwargs: Any) -> Any:
        inner = grad(fun, argnums, relations=relations, strategy=strategy)
        return jacobian_of(inner, argnums, args, kwargs)

    return Transformed(fun, full, "hessian", relations, strategy, _options(argnums))


def symbol(name: str, shape: int | Sequence[int | None] | None = (), dtype: Any = np.float64) -> Tracer:
    """Return a symbolic array to build graphs by hand with; extents that are not known yet are None.

    Raises TraceError for what is no shape, and for dtypes other than those of real numbers.

    >>> symbol("x", shape=(None, 3))
    Tracer(float64, (?, 3))
    """
    extents = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not all(n is None or (isinstance(n, (int, np.integer)) and n >= 0) for n in extents):
        raise TraceError(
            f"shape={shape!r} is no shape", cure="pass extents of 0 and more, or None where unknown"
        )
    if np.dtype(dtype).kind not in "biuf":
        raise TraceError(f"symbol {name} cannot have dtype {np.dtype(dtype)}", cure="use real numbers")
    kind = array_type(dtype, [None if n is None else int(n) for n in extents])
    return Tracer(term(Input(name, kind, symbol=True)))


def _options(argnums: Any) -> tuple[Any, ...]:
    return isinstance(argnums, Iterable), *positions_of(argnums)
