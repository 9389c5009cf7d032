"""Hazards: where in a function floating point overflows, underflows, cancels, or divides zero by zero.

A place is called a hazard only if the result is wrong because of it, at an input that is reported. So code that
overflows where that does no harm is left in peace.

Source: the search for the operation at which an error arises follows Panchekha et al. 2015, section 4.2
(localization of errors). Changed from the source: each finding is confirmed by putting the true value in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgrad.accuracy.ball import Enclosure, enclose, nearest
from relgrad.accuracy.bits import all_bits, bits_of_error
from relgrad.accuracy.limit import limits
from relgrad.accuracy.lines import lines_of, lines_of_gradient
from relgrad.accuracy.measure import Subject, subjects_of
from relgrad.compile.interpret import interpret
from relgrad.op import Constant
from relgrad.relation import Library
from relgrad.schedule import Strategy
from relgrad.step import Derivation
from relgrad.term import Term, reachable, subterms
from relgrad.trace.containers import flatten
from relgrad.types import ArrayType

ALARM = 16.0
"""A result is wrong if it loses more bits than this."""
FINE = 4.0
"""An operand is right if it loses fewer."""
MANY = 4
"""So many entries of one sign, or between 0 and 1, are taken to be meant so."""
SCALES = (
    lambda rng, n: rng.normal(scale=2.0, size=n),
    lambda rng, n: rng.normal(scale=30.0, size=n),
    lambda rng, n: rng.normal(scale=1000.0, size=n),
    lambda rng, n: rng.normal(scale=1e4) + rng.normal(size=n),
    lambda rng, n: rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(-60.0, 0.0, n)),
    lambda rng, n: rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(-60.0, 12.0, n)),
)
"""How inputs are drawn in turn; numbers beyond these overflow in any code."""
_SUMS = ("add", "subtract", "sum", "matmul", "einsum", "mean", "cumsum", "convolve")


@dataclass(frozen=True)
class Hazard:
    """A place where accuracy is lost, and an input that shows it.

    `kind` is one of overflow, underflow, cancellation, 0/0 and rounding; `relations` are those that remove it,
    and empty where nothing in the library does.
    """

    where: str
    term: Term
    kind: str
    output: str
    bits: float
    inputs: dict[str, Any]
    relations: tuple[str, ...]


def hazards(
    fun: Callable[..., Any],
    args: Sequence[Any],
    *,
    library: Library,
    strategy: Strategy,
    points: int,
    seed: int,
) -> list[Hazard]:
    """Return the hazards of a function and its gradient, at `args` and at inputs like them; samplers are drawn from."""
    rng = np.random.default_rng(seed)
    start = tuple([x(rng) if callable(x) else x for x in args])
    lines = lines_of(fun, start)
    found: dict[tuple[str, str], Hazard] = {}
    for subject, labels in subjects_of(fun, start, library, strategy):
        places = lines | lines_of_gradient(subject.written, lines)
        for point in (start, *[_like(args, rng, i) for i in range(points)]):
            for hazard in _at(subject, labels, point, places):
                found.setdefault((hazard.where, str(hazard.term.op)), hazard)
    return sorted(found.values(), key=lambda h: (h.where.rpartition(":")[0], int(h.where.rpartition(":")[2])))


def _like(args: Sequence[Any], rng: np.random.Generator, number: int) -> tuple[Any, ...]:
    """Return arguments of the same structure: samplers drawn from, floats anew, the rest as it is."""
    leaves, structure = flatten(tuple([x(rng) if callable(x) else x for x in args]))
    given = [x for x in args if not callable(x)]
    fixed = {id(x) for x in flatten(tuple(given))[0]}
    return structure.unflatten([_sampled(x, rng, number) if id(x) in fixed else x for x in leaves])


def _sampled(x: Any, rng: np.random.Generator, number: int) -> Any:
    array = np.asarray(x)
    if array.dtype.kind != "f" or array.size == 0:
        return x
    drawn = SCALES[number % len(SCALES)](rng, array.size).reshape(array.shape)
    if array.size >= MANY and np.all(array >= 0):
        drawn = np.abs(drawn)
    if array.size >= MANY and np.all((array > 0) & (array < 1)):
        drawn = drawn / (1 + drawn)
    drawn = drawn.astype(array.dtype)
    return drawn if isinstance(x, np.ndarray) else type(x)(drawn)


def _at(subject: Subject, labels: Sequence[str], args: Any, lines: Mapping[Term, str]) -> Iterator[Hazard]:
    """Yield the hazards that one input shows."""
    values = subject.values(args)
    roots = subject.written.after
    nodes = [t for t in subterms(*roots) if isinstance(t.type, ArrayType)]
    with np.errstate(all="ignore"):
        computed = dict(zip(nodes, interpret(nodes, values), strict=True))
    truth, limiting = subject.truth(args)
    wrong = [_error(computed[root], t) for root, t in zip(roots, truth, strict=True)]
    if max(wrong, default=0.0) <= ALARM:
        return
    found = enclose(nodes, values, limit=2048)
    if any(map(np.any, limiting)):
        found = [e if e.settled.all() else near for e, near in zip(found, limits(nodes, values), strict=True)]
    exact = dict(zip(nodes, found, strict=True))
    errors = {t: _error(computed[t], exact[t]) for t in nodes}
    with np.errstate(all="ignore"):
        better = flatten(subject.rewritten(*args))[0]
    inputs = dict(zip(subject.traced.paths, flatten((tuple(args), {}))[0], strict=True))
    for index, root in enumerate(roots):
        if wrong[index] <= ALARM:
            continue
        cured = _error(better[index], truth[index]) <= ALARM
        for node in _culprits(root, values, computed, exact, errors, truth[index]):
            place, kind = _birth(node, computed, exact)
            relations = _removing(subject.derived, node, place) if cured else ()
            yield Hazard(
                _line(lines, place, node), place, kind, labels[index], wrong[index], inputs, relations
            )


def _line(lines: Mapping[Term, str], *terms: Term) -> str:
    """Return the line of the first term that has one; of sums of cotangents, that of one of them."""
    near = next((t for t in terms if t in lines), None) or next(
        (t for t in subterms(*terms) if t in lines), None
    )
    return lines[near] if near is not None else "<unknown>:0"


def _error(got: Any, truth: Enclosure) -> float:
    """Return the largest error that matters in an array.

    Noise far below its largest entry does not, nor what lies below the smallest normal number.
    """
    got = np.asarray(got)
    if got.dtype.kind != "f":
        return 0.0 if got.shape == truth.balls.shape else float(all_bits(got.dtype))
    sizes = np.abs(truth.middle[truth.settled & np.isfinite(truth.middle)])
    noise, tiny = float(np.finfo(got.dtype).eps) * 2**6, float(np.finfo(got.dtype).tiny)
    known = bits_of_error(got, truth, atol=max(noise * float(sizes.max(initial=0.0)), tiny))
    if sizes.max(initial=0.0) == 0.0 and np.all(np.abs(got) < noise):
        return 0.0
    known = known[~np.isnan(known)]
    return float(known.max(initial=0.0))


def _culprits(
    root: Term,
    values: Mapping[Term, Any],
    computed: Mapping[Term, Any],
    exact: Mapping[Term, Enclosure],
    errors: Mapping[Term, float],
    truth: Enclosure,
) -> list[Term]:
    """Return the terms that are wrong though their operands are right, and without whose error the root is right."""
    below = [t for t in subterms(root) if t in errors]
    first = [t for t in below if errors[t] > ALARM and all(errors.get(rand, 0.0) <= FINE for rand in t.rands)]
    confirmed = []
    for node in first:
        repaired = np.where(exact[node].settled, exact[node].middle, computed[node]).astype(node.type.dtype)
        with np.errstate(all="ignore"):
            (again,) = interpret([root], {**values, node: repaired})
        if _error(again, truth) <= ALARM:
            confirmed.append(node)
    return confirmed or first[:1]


def _birth(node: Term, computed: Mapping[Term, Any], exact: Mapping[Term, Enclosure]) -> tuple[Term, str]:
    """Return the term at which a wrong term's error is born, and its kind."""
    for kind, happens in (("overflow", _overflows), ("underflow", _underflows)):
        place = node
        while True:
            below = [r for r in place.rands if r in exact and happens(computed[r], exact[r])]
            if not below:
                break
            place = below[0]
        if place is not node and place.op.name not in _SUMS:
            return place, kind
    if str(node.op) == "divide" and np.any((computed[node.rands[0]] == 0) & (computed[node.rands[1]] == 0)):
        return node, "0/0"
    return node, "cancellation" if node.op.name in _SUMS else "rounding"


def _overflows(got: Any, truth: Enclosure) -> bool:
    return _any(got, truth, lambda x, b: np.isinf(x) and b.is_finite() and not b.is_nan())


def _underflows(got: Any, truth: Enclosure) -> bool:
    return _any(got, truth, lambda x, b: x == 0 and b.is_finite() and nearest(b) == 0 and bool(b != 0))


def _any(got: Any, truth: Enclosure, happens: Callable[[Any, Any], Any]) -> bool:
    got = np.asarray(got)
    return got.dtype.kind == "f" and any(
        bool(happens(x, b)) for x, b in zip(got.flat, truth.balls.flat, strict=True)
    )


def _removing(derivation: Derivation, *terms: Term) -> tuple[str, ...]:
    """Return the relations that rewrote the terms away; where that cannot be told, all that were applied."""
    steps = [step for step in derivation.steps if step.move == "relation"]
    removing = [s.name for s in steps if _gone(s.before, s.after, terms)]
    return tuple(dict.fromkeys(removing or [s.name for s in steps]))


def _gone(before: Any, after: Any, terms: Sequence[Term]) -> bool:
    gone = reachable(before) - reachable(after)
    return any(t in gone for t in terms if type(t.op) is not Constant)
