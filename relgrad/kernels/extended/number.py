"""Arrays of numbers m·2^e with whole exponents of 64 bits: neither a product nor a power leaves their range.

Mantissas are floats of the array's dtype, 1/2 ≤ |m| < 1, so that rounding is that of floats. Zeros, infinities and
NaN are mantissas themselves.

Source: Smith, Olver & Lozier 1981, Extended-range arithmetic and normalized Legendre polynomials, ACM TOMS 7(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.kernels.numbers import Numbers, is_floating

NOTHING = -(1 << 61) - (1 << 60)
"""The exponent of zero: below that of any other number."""
FARTHEST = 1 << 61
"""The largest size of an exponent: a number that would have a larger one is infinite, or 0."""


def whole(x: Any) -> Any:
    """3.0 → 3, NaN → 0, 1e300 → beyond FARTHEST: floats as exponents, those of ∞ or 0 where they are too large."""
    return np.where(np.isnan(x), 0, np.clip(x, -1.5 * FARTHEST, 1.5 * FARTHEST)).astype(np.int64)


def combined(exponents: Sequence[Any], degrees: Sequence[int]) -> Any:
    """(e₁, e₂), (2, −1) → 2·e₁ − e₂: Σ dᵢ·eᵢ as exponents, those of ∞ or 0 where that is too large."""
    nearest = sum(d * np.asarray(e, float) for d, e in zip(degrees, exponents, strict=True))
    exact = sum(d * e for d, e in zip(degrees, exponents, strict=True))
    return np.where(np.abs(nearest) <= FARTHEST, exact, whole(nearest))


class Extended(Numbers):
    """m·2^e with ½ ≤ |m| < 1, an array that takes part in NumPy's protocols; `Extended.of(x)` makes one of floats."""

    __slots__ = ("e", "m")
    ufuncs, functions, named = {}, {}, {}
    zero = 0.0, NOTHING

    def __init__(self, m: Any, e: Any):
        """3·2⁴ → 0.75·2⁶: mantissas are brought between ½ and 1; beyond FARTHEST a number is ∞ or 0."""
        mantissa, shift = np.frexp(m)
        mantissa = np.asarray(mantissa)
        exponent = np.broadcast_to(np.asarray(e, np.int64) + shift, mantissa.shape)
        if exponent.size and not -FARTHEST <= exponent.min() <= exponent.max() <= FARTHEST:
            beyond = (np.abs(exponent) > FARTHEST) & (mantissa != 0) & ~np.isnan(mantissa)
            limit = np.copysign(np.where(exponent > 0, np.inf, 0).astype(mantissa.dtype), mantissa)
            mantissa = np.where(beyond, limit, mantissa)
        numbers = (mantissa != 0) & np.isfinite(mantissa)
        self.m = mantissa
        self.e = (
            exponent if numbers.all() else np.where(numbers, exponent, np.where(mantissa == 0, NOTHING, 0))
        )

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Extended:
        """1e300 → m·2⁹⁹⁷: an array, or a number, exactly in extended range."""
        if isinstance(x, Extended):
            return x if dtype is None or x.dtype == dtype else cls(x.m.astype(dtype), x.e)
        return cls(np.asarray(x, dtype), 0)

    @classmethod
    def applied(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """f, (x,) → f(x) by its rule, else of floats or balls; an op that mends a value leaves one that is no float."""
        found = super().applied(function, args, kwargs)
        if not getattr(function, "mends", False):
            return found if cls.rule_of(function) else _surely(function, found, args, kwargs)
        values, found = cls.of(args[0]), cls.of(found)
        outside = values.outside & (found.floats() == values.floats())  # where nothing is mended
        return cls(np.where(outside, values.m, found.m), np.where(outside, values.e, found.e))

    def floats(self) -> Any:
        """m·2^e as floats: ±∞ and 0 where they are out of range."""
        return np.ldexp(self.m, np.clip(self.e, -5000, 5000).astype(np.intc))[()]

    @property
    def plain(self) -> Any:
        """The numbers as mantissas are: ±inf and 0 where they are out of range."""
        return np.asarray(self.floats())

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.m, self.e

    def signs(self) -> Any:
        """Return numbers of the same signs."""
        return self.m

    def zeros(self) -> Any:
        """Return where numbers are 0, and nothing else."""
        return self.m == 0

    @property
    def outside(self) -> Any:
        """Where numbers are no normal floats: 2⁻²⁰⁰⁰, 2²⁰⁰⁰: yes; 0, ∞, 1: no."""
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


def _surely(function: Any, found: Any, args: Any, kwargs: Any) -> Any:
    """erfc(40) = 0 as a float → 2⁻²³¹⁴·… of a ball: a function without a rule, where floats were no help.

    A result that neither floats nor balls tell is NaN, and not infinite.
    """
    if not isinstance(found, Extended):
        return found
    helped = ~found.outside & (found.m != 0) & np.isfinite(found.m)
    if helped.all():
        return found
    given = [Extended.of(x) for x in (*args, *kwargs.values()) if isinstance(x, Extended) or is_floating(x)]
    finite = all(np.isfinite(x.m).all() for x in given)
    m, e = Extended.surest.called(function, args, kwargs, ~helped)
    known = helped | (np.isnan(m) & ~(np.isinf(found.m) & finite))
    return Extended(np.where(known, found.m, m), np.where(known, found.e, e))


UFUNCS, FUNCTIONS, NAMED = Extended.ufuncs, Extended.functions, Extended.named
