"""Floats that stay numbers where they leave the domain of a function: whether NaN comes of that, and of nothing else.

Σ log(x)   at x = -1, 2        ⟶   Σ (1, log 2), a number: as a real function it is undefined there, in any digits
arccos(x)  at x = 1 + 2⁻⁵²     ⟶   NaN: there x may be 1 but for rounding, as the cosine of an angle is
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels.numbers import Numbers, lowered

NEAR = 2.0**-20
"""What is outside by more than so much of itself is no rounding of what is inside."""
BOUNDED = frozenset(
    [
        np.log,
        np.log2,
        np.log10,
        np.log1p,
        np.sqrt,
        np.power,
        np.arcsin,
        np.arccos,
        np.arccosh,
        np.arctanh,
    ]
)
"""The functions of NumPy that are NaN outside their domains."""


class Inside(Numbers):
    """An array of floats, with a number where a function was far outside its domain."""

    __slots__ = ("x",)
    ufuncs, functions, named = {}, {}, {}
    zero = (0.0,)

    def __init__(self, x: Any):
        self.x = x

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Inside:
        """Return floats as they are."""
        return x if isinstance(x, Inside) else cls(np.asarray(x, dtype))

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.x,)

    def floats(self) -> Any:
        """Return the floats, numbers where they are."""
        return self.x[()]

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the same numbers in a dtype."""
        return self.lifted(self.x.astype(dtype), ())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        args = list(map(lowered, inputs))
        found = getattr(ufunc, method)(*args, **kwargs)
        return self.lifted(_inside(ufunc, found, args) if ufunc in BOUNDED else found, inputs)


def _inside(ufunc: Any, found: Any, args: list[Any]) -> Any:
    """log(-1) → 1, log(NaN) → NaN, arccos(1 + 2⁻⁵²) → NaN: 1 where a function is NaN at all that is near numbers."""
    none = np.isnan(found)
    if not none.any():
        return found
    x, *others = [a[none] for a in np.broadcast_arrays(*args)]
    far = ~np.logical_or.reduce(list(map(np.isnan, (x, *others))))
    for scale in (1 - NEAR, 1 + NEAR):
        far &= np.isnan(ufunc(x * scale, *others))
    found = np.array(found)
    found[none] = np.where(far, 1, np.nan)
    return found
