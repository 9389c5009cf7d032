"""Programs that lose their leading terms along a line: where one argument comes near another, or near a number.

    T(y + δ) = Σₖ cₖ·δᵏ, of which c₀ … vanish    ⟶    the terms that are left, where δ is small

log(Σ p^a)/(1 − a) at a = 1, with Σ p = 1 → −Σ p·log p; Σ p(x)²/p(y) − 1 at x = y + δ → what is of second order in δ.
How many terms vanish is found by the bounds of their errors, at points drawn when the program is made; the series
stands for the program where it is more accurate than that by its own bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.laurent import NoSeries
from relgrad.calculus.mended import Mended
from relgrad.calculus.path import EPS, Exact, Path, Power, bounded, doubled, floats, in_floats, size, vanishes
from relgrad.calculus.series import FACTORS, zeros_of
from relgrad.errors import RelgradError
from relgrad.interpret import interpret, unknown, value_of
from relgrad.kernels.doubled.number import Doubled, Undecided
from relgrad.leaf import Input
from relgrad.ops.structure import BroadcastTo
from relgrad.term import Term, subterms, term
from relgrad.types import ArrayType

ORDER = 30
"""So many coefficients from the first that does not vanish, at most."""
NEAR = 1 / 16
"""Distances larger than this, relative to the arguments, are not near."""
SPREAD, TINY = 4.0, 2.0**-60
"""Each term is this times the distance as large as the one before, or less, as the number of terms is chosen."""
DIGITS, MORE = 55, 3
"""So many bits are asked for; the last terms are counted as errors."""
FINE = 16
"""With a larger relative error than so many roundings, a series is computed in doubled arithmetic."""
GOOD = 2.0**-20
"""The largest relative error with which a series stands for a program."""
LARGEST = 400
ENTRIES = 1 << 12
"""Programs of more ops, and of larger arrays, are left as they are."""
WORK = 150_000
"""So many steps are taken to find the series of a program along all of its lines."""
EVALUATIONS = 20_000
"""So many ops are computed to find the lines that a program is suspect near."""


class Line(NamedTuple):
    """An argument, and what it comes near: another argument, or a number. Where `whole`, all its entries at once."""

    moved: Term
    base: Term | float
    whole: bool

    def start(self, values: Mapping[Term, Any]) -> Any:
        """Return the value of what the argument comes near."""
        return values[self.base] if isinstance(self.base, Term) else self.base

    def __str__(self) -> str:
        base = self.base.op.label if isinstance(self.base, Term) else f"{self.base:g}"
        return f"{self.moved.op.label} near {base}"


class Approach(NamedTuple):
    """A program as a term of its arguments, the line near which its first terms vanish, and the first that does not."""

    body: Term
    arguments: tuple[Term, ...]
    line: Line
    start: int

    def __repr__(self) -> str:
        return str(self.line)


class AlongLine(Mended):
    """A program by its series near a line on which its first terms vanish, where that is the more accurate.

    Operands: the program's values, and its arguments.
    """

    __props__ = ("approach", "precise")

    def __init__(self, approach: Approach, precise: bool):
        self.approach, self.precise = approach, precise

    @property
    def name(self) -> str:
        return "along_line"

    def compute(self, *arrays: Any) -> Any:
        plain, *values = arrays
        body, arguments, line, start = self.approach
        at = dict(zip(arguments, values, strict=True))
        found = near_line(body, at, line, start)
        if found is None:
            return plain
        value, error = found
        dtype = np.asarray(plain).dtype
        if self.precise and np.any(np.isfinite(error) & (error > FINE * np.finfo(dtype).eps * np.abs(value))):
            twice, less = near_line(body, at, line, start, doubled) or found
            value, error = np.where(less < error, (twice, less), (value, error))
        return np.where(_is_better(value, error, plain), value, plain).astype(dtype)


def path_along(
    values: dict[Term, Any], line: Line, side: float, number: Callable[[Any, bool], Any] = floats
) -> tuple[Path, Any]:
    """Return the path along a line, and the distance; `side` is where it is looked at from where the distance is 0."""
    shape = np.shape(values[line.moved])
    x, base = (number(np.broadcast_to(v, shape), True) for v in (values[line.moved], line.start(values)))
    delta = x - base
    of: dict[Term, Power] = {leaf: Exact((number(value, True), 0.0)) for leaf, value in values.items()}
    of[line.moved] = Exact((base, 0.0), (delta if line.whole else number(np.ones(shape), True), 0.0))
    if line.whole:
        return Path(of, ORDER, number=number), 1.0
    delta = delta.reshape(()) if x.size == 1 else delta
    sign = np.sign(in_floats(delta))
    return Path(of, ORDER, np.where(sign == 0, side, sign), number=number), delta


def near_line(
    body: Term,
    values: dict[Term, Any],
    line: Line,
    start: int,
    number: Callable[[Any, bool], Any] = floats,
) -> tuple[Any, Any] | None:
    """Return a program's values by its series along a line, with bounds of their errors; None where it has none."""
    ratio = _ratio(values, line)
    near = ratio <= NEAR
    if not np.any(near):
        return None
    terms = start + min(ORDER, math.ceil(DIGITS / -math.log2(SPREAD * max(np.max(ratio[near]), TINY))) + MORE)
    with np.errstate(all="ignore"):
        try:
            path, delta = path_along(values, line, 1.0, number)
            total, error = found = _summed(path, body, delta, start, terms)
            if not line.whole and np.any(in_floats(delta) == 0) and path.signs:
                if path.differs:
                    return None
                # On the line itself, it must be the same from both sides.
                other, _ = _summed(path_along(values, line, -1.0, number)[0], body, delta, start, terms)
                found = total, np.where(np.abs(total - other) <= error, error, np.inf)
        except (NoSeries, RecursionError, Undecided):
            return None
    return found if line.whole else (found[0], np.where(near, found[1], np.inf))


def _is_better(value: Any, error: Any, plain: Any) -> Any:
    """Return where a value with an error bound is accurate, and the plain one is none that the bound allows."""
    with np.errstate(all="ignore"):
        known = np.isfinite(value) & (error <= GOOD * np.abs(value))
        return known & ~(np.abs(plain - value) <= error)


def _summed(path: Path, body: Term, delta: Any, start: int, end: int) -> tuple[Any, Any]:
    """Return the sum of the terms from a power on, with a bound of its error; raises NoSeries where it is no value."""
    series = path(body)
    if not all((c := series.at(k)) is None or vanishes(c) for k in range(series.start, start)):
        raise NoSeries("the first terms do not vanish")
    total: Any = 0.0
    error: Any = 0.0
    for k in range(start, end):
        path.advance(k)
        c = series.at(k)
        if c is not None:
            part = c[0] if k == 0 else c[0] * delta**k
            total = total + part
            away = np.abs(in_floats(delta) ** k)
            error = error + c[1] * away + (0.0 if isinstance(part, Doubled) else 4 * EPS * np.abs(part))
            if k >= end - MORE:
                error = error + size(part)
    if not path.keeps_signs(in_floats(delta)):
        raise NoSeries("a sign changes on the way")
    return in_floats(total), error + (EPS * size(total) + total.bound if isinstance(total, Doubled) else 0.0)


def _ratio(values: dict[Term, Any], line: Line) -> Any:
    """Return the distances from a line, compared with the size of what is there: one if all entries move at once."""
    x = np.asarray(values[line.moved], float)
    base = np.asarray(line.start(values), float)
    size = _size(base)
    if not isinstance(line.base, Term):
        alike = [_size(v) for t, v in values.items() if t.type == line.moved.type and t is not line.moved]
        size = size or max(alike, default=1.0)
    gap = np.abs(x - base)
    return np.asarray((np.max(gap, initial=0.0) if line.whole or x.size == 1 else gap) / (size or 1.0))


def lines(roots: Sequence[Term]) -> Iterator[Line]:
    """Yield the lines on which the programs may lose their leading terms."""
    leaves = [t for t in subterms(*roots) if type(t.op) is Input and _is_real(t)]
    for x in leaves:
        unit = x.type.size == 1 or all(_is_entrywise(root, x) for root in roots)
        for y in leaves:
            if y is not x and y.type == x.type:
                yield Line(x, y, not unit)
        zeros = [zero for node in subterms(*roots) for zero in zeros_of(node, x)]
        for zero in dict.fromkeys([0.0, *zeros]):
            yield Line(x, zero, not unit)


def _is_real(t: Term) -> bool:
    return isinstance(t.type, ArrayType) and t.type.differentiable and t.type.size is not None


def _is_entrywise(root: Term, x: Term) -> bool:
    moving = {x}
    for node in subterms(root):
        if any(rand in moving for rand in node.rands):
            if not node.op.elementwise or node.type.shape != x.type.shape:
                return False
            moving.add(node)
    return True


RANGES = (0.5, 2.0), (0.1, 0.9), (-1.0, 1.0), (2.0, 5.0)
"""Where arguments are drawn, until a program is defined there."""
SAMPLES = 2
BITS = 1 << 8
CLOSE, FAR = 2.0**-20, 2.0**-10
"""Distances at which programs are tried."""


class Along(NamedTuple):
    """A program, what it became, and the line on which its first terms vanish."""

    before: Term
    after: Term
    line: Line


def along_lines(
    roots: Sequence[Term], written: Callable[[], Sequence[Term]], precise: bool = True
) -> tuple[list[Term], list[Along]]:
    """Return the roots with their series along each line near which they still lose digits, and what became of what.

    `written` returns them as they are written, all derivatives written out. Series of a `precise` program are computed
    in doubled arithmetic where floats are not enough for them, either.
    """
    new, found = list(roots), list[Along]()
    real = [root for root in roots if _is_real(root)]
    nodes = list(islice(subterms(*real), LARGEST))
    if not real or len(nodes) == LARGEST or not all(map(_may_be_tried, nodes)):
        return new, found
    trials = _Trials(real, nodes)
    bodies: list[tuple[Term, tuple[Term, ...]]] | None = None
    done = set[frozenset[Any]]()
    with bounded(WORK):
        for line in lines(real):
            both = frozenset([line.moved, line.base])
            if trials.left < 0:
                break
            if both in done or not trials.are_suspect(line):
                continue
            if bodies is None:
                # What is written may have lost an argument, as a derivative does, which its rewriting has kept.
                bodies = [
                    (body, tuple([t for t in subterms(body, root) if type(t.op) is Input]))
                    for body, root in zip(written(), roots, strict=True)
                ]
            ends = {line.moved, line.base} if isinstance(line.base, Term) else {line.moved}
            for i, (body, arguments) in enumerate(bodies):
                if not _is_real(body):
                    continue
                # What is written may sum over entries of an argument that its rewriting has none of.
                unit = line.moved.type.size == 1 or _is_entrywise(body, line.moved)
                there = line._replace(whole=line.whole or not unit)
                start = _start(body, new[i], arguments, there) if ends.issubset(arguments) else None
                if start is not None:
                    done.add(both)
                    op = AlongLine(Approach(body, arguments, there, start), precise)
                    found.append(Along(new[i], term(op, new[i], *arguments), there))
                    new[i] = found[-1].after
    return new, found


def _may_be_tried(node: Term) -> bool:
    """Whether a term is small, and may be computed while the program is made."""
    if not node.op.do_constant_folding(None, node) and type(node.op) is not BroadcastTo:
        return False
    return not isinstance(node.type, ArrayType) or (node.type.size is not None and node.type.size <= ENTRIES)


def _drawn(leaves: Sequence[Term], at: tuple[float, float], seed: int) -> dict[Term, Any]:
    """Return arguments of few bits drawn at random."""
    rng = np.random.default_rng(seed)
    values: dict[Term, Any] = {}
    for t in leaves:
        shape: Any = t.type.shape
        drawn = rng.uniform(*at, shape) if t.type.dtype.kind == "f" else np.ones(shape)
        values[t] = (np.rint(drawn * BITS) / BITS).astype(t.type.dtype)
    return values


def _met(values: dict[Term, Any], line: Line) -> dict[Term, Any]:
    """Return arguments with the one that moves at what it comes near."""
    start = np.asarray(line.start(values), line.moved.type.dtype)
    return {**values, line.moved: np.broadcast_to(start, values[line.moved].shape)}


def _moved(values: dict[Term, Any], line: Line, distance: float, seed: int) -> dict[Term, Any]:
    """Return arguments at a distance from a line: exact numbers, if the distance is one."""
    x = values[line.moved]
    return {**values, line.moved: (x + distance * _step(np.shape(x), seed)).astype(line.moved.type.dtype)}


@lru_cache(maxsize=16)
def _step(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).integers(BITS // 2, BITS, shape) / BITS


class _Still(NamedTuple):
    """The values of what one argument does not move; the terms that it moves, in order, and those that may shrink."""

    values: dict[Term, Any]
    order: list[Term]
    suspects: list[Term]


class _Trials:
    """Programs evaluated near lines: what does not depend on the argument that moves is computed once."""

    def __init__(self, roots: Sequence[Term], nodes: Sequence[Term]):
        self.roots, self.nodes = roots, nodes
        self.leaves = [t for t in nodes if type(t.op) is Input]
        self.left = EVALUATIONS
        self._drawn: dict[Any, dict[Term, Any]] = {}
        self._still: dict[Any, _Still] = {}

    def are_suspect(self, line: Line) -> bool:
        """Whether programs are noisy near a line, or undefined or otherwise on it though they do not vary nearby.

        A necessary test, which costs a few evaluations.
        """
        for at in RANGES:
            try:
                with np.errstate(all="ignore"):
                    if at not in self._drawn:
                        self._drawn[at] = _drawn(self.leaves, at, 1)
                    on = _met(self._drawn[at], line)
                    near = self._values(line, at, _moved(on, line, CLOSE, 2))
                    if not all(np.isfinite(near[root]).all() for root in self.roots):
                        continue
                    suspects = self._still[line.moved, at].suspects
                    if any(_shrinks(t, near) for t in suspects) and self._are_noisy(line, at, on, near):
                        return True
                    values = self._values(line, at, on)
                    if all(_size(values[x] - near[x]) <= 0.02 * _size(values[x]) for x in self.roots):
                        return False
                    once, twice = (self._values(line, at, _moved(on, line, d, 2)) for d in (FAR, 1.5 * FAR))
                    return all(_size(once[x] - twice[x]) <= 0.02 * _size(once[x]) for x in self.roots)
            except (RelgradError, TypeError, ValueError, ArithmeticError, IndexError):
                return False
        return False

    def _values(self, line: Line, at: tuple[float, float], arguments: dict[Term, Any]) -> dict[Term, Any]:
        """Return the values of all terms for arguments of which one has moved from where it was drawn.

        Raises ArithmeticError where that is more work than is left.
        """
        known = self._still.get((line.moved, at))
        if known is None:
            moving = {line.moved}
            for t in self.nodes:
                if not moving.isdisjoint(t.rands):
                    moving.add(t)
            still = [t for t in self.nodes if t not in moving]
            order = [t for t in self.nodes if t in moving and t is not line.moved]
            values = _computed(still, arguments)
            suspects = list(filter(_may_shrink, order))
            known = self._still[line.moved, at] = _Still({t: values[t] for t in still}, order, suspects)
        self.left -= len(known.order)
        if self.left < 0:
            raise ArithmeticError("more ops than may be computed")
        values = {**known.values, line.moved: arguments[line.moved]}
        for node in known.order:
            values[node] = value_of(node, values, typed=False)
        return values

    def _are_noisy(
        self, line: Line, at: tuple[float, float], on: dict[Term, Any], near: dict[Term, Any]
    ) -> bool:
        """Whether fourth differences of values near a line are larger than those of a smooth function."""
        further = [_moved(on, line, CLOSE * (1 + j * 2.0**-12), 2) for j in range(1, 5)]
        points = [near, *[self._values(line, at, values) for values in further]]
        for root in self.roots:
            a, b, c, d, e = [values[root] for values in points]
            if np.any(~(np.abs(a - 4 * b + 6 * c - 4 * d + e) <= 2.0**-42 * np.abs(a))):
                return True
        return False


def _computed(roots: Sequence[Term], arguments: Mapping[Term, Any]) -> dict[Term, Any]:
    """Return the values of all terms below some."""
    values = dict(arguments)
    for node in unknown(roots, values):
        values[node] = value_of(node, values, typed=False)
    return values


def _size(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _may_shrink(node: Term) -> bool:
    """Whether a term is a sum, or a function, of what is computed, and may lose digits."""
    factor = getattr(node.op, "function", None) in FACTORS or getattr(node.op, "distance", None) is not None
    return not factor and any(rand.rands for rand in node.rands) and _is_real(node)


def _shrinks(node: Term, values: Mapping[Term, Any]) -> bool:
    """Whether a term is small though its operands are not."""
    size = max([_size(values[rand]) for rand in node.rands if _is_real(rand)], default=0.0)
    return _size(values[node]) < 1e-3 * size


def _start(body: Term, root: Term, arguments: Sequence[Term], line: Line) -> int | None:
    """Return the power of the first term that does not vanish, where the root loses digits by those that do."""
    for at in RANGES:
        starts = set[int | None]()
        loses = False
        start: int | None = None
        met = [_met(_drawn(arguments, at, seed), line) for seed in range(SAMPLES)]
        if not all(_is_defined(body, _moved(v, line, NEAR, seed)) for seed, v in enumerate(met)):
            continue
        for seed, values in enumerate(met):
            try:
                start = _first(body, _moved(values, line, NEAR, seed), line)
            except (NoSeries, RelgradError, RecursionError, ValueError, IndexError, TypeError):
                return None
            starts.add(start)
            if start is not None:
                loses = loses or any(
                    _loses(root, body, _moved(values, line, d, seed), line, start) for d in (FAR, CLOSE, 0.0)
                )
        if starts != {None}:
            return start if len(starts) == 1 and loses else None
    return None


def _is_defined(t: Term, values: dict[Term, Any]) -> bool:
    """Whether a term is a number."""
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(interpret([t], values, typed=False)[0]).all())
    except (RelgradError, TypeError, ValueError, ArithmeticError, IndexError):
        return False


def _first(body: Term, values: dict[Term, Any], line: Line) -> int | None:
    """Return the power of the first term that does not vanish but for rounding."""
    with np.errstate(all="ignore"):
        path, _ = path_along(values, line, 1.0)
        series = path(body)
        for k in range(series.start, ORDER):
            path.advance(k)
            c = series.at(k)
            if c is not None and not np.isfinite(c[0]).all():
                return None
            if c is not None and not vanishes(c):
                return k
    return None


def _loses(root: Term, body: Term, values: dict[Term, Any], line: Line, start: int) -> bool:
    """Whether a program has wrong digits near a line where its series has not."""
    found = near_line(body, values, line, start)
    if found is None:
        return False
    value, error = found
    with np.errstate(all="ignore"):
        plain = np.asarray(interpret([root], values)[0], float)
        wrong = ~(np.abs(plain - value) <= 2.0**-45 * np.abs(value))
    return bool(np.any(wrong & _is_better(value, error, plain)))
