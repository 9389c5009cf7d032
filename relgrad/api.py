"""The public transformations: functions of functions, each a rule that is traced in place of the user's function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, update_wrapper
from typing import Any, TypedDict, Unpack

import numpy as np

from relgrad.bounds import is_empty
from relgrad.conventions import DEFAULT, Conventions
from relgrad.differentiate import jacobian_of, positions_of, pull_along, push_along, value_and_gradient
from relgrad.errors import AssumptionError, ConventionError, RelationError, TraceError
from relgrad.leaf import Input
from relgrad.relation import Library, Relation, negative, nonnegative, positive
from relgrad.relations import LIBRARY  # pyright: ignore[reportMissingImports]  # from relations/, see pyproject
from relgrad.schedule import Strategy
from relgrad.schedule import strategy as strategy_of
from relgrad.term import term
from relgrad.trace.assume import Ranges, assuming
from relgrad.trace.containers import flatten
from relgrad.trace.makers import stood_in
from relgrad.trace.tracer import Tracer
from relgrad.transformed import Function, Settings, Transformed
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, Interval, array_type

Argnums = int | Sequence[int]
Relations = Library | Iterable[Relation] | None
"""What `relations=` takes: None is the library of the package."""
Named = str | Strategy
"""What `strategy=` takes: a strategy or its name."""
Range = Interval | tuple[float, float] | Callable[..., Any]
"""What `assume=` takes for an argument: an interval, closed bounds, or `positive`, `nonnegative`, `negative`."""


class How(TypedDict, total=False):
    """The options of every transformation.

    `relations` and `strategy` say how the function is rewritten, `conventions` what to take where analysis leaves a
    choice, and `assume` where its arguments lie, by name or position: `assume={"x": rg.positive, 1: (0, 1)}`. `nan` is
    the convention of that name: "propagate" or "real".
    `validate=False` leaves out the trial of the rewritten program against the program as written.
    `seconds` bounds the search for relations on the first call: when they are over, what has been found is compiled,
    with a warning, `OutOfFuel`. Without it, all is looked at.
    Sums in which digits may cancel though relations have had their say are watched; where they do, the program is
    computed once more as written, with twice the precision of floats. `precise=False` leaves that out.
    """

    relations: Relations
    strategy: Named
    conventions: Conventions | None
    nan: str
    assume: Mapping[str | int, Range] | None
    validate: bool
    seconds: float | None
    precise: bool


def stabilize(fun: Function, **how: Unpack[How]) -> Transformed:
    """Return the same function, rewritten so that it neither overflows nor cancels where a relation can help.

    >>> softmax = stabilize(lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True))
    >>> softmax(np.array([1e-18, 1e18, -1e18]))
    array([0., 1., 0.])
    """
    settings, body = _settings(fun, how)
    return Transformed(fun, body, "stabilize", settings)


def grad(fun: Function, argnums: Argnums = 0, **how: Unpack[How]) -> Transformed:
    """Return the function that computes ∂fun/∂args[argnums], in the structure of those arguments.

    `fun` must return a scalar. Raises GradientError where it does not, or where an argument is not floating.

    >>> grad(lambda x: np.log(np.exp(x).sum()))(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    settings, body = _settings(fun, how)
    return Transformed(fun, _rule(_gradient, fun, body, argnums), "grad", settings, _options(argnums))


def value_and_grad(fun: Function, argnums: Argnums = 0, **how: Unpack[How]) -> Transformed:
    """Return the function that computes (fun(*args), ∂fun/∂args[argnums]) together."""
    settings, body = _settings(fun, how)
    rule = _rule(value_and_gradient, fun, body, argnums)
    return Transformed(fun, rule, "value_and_grad", settings, _options(argnums))


def vjp(fun: Function, *primals: Any, **how: Unpack[How]) -> tuple[Any, Transformed]:
    """Return fun(*primals) and its pullback: cotangent of the result ↦ cotangents of the primals, a tuple.

    A primal without derivative (integers, text) has the cotangent None. The pullback's source is a function
    of (primals, cotangent). It keeps the primals; what fun reads beside them it reads when it is called.

    >>> y, pullback = vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> float(y), [float(g) for g in pullback(1.0)]
    (12.0, [4.0, 3.0])
    """
    settings, body = _settings(fun, how)
    value = stabilize(fun, **how)(*primals)
    leaves, structure = flatten(primals)
    kept = structure.unflatten([np.array(x) if issubclass(type(x), np.ndarray) else x for x in leaves])
    return value, Transformed(fun, partial(pull_along, body), "vjp", settings, first=(kept,))


def jvp(fun: Function, primals: Any, tangents: Any, **how: Unpack[How]) -> tuple[Any, Any]:
    """Return fun(*primals) and its derivative along the tangents, one for each primal (None for integers).

    >>> [float(y) for y in jvp(np.sin, (0.0,), (2.0,))]
    [0.0, 2.0]
    """
    return pushforward(fun, **how)(primals, tangents)


def pushforward(fun: Function, **how: Unpack[How]) -> Transformed:
    """Return the function (primals, tangents) ↦ (fun(*primals), its derivative along the tangents)."""
    settings, body = _settings(fun, how)
    return Transformed(fun, partial(push_along, body), "jvp", settings)


def jacobian(fun: Function, argnums: Argnums = 0, **how: Unpack[How]) -> Transformed:
    """Return the function that computes ∂fun/∂args[argnums] of shape fun's shape + the argument's shape."""
    settings, body = _settings(fun, how)
    return Transformed(fun, _rule(jacobian_of, fun, body, argnums), "jacobian", settings, _options(argnums))


def hessian(fun: Function, argnums: Argnums = 0, **how: Unpack[How]) -> Transformed:
    """Return the function that computes ∂²fun/∂args[argnums]², for a scalar fun.

    >>> hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    settings, _ = _settings(fun, how)
    rule = _rule(jacobian_of, fun, grad(fun, argnums, **how), argnums)
    return Transformed(fun, rule, "hessian", settings, _options(argnums))


def _rule(rule: Function, fun: Function, *options: Any) -> Function:
    """Return a rule with its options given, under the name and signature of the function that it differentiates."""
    return update_wrapper(partial(_applied, rule, *options), fun, updated=())


def _applied(rule: Function, body: Function, argnums: Argnums, /, *args: Any, **kwargs: Any) -> Any:
    return rule(body, argnums, args, kwargs)


def _gradient(*call: Any) -> Any:
    return value_and_gradient(*call)[1]


def symbol(
    name: str,
    shape: int | Sequence[int | None] | None = (),
    dtype: Any = np.float64,
    assume: Range = REAL,
) -> Tracer:
    """Return a symbolic array to build graphs by hand with; extents that are not known yet are None.

    `assume` says where its entries lie. Raises TraceError for what is no shape, and for dtypes other than those of
    real numbers; AssumptionError for what is no range.

    >>> symbol("x", shape=(None, 3))
    Tracer(x, float64, (?, 3))
    """
    extents = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not all(n is None or (isinstance(n, (int, np.integer)) and n >= 0) for n in extents):
        raise TraceError(
            f"shape={shape!r} is no shape", cure="pass extents of 0 and more, or None where unknown"
        )
    if np.dtype(dtype).kind not in "biuf":
        raise TraceError(f"symbol {name} cannot have dtype {np.dtype(dtype)}", cure="use real numbers")
    kind = array_type(dtype, [None if n is None else int(n) for n in extents])
    return Tracer(term(Input(name, kind, symbol=True, range=_range(name, assume))))


def _settings(fun: Function, how: How) -> tuple[Settings, Function]:
    """f, {strategy: "eager"} → Settings(…, EAGER, …), f: the settings that options mean, and the function as assumed.

    Raises TypeError for an option that there is not, and what says of a value that it is none of its option.
    """
    unknown = sorted(set(how) - set(How.__annotations__))
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; there are {', '.join(How.__annotations__)}")
    conventions = how.get("conventions")
    if conventions is None:  # those of a gradient hold for its own derivatives too
        conventions = fun.settings.conventions if isinstance(fun, Transformed) else DEFAULT
    if not isinstance(conventions, Conventions):
        raise ConventionError(
            f"conventions={conventions!r} are none",
            cure="pass relgrad.Conventions(ties='first'), for instance",
        )
    if "nan" in how:
        conventions = replace(conventions, nan=how["nan"])
    ranges = ranges_of(how.get("assume"))
    seconds = how.get("seconds")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0
    ):
        raise TraceError(
            f"seconds={seconds!r} is no time", cure="pass a number of seconds, or None for no bound"
        )
    settings = Settings(
        library_of(how.get("relations")),
        strategy_of(how.get("strategy", "default")),
        conventions,
        ranges,
        bool(how.get("validate", True)),
        seconds,
        bool(how.get("precise", True)),
    )
    return settings, assuming(stood_in(fun), ranges)


def library_of(relations: Any) -> Library:
    """Return the library that `relations=` means, by default that of the package; raises RelationError for none."""
    if relations is None:
        return LIBRARY
    rows = relations if isinstance(relations, Iterable) else (relations,)
    if not all(isinstance(row, Relation) for row in rows):
        raise RelationError(
            f"relations={relations!r} is no library of relations",
            cure="pass a Library, such as relgrad.LIBRARY.extended(row), or a sequence of relations",
        )
    return relations if isinstance(relations, Library) else Library(rows)


_SIGNS: dict[Any, Interval] = {positive: POSITIVE, nonnegative: NONNEGATIVE, negative: -POSITIVE}


def ranges_of(assume: Any) -> Ranges:
    """Return the ranges that `assume=` says, by name or position; raises AssumptionError for what says none."""
    assume = {} if assume is None else assume
    if not isinstance(assume, Mapping) or not all(isinstance(key, (str, int)) for key in assume):
        raise AssumptionError(
            f"assume={assume!r} names no arguments",
            cure="pass ranges by name or position, as in assume={'x': relgrad.positive, 1: (0, 1)}",
        )
    return tuple([(key, _range(key, value)) for key, value in assume.items()])


def _range(key: str | int, value: Any) -> Interval:
    """positive → (0, ∞), (0, 1) → [0, 1], Interval → itself; raises AssumptionError for what is no range."""
    if isinstance(value, Interval):
        known = value
    elif isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, (int, float)) for v in value):
        known = Interval(float(value[0]), float(value[1]))
    else:
        known = _SIGNS.get(value) if callable(value) else None
    if known is None or is_empty(known) or math.isnan(known.low) or math.isnan(known.high):
        raise AssumptionError(
            f"assume={{{key!r}: {value!r}}} is no range",
            cure="pass relgrad.positive, nonnegative or negative, bounds as (0, 1), or relgrad.Interval(0, 1, True)",
        )
    return known


def _options(argnums: Any) -> tuple[Any, ...]:
    return isinstance(argnums, Iterable), *positions_of(argnums)
