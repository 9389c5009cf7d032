"""A function that is traced, rewritten and compiled on its first call: the flow of the whole on one screen.

callable → trace → term → schedule(relations, gradient) → derivation → compile → function → arrays
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import ismethod
from types import MethodType
from typing import Any
from weakref import WeakKeyDictionary

from relgrad.compile.function import compile_program
from relgrad.conventions import Conventions
from relgrad.display.derivation import Explanation
from relgrad.errors import TraceError
from relgrad.gradient import free_anchors
from relgrad.importable import imported, is_importable
from relgrad.relation import Library
from relgrad.schedule import Strategy, schedule
from relgrad.step import Derivation
from relgrad.trace.assume import Ranges
from relgrad.trace.trace import (
    Traced,
    has_tracer,
    is_tracing,
    signature,
    trace,
    with_symbolic_arrays,
)
from relgrad.trace.tracer import Tracer

Function = Callable[..., Any]

_cache: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Settings:
    """How functions are rewritten, and under which conventions and assumptions: what tells their programs apart."""

    library: Library
    strategy: Strategy
    conventions: Conventions
    assume: Ranges = ()


class Program:
    """What one signature of a function became: its graph, derivation, and compiled form."""

    def __init__(self, traced: Traced, derivation: Derivation, name: str, extended: bool):
        self.traced, self.derivation = traced, derivation
        self.compiled = compile_program(traced, derivation.after, name, extended)


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
        settings: Settings,
        options: tuple[Any, ...] = (),
        first: tuple[Any, ...] = (),
    ):
        if not callable(fun):
            raise TraceError(
                f"{name} needs a function, not {type(fun).__name__}: {fun!r}", cure="pass a callable"
            )
        functools.update_wrapper(self, fun, updated=())
        self._made_of = fun, rule, name, settings, options, first
        self._rule = rule
        self.settings = settings
        self._first = first
        label = getattr(fun, "__name__", "f")
        label = "f" if not label.isidentifier() else label
        self._name = f"{name}_{label}"
        self._programs = _programs_of(fun, (name, options, settings))

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
        how = self.settings
        derivation = schedule(traced.outputs, how.library, how.strategy, conventions=how.conventions)
        return Program(traced, replace(derivation, assumed=traced.stated), self._name, how.strategy.extended)

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

    def __reduce__(self) -> tuple[Any, ...]:
        # A decorated function hides what it was made of, which pickle could not find. Programs are made anew.
        home = getattr(self, "__module__", None), getattr(self, "__qualname__", None)
        return (imported, home) if is_importable(self, *home) else (Transformed, self._made_of)

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
