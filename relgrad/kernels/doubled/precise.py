"""Programs that compute in floats, once more in doubled arithmetic where digits have cancelled, and then in balls."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgrad.kernels.containers import mapped, paired, parts
from relgrad.kernels.doubled.number import BLOCK, Doubled, GivenUp, is_open
from relgrad.kernels.extended.retry import filled
from relgrad.kernels.numbers import OF_FLOATS_ONLY, Numbers, Twin, has_nan, is_floating, is_nan, lowered
from relgrad.kernels.watched import (
    CHANCES,
    COARSER,
    HALF,
    SURE,
    Blurred,
    Drawn,
    DrawnAgain,
    DrawnCoarsely,
    Inside,
)

Function = Callable[..., Any]
CHANCE, SMALL = 2.0**-4, 1000
"""A single number may lose so much, of few; n entries, one of which is smaller by chance, lose n^(3/2) times more."""
NOISE = 64.0
"""Results that move by fewer units of rounding, if chance rounds on the way, have their digits."""
AMPLY = 16.0
"""How far a result moves with the last digits of data counts so many times."""
TURNS = 64.0
"""Angles may lose so many times more than differences do: ordinary programs have angles of any size."""
MANY = np.float64(2.0**64)
"""So many times is often enough, and no number of half precision."""
HALVES = 24
"""So many times rows are asked for again, of which some are left open."""
FEW = 16
"""Programs of so many numbers take less time in balls than in doubled numbers."""
SOME = 16
"""Bits that are lost of entries that are computed again by themselves, however many there are; HALF of the whole."""


def cancels_at(result: Any, *parts: Any, chances: float = 1, bits: int = SOME) -> Any:
    """|result| < ε·|part|: which entries of a sum are far below a part of the sum; False for none.

    ε is 2⁻⁴·n^(-3/2) for n entries, over the `chances` that a program has to ask by chance, and at least 2^-bits. A
    part may come with a factor, as (part, factor).

    >>> x = np.array([1.0, 2.0])
    >>> cancels_at(x - 0.5, x), cancels_at(x - 1.0001, x), cancels_at(x - 1.0001, (x, 1e-3))
    (False, array([ True, False]), False)
    """
    return _below(result, parts, bits, chances)


def cancels(result: Any, *parts: Any, axis: Any = None, chances: float = 1, bits: int = HALF) -> bool:
    """Whether |result| < ε·|part| in an entry of a sum, with ε at least 2^-bits.

    Along axes mean squares are compared, as of residuals that are squared and summed.

    >>> x = np.array([1.0, 2.0])
    >>> cancels(x - 1.0001, x), cancels(x - 1.0001, x, axis=-1)
    (True, False)
    """
    if axis is None:
        return _below(result, parts, bits, chances) is not False
    if not isinstance(result, np.ndarray):
        return False
    axes = axis if type(axis) is tuple else (axis,)
    if math.prod([result.shape[a] for a in axes]) == result.size:
        axes = ()
    size, small = _mean_square(result, axes), _chance(result.size, chances, bits)
    for part in parts:
        x, factor = part if type(part) is tuple else (part, 1.0)
        if np.count_nonzero(size < (small * factor) ** 2 * _mean_square(x, axes)):
            return True
    return False


def lost(part: Any, whole: Any) -> Any:
    """1 + |part/whole|, at most 2⁶⁴: so many times larger the roundings of a sum are for a part of it.

    That is 1 where both are 0.

    >>> lost(np.array([3.0, 0.0]), np.array([-1.0, 0.0]))
    array([4., 1.])
    """
    with np.errstate(all="ignore"):
        return 1 + np.minimum(abs(np.where(part == 0, 0, part / whole)), MANY)


def _chance(sums: int, chances: float, bits: int, products: int = 1) -> float:
    return max(0.5**bits, CHANCE / (chances * math.sqrt(sums * sums * sums * products or 1)))


def _below(result: Any, parts: Sequence[Any], bits: int, chances: float) -> Any:
    """|result| < ε·|part| for a part, entry by entry, or False for nowhere; large arrays by blocks, in the cache."""
    kind = type(result)
    if kind is np.float64:
        sizes = [abs(x[0] * x[1]) if type(x) is tuple else abs(x) for x in parts]
        if all([isinstance(x, float) for x in sizes]):  # noqa: C419
            return bool(abs(result) < _chance(1, chances, bits) * max(sizes))
    elif not issubclass(kind, np.ndarray | float | np.floating):
        return False  # for a stand-in for an array, while a program is traced again
    count = result.size if kind is np.ndarray else max([np.size(x) for x in (result, *map(_first, parts))])
    small = _chance(count, chances, bits)
    if count <= 2 * BLOCK or any(np.shape(x) not in ((), np.shape(result)) for x in map(_first, parts)):
        return _any_below(result, parts, small)
    flat = [x.reshape(-1) if np.ndim(x) else x for x in map(_first, (result, *parts))]
    found = np.empty(count, bool)
    for start in range(0, count, BLOCK):
        some = slice(start, start + BLOCK)
        block, *rest = [x[some] if np.ndim(x) else x for x in flat]
        paired = [(y, x[1]) if type(x) is tuple else y for x, y in zip(parts, rest, strict=True)]
        found[some] = _any_below(block, paired, small)
    return found.reshape(result.shape) if np.count_nonzero(found) else False


def _first(x: Any) -> Any:
    return x[0] if type(x) is tuple else x


def _any_below(result: Any, parts: Sequence[Any], small: float) -> Any:
    """|result| < small·max |part|, entry by entry, or False for nowhere."""
    sizes = [abs(x[0]) * abs(x[1]) if type(x) is tuple else abs(x) for x in parts]
    below = abs(result) < functools.reduce(np.maximum, sizes) * small
    return below if np.count_nonzero(below) else False


def _mean_square(x: Any, axes: tuple[int, ...]) -> Any:
    """Σ x²/n along axes, which stay, or of all entries."""
    axes = tuple([a for a in axes if a >= -np.ndim(x)])
    if not axes:
        return _squares(x) / (np.size(x) or 1)
    if axes == (-1,):
        squares = np.einsum("...i,...i->...", x, x)[..., None]  # which does not tell of overflow
    else:
        with np.errstate(over="ignore"):
            squares = np.add.reduce(np.square(x), axis=axes, keepdims=True)
    return squares / math.prod([x.shape[a] or 1 for a in axes])


def _squares(x: Any) -> Any:
    """Σ x², by blocks, for which BLAS wakes no other threads."""
    if not isinstance(x, np.ndarray):
        return x * x
    x = x.reshape(-1)
    x = x if x.dtype.kind == "f" else x.astype(float)  # squares of integers wrap around
    if x.size <= 2 * BLOCK:
        return np.vdot(x, x)  # which does not tell of overflow, as x.dot(x) would
    return sum([np.vdot(part, part) for part in np.split(x, range(BLOCK, x.size, BLOCK))])


def turns_at(*angles: Any, chances: float = 1, bits: int = HALF) -> Any:
    """ε·|u| > 2⁶·|f|: where one of some angles has digits in turns, ε as for `cancels_at`; False for nowhere.

    |f| is 1, or that of the function of an angle that comes with it, as (u, f), where that is less.

    >>> turns_at(np.array([1.0, 1e8]), 3.0), turns_at(np.array([1.0, 1e3]))
    (array([False,  True]), False)
    >>> u = np.array([1.5, 1.5707963267])
    >>> turns_at((u, np.cos(u)))
    array([False,  True])
    """
    found: Any = False
    for u in angles:  # in one Python call, since each call of a program asks
        u, f = u if type(u) is tuple else (u, 1.0)
        # Not of a stand-in for an array, while a program is traced again.
        if isinstance(u, (np.ndarray, float, np.floating)):
            n = getattr(u, "size", 1)
            small = max(0.5**bits, CHANCE / (chances * TURNS * math.sqrt(n * n * n or 1)))
            if np.logical_or.reduce(far := np.abs(u) * small > np.minimum(np.abs(f), 1.0), axis=None):
                found = np.logical_or(found, far)
    return found


def turns(*angles: Any, chances: float = 1, bits: int = HALF) -> bool:
    """Whether one of some angles has digits in turns: ε·|u| > 2⁶·|f|, as for `turns_at`.

    >>> turns(np.array([1.0, 1e8]), 3.0), turns(np.array([1.0, 1e3]))
    (True, False)
    """
    return turns_at(*angles, chances=chances, bits=bits) is not False


def sum_cancels(total: Any, x: Any, axis: Any = None, chances: float = 1, bits: int = HALF) -> bool:
    """Whether |Σ x| < ε·Σ |x|, where ε = 2⁻⁴·s^(-3/2)·n^(-1/2) for s sums of n entries, at least 2^-bits.

    ε is divided by the `chances` that a program has.

    >>> sum_cancels(np.float64(0), np.array([1.0, -1.0])), sum_cancels(np.float64(0.5), np.array([1.0, -0.5]))
    (True, False)
    """
    if not issubclass(type(total), (np.ndarray, np.floating)):
        return False
    sums = np.size(total)
    small = _chance(sums, chances, bits, x.size // (sums or 1))
    if sums == 1 and abs(total) >= small * math.sqrt(x.size * _squares(x)):
        return False  # since Σ |x| ≤ √n·‖x‖
    magnitudes = np.add.reduce(np.abs(x), axis=axis, keepdims=np.ndim(total) == np.ndim(x))
    return bool(np.any(np.abs(total) < small * magnitudes))


def mixture_cancels(x: Any, weights: Any, axis: Any = None, chances: float = 1, bits: int = HALF) -> bool:
    """Whether |Σ w·eˣ| < ε·Σ |w|·eˣ over axes, ε as in a sum.

    >>> mixture_cancels(np.array([800.0, 800.0]), np.array([1.0, -1.0]))
    True
    >>> mixture_cancels(np.array([800.0, 801.0]), np.array([1.0, -1.0]))
    False
    """
    if not all(issubclass(type(v), (np.ndarray, np.floating)) for v in (x, weights)) or np.all(weights >= 0):
        return False
    with np.errstate(all="ignore"):
        largest = np.max(np.where(weights != 0, x, -np.inf), axis=axis, keepdims=True, initial=-np.inf)
        terms = weights * np.exp(x - largest)
        return sum_cancels(np.add.reduce(terms, axis=axis, keepdims=True), terms, axis, chances, bits)


def product_cancels(product: Any, a: Any, b: Any, chances: float = 1, bits: int = HALF) -> bool:
    """Whether |(a·b)_ik| < ε·Σ_j |a_ij|·|b_jk| in an entry of a product of matrices, or of a sum with one.

    >>> a = np.array([[1.0, 1.0]])
    >>> product_cancels(np.array([[0.0]]), a, np.array([[1.0], [-1.0]]))
    True
    """
    if not issubclass(type(product), (np.ndarray, np.floating)):
        return False
    size, small = np.abs(product), _chance(np.size(product), chances, bits, a.shape[-1])
    if size.size == 0 or size.min() >= small * math.sqrt(_squares(a)) * math.sqrt(_squares(b)):
        return False
    rows = np.sqrt(np.einsum("...ij,...ij->...i", a, a))[..., None]
    columns = np.sqrt(np.einsum("...ij,...ij->...j", b, b))[..., None, :]
    if not np.count_nonzero(size < small * rows * columns):
        return False
    return bool(np.any(size < small * np.matmul(np.abs(a), np.abs(b))))


def ill_conditioned(a: Any, chances: float = 1, bits: int = HALF) -> bool:
    """Whether an entry of |a⁻¹|·|a|·1 is above 1/ε: a matrix is nearly singular. ε is that of a sum of n² entries.

    Rows of different sizes do not count, but for elimination, which loses digits of small ones in large ones: then the
    diagonal of a⁻¹·a is not 1. A matrix without an inverse is nearly singular; one that is not finite is not.

    >>> ill_conditioned(np.diag([1.0, 1e-9])), ill_conditioned(np.array([[1.0, 1.0], [1.0, 1 + 1e-6]]))
    (False, True)

    Source: Skeel 1979, Scaling for numerical stability in Gaussian elimination, §3.
    """
    if not issubclass(type(a), np.ndarray) or a.size == 0:
        return False
    n = a.shape[-1]
    a = a if a.dtype.kind == "f" else a.astype(float)
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return True
    with np.errstate(all="ignore"):
        sums = np.einsum("...ij,...jk->...i", np.abs(inverse), np.abs(a))
        lost = np.abs(np.einsum("...ij,...ji->...i", inverse, a) - 1) / np.finfo(a.dtype).eps
        # What elimination loses is no matter of how its result is rounded.
        return bool(np.any(np.maximum(sums, lost) * _chance(a.size // n**2, chances * SURE, bits, n**3) > 1))


def exponents_cancel_at(product: Any, *factors: Any, chances: float = 1, bits: int = HALF) -> Any:
    """Where |log f| is far above |log(product)|, of factors out of the range of floats: e⁻⁵⁰⁰⁰·cosh(4999).

    An exponent that is rounded makes an error of as many units as it has: of floats these are few.

    >>> exponents_cancel_at(1e-300 * 1e300, 1e-300)
    False
    """
    return False


def exponents_cancel(product: Any, *factors: Any, chances: float = 1, bits: int = HALF) -> bool:
    """Whether |log f| is far above |log(product)| in an entry, of factors out of the range of floats.

    >>> exponents_cancel(1e-300 * 1e300, 1e-300)
    False
    """
    return False


def ties(x: Any, m: Any, chances: float = 1, bits: int = HALF) -> bool:
    """Whether several x are, up to 2^-bits of it, the largest (smallest) m, unless all of them are 0.

    >>> ties(np.array([1.0, 1 - 1e-15]), np.array([1.0])), ties(np.array([1.0, 0.5]), np.array([1.0]))
    (True, False)
    """
    if type(x) is not np.ndarray:
        return False
    small = np.abs(m) * 0.5**bits
    near = np.logical_and(x > m - small, x < m + small)
    # Each m but 0, which is near nothing, is near itself.
    return bool(np.count_nonzero(near) > np.count_nonzero(np.isfinite(m) & (m != 0)))


def precise(
    by: Callable[..., Any], entrywise: bool = False, rowwise: bool = False, derivative: bool = False
) -> Callable[[Any], Any]:
    """Return a decorator of functions that return a result, and where to ask another for it, in doubled arithmetic.

    >>> def as_written(b, c):
    ...     return b * b - c, []
    >>> @precise(by=as_written)
    ... def f(b, c):
    ...     t = b * b
    ...     return t - c, cancels_at(t - c, c)
    >>> float(f(np.float64(1 + 2**-30), np.float64(1 + 2**-29))) == 2**-60
    True

    Doubled results come with bounds of their errors. Where they prove that an entry is further off than they are, they
    stand in its place, if what the other function has decided, and returns besides, comes out in floats as well.
    Of an `entrywise` function, only the entries that are asked for are computed again; of a `rowwise` one those rows by
    themselves that others leave open. NaN is asked for, too, where arguments are none, unless the function is far
    outside its domain. What moves as far with the last digits of data stands, as a `derivative` does near an optimum,
    for which arguments are data, if they are many numbers.
    """
    return lambda function: mending(
        function, lambda: Again(by, entrywise, rowwise), Blurred(function, derivative)
    )


def wider(by: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a decorator of functions of float32 that return a result, and where to ask another for it, in float64.

    >>> def in_float64(b, c):
    ...     return b * b - c
    >>> @wider(by=in_float64)
    ... def f(b, c):
    ...     t = b * b
    ...     return t - c, cancels_at(t - c, c, bits=12)
    >>> float(f(np.float32(1 + 2**-14), np.float32(1 + 2**-13))) == 2**-28
    True
    """
    return lambda function: mending(function, lambda: Wider(by))


def mending(
    function: Callable[..., Any], by: Callable[[], Again | Wider | None], blurred: Blurred | None = None
) -> Callable[..., Any]:
    """f, by → f that is mended by another function, which is asked for when it is needed; or by none.

    It is not where f moves as far `blurred`.
    """
    again = functools.cache(by)
    call = _asking(function, again, blurred, told=False)
    call.told = _asking(function, again, blurred, told=True)  # type: ignore[attr-defined]  # for who asks for NaN besides
    return call


def _asking(
    function: Callable[..., Any],
    again: Callable[[], Again | Wider | None],
    blurred: Blurred | None,
    told: bool,
) -> Callable[..., Any]:
    """f, again → f(x), mended by another function where that is needed; and whether NaN may be in it, if `told`."""
    attempt = getattr(function, "attempt", None)
    draws, coarse = [Twin(function, kind) for kind in (Drawn, DrawnAgain)], Twin(function, DrawnCoarsely)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        """f(x), lost → f as written where digits are lost, or NaN has come of numbers inside the domain; else f(x).

        And where floats have no f(x), since a matrix is singular in them alone.
        """
        try:
            (result, lost), in_floats = (
                attempt(*args, **kwargs) if attempt else (function(*args, **kwargs), True)
            )
        except np.linalg.LinAlgError:
            other = again()
            if other is None or (found := other.instead(args, kwargs)) is None:
                raise
            return (found, False) if told else found
        if type(result) is np.ndarray and result.dtype.kind == "f":  # in C alone, since each call asks
            nan = np.isnan(np.minimum.reduce(result, axis=None, initial=np.inf))
        else:
            nan = has_nan(result)
        none = nan and _has_rows_of_numbers(result, args, kwargs)
        asked = lost.any() if isinstance(lost, np.ndarray) else lost
        if asked and in_floats and not nan:
            size = sum(map(np.size, parts((args, kwargs))))
            if of_data := blurred and blurred.of(size):
                moved = _moved_by_more(of_data, coarse, result, args, kwargs)
            else:
                moved = _moved(draws, result, args, kwargs) if size <= SMALL else True
            lost = lost & (moved if np.shape(moved) == np.shape(lost) else np.any(moved))
            asked = np.any(lost)
        if (none or asked) and (other := again()) is not None:
            with np.errstate(all="ignore"):
                result = other.better(result, lost, none, args, kwargs)
        if not in_floats:
            result = filled(result, lambda: function(*args, **kwargs)[0], (args, kwargs))
        return (result, nan) if told else result

    return call


def _moved(draws: Sequence[Function], result: Any, args: Any, kwargs: Any) -> Any:
    """f(x) → where entries are others if chance rounds on the way, or digits are lost for sure."""
    moved: Any = False
    for drawn in draws:
        try:
            with np.errstate(all="ignore"):
                found, lost = drawn(*args, **kwargs)
                moved = moved | lost | _far(result, _moves(result, found))
        except _FAILURES:
            return True
        if np.all(moved):
            break
    return moved


def _moved_by_more(blurred: Function, coarse: Function, result: Any, args: Any, kwargs: Any) -> Any:
    """f(x) → where entries move further if chance rounds on the way than with the last digits of data.

    By 16·|f(x·(1 + u·√ε)) − f(x)|·√ε, u drawn three times. True where f is not known beside x, as of a matrix that is
    no longer positive.
    """
    try:
        with np.errstate(all="ignore"):
            others = [blurred(chance, *args, **kwargs)[0] for chance in range(len(CHANCES))]
            found, _ = coarse(*args, **kwargs)
            moves = [_moves(result, other) for other in others]
            blur = [
                AMPLY * 0.5**HALF * functools.reduce(np.maximum, sizes) for sizes in zip(*moves, strict=True)
            ]
            return _far(result, [x * 0.5**COARSER for x in _moves(result, found)], blur)
    except (np.linalg.LinAlgError, *_FAILURES):
        return True


def _moves(result: Any, other: Any) -> list[Any]:
    """x, y → |y − x|: how far apart the arrays of two results are, 0 for those of no floats."""
    pairs = zip(parts(result), map(lowered, parts(other)), strict=True)
    return [np.abs(y - x) if is_floating(x) else 0.0 for x, y in pairs]


def _far(result: Any, moves: Sequence[Any], blur: Sequence[Any] | None = None) -> Any:
    """Whether entries of a result move by more than 64 units of rounding, and by more than they may for another reason.

    Each by itself where all arrays have one shape.
    """
    found = parts(result)
    is_entrywise = len(set(map(np.shape, found))) == 1
    far: Any = False
    for x, move, other in zip(found, moves, blur or [0.0] * len(found), strict=True):
        if is_floating(x):
            own = NOISE * np.finfo(x.dtype).eps * np.abs(x)
            beyond = ~(move <= np.maximum(own, other))
            far = far | (beyond if is_entrywise else np.any(beyond))
    return far


def _has_rows_of_numbers(result: Any, args: Any, kwargs: Any) -> bool:
    """Whether NaN is in a result though no argument is NaN, or in a row that has none in arguments."""
    if not has_nan((args, kwargs)):
        return True
    rows = _rows_of_numbers(result, args, kwargs)
    return any(has_nan(x[rows]) for x in parts(result)) if len(rows) else False


def _rows_of_numbers(result: Any, args: Any, kwargs: Any) -> Any:
    """result : (3,), x = [1, nan, 2] → [0, 2]: the places along the first axis at which no argument is NaN."""
    counts = {np.shape(x)[:1] for x in parts(result)}
    count = counts.pop() if len(counts) == 1 else ()
    if not count:
        return np.arange(0)
    none = np.zeros(count, bool)
    for x in parts((args, kwargs)):
        if is_floating(x):
            none |= (
                np.isnan(x.reshape(*count, -1)).any(axis=1) if np.shape(x)[:1] == count else np.isnan(x).any()
            )
    return np.flatnonzero(~none)


_FAILURES = (ArithmeticError, *OF_FLOATS_ONLY)
"""Exceptions of programs for arrays of floats only, and of decisions by digits that are not known."""


class Wider:
    """f of float64 → f of float32: computed in float64, which has digits to lose, and rounded."""

    def __init__(self, function: Function):
        self._function = function

    def better(self, result: Any, lost: Any, none: bool, args: Any, kwargs: Any) -> Any:
        """result → f(x) in float64, rounded; what it was where that is NaN."""
        widened = lambda x: np.asarray(x, np.float64)[()] if is_floating(x) else x
        found = self._function(*[mapped(widened, x) for x in args], **mapped(widened, kwargs))
        rounded = lambda x, y: np.where(np.isnan(y), x, y).astype(x.dtype)[()] if is_floating(y) else x
        return paired(rounded, result, found)

    def instead(self, args: Any, kwargs: Any) -> Any:
        """f(x), since floats of fewer digits have none: None; float64 is asked by who calls for it."""
        return None


class Again:
    """f as written → f in doubled numbers, and in balls of more and more digits where these leave a result open.

    Balls of few numbers take less time than these do, and come first. Of an `entrywise` function for some entries
    alone, of a `rowwise` one for the rows that are left open by others.
    """

    def __init__(self, function: Function, entrywise: bool, rowwise: bool = False):
        self._function, self._entrywise, self._rowwise = function, entrywise, rowwise
        doubled, (few, *more) = Twin(function, Doubled), Numbers.surest.programs(function)
        self._kinds, self._of_few = [doubled, few, *more], [few, doubled, *more]
        self._inside = Twin(function, Inside)

    def better(self, result: Any, lost: Any, none: bool, args: Any, kwargs: Any) -> Any:
        """result → f as written, where digits are `lost`, or where it is NaN, that is `none`, inside the domain."""
        numbers = not none or not has_nan((args, kwargs))
        if none and (numbers or self._entrywise or self._rowwise):
            inside = self._inside_domain(result, args, kwargs)
            if self._entrywise:
                lost = functools.reduce(np.logical_or, map(is_nan, parts(inside)), lost)
            else:
                rows = slice(None) if numbers else _rows_of_numbers(result, args, kwargs)
                lost = np.any(lost) or any(has_nan(x if numbers else x[rows]) for x in parts(inside))
        if not np.any(lost):
            return result
        if self._entrywise and isinstance(lost, np.ndarray):
            return self.mended_at(lost, result, args, kwargs)
        return self.mended(result, args, kwargs)

    def instead(self, args: Any, kwargs: Any) -> Any:
        """([1, 1], [1, 1 + 10⁻²⁰])⁻¹: f as written where floats have none; None if no number of digits settles it."""
        for numbers in self._kinds:
            try:
                with np.errstate(all="ignore"):
                    found, alike = self._computed(numbers, args, kwargs)
            except (GivenUp, *_FAILURES):
                continue
            blank = mapped(lambda x: np.full(np.shape(x), np.nan), found)
            result = paired(lambda x, y: _mended(x, y, all(map(np.all, alike))), blank, found)  # noqa: B023
            if not has_nan(result):
                return result
        return None

    def _inside_domain(self, result: Any, args: Any, kwargs: Any) -> Any:
        """log(x), x < 0: NaN → 1: a result with numbers where the function is NaN because it leaves its domain."""
        try:
            return mapped(lowered, self._inside(*args, **kwargs)[0])
        except _FAILURES:
            return result

    def mended(self, result: Any, args: Any, kwargs: Any) -> Any:
        """result → hi + lo where that is known better; of rows, some of which leave others open, of halves of them."""
        # What NaN makes of other rows is told from what is open by doubled numbers.
        few = sum(map(np.size, parts((args, kwargs)))) <= FEW and not has_nan((args, kwargs))
        found, kinds = self._mended(result, args, kwargs, self._of_few if few else self._kinds)
        rows = _rows_of_numbers(result, args, kwargs) if kinds and self._rowwise else []
        pending: list[Any] = [(rows, kinds)] if len(rows) else []
        for _ in range(HALVES):
            if not pending:
                break
            (some, kinds), *pending = pending
            others = np.full(len(parts(result)[0]), some[0])  # have the values of a row among these
            others[some] = some
            given = mapped(lambda x: x[others] if np.shape(x)[:1] == others.shape else x, (args, kwargs))  # noqa: B023
            better, kinds = self._mended(result, given[0], given[1], kinds)
            found = paired(lambda x, y: _with_rows(x, y, some), found, better)  # noqa: B023
            if len(some) > 1 and kinds:
                pending += [(half, kinds) for half in np.array_split(some, 2)]
        return found

    def _mended(self, result: Any, args: Any, kwargs: Any, kinds: Sequence[Function]) -> tuple[Any, Any]:
        """result → hi + lo where that is known better, tried in doubled numbers and then in balls.

        Entries that NaN among the arguments has made NaN are left alone. Returned are besides the kinds of numbers that
        may know more of some rows: none where no entry keeps others from being answered.
        """
        nan, none, left_open = has_nan((args, kwargs)), None, False
        able, i = list[Function](), 0
        for i, numbers in enumerate(kinds):
            if len(able) < i and numbers is not self._kinds[0]:
                break  # balls of more digits are no less work
            able.append(numbers)
            try:
                found, alike = self._computed(numbers, args, kwargs)
            except GivenUp:
                able.pop()
                continue
            except _FAILURES:
                left_open = True
                continue
            decided = all(map(np.all, alike))
            left_open = not decided
            result = paired(lambda x, better: _mended(x, better, decided), result, found)  # noqa: B023
            none = none or [nan & np.isnan(lowered(x)) for x in parts(found)]
            if not any(np.any(is_open(x) & ~gone) for x, gone in zip(parts(found), none, strict=True)):
                break
        return result, (able if len(able) <= i else kinds) if left_open else ()

    def mended_at(self, lost: Any, result: Any, args: Any, kwargs: Any) -> Any:
        """(True, False), (x, y) → (x again, y): a result with the entries that are lost computed again, by blocks.

        With more digits, which take longer, by smaller ones, and of fewer entries.
        """
        shape = np.broadcast_shapes(*[np.shape(x) for x in parts(result)])
        flat = lambda x: np.broadcast_to(x, shape).reshape(-1) if np.ndim(x) else x
        args, kwargs = mapped(lambda x: flat(x) if _fits(x, shape) else 0.0, (args, kwargs))
        new = mapped(lambda x: np.array(x, order="C"), result)
        whole = [x.reshape(-1) for x in parts(new)]
        places = np.flatnonzero(flat(lost))
        kinds = self._of_few if len(places) <= FEW else self._kinds
        for level, numbers in enumerate(kinds):
            left, size, is_last = [], BLOCK >> 2 * level, level == len(kinds) - 1
            pending = np.split(places, range(size, len(places), size))
            most = len(pending) + HALVES
            while pending:
                some, *pending = pending
                most -= 1
                if not len(some):
                    continue
                at = lambda x: x[some] if np.ndim(x) else x  # noqa: B023
                given = mapped(at, (args, kwargs))
                known = ~functools.reduce(np.logical_or, map(is_nan, parts(given)), np.zeros(len(some), bool))
                try:
                    found, alike = self._computed(numbers, *given)
                except GivenUp:
                    left += [some[known]] if self._kinds[0] in kinds[level + 1 :] else []
                    continue
                except _FAILURES:
                    if is_last and len(some) > 1 and most > 0:  # one entry that is open leaves others so
                        pending += np.array_split(some[known], 2)
                    else:
                        left.append(some[known])
                    continue
                for x, better in zip(whole, parts(found), strict=True):
                    x[some] = _mended(x[some], better, functools.reduce(np.logical_and, alike, np.True_))
                left.append(some[known & functools.reduce(np.logical_or, map(is_open, parts(found)))])
            places = np.concatenate([*left, places[:0]])
            if len(places) > size:  # balls are slow
                break
        return new

    def _computed(self, numbers: Function, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """f(numbers), and where each decision, x > 0 say, comes out in floats as well."""
        found, decided = numbers(*args, **kwargs)
        floats = self._function(*args, **kwargs)[1] if decided else []
        return found, [lowered(a) == b for a, b in zip(decided, floats, strict=True)]


def _with_rows(x: Any, better: Any, rows: Any) -> Any:
    """[1, 2, 3], [4, 5, 6], [0] → [4, 2, 3]"""
    new = np.array(x)
    new[rows] = better[rows]
    return new


def _fits(x: Any, shape: tuple[int, ...]) -> bool:
    """x : (3,), (2, 3) → True; x : (5, 3), (1, 1) → False: whether entries may be computed of x, or it is not read."""
    try:
        return np.broadcast_shapes(np.shape(x), shape) == shape
    except ValueError:
        return False


def _mended(x: Any, better: Any, alike: Any) -> Any:
    """|y − x| > 2·bound + ε·|y| → y: a float x that is NaN, or off by more than y can be, if decisions are alike."""
    if not isinstance(better, Doubled) or np.shape(x) != better.shape or np.asarray(x).dtype.kind != "f":
        return x
    # The result is none, or off by more than the doubled one, rounded, can be.
    floats = better.floats()
    sure = np.abs(floats - x) > 2.0 * better.bound + np.finfo(x.dtype).eps * np.abs(floats)
    sure |= np.isnan(x) & ((better.bound <= np.abs(floats)) | ~is_open(better))
    sure |= np.isinf(floats) & (better.bound == 0.0) & (floats != x)
    return np.where(sure & alike, floats, x).astype(x.dtype)[()]
