"""Laurent series of terms at a point: as many coefficients as are asked for, and exactly which of them vanish.

A coefficient is known in three ways: modulo a prime, which tells exactly whether it vanishes; as a decimal number; and
with a bound of that number's error. Rational numbers are themselves modulo the prime. Values that are none, such as
exp(1), are indeterminates: a number drawn from what they are the value of. So a coefficient that vanishes there does so
whatever the indeterminates are, but for chances of 2⁻⁶⁰ (Schwartz 1980). One that does not, and whose number may still
be zero, is undecided, and nothing is said of the function.

Source: J. T. Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", J. ACM 27 (1980).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from quicktions import Fraction

from relgrad.balls.graph import named
from relgrad.calculus.path import Path, tangent
from relgrad.calculus.ring import (
    Algebra,
    BranchPoint,
    NoSeries,
    Polynomial,
    Power,
    Quotient,
    Truth,
)
from relgrad.errors import OpError
from relgrad.kernels.doubled.named import name_of
from relgrad.ops.arithmetic import sqrt
from relgrad.term import Term, subterms

PRIME = (1 << 61) - 1
CONTEXT = Context(prec=80, Emax=10**9, Emin=-(10**9), traps=[])
"""In which decimals are computed: of log((eᵗ − 1)/t), c₆₄ has 30 digits less than c₁, and 1/64! counts beside it."""
_ZERO = Decimal(0)
_NOISE = Decimal("1e-64")
"""Relative to its summands, a sum of this size is no more than the rounding of decimals."""
_ROUNDED = 2.0**-50
"""The relative error of the value of an op, and of a constant in a rule, which may be rounded."""
BITS = 288
"""In which values at numbers without error are computed, for the decimals of CONTEXT."""
_LAST = 1e-78
"""Relative to a decimal number, what rounding may have made of it."""
_PARTS = 1024
"""Numbers of few digits are whole multiples of 1 over this."""
_SURE = 1e-72
"""Values that are that near to a number of few digits are that number."""
_DRAWN: dict[str, Any] = {
    "ln2": ("log", math.log(2), [2]),
    "ln10": ("log", math.log(10), [10]),
    "e": ("exp", math.e, [1]),
}
"""Numbers that have names as values of ops, so that log 2 is the value of `log` at 2."""
_EXPRESSED: dict[str, tuple[Fraction, int, int]] = {
    "root_of_2": (Fraction(1), 1, 0),
    "root_of_pi": (Fraction(1), 0, 1),
    "pi": (Fraction(1), 0, 2),
    "2/root_of_pi": (Fraction(2), 0, -1),
    "degree": (Fraction(1, 180), 0, 2),
    "radian": (Fraction(180), 0, -2),
    "root_of_2pi": (Fraction(1), 1, 1),
    "1/root_of_2pi": (Fraction(1), -1, -1),
}
"""Numbers that have names as rational ones times powers of √2 and √π: 1/√(2π) = 1·√2⁻¹·√π⁻¹."""
_ROOT_OF_2 = pow(2, (PRIME + 1) // 4, PRIME)
MANY = 1500
"""So many series are kept of one function."""
LONG = 128
"""A polynomial of more coefficients is as good as a series without end: x·(1 − x) of 30 rounds has 2³⁰."""


class Coefficient(NamedTuple):
    """(c mod p, c in decimals, the decimals' error): 1/3 → (1537228672809129301, 0.333…, 0)."""

    residue: int
    number: Decimal
    error: float


NULL = Coefficient(0, _ZERO, 0.0)


def exactly(value: float | int | Fraction) -> Coefficient:
    """1/3 → (1/3 mod p, 0.333…, 0): a rational number as a coefficient without error."""
    exact = Fraction(value)
    residue = exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
    return Coefficient(residue, Decimal(exact.numerator) / Decimal(exact.denominator), 0.0)


class _Column:
    """Coefficients of a series: their residues, numbers and errors, each in a list."""

    def __init__(self) -> None:
        self.residues: list[int] = []
        self.numbers: list[Decimal] = []
        self.errors: list[float] = []
        self.exact = True
        self.first: int | None = None
        """The first that does not vanish,"""
        self.even = True
        """and whether every other one after it does, so far."""

    def __len__(self) -> int:
        return len(self.residues)

    def __getitem__(self, i: int) -> Coefficient | None:
        residue = self.residues[i]
        return Coefficient(residue, self.numbers[i], self.errors[i]) if residue else None

    def append(self, c: Coefficient | None) -> None:
        """c₀, …, cₙ₋₁ → c₀, …, cₙ

        Raises NoSeries where the first one other than zero, modulo the prime, may be zero as a number.
        """
        if c is not None and self.first is None:
            if abs(c.number) <= 4 * Decimal(c.error):
                raise NoSeries("whether a coefficient vanishes is undecided")
            self.first = len(self.residues)
        elif c is not None:
            self.even = self.even and not (len(self.residues) - (self.first or 0)) % 2
        residue, number, error = c or NULL
        self.residues.append(residue)
        self.numbers.append(number)
        self.errors.append(error)
        self.exact = self.exact and not error


class _Exact(Algebra):
    """c modulo a prime, as a decimal, and the error of that."""

    def column(self) -> _Column:
        return _Column()

    def some(self, c: Coefficient) -> Coefficient | None:
        return c if c.residue else None

    def exact(self, value: Any) -> Coefficient:
        return exactly(float(value))

    def number(self, c: Coefficient) -> Any:
        return np.float64(c.number)

    def size(self, c: Coefficient) -> Any:
        return np.abs(self.number(c))

    def error(self, c: Coefficient) -> Any:
        return c.error

    def vanishing(self, c: Coefficient) -> bool:
        return False

    def added(self, a: Coefficient, b: Coefficient, sign: int) -> Coefficient:
        """a ± b; raises NoSeries where that is zero modulo the prime only, by chance.

        What may be the rounding of decimals has that for its error: (1 − cos t)/√(1 + sin t) − (1/√(1 + sin t) − 1) is
        entire, and its 30th coefficient 10⁻³⁶ of theirs.
        """
        number = a.number + b.number if sign > 0 else a.number - b.number
        residue = (a.residue + sign * b.residue) % PRIME
        error, size = a.error + b.error, max(abs(a.number), abs(b.number))
        if residue and abs(number) < _NOISE * size:
            error += float(_NOISE * size)
        if not residue and abs(number) > size / 1000 + 4 * Decimal(error):
            raise NoSeries("two coefficients agree modulo the prime by chance")
        return Coefficient(residue, number, error)

    def multiple(self, c: Coefficient, above: int, below: int = 1) -> Coefficient:
        residue = c.residue * above * pow(below, -1, PRIME) % PRIME
        return Coefficient(residue, c.number * above / below, c.error * abs(above) / below)

    def quotient(self, c: Coefficient, by: Coefficient) -> Coefficient:
        number = c.number / by.number
        error = 0.0
        if c.error or by.error:
            size = abs(float(1 / by.number))
            error = (c.error + abs(float(number)) * by.error) * size / max(1 - by.error * size, 0.5)
        return Coefficient(c.residue * pow(by.residue, -1, PRIME) % PRIME, number, error)

    def convolved(self, a: Power, b: Power, k: int, low: int, high: int) -> Coefficient | None:
        """Σ aᵢ·bₖ₋ᵢ over low ≤ i ≤ high; where a or b is even, over every other i."""
        x, y = a.known, b.known
        low, high, n = low - a.start, high - a.start, k - a.start - b.start
        step = 2 if x.even or y.even else 1
        if step == 2:
            odd = x.first if x.even else n - y.first
            low += (low - odd) % 2
            high -= (high - odd) % 2
        if low > high or (x.even and y.even and (n - x.first - y.first) % 2):
            return None
        ours, theirs = slice(low, high + 1, step), slice(n - high, n - low + 1, step)
        residue = sum(map(mul, x.residues[ours], y.residues[theirs][::-1])) % PRIME
        if not residue:
            return None
        number = sum(map(mul, x.numbers[ours], y.numbers[theirs][::-1]), _ZERO)
        error = 0.0
        if not (x.exact and y.exact):
            sizes = [abs(float(c)) for c in x.numbers[ours]], [abs(float(c)) for c in y.numbers[theirs][::-1]]
            for c, dc, d, dd in zip(sizes[0], x.errors[ours], sizes[1], y.errors[theirs][::-1], strict=True):
                error += c * dd + dc * (d + dd)
        return Coefficient(residue, number, error)


EXACT = _Exact(exactly(1))


class Laurent(NamedTuple):
    """Σ cₖ·tᵏ from k = `start` on, as far as it is known; c at `start` does not vanish, if there is one.

    Of `whole` series, which are polynomials, everything is known; of a truth value, that it `holds` all around.
    """

    start: int
    residues: Sequence[int]
    numbers: Sequence[Decimal]
    errors: Sequence[float]
    whole: bool
    holds: bool | None = None

    @property
    def settled(self) -> bool:
        """Whether there is a coefficient that does not vanish: t + …: yes; 0: no."""
        return bool(self.residues)

    def at(self, k: int) -> Coefficient:
        """cₖ of a power that is known; zero below the first: t² → 0, 0, 1."""
        i = k - self.start
        if i < 0 or i >= len(self.residues):
            return NULL
        return Coefficient(self.residues[i], self.numbers[i], self.errors[i])

    def of_square(self) -> Laurent:
        """c₀ + c₂·s² + c₄·s⁴ + … → c₀ + c₂·t + c₄·t² + …, of t = s²; raises NoSeries of what is not even in s."""
        if self.start % 2 or any(self.residues[1::2]):
            raise NoSeries("it is not even in a root")
        residues, numbers, errors = self.residues[::2], self.numbers[::2], self.errors[::2]
        return Laurent(self.start // 2, residues, numbers, errors, self.whole, self.holds)

    def value(self) -> Any:
        """c₀, the value at the point itself, as a float or a truth value."""
        return np.float64(self.at(0).number) if self.holds is None else np.bool_(self.holds)


class Around(Path):
    """x = point + t → Σ cₖ·tᵏ: the series at t = 0 of terms of one argument, `length` coefficients of each.

    sin(x) at 0 → t − t³/6 + …, on both sides of 0; with a side, x = point ± t for t > 0: |x| → t. There cos √x is even
    in s = √t, and a series in t, if x = point ± s² is looked at in its `root`.
    """

    algebra = EXACT
    deepest = 100
    whole = 64

    def __init__(self, argument: Term, point: float, length: int, side: int = 0, root: bool = False):
        """x = point + t as a polynomial, in the decimals of CONTEXT; no other series is known yet."""
        with localcontext(CONTEXT):
            variable = Polynomial(EXACT, [exactly(point), *[None] * root, exactly(side or 1)])
        super().__init__({argument: variable}, length * (1 + root), MANY)
        self.point, self.length, self.side, self.root = point, length * (1 + root), side, root
        self.found: dict[Term, Laurent | NoSeries] = {}

    def expand(self, t: Term) -> Laurent:
        """log(x) at 1 → t − t²/2 + …: the series of a term, those of all terms below being found first.

        Raises NoSeries where there is none, as of log(x) at 0, or no coefficient that does not vanish is known.
        """
        with localcontext(CONTEXT):
            for node in subterms(t):
                if node not in self.found:
                    try:
                        found = self._expanded(self(node))
                        self.found[node] = found.of_square() if self.root else found
                    except (NoSeries, RecursionError) as why:
                        self.found[node] = why if isinstance(why, NoSeries) else NoSeries("it is too deep")
        found = self.found[t]
        if isinstance(found, NoSeries):
            raise found
        return found

    def _expanded(self, series: Power) -> Laurent:
        """0·t + c·t² + … → `length` coefficients from c on; of a polynomial all, if these are not too many."""
        if isinstance(series, Truth):
            return Laurent(0, (), (), (), True, bool(series.at(0)[0]))
        whole = series.end - series.start <= LONG
        start = series.order(int(series.end) if whole else self.length - 1)
        if start is None and not whole:
            raise NoSeries("no coefficient is known that does not vanish")
        if start is None:
            return Laurent(0, (), (), (), True)
        end = int(series.end) if whole else start + self.length
        series.at(end - 1)
        c, these = series.known, slice(start - series.start, end - series.start)
        return Laurent(start, c.residues[these], c.numbers[these], c.errors[these], whole)

    def slope(self, t: Term, i: int) -> float:
        """x·eˣ, 0 → 0: the power with which the series of ∂f/∂uᵢ begins, by the op's own rule; ∞ where that is zero."""
        if self.of[t.rands[i]].fixed:
            return math.inf
        made = tangent(t.op, tuple([rand.type for rand in t.rands]), i)
        if made is None:
            raise NoSeries(f"{t.op} has no derivative")
        leaves, tangents, root = made
        of = {x: self.of[rand] for x, rand in zip(leaves, t.rands, strict=True)}
        of |= {d: EXACT.one for d in tangents if d is not None}
        with localcontext(CONTEXT), np.errstate(all="ignore"):
            found = self.evaluate(root, of).order(self.length - 1)
        return math.inf if found is None else found

    # What coefficients are, and what is decided at the point.

    def constant(self, value: Any, in_rule: bool) -> Coefficient:
        number = float(value.item() if value.size == 1 else math.nan)
        if not math.isfinite(number):
            raise NoSeries("a constant that is no number")
        if (name := name_of(number)) is not None:
            return _of_name(number, *name)
        rounded = in_rule and not _is_short(number)
        return exactly(number)._replace(error=abs(number) * _ROUNDED if rounded else 0.0)

    def function(self, node: Term, operands: Sequence[Power], values: Sequence[Any]) -> Coefficient:
        real = all(rand.type.dtype.kind == "f" for rand in node.rands)
        return value(node.op, [x.at(0) or NULL for x in operands] if real else list(map(exactly, values)))

    def decided(self, x: Power, k: int) -> None:
        """−1 + t → −1; of t it is another on either side, and there."""
        if k and not self.side:
            raise NoSeries("a sign is undecided")
        super().decided(x, k)

    def keeps_signs(self, delta: Any) -> bool:
        with localcontext(CONTEXT):
            try:
                return super().keeps_signs(np.sqrt(np.abs(delta)) if self.root else delta)
            except NoSeries:
                return False

    def found_root(self, of: int, to: int) -> None:
        """√(t⁴·w) = t²·√w; but √(t²·w) = |t|·√w, which is t·√w on one side."""
        if not self.side and (of % 2 or to % 2):
            raise BranchPoint("a root is another on the other side")

    # How other ops extend series.

    def apply(self, node: Term, operands: Sequence[Power]) -> Power:
        if not node.op.elementwise:
            raise NoSeries(f"{node.op} is no function of a real number")
        return super().apply(node, operands)

    def special(self, node: Term, operands: Sequence[Power]) -> Power | None:
        """f⁽ⁿ⁾ = (d/dt)ⁿ of the series of what f means, each time over u′: exprel_n(u) → (eᵘ − 1)/u"""
        found = self.as_written(node.op.meaning, node, operands)
        for _ in range(node.op.times):
            found = found and Quotient(self.derivative(found), self.derivative(operands[0]), self.most)
        return found


class BothSides:
    """|x|·sin|x| at 0 → t² − t⁴/6 + …: series of functions that are one on both sides of a point, as parts may not be.

    where(x > 0, cos √x, cosh √−x) at 0 → 1 − t/2 + t²/24 − …: in a root, if that branches.

    Source: A. Griewank & A. Walther, "Evaluating Derivatives", 2nd ed., section 14.2, for derivatives at kinks.
    """

    def __init__(self, argument: Term, point: float, length: int):
        self.argument, self.point, self.length = argument, point, length
        self.sides = self._looked_at()

    def _looked_at(self, root: bool = False) -> list[Around]:
        return [Around(self.argument, self.point, self.length, side, root) for side in (1, -1)]

    def expand(self, t: Term) -> Laurent:
        """max(x, 0) + log1p(e^−|x|) at 0 → log 2 + t/2 + t²/8 + …; raises NoSeries where sides differ: |x|."""
        right, left = self.expand_each(t)
        powers = range(min(right.start, left.start), self.length)
        if right.holds != left.holds or not all(_agree(right.at(k), left.at(k)) for k in powers):
            raise NoSeries("it is another function on the other side")
        return right

    def expand_each(self, t: Term) -> tuple[Laurent, Laurent]:
        """|x| at 0 → t, −t: the series right of a point and left of it, both in t = x − point."""
        try:
            right, left = (side.expand(t) for side in self.sides)
        except BranchPoint:
            if self.sides[0].root:
                raise
            self.sides = self._looked_at(root=True)
            right, left = (side.expand(t) for side in self.sides)
        odd = [(left.start + i) % 2 for i in range(len(left.residues))]
        residues = [-c % PRIME if k else c for k, c in zip(odd, left.residues, strict=True)]
        numbers = [c.copy_negate() if k else c for k, c in zip(odd, left.numbers, strict=True)]
        return right, left._replace(residues=residues, numbers=numbers)

    def keeps_signs(self, delta: Any) -> bool:
        return all(side.keeps_signs(delta) for side in self.sides)


def _agree(a: Coefficient, b: Coefficient) -> bool:
    """Whether two coefficients are one: modulo the prime, or within their errors, as log(2) and log1p(1)."""
    error = a.error + b.error
    known = error <= _ROUNDED * 64 * abs(float(a.number))
    return a.residue == b.residue or (known and abs(float(a.number - b.number)) <= error)


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
    found = indeterminate((str(op), here, [c.residue for c in operands]), here, error)
    return found if any(c.error for c in operands) else _in_balls(op, operands, found)


def _in_balls(op: Any, operands: Sequence[Coefficient], found: Coefficient) -> Coefficient:
    """sin(π) = 1.2e-16 → 0, exp(1) = 2.718… → the same in 80 digits: the value of an op at numbers without error."""
    import flint

    with flint.ctx.workprec(BITS):
        try:
            ball = op.ball(*[flint.arb(str(c.number), abs(float(c.number)) * _LAST) for c in operands])
        except (OpError, ArithmeticError, TypeError, ValueError):
            return found
        if not isinstance(ball, flint.arb) or not ball.is_finite() or ball.rad() > _SURE:
            return found
        short = round(float(ball.mid()) * _PARTS) / _PARTS
        if abs(ball - short) < _SURE:
            return exactly(short) if short else NULL
        number = Decimal(ball.str(CONTEXT.prec, radius=False))
    root = _root_of(operands[0].residue) if op is sqrt else None
    return Coefficient(found.residue if root is None else root, number, 0.0)


def _root_of(residue: int) -> int | None:
    """4 → 2, 2 → 2³¹: a root modulo the prime, that of a product the product of roots; None where there is none."""
    root = pow(residue, (PRIME + 1) // 4, PRIME)
    return root if root * root % PRIME == residue else None


def _of_name(x: float, name: str, scale: Fraction) -> Coefficient:
    """3.14… → π, an indeterminate, 80 digits, no error: a float that is a number's name, as it depends on others."""
    import flint

    with flint.ctx.workprec(BITS):
        number = Decimal(named(x).str(CONTEXT.prec, radius=False))
    if (expressed := _EXPRESSED.get(name)) is None:
        residue = indeterminate(_DRAWN.get(name, name), x, 0.0).residue
    else:
        rational, of_2, of_pi = expressed
        root_of_pi = indeterminate("root of pi", x, 0.0).residue
        residue = exactly(rational).residue * pow(_ROOT_OF_2, of_2, PRIME) * pow(root_of_pi, of_pi, PRIME)
    return Coefficient(exactly(scale).residue * residue % PRIME, number, 0.0)


def indeterminate(of: Any, number: float, error: float) -> Coefficient:
    """e = 2.718… → (random mod p, 2.718…, error): a number known as a float only, drawn from what it is the value of.

    One value is one indeterminate: exp(1) − exp(1) vanishes; whether exp(1) − 2.718281828459045 does is undecided.
    """
    residue = random.Random(repr(of)).randrange(1, PRIME)
    return Coefficient(residue, Decimal(number), error)


def _is_short(x: float) -> bool:
    """Whether a float has few digits before and after the point: 0, −2, 0.375: yes; 0.1, 2²⁰: no."""
    scaled = x * _PARTS
    return abs(x) < 1 << 20 and scaled == int(scaled)


def _is_simple(c: Coefficient) -> bool:
    """Whether a coefficient is a float of few digits, known exactly: 3/8: yes; 1/3, exp(1): no."""
    x = float(c.number)
    return not c.error and _is_short(x) and c.residue == exactly(x).residue
