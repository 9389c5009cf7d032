"""What cannot be traced, each with its cause and its cure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

import numpy as np

from relgrad.errors import TraceError
from relgrad.leaf import Input
from relgrad.term import Term, reachable
from relgrad.trace.construct import Construct, construct
from relgrad.trace.cures import (
    ATTRIBUTES,
    CALLS,
    CONDITIONS,
    FUNCTIONS,
    GONE,
    LOST,
    MASKED,
    MATH,
    METHODS,
    STACK,
    UNKNOWN,
    VALUES,
    WRITE,
    of_class,
)
from relgrad.trace.decisions import is_deciding, is_given
from relgrad.trace.nesting import Nesting

_refused: Nesting[list[TraceError]] = Nesting()
"""The refusals in the traces that this thread is in the middle of."""


def refusals() -> AbstractContextManager[list[TraceError]]:
    """`with refusals() as refused: …` → refused = [TraceError, …]: those within, where NumPy would not have raised.

    A function that catches a refusal goes on elsewhere than with arrays: its result is not its value.
    """
    return _refused.within([])


@contextmanager
def tentative() -> Iterator[None]:
    """`with tentative(): …` raises → refused as before: lets the trace go on where a refusal within is caught."""
    before = [len(refused) for refused in _refused.values]
    try:
        yield
    except Exception:
        for refused, count in zip(_refused.values, before, strict=True):
            del refused[count:]
        raise


def forgive(error: TraceError) -> None:
    """Let the trace go on where a refusal is caught."""
    for refused in _refused.values:
        refused[:] = [e for e in refused if e is not error]


def refuse(error: TraceError) -> NoReturn:
    """Raise an error that the trace shall end with, even if the function catches it."""
    for refused in _refused.values:
        refused.append(error)
    raise error


def _is_kept(t: Term | None) -> bool:
    """Whether a term was kept from a call that is over, or handed to another thread than the one that traces."""
    inputs = [x for x in ([] if t is None else reachable(t)) if type(x.op) is Input and x.op.trace]
    return bool(inputs) if not _refused.values else is_deciding() and not all(map(is_given, inputs))


class UnrecordedError(TraceError):
    """A traced value cannot be written into an array of NumPy's, or read by a method of one, which records nothing."""


def refuse_because(
    what: str,
    at: Construct | None = None,
    *,
    cause: str,
    cure: str,
    of: Term | None = None,
    numpy_too: bool = False,
    kind: type[TraceError] = TraceError,
) -> NoReturn:
    """(x depends on …, at) → TraceError: raises a refusal of a term, which quotes a construct.

    It may be caught if NumPy raises a TypeError there, too.
    """
    said = f"{what}: {at.quoted}" if at is not None and at.text else what
    where = (at or construct()).where
    error = kind(said, where=where, cause=cause, cure=GONE if _is_kept(of) else cure)
    if numpy_too:
        raise error
    refuse(error)


def refuse_condition(of: Term | None = None, numpy_too: bool = False) -> NoReturn:
    """if x > 0: → TraceError: the refusal of `bool(x)`, saying which construct asked for it."""
    at = construct()
    name, cure = CONDITIONS.get(at.kind, ("the truth value of a traced array", CONDITIONS["if"][1]))
    if at.kind == "call":
        name, cure = f"{at.called or 'a call'}(...)", _call_cure(at) or cure
    refuse_because(
        f"{name} depends on a traced array",
        at,
        of=of,
        cause=f"{VALUES}, so they are neither true nor false",
        cure=cure,
        numpy_too=numpy_too,
    )


_NUMBERS = {
    "index": (
        "an index",
        "a size, an axis, a number of steps must be Python ints: close over it, or use functools.partial",
        "take entries with np.take(array, index); a list must first become an array, np.stack(rows)",
    ),
    "str": (
        "a Python str",
        "show the whole array, which prints its dtype and shape, or format the result of the call",
        "",
    ),
}
"""How kinds of Python's numbers are called, and cures: for any construct, and for subscripts."""


def refuse_number(kind: str, of: Term | None = None, numpy_too: bool = False) -> NoReturn:
    """float(x) → TraceError: the refusal of `float(x)`, `int(x)`, `operator.index(x)` or `complex(x)`."""
    cure = "use NumPy's functions, which act on arrays of rank 0 too: np.exp instead of math.exp"
    _refuse_other(*_NUMBERS.get(kind, (f"a Python {kind}", cure, "")), of, numpy_too)


def refuse_array(of: Term | None = None) -> NoReturn:
    """np.asarray(x) → TraceError: the refusal of everything that wants NumPy's own array."""
    cure = "use NumPy functions and scipy.special ufuncs, which are recorded; np.stack joins several arrays"
    if _is_asked_by_scipy():
        cure = "call what is traced of SciPy by its name, as stats.norm.logpdf(x), not from attributes or containers;"
        cure += " write others with NumPy and scipy.special"
    _refuse_other("an ndarray", cure, "take entries with np.take(array, index), or choose with np.where", of)


def _is_asked_by_scipy() -> bool:
    """Whether the code that wants an array, NumPy's and relgrad's own aside, is SciPy's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("relgrad.", "numpy")):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.")


def _refuse_other(
    named: str, cure: str, subscript: str, of: Term | None = None, numpy_too: bool = False
) -> NoReturn:
    """("an index", …) → TraceError: the refusal of what a traced array would have to become."""
    at = construct()
    if at.kind == "store":
        _refuse_store(at)
    by_method = at.kind == "call" and hasattr(np.ndarray, at.called.rpartition(".")[2])
    refuse_because(
        f"a traced array cannot become {named}",
        at,
        of=of,
        cause=LOST if is_deciding() else VALUES,
        cure=_call_cure(at) or (at.kind == "subscript" and subscript) or cure,
        numpy_too=numpy_too,
        kind=UnrecordedError if by_method else TraceError,
    )


def refuse_hash(numpy_too: bool = False) -> NoReturn:
    """{x} → TraceError: the refusal of `hash(x)`, which sets, dict keys and memoising functions ask for."""
    refuse_because(
        "a traced array cannot be hashed",
        construct(),
        cause="arrays are not hashable, since `==` compares entries; sets, dict keys and memoising decorators"
        " (functools.cache) need a hash",
        cure="use a list or a dict of names; keep memoising decorators off functions of arrays",
        numpy_too=numpy_too,
    )


def refuse_pickle() -> NoReturn:
    """pickle.dumps(x) → TraceError: the refusal of pickling, which other processes ask for."""
    refuse_because(
        "a traced array cannot be pickled",
        construct(),
        cause=f"another process cannot record what happens to it; {VALUES}",
        cure="write a plain loop or comprehension: what is traced runs only once",
    )


def refuse_operand(cls: type) -> NoReturn:
    """x + None → TraceError: the refusal of an operand that would lose its meaning as an array of real numbers."""
    name = cls.__name__
    cause, cure = of_class(cls) or (
        ("sparse arrays follow other rules than NumPy", "pass its .toarray()")
        if hasattr(cls, "toarray")
        else (f"a {name} is no number", "pass numbers and arrays of numbers")
    )
    refuse_because(f"a {name} cannot be combined with a traced array", cause=cause, cure=cure)


def refuse_write(cause: str, cure: str, kind: type[TraceError] = TraceError) -> NoReturn:
    """x[0] = 1 of an argument → TraceError: the refusal of writing where NumPy would, or would change the caller's
    arrays.
    """
    refuse_because(
        "a traced array cannot be changed in place",
        construct(),
        cause=cause,
        cure=cure,
        kind=kind,
    )


def refuse_position() -> NoReturn:
    """x[i, j] = y, i traced → TraceError: the refusal of writing to entries whose positions depend on values."""
    refuse_because(
        "entries at traced positions cannot be written to",
        construct(),
        cause=f"which entries they are depends on values; {VALUES}",
        cure="write x = np.where(mask, y, x), with the mask np.arange(n) == i for one position i",
    )


def refuse_layout(at: Construct) -> NoReturn:
    """y = x.reshape(n); x += 1; y → TraceError: the refusal of reading an array that may have been written to."""
    refuse_because(
        "whether a traced array was written to is not known",
        at,
        cause="it was reshaped, one of the two arrays was written to, and it depends on the layout of memory, row by"
        " row or column by column, whether NumPy's reshape, ravel or einsum answers with a view or with a copy",
        cure="write x.reshape(shape).copy() for a copy; or write into x first, and reshape it afterwards",
    )


def _refuse_store(at: Construct) -> NoReturn:
    """a[i] = x, a an ndarray → UnrecordedError: the refusal of writing a traced array into an ndarray."""
    refuse_because(
        f"a traced array cannot be written into an ndarray: {at.quoted or 'a[i] = x'}",
        cause=LOST if is_deciding() else VALUES,
        cure=WRITE,
        kind=UnrecordedError,
    )


def refuse_output(ufunc: str) -> NoReturn:
    """Raise the TraceError of `out=`, which `a += x` on an ndarray means too."""
    at = construct()
    inplace = at.kind == "inplace"
    refuse_because(
        f"a traced result cannot be written into an ndarray: {at.quoted or f'{ufunc}(..., out=...)'}",
        cause=f"{'`a += x` writes into the array a; ' if inplace else ''}{LOST if is_deciding() else VALUES}",
        cure="write a = a + x, which makes a new array; or make a within the function, with np.zeros(n) or np.array(a)"
        if inplace
        else "leave out= away and use the result",
        kind=UnrecordedError,
    )


def _call_cure(at: Construct) -> str:
    """math.sin(x) → "write np.sin(...) instead of math.sin(...)": the cure for a call by its name, or ""."""
    if at.kind != "call":
        return ""
    module, _, name = at.called.rpartition(".")
    if module == "math" or (not module and name in MATH):
        instead = MATH.get(name) or (f"np.{name}" if hasattr(np, name) else "")
        return f"write {instead}(...) instead of {at.called}(...)" if instead else ""
    if module.rpartition(".")[2] == "ma":
        return MASKED
    if re.search(r"[(,=]\s*\[", at.text) and name not in ("max", "min", "any", "all", "sorted"):
        return STACK
    return CALLS.get(name, "")


def refuse_method(name: str) -> NoReturn:
    """Raise the TraceError of an array method that cannot be traced."""
    cause, cure = METHODS.get(name, UNKNOWN)
    refuse_because(f"the array method .{name}() cannot be traced", cause=cause, cure=cure)


def refuse_attribute(name: str) -> NoReturn:
    """Raise the TraceError of an array attribute that cannot be traced."""
    cause, cure = ATTRIBUTES[name]
    refuse_because(f"a traced array has no .{name}", cause=cause, cure=cure)


def refuse_function(function: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise the TraceError of a library's function that cannot be traced, whatever it is called with."""
    cause, cure = FUNCTIONS.get(function, UNKNOWN)
    refuse_because(f"{function_name(function)} cannot be traced", cause=cause, cure=cure)


def function_name(function: Any) -> str:
    """np.linalg.norm → "np.linalg.norm", erf → "scipy.special.erf": a function's name as users call it."""
    name = getattr(function, "__name__", str(function))
    if isinstance(function, np.ufunc):
        return f"np.{name}" if getattr(np, name, None) is function else f"scipy.special.{name}"
    module = getattr(function, "__module__", None) or "numpy"
    parts = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join(["np" if part == "numpy" else part for part in parts] + [name])
