"""Floats that are watched as a program computes in them: whether NaN, and what leaves the range, have a meaning.

Σ log(x)   at x = -1, 2      Inside   Σ (1, log 2), a number: it is NaN for leaving the logarithm's domain alone
arccos(x)  at x = 1 + 2⁻⁵²   Inside   NaN: x may be 1 but for rounding, as the cosine of an angle is
1 + e⁻⁸⁰⁰                    Shaken   1: the same for any number between 0 and those that floats can hold
log(e⁻⁸⁰⁰)                   Shaken   -708.9 in place of -∞: it depends on that number
x·y − z                      Drawn    (x·y·(1 + u·ε) − z)·(1 + v·ε): far from x·y − z where digits cancel
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, parts
from relgrad.kernels.numbers import (
    JOINS,
    MOVES,
    Numbers,
    are_written,
    innermost,
    is_floating,
    lowered,
    near_by_rules,
    of_floats,
    with_globals,
)

NEAR = 2.0**-20
"""A number that is outside by more than so much of itself is no rounding of one inside."""
BOUNDED = frozenset(
    (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.power, np.arcsin, np.arccos, np.arccosh, np.arctanh)
)
"""The functions of NumPy that are NaN outside their domains."""
EXACT = {
    *(np.negative, np.positive, np.absolute, np.sign, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.where, np.max, np.min, np.sort, *MOVES, *JOINS),
}
"""Those that round nothing."""
CHANCES = np.array([0x9E3779B97F4A7C15, 0xD1342543DE82EF95, 0xA24BAED4963EE407], np.uint64)
"""Digits times one of these, modulo 2⁶⁴, are as good as drawn."""
SIGN_AND_DIGITS = np.uint64(0x800FFFFFFFFFFFFF)
COARSER = 12
"""Bits that are rounded off besides, to see how far rounding moves what it seldom moves."""
HALF, COMPUTED = 26, 6
"""Half of the bits of a float64; and how many of its last ones a number lacks that was computed before."""
DATA = 16
"""More numbers are data, whose last digits are those of a measurement, or of an optimum."""
SURE = 8.0
"""Where so many times more is lost than a test asks for, digits are lost whatever chance says."""

_RANDOM = np.random.default_rng(0)


class Watched(Numbers):
    """f(x) → seen(f, x): an array of floats of which each function's result may be changed."""

    __slots__ = ("x",)
    ufuncs, functions, named = {}, {}, {}
    zero = (0.0,)

    def __init__(self, x: Any):
        self.x = x

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Any:
        """Return floats as they are, in a dtype if one is given."""
        if isinstance(x, cls):
            return x if dtype is None or x.dtype == dtype else x.astype(dtype)
        return cls(np.asarray(x, dtype))

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.x,)

    def floats(self) -> Any:
        return self.x[()]

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the same numbers in a dtype."""
        return self.unruled(lambda x: x.astype(dtype), (self,), {})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            found = self.seen(ufunc, [x.x[()] if isinstance(x, Watched) else x for x in inputs], kwargs)
            return type(self)(np.asarray(found)) if is_floating(found) else self.lifted(found, inputs)
        return self.unruled(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    @classmethod
    def unruled(cls, function: Any, args: Any, kwargs: Any) -> Any:
        args = list(map(lowered, args))
        return cls.lifted(cls.seen(function, args, {k: lowered(x) for k, x in kwargs.items()}), args)

    @classmethod
    def seen(cls, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """f, (x,) → f(x), or another result that is to be seen in its place."""
        raise NotImplementedError


class Inside(Watched):
    """log(−1) → 1: an array of floats, with a number where a function was far outside its domain."""

    __slots__ = ()

    @classmethod
    def seen(cls, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """log(-1) → 1, log(NaN) → NaN, arccos(1 + 2⁻⁵²) → NaN: 1 where a function is NaN at all near numbers."""
        found = function(*args, **kwargs)
        if (
            not isinstance(function, np.ufunc)
            or function not in BOUNDED
            or not (none := np.isnan(found)).any()
        ):
            return found
        x, *others = [a[none] for a in np.broadcast_arrays(*args)]
        far = ~np.logical_or.reduce(list(map(np.isnan, (x, *others))))
        for scale in (1 - NEAR, 1 + NEAR):
            far &= np.isnan(function(x * scale, *others))
        found = np.array(found)
        found[none] = np.where(far, 1, np.nan)
        return found


class Shaken(Watched):
    """e⁻⁸⁰⁰ → 2⁻¹⁰²²·u: an array of floats, with others where a function left their range: near its ends, at random."""

    __slots__ = ()

    @classmethod
    def seen(cls, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """e⁻⁸⁰⁰ → 2⁻¹⁰²²·u, e⁸⁰⁰ → 2¹⁰²⁴·u, 0·2 → 0, for u between ½ and 1, where overflow and underflow are told.

        Raises Unordered for e⁸⁰⁰ < e⁹⁰⁰, which would come out either way, and e⁻⁸⁰⁰ = 0, which holds in floats only.
        """
        try:
            with np.errstate(over="raise", under="raise"):
                found = function(*args, **kwargs)
        except FloatingPointError:
            found = function(*args, **kwargs)
            found = _shaken(found) if is_floating(found) else found
        if not is_floating(found) and _are_unordered(function, args):
            raise Unordered
        return found


class Unordered(ArithmeticError):
    """An order is asked for of numbers that are out of range, or whether one is zero."""


class Drawn(Watched):
    """1/3 → (1/3)·(1 + u·ε), 1 ≤ |u| < 2: an array of floats of which each result is rounded by chance.

    Chance is in the digits themselves: the same call is rounded in the same way.

    Source: D. S. Parker, "Monte Carlo Arithmetic", UCLA Computer Science Department Technical Report CSD-970002 (1997).
    """

    __slots__ = ()
    chance = coarser = 0

    @classmethod
    def seen(cls, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """x·y → x·y·(1 + u·ε);    −x, x[i] → as they are: what a function rounds is rounded otherwise."""
        found = function(*args, **kwargs)
        return found if function in EXACT else mapped(cls._rounded, found)

    @classmethod
    def _rounded(cls, x: Any) -> Any:
        return rounded(x, cls.chance, coarser=cls.coarser)


class DrawnAgain(Drawn):
    """Drawn, by another chance."""

    __slots__ = ()
    chance = 1


class DrawnCoarsely(Drawn):
    """1/3 → (1/3)·(1 + u·2¹²·ε): so that sums of few digits do not come out the same by chance."""

    __slots__ = ()
    coarser = COARSER


class Blurred:
    """x, y ↦ x·y − z → (1 + t·ε)·x·(1 + u·ε)·y − (1 + v·ε)·z: a function of data that are rounded to half their digits.

    ε is 2⁻²⁶, so that what is rounded on the way moves the result by far less. Data are arguments, if `arguments` are,
    and arrays among the constants that were computed before, as all are whose entries are no decimals of few digits:
    how far these are off is not known, and ε is 64 times as large.
    """

    def __init__(self, function: Any, arguments: bool):
        self._function, self._arguments = function, arguments

    @cached_property
    def _constants(self) -> dict[str, Any]:
        names = innermost(self._function).__globals__.items()
        return {name: x for name, x in names if is_floating(x) and np.size(x) > 1}

    @cached_property
    def _computed(self) -> dict[str, Any]:
        return {name: x for name, x in self._constants.items() if not are_written(x)}

    def of(self, size: int) -> Callable[..., Any] | None:
        """size → f of a chance and of arguments of so many numbers; None if none are data."""
        arguments = self._arguments and size + sum(map(np.size, self._constants.values())) > DATA
        return partial(self._called, arguments) if arguments or self._computed else None

    def _called(self, arguments: bool, chance: int, /, *args: Any, **kwargs: Any) -> Any:
        """Return f(x) by one of several chances, in floats alone."""
        f, computed = innermost(self._function), partial(rounded, chance=chance, digits=HALF - COMPUTED)
        names = {**f.__globals__, **mapped(computed, self._computed)}
        change = partial(rounded, chance=chance, digits=HALF) if arguments else lambda x: x
        return with_globals(f, names)(*[mapped(change, x) for x in args], **mapped(change, kwargs))


def rounded(x: Any, chance: int, digits: int | None = None, coarser: int = 0) -> Any:
    """0.1 → 0.1·(1 + u·ε), 1 ≤ |u| < 2: a float that chance, which is in its digits, rounds; others as they are.

    ε is 2^-digits; by default that of the type, or 2^coarser times as large.
    """
    if not is_floating(x):
        return x
    kind = np.result_type(x)
    drawn = np.asarray(x, np.float64).view(np.uint64) * CHANCES[chance] & SIGN_AND_DIGITS
    unit = np.float64(0.5 ** (np.finfo(kind).nmant - coarser if digits is None else digits))
    # An exponent alone, beside a sign and digits.
    return (x + x * (drawn | unit.view(np.uint64)).view(np.float64)).astype(kind)


def _surely(test: Any) -> Any:
    """cancels(t, a) → cancels(t, a, chances=8): of floats, and only where so many times more is lost."""
    return lambda *args, chances=1, **kwargs: test(*map(lowered, args), chances=chances * SURE, **kwargs)


_TESTS = (
    *("cancels", "cancels_at", "sum_cancels", "mixture_cancels", "product_cancels", "ill_conditioned"),
    *("turns", "turns_at", "ties", "exponents_cancel", "exponents_cancel_at"),
)
"""What asks for sizes, and is told of none out of range whatever their order is."""
Shaken.named = {**dict.fromkeys(_TESTS, of_floats), "near": lambda _: near_by_rules(Shaken)}
Drawn.named = {**dict.fromkeys(_TESTS, _surely), "near": lambda _: near_by_rules(Drawn)}


def _are_unordered(function: Any, args: list[Any]) -> bool:
    """Whether a decision is made between numbers out of range: of two operands at an entry, or of two entries.

    One of them may be 0, if the decision is that they are equal.
    """
    out = [_is_out(x) for x in args if is_floating(x)]
    if function in (np.equal, np.not_equal):
        x, y = args
        return bool(np.any((_is_out(x) & (y == 0)) | (_is_out(y) & (x == 0)))) if len(out) > 1 else False
    if isinstance(function, np.ufunc):
        return len(out) > 1 and bool(np.any(np.logical_and(*np.broadcast_arrays(*out))))
    return sum(map(np.count_nonzero, out)) > 1


def _is_out(x: Any) -> Any:
    limits, size = np.finfo(np.result_type(x)), np.abs(x)
    return ((size > 0) & (size < limits.tiny)) | ((size >= limits.max / 2) & (size < np.inf))


def _shaken(x: Any) -> Any:
    """0 → ±2⁻¹⁰²²·u, ∞ → 2¹⁰²⁴·u, ½ ≤ u < 1 at random: floats out of range as others near its ends."""
    x = np.array(x)
    limits, size = np.finfo(x.dtype), np.abs(x)
    small, large = size < limits.tiny, size == np.inf
    for some, end in ((small, limits.tiny), (large, limits.max)):
        x[some] = np.copysign(end * _RANDOM.uniform(0.5, 1, np.count_nonzero(some)), x[some])
    return x


def is_steady(found: Any, shaken: Any, overflowed: bool = True) -> bool:
    """Whether results are the numbers, to the last digit, that shaken floats give: 1 + e⁻⁸⁰⁰: yes; log(e⁻⁸⁰⁰): no.

    e⁻⁸⁰⁰/2, where nothing has overflowed: yes; 4·e⁻⁸⁰⁰, 1/e⁸⁰⁰: no. A result that differs by few of the smallest normal
    floats, where shaken ones are as large, has errors of as few of the smallest floats of all.
    """
    steps = 0 if overflowed else 4
    return all(map(partial(_is_same, steps), parts(found), parts(shaken)))


def _is_same(steps: int, x: Any, y: Any) -> bool:
    """|x − y| ≤ 2⁻⁵³·|x| or so many of the smallest normal floats, or x = y: whether arrays are the same numbers."""
    if not is_floating(x):
        return bool(np.array_equal(x, y))
    limits = np.finfo(np.result_type(x))
    near = np.isfinite(x) & (np.abs(x - y) <= np.maximum(limits.epsneg * np.abs(x), steps * limits.tiny))
    return np.shape(x) == np.shape(y) and bool(np.all(near | (x == y)))
