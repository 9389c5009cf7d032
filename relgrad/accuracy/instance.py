"""Instances of a relation: its two sides with arrays for the variables, on each part of its domain.

The conditions of a row are decided from ranges. So the variables are tried with declared ranges, and the widest
with which the conditions hold are the domain, in which inputs are sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.optional import optional
from relgrad.accuracy.sample import practical
from relgrad.errors import RelgradError
from relgrad.logic import label_of
from relgrad.op import Constant, Op, as_term
from relgrad.relation import Relation
from relgrad.term import Term, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import NONNEGATIVE, POSITIVE, REAL, UNIT, ArrayType, Interval, Type, array_type

NEGATIVE = Interval(-np.inf, 0.0, open_high=True)
REGIONS = (
    REAL,
    NONNEGATIVE,
    -NONNEGATIVE,
    POSITIVE,
    NEGATIVE,
    Interval(-1.0, 1.0, True, True),
    Interval(1.0, np.inf, True),
    UNIT,
)
"""What a variable may be restricted to, the wider before the narrower."""


class Restricted(Op):
    """A leaf that stands for an array whose entries lie in an interval."""

    __props__ = ("label", "array", "interval")

    def __init__(self, label: str, array: ArrayType, interval: Interval):
        self.label, self.array, self.interval = label, array, interval

    @property
    def name(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return self.label

    __str__ = __repr__

    def type_of(self, rands: tuple[Term, ...]) -> Type:
        return self.array

    def make_node(self, *inputs: Any) -> Term:
        return term(self)

    def range_of(self, *ranges: Interval) -> Interval:
        return self.interval


class Instance(NamedTuple):
    """Two ground sides; the leaves that stand for the variables, by name; the axes that stand for axes."""

    left: Term
    right: Term
    leaves: dict[str, Term]
    axes: dict[str, tuple[int, ...]]

    def sample(self, rng: np.random.Generator) -> dict[Term, Any]:
        """Return arrays for the leaves."""
        return {t: practical(rng, t.type.shape, t.op.interval) for t in self.leaves.values()}

    @property
    def rounded(self) -> dict[Term, Any]:
        """The constants of many digits, as balls around the numbers that they may have been rounded from."""
        constants = [t for t in subterms(self.left, self.right) if type(t.op) is Constant]
        return {t: _blurred(t.op.value) for t in constants if _has_many_digits(t.op.value)}


def instances(row: Relation, count: int) -> list[Instance]:
    """Return the instances of a row, each with about `count` independent entries or rows of them.

    Axes stand for each axis of a matrix, and both; one variable at a time is constant along what is reduced.
    Raises RelationError where the row has no instance at all.
    """
    names = [label_of(v) for v in row.variables]
    axes = [n for n in names if n == "axis" or n.endswith("_axis")]
    plain = [n for n in names if n not in axes]
    found: dict[tuple[Term, Term], Instance] = {}
    failure: RelgradError | None = None
    for shape, chosen in _layouts(row, count, len(axes)):
        for shapes in _shapes(shape, chosen, plain):
            try:
                made = _on_domain(row, names, shapes, dict(zip(axes, chosen, strict=True)))
            except RelgradError as error:  # arrays of these shapes do not fit together
                failure = failure or error
                continue
            found |= {(i.left, i.right): i for i in made}
        if found and not axes:
            break
    if not found and failure is not None:
        raise failure
    return list(found.values())


def _layouts(row: Relation, count: int, axes: int) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Yield shapes for the variables and axes for the parameters, the simplest first."""
    if axes:
        for chosen in product(((-1,), (-2,), (-2, -1)), repeat=axes):
            yield (count // 3 or 1, 2, 3), chosen
        return
    sides = [side for side in (row.left, row.right) if isinstance(side, Term)]
    if all(t.op.elementwise or type(t.op) is Constant for side in sides for t in subterms(side)):
        yield (count,), ()
    yield (count // 3 or 1, 2, 3), ()
    yield (count // 3 or 1, 3, 3), ()


def _shapes(shape: tuple[int, ...], axes: Sequence[Any], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield dict.fromkeys(names, shape)
    if len(names) < 2:
        return
    reduced = {a for group in axes for a in group} or {-1}
    small = tuple([1 if i - len(shape) in reduced else n for i, n in enumerate(shape)])
    for name in names:
        yield {n: small if n == name else shape for n in names}


def _on_domain(
    row: Relation, names: Sequence[str], shapes: dict[str, Any], axes: dict[str, tuple[int, ...]]
) -> list[Instance]:
    """Return an instance for each widest choice of ranges with which the conditions hold."""
    found: list[tuple[tuple[Interval, ...], Instance]] = []
    for ranges in product(REGIONS if row.conditions else (REAL,), repeat=len(shapes)):
        if any(all(map(_within, ranges, wider)) for wider, _ in found):
            continue
        leaves = {
            n: term(Restricted(n, array_type(np.float64, shapes[n]), r))
            for n, r in zip(shapes, ranges, strict=True)
        }
        left, right, *conditions = row.function(*[axes[n] if n in axes else Tracer(leaves[n]) for n in names])
        if all(any(True for _ in condition({})) for condition in conditions):
            found.append((ranges, Instance(as_term(left), as_term(right), leaves, axes)))
    return [instance for _, instance in found]


def _within(inner: Interval, outer: Interval) -> bool:
    low = inner.low > outer.low or (inner.low == outer.low and (inner.open_low or not outer.open_low))
    high = inner.high < outer.high or (inner.high == outer.high and (inner.open_high or not outer.open_high))
    return low and high


def _has_many_digits(value: Any) -> bool:
    """Whether a constant has an entry that takes more than half of a float's digits: it may be rounded."""
    if value.dtype.kind != "f":
        return False
    numerators = [float(v).as_integer_ratio()[0] for v in value.flat if np.isfinite(v)]
    return any((n // (n & -n)).bit_length() > 26 for n in numerators if n)


def _blurred(value: Any) -> Any:
    flint = optional("flint")
    balls = [flint.arb(float(v), float(np.abs(np.spacing(v))) / 2) for v in value.flat]
    return np.array(balls, dtype=object).reshape(value.shape)
