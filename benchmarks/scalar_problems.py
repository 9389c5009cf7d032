"""The classical problems of cancellation: naive formula, textbook solution and relgrad, in bits of error.

For each problem the value and every partial derivative are measured at inputs drawn evenly among the floats of its
domain. Derivatives of the naive formula and of the textbook's are those of automatic differentiation; relgrad is
given the naive formula only. The truth comes from ball arithmetic.

Sources: R. W. Hamming, "Numerical Methods for Scientists and Engineers", 2nd ed., chapter 3 (numbers as there);
W. Kahan, "How futile are mindless assessments of roundoff", 2006, and "Branch cuts", 1987; W. H. Press et al.,
"Numerical Recipes", 3rd ed., section 5.6; NIST DLMF chapter 4; D. Goldberg, "What every computer scientist should
know about floating-point arithmetic", 1991.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import relgrad as rg
from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.report import table
from relgrad.accuracy.sample import floats
from relgrad.balls.graph import Enclosure, enclose
from relgrad.schedule import schedule
from relgrad.schedule.strategy import NAIVE
from relgrad.trace.trace import trace

Function = Callable[..., Any]
Domain = tuple[float, float]

ALL, POSITIVE, UNIT = (-1.79e308, 1.79e308), (0.0, 1.79e308), (0.0, 1.0)
MODERATE, EXPONENT, SMALL = (-1e4, 1e4), (-700.0, 700.0), (-1.0, 1.0)


class Problem(NamedTuple):
    """A problem: its formula, the textbook's solution, where its arguments lie, and what they must obey."""

    name: str
    naive: Function
    textbook: Function
    domains: tuple[Domain, ...]
    given: Function = lambda *args: np.ones_like(args[0], dtype=bool)


def _step(x: Any, e: Any) -> Any:
    return (np.abs(e) < np.abs(x)) & (np.abs(e) > 1e-16 * np.abs(x))


def _real_roots(a: Any, b: Any, c: Any) -> Any:
    return (b * b - 4 * a * c > 0) & np.isfinite(b * b) & np.isfinite(a * c)


def small_root(a: Any, b: Any, c: Any) -> Any:
    """(−b + √(b² − 4ac))/2a, after section 5.6 of Numerical Recipes."""
    root = np.sqrt(b * b - 4 * a * c)
    return np.where(b < 0, (-b + root) / (2 * a), -2 * c / np.where(b < 0, 1.0, b + root))


def large_root(a: Any, b: Any, c: Any) -> Any:
    """(−b − √(b² − 4ac))/2a, after section 5.6 of Numerical Recipes."""
    root = np.sqrt(b * b - 4 * a * c)
    return np.where(b < 0, 2 * c / np.where(b < 0, root - b, 1.0), -(b + root) / (2 * a))


def residual(far: Function, near: Function, width: float = 0.03) -> Function:
    """A Taylor polynomial for small arguments, and the formula elsewhere."""
    return lambda x: np.where(np.abs(x) < width, near(x), far(np.where(np.abs(x) < width, 1.0, x)))


def _heron(a: Any, b: Any, c: Any) -> Any:
    """The area of a triangle from half its circumference."""
    s = (a + b + c) / 2
    return np.sqrt(s * (s - a) * (s - b) * (s - c))


def _needle(a: Any, b: Any, c: Any) -> Any:
    """The area of a triangle with a ≥ b ≥ c, after Kahan 1986, "Miscalculating area and angles …"."""
    return np.sqrt((a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c))) / 4


COEFFICIENT = (-1e150, 1e150)

PROBLEMS = (
    Problem(
        "3.1 √(x+1) − √x",
        lambda x: np.sqrt(x + 1) - np.sqrt(x),
        lambda x: 1 / (np.sqrt(x + 1) + np.sqrt(x)),
        (POSITIVE,),
    ),
    Problem(
        "3.3 sin(x+ε) − sin x",
        lambda x, e: np.sin(x + e) - np.sin(x),
        lambda x, e: 2 * np.cos(x + e / 2) * np.sin(e / 2),
        (MODERATE, MODERATE),
        _step,
    ),
    Problem(
        "3.4 (1 − cos x)/sin x", lambda x: (1 - np.cos(x)) / np.sin(x), lambda x: np.tan(x / 2), (MODERATE,)
    ),
    Problem(
        "3.5 arctan(N+1) − arctan N",
        lambda n: np.arctan(n + 1) - np.arctan(n),
        lambda n: np.arctan2(1, 1 + n * (n + 1)),
        (ALL,),
    ),
    Problem(
        "3.6 1/√x − 1/√(x+1)",
        lambda x: 1 / np.sqrt(x) - 1 / np.sqrt(x + 1),
        lambda x: 1 / (x * np.sqrt(x + 1) + (x + 1) * np.sqrt(x)),
        (POSITIVE,),
    ),
    Problem("3.7 eˣ − 1", lambda x: np.exp(x) - 1, lambda x: np.expm1(x), (EXPONENT,)),
    Problem(
        "3.8 (N+1)log(N+1) − N log N − 1",
        lambda n: (n + 1) * np.log(n + 1) - n * np.log(n) - 1,
        lambda n: np.log(n + 1) + n * np.log1p(1 / n) - 1,
        ((1.0, 1e300),),
    ),
    Problem(
        "3.9 1/x − cot x",
        lambda x: 1 / x - 1 / np.tan(x),
        residual(lambda x: 1 / x - 1 / np.tan(x), lambda x: x / 3 * (1 + x * x / 15)),
        (SMALL,),
    ),
    Problem(
        "3.10 log(1−x)/log(1+x)",
        lambda x: np.log(1 - x) / np.log(1 + x),
        lambda x: np.log1p(-x) / np.log1p(x),
        (SMALL,),
    ),
    Problem(
        "3.2.1 (−b + √(b²−4ac))/2a",
        lambda a, b, c: (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a),
        small_root,
        (COEFFICIENT,) * 3,
        _real_roots,
    ),
    Problem(
        "3.2.1 (−b − √(b²−4ac))/2a",
        lambda a, b, c: (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a),
        large_root,
        (COEFFICIENT,) * 3,
        _real_roots,
    ),
    Problem("3.3.1 1/(x+1) − 1/x", lambda x: 1 / (x + 1) - 1 / x, lambda x: -1 / (x * (x + 1)), (ALL,)),
    Problem(
        "3.3.2 tan(x+ε) − tan x",
        lambda x, e: np.tan(x + e) - np.tan(x),
        lambda x, e: np.sin(e) / (np.cos(x) * np.cos(x + e)),
        (MODERATE, MODERATE),
        _step,
    ),
    Problem(
        "3.3.3 1/(x+1) − 2/x + 1/(x−1)",
        lambda x: 1 / (x + 1) - 2 / x + 1 / (x - 1),
        lambda x: 2 / (x * (x * x - 1)),
        (ALL,),
    ),
    Problem(
        "3.3.4 ∛(x+1) − ∛x",
        lambda x: np.cbrt(x + 1) - np.cbrt(x),
        lambda x: 1 / (np.cbrt(x + 1) ** 2 + np.cbrt(x + 1) * np.cbrt(x) + np.cbrt(x) ** 2),
        (POSITIVE,),
    ),
    Problem(
        "3.3.5 cos(x+ε) − cos x",
        lambda x, e: np.cos(x + e) - np.cos(x),
        lambda x, e: -2 * np.sin(x + e / 2) * np.sin(e / 2),
        (MODERATE, MODERATE),
        _step,
    ),
    Problem(
        "3.3.6 log(N+1) − log N",
        lambda n: np.log(n + 1) - np.log(n),
        lambda n: np.log1p(1 / n),
        ((1e-300, 1.7e308),),
    ),
    Problem(
        "3.3.7 eˣ − 2 + e⁻ˣ",
        lambda x: np.exp(x) - 2 + np.exp(-x),
        lambda x: 4 * np.sinh(x / 2) ** 2,
        (EXPONENT,),
    ),
    Problem(
        "3.4.1 (1 − cos x)/x²",
        lambda x: (1 - np.cos(x)) / (x * x),
        lambda x: 0.5 * (np.sin(x / 2) / (x / 2)) ** 2,
        (ALL,),
    ),
    Problem(
        "3.4.2 ε(e^((a+b)ε)−1)/((e^aε−1)(e^bε−1))",
        lambda a, b, e: e * (np.exp((a + b) * e) - 1) / ((np.exp(a * e) - 1) * (np.exp(b * e) - 1)),
        lambda a, b, e: e * np.expm1((a + b) * e) / (np.expm1(a * e) * np.expm1(b * e)),
        ((-1e2, 1e2), (-1e2, 1e2), SMALL),
        lambda a, b, e: np.abs(a * b * e * e) > 1e-290,
    ),
    Problem(
        "3.4.3 log((1−ε)/(1+ε))",
        lambda e: np.log((1 - e) / (1 + e)),
        lambda e: np.log1p(-e) - np.log1p(e),
        (SMALL,),
    ),
    Problem(
        "3.4.4 √((e²ˣ−1)/(eˣ−1))",
        lambda x: np.sqrt((np.exp(2 * x) - 1) / (np.exp(x) - 1)),
        lambda x: np.sqrt(1 + np.exp(x)),
        ((-700.0, 350.0),),
    ),
    Problem(
        "3.4.5 (x − sin x)/(x − tan x)",
        lambda x: (x - np.sin(x)) / (x - np.tan(x)),
        residual(lambda x: (x - np.sin(x)) / (x - np.tan(x)), lambda x: -0.5 + 9 / 40 * x * x),
        (MODERATE,),
    ),
    Problem(
        "3.4.6 (x+1)^(1/n) − x^(1/n)",
        lambda x, n: (x + 1) ** (1 / n) - x ** (1 / n),
        lambda x, n: np.exp(np.log(x) / n) * np.expm1(np.log1p(1 / x) / n),
        ((1e-10, 1e300), (1.0, 1e10)),
    ),
    Problem(
        "3.5 e^(ax) − 1",
        lambda a, x: np.exp(a * x) - 1,
        lambda a, x: np.expm1(a * x),
        ((-10.0, 10.0), (-70.0, 70.0)),
    ),
    Problem(
        "3.11 eˣ/(eˣ − 1)", lambda x: np.exp(x) / (np.exp(x) - 1), lambda x: -1 / np.expm1(-x), (EXPONENT,)
    ),
    Problem(
        "(x+h)² − x²", lambda x, h: (x + h) ** 2 - x**2, lambda x, h: h * (2 * x + h), ((-1e150, 1e150),) * 2
    ),
    Problem("a² − b²", lambda a, b: a**2 - b**2, lambda a, b: (a - b) * (a + b), ((-1e150, 1e150),) * 2),
    Problem("√(1+x) − 1", lambda x: np.sqrt(1 + x) - 1, lambda x: x / (np.sqrt(1 + x) + 1), ((-1.0, 1e300),)),
    Problem(
        "1 − √(1−x²)",
        lambda x: 1 - np.sqrt(1 - x * x),
        lambda x: x * x / (1 + np.sqrt((1 - x) * (1 + x))),
        (SMALL,),
    ),
    Problem(
        "√(x²+1) − x", lambda x: np.sqrt(x * x + 1) - x, lambda x: 1 / (np.hypot(x, 1) + x), ((0.0, 1e300),)
    ),
    Problem("√(x² + y²)", lambda x, y: np.sqrt(x * x + y * y), lambda x, y: np.hypot(x, y), (ALL, ALL)),
    Problem(
        "(1+x)^n",
        lambda x, n: (1 + x) ** n,
        lambda x, n: np.exp(n * np.log1p(x)),
        ((0.0, 1.0), (1.0, 1e20)),
        lambda x, n: x * n < 700,
    ),
    Problem(
        "((1+x)^n − 1)/x",
        lambda x, n: ((1 + x) ** n - 1) / x,
        lambda x, n: np.expm1(n * np.log1p(x)) / x,
        ((1e-20, 1.0), (1.0, 1e3)),
        lambda x, n: x * n < 500,
    ),
    Problem("(eˣ − 1)/x", lambda x: (np.exp(x) - 1) / x, lambda x: np.expm1(x) / x, (EXPONENT,)),
    Problem("(1 − e⁻ˣ)/x", lambda x: (1 - np.exp(-x)) / x, lambda x: -np.expm1(-x) / x, (EXPONENT,)),
    Problem("x/(eˣ − 1)", lambda x: x / (np.exp(x) - 1), lambda x: x / np.expm1(x), (EXPONENT,)),
    Problem(
        "(eˣ − 1 − x)/x²",
        lambda x: (np.exp(x) - 1 - x) / x**2,
        residual(lambda x: (np.expm1(x) - x) / x**2, lambda x: 0.5 + x / 6 + x * x / 24),
        (EXPONENT,),
    ),
    Problem("log(1+x)/x", lambda x: np.log(1 + x) / x, lambda x: np.log1p(x) / x, ((-1.0, 1e300),)),
    Problem("sin(x)/x", lambda x: np.sin(x) / x, lambda x: np.sin(x) / x, (ALL,)),
    Problem("1 − cos x", lambda x: 1 - np.cos(x), lambda x: 2 * np.sin(x / 2) ** 2, (ALL,)),
    Problem(
        "x − sin x",
        lambda x: x - np.sin(x),
        residual(lambda x: x - np.sin(x), lambda x: x**3 / 6 * (1 - x * x / 20)),
        (MODERATE,),
    ),
    Problem(
        "tan x − sin x",
        lambda x: np.tan(x) - np.sin(x),
        lambda x: 2 * np.tan(x) * np.sin(x / 2) ** 2,
        (MODERATE,),
    ),
    Problem(
        "1/cos x − 1", lambda x: 1 / np.cos(x) - 1, lambda x: 2 * np.sin(x / 2) ** 2 / np.cos(x), (MODERATE,)
    ),
    Problem("cosh x − 1", lambda x: np.cosh(x) - 1, lambda x: 2 * np.sinh(x / 2) ** 2, (EXPONENT,)),
    Problem(
        "(eˣ−e⁻ˣ)/(eˣ+e⁻ˣ)", lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)), np.tanh, (ALL,)
    ),
    Problem("(eˣ − e⁻ˣ)/2", lambda x: (np.exp(x) - np.exp(-x)) / 2, np.sinh, (EXPONENT,)),
    Problem("1 − tanh x", lambda x: 1 - np.tanh(x), lambda x: 2 / (1 + np.exp(2 * x)), ((-300.0, 300.0),)),
    Problem("1 − tanh²x", lambda x: 1 - np.tanh(x) ** 2, lambda x: 1 / np.cosh(x) ** 2, ((-300.0, 300.0),)),
    Problem(
        "log cosh x",
        lambda x: np.log(np.cosh(x)),
        lambda x: np.abs(x) + np.log1p(np.expm1(-2 * np.abs(x)) / 2),
        (ALL,),
    ),
    Problem("log(x + √(x²+1))", lambda x: np.log(x + np.sqrt(x * x + 1)), np.arcsinh, (ALL,)),
    Problem("½ log((1+x)/(1−x))", lambda x: 0.5 * np.log((1 + x) / (1 - x)), np.arctanh, (SMALL,)),
    Problem(
        "log x − log y",
        lambda x, y: np.log(x) - np.log(y),
        lambda x, y: np.log(x / y),
        ((1e-150, 1e150),) * 2,
    ),
    Problem(
        "coth x − 1/x",
        lambda x: 1 / np.tanh(x) - 1 / x,
        residual(lambda x: 1 / np.tanh(x) - 1 / x, lambda x: x / 3 * (1 - x * x / 15)),
        (EXPONENT,),
    ),
    Problem(
        "area of a triangle",
        _heron,
        _needle,
        ((0.5, 2.0),) * 3,
        lambda a, b, c: (a >= b) & (b >= c) & (a < b + c),
    ),
    Problem("log(x + √(x²−1))", lambda x: np.log(x + np.sqrt(x * x - 1)), np.arccosh, ((1.0, 1e300),)),
    Problem(
        "arccos(1 − x)", lambda x: np.arccos(1 - x), lambda x: 2 * np.arcsin(np.sqrt(x / 2)), ((0.0, 2.0),)
    ),
    Problem("log(eˣ + eʸ)", lambda x, y: np.log(np.exp(x) + np.exp(y)), np.logaddexp, (ALL, ALL)),
    Problem(
        "eˣ/(1 + eˣ)²",
        lambda x: np.exp(x) / (1 + np.exp(x)) ** 2,
        lambda x: 1 / (4 * np.cosh(x / 2) ** 2),
        (EXPONENT,),
    ),
    Problem("1/(1 + e⁻ˣ)", lambda x: 1 / (1 + np.exp(-x)), lambda x: (1 + np.tanh(x / 2)) / 2, (EXPONENT,)),
    Problem(
        "x·log(1 + 1/x)", lambda x: x * np.log(1 + 1 / x), lambda x: x * np.log1p(1 / x), ((1e-300, 1e300),)
    ),
    Problem(
        "∛(1+x) − 1 as a power",
        lambda x: (1 + x) ** (1 / 3) - 1,
        lambda x: np.expm1(np.log1p(x) / 3),
        ((-1.0, 1e300),),
    ),
    Problem(
        "log(1+x) − x",
        lambda x: np.log(1 + x) - x,
        residual(lambda x: np.log1p(x) - x, lambda x: -x * x / 2 * (1 - 2 * x / 3)),
        ((-1.0, 1e300),),
    ),
    Problem(
        "x/√(x² + y²)", lambda x, y: x / np.sqrt(x * x + y * y), lambda x, y: x / np.hypot(x, y), (ALL, ALL)
    ),
)


class Errors(NamedTuple):
    """The mean error in bits of the three programs for one quantity of a problem."""

    problem: str
    quantity: str
    naive: float
    textbook: float
    relgrad: float
    points: int


def arguments(problem: Problem, points: int, seed: int = 0) -> list[Any]:
    """Draw inputs evenly among the floats of the domain that obey what is given."""
    rng = np.random.default_rng(seed)
    kept: list[list[Any]] = []
    for _ in range(200):
        drawn = [floats(low, high, 4 * points)(rng) for low, high in problem.domains]
        with np.errstate(all="ignore"):
            kept.append([x[problem.given(*drawn)] for x in drawn])
        if sum(len(xs[0]) for xs in kept) >= points:
            break
    return [np.concatenate(parts)[:points] for parts in zip(*kept, strict=True)]


def truth(function: Function, args: Sequence[Any]) -> Enclosure:
    """Return the result of a function, or of a gradient, over the reals."""
    traced = trace(function, tuple(args))
    after = schedule(traced.outputs, rg.LIBRARY, NAIVE).after
    (found,) = enclose(after, dict(zip(traced.inputs, args, strict=True)), limit=4096)
    return found


def measure(problem: Problem, points: int) -> list[Errors]:
    """Return the errors of the value and of each partial derivative."""
    args = arguments(problem, points)
    found = []
    for wrt in (None, *range(len(args))):
        programs = _programs(problem, wrt)
        exact = truth(programs[0], args)
        errors = []
        for program in programs[1:]:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                errors.append(bits_of_error(np.broadcast_to(program(*args), args[0].shape), exact))
        known = ~np.isnan(errors[0])
        names = problem.naive.__code__.co_varnames
        quantity = "value" if wrt is None else f"∂/∂{names[wrt]}"
        means = [float(np.mean(e[known])) if known.any() else np.nan for e in errors]
        found.append(Errors(problem.name, quantity, *means, int(known.sum())))
    return found


def _programs(problem: Problem, wrt: int | None) -> list[Function]:
    """Return what is to be traced for the truth, and the three programs."""
    if wrt is None:
        return [problem.naive, problem.naive, problem.textbook, rg.stabilize(problem.naive)]
    cost, known = (lambda *args, f=f: np.sum(f(*args)) for f in (problem.naive, problem.textbook))
    plain, textbook = (rg.grad(f, wrt, strategy="naive") for f in (cost, known))
    return [lambda *args: plain(*args), plain, textbook, rg.grad(cost, wrt)]


def markdown(rows: Sequence[Errors]) -> str:
    """Return a table with a line for each problem: its value, and the worst of its partial derivatives."""
    lines = [
        "| problem | value: naive | textbook | relgrad | derivative: naive | textbook | relgrad |",
        "|---" * 7 + "|",
    ]
    for name in dict.fromkeys(e.problem for e in rows):
        value, *slopes = [e for e in rows if e.problem == name]
        worst = max(slopes, key=lambda e: e.relgrad - min(e.textbook, e.naive))
        name = name.replace("|", r"\|")
        lines.append("| " + " | ".join([name, *(f"{b:.2f}" for b in (*value[2:5], *worst[2:5]))]) + " |")
    return "\n".join(lines)


def told(rows: Sequence[Errors], as_markdown: bool) -> str:
    """Return all errors as a table, and where relgrad is behind; or the table of the documentation."""
    if as_markdown:
        return markdown(rows)
    head = ("problem", "quantity", "naive", "textbook", "relgrad", "points")
    shown = [(e.problem, e.quantity, *(f"{b:.2f}" for b in e[2:5]), str(e.points)) for e in rows]
    worse = [e for e in rows if e.relgrad > min(e.textbook, e.naive) + 1]
    end = f"{len(rows)} quantities; relgrad more than a bit behind the better of the others in {len(worse)}:"
    return "\n".join([table(head, shown), "", end, *(f"  {e.problem} {e.quantity}" for e in worse)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=256, help="inputs drawn for each problem")
    parser.add_argument("--only", default="", help="measure problems whose names contain this")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README")
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if options.only in p.name]
    print(told([e for p in chosen for e in measure(p, options.points)], options.markdown))


if __name__ == "__main__":
    main()
