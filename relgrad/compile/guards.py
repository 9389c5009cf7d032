"""Where digits may still cancel in a program, and the tests that tell whether they do.

A sum of computed parts that may have opposite signs loses digits where its result is far below them:

    b·b − 4·a·c        cancels_at(t2, t1), where each entry of the program is computed by itself; else cancels
    x[:, None] − x     no test of the diagonal, where an entry is taken from itself
    x + c·(b·b − a)    cancels(t4, x, (t2, c)), for a number c: what is summed on matters beside what it is added to
    Σ (b·b − a)²       cancels(t3, t2, axis=-1): what is summed over axes matters beside the largest entries there
    Σ x                sum_cancels(sum_x, x)
    cumsum x           cancels(cumsum_x, cumsum(|x|)): so what else is linear, as convolve(a, b)
    a·b, of matrices   product_cancels(matmul_a, a, b)
    log u              cancels(log_u, 1.0), for a computed u, and other functions with such zeros
    log Σ w·e^x        cancels(logsumexp_x, 1.0): the logarithm of a mixture that is nearly 1; so log |det a|
    log(e^x + e^y)     cancels(logaddexp_x, max(x, y)), for computed x or y
    log Σ w·e^x        mixture_cancels(x, w), for weights of both signs; so a softmax of them
    arcsin u           cancels(1 − |u|, 1.0), for a computed u, and other functions with such branch points
    log1p u            cancels(1 + u, 1.0), for a computed u
    √(y² + e·w)        cancels((y² + e·w)/(y² + |e·w|), 1.0), for a computed operand, and other roots of discriminants
    u ** n             cancels(1.0, n), for a computed u: a large power multiplies its error
    exp Σ w·log x      cancels(1.0, Σ w·log x): so does a large exponent that changes less than x does
    sin u, cos v       turns_at(u, (v, cos_v)), for computed u, v: whole turns are taken off large angles, and near
                       zeros of what needs its own digits
    u − mean u         cancels(centred_u, u), for a computed u
    Σ u − v            cancels(sum_minus_u, v), for computed u or v, whose difference alone is exact
    exp(x·y − x)       cancels(max(|x·y − x|, 1), x): large parts leave few digits after the point of an exponent
    e^−(x·y)·cosh(z)   exponents_cancel_at(t3, exp_1): exponents that are rounded, of factors beyond floats, leave few
    x == max(x)        ties(x, max_x), for computed x: whose slope is that of the largest
    a⁻¹·b, det a, l·lᵀ ill_conditioned(a), of few rows: elimination cancels where rows are nearly dependent

A difference of two floats that are given is right to the last digit. An operand of exp, or of a softmax, need be right
to a few digits after the point only. A sum with an argument as a factor, Σ x·f, is as sensitive to
the argument as it is to rounding; so is a product of matrices with a computed one.

Errors of entries that are summed over axes matter beside the largest entries there, if the way is smooth where entries
are 0: a factor, a square, an exponential. A logarithm, a reciprocal or a root of an entry needs its own digits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from relgrad import kernels
from relgrad.bounds import range_of, told
from relgrad.calculus.series import Series, applied, zeros_of
from relgrad.compile.literals import number
from relgrad.compile.operands import supplied
from relgrad.constancy import coincidence
from relgrad.dependence import labels_of
from relgrad.interpret import interpret
from relgrad.kernels.doubled.precise import CHANCE, SMALL, TURNS
from relgrad.kernels.numbers import are_written
from relgrad.kernels.watched import SURE
from relgrad.leaf import Input
from relgrad.op import Constant, Op, Project, as_term, constant, is_constant, is_float
from relgrad.ops.arithmetic import (
    absolute,
    add,
    divide,
    float_power,
    multiply,
    negative,
    power,
    subtract,
)
from relgrad.ops.casting import Cast
from relgrad.ops.comparison import equal
from relgrad.ops.determinant import SLogDet
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.exponential import cosh, exp, log, logaddexp, logaddexp2, sinh
from relgrad.ops.increments import Difference, Telescope
from relgrad.ops.joining import Concatenate
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Reduction, Sum
from relgrad.ops.rounding import coarse
from relgrad.ops.selection import maximum, where
from relgrad.ops.shaping import Transpose
from relgrad.ops.softmax import Gibbs, LogSumExp, Softmax
from relgrad.ops.stable import xlogy
from relgrad.ops.structure import Squeeze
from relgrad.term import Term, kept, nearest_where, reachable, rebuild, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import REAL, ArrayType, Interval, Type, array_type

Part = tuple[Term, tuple[Term, ...]]
"""A part of a sum, and numbers that it is multiplied with."""
MANY = 6
"""A sum of more parts is taken for a sum of sums."""
FEW = 16
"""Each of more tests must be rarer to trip by chance, so that all together are not."""
ROWS = 16
"""Matrices of more rows are taken as floats give them: balls are slow."""
FOLLOWED = 1 << 22
"""So many entries, of all terms together, are followed from rows of arguments."""
LARGE = 64.0
"""Powers up to this are as accurate as their bases."""
_SUMS = (add, subtract)


_LOST = Elementwise("lost", kernels.lost, arity=2, kernel=True)


class Test(Op):
    """cancels(t, a, (b, k)): whether t is far below a, or k·b, as a kernel tells it, along axes if there are any.

    The last operands are factors, of the operands at the places that `scaled` lists.
    """

    __props__ = ("kernel", "axes", "scaled", "chances", "bits")
    numpy_scalar = True

    def __init__(
        self,
        kernel: str,
        axes: tuple[int, ...] = (),
        scaled: tuple[int, ...] = (),
        chances: float = 1,
        bits: int | None = None,
    ):
        self.kernel, self.axes, self.scaled, self.imports = kernel, axes, scaled, (kernel,)
        self.chances, self.bits = chances, bits

    def among(self, chances: float, bits: int | None) -> Test:
        """cancels(t, a) → cancels(t, a, chances=2, bits=12): one of so many tests that each must trip less often by
        chance, but for such a loss.
        """
        return Test(self.kernel, self.axes, self.scaled, float(f"{chances:.2g}"), bits)

    @property
    def name(self) -> str:
        return self.kernel

    def output_type(self, *types: object) -> Type:
        return array_type(bool)

    @property
    def _options(self) -> dict[str, Any]:
        """cancels(t, a, axis=-1) → {"axis": -1}: what a kernel is told, but for what it takes by default."""
        axis = self.axes[0] if len(self.axes) == 1 else self.axes
        told = {"axis": (axis, ()), "chances": (self.chances, 1), "bits": (self.bits, None)}
        return {name: value for name, (value, usual) in told.items() if value != usual}

    def compute(self, *arrays: Any) -> Any:
        """any(kernel(t, a, (b, k), axis=…, chances=…)) as a truth value."""
        return np.bool_(np.any(getattr(kernels, self.kernel)(*self._paired(arrays, tuple), **self._options)))

    def source(self, node: Term, names: Sequence[str]) -> str | None:
        """t, a, b, k → "cancels(t, a, (b, k), axis=-1)", numbers written out."""
        plain = [is_constant(x) and x.type.ndim == 0 for x in node.rands]
        names = [
            (number(x.op.value, x.type.dtype) or t) if p else t
            for x, t, p in zip(node.rands, names, plain, strict=True)
        ]
        texts = self._paired(names, lambda pair: f"({', '.join(pair)})")
        options = [
            f"{name}={value:g}" if name == "chances" else f"{name}={value}"
            for name, value in self._options.items()
        ]
        return f"{self.kernel}({', '.join([*texts, *options])})"

    def _paired(self, operands: Sequence[Any], pair: Callable[[list[Any]], Any]) -> list[Any]:
        """(t, a, b, k), scaled=(2,) → t, a, (b, k): operands, with the last ones as factors of those they belong to."""
        count = len(operands) - len(self.scaled)
        found = list(operands[:count])
        for i, factor in zip(self.scaled, operands[count:], strict=True):
            found[i] = pair([found[i], factor])
        return found


def guards(roots: Sequence[Term], rounded: Collection[Term] = (), bits: int | None = None) -> list[Term]:
    """y·y − x → [cancels_at(y·y − x, x)]: the tests, in the order of computation; none where nothing can cancel.

    A loss of so many `bits` trips each, however many entries there are; by default that is up to its kernel.
    """
    found = list(dict.fromkeys(_Guards(roots, rounded).found))
    chances = max(len(found) / FEW, 1) * (1 if _size(roots) <= SMALL else SURE)
    if chances == 1 and bits is None:
        return found
    return [term(t.op.among(chances, bits), *t.rands) for t in found]


def _size(roots: Sequence[Term]) -> int:
    """How many numbers a program computes with, as far as that is known."""
    return sum(t.type.size or 1 for t in subterms(*roots) if type(t.op) is Input)


def watched(roots: Sequence[Term]) -> list[Term]:
    """near(x, …, f) ⟶ where(|x − p| < r, near(x, …, f), f(where(|x − p| < r, nan, x))), in which f is tested

    Only for series with a formula that may cancel far from their point, too.
    """

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        new = old if rands == old.rands else old.op.make_node(*rands)
        op = new.op
        if not isinstance(op, Series) or not _cancels_far_from_its_point(op, bool(new.rands[0].rands)):
            return new
        (x,) = map(Tracer, new.rands)
        near = np.abs(x - op.point) < op.terms.radius
        formula = applied(op.body, op.argument, as_term(np.where(near, np.nan, x)))
        return as_term(np.where(near, Tracer(new), Tracer(formula)))

    return rebuild(roots, change)


_SIZES = 10.0 ** np.arange(-8, 16.5, 0.25)


def _is_mirrored(t: Term) -> bool:
    """Whether a term is f(x) − f(y) of an even f, which is 0 at x = −y, too: Δcosh(x, y, …): yes; for x, y ≥ 0: no."""
    if not isinstance(t.op, Difference) or t.op.position:
        return False
    x, y, *others = t.rands
    even = t.op.of.laws.parity == 1
    if t.op.of is power and is_constant(others[0]):
        even = bool(np.all(others[0].op.value % 2 == 0))
    ranges = range_of(x), range_of(y)
    return even and not any(all(r.nonnegative for r in side) for side in (ranges, [-r for r in ranges]))


def _raised(t: Term) -> Sequence[Term]:
    """xⁿ → x, n;    Δpower(x, y, n, x − y) → x, y, n;    e^(Σ w·log x) → the exponent; of a product of powers, as these
    are: what is raised, and to which power.
    """
    if t.op in (power, float_power):
        return t.rands
    if t.op is exp and _is_of_logarithms(t.rands[0]):
        return [t.rands[0], t.rands[0]]
    return t.rands[:3] if isinstance(t.op, Difference) and t.op.of is power and t.op.position == 0 else []


def _is_of_logarithms(u: Term) -> bool:
    """Whether a logarithm is in a part of a sum: Σ w·log x, (log x)/n − y: yes; x·y, exp(log(x)·y): no."""

    def parts(x: Term) -> Sequence[Term]:
        op = x.op
        return (
            x.rands if op in (*_SUMS, multiply, divide, negative) or op.laws.selects or op.laws.linear else ()
        )

    return any(x.op in (log, xlogy) for x in reachable(u, below=parts))


def _angles(t: Term) -> Sequence[Term]:
    """sin(x) → [x], Δsin(x, y, x − y) → [x, y]: the operands that whole turns are taken off."""
    if isinstance(t.op, Difference):
        return t.rands[:2] if t.op.of.cancels == "turns" else []
    return t.rands[:1] if t.op.cancels == "turns" else []


def _are_decimals(t: Term) -> bool:
    """0.3·x², x: yes; π·x, x/3 + 1/3: no: whether all numbers in a term are as people write them, none rounded.

    Those that only decide, as of where(|x| < 0.17288, nan, x), are no numbers in it.
    """
    nodes = reachable(t, below=lambda x: filter(is_float, x.rands))
    numbers = [x.op.value for x in nodes if type(x.op) is Constant]
    return all(are_written(x) or np.isnan(x).all() for x in numbers)


def _without_distance(t: Term) -> list[Term]:
    """leg(x, y, x − y) → [x, y]: the operands but for the distance, which is as exact as those that it is between."""
    distance = t.op.distance[2] if t.op.distance is not None else -1
    return [x for i, x in enumerate(t.rands) if i != distance]


@lru_cache(maxsize=1024)
def _cancels_far_from_its_point(op: Series, rounded: bool) -> bool:
    """Whether a test of the formula trips at zeros or elsewhere beyond the radius: 1 − cos x: yes; sin(x)/x: no.

    Where the sine of a rounded angle is zero is not asked: cos(7·arccos x) has a series at 0, and other zeros.
    """
    zeros = [zero - op.point for t in subterms(op.body) for zero in zeros_of(t, op.argument)]
    away = np.concatenate([-_SIZES, _SIZES, zeros])
    x = op.point + away[np.abs(away) >= op.terms.radius]
    known = op.argument.op.range
    found = guards([op.body], [op.argument] if rounded else [])
    if any(t.op.kernel.startswith("turns") and t.op.scaled for t in found):
        return True
    tests = [term(t.op.among(SURE, None), *t.rands) for t in found]
    with np.errstate(all="ignore"):
        return any(
            bool(test)
            for z in x[(x >= known.low) & (x <= known.high)]
            for test in interpret(tests, {op.argument: z}, typed=False)
        )


def is_entrywise(roots: Sequence[Term]) -> bool:
    """Whether each entry is one of an argument, or computed of single entries in its place: x·y + 1: yes; x/Σ x: no."""
    return len({root.type.shape for root in roots}) == 1 and all(
        type(t.op) is Input or (type(t.op) is Constant and t.type.ndim == 0) or t.op.elementwise
        for t in _needed(roots)
    )


def is_rowwise(roots: Sequence[Term], inputs: Sequence[Term]) -> bool:
    """Whether rows of results are computed of the same rows of arguments: x/Σ x over the last axis: yes; x/Σ x: no.

    Arguments with as many rows are those that have them; others are the same for all.
    """
    shapes = [getattr(root.type, "shape", ()) for root in roots]
    counts = {shape[0] if shape else 0 for shape in shapes}
    count = min(counts)
    if len(counts) > 1 or not count or count == 1 or any(None in x.type.shape for x in (*roots, *inputs)):
        return False
    if sum(x.type.size or 0 for x in subterms(*roots) if isinstance(x.type, ArrayType)) > FOLLOWED:
        return False

    def rows(t: Term) -> Any:
        """x : (2, 3) → [[1, 1, 1], [2, 2, 2]]"""
        numbers = np.arange(1, count + 1).reshape(-1, *[1] * (t.type.ndim - 1))
        return np.broadcast_to(numbers, t.type.shape)

    found = labels_of(roots, {x: rows(x) for x in inputs if x.type.shape[:1] == (count,)})
    return found is not None and all(
        x.any() and np.all((x == 0) | (x == rows(root))) for x, root in zip(found, roots, strict=True)
    )


def _needed(roots: Sequence[Term]) -> Iterator[Term]:
    """x + broadcast(y) → itself, x, y: the terms that roots are computed of, without those lent for shapes."""
    nodes = list(dict.fromkeys(roots))
    seen = set(nodes)
    for node in nodes:  # which grows meanwhile
        yield node
        new = [x for x in supplied(node) if x not in seen]
        nodes += new
        seen.update(new)


class _Guards:
    """The terms below some roots: which are exact, and which matter to the last digit."""

    def __init__(self, roots: Sequence[Term], rounded: Collection[Term]):
        """Exactness passes to results, if leaves are not `rounded`, and demands to operands; then terms are tested."""
        order = list(subterms(*roots))
        at = "_at" if is_entrywise(roots) else ""
        self._cancels, self._exponents_cancel, turns = (
            name + at for name in ("cancels", "exponents_cancel", "turns")
        )
        self._exact: dict[Term, bool] = {}
        for t in order:
            self._exact[t] = isinstance(t.type, ArrayType) and t not in rounded and self._is_exact(t)
        self._needed, self._matters = set(roots), set(roots)
        """Terms that are not absorbed, and those of them that are not only parts of sums."""
        self._alone = set(roots)
        """Those that are no part of a sum, moved or not."""
        self._largest: dict[Term, frozenset[int]] = dict.fromkeys(roots, frozenset[int]())
        """Along which axes the largest entries count."""
        self._losses: dict[Term, Term] = {}
        """What sums of few numbers lose, with tests of their own."""
        self._few = _size(roots) <= SMALL
        for t in reversed(order):
            self._pass(t)
        # How far off an inverse is has no bound by the size of what it is made of.
        needed = [t for t in order if _is_floating(t) and (t in self._needed or t.op.cancels == "rows")]
        self.found = [guard for t in needed for guard in self._guard(t)]
        extremes = [
            t for t in order if t.op is equal and is_extreme(*t.rands) and not self._exact[t.rands[0]]
        ]
        self.found += [term(Test("ties"), *t.rands) for t in extremes]
        # A turn too many is no matter of last digits: who needs few digits of a sine needs those.
        found = [(x, t) for t in order if _is_floating(t) for x in _angles(t) if not self._exact[x]]
        # Of π·x near π, all digits of the sine are those that a float has not of π.
        near_zero = [
            (x, t) for x, t in found if t in self._matters and not self._axes(t) and _are_decimals(x)
        ]
        known = {x for x, _ in near_zero}
        large = [x for x, _ in found if x not in known and not _is_small(x, TURNS / CHANCE)]
        if angles := list(dict.fromkeys([*near_zero, *[(x, None) for x in large]])):
            results = [t for _, t in angles if t is not None]
            test = Test(turns, scaled=tuple(range(len(results))))
            self.found.append(term(test, *[x for x, _ in angles], *results))

    def _is_exact(self, t: Term) -> bool:
        """Whether a term has no rounding: x, 2·x, −x, x[i], (x, y), float64(x), a free shift: yes; 3·x, x + y: no."""
        op = t.op
        if type(op) in (Input, Constant) or op is coarse or t.type.dtype.kind != "f":
            return True
        given = [self._exact[x] for x in t.rands]
        if op is multiply:
            units = [is_constant(x) and _are_powers_of_two(x.op.value) for x in t.rands]
            return all(given) and any(units)
        if type(op) is Cast:
            return all(given) and t.type.dtype.itemsize >= t.rands[0].type.dtype.itemsize
        return all(given) and (_moves(op) or not (op.rounds or op.jumps))

    def _pass(self, t: Term) -> None:
        """exp(a − b) → nothing of a − b;    log(a − b) → its last digit;    c + (a − b) → as much as the sum needs

        Tells the operands of a term what is asked of them.
        """
        op, whole = t.op, isinstance(t.type, ArrayType)
        sums = op in _SUMS and t.rands[0] is not t.rands[1]  # d + d is a multiple
        along = self._largest.get(t, frozenset())
        for i, x in enumerate(t.rands):
            if not isinstance(x.type, ArrayType):
                self._needed.add(x)
                continue
            passing = op in _SUMS or _moves(op) or i in op.laws.linear
            multiple = _multiple(t) or (None, None)
            passing |= multiple[0] is x and _is_at_most_one(multiple[1])
            floating = not whole or t.type.dtype.kind == "f"
            if floating and not op.tolerant and (t in self._needed or not passing):
                self._needed.add(x)
                if not sums and (multiple[0] is not x or t in self._matters):
                    self._matters.add(x)
                if not sums and (t in self._alone or not passing):
                    self._alone.add(x)
            axes = _along(t, i, along)
            self._largest[x] = axes & self._largest.get(x, axes)

    def _guard(self, t: Term) -> Iterator[Term]:
        """a·b − c → cancels_at(t, c);    Σ x → sum_cancels(s, x);    a @ b → product_cancels(p, a, b)

        Yields the tests of one term by itself; see the table at the top.
        """
        op, axes = t.op, self._axes(t)
        if op in _SUMS:
            parts = _parts(t, self._is_closed) if t in self._matters else {}
            given = len(parts) == 2 and all(
                self._exact[x] and not k and abs(n) == 1 for (x, k), n in parts.items()
            )
            if not given and len(parts) > 1 and _is_mixed(*parts.items()):
                # Where a sum is small, the part that is left out is no larger than the others together.
                held = sorted(parts, key=self._cost)[:-1]
                few = self._few and not axes
                lossy = [(x, (*k, loss)) for x, k in parts if few for loss in self._losses_in(x)]
                if few:
                    self._losses[t] = _LOST.make_node(held[-1][0], t)
                yield self._cancelling(t if axes else _apart(t, parts), [*held, *lossy], axes)
                for x, k in parts if not axes else ():
                    if not k and self._is_product(x):
                        yield term(Test("product_cancels"), t, *x.rands)
        elif op in (multiply, divide) and self._meet_in_range(t):
            yield term(Test(self._exponents_cancel), t, t.rands[0])
        elif isinstance(op, Sum) and _is_mixed(((t.rands[0], ()), 1), ((t.rands[0], ()), 1)):
            if not self._is_weighted(t.rands[0]):
                whole = op.axes == tuple(range(-t.rands[0].type.ndim, 0))
                yield term(Test("sum_cancels", () if whole else op.axes), t, *t.rands)
        elif self._is_product(t) and t in self._matters and not axes:
            yield term(Test("product_cancels"), t, *t.rands)
        elif op.cancels == "sum" and not isinstance(op, MatMul) and _is_mixed(((t, ()), 1)):
            if not self._is_weighted(t.rands[0]) if len(t.rands) == 1 else all(map(self._exact.get, t.rands)):
                yield self._cancelling(t, [(op.make_node(*map(absolute.make_node, t.rands)), ())], axes)
        elif (
            (raised := _raised(t))
            and not all(map(self._exact.get, raised[:-1]))
            and not _is_small(raised[-1])
        ):
            yield term(Test(self._cancels), constant(1, t.type.dtype), raised[-1])
        elif isinstance(op, Telescope):
            yield self._cancelling(t, [(x, ()) for x in t.rands[3:]], axes)
        elif op.cancels == "rows":
            if (t.rands[0].type.shape[-1] or ROWS + 1) <= ROWS:
                yield term(Test("ill_conditioned"), t.rands[0])
        elif op.cancels == "centre" and self._is_off_centre(t):
            yield self._cancelling(t, [(as_term(op.minuend(*map(Tracer, t.rands))), ())], axes)
        elif op.cancels == "difference" and not all(self._exact[x] for x in t.rands):
            yield self._cancelling(t, [(t.rands[1], ())], axes)
        elif (unit := self._unit(t)) is not None:
            yield self._cancelling(t, [(unit, ())], axes)
        elif _is_mirrored(t) and not all(self._exact[x] for x in t.rands[:2]):
            x, y, *_ = t.rands
            yield self._cancelling(term(add, x, y), [(x, ())], axes)
        yield from _mixture_guard(t)
        for u in _exponents(t):
            yield from self._guard_of_exponent(u)
        if op.margin is not None and not all(self._exact[x] for x in _without_distance(t)):
            distance = as_term(op.margin(*map(Tracer, t.rands)))
            if _may_vanish(distance):
                yield self._cancelling(distance, [(constant(1, t.type.dtype), ())], axes)

    def _losses_in(self, x: Term) -> list[Term]:
        """c·(a − b)/y → [1 + |a/(a − b)|]: what a part of a sum has lost in its factors."""
        found, stack, seen = [], [x], {x}
        while stack and len(found) < 2:
            x = stack.pop()
            if x in self._losses:
                found.append(self._losses[x])
            elif x.op in (multiply, divide, negative):
                new = [rand for rand in x.rands if rand not in seen]
                stack += new
                seen.update(new)
        return found

    def _is_off_centre(self, t: Term) -> bool:
        """D(u·v, p), R(1/n, p) of a computed p: whether what is centred is computed, or a number beside such weights.

        Labels that are given are of one class, or far from shares.
        """
        linear = [t.rands[i] for i in t.op.laws.linear]
        numbers = not t.op.invariant and not any(kept(x, "inputs", _inputs) for x in linear)
        return any(self._is_centred_anew(t.op, x) for x in (t.rands if linear and numbers else linear))

    def _is_centred_anew(self, op: Op, x: Term) -> bool:
        """Whether an operand is computed, and by no such op before: u·v: yes; 3·u of an argument u: no."""
        while x.op is negative or (x.op is multiply and any(map(is_constant, x.rands))):
            x = next((y for y in x.rands if not is_constant(y)), x.rands[0])  # c·d is not folded out of range
        return not self._exact[x] and type(x.op) is not type(op)

    def _unit(self, t: Term) -> Term | None:
        """log u → 1, log(e^x + e^y) → max(x, y): the size beside which a computed term is rounded that may vanish."""
        exact = all(map(self._exact.get, t.rands))
        if self._is_log_of_sum(t):
            unit = constant(1, t.type.dtype)
        elif t.op in (logaddexp, logaddexp2) and not exact:
            unit = None if any(range_of(x).nonnegative for x in t.rands) else term(maximum, *t.rands)
        elif t.op.cancels == "zeros" and not exact:
            unit = t.rands[0] if len(t.rands) == 2 else constant(1, t.type.dtype)
        else:
            return None
        return unit if unit is not None and _may_vanish(t) else None

    def _guard_of_exponent(self, u: Term) -> Iterator[Term]:
        """exp((x·y − x)/c) → cancels(max(|x·y − x|, |c|), x): digits after the point are those that large parts leave;
        exp(log(v)/c) → cancels(max(|log v|, |c|), 1) of a computed v and c, since the one may vanish with the other.

        Parts of inputs that neither another part nor the divisor has are as sensitive to these as to rounding.
        """
        scale = one = constant(1, u.type.dtype)
        divided = False
        while u.op in (negative, multiply, divide) or (isinstance(u.op, Squeeze) and not scale.type.ndim):
            x, *other = u.rands
            if u.op is multiply and x.op not in (*_SUMS, negative, multiply, divide):
                x, other = other[0], [x]
            divided |= u.op is divide and not is_constant(other[0])
            if other and u.op is divide and scale is one:
                scale = other[0]
            elif other:
                scale = term(multiply if u.op is divide else divide, scale, *other)
            u = x
        if scale is not one:
            scale = constant(abs(scale.op.value)) if is_constant(scale) else as_term(np.abs(Tracer(scale)))
        size = as_term(np.maximum(np.abs(Tracer(u)), Tracer(scale)))
        if self._is_closed(u) or size.type != u.type:
            return
        if u.op in _SUMS:
            parts = _parts(u, self._is_closed)
            inputs = [kept(x, "inputs", _inputs) for x in (scale, *[x for x, _ in parts])]
            if sum(map(len, inputs)) > len(frozenset().union(*inputs)) and _is_mixed(*parts.items()):
                yield self._cancelling(size, sorted(parts, key=self._cost)[:-1], ())
        elif isinstance(u.op, Sum) and not all(self._exact[x] for x in _factors(u.rands[0])):
            if _is_mixed(((u.rands[0], ()), 1)):
                yield term(Test("sum_cancels", u.op.axes), size, *u.rands)
            yield from self._guard_of_exponent(u.rands[0])
        elif divided and (unit := self._unit(u)) is not None:
            yield self._cancelling(size, [(unit, ())], ())

    def _cancelling(self, t: Term, parts: Sequence[Part], axes: tuple[int, ...]) -> Term:
        """t, [(a, ()), (b, (k, n))] → cancels(t, a, (b, k·n)): the test of a sum and its parts."""
        scaled = tuple([i for i, (_, factors) in enumerate(parts, 1) if factors])
        factors = [reduce(lambda a, b: term(multiply, a, b), k) for _, k in parts if k]
        return term(
            Test("cancels" if axes else self._cancels, axes, scaled), t, *[x for x, _ in parts], *factors
        )

    def _axes(self, t: Term) -> tuple[int, ...]:
        """The axes along which the largest entries count for a term, those of extent 1 left out."""
        return tuple(
            sorted(a for a in self._largest.get(t, ()) if -a <= t.type.ndim and t.type.shape[a] != 1)
        )

    def _is_product(self, t: Term) -> bool:
        """Whether a term is a product of exact matrices, and entries may be negative: a @ b: yes; |a| @ |b|: no."""
        return (
            isinstance(t.op, MatMul) and all(self._exact[x] for x in t.rands) and not range_of(t).nonnegative
        )

    def _is_log_of_sum(self, t: Term) -> bool:
        """Whether a term is log Σ w·eˣ by itself, of computed x or w, or log|det a|: logsumexp(x·y): yes; of x: no."""
        if type(t.op) is Project:
            return t.op.index == 1 and isinstance(t.rands[0].op, SLogDet)
        if type(t.op) is not LogSumExp or t not in self._alone:
            return False
        x, *weights = t.rands
        if _has_unit(x, weights):
            return False
        return not (all(map(is_constant, weights)) and self._exact[x])

    def _meet_in_range(self, t: Term) -> bool:
        """e^(a·b)·e^(c·d), Γ(x)/Γ(y): yes; tanh(x)·σ(y): no: whether one factor may be beyond floats, and one below."""
        x, y = [self._directions(rand) for rand in t.rands]
        y = {-way for way in y} if t.op is divide else y
        return any(-way in y for way in x)

    def _directions(self, t: Term) -> set[int]:
        """1 + a·e^(b·c) → {1, −1}, Φ(x), 1/Γ(x) → {−1}, e^x of an argument x → none: where the error of an exponent
        takes a term, beyond the range of floats or below it.
        """
        seen, stack, found = set[tuple[Term, int]](), [(t, 1)], set[int]()
        while stack and len(seen) < LARGE:
            x, way = stack.pop()
            if (x, way) in seen:
                continue
            seen.add((x, way))
            op, known = x.op, range_of(x)
            signs = op.as_product[1] if op.as_product else ()
            if op.as_product or op.out_of_range == "stays":
                ways = [way if e > 0 else -way for e in signs] or [way] * len(x.rands)
                stack += [(y, w) for y, w in zip(x.rands, ways, strict=True) if is_float(y)]
            elif op.elementwise and (op.grows or op.vanishes) and not self._is_right_of_numbers(x):
                found |= {way} if known.high == np.inf else set()
                found |= {-way} if known.low == 0 else set()
        return found

    def _is_right_of_numbers(self, x: Term) -> bool:
        """e^x, x⁷ of an argument x → True; e^(x·y), Φ(x), Γ(x) → False: whether a term out of range has all digits."""
        return (
            x.op in (exp, cosh, sinh, power) and self._exact[x.rands[0]] and all(map(_is_small, x.rands[1:]))
        )

    def _is_closed(self, x: Term) -> bool:
        """Whether a sum is tested by itself, or as accurate as it can be: that of two exact numbers."""
        return x in self._matters or (x.op in _SUMS and all(self._exact[y] for y in x.rands))

    def _cost(self, part: Part) -> tuple[bool, int, bool, bool]:
        x, factors = part
        return not is_constant(x), x.type.ndim, bool(factors), not self._exact[x]

    def _is_weighted(self, x: Term) -> bool:
        """Whether a product has an argument as a factor of its own, and a computed one: x·eʸ: yes; x·eˣ, x·y: no."""
        factors = _factors(x)
        if all(self._exact[y] for y in factors):
            return False
        inputs = {y: kept(y, "inputs", _inputs) for y in factors}
        return any(
            self._exact[y] and inputs[y] and not any(inputs[y] & inputs[z] for z in factors if z is not y)
            for y in factors
        )


def is_extreme(x: Term, m: Term) -> bool:
    """Whether a term is the largest, or smallest, of the entries of another."""
    return m.op.laws.extreme != 0 and m.rands[0] is x and isinstance(m.op, Reduction)


def _exponents(t: Term) -> Sequence[Term]:
    """exp(u), softmax(u) → [u];    gibbs(a, x) → [a, x];    ⌊u⌋ → []: of which digits after the point count."""
    op = t.op
    count = 2 if type(op) is Gibbs else 1 if op.tolerant and op.rounds and not op.jumps else 0
    return list(dict.fromkeys(t.rands[:count]))


def _is_floating(t: Term) -> bool:
    return t.type.dtype.kind == "f" if isinstance(t.type, ArrayType) else t.op.cancels == "rows"


def _moves(op: Op) -> bool:
    """Whether an op moves or picks entries, or changes signs, and no more: xᵀ, −x, |x|: yes; x + y, floor(x): no."""
    return op.laws.selects or (op.elementwise and not op.rounds and not op.jumps)


def _inputs(t: Term) -> frozenset[Term]:
    """x·eʸ → {x, y}: the inputs below a term; terms of the same inputs keep one set."""
    if type(t.op) is Input:
        return frozenset([t])
    sets = [x.cache["inputs"] for x in t.rands]
    largest = max(sets, key=len, default=frozenset[Term]())
    return largest if all(x <= largest for x in sets) else frozenset().union(*sets)


def _parts(t: Term, is_closed: Callable[[Term], bool]) -> dict[Part, int]:
    """a − 2·(b + c) → {a: 1, (b, 2): −1, (c, 2): −1}: parts of a sum of open sums, with factors and counts."""
    parts: list[tuple[Term, tuple[Term, ...], int]] = [(t, (), 1)]

    def is_open(x: Term) -> bool:
        while (multiple := _multiple(x)) is not None:
            x = multiple[0]
        return x is t or (x.op in (*_SUMS, negative) and not is_closed(x))

    while len(parts) < MANY:
        i = next((i for i, (x, _, _) in enumerate(parts) if is_open(x)), None)
        if i is None:
            break
        x, factors, sign = parts[i]
        if x.op is multiply:
            core, factor = _multiple(x) or x.rands
            parts[i] = core, (*factors, factor), sign
        else:
            parts[i : i + 1] = [(y, factors, sign * s) for y, s in zip(x.rands, x.op.as_sum, strict=True)]
    counts: dict[Part, int] = {}
    for x, factors, sign in parts:
        counts[x, factors] = counts.get((x, factors), 0) + sign
    return {part: count for part, count in counts.items() if count and not _is_zero_or_nan(part[0])}


def _is_zero_or_nan(t: Term) -> bool:
    """Whether a part says where a sum has a value, and adds nothing: where(x > 0, 0, nan): yes."""
    return t.op is where and all(
        is_constant(x) and wanted(x.op.value).all()
        for x, wanted in zip(t.rands[1:], (np.logical_not, np.isnan), strict=True)
    )


def _has_unit(x: Term, weights: Sequence[Term]) -> bool:
    """Whether 1 is among the parts of a mixture: log(1·e⁰ + w·eˣ), which is as accurate as w·eˣ: yes."""
    pieces = [p.rands if isinstance(p.op, Concatenate) else (p,) for p in (x, *weights)]
    return len(set(map(len, pieces))) == 1 and any(
        all(is_constant(p) and bool(np.all(p.op.value == n)) for p, n in zip(part, (0, 1), strict=False))
        for part in zip(*pieces, strict=True)
    )


def _mixture_guard(t: Term) -> Iterator[Term]:
    """softmax(x, w) → mixture_cancels(x, w), for weights w that may have both signs."""
    op: Any = t.op
    if type(op) in (LogSumExp, Softmax, Gibbs) and op.axes:
        x, *weights = t.rands[1:] if type(op) is Gibbs else t.rands
        if weights and _is_mixed(((weights[0], ()), 1)):
            yield term(Test("mixture_cancels", op.axes), x, *weights)


def _multiple(t: Term) -> tuple[Term, Term] | None:
    """2·x → x, 2;    k·x of a single number k and an array x → x, k;    x·y → None"""
    if t.op is not multiply:
        return None
    x, k = t.rands
    if x.type.ndim == 0 and (k.type.ndim > 0 or is_constant(x)):
        x, k = k, x
    return (x, k) if k.type.ndim == 0 and (x.type.ndim > 0 or is_constant(k)) else None


def _apart(t: Term, parts: dict[Part, int]) -> Term:
    """x[:, None] − x ⟶ where(eye, inf, x[:, None] − x): an entry taken from itself loses no digits."""
    if len(parts) != 2 or sum(parts.values()) or any(factors for _, factors in parts):
        return t
    (x, _), (y, _) = parts
    same = coincidence(x, y)
    return t if same is None else as_term(np.where(same, np.array(np.inf, t.type.dtype), Tracer(t)))


def _factors(t: Term) -> list[Term]:
    """−(a·Σ b)[i] → a, b: the factors of a product, seen through signs, sums and selections."""
    opened = lambda op: op in (multiply, negative) or isinstance(op, Sum) or op.laws.selects
    return nearest_where([t], lambda x: not opened(x.op))


def _is_mixed(*parts: tuple[Part, int]) -> bool:
    """Whether some parts may be positive and others negative: a − b of a, b ≥ 0: yes; a + b: no."""
    ranges = [_range(x, factors, sign) for (x, factors), sign in parts]
    return not all(r.nonnegative for r in ranges) and not all(r.high <= 0 for r in ranges)


def _may_vanish(t: Term) -> bool:
    found = range_of(t)
    return found.low <= 0 <= found.high


def _range(x: Term, factors: Sequence[Term], sign: int) -> Interval:
    """[1, 2], (−1,), 1 → [−2, −1]: the range of a multiple, with respect to signs only."""
    found = range_of(x) if sign > 0 else -range_of(x)
    for r in map(range_of, factors):
        found = found if r.nonnegative else -found if r.high <= 0 else REAL
    return found


def _along(t: Term, i: int, along: frozenset[int]) -> frozenset[int]:
    """Σ (a − b)² over −1 → {−1} for (a − b)²: along which axes an operand's largest entries count, by the term's."""
    op, rank = t.op, t.rands[i].type.ndim
    # Where a choice is made, by weights perhaps, the largest entries may be those that are not chosen.
    if op.elementwise:
        if not along or op is where or i in told(op.rough, t):
            return frozenset()
        factors = [x for x in t.rands if x is not t.rands[i]] if op in (multiply, divide) else []
        return frozenset([a for a in along if all(x.type.extent(a) == 1 for x in factors)])
    if isinstance(op, Reduction):
        return along.union(op.axes) if i in op.laws.linear else frozenset()
    if isinstance(op, MatMul):
        return along | {-1 - i}
    if op.laws.selects and i == 0:
        if t.type.size is None or t.type.size != t.rands[0].type.size:
            return frozenset()
        if set(range(-t.type.ndim, 0)) <= along:
            return frozenset(range(-rank, 0))
        if isinstance(op, Transpose):
            order = op.full_order(t.type.ndim)
            return frozenset([order[a] for a in along if -a <= t.type.ndim])
    moved = op.mixes(t, i) if i in op.laws.linear else None
    return along if moved is not None and along.issuperset(moved) else frozenset()


def _is_at_most_one(k: Any) -> bool:
    return is_constant(k) and bool(np.all(np.abs(k.op.value) <= 1))


def _is_small(t: Term, most: float = LARGE) -> bool:
    """Whether a power to this multiplies errors by little, or an angle does: x², x^64: yes; x^100: no."""
    size = max(abs(range_of(t).low), abs(range_of(t).high))
    return size <= most or (is_constant(t) and bool(np.all(np.abs(t.op.value) <= most)))


def _are_powers_of_two(value: Any) -> bool:
    """Whether factors are exact: 2, −1/4: yes; 3, 0: no."""
    return bool(np.all(np.abs(np.frexp(np.asarray(value, float))[0]) == 0.5))
