"""Programs that hold the left sides of rows, or nearly so, rewritten with the whole library, against ball arithmetic.

Random programs seldom hold what a row is about. These do, in the company of sums, broadcasts, entries and extents that
matching has to account for, or with a sign, a number, an operand changed, so that they are no instances: values and
gradients of what all rows make of them together are those of what was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.accuracy.agree import agree
from relgrad.accuracy.programs import around_row, beside_row
from relgrad.accuracy.sample import moderate
from relgrad.accuracy.subjects import MISFITS
from relgrad.differentiate import pull_along
from relgrad.errors import OpError
from relgrad.interpret import interpret
from relgrad.op import as_term
from relgrad.schedule import schedule
from relgrad.schedule.strategy import DEFAULT, EAGER, NAIVE
from relgrad.term import Term, substitute, subterms
from relgrad.trace.tracer import Tracer

pytest.importorskip("flint")
pytestmark = pytest.mark.filterwarnings("ignore")
PROGRAMS, LARGEST = 4, 150
AT_ZERO = {"angle_of_vectors"}
"""Rows that continue a function to vectors without a direction."""


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
