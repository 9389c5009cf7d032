"""The public transformations: the flow from a callable to a function, on one screen.

callable → trace → term → schedule(relations, gradient) → derivation → compile → function → arrays
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from relgrad.compile.function import compile_program
from relgrad.differentiate import jacobian_of, pull_along, push_along, value_and_gradient
from relgrad.display.derivation import Explanation
from relgrad.errors import TraceError
from relgrad.gradient import free_anchors
from relgrad.op import Input
from relgrad.relation import Library
from relgrad.relations import LIBRARY
from relgrad.schedule import Strategy, schedule, strategy
from relgrad.step import Derivation
from relgrad.term import term
from relgrad.trace.trace import Traced, has_tracer, is_tracing, signature, trace
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

_cache: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


class Program:
    """What one signature of a function became: its graph, derivation, and compiled form."""

    def __init__(self, traced: Traced, derivation: Derivation, name: str):
        self.traced, self.derivation = traced, derivation
        self.compiled = compile_program(traced, derivation.after, name)


class Transformed:
    """A function that is traced, rewritten and compiled on its first call with each signature of arguments.

    `explain(*args)`, `source(*args)` and `term(*args)` show what becomes of a call; within another transformation
    it is traced like any other code.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        rule: Callable[..., Any],
        name: str,
        relations: Library | None,
        how: str | Strategy,
        options: tuple[Any, ...] = (),
    ):
        if not callable(fun):
            raise TraceError(f"{name} needs a function, not {type(fun).__name__}: {fun!r}", cure="pass a callable")
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._rule = fun, rule
        self._library = LIBRARY if relations is None else relations
        self._strategy = strategy(how)
        label = getattr(fun, "__name__", "f")
        label = "f" if not label.isidentifier() else label
        self._name = f"{name}_{label}"
        self._programs = _programs_of(fun, (name, options, self._library, self._strategy))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_tracing() or has_tracer(args, kwargs):
            return self._call_while_tracing(args, kwargs)
        return self._program(args, kwargs).compiled(*args, **kwargs)

    def _call_while_tracing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not has_tracer(args, kwargs):
            # Nothing traced goes in; unless the function closes over something traced, this is a number.
            traced = trace(self._rule, args, kwargs)
            if not traced.free() and not free_anchors(traced.outputs):
                return self._finish(traced).compiled(*args, **kwargs)
        return self._rule(*args, **kwargs)

    def _finish(self, traced: Traced) -> Program:
        return Program(traced, schedule(traced.outputs, self._library, self._strategy), self._name)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        key = signature(args, kwargs)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._finish(trace(self._rule, args, kwargs))
        return program

    def __repr__(self) -> str:
        return f"<relgrad {self._name}>"

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return the steps that lead from the function as written to what is computed; print it to read it."""
        return Explanation(self._program(args, kwargs).derivation)

    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the NumPy source of what is computed; executed alone, it defines the same function."""
        return self._program(args, kwargs).compiled.source

    def term(self, *args: Any, **kwargs: Any) -> Any:
        """Return the graph of the call before any rewriting, gradients implicit, in the result's structure."""
        traced = trace(self._rule, args, kwargs)
        return traced.out_structure.unflatten(list(traced.outputs))


def _programs_of(fun: Callable[..., Any], key: Any) -> dict[Any, Program]:
    """Return the programs compiled of a function before, as long as it lives."""
    try:
        return _cache.setdefault(fun, {}).setdefault(key, {})
    except TypeError:  # neither hashable nor weakly referenceable
        return {}


def stabilize(
    fun: Callable[..., Any], *, relations: Library | None = None, strategy: str | Strategy = "default"
) -> Transformed:
    """Return the same function, rewritten so that it neither overflows nor cancels where a relation can help.

    >>> softmax = stabilize(lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True))
    >>> softmax(np.array([1e-18, 1e18, -1e18]))
    array([0., 1., 0.])
    """
    return Transformed(fun, fun, "stabilize", relations, strategy)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    relations: Library | None = None,
    strategy: str | Strategy = "default",
) -> Transformed:
    """Return the function that computes ∂fun/∂args[argnums], in the structure of those arguments.

    `fun` must return a scalar. Raises GradientError where it does not, or where an argument is not floating.

    >>> grad(lambda x: np.log(np.exp(x).sum()))(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(fun, argnums, args, kwargs)[1]

    return Transformed(fun, gradient, "grad", relations, strategy, _hashable(argnums))


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    relations: Library | None = None,
    strategy: str | Strategy = "default",
) -> Transformed:
    """Return the function that computes (fun(*args), ∂fun/∂args[argnums]) together."""

    @functools.wraps(fun)
    def both(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(fun, argnums, args, kwargs)

    return Transformed(fun, both, "value_and_grad", relations, strategy, _hashable(argnums))


def vjp(
    fun: Callable[..., Any], *primals: Any, relations: Library | None = None, strategy: str | Strategy = "default"
) -> tuple[Any, Transformed]:
    """Return fun(*primals) and its pullback: cotangent of the result ↦ tuple of cotangents of the primals.

    >>> y, pullback = vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> float(y), [float(g) for g in pullback(1.0)]
    (12.0, [4.0, 3.0])
    """

    def pullback(cotangent: Any) -> Any:
        return pull_along(fun, primals, cotangent)

    value = stabilize(fun, relations=relations, strategy=strategy)(*primals)
    pullback.__name__ = getattr(fun, "__name__", "f")
    return value, Transformed(pullback, pullback, "vjp", relations, strategy)


def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    relations: Library | None = None,
    strategy: str | Strategy = "default",
) -> tuple[Any, Any]:
    """Return fun(*primals) and its derivative along the tangents.

    >>> [float(y) for y in jvp(np.sin, (0.0,), (2.0,))]
    [0.0, 2.0]
    """
    return pushforward(fun, relations=relations, strategy=strategy)(tuple(primals), tuple(tangents))


def pushforward(
    fun: Callable[..., Any], *, relations: Library | None = None, strategy: str | Strategy = "default"
) -> Transformed:
    """Return the function (primals, tangents) ↦ (fun(*primals), its derivative along the tangents)."""

    def along(primals: Any, tangents: Any) -> Any:
        return push_along(fun, primals, tangents)

    return Transformed(fun, along, "jvp", relations, strategy)


def jacobian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    relations: Library | None = None,
    strategy: str | Strategy = "default",
) -> Transformed:
    """Return the function that computes ∂fun/∂args[argnums] of shape fun's shape + the argument's shape."""

    @functools.wraps(fun)
    def full(*args: Any, **kwargs: Any) -> Any:
        return jacobian_of(fun, argnums, args, kwargs)

    return Transformed(fun, full, "jacobian", relations, strategy, _hashable(argnums))


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    relations: Library | None = None,
    strategy: str | Strategy = "default",
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

    return Transformed(fun, full, "hessian", relations, strategy, _hashable(argnums))


def symbol(name: str, shape: Sequence[int | None] = (), dtype: Any = np.float64) -> Tracer:
    """Return a symbolic array to build graphs by hand with; extents that are not known yet are None.

    >>> symbol("x", shape=(None, 3))
    Tracer(float64, (?, 3))
    """
    return Tracer(term(Input(name, array_type(dtype, tuple(shape)))))


def _hashable(argnums: Any) -> tuple[Any, ...]:
    return tuple(argnums) if isinstance(argnums, (list, tuple)) else (argnums, "one")
