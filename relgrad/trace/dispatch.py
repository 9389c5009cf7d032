"""From a NumPy call on tracers to the builder that traces it, through `relgrad.implementations.IMPLEMENTATIONS`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import relgrad.ops  # noqa: F401 - fills IMPLEMENTATIONS
from relgrad.errors import RelgradError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.kernels import logsumexp
from relgrad.op import Symbolic, as_term
from relgrad.ops.arguments import is_ground
from relgrad.ops.casting import cast
from relgrad.ops.structure import expand
from relgrad.term import is_term
from relgrad.trace.construct import construct
from relgrad.trace.containers import flatten
from relgrad.trace.cures import METHODS, UNKNOWN
from relgrad.trace.decisions import known, told
from relgrad.trace.refusal import (
    forgive,
    function_name,
    refuse,
    refuse_because,
    refuse_function,
    refuse_method,
)

REDUCTIONS: dict[Any, Any] = {
    (np.add, "reduce"): np.sum,
    (np.multiply, "reduce"): np.prod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
    (np.logical_and, "reduce"): np.all,
    (np.logical_or, "reduce"): np.any,
    (np.logaddexp, "reduce"): logsumexp,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "accumulate"): np.cumprod,
}

ALIASES: dict[Any, Any] = {np.amax: np.max, np.amin: np.min, np.around: np.round}

_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "subok": True, "initial": np._NoValue}


def _is_symbolic(x: Any) -> bool:
    return isinstance(x, Symbolic)


def _shape(a: Any) -> tuple[int | None, ...]:
    return a.shape if _is_symbolic(a) else np.shape(a)


def _size(a: Any, axis: Any = None) -> Any:
    if axis is None:
        return a.size
    axes = axis if isinstance(axis, tuple) else (axis,)
    return math.prod([a.shape[k] for k in axes])


def _result_type(*arguments: Any) -> np.dtype:
    """(x : float32, Number 2.0) → float32: Python's numbers give way to the dtypes of arrays."""
    return np.result_type(*map(_kind, arguments))


def _kind(a: Any) -> Any:
    """x : float32 → float32, [0, 1] → int64, Number 2.0 → 2.0: what tells NumPy the dtype of an operand."""
    if hasattr(a, "python"):
        return a.python()
    return a.dtype if _is_symbolic(a) else as_term(a).type.dtype if isinstance(a, (list, tuple)) else a


def _can_cast(from_: Any, to: Any, casting: Any = "same_kind") -> bool:
    return np.can_cast(from_.dtype if _is_symbolic(from_) else from_, to, casting)


def _shown(function: Any, a: Any, args: Any, kwargs: Any) -> str:
    value = told(a.term)
    return repr(a) if value is None else function(value, *args, **kwargs)


QUERIES: dict[Any, Callable[..., Any]] = {
    np.shape: _shape,
    np.ndim: lambda a: len(_shape(a)),
    np.size: _size,
    np.result_type: _result_type,
    np.can_cast: _can_cast,
    np.array_repr: lambda arr, *args, **kwargs: _shown(np.array_repr, arr, args, kwargs),
    np.array_str: lambda a, *args, **kwargs: _shown(np.array_str, a, args, kwargs),
    np.array2string: lambda a, *args, **kwargs: _shown(np.array2string, a, args, kwargs),
}
"""What answers functions, and array methods by name, without a term of its own: plain values, and what only writes.

One that returns NotImplemented leaves the call to what builds a term.
"""


def asked(key: Any, args: Any, kwargs: Any) -> Any:
    """Return what is answered without a term: NotImplemented where a term is to be built."""
    query = QUERIES.get(key)
    return NotImplemented if query is None else query(*args, **kwargs)


def builder_of(function: Any) -> Callable[..., Any] | None:
    """np.sin → sin, np.foo → None: the function that traces a NumPy function or ufunc."""
    builder = IMPLEMENTATIONS.get(function)
    if builder is None and function in ALIASES:
        builder = IMPLEMENTATIONS.get(ALIASES[function])
    return builder


def call_function(function: Any, args: Any, kwargs: Any) -> Any:
    """(np.sum, (x,)) → Σ x: a call of a NumPy function traced; raises TraceError if it, or an option, is not
    supported.
    """
    answer = asked(function, args, kwargs)
    if answer is not NotImplemented:
        return answer
    builder = builder_of(function)
    if builder is None:
        result = of_constants(function, args, kwargs)
        return refuse_function(function) if result is NotImplemented else result
    try:
        return _build(builder, function_name(function), args, kwargs)
    except TraceError as error:
        forgive(error)
        result = asked("otherwise", (function, args, kwargs), {})
        return refuse(error) if result is NotImplemented else result


def of_constants(function: Any, args: Any, kwargs: Any) -> Any:
    """(np.linalg.eig, (known,)) → its value: a call with the values of symbolic arrays, if none depends on an input.

    What it writes into their memory is written to them. NotImplemented where it answers with a part of that.
    """
    leaves, structure = flatten((tuple(args), dict(kwargs)))
    symbolic = [x for x in leaves if _is_symbolic(x)]
    values = [known(x.term) for x in symbolic]
    if any(v is None for v in values):
        return NotImplemented
    copies = [np.array(v)[()] if x.is_number else np.array(v) for x, v in zip(symbolic, values, strict=True)]
    given = iter(copies)
    args, kwargs = structure.unflatten([next(given) if _is_symbolic(x) else x for x in leaves])
    result = function(*args, **kwargs)
    if any(
        isinstance(y, np.ndarray) and np.may_share_memory(x, y) for y in flatten(result)[0] for x in copies
    ):
        return NotImplemented
    for x, before, after in zip(symbolic, values, copies, strict=True):
        if after.tobytes() != np.asarray(before).tobytes():
            x.write(as_term(after))
    return result


def call_method(name: str, args: Any, kwargs: Any) -> Any:
    """(sum, (x,)) → Σ x: a call traced of the array method of a name, or of the NumPy function of that name."""
    answer = asked(name, args, kwargs)
    if answer is not NotImplemented:
        return answer
    if name in METHODS:
        refuse_method(name)
    builder = IMPLEMENTATIONS.get(name) or builder_of(getattr(np, name, None))
    if builder is None:
        refuse_method(name)
    return _build(builder, f"the array method .{name}()", args, kwargs)


def _build(builder: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """(builder, name, args) → builder(*args); TraceError, with the cure, for options that it does not take."""
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    try:
        return builder(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, TraceError):
            refuse(error)
        if isinstance(error, RelgradError):
            raise
        try:
            inspect.signature(builder).bind(*args, **kwargs)
        except TypeError as mismatch:
            refusal = TraceError(
                f"{name} cannot be traced with these arguments: {mismatch}",
                where=construct().where,
                cause="not every option that NumPy offers is supported on traced arrays",
                cure="leave it out, and write what it does with separate NumPy calls (such as np.where)",
            )
            refusal.__suppress_context__ = True
            refuse(refusal)
        raise


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """(np.add, "reduce", (x,)) → Σ₀ x: a ufunc traced, or one of its methods reduce, accumulate and outer."""
    answer = asked((np.ufunc, method), (ufunc, *inputs), kwargs)
    if answer is not NotImplemented:
        return answer
    name = function_name(ufunc) + ("" if method == "__call__" else f".{method}")
    options = {key: value for key, value in kwargs.items() if _is_given(key, value)}
    kind: Any = options.get("dtype")
    if isinstance(kind, type) and issubclass(kind, np.dtype):
        options["dtype"] = kind()  # pyright: ignore[reportCallIssue]
    if method in FOLDS and _folds_in(ufunc, options.get("dtype")):
        array, *rest = inputs
        inputs = (_converted(array, options.pop("dtype")), *rest)
    if method in ("reduce", "accumulate"):
        # Unlike those of np.sum and np.cumsum, their axis is the first one where none is given.
        options.setdefault("axis", 0)
        if method == "accumulate" and _shape(inputs[0]) == ():
            raise TypeError("cannot accumulate on a scalar")
        if method == "reduce" and options["axis"] == 0 and _shape(inputs[0]) == ():
            options["axis"] = None
    builder = IMPLEMENTATIONS.get((ufunc, method)) or builder_of(REDUCTIONS.get((ufunc, method)))
    if builder is not None:
        return _build(builder, name, inputs, options)
    if method not in ("__call__", "outer"):
        _refuse_ufunc_method(name, method)
    builder = IMPLEMENTATIONS.get(ufunc)
    if builder is None:
        refuse_function(ufunc)
    if method == "outer":
        inputs = _outer_operands(*inputs)
    if method == "__call__" and "dtype" in options and ufunc.signature is None:
        dtype, casting = options.pop("dtype"), options.pop("casting", "same_kind")
        if options:
            _refuse_options(name, options)
        return _of_dtypes(ufunc, inputs, _resolved(ufunc, inputs, dtype, casting))
    if options and (ufunc.signature is None or set(options) - {"axis", "axes", "keepdims"}):
        _refuse_options(name, options)
    return _build(builder, name, inputs, options)


FOLDS = ("reduce", "accumulate", "reduceat")
"""Methods of ufuncs that join the entries of one array."""


def _folds_in(ufunc: np.ufunc, dtype: Any) -> bool:
    """maximum.reduce(x, dtype=float) = maximum.reduce(x.astype(float)): whether a ufunc folds in these floats."""
    if dtype is None or np.dtype(dtype).kind != "f":
        return False
    return ufunc.resolve_dtypes((None, np.dtype(dtype), None), reduction=True)[-1] == dtype


def of_operands(builder: Callable[..., Any], ufunc: np.ufunc, inputs: Any) -> Any:
    """(builder, np.add, (x : int8, y : int8)) → x + y : int8:
    a ufunc of its operands alone, in the dtypes that it finds.

    One op may stand for several ufuncs that differ in these below eight bytes: SciPy's have no loops of two, and some
    take the first one that numbers of Python's fit, beta(float32, 2.0) : float64.
    """
    result = builder(*inputs)
    if ufunc.signature is None and all(map(_is_known, inputs)) and any(map(_is_small, inputs)):
        several = result if isinstance(result, tuple) else (result,)
        found = _resolved(ufunc, inputs)
        if any(as_term(y).type.dtype != kind for y, kind in zip(several, found[ufunc.nin :], strict=True)):
            return _of_dtypes(ufunc, inputs, found)
    return result


def _is_known(x: Any) -> bool:
    return is_ground(x.term) if _is_symbolic(x) else not is_term(x)


def _is_small(x: Any) -> bool:
    return _is_symbolic(x) and x.dtype.itemsize < 8


def _resolved(ufunc: np.ufunc, inputs: Any, dtype: Any = None, casting: Any = "same_kind") -> tuple[Any, ...]:
    """(np.add, (int8, 2.0)) → (float64, float64, float64):
    the dtypes in which a ufunc computes, those of its operands first.
    """
    kinds = [type(x) if type(x) in (int, float) else _result_type(x) for x in inputs]
    none: list[Any] = [None] * ufunc.nout
    signature = (*[None] * ufunc.nin, *[dtype if dtype is None else np.dtype(dtype)] * ufunc.nout)
    return ufunc.resolve_dtypes((*kinds, *none), signature=signature, casting=casting)


def _of_dtypes(ufunc: np.ufunc, inputs: Any, found: tuple[Any, ...]) -> Any:
    """(np.add, (x,  y), (float32, float32, float32)) → cast(x) + cast(y):
    a ufunc in the dtypes of its operands and results.
    """
    results = ufunc(*map(_converted, inputs, found))
    several = results if isinstance(results, tuple) else (results,)
    made = [cast(as_term(y), kind) for y, kind in zip(several, found[len(inputs) :], strict=True)]
    return tuple(made) if isinstance(results, tuple) else made[0]


def _converted(x: Any, kind: Any) -> Any:
    return x.astype(kind) if _is_symbolic(x) else np.asarray(x, kind)


def _is_given(key: str, value: Any) -> bool:
    """(where, True) → False, ("axis", None) → True: whether an option differs from what a ufunc does without it."""
    if value is None:
        return key == "axis"
    default = _DEFAULTS.get(key)
    return value != default if isinstance(value, str) else value is not default


def _outer_operands(a: Any, b: Any) -> tuple[Any, Any]:
    rank = len(_shape(b))
    return expand(as_term(a), tuple(range(-rank, 0))), as_term(b)


def _refuse_options(name: str, options: dict[str, Any]) -> NoReturn:
    """(np.add, {"where": m}) → TraceError: that these options are not supported, with the cure."""
    cures = {"dtype": "convert the result, with .astype(dtype)", "where": "write np.where(mask, new, old)"}
    given = sorted(options)
    refuse_because(
        f"{name} cannot be traced with {', '.join(f'{key}=' for key in given)}",
        cause="these options of ufuncs are not supported on traced arrays",
        cure=next((cures[key] for key in given if key in cures), "leave them out"),
    )


def _refuse_ufunc_method(name: str, method: str) -> NoReturn:
    """(np.add.at, "at") → TraceError: that this method is not supported, with the cure."""
    cures = {"reduce": "reduce one axis at a time, without dtype= and where=; or write a loop, x = f(x, row)"}
    refuse_because(f"{name} cannot be traced", cause=UNKNOWN[0], cure=cures.get(method, UNKNOWN[1]))
