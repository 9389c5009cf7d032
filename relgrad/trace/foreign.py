"""Functions that see arrays from outside as traced ones, so that what is computed of those can be written into.

    u = u0.copy(); u[1:-1] += k * d[1:-1]        u0 is a global array, and k is traced
    self.data.dot(w)                             w is traced, and the method is NumPy's

NumPy's own arrays record nothing: `u` would be one. A function that is refused for that is traced once more, as a copy
of it, in whose globals, cells, attributes and containers arrays are constants of the graph that are not to be written
to; and where NumPy makes an array of what is not traced, as in `np.diag([1.0, 2.0])`, it is one that traced values can
be written into. Functions and objects that are called by name are copied with it. The user's own functions, modules,
objects and arrays stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CellType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import numpy as np

from relgrad.op import constant
from relgrad.symbolic import Symbolic
from relgrad.trace.inspection import is_pure, is_standard, is_written, slots_of
from relgrad.trace.makers import KINDS, fresh, stand_ins
from relgrad.trace.numbers import traced_argument
from relgrad.trace.patches import Patches, StandIn


class Copies:
    """f → f′ with f′.__globals__ = traced arrays for arrays:
    copies of functions and of objects with arrays in them, and the scopes that hold what they find.

    Code that compares functions by identity would tell a copy from the original: then only the first one is copied.
    """

    def __init__(self, scopes: Sequence[Any], held: frozenset[str]):
        """scopes, held → no copies yet; helpers are copied where held = {}."""
        self.scopes: list[Any] = []
        self._seen, self._helpers = {id(s) for s in scopes if isinstance(s, dict)}, not held
        self._made: dict[int, Any] = {}
        """Copies by the identity of what they are copies of, which outlives them."""
        self._before: list[tuple[Any, dict[Any, int]]] = []
        """Copies of scopes, attributes and containers, with the identities of what they hold."""

    def are_written(self) -> bool:
        """Whether a copy has put something under a name outside of it, which the original would have changed."""
        return any(_names(made) != before for made, before in self._before)

    def of(self, fun: Any) -> Any:
        """f → its copy, partial(f, x) → partial of the copy, 2 → 2: copies of functions, methods and partial calls."""
        if type(fun) is FunctionType and id(fun.__globals__) in self._seen:
            return self._function(fun)
        if type(fun) is MethodType:
            return MethodType(self.of(fun.__func__), self.of(fun.__self__))
        if type(fun) is functools.partial:
            keywords = {k: self.of(v) for k, v in fun.keywords.items()}
            return functools.partial(self.of(fun.func), *map(self.of, fun.args), **keywords)
        return self._object(fun) if type(fun) is not np.ndarray and _holds_arrays(fun) else fun

    def _object(self, value: Any) -> Any:
        """model with model.data = array → a copy of it with a traced array, [array] → [traced array]: made once."""
        if id(value) in self._made:
            return self._made[id(value)]
        if type(value) is tuple:
            return tuple(map(self._instead, value))
        made: Any = type(value)() if type(value) in (list, dict) else object.__new__(type(value))
        self._made[id(value)] = made
        new = [(name, self._instead(x, str(name))) for name, x in _named(value)]
        if type(value) is list:
            made += [x for _, x in new]
        else:
            (made if type(value) is dict else vars(made)).update(new)
        self._before.append((made, _names(made)))
        return made

    def _function(self, fun: FunctionType) -> FunctionType:
        """f → f′ of the same code, with copies of its scope, cells and defaults; made once."""
        if id(fun) not in self._made:
            cells = tuple(map(self._cell, fun.__closure__ or ()))
            scope = self._scope(fun.__globals__)
            made = FunctionType(fun.__code__, scope, fun.__name__, None, cells)
            self._made[id(fun)] = made
            made.__qualname__ = fun.__qualname__
            made.__defaults__ = fun.__defaults__ and tuple(map(self._instead, fun.__defaults__))
            made.__kwdefaults__ = {k: self._instead(v) for k, v in (fun.__kwdefaults__ or {}).items()}
            made.__dict__.update(fun.__dict__)
        return self._made[id(fun)]

    def _scope(self, scope: dict[str, Any]) -> dict[str, Any]:
        """{"u0": array, "f": f} → {"u0": traced array, "f": f or its copy}: a copy of globals, made once."""
        made = self._made.get(id(scope))
        if made is None:
            made = self._made[id(scope)] = dict(scope)
            self.scopes.append(made)
            made.update({name: self._instead(value, name) for name, value in scope.items()})
            self._before.append((made, _names(made)))
        return made

    def _cell(self, cell: CellType) -> CellType:
        """cell of an array → cell of a traced array: a copy, made once."""
        made = self._made.get(id(cell))
        if made is None:
            made = self._made[id(cell)] = CellType()
            try:
                made.cell_contents = self._instead(cell.cell_contents)
            except ValueError:  # an empty one
                return made
            self.scopes.append(made)
            self._before.append((made, _names(made)))
        return made

    def _instead(self, value: Any, name: str = "an array from outside") -> Any:
        if type(value) is np.ndarray and value.dtype.kind in KINDS:
            return traced_argument(constant(value), value, name)
        return self.of(value) if self._helpers else value


def _names(held: Any) -> dict[Any, int]:
    """{"u0": array} → {"u0": id(array)}: what names mean in globals or attributes, entries of a list, or a cell."""
    contents = {"": held.cell_contents} if type(held) is CellType else dict(_named(held))
    return {name: id(x) for name, x in contents.items()}


def _named(value: Any) -> Iterable[tuple[Any, Any]]:
    """[a, b] → (0, a), (1, b), model → ("data", model.data): what a container or an object holds, by its names."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else vars(value).items()


def _has_attributes_only(value: Any) -> bool:
    """Model() → True; a lock, np.float64(1.0) → False: whether a value is a user's object, all in its attributes."""
    cls = type(value)
    if is_pure(cls.__module__) or is_standard(cls.__module__) or slots_of(cls) or hasattr(cls, "__del__"):
        return False
    return cls.__new__ is object.__new__ and all(map(is_written, cls.__mro__[:-1]))


def _holds_arrays(value: Any, depth: int = 8) -> bool:
    """[Layer(weights)] → True: whether an array is among the entries or attributes of a value, or of those."""
    if type(value) not in (list, tuple, dict) and not _has_attributes_only(value):
        return type(value) is np.ndarray
    return depth > 0 and any(_holds_arrays(x, depth - 1) for _, x in _named(value))


def with_fresh_results(held: frozenset[str]) -> Patches:
    """np.linalg.solve(a, b) → a traced array: stand-ins among which are NumPy's functions, with arrays to be written
    into.
    """
    patches = stand_ins(held)
    if held:
        return patches
    found = Patches({}, patches.kinds)
    found.of = dict(patches.of)
    _, module = found.of[id(np)]
    like = ModuleType(module.__name__, module.__doc__)
    vars(like).update({name: _answering(name, value) for name, value in vars(module).items()})
    found.of[id(np)] = np, like
    return found


def _answering(name: str, value: Any) -> Any:
    """(solve, np.linalg.solve) → a stand-in with fresh results, ("pi", 3.14…) → 3.14…: a function's stand-in."""
    if type(value) is StandIn:
        return StandIn(value.original, _fresh_results(value.traced))
    if name.startswith("_") or isinstance(value, (type, StandIn, ModuleType)) or not callable(value):
        return value
    return StandIn(value, _fresh_results(value))


def _fresh_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """f → (args ↦ fresh(f(args))), where all arguments are plain."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        given = list(_parts((args, kwargs)))
        return _fresh(result, given) if "out" not in kwargs and all(map(_is_plain, given)) else result

    return call


def _fresh(result: Any, given: Sequence[Any]) -> Any:
    """array → traced array, view of another → itself:
    an array, or those of a list or a tuple, if its memory is nobody else's.
    """
    if type(result) in (list, tuple):
        return type(result)(_fresh(x, given) for x in result)
    if type(result) is not np.ndarray or result.dtype.kind not in KINDS or not result.flags.writeable:
        return result
    base = result
    while isinstance(base, np.ndarray):
        base = base.base
    known = (x for x in given if isinstance(x, np.ndarray))
    return result if base is not None or any(np.may_share_memory(result, x) for x in known) else fresh(result)


def _parts(x: Any) -> Iterator[Any]:
    """[1, {"a": x}] → 1, x: the values in lists, tuples and mappings."""
    if isinstance(x, (list, tuple, Mapping)):
        for part in x.values() if isinstance(x, Mapping) else x:
            yield from _parts(part)
    else:
        yield x


def _is_plain(x: Any) -> bool:
    """Whether a result shares no memory with an argument, unless that is an array itself."""
    return isinstance(
        x, (np.ndarray, np.generic, np.dtype, Symbolic, complex, float, int, str, type, NoneType)
    )
