"""What is known of code, classes and values without running them: names, purity, and what tells values apart."""

from __future__ import annotations

import dis
import hashlib
import re
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from datetime import date, time, timedelta
from functools import cached_property, lru_cache, partial
from marshal import dumps
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

import numpy as np

from relgrad.trace.attempts import attends

_STANDARD = (
    *("abc", "argparse", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "enum"),
    *("fractions", "functools", "itertools", "math", "numbers", "operator", "pathlib", "re", "statistics"),
    *("string", "textwrap", "types", "typing"),
)
PURE = frozenset((*_STANDARD, "array_api_compat", "numpy", "relgrad", "scipy"))
"""Packages whose functions depend on their arguments only; other code is read as the user's own."""
DRAWS = frozenset(
    (
        *("random", "rvs", "random_state", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "geterr"),
        *("geterrcall", "getbufsize", "get_printoptions", "save", "savez", "savez_compressed", "savetxt"),
        *("tofile", "seterr", "seterrcall", "set_printoptions"),
    )
)
"""Names by which NumPy and SciPy give what differs from call to call, or act on the outside."""
BUILTIN = (BuiltinFunctionType, type)
"""Classes of the builtins that are Python's."""
OPEN = frozenset(
    (
        *("__import__", "compile", "delattr", "dir", "eval", "exec", "getattr", "globals", "hash", "id"),
        *("input", "locals", "open", "print", "setattr", "vars"),
    )
)
"""Builtins that read what no name in the code tells, or that act on the outside."""
LOOKING = frozenset(("eval", "exec", "getattr", "globals", "locals", "vars", "__import__"))
"""Builtins that find objects by names which the code does not tell."""
REFLECTIVE = frozenset(
    (
        *("__dict__", "__globals__", "__closure__", "__code__", "__getattribute__", "__subclasses__"),
        *("attrgetter", "cell_contents", "currentframe", "f_globals", "f_locals", "methodcaller"),
        *("_getframe", "getattr_static"),
    )
)
"""Names by which code reads what has other names."""
CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"))
"""Methods that are called where an object is made of a class, and not where one is used."""
ATOMS = (int, float, complex, str, bytes)
FIXED = (
    *(np.ufunc, np.dtype, type(np.sum), date, time, timedelta, re.Pattern, range),
    *(WrapperDescriptorType, MethodDescriptorType, GenericAlias, UnionType, CodeType),
    *(GetSetDescriptorType, MemberDescriptorType),
    type(vars(namedtuple("_Pair", "x"))["x"]),
)
"""Classes of objects that never change: identity is all there is to compare."""
PARTED = frozenset((FunctionType, ModuleType, np.ndarray, type, list, tuple, dict, set, frozenset))
"""Classes of most of the others."""
PARTS = {
    partial: ("func", "args", "keywords"),
    property: ("fget", "fset"),
    cached_property: ("func",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    slice: ("start", "stop", "step"),
    MethodWrapperType: ("__self__", "__name__"),
}
"""What holds functions and numbers, and where."""
TEMPLATES = frozenset(("format", "format_map", "vformat"))
"""Methods of texts that read attributes which the text names, as in `"{0.kind}".format(x)`."""
_FOREIGN = frozenset((MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType))
"""Classes, which have no subclasses, of methods that are not written in Python."""
CONTAINERS = (list, tuple, dict, set, frozenset)
KNOWN = (object, *CONTAINERS, OrderedDict, defaultdict, deque, SimpleNamespace)
WIDEST = 1 << 16
"""Containers of more numbers than this are not compared."""


class Names(NamedTuple):
    """f: return np.sin(k) → variables {np, k}, attributes {sin}: the names in a code object and those nested in it.

    Of globals, of attributes, of modules imported. `values` are those whose value is used otherwise than to be called
    at once; `identities` says whether `is` compares with what is not written out; `attends` whether the code may handle
    exceptions. `numbers` are the floats that are written out.
    """

    variables: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[str]
    values: frozenset[str]
    identities: bool
    attends: bool
    numbers: frozenset[float]


@lru_cache(maxsize=2048)
def names_in(code: CodeType) -> Names:
    """code of f → Names(variables {np, k}, …): the names in a code object and in those within it."""
    variables, attributes, modules, values = set[str](), set[str](), set[str](), set[str]()
    numbers = set[float]()
    identities = listens = False
    stack = [code]
    while stack:
        part = stack.pop()
        stack += [c for c in part.co_consts if isinstance(c, CodeType)]
        numbers |= floats_in(part.co_consts)
        listens = listens or attends(part)
        before = ""
        instructions = list(dis.get_instructions(part))
        values |= _values(instructions)
        for instruction in instructions:
            name, word = instruction.opname, instruction.argval
            identities = identities or (name == "IS_OP" and before != "LOAD_CONST")
            before = name
            if name == "IMPORT_NAME":
                modules.add(word)
            elif "GLOBAL" in name or name.endswith("_NAME"):
                variables.add(word)
            elif "ATTR" in name or "METHOD" in name or name == "IMPORT_FROM":
                attributes.add(word)
            elif name in ("MATCH_CLASS", "IMPORT_STAR"):
                variables.add("getattr")
    named, parts, imported, used = (
        frozenset(w for w in found if isinstance(w, str))
        for found in (variables, attributes, modules, values)
    )
    return Names(named, parts, imported, used, identities, listens, frozenset(numbers))


def floats_in(value: Any) -> set[float]:
    """[0.1, (2, -0.3)] → {0.1, 0.3}: the sizes of floats, Python's and NumPy's, in a container and those within."""
    work = [value]
    for x in work:
        work += [*x, *x.values()] if type(x) is dict else x if type(x) in CONTAINERS else ()
    return {abs(float(x)) for x in work if isinstance(x, (float, np.floating))}


def _values(instructions: list[dis.Instruction]) -> set[str]:
    """g(f), np.sin(x) → {f, np, x}: the names whose values are used otherwise than to be called at once.

    A null on the stack tells what is called: below it as of Python 3.13, above it before, and a bit of the instruction
    stands for one. In between, attributes are taken: `np.linalg.norm(x)` uses no function as a value.
    """
    found = set[str]()
    null = called = False
    for instruction, after in zip(instructions, [*instructions[1:], None], strict=True):
        name, marked = instruction.opname, bool((instruction.arg or 0) & 1)
        starts = null or (name == "LOAD_GLOBAL" and marked)
        called = (starts and name.startswith("LOAD_")) or (called and name == "LOAD_ATTR")
        method = name == "LOAD_ATTR" and marked and sys.version_info >= (3, 12)
        pushed = after is not None and after.opname == "PUSH_NULL" and _NULL_LAST
        if _LOADS.match(name) and not (called or method or pushed):
            found.add(instruction.argval)
        null = name == "PUSH_NULL" and not _NULL_LAST
    return found


_LOADS = re.compile("LOAD_(GLOBAL|NAME|ATTR|DEREF|CLASSDEREF|FROM_DICT.*)$|IMPORT_FROM$")
"""Instructions that load what a name means; LOAD_METHOD does so only to call it."""
_NULL_LAST = sys.version_info >= (3, 13)


def is_pure(module: Any) -> bool:
    """Whether what a module defines depends on its arguments only, as far as its name tells."""
    name = module if isinstance(module, str) else ""
    return name.partition(".")[0] in PURE and not name.startswith("numpy.random")


def same(x: Any, y: Any) -> bool:
    """Whether two numbers or texts are one value: of the same type and bits."""
    if type(x) is not type(y):
        return False
    return x.tobytes() == y.tobytes() if isinstance(x, np.generic) else dumps(x, 2) == dumps(y, 2)


def digest(x: np.ndarray) -> bytes:
    """Return a digest of an array's entries."""
    return hashlib.blake2b(np.ascontiguousarray(x).view(np.uint8).data).digest()


def is_standard(module: str) -> bool:
    """Whether a module is part of Python's own library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def is_written(cls: type) -> bool:
    """class C: … → True, dict → False: whether a class was written in Python, so that its objects hold their attributes
    only.
    """
    if not cls.__flags__ & 1 << 9:
        return False
    for word, member in vars(cls).items():
        kind = type(member)
        if kind in _FOREIGN or (kind is GetSetDescriptorType and word not in ("__dict__", "__weakref__")):
            return False
    return True


def is_called(member: Any) -> bool:
    """Whether what a class holds under a name is called, or asked for what is, where Python looks the name up."""
    return callable(member) or hasattr(type(member), "__get__")


def is_plain(value: Any) -> bool:
    """{"a": [1, "x"]} → True, [f] → False: whether a container holds numbers and text only, which `marshal` tells
    apart.
    """
    work = [value]
    for x in work:
        kind = type(x)
        if kind is dict:
            work += [*x, *x.values()]
        elif kind in CONTAINERS or x is value:
            work += x
        elif x is not None and kind not in (bool, int, float, complex, str):
            return False
        if len(work) > WIDEST:
            return False
    return True


def slots_of(cls: type) -> list[str]:
    """Return the attributes for which a class has slots."""
    return [w for base in cls.__mro__ for w, m in vars(base).items() if type(m) is MemberDescriptorType]
