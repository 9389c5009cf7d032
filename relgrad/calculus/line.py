"""Programs that lose their leading terms along a line: where one argument comes near another, or near a number.

    T(y + δ) = Σₖ cₖ·δᵏ, of which c₀ … vanish    ⟶    the terms that are left, where δ is small

log(Σ p^a)/(1 − a) at a = 1, with Σ p = 1 → −Σ p·log p; Σ p(x)²/p(y) − 1 at x = y + δ → what is of second order in δ.
How many terms vanish is found by the bounds of their errors, at points drawn when the program is made; the series
stands for the program where it is more accurate than that by its own bounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import lru_cache, reduce
from itertools import combinations, islice, permutations, product
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.arrays import (
    EPS,
    Coefficient,
    bounded,
    doubled,
    floats,
    in_floats,
    polynomial,
    size,
    vanishing,
)
from relgrad.calculus.mended import Mended
from relgrad.calculus.path import Path
from relgrad.calculus.ring import BranchPoint, NoSeries, Power
from relgrad.calculus.series import FACTORS, Series, zeros_of
from relgrad.errors import RelgradError
from relgrad.interpret import RAISED, interpret, unknown, value_of
from relgrad.kernels.doubled import mixture_cancels
from relgrad.kernels.doubled.number import Doubled, Undecided
from relgrad.leaf import Input
from relgrad.logic.points import point_of
from relgrad.logic.view import sum_of
from relgrad.op import Constant, constant, is_constant
from relgrad.ops.arithmetic import add, subtract
from relgrad.ops.comparison import logical_and, logical_not
from relgrad.ops.gather import ARRAY, Scatter
from relgrad.ops.increments import MeanSlope
from relgrad.ops.joining import Concatenate
from relgrad.ops.reduction import Sum
from relgrad.ops.selection import where
from relgrad.ops.softmax import LogSumExp, Softmax
from relgrad.ops.structure import BroadcastTo, squeeze
from relgrad.syntax import slots
from relgrad.term import Term, substitute, subterms, term
from relgrad.types import ArrayType

ORDER = 30
"""So many coefficients from the first that does not vanish, at most."""
INFINITY = math.inf
NEAR = 1 / 16
"""Distances larger than this, relative to the arguments, are not near."""
SPREAD, TINY = 4.0, 2.0**-60
"""Each term is this times the distance as large as the one before, or less, as the number of terms is chosen."""
NEXT = 2.0**-500
"""The distance at which logarithms are taken on a line itself, where they have no value."""
DIGITS, MORE = 55, 3
"""So many bits are asked for; the last terms are counted as errors."""
ALONE = 64
"""So many entries are looked at one by one, where there is no series of all at once."""
FINE = 16
"""With a larger relative error than so many roundings, a series is computed in doubled arithmetic."""
SOON = 6
"""Entries of one array lose up to so many terms more than others."""
PARTS = 12
"""Arguments that are read in more parts are read as a whole."""
CLUSTER = 4
"""So many arguments meet in one point at most."""
UNTIED = 2.0**-20
"""So far, of the distance at which others are, arguments that have met are taken apart."""
GOOD = 2.0**-20
"""The largest relative error with which a series stands for a program."""
LARGEST = 400
ENTRIES = 1 << 12
"""Programs of more ops, and of larger arrays, are left as they are."""
WORK, MORE_WORK = 40_000, 60_000
"""So many steps are taken to find the series of a program along all of its lines, and then in clusters."""
LESS = 14_000
"""So many are taken along one of them, where the program as written has none there."""
EVALUATIONS = 20_000
"""So many ops are computed to find the lines that a program is suspect near."""


class Part(NamedTuple):
    """An argument, or entries of one: where they are in it, row by row, in the shape in which they are read.

    u, k = t    ⟶    the entries 0 and 1 of t
    """

    leaf: Term
    shape: tuple[int, ...]
    entries: tuple[int, ...] | None = None

    def of(self, values: Mapping[Term, Any]) -> Any:
        """(5, 7, 9), entries 0 and 1 → (5, 7): the value of the part in the arguments' values."""
        x = np.asarray(values[self.leaf])
        return x if self.entries is None else x.reshape(-1)[list(self.entries)].reshape(self.shape)

    def put(self, x: Any, value: Any) -> Any:
        """(5, 7, 9), entries 0 and 1, (1, 2) → (1, 2, 9): an array like the argument, with other entries."""
        value = np.broadcast_to(np.asarray(value, x.dtype), self.shape)
        if self.entries is None:
            return value
        new = x.reshape(-1).copy()
        new[list(self.entries)] = value.reshape(-1)
        return new.reshape(x.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def meets(self, other: Part) -> bool:
        """Whether both have an entry in common: t[0:1] and t[1:2]: yes; t[0] and t[1]: no."""
        same, whole = self.leaf is other.leaf, self.entries is None or other.entries is None
        return same and (whole or not set(self.entries or ()).isdisjoint(other.entries or ()))

    def __str__(self) -> str:
        if self.entries is None:
            return self.leaf.op.label
        where = ", ".join(":".join(map(str, dict.fromkeys(ends))) for ends in self._ends())
        return f"{self.leaf.op.label}[{where}]"

    def _ends(self) -> list[tuple[Any, ...]]:
        """(0, 1, 2) of a vector → [(0, 2)]: the first and the last index along each axis."""
        places = np.unravel_index(np.asarray(self.entries or (0,)), self.leaf.type.shape)
        return [(axis.min(), axis.max()) for axis in places]


class Line(NamedTuple):
    """An argument, and what it comes near: another argument, a number, or infinity.

    Where `whole`, all its entries at once, and with them those of `more` arguments: b = a + t·u and c = a + t·v. Where
    `squared`, series are of the root of the distance, which roots of what vanishes there have: sinh(√k)/√k at k = t²,
    √(x + 1) − √x = t/2 − … at x = t⁻².
    """

    moved: Part
    base: Part | float
    whole: bool = False
    squared: bool = False
    more: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """All that moves."""
        return self.moved, *self.more

    def start(self, values: Mapping[Term, Any]) -> Any:
        """y of the line x = y + t·e: the value of another argument, or the number."""
        return self.base.of(values) if isinstance(self.base, Part) else self.base

    @property
    def is_endless(self) -> bool:
        return self.base == INFINITY

    def put(self, values: Mapping[Term, Any], news: Sequence[Any]) -> dict[Term, Any]:
        """x, y = … → x, y = news: the arguments' values with others in place of those that move."""
        new = dict(values)
        for part, value in zip(self.parts, news, strict=True):
            new[part.leaf] = part.put(np.asarray(new[part.leaf]), value)
        return new

    def at(self, values: Mapping[Term, Any], distances: Sequence[Any]) -> dict[Term, Any]:
        """y, t → y + t, or 1/t from infinity: the arguments' values with those that move at distances t."""
        if self.is_endless:
            return self.put(values, [1 / distance for distance in distances])
        start = self.start(values)
        return self.put(values, [start + distance for distance in distances])

    def has_ties(self, values: Mapping[Term, Any]) -> bool:
        """Whether two of several arguments have met in an entry: a, b, c = 1, 2, 2: yes; 1, 2, 3: no."""
        ends = [np.asarray(end.of(values)) for end in (*self.parts, self.base) if isinstance(end, Part)]
        return bool(self.more) and any(np.any(x == y) for x, y in combinations(ends, 2))

    def met(self, values: Mapping[Term, Any]) -> dict[Term, Any]:
        """x = y: the arguments' values on the line itself; from infinity, the values as they are."""
        return dict(values) if self.is_endless else self.at(values, [0.0] * len(self.parts))

    def spread(self, body: Term, x: Any, still: Any = 0.0) -> Any:
        """(t₁, t₂), body x·Σ y → (t₁, t₂): numbers of the entries that move, at the body's entries that depend on them.

        Entries of the body that depend on none have `still`. Raises NoSeries where an entry depends on several.
        """
        if self.whole:
            return x
        if self.moved.size == 1:
            return x.reshape(())
        follows = followed(body, self.moved)
        if follows is None:
            raise NoSeries("which entries follow what moves is not known")
        of = x.reshape(-1)[np.maximum(follows - 1, 0)]
        return of * (follows > 0) if still == 0.0 else np.where(follows > 0, of, still)

    def logarithm(self, distance: Any) -> Callable[[Term | None], Coefficient]:
        """t → log t ± 4ε·|log t| at the entries of a term, as a function of that; ± |log t| on the line, at t = 0."""
        on = in_floats(distance) == 0
        value = np.log(distance + on * NEXT)
        error = np.where(
            on, np.abs(in_floats(value)), 0.0 if isinstance(value, Doubled) else 4 * EPS * np.abs(value)
        )

        def at(t: Term | None) -> Coefficient:
            if self.whole or self.moved.size == 1:
                return value.reshape(()), error.reshape(())
            if t is None or followed(t, self.moved) is None:
                raise NoSeries("a logarithm of distances of several entries")
            return self.spread(t, value), self.spread(t, error)

        return at

    @property
    def leaves(self) -> set[Term]:
        return {end.leaf for end in (*self.parts, self.base) if isinstance(end, Part)}

    def __str__(self) -> str:
        moved, base = ", ".join(map(str, self.parts)), self.base
        return f"{moved} near {base if isinstance(base, Part) else f'{base:g}'}"


class Approach(NamedTuple):
    """A program as a term of its arguments, the line near which its first terms vanish, and the first that does not."""

    body: Term
    rewritten: Term | None
    """The program as it has become, if it has that series: defined, it may be, where arguments meet and body is not."""
    arguments: tuple[Term, ...]
    line: Line
    start: tuple[int, ...]
    """For each entry, row by row."""

    def __repr__(self) -> str:
        return str(self.line)


class AlongLine(Mended):
    """f(x) → Σ cₖ·δᵏ near a line on which the first cₖ vanish, where the sum is known better than f(x) as written.

    Operands: the program's values, and its arguments.
    """

    __props__ = ("approach",)

    def __init__(self, approach: Approach):
        self.approach = approach

    @property
    def name(self) -> str:
        return "along_line"

    def compute(self, *arrays: Any) -> Any:
        """f(x), x → Σ cₖ·δᵏ in the entries where that is the better; in doubled numbers if floats are coarse."""
        plain, *values = arrays
        written, rewritten, arguments, line, starts = self.approach
        start = np.reshape(starts, np.shape(plain))
        at = dict(zip(arguments, values, strict=True))
        known = known_near(written, at, line)
        if known is not None and known.is_sure:
            return np.where(_is_better(*known[:2], plain), known.value, plain).astype(np.asarray(plain).dtype)
        bodies = [written] if rewritten is None else [written, rewritten]
        found, body = None, written
        for body in reversed(bodies) if line.has_ties(at) else bodies:
            with nullcontext() if body is written else bounded(LESS):
                found = near_line(body, at, line, start)
            if found is not None and np.isfinite(found[1]).any():
                break
        if found is None:
            return plain
        value, error = found
        dtype = np.asarray(plain).dtype
        if np.any(np.isfinite(error) & (error > FINE * np.finfo(dtype).eps * np.abs(value))):
            twice, less = near_line(body, at, line, start, doubled) or found
            none = (
                ~np.isfinite(plain) & np.isfinite(error) & (np.abs(twice) <= less) & (less <= GOOD**2 * error)
            )
            value, error = np.where(less < error, (twice, less), (value, error))
            value, error = np.where(none, 0.0, (value, error))  # but for what is far less than rounding
        if known is not None:  # a narrow feature between here and the line, of which the series knows nothing
            error = np.where(np.abs(value - known.value) > error + known.error, np.inf, error)
        return np.where(_is_better(value, error, plain), value, plain).astype(dtype)


Paths = dict[bytes, Path]
"""Paths of one line from one start, by what moves on them: at other distances they are the same."""


def path_along(
    values: dict[Term, Any],
    line: Line,
    side: float,
    number: Callable[[Any, bool], Any] = floats,
    paths: Paths | None = None,
    apart: float = 0.0,
) -> tuple[Path, Any]:
    """x = y + t·sign(x − y), t = |x − y| → the path along a line, and how far it leads, t.

    x = y + t·e, e = (x − y)/t, t = 2ᵏ, where the argument moves as a whole, or, where x is y, t = 0 and e is a
    direction of the `side` from which the line is looked at; x = m/t, t = 2⁻ᵉ, for x = m·2ᵉ near infinity; on a squared
    line, t² stands for t. Arguments that move at once may be taken `apart`, each by another part of the distance.
    """
    paths = {} if paths is None else paths
    moved, whole = line.moved, np.asarray(values[line.moved.leaf])

    def path(way: Any, far: Any) -> tuple[Path, Any]:
        """y + t·e → its path, and the distance; one path for all distances, unless their logarithms are in it."""
        key = np.asarray(in_floats(way)).tobytes()
        if key not in paths or paths[key].has_logarithms:  # which are of the distance
            paths[key] = Path(of, ORDER, number=number, log_t=line.logarithm(far))
        return paths[key], far

    of: dict[Term, Power] = {leaf: polynomial((number(value, True), 0.0)) for leaf, value in values.items()}
    between = (None,) * line.squared
    if line.is_endless:
        part, size = np.frexp(np.asarray(moved.of(values), float))
        if line.squared:  # m·2ᵉ with an even exponent
            part, size = np.ldexp(part, size % 2 - 2), (size - size % 2) // 2 + 1
        still = (number(moved.put(whole, 0.0), True), 0.0) if moved.size < whole.size else None
        moving = number(moved.put(np.zeros(whole.shape), part), True), 0.0
        of[moved.leaf] = polynomial(moving, *between, still, start=-1 - line.squared)
        return path(part, number(np.ldexp(1.0, -size), True))
    met = line.met(values)
    base = number(met[moved.leaf], True)
    if line.whole:
        leaves = dict.fromkeys([part.leaf for part in line.parts])
        moving = {leaf: number(values[leaf], True) - number(met[leaf], True) for leaf in leaves}
        if size := max([_size(in_floats(v)) for v in moving.values()]):
            k = np.clip(np.frexp(size)[1], -1000, 1000)
            ways = {leaf: v * np.ldexp(1.0, -k) for leaf, v in moving.items()}
            if apart:
                still = {leaf: np.zeros(leaf.type.shape) for leaf in leaves}
                steps = line.put(still, [apart * i for i in range(1, len(line.parts) + 1)])
                ways = {leaf: way + steps[leaf] for leaf, way in ways.items()}
            for leaf, way in ways.items():
                of[leaf] = polynomial((number(met[leaf], True), 0.0), (way, 0.0))
            way = np.concatenate([np.ravel(in_floats(v)) for v in ways.values()])
            return path(way, number(np.ldexp(1.0, k), True))
        # On the line itself, which may be reached from anywhere.
        step = side * _step(moved.shape, 2 + int(side))
        of[moved.leaf] = polynomial((base, 0.0), (number(moved.put(np.zeros(whole.shape), step), True), 0.0))
        far = number(np.zeros(()), True)
        found = Path(of, ORDER, number=number, log_t=line.logarithm(far))
        found.leaves_centre(of[moved.leaf], whole.size)
        return found, far
    delta = number(moved.of(values), True) - number(np.broadcast_to(line.start(values), moved.shape), True)
    signs = np.sign(in_floats(delta))
    signs = np.where(signs == 0, side, signs)
    of[moved.leaf] = polynomial(
        (base, 0.0), *between, (number(moved.put(np.zeros_like(whole), signs), True), 0.0)
    )
    return path(signs, np.sqrt(delta * signs) if line.squared else delta * signs)


class Known(NamedTuple):
    """f(x) ± error in doubled numbers, and whether that `is_sure` of all digits wherever x is near a line."""

    value: Any
    error: Any
    is_sure: bool


def known_near(body: Term, values: dict[Term, Any], line: Line) -> Known | None:
    """1 − cos x at x = 1e-3 → 4.9…e-07 ± 1e-32: f(x) in doubled numbers, which each series must agree with.

    Where these are sure, no series knows better. None where no entry is near, or doubled numbers have no value.
    """
    near = _ratio(body, values, line) <= NEAR
    if not np.any(near):
        return None
    values = _near_alone(body, values, line, near)
    arrays = [np.ascontiguousarray(value) for value in values.values()]
    found = _in_doubled(
        body, tuple([(t, x.dtype.str, x.tobytes()) for t, x in zip(values, arrays, strict=True)])
    )
    if found is None:
        return None
    value, error = found
    sure = (error <= EPS * np.abs(value)) & np.isfinite(value)
    with suppress(NoSeries):
        sure = sure | ~np.asarray(line.whole or line.spread(body, near))
        error = error if line.whole else np.where(line.spread(body, near, True), error, np.inf)
        return Known(value, error, bool(np.all(sure)))
    return Known(value, error, False)


@lru_cache(maxsize=16)
def _in_doubled(body: Term, given: tuple[tuple[Term, str, bytes], ...]) -> tuple[Any, Any] | None:
    """f, {x: bytes} → f(x) ± error in doubled numbers; None without a value. Lines of one program ask at one point."""
    known: dict[Term, Any] = {
        t: doubled(np.frombuffer(data, dtype).reshape(t.type.shape), True) for t, dtype, data in given
    }
    try:
        with np.errstate(all="ignore"):
            for node in unknown([body], known):
                if type(node.op) is Constant:
                    known[node] = doubled(node.op.value, False)
                elif node.op.source(node, slots(len(node.rands))) is None:
                    return None  # what is called, and not written, may ask of arrays anything
                else:
                    known[node] = node.op.compute(*[known[rand] for rand in node.rands])
    except (*RAISED, AttributeError):
        return None
    found = known[body]
    return (np.asarray(found.floats()), found.bound) if isinstance(found, Doubled) else None


def near_line(
    body: Term,
    values: dict[Term, Any],
    line: Line,
    start: Any,
    number: Callable[[Any, bool], Any] = floats,
    paths: Paths | None = None,
) -> tuple[Any, Any] | None:
    """f(y + δ) → Σ cₖ·δᵏ ± error, from k = `start` of each entry; None where there is no series, or no entry near.

    cosh(x) − 1 at x = 10⁻⁵ near 0 → 5·10⁻¹¹ + …. `paths` are those known already.
    """
    ratio = _ratio(body, values, line)
    near = ratio <= NEAR
    if not np.any(near):
        return None
    found = _near_line(body, values, line, start, number, paths, ratio, near)
    several = 1 < np.count_nonzero(near) <= ALONE
    if found is not None or not several or not _are_apart(body, tuple(values), line, near.shape):
        return found
    for place in zip(*np.nonzero(near), strict=True):  # one may have a series though another has none
        one = np.zeros(near.shape, bool)
        one[place] = True
        alone = _near_line(body, values, line, start, number, None, ratio, one)
        if alone is not None:
            found = alone if found is None else tuple(np.where(alone[1] < found[1], alone, found))
    return found


def _near_line(
    body: Term,
    values: dict[Term, Any],
    line: Line,
    start: Any,
    number: Callable[[Any, bool], Any],
    paths: Paths | None,
    ratio: Any,
    near: Any,
) -> tuple[Any, Any] | None:
    """f(y + δ) → Σ cₖ·δᵏ ± error at the entries that are near, ± ∞ at others; None where these have no series."""
    only = _near_alone(body, values, line, near)
    values, paths = only, paths if only is values else None
    shrink = -math.log2(SPREAD * max(np.max(ratio[near]), TINY))
    terms = int(np.max(start)) + min(ORDER, math.ceil(DIGITS / shrink) + MORE)

    def looked_at_from(side: float, apart: float = 0.0) -> Looked:
        """side → the path on that side, and Σ cₖ·δᵏ ± error on it; raises NoSeries where a sign changes on the way."""
        path, far = path_along(values, line, side, number, paths, apart)
        far = far if line.whole else far * near
        # Terms that underflow are none where the distance to a power makes numbers of them.
        with np.errstate(under="raise" if np.max(in_floats(far), initial=0.0) > 1 else "ignore"):
            found = _summed(path, body, line.spread(body, far), start, terms)
        if not path.keeps_signs(np.max(in_floats(far), initial=0.0)):
            raise NoSeries("a sign changes on the way")
        return path, found

    with np.errstate(all="ignore"):
        try:
            on_line = bool(np.any(near & (ratio == 0)))
            if on_line and line.more:
                return None  # from where several arguments meet there are too many ways to look
            if line.has_ties(values):
                return _untied(lambda apart: looked_at_from(1.0, apart)[1])
            both = on_line or (line.squared and not line.is_endless)
            ways = SIDES if both else SIDES[:1]
            differs, (total, error) = _alike(looked_at_from, ways, line.squared)
            if on_line and differs:
                return None
        except (NoSeries, RecursionError, Undecided, FloatingPointError):
            return None
    return total, error if line.whole else np.where(line.spread(body, near, True), error, np.inf)


def _untied(near: Callable[[float], tuple[Any, Any]]) -> tuple[Any, Any]:
    """F(0) = (F(η) + F(−η))/2 + O(η²): a program where arguments have met, from where they are taken apart by η.

    Two such means, of η and 2η, differ by as much as is left out, which counts as error.
    """
    (once, less), (twice, more) = (
        tuple(zip(near(step), near(-step), strict=True)) for step in (UNTIED, 2 * UNTIED)
    )
    found, other = sum(once) / 2, sum(twice) / 2
    return found, sum(less) + sum(more) + np.abs(found - other)


Looked = tuple[Path, tuple[Any, Any]]


def _alike(
    looked_at_from: Callable[[float], Looked], ways: Sequence[float], one_will_do: bool
) -> tuple[bool, tuple[Any, Any]]:
    """F(0⁺), F(0⁻) → F where both agree within the error, else an error of ∞: what a line shows from all sides alike.

    One side may lie outside of the domain if `one_will_do`. The flag tells whether every path decides otherwise on the
    line.
    """
    found: list[Looked] = []
    for side in ways:
        try:
            found.append(looked_at_from(side))
        except NoSeries:
            if not one_will_do or (side == ways[-1] and not found):
                raise
        if found and not (found[0][0].has_centre or found[0][0].decisions or found[0][0].has_roots):
            break  # the other side shows the same
    _, (total, error) = found[0]
    for _, (other, less) in found[1:]:
        lone = ~np.isfinite(total) & one_will_do
        alike = np.abs(total - other) <= error
        alike |= ~np.isfinite(other) & one_will_do
        total, error = np.where(lone, other, total), np.where(lone, less, np.where(alike, error, np.inf))
    return all(path.differs for path, _ in found), (total, error)


def _is_better(value: Any, error: Any, plain: Any) -> Any:
    """dF ≤ GOOD·|F| and |F − f| > dF: where a value F has an accurate bound, which the plain value f lies outside.

    A difference has lost no more than its rounding: an F larger than |f|/ε has terms that underflowed, and is none.
    """
    info = np.finfo(np.asarray(plain).dtype)
    with np.errstate(all="ignore"):
        known = np.isfinite(value) & (error <= GOOD * np.abs(value))
        left = np.isfinite(plain) & (np.abs(plain) > info.tiny / info.eps)
        known &= ~(left & (np.abs(value) > np.abs(plain) / info.eps))
        return known & ~(np.abs(plain - value) <= error)


def _summed(path: Path, body: Term, far: Any, start: Any, end: int) -> tuple[Any, Any]:
    """Σ cₖ·δᵏ for start ≤ k < end, with the error Σ dcₖ·δᵏ + 4ε·|cₖ·δᵏ| and the last MORE terms.

    Raises NoSeries where a coefficient before `start` is more than rounding.
    """
    series = path(body)
    total: Any = np.zeros(body.type.shape)
    error: Any = np.zeros(body.type.shape)
    for k in range(min(series.start, int(np.min(start))), end):
        path.advance(k)
        c = series.at(k)
        if c is not None and np.any(k < start):
            if not np.all(vanishing(c) | (k >= start)):
                raise NoSeries("the first terms do not vanish")
            c = (c[0] * (k >= start), c[1] * (k >= start)) if np.any(k >= start) else None
        if c is not None:
            part = c[0] if k == 0 else c[0] * far**k
            total = total + part
            away = in_floats(far) ** k
            if k > 0 and path.has_logarithms:  # t·log t → 0, but t·e^(−log t) does not
                beside = size(c[0]) * NEXT**k
                error = error + np.where((in_floats(far) == 0) & ~(beside < NEXT**0.75), beside, 0.0)
            error = error + c[1] * away + (0.0 if isinstance(part, Doubled) else 4 * EPS * np.abs(part))
            if k >= end - MORE:
                error = error + size(part)
    return in_floats(total), error + (EPS * size(total) + total.bound if isinstance(total, Doubled) else 0.0)


def _ratio(body: Term, values: dict[Term, Any], line: Line) -> Any:
    """|x − y|/max|y|, or max(1, |z|)/|x| from infinity; the root of that on a squared line; one number on a whole one.

    Where y is a number, other arguments z of the same type tell what is small. What is small may be so beside a number
    in the program, as rates are in (1 + x)/(1 + y): up to CLOSE |x − y| counts, and the series tells whether it may.
    """
    moved, leaf = line.moved, line.moved.leaf
    x = np.asarray(moved.of(values), float)
    base = np.asarray(line.start(values), float)
    size = _size(base)
    if not isinstance(line.base, Part):  # what else there is may say what is small, or large
        others = [t for t in values if t.type == leaf.type and t is not leaf and not _is_linear(body, t)]
        alike = [_size(values[t]) for t in others]
        alike = alike if moved.entries is None else [_size(moved.put(np.asarray(values[leaf]), 0.0))]
        if line.is_endless:
            return np.where(np.isfinite(x), max([1.0, *alike]) / np.abs(x), np.inf)
        size = size or max(alike, default=1.0) or 1.0
    gap = np.abs(x - base)
    if line.whole:
        gap = max([_size(np.asarray(part.of(values), float) - base) for part in line.parts])
    ratio = np.asarray(gap / (size or 1.0))
    if size < 1:
        ratio = np.where(gap <= CLOSE, np.minimum(gap, ratio), ratio)
    return np.sqrt(ratio) if line.squared else ratio


def _near_alone(body: Term, values: dict[Term, Any], line: Line, near: Any) -> dict[Term, Any]:
    """x = (1e-9, 5), y = (2, 1e-200), x near 0 → (1e-9, 1e-9), (2, 2): far entries are those of a near one.

    What they meet on the way is none of the others' business, where each is treated by itself; else the values.
    """
    if np.all(near) or not _are_apart(body, tuple(values), line, near.shape):
        return values
    place = np.unravel_index(np.argmax(near), near.shape)
    return {
        leaf: np.where(near, value, np.asarray(value)[place]) if leaf.type.size > 1 else value
        for leaf, value in values.items()
    }


@lru_cache(maxsize=512)
def _are_apart(body: Term, leaves: tuple[Term, ...], line: Line, shape: tuple[int, ...]) -> bool:
    """x·y → True, x·Σ y → False: whether each entry of a program reads one entry of every array, the same of all."""
    if line.whole or line.moved.entries is not None or (follows := followed(body, line.moved)) is None:
        return False
    for leaf in leaves:
        if leaf.type.size > 1:
            other = followed(body, Part(leaf, leaf.type.shape)) if leaf.type.shape == shape else None
            if other is None or not np.all((other == follows) | (other == 0)):
                return False
    return True


@lru_cache(maxsize=512)
def _is_linear(body: Term, leaf: Term) -> bool:
    """Whether a program is linear in an argument, the size of which says nothing of others then: u·f(x), not x + u."""
    follows = {leaf}
    for t in subterms(body):
        at = [i for i, x in enumerate(t.rands) if x in follows]
        others = [x for x in t.rands if x not in follows and not (is_constant(x) and not x.op.value.any())]
        sums = t.op in (where, add, subtract) or type(t.op) is Concatenate
        alike = (
            others == [t.rands[0]] * (t.op is where) if sums else len(at) == 1 and at[0] in t.op.laws.linear
        )
        if at and not alike:
            return False
        follows |= {t} if at else set()
    return body in follows


def lines(nodes: Sequence[Term]) -> Iterator[Line]:
    """log(x/y) → x near 0, ∞, y; y near 0, ∞, x: the lines on which leading terms of programs may vanish."""
    parts = _parts(nodes)
    for x, terms in parts.items():
        zeros = [zero for node in nodes for t in terms for zero in (*zeros_of(node, t), *_knots(node, t))]
        for zero in dict.fromkeys([0.0, *zeros]):
            yield Line(x, zero)
        yield Line(x, INFINITY)
    for x, y in permutations(parts, 2):
        if y.shape == x.shape and y.leaf.type.dtype == x.leaf.type.dtype and not x.meets(y):
            yield Line(x, y)


def _clusters(nodes: Sequence[Term], pairs: Collection[frozenset[Part]]) -> Iterator[Line]:
    """(x, y), (y, z) → y, z near x: lines on which more than two arguments meet, joined by suspect pairs or subtracted.

    f[x, y, z] = (f[x, y] − f[y, z])/(x − z), and sums of exponentials over the products of differences of their rates.
    """
    parts = _parts(nodes)
    if len(parts) < 3:
        return
    of = {t: part for part, terms in parts.items() for t in terms}
    apart = [frozenset(of[x] for x in t.rands if x in of) for t in nodes if t.op is subtract]
    joined = {*pairs, *[pair for pair in apart if len(pair) == 2]}
    for count in range(3, CLUSTER + 1) if len(joined) > 1 else ():
        for group in combinations(parts, count):
            alike = {(x.shape, x.leaf.type.dtype) for x in group}
            if len(alike) == 1 and _is_joined(group, joined):
                base, moved, *more = group
                yield Line(moved, base, True, more=tuple(more))


def _is_joined(group: Sequence[Part], pairs: Collection[frozenset[Part]]) -> bool:
    """Whether pairs lead from one of a group to all others: x, y, z by (x, y), (y, z): yes; by (x, y) alone: no.

    None of the group may have an entry of another.
    """
    reached, left = {group[0]}, set(group[1:])
    while left and (new := {x for x in left if any(frozenset([x, y]) in pairs for y in reached)}):
        reached, left = reached | new, left - new
    return not left and not any(x.meets(y) for x, y in combinations(group, 2))


def _knots(node: Term, x: Term) -> list[float]:
    """x − (0, 1, 2) → 0, 1, 2;    where(x == 1, …) → 1: the few numbers at which x meets a constant, or a branch."""
    if node.op is where and (found := point_of(node.rands[0])) and found[0].u is x:
        return [found[0].value] if isinstance(found[0].value, float) else []
    if node.op not in (add, subtract):
        return []
    whole = sum_of(node)
    others = {t: k for t, k in whole.terms.items() if t is not x}
    if whole.constant or len(whole.terms) != 2 or len(others) != 1:
        return []
    ((t, k),) = others.items()
    if not is_constant(t) or t.type.dtype.kind != "f" or t.op.value.size > PARTS or k != -whole.terms[x]:
        return []
    return sorted(set(t.op.value.ravel().tolist()))


def _parts(nodes: Sequence[Term]) -> dict[Part, list[Term]]:
    """u, k = t → t, t[0], t[1]: the arguments, and the entries of them read by themselves, with the terms of each.

    An argument that is read in many parts is data, of which no entry is a parameter.
    """
    found: dict[Part, list[Term]] = {}
    places: dict[Term, tuple[Term, Any]] = {}
    for t in nodes:
        if type(t.op) is Input and _is_real(t):
            found[Part(t, t.type.shape)] = [t]
            places[t] = t, np.arange(t.type.size).reshape(t.type.shape)
        elif _moves_entries(t) and t.rands[0] in places:
            leaf, at = places[t.rands[0]]
            places[t] = leaf, at = leaf, t.op.compute(at, *[rand.op.value for rand in t.rands[1:]])
            if len(np.unique(at)) == at.size < leaf.type.size:
                found.setdefault(Part(leaf, t.type.shape, tuple(at.ravel().tolist())), []).append(t)
    many = Counter(part.leaf for part in found)
    return {part: terms for part, terms in found.items() if part.entries is None or many[part.leaf] <= PARTS}


def _moves_entries(t: Term) -> bool:
    """Whether a term has entries of its first operand, chosen by numbers alone: x[1]: yes; x[i], i an argument: no."""
    return t.op.laws.selects and _is_real(t) and all(type(rand.op) is Constant for rand in t.rands[1:])


def _is_real(t: Term) -> bool:
    return isinstance(t.type, ArrayType) and t.type.differentiable and t.type.size is not None


@lru_cache(maxsize=512)
def followed(body: Term, part: Part) -> Any | None:
    """x·Σ y, by x of two entries  ⟶  [1, 2];    put (x[0], x[1]) in reverse  ⟶  [2, 1];    Σ x  ⟶  None

    The entry of a part, counted from 1, that each entry of a body depends on, 0 being none; None if on several.
    """
    of: dict[Term, Any] = {}
    for node in subterms(body):
        if node is part.leaf:
            of[node] = part.put(
                np.zeros(node.type.shape, int), np.arange(1, part.size + 1).reshape(part.shape)
            )
        elif any(rand in of for rand in node.rands):
            found = _followed(node, [of.get(rand) for rand in node.rands])
            if found is None:
                return None
            of[node] = found
    return of.get(body, np.zeros(body.type.shape, int))


def _followed(node: Term, rands: Sequence[Any]) -> Any | None:
    """f(x₁, x₂) + c → [1, 2]: the entries that an application depends on, by its operands'; None if on several."""
    op, moving = node.op, [x for x in rands if x is not None]
    if op.elementwise:
        every = np.broadcast_arrays(*moving, np.zeros(node.type.shape, int))
        found = np.max(every, axis=0)
        return found if all(np.all((x == 0) | (x == found)) for x in every) else None
    if isinstance(op, Sum):
        (x,) = moving
        found = np.max(x, axis=op.axes, keepdims=True, initial=0)
        return found.reshape(node.type.shape) if np.all((x == 0) | (x == found)) else None
    if isinstance(op, Concatenate):
        return op.compute(
            *[np.zeros(t.type.shape, int) if x is None else x for t, x in zip(node.rands, rands, strict=True)]
        )
    puts = op.laws.selects or type(op) is BroadcastTo or (type(op) is Scatter and ARRAY not in op.pattern)
    if (
        not puts
        or len(moving) > 1
        or rands[0] is None
        or any(type(t.op) is not Constant for t in node.rands[1:])
    ):
        return None
    return np.asarray(op.compute(rands[0], *[t.op.value for t in node.rands[1:]]))


RANGES = (0.5, 2.0), (0.1, 0.9), (-1.0, 1.0), (2.0, 5.0), (6.0, 9.0), (-2.0, -0.5)
"""Where arguments are drawn,"""
SIDES = 1.0, -1.0
"""and from where a line is looked at, until a program is defined there."""
SAMPLES = 2
DRAWS = 3
"""Where the series is of no numbers for so many draws, it will be for none."""
COUNT = 2
"""For whole numbers one is too special: (1 − xⁿ)/(1 − x) is constant then."""
BITS = 1 << 8
CLOSEST, CLOSE, FAR = 2.0**-34, 2.0**-20, 2.0**-10
"""Distances at which programs are tried,"""
POINTS, BESIDE = 8, 1.7e-4
"""and at so many points beside each other, of all digits: rounding may be exact at those of few."""
JUMP = 2.0**-9
"""A value on a line that differs by more than so much of itself from a close one has jumped; that of √δ has not."""


class Along(NamedTuple):
    """f, along_line(f, x, y), x near y: a program, its form with a series, and the line of that."""

    before: Term
    after: Term
    line: Line


def along_lines(
    roots: Sequence[Term], written: Callable[[], Sequence[Term]]
) -> tuple[list[Term], list[Along]]:
    """f(x, y) → along_line(f(x, y), x, y), for each line near which f loses digits; with what became of each root.

    `written` returns the roots as they are written, all derivatives written out.
    """
    real = [root for root in roots if _is_real(root)]
    nodes = list(islice(subterms(*real), LARGEST))
    if not real or len(nodes) == LARGEST or not all(map(_may_be_tried, nodes)):
        return list(roots), []
    search = _Search(roots, written, _Trials(real, nodes))
    with bounded(WORK):
        search.along(lines(nodes))
    with bounded(MORE_WORK):
        search.along(_clusters(search.read(nodes), search.pairs))
    return search.new, search.found


class _Search:
    """Programs, and their forms with series along one line after the other."""

    def __init__(self, roots: Sequence[Term], written: Callable[[], Sequence[Term]], trials: _Trials):
        """`written` is asked once, as the first line is suspect; `trials` evaluate the programs beside lines."""
        self.roots, self.new, self.found = roots, list(roots), list[Along]()
        self.pairs = set[frozenset[Part]]()
        """Of arguments, near the line of which programs are suspect."""
        self._written, self._trials = written, trials
        self._done, self._tried = set[frozenset[Any]](), set[frozenset[Any]]()
        self._known: list[tuple[Term, tuple[Term, ...]]] | None = None

    def along(self, some: Iterable[Line]) -> None:
        """f → along_line(f, …) for each line near which f is suspect and has a series; stops where the work is done."""
        for line in some:
            both = frozenset([*line.parts, line.base])
            if line.more:
                self._trials.left = max(self._trials.left, 2 * POINTS * len(self._trials.nodes))
            if self._trials.left < 0:
                return
            if both in (self._tried if line.moved.size == 1 else self._done):
                continue
            if line.is_endless and not any(_is_unit(t, line) for t in self.roots):
                continue
            self._tried.add(both)
            if suspects := self._trials.suspects(line):
                if isinstance(line.base, Part) and not line.more:
                    self.pairs.add(frozenset([line.moved, line.base]))
                if self._mended(line, suspects):
                    self._done.add(both)

    @property
    def _bodies(self) -> list[tuple[Term, tuple[Term, ...]]]:
        """f′ → f′ as written, (x, y): each program as written, with its rewriting's arguments: f′ may have lost one."""
        if self._known is None:
            self._known = [
                (body, tuple([t for t in subterms(body, root) if type(t.op) is Input]))
                for body, root in zip(self._written(), self.roots, strict=True)
            ]
        return self._known

    def read(self, nodes: Sequence[Term]) -> list[Term]:
        """Return the terms of the programs, and of what is written if that is known."""
        return list(dict.fromkeys([*nodes, *subterms(*[body for body, _ in self._known or ()])]))

    def _mended(self, line: Line, suspects: Collection[Term]) -> bool:
        """f → along_line(f, …) for suspect programs that have a series along a line; whether there is any."""
        count = len(self.found)
        for i, (body, arguments) in enumerate(self._bodies):
            if self.roots[i] not in suspects or not _is_real(body) or not line.leaves.issubset(arguments):
                continue
            unit = _is_unit(body, line)
            if line.is_endless and not unit:
                continue
            there, start = _start(body, self.new[i], arguments, line._replace(whole=not unit))
            guard: Any = None
            if start is None and (branch := _branch_beside(body, arguments, there)) is not None:
                body, guard = branch
                there, start = _start(body, where(guard, self.new[i], body), arguments, there)
            if start is None:
                continue
            again = self.roots[i] if _is_another(self.roots[i], body, arguments, there, start) else None
            op = AlongLine(Approach(body, again, arguments, there, start))
            after = term(op, self.new[i], *arguments)
            after = after if guard is None else where(guard, after, self.new[i])
            self.found.append(Along(self.new[i], after, there))
            self.new[i] = self.found[-1].after
        return len(self.found) > count


def _is_unit(t: Term, line: Line) -> bool:
    """sin(x), x → True;    Σ x → False: whether each entry depends on one number that moves at most."""
    return not line.more and (line.moved.size == 1 or followed(t, line.moved) is not None)


def _branch_beside(body: Term, arguments: Sequence[Term], line: Line) -> tuple[Term, Term] | None:
    """where(|x| < 1e-12, 1, f(x)), x near 0 → f(x), not |x| < 1e-12: what a program is beside a line, and where it is.

    None where no choice depends on what moves, or where it is made otherwise at each distance, or entry; and where(y =
    1, f(x), g(x)), y near 1 → None: the branch depends on nothing that moves.
    """
    nodes = list(subterms(body))
    moving = _moving(nodes, line.leaves)
    choices = dict.fromkeys([t.rands[0] for t in nodes if t.op is where and t.rands[0] in moving])
    if not choices:
        return None
    follows = None if line.whole else followed(body, line.moved)
    taken: dict[Term, bool] = {}
    for distance, seed in product((FAR, CLOSE), range(SAMPLES)):
        values = _moved(line.met(_drawn(arguments, RANGES[0], seed)), line, distance, seed)
        try:
            with np.errstate(all="ignore"):
                found = interpret(list(choices), values, typed=False)
        except RAISED:
            return None
        for choice, value in zip(choices, found, strict=True):
            if not np.size(value) or np.any(value != taken.setdefault(choice, bool(np.ravel(value)[0]))):
                return None
    for choice in choices:
        alone = choice.type.size == 1 or (
            follows is not None
            and choice.type.shape == body.type.shape
            and (own := followed(choice, line.moved)) is not None
            and np.array_equal(own, follows)
        )
        if not alone:
            return None
    (branch,) = substitute([body], {c: constant(np.full(c.type.shape, v)) for c, v in taken.items()})
    if not line.leaves.issubset(subterms(branch)):
        return None
    scalar = {c: squeeze(c, tuple(range(-c.type.ndim, 0))) if c.type.size == 1 else c for c in taken}
    guards = [scalar[c] if v else logical_not(scalar[c]) for c, v in taken.items()]
    return branch, reduce(logical_and, guards)


def _may_be_tried(node: Term) -> bool:
    """Whether a term is small, and may be computed as the program is made: x·y, up to 4,096 entries: yes."""
    if not node.op.do_constant_folding(None, node) and type(node.op) is not BroadcastTo:
        return False
    return not isinstance(node.type, ArrayType) or (node.type.size is not None and node.type.size <= ENTRIES)


def _drawn(leaves: Sequence[Term], at: tuple[float, float], seed: int) -> dict[Term, Any]:
    """(0.5, 2), seed 0 → 1.45703125: float64, for float32 too, of 8 bits after the point: their products are exact."""
    rng = np.random.default_rng(seed)
    values: dict[Term, Any] = {}
    for t in leaves:
        shape: Any = t.type.shape
        drawn = np.rint(rng.uniform(*at, shape) * BITS) / BITS
        values[t] = drawn if t.type.dtype.kind == "f" else np.full(shape, COUNT, t.type.dtype)
    return values


def _moved(values: dict[Term, Any], line: Line, distance: float, seed: int) -> dict[Term, Any]:
    """y, δ → y + δ·s, ½ ≤ s < 1 with 8 bits: arguments at a distance from a line, exact numbers for δ = 2⁻ᵏ."""
    return line.at(values, [distance * _step(part.shape, seed + 5 * i) for i, part in enumerate(line.parts)])


@lru_cache(maxsize=16)
def _step(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).integers(BITS // 2, BITS, shape) / BITS


class _Still(NamedTuple):
    """{t: value}, [t, …], [t, …]: values of terms that stay; terms that move; and those of them that may shrink."""

    values: dict[Term, Any]
    order: list[Term]
    suspects: list[Term]


class _Trials:
    """f(y + δ): programs evaluated near lines; terms without the argument that moves are computed once."""

    def __init__(self, roots: Sequence[Term], nodes: Sequence[Term]):
        """`left` is how many ops may still be computed; drawn values, and those that do not move, are kept."""
        self.roots, self.nodes = roots, nodes
        self.leaves = [t for t in nodes if type(t.op) is Input]
        self.left = EVALUATIONS
        self._drawn: dict[Any, dict[Term, Any]] = {}
        self._still: dict[Any, _Still] = {}

    def suspects(self, line: Line) -> Collection[Term]:
        """[(eˣ − eʸ)/(x − y), x·y], x near y → the first: programs that may be noisy near a line, or others on it.

        A necessary test, which costs a few evaluations. Undefined is another, unless values vary much nearby.
        """
        found = set[Term]()
        for at, side in product(RANGES, SIDES):
            try:
                with np.errstate(all="ignore"):
                    if at not in self._drawn:
                        self._drawn[at] = _drawn(self.leaves, at, 1)
                    on = line.met(self._drawn[at])
                    near = self._values(line, at, _moved(on, line, side * CLOSE, 2))
                    if not self._are_finite(near):
                        if self._are_finite(self._values(line, at, _moved(on, line, side * FAR, 2))):
                            return self.roots
                        continue
                    small = {t for t in self._still[_leaves(line), at].suspects if _shrinks(t, near)}
                    if small and (noisy := self._noisy(line, at, on, near, side)):
                        found = noisy | {x for x in self.roots if not small.isdisjoint(subterms(x))}
                    return found if line.is_endless else found | self._jumping(line, at, on, near, side)
            except RAISED:
                return found
        return found

    def _jumping(
        self, line: Line, at: tuple[float, float], on: dict[Term, Any], near: dict[Term, Any], side: float
    ) -> set[Term]:
        """f(y) ≠ f(y + δ) ≈ f(y + 1.5·δ): the programs that are others on a line, and vary little beside it."""
        values = self._values(line, at, on)
        jumps = {x: ~_is_close(values[x], near[x], JUMP) for x in self.roots}
        if not any(map(np.any, jumps.values())):
            return set()
        once, twice = (self._values(line, at, _moved(on, line, side * d, 2)) for d in (FAR, 1.5 * FAR))
        return {
            x
            for x, jump in jumps.items()
            if np.any(jump & _varies_little(values[x], near[x], once[x], twice[x]))
        }

    def _are_finite(self, values: Mapping[Term, Any]) -> bool:
        return all(np.isfinite(values[root]).all() for root in self.roots)

    def _values(self, line: Line, at: tuple[float, float], arguments: dict[Term, Any]) -> dict[Term, Any]:
        """x + δ → the values of all terms, where those that do not depend on x are known.

        Raises ArithmeticError where that is more work than is left.
        """
        leaves = _leaves(line)
        known = self._still.get((leaves, at))
        if known is None:
            moving = _moving(self.nodes, leaves)
            still = [t for t in self.nodes if t not in moving]
            order = [t for t in self.nodes if t in moving and t not in leaves]
            values = _computed(still, arguments)
            suspects = list(filter(_may_shrink, order))
            known = self._still[leaves, at] = _Still({t: values[t] for t in still}, order, suspects)
        self.left -= len(known.order)
        if self.left < 0:
            raise ArithmeticError("more ops than may be computed")
        values = {**known.values, **{leaf: arguments[leaf] for leaf in leaves}}
        for node in known.order:
            values[node] = value_of(node, values, typed=False)
        return values

    def _noisy(
        self, line: Line, at: tuple[float, float], on: dict[Term, Any], near: dict[Term, Any], side: float
    ) -> set[Term]:
        """Δ⁴f > 2⁻⁴²·|f|, or all f alike: programs whose values side by side near a line vary as no smooth one's do."""
        further = [_moved(on, line, side * CLOSE * (1 + j * BESIDE), 2) for j in range(1, POINTS)]
        points = [near, *[self._values(line, at, values) for values in further]]
        found = set[Term]()
        for root in self.roots:
            values = np.stack([values[root] for values in points])
            noise = np.abs(np.diff(values, 4, axis=0))
            if np.any(~(noise <= 2.0**-42 * np.abs(values[0]))) or np.all(values == values[0]):
                found.add(root)
        return found


def _moving(nodes: Iterable[Term], leaves: Iterable[Term]) -> set[Term]:
    """[x, y, x > 0, sin(y)], x → x, x > 0: leaves, and the terms that read them, of terms in order."""
    moving = set(leaves)
    for t in nodes:
        if not moving.isdisjoint(t.rands):
            moving.add(t)
    return moving


def _leaves(line: Line) -> frozenset[Term]:
    return frozenset([part.leaf for part in line.parts])


def _computed(roots: Sequence[Term], arguments: Mapping[Term, Any]) -> dict[Term, Any]:
    """x → the values of all terms between the arguments and some roots."""
    values = dict(arguments)
    for node in unknown(roots, values):
        values[node] = value_of(node, values, typed=False)
    return values


def _varies_little(on: Any, near: Any, once: Any, twice: Any) -> Any:
    """f(δ) ≈ f(1.5·δ): where a function is nearly constant beside a line; or linear, if undefined on the line."""
    linear = np.abs(near - once) <= 3 * np.abs(once - twice)
    return _is_close(once, twice) | (~np.isfinite(on) & linear)


def _is_close(x: Any, y: Any, part: float = 0.02) -> Any:
    """Where |x − y| ≤ part·|y|: 1 and 1.01: yes; 1 and 1.1: no."""
    return np.abs(x - y) <= part * np.abs(y)


def _size(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _may_shrink(node: Term) -> bool:
    """Whether a term is a sum or function of computed terms, and may lose digits: exp(x) − 1: yes; x·y, x + y: no."""
    factor = getattr(node.op, "function", None) in FACTORS or getattr(node.op, "distance", None) is not None
    return not factor and any(rand.rands for rand in node.rands) and _is_real(node)


def _shrinks(node: Term, values: Mapping[Term, Any]) -> bool:
    """|t| < 10⁻³·max|operands|: whether a term is small though its operands are not: exp(10⁻⁹) − 1: yes.

    Of the logarithm of a mixture, whether its weights cancel.
    """
    if type(node.op) in (LogSumExp, Softmax) and len(node.rands) > 1:
        return mixture_cancels(*[values[rand] for rand in node.rands], axis=node.op.axes)
    size = max([_size(values[rand]) for rand in node.rands if _is_real(rand)], default=0.0)
    return _size(values[node]) < 1e-3 * size


def _start(
    body: Term, root: Term, arguments: Sequence[Term], line: Line
) -> tuple[Line, tuple[int, ...] | None]:
    """f, line → the powers of the first terms that do not vanish, of each entry, if the root loses digits by others.

    They are those of √δ on a squared line, which is tried where roots of the distance are taken. None where draws
    disagree.
    """
    tried = (CLOSEST, FAR) if line.more else (FAR, CLOSE) if line.is_endless else (FAR, CLOSE, 0.0)
    left = 1 if line.more else DRAWS
    for at, side in product(RANGES, SIDES):
        starts = set[tuple[int, ...] | None]()
        loses = False
        met = [line.met(_drawn(arguments, at, seed)) for seed in range(SAMPLES)]
        away = [_moved(v, line, side * NEAR, seed) for seed, v in enumerate(met)]
        if not all(_is_defined(body, v) or _is_defined(root, v) for v in away):
            continue
        for seed, values in enumerate(met):
            paths: Paths = {}
            try:
                start = _first(body, _moved(values, line, side * NEAR, seed), line, paths)
            except BranchPoint:
                if line.squared or line.whole:
                    return line, None
                return _start(body, root, arguments, line._replace(squared=True))
            except (NoSeries, RelgradError, RecursionError, ValueError, IndexError, TypeError):
                return line, None
            starts.add(start if start is None else tuple(start.ravel().tolist()))
            if start is not None:
                loses = loses or any(
                    _loses(root, body, _moved(values, line, side * d, seed), line, start, paths)
                    for d in tried
                )
        left -= 1
        if starts != {None} or not left:
            return line, next(iter(starts)) if len(starts) == 1 and loses else None
    return line, None


def _is_another(t: Term, body: Term, arguments: Sequence[Term], line: Line, start: tuple[int, ...]) -> bool:
    """Whether a program has the series of the one as written, within errors, and may be defined where points meet.

    Asked only of mean slopes and clusters, and of what is a number beside the line where other arguments are 0 and the
    program as written is not; the series must be found in few steps.
    """
    ops = {node.op for node in subterms(t)}
    slopes = line.more or any(isinstance(op, MeanSlope) for op in ops)
    if not slopes:
        zeros = _moved(line.met({x: np.zeros(x.type.shape) for x in arguments}), line, FAR, 0)
        slopes = _is_defined(t, zeros) and not _is_defined(body, zeros)
    if not slopes or any(isinstance(op, (Series, Mended)) for op in ops):
        return False
    found = []
    for at in RANGES:
        values = _moved(line.met(_drawn(arguments, at, 0)), line, FAR, 0)
        for program in (body, t):
            with bounded(LESS):
                found.append(near_line(program, values, line, np.reshape(start, body.type.shape)))
        if found[-2] is not None:
            break
    first, second = found[-2:]
    if first is None or second is None:
        return False
    return bool(np.all(np.abs(first[0] - second[0]) <= first[1] + second[1]))


def _is_defined(t: Term, values: dict[Term, Any]) -> bool:
    """Whether all entries of a term are finite numbers: log(x) at x = 1: yes; at x = −1, or at 0: no."""
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(interpret([t], values, typed=False)[0]).all())
    except RAISED:
        return False


def _first(
    body: Term, values: dict[Term, Any], line: Line, paths: Paths, number: Callable[[Any, bool], Any] = floats
) -> Any | None:
    """x·(eˣ − 1), 1 → 2, 0: the powers of the first terms that do not vanish but for rounding, entry by entry.

    An entry without one soon after the others' begins where they do. Raises NoSeries where no entry has any. A
    coefficient that may be rounding in floats vanishes if it does in doubled numbers: that of s − c·(1 − m) for a huge
    c is more than s.
    """
    starts = np.full(body.type.shape, ORDER)
    end, unsure = ORDER, number is floats
    with np.errstate(all="ignore"):
        path, _ = path_along(values, line, 1.0, number, paths)
        series = path(body)
        k = series.start
        while k < end and np.any(starts == ORDER):
            path.advance(k)
            c = series.at(k)
            if c is not None and not np.isfinite(c[0]).all():
                return None
            if c is not None and unsure and np.any(vanishing(c) & (size(c[0]) > 0) & (k < starts)):
                unsure = False
                with suppress(Undecided):
                    return _first(body, values, line, {}, doubled)
            if c is not None and not np.all(vanishing(c)):
                starts = np.where((starts == ORDER) & ~vanishing(c), k, starts)
                end = min(end, k + SOON)
            k += 1
    first = int(starts.min(initial=ORDER))
    if first == ORDER:
        raise NoSeries("all terms vanish that are looked at")
    return np.where(starts == ORDER, first, starts)


def _loses(root: Term, body: Term, values: dict[Term, Any], line: Line, start: Any, paths: Paths) -> bool:
    """Whether |f − F| > 2⁻⁴⁵·|F| beside a line, where the series F is known better: e^x − 1 at 10⁻⁶: yes."""
    found = near_line(body, values, line, start, paths=paths)
    if found is None:
        return False
    value, error = found
    with np.errstate(all="ignore"):
        plain = np.asarray(interpret([root], values, typed=False)[0], float)
        wrong = ~(np.abs(plain - value) <= 2.0**-45 * np.abs(value))
    return bool(np.any(wrong & _is_better(value, error, plain)))
