"""Power of programs along a line, x(t) = y + t·e in one of the arguments: arrays of floats, with error bounds.

    linear ops apply to every coefficient, products are Cauchy's
    quotients have entries that begin with powers of their own
    y = log(tˢ·w), w₀ ≠ 0:    y = s·λ + log w,    λ = log t

λ is a number like any other: what is expanded is y(t, λ) in t, for which all of these laws hold, with λ as it is at the
distance that the series is summed for. So log(x² + 1) − 2·log x at x = 1/t is −2λ + log(1 + t²) + 2λ = t² − …

Where leaves are doubled numbers, so are all coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from relgrad.calculus.arrays import (
    ARRAYS,
    Aligned,
    Coefficient,
    Mapped,
    Multilinear,
    Together,
    digits,
    floats,
    in_floats,
    orders,
    polynomial,
    spread,
)
from relgrad.calculus.expansion import Expansion, tangent
from relgrad.calculus.ring import NoSeries, Polynomial, Power, Quotient, Sum, leading
from relgrad.calculus.series import Slope
from relgrad.interpret import interpret
from relgrad.kernels.doubled.number import Doubled
from relgrad.ops.arithmetic import float_power, multiply, power, square, subtract
from relgrad.ops.casting import Cast
from relgrad.ops.einsum import Einsum
from relgrad.ops.exponential import log
from relgrad.ops.joining import Concatenate
from relgrad.ops.lengths import Norm
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum as Summed
from relgrad.ops.shaping import Rearrangement
from relgrad.ops.structure import BroadcastLike, BroadcastTo, Expand, Squeeze
from relgrad.term import Term, subterms

ROUNDED = 2.0**-51
"""The relative error of a function of a float."""
_MOVES = (Rearrangement, Expand, Squeeze, BroadcastTo, BroadcastLike, Cast)
MANY = 500
"""So many series are made of one program, if not told otherwise."""
STEEP = 12
"""So many steps for each op of a function whose slope has a series."""


def quotient(a: Power, b: Power, most: int) -> Quotient:
    """(t, 1)/(t, t²) → (1, t⁻²): entries of the divisor may begin with different powers."""
    first, leads = leading(b, most)
    if not np.all(in_floats(leads[0])):
        order = orders(b, first)
        a, b = Aligned(a, order), Aligned(b, order)
    return Quotient(a, b, most)


class Path(Expansion):
    """x(t) = y + t·e → the series of terms of x, leaves being as `of` says: x² − 1 → 2·t + t² on 1 + t."""

    algebra = ARRAYS
    deepest = 20
    whole = 16

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
        super().__init__(
            {t: alike.setdefault(digits(x), x) if isinstance(x, Polynomial) else x for t, x in of.items()},
            most,
            many,
        )
        self.log_t = log_t
        """The logarithm of the distance, at the entries of a term of the program; of all others where it is one."""
        self.read = number
        self.decisions: list[tuple[Power, int]] = []
        """Power whose signs are asked, and the powers that tell."""
        self.has_roots = False
        """Whether roots are taken that are others on the other side of t = 0."""
        self.has_logarithms = False
        """Whether logarithms of the distance are taken."""
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

    def apply(self, node: Term, operands: Sequence[Power]) -> Power:
        found = super().apply(node, operands)
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
        found = super().difference(a, b)
        if all(x.fixed or x in self._radial for x in (a, b)):
            self._radial.add(found)
        return found

    # What coefficients are.

    def constant(self, value: Any, in_rule: bool) -> Coefficient:
        return self.read(value, False), 0.0

    def zeros(self, like: Term) -> Any:
        return self.read(super().zeros(like), True)

    def quotient(self, a: Power, b: Power) -> Power:
        return quotient(a, b, self.most)

    def chosen(self, c: Any, a: Power, b: Power, node: Term) -> Power:
        """where(c, a, b) → a if all of c is true, b if nothing is, and the other has no series perhaps; else both."""
        if np.all(c) or not np.any(c):
            taken = super().chosen(np.all(c), a, b, node)
            return taken if taken is ARRAYS.zero else spread(taken, node)
        return Together([a, b], [node.type.shape] * 2, lambda x, y: np.where(c, x, y))

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

    def decided(self, x: Power, k: int) -> None:
        super().decided(self.divisible(x) if k else x, k)

    def found_root(self, of: int, to: int) -> None:
        self.has_roots = True

    # How other ops extend series.

    def is_zero(self, op: Any, operands: Sequence[Power]) -> bool:
        """0·x, 0 + 0, 0/x, Σ 0"""
        moves = isinstance(op, (*_MOVES, Summed))
        return operands[0] is ARRAYS.zero if moves else super().is_zero(op, operands)

    def special(self, node: Term, operands: Sequence[Power]) -> Power | None:
        """Σ a → Σ aₖ;    A·B → Σᵢ Aᵢ·Bₖ₋ᵢ;    log(tˢ·w) → s·λ + log w;    expit(u) → 1/(1 + e⁻ᵘ)"""
        op, (a, *others), like = node.op, operands, node.rands[0]
        if isinstance(op, (*_MOVES, Summed)) and (type(op) is BroadcastLike or all(x.fixed for x in others)):
            rest = [self.value(x, rand) for x, rand in zip(others, node.rands[1:], strict=True)]
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
        if made is not None and any(
            t.op is op for t in subterms(made[2])
        ):  # the rule of any other op is enough
            found = self.as_written(op.definition, node, operands)
            if found is not None:
                return found
        far = any(x.has_pole for x in operands)
        unbounded = far or self._is_infinite(node, operands)
        return self.as_written(op.unbounded, node, operands, far) if unbounded else None

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
        if type(node.op) is Slope:  # each derivative of which is longer, and looked through for series
            ARRAYS.spend(STEEP * sum(1 for _ in subterms(node.op.body)))
        return super()._by_rule(node, operands)


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
