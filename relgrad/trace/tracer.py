"""The tracer: an array that records, through NumPy's own protocols, what plain NumPy code does to it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from relgrad.errors import RelationError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.looks import plain, shortened
from relgrad.op import Symbolic, as_term
from relgrad.ops.creation import holds_symbolic, stack_nested
from relgrad.symbolic import tracing
from relgrad.term import Unknown, is_term
from relgrad.trace.cures import ATTRIBUTES
from relgrad.trace.decisions import attempted, computed
from relgrad.trace.dispatch import (
    FOLDS,
    asked,
    call_function,
    call_method,
    call_ufunc,
    of_constants,
    of_operands,
)
from relgrad.trace.handle import Handle
from relgrad.trace.keys import settled
from relgrad.trace.library import is_librarys
from relgrad.trace.namespace import Namespace
from relgrad.trace.parts import folded
from relgrad.trace.refusal import (
    forgive,
    function_name,
    refuse,
    refuse_attribute,
    refuse_because,
    refuse_operand,
    refuse_output,
    refuse_write,
)
from relgrad.trace.valueless import Text
from relgrad.trace.views import SHARING, entries_of
from relgrad.types import ArrayType


class Tracer(Handle, np.lib.mixins.NDArrayOperatorsMixin):
    """np.sin(Tracer(x)) → Tracer(sin(x)): a symbolic array:
    a handle of a term, or in a relation of a pattern or a variable.
    """

    __slots__ = ()
    __array_priority__ = 1000

    @property
    def family(self) -> type:
        return Tracer

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """np.add(x, 1) → Tracer(x + 1), np.add(x, 1, out=y) → y written to, np.multiply(known, 1j) → NumPy's own."""
        try:
            return self._ufunc(ufunc, method, inputs, dict(kwargs))
        except TraceError as error:
            forgive(error)
            whole = ufunc if method == "__call__" else getattr(ufunc, method)
            result = of_constants(whole, inputs, kwargs)
            return refuse(error) if result is NotImplemented else result

    def _ufunc(self, ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
        """np.add, "__call__", (x, 1) → Tracer(x + 1): a call of a ufunc, or of one of its methods, traced."""
        index = 1 if method == "at" else None  # a tuple of indices is one for each axis, and no array
        inputs = tuple([x if type(x) in _PLAIN or i == index else _operand(x) for i, x in enumerate(inputs)])
        if not kwargs and method == "__call__":
            builder = IMPLEMENTATIONS.get(ufunc)
            if builder is not None:
                return wrap(of_operands(builder, ufunc, inputs))
        out: tuple[Any, ...] = kwargs.pop("out", None) or ()
        if any(x is not None for x in out):
            mask = kwargs.pop("where", True) if method == "__call__" else True
            mask = True if mask is np._NoValue else mask
            if mask is not True:  # what is not computed does not warn
                inputs = tuple(
                    [x if type(x) in (int, float) else np.where(mask, x, np.ones_like(x)) for x in inputs]
                )
            casting = kwargs.pop("casting") if kwargs.get("casting") == "unsafe" else "same_kind"
            if method in FOLDS and kwargs.get("dtype") is None and _are_floats(out[0], inputs[0]):
                kwargs["dtype"] = out[0].dtype  # a fold computes as what it is written to
            result = self._ufunc(ufunc, method, inputs, kwargs)
            if mask is not True:  # elsewhere the entries stay as they are
                result = _each(lambda y, x: np.where(mask, y, x), result, out)
            return _into(out, result, ufunc, casting, method == "__call__" and ufunc.signature is None)
        return wrap(call_ufunc(ufunc, method, inputs, kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """np.sum(x) → Tracer(Σ x), by the builder of the function; views share memory."""
        for cls in types:
            if cls is Tracer or cls is np.ndarray:
                continue
            if issubclass(cls, (np.matrix, np.ma.MaskedArray)):
                refuse_operand(cls)
            if not issubclass(cls, (Symbolic, np.ndarray)):
                return NotImplemented
        if kwargs.get("out") is not None:
            return _computed_into(
                function, lambda **k: self.__array_function__(function, types, args, k), kwargs
            )
        result = wrap(call_function(function, args, kwargs))
        memory = SHARING.get(function)
        return result if memory is None else memory(function, args, kwargs, result)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a result as NumPy's functions hand it over to the class of their argument."""
        return array

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return _NAMESPACE

    # What is known of the array

    @property
    def _type(self) -> ArrayType:
        """x → float64 (3,); raises RelationError for a logic variable."""
        type_ = self.kind
        if isinstance(type_, ArrayType):
            return type_
        raise RelationError(
            "a logic variable has no shape, rank or dtype",
            cause="a relation holds for every shape",
            cure="make the axis a parameter of the relation, and use keepdims=True instead of shapes",
        )

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents: integers, and None where one is not known."""
        return self._type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        refuse_write("x.shape is given another value", "write x = x.reshape(shape)")

    @property
    def ndim(self) -> int:
        return len(self._type.shape)

    @property
    def dtype(self) -> np.dtype:
        return self._type.dtype

    @property
    def size(self) -> int:
        """x : (2, 3) → 6; raises TraceError where an extent is unknown."""
        size = self._type.size
        if size is None:
            raise TraceError(
                f"the number of entries of an array of shape {self._type.shape} is not known",
                cause="an extent is unknown while the graph is built",
                cure="use np.mean, np.sum(np.ones_like(x)), or state the extent",
            )
        return size

    @property
    def itemsize(self) -> int:
        return self._type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def mT(self) -> Any:
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> Any:
        return self

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @property
    def flat(self) -> Any:
        """x.flat[k] = v → x[i, j] = v: the entries row by row, whatever the layout of memory."""
        return entries_of(self, Flat(self.reshape(-1).term))

    @flat.setter
    def flat(self, values: Any) -> None:
        np.put(self, np.arange(self.size), values)  # type: ignore[arg-type]

    @property
    def flags(self) -> Any:
        """The layout of a fresh array, for a library's own code, whose results do not hang on it; refused otherwise."""
        ours = is_librarys(sys._getframe(1).f_globals.get("__name__"))
        return np.empty((1,) * self.ndim).flags if ours else refuse_attribute("flags")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        return self

    # Python's own protocols

    def __repr__(self) -> str:
        """→ "Tracer(exp(x) + 1.0, float64, (3,))"; in a trace without that, or its value if the call tells it."""
        type_ = self.kind
        if not isinstance(type_, ArrayType):
            return f"Tracer({self.term})"
        value = self._shown()
        if value is not None:
            return Text(repr(value))
        kind = repr(type_).removeprefix("ArrayType(")
        if tracing.wrapper is not None:
            return f"Tracer({kind}"
        expression = plain(self).splitlines()[0]
        return f"Tracer({shortened(expression, 60)}, {kind}"

    def __len__(self) -> int:
        """x : (2, 3) → 2; raises TraceError for numbers, and unknown extents."""
        shape = self.shape
        if not shape:
            raise TraceError(
                "an array of rank 0 has no length",
                cause="it is a number",
                cure="use x.ndim or np.size(x) to tell numbers from vectors, or np.atleast_1d(x)",
            )
        if shape[0] is None:
            raise TraceError(
                "the length of a traced array is not known",
                cause="its first extent is unknown while the graph is built",
                cure="use functions of the whole array instead of a Python loop, or state the extent",
            )
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        n = len(self)
        # One by one, as NumPy's does: entries may be written to meanwhile.
        return (self[i] for i in range(n))

    def __getitem__(self, key: Any) -> Any:
        """x[0] → a number or a view, x[mask] → chosen entries."""
        if _is_truth(key):  # x[True] = x[None], x[False] = x[None][:0]
            return self[None][np.reshape(key, 1)]
        if isinstance(key, Symbolic):
            chosen = asked((np.ndarray, "mask"), (self, key), {})
            if chosen is not NotImplemented:
                return chosen
        key = settled(key)
        prefix = None if self.parts is None else self.own_part(key)
        part = None if prefix is None or self.parts is None else self.parts.at(prefix)
        entry = wrap(call_method("__getitem__", (self, key), {}) if part is None else part)
        return entry if type(key) is int and self.ndim == 1 else _item("__getitem__", (self, key), {}, entry)

    def __rmul__(self, other: Any) -> Any:
        """Return the product; for an integer and a list, the list repeated."""
        if isinstance(other, _SEQUENCES) and self.is_number and self.dtype.kind in "iub":
            return other * operator.index(self)
        return super().__rmul__(other)

    def __round__(self, digits: int | None = None) -> Any:
        """round(x) → a whole number, round(x, 2) → np.round(x, 2); raises TraceError for arrays."""
        if not self.is_number:
            raise TraceError(
                "arrays do not define __round__, nor do NumPy's",
                cause="the built-in round(x) is for numbers",
                cure="write np.round(x)",
            )
        rounded = wrap(call_function(np.round, (self, digits or 0), {}))
        return asked("__round__", (rounded,), {}) if digits is None else rounded

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __copy__(self) -> Tracer:
        return self.copy(order="K")

    def __deepcopy__(self, memo: Any) -> Tracer:
        return memo.setdefault(id(self), self.copy(order="K"))


class Flat(Tracer):
    """x.flat[1:] → a copy, x.flat[1:] = v → x written to: the entries of an array as NumPy's iterator has them."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """x.flat[0] → a number, x.flat[1:] → a copy."""
        y = super().__getitem__(key)
        return y.copy() if y.ndim else y

    def __setitem__(self, key: Any, value: Any) -> None:
        """x.flat[1:] = v → x[i, j] = v."""
        super().__getitem__(...)[key] = value


def _is_truth(key: Any) -> bool:
    """True, x > 0 of a number x → True: whether a key is one truth value, which chooses all of an array or nothing."""
    if isinstance(key, Tracer):
        return isinstance(key.kind, ArrayType) and key.kind.shape == () and key.kind.dtype.kind == "b"
    return isinstance(key, (bool, np.bool_))


_SEQUENCES = (list, tuple, str)
_item = SHARING["__getitem__"]
_PLAIN = frozenset((Tracer, np.ndarray, float, int, bool, np.float64, np.float32, np.int64))


def _operand(x: Any) -> Any:
    """[x, 1] → traced array, 2 → 2: an operand; raises TraceError for what would lose its meaning as an array."""
    if isinstance(x, (np.matrix, np.ma.MaskedArray)) or x is None or isinstance(x, (complex, str, bytes)):
        refuse_operand(type(x))
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        refuse_operand(type(x))
    return gathered(x) if isinstance(x, (list, tuple)) else x


def _method(name: str) -> Any:
    """sum → (x.sum(…) = np.sum(x, …)): the array method of a name."""
    memory = SHARING.get(name)

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            return _computed_into(getattr(np, name, method), lambda **k: method(self, *args, **k), kwargs)
        result = wrap(call_method(name, (self, *args), kwargs))
        return result if memory is None else memory(name, (self, *args), kwargs, result)

    method.__name__ = name
    method.__qualname__ = f"Tracer.{name}"
    method.__doc__ = f"Trace the array method `{name}`."
    return method


def _operator(name: str, ufunc: np.ufunc) -> Any:
    """(add, np.add) → (x + y = np.add(x, y)): the operator of the mixin, faster for the usual operands.

    These need no protocol.
    """
    general = getattr(np.lib.mixins.NDArrayOperatorsMixin, f"__{name}__")

    def method(self: Tracer, other: Any) -> Any:
        """(x, other) → x + other, by the builder, or by the mixin."""
        builder = IMPLEMENTATIONS.get(ufunc)
        if name == "pow" and type(other) is int and other == 2 and _are_truths(self.kind):
            return np.square(self)
        if builder is not None and type(other) in _PLAIN:
            return wrap(builder(self, other))
        if name == "mul" and isinstance(other, _SEQUENCES):
            return self.__rmul__(other)
        return general(self, other)

    method.__name__ = f"__{name}__"
    method.__qualname__ = f"Tracer.__{name}__"
    return method


def _are_truths(kind: Any) -> bool:
    """Whether an array is one of truth values, whose squares NumPy's operator gives in another dtype than powers."""
    return isinstance(kind, ArrayType) and kind.dtype.kind == "b" and kind.ndim > 0


def _are_floats(*arrays: Any) -> bool:
    return all(getattr(x, "dtype", np.dtype(bool)).kind == "f" for x in arrays)


def _in_place(name: str, ufunc: np.ufunc) -> Any:
    """(add, np.add) → (x += y): x.term = x + y, or another number of a number."""

    def method(self: Tracer, other: Any) -> Any:
        """(x, other) → x, written to; x + other of a number."""
        result = getattr(self, f"__{name}__")(other)
        if result is NotImplemented or self.is_number:
            return result
        self.update(result, ufunc)
        return self

    method.__name__ = f"__i{name}__"
    method.__qualname__ = f"Tracer.__i{name}__"
    return method


def _each(change: Callable[[Any, Any], Any], results: Any, out: tuple[Any, ...]) -> Any:
    """Return the results of a ufunc, one or several, changed where an array is given for them."""
    if not isinstance(results, tuple):
        return change(results, out[0])
    return tuple([y if x is None else change(y, x) for y, x in zip(results, out, strict=True)])


def _computed_into(function: Any, compute: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """np.dot(a, b, out=y) → y.term = a @ b: a result written into an array of its dtype and shape.

    Of a function that is no ufunc.
    """
    out = kwargs["out"]
    if type(out) is not Tracer:
        refuse_output(function_name(function))
    result = compute(**{k: v for k, v in kwargs.items() if k != "out"})
    if result.dtype != out.dtype or result.shape != out.shape:
        refuse_because(
            f"{function_name(function)} cannot be traced with this out=",
            cause=f"the result is {result.dtype} of shape {result.shape}, the array is {out.dtype} of {out.shape}",
            cure="write y[...] = the result, which converts it",
        )
    out.write(as_term(result))
    return out


def _into(out: tuple[Any, ...], result: Any, ufunc: np.ufunc, casting: str, stretch: bool) -> Any:
    """np.add(a, b, out=y) → y.term = a + b: the results of a ufunc written into the arrays that are given for them."""
    if any(x is not None and type(x) is not Tracer for x in out):
        refuse_output(function_name(ufunc))

    def written(y: Any, x: Any) -> Any:
        x.update(y, ufunc, casting, stretch)
        return x

    return _each(written, result, out)


OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}


def _refused(name: str) -> Any:
    return property(lambda self: refuse_attribute(name), doc=f"Not there: {ATTRIBUTES[name][0]}.")


for _name in dir(np.ndarray):
    if _name in ATTRIBUTES and _name != "flags":
        setattr(Tracer, _name, _refused(_name))
    elif not _name.startswith("_") and not hasattr(Tracer, _name):
        setattr(Tracer, _name, _method(_name))
for _name, _ufunc in OPERATORS.items():
    setattr(Tracer, f"__{_name}__", _operator(_name, _ufunc))
    setattr(Tracer, f"__i{_name}__", _in_place(_name, _ufunc))


def wrap(x: Any) -> Any:
    """term → Tracer, (term, 2) → (Tracer, 2): the terms of a result, in tuples and lists too, as tracers."""
    if type(x) is Tracer:
        if x.origin is None and x.parts is None:
            attempted(x.term)
            computed(x.term)
        return x
    if is_term(x):
        attempted(x)
        return Tracer(computed(folded(x)))
    if isinstance(x, Unknown):
        return Tracer(x)
    if type(x) in (tuple, list):
        return type(x)([wrap(y) for y in x])
    make = getattr(x, "_make", None) if isinstance(x, tuple) else None
    return x if make is None else make([wrap(y) for y in x])


def gathered(x: Any) -> Any:
    """[[0, x], [y, 0]] → the traced array of these entries, x → x: nested lists that hold traced arrays, as one."""
    return x if isinstance(x, Symbolic) or not holds_symbolic(x) else wrap(stack_nested(x))


_NAMESPACE = Namespace(wrap)
