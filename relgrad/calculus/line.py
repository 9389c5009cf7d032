"""Series of programs along lines: what is left where one argument comes near another, or near a number.

    T(y + δ) = Σₖ cₖ·δᵏ, of which c₀ … vanish    ⟶    the terms that are left, where δ is small

log(Σ p^a)/(1 − a) at a = 1, with Σ p = 1 → −Σ p·log p; Σ p(x)²/p(y) − 1 at x = y + δ → what is of second order in δ.
The series stands for the program where it is more accurate than that by its own bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from relgrad.balls.numbers import Balls
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
from relgrad.calculus.ring import NoSeries, Power
from relgrad.dependence import labels_of
from relgrad.interpret import RAISED, unknown
from relgrad.kernels.doubled.number import Doubled, Undecided
from relgrad.op import Constant, is_constant
from relgrad.ops.arithmetic import add, subtract
from relgrad.ops.joining import Concatenate
from relgrad.ops.selection import where
from relgrad.syntax import slots
from relgrad.term import Term, subterms

ORDER = 30
"""So many coefficients from the first that does not vanish, at most."""

INFINITY = math.inf

NEAR = 1 / 16
"""Distances larger than this, relative to the arguments, are not near."""

SPREAD, TINY = 4.0, 2.0**-60
"""Each term is this times the distance as large as the one before, or less, as the number of terms is chosen."""

NEXT = 2.0**-500
"""The distance at which logarithms are taken on a line itself, where they have no value: t·log t is 0, but t^y =
e^(y·log t) is no series, however small y is.
"""

DIGITS, MORE = 55, 3
"""So many bits are asked for; the last terms are counted as errors."""

ALONE = 64
"""So many entries are looked at one by one, where there is no series of all at once."""

FINE = 16
"""With a larger relative error than so many roundings, a series is computed in doubled arithmetic."""

UNTIED = 2.0**-20
"""So far, of the distance at which others are, arguments that have met are taken apart."""

GOOD = 2.0**-20
"""The largest relative error with which a series stands for a program."""

LESS = 14_000
"""So many are taken along one of them, where the program as written has none there."""

SIDES = 1.0, -1.0
"""and from where a line is looked at, until a program is defined there."""

IN_BALLS = 1 << 13
"""So many operations on balls are not too many for a program's value beside a line."""

BITS = 1 << 8

CLOSEST, CLOSE, FAR = 2.0**-34, 2.0**-20, 2.0**-10
"""Distances at which programs are tried."""


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
        """t → log t ± 4ε·|log t| at the entries of a term, as a function of that; ± ∞ on the line, at t = 0."""
        on = in_floats(distance) == 0
        value = np.log(distance + on * NEXT)
        error = np.where(on, np.inf, 0.0 if isinstance(value, Doubled) else 4 * EPS * np.abs(value))
        if isinstance(value, Doubled):
            value = value + Doubled(np.zeros(np.shape(on)), np.zeros(np.shape(on)), error)

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
        plain, *values = map(np.asarray, arrays)
        found = _near(self.approach, _given(self.approach.arguments, values), plain.dtype, plain.shape)
        if found is None:
            return plain
        value, error, twice, less = found
        none = ~np.isfinite(plain) & np.isfinite(error) & (np.abs(twice) <= less) & (less <= GOOD**2 * error)
        value, error = np.where(less < error, (twice, less), (value, error))
        value = np.where(none, 0.0, value)  # but for what is far less than rounding
        return np.where(is_better(value, np.where(none, 0.0, error), plain), value, plain).astype(plain.dtype)


@lru_cache(maxsize=16)
def _near(
    approach: Approach, given: Given, dtype: Any, shape: tuple[int, ...]
) -> tuple[Any, Any, Any, Any] | None:
    """x → F(x) ± dF, and in doubled numbers if these are coarse, else again; None where there is no series.

    A program that is run again, in other numbers, asks at one point.
    """
    written, rewritten, _, line, starts = approach
    at, start = _read(given), np.reshape(starts, shape)
    known = known_near(written, at, line)
    if known is not None and known.is_sure:
        return *known[:2], *known[:2]
    bodies = [written] if rewritten is None else [written, rewritten]
    found, body = None, written
    for body in reversed(bodies) if line.has_ties(at) else bodies:
        with nullcontext() if body is written else bounded(LESS):
            found = near_line(body, at, line, start)
        if found is not None and np.isfinite(found[1]).any():
            break
    if found is None:
        return None
    twice, (value, error) = found, found
    if np.any(np.isfinite(error) & (error > FINE * np.finfo(dtype).eps * np.abs(value))):
        twice = near_line(body, at, line, start, doubled) or found
    if known is not None:  # a narrow feature between here and the line, of which the series knows nothing
        errors = [np.where(np.abs(v - known.value) > e + known.error, np.inf, e) for v, e in (found, twice)]
        return value, errors[0], twice[0], errors[1]
    return value, error, *twice


Given = tuple[tuple[Term, str, bytes], ...]
"""Arguments, with the dtypes and bytes of their values."""


def _given(arguments: Sequence[Term], values: Iterable[Any]) -> Given:
    """[x], [1e-9] → the bytes of 1e-9 for x."""
    arrays = map(np.ascontiguousarray, values)
    return tuple([(t, x.dtype.str, x.tobytes()) for t, x in zip(arguments, arrays, strict=True)])


def _read(given: Given) -> dict[Term, Any]:
    return {t: np.frombuffer(data, dtype).reshape(t.type.shape) for t, dtype, data in given}


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
        if size := max([largest(in_floats(v)) for v in moving.values()]):
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
        step = side * random_step(moved.shape, 2 + int(side))
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
    """f(x) ± error in doubled numbers or balls, and whether that `is_sure` of all digits wherever x is near a line."""

    value: Any
    error: Any
    is_sure: bool


def known_near(body: Term, values: dict[Term, Any], line: Line) -> Known | None:
    """1 − cos x at x = 1e-3 → 4.9…e-07 ± 1e-32: f(x) in doubled numbers, which each series must agree with.

    Where these are sure, no series knows better; where they are not, balls may be, unless an entry is on the line. None
    where no entry is near, or neither has a value.
    """
    ratio = _ratio(body, values, line)
    near = ratio <= NEAR
    if not np.any(near):
        return None
    values = _near_alone(body, values, line, near)
    given = _given(tuple(values), values.values())
    met = np.any(near & (ratio == 0)) or line.has_ties(values)
    found = _in_doubled(body, given)
    if not met and (found is None or not np.all(_are_sure(*found))) and (more := _in_balls(body, given)):
        found = more if found is None else np.where(_are_sure(*more), more, found)
    if found is None:
        return None
    value, error = found
    sure = _are_sure(value, error)
    with suppress(NoSeries):
        sure = sure | ~np.asarray(line.whole or line.spread(body, near))
        error = error if line.whole else np.where(line.spread(body, near, True), error, np.inf)
        return Known(value, error, bool(np.all(sure)))
    return Known(value, error, False)


def known_at(body: Term, values: dict[Term, Any]) -> Known | None:
    """exp(x) at 1e-6 → 1.000001… ± 1e-32: f(x) in doubled numbers, near a line or on one."""
    found = _in_doubled(body, _given(tuple(values), values.values()))
    return None if found is None else Known(*found, bool(np.all(_are_sure(*found))))


def _are_sure(value: Any, error: Any) -> Any:
    """Return which values have all digits of floats."""
    return (error <= EPS * np.abs(value)) & np.isfinite(value)


@lru_cache(maxsize=16)
def _in_balls(body: Term, given: Given) -> tuple[Any, Any] | None:
    """f, {x: bytes} → f(x) ± half a unit in balls of as many digits as that takes, ± ∞ where none do; or None."""
    found = Balls.nearest(body, _read(given), IN_BALLS)
    return None if found is None else (np.asarray(found.floats()), found.bound)


@lru_cache(maxsize=16)
def _in_doubled(body: Term, given: Given) -> tuple[Any, Any] | None:
    """f, {x: bytes} → f(x) ± error in doubled numbers; None without a value. Lines of one program ask at one point."""
    known: dict[Term, Any] = {t: doubled(x, True) for t, x in _read(given).items()}
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

    One side may lie outside of the domain if `one_will_do`. The flag tells whether every path that is defined decides
    otherwise on the line.
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
    defined = [path for path, (values, _) in found if np.any(np.isfinite(values))]
    return all(path.differs for path in defined), (total, error)


def is_better(value: Any, error: Any, plain: Any) -> Any:
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

    Raises NoSeries where a coefficient before `start` is more than rounding, as −∞ ± ∞ is.
    """
    series = path(body)
    total: Any = np.zeros(body.type.shape)
    error: Any = np.zeros(body.type.shape)
    for k in range(min(series.start, int(np.min(start))), end):
        path.advance(k)
        c = series.at(k)
        if c is not None and np.any(k < start):
            if not np.all((vanishing(c) & np.isfinite(c[1])) | (k >= start)):
                raise NoSeries("the first terms do not vanish")
            c = (c[0] * (k >= start), c[1] * (k >= start)) if np.any(k >= start) else None
        if c is not None:
            part = c[0] if k == 0 else c[0] * far**k
            total = total + part
            away = in_floats(far) ** k
            lost = c[1] * away
            if k > 0 and path.has_logarithms:  # t·log t → 0, but t·e^(−log t) does not
                beside = size(c[0]) * NEXT**k
                lost = np.where(in_floats(far) != 0, lost, np.where(beside < NEXT**0.75, 0.0, beside))
            error = error + lost + (0.0 if isinstance(part, Doubled) else 4 * EPS * np.abs(part))
            if k >= end - MORE:
                error = error + size(part)
    return in_floats(total), error + (EPS * size(total) + total.bound if isinstance(total, Doubled) else 0.0)


def _ratio(body: Term, values: dict[Term, Any], line: Line) -> Any:
    """|x − y|/max|y|, or max(1, |z|)/|x| from infinity; the root of that on a squared line; one number on a whole one.

    Where y is a number, other arguments z of the same type tell what is small. What is small may be so beside a number
    in the program, as rates are in (1 + x)/(1 + y): then |x − y| counts, and the series tells whether it may.
    """
    moved, leaf = line.moved, line.moved.leaf
    x = np.asarray(moved.of(values), float)
    base = np.asarray(line.start(values), float)
    size = largest(base)
    if not isinstance(line.base, Part):  # what else there is may say what is small, or large
        others = [t for t in values if t.type == leaf.type and t is not leaf and not _is_linear(body, t)]
        alike = [largest(values[t]) for t in others]
        alike = alike if moved.entries is None else [largest(moved.put(np.asarray(values[leaf]), 0.0))]
        if line.is_endless:
            return np.where(np.isfinite(x), max([1.0, *alike]) / np.abs(x), np.inf)
        size = size or max(alike, default=1.0) or 1.0
    gap = np.abs(x - base)
    if line.whole:
        gaps = [np.abs(np.asarray(part.of(values), float) - base) for part in line.parts]
        gap = np.max([np.max(gap, initial=0.0) for gap in gaps])  # of what is no number, none
    ratio = np.asarray(gap / (size or 1.0))
    if size < 1:
        ratio = np.where(ratio <= NEAR, ratio, gap)
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


@lru_cache(maxsize=512)
def followed(body: Term, part: Part) -> Any | None:
    """x·Σ y, by x of two entries  ⟶  [1, 2];    put (x[0], x[1]) in reverse  ⟶  [2, 1];    Σ x  ⟶  None

    The entry of a part, counted from 1, that each entry of a body depends on, 0 being none; None if on several.
    """
    numbers = np.arange(1, part.size + 1).reshape(part.shape)
    found = labels_of([body], {part.leaf: part.put(np.zeros(part.leaf.type.shape, int), numbers)})
    return None if found is None else found[0]


@lru_cache(maxsize=16)
def random_step(shape: tuple[int, ...], seed: int) -> Any:
    """s, ½ ≤ s < 1, with 8 bits: a direction in which the entries of an argument move away from a line."""
    return np.random.default_rng(seed).integers(BITS // 2, BITS, shape) / BITS


def largest(x: Any) -> float:
    """(1, −2, NaN) → 2: max |x| of numbers, 0 of none: what is none is no matter of the others."""
    return float(np.max(size := np.abs(x), initial=0.0, where=np.isfinite(size)))
