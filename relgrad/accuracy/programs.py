"""Random programs around the left side of a row: what it is found in when real code is rewritten.

Variables stand for sums, constants, broadcasts and one another, axes for any axes, and the whole stands in a larger sum
or product, under a root, or multiplied out. Where conditions look into terms, programs are deeper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from relgrad.accuracy.grammar import NUMBERS, Grammar
from relgrad.accuracy.instance import bound, is_of_gradient, roles_of
from relgrad.logic.unify import fresh, is_variable, label_of, reify_term, unknowns
from relgrad.logic.view import LIMIT, sum_of
from relgrad.op import as_term
from relgrad.ops import (
    log_softmax,
    logsumexp,
    power_difference,
    softmax,
    softmax_pullback,
    softplus,
    xlog_ratio,
    xlogy,
)
from relgrad.relation import Relation
from relgrad.term import Term, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, Interval

INTERVALS = (
    REAL,
    REAL,
    REAL,
    POSITIVE,
    POSITIVE,
    NONNEGATIVE,
    UNIT,
    -POSITIVE,
    Interval(-1.0, 1.0, True, True),
)
"""Where the entries of arrays lie that stand for variables."""


PLAIN = 0.25
"""How often the variables are arrays of one shape, which is square for functions of matrices."""

ENTRIES: tuple[Callable[[Grammar, Any], Any], ...] = (
    lambda g, x: x,
    lambda g, x: x,
    lambda g, x: x[..., :1],
    lambda g, x: x[0],
    lambda g, x: x[..., -1],
    lambda g, x: x[..., 1:],
    lambda g, x: x[::2],
)
"""Entries of an array: all, one, some."""

RELATED: tuple[Callable[[Grammar, Any], Any], ...] = (
    *ENTRIES,
    lambda g, x: g.reduced(x),
    lambda g, x: x / 3,
    lambda g, x: 2 * x,
    lambda g, x: -x,
    lambda g, x: 1 - x,
    lambda g, x: 1 / x,
    lambda g, x: x - np.mean(x, axis=-1, keepdims=True),
    lambda g, x: softmax_pullback(x, softmax(x, axis=-1), axis=-1),
    lambda g, x: log_softmax(x, axis=-1)[..., 0],
    lambda g, x: log_softmax(x, axis=-1)[0],
)
"""How one variable stands for another one again: entries, a sum or a multiple of it, what it lacks of its mean."""


VALUES: tuple[Callable[[Grammar], Any], ...] = (
    lambda g: Tracer(as_term(g.one_of(NUMBERS))),
    lambda g: Tracer(as_term(g.rng.integers(-3, 4, g.shape()) / 2)),
    lambda g: g.array() + g.array(),
    lambda g: g.array() - g.array(POSITIVE),
    lambda g: g.array() * g.array(),
    lambda g: g.stretched(g.array(shape=(1,) * len(g.frame))),
    lambda g: g.reduced(g.array()),
    lambda g: g.expression(1),
    lambda g: g.expression(2),
)
"""What stands for a variable besides an array: a number, numbers, or something that is computed."""


class Program(NamedTuple):
    """A term, and the arrays in it."""

    term: Term
    leaves: dict[str, Term]


def around_row(row: Relation, rng: np.random.Generator) -> Program:
    """log(eᵃ) = a → y·log(exp(Σ x)) + 2, …: a random program that holds the left side of a row.

    Raises what NumPy and the ops raise where the shapes that were drawn do not go together.
    """
    grammar, left = left_side(row, rng)
    return Program(as_term(extended(row, left, grammar)), grammar.leaves)


def around_simplification(name: str, rng: np.random.Generator) -> Program:
    """cancel → (x·y + z)/y, …: a random program in which sums and products meet as a simplification wants them to."""
    grammar = Grammar(rng)
    spelling = SPELLINGS.get(name)
    if spelling is None or grammar.chance(0.3):
        return Program(as_term(_arithmetic(grammar)), grammar.leaves)
    made = spelling(grammar, *[_value(grammar) for _ in range(4)])
    if grammar.chance(0.5):
        more = _value(grammar)
        made = grammar.one_of(
            (lambda: made * more, lambda: made + more, lambda: more / made, lambda: more - made)
        )()
    return Program(as_term(made), grammar.leaves)


def left_side(row: Relation, rng: np.random.Generator) -> tuple[Grammar, Any]:
    """log(eᵃ) = a → grammar, log(exp(x·y)): a grammar and the left side of a row on expressions of it."""
    names, axes, sought, read = roles_of(row)
    flat, directed = (
        any(condition.__name__ == name for condition in row.conditions)
        for name in ("constant_along", "direction_cosine")
    )
    grammar = Grammar(rng)
    plain = grammar.chance(PLAIN)
    if plain or (axes and not grammar.frame):
        grammar = Grammar(rng, grammar.one_of(((2, 2), (3, 3), (2, 3, 3), (2, 1, 1), (3,), (2, 3))))
    along = grammar.axes()
    values: dict[str, Any] = {n: along if grammar.chance(0.8) else grammar.axes() for n in names if n in axes}
    values |= {n: Tracer(fresh(n)) for n in names if n in sought.difference(axes)}
    made: dict[str, Any] = {}
    row_of_all = _row(grammar) if sought and grammar.chance(0.4) else None
    for n in rng.permutation([n for n in names if n not in values]):
        others = list(made.values())
        if row_of_all is not None:
            made[n] = grammar.one_of(ENTRIES)(grammar, row_of_all)
        elif n in read:
            made[n] = _direction(grammar) if directed else _deep(grammar, others)
        elif plain:
            made[n] = grammar.array(grammar.one_of(INTERVALS), grammar.frame)
        elif sought or (others and grammar.chance(0.25)):
            made[n] = grammar.one_of(RELATED)(grammar, grammar.one_of(others or [grammar.array()]))
        else:
            made[n] = _value(grammar)
        if axes and made[n].ndim < -min(along) and grammar.chance(0.7):
            made[n] = grammar.stretched(made[n])
        if flat and made[n].ndim and grammar.chance(0.4):
            own = tuple(a for a in along if -a <= made[n].ndim)
            made[n] = np.sum(made[n], axis=own, keepdims=True)
    values |= made
    values |= _distances(row, values)
    if is_of_gradient(row):
        return grammar, Tracer(reify_term(row.left, bound(row, values)))
    return grammar, row.function(*[values[n] for n in names])[0]


def _row(grammar: Grammar) -> Any:
    """Return an array or a distribution along it, entries of which variables stand for."""
    x = grammar.array(shape=grammar.one_of(((2,), (3,), (4,), grammar.frame or (1,))))
    return grammar.one_of((lambda: x, lambda: log_softmax(x, axis=-1), lambda: softmax(x, axis=-1)))()


def _value(grammar: Grammar) -> Any:
    """Return an expression for a variable: an array half of the time."""
    if grammar.chance(0.5):
        return grammar.array(grammar.one_of(INTERVALS))
    return grammar.one_of(VALUES)(grammar)


def _direction(grammar: Grammar) -> Any:
    """→ x/hypot(x, y), v[…, 0]/‖v‖, …: an entry of a vector over its length, or all of them."""
    x, y, z = (grammar.array(grammar.one_of(INTERVALS)) for _ in range(3))
    v = grammar.array(shape=grammar.one_of(((2,), (3,), (2, 3), (3, 1))))
    return grammar.one_of(
        (
            lambda: x / np.hypot(x, y),
            lambda: -y / np.sqrt(x * x + y * y),
            lambda: z / np.hypot(np.hypot(x, y), z),
            lambda: v[..., 0] / np.linalg.norm(v, axis=-1),
            lambda: grammar.one_of(ENTRIES)(grammar, v / np.linalg.norm(v, axis=-1, keepdims=True)),
            lambda: v[0] / np.linalg.norm(v, axis=0),
        )
    )()


def _deep(grammar: Grammar, others: Sequence[Any]) -> Any:
    """→ exp(x)·y, Σ z + 2, …: an expression for a variable that conditions look into:
    a deep one, or a sum of another.
    """
    if not others or grammar.chance(0.4):
        return grammar.expression(int(grammar.rng.integers(1, 4)), grammar.chance(0.8))
    more = grammar.one_of((0.0, *NUMBERS)) if grammar.chance(0.7) else grammar.expression(1, True)
    return grammar.reduced(grammar.one_of(others)) + more


def _distances(row: Relation, values: dict[str, Any]) -> dict[str, Any]:
    """{x, y} → {d: x − y}: the distances that ops take together with two operands, as their differences."""
    found: dict[str, Any] = {}
    state = {
        v: as_term(values[label_of(v)]) for v in row.variables if not isinstance(values[label_of(v)], tuple)
    }
    for node in subterms(row.left):
        if getattr(node.op, "distance", None) is not None:
            x, y, d = (node.rands[i] for i in node.op.distance)
            given = {p: Tracer(reify_term(p, state)) for p in (x, y, d)}
            if is_variable(d):
                found[label_of(d)] = given[x] - given[y]
            elif is_variable(x) and x not in unknowns(y) | unknowns(d):
                found[label_of(x)] = given[y] + given[d]
    return found


def extended(row: Relation, left: Any, grammar: Grammar) -> Any:
    """t → t, t + more, t·more, √t·more, …: the left side in a larger sum or product, or a power or multiple of it."""
    if grammar.chance(0.4) or row.pattern.kind == "op":
        return left
    left = Tracer(as_term(left))
    more = _value(grammar)
    if row.pattern.kind == "bag":
        return row.left.op(left, more)
    if row.pattern.kind == "sum":
        forms = (
            lambda: left + more,
            lambda: more - left,
            lambda: left * grammar.one_of(NUMBERS),
            lambda: _times(left, more),
            lambda: _times(left, more) + grammar.array(),
            lambda: left - grammar.reduced(more),
            lambda: sum([np.cos((k + 2) * more) for k in range(LIMIT)], left),
        )
    else:
        forms = (
            lambda: left * more,
            lambda: left / more,
            lambda: more / left,
            lambda: left**2 * more,
            lambda: np.sqrt(left) * more,
            lambda: np.sum(more * left, axis=grammar.axes(), keepdims=True),
            lambda: more * np.sum(left, axis=grammar.axes(), keepdims=True),
            lambda: left * grammar.reduced(more),
            lambda: reduce(mul, [np.cosh((k + 2) * more) for k in range(LIMIT)], left),
        )
    return (forms[-1] if grammar.chance(0.02) else grammar.one_of(forms[:-1]))()


def _times(total: Any, factor: Any) -> Any:
    """(x + y)·z → x·z + y·z: a sum with a factor multiplied into its summands."""
    view = sum_of(as_term(total))
    parts = [float(k) * Tracer(part) * factor for part, k in view.terms.items()]
    return (
        sum(parts, float(view.constant) * factor) if view.constant or not parts else sum(parts[1:], parts[0])
    )


def _arithmetic(grammar: Grammar) -> Any:
    """→ x·y/x − Σ y, …: sums and products of few parts that meet each other again, above, below, and inside
    reductions.
    """
    parts = [_value(grammar) for _ in range(3)]
    for _ in range(int(grammar.rng.integers(2, 6))):
        made = grammar.one_of(MEETINGS)(grammar, grammar.one_of(parts), grammar.one_of(parts))
        if grammar.fits(made):
            parts.append(made)
    return parts[-1]


MEETINGS: tuple[Callable[..., Any], ...] = (
    lambda g, x, y: x + y,
    lambda g, x, y: x - y,
    lambda g, x, y: x * y,
    lambda g, x, y: x / y,
    lambda g, x, y: g.reduced(x),
    lambda g, x, y: g.reduced(x) - g.reduced(y),
    lambda g, x, y: x**2,
    lambda g, x, y: x * g.one_of(NUMBERS),
)
"""How two parts of a program meet."""

SPELLINGS: dict[str, Callable[..., Any]] = {
    "cancel_summands": lambda g, a, b, c, d: a + b - g.one_of((a, b)),
    **dict.fromkeys(
        ("divide_pair", "divide_sum"),
        lambda g, a, b, c, d: g.one_of(
            (
                lambda: a / (a + b) - 1,
                lambda: c / (a + b) - a * c / (a + b) ** 2,
                lambda: a + b - (a + b) ** 2 / (a + b + c),
                lambda: g.one_of((2.0, c)) / np.expm1(a) + g.one_of((2.0, c)),
                lambda: np.exp(-2.0 * a) - 1.0 / (np.exp(2.0 * a) + b * b + np.exp(a)),
                lambda: 1.0 / np.hypot(a, b) - a * a / np.hypot(a, b) ** 3,
            )
        )(),
    ),
    "take_out_data": lambda g, a, b, c, d: a - a * b - 2.0 * a * c,
    "multiply_out": lambda g, a, b, c, d: (1.0 + a) * b - (b + c),
    "factor_square": lambda g, a, b, c, d: g.one_of((a**2, a**2 / 9, 4 * a**2)) - g.one_of((9.0, 1.0, 4.0)),
    "meaning_to_cancel": lambda g, a, b, c, d: g.one_of(
        (
            lambda: b * np.expm1(a) + b + c,
            lambda: scipy.special.erfc(a) - 1.0,
            lambda: power_difference(a, b, 3.0, a - b) + b**3.0,
        )
    )(),
    "take_out_complement": lambda g, a, b, c, d: g.one_of(
        (1.0 - (b + (1.0 - b) * c), 2.0 - b - (2.0 - b) * a * c)
    ),
    "apart": lambda g, a, b, c, d: np.cosh(a) - np.cos(b),
    "centre": lambda g, a, b, c, d: (
        np.sum(a * a, -1, keepdims=True) - np.sum(a, -1, keepdims=True) ** 2 / float(a.shape[-1])
    ),
    "beside_projection": lambda g, a, b, c, d: g.one_of(
        (
            lambda: whole(a * a) * whole(c * c) - whole(a * c) ** 2,
            lambda: 1.0 - whole(a) ** 2 / (float(a.shape[-1]) * whole(a * a)),
        )
    )(),
    "extreme_beside_sum": lambda g, a, b, c, d: g.one_of(
        (
            lambda: np.max(a, -1, keepdims=True) - logsumexp(a, axis=-1, keepdims=True),
            lambda: logsumexp(a * -2.0, axis=-1, keepdims=True) / 2.0 + np.min(a, -1, keepdims=True),
            lambda: logsumexp(a * whole(b), axis=-1, keepdims=True) - np.max(a, -1, keepdims=True) * whole(b),
            lambda: np.logaddexp(a * c, c * b) / c - np.maximum(b, a),
            lambda: 2.0 * np.minimum(0.0, a) - 2.0 * softplus(a),
        )
    )(),
    "lacking_entropy": lambda g, a, b, c, d: g.one_of(
        (
            lambda: np.log(float(a.shape[-1])) + whole(shares(a) * np.log(shares(a))),
            lambda: np.log(2.0) + a * np.log(a) + (1.0 - a) * np.log(1.0 - a),
            lambda: 1.0 + (xlogy(a, a) + scipy.special.xlog1py(1.0 - a, -a)) / np.log(2.0),
        )
    )(),
    "relative_entropy": lambda g, a, b, c, d: g.one_of(
        (
            lambda: b * whole(xlog_ratio(shares(a), shares(c), shares(a) - shares(c))),
            lambda: whole(xlogy(a, a / whole(a) * float(a.shape[-1]))),
        )
    )(),
    "read_square": lambda g, a, b, c, d: a**2 - g.one_of((2.0, -2.0)) * a * b + b**2,
    "residual": lambda g, a, b, c, d: 2.0 * scipy.special.expit(a) - 2.0 * g.new(),
    "complement": lambda g, a, b, c, d: g.one_of(
        (
            lambda: 1.0 - scipy.special.expit(a) * (1.0 - b),
            lambda: 2.0 - 2.0 * scipy.special.ndtr(a),
            lambda: b + b * np.tanh(a),
            lambda: 1.0 + np.sin(a) * scipy.special.expit(b),
            lambda: 1.0 - np.exp(-np.square(a)) * scipy.special.expit(b) * scipy.special.ndtr(c),
            lambda: (1.0 + a) * (1.0 - b) - 1.0 + b,
            lambda: b + b * np.expm1(a) ** 3.0,
            lambda: 2.0 + np.tanh(a) - scipy.special.expit(b),
        )
    )(),
    "cross_products": lambda g, a, b, c, d: crossed(g, *[g.new() for _ in range(4)]),
    "read_mean": lambda g, a, b, c, d: logsumexp(a, axis=-1, keepdims=True) - np.log(float(a.shape[-1])),
    "cancel_factors": lambda g, a, b, c, d: g.one_of(
        (lambda: a * b / a, lambda: np.exp(a) * np.exp(b) / c)
    )(),
    "scale_factors": lambda g, a, b, c, d: scipy.special.i1(a) * b / scipy.special.i0(a),
    "distribute_to_cancel": lambda g, a, b, c, d: a * (b / a + c),
    "bare_length": lambda g, a, b, c, d: leg_over_length(a, b) * c / np.hypot(a, b),
    "power_of_share": lambda g, a, b, c, d: scipy.special.expit(a) ** b,
    "square_at_one": lambda g, a, b, c, d: a**2 + b**2 - 2.0 * a * b * np.cos(c),
    "join_pieces": lambda g, a, b, c, d: swapped(np.exp(a), scipy.special.expit(a)),
    "entries_left": lambda g, a, b, c, d: np.sum(a**2, -1) - a[..., 0] ** 2,
    "between_entries": lambda g, a, b, c, d: steps(np.cumsum(np.concatenate([a, b + 0 * a], -1), -1)),
    "squared_distances": lambda g, a, b, c, d: expanded(a, a * np.cos(a)),
}
"""Programs to which simplifications are meant to apply."""


def swapped(x: Any, y: Any) -> Any:
    """Return a difference of pieces that are joined in either order."""
    return np.concatenate([x, y], -1) - np.concatenate([y, x], -1)


def steps(x: Any) -> Any:
    """Return the differences of neighbours along the last axis."""
    return x[..., 1:] - x[..., :-1]


def whole(x: Any) -> Any:
    """Return the sum along the last axis."""
    return np.sum(x, -1, keepdims=True)


def shares(x: Any) -> Any:
    """Return what each entry is of the sum along the last axis."""
    return x / whole(x)


def expanded(x: Any, y: Any) -> Any:
    """Return squared distances of rows, multiplied out."""
    squares = [np.sum(z * z, -1, keepdims=True) for z in (x, y)]
    return squares[0] + np.swapaxes(squares[1], -1, -2) - 2.0 * np.matmul(x, np.swapaxes(y, -1, -2))


def crossed(grammar: Grammar, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the difference of two products or quotients of data."""
    return a * b - c * d if grammar.chance(0.5) else a / b - c / d


def leg_over_length(a: Any, b: Any) -> Any:
    """Return how a hypotenuse changes with a leg, 0 where both are."""
    h = np.hypot(a, b)
    return np.where(h == 0, 0.0, a / np.where(h == 0, 1.0, h))
