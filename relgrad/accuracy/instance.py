"""Instances of a relation: its two sides with arrays for the variables, on each part of its domain.

The conditions of a row are decided from ranges. So the variables are tried with declared ranges, and the widest
with which the conditions hold are the domain, in which inputs are sampled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.agree import blurred
from relgrad.accuracy.forms import forms
from relgrad.accuracy.restricted import Restricted, leaf
from relgrad.accuracy.sample import practical
from relgrad.balls.graph import evaluate
from relgrad.bounds import meet
from relgrad.errors import RelgradError
from relgrad.gradient import fit_cotangent, is_implicit
from relgrad.interpret import interpret
from relgrad.logic.rewrite import satisfying
from relgrad.logic.unify import fresh, is_variable, label_of, reify_term
from relgrad.op import Constant, as_term, strong
from relgrad.ops.arguments import as_balls
from relgrad.relation import Library, Relation, is_axis
from relgrad.schedule import NAIVE, schedule
from relgrad.term import Term, reachable, subterms
from relgrad.trace.tracer import Tracer
from relgrad.types import (
    NONNEGATIVE,
    POSITIVE,
    REAL,
    UNIT,
    Interval,
    broadcast_shapes,
)

REGIONS = (
    REAL,
    NONNEGATIVE,
    -NONNEGATIVE,
    POSITIVE,
    -POSITIVE,
    Interval(-1.0, 1.0, True, True),
    Interval(1.0, np.inf, True),
    UNIT,
)
"""What a variable may be restricted to, the wider before the narrower."""
FEWER = 6
"""By which factor fewer samples are drawn where variables differ in shape."""
EXACT = 4096
"""The precision, in bits, that holds sums of all samples but the most extreme."""


class Instance(NamedTuple):
    """log(eᵃ) = a → log(eˣ), x, {a: x}, {}: two ground sides, the leaves for the variables, and the axes for axes."""

    left: Term
    right: Term
    leaves: dict[str, Term]
    axes: dict[str, tuple[int, ...]]

    def sample(self, rng: np.random.Generator) -> dict[Term, Any]:
        """→ {x: [0.3, 1e-9, …], y: [0.3 + 1e-12, …]}: arrays for the leaves, in part of which numbers nearly meet.

        Distances are those of their operands: d = x − y.
        """
        values = {t: practical(rng, t.type.shape, t.op.range) for t in self.leaves.values()}
        first, *others = self.leaves.values()
        for t in others:
            _bring_near(values[t], values[first], t.op.range, rng)
        for found, join, *two in _following(self.left):
            values[found] = join(*interpret(two, values, typed=False))
        return values

    def exact(self, values: Mapping[Term, Any], bits: int = EXACT) -> dict[Term, Any]:
        """{y, d} → x = y + d, unrounded: the numbers that the samples stand for, as balls.

        Where x − y is sampled, x is not rounded, nor else is x − y.
        """
        import flint

        known = {t: as_balls(x) for t, x in values.items()}
        for found, join, *two in _following(self.left):
            first, second = evaluate(two, known, bits)
            with flint.ctx.workprec(bits):
                known[found] = np.asarray(join(first, second), dtype=object)
        return known

    def at(self, values: Mapping[Term, Any], place: tuple[int, ...]) -> dict[str, Any]:
        """((2, 0), {x: samples}) → {x: the third sample}: the sample that the entry at a place belongs to, by names."""
        samples = {name: values[leaf] for name, leaf in self.leaves.items() if leaf in values}
        return {
            name: x[int(place[0]) if place and len(x) > 1 else 0] for name, x in samples.items()
        } | self.axes

    @property
    def free(self) -> list[Term]:
        """The leaves that do not follow from others."""
        return [t for t in self.leaves.values() if t not in {found for found, *_ in _following(self.left)}]

    @property
    def rounded(self) -> dict[Term, Any]:
        """The constants of many digits, as balls around the numbers that they may have been rounded from."""
        return blurred(self.left, self.right, ulps=0.5)


def _bring_near(x: Any, y: Any, where: Interval, rng: np.random.Generator) -> None:
    """x, y → x[1::4] = y·(1 ± 2⁻ᵏ), x[3::8] = −y·(1 ± 2⁻ᵏ):
    some of the arrays along the first axis near others, or opposites.
    """
    if x.shape != y.shape:
        return
    for some, sign in ((slice(1, None, 4), 1), (slice(3, None, 8), -1)):
        part = np.exp2(rng.uniform(-50, -4, y[some].shape))
        near = sign * y[some] * (1 + rng.choice([-1.0, 1.0], part.shape) * part)
        x[some] = np.where([where.holds(v) for v in near.flat], near.flat, x[some].flat).reshape(near.shape)


def _following(left: Term) -> list[tuple[Term, Callable[..., Any], Term, Term]]:
    """op(x, y, d) → (x, +, y, d), or (d, −, x, y) where x is restricted: leaves that follow from two other operands.

    The ops that take them say that d = x − y.
    """
    found = []
    for node in subterms(left):
        if node.op.distance is not None:
            x, y, d = (node.rands[i] for i in node.op.distance)
            leaf, *how = (d, np.subtract, x, y) if _is_restricted(x) else (x, np.add, y, d)
            free = isinstance(leaf.op, Restricted) and leaf.op.range == REAL
            if free and leaf not in reachable(*how[1:]):
                found.append((leaf, *how))
    return sorted(found, key=lambda follows: follows[1] is np.subtract)


def _is_restricted(x: Term) -> bool:
    return isinstance(x.op, Restricted) and x.op.range != REAL


def instances(row: Relation, count: int) -> list[Instance]:
    """row, 96 → [Instance, …]: the instances of a row, each with about `count` independent entries or rows of them.

    Axes stand for each axis of a matrix, and both; variables are constant along what is reduced in turn, but not all.
    Raises RelationError where the row has no instance at all.
    """
    names, axes, sought, read = roles_of(row)
    plain = [n for n in names if n not in axes and n not in sought]
    make = partial(_in_forms, read=read) if sought else _on_domain
    found: dict[tuple[Term, Term], Instance] = {}
    failure: RelgradError | None = None
    for shape, chosen in _layouts(row, count, len(axes)):
        placed = dict(zip(axes, chosen, strict=True))
        for shapes in _shapes(shape, chosen, plain):
            try:
                made = make(row, names, shapes, placed)
            except RelgradError as error:  # arrays of these shapes do not fit together
                failure = failure or error
                continue
            found |= {(i.left, i.right): i for i in made}
        if found and not axes:
            break
    if not found and failure is not None:
        raise failure
    return list(found.values())


def roles_of(row: Relation) -> tuple[list[str], list[str], set[str], set[str]]:
    """row → the names of its variables, those that are axes, those that conditions find, and those that they read."""
    names = [label_of(v) for v in row.variables]
    sought, read = (
        {label_of(v) for condition in row.conditions for v in getattr(condition, role, ())}
        for role in ("finds", "reads")
    )
    return names, list(filter(is_axis, names)), sought, read


def _layouts(row: Relation, count: int, axes: int) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """(row, 96, 1) → (32, 2, 3) with (−1,), (−2,), (−2, −1):
    shapes for variables and axes for parameters, the simplest first.
    """
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
    """(32, 2, 3), [a, b] → both (32, 2, 3); then a : (n, 2, 3), b : (n, 2, 1), …: a shape for each name.

    That of all; then, for fewer samples, extent 1 along the axes for some of them.
    """
    yield dict.fromkeys(names, shape)
    reduced = {a for group in axes for a in group} or {-1}
    few = (max(shape[0] // FEWER, 2), *shape[1:])
    small = tuple([1 if i - len(few) in reduced else n for i, n in enumerate(few)])
    for chosen in product((few, small), repeat=len(names)):
        if few in chosen and small in chosen:
            yield dict(zip(names, chosen, strict=True))


def _on_domain(
    row: Relation, names: Sequence[str], shapes: dict[str, Any], axes: dict[str, tuple[int, ...]]
) -> list[Instance]:
    """positive(a) → [x > 0]: an instance for each widest choice of ranges with which the conditions hold."""
    found: list[tuple[tuple[Interval, ...], Instance]] = []
    asked = _asked(row)
    for ranges in product(*[REGIONS if n in asked else (REAL,) for n in shapes]):
        if any(tuple(map(meet, ranges, wider)) == ranges for wider, _ in found):
            continue
        leaves = {n: leaf(n, shapes[n], r) for n, r in zip(shapes, ranges, strict=True)}
        made = _instance(row, names, {n: Tracer(t) for n, t in leaves.items()}, leaves, axes)
        if made is not None:
            found.append((ranges, made))
    return [instance for _, instance in found]


def _asked(row: Relation) -> set[str]:
    """positive(a) → {a}: the names of the variables that conditions are about."""
    named = set[str]()
    for condition in row.conditions:
        tests = getattr(condition, "tests", None)
        about = row.variables if tests is None else frozenset[Any]().union(*[known for known, _ in tests])
        named.update(map(label_of, about))
    return named


def _in_forms(
    row: Relation,
    names: Sequence[str],
    shapes: dict[str, Any],
    axes: dict[str, tuple[int, ...]],
    read: set[str],
) -> list[Instance]:
    """logarithmo(a, b) → a = x·eʸ, …: an instance for each choice of expressions of which the conditions find the right
    side.
    """
    found = []
    for chosen in forms([n for n in shapes if n in read]):
        leaves = {n: leaf(n, shape, REAL) for n, shape in shapes.items() if n not in read}
        values: dict[str, Any] = {n: Tracer(t) for n, t in leaves.items()}
        for n, form in chosen.items():
            parts = {p: f"{n}_{p}" for p in inspect.signature(form).parameters}
            leaves |= {part: leaf(part, shapes[n], REAL) for part in parts.values()}
            values[n] = form(*[Tracer(leaves[part]) for part in parts.values()])
        made = _instance(row, names, values, leaves, axes)
        if made is not None:
            found.append(made)
    return found


def _instance(
    row: Relation,
    names: Sequence[str],
    values: dict[str, Any],
    leaves: dict[str, Term],
    axes: dict[str, tuple[int, ...]],
) -> Instance | None:
    """row, {a: x} → Instance: a row with terms for its variables, if the conditions hold; these find the others."""
    sought = {n: fresh(n) for n in names if n not in axes and n not in values}
    arguments = {**axes, **values, **{n: Tracer(v) for n, v in sought.items()}}
    if any(map(is_implicit, subterms(row.left))):
        # A gradient is told of a scalar, and of as many as there are entry by entry.
        left, right, conditions = row.left, row.right, row.conditions
        known = {
            v: as_term(x) if isinstance(x := arguments[label_of(v)], Tracer) else x for v in row.variables
        }
    else:
        left, right, *conditions = row.function(*[arguments[n] for n in names])
        known = {}
    state = next(satisfying(conditions, known), None)
    if state is None:
        return None
    sides = [reify_term(side if is_variable(side) else as_term(side), state) for side in (left, right)]
    if not all(isinstance(side, Term) and side.ground for side in sides):
        return None
    sides = written_out(sides)
    if is_of_gradient(row):
        # What broadcasting copied is summed, as the system does for rules.
        sides = [sides[0], fit_cotangent(strong(sides[1]), sides[0])]
    fits = all(
        x.type.shape == broadcast_shapes(y.type.shape, d.type.shape)
        for x, join, y, d in _following(sides[0])
        if join is np.add
    )
    return Instance(sides[0], sides[1], leaves, axes) if fits else None


def is_of_gradient(row: Relation) -> bool:
    """Whether the left side of a row holds an implicit derivative."""
    return any(map(is_implicit, subterms(row.left)))


def bound(row: Relation, arguments: Mapping[str, Any]) -> dict[Any, Any]:
    """∂⟨g, f(x)⟩/∂x, {x, g} → {x: …, g: of f(x)'s type}: the state of a row's variables, by the arguments' names."""
    values = {v: arguments[label_of(v)] for v in row.variables}
    state = {v: as_term(x) if isinstance(x, Tracer) else x for v, x in values.items()}
    for node in subterms(row.left):
        if is_implicit(node):
            outputs, cotangents, _ = node.op.parts(node)
            state |= {
                g: fit_cotangent(strong(state[g]), reify_term(y, state))
                for y, g in zip(outputs, cotangents, strict=True)
                if is_variable(g)
            }
    return state


def written_out(terms: Sequence[Term]) -> Sequence[Term]:
    """Return terms with implicit derivatives expanded, as they are written."""
    if not any(map(is_implicit, reachable(*terms))):
        return terms
    return schedule(terms, Library([]), NAIVE).after
