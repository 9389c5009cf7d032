"""What NumPy functions answer with the memory of their argument: views, the argument itself, and arrays of rank 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgrad.op import Symbolic
from relgrad.trace.construct import Construct
from relgrad.types import ArrayType

Guard = tuple[str, str] | None
"""A cause and a cure, why an array must not be written to."""

PROTECTED = (
    "NumPy answers with a view that is read only",
    "copy it first, x = x.copy(), or write x = x + y, which makes a new array",
)

_ASTYPE = [np.astype] if hasattr(np, "astype") else []  # since NumPy 2.1
_COPIES = frozenset(["astype", *_ASTYPE])
_NUMBERS = frozenset([np.flip, np.fliplr, np.flipud])
"""Views that are numbers where they have rank 0."""


@dataclass(frozen=True, slots=True)
class Viewing:
    """A call of a NumPy function, or of the array method of a name, as a function of its first argument.

    Of several results it gives the one named by `part`.
    """

    function: Any
    args: tuple[Any, ...] = ()
    kwargs: Any = None
    part: int | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        kwargs = self.kwargs or {}
        if isinstance(self.function, str):
            result = getattr(x, self.function)(*self.args, **kwargs)
        else:
            result = self.function(x, *self.args, **kwargs)
        return np.asarray(result if self.part is None else result[self.part])


@dataclass(slots=True)
class Origin:
    """Where the memory of a traced array comes from, if it is not an array of its own.

    `cls` is the class that it shows (None: that of its rank and dtype). `guard` is a cause and a cure why it must not
    be written to. As a view, it is `view` of `parent`, whose term was `seen` when its own was `value`. Where `certain`
    is false NumPy answers with a view or a copy, depending on the layout of memory, which is not known; `lost` is the
    construct that wrote into one of two such arrays, so that the other cannot be read.
    """

    cls: Any = None
    guard: Guard = None
    parent: Any = None
    view: Viewing | None = None
    seen: Any = None
    value: Any = None
    certain: bool = True
    lost: Construct | None = None


def argument(leaf: Any, path: str) -> Origin:
    """Return the origin of what stands for an argument: NumPy would write into the caller's array."""
    name = "x" if " " in path else path
    cause = f"NumPy would change the caller's array, {path}; a transformed function returns results, and changes none"
    cure = f"copy it first, {name} = {name}.copy(), or write {name} = {name} + y, which makes a new array"
    return Origin(leaf.__class__, (cause, cure))


def _splits(old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether a reshaping only splits axes, so that it needs no copy, whatever the layout of memory.

    >>> _splits((6, 4), (2, 3, 4)), _splits((2, 3), (6,)), _splits((1, 6), (6, 1))
    (True, False, True)
    """
    rest = iter([n for n in new if n != 1])
    for n in old:
        product = 1
        while product < n:
            product *= next(rest, n + 1)
        if product != n and n:
            return False
    return True


_VIEWS: dict[Any, str] = {
    **dict.fromkeys(["transpose", "swapaxes", "squeeze", np.transpose, np.permute_dims, np.swapaxes], "view"),
    **dict.fromkeys([np.matrix_transpose, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze], "view"),
    **dict.fromkeys([np.flip, np.fliplr, np.flipud, np.real], "view"),
    **dict.fromkeys(["reshape", "ravel", np.reshape, np.ravel], "reshape"),
    **dict.fromkeys(["conj", "conjugate", "astype", *_ASTYPE, np.linalg.matrix_power, np.diff], "same"),
    **dict.fromkeys(["diagonal", np.diagonal, np.linalg.diagonal, np.diag, np.broadcast_to], "protected"),
    **dict.fromkeys([np.split, np.array_split, np.vsplit, np.hsplit], "parts"),
    **dict.fromkeys([np.atleast_1d, np.atleast_2d, np.atleast_3d], "each"),
    **dict.fromkeys([np.broadcast_arrays, np.meshgrid], "each, protected"),
    np.einsum: "perhaps",
    "__getitem__": "item",
    np.imag: "zeros",
}
"""What may share memory with an argument, and how; the results of everything else are arrays of their own."""

_RANK_0 = {
    *(
        np.copy,
        np.full_like,
        np.zeros_like,
        np.ones_like,
        np.empty_like,
        np.full,
        np.zeros,
        np.ones,
        np.empty,
    ),
    *(np.roll, np.tile, np.pad, np.where, np.tensordot, np.linalg.tensordot, np.cross),
}
"""What answers with an array of rank 0, where everything else answers with a number."""

_KEEPS = {"copy", "astype", "conj", "conjugate", *_ASTYPE}
"""What answers with an array of rank 0 if its argument is one."""

SHARING = frozenset([*_VIEWS, *_RANK_0, *_KEEPS])
"""Functions, and names of methods, whose results need `shared`."""


def shared(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Return what a call on traced arrays answers, with the memory that NumPy's answer has."""
    some = result[0] if type(result) in (tuple, list) and result else result
    if not isinstance(getattr(getattr(some, "term", None), "type", None), ArrayType):
        return result  # a pattern of a relation, which has no memory
    how = _VIEWS.get(function, "")
    if how == "parts":
        return [_view(function, args, kwargs, x, part=i) for i, x in enumerate(result)]
    if how.startswith("each"):
        several = isinstance(result, (tuple, list))
        found = [
            _each(function, x, y, how, kwargs)
            for x, y in zip(args, result if several else [result], strict=True)
        ]
        return type(result)(found) if several else found[0]
    if not isinstance(result, Symbolic):
        return result
    x = args[0] if args else next(iter(kwargs.values()))
    if not result.ndim and (function in _RANK_0 or (function in _KEEPS and _is_array(x))):
        result.origin = Origin(np.ndarray)
    if how == "same" and _is_array(x) and result.term is x.term:
        return x if function not in _COPIES or not kwargs.get("copy", True) else result
    if how == "view":
        return _view(function, args, kwargs, result)
    if how == "item":
        return _item(args, result)
    if how == "reshape":
        order = kwargs.get("order", "C")
        old, new = (x.shape, result.shape) if _is_array(x) else ((), ())
        if order == "F":
            old, new = old[::-1], new[::-1]
        return _view(function, args, kwargs, result, certain=_splits(old, new))
    if how == "protected" and (function is not np.diag or np.ndim(x) > 1):
        return _view(function, args, kwargs, result, guard=PROTECTED)
    if how == "zeros" and _is_array(x):
        result.origin = Origin(np.ndarray, PROTECTED)
    if how == "perhaps" and len(args) == 2 and result.ndim:
        return _view(function, (args[1],), kwargs, result, certain=False)
    return result


def _is_array(x: Any) -> bool:
    return isinstance(x, Symbolic) and issubclass(x.__class__, np.ndarray)


def _view(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    part: int | None = None,
    guard: Guard = None,
    certain: bool = True,
) -> Any:
    """Return a result as a view of the first argument, if that is an array."""
    x, rest, options = _first(args, kwargs)
    if not _is_array(x):
        if guard is not None:
            result.origin = Origin(np.ndarray, guard)
        return result
    if function in _NUMBERS and not result.ndim:
        return result
    view = type(result)(None)
    view.origin = Origin(
        np.ndarray, guard, x, Viewing(function, rest, options, part), x.term, result.term, certain
    )
    del view.term
    return view


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    if args:
        return args[0], args[1:], kwargs
    name = next(iter(kwargs))
    return kwargs[name], (), {k: v for k, v in kwargs.items() if k != name}


def _each(function: Any, x: Any, y: Any, how: str, kwargs: dict[str, Any]) -> Any:
    if how == "each":
        # Of a plain array among the arguments the result is a view of the caller's memory.
        return _view(function, (x,), {}, y, guard=None if isinstance(x, Symbolic) else PROTECTED)
    if function is np.meshgrid and kwargs.get("copy", True):
        return y
    return _view(np.broadcast_to, (x, y.shape), {}, y, guard=PROTECTED, certain=function is not np.meshgrid)


def _item(args: tuple[Any, ...], result: Any) -> Any:
    x, key = args
    entries = key if isinstance(key, tuple) else (key,)
    if not result.ndim and not any(e is Ellipsis for e in entries):
        return result  # a number
    if not all(e is None or e is Ellipsis or isinstance(e, slice) or _is_integer(e) for e in entries):
        return result
    if not _is_array(x) and not result.ndim:
        result.origin = Origin(np.ndarray)
        return result
    return _view("__getitem__", args, {}, result)


def _is_integer(e: Any) -> bool:
    """Whether an entry of a key is one integer: arrays of rank 0 are, booleans are not."""
    if isinstance(e, (Symbolic, np.ndarray)):
        return np.ndim(e) == 0 and e.dtype.kind in "iu"
    return not isinstance(e, (bool, np.bool_, list, tuple))
