"""Increments of elementwise ops: f(…, x, …) − f(…, y, …), told the distance x − y, for every f with a derivative.

Source: Kahan & Fateman, "Symbolic computation of divided differences", SIGSAM Bulletin 33(2), 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import numpy as np

from relgrad.implementations import implements
from relgrad.kernels.differences import nearer
from relgrad.kernels.dispatch import floats, tell_range
from relgrad.op import constant, is_constant
from relgrad.ops.arithmetic import power
from relgrad.ops.elementwise import Elementwise, Rule
from relgrad.ops.structure import broadcast_like

QUADRATURES = tuple(
    [(t / 2 + 0.5, w / 2) for t, w in zip(*np.polynomial.legendre.leggauss(n), strict=True)] for n in (8, 13)
)
"""Two Gauss rules on [0, 1], as pairs of node and weight: where they agree, both are right."""


def _graded(rule: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a rule on parts of [0, 1] that are smaller towards both ends, where functions that saturate are steep."""
    half = [0.0, *[2.0**-k for k in range(12, 0, -1)]]
    ends = [*half, *[1 - x for x in half[-2::-1]]]
    return [(a + (b - a) * t, (b - a) * w) for a, b in pairwise(ends) for t, w in rule]


GRADED = tuple([_graded(rule) for rule in QUADRATURES])
"""The same for functions that two rules do not agree on: erf on [6, 40] is steep at 6."""

_NESTED: ContextVar[bool] = ContextVar("nested", default=False)
"""Whether an increment is computed as an integral's own function, a thousand times."""


def _rules() -> Sequence[Any]:
    """The pairs of rules that are tried in turn; within another integral, graded ones would be too many points."""
    return (QUADRATURES,) if _NESTED.get() else (QUADRATURES, GRADED)


BLOCK = 1 << 16
"""At about so many points a function is computed at once."""

APART = 8.0
"""Points that are so many times nearer to each other than to 0, and more, are rounded beside their distance."""

TRUSTED = 64
"""To so many roundings the values of a function are right: libraries lose some where their own summands are large."""


def cancels(plain: Any, at_x: Any, at_y: Any) -> Any:
    """Return where the difference of two values loses bits."""
    return np.abs(plain) <= np.maximum(np.abs(at_x), np.abs(at_y)) / 2


def converged(plain: Any, few: Any, many: Any, scale: Any) -> Any:
    """Return where two quadratures of a difference agree, and with the plain one but for the rounding of values."""
    eps = np.finfo(plain.dtype).eps
    close = (np.abs(many - plain) <= TRUSTED * eps * scale) & (np.abs(many - few) <= eps**0.75 * np.abs(many))
    return close & np.isfinite(many)


def averaged(f: Callable[[Any], Any], quadrature: Sequence[tuple[float, float]], like: Any) -> Any:
    """Return ∫₀¹ f(t) dt = Σ wₖ·f(tₖ), an array like a vector; f takes a column of nodes to a row of values for each.

    >>> averaged(lambda t: t * np.array([1.0, 3.0]), QUADRATURES[0], np.zeros(2))
    array([0.5, 1.5])
    """
    total = np.zeros_like(like)
    nodes = np.array(quadrature, like.dtype)[..., None]
    for block in np.array_split(nodes, len(nodes) * like.size // BLOCK + 1):
        total += np.add.reduce(block[:, 1] * np.asarray(f(block[:, 0]), like.dtype))
    return total


class Increment(Elementwise):
    """An op of x, y, the other operands of f, and d = x − y, which over the reals follows from x and y.

    The distance is there for accuracy alone, as it is known and not computed again, and carries no derivative.
    """

    __props__ = ("of", "position")
    name_of = "{}"
    over_distance = False

    def __init__(self, of: Elementwise, position: int = 0, kernel: Callable[..., Any] | None = None):
        """f, position → (x, y, others, x − y) ↦ f(x) − f(y):
        the op of three and more operands, by a kernel or by quadrature.
        """
        self.of, self.position = of, position
        others = [j for j in range(of.arity) if j != position]
        label = self.name_of.format(of.label) + (f"_{position}" if position else "")
        super().__init__(
            label if kernel is None else kernel.__name__,
            kernel or self.increment_in_floats,
            *[self._rule(j, side) for j, side in ((position, 1), (position, -1), *[(j, 0) for j in others])],
            None,
            ball=None if of.scalar_ball is None else self._exact,
            exactly=self._simpler,
            kernel=kernel is not None,
            called=kernel is None,
        )
        self.grows = self.grows or of.grows or self.over_distance
        self.distance = 0, 1, of.arity + 1
        self.by_kernel = kernel is not None
        if of.margin is not None:
            self.margin = self._least_margin

    def with_props(self, props: Any) -> Any:
        return self if tuple(props) == self._props() else type(self)(*props)

    def operands(self, x: Any, others: Any) -> list[Any]:
        """Return the operands of f: x at its position among the others."""
        found = list(others)
        found.insert(self.position, x)
        return found

    def _rule(self, j: int, side: int) -> Rule | None:
        """side 1 → ∂f/∂xⱼ at x, −1 → −∂f/∂xⱼ at y, 0 → their difference: the rule of f(x) − f(y) for operand j of f."""
        rule = self.of.rules[j]

        def slope(g: Any, out: Any, x: Any, y: Any, *rest: Any) -> Any:
            """g, out, x, y, … → g·(the slope at x, less that at y), scaled as the op is."""
            *others, d = rest

            def at(z: Any) -> Any:
                """z → rule(g, f(z), z): the slope of f at one of the two."""
                operands = self.operands(z, others)
                return rule(g, self.of(*operands), *operands)  # type: ignore[misc]

            change = at(x) if side == 1 else -at(y) if side == -1 else at(x) - at(y)
            return self._scaled(change, side, g, out, d)

        return None if rule is None else slope

    def _simpler(self, x: Any, y: Any, *rest: Any) -> Any:
        """Return a simpler term that is equal bit for bit, or None."""
        return None

    def _scaled(self, change: Any, side: int, g: Any, out: Any, d: Any) -> Any:
        """Return the cotangent of the op from that of f(x) − f(y)."""
        return change

    def outside(self, *operands: Any) -> Any:
        """Δlog(x, y) → x < 0 or y < 0; None of what a kernel computes."""
        x, y, *others, _ = operands
        at_x, at_y = [self.of.outside(*self.operands(z, others)) for z in (x, y)]
        return None if self.by_kernel or at_x is None or at_y is None else np.logical_or(at_x, at_y)

    def _least_margin(self, x: Any, y: Any, *rest: Any) -> Any:
        """Δarcsin(x, y, x − y) → min(1 − |x|, 1 − |y|): how far both are from where errors are multiplied."""
        margin: Any = self.of.margin
        return np.minimum(*[margin(*self.operands(z, rest[:-1])) for z in (x, y)])

    def meaning(self, *operands: Any) -> Any:
        x, y, *others, _ = operands
        return self.of(*self.operands(x, others)) - self.of(*self.operands(y, others))

    def _exact(self, x: Any, y: Any, *rest: Any) -> Any:
        *others, d = rest
        ball: Callable[..., Any] = self.of.scalar_ball  # type: ignore[assignment]
        return ball(*self.operands(y + d, others)) - ball(*self.operands(y, others))

    def increment_in_floats(self, *operands: Any) -> Any:
        """f(x) − f(y) = d·∫₀¹ f′(y + t·d) dt where that is more accurate: the op of arrays."""
        with np.errstate(all="ignore"):
            x, y, *others, d = np.broadcast_arrays(*floats(*operands))
            start, step = self._nearer(x, y, others, d)
            at_x, at_y = (np.asarray(self.of.compute(*self.operands(z, others))) for z in (x, y))
            plain = at_x - at_y
            value = np.array(self._far(plain, d))
            # Where f is near 0, values may not cancel, but their arguments have lost the digits of the distance.
            near = np.array(cancels(plain, at_x, at_y) | cancels(step * APART, x, start))
            for rules in _rules():
                if near.any():
                    mean, right = self._integrated(
                        rules, *[z[near] for z in (plain, at_y, start, *others, step)]
                    )
                    value[near] = np.where(right, self._near(mean, step[near], d[near]), value[near])
                    near[near] = ~right
        return self._told(value, x, y, d)

    def _told(self, value: Any, x: Any, y: Any, d: Any) -> Any:
        """value → value; raises FloatingPointError where callers want it, of a value out of range."""
        if self.grows:
            tell_range(value, lambda: np.isfinite(x) & np.isfinite(y) & ((d != 0) | ~np.isfinite(value)))
        return value[()]

    def _nearer(self, x: Any, y: Any, others: Any, d: Any) -> tuple[Any, Any]:
        """Return y and x − y; −y and x + y where f is even and signs differ: f(x) − f(y) = f(x) − f(−y)."""
        even = self.of.laws.parity == 1 or (self.of is power and others[0] % 2 == 0)
        return nearer(x, y, d) if np.all(even) else (y, d)

    def _integrated(self, rules: Any, plain: Any, at_y: Any, y: Any, *rest: Any) -> tuple[Any, Any]:
        """two rules agree → (∫₀¹ f′(y + t·d) dt, True): the mean slope, and where it is right.

        Also with the plain difference.
        """
        *others, d = rest
        few, many = (self._mean_slope(y, d, others, rule) for rule in rules)
        # The rounding of values, and of their arguments.
        scale = np.abs(at_y) + np.abs(y * self._mean_slope(y, d, others, [(0, 1)]))
        return many, converged(plain, d * few, d * many, scale)

    def _mean_slope(self, y: Any, d: Any, others: Any, quadrature: Any) -> Any:
        """∫₀¹ f′(y + t·d) dt = Σ wₖ·f′(y + tₖ·d), entry by entry."""
        rule: Any = self.of.rules[self.position]

        def slope(t: Any) -> Any:
            """t → f′(y + t·d)."""
            operands = self.operands(y + t * d, others)
            return rule(y.dtype.type(1), self.of.compute(*operands), *operands)

        token = _NESTED.set(True)
        try:
            return averaged(slope, quadrature, y)
        finally:
            _NESTED.reset(token)

    def _far(self, plain: Any, d: Any) -> Any:
        raise NotImplementedError

    def _near(self, mean: Any, step: Any, d: Any) -> Any:
        raise NotImplementedError


class Difference(Increment):
    """f(…, x, …) − f(…, y, …) in one operand of f; d·∫₀¹ f′(y + t·d) dt where the two nearly meet.

    >>> from relgrad.ops.trigonometric import arcsin
    >>> Difference(arcsin)(0.5 + 2**-30, 0.5, 2**-30)
    np.float64(1.0753986786470915e-09)
    """

    name_of = "{}_difference"

    def _simpler(self, x: Any, y: Any, *rest: Any) -> Any:
        """f(x) − f(x) = 0."""
        d = rest[-1]
        here = x is y and is_constant(d) and not d.op.value.any()
        return broadcast_like(constant(0.0, x.type.dtype), x) if here else None

    @property
    def mean_slope(self) -> MeanSlope:
        """The op of this difference over its distance."""
        return MeanSlope(self.of, self.position)

    def _far(self, plain: Any, d: Any) -> Any:
        return plain

    def _near(self, mean: Any, step: Any, d: Any) -> Any:
        return step * mean


class MeanSlope(Increment):
    """(f(…, x, …) − f(…, y, …))/(x − y) in one operand of f, which is f′(x) where the two meet.

    >>> from relgrad.ops.trigonometric import arcsin
    >>> MeanSlope(arcsin)(0.0, 0.0, 0.0)
    np.float64(1.0)
    """

    name_of = "mean_slope_of_{}"
    over_distance = True

    def _scaled(self, change: Any, side: int, g: Any, out: Any, d: Any) -> Any:
        return (change - side * g * out) / d

    def meaning(self, *operands: Any) -> Any:
        return super().meaning(*operands) / operands[-1]

    def _exact(self, x: Any, y: Any, *rest: Any) -> Any:
        return super()._exact(x, y, *rest) / rest[-1]

    def increment_in_floats(self, *operands: Any) -> Any:
        """(f(x) − f(y))/d = ∫₀¹ f′(y + t·d) dt: the kernel's difference over d, or the integral where that is small."""
        known = difference_of(self.of, self.position)
        if known is None or not known.by_kernel:
            return super().increment_in_floats(*operands)
        with np.errstate(all="ignore"):
            x, y, *others, d = np.broadcast_arrays(*floats(*operands))
            change = np.asarray(known.compute(x, y, *others, d))
            value = np.asarray(change / d)
            # A change that leaves the range below is mostly that of a small distance, on which one slope is all.
            small = np.array((np.abs(change) < RANGE) & (np.abs(d) < 1))
            eps = np.finfo(value.dtype).eps
            for rules in _rules() if small.any() else ():
                at_y, distance, *beside = [z[small] for z in (y, d, *others)]
                once, few, many = [
                    self._mean_slope(at_y, distance, beside, rule) for rule in ([(0.5, 1)], *rules)
                ]
                right = np.abs(few - many) <= eps**0.5 * np.abs(many)
                mean = np.where(np.abs(once - many) <= TRUSTED * eps * np.abs(many), once, many)
                value[small] = np.where(right, mean, value[small])
                small[small] = ~right
        return self._told(value, x, y, d)

    def _far(self, plain: Any, d: Any) -> Any:
        return plain / d

    def _near(self, mean: Any, step: Any, d: Any) -> Any:
        return np.where(step == d, mean, step / d * mean)


RANGE = 2.0**-960
"""Numbers below are so near the end of the range that what they are computed of may have lost digits."""


class Telescope(Elementwise):
    """(p − q)/d as an op of p, q, d and parts that add up to it, which are added unless they are larger than p and q.

    x·u − y·v = (x − y)·u + y·(u − v) cancels where y·u is the larger: with x = 1e-10, y = 1, u = 1.5, v = 1e-10.

    >>> parts = (1e-10 - 1) * 1.5, 1 * (1.5 - 1e-10)
    >>> Telescope(2)(1.5e-10, 1e-10, 1.0, *parts) == 1.5e-10 - 1e-10, sum(parts) == 1.5e-10 - 1e-10
    (np.True_, False)
    """

    __props__ = ("count",)

    def __init__(self, count: int):
        """(p, q, d, parts) → (p − q)/d: the op for so many parts, with their sum in floats."""
        self.count = count
        super().__init__(
            "telescope",
            self._computed,
            lambda g, out, p, q, d, *parts: g / d,
            lambda g, out, p, q, d, *parts: -g / d,
            lambda g, out, p, q, d, *parts: -g * out / d,
            *[None] * count,
            ball=lambda p, q, d, *parts: (p - q) / d,
            called=True,
        )

    def _computed(self, *operands: Any) -> Any:
        with np.errstate(all="ignore"):
            p, q, d, *parts = floats(*operands)
            small = sum(map(np.abs, parts)) <= (np.abs(p) + np.abs(q)) / np.abs(d)
            return np.where(small, sum(parts), (p - q) / d)[()]


_KNOWN: dict[tuple[Elementwise, int], Difference] = {}


def known_difference(kernel: Callable[..., Any], of: Elementwise, *rules: Rule, **answers: Any) -> Difference:
    """f(x) − f(y) = kernel(x, y, …, x − y): returns and keeps the op in the first operand of f; with its own rules."""
    op = Difference(of, kernel=kernel)
    op.rules = (*rules, *op.rules[len(rules) :])
    op.says(**answers)
    implements(kernel)(op)
    return _KNOWN.setdefault((of, 0), op)


def difference_of(op: Elementwise, position: int = 0) -> Difference | None:
    """f → the op of f(…, x, …) − f(…, y, …) = d·slope; None where f has no derivative there."""
    if op.undefined is not None or op.rules[position] is None:
        return None
    found = _KNOWN.get((op, position))
    if found is None:
        found = _KNOWN[op, position] = Difference(op, position)
    return found
