"""What NumPy functions answer with the memory of their argument: views, the argument itself, and arrays of rank 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


@dataclass(slots=True)
class Viewing:
    """Viewing("__getitem__", (0,))(x) = x[0]: a call of a NumPy function, or method, as a function of its first
    argument.
    """

    function: Any
    args: tuple[Any, ...] = ()
    kwargs: Any = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        function = getattr(type(x), self.function) if isinstance(self.function, str) else self.function
        return np.asarray(function(x, *self.args, **(self.kwargs or {})))


@dataclass(slots=True)
class Origin:
    """y = x[1:] → parent x, view [1:]: where the memory of a traced array comes from, unless fresh, or a number.

    `cls` is the class that it shows, `guard` a cause and a cure why it must not be written to. As a view, it is `view`
    of `parent`: its term was `value` when that of `root`, the array at the end of the parents, was `seen`. Where
    `certain` is false NumPy answers with a view or a copy, depending on the layout of memory, which is not known; such
    a view is a root of its own. `lost` is the construct that wrote into one of two such arrays: the other is not read.
    Where memory lies in `rows`, as that of arrays made while tracing does, every reshaping by rows is a view.
    """

    cls: Any
    guard: Guard = None
    parent: Any = None
    root: Any = None
    view: Viewing | None = None
    seen: Any = None
    value: Any = None
    certain: bool = True
    lost: Construct | None = None
    rows: bool = False


def argument(leaf: Any, path: str) -> Origin:
    """(array, "x") → Origin guarded by "NumPy would change the caller's array, x":
    the origin of an argument's stand-in.
    """
    name = "x" if " " in path else path
    cause = f"NumPy would change the caller's array, {path}; a transformed function returns results, and changes none"
    cure = f"copy it first, {name} = {name}.copy(), or write {name} = {name} + y, which makes a new array"
    return Origin(leaf.__class__, (cause, cure))


def _splits(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether a reshaping only splits axes, so that it needs no copy, whatever the layout of memory.

    >>> _splits((6, 4), (2, 3, 4)), _splits((2, 3), (6,)), _splits((1, 6), (6, 1)), _splits((2, 0), (0,))
    (True, False, True, True)
    """
    if None in old or 0 in old:
        return True  # where an extent is not known only axes of extent 1 come and go; of no entries there is no copy
    rest = iter([n for n in new if n != 1])
    for n in old:
        product = 1
        while product < n:
            product *= next(rest, n + 1)
        if product != n and n:
            return False
    return True


def _is_array(x: Any) -> bool:
    return isinstance(x, Symbolic) and not x.is_number  # type: ignore[attr-defined]


def _rank(x: Any) -> int | None:
    """Return the rank of a result; None for patterns of relations, which have no memory, and for plain values."""
    type_ = getattr(getattr(x, "term", None), "type", None)
    return len(type_.shape) if isinstance(type_, ArrayType) else None


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """((x, 0), {}) → x, (0,), {}: the first argument, though it may be given by name, and the others."""
    if args:
        return args[0], args[1:], kwargs
    name = next(iter(kwargs))
    return kwargs[name], (), {k: v for k, v in kwargs.items() if k != name}


def _view(
    function: Any,
    args: Any,
    kwargs: Any,
    y: Any,
    guard: Guard = None,
    certain: bool = True,
) -> Any:
    """(reshape, (x, 6), {}, y) → y with origin (x, reshape to 6):
    makes a result a view of the first argument, if an array.
    """
    if _rank(y) is None:
        return y
    x, rest, options = _argument(args, kwargs)
    if _is_array(x):
        at = x.origin
        root = at.root if at is not None and at.view is not None and at.certain else x
        view: Any = object.__new__(type(y))
        viewing = Viewing(function, rest, options)
        view.origin = Origin(np.ndarray, guard, x, root, viewing, root.state, y.term, certain)
        view.parts = None
        return view
    if guard is not None:
        y.origin = Origin(np.ndarray, guard)
    return y


def entries_of(x: Any, y: Any) -> Any:
    """x, x.reshape(-1) → that as a view of x, whatever the layout of memory."""
    return _view("reshape", (x, -1), {}, y)


def _entry_or_view(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    return _view(function, args, kwargs, y) if _rank(y) else y


def _item(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    """x[0:2] → a view of x, x[0] → a number of a vector, x[[0, 1]] → a copy."""
    x, key = args
    entries = key if type(key) is tuple else (key,)
    if not _rank(y) and not any(e is Ellipsis for e in entries):
        return y  # a number
    if not is_basic(entries):
        return y
    return _view(function, args, kwargs, y) if _is_array(x) else _array(function, args, kwargs, y)


def is_basic(entries: Sequence[Any]) -> bool:
    """[2, :, None] → True, [[0, 1]] → False: whether what the entries of a key choose is a view."""
    return all(e is None or e is Ellipsis or isinstance(e, slice) or _is_integer(e) for e in entries)


def is_traced(entries: tuple[Any, ...]) -> bool:
    """(2, x) → True: whether something is traced in the entries of a key, or among arguments."""
    return any(is_traced(e) if isinstance(e, tuple) else isinstance(e, Symbolic) for e in entries)


def _is_integer(e: Any) -> bool:
    """2 → True, array(2) → True, True, [2] → False: whether an entry of a key is one integer."""
    if type(e) is int:
        return True
    if isinstance(e, (Symbolic, np.ndarray)):
        return np.ndim(e) == 0 and e.dtype.kind in "iu"  # type: ignore[attr-defined]
    return not isinstance(e, (bool, np.bool_, list, tuple))


def _reshaped(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    """x.reshape(6) → a view, certain where axes are only split, or the layout is known."""
    x, rest, options = _argument(args, kwargs)
    if _rank(y) is None or not _is_array(x):
        return y
    laid = _layout(x)
    order = options.get("order", rest[1] if function is np.reshape and len(rest) > 1 else "C")
    if laid is not None:
        return _known_view(function, args, kwargs, y, laid, lambda: laid.reshape(y.shape, order=order))
    backwards = -1 if order == "F" else 1
    certain = _splits(x.shape[::backwards], y.shape[::backwards])
    return _view(function, args, kwargs, y, certain=certain)


def _raveled(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    """x.ravel() → a view where the layout is known to be in rows, else uncertain."""
    x, rest, options = _argument(args, kwargs)
    if _rank(y) is None or not _is_array(x):
        return y
    laid = _layout(x)
    if laid is not None:
        return _known_view(function, args, kwargs, y, laid, lambda: laid.ravel(*rest, **options))
    # Unlike x.reshape(-1), x.ravel() copies what has gaps: a view is one along a single axis of memory of its own.
    return _view(function, args, kwargs, y, certain=0 in x.shape or all(n == 1 for n in x.shape))


def _layout(x: Any) -> np.ndarray | None:
    """np.zeros((2, 3)).T → an array that lies so in memory, argument → None:
    the layout of a traced array, where it is known.

    Of arrays that are made row by row while tracing, those along a single axis, and the views of them that hold no
    traced
    index.
    """
    at = x.origin
    if None in x.shape:
        return None
    if at is None or at.view is None:
        return np.empty(x.shape, bool) if _is_line(x) or (at is not None and at.rows) else None
    if not at.certain or is_traced((*at.view.args, *(at.view.kwargs or {}).values())):
        return None
    laid = _layout(at.parent)
    return None if laid is None else at.view(laid)


def _is_ordered(x: Any, order: Any) -> bool | None:
    """Whether `np.asarray(x, order=order)` is x; None where the layout of memory decides, which is not known."""
    laid = _layout(x)
    if order in (None, "K") or 0 in x.shape:
        return True
    return None if laid is None else np.asarray(laid, order=order) is laid


def _is_line(x: Any) -> bool:
    return sum(n != 1 for n in x.shape) <= 1


def ordered(x: Any, order: Any) -> Any:
    """Return `np.asarray(x, order=order)`: the array itself if it lies so in memory, or else a copy."""
    same = _is_ordered(x, order) if _is_array(x) else True
    if same is None:
        return _view("__getitem__", (x, Ellipsis), {}, x, certain=False)
    return x if same else np.copy(x, order)


def _known_view(function: Any, args: Any, kwargs: Any, y: Any, laid: np.ndarray, call: Any) -> Any:
    """(ravel, x.T) → a copy, (ravel, x) → a view: the result as NumPy answers for an array that lies so in memory."""
    made = call()
    if np.may_share_memory(made, laid) or not made.size:
        return _view(function, args, kwargs, y)
    if made.ndim:
        y.origin = Origin(np.ndarray, rows=made.flags.c_contiguous)
    return y


def _protected(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    x = _argument(args, kwargs)[0]
    is_view = function is not np.diag or np.ndim(x) > 1
    return _view(function, args, kwargs, y, guard=PROTECTED) if is_view else y


def _each(function: Any, args: Any, kwargs: Any, result: Any) -> Any:
    """np.atleast_1d(x, y) → views of x, and of y."""
    several = isinstance(result, (tuple, list))
    # Of a plain array among the arguments the result is a view of that array.
    found = [
        _view(function, (x,), kwargs, y, guard=None if isinstance(x, Symbolic) else PROTECTED)
        for x, y in zip(args, result if several else [result], strict=True)
    ]
    return type(result)(found) if several else found[0]


def _spread(function: Any, args: Any, kwargs: Any, result: Any) -> Any:
    """np.broadcast_arrays(x, y), np.meshgrid(x, y, copy=False) → protected views of both; fresh arrays otherwise."""
    certain = function is np.broadcast_arrays
    if not certain and kwargs.get("copy", True):
        return result
    return type(result)(
        [
            _view(np.broadcast_to, (x, y.shape), {}, y, guard=PROTECTED, certain=certain)
            for x, y in zip(args, result, strict=True)
        ]
    )


def _sum_of_one(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    is_view = len(args) == 2 and _rank(y)
    return _view(function, args[1:], kwargs, y, certain=False) if is_view else y


def _same(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    x = _argument(args, kwargs)[0]
    return (
        x if _rank(y) is not None and _is_array(x) and y.term is x.term else _kept(function, args, kwargs, y)
    )


def _converted(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    """x.astype(float, copy=False) → x where it is of that dtype, else a copy."""
    options = dict(zip(("dtype", "order", "casting", "subok", "copy"), args[1:], strict=False)) | kwargs
    if options.get("copy", True):
        return _kept(function, args, kwargs, y)
    made = _same(function, args, kwargs, y)
    return ordered(made, options.get("order")) if made is args[0] else made


def _kept(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    return _array(function, args, kwargs, y) if _is_array(_argument(args, kwargs)[0]) else y


def _copied(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    """x.copy() → rows, np.copy(x) → as x lies: gives a copy memory in the order that is asked for."""
    x, rest, options = _argument(args, kwargs)
    if _rank(y) is None or not (_is_array(x) or function is np.copy):
        return y
    order = rest[0] if rest else options.get("order", "C" if function == "copy" else "K")
    laid = _layout(x) if _is_array(x) else None
    rows = order == "C" or _is_line(y) if laid is None else np.array(laid, order=order).flags.c_contiguous
    y.origin = Origin(np.ndarray, rows=rows)
    return y


def _array(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    if _rank(y) == 0:
        y.origin = Origin(np.ndarray)
    return y


def _zeros(function: Any, args: Any, kwargs: Any, y: Any) -> Any:
    if _rank(y) is not None and _is_array(_argument(args, kwargs)[0]):
        y.origin = Origin(np.ndarray, PROTECTED)
    return y


_ASTYPE = [np.astype] if hasattr(np, "astype") else []  # since NumPy 2.1

SHARING: dict[Any, Callable[..., Any]] = {
    **dict.fromkeys(["transpose", "swapaxes", "squeeze", np.transpose, np.permute_dims, np.swapaxes], _view),
    **dict.fromkeys([np.moveaxis, np.expand_dims, np.squeeze], _view),
    np.flip: _entry_or_view,
    "__getitem__": _item,
    **dict.fromkeys(["reshape", np.reshape], _reshaped),
    **dict.fromkeys(["ravel", np.ravel], _raveled),
    **dict.fromkeys(["diagonal", np.diagonal, np.diag, np.broadcast_to], _protected),
    np.lib.stride_tricks.sliding_window_view: _protected,
    **dict.fromkeys([np.atleast_1d, np.atleast_2d, np.atleast_3d], _each),
    **dict.fromkeys([np.broadcast_arrays, np.meshgrid], _spread),
    np.einsum: _sum_of_one,
    **dict.fromkeys(["conj", "conjugate", np.diff], _same),
    **dict.fromkeys(["astype", *_ASTYPE], _converted),
    **dict.fromkeys(["copy", np.copy], _copied),
    np.imag: _zeros,
    **dict.fromkeys([np.full_like, np.zeros_like, np.ones_like, np.empty_like, np.full], _array),
    **dict.fromkeys([np.zeros, np.ones, np.empty, np.roll, np.tile, np.pad, np.where, np.cross], _array),
}
"""How the results of functions, and of methods by name, are given the memory that NumPy's have.

Where nothing is said a result has memory of its own, or is a number if its rank is 0.
"""
