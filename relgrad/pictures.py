"""Pictures of functions: their derivations step by step, their graphs, and their errors along inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from relgrad.accuracy.measure import Subject, measure, subjects_of
from relgrad.accuracy.result import Accuracy
from relgrad.api import Named, Relations, library_of, stabilize
from relgrad.calculus.series import Series
from relgrad.display.charts import Axis, ErrorCurve, ErrorMap
from relgrad.display.comb import Comb, Difference, Format
from relgrad.display.derivation import Explanation
from relgrad.display.graph import MOST, Graph
from relgrad.display.steps import Steps
from relgrad.display.text import show
from relgrad.errors import RelgradError, TraceError
from relgrad.explore.match import symbolic
from relgrad.interpret import interpret
from relgrad.op import Symbolic, as_term
from relgrad.relation import Library
from relgrad.schedule import strategy as strategy_of
from relgrad.step import Derivation
from relgrad.term import is_term, subterms
from relgrad.trace.arguments import parameters_of
from relgrad.transformed import Transformed
from relgrad.types import ArrayType

__all__ = ["comb", "difference", "error_along", "error_map", "graph", "steps"]

TESTS, CHANGES = 40, 12
"""So many tests of a program are followed along an input, and so many of the places where they change are marked."""


def steps(subject: Callable[..., Any] | Explanation, *args: Any, bits: bool = False) -> Steps:
    """Return the steps by which a function becomes what is computed for some arguments, to go through one by one.

    `subject` is a function, which is stabilised; what `grad`, `stabilize` and the others return; or what `explain`
    returned. Each step shows the whole program before and after, the law, its source, and what it gained; with `bits`,
    also how many bits are lost at the arguments before and after. In a notebook the steps open and close;
    `.widget()` is live, `.save(path)` writes a page, and `print` shows them as text.

    >>> import numpy as np
    >>> print(steps(lambda x: np.log(1 + np.exp(x)), 800.0)[0])
    1 of 1: log_of_one_plus_exponential — The log of one plus an exponential is a softplus.
      law:    log(1 + exp(x)) = softplus(x)
      source: Maechler 2012, eq. 10
      gain:   operations 3 → 1; places that overflow or become NaN at the arguments 1 → 0
      before: ⟦log(1.0 + exp(x))⟧
      after:  ⟦softplus(x)⟧

    Raises what tracing the function raises.
    """
    if isinstance(subject, Explanation):
        return Steps(subject, bits=bits)
    program = subject if isinstance(subject, Transformed) else stabilize(subject)
    return Steps(program.explain(*args), bits=bits)


def graph(subject: Any, *args: Any, rewritten: bool = False, most: int = MOST) -> Graph:
    """Return the picture of a term, of several, of a function, or of what `grad` and the others return.

    A function of numbers needs no arguments; of others, and of what `grad` returns, they are those of a call. Gradients
    are implicit, drawn as a shell around what they differentiate; `rewritten` shows what is computed instead. At most
    `most` terms are drawn; `.dot()` is Graphviz source of all of them.

    >>> import numpy as np
    >>> print(graph(lambda x: np.exp(x) / (1 + np.exp(x))))
    Graph of <lambda>: 5 terms
    x  float64
    t1 = exp(x)  float64
    1  float64
    t2 = add(1, t1)  float64
    t3 = divide(t1, t2)  float64  result

    Raises what tracing the function raises, and TraceError for what is no expression.
    """
    if isinstance(subject, Explanation):
        subject = subject.derivation
    if isinstance(subject, Derivation):
        return Graph(subject.after if rewritten else subject.before, most=most)
    name = getattr(subject, "__name__", "")
    if callable(subject) and not isinstance(subject, Symbolic):
        if not isinstance(subject, Transformed) and not args and not rewritten:
            return Graph(_terms(symbolic(subject)), name, most)
        program = subject if isinstance(subject, Transformed) else stabilize(subject)
        name = repr(program).removeprefix("<relgrad ").removesuffix(">") if program is subject else name
        derivation = program.explain(*args).derivation
        return Graph(derivation.after if rewritten else derivation.before, name, most)
    return Graph(_terms(subject), most=most)


def _terms(subject: Any) -> list[Any]:
    """[x + 1, sin(x)] → their terms: of an expression, or of a container of them; raises TraceError if any has
    variables.
    """
    parts = subject if isinstance(subject, (list, tuple)) and not is_term(subject) else [subject]
    terms = [as_term(x) for x in parts]
    if not terms or not all(is_term(t) and t.ground for t in terms):
        raise TraceError(
            "there is nothing to draw, or it has variables",
            cause="graphs are drawn of terms without logic variables",
            cure="write symbols in place of variables: relgrad.symbol",
        )
    return terms


def error_along(
    fun: Callable[..., Any],
    low: float,
    high: float,
    *others: Any,
    along: int | str = 0,
    points: int = 150,
    gradient: bool = False,
    spacing: str | None = None,
    seed: int = 0,
    relations: Relations = None,
    strategy: Named = "default",
) -> ErrorCurve:
    """Return the picture of the bits that a function loses while a number among its arguments goes from low to high.

    `along` is the number's position or name; `others` are the other arguments, in their order. With `gradient` it is
    the derivative with respect to that number whose bits are counted. Where the range has three orders of magnitude,
    `spacing` is "log", else "linear"; "log" across zero has both signs. Where the rewritten function goes from one
    formula to another is marked. The picture has `.svg()` and `.save(path)`; its `str` is a table.

    >>> import numpy as np
    >>> curve = error_along(lambda x: (1 - np.cos(x)) / x**2, 1e-9, 1.0, points=50)
    >>> max(curve.naive) > 50, max(curve.rewritten) < 2
    (True, True)

    Raises RelgradError for a range that is none, what tracing the function raises, OpError for what is no function of
    the reals.
    """
    index, name = _argument(fun, along, len(others) + 1)
    axis = _axis(low, high, spacing)
    numbers = axis.points(points, np.random.default_rng(seed))
    argument = lambda x: (*others[:index], x, *others[index:])
    library, how = library_of(relations), strategy_of(strategy)
    found = _measured(fun, [argument(x) for x in numbers], library, how, index if gradient else None, seed)
    subjects = subjects_of(fun, argument(numbers[0]), library, how, [index], gradient)
    changes = _changes(subjects[-1][0], argument, numbers)
    title = f"the derivative of {_name(fun)}" if gradient else _name(fun)
    return ErrorCurve(title, name, numbers, *found, axis, changes=changes)


def error_map(
    fun: Callable[..., Any],
    first: tuple[float, float],
    second: tuple[float, float],
    *others: Any,
    along: tuple[int | str, int | str] = (0, 1),
    points: int = 24,
    gradient: bool = False,
    spacing: str | None = None,
    seed: int = 0,
    relations: Relations = None,
    strategy: Named = "default",
) -> ErrorMap:
    """Return the picture of the bits that a function loses over the ranges of two numbers among its arguments.

    As `error_along`, with `points` along each; naive and rewritten stand side by side.

    >>> import numpy as np
    >>> bits = error_map(lambda x, y: np.log(np.exp(x) + np.exp(y)), (-900.0, 900.0), (-900.0, 900.0), points=5)
    >>> float(bits.naive.max()), float(bits.rewritten.max()) < 2
    (64.0, True)

    Raises what `error_along` raises.
    """
    (i, x_name), (j, y_name) = (_argument(fun, which, len(others) + 2) for which in along)
    if i == j:
        raise RelgradError(f"{x_name} is one argument, not two", cure="pass along=(0, 1), or two names")
    axes = _axis(*first, spacing), _axis(*second, spacing)
    rng = np.random.default_rng(seed)
    xs, ys = (axis.points(points, rng) for axis in axes)

    def arguments(x: float, y: float) -> tuple[Any, ...]:
        rest = iter(others)
        return tuple([x if n == i else y if n == j else next(rest) for n in range(len(others) + 2)])

    places = [arguments(x, y) for y in ys for x in xs]
    library, how = library_of(relations), strategy_of(strategy)
    found = _measured(fun, places, library, how, i if gradient else None, seed)
    naive, rewritten = (np.reshape(errors, (points, points)) for errors in found)
    title = f"the derivative of {_name(fun)} by {x_name}" if gradient else _name(fun)
    return ErrorMap(title, (x_name, y_name), xs, ys, naive, rewritten, axes)


def comb(low: float, high: float, format: Any = "float64") -> Comb:
    """Return the picture of the floats from low to high, as the teeth of a comb.

    `format` is a dtype, or a number of bits: floats with so small a significand can be seen all at once. Of very many
    floats evenly many are left out, and the picture says so.

    >>> print(comb(1, 8, 3))
    Floats from 1 to 8 (3-bit significands): 13
    from  to  apart  how many
       1   2   0.25         4
       2   4    0.5         4
       4   8      1         5

    Raises RelgradError for what is no interval of that format, and for what is no format.
    """
    return Comb(low, high, Format.of(format))


def difference(a: float, b: float, format: Any = "float64") -> Difference:
    """Return the picture of what is left of a − b: the floats around both and around the result, and the digits lost.

    >>> difference(1.0000001, 1.0).lost > 24
    True

    Raises what `comb` raises.
    """
    return Difference(a, b, Format.of(format))


def _argument(fun: Callable[..., Any], along: int | str, count: int) -> tuple[int, str]:
    """(f(x, y), "y") → 1, "y": the position and the name of an argument; raises RelgradError where there is none
    such.
    """
    names = list(parameters_of(fun))
    names += [f"argument {i}" for i in range(len(names), count)]
    index = names.index(along) if along in names else along
    if not isinstance(index, int) or not -count <= index < count:
        raise RelgradError(
            f"{_name(fun)} has no argument {along!r} among {count}",
            cause=f"its arguments are {', '.join(names[:count])}",
            cure="pass one of these names, or a position; the other arguments come after the range",
        )
    return index % count, names[index % count]


def _axis(low: float, high: float, spacing: str | None) -> Axis:
    """(0, 1, "linear") → Axis: raises RelgradError for bounds that are not low < high, both finite."""
    if spacing not in (None, "linear", "log"):
        raise RelgradError(f"spacing={spacing!r} is none", cure='pass "linear" or "log"')
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise RelgradError(
            f"from {low} to {high} is no range", cure="pass two finite numbers, the smaller one first"
        )
    return Axis.of(low, high, spacing)


def _measured(
    fun: Callable[..., Any], places: Sequence[Any], library: Library, how: Any, wrt: int | None, seed: int
) -> tuple[list[float], list[float]]:
    """f at [x₁, x₂] → [0, 52], [0, 0]: the most bits lost at each place, as written and as rewritten.

    Of the value, or of a derivative.
    """
    # Samplers that are drawn from once a point, in order.
    columns = [iter(column) for column in zip(*places, strict=True)]
    samplers = [lambda rng, column=column: next(column) for column in columns]
    found: Accuracy = measure(
        fun,
        samplers,
        library=library,
        strategy=how,
        points=len(places),
        seed=seed,
        argnums=None if wrt is None else [wrt],
        gradient=wrt is not None,
        atol=0.0,
    )
    worst = [[math.nan] * len(places), [math.nan] * len(places)]
    for errors in found.outputs:
        if errors.label.startswith("gradient") != (wrt is not None):
            continue
        for position, *both in zip(errors.points, errors.naive, errors.rewritten, strict=True):
            for series, bits in zip(worst, both, strict=True):
                series[position] = float(np.fmax.reduce([series[position], *np.ravel(bits)]))
    return worst[0], worst[1]


def _changes(
    subject: Subject, arguments: Callable[[float], Any], numbers: Sequence[float]
) -> list[tuple[float, str]]:
    """where(x < 1, …) on [0, 2] → [(1.0, "x < 1")]: where a test of the rewritten program changes its answer, in
    words.
    """
    found: list[tuple[float, str]] = []
    for said, term, holds in _tests(subject):

        def answer(x: float, term: Any = term, holds: Any = holds) -> bytes:
            """1.5 → bytes of x < 1 there: the answers of a test at a number."""
            with np.errstate(all="ignore"):
                return np.asarray(holds(interpret([term], subject.values(arguments(x)))[0])).tobytes()

        try:
            answers = [answer(x) for x in numbers]
            for (a, before), (b, after) in pairwise(zip(numbers, answers, strict=True)):
                if before != after and len(found) < CHANGES:
                    found.append((_bisected(answer, a, b, before), said))
        except Exception:  # whatever an op raises off its domain: the test has no answer there
            continue
    return sorted(found)


def _tests(subject: Subject) -> list[tuple[str, Any, Callable[[Any], Any]]]:
    """Series near 0 → ("the series within …", x, |v| < r), …:
    all that decides between formulas in the rewritten program.

    In words, the term that it asks, and the answer.
    """
    line = lambda t: show(t, width=10_000, limit=12).split("\n")[0]
    found: list[tuple[str, Any, Callable[[Any], Any]]] = []
    for t in subterms(*subject.derived.after):
        if isinstance(t.op, Series):
            point, radius = t.op.point, t.op.terms.radius
            x = t.rands[0]
            said = f"the series within {radius:.3g} of {line(x)} = {point:g}"
            found.append((said, x, lambda v, point=point, radius=radius: np.abs(v - point) < radius))
        elif isinstance(t.type, ArrayType) and t.type.dtype.kind == "b" and t.rands:
            found.append((line(t), t, lambda v: v))
    for t in subject.rewritten.program.guards:
        found.append((f"doubled arithmetic where {line(t)}", t, lambda v: v))
    return found[:TESTS]


def _bisected(answer: Callable[[float], bytes], low: float, high: float, before: bytes) -> float:
    """(x < 1, 0, 2) → 1.0: where an answer changes between two numbers."""
    for _ in range(60):
        middle = low / 2 + high / 2
        if low * high > 0 and max(abs(low), abs(high)) > 4 * min(abs(low), abs(high)):
            middle = math.copysign(math.sqrt(abs(low)) * math.sqrt(abs(high)), low)
        if middle in (low, high):
            break
        low, high = (middle, high) if answer(middle) == before else (low, middle)
    return high


def _name(fun: Any) -> str:
    return getattr(fun, "__name__", "f")
