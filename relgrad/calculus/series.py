"""A function of one argument that is computed by its Taylor series near a point where it cancels as it is written.

Its derivative is the derivative of the formula, in which what cancels is found again, to any order: valuations are
exact, so each derivative has a series as good as the function's, and not one of which the last terms are missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from quicktions import Fraction

from relgrad.bounds import range_of
from relgrad.calculus.fit import Terms, fitted, values
from relgrad.calculus.laurent import Around
from relgrad.calculus.orders import Orders
from relgrad.calculus.ring import NoSeries
from relgrad.conventions import DEFAULT, Conventions
from relgrad.gradient import derivative
from relgrad.implementations import implements
from relgrad.interpret import RAISED, interpret, value_of
from relgrad.kernels.near import near
from relgrad.leaf import Input
from relgrad.logic.build import build_product
from relgrad.logic.build import fitted as in_place
from relgrad.logic.group import ProductView, representable
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Constant, Op, as_term, constant
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.selection import where
from relgrad.ops.structure import broadcast_like
from relgrad.term import Term, operands_first, rebuild, remade, substitute, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, REAL, Interval, array_type

FEW = 12
"""So many coefficients tell whether anything cancels."""
HIGHEST = 16
"""Zeros are looked for of powers up to this one."""
SCALAR = array_type(np.float64)


class _OfBody(Elementwise):
    """An op that is a function f, `body` of `argument`, or what is made of it."""

    # The body is a prop, and always ground.
    ground = True  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    body: Term
    argument: Term

    def with_props(self, props: Sequence[Any]) -> Op:
        return self

    def meaning(self, *operands: Any) -> Any:
        """The body, of another argument."""
        return Tracer(applied(self.body, self.argument, as_term(operands[0])))


class Series(_OfBody):
    """f near `point` → Σ cₖ·tᵏ, elsewhere as written: a function f, `body` of `argument(range)`, with its own series.

    Its derivative is the derivative of the body, in which what cancels near the point is found again.
    """

    __props__ = ("body", "argument", "point")

    def __init__(self, body: Term, argument: Term, point: float, terms: Terms):
        super().__init__("series", self._compute, lambda g, out, x: g * Slope(body, argument)(x), called=True)
        self.body, self.argument, self.point, self.terms = body, argument, point, terms

    def __repr__(self) -> str:
        return f"series{{{self.terms}, t = x - {self.point:g}}}"

    __str__ = __repr__

    def made_of(self) -> tuple[Any, ...]:
        return self.body, self.argument, self.point, self.terms

    def of(self, body: Term) -> Series:
        """Return the same series, of the same function in other words."""
        return Series(body, self.argument, self.point, self.terms)

    @property
    def imports(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The kernels that the series and the formula need."""
        return ("near", *[name for node in subterms(self.body) for name in node.op.imports])

    def _compute(self, x: Any) -> Any:
        return near(x, self.point, *self.terms, lambda z: values(self.body, self.argument, z))

    def outside(self, *operands: Any) -> Any:
        """∨ of the ops' own tests: where x is outside of the domain of an op in the body, in a branch that is taken.

        None for no test, and where the series goes on outside of the domain: no NaN comes of it there.
        """
        (x,) = operands
        if not np.isfinite(values(self.body, self.argument, self.point - self.terms.radius * _LEFT)).any():
            return None
        found: dict[Term, Any] = {}
        for node in subterms(self.body):
            rands = [Tracer(applied(r, self.argument, as_term(x))) for r in node.rands]
            tests = [found[r] for r in node.rands]
            if node.op is where and any(test is not None for test in tests[1:]):
                tests[1:] = [np.where(rands[0], *[False if test is None else test for test in tests[1:]])]
            known = [test for test in (node.op.outside(*rands), *tests) if test is not None]
            found[node] = reduce(np.logical_or, known) if known else None
        return found[self.body]

    def range_of(self, *ranges: Interval) -> Interval:
        """f(range of x), op by op; closed at both ends, as a limit may be a value that others only come near."""
        found = self._by_ops(ranges[0], lambda t, known: t.op.range_of(*known) if known else range_of(t))
        return Interval(found.low, found.high)  # a limit may be what other values only come near

    def ball(self, *balls: Any) -> Any:
        """f(ball of x), op by op."""
        return self._by_ops(balls[0], lambda t, known: t.op.ball(*known))

    def _by_ops(self, x: Any, made: Callable[[Term, list[Any]], Any]) -> Any:
        """What is made of the body, operands first, where the argument is x."""
        known = {self.argument: x}
        for node in subterms(self.body):
            if node not in known:
                known[node] = made(node, [known[rand] for rand in node.rands])
        return known[self.body]


class Slope(_OfBody):
    """f′ of a body f, implicit: the scheduler writes it out, and stabilises it, as a function by itself.

    So the cotangent that it is multiplied with does not get between its parts, in which a cancellation is found.
    """

    __props__ = ("body", "argument")
    implicit = True
    times = 1

    def __init__(self, body: Term, argument: Term):
        again = lambda g, out, x: g * Slope(self.explicit(DEFAULT), argument)(x)
        super().__init__("slope", self._compute, again)
        self.body, self.argument = body, argument

    def parts(self, node: Term) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
        """The body, cotangents and arguments that are differentiated in the graph around: none of each."""
        return (), (), ()

    def explicit(self, conventions: Conventions) -> Term:
        """Return the derivative, one layer after the other written out, as a body."""
        return slope(self.body, self.argument, conventions)

    def _compute(self, x: Any) -> Any:
        return values(expanded(self.explicit(DEFAULT), self.argument)[0], self.argument, x)


@implements(near)
def _near(x: Any, point: float, radius: float, power: int, step: int, coefficients: Any, far: Any) -> Any:
    """Trace `near` as the function that it computes."""
    return far(x)


@lru_cache(maxsize=256)
def argument(range: Interval = REAL) -> Term:
    """(0, ∞) → x > 0: the leaf that stands for the argument in a body, with where it lies."""
    return term(Input("x", SCALAR, symbol=True, range=range))


def applied(body: Term, x: Term, to: Term) -> Term:
    """sin(x)/x, x, u·v → sin(u·v)/(u·v): a body as a function of a term, in the dtype and shape of that term."""

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        """The argument → the term, constants → the term's dtype, other terms made again."""
        if old is x:
            return to
        if type(old.op) is Constant:
            return constant(old.op.value, to.type.dtype) if old.op.value.dtype.kind == "f" else old
        return old.op.make_node(*rands)

    found = rebuild([body], change)[0]
    return found if found.type.shape == to.type.shape else as_term(broadcast_like(found, to))


def is_of_entries(body: Term) -> bool:
    """e^x + 1: yes; logsumexp([x, 0]): no: whether a body may be applied to arrays, entry by entry."""
    return all(node.op.elementwise for node in subterms(body) if node.rands)


def body_of(t: Term, u: Term, x: Term, most: int) -> Term | None:
    """exp(u) − 1, u → exp(x) − 1: a term as a function of a number; None if entries move, or of many ops."""
    new: dict[Term, Term] = {u: x}
    stack = [t]
    while stack:
        node = stack[-1]
        missing = [rand for rand in node.rands if rand not in new]
        if node in new:
            stack.pop()
        elif len(new) + len(stack) > most or not (node.op.elementwise or type(node.op) is Constant):
            return None
        elif missing:
            stack += missing
        elif type(node.op) is Constant:
            new[node] = constant(node.op.value, np.float64) if node.op.value.dtype.kind == "f" else node
        else:
            new[node] = node.op.make_node(*[new[rand] for rand in node.rands])
    return new[t]


def values_at(roots: Sequence[Term], x: Term, at: Any) -> list[Any] | None:
    """[x², x³], (1, 2) → [(1, 4), (1, 8)]: the values of functions of one number, or array; None where an op raises."""
    try:
        with np.errstate(all="ignore"):
            return interpret(roots, {x: np.asarray(at, np.float64)}, typed=False)
    except RAISED:
        return None


@lru_cache(maxsize=1024)
def slope(body: Term, x: Term, conventions: Conventions) -> Term:
    """sin(x)/x → its derivative by the rules, as a body: written out once.

    where(x > 0, f, g)′ = where(x > 0, f′, g′): no mask is multiplied with what is infinite in the other branch.
    """
    if body.op is where and not math.isnan(conventions.untaken):
        c, *branches = body.rands
        told = [
            decided(t, lambda other, taken=taken: taken if other is c else None)
            for taken, t in zip((True, False), branches, strict=True)
        ]
        return where(c, *[slope(t, x, conventions) for t in told])
    return derivative(body, x, conventions)


def decided(t: Term, holds: Callable[[Term], bool | None]) -> Term:
    """sin(where(x > 0, x, 1)) → sin(x) where x > 0 holds: a term with choices taken of which the condition is known.

    Entry by entry: of where(x > 0, x, 1)/Σ where(x > 0, x, 1) the sum has entries of which nothing is known, and stays,
    unless the condition is one for all.
    """

    def change(old: Term, rands: Sequence[Any], everywhere: bool) -> Any:
        """where(c, a, b) → a if c holds, b if it fails; others made again."""
        asked = old.op is where and (not everywhere or old.rands[0].type.size == 1)
        known = holds(old.rands[0]) if asked else None
        taken = None if known is None else in_place(rands[1 if known else 2], old)
        return remade(old, tuple(rands)) if taken is None else taken

    (t,) = rebuild([t], lambda old, rands: change(old, rands, True))
    new: dict[Term, Any] = {}
    entries = lambda node: node.rands if node.op.elementwise else ()
    for node in operands_first([t], new.__contains__, entries):
        new[node] = change(node, [new.get(x, x) for x in node.rands], False) if entries(node) else node
    return new[t]


@lru_cache(maxsize=2048)
def expanded(body: Term, x: Term) -> tuple[Term, tuple[Series, ...]]:
    """(eˣ − 1)/x → series{1 + 0.5·t + …}(x): a series wherever a body loses its leading terms or is 0/0; and these.

    Cached by structure: one body is looked at once, whatever terms are its arguments.
    """
    found: list[Series] = []
    for point in candidates(body, x):
        new: dict[Term, Term] = {}
        for place, loss in places(body, x, point):
            terms = fitted(place, x, point, loss)
            if terms is not None:
                found.append(Series(place, x, point, terms))
                new[place] = found[-1].make_node(x)
        body = substitute([body], new)[0] if new else body
    return (body, tuple(found)) if found else _of_root(body, x)


def _of_root(body: Term, x: Term) -> tuple[Term, tuple[Series, ...]]:
    """(1 − cos √x)/x → series{1/2 − x/24 + …}(x): of what is even in s = √x the series in s², as `expanded` gives it.

    Left of 0, where the radius reaches as well, it must be no function, and not another one.
    """
    of = {t: product_of(t) for t in subterms(body)}
    powers = {
        t: 2 * view.factors[x] for t, view in of.items() if [*view.factors] == [x] and view.coefficient == 1
    }
    if all(k % 2 == 0 for k in powers.values()):
        return body, ()
    s = term(Input("s", SCALAR, symbol=True, range=NONNEGATIVE))
    whole = {t: build_product(ProductView(1, {s: k}), body.type.dtype) for t, k in powers.items()}
    (rooted,) = substitute([body], whole)
    new: dict[Term, Any] = {}
    for place, loss in places(rooted, s, 0.0):
        (again,) = substitute([place], {u: t for t, u in whole.items()})
        found = fitted(place, s, 0.0, loss)
        if found is None or found.power % 2 or found.step % 2 or s in subterms(again):
            continue
        terms = Terms(found.radius**2, found.power // 2, found.step // 2, found.coefficients)
        if np.isnan(values(again, x, -terms.radius * _LEFT)).all():
            new[again] = Series(again, x, 0.0, terms).make_node(x)
    return substitute([body], new)[0], tuple([t.op for t in new.values()])


_LEFT = np.linspace(0.0, 1.0, 65)[1:]
_STEPS = np.array([0.0, 1e-8, -1e-8, 1e-6, -1e-6])
LIKELY = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 4.0, -4.0)
"""Numbers at which functions that people write vanish, though no part of them says so: (1 − x)² written out."""
FACTORS = (np.multiply, np.divide, np.square, np.reciprocal, np.power, np.float_power, np.negative)
"""Functions that are small as their operands are."""


def candidates(body: Term, x: Term) -> list[float]:
    """(eˣ − 1)/x → 0;    x·log x − x + 1 → 0, 1: points at which floats show a part of a body open, or losing digits.

    Asked are zero, numbers that stand in the body, and a few more. The test is a necessary one, and costs one
    evaluation for all: a part that is no number at the point though it does not grow nearby, or a sum or function that
    is small there though its operands are not. Away from zero, where a simple zero is a loss of the last digits of x,
    the sum must have one of second order.
    """
    known = x.op.range
    nodes = list(subterms(body))
    numbers = [float(node.op.value) for node in nodes if type(node.op) is Constant and node.type.shape == ()]
    zeros = [zero for node in nodes for zero in zeros_of(node, x)]
    points = [p for p in dict.fromkeys([0.0, *LIKELY, *zeros, *numbers]) if known.low <= p <= known.high]
    grid = np.add.outer(_STEPS, points)
    here: dict[Term, Any] = {x: grid}
    marked = np.zeros(len(points), bool)
    with np.errstate(all="ignore"):
        for node in nodes:
            if node is x:
                continue
            try:
                found = value_of(node, here, typed=False)
            except RAISED:
                return []
            here[node] = y = np.broadcast_to(np.asarray(found, float), grid.shape)
            if node.rands:
                y = np.abs(y)
                marked |= (
                    ~np.isfinite(y[0]) & np.isfinite(y[1:]).any(0) & ~(y[1:3].min(0) > 30 * y[3:].max(0))
                )
                if getattr(node.op, "function", None) not in FACTORS:
                    sizes = np.max([np.abs(here[rand]) for rand in node.rands], axis=0)
                    small = y < 1e-3 * sizes
                    twice = small[3:] & (y[3:] < 1e-9 * np.maximum(sizes[3:], 1.0))
                    marked |= np.where(grid[0] == 0, small.any(0), bool(node.op.as_sum) & twice.any(0))
    return [p for p, mark in zip(points, marked, strict=True) if mark]


def zeros_of(node: Term, x: Term) -> list[float]:
    """1 − 2·x ⟶ 1/2;    x² − 4 ⟶ 2, −2;    log(4·x²) ⟶ 1/2, −1/2;    x² − 2 ⟶ none: no float is a zero of it

    Where a sum of a number and a whole power of the argument vanishes, or the logarithm of such a power.
    """
    function = getattr(node.op, "function", None)
    if function is np.log:
        rest, k, part = Fraction(-1), 1, product_of(node.rands[0])
    elif function in (np.add, np.subtract) and len((whole := sum_of(node)).terms) == 1:
        ((t, k),) = whole.terms.items()
        rest, part = Fraction(whole.constant), product_of(t)
    else:
        return []
    n = part.factors.get(x, 0)
    if len(part.factors) != 1 or n not in range(1, HIGHEST + 1) or not part.coefficient:
        return []
    value = -rest / (k * part.coefficient)  # of xⁿ
    if not representable(value):
        return []
    root = float(abs(value)) ** (1 / n)
    if Fraction(root) ** int(n) != abs(value):
        return []
    if n % 2:
        return [math.copysign(root, value)]
    return [root, -root] if value > 0 else []


def places(body: Term, x: Term, point: float) -> list[tuple[Term, int]]:
    """(1 − cos x)/x², 0 → the terms that a series must stand for near a point, and the orders of their losses.

    Away from 0 only those that are undefined at the point itself: a loss there is one of the last digits of x.
    """
    try:
        orders = Orders(body, x, Around(x, point, FEW))
    except NoSeries:
        return []
    found = [
        t for t in orders.places(body) if not point or not orders.of[t].defined or orders.of[t].value > 1
    ]
    return [(t, max(int(orders.of[t].value - min(orders.of[t].error, 0)), 0)) for t in found]
