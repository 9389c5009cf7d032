"""Coefficients that are arrays, of floats or of doubled numbers, each with a bound of its error.

The bound is of rounding, so that what vanishes is told from what is merely small. Doubled numbers carry bounds of their
own, beside which this one is what comes from elsewhere.

    |exact − c| ≤ dc,    dc + bound for doubled numbers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from relgrad.calculus.ring import Algebra, NoSeries, Polynomial, Power
from relgrad.kernels.doubled.named import written
from relgrad.kernels.doubled.number import Doubled
from relgrad.kernels.eft import two_product, two_sum
from relgrad.term import Term

EPS = 2.0**-53
LEAST = 2.0**-1074
"""The smallest float, of which what underflows is wrong."""
SMALLEST = 2.0**-900
"""Of products that are smaller, it is not known whether they are exact."""
FEW = 5
"""Entries of a divisor begin with powers that differ by less."""

Coefficient = tuple[Any, Any]
"""An array, and a bound of its error, beside that of doubled numbers; None stands for zero."""
_NOTHING: Coefficient = 0.0, 0.0

DEAR = 8
"""A product of doubled numbers counts as so many of floats."""

_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def bounded(most: int) -> Iterator[None]:
    """Raise NoSeries where more coefficients, and products of them, than so many are computed."""
    token = _left.set([most])
    try:
        yield
    finally:
        _left.reset(token)


def floats(x: Any, exact: bool) -> Any:
    """Return numbers as floats; truth values and integers stay."""
    x = np.asarray(x)
    return x.astype(float) if x.dtype.kind == "f" else x


def doubled(x: Any, exact: bool) -> Any:
    """Return floats as doubled numbers; what is not `exact` may have been rounded, if it has many digits."""
    y = floats(x, exact)
    return y if y.dtype.kind != "f" else Doubled(y) if exact else written(x)


def in_floats(x: Any) -> Any:
    """Return numbers as floats."""
    return x.floats() if isinstance(x, Doubled) else x


def size(x: Any) -> Any:
    """|x| in floats, entry by entry: of a doubled number, |hi|."""
    return np.abs(in_floats(x))


def error_of(c: Coefficient) -> Any:
    """dc, and of a doubled number dc + bound: the whole bound of a coefficient's error."""
    return c[1] + c[0].bound if isinstance(c[0], Doubled) else c[1]


def vanishing(c: Coefficient) -> Any:
    """|c| ≤ 8·dc: which entries of a coefficient are zero but for rounding.

    (1e-17, 1e-3) ± 1e-16 → (True, False)
    """
    return size(c[0]) <= 8 * error_of(c)


def _price(product: Any) -> int:
    return DEAR if isinstance(product, Doubled) else 1


class _Column(list[Coefficient | None]):
    """Coefficients c, and of each |c| and dc + 2ε·|c|: the factors of which the error of a product is made."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, tuple[Any, Any]] = {}

    def size_at(self, i: int, c: Coefficient) -> tuple[Any, Any]:
        found = self.sizes.get(i)
        if found is None:
            x = size(c[0])
            found = self.sizes[i] = x, c[1] + 2 * EPS * x
        return found


class _Arrays(Algebra):
    """c ± dc: arrays with bounds of their errors."""

    def column(self) -> _Column:
        return _Column()

    def spend(self, steps: int = 1) -> None:
        """left → left − steps; raises NoSeries below 0."""
        left = _left.get()
        if left is not None:
            left[0] -= steps
            if left[0] < 0:
                raise NoSeries("it takes too many steps")

    def some(self, c: Coefficient) -> Coefficient | None:
        """c ≠ 0 or dc ≠ 0 in an entry: 0 ± 1e-16 is some coefficient, 0 ± 0 is none."""
        x, error = in_floats(c[0]), error_of(c)
        some = x.any() if isinstance(x, (np.ndarray, np.generic)) else x
        return c if some or (error if type(error) is float else np.any(error)) else None

    def exact(self, value: Any) -> Coefficient:
        return value, 0.0

    def number(self, c: Coefficient) -> Any:
        return c[0]

    def size(self, c: Coefficient) -> Any:
        return size(c[0])

    def error(self, c: Coefficient) -> Any:
        return error_of(c)

    def vanishing(self, c: Coefficient) -> Any:
        return vanishing(c)

    def added(self, a: Coefficient, b: Coefficient, sign: int) -> Coefficient:
        """a ± b, with the error da + db + |rest|, where two_sum gives the rest that rounding took."""
        x, y = a[0], sign * b[0]
        if isinstance(x, Doubled) or isinstance(y, Doubled):
            return x + y, a[1] + b[1]
        total, rest = two_sum(x, y)
        return total, a[1] + b[1] + np.abs(rest)

    def multiple(self, c: Coefficient, above: int, below: int = 1) -> Coefficient:
        if below == 1:
            return (-c[0], c[1]) if above == -1 else (above * c[0], abs(above) * c[1])
        return above * c[0] / below, abs(above) * c[1] / below

    def quotient(self, c: Coefficient, by: Coefficient) -> Coefficient:
        """c/b, with no error of rounding where that is exact."""
        low, doubt = by
        found = c[0] / low
        error = (c[1] + size(found) * doubt) / size(low)
        if isinstance(found, Doubled):
            return found, error
        # Mostly exact: 1/(1 − t) = 1 + t + t² + …
        part, rest = two_product(found, low)
        exact = (c[0] - part == rest) & ((np.abs(part) > SMALLEST) | (c[0] == 0))
        return found, error + np.where(exact, 0.0, EPS * np.abs(found) + LEAST)

    def convolved(self, a: Power, b: Power, k: int, low: int, high: int) -> Coefficient | None:
        """Σ aᵢ·bₖ₋ᵢ, with the error Σ |a|·db + da·|b| + 2ε·|a|·|b|; None where all products are zero.

        The error of what underflows is that of the smallest floats.
        """
        try:
            with np.errstate(under="raise"):
                return self._convolved(a, b, k, low, high, 0.0)
        except FloatingPointError:
            return self._convolved(a, b, k, low, high, LEAST)

    def _convolved(self, a: Power, b: Power, k: int, low: int, high: int, least: float) -> Coefficient | None:
        total: Any = None
        error: Any = 0.0
        spent = 0
        ours, theirs = a.known, b.known
        for i in range(low - a.start, high - a.start + 1):
            j = k - a.start - b.start - i
            if (x := ours[i]) is None or (y := theirs[j]) is None:
                continue
            part = x[0] * y[0]
            spent += _price(part)
            (one, _), (other, rounded) = ours.size_at(i, x), theirs.size_at(j, y)
            # |x|·dy + dx·|y|, and the rounding of the product: 2ε·|x|·|y|.
            error = error + one * (y[1] if isinstance(part, Doubled) else rounded)
            if type(x[1]) is not float or x[1]:
                error = error + x[1] * other
            if least:
                error = error + np.where((one != 0) & (other != 0), least, 0.0)
            total = part if total is None else total + part
        self.spend(spent)
        return None if total is None else (total, error)


ARRAYS = _Arrays((np.ones(()), 0.0))


def polynomial(*coefficients: Coefficient | None, start: int = 0) -> Polynomial:
    """(a, da), (e, de) → a ± da + (e ± de)·t"""
    return Polynomial(ARRAYS, coefficients, start)


def digits(x: Polynomial) -> Any:
    """The bits of all coefficients, with their powers: two series of the same numbers all the way have the same."""
    parts = [() if c is None else c[0].parts if isinstance(c[0], Doubled) else (c[0],) for c in x.known]
    arrays = [np.asarray(x) for part in parts for x in (np.nan, *part)]
    return x.start, *[(x.dtype, x.shape, x.tobytes()) for x in arrays]


class Mapped(Power):
    """f(a)ₖ = f(aₖ) for a linear op f, as a transpose or Σ is."""

    def __init__(self, a: Power, apply: Callable[[Any], Any], sums: bool = False):
        super().__init__(a.algebra, a.start, a.end, a.fixed)
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


class Multilinear(Power):
    """Σ f(aᵢ, bⱼ, …) over i + j + … = k, for an op that is linear in each operand."""

    def __init__(self, parts: Sequence[Power], times: Callable[..., Any]):
        end = sum(part.end - 1 for part in parts) + 1
        fixed = all(part.fixed for part in parts)
        super().__init__(parts[0].algebra, sum(part.start for part in parts), end, fixed)
        self.parts, self.times = parts, times

    def next(self, k: int) -> Coefficient | None:
        """f(a, b, …)ₖ = Σ f(aᵢ, bⱼ, …) over i + j + … = k

        with the error Σ f(daᵢ, |bⱼ|, …) + f(|aᵢ|, dbⱼ, …) + … + n·ε·f(|aᵢ|, |bⱼ|, …).
        """
        value: Any = None
        error: Any = 0.0
        for chosen in self._chosen(len(self.parts), k):
            sizes = [size(c[0]) for c in chosen]
            part = self.times(*[c[0] for c in chosen])
            self.algebra.spend(len(chosen) * _price(part))
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


class Together(Power):
    """f(a, b, …)ₖ = f(aₖ, bₖ, …), and so are the errors, where f puts entries side by side, or takes some of each."""

    def __init__(self, parts: Sequence[Power], shapes: Sequence[Any], join: Callable[..., Any]):
        """Coefficients have the `shapes` of their terms, where they may be smaller."""
        fixed = all(part.fixed for part in parts)
        ends = max(part.end for part in parts)
        super().__init__(parts[0].algebra, min(part.start for part in parts), ends, fixed)
        self.parts, self.shapes, self.join = parts, shapes, join

    def next(self, k: int) -> Coefficient | None:
        found = [part.at(k) or _NOTHING for part in self.parts]
        both = zip(found, self.shapes, strict=True)
        spread = [[np.broadcast_to(x, shape) for x in c] for c, shape in both]
        value, error = [self.join(*part) for part in zip(*spread, strict=True)]
        return value, error


class Aligned(Power):
    """Σ cₖ₊ₚ·tᵏ: each entry of a series without its first p coefficients, so many as `order` says."""

    def __init__(self, a: Power, order: Any):
        super().__init__(a.algebra, a.start - int(np.max(order)), a.end)
        self.a, self.order_of = a, order

    def next(self, k: int) -> Coefficient | None:
        """cₖ ← cₖ₊ₚ entry by entry, where p is the entry of `order`."""
        parts = [(self.a.at(k + int(p)) or _NOTHING, self.order_of == p) for p in np.unique(self.order_of)]
        value, error = [sum(np.where(here, c[i], 0.0) for c, here in parts) for i in (0, 1)]
        return value, error


def orders(b: Power, first: int) -> Any:
    """(1 + t, t + t²), 0 → (0, 1): how many coefficients of each entry are zero, from the `first` one on.

    An entry with FEW or more of them counts as one with none.
    """
    order: Any = FEW
    for k in reversed(range(FEW)):
        c = b.at(first + k)
        order = order if c is None else np.where(in_floats(c[0]) == 0, order, k)
    return np.where(order == FEW, 0, order)


def spread(x: Power, like: Term) -> Power:
    """cₖ → broadcast(cₖ): a series whose coefficients have the shape of a term, where they may be smaller."""
    shape: Any = like.type.shape
    return x if shape == () else Mapped(x, lambda c: np.broadcast_to(c, shape))
