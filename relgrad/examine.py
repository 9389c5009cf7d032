"""Questions to a function and to a relation: how accurate, where in danger, and whether true.

They are asked in ball arithmetic, with the library of relations of this package; see `relgrad.accuracy`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from textwrap import indent
from typing import Any

from relgrad.accuracy.check import check as check_relation
from relgrad.accuracy.check import check_simplification
from relgrad.accuracy.check_op import check_op
from relgrad.accuracy.hazards import Hazard, hazards
from relgrad.accuracy.measure import measure
from relgrad.accuracy.report import Check, assignments
from relgrad.accuracy.result import Accuracy
from relgrad.accuracy.sample import floats
from relgrad.api import Argnums, Function, Named, Range, Relations, library_of, ranges_of, stabilize
from relgrad.differentiate import positions_of
from relgrad.display.text import show
from relgrad.errors import RelationError, readable
from relgrad.explore.expressions import term
from relgrad.explore.reasons import Reason, Reasons, Rewrites, nearest_rows, reasons, rewrites_of
from relgrad.explore.spellings import Spellings
from relgrad.explore.spellings import spellings as spellings_of
from relgrad.logic.conditions import Goal
from relgrad.logic.goals import equalo
from relgrad.logic.unify import State, walked
from relgrad.looks import Listed, wrapped
from relgrad.op import Op, as_term
from relgrad.progress import progress
from relgrad.relation import Library, Relation
from relgrad.schedule import schedule
from relgrad.schedule import strategy as strategy_of
from relgrad.schedule.relate import SIMPLIFICATIONS
from relgrad.term import is_term
from relgrad.trace.assume import assuming
from relgrad.transformed import Transformed
from relgrad.validate import Proof

__all__ = [
    "Hazards",
    "Hopes",
    "accuracy",
    "check",
    "floats",
    "lint",
    "load_derivation",
    "rewrites",
    "spellings",
    "stabilizedo",
    "why_not",
]


def accuracy(
    fun: Function,
    *args: Any,
    points: int = 100,
    seed: int = 0,
    argnums: Argnums | None = None,
    gradient: bool = True,
    atol: float = 0.0,
    relations: Relations = None,
    strategy: Named = "default",
    assume: Mapping[str | int, Range] | None = None,
) -> Accuracy:
    """Return the bits that the value and gradient of a function lose, as written and as rewritten.

    An argument is an array, or a sampler: a function of a random generator, such as `floats(low, high, shape)`,
    which is drawn from `points` times. The truth is the function as written, and its gradient with respect to
    every float among the arguments (or those named by `argnums`), in ball arithmetic. Of several outputs, the
    gradient is that of their sum. Errors of at most `atol` count as none. `assume` says where arguments lie, as for
    `relgrad.stabilize`; what is drawn elsewhere is left out.

    >>> import numpy as np
    >>> print(accuracy(lambda x: np.log(1 + np.exp(x)), np.array([800.0, -40.0])))
    <lambda> at 1 point
    bits lost   naive: mean  worst  relgrad: mean  worst  naive is worst at
    value              58.1   64.0            0.0    0.0  x = 800.
    gradient x         32.0   64.0            0.0    0.0  x = 800.

    Raises what tracing the function raises, OpError for what is no function of the reals, AssumptionError where no
    point is left.
    """
    return measure(
        assuming(fun, ranges_of(assume)),
        args,
        library=library_of(relations),
        strategy=strategy_of(strategy),
        points=points,
        seed=seed,
        argnums=None if argnums is None else positions_of(argnums),
        gradient=gradient,
        atol=atol,
    )


def lint(
    fun: Function,
    *,
    points: int = 100,
    seed: int = 0,
    relations: Relations = None,
    strategy: Named = "default",
    assume: Mapping[str | int, Range] | None = None,
) -> Callable[..., Hazards]:
    """lint(f)(x) → Hazards: the function of fun's arguments that lists the hazards of fun and its gradient.

    Besides the arguments, `points` inputs of their structure, shapes and dtypes are tried; an argument that is a
    sampler is drawn from. `assume` says where arguments lie: no other is tried. Only what makes a result wrong is a
    hazard. Raises what `accuracy` raises.
    """
    within = assuming(fun, ranges_of(assume))

    def find(*args: Any) -> Hazards:
        chosen = library_of(relations), strategy_of(strategy)
        return Hazards(hazards(within, args, library=chosen[0], strategy=chosen[1], points=points, seed=seed))

    return find


def check(subject: Any, *operands: Any, samples: int = 96, seed: int = 0, subjects: int = 32) -> Any:
    """check(row).ok ⟺ left = right was not refuted: the findings about a relation, or about an op.

    Of a relation, both sides are evaluated at `samples` inputs of its domain: wherever the left one has a value, the
    right one must have the same. So must `subjects` random programs that the left side stands in, and what the row
    makes of them. An op is applied to numbers, of the shapes and dtypes of `operands` if they are given: types, shapes,
    ranges, laws, pullback and pushforward must be as it says. If something is false, `witness` is an input at which it
    is; for relations, ball arithmetic makes it a proof.

    Raises RelationError for what is neither, and OpError for an op that can be applied to no operands that were tried.
    """
    if isinstance(subject, Op):
        return check_op(subject, operands, seed)
    return check_relation(subject, samples, seed, subjects, show)


def check_simplifications(seed: int = 0, subjects: int = 32) -> list[Check]:
    """t = law(t), tried on random programs t: the findings about each simplification of the scheduler.

    Each has ten times as many programs as `subjects`, since it looks for its own places in them.
    """
    with progress("checking simplifications", SIMPLIFICATIONS) as each:
        return [check_simplification(law.name, 10 * subjects, seed, show) for law in each]


def spellings(subject: Any, relations: Relations = None, seed: int = 0) -> Spellings:
    """Return lazily what people may write for a stable form: a row's right side, or an expression.

    The relations are run from right to left, and the laws of arithmetic, sums, exponentials and logarithms in
    reverse, at any place and any number of times; `seed` shuffles the order. Each spelling comes once.

    >>> from relgrad import LIBRARY
    >>> print(show(spellings(LIBRARY["log_of_one_plus_exponential"])[0]))
    log(1.0 + exp(x))
    """
    return spellings_of(subject, library_of(relations), seed)


def stabilizedo(u: Any, v: Any, relations: Relations = None, strategy: Named = "default") -> Goal:
    """Construct a goal stating that v is what a strategy makes of the term u, the whole of it.

    >>> import numpy as np
    >>> from kanren import run, var
    >>> from relgrad import symbol
    >>> x = symbol("x", (3,))
    >>> print(show(run(1, var("q"), stabilizedo(np.log(np.sum(np.exp(x))), var("q")))[0]))
    logsumexp(x, axis=-1, keepdims)[0]

    Where u is unknown, it is v, if nothing is left to do there, and then what people write for v, as `spellings` gives
    it, of which v is made. One of the two must be known: there are no answers otherwise.
    """
    library, how = library_of(relations), strategy_of(strategy)

    def stabilized(t: Any) -> Any:
        return schedule([t], library, how).after[0]

    def stabilized_goal(s: State) -> Iterator[State]:
        """s → {v: stabilized(u)}, or where u is unknown, {u: t} for each spelling t of v that is stabilised to v."""
        before, after = (walked(as_term(x), s) for x in (u, v))
        if is_term(before) and before.ground:
            yield from equalo(after, stabilized(before))(s)
        elif is_term(after) and after.ground:
            for t in chain([after], spellings_of(after, library)):
                if stabilized(t) is after:
                    yield from equalo(before, t)(s)

    return stabilized_goal


def why_not(
    subject: Any,
    fun: Function | None = None,
    *,
    relations: Relations = None,
    strategy: Named = "default",
    points: int = 100,
    seed: int = 0,
) -> Callable[..., Any]:
    """Return the function of fun's arguments that says why a row does not fire in fun, place by place.

    `subject` is a row, or the name of one in the library; fun a function, or what `grad`, `stabilize` and the others
    make of one with their own options. Of each place the gate is named that refused the row, the nearest first: a
    condition with its bindings and what is known of them, a pattern beside what stands there, another row that came
    first, fuel; and a change, which has been tried, that would let it fire.

    >>> import numpy as np
    >>> print(why_not("exponential_of_logarithm", lambda x: 2 + np.exp(np.log(x)))(3.0)[0].change)
    with assume={'x': relgrad.positive}

    Of a function alone, `why_not(fun)(*args)` gives for each hazard that nothing in the library removes the rows that
    come nearest there; `points` and `seed` are those of `lint`.

    Raises RelationError for a name that no row has, and what tracing the function raises.
    """
    if fun is None:
        if not callable(subject) or isinstance(subject, Relation):
            raise RelationError(
                f"why_not needs a function beside {subject!r}",
                cause="a row fires, or does not, somewhere",
                cure="write why_not(row, fun)(*args), or why_not(fun)(*args) for hazards that remain",
            )
        return lambda *args: _remaining(subject, args, library_of(relations), strategy, points, seed)
    program = fun if isinstance(fun, Transformed) else stabilize(fun, relations=relations, strategy=strategy)
    library = program.settings.library
    row = row_of(subject, library)

    def ask(*args: Any, **kwargs: Any) -> Reasons:
        derivation = program.explain(*args, **kwargs).derivation
        return reasons(row, derivation, library, program.lines(*args, **kwargs))

    return ask


def rewrites(expression: Any, relations: Relations = None) -> Rewrites:
    """Return lazily all that can be done at the root of an expression, the most specific row first.

    >>> import numpy as np
    >>> rewrites(lambda x: np.log(1 + np.exp(x)))
    log_of_one_plus_exponential: softplus(x) — The log of one plus an exponential is a softplus.
    ...

    Each is a move with a name, the term that it makes, the reason and the bindings. Raises TraceError for what is no
    expression.
    """
    return rewrites_of(term(expression), library_of(relations))


def load_derivation(path: str | Path, relations: Relations = None) -> Proof:
    """load_derivation(path) = d after d.save(path), where d = `grad(fun).explain(*args).derivation`.

    `relations` are those that its rows are matched with again when it is verified. Raises DerivationError for what is
    no derivation, of another version, or made with ops of modules that are not imported.
    """
    return Proof.from_json(Path(path).read_text(encoding="utf-8"), library_of(relations))


def row_of(subject: Any, library: Library) -> Relation:
    """the name of a row → the row, a row → itself; raises RelationError, with the nearest names, where none has that
    one.
    """
    if isinstance(subject, Relation):
        return subject
    names = [row.name for row in library]
    if subject not in names:
        near = get_close_matches(str(subject), names)
        raise RelationError(
            f"no row is named {subject!r}",
            cause=f"the nearest names are {', '.join(near)}" if near else "the library has no name like it",
            cure="pass the name of a row, or the row itself",
        )
    return library[subject]


def _remaining(
    fun: Function, args: tuple[Any, ...], library: Library, strategy: Named, points: int, seed: int
) -> Hopes:
    """f, x → [(hazard, rows near it), …]: the hazards that no relation removes, each with the rows that come
    nearest.
    """
    how = strategy_of(strategy)
    found = hazards(fun, args, library=library, strategy=how, points=points, seed=seed)
    return Hopes(
        [(hazard, nearest_rows(hazard.term, library, {})) for hazard in found if not hazard.relations]
    )


class Hopes(Listed[tuple[Hazard, list[Reason]]]):
    """The hazards that remain, each with the rows that come nearest to removing it; `str` tells them."""

    def __str__(self) -> str:
        return "\n".join([_hope(*pair) for pair in self.found]) or "no hazard remains"


def _hope(hazard: Hazard, near: Sequence[Reason]) -> str:
    rows = [f"  {reason.row}, nearly:\n{indent(str(reason), '  ')}" for reason in near]
    return "\n".join([_described(hazard), *rows] if rows else [_described(hazard), "  and no row comes near"])


class Hazards(Listed[Hazard]):
    """The hazards of a function, by line; its `str` says where, what, at which input, and what removes it."""

    def __str__(self) -> str:
        return "\n".join(map(_described, self.found)) or "no hazard found"


def _described(hazard: Hazard) -> str:
    """Hazard → "f.py:3: overflow in exp(x) / the value loses 52 bits at x = 800 / removed by …": a hazard in words."""
    file, _, number = hazard.where.rpartition(":")
    code = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    removed = "nothing in the library removes it"
    if hazard.relations:
        removed = f"removed by {', '.join(hazard.relations)}"
    elif hazard.kind == "cancellation":
        removed += "; where digits cancel, the program is computed again with twice the precision"
    elif hazard.cured and hazard.kind in ("overflow", "underflow"):
        removed += "; where numbers leave the range of floats, the program is computed again in a wider one"
    lines = [
        f"{readable(hazard.where)}: {hazard.kind} in {show(hazard.term, limit=8)}",
        *([f"    {code}"] if code else []),
        wrapped(f"  the {hazard.output} loses {hazard.bits:.0f} bits at {assignments(hazard.inputs)}"),
        f"  {removed}",
    ]
    return "\n".join(lines)
