"""Arrays of numbers m·2^e with whole exponents that are floats: neither a product nor a power leaves their range.

Mantissas are floats of the array's dtype, 1/2 ≤ |m| < 1, so that rounding is that of floats. Zeros, infinities and
NaN are mantissas themselves. Exponents are exact up to 2^53; those of e^x for larger x are as uncertain as x is.

Source: Smith, Olver & Lozier 1981, Extended-range arithmetic and normalized Legendre polynomials, ACM TOMS 7(1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.numbers import Numbers

NOTHING = -(2.0**1020)
"""The exponent of zero: below that of any other number."""
FARTHEST = 2.0**1015
"""The largest size of an exponent: a number that would have a larger one is infinite, or 0."""


class Extended(Numbers):
    """An array m·2^e that takes part in NumPy's protocols; `Extended.of(x)` makes one of floats."""

    __slots__ = ("e", "m")
    ufuncs, functions, named = {}, {}, {}
    zero = 0.0, NOTHING

    def __init__(self, m: Any, e: Any):
        mantissa, shift = np.frexp(m)
        mantissa = np.asarray(mantissa)
        exponent = np.broadcast_to(np.asarray(e, np.float64) + shift, mantissa.shape)
        beyond = np.abs(exponent) > FARTHEST
        if beyond.any():
            limit = np.copysign(np.where(exponent > 0, np.inf, 0).astype(mantissa.dtype), mantissa)
            mantissa = np.where(beyond & (mantissa != 0) & ~np.isnan(mantissa), limit, mantissa)
        self.m = mantissa
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
    def parts(self) -> tuple[Any, Any]:
        return self.m, self.e

    @property
    def outside(self) -> Any:
        """Where numbers are no normal floats though they are neither 0 nor infinite."""
        info = np.finfo(self.dtype)
        beyond = (self.e <= info.minexp) | (self.e > info.maxexp)
        return beyond & (self.m != 0) & np.isfinite(self.m)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return numbers of extended range for a floating dtype, and else what the floats become."""
        dtype = np.dtype(dtype)
        return Extended.of(self, dtype) if dtype.kind == "f" else np.asarray(self.floats()).astype(dtype)

    def __float__(self) -> float:
        return float(self.floats())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.floats(), dtype)


UFUNCS, FUNCTIONS, NAMED = Extended.ufuncs, Extended.functions, Extended.named
