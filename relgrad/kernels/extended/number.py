"""Arrays of numbers m·2^e with whole exponents of 64 bits: neither a product nor a power leaves their range.

Mantissas are floats of the array's dtype, 1/2 ≤ |m| < 1, so that rounding is that of floats. Zeros, infinities and
NaN are mantissas themselves.

Source: Smith, Olver & Lozier 1981, Extended-range arithmetic and normalized Legendre polynomials, ACM TOMS 7(1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

NOTHING = -(1 << 56)
"""The exponent of zero: below that of any other number."""
FARTHEST = 1 << 54
"""The largest size of an exponent: what would have a larger one stays there."""

Rule = Callable[..., Any]
UFUNCS: dict[Any, Rule] = {}
"""How ufuncs act on numbers of extended range; those that are not here see floats."""
FUNCTIONS: dict[Any, Rule] = {}
"""How NumPy's functions act."""
NAMED: dict[str, Callable[[Any], Rule]] = {}
"""How functions act that are known by their names, those of `relgrad.kernels` among them, made of the function."""


class Extended(NDArrayOperatorsMixin):
    """An array m·2^e that takes part in NumPy's protocols; `Extended.of(x)` makes one of floats."""

    __slots__ = ("e", "m")

    def __init__(self, m: Any, e: Any):
        mantissa, shift = np.frexp(m)
        mantissa = np.asarray(mantissa)
        exponent = np.clip(np.asarray(e, np.int64) + shift, -FARTHEST, FARTHEST)
        self.m = mantissa
        exponent = np.broadcast_to(exponent, mantissa.shape)
        self.e = np.where(mantissa == 0, NOTHING, np.where(np.isfinite(mantissa), exponent, 0))

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Extended:
        """Return an array, or a number, as numbers of extended range."""
        if isinstance(x, Extended):
            return x if dtype is None or x.dtype == dtype else cls(x.m.astype(dtype), x.e)
        return cls(np.asarray(x, dtype), 0)

    def floats(self) -> Any:
        """Return the floats nearest to the numbers: ±inf and 0 where they are out of range."""
        return np.ldexp(self.m, np.clip(self.e, -5000, 5000).astype(np.intc))[()]

    @property
    def outside(self) -> Any:
        """Where numbers are no normal floats though they are neither 0 nor infinite."""
        info = np.finfo(self.dtype)
        beyond = (self.e <= info.minexp) | (self.e > info.maxexp)
        return beyond & (self.m != 0) & np.isfinite(self.m)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.m.shape

    @property
    def ndim(self) -> int:
        return self.m.ndim

    @property
    def size(self) -> int:
        return self.m.size

    @property
    def dtype(self) -> Any:
        return self.m.dtype

    @property
    def T(self) -> Extended:
        return self.moved(np.transpose)

    def moved(self, move: Callable[[Any], Any]) -> Extended:
        """Return the numbers elsewhere: what moves entries moves mantissas and exponents alike."""
        return Extended(move(self.m), move(self.e))

    def reshape(self, *shape: Any) -> Extended:
        return self.moved(lambda x: x.reshape(*shape))

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return numbers of extended range for a floating dtype, and else what the floats become."""
        dtype = np.dtype(dtype)
        return Extended.of(self, dtype) if dtype.kind == "f" else np.asarray(self.floats()).astype(dtype)

    def copy(self) -> Extended:
        return self

    def __len__(self) -> int:
        return len(self.m)

    def __getitem__(self, key: Any) -> Extended:
        return self.moved(lambda x: x[key])

    def __float__(self) -> float:
        return float(self.floats())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.floats(), dtype)

    def __repr__(self) -> str:
        return f"Extended({self.m!r}, {self.e!r})"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        rule = UFUNCS.get(ufunc)
        with np.errstate(all="ignore"):
            if method != "__call__" or rule is None:
                return in_floats(getattr(ufunc, method), inputs, kwargs)
            dtype = np.result_type(*[x.m if isinstance(x, Extended) else x for x in inputs])
            return rule(*[Extended.of(x, dtype) for x in inputs])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return applied(function, args, kwargs)


def applied(function: Any, args: Any, kwargs: Any) -> Any:
    """Return what a function makes of arguments with numbers of extended range among them."""
    rule = FUNCTIONS.get(function)
    if rule is None and (make := NAMED.get(getattr(function, "__name__", ""))) is not None:
        rule = make(function)
    with np.errstate(all="ignore"):
        return in_floats(function, args, kwargs) if rule is None else rule(*args, **kwargs)


def in_floats(function: Any, args: Any, kwargs: Any) -> Any:
    """Return what a function makes of floats; results that are floats are numbers of extended range again."""
    return _lifted(function(*map(lowered, args), **{name: lowered(x) for name, x in kwargs.items()}))


def lowered(x: Any) -> Any:
    """Return floats for numbers of extended range, in tuples and lists as well."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(lowered, x)) if type(x) in (tuple, list) else x
    return x.floats() if isinstance(x, Extended) else x


def _lifted(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return tuple(map(_lifted, x))
    return Extended.of(x) if isinstance(x, (np.ndarray, np.floating)) and x.dtype.kind == "f" else x
