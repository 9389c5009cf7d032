"""Which programs lose their leading terms, and along which lines: tried at points drawn as the program is made.

    (eˣ − e^y)/(x − y)    ⟶    along_line((eˣ − e^y)/(x − y), x near y)

A program is suspect near a line where its values beside each other differ by more than they should. How many of its
terms vanish there is found by the bounds of their errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from itertools import chain, combinations, islice, permutations, product
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.arrays import (
    bounded,
    doubled,
    floats,
    size,
    vanishing,
)
from relgrad.calculus.line import (
    BITS,
    CLOSE,
    CLOSEST,
    FAR,
    INFINITY,
    LESS,
    NEAR,
    ORDER,
    SIDES,
    AlongLine,
    Approach,
    Line,
    Part,
    Paths,
    followed,
    is_better,
    known_at,
    known_near,
    largest,
    near_line,
    path_along,
    random_step,
)
from relgrad.calculus.mended import Mended
from relgrad.calculus.ring import BranchPoint, NoSeries
from relgrad.calculus.series import FACTORS, Series, zeros_of
from relgrad.errors import RelgradError
from relgrad.interpret import RAISED, interpret, unknown, value_of
from relgrad.kernels.doubled import mixture_cancels
from relgrad.kernels.doubled.number import Undecided
from relgrad.leaf import Input
from relgrad.logic.points import point_of
from relgrad.logic.view import sum_of
from relgrad.op import Constant, constant, is_constant
from relgrad.ops.arithmetic import add, subtract
from relgrad.ops.comparison import logical_and, logical_not
from relgrad.ops.increments import MeanSlope
from relgrad.ops.selection import where
from relgrad.ops.softmax import LogSumExp, Softmax
from relgrad.ops.structure import BroadcastTo, squeeze
from relgrad.term import Term, substitute, subterms, term
from relgrad.types import ArrayType

SOON = 6
"""Entries of one array lose up to so many terms more than others."""

PARTS = 12
"""Arguments that are read in more parts are read as a whole."""

CLUSTER = 4
"""So many arguments meet in one point at most."""

LARGEST = 400

ENTRIES = 1 << 12
"""Programs of more ops, and of larger arrays, are left as they are."""

WORK, MORE_WORK = 40_000, 60_000
"""So many steps are taken to find the series of a program along all of its lines, and then in clusters."""

EVALUATIONS, MORE_EVALUATIONS = 20_000, 60_000
"""So many ops are computed to find the lines that a program is suspect near, and then the clusters."""

RANGES = (0.5, 2.0), (0.1, 0.9), (-1.0, 1.0), (2.0, 5.0), (6.0, 9.0), (-2.0, -0.5)
"""Where arguments are drawn,"""

SHARES = (0.0, 1.0)
"""and where arrays are drawn that sum to one along the last axis: log Σ p^q vanishes at q = 1 for these alone."""

SAMPLES = 2

DRAWS = 3
"""Where the series is of no numbers for so many draws, it will be for none."""

COUNT = 2
"""For whole numbers one is too special: (1 − xⁿ)/(1 − x) is constant then."""

POINTS, BESIDE = 8, 1.7e-4
"""Programs are tried at so many points beside each other, of all digits: rounding may be exact at those of few."""

JUMP = 2.0**-9
"""A value on a line that differs by more than so much of itself from a close one has jumped; that of √δ has not."""


def lines(nodes: Sequence[Term]) -> Iterator[Line]:
    """log(x/y) → x near 0, ∞, y; y near 0, ∞, x: the lines on which leading terms of programs may vanish."""
    parts = _parts(nodes)
    for x, terms in parts.items():
        zeros = [zero for node in nodes for t in terms for zero in (*zeros_of(node, t), *_knots(node, t))]
        for zero in dict.fromkeys([0.0, *zeros]):
            yield Line(x, zero)
        yield Line(x, INFINITY)
    for x, y in permutations(parts, 2):
        if _reaches(y, x) and y.leaf.type.dtype == x.leaf.type.dtype and not x.meets(y):
            yield Line(x, y)
    yield from dict.fromkeys(_lines_to_entries(nodes))


def _lines_to_entries(nodes: Iterable[Term]) -> Iterator[Line]:
    """x − (y₀, y₁) → x near y₀, x near y₁: a number, and the few entries of an argument that it is near."""
    for t in nodes:
        if t.op is subtract and all(type(x.op) is Input and _is_real(x) for x in t.rands):
            x, y = sorted(t.rands, key=lambda rand: rand.type.ndim)
            if x.type.ndim == 0 and x.type.dtype == y.type.dtype and 1 < (y.type.size or 0) <= PARTS:
                for i in range(y.type.size):
                    yield Line(Part(x, ()), Part(y, (), (i,)))


def _reaches(y: Part, x: Part) -> bool:
    """() → (3,), (3, 1) → (3, 2); (2,) → (3,): no: whether each entry of x may come near one of y as it is spread."""
    extents = zip(y.shape[::-1], x.shape[::-1], strict=False)
    return len(y.shape) <= len(x.shape) and all(m in (1, n) for m, n in extents)


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
    search.trials.left = max(search.trials.left, MORE_EVALUATIONS)
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
        self._written, self.trials = written, trials
        self._done, self._tried = set[frozenset[Any]](), set[frozenset[Any]]()
        self._known: list[tuple[Term, tuple[Term, ...]]] | None = None

    def along(self, some: Iterable[Line]) -> None:
        """f → along_line(f, …) for each line near which f is suspect and has a series; stops where the work is done."""
        for line in some:
            both = frozenset([*line.parts, line.base])
            if self.trials.left < 0:
                return
            if both in (self._tried if line.moved.size == 1 else self._done):
                continue
            if line.is_endless and not any(_is_unit(t, line) for t in self.roots):
                continue
            self._tried.add(both)
            if suspects := self.trials.suspects(line):
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
            if start is None and _may_meet_shares(line, arguments):
                there, start = _start(body, self.new[i], arguments, there, (SHARES,))
            guard: Any = None
            if start is None and (branch := _branch_beside(body, arguments, there)) is not None:
                body, guard = branch
                there, start = _start(body, where(guard, self.new[i], body), arguments, there)
            if start is None and guard is None and line.is_endless:
                body = self.roots[i]  # as e^(−x²)/erfc(x) has no series at ∞, and 1/erfcx(x) has
                there, start = _start(body, self.new[i], arguments, there)
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


def _may_meet_shares(line: Line, leaves: Iterable[Term]) -> bool:
    """Whether one number comes near another, and there are arrays beside it that may be distributions."""
    return (
        line.moved.size == 1
        and not isinstance(line.base, Part)
        and not line.is_endless
        and any(t.type.dtype.kind == "f" and t.type.ndim and t.type.shape[-1] > 1 for t in leaves)
    )


def _drawn(leaves: Sequence[Term], at: tuple[float, float], seed: int) -> dict[Term, Any]:
    """(0.5, 2), seed 0 → 1.45703125: float64, for float32 too, of 8 bits after the point: their products are exact."""
    rng = np.random.default_rng(seed)
    values: dict[Term, Any] = {}
    for t in leaves:
        shape: Any = t.type.shape
        drawn = np.rint(rng.uniform(*at, shape) * BITS) / BITS
        if at == SHARES and shape and shape[-1] > 1:
            drawn = (drawn + 1 / BITS) / 2.0 ** shape[-1].bit_length()
            drawn[..., -1] = 1 - np.sum(drawn[..., :-1], axis=-1)
        values[t] = drawn if t.type.dtype.kind == "f" else np.full(shape, COUNT, t.type.dtype)
    return values


def _moved(values: dict[Term, Any], line: Line, distance: float, seed: int) -> dict[Term, Any]:
    """y, δ → y + δ·s, ½ ≤ s < 1 with 8 bits: arguments at a distance from a line, exact numbers for δ = 2⁻ᵏ."""
    return line.at(
        values, [distance * random_step(part.shape, seed + 5 * i) for i, part in enumerate(line.parts)]
    )


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

        A necessary test, which costs a few evaluations. Undefined is another, unless values vary much nearby for
        distributions as well.
        """
        found = self._suspects(line, RANGES)
        if not found and _may_meet_shares(line, self.leaves) and not self._is_defined_on(line):
            found = self._suspects(line, (SHARES,))
        return found

    def _is_defined_on(self, line: Line) -> bool:
        try:
            with np.errstate(all="ignore"):
                return self._are_finite(self._values(line, RANGES[0], line.met(self._drawn[RANGES[0]])))
        except RAISED:
            return True

    def _suspects(self, line: Line, ranges: Sequence[tuple[float, float]]) -> Collection[Term]:
        found = set[Term]()
        for at, side in product(ranges, SIDES):
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
        """f(y) ≠ f(y + δ) ≈ f(y + 1.5·δ): the programs that are others on a line, and vary little beside it;
        where(x > 0, f(x), NaN) → none: where they choose to be undefined they are to be that.
        """
        values = self._values(line, at, on)
        chosen = {t for t in self.nodes if _may_be_nan(t) and np.any(values[t.rands[0]] != near[t.rands[0]])}
        roots = [x for x in self.roots if chosen.isdisjoint(subterms(x))] if chosen else self.roots
        jumps = {x: ~_is_close(values[x], near[x], JUMP) for x in roots}
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


def _may_shrink(node: Term) -> bool:
    """Whether a term is a sum or function of computed terms, and may lose digits: exp(x) − 1: yes; x·y, x + y: no."""
    factor = getattr(node.op, "function", None) in FACTORS or getattr(node.op, "distance", None) is not None
    return not factor and any(rand.rands for rand in node.rands) and _is_real(node)


def _may_be_nan(node: Term) -> bool:
    """where(x > 0, log x, NaN) → True: whether a term is a choice of which NaN is a branch."""
    return node.op is where and any(is_constant(x) and np.all(np.isnan(x.op.value)) for x in node.rands[1:])


def _shrinks(node: Term, values: Mapping[Term, Any]) -> bool:
    """|t| < 10⁻³·max|operands|: whether a term is small though its operands are not: exp(10⁻⁹) − 1: yes.

    Of the logarithm of a mixture, whether its weights cancel.
    """
    if type(node.op) in (LogSumExp, Softmax) and len(node.rands) > 1:
        return mixture_cancels(*[values[rand] for rand in node.rands], axis=node.op.axes)
    size = max([largest(values[rand]) for rand in node.rands if _is_real(rand)], default=0.0)
    return largest(values[node]) < 1e-3 * size


def _start(
    body: Term,
    root: Term,
    arguments: Sequence[Term],
    line: Line,
    ranges: Sequence[tuple[float, float]] = RANGES,
) -> tuple[Line, tuple[int, ...] | None]:
    """f, line → the powers of the first terms that do not vanish, of each entry, if the root loses digits by others.

    They are those of √δ on a squared line, which is tried where roots of the distance are taken. None where draws
    disagree.
    """
    tried = (CLOSEST, FAR) if line.more else (CLOSE, FAR) if line.is_endless else (CLOSE, FAR, 0.0)
    left = 1 if line.more else DRAWS
    for at, side in product(ranges, SIDES):
        starts = set[tuple[int, ...] | None]()
        loses = False
        met = [line.met(_drawn(arguments, at, seed)) for seed in range(SAMPLES)]
        away = [_moved(v, line, side * NEAR, seed) for seed, v in enumerate(met)]
        if not all(_is_defined(body, v) or _is_defined(root, v) for v in away):
            continue
        beside = [[_moved(v, line, side * d, seed) for d in tried] for seed, v in enumerate(met)]
        if not (line.more or line.is_endless) and all(
            _is_kept(root, body, values) for values in chain(*beside)
        ):
            return line, None
        for seed, values in enumerate(met):
            paths: Paths = {}
            try:
                start = _first(body, _moved(values, line, side * NEAR, seed), line, paths)
                if start is not None and not loses:
                    loses = any(_loses(root, body, x, line, start, paths) for x in beside[seed])
                if start is not None and line.more and not loses:  # all but one have met
                    step = side * CLOSEST * random_step(line.moved.shape, seed)
                    tied = line.at(values, [step] * len(line.parts))
                    loses = not _is_defined(body, tied) and _loses(root, body, tied, line, start, {}, doubled)
            except BranchPoint:
                if line.squared or line.whole:
                    return line, None
                return _start(body, root, arguments, line._replace(squared=True), ranges)
            except (NoSeries, RelgradError, RecursionError, ValueError, IndexError, TypeError):
                return line, None
            starts.add(start if start is None else tuple(start.ravel().tolist()))
        left -= 1
        if starts != {None} or not left:
            return line, next(iter(starts)) if len(starts) == 1 and loses else None
    return line, None


def _is_kept(root: Term, body: Term, values: dict[Term, Any]) -> bool:
    """sin x at 1e-6 → True, 1 − cos x → False: whether doubled numbers know a program whose digits floats keep."""
    known = known_at(body, values)
    return known is not None and known.is_sure and not _is_off(root, values, known.value, known.error)


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


def _loses(
    root: Term,
    body: Term,
    values: dict[Term, Any],
    line: Line,
    start: Any,
    paths: Paths,
    number: Callable[[Any, bool], Any] = floats,
) -> bool:
    """Whether |f − F| > 2⁻⁴⁵·|F| beside a line, where F is known better, or its series: e^x − 1 at 10⁻⁶: yes."""
    known = known_near(body, values, line)
    found = known if known and known.is_sure else near_line(body, values, line, start, number, paths)
    if found is None:
        return False
    return _is_off(root, values, *found[:2])


def _is_off(root: Term, values: dict[Term, Any], value: Any, error: Any) -> bool:
    """1 − cos x, 4.99…e-13 ± 1e-29 → True: whether a program in floats has lost digits of what it is known to be."""
    with np.errstate(all="ignore"):
        plain = np.asarray(interpret([root], values, typed=False)[0], float)
        wrong = ~(np.abs(plain - value) <= 2.0**-45 * np.abs(value))
    return bool(np.any(wrong & is_better(value, error, plain)))
