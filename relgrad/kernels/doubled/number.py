"""Arrays of unevaluated sums hi + lo of floats, each with a bound of its error, that take part in NumPy's protocols.

    |x − (hi + lo)| ≤ bound

for the value x that the program has in exact arithmetic. Floats are exact. A function without a rule is asked of balls;
where these tell nothing, of floats, and nothing is known of the result: the bound is infinite. A comparison that the
bounds leave open raises `Undecided`.

Source: Wilkinson 1986, Error analysis revisited, for running error bounds; those of each operation are in `eft`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.eft import Pair
from relgrad.kernels.numbers import Numbers, is_floating

ERROR = 2.0**-102
"""The error that an operation adds, relative to its result: 16u², with u = 2⁻⁵³."""
TINY = 2.0**-1060
"""The error that underflow adds."""
BLOCK = 4096
"""So many entries are computed at once, that they stay in the cache."""
_WHOLE = 2.0**53


class Undecided(ArithmeticError):
    """x > 0 of x = 10⁻²⁰ ± 10⁻¹⁹: a program asks a question of numbers that their enclosures leave open."""


class GivenUp(Undecided):
    """More digits would be of no use, or too much work."""


class Doubled(Numbers):
    """hi + lo ± bound, an array; without lo, it is exact."""

    __slots__ = ("_bound", "hi", "lo")
    ufuncs, functions, named = {}, {}, {}
    zero = 0.0, 0.0, 0.0

    def __init__(self, hi: Any, lo: Any = None, bound: Any = None):
        self.hi: Any = hi if isinstance(hi, (np.ndarray, np.float64)) else np.float64(hi)
        self.lo, self._bound = lo, bound

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Doubled:
        """0.1 → 0.1 exactly, as the float that it is; raises Undecided for integers beyond 2⁵³."""
        if isinstance(x, Doubled):
            return x
        if isinstance(x, float):
            return cls(np.float64(x))
        x = np.asarray(x)
        if x.dtype.kind in "iu" and np.any(np.abs(x) > _WHOLE):
            raise Undecided
        return cls((x if x.dtype == np.float64 else x.astype(np.float64))[()])

    @classmethod
    def operands(cls, inputs: Sequence[Any]) -> Sequence[Any]:
        return list(map(cls.of, inputs))

    @classmethod
    def lifted(cls, x: Any, args: Sequence[Any]) -> Any:
        """y = f(floats) → y ± ∞: a result of unknown error; whole numbers made of inexact ones raise Undecided."""
        if isinstance(x, (tuple, list)):
            return tuple([cls.lifted(y, args) for y in x])
        if is_floating(x):
            return cls(x, np.zeros(np.shape(x)), np.full(np.shape(x), np.inf))
        if any(isinstance(a, Doubled) and not a.exact for a in args):
            raise Undecided
        return x

    @classmethod
    def unruled(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """f, (x,) → f in balls, rounded to hi + lo ± bound; where these tell nothing, f of floats ± ∞."""
        found = cls.surest.doubled(function, args, kwargs)
        return super().unruled(function, args, kwargs) if found is None else found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """f(x) = (f(x₁), f(x₂), …) for blocks of a large x, which stay in the cache."""
        apply = self._applied
        large = [getattr(x, "ndim", 0) > 0 for x in inputs]
        shapes = {x.shape for x, is_array in zip(inputs, large, strict=True) if is_array}
        if len(shapes) > 1 or ufunc.signature is not None or self.size <= BLOCK:
            return apply(ufunc, method, *inputs, **kwargs)
        flat = [x.reshape(-1) if is_array else x for x, is_array in zip(inputs, large, strict=True)]
        found = []
        for start in range(0, self.size, BLOCK):
            some = [
                x[start : start + BLOCK] if is_array else x for x, is_array in zip(flat, large, strict=True)
            ]
            found.append(apply(ufunc, method, *some, **kwargs))
        return np.concatenate(found).reshape(self.shape)

    def _applied(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """expm1(−0) = −0, 0·(−2) = −0: f in doubled arithmetic, zeros with the signs that they have in floats."""
        found = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        signed = method == "__call__" and ufunc.signature is None and isinstance(found, Doubled)
        if not signed or not np.any(zero := found.hi == 0):
            return found
        with np.errstate(all="ignore"):
            floats = ufunc(*[x.hi if isinstance(x, Doubled) else x for x in inputs])
        zero = zero & (floats == 0)
        hi, lo = [None if part is None else np.where(zero, floats, part)[()] for part in (found.hi, found.lo)]
        return Doubled(hi, lo, found._bound)

    @property
    def exact(self) -> bool:
        """Whether these are floats."""
        return self.lo is None

    @property
    def pair(self) -> Pair:
        return self.hi, 0.0 if self.lo is None else self.lo

    @property
    def bound(self) -> Any:
        """The bound of the error, of the shape of the array or of none; 0 for floats."""
        return 0.0 if self._bound is None else self._bound

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        shape = self.hi.shape
        others = self.pair[1], self.bound
        return self.hi, *[x if np.shape(x) == shape else np.broadcast_to(x, shape) for x in others]

    @property
    def leading(self) -> Any:
        return self.hi

    def moved(self, move: Callable[[Any], Any]) -> Doubled:
        """Return the numbers elsewhere."""
        if self.exact:
            return Doubled(move(self.hi))
        hi, lo, bound = self.parts
        return Doubled(move(hi), move(lo), move(bound) if np.ndim(self.bound) else self.bound)

    @classmethod
    def joined(cls, join: Callable[[Any], Any], arrays: Sequence[Any]) -> Doubled:
        """Return arrays of numbers joined: floats stay floats, and a bound that is one number stays one."""
        hi = join([x.hi for x in arrays])
        if all(x.exact for x in arrays):
            return cls(hi)
        if any(np.ndim(x.bound) for x in arrays):
            return cls(hi, *[join([x.parts[i] for x in arrays]) for i in (1, 2)])
        return cls(hi, join([x.parts[1] for x in arrays]), max([x.bound for x in arrays]))

    def floats(self) -> Any:
        """fl(hi + lo): the floats nearest to the numbers."""
        return (self.hi if self.exact else self.hi + self.lo)[()]

    def astype(self, dtype: Any, **_: Any) -> Any:
        """x → x in float64; in others fl(x) if x is exact, else Undecided."""
        if np.dtype(dtype) == np.float64:
            return self
        if not self.exact:
            raise Undecided
        found = self.hi.astype(dtype)
        return Doubled.of(found) if is_floating(found) else found

    def zeros(self) -> Any:
        """hi + lo = 0 and bound = 0: where numbers are 0, and nothing else."""
        return (self.floats() == 0) & (self.bound == 0)

    def signs(self) -> Any:
        """|hi| > 2·bound → hi: numbers of the same signs; raises Undecided where a bound leaves one open."""
        known = (np.abs(self.hi) > 2.0 * self.bound) | (self.bound == 0.0)
        if not np.all(known & np.isfinite(self.pair[1])):
            raise Undecided
        return self.hi

    def __float__(self) -> float:
        raise Undecided

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise Undecided


def with_error(result: Pair, bound: Any, relative: float = ERROR) -> Doubled:
    """hi + lo ± (bound + ε·|hi| + TINY): a pair computed to a relative error ε besides the errors of its operands."""
    return Doubled(*result, bound + (relative * np.abs(result[0]) + TINY))


def is_open(x: Any) -> Any:
    """bound > ε·|hi|: where doubled numbers may be other floats than the nearest to them; 0 ± 10⁻³¹⁰ is 0."""
    if not isinstance(x, Doubled):
        return np.False_
    floats = np.finfo(float)
    return ~(x.bound <= np.where(x.hi == 0, floats.tiny, floats.eps * np.abs(x.hi)))
