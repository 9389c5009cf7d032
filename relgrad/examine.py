"""Questions to a function and to a relation: how accurate, where in danger, and whether true.

They are asked in ball arithmetic, with the library of relations of this package; see `relgrad.accuracy`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

from relgrad.accuracy.check import check as check_relation
from relgrad.accuracy.check import check_simplification
from relgrad.accuracy.check_op import check_op
from relgrad.accuracy.hazards import Hazard, hazards
from relgrad.accuracy.measure import measure
from relgrad.accuracy.report import Check, assignments
from relgrad.accuracy.result import Accuracy
from relgrad.accuracy.sample import floats
from relgrad.api import LIBRARY, Argnums, Function, Named, Relations  # pyright: ignore[reportAttributeAccessIssue]  # from relations/
from relgrad.differentiate import positions_of
from relgrad.display.text import show
from relgrad.explore.spellings import Spellings
from relgrad.explore.spellings import spellings as spellings_of
from relgrad.op import Op
from relgrad.relation import Library
from relgrad.schedule import strategy as strategy_of
from relgrad.schedule.relate import SIMPLIFICATIONS

__all__ = ["Hazards", "accuracy", "check", "floats", "lint", "spellings"]


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
) -> Accuracy:
    """Return the bits that the value and gradient of a function lose, as written and as rewritten.

    An argument is an array, or a sampler: a function of a random generator, such as `floats(low, high, shape)`,
    which is drawn from `points` times. The truth is the function as written, and its gradient with respect to
    every float among the arguments (or those named by `argnums`), in ball arithmetic. Of several outputs, the
    gradient is that of their sum. Errors of at most `atol` count as none.

    >>> import numpy as np
    >>> print(accuracy(lambda x: np.log(1 + np.exp(x)), np.array([800.0, -40.0])))
    <lambda> at 1 point
    bits lost   naive: mean  worst  relgrad: mean  worst  naive is worst at
    value              58.1   64.0            0.0    0.0  x = 800.
    gradient x         32.0   64.0            0.0    0.0  x = 800.

    Raises what tracing the function raises, OpError for what is no function of the reals, and MissingDependency
    without python-flint.
    """
    return measure(
        fun,
        args,
        library=_library(relations),
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
) -> Callable[..., Hazards]:
    """Return the function of fun's arguments that lists the hazards of fun and its gradient.

    Besides the arguments, `points` inputs of their structure, shapes and dtypes are tried; an argument that is a
    sampler is drawn from. Only what makes a result wrong is a hazard. Raises what `accuracy` raises.
    """

    def find(*args: Any) -> Hazards:
        chosen = _library(relations), strategy_of(strategy)
        return Hazards(hazards(fun, args, library=chosen[0], strategy=chosen[1], points=points, seed=seed))

    return find


def check(subject: Any, *operands: Any, samples: int = 96, seed: int = 0, subjects: int = 32) -> Any:
    """Return what is found out about a relation or an op; `.ok` says that it was not refuted.

    Of a relation, both sides are evaluated at `samples` inputs of its domain: wherever the left one has a value, the
    right one must have the same. So must `subjects` random programs that the left side stands in, and what the row
    makes of them. An op is applied to numbers, of the shapes and dtypes of `operands` if they are given: types, shapes,
    ranges, laws, pullback and pushforward must be as it says. If something is false, `witness` is an input at which it
    is; for relations, ball arithmetic makes it a proof.

    Raises RelationError for what is neither, OpError for an op that can be applied to no operands that were tried, and
    MissingDependency without python-flint.
    """
    if isinstance(subject, Op):
        return check_op(subject, operands, seed)
    return check_relation(subject, samples, seed, subjects, show)


def check_simplifications(seed: int = 0, subjects: int = 32) -> list[Check]:
    """Return what is found out about each simplification of the scheduler by applying it to random programs.

    Each has ten times as many as `subjects`, since it looks for its own places in them. Raises MissingDependency
    without python-flint.
    """
    return [check_simplification(name, 10 * subjects, seed, show) for _, _, name, _, _ in SIMPLIFICATIONS]


def spellings(subject: Any, relations: Relations = None, seed: int = 0) -> Spellings:
    """Return lazily what people may write for a stable form: a row's right side, or an expression.

    The relations are run from right to left, and the laws of arithmetic, sums, exponentials and logarithms in
    reverse, at any place and any number of times; `seed` shuffles the order. Each spelling comes once.

    >>> print(show(spellings(LIBRARY["log_of_one_plus_exponential"])[0]))
    log(1.0 + exp(x))
    """
    return spellings_of(subject, _library(relations), seed)


class Hazards(Sequence[Hazard]):
    """The hazards of a function, by line; its `str` says where, what, at which input, and what removes it."""

    def __init__(self, found: Sequence[Hazard]):
        self.found = tuple(found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __str__(self) -> str:
        return "\n".join(map(_described, self.found)) or "no hazard found"

    __repr__ = __str__


def _described(hazard: Hazard) -> str:
    file, _, number = hazard.where.rpartition(":")
    code = linecache.getline(file, int(number)).strip() if number.isdigit() else ""
    removed = (
        f"removed by {', '.join(hazard.relations)}"
        if hazard.relations
        else "nothing in the library removes it"
    )
    if hazard.kind == "cancellation" and not hazard.relations:
        removed += "; where digits cancel, the program is computed again with twice the precision"
    lines = [
        f"{hazard.where}: {hazard.kind} in {show(hazard.term, limit=8)}",
        *([f"    {code}"] if code else []),
        f"  the {hazard.output} loses {hazard.bits:.0f} bits at {assignments(hazard.inputs)}",
        f"  {removed}",
    ]
    return "\n".join(lines)


def _library(relations: Relations) -> Library:
    if relations is None:
        return LIBRARY
    return relations if isinstance(relations, Library) else Library(relations)
