"""Entries that a traced mask chooses, as long as nobody asks how many they are.

    np.sum(np.log(x[x > 0]))   ↦   np.sum(np.log(x), where=x > 0)

Functions of entries, of what one mask has chosen, give what the same mask chooses; reductions over all of it, and
writing it to where the mask is true, need no shape. Whatever else is asked, the mask is decided first.

Outside the mask a function may leave its domain, where the entry that the mask chooses first takes the others' place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.implementations import IMPLEMENTATIONS
from relgrad.op import as_term, is_constant
from relgrad.ops.casting import cast
from relgrad.trace.decisions import decided, is_deciding, known
from relgrad.trace.dispatch import QUERIES, call_method
from relgrad.trace.tracer import OPERATORS, Tracer, wrap
from relgrad.trace.views import Origin
from relgrad.types import ArrayType

_REDUCTIONS = {
    f.__name__: f for f in (np.sum, np.prod, np.mean, np.any, np.all, np.var, np.std, np.max, np.min)
}
SMALL = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
"""A function of entries that has a pole, or an end of its domain, has it at one of these as a rule."""
_OF_SOME = frozenset(("mean", "var", "std", "max", "min"))
"""Reductions that have no value for no entries: whether there are any is decided."""
_EXTREMES = {"max": -np.inf, "min": np.inf}


class Masked(Tracer):
    """x[x > 0] → whole x, mask x > 0: a vector of chosen entries; if `filled`, its functions are defined outside the
    mask, too.
    """

    __slots__ = ("filled", "mask", "whole")

    def __init__(self, whole: Any, mask: Any, filled: bool = False):
        self.whole, self.mask, self.filled = whole, mask, filled
        self.origin, self.parts = Origin(np.ndarray), None

    def _read(self) -> Any:
        """x[mask] → x[[0, 2]]: the term with the mask decided, and all that was written to it since."""
        if self.parts is not None:
            return super()._read()
        self.term = as_term(call_method("__getitem__", (self.whole, decided(self.mask)), {}))
        return self.term

    @property
    def pending(self) -> bool:
        """→ True until the term is asked for: whether the mask has not been decided."""
        if self.parts is not None:
            return False
        try:
            object.__getattribute__(self, "term")
        except AttributeError:
            return True
        return False

    def under(self, mask: Any) -> Any:
        return self.whole if mask is self.mask and self.pending else None

    @property
    def dtype(self) -> np.dtype:
        return self.whole.type.dtype

    @property
    def ndim(self) -> int:
        return 1

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        found = _entrywise(ufunc, inputs) if method == "__call__" and not kwargs else None
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs) if found is None else found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """np.sum(x[mask]) → np.sum(x, where=mask), others with the mask decided."""
        name = getattr(function, "__name__", "")
        if args and args[0] is self and _REDUCTIONS.get(name) is function:
            found = _reduced(self, name, args[1:], kwargs)
            if found is not None:
                return found
        return super().__array_function__(function, types, args, kwargs)


def _chosen(x: Any, key: Any) -> Any:
    """(x, x > 0) → Masked(x, x > 0): x[mask] for a traced mask of the shape of x; NotImplemented for others.

    Its values are not known without the arguments.
    """
    if not is_deciding() or isinstance(x, Masked) or x.kind is None or key.dtype.kind != "b":
        return NotImplemented
    if not key.ndim or key.shape != x.shape or None in key.shape or known(key.term) is not None:
        return NotImplemented
    return Masked(x.term, key.term)


def _entrywise(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """log(x[m]) → log(x)[m]: a function of entries of what one mask has chosen; None unless it has chosen all operands.

    Numbers may stand among these.
    """
    chosen = [x for x in inputs if isinstance(x, Masked)]
    builder = IMPLEMENTATIONS.get(ufunc)
    if (
        builder is None
        or ufunc.nout != 1
        or ufunc.signature is not None
        or not all(x.pending for x in chosen)
    ):
        return None
    if len({x.mask for x in chosen}) != 1 or len({x.whole.type.shape for x in chosen}) != 1:
        return None
    if any(np.ndim(x) for x in inputs if not isinstance(x, Masked)):
        return None
    whole = as_term(wrap(builder(*[wrap(x.whole) if isinstance(x, Masked) else x for x in inputs])))
    filled = all(x.filled for x in chosen)
    if not filled and _leaves_domain(whole, [x.whole for x in chosen]):
        whole = as_term(wrap(builder(*[wrap(_filled(x)) if isinstance(x, Masked) else x for x in inputs])))
        filled = True
    return Masked(whole, chosen[0].mask, filled)


def _leaves_domain(t: Any, operands: list[Any]) -> bool:
    """log(x) → True, x² → False: whether a function of operands has no value, or an infinite one, for some of
    theirs.
    """
    stack = [t]
    for node in stack:
        if not all(isinstance(x.type, ArrayType) for x in node.rands):
            return True  # one of several results
        if node.rands and not _is_total(node.op, tuple([_number(x) for x in node.rands])):
            return True
        stack += [x for x in node.rands if x.rands and x not in operands]
    return False


def _number(t: Any) -> Any:
    return t.op.value.item() if is_constant(t) and t.type.size == 1 else t.type.dtype


@lru_cache(maxsize=4096)
def _is_total(op: Any, operands: tuple[Any, ...]) -> bool:
    """(exp, (float64,)) → True, (log, (float64,)) → False:
    whether a function of entries is finite at all small numbers.

    Zero among them, of the dtypes of its operands.
    """
    if not op.elementwise:
        return True
    axes = [SMALL.astype(x) if isinstance(x, np.dtype) else np.array([x]) for x in operands]
    grid = np.meshgrid(*axes, indexing="ij")
    try:
        with np.errstate(all="ignore"):
            found = op.compute(*grid)
    except ValueError:  # as of integers to negative powers
        return False
    return bool(np.all(np.isfinite(found)))


def _filled(x: Masked) -> Any:
    """x[m] → where(m, x, x[first of m]): the whole array with the first chosen entry wherever the mask is false."""
    if x.filled:
        return x.whole
    mask, whole = Tracer(x.mask), Tracer(x.whole)
    first = whole.reshape(-1)[np.argmax(mask.reshape(-1))]  # type: ignore[call-overload]
    one = np.ones((), x.dtype)
    return as_term(np.where(mask, whole, np.where(np.any(mask), first, one)))


def _reduced(x: Masked, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(sum, x[m]) → sum(x, where=m): a reduction over all that a mask chooses; None where its options need the
    shape.
    """
    options = kwargs | ({"axis": args[0]} if args else {})
    if len(args) > 1 or not x.pending or options.pop("axis", None) not in (None, 0, -1):
        return None
    if set(options) - ({"ddof"} if name in ("var", "std") else set()):
        return None
    mask = Tracer(x.mask)
    if name in _OF_SOME and not bool(np.any(mask)):
        return None
    if name in _EXTREMES:
        if x.dtype.kind != "f":
            return None
        options["initial"] = _EXTREMES[name]
    return _REDUCTIONS[name](Tracer(x.whole), where=mask, **options)


def _method(name: str) -> Callable[..., Any]:
    """sum → (x[m].sum() = np.sum(x, where=m), or with the mask decided)."""
    general = getattr(Tracer, name)

    def method(self: Masked, *args: Any, **kwargs: Any) -> Any:
        found = _reduced(self, name, args, kwargs)
        return general(self, *args, **kwargs) if found is None else found

    method.__name__, method.__qualname__, method.__doc__ = name, f"Masked.{name}", general.__doc__
    return method


def _in_place(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    """(add, np.add) → (x[m] += y ⟶ whole x + y): the in-place operator of what a mask has chosen."""
    general = getattr(Tracer, f"__i{name}__")

    def method(self: Masked, other: Any) -> Any:
        """(x[m], y) → x[m] with whole = x + y, or with the mask decided."""
        found = _entrywise(ufunc, (self, other)) if self.pending else None
        if found is None or not np.can_cast(found.dtype, self.dtype, "same_kind"):
            return general(self, other)
        self.whole, self.filled = as_term(cast(found.whole, self.dtype)), found.filled
        return self

    method.__name__, method.__qualname__ = f"__i{name}__", f"Masked.__i{name}__"
    return method


for _name in _REDUCTIONS:
    setattr(Masked, _name, _method(_name))
for _name, _ufunc in OPERATORS.items():
    setattr(Masked, f"__{_name}__", getattr(np.lib.mixins.NDArrayOperatorsMixin, f"__{_name}__"))
    setattr(Masked, f"__i{_name}__", _in_place(_name, _ufunc))
QUERIES[np.ndarray, "mask"] = _chosen
