"""Random programs whose parts cancel: a law of calculus or of statistics, written down naively for drawn functions.

A law (an increment, a remainder, a quotient 0/0, a divergence, …) is text with places for functions; these are drawn
from NumPy's and SciPy's, composed two deep, or are small array programs. A pair (seed, number) names the same program,
with the same inputs, in every process.

Each argument has a *unit*, the size of the changes that its condition is measured by: its own size as a rule, but its
distance from the constant, or from the other argument, that a law holds near. For the difference of two near floats
is exact (Sterbenz), so it is these distances that a program is given.

Constants are exact: a function stands beside its value at x₀, or its Taylor coefficients, only where these are
fractions of small integers over the reals.

Sources: Higham 2002, Accuracy and stability of numerical algorithms, §1.7 to §1.14; Sterbenz 1974, theorem 4.3.1.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import flint
import numpy as np
import scipy.special as sp

from relgrad.balls.graph import evaluate
from relgrad.ops.arguments import as_balls
from relgrad.trace.trace import trace

ELEMENTARY = """
np.exp(X) | np.exp(-X) | np.log(X) | np.log1p(X) | np.expm1(X) | np.sqrt(X) | np.cbrt(X) | np.sin(X) | np.cos(X)
np.tan(X) | np.sinh(X) | np.cosh(X) | np.tanh(X) | np.arcsin(X) | np.arccos(X) | np.arctan(X) | np.arcsinh(X)
np.arctanh(X) | np.arccosh(X) | (X)**2 | (X)**3 | 1/(X) | (X)**1.5 | (X)**-0.5 | (X)**2.5 | np.log2(X) | np.log10(X)
np.exp2(X) | 1/(1 + (X)**2) | 1/(1 + np.exp(-(X))) | np.exp(-(X)**2) | np.sqrt(1 + (X)**2) | np.hypot(1, X)
np.log(1 + np.exp(X)) | np.logaddexp(0, X) | (X)*np.log(X) | (X)**(X) | np.log(1 + (X)) | np.sqrt(1 + (X)) | 1/(1 + (X))
(X)*np.exp(X) | (1 + (X))**2.5 | (X)/(1 + (X)) | np.arctan2(X, 2)
"""
SPECIAL = """
sp.erf(X) | sp.erfc(X) | sp.erfcx(X) | sp.ndtr(X) | sp.log_ndtr(X) | sp.expit(X) | sp.log_expit(X) | sp.logit(X)
sp.gammaln(X) | sp.gamma(X) | sp.psi(X) | sp.exprel(X) | sp.entr(X) | sp.xlogy(X, X) | sp.xlog1py(X, X)
sp.gammaln(1 + (X)) | sp.gamma(1 + (X)) | sp.betaln(X, 2.5) | sp.logit(0.5 + (X)) | np.sinc(X)
"""
REDUCING = """
np.sum(X) | np.mean(X) | np.prod(X) | np.sqrt(np.sum((X)**2)) | np.linalg.norm(X) | np.log(np.sum(np.exp(X)))
np.log(1 + np.sum(np.exp(X))) | np.log(np.mean(np.exp(X))) | np.logaddexp.reduce(X) | np.mean((X)**2)
np.sum(np.exp(X)*c)/np.sum(np.exp(X)) | c @ np.exp(X)/np.sum(np.exp(X)) | c @ (X) | np.exp(c @ (X)) | (X) @ A @ (X)
np.log(1 + np.exp(c @ (X))) | 1/(1 + np.exp(-(c @ (X)))) | np.sum(np.tanh(A @ (X) + c)) | np.var(X) | np.std(X)
np.log(np.sum(np.exp(A @ (X) + c))) | c @ np.tanh(A @ np.tanh(A @ (X) + c)) | np.sqrt(1 + np.sum((X)**2))
np.sum(np.log(1 + np.exp(A @ (X)))) | np.sum((X)[1:]*(X)[:-1]) | np.sum(np.cumsum(X)**2) | np.mean(X)**2
np.log(np.linalg.det(np.eye(3) + np.outer(X, X))) | c @ (X)/np.linalg.norm(X) | 1/(1 + np.sum((X)**2))
np.sum(np.arctan(X)) | np.hypot((X)[0], (X)[1])*(X)[2] | np.sum(np.log(X)) | np.exp(np.mean(np.log(X)))
c @ np.linalg.solve(np.eye(3)*2 + np.outer(X, X), c) | 1/np.mean(1/(X)) | np.sum((A @ (X))**2)
"""
SLOPES = {
    "np.exp(X)": "np.exp(X)",
    "np.log(X)": "1/(X)",
    "np.sin(X)": "np.cos(X)",
    "np.tan(X)": "(1 + np.tan(X)**2)",
    "np.tanh(X)": "(1 - np.tanh(X)**2)",
    "np.sqrt(X)": "0.5/np.sqrt(X)",
    "np.arctan(X)": "1/(1 + (X)**2)",
    "np.arcsinh(X)": "1/np.sqrt(1 + (X)**2)",
    "np.cosh(X)": "np.sinh(X)",
    "1/(X)": "(-1/(X)**2)",
    "(X)**3": "3*(X)**2",
    "(X)*np.log(X)": "(np.log(X) + 1)",
    "-np.log(X)": "(-1/(X))",
    "np.log(1 + np.exp(X))": "1/(1 + np.exp(-(X)))",
    "sp.gammaln(X)": "sp.psi(X)",
    "sp.xlogy(X, X)": "(np.log(X) + 1)",
    "sp.log_expit(X)": "sp.expit(-(X))",
    "(X)**2.5": "2.5*(X)**1.5",
    "np.arcsin(X)": "1/np.sqrt(1 - (X)**2)",
    "np.log(np.cosh(X))": "np.tanh(X)",
}
"""Functions with their derivatives, as these are written beside each other."""
LENGTH = 3
"""Arrays have so many entries."""
RADIUS = 0.4
"""A function is smooth and of moderate size at this distance around its arguments."""
GRID = np.linspace(-1.0, 1.0, 41)


def listed(text: str) -> list[str]:
    """Return the templates of a table."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split("|") if part.strip()]


NUMPYS, SCIPYS, ARRAYS = listed(ELEMENTARY), listed(SPECIAL), listed(REDUCING)


class Argument(NamedTuple):
    """An array, the unit of its changes, and both at the point itself; a unit of 0 keeps an entry where it is."""

    near: Any
    unit: Any
    at: Any
    at_unit: Any


class Piece(NamedTuple):
    """A law for drawn functions: definitions of these, an expression, its arguments, and whether the point is asked."""

    definitions: tuple[str, ...]
    expression: str
    arguments: dict[str, Argument]
    pointed: bool = True


class Program(NamedTuple):
    """A program by its law: the text, which defines `f`, and its arguments."""

    law: str
    text: str
    names: tuple[str, ...]
    arguments: tuple[Argument, ...]
    pointed: bool

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        return made(self.text)

    def near(self) -> tuple[Any, ...]:
        """Return the arguments near the point."""
        return tuple([a.near[()] for a in self.arguments])

    def at(self) -> tuple[Any, ...]:
        """Return the arguments at the point itself."""
        return tuple([a.at[()] for a in self.arguments])

    def moved(self, part: float) -> Program:
        """Return the program with the point, and the distance from it, changed by a small part of themselves."""
        arguments = []
        for a in self.arguments:
            at = a.at + part * a.at_unit
            arguments.append(a._replace(near=at + (1 + part) * (a.near - a.at), at=at))
        return self._replace(arguments=tuple(arguments))


class Undrawn(Exception):
    """A draw came to nothing: another is to be tried."""


def made(text: str) -> Callable[..., Any]:
    """Return the function `f` that a text defines."""
    space: dict[str, Any] = {"np": np, "sp": sp}
    exec(text, space)
    return space["f"]


def put(template: str, operand: str) -> str:
    """Return a template with an operand for X: a name, or an expression in parentheses where these matter.

    >>> put("np.exp((X)**2)", "x"), put("np.exp(X)", "(1/X)")
    ('np.exp(x**2)', 'np.exp(1/X)')
    """
    text = re.sub(r"\bX\b", lambda _: operand, template)
    once = re.sub(r"\(\(([^()]*)\)\)", r"(\1)", text)
    return re.sub(r"(?<![\w)\]])\((\w+)\)", r"\1", once)


@cache
def unary(expression: str) -> Callable[..., Any]:
    """Return the function of x that an expression is."""
    return made(f"def f(x):\n    return {expression}\n")


def expansion(expression: str, centre: float, terms: int = 6) -> list[Any]:
    """Return the Taylor coefficients of an expression in x around a number, as balls; Undrawn where it has none.

    With s = 2⁻¹⁵⁰, cₖ ≈ Δᵏf(x₀ − ks/2, …, x₀ + ks/2)/(k! sᵏ), up to O(s²).
    """
    traced = trace(unary(expression), (np.float64(centre),))
    (x,) = traced.inputs
    with flint.ctx.workprec(3000):
        half = flint.arb(2) ** -151
        places = range(1 - terms, terms)
        moved = {k: as_balls(np.float64(centre)) + half * k for k in places}
    values = {k: evaluate(traced.outputs, {x: v}, 3000)[0].item() for k, v in moved.items()}
    with flint.ctx.workprec(3000):
        found = [
            sum((values[2 * i - k] * (math.comb(k, i) * (-1) ** (k - i)) for i in range(k + 1)), flint.arb(0))
            / (math.factorial(k) * (2 * half) ** k)
            for k in range(terms)
        ]
    if not all(c.is_finite() and abs(c) < 1e6 for c in found):
        raise Undrawn
    return found


def fraction(ball: Any) -> Fraction | None:
    """Return the fraction of small integers that a ball holds up to 2⁻¹²⁰, or None."""
    if not ball.is_finite():
        return None
    near = Fraction(float(ball.mid())).limit_denominator(1000)
    with flint.ctx.workprec(3000):
        error = abs(ball - flint.arb(near.numerator) / near.denominator)
    return near if abs(near.numerator) < 10_000 and error < flint.arb(2) ** -120 else None


def order(coefficients: Sequence[Any]) -> int:
    """Return how many leading coefficients vanish; raises Undrawn where all do."""
    for k, c in enumerate(coefficients):
        if not abs(c) < flint.arb(2) ** -100:
            return k
    raise Undrawn


def exact_value(expression: str, centre: float) -> Fraction:
    """Return the value of an expression in x at a number, which must be a float over the reals."""
    with np.errstate(all="ignore"):
        guess = float(unary(expression)(np.float64(centre)))
    if not math.isfinite(guess) or abs(8 * guess - round(8 * guess)) > 1e-12:
        raise Undrawn
    value = fraction(expansion(expression, centre, 1)[0])
    if value is None or value.denominator & (value.denominator - 1):
        raise Undrawn
    return value


def number(q: Fraction) -> str:
    """Return a float as it is written."""
    return str(q.numerator) if q.denominator == 1 else repr(float(q))


def less(expression: str, q: Fraction) -> str:
    """Return an expression less a constant."""
    return expression if q == 0 else f"{expression} {'-' if q > 0 else '+'} {number(abs(q))}"


def monomial(q: Fraction, k: int, x: str) -> str:
    """Return |q|·xᵏ as it is written, with integers only."""
    power = x if k == 1 else f"{x}**{k}"
    if k == 0:
        return str(abs(q.numerator)) + (f"/{q.denominator}" if q.denominator > 1 else "")
    factor = "" if abs(q.numerator) == 1 else f"{abs(q.numerator)}*"
    return f"{factor}{power}" + (f"/{q.denominator}" if q.denominator > 1 else "")


class Draw:
    """What laws draw: functions with places where they are smooth, arguments, steps, names of definitions."""

    def __init__(self, rng: random.Random, shape: tuple[int, ...], elementwise: bool = False) -> None:
        self.rng, self.shape, self.elementwise, self.definitions = rng, shape, elementwise, list[str]()

    def one(self, *choices: Any) -> Any:
        """Return one of some choices."""
        return self.rng.choice(choices)

    def template(self, depth: int) -> str:
        """Return a function of X that is composed at most so deep."""
        outer = self.rng.choice(NUMPYS if self.rng.random() < 0.68 else SCIPYS)
        kind = self.rng.random()
        if depth == 1 or kind < 0.3:
            return put(outer, self.one("X", "X", "2*(X)", "(X)/2", "3*(X)", "1 - (X)", "1 + (X)", "2 + (X)"))
        inner = self.template(depth - 1)
        if kind < 0.75:
            return put(outer, inner)
        return f"({put(outer, 'X')}) {self.one('+', '-', '*', '*', '/')} ({inner})"

    def function(
        self, centre: float | None = None, positive: bool = False, depth: int = 2
    ) -> tuple[str, float]:
        """Return a template and a number around which it is finite, moderate and no constant."""
        for _ in range(200):
            template = self.template(depth)
            middle = self.place() if centre is None else centre
            with np.errstate(all="ignore"):
                y = np.asarray(unary(put(template, "x"))(middle + RADIUS * GRID), float)
            if y.shape == GRID.shape and np.all(np.isfinite(y)) and np.max(np.abs(y)) < 1e3:
                steps = np.abs(np.diff(y))
                if (not positive or y.min() > 1e-3) and 1e-3 < np.max(steps) * 40 < 1e3:
                    return template, middle
        raise Undrawn

    def place(self) -> float:
        """Return a number of moderate size."""
        r = self.rng
        return r.choice([r.uniform(-3, 3), r.uniform(0, 3), r.uniform(0.5, 10), 10 ** r.uniform(0, 2)])

    def around(self, middle: float, shape: tuple[int, ...] | None = None) -> Any:
        """Return an array of numbers near another."""
        shape = self.shape if shape is None else shape
        return np.array(
            [middle + 0.25 * self.rng.uniform(-1, 1) for _ in range(math.prod(shape))], float
        ).reshape(shape)

    def small(self, shape: tuple[int, ...] | None = None, low: float = -10.0, high: float = -1.0) -> Any:
        """Return an array of small numbers of either sign that are of like size."""
        shape = self.shape if shape is None else shape
        size = 10.0 ** self.rng.uniform(low, high)
        entries = [size * self.rng.uniform(0.5, 1.0) * self.one(-1, 1) for _ in range(math.prod(shape))]
        return np.array(entries, float).reshape(shape)

    def define(self, template: str, *, name: str = "g", argument: str = "x") -> str:
        """Define a function by a template; return its name."""
        body = put(template, argument)
        for constant in ("c", "A"):
            if re.search(rf"\b{constant}\b", body) and not any(
                d.startswith(f"{constant} =") for d in self.definitions
            ):
                shape = (LENGTH,) * (1 if constant == "c" else 2)
                entries = [self.rng.randint(1, 12) * self.one(-1, 1, 1) / 8 for _ in range(math.prod(shape))]
                self.definitions.append(f"{constant} = np.array({np.reshape(entries, shape).tolist()})")
        self.definitions.append(f"def {name}({argument}):\n    return {body}")
        return name

    def subject(self, positive: bool = False) -> Any:
        """Define a function g, elementwise or, for arrays, often an array program; return an argument for it."""
        if self.elementwise or not self.shape or self.rng.random() < 0.2:
            template, middle = self.function(positive=positive)
            self.define(template)
            return self.around(middle)
        inner, middle = ("X", self.one(0.6, 1.5, 3.0)) if self.rng.random() < 0.4 else self.function(depth=1)
        x = self.around(middle)
        self.define(put(self.rng.choice(ARRAYS), inner))
        y = made("\n".join([*self.definitions, "f = g"]))
        with np.errstate(all="ignore"):
            values = np.array([y(x + RADIUS / 2 * t) for t in GRID[::5]])
        if (
            not np.all(np.isfinite(values))
            or np.max(np.abs(values)) > 1e3
            or (positive and values.min() < 1e-3)
        ):
            raise Undrawn
        return x

    def piece(self, expression: str, pointed: bool = True, **arguments: Argument) -> Piece:
        """Return the piece of what was defined."""
        return Piece(tuple(self.definitions), expression, arguments, pointed)


def plain(x: Any) -> Argument:
    """Return an argument that is anywhere, the same at the point."""
    return Argument(x, np.abs(x), x, np.abs(x))


def to(x: Any, limit: Any) -> Argument:
    """Return an argument that is near a constant, which it is at the point."""
    limit = np.broadcast_to(np.asarray(limit, float), np.shape(x)).copy()
    return Argument(x, np.abs(x - limit), limit, np.zeros(np.shape(x)))


def pair(x: Any, h: Any) -> tuple[Argument, Argument]:
    """Return two arguments near each other, which are equal at the point."""
    y = x + h
    unit = np.abs(y - x)
    return Argument(x, unit, x, np.abs(x)), Argument(y, unit, x, np.abs(x))


def increment(d: Draw) -> Piece:
    """f(x + h) − f(x), and f(y) − f(x) for y near x."""
    x = d.subject()
    h = d.small(low=-12)
    if d.rng.random() < 0.6:
        return d.piece(d.one("g(x + h) - g(x)", "g(x) - g(x - h)"), x=plain(x), h=to(h, 0))
    near = pair(x, h)
    return d.piece("g(y) - g(x)", x=near[0], y=near[1])


def slope(d: Draw) -> Piece:
    """(f(x + h) − f(x))/h and other difference quotients."""
    x = d.subject()
    form = d.one("(g(x + h) - g(x))/h", "(g(x + h) - g(x))/h", "(g(x + h) - g(x - h))/(2*h)", "pair")
    if form != "pair" or d.shape:
        if form == "pair":
            form = "(g(x + h*u) - g(x))/h"
            return d.piece(form, x=plain(x), h=to(d.small(()), 0), u=plain(d.around(1.0)))
        return d.piece(form, x=plain(x), h=to(d.small(()), 0))
    near = pair(x, d.small())
    return d.piece(d.one("(g(y) - g(x))/(y - x)", "(g(x) - g(y))/(x - y)"), x=near[0], y=near[1])


def from_constant(d: Draw) -> Piece:
    """f(x) − f(x₀), its quotient by x − x₀, and f(x)/f(x₀) − 1, for constants x₀."""
    centre = d.one(0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 4.0, 0.5, -1.0, 3.0)
    template, _ = d.function(centre)
    q = exact_value(put(template, "x"), centre)
    d.define(template)
    x = to(centre + d.small(low=-9, high=-0.6), centre)
    gap = less("x", Fraction(centre))
    forms = [less("g(x)", q), f"({less('g(x)', q)})/({gap})" if centre else f"({less('g(x)', q)})/x"]
    if q not in (0, 1):
        forms.append(f"g(x)/{number(q)} - 1")
    if q > 0:
        forms.append("np.log(g(x))" if q == 1 else f"np.log(g(x)/{number(q)})")
    return d.piece(d.rng.choice(forms), x=x)


def remainder(d: Draw) -> Piece:
    """f(x) − f(0) − f′(0)x − … up to order 3, and its quotient by the power of x that leaves a limit."""
    centre = d.one(0.0, 0.0, 0.0, 1.0)
    template, _ = d.function(centre)
    exact_value(put(template, "x"), centre)
    coefficients = expansion(put(template, "x"), centre)
    degree = d.one(1, 1, 2, 3)
    known = [fraction(c) for c in coefficients[:degree]]
    if any(q is None for q in known):
        raise Undrawn
    left = order(coefficients[degree:]) + degree
    d.define(template)
    t = "x" if centre == 0 else "(x - 1)"
    parts = [(q, monomial(q, k, t)) for k, q in enumerate(known) if q]
    expression = "g(x)" + "".join([f" {'-' if q > 0 else '+'} {text}" for q, text in parts])  # type: ignore[operator]
    if d.rng.random() < 0.6 and left:
        expression = f"({expression})/{t}" + (f"**{left}" if left > 1 else "")
    return d.piece(expression, x=to(centre + d.small(low=-6, high=-0.4), centre))


def one_limit(d: Draw) -> tuple[str, str, int]:
    """Return two functions with one value at 0, half of the time with one slope, and the order of their difference."""
    first, _ = d.function(0.0, depth=d.one(1, 2))
    a = expansion(put(first, "x"), 0.0, 2)
    for _ in range(60):
        second, _ = d.function(0.0, depth=d.one(1, 2))
        with np.errstate(all="ignore"):
            distance = abs(float(unary(put(second, "x"))(np.float64(0.0)) - a[0].mid()))
        if not distance < 1e-12 or second == first:
            continue
        b = expansion(put(second, "x"), 0.0, 2)
        ratio = fraction(a[1] / b[1])
        if ratio and ratio != 1 and d.rng.random() < 0.5 and ratio.denominator <= 6 and abs(ratio) <= 6:
            second = put(second, f"({'-' if ratio < 0 else ''}{monomial(ratio, 1, 'X')})")
            with np.errstate(all="ignore"):
                if not np.all(np.isfinite(unary(put(second, "x"))(RADIUS * GRID))):
                    continue
        return first, second, order(expansion(f"({put(first, 'x')}) - ({put(second, 'x')})", 0.0))
    raise Undrawn


def difference(d: Draw) -> Piece:
    """f(x) − g(x) where both have one limit, at 0 or at infinity, its quotient by a power of x, and f(x)/g(x) − 1."""
    f, g, k = one_limit(d)
    far = d.rng.random() < 0.2
    d.define(put(f, "(1/X)") if far else f)
    d.define(put(g, "(1/X)") if far else g, name="k")
    power = "x" + (f"**{k}" if k > 1 else "")
    form = d.one("g(x) - k(x)", f"(g(x) - k(x)){'*' if far else '/'}{power}", "g(x)/k(x) - 1")
    if far:
        return d.piece(form, pointed=False, x=plain(1 / d.small(low=-6, high=-0.4)))
    return d.piece(form, x=to(d.small(low=-6, high=-0.4), 0))


def indeterminate(d: Draw) -> Piece:
    """Quotients 0/0 at 0: of increments from there, and of differences with one limit."""
    parts: list[tuple[int, str]] = []
    for _ in range(2):
        if d.rng.random() < 0.4:
            f, g, k = one_limit(d)
            parts.append((k, f"({f}) - ({g})"))
            continue
        template, _ = d.function(0.0, depth=d.one(1, 2))
        text = less(template, exact_value(put(template, "x"), 0.0))
        parts.append((order(expansion(put(text, "x"), 0.0)), text))
    (n, below), (_, above) = sorted(parts)
    with np.errstate(all="ignore"):
        quotient = unary(f"({put(above, 'x')})/({put(below, 'x')})")(RADIUS * GRID)
    if n == 0 or not np.nanmax(quotient) - np.nanmin(quotient) > 1e-6:
        raise Undrawn
    d.define(above)
    d.define(below, name="k")
    return d.piece("g(x)/k(x)", x=to(d.small(low=-6, high=-0.4), 0))


def ratio(d: Draw) -> Piece:
    """f(x)/f(y) − 1 for x near y."""
    x = d.subject(positive=True)
    h = d.small(low=-12)
    if d.rng.random() < 0.6:
        form = d.one("g(x + h)/g(x) - 1", "1 - g(x)/g(x + h)", "(g(x + h) - g(x))/g(x)")
        return d.piece(form, x=plain(x), h=to(h, 0))
    near = pair(x, h)
    return d.piece(d.one("g(x)/g(y) - 1", "1 - g(y)/g(x)"), x=near[0], y=near[1])


def log_ratio(d: Draw) -> Piece:
    """log(f(x)/f(y)) for x near y, as one logarithm or as a difference of two, and its quotient by the step."""
    x = d.subject(positive=True)
    if d.rng.random() < 0.6:
        h = d.small((), low=-12) if d.rng.random() < 0.4 else d.small(low=-12)
        forms = ["np.log(g(x + h)/g(x))", "np.log(g(x + h)) - np.log(g(x))"]
        if not h.shape:
            forms += [f"({form})/h" for form in forms]
        return d.piece(d.rng.choice(forms), x=plain(x), h=to(h, 0))
    near = pair(x, d.small(low=-12))
    return d.piece(d.one("np.log(g(x)/g(y))", "np.log(g(x)) - np.log(g(y))"), x=near[0], y=near[1])


def second_difference(d: Draw) -> Piece:
    """f(x + h) − 2f(x) + f(x − h), and over h²."""
    x = d.subject()
    form = d.one(
        "g(x + h) - 2*g(x) + g(x - h)",
        "g(x + h) + g(x - h) - 2*g(x)",
        "(g(x + h) - g(x)) - (g(x) - g(x - h))",
    )
    if d.rng.random() < 0.5:
        return d.piece(f"({form})/h**2", x=plain(x), h=to(d.small((), low=-7), 0))
    return d.piece(form, x=plain(x), h=to(d.small(low=-7), 0))


def jensen(d: Draw) -> Piece:
    """First-order terms cancel: Jensen's gap, Bregman divergences, remainders of first order anywhere."""
    if d.rng.random() < 0.5:
        x = d.subject()
        x, y = pair(x, d.small(low=-6))
        if d.rng.random() < 0.6:
            return d.piece(
                d.one("(g(x) + g(y))/2 - g((x + y)/2)", "g(x)/2 + g(y)/2 - g(x/2 + y/2)"), x=x, y=y
            )
        a = plain(np.array(d.rng.uniform(0.2, 0.8)))
        return d.piece("a*g(x) + (1 - a)*g(y) - g(a*x + (1 - a)*y)", x=x, y=y, a=a)
    for _ in range(100):
        f = d.rng.choice(list(SLOPES))
        middle = d.place()
        inner = d.one("X", "X", "X", "2*(X)", "(X)/2", "1 + (X)")
        with np.errstate(all="ignore"):
            y = unary(put(put(f, inner), "x"))(middle + RADIUS * GRID)
        if np.all(np.isfinite(y)) and np.max(np.abs(y)) < 1e3:
            break
    else:
        raise Undrawn
    factor = {"2*(X)": "2*", "(X)/2": "0.5*"}.get(inner, "")
    d.define(put(f, inner))
    d.define(factor + put(SLOPES[f], inner), name="dg")
    x = d.around(middle)
    h = d.small(low=-6)
    if d.rng.random() < 0.5:
        return d.piece("g(x + h) - g(x) - h*dg(x)", x=plain(x), h=to(h, 0))
    first, second = pair(x, h)
    return d.piece("g(y) - g(x) - dg(x)*(y - x)", x=first, y=second)


def distribution(d: Draw) -> Any:
    """Define a distribution p(x), normalised in one of several ways; return x."""
    kind = d.rng.random()
    if kind < 0.3:
        d.define("(X)/np.sum(X)", name="p")
        return d.around(1.0, (LENGTH,)) * 2.0
    if kind < 0.6:
        d.define("np.exp(X)/np.sum(np.exp(X))", name="p")
        return d.around(0.0, (LENGTH,)) * 4.0
    template, middle = d.function(positive=True)
    d.define(template)
    d.define("g(X)/np.sum(g(X))", name="p")
    return d.around(middle, (LENGTH,))


def divergence(d: Draw) -> Piece:
    """Divergences of two near distributions: Kullback–Leibler, Jensen–Shannon, Hellinger, f-divergences, Rényi's."""
    x, y = pair(distribution(d), d.small((LENGTH,), low=-5))
    kernel, _ = d.function(1.0, depth=1)
    forms = [
        "np.sum(p(x)*np.log(p(x)/p(y)))",
        "np.sum(p(x)*np.log(p(x))) - np.sum(p(x)*np.log(p(y)))",
        "np.sum(p(x)*np.log(p(x)/p(y)) - p(x) + p(y))",
        "np.sum(p(x)*np.log(2*p(x)/(p(x) + p(y))) + p(y)*np.log(2*p(y)/(p(x) + p(y))))",
        "1 - np.sum(np.sqrt(p(x)*p(y)))",
        "-np.log(np.sum(np.sqrt(p(x)*p(y))))",
        "np.sum(sp.rel_entr(p(x), p(y)))",
        "np.sum(p(x)**2/p(y)) - 1",
        "np.log(np.sum(p(x)**2/p(y)))",
        "np.sum(sp.entr((p(x) + p(y))/2)) - np.sum(sp.entr(p(x)))/2 - np.sum(sp.entr(p(y)))/2",
        "kernel",
        "kernel",
    ]
    form = d.rng.choice(forms)
    if form == "kernel":
        q = exact_value(put(kernel, "x"), 1.0)
        d.define(kernel, name="k", argument="r")
        form = less("np.sum(p(y)*k(p(x)/p(y)))", q)
    return d.piece(form, x=x, y=y)


def entropy(d: Draw) -> Piece:
    """Entropies and divergences with a parameter, as it nears 1: Rényi, Tsallis, Cressie–Read, Atkinson."""
    x = distribution(d)
    a = to(1 + d.small((), low=-9), 1.0)
    two = ("np.log(np.sum(p(x)**a*p(y)**(1 - a)))/(a - 1)", "(np.sum(p(x)**a*p(y)**(1 - a)) - 1)/(a - 1)")
    two = (*two, "(np.sum(p(x)*(p(x)/p(y))**(a - 1)) - 1)/(a*(a - 1))")
    one = ("np.log(np.sum(p(x)**a))/(1 - a)", "(1 - np.sum(p(x)**a))/(a - 1)")
    one = (*one, "np.sum(p(x) - p(x)**a)/(a - 1)", "np.sum(p(x)**a)**(1/(1 - a))")
    one = (*one, "a/(1 - a)*np.log(np.sum(p(x)**a)**(1/a))")
    if d.rng.random() < 0.4:
        y = d.rng.choice([-1, 1]) * 0.1 * d.around(0.8, (LENGTH,)) * d.around(0.0, (LENGTH,)) + x
        return d.piece(d.rng.choice(two), x=plain(x), y=plain(y), a=a)
    return d.piece(d.rng.choice(one), x=plain(x), a=a)


def family(d: Draw) -> Piece:
    """Families in a parameter that nears 0: Box–Cox, power means, CES, Atkinson, exponentials of q, risk measures."""
    form = d.one(
        *["(g(x)**a - 1)/a"] * 2,
        "(g(x)**a - g(y)**a)/a",
        *["k"] * 3,
        "np.mean(g(x)**a)**(1/a)",
        "np.log(np.mean(g(x)**a))/a",
        "(w @ g(x)**a/np.sum(w))**(1/a)",
        "np.log(np.mean(np.exp(a*g(x))))/a",
        "(1 + a*g(x))**(1/a)",
        "np.log(1 + a*g(x))/a",
        "np.exp(-(1 + a*g(x))**(-1/a))",
        "(1 + g(x))*(1 - np.exp(-a*g(x)))/a",
        "((1 + g(x))**a - 1)/((1 + 2*g(x))**a - 1)",
        "1 - np.mean(g(x)**a)**(1/a)/np.mean(g(x))",
    )
    reducing = "mean" in form or "@" in form
    template, middle = d.function(positive=True, depth=d.one(1, 2))
    with np.errstate(all="ignore"):
        if np.max(unary(put(template, "x"))(middle + RADIUS * GRID)) > 20:
            raise Undrawn
    x = d.around(middle, (LENGTH,) if reducing else None)
    d.define(template)
    arguments = {"x": plain(x), "a": to(d.small((), low=-9), 0.0)}
    if form == "k":
        kernel, _ = d.function(0.0)
        q = exact_value(put(kernel, "x"), 0.0)
        d.define(kernel, name="k", argument="t")
        form = f"({less('k(a*g(x))', q)})/a"
    if "g(y)" in form:
        arguments["y"] = plain(d.around(middle))
    if "w" in form:
        arguments["w"] = plain(d.around(1.0, (LENGTH,)))
    return d.piece(form, **arguments)


def moment(d: Draw) -> Piece:
    """Moments and correlations by formulas of one pass, of numbers far from the origin or of functions of near ones."""
    n = 4
    forms = [
        "np.mean(F**2) - np.mean(F)**2",
        "np.sum(F*F) - np.sum(F)**2/4",
        "np.sqrt(np.mean(F**2) - np.mean(F)**2)",
        "np.mean(F**3) - 3*np.mean(F)*np.mean(F**2) + 2*np.mean(F)**3",
        "w @ F**2/np.sum(w) - (w @ F/np.sum(w))**2",
        "np.mean(F*G) - np.mean(F)*np.mean(G)",
        "(np.mean(F*G) - np.mean(F)*np.mean(G))/(np.mean(F**2) - np.mean(F)**2)",
        "(np.mean(F*G) - np.mean(F)*np.mean(G))"
        "/np.sqrt((np.mean(F**2) - np.mean(F)**2)*(np.mean(G**2) - np.mean(G)**2))",
        "np.mean(F[1:]*F[:-1]) - np.mean(F[1:])*np.mean(F[:-1])",
        "F @ F - 2*(F @ G) + G @ G",
    ]
    form = d.rng.choice(forms)
    arguments = {}
    drawn = d.rng.random() < 0.4
    middle = d.one(-1, 1) * 10 ** d.rng.uniform(1, 6)
    if drawn:
        template, middle = d.function()
        d.define(template)
    together = "- 2" in form
    spread = 10 ** d.rng.uniform(-5, -1) if drawn else abs(middle) * 10 ** d.rng.uniform(-5, -1)
    for name, letter in (("x", "F"), ("y", "G")):
        if letter not in form:
            continue
        if name == "y" and not drawn and not together:
            middle *= d.rng.uniform(0.5, 2.0)
        values = middle + spread * np.array([d.rng.uniform(-1, 1) for _ in range(n)])
        unit = np.full(n, spread)
        arguments[name] = Argument(values, unit, values, unit)
        form = re.sub(letter, f"g({name})" if drawn else name, form)
    if "w" in form:
        arguments["w"] = plain(d.around(1.0, (n,)))
    return d.piece(form, pointed=False, **arguments)


ELEMENTWISE = (increment, slope, from_constant, remainder, difference, indeterminate, ratio, log_ratio)
ELEMENTWISE = (*ELEMENTWISE, second_difference, jensen)


def weighted(d: Draw) -> Piece:
    """Weighted sums and means of the other laws, over arrays."""
    piece = d.rng.choice(ELEMENTWISE)(d)
    e = piece.expression
    form = d.one(f"w @ ({e})", f"w @ ({e})", f"np.sum(w*({e}))", f"np.mean({e})", f"w @ ({e})/np.sum(w)")
    weights = {"w": plain(d.around(1.0, (LENGTH,)))} if "w" in form else {}
    return Piece(piece.definitions, form, {**piece.arguments, **weights}, piece.pointed)


LAWS: dict[str, Callable[[Draw], Piece]] = {
    "increment": increment,
    "difference quotient": slope,
    "from a constant": from_constant,
    "remainder": remainder,
    "one limit": difference,
    "0/0": indeterminate,
    "ratio less 1": ratio,
    "log of a ratio": log_ratio,
    "second difference": second_difference,
    "Jensen, Bregman": jensen,
    "divergence": divergence,
    "entropy": entropy,
    "parameter": family,
    "moment": moment,
    "weighted": weighted,
}
"""The laws by the names under which they are counted."""


def random_program(seed: Any, law: str) -> Program:
    """Return the program of a law that a seed names; raises Undrawn where the draw comes to nothing."""
    rng = random.Random(repr((seed, law)))
    array = law == "weighted" or rng.random() < 0.35
    d = Draw(rng, (LENGTH,) if array else (), elementwise=law == "weighted")
    piece = LAWS[law](d)
    names = tuple(piece.arguments)
    body = f"def f({', '.join(names)}):\n    return {piece.expression}\n"
    text = "\n\n".join([*piece.definitions, body])
    return Program(law, text, names, tuple(piece.arguments.values()), piece.pointed)
