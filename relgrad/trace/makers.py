"""Arrays made while a function is traced, of traced parts or to be written to, and functions given lists of them.

np.array([[0, -w], [w, 0]])   ↦   the traced array of these entries
y = np.zeros(3)               ↦   a traced array that depends on nothing, which traced values can be written into
np.sum([x, y])                ↦   np.sum(np.array([x, y]))
math.exp(x)                   ↦   np.exp(x)
"""

from __future__ import annotations

import builtins
import copyreg
import functools
import math
import operator
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from types import ModuleType
from typing import Any

import numpy as np
import numpy.lib._nanfunctions_impl as _nanfunctions
import scipy.special

from relgrad.errors import ShapeError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.kernels import log_softmax, logsumexp, softmax
from relgrad.op import Constant, Symbolic, as_term, constant
from relgrad.ops.casting import cast
from relgrad.ops.classical import lambertw, multigammaln, polygamma
from relgrad.ops.creation import holds_symbolic
from relgrad.symbolic import tracing
from relgrad.trace import masked, valued  # noqa: F401 - what else is traced is known when they are imported
from relgrad.trace.classes import Type
from relgrad.trace.containers import flatten
from relgrad.trace.cures import SAMPLE
from relgrad.trace.decisions import deciding, is_deciding
from relgrad.trace.dispatch import ALIASES, QUERIES, of_constants
from relgrad.trace.distributions import Distribution, Multivariate, choices
from relgrad.trace.library import Library, implementation
from relgrad.trace.matrices import COMPILED
from relgrad.trace.numbers import PYTHON, number, python_raises
from relgrad.trace.outside import ANY
from relgrad.trace.patches import Patches, StandIn
from relgrad.trace.refusal import function_name, refuse_function, tentative
from relgrad.trace.tracer import Tracer, gathered, wrap
from relgrad.trace.views import Origin, ordered

KINDS = "biuf"


def fresh(x: Any) -> Any:
    """np.zeros(3) → a traced array of zeros: a new array of NumPy's, so that traced values can be written into it."""
    if type(x) is not np.ndarray or x.dtype.kind not in KINDS or x.dtype.itemsize > 8:
        return x
    made = Tracer(constant(x))
    made.origin = Origin(np.ndarray, rows=x.flags.c_contiguous)
    return made


def _gathered(x: Any) -> Any:
    """[[0, x], [y, 0]] → the traced array of these entries, with memory of its own, as lists have it."""
    made = gathered(x)
    if made is not x:
        made.origin = Origin(np.ndarray)
    return made


def _array(
    obj: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = None,
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """np.array([x, 1]) → the traced array of them; without tracers, fresh(np.array(…))."""
    if not holds_symbolic(obj):
        return fresh(np.array(obj, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin))
    x: Any = _gathered(obj)
    if dtype is not None and np.dtype(dtype) != x.dtype:
        x = x.astype(dtype)
    elif x is obj:
        copies = (
            getattr(copy, "value", copy) is True
        )  # SciPy's own code has NumPy's private names of ways to copy
        x = np.copy(x, order or "K") if copies else ordered(x, order)
    if x.ndim == 0 and x.origin is None:  # of a number, NumPy makes an array of rank 0
        x = Tracer(x.term)
        x.origin = Origin(np.ndarray)
    return x.reshape((1,) * (ndmin - x.ndim) + x.shape) if x.ndim < ndmin else x


def _asarray(
    obj: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **options: Any
) -> Any:
    """np.asarray([x, 1]) → the traced array of them, tracers → themselves."""
    if holds_symbolic(obj):
        return _array(obj, dtype, copy=copy, order=order)
    made = np.asarray(obj, dtype, order, copy=copy, **options)
    return made if isinstance(obj, np.ndarray) else fresh(made)


def _contiguous(order: str) -> Callable[..., Any]:
    return lambda a, dtype=None, **options: np.atleast_1d(_asarray(a, dtype, order, **options))


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.zeros → (shape ↦ fresh(np.zeros(shape))): a function that makes an array of a shape, or of numbers, traced."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if "like" in kwargs:
            return function(*args, **kwargs)
        return fresh(function(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()}))

    return make


def _plain(x: Any) -> Any:
    """(tracer of 3, 2) → (3, 2): a number in place of a traced integer; arguments that are traced floats stay."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(map(_plain, x))
    if isinstance(x, Symbolic) and x.dtype.kind in "iub" and not x.shape:  # type: ignore[attr-defined]
        return operator.index(x)  # type: ignore[arg-type]
    return x


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    """np.full(3, x) → a traced array of x's; without tracers, fresh(np.full(…))."""
    if not holds_symbolic(fill_value):
        return fresh(np.full(_plain(shape), fill_value, dtype, order, **options))
    value = _gathered(fill_value)
    made: Any = np.broadcast_to(value if dtype is None else value.astype(dtype), _plain(shape)).copy()
    made.origin = Origin(np.ndarray)
    return made


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.zeros_like → (a ↦ fresh(np.zeros_like(a)), traced where a or the value is."""

    def make(a: Any, *args: Any, **kwargs: Any) -> Any:
        if holds_symbolic(a) or any(map(holds_symbolic, (*args, *kwargs.values()))):
            return function(_gathered(a) if holds_symbolic(a) else fresh(np.asarray(a)), *args, **kwargs)
        return fresh(function(a, *args, **kwargs))

    return make


def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **options: Any) -> Any:
    entries = list(iter)
    if not holds_symbolic(entries):
        return fresh(np.fromiter(entries, dtype, count, **options))
    return _array(entries if count < 0 else entries[:count], dtype)


def _ix(*args: Any) -> Any:
    return np.ix_(*[np.asarray(x) if isinstance(x, Symbolic) else x for x in args])


def _frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, **options: Any) -> Any:
    """np.frompyfunc(f, 1, 1) → x ↦ f of each entry, traced where an argument is."""
    made = np.frompyfunc(func, nin, nout, **options)

    def apply(*args: Any) -> Any:
        return entrywise(func, args) if any(map(holds_symbolic, args)) else made(*args)

    return apply


def entrywise(
    function: Callable[..., Any],
    args: Iterable[Any],
    dtypes: str | None = "",
    cores: Sequence[Sequence[str]] | None = None,
) -> Any:
    """(f, [[x, y], 2]) → [f(x, 2), f(y, 2)]: a Python function's results for the entries of broadcast arrays.

    An array, or a tuple of arrays. Their `dtypes` are given, one character for each; None stands for those of the
    results for the first entry. With `cores`, names of last axes, arrays of these take the place of entries.
    """
    arrays = [_gathered(x) if holds_symbolic(x) else np.asarray(x) for x in args]
    loops = [x.ndim for x in arrays] if cores is None else _loops(arrays, cores)
    shape = np.broadcast_shapes(*[x.shape[:n] for x, n in zip(arrays, loops, strict=True)])
    arrays = [np.broadcast_to(x, shape + x.shape[n:]) for x, n in zip(arrays, loops, strict=True)]
    results = [function(*[x[at] for x in arrays]) for at in np.ndindex(*shape)]
    if not results:
        raise TraceError(
            "a Python function of entries cannot be traced on empty arrays",
            cause="the dtype of its result is not known without calling it",
            cure="leave the call out where the array is empty",
        )
    several = isinstance(results[0], tuple)
    first = results[0] if several else results[:1]
    kinds = [np.asarray(x).dtype if not holds_symbolic(x) else _gathered(x).dtype for x in first]
    kinds = kinds if dtypes is None else list(dtypes) or [None] * len(first)
    parts = zip(*results, strict=True) if several else [results]
    made = []
    for part, kind in zip(parts, kinds, strict=True):
        core = () if cores is None else np.shape(part[0])
        made.append(_array(list(part), kind).reshape(shape + core))
    return tuple(made) if several else made[0][()]


def _loops(arrays: Sequence[Any], cores: Sequence[Sequence[str]]) -> list[int]:
    """x : (5, 3), y : (3,), n and n → 1, 0: how many axes come before those that a function has; sizes must agree."""
    if len(arrays) != len(cores):
        raise TypeError(f"np.vectorize: {len(cores)} arguments are in the signature, and {len(arrays)} given")
    sizes: dict[str, int] = {}
    for x, names in zip(arrays, cores, strict=True):
        if x.ndim < len(names):
            raise ValueError(f"np.vectorize: an argument of {x.ndim} axes has none for {', '.join(names)}")
        for name, size in zip(names, x.shape[x.ndim - len(names) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"np.vectorize: the axis {name} has {sizes[name]} entries, and {size}")
    return [x.ndim - len(names) for x, names in zip(arrays, cores, strict=True)]


class _Vectorized(StandIn):
    """np.vectorize(f)([x, y]) → [f(x), f(y)]: a function made by `np.vectorize`."""

    def __init__(self, original: Any):
        super().__init__(original, self.traced_call)

    def traced_call(self, /, *args: Any, **kwargs: Any) -> Any:
        """([x, y],) → [f(x), f(y)]: the results for the entries of broadcast arrays, joined."""
        values, made = (*args, *kwargs.values()), self.original
        if not any(map(holds_symbolic, values)):
            with suppress(TraceError), tentative():  # unless the function has traced values
                return made(*args, **kwargs)
        names = [*range(len(args)), *kwargs]
        varied = [name for name in names if name not in made.excluded]
        given: dict[Any, Any] = dict(zip(names, values, strict=True))

        def at_entry(*entries: Any) -> Any:
            taken = given | dict(zip(varied, entries, strict=True))
            return made.pyfunc(*[taken[i] for i in range(len(args))], **{k: taken[k] for k in kwargs})

        cores = made.signature and [
            re.findall(r"\w+", core) for core in re.findall(r"\(.*?\)", made.signature.partition("->")[0])
        ]
        return entrywise(at_entry, [given[name] for name in varied], made.otypes, cores)


def _vectorize(*args: Any, **kwargs: Any) -> Any:
    made = np.vectorize(*args, **kwargs)
    return _Vectorized(made) if isinstance(made, np.vectorize) else lambda f: _Vectorized(made(f))


class _Joined(StandIn):
    """np.r_[x, 1] → concatenate(x, [1]), np.c_[x, y] → columns: all that stands in the brackets, joined along an axis
    by the code of NumPy's class.
    """

    def __init__(self, original: Any):
        super().__init__(original, original)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        """(x, 1, 0:3) → concatenate(x, [1], [0, 1, 2])."""
        if not any(map(holds_symbolic, key if isinstance(key, tuple) else (key,))):
            return fresh(self.original[key])
        return _library().copied(type(self.original).__getitem__)(self.original, key)


def _of_lists(function: Any) -> Callable[..., Any]:
    """f(array) → f([x, y]): a function of arrays that takes lists of traced arrays for arrays, too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, (list, tuple)) for x in args):
            return function(*args, **kwargs) if kwargs else _of_numbers(function, function, args)
        return function(*[_joined_list(x, i == 0) for i, x in enumerate(args)], **kwargs)

    return call


def _of_numbers(function: Callable[..., Any], instead: Callable[..., Any], args: Sequence[Any]) -> Any:
    """np.exp(0.1) → the traced exp(0.1), np.sqrt(4) → 2.0: what a function that rounds makes of numbers is a term.

    So exp(x) − exp(0.1) is the increment of one function, and 0 at 0.1. Whole results are exact, as 3! = Γ(4), but may
    be those of a function at 0. Arrays of a few numbers are such, too.
    """
    result = function(*args)
    if tracing.numbers is None or not _is_number(result) or not all(map(_is_number, args)):
        return result
    traced = instead(Tracer(as_term(args[0])), *args[1:])
    if not as_term(traced).op.rounds or (all(map(np.all, args)) and np.all(result == np.round(result))):
        return result
    tracing.numbers.append(as_term(traced))
    if type(result) is np.ndarray:
        traced.origin = Origin(np.ndarray, rows=result.flags.c_contiguous)
    return traced


def _is_number(x: Any) -> bool:
    """2, np.float64(0.1), array([0.1, 0.2]) → True; True, (1 + 2j), a subclass of arrays → False."""
    cls = type(x)
    if cls is np.ndarray:
        return x.dtype.kind == "f" and 0 < x.nbytes <= Constant.LARGE
    return issubclass(cls, (int, float, np.integer, np.floating)) and cls is not bool


def _joined_list(x: Any, is_first: bool) -> Any:
    """[x, y] → traced array, [i, j] as a shape → itself: a list of traced arrays as an array.

    A few integers may be a shape or axes, and stay.
    """
    if not isinstance(x, (list, tuple)) or not holds_symbolic(x):
        return x
    made = _gathered(x)
    return made if is_first or made.dtype.kind == "f" else x


def _of_values(function: Any) -> Callable[..., Any]:
    """np.put(x, [0], [y, 1]) → values in x's dtype: a function that writes into an array, of lists in its dtype.

    NumPy converts them, unlike arrays.
    """
    joined = _of_lists(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 2 and isinstance(args[0], Symbolic) and _joined_list(args[2], False) is not args[2]:
            values: Any = _gathered(args[2])
            args = *args[:2], values.astype(args[0].dtype), *args[3:]  # pyright: ignore[reportAttributeAccessIssue]
        return joined(*args, **kwargs)

    return call


def _where_traced(original: Any, instead: Callable[..., Any]) -> StandIn:
    """math.sin → stand-in: tracer → instead(tracer), 2.0 → math.sin(2.0)."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [list(x) if isinstance(x, Iterator) else x for x in args]  # which cannot be looked at twice
        if any(map(holds_symbolic, (*given, *kwargs.values()))):
            return instead(*given, **kwargs)
        return original(*given, **kwargs) if kwargs else _of_numbers(original, instead, given)

    return StandIn(original, call)


def _refused(function: Callable[..., Any]) -> StandIn:
    """np.nditer → stand-in: tracer → TraceError with its cause and cure."""
    return _where_traced(function, lambda *args, **kwargs: refuse_function(function))


def _scalar(instead: Any, original: Any) -> Callable[..., Any]:
    """Return a function of NumPy's on Python's floats, which raises what one of `math` does."""
    return lambda *args: python_raises(number(instead(*map(_as_float, args))), original, args)


def _as_float(x: Any) -> Any:
    """tracer of int → cast(tracer, float64), 2 → 2.0:
    a number as Python's float; raises TypeError for arrays and lists.
    """
    if not isinstance(x, Symbolic):
        return float(x)
    float(np.ones(x.shape))  # type: ignore[attr-defined]
    return wrap(cast(x.term, np.float64))


def _prod(iterable: Any, /, *, start: Any = 1) -> Any:
    """math.prod([x, y]) = x·y: a product, at once where it is of an array of floats.

    Else of the dtype that Python's product has.
    """
    if isinstance(iterable, Symbolic) and iterable.dtype.kind == "f":  # type: ignore[attr-defined]
        return start * np.prod(iterable)  # type: ignore[call-overload]
    factors: Any = iterable
    return functools.reduce(operator.mul, factors, start)


def _logarithm(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _scipy_logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """scipy's logsumexp(a, b=w) = log Σ w·eᵃ, traced; raises TraceError for `return_sign`."""
    if return_sign:
        raise TraceError(
            "scipy.special.logsumexp cannot be traced with return_sign=",
            cause="a logarithm is taken of what is positive",
            cure="write the sum of exponentials, and its logarithm where it is positive",
        )
    x = _gathered(a) if holds_symbolic(a) else a
    x = np.atleast_1d(x)  # as SciPy has it, which shows where axes are kept
    return logsumexp(x, axis=axis, keepdims=keepdims, **({} if b is None else {"weights": b}))


_TAKES_SEQUENCES = (
    *("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "block", "einsum"),
    *("broadcast_arrays", "meshgrid", "select", "choose", "lexsort", "multi_dot", "piecewise", "atleast_1d"),
    *("atleast_2d", "atleast_3d", "gradient"),
)
"""Functions of several arrays in a list, or of which a list is no array."""
_MATH: dict[str, Any] = {
    **{
        name: getattr(np, name) for name in ("exp", "expm1", "log1p", "log2", "log10", "sqrt", "cbrt", "exp2")
    },
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "fabs")},
    **{name: getattr(np, "arc" + name[1:]) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    **{name: getattr(np, name) for name in ("copysign", "degrees", "radians", "isnan", "isinf", "isfinite")},
    **{name: getattr(scipy.special, name) for name in ("erf", "erfc", "gamma")},
    "atan2": np.arctan2,
    "pow": np.power,
    "hypot": lambda *coordinates: functools.reduce(np.hypot, coordinates, 0.0),
    "lgamma": scipy.special.gammaln,
    "log": _logarithm,
    "fmod": np.fmod,
}
"""Functions of `math` whose arguments and results are floats."""


def _frexp(x: Any, /) -> Any:
    mantissa, exponent = np.frexp(_as_float(x))
    return number(mantissa), number(exponent.astype(np.int64))


def _dist(p: Any, q: Any, /) -> Any:
    if len(p) != len(q):
        return math.dist([0.0] * len(p), [0.0] * len(q))
    differences = [_as_float(a) - _as_float(b) for a, b in zip(p, q, strict=True)]
    return functools.reduce(lambda a, b: number(np.hypot(a, b)), differences, 0.0)


def _sumprod(p: Any, q: Any, /) -> Any:
    return functools.reduce(operator.add, [a * b for a, b in zip(p, q, strict=True)], 0)


def _math_isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    x, y = _as_float(a), _as_float(b)
    near = np.abs(x - y) <= np.maximum(rel_tol * np.maximum(np.abs(x), np.abs(y)), abs_tol)
    finite: Any = np.logical_or(x == y, near & np.isfinite(x) & np.isfinite(y))
    return number(finite)


_WHOLE_MATH: dict[str, Any] = {
    "fsum": lambda seq, /: number(np.sum(_gathered(seq), dtype=np.float64)),
    "ldexp": lambda x, i, /: number(np.ldexp(_as_float(x), i)),
    "modf": lambda x, /: tuple(map(number, np.modf(_as_float(x)))),
    "prod": _prod, "frexp": _frexp, "dist": _dist, "sumprod": _sumprod, "isclose": _math_isclose,
}  # fmt: skip
"""Functions of `math` with other arguments or results; some are of later versions of Python."""


class _Ufunc(StandIn):
    """np.maximum.reduce([x, y]) → that of an array: a ufunc, whose methods take lists of traced arrays, too."""

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name not in ("reduce", "accumulate", "outer"):
            return method
        joined = lambda args: [_joined_list(x, i == 0) for i, x in enumerate(args)]
        return StandIn(method, lambda *args, **how: method(*joined(args), **how))


def _functions() -> dict[tuple[ModuleType, str], StandIn]:
    """→ {(np, "sum"): stand-in, (math, "sin"): …}: the stand-ins of functions that are traced, by their places."""
    places: dict[tuple[ModuleType, str], StandIn] = {}
    for function in [f for f in (*IMPLEMENTATIONS, *QUERIES) if callable(f)]:
        name = getattr(function, "__name__", "")
        for owner in (np, np.linalg, scipy.special):
            if getattr(owner, name, None) is function and name not in _TAKES_SEQUENCES:
                kind = _Ufunc if isinstance(function, np.ufunc) else StandIn
                places[owner, name] = kind(function, _of_lists(function))
    for function in (np.place, np.put, np.putmask):
        places[np, function.__name__] = StandIn(function, _of_values(function))
    for name, instead in _MATH.items():
        places[math, name] = _where_traced(getattr(math, name), _scalar(instead, getattr(math, name)))
    for name, instead in _WHOLE_MATH.items():
        if hasattr(math, name):
            places[math, name] = _where_traced(getattr(math, name), instead)
    special = {
        "logsumexp": _scipy_logsumexp,
        # SciPy's normalise over all axes by default.
        "softmax": lambda x, axis=None: softmax(_gathered(x), axis=axis),
        "log_softmax": lambda x, axis=None: log_softmax(_gathered(x), axis=axis),
        "lambertw": lambda z, k=0, tol=1e-8: wrap(lambertw(_gathered(z), k)),
        "polygamma": lambda n, x: wrap(polygamma(n, _gathered(x))),
        "multigammaln": multigammaln,
    }
    for name, instead in special.items():
        places[scipy.special, name] = _where_traced(getattr(scipy.special, name), instead)
    for name in SAMPLE:
        places[statistics, name] = _refused(getattr(statistics, name))
    for place, (function, traced) in _PUBLIC.items():
        places[place] = StandIn(function, traced)
    return places


def _public() -> dict[tuple[ModuleType, str], Any]:
    """→ {(np, "rot90"): np.rot90, …}: NumPy's public functions that are written in Python, and that nothing else
    traces.
    """
    owners = [np, np.linalg, np.fft, np.emath, np.lib.stride_tricks]
    owners += [module for module in vars(np.polynomial).values() if isinstance(module, ModuleType)]
    return {
        (owner, name): function
        for owner in owners
        for name, function in vars(owner).items()
        if not name.startswith("_") and implementation(function) is not None
        if function not in IMPLEMENTATIONS and function not in QUERIES and function not in ALIASES
    }


def _written(function: Any) -> Callable[..., Any]:
    """np.rot90 → (x ↦ its own code at x): the function that traces one of NumPy's; refused as a whole, where a part of
    it is.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        """no tracer → function(…), tracer → the copied code, known values → their result where that is refused.

        Functions among the arguments may have tracers for values.
        """
        values = (*args, *kwargs.values())
        if not any(map(holds_symbolic, values)):
            if not any(map(callable, values)):
                return function(*args, **kwargs)
            with suppress(TraceError), tentative():
                return function(*args, **kwargs)
        around, tracing.wrapper = tracing.wrapper, Tracer  # symbols come from outside of traces, too
        try:
            with nullcontext() if is_deciding() else deciding({}):  # where numbers beside them are known
                result = _by_numpy(function, args, kwargs)
        finally:
            tracing.wrapper = around
        if result is NotImplemented and _has_unknown_extents(args, kwargs):
            raise ShapeError(f"{function_name(function)} needs all extents, of which some are not known")
        if result is NotImplemented:
            result = of_constants(function, args, kwargs)
        return refuse_function(function) if result is NotImplemented else result

    return call


def _has_unknown_extents(args: Any, kwargs: Any) -> bool:
    arrays = [x for x in flatten((args, kwargs))[0] if isinstance(x, Tracer)]
    return any(x.kind is None or None in x.shape for x in arrays)


class _Converter:
    """x, 2.0 → x, array(2.0): arguments as NumPy's own code makes arrays of them, traced ones as they are."""

    def __init__(self, *args: Any):
        self.args = args
        self.scalar_input = tuple([isinstance(x, (int, float, np.generic)) for x in args])

    def __getitem__(self, i: int) -> Any:
        return self.as_arrays(pyscalars="convert")[i]

    def as_arrays(self, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        """(x, 2.0) → x, 2.0: traced arrays, and Python's numbers as they are beside arrays."""
        keeps = pyscalars == "preserve" or (pyscalars != "convert" and not all(self.scalar_input))
        return tuple([x if keeps and type(x) in PYTHON else _asarray(x) for x in self.args])

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> np.dtype:
        """(x : float32, 2.0) → float32: the dtype of what is computed of the arguments."""
        kinds = [*self.as_arrays(pyscalars="preserve"), *([] if extra_dtype is None else [extra_dtype])]
        dtype = np.result_type(*kinds)
        return np.result_type(dtype, 0.0) if ensure_inexact and dtype.kind not in "fc" else dtype

    def wrap(self, arr: Any, /, to_scalar: bool | None = None) -> Any:
        """array(2.0) of numbers → 2.0: a result as that of the arguments."""
        return arr[()] if to_scalar or (to_scalar is None and all(self.scalar_input)) else arr


def _loaded() -> tuple[str, ...]:
    return tuple([name for name in _OF_SCIPY if name in sys.modules])


def _nanmedian(a: Any, axis: int, out: None, overwrite_input: bool) -> Any:
    """nanmedian(x, 0) = (nanmedian(x[:, 0]), nanmedian(x[:, 1]), …): as NumPy has it of long axes."""
    return np.apply_along_axis(np.nanmedian, axis, a)


def _library() -> Library:
    return _library_beside(_loaded())


@functools.cache
def _library_beside(loaded: tuple[str, ...]) -> Library:
    compiled = vars(sys.modules["numpy._core._multiarray_umath"])
    instead = {"_array_converter": _Converter, "_unique_hash": lambda *args, **options: NotImplemented}
    by_numpys = {id(compiled.get(name, name)): new for name, new in instead.items()}
    by_numpys[id(vars(_nanfunctions)["_nanmedian_small"])] = _nanmedian  # which asks masked arrays
    return Library(_stand_ins(frozenset(), loaded), by_numpys | choices())


def _by_numpy(function: Any, args: Any, kwargs: Any) -> Any:
    """(np.rot90, (x,)) → its result by its own code; NotImplemented where that cannot be traced, or is compiled."""
    code = implementation(function)
    if code is None:
        return NotImplemented
    try:
        with tentative():
            return _library().copied(code)(*args, **kwargs)
    except (TraceError, AttributeError):  # what a traced array does not have
        return NotImplemented
    except Exception as error:
        # An extent that is not known is no number, and equals none; and SciPy's compiled code fails in its own ways.
        unknown = isinstance(error, (TypeError, RuntimeError)) and _has_unknown_extents(args, kwargs)
        if not unknown and code.__module__.startswith("numpy"):
            raise
        return NotImplemented


QUERIES["otherwise"] = _by_numpy
_PUBLIC = {place: (function, _written(function)) for place, function in _public().items()}
QUERIES.update(dict(_PUBLIC.values()))


_OF_SCIPY = tuple(
    f"scipy.{name}" for name in ("integrate", "linalg", "signal", "spatial.distance", "special", "stats")
)
"""Modules of SciPy's whose functions are traced by their own code, where that is Python's, as distributions are; of
`linalg`, whose are compiled, those that are written in NumPy's.
"""


def _of_scipy(loaded: Sequence[str]) -> dict[tuple[ModuleType, str], StandIn]:
    """[scipy.stats] → {(stats, "zscore"): stand-in, (stats, "norm"): stand-in, …}: what is public in modules."""
    places: dict[tuple[ModuleType, str], StandIn] = {}
    for module in map(sys.modules.__getitem__, loaded):
        for name in module.__all__:
            value = getattr(module, name)
            if implementation(value) is not None and module.__name__ != "scipy.linalg":
                places[module, name] = StandIn(value, _written(value))
            elif module.__name__ == "scipy.stats" and isinstance(
                value, module.rv_continuous | module.rv_discrete
            ):
                places[module, name] = Distribution(value, _library)
            elif hasattr(value, "logpdf") or hasattr(value, "logpmf"):
                places[module, name] = Multivariate(value, _library)
        for name, instead in COMPILED.get(module.__name__, {}).items():
            if hasattr(module, name):  # some are of some versions of SciPy
                places[module, name] = _where_traced(getattr(module, name), instead)
    return places


def _frozen(loaded: Sequence[str]) -> dict[type, Callable[[Any], Any]]:
    """[scipy.stats] → {type of norm(0, 1): stand-in of it, …}: distributions whose parameters are given outside."""
    if "scipy.stats" not in loaded:
        return {}
    stats = sys.modules["scipy.stats"]
    like = lambda x: Distribution(x.dist, _library, x.args, x.kwds)
    return {type(stats.norm(0, 1)): like, type(stats.poisson(1)): like}


def _makers() -> dict[tuple[ModuleType, str], StandIn]:
    """→ {(np, "zeros"): stand-in, …}: the stand-ins of functions that make arrays, by their places."""
    by_name: dict[str, Callable[..., Any]] = {
        "array": _array, "asarray": _asarray, "full": _full, "fromiter": _fromiter, "ix_": _ix,
        "zeros": _made(np.zeros), "ones": _made(np.ones), "eye": _made(np.eye),
        "identity": _made(np.identity), "tri": _made(np.tri),
        "empty": _empty, "arange": _arange, "linspace": _range(np.linspace),
        **{f.__name__: _like(f) for f in (np.zeros_like, np.ones_like, np.full_like)},
        "empty_like": _like(np.zeros_like), "frompyfunc": _frompyfunc, "vectorize": _vectorize,
        "asanyarray": _asarray, "ascontiguousarray": _contiguous("C"), "asfortranarray": _contiguous("F"),
    }  # fmt: skip
    places: dict[Any, Any] = {
        (np, name): StandIn(getattr(np, name), traced) for name, traced in by_name.items()
    }
    places[builtins, "type"] = Type
    places[np, "ndenumerate"] = _where_traced(np.ndenumerate, _ndenumerate)
    places[np, "broadcast"] = _where_traced(np.broadcast, _broadcast)
    places[np, "nditer"] = _refused(np.nditer)
    places[np, "r_"], places[np, "c_"] = _Joined(np.r_), _Joined(np.c_)
    return places


def _empty(*args: Any, **kwargs: Any) -> Any:
    return _made(np.zeros if "like" not in kwargs else np.empty)(*args, **kwargs)


def _arange(*args: Any, **kwargs: Any) -> Any:
    """np.arange(a, b, h) → a + h·(0, 1, …, n − 1), traced where a bound is; else fresh(np.arange(…))."""
    plain = [_plain(x) for x in args]
    if not any(map(holds_symbolic, plain)) or kwargs or len(plain) > 3:
        return _range(np.arange)(*args, **kwargs)
    start, stop, step = (0, *plain, 1) if len(plain) == 1 else (*plain, 1)[:3]
    count = max(int(np.ceil((stop - start) / step)), 0)
    return np.arange(count) * ((start + step) - start) + start


def _ndenumerate(arr: Any) -> Iterator[tuple[Any, Any]]:
    x = _gathered(arr)
    return ((place, x[place]) for place in np.ndindex(*x.shape))


def _broadcast(*args: Any) -> np.broadcast:
    return np.broadcast(*[np.broadcast_to(0.0, np.shape(x)) for x in args])


def _range(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.linspace(0, 1, 5) → a fresh array; (x, 1, 5) → traced: a function that makes numbers between bounds.

    Bounds that are traced floats are for the op that traces them.
    """
    make = _made(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        plain = [_plain(x) for x in args]
        if any(map(holds_symbolic, (*plain, *[_plain(x) for x in kwargs.values()]))):
            return function(*plain, **kwargs)
        return make(*plain, **kwargs)

    return call


def _of_objects(ufunc: np.ufunc, *inputs: Any, **kwargs: Any) -> Any:
    """Call a ufunc that `np.frompyfunc` has made of a Python function, entry by entry."""
    if kwargs or ufunc.types != ["O" * ufunc.nin + "->" + "O" * ufunc.nout]:
        return NotImplemented
    return entrywise(lambda *entries: ufunc(*map(_boxed, entries)), inputs)


def _boxed(x: Any) -> np.ndarray:
    """Return an array of one object, in which NumPy does not look for a protocol."""
    box = np.empty((), object)
    box[()] = x
    return box


QUERIES[np.ufunc, "__call__"] = _of_objects


class _Cached(StandIn):
    """@cache f: f(2) → the cache's value, f(tracer) → that of a cache of the trace's.

    A cache outlasts the trace. Of what does not depend on arguments of the trace, arrays are made, and kept, as they
    are
    where nothing is traced.
    """

    def __init__(self, original: Any):
        super().__init__(original, self.traced_call)
        self.own = functools.cache(original.__wrapped__)
        """The function with a cache of the trace's."""

    def traced_call(self, /, *args: Any, **kwargs: Any) -> Any:
        """(tracer,) → own(tracer), (2,) → original(2), with nothing traced."""
        if any(map(holds_symbolic, (*args, *kwargs.values()))):
            return self.own(*args, **kwargs)
        wrapper, tracing.wrapper = tracing.wrapper, None
        try:
            return self.original(*args, **kwargs)
        finally:
            tracing.wrapper = wrapper


_KINDS = {np.vectorize: _Vectorized, functools._lru_cache_wrapper: _Cached}


def stand_ins(held: frozenset[str] = frozenset()) -> Patches:
    """→ {np.zeros: stand-in, np.sum: …}: Patches for functions that make arrays, and for others given lists or numbers.

    Code that tells functions apart by identity would see the others: those with names that are `held` are left out.
    What is called at once is never compared.
    """
    loaded = _loaded()
    return _stand_ins(held if ANY in held else held & _names(loaded), loaded)


def stood_in(fun: Any) -> Any:
    """scipy.linalg.expm → its stand-in, norm.logcdf → that of norm's: of a function for which no code has a name."""
    patches, owner = stand_ins(), getattr(fun, "__self__", None)
    new = patches.instead(owner)
    return patches.instead(fun) if owner is new else getattr(new, fun.__name__)


def _of_original(x: StandIn) -> tuple[Any, ...]:
    """np.sum's stand-in → what makes it of np.sum: a function is pickled by its name, and stood in for again."""
    return stood_in, (x.original,)


for _kind in (StandIn, _Ufunc):
    copyreg.pickle(_kind, _of_original)


@functools.lru_cache(maxsize=64)
def _stand_ins(held: frozenset[str], loaded: tuple[str, ...]) -> Patches:
    """held = {sum} → Patches without np.sum, but with those that make arrays."""
    others = {
        place: new
        for place, new in _others(loaded).items()
        if held.isdisjoint((ANY, place[1], _named(new.original)))
    }
    return Patches(others | _makers(), _KINDS | _frozen(loaded))


@functools.cache
def _others(loaded: tuple[str, ...]) -> dict[tuple[ModuleType, str], StandIn]:
    return _of_scipy(loaded) | _functions()


@functools.cache
def _names(loaded: tuple[str, ...]) -> frozenset[str]:
    """Return the names of functions that are stood in for."""
    return frozenset(w for (_, w), new in _others(loaded).items() for w in (w, _named(new.original)))


def _named(original: Any) -> str:
    """np.sum → "sum", stats.norm → "norm": a function's name, or a distribution's, if it has one."""
    return getattr(original, "__name__", None) or getattr(original, "name", "")
