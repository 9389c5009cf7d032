"""Series of programs along a line, x(t) = y + t·e in one of the arguments: arrays of floats, with error bounds.

    y = f(u):    y = f(u₀) + ∫ Df(u)·u′ dt        by the op's own pushforward, evaluated on series, y among them
    linear ops apply to every coefficient; products are Cauchy's; quotients are those of Laurent series
    y = log(tˢ·w), w₀ ≠ 0:    y = s·λ + log w,    λ = log t

λ is a number like any other: what is expanded is y(t, λ) in t, for which all of these laws hold, with λ as it is at the
distance that the series is summed for. So log(x² + 1) − 2·log x at x = 1/t is −2λ + log(1 + t²) + 2λ = t² − …

Each coefficient has a bound of its rounding error, so that what vanishes is told from what is merely small. Where
leaves are doubled numbers, so are all coefficients, which carry bounds of their own.

Source: A. Griewank & A. Walther, "Evaluating Derivatives", 2nd ed., chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.calculus.change import tangent_of
from relgrad.calculus.laurent import NoSeries, check_continuous
from relgrad.calculus.series import Slope
from relgrad.interpret import interpret
from relgrad.kernels.doubled.named import written
from relgrad.kernels.doubled.number import Doubled
from relgrad.kernels.eft import two_product, two_sum
from relgrad.leaf import Input
from relgrad.op import Constant, as_term
from relgrad.ops.arithmetic import (
    absolute,
    add,
    cbrt,
    divide,
    float_power,
    multiply,
    negative,
    positive,
    power,
    reciprocal,
    sign,
    sqrt,
    square,
    subtract,
)
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import (
    isfinite,
    isinf,
    isnan,
)
from relgrad.ops.einsum import Einsum
from relgrad.ops.exponential import log
from relgrad.ops.increments import Increment, MeanSlope
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum
from relgrad.ops.rounding import fmod, remainder
from relgrad.ops.selection import maximum, minimum, where
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze
from relgrad.term import Term, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType

EPS = 2.0**-53
ROUNDED = 2.0**-51
"""The relative error of a function of a float."""
SMALLEST = 2.0**-900
"""Of products that are smaller, it is not known whether they are exact."""
_MOVES = (Rearrangement, Expand, Squeeze, BroadcastTo, BroadcastLike, Cast)
MANY = 500
"""So many series are made of one program, if not told otherwise."""
STEEP = 12
"""So many steps for each op of a function whose slope has a series."""
DEEP = 20
"""Rules of rules are followed so far; those of ops over axes, whose derivatives branch, a quarter of that."""

WHOLE = 16
"""Larger exponents are no products."""
FEW = 5
"""Entries of a divisor begin with powers that differ by less."""

Coefficient = tuple[Any, Any]
"""An array, and a bound of its error, beside that of doubled numbers; None stands for zero."""


_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def bounded(most: int) -> Iterator[None]:
    """Raise NoSeries where more coefficients, and products of them, than so many are computed."""
    token = _left.set([most])
    try:
        yield
    finally:
        _left.reset(token)


def _spend(steps: int = 1) -> None:
    """left → left − steps; raises NoSeries below 0."""
    left = _left.get()
    if left is not None:
        left[0] -= steps
        if left[0] < 0:
            raise NoSeries("it takes too many steps")


def vanishes(c: Coefficient) -> bool:
    """Whether a coefficient is zero but for rounding."""
    return bool(np.all(vanishing(c)))


def vanishing(c: Coefficient) -> Any:
    """|c| ≤ 8·dc: which entries of a coefficient are zero but for rounding.

    (1e-17, 1e-3) ± 1e-16 → (True, False)
    """
    return size(c[0]) <= 8 * error_of(c)


def _is_some(c: Coefficient) -> bool:
    """c ≠ 0 or dc ≠ 0 in an entry: 0 ± 1e-16 is some coefficient, 0 ± 0 is none."""
    x, error = in_floats(c[0]), error_of(c)
    some = x.any() if isinstance(x, (np.ndarray, np.generic)) else x
    return bool(some) or bool(error if type(error) is float else np.any(error))


def floats(x: Any, exact: bool) -> Any:
    """Return numbers as floats; truth values and integers stay."""
    x = np.asarray(x)
    return x.astype(float) if x.dtype.kind == "f" else x


def doubled(x: Any, exact: bool) -> Any:
    """Return floats as doubled numbers; what is not `exact` may have been rounded, if it has many digits."""
    x = floats(x, exact)
    return x if x.dtype.kind != "f" else Doubled(x) if exact else written(x)


def in_floats(x: Any) -> Any:
    """Return numbers as floats."""
    return x.floats() if isinstance(x, Doubled) else x


def size(x: Any) -> Any:
    """|x| in floats, entry by entry: of a doubled number, |hi|."""
    return np.abs(in_floats(x))


def error_of(c: Coefficient) -> Any:
    """dc, and of a doubled number dc + bound: the whole bound of a coefficient's error."""
    return c[1] + c[0].bound if isinstance(c[0], Doubled) else c[1]


class Power:
    """Σ cₖ·tᵏ from k = `start` on: a series whose coefficients are found one after the other, by `next`."""

    def __init__(self, start: int = 0):
        self.start = start
        self.known: list[Coefficient | None] = []
        self._is_busy = False
        self._sizes: dict[int, tuple[Any, Any]] = {}

    @property
    def fixed(self) -> bool:
        """Whether the series is c₀ alone, the same for all t."""
        return False

    def at(self, k: int) -> Coefficient | None:
        """cₖ, or None where that is zero: 1/(1 − t) has 1 at every k ≥ 0, and None below.

        All coefficients before are found first. Raises NoSeries where a coefficient depends on itself.
        """
        i = k - self.start
        while i >= len(self.known):
            if self._is_busy:
                raise NoSeries("a coefficient depends on itself")
            _spend()
            self._is_busy = True
            try:
                found = self.next(self.start + len(self.known))
            finally:
                self._is_busy = False
            self.known.append(found if found is not None and _is_some(found) else None)
        return self.known[i] if i >= 0 else None

    def size_at(self, k: int, c: Coefficient) -> tuple[Any, Any]:
        """|c| and dc + 2ε·|c| of a known coefficient: the factors of which the error of a product is made."""
        found = self._sizes.get(k)
        if found is None:
            x = size(c[0])
            found = self._sizes[k] = x, c[1] + 2 * EPS * x
        return found

    @property
    def has_pole(self) -> bool:
        """Whether a coefficient of a negative power is more than rounding: 1/t + 1: yes; (1e-17 ± 1e-16)/t: no."""
        return any((c := self.at(k)) is not None and not vanishes(c) for k in range(self.start, 0))

    def next(self, k: int) -> Coefficient | None:
        """Compute the coefficient of tᵏ, those before it being known."""
        raise NotImplementedError


class BranchPoint(NoSeries):
    """A root of what vanishes with an odd power of t."""


class Exact(Power):
    """a + e·t, m/t + c, or c: a polynomial from a power on, of a leaf, one near infinity, or a term without t."""

    def __init__(self, *coefficients: Coefficient | None, start: int = 0):
        super().__init__(start)
        self.known = [c if c is not None and _is_some(c) else None for c in coefficients]

    def at(self, k: int) -> Coefficient | None:
        return self.known[k - self.start] if 0 <= k - self.start < len(self.known) else None

    @property
    def fixed(self) -> bool:
        return len(self.known) == 1 and not self.start

    @property
    def digits(self) -> Any:
        """The bits of all coefficients, with their powers: two series of the same numbers all the way have the same."""
        parts = [
            () if c is None else c[0].parts if isinstance(c[0], Doubled) else (c[0],) for c in self.known
        ]
        arrays = [np.asarray(x) for part in parts for x in (np.nan, *part)]
        return self.start, *[(x.dtype, x.shape, x.tobytes()) for x in arrays]

    def next(self, k: int) -> None:
        return None


ZERO = Exact(None)
ONE = Exact((np.ones(()), 0.0))


class _Missing(Power):
    """log(t), in 0·log(t) never asked for: the series of a term that has none, which raises NoSeries if it is."""

    def __init__(self, why: NoSeries):
        self.why = why

    @property
    def start(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise self.why

    @property
    def fixed(self) -> bool:
        raise self.why

    def at(self, k: int) -> Coefficient | None:
        raise self.why


class _Sum(Power):
    """(a ± b)ₖ = aₖ ± bₖ"""

    def __init__(self, a: Power, b: Power, sign: int):
        super().__init__(min(a.start, b.start))
        self.a, self.b, self.sign = a, b, sign

    def next(self, k: int) -> Coefficient | None:
        """(a ± b)ₖ = aₖ ± bₖ, with the error da + db + |rest|, where two_sum gives the rest that rounding took."""
        a, b = self.a.at(k), self.b.at(k)
        if a is None or b is None:
            return a if b is None else b if self.sign > 0 else (-b[0], b[1])
        x, y = a[0], self.sign * b[0]
        if isinstance(x, Doubled) or isinstance(y, Doubled):
            return x + y, a[1] + b[1]
        total, rest = two_sum(x, y)
        return total, a[1] + b[1] + np.abs(rest)


class _Product(Power):
    """Σᵢ aᵢ∘bₖ₋ᵢ for a bilinear op."""

    def __init__(self, a: Power, b: Power, times: Callable[[Any, Any], Any]):
        super().__init__(a.start + b.start)
        self.a, self.b, self.times = a, b, times

    def next(self, k: int) -> Coefficient | None:
        """(a∘b)ₖ = Σᵢ aᵢ∘bₖ₋ᵢ"""
        return _convolved(self.a, self.b, k, self.a.start, self.times)


class _Multilinear(Power):
    """Σ f(aᵢ, bⱼ, …) over i + j + … = k, for an op that is linear in each operand."""

    def __init__(self, parts: Sequence[Power], times: Callable[..., Any]):
        super().__init__(sum(part.start for part in parts))
        self.parts, self.times = parts, times

    def next(self, k: int) -> Coefficient | None:
        """f(a, b, …)ₖ = Σ f(aᵢ, bⱼ, …) over i + j + … = k

        with the error Σ f(daᵢ, |bⱼ|, …) + f(|aᵢ|, dbⱼ, …) + … + n·ε·f(|aᵢ|, |bⱼ|, …).
        """
        value: Any = None
        error: Any = 0.0
        for chosen in self._chosen(len(self.parts), k):
            _spend()
            sizes = [size(c[0]) for c in chosen]
            part = self.times(*[c[0] for c in chosen])
            value = part if value is None else value + part
            if not isinstance(part, Doubled):
                error = error + len(chosen) * EPS * self.times(*sizes)
            for i, c in enumerate(chosen):
                error = error + self.times(
                    *sizes[:i], np.broadcast_to(c[1], np.shape(sizes[i])), *sizes[i + 1 :]
                )
        return None if value is None else (value, error)

    def _chosen(self, n: int, k: int) -> Iterator[list[Coefficient]]:
        """(aᵢ, bⱼ, …), i + j + … = k: coefficients of the first n series with powers of this sum, none of them 0."""
        if not n:
            yield from [[]] if k == 0 else []
            return
        a, before = self.parts[n - 1], sum(part.start for part in self.parts[: n - 1])
        for i in range(a.start, k - before + 1):
            if (c := a.at(i)) is not None:
                yield from ([*rest, c] for rest in self._chosen(n - 1, k - i))


def _convolved(a: Power, b: Power, k: int, first: int, times: Any) -> Coefficient | None:
    """Σ aᵢ·bₖ₋ᵢ over i ≥ `first`, with the error Σ |a|·db + da·|b| + 2ε·|a|·|b|; None where all products are zero."""
    total: Any = None
    error: Any = 0.0
    last = k - b.start
    if isinstance(a, Exact):
        last = min(last, a.start + len(a.known) - 1)
    if isinstance(b, Exact):
        first = max(first, k - b.start - len(b.known) + 1)
    spent = 0
    ours, theirs = a.known, b.known
    for i in range(first, last + 1):
        # Mostly both are known: they are looked up without a call.
        at, other_at = i - a.start, k - i - b.start
        x = ours[at] if 0 <= at < len(ours) else a.at(i)
        if x is None:
            continue
        y = theirs[other_at] if 0 <= other_at < len(theirs) else b.at(k - i)
        if y is None:
            continue
        spent += 1
        part = times(x[0], y[0])
        (one, _), (other, rounded) = a.size_at(i, x), b.size_at(k - i, y)
        # |x|·dy + dx·|y|, and the rounding of the product: 2ε·|x|·|y|.
        error = error + times(one, y[1] if isinstance(part, Doubled) else rounded)
        if type(x[1]) is not float or x[1]:
            error = error + times(x[1], other)
        total = part if total is None else total + part
    _spend(spent)
    return None if total is None else (total, error)


class Quotient(Power):
    """q = a/b: q·b = a, so qₖ = (aₖ₊ₛ − Σ bₛ₊ᵢ·qₖ₋ᵢ)/bₛ, where bₛ is the first coefficient of the divisor.

    (t + t²)/t = 1 + t. Entries of the divisor may begin with different powers: each is moved to begin with the same.
    """

    def __init__(self, a: Power, b: Power, most: int):
        """a/b with the leading zeros of b left out, entry by entry where these are not equally many."""
        b, leading = _led(b, most)
        if not np.all(in_floats(leading[0])):
            order = _orders(b)
            a, (b, leading) = _Aligned(a, order), _led(_Aligned(b, order), most)
        super().__init__(a.start - b.start)
        self.a, self.b, self.leading = a, b, leading

    def next(self, k: int) -> Coefficient | None:
        """qₖ = (aₖ₊ₛ − Σ_{i ≥ 1} bₛ₊ᵢ·qₖ₋ᵢ)/bₛ, with no error of rounding where the quotient by bₛ is exact."""
        above = self.a.at(k + self.b.start)
        if self.known:
            less = _convolved(self.b, self, k + self.b.start, self.b.start + 1, np.multiply)
            if less is not None:
                above = (-less[0], less[1]) if above is None else (above[0] - less[0], above[1] + less[1])
        if above is None:
            return None
        low, doubt = self.leading
        found = above[0] / low
        error = (above[1] + size(found) * doubt) / size(low)
        if isinstance(found, Doubled):
            return found, error
        # Mostly exact: 1/(1 − t) = 1 + t + t² + …
        part, rest = two_product(found, low)
        exact = (above[0] - part == rest) & (np.abs(part) > SMALLEST)
        return found, error + np.where(exact, 0.0, EPS * np.abs(found))


def _led(b: Power, most: int) -> tuple[Power, Coefficient]:
    """0 + 0·t + c·t² + … → c·t² + …, c: a series from its first coefficient that is not zero, and that one.

    Raises NoSeries where all coefficients up to the power `most` are zero: a divisor vanishes.
    """
    while (leading := b.at(b.start)) is None or not np.any(in_floats(leading[0])):
        if b.start > most or (isinstance(b, Exact) and b.start >= len(b.known)):
            raise NoSeries("a divisor vanishes")
        b = _Shifted(b)
    return b, leading


def _orders(b: Power) -> Any:
    """(1 + t, t + t²) → (0, 1): how many coefficients of each entry come before the first that is not zero.

    An entry with FEW or more of them counts as one with none.
    """
    order: Any = FEW
    for k in reversed(range(FEW)):
        c = b.at(b.start + k)
        order = order if c is None else np.where(in_floats(c[0]) == 0, order, k)
    return np.where(order == FEW, 0, order)


class _Aligned(Power):
    """Σ cₖ₊ₚ·tᵏ: each entry of a series without its first p coefficients, so many as `order` says."""

    def __init__(self, a: Power, order: Any):
        super().__init__(a.start - int(np.max(order)))
        self.a, self.order = a, order

    def next(self, k: int) -> Coefficient | None:
        """cₖ ← cₖ₊ₚ entry by entry, where p is the entry of `order`."""
        parts = [(self.a.at(k + int(p)), self.order == p) for p in np.unique(self.order)]
        zero = 0.0, 0.0
        value, error = [sum(np.where(here, (c or zero)[i], 0.0) for c, here in parts) for i in (0, 1)]
        return value, error


class _Shifted(Power):
    """0·tˢ + c·tˢ⁺¹ + … → c·tˢ⁺¹ + …: a series whose first coefficient is zero, without it."""

    def __init__(self, a: Power):
        super().__init__(a.start + 1)
        self.a = a

    def next(self, k: int) -> Coefficient | None:
        return self.a.at(k)


class _Moved(Power):
    """tⁿ·a, where n = `by`: (tⁿ·a)ₖ = aₖ₋ₙ"""

    def __init__(self, a: Power, by: int):
        super().__init__(a.start + by)
        self.a, self.by = a, by

    def next(self, k: int) -> Coefficient | None:
        return self.a.at(k - self.by)


class _Mapped(Power):
    """f(a)ₖ = f(aₖ) for a linear op f, as a transpose or Σ is."""

    def __init__(self, a: Power, apply: Callable[[Any], Any], sums: bool):
        super().__init__(a.start)
        self.a, self.apply, self.sums = a, apply, sums

    def next(self, k: int) -> Coefficient | None:
        """f(aₖ), with the error f(daₖ), and ε·f(|aₖ|) more for an op that sums."""
        a = self.a.at(k)
        if a is None:
            return None
        found: Any = self.apply(a[0])
        exact = type(a[1]) is float and not a[1]
        error: Any = 0.0 if exact else self.apply(np.broadcast_to(a[1], a[0].shape))
        if self.sums and not isinstance(found, Doubled):
            error = error + EPS * self.apply(np.abs(a[0]))
        return found, error


class _Regular(Power):
    """Σ cₖ·tᵏ → Σ_{k ≥ 0} cₖ·tᵏ: a series without its negative powers, which vanish but for rounding."""

    def __init__(self, a: Power):
        super().__init__()
        self.a = a

    def next(self, k: int) -> Coefficient | None:
        return self.a.at(k)


class _Derivative(Power):
    """(a′)ₖ = (k + 1)·aₖ₊₁"""

    def __init__(self, a: Power):
        super().__init__(max(a.start - 1, 0) if a.start >= 0 else a.start - 1)
        self.a = a

    def next(self, k: int) -> Coefficient | None:
        a = self.a.at(k + 1)
        return None if a is None else ((k + 1) * a[0], (k + 1) * a[1])


class _Integral(Power):
    """y₀ + ∫ s dt: yₖ = sₖ₋₁/k, where s is made as late as a coefficient is asked for: s may read y itself."""

    def __init__(self, first: Coefficient, slope: Callable[[], Power]):
        super().__init__()
        self.known = [first]
        self.slope: Callable[[], Power] | None = slope
        self.s: Power | None = None

    def next(self, k: int) -> Coefficient | None:
        """yₖ = sₖ₋₁/k; raises NoSeries where s divides by y, as the derivative 1/(2·√x) of √x does, or has a pole."""
        if self.s is None:
            if self.slope is None:
                raise NoSeries(
                    "a derivative divides by what it is the derivative of, as that of √x at 0 does"
                )
            slope, self.slope = self.slope, None
            self.s = slope()
            if self.s.has_pole:
                raise NoSeries("a derivative has a pole")
        s = self.s.at(k - 1)
        return None if s is None else (s[0] / k, s[1] / k)


class _Chosen(Power):
    """where(c, a, b): (where(c, a, b))ₖ = where(c, aₖ, bₖ)"""

    def __init__(self, c: Any, a: Power, b: Power):
        super().__init__(min(a.start, b.start))
        self.c, self.a, self.b = c, a, b

    @property
    def fixed(self) -> bool:
        return self.a.fixed and self.b.fixed

    def next(self, k: int) -> Coefficient | None:
        a, b = self.a.at(k) or (0.0, 0.0), self.b.at(k) or (0.0, 0.0)
        return np.where(self.c, a[0], b[0]), np.where(self.c, a[1], b[1])


def _chosen(c: Any, a: Power, b: Power, node: Term) -> Power:
    """where(c, a, b) → a if all of c is true, b if nothing is, and the other has no series perhaps; else both."""
    if np.all(c) or not np.any(c):
        taken = a if np.all(c) else b
        return taken if taken is ZERO else _spread(taken, node)
    return _Chosen(c, a, b)


class _Joined(Power):
    """concatenate(a, b, …)ₖ = concatenate(aₖ, bₖ, …): arrays side by side."""

    def __init__(self, parts: Sequence[Power], like: Sequence[Term], join: Callable[..., Any]):
        super().__init__(min([part.start for part in parts]))
        self.parts, self.like, self.join = parts, like, join

    def next(self, k: int) -> Coefficient | None:
        """concatenate(aₖ, bₖ, …) → cₖ, each part stretched to the shape of its own term."""
        found = [part.at(k) or (0.0, 0.0) for part in self.parts]
        spread = [
            [np.broadcast_to(c[i], t.type.shape) for c, t in zip(found, self.like, strict=True)]
            for i in (0, 1)
        ]
        return self.join(*spread[0]), self.join(*spread[1])


class Path:
    """x(t) = y + t·e → the series of terms of x, leaves being as `of` says: x² − 1 → 2·t + t² on 1 + t."""

    def __init__(
        self,
        of: Mapping[Term, Power],
        most: int,
        many: int = MANY,
        number: Callable[[Any, bool], Any] = floats,
        log_t: Callable[[Term | None], Coefficient] | None = None,
    ):
        """`most`: the largest power looked at for what vanishes; `many`: of series; `number`: how numbers are read."""
        alike: dict[Any, Power] = {}
        self.of: dict[Term, Power] = {
            t: alike.setdefault(x.digits, x) if isinstance(x, Exact) else x for t, x in of.items()
        }
        self.log_t = log_t
        """The logarithm of the distance, at the entries of a term of the program; of all others where it is one."""
        self.number = number
        self.most, self.many = most, many
        self._known: dict[Any, Power] = {}
        self.signs: list[tuple[Power, int]] = []
        self.differs = False
        """Whether the program decides otherwise at t = 0 than nearby."""
        self.has_roots = False
        """Whether roots are taken that are others on the other side of t = 0."""
        self.has_logarithms = False
        """Whether logarithms of the distance are taken."""
        self._level = 0
        self.has_centre = False
        self._leaf: Power | None = None
        self._size = 0
        self._single = set[Power]()
        self._centres = set[Power]()
        self._squares = set[Power]()
        self._radial = set[Power]()

    def leaves_centre(self, x: Power, size: int) -> None:
        """x = y + t·e with any direction e, of `size` entries that move at once.

        Nothing that vanishes as its direction has it may be divided by: 1/‖x‖² is expanded near 0, 1/Σ x is not.
        """
        self.has_centre = True
        self._leaf, self._size = x, size
        self._single.add(x)
        if x.at(0) is None:
            self._centres.add(x)

    def advance(self, k: int) -> None:
        """Find the coefficients of tᵏ from the leaves on, so that none is asked for far below."""
        for series in self.of.values():
            with suppress(NoSeries):  # what needs it will ask again
                series.at(k)

    def __call__(self, t: Term) -> Power:
        """x² − 1 → 2·t + t² on x = 1 + t: the series of a term; raises NoSeries where it has none."""
        with np.errstate(all="ignore"):
            series = self._evaluate(t, self.of)
        if isinstance(series, _Missing):
            raise series.why
        return series

    def _evaluate(self, t: Term, of: dict[Term, Power]) -> Power:
        """x² − 1 → {x², 1, x² − 1}: series of a term and all below, operands first; `_Missing` for those without."""
        for node in subterms(t):
            if node not in of:
                try:
                    of[node] = self._term(node, of)
                except NoSeries as why:
                    of[node] = _Missing(why)
        return of[t]

    def _term(self, node: Term, of: Mapping[Term, Power]) -> Power:
        """The series of an application, the operands' being known in `of`; of a constant c, c + 0·t."""
        if type(node.op) is Constant:
            value = node.op.value
            return self._kept(
                node, lambda: Exact((self.number(value, False), 0.0)) if np.any(value) else ZERO
            )
        if not isinstance(node.type, ArrayType):
            raise NoSeries(f"{node.op} has several results")
        return self.apply(node, [of[rand] for rand in node.rands])

    def apply(self, node: Term, operands: Sequence[Power]) -> Power:
        """f, (a, b, …) → f(a, b, …): the series of an application, one object for one op and the same operands."""
        key = (node.op, tuple([rand.type for rand in node.rands]), *operands)
        found = self._kept(key, lambda: self._applied(node, operands))
        if self.has_centre:
            self._note(node, operands, found)
        return found

    def _note(self, node: Term, operands: Sequence[Power], found: Power) -> None:
        """v = x − y → centre; v² → square; Σ v² → radial; √(Σ v²) → radial: notes how a series depends on what moves.

        Radial is what depends on the distance from the centre alone; single, what depends on what moves entry by entry.
        """
        op, size = node.op, node.type.size
        moving = [x for x in operands if not x.fixed]
        sizes = {rand.type.size for rand, x in zip(node.rands, operands, strict=True) if not x.fixed}
        if op.elementwise and sizes | {size} == {self._size} and all(x in self._single for x in moving):
            self._single.add(found)
        if not moving or all(x in self._radial for x in moving):
            self._radial.add(found)
        elif all(x in self._centres for x in moving):
            if isinstance(op, _MOVES) and size == node.rands[0].type.size:
                self._centres.add(found)
            elif op is square or (op is multiply and len(moving) == 2) or _is_squared(op, operands):
                self._squares.add(found)
            elif isinstance(op, (MatMul, Einsum)) and size == 1:
                self._radial.add(found)
        elif (
            op is subtract and moving == [self._leaf] and size == node.rands[0].type.size and not found.at(0)
        ):
            self._centres.add(found)  # x − y, where x has come near y
        elif isinstance(op, Sum) and size == 1 and moving[0] in self._squares:
            self._radial.add(found)

    def _divisible(self, x: Power) -> Power:
        """x itself where all may be divided by it: near a centre ‖x‖² may be; Σ x, which is 0 in some directions, not.

        An entry's own series is divisible as well. Raises NoSeries for others that vanish, or end, at t = 0.
        """
        known = not self.has_centre or x in self._radial or x in self._single
        if not known and (x.has_pole or _vanishes_or_ends(x)):
            raise NoSeries("what vanishes depends on the direction")
        return x

    def _kept(self, key: Any, make: Callable[[], Power]) -> Power:
        """One series for one key: a rule that leads back to a series known already finds that, as (eᵗ)′ = eᵗ does."""
        if key not in self._known:
            if len(self._known) > self.many:
                raise NoSeries("too many series")
            self._known[key] = make()
        return self._known[key]

    def _applied(self, node: Term, operands: Sequence[Power]) -> Power:
        """f(a, b, …) by the first that holds of laws: of the ring, signs, choices, linear ops, roots, meaning, rule.

        x − x → 0;    a·b → Σᵢ aᵢ·bₖ₋ᵢ;    |a| → sign(a)·a;    max(a, b) → where(a − b > 0, a, b);    else y₀ + ∫
        Df(u)·u′ dt
        """
        op = node.op
        if _is_zero(op, operands):
            return ZERO
        if op is subtract and operands[0] is operands[1] and not operands[0].has_pole:
            return ZERO
        of_truths = op.elementwise and op is not where and any(x.type.dtype.kind == "b" for x in node.rands)
        if (
            op.as_sum
            or op.as_product
            or op.kinks
            or op.negation is not None
            or (of_truths and node.type.dtype.kind == "f")
        ):
            operands = [self._real(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
        if op in (add, subtract):
            return _Sum(operands[0], operands[1], 1 if op is add else -1)
        if op in (multiply, square):
            return _Product(operands[0], operands[-1], np.multiply)
        if op in (divide, reciprocal):
            return Quotient(
                ONE if op is reciprocal else operands[0], self._divisible(operands[-1]), self.most
            )
        if op in (negative, positive):
            return _Mapped(operands[0], op.compute, False) if op is positive else _Sum(ZERO, operands[0], -1)
        kinds = tuple([rand.type for rand in node.rands])
        meet = isinstance(op, Increment) and operands[-1] is ZERO
        if isinstance(op, Increment) and (meet or not all(x.fixed for x in operands)):
            leaves, root = _increment(op, kinds, meet)
            return self._evaluate(root, dict(zip(leaves, operands, strict=True)))
        if (op is not where or node.type.dtype.kind != "f") and all(x.fixed for x in operands):
            return Exact(self._first(node, operands))
        if op.negation is not None:
            nearby, there = self._signs(self._difference(operands))
            found = op.compute(nearby, 0.0)
            return Exact((found, found != op.compute(there, 0.0)))
        if op is absolute and not operands[0].fixed:
            nearby, _ = self._signs(operands[0])
            return _Product(Exact((nearby, 0.0)), operands[0], np.multiply)
        if op is sign:
            nearby, there = self._signs(operands[0])
            self.differs = self.differs or there is not nearby
            return Exact((nearby, 0.0))
        if op in (isfinite, isinf, isnan):
            if operands[0].has_pole:
                raise NoSeries(f"{op} of a pole")
            return Exact((op.compute(in_floats(self._value(operands[0], node.rands[0]))), 0.0))
        if node.type.dtype.kind != "f":
            raise NoSeries(f"{op} is no function of a real number")
        if op is where:
            self.differs = self.differs or bool(np.any(_differs(operands[0])))
            return _chosen(self._value(operands[0], node.rands[0]), operands[1], operands[2], node)
        if op in (maximum, minimum):
            nearby, _ = self._signs(self._difference(operands))
            return _chosen(nearby > 0 if op is maximum else nearby < 0, operands[0], operands[1], node)
        if isinstance(op, (*_MOVES, Sum)) and (
            type(op) is BroadcastLike or all(x.fixed for x in operands[1:])
        ):
            rest = [self._value(x, rand) for x, rand in zip(operands[1:], node.rands[1:], strict=True)]
            (a, *_), like = operands, node.rands[0]
            return _Mapped(_spread(a, like), lambda x: op.compute(x, *rest), isinstance(op, Sum))
        if type(op) is Norm:
            leaves, root = _norm(op.axes, node.rands[0].type)
            return self._evaluate(root, dict(zip(leaves, operands, strict=True)))
        if isinstance(op, Concatenate):
            return _Joined(operands, node.rands, op.compute)
        if isinstance(op, (MatMul, Einsum)):
            parts = [_spread(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
            return _Multilinear(parts, op.compute)
        if op in (power, float_power) and operands[1].fixed and (n := _whole(operands[1])) is not None:
            return self._to_the(operands[0], n)
        if (p := _exponent(op, operands)) is not None and _vanishes_or_ends(operands[0]):
            return self._root(node, operands, p)
        if op in (power, float_power) and not operands[1].fixed:
            leaves, root = _power(tuple([rand.type for rand in node.rands]))
            return self._evaluate(root, dict(zip(leaves, operands, strict=True)))
        if op is log and _has_no_logarithm(operands[0]):
            return self._logarithm(node, operands[0])
        if op is remainder:
            return self._remainder(node, operands)
        if op is fmod:
            leaves, root = _fmod(kinds)
            return self._evaluate(root, dict(zip(leaves, operands, strict=True)))
        meant = _meant(op, kinds)
        if meant is None and op.elementwise:
            far = any(x.has_pole for x in operands)
            if far or self._is_infinite(node, operands):
                meant = _unbounded(op, kinds, far)
        if meant is not None:
            leaves, root = meant
            return self._evaluate(root, dict(zip(leaves, operands, strict=True)))
        return self._by_rule(node, operands)

    def _to_the(self, x: Power, n: int) -> Power:
        """xⁿ = (xᵐ)²·x for n = 2m + 1, (xᵐ)² for n = 2m, and 1/x⁻ⁿ for n < 0."""
        if n < 0:
            return self._kept(
                ("to the", x, n), lambda: Quotient(ONE, self._to_the(self._divisible(x), -n), self.most)
            )
        if n < 2:
            return x if n else ONE
        half = self._to_the(x, n // 2)
        both = self._kept(("to the", x, n - n % 2), lambda: _Product(half, half, np.multiply))
        return self._kept(("to the", x, n), lambda: _Product(both, x, np.multiply)) if n % 2 else both

    def _root(self, node: Term, operands: Sequence[Power], p: Fraction) -> Power:
        """√(t²·w) = t·√w,    √(x² + x) at x = 1/t: √(t⁻²·(1 + t)) = t⁻¹·√(1 + t)

        A root or power of a series that vanishes, or is infinite, at t = 0. Raises BranchPoint for √t.
        """
        x = self._divisible(operands[0])
        while x.start <= self.most and (c := x.at(x.start)) is not None and vanishes(c):
            x = _Shifted(x)
        x, leading = _led(x, self.most)
        by = x.start * p
        if by.denominator != 1 or not np.all(size(leading[0]) > 8 * error_of(leading)):
            raise BranchPoint(f"{node.op} has a branch point")
        self.has_roots = True
        inner = self._kept(("moved", x, -x.start), lambda: _Moved(x, -x.start))
        return _Moved(self.apply(node, [inner, *operands[1:]]), int(by))

    def _logarithm(self, node: Term, x: Power) -> Power:
        """log(tˢ·w) = s·λ + log w, where each entry begins with a power s of its own, and λ = log t."""
        x, _ = _led(self._divisible(x), self.most)
        order = _orders(x)
        first = self._kept(("aligned", x), lambda: _Aligned(x, order))
        w = self._kept(("moved", first, -x.start), lambda: _Moved(first, -x.start))
        like = node.rands[0]
        if self.log_t is None:
            raise NoSeries("a logarithm of a pole")
        self.has_logarithms = True
        value, error = self.log_t(like if like in self.of else None)
        times = x.start + order
        self.has_roots = True
        return _Sum(self.apply(node, [w]), Exact((times * value, np.abs(times) * error)), 1)

    def _is_infinite(self, node: Term, operands: Sequence[Power]) -> bool:
        """Whether f(u₀) is not finite, where no operand has a pole: log(t): yes; log(1 + t): no."""
        values = [self._value(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
        return not np.all(np.isfinite(in_floats(node.op.compute(*values))))

    def _first(self, node: Term, operands: Sequence[Power]) -> Coefficient:
        """f(u₀) ± (ε·|f(u₀)| + Σ |∂f/∂uᵢ|·duᵢ): the value at t = 0, with the bound of its error.

        Of a truth value the error says whether another holds at t = 0 itself than nearby. Raises NoSeries at a pole.
        """
        if any(x.has_pole for x in operands):
            raise NoSeries(f"{node.op} is applied to a pole")
        values = [self._value(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
        found = node.op.compute(*values)
        if any(rand.type.dtype.kind == "b" for rand in node.rands):
            # A truth value's error says where it is another at t = 0 itself.
            there = [
                v ^ _differs(x) if v.dtype.kind == "b" else v for v, x in zip(values, operands, strict=True)
            ]
            differs = found != node.op.compute(*there)
            if node.type.dtype.kind == "b":
                return found, differs
            self.differs = self.differs or bool(np.any(differs))
        if node.type.dtype.kind != "f":
            return found, 0.0
        if isinstance(found, Doubled):
            if not np.all(np.isfinite(found.bound) | ~np.isfinite(found.hi)):
                raise NoSeries(f"{node.op} is computed in floats only")
            return found, 0.0
        error: Any = ROUNDED * np.abs(found)
        wrong = [0.0 if (c := x.at(0)) is None else c[1] for x in operands]
        if not is_accurate(node.op):
            real = [rand.type.dtype.kind == "f" for rand in node.rands]
            wrong = [e + ROUNDED * np.abs(v) if r else e for e, v, r in zip(wrong, values, real, strict=True)]
        if any(map(np.any, wrong)):
            made = _tangent(node.op, tuple([rand.type for rand in node.rands]))
            if made is None:
                raise NoSeries(f"{node.op} has no derivative")
            leaves, tangents, root = made
            at = dict(zip(leaves, values, strict=True))
            for d, e, v in zip(tangents, wrong, values, strict=True):
                if d is not None:
                    at[d] = np.broadcast_to(np.asarray(e, float), np.shape(v))
            error = error + np.abs(interpret([root], at, typed=False)[0])
        return found, error

    def _value(self, x: Power, like: Term) -> Any:
        """2 + t, of a term of shape (3,) → (2, 2, 2): u₀, of the shape of the term that u is the series of."""
        c = x.at(0)
        shape = like.type.shape
        return (
            self.number(np.zeros(shape, like.type.dtype), True) if c is None else np.broadcast_to(c[0], shape)
        )

    def _real(self, x: Power, like: Term) -> Power:
        """(True, False) → (1.0, 0.0): fixed integers and truth values as real numbers, which have negatives."""
        if like.type.dtype.kind == "f" or not x.fixed:
            return x
        self.differs = self.differs or (like.type.dtype.kind == "b" and bool(np.any(_differs(x))))
        value = self._value(x, like)
        return Exact((np.asarray(value, float), 0.0)) if isinstance(value, np.ndarray) else x

    def _difference(self, operands: Sequence[Power]) -> Power:
        """a − b, noted as radial where a and b are: its sign is then that of all directions."""
        found = _Sum(operands[0], operands[1], -1)
        if all(x.fixed or x in self._radial for x in operands):
            self._radial.add(found)
        return found

    def _signs(self, x: Power) -> tuple[Any, Any]:
        """sign(x) next to t = 0, and there: t² → (1, 0), −1 + t → (−1, −1), by the first coefficient that is not 0.

        The former must be that of the whole way, which `keeps_signs` asks.
        """
        for k in range(x.start, self.most):
            c = x.at(k)
            if c is None or (vanishes(c) and np.all(error_of(c) < np.inf)):
                continue
            if not np.all(size(c[0]) > 8 * error_of(c)):
                break
            if k:
                self._divisible(x)
            self.signs.append((x, k))
            nearby = np.sign(in_floats(c[0]))
            return nearby, 0.0 * nearby if k > 0 else nearby
        raise NoSeries("a sign is undecided")

    def _remainder(self, node: Term, operands: Sequence[Power]) -> Power:
        """x mod y = x − k·y, where k = ⌊x/y⌋ next to t = 0 must be the same all the way.

        −δ mod 1 = 1 − δ, though 0 mod 1 = 0
        """
        x, y = operands
        if x.has_pole or y.has_pole:
            raise NoSeries("a remainder of what has no limit")
        at, by = [in_floats(self._value(u, rand)) for u, rand in zip(operands, node.rands, strict=True)]

        def less(k: Any) -> Power:
            return _Sum(x, _Product(Exact((k, 0.0)), y, np.multiply), -1)

        with np.errstate(all="ignore"):
            k = np.floor_divide(at, by)
        if not np.isfinite(k).all():
            raise NoSeries("a remainder is undecided")
        nearby, there = self._signs(less(k))
        self.differs = self.differs or there is not nearby
        k = k - (nearby * np.sign(by) < 0)
        self._signs(less(k + 1))
        return less(k)

    def keeps_signs(self, delta: Any) -> bool:
        """|cₖ₊₁·δ| + |cₖ₊₂·δ²| + … < |cₖ|: whether all signs that were asked for are the same all the way."""
        for x, first in self.signs:
            if not np.any(delta):
                continue
            leading, rest = 0.0, 0.0
            for k in range(first, self.most):
                c = x.at(k)
                part = 0.0 if c is None else size(c[0]) * np.abs(delta) ** (k - first)
                leading, rest = (part, rest) if k == first else (leading, rest + part)
            if not np.all(rest < leading):
                return False
        return True

    def _by_rule(self, node: Term, operands: Sequence[Power]) -> Power:
        """y = f(u₀) + ∫ Df(u)·u′ dt, with the op's own derivative Df as a series: of eᵗ that is eᵗ, so yₖ = yₖ₋₁/k.

        Raises NoSeries where f jumps, has no rule, or has derivatives that lead on for more than DEEP levels.
        """
        op = node.op
        if type(op) is Slope:  # each derivative of which is longer, and looked through for series
            _spend(STEEP * sum(1 for _ in subterms(op.body)))
        made = _tangent(op, tuple(rand.type for rand in node.rands))
        rules = op.rules if op.elementwise else (True,) * len(operands)
        if made is None or any(rule is None and not u.fixed for rule, u in zip(rules, operands, strict=True)):
            raise NoSeries(f"{op} has no derivative")
        first = self._first(node, operands)
        if op.elementwise:
            check_continuous(op, [in_floats(x) for x in map(self._value, operands, node.rands)])
        leaves, tangents, root = made
        operands = [
            u if u.start >= 0 else self._kept(("regular", u), lambda u=u: _Regular(u)) for u in operands
        ]
        of: dict[Term, Power] = dict(zip(leaves, operands, strict=True))
        for d, u in zip(tangents, operands, strict=True):
            if d is not None:
                of[d] = ZERO if u.fixed else self._kept(("derivative", u), lambda u=u: _Derivative(u))
        level = self._level + (1 if op.elementwise else 4)
        if level > DEEP:
            raise NoSeries(f"the derivatives of {op} lead on and on")

        def slope() -> Power:
            """Df(u)·u′ as a series, one level deeper."""
            self._level, before = level, self._level
            try:
                return self._evaluate(root, of)
            finally:
                self._level = before

        return _Integral(first, slope)


def _is_zero(op: Any, operands: Sequence[Power]) -> bool:
    """0·x, 0 + 0, 0/x, Σ 0: whether a result is zero whatever an operand is that has no series, as one behind a mask.

    0·log(t): yes; 0/0: no.
    """
    if op is multiply:
        return operands[0] is ZERO or operands[1] is ZERO
    if op in (add, subtract, negative):
        return all(x is ZERO for x in operands)
    quotient = op is divide and operands[1] is not ZERO
    return (quotient or isinstance(op, (*_MOVES, Sum))) and operands[0] is ZERO


def is_accurate(op: Any) -> bool:
    """Whether an op has correct digits wherever its operands have, near its zeros, too: NumPy's functions do."""
    function = getattr(op, "function", None)
    return function is not None and getattr(np, getattr(function, "__name__", ""), None) is function


def _differs(x: Power) -> Any:
    """Return where a truth value is another at t = 0 than nearby."""
    c = x.at(0)
    return False if c is None else np.asarray(c[1], bool)


def _exponent(op: Any, operands: Sequence[Power]) -> Fraction | None:
    """√x → 1/2, ∛x → 1/3, x^1.5 → 3/2: p where an op is xᵖ, for a number p; else None."""
    if op in (sqrt, cbrt):
        return Fraction(1, 2 if op is sqrt else 3)
    p = _number(operands[1]) if op in (power, float_power) and operands[1].fixed else None
    return None if p is None else Fraction(p)


def _number(x: Power) -> float | None:
    """(2 ± 0, 2 ± 0) → 2.0: the finite number that all entries of a fixed series are; None if there is an error."""
    c = x.at(0)
    found = np.unique(0.0 if c is None else in_floats(c[0]))
    exact = found.size == 1 and np.isfinite(found[0]) and not (c and np.any(error_of(c)))
    return float(found[0]) if exact else None


def _vanishes_or_ends(x: Power) -> bool:
    """Whether a series has no number other than 0 at t = 0: t, 1/t: yes; 1 + t: no."""
    return not x.fixed and (x.has_pole or (c := x.at(0)) is None or vanishes(c))


def _has_no_logarithm(x: Power) -> bool:
    """Whether an entry of a series vanishes, or is infinite, at t = 0: (t, 1 + t): yes; (1 + t, 2): no."""
    c = x.at(0)
    return not x.fixed and (x.has_pole or c is None or not np.all(in_floats(c[0])))


def _is_squared(op: Any, operands: Sequence[Power]) -> bool:
    """Whether an op is x², written as a power."""
    return op in (power, float_power) and _number(operands[1]) == 2


def _whole(x: Power) -> int | None:
    """(3.0, 3.0) → 3, 0.5 → None: the whole number that a series is, up to WHOLE."""
    n = _number(x)
    return int(n) if n is not None and n == np.rint(n) and abs(n) <= WHOLE else None


def _spread(x: Power, like: Term) -> Power:
    """cₖ → broadcast(cₖ): a series whose coefficients have the shape of a term, where they may be smaller."""
    shape: Any = like.type.shape
    return _Mapped(x, lambda c: np.broadcast_to(c, shape), False)


@lru_cache(maxsize=1024)
def _meant(op: Any, kinds: tuple[Any, ...]) -> tuple[list[Term], Term] | None:
    """expit(x) → 1/(1 + e⁻ˣ): leaves for operands, and the meaning of an op with a derivative made of the op; or None.

    The rule of any other op is enough.
    """
    if not op.elementwise:
        return None
    leaves, made = _leaves("x", kinds), _tangent(op, kinds)
    meaning = op.definition(*map(Tracer, leaves))
    if meaning is None or made is None or all(node.op is not op for node in subterms(made[2])):
        return None
    return leaves, as_term(meaning)


@lru_cache(maxsize=1024)
def _unbounded(op: Any, kinds: tuple[Any, ...], far: bool) -> tuple[list[Term], Term] | None:
    """log₂ x → log x/LN2 near 0: leaves for operands, and the op in others that show its pole or branch; or None."""
    leaves = _leaves("x", kinds)
    found = op.unbounded(far, *map(Tracer, leaves))
    return None if found is None else (leaves, as_term(found))


@lru_cache(maxsize=1024)
def _increment(op: Increment, kinds: tuple[Any, ...], meet: bool) -> tuple[list[Term], Term]:
    """f(x) − f(y) or its quotient by x − y, as written; 0 or f′(x) where the points meet. With leaves for operands."""
    leaves = _leaves("x", kinds)
    x, _, *others, _ = map(Tracer, leaves)
    operands = op.operands(x, others)
    if not meet:
        return leaves, as_term(op.meaning(*map(Tracer, leaves)))
    if not isinstance(op, MeanSlope):
        return leaves, as_term(0.0 * x)
    rule: Any = op.of.rules[op.position]
    return leaves, as_term(rule(np.ones_like(x), op.of(*operands), *operands))


@lru_cache(maxsize=1024)
def _power(kinds: tuple[Any, ...]) -> tuple[list[Term], Term]:
    """x, y → exp(y·log x), with leaves x and y."""
    leaves = _leaves("x", kinds)
    x, y = map(Tracer, leaves)
    return leaves, as_term(np.exp(y * np.log(x)))


@lru_cache(maxsize=1024)
def _fmod(kinds: tuple[Any, ...]) -> tuple[list[Term], Term]:
    """x, y → sign(x)·(|x| mod |y|), with leaves x and y."""
    leaves = _leaves("x", kinds)
    x, y = map(Tracer, leaves)
    return leaves, as_term(np.sign(x) * np.remainder(np.abs(x), np.abs(y)))


@lru_cache(maxsize=1024)
def _norm(axes: tuple[int, ...], kind: Any) -> tuple[list[Term], Term]:
    """x → √(Σ x²) along axes, with a leaf x."""
    leaves = _leaves("x", [kind])
    x = Tracer(leaves[0])
    return leaves, as_term(np.sqrt(np.sum(x * x, axis=axes, keepdims=True)))


def _leaves(name: str, kinds: Sequence[Any]) -> list[Term]:
    return [term(Input(f"{name}{i}", kind, symbol=True)) for i, kind in enumerate(kinds)]


@lru_cache(maxsize=4096)
def _tangent(op: Any, kinds: tuple[Any, ...]) -> tuple[list[Term], list[Term | None], Term] | None:
    """f, (x, y) → ∂f/∂x·dx + ∂f/∂y·dy, with leaves x, y of the operands, and dx, dy of those that are real.

    xᵘ, for a number u, has the tangent xᵘ·(u·dx/x), which leads back to xᵘ. None where the op has no derivative.
    """
    if op in (power, float_power):
        leaves, (d,) = _leaves("x", kinds), _leaves("d", kinds[:1])
        x, u, dx = map(Tracer, (*leaves, d))
        return leaves, [d, None], as_term(op(x, u) * (u * dx / x))
    real = tuple([i for i, kind in enumerate(kinds) if isinstance(kind, ArrayType) and kind.differentiable])
    found = tangent_of(op, kinds, real)
    if found is None:
        return None
    leaves, moving, root = found
    tangents = dict(zip(real, moving, strict=True))
    return leaves, [tangents.get(i) for i in range(len(kinds))], root
