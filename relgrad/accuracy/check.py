"""Checking a relation: whether it is true, on how much of its domain, and what it wins and loses in floats.

Its two sides are compared on arrays, and programs that it is found in with what it makes of them.

Source: Herbie checks its rules alike (Panchekha et al. 2015, section 4.4): by sampling, at high precision. Changed
from the source: ball arithmetic, so that a difference that is found is a proof; and programs, so that the matcher and
the goals that make right sides are on trial too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from relgrad.accuracy.bits import bits_of_error
from relgrad.accuracy.instance import Instance, instances
from relgrad.accuracy.proof import proved
from relgrad.accuracy.report import Check, Loss, Witness
from relgrad.accuracy.slopes import differing_slopes
from relgrad.accuracy.subjects import judged, simplified
from relgrad.accuracy.subjects import subjects as made_of
from relgrad.balls.graph import Enclosure, enclose
from relgrad.errors import RelationError
from relgrad.interpret import interpret
from relgrad.relation import Relation
from relgrad.term import Term
from relgrad.types import broadcast_shapes

EXACTLY, ROUNDED = 200, 40
"""How many bits are compared; the latter where the row holds constants that may be rounded."""
LIMIT = 4096


def check(
    relation: Relation,
    samples: int = 96,
    seed: int = 0,
    subjects: int = 32,
    written: Callable[[Term], str] = str,
) -> Check:
    """check(row).ok ⟺ left = right was not refuted, at samples of the row's domain and in programs: → Check.

    Wherever the left side has a value, the right side has the same, to 200 bits (40 where the row holds constants that
    may be rounded), and the same slopes, where its cases meet too; and so have programs that the left side stands in,
    and what the row makes of them. If not, `witness` is an input at which it is false, and a proof of that.
    A row without docstring or source is refused. Where the sides are analytic functions of up to three numbers,
    `boxes` are some on which the equation is proved.
    `written` gives the text of a program.

    Raises RelationError for what is no relation.
    """
    if not isinstance(relation, Relation):
        raise RelationError(
            f"check needs a relation or an op, not {type(relation).__name__}: {relation!r}",
            cure="decorate the equation with @relgrad.relation, or pass an op",
        )
    rng = np.random.default_rng(seed)
    trials, made = [], instances(relation, samples)
    for instance in made:
        wrong = _wrong_shape(instance)
        trials.append(_Trial(instance, {}, wrong) if wrong else _trial(instance, rng))
    found = _summary(relation, trials)
    if found.witness is None:
        slopes = (differing_slopes(relation, instance, rng) for instance in made)
        found = replace(found, witness=next(filter(None, slopes), None))
    if found.witness is not None:
        return found
    rng = np.random.default_rng([seed, *relation.name.encode()])
    in_programs = judged(made_of(relation, rng, subjects), rng, written)._asdict()
    return replace(found, boxes=tuple(proved(made)), **in_programs)


def check_simplification(
    name: str, subjects: int = 200, seed: int = 0, written: Callable[[Term], str] = str
) -> Check:
    """t = law(t) for random expressions t → Check: the findings about a simplification of the scheduler."""
    rng = np.random.default_rng([seed, *name.encode()])
    none = np.zeros(0)
    found = judged(simplified(name, rng, subjects), rng, written)
    return Check(name, "", 0, 0, before=none, after=none, worst=None, **found._asdict())


class _Trial(NamedTuple):
    """instance → compared, before, after = bits of error per entry: the outcome of one instance, and its witness."""

    instance: Instance
    values: dict[Any, Any]
    witness: Witness | None
    compared: Any = None
    before: Any = None
    after: Any = None


def _wrong_shape(instance: Instance) -> Witness | None:
    """left : (3,), right : (2,) → Witness: that the right side does not broadcast to the left one; or None."""
    left, right = instance.left.type.shape, instance.right.type.shape
    try:
        fits = broadcast_shapes(left, right) == left
    except ValueError:
        fits = False
    if fits:
        return None
    shapes = {n: t.type.shape for n, t in instance.leaves.items()}
    return Witness("the sides differ in shape", shapes | instance.axes, str(left), str(right))


def _trial(instance: Instance, rng: np.random.Generator) -> _Trial:
    """left = right at samples → _Trial: balls that do not meet are a witness; errors in bits of both sides in
    floats.
    """
    values = instance.sample(rng)
    exact, rounded = instance.exact(values), instance.rounded
    bits = ROUNDED if rounded else EXACTLY
    left, right = enclose([instance.left, instance.right], exact | rounded, bits, limit=LIMIT)
    shape = left.balls.shape
    balls: Any = np.broadcast_to(right.balls, shape)
    settled = np.broadcast_to(right.settled, shape)
    defined, lost = _each(lambda b: b.is_finite(), left) & left.settled, _each(lambda b: b.is_nan(), right)
    witness = None
    for place in zip(*np.nonzero(defined), strict=True):
        why = _difference(left.balls[place], balls[place])
        if why:
            sides = left.balls[place].str(20, radius=False), balls[place].str(20, radius=False)
            witness = Witness(why, instance.at(values, place), *sides)
            break
    compared = defined & (settled | lost)
    with np.errstate(all="ignore"):
        before, after = interpret([instance.left, instance.right], values, typed=False)
    none = _each(lambda b: b.is_nan(), left) & np.isnan(np.broadcast_to(before, shape))
    witness = witness or _too_wide(instance, values, none & settled)
    truth = left if not rounded else enclose([instance.left], exact)[0]
    dtype = instance.left.type.dtype
    errors = [bits_of_error(np.broadcast_to(x, shape).astype(dtype), truth) for x in (before, after)]
    return _Trial(instance, values, witness, compared, *errors)


def _each(predicate: Callable[[Any], bool], side: Enclosure) -> Any:
    return np.asarray(np.frompyfunc(predicate, 1, 1)(side.balls), dtype=bool)


def _difference(left: Any, right: Any) -> str:
    if right.is_nan():
        return "the left side has a value and the right side has none"
    return "" if left.overlaps(right) else "the sides differ"


def _summary(relation: Relation, trials: list[_Trial]) -> Check:
    """[trial, …] → Check: the first witness, how many entries were compared, the errors of both sides."""
    done = [t for t in trials if t.compared is not None]
    witness = next((t.witness for t in trials if t.witness is not None), None)
    compared = _joined(t.compared for t in done)
    gains = _joined(t.before - t.after for t in done)
    known = ~np.isnan(gains)
    return Check(
        relation.name,
        relation.source,
        len(compared),
        int(compared.sum()),
        witness,
        _joined(t.before for t in done)[known],
        _joined(t.after for t in done)[known],
        _worst(done),
        without=tuple(
            [k for k, text in (("docstring", relation.doc), ("source", relation.source)) if not text]
        ),
    )


def _joined(arrays: Iterable[Any]) -> Any:
    parts = [np.ravel(a) for a in arrays]
    return np.concatenate(parts) if parts else np.zeros(0)


def _worst(trials: list[_Trial]) -> Loss | None:
    """[trial, …] → Loss(12.5 bits, inputs): where applying the row loses most; None where it loses nothing."""
    worst: Loss | None = None
    for t in trials:
        losses = np.where(np.isnan(t.after - t.before), -1.0, t.after - t.before)
        if losses.size and losses.max() > (worst.bits if worst else 0.0):
            place = np.unravel_index(int(losses.argmax()), losses.shape)
            worst = Loss(float(losses[place]), t.instance.at(t.values, place))  # type: ignore[arg-type]
    return worst


def _too_wide(instance: Instance, values: dict[Any, Any], extended: Any) -> Witness | None:
    """log(x²) = 2·log(x), the other way round → Witness: that the right side has a value where the left side has none.

    At no single points only. Only moderate numbers tell:
    where they are extreme, the precision may not suffice for a value
    of the left side.
    """
    moderate = np.ones((1,) * extended.ndim, dtype=bool)
    for x in values.values():
        size = np.abs(x.reshape(len(x), -1))
        fine = np.all((size > 2.0**-20) & (size < 64), axis=1)
        moderate = moderate & fine.reshape(-1, *[1] * (extended.ndim - 1))
    alike = len(moderate) in (1, *extended.shape[:1])
    places = np.argwhere(extended & moderate) if alike else np.empty((0, 0))
    if len(places) <= max(1, 0.02 * extended.size):
        return None
    why = "the right side has a value and the left side has none"
    return Witness(why, instance.at(values, tuple(places[0])), "nan", "a number")
