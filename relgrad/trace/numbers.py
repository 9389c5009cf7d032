"""Python's own numbers among the arguments: they compute as in Python among themselves, and give way to arrays.

    True + True = 2        (a > 0) + (a > 1) = 2, at a = 2.0        np.float32([1.0]) * 2.5 is of float32

A traced number is of a class of Python's, as long as only such numbers meet. Its integers have no bound there: as far
as 62 bits are sure to hold them they are traced, and beyond that, and where Python would raise, they are decided.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from relgrad.errors import TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.op import as_term
from relgrad.ops.arguments import call
from relgrad.ops.casting import cast
from relgrad.ops.creation import holds_symbolic
from relgrad.trace.decisions import decided, is_attempted, known, value_of_call
from relgrad.trace.handle import FLOATS
from relgrad.trace.refusal import refuse_method
from relgrad.trace.tracer import OPERATORS, Tracer, wrap
from relgrad.trace.views import Origin, argument

PYTHON = (bool, int, float)
_DTYPES = {bool: np.bool_, int: np.int64, float: np.float64}
GIVEN, SURE, EXACT = 31, 62, 53
"""Bits of integers that are given, of those that are traced, and of those that floats hold."""
_WEAK = (np.where, np.clip)
"""Functions other than ufuncs in which Python's numbers give way to the dtypes of arrays."""
_COMPARISONS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
                "ne": np.not_equal}  # fmt: skip
_LOGIC = frozenset(("and", "or", "xor"))


class Number(Tracer):
    """f(2): x → Number of int, x + x → Number: a traced number of a class of Python's own.

    An integer has at most so many `bits`, None until it is asked.
    """

    __slots__ = ("bits",)

    def __init__(self, term: Any, cls: type, bits: int | None = None):
        super().__init__(term)
        self.origin, self.bits = Origin(cls), bits

    @property
    def python(self) -> type:
        """The class that it shows."""
        return self.origin.cls  # type: ignore[union-attr]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "at":  # the array that is written to keeps its dtype
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        compares = ufunc in _COMPARISONS.values()
        return super().__array_ufunc__(ufunc, method, *_weakened(inputs, not compares), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _WEAK:
            first, *rest = args
            args = (first, *_weakened(rest)) if function is np.where else _weakened(args)
        return super().__array_function__(function, types, args, kwargs)

    def __round__(self, digits: int | None = None) -> Any:
        """round(True, 1) = 1: a truth value is an integer there."""
        return Tracer.__round__(+self if self.python is bool else self, digits)  # type: ignore[operator]

    def __getattr__(self, name: str) -> Any:
        """x.bit_length → that of the decided integer, x.is_integer() → x == floor(x)."""
        if name != "term" and self.python is not float and hasattr(int, name):
            return getattr(_known(self), name)
        if name == "is_integer":
            return lambda: self == np.floor(self)
        if name in FLOATS and known(self.term) is None:
            refuse_method(name)
        return super().__getattr__(name)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(_known(self), _known(other), _known(modulus))
        return _operator("pow", False)(self, other)


def traced_argument(t: Any, leaf: Any, path: str) -> Tracer:
    """(t, 2.0, "x") → Number, (t, array, "x") → Tracer of the caller's array: a leaf's stand-in.

    Its class is the leaf's, and it is not to be written to.
    """
    if leaf.__class__ in PYTHON:
        return Number(t, leaf.__class__, 1 if leaf.__class__ is bool else None)
    x = Tracer(t)
    x.origin = argument(leaf, path)
    return x


def number(x: Any) -> Any:
    """array of rank 0 → Number of float: a number of Python's, of the dtype that those have;
    a large integer is decided.
    """
    if not isinstance(x, Tracer):
        return x.item() if isinstance(x, np.generic) else x
    cls = {"b": bool, "i": int, "u": int}.get(x.dtype.kind, float)
    if x.dtype == np.uint64 and decided(call(np.greater_equal, x.term, np.uint64(2**SURE))):
        return int(x)
    return Number(as_term(cast(x.term, _DTYPES[cls])), cls)


def _weakened(inputs: Any, integers: bool = True) -> tuple[Any, ...]:
    """(float32 array, Number 2.5) → 2.5 in float32: operands with Python's numbers in the dtypes that they take beside
    arrays.
    """
    strong = [dtype for x in inputs if not _is_python(x) and (dtype := _dtype(x)) is not None]
    if not strong:
        return tuple([Tracer(x.term) if isinstance(x, Number) else x for x in inputs])
    return tuple([_beside(x, strong, integers) if isinstance(x, Number) else x for x in inputs])


def _dtype(x: Any) -> np.dtype | None:
    """np.ones(3) → float64, [1, 2] → int64, "x" → None:
    the dtype of an array of real numbers, or of a list that is one.
    """
    found = getattr(x, "dtype", None)
    if isinstance(x, (list, tuple)) and not holds_symbolic(x):
        found = np.asarray(x).dtype
    return found if isinstance(found, np.dtype) and found.kind in "biuf" else None


def _beside(x: Number, strong: list[np.dtype], integers: bool) -> Tracer:
    """(Number 2, [float32]) → float32(2): a number in the dtype beside arrays; OverflowError where it does not fit."""
    dtype = np.result_type(*strong, x.python(1))
    if dtype == x.dtype or (dtype.kind in "iu" and not integers):
        return Tracer(x.term)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        inside = call(
            np.logical_and, call(np.less_equal, limits.min, x.term), call(np.less_equal, x.term, limits.max)
        )
        if decided(inside) is not None and not decided(inside):
            dtype.type(int(x))  # raises OverflowError, as NumPy does
    return Tracer(as_term(cast(x.term, dtype)))


def _unary(function: Callable[[Any], Any], ufunc: np.ufunc) -> Callable[[Number], Any]:
    """(neg, np.negative) → Number.__neg__: −x, +x, |x|, ~x, −True = −1; of a truth value, that of an integer."""

    def method(x: Number) -> Any:
        """x → the operator of a number; Python's where it raises, and of large integers."""
        if x.python is float:
            result = wrap(IMPLEMENTATIONS[ufunc](x.term)) if ufunc is not np.invert else function(1.0)
            return Number(as_term(result), float)
        bits = _bits(x)
        if bits is None or bits >= SURE:
            return function(_known(x))
        return Number(call(ufunc, as_term(cast(x.term, np.int64))), int, bits + 1)

    return method


for _function, _ufunc in (
    (operator.neg, np.negative), (operator.pos, np.positive), (operator.abs, np.abs), (operator.invert, np.invert),
):  # fmt: skip
    setattr(Number, f"__{_function.__name__}__", _unary(_function, _ufunc))


def _bits(x: Any) -> int | None:
    """5 → 3, Number of bool → 1: how many bits an integer has at most; None where that is not bounded."""
    if not isinstance(x, Number):
        return int(x).bit_length()
    if x.bits is None:
        small = decided(
            call(np.logical_and, call(np.less, -(2**GIVEN), x.term), call(np.less, x.term, 2**GIVEN))
        )
        x.bits = GIVEN if small is not None and small else SURE + 1
    return x.bits if x.bits <= SURE else None


def _known(x: Any) -> Any:
    """Return the Python number that the call has, which is decided."""
    if not isinstance(x, Number):
        return x
    return x.python(int(x)) if x.python is not float else x


def _integers(name: str, x: Any, y: Any) -> Any:
    """(add, x, y) → Number(x + y): an operator of two integers, or None where Python decides:
    large ones, and errors.
    """
    first, second = _bits(x), _bits(y)
    if first is None or second is None or name not in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
        return None
    bits = {"add": max(first, second) + 1, "mul": first + second, "mod": second, "floordiv": first + 1}
    bits |= {"sub": bits["add"], "truediv": max(first, second)}
    if bits[name] > (EXACT if name == "truediv" else SURE):
        return None
    if name in ("truediv", "floordiv", "mod") and not bool(y != 0):
        return None
    a, b = (as_term(cast(as_term(v), np.int64)) for v in (x, y))
    result = as_term(wrap(IMPLEMENTATIONS[OPERATORS[name]](a, b)))
    return Number(result, float) if name == "truediv" else Number(result, int, bits[name])


def _binary(name: str, x: Any, y: Any) -> Any:
    """(add, x, 2.0) → Number(x + 2.0): an operator of Python on two of its numbers, one of them traced."""
    kinds = [v.python if isinstance(v, Number) else type(v) for v in (x, y)]
    if name == "matmul":
        return NotImplemented
    if name in _COMPARISONS:
        return Number(call(_COMPARISONS[name], as_term(x), as_term(y)), bool, 1)
    if float in kinds:
        terms = [as_term(cast(as_term(v), np.float64)) for v in (x, y)]
        if name in _LOGIC or "shift" in name:
            return NotImplemented
        if name == "pow":
            _check_real(x, y)
        result = Number(as_term(wrap(IMPLEMENTATIONS[OPERATORS[name]](*terms))), float)
        return python_raises(result, _PYTHON[name], (x, y)) if name in _PARTIAL else result
    if name in _LOGIC and kinds == [bool, bool]:
        return Number(call(OPERATORS[name], as_term(x), as_term(y)), bool, 1)
    found = _integers(name, x, y)
    return _PYTHON[name](_known(x), _known(y)) if found is None else found


def _check_real(x: Any, y: Any) -> None:
    """(−8.0) ** ⅓ → TraceError: a power that is complex in Python, and NaN in NumPy."""
    base, exponent = [value_of_call(v.term) if isinstance(v, Tracer) else v for v in (x, y)]
    if base is not None and exponent is not None and base < 0 and float(exponent) % 1 > 0:
        raise TraceError(
            f"({base!r}) ** {exponent!r} is a complex number in Python",
            cause="the base is negative and the exponent no whole number; relgrad computes with real numbers",
            cure="write np.power(x, y), which is NaN there, or abs(x) ** y",
        )


def python_raises(result: Any, function: Callable[..., Any], args: Any) -> Any:
    """1.0/0.0 → ZeroDivisionError where it may be handled, else ∞: the result of a function of Python's numbers.

    Python raises where NumPy answers with infinities and NaN: `1.0 / 0.0`, `math.sqrt(-1.0)`, `math.exp(1e3)`.
    """
    if not is_attempted() or decided(call(np.isfinite, as_term(result))) in (None, True):
        return result
    traced = [x for x in args if isinstance(x, Tracer)]
    for ask in (np.isfinite, np.isnan, np.signbit):
        for x in traced:
            decided(call(ask, as_term(x)))
    function(*[value_of_call(x.term) if isinstance(x, Tracer) else x for x in args])
    return result


_PARTIAL = ("truediv", "floordiv", "mod", "pow")
"""Operators of Python's floats that may raise."""
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, f"{name}_" if name in ("and", "or") else name) for name in OPERATORS
}


def _is_python(x: Any) -> bool:
    return isinstance(x, Number) or type(x) in PYTHON


def _operator(name: str, reflected: bool) -> Callable[..., Any]:
    """(add, False) → Number.__add__: (x, y) → x + y as Python, or as an array's where y is one."""
    dunder = f"__r{name}__" if reflected else f"__{name}__"
    # What is no number meets a ufunc, in which dtypes are settled.
    general = getattr(np.lib.mixins.NDArrayOperatorsMixin, dunder)

    def method(self: Number, other: Any) -> Any:
        """(x, other) → the operator of two numbers, or the general one."""
        if name == "mul" and isinstance(other, (list, tuple, str)):
            return Tracer.__rmul__(self, other)
        if isinstance(other, Fraction) and self.python is float:
            other = float(other)  # as Python does
        if not _is_python(other):
            return general(self, other)
        return _binary(name, other, self) if reflected else _binary(name, self, other)

    method.__name__, method.__qualname__ = dunder, f"Number.{dunder}"
    return method


for _name in OPERATORS:
    if _name != "pow":
        setattr(Number, f"__{_name}__", _operator(_name, False))
    setattr(Number, f"__r{_name}__", _operator(_name, True))
for _name in _COMPARISONS:
    setattr(Number, f"__{_name}__", _operator(_name, False))
