"""Programs that hold the left sides of rows, or nearly so, rewritten with the whole library, against ball arithmetic.

Random programs seldom hold what a row is about. These do, in the company of sums, broadcasts, entries and extents that
matching has to account for, or with a sign, a number, an operand changed, so that they are no instances: values and
gradients of what all rows make of them together are those of what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.accuracy.agree import agree
from relgrad.accuracy.grammar import Grammar
from relgrad.accuracy.programs import Program, around_row, extended, left_side
from relgrad.accuracy.sample import moderate
from relgrad.accuracy.subjects import MISFITS
from relgrad.differentiate import pull_along
from relgrad.errors import OpError
from relgrad.interpret import interpret
from relgrad.op import as_term, is_float
from relgrad.schedule import schedule
from relgrad.schedule.strategy import DEFAULT, EAGER, NAIVE
from relgrad.term import Term, substitute, subterms
from relgrad.trace.tracer import Tracer

pytest.importorskip("flint")
pytestmark = pytest.mark.filterwarnings("ignore")
PROGRAMS, LARGEST = 4, 150
AT_ZERO = {"angle_of_vectors"}
"""Rows that continue a function to vectors without a direction."""


CHANGES: tuple[Callable[[Grammar, Any, Any], Any], ...] = (
    lambda g, x, y: -x,
    lambda g, x, y: -x,
    lambda g, x, y: 2 * x,
    lambda g, x, y: x / 3,
    lambda g, x, y: x + 1,
    lambda g, x, y: 1 - x,
    lambda g, x, y: 1 / x,
    lambda g, x, y: x * x,
    lambda g, x, y: abs(x),
    lambda g, x, y: np.sqrt(abs(x)),
    lambda g, x, y: y,
    lambda g, x, y: x + y,
    lambda g, x, y: x * y,
    lambda g, x, y: x[..., :1],
    lambda g, x, y: x[0],
    lambda g, x, y: g.reduced(x),
    lambda g, x, y: g.stretched(x),
)
"""What stands in one place of a program for x, y being something else in it."""


def beside_row(row: rg.Relation, rng: np.random.Generator) -> Program:
    """√(x + y²) − y → y − √(s − y²), …: a random program that differs from a left side in a place or two:
    no instance of it.

    Whatever takes one for the other loses a sign. Raises as `around_row` does.
    """
    grammar, left = left_side(row, rng)
    t = as_term(left)
    for _ in range(grammar.one_of((1, 1, 2))):
        t = changed(t, grammar, [u for u in subterms(t) if is_float(u)])
    return Program(as_term(extended(row, Tracer(t), grammar)), grammar.leaves)


def changed(t: Term, grammar: Grammar, others: Sequence[Term]) -> Term:
    """x − y → y − x, x − √y, …: a term with one occurrence of a subterm changed, or with operands exchanged."""
    inside = [i for i, u in enumerate(t.rands) if is_float(u)]
    if not inside or grammar.chance(0.3):
        return as_term(grammar.one_of(CHANGES)(grammar, Tracer(t), Tracer(grammar.one_of(others))))
    if len(t.rands) == 2 and grammar.chance(0.15):
        return t.op.make_node(*t.rands[::-1])
    i = grammar.one_of(inside)
    return t.op.make_node(*t.rands[:i], changed(t.rands[i], grammar, others), *t.rands[i + 1 :])


def gradient(root: Term, leaves: Sequence[Term]) -> list[Term]:
    def f(*xs: Tracer) -> Any:
        return Tracer(substitute([root], {t: x.term for t, x in zip(leaves, xs, strict=True)})[0])

    return [as_term(g) for g in pull_along(f, tuple(map(Tracer, leaves)), np.ones(root.type.shape))]


def programs(number: int, seed: int) -> Iterator[tuple[Term, dict[Term, Any]]]:
    """Yield programs around and beside a row that have a value, at arguments at which they have."""
    for i in range(PROGRAMS):
        rng = np.random.default_rng((seed, number, i))
        draw = (around_row, beside_row)[i % 2]
        try:
            program = draw(list(rg.LIBRARY)[number], rng)
        except MISFITS:
            continue
        leaves = program.leaves.values()
        values = {t: moderate(rng, t.type.shape, t.op.range) for t in leaves}
        small = len(list(subterms(program.term))) <= LARGEST
        if leaves and small and is_defined(program.term, values):
            yield program.term, values


def is_defined(t: Term, values: dict[Term, Any]) -> bool:
    """Whether a term has a value, and what ops are told of distances is true."""
    told = [tuple(node.rands[i] for i in node.op.distance) for node in subterms(t) if node.op.distance]
    with np.errstate(all="ignore"):
        try:
            value, *found = interpret([t, *[x for xyd in told for x in xyd]], values)
        except np.linalg.LinAlgError:
            return False
    distances = all(np.allclose(d, x - y, rtol=1e-9) for x, y, d in zip(*[iter(found)] * 3, strict=True))
    return bool(np.isfinite(value).all()) and distances


def is_rounding(found: Any) -> bool:
    """Whether sides differ by what constants are rounded by when they are folded."""
    try:
        left, right = float(found.left), float(found.right)
    except ValueError:
        return False
    return abs(left - right) < 1e-14 * (1 + abs(left))


@pytest.mark.sampled(27)
@pytest.mark.parametrize("number", range(len(list(rg.LIBRARY))), ids=[row.name for row in rg.LIBRARY])
def test_what_all_rows_make_of_a_program_around_one_is_that_program(number: int):
    row = list(rg.LIBRARY)[number]
    for t, values in programs(number, 0 if row.name not in AT_ZERO else 1):
        for roots in ([t], gradient(t, list(values))):
            written = schedule(roots, rg.LIBRARY, NAIVE).after
            for strategy in (DEFAULT, EAGER):
                for before, after in zip(written, schedule(roots, rg.LIBRARY, strategy).after, strict=True):
                    try:
                        found = agree(before, after, values)
                    except OpError:  # an op without balls
                        continue
                    assert found.witness is None or is_rounding(found.witness), (row.name, found.witness)
