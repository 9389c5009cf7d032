"""NumPy's and SciPy's functions that are written in Python, traced as a user's: copies, in whose globals stand-ins are
found.

np.rot90(x)   ↦   what the code of np.rot90 does with x: np.flip, np.transpose

The libraries' modules are left alone: a copy of a function has globals of its own, a copy of its module's. What these
functions call is copied or stood in for in turn.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from relgrad.trace.patches import Patches
from relgrad.trace.refusal import refuse_function

_ASKING = {id(f.__wrapped__): f for f in vars(np).values() if hasattr(f, "__wrapped__")}
"""What NumPy calls where it does not ask for overrides, by identity, and the function that asks for them."""


def implementation(function: Any) -> FunctionType | None:
    """Return the Python function that is called where nothing overrides a library's; None of what is compiled."""
    inner = function if type(function) is FunctionType else getattr(function, "__wrapped__", None)
    return inner if type(inner) is FunctionType and is_librarys(inner.__globals__.get("__name__")) else None


def is_librarys(module: Any) -> bool:
    """Whether a module of this name is one of NumPy's or SciPy's."""
    return isinstance(module, str) and module.partition(".")[0] in ("numpy", "scipy")


class Library:
    """np.rot90 → a copy whose np.flip traces: copies of libraries' modules, made as they are needed, with stand-ins in
    them.
    """

    def __init__(self, patches: Patches, helpers: Mapping[int, Any]):
        self.patches, self.helpers = patches, helpers
        self.modules: dict[int, ModuleType] = {}
        """Copies by the identity of the globals that they are copies of."""
        self.functions: dict[int, Callable[..., Any]] = {}
        """Copies by the identity of the functions, which they hold."""
        self.making = threading.RLock()
        """Held until a copy is whole, with all that it calls."""

    def copied(self, function: FunctionType) -> Callable[..., Any]:
        """f → f′ of the same code, with the copy of its module for globals = {…}: a copy of a library's function."""
        with self.making:
            return self._copied(function)

    def _copied(self, function: FunctionType) -> Callable[..., Any]:
        copy = self.functions.get(id(function))
        if copy is None:
            scope, held = vars(self._module(function.__globals__)), function.__closure__ or ()
            cells = tuple([CellType() for _ in held])
            copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
            copy.__kwdefaults__ = function.__kwdefaults__
            self.functions[id(function)] = functools.update_wrapper(copy, function)
            for new, cell in zip(cells, held, strict=True):
                with suppress(ValueError):  # an empty one
                    new.cell_contents = self._instead(cell.cell_contents)
        return copy

    def _module(self, scope: dict[str, Any]) -> ModuleType:
        """globals of np.lib → a module with stand-ins in their places, made once."""
        found = self.modules.get(id(scope))
        if found is None:
            found = self.modules[id(scope)] = ModuleType(scope["__name__"])
            vars(found).update(scope)
            vars(found).update({name: self._instead(value) for name, value in scope.items()})
            vars(found).setdefault("type", self.patches.instead(type))
        return found

    def _instead(self, value: Any) -> Any:
        """np.flip → its stand-in, a helper → its copy, 2 → 2: the meaning of a module's name in its copy."""
        if isinstance(value, ModuleType):
            return self._module(vars(value)) if is_librarys(value.__name__) else self.patches.instead(value)
        if type(value) is FunctionType and value.__module__.startswith("scipy.optimize"):
            return functools.partial(refuse_function, value)  # steps of a search say nothing of what is found
        value = _ASKING.get(id(value)) or self.helpers.get(id(value), value)
        new = self.patches.instead(value)
        if new is not value or type(value) is not FunctionType or implementation(value) is not value:
            return new
        return self._copied(value)
