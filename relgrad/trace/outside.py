"""Outside state: what a function reads beside its arguments, and a guard that tells whether it is as it was.

A trace depends on arguments and on outside state s: globals, cells, attributes, defaults, what containers hold.

    trace(f, a, s) = trace(f, a, s')   if   s and s' agree on all that f can read.

`read` finds an upper bound of what f can read, from the names in its code and in that of all functions which it may
call, and returns the `Guard` of s: true of s' only if they agree on it. Objects are told apart by identity, numbers
and text by value, containers, instances and arrays by identity and contents. Where no bound is found (`getattr`,
files, random numbers, clocks, objects of foreign code) the guard is never true, and says why in `reason`.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
from abc import ABCMeta, get_cache_token
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from inspect import getattr_static
from marshal import dumps
from operator import setitem
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from relgrad.op import Constant, Symbolic
from relgrad.trace.attempts import raising
from relgrad.trace.guard import Guard, Writer, never
from relgrad.trace.inspection import (
    ATOMS,
    BUILTIN,
    CONSTRUCTORS,
    CONTAINERS,
    DRAWS,
    FIXED,
    KNOWN,
    LOOKING,
    OPEN,
    PARTED,
    PARTS,
    REFLECTIVE,
    TEMPLATES,
    digest,
    floats_in,
    is_called,
    is_plain,
    is_pure,
    is_standard,
    is_written,
    names_in,
    same,
    slots_of,
)

ANY = "*"
"""Stands for all names, where what is compared by identity has a name that the code does not tell."""
MOST = 512
"""No guard looks at more places than this: tracing again costs no more."""
FEW = 1000
"""Arrays of so many numbers may be parameters, which are looked at one by one."""
COPIED = 1 << 22
"""Arrays of more bytes than this are not copied to be compared."""
COMPARED, DIGESTED = 1 << 32, 1 << 30
"""Bytes of an array that are compared or digested in a second: beyond that, tracing again costs less."""


class _Unseen(Exception):
    """`open` in the code → _Unseen("`open`"): a function reads state without a known bound; the message says why."""


def read(fun: Any, others: Iterable[Any] = (), seconds: float = 0.0) -> Guard:
    """Return the guard of what a function can read beside its arguments, as it is at this moment.

    `others` are objects that a call hands in and that are no arrays; `seconds` is what a trace takes: arrays of more
    than 64 KiB are compared if that takes less.

    >>> scale = [2.0]
    >>> def f(x):
    ...     return scale[0] * x
    >>> guard = read(f)
    >>> guard.holds(f), scale.append(1.0), guard.holds(f), read(lambda x: x + np.random.rand()).reason
    (True, None, False, "numpy's `random`")
    """
    names: frozenset[str] = frozenset()
    while True:
        walk = _Walk(names, seconds)
        reason = ""
        try:
            walk.run(fun, others)
        except _Unseen as unseen:
            reason = str(unseen)
        except Exception as error:  # of the user's own code, where looking at an object runs it
            reason = f"what raises {type(error).__name__} where it is looked at"
            return Guard(never, reason, frozenset((ANY,)), walk.spaces, True, walk.asking, fun)
        if not walk.would_see_more():
            held = frozenset(walk.held) if walk.identities else frozenset[str]()
            if reason:
                return Guard(never, reason, held, walk.spaces, True, walk.asking, fun)
            if walk.attends:  # then what raises matters, and that is what NumPy is set to
                walk.unless(f"{walk.constant(raising)}() != {raising()}")
            numbers = frozenset(walk.numbers)
            return Guard(walk.compiled(), "", held, walk.spaces, walk.attends, walk.asking, fun, numbers)
        names = frozenset(walk.names)


def settle(fun: Any, others: Iterable[Any], array: Callable[[Any], Any]) -> None:
    """Put arrays where a trace has left constants of its own: in globals, cells, attributes, dicts and lists.

    `array` makes what NumPy would have put there, or returns what it is given. Code that fills a cache when it runs
    for the first time, `if n not in cache: cache[n] = np.eye(n)`, finds there later what it would find in NumPy.
    """
    walk = _Settling(frozenset(), 0.0, array)
    with contextlib.suppress(Exception):  # of the user's own code, where looking at an object runs it
        walk.run(fun, others)


class _Walk(Writer):
    """f, k a global → "v0.__globals__['k'] is …": one walk from a function to all that its code can reach = the guard.

    `names` are the attributes that the code names: those of modules and classes that count. Instances count whole.
    """

    def __init__(self, names: frozenset[str], seconds: float):
        """names → no work = deque(), nothing held."""
        super().__init__({"same": same, "dumps": dumps, "digest": digest})
        self.before, self.names, self.seconds = names, set(names), seconds
        self.identities = self.attends = False
        self.held: set[str] = set()
        self.numbers: set[float] = set()
        self.asking: list[Any] = []
        self.spaces: list[Any] = []
        self.scopes: dict[int, str] = {}
        self.work: deque[tuple[Any, str]] = deque()
        self.passed: set[str] = set()
        """Names that would have counted, had the code named them."""

    def would_see_more(self) -> bool:
        """Whether names that have been found count where this walk has passed before it knew them."""
        return not (self.names - self.before).isdisjoint(self.passed)

    def run(self, fun: Any, others: Iterable[Any]) -> None:
        """f → lines: visits the function, which the guard is called with, and all else handed in, until nothing is
        left.
        """
        self.root = fun
        self.work.append((fun, "root"))
        self.work += [(x, self.constant(x)) for x in others]
        unseen: _Unseen | None = None
        while self.work:
            if len(self.lines) > MOST:
                raise unseen or _Unseen(f"more than {MOST} places")
            try:
                self.visit(*self.work.popleft())
            except _Unseen as found:
                unseen = unseen or found
        if unseen is not None:
            raise unseen

    def held_by(self, value: Any, put: Callable[[Any], None]) -> None:
        """Meet what is in a place where `put` puts another."""

    def visit(self, value: Any, text: str) -> None:
        """(2.0, "g['k']") → "g['k'] is …": the lines that compare one value; all that it holds goes on the list."""
        kind = type(value)
        if value is None or kind is bool or value is Ellipsis or value is NotImplemented:
            self.unless(f"{text} is not {self.constant(value)}")
        elif kind in ATOMS or issubclass(kind, np.generic):
            known = self.constant(value)
            self.numbers |= floats_in([value])
            self.unless(f"(x := {text}) is not {known} and not same(x, {known})")
        elif kind is MethodType:
            self.unless(f"type({text}) is not {self.constant(MethodType)}")
            self.work += [(value.__func__, f"{text}.__func__"), (value.__self__, f"{text}.__self__")]
        elif id(value) in self.seen:
            self.unless(f"{text} is not {self.seen[id(value)]}")
        elif isinstance(value, Symbolic):
            raise _Unseen("a traced array")
        else:
            self.object(value, kind, text)

    def object(self, value: Any, kind: type, text: str) -> None:
        """(array, ndarray, "g['a']") → lines: compares a value that has an identity, by its kind."""
        if kind not in PARTED and isinstance(value, FIXED) and not isinstance(value, type):
            if isinstance(value, np.ufunc) and value.types == ["O" * value.nin + "->" + "O" * value.nout]:
                raise _Unseen(f"the Python function within {value}")
            self.unless(f"{text} is not {self.constant(value)}")
            return
        name = self.named(value, text)
        if isinstance(value, np.ndarray):
            self.array(value, kind, name)
        elif kind is FunctionType:
            self.function(value, name)
        elif isinstance(value, ModuleType):
            self.module(value, name)
        elif isinstance(value, type):
            if not text.startswith("type(") and "__bases__" not in text:
                self.names |= CONSTRUCTORS
            self.members(value, name)
        elif isinstance(value, BuiltinFunctionType):
            if not isinstance(value.__self__, (ModuleType, type(None))):
                self.work.append((value.__self__, f"{name}.__self__"))
            elif not is_pure(value.__module__):
                raise _Unseen(f"`{value.__module__}.{value.__name__}`")
            elif value.__name__ in OPEN and value.__module__ == "builtins":
                raise _Unseen(f"`{value.__name__}`")
        elif kind in PARTS:
            self.work += [(getattr(value, part), f"{name}.{part}") for part in PARTS[kind]]
        elif isinstance(value, Enum):
            self.work.append((kind, f"type({name})"))
            self.items(vars(value), f"{name}.__dict__")
        else:
            self.instance(value, kind, name)

    def array(self, value: np.ndarray, kind: type, name: str) -> None:
        """a → "v.shape != … or v.dtype != …", "v.tobytes() != …", or a digest; raises where it is too large."""
        if kind is not np.ndarray or value.dtype.hasobject:
            raise _Unseen(f"a {kind.__name__} of {value.dtype}")
        shape, dtype = self.constant(value.shape), self.constant(value.dtype)
        if value.size <= FEW:
            self.numbers |= floats_in(value.ravel().tolist())
        self.unless(f"{name}.shape != {shape} or {name}.dtype != {dtype}")
        if value.nbytes <= max(Constant.LARGE, min(COPIED, self.seconds * COMPARED)):
            self.unless(f"{name}.tobytes() != {self.constant(value.tobytes())}")
        elif value.nbytes <= self.seconds * DIGESTED:
            self.unless(f"digest({name}) != {self.constant(digest(value))}")
        else:
            raise _Unseen(f"an array of {value.nbytes:,} bytes")

    def function(self, value: Any, name: str) -> None:
        """f → its cells, defaults, and its code where it is the user's = all on the list."""
        home = value.__globals__.get("__name__", "")
        pure = is_pure(home) and not value.__code__.co_filename.startswith("<")
        # NumPy's decorators hold what they decorate, and what never changes.
        own = not pure or is_standard(home)
        try:
            for i, cell in enumerate(value.__closure__ or ()):
                if own or callable(cell.cell_contents):
                    self.held_by(cell.cell_contents, partial(setattr, cell, "cell_contents"))
                    self.work.append((cell.cell_contents, f"{name}.__closure__[{i}].cell_contents"))
                    self.spaces.append(cell)
        except ValueError:
            raise _Unseen(f"a variable of {value.__name__} that has no value yet") from None
        if not own:
            return
        for part in ("__defaults__", "__kwdefaults__"):
            self.work.append((getattr(value, part), f"{name}.{part}"))
        if not pure:
            self.code(value, name)

    def code(self, value: Any, name: str) -> None:
        """code naming k → "f.__code__ is …", work (k, "g['k']"): compares all that a function's code names."""
        self.unless(f"{name}.__code__ is not {self.constant(value.__code__)}")
        if value.__dict__:
            self.work.append((value.__dict__, f"{name}.__dict__"))
        else:
            self.unless(f"{name}.__dict__")
        used = names_in(value.__code__)
        self.numbers |= used.numbers
        self.identities = self.identities or used.identities
        self.attends = self.attends or used.attends
        self.held |= used.values
        scope = value.__globals__
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        met = [cell.cell_contents for word, cell in cells if word in used.values]
        met += [scope[word] for word in used.values if word in scope]
        self.held.update(str(getattr(x, "__name__", "")) for x in met)
        if (REFLECTIVE | LOOKING) & (used.attributes | used.variables):
            self.held.add(ANY)
        if reflective := REFLECTIVE & (used.attributes | used.variables):
            raise _Unseen(f"`{min(reflective)}`")
        self.names |= used.attributes
        if "type" in used.variables or "__class__" in used.attributes:
            self.names |= CONSTRUCTORS
        if "type" in used.variables and not any(g is scope for g in self.asking):
            self.asking.append(scope)
        space = self.scopes.get(id(scope))
        if space is None:
            space = self.scopes[id(scope)] = f"g{len(self.lines)}"
            self.spaces.append(scope)
            self.lines.append(f"{space} = {name}.__globals__")
        for word in sorted(used.variables):
            if word in scope:
                self.held_by(scope[word], partial(setitem, scope, word))
                self.work.append((scope[word], f"{space}[{word!r}]"))
            elif word in OPEN and (word, value.__name__) != ("hash", "__hash__"):
                raise _Unseen(f"`{word}`")
            else:
                self.unless(f"{word!r} in {space}")
                if word in vars(builtins) and type(builtin := getattr(builtins, word)) not in BUILTIN:
                    self.work.append((builtin, f"{self.constant(vars(builtins))}[{word!r}]"))
        # `import a.b` names a, and takes b of it.
        for word in sorted({*used.modules, *(word.partition(".")[0] for word in used.modules)}):
            if word not in sys.modules:
                raise _Unseen(f"the module {word}, which is not loaded")
            self.work.append((sys.modules[word], f"{self.constant(sys.modules)}[{word!r}]"))

    def module(self, value: ModuleType, name: str) -> None:
        """m → the members that the code names, len(m.__dict__) = n; raises for modules of the standard library."""
        if is_pure(value.__name__):
            self.numbers |= floats_in([x for name, x in vars(value).items() if name in self.names])
            if value.__name__.partition(".")[0] in ("numpy", "scipy") and (drawn := DRAWS & self.names):
                raise _Unseen(f"{value.__name__}'s `{min(drawn)}`")
            self.passed |= DRAWS
            return
        space = vars(value)
        if is_standard(value.__name__) or "__getattr__" in space:
            raise _Unseen(f"the module {value.__name__}")
        self.lines.append(f"{name}_ = {name}.__dict__")
        self.unless(f"len({name}_) != {len(space)}")
        self.passed |= space.keys()
        self.work += [(space[word], f"{name}_[{word!r}]") for word in sorted(self.before & space.keys())]

    def members(self, cls: type, name: str) -> None:
        """C → members named by the code, and the methods that Python calls without naming them: compared."""
        if isinstance(cls, ABCMeta):
            self.unless(f"{self.constant(get_cache_token)}() != {get_cache_token()}")
        if is_pure(cls.__module__):
            return
        if is_standard(cls.__module__) or not is_written(cls) or not is_pure(type(cls).__module__):
            raise _Unseen(f"the class {cls.__module__}.{cls.__qualname__}")
        space = vars(cls)
        # What NumPy, SciPy or relgrad derive classes from, they call by names that stand in their own code.
        called = any(is_pure(base.__module__) and not is_standard(base.__module__) for base in cls.__mro__)
        everything = not TEMPLATES.isdisjoint(self.before)
        self.passed |= TEMPLATES
        self.lines.append(f"{name}_ = {name}.__dict__")
        self.unless(f"(*{name}_,) != {self.constant((*space,))}")
        for word, member in space.items():
            special = word.startswith("__") and word not in CONSTRUCTORS and is_called(member)
            if everything or word in self.before or special or (called and type(member) is FunctionType):
                self.work.append((member, f"{name}_[{word!r}]"))
            else:
                self.passed.add(word)
        self.work += [
            (base, f"{name}.__bases__[{i}]") for i, base in enumerate(cls.__bases__) if base not in KNOWN
        ]

    def instance(self, value: Any, kind: type, name: str) -> None:
        """model → its class, contents, all attributes and slots: compared."""
        if kind.__module__.startswith("relgrad."):  # a function that is transformed, or what never changes
            self.work.append((getattr(value, "__wrapped__", None), f"getattr({name}, '__wrapped__', None)"))
            return
        if not all(base in KNOWN or is_written(base) for base in kind.__mro__):
            raise _Unseen(f"a {kind.__module__}.{kind.__qualname__}")
        if kind in CONTAINERS and is_plain(value):
            self.numbers |= floats_in(value)
            self.unless(f"dumps({name}, 2) != {self.constant(dumps(value, 2))}")
            return
        if kind not in KNOWN:
            self.work.append((kind, f"type({name})"))
        self.contents(value, kind, name)
        if hasattr(value, "__dict__"):
            self.lines.append(f"{name}_ = {name}.__dict__")
            self.items(vars(value), f"{name}_")
        for slot in slots_of(kind):
            if type(getattr_static(kind, slot)) is not MemberDescriptorType:  # a property is code: not run
                raise _Unseen(f"the attribute {slot} of a {kind.__name__}, which its class computes")
            if not hasattr(value, slot):
                raise _Unseen(f"the attribute {slot} of a {kind.__name__}, which has no value yet")
            self.held_by(getattr(value, slot), partial(setattr, value, slot))
            self.work.append((getattr(value, slot), f"{name}.{slot}"))

    def contents(self, value: Any, kind: type, name: str) -> None:
        """[a, b] → "len(v) = 2", work a, b: compares all that a container holds."""
        if isinstance(value, dict):
            self.items(value, name)
            if isinstance(value, defaultdict):
                self.work.append((value.default_factory, f"{name}.default_factory"))
        elif isinstance(value, (list, tuple, deque)):
            self.unless(f"len({name}) != {len(value)}")
            if not isinstance(value, tuple):
                for i, x in enumerate(value):
                    self.held_by(x, partial(setitem, value, i))
            self.work += [(x, f"{name}[{i}]") for i, x in enumerate(value)]
        elif isinstance(value, (set, frozenset)):
            if not is_plain(value):
                raise _Unseen(f"a {kind.__name__} of objects")
            self.unless(f"dumps([*{name}], 2) != {self.constant(dumps([*value], 2))}")

    def items(self, value: dict[Any, Any], name: str) -> None:
        """{"w": a} → "(*v,) = ('w',)", work (a, "v['w']"): compares the keys and values of a dict."""
        keys = (*value,)
        for key in keys:
            self.held_by(value[key], partial(setitem, value, key))
        if not all(type(key) in ATOMS for key in keys):
            raise _Unseen("a dict with keys that are objects")
        self.unless(f"(*{name},) != {self.constant(keys)}")
        self.work += [(x, f"{name}[{self.constant(key)}]") for key, x in value.items()]


class _Settling(_Walk):
    """f.cache = tracer → f.cache = array: a walk that puts arrays in the place of what a trace has left."""

    def __init__(self, names: frozenset[str], seconds: float, array: Callable[[Any], Any]):
        super().__init__(names, seconds)
        self.made = array

    def held_by(self, value: Any, put: Callable[[Any], None]) -> None:
        new = self.settled(value)
        if new is not value:
            put(new)

    def settled(self, value: Any) -> Any:
        """tracer → array, (tracer, 2) → (array, 2): NumPy's own values in place of tracers, in tuples too."""
        if type(value) is tuple:
            parts = [self.settled(x) for x in value]
            return tuple(parts) if any(x is not y for x, y in zip(value, parts, strict=True)) else value
        return self.made(value) if isinstance(value, Symbolic) else value
