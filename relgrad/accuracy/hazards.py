"""Hazards: where in a function floating point overflows, underflows, cancels, or divides zero by zero.

A place is called a hazard only if the result is wrong because of it, at an input that is reported. So code that
overflows where that does no harm is left in peace.

Source: the search for the operation at which an error arises follows Panchekha et al. 2015, section 4.2
(localization of errors). Changed from the source: each finding is confirmed by putting the true value in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgrad.accuracy.alike import alike, nudged
from relgrad.accuracy.bits import all_bits, bits_of_error
from relgrad.accuracy.limit import limits
from relgrad.accuracy.lines import lines_of, lines_of_gradient
from relgrad.accuracy.measure import Subject, subjects_of
from relgrad.balls.graph import Enclosure, enclose, nearest
from relgrad.interpret import interpret
from relgrad.looks import Shown
from relgrad.op import Constant
from relgrad.progress import progress
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


@dataclass(frozen=True)
class Hazard(Shown):
    """np.exp(x) at x = 800 → overflow in f.py:3: a place where accuracy is lost, and an input that shows it.

    `kind` is one of overflow, underflow, cancellation, 0/0, NaN and rounding; `relations` are those that remove it,
    and empty where nothing in the library does; `cured` is whether the rewritten function is right all the same.
    """

    where: str
    term: Term
    kind: str
    output: str
    bits: float
    inputs: dict[str, Any]
    relations: tuple[str, ...]
    cured: bool


def hazards(
    fun: Callable[..., Any],
    args: Sequence[Any],
    *,
    library: Library,
    strategy: Strategy,
    points: int,
    seed: int,
) -> list[Hazard]:
    """f, (1.0,) → [Hazard, …]: the hazards of a function and its gradient, at `args` and at inputs like them.

    Samplers are drawn from.
    """
    rng = np.random.default_rng(seed)
    start = tuple([x(rng) if callable(x) else x for x in args])
    lines = lines_of(fun, start)
    found: dict[tuple[str, str], Hazard] = {}
    inputs = [(start, False), *[alike(args, rng, i) for i in range(points)]]
    for subject, labels in subjects_of(fun, start, library, strategy, weights=_weights):
        places = lines | lines_of_gradient(subject.written, lines)
        with progress(f"hazards of {getattr(fun, '__name__', 'f')}", inputs) as tried:
            for point, extreme in tried:
                if not subject.accepts(point):
                    continue
                try:
                    for hazard in _at(subject, labels, point, places, extreme):
                        found.setdefault((hazard.where, str(hazard.term.op)), hazard)
                except (
                    np.linalg.LinAlgError
                ):  # such as a singular matrix: the function says that it has no value
                    if point is start:
                        raise
    return sorted(found.values(), key=lambda h: (h.where.rpartition(":")[0], int(h.where.rpartition(":")[2])))


def _weights(shape: Any) -> Any:
    """Return the cotangents of the gradient that is examined: such that nothing cancels by symmetry."""
    return 1 + np.arange(math.prod(shape)).reshape(shape) / 8


def _at(
    subject: Subject, labels: Sequence[str], args: Any, lines: Mapping[Term, str], extreme: bool
) -> Iterator[Hazard]:
    """subject at x = 800 → Hazard, …: the hazards that one input shows; of an extreme one, those that the library
    removes.
    """
    values = subject.values(args)
    roots = subject.written.after
    nodes = [t for t in subterms(*roots) if isinstance(t.type, ArrayType)]
    with np.errstate(all="ignore"):
        computed = dict(zip(nodes, interpret(nodes, values), strict=True))
        better = flatten(subject.rewritten(*args))[0]
    truth, limiting = subject.truth(args)
    wrong = [_error(computed[root], t) for root, t in zip(roots, truth, strict=True)]
    lost = [_lost(computed[root], *rest) for root, *rest in zip(roots, better, truth, strict=True)]
    if max(wrong, default=0.0) <= ALARM and not any(lost):
        return
    with np.errstate(all="ignore"):
        plain = interpret(subject.derived.after, values)
    in_range = [_error(x, t) <= ALARM for x, t in zip(plain, truth, strict=True)]
    found = enclose(nodes, values, limit=2048)
    if any(map(np.any, limiting)):
        found = [e if e.settled.all() else near for e, near in zip(found, limits(nodes, values), strict=True)]
    exact = dict(zip(nodes, found, strict=True))
    errors = {t: _error(computed[t], exact[t]) for t in nodes}
    inputs = dict(zip(subject.traced.paths, flatten((tuple(args), {}))[0], strict=True))
    for index, root in enumerate(roots):
        if wrong[index] <= ALARM and not lost[index]:
            continue
        cured = _error(better[index], truth[index]) <= ALARM
        if not cured and (extreme or _is_ill_conditioned(subject, args, index, truth[index], wrong[index])):
            continue
        if lost[index] and wrong[index] <= ALARM:
            culprits, bits = _first_nan(root, computed), float(all_bits(computed[root].dtype))
        else:
            culprits, bits = _culprits(root, values, computed, exact, errors, truth[index]), wrong[index]
        for node in culprits:
            place, kind = _birth(node, computed, exact)
            by_relations = cured and (kind not in ("overflow", "underflow") or in_range[index])
            relations = _removing(subject.derived, node, place) if by_relations else ()
            # Without a relation it is the extended range of rewritten functions that cures.
            if extreme and not relations:
                continue
            yield Hazard(
                _line(lines, place, node), place, kind, labels[index], bits, inputs, relations, cured
            )


def _lost(got: Any, better: Any, truth: Enclosure) -> bool:
    """NaN where the truth is not settled, and `better` finite → True: NaN is computed where a rewriting has a value."""
    got = np.asarray(got)
    if got.dtype.kind != "f" or got.shape != truth.settled.shape:
        return False
    return bool(np.any(np.isnan(got) & ~truth.settled & np.isfinite(better)))


def _first_nan(root: Term, computed: Mapping[Term, Any]) -> list[Term]:
    """Return the terms that are NaN though their operands are not."""
    lost = {t for t in subterms(root) if t in computed and np.any(computed[t] != computed[t])}
    return [t for t in subterms(root) if t in lost and not any(rand in lost for rand in t.rands)]


def _is_ill_conditioned(subject: Subject, args: Any, index: int, truth: Enclosure, wrong: float) -> bool:
    """|f(x·(1 + ε)) − f(x)| ≥ the error → True: whether the last bits of the inputs matter so much that none can do
    better.
    """
    for seed in range(2):
        moved, _ = subject.truth(nudged(args, np.random.default_rng(seed)))
        change = np.where(moved[index].settled, moved[index].middle, np.nan)
        known = bits_of_error(change, truth)
        if np.nanmax(np.where(truth.settled, known, 0.0), initial=0.0) >= wrong - FINE:
            return True
    return False


def _line(lines: Mapping[Term, str], *terms: Term) -> str:
    """(lines, log(x)) → "f.py:3": the line of the first term that has one; of sums of cotangents, that of one of
    them.
    """
    near = next((t for t in terms if t in lines), None) or next(
        (t for t in subterms(*terms) if t in lines), None
    )
    return lines[near] if near is not None else "<unknown>:0"


def _error(got: Any, truth: Enclosure) -> float:
    """max over entries of bits_of_error → 52.0: the largest error that matters in an array.

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
    """log(exp(x)) at 800 → [exp(x)]: the terms that are wrong though their operands are right.

    Without whose error the root is right, if there are such.
    """
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
    """eˣ/Σeˣ at 800 → eˣ, overflow: the term at which a wrong term's error is born, and its kind."""
    for kind, happens in (("overflow", _overflows), ("underflow", _underflows)):
        place = node
        while True:
            below = [r for r in place.rands if r in exact and happens(computed[r], exact[r])]
            if not below:
                break
            place = below[0]
        if place is not node and place.op.cancels != "sum":
            return place, kind
    if str(node.op) == "divide" and np.any((computed[node.rands[0]] == 0) & (computed[node.rands[1]] == 0)):
        return node, "0/0"
    if np.any(computed[node] != computed[node]):
        return node, "NaN"
    return node, "cancellation" if node.op.cancels == "sum" else "rounding"


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
    """log(eˣ) → (the row that made x of it,): the relations that rewrote the terms away, or simplifications;
    else all of them.
    """
    relations = [step for step in derivation.steps if step.move == "relation"]
    simplified = [step for step in derivation.steps if step.move in ("simplify", "series")]
    for steps in (relations, simplified):
        removing = [s.name for s in steps if _gone(s.before, s.after, terms)]
        if removing:
            return tuple(dict.fromkeys(removing))
    return tuple(dict.fromkeys(s.name for s in relations or simplified))


def _gone(before: Any, after: Any, terms: Sequence[Term]) -> bool:
    gone = reachable(before) - reachable(after)
    return any(t in gone for t in terms if type(t.op) is not Constant)
