"""Functions that stand in for those of NumPy, SciPy and `math` while a function is traced.

    np.array([x[0], 1.0])        np.zeros(3)        np.sum([x, y])        math.exp(x)

NumPy does not ask its protocols where it makes arrays, nor looks for traced arrays in lists. So while a trace lasts
its modules hold stand-ins. They act on calls of the thread that traces, by code of the user's; all others, and all
calls without traced arrays of functions that make none, go to the original as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from types import FunctionType, MethodType
from typing import Any

from relgrad.symbolic import Symbolic, tracing
from relgrad.trace.construct import is_library


class StandIn:
    """What a module holds in place of a function while a function is traced; equal to that, and like it otherwise."""

    def __init__(self, original: Any, traced: Callable[..., Any]):
        self.original, self.traced = original, traced

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if tracing.wrapper is None or is_library(sys._getframe(1)):
            return self.original(*args, **kwargs)
        return self.traced(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)

    def __repr__(self) -> str:
        return repr(self.original)

    def __reduce__(self) -> Any:
        return self.original.__reduce__()


def holds_symbolic(x: Any) -> bool:
    """Whether an argument is a traced array, or a list or tuple that holds one."""
    if isinstance(x, (list, tuple)):
        return any(map(holds_symbolic, x))
    return isinstance(x, Symbolic)


Places = Mapping[tuple[Any, str], Any]
"""What modules and classes hold under a name while a function is traced."""


class Patches:
    """Stand-ins that are there as long as any thread traces."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.depth = 0
        self.before: dict[tuple[Any, str], Any] = {}
        self.places: dict[tuple[Any, str], Any] = {}
        self.by_original: dict[int, Any] = {}

    def add(self, places: Places) -> None:
        """Declare what modules hold."""
        self.places.update(places)
        self.by_original |= {id(x.original): x for x in places.values() if isinstance(x, StandIn)}

    def enter(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.before = {place: getattr(*place) for place in self.places}
                for (owner, name), new in self.places.items():
                    setattr(owner, name, new)

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                for (owner, name), old in self.before.items():
                    setattr(owner, name, old)


makers, functions = Patches(), Patches()
"""Of what makes arrays; and of other functions, which code may tell apart by identity."""


@contextmanager
def patched(fun: Any, every: bool) -> Iterator[None]:
    """Let stand-ins take the places of functions, in their own modules and among the globals of a function.

    Unless of `every` function they only do so of those that make arrays.
    """
    chosen = [makers, functions] if every else [makers]
    for patches in chosen:
        patches.enter()
    found: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for scope in _scopes(fun):
            for name, value in list(scope.items()):
                new = next((p.by_original[id(value)] for p in chosen if id(value) in p.by_original), None)
                if new is not None and new.original is value:
                    found.append((scope, name, value))
                    scope[name] = new
        yield
    finally:
        for scope, name, value in found:
            scope[name] = value
        for patches in chosen:
            patches.leave()


def _scopes(fun: Any) -> list[dict[str, Any]]:
    """Return the globals of a function, and of those that it wraps, holds in cells or binds."""
    scopes: dict[int, dict[str, Any]] = {}
    seen: set[int] = set()
    work = [fun]
    while work:
        f = work.pop()
        if id(f) in seen:
            continue
        seen.add(id(f))
        if isinstance(f, FunctionType):
            if not is_library(f.__code__):
                scopes[id(f.__globals__)] = f.__globals__
            work += [c.cell_contents for c in f.__closure__ or () if _is_full(c)]
        elif isinstance(f, partial):
            work += [x for x in (f.func, *f.args, *f.keywords.values()) if callable(x)]
        elif isinstance(f, MethodType):
            work.append(f.__func__)
        elif not isinstance(f, type):
            work.append(vars(type(f)).get("__call__"))
        work.append(getattr(f, "__wrapped__", None))
    return list(scopes.values())


def _is_full(cell: Any) -> bool:
    try:
        return callable(cell.cell_contents)
    except ValueError:
        return False
