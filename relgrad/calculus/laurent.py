"""Laurent series of terms at a point: as many coefficients as are asked for, and exactly which of them vanish.

A coefficient is known in three ways: modulo a prime, which tells exactly whether it vanishes; as a decimal number; and
with a bound of that number's error. Rational numbers are themselves modulo the prime. Values that are none, such as
exp(1), are indeterminates: a number drawn from what they are the value of. So a coefficient that vanishes there does so
whatever the indeterminates are, but for chances of 2⁻⁶⁰ (Schwartz 1980). One that does not, and whose number may still
be zero, is undecided, and nothing is said of the function.

How an op extends a series follows from its own pullback: y = f(u) has the coefficients of y₀ + ∫ f′(u)·u′ dt, where f′
is the op's rule, evaluated on series; y itself may stand in it. Sums, products and quotients are those of the ring, and
an op may say what it means in others (`Op.meaning`).

Sources: A. Griewank & A. Walther, "Evaluating Derivatives", 2nd ed., chapter 13; J. T. Schwartz, "Fast probabilistic
algorithms for verification of polynomial identities", J. ACM 27 (1980).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from itertools import product
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.leaf import Input
from relgrad.op import Constant, as_term, constant
from relgrad.ops.arithmetic import float_power, power
from relgrad.ops.rounding import fmod, remainder
from relgrad.ops.selection import where
from relgrad.term import Term, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, array_type

PRIME = (1 << 61) - 1
CONTEXT = Context(prec=50, Emax=10**9, Emin=-(10**9), traps=[])
"""In which decimals are computed."""
_ZERO = Decimal(0)
_NOISE = Decimal("1e-40")
"""Relative to its summands, a sum of this size is no more than the rounding of decimals."""
_ROUNDED = 2.0**-50
"""The relative error of the value of an op, and of a constant in a rule, which may stand for π."""
NESTED = 100
"""Rules of rules are followed so far."""
MANY = 1500
"""So many series are kept of one function."""
_SCALAR = array_type(np.float64)


class NoSeries(Exception):
    """A function that has no Laurent series at a point, or of which none is known."""


class Coefficient(NamedTuple):
    """(c mod p, c in decimals, the decimals' error): 1/3 → (1537228672809129301, 0.333…, 0)."""

    residue: int
    number: Decimal
    error: float


NULL = Coefficient(0, Decimal(0), 0.0)


def exactly(value: float | int | Fraction) -> Coefficient:
    """1/3 → (1/3 mod p, 0.333…, 0): a rational number as a coefficient without error."""
    exact = Fraction(value)
    residue = exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
    return Coefficient(residue, Decimal(exact.numerator) / Decimal(exact.denominator), 0.0)


class Laurent:
    """Σ cₖ·tᵏ from k = `start` on, as far as it is known; c at `start` does not vanish once there is one.

    `whole` series are polynomials, of which everything is known.
    """

    whole = False
    bounded = False
    """Whether `start` is a bound, and not a guess."""

    def __init__(self, start: int = 0):
        """Nothing but the first power is known, which may be a guess as long as no coefficient is."""
        self.start = start
        self.residues: list[int] = []
        self.numbers: list[Decimal] = []
        self.errors: list[float] = []
        self.exact = True
        self.even = True
        """Whether every other coefficient vanishes, so far."""

    @property
    def end(self) -> float:
        """The first power whose coefficient is not known yet."""
        return math.inf if self.whole else self.start + len(self.residues)

    @property
    def settled(self) -> bool:
        """Whether the first coefficient that does not vanish is known: t + …: yes; 0 + 0·t + …: not yet."""
        return bool(self.residues)

    def bound(self) -> int | None:
        """(t·a)·(t·b) → 2: a power below which all coefficients vanish; None where it is open, as a divisor's is."""
        if not (self.bounded or self.whole or self.residues):
            low = self.lowest()
            if low is None:
                return None
            self.start, self.bounded = low, True
        return self.start

    def lowest(self) -> int | None:
        """A bound of the first power by those of the operands: the smaller one of a sum, their sum of a product."""
        return self.start

    def at(self, k: int) -> Coefficient:
        """cₖ of a power that is known; zero below the first: t² → 0, 0, 1."""
        i = k - self.start
        if i < 0 or i >= len(self.residues):
            return NULL
        return Coefficient(self.residues[i], self.numbers[i], self.errors[i])

    def value(self) -> Any:
        """c₀, the value at the point itself, as a float."""
        return np.float64(self.at(0).number)

    def append(self, c: Coefficient) -> None:
        """c₀, …, cₙ₋₁ → c₀, …, cₙ: adds the next coefficient; a leading zero moves the start instead.

        Raises NoSeries where the first one other than zero, modulo the prime, may be zero as a number.
        """
        if not self.residues and c.residue == 0:
            self.start += 1
            return
        if c.residue == 0:
            c = NULL
        elif not self.residues and abs(c.number) <= 4 * Decimal(c.error):
            raise NoSeries("whether a coefficient vanishes is undecided")
        self.even = self.even and not (c.residue and len(self.residues) % 2)
        self.residues.append(c.residue)
        self.numbers.append(c.number)
        self.errors.append(c.error)
        self.exact = self.exact and not c.error

    def grow(self, most: int) -> bool:
        """c₀, c₁ → c₀, …, cₙ, n < `most`, as far as operands are known; returns whether there were any more."""
        before = self.end
        while not self.whole and len(self.residues) < most and self.start < most:
            found = self.next()
            if found is None:
                break
            self.append(found)
        return self.end != before

    def next(self) -> Coefficient | None:
        """Return the next coefficient, or None where operands must be known further first."""
        raise NotImplementedError


class Polynomial(Laurent):
    """c₀ + … + cₙ·tⁿ: a series of which all is known, as of a constant, or of the variable a + t."""

    whole = True

    def __init__(self, coefficients: Sequence[Coefficient], start: int = 0):
        super().__init__(start)
        for c in coefficients:
            self.append(c)

    @property
    def fixed(self) -> bool:
        """Whether the series is a number other than zero: 2: yes; 0, 2 + t: no."""
        return self.start == 0 and len(self.residues) == 1


class Truth(Polynomial):
    """x > 0 at 1 → Truth(True): a truth value that holds all around the point."""

    def __init__(self, holds: bool):
        super().__init__([])
        self.holds = holds

    def value(self) -> Any:
        return np.bool_(self.holds)


class _Sum(Laurent):
    """(a ± b)ₖ = aₖ ± bₖ"""

    def __init__(self, a: Laurent, b: Laurent, sign: int):
        super().__init__(min(a.start, b.start))
        self.a, self.b, self.sign = a, b, sign

    def lowest(self) -> int | None:
        low = self.a.bound(), self.b.bound()
        return None if low[0] is None or low[1] is None else min(low[0], low[1])

    def next(self) -> Coefficient | None:
        """(a ± b)ₖ = aₖ ± bₖ; raises NoSeries where the sum is zero modulo the prime only, by chance."""
        if self.bound() is None:
            return None
        k = int(self.end)
        if k >= self.a.end or k >= self.b.end:
            return None
        a, b = self.a.at(k), self.b.at(k)
        found = added(a, b, self.sign)
        doubt = max(abs(a.number), abs(b.number)) / 1000 + 4 * Decimal(found.error)
        if not (self.residues or found.residue) and abs(found.number) > doubt:
            raise NoSeries("two coefficients agree modulo the prime by chance")
        return found


class _Product(Laurent):
    """(a·b)ₙ = Σᵢ aᵢ·bₙ₋ᵢ, counted from the starts."""

    def __init__(self, a: Laurent, b: Laurent):
        super().__init__(a.start + b.start)
        self.a, self.b = a, b

    def lowest(self) -> int | None:
        low = self.a.bound(), self.b.bound()
        return None if low[0] is None or low[1] is None else low[0] + low[1]

    def next(self) -> Coefficient | None:
        """(a·b)ₙ = Σᵢ aᵢ·bₙ₋ᵢ, counted from the starts; None until both first coefficients are known."""
        a, b = self.a, self.b
        if not (a.settled and b.settled):
            return None
        if not self.residues:
            self.start = a.start + b.start
        n = len(self.residues)
        if (n >= len(a.residues) and not a.whole) or (n >= len(b.residues) and not b.whole):
            return None
        return _convolved(a, b, n)


def _convolved(a: Laurent, b: Laurent, n: int, first: int = 0) -> Coefficient:
    """Σ aᵢ·bₙ₋ᵢ over i ≥ `first`, counted from the starts; where a or b is even, over every other i."""
    low, high = max(first, n - len(b.residues) + 1), min(n, len(a.residues) - 1)
    step = 2 if a.even or b.even else 1
    if step == 2:
        low += (low if a.even else n - low) % 2
        high -= (high if a.even else n - high) % 2
    if low > high or (a.even and b.even and n % 2):
        return NULL
    ours = slice(low, high + 1, step)
    theirs = slice(n - high, n - low + 1, step)
    residue = sum(map(mul, a.residues[ours], b.residues[theirs][::-1])) % PRIME
    if not residue:
        return NULL
    number = sum(map(mul, a.numbers[ours], b.numbers[theirs][::-1]), _ZERO)
    error = 0.0
    if not (a.exact and b.exact):
        sizes = [abs(float(x)) for x in a.numbers[ours]], [abs(float(x)) for x in b.numbers[theirs][::-1]]
        for x, dx, y, dy in zip(sizes[0], a.errors[ours], sizes[1], b.errors[theirs][::-1], strict=True):
            error += x * dy + dx * (y + dy)
    return Coefficient(residue, number, error)


class _Quotient(Laurent):
    """q = a/b: q·b = a."""

    def __init__(self, a: Laurent, b: Laurent):
        super().__init__(0)
        self.a, self.b = a, b

    def lowest(self) -> int | None:
        above = self.a.bound()
        return above - self.b.start if above is not None and self.b.settled else None

    def next(self) -> Coefficient | None:
        """qₙ = (aₙ − Σ_{i ≥ 1} bᵢ·qₙ₋ᵢ)/b₀, counted from the starts, where b₀ does not vanish."""
        a, b = self.a, self.b
        if not (a.settled and b.settled):
            return None
        n = len(self.residues)
        if not n:
            self.start = a.start - b.start
            self.inverse = pow(b.residues[0], -1, PRIME)
            self.leading = 1 / b.numbers[0]
        if a.start + n >= a.end or b.start + n >= b.end:
            return None
        above = a.at(a.start + n)
        if n:
            above = added(above, _convolved(b, self, n, 1), -1)
        number = above.number * self.leading
        error = 0.0
        if above.error or b.errors[0]:
            size = abs(float(self.leading))
            error = (above.error + abs(float(number)) * b.errors[0]) * size / max(1 - b.errors[0] * size, 0.5)
        return Coefficient(above.residue * self.inverse % PRIME, number, error)


class _Derivative(Laurent):
    """(u′)ₖ = (k + 1)·uₖ₊₁"""

    def __init__(self, u: Laurent):
        super().__init__(u.start - 1)
        self.u = u

    def lowest(self) -> int | None:
        low = self.u.bound()
        return None if low is None else low - 1

    def next(self) -> Coefficient | None:
        """(k + 1)·uₖ₊₁"""
        if self.bound() is None:
            return None
        k = int(self.end)
        return None if k + 1 >= self.u.end else _multiple(self.u.at(k + 1), k + 1, 1)


class _Integral(Laurent):
    """y₀ + ∫ s dt: yₖ = sₖ₋₁/k, where s may read y itself."""

    def __init__(self, first: Coefficient, s: Laurent | None):
        super().__init__(0)
        self.s = s
        self.append(first)

    def next(self) -> Coefficient | None:
        """yₖ = sₖ₋₁/k; raises NoSeries where s has a pole, of which the integral is a logarithm."""
        if self.s is None or self.s.bound() is None:
            return None
        k = int(self.end)
        if self.s.settled and self.s.start < 0:
            raise NoSeries("its derivative has a pole")
        return None if k - 1 >= self.s.end else _multiple(self.s.at(k - 1), 1, k)


def added(a: Coefficient, b: Coefficient, sign: int = 1) -> Coefficient:
    """a + b, or a − b; raises NoSeries where the sum is no zero modulo the prime, and yet rounding as a number."""
    number = a.number + b.number if sign > 0 else a.number - b.number
    residue = (a.residue + sign * b.residue) % PRIME
    if residue and abs(number) < _NOISE * max(abs(a.number), abs(b.number)):
        raise NoSeries("whether two coefficients are equal is undecided")
    return Coefficient(residue, number, a.error + b.error)


def _multiple(c: Coefficient, above: int, below: int) -> Coefficient:
    """c·above/below, with the error multiplied alike."""
    residue = c.residue * above * pow(below, -1, PRIME) % PRIME
    number = c.number * above / below
    return Coefficient(residue, number, c.error * abs(above) / below)


def _moved(points: Sequence[Any]) -> Iterator[list[Any]]:
    """(x, y) → (x − δ, y − δ), (x − δ, y), …, (x + δ, y + δ): numbers next to others, on both sides of each."""
    for signs in product((-1, 0, 1), repeat=len(points)):
        yield [x + s * (abs(x) + 1e-3) * 2.0**-20 for x, s in zip(points, signs, strict=True)]


def check_continuous(op: Any, points: Sequence[Any]) -> None:
    """Raise NoSeries where an op of several numbers jumps: arctan2(t, t) is π/4 for t > 0, and −3π/4 for t < 0."""
    with np.errstate(all="ignore"):
        found = np.array([op.compute(*moved) for moved in _moved(points)] if len(points) > 1 else [0.0])
        if np.any(np.ptp(found, axis=0) > 1e-3 * (1 + np.abs(found[0]))):
            raise NoSeries(f"{op} jumps at the point")


def indeterminate(of: Any, number: float, error: float) -> Coefficient:
    """e = 2.718… → (random mod p, 2.718…, error): a number known as a float only, drawn from what it is the value of.

    One value is one indeterminate: exp(1) − exp(1) vanishes; whether exp(1) − 2.718281828459045 does is undecided.
    """
    residue = random.Random(repr(of)).randrange(1, PRIME)
    return Coefficient(residue, Decimal(number), error)


class Around:
    """x = point + t → Σ cₖ·tᵏ: the series at t = 0 of terms of one argument, `length` coefficients of each.

    sin(x) at 0 → t − t³/6 + …
    """

    def __init__(self, argument: Term, point: float, length: int):
        """x = point + t as a polynomial, in the decimals of CONTEXT; no other series is known yet."""
        self.point, self.length = point, length
        with localcontext(CONTEXT):
            self.variable = Polynomial([exactly(point), exactly(1)])
        self.of: dict[Term, Laurent] = {argument: self.variable}
        self.made: list[Laurent] = []
        self._known: dict[Any, Laurent] = {}
        self._slopes: dict[tuple[Any, Laurent], list[Laurent | None]] = {}
        self._depth = 0

    def expand(self, t: Term) -> Laurent:
        """log(x) at 1 → t − t²/2 + …: the series of a term of which the operands' are known.

        Raises NoSeries where there is none, as of log(x) at 0, or no coefficient that does not vanish is known.
        """
        with localcontext(CONTEXT):
            for node in (*[x for x in t.rands if type(x.op) is Constant], t):
                if node not in self.of:
                    self.of[node] = self._term(node, self.of)
            self.grow()
        found = self.of[t]
        if not (found.settled or found.whole):
            raise NoSeries("no coefficient is known that does not vanish")
        if isinstance(found, _Integral) and found.end <= 1:
            raise NoSeries(
                "its derivative has no series"
            )  # as that of a root at zero, which divides by itself
        return found

    def grow(self) -> None:
        """sₙ → sₙ₊₁, … for all series by turns, until each has `length` coefficients, or none can be extended."""
        growing = list(self.made)
        while growing:
            # No generator: a series may be made complete before those that it needs are.
            moved = [s.grow(self.length) for s in growing]
            if not any(moved):
                return
            growing = [s for s in growing if len(s.residues) < self.length]

    def slope(self, op: Any, y: Laurent, i: int) -> Laurent | None:
        """y = exp(u) → the series of exp(u): ∂y/∂uᵢ, if the op's own rule was asked for y; else None."""
        slopes = self._slopes.get((op, y))
        return None if slopes is None else slopes[i]

    def _term(self, t: Term, of: Mapping[Term, Laurent], rounded: bool = False) -> Laurent:
        """f(u, v) → the series of f; 2 → 2 + 0·t; where(c, u, v) → u or v, as c is around the point.

        A constant of a rule is `rounded`, unless it has few digits. Raises NoSeries where entries move, or nothing is
        real.
        """
        op = t.op
        if type(op) is Constant:
            if op.value.size != 1 or not np.isfinite(op.value).all():
                raise NoSeries("a constant that is no number")
            return self._constant(op.value.item(), rounded)
        if not (op.elementwise and isinstance(t.type, ArrayType)):
            raise NoSeries(f"{op} is no function of a real number")
        operands = [of[rand] for rand in t.rands]
        if t.type.dtype.kind == "b":
            return Truth(self._decided(op, operands))
        if op is where and isinstance(operands[0], Truth):
            return operands[1] if operands[0].holds else operands[2]
        if not t.type.differentiable:
            raise NoSeries(f"{op} is no function of a real number")
        return self.apply(op, operands)

    def _decided(self, op: Any, operands: Sequence[Laurent]) -> bool:
        """x > 0 at 1 → True: a truth value that is the same for all numbers next to the operands' values.

        Raises NoSeries where it is not: x > 0 at 0.
        """
        if any(isinstance(x, Truth) for x in operands):
            if not all(isinstance(x, Truth) for x in operands):
                raise NoSeries(f"{op} of truth values and numbers")
            return bool(op.compute(*[np.bool_(x.holds) for x in operands if isinstance(x, Truth)]))
        points = [float(c.number) for c in self._firsts(op, operands)]
        answers = {bool(op.compute(*map(np.float64, moved))) for moved in _moved(points)}
        if len(answers) > 1:
            raise NoSeries(f"{op} turns at the point")
        return answers.pop()

    def _remainder(self, op: Any, operands: Sequence[Laurent]) -> Laurent:
        """x mod y = x − k·y, where k is the same for all numbers next to the operands' values."""
        points = [float(c.number) for c in self._firsts(op, operands)]
        whole = np.floor if op is remainder else np.trunc
        with np.errstate(all="ignore"):
            found = {float(whole(np.divide(x, y))) for x, y in _moved(points)}
        k = found.pop()
        if found or not math.isfinite(k):
            raise NoSeries(f"{op} jumps at the point")
        return self.sum(operands[0], self.product(self._constant(k, False), operands[1]), sign=-1)

    def _firsts(self, op: Any, operands: Sequence[Laurent]) -> list[Coefficient]:
        """(t², 1 + t) → [0, 1]: the values of operands at the point itself; raises NoSeries at a pole."""
        if any(u.end <= 0 for u in operands):
            self.grow()
        if any(u.end <= 0 or (u.settled and u.start < 0) for u in operands):
            raise NoSeries(f"{op} is applied to a pole")
        return [u.at(0) for u in operands]

    def _constant(self, value: float, rounded: bool) -> Laurent:
        """c → c + 0·t; with the error of a rounding where it is `rounded` and has many digits, as π in a rule."""
        key = ("constant", value, rounded)
        if key not in self._known:
            if value == 0:
                found = Polynomial([])
            elif rounded and not _is_short(value):
                found = Polynomial([exactly(value)._replace(error=abs(value) * _ROUNDED)])
            else:
                found = Polynomial([exactly(value)])
            self._known[key] = found
        return self._known[key]

    def apply(self, op: Any, operands: Sequence[Laurent]) -> Laurent:
        """x mod y → x − k·y, a + b → Σ, exprel → its meaning, exp → its rule: an op of series, made once."""
        key = (op, *operands)
        found = self._known.get(key)
        if found is None:
            self._depth += 1
            if self._depth > NESTED or len(self.made) > MANY:
                raise NoSeries(f"the rules of {op} lead to too many series")
            found = self._remainder(op, operands) if op in (remainder, fmod) else self._in_ring(op, operands)
            if found is None:
                found = self._meant(op, operands) or self._by_rule(op, operands, key)
            self._known[key] = found
            self._depth -= 1
        return found

    def evaluate(self, t: Term, of: Mapping[Term, Laurent], rounded: bool = False) -> Laurent:
        """x₀·x₁, {x₀: t, x₁: 1 + t} → t + t²: the series of a term of placeholders."""
        known = dict(of)
        for node in subterms(t):
            if node not in known:
                known[node] = self._term(node, known, rounded)
        return known[t]

    def _meant(self, op: Any, operands: Sequence[Laurent]) -> Laurent | None:
        """f⁽ⁿ⁾ = (d/dt)ⁿ of the series of what f means, each time over u′: exprel_n(u) → (eᵘ − 1)/u; else None."""
        meaning = meaning_of(op, len(operands))
        if meaning is None:
            return None
        found = self.evaluate(meaning, dict(zip(_places(len(operands)), operands, strict=True)))
        for _ in range(op.times):
            found = self._put(_Quotient(self._put(_Derivative(found)), self._put(_Derivative(operands[0]))))
        return found

    def _by_rule(self, op: Any, operands: Sequence[Laurent], key: Any) -> Laurent:
        """y = f(u₀) + ∫ Σ ∂f/∂uᵢ·uᵢ′ dt, where the derivatives are terms of u and y themselves: eᵘ → y.

        Raises NoSeries where f jumps at the point, or is not analytic.
        """
        firsts = self._firsts(op, operands)
        first = value(op, firsts)
        if all(isinstance(u, Polynomial) and (u.fixed or not u.settled) for u in operands):
            return Polynomial([first])
        check_continuous(op, [float(c.number) for c in firsts])
        y = _Integral(first, None)
        self._known[key] = y
        if self._depth > self.length:
            return y  # of the n-th of derivatives that lead to each other, as those of log Γ do, no more is needed
        places = _places(len(operands))
        own = {_RESULT: y, **dict(zip(places, operands, strict=True))}
        total: Laurent | None = None
        slopes: list[Laurent | None] = []
        for u, rule in zip(operands, rules_of(op, len(operands)), strict=True):
            slopes.append(None)
            if isinstance(u, Polynomial) and (u.fixed or not u.settled):
                continue
            if rule is None:
                raise NoSeries(f"{op} is not analytic")
            slopes[-1] = slope = self.evaluate(rule, own, rounded=True)
            part = self.product(slope, self._put(_Derivative(u)))
            total = part if total is None else self.sum(total, part)
        y.s = total
        self._slopes[op, y] = slopes
        return self._put(y)

    def _put(self, s: Laurent) -> Laurent:
        self.made.append(s)
        return s

    # The ring.

    def _in_ring(self, op: Any, operands: Sequence[Laurent]) -> Laurent | None:
        """−a, a + b, a − b, a·b, a/b, 1/a, a², aⁿ → the same of series: exact, without any rule; None for other ops."""
        if op is power or op is float_power:
            return self.power(*operands)
        if op.as_sum in ((1,), (-1,)):
            return operands[0] if op.as_sum == (1,) else self.negative(*operands)
        if op.as_sum in ((1, 1), (1, -1)):
            return self.sum(*operands, sign=op.as_sum[1])
        match op.as_product:
            case (1, (1, 1)):
                return self.product(*operands)
            case (1, (1, -1)):
                return self.quotient(*operands)
            case (1, (-1,)):
                return self.quotient(self._constant(1.0, False), *operands)
            case (1, (2,)):
                return self.product(*operands, *operands)
        return None

    def sum(self, a: Laurent, b: Laurent, sign: int = 1) -> Laurent:
        """a ± b, at once where both are polynomials: (1 + t) − t → 1."""
        if a.whole and b.whole:
            low = min(a.start, b.start)
            high = max(a.start + len(a.residues), b.start + len(b.residues))
            return Polynomial([added(a.at(k), b.at(k), sign) for k in range(low, high)], low)
        return self._put(_Sum(a, b, sign))

    def product(self, a: Laurent, b: Laurent) -> Laurent:
        """a·b, at once where both are polynomials: (1 + t)·(1 − t) → 1 − t²."""
        for x in (a, b):
            if x.whole and not x.settled:
                return Polynomial([])
        if a.whole and b.whole:
            found = [_convolved(a, b, n) for n in range(len(a.residues) + len(b.residues) - 1)]
            return Polynomial(found, a.start + b.start)
        return self._put(_Product(a, b))

    def quotient(self, a: Laurent, b: Laurent) -> Laurent:
        """(a/b)·b = a: 1/(1 − t) → 1 + t + t² + …; raises NoSeries where b is zero all around."""
        if a.whole and not a.settled:
            return a
        if b.whole and not b.settled:
            raise NoSeries("a quotient by zero")
        if b.whole and len(b.residues) == 1 and a.whole:
            found = _Quotient(a, b)
            for _ in a.residues:
                found.append(found.next() or NULL)
            whole = Polynomial([], found.start)
            whole.residues, whole.numbers, whole.errors = found.residues, found.numbers, found.errors
            whole.exact, whole.even = found.exact, found.even
            return whole
        return self._put(_Quotient(a, b))

    def negative(self, a: Laurent) -> Laurent:
        """−a, where −(−a) is a."""
        key = ("negative", a)
        if key not in self._known:
            found = self.product(a, self._constant(-1.0, False))
            self._known[key] = found
            self._known["negative", found] = a
        return self._known[key]

    def power(self, a: Laurent, b: Laurent) -> Laurent | None:
        """aⁿ by squaring, 1/a⁻ⁿ for n < 0, and a^b = exp(b·log a) for others: (1 + t)^½ → 1 + t/2 − …"""
        n = float(b.at(0).number) if isinstance(b, Polynomial) and b.fixed and not b.errors[0] else math.nan
        if isinstance(b, Polynomial) and not b.settled:
            n = 0.0
        if n.is_integer() and abs(n) <= 64:
            found: Laurent = self._constant(1.0, False)
            square, left = a, int(abs(n))
            while left:
                if left & 1:
                    found = self.product(found, square)
                left >>= 1
                square = self.product(square, square) if left else square
            return found if n >= 0 else self.quotient(self._constant(1.0, False), found)
        return self.evaluate(_POWER, dict(zip(_places(2), (a, b), strict=True)))


def value(op: Any, operands: Sequence[Coefficient]) -> Coefficient:
    """√4 → 2, exp(1) → an indeterminate ± error: the value of an op, rational where that is certain.

    At a number of few digits a function with a value of few digits has that value exactly, unless it is so flat there
    that another value would look the same, as tanh(40) does.
    """
    points = [float(c.number) for c in operands]
    with np.errstate(all="ignore"):
        try:
            here = float(op.compute(*map(np.float64, points)))
            error = abs(here) * _ROUNDED
            short = _is_short(here) and all(map(_is_simple, operands))
            flat = any(points)
            for i, (x, c) in enumerate(zip(points, operands, strict=True)):
                step = max(c.error, abs(x) * _ROUNDED)
                moved = [*points[:i], x + step, *points[i + 1 :]]
                away = abs(float(op.compute(*map(np.float64, moved))) - here) if step else 0.0
                error += 2 * away if c.error else 0.0
                flat = flat and not (x and away > 2.0**-20 * max(abs(here), 2.0**-20) * _ROUNDED)
        except (TypeError, ValueError, ArithmeticError) as failed:
            raise NoSeries(f"{op} has no value") from failed
    if not (math.isfinite(here) and math.isfinite(error)):
        raise NoSeries(f"{op} has no finite value")
    if short and not flat:
        return exactly(here) if here else NULL
    return indeterminate((str(op), here, [c.residue for c in operands]), here, error)


def _is_short(x: float) -> bool:
    """Whether a float has few digits before and after the point: 0, −2, 0.375: yes; 0.1, 2²⁰: no."""
    scaled = x * 1024
    return abs(x) < 1 << 20 and scaled == int(scaled)


def _is_simple(c: Coefficient) -> bool:
    """Whether a coefficient is a float of few digits, known exactly: 3/8: yes; 1/3, exp(1): no."""
    x = float(c.number)
    return not c.error and _is_short(x) and c.residue == exactly(x).residue


_RESULT = term(Input("out", _SCALAR, symbol=True))


@lru_cache
def _places(arity: int) -> tuple[Term, ...]:
    return tuple([term(Input(f"x{i}", _SCALAR, symbol=True)) for i in range(arity)])


@lru_cache(maxsize=4096)
def rules_of(op: Any, arity: int) -> tuple[Term | None, ...]:
    """f, 2 → (∂f/∂x₀, ∂f/∂x₁), as terms of x₀, x₁ and `out`, the result: of exp, out; None where f is constant."""
    one = Tracer(constant(1.0, np.float64))
    try:
        found = op.L_op([Tracer(x) for x in _places(arity)], [Tracer(_RESULT)], [one])
    except (
        Exception
    ) as failed:  # whatever a user's rule raises, it shall raise where it is asked for a gradient
        raise NoSeries(f"{op} has no rule of real numbers") from failed
    return tuple([None if rule is None else as_term(rule) for rule in found])


@lru_cache(maxsize=4096)
def meaning_of(op: Any, arity: int) -> Term | None:
    """exprel_n(x₀) → expm1(x₀)/x₀: the meaning of an op as a term of its operands, or None."""
    meaning = op.meaning(*[Tracer(x) for x in _places(arity)])
    return None if meaning is None else as_term(meaning)


def definition_of(op: Any, arity: int) -> Term | None:
    """exprel_n(x₀) → expm1(x₀)/x₀, as `meaning_of`; None for ops that are derivatives of their meaning."""
    return None if op.times else meaning_of(op, arity)


def _general_power() -> Term:
    """x^y = exp(y·log x), as a term of two places."""
    x, y = map(Tracer, _places(2))
    return as_term(np.exp(y * np.log(x)))


_POWER = _general_power()
