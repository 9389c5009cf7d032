"""Arrays of numbers m·2^e with whole exponents of 64 bits: neither a product nor a power leaves their range.

Mantissas are floats of the array's dtype, 1/2 ≤ |m| < 1, so that rounding is that of floats. Zeros, infinities and
NaN are mantissas themselves.

Source: Smith, Olver & Lozier 1981, Extended-range arithmetic and normalized Legendre polynomials, ACM TOMS 7(1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.numbers import Numbers, is_floating, lowered

NOTHING = -(1 << 61) - (1 << 60)
"""The exponent of zero: below that of any other number."""
TELLING = frozenset(
    [
        *(np.add, np.subtract, np.multiply, np.divide, np.square, np.sqrt, np.reciprocal, np.negative),
        *(np.absolute, np.fabs, np.positive, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign, np.sign),
    ]
)
"""Functions of NumPy that tell for certain when a result leaves the range."""
NOWHERE = np.zeros(0, np.intp)
MANY = 4096
"""Of more entries floats are not asked one by one."""
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
    """m·2^e with ½ ≤ |m| < 1, an array that takes part in NumPy's protocols; `Extended.of(x)` makes one of floats.

    It has two forms, made of each other when they are asked for: mantissas and exponents, and floats in which a few
    entries are beyond the range, `far` numbers at the places `at`. So entries in range cost what floats do.
    """

    __slots__ = ("_near", "_parts")
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
        if not numbers.all():
            exponent = np.where(numbers, exponent, np.where(mantissa == 0, NOTHING, 0))
        self._parts: Any = mantissa, exponent
        self._near: Any = None

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Extended:
        """1e300 → m·2⁹⁹⁷: an array, or a number, exactly in extended range."""
        if isinstance(x, Extended):
            return x if dtype is None or x.dtype == dtype else cls(x.m.astype(dtype), x.e)
        return cls.near(np.asarray(x, dtype))

    @classmethod
    def near(cls, x: Any, at: Any = NOWHERE, far: Any = None) -> Extended:
        """(1, 0, 3), [1], m·2⁻²⁰⁰⁰ → (1, m·2⁻²⁰⁰⁰, 3): floats, with numbers beyond their range at flat places."""
        found = cls.__new__(cls)
        found._parts, found._near = None, (x, at, far)
        return found

    @classmethod
    def made(cls, parts: Sequence[Any]) -> Extended:
        """Return the numbers that consist of mantissas and exponents of others."""
        found = cls.__new__(cls)
        found._parts, found._near = tuple(parts), None
        return found

    @property
    def parts(self) -> tuple[Any, Any]:
        """Mantissas and exponents."""
        if self._parts is None:
            x, at, far = self._near
            whole = Extended(x, 0)
            if at.size:
                m, e = np.array(whole.m), np.array(whole.e)
                m.flat[at], e.flat[at] = far.parts
                self._parts = m, e
            else:
                self._parts = whole._parts
        return self._parts

    @property
    def m(self) -> Any:
        return self.parts[0]

    @property
    def e(self) -> Any:
        return self.parts[1]

    @property
    def form(self) -> tuple[Any, Any, Any]:
        """x, at, far: the nearest floats, the flat places of those that are beyond their range, the numbers there."""
        if self._near is None:
            x = np.asarray(np.ldexp(self.m, np.minimum(np.maximum(self.e, -5000), 5000).astype(np.intc)))
            at = self.outside.reshape(-1).nonzero()[0]
            everything = self.m.ndim == 1 and at.size == self.m.size
            far = self if everything else Extended.made([part.reshape(-1)[at] for part in self._parts])
            self._near = x, at, far if at.size else None
        return self._near

    @property
    def leading(self) -> Any:
        return self._parts[0] if self._near is None else self._near[0]

    @property
    def slots(self) -> Any:
        """(1, m·2⁻²⁰⁰⁰, 3, m·2²⁰⁰⁰) → (0, 1, 0, 2): which far number stands where, and 0 for floats."""
        x, at, _ = self.form
        slots = np.zeros(x.shape, np.int32)
        slots.flat[at] = np.arange(1, at.size + 1)
        return slots

    @classmethod
    def placed(cls, x: Any, slots: Any, far: Any) -> Extended:
        """Return floats with those of the far numbers that slots name."""
        slots = slots.reshape(-1)
        at = slots.nonzero()[0]
        return cls.near(x, at, cls.made([part[slots[at] - 1] for part in far.parts]) if at.size else None)

    def moved(self, move: Callable[[Any], Any]) -> Extended:
        """(2⁸⁰⁰·m, 0) → diag(2⁸⁰⁰·m, 0): the numbers elsewhere, and zeros of no exponent where none comes to."""
        if self._near is None:
            m, e = map(move, self._parts)
            return Extended.made((m, np.where(m == 0, NOTHING, e)))
        x, at, far = self._near
        return Extended.placed(move(x), move(self.slots), far) if at.size else Extended.near(move(x))

    @classmethod
    def joined(cls, join: Callable[[Any], Any], arrays: Sequence[Any]) -> Extended:
        """Return arrays of numbers joined as their floats are."""
        floats = join([x.form[0] for x in arrays])
        far = [x.form[2] for x in arrays if x.form[1].size]
        if not far:
            return cls.near(floats)
        ends = np.cumsum([x.form[1].size for x in arrays])
        slots = [
            x.slots + (end - x.form[1].size) * (x.slots > 0) for x, end in zip(arrays, ends, strict=True)
        ]
        return cls.placed(floats, join(slots), super().joined(np.concatenate, far))

    @classmethod
    def applied(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """f, (x,) → f(x) by its rule, else of floats or balls; an op that mends a value leaves one that is no float."""
        if getattr(function, "mends", False):
            values, found = cls.of(args[0]), cls.of(super().applied(function, args, kwargs))
            kept = values.outside & (found.floats() == values.floats())  # where nothing is mended
            others = list(map(_instead, args))
            if any(
                x is not y for x, y in zip(others, args, strict=True)
            ):  # no mend of numbers that floats do not tell
                other = cls.of(super().applied(function, [args[0], *others[1:]], kwargs)).floats()
                kept = kept | ~np.isclose(found.floats(), other, rtol=1e-14, atol=0.0, equal_nan=True)
            return cls(np.where(kept, values.m, found.m), np.where(kept, values.e, found.e))
        if cls.rule_of(function):
            return super().applied(function, args, kwargs)
        left = False
        try:
            with np.errstate(over="raise", under="raise"):
                found = cls.unruled(function, args, kwargs)
        except FloatingPointError:
            found, left = cls.unruled(function, args, kwargs), True
        return _surely(function, found, args, kwargs, left)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        rule = self.ufuncs.get(ufunc)
        if method != "__call__" or ufunc.signature is not None:
            return super().__array_ufunc__(ufunc, method, *inputs, out=out, **kwargs)
        if rule is None:
            return self.applied(ufunc, inputs, kwargs)  # of balls, where floats are no help
        return by_entries(ufunc, rule, self.operands(inputs), ufunc in TELLING)

    def floats(self) -> Any:
        """m·2^e as floats: ±∞ and 0 where they are out of range."""
        return self.form[0][()]

    @property
    def plain(self) -> Any:
        """The numbers as mantissas are: ±inf and 0 where they are out of range."""
        return np.asarray(self.floats())

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


def by_entries(function: Any, rule: Any, operands: Sequence[Any], tells: bool = False) -> Any:
    """f, rule, (x,) → f(x) in floats, and rule(x) at the entries where x or f(x) is beyond their range.

    A function that `tells` by NumPy's flags whether it has left the range need not be asked at each entry.
    """
    forms = [x.form if isinstance(x, Extended) else (x, NOWHERE, None) for x in operands]
    floats = [x for x, _, _ in forms]
    try:
        with np.errstate(over="raise", under="raise"):
            found = function(*floats)
        told = not tells
    except FloatingPointError:
        found, told = function(*floats), True
    floating, shape = is_floating(found), np.shape(found)
    places = [_spread(at, x.shape, shape) for x, at, _ in forms if at.size]
    if told and floating:
        size, limits = np.abs(found), np.finfo(found.dtype)
        least = limits.tiny if tells else limits.tiny / limits.eps
        beyond = (size < least) | (size == np.inf)
        if np.count_nonzero(beyond):
            places.append(beyond.reshape(-1).nonzero()[0])
    if not places:
        return Extended.near(np.asarray(found)) if floating else found
    at = places[0]
    if any(x is not at for x in places):
        here = np.zeros(np.size(found), bool)
        for some in places:
            here[some] = True
        at = here.nonzero()[0]
    if 2 * at.size > np.size(found):
        return rule(*operands)
    far = rule(*[_taken(x, at, shape) for x in operands])
    found = np.array(found)
    if not floating:
        found.flat[at] = far
        return found
    near, out, far = far.form
    found.flat[at] = near
    return Extended.near(found, at if out.size == at.size else at[out], far)


def _spread(at: Any, shape: tuple[int, ...], wider: tuple[int, ...]) -> Any:
    """(1,), (3,), (2, 3) → (1, 4): flat places in an array that is broadcast to another shape."""
    if shape == wider:
        return at
    some = np.zeros(shape, bool)
    some.flat[at] = True
    return np.broadcast_to(some, wider).ravel().nonzero()[0]


def _taken(x: Any, at: Any, shape: tuple[int, ...]) -> Any:
    """The numbers at flat places of an array that they are broadcast to."""
    if np.size(x) == 1:
        return x.reshape(-1)
    near, places, far = x.form if isinstance(x, Extended) else (x, NOWHERE, None)
    if far is not None and places is at and near.shape == shape:
        return far
    if near.shape != shape:
        index = np.unravel_index(at, shape)[-near.ndim :]
        at = np.ravel_multi_index(
            [i if n > 1 else 0 * i for i, n in zip(index, near.shape, strict=True)], near.shape
        )
    near = near.reshape(-1)[at]
    if not isinstance(x, Extended):
        return near
    if far is None:
        return Extended.near(near)
    m, e = map(np.array, Extended(near, 0).parts)
    slots = x.slots.reshape(-1)[at]
    here = slots > 0
    m[here], e[here] = (part[slots[here] - 1] for part in far.parts)
    return Extended.made((m, e))


def _surely(function: Any, found: Any, args: Any, kwargs: Any, left: bool) -> Any:
    """erfc(40) = 0 as a float → 2⁻²³¹⁴·… of a ball: a function without a rule, where floats were no help.

    A result that neither floats nor balls tell is NaN, and not infinite; nor 0 where floats have `left` their range.
    Balls are asked, too, where floats in the places of numbers out of range make a difference. They are not asked of
    what is outside of a domain, and do not know poles and limits, as of log Γ(0) and 0·log 0: floats tell these.
    """
    if not isinstance(found, Extended):
        return found
    near, at, _ = found.form
    size, limits = np.abs(near), np.finfo(near.dtype)
    wanted = ~((size >= limits.tiny) & (size <= limits.max))
    if any(isinstance(x, Extended) and x.form[1].size for x in args):
        other = Extended.of(Extended.unruled(function, [_instead(x) for x in args], kwargs)).form[0]
        wanted |= (other != near) & (size > 0)
    if isinstance(function, np.ufunc):  # outside of its domain, or of what is NaN
        wanted &= ~np.isnan(near)
    elif np.any(undefined := wanted & np.isnan(near)):
        wanted &= ~_told(function, args, kwargs, undefined)
    if at.size or not np.count_nonzero(wanted):
        return found
    given = [Extended.of(x) for x in (*args, *kwargs.values()) if isinstance(x, Extended) or is_floating(x)]
    finite = all(np.all(np.isfinite(x)) for x in given)
    m, e = Extended.surest.called(function, args, kwargs, wanted)
    unknown = wanted & np.isnan(m)
    if np.any(unknown):
        wanted &= ~_told(function, args, kwargs, unknown)
    at = (wanted & (~np.isnan(m) | left | (np.isinf(near) & finite))).reshape(-1).nonzero()[0]
    near = np.array(near)
    near.flat[at], out, far = Extended(m.reshape(-1)[at].astype(near.dtype), e.reshape(-1)[at]).form
    return Extended.near(near, at[out], far)


def _told(function: Any, args: Any, kwargs: Any, wanted: Any) -> Any:
    """log Γ(0) → True, log Γ(1e-400) → False: where an entry is what floats make of floats, which do not leave their
    range on the way; False for a function of more than single entries.
    """
    told = np.zeros(wanted.shape, bool)
    places = np.argwhere(wanted)
    if len(places) > MANY or not Extended.surest.entrywise(function, args, kwargs):
        return told
    for place in map(tuple, places):
        here = lambda x, at=place: np.broadcast_to(x, told.shape)[at] if np.ndim(x) else x
        operands = [Extended.of(y) if is_floating(y) else y for y in map(here, args)]
        if any(isinstance(x, Extended) and x.outside.any() for x in operands):
            continue
        try:
            with np.errstate(over="raise", under="raise"):
                function(*map(lowered, operands), **kwargs)
            told[place] = True
        except FloatingPointError:
            continue
    return told


def _instead(x: Any) -> Any:
    """m·2⁻²⁰⁰⁰ → m·2⁻¹⁰²²: other floats for numbers out of range, at the same end of it."""
    if not isinstance(x, Extended) or not x.form[1].size:
        return x
    limits = np.finfo(x.dtype)
    return Extended(x.m, np.where(x.outside, np.where(x.e > 0, limits.maxexp, limits.minexp), x.e))


UFUNCS, FUNCTIONS, NAMED = Extended.ufuncs, Extended.functions, Extended.named
