"""Stand-ins for functions of NumPy, SciPy and `math`, which the user's code finds under their names while it is traced.

    np.array([x[0], 1.0])        np.zeros(3)        np.sum([x, y])        math.exp(x)

NumPy does not ask its protocols where it makes arrays, nor looks for traced arrays in lists. So while a function is
traced, its globals, and those of all functions that it may call, name modules that hold stand-ins. NumPy itself stays
as it is, for all other code, C extensions among it. A stand-in acts in the thread that traces.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from types import CellType, ModuleType
from typing import Any

from relgrad.symbolic import tracing


class StandIn:
    """stand_in == np.zeros → True, stand_in(3) → a traced array while tracing:
    it takes a function's place, and is like it.
    """

    def __init__(self, original: Any, traced: Callable[..., Any]):
        self.original, self.traced = original, traced

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return (self.original if tracing.wrapper is None else self.traced)(*args, **kwargs)

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


Places = Mapping[tuple[ModuleType, str], StandIn]
"""What is found in modules under a name."""
Scope = dict[str, Any] | CellType
"""Where code finds a name: globals, or a cell of a function."""


class Patches:
    """instead(np) → a copy of np with stand-ins, instead(np.zeros) → its stand-in:
    for functions, and modules that hold them.
    """

    def __init__(self, places: Places, kinds: Mapping[type, Callable[[Any], Any]]):
        """{(np, "zeros"): s} → copies of np and its parents with zeros = s."""
        self.kinds = kinds
        self.of: dict[int, tuple[Any, Any]] = {
            id(new.original): (new.original, new) for new in places.values()
        }
        """Objects and what stands in for them, by identity."""
        parents = {sys.modules[module.__name__.rpartition(".")[0] or module.__name__] for module, _ in places}
        modules = {module: _copy(module) for module in {m for m, _ in places} | parents}
        for (module, name), new in places.items():
            vars(modules[module])[name] = new
        for module, like in modules.items():
            self.of[id(module)] = module, like
            parent, _, name = module.__name__.rpartition(".")
            if parent:
                vars(modules[sys.modules[parent]])[name] = like

    def instead(self, x: Any) -> Any:
        """np.zeros → its stand-in, 2 → 2: the stand-in of an object, or the object."""
        original, new = self.of.get(id(x), (None, None))
        if original is x and x is not None:
            return new
        return self.kinds[type(x)](x) if type(x) in self.kinds else x


def _copy(module: ModuleType) -> ModuleType:
    like = ModuleType(module.__name__, module.__doc__)
    vars(like).update(vars(module), __getattr__=partial(getattr, module))
    return like


_BUILTIN = object()


class _Placed:
    """counts {(g, "zeros"): 2}: two traces → put once, restored after both:
    the names that hold stand-ins at this moment.

    Several threads may trace.
    """

    def __init__(self) -> None:
        """→ nothing placed: traces = 0."""
        self.lock = Lock()
        self.traces = 0
        self.importing = builtins.__import__
        """What import statements call when nothing is traced."""
        self.counts: dict[tuple[int, str], int] = {}
        self.before: dict[tuple[int, str], Any] = {}
        """What the names meant; `_BUILTIN` where no global hid a builtin."""

    def place(self, scope: Scope, name: str, patches: Patches) -> bool:
        """(g, "np") → True: puts a stand-in under a name, or counts one more trace that needs it;
        says whether there is one.
        """
        at = id(scope), name
        value = _get(scope, name)
        if at in self.counts:
            self.counts[at] += 1
            return True
        new = patches.instead(value)
        if new is value:
            return False
        hidden = isinstance(scope, dict) and name not in scope
        self.counts[at], self.before[at] = 1, _BUILTIN if hidden else value
        _set(scope, name, new)
        return True

    def restore(self, scope: Scope, name: str) -> None:
        """(g, "np") → the former value, when no trace needs the stand-in any more: count = 0."""
        at = id(scope), name
        self.counts[at] -= 1
        if not self.counts[at]:
            del self.counts[at]
            before = self.before.pop(at)
            if before is _BUILTIN and isinstance(scope, dict):
                del scope[name]
            else:
                _set(scope, name, before)


_placed = _Placed()


def _get(scope: Scope, name: str) -> Any:
    if isinstance(scope, dict):
        return scope[name] if name in scope else getattr(builtins, name, None)
    return scope.cell_contents


def _set(scope: Scope, name: str, value: Any) -> None:
    if isinstance(scope, dict):
        scope[name] = value
    else:
        scope.cell_contents = value


class _Imports(threading.local):
    """The scopes in which this thread's import statements find stand-ins, by identity."""

    def __init__(self) -> None:
        self.scopes: dict[int, Patches] = {}


_imports = _Imports()


def _importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Import a module as the statement within a function that is traced finds it."""
    module = _placed.importing(name, globals, locals, fromlist, level)
    patches = _imports.scopes.get(id(globals))
    return module if patches is None else patches.instead(module)


@contextmanager
def patched(patches: Patches, scopes: Sequence[Scope], asking: Sequence[Scope] = ()) -> Iterator[None]:
    """`with patched(patches, [g]): …` → g["np"] = stand-in within: in globals, cells, and for import statements.

    Code with the globals `asking` finds the stand-in for `type`.
    """
    found: list[tuple[Scope, str]] = []
    around = _imports.scopes
    _imports.scopes = around | {id(scope): patches for scope in scopes}
    try:
        with _placed.lock:
            _placed.traces += 1
            if builtins.__import__ is not _importing:
                _placed.importing, builtins.__import__ = builtins.__import__, _importing
            for scope in scopes:
                for name in list(scope) if isinstance(scope, dict) else [""]:
                    if _placed.place(scope, name, patches):
                        found.append((scope, name))
            for scope in asking:
                if not any(s is scope and name == "type" for s, name in found) and _placed.place(
                    scope, "type", patches
                ):
                    found.append((scope, "type"))
        yield
    finally:
        _imports.scopes = around
        with _placed.lock:
            _placed.traces -= 1
            if not _placed.traces and builtins.__import__ is _importing:
                builtins.__import__ = _placed.importing
            for scope, name in found:
                _placed.restore(scope, name)
