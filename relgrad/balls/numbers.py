"""Arrays of balls in NumPy's protocols, and programs that compute in as many digits as it takes.

    1 − (1 − x)·(1 − y)   at x = 1e-200, y = -1e-200   ⟶   1e-400, of 1280 bits

A call of NumPy's, or of a kernel, on balls is traced to ops and evaluated by their declarations, `Op.ball`. A
comparison that balls leave open raises `Undecided`, and so does a program that takes too much work.

Source: Ziv 1991, Fast evaluation of elementary mathematical functions with correctly rounded last bit, ACM TOMS 17(3).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from relgrad.balls.graph import BITS, evaluate, is_settled, named, nearest
from relgrad.errors import RelgradError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.kernels.containers import mapped, paired, parts
from relgrad.kernels.doubled import computed, given, rounded, tied
from relgrad.kernels.doubled.named import largest, unit
from relgrad.kernels.doubled.named import written as as_written
from relgrad.kernels.doubled.number import Doubled, GivenUp, Undecided
from relgrad.kernels.extended.number import Extended
from relgrad.kernels.numbers import OF_FLOATS_ONLY, Numbers, Twin, innermost, lowered, share_rules
from relgrad.leaf import Input
from relgrad.op import Constant, Op, Symbolic, as_term
from relgrad.ops.arguments import as_balls
from relgrad.ops.increments import Increment
from relgrad.term import Term, subterms, term
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, array_type

PRECISIONS = (256, 1280, 4096)
"""Bits of balls: as many as differences of two floats, of products, and of powers of them need; with the second, what
is 0 is below all floats, and settled."""
ENOUGH = 160
"""Bits for what doubled numbers hold."""
WORK = 1 << 17
"""A program is given up after so many operations on balls of the least precision."""
BEYOND = 1 << 62
"""The exponent of what is farther than all numbers of extended range."""
MOST = 1 << 12
"""Arrays of more entries are too much work at once."""
MANY = 1 << 10
"""So many graphs of functions of NumPy are kept."""
ARITHMETIC = frozenset((np.add, np.subtract, np.multiply, np.divide, np.negative))
"""Ufuncs that are those of balls, entry by entry."""
_GRAPHS: dict[Any, _Graph] = {}
TRIALS = (1, 2)
"""Seeds of what numbers are off by that were computed before; what they change is the less likely to be missed."""
_LOCK = threading.RLock()
"""The precision of balls is that of the whole process."""


_UNTOLD = (GivenUp, RelgradError, *OF_FLOATS_ONLY)
"""What comes of functions that know arrays of floats only, and of ops that know no balls."""


class _Traced(dict[Any, Any]):
    """The rules of ufuncs: all are traced."""

    def __missing__(self, ufunc: Any) -> Any:
        return lambda *args: Balls.applied(ufunc, args, {})


class Balls(Numbers):
    """An array of balls."""

    __slots__ = ("balls",)
    ufuncs, functions, named = _Traced(), {}, {}
    zero = (0,)
    left = 0
    """How much work is left."""
    shifts: Any = None
    """By how much numbers that were computed before are off, at random; None for not at all."""
    shifted = False
    """Whether there are such numbers."""

    def __init__(self, balls: Any):
        self.balls: Any = balls if isinstance(balls, np.ndarray) else as_balls(balls)

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Balls:
        """Return an array, or a number, exactly; raises GivenUp for many."""
        if not isinstance(x, Balls) and np.size(x) > MOST:
            raise GivenUp
        return x if isinstance(x, Balls) else cls(as_balls(x))

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.balls,)

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)

    def astype(self, dtype: Any, **_: Any) -> Any:
        """x → x in float64, whole numbers in integers; raises GivenUp in others, to which the program rounds itself."""
        kind = np.dtype(dtype)
        if kind.kind == "f" and kind != self.dtype:
            raise GivenUp
        return self if kind == self.dtype else self.applied(methodcaller("astype", dtype), (self,), {})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in ARITHMETIC and method == "__call__" and not kwargs:  # no trace, of what loops do most
            found = Balls(as_balls(ufunc(*[Balls.of(x).balls for x in inputs])))
            Balls.spend(found.size)
            return found
        return self.applied(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    @classmethod
    def applied(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """Return what a function makes of balls, by the declarations of the ops that it is traced to."""
        rule = cls.rule_of(function)
        if rule is not None:
            return rule(*args, **kwargs)
        graph, values = _traced(function, args, kwargs)
        cls.spend(graph.work)
        found, roots = graph.found, graph.roots
        results = evaluate(roots, {leaf: x.balls for leaf, x in values.items()}, _bits(), graph.nodes)
        known = iter([_known(t.type.dtype, x) for t, x in zip(roots, results, strict=True)])
        if type(found) is Tracer:
            return next(known)
        return mapped(lambda x: next(known) if isinstance(x, Symbolic) else x, found)

    @classmethod
    def spend(cls, work: int) -> None:
        """left → left − work, of as many bits as numbers have; raises GivenUp below 0."""
        cls.left -= work * _bits() // PRECISIONS[0]
        if cls.left < 0:
            raise GivenUp

    @classmethod
    @contextmanager
    def _working(cls) -> Iterator[None]:
        with _LOCK:
            cls.left = WORK
            yield

    @classmethod
    def programs(cls, function: Callable[..., Any]) -> list[Callable[..., Any]]:
        """Return a function as written in balls, of more and more digits.

        Raises Undecided; and GivenUp, where more digits are of no use, as they are beside numbers that were computed
        before. What stays open, as 0/0 does, is infinitely far off.
        """
        precisions = PRECISIONS[:1] if "computed" in innermost(function).__globals__ else PRECISIONS
        twin = Twin(function, cls)

        def in_digits(bits: int) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                with cls._working(), _precision(bits):
                    try:
                        return cls._tried(lambda: twin(*args, **kwargs))
                    except _UNTOLD as error:
                        raise GivenUp from error

            return call

        return list(map(in_digits, precisions))

    @classmethod
    def _tried(cls, compute: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """f(c), f(c + d), f(c − e) → f(c) ± 64·max |f(c + d) − f(c)|, for numbers c that were computed before.

        Raises Undecided where such numbers decide.
        """
        cls.shifts = None
        cls.shifted = False
        results, decided = compute()
        found = mapped(_enclosed, results)
        for seed in TRIALS if cls.shifted else ():
            cls.shifts = np.random.default_rng(seed)
            others, again = compute()
            if not all(map(np.array_equal, map(lowered, decided), map(lowered, again))):
                raise Undecided
            found = paired(_allowing, found, mapped(_enclosed, others))
        return found, decided

    @classmethod
    def nearest(cls, t: Term, values: Mapping[Term, Any], work: int) -> Doubled | None:
        """cosh(x) − 1, {x: 1e-9} → 5e-19 ± half a unit: a term of floats in as many digits as it takes, else ± ∞.

        Constants are as in doubled numbers. None where that takes more work, or an op has no balls.
        """
        nodes = list(subterms(t))
        if sum(map(_work, nodes)) > work:
            return None
        odd = [x for x in nodes if type(x.op) is Constant and named(x.op.value) is None]
        written = {x: _of_doubled(as_written(x.op.value)).balls for x in odd if x.type.dtype.kind == "f"}
        with cls._working():
            return _in_digits(
                lambda: _enclosed(Balls(evaluate([t], {**written, **values}, _bits(), nodes)[0])),
                lambda x: bool(np.all(np.isfinite(x.bound))),
            )

    @staticmethod
    def entrywise(function: Any, args: Any, kwargs: Any) -> bool:
        """Whether each entry of a result is one of single entries of numbers: exprel_n(x, 1): yes; logsumexp(x): no."""
        try:
            graph, _ = _traced(function, args, kwargs)
        except (RelgradError, *OF_FLOATS_ONLY):
            return False
        return isinstance(graph.found, Tracer) and all(t.op.elementwise or not t.rands for t in graph.nodes)

    @classmethod
    def called(cls, function: Any, args: Any, kwargs: Any, wanted: Any) -> tuple[Any, Any]:
        """Return mantissas and exponents of what a function makes of numbers of extended range; NaN for others.

        Of a function of single entries, those that are not wanted are NaN.
        """
        m, e = np.full(wanted.shape, np.nan), np.zeros(wanted.shape, np.int64)
        some: Any = ...
        op = IMPLEMENTATIONS.get(function, getattr(function, "__self__", None))
        if cls.entrywise(function, args, kwargs):
            some = wanted
            args = mapped(lambda x: np.broadcast_to(x, wanted.shape)[wanted] if np.ndim(x) else x, args)
        with cls._working():
            with _precision(PRECISIONS[-1]):  # all are exact
                lifted, options = mapped(_of_extended, (args, kwargs))
                lifted = _with_distance(lifted) if isinstance(op, Increment) else lifted
            found = _in_digits(
                lambda: cls.applied(function, lifted, options),
                lambda x: not isinstance(x, Balls) or all(map(_is_known, x.balls.flat)),
            )
        if isinstance(found, Balls) and found.size == m[some].size:
            m[some], e[some] = _in_parts(found.reshape(m[some].shape))
        if isinstance(op, Increment) and not op.over_distance:  # f(x) − f(x), of whatever size f is
            m[some] = np.where(np.equal(lifted[-1].balls, 0), 0.0, m[some])
        return m, e

    @classmethod
    def doubled(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """Return what a function makes of doubled numbers, as such numbers, or None where that is too much work.

        Raises Undecided.
        """
        lift = lambda x: _of_doubled(x) if isinstance(x, Doubled) else x
        lower = lambda x: _to_doubled(x) if isinstance(x, Balls) else x
        try:
            with cls._working(), _precision(ENOUGH):
                return mapped(lower, cls.applied(function, *mapped(lift, (args, kwargs))))
        except _UNTOLD:
            return None

    def floats(self) -> Any:
        """Return the floats nearest to the midpoints."""
        return np.array([nearest(b) for b in self.balls.flat]).reshape(self.shape)[()]


class _Graph(NamedTuple):
    """exp → exp(x0), [x0], [exp(x0)], [x0, exp(x0)], 1: what a function makes of symbols, these, its terms, those
    below, operands first, and how many operations these are.
    """

    found: Any
    leaves: list[Term]
    roots: list[Term]
    nodes: list[Term]
    work: int


def _traced(function: Any, args: Any, kwargs: Any) -> tuple[_Graph, dict[Term, Any]]:
    """f, (x,) → f(symbol of x), {symbol: x}: what a function makes of symbols for numbers, and what they stand for."""
    plain = isinstance(function, np.ufunc) and not kwargs
    given = args if plain else parts((args, kwargs))
    numbers = {id(x): x for x in given if isinstance(x, Numbers)}
    places = {key: i for i, key in enumerate(numbers)}
    key = graph = None
    if plain and all(id(x) in places or np.ndim(x) == 0 for x in args):
        kinds = [(x.dtype, x.shape) for x in numbers.values()]
        key = function, *kinds, *[places[id(x)] if id(x) in places else (type(x), repr(x)) for x in args]
        graph = _GRAPHS.get(key)
    if graph is None:
        leaves = [
            term(Input(f"x{i}", array_type(x.dtype, x.shape), symbol=True))
            for i, x in enumerate(numbers.values())
        ]
        symbol = lambda x: Tracer(leaves[places[id(x)]]) if id(x) in places else x
        owner = getattr(function, "__self__", None)
        function = owner if isinstance(owner, Op) else function  # an op that is called as it is
        found = function(*mapped(symbol, args), **mapped(symbol, kwargs))
        roots = [as_term(x) for x in parts(found) if isinstance(x, Symbolic)]
        nodes = list(subterms(*roots))
        graph = _Graph(found, leaves, roots, nodes, sum(map(_work, nodes)))
        if key is not None and len(_GRAPHS) < MANY:
            _GRAPHS[key] = graph
    return graph, dict(zip(graph.leaves, numbers.values(), strict=True))


def _bits() -> int:
    import flint

    return flint.ctx.prec


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    import flint

    with flint.ctx.workprec(bits), np.errstate(all="ignore"):
        yield


def _in_digits(compute: Callable[[], Any], is_enough: Callable[[Any], bool]) -> Any:
    """Return what is computed with more and more digits until they are enough, or of no more use; or None."""
    found = None
    for bits in PRECISIONS:
        try:
            with _precision(bits):
                found = compute()
        except _UNTOLD:
            break
        except Undecided:
            continue
        if is_enough(found):
            break
    return found


def _work(t: Term) -> int:
    """Return how many operations on entries an op makes: for each entry of the result those of a row, or of all."""
    types: list[Any] = [x.type for x in (t, *t.rands) if isinstance(x.type, ArrayType)]
    entries = max([x.size for x in types], default=1)
    if t.op.elementwise or t.op.laws.selects or not t.rands:
        return entries
    made: int = types[0].size if isinstance(t.type, ArrayType) else entries
    return max(entries, made * max([x.shape[-1] for x in types if x.shape], default=1))


def _with_distance(operands: Sequence[Any]) -> list[Any]:
    """Return operands with the distance that x and y have; where x is near y it may have been rounded."""
    x, y, d = [Balls.of(x).balls for x in (operands[0], operands[1], operands[-1])]
    distance = np.frompyfunc(lambda x, y, d: d if abs(d) < abs(y) / 2 else x - y, 3, 1)
    return [*operands[:-1], Balls(as_balls(distance(x, y, d)))]


def _enclosed(x: Any) -> Any:
    """Return the floats nearest to balls as doubled numbers; of those that are not known, nothing."""
    if not isinstance(x, Balls):
        return x
    known = np.array([is_settled(b) for b in x.balls.flat], bool).reshape(x.shape)
    floats = np.where(known, x.floats(), np.nan)
    off = np.where(np.isfinite(floats), np.abs(floats) * 2.0**-53, 0.0)
    return Doubled(floats, np.zeros(x.shape), np.where(known, off, np.inf))


def _allowing(x: Any, other: Any) -> Any:
    """f(c), f(c + d) → f(c) ± 64·|f(c + d) − f(c)|"""
    if not isinstance(x, Doubled):
        return x
    off = np.where(x.hi == other.hi, 0.0, 64.0 * np.abs(x.hi - other.hi))
    return Doubled(x.hi, x.lo, np.maximum(x.bound, np.where(np.isnan(off), np.inf, off)))


def _known(dtype: Any, balls: Any) -> Any:
    """Return balls, or of integers and truth values the numbers that they are; raises Undecided."""
    if dtype.kind == "f":
        return Balls(balls)
    if dtype.kind not in "biu" or not all(b.is_exact() and b.is_finite() for b in balls.flat):
        raise Undecided
    return np.array([int(float(b)) for b in balls.flat], dtype).reshape(balls.shape)[()]


def _of_extended(x: Any) -> Any:
    import flint

    if not isinstance(x, Extended):
        return x
    ball = np.frompyfunc(lambda m, e: flint.arb(m) * flint.arb(2) ** int(e) if m else flint.arb(0), 2, 1)
    return Balls(as_balls(ball(x.m, x.e)))


def _is_known(ball: Any) -> bool:
    """Whether a ball is known to the last digit however small it is; as a float it may be 0."""
    return not ball.is_nan() and (ball.is_exact() or ball.rel_accuracy_bits() >= BITS)


def _in_parts(x: Balls) -> tuple[Any, Any]:
    """Return mantissas and exponents of the midpoints of balls that are known, and NaN for others; of balls that lie
    below all exponents 0, as of erfc(1e200).
    """
    import flint

    nothing = flint.arb(2) ** -BEYOND

    def split(ball: Any) -> tuple[float, int]:
        if abs(ball) < nothing:
            return 0.0, 0
        if not _is_known(ball):
            return np.nan, 0
        if not ball.is_finite() or ball == 0:
            return nearest(ball), 0
        man, exp = map(int, ball.mid().man_exp())
        shift = max(man.bit_length() - 64, 0)
        return float(man >> shift), min(max(exp + shift, -BEYOND), BEYOND)

    pairs = [split(b) for b in x.balls.flat]
    m, e = (np.array([p[i] for p in pairs], kind).reshape(x.shape) for i, kind in ((0, float), (1, np.int64)))
    return m, e


def _of_doubled(x: Doubled) -> Balls:
    import flint

    around = np.frompyfunc(lambda hi, lo, bound: flint.arb(hi) + flint.arb(lo) + flint.arb(0, bound), 3, 1)
    return Balls(around(*[np.asarray(p, float) for p in x.parts]))


def _to_doubled(x: Balls) -> Doubled:
    def split(ball: Any) -> tuple[float, float, float]:
        if not ball.is_finite():
            return nearest(ball), 0.0, 0.0 if ball.is_exact() and not ball.is_nan() else np.inf
        hi = float(ball.mid())
        rest = ball - hi
        lo = float(rest.mid())
        return hi, lo, float((rest - lo).abs_upper())

    parts = np.array([split(b) for b in x.balls.flat]).reshape((*x.shape, 3))
    return Doubled(*[parts[..., i] for i in range(3)])


def _rounded(x: Any) -> Balls:
    """0.6931471805599453 → log 2; else a float ± half a unit in its last place."""
    number = named(x := lowered(x))
    return _of_doubled(Doubled.functions[rounded](x)) if number is None else Balls.of(number)


def _shifted(x: Any) -> Balls:
    """0.7 → 0.7 at first, and then numbers that are up to 64 units in the last place away, that of float32 for such."""
    x, Balls.shifted = np.asarray(lowered(x), float), True
    by = 0.0 if Balls.shifts is None else Balls.shifts.uniform(-128.0, 128.0, x.shape) * unit(x)
    return Balls.of(x) * (Balls.of(np.asarray(by)) + 1)


share_rules(Balls)
Balls.named.update(
    {name: Doubled.named[name] for name in ("add_at", "leave_one_out_prod", "unit", "unit_pullback")}
)


def _tied(x: Any, m: Any) -> Any:
    """x ≠ max(x) for certain: no;    the only one left: yes;    others that agree with it: yes"""
    away = (Balls.of(x) - m).balls
    apart = np.array([d != 0 for d in away.flat], bool).reshape(away.shape)
    bound = np.array([float(d.rad()) for d in away.flat]).reshape(away.shape)
    return largest(apart, bound, m.floats())


Balls.functions.update({tied: _tied, given: Balls.of, rounded: _rounded, computed: _shifted})
Numbers.surest = Balls
