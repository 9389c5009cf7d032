"""Series of programs along a line, x(t) = y + t·e in one of the arguments: arrays of floats, with error bounds.

    −a, a ± b, a·b, a/b, aⁿ    those of the ring, entry by entry; a linear op is that of every coefficient
    a > b, |a|, max(a, b), ⌊a⌋ by signs next to t = 0: of a − b, of a, of a − k and a − k − 1
    √(t²·w)                    t·√w
    y = f(u)                   y₀ + ∫ Df(u)·u′ dt, by the op's own pushforward, evaluated on series, y among them
    y = log(tˢ·w), w₀ ≠ 0      s·λ + log w,    λ = log t

λ is a number like any other: what is expanded is y(t, λ) in t, for which all of these laws hold, with λ as it is at the
distance that the series is summed for. So log(x² + 1) − 2·log x at x = 1/t is −2λ + log(1 + t²) + 2λ = t² − …

Where leaves are doubled numbers, so are all coefficients; what else they may be, `laurent` says.

Source: A. Griewank & A. Walther, "Evaluating Derivatives", 2nd ed., chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from relgrad.calculus.arrays import (
    ARRAYS,
    Aligned,
    Mapped,
    Multilinear,
    Together,
    digits,
    doubled,
    floats,
    in_floats,
    orders,
    polynomial,
    spread,
)
from relgrad.calculus.change import tangent_of
from relgrad.calculus.ring import (
    Algebra,
    BranchPoint,
    Coefficient,
    Derivative,
    Integral,
    Missing,
    Moved,
    NoSeries,
    Polynomial,
    Power,
    Product,
    Quotient,
    Sum,
    Truth,
    leading,
)
from relgrad.interpret import interpret
from relgrad.kernels.doubled.number import Doubled
from relgrad.leaf import Input
from relgrad.op import Constant, as_term
from relgrad.ops.align import FLOATING
from relgrad.ops.arithmetic import (
    absolute,
    add,
    cbrt,
    divide,
    float_power,
    multiply,
    negative,
    power,
    sign,
    sqrt,
    square,
    subtract,
)
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import isfinite, isinf, isnan
from relgrad.ops.einsum import Einsum
from relgrad.ops.exponential import log
from relgrad.ops.increments import Increment, MeanSlope
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum as Summed
from relgrad.ops.rounding import floor_divide, remainder
from relgrad.ops.selection import maximum, minimum, where
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import BroadcastLike
from relgrad.term import Term, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, array_type

SCALAR = array_type(np.float64)
ROUNDED = 2.0**-51
"""The relative error of a function of a float."""
_MOVES = (Rearrangement, *FLOATING, Cast)
MANY = 500
"""So many series are made of one program, if not told otherwise."""
STEEP = 12
"""So many steps for each op of a function whose slope has a series."""


_POWERS = (power, float_power)
Written = tuple[list[Term], Term]
"""Leaves for operands, and a term of them."""


class Path:
    """x(t) = y + t·e → the series of terms of x, leaves being as `of` says: x² − 1 → 2·t + t² on 1 + t."""

    algebra: Algebra = ARRAYS
    deepest = 20
    """Rules of rules are followed so far; those of ops over axes, whose derivatives branch, a quarter of that."""
    whole = 16
    """Larger exponents are no products."""

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
            t: alike.setdefault(digits(x), x) if isinstance(x, Polynomial) else x for t, x in of.items()
        }
        self.most, self.many = most, many
        self.log_t = log_t
        """The logarithm of the distance, at the entries of a term of the program; of all others where it is one."""
        self.read = number
        self.decisions: list[tuple[Power, int]] = []
        """Series whose signs are asked, and the powers that tell."""
        self.differs = False
        """Whether the program decides otherwise at t = 0 than nearby."""
        self.has_kinks = False
        """Whether it reads the slope of a size that is 0 at t = 0, which is a convention there."""
        self.has_roots = False
        """Whether roots are taken that are others on the other side of t = 0."""
        self.has_logarithms = False
        """Whether logarithms of the distance are taken."""
        self._known: dict[Any, Power] = {}
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

    def __call__(self, t: Term) -> Power:
        """x² − 1 → 2·t + t² on x = 1 + t: the series of a term; raises NoSeries where it has none."""
        with np.errstate(all="ignore"):
            series = self.evaluate(t, self.of)
        if isinstance(series, Missing):
            raise series.why
        return series

    def evaluate(self, t: Term, of: dict[Term, Power]) -> Power:
        """x² − 1 → {x², 1, x² − 1}: series of a term and all below, operands first; `Missing` for those without."""
        for node in subterms(t):
            if node not in of:
                try:
                    of[node] = self._term(node, of)
                except NoSeries as why:
                    of[node] = Missing(why)
        return of[t]

    def _term(self, node: Term, of: Mapping[Term, Power]) -> Power:
        """The series of an application, the operands' being known in `of`; of a constant c, c + 0·t."""
        if type(node.op) is Constant:
            value, in_rule = node.op.value, of is not self.of
            if not np.any(value):
                return self.algebra.zero
            number = lambda: Polynomial(self.algebra, [self.constant(value, in_rule)])
            return self.kept((node, in_rule), number)
        if not isinstance(node.type, ArrayType):
            raise NoSeries(f"{node.op} has several results")
        return self.apply(node, [of[rand] for rand in node.rands])

    def advance(self, k: int) -> None:
        """Find the coefficients of tᵏ from the leaves on, so that none is asked for far below."""
        for series in self.of.values():
            with suppress(NoSeries):  # what needs it will ask again
                series.at(k)

    def apply(self, node: Term, operands: Sequence[Power]) -> Power:
        """f, (a, b, …) → f(a, b, …): the series of an application, one object for one op and the same operands."""
        key = (node.op, tuple([rand.type for rand in node.rands]), *operands)
        found = self.kept(key, lambda: self._applied(node, operands))
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
            squares = op in (power, float_power) and self.exponent(operands[1], node.rands[1]) == 2
            if isinstance(op, _MOVES) and size == node.rands[0].type.size:
                self._centres.add(found)
            elif op is square or (op is multiply and len(moving) == 2) or squares:
                self._squares.add(found)
            elif isinstance(op, (MatMul, Einsum)) and size == 1:
                self._radial.add(found)
        elif (
            op is subtract and moving == [self._leaf] and size == node.rands[0].type.size and not found.at(0)
        ):
            self._centres.add(found)  # x − y, where x has come near y
        elif isinstance(op, Summed) and size == 1 and moving[0] in self._squares:
            self._radial.add(found)

    def divisible(self, x: Power) -> Power:
        """x itself where all may be divided by it: near a centre ‖x‖² may be; Σ x, which is 0 in some directions, not.

        An entry's own series is divisible as well. Raises NoSeries for others that vanish, or end, at t = 0.
        """
        known = not self.has_centre or x in self._radial or x in self._single
        if not known and (x.has_pole or self.vanishes_or_ends(x)):
            raise NoSeries("what vanishes depends on the direction")
        return x

    def difference(self, a: Power, b: Power) -> Power:
        """a − b, noted as radial where a and b are: its sign is then that of all directions."""
        found = Sum(a, b, -1)
        if all(x.fixed or x in self._radial for x in (a, b)):
            self._radial.add(found)
        return found

    def kept(self, key: Any, make: Callable[[], Power]) -> Power:
        """One series for one key: a rule that leads back to a series known already finds that, as (eᵗ)′ = eᵗ does."""
        if key not in self._known:
            if len(self._known) > self.many:
                raise NoSeries("too many series")
            self._known[key] = make()
        return self._known[key]

    def as_written(self, form: Any, node: Term, operands: Sequence[Power], *how: Any) -> Power | None:
        """tanh(x), x, u → the series of what a form makes of the operands; None where it makes nothing of them."""
        found = written(form, tuple([rand.type for rand in node.rands]), *how)
        return None if found is None else self.evaluate(found[1], dict(zip(found[0], operands, strict=True)))

    # What coefficients are, and what is decided at t = 0.

    def constant(self, value: Any, in_rule: bool) -> Coefficient:
        """Return a constant as a coefficient; it may have been rounded, as one in a rule that stands for π."""
        narrow = np.result_type(value) == np.float32
        return self.read(value, False), doubled(value, False).bound if narrow else 0.0

    def exact(self, value: Any) -> Polynomial:
        """c → c + 0·t: a number that is known."""
        return Polynomial(self.algebra, [self.algebra.exact(value)])

    def value(self, x: Power, like: Term) -> Any:
        """2 + t, of a term of shape (3,) → (2, 2, 2): u₀, of the shape of the term that u is the series of."""
        c = x.at(0)
        if c is None:
            return self.read(np.zeros(like.type.shape, like.type.dtype), True)
        return np.broadcast_to(c[0] if isinstance(x, Truth) else self.algebra.number(c), like.type.shape)

    def values(self, node: Term, operands: Sequence[Power]) -> list[Any]:
        """Return the values of all operands at t = 0; raises NoSeries at a pole."""
        if any(x.has_pole for x in operands):
            raise NoSeries(f"{node.op} is applied to a pole")
        return [self.value(x, rand) for x, rand in zip(operands, node.rands, strict=True)]

    def function(self, node: Term, operands: Sequence[Power], values: Sequence[Any]) -> Coefficient:
        """f(u₀) ± (ε·|f(u₀)| + Σ |∂f/∂uᵢ|·duᵢ)"""
        found = node.op.compute(*values)
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
            made = tangent(node.op, tuple([rand.type for rand in node.rands]))
            if made is None:
                raise NoSeries(f"{node.op} has no derivative")
            leaves, tangents, root = made
            at = dict(zip(leaves, values, strict=True))
            for d, e, v in zip(tangents, wrong, values, strict=True):
                if d is not None:
                    at[d] = np.broadcast_to(np.asarray(e, float), np.shape(v))
            error = error + np.abs(interpret([root], at, typed=False)[0])
        return found, error

    def signs(self, x: Power) -> tuple[Any, Any]:
        """sign(x) next to t = 0, and there: t² → (1, 0), −1 + t → (−1, −1), by the first coefficient that is not 0.

        The former must be that of the whole way, which `keeps_signs` asks. Raises NoSeries where it is undecided.
        """
        algebra = self.algebra
        for k in range(x.start, self.most):
            c = x.at(k)
            if c is None or algebra.vanishes(c):
                continue
            if np.any(algebra.vanishing(c)):
                break
            self.decided(x, k)
            nearby = np.sign(in_floats(algebra.number(c)))
            return nearby, 0.0 * nearby if k > 0 else nearby
        raise NoSeries("a sign is undecided")

    def decided(self, x: Power, k: int) -> None:
        """Note that the sign of a series is asked, and that of its coefficient of tᵏ, which tells it."""
        self.decisions.append((self.divisible(x) if k else x, k))

    def keeps_signs(self, delta: Any) -> bool:
        """|cₖ₊₁·δ| + |cₖ₊₂·δ²| + … < |cₖ|: whether all signs that were asked for are the same all the way."""
        for x, first in self.decisions if np.any(delta) else ():
            leading, rest = 0.0, 0.0
            for k in range(first, self.most):
                c = x.at(k)
                part = 0.0 if c is None else self.algebra.size(c) * np.abs(delta) ** (k - first)
                leading, rest = (part, rest) if k == first else (leading, rest + part)
            if not np.all(rest < leading):
                return False
        return True

    def chosen(self, c: Any, a: Power, b: Power, node: Term) -> Power:
        """where(c, a, b) → a if all of c is true, b if nothing is, and the other has no series perhaps; else both."""
        if np.all(c) or not np.any(c):
            taken = a if np.all(c) else b
            return taken if taken is self.algebra.zero else spread(taken, node)
        return Together([a, b], [node.type.shape] * 2, lambda x, y: np.where(c, x, y))

    def found_root(self, of: int, to: int) -> None:
        """Note that tᵃ has the root tᵇ; raises NoSeries where |tᵇ| is meant."""
        self.has_roots = True

    # How ops extend series.

    def _applied(self, node: Term, operands: Sequence[Power]) -> Power:
        """f(a, b, …) by the first that holds of laws: of the ring, increments, choices, powers, its own, its rule."""
        op = node.op
        zero = self.algebra.zero
        if self.is_zero(op, operands):
            return zero
        if op is subtract and operands[0] is operands[1] and not operands[0].has_pole:
            return zero
        of_truths = op.elementwise and op is not where and any(x.type.dtype.kind == "b" for x in node.rands)
        if (
            op.as_sum
            or op.as_product
            or op.kinks
            or op.negation is not None
            or (of_truths and node.type.dtype.kind == "f")
        ):
            operands = [self._real(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
        meet = isinstance(op, Increment) and operands[-1] is zero
        chooses = op is where and node.type.dtype.kind == "f"  # of what need not have a series
        moves = chooses or not all(x.fixed for x in operands)
        found = self._in_ring(op, operands)
        if found is None and op.in_entries is not None and moves:
            found = self.as_written(op.in_entries, node, operands)
        if found is None and isinstance(op, Increment) and (meet or moves):
            how = (op,) if meet else ()
            found = self.as_written(_met if meet else op.meaning, node, operands, *how)
        if found is None and not moves:
            found = self._fixed(node, operands)
        if found is None and op.implicit:  # slopes grow longer, and are looked through for series
            self.algebra.spend(STEEP * sum(1 for _ in subterms(node.op.body)))
        for law in (self._decided, self._power, self.special):
            found = law(node, operands) if found is None else found
        return self._by_rule(node, operands) if found is None else found

    def is_zero(self, op: Any, operands: Sequence[Power]) -> bool:
        """0·x, 0 + 0, 0/x, 0², Σ 0: whether a result is zero even if operands have no series, as behind a mask.

        0·log(t): yes; 0/0, 0⁰: no.
        """
        are_zero = [x is self.algebra.zero for x in operands]
        if op in _POWERS and are_zero[0] and operands[1].fixed and not are_zero[1]:
            return bool(np.all(in_floats(self.algebra.number(operands[1].at(0))) > 0))
        if op is multiply:
            return any(are_zero)
        if op in (add, subtract, negative):
            return all(are_zero)
        quotient = op is divide and not are_zero[1]
        return (quotient or isinstance(op, (*_MOVES, Summed))) and are_zero[0]

    def _real(self, x: Power, like: Term) -> Power:
        """(True, False) → (1.0, 0.0): fixed integers and truth values as real numbers, which have negatives."""
        if like.type.dtype.kind == "f" or not x.fixed:
            return x
        self.differs = self.differs or (like.type.dtype.kind == "b" and bool(np.any(differs(x))))
        value = self.value(x, like)
        return self.exact(np.asarray(value, float)) if isinstance(value, (np.ndarray, np.generic)) else x

    def _in_ring(self, op: Any, operands: Sequence[Power]) -> Power | None:
        """−a, a + b, a − b, a·b, a/b, 1/a, a² → the same of series: without any rule; None for other ops."""
        match op.as_sum:
            case (1,):
                return operands[0]
            case (-1,):
                return Sum(self.algebra.zero, operands[0], -1)
            case (1, 1 | -1):
                return Sum(operands[0], operands[1], op.as_sum[1])
        match op.as_product:
            case (1, (1, 1)):
                return Product(*operands)
            case (1, (2,)):
                return Product(operands[0], operands[0])
            case (1, (1, -1)):
                return quotient(operands[0], self.divisible(operands[1]), self.most)
            case (1, (-1,)):
                return quotient(self.algebra.one, self.divisible(operands[0]), self.most)
        return None

    def _fixed(self, node: Term, operands: Sequence[Power]) -> Power:
        """f(c) + 0·t, or a truth value that holds all the way."""
        values, real = self.values(node, operands), node.type.dtype.kind == "f"
        other: Any = False
        if any(rand.type.dtype.kind == "b" for rand in node.rands):
            both = zip(values, operands, strict=True)
            there = [v ^ differs(x) if v.dtype.kind == "b" else v for v, x in both]
            other = node.op.compute(*values) != node.op.compute(*there)
            self.differs = self.differs or (real and bool(np.any(other)))
        if real:
            return Polynomial(self.algebra, [self.function(node, operands, values)])
        return Truth(self.algebra, node.op.compute(*values), other)

    def _decided(self, node: Term, operands: Sequence[Power]) -> Power | None:
        """a > b → True;    |a| → sign(a)·a;    max(a, b) → where(a − b > 0, a, b);    x mod y → x − k·y

        By signs next to t = 0, which are the same as far as the series leads. None for other ops; raises NoSeries for
        what is no function of a real number.
        """
        op = node.op
        if op.negation is not None:
            nearby, there = self.signs(self.difference(*operands))
            found = op.compute(nearby, 0.0)
            return Truth(self.algebra, found, found != op.compute(there, 0.0))
        if op is absolute:
            nearby, _ = self.signs(operands[0])
            return Product(self.exact(nearby), operands[0])
        if op is sign:
            nearby, there = self.signs(operands[0])
            self.has_kinks = self.has_kinks or there is not nearby
            return self.exact(nearby)
        if op in (isfinite, isinf, isnan):
            if operands[0].has_pole:
                raise NoSeries(f"{op} of a pole")
            return Truth(self.algebra, op.compute(in_floats(self.value(operands[0], node.rands[0]))))
        if node.type.dtype.kind != "f":
            raise NoSeries(f"{op} is no function of a real number")
        if op is where:
            self.differs = self.differs or bool(np.any(differs(operands[0])))
            return self.chosen(self.value(operands[0], node.rands[0]), operands[1], operands[2], node)
        if op in (maximum, minimum):
            nearby, _ = self.signs(self.difference(*operands))
            return self.chosen(nearby > 0 if op is maximum else nearby < 0, operands[0], operands[1], node)
        if op in (remainder, floor_divide):
            return self._divided(node, operands)
        return self.as_written(op.beside, node, operands)

    def _divided(self, node: Term, operands: Sequence[Power]) -> Power:
        """⌊x/y⌋ → k, x mod y → x − k·y, where k next to t = 0 must be the same all the way.

        −δ mod 1 = 1 − δ, though 0 mod 1 = 0
        """
        x, y = operands
        if x.has_pole or y.has_pole:
            raise NoSeries("a remainder of what has no limit")
        at, by = [in_floats(self.value(u, rand)) for u, rand in zip(operands, node.rands, strict=True)]

        def less(k: Any) -> Power:
            return Sum(x, Product(self.exact(k), y), -1)

        with np.errstate(all="ignore"):
            k = np.floor_divide(at, by)
        if not np.isfinite(k).all():
            raise NoSeries("a remainder is undecided")
        nearby, there = self.signs(less(k))
        self.differs = self.differs or there is not nearby
        k = k - (nearby * np.sign(by) < 0)
        self.signs(less(k + 1))
        return less(k) if node.op is remainder else self.exact(k)

    def _power(self, node: Term, operands: Sequence[Power]) -> Power | None:
        """xⁿ by squaring;    √(t²·w) → t·√w;    x^y → exp(y·log x); None for other ops, and other powers of numbers."""
        op = node.op
        fixed = op in _POWERS and operands[1].fixed
        exponent = self.exponent(operands[1], node.rands[1]) if fixed else None
        if exponent is not None and exponent == np.rint(exponent) and abs(exponent) <= self.whole:
            return self._to_the(operands[0], int(exponent))
        p = Fraction(1, 2 if op is sqrt else 3) if op in (sqrt, cbrt) else exponent
        if p is not None and self.vanishes_or_ends(operands[0]):
            return self._root(node, operands, Fraction(p))
        return None if op not in _POWERS or fixed else self.as_written(_general_power, node, operands)

    def exponent(self, x: Power, like: Term) -> float | None:
        """(2 ± 0, 2 ± 0) → 2.0: the finite number that all entries of a fixed series are; None if there is an error."""
        c = x.at(0)
        found = np.unique(in_floats(self.value(x, like)))
        exact = found.size == 1 and np.isfinite(found[0]) and not (c and np.any(self.algebra.error(c)))
        return float(found[0]) if exact else None

    def vanishes_or_ends(self, x: Power) -> bool:
        """Whether a series has no number other than 0 at t = 0: t, 1/t: yes; 1 + t: no."""
        return not x.fixed and (x.has_pole or (c := x.at(0)) is None or self.algebra.vanishes(c))

    def _to_the(self, x: Power, n: int) -> Power:
        """xⁿ = (xᵐ)²·x for n = 2m + 1, (xᵐ)² for n = 2m, and 1/x⁻ⁿ for n < 0."""
        if n < 0:
            above = self.algebra.one
            return self.kept(
                ("to the", x, n), lambda: quotient(above, self._to_the(self.divisible(x), -n), self.most)
            )
        if n < 2:
            return x if n else self.algebra.one
        half = self._to_the(x, n // 2)
        both = self.kept(("to the", x, n - n % 2), lambda: Product(half, half))
        return self.kept(("to the", x, n), lambda: Product(both, x)) if n % 2 else both

    def _root(self, node: Term, operands: Sequence[Power], p: Fraction) -> Power:
        """√(t²·w) = t·√w,    √(x² + x) at x = 1/t: √(t⁻²·(1 + t)) = t⁻¹·√(1 + t)

        A root or power of a series that vanishes, or is infinite, at t = 0. Raises BranchPoint for √t.
        """
        x = self.divisible(operands[0])
        first = x.start
        while first <= self.most and (c := x.at(first)) is not None and self.algebra.vanishes(c):
            first += 1
        first, c = leading(self.without(x, 0, first), self.most)
        by = first * p
        if by.denominator != 1 or np.any(self.algebra.vanishing(c)):
            raise BranchPoint(f"{node.op} has a branch point")
        self.found_root(first, int(by))
        root = self.apply(node, [self.without(x, -first, first), *operands[1:]])
        return Moved(root, int(by), root.start)

    def without(self, x: Power, by: int, first: int) -> Power:
        """tⁿ·x without coefficients before the first."""
        if not by and first <= x.start:
            return x
        return self.kept(("moved", x, by, first), lambda: Moved(x, by, first))

    def special(self, node: Term, operands: Sequence[Power]) -> Power | None:
        """Σ a → Σ aₖ;    float32(a) → a ± ε·|a|;    A·B → Σᵢ Aᵢ·Bₖ₋ᵢ;    log(tˢ·w) → s·λ + log w"""
        op, (a, *others), like = node.op, operands, node.rands[0]
        if type(op) is Cast and op.dtype == np.float32 and like.type.dtype == np.float64:
            return Product(a, polynomial((self.read(1.0, True), np.finfo(op.dtype).eps / 2)))
        if isinstance(op, (*_MOVES, Summed)) and (type(op) is BroadcastLike or all(x.fixed for x in others)):
            values = [self.value(x, rand) for x, rand in zip(others, node.rands[1:], strict=True)]
            # Places are integers, also where they are computed in reals: i − 1.
            rest = [
                v if rand.type.dtype.kind == "f" else np.asarray(in_floats(v)).astype(rand.type.dtype)
                for rand, v in zip(node.rands[1:], values, strict=True)
            ]
            return Mapped(spread(a, like), lambda x: op.compute(x, *rest), isinstance(op, Summed))
        if type(op) is Norm:
            return self.as_written(_length, node, operands, op.axes)
        if isinstance(op, Concatenate):
            return Together(operands, [rand.type.shape for rand in node.rands], op.compute)
        if isinstance(op, (MatMul, Einsum)):
            parts = [spread(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
            return Multilinear(parts, op.compute)
        if op is log and _has_no_logarithm(a):
            return self._logarithm(node, a)
        if not op.elementwise:
            return None
        made = tangent(op, tuple([rand.type for rand in node.rands]))
        # The rule of any other op is enough.
        if made is not None and any(t.op is op or t.op.implicit for t in subterms(made[2])):
            found = self.as_written(op.definition, node, operands)
            if found is not None:
                return found
        far = any(x.has_pole for x in operands)
        unbounded = far or self._is_infinite(node, operands)
        if not unbounded:
            return None
        with self.below(op):
            return self.as_written(op.unbounded, node, operands, far)

    def _logarithm(self, node: Term, x: Power) -> Power:
        """log(tˢ·w) = s·λ + log w, where each entry begins with a power s of its own, and λ = log t."""
        s, _ = leading(self.divisible(x), self.most)
        order = orders(x, s)
        first = self.kept(("aligned", x), lambda: Aligned(self.without(x, 0, s), order))
        w = self.without(first, -s, first.start)
        like = node.rands[0]
        if self.log_t is None:
            raise NoSeries("a logarithm of a pole")
        self.has_logarithms = self.has_roots = True
        value, error = self.log_t(like if like in self.of else None)
        times = s + order
        return Sum(self.apply(node, [w]), polynomial((times * value, np.abs(times) * error)))

    def _is_infinite(self, node: Term, operands: Sequence[Power]) -> bool:
        """Whether f(u₀) is not finite, where no operand has a pole: log(t): yes; log(1 + t): no."""
        values = [self.value(x, rand) for x, rand in zip(operands, node.rands, strict=True)]
        return not np.all(np.isfinite(in_floats(node.op.compute(*values))))

    def _by_rule(self, node: Term, operands: Sequence[Power]) -> Power:
        """y = f(u₀) + ∫ Df(u)·u′ dt, with the op's own derivative Df as a series: of eᵗ that is eᵗ, so yₖ = yₖ₋₁/k.

        Raises NoSeries where f jumps, has no rule, or has derivatives that lead on for more levels than are followed.
        """
        op = node.op
        made = tangent(op, tuple(rand.type for rand in node.rands))
        if made is None or any(d is None and not u.fixed for d, u in zip(made[1], operands, strict=True)):
            raise NoSeries(f"{op} has no derivative")
        values = self.values(node, operands)
        first = self.function(node, operands, values)
        if op.elementwise:
            check_continuous(op, list(map(in_floats, values)))
        within = self.below(op)
        leaves, tangents, root = made
        operands = [self.without(u, 0, max(u.start, 0)) for u in operands]
        of: dict[Term, Power] = dict(zip(leaves, operands, strict=True))
        for d, u in zip(tangents, operands, strict=True):
            if d is not None:
                of[d] = self.algebra.zero if u.fixed else self.derivative(u)

        def slope() -> Power:
            """Df(u)·u′ as a series, one level deeper."""
            with within:
                return self.evaluate(root, of)

        return Integral(self.algebra, first, slope)

    def below(self, op: Any) -> AbstractContextManager[None]:
        """Γ(x) → Γ(x + 1)/x → …: one level deeper than here, in what an op means, or in its derivative.

        Raises NoSeries where that leads on for more levels than are followed.
        """
        level = self._level + (1 if op.elementwise else 4)
        if level > self.deepest:
            raise NoSeries(f"{op} leads on and on")

        @contextmanager
        def entered() -> Iterator[None]:
            self._level, before = level, self._level
            try:
                yield
            finally:
                self._level = before

        return entered()

    def derivative(self, u: Power) -> Power:
        """u → u′, one series for each."""
        return self.kept(("derivative", u), lambda: Derivative(u))


def quotient(a: Power, b: Power, most: int) -> Quotient:
    """(t, 1)/(t, t²) → (1, t⁻²): entries of the divisor may begin with different powers."""
    first, leads = leading(b, most)
    if not np.all(a.algebra.size(leads)):
        order = orders(b, first)
        a, b = Aligned(a, order), Aligned(b, order)
    return Quotient(a, b, most)


def differs(x: Power) -> Any:
    """Return where a truth value is another at t = 0 than nearby."""
    c = x.at(0)
    return False if c is None else np.asarray(c[1], bool)


def moved(points: Sequence[Any]) -> list[Any]:
    """(x, y) → (x − δ, x − δ, …, x + δ), (y − δ, y, …, y + δ): numbers next to others, on both sides of each."""
    signs = np.array(list(product((-1, 0, 1), repeat=len(points))), float).T
    same = np.broadcast_arrays(*points)
    steps = [s.reshape(-1, *[1] * same[0].ndim) for s in signs]
    return [x + s * (np.abs(x) + 1e-3) * 2.0**-20 for x, s in zip(same, steps, strict=True)]


def check_continuous(op: Any, points: Sequence[Any]) -> None:
    """Raise NoSeries where an op of several numbers jumps: arctan2(t, t) is π/4 for t > 0, and −3π/4 for t < 0."""
    if len(points) < 2:
        return
    with np.errstate(all="ignore"):
        found = np.asarray(op.compute(*moved(points)))
        if np.any(np.ptp(found, axis=0) > 1e-3 * (1 + np.abs(found[0]))):
            raise NoSeries(f"{op} jumps at the point")


def _leaves(name: str, kinds: Sequence[Any]) -> list[Term]:
    return [term(Input(f"{name}{i}", kind, symbol=True)) for i, kind in enumerate(kinds)]


@lru_cache(maxsize=4096)
def written(form: Any, kinds: tuple[Any, ...], *how: Any) -> Written | None:
    """expit, (float64,) → 1/(1 + e⁻ˣ): leaves for operands, and what a form makes of them, told how; or None."""
    leaves = _leaves("x", kinds)
    found = form(*how, *map(Tracer, leaves))
    return None if found is None else (leaves, as_term(found))


def _general_power(x: Any, y: Any) -> Any:
    return np.exp(y * np.log(x))


def _met(op: Increment, x: Any, y: Any, *rest: Any) -> Any:
    """Return f(x) − f(y), or its quotient by x − y, where the points meet: 0, or f′(x)."""
    operands = op.operands(x, rest[:-1])
    if not isinstance(op, MeanSlope):
        return 0.0 * x
    rule: Any = op.of.rules[op.position]
    return rule(np.ones_like(x), op.of(*operands), *operands)


@lru_cache(maxsize=4096)
def tangent(
    op: Any, kinds: tuple[Any, ...], only: int | None = None
) -> tuple[list[Term], list[Term | None], Term] | None:
    """f, (x, y) → ∂f/∂x·dx + ∂f/∂y·dy, with leaves x, y of the operands, and dx, dy of those that f is smooth in.

    Or of `only` one of these. xᵘ, for a number u, has the tangent xᵘ·(u·dx/x), which leads back to xᵘ. None where the
    op has no derivative.
    """
    if op in _POWERS and not only:
        leaves, (d,) = _leaves("x", kinds), _leaves("d", kinds[:1])
        x, u, dx = map(Tracer, (*leaves, d))
        return leaves, [d, None], as_term(op(x, u) * (u * dx / x))
    rules = getattr(op, "rules", None)
    if rules == ():  # Taylor's remainder, of which no derivative is taken
        return None
    asked = range(len(kinds)) if only is None else [only]
    real = [i for i in asked if isinstance(kinds[i], ArrayType) and kinds[i].differentiable]
    smooth = tuple([i for i in real if rules is None or rules[i] is not None])
    found = tangent_of(op, kinds, smooth) if smooth else None
    if found is None:
        return None
    leaves, moving, root = found
    tangents = dict(zip(smooth, moving, strict=True))
    return leaves, [tangents.get(i) for i in range(len(kinds))], root


@lru_cache(maxsize=4096)
def definition_of(op: Any, arity: int) -> Term | None:
    """exprel_n(x₀) → expm1(x₀)/x₀: what an elementwise op is in others, as a term of its operands; or None."""
    found = written(op.definition, (SCALAR,) * arity)
    return None if found is None else found[1]


def is_accurate(op: Any) -> bool:
    """Whether an op has correct digits wherever its operands have, near its zeros, too: NumPy's functions do."""
    function = getattr(op, "function", None)
    return function is not None and getattr(np, getattr(function, "__name__", ""), None) is function


def _has_no_logarithm(x: Power) -> bool:
    """Whether an entry of a series vanishes, or is infinite, at t = 0: (t, 1 + t): yes; (1 + t, 2): no."""
    c = x.at(0)
    return not x.fixed and (x.has_pole or c is None or not np.all(in_floats(c[0])))


def _length(axes: tuple[int, ...], x: Any) -> Any:
    return np.sqrt(np.sum(x * x, axis=axes, keepdims=True))
