"""What cannot be traced, each with its cause and its cure."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from relgrad.errors import TraceError
from relgrad.trace.construct import Construct, construct
from relgrad.trace.cures import (
    ATTRIBUTES,
    CALLS,
    CONDITIONS,
    FUNCTIONS,
    MATH,
    METHODS,
    STACK,
    UNKNOWN,
    VALUES,
    WRITE,
)


def refuse_condition() -> NoReturn:
    """Raise the TraceError of `bool(x)`, saying which construct asked for it."""
    at = construct()
    name, cure = CONDITIONS.get(at.kind, ("the truth value of a traced array", CONDITIONS["if"][1]))
    if at.kind == "call":
        name, cure = f"{at.called or 'a call'}(...)", _call_cure(at) or cure
    raise TraceError(
        f"{name} depends on a traced array" + (f": {at.quoted}" if at.text else ""),
        where=at.where,
        cause=f"{VALUES}, so they are neither true nor false",
        cure=cure,
    )


def refuse_number(kind: str) -> NoReturn:
    """Raise the TraceError of `float(x)`, `int(x)`, `operator.index(x)` or `complex(x)`."""
    at = construct()
    if at.kind == "store":
        _refuse_store(at)
    cure = _call_cure(at)
    if not cure and kind == "index" and at.kind == "subscript":
        cure = "take entries with np.take(array, index); a list must first become an array, np.stack(rows)"
    if not cure and kind == "index":
        cure = (
            "a size, an axis, a number of steps must be Python ints: close over it, or use functools.partial"
        )
    if not cure and kind == "str":
        cure = "show the whole array, which prints its dtype and shape, or format the result of the call"
    named = "an index" if kind == "index" else f"a Python {kind}"
    raise TraceError(
        f"a traced array cannot become {named}" + (f": {at.quoted}" if at.text else ""),
        where=at.where,
        cause=VALUES,
        cure=cure or "use NumPy's functions, which act on arrays of rank 0 too: np.exp instead of math.exp",
    )


def refuse_array() -> NoReturn:
    """Raise the TraceError of `np.asarray(x)`: of everything that wants NumPy's own array."""
    at = construct()
    if at.kind == "store":
        _refuse_store(at)
    cure = _call_cure(at)
    if at.kind == "subscript":
        cure = "take entries with np.take(array, index), or choose with np.where"
    raise TraceError(
        "a traced array cannot become an ndarray" + (f": {at.quoted}" if at.text else ""),
        where=at.where,
        cause=VALUES,
        cure=cure
        or "use NumPy functions and scipy.special ufuncs, which are recorded; np.stack joins several arrays",
    )


def refuse_hash() -> NoReturn:
    """Raise the TraceError of `hash(x)`, which sets, dict keys and memoising functions ask for."""
    at = construct()
    raise TraceError(
        "a traced array cannot be hashed" + (f": {at.quoted}" if at.text else ""),
        where=at.where,
        cause="arrays are not hashable, since `==` compares entries; sets, dict keys and memoising decorators"
        " (functools.cache) need a hash",
        cure="use a list or a dict of names; keep memoising decorators off functions of arrays",
    )


def refuse_pickle() -> NoReturn:
    """Raise the TraceError of pickling, which other processes ask for."""
    at = construct()
    raise TraceError(
        "a traced array cannot be pickled" + (f": {at.quoted}" if at.text else ""),
        where=at.where,
        cause=f"another process cannot record what happens to it; {VALUES}",
        cure="write a plain loop or comprehension: what is traced runs only once",
    )


def refuse_operand(cls: type) -> NoReturn:
    """Raise the TraceError of an operand that would lose its meaning as an array of real numbers."""
    name = cls.__name__
    if issubclass(cls, np.ma.MaskedArray):
        cause, cure = (
            "its mask would be lost",
            "pass the data, and the mask as an array of its own for np.where",
        )
    elif issubclass(cls, np.matrix):
        cause, cure = (
            "np.matrix means other things by * and **",
            "pass np.asarray(matrix) and write @ for the product",
        )
    elif hasattr(cls, "toarray"):
        cause, cure = "sparse arrays follow other rules than NumPy", "pass its .toarray()"
    elif issubclass(cls, complex):
        cause, cure = (
            "derivatives are taken over the real numbers",
            "pass real and imaginary parts as two arrays",
        )
    elif cls is type(None):
        cause, cure = "None is no number", "compare with `x is None`, which does not look into the array"
    else:
        cause, cure = f"a {name} is no number", "pass numbers and arrays of numbers"
    raise TraceError(
        f"a {name} cannot be combined with a traced array", where=construct().where, cause=cause, cure=cure
    )


def refuse_write(what: str) -> NoReturn:
    """Raise the TraceError of writing into a traced array."""
    at = construct()
    raise TraceError(
        f"a traced array cannot be changed in place: {at.quoted or what}",
        where=at.where,
        cause="a traced array stands for a value, as a number does; it has no memory to write to",
        cure=_call_cure(at) or WRITE,
    )


def _refuse_store(at: Construct) -> NoReturn:
    raise TraceError(
        f"a traced array cannot be written into an ndarray: {at.quoted or 'a[i] = x'}",
        where=at.where,
        cause=VALUES,
        cure=WRITE,
    )


def refuse_output(ufunc: str) -> NoReturn:
    """Raise the TraceError of `out=`, which `a += x` on an ndarray means too."""
    at = construct()
    inplace = at.kind == "inplace"
    raise TraceError(
        f"a traced result cannot be written into an ndarray: {at.quoted or f'{ufunc}(..., out=...)'}",
        where=at.where,
        cause=f"{'`a += x` writes into the array a; ' if inplace else ''}{VALUES}",
        cure="write a = a + x, which makes a new array" if inplace else "leave out= away and use the result",
    )


def _call_cure(at: Construct) -> str:
    """Return the cure for a call by its name, or an empty string."""
    if at.kind != "call":
        return ""
    module, _, name = at.called.rpartition(".")
    if module == "math" or (not module and name in MATH):
        instead = MATH.get(name) or (f"np.{name}" if hasattr(np, name) else "")
        return f"write {instead}(...) instead of {at.called}(...)" if instead else ""
    if re.search(r"[(,=]\s*\[", at.text) and name not in ("max", "min", "any", "all", "sorted"):
        return STACK
    return CALLS.get(name, "")


def refuse_method(name: str) -> NoReturn:
    """Raise the TraceError of an array method that cannot be traced."""
    cause, cure = METHODS.get(name, UNKNOWN)
    raise TraceError(
        f"the array method .{name}() cannot be traced", where=construct().where, cause=cause, cure=cure
    )


def refuse_attribute(name: str) -> NoReturn:
    """Raise the TraceError of an array attribute that cannot be traced."""
    cause, cure = ATTRIBUTES[name]
    raise TraceError(f"a traced array has no .{name}", where=construct().where, cause=cause, cure=cure)


def refuse_function(function: Any) -> NoReturn:
    """Raise the TraceError of a NumPy function that cannot be traced."""
    cause, cure = FUNCTIONS.get(function, UNKNOWN)
    raise TraceError(
        f"{function_name(function)} cannot be traced", where=construct().where, cause=cause, cure=cure
    )


def function_name(function: Any) -> str:
    """Return how users call a function: `np.sum`, `np.linalg.norm`, `scipy.special.erf`."""
    name = getattr(function, "__name__", str(function))
    if isinstance(function, np.ufunc):
        return f"np.{name}" if getattr(np, name, None) is function else f"scipy.special.{name}"
    module = getattr(function, "__module__", None) or "numpy"
    parts = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join(["np" if part == "numpy" else part for part in parts] + [name])
