"""The arguments of a call: leaves as arrays and types, names, and the key that tells calls apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from relgrad.errors import TraceError
from relgrad.op import Symbolic, strong
from relgrad.trace.containers import Structure, flatten
from relgrad.trace.cures import of_class
from relgrad.trace.forms import STATIC_FORM
from relgrad.trace.inspection import ATOMS
from relgrad.types import ArrayType, array_type

LARGEST = 2**63 - 1
"""Larger integers are told apart from others: NumPy makes other arrays of them, or none."""


def as_array(leaf: Any, path: str = "") -> Any:
    """2.0 → array(2.0), >f8 → f8: a leaf as an ndarray of real numbers or booleans in the machine's order of bytes.

    Raises TraceError for what is none: masked arrays, matrices, arrays with a protocol of their own, and
    complex, extended precision, text, object and date dtypes.
    """
    cls = type(leaf)
    if isinstance(leaf, np.ndarray) and cls is not np.ndarray:
        _check_subclass(cls, path)
    array = np.asarray(leaf)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        _refuse_dtype(array.dtype, leaf, path)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def type_of(leaf: Any, path: str = "") -> ArrayType:
    """np.ones(3) → float64 (3,): the array type of a leaf; raises what `as_array` raises."""
    if isinstance(leaf, Symbolic):
        return strong(leaf.term).type
    array = as_array(leaf, path)
    return array_type(array.dtype, array.shape)


def _check_subclass(cls: type, path: str) -> None:
    """np.matrix → TraceError, a plain subclass → passes:
    classes that change what arrays mean are refused, with the cure.
    """
    found = of_class(cls)
    protocols = "__array_ufunc__", "__array_function__"
    if found is None and any(getattr(cls, p) is not getattr(np.ndarray, p) for p in protocols):
        found = (
            "the class changes what NumPy's functions do (units, for instance), which would be lost",
            "pass np.asarray(x), if a plain array means the same",
        )
    if found is not None:
        raise TraceError(f"cannot trace a {cls.__name__}" + _at(path), cause=found[0], cure=found[1])


def _refuse_dtype(dtype: np.dtype, leaf: Any, path: str) -> None:
    """complex128 → TraceError: that an array of a dtype cannot be traced, why, and the cure."""
    cause, cure = {
        "c": of_class(complex),
        "U": (
            "text is no number",
            "pass codes, such as np.unique(x, return_inverse=True)[1]; or close over it",
        ),
        "M": ("dates are no numbers", "pass (x - x[0]) / np.timedelta64(1, 's')"),
        "m": ("times are no numbers", "pass x / np.timedelta64(1, 's')"),
        "f": ("float32 and float64 are supported, extended precision is not", "pass x.astype(float)"),
        "V": ("records are no numbers", "pass the fields as arrays, in a dict"),
    }.get("U" if dtype.kind in "ST" else dtype.kind, ("objects are no numbers", "pass x.astype(float)"))
    if type(leaf) is int:
        cause, cure = "the integer does not fit into 64 bits", "pass float(x)"
    raise TraceError(f"cannot trace an array of dtype {dtype}" + _at(path), cause=cause, cure=cure)


def _at(path: str) -> str:
    return f", at {path}" if path else ""


def argument_paths(fun: Callable[..., Any], structure: Structure) -> list[str]:
    """f(x, p), p a dict of w → ["x", "p['w']"]: for each leaf of the arguments, the Python expression for it in the
    function.
    """
    positional, keywords = structure.children
    names = [*_parameters(fun, len(positional.children)), *keywords.keys]
    parts = zip(names, (*positional.children, *keywords.children), strict=True)
    return [path for name, part in parts for path in part.paths(name)]


def parameters_of(fun: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """f(x, y=2) → {"x": …, "y": …}: the parameters of a function by name; none of one whose signature is not known."""
    try:
        return inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return {}


def _parameters(fun: Callable[..., Any], count: int) -> list[str]:
    """f(x, *rest), 3 → ["x", "rest[0]", "rest[1]"]: the function's own names of its first `count` positional
    arguments.
    """
    names: list[str] = []
    for parameter in parameters_of(fun).values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(max(0, count - len(names)))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return (names + [f"x{i}" for i in range(len(names), count)])[:count]


_SCALARS = float, np.float64, bool


def signature(args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Hashable:
    """Return a key that is equal for calls which `trace` cannot tell apart.

    It holds the structure of the containers (with the order of dicts), static values, shapes and dtypes.

    >>> signature((np.ones(3), 1.0)) == signature((np.zeros(3), 2.0)) != signature((np.ones(4), 1.0))
    True
    """
    if not kwargs:
        key: list[Any] = []
        for x in args:
            cls = type(x)
            if cls is np.ndarray:
                key += (x.dtype, x.shape)
            elif cls in _SCALARS or (cls is int and -LARGEST <= x <= LARGEST):
                key.append(cls)
            else:
                break
        else:
            return tuple(key)
    leaves, structure = flatten((tuple(args), dict(kwargs or {})))
    return structure.exact, tuple([_leaf_key(leaf) for leaf in leaves])


def _leaf_key(leaf: Any) -> Hashable:
    """2.0 → float, np.ones(3) → (float64, (3,)): all that tells calls apart by a leaf."""
    cls = type(leaf)
    if cls in _SCALARS or (cls is int and -LARGEST <= leaf <= LARGEST):
        return cls
    if cls is np.ndarray:
        return leaf.dtype, leaf.shape
    if issubclass(cls, np.generic):  # what the function may ask of it differs from an array of rank 0
        return cls
    if isinstance(leaf, Symbolic):
        return Symbolic, getattr(leaf.term, "type", None)  # logic variables have none
    array = np.asarray(leaf)
    return cls, array.dtype, array.shape


def arrays(args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> list[Any]:
    """(2.0, {"w": x}) → [array(2.0), x]: the leaves of a call's arguments as arrays, in the order of a trace's inputs.

    Symbolic arrays stay as they are. Raises what `as_array` raises.
    """
    if not kwargs:
        for x in args:
            if type(x) is not np.ndarray or x.dtype.kind not in "biuf":
                break
        else:
            return list(args)
    leaves, structure = flatten((tuple(args), dict(kwargs or {})))
    try:
        return [leaf if isinstance(leaf, Symbolic) else as_array(leaf) for leaf in leaves]
    except TraceError:
        positional, keywords = structure.children
        paths = positional.paths("args") + keywords.paths("kwargs")
        return [
            x if isinstance(x, Symbolic) else as_array(x, path) for x, path in zip(leaves, paths, strict=True)
        ]


def has_tracer(args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> bool:
    """({"w": tracer},) → True: whether a symbolic array is among the arguments or inside their containers."""
    for x in args:
        if type(x) is not np.ndarray and type(x) is not float:
            break
    else:
        if not kwargs:
            return False
    leaves, _ = flatten((tuple(args), dict(kwargs or {})))
    return any(isinstance(leaf, Symbolic) for leaf in leaves)


def handed_in(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """(x, model, np.tanh) → [model, tanh]: all that a call hands in that has state beside its arrays.

    Objects, functions, classes of containers.
    """
    _, structure = flatten((tuple(args), dict(kwargs)))
    parts = [part for _, part in structure.walk()]
    found = [part.static for part in parts if part.form is STATIC_FORM]
    return [x for x in [*found, *structure.classes()] if type(x) not in ATOMS and x is not None]
